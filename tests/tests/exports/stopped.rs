//! Exports that are interrupted: what was there stays, and nothing else does.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use kiln::export::{
    Chosen, DeliveryError, Format, PlyFlavor, PlyParts, SpzVersion, Stop, deliver, deliver_levels, write_ply,
};
use kiln_config::plugins::Subset;
use kiln_gaussians::Gaussians;
use kiln_tests::runs::Scratch;

use crate::exports::model::{MIP, random};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    names.collect()
}

/// Exports with a stop at the first, the second, the fourth and so on of its questions, until one comes to its end; gives how
/// many were stopped.
fn stopped(path: &Path, export: &dyn Fn(Stop<'_>) -> Result<(), DeliveryError>) -> usize {
    let folder = path.parent().expect("a folder");
    let there = names(folder);
    for round in 0.. {
        let asked = AtomicUsize::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) + 1 >= 1 << round;
        match export(Stop::new(&stop)) {
            Ok(()) => return round,
            Err(DeliveryError::Stopped) => assert_eq!(names(folder), there, "round {round}"),
            Err(error) => panic!("{error}"),
        }
        if there.len() == 1 {
            assert_eq!(fs::read(path).expect("the file"), b"old");
        }
    }
    unreachable!("rounds do not end")
}

#[test]
fn whenever_it_comes_nothing_is_left() {
    let scratch = Scratch::new("stopped");
    let model: Gaussians = random(3000, 1, 5);
    let formats = Format::ALL.into_iter().chain([Format::Spz(SpzVersion::V4)]);
    for (at, format) in formats.enumerate() {
        let folder = scratch.join(&format!("{at}"));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("out");
        if !format.has_levels() {
            fs::write(&path, "old").expect("a file");
        }
        let export = |stop: Stop<'_>| {
            let chosen = Chosen::new(&model, &Subset::default()).expect("Gaussians").until(stop);
            deliver(&path, chosen, format, MIP).map(|_| ())
        };
        let n_stopped = stopped(&path, &export);
        assert!(n_stopped >= 2, "{}: stopped {n_stopped} times", format.name());
        assert_eq!(names(&folder), ["out"]);
    }
    // of a file that is read in parts
    let file = scratch.join("model.ply");
    write_ply(&file, &model, PlyFlavor::Fused, MIP).expect("a file");
    for format in [Format::StreamedSog, Format::Tiles] {
        let path = scratch.join(&format!("parts/{}", format.name()));
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let export = |stop: Stop<'_>| {
            let mut parts = PlyParts::open(&file).expect("a file");
            deliver_levels(&path, &mut parts, &Subset::default(), format, stop).map(|_| ())
        };
        assert!(stopped(&path, &export) >= 2, "{}", format.name());
        fs::remove_dir_all(&path).expect("the folder");
    }
}

/// Signals to the program amid its work: their exit codes, a line, and nothing else.
#[cfg(unix)]
#[test]
fn signals_end_the_program_cleanly() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let scratch = Scratch::new("stopped");
    let file = scratch.join("model.ply");
    write_ply(&file, &random(20_000, 3, 5), PlyFlavor::Fused, MIP).expect("a file");
    for (format, signal, code) in [
        ("sog", "-INT", 130),
        ("streamed-sog", "-TERM", 143),
        ("3d-tiles", "-INT", 130),
    ] {
        let folder = scratch.join(format);
        fs::create_dir_all(&folder).expect("a folder");
        let mut command = kiln_tests::runs::kiln();
        command.arg("export").arg(&file).args(["--format", format, "-o"]);
        let child = command.arg(folder.join("out")).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("the program");
        // what it writes has a hidden name for some seconds
        while names(&folder).is_empty() && child.try_wait().expect("the child").is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let kill = Command::new("kill").arg(signal).arg(child.id().to_string()).status();
        assert!(kill.expect("kill").success());
        let ended = child.wait_with_output().expect("the program");
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(code), "{format}: {said}");
        assert_eq!(
            said,
            "interrupted; nothing is written, and what was there is as it was\n"
        );
        assert_eq!(names(&folder), [""; 0], "{format}");
    }
}
