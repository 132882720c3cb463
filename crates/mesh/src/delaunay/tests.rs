//! Against the definition, on random and on degenerate sets.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use super::space::{in_sphere, orient};
use super::*;
use crate::random::Random;
use crate::shapes;
use crate::vector::{cross, dot, sub, wide};

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Random points; coarse coordinates give many on common planes and spheres, and equal ones.
fn cloud(count: u64, seed: u64, steps: f64) -> Vec<[f32; 3]> {
    let random = Random::new(seed);
    let x = |i: u64| (random.unit(i) * steps).floor() as f32 / steps as f32;
    (0..count).map(|i| [x(3 * i), x(3 * i + 1), x(3 * i + 2)]).collect()
}

/// What must hold whatever the number of points: signs, neighbours, volume.
fn check(points: &[[f32; 3]], found: &Tetrahedra) {
    let at = |t: [u32; 4]| t.map(|point| wide(points[point as usize]));
    let mut used = vec![false; points.len()];
    let (mut volume, mut hull_volume) = (0.0, 0.0);
    let origin = wide(points[0]);
    for (t, (&corners, neighbors)) in (0..).zip(found.points.iter().zip(&found.neighbors)) {
        let [a, b, c, d] = at(corners);
        assert!(orient(a, b, c, d) > 0.0, "{t} is flat or turned");
        volume += dot(cross(sub(b, a), sub(c, a)), sub(d, a));
        corners.iter().for_each(|&point| used[point as usize] = true);
        for (k, &neighbor) in neighbors.iter().enumerate() {
            if neighbor == u32::MAX {
                let mut face: Vec<_> = (0..4)
                    .filter(|&i| i != k)
                    .map(|i| sub(at(corners)[i], origin))
                    .collect();
                // Seen from outside counter-clockwise: every second face is turned.
                if k % 2 == 1 {
                    face.swap(0, 1);
                }
                hull_volume += dot(face[0], cross(face[1], face[2]));
                continue;
            }
            let other = found.points[neighbor as usize];
            let back = found.neighbors[neighbor as usize].iter().position(|&n| n == t).unwrap();
            let face = |t: [u32; 4], k: usize| {
                let mut face: Vec<u32> = (0..4).filter(|&i| i != k).map(|i| t[i]).collect();
                face.sort_unstable();
                face
            };
            assert_eq!(face(corners, k), face(other, back));
            // Locally Delaunay everywhere is Delaunay.
            assert!(in_sphere(at(corners), wide(points[other[back] as usize])) <= 0.0);
        }
    }
    assert!((volume / hull_volume - 1.0).abs() < 1e-9, "{volume} of {hull_volume}");
    for &first in &distinct(points) {
        assert!(used[first as usize], "point {first} is left out");
    }
}

#[test]
fn no_point_lies_in_a_sphere() {
    for (count, steps) in [(4, 1e6), (5, 1e6), (40, 1e6), (60, 3.0), (80, 4.0), (60, 1e6)] {
        for seed in 0..20 {
            let points = cloud(count, seed, steps);
            let Ok(found) = tetrahedra(&points, &mut on) else {
                assert!(count < 6);
                continue;
            };
            check(&points, &found);
            for &t in &found.points {
                let corners = t.map(|point| wide(points[point as usize]));
                assert!(points.iter().all(|&p| in_sphere(corners, wide(p)) <= 0.0));
            }
        }
    }
}

#[test]
fn grids_spheres_and_piles_are_no_trouble() {
    let grid: Vec<[f32; 3]> = (0..1000)
        .map(|i| [i % 10, i / 10 % 10, i / 100].map(|x| x as f32))
        .collect();
    let found = tetrahedra(&grid, &mut on).unwrap();
    check(&grid, &found);
    // Cubes take five or six.
    assert!(
        (5 * 729..=6 * 729).contains(&found.points.len()),
        "{}",
        found.points.len()
    );
    // Many cospherical points, rounded and exactly so, with their middle.
    let mut sphere = shapes::sphere(20, 1.0).positions().to_vec();
    sphere.push([0.0; 3]);
    let found = tetrahedra(&sphere, &mut on).unwrap();
    check(&sphere, &found);
    let cube: Vec<[f32; 3]> = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(|x| x as f32)).collect();
    check(&cube, &tetrahedra(&cube, &mut on).unwrap());
    let mut pile = vec![[0.5; 3]; 5000];
    pile.extend(&cube);
    let found = tetrahedra(&pile, &mut on).unwrap();
    check(&pile, &found);
    assert_eq!(found.points.len(), 12);
    // Two sheets, a line across them, and something far away.
    let mut sheets: Vec<[f32; 3]> = shapes::square(12).positions().to_vec();
    sheets.extend(shapes::moved(&shapes::square(12), [0.0, 0.0, 1e-6]).positions());
    sheets.extend((0..50).map(|i| [0.5, 0.5, i as f32 * 0.1]));
    sheets.push([40.0, -30.0, 20.0]);
    check(&sheets, &tetrahedra(&sheets, &mut on).unwrap());
}

#[test]
fn many_points_are_right_and_twice_the_same() {
    let sphere = shapes::jittered(&shapes::sphere(70, 1.0), 0.01, 5);
    let mut points = sphere.positions().to_vec();
    points.extend(cloud(10_000, 8, 1e9));
    let found = tetrahedra(&points, &mut on).unwrap();
    check(&points, &found);
    assert_eq!(tetrahedra(&points, &mut on).unwrap(), found);
    let mut calls = 0;
    let stopped = tetrahedra(&points, &mut |_| {
        calls += 1;
        if calls > 1 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    assert!(matches!(stopped, Err(Error::Stopped)));
}

#[test]
fn flat_sets_are_refused() {
    let line: Vec<[f32; 3]> = (0..50)
        .map(|i| [i as f32 * 0.1, i as f32 * 0.2, -i as f32 * 0.4])
        .collect();
    // A slanted plane whose points have exact coordinates.
    let plane: Vec<[f32; 3]> = (0..400)
        .map(|i| [i % 20, i / 20, i % 20 + i / 20].map(|x| x as f32))
        .collect();
    for points in [
        vec![],
        vec![[0.0; 3]; 9],
        cloud(3, 1, 1e6),
        shapes::square(9).positions().to_vec(),
        plane,
    ] {
        let e = tetrahedra(&points, &mut on).unwrap_err().to_string();
        assert!(e.contains("lie in a plane"), "{e}");
    }
    // Rounded, the points of this line are no line.
    if let Ok(found) = tetrahedra(&line, &mut on) {
        assert!(!found.points.is_empty());
    }
    let mut bad = cloud(9, 1, 1e6);
    bad[4][2] = f32::NAN;
    assert!(
        tetrahedra(&bad, &mut on)
            .unwrap_err()
            .to_string()
            .contains("position 4")
    );
}

#[test]
fn memory_is_as_predicted() {
    crate::alone::run("delaunay::tests::memory_is_as_predicted", || {
        let sphere = shapes::jittered(&shapes::sphere(80, 1.0), 0.01, 5);
        for points in [sphere.positions().to_vec(), cloud(20_000, 1, 1e9)] {
            let taken = crate::alone::peak_bytes(|| tetrahedra(&points, &mut on).unwrap());
            let predicted = host_bytes(points.len() as u64);
            println!("{} points: {taken} of {predicted} B", points.len());
            assert!(
                (0.9..=1.1).contains(&(taken as f64 / predicted as f64)),
                "{taken} of {predicted}"
            );
        }
    });
}
