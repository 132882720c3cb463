//! PLY files of splats, read as a stream: raw, fused and compressed ones; and of points, which are shown as dots.
//!
//! Owns the reading of bytes in whatever pieces they arrive. Promises that memory does not grow with the file: what
//! has been read leaves as [`Batch`]es ready for the GPU. Refuses text, lists, files above 2 GiB
//! and headers that do not describe splats, each with a sentence for the reader of the page.

mod header;
mod points;
mod rows;

use crate::pack::{GEOMETRY_WORDS, Layout, push_geometry, push_sh};
use crate::splat::{Splat, UNSEEN};
use kiln_formats::compressed_ply::{CompressedPly, Record};
use kiln_ply::{Element, Format, Header};
use points::Points;
use rows::Rows;

/// Largest file that is opened, bytes.
pub(crate) const MAX_BYTES: u64 = 2 << 30;
/// Screen-space variance of a Mip model that does not state one, px^2.
pub(crate) const MIP_KERNEL: f32 = 0.1;
/// Splats that leave together: whole rows of the textures.
pub(crate) const BATCH: usize = 16_384;

/// What the header says about the model and how it wants to be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Model {
    /// Splats the file announces.
    pub(crate) count: u32,
    /// SH degree, 0 to 3.
    pub(crate) degree: u32,
    /// Screen-space filter.
    pub(crate) filter: Filter,
    /// Training iteration, where stated.
    pub(crate) iteration: Option<u64>,
}

impl Model {
    /// All of it as numbers, for the way between page and worker.
    pub(crate) fn numbers(&self) -> [f64; 4] {
        let filter = match self.filter {
            Filter::Mip(variance) => f64::from(variance),
            Filter::Classic => -1.0,
            Filter::Dots => -2.0,
        };
        let iteration = self.iteration.map_or(-1.0, |iteration| iteration as f64);
        [self.count.into(), self.degree.into(), filter, iteration]
    }

    /// What [`Self::numbers`] gave.
    pub(crate) fn of_numbers([count, degree, filter, iteration]: [f64; 4]) -> Self {
        Self {
            count: count as u32,
            degree: degree as u32,
            filter: match filter {
                -2.0 => Filter::Dots,
                -1.0 => Filter::Classic,
                variance => Filter::Mip(variance as f32),
            },
            iteration: (iteration >= 0.0).then_some(iteration as u64),
        }
    }
}

/// The low-pass filter on the image plane that a model was trained with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Filter {
    /// Mip-Splatting: adds this variance, px^2, and dims by the lost peak height.
    Mip(f32),
    /// 3D Gaussian Splatting: adds 0.3 px^2, no dimming.
    Classic,
    /// Points, which have no extent of their own: dots of this variance, px^2.
    Dots,
}

impl Filter {
    /// Variance that is added, px^2.
    pub(crate) fn variance(self) -> f32 {
        match self {
            Self::Mip(variance) => variance,
            Self::Classic => 0.3,
            Self::Dots => 1.5,
        }
    }
}

/// A piece of the model in the words of the textures. Geometry and harmonics of a splat may come in different pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Batch {
    /// Splat that `geometry` starts with.
    pub(crate) first: u32,
    /// Eight words a splat.
    pub(crate) geometry: Vec<u32>,
    /// Splat that `sh` starts with.
    pub(crate) sh_first: u32,
    /// Harmonics, whole texels a splat.
    pub(crate) sh: Vec<u32>,
}

impl Batch {
    /// Appends a splat.
    pub(crate) fn push(&mut self, splat: &Splat, degree: u32) {
        push_geometry(splat, &mut self.geometry);
        push_sh(splat, degree, &mut self.sh);
    }

    /// Splats whose geometry is in it.
    pub(crate) fn len(&self) -> usize {
        self.geometry.len() / GEOMETRY_WORDS
    }

    /// The centres.
    #[cfg(test)]
    pub(crate) fn positions(&self) -> Vec<f32> {
        crate::pack::balls(&self.geometry)
            .flat_map(|(centre, _)| centre)
            .collect()
    }

    pub(crate) fn is_full(&self, sh_words: usize) -> bool {
        self.len() >= BATCH || (sh_words > 0 && self.sh.len() / sh_words >= BATCH)
    }

    /// An empty batch that goes on where this one ends.
    pub(crate) fn next(&self, sh_words: usize) -> Self {
        Self {
            first: self.first + self.len() as u32,
            sh_first: self.sh_first + self.sh.len().checked_div(sh_words).unwrap_or(0) as u32,
            ..Self::default()
        }
    }
}

/// Why a file is not shown: a sentence for the page.
pub(crate) type Refusal = String;

#[derive(Debug)]
enum Body {
    Rows(Box<Rows>),
    Points(Box<Points>),
    Compressed(Box<CompressedPly>),
}

impl Body {
    /// Bytes of the next record; `None` after the last.
    fn stride(&self) -> Option<usize> {
        match self {
            Self::Rows(rows) => rows.stride(),
            Self::Points(points) => points.stride(),
            Self::Compressed(compressed) => compressed.stride(),
        }
    }

    /// Takes a record; says whether it had to be left out.
    fn read(&mut self, record: &[u8], degree: u32, batch: &mut Batch) -> bool {
        let splat = match self {
            Self::Rows(rows) => rows.read(record),
            Self::Points(points) => points.read(record),
            Self::Compressed(compressed) => return read_compressed(compressed, record, batch),
        };
        if let Some(splat) = &splat {
            batch.push(splat, degree);
        }
        splat.is_none()
    }
}

/// Takes a record of a compressed file. A splat that is not a number keeps its place, unseen, because its harmonics come
/// apart from it; says whether this was one.
fn read_compressed(file: &mut CompressedPly, record: &[u8], batch: &mut Batch) -> bool {
    match file.read(record) {
        Record::Nothing => false,
        Record::Splat(splat) => {
            let splat = Splat::of(&splat);
            push_geometry(splat.as_ref().unwrap_or(&UNSEEN), &mut batch.geometry);
            splat.is_none()
        }
        Record::Harmonics(rest) => {
            push_sh(&Splat { rest, ..UNSEEN }, file.degree(), &mut batch.sh);
            false
        }
    }
}

/// Reads one file.
#[derive(Debug, Default)]
pub(crate) struct PlyStream {
    pending: Vec<u8>,
    parsed: Option<(Model, Body)>,
    sh_words: usize,
    batch: Batch,
    ready: Vec<Batch>,
    /// Bytes before the splats that are passed over.
    passing: u64,
    skipped: u32,
    /// Rows of a big-endian file, and one of them turned round.
    turned: Option<(Element, Vec<u8>)>,
}

impl PlyStream {
    /// What the header says, once it has been read.
    pub(crate) fn model(&self) -> Option<Model> {
        self.parsed.as_ref().map(|(model, _)| *model)
    }

    /// Splats left out because a value is not a number.
    pub(crate) fn skipped(&self) -> u32 {
        self.skipped
    }

    /// Splats read so far, without those left out.
    pub(crate) fn len(&self) -> u32 {
        self.batch.first + self.batch.len() as u32
    }

    /// The batches that are full.
    pub(crate) fn take_ready(&mut self) -> Vec<Batch> {
        std::mem::take(&mut self.ready)
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// A [`Refusal`] when they show that the file cannot be drawn.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.parsed.is_some() {
            self.records(bytes);
            return Ok(());
        }
        self.pending.extend_from_slice(bytes);
        let Some((header, length)) = header::read(&self.pending)? else {
            return Ok(());
        };
        let rest = self.pending.split_off(length);
        self.pending.clear();
        self.start(&header, length)?;
        self.records(&rest);
        Ok(())
    }

    /// The end of the file: the last batch is ready. A sentence when the file ended early.
    ///
    /// # Errors
    /// A [`Refusal`] when not even the header is whole.
    pub(crate) fn finish(&mut self) -> Result<Option<String>, Refusal> {
        let Some((model, body)) = &self.parsed else {
            return Err("the file ends before `end_header`: it is no PLY file, or only its beginning".to_owned());
        };
        let warning = body.stride().map(|_| {
            let there = self.len() + self.skipped;
            format!(
                "the file is cut off: it announces {} splats and holds {there}",
                model.count
            )
        });
        let next = self.batch.next(self.sh_words);
        self.ready.push(std::mem::replace(&mut self.batch, next));
        Ok(warning)
    }

    fn start(&mut self, header: &Header, length: usize) -> Result<(), Refusal> {
        let elements = header.elements.iter().map(Element::bytes);
        let announced = elements.fold(length as u64, u64::saturating_add);
        if announced > MAX_BYTES {
            return Err(too_large(announced));
        }
        let mut filter = header::filter(header);
        if header.format == Format::BigEndian {
            let vertex = header.elements.iter().find(|element| element.name == "vertex");
            self.turned = vertex.map(|vertex| (vertex.clone(), Vec::new()));
        }
        let (body, count, degree) = if let Some(compressed) = CompressedPly::new(header).map_err(|e| e.to_string())? {
            let (count, degree) = (compressed.count(), compressed.degree());
            (Body::Compressed(Box::new(compressed)), count, degree)
        } else if let Some(points) = Points::new(header)? {
            self.passing = points.bytes_before();
            filter = Filter::Dots;
            let count = points.count();
            (Body::Points(Box::new(points)), count, 0)
        } else {
            let rows = Rows::new(header)?;
            self.passing = rows.bytes_before();
            let (count, degree) = (rows.count(), rows.degree());
            (Body::Rows(Box::new(rows)), count, degree)
        };
        self.sh_words = Layout::new(count, degree).sh_texels() * 4;
        let model = Model {
            count,
            degree,
            filter,
            iteration: header::iteration(header),
        };
        self.parsed = Some((model, body));
        Ok(())
    }

    /// Cuts the bytes into records; what is left over waits for the next piece.
    fn records(&mut self, mut rest: &[u8]) {
        let passed = self.passing.min(rest.len() as u64);
        self.passing -= passed;
        rest = &rest[passed as usize..];
        let Some((model, body)) = &mut self.parsed else {
            return;
        };
        while let Some(stride) = body.stride() {
            let record = if self.pending.is_empty() && rest.len() >= stride {
                let (record, behind) = rest.split_at(stride);
                rest = behind;
                record
            } else {
                let missing = stride - self.pending.len();
                let (taken, behind) = rest.split_at(missing.min(rest.len()));
                self.pending.extend_from_slice(taken);
                rest = behind;
                if self.pending.len() < stride {
                    return;
                }
                &self.pending
            };
            let record = match &mut self.turned {
                Some((vertex, turned)) => {
                    turned.clear();
                    turned.extend_from_slice(record);
                    vertex.swap(turned);
                    turned
                }
                None => record,
            };
            self.skipped += u32::from(body.read(record, model.degree, &mut self.batch));
            self.pending.clear();
            if self.batch.is_full(self.sh_words) {
                let next = self.batch.next(self.sh_words);
                self.ready.push(std::mem::replace(&mut self.batch, next));
            }
        }
    }
}

/// Says that a file of `bytes` is above the limit.
pub(crate) fn too_large(bytes: u64) -> Refusal {
    format!(
        "the file has {:.1} GiB and files up to {} GiB are opened; save fewer Gaussians, or compress it",
        bytes as f64 / f64::from(1 << 30),
        MAX_BYTES >> 30
    )
}

#[cfg(test)]
mod tests;
