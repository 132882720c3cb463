//! The checked-in viewer: made from the sources as they are, and fit for a strict content policy.
#![expect(clippy::panic, reason = "tests stop at the first surprise")]

use std::fs;

use xtask::{bundle, root, viewer};

#[test]
fn bundle_is_made_from_these_sources() {
    let manifest = bundle::load(&root()).unwrap_or_else(|failure| panic!("{}", failure.message));
    let problems = bundle::problems(&root(), &manifest).unwrap_or_else(|failure| panic!("{}", failure.message));
    assert!(
        problems.is_empty(),
        "run `cargo xtask viewer`:\n{}",
        problems.join("\n")
    );
}

#[test]
fn bundle_is_small_and_names_no_other_host_or_folder_of_a_machine() {
    let mut compressed = 0;
    let folders = ["dist", "page"].map(|folder| bundle::viewer(&root()).join(folder));
    let files = folders.iter().flat_map(|folder| {
        let names = bundle::names(folder).unwrap_or_else(|failure| panic!("{}", failure.message));
        names.into_iter().map(|name| (folder.join(&name), name))
    });
    for (path, name) in files {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
        if [".wasm.br", ".js.br", ".css.br"].iter().any(|end| name.ends_with(end)) {
            compressed += bytes.len() as u64;
        }
        let text = String::from_utf8_lossy(&bytes);
        for word in ["https://", "/home/", "/root/", ".cargo/registry"] {
            assert!(name.ends_with(".br") || !text.contains(word), "{name} contains {word}");
        }
        let page = name.ends_with(".html");
        assert!(!page || !(text.contains("<style") || text.contains(" style=") || text.contains(" onclick=")));
    }
    assert!(
        compressed > 0 && compressed <= viewer::BUDGET_BYTES,
        "{compressed} bytes compressed"
    );
}
