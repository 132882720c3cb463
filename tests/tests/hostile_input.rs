//! The stored corpus of hostile input: every reader comes back from each of its inputs, quickly and without much memory.
//!
//! `tests/fuzz` searches for more; whatever it found that was wrong once is in the corpus.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use kiln_tests::hostile::{TARGETS, reached, tidy};

/// Longest that one input may take here, on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

/// What is whole among the stored inputs.
const WHOLE: [&str; 12] = [
    "block.json",
    "done.json",
    "lod-meta.json",
    "mesh.glb with a picture",
    "mesh.obj with its library and picture",
    "meta.json",
    "project.json",
    "run.json",
    "x.compressed.ply",
    "x.glb",
    "x.sog",
    "x.spz",
];

/// Most memory that the process may have needed at any moment.
#[cfg(target_os = "linux")]
const MOST_KIB: u64 = 256 << 10;

/// Most memory of this process since a reader last began to count anew.
#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn every_reader_comes_back_from_every_stored_input() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (target, run) in TARGETS {
        let folder = corpus.join(target);
        let mut paths: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        assert!(paths.len() >= 2, "{}", folder.display());
        for path in paths {
            let input = fs::read(&path).unwrap();
            assert!(input.len() <= 16 << 10, "{} is large for a seed", path.display());
            // Cut short at some places as well: most readers must notice.
            for length in [input.len(), input.len() / 2, input.len().saturating_sub(1)] {
                println!("{} up to {length}", path.display());
                let begun = Instant::now();
                run(&input[..length]);
                assert!(
                    begun.elapsed() < LONGEST,
                    "{} takes {:?}",
                    path.display(),
                    begun.elapsed()
                );
                #[cfg(target_os = "linux")]
                {
                    let peak = peak_kib();
                    assert!(peak < MOST_KIB, "{} needed {peak} KiB", path.display());
                }
            }
        }
    }
    tidy();
    let reached = reached();
    assert!(
        WHOLE.iter().all(|name| reached.contains(name)),
        "only {reached:?} were read to their end"
    );
}

/// Each target has a program for the fuzzer.
#[test]
fn every_target_can_be_fuzzed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    for (target, _) in TARGETS {
        let program = fs::read_to_string(folder.join(format!("fuzz_targets/{target}.rs"))).unwrap();
        assert!(program.contains(&format!("hostile::{target}")), "{target}");
        assert!(manifest.contains(&format!("\"fuzz_targets/{target}.rs\"")), "{target}");
    }
}
