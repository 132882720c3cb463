#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;

fn read(name: &str, bytes: &[u8], piece: usize) -> Result<(Reader, Vec<Batch>), Refusal> {
    let mut reader = Reader::new(name);
    for piece in bytes.chunks(piece) {
        reader.push(piece)?;
    }
    reader.finish()?;
    let ready = reader.take_ready();
    Ok((reader, ready))
}

/// SPZ of version 2 or 3 without its compression: two splats of degree 1.
fn spz(version: u32) -> Vec<u8> {
    let mut bytes = b"NGSP".to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend([1, 8, 1, 0]);
    for value in [256_i32, -512, 768, 0, 0, -1] {
        bytes.extend(&value.to_le_bytes()[..3]);
    }
    bytes.extend([255, 128]);
    bytes.extend([128; 6]);
    bytes.extend([160, 144, 128, 96, 96, 96]);
    match version {
        2 => bytes.extend([128, 128, 128, 255, 128, 128]),
        _ => {
            bytes.extend((3_u32 << 30).to_le_bytes());
            bytes.extend((1_u32 << 29 | 434 << 20).to_le_bytes());
        }
    }
    bytes.extend([192, 128, 128, 128, 128, 128, 128, 128, 128]);
    bytes.extend([128; 9]);
    bytes
}

#[test]
fn spz_comes_out_in_the_axes_of_ply() {
    for version in [2, 3] {
        let (reader, batches) = read("x.spz", &spz(version), 7).unwrap();
        let model = reader.model().unwrap();
        assert_eq!(
            (model.count, model.degree, reader.len(), reader.skipped()),
            (2, 1, 2, 0)
        );
        assert!(matches!(model.filter, Filter::Mip(_)));
        let positions: Vec<f32> = batches.iter().flat_map(|batch| batch.positions()).collect();
        assert_eq!(positions, [1.0, 2.0, -3.0, 0.0, 0.0, 1.0 / 256.0], "version {version}");
    }
    let whole = spz(3);
    assert!(
        read("x.spz", &whole[..whole.len() - 1], 100)
            .unwrap_err()
            .contains("cut off")
    );
    let mut other = whole.clone();
    other[4] = 9;
    assert!(read("x.spz", &other, 100).unwrap_err().contains("version 9"));
    other[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read("x.spz", &other, 100).is_err(), "a count is not believed");
}

#[test]
fn dot_splat_rows_are_read() {
    let mut row = Vec::new();
    for value in [1.0_f32, 2.0, 3.0, 0.5, 0.25, 0.125] {
        row.extend(value.to_le_bytes());
    }
    row.extend([255, 0, 128, 255, 255, 128, 128, 128]);
    let (reader, batches) = read("A.SPLAT", &row.repeat(3), 5).unwrap();
    assert_eq!((reader.len(), batches[0].positions().len()), (3, 9));
    assert!(read("a.splat", &row[..31], 50).unwrap_err().contains("32 bytes"));
}

/// A GLB of one splat; `extension` names that of its primitive.
fn glb(extension: &str) -> Vec<u8> {
    let names = ["POSITION", "ROTATION", "SCALE", "OPACITY", "SH_DEGREE_0_COEF_0"];
    let shapes = [3, 4, 3, 1, 3];
    let (mut attributes, mut accessors, mut views, mut at) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for (index, (name, n)) in names.into_iter().zip(shapes).enumerate() {
        let prefix = if index == 0 { String::new() } else { format!("{EXT}:") };
        attributes.push(format!("\"{prefix}{name}\":{index}"));
        accessors.push(format!("{{\"bufferView\":{index},\"componentType\":5126,\"count\":1}}"));
        views.push(format!("{{\"buffer\":0,\"byteOffset\":{at},\"byteLength\":{}}}", 4 * n));
        at += 4 * n;
    }
    let mut text = format!(
        "{{\"meshes\":[{{\"primitives\":[{{\"attributes\":{{{}}},\"extensions\":{{\"{extension}\":{{}}}}}}]}}],\
         \"accessors\":[{}],\"bufferViews\":[{}]}}",
        attributes.join(","),
        accessors.join(","),
        views.join(",")
    );
    text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(4) - text.len()));
    let values = [1.0_f32, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0, 0.1, 0.2, 0.3, 0.5, 0.0, 0.1, 0.2];
    let mut bytes = b"glTF".to_vec();
    bytes.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend((text.len() as u32).to_le_bytes());
    bytes.extend(b"JSON");
    bytes.extend(text.as_bytes());
    bytes.extend((4 * values.len() as u32).to_le_bytes());
    bytes.extend(b"BIN\0");
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

const EXT: &str = "KHR_gaussian_splatting";

#[test]
fn glb_with_the_extension_is_read_and_meshes_are_named() {
    let whole = glb(EXT);
    let (reader, batches) = read("x.glb", &whole, 9).unwrap();
    assert_eq!((reader.len(), reader.model().unwrap().degree), (1, 0));
    assert_eq!(batches[0].positions(), [1.0, -2.0, -3.0]);
    assert!(
        read("x.glb", &whole[..whole.len() - 4], 9)
            .unwrap_err()
            .contains("cut off")
    );
    let required = |name: &str| {
        let list = format!("{{\"extensionsRequired\":[\"{EXT}\",\"{name}\"],\"meshes\"");
        let text = String::from_utf8_lossy(&whole[20..]).into_owned();
        let length = u32::from_le_bytes(whole[12..16].try_into().unwrap()) as usize;
        let mut text = text[..length].replacen("{\"meshes\"", &list, 1);
        text.extend(std::iter::repeat_n(' ', text.len().next_multiple_of(4) - text.len()));
        let mut bytes = whole[..12].to_vec();
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(b"JSON");
        bytes.extend(text.as_bytes());
        bytes.extend(&whole[20 + length..]);
        read("x.glb", &bytes, 9).map(|(reader, _)| reader.len())
    };
    assert_eq!(required("KHR_materials_unlit"), Ok(1));
    let refused = required("EXT_meshopt_compression").unwrap_err();
    assert!(refused.contains("requires EXT_meshopt_compression"), "{refused}");
    // Without the extension it is read as a mesh, and this one is none.
    assert!(read("x.glb", &glb("KHR_materials_unlit"), 9).is_err());
}

#[test]
fn meshes_are_told_from_points_and_splats() {
    let header = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n";
    let faces = "element face 1\nproperty list uchar int vertex_indices\nend_header\n";
    let whole = format!("{header}{faces}0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n");
    for piece in [1, 7, 1000] {
        let (mut reader, batches) = read("a.ply", whole.as_bytes(), piece).unwrap();
        let surface = reader.take_surface().unwrap();
        assert_eq!((surface.n_triangles(), batches.len(), reader.model()), (1, 0, None));
    }
    let obj = b"mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
    let (mut reader, _) = read("A.OBJ", obj, 5).unwrap();
    assert_eq!(reader.take_surface().unwrap().library.as_deref(), Some("a.mtl"));
    assert!(read("a.obj", b"v 0 0 0\nf 1 2 3\n", 99).is_err());
}

#[test]
fn meshes_that_the_library_writes_are_read_the_same() {
    let positions = vec![[0.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 3.0], [1.0, 1.0, 4.0]];
    let mesh = kiln_mesh::Mesh::new(positions.clone(), vec![[0, 1, 2], [2, 1, 3]]).unwrap();
    let mesh = mesh.with_colors(vec![[1.0, 0.5, 0.25]; 4]).unwrap().with_own_normals();
    let mut files: [(&str, Vec<u8>); 3] = [("a.ply", Vec::new()), ("a.obj", Vec::new()), ("a.glb", Vec::new())];
    kiln_mesh::ply::write(&mesh, &[], &mut files[0].1).unwrap();
    kiln_mesh::obj::write(&mesh, None, &mut files[1].1).unwrap();
    kiln_mesh::glb::write(&mesh, None, &mut files[2].1).unwrap();
    let wanted: Vec<f32> = [0, 1, 2, 2, 1, 3].iter().flat_map(|at| positions[*at]).collect();
    for (name, bytes) in &files {
        let surface = read(name, bytes, 97).unwrap().0.take_surface().unwrap();
        assert_eq!(surface.positions, wanted, "{name}");
        assert!(surface.has_colors && !surface.has_uvs, "{name}");
        assert_eq!(surface.corners[20], 255, "{name}");
        assert!(
            surface.corners[21].abs_diff(128) <= 1 && surface.corners[22].abs_diff(64) <= 1,
            "{name}"
        );
        let longest = surface.corners[24..27]
            .iter()
            .map(|byte| byte.cast_signed().unsigned_abs())
            .max();
        assert!(longest > Some(60), "{name} has normals");
        // Cut off anywhere, it is refused or shorter, and never more than that.
        for cut in [bytes.len() / 3, bytes.len() / 2, bytes.len() - 1] {
            if let Ok((mut reader, _)) = read(name, &bytes[..cut], 1000) {
                assert!(
                    reader.take_surface().is_none_or(|surface| surface.n_triangles() <= 2),
                    "{name}"
                );
            }
        }
    }
    let library = "newmtl m\nKd 1 1 1\nmap_Kd -s 1 1 1 tex.png\nmap_Kd b c.jpg\n";
    assert_eq!(mesh::pictures(library), ["tex.png", "b c.jpg"]);
}

#[test]
fn sog_is_opened_whatever_its_name() {
    let (reader, batches) = read("x", &sog::tests::archive(40, 2), 1000).unwrap();
    let model = reader.model().unwrap();
    assert_eq!(
        (model.count, model.degree, reader.len(), reader.skipped()),
        (40, 2, 40, 0)
    );
    assert_eq!(batches.iter().map(Batch::len).sum::<usize>(), 40);
}

#[test]
fn what_is_not_opened_is_named_with_what_converts_it() {
    for (name, bytes, words) in [
        ("a.sog", b"PK\x03\x04xyz".as_slice(), "truncated or no archive"),
        ("lod-meta.json", b"{\"version\":1}", "kiln view FOLDER"),
        ("a.ksplat", b"\0\x01abcdef", "splat-transform"),
        ("a.obj", b"v 0 0 0\n", "no triangles"),
        ("a.stl", b"solid x\n", "OBJ, GLB and PLY"),
        ("a.txt", b"hello there", "neither splats nor a mesh"),
        ("a.spz", b"NGSP\x03\0\0\0", "cut off"),
        ("a.ply", b"ply\nformat ascii 1.0\nend_header\n", "kiln export"),
        ("a.ply", b"p", "empty"),
    ] {
        let refusal = read(name, bytes, 100).unwrap_err();
        assert!(refusal.contains(words), "{name}: {refusal}");
    }
}
