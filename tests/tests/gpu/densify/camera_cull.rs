//! Removal by what the training cameras say, on the device against the CPU reference.

use kiln::step::{DensifyTensors, STAGING_BYTES, camera_cull};
use kiln_gaussians::layout::Storage;
use kiln_kernels::camera_cull::Limits;
use kiln_kernels::counters::Counters;
use kiln_kernels::filter_3d::{FilterCamera, FilterIo};
use kiln_program::Program;
use kiln_scene::Camera;
use kiln_scene::math;
use kiln_tests::gpu::variants;
use kiln_tests::scenes::fisheye;
use kiln_twins::camera_cull::{Testimony, goes, testimony};
use kiln_twins::densify::compaction;
use kiln_twins::gaussian::View;
use kiln_twins::rng;

use super::rig::{Rig, State, capacities, random};

const CAPACITY: u32 = 8192;
const NEAR_Z: f32 = 0.3;
const LIMITS: Limits = Limits {
    clearance: 0.5,
    witnesses: 3,
    opacity: 0.02,
    kernel_size: 0.1,
};

/// Five cameras on a ring of radius 3, turned anyhow; the last has a lens.
fn cameras() -> Vec<Camera> {
    let one = |key: u32| {
        let q: [f32; 4] = [0, 1, 2, 3].map(|i| rng::normal(key, 2, 0, i));
        let length = q.iter().map(|x| x * x).sum::<f32>().sqrt();
        let rotation = math::rotation(q.map(|x| x / length));
        let (sin, cos) = (1.3 * key as f32).sin_cos();
        let position = [3.0 * sin, 0.2, 3.0 * cos];
        Camera {
            width_px: 64,
            height_px: 48,
            fx: 50.0,
            fy: 55.0,
            cx: 30.0,
            cy: 25.0,
            rotation,
            translation: [0, 1, 2].map(|i| -(0..3).map(|c| rotation[i][c] * position[c]).sum::<f32>()),
            lens: (key == 4).then(|| fisheye(1.7)),
        }
    };
    (0..5).map(one).collect()
}

fn rig(chunk: u32, kind: (Storage, u32), staging_bytes: u64, limits: &Limits) -> (Rig, Program) {
    let mut capacities = capacities(CAPACITY, chunk, kind);
    capacities.cameras = 5;
    let variants = variants(kiln_kernels::views::Reduction::Segmented);
    let (mut rig, program) = Rig::of(&capacities, &variants, |table, t| {
        let workspace = DensifyTensors::new(table, &capacities, staging_bytes);
        let io = FilterIo {
            cameras: t.filter.cameras,
            camera_count: 5,
            max_focal_px: 50.0,
            farthest: t.filter.farthest,
        };
        camera_cull(t, &workspace, &io, limits)
    });
    let list: Vec<FilterCamera> = cameras().iter().map(|c| kiln::step::filter_camera(c, NEAR_Z)).collect();
    rig.gpu.write(&rig.tensors.filter.cameras.clone(), &list).unwrap();
    (rig, program)
}

fn testimonies(state: &State, limits: &Limits) -> Vec<Testimony<f32>> {
    let views: Vec<View<f32>> = cameras().iter().map(|c| View::new(c).beyond(NEAR_Z)).collect();
    let all = state.gaussians.iter();
    // The filter is the tag that the rig writes.
    all.map(|g| testimony(g, g.sh[0][0], &views, limits.rim_px())).collect()
}

/// Gaussians all over the ring with small filters, none at a limit that rounding decides.
fn model(n: u32, degree: u32, key: u32) -> State {
    let mut state = random(n, degree, key);
    for g in &mut state.gaussians {
        g.mean = g.mean.map(|x| 2.0 * x);
        g.sh[0][0] *= 0.01;
    }
    let said = testimonies(&state, &LIMITS);
    for (g, said) in state.gaussians.iter_mut().zip(said) {
        if (said.clearance - LIMITS.clearance).abs() < 1e-4 {
            g.mean = [0.0; 3];
        }
    }
    state
}

/// Runs the twin and the device on `state` and compares; returns what the device reports.
fn check(state: &State, chunk: u32, kind: (Storage, u32), staging_bytes: u64, limits: &Limits) -> Counters {
    let (mut rig, program) = rig(chunk, kind, staging_bytes, limits);
    rig.write(state, 0);
    rig.gpu.run(&program).unwrap();
    let found = rig.counters();
    let said = testimonies(state, limits);
    let dead: Vec<bool> = state
        .gaussians
        .iter()
        .zip(&said)
        .map(|(g, said)| goes(g, said, limits))
        .collect();
    let (live, moves) = compaction(&dead);
    let mut wanted = state.clone();
    for (from, to) in moves {
        wanted.gaussians[to] = wanted.gaussians[from];
        wanted.moments[to] = wanted.moments[from];
        wanted.statistics[to] = wanted.statistics[from];
    }
    wanted.gaussians.truncate(live);
    wanted.moments.truncate(live);
    wanted.statistics.truncate(live);
    assert_eq!(found.gaussians as usize, live);
    assert_eq!(found.culled as usize, dead.len() - live);
    // What a densification reported stays.
    assert_eq!((found.births, found.deaths), (77, 0));
    rig.assert_state(&wanted, 0..0);
    rig.finish();
    found
}

#[test]
fn those_go_that_the_cameras_do_not_vouch_for() {
    let state = model(3000, 1, 51);
    let exact = (Storage::Exact, 1);
    let off = Limits {
        kernel_size: 0.1,
        ..Limits::default()
    };
    let culled = |limits: Limits| check(&state, 1024, exact, STAGING_BYTES, &limits).culled;
    assert_eq!(culled(off), 0);
    let clearance = culled(Limits { clearance: 0.5, ..off });
    let unseen = culled(Limits { witnesses: 1, ..off });
    let few = culled(Limits { witnesses: 3, ..off });
    let faint = culled(Limits { opacity: 0.02, ..off });
    let all = culled(LIMITS);
    assert!(
        clearance > 20 && unseen > 100 && few > unseen && faint > 200,
        "{clearance} {unseen} {few} {faint}"
    );
    assert!(all > few && all < clearance + few + faint && all < 3000, "{all}");
}

#[test]
fn chunks_rows_and_storage_do_not_matter() {
    for (chunk, staging_bytes, kind) in [
        (256, 1, (Storage::Exact, 3)),
        (256, STAGING_BYTES, (Storage::Half, 1)),
        (8192, 1 << 18, (Storage::Compact, 2)),
    ] {
        let state = model(2901, kind.1, 52);
        assert!(check(&state, chunk, kind, staging_bytes, &LIMITS).culled > 300);
    }
}

#[test]
fn nothing_happens_to_an_empty_model_or_a_stalled_run() {
    let exact = (Storage::Exact, 1);
    assert_eq!(
        check(&State::default(), 1024, exact, STAGING_BYTES, &LIMITS).gaussians,
        0
    );
    let state = model(3000, 1, 53);
    let (mut rig, program) = rig(1024, exact, STAGING_BYTES, &LIMITS);
    rig.write(&state, 2);
    let before = (rig.counters(), rig.read(3000));
    rig.gpu.run(&program).unwrap();
    assert_eq!((rig.counters(), rig.read(3000)), before);
    rig.finish();
}
