//! Tensors of the residency probe.

use kiln_gpu::memory::MIB;
use kiln_kernels::probe::sums_bytes;
use kiln_program::{Class, Span, Tag, TensorTable};

/// Bytes of the reference, and of each sample.
pub const REFERENCE_BYTES: u64 = 4 * MIB;
/// Bytes read before anything is compared.
pub(crate) const SWEEP_BYTES: u64 = 64 * MIB;

/// Tensors of the probe.
#[derive(Clone, Copy, Debug)]
pub struct ProbeTensors {
    /// What every block is compared with, in the block of counters and tables.
    pub(crate) reference: Span,
    /// What was read comes here, so that no read can be left out.
    pub(crate) sums: Span,
}

impl ProbeTensors {
    /// Adds the tensors to `table`.
    #[must_use]
    pub fn new(table: &mut TensorTable) -> Self {
        Self {
            reference: table.add("probe/reference", Class::Small, Tag::Other, REFERENCE_BYTES),
            sums: table.add("probe/sums", Class::Small, Tag::Other, sums_bytes(SWEEP_BYTES)),
        }
    }
}
