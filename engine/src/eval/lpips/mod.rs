//! LPIPS with VGG16 (Zhang et al. 2018, heads v0.1) on the device, in memory borrowed from the arena.
//!
//! Owns no memory: [`LpipsTensors`] names arena tensors that the run's plan places over those of the step, so a call
//! may only happen while no step is in flight, and overwrites whatever the step left there. Weights travel layer by
//! layer through the transfer window. Promises: the result does not depend on the workspace's size beyond rounding of
//! sums; the same pair gives the same bits on the same device. Refuses images under 16 px on a side, for which the
//! last layers have no pixels.

mod network;
mod passes;
mod tensors;
#[cfg(test)]
mod tests;
mod tiles;
mod weights;

use std::collections::BTreeMap;
use std::path::PathBuf;

use passes::TilePasses;
pub use tensors::{DEFAULT_BUDGET_BYTES, LpipsTensors};
use tiles::Tile;
pub use weights::{FILE_NAME, LpipsWeights, SHA256, Search, half_to_f32};

use crate::eval::LpipsRange;
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::{CompiledProgram, RecordOptions};
use network::{BLOCKS, GRID_PX};

/// Most tile shapes kept compiled; a scene with one image size has at most nine.
const COMPILED_SHAPES: usize = 36;

/// Why LPIPS could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum LpipsError {
    /// The weights file is there but cannot be used.
    #[error("LPIPS weights `{path}`: {what}; fetch the file again or remove it to go without LPIPS")]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The workspace cannot hold one tile.
    #[error("an LPIPS workspace of {budget_bytes} bytes cannot hold one tile; give it at least 32 MiB")]
    Budget {
        /// Bytes given.
        budget_bytes: u64,
    },
    /// An image of a size that cannot be handled.
    #[error("an image of {}x{} px {what}", .found[0], .found[1])]
    Size {
        /// Width and height.
        found: [u32; 2],
        /// Why not.
        what: &'static str,
    },
    /// Pixels that do not make an image of the stated size.
    #[error("the {which} has {found} values, expected {expected}")]
    Length {
        /// Which image.
        which: &'static str,
        /// Values found.
        found: usize,
        /// Values of an image of that size.
        expected: usize,
    },
    /// Device memory or the device itself.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

/// A rendered image and the photograph it is compared with, row-major.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a, const N: usize> {
    /// Rendered pixels; the first three of `N` values are RGB, clamped to [0, 1].
    pub image: &'a [[f32; N]],
    /// Packed u8 RGB.
    pub target: &'a [u8],
    /// Width and height, px.
    pub size_px: [u32; 2],
}

struct Compiled {
    passes: TilePasses,
    programs: Vec<CompiledProgram>,
}

/// Computes LPIPS on the device its tensors were planned on. Must be dropped before that [`Gpu`].
pub struct Lpips {
    tensors: LpipsTensors,
    weights: LpipsWeights,
    compiled: BTreeMap<(Tile, bool), Compiled>,
}

impl Lpips {
    /// Joins planned tensors and checked weights.
    #[must_use]
    pub fn new(tensors: LpipsTensors, weights: LpipsWeights) -> Self {
        Self {
            tensors,
            weights,
            compiled: BTreeMap::new(),
        }
    }

    /// The weights, to go on with other tensors.
    #[must_use]
    pub fn into_weights(self) -> LpipsWeights {
        self.weights
    }

    /// LPIPS of a pair: 0 for equal images (to rounding), larger for less alike ones.
    ///
    /// Nothing else may be in flight on `gpu` that uses the arena.
    ///
    /// # Errors
    /// [`LpipsError::Size`] and [`LpipsError::Length`] for images that do not fit the plan or their own size,
    /// [`LpipsError::Memory`] from the device.
    pub fn distance<const N: usize>(
        &mut self,
        gpu: &mut Gpu,
        pair: &Pair<'_, N>,
        range: LpipsRange,
    ) -> Result<f64, LpipsError> {
        Ok(self.per_tap(gpu, pair, range)?.iter().sum())
    }

    /// The five terms of [`Lpips::distance`], from the tap of highest resolution to that of the lowest.
    ///
    /// # Errors
    /// See [`Lpips::distance`].
    pub fn per_tap<const N: usize>(
        &mut self,
        gpu: &mut Gpu,
        pair: &Pair<'_, N>,
        range: LpipsRange,
    ) -> Result<[f64; BLOCKS], LpipsError> {
        pair.check()?;
        let tiles = self.tensors.limits.cut(pair.size_px).ok_or(LpipsError::Size {
            found: pair.size_px,
            what: "is larger than the LPIPS workspace was planned for",
        })?;
        self.over(gpu, pair, range, &tiles)
    }

    fn over<const N: usize>(
        &mut self,
        gpu: &mut Gpu,
        pair: &Pair<'_, N>,
        range: LpipsRange,
        tiles: &[Tile],
    ) -> Result<[f64; BLOCKS], LpipsError> {
        let mut totals = [0.0; BLOCKS];
        gpu.write(&self.tensors.constants, self.weights.constants())?;
        for tile in tiles {
            let (image, target) = pair.crop(tile);
            gpu.write(&self.tensors.image, &image)?;
            gpu.upload(&self.tensors.target, &target)?;
            for (total, sum) in totals.iter_mut().zip(self.tile(gpu, tile, range)?) {
                *total += sum;
            }
        }
        for (block, total) in totals.iter_mut().enumerate() {
            let [width, height] = pair.size_px.map(|side| f64::from(side >> block));
            *total /= width * height;
        }
        Ok(totals)
    }

    /// Sums of one tile whose pixels are on the device.
    fn tile(&mut self, gpu: &mut Gpu, tile: &Tile, range: LpipsRange) -> Result<[f64; BLOCKS], LpipsError> {
        let key = (tile.shape(), range == LpipsRange::MinusOneOne);
        if !self.compiled.contains_key(&key) && self.compiled.len() >= COMPILED_SHAPES {
            self.compiled.clear();
        }
        let compiled = match self.compiled.entry(key) {
            std::collections::btree_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let passes = passes::tile(&self.tensors, tile, gain_and_offset(range));
                let programs = (passes.stages.iter())
                    .map(|stage| {
                        let options = RecordOptions {
                            watched: true,
                            ..RecordOptions::default()
                        };
                        gpu.compile(&stage.program, options)
                    })
                    .collect::<Result<_, _>>()?;
                entry.insert(Compiled { passes, programs })
            }
        };
        for (stage, program) in compiled.passes.stages.iter().zip(&compiled.programs) {
            let mut at = 0;
            for conv in stage.convs.clone() {
                let words = self.weights.conv(conv);
                let bytes = 4 * words.len() as u64;
                gpu.write(&self.tensors.weights.slice(at, bytes), words)?;
                at += bytes;
            }
            gpu.run_compiled(program)?;
        }
        let count = compiled.passes.taps.last().map_or(0, |range| range.end as usize);
        let sums: Vec<f32> = gpu.read(&self.tensors.sums, count)?;
        Ok(compiled.passes.taps.clone().map(|range| {
            let sums = sums.get(range.start as usize..range.end as usize).unwrap_or_default();
            sums.iter().map(|s| f64::from(*s)).sum()
        }))
    }
}

impl<const N: usize> Pair<'_, N> {
    fn check(&self) -> Result<(), LpipsError> {
        const { assert!(N >= 3, "a pixel has three colours") };
        let [width, height] = self.size_px;
        if width < GRID_PX || height < GRID_PX {
            return Err(LpipsError::Size {
                found: self.size_px,
                what: "is too small for LPIPS, whose last layer sees one pixel in 16",
            });
        }
        let pixels = width as usize * height as usize;
        let lengths = [
            ("rendered image", self.image.len(), pixels),
            ("photograph", self.target.len(), 3 * pixels),
        ];
        for (which, found, expected) in lengths {
            if found != expected {
                return Err(LpipsError::Length { which, found, expected });
            }
        }
        Ok(())
    }

    /// Pixels that a tile reads.
    fn crop(&self, tile: &Tile) -> (Vec<[f32; 3]>, Vec<u8>) {
        let width = self.size_px[0] as usize;
        let ([x, y], [columns, rows]) = (tile.origin.map(|v| v as usize), tile.size.map(|v| v as usize));
        let mut image = Vec::with_capacity(columns * rows);
        let mut target = Vec::with_capacity(3 * columns * rows);
        for row in y..y + rows {
            let at = row * width + x;
            let pixels = self.image.get(at..at + columns).unwrap_or_default();
            image.extend(pixels.iter().map(|p| [p[0], p[1], p[2]]));
            target.extend_from_slice(self.target.get(3 * at..3 * (at + columns)).unwrap_or_default());
        }
        (image, target)
    }
}

/// Maps [0, 1] to what the network is fed.
fn gain_and_offset(range: LpipsRange) -> [f32; 2] {
    match range {
        LpipsRange::ZeroOne => [1.0, 0.0],
        LpipsRange::MinusOneOne => [2.0, -1.0],
    }
}
