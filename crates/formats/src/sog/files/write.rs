//! Gaussians to images.

use std::io::Write;

use super::archive::ArchiveWriter;
use super::codebook::Codebook;
use super::meta::{Asset, Coded, Files, MOST_PALETTE, Means, Palette as PaletteMeta};
use super::palette::{Palette, Vectors};
use super::pixels::{rotation, step, to_log};
use super::splats::rest_values;
use super::{Error, META, Meta, Splats};
use crate::sog::images::{PALETTE_ROW, STEPS};
use crate::webp::{MOST_SIDE, Pixel, encode};

/// Most Gaussians: a square of the largest side that is a multiple of four.
const MOST_GAUSSIANS: usize = (MOST_SIDE & !3) * (MOST_SIDE & !3);
/// Gaussians that share an entry of the palette, or down to half of it, while two bytes number all entries.
const GAUSSIANS_AN_ENTRY: usize = 4;

/// Takes a file, by its name.
pub type Put<'a> = dyn FnMut(&str, &[u8]) -> Result<(), Error> + 'a;
/// Makes an image of what is said of each Gaussian.
type MakeImage<'a> = dyn Fn(&dyn Fn(usize) -> Pixel) -> Result<Vec<u8>, Error> + 'a;

/// Writes an archive, `.sog`.
///
/// # Errors
/// Those of [`write_files`].
pub fn write_archive(splats: &dyn Splats, antialiased: bool, out: &mut dyn Write) -> Result<(), Error> {
    let mut archive = ArchiveWriter::new(out);
    write_files(splats, antialiased, &mut |name, bytes| archive.add(name, bytes))?;
    archive.finish()
}

/// Passes on the files of a folder, `meta.json` last, in the order in which the Gaussians come.
///
/// # Errors
/// Those of `put`; [`Error::Stopped`]; [`Error::TooLarge`] for more Gaussians than an image has pixels, or none.
pub fn write_files(splats: &dyn Splats, antialiased: bool, put: &mut Put<'_>) -> Result<(), Error> {
    let count = splats.len();
    if count == 0 || count > MOST_GAUSSIANS {
        return Err(Error::TooLarge(format!(
            "SOG holds 1 to {MOST_GAUSSIANS} Gaussians, and there are {count}"
        )));
    }
    let width = width(count);
    let image = |pixel: &dyn Fn(usize) -> Pixel| {
        if !splats.is_wanted() {
            return Err(Error::Stopped);
        }
        let mut pixels: Vec<Pixel> = (0..count).map(pixel).collect();
        // the last pixel again: runs cost nothing
        let last = pixels[count - 1];
        pixels.resize(
            count.next_multiple_of(width).div_ceil(width).next_multiple_of(4) * width,
            last,
        );
        encode(&pixels, width)
    };
    let [mins, maxs] = log_bounds(splats);
    let coordinates = |index: usize| {
        let mean = splats.mean(index);
        [0, 1, 2].map(|axis| {
            let (low, high) = (mins[axis], maxs[axis]);
            // an axis without extent gives 0 / 0, which becomes 0
            step((to_log(mean[axis].into()) - low) / (high - low), STEPS) as u16
        })
    };
    let bytes = |place: usize| {
        move |index: usize| {
            let [r, g, b] = coordinates(index).map(|value| value.to_le_bytes()[place]);
            [r, g, b, 255]
        }
    };
    let means = Means {
        mins,
        maxs,
        files: ["means_l.webp", "means_u.webp"].map(str::to_owned),
    };
    put(&means.files[0], &image(&bytes(0))?)?;
    put(&means.files[1], &image(&bytes(1))?)?;

    let quats = Files {
        files: ["quats.webp".to_owned()],
    };
    put(&quats.files[0], &image(&|index| rotation(splats.quat(index)))?)?;

    let book =
        Codebook::new(|take| (0..count).for_each(|index| splats.log_scales(index).into_iter().for_each(&mut *take)));
    let scales = image(&|index| {
        let [x, y, z] = splats.log_scales(index).map(|value| book.nearest(value));
        [x, y, z, 255]
    })?;
    let scales_meta = Coded {
        codebook: book.values().to_vec(),
        files: ["scales.webp".to_owned()],
    };
    put(&scales_meta.files[0], &scales)?;

    let book = Codebook::new(|take| (0..count).for_each(|index| splats.sh0(index).into_iter().for_each(&mut *take)));
    let sh0 = image(&|index| {
        let [r, g, b] = splats.sh0(index).map(|value| book.nearest(value));
        [r, g, b, step(splats.opacity(index).into(), 255.0) as u8]
    })?;
    let sh0_meta = Coded {
        codebook: book.values().to_vec(),
        files: ["sh0.webp".to_owned()],
    };
    put(&sh0_meta.files[0], &sh0)?;

    let mut meta = Meta::new(count as u64, means, scales_meta, quats, sh0_meta);
    meta.antialias = antialiased.then_some(true);
    meta.asset = Some(Asset {
        generator: concat!("kiln ", env!("CARGO_PKG_VERSION")).to_owned(),
    });
    if splats.sh_degree() > 0 {
        let palette = Palette::new(&Rest(splats), rest_values(splats.sh_degree()), palette_entries(count));
        // what the palette is then is no palette
        if !splats.is_wanted() {
            return Err(Error::Stopped);
        }
        meta.sh_rest = Some(harmonics(&palette, splats.sh_degree(), &image, put)?);
    }
    let text = serde_json::to_vec(&meta).map_err(|e| Error::Io(e.into()))?;
    put(META, &text)
}

/// Images of a palette and of the places in it.
fn harmonics(palette: &Palette, bands: u32, image: &MakeImage<'_>, put: &mut Put<'_>) -> Result<PaletteMeta, Error> {
    let of_one = rest_values(bands);
    let count = palette.entries.len() / of_one;
    let book = Codebook::new(|take| palette.entries.iter().for_each(|&value| take(value)));
    let mut pixels: Vec<Pixel> = palette
        .entries
        .as_chunks::<3>()
        .0
        .iter()
        .map(|rgb| rgb.map(|value| book.nearest(value)))
        .map(|[r, g, b]| [r, g, b, 255])
        .collect();
    let row = PALETTE_ROW * of_one / 3;
    pixels.resize(count.div_ceil(PALETTE_ROW) * row, [0, 0, 0, 255]);
    let files = ["shN_centroids.webp", "shN_labels.webp"].map(str::to_owned);
    put(&files[0], &encode(&pixels, row)?)?;
    let labels = image(&|index| {
        let [low, high] = palette.places[index].to_le_bytes();
        [low, high, 0, 255]
    })?;
    put(&files[1], &labels)?;
    Ok(PaletteMeta {
        count,
        bands,
        codebook: book.values().to_vec(),
        files,
    })
}

/// Pixels of a row: images are about square, and sides are multiples of four.
fn width(count: usize) -> usize {
    ((count as f64).sqrt().ceil() as usize).next_multiple_of(4)
}

fn palette_entries(count: usize) -> usize {
    (count / GAUSSIANS_AN_ENTRY)
        .next_power_of_two()
        .clamp(1024, MOST_PALETTE)
}

/// Smallest and largest spread coordinates of the centres.
fn log_bounds(splats: &dyn Splats) -> [[f64; 3]; 2] {
    let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
    for index in 0..splats.len() {
        for (axis, value) in splats.mean(index).into_iter().enumerate() {
            let value = to_log(value.into());
            bounds[0][axis] = bounds[0][axis].min(value);
            bounds[1][axis] = bounds[1][axis].max(value);
        }
    }
    bounds
}

struct Rest<'a>(&'a dyn Splats);

impl Vectors for Rest<'_> {
    fn len(&self) -> usize {
        self.0.len()
    }
    fn get(&self, index: usize) -> &[f32] {
        self.0.rest(index)
    }
    fn is_wanted(&self) -> bool {
        self.0.is_wanted()
    }
}
