//! Files to Gaussians.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Seek};

use super::archive::Archive;
use super::splats::rest_values;
use super::{Error, META, Meta};
use crate::Opacity;

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

    fn reserve(&mut self, count: usize) {
        self.means.reserve_exact(count);
        self.quats.reserve_exact(count);
        self.log_scales.reserve_exact(count);
        self.opacities.reserve_exact(count);
        self.sh0.reserve_exact(count);
        self.sh_rest.reserve_exact(count * rest_values(self.sh_degree));
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
    let files: Vec<&[u8]> = meta
        .images()
        .map(|name| files.get(name).map_or(&[][..], Vec::as_slice))
        .collect();
    let mut model = Model {
        sh_degree: meta.sh_degree(),
        antialiased: meta.antialias,
        ..Model::default()
    };
    let rest = rest_values(model.sh_degree);
    meta.splats(&files, |splat| {
        if model.means.is_empty() {
            // The images hold as many as are announced.
            model.reserve(meta.count as usize);
        }
        model.means.push(splat.mean);
        model.quats.push(splat.quat);
        model.log_scales.push(splat.log_scale);
        if let Opacity::Steps(steps) = splat.opacity {
            model.opacities.push(steps);
        }
        model.sh0.push(splat.sh0);
        model.sh_rest.extend(&splat.rest.as_flattened()[..rest]);
    })?;
    Ok(model)
}
