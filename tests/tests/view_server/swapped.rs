//! Files that somebody swaps for links and pipes while they are served.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kiln_tests::runs::Scratch;
use kiln_tests::view::View;

use super::{SECRET, golden};

/// How long files are swapped.
const SWAPPING: Duration = Duration::from_millis(1500);
/// An answer that comes later has waited for somebody.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn what_takes_the_place_of_a_file_is_not_served() {
    let scratch = Scratch::new("swapped");
    let root = scratch.join("runs");
    fs::create_dir_all(&root).unwrap();
    golden(&root.join("a"));
    let outside = scratch.join("outside");
    fs::create_dir_all(outside.join("iteration_1")).unwrap();
    for name in ["secret", "run.json", "iteration_1/metrics.json"] {
        fs::write(outside.join(name), SECRET).unwrap();
    }
    fs::create_dir_all(root.join("a/eval/iteration_1")).unwrap();
    fs::write(root.join("a/eval/iteration_1/metrics.json"), "[]").unwrap();
    let pipe = scratch.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let view = View::start(&root);

    let over = AtomicBool::new(false);
    let slowest = std::thread::scope(|scope| {
        scope.spawn(|| {
            let end = Instant::now() + SWAPPING;
            while Instant::now() < end {
                for name in ["input.ply", "run.json"] {
                    swap(&scratch, &root.join("a").join(name), &outside.join("secret"), &pipe);
                }
                // A folder on the way.
                let (eval, kept) = (root.join("a/eval"), scratch.join("eval"));
                fs::rename(&eval, &kept).unwrap();
                symlink(&outside, &eval).unwrap();
                fs::remove_file(&eval).unwrap();
                fs::rename(&kept, &eval).unwrap();
            }
            over.store(true, Ordering::Relaxed);
        });
        let readers: Vec<_> = ["a/input.ply", "a/run.json", "a/eval/iteration_1/metrics.json"]
            .into_iter()
            .cycle()
            .take(9)
            .map(|name| {
                let (view, over) = (&view, &over);
                scope.spawn(move || {
                    let mut slowest = Duration::ZERO;
                    while !over.load(Ordering::Relaxed) {
                        let start = Instant::now();
                        let reply = view.get(&format!("/runs/{name}"), &[]);
                        assert!([200, 404].contains(&reply.status), "{name}: {}", reply.text());
                        assert!(!reply.text().contains(SECRET), "{name} came from outside");
                        let listed = view.get("/runs.json", &[]).text();
                        assert!(!listed.contains("outside"), "{listed}");
                        slowest = slowest.max(start.elapsed());
                    }
                    slowest
                })
            })
            .collect();
        readers.into_iter().map(|reader| reader.join().unwrap()).max().unwrap()
    });
    assert!(slowest < AT_ONCE, "a reader was held: {slowest:?}");
    let start = Instant::now();
    for name in ["input.ply", "run.json", "eval/iteration_1/metrics.json"] {
        assert_eq!(view.get(&format!("/runs/a/{name}"), &[]).status, 200, "{name}");
    }
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

/// Puts a link, a pipe and the file itself in its place, one after the other.
fn swap(scratch: &Scratch, file: &Path, secret: &Path, pipe: &Path) {
    let (kept, other) = (scratch.join("kept"), scratch.join("other"));
    fs::copy(file, &kept).unwrap();
    symlink(secret, &other).unwrap();
    fs::rename(&other, file).unwrap();
    fs::hard_link(pipe, &other).unwrap();
    fs::rename(&other, file).unwrap();
    fs::rename(&kept, file).unwrap();
}
