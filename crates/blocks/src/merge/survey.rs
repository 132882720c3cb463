//! The first reading: what of each model is kept, and how its codes are spread.

use std::io::Read as _;
use std::path::Path;

use kiln_files::open_regular;
use kiln_ply::{Format, Header};
use sha2::{Digest as _, Sha256};

use super::code::{CODE_BITS, Frame};
use super::models::{Layout, OpenModel};
use super::{MergeError, Model, Options};
use crate::{Border, Ground, Rect, borders};

/// Bits of a code that the first histogram distinguishes.
const FIRST_BITS: u32 = 16;

/// What of a model is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Gaussians of the model.
    pub trained: u64,
    /// Those in the core.
    pub kept: u64,
    /// Those without a finite centre, which are in no core.
    pub not_finite: u64,
    /// SHA-256 of the file, hexadecimal.
    pub digest: String,
}

/// A border and how many Gaussians are near it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BorderCount {
    /// The border.
    pub border: Border,
    /// How far from it Gaussians count, world units.
    pub width: f64,
    /// Kept Gaussians of the two blocks within that of it.
    pub gaussians: [u64; 2],
}

impl BorderCount {
    /// Gaussians a square unit on both sides.
    #[must_use]
    pub fn density(&self) -> [f64; 2] {
        let area = self.width * self.border.length();
        self.gaussians.map(|count| count as f64 / area)
    }
}

/// All models, read once.
#[derive(Clone, Debug)]
pub struct Survey {
    pub(super) models: Vec<Model>,
    pub(super) ground: Ground,
    pub(super) options: Options,
    pub(super) layout: Layout,
    /// Kept Gaussians by the first bits of their codes.
    pub(super) histogram: Vec<u64>,
    /// What of each model is kept.
    pub kept: Vec<Kept>,
    /// The borders between them.
    pub borders: Vec<BorderCount>,
}

impl Survey {
    /// Reads all models. Gaussians within `width` of a border are counted; infinite borders are cut at `bounds`. `stop` is asked
    /// time and again whether to end.
    ///
    /// # Errors
    /// [`MergeError`] when a model cannot be read, when two do not go together, and when nothing is kept.
    pub fn of(
        models: Vec<Model>,
        ground: Ground,
        options: Options,
        (bounds, width): (&Rect, f64),
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, MergeError> {
        let mut tally = Tally::new(&models, &ground, &options.frame, (bounds, width));
        let mut layout: Option<(Layout, &Path)> = None;
        let mut kept = Vec::new();
        for (number, model) in models.iter().enumerate() {
            let open = OpenModel::open(&model.path)?;
            if let Some((first, path)) = &layout
                && let Some(what) = first.difference(&open.layout)
            {
                return Err(MergeError::Differ {
                    first: path.to_path_buf(),
                    other: model.path.clone(),
                    what,
                });
            }
            let rows = open.layout.clone();
            kept.push(tally.read(open, (number, model), stop)?);
            layout = layout.or(Some((rows, &model.path)));
        }
        let Tally { histogram, borders, .. } = tally;
        let total: u64 = kept.iter().map(|kept| kept.kept).sum();
        let Some((layout, _)) = layout.filter(|_| total > 0) else {
            return Err(MergeError::Nothing(models.len()));
        };
        Ok(Self {
            models,
            ground,
            options,
            layout,
            histogram,
            kept,
            borders,
        })
    }

    /// Gaussians of the merged model.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.kept.iter().map(|kept| kept.kept).sum()
    }

    /// The header of the merged model.
    #[must_use]
    pub fn header(&self) -> Header {
        let mut vertex = self.layout.vertex.clone();
        vertex.count = self.count();
        Header {
            format: Format::LittleEndian,
            comments: self.layout.comments.clone(),
            elements: vec![vertex],
        }
    }

    /// Bytes of the merged model's file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.header().to_string().len() as u64 + self.count() * self.layout.stride() as u64
    }
}

/// What is counted while models are read.
struct Tally<'a> {
    ground: &'a Ground,
    frame: &'a Frame,
    /// How far from a border Gaussians count.
    width: f64,
    /// Kept Gaussians by the first bits of their codes.
    histogram: Vec<u64>,
    borders: Vec<BorderCount>,
}

impl<'a> Tally<'a> {
    /// Of nothing yet, with the borders between `models`.
    fn new(models: &[Model], ground: &'a Ground, frame: &'a Frame, (bounds, width): (&Rect, f64)) -> Self {
        let cores: Vec<Rect> = models.iter().map(|model| model.core).collect();
        let counted = borders(&cores, bounds).into_iter().map(|border| BorderCount {
            border,
            width,
            gaussians: [0; 2],
        });
        Self {
            ground,
            frame,
            width,
            histogram: vec![0; 1 << FIRST_BITS],
            borders: counted.collect(),
        }
    }

    /// Reads a model, the one with this number, and gives what of it is kept.
    fn read(
        &mut self,
        open: OpenModel,
        (number, model): (usize, &Model),
        stop: &dyn Fn() -> bool,
    ) -> Result<Kept, MergeError> {
        let rows = open.layout.clone();
        let mut near: Vec<&mut BorderCount> = self
            .borders
            .iter_mut()
            .filter(|count| count.border.blocks.contains(&number))
            .collect();
        let mut found = Kept {
            trained: open.count,
            kept: 0,
            not_finite: 0,
            digest: String::new(),
        };
        let (before, size) = (open.before, open.size);
        let row_bytes = rows.vertex.stride as u64 * open.count;
        let mut digest = Sha256::new();
        digest_part(&model.path, 0, before, &mut digest)?;
        open.pieces(|piece| {
            if stop() {
                return Err(MergeError::Stopped);
            }
            digest.update(piece);
            for row in piece.chunks_exact(rows.stride()) {
                let place = rows.place(row);
                if !place.iter().all(|x| x.is_finite()) {
                    found.not_finite += 1;
                    continue;
                }
                let flat = self.ground.flat(place.map(f64::from));
                if !model.core.contains(flat) {
                    continue;
                }
                found.kept += 1;
                let code = self.frame.code(place);
                self.histogram[(code >> (CODE_BITS - FIRST_BITS)) as usize] += 1;
                for count in &mut near {
                    if count.border.distance(flat).is_some_and(|far| far.abs() < self.width) {
                        let side = usize::from(count.border.blocks[1] == number);
                        count.gaussians[side] += 1;
                    }
                }
            }
            Ok(())
        })?;
        digest_part(&model.path, before + row_bytes, size, &mut digest)?;
        found.digest = hexadecimal(digest);
        Ok(found)
    }
}

/// Digests the bytes of a file from one place to another.
fn digest_part(path: &Path, from: u64, to: u64, digest: &mut Sha256) -> Result<(), MergeError> {
    use std::io::{Seek as _, SeekFrom};
    let mut read = || -> std::io::Result<()> {
        let mut file = open_regular(path)?;
        file.seek(SeekFrom::Start(from))?;
        let mut part = file.take(to.saturating_sub(from));
        let mut piece = [0; 1 << 14];
        loop {
            match part.read(&mut piece)? {
                0 => return Ok(()),
                bytes => digest.update(&piece[..bytes]),
            }
        }
    };
    read().map_err(|e| MergeError::model(path, format!("cannot be read: {e}")))
}

pub(super) fn hexadecimal(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
