//! The plan of a run: profile, scene and device become capacities, tensors and programs, before anything is allocated.
//!
//! Owns which device is used and which kernels ([`open_device`], [`KernelTiming`]), the first model ([`FirstModel`]), how
//! much of everything there is room for ([`PlanReport`]), and what happens at which iteration ([`schedule`]). Promises that
//! a run that cannot fit is refused here, with the key that would fit. Knows nothing of steps in flight or of run folders.

mod background;
mod bound;
mod bytes;
mod capacity;
mod cards;
mod demand;
mod densifications;
mod device_choice;
mod error;
mod faults;
mod first;
mod jobs;
mod kernel_timing;
mod lenses;
mod look;
pub(crate) mod losses;
mod measured_card;
mod measures;
mod model;
mod neighbor_views;
mod open;
mod order;
mod photo_colors;
mod photos;
mod planning;
mod probe_tensors;
mod rate;
mod readback;
mod remedies;
mod remedy;
mod report;
mod room;
mod sample_view;
pub mod schedule;
mod self_test;
mod train_plan;
pub mod triangles;

pub use bytes::{BytesPer, Unit};
pub use capacity::CapacitySource;
pub use cards::Card;
pub use demand::{Demand, DemandSource};
pub use error::{BoundError, LossError, PlanError, TrianglesError};
pub use faults::{BudgetFault, FaultError, Faults};
pub use first::{FirstModel, plan_first};
pub use jobs::{Job, Jobs, NoJob};
pub use kernel_timing::KernelTiming;
pub use measures::Measures;
pub use model::{gib_to_bytes, pinhole_options, scene_options, training_options};
pub use neighbor_views::NeighborViews;
pub use open::{OpenDevice, layout_of, list_devices, open_device, variants_for};
pub use photo_colors::{SEEN_POINTS, settle_photo_colors};
pub use photos::{image_host_bytes, plan_with_photos};
pub use planning::plan;
pub use probe_tensors::{ProbeTensors, REFERENCE_BYTES};
pub use rate::{Prediction, Rate};
pub use readback::{EvalReadback, ViewSums};
pub use remedies::with_remedies;
pub use remedy::{Remedies, Remedy};
pub use report::{ArenaUse, PlanReport};
pub use room::{RoomLimit, most_intersections};
pub use self_test::Pinned;
pub use train_plan::{TrainPlan, step_extras};

pub(crate) use look::{CLASSIC_KERNEL_SIZE, Look, background};
pub(crate) use photos::{AHEAD, check_host_memory, image_options};
pub(crate) use probe_tensors::SWEEP_BYTES;
