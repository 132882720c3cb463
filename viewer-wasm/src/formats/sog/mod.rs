//! SOG, version 2: attributes of splats as pixels of lossless images, in an archive or beside their `meta.json`.
//!
//! Owns the meaning of the description and of the pixels. Values are those that `kiln export` reads back, in the axes of PLY.

mod archive;

use super::Collected;
use crate::json::{self, Value};
use crate::math::exp;
use crate::ply::{Filter, MIP_KERNEL, Refusal};
use crate::run::inner_path;
use crate::splat::{REST_MAX, Splat, rest_count};
use crate::webp::{self, Image, channels};
use archive::Archive;

/// Name of the description.
pub(crate) const META: &str = "meta.json";
/// Most splats of one set of images.
const MOST_SPLATS: usize = 1 << 24;
/// Place of the palette among the images,
const PALETTE: usize = 5;
/// and entries of it in a row.
const PALETTE_ROW: usize = 64;
/// Most pixels by which images are larger than they need be: some rows of the widest.
const SPARE_PIXELS: usize = 5 << 14;
/// Largest logarithm of a distance whose power is a 32-bit float.
const MOST_LOG: f64 = 88.0;

/// A description.
#[derive(Debug, Default)]
pub(crate) struct Meta {
    pub(crate) count: usize,
    pub(crate) degree: u32,
    pub(crate) filter: Option<Filter>,
    /// Low and high bytes of centres, scales, rotations, colours; then palette and places in it, where there are any.
    pub(crate) files: Vec<String>,
    /// What the spread coordinates of centres begin and end with.
    ends: [[f64; 3]; 2],
    /// Values of scales, colours and harmonics.
    books: [Vec<f32>; 3],
    n_palette: usize,
}

impl Meta {
    /// Reads a description.
    pub(crate) fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let value = json::parse(&String::from_utf8_lossy(text)).map_err(|e| format!("its {META} is {e}"))?;
        if value.whole("version") != Some(2) {
            return Err(format!(
                "its {META} is not of SOG's version 2; `splat-transform` writes that"
            ));
        }
        Self::of(&value).ok_or_else(|| format!("its {META} does not describe splats"))
    }

    fn of(value: &Value) -> Option<Self> {
        let mut meta = Self {
            count: value.whole("count").filter(|count| *count <= MOST_SPLATS as u64)? as usize,
            ..Self::default()
        };
        for (key, n_files, book) in [
            ("means", 2, None),
            ("scales", 1, Some(0)),
            ("quats", 1, None),
            ("sh0", 1, Some(1)),
        ] {
            meta.attribute(value.get(key)?, n_files, book)?;
        }
        let means = value.get("means")?;
        for (ends, key) in meta.ends.iter_mut().zip(["mins", "maxs"]) {
            *ends = <[f64; 3]>::try_from(numbers(means, key)).ok()?;
            ends.iter().all(|end| end.abs() < MOST_LOG).then_some(())?;
        }
        if let Some(harmonics) = value.get("shN") {
            meta.degree = harmonics.whole("bands").filter(|bands| (1..=3).contains(bands))? as u32;
            meta.n_palette = harmonics.whole("count").filter(|count| (1..=1 << 16).contains(count))? as usize;
            meta.attribute(harmonics, 2, Some(2))?;
        }
        let mip = value.get("antialias") == Some(&Value::Bool(true));
        meta.filter = Some(if mip { Filter::Mip(MIP_KERNEL) } else { Filter::Classic });
        Some(meta)
    }

    /// Takes the names and values of an attribute.
    fn attribute(&mut self, value: &Value, n_files: usize, book: Option<usize>) -> Option<()> {
        let files = value.items("files");
        for file in files {
            let Value::Text(name) = file else { return None };
            self.files.push(inner_path(name)?);
        }
        if let Some(book) = book {
            let values: Vec<f32> = numbers(value, "codebook").into_iter().map(|v| v as f32).collect();
            let usable = (1..=256).contains(&values.len()) && values.iter().all(|v| v.is_finite());
            self.books[book] = usable.then_some(values)?;
        }
        (files.len() == n_files).then_some(())
    }

    /// Gives the splats of the images, which come in the order of [`Self::files`].
    pub(crate) fn splats(&self, files: &[&[u8]], each: &mut dyn FnMut(&Splat)) -> Result<(), Refusal> {
        let mut images = Vec::new();
        for (at, file) in files.iter().enumerate() {
            let named = |why| format!("{}: {why}", self.files.get(at).map_or("", String::as_str));
            let [width, height] = self.palette_size();
            let (least, most) = match at {
                PALETTE => (width * height, width * (height + 4)),
                _ => (self.count, self.count + SPARE_PIXELS),
            };
            let image = webp::read(file, most).map_err(named)?;
            if image.pixels.len() < least || at == PALETTE && image.width != width {
                return Err(named(format!(
                    "it has {} pixels, and {least} are needed",
                    image.pixels.len()
                )));
            }
            images.push(image);
        }
        let [low, high, scales, quats, colours, harmonics @ ..] = images.as_slice() else {
            return Err(format!("its {META} names too few images"));
        };
        let [from, to] = self.ends;
        for i in 0..self.count {
            let [low, high, scales, quats, colours] =
                [low, high, scales, quats, colours].map(|image| channels(image.pixels[i]));
            let mean = std::array::from_fn(|axis| {
                let share = f64::from(u16::from_le_bytes([low[axis], high[axis]])) / 65_535.0;
                let spread = from[axis] + (to[axis] - from[axis]) * share;
                (spread.signum() * (exp(spread.abs()) - 1.0)) as f32
            });
            let mut splat = Splat {
                mean,
                quat: rotation(quats).ok_or("a pixel of its rotations names no component")?,
                log_scale: self.values(0, scales)?,
                opacity: f32::from(colours[3]) / 255.0,
                dc: self.values(1, colours)?,
                rest: [[0.0; 3]; REST_MAX],
            };
            if let [palette, places] = harmonics {
                self.look_up(palette, channels(places.pixels[i]), &mut splat)?;
            }
            each(&splat);
        }
        Ok(())
    }

    fn palette_size(&self) -> [usize; 2] {
        [
            PALETTE_ROW * rest_count(self.degree),
            self.n_palette.div_ceil(PALETTE_ROW),
        ]
    }

    /// Values that three bytes name.
    fn values(&self, book: usize, [r, g, b, _]: [u8; 4]) -> Result<[f32; 3], Refusal> {
        let value = |byte: u8| self.books[book].get(usize::from(byte)).copied();
        let values = || Some([value(r)?, value(g)?, value(b)?]);
        values().ok_or_else(|| "a pixel names a value that its codebook has not".to_owned())
    }

    fn look_up(&self, palette: &Image, [low, high, ..]: [u8; 4], splat: &mut Splat) -> Result<(), Refusal> {
        let entry = usize::from(u16::from_le_bytes([low, high]));
        if entry >= self.n_palette {
            return Err("a pixel names an entry that its palette has not".to_owned());
        }
        let n = rest_count(self.degree);
        // Entries lie row after row, and rows are as wide as their entries.
        for (value, pixel) in splat.rest.iter_mut().zip(&palette.pixels[entry * n..entry * n + n]) {
            *value = self.values(2, channels(*pixel))?;
        }
        Ok(())
    }
}

fn numbers(value: &Value, key: &str) -> Vec<f64> {
    value.items(key).iter().filter_map(Value::as_number).collect()
}

/// (w, x, y, z) of the three smallest components and the place of the largest.
fn rotation([r, g, b, tag]: [u8; 4]) -> Option<[f32; 4]> {
    let largest = usize::from(tag.checked_sub(252)?);
    let mut quat = [0.0; 4];
    let others = (0..4).filter(|place| *place != largest);
    let mut rest = 1.0;
    for (place, byte) in others.zip([r, g, b]) {
        quat[place] = (f32::from(byte) / 255.0 - 0.5) * std::f32::consts::SQRT_2;
        rest -= quat[place] * quat[place];
    }
    quat[largest] = rest.max(0.0).sqrt();
    Some(quat)
}

/// Reads an archive.
pub(super) fn read(bytes: &[u8]) -> Result<Collected, Refusal> {
    let archive = Archive::open(bytes)?;
    let meta = Meta::parse(archive.file(META)?)?;
    let files = meta.files.iter().map(|name| archive.file(name));
    let files = files.collect::<Result<Vec<_>, _>>()?;
    let mut out = Collected::new(meta.count, meta.degree, meta.filter.unwrap_or(Filter::Classic), None)?;
    meta.splats(&files, &mut |splat| out.push(splat))?;
    Ok(out.end())
}

#[cfg(test)]
pub(crate) mod tests;
