//! Gaussians on triangles: steps on the device against the twins, pass by pass.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::step::{Capacities, read_vertices, write_mesh};
use kiln_gaussians::Gaussians;
use kiln_gaussians::bound::{Binding, BoundMesh, PER_TRIANGLE, place};
use kiln_gaussians::layout::{PLANE_TURN, Storage};
use kiln_kernels::uniforms::Group;
use kiln_kernels::views::Reduction;
use kiln_mesh::Mesh;
use kiln_tests::compare::{close, same};
use kiln_tests::gpu::{Gpu, variants};
use kiln_tests::scenes::Scene;
use kiln_tests::stages::{Stages, staged};
use kiln_tests::twin::{RATES, Twin, uniforms};
use kiln_twins::adam::{Adam, Factors, GroupStep, update};
use kiln_twins::bound::{Pull, bind, pull, vertex_gradients};

/// Planes of a bound Gaussian's geometry, and of what is learned of it: two scales, turn, opacity.
const GEOMETRY: u32 = 13;
const LEARNED: [usize; 5] = [8, 9, 11, 12, 10];
const GROUPS: [usize; 5] = [2, 2, 1, 1, 3];
const CONSISTENCY: f32 = 0.02;

fn scene(count: u32) -> Scene {
    Scene {
        seed: 61,
        count,
        size: [70, 50],
        sh_degree: 1,
        ..Scene::default()
    }
}

/// As many triangles as there are Gaussians of the scene, about their places, in pairs that share an edge; the last triangle has no
/// area, and no Gaussian changes.
fn mesh(scene: &Scene, triangles: u32) -> BoundMesh {
    let (mut corners, mut faces) = (Vec::new(), Vec::new());
    for (at, t) in scene.model().means.iter().zip(0..triangles / 2) {
        let size = 0.15 + 0.1 * (t % 5) as f32;
        let bend = 0.05 * (t % 7) as f32;
        let first = corners.len() as u32;
        for [x, y, z] in [
            [0.0, 0.0, 0.0],
            [1.0, 0.2, bend],
            [0.1, 1.0, -bend],
            [1.0, 1.1, 2.0 * bend],
        ] {
            corners.push([at[0] + size * x, at[1] + size * y, at[2] + size * z]);
        }
        faces.push([first, first + 1, first + 2]);
        // Every third pair is turned against itself.
        faces.push(if t % 3 == 0 {
            [first + 1, first + 2, first + 3]
        } else {
            [first + 3, first + 2, first + 1]
        });
    }
    if let Some(last) = faces.last_mut() {
        last[2] = last[0];
    }
    BoundMesh::new(&Mesh::new(corners, faces).expect("a mesh"))
}

/// The scene's shapes and colours on the triangles of `mesh`, with a turn that is not where it begins.
fn model(scene: &Scene, mesh: &BoundMesh, per_triangle: u32) -> (Gaussians, Vec<[f32; 2]>) {
    let mut model = scene.model();
    let turn = |i: usize| {
        let angle = 0.37 * i as f32;
        let size = 0.5 + 0.1 * (i % 9) as f32;
        [size * angle.cos(), size * angle.sin()]
    };
    let turns: Vec<[f32; 2]> = (0..model.len()).map(turn).collect();
    for (i, turn) in turns.iter().enumerate() {
        let (t, slot) = (i / per_triangle as usize, i as u32 % per_triangle);
        let corners = mesh.corners(mesh.triangles[t]);
        (model.means[i], model.quats[i]) = bind(corners, place(per_triangle, slot), *turn);
        model.log_scales[i][0] = -11.0;
    }
    model.filter_3d.fill(0.0);
    (model, turns)
}

fn capacities(scene: &Scene, binding: Binding, storage: Storage) -> Capacities {
    let sizes = [(scene.size[0], scene.size[1])];
    let mut c = Capacities::new(scene.count, scene.count, 20 * scene.count, scene.sh_degree, sizes);
    (c.chunk, c.storage, c.bound) = (768, storage, Some(binding));
    c
}

struct Rig {
    gpu: Gpu,
    scene: Scene,
    mesh: BoundMesh,
}

impl Rig {
    fn new(per_triangle: u32, storage: Storage, reduction: Reduction) -> Self {
        // Two chunks, and a last one that is not full.
        let triangles = 1100 / per_triangle / 2 * 2;
        let scene = scene(per_triangle * triangles);
        let mesh = mesh(&scene, triangles);
        let binding = Binding::new(&mesh, per_triangle, CONSISTENCY);
        assert_eq!(binding.gaussians(), scene.count);
        let (model, turns) = model(&scene, &mesh, per_triangle);
        let mut gpu = staged(&capacities(&scene, binding, storage), &variants(reduction));
        gpu.load(&model);
        write_mesh(&mut gpu.device, &gpu.tensors, &mesh).expect("the mesh fits");
        for chunk in gpu.tensors.chunks.clone() {
            let here = &turns[chunk.first as usize..turns.len().min((chunk.first + chunk.stride) as usize)];
            for k in 0..2_u32 {
                let values: Vec<f32> = here.iter().map(|turn| turn[k as usize]).collect();
                let plane = 4 * u64::from(chunk.stride);
                let view = chunk.geometry.slice(u64::from(PLANE_TURN + k) * plane, plane);
                gpu.device.write(&view, &values).expect("upload");
            }
        }
        Self { gpu, scene, mesh }
    }

    fn vertices(&mut self) -> Vec<[f32; 3]> {
        let read = read_vertices(&mut self.gpu.device, &self.gpu.tensors).expect("download");
        read.expect("a bound model").0
    }

    fn moments(&mut self) -> [Vec<[f32; 3]>; 2] {
        let io = self.gpu.tensors.bound.expect("a bound model");
        let n = self.mesh.vertices.len();
        [io.vertices_m, io.vertices_v].map(|view| self.gpu.read(view, n))
    }

    /// Moments of what is a Gaussian's own, where they are not codes.
    fn own_moments(&mut self, storage: Storage) -> [Vec<Vec<f32>>; 2] {
        let n = self.scene.count as usize;
        match storage {
            Storage::Compact => [Vec::new(), Vec::new()],
            Storage::Exact | Storage::Half => [
                self.gpu.planes(|c| c.geometry_m, 5, n),
                self.gpu.planes(|c| c.geometry_v, 5, n),
            ],
        }
    }

    fn geometry(&mut self) -> Vec<Vec<f32>> {
        let n = self.scene.count as usize;
        self.gpu.planes(|c| c.geometry, GEOMETRY, n)
    }
}

fn column(list: &[Vec<f32>], p: usize) -> Vec<f32> {
    list.iter().map(|values| values[p]).collect()
}

/// Three steps, the second of which leaves vertices and turns alone.
fn check(per_triangle: u32, storage: Storage, reduction: Reduction) {
    let mut rig = Rig::new(per_triangle, storage, reduction);
    let n = rig.scene.count as usize;
    let camera = rig.scene.camera();
    for iteration in 1..=3_u32 {
        let what = format!("{per_triangle} a triangle, {storage:?}, {reduction:?}, step {iteration}");
        let mut u = uniforms(&camera, 1, iteration);
        u.flags = kiln_kernels::uniforms::flags::UPDATE;
        if iteration == 2 {
            u.adam_skip_mask = Group::Means.bit() | Group::Quats.bit();
        }
        let (before, vertices, moments) = (rig.geometry(), rig.vertices(), rig.moments());
        let model = rig.gpu.model();
        let [own, second] = rig.own_moments(storage);
        let target = rig.scene.target();
        let status = rig.gpu.run(iteration % 3, &u, &target);
        assert_eq!((status.stalled, status.skipped), (0, 0), "{what}: {status:?}");
        assert_eq!(status.gaussians as usize, n);
        let stages = Stages::read(&mut rig.gpu, &status, &camera);
        assert!(
            stages.visible.len() > 300 && stages.visible.len() < n,
            "{}",
            stages.visible.len()
        );
        let twin = Twin::new(&model);
        let (gradients, _) = stages.gradients(&twin, &camera);

        let pulled: Vec<(Pull<f32>, [f32; 2])> = (0..n)
            .map(|i| {
                let turn = [before[i][11], before[i][12]];
                pull(model.quats[i], turn, gradients[i].mean, gradients[i].quat)
            })
            .collect();
        let pulls: Vec<Pull<f32>> = pulled.iter().map(|(pull, _)| *pull).collect();
        let left = rig.gpu.planes(|c| c.statistics, 6, n);
        let wanted: Vec<f32> = pulls.iter().flat_map(|p| [p.force, p.torque].concat()).collect();
        close(&format!("{what}: pulls"), &left.concat(), &wanted, 1e-4, 1e-4);

        // Adam on what the device had and on its own pulls: a rounding difference in a tiny gradient turns its sign.
        let pulls: Vec<Pull<f32>> = left
            .iter()
            .map(|p| Pull {
                force: [p[0], p[1], p[2]],
                torque: [p[3], p[4], p[5]],
            })
            .collect();
        let flatness = CONSISTENCY / rig.mesh.adjacency.inner_edges as f32;
        let by_vertex = vertex_gradients(&rig.mesh, &vertices, per_triangle, &pulls, flatness);
        let after = rig.moments();
        let factors = |group: usize| -> Option<Factors<f32>> {
            let step = GroupStep {
                rate: RATES[group],
                step: iteration,
            };
            (u.adam_skip_mask >> group & 1 == 0).then(|| Adam::default().factors(step))
        };
        let moved = rig.vertices();
        if let Some(factors) = factors(0) {
            let (mut m, mut v) = (moments[0].clone(), moments[1].clone());
            for (at, gradient) in by_vertex.iter().enumerate() {
                for c in 0..3 {
                    let mut ignored = 0.0;
                    update(&factors, &mut ignored, &mut m[at][c], &mut v[at][c], gradient[c]);
                }
            }
            close(
                &format!("{what}: first moments of vertices"),
                after[0].as_flattened(),
                m.as_flattened(),
                1e-5,
                1e-4,
            );
            close(
                &format!("{what}: second moments of vertices"),
                after[1].as_flattened(),
                v.as_flattened(),
                1e-5,
                1e-4,
            );
            let wanted: Vec<f32> = (0..3 * vertices.len())
                .map(|k| {
                    let (m, v) = (after[0].as_flattened()[k], after[1].as_flattened()[k]);
                    let step = factors.step_size * m / (factors.second_scale * v.sqrt() + factors.eps);
                    vertices.as_flattened()[k] - step
                })
                .collect();
            close(&format!("{what}: vertices"), moved.as_flattened(), &wanted, 1e-6, 1e-5);
            let far = moved
                .as_flattened()
                .iter()
                .zip(vertices.as_flattened())
                .filter(|(a, b)| a != b)
                .count();
            assert!(far > vertices.len(), "{what}: {far} coordinates moved");
        } else {
            same(
                &format!("{what}: vertices"),
                moved.as_flattened(),
                vertices.as_flattened(),
            );
            same(
                &format!("{what}: moments"),
                after[0].as_flattened(),
                moments[0].as_flattened(),
            );
        }

        // What is a Gaussian's own; in fewer bits `updates_follow_the_twin_code_by_code` checks the codes.
        let found = rig.geometry();
        for (k, (plane, group)) in LEARNED.into_iter().zip(GROUPS).enumerate() {
            let gradient = |i: usize| match k {
                0 | 1 => gradients[i].log_scale[1 + k],
                2 | 3 => pulled[i].1[k - 2],
                _ => gradients[i].logit_opacity,
            };
            let Some(factors) = factors(group) else {
                same(
                    &format!("{what}: plane {plane}"),
                    &column(&found, plane),
                    &column(&before, plane),
                );
                continue;
            };
            if storage == Storage::Compact {
                let off = (0..n).filter(|&i| found[i][plane] != before[i][plane]).count();
                assert!(off > 300, "{what}: plane {plane}: {off} moved");
                continue;
            }
            let moments = rig.own_moments(storage);
            let (mut m, mut v) = (column(&own, k), column(&second, k));
            for i in 0..n {
                let mut ignored = 0.0;
                update(&factors, &mut ignored, &mut m[i], &mut v[i], gradient(i));
            }
            close(
                &format!("{what}: first moments of plane {plane}"),
                &column(&moments[0], k),
                &m,
                1e-4,
                3e-4,
            );
            close(
                &format!("{what}: second moments of plane {plane}"),
                &column(&moments[1], k),
                &v,
                1e-4,
                6e-4,
            );
            let wanted: Vec<f32> = (0..n)
                .map(|i| {
                    let (m, v) = (moments[0][i][k], moments[1][i][k]);
                    before[i][plane] - factors.step_size * m / (factors.second_scale * v.sqrt() + factors.eps)
                })
                .collect();
            close(
                &format!("{what}: plane {plane}"),
                &column(&found, plane),
                &wanted,
                1e-5,
                1e-5,
            );
        }
        same(&format!("{what}: thickness"), &column(&found, 7), &column(&before, 7));

        // They are where the vertices are now.
        let mesh = BoundMesh {
            vertices: moved,
            ..rig.mesh.clone()
        };
        let (mut places, mut wanted) = (Vec::new(), Vec::new());
        for (i, values) in found.iter().enumerate() {
            let corners = mesh.corners(mesh.triangles[i / per_triangle as usize]);
            let turn = [values[11], values[12]];
            let (mean, quat) = bind(corners, place(per_triangle, i as u32 % per_triangle), turn);
            let turned: f32 = (0..4).map(|k| quat[k] * values[3 + k]).sum();
            places.extend([values[0], values[1], values[2], turned.abs()]);
            wanted.extend([mean[0], mean[1], mean[2], 1.0]);
        }
        close(&format!("{what}: centres and rotations"), &places, &wanted, 1e-5, 1e-5);
    }
    rig.gpu.assert_valid();
}

#[test]
fn steps_follow_the_twins_for_every_number_of_gaussians() {
    for per_triangle in PER_TRIANGLE {
        check(per_triangle, Storage::Exact, Reduction::Segmented);
    }
}

#[test]
fn steps_follow_the_twins_in_fewer_bits() {
    check(3, Storage::Compact, Reduction::Segmented);
    check(6, Storage::Compact, Reduction::Segmented);
}

/// Twice the same, byte for byte.
#[test]
fn equal_steps_give_equal_bytes() {
    let run = || {
        let mut rig = Rig::new(4, Storage::Exact, Reduction::Segmented);
        let camera = rig.scene.camera();
        for iteration in 1..=3 {
            let mut u = uniforms(&camera, 1, iteration);
            u.flags = kiln_kernels::uniforms::flags::UPDATE;
            let target = rig.scene.target();
            rig.gpu.run(iteration % 3, &u, &target);
        }
        let n = rig.scene.count as usize;
        let bits = |list: Vec<[f32; 3]>| -> Vec<u32> { list.as_flattened().iter().map(|v| v.to_bits()).collect() };
        (rig.gpu.state_bytes(n), bits(rig.vertices()))
    };
    assert!(run() == run());
}
