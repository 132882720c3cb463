//! Files that people drop on the page: what the exporter writes, what other programs write, and what is not opened.

use std::fs;
use std::path::Path;

use kiln_tests::browser::Page;
use kiln_tests::browser::pixels::difference;
use kiln_tests::runs;
use kiln_tests::view::View;

use crate::view_browser::splats::{picture, renders};
use crate::view_browser::stage::{ITERATIONS, Stage, assert_content, drawn, keep, messages, ready, status, window};

/// Drops a file of these bytes onto the canvas.
pub(crate) fn drop_bytes(page: &Page, name: &str, bytes: &[u8]) {
    drop_files(page, &[(name, bytes)]);
}

fn drop_files(page: &Page, files: &[(&str, &[u8])]) {
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    let files: Vec<_> = files
        .iter()
        .map(|(name, bytes)| [(*name).to_owned(), hex(bytes)])
        .collect();
    page.run(&format!(
        "const data = new DataTransfer(); for (const [name, hex] of {}) {{ \
         const bytes = Uint8Array.from(hex.match(/../g) ?? [], pair => parseInt(pair, 16)); \
         data.items.add(new File([bytes], name)); }} \
         for (const kind of ['dragenter', 'dragover', 'drop']) document.getElementById('view').dispatchEvent( \
         new DragEvent(kind, {{ dataTransfer: data, bubbles: true, cancelable: true }}));",
        serde_json::Value::from_iter(files.into_iter().map(Vec::from))
    ));
}

pub(crate) fn shown(page: &Page, name: &str) {
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
    // Least dB against the trainer's render: nothing of a GLB is rounded, little of SPZ and SOG.
    for (format, version, least) in [
        ("glb", "3", 38.0),
        ("spz", "2", 26.0),
        ("spz", "3", 26.0),
        ("spz", "4", 26.0),
        ("sog", "2", 26.0),
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
        ("a.sog", b"PK\x03\x04more".as_slice(), "no archive"),
        ("lod-meta.json", b"{\"version\":1}", "kiln view FOLDER"),
        ("a.obj", b"v 0 0 0\n", "no triangles"),
        ("a.stl", b"solid x\n", "Blender"),
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

/// Colour of the middle of the canvas, as the screen shows it.
pub(crate) fn middle(page: &Page, folder: &Path) -> [u8; 3] {
    let place = page.eval(
        "(r => [r.left + r.width / 2, r.top + r.height / 2])(document.getElementById('view').getBoundingClientRect())",
    );
    let [x, y]: [f64; 2] = serde_json::from_value(place).unwrap();
    let _ =
        page.eval("new Promise(end => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, 300))))");
    let file = folder.join("middle.png");
    page.screenshot(&file);
    image::open(file).unwrap().to_rgb8().get_pixel(x as u32, y as u32).0
}

#[test]
fn meshes_are_drawn_alone_and_over_splats() {
    let stage = Stage::shared();
    let root = stage.scratch.join("meshes");
    fs::create_dir_all(&root).unwrap();
    // A blue square in text, alone on a page without runs.
    let ply = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
               property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n\
               property list uchar int vertex_indices\nend_header\n\
               100 0 0 0 0 255\n102 0 0 0 0 255\n102 2 0 0 0 255\n100 2 0 0 0 255\n4 0 1 2 3\n";
    let empty = View::start(&root);
    let page = window();
    page.go(&empty.url);
    ready(&page);
    drop_bytes(&page, "square.ply", ply.as_bytes());
    page.wait("JSON.parse(kiln.status()).triangles === 2");
    assert_eq!(middle(&page, &root), [0, 0, 255], "framed, and in its colours");
    assert_content(&page);

    // A square with a red picture beside it, which comes with its library, over the model of a run.
    let obj = "mtllib q.mtl\nv -50 -50 0\nv 50 -50 0\nv 50 50 0\nv -50 50 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n\
               usemtl m\nf 1/1 2/2 3/3 4/4\nf 4/4 3/3 2/2 1/1\n";
    let mut red = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_pixel(4, 4, image::Rgb([250, 10, 20]))
        .write_to(&mut red, image::ImageFormat::Png)
        .unwrap();
    let page = stage.page("");
    drawn(&page);
    let splats = status(&page)["splats"].clone();
    drop_files(
        &page,
        &[
            ("other.png", b"no picture"),
            ("q.mtl", b"newmtl m\nmap_Kd red.png\n"),
            ("red.png", red.get_ref()),
            ("q.obj", obj.as_bytes()),
        ],
    );
    page.wait("JSON.parse(kiln.status()).triangles === 4");
    assert_eq!(status(&page)["splats"], splats, "the splats stay");
    page.click("#mesh-places [data-value=alone]");
    // A camera that sees the square from above, whichever way it looks.
    page.wait("!document.getElementById('mesh-block').hidden");
    let red_seen = || {
        let [r, g, b] = middle(&page, &root);
        r > 200 && g < 60 && b < 60
    };
    assert!(red_seen(), "{:?}", middle(&page, &root));
    keep(&page, "mesh");
    page.click("[data-act=mesh-remove]");
    page.wait("JSON.parse(kiln.status()).triangles === 0");
    assert!(!red_seen(), "it is gone");
    assert_content(&page);
}
