//! What the engine says about each shader, against the module itself: bindings and their directions, layouts of the
//! blocks that both sides write down, push constants, specialisation constants. Needs no device.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::collections::BTreeSet;
use std::mem::{offset_of, size_of};
use std::path::Path;

use kiln::eval::lpips::{DEFAULT_BUDGET_BYTES, LpipsTensors};
use kiln::gaussians::layout::Storage;
use kiln::gaussians::morton::Frame;
use kiln::kernels::camera_cull::Limits;
use kiln::kernels::counters::Counters;
use kiln::kernels::filter_3d::{self, FilterIo};
use kiln::kernels::uniforms::StepUniforms;
use kiln::kernels::views::{Reduction, Variants};
use kiln::kernels::{self, begin, budgeted, densify, explore, guard_bands, histogram, opacity_reset, probe, resample};
use kiln::program::{Access, Command, Program, TensorTable};
use kiln::step::{
    BandTensors, Capacities, DensifyTensors, ExtraLosses, RecordBandTensors, ReorderTensors, STAGING_BYTES,
    StepTensors, banded, banded_records, bound_clusters, evaluate_view, reorder, train_step,
};
use kiln_tests::spirv::{Module, reflect};

/// Modules without a declaration in `kernels`: nothing records them yet.
const UNLISTED: [&str; 1] = ["fill"];

/// (offset, size) of every field, in order. Fails to compile when a field is missing.
macro_rules! fields {
    ($type:ident { $($field:ident),* $(,)? }) => {{
        let all: fn($type) = |value| {
            let $type { $($field: _),* } = value;
        };
        let _ = all;
        vec![$((offset_of!($type, $field) as u32, size_of_field(|v: &$type| &v.$field))),*]
    }};
}

fn size_of_field<T, F>(_: impl Fn(&T) -> &F) -> u32 {
    size_of::<F>() as u32
}

fn uniforms() -> Vec<(u32, u32)> {
    fields!(StepUniforms {
        view_row0,
        view_row1,
        view_row2,
        camera_position,
        intrinsics,
        slope_limits,
        background,
        weights,
        width,
        height,
        tiles_x,
        tiles_y,
        iteration,
        seed,
        flags,
        adam_skip_mask,
        sh_degree,
        image_offset,
        band_begin,
        band_end,
        adam_rate,
        adam_scale,
        beta1,
        beta2,
        epsilon,
        view,
        opacity_weight,
        scale_weight,
        noise,
        near_limit,
        sh_steps,
        near_z,
        dropout,
        exposure_hold,
        reserved,
    })
}

fn counters() -> Vec<(u32, u32)> {
    fields!(Counters {
        stalled,
        gaussians,
        visible,
        intersections,
        visible_wanted,
        intersections_wanted,
        stall_iteration,
        nonfinite,
        nonfinite_index,
        skipped,
        births,
        deaths,
        clones,
        splits,
        capped,
        iteration,
        loss,
        l1,
        ssim,
        culled,
    })
}

fn modules() -> Vec<(&'static kiln::program::Shader, Module)> {
    kernels::all().into_iter().map(|s| (s, reflect(s.spirv))).collect()
}

#[test]
fn bindings_are_used_as_declared() {
    for (shader, module) in modules() {
        let name = shader.name;
        for binding in module.bindings.keys() {
            assert!(
                (*binding as usize) < shader.bindings.len(),
                "{name} uses undeclared binding {binding}"
            );
        }
        for (index, declared) in (0u32..).zip(shader.bindings) {
            // A variant may leave a binding of the shared source alone.
            let Some(found) = module.bindings.get(&index) else {
                continue;
            };
            let (may_read, may_write) = match declared.access {
                Access::Read => (true, false),
                Access::Write => (false, true),
                Access::ReadWrite => (true, true),
            };
            let what = format!("{name}, binding {index} `{}`: {found:?}", declared.name);
            assert!(may_read || !found.reads, "reads what it should only write: {what}");
            assert!(may_write || !found.writes, "writes what it should only read: {what}");
            assert_eq!(may_write, found.writable, "readonly and its absence: {what}");
            assert!(may_read <= found.readable, "writeonly, but declared read: {what}");
        }
    }
}

#[test]
fn shared_blocks_have_one_layout() {
    let (uniforms, counters) = (uniforms(), counters());
    assert_eq!(
        uniforms.last().map(|(o, s)| (o + s) as usize),
        Some(size_of::<StepUniforms>())
    );
    assert_eq!(
        counters.last().map(|(o, s)| (o + s) as usize),
        Some(size_of::<Counters>())
    );
    let mut seen = [0, 0];
    for (shader, module) in modules() {
        for (index, declared) in (0u32..).zip(shader.bindings) {
            let Some(found) = module.bindings.get(&index) else {
                continue;
            };
            match declared.name {
                "uniforms" => {
                    assert_eq!(found.members, uniforms, "{}", shader.name);
                    seen[0] += 1;
                }
                // The sort reads the counters as plain words.
                "counters" if !found.members.is_empty() => {
                    assert_eq!(found.members, counters, "{}", shader.name);
                    seen[1] += 1;
                }
                "control" => {
                    let end = found.members.last().map_or(0, |(offset, size)| offset + size);
                    assert_eq!(u64::from(end), densify::CONTROL_BYTES, "{}", shader.name);
                }
                _ => {}
            }
        }
    }
    assert!(seen[0] > 8 && seen[1] > 15, "{seen:?}");
}

/// Every pass the engine can record on small tensors.
fn programs() -> Vec<Program> {
    let mut capacities = Capacities::new(600, 600, 6000, 3, [(64, 48)]);
    capacities.clusters = true;
    let mut programs = Vec::new();
    for (index, (reduction, sort_subgroup, columns, lanes, jitter)) in [
        (Reduction::Segmented, 0, true, false, false),
        (Reduction::Segmented, 0, true, true, false),
        (Reduction::Atomic, 16, false, false, false),
        (Reduction::Segmented, 32, false, false, false),
        (Reduction::CompareExchange, 0, false, false, false),
        (Reduction::Atomic, 16, false, false, true),
        (Reduction::Segmented, 0, true, false, true),
    ]
    .into_iter()
    .enumerate()
    {
        // Colours wait from the fourth on: the three ways of storing come with and without it.
        capacities.deferred_steps = if index < 3 { 0 } else { 100 };
        let variants = Variants {
            reduction,
            sort_subgroup,
            columns,
            lanes,
            jitter,
        };
        let mut table = TensorTable::default();
        // photos carry masks in every other list
        capacities.masked = !capacities.masked;
        capacities.losses = ExtraLosses {
            alpha: capacities.masked,
            exposure: capacities.masked,
        };
        capacities.storage = match capacities.storage {
            Storage::Exact => Storage::Half,
            Storage::Half => Storage::Compact,
            Storage::Compact => Storage::Exact,
        };
        let t = StepTensors::new(&mut table, &capacities, &variants);
        let d = DensifyTensors::new(&mut table, &capacities, STAGING_BYTES);
        let event = densify::Event {
            options: densify::Options::default(),
            extent: 1.0,
            capacity: 600,
        };
        programs.push(kiln::step::densify(&t, &d, &event));
        let births = budgeted::Births {
            way: densify::Way {
                from: 500,
                last: 900,
                ramp: 3.0,
                growth: 0.25,
            },
            exponents: budgeted::Exponents {
                error: 1.0,
                abs_gradient: 1.0,
            },
        };
        programs.push(kiln::step::budgeted(&t, &d, &event, &births));
        let event = resample::Event {
            dead_opacity: 0.005,
            growth: 0.05,
            capacity: 600,
        };
        programs.push(kiln::step::resample(&t, &d, &event));
        let cameras = FilterIo {
            cameras: t.filter.cameras,
            camera_count: 1,
            max_focal_px: 1.0,
            farthest: t.filter.farthest,
        };
        programs.push(kiln::step::camera_cull(&t, &d, &cameras, &Limits::default()));
        let sort = ReorderTensors::new(&mut table, &capacities, &variants);
        let mut program = Program::new("reorder");
        reorder(&mut program, &t, &sort, &Frame::new([0.0; 3], 1.0));
        bound_clusters(&mut program, &t);
        programs.push(program);
        programs.push(train_step(&t));
        programs.push(evaluate_view(&t, &[]));
        let bands = BandTensors::new(&mut table, &capacities, &variants);
        programs.extend(banded(&t, &bands, &[]).all().into_iter().cloned());
        let records = RecordBandTensors::new(&mut table, &t, true);
        programs.extend(banded_records(&t, &bands, &records, &[]).all().into_iter().cloned());
        let mut program = Program::new("others");
        begin::record(&mut program, &t.shared, &t.chunks);
        let io = FilterIo {
            cameras: t.filter.cameras,
            camera_count: 1,
            max_focal_px: 1.0,
            farthest: t.filter.farthest,
        };
        filter_3d::record(&mut program, &t.shared, &t.chunks, &io);
        opacity_reset::record(&mut program, &t.shared, &t.chunks, 0.01);
        explore::record(&mut program, &t.shared, &t.chunks);
        histogram::record(&mut program, &t.shared, &t.chunks, t.shared.args);
        let sample = probe::Sample::of(t.shared.args.bytes, probe::RUN_BYTES);
        probe::record(&mut program, t.shared.args, t.shared.args, sample);
        guard_bands::record(&mut program, t.shared.args, t.shared.uniforms, t.shared.args, 1, 0);
        programs.push(program);
    }
    let mut table = TensorTable::default();
    let lpips = LpipsTensors::new(&mut table, DEFAULT_BUDGET_BYTES, [64, 48]).expect("a workspace");
    programs.push(lpips.program().clone());
    programs
}

#[test]
fn passes_give_their_shaders_what_they_expect() {
    for command in programs().iter().flat_map(|p| &p.commands) {
        let Command::Dispatch(pass) = command else { continue };
        let (name, module) = (pass.shader.name, reflect(pass.shader.spirv));
        let push = module.push.last().map_or(0, |(offset, size)| offset + size);
        assert_eq!(pass.push.len(), push as usize, "push constants of {name}");
        // Only plain words in push constants: both languages then agree on every offset.
        for (index, field) in (0u32..).zip(&module.push) {
            assert_eq!(*field, (4 * index, 4), "push constant {index} of {name}");
        }
        let given: BTreeSet<u32> = (0..pass.spec.len() as u32).chain([kiln::vk::LOCKSTEP]).collect();
        assert!(
            module.spec.is_subset(&given),
            "{name} wants constants {:?}, gets {given:?}",
            module.spec
        );
        assert_eq!(pass.views.len(), pass.shader.bindings.len(), "{name}");
    }
}

#[test]
fn every_module_is_listed_once() {
    let listed: Vec<String> = kernels::all().iter().map(|s| s.name.to_owned()).collect();
    let unique: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(unique.len(), listed.len(), "a shader is listed twice");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders/spv");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("shaders/spv")
        .filter_map(|entry| {
            entry
                .expect("entry")
                .file_name()
                .to_str()?
                .strip_suffix(".spv")
                .map(str::to_owned)
        })
        .filter(|name| !UNLISTED.contains(&name.as_str()))
        .collect();
    for name in UNLISTED {
        assert!(!unique.contains(name), "{name} is declared now; take it off the list");
    }
    let missing: Vec<_> = files.difference(&unique).collect();
    assert!(missing.is_empty(), "not in kernels::all(): {missing:?}");
    let made: BTreeSet<&str> = programs()
        .iter()
        .flat_map(|p| &p.commands)
        .filter_map(|c| {
            if let Command::Dispatch(pass) = c {
                Some(pass.shader.name)
            } else {
                None
            }
        })
        .collect();
    let unused: Vec<_> = listed.iter().filter(|name| !made.contains(name.as_str())).collect();
    assert!(
        unused.is_empty(),
        "no program here uses {unused:?}: add one, so that its push constants are checked"
    );
}
