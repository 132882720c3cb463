//! Models from files of any program: PLY and GLB, and with the rounding of their formats SPZ, SOG and compressed PLY.
//!
//! The format is known by content. Files for viewers have the 3D filter folded in, so that models out of them have none; opacities
//! of 0 and 1, which have no logit, come back half a step inside. Memory grows with what a file holds, not with what it announces.

mod compressed_ply;
mod glb;
mod room;
mod sog;
mod spz;

use std::fs::File;
use std::io::{BufReader, Read as _, Seek as _};
use std::path::Path;

use kiln_files::open_filled;

use room::Room;
use spz::Unpacked;

use super::super::ply::{Notes, read_noted, sift};
use super::super::{PlyComments, PlyError};
use kiln_gaussians::Gaussians;

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
    let bytes = file.get_ref().metadata().map_err(|e| PlyError::Io(e).of(path))?.len();
    let (mut notes, mut room) = (Notes::default(), Room::of(bytes));
    let read = match &start[..] {
        b"glTF" => glb::read(file, &mut notes),
        b"NGSP" => Unpacked::of_frames(file, &mut room).map(|file| file.model(&mut notes)),
        [0x1f, 0x8b, ..] => Unpacked::of_gzip(file, &mut room).map(|file| file.model(&mut notes)),
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

/// What the coordinates of a model in `path` are relative to, beside a scene whose origin is `origin`.
///
/// That is what the file says. A file that could say it and does not has the coordinates of the data set; one of a format with no
/// room for it, SPZ or SOG, has too few digits for those of a scene with an origin, and is relative to it.
///
/// # Errors
/// [`PlyError::File`] when the file cannot be read.
pub fn model_origin(path: &Path, comments: &PlyComments, origin: [f64; 3]) -> Result<[f64; 3], PlyError> {
    if let Some(said) = comments.origin {
        return Ok(said);
    }
    let (_, start) = open(path)?;
    Ok(match &start[..] {
        b"glTF" | b"ply\n" | b"ply\r" => [0.0; 3],
        _ => origin,
    })
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
        _ => Err(kiln_formats::Error::Damaged("what it holds is no PLY, SPZ, SOG or GLB".to_owned()).into()),
    };
    checked.map_err(|problem| problem.of(path))
}

/// A file and its first four bytes.
fn open(path: &Path) -> Result<(BufReader<File>, Vec<u8>), PlyError> {
    let open = || {
        let mut file = open_filled(path)?;
        let mut start = Vec::new();
        file.by_ref().take(4).read_to_end(&mut start)?;
        file.rewind()?;
        Ok((BufReader::with_capacity(1 << 18, file), start))
    };
    open().map_err(|e| PlyError::Io(e).of(path))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{Chosen, Format, SpzVersion, deliver};
    use super::*;
    use kiln_config::plugins::Subset;

    #[test]
    fn what_a_model_is_relative_to_follows_from_its_file() {
        let scratch = kiln_scratch::Scratch::new();
        let far = [448_262.0, 5_411_932.0, 311.0];
        let model = Gaussians {
            means: vec![[1.0, 2.0, 3.0]],
            quats: vec![[1.0, 0.0, 0.0, 0.0]],
            log_scales: vec![[-3.0; 3]],
            logit_opacities: vec![0.0],
            sh0: vec![[0.0; 3]],
            filter_3d: vec![0.0],
            ..Gaussians::default()
        };
        for (origin, beside, wanted) in [
            (None, [0.0; 3], [0.0; 3]),
            // The data set's coordinates, unless the file says something else.
            (None, far, [0.0; 3]),
            (Some(far), far, far),
            (Some([1.0, 0.0, 0.0]), far, [1.0, 0.0, 0.0]),
        ] {
            let comments = PlyComments {
                origin,
                ..PlyComments::default()
            };
            for format in [Format::Ply, Format::Glb, Format::CompressedPly] {
                let path = scratch.path().join(format!("model.{}", format.ending()));
                let chosen = Chosen::new(&model, &Subset::default()).unwrap();
                deliver(&path, chosen, format, comments).unwrap();
                let (read, found) = read_model(&path).unwrap();
                assert_eq!(found.origin, origin, "{path:?}");
                assert_eq!(model_origin(&path, &found, beside).unwrap(), wanted, "{path:?}");
                assert!((0..3).all(|axis| (read.means[0][axis] - model.means[0][axis]).abs() < 1e-3));
            }
            // No room for either.
            let path = scratch.path().join("model.spz");
            let chosen = Chosen::new(&model, &Subset::default()).unwrap();
            deliver(&path, chosen, Format::Spz(SpzVersion::V3), comments).unwrap();
            let (_, found) = read_model(&path).unwrap();
            assert_eq!(model_origin(&path, &found, beside).unwrap(), beside);
        }
        let mut moved = model.clone();
        moved.move_by([0.5, -5e6, 5e6]);
        assert_eq!(moved.means, [[1.5, -4_999_998.0, 5_000_003.0]]);
    }
}
