//! The formats, their names and endings, and the one way to write any of them.

use std::path::Path;

use super::super::remove_left_of;
use super::cut::Cut;
use super::spz::{self, SpzVersion};
use super::{Chosen, DeliveryError, compressed_ply, glb, morton, ply, sog, source::Source, stop, streamed, tiles};
use crate::export::{PlyComments, PlyParts, Stop};
use kiln_config::plugins::{Exporter, Subset};

/// A format that models are handed out in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// PLY with the 3D filter folded in.
    Ply,
    /// Compressed PLY.
    CompressedPly,
    /// SPZ.
    Spz(SpzVersion),
    /// GLB with `KHR_gaussian_splatting`.
    Glb,
    /// SOG in an archive.
    Sog,
    /// Levels of detail in chunks of SOG, a folder.
    StreamedSog,
    /// Levels of detail in GLB files with SPZ, a folder.
    Tiles,
}

impl Format {
    /// One of each, SPZ in its usual version.
    pub const ALL: [Self; 7] = [
        Self::Ply,
        Self::CompressedPly,
        Self::Spz(SpzVersion::V3),
        Self::Glb,
        Self::Sog,
        Self::StreamedSog,
        Self::Tiles,
    ];

    /// The word on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ply => "ply",
            Self::CompressedPly => "compressed-ply",
            Self::Spz(_) => "spz",
            Self::Glb => "glb",
            Self::Sog => "sog",
            Self::StreamedSog => "streamed-sog",
            Self::Tiles => "3d-tiles",
        }
    }

    /// What names of such files end in, without the first dot.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Ply => "ply",
            Self::CompressedPly => "compressed.ply",
            Self::Spz(_) => "spz",
            Self::Glb => "glb",
            Self::Sog => "sog",
            Self::StreamedSog => "streamed-sog",
            Self::Tiles => "3d-tiles",
        }
    }

    /// True when it is a folder with levels of detail.
    #[must_use]
    pub const fn has_levels(self) -> bool {
        matches!(self, Self::StreamedSog | Self::Tiles)
    }

    /// The format that a file name asks for, if any.
    #[must_use]
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let fits = |format: &Self| {
            let stem = name
                .strip_suffix(format.ending())
                .and_then(|stem| stem.strip_suffix('.'));
            stem.is_some_and(|stem| !stem.is_empty())
        };
        // `a.compressed.ply` ends in `.ply` too.
        Self::ALL
            .into_iter()
            .filter(fits)
            .max_by_key(|format| format.ending().len())
    }

    /// The format that an exporter of a profile writes and what of the model it gets; none for those that write PLY.
    #[must_use]
    pub fn of_exporter(exporter: &Exporter) -> Option<(Self, Subset)> {
        match exporter {
            Exporter::Ply(_) | Exporter::PlyRaw(_) => None,
            Exporter::CompressedPly(options) => Some((Self::CompressedPly, options.subset())),
            Exporter::Spz(options) => {
                let version = SpzVersion::of(options.version).unwrap_or_default();
                Some((Self::Spz(version), options.subset()))
            }
            Exporter::Glb(options) => Some((Self::Glb, options.subset())),
            Exporter::Sog(options) => Some((Self::Sog, options.subset())),
        }
    }
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Delivered {
    /// Gaussians in the file.
    pub gaussians: usize,
    /// SH degree of the file.
    pub sh_degree: u32,
    /// Steps that positions are rounded to and the median of the Gaussians' largest standard deviations, world units,
    /// where the format rounds positions alike everywhere; of folders of tiles those of the leaf where they are worst.
    pub position_step: Option<[f64; 2]>,
    /// Gaussians of each level, finest first, where the format has levels.
    pub levels: Vec<u64>,
    /// Gaussians with values beyond what the format holds, of formats that are one file.
    pub cut: Cut,
}

impl Delivered {
    /// True when positions are so coarse that it shows.
    #[must_use]
    pub fn is_coarse(&self) -> bool {
        self.position_step.is_some_and(|[step, typical]| step > 0.5 * typical)
    }
}

/// Writes a file, or a folder, atomically.
///
/// # Errors
/// [`DeliveryError::TooLarge`], [`DeliveryError::Sog`], [`DeliveryError::Exists`], [`DeliveryError::Write`] or, where the chosen
/// are not wanted any more, [`DeliveryError::Stopped`]; an older file of that name is then untouched.
pub fn deliver(
    path: &Path,
    mut chosen: Chosen<'_>,
    format: Format,
    comments: PlyComments,
) -> Result<Delivered, DeliveryError> {
    let mut position_step = None;
    let mut levels = Vec::new();
    let mut cut = Cut::default();
    let asked = chosen.stop();
    remove_left_of(path);
    match format {
        Format::Ply => stop::write(path, asked, |file| ply::write(file, &chosen, comments))?,
        Format::CompressedPly => {
            morton::sort(&mut chosen);
            cut = Cut::of(&chosen, compressed_ply::ENDS);
            stop::write(path, asked, |file| compressed_ply::write(file, &chosen, comments))?;
        }
        Format::Spz(version) => {
            morton::sort(&mut chosen);
            let bits = spz::fraction_bits(&chosen);
            position_step = Some(spz::position_step(&chosen, bits));
            cut = Cut::of(&chosen, spz::ends(bits));
            stop::write(path, asked, |file| spz::write(file, &chosen, version, bits, comments))?;
        }
        Format::Glb => {
            let text = glb::document(path, &chosen, comments)?;
            stop::write(path, asked, |file| glb::write(file, &chosen, &text))?;
        }
        Format::Sog => {
            morton::sort(&mut chosen);
            sog::write(path, &chosen, comments)?;
        }
        Format::StreamedSog => levels = streamed::write(path, &mut Source::Model(&chosen), comments)?,
        Format::Tiles => {
            let written = tiles::write(path, &mut Source::Model(&chosen), comments)?;
            (levels, position_step) = (written.levels, Some(written.position_step));
        }
    }
    Ok(Delivered {
        gaussians: chosen.len(),
        sh_degree: chosen.sh_degree(),
        position_step,
        levels,
        cut,
    })
}

/// Writes a folder with levels of a PLY file, in memory that does not grow by what a Gaussian holds: 16 bytes each; what is read
/// waits in files inside the hidden folder. [`Subset::max_splats`] is not for it.
///
/// # Errors
/// Those of [`deliver`] and of reading.
pub fn deliver_levels(
    path: &Path,
    parts: &mut PlyParts,
    subset: &Subset,
    format: Format,
    stop: Stop<'_>,
) -> Result<Delivered, DeliveryError> {
    let (comments, sh_degree) = (parts.comments(), subset.sh_degree.unwrap_or(3).min(parts.sh_degree()));
    let subset = Subset {
        origin: comments.origin.unwrap_or_default(),
        ..*subset
    };
    let mut source = Source::File(parts, subset, stop);
    let (levels, position_step) = match format {
        Format::Tiles => {
            let written = tiles::write(path, &mut source, comments)?;
            (written.levels, Some(written.position_step))
        }
        _ => (streamed::write(path, &mut source, comments)?, None),
    };
    Ok(Delivered {
        gaussians: levels.first().map_or(0, |&count| count as usize),
        sh_degree,
        position_step,
        levels,
        cut: Cut::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_ask_for_formats() {
        let of = |name: &str| Format::of_name(Path::new(name)).map(Format::name);
        assert_eq!(of("a/b.ply"), Some("ply"));
        assert_eq!(of("b.compressed.ply"), Some("compressed-ply"));
        assert_eq!(of("B.SPZ"), Some("spz"));
        assert_eq!(of("x.y.glb"), Some("glb"));
        assert_eq!(of("x.sog"), Some("sog"));
        assert_eq!(of("x.streamed-sog"), Some("streamed-sog"));
        assert_eq!(of("x.3d-tiles"), Some("3d-tiles"));
        for none in [".spz", "spz", "a.splat", ""] {
            assert_eq!(of(none), None, "{none}");
        }
    }
}
