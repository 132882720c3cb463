//! The bundled scene itself, which the other modules change.

use std::fs;

use kiln_tests::captures::Model;
use kiln_tests::runs::{self, Scratch};

#[test]
fn the_writer_of_models_gives_the_files_that_were_read() {
    let scratch = Scratch::new("bundled");
    let folder = scratch.join("sparse/0");
    Model::bundled().write(&folder, true);
    for name in ["cameras.bin", "images.bin", "points3D.bin"] {
        let read = |root: &std::path::Path| fs::read(root.join(name)).unwrap();
        assert!(read(&folder) == read(&runs::scene().join("sparse/0")), "{name}");
    }
}
