//! Meshes that tests know everything about.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::f32::consts::PI;

use crate::Mesh;
use crate::random::Random;

/// A closed sphere of `rings` bands of 2 `rings` quads, about the origin, outside out.
pub(crate) fn sphere(rings: u32, radius: f32) -> Mesh {
    let around = 2 * rings;
    let mut positions = vec![[0.0, 0.0, radius]];
    for ring in 1..rings {
        for step in 0..around {
            let (theta, phi) = (PI * ring as f32 / rings as f32, 2.0 * PI * step as f32 / around as f32);
            positions.push([theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()].map(|x| x * radius));
        }
    }
    let last = positions.len() as u32;
    positions.push([0.0, 0.0, -radius]);
    let at = |ring: u32, step: u32| 1 + (ring - 1) * around + step % around;
    let mut triangles = Vec::new();
    for step in 0..around {
        triangles.push([0, at(1, step), at(1, step + 1)]);
        for ring in 1..rings - 1 {
            let [a, b, c, d] = [
                at(ring, step),
                at(ring + 1, step),
                at(ring + 1, step + 1),
                at(ring, step + 1),
            ];
            triangles.extend([[a, b, c], [a, c, d]]);
        }
        triangles.push([last, at(rings - 1, step + 1), at(rings - 1, step)]);
    }
    Mesh::new(positions, triangles).unwrap()
}

/// A closed sphere about the origin of radius 1, outside out, whose vertices are about equally far from each other: a cube
/// with `side` squares along each edge, blown up.
pub(crate) fn ball(side: i32) -> Mesh {
    let mut positions = Vec::new();
    let mut triangles = Vec::new();
    for (axis, sign) in [(0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1)] {
        let first = positions.len() as u32;
        for (i, j) in (0..=side).flat_map(|i| (0..=side).map(move |j| (i, j))) {
            let mut place = [0; 3];
            place[axis] = sign * side;
            place[(axis + 1) % 3] = 2 * i - side;
            place[(axis + 2) % 3] = 2 * j - side;
            // Equal angles, not equal lengths.
            let at = place.map(|x| (0.25 * PI * x as f32 / side as f32).tan());
            let length = at.iter().map(|x| x * x).sum::<f32>().sqrt();
            positions.push(at.map(|x| x / length));
        }
        let at = |i: i32, j: i32| first + (i * (side + 1) + j) as u32;
        for (i, j) in (0..side).flat_map(|i| (0..side).map(move |j| (i, j))) {
            let mut two = [
                [at(i, j), at(i + 1, j), at(i + 1, j + 1)],
                [at(i, j), at(i + 1, j + 1), at(i, j + 1)],
            ];
            if sign < 0 {
                two.iter_mut().for_each(|triangle| triangle.swap(1, 2));
            }
            triangles.extend(two);
        }
    }
    crate::weld::within(Mesh::new(positions, triangles).unwrap(), 1e-3 / side as f32).unwrap()
}

/// A torus about the z axis, outside out: radii of the ring and of the tube, quads around either.
pub(crate) fn torus(ring: f32, tube: f32, around: u32, across: u32) -> Mesh {
    let mut positions = Vec::new();
    for i in 0..around {
        for j in 0..across {
            let (a, b) = (2.0 * PI * i as f32 / around as f32, 2.0 * PI * j as f32 / across as f32);
            let r = ring + tube * b.cos();
            positions.push([r * a.cos(), r * a.sin(), tube * b.sin()]);
        }
    }
    let at = |i: u32, j: u32| i % around * across + j % across;
    let quads = (0..around).flat_map(|i| (0..across).map(move |j| (i, j)));
    let triangles = quads.flat_map(|(i, j)| {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        [[a, b, c], [a, c, d]]
    });
    let triangles = triangles.collect();
    Mesh::new(positions, triangles).unwrap()
}

/// A square of side 1 in the plane z = 0 facing up, `n` quads a side.
pub(crate) fn square(n: u32) -> Mesh {
    let lines = (0..=n).flat_map(|y| (0..=n).map(move |x| [x as f32 / n as f32, y as f32 / n as f32, 0.0]));
    let positions = lines.collect();
    let at = |x: u32, y: u32| y * (n + 1) + x;
    let quads = (0..n).flat_map(|y| (0..n).map(move |x| (x, y)));
    let triangles = quads.flat_map(|(x, y)| {
        let [a, b, c, d] = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
        [[a, b, c], [a, c, d]]
    });
    let triangles = triangles.collect();
    Mesh::new(positions, triangles).unwrap()
}

/// Two meshes in one, without attributes.
pub(crate) fn both(a: &Mesh, b: &Mesh) -> Mesh {
    let offset = a.positions().len() as u32;
    let moved = b.triangles().iter().map(|t| t.map(|vertex| vertex + offset));
    let triangles = a.triangles().iter().copied().chain(moved).collect();
    Mesh::new([a.positions(), b.positions()].concat(), triangles).unwrap()
}

/// The same moved by `by`.
pub(crate) fn moved(mesh: &Mesh, by: [f32; 3]) -> Mesh {
    let moved = mesh
        .positions()
        .iter()
        .map(|p| [p[0] + by[0], p[1] + by[1], p[2] + by[2]]);
    Mesh::new(moved.collect(), mesh.triangles().to_vec()).unwrap()
}

/// Random triangles between random vertices: nothing about it is good.
pub(crate) fn soup(vertices: u32, triangles: u32, seed: u64) -> Mesh {
    let random = Random::new(seed);
    // Coarse coordinates, so that some vertices and areas coincide.
    let position = |v: u32| [0, 1, 2].map(|axis| (random.unit(u64::from(v * 3 + axis)) * 6.0).floor() as f32);
    let positions = (0..vertices).map(position).collect();
    let start = u64::from(vertices) * 3;
    let corner = |c: u64| (random.unit(start + c) * f64::from(vertices)) as u32;
    let triangle = |t: u32| [0, 1, 2].map(|k| corner(u64::from(t) * 3 + k));
    Mesh::new(positions, (0..triangles).map(triangle).collect()).unwrap()
}

/// The same with every position moved by up to `by` along each axis.
pub(crate) fn jittered(mesh: &Mesh, by: f32, seed: u64) -> Mesh {
    let random = Random::new(seed);
    let mut counter = 0;
    let mut noise = || {
        counter += 1;
        (random.unit(counter) as f32 - 0.5) * 2.0 * by
    };
    let positions = mesh.positions().iter().map(|p| p.map(|x| x + noise())).collect();
    Mesh::new(positions, mesh.triangles().to_vec()).unwrap()
}
