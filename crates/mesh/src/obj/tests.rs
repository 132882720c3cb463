//! Files read back, by a foreign reader and by our own; files of others; damaged files.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::BufReader;

use super::*;
use crate::random::Random;
use crate::{Mesh, shapes};

fn textured() -> Mesh {
    let sphere = shapes::sphere(7, 1.25).with_own_normals();
    // Some corners of a vertex share coordinates, some do not.
    let uv = |t: usize, vertex: u32| [vertex as f32 / 128.0, if t.is_multiple_of(2) { 0.25 } else { 0.75 }];
    let uvs = sphere
        .triangles()
        .iter()
        .enumerate()
        .map(|(t, c)| c.map(|vertex| uv(t, vertex)))
        .collect();
    sphere.with_uvs(uvs).unwrap()
}

const MATERIAL: Material<'static> = Material {
    name: "surface",
    library: "mesh.mtl",
    texture: "mesh.png",
};

fn written(mesh: &Mesh, material: Option<Material<'_>>) -> String {
    let mut bytes = Vec::new();
    write(mesh, material, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn meshes_are_read_back() {
    let colors = |mesh: Mesh| {
        let colors = (0..mesh.positions().len())
            .map(|v| [v as f32 / 256.0, 0.5, 1.0])
            .collect();
        mesh.with_colors(colors).unwrap()
    };
    let plain = shapes::sphere(7, 1.25);
    for mesh in [
        plain.clone(),
        plain.clone().with_own_normals(),
        textured(),
        colors(plain),
        colors(textured()),
        Mesh::default(),
    ] {
        let read = read(written(&mesh, None).as_bytes()).unwrap();
        assert_eq!(
            (read.positions(), read.triangles()),
            (mesh.positions(), mesh.triangles())
        );
        assert_eq!((read.uvs(), read.colors()), (mesh.uvs(), mesh.colors()));
        assert_eq!(read.normals(), mesh.normals());
    }
}

#[test]
fn a_foreign_reader_finds_the_same() {
    let mesh = textured();
    let text = written(&mesh, Some(MATERIAL));
    let mut library = Vec::new();
    write_material(MATERIAL, &mut library).unwrap();
    let (models, materials) = tobj::load_obj_buf(
        &mut BufReader::new(text.as_bytes()),
        &tobj::LoadOptions::default(),
        |path| {
            assert_eq!(path.to_str(), Some("mesh.mtl"));
            tobj::load_mtl_buf(&mut BufReader::new(&library[..]))
        },
    )
    .unwrap();
    let material = &materials.unwrap()[0];
    assert_eq!(
        (material.name.as_str(), material.diffuse_texture.as_deref()),
        ("surface", Some("mesh.png"))
    );
    let [model] = &models[..] else {
        unreachable!("one model")
    };
    let found = &model.mesh;
    assert_eq!(
        (found.positions.len(), found.indices.len()),
        (3 * mesh.positions().len(), 3 * mesh.triangles().len())
    );
    assert_eq!(
        (found.normals.len(), found.material_id),
        (found.positions.len(), Some(0))
    );
    for (corner, (&vertex, &wedge)) in found.indices.iter().zip(&found.texcoord_indices).enumerate() {
        // It numbers vertices as faces name them.
        let wanted = mesh.triangles()[corner / 3][corner % 3] as usize;
        assert_eq!(found.positions[3 * vertex as usize..][..3], mesh.positions()[wanted]);
        assert_eq!(
            found.normals[3 * vertex as usize..][..3],
            mesh.normals().unwrap()[wanted]
        );
        let [u, v] = mesh.uvs().unwrap()[corner / 3][corner % 3];
        assert_eq!(found.texcoords[2 * wedge as usize..][..2], [u, 1.0 - v]);
    }
}

#[test]
fn polygons_and_indices_from_the_end_are_read() {
    let text = "# a comment\nmtllib x.mtl\no thing\nv 0 0 0\nv 1 0 0 1.0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1\nvt 1 1 0\nvt 0 1\n\
        g top\ns off\nf -4/-4 -3/-3 -2/-2 -1/-1\r\nv 5 5 5\nf 1/1 2/2 -1/4\nl 1 2\n";
    let mesh = read(text.as_bytes()).unwrap();
    assert_eq!(mesh.triangles().len(), 3);
    assert_eq!(mesh.triangles()[2], [0, 1, 4]);
    assert_eq!(mesh.uvs().unwrap()[2], [[0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]);
    assert!(
        (0..2)
            .map(|t| mesh.triangle_area(mesh.triangles()[t]))
            .all(|area| (area - 0.5).abs() < 1e-6)
    );
    assert_eq!((mesh.normals(), mesh.colors()), (None, None));
}

#[test]
fn what_is_wrong_is_said() {
    for (text, wanted) in [
        ("v 0 0\n", "line 1: fewer than three"),
        ("v 0 0 zero\n", "\"zero\" is no number for v"),
        ("\nvn 0 1\n", "line 2: too few numbers for vn"),
        ("v 0 0 0\nf 1 1\n", "line 2: a face of 2 vertices"),
        ("v 0 0 0\nf 1 1 2\n", "v 2 is named, and there are 1"),
        ("v 0 0 0\nf 1 1 -2\n", "v -2 is named"),
        ("v 0 0 0\nf 1 1 0\n", "v 0 is named"),
        ("v 0 0 0\nf 1 /1 1\n", "vt 1 is named"),
        ("v 0 0 0\nf 1 // 1\n", "names no v"),
        ("v 0 0 0\nf 1 1/1 1\n", "vt 1 is named"),
        ("v 0 0 0\nf 1 a 1\n", "\"a\" is no index"),
        ("v 0 inf 0\n", "position 0 is not finite"),
    ] {
        let e = read(text.as_bytes()).unwrap_err().to_string();
        assert!(e.contains(wanted), "{e} is not {wanted}");
    }
    assert!(read(&vec![b'v'; 2 << 20][..]).is_err());
    for name in ["", "a b", "a\nb"] {
        let bad = Material {
            texture: name,
            ..MATERIAL
        };
        assert!(write(&Mesh::default(), Some(bad), &mut Vec::new()).is_err());
        assert!(write_material(bad, &mut Vec::new()).is_err());
    }
}

#[test]
fn damage_never_panics() {
    let whole = written(&textured(), Some(MATERIAL)).into_bytes();
    let random = Random::new(4);
    for round in 0..400 {
        let mut bytes = whole.clone();
        for change in 0..4 {
            let at = random.bits(round * 8 + change) as usize % bytes.len();
            bytes[at] = b"0123456789-/. \nvtnf"[random.bits(round * 8 + change + 4) as usize % 19];
        }
        let _ = read(&bytes[..]);
    }
}

#[test]
fn a_byte_order_mark_costs_no_corner() {
    let plain = "v 0 0 0\r\nv 1 0 0\r\nv 0 1 0\r\nf 1 2 3\r\n";
    let marked = [b"\xef\xbb\xbf", plain.as_bytes(), b"# caf\xe9\n"].concat();
    let [plain, marked] = [plain.as_bytes(), &marked].map(|bytes| read(bytes).unwrap());
    assert_eq!(
        (marked.positions(), marked.triangles()),
        (plain.positions(), plain.triangles())
    );
}
