//! A small surface whose colours are known, and photos of it.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln_kernels::mesh_draw::MeshView;
use kiln_mesh::Mesh;
use kiln_scene::{Camera, Photo};
use kiln_twins::mesh_draw::{Drawn, draw};

/// Photos' width and height, px.
pub(crate) const SIZE: [u32; 2] = [120, 90];

/// A camera at `position` that looks at `target`, with y down in the picture where z is up.
pub(crate) fn camera(position: [f64; 3], target: [f64; 3]) -> Camera {
    let sub = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let cross = |a: [f64; 3], b: [f64; 3]| {
        [
            a[1] * b[2] - a[2] * b[1],
            a[2] * b[0] - a[0] * b[2],
            a[0] * b[1] - a[1] * b[0],
        ]
    };
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let unit = |a: [f64; 3]| a.map(|x| x / dot(a, a).sqrt());
    let forward = unit(sub(target, position));
    let right = unit(cross(forward, [0.0, 0.0, 1.0]));
    let rows = [right, cross(forward, right), forward];
    Camera {
        width_px: SIZE[0],
        height_px: SIZE[1],
        fx: 130.0,
        fy: 128.0,
        cx: 59.3,
        cy: 45.8,
        rotation: rows.map(|row| row.map(|x| x as f32)),
        translation: rows.map(|row| -dot(row, position) as f32),
        lens: None,
    }
}

/// A sheet of `n` times `n` squares over x and y from -1 to 1, as high as `height` says, outside up.
pub(crate) fn sheet(n: u32, height: impl Fn(f32, f32) -> f32) -> Mesh {
    let at = |i: u32| 2.0 * i as f32 / n as f32 - 1.0;
    let rows = n + 1;
    let positions = (0..rows * rows).map(|v| {
        let [x, y] = [at(v % rows), at(v / rows)];
        [x, y, height(x, y)]
    });
    let triangles = (0..n * n).flat_map(|square| {
        let corner = square / n * rows + square % n;
        [
            [corner, corner + 1, corner + rows],
            [corner + rows + 1, corner + rows, corner + 1],
        ]
    });
    Mesh::new(positions.collect(), triangles.collect()).expect("a sheet")
}

/// The photo that a camera takes of a mesh whose place p has the colour `color(p)`, before grey; at the middles of pixels.
pub(crate) fn photo(camera: &Camera, mesh: &Mesh, color: impl Fn([f64; 3]) -> [f64; 3]) -> (Photo, Drawn<f64>) {
    let view = MeshView::strip(camera, 1, [0, camera.height_px], [0.0; 3]);
    let drawn: Drawn<f64> = draw(&view, mesh.positions(), mesh.triangles());
    let mut rgb = Vec::new();
    for (at, inverse) in (0..).zip(&drawn.inverse) {
        let [x, y] = [at % camera.width_px, at / camera.width_px].map(|v: u32| f64::from(v) + 0.5);
        let pixel = if *inverse > 0.0 {
            let z = 1.0 / inverse;
            let local = [
                (x - f64::from(camera.cx)) / f64::from(camera.fx) * z - f64::from(camera.translation[0]),
                (y - f64::from(camera.cy)) / f64::from(camera.fy) * z - f64::from(camera.translation[1]),
                z - f64::from(camera.translation[2]),
            ];
            let world = [0, 1, 2].map(|axis: usize| {
                (0..3)
                    .map(|row| f64::from(camera.rotation[row][axis]) * local[row])
                    .sum()
            });
            color(world)
        } else {
            [0.5; 3]
        };
        rgb.extend(pixel.map(|v| (255.0 * v + 0.5) as u8));
    }
    (Photo::new(rgb, None), drawn)
}
