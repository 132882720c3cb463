//! A square and three balls, with exact depth.

use kiln_scene::Camera;

pub(crate) type V3 = [f64; 3];

const SQUARE: f64 = 1.2;
const BALLS: [(V3, f64); 3] = [
    ([-0.55, -0.25, 0.28], 0.28),
    ([0.5, 0.3, 0.32], 0.32),
    ([0.1, -0.7, 0.2], 0.2),
];
const DISTANCE: f64 = 3.2;
const MIDDLE: f64 = 0.25;

fn dot(a: V3, b: V3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: V3, b: V3) -> V3 {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// View number `n` of rings around the solids.
pub(crate) fn camera(n: u32, [width, height]: [u32; 2]) -> Camera {
    let azimuth = f64::from(n) * 2.399_963_229_728_653;
    let up = [0.35_f64, 0.6, 0.9][(n % 3) as usize];
    let towards = [up.cos() * azimuth.cos(), up.cos() * azimuth.sin(), up.sin()];
    let forward = towards.map(|v| -v);
    let right = cross(forward, [0.0, 0.0, 1.0]);
    let right = right.map(|v| v / dot(right, right).sqrt());
    let rotation = [right, cross(forward, right), forward];
    let position = [
        DISTANCE * towards[0],
        DISTANCE * towards[1],
        DISTANCE * towards[2] + MIDDLE,
    ];
    let focal = 0.9 * width as f32;
    Camera {
        width_px: width,
        height_px: height,
        fx: focal,
        fy: focal,
        cx: width as f32 / 2.0,
        cy: height as f32 / 2.0,
        rotation: rotation.map(|row| row.map(|v| v as f32)),
        translation: rotation.map(|row| -dot(row, position) as f32),
        lens: None,
    }
}

/// Depth along the viewing axis of every pixel's centre, 0 for nothing.
pub(crate) fn depths(camera: &Camera) -> Vec<f32> {
    let rows = camera.rotation.map(|row| row.map(f64::from));
    let origin = camera.position().map(f64::from);
    let pixel = |i: u32| {
        let [x, y] = [i % camera.width_px, i / camera.width_px].map(|v| f64::from(v) + 0.5);
        let local = [
            (x - f64::from(camera.cx)) / f64::from(camera.fx),
            (y - f64::from(camera.cy)) / f64::from(camera.fy),
            1.0,
        ];
        let direction = [0, 1, 2].map(|axis| (0..3).map(|row| rows[row][axis] * local[row]).sum());
        cast(origin, direction).unwrap_or(0.0) as f32
    };
    (0..camera.width_px * camera.height_px).map(pixel).collect()
}

/// How many times the direction the first surface is away.
fn cast(origin: V3, direction: V3) -> Option<f64> {
    let down = -origin[2] / direction[2];
    let at = [0, 1].map(|i| origin[i] + down * direction[i]);
    let square = (down > 0.0 && at.iter().all(|x| x.abs() < SQUARE)).then_some(down);
    let balls = BALLS.iter().filter_map(|(centre, radius)| {
        let from = [0, 1, 2].map(|i| origin[i] - centre[i]);
        let (a, b) = (dot(direction, direction), dot(direction, from));
        let root = b * b - a * (dot(from, from) - radius * radius);
        let t = (-b - root.sqrt()) / a;
        (root >= 0.0 && t > 0.0).then_some(t)
    });
    balls.chain(square).reduce(f64::min)
}

/// Distance from the nearest surface, and its normal.
pub(crate) fn nearest(point: V3) -> (f64, V3) {
    let beyond = [0, 1].map(|i| (point[i].abs() - SQUARE).max(0.0));
    let ground = (beyond[0].powi(2) + beyond[1].powi(2) + point[2].powi(2)).sqrt();
    let balls = BALLS.iter().map(|(centre, radius)| {
        let from = [0, 1, 2].map(|i| point[i] - centre[i]);
        let size = dot(from, from).sqrt();
        ((size - radius).abs(), from.map(|x| x / size))
    });
    let all = balls.chain([(ground, [0.0, 0.0, 1.0])]);
    all.reduce(|a, b| if b.0 < a.0 { b } else { a }).unwrap_or_default()
}

/// Points of the balls that at least `least` of the cameras see, even over the sphere.
pub(crate) fn seen_points_of_balls(cameras: &[Camera], least: usize) -> Vec<V3> {
    let mut points = Vec::new();
    for (centre, radius) in BALLS {
        for i in 0..2000 {
            let z = 1.0 - (2.0 * f64::from(i) + 1.0) / 2000.0;
            let azimuth = f64::from(i) * 2.399_963_229_728_653;
            let side = (1.0 - z * z).sqrt();
            let point = [side * azimuth.cos(), side * azimuth.sin(), z];
            let point = [0, 1, 2].map(|a| centre[a] + radius * point[a]);
            let sees = |camera: &&Camera| {
                let origin = camera.position().map(f64::from);
                let to = [0, 1, 2].map(|a| point[a] - origin[a]);
                cast(origin, to).is_some_and(|t| (t - 1.0).abs() < 1e-6)
            };
            if cameras.iter().filter(sees).count() >= least {
                points.push(point);
            }
        }
    }
    points
}
