//! What is known exactly of a scene of solids: depths and normals of its views, and points on what they show.

use std::io::Write as _;
use std::path::Path;

use image::ExtendedColorType;
use kiln::export::{ExportError, write_atomic};
use kiln_mesh::solids::Kind;

use super::Synthetic;
use super::pictures::png;
use super::pose::Pose;
use super::solids;

impl Synthetic {
    /// The exact depth map of a view, as a `NumPy` array of `f32`.
    pub(super) fn depths(&self, view: u32, path: &Path) -> Result<(), ExportError> {
        let [width, height] = self.size_px;
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({height}, {width}), }}");
        write_atomic(path, |out| {
            // NPY 1.0: values begin at a multiple of 64 bytes.
            out.write_all(b"\x93NUMPY\x01\x00\x76\x00")?;
            writeln!(out, "{header:117}")?;
            let depths = solids::depths(&Pose::of(view), self.size_px, self.focal());
            depths.iter().try_for_each(|depth| out.write_all(&depth.to_le_bytes()))
        })
    }

    /// The exact normal map of a view, as a picture of 16 bits a channel.
    pub(super) fn normals(&self, view: u32, path: &Path) -> Result<(), ExportError> {
        let [width, height] = self.size_px;
        let normals = solids::normals(&Pose::of(view), self.size_px, self.focal());
        let bytes: Vec<u8> = normals.iter().flat_map(|value| value.to_ne_bytes()).collect();
        png(path, &bytes, ([width, height], ExtendedColorType::Rgb16), None)
    }

    /// Points on what at least two photos see: position, normal, and the kind of thing by its number.
    pub(super) fn truth(&self, path: &Path) -> Result<(), ExportError> {
        let places = solids::truth(self.seed, self.truth, self.views, self.size_px, self.focal());
        write_atomic(path, |out| {
            let kinds: Vec<String> = (0..).zip(Kind::ALL).map(|(i, k)| format!("{i} {}", k.name())).collect();
            let floats = ["x", "y", "z", "nx", "ny", "nz"].map(|name| format!("property float {name}\n"));
            write!(
                out,
                "ply\nformat binary_little_endian 1.0\ncomment things: {}\nelement vertex {}\n{}property uchar thing\nend_header\n",
                kinds.join(", "),
                places.len(),
                floats.concat()
            )?;
            places.iter().try_for_each(|place| {
                for value in place.at.iter().chain(&place.normal) {
                    #[expect(clippy::cast_possible_truncation, reason = "files hold f32")]
                    out.write_all(&(*value as f32).to_le_bytes())?;
                }
                out.write_all(&[place.kind as u8])
            })
        })
    }
}
