//! Models out of files, whoever wrote them: PLY and GLB, and with the rounding of their formats SPZ, SOG and compressed PLY.
//!
//! The format is known by content. Files for viewers have the 3D filter folded in, so that models out of them have none; opacities
//! of 0 and 1, which have no logit, come back half a step inside. Memory grows with what a file holds, not with what it announces.

mod compressed_ply;
mod glb;
mod sog;
mod spz;

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _};
use std::path::Path;

use super::super::ply::{Notes, read_noted, sift};
use super::super::{PlyComments, PlyError};
use crate::gaussians::Gaussians;

/// A model as a reader has it.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// Gaussians that can be drawn.
    pub model: Gaussians,
    /// What the file says of how they are drawn.
    pub comments: PlyComments,
    /// What was left out, and read otherwise than as it stands in the file.
    pub notes: Notes,
}

/// Reads a model, what the file says of how it is drawn, and what there is to say of it. Gaussians that cannot be drawn are left
/// out and counted, whatever the format.
///
/// # Errors
/// [`PlyError::File`], naming the file and what is wrong.
pub fn read_model_file(path: &Path) -> Result<ModelFile, PlyError> {
    let (file, start) = open(path)?;
    let mut notes = Notes::default();
    let read = match &start[..] {
        b"glTF" => glb::read(file, &mut notes),
        b"NGSP" => spz::read_frames(file, &mut notes),
        [0x1f, 0x8b, ..] => spz::read_gzip(file, &mut notes),
        b"PK\x03\x04" => sog::read(file),
        [b'{', ..] | [0xef, 0xbb, 0xbf, b'{'] => sog::read_folder(file, path),
        _ => match compressed_ply::read(file).map_err(|problem| problem.of(path))? {
            Some(read) => Ok(read),
            None => {
                let (model, comments, notes) = read_noted(path)?;
                return Ok(ModelFile { model, comments, notes });
            }
        },
    };
    let sifted = read.and_then(|(mut model, comments)| {
        sift(&mut model, &mut notes)?;
        Ok((model, comments))
    });
    let (model, comments) = sifted.map_err(|problem| problem.of(path))?;
    Ok(ModelFile { model, comments, notes })
}

/// [`read_model_file`] without what there is to say.
///
/// # Errors
/// [`PlyError::File`], naming the file and what is wrong.
pub fn read_model(path: &Path) -> Result<(Gaussians, PlyComments), PlyError> {
    let ModelFile { model, comments, .. } = read_model_file(path)?;
    Ok((model, comments))
}

/// Looks at the beginning of a model or a mesh, and at the directory of an archive: is it what it says? What follows is not read.
///
/// # Errors
/// [`PlyError::File`], naming the file and what is wrong.
pub fn check_model(path: &Path) -> Result<(), PlyError> {
    let (file, start) = open(path)?;
    let checked = match &start[..] {
        b"glTF" => glb::check(file),
        b"NGSP" | [0x1f, 0x8b, ..] => spz::check(file),
        b"PK\x03\x04" => sog::check(file),
        b"ply\n" | b"ply\r" => kiln_ply::Reader::new(file).header().map(|_| ()).map_err(PlyError::from),
        // a format without a mark
        _ if path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("splat")) =>
        {
            Ok(())
        }
        _ => Err(PlyError::Damaged("what it holds is no PLY, SPZ, SOG or GLB".to_owned())),
    };
    checked.map_err(|problem| problem.of(path))
}

/// A file and its first four bytes.
fn open(path: &Path) -> Result<(BufReader<File>, Vec<u8>), PlyError> {
    let open = || {
        let mut file = File::open(path)?;
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start)?;
        file.rewind()?;
        Ok((BufReader::with_capacity(1 << 18, file), start))
    };
    open().map_err(|e| PlyError::Io(e).of(path))
}

/// An opacity in 255 steps before the sigmoid.
fn logit(steps: u8) -> f32 {
    let steps = f64::from(steps).clamp(0.5, 254.5);
    (steps / (255.0 - steps)).ln() as f32
}

/// The unit quaternion of three components and the place of the largest, which is positive.
fn with_largest(place: usize, others: [f64; 3]) -> [f64; 4] {
    let mut quat = [0.0; 4];
    for (at, other) in (0..4).filter(|&at| at != place).zip(others) {
        quat[at] = other;
    }
    quat[place & 3] = (1.0 - others.iter().map(|value| value * value).sum::<f64>())
        .max(0.0)
        .sqrt();
    quat
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opacities_have_logits() {
        assert_eq!(logit(0), -logit(255));
        assert!(logit(0).is_finite() && logit(0) < logit(1));
        assert!((logit(51) - 0.25_f32.ln()).abs() < 1e-6);
    }

    #[test]
    fn the_largest_component_is_what_is_left() {
        assert_eq!(with_largest(2, [0.0, -0.6, 0.0]), [0.0, -0.6, 0.8, 0.0]);
        assert_eq!(with_largest(0, [0.9, 0.9, 0.9]), [0.0, 0.9, 0.9, 0.9]);
    }
}
