//! `kiln view` over real sockets: what it serves, and what it refuses.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod answers;
mod clients;
mod exported;
mod hostile;
mod program;
mod projects;
mod swapped;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use kiln_tests::http::Reply;
use kiln_tests::runs::Scratch;
use kiln_tests::view::View;

/// Stands in every file that must never be sent.
const SECRET: &str = "this-stays-on-the-disk";

/// The golden run, copied to `to`.
fn golden(to: &Path) {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run");
    let copy = Command::new("cp").arg("-r").arg(from).arg(to).status();
    assert!(copy.unwrap().success());
}

/// A folder of runs with traps around them.
fn runs_with_traps(scratch: &Scratch) -> std::path::PathBuf {
    let root = scratch.join("runs");
    fs::create_dir_all(root.join("sweep")).unwrap();
    golden(&root.join("a"));
    golden(&root.join("sweep/b c"));
    let outside = scratch.join("outside");
    fs::create_dir_all(&outside).unwrap();
    for name in ["run.json", "metrics.jsonl", "secret.txt"] {
        fs::write(outside.join(name), SECRET).unwrap();
    }
    for name in [
        "a/notes.txt",
        "a/secret.json",
        "a/.env",
        "loose.json",
        "a/events.out.tfevents.1",
    ] {
        fs::write(root.join(name), SECRET).unwrap();
    }
    fs::create_dir(root.join("a/checkpoints")).unwrap();
    fs::write(root.join("a/checkpoints/checkpoint_00000010.kiln"), SECRET).unwrap();
    fs::remove_file(root.join("a/memory.jsonl")).unwrap();
    symlink(outside.join("metrics.jsonl"), root.join("a/memory.jsonl")).unwrap();
    symlink(&outside, root.join("linked")).unwrap();
    symlink("/", root.join("a/eval/iteration_99")).unwrap();
    root
}

/// Whatever was asked: the answer holds no secret, no path of the machine and no token, and comes with the headers that
/// keep browsers from guessing.
fn assert_tight(reply: &Reply, view: &View, what: &str) {
    let text = format!("{:?}{}", reply.headers, reply.text());
    for word in [SECRET, &view.token, "kiln-hostile", "root:", "/tmp"] {
        assert!(!text.contains(word), "{what}: {text}");
    }
    if reply.headers.iter().any(|(name, _)| name == "content-security-policy") {
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"), "{what}");
    }
}
