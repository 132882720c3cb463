//! Textured files, opened by foreign readers and by our own.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::mesh::MeshFile;
use kiln::mesh::texture::{Layout, write_textured};
use kiln_tests::runs::Scratch;

use crate::meshes::scene::{camera, photo, sheet};
use crate::meshes::texture::baked;

#[test]
fn textured_files_are_whole() {
    let wavy = sheet(8, |x, y| 0.2 * (2.0 * x).sin() * y);
    let camera = camera([0.4, -1.6, 2.4], [0.0; 3]);
    let view = (
        camera.clone(),
        photo(&camera, &wavy, |p| [0.5 + 0.3 * p[0], 0.5, 0.3]).0,
    );
    let textured = baked(wavy.with_own_normals(), &[view], Layout::Charts { size: 128 }, 1 << 30);
    let scratch = Scratch::new("textured");
    let folder = scratch.join("out");
    let obj = write_textured(&textured, &folder, "mesh", false).expect("an OBJ file");
    let glb = write_textured(&textured, &folder, "mesh", true).expect("a GLB file");
    assert_eq!((obj.len(), glb.len()), (3, 1));
    let triangles = textured.mesh.triangles().len();

    let (models, materials) = tobj::load_obj(&obj[0], &tobj::GPU_LOAD_OPTIONS).expect("tobj reads it");
    let mesh = &models[0].mesh;
    assert_eq!((models.len(), mesh.indices.len()), (1, 3 * triangles));
    assert!(mesh.texcoords.iter().all(|x| (0.0..=1.0).contains(x)) && !mesh.texcoords.is_empty());
    let materials = materials.expect("tobj reads the material library");
    assert_eq!(materials[0].diffuse_texture.as_deref(), Some("mesh.png"));
    let png = image::open(&obj[2]).expect("a picture").into_rgb8();
    assert_eq!(
        (png.width(), png.height(), &png.into_raw()[..]),
        (128, 128, textured.texture.rgb())
    );

    let bytes = std::fs::read(&glb[0]).expect("a file");
    let gltf::Gltf { document, blob } = gltf::Gltf::from_slice(&bytes).expect("gltf reads it");
    let blob = blob.expect("numbers");
    let primitive = document
        .meshes()
        .next()
        .and_then(|m| m.primitives().next())
        .expect("triangles");
    let reader = primitive.reader(|_| Some(&blob));
    let indices = reader.read_indices().expect("indices").into_u32().count();
    let uvs: Vec<[f32; 2]> = reader.read_tex_coords(0).expect("coordinates").into_f32().collect();
    assert_eq!(indices, 3 * triangles);
    assert!(uvs.as_flattened().iter().all(|x| (0.0..=1.0).contains(x)));
    let image = document.images().next().expect("a picture");
    let gltf::image::Source::View { view, mime_type } = image.source() else {
        unreachable!("the picture is inside")
    };
    let inside = image::load_from_memory(&blob[view.offset()..][..view.length()]).expect("a PNG file");
    assert_eq!(
        (mime_type, inside.into_rgb8().into_raw()),
        ("image/png", textured.texture.rgb().to_vec())
    );

    for path in [&obj[0], &glb[0]] {
        let back = MeshFile::read(path).expect("our own reader");
        assert_eq!(back.texture.as_ref(), Some(&textured.texture));
        assert_eq!(back.mesh.triangles().len(), triangles);
        let same = back
            .mesh
            .uvs()
            .expect("coordinates")
            .iter()
            .zip(textured.mesh.uvs().expect("coordinates"));
        let off = same.flat_map(|(a, b)| {
            a.as_flattened()
                .iter()
                .zip(b.as_flattened())
                .map(|(a, b)| (a - b).abs())
        });
        assert!(off.fold(0.0, f32::max) < 1e-5, "{}", path.display());
    }
}
