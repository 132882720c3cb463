//! Meshes on the device: pictures, depths and gathered colours are those of the twins, whatever the chunks and strips.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::mesh::raster::{Canvas, Chunks, Coat, DrawSizes, DrawTensors, Harmonics, Painter, Texture};
use kiln_gpu::memory::{Gpu, MemoryError};
use kiln_gpu::vk::RecordOptions;
use kiln_kernels::mesh_draw::MeshView;
use kiln_kernels::mesh_gather::{self, GatherIo, normal_code};
use kiln_mesh::Mesh;
use kiln_program::{Class, Program, Span, Tag, TensorTable};
use kiln_scene::{Camera, Photo};
use kiln_tests::gpu::{assert_valid, open};
use kiln_triangles::Model;
use kiln_twins::mesh_draw::{Drawn, draw};
use kiln_twins::mesh_gather::gather;
use kiln_twins::mesh_shade::{self, shade};
use kiln_twins::rng::{bits, uniform};

const SIZE: [u32; 2] = [61, 43];
const BACKGROUND: [f32; 3] = [0.1, 0.2, 0.3];

fn camera() -> Camera {
    let (s, c) = 0.2_f32.sin_cos();
    Camera {
        width_px: SIZE[0],
        height_px: SIZE[1],
        fx: 50.0,
        fy: 47.0,
        cx: 31.2,
        cy: 20.9,
        rotation: [[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]],
        translation: [0.1, -0.05, 4.0],
        lens: None,
    }
}

/// A wavy sheet of small triangles, a few large ones through each other, one that crosses the camera's plane, doubles and
/// slivers; a colour a vertex and texture coordinates.
fn mesh() -> Mesh {
    let (columns, rows) = (24_u32, 18_u32);
    let at = |i: u32, j: u32| {
        let [x, y] = [i as f32 / 8.0 - 1.4, j as f32 / 8.0 - 1.1];
        [x, y, 0.3 * (3.0 * x).sin() * (2.0 * y).cos()]
    };
    let mut positions: Vec<[f32; 3]> = (0..rows).flat_map(|j| (0..columns).map(move |i| at(i, j))).collect();
    let mut triangles = Vec::new();
    for (i, j) in (0..rows - 1).flat_map(|j| (0..columns - 1).map(move |i| (i, j))) {
        let corner = j * columns + i;
        triangles.push([corner, corner + 1, corner + columns]);
        triangles.push([corner + columns + 1, corner + columns, corner + 1]);
    }
    let draw = |id: u32, channel: u32| 2.0 * uniform::<f32>(5, 1, id, channel) - 1.0;
    for id in 0..6 {
        let first = positions.len() as u32;
        positions.extend((0..3).map(|k| [0, 1, 2].map(|axis| 1.6 * draw(id, 3 * k + axis))));
        triangles.push([first, first + 1, first + 2]);
    }
    let first = positions.len() as u32;
    positions.extend([[-3.0, 1.1, -9.0], [3.0, 1.3, -9.0], [0.0, 1.2, 6.0], [0.3, 1.2, 6.0]]);
    triangles.extend([[first, first + 1, first + 2], [first, first + 1, first + 2]]);
    triangles.extend([[first, first, first + 2], [first + 2, first + 3, first + 2]]);
    let colors = (0..positions.len() as u32).map(|id| [0, 1, 2].map(|c| uniform::<f32>(6, 1, id, c)));
    let uvs = (0..triangles.len() as u32).map(|id| [0, 1, 2].map(|k| [0, 1].map(|i| uniform::<f32>(7, k, id, i))));
    let (colors, uvs) = (colors.collect(), uvs.collect());
    let mesh = Mesh::new(positions, triangles).expect("a mesh");
    mesh.with_colors(colors)
        .and_then(|mesh| mesh.with_uvs(uvs))
        .expect("its attributes")
}

fn texture() -> Texture {
    let rgb = (0..3 * 16 * 16).map(|i| bits(8, 1, i, 0) as u8).collect();
    Texture::new(16, rgb).expect("a texture")
}

/// The picture, and the depths and triangles of all of it.
fn drawn(mesh: &Mesh, coat: Coat<'_>, samples: u32, chunk: usize) -> (Vec<[f32; 4]>, Vec<f32>, Vec<u32>) {
    let (image, depths, ids, strips) = drawn_in_strips(mesh, coat, samples, chunk, true);
    assert_eq!(strips, 1);
    (image, depths, ids)
}

/// The picture, the depths and triangles of its last strip, and how many strips there were.
fn drawn_in_strips(
    mesh: &Mesh,
    coat: Coat<'_>,
    samples: u32,
    chunk: usize,
    whole: bool,
) -> (Vec<[f32; 4]>, Vec<f32>, Vec<u32>, u32) {
    let device = open();
    let mut table = TensorTable::default();
    let chunks = Chunks::of(mesh, chunk);
    let sizes = DrawSizes {
        largest_px: SIZE,
        samples,
        whole,
    };
    let tensors = DrawTensors::new(&mut table, &chunks, coat, sizes);
    let pixels = SIZE[0] as usize * SIZE[1] as usize;
    let image = table.add("image", Class::Persistent, Tag::Pixels, 16 * pixels as u64);
    let mut program = Program::new("draw");
    tensors.record_depths(&mut program);
    tensors.record_triangles(&mut program);
    tensors.record_shade(&mut program, image);
    let strip = tensors.samples;
    program.hold(&[strip.depths, strip.ids]);
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    tensors.load(&mut gpu, mesh, &chunks, coat).expect("the mesh fits");
    if let Coat::Harmonics(harmonics) = coat {
        let painter = Painter::new(mesh, harmonics, &chunks);
        painter
            .paint(&mut gpu, &tensors, &camera())
            .expect("colours of the view");
    }
    let compiled = gpu.compile(&program, RecordOptions::default()).expect("it compiles");
    let canvas = Canvas::new(tensors, compiled, BACKGROUND);
    let (mut strips, mut rows) = (0, 0);
    let done: Result<(), MemoryError> = canvas.draw(&mut gpu, &camera(), false, |_, [_, last]| {
        (strips, rows) = (strips + 1, last);
        Ok(())
    });
    done.expect("it draws");
    let count = (SIZE[0] * rows * samples * samples) as usize;
    let image = gpu.read(&image, pixels).expect("the picture");
    let depths = gpu.read(&strip.depths, count).expect("depths");
    let ids = gpu.read(&strip.ids, count).expect("triangles");
    drop(canvas);
    drop(gpu);
    assert_valid(&device);
    (image, depths, ids, strips)
}

fn view(samples: u32) -> MeshView {
    MeshView::strip(&camera(), samples, [0, SIZE[1]], BACKGROUND)
}

#[test]
fn pictures_are_the_twins() {
    let (mesh, texture) = (mesh(), texture());
    let samples = 3;
    let twin: Drawn<f32> = draw(&view(samples), mesh.positions(), mesh.triangles());
    let covered = twin.ids.iter().filter(|id| **id != u32::MAX).count();
    assert!(
        covered * 2 > twin.ids.len() && covered < twin.ids.len(),
        "{covered} of {}",
        twin.ids.len()
    );
    let colors: Vec<[u8; 3]> = (mesh.colors().expect("colours").iter())
        .map(|c| c.map(|x| (255.0 * x + 0.5) as u8))
        .collect();
    let texels: Vec<[u8; 4]> = texture.rgb().chunks(3).map(|t| [t[0], t[1], t[2], 255]).collect();
    let uvs = mesh.uvs().expect("coordinates");
    let coats = [
        (Coat::Colors, mesh_shade::Coat::Colors(&colors)),
        (Coat::Texture(&texture), mesh_shade::Coat::Texture(uvs, &texels)),
        (Coat::Plain, mesh_shade::Coat::Plain),
    ];
    for (coat, of_twin) in coats {
        let (image, depths, ids) = drawn(&mesh, coat, samples, 1 << 20);
        let other = ids.iter().zip(&twin.ids).filter(|(a, b)| a != b).count();
        // Where two triangles are equally near to the last bit, rounding of divisions decides.
        assert!(
            1000 * other <= ids.len(),
            "{other} of {} samples show other triangles",
            ids.len()
        );
        for (at, (a, b)) in depths.iter().zip(&twin.inverse).enumerate() {
            assert!(
                ids[at] != twin.ids[at] || (a - b).abs() <= 1e-5 * b,
                "sample {at}: {a} {b}"
            );
        }
        let wanted = shade(&view(samples), mesh.positions(), mesh.triangles(), of_twin, &twin);
        let off = |a: &[f32; 4], b: &[f32; 4]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        let wrong = image.iter().zip(&wanted).filter(|(a, b)| off(a, b) > 1e-4).count();
        assert!(
            wrong <= other,
            "{coat:?}: {wrong} pixels differ by more than rounding, {other} samples"
        );
    }
}

#[test]
fn chunks_change_nothing_and_the_same_is_drawn_again() {
    let mesh = mesh();
    let whole = drawn(&mesh, Coat::Colors, 2, 1 << 20);
    let bits = |image: &[[f32; 4]]| -> Vec<u32> { image.as_flattened().iter().map(|x| x.to_bits()).collect() };
    let again = drawn(&mesh, Coat::Colors, 2, 1 << 20);
    assert_eq!(
        (bits(&whole.0), &whole.1, &whole.2),
        (bits(&again.0), &again.1, &again.2)
    );
    for chunk in [100, 397] {
        let (image, depths, ids) = drawn(&mesh, Coat::Colors, 2, chunk);
        assert_eq!((depths, ids), (whole.1.clone(), whole.2.clone()), "{chunk}");
        // Sums over the samples of a pixel are made chunk by chunk.
        let off = image
            .as_flattened()
            .iter()
            .zip(whole.0.as_flattened())
            .map(|(a, b)| (a - b).abs());
        assert!(off.fold(0.0, f32::max) < 1e-6, "{chunk}");
    }
}

#[test]
fn colors_by_direction_are_those_of_the_view() {
    let mesh = mesh();
    let vertices = mesh.positions().len() as u32;
    let random = |id: u32, channel: u32| uniform::<f32>(11, 1, id, channel) - 0.5;
    let model = Model {
        degree: 2,
        sh0: (0..vertices).map(|id| [0, 1, 2].map(|c| random(id, c))).collect(),
        sh_rest: (0..24 * vertices).map(|id| 2.0 * random(id, 3)).collect(),
        ..Model::default()
    };
    let harmonics = Harmonics::of(model);
    let from = camera().position();
    let colors: Vec<[f32; 3]> = (mesh.positions().iter().enumerate())
        .map(|(vertex, position)| harmonics.color(vertex, *position, from))
        .collect();
    assert!(colors.as_flattened().contains(&0.0) && colors.as_flattened().iter().any(|x| *x > 1.0));
    let colored = mesh.clone().with_colors(colors).expect("colours");
    let (wanted, ..) = drawn(&colored, Coat::Colors, 2, 200);
    let (found, ..) = drawn(&mesh, Coat::Harmonics(&harmonics), 2, 200);
    assert!(found == wanted, "drawn as with the colours of this view");
}

#[test]
fn strips_change_nothing() {
    // So many samples that one strip does not hold them.
    let mesh = mesh();
    let (whole, ..) = drawn(&mesh, Coat::Colors, 41, 1 << 20);
    let (image, _, _, strips) = drawn_in_strips(&mesh, Coat::Colors, 41, 1 << 20, false);
    assert_eq!((strips, image == whole), (2, true));
}

#[test]
fn a_mesh_without_triangles_is_background() {
    let (image, ..) = drawn(&Mesh::default(), Coat::Plain, 2, 10);
    assert!(image.iter().all(|pixel| *pixel == [0.1, 0.2, 0.3, 1.0]));
}

#[test]
fn gathered_colors_are_the_twins() {
    let mesh = mesh();
    let mask: Vec<u8> = (0..SIZE[0] * SIZE[1])
        .map(|i| if i % 37 == 0 { 0 } else { 255 })
        .collect();
    let rgb = (0..3 * SIZE[0] * SIZE[1]).map(|i| bits(9, 1, i, 0) as u8).collect();
    let photo = Photo::new(rgb, Some(&mask));
    let points: Vec<[u32; 4]> = (0..3000)
        .map(|id| {
            let triangle = mesh.triangles()[bits(10, 1, id, 0) as usize % mesh.triangles().len()];
            let [a, b, c] = triangle.map(|v| mesh.positions()[v as usize]);
            let (r, s) = (uniform::<f32>(10, 2, id, 0).sqrt(), uniform::<f32>(10, 2, id, 1));
            let p: [f32; 3] = std::array::from_fn(|i| (1.0 - r) * a[i] + r * (1.0 - s) * b[i] + r * s * c[i]);
            let [u, v] = [b, c].map(|q| [0, 1, 2].map(|i: usize| q[i] - a[i]));
            let n = [
                u[1] * v[2] - u[2] * v[1],
                u[2] * v[0] - u[0] * v[2],
                u[0] * v[1] - u[1] * v[0],
            ];
            let code = if id % 11 == 0 { u32::MAX } else { normal_code(n) };
            [p[0].to_bits(), p[1].to_bits(), p[2].to_bits(), code]
        })
        .collect();
    let device = open();
    let mut table = TensorTable::default();
    let chunks = Chunks::of(&mesh, 200);
    let sizes = DrawSizes {
        largest_px: SIZE,
        samples: 1,
        whole: true,
    };
    let tensors = DrawTensors::new(&mut table, &chunks, Coat::Plain, sizes);
    let mut keep = |name: &str, bytes: u64| -> Span { table.add(name, Class::Persistent, Tag::Other, bytes) };
    let io = GatherIo {
        view: tensors.samples.view,
        points: keep("points", 16 * points.len() as u64),
        depths: tensors.samples.depths,
        photo: keep("photo", photo.bytes().len() as u64),
        sums: keep("sums", 16 * points.len() as u64),
    };
    let mut program = Program::new("gather");
    tensors.record_depths(&mut program);
    mesh_gather::record(&mut program, &io, points.len() as u32);
    let mut gpu = Gpu::new(&device, table, &[&program], 1 << 30).expect("memory");
    tensors
        .load(&mut gpu, &mesh, &chunks, Coat::Plain)
        .expect("the mesh fits");
    gpu.write(&io.points, &points).expect("points");
    gpu.upload(&io.photo, photo.bytes()).expect("the photo");
    gpu.write(&io.sums, &vec![[0.0_f32; 4]; points.len()]).expect("sums");
    let compiled = gpu.compile(&program, RecordOptions::default()).expect("it compiles");
    let canvas = Canvas::new(tensors, compiled, BACKGROUND);
    let done: Result<(), MemoryError> = canvas.draw(&mut gpu, &camera(), true, |_, _| Ok(()));
    done.expect("it gathers");
    let found: Vec<[f32; 4]> = gpu.read(&io.sums, points.len()).expect("sums");
    drop(canvas);
    drop(gpu);
    assert_valid(&device);
    let depths: Drawn<f32> = draw(&view(1), mesh.positions(), mesh.triangles());
    let (mut seen, mut other) = (0, 0);
    for (found, &[x, y, z, code]) in found.iter().zip(&points) {
        let point = [x, y, z].map(f32::from_bits);
        let wanted = gather(&view(1), (point, code), &photo, &depths).unwrap_or_default();
        seen += usize::from(wanted[3] > 0.0);
        let close = found
            .iter()
            .zip(wanted)
            .all(|(a, b)| (a - b).abs() <= 1e-6 + 2e-3 * b.abs());
        other += usize::from(!close);
    }
    assert!(seen > 800 && seen < 2900, "{seen}");
    // Points that lie as near as rounding to what decides whether they are seen.
    assert!(other <= 15, "{other} of {seen}");
}
