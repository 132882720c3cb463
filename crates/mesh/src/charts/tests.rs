//! Layouts, texel by texel.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use super::*;
use crate::shapes;

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Checks that coordinates lie in the picture and that no texel's centre lies inside two triangles; gives the triangle of
/// each texel.
fn texels(mesh: &Mesh, size: u32) -> Vec<u32> {
    let mut owner = vec![u32::MAX; (size * size) as usize];
    for (t, uv) in (0..).zip(mesh.uvs().unwrap()) {
        assert!(uv.iter().flatten().all(|x| (0.0..=1.0).contains(x)), "{uv:?}");
        let p = uv.map(|p| p.map(|x| f64::from(x) * f64::from(size)));
        // Whichever way round.
        let sign = overlap::turn(p[0], p[1], p[2]).signum();
        let inside = |c: [f64; 2]| (0..3).all(|k| sign * overlap::turn(p[k], p[(k + 1) % 3], c) > 1e-3);
        let span = |axis: usize| {
            let all = p.map(|p| p[axis]);
            let (low, high) = (
                all.iter().fold(f64::MAX, |a, &b| a.min(b)),
                all.iter().fold(0.0_f64, |a, &b| a.max(b)),
            );
            low as u32..(high as u32 + 1).min(size)
        };
        for (x, y) in span(1).flat_map(|y| span(0).map(move |x| (x, y))) {
            if inside([f64::from(x) + 0.5, f64::from(y) + 0.5]) {
                let owner = &mut owner[(y * size + x) as usize];
                assert_eq!(*owner, u32::MAX, "texel {x}, {y}");
                *owner = t;
            }
        }
    }
    owner
}

/// Charts of a mesh, checked: texels, gutter, and shapes kept up to the foreshortening.
fn charted(mesh: Mesh, size: u32) -> (Mesh, Layout) {
    let settings = Settings {
        size,
        ..Settings::default()
    };
    let (mesh, layout) = charts(mesh, settings, &mut on).unwrap();
    let owner = texels(&mesh, size);
    for y in 0..size {
        for x in 0..size {
            let chart = |x: u32, y: u32| match owner[(y * size + x) as usize] {
                u32::MAX => None,
                t => Some(layout.chart_of[t as usize]),
            };
            let Some(own) = chart(x, y) else { continue };
            for (dx, dy) in (0..=2).flat_map(|dx| (0..=2).map(move |dy| (dx, dy))) {
                if x + dx < size && y + dy < size {
                    assert!(
                        chart(x + dx, y + dy).is_none_or(|other| other == own),
                        "gutter at {x}, {y}"
                    );
                }
            }
        }
    }
    for (t, uv) in mesh.uvs().unwrap().iter().enumerate() {
        let area = mesh.triangle_area(mesh.triangles()[t]) * layout.texels_per_unit.powi(2);
        let [a, b, c] = uv.map(|p| p.map(|x| f64::from(x) * f64::from(size)));
        let share = 0.5 * overlap::turn(a, b, c) / area;
        assert!(area < 1e-6 || (0.6..1.01).contains(&share), "{share}");
    }
    (mesh, layout)
}

#[test]
fn solids_are_laid_out() {
    for (mesh, most_charts, least_fill) in [
        (shapes::sphere(24, 1.0), 14, 0.55),
        (shapes::torus(2.0, 0.7, 48, 24), 30, 0.4),
        (shapes::square(9), 1, 0.95),
        (shapes::jittered(&shapes::torus(2.0, 0.7, 48, 24), 0.02, 1), 60, 0.35),
    ] {
        let (mesh, layout) = charted(mesh, 512);
        println!("{} charts, {:.3} of the picture", layout.charts, layout.fill);
        assert!(layout.charts <= most_charts, "{}", layout.charts);
        assert!((least_fill..1.0).contains(&layout.fill), "{}", layout.fill);
        assert_eq!(
            charts(
                mesh.clone(),
                Settings {
                    size: 512,
                    ..Settings::default()
                },
                &mut on
            )
            .unwrap(),
            (mesh, layout)
        );
    }
}

#[test]
fn a_spiral_ramp_is_cut() {
    // Three turns of a ramp whose normals all lie within the angle: its projection covers itself.
    let steps = 90;
    let at = |i: u32, r: f32| {
        let a = i as f32 / 30.0 * std::f32::consts::TAU;
        [r * a.cos(), r * a.sin(), i as f32 * 0.02]
    };
    let positions = (0..=steps).flat_map(|i| [at(i, 1.0), at(i, 2.0)]).collect();
    let triangles = (0..steps).flat_map(|i| {
        let [a, b, c, d] = [2 * i, 2 * i + 1, 2 * i + 3, 2 * i + 2];
        [[a, b, c], [a, c, d]]
    });
    let ramp = Mesh::new(positions, triangles.collect()).unwrap();
    let (_, layout) = charted(ramp, 256);
    assert!((3..=5).contains(&layout.charts), "{}", layout.charts);
}

#[test]
fn soup_and_degenerate_triangles_have_coordinates() {
    for seed in 0..10 {
        let (_, layout) = charted(shapes::soup(30, 60, seed), 256);
        assert!(layout.charts <= 60);
    }
    let point = Mesh::new(vec![[1.0; 3]; 3], vec![[0, 1, 2]; 4]).unwrap();
    let (_, layout) = charted(point, 16);
    assert_eq!((layout.charts, layout.fill), (4, 0.0));
}

#[test]
fn bad_settings_are_named() {
    let square = shapes::square(2);
    let fails = |mesh: &Mesh, settings| charts(mesh.clone(), settings, &mut on).unwrap_err().to_string();
    let good = Settings::default();
    assert!(fails(&Mesh::default(), good).contains("needs triangles"));
    for bad in [
        Settings { size: 0, ..good },
        Settings { size: 1 << 20, ..good },
        Settings { gutter: 5000, ..good },
        Settings { angle: 90.0, ..good },
        Settings {
            angle: f64::NAN,
            ..good
        },
    ] {
        assert!(fails(&square, bad).contains("has to be"), "{bad:?}");
    }
    let small = Settings { size: 8, ..good };
    let said = fails(&shapes::soup(90, 200, 1), small);
    assert!(
        said.contains("charts") && said.contains("raise the texture size"),
        "{said}"
    );
    let stopped = charts(square.clone(), good, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Stopped)));
    assert!(grid(square, 4).is_err());
}

#[test]
fn squares_hold_two_triangles_each() {
    for (n, q) in [(1, 5), (5, 8), (9, 10)] {
        let (mesh, layout) = grid(shapes::square(n), q).unwrap();
        let triangles = 2 * n * n;
        assert_eq!(layout.squares, (f64::from(triangles) / 2.0 + 1.0).sqrt() as u32 + 1);
        assert_eq!(layout.size, layout.squares * q);
        let owner = texels(&mesh, layout.size);
        for (at, t) in (0..).zip(owner).filter(|&(_, t)| t != u32::MAX) {
            let (x, y) = (at % layout.size, at / layout.size);
            assert_eq!(y / q * layout.squares + x / q, t / 2);
        }
        if q == 10 {
            let uv = mesh.uvs().unwrap()[2].map(|p| p.map(|x| (x * layout.size as f32).round()));
            assert_eq!(uv, [[18.0, 1.0], [12.0, 1.0], [18.0, 7.0]]);
        }
    }
    // The figure of the reference: a million triangles in squares of ten.
    let million = Mesh::new(vec![[0.0; 3]], vec![[0; 3]; 1_000_000]).unwrap();
    assert_eq!(grid(million, 10).unwrap().1.size, 7080);
    assert_eq!(grid(Mesh::default(), 8).unwrap().1.squares, 2);
}
