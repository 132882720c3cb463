//! Folders with levels of detail: of a model in memory and of a file that is read in parts, and the tree of 3D Tiles.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use kiln::export::{
    Chosen, DeliveryError, Format, PlyFlavor, PlyParts, Stop, deliver, deliver_levels, read_ply, write_ply,
};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;
use serde_json::{Value, json};

use crate::exports::model::{MIP, Splat, random};
use crate::exports::tiles;

/// Three leaves and more.
const COUNT: usize = 40_000;
/// Binary digits and steps of positions in its tiles.
const BITS: u32 = 12;
const STEP: f64 = 1.0 / 4096.0;

/// A file of a model, and the model as it is read again.
fn file(scratch: &Scratch, count: usize, degree: u32) -> (std::path::PathBuf, Gaussians) {
    let path = scratch.join("model.ply");
    write_ply(&path, &random(count, degree, 9), PlyFlavor::Fused, MIP).expect("a file");
    let model = read_ply(&path).expect("a model").0;
    (path, model)
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() {
                open.push(entry);
            } else {
                let name = entry.strip_prefix(folder).expect("inside").display().to_string();
                found.insert(name, fs::read(entry).expect("a file"));
            }
        }
    }
    found
}

/// A file that is read in parts gives the bytes of the model in memory, of a part of it too.
#[test]
fn parts_give_the_same_folder() {
    let scratch = Scratch::new("levels");
    let (path, model) = file(&scratch, COUNT, 0);
    let crop = Subset {
        crop: Some([-0.5, -10.0, -10.0, 10.0, 10.0, 10.0]),
        ..Subset::default()
    };
    for (format, subset) in [
        (Format::StreamedSog, Subset::default()),
        (Format::Tiles, Subset::default()),
        (Format::Tiles, crop),
    ] {
        let [whole, parts] = ["whole", "parts"].map(|name| scratch.join(name));
        let chosen = Chosen::new(&model, &subset).expect("Gaussians");
        let wanted = deliver(&whole, chosen, format, MIP).expect("a folder");
        let mut open = PlyParts::open(&path).expect("a file");
        let found = deliver_levels(&parts, &mut open, &subset, format, Stop::default()).expect("a folder");
        assert_eq!(found, wanted);
        assert!(files(&whole) == files(&parts), "{}", format.name());
        [whole, parts]
            .iter()
            .for_each(|folder| fs::remove_dir_all(folder).expect("no folder"));
    }
    let far = Subset {
        crop: Some([1e6, 1e6, 1e6, 2e6, 2e6, 2e6]),
        ..Subset::default()
    };
    let mut open = PlyParts::open(&path).expect("a file");
    let error =
        deliver_levels(&scratch.join("none"), &mut open, &far, Format::Tiles, Stop::default()).expect_err("nothing");
    assert!(matches!(error, DeliveryError::OutsideCrop { .. }), "{error}");
    assert!(!scratch.join("none").exists());
}

/// What a tile holds, checked against its children: boxes lie in boxes, errors fall, counts halve.
fn checked(tile: &Value, folder: &Path, leaves: &mut Vec<[f64; 3]>) -> usize {
    let numbers = |value: &Value| -> Vec<f64> {
        value
            .as_array()
            .expect("numbers")
            .iter()
            .flat_map(Value::as_f64)
            .collect()
    };
    let corners = |tile: &Value| {
        let b = numbers(&tile["boundingVolume"]["box"]);
        assert_eq!(b.len(), 12);
        [0, 1, 2].map(|axis| [b[axis] - b[3 + 4 * axis], b[axis] + b[3 + 4 * axis]])
    };
    let uri = tile["content"]["uri"].as_str().expect("a name");
    let (_, header, splats) = tiles::read(&folder.join(uri));
    assert_eq!(header.fraction_bits, BITS);
    let own = corners(tile);
    for Splat { mean, .. } in &splats {
        // the scene's y is down, that of tiles is up and called z
        let place = [mean[0], mean[2], -mean[1]];
        let inside = (0..3).all(|axis| own[axis][0] - STEP <= place[axis] && place[axis] <= own[axis][1] + STEP);
        assert!(inside, "{place:?} {own:?}");
    }
    assert_eq!(tile["refine"], "REPLACE");
    let error = tile["geometricError"].as_f64().expect("a number");
    let Some(children) = tile.get("children") else {
        assert_eq!(error, 0.0);
        leaves.extend(splats.iter().map(|splat| splat.mean));
        return splats.len();
    };
    let mut below = 0;
    for child in children.as_array().expect("tiles") {
        let inner = corners(child);
        assert!((0..3).all(|axis| own[axis][0] <= inner[axis][0] + 1e-5 && inner[axis][1] <= own[axis][1] + 1e-5));
        assert!(child["geometricError"].as_f64().expect("a number") <= error && error > 0.0);
        below += checked(child, folder, leaves);
    }
    assert!(splats.len().abs_diff(below / 2) <= 4, "{} for {below}", splats.len());
    splats.len()
}

#[test]
fn tiles_replace_each_other() {
    let scratch = Scratch::new("levels");
    for (count, levels) in [(600, 1), (COUNT, 3)] {
        let (path, model) = file(&scratch, count, 1);
        let folder = scratch.join("tiles");
        let mut open = PlyParts::open(&path).expect("a file");
        let made =
            deliver_levels(&folder, &mut open, &Subset::default(), Format::Tiles, Stop::default()).expect("a folder");
        assert_eq!((made.levels.len(), made.levels[0]), (levels, count as u64));
        let text = fs::read(folder.join("tileset.json")).expect("a file");
        let tileset: Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!(tileset["asset"]["version"], "1.1");
        assert_eq!(tileset["extensionsRequired"], json!(["3DTILES_content_gltf"]));
        let names = json!(["KHR_gaussian_splatting", "KHR_gaussian_splatting_compression_spz_2"]);
        let content = json!({ "extensionsUsed": names, "extensionsRequired": names });
        assert_eq!(tileset["extensions"]["3DTILES_content_gltf"], content);
        let mut found = Vec::new();
        checked(&tileset["root"], &folder, &mut found);
        let rounded = |value: f32| (f64::from(value) / STEP).round() * STEP;
        let mut wanted: Vec<[f64; 3]> = model.means.iter().map(|mean| mean.map(rounded)).collect();
        for means in [&mut found, &mut wanted] {
            means.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        }
        assert!(found == wanted);
        let error = deliver_levels(&folder, &mut open, &Subset::default(), Format::Tiles, Stop::default())
            .expect_err("there already");
        assert!(matches!(error, DeliveryError::Exists { .. }), "{error}");
        fs::remove_dir_all(&folder).expect("no folder");
    }
}
