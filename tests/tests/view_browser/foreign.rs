//! Files that splat-transform wrote of one model, in `tests/golden/splat_transform`, beside that model.

use std::fs;
use std::path::PathBuf;

use kiln_tests::browser::pixels::difference;
use kiln_tests::view::View;

use crate::view_browser::files::{drop_bytes, shown};
use crate::view_browser::splats::{picture, renders};
use crate::view_browser::stage::{ITERATIONS, Stage, assert_content, copy, drawn, keep, ready, status, window};
use crate::view_browser::streamed::settled;

fn path(name: &str) -> PathBuf {
    xtask::root().join("tests/golden/splat_transform").join(name)
}

#[test]
fn files_of_splat_transform_look_like_their_model() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let (camera, _) = renders(&stage.run(), ITERATIONS[1], "test").remove(0);
    let open = |name: &str| {
        drop_bytes(&page, name, &fs::read(path(name)).unwrap());
        shown(&page, name);
        let status = status(&page);
        assert_eq!(status["splats"], 120, "{name}");
        (status["sh_degree"].as_u64(), picture(&page, &camera).2)
    };
    let (degree, wanted) = open("source.ply");
    assert_eq!(degree, Some(3));
    assert!(
        wanted.iter().filter(|value| **value > 50).count() > 60,
        "something is seen"
    );
    keep(&page, "foreign-source");
    for (name, degree) in [
        ("model.sog", 3),
        ("model.spz", 3),
        ("model-3.spz", 2),
        ("model.compressed.ply", 3),
    ] {
        let (found, picture) = open(name);
        assert_eq!(found, Some(degree), "{name}");
        let difference = difference(&picture, &wanted);
        println!("{name}: {difference:?}");
        // Without coefficients of degree 3 all colours are others.
        let least = if degree == 3 { ROUNDED_PSNR } else { LESS_PSNR };
        assert!(difference.psnr >= least, "{name}: {difference:?}");
    }
    assert_content(&page);
}

/// Four copies in two levels, and an environment of another degree, which is always there.
#[test]
fn a_streamed_folder_of_splat_transform_is_shown_with_its_environment() {
    let stage = Stage::shared();
    let folder = stage.scratch.join("foreign/streamed");
    copy(&path("streamed"), &folder);
    let view = View::start(&folder);
    let page = window();
    page.go(&view.url);
    ready(&page);
    drawn(&page);
    settled(&page);
    let status = status(&page);
    assert_eq!(status["streamed"]["finest"], 400);
    // Finest level and environment; of the coarser level what is there already.
    let splats = status["splats"].as_u64().unwrap();
    assert!((420..=620).contains(&splats), "{status}");
    assert_eq!(status["sh_degree"], 1);
    keep(&page, "foreign-streamed");
    assert_content(&page);
}

/// Least dB: SPZ has a sixteenth for coefficients,
const ROUNDED_PSNR: f64 = 45.0;
/// and without those of degree 3.
const LESS_PSNR: f64 = 25.0;
