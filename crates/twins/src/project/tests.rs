//! Golden values, culling and tiles of one projection.

#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use super::*;
use crate::scenes::settings;
use kiln_scene::Camera;

const MIP: Filter2d = Filter2d::Mip { kernel_size: 0.1 };

fn camera(cx: f32) -> Camera {
    Camera {
        width_px: 100,
        height_px: 60,
        fx: 100.0,
        fy: 100.0,
        cx,
        cy: 30.0,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0; 3],
        lens: None,
    }
}

fn ball(mean: Vec3<f64>, sigma: f64, logit_opacity: f64) -> Gaussian<f64> {
    let quat = [1.0, 0.0, 0.0, 0.0];
    Gaussian {
        mean,
        quat,
        log_scale: [sigma.ln(); 3],
        logit_opacity,
        ..Gaussian::ZERO
    }
}

#[test]
fn known_coefficients_and_radii() {
    for (cov, coef, wanted) in [
        ([1.0, 0.0, 1.0], 0.909_091_1, 4.0),
        ([0.05, 0.0, 0.05], 0.333_327_4, 3.0),
        ([4.0, 1.0, 2.0], 0.959_084_6, 7.0),
    ] {
        let filtered = [cov[0] + 0.1, cov[1], cov[2] + 0.1];
        let det = |m: [f64; 3]| m[0] * m[2] - m[1] * m[1];
        let (det0, det1) = (det(cov), det(filtered));
        assert!(((det0 / (det1 + DET_MIN) + DET_MIN).sqrt() - coef).abs() < 5e-8);
        assert_eq!(radius(filtered, det1), wanted);
    }
}

#[test]
fn a_needle_keeps_its_width_in_single_precision() {
    // Ten thousand times as long as wide, askew: xx yy - xy^2 would be all rounding.
    let needle = Gaussian {
        mean: [0.3, 0.2, 2.0],
        quat: [0.9, 0.1, 0.2, 0.3],
        log_scale: [20.0_f32.ln(), 2e-3_f32.ln(), 2e-3_f32.ln()],
        ..Gaussian::<f32>::ZERO
    };
    let wide = Gaussian::from_values(&needle.values().map(f64::from));
    let single = footprint(&needle, 0.0, &View::new(&camera(50.0)), MIP).unwrap();
    let double = footprint(&wide, 0.0, &View::new(&camera(50.0)), MIP).unwrap();
    assert!((f64::from(single.filtered_det) / double.filtered_det - 1.0).abs() < 1e-3);
    assert!((f64::from(single.coef) / double.coef - 1.0).abs() < 1e-3);
    let exact = double.filtered_cov[0] * double.filtered_cov[2] - double.filtered_cov[1].powi(2);
    assert!((double.filtered_det / exact - 1.0).abs() < 1e-6);
}

#[test]
fn footprint_of_a_ball_on_the_axis() {
    // sigma 0.02 at depth 2 with f = 100 is one pixel.
    let f = footprint(&ball([0.0, 0.0, 2.0], 0.02, 0.0), 0.0, &View::new(&camera(50.0)), MIP).unwrap();
    assert!((f.cov[0] - 1.0).abs() < 1e-12 && f.cov[1].abs() < 1e-12 && (f.cov[2] - 1.0).abs() < 1e-12);
    assert!((f.coef - 0.909_091_1).abs() < 5e-8 && f.c3 == 1.0);
}

/// Of what is behind a camera that sees nearly all around it, only what keeps to one side of the ray straight backwards is drawn.
#[test]
fn a_fisheye_draws_nothing_across_the_ray_straight_backwards() {
    let mut view = View::new(&camera(50.0));
    view.focal = [20.0; 2];
    view.lens = Some(kiln_scene::Fisheye {
        radial: [0.0; 4],
        tangential: [0.0; 2],
        prism: [0.0; 2],
        reach: 3.0,
    });
    let drawn = |mean, sigma| footprint(&ball(mean, sigma, 3.0), 0.0, &view, MIP);
    assert!(drawn([0.05, 0.0, -5.0], 0.1).is_none());
    assert!(drawn([0.0, 0.0, -5.0], 1e-6).is_none());
    assert!(drawn([-3.8, 0.0, -3.2], 3.7).is_none(), "130 degrees, and 52 around");
    let beside = drawn([1.5, 0.0, -5.0], 0.1).unwrap();
    assert!(beside.filtered_cov[0] < 1.0, "{:?}", beside.filtered_cov);
    assert!(drawn([0.0, 0.0, 0.5], 2.0).is_some(), "before the camera anything is");
}

#[test]
fn centre_lands_on_the_principal_point_less_one_half() {
    let view = View::new(&camera(50.0));
    let v = project(7, &ball([0.0, 0.0, 2.0], 0.02, 3.0), 0.0, &view, &settings(MIP, 0)).unwrap();
    assert_eq!((v.id, v.mean_px, v.depth, v.radius_px), (7, [49.5, 29.5], 2.0, 4.0));
    assert_eq!(v.rgb, [0.5; 3]);
    // In the lower row, 2.5 pixels down, alpha 1/255 reaches from x = 47.1 to 51.9: past the pixels of column 2.
    assert_eq!(
        (v.rect, v.n_tiles),
        (
            TileRect {
                min: [2, 1],
                max: [4, 3]
            },
            3
        )
    );
}

#[test]
fn culled_when_near_faint_or_outside() {
    let view = View::new(&camera(50.0));
    let gone = |g: Gaussian<f64>| project(0, &g, 0.0, &view, &settings(MIP, 0)).is_none();
    assert!(gone(ball([0.0, 0.0, 0.2], 0.02, 3.0)));
    assert!(gone(ball([0.0, 0.0, f64::NAN], 0.02, 3.0)));
    assert!(gone(ball([0.0, 0.0, 2.0], 0.02, -5.6)));
    assert!(gone(ball([5.0, 0.0, 2.0], 0.02, 3.0)));
    // Smaller than the determinant floor: the 2D filter leaves nothing of it, the classic one shows it.
    assert!(gone(ball([0.0, 0.0, 2.0], 1e-4, 3.0)));
    let tiny = ball([0.0, 0.0, 2.0], 1e-4, 3.0);
    assert!(project(0, &tiny, 0.0, &view, &settings(Filter2d::Classic, 0)).is_some());
}

#[test]
fn jacobian_limits_follow_the_principal_point() {
    let tan_half = 0.5;
    let (low, high) = jacobian_limits::<f64>(&View::new(&camera(50.0)), 0);
    assert!((low + 1.3 * tan_half).abs() < 1e-12 && (high - 1.3 * tan_half).abs() < 1e-12);
    let (low, high) = jacobian_limits::<f64>(&View::new(&camera(60.0)), 0);
    assert!((low + 0.75).abs() < 1e-7 && (high - 0.55).abs() < 1e-7);
    let f = footprint(&ball([2.0, 0.0, 2.0], 0.5, 0.0), 0.0, &View::new(&camera(60.0)), MIP).unwrap();
    assert_eq!(f.clamp_active, [true, false]);
    assert!((f.clamped_xy[0] - 1.1).abs() < 1e-6);
}

#[test]
fn negative_colours_are_clamped_and_marked() {
    let mut g = ball([0.0, 0.0, 2.0], 0.02, 3.0);
    g.sh[0] = [-2.0, 0.0, 2.0];
    let v = project(0, &g, 0.0, &View::new(&camera(50.0)), &settings(MIP, 0)).unwrap();
    assert_eq!(v.clamped, [true, false, false]);
    assert_eq!(v.rgb[0], 0.0);
    assert!((v.rgb[2] - 0.5 - 2.0 * crate::sh::SH_C0).abs() < 1e-15);
}
