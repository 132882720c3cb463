//! The Gaussians of a stored model, in parts: all in host memory, or read from the file again and again.

use std::collections::VecDeque;
use std::ops::Range;

use crate::export::{MeanOpacity, PlyError, PlyParts};
use kiln_gaussians::Gaussians;

/// Gaussians in a part.
const PART: usize = 1 << 17;

/// A model.
pub(super) struct ModelParts {
    from: From,
    part: usize,
}

enum From {
    Memory(Gaussians),
    File(Box<Kept>),
}

/// A file with some of its parts in host memory.
struct Kept {
    file: PlyParts,
    /// The latest asked for last.
    parts: VecDeque<(usize, Gaussians)>,
    /// Most of them.
    room: usize,
}

/// Where the Gaussians of a part lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounds {
    /// Smallest coordinates of their centres.
    pub(super) lower: [f32; 3],
    /// Largest coordinates.
    pub(super) upper: [f32; 3],
    /// Largest standard deviation along any axis, with the 3D filter.
    pub(super) sigma: f32,
}

/// Standard deviation along the longest axis of Gaussian `i`, with the 3D filter.
pub(super) fn sigma(model: &Gaussians, i: usize) -> f32 {
    let scales = model.log_scales.get(i).copied().unwrap_or_default();
    let largest = scales.into_iter().fold(f32::NEG_INFINITY, f32::max).exp();
    largest.hypot(model.filter_3d.get(i).copied().unwrap_or(0.0))
}

impl ModelParts {
    /// A model that is in memory; `part` Gaussians make a part.
    pub(super) fn in_memory(model: Gaussians, part: Option<u32>) -> Self {
        Self {
            from: From::Memory(model),
            part: part.map_or(PART, |part| part as usize),
        }
    }

    /// A model that stays in its file, of which at most `bytes` are in memory, and at least one part.
    pub(super) fn in_file(file: PlyParts, part: Option<u32>, bytes: u64) -> Self {
        let part = part.map_or(PART, |part| part as usize);
        let of_part = part as u64 * Gaussians::host_bytes(file.sh_degree());
        Self {
            from: From::File(Box::new(Kept {
                room: usize::try_from(bytes / of_part.max(1)).unwrap_or(usize::MAX).max(1),
                parts: VecDeque::new(),
                file,
            })),
            part,
        }
    }

    /// Moves all centres, world units.
    pub(super) fn move_by(&mut self, step: [f64; 3]) {
        match &mut self.from {
            From::Memory(model) => model.move_by(step),
            From::File(kept) => {
                kept.parts.clear();
                kept.file.move_by(step);
            }
        }
    }

    /// Gaussians.
    pub(super) fn len(&self) -> usize {
        match &self.from {
            From::Memory(model) => model.len(),
            From::File(kept) => kept.file.len(),
        }
    }

    /// Highest degree of spherical harmonics stored.
    pub(super) fn sh_degree(&self) -> u32 {
        match &self.from {
            From::Memory(model) => model.sh_degree,
            From::File(kept) => kept.file.sh_degree(),
        }
    }

    /// Bytes of all Gaussians in host memory.
    pub(super) fn host_bytes(&self) -> u64 {
        self.len() as u64 * Gaussians::host_bytes(self.sh_degree())
    }

    /// True when a Gaussian has a 3D filter. Goes through the whole model.
    pub(super) fn is_filtered(&mut self) -> Result<bool, PlyError> {
        for index in 0..self.count() {
            let (model, ids) = self.part(index)?;
            if model
                .filter_3d
                .get(ids)
                .is_some_and(|part| part.iter().any(|filter| *filter != 0.0))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Mean opacity with the 3D filter folded in, 0 to 1. Goes through the whole model.
    pub(super) fn mean_opacity(&mut self) -> Result<Option<f64>, PlyError> {
        let mut mean = MeanOpacity::default();
        for index in 0..self.count() {
            let (model, ids) = self.part(index)?;
            mean.add_part(model, ids);
        }
        Ok(mean.mean())
    }

    /// All Gaussians: as far as they are in memory, or may come there.
    pub(super) fn all(&mut self, may_read: bool) -> Result<Option<&Gaussians>, PlyError> {
        if let (From::File(kept), true) = (&mut self.from, may_read) {
            kept.parts.clear();
            let all = kept.file.read(0..kept.file.len())?;
            self.from = From::Memory(all);
        }
        Ok(self.in_memory_now())
    }

    /// All Gaussians, when they are in memory.
    pub(super) fn in_memory_now(&self) -> Option<&Gaussians> {
        match &self.from {
            From::Memory(model) => Some(model),
            From::File(_) => None,
        }
    }

    /// Parts.
    pub(super) fn count(&self) -> usize {
        self.len().div_ceil(self.part)
    }

    /// A part: the Gaussians numbered by the range.
    pub(super) fn part(&mut self, index: usize) -> Result<(&Gaussians, Range<usize>), PlyError> {
        let first = index * self.part;
        let range = first..(first + self.part).min(self.len()).max(first);
        match &mut self.from {
            From::Memory(model) => Ok((model, range)),
            From::File(kept) => {
                let model = kept.part(index, range)?;
                Ok((model, 0..model.len()))
            }
        }
    }

    /// Where each part lies. Goes through the whole model.
    pub(super) fn bounds(&mut self) -> Result<Vec<Bounds>, PlyError> {
        (0..self.count())
            .map(|index| {
                let (model, ids) = self.part(index)?;
                let mut bounds = Bounds {
                    lower: [f32::INFINITY; 3],
                    upper: [f32::NEG_INFINITY; 3],
                    sigma: 0.0,
                };
                for i in ids {
                    let Some(mean) = model.means.get(i) else { continue };
                    for ((lower, upper), at) in bounds.lower.iter_mut().zip(&mut bounds.upper).zip(mean) {
                        (*lower, *upper) = (lower.min(*at), upper.max(*at));
                    }
                    bounds.sigma = bounds.sigma.max(sigma(model, i));
                }
                Ok(bounds)
            })
            .collect()
    }
}

impl Kept {
    /// Part `index`, which is the Gaussians numbered `range`: as it is kept, or from the file, in place of that which was asked
    /// for longest ago.
    fn part(&mut self, index: usize, range: Range<usize>) -> Result<&Gaussians, PlyError> {
        let found = self.parts.iter().position(|(part, _)| *part == index);
        let part = match found.and_then(|at| self.parts.remove(at)) {
            Some(part) => part,
            None => {
                while self.parts.len() >= self.room {
                    self.parts.pop_front();
                }
                (index, self.file.read(range)?)
            }
        };
        self.parts.push_back(part);
        let latest = self.parts.back().map(|(_, model)| model);
        // It was just put there.
        latest.ok_or_else(|| PlyError::Io(std::io::ErrorKind::NotFound.into()))
    }
}
