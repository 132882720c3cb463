//! GLB with `KHR_gaussian_splatting`; [`super::super::glb`] says what is in it.
//!
//! All primitives with the extension are one model. Numbers may be floats or, as the extension allows, normalised integers, or
//! SPZ of versions 2 and 3, whose axes are then taken for those of the file.
//! What cannot be a model of the engine is refused: other kernels, linear colours, and splats that a node moves, because a
//! turned splat has turned harmonics.

use std::collections::BTreeSet;
use std::io::{BufReader, Read, Seek, SeekFrom};

use kiln_formats::Error;
use serde_json::Value;

use super::super::super::{Notes, PlyComments, PlyError, RenderMode};
use super::super::axes;
use super::super::glb::{BINARY_CHUNK, EXTENSION, FLOAT, JSON_CHUNK, MAX_JSON_BYTES, SPZ_EXTENSION, UNSIGNED_BYTE};
use super::room::Room;
use super::spz;
use crate::gaussians::Gaussians;
use crate::gaussians::layout::sh_coefficients;

/// Extensions that a file may require.
const KNOWN: [&str; 2] = [EXTENSION, SPZ_EXTENSION];
/// Highest degree that is read.
const MOST_DEGREE: u32 = 3;
const BYTE: u32 = 5120;
const SHORT: u32 = 5122;
const UNSIGNED_SHORT: u32 = 5123;
/// Attributes may lie in the same bytes, as harmonics that are all 0 do; all together they have at most so many times the bytes of the
/// file's numbers,
const MOST_SHARED: u64 = 4;
/// and a few more: small files are no danger.
const FREE_BYTES: u64 = 1 << 20;
/// Items read at a time.
const BATCH: u64 = 4096;
/// Opacities of 1 come back half a step of 32-bit floats inside, those of 0 as the smallest.
const OPACITIES: [f64; 2] = [1.2e-38, 1.0 - 3.0e-8];

/// Reads what comes before the numbers.
pub(super) fn check(file: impl Read + Seek) -> Result<(), PlyError> {
    Glb::open(file).map(|_| ())
}

/// Reads a model.
pub(super) fn read(file: impl Read + Seek, notes: &mut Notes) -> Result<(Gaussians, PlyComments), PlyError> {
    let mut glb = Glb::open(file)?;
    let document = std::mem::take(&mut glb.document);
    let extension = |primitive: &Value| primitive["extensions"].get(EXTENSION).cloned();
    let required = list(&document["extensionsRequired"]).iter().filter_map(Value::as_str);
    let unknown: Vec<&str> = required.filter(|name| !KNOWN.contains(name)).collect();
    if !unknown.is_empty() {
        return Err(PlyError::Required(
            unknown.iter().map(|name| plain(name)).collect::<Vec<_>>().join(", "),
        ));
    }
    let splats: Vec<(&Value, usize)> = list(&document["meshes"])
        .iter()
        .enumerate()
        .flat_map(|(mesh, value)| {
            list(&value["primitives"])
                .iter()
                .map(move |primitive| (primitive, mesh))
        })
        .filter(|(primitive, _)| extension(primitive).is_some())
        .collect();
    let Some((_, first)) = splats.first() else {
        return Err(PlyError::Delivered("a GLB file without KHR_gaussian_splatting"));
    };
    let refused = splats.iter().find_map(|(primitive, _)| {
        let found = extension(primitive)?;
        let other = |key: &str, known: &str| found[key].as_str().is_some_and(|value| value != known);
        match (other("kernel", "ellipse"), other("colorSpace", "srgb_rec709_display")) {
            (true, _) => Some("a GLB file with a kernel other than `ellipse`"),
            (_, true) => Some("a GLB file with colours of another space than `srgb_rec709_display`"),
            _ => None,
        }
    });
    // A node that moves the splats to the scene's origin, as Kiln writes it, does not turn them.
    let extras = &document["meshes"][*first]["extras"];
    let origin = three_numbers(&extras["origin"]);
    let to_origin = origin.map(axes::point);
    let moves = |node: &Value| {
        let places = ["matrix", "rotation", "scale", "translation"];
        let is_moved = |key: &&str| !is_still(key, &node[*key]);
        let is_origin =
            |key: &&str| **key == *"translation" && to_origin.is_some() && three_numbers(&node[*key]) == to_origin;
        places.iter().any(|key| is_moved(key) && !is_origin(key))
    };
    let of_splats: BTreeSet<u64> = splats.iter().map(|(_, mesh)| *mesh as u64).collect();
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
    for (primitive, _) in &splats {
        let packed = &primitive["extensions"][EXTENSION]["extensions"][SPZ_EXTENSION];
        if packed.is_null() {
            parts.push(glb.part(&document, &primitive["attributes"], notes)?);
        } else {
            let (part, said) = glb.packed(&document, packed, notes)?;
            comments.render_mode = comments.render_mode.or(said.render_mode);
            parts.push(part);
        }
    }
    Ok((joined(parts), comments))
}

/// A name as it may be shown: a file from elsewhere must not write to terminals.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
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

fn uneven() -> PlyError {
    damaged("its attributes are not of the same number of Gaussians")
}

/// An open file.
struct Glb<F> {
    file: F,
    document: Value,
    /// First byte and length of the numbers.
    binary: (u64, u64),
    /// Bytes that attributes may still have.
    attributes_left: u64,
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
                attributes_left: MOST_SHARED.saturating_mul(binary.1).saturating_add(FREE_BYTES),
                room: Room::of(binary.1),
            }),
            _ => Err(damaged("it has no document or no numbers")),
        }
    }

    /// The Gaussians of a primitive in SPZ, and what that says of how they are drawn.
    fn packed(
        &mut self,
        document: &Value,
        extension: &Value,
        notes: &mut Notes,
    ) -> Result<(Gaussians, PlyComments), PlyError> {
        let number = extension["bufferView"].as_u64().and_then(|at| usize::try_from(at).ok());
        let view = number.and_then(|at| document["bufferViews"].get(at));
        let view = view.ok_or_else(|| damaged("its SPZ is missing"))?;
        let of = |key: &str| view[key].as_u64().unwrap_or(0);
        let (first, length, (start, bytes)) = (of("byteOffset"), of("byteLength"), self.binary);
        if of("buffer") != 0 || first.checked_add(length).is_none_or(|end| end > bytes) {
            return Err(damaged("its SPZ leads out of the file"));
        }
        self.file.seek(SeekFrom::Start(start + first)).map_err(PlyError::Io)?;
        spz::read_gzip(BufReader::new(self.file.by_ref().take(length)), &mut self.room, notes)
    }

    /// The Gaussians of a primitive.
    fn part(&mut self, document: &Value, attributes: &Value, notes: &mut Notes) -> Result<Gaussians, PlyError> {
        let mut read = |name: &str| self.attribute(document, attributes, name);
        let own = |name: &str| format!("{EXTENSION}:{name}");
        let above = format!("SH_DEGREE_{}_COEF_0", MOST_DEGREE + 1);
        if attributes.get(own(&above)).is_some() {
            notes.remark(format!("its harmonics above degree {MOST_DEGREE} are left out"));
        }
        let means = three(&read("POSITION")?);
        let count = means.len();
        let quats = read(&own("ROTATION"))?;
        let scales = three(&read(&own("SCALE"))?);
        let opacities = read(&own("OPACITY"))?;
        let degree = (1..=MOST_DEGREE)
            .take_while(|degree| attributes.get(own(&format!("SH_DEGREE_{degree}_COEF_0"))).is_some())
            .last()
            .unwrap_or(0);
        let sh0 = three(&read(&own("SH_DEGREE_0_COEF_0"))?);
        let kept = sh_coefficients(degree) - 1;
        let mut sh_rest = vec![0.0; count * 3 * kept];
        let orders = (1..=degree).flat_map(|degree| (0..=2 * degree).map(move |order| (degree, order)));
        for (place, (degree, order)) in orders.enumerate() {
            let values = read(&own(&format!("SH_DEGREE_{degree}_COEF_{order}")))?;
            if values.len() != 3 * count {
                return Err(uneven());
            }
            let sign = axes::sh_sign(place);
            for (to, from) in sh_rest.chunks_exact_mut(3 * kept).zip(values.chunks_exact(3)) {
                for (to, from) in to[3 * place..].iter_mut().zip(from) {
                    *to = sign * from;
                }
            }
        }
        let counts = [quats.len() / 4, scales.len(), opacities.len(), sh0.len(), count];
        if counts.iter().any(|found| *found != count) {
            return Err(uneven());
        }
        let below = |scale: &&[f32; 3]| scale.iter().any(|value| *value < 0.0);
        // A few are damage, and Gaussians that cannot be drawn; most are another meaning.
        if 2 * scales.iter().filter(below).count() > count {
            return Err(damaged(
                "the scales of most of its Gaussians are below 0, logarithms as drafts of the extension had them",
            ));
        }
        let quats = quats.as_chunks::<4>().0.iter();
        Ok(Gaussians {
            sh_degree: degree,
            means: means.into_iter().map(axes::point).collect(),
            // the turn is its own inverse
            quats: quats.map(|[x, y, z, w]| [*w, *x, -y, -z]).collect(),
            log_scales: scales.iter().map(|scale| scale.map(log)).collect(),
            logit_opacities: opacities.iter().map(|share| logit(*share)).collect(),
            sh0,
            sh_rest,
            filter_3d: vec![0.0; count],
        })
    }

    /// All values of an attribute, whatever they are.
    fn attribute(&mut self, document: &Value, attributes: &Value, name: &str) -> Result<Vec<f32>, PlyError> {
        let wrong = |what: &str| damaged(format!("its attribute {name} {what}"));
        let entry = |list: &str, index: &Value| document[list].get(usize::try_from(index.as_u64()?).ok()?);
        let accessor = entry("accessors", &attributes[name]).ok_or_else(|| wrong("is missing"))?;
        if !accessor["sparse"].is_null() {
            return Err(wrong("is sparse, which is not read"));
        }
        let view = entry("bufferViews", &accessor["bufferView"]).ok_or_else(|| wrong("has no numbers"))?;
        let kind = accessor["componentType"]
            .as_u64()
            .and_then(|kind| u32::try_from(kind).ok());
        let component = kind
            .and_then(Component::of)
            .ok_or_else(|| wrong("has numbers of another kind"))?;
        let items = match accessor["type"].as_str() {
            Some("SCALAR") => 1,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            _ => 0,
        };
        let wanted = match name.rsplit(':').next() {
            Some("ROTATION") => 4,
            Some("OPACITY") => 1,
            _ => 3,
        };
        if items != wanted {
            return Err(wrong("has another number of values a Gaussian"));
        }
        let number = |of: &Value, key: &str| of[key].as_u64().unwrap_or(0);
        let (count, each) = (number(accessor, "count"), items * component.bytes());
        let stride = match number(view, "byteStride") {
            0 => each,
            stride => stride,
        };
        let first = number(view, "byteOffset").checked_add(number(accessor, "byteOffset"));
        let end = count
            .checked_sub(1)
            .map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(each));
        let (start, length) = self.binary;
        let first = first
            .zip(end)
            .filter(|(first, end)| stride >= each && first.checked_add(*end).is_some_and(|end| end <= length))
            .map(|(first, _)| first)
            .ok_or_else(|| wrong("leads out of the file"))?;
        if number(view, "buffer") != 0 {
            return Err(wrong("is in another file"));
        }
        let bytes = count.saturating_mul(each);
        self.attributes_left = self.attributes_left.checked_sub(bytes).ok_or_else(|| {
            wrong(&format!(
                "repeats numbers: all attributes together have more than {MOST_SHARED} times the bytes of the file"
            ))
        })?;
        let mut values = Vec::with_capacity((count * items) as usize);
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start + first)).map_err(PlyError::Io)?;
        let mut done = 0;
        while done < count {
            let rows = BATCH.min(count - done);
            // the last row of all may end where its values do
            let wanted = if done + rows == count {
                (rows - 1) * stride + each
            } else {
                rows * stride
            };
            bytes.clear();
            let read = self.file.by_ref().take(wanted).read_to_end(&mut bytes);
            read.map_err(PlyError::Io)?;
            for row in bytes.chunks(stride as usize) {
                let row = row.chunks_exact(component.bytes() as usize).take(items as usize);
                values.extend(row.map(|bytes| component.value(bytes)));
            }
            done += rows;
        }
        Ok(values)
    }
}

/// What numbers are stored as; integers are normalised.
#[derive(Clone, Copy)]
enum Component {
    Byte,
    UnsignedByte,
    Short,
    UnsignedShort,
    Float,
}

impl Component {
    const fn of(kind: u32) -> Option<Self> {
        match kind {
            BYTE => Some(Self::Byte),
            UNSIGNED_BYTE => Some(Self::UnsignedByte),
            SHORT => Some(Self::Short),
            UNSIGNED_SHORT => Some(Self::UnsignedShort),
            FLOAT => Some(Self::Float),
            _ => None,
        }
    }

    const fn bytes(self) -> u64 {
        match self {
            Self::Byte | Self::UnsignedByte => 1,
            Self::Short | Self::UnsignedShort => 2,
            Self::Float => 4,
        }
    }

    fn value(self, bytes: &[u8]) -> f32 {
        match (self, bytes) {
            (Self::Byte, &[a]) => (f32::from(a.cast_signed()) / 127.0).max(-1.0),
            (Self::UnsignedByte, &[a]) => f32::from(a) / 255.0,
            (Self::Short, &[a, b]) => (f32::from(i16::from_le_bytes([a, b])) / 32767.0).max(-1.0),
            (Self::UnsignedShort, &[a, b]) => f32::from(u16::from_le_bytes([a, b])) / 65535.0,
            (Self::Float, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
            _ => f32::NAN,
        }
    }
}

/// The logarithm of a scale; of 0 the smallest there is, of what is no scale none.
fn log(scale: f32) -> f32 {
    match scale {
        0.0..=f32::MIN_POSITIVE => f32::MIN_POSITIVE.ln(),
        scale => scale.ln(),
    }
}

fn three(values: &[f32]) -> Vec<[f32; 3]> {
    values.as_chunks::<3>().0.to_vec()
}

fn logit(share: f32) -> f32 {
    // NaN stays what it is.
    let share = f64::from(share).clamp(OPACITIES[0], OPACITIES[1]);
    (share / (1.0 - share)).ln() as f32
}

/// Models as one, of the highest degree among them.
fn joined(parts: Vec<Gaussians>) -> Gaussians {
    let degree = parts.iter().map(|part| part.sh_degree).max().unwrap_or(0);
    let mut all = Gaussians {
        sh_degree: degree,
        ..Gaussians::default()
    };
    let wanted = 3 * all.rest_coefficients();
    for part in parts {
        let own = 3 * part.rest_coefficients();
        match own == wanted {
            true => all.sh_rest.extend(&part.sh_rest),
            false => {
                for at in 0..part.len() {
                    all.sh_rest.extend(&part.sh_rest[at * own..(at + 1) * own]);
                    all.sh_rest.extend(std::iter::repeat_n(0.0, wanted - own));
                }
            }
        }
        all.means.extend(part.means);
        all.quats.extend(part.quats);
        all.log_scales.extend(part.log_scales);
        all.logit_opacities.extend(part.logit_opacities);
        all.sh0.extend(part.sh0);
        all.filter_3d.extend(part.filter_3d);
    }
    all
}
