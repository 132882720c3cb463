//! The barriers of the training step: none is missing, and none could be.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::{Capacities, StepTensors, train_step};
use kiln_gpu::memory::{BlockRounding, Plan, PlanLimits};
use kiln_gpu::vk::Hazard;
use kiln_gpu::vk::fence::Fence;
use kiln_gpu::vk::hazards::{check, fences, touches};
use kiln_gpu::vk::{Place, VkError};
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_program::{Program, Span, TensorTable};

/// The training step in a plan whose arena tensors share bytes.
fn step() -> (TensorTable, Plan, Program) {
    let capacities = Capacities::new(5000, 5000, 30_000, 3, [(96, 64)]);
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads: Threads::Columns,
        loops: Loops::Long,
    };
    let mut table = TensorTable::default();
    let tensors = StepTensors::new(&mut table, &capacities, &variants);
    let program = train_step(&tensors);
    let limits = PlanLimits {
        block_bytes: 1 << 30,
        binding_bytes: 1 << 27,
        rounding: BlockRounding::NONE,
    };
    let plan = Plan::new(&table, &[&program], limits).unwrap();
    (table, plan, program)
}

fn place(plan: &Plan, view: &Span) -> Place {
    let slot = plan.slots.get(view.tensor.index()).unwrap();
    Place {
        block: slot.block,
        offset: slot.offset + view.offset,
        bytes: view.bytes,
    }
}

/// Leaving out any barrier of the step is found, and nothing is found with all of them.
#[test]
fn every_missing_barrier_is_named() {
    let (table, plan, program) = step();
    let place = |view: &Span| place(&plan, view);
    let name = |view: &Span| table.get(view.tensor).unwrap().name.clone();
    let all: Vec<_> = program.commands.iter().map(|c| touches(c, &place, 1)).collect();
    let fences = fences(&all);
    check(&program, &fences, &place, &name).unwrap();
    let (mut missed, mut kinds) = (0, std::collections::BTreeSet::new());
    for at in (0..fences.len()).filter(|at| fences.get(*at) != Some(&Fence::None)) {
        let mut without = fences.clone();
        let fence = without.get_mut(at).unwrap();
        // Also the lesser of the two barriers in the place of the greater one is not enough.
        *fence = if *fence == Fence::All {
            Fence::Passes
        } else {
            Fence::None
        };
        let VkError::Hazard(hazard) = check(&program, &without, &place, &name).unwrap_err() else {
            unreachable!("the only error of a check")
        };
        let Hazard {
            earlier,
            later,
            what,
            tensor,
            ..
        } = *hazard;
        // Both names are passes of the step, and the later one is behind the gap.
        let pass = program.commands.get(at).unwrap().name();
        assert!(!earlier.is_empty() && !tensor.is_empty());
        assert!(later.contains(pass) || later.contains("command"), "{later}");
        kinds.insert(what);
        missed += 1;
    }
    assert!(missed > 20, "{missed} barriers");
    assert!(kinds.contains("reads after a write") && kinds.len() > 1, "{kinds:?}");
}
