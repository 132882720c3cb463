//! Depth and normals of views as pictures.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::MeshError;
use super::stage::{DepthStage, StagePlan, Subject};
use crate::eval::{DepthPicture, normal_picture};
use crate::export::{ExportError, write_json};
use crate::plan::{Look, OpenDevice};
use kiln_config::Profile;
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::{Budget, Gpu};
use kiln_kernels::surface_depth::{DepthKind, Depths};
use kiln_kernels::views::Variants;
use kiln_scene::Camera;

/// Name of the file beside depth pictures.
const DEPTH_FILE: &str = "depth.json";
/// What that file says about itself.
const DEPTH_ABOUT: &str = "16-bit values times `scale` are depths along the viewing axis in world units; 0 is nothing";

/// Which pictures there are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layers {
    /// Depths of this kind, `NAME.png`, and their scales, `depth.json`.
    pub depth: Option<DepthKind>,
    /// Normals, `NAME_normal.png`.
    pub normals: bool,
}

/// `depth.json`.
#[derive(Serialize)]
pub(crate) struct DepthFile {
    about: &'static str,
    views: Vec<DepthScale>,
}

impl Default for DepthFile {
    fn default() -> Self {
        Self {
            about: DEPTH_ABOUT,
            views: Vec::new(),
        }
    }
}

impl DepthFile {
    /// Adds the picture that was written to `path`.
    pub(crate) fn put(&mut self, path: &Path, picture: &DepthPicture) {
        self.views.push(DepthScale {
            file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            scale: picture.scale,
            nearest: picture.nearest,
            farthest: picture.farthest,
        });
    }

    /// Writes the file into `out` and gives its path.
    pub(crate) fn write(&self, out: &Path) -> Result<PathBuf, ExportError> {
        let path = out.join(DEPTH_FILE);
        write_json(&path, self)?;
        Ok(path)
    }
}

/// What the values of a depth picture mean.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DepthScale {
    /// Name of the picture.
    pub file: String,
    /// World units of one step.
    pub scale: f32,
    /// Least depth in it.
    pub nearest: f32,
    /// Greatest depth in it.
    pub farthest: f32,
}

/// Draws `views` (name and camera) into `out`; gives the paths of all files. `reported` is called after each view with how many
/// are done.
///
/// # Errors
/// [`MeshError`].
pub(crate) fn draw(
    open: &OpenDevice,
    variants: &Variants,
    (profile, model, look): (&Profile, &Gaussians, Look),
    budget: Budget,
    (views, layers): (&[(String, Camera)], Layers),
    out: &Path,
    reported: &mut dyn FnMut(usize),
) -> Result<Vec<PathBuf>, MeshError> {
    let subject = Subject {
        gaussians: u32::try_from(model.len()).unwrap_or(u32::MAX),
        sh_degree: model.sh_degree,
        sizes_px: views
            .iter()
            .map(|(_, camera)| [camera.width_px, camera.height_px])
            .collect(),
        depths: Depths {
            kind: layers.depth.unwrap_or_default(),
            far: profile.mesh.far.unwrap_or(f32::INFINITY),
            least_cosine: -1.0,
        },
        masked: false,
        level: None,
    };
    let plan = StagePlan::fit(
        &subject,
        None,
        variants,
        budget,
        Gpu::limits(&open.device),
        &open.faults,
    )?;
    let mut stage = DepthStage::new(plan, (profile, model, look), open, budget)?;
    let (mut paths, mut scales) = (Vec::new(), DepthFile::default());
    for (done, (name, camera)) in views.iter().enumerate() {
        let size_px = [camera.width_px, camera.height_px];
        stage.draw(camera, None, None)?;
        let map = stage.read_map(camera)?;
        if layers.depth.is_some() {
            let depths: Vec<f32> = map.iter().map(|[z, ..]| *z).collect();
            let picture = DepthPicture::new(size_px, &depths)?;
            let path = out.join(format!("{name}.png"));
            picture.write(&path)?;
            scales.put(&path, &picture);
            paths.push(path);
        }
        if layers.normals {
            let normals: Vec<[f32; 3]> = map.iter().map(|[_, x, y, z]| [*x, *y, *z]).collect();
            let path = out.join(format!("{name}_normal.png"));
            normal_picture(size_px, &normals)?.write(&path)?;
            paths.push(path);
        }
        reported(done + 1);
    }
    if layers.depth.is_some() {
        paths.push(scales.write(out)?);
    }
    Ok(paths)
}
