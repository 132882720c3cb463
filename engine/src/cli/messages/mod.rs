//! Every message that people can meet, as it is printed, in `tests/golden/messages`: one file a layer.
//!
//! The lists of constructed errors are complete: each is held against its enum by a match without a wildcard, and against
//! the names of all variants. `KILN_BLESS=1 cargo test -p kiln messages` writes the files anew; read the difference.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

mod device;
mod files;
mod jobs;
mod mesh;
mod meshes;
mod scene;
mod settings;
mod train;

use std::path::{Path, PathBuf};

use super::{Failure, report};

/// Stops when a variant of an enum has no example. A variant that is missing here does not compile.
macro_rules! complete {
    ($enum:ident, $list:expr, [$($variant:ident),* $(,)?]) => {{
        let name = |error: &$enum| match error {
            $($enum::$variant { .. } => stringify!($variant),)*
        };
        let found: std::collections::BTreeSet<&str> = $list.iter().map(name).collect();
        for variant in [$(stringify!($variant)),*] {
            assert!(found.contains(variant), "no example of {}::{variant}", stringify!($enum));
        }
        $list
            .into_iter()
            .map(|error| {
                let name = format!("{}::{}", stringify!($enum), name(&error));
                (name, Box::new(error) as Box<dyn crate::cli::Failure>)
            })
            .collect::<Vec<_>>()
    }};
}
use complete;

type Examples = Vec<(String, Box<dyn Failure>)>;

/// Holds the printed examples against the golden file of a layer.
fn golden(layer: &str, examples: Examples) {
    let mut text = String::new();
    for (name, error) in examples {
        let mut printed = Vec::new();
        let exit = report(error.as_ref(), &mut printed);
        let printed = String::from_utf8(printed).unwrap();
        voice(&name, &printed);
        text += &format!("== {name}, exit code {}\n{printed}\n", exit as u8);
    }
    let path = file(layer, &text);
    if std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "messages/{layer}.txt is stale: KILN_BLESS=1 cargo test -p kiln messages\n{text}"
    );
}

/// The golden file of a layer. Where Windows quotes, joins or advises otherwise, it has a file of its own.
fn file(layer: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/messages");
    let shared = folder.join(format!("{layer}.txt"));
    let own = folder.join(format!("windows/{layer}.txt"));
    let is_shared = std::fs::read_to_string(&shared).is_ok_and(|found| found == text);
    match cfg!(windows) && !is_shared {
        true => own,
        false => shared,
    }
}

/// What all messages have in common.
fn voice(name: &str, printed: &str) {
    for line in printed.lines() {
        assert!(!line.ends_with('.'), "{name}: lines have no full stop: {line}");
    }
    let body = printed.strip_prefix("error: ").unwrap_or_default();
    let first = body.chars().next().unwrap_or_default();
    let word = body.split([' ', ':', ',']).next().unwrap_or_default();
    assert!(
        !first.is_uppercase() || word.chars().skip(1).any(char::is_uppercase) || word == "Vulkan",
        "{name}: messages begin with a small letter or a name: {body}"
    );
    assert!(
        !printed.contains("{:?}") && !printed.contains("Some("),
        "{name}: {printed}"
    );
}

fn path(text: &str) -> PathBuf {
    PathBuf::from(text)
}

fn system(kind: std::io::ErrorKind) -> std::io::Error {
    kind.into()
}
