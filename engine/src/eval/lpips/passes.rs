//! Passes of one tile, as programs that each need one set of weights.

use std::ops::Range;

use super::network::{BLOCKS, CONVS, FIRST_WHOLE_BLOCK, bias_at, channels, convs, linear_at, scaling_at};
use super::tensors::LpipsTensors;
use super::tiles::Tile;
use kiln_kernels::conv3x3::{self, Conv, ConvIo, Rows, packed_words};
use kiln_kernels::lpips::{self, InputIo, Tap};
use kiln_kernels::max_pool2x2;
use kiln_program::{Program, Span};

/// Programs of one tile shape.
pub(super) struct TilePasses {
    /// In order.
    pub(super) stages: Vec<Stage>,
    /// Where each tap's sums lie.
    pub(super) taps: [Range<u32>; BLOCKS],
}

/// Convolutions whose weights are resident together, and what runs on them.
pub(super) struct Stage {
    /// Convolutions, in the order their weights are packed.
    pub(super) convs: Range<usize>,
    /// What runs.
    pub(super) program: Program,
}

/// Builds the stages of a tile; `range` is gain and offset from [0, 1] to the network's range.
pub(super) fn tile(t: &LpipsTensors, tile: &Tile, range: [f32; 2]) -> TilePasses {
    let mut stages = Vec::new();
    let mut taps = [const { 0..0 }; BLOCKS];
    let mut next_sum = 0;
    for (block, sums) in taps.iter_mut().enumerate() {
        let first = next_sum;
        let mut program = Program::new(format!("lpips block {}", block + 1));
        if block == 0 {
            let io = InputIo {
                image: t.image,
                target: t.target,
                constants: t.constants,
                planes: t.planes,
            };
            lpips::record_input(&mut program, &io, tile.size[0] * tile.size[1], scaling_at(), range);
        }
        let [_, height] = tile.level(block);
        let step = t.limits.strip_rows(block, tile.level(block)).max(1);
        for from in (0..height).step_by(step as usize) {
            let strip = Rows {
                first: from,
                count: step.min(height - from),
            };
            let mut features = Features::input(t, block, height);
            for conv in convs(block) {
                let whole = block >= FIRST_WHOLE_BLOCK;
                let resident = if whole { conv } else { convs(block).start };
                features = convolve(
                    &mut program,
                    t,
                    tile,
                    &features,
                    &Layer {
                        block,
                        conv,
                        resident,
                        strip,
                    },
                );
                if whole && conv + 1 < convs(block).end {
                    let done = std::mem::replace(&mut program, Program::new(format!("lpips block {}", block + 1)));
                    stages.push(Stage {
                        convs: conv..conv + 1,
                        program: done,
                    });
                }
            }
            next_sum += finish(&mut program, t, tile, &features, block, next_sum);
        }
        let end = convs(block).end;
        let start = if block >= FIRST_WHOLE_BLOCK {
            end - 1
        } else {
            convs(block).start
        };
        stages.push(Stage {
            convs: start..end,
            program,
        });
        *sums = first..next_sum;
    }
    TilePasses { stages, taps }
}

/// The whole of a tile as one program, for the planner. What the host writes is alive from the start, and everything
/// that strips may come back to is alive throughout its block, however few strips this tile has.
pub(super) fn lifetimes(t: &LpipsTensors, largest: &Tile) -> Program {
    let mut program = Program::new("lpips");
    for view in [t.image, t.target, t.constants, t.weights] {
        program.fill(view, 0);
    }
    for (block, stage) in tile(t, largest, [1.0, 0.0]).stages.into_iter().enumerate() {
        let held: Vec<Span> = if block < FIRST_WHOLE_BLOCK {
            let whole = [Features::input(t, block, 0).view, t.pooled[block]];
            whole.into_iter().chain(t.scratch[block]).collect()
        } else {
            Vec::new()
        };
        held.iter().for_each(|view| program.fill(*view, 0));
        program.commands.extend(stage.program.commands);
        held.iter().for_each(|view| program.fill(*view, 0));
    }
    program
}

/// Rows of a level in a buffer.
struct Features {
    view: Span,
    rows: Rows,
}

impl Features {
    /// What a block starts from: all rows of the input or of the previous block's pooled result.
    fn input(t: &LpipsTensors, block: usize, height: u32) -> Self {
        let pooled = block.checked_sub(1).and_then(|b| t.pooled.get(b));
        Self {
            view: pooled.copied().unwrap_or(t.planes),
            rows: Rows {
                first: 0,
                count: height,
            },
        }
    }
}

struct Layer {
    block: usize,
    conv: usize,
    /// First convolution whose weights are resident with this one's.
    resident: usize,
    strip: Rows,
}

fn convolve(program: &mut Program, t: &LpipsTensors, tile: &Tile, from: &Features, layer: &Layer) -> Features {
    let size_px = tile.level(layer.block);
    let channels = |conv: usize| CONVS.get(conv).copied().unwrap_or_default();
    let range = convs(layer.block);
    // Every later layer of the block reads one row more on either side.
    let later = u32::try_from(range.end - layer.conv - 1).unwrap_or(0);
    let first = layer.strip.first.saturating_sub(later);
    let rows = Rows {
        first,
        count: (layer.strip.end() + later).min(size_px[1]) - first,
    };
    let convolved = t.scratch[layer.block][(layer.conv - range.start) % 2];
    let weights_at = (layer.resident..layer.conv)
        .map(|c| packed_words(channels(c)[0], channels(c)[1]))
        .sum();
    let io = ConvIo {
        features: from.view,
        weights: t.weights,
        constants: t.constants,
        convolved,
    };
    let conv = Conv {
        channels: channels(layer.conv),
        size_px,
        input_rows: from.rows,
        output_rows: rows,
        weights_at,
        bias_at: bias_at(layer.conv),
    };
    conv3x3::record(program, &io, &conv);
    Features { view: convolved, rows }
}

/// Appends the tap's difference and the pool of a finished strip; returns how many sums it writes.
fn finish(program: &mut Program, t: &LpipsTensors, tile: &Tile, from: &Features, block: usize, sums_at: u32) -> u32 {
    let size_px = tile.level(block);
    let [columns, inside] = tile.inside_at(block);
    let first = inside.first.max(from.rows.first);
    let rows = Rows {
        first,
        count: inside.end().min(from.rows.end()).saturating_sub(first),
    };
    let tap = Tap {
        channels: channels(block),
        width_px: size_px[0],
        stored: from.rows,
        columns,
        rows,
        linear_at: linear_at(block),
        sums_at,
    };
    lpips::record_difference(program, from.view, t.constants, t.sums, &tap);
    if let Some(pooled) = t.pooled.get(block) {
        max_pool2x2::record(program, from.view, *pooled, 2 * channels(block), size_px, from.rows);
    }
    tap.sums()
}
