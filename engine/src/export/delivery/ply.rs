//! Plain PLY of the chosen Gaussians, as `point_cloud.ply` of a run.

use std::io;

use super::super::{PlyComments, PlyFlavor, PlyWriter};
use super::Chosen;
use super::stop::File;
use kiln_gaussians::Gaussians;

/// Gaussians gathered at a time.
const BLOCK: usize = 4096;

pub(super) fn write(file: &mut File<'_>, chosen: &Chosen<'_>, comments: PlyComments) -> io::Result<()> {
    let degree = chosen.sh_degree();
    let mut writer = PlyWriter::new(file, chosen.len() as u64, degree, PlyFlavor::Fused, comments)?;
    for start in (0..chosen.len()).step_by(BLOCK) {
        let mut block = Gaussians {
            sh_degree: degree,
            ..Gaussians::default()
        };
        for index in start..chosen.len().min(start + BLOCK) {
            let fused = chosen.fused(index);
            block.means.push(chosen.mean(index));
            block.quats.push(chosen.quat(index));
            block.log_scales.push(fused.log_scales);
            block.logit_opacities.push(fused.logit_opacity);
            block.sh0.push(chosen.sh0(index));
            block.sh_rest.extend_from_slice(chosen.sh_rest(index));
            // folded in already
            block.filter_3d.push(0.0);
        }
        writer.push(&block)?;
    }
    writer.finish().map(|_| ())
}
