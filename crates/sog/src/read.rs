//! Images to Gaussians.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek};

use super::archive::Archive;
use super::images::{Image, decode};
use super::meta::{Meta, Palette};
use super::pixels::{STEPS, from_log, quaternion};
use super::splats::rest_values;
use super::webp::MOST_SIDE;
use super::write::PALETTE_ROW;
use super::{Error, META};

/// Gaussians of a file, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// SH degree, 0 to 3.
    pub sh_degree: u32,
    /// Made for the screen-space filter of Mip-Splatting, where the file says.
    pub antialiased: Option<bool>,
    /// Centres, world units.
    pub means: Vec<[f32; 3]>,
    /// Unit quaternions (w, x, y, z).
    pub quats: Vec<[f32; 4]>,
    /// Natural logarithms of the standard deviations.
    pub log_scales: Vec<[f32; 3]>,
    /// Opacities in steps of 1/255.
    pub opacities: Vec<u8>,
    /// Colour coefficients of degree 0.
    pub sh0: Vec<[f32; 3]>,
    /// Coefficients of higher degrees, `[Gaussian][coefficient][channel]`.
    pub sh_rest: Vec<f32>,
}

impl Model {
    /// Adds the Gaussians of another model. Coefficients of degrees that one of the two has not are 0.
    pub(crate) fn append(&mut self, mut other: Self) {
        let degree = self.sh_degree.max(other.sh_degree);
        self.raise(degree);
        other.raise(degree);
        self.means.extend(other.means);
        self.quats.extend(other.quats);
        self.log_scales.extend(other.log_scales);
        self.opacities.extend(other.opacities);
        self.sh0.extend(other.sh0);
        self.sh_rest.extend(other.sh_rest);
    }

    fn raise(&mut self, degree: u32) {
        let [had, wanted] = [self.sh_degree, degree].map(rest_values);
        if had < wanted {
            let mut raised = vec![0.0; wanted * self.means.len()];
            if had > 0 {
                for (to, from) in raised.chunks_exact_mut(wanted).zip(self.sh_rest.chunks_exact(had)) {
                    to[..had].copy_from_slice(from);
                }
            }
            (self.sh_degree, self.sh_rest) = (degree, raised);
        }
    }
}

/// Gives a file, by its name.
pub type Get<'a> = dyn FnMut(&str) -> Result<Vec<u8>, Error> + 'a;

/// Memory that Gaussians may take however few bytes code them,
const FREE_BYTES: u64 = 16 << 20;
/// and how much more for each byte. Files of trained models hold 13 to 28 bytes a Gaussian, which becomes 53 to 233; only their
/// images can be smaller that say the same of all.
const MOST_GROWTH: u64 = 64;

/// Reads an archive, `.sog`, in memory.
///
/// # Errors
/// [`Error::Damaged`], which says what is wrong.
pub fn read_archive(bytes: &[u8]) -> Result<Model, Error> {
    read_archive_of(Cursor::new(bytes))
}

/// Reads an archive, `.sog`, file after file.
///
/// # Errors
/// [`Error::Damaged`], which says what is wrong; [`Error::Io`].
pub fn read_archive_of(archive: impl Read + Seek) -> Result<Model, Error> {
    let mut archive = Archive::open(archive)?;
    let (meta, bytes) = (archive.file(META)?, archive.bytes());
    read(&meta, bytes, &mut Taken::default(), &mut |name| archive.file(name))
}

/// Reads files of a folder: its `meta.json`, and others as `file` gives them by name.
///
/// # Errors
/// [`Error::Damaged`], which says what is wrong, and those of `file`.
pub fn read_files(meta: &[u8], file: &mut Get<'_>) -> Result<Model, Error> {
    read(meta, u64::MAX, &mut Taken::default(), file)
}

/// What sets of images that become one model take together.
#[derive(Default)]
pub(crate) struct Taken {
    /// Bytes of their files.
    bytes: u64,
    /// Bytes of their Gaussians in memory.
    memory: u64,
}

/// Most memory of what so many bytes code.
pub(crate) const fn room(bytes: u64) -> u64 {
    FREE_BYTES.saturating_add(MOST_GROWTH.saturating_mul(bytes))
}

/// The same of files that take `most_bytes` on the disk, or fewer, beside what other sets have `taken`.
pub(crate) fn read(meta: &[u8], most_bytes: u64, taken: &mut Taken, file: &mut Get<'_>) -> Result<Model, Error> {
    let meta = Meta::parse(meta)?;
    let (mut files, mut held) = (BTreeMap::new(), 0_u64);
    for name in meta.images() {
        let file = file(name)?;
        held += file.len() as u64;
        if held > room(most_bytes) {
            return Err(Error::damaged(format!(
                "{name} and the files before it unpack to {held} bytes, from {most_bytes}"
            )));
        }
        files.insert(name, file);
    }
    taken.bytes = taken.bytes.saturating_add(held.min(most_bytes));
    let memory = meta.count * (4 * (13 + rest_values(meta.sh_degree()) as u64) + 1);
    taken.memory = taken.memory.saturating_add(memory);
    if taken.memory > room(taken.bytes) {
        return Err(Error::damaged(format!(
            "it announces {} Gaussians, which take {} MB of memory, in {} bytes, which cannot hold so many",
            meta.count,
            taken.memory / 1_000_000,
            taken.bytes
        )));
    }
    let count = usize::try_from(meta.count).unwrap_or(usize::MAX);
    // images are as large as they need be, up to what rounds their sides
    let most = meta.count.saturating_mul(2) + 4 * MOST_SIDE as u64;
    let image = |name: &str| {
        let image = named(name, &files, most)?;
        match image.pixels.len() < count {
            true => Err(Error::damaged(format!(
                "{name} has {} pixels for {count} Gaussians",
                image.pixels.len()
            ))),
            false => Ok(image),
        }
    };
    let low = image(&meta.means.files[0])?;
    let high = image(&meta.means.files[1])?;
    let coordinate = |axis: usize, low: u8, high: u8| {
        let share = f64::from(u16::from_le_bytes([low, high])) / STEPS;
        let [from, to] = [meta.means.mins[axis], meta.means.maxs[axis]];
        from_log(from + (to - from) * share) as f32
    };
    let pairs = low.pixels.iter().zip(&high.pixels).take(count);
    let means = pairs.map(|(low, high)| [0, 1, 2].map(|axis| coordinate(axis, low[axis], high[axis])));
    let means: Vec<[f32; 3]> = means.collect();
    drop((low, high));

    let quats = image(&meta.quats.files[0])?;
    let quats: Option<Vec<[f32; 4]>> = quats.pixels[..count].iter().map(|&pixel| quaternion(pixel)).collect();
    let quats = quats.ok_or_else(|| Error::damaged("a pixel of its rotations names no component"))?;

    let log_scales = coded(&image(&meta.scales.files[0])?, count, &meta.scales.codebook)?;
    let colours = image(&meta.sh0.files[0])?;
    let sh0 = coded(&colours, count, &meta.sh0.codebook)?;
    let opacities = colours.pixels[..count].iter().map(|pixel| pixel[3]).collect();
    drop(colours);
    let sh_rest = match &meta.sh_rest {
        Some(palette) => {
            let places = image(&palette.files[1])?;
            let entries = entries(palette, &files)?;
            looked_up(&places, count, &entries, rest_values(palette.bands))?
        }
        None => Vec::new(),
    };
    Ok(Model {
        sh_degree: meta.sh_degree(),
        antialiased: meta.antialias,
        means,
        quats,
        log_scales,
        opacities,
        sh0,
        sh_rest,
    })
}

/// The image of a name, of at most `most` pixels.
fn named(name: &str, files: &BTreeMap<&str, Vec<u8>>, most: u64) -> Result<Image, Error> {
    let file = files.get(name).map_or(&[][..], Vec::as_slice);
    decode(file, most).map_err(|e| match e {
        Error::Damaged(what) => Error::Damaged(format!("{name}: {what}")),
        other => other,
    })
}

/// Values of a codebook.
fn coded(image: &Image, count: usize, book: &[f32]) -> Result<Vec<[f32; 3]>, Error> {
    let value = |place: u8| book.get(usize::from(place)).copied();
    let values = image.pixels[..count]
        .iter()
        .map(|&[r, g, b, _]| Some([value(r)?, value(g)?, value(b)?]));
    values
        .collect::<Option<Vec<[f32; 3]>>>()
        .ok_or_else(|| Error::damaged("a pixel names a value that its codebook has not"))
}

/// Entries of a palette, one after the other.
fn entries(palette: &Palette, files: &BTreeMap<&str, Vec<u8>>) -> Result<Vec<f32>, Error> {
    let name = &palette.files[0];
    let of_one = rest_values(palette.bands) / 3;
    let row = PALETTE_ROW * of_one;
    let n_rows = palette.count.div_ceil(PALETTE_ROW);
    let image = named(name, files, ((n_rows + 4) * row) as u64)?;
    if image.width != row || image.pixels.len() < n_rows * row {
        return Err(Error::damaged(format!(
            "{name} has {} pixels in rows of {}, and {} entries take rows of {row}",
            image.pixels.len(),
            image.width,
            palette.count
        )));
    }
    let values = coded(&image, palette.count * of_one, &palette.codebook)?;
    Ok(values.into_iter().flatten().collect())
}

fn looked_up(places: &Image, count: usize, entries: &[f32], of_one: usize) -> Result<Vec<f32>, Error> {
    let mut values = Vec::with_capacity(count * of_one);
    for &[low, high, ..] in &places.pixels[..count] {
        let start = usize::from(u16::from_le_bytes([low, high])) * of_one;
        let entry = entries.get(start..start + of_one);
        values.extend(entry.ok_or_else(|| Error::damaged("a pixel names an entry that its palette has not"))?);
    }
    Ok(values)
}
