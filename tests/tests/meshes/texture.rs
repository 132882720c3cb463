//! What photos show is what the texture holds.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use std::ops::ControlFlow;

use kiln::mesh::DrawnError;
use kiln::mesh::raster::{CHUNK_TRIANGLES, Canvas, Chunks, Coat, DrawSizes, DrawTensors};
use kiln::mesh::texture::{BakeSettings, Layout, Textured, bake};
use kiln_gpu::memory::Gpu;
use kiln_gpu::vk::RecordOptions;
use kiln_mesh::Mesh;
use kiln_program::{Class, Program, Tag, TensorTable};
use kiln_scene::{Camera, Photo};
use kiln_tests::gpu::{assert_valid, open};

use crate::meshes::scene::{SIZE, camera, photo, sheet};

/// Bakes from views of one size.
pub(crate) fn baked(mesh: Mesh, views: &[(Camera, Photo)], layout: Layout, cap_bytes: u64) -> Textured {
    let device = open();
    let settings = BakeSettings {
        layout,
        views: views.len(),
        largest_px: SIZE,
        masked: false,
        cap_bytes,
    };
    let textured = bake::<DrawnError>(
        &device,
        mesh,
        &settings,
        &mut |view| Ok(views[view].clone()),
        &mut |_| ControlFlow::Continue(()),
    )
    .expect("a texture");
    assert_valid(&device);
    textured
}

/// The picture that a camera takes of a textured mesh, one sample a pixel.
fn picture(textured: &Textured, camera: &Camera) -> Vec<[f32; 4]> {
    let device = open();
    let mut table = TensorTable::default();
    let (mesh, coat) = (&textured.mesh, Coat::Texture(&textured.texture));
    let chunks = Chunks::of(mesh, CHUNK_TRIANGLES);
    let sizes = DrawSizes {
        largest_px: SIZE,
        samples: 1,
        whole: false,
    };
    let tensors = DrawTensors::new(&mut table, &chunks, coat, sizes);
    let pixels = SIZE[0] as usize * SIZE[1] as usize;
    let image = table.add("image", Class::Persistent, Tag::Pixels, 16 * pixels as u64);
    let mut program = Program::new("draw");
    tensors.record_depths(&mut program);
    tensors.record_triangles(&mut program);
    tensors.record_shade(&mut program, image);
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    tensors.load(&mut gpu, mesh, &chunks, coat).expect("the mesh fits");
    let canvas = Canvas::new(
        tensors,
        gpu.compile(&program, RecordOptions::default()).expect("it compiles"),
        [0.5; 3],
    );
    let drawn: Result<(), DrawnError> = canvas.draw(&mut gpu, camera, false, |_, _| Ok(()));
    drawn.expect("it draws");
    gpu.read(&image, pixels).expect("the picture")
}

/// Four cameras around a sheet.
fn around() -> Vec<Camera> {
    [[2.0, 0.3, 1.6], [-0.4, 2.1, 1.5], [-1.9, -0.5, 1.9], [0.5, -2.0, 2.2]]
        .map(|position| camera(position, [0.0; 3]))
        .to_vec()
}

/// A chequered plane: cells of 0.25, red-ish and blue-ish.
fn checker([x, y, _]: [f64; 3]) -> [f64; 3] {
    match ((4.0 * x).floor() + (4.0 * y).floor()).rem_euclid(2.0) < 1.0 {
        true => [0.9, 0.3, 0.2],
        false => [0.1, 0.25, 0.7],
    }
}

/// Where a texel is on the plane, by the texture coordinates of the triangles around it.
fn places(textured: &Textured) -> Vec<([f64; 2], [u8; 3])> {
    let side = textured.texture.side();
    let mut places = Vec::new();
    for (corners, uvs) in textured
        .mesh
        .triangles()
        .iter()
        .zip(textured.mesh.uvs().expect("coordinates"))
    {
        let [a, b, c] = uvs.map(|uv| uv.map(|x| f64::from(x) * f64::from(side)));
        let turn =
            |p: [f64; 2], q: [f64; 2], r: [f64; 2]| (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
        let area = turn(a, b, c);
        let bound = |i: usize| {
            let low = a[i].min(b[i]).min(c[i]).floor().max(0.0) as u32;
            low..(a[i].max(b[i]).max(c[i]).ceil() as u32).min(side)
        };
        for (x, y) in bound(1).flat_map(|y| bound(0).map(move |x| (x, y))) {
            let p = [f64::from(x) + 0.5, f64::from(y) + 0.5];
            let shares = [turn(b, c, p) / area, turn(c, a, p) / area, turn(a, b, p) / area];
            if shares.iter().all(|share| *share >= 0.0) {
                let at = |i: usize| {
                    let of = |k: usize| f64::from(textured.mesh.positions()[corners[k] as usize][i]);
                    (0..3).map(|k| shares[k] * of(k)).sum()
                };
                let texel = 3 * (y * side + x) as usize;
                let rgb = &textured.texture.rgb()[texel..texel + 3];
                places.push(([at(0), at(1)], [rgb[0], rgb[1], rgb[2]]));
            }
        }
    }
    places
}

#[test]
fn a_chequered_plane_is_chequered_in_both_layouts() {
    let plane = sheet(6, |_, _| 0.0);
    let views: Vec<(Camera, Photo)> = around()
        .into_iter()
        .map(|camera| (camera.clone(), photo(&camera, &plane, checker).0))
        .collect();
    for layout in [Layout::Charts { size: 256 }, Layout::Squares { square: 24 }] {
        let textured = baked(plane.clone(), &views, layout, 1 << 30);
        let mut checked = 0;
        for ([x, y], found) in places(&textured) {
            let from_border = [x, y].map(|v| (4.0 * v - (4.0 * v).round()).abs() / 4.0);
            // A pixel is as wide as 0.02 to 0.05 on the plane.
            if from_border.iter().all(|d| *d > 0.06) && x.abs() < 0.94 && y.abs() < 0.94 {
                let wanted = checker([x, y, 0.0]).map(|v| (255.0 * v + 0.5) as i32);
                let off = found.iter().zip(wanted).map(|(a, b)| (i32::from(*a) - b).abs()).max();
                assert!(off <= Some(2), "{layout:?}: at {x} {y} {found:?}, {wanted:?}");
                checked += 1;
            }
        }
        assert!(
            checked > 3000 && textured.seen > 0.9,
            "{checked} {textured:.2?}",
            textured = textured.seen
        );
    }
}

#[test]
fn seen_by_one_view_the_texture_is_that_photo() {
    let wavy = sheet(24, |x, y| 0.25 * (2.0 * x).sin() * (2.5 * y).cos());
    let smooth = |p: [f64; 3]| {
        [
            0.5 + 0.4 * (3.0 * p[0] + p[1]).sin(),
            0.5 + 0.3 * (2.0 * p[1] - 2.0 * p[2]).cos(),
            0.4 + 0.3 * p[0] * p[1],
        ]
    };
    let camera = camera([0.4, -1.6, 2.4], [0.0, 0.0, 0.0]);
    let (photo, drawn) = photo(&camera, &wavy, smooth);
    let textured = baked(
        wavy,
        &[(camera.clone(), photo.clone())],
        Layout::Charts { size: 512 },
        1 << 30,
    );
    let image = picture(&textured, &camera);
    let width = SIZE[0] as usize;
    let (mut squared, mut count) = (0.0, 0.0);
    for at in width + 1..image.len() - width - 1 {
        // Beside an edge the photo shows two things, and the texture one.
        let around = [0, 1, 2].map(|row| &drawn.inverse[at + row * width - width - 1..][..3]);
        let here = drawn.inverse[at];
        let is_inside = around
            .iter()
            .all(|row| row.iter().all(|w| (w / here - 1.0).abs() < 0.02));
        if here > 0.0 && is_inside {
            for channel in 0..3 {
                let wanted = f64::from(photo[3 * at + channel]) / 255.0;
                squared += (f64::from(image[at][channel]) - wanted).powi(2);
                count += 1.0;
            }
        }
    }
    let psnr = -10.0 * (squared / count).log10();
    assert!(psnr > 40.0 && count > 9000.0, "{psnr} dB over {count} values");
    assert!(textured.seen > 0.8 && textured.seen < 1.0, "{}", textured.seen);
}

#[test]
fn batches_change_nothing() {
    let wavy = sheet(24, |x, y| 0.25 * (2.0 * x).sin() * (2.5 * y).cos());
    let views: Vec<(Camera, Photo)> = around()
        .into_iter()
        .map(|camera| (camera.clone(), photo(&camera, &wavy, checker).0))
        .collect();
    let layout = Layout::Charts { size: 512 };
    let whole = baked(wavy.clone(), &views, layout, 1 << 30);
    let parts = baked(wavy, &views, layout, 3_600_000);
    assert_eq!((whole.batches, parts.texture == whole.texture), (1, true));
    assert!(parts.batches > 1, "{}", parts.batches);
}
