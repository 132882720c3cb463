//! Bricks, voxels and colours against the twins; exact depth of solids against the solids.

use std::ops::ControlFlow;

use kiln_gpu::memory::Gpu;
use kiln_kernels::depth_mask;
use kiln_kernels::fusion::{BRICK_BYTES, Voxels, record_integrate, record_touch};
use kiln_kernels::uniforms::StepUniforms;
use kiln_kernels::vertex_colors::{self, Vertices};
use kiln_mesh::march::{BRICK_VOXELS, Bricks, Grid, bricks};
use kiln_mesh::{Mesh, nearest, sample, topology};
use kiln_program::{Class, Program, Span, Tag, TensorTable};
use kiln_scene::Camera;
use kiln_tests::gpu::{assert_valid, open};
use kiln_twins::depth_mask::depth_mask as twin_mask;
use kiln_twins::fusion::{Voxel, integrate, to_world, touch};
use kiln_twins::gaussian::View;
use kiln_twins::rng::uniform;
use kiln_twins::vertex_colors::{Seen, color};

use crate::mesh::solids;

/// Voxels on a device, with views whose depth is given.
struct Bench {
    gpu: Gpu,
    uniforms: Span,
    map: Span,
    bits: Span,
    keys: Span,
    pool: Span,
    size: [u32; 2],
    voxels: Voxels,
    room: u32,
}

impl Bench {
    fn new(voxels: Voxels, size: [u32; 2], room: u32) -> Self {
        let mut table = TensorTable::default();
        let mut add = |name: &str, bytes: u64| table.add(name, Class::Persistent, Tag::Other, bytes);
        let pixels = 16 * u64::from(size[0] * size[1]);
        let spans = [
            add("uniforms", size_of::<StepUniforms>() as u64),
            add("map", pixels),
            add("bits", voxels.bits_bytes()),
            add("keys", 4 * u64::from(room)),
            add("pool", BRICK_BYTES * u64::from(room)),
        ];
        let [uniforms, map, bits, keys, pool] = spans;
        Self {
            gpu: Gpu::new(&open(), table, &[], 2 << 30).unwrap(),
            uniforms,
            map,
            bits,
            keys,
            pool,
            size,
            voxels,
            room,
        }
    }

    fn show(&mut self, camera: &Camera, map: &[[f32; 4]]) {
        let block = StepUniforms::for_camera(camera, [0.0; 3], 0.1);
        self.gpu.write(&self.uniforms, &[block]).unwrap();
        self.gpu.write(&self.map, map).unwrap();
    }

    /// Numbers of the bricks that views touch.
    fn touched(&mut self, views: &[(Camera, Vec<[f32; 4]>)]) -> Vec<u32> {
        let mut clear = Program::new("clear");
        clear.fill(self.bits, 0);
        self.gpu.run(&clear).unwrap();
        let mut program = Program::new("touch");
        let pixels = self.size[0] * self.size[1];
        record_touch(&mut program, self.uniforms, self.map, self.bits, &self.voxels, pixels);
        for (camera, map) in views {
            self.show(camera, map);
            self.gpu.run(&program).unwrap();
        }
        let words: Vec<u32> = self.gpu.read(&self.bits, (self.bits.bytes / 4) as usize).unwrap();
        let all = self.voxels.all() as u32;
        (0..all)
            .filter(|key| words[(key / 32) as usize] >> (key % 32) & 1 == 1)
            .collect()
    }

    /// Voxels of these bricks after all views.
    fn integrated(&mut self, keys: &[u32], views: &[(Camera, Vec<[f32; 4]>)]) -> Vec<Voxel> {
        let mut voxels = Vec::new();
        for slab in keys.chunks(self.room as usize) {
            let count = slab.len() as u32;
            let mut clear = Program::new("clear");
            clear.fill(self.pool, 0);
            self.gpu.run(&clear).unwrap();
            self.gpu.write(&self.keys, slab).unwrap();
            let mut program = Program::new("integrate");
            record_integrate(
                &mut program,
                self.uniforms,
                self.map,
                self.keys,
                self.pool,
                count,
                &self.voxels,
            );
            for (camera, map) in views {
                self.show(camera, map);
                self.gpu.run(&program).unwrap();
            }
            let words: Vec<u32> = self.gpu.read(&self.pool, slab.len() * BRICK_VOXELS).unwrap();
            voxels.extend(words.into_iter().map(Voxel::of_word));
        }
        voxels
    }
}

fn views(count: u32, size: [u32; 2]) -> Vec<(Camera, Vec<[f32; 4]>)> {
    (0..count)
        .map(|n| {
            let camera = solids::camera(n, size);
            let depths = solids::depths(&camera);
            (camera, depths.into_iter().map(|z| [z, 0.0, 0.0, 0.0]).collect())
        })
        .collect()
}

fn bounded(voxel: f32) -> Voxels {
    let bricks = [2.8, 2.8, 1.0].map(|side: f32| (side / voxel / 8.0).ceil() as u32);
    Voxels {
        origin: [-1.4, -1.4, -0.2],
        voxel,
        radius: 0.0,
        truncation: 4.0,
        bricks,
    }
}

fn spaces() -> [Voxels; 2] {
    let contracted = Voxels {
        origin: [0.05, -0.02, 0.21],
        voxel: 0.035,
        radius: 0.7,
        truncation: 4.0,
        bricks: [10; 3],
    };
    [bounded(0.05), contracted]
}

#[test]
fn bricks_and_voxels_follow_the_twins() {
    let size = [70, 45];
    let views = views(5, size);
    for voxels in spaces() {
        let mut bench = Bench::new(voxels, size, 4096);
        let found = bench.touched(&views);
        let mut bits = vec![false; voxels.all() as usize];
        for (camera, map) in &views {
            let depths: Vec<f32> = map.iter().map(|m| m[0]).collect();
            touch(&voxels, &View::<f32>::new(camera), &depths, &mut bits);
        }
        let wanted: Vec<u32> = (0..).zip(&bits).filter(|(_, bit)| **bit).map(|(key, _)| key).collect();
        let both = found.iter().filter(|key| wanted.binary_search(key).is_ok()).count();
        // Samples on the border between bricks fall to either side.
        assert!(
            both * 100 >= 99 * found.len().max(wanted.len()),
            "{both} of {} and {}",
            found.len(),
            wanted.len()
        );
        assert!(found.len() > 100, "{}", found.len());
        let voxel_words = bench.integrated(&found, &views);
        let mut others = 0;
        let mut seen = 0;
        for (key, brick) in found.iter().zip(voxel_words.chunks(BRICK_VOXELS)) {
            let mut twin = vec![Voxel::default(); BRICK_VOXELS];
            for (camera, map) in &views {
                let depths: Vec<f32> = map.iter().map(|m| m[0]).collect();
                integrate(
                    &voxels,
                    &View::<f32>::new(camera),
                    &depths,
                    voxels.place(*key),
                    &mut twin,
                );
            }
            for (a, b) in brick.iter().zip(&twin) {
                seen += usize::from(b.views > 0);
                // Steps of 1/32767: rounding of places moves distances by some of them.
                others += usize::from(a.views != b.views || a.code.abs_diff(b.code) > 24);
            }
        }
        assert!(seen > 10_000 && others * 200 < seen, "{others} of {seen} voxels differ");
        assert_valid(bench.gpu.device());
    }
}

#[test]
fn colors_follow_the_twin() {
    let size = [70, 45];
    let camera = solids::camera(4, size);
    let voxels = bounded(0.05);
    let map: Vec<[f32; 4]> = (0..)
        .zip(solids::depths(&camera))
        .map(|(i, z)| match i % 5 {
            0 => [z, 0.0, 0.0, 0.0],
            _ => [z, 0.1, -0.2, -(1.0_f32 - 0.05).sqrt()],
        })
        .collect();
    let image: Vec<[f32; 4]> = (0..size[0] * size[1])
        .map(|i| std::array::from_fn(|c| 0.9 * uniform::<f32>(7, 1, i, c as u32)))
        .collect();
    let points: Vec<[f32; 3]> = (0..3000)
        .map(|id| {
            let r = |c: u32| uniform::<f32>(8, 1, id, c) * 2.4 - 1.2;
            [r(0), r(1), 0.3 * (r(2) + 1.2)]
        })
        .collect();
    let count = points.len() as u32;
    let mut table = TensorTable::default();
    let mut add = |name: &str, bytes: u64| table.add(name, Class::Persistent, Tag::Other, bytes);
    let pixels = 16 * u64::from(size[0] * size[1]);
    let uniforms = add("uniforms", size_of::<StepUniforms>() as u64);
    let [map_span, image_span] = [add("map", pixels), add("image", pixels)];
    let vertices = Vertices {
        positions: add("positions", 12 * u64::from(count)),
        sums: add("sums", 16 * u64::from(count)),
        count,
    };
    let mut gpu = Gpu::new(&open(), table, &[], 1 << 30).unwrap();
    let background = [0.25, 0.5, 0.0];
    gpu.write(&uniforms, &[StepUniforms::for_camera(&camera, background, 0.1)])
        .unwrap();
    gpu.write(&map_span, &map).unwrap();
    gpu.write(&image_span, &image).unwrap();
    gpu.write(&vertices.positions, points.as_flattened()).unwrap();
    let mut program = Program::new("colours");
    program.fill(vertices.sums, 0);
    vertex_colors::record(&mut program, uniforms, image_span, map_span, &vertices, &voxels);
    gpu.run(&program).unwrap();
    let found: Vec<[f32; 4]> = gpu.read(&vertices.sums, points.len()).unwrap();
    let twin_map: Vec<(f32, [f32; 3])> = map.iter().map(|m| (m[0], [m[1], m[2], m[3]])).collect();
    let seen = Seen {
        image: &image,
        map: &twin_map,
        background,
    };
    let view = View::<f32>::new(&camera);
    let (mut others, mut colored) = (0, 0);
    for (point, found) in points.iter().zip(&found) {
        let (rgb, weight) = color(&voxels, &view, &seen, *point).unwrap_or_default();
        let wanted = [rgb[0], rgb[1], rgb[2], weight];
        colored += usize::from(weight > 0.0);
        others += usize::from((0..4).any(|i| (found[i] - wanted[i]).abs() > 1e-4 * weight.max(1e-3)));
    }
    assert!(colored > 200 && others * 100 < colored, "{others} of {colored}");
    assert_valid(gpu.device());
}

#[test]
fn masks_follow_the_twin() {
    let size = [37, 21];
    let camera = solids::camera(4, size);
    let pixels = size[0] * size[1];
    let map: Vec<[f32; 4]> = (0..pixels).map(|i| [1.0 + i as f32, 0.6, 0.0, -0.8]).collect();
    let mask: Vec<u8> = (0..pixels).map(|i| if i % 7 < 3 { 0 } else { 255 }).collect();
    let mut table = TensorTable::default();
    let mut add = |name: &str, bytes: u64| table.add(name, Class::Persistent, Tag::Other, bytes);
    let uniforms = add("uniforms", size_of::<StepUniforms>() as u64);
    let [map_span, mask_span] = [
        add("map", 16 * u64::from(pixels)),
        add("mask", u64::from(pixels).next_multiple_of(4)),
    ];
    let mut gpu = Gpu::new(&open(), table, &[], 1 << 30).unwrap();
    gpu.write(&uniforms, &[StepUniforms::for_camera(&camera, [0.0; 3], 0.1)])
        .unwrap();
    gpu.write(&map_span, &map).unwrap();
    gpu.write(&mask_span.slice(0, mask.len() as u64), &mask).unwrap();
    let mut program = Program::new("mask depth");
    depth_mask::record(&mut program, uniforms, mask_span, map_span, pixels);
    gpu.run(&program).unwrap();
    let found: Vec<[f32; 4]> = gpu.read(&map_span, map.len()).unwrap();
    let mut wanted = map;
    twin_mask(&mut wanted, &mask);
    assert_eq!(found, wanted);
    assert_valid(gpu.device());
}

/// Distances as marching takes them: none where fewer than `least` views saw anything.
fn fused(bench: &mut Bench, views: &[(Camera, Vec<[f32; 4]>)], least: u32) -> Bricks {
    let keys = bench.touched(views);
    let voxels = bench.integrated(&keys, views);
    let value = |v: &Voxel| {
        if u32::from(v.views) < least {
            f32::NAN
        } else {
            v.value()
        }
    };
    Bricks {
        keys: keys
            .iter()
            .map(|key| bench.voxels.place(*key).map(|x| x as i32))
            .collect(),
        values: voxels.iter().map(value).collect(),
    }
}

/// The level 0 in the world.
fn marched(voxels: &Voxels, field: &Bricks) -> Mesh {
    let grid = Grid {
        origin: [0.0; 3],
        voxel: 1.0,
    };
    let mesh = bricks(field, grid, &mut |_| ControlFlow::Continue(())).unwrap();
    let places = mesh.positions().iter();
    let points = places.map(|q| to_world(voxels, q.map(f64::from)).unwrap().map(|x| x as f32));
    Mesh::new(points.collect(), mesh.triangles().to_vec()).unwrap()
}

/// Distances in voxels of points on the mesh from the solids, sorted, and angles of normals, degrees, sorted.
fn accuracy(mesh: &Mesh, voxel: f64) -> [Vec<f64>; 2] {
    let samples = sample::by_area(mesh, 20_000, 1).unwrap();
    let (mut distances, mut angles) = (Vec::new(), Vec::new());
    for (point, normal) in samples.positions.iter().zip(&samples.normals) {
        let (distance, wanted) = solids::nearest(point.map(f64::from));
        distances.push(distance / voxel);
        let cosine: f64 = (0..3).map(|i| f64::from(normal[i]) * wanted[i]).sum();
        angles.push(cosine.clamp(-1.0, 1.0).acos().to_degrees());
    }
    distances.sort_by(f64::total_cmp);
    angles.sort_by(f64::total_cmp);
    [distances, angles]
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Bar G1 at a size that a software driver bears: 48 views of 300 x 200 pixels, voxels of 0.03.
#[test]
fn exact_depth_gives_the_solids() {
    let (size, voxel) = ([300, 200], 0.03);
    let views = views(48, size);
    let mut bench = Bench::new(bounded(voxel), size, 4096);
    let field = fused(&mut bench, &views, 2);
    assert_valid(bench.gpu.device());
    let voxels = bench.voxels;
    let mesh = marched(&voxels, &field);
    let [distances, angles] = accuracy(&mesh, voxel.into());
    let within = distances.iter().filter(|d| **d <= 1.0).count() as f64 / distances.len() as f64;
    let middle = angles[angles.len() / 2];
    println!(
        "{} bricks, {} triangles, accuracy {:.4} h, within h {within:.5}, normals {middle:.2} degrees",
        field.keys.len(),
        mesh.triangles().len(),
        mean(&distances)
    );
    assert!(mean(&distances) <= 0.06, "{} h", mean(&distances));
    assert!(within >= 0.999, "{within}");
    assert!(middle <= 4.0, "{middle} degrees");
    // The balls are whole as far as two views see them.
    let cameras: Vec<Camera> = views.iter().map(|(camera, _)| camera.clone()).collect();
    let points = solids::seen_points_of_balls(&cameras, 2);
    let points: Vec<[f32; 3]> = points.into_iter().map(|p| p.map(|x| x as f32)).collect();
    let surface = nearest::Surface::new(&mesh).unwrap();
    let near = points
        .iter()
        .filter(|p| surface.nearest(**p).distance <= f64::from(voxel))
        .count();
    let recall = near as f64 / points.len() as f64;
    println!("recall of the balls {recall:.4} of {} points", points.len());
    assert!(recall >= 0.99, "{recall}");
    open_edges_are_where_nobody_looked(&mesh, &voxels, &field);
    // Where unseen voxels count as empty, phantom sheets stand behind what is seen.
    let empty = Bricks {
        keys: field.keys.clone(),
        values: field.values.iter().map(|v| if v.is_nan() { 1.0 } else { *v }).collect(),
    };
    let [phantom, _] = accuracy(&marched(&voxels, &empty), voxel.into());
    assert!(mean(&phantom) > 10.0 * mean(&distances), "{}", mean(&phantom));
}

/// Every edge with one triangle lies at a cell with a corner that was not seen.
fn open_edges_are_where_nobody_looked(mesh: &Mesh, voxels: &Voxels, field: &Bricks) {
    let report = topology::report(mesh);
    assert_eq!(report.non_manifold_edges, 0, "{report}");
    let mut uses = std::collections::BTreeMap::new();
    for t in mesh.triangles() {
        for (a, b) in [(t[0], t[1]), (t[1], t[2]), (t[2], t[0])] {
            *uses.entry((a.min(b), a.max(b))).or_insert(0) += 1;
        }
    }
    let is_seen = |q: [i32; 3]| {
        let place = q.map(|x| x.div_euclid(8));
        let [x, y, z] = q.map(|x| x.rem_euclid(8) as usize);
        let brick = field.keys.binary_search(&place);
        brick.is_ok_and(|at| !field.values[at * BRICK_VOXELS + x + 8 * (y + 8 * z)].is_nan())
    };
    let mut open = 0;
    for ((a, b), _) in uses.iter().filter(|(_, count)| **count == 1) {
        open += 1;
        let middle: [f32; 3] = std::array::from_fn(|i| {
            let x = 0.5 * (mesh.positions()[*a as usize][i] + mesh.positions()[*b as usize][i]);
            (x - voxels.origin[i]) / voxels.voxel
        });
        let low = middle.map(|q| q.floor() as i32);
        let around = (-1..=2).flat_map(|x| (-1..=2).flat_map(move |y| (-1..=2).map(move |z| [x, y, z])));
        let unseen = around
            .filter(|d| !is_seen([low[0] + d[0], low[1] + d[1], low[2] + d[2]]))
            .count();
        assert!(unseen > 0, "an edge amid seen voxels at {middle:?}");
    }
    assert!(open > 0, "the rim of the square is open");
}

/// A sheet that is seen from one side is one sheet; two sheets three truncations apart, seen from both sides, are two.
#[test]
fn sheets_stay_what_they_are() {
    let size = [60, 60];
    let front = |z: f32, behind: bool| {
        let turn = if behind { -1.0 } else { 1.0 };
        Camera {
            width_px: 60,
            height_px: 60,
            fx: 60.0,
            fy: 60.0,
            cx: 30.0,
            cy: 30.0,
            rotation: [[turn, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, turn]],
            translation: [0.0, 0.0, -turn * z],
            lens: None,
        }
    };
    let voxels = Voxels {
        origin: [-1.0, -1.0, -1.0],
        voxel: 0.05,
        radius: 0.0,
        truncation: 4.0,
        bricks: [5; 3],
    };
    let flat = |z: f32| vec![[z, 0.0, 0.0, 0.0]; 3600];
    let heights = |views: &[(Camera, Vec<[f32; 4]>)]| {
        let mut bench = Bench::new(voxels, size, 256);
        let mesh = marched(&voxels, &fused(&mut bench, views, 2));
        let mut z: Vec<f32> = mesh.positions().iter().map(|p| p[2]).collect();
        z.sort_by(f32::total_cmp);
        (topology::report(&mesh).pieces, z)
    };
    // Cameras at z = -3 look along +z at a sheet at z = 0.
    let one = [(front(-3.0, false), flat(3.0)), (front(-3.1, false), flat(3.1))];
    let (pieces, z) = heights(&one);
    assert_eq!(pieces, 1);
    assert!(z.iter().all(|z| z.abs() < 0.01), "{:?}", (z.first(), z.last()));
    // Sheets at -0.3 and 0.3, each seen by two views from its own side.
    let two = [
        (front(-3.0, false), flat(2.7)),
        (front(-3.1, false), flat(2.8)),
        (front(3.0, true), flat(2.7)),
        (front(3.1, true), flat(2.8)),
    ];
    let (pieces, z) = heights(&two);
    assert_eq!(pieces, 2);
    assert!(
        z.iter().all(|z| (z.abs() - 0.3).abs() < 0.01),
        "{:?}",
        (z.first(), z.last())
    );
}

/// Walls at three radii, and at thirty, where a voxel is nine hundred times as large as in the ball.
#[test]
fn far_walls_have_no_holes() {
    let size = [60, 60];
    let voxels = Voxels {
        origin: [0.0; 3],
        voxel: 1.0 / 128.0,
        radius: 1.0,
        truncation: 4.0,
        bricks: [64; 3],
    };
    let camera = |n: u32| Camera {
        width_px: 60,
        height_px: 60,
        fx: 80.0,
        fy: 80.0,
        cx: 30.0,
        cy: 30.0,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.3 - 0.1 * n as f32, 0.05 * n as f32, 0.0],
        lens: None,
    };
    let covered = |wall: f32| {
        let views: Vec<(Camera, Vec<[f32; 4]>)> =
            (0..7).map(|n| (camera(n), vec![[wall, 0.0, 0.0, 0.0]; 3600])).collect();
        let mut bench = Bench::new(voxels, size, 16_384);
        let field = fused(&mut bench, &views, 2);
        assert_valid(bench.gpu.device());
        let mesh = marched(&voxels, &field);
        // Directions from the middle in which there is a vertex, in cells about as wide as three voxels are there.
        let cells: std::collections::BTreeSet<[i32; 2]> = mesh
            .positions()
            .iter()
            .map(|p| [p[0] / p[2], p[1] / p[2]].map(|t| (t / 0.02).floor() as i32))
            .filter(|cell| cell.iter().all(|c| (-12..12).contains(c)))
            .collect();
        cells.len() as f64 / f64::from(24 * 24)
    };
    for wall in [3.0, 30.0] {
        let share = covered(wall);
        assert!(share > 0.99, "{wall}: {share}");
    }
}

#[test]
fn slabs_give_the_bytes_of_one_pool() {
    let size = [70, 45];
    let views = views(6, size);
    for voxels in spaces() {
        let all = Bench::new(voxels, size, 4096).touched(&views);
        let of = |room: u32| Bench::new(voxels, size, room).integrated(&all, &views);
        let whole = of(4096);
        assert_eq!(whole, of(4096), "twice the same");
        for slabs in [2, 5] {
            let room = (all.len() as u32).div_ceil(slabs);
            assert!(whole == of(room), "{slabs} slabs");
        }
    }
}
