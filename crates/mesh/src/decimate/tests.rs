//! Shapes, topology and figures after decimation.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use super::*;
use crate::topology::report;
use crate::{shapes, vector};

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn to(mesh: &Mesh, target: Target) -> (Mesh, Decimated) {
    decimate(mesh.clone(), target, &mut on).unwrap()
}

#[test]
fn a_sphere_stays_a_sphere() {
    let sphere = shapes::sphere(80, 2.0).with_own_normals();
    let before = sphere.triangles().len() as u64;
    let (small, done) = to(&sphere, Target::Triangles(1000));
    let found = report(&small);
    assert_eq!((found.triangles, found.vertices, found.genus()), (1000, 502, Some(0)));
    assert_eq!((done.reached, done.collapses), (true, (before - 1000) / 2));
    for p in small.positions() {
        let radius = vector::norm(vector::wide(*p));
        assert!((radius - 2.0).abs() < 0.02, "{radius}");
    }
    assert!((small.volume() / sphere.volume() - 1.0).abs() < 0.01);
    assert!(
        small
            .normals()
            .unwrap()
            .iter()
            .zip(small.positions())
            .all(|(n, p)| { n.iter().zip(p).map(|(n, p)| n * p / 2.0).sum::<f32>() > 0.95 })
    );
    assert!(done.error > 0.0 && done.error < 0.02, "{}", done.error);
    assert_eq!(to(&sphere, Target::Triangles(1000)), (small, done), "twice the same");
}

/// Parts of a few thousand vertices, and the mesh as a whole.
#[test]
fn parts_do_as_the_whole_does() {
    let in_parts = |mesh: &Mesh, threads, target| in_parts_of(2000, threads, mesh.clone(), target, &mut on).unwrap();
    let sphere = shapes::sphere(80, 2.0);
    let colors = sphere.positions().iter().map(|p| p.map(|x| 0.25 * x + 0.5)).collect();
    let sphere = sphere.with_colors(colors).unwrap();
    for target in [Target::Triangles(1000), Target::Vertices(502), Target::Error(0.005)] {
        let (whole, wanted) = to(&sphere, target);
        let (small, done) = in_parts(&sphere, 1, target);
        assert_eq!(in_parts(&sphere, 3, target), (small.clone(), done), "{target:?}");
        let found = report(&small);
        assert_eq!(
            (found.genus(), found.pieces, done.reached),
            (Some(0), 1, true),
            "{found}"
        );
        let before = sphere.positions().len() as u64;
        assert_eq!(done.collapses, before - small.positions().len() as u64);
        assert!(done.error < 1.2 * wanted.error, "{done:?}, whole {wanted:?}");
        let count = |mesh: &Mesh| mesh.triangles().len() as f64;
        assert!((count(&small) / count(&whole) - 1.0).abs() < 0.05, "{target:?}");
        assert!((small.volume() / sphere.volume() - 1.0).abs() < 0.01);
        for (p, c) in small.positions().iter().zip(small.colors().unwrap()) {
            assert!((0..3).all(|i| (0.25 * p[i] + 0.5 - c[i]).abs() < 0.05), "{p:?} {c:?}");
        }
    }
    // Flat parts wait for nothing, borders stay, and what has no edge to collapse ends.
    let square = shapes::square(120);
    let (small, done) = in_parts(&square, 2, Target::Triangles(200));
    let found = report(&small);
    assert_eq!((found.euler, found.pieces), (1, 1));
    // A collapse at the border takes one triangle, any other two.
    assert!((199..=200).contains(&found.triangles), "{found}");
    assert!(
        done.reached && (small.area() - 1.0).abs() < 1e-4,
        "{done:?} {}",
        small.area()
    );
    let (small, done) = in_parts(&shapes::soup(9000, 3000, 7), 2, Target::Triangles(20));
    assert!(report(&small).degenerate == 0 && done.collapses > 0, "{done:?}");
}

#[test]
fn targets_are_met_or_said_to_be_missed() {
    let torus = shapes::torus(2.0, 0.7, 40, 20);
    let (small, done) = to(&torus, Target::Vertices(100));
    assert_eq!(
        (small.positions().len(), done.reached, report(&small).genus()),
        (100, true, Some(1))
    );
    let (same, done) = to(&torus, Target::Triangles(u64::MAX));
    assert_eq!(report(&same), report(&torus));
    assert!((same.area() / torus.area() - 1.0).abs() < 1e-9);
    assert_eq!((done.collapses, done.reached), (0, true));
    // A closed surface of one piece cannot have fewer than four triangles, nor a torus fewer than fourteen.
    let (least, done) = to(&torus, Target::Triangles(1));
    assert!(!done.reached);
    assert_eq!(report(&least).genus(), Some(1), "{}", report(&least));
    assert!(least.triangles().len() < 100);
    let (coarse, done) = to(&torus, Target::Error(0.05));
    assert!(
        done.reached && done.error <= 0.05 && coarse.triangles().len() < 400,
        "{done:?}"
    );
    let (none, done) = to(&torus, Target::Error(0.0));
    assert!(
        none.triangles().len() as f64 > 0.9 * torus.triangles().len() as f64,
        "{done:?}"
    );
}

#[test]
fn flat_parts_go_and_borders_stay() {
    let square = shapes::square(40);
    let (small, done) = to(&square, Target::Triangles(100));
    let found = report(&small);
    assert_eq!((found.triangles, found.euler, found.pieces), (100, 1, 1));
    assert!(done.reached && done.error < 1e-3, "{done:?}");
    assert!((small.area() - 1.0).abs() < 1e-4, "{}", small.area());
    assert!(small.positions().iter().all(|p| p[2].abs() < 1e-6));
    for corner in [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]] {
        let near = |p: &[f32; 3]| (p[0] - corner[0]).abs() + (p[1] - corner[1]).abs() < 1e-3;
        assert!(small.positions().iter().any(near), "{corner:?}");
    }
    // Vertices are spread and not drawn into slivers.
    let longest = small.triangles().iter().map(|&t| {
        let [a, b, c] = small.corners(t);
        [(a, b), (b, c), (c, a)]
            .map(|(a, b)| vector::norm(vector::sub(a, b)))
            .into_iter()
            .fold(0.0, f64::max)
    });
    assert!(longest.fold(0.0, f64::max) < 0.5);
    let (two, _) = to(&square, Target::Triangles(2));
    assert!(
        (two.area() - 1.0).abs() < 0.01 && two.triangles().len() == 2,
        "{}",
        two.area()
    );
}

#[test]
fn colors_are_carried() {
    let square = shapes::square(30);
    let colors = square.positions().iter().map(|p| [p[0], p[1], 0.25]).collect();
    let (small, _) = to(&square.with_colors(colors).unwrap(), Target::Triangles(60));
    for (p, c) in small.positions().iter().zip(small.colors().unwrap()) {
        assert!(
            (p[0] - c[0]).abs() < 0.1 && (p[1] - c[1]).abs() < 0.1 && c[2] == 0.25,
            "{p:?} {c:?}"
        );
    }
}

#[test]
fn nothing_gets_worse_than_it_is() {
    for seed in 0..60 {
        let soup = shapes::soup(40, 150, seed);
        let before = report(&clean::faces(soup.clone()).0);
        let (small, _) = to(&soup, Target::Triangles(20));
        let after = report(&small);
        assert_eq!(after.pieces, before.pieces, "{seed}");
        assert_eq!((after.degenerate, after.vertices), (0, small.positions().len() as u64));
    }
    for seed in 0..20 {
        // What marching leaves of noise: handles, tight corners, no manifold is lost.
        let random = crate::random::Random::new(seed);
        let field = Noise(random);
        let grid = crate::march::Grid {
            origin: [0.0; 3],
            voxel: 1.0,
        };
        let mesh = crate::march::dense(&field, grid, &mut on).unwrap();
        let before = report(&mesh);
        let (small, _) = to(&mesh, Target::Triangles(before.triangles / 4));
        let after = report(&small);
        assert!(
            after.is_closed() && after.non_manifold_vertices == 0 && after.flipped_edges == 0,
            "{after:?}"
        );
        assert_eq!((after.euler, after.pieces), (before.euler, before.pieces));
    }
}

/// Random values, positive on the border.
struct Noise(crate::random::Random);

impl crate::march::Field for Noise {
    fn size(&self) -> [u32; 3] {
        [12; 3]
    }

    fn value(&self, [x, y, z]: [u32; 3]) -> Option<f32> {
        let border = [x, y, z].iter().any(|&x| x == 0 || x == 11);
        let value = self.0.unit(u64::from(x + 12 * (y + 12 * z))) as f32 - 0.4;
        Some(if border { 0.5 } else { value })
    }
}

#[test]
fn bad_input_is_named() {
    let square = shapes::square(1);
    let lone = Mesh::new(square.positions().to_vec(), vec![[0, 1, 2]]).unwrap();
    let (same, done) = to(&lone, Target::Triangles(0));
    assert_eq!((same.triangles().len(), done.reached, done.collapses), (1, false, 0));
    let point = Mesh::new(vec![[1.0; 3]; 9], vec![[0, 1, 2], [2, 1, 3], [4, 5, 6]]).unwrap();
    assert!(!to(&point, Target::Triangles(1)).1.reached);
    let fails = |mesh: Mesh, target| decimate(mesh, target, &mut on).unwrap_err().to_string();
    assert!(fails(Mesh::default(), Target::Triangles(1)).contains("needs triangles"));
    let degenerate = Mesh::new(vec![[0.0; 3]], vec![[0, 0, 0]]).unwrap();
    assert!(fails(degenerate, Target::Triangles(1)).contains("needs triangles"));
    let textured = square.clone().with_uvs(vec![[[0.0; 2]; 3]; 2]).unwrap();
    assert!(fails(textured, Target::Triangles(1)).contains("texture coordinates"));
    for error in [-1.0, f32::NAN, f32::INFINITY] {
        assert!(fails(square.clone(), Target::Error(error)).contains("0 or above"));
    }
    let mut calls = 0;
    let stopped = decimate(shapes::sphere(120, 1.0), Target::Triangles(10), &mut |_| {
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
fn memory_is_as_predicted() {
    crate::alone::run("decimate::tests::memory_is_as_predicted", || {
        for mesh in [shapes::sphere(200, 1.0), shapes::square(200), shapes::square(520)] {
            let (vertices, triangles) = (mesh.positions().len() as u64, mesh.triangles().len() as u64);
            let predicted = host_bytes(vertices, triangles);
            let own = vertices * 12 + triangles * 12;
            let taken =
                own + crate::alone::peak_bytes(|| decimate(mesh, Target::Triangles(triangles / 10), &mut on).unwrap());
            println!("{triangles} triangles: {taken} of {predicted} B");
            assert!(
                (0.9..=1.1).contains(&(taken as f64 / predicted as f64)),
                "{taken} of {predicted}"
            );
        }
    });
}
