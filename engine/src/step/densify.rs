//! Densification as a program of its own, and the tensors only it needs.
//!
//! They live in the arena: a densification runs between two steps, so its bytes are the step's.

use super::passes::catch_up;
use super::{Capacities, StepTensors};
use kiln_gpu::memory::MIB;
use kiln_kernels::camera_cull::{self, Limits};
use kiln_kernels::densify::{self, CONTROL_BYTES, Event, Workspace};
use kiln_kernels::error_guided::{self, Births};
use kiln_kernels::filter_3d::FilterIo;
use kiln_kernels::mcmc_relocate;
use kiln_kernels::move_rows::Relocation;
use kiln_program::{Class, Program, Tag, TensorTable};

/// Arena bytes for Gaussians on the move by default.
pub const STAGING_BYTES: u64 = 64 * MIB;
/// What every device can bind; staging is bound in parts but is one tensor.
const BINDING_BYTES: u64 = 128 * MIB;

/// Tensors of a densification: 12 bytes a Gaussian of capacity, and the staging rows.
#[derive(Clone, Copy, Debug)]
pub struct DensifyTensors {
    /// What the kernels bind.
    pub workspace: Workspace,
}

impl DensifyTensors {
    /// Adds the tensors to `table`. Staging takes about `staging_bytes`, at least one row (2 bytes a Gaussian of
    /// capacity), at most what one binding holds or all planes need: fewer rows mean more passes, not other results.
    #[must_use]
    pub fn new(table: &mut TensorTable, capacities: &Capacities, staging_bytes: u64) -> Self {
        let n = u64::from(capacities.n_cap);
        // Births have as many parents, and moves as many deaths: neither can be more than half of the slots.
        let row = (capacities.n_cap / 2).next_multiple_of(64).max(64);
        let row_bytes = 4 * u64::from(row);
        // The 3D filter moves too.
        let all = u64::from(capacities.planes().total() + 1);
        let rows = (staging_bytes.min(BINDING_BYTES) / row_bytes).clamp(1, all);
        let mut arena =
            |name: &str, bytes: u64| table.add(format!("densify/{name}"), Class::Arena, Tag::Densify, bytes);
        Self {
            workspace: Workspace {
                control: arena("control", CONTROL_BYTES),
                gradients: arena("gradients", 4 * n),
                keys: arena("keys", 4 * n),
                group_counts: arena("group_counts", 8 * n.div_ceil(256)),
                relocation: Relocation {
                    from: arena("from", row_bytes),
                    to: arena("to", row_bytes),
                    staging: arena("staging", rows * row_bytes),
                    row,
                    rows: u32::try_from(rows).unwrap_or(u32::MAX),
                },
            },
        }
    }
}

/// What every event begins with: copies of Gaussians get colours of one step and no moments.
fn event_program(t: &StepTensors) -> Program {
    let mut program = Program::new("densify");
    catch_up(&mut program, t);
    program
}

/// The program of a densification. It follows a step in the same slot: seed and iteration are read from the uniforms that
/// the step copied. Afterwards the group counts per chunk fit the new number of Gaussians, so that the 3D filter can be
/// recomputed at once; until it is, children have their parents' filter. On a stalled run nothing changes.
#[must_use]
pub fn densify(t: &StepTensors, d: &DensifyTensors, event: &Event) -> Program {
    let mut program = event_program(t);
    let event = Event {
        capacity: event.capacity.min(t.capacities.n_cap),
        ..*event
    };
    densify::record(&mut program, &t.shared, &t.chunks, &d.workspace, &event);
    program
}

/// The program of an event of the strategy `error_guided`; what is said of [`densify()`] holds for it too.
#[must_use]
pub fn error_guided(t: &StepTensors, d: &DensifyTensors, event: &Event, births: &Births) -> Program {
    let mut program = event_program(t);
    let event = Event {
        capacity: event.capacity.min(t.capacities.n_cap),
        ..*event
    };
    error_guided::record(&mut program, &t.shared, &t.chunks, &d.workspace, &event, births);
    program
}

/// The program of an event of the strategy `mcmc`; what is said of [`densify()`] holds for it too.
#[must_use]
pub fn mcmc_relocate(t: &StepTensors, d: &DensifyTensors, event: &mcmc_relocate::Event) -> Program {
    let mut program = event_program(t);
    let event = mcmc_relocate::Event {
        capacity: event.capacity.min(t.capacities.n_cap),
        ..*event
    };
    mcmc_relocate::record(&mut program, &t.shared, &t.chunks, &d.workspace, &event);
    program
}

/// The program that removes Gaussians by what the training `cameras` say of them; what is said of [`densify()`] holds for it too.
#[must_use]
pub fn camera_cull(t: &StepTensors, d: &DensifyTensors, cameras: &FilterIo, limits: &Limits) -> Program {
    let mut program = Program::new("camera_cull");
    catch_up(&mut program, t);
    camera_cull::record(&mut program, &t.shared, &t.chunks, &d.workspace, cameras, limits);
    program
}
