//! GLB with `KHR_gaussian_splatting` out of a file; [`kiln_formats::glb`] says what is in it.
//!
//! All primitives with the extension are one model. Numbers may be floats or, as the extension allows, normalised integers, or
//! SPZ of versions 2 and 3, whose axes are then taken for those of the file.
//! What cannot be a model of the engine is refused: other kernels, linear colours, and splats that a node moves, because a
//! turned splat has turned harmonics.

use std::collections::BTreeSet;
use std::io::{BufReader, Read, Seek, SeekFrom};

use kiln_formats::Error;
use kiln_formats::glb::{self, MOST_DEGREE, Numbers, Set};
use serde_json::Value;

use super::super::super::{Notes, PlyComments, PlyError, RenderMode};
use super::super::axes;
use super::super::glb::{BINARY_CHUNK, JSON_CHUNK, MAX_JSON_BYTES};
use super::room::Room;
use super::spz::Unpacked;
use kiln_gaussians::Gaussians;

/// Reads what comes before the numbers.
pub(super) fn check(file: impl Read + Seek) -> Result<(), PlyError> {
    Glb::open(file).map(|_| ())
}

/// Reads a model.
pub(super) fn read(file: impl Read + Seek, notes: &mut Notes) -> Result<(Gaussians, PlyComments), PlyError> {
    let mut glb_file = Glb::open(file)?;
    let document = std::mem::take(&mut glb_file.document);
    glb::check_required(&document)?;
    let splats: Vec<_> = glb::primitives(&document).collect();
    let Some(&(.., first)) = splats.first() else {
        return Err(PlyError::Delivered("a GLB file without KHR_gaussian_splatting"));
    };
    let refused = splats.iter().find_map(|(_, about, _)| {
        let other = |key: &str, known: &str| about[key].as_str().is_some_and(|value| value != known);
        match (other("kernel", "ellipse"), other("colorSpace", "srgb_rec709_display")) {
            (true, _) => Some("a GLB file with a kernel other than `ellipse`"),
            (_, true) => Some("a GLB file with colours of another space than `srgb_rec709_display`"),
            _ => None,
        }
    });
    // A node that moves the splats to the scene's origin, as Kiln writes it, does not turn them.
    let extras = &document["meshes"][first]["extras"];
    let origin = three_numbers(&extras["origin"]);
    let to_origin = origin.map(axes::point);
    let moves = |node: &Value| {
        let places = ["matrix", "rotation", "scale", "translation"];
        let is_moved = |key: &&str| !is_still(key, &node[*key]);
        let is_origin =
            |key: &&str| **key == *"translation" && to_origin.is_some() && three_numbers(&node[*key]) == to_origin;
        places.iter().any(|key| is_moved(key) && !is_origin(key))
    };
    let of_splats: BTreeSet<u64> = splats.iter().map(|(.., mesh)| *mesh as u64).collect();
    let holds = |node: &Value| node["mesh"].as_u64().is_some_and(|mesh| of_splats.contains(&mesh));
    let nodes = list(&document["nodes"]);
    // Above a mesh that lies still there may be a node that does not.
    let is_moved = nodes
        .iter()
        .any(|node| moves(node) && (holds(node) || !list(&node["children"]).is_empty()));
    if let Some(what) = refused.or_else(|| is_moved.then_some("a GLB file in which a node moves the splats")) {
        return Err(PlyError::Delivered(what));
    }
    let mut comments = PlyComments {
        render_mode: extras["renderMode"].as_str().and_then(RenderMode::of),
        kernel_size: extras["kernelSize"].as_f64().map(|size| size as f32),
        iteration: extras["iteration"].as_u64(),
        origin,
    };
    let mut parts = Vec::new();
    for (primitive, about, _) in &splats {
        parts.push(match glb::packed(*about) {
            None => Part::Set(Set::new(&document, *primitive, &mut glb_file.numbers)?),
            Some(packed) => {
                let range = glb::packed_range(&document, packed, glb_file.binary.1)?;
                Part::Packed(glb_file.packed(range)?)
            }
        });
    }
    let degree = parts.iter().map(Part::degree).max().unwrap_or(0);
    let count = parts.iter().map(Part::count).sum::<u64>();
    let mut model = Gaussians::with_room(degree, usize::try_from(count).unwrap_or(usize::MAX));
    // Harmonics above the degree of a part are 0.
    let rest = model.rest_coefficients();
    for part in &parts {
        part.note(notes);
        match part {
            Part::Packed(unpacked) => {
                comments.render_mode = comments.render_mode.or(unpacked.render_mode());
                unpacked.splats(|splat| model.push(splat, rest, 0.0));
            }
            Part::Set(set) => {
                let fetch = |first, length, bytes: &mut Vec<u8>| glb_file.fetch(first, length, bytes);
                let below = set.splats(fetch, |splat| model.push(splat, rest, 0.0))?;
                // A few are damage, and Gaussians that cannot be drawn; most are another meaning.
                if 2 * below > set.count() {
                    return Err(damaged(
                        "the scales of most of its Gaussians are below 0, logarithms as drafts of the extension had them",
                    ));
                }
            }
        }
    }
    Ok((model, comments))
}

/// The Gaussians of a primitive.
enum Part {
    Set(Set),
    Packed(Unpacked),
}

impl Part {
    fn degree(&self) -> u32 {
        match self {
            Self::Set(set) => set.degree(),
            Self::Packed(unpacked) => unpacked.degree(),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Set(set) => set.count(),
            Self::Packed(unpacked) => unpacked.count().into(),
        }
    }

    /// Notes what is not read.
    fn note(&self, notes: &mut Notes) {
        match self {
            Self::Set(set) if set.is_cut() => {
                notes.remark(format!("its harmonics above degree {MOST_DEGREE} are left out"));
            }
            Self::Set(_) => {}
            Self::Packed(unpacked) => unpacked.note(notes),
        }
    }
}

/// The list that a value is; empty where it is none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Three finite numbers; none for anything else.
fn three_numbers(value: &Value) -> Option<[f64; 3]> {
    match list(value) {
        [x, y, z] => Some([x.as_f64()?, y.as_f64()?, z.as_f64()?]),
        _ => None,
    }
}

/// True of what changes nothing: absent, or the identity.
fn is_still(key: &str, value: &Value) -> bool {
    let identity: &[f64] = match key {
        "matrix" => &[
            1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ],
        "rotation" => &[0.0, 0.0, 0.0, 1.0],
        "scale" => &[1.0; 3],
        _ => &[0.0; 3],
    };
    let numbers: Vec<f64> = list(value).iter().filter_map(Value::as_f64).collect();
    value.is_null() || numbers == identity
}

fn damaged(what: impl Into<String>) -> PlyError {
    Error::Damaged(what.into()).into()
}

/// An open file.
struct Glb<F> {
    file: F,
    document: Value,
    /// First byte and length of the numbers.
    binary: (u64, u64),
    numbers: Numbers,
    /// Bytes that Gaussians in SPZ may still unpack to.
    room: Room,
}

impl<F: Read + Seek> Glb<F> {
    fn open(mut file: F) -> Result<Self, PlyError> {
        let size = file.seek(SeekFrom::End(0)).map_err(PlyError::Io)?;
        let (mut document, mut binary) = (None, None);
        let mut at = 12;
        while at + 8 <= size && (document.is_none() || binary.is_none()) {
            file.seek(SeekFrom::Start(at)).map_err(PlyError::Io)?;
            let mut head = [[0; 4]; 2];
            file.read_exact(head.as_flattened_mut()).map_err(PlyError::Io)?;
            let [length, kind] = head.map(u32::from_le_bytes);
            let (start, length) = (at + 8, u64::from(length));
            if start + length > size {
                let needed = u128::from(start + length);
                return Err(PlyError::Truncated { needed, size });
            }
            match kind {
                JSON_CHUNK if length > MAX_JSON_BYTES => {
                    return Err(damaged(format!(
                        "its document has {length} bytes, at most {MAX_JSON_BYTES} are read"
                    )));
                }
                JSON_CHUNK => {
                    let mut text = Vec::new();
                    let read = file.by_ref().take(length).read_to_end(&mut text);
                    read.map_err(PlyError::Io)?;
                    let value = serde_json::from_slice(&text);
                    document = Some(value.map_err(|e| damaged(format!("its document is no JSON: {e}")))?);
                }
                BINARY_CHUNK => binary = Some((start, length)),
                _ => {}
            }
            at = (start + length).next_multiple_of(4);
        }
        match (document, binary) {
            (Some(document), Some(binary)) => Ok(Self {
                file,
                document,
                binary,
                numbers: Numbers::new(binary.1),
                room: Room::of(binary.1),
            }),
            _ => Err(damaged("it has no document or no numbers")),
        }
    }

    /// The Gaussians in SPZ at a range of the numbers.
    fn packed(&mut self, (first, length): (u64, u64)) -> Result<Unpacked, PlyError> {
        self.file
            .seek(SeekFrom::Start(self.binary.0 + first))
            .map_err(PlyError::Io)?;
        Unpacked::of_gzip(BufReader::new(self.file.by_ref().take(length)), &mut self.room)
    }

    /// A range of the numbers.
    fn fetch(&mut self, first: u64, length: u64, bytes: &mut Vec<u8>) -> Result<(), PlyError> {
        bytes.clear();
        self.file
            .seek(SeekFrom::Start(self.binary.0 + first))
            .map_err(PlyError::Io)?;
        let read = self.file.by_ref().take(length).read_to_end(bytes);
        match read.map_err(PlyError::Io)? as u64 == length {
            true => Ok(()),
            // the file shrank since its size was read
            false => Err(damaged("it is truncated")),
        }
    }
}
