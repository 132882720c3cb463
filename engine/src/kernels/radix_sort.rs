//! Stable least-significant-digit radix sort of 32-bit keys with 32-bit payloads; the count lives on the device.
//!
//! Each digit takes three passes (Satish et al. 2009): count digits per block of keys, scan the counts digit by digit,
//! scatter. Digits have 8 bits where the scatter may use subgroup ballots and 4 bits elsewhere.

use super::counters::Args;
use super::views::{Shared, Variants};
use crate::program::{Groups, Program, Shader, View};
use crate::shader;

/// Digit counts of a block.
pub static COUNT: Shader = shader!("sort_count", r counters, r keys, w histogram);
/// Scan of one digit's blocks.
pub static SCAN: Shader = shader!("sort_scan", r counters, rw histogram);
/// Scatter without subgroup operations.
pub static SCATTER: Shader =
    shader!("sort_scatter", r counters, r histogram, r keys_in, r values_in, w keys_out, w values_out);
/// Scatter with ballots.
pub static SCATTER_SUBGROUP: Shader =
    shader!("sort_scatter.subgroup", r counters, r histogram, r keys_in, r values_in, w keys_out, w values_out);

/// Keys a group handles in a sort that runs with the groups of `args`. Short blocks fill a large device even where there
/// are few keys; they cost a table of counts each, and on software drivers, which have few threads to fill, nothing but
/// that.
#[must_use]
pub fn sort_block(args: Args, variants: &Variants) -> u32 {
    match args {
        _ if digit_bits(variants) == 4 => 4096,
        Args::VisibleSort => 1024,
        _ => 2048,
    }
}

#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Push {
    shift: u32,
    block_cap: u32,
}

/// Two buffers each for keys and payloads, and the digit counts.
#[derive(Clone, Copy, Debug)]
pub struct SortBuffers {
    /// Keys; the input lies in the first.
    pub keys: [View; 2],
    /// Payloads; the input lies in the first unless the payload is the index.
    pub values: [View; 2],
    /// [`histogram_bytes`] bytes.
    pub histogram: View,
}

/// What is sorted.
#[derive(Clone, Copy, Debug)]
pub struct SortJob {
    /// Word of the counters that holds the number of keys.
    pub counter: u32,
    /// Indirect slot with one group per block.
    pub args: Args,
    /// Most keys there can be.
    pub capacity: u32,
    /// Significant low bits of a key.
    pub key_bits: u32,
    /// True when the payload of key `i` is `i`.
    pub index_payload: bool,
}

fn digit_bits(variants: &Variants) -> u32 {
    if variants.sort_subgroup >= 16 { 8 } else { 4 }
}

/// Bytes of the digit-count table for `capacity` keys of a sort that runs with the groups of `args`.
#[must_use]
pub fn histogram_bytes(capacity: u32, args: Args, variants: &Variants) -> u64 {
    let digits = 1u64 << digit_bits(variants);
    4 * digits * (u64::from(capacity.div_ceil(sort_block(args, variants))) + 1)
}

/// Appends the passes and returns which buffer (0 or 1) holds the result.
pub fn record(
    program: &mut Program,
    shared: &Shared,
    buffers: &SortBuffers,
    job: &SortJob,
    variants: &Variants,
) -> usize {
    let bits = digit_bits(variants);
    let block = sort_block(job.args, variants);
    let block_cap = job.capacity.div_ceil(block);
    let mut from = 0;
    for pass in 0..job.key_bits.div_ceil(bits).max(1) {
        let push = Push {
            shift: pass * bits,
            block_cap,
        };
        let (keys_in, keys_out) = (buffers.keys[from], buffers.keys[1 - from]);
        let (values_in, values_out) = (buffers.values[from], buffers.values[1 - from]);
        let first = u32::from(pass == 0 && job.index_payload);
        let spec = [bits, job.counter, block];
        let views = [shared.counters, keys_in, buffers.histogram];
        program.pass(&COUNT, &spec, &views, &push, shared.groups(job.args));
        let views = [shared.counters, buffers.histogram];
        program.pass(&SCAN, &spec, &views, &push, Groups::Direct([1 << bits, 1, 1]));
        let views = [
            shared.counters,
            buffers.histogram,
            keys_in,
            values_in,
            keys_out,
            values_out,
        ];
        if bits == 8 {
            let spec = [bits, job.counter, block, first, 256 / variants.sort_subgroup];
            program.pass(&SCATTER_SUBGROUP, &spec, &views, &push, shared.groups(job.args));
        } else {
            program.pass(
                &SCATTER,
                &[bits, job.counter, block, first],
                &views,
                &push,
                shared.groups(job.args),
            );
        }
        from = 1 - from;
    }
    from
}
