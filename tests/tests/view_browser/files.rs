//! Files that people drop on the page: what the exporter writes, what other programs write, and what is not opened.

use std::fs;
use std::path::Path;

use kiln_tests::browser::Page;
use kiln_tests::browser::pixels::difference;
use kiln_tests::runs;

use crate::splats::{picture, renders};
use crate::stage::{ITERATIONS, Stage, assert_content, drawn, keep, messages, status};

/// Drops a file of these bytes onto the canvas.
fn drop_bytes(page: &Page, name: &str, bytes: &[u8]) {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    page.run(&format!(
        "const bytes = Uint8Array.from({hex:?}.match(/../g) ?? [], pair => parseInt(pair, 16)); \
         const data = new DataTransfer(); data.items.add(new File([bytes], {name:?})); \
         for (const kind of ['dragenter', 'dragover', 'drop']) document.getElementById('view').dispatchEvent( \
         new DragEvent(kind, {{ dataTransfer: data, bubbles: true, cancelable: true }}));"
    ));
}

fn shown(page: &Page, name: &str) {
    page.wait(&format!(
        "document.getElementById('iteration-value').textContent.startsWith({name:?})"
    ));
    drawn(page);
}

fn model(run: &Path) -> Vec<u8> {
    fs::read(run.join("point_cloud/iteration_100/point_cloud.ply")).unwrap()
}

#[test]
fn what_the_exporter_writes_is_opened_and_looks_the_same() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let all = status(&page)["splats"].clone();
    let (camera, file) = renders(&stage.run(), ITERATIONS[1], "test").remove(0);
    let render = image::open(file).unwrap().to_rgb8();
    // Least dB against the trainer's render: nothing of a GLB is rounded, little of SPZ.
    for (format, version, least) in [
        ("glb", "3", 38.0),
        ("spz", "2", 26.0),
        ("spz", "3", 26.0),
        ("spz", "4", 26.0),
    ] {
        let name = format!("model-{version}.{format}");
        let path = stage.scratch.join(&name);
        let mut command = runs::kiln();
        command
            .arg("export")
            .arg(stage.run())
            .args(["--format", format, "-o"])
            .arg(&path);
        if format == "spz" {
            command.args(["--spz-version", version]);
        }
        let (code, text) = runs::outcome(&mut command);
        assert_eq!(code, Some(0), "{text}");
        drop_bytes(&page, &name, &fs::read(&path).unwrap());
        shown(&page, &name);
        assert_eq!(status(&page)["splats"], all, "{name}");
        let (width, height, rgb) = picture(&page, &camera);
        assert_eq!((width, height), render.dimensions());
        let difference = difference(&rgb, render.as_raw());
        println!("{name}: {difference:?}");
        assert!(difference.psnr >= least, "{name}: {difference:?}");
    }
    assert_content(&page);
}

#[test]
fn points_and_splat_files_are_opened() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    drop_bytes(&page, "input.ply", &fs::read(stage.run().join("input.ply")).unwrap());
    shown(&page, "input.ply");
    let mut row = Vec::new();
    for value in [0.0_f32, 0.0, 0.0, 0.1, 0.1, 0.1] {
        row.extend(value.to_le_bytes());
    }
    row.extend([255, 0, 0, 255, 255, 128, 128, 128]);
    drop_bytes(&page, "one.splat", &row.repeat(9));
    shown(&page, "one.splat");
    assert_eq!(status(&page)["splats"], 9);
    assert_content(&page);
    for (name, bytes, words) in [
        ("a.sog", b"PK\x03\x04more".as_slice(), "splat-transform"),
        ("a.obj", b"v 0 0 0\n", "mesh"),
        ("cut.spz", b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "gzip"),
        (
            "text.ply",
            b"ply\nformat ascii 1.0\nelement vertex 0\nend_header\n",
            "kiln export",
        ),
    ] {
        drop_bytes(&page, name, bytes);
        page.wait(&format!(
            "document.getElementById('messages').textContent.includes({words:?})"
        ));
        assert!(messages(&page)[0].contains(name), "{:?}", messages(&page));
        assert_eq!(status(&page)["splats"], 9, "the model before stays");
    }
}

#[test]
fn a_model_from_elsewhere_is_framed_and_turned() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let mut bytes = model(&stage.run());
    let start = bytes.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
    let all = status(&page)["splats"].as_u64().unwrap();
    let stride = (bytes.len() - start) / usize::try_from(all).unwrap();
    for row in bytes[start..].chunks_exact_mut(stride) {
        let x = f32::from_le_bytes(row[..4].try_into().unwrap()) + 120.0;
        row[..4].copy_from_slice(&x.to_le_bytes());
    }
    drop_bytes(&page, "far.ply", &bytes);
    shown(&page, "far.ply");
    page.wait("JSON.parse(kiln.status()).drawn > 0.9 * JSON.parse(kiln.status()).splats");
    keep(&page, "framed");
    page.click("#ups [data-value=y]");
    page.wait("document.querySelector('#ups [data-value=y]').ariaPressed === 'true'");
    page.wait("JSON.parse(kiln.status()).drawn > 0.9 * JSON.parse(kiln.status()).splats");
    assert!(!page.eval("location.search").as_str().unwrap().contains("view="));
    // Back at the run, its cameras are where its model is.
    page.click("#newest");
    page.wait("JSON.parse(kiln.status()).shown === 'saved'");
    drawn(&page);
    page.wait("JSON.parse(kiln.status()).drawn > 0.5 * JSON.parse(kiln.status()).splats");
    assert_content(&page);
}
