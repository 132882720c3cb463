//! A pass whose work never changes: how long a device takes for it says what the device gives on that day, so that figures of
//! different days can be compared.

use super::generated::reference;
use kiln_program::{Groups, Program, Span, fold_groups};

/// Bytes that the pass reads and writes: 32 MiB, with 1024 multiplications and additions to each 16 of them.
pub const BYTES: u64 = 32 << 20;

/// Appends the pass over `values`, [`BYTES`] long.
pub fn record(program: &mut Program, values: Span) {
    let count = (BYTES / 16) as u32;
    program.pass(
        &reference::KERNEL,
        (),
        reference::Bind { values },
        reference::Push { count },
        Groups::Direct(fold_groups(count.div_ceil(256))),
    );
}
