//! Checkpoints on disks that fail, lose power or fill up, and in files that are damaged.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use super::file::{CheckpointError, CheckpointReader, CheckpointWriter, Held};
use super::folder::{checkpoint_path, list, newest_sound, write};
use crate::export::simulated::{Fault, Files, SimulatedDisk, lay_out};
use crate::export::{Disk, ExportError, RealDisk};
use kiln_scratch::Scratch;

/// The run folder on the simulated disk; `checkpoints` in it is made by the first one.
const ROOT: &str = "/run";

/// Power cuts tried at each point.
const CUTS: u64 = 8;

impl Held for String {
    fn floats(&self) -> &'static [&'static str] {
        &["geometry"]
    }

    fn rows(&self) -> &'static str {
        "Gaussians"
    }
}

fn folder() -> std::path::PathBuf {
    Path::new(ROOT).join("checkpoints")
}

/// What tensor `t` of iteration `it` holds.
fn tensor(it: u32, t: u32) -> Vec<u8> {
    (0..40 + 30 * t).map(|k| (it * 31 + t * 7 + k) as u8).collect()
}

/// Iterations whose checkpoints are asked for by number.
const ASKED: &[u32] = &[3, 11, 13];

fn save(disk: &Arc<dyn Disk>, folder: &Path, it: u32) -> Result<(), ExportError> {
    let bytes = (0..3).map(|t| tensor(it, t).len() as u64).sum();
    let saved = write(
        disk.clone(),
        (folder, ASKED),
        it,
        bytes,
        &format!("state of {it}"),
        |writer| {
            for t in 0..3 {
                writer.begin(&format!("tensor.{t}"));
                let bytes = tensor(it, t);
                let (a, b) = bytes.split_at(bytes.len() / 3);
                writer.put(a)?;
                writer.put(b)?;
            }
            Ok(())
        },
    );
    saved.map(|path| assert_eq!(path, checkpoint_path(folder, it)))
}

#[test]
fn what_a_smaller_run_makes_of_a_model_is_told() {
    assert!(super::notes([3, 3], [500, 500]).is_empty());
    assert_eq!(
        super::notes([3, 1], [5934, 500]),
        [
            "the checkpoint has SH degree 3: coefficients above degree 1 are dropped",
            "the model keeps its 5934 Gaussians, which are more than the 500 of `memory.max_gaussians`, and grows no more"
        ]
    );
}

/// The iteration that a run in `folder` would go on from, after comparing every byte.
fn loaded(folder: &Path) -> Option<u32> {
    let ((path, mut reader), _) = newest_sound::<String>(folder).ok()?;
    let it: u32 = reader.state().strip_prefix("state of ").unwrap().parse().unwrap();
    assert_eq!(path, checkpoint_path(folder, it));
    for t in 0..3 {
        let mut found = Vec::new();
        let wanted = tensor(it, t);
        reader
            .read(&format!("tensor.{t}"), wanted.len() as u64, |_, piece| {
                found.extend_from_slice(piece)
            })
            .unwrap();
        assert_eq!(found, wanted);
    }
    Some(it)
}

fn loaded_from(files: &Files, scratch: &Scratch) -> Option<u32> {
    let real = scratch.path().join("image");
    lay_out(files, Path::new(ROOT), &real);
    loaded(&real.join("checkpoints"))
}

/// A disk on which a run has saved at these iterations.
fn disk_with(saved: &[u32]) -> SimulatedDisk {
    let disk = SimulatedDisk::with_folder(Path::new(ROOT));
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    for it in saved {
        save(&shared, &folder(), *it).unwrap();
    }
    disk
}

/// Saves iteration 30 after `saved` with a fault at every call in turn. What is found then is the last that was saved
/// before, or 30; and it is 30 when saving succeeded.
fn survives(saved: &[u32], fault: Fault) {
    let scratch = Scratch::new();
    let previous = saved.last().copied();
    let start = disk_with(saved);
    let whole = start.copy();
    save(&(Arc::new(whole.clone()) as Arc<dyn Disk>), &folder(), 30).unwrap();
    let calls = whole.calls() - start.calls();
    assert!(calls > 15, "{calls} calls");
    for at in 1..=calls {
        let disk = start.copy();
        disk.fail(at, fault);
        let shared: Arc<dyn Disk> = Arc::new(disk.clone());
        let reported = save(&shared, &folder(), 30).is_ok();
        let context = |what: &str| format!("{saved:?}, {fault:?} at call {at} of {calls}: {what}");
        let fits = |found: Option<u32>| found == Some(30) || (!reported && found == previous);
        assert!(fits(loaded_from(&disk.seen(), &scratch)), "{}", context("as seen"));
        for seed in 0..CUTS {
            let found = loaded_from(&disk.after_power_cut(seed), &scratch);
            assert!(fits(found), "{}", context(&format!("{found:?} after power cut {seed}")));
        }
        if let Fault::Refuse(_) = fault {
            // Once the disk works again, so does saving, and nothing has piled up.
            save(&shared, &folder(), 30).unwrap();
            assert_eq!(loaded_from(&disk.seen(), &scratch), Some(30), "{}", context("again"));
            let left = disk
                .seen()
                .into_keys()
                .filter(|path| path.to_string_lossy().contains(".tmp"));
            // Removing the temporary file is the one call whose failure leaves it there.
            assert!(left.count() <= usize::from(!reported), "{}", context("leftovers"));
        }
    }
}

#[test]
fn whichever_call_fails_a_sound_checkpoint_is_found() {
    for saved in [&[][..], &[10], &[10, 20]] {
        survives(saved, Fault::Refuse(ErrorKind::Other));
        survives(saved, Fault::Refuse(ErrorKind::StorageFull));
    }
}

#[test]
fn wherever_the_process_dies_a_sound_checkpoint_is_found() {
    for saved in [&[][..], &[10], &[10, 20]] {
        survives(saved, Fault::Die);
    }
}

/// With too little space the error says so, the files are as before, and no temporary file keeps the rest of the space.
#[test]
fn a_full_disk_costs_nothing() {
    let start = disk_with(&[10, 20]);
    let before = start.seen();
    let used: u64 = before.values().map(|bytes| bytes.len() as u64).sum();
    let scratch = Scratch::new();
    let mut full = 0;
    for room in (0..70_000).step_by(997) {
        let disk = start.copy();
        disk.limit(used + room);
        let calls = disk.calls();
        match save(&(Arc::new(disk.clone()) as Arc<dyn Disk>), &folder(), 30) {
            Ok(()) => assert_eq!(loaded_from(&disk.seen(), &scratch), Some(30)),
            Err(error) => {
                full += 1;
                assert!(matches!(error, ExportError::DiskFull { .. }), "{error}");
                assert_eq!(disk.seen(), before);
                // Folder, temporary file, reservation, removal: no byte was written.
                assert_eq!(disk.calls() - calls, 4);
            }
        }
    }
    assert!((60..71).contains(&full), "{full} of 71 did not fit");
}

#[test]
fn the_new_one_and_the_one_before_it_are_kept() {
    let scratch = Scratch::new();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let check = |saved: &[u32], kept: &[u32]| {
        let folder = scratch.path().join(format!("{saved:?}"));
        for it in saved {
            save(&disk, &folder, *it).unwrap();
        }
        let wanted: Vec<_> = kept.iter().map(|it| checkpoint_path(&folder, *it)).collect();
        assert_eq!(list(&folder), wanted);
    };
    check(&[5], &[5]);
    check(&[5, 7, 9], &[9, 7]);
    // Saved again at the same iteration.
    check(&[5, 7, 7], &[7, 5]);
    // Gone back to 5: what came later is of a past that the run has left.
    check(&[5, 70, 7], &[7, 5]);
    check(&[99_999_999, 100_000_000], &[100_000_000, 99_999_999]);
    // Asked for by number.
    check(&[1, 3, 5, 7, 11, 13, 15, 17], &[17, 15, 13, 11, 3]);
    check(&[3, 5, 11, 13, 5], &[5, 3]);
    let folder = scratch.path().join(format!("{:?}", [1, 3, 5, 7, 11, 13, 15, 17]));
    assert_eq!(super::kept(&folder), [13, 11, 3]);
}

/// Every byte of a checkpoint matters: with any of them changed, or the file cut anywhere, or more at its end, the one
/// before it is found and the damage is reported.
#[test]
fn damage_at_any_byte_is_found() {
    let scratch = Scratch::new();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    for it in [10, 20] {
        save(&disk, scratch.path(), it).unwrap();
    }
    let newest = checkpoint_path(scratch.path(), 20);
    let sound = std::fs::read(&newest).unwrap();
    assert!((500..4000).contains(&sound.len()));
    let check = |bytes: &[u8], what: &str| {
        std::fs::write(&newest, bytes).unwrap();
        assert_eq!(loaded(scratch.path()), Some(10), "{what}");
        let (_, passed) = newest_sound::<String>(scratch.path()).unwrap();
        assert!(
            matches!(&passed[..], [reported] if reported.contains("checkpoint_00000020.kiln")),
            "{what}: {passed:?}"
        );
        let read = std::io::Cursor::new(bytes);
        assert!(CheckpointReader::<String, _>::sound(&newest, read).is_err(), "{what}");
    };
    for at in 0..sound.len() {
        check(&sound[..at], &format!("cut at {at}"));
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = sound.clone();
            bytes[at] ^= flip;
            check(&bytes, &format!("byte {at} changed by {flip:#x}"));
        }
    }
    check(&[&sound[..], &[0]].concat(), "a byte more");
    check(&[&sound[..], &sound[..]].concat(), "twice");
    std::fs::write(&newest, &sound).unwrap();
    assert_eq!(loaded(scratch.path()), Some(20));
    for it in [10, 20] {
        std::fs::write(checkpoint_path(scratch.path(), it), "").unwrap();
    }
    let Err(error) = newest_sound::<String>(scratch.path()) else {
        panic!("an empty file was taken for a checkpoint");
    };
    assert!(error.to_string().contains("shorter"), "{error}");
}

#[test]
fn another_format_is_no_damage() {
    let scratch = Scratch::new();
    let path = checkpoint_path(scratch.path(), 10);
    let mut writer = CheckpointWriter::new(Vec::new()).unwrap();
    writer.begin("a");
    let mut bytes = writer.finish(&"state".to_owned()).unwrap();
    let end = bytes.len() - 1;
    for (first, last, found) in [(b'1', b'1', Some('1')), (b'1', b'3', None), (0, 0, None)] {
        (bytes[7], bytes[end]) = (first, last);
        std::fs::write(&path, &bytes).unwrap();
        let error = newest_sound::<String>(scratch.path()).err();
        match (error, found) {
            (Some(CheckpointError::Format { found, .. }), Some(wanted)) => assert_eq!(found, wanted),
            (Some(CheckpointError::Damaged { .. }), None) => {}
            (other, _) => panic!("{first} {last}: {other:?}"),
        }
    }
}

/// A footer with the right digest may still lie about what is where.
#[test]
fn tensors_must_fill_the_file() {
    use sha2::{Digest as _, Sha256};
    let file = |tensors: &str, data: &[u8]| {
        let footer = format!(r#"{{"state":"","tensors":[{tensors}]}}"#);
        let length = (footer.len() as u64).to_le_bytes();
        let digest = Sha256::digest(footer.as_bytes());
        [b"KILNCKP3", data, footer.as_bytes(), &length, &digest, b"KILNCKP3"].concat()
    };
    let none = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let entry = |name: &str, offset: u64, bytes: u64| {
        format!(r#"{{"name":"{name}","offset":{offset},"bytes":{bytes},"sha256":"{none}"}}"#)
    };
    let sound = |tensors: &str, data: &[u8]| {
        CheckpointReader::<String, _>::sound(Path::new("x"), std::io::Cursor::new(file(tensors, data)))
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!(sound("", b""), Ok(()));
    assert_eq!(sound(&entry("a", 8, 0), b""), Ok(()));
    for (tensors, data, word) in [
        (entry("a", 8, 4), &b"data"[..], "digest"),
        (entry("a", 9, 3), b"data", "follow"),
        (entry("a", 8, 3), b"data", "end where"),
        (entry("a", 8, u64::MAX), b"data", "end where"),
        (entry("a", 8, 4) + "," + &entry("b", 8, 4), b"data", "follow"),
        (
            entry("a", 8, u64::MAX) + "," + &entry("b", u64::MAX, 9),
            b"data",
            "end where",
        ),
        (String::new(), b"data", "end where"),
    ] {
        let error = sound(&tensors, data).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

/// Right digests of a model that no step can go on from.
#[test]
fn values_that_are_no_numbers_are_named_and_passed_over() {
    let scratch = Scratch::new();
    let put = |iteration: u32, planes: &[(&str, [f32; 4])]| {
        let mut writer = CheckpointWriter::new(Vec::new()).unwrap();
        for (name, values) in planes {
            writer.begin(name);
            writer.put(values.map(f32::to_le_bytes).as_flattened()).unwrap();
        }
        let path = checkpoint_path(scratch.path(), iteration);
        std::fs::write(&path, writer.finish(&"state".to_owned()).unwrap()).unwrap();
        path
    };
    let usual = [1.0, 2.0, 3.0, 4.0];
    put(10, &[("geometry.0", usual), ("other.0", [f32::NAN; 4])]);
    let newest = put(
        20,
        &[
            ("geometry.0", [1.0, f32::NAN, 3.0, 4.0]),
            ("geometry.1", [f32::INFINITY, f32::NAN, 0.0, 0.0]),
        ],
    );
    let error = CheckpointReader::<String, _>::open_sound(&newest)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.contains("not numbers: 2 of the model's 4 Gaussians") && error.contains("older checkpoint"),
        "{error}"
    );
    let ((path, _), passed) = newest_sound::<String>(scratch.path()).unwrap();
    assert_eq!(path, checkpoint_path(scratch.path(), 10));
    assert!(passed[0].contains("not numbers"), "{passed:?}");
}
