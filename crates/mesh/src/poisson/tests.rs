#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::f64::consts::TAU;
use std::ops::ControlFlow;

use super::*;
use crate::random::Random;
use crate::topology::{Topology, report};
use crate::vector::{V3, add, dot, narrow, norm, scale, sub, unit, wide};
use crate::{alone, nearest};

/// Nobody looks.
fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Points with their normals.
type Points = (Vec<[f32; 3]>, Vec<[f32; 3]>);

fn closed(depth: u32) -> Options {
    Options {
        depth: Depth::Exactly(depth),
        density_quantile: 0.0,
        ..Options::default()
    }
}

fn surface((points, normals): &Points, options: &Options) -> Surface {
    reconstruct(points, normals, None, options, &mut on).unwrap()
}

fn said(points: &[[f32; 3]], normals: &[[f32; 3]], options: &Options) -> String {
    reconstruct(points, normals, None, options, &mut on)
        .unwrap_err()
        .to_string()
}

/// Normally distributed numbers.
struct Noise(Random, u64);

impl Noise {
    fn next(&mut self) -> f64 {
        self.1 += 2;
        let radius = (-2.0 * (1.0 - self.0.unit(self.1)).ln()).sqrt();
        radius * (TAU * self.0.unit(self.1 + 1)).cos()
    }

    fn vector(&mut self) -> V3 {
        [0; 3].map(|_| self.next())
    }

    fn direction(&mut self) -> V3 {
        unit(self.vector()).unwrap()
    }
}

/// Points of a sphere, moved by `off` and turned by `turned` (radians), in the root of mean squares.
fn sphere(count: usize, centre: V3, radius: f64, off: f64, turned: f64) -> Points {
    let mut noise = Noise(Random::new(count as u64), 0);
    let point = |_| {
        let n = noise.direction();
        let p = add(add(centre, scale(n, radius)), scale(noise.vector(), off));
        let n = add(n, scale(noise.vector(), turned.tan() / 2.0_f64.sqrt()));
        (narrow(p), narrow(n))
    };
    (0..count).map(point).unzip()
}

fn both(a: &Points, b: &Points) -> Points {
    ([&a.0[..], &b.0].concat(), [&a.1[..], &b.1].concat())
}

/// Distance of nodes.
fn spacing(points: &[[f32; 3]], depth: u32) -> f64 {
    let [low, high] = crate::mesh::bounds(points).unwrap();
    let side = (0..3).map(|i| f64::from(high[i] - low[i])).fold(0.0, f64::max);
    1.1 * side / f64::from(1 << depth)
}

/// Root of the mean square of the distance from a sphere, and mean angle between normals and its own, degrees.
fn errors(mesh: &Mesh, centre: V3, radius: f64) -> (f64, f64) {
    let mesh = mesh.clone().with_own_normals();
    let (mut squares, mut angles) = (0.0, 0.0);
    for (&p, &n) in mesh.positions().iter().zip(mesh.normals().unwrap()) {
        let from = sub(wide(p), centre);
        squares += (norm(from) - radius).powi(2);
        angles += (dot(from, wide(n)) / norm(from)).clamp(-1.0, 1.0).acos().to_degrees();
    }
    let count = mesh.positions().len() as f64;
    ((squares / count).sqrt(), angles / count)
}

fn assert_sphere(found: Topology) {
    assert!(found.is_closed() && found.flipped_edges == 0, "{found}");
    assert_eq!((found.pieces, found.genus()), (1, Some(0)), "{found}");
}

#[test]
fn a_noisy_sphere_is_met() {
    let h = spacing(&sphere(50_000, [0.0; 3], 1.0, 0.0, 0.0).0, 6);
    let points = sphere(50_000, [0.0; 3], 1.0, 0.5 * h, 16.0_f64.to_radians());
    let h = spacing(&points.0, 6);
    let found = surface(&points, &closed(6));
    let (off, turned) = errors(&found.mesh, [0.0; 3], 1.0);
    println!("{:.4} h, {turned:.2} degrees", off / h);
    assert!(off <= 0.08 * h && turned <= 6.0, "{} h, {turned} degrees", off / h);
    assert_sphere(report(&found.mesh));
    // Outside out.
    assert!((found.mesh.volume() / (2.0 / 3.0 * TAU) - 1.0).abs() < 0.01);
    assert_eq!(found.densities.len(), found.mesh.positions().len());
}

#[test]
fn blocks_equal_the_dense_lattice() {
    let clean = sphere(50_000, [0.0; 3], 1.0, 0.0, 0.0);
    let h = spacing(&clean.0, 6);
    let noisy = sphere(50_000, [0.0; 3], 1.0, 0.5 * h, 16.0_f64.to_radians());
    for (points, normals) in [clean, noisy] {
        let [dense, blocks] = [6, DENSE].map(|dense| {
            let all = on_threads(&points, &normals, None, &closed(6), dense, 2, &mut on).unwrap();
            all.mesh
        });
        let truth = nearest::Surface::new(&dense).unwrap();
        let mut most: f64 = 0.0;
        let mut squares = 0.0;
        for &p in blocks.positions() {
            let off = truth.nearest(p).distance;
            most = most.max(off);
            squares += off * off;
        }
        let rms = (squares / blocks.positions().len() as f64).sqrt();
        println!("{:.4} h at most, {:.4} h rms", most / h, rms / h);
        assert!(most <= 0.02 * h, "{} h", most / h);
    }
}

#[test]
fn holes_close_and_thin_places_use_coarser_levels() {
    // A hole of 60 degrees around the pole, and a hundredth of the samples on the lower half.
    let (points, normals) = sphere(60_000, [0.0; 3], 1.0, 0.0, 0.0);
    let keep = |index: usize| {
        let z = points[index][2];
        z < 0.86 && (z > 0.0 || index.is_multiple_of(100))
    };
    let kept: Points = (0..points.len())
        .filter(|&i| keep(i))
        .map(|i| (points[i], normals[i]))
        .unzip();
    let found = surface(&kept, &closed(7));
    assert_sphere(report(&found.mesh));
    let h = spacing(&kept.0, 7);
    let off = |p: &&[f32; 3]| (norm(wide(**p)) - 1.0).abs();
    let positions = found.mesh.positions();
    let [mut dense, mut thin] = [0.0_f64; 2];
    for p in positions.iter().filter(|p| p[2] < 0.8) {
        let most = if p[2] > 0.1 { &mut dense } else { &mut thin };
        *most = most.max(off(&p));
    }
    // Half of the distance between samples of the lower half is 0.07.
    assert!(dense < 0.25 * h && thin < 0.03, "{} h, {thin}", dense / h);
    // The lid is smooth.
    assert!(positions.iter().all(|p| norm(wide(*p)) < 1.1 && p[2] > -1.1));
    let densities = |range: std::ops::Range<f32>| {
        let within = positions
            .iter()
            .zip(&found.densities)
            .filter(|(p, _)| range.contains(&p[2]));
        within
            .map(|(_, &density)| density)
            .fold([f32::INFINITY, 0.0], |[low, high], x| [low.min(x), high.max(x)])
    };
    // The samples' distance is 1/160 of the cube above and 1/16 below, where it is uneven.
    let [low, high] = densities(0.2..0.7);
    assert!(low > 6.0 && high < 8.5, "{low} to {high}");
    let [_, high] = densities(-0.9..-0.2);
    assert!((3.0..6.0).contains(&high), "{high}");
    assert!(densities(1.0..2.0)[1] == 0.0 || positions.iter().all(|p| p[2] < 1.0));
}

#[test]
fn two_spheres_are_two_pieces() {
    let both = both(
        &sphere(20_000, [0.0; 3], 1.0, 0.0, 0.0),
        &sphere(10_000, [2.5, 0.0, 0.0], 0.5, 0.0, 0.0),
    );
    let found = report(&surface(&both, &closed(7)).mesh);
    assert!(found.is_closed(), "{found}");
    assert_eq!((found.pieces, found.euler), (2, 4));
    // One in the other, with its normals to the inside: a hollow ball.
    let mut inner = sphere(10_000, [0.0; 3], 0.5, 0.0, 0.0);
    inner.1.iter_mut().for_each(|n| *n = n.map(|x| -3.0 * x));
    let hollow = surface(
        &self::both(&sphere(20_000, [0.0; 3], 1.0, 0.0, 0.0), &inner),
        &closed(6),
    )
    .mesh;
    let found = report(&hollow);
    assert_eq!((found.is_closed(), found.pieces, found.euler), (true, 2, 4));
    assert!((hollow.volume() / (2.0 / 3.0 * TAU * 0.875) - 1.0).abs() < 0.02);
}

#[test]
fn an_open_sheet_is_closed_at_the_cube() {
    // A plane across the cube, facing up: below it is inside.
    let random = Random::new(3);
    let at = |i: u64| [random.unit(2 * i) as f32, random.unit(2 * i + 1) as f32, 0.0];
    let points: Vec<_> = (0..40_000).map(at).collect();
    let sheet = (points, vec![[0.0, 0.0, 2.0]; 40_000]);
    let found = surface(&sheet, &closed(7));
    let topology = report(&found.mesh);
    assert!(topology.is_closed() && topology.flipped_edges == 0, "{topology}");
    assert!(found.mesh.volume() > 0.0);
    let h = spacing(&sheet.0, 7) as f32;
    let is_middle = |p: &&[f32; 3]| p[0].min(p[1]) > 0.1 && p[0].max(p[1]) < 0.9 && p[2] > -0.2;
    let off = found.mesh.positions().iter().filter(is_middle).map(|p| p[2].abs());
    assert!(off.fold(0.0, f32::max) < 0.1 * h);
    // What closes it is far from the samples, and the cut takes it.
    let cut = surface(
        &sheet,
        &Options {
            density_quantile: 0.8,
            ..closed(7)
        },
    );
    assert!(cut.mesh.positions().iter().all(|p| p[2].abs() < 0.05));
    assert!(report(&cut.mesh).open_edges > 0);
}

#[test]
fn colors_cuts_and_boxes() {
    let (points, normals) = sphere(20_000, [0.0; 3], 1.0, 0.0, 0.0);
    let colors: Vec<[f32; 3]> = points.iter().map(|p| [f32::from(p[2] > 0.0), 0.25, 0.5]).collect();
    let options = Options {
        bounds: Some([[-2.0, -2.0, -0.5], [2.0, 2.0, 2.0]]),
        ..closed(6)
    };
    let found = reconstruct(&points, &normals, Some(&colors), &options, &mut on).unwrap();
    let kept = points.iter().filter(|p| p[2] >= -0.5).count();
    assert_eq!(found.left_out, (points.len() - kept) as u64);
    assert!(found.mesh.positions().iter().all(|p| p[2] >= -0.5));
    assert!(report(&found.mesh).open_edges > 0);
    for (p, color) in found.mesh.positions().iter().zip(found.mesh.colors().unwrap()) {
        assert_eq!([color[1], color[2]], [0.25, 0.5]);
        assert!(
            p[2].abs() < 0.05 || color[0] == f32::from(p[2] > 0.0),
            "{p:?} {color:?}"
        );
    }
    let all = surface(&(points.clone(), normals.clone()), &closed(6));
    let cut = surface(
        &(points, normals),
        &Options {
            density_quantile: 0.25,
            ..closed(6)
        },
    );
    let (before, after) = (all.mesh.positions().len(), cut.mesh.positions().len());
    let least = quantile(&all.densities, 0.25);
    assert!(cut.densities.iter().all(|&density| density >= least));
    assert_eq!(cut.densities.len(), after);
    assert!(4 * after <= 3 * before && 2 * after > before, "{before} {after}");
    assert_eq!(quantile(&[3.0, 1.0, 2.0], 0.25), 1.5);
}

#[test]
fn what_gives_no_surface_is_named() {
    let options = closed(6);
    let up = |count: usize| vec![[0.0, 0.0, 1.0]; count];
    assert!(said(&[], &[], &options).contains("none of 0 points"));
    assert!(said(&[[1.0, 2.0, 3.0]], &up(1), &options).contains("all points, 1, lie at one place"));
    assert!(said(&[[1.0, 2.0, 3.0]; 100], &up(100), &options).contains("at one place"));
    assert!(said(&[[1e9, 0.0, 0.0], [1e9 + 64.0, 0.0, 0.0]], &up(2), &options).contains("at one place"));
    assert!(said(&[[0.0; 3], [1.0; 3]], &[[0.0; 3]; 2], &options).contains("none of 2 points has a normal"));
    assert!(said(&[[0.0; 3], [f32::NAN; 3]], &up(2), &options).contains("point 1 is not finite"));
    assert!(said(&[[0.0; 3], [1.0; 3]], &[[0.0; 3], [f32::INFINITY; 3]], &options).contains("normal 1 is not"));
    assert!(said(&[[0.0; 3]; 2], &up(1), &options).contains("1 normals for 2"));
    let (points, normals) = sphere(500, [0.0; 3], 1.0, 0.0, 0.0);
    for (wrong, name) in [
        (closed(4), "Poisson depth is 4"),
        (closed(12), "Poisson depth is 12"),
        (
            Options {
                lambda: f32::NAN,
                ..options
            },
            "lambda",
        ),
        (
            Options {
                samples_per_node: 0.0,
                ..options
            },
            "samples per node",
        ),
        (
            Options {
                density_quantile: 1.0,
                ..options
            },
            "density quantile",
        ),
        (
            Options {
                bounds: Some([[f32::NAN; 3]; 2]),
                ..options
            },
            "corner of the box",
        ),
        (
            Options {
                bounds: Some([[5.0; 3], [6.0; 3]]),
                ..options
            },
            "none of 500 points",
        ),
    ] {
        assert!(said(&points, &normals, &wrong).contains(name), "{name}");
    }
    let mut calls = 0;
    let stopped = reconstruct(&points, &normals, None, &options, &mut |_| {
        calls += 1;
        if calls > 2 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(matches!(stopped, Err(Error::Stopped)));
}

#[test]
fn poor_points_do_no_harm() {
    // Two points, a line, piles, normals at random, far coordinates: some closed surface, or an error.
    let random = Random::new(9);
    let line = |i: u32| [i as f32, 2.0 * i as f32, -(i as f32)];
    let mut noise = Noise(Random::new(4), 0);
    let soup: Points = (0..3000)
        .map(|_| (narrow(noise.vector()), narrow(noise.direction())))
        .unzip();
    let mut piles = sphere(2000, [0.0; 3], 1.0, 0.0, 0.0);
    for i in 0..2000 {
        piles.0[i] = piles.0[(random.unit(i as u64) * 5.0) as usize];
    }
    let mut far = sphere(2000, [1e6, -1e6, 0.0], 100.0, 0.0, 0.0);
    far.1.iter_mut().for_each(|n| *n = n.map(|x| x * 1e30));
    let mut outlier = sphere(2000, [0.0; 3], 1e-3, 0.0, 0.0);
    outlier.0[0] = [100.0; 3];
    for (points, normals) in [
        (vec![[0.0; 3], [1.0, 0.0, 0.0]], vec![[0.0, 0.0, 1.0]; 2]),
        ((0..100).map(line).collect(), vec![[0.0, 1.0, 0.0]; 100]),
        ((0..100).map(line).collect(), vec![[1.0, 2.0, -1.0]; 100]),
        soup,
        piles,
        far,
        outlier,
    ] {
        for depth in [5, 7] {
            match reconstruct(&points, &normals, None, &closed(depth), &mut on) {
                Ok(found) => assert!(report(&found.mesh).is_closed(), "{}", report(&found.mesh)),
                Err(error) => assert!(error.to_string().contains("no inside"), "{error}"),
            }
        }
    }
}

#[test]
fn threads_change_no_byte() {
    let (points, normals) = sphere(30_000, [1.0, 2.0, 3.0], 1.0, 0.01, 0.2);
    let colors: Vec<[f32; 3]> = points.iter().map(|p| p.map(|x| 0.2 * x)).collect();
    let options = Options {
        depth: Depth::AtMost(7),
        ..Options::default()
    };
    let [one, two, three] = [1, 2, 3]
        .map(|threads| on_threads(&points, &normals, Some(&colors), &options, DENSE, threads, &mut on).unwrap());
    assert_eq!((&one.mesh, &one.densities), (&two.mesh, &two.densities));
    assert_eq!((&one.mesh, &one.densities), (&three.mesh, &three.densities));
    // At 7 there are 0.7 points a cell.
    assert_eq!(one.depth, 6);
}

#[test]
fn memory_is_as_predicted() {
    alone::run("poisson::tests::memory_is_as_predicted", || {
        // The last are so thin that the surface takes most.
        for (count, depth) in [(200_000, 7), (200_000, 8), (300_000, 6), (20_000, 8)] {
            let points = sphere(count, [0.0; 3], 1.0, 0.002, 0.1);
            let mut predicted = 0;
            let peak = alone::peak_bytes(|| {
                let found = surface(&points, &closed(depth));
                predicted = found.bytes;
                found
            });
            let share = peak as f64 / predicted as f64;
            println!("{count} at {depth}: {peak} of {predicted}, {share:.3}");
            assert!(
                (0.85..=1.0).contains(&share),
                "{count} at {depth}: {peak} of {predicted}"
            );
            if depth == 8 && count == 200_000 {
                let less = Options {
                    memory_bytes: predicted - 1,
                    ..closed(depth)
                };
                let error = said(&points.0, &points.1, &less);
                assert!(error.contains("depth 8 of the reconstruction takes"), "{error}");
                let lowered = surface(
                    &points,
                    &Options {
                        depth: Depth::AtMost(8),
                        // So many are dense enough for 8.
                        samples_per_node: 0.5,
                        ..less
                    },
                );
                assert_eq!(lowered.depth, 7);
                assert!(
                    said(
                        &points.0,
                        &points.1,
                        &Options {
                            memory_bytes: 100_000,
                            ..less
                        }
                    )
                    .contains("points take")
                );
            }
        }
    });
}
