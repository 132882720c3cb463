//! The workspace: arena tensors sized once from a byte budget and the largest image.

use super::network::{BLOCKS, CONVS, FIRST_WHOLE_BLOCK, GRID_PX, channels, constants_len, convs};
use super::tiles::{POOLED_BYTES_PER_PX, SUMS_CAP, Tile, TileLimits, WHOLE_BYTES_PER_PX, strip_halo};
use super::{LpipsError, passes};
use kiln_gpu::memory::{BlockRounding, MIB, Plan, PlanLimits};
use kiln_kernels::conv3x3::packed_words;
use kiln_program::{Class, Program, Span, Tag, TensorTable};

/// Budget without a reason for another.
pub const DEFAULT_BUDGET_BYTES: u64 = 256 * MIB;

/// Budget that even a small step's arena may be widened to, where a smaller one means too much work.
const LEAST_BUDGET_BYTES: u64 = 64 * MIB;

/// Most work that a budget below that may cost, in pixels read over pixels of the image: tiles have a halo, and small ones are mostly that.
const MOST_WORK: u64 = 4;

/// Largest binding the workspace asks for, whatever the device allows: every Vulkan device has this much.
const BINDING_BYTES: u64 = 128 * MIB;

/// Tensors of LPIPS. All are [`Class::Arena`] and nothing in them outlives a call.
#[derive(Clone, Debug)]
pub struct LpipsTensors {
    pub(super) limits: TileLimits,
    /// Rendered pixels of a tile, three floats each.
    pub(super) image: Span,
    /// Photographed pixels of a tile, three bytes each.
    pub(super) target: Span,
    /// Biases, tap weights, shift and scale.
    pub(super) constants: Span,
    /// Packed weights of the layers that run next.
    pub(super) weights: Span,
    /// Network input, six planes.
    pub(super) planes: Span,
    /// Pooled result of each block but the last.
    pub(super) pooled: [Span; BLOCKS - 1],
    /// Two buffers per block that its convolutions alternate between.
    pub(super) scratch: [[Span; 2]; BLOCKS],
    /// Sums of the taps.
    pub(super) sums: Span,
    program: Program,
}

impl LpipsTensors {
    /// Adds the tensors to `table`, for images of at most `max_size_px` and so that all that is alive at a time takes
    /// no more than `budget_bytes`. Images that need less take less.
    ///
    /// # Errors
    /// [`LpipsError::Budget`] when not even the smallest tile fits.
    pub fn new(table: &mut TensorTable, budget_bytes: u64, max_size_px: [u32; 2]) -> Result<Self, LpipsError> {
        let limits = limits(budget_bytes, max_size_px)?;
        let mut add = |name: &str, bytes: u64| table.add(format!("lpips/{name}"), Class::Arena, Tag::Lpips, bytes);
        let image = add("image", 12 * limits.pixels);
        let target = add("target", (3 * limits.pixels).next_multiple_of(4));
        let constants = add("constants", 4 * u64::from(constants_len()));
        let weights = add("weights", weights_bytes());
        let planes = add("planes", 24 * limits.pixels);
        let pooled = std::array::from_fn(|block| {
            let bytes = POOLED_BYTES_PER_PX[block] * limits.pixels;
            add(&format!("pooled[{block}]"), bytes)
        });
        let scratch = std::array::from_fn(|block| {
            let whole = WHOLE_BYTES_PER_PX[block] * limits.pixels;
            let bytes = limits.strip_bytes.get(block).copied().unwrap_or(whole);
            ["a", "b"].map(|name| add(&format!("features[{block}]_{name}"), bytes))
        });
        let sums = add("sums", 4 * u64::from(SUMS_CAP));
        let mut tensors = Self {
            limits,
            image,
            target,
            constants,
            weights,
            planes,
            pooled,
            scratch,
            sums,
            program: Program::default(),
        };
        let tile = largest_tile(&limits, max_size_px)?;
        tensors.program = passes::lifetimes(&tensors, &tile);
        Ok(tensors)
    }

    /// [`LpipsTensors::new`] with the bytes that `programs` need in the arena anyway as budget, and at most 256 MiB: a run whose
    /// step takes as much gets LPIPS for nothing. Where that is so little that tiles would be mostly halo, the least that is not, and at
    /// most 64 MiB. `None` for images under 16 px on a side, which have no LPIPS.
    ///
    /// # Errors
    /// [`LpipsError::Budget`] for images no budget suffices for, [`LpipsError::Memory`] when `programs` name tensors
    /// that cannot be placed.
    pub fn beside(
        table: &mut TensorTable,
        programs: &[&Program],
        max_size_px: [u32; 2],
    ) -> Result<Option<Self>, LpipsError> {
        if max_size_px.into_iter().min() < Some(GRID_PX) {
            return Ok(None);
        }
        // Cut into blocks the arena takes a little more, never less.
        let unlimited = PlanLimits {
            block_bytes: u64::MAX,
            binding_bytes: u64::MAX,
            rounding: BlockRounding::NONE,
        };
        let taken = Plan::new(table, programs, unlimited)?.class_bytes(Class::Arena);
        let budget = match taken < LEAST_BUDGET_BYTES {
            true => enough(taken, max_size_px).max(Self::smallest_budget_bytes(max_size_px)),
            false => taken.min(DEFAULT_BUDGET_BYTES),
        };
        Self::new(table, budget, max_size_px).map(Some)
    }

    /// The program to plan the arena with: every tensor from the first to the last moment it holds anything. It is
    /// never run.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Smallest budget that [`LpipsTensors::new`] accepts for images of at most `max_size_px`, found to a MiB.
    #[must_use]
    pub fn smallest_budget_bytes(max_size_px: [u32; 2]) -> u64 {
        let mut mebibytes = 1;
        while limits(mebibytes * MIB, max_size_px).is_err() && mebibytes < DEFAULT_BUDGET_BYTES / MIB {
            mebibytes += 1;
        }
        mebibytes * MIB
    }
}

/// The least budget from `bytes` on, in whole MiB more, that costs no more than [`MOST_WORK`]; at most [`LEAST_BUDGET_BYTES`].
fn enough(bytes: u64, max_size_px: [u32; 2]) -> u64 {
    let pixels = |size: [u32; 2]| u64::from(size[0]) * u64::from(size[1]);
    let is_enough = |budget: &u64| {
        let tiles = limits(*budget, max_size_px)
            .ok()
            .and_then(|limits| limits.cut(max_size_px));
        let read = tiles.map(|tiles| tiles.iter().map(|tile| pixels(tile.size)).sum::<u64>());
        read.is_some_and(|read| read <= MOST_WORK * pixels(max_size_px))
    };
    let budgets = (0..).map(|mebibytes| bytes + mebibytes * MIB);
    let mut below = budgets.take_while(|budget| *budget < LEAST_BUDGET_BYTES);
    below.find(is_enough).unwrap_or(LEAST_BUDGET_BYTES)
}

/// Bytes of the largest set of weights that must be resident together: the whole of a block made in strips, one layer
/// elsewhere.
fn weights_bytes() -> u64 {
    let words = |conv: usize| CONVS.get(conv).map_or(0, |c| packed_words(c[0], c[1]));
    let block = |b: usize| -> u32 {
        if b < FIRST_WHOLE_BLOCK {
            convs(b).map(words).sum()
        } else {
            convs(b).map(words).max().unwrap_or(0)
        }
    };
    4 * u64::from((0..BLOCKS).map(block).max().unwrap_or(0))
}

fn largest_tile(limits: &TileLimits, max_size_px: [u32; 2]) -> Result<Tile, LpipsError> {
    let tiles = limits.cut(max_size_px).ok_or(LpipsError::Size {
        found: max_size_px,
        what: "is larger than the LPIPS workspace was planned for",
    })?;
    let area = |t: &Tile| u64::from(t.size[0]) * u64::from(t.size[1]);
    tiles.into_iter().max_by_key(area).ok_or(LpipsError::Size {
        found: max_size_px,
        what: "has no pixels",
    })
}

/// A quarter of the budget goes to strips, the rest to the two pooled results that live together at the end of the
/// second block. What the largest image does not need is given back.
fn limits(budget_bytes: u64, max_size_px: [u32; 2]) -> Result<TileLimits, LpipsError> {
    const ALIGNMENT_SLACK: u64 = 16 << 10;
    let fixed = weights_bytes() + 4 * u64::from(constants_len() + SUMS_CAP) + ALIGNMENT_SLACK;
    let free = budget_bytes.saturating_sub(fixed);
    let [first, second, ..] = POOLED_BYTES_PER_PX;
    let mut limits = TileLimits {
        pixels: (free * 3 / 4 / (first + second)).min(BINDING_BYTES / first),
        strip_bytes: [(free / 8).min(BINDING_BYTES); FIRST_WHOLE_BLOCK],
    };
    let tiles = limits.cut(max_size_px).ok_or(LpipsError::Budget { budget_bytes })?;
    limits.pixels = tiles
        .iter()
        .map(|t| u64::from(t.size[0]) * u64::from(t.size[1]))
        .max()
        .unwrap_or(0);
    for (block, bytes) in limits.strip_bytes.iter_mut().enumerate() {
        // Smaller tiles have fewer columns, so the strips of the widest and highest one suffice for all.
        let needed = |tile: &Tile| {
            let [width, height] = tile.level(block);
            8 * u64::from(channels(block)) * u64::from(width) * u64::from(height)
        };
        *bytes = (*bytes)
            .min(tiles.iter().map(needed).max().unwrap_or(0))
            .max(8 * u64::from(strip_halo(block) + 2));
    }
    Ok(limits)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

    use super::*;

    const LIMITS: PlanLimits = PlanLimits {
        block_bytes: 1 << 30,
        binding_bytes: 128 << 20,
        rounding: BlockRounding::NONE,
    };

    fn planned(budget_bytes: u64, size: [u32; 2]) -> (LpipsTensors, u64) {
        let mut table = TensorTable::default();
        let tensors = LpipsTensors::new(&mut table, budget_bytes, size).unwrap();
        let plan = Plan::new(&table, &[tensors.program()], LIMITS).unwrap();
        (tensors, plan.class_bytes(Class::Arena))
    }

    #[test]
    fn the_plan_keeps_its_budget() {
        for budget in [24, 32, 48, 64, 128, 256, 512] {
            for size in [
                [131, 97],
                [640, 427],
                [1237, 822],
                [1559, 1039],
                [3840, 2160],
                [9000, 700],
            ] {
                let (_, bytes) = planned(budget * MIB, size);
                assert!(bytes <= budget * MIB, "{budget} MiB for {size:?}: {bytes}");
            }
        }
    }

    #[test]
    fn a_small_image_takes_little_and_smaller_images_than_planned_fit() {
        let (tensors, bytes) = planned(DEFAULT_BUDGET_BYTES, [131, 97]);
        assert!(bytes < 20 * MIB, "{bytes}");
        for size in [[16, 16], [131, 16], [16, 97], [100, 60]] {
            assert!(tensors.limits.cut(size).is_some(), "{size:?}");
        }
    }

    #[test]
    fn a_step_that_needs_as_much_gets_the_workspace_for_nothing() {
        let size = [1559, 1039];
        let arena = |step_mib: u64| {
            let mut table = TensorTable::default();
            let step = table.add("step", Class::Arena, Tag::Other, step_mib * MIB);
            let mut program = Program::new("step");
            program.fill(step, 0);
            let lpips = LpipsTensors::beside(&mut table, &[&program], size).unwrap().unwrap();
            let plan = Plan::new(&table, &[&program, lpips.program()], LIMITS).unwrap();
            plan.class_bytes(Class::Arena)
        };
        for step in [64, 100, 128] {
            assert_eq!(arena(step), step * MIB, "{step}");
        }
        assert!(arena(1) > 32 * MIB && arena(1) <= 64 * MIB);
        assert_eq!(arena(56), 56 * MIB);
        let mut table = TensorTable::default();
        let none = LpipsTensors::beside(&mut table, &[], [15, 800]).unwrap();
        assert!(none.is_none() && table.tensors().is_empty());
    }

    /// What a step of a tiny model takes: maps of the pixels, and the least room for intersections that there is.
    #[test]
    fn tiny_models_are_not_planned_by_lpips() {
        for size in [[131, 97], [256, 192], [320, 240], [400, 300], [640, 427], [800, 600]] {
            let step_bytes = (30 * MIB).max(96 * u64::from(size[0] * size[1])) + (1 << 20) * 4;
            let mut table = TensorTable::default();
            let step = table.add("step", Class::Arena, Tag::Other, step_bytes);
            let mut program = Program::new("step");
            program.fill(step, 0);
            let lpips = LpipsTensors::beside(&mut table, &[&program], size).unwrap().unwrap();
            let plan = Plan::new(&table, &[&program, lpips.program()], LIMITS).unwrap();
            assert_eq!(plan.arena_bytes(), step_bytes.next_multiple_of(256), "{size:?}");
            let tiles = lpips.limits.cut(size).unwrap();
            let read: u64 = tiles.iter().map(|tile| u64::from(tile.size[0] * tile.size[1])).sum();
            assert!(read <= MOST_WORK * u64::from(size[0] * size[1]), "{size:?}: {read}");
        }
    }

    #[test]
    fn the_smallest_budget_is_accepted() {
        let size = [4000, 3000];
        let bytes = LpipsTensors::smallest_budget_bytes(size);
        assert!(bytes < 32 * MIB, "{bytes}");
        let mut table = TensorTable::default();
        assert!(LpipsTensors::new(&mut table, bytes, size).is_ok());
        assert!(matches!(
            LpipsTensors::new(&mut table, bytes - MIB, size),
            Err(LpipsError::Budget { .. })
        ));
    }
}
