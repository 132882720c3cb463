//! A scene that is kept beside the one shown: two models or meshes through one camera.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use image::RgbImage;
use kiln_tests::browser::Page;
use kiln_tests::browser::pixels::difference;
use kiln_tests::view::View;
use serde_json::json;

use crate::view_browser::files::drop_bytes;
use crate::view_browser::stage::{ITERATIONS, Stage, assert_content, copy, drawn, keep, ready, status, window};

/// What the canvas shows, without the labels and bars at its upper and lower ends.
pub(crate) fn canvas(page: &Page, stage: &Stage) -> RgbImage {
    let place =
        page.eval("(r => [r.left, r.top, r.width, r.height])(document.getElementById('view').getBoundingClientRect())");
    let [left, top, width, height]: [f64; 4] = serde_json::from_value(place).unwrap();
    let _ =
        page.eval("new Promise(end => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, 400))))");
    static PICTURES: AtomicU32 = AtomicU32::new(0);
    let number = PICTURES.fetch_add(1, Ordering::Relaxed);
    let file = stage.scratch.join(&format!("canvas-{number}.png"));
    page.screenshot(&file);
    let whole = image::open(file).unwrap().to_rgb8();
    let [x, y, w, h] = [left, top + 0.35 * height, width, 0.4 * height].map(|v| v as u32);
    image::imageops::crop_imm(&whole, x, y, w, h).to_image()
}

fn half(picture: &RgbImage, right: bool) -> Vec<u8> {
    let (width, height) = picture.dimensions();
    // Beside the line, not on it.
    let (from, to) = if right {
        (width / 2 + 2, width)
    } else {
        (0, width / 2 - 2)
    };
    image::imageops::crop_imm(picture, from, 0, to - from, height)
        .to_image()
        .into_raw()
}

fn text(page: &Page, id: &str) -> String {
    let text = page.eval(&format!("document.getElementById({id:?}).textContent"));
    text.as_str().unwrap().to_owned()
}

fn show(page: &Page, how: &str) {
    page.click(&format!("#beside [data-value={how}]"));
    page.wait(&format!(
        "document.querySelector('#beside [data-value={how}]').ariaPressed === 'true'"
    ));
}

#[test]
fn two_models_are_seen_through_one_camera() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    page.click("#frusta");
    let late = canvas(&page, &stage);
    let all = status(&page)["splats"].clone();
    page.click("#keep");
    page.wait("!document.getElementById('beside-bar').hidden");
    // Alone it fills the canvas, and is what it was.
    assert_eq!(status(&page)["kept"], all);
    assert_eq!(status(&page)["shown"], "nothing");
    assert!(difference(&canvas(&page, &stage), &late).mean < 0.1, "kept alone");
    page.set("#iteration", "0");
    page.wait(&format!("JSON.parse(kiln.status()).iteration === {}", ITERATIONS[0]));
    drawn(&page);
    assert_eq!(
        text(&page, "label-kept").split(" · ").take(2).collect::<Vec<_>>(),
        ["garden", "iteration 100"]
    );
    assert_eq!(
        text(&page, "label-shown").split(" · ").take(2).collect::<Vec<_>>(),
        ["garden", "iteration 50"]
    );
    keep(&page, "beside");
    page.resize(640, 400);
    let wipe = canvas(&page, &stage);
    show(&page, "shown");
    let early = canvas(&page, &stage);
    show(&page, "kept");
    assert!(difference(&canvas(&page, &stage), &late).mean < 0.1, "kept");
    assert!(difference(&early, &late).mean > 1.0, "another model looks different");
    assert!(
        difference(&half(&wipe, false), &half(&late, false)).mean < 0.1,
        "kept on the left"
    );
    assert!(
        difference(&half(&wipe, true), &half(&early, true)).mean < 0.1,
        "shown on the right"
    );
    show(&page, "difference");
    let differs = canvas(&page, &stage);
    assert!(text(&page, "hud").contains("difference"));

    // A link shows both, and turns with them.
    page.wait("new URLSearchParams(location.search).get('beside') === 'difference'");
    let address = page.eval("location.href").as_str().unwrap().to_owned();
    let again = window();
    again.go(&address);
    ready(&again);
    drawn(&again);
    again.wait(&format!(
        "JSON.parse(kiln.status()).kept === {all} && JSON.parse(kiln.status()).iteration === 50"
    ));
    again.click("#frusta");
    assert!(
        text(&again, "label-kept").ends_with("garden · iteration 100"),
        "{}",
        text(&again, "label-kept")
    );
    assert!(
        difference(&canvas(&again, &stage), &differs).mean < 1.0,
        "the same by a link"
    );

    // A model does not differ from itself.
    page.set("#iteration", "1");
    page.wait(&format!("JSON.parse(kiln.status()).iteration === {}", ITERATIONS[1]));
    drawn(&page);
    let mean = |picture: &RgbImage| picture.iter().map(|v| f64::from(*v)).sum::<f64>() / picture.len() as f64;
    let same = mean(&canvas(&page, &stage));
    assert!(same < 8.0 && mean(&differs) > 2.0 * same, "{same} {}", mean(&differs));
    page.click("[data-act=let-go]");
    page.wait("document.getElementById('beside-bar').hidden && JSON.parse(kiln.status()).kept === 0");
    assert!(
        difference(&canvas(&page, &stage), &late).mean < 0.1,
        "only what is shown"
    );
    assert_content(&page);
}

#[test]
fn another_run_is_seen_from_the_same_place_beside_what_was_kept() {
    let stage = Stage::shared();
    let root = stage.scratch.join("beside");
    copy(&stage.run(), &root.join("one"));
    copy(&stage.run(), &root.join("two"));
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/one", view.url));
    ready(&page);
    drawn(&page);
    page.run(
        "document.getElementById('view').dispatchEvent(new WheelEvent('wheel', { deltaY: 300, cancelable: true }))",
    );
    page.wait("new URLSearchParams(location.search).has('view')");
    let place = page.eval("new URLSearchParams(location.search).get('view')");
    page.click("#keep");
    page.set("#run", "runs/two");
    page.wait("JSON.parse(kiln.status()).run === 'runs/two' && JSON.parse(kiln.status()).splats > 0");
    drawn(&page);
    assert_eq!(page.eval("new URLSearchParams(location.search).get('view')"), place);
    assert!(
        text(&page, "label-kept").starts_with("one · "),
        "{}",
        text(&page, "label-kept")
    );
    assert!(
        text(&page, "label-shown").starts_with("two · "),
        "{}",
        text(&page, "label-shown")
    );
    assert_content(&page);
}

#[test]
fn two_meshes_are_seen_side_by_side() {
    let stage = Stage::shared();
    let root = stage.scratch.join("two-meshes");
    fs::create_dir_all(&root).unwrap();
    let square = |color: &str| {
        format!(
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n\
             property uchar red\nproperty uchar green\nproperty uchar blue\nelement face 1\n\
             property list uchar int vertex_indices\nend_header\n\
             -4 -4 0 {color}\n4 -4 0 {color}\n4 4 0 {color}\n-4 4 0 {color}\n4 0 1 2 3\n"
        )
    };
    let view = View::start(&root);
    let page = window();
    page.go(&view.url);
    ready(&page);
    drop_bytes(&page, "blue.ply", square("0 0 255").as_bytes());
    page.wait("JSON.parse(kiln.status()).triangles === 2");
    page.click("#keep");
    page.wait("JSON.parse(kiln.status()).triangles === 0");
    drop_bytes(&page, "red.ply", square("255 0 0").as_bytes());
    page.wait("JSON.parse(kiln.status()).triangles === 2");
    let picture = canvas(&page, &stage);
    let (width, height) = picture.dimensions();
    let at = |x: u32| picture.get_pixel(x, height / 2).0;
    assert_eq!([at(width / 2 - 12), at(width / 2 + 12)], [[0, 0, 255], [255, 0, 0]]);
    assert_eq!(text(&page, "label-kept"), "blue.ply · 2 triangles");
    assert_eq!(text(&page, "label-shown"), "red.ply · 2 triangles");
    assert_eq!(
        page.eval("new URLSearchParams(location.search).has('with')"),
        json!(false)
    );
    assert_content(&page);
}
