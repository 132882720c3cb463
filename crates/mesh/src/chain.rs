//! The stages one after the other, as a mesh goes through them, and what foreign readers make of the end.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::BufReader;
use std::ops::ControlFlow;

use crate::pieces::Keep;
use crate::score::{Settings, Truth, score};
use crate::vector::{norm, sub, unit, wide};
use crate::{Mesh, charts, clean, cull, decimate, glb, holes, march, obj, orient, pieces, ply, smooth, topology, weld};

fn on(_: f32) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Two balls, noise, specks in the air, and a part that nobody saw.
struct Scene;

const SIDE: u32 = 80;
const GRID: march::Grid = march::Grid {
    origin: [-1.0; 3],
    voxel: 2.0 / SIDE as f32,
};
const BALLS: [([f64; 3], f64); 2] = [([-0.4, 0.0, 0.0], 0.5), ([0.5, 0.1, 0.0], 0.3)];

/// Distance from the balls.
fn distance(p: [f64; 3]) -> f64 {
    BALLS
        .iter()
        .map(|&(centre, radius)| norm(sub(p, centre)) - radius)
        .fold(f64::INFINITY, f64::min)
}

impl march::Field for Scene {
    fn size(&self) -> [u32; 3] {
        [SIDE; 3]
    }

    fn value(&self, at: [u32; 3]) -> Option<f32> {
        let p = at.map(|x| f64::from(x) * f64::from(GRID.voxel) - 1.0);
        let random = crate::random::Random::new(5);
        let number = u64::from(at[0] + SIDE * (at[1] + SIDE * at[2]));
        let noise = (random.unit(number) - 0.5) * 0.2 * f64::from(GRID.voxel);
        // Far from everything a corner in a thousand is inside.
        let speck = distance(p) > 0.2 && random.bits(number + (1 << 40)).is_multiple_of(1000);
        let hidden = norm(sub(p, [-0.4, 0.0, 0.5])) < 0.04;
        (!hidden).then_some(if speck { -0.01 } else { (distance(p) + noise) as f32 })
    }
}

#[test]
fn a_field_becomes_textured_files() {
    let mesh = march::dense(&Scene, GRID, &mut on).unwrap();
    let raw = topology::report(&mesh);
    assert!(raw.pieces > 20 && raw.open_edges > 0, "{raw}");

    let rule = Keep::AtLeast {
        triangles: 100,
        share: 0.001,
    };
    let (mesh, specks) = pieces::keep(mesh, rule).unwrap();
    assert_eq!(specks as u64, raw.pieces - 2);
    let (mesh, _) = clean::unreferenced(weld::within(mesh, 1e-5).unwrap());
    let (mesh, _) = clean::faces(mesh);
    let (mesh, crowded) = clean::crowded_edges(mesh);
    let (mesh, _) = orient::outward(mesh);
    let (mesh, filled) = holes::fill(mesh, 32);
    assert!(filled.filled >= 1 && crowded == 0, "{filled:?}");
    let seen = vec![true; mesh.triangles().len()];
    let (mesh, unseen) = cull::unseen(mesh, &seen).unwrap();
    let whole = topology::report(&mesh);
    assert_eq!((whole.pieces, whole.genus(), unseen), (2, Some(0), 0), "{whole:?}");

    let mesh = smooth::taubin(mesh, smooth::Taubin::default(), &mut on).unwrap();
    let colors = mesh.positions().iter().map(|p| p.map(|x| 0.5 + 0.5 * x)).collect();
    let mesh = mesh.with_colors(colors).unwrap().with_own_normals();
    let target = decimate::Target::Triangles(2000);
    let (mesh, done) = decimate::decimate(mesh, target, &mut on).unwrap();
    let small = topology::report(&mesh);
    assert_eq!((small.triangles, small.genus(), done.reached), (2000, Some(0), true));

    let exact = |p: [f32; 3]| {
        let p = wide(p);
        let (centre, _) = BALLS.into_iter().min_by(|a, b| {
            let away = |(centre, radius): ([f64; 3], f64)| norm(sub(p, centre)) - radius;
            away(*a).total_cmp(&away(*b))
        })?;
        unit(sub(p, centre))
    };
    let on_balls = BALLS.iter().flat_map(|&(centre, radius)| {
        let sphere = crate::shapes::sphere(30, radius as f32);
        crate::shapes::moved(&sphere, centre.map(|x| x as f32))
            .positions()
            .to_vec()
    });
    let truth = Mesh::new(on_balls.collect(), vec![]).unwrap();
    let truth = Truth::Exact {
        distance: &|p| (distance(wide(p)), exact(p).map(crate::vector::narrow)),
        points: &truth,
    };
    let voxel = f64::from(GRID.voxel);
    let settings = Settings {
        samples: 20_000,
        distances: vec![voxel],
        ..Settings::default()
    };
    let found = score(&mesh, truth, &settings, &mut on).unwrap();
    assert!(found.f1[0] > 0.98 && found.chamfer < 0.3 * voxel, "{found:?}");
    assert!(
        found
            .accuracy
            .normals
            .is_some_and(|angles| angles.median < 8.0 && angles.turned < 0.01)
    );

    let mut bytes = Vec::new();
    ply::write(&mesh, &[], &mut bytes).unwrap();
    let read = ply::read(&bytes[..]).unwrap();
    assert_eq!((read.triangles(), read.normals()), (mesh.triangles(), mesh.normals()));

    let settings = charts::Settings {
        size: 512,
        ..charts::Settings::default()
    };
    let (mesh, layout) = charts::charts(mesh, settings, &mut on).unwrap();
    assert!(
        layout.charts < 60 && layout.fill > 0.35,
        "{} {}",
        layout.charts,
        layout.fill
    );
    let material = obj::Material {
        name: "surface",
        library: "mesh.mtl",
        texture: "mesh.png",
    };
    let mut text = Vec::new();
    obj::write(&mesh, Some(material), &mut text).unwrap();
    let mut input = BufReader::new(&text[..]);
    let no_library = |_: &std::path::Path| Err(tobj::LoadError::OpenFileFailed);
    let (models, _) = tobj::load_obj_buf(&mut input, &tobj::GPU_LOAD_OPTIONS, no_library).unwrap();
    assert_eq!(models[0].mesh.indices.len(), 6000);
    assert!(models[0].mesh.texcoords.iter().all(|x| (0.0..=1.0).contains(x)));
    let mut bytes = Vec::new();
    glb::write(&mesh, Some(glb::Texture { png: b"\x89PNG" }), &mut bytes).unwrap();
    let gltf::Gltf { document, .. } = gltf::Gltf::from_slice(&bytes).unwrap();
    let primitive = document.meshes().next().unwrap().primitives().next().unwrap();
    assert_eq!(primitive.indices().unwrap().count(), 6000);
}
