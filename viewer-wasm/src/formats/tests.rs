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
        let positions: Vec<f32> = batches.iter().flat_map(|batch| batch.positions.clone()).collect();
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
    assert_eq!((reader.len(), batches[0].positions.len()), (3, 9));
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
    assert_eq!(batches[0].positions, [1.0, -2.0, -3.0]);
    assert!(
        read("x.glb", &whole[..whole.len() - 4], 9)
            .unwrap_err()
            .contains("cut off")
    );
    assert!(
        read("x.glb", &glb("KHR_materials_unlit"), 9)
            .unwrap_err()
            .contains("mesh")
    );
}

#[test]
fn what_is_not_opened_is_named_with_what_converts_it() {
    for (name, bytes, words) in [
        ("a.sog", b"PK\x03\x04xyz".as_slice(), "splat-transform"),
        ("a.ksplat", b"\0\x01abcdef", "splat-transform"),
        ("a.obj", b"v 0 0 0\n", "mesh"),
        ("a.txt", b"hello there", "no file of splats"),
        ("a.spz", b"NGSP\x03\0\0\0", "cut off"),
        ("a.ply", b"ply\nformat ascii 1.0\nend_header\n", "kiln export"),
        ("a.ply", b"p", "empty"),
    ] {
        let refusal = read(name, bytes, 100).unwrap_err();
        assert!(refusal.contains(words), "{name}: {refusal}");
    }
}
