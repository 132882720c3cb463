//! Spheres of known distance, and scores by hand.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use super::*;
use crate::shapes;

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn settings(distances: &[f64]) -> Settings {
    Settings {
        samples: 20_000,
        seed: 3,
        distances: distances.to_vec(),
        ..Settings::default()
    }
}

#[test]
fn a_larger_sphere_is_as_far_as_radii_say() {
    let (small, large) = (shapes::sphere(120, 1.0), shapes::sphere(120, 1.1));
    let exact = |p: [f32; 3]| {
        let p = wide(p);
        (norm(p) - 1.0, unit(p).map(crate::vector::narrow))
    };
    let points = small.clone().with_own_normals();
    let truths = [
        Truth::Mesh(&small),
        Truth::Points(&points),
        Truth::Exact {
            distance: &exact,
            points: &points,
        },
    ];
    for (i, truth) in truths.into_iter().enumerate() {
        let settings = Settings {
            margin: Some(0.2),
            ..settings(&[0.05, 0.15])
        };
        let score = score(&large, truth, &settings, &mut on).unwrap();
        // The points of the truth are 0.03 apart.
        let slack = if i == 1 { 2e-3 } else { 1e-3 };
        assert!((score.chamfer - 0.1).abs() < slack, "{i}: {score:?}");
        for side in [&score.accuracy, &score.completeness] {
            assert!(
                (side.median - 0.1).abs() < slack && (side.percent_95 - 0.1).abs() < 2.0 * slack,
                "{side:?}"
            );
            assert_eq!(side.within, [0.0, 1.0]);
            let normals = side.normals.unwrap();
            assert!(
                normals.mean < 2.0 && normals.median < 2.0 && normals.turned == 0.0,
                "{normals:?}"
            );
        }
        assert_eq!(score.f1, [0.0, 1.0]);
    }
}

#[test]
fn halves_and_strays_are_told_apart() {
    let sphere = shapes::sphere(60, 1.0);
    let half = sphere.clone().keep_triangles(|t| centre_z(&sphere, t) > 0.0);
    let score_of = |mesh: &Mesh, truth: &Mesh, margin| {
        let settings = Settings {
            margin,
            ..settings(&[0.01])
        };
        score(mesh, Truth::Mesh(truth), &settings, &mut on).unwrap()
    };
    let score = score_of(&half, &sphere, None);
    assert_eq!(score.accuracy.within, [1.0]);
    assert!((score.completeness.within[0] - 0.5).abs() < 0.02);
    assert!((score.f1[0] - 2.0 / 3.0).abs() < 0.02);
    // As much far away as there is of the sphere.
    let stray = shapes::both(&sphere, &shapes::moved(&sphere, [50.0, 0.0, 0.0]));
    let score = score_of(&stray, &sphere, None);
    assert!((score.accuracy.within[0] - 0.5).abs() < 0.01 && score.accuracy.mean > 20.0);
    let score = score_of(&stray, &sphere, Some(0.05));
    assert_eq!(score.accuracy.within, [1.0]);
    assert!(
        (9_900..10_100).contains(&score.accuracy.points),
        "{}",
        score.accuracy.points
    );
    // Inside out.
    let turned = Mesh::new(
        sphere.positions().to_vec(),
        sphere.triangles().iter().map(|&[a, b, c]| [a, c, b]).collect(),
    );
    let score = score_of(&turned.unwrap(), &sphere, None);
    assert_eq!(score.accuracy.normals.unwrap().turned, 1.0);
    assert!(score.accuracy.normals.unwrap().mean < 1.0);
}

fn centre_z(mesh: &Mesh, triangle: usize) -> f64 {
    crate::mesh::centre(mesh.corners(mesh.triangles()[triangle]))[2]
}

#[test]
fn quantiles_are_values() {
    let values = [5.0, 1.0, 4.0, 2.0, 3.0];
    let quantile = |share| quantile(&mut values.clone(), share);
    assert_eq!(
        [0.0, 0.2, 0.5, 0.8, 0.95, 1.0].map(quantile),
        [1.0, 1.0, 3.0, 4.0, 5.0, 5.0]
    );
    assert_eq!(super::quantile(&mut [], 0.5), 0.0);
}

#[test]
fn what_cannot_be_measured_is_said() {
    let square = shapes::square(2);
    let fails =
        |mesh: &Mesh, truth, settings: &Settings| score(mesh, truth, settings, &mut on).unwrap_err().to_string();
    let none = Mesh::default();
    let good = settings(&[]);
    assert!(fails(&none, Truth::Mesh(&square), &good).contains("area"));
    assert!(fails(&square, Truth::Mesh(&none), &good).contains("area"));
    assert!(fails(&square, Truth::Points(&none), &good).contains("points of the truth"));
    let far = shapes::moved(&square, [9.0; 3]);
    assert!(fails(&square, Truth::Mesh(&far), &good).contains("near the truth"));
    assert!(fails(&square, Truth::Mesh(&square), &settings(&[f64::NAN])).contains("0 or above"));
    for bad in [
        Settings {
            samples: 0,
            ..good.clone()
        },
        Settings {
            margin: Some(-1.0),
            ..good.clone()
        },
    ] {
        assert!(score(&square, Truth::Mesh(&square), &bad, &mut on).is_err());
    }
    let stopped = score(&square, Truth::Mesh(&square), &good, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(Error::Stopped)));
}
