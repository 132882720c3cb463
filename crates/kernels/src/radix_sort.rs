//! Stable least-significant-digit radix sort of 32-bit keys with 32-bit payloads; the count lives on the device.
//!
//! Each digit takes three passes (Satish et al. 2009): count digits per block of keys, scan the counts digit by digit,
//! scatter. Digits have 8 bits where the scatter may use subgroup ballots and 4 bits elsewhere.

use super::counters::Args;
use super::generated::{sort_count, sort_scan, sort_scatter};
use super::views::{Shared, Variants};
use kiln_program::{Groups, Program, Span};

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

/// Two buffers each for keys and payloads, and the digit counts.
#[derive(Clone, Copy, Debug)]
pub struct SortBuffers {
    /// Keys; the input lies in the first.
    pub keys: [Span; 2],
    /// Payloads; the input lies in the first unless the payload is the index.
    pub values: [Span; 2],
    /// [`histogram_bytes`] bytes.
    pub histogram: Span,
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
        let shift = pass * bits;
        let (keys_in, keys_out) = (buffers.keys[from], buffers.keys[1 - from]);
        let (values_in, values_out) = (buffers.values[from], buffers.values[1 - from]);
        program.pass(
            &sort_count::KERNEL,
            sort_count::Spec {
                bits,
                counter: job.counter,
                sort_block: block,
            },
            sort_count::Bind {
                counters: shared.counters,
                keys: keys_in,
                histogram: buffers.histogram,
            },
            sort_count::Push { shift, block_cap },
            shared.groups(job.args),
        );
        program.pass(
            &sort_scan::KERNEL,
            sort_scan::Spec {
                bits,
                counter: job.counter,
                sort_block: block,
            },
            sort_scan::Bind {
                counters: shared.counters,
                histogram: buffers.histogram,
            },
            sort_scan::Push { shift, block_cap },
            Groups::Direct([1 << bits, 1, 1]),
        );
        let bind = sort_scatter::Bind {
            counters: shared.counters,
            histogram: buffers.histogram,
            keys_in,
            values_in,
            keys_out,
            values_out,
        };
        let push = sort_scatter::Push { shift, block_cap };
        let spec = sort_scatter::Spec {
            bits,
            counter: job.counter,
            sort_block: block,
            first: u32::from(pass == 0 && job.index_payload),
        };
        let groups = shared.groups(job.args);
        if bits == 8 {
            let spec = sort_scatter::SubgroupSpec {
                base: spec,
                subgroups: 256 / variants.sort_subgroup,
            };
            program.pass(&sort_scatter::SUBGROUP, spec, bind, push, groups);
        } else {
            program.pass(&sort_scatter::KERNEL, spec, bind, push, groups);
        }
        from = 1 - from;
    }
    from
}
