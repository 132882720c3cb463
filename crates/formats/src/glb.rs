//! GLB (binary glTF 2.0) with `KHR_gaussian_splatting`: attributes of splats as accessors.
//!
//! Each primitive with the extension is a [`Set`]. Numbers may be floats or, as the extension allows, normalised integers. The
//! document comes as any [`Json`], and numbers as ranges of bytes that the caller fetches, so that no reader holds the whole file
//! for this. What nodes and extras say is for the caller to know.

use std::borrow::Cow;

use crate::error::plain;
use crate::{Error, Opacity, REST_MAX, Splat, rest_count};

/// The extension.
pub const EXTENSION: &str = "KHR_gaussian_splatting";
/// Splats in SPZ, in that extension.
pub const SPZ_EXTENSION: &str = "KHR_gaussian_splatting_compression_spz_2";
/// glTF's number for floats, and for bytes.
pub const FLOAT: u32 = 5126;
/// Bytes without a sign.
pub const UNSIGNED_BYTE: u32 = 5121;
const BYTE: u32 = 5120;
const SHORT: u32 = 5122;
const UNSIGNED_SHORT: u32 = 5123;
/// Extensions that a file may require: the last changes nothing of what is read.
const KNOWN: [&str; 3] = [EXTENSION, SPZ_EXTENSION, "KHR_materials_unlit"];
/// Highest degree that is read.
pub const MOST_DEGREE: u32 = 3;
/// Attributes may lie in the same bytes, as harmonics that are all 0 do; all together they have at most so many times the bytes of the
/// file's numbers,
const MOST_SHARED: u64 = 4;
/// and a few more: small files are no danger.
const FREE_BYTES: u64 = 1 << 20;
/// Splats that are read at a time, and bytes of one attribute of them.
const BATCH: u64 = 1 << 14;
const BATCH_BYTES: u64 = 1 << 20;

/// A document, parsed.
pub trait Json: Sized {
    /// The value of a key; none where this is no object, and of null.
    fn field(&self, key: &str) -> Option<&Self>;
    /// The values of a list; none where this is no list.
    fn list(&self) -> &[Self];
    /// A whole number.
    fn count(&self) -> Option<u64>;
    /// A text.
    fn word(&self) -> Option<&str>;
}

#[cfg(feature = "native")]
impl Json for serde_json::Value {
    fn field(&self, key: &str) -> Option<&Self> {
        self.get(key).filter(|value| !value.is_null())
    }

    fn list(&self) -> &[Self] {
        self.as_array().map_or(&[], Vec::as_slice)
    }

    fn count(&self) -> Option<u64> {
        self.as_u64()
    }

    fn word(&self) -> Option<&str> {
        self.as_str()
    }
}

fn items<'a, J: Json>(value: &'a J, key: &str) -> &'a [J] {
    value.field(key).map_or(&[], Json::list)
}

fn number<J: Json>(value: &J, key: &str) -> u64 {
    value.field(key).and_then(Json::count).unwrap_or(0)
}

/// An entry of one of the document's lists.
fn entry<'a, J: Json>(document: &'a J, key: &str, index: Option<&J>) -> Option<&'a J> {
    items(document, key).get(usize::try_from(index?.count()?).ok()?)
}

/// Refuses a file that cannot be understood without what is not here.
///
/// # Errors
/// [`Error::Required`], with all names.
pub fn check_required(document: &impl Json) -> Result<(), Error> {
    let required = items(document, "extensionsRequired").iter().filter_map(Json::word);
    let unknown: Vec<String> = required.filter(|name| !KNOWN.contains(name)).map(plain).collect();
    match unknown.is_empty() {
        true => Ok(()),
        false => Err(Error::Required(Cow::Owned(unknown.join(", ")))),
    }
}

/// Primitives of splats, each with what the extension says of it and the number of its mesh.
pub fn primitives<J: Json>(document: &J) -> impl Iterator<Item = (&J, &J, usize)> {
    let meshes = items(document, "meshes").iter().enumerate();
    meshes.flat_map(|(mesh, value)| {
        let primitives = items(value, "primitives").iter();
        primitives.filter_map(move |primitive| {
            let about = primitive.field("extensions")?.field(EXTENSION)?;
            Some((primitive, about, mesh))
        })
    })
}

/// What [`SPZ_EXTENSION`] says of a primitive, out of what [`EXTENSION`] says.
pub fn packed<J: Json>(about: &J) -> Option<&J> {
    about.field("extensions")?.field(SPZ_EXTENSION)
}

/// First byte and length of what is packed, among `length` bytes of numbers.
///
/// # Errors
/// [`Error::Damaged`] where it is not there.
pub fn packed_range<J: Json>(document: &J, packed: &J, length: u64) -> Result<(u64, u64), Error> {
    let view = entry(document, "bufferViews", packed.field("bufferView"));
    let view = view.ok_or_else(|| Error::damaged("its SPZ is missing"))?;
    let (first, bytes) = (number(view, "byteOffset"), number(view, "byteLength"));
    if number(view, "buffer") != 0 || first.checked_add(bytes).is_none_or(|end| end > length) {
        return Err(Error::damaged("its SPZ leads out of the file"));
    }
    Ok((first, bytes))
}

/// The numbers of a file, and how many attributes may still have.
#[derive(Debug)]
pub struct Numbers {
    length: u64,
    left: u64,
}

impl Numbers {
    /// Of so many bytes.
    #[must_use]
    pub const fn new(length: u64) -> Self {
        Self {
            length,
            left: MOST_SHARED.saturating_mul(length).saturating_add(FREE_BYTES),
        }
    }
}

/// Where an attribute lies among the numbers.
#[derive(Clone, Copy, Debug)]
struct Column {
    first: u64,
    stride: u64,
    component: Component,
    /// Values a splat.
    items: usize,
    count: u64,
}

/// The attributes of a primitive.
#[derive(Debug)]
pub struct Set {
    degree: u32,
    /// There are harmonics above [`MOST_DEGREE`].
    is_cut: bool,
    /// Centres, rotations, scales, opacities and harmonics, the constant ones first.
    columns: Vec<Column>,
}

impl Set {
    /// Finds the attributes of a primitive.
    ///
    /// # Errors
    /// [`Error::Damaged`] where one is missing, of another kind, or not in the file.
    pub fn new<J: Json>(document: &J, primitive: &J, numbers: &mut Numbers) -> Result<Self, Error> {
        let own = |name: &str| format!("{EXTENSION}:{name}");
        let harmonic = |degree: u32, order: u32| own(&format!("SH_DEGREE_{degree}_COEF_{order}"));
        let attribute = |name: &str| primitive.field("attributes")?.field(name);
        let mut columns = Vec::new();
        let mut add = |name: &str, items: usize| {
            columns.push(Column::find(document, attribute(name), name, items, numbers)?);
            Ok::<(), Error>(())
        };
        add("POSITION", 3)?;
        add(&own("ROTATION"), 4)?;
        add(&own("SCALE"), 3)?;
        add(&own("OPACITY"), 1)?;
        add(&harmonic(0, 0), 3)?;
        let is_whole = |degree: &u32| (0..=2 * degree).all(|order| attribute(&harmonic(*degree, order)).is_some());
        let degree = (1..=MOST_DEGREE).take_while(is_whole).last().unwrap_or(0);
        for degree in 1..=degree {
            for order in 0..=2 * degree {
                add(&harmonic(degree, order), 3)?;
            }
        }
        if columns.iter().any(|column| column.count != columns[0].count) {
            return Err(Error::damaged("its attributes are not of the same number of Gaussians"));
        }
        Ok(Self {
            degree,
            is_cut: attribute(&harmonic(MOST_DEGREE + 1, 0)).is_some(),
            columns,
        })
    }

    /// SH degree, 0 to 3.
    #[must_use]
    pub const fn degree(&self) -> u32 {
        self.degree
    }

    /// True when there are harmonics above those that come out.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Splats.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.columns[0].count
    }

    /// Hands out the splats. `fetch` replaces what it is given by a range of the numbers, first byte and length; gives the number of
    /// splats with a scale below 0: a few are damage, most are logarithms, as drafts of the extension had them.
    ///
    /// # Errors
    /// Those of `fetch`.
    pub fn splats<E>(
        &self,
        mut fetch: impl FnMut(u64, u64, &mut Vec<u8>) -> Result<(), E>,
        mut each: impl FnMut(&Splat),
    ) -> Result<u64, E> {
        let widest = self.columns.iter().map(|column| column.stride).max().unwrap_or(1);
        let batch = BATCH.min(BATCH_BYTES / widest).max(1);
        let mut values: Vec<Vec<f32>> = vec![Vec::new(); self.columns.len()];
        let (mut bytes, mut below, mut done) = (Vec::new(), 0, 0);
        while done < self.count() {
            let rows = batch.min(self.count() - done);
            for (values, column) in values.iter_mut().zip(&self.columns) {
                // the last row of all may end where its values do
                let length = (rows - 1) * column.stride + column.bytes();
                fetch(column.first + done * column.stride, length, &mut bytes)?;
                values.clear();
                for row in bytes.chunks(column.stride as usize) {
                    let row = row.chunks_exact(column.component.bytes()).take(column.items);
                    values.extend(row.map(|bytes| column.component.value(bytes)));
                }
            }
            for at in 0..rows as usize {
                let splat = splat(&values, at, self.degree);
                below += u64::from(values[2][3 * at..3 * at + 3].iter().any(|scale| *scale < 0.0));
                each(&splat.turned());
            }
            done += rows;
        }
        Ok(below)
    }
}

/// Splat `at` of a batch of columns.
fn splat(columns: &[Vec<f32>], at: usize, degree: u32) -> Splat {
    let three = |column: &Vec<f32>| -> [f32; 3] { std::array::from_fn(|i| column[3 * at + i]) };
    let [x, y, z, w] = std::array::from_fn(|i| columns[1][4 * at + i]);
    let mut rest = [[0.0; 3]; REST_MAX];
    for (coefficient, column) in rest.iter_mut().zip(&columns[5..]).take(rest_count(degree)) {
        *coefficient = three(column);
    }
    Splat {
        mean: three(&columns[0]),
        quat: [w, x, y, z],
        log_scale: three(&columns[2]).map(log),
        opacity: Opacity::Share(columns[3][at]),
        sh0: three(&columns[4]),
        rest,
    }
}

/// The logarithm of a scale; of 0 the smallest there is, of what is no scale none.
fn log(scale: f32) -> f32 {
    match scale {
        // In f64, so that the last digit is the same with every C library.
        0.0..=f32::MIN_POSITIVE => f64::from(f32::MIN_POSITIVE).ln() as f32,
        scale => f64::from(scale).ln() as f32,
    }
}

impl Column {
    /// The attribute whose accessor has number `index`, with `items` values a splat.
    fn find<J: Json>(
        document: &J,
        index: Option<&J>,
        name: &str,
        items: usize,
        numbers: &mut Numbers,
    ) -> Result<Self, Error> {
        let wrong = |what: &str| Error::damaged(format!("its attribute {name} {what}"));
        let accessor = entry(document, "accessors", index).ok_or_else(|| wrong("is missing"))?;
        if accessor.field("sparse").is_some() {
            return Err(wrong("is sparse, which is not read"));
        }
        let view = entry(document, "bufferViews", accessor.field("bufferView"));
        let view = view.ok_or_else(|| wrong("has no numbers"))?;
        let component = accessor.field("componentType").and_then(Json::count);
        let component = component.and_then(Component::of);
        let component = component.ok_or_else(|| wrong("has numbers of another kind"))?;
        // Values that nobody asks for may lie behind the others.
        let width = match accessor.field("type").and_then(Json::word) {
            Some("SCALAR") => 1,
            Some("VEC3") => 3,
            Some("VEC4") => 4,
            Some(_) => 0,
            None => items,
        };
        if width < items {
            return Err(wrong("has another number of values a Gaussian"));
        }
        let size = component.bytes();
        let count = number(accessor, "count");
        let found = Self {
            first: 0,
            stride: match number(view, "byteStride") {
                // From one splat to the next: where there is no next, any number stands there.
                _ if count < 2 => (items * size) as u64,
                0 => (width * size) as u64,
                stride => stride,
            },
            component,
            items,
            count,
        };
        let each = found.bytes();
        let first = number(view, "byteOffset").checked_add(number(accessor, "byteOffset"));
        let last = found.count.checked_sub(1);
        let end = last.map_or(Some(0), |last| last.checked_mul(found.stride)?.checked_add(each));
        let first = first
            .zip(end)
            .filter(|(first, end)| first.checked_add(*end).is_some_and(|end| end <= numbers.length))
            .map(|(first, _)| first)
            .filter(|_| found.stride >= each)
            .ok_or_else(|| wrong("leads out of the file"))?;
        if number(view, "buffer") != 0 {
            return Err(wrong("is in another file"));
        }
        let left = numbers.left.checked_sub(found.count.saturating_mul(each));
        numbers.left = left.ok_or_else(|| {
            wrong("repeats numbers: all attributes together have more than 4 times the bytes of the file")
        })?;
        Ok(Self { first, ..found })
    }

    /// Bytes of a splat's values.
    const fn bytes(&self) -> u64 {
        (self.items * self.component.bytes()) as u64
    }
}

/// What numbers are stored as; integers are normalised.
#[derive(Clone, Copy, Debug)]
enum Component {
    Byte,
    UnsignedByte,
    Short,
    UnsignedShort,
    Float,
}

impl Component {
    fn of(kind: u64) -> Option<Self> {
        Some(match u32::try_from(kind).ok()? {
            BYTE => Self::Byte,
            UNSIGNED_BYTE => Self::UnsignedByte,
            SHORT => Self::Short,
            UNSIGNED_SHORT => Self::UnsignedShort,
            FLOAT => Self::Float,
            _ => return None,
        })
    }

    const fn bytes(self) -> usize {
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
