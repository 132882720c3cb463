//! The model: that it is drawn, and that it is drawn as the trainer draws it.

use std::fs;
use std::path::Path;

use kiln_tests::browser::Page;
use kiln_tests::browser::pixels::difference;
use kiln_tests::runs::json;

use crate::view_browser::stage::{ITERATIONS, RUN, Stage, assert_content, drawn, keep, status};

/// The bars of the viewer: mean absolute error in steps of 8 bits, and dB.
const LARGEST_MEAN: f64 = 2.0;
const LOWEST_PSNR: f64 = 38.0;

/// Drags the camera, a move each frame, until eight orders of the splats came, where each call that draws takes 50 ms; gives behind
/// how many of them something was drawn.
const SLOW_DRAG: &str = "new Promise(end => {
    const drawn = new Set(), context = WebGL2RenderingContext.prototype;
    let sorts = 0;
    for (const name of ['drawArrays', 'drawElements', 'drawArraysInstanced', 'drawElementsInstanced']) {
        const draw = context[name];
        context[name] = function (...what) {
            const begin = performance.now();
            drawn.add(sorts);
            while (performance.now() < begin + 50);
            return draw.apply(this, what);
        };
    }
    const view = document.getElementById('view'), place = view.getBoundingClientRect();
    const send = (kind, x) => view.dispatchEvent(new PointerEvent(kind, {
        pointerId: 1, button: 0, buttons: 1, bubbles: true, clientX: place.left + 50 + x, clientY: place.top + 100 }));
    const made = () => JSON.parse(kiln.status()).sorts - before;
    const before = JSON.parse(kiln.status()).sorts;
    let x = 0;
    send('pointerdown', x);
    const step = () => {
        sorts = made();
        if (sorts < 8) {
            send('pointermove', x += 2);
            requestAnimationFrame(step);
            return;
        }
        send('pointerup', x);
        end({ sorts, drawn: drawn.size });
    };
    requestAnimationFrame(step);
})";

/// RGB of the page's own picture of a camera, with its size.
pub(crate) fn picture(page: &Page, camera: &str) -> (u32, u32, Vec<u8>) {
    let script =
        format!("kiln.picture({camera:?}).then(p => ({{ w: p.width, h: p.height, rgba: Array.from(p.rgba) }}))");
    let answer = page.eval(&script);
    let size = |key: &str| u32::try_from(answer[key].as_u64().unwrap()).unwrap();
    let rgba: Vec<u8> = serde_json::from_value(answer["rgba"].clone()).unwrap();
    let rgb = rgba.chunks_exact(4).flat_map(|pixel| {
        assert_eq!(pixel[3], 255, "pictures are opaque");
        [pixel[0], pixel[1], pixel[2]]
    });
    (size("w"), size("h"), rgb.collect())
}

/// Names and files of the pictures that the trainer rendered of a set.
pub(crate) fn renders(run: &Path, iteration: u64, set: &str) -> Vec<(String, std::path::PathBuf)> {
    let folder = run.join(format!("eval/iteration_{iteration}/render/{set}"));
    let files = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    files
        .map(|file| (file.file_stem().unwrap().to_str().unwrap().to_owned(), file))
        .collect()
}

#[test]
fn the_page_loads_and_draws_the_newest_model() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let status = status(&page);
    let run = json(&stage.run().join("run.json"));
    let newest = run["plys"]
        .as_array()
        .unwrap()
        .iter()
        .rfind(|ply| ply["kind"] == "fused")
        .unwrap();
    assert_eq!(newest["iteration"], ITERATIONS[1]);
    assert_eq!(status["splats"], newest["gaussians"]);
    assert_eq!(
        (&status["iteration"], &status["run"]),
        (&newest["iteration"], &RUN.into())
    );
    assert_eq!(
        (&status["webgl"], &status["skipped"], &status["sh_degree"]),
        (&true.into(), &0.into(), &3.into())
    );
    assert!(status["sorts"].as_u64() > Some(0), "{status}");
    assert!(
        page.eval("document.getElementById('hud').textContent")
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    let context = page.eval("document.getElementById('view').getContext('webgl2') instanceof WebGL2RenderingContext");
    assert_eq!(context, true);
    let cameras = page.eval("document.querySelectorAll('#cameras [data-camera]').length");
    let all = json(&stage.run().join("cameras.json")).as_array().unwrap().len();
    assert_eq!(cameras, all);
    keep(&page, "splats");
    assert_content(&page);
}

#[test]
fn pictures_equal_those_of_the_trainer() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let mut compared = 0;
    for set in ["test", "train"] {
        for (camera, file) in renders(&stage.run(), ITERATIONS[1], set) {
            let own = image::open(&file).unwrap().to_rgb8();
            let (width, height, rgb) = picture(&page, &camera);
            assert_eq!((width, height), own.dimensions(), "{camera}");
            let difference = difference(&rgb, own.as_raw());
            println!("{set} {camera}: {difference:?}");
            assert!(
                difference.mean <= LARGEST_MEAN && difference.psnr >= LOWEST_PSNR,
                "{set} {camera}: {difference:?}"
            );
            compared += 1;
        }
    }
    assert!(compared >= 4, "{compared} pictures compared");
    assert_content(&page);
}

#[test]
fn the_slider_steps_through_the_models() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let run = json(&stage.run().join("run.json"));
    let count = |iteration: u64| {
        let plys = run["plys"].as_array().unwrap().iter();
        let mut of = plys.filter(|ply| ply["kind"] == "fused" && ply["iteration"] == iteration);
        of.next().unwrap()["gaussians"].clone()
    };
    let (camera, _) = renders(&stage.run(), ITERATIONS[1], "test").remove(0);
    let late = picture(&page, &camera).2;
    assert_eq!(page.eval("document.getElementById('iteration').max"), "1");
    page.set("#iteration", "0");
    page.wait(&format!("JSON.parse(kiln.status()).iteration === {}", ITERATIONS[0]));
    // The model on the screen stays until the other one has arrived.
    page.wait(&format!(
        "JSON.parse(kiln.status()).splats === {}",
        count(ITERATIONS[0])
    ));
    drawn(&page);
    let early = picture(&page, &camera).2;
    assert!(difference(&early, &late).mean > 0.5, "another model looks different");
    assert!(page.eval("location.search").as_str().unwrap().contains("iter=50"));
    assert_content(&page);
}

#[test]
fn an_address_leads_to_a_camera() {
    let stage = Stage::shared();
    let (camera, _) = renders(&stage.run(), ITERATIONS[1], "test").remove(0);
    let page = stage.page(&format!("&cam={camera}&iter={}", ITERATIONS[0]));
    drawn(&page);
    assert_eq!(status(&page)["iteration"], ITERATIONS[0]);
    let search = page.eval("new URLSearchParams(location.search).get('cam')");
    assert_eq!(search, camera.as_str());
    // Another camera, by a click in the list.
    let other = page.eval(&format!(
        "[...document.querySelectorAll('#cameras [data-camera]')].map(e => e.dataset.camera).find(c => c !== {camera:?})"
    ));
    let other = other.as_str().unwrap();
    page.click(&format!("#cameras [data-camera='{other}']"));
    page.wait(&format!(
        "new URLSearchParams(location.search).get('cam') === {other:?}"
    ));
    keep(&page, "camera");
    assert_content(&page);
}

#[test]
fn more_is_drawn_of_a_splat_than_its_colour() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let hud = "document.getElementById('hud').textContent";
    for (style, words) in [
        ("points", "splats"),
        ("ellipsoids", "splats"),
        ("depth", "(bright) to"),
        ("normals", "splats"),
        ("counts", "splats per pixel"),
    ] {
        page.set("#style", style);
        page.wait(&format!(
            "{hud}.includes({words:?}) && location.search.includes('style={style}')"
        ));
        keep(&page, style);
    }
    // A double click turns to what is there, whatever is drawn of it.
    page.run(
        "(c => c.dispatchEvent(new MouseEvent('dblclick', \
         { clientX: c.getBoundingClientRect().left + c.clientWidth / 3, \
         clientY: c.getBoundingClientRect().top + c.clientHeight / 2, bubbles: true })))(document.getElementById('view'))",
    );
    page.wait("new URLSearchParams(location.search).has('view')");
    assert_content(&page);
}

#[test]
fn the_photograph_lies_over_its_camera() {
    let stage = Stage::shared();
    let (camera, _) = renders(&stage.run(), ITERATIONS[1], "test").remove(0);
    let page = stage.page(&format!("&cam={camera}"));
    drawn(&page);
    page.wait("!document.getElementById('photo-bar').hidden");
    page.click("#photo-difference");
    page.wait("document.getElementById('photo').naturalWidth === 80");
    // As the lens fits the canvas: in the middle, as large as it can be.
    let places = page.eval(
        "['view', 'photo'].map(id => { const r = document.getElementById(id).getBoundingClientRect(); \
         return [r.left + r.width / 2, r.top + r.height / 2, r.width, r.height]; })",
    );
    let [view, photo]: [[f64; 4]; 2] = serde_json::from_value(places).unwrap();
    assert!(
        (view[0] - photo[0]).abs() < 1.0 && (view[1] - photo[1]).abs() < 1.0,
        "{view:?} {photo:?}"
    );
    let natural = page.eval("(i => i.naturalWidth / i.naturalHeight)(document.getElementById('photo'))");
    assert!(
        (photo[2] / photo[3] - natural.as_f64().unwrap()).abs() < 0.02,
        "{photo:?}"
    );
    assert!(
        (view[2] - photo[2]).abs().min((view[3] - photo[3]).abs()) < 1.0,
        "{view:?} {photo:?}"
    );
    keep(&page, "photo-difference");
    // It belongs to its camera.
    page.run(
        "document.getElementById('view').dispatchEvent(new WheelEvent('wheel', { deltaY: 400, cancelable: true }))",
    );
    page.wait("document.getElementById('photo-bar').hidden && document.getElementById('frame').hidden");
    assert_content(&page);
}

#[test]
fn the_address_follows_the_camera_and_keys_work_beside_sliders() {
    let stage = Stage::shared();
    let (camera, _) = renders(&stage.run(), ITERATIONS[1], "test").remove(0);
    let page = stage.page(&format!("&cam={camera}"));
    drawn(&page);
    let place = "new URLSearchParams(location.search).get('view')";
    assert_eq!(page.eval(place), serde_json::Value::Null);
    page.run(
        "document.getElementById('view').dispatchEvent(new WheelEvent('wheel', { deltaY: 400, cancelable: true }))",
    );
    page.wait(&format!("{place} && !new URLSearchParams(location.search).has('cam')"));
    // After a reset the address holds the home that was reached, and a page opened by it shows the same.
    let away = page.eval(place);
    page.click("[data-act=reset]");
    page.wait(&format!("{place} !== {:?}", away.as_str().unwrap()));
    let home = page.eval(place);
    let again = stage.page("");
    drawn(&again);
    again.click("[data-act=reset]");
    again.wait(place);
    assert_eq!(again.eval(place), home);
    // A slider that was touched leaves the page its keys.
    page.run("document.getElementById('scale').focus()");
    page.run("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: '2', bubbles: true }))");
    page.wait("!document.getElementById('panel-metrics').hidden");
    assert_content(&page);
}

#[test]
fn a_slow_device_draws_while_the_camera_moves() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let answer = page.eval(SLOW_DRAG);
    // Between sorts, and not only when the camera stands: however long either takes on this machine.
    assert!(answer["drawn"].as_u64() > Some(2), "{answer}");
    assert_content(&page);
}

#[test]
fn a_driver_that_takes_its_memory_back_gets_the_model_again() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    page.click("#frusta");
    let before = crate::view_browser::beside::canvas(&page, &stage);
    page.run(
        "window.lost = document.getElementById('view').getContext('webgl2').getExtension('WEBGL_lose_context'); \
         lost.loseContext()",
    );
    page.wait("document.getElementById('messages').textContent.includes('took its memory back')");
    page.run("lost.restoreContext()");
    page.wait("document.querySelectorAll('#messages [role=alert]').length === 0");
    drawn(&page);
    let after = crate::view_browser::beside::canvas(&page, &stage);
    assert!(difference(&before, &after).mean < 0.1, "another picture than before");
    assert_eq!(status(&page)["iteration"], ITERATIONS[1]);
}
