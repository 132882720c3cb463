//! Small files that announce much: a header is believed as far as the bytes go.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::write::{GzEncoder, ZlibEncoder};
use flate2::{Compression, Crc};
use kiln::export::read_model;
use kiln::mesh::MeshFile;
use kiln_tests::runs::Scratch;
use serde_json::json;

/// Bytes per Gaussian of an SPZ file of degree 0: position, opacity, colour, scale, rotation.
const SPZ_BYTES: [usize; 5] = [9, 1, 3, 3, 4];

fn refused(path: &Path, word: &str) {
    let error = read_model(path).unwrap_err().to_string();
    assert!(
        error.contains(word) && error.contains(&path.display().to_string()),
        "{error}"
    );
}

fn spz_header(version: u32, count: u32, last: u8) -> Vec<u8> {
    let words = [0x5053_474e, version, count].map(u32::to_le_bytes);
    [words.as_flattened(), &[0, 12, 0, last]].concat()
}

/// SPZ of version 3, all values equal.
fn spz_of_gzip(path: &Path, count: u32) {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&spz_header(3, count, 0)).unwrap();
    let bytes = SPZ_BYTES.iter().sum::<usize>() * count as usize;
    packed.write_all(&vec![128; bytes]).unwrap();
    fs::write(path, packed.finish().unwrap()).unwrap();
}

/// A zstd frame of one byte over and over.
fn frame(bytes: usize) -> Vec<u8> {
    const BLOCK: usize = 1 << 17;
    // One segment, whose size has four bytes.
    let mut frame = [
        &0xfd2f_b528_u32.to_le_bytes()[..],
        &[0xa0],
        &(bytes as u32).to_le_bytes(),
    ]
    .concat();
    let mut left = bytes;
    while left > 0 {
        let size = left.min(BLOCK);
        left -= size;
        let head = (size << 3 | 1 << 1 | usize::from(left == 0)) as u32;
        frame.extend(&head.to_le_bytes()[..3]);
        frame.push(128);
    }
    frame
}

/// SPZ of version 4, all values equal.
fn spz_of_frames(path: &Path, count: u32) {
    let frames: Vec<_> = SPZ_BYTES
        .iter()
        .map(|each| (each * count as usize, frame(each * count as usize)))
        .collect();
    let mut bytes = spz_header(4, count, frames.len() as u8);
    bytes.extend(20_u32.to_le_bytes());
    for (size, frame) in &frames {
        bytes.extend((frame.len() as u64).to_le_bytes());
        bytes.extend((*size as u64).to_le_bytes());
    }
    frames.iter().for_each(|(_, frame)| bytes.extend(frame));
    fs::write(path, bytes).unwrap();
}

/// A black PNG of so many bits a pixel, 1 or 8 of grey or 24 of colour, packed as well as the format can.
pub(super) fn black([width, height]: [u32; 2], bits: u32) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let row = vec![0; 1 + (width * bits).div_ceil(8) as usize];
    (0..height).for_each(|_| packed.write_all(&row).unwrap());
    let (depth, color) = if bits == 24 { (8, 2) } else { (bits as u8, 0) };
    let head = [
        &width.to_be_bytes()[..],
        &height.to_be_bytes(),
        &[depth, color, 0, 0, 0],
    ]
    .concat();
    let mut picture = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, bytes) in [
        (b"IHDR", head),
        (b"IDAT", packed.finish().unwrap()),
        (b"IEND", Vec::new()),
    ] {
        let mut sum = Crc::new();
        sum.update(kind);
        sum.update(&bytes);
        picture.extend((bytes.len() as u32).to_be_bytes());
        picture.extend(kind);
        picture.extend(bytes);
        picture.extend(sum.sum().to_be_bytes());
    }
    picture
}

/// GLB whose primitives have all the same Gaussians.
fn glb(path: &Path, primitives: usize, gaussians: usize) {
    let names =
        ["ROTATION", "SCALE", "OPACITY", "SH_DEGREE_0_COEF_0"].map(|name| format!("KHR_gaussian_splatting:{name}"));
    let kinds = [
        ("POSITION", 3),
        (&names[0], 4),
        (&names[1], 3),
        (&names[2], 1),
        (&names[3], 3),
    ];
    let (mut accessors, mut binary, mut attributes) = (Vec::new(), Vec::new(), serde_json::Map::new());
    for (name, items) in kinds {
        attributes.insert(name.to_owned(), accessors.len().into());
        let kind = if items == 1 {
            "SCALAR".to_owned()
        } else {
            format!("VEC{items}")
        };
        accessors.push(json!({
            "bufferView": 0, "byteOffset": binary.len(), "componentType": 5126, "count": gaussians, "type": kind
        }));
        binary.extend((0..gaussians * items).flat_map(|_| 0.5_f32.to_le_bytes()));
    }
    let primitive = json!({ "attributes": attributes, "mode": 0, "extensions": { "KHR_gaussian_splatting": {} } });
    let document = json!({
        "asset": { "version": "2.0" }, "accessors": accessors, "meshes": [{ "primitives": vec![primitive; primitives] }],
        "buffers": [{ "byteLength": binary.len() }], "bufferViews": [{ "buffer": 0, "byteLength": binary.len() }],
        "nodes": [{ "mesh": 0 }],
    });
    let mut document = document.to_string().into_bytes();
    document.resize(document.len().next_multiple_of(4), b' ');
    let total = 28 + document.len() + binary.len();
    let mut bytes = Vec::new();
    for (words, part) in [
        ([0x4654_6c67, 2, total as u32].as_slice(), &[][..]),
        (&[document.len() as u32, 0x4e4f_534a], &document),
        (&[binary.len() as u32, 0x004e_4942], &binary),
    ] {
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(part);
    }
    fs::write(path, bytes).unwrap();
}

fn count(path: &Path) -> usize {
    read_model(path).unwrap().0.means.len()
}

#[test]
fn spz_unpacks_to_what_its_bytes_can_tell() {
    let scratch = Scratch::new("bombs-spz");
    let path: PathBuf = scratch.join("a.spz");
    for write in [spz_of_gzip, spz_of_frames] {
        write(&path, 20_000);
        assert_eq!(count(&path), 20_000);
        // 24 MB of Gaussians, of 8 KB or fewer.
        write(&path, 400_000);
        assert!(fs::metadata(&path).unwrap().len() < 50_000);
        refused(&path, "unpacks to more than 64 times its");
    }
    // What follows the last Gaussian is not unpacked without end.
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&spz_header(3, 0, 0)).unwrap();
    packed.write_all(&vec![0; 6 << 20]).unwrap();
    fs::write(&path, packed.finish().unwrap()).unwrap();
    refused(&path, "unpacks to more than");
}

#[test]
fn primitives_of_a_glb_share_numbers_within_reason() {
    let scratch = Scratch::new("bombs-glb");
    let path = scratch.join("a.glb");
    glb(&path, 3, 1000);
    assert_eq!(count(&path), 3000);
    glb(&path, 100, 1000);
    refused(&path, "repeats numbers");
}

#[test]
fn pictures_of_meshes_have_bytes_for_their_pixels() {
    let scratch = Scratch::new("bombs-picture");
    let mesh = scratch.join("a.obj");
    fs::write(
        &mesh,
        "mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n",
    )
    .unwrap();
    fs::write(scratch.join("a.mtl"), "newmtl m\nmap_Kd a.png\n").unwrap();
    let read = |side: u32| {
        fs::write(scratch.join("a.png"), black([side; 2], 8)).unwrap();
        MeshFile::read(&mesh).map(|file| file.texture.is_some())
    };
    assert!(read(1024).unwrap());
    let error = read(6000).unwrap_err().to_string();
    assert!(error.contains("a.png") && error.contains("imit"), "{error}");
}
