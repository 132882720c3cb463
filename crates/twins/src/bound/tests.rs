//! Gradients of bound Gaussians and of the normals' term against differences in f64.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln_mesh::Mesh;

use super::*;
use crate::gaussian::{Gaussian, View};
use crate::loss::{Weights, loss_value};
use crate::project::{Filter2d, Settings};
use crate::rng::{normal, uniform};
use crate::scenes::{camera, settings};
use crate::step::{forward, step};
use kiln_gaussians::bound::PER_TRIANGLE;
use kiln_scene::Camera;
use kiln_scene::math::logit;

const BACKGROUND: Vec3<f64> = [0.0; 3];
const FLATNESS: f64 = 0.01;

/// A bumpy sheet of `across` by `down` squares around the origin, two triangles each.
fn sheet(across: u32, down: u32, seed: u32) -> BoundMesh {
    let vertex = |x: u32, y: u32| y * (across + 1) + x;
    let at = |x: u32, y: u32| {
        let bump = |channel: u32| 0.3 * (uniform::<f32>(seed, 3, vertex(x, y), channel) - 0.5);
        let spread = |at: u32, of: u32| 2.4 * (at as f32 / of as f32 - 0.5);
        [spread(x, across) + bump(0), spread(y, down) + bump(1), 2.0 * bump(2)]
    };
    let positions = (0..=down).flat_map(|y| (0..=across).map(move |x| at(x, y))).collect();
    let mut triangles = Vec::new();
    for (x, y) in (0..down).flat_map(|y| (0..across).map(move |x| (x, y))) {
        let [a, b, c, d] = [vertex(x, y), vertex(x + 1, y), vertex(x, y + 1), vertex(x + 1, y + 1)];
        triangles.push([a, b, c]);
        // Some run the other way round.
        triangles.push(if (x + y) % 3 == 0 { [c, b, d] } else { [c, d, b] });
    }
    BoundMesh::new(&Mesh::new(positions, triangles).expect("a sheet"))
}

/// What is learned of a bound Gaussian's geometry.
#[derive(Clone, Copy)]
struct Own {
    log_scales: [f64; 2],
    turn: [f64; 2],
    logit: f64,
    sh: [Vec3<f64>; 16],
}

struct Case {
    mesh: BoundMesh,
    per_triangle: u32,
    vertices: Vec<Vec3<f64>>,
    own: Vec<Own>,
    view: View<f64>,
    settings: Settings,
    target: Vec<Vec3<f64>>,
}

impl Case {
    fn new(per_triangle: u32, filter: Filter2d) -> Self {
        let seed = 40 + per_triangle;
        let (across, down) = match per_triangle {
            1 => (10, 10),
            3 => (7, 5),
            4 => (5, 5),
            _ => (6, 3),
        };
        let mesh = sheet(across, down, seed);
        let view = View::new(&Camera {
            width_px: 16,
            height_px: 16,
            cx: 8.5,
            cy: 7.75,
            fx: 20.0,
            fy: 18.0,
            ..camera()
        });
        let draw = |id: u32, channel: u32| uniform::<f64>(seed, 1, id, channel);
        let count = per_triangle * mesh.triangles.len() as u32;
        let own = (0..count)
            .map(|id| Own {
                log_scales: [0, 1].map(|k| (0.1 + 0.3 * draw(id, k)).ln()),
                turn: [2, 3].map(|k| normal::<f64>(seed, 2, id, k)),
                logit: logit(0.1 + 0.3 * draw(id, 4)),
                sh: std::array::from_fn(|k| {
                    std::array::from_fn(|c| {
                        let size = if k == 0 { 1.0 } else { 0.1 };
                        size * (draw(id, 5 + 3 * k as u32 + c as u32) - 0.4)
                    })
                }),
            })
            .collect();
        Self {
            vertices: vertices_of(&mesh),
            mesh,
            per_triangle,
            own,
            view,
            settings: settings(filter, 1),
            target: (0..256).map(|i| [60, 61, 62].map(|c| draw(i, c))).collect(),
        }
    }

    fn gaussians(&self) -> Vec<Gaussian<f64>> {
        let bound = |(id, own): (usize, &Own)| {
            let (t, slot) = (id / self.per_triangle as usize, id as u32 % self.per_triangle);
            let corners = self.mesh.triangles[t].map(|v| self.vertices[v as usize]);
            let (mean, quat) = bind(corners, place(self.per_triangle, slot), own.turn);
            Gaussian {
                mean,
                quat,
                log_scale: [4e-6_f64.ln(), own.log_scales[0], own.log_scales[1]],
                logit_opacity: own.logit,
                sh: own.sh,
            }
        };
        self.own.iter().enumerate().map(bound).collect()
    }

    fn loss(&self) -> f64 {
        let gaussians = self.gaussians();
        let filter = vec![0.0; gaussians.len()];
        let out = forward(&gaussians, &filter, &self.view, &self.settings, BACKGROUND);
        let image = loss_value(self.view.size_px, &out.raster.rgb, &self.target, Weights::default());
        image + FLATNESS * inconsistency(&self.mesh, &self.vertices)
    }
}

/// Central differences, or none where those to either side disagree: a threshold lies within the step.
fn difference(case: &mut Case, base: f64, mut value: impl FnMut(&mut Case) -> &mut f64) -> Option<f64> {
    const STEP: f64 = 1e-6;
    let before = *value(case);
    let mut at = |offset: f64| {
        *value(case) = before + offset;
        let loss = case.loss();
        *value(case) = before;
        loss
    };
    let (high, low) = (at(STEP), at(-STEP));
    let (right, left) = ((high - base) / STEP, (base - low) / STEP);
    let middle = 0.5 * (right + left);
    ((right - left).abs() <= 1e-3 * middle.abs() + 1e-5).then_some(middle)
}

#[derive(Default)]
struct Tally {
    compared: usize,
    left_out: usize,
}

impl Tally {
    fn check(&mut self, what: &str, wanted: Option<f64>, found: f64) {
        let Some(wanted) = wanted else {
            self.left_out += 1;
            return;
        };
        let off = (found - wanted).abs();
        assert!(
            off <= 1e-3 * wanted.abs().max(1e-5),
            "{what}: {found}, differences {wanted}"
        );
        self.compared += usize::from(wanted.abs() > 1e-6);
    }
}

#[test]
fn gradients_of_vertices_turns_and_scales_are_those_of_the_loss() {
    for (per_triangle, filter) in PER_TRIANGLE.into_iter().zip([
        Filter2d::Classic,
        Filter2d::Mip { kernel_size: 0.1 },
        Filter2d::Classic,
        Filter2d::Mip { kernel_size: 0.1 },
    ]) {
        let mut case = Case::new(per_triangle, filter);
        let gaussians = case.gaussians();
        assert!(gaussians.len() >= 200, "{}", gaussians.len());
        let filter = vec![0.0; gaussians.len()];
        let weights = Weights::default();
        let exact = step(
            &gaussians,
            &filter,
            &case.view,
            &case.settings,
            BACKGROUND,
            &case.target,
            weights,
        );
        let pulled: Vec<(Pull<f64>, [f64; 2])> = (gaussians.iter().zip(&exact.gradients))
            .zip(&case.own)
            .map(|((gaussian, gradient), own)| pull(gaussian.quat, own.turn, gradient.mean, gradient.quat))
            .collect();
        let pulls: Vec<Pull<f64>> = pulled.iter().map(|(pull, _)| *pull).collect();
        let found = vertex_gradients(&case.mesh, &case.vertices, per_triangle, &pulls, FLATNESS);
        let base = case.loss();
        let mut tally = Tally::default();
        for (v, found) in found.iter().enumerate() {
            for (c, found) in found.iter().enumerate() {
                let wanted = difference(&mut case, base, |case| &mut case.vertices[v][c]);
                tally.check(&format!("{per_triangle}: vertex {v}, {c}"), wanted, *found);
            }
        }
        // Every seventh is enough of the others: nothing of theirs is shared.
        for id in (0..gaussians.len()).step_by(7) {
            let gradient = &exact.gradients[id];
            for k in 0..2 {
                let wanted = difference(&mut case, base, |case| &mut case.own[id].log_scales[k]);
                tally.check(
                    &format!("{per_triangle}: scale {k} of {id}"),
                    wanted,
                    gradient.log_scale[1 + k],
                );
                let wanted = difference(&mut case, base, |case| &mut case.own[id].turn[k]);
                tally.check(&format!("{per_triangle}: turn {k} of {id}"), wanted, pulled[id].1[k]);
            }
            let wanted = difference(&mut case, base, |case| &mut case.own[id].logit);
            tally.check(
                &format!("{per_triangle}: opacity of {id}"),
                wanted,
                gradient.logit_opacity,
            );
        }
        assert!(
            tally.compared > 150 && tally.left_out * 5 < tally.compared,
            "{} compared, {} left out",
            tally.compared,
            tally.left_out
        );
    }
}

/// Normals of a fold of two triangles, whichever way round they are, and of three at one edge.
#[test]
fn normals_disagree_by_the_angle_of_the_fold() {
    let at = |angle: f64| {
        let (s, c) = angle.sin_cos();
        vec![[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.5, 0.0], [-c, 0.5, s]]
    };
    let flat = at(0.0).into_iter().map(|p| p.map(|x| x as f32)).collect::<Vec<_>>();
    for turned in [false, true] {
        let triangles = vec![[0, 2, 1], if turned { [0, 3, 1] } else { [0, 1, 3] }];
        let mesh = BoundMesh::new(&Mesh::new(flat.clone(), triangles).expect("a fold"));
        for angle in [0.0, 0.3, 1.2, 2.9_f64] {
            let found = inconsistency::<f64>(&mesh, &at(angle));
            assert!((found - (1.0 - angle.cos())).abs() < 1e-12, "{turned} {angle}: {found}");
        }
        // It unfolds: the gradient lowers what it is of.
        let (mut vertices, none) = (at(1.0), vec![Pull::default(); 2]);
        let before = inconsistency::<f64>(&mesh, &vertices);
        let gradients = vertex_gradients(&mesh, &vertices, 1, &none, 1.0);
        for (vertex, gradient) in vertices.iter_mut().zip(gradients) {
            *vertex = sub(*vertex, scale(gradient, 0.05));
        }
        assert!(inconsistency::<f64>(&mesh, &vertices) < before - 0.01);
    }
    let crowd = [flat, vec![[0.3, 0.5, 1.0]]].concat();
    let mesh = Mesh::new(crowd, vec![[0, 2, 1], [0, 1, 3], [1, 0, 4]]).expect("three at an edge");
    let vertices = [at(1.0), vec![[0.3, 0.5, 1.0]]].concat();
    assert_eq!(inconsistency::<f64>(&BoundMesh::new(&mesh), &vertices), 0.0);
}

#[test]
fn triangles_without_an_area_have_axes_and_pull_at_nothing_else() {
    for corners in [
        [[0.0; 3]; 3],
        [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        [[0.0; 3], [1.0, 1.0, 1.0], [2.0, 2.0, 2.0]],
    ] {
        let f = frame::<f64>(corners);
        assert!(!f.sound && (norm(f.normal) - 1.0).abs() < 1e-12 && dot(f.normal, f.side).abs() < 1e-12);
        let (_, quat) = bind(corners, [1.0 / 3.0; 3], [0.0, 0.0]);
        assert!((norm(quat) - 1.0).abs() < 1e-12, "{quat:?}");
        let pull = Pull {
            force: [3.0, 0.0, 0.0],
            torque: [1.0, 2.0, 3.0],
        };
        let gradients = to_corners(corners, &[pull], [0.0, 0.0, 1.0], 1.0);
        assert!(
            gradients
                .iter()
                .all(|g| (g[0] - 1.0).abs() < 1e-12 && g[1] == 0.0 && g[2] == 0.0)
        );
    }
}
