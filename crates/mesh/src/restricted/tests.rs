//! Against the definition on small sets, against what is known of spheres, and on sets that are bad.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use super::*;
use crate::random::Random;
use crate::shapes;
use crate::topology::report;
use crate::vector::wide;

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn options(brightness: &[f32]) -> Options<'_> {
    Options {
        most_triangles: u32::MAX,
        brightness,
        memory_bytes: u64::MAX,
        orient: true,
    }
}

fn connected(mesh: &Mesh) -> (Mesh, Found) {
    let brightness = vec![1.0; mesh.triangles().len()];
    surface(mesh.clone(), &options(&brightness), &mut on).unwrap()
}

/// A ball with jitter and eight vertices far around it that no triangle has, so that none of its own is at the hull.
fn jittered_ball(side: i32, by: f32) -> Mesh {
    let ball = shapes::jittered(&shapes::ball(side), by, 9);
    let around = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(|x| 6.0 * x as f32 - 2.9));
    let positions = ball.positions().iter().copied().chain(around).collect();
    Mesh::new(positions, ball.triangles().to_vec()).unwrap()
}

fn sorted(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let mut sorted = triangles.to_vec();
    sorted.iter_mut().for_each(|triangle| triangle.sort_unstable());
    sorted.sort_unstable();
    sorted
}

/// Edges of a mesh that go through one of its triangles, which may touch only in vertices that they share.
fn crossings(mesh: &Mesh) -> usize {
    let crossing = Crossing::new(mesh);
    let edges = mesh.triangles().iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    edges
        .filter(|edge| {
            let apart = |t: u32| !mesh.triangles()[t as usize].iter().any(|vertex| edge.contains(vertex));
            crossing.any(edge.map(|v| wide(mesh.positions()[v as usize])), apart)
        })
        .count()
}

/// The definition without tetrahedra: three points have a triangle when some place as far from each of them, and from no
/// other point less far, lies on the surface. Such places are a segment on a line, and at the hull a ray, which does not
/// count.
fn by_definition(mesh: &Mesh) -> Vec<[u32; 3]> {
    let points: Vec<V3> = mesh.positions().iter().map(|&p| wide(p)).collect();
    let count = points.len() as u32;
    let at = |i: u32| points[i as usize];
    let mut found = Vec::new();
    for (i, j, k) in (0..count).flat_map(|i| (0..i).flat_map(move |j| (0..j).map(move |k| (k, j, i)))) {
        let [a, u, v] = [at(i), sub(at(j), at(i)), sub(at(k), at(i))];
        let axis = cross(u, v);
        let plane = scale(
            add(scale(cross(v, axis), dot(u, u)), scale(cross(axis, u), dot(v, v))),
            0.5 / dot(axis, axis),
        );
        let start = add(a, plane);
        let (mut from, mut to) = (f64::NEG_INFINITY, f64::INFINITY);
        for other in (0..count).filter(|other| ![i, j, k].contains(other)) {
            // Nearer to the three than to the other: s <= rest.
            let w = sub(at(other), a);
            let (slope, rest) = (dot(axis, w), 0.5 * dot(w, w) - dot(plane, w));
            match slope > 0.0 {
                true => to = to.min(rest / slope),
                false => from = from.max(rest / slope),
            }
        }
        if !(from < to && from.is_finite() && to.is_finite()) {
            continue;
        }
        let is_met = mesh.triangles().iter().any(|&triangle| {
            let [p, q, r] = mesh.corners(triangle);
            let normal = cross(sub(q, p), sub(r, p));
            let s = dot(sub(p, start), normal) / dot(axis, normal);
            let place = add(start, scale(axis, s));
            let inside = |a: V3, b: V3| dot(cross(sub(b, a), sub(place, a)), normal) >= 0.0;
            (from..=to).contains(&s) && inside(p, q) && inside(q, r) && inside(r, p)
        });
        if is_met {
            found.push([i, j, k]);
        }
    }
    found
}

#[test]
fn equals_the_definition_on_small_sets() {
    let mut triangles = 0;
    for seed in 0..60 {
        let random = Random::new(seed);
        let count = 5 + seed % 12;
        let x = |i: u64| (random.unit(i) * 10.0) as f32;
        let positions: Vec<[f32; 3]> = (0..count).map(|i| [x(3 * i), x(3 * i + 1), x(3 * i + 2)]).collect();
        // No vertex twice in a triangle.
        let triangle = |t: u64| [0, 1, 2].map(|k| (((random.bits(900 + t) >> 3) + k) % count) as u32);
        let soup = Mesh::new(positions, (0..1 + seed % 9).map(triangle).collect()).unwrap();
        let wanted = sorted(&by_definition(&soup));
        let (mesh, found) = connected(&soup);
        assert_eq!(sorted(mesh.triangles()), wanted, "seed {seed}");
        assert_eq!((found.triangles, found.left_out), (wanted.len() as u64, 0));
        triangles += wanted.len();
    }
    assert!(triangles > 200, "{triangles}");
}

#[test]
fn a_jittered_sphere_comes_back_whole() {
    let ball = shapes::ball(58);
    assert_eq!(ball.positions().len(), 20_186);
    let soup = jittered_ball(58, 0.002);
    // Triangles in any direction, some of them twice: only where the surface is counts.
    let random = Random::new(3);
    let mut triangles = soup.triangles().to_vec();
    for (t, triangle) in triangles.iter_mut().enumerate() {
        triangle.rotate_left((random.bits(t as u64) % 3) as usize);
        if random.bits(t as u64) & 8 == 8 {
            triangle.swap(0, 1);
        }
    }
    triangles.extend_from_within(..500);
    let soup = Mesh::new(soup.positions().to_vec(), triangles).unwrap();
    let (mesh, found) = connected(&soup);
    let report = report(&mesh);
    assert_eq!(
        (report.pieces, report.euler, report.vertices),
        (1, 2, 20_186),
        "{report}"
    );
    assert_eq!(report.genus(), Some(0), "closed and turned the same way");
    assert_eq!((found.conflicts, found.without_centre, crossings(&mesh)), (0, 0, 0));
    assert!((mesh.volume() / ball.volume() - 1.0).abs() < 1e-3, "outside out");
    assert_eq!(mesh.positions(), soup.positions());
}

#[test]
fn threads_change_nothing() {
    let soup = shapes::jittered(&shapes::soup(300, 700, 3), 0.4, 1);
    let brightness: Vec<f32> = (0..700).map(|t| (t * 37 % 100) as f32).collect();
    let options = Options {
        most_triangles: 400,
        ..options(&brightness)
    };
    let one = surface_on(1, soup.clone(), &options, &mut on).unwrap();
    assert!(one.1.left_out > 0);
    for threads in [2, 3, 7] {
        assert_eq!(surface_on(threads, soup.clone(), &options, &mut on).unwrap(), one);
    }
}

#[test]
fn the_faintest_are_left_out() {
    let soup = jittered_ball(6, 0.02);
    let is_upper = |&t: &[u32; 3]| crate::mesh::centre(soup.corners(t))[2] > 0.0;
    let brightness: Vec<f32> = soup
        .triangles()
        .iter()
        .map(|t| if is_upper(t) { 0.9 } else { 0.2 })
        .collect();
    let (all, found) = connected(&soup);
    assert_eq!(all.triangles().len() as u64, found.triangles);
    let most_triangles = found.triangles as u32 / 2 - 20;
    let few = Options {
        most_triangles,
        ..options(&brightness)
    };
    let (mesh, found) = surface(soup.clone(), &few, &mut on).unwrap();
    assert_eq!(mesh.triangles().len(), most_triangles as usize);
    assert_eq!(found.left_out, found.triangles - u64::from(most_triangles));
    let heights = mesh
        .triangles()
        .iter()
        .map(|&t| crate::mesh::centre(mesh.corners(t))[2]);
    assert!(heights.fold(f64::MAX, f64::min) > -0.1, "the upper half is brighter");
}

#[test]
fn bad_sets_end_clearly() {
    // Regular grid: several tetrahedra have one centre.
    let grid: Vec<[f32; 3]> = (0..343).map(|i| [i % 7, i / 7 % 7, i / 49].map(|x| x as f32)).collect();
    let at = |x: u32, y: u32| x + 7 * y + 49 * 3;
    let sheet = (0..6).flat_map(|x| (0..6).map(move |y| [at(x, y), at(x + 1, y), at(x, y + 1)]));
    let (mesh, found) = connected(&Mesh::new(grid.clone(), sheet.collect()).unwrap());
    assert_eq!(crossings(&mesh), 0);
    assert!(found.tetrahedra >= 5 * 216 && found.left_out == 0);
    // One centre for all.
    let cube: Vec<[f32; 3]> = (0..8).map(|i| [i & 1, i >> 1 & 1, i >> 2].map(|x| x as f32)).collect();
    let (mesh, _) = connected(&Mesh::new(cube, vec![[0, 1, 2]]).unwrap());
    assert_eq!(mesh.triangles(), [[0; 3]; 0]);
    // Equal points: the first has all triangles.
    let ball = jittered_ball(4, 0.02);
    let corners = ball.triangles().iter().flatten();
    let mut loose: Vec<[f32; 3]> = corners.map(|&v| ball.positions()[v as usize]).collect();
    let count = loose.len() as u32 / 3;
    loose.extend(&ball.positions()[ball.positions().len() - 8..]);
    let loose = Mesh::new(loose, (0..count).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect()).unwrap();
    let (mesh, _) = connected(&loose);
    assert_eq!((report(&mesh).pieces, report(&mesh).euler), (1, 2));
    assert_eq!(mesh.triangles().len(), connected(&ball).0.triangles().len());
    // In a plane, on a line, at a place, none at all.
    for bad in [
        shapes::square(9),
        Mesh::new(vec![[0.0; 3], [1.0; 3], [2.0; 3]], vec![[0, 1, 2]]).unwrap(),
        Mesh::new(vec![[1.0; 3]; 20], vec![[0, 1, 2]]).unwrap(),
        Mesh::default(),
    ] {
        let brightness = vec![0.0; bad.triangles().len()];
        let error = surface(bad, &options(&brightness), &mut on).unwrap_err().to_string();
        assert!(error.contains("lie in a plane"), "{error}");
    }
    // No surface, and one without an area.
    let (mesh, found) = connected(&Mesh::new(grid.clone(), vec![]).unwrap());
    assert_eq!((mesh.triangles().len(), found.triangles), (0, 0));
    let (mesh, _) = connected(&Mesh::new(grid, vec![[0, 1, 2], [5, 5, 9]]).unwrap());
    assert_eq!(mesh.triangles().len(), 0);
    // Two flat sheets so near that no centre is known.
    let mut sheets: Vec<[f32; 3]> = shapes::square(8).positions().to_vec();
    sheets.extend(shapes::moved(&shapes::square(8), [0.01, 0.02, 1e-30]).positions());
    let (_, found) = connected(&Mesh::new(sheets, shapes::square(8).triangles().to_vec()).unwrap());
    assert!(found.without_centre > 0);
}

#[test]
fn whatever_comes_ends() {
    let mut connected_sets = 0;
    for seed in 0..400 {
        // Few coordinates: equal points, common planes, lines and spheres, triangles without an area.
        let random = Random::new(seed);
        let (count, steps) = (random.bits(0) % 40, 2 + random.bits(1) % 4);
        let x = |i: u64| (random.bits(10 + i) % steps) as f32;
        let positions: Vec<[f32; 3]> = (0..count).map(|i| [x(3 * i), x(3 * i + 1), x(3 * i + 2)]).collect();
        let corner = |t: u64, k: u64| (random.bits(1000 + 3 * t + k) % count.max(1)) as u32;
        let triangles = (0..count).map(|t| [corner(t, 0), corner(t, 1), corner(t, 2)]).collect();
        let soup = Mesh::new(positions, triangles).unwrap();
        let brightness = vec![1.0; count as usize];
        match surface(soup, &options(&brightness), &mut on) {
            Ok((mesh, found)) => {
                assert_eq!(
                    (crossings(&mesh), mesh.triangles().len() as u64),
                    (0, found.triangles),
                    "seed {seed}"
                );
                connected_sets += u32::from(found.triangles > 0);
            }
            Err(error) => assert!(matches!(error, Error::Unfit { .. }), "seed {seed}: {error}"),
        }
    }
    assert!(connected_sets > 100, "{connected_sets}");
}

#[test]
fn extreme_sizes_do_no_harm() {
    for (seed, size) in [(1, 1e-30_f32), (2, 1e-42), (3, 1e37), (4, 1.0)] {
        let soup = shapes::jittered(&shapes::soup(80, 100, seed), 0.1, seed);
        let positions = soup.positions().iter().map(|p| p.map(|x| x * size)).collect();
        let soup = Mesh::new(positions, soup.triangles().to_vec()).unwrap();
        let (mesh, found) = connected(&soup);
        assert!(found.tetrahedra > 0 && mesh.triangles().len() as u64 == found.triangles);
    }
}

#[test]
fn what_does_not_fit_is_refused_first() {
    let ball = shapes::ball(4);
    let brightness = vec![1.0; ball.triangles().len()];
    let needed = host_bytes(ball.positions().len() as u64, ball.triangles().len() as u64);
    let short = Options {
        memory_bytes: needed - 1,
        ..options(&brightness)
    };
    let error = surface(ball.clone(), &short, &mut on).unwrap_err();
    assert!(
        matches!(error, Error::Memory { needed_bytes, .. } if needed_bytes == needed),
        "{error}"
    );
    let error = surface(ball.clone(), &options(&[]), &mut on).unwrap_err();
    assert!(matches!(error, Error::Length { .. }));
    let mut last = -1.0;
    let stopped = surface(ball, &options(&brightness), &mut |done| {
        assert!(done >= last);
        last = done;
        match done > 0.5 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    assert!(matches!(stopped, Err(Error::Stopped)));
}

#[test]
fn memory_is_as_predicted() {
    crate::alone::run("restricted::tests::memory_is_as_predicted", || {
        let soup = shapes::jittered(&shapes::ball(80), 0.001, 5);
        let [vertices, triangles] = [soup.positions().len() as u64, soup.triangles().len() as u64];
        let brightness = vec![1.0; soup.triangles().len()];
        let predicted = host_bytes(vertices, triangles);
        let taken = crate::alone::peak_bytes(|| surface(soup.clone(), &options(&brightness), &mut on).unwrap());
        let taken = taken - 12 * (vertices + triangles);
        println!("{taken} of {predicted} B");
        assert!(
            (0.7..=1.0).contains(&(taken as f64 / predicted as f64)),
            "{taken} of {predicted}"
        );
    });
}
