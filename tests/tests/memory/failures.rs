//! A driver without memory: whatever allocation fails at start-up, the run ends cleanly and leaves nothing behind.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use kiln::cli::{Exit, Failure as _};
use kiln::memory::{Budget, GIB, Gpu, Layout, MemoryError};
use kiln::plan::{Demand, FirstModel, open_device, plan, scene_options, variants_for};
use kiln::run::RunError;
use kiln::scene::SceneIndex;
use kiln::train::{TrainError, Trainer};
use kiln::vk::VkError;
use kiln_tests::gpu::take_turn;
use kiln_tests::runs::{self, EVENTFUL, Scratch, profile};

/// Little to allocate.
const SMALL: &[(&str, &str)] = &[("memory.max_gaussians", "2000")];

/// Every allocation of memory, every eleventh of the other objects (buffers, pools, sets), and some pipelines.
#[test]
fn start_up_survives_a_failure_of_every_allocation() {
    take_turn();
    // Few blocks, and one for every tensor.
    for layout in [Layout::Packed, Layout::Apart] {
        let profile = profile(Path::new("unused"), &[EVENTFUL, SMALL]);
        let open = open_device(&profile, profile.faults.clone()).unwrap();
        let device = open.device.clone();
        let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
        let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
        let demand = Demand::count(&profile, &scene, &model);
        let variants = variants_for(device.caps(), open.tier, &profile, &open.faults).unwrap();
        let budget = Budget::of_device(&device, Some(4 * GIB));
        let start = || -> Result<Trainer, RunError> {
            let limits = Gpu::limits(&device);
            let (mut plan, report) = plan(&profile, &scene, &demand, budget, limits, &variants, &open.faults)?;
            plan.layout = layout;
            Ok(Trainer::new(
                &device,
                profile.profile.clone(),
                plan,
                report,
                &scene,
                Some(&model),
                &open.faults,
            )?)
        };
        let owners = Arc::strong_count(&device);
        let before = (device.attempts(), device.allocations());
        drop(start().unwrap());
        let attempts = device.attempts() - before.0;
        let allocations = device.allocations() - before.1;
        assert_eq!((device.reserved_bytes(), Arc::strong_count(&device)), (0, owners));

        // Every one of `calls` from the `first` on that lies `stride` behind the last, and all allocations; gives how many of these.
        let fail = |first: u64, calls: u64, stride: u64, prepare: &dyn Fn()| {
            let (mut failed_allocations, mut number) = (0, first);
            while number < calls {
                prepare();
                device.fail_attempt(device.attempts() + number);
                let taken = device.allocations();
                let error = start()
                    .err()
                    .unwrap_or_else(|| unreachable!("attempt {number} of {calls} did not fail"));
                assert_eq!(error.exit(), Exit::DoesNotFit, "attempt {number}: {error}");
                let RunError::Train(TrainError::Memory(MemoryError::Vulkan(VkError::OutOfMemory { bytes, .. }))) =
                    &error
                else {
                    unreachable!("attempt {number}: {error}")
                };
                failed_allocations += u64::from(*bytes > 0);
                assert_eq!(device.reserved_bytes(), 0, "attempt {number} leaves memory behind");
                assert_eq!(
                    Arc::strong_count(&device),
                    owners,
                    "attempt {number} leaves objects behind"
                );
                // Memory comes first; when all of it was taken, recordings follow.
                let all_taken = device.allocations() - taken == allocations;
                number += if all_taken { stride } else { 1 };
            }
            failed_allocations
        };
        // Pipelines stay with the device, and a start that finds them makes fewer calls.
        let before = device.attempts();
        drop(start().unwrap());
        let calls = device.attempts() - before;
        assert!(calls < attempts, "{calls} of {attempts}");
        assert_eq!(
            fail(0, calls, 11, &|| ()),
            allocations,
            "not every allocation of {layout:?} failed once"
        );
        // They do not know where tensors lie.
        if layout == Layout::Packed {
            fail(calls / 2, attempts, 97, &|| device.forget_pipelines());
        }
        assert!(start().is_ok(), "the device is as good as before");
    }
}

#[test]
fn the_program_ends_with_its_own_code_when_the_driver_has_no_memory() {
    for number in ["0", "3", "40"] {
        let scratch = Scratch::new("no-memory");
        let failing = [("fault.fail_allocation", number)];
        let mut command = runs::train_command(&scratch.join("run"), &[EVENTFUL, SMALL, &failing]);
        let (code, errors) = runs::outcome(&mut command);
        assert_eq!(code, Some(6), "{errors}");
        assert!(errors.contains("the driver has no memory left"), "{errors}");
    }
}
