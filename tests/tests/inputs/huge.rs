//! Photos, masks and maps of some kilobytes whose headers ask for gigabytes, and flat ones that are as large as their camera says.

use std::fs;
use std::path::Path;

use kiln_scene::{Axes, SceneIndex, SceneOptions, Split, ViewId, decode};
use kiln_tests::child;
use kiln_tests::runs::Scratch;

use super::bombs::black;

/// Most memory that a file may take, bytes.
const MOST_BYTES: u64 = 256 << 20;
/// That of a file that is refused by its header.
const REFUSED_BYTES: u64 = 16 << 20;

/// Lossless WebP of one colour: each code has one symbol, so that pixels take no bits.
fn webp([width, height]: [u32; 2]) -> Vec<u8> {
    let sizes = (width - 1) | (height - 1) << 14 | 1 << 28;
    // No transform, no cache, no groups; then five codes of one symbol, which is 0.
    let codes = (0..5).fold(0_u64, |bits, at| bits | 1 << (3 + 4 * at));
    let data = [&[0x2f][..], &sizes.to_le_bytes(), &codes.to_le_bytes(), &[0; 5]].concat();
    let chunk = [&b"WEBPVP8L"[..], &(data.len() as u32).to_le_bytes(), &data].concat();
    [&b"RIFF"[..], &(chunk.len() as u32).to_le_bytes(), &chunk].concat()
}

/// A progressive JPEG whose scan is empty.
fn jpeg([width, height]: [u32; 2]) -> Vec<u8> {
    let side = |side: u32| (side as u16).to_be_bytes();
    let frame = [
        &[0xff, 0xc2, 0, 17, 8][..],
        &side(height),
        &side(width),
        &[3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0],
    ];
    [
        &[0xff, 0xd8][..],
        &frame.concat(),
        &[0xff, 0xda, 0, 8, 1, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xd9],
    ]
    .concat()
}

/// TIFF of colours of 16 bits, whose one strip is empty.
fn tiff([width, height]: [u32; 2]) -> Vec<u8> {
    let entries = [
        (256, width),
        (257, height),
        (258, 16),
        (259, 8),
        (262, 2),
        (273, 8),
        (277, 3),
        (278, height),
        (279, 4),
    ];
    let entry = |(tag, value): (u16, u32)| [&tag.to_le_bytes()[..], &[4, 0, 1, 0, 0, 0], &value.to_le_bytes()].concat();
    let count = (entries.len() as u16).to_le_bytes();
    [&b"II*\0\x08\0\0\0"[..], &count, &entries.map(entry).concat(), &[0; 8]].concat()
}

/// EXR of one channel of half floats, and no pixels.
fn exr([width, height]: [u32; 2]) -> Vec<u8> {
    let window: Vec<u8> = [0, 0, width - 1, height - 1]
        .iter()
        .flat_map(|side| side.to_le_bytes())
        .collect();
    let one = 1_f32.to_le_bytes();
    let channels = [&b"Y\0\x01\0\0\0\0\0\0\0\x01\0\0\0\x01\0\0\0"[..], &[0]].concat();
    let attributes: [(&str, &str, &[u8]); 8] = [
        ("channels", "chlist", &channels),
        ("compression", "compression", &[3]),
        ("dataWindow", "box2i", &window),
        ("displayWindow", "box2i", &window),
        ("lineOrder", "lineOrder", &[0]),
        ("pixelAspectRatio", "float", &one),
        ("screenWindowCenter", "v2f", &[0; 8]),
        ("screenWindowWidth", "float", &one),
    ];
    let attribute = |(name, kind, value): (&str, &str, &[u8])| {
        [
            name.as_bytes(),
            &[0],
            kind.as_bytes(),
            &[0],
            &(value.len() as u32).to_le_bytes(),
            value,
        ]
        .concat()
    };
    [
        &[0x76, 0x2f, 0x31, 1, 2, 0, 0, 0][..],
        &attributes.map(attribute).concat(),
        &[0; 9],
    ]
    .concat()
}

/// A scene of one photo that its camera has a size for.
fn scene(root: &Path, [width, height]: [u32; 2], photo: &[u8]) {
    fs::create_dir_all(root.join("maps")).unwrap();
    fs::write(root.join("a.png"), photo).unwrap();
    let text = format!(
        r#"{{"fl_x":{width},"w":{width},"h":{height},"frames":[
            {{"file_path":"a.png","transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,3],[0,0,0,1]]}}]}}"#
    );
    fs::write(root.join("transforms.json"), text).unwrap();
}

/// Loads the scene and decodes its photo; what is wrong with it.
fn look(root: &Path, options: &SceneOptions) -> Result<(), String> {
    let options = SceneOptions {
        eval: false,
        ..options.clone()
    };
    let scene = SceneIndex::load(root, &options).map_err(|error| error.to_string())?;
    let id = ViewId {
        split: Split::Train,
        index: 0,
    };
    decode(&scene, id, [0.0; 3])
        .map(drop)
        .map_err(|error| error.to_string())
}

fn status(line: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let value = text.lines().find_map(|found| found.strip_prefix(line)).unwrap();
    value.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// Memory that `read` needs beside what there is, bytes.
fn taken(read: impl FnOnce()) -> u64 {
    fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status("VmRSS:");
    read();
    status("VmHWM:").saturating_sub(before)
}

fn assert_refused(root: &Path, options: &SceneOptions, name: &str) {
    let taken = taken(|| {
        let error = look(root, options).unwrap_err();
        assert!(
            error.contains("asks for") && error.contains("pixels, and its"),
            "{name}: {error}"
        );
    });
    assert!(taken < REFUSED_BYTES, "{name}: {} KiB", taken >> 10);
}

/// Alone in its process, for others to take no memory meanwhile.
#[test]
fn a_header_is_believed_as_far_as_the_bytes_go() {
    if child::role().is_none() {
        child::run(
            module_path!(),
            "a_header_is_believed_as_far_as_the_bytes_go",
            "alone",
            &[],
        );
        return;
    }
    let scratch = Scratch::new("huge");
    let (large, small) = ([16_000, 12_000], [320, 240]);
    let files = [
        ("PNG", black(large, 1)),
        ("JPEG", jpeg(large)),
        ("WebP", webp(large)),
        ("TIFF", tiff(large)),
        ("EXR", exr(large)),
    ];
    let usual = SceneOptions::default();
    for (name, file) in &files {
        assert!(file.len() < 32 << 10, "{name} has {} bytes", file.len());
        let root = scratch.join(&format!("photo-{name}"));
        scene(&root, large, file);
        assert_refused(&root, &usual, name);
        // As the mask of a photo that is small, and as one of its maps.
        let root = scratch.join(&format!("beside-{name}"));
        scene(&root, small, &black(small, 24));
        fs::write(root.join("a.mask.png"), file).unwrap();
        assert_refused(&root, &usual, name);
        fs::remove_file(root.join("a.mask.png")).unwrap();
        fs::write(root.join("maps/a.png"), file).unwrap();
        let maps = Some("maps".into());
        for (depths, normals) in [(maps.clone(), None), (None, maps.map(|folder| (folder, Axes::Opengl)))] {
            let options = SceneOptions {
                depths,
                normals,
                ..usual.clone()
            };
            assert_refused(&root, &options, name);
        }
    }
    // A picture that its file has bytes for, but no use for nobody: its camera is small.
    let root = scratch.join("enlarged");
    scene(&root, [160, 120], &black([4000, 3000], 8));
    let error = look(&root, &usual).unwrap_err();
    assert!(error.contains("more than 16 times as large"), "{error}");
}

/// The largest that are let in with few bytes, of one colour each.
#[test]
fn flat_photos_as_large_as_their_camera_are_read_in_bounded_memory() {
    if child::role().is_none() {
        let said = child::run(
            module_path!(),
            "flat_photos_as_large_as_their_camera_are_read_in_bounded_memory",
            "alone",
            &[],
        );
        said.lines()
            .filter(|line| line.contains("figures: "))
            .for_each(|line| println!("{line}"));
        return;
    }
    let scratch = Scratch::new("huge-flat");
    for (name, size_px, file) in [
        ("PNG of 24 megapixels", [6000, 4000], black([6000, 4000], 24)),
        ("grey PNG of 40", [8000, 5000], black([8000, 5000], 8)),
        ("WebP of 13", [4160, 3120], webp([4160, 3120])),
    ] {
        let root = scratch.join(name);
        scene(&root, size_px, &file);
        let taken = taken(|| look(&root, &SceneOptions::default()).unwrap());
        println!("figures: {name}, {} bytes, {} MiB", file.len(), taken >> 20);
        assert!(taken < MOST_BYTES, "{name}: {} MiB", taken >> 20);
    }
}
