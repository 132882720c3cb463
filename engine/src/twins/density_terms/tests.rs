//! Gradients against differences, and what samples and terms promise.

use super::*;
use crate::gaussians::morton::Frame;
use crate::scene::Camera;
use crate::twins::gaussian::VALUES;
use crate::twins::neighbors::nearest;

const COUNT: u32 = 40;
const K: usize = 8;

fn gaussians() -> Vec<Gaussian<f64>> {
    let one = |id| {
        let normal = |p: u32| rng::normal::<f64>(5, 0, id, p);
        let mut g = Gaussian::ZERO;
        g.mean = [0.3 * normal(0), 0.3 * normal(1), 0.1 * normal(2)];
        g.quat = [1.0 + 0.2 * normal(3), 0.3 * normal(4), 0.3 * normal(5), 0.3 * normal(6)];
        g.log_scale = [-1.6 + 0.2 * normal(7), -1.5 + 0.2 * normal(8), -3.2 + 0.2 * normal(9)];
        g.logit_opacity = 1.0 + normal(10);
        g
    };
    (0..COUNT).map(one).collect()
}

fn near(gaussians: &[Gaussian<f64>]) -> Vec<u32> {
    let centers: Vec<[f32; 3]> = gaussians.iter().map(|g| g.mean.map(|v| v as f32)).collect();
    nearest(&Frame::new([0.0; 3], 2.0), &centers, K)
}

fn camera() -> Camera {
    Camera {
        width_px: 24,
        height_px: 20,
        fx: 30.0,
        fy: 31.0,
        cx: 12.2,
        cy: 9.8,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.05, -0.02, 2.0],
        lens: None,
    }
}

/// Gradients against differences, with the weights of normals held where they were.
fn compare(terms: &Terms<'_, f64>) {
    let gaussians = gaussians();
    let filters: Vec<f32> = (0..COUNT).map(|id| if id % 3 == 0 { 0.0 } else { 0.02 }).collect();
    let near = near(&gaussians);
    let visible: Vec<u32> = (0..COUNT).filter(|id| id % 4 != 1).collect();
    let owners = owners(&visible, 150, 7, 3);
    let draws: Vec<Vec3<f64>> = (0..150).map(|s| draw(s, 7, 3)).collect();
    let rows =
        |all: &[Gaussian<f64>]| -> Vec<Row<f64>> { all.iter().zip(&filters).map(|(g, f)| Row::new(g, *f)).collect() };
    let value = |all: &[Gaussian<f64>]| density_loss(&rows(all), (&near, K), &owners, &draws, terms).total;
    let loss = density_loss(&rows(&gaussians), (&near, K), &owners, &draws, terms);
    assert!(loss.samples > 60, "{}", loss.samples);
    let exact: Vec<Gaussian<f64>> = (0..COUNT as usize)
        .map(|id| by_parameters(&gaussians[id], filters[id], &loss.rows[id]))
        .collect();
    let largest = |p: usize| exact.iter().map(|g| g.values()[p].abs()).fold(0.0, f64::max);
    let mut wrong = 0;
    for id in 0..COUNT as usize {
        for p in 0..11 {
            let moved = |by: f64| {
                let mut all = gaussians.clone();
                let mut values: [f64; VALUES] = all[id].values();
                values[p] += by;
                all[id] = Gaussian::from_values(&values);
                value(&all)
            };
            let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            let found = exact[id].values()[p];
            // Absolute values have edges: a sample that lies on one is no mistake.
            wrong += u32::from((found - numeric).abs() > 1e-3 * found.abs().max(1e-2 * largest(p)));
        }
    }
    assert!(wrong <= 2, "{wrong} of {} differ", COUNT * 11);
}

#[test]
fn gradients_of_the_density_match_differences() {
    compare(&Terms {
        weight: 0.2,
        normal: 0.0,
        map: None,
    });
}

#[test]
fn gradients_of_distances_match_differences() {
    let view = View::<f64>::new(&camera());
    let depths: Vec<f64> = (0..480_u32)
        .map(|i| 1.95 + 0.1 * (0.3 * f64::from(i % 24)).sin() + 0.01 * f64::from(i / 24))
        .collect();
    compare(&Terms {
        weight: 0.2,
        normal: 0.0,
        map: Some(Map {
            depths: &depths,
            view: &view,
            extent: 3.0,
        }),
    });
}

/// Where only normals have a gradient, it is that of normals that turn while weights stay.
#[test]
fn gradients_of_normals_match_differences() {
    let gaussians = gaussians();
    let near = near(&gaussians);
    let owners: Vec<u32> = (0..COUNT).collect();
    let draws: Vec<Vec3<f64>> = owners.iter().map(|s| draw(*s, 1, 1)).collect();
    let rows: Vec<Row<f64>> = gaussians.iter().map(|g| Row::new(g, 0.0)).collect();
    let terms = Terms {
        weight: 0.0,
        normal: 1.0,
        map: None,
    };
    let loss = density_loss(&rows, (&near, K), &owners, &draws, &terms);
    // The loss with given normals: the weights of the rows as they are.
    let value = |normals: &[Vec3<f64>]| -> f64 {
        let of = |(&g, &drawn): (&u32, &Vec3<f64>)| {
            let own = &rows[g as usize];
            let local = [0, 1, 2].map(|i| SPREAD * drawn[i] / own.inverse[i]);
            let place = add(own.center, mat_vec(own.rotation, local));
            let n = normals[g as usize];
            let (mut sum, mut around) = (0.0, [0.0; 3]);
            for &id in near_of(&near, K, g) {
                let row = &rows[id as usize];
                let (amount, v) = row.share(place);
                let at = thin(row);
                let weight = amount * v[at].abs() * row.inverse[at];
                let other = normals[id as usize];
                let turn = if dot(other, n) < 0.0 { -1.0 } else { 1.0 };
                sum += weight;
                around = add(around, scale(other, turn * weight));
            }
            let apart = sub(n, scale(around, 1.0 / sum));
            dot(apart, apart)
        };
        owners.iter().zip(&draws).map(of).sum::<f64>() / f64::from(COUNT)
    };
    let normals: Vec<Vec3<f64>> = rows.iter().map(|row| axis(row, thin(row))).collect();
    assert!((loss.total - value(&normals)).abs() < 1e-12);
    for id in 0..COUNT as usize {
        for about in 0..3 {
            let turned = |by: f64| {
                let mut all = normals.clone();
                let mut w = [0.0; 3];
                w[about] = by;
                all[id] = add(all[id], cross(w, all[id]));
                value(&all)
            };
            let numeric = (turned(1e-6) - turned(-1e-6)) / 2e-6;
            let found = loss.rows[id].turn[about];
            assert!((numeric - found).abs() < 1e-6, "{id} {about}: {found}, not {numeric}");
        }
    }
}

#[test]
fn samples_are_shared_equally_and_as_many_as_asked_for() {
    for (visible, samples) in [(1, 5), (7, 100), (100, 7), (33, 33), (10, 1)] {
        let ids: Vec<u32> = (0..visible).map(|i| 3 * i + 1).collect();
        let mut sums = vec![0; visible as usize];
        for iteration in 0..200 {
            let owners = owners(&ids, samples, 9, iteration);
            assert_eq!(owners.len() as u32, samples);
            let counts: Vec<u32> = ids
                .iter()
                .map(|id| owners.iter().filter(|o| *o == id).count() as u32)
                .collect();
            assert!(counts.iter().max().unwrap_or(&0) - counts.iter().min().unwrap_or(&0) <= 1);
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let mean = f64::from(200 * samples) / f64::from(visible);
        let fair = |sum: &u32| (f64::from(*sum) - mean).abs() < 5.0 * mean.sqrt() + 1.0;
        assert!(sums.iter().all(fair), "{visible} {samples}: {sums:?}");
    }
    assert!(owners(&[], 10, 1, 1).is_empty());
}

/// One flat disc alone: its density along its own normal is what the term wants, but for the opacity.
#[test]
fn an_opaque_disc_is_its_own_surface() {
    let mut g = Gaussian::<f64>::ZERO;
    g.quat = [1.0, 0.0, 0.0, 0.0];
    g.log_scale = [0.0, 0.0, -5.0];
    g.logit_opacity = 20.0;
    let rows = [Row::new(&g, 0.0)];
    let draws = [[0.0, 0.0, 0.9], [0.0, 0.0, -0.3], [0.0, 0.0, 0.1]];
    let terms = Terms {
        weight: 1.0,
        normal: 1.0,
        map: None,
    };
    let loss = density_loss(&rows, (&[0], 1), &[0, 0, 0], &draws, &terms);
    assert!(loss.density < 1e-8 && loss.normals < 1e-24, "{loss:?}");
}
