//! The table against its rules, and surfaces against what they are surfaces of.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use super::table::{CASES, EDGES, rings};
use super::*;
use crate::random::Random;
use crate::topology::report;
use crate::{Error, Mesh};

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A field by a function.
struct By<F>([u32; 3], F);

impl<F: Fn([u32; 3]) -> Option<f32>> Field for By<F> {
    fn size(&self) -> [u32; 3] {
        self.0
    }

    fn value(&self, at: [u32; 3]) -> Option<f32> {
        (self.1)(at)
    }
}

const GRID: Grid = Grid {
    origin: [-1.0, 2.0, 0.5],
    voxel: 0.125,
};

/// Random values, positive on the border of the grid.
fn noise(n: u32, seed: u64) -> By<impl Fn([u32; 3]) -> Option<f32>> {
    let random = Random::new(seed);
    By([n, n + 1, n + 2], move |[x, y, z]: [u32; 3]| {
        let border = [x, y, z].contains(&0) || x + 1 == n || y == n || z == n + 1;
        let value = random.unit(u64::from(x + 64 * (y + 64 * z))) as f32 - 0.5;
        // Some corners lie on the level exactly.
        let value = if value.abs() < 0.05 { 0.0 } else { value };
        Some(if border { 0.7 } else { value })
    })
}

fn sphere(n: u32) -> By<impl Fn([u32; 3]) -> Option<f32>> {
    By([n; 3], move |at: [u32; 3]| {
        let squares = at.map(|x| (x as f32 - 0.5 * n as f32).powi(2));
        Some(squares.iter().sum::<f32>().sqrt() - 0.4 * n as f32)
    })
}

/// The same values in bricks; only those with a seen voxel.
fn in_bricks(field: &impl Field, shift: i32) -> Bricks {
    let size = field.size();
    let mut bricks = Bricks::default();
    let count = size.map(|n| n.div_ceil(8) as i32);
    for (x, y, z) in (0..count[0]).flat_map(|x| (0..count[1]).flat_map(move |y| (0..count[2]).map(move |z| (x, y, z))))
    {
        let at = |voxel: u32| {
            [
                8 * x as u32 + voxel % 8,
                8 * y as u32 + voxel / 8 % 8,
                8 * z as u32 + voxel / 64,
            ]
        };
        let value = |voxel: u32| match (0..3).all(|i| at(voxel)[i] < size[i]) {
            true => field.value(at(voxel)).unwrap_or(f32::NAN),
            false => f32::NAN,
        };
        let values: Vec<f32> = (0..512).map(value).collect();
        if values.iter().any(|value| !value.is_nan()) {
            bricks.keys.push([x + shift, y + shift, z + shift]);
            bricks.values.extend(values);
        }
    }
    bricks
}

/// Triangles by the places of their corners, whatever the order of vertices and triangles.
fn places(mesh: &Mesh) -> Vec<[[u32; 3]; 3]> {
    let mut places: Vec<[[u32; 3]; 3]> = mesh
        .triangles()
        .iter()
        .map(|t| {
            let mut t = t.map(|vertex| mesh.positions()[vertex as usize].map(f32::to_bits));
            let first = (0..3).min_by_key(|&i| t[i]).unwrap();
            t.rotate_left(first);
            t
        })
        .collect();
    places.sort_unstable();
    places
}

#[test]
fn rings_are_the_border_between_inside_and_outside() {
    for inside in 0..=255_u8 {
        let is_inside = |corner: u8| inside >> corner & 1 == 1;
        let rings = rings(inside);
        let mut edges: Vec<u8> = rings.concat();
        edges.sort_unstable();
        let crossing = |&edge: &u8| {
            let (corner, axis) = EDGES[usize::from(edge)];
            is_inside(corner) != is_inside(corner | 1 << axis)
        };
        assert_eq!(
            edges,
            (0..12).filter(crossing).collect::<Vec<u8>>(),
            "each once: {inside}"
        );
        let triangles: usize = rings.iter().map(|ring| ring.len() - 2).sum();
        assert_eq!(CASES[usize::from(inside)].triangles().len(), triangles, "{inside}");
    }
}

#[test]
fn complements_without_a_doubtful_face_are_turned_over() {
    let canonical = |mut rings: Vec<Vec<u8>>| {
        for ring in &mut rings {
            let first = (0..ring.len()).min_by_key(|&i| ring[i]).unwrap();
            ring.rotate_left(first);
        }
        rings.sort();
        rings
    };
    let mut certain = 0;
    for inside in 0..=255_u8 {
        // Two opposite corners of a face, and no other, are inside.
        let diagonal = |axis: u8, side: u8| {
            let (u, v) = (1 << ((axis + 1) % 3), 1 << ((axis + 2) % 3));
            let base = side << axis;
            let is = |corner: u8| inside >> (base | corner) & 1 == 1;
            is(0) == is(u | v) && is(u) == is(v) && is(0) != is(u)
        };
        if (0..3).any(|axis| (0..2).any(|side| diagonal(axis, side))) {
            continue;
        }
        certain += 1;
        let mut turned = rings(!inside);
        turned.iter_mut().for_each(|ring| ring.reverse());
        assert_eq!(canonical(rings(inside)), canonical(turned), "{inside}");
    }
    assert!(certain > 100);
}

#[test]
fn mirrored_cells_are_mirrored_rings() {
    let mirror = |corner: u8| corner ^ 1;
    let mirrored_edge = |edge: u8| {
        let (corner, axis) = EDGES[usize::from(edge)];
        let corner = if axis == 0 { corner } else { mirror(corner) };
        EDGES.iter().position(|&e| e == (corner, axis)).unwrap() as u8
    };
    for inside in 0..=255_u8 {
        let mirrored = (0..8).fold(0, |set, c| set | (inside >> c & 1) << mirror(c));
        let sets = |rings: Vec<Vec<u8>>, map: &dyn Fn(u8) -> u8, backwards: bool| {
            let mut all: Vec<Vec<u8>> = rings
                .into_iter()
                .map(|ring| {
                    let mut ring: Vec<u8> = ring.into_iter().map(map).collect();
                    if backwards {
                        ring.reverse();
                    }
                    let first = (0..ring.len()).min_by_key(|&i| ring[i]).unwrap();
                    ring.rotate_left(first);
                    ring
                })
                .collect();
            all.sort();
            all
        };
        assert_eq!(
            sets(rings(inside), &mirrored_edge, true),
            sets(rings(mirrored), &|e| e, false)
        );
    }
}

#[test]
fn closed_fields_give_closed_manifolds() {
    for seed in 0..12 {
        let field = noise(14, seed);
        let mesh = dense(&field, GRID, &mut on).unwrap();
        let found = report(&mesh);
        assert!(found.triangles > 1000, "{found}");
        assert!(
            found.is_closed() && found.flipped_edges == 0 && found.degenerate == 0,
            "{found:?}"
        );
        assert_eq!(found.non_manifold_vertices, 0);
        assert!(mesh.volume() > 0.0, "outside out");
        let same = bricks(&in_bricks(&field, 0), GRID, &mut on).unwrap();
        assert_eq!(places(&same), places(&mesh));
        assert_eq!(report(&same), found);
    }
}

#[test]
fn a_sphere_has_its_radius() {
    let grid = Grid {
        origin: [-20.0; 3],
        voxel: 1.0,
    };
    let mesh = dense(&sphere(40), grid, &mut on).unwrap();
    assert_eq!(report(&mesh).genus(), Some(0));
    for p in mesh.positions() {
        let radius = p.iter().map(|x| x * x).sum::<f32>().sqrt();
        assert!((radius - 16.0).abs() < 0.02, "{radius}");
    }
    assert!((mesh.volume() / (4.0 / 3.0 * std::f64::consts::PI * 4096.0) - 1.0).abs() < 0.01);
    let shifted = Grid {
        origin: [-20.0 + 8.0 * 3.0; 3],
        ..grid
    };
    let same = bricks(&in_bricks(&sphere(40), -3), shifted, &mut on).unwrap();
    assert_eq!(places(&same), places(&mesh), "bricks below zero");
}

#[test]
fn unseen_cells_are_open() {
    // One side of a sphere was never seen.
    let whole = sphere(30);
    let field = By([30; 3], |at: [u32; 3]| whole.value(at).filter(|_| at[0] < 15));
    let mesh = dense(&field, GRID, &mut on).unwrap();
    let found = report(&mesh);
    assert_eq!((found.euler, found.pieces, found.non_manifold_edges), (1, 1, 0));
    for edge in crate::edges::Edges::new(&mesh)
        .iter(mesh.triangles())
        .filter(|edge| edge.corners.len() == 1)
    {
        for vertex in [edge.low, edge.high] {
            assert_eq!(
                mesh.positions()[vertex as usize][0],
                -1.0 + 14.0 * 0.125,
                "at the last seen plane"
            );
        }
    }
    let same = bricks(&in_bricks(&field, 0), GRID, &mut on).unwrap();
    assert_eq!(places(&same), places(&mesh));
    assert_eq!(
        same.positions().len(),
        mesh.positions().len(),
        "no vertex without a triangle"
    );
    let bad = By([30; 3], |at: [u32; 3]| {
        if at[0] < 15 {
            whole.value(at)
        } else {
            Some(f32::INFINITY)
        }
    });
    assert_eq!(places(&dense(&bad, GRID, &mut on).unwrap()), places(&mesh));
}

#[test]
fn bad_grids_are_refused() {
    let empty = |size| dense(&By(size, |_| Some(1.0)), GRID, &mut on).unwrap();
    for size in [[0; 3], [1; 3], [5, 0, 5], [4; 3]] {
        assert_eq!(empty(size), Mesh::default());
    }
    for voxel in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let grid = Grid { voxel, ..GRID };
        assert!(dense(&sphere(4), grid, &mut on).is_err());
        assert!(bricks(&Bricks::default(), grid, &mut on).is_err());
    }
    let grid = Grid {
        origin: [f32::NAN; 3],
        ..GRID
    };
    assert!(dense(&sphere(4), grid, &mut on).is_err());
    assert!(matches!(
        dense(&sphere(9), GRID, &mut |_| ControlFlow::Break(())),
        Err(Error::Stopped)
    ));
    assert_eq!(bricks(&Bricks::default(), GRID, &mut on).unwrap(), Mesh::default());
    let values = vec![1.0; 1024];
    for (keys, values) in [
        (vec![[0; 3]], values.clone()),
        (vec![[0; 3], [0; 3]], values.clone()),
        (vec![[1, 0, 0], [0; 3]], values.clone()),
    ] {
        assert!(bricks(&Bricks { keys, values }, GRID, &mut on).is_err());
    }
    let edge = Bricks {
        keys: vec![[i32::MAX; 3]],
        values: vec![-1.0; 512],
    };
    assert_eq!(bricks(&edge, GRID, &mut on).unwrap(), Mesh::default());
}
