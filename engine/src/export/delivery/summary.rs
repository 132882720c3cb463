//! What files for viewers say of themselves: SPZ, SOG, GLB and compressed PLY of any program.
//!
//! Reads headers, sizes and where the Gaussians lie, nothing else of them. Files of other formats are none of its business.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use kiln_files::open_filled;
use kiln_formats::glb::{EXTENSION, SPZ_EXTENSION};
use kiln_formats::sog::{Archive, META, Meta};
use serde_json::Value;

use super::glb::MAX_JSON_BYTES;

/// Most bytes of a PLY header that are read.
const MAX_PLY_BYTES: u64 = 1 << 16;

/// What a file holds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct FileSummary {
    /// The format, for people.
    pub format: &'static str,
    /// Version of the format, where it has some.
    pub version: Option<u32>,
    /// Size of the file, bytes.
    pub bytes: u64,
    /// Gaussians.
    pub gaussians: u64,
    /// SH degree.
    pub sh_degree: u32,
    /// Made for the screen-space filter of Mip-Splatting, where the file says.
    pub antialiased: Option<bool>,
    /// Step that positions are rounded to, world units, where it is the same everywhere.
    pub position_step: Option<f64>,
    /// Smallest and largest coordinates of the centres in the scene's axes, world units; absent without Gaussians.
    pub bounds: Option<[[f32; 3]; 2]>,
}

/// Why a file for viewers cannot be described.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The operating system refused a read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It begins like a known format and does not go on like it.
    #[error("{}: {what}; copy or export it again", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
}

/// Looks at a file; `None` when it is none of the formats.
///
/// # Errors
/// [`FileError`], naming the file and what is wrong.
pub fn summarize_file(path: &Path) -> Result<Option<FileSummary>, FileError> {
    let open = || {
        let mut file = open_filled(path)?;
        let bytes = file.metadata()?.len();
        let mut start = Vec::new();
        file.by_ref().take(32).read_to_end(&mut start)?;
        file.seek(SeekFrom::Start(0))?;
        Ok((file, bytes, start))
    };
    let (file, bytes, start) = open().map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    let found = match &start[..] {
        [b'N', b'G', b'S', b'P', ..] => spz_4(file, &start, bytes).map(Some),
        [0x1f, 0x8b, ..] => spz_of_gzip(file, bytes),
        [b'g', b'l', b'T', b'F', ..] => glb(file, &start, bytes).map(Some),
        [b'p', b'l', b'y', ..] => compressed_ply(file, bytes),
        [b'P', b'K', 3, 4, ..] => sog(file, bytes),
        _ => Ok(None),
    };
    found.map_err(|what| FileError::Damaged {
        path: path.to_owned(),
        what,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_le_bytes(four.try_into().ok()?))
}

/// What all versions of the header begin with.
fn spz(header: &[u8], bytes: u64) -> Option<FileSummary> {
    let (&degree, &fraction, &flags) = (header.get(12)?, header.get(13)?, header.get(14)?);
    Some(FileSummary {
        format: "SPZ",
        version: word(header, 4),
        bytes,
        gaussians: word(header, 8)?.into(),
        sh_degree: degree.into(),
        antialiased: Some(flags & 1 != 0),
        position_step: Some(0.5_f64.powi(fraction.into())),
        bounds: None,
    })
}

/// `None` for archives of anything else.
fn sog(file: File, bytes: u64) -> Result<Option<FileSummary>, String> {
    let mut archive = Archive::open(BufReader::new(file)).map_err(|error| error.to_string())?;
    if !archive.names().any(|name| name == META) {
        return Ok(None);
    }
    let meta = archive.file(META).and_then(|text| Meta::parse(&text));
    let meta = meta.map_err(|error| error.to_string())?;
    Ok(Some(FileSummary {
        format: "SOG",
        version: Some(2),
        bytes,
        gaussians: meta.count,
        sh_degree: meta.sh_degree(),
        antialiased: meta.antialias,
        position_step: None,
        bounds: (meta.count > 0).then(|| meta.bounds()),
    }))
}

/// What the positions of SPZ span: three bytes a coordinate, in steps of `summary.position_step`.
fn spz_bounds(positions: impl Read, summary: &FileSummary) -> Result<Option<[[f32; 3]; 2]>, String> {
    let mut positions = BufReader::new(positions);
    let (mut low, mut high) = ([i32::MAX; 3], [i32::MIN; 3]);
    for _ in 0..summary.gaussians {
        let mut nine = [0; 9];
        positions
            .read_exact(&mut nine)
            .map_err(|error| format!("its positions cannot be read ({error})"))?;
        for (axis, bytes) in nine.chunks_exact(3).enumerate() {
            // the sign is in the last byte
            let value = i32::from_le_bytes([0, bytes[0], bytes[1], bytes[2]]) >> 8;
            low[axis] = low[axis].min(value);
            high[axis] = high[axis].max(value);
        }
    }
    let step = summary.position_step.unwrap_or(1.0);
    let world = |corner: [i32; 3]| corner.map(|value| (f64::from(value) * step) as f32);
    Ok((summary.gaussians > 0).then(|| upright([world(low), world(high)])))
}

/// A box in the axes of SPZ and glTF as one in the scene's.
fn upright([low, high]: [[f32; 3]; 2]) -> [[f32; 3]; 2] {
    // The turn swaps the ends of two axes.
    [[low[0], -high[1], -high[2]], [high[0], -low[1], -low[2]]]
}

fn spz_4(mut file: File, start: &[u8], bytes: u64) -> Result<FileSummary, String> {
    let short = || "its header is cut off".to_owned();
    let summary = spz(start, bytes).ok_or_else(short)?;
    let (&streams, table) = start.get(15).zip(word(start, 16)).ok_or_else(short)?;
    let mut sizes = vec![0; 16 * usize::from(streams)];
    let mut read = || {
        file.seek(SeekFrom::Start(table.into()))?;
        file.read_exact(&mut sizes)
    };
    read().map_err(|_| short())?;
    let ahead = u64::from(table) + sizes.len() as u64;
    let needed = sizes.chunks_exact(16).try_fold(ahead, |sum, entry| {
        let size = entry.first_chunk().map_or(u64::MAX, |size| u64::from_le_bytes(*size));
        sum.checked_add(size)
    });
    match needed {
        Some(needed) if needed <= bytes => {
            let first = sizes.first_chunk().map_or(0, |size| u64::from_le_bytes(*size));
            file.seek(SeekFrom::Start(ahead)).map_err(|error| error.to_string())?;
            let frame = zstd::Decoder::new(file.take(first)).map_err(|error| error.to_string())?;
            let bounds = spz_bounds(frame, &summary)?;
            Ok(FileSummary { bounds, ..summary })
        }
        Some(needed) => Err(format!("it is truncated: {needed} bytes announced, {bytes} there")),
        None => Err("its table of sizes makes no sense".to_owned()),
    }
}

/// `None` for gzip files of anything else.
fn spz_of_gzip(file: File, bytes: u64) -> Result<Option<FileSummary>, String> {
    let mut header = [0; 16];
    let mut stream = GzDecoder::new(BufReader::new(file));
    match stream.read_exact(&mut header) {
        Ok(()) if header.starts_with(b"NGSP") => {
            let Some(summary) = spz(&header, bytes) else {
                return Ok(None);
            };
            let bounds = spz_bounds(stream, &summary)?;
            Ok(Some(FileSummary { bounds, ..summary }))
        }
        Ok(()) => Ok(None),
        Err(error) => Err(format!("its gzip stream cannot be read ({error})")),
    }
}

fn glb(mut file: File, start: &[u8], bytes: u64) -> Result<FileSummary, String> {
    let short = || "its header is cut off".to_owned();
    let total = u64::from(word(start, 8).ok_or_else(short)?);
    if total > bytes {
        return Err(format!("it is truncated: {total} bytes announced, {bytes} there"));
    }
    let text = u64::from(word(start, 12).ok_or_else(short)?);
    if text > MAX_JSON_BYTES {
        return Err(format!(
            "its document has {text} bytes, at most {MAX_JSON_BYTES} are read"
        ));
    }
    let mut json = Vec::new();
    file.seek(SeekFrom::Start(20))
        .and_then(|_| file.take(text).read_to_end(&mut json))
        .map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_slice(&json).map_err(|error| format!("its document is no JSON: {error}"))?;
    let meshes = document["meshes"].as_array().map_or(&[][..], Vec::as_slice);
    let primitives = meshes.iter().flat_map(|mesh| {
        let primitives = mesh["primitives"].as_array().map_or(&[][..], Vec::as_slice);
        primitives.iter().map(move |primitive| (mesh, primitive))
    });
    let mut splats = primitives.filter(|(_, primitive)| !primitive["extensions"][EXTENSION].is_null());
    let (mesh, primitive) = splats
        .next()
        .ok_or_else(|| format!("it holds no mesh with {EXTENSION}"))?;
    let accessor = primitive["attributes"]["POSITION"].as_u64();
    let accessor = accessor.and_then(|number| document["accessors"].get(usize::try_from(number).ok()?));
    let gaussians = accessor
        .and_then(|accessor| accessor["count"].as_u64())
        .ok_or("its document does not say how many Gaussians there are")?;
    let corner = |end: &str| -> Option<[f32; 3]> {
        let values = accessor?[end].as_array()?;
        let [x, y, z] = values.first_chunk()?;
        Some([x.as_f64()? as f32, y.as_f64()? as f32, z.as_f64()? as f32])
    };
    let bounds = corner("min").zip(corner("max")).map(|(low, high)| upright([low, high]));
    let has = |degree: &u32| {
        let name = format!("{EXTENSION}:SH_DEGREE_{degree}_COEF_0");
        primitive["attributes"].get(name).is_some()
    };
    let packed = &primitive["extensions"][EXTENSION]["extensions"][SPZ_EXTENSION];
    Ok(FileSummary {
        format: match packed.is_null() {
            true => "GLB with KHR_gaussian_splatting",
            false => "GLB with KHR_gaussian_splatting in SPZ",
        },
        version: None,
        bytes,
        gaussians,
        sh_degree: (0..=4).rev().find(has).unwrap_or(0),
        antialiased: mesh["extras"]["renderMode"].as_str().map(|mode| mode == "mip"),
        position_step: None,
        bounds,
    })
}

/// `None` for PLY files of any other kind.
fn compressed_ply(mut file: File, bytes: u64) -> Result<Option<FileSummary>, String> {
    let mut start = Vec::new();
    file.by_ref()
        .take(MAX_PLY_BYTES)
        .read_to_end(&mut start)
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&start);
    let Some((header, _)) = text.split_once("\nend_header") else {
        return Ok(None);
    };
    let lines = || header.lines().map(str::trim);
    let count = |element: &str| {
        lines().find_map(|line| {
            line.strip_prefix("element ")?
                .strip_prefix(element)?
                .trim()
                .parse()
                .ok()
        })
    };
    let packed = lines().any(|line| line.ends_with(" packed_position"));
    let (Some(chunks), Some(gaussians), true) = (count("chunk "), count("vertex "), packed) else {
        return Ok(None);
    };
    let rest = lines()
        .filter(|line| line.starts_with("property uchar f_rest_"))
        .count();
    let sh_degree = kiln_formats::ply::names::degree_of_rest_values(rest)
        .ok_or_else(|| format!("it has {rest} f_rest properties; 0, 9, 24 or 45 belong to a degree"))?;
    let floats = lines().filter(|line| line.starts_with("property float ")).count();
    let (chunks, gaussians): (u64, u64) = (chunks, gaussians);
    // The header ends with a line of its own, whose break before it is cut off above.
    let head = header.len() + "\nend_header\n".len();
    let rows = u128::from(gaussians) * (16 + rest as u128) + u128::from(chunks) * (4 * floats as u128);
    let needed = rows + head as u128;
    if needed > u128::from(bytes) {
        return Err(format!("it is truncated: {needed} bytes announced, {bytes} there"));
    }
    let ranges: Vec<&str> = lines()
        .filter_map(|line| line.strip_prefix("property float "))
        .collect();
    let ends = ["min_x", "min_y", "min_z", "max_x", "max_y", "max_z"];
    let places: Option<Vec<usize>> = ends
        .iter()
        .map(|end| ranges.iter().position(|name| name.trim() == *end))
        .collect();
    let bounds = match places {
        Some(places) if gaussians > 0 => {
            let read = |error: io::Error| format!("its ranges cannot be read ({error})");
            file.seek(SeekFrom::Start(head as u64)).map_err(read)?;
            let mut file = BufReader::new(file);
            let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
            let mut row = vec![0; 4 * floats];
            for _ in 0..chunks {
                file.read_exact(&mut row).map_err(read)?;
                let value = |end: usize| word(&row, 4 * places[end]).map_or(f32::NAN, f32::from_bits);
                for axis in 0..3 {
                    low[axis] = low[axis].min(value(axis));
                    high[axis] = high[axis].max(value(3 + axis));
                }
            }
            Some([low, high])
        }
        _ => None,
    };
    let mode = lines().find_map(|line| line.strip_prefix("comment SplatRenderMode:"));
    Ok(Some(FileSummary {
        format: "compressed PLY",
        version: None,
        bytes,
        gaussians,
        sh_degree,
        antialiased: mode.map(|mode| mode.trim() == "mip"),
        position_step: None,
        bounds,
    }))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::super::{Chosen, Format, SpzVersion, deliver};
    use super::*;
    use crate::export::{PlyComments, RenderMode};
    use kiln_config::plugins::Subset;
    use kiln_gaussians::Gaussians;
    use kiln_scene::SplitMix64;
    use kiln_scratch::Scratch;

    fn written(scratch: &Scratch, format: Format) -> PathBuf {
        let n = 300;
        let model = Gaussians {
            sh_degree: 2,
            means: (0..n).map(|i| [i as f32 * 0.1, 0.0, 1.0]).collect(),
            quats: vec![[1.0, 0.0, 0.0, 0.0]; n],
            log_scales: vec![[-3.0; 3]; n],
            logit_opacities: vec![0.0; n],
            sh0: vec![[0.5; 3]; n],
            sh_rest: vec![0.25; n * 24],
            filter_3d: vec![0.0; n],
        };
        let path = scratch.path().join(format!("a.{}", format.ending()));
        let comments = PlyComments {
            render_mode: Some(RenderMode::Mip),
            ..PlyComments::default()
        };
        let chosen = Chosen::new(&model, &Subset::default()).unwrap();
        deliver(&path, chosen, format, comments).unwrap();
        path
    }

    /// Ends of that model.
    const LOW: [f32; 3] = [0.0, 0.0, 1.0];
    const HIGH: [f32; 3] = [29.9, 0.0, 1.0];

    const DELIVERED: [Format; 6] = [
        Format::CompressedPly,
        Format::Spz(SpzVersion::V2),
        Format::Spz(SpzVersion::V3),
        Format::Spz(SpzVersion::V4),
        Format::Glb,
        Format::Sog,
    ];

    #[test]
    fn every_format_is_described() {
        let scratch = Scratch::new();
        for format in DELIVERED {
            let path = written(&scratch, format);
            let found = summarize_file(&path).unwrap().unwrap();
            assert_eq!(
                (found.gaussians, found.sh_degree, found.antialiased),
                (300, 2, Some(true))
            );
            assert_eq!(found.bytes, std::fs::metadata(&path).unwrap().len());
            let (version, step) = match format {
                Format::Spz(version) => (Some(version.number()), Some(1.0 / 4096.0)),
                Format::Sog => (Some(2), None),
                _ => (None, None),
            };
            assert_eq!((found.version, found.position_step), (version, step));
            let [low, high] = found.bounds.unwrap();
            for axis in 0..3 {
                let near = |a: f32, b: f32| (a - b).abs() <= 1.0 / 4096.0;
                assert!(
                    near(low[axis], LOW[axis]) && near(high[axis], HIGH[axis]),
                    "{low:?} {high:?}"
                );
            }
        }
        for other in [&b"ply\nformat ascii 1.0\nelement vertex 0\nend_header\n"[..], b"text"] {
            let path = scratch.write("other", other);
            assert_eq!(summarize_file(&path).unwrap(), None);
        }
        let empty = summarize_file(&scratch.write("other", "")).unwrap_err().to_string();
        assert!(empty.contains("it is an empty file"), "{empty}");
        let plain = written(&scratch, Format::Ply);
        assert_eq!(summarize_file(&plain).unwrap(), None);
        assert!(matches!(
            summarize_file(&scratch.path().join("none")),
            Err(FileError::Read { .. })
        ));
    }

    #[test]
    fn cut_files_are_told_and_random_damage_never_panics() {
        let scratch = Scratch::new();
        let mut random = SplitMix64::new(3);
        for format in DELIVERED {
            let bytes = std::fs::read(written(&scratch, format)).unwrap();
            if !matches!(format, Format::Spz(SpzVersion::V2 | SpzVersion::V3)) {
                let cut = scratch.write("cut", &bytes[..bytes.len() - 10]);
                let error = summarize_file(&cut).unwrap_err().to_string();
                assert!(error.contains("truncated") && error.contains("cut"), "{error}");
            }
            for _ in 0..300 {
                let mut damaged = bytes[..bytes.len().min(1 + random.below(3000) as usize)].to_vec();
                for _ in 0..4 {
                    let at = random.below(damaged.len() as u32) as usize;
                    damaged[at] = random.next_u64() as u8;
                }
                let _ = summarize_file(&scratch.write("damaged", &damaged));
            }
        }
    }
}
