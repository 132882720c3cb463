//! The numbers: curves and evaluation.

use kiln_tests::runs::json;
use kiln_tests::view::View;
use serde_json::Value;

use crate::view_browser::stage::{ITERATIONS, Stage, assert_content, change, copy, drawn, keep, ready, window};

#[test]
fn curves_are_drawn() {
    let stage = Stage::shared();
    let page = stage.page("&tab=metrics");
    page.wait("!document.getElementById('panel-metrics').hidden");
    for chart in ["loss", "psnr", "ssim", "gaussians", "its", "vram"] {
        let figure = format!("#charts figure[data-chart={chart}]");
        page.wait(&format!("document.querySelector('{figure} svg path.curve')"));
        let script =
            format!("Math.max(...[...document.querySelectorAll('{figure} path.curve')].map(p => p.getTotalLength()))");
        let length = page.eval(&script).as_f64().unwrap();
        // A curve of several points and no dot; memory does not change in so short a run and is recorded once.
        assert!(chart == "vram" || length > 20.0, "{chart}: a curve {length} px long");
    }
    let budget = page.eval("document.querySelector('#charts figure[data-chart=vram]').textContent");
    assert!(budget.as_str().unwrap().contains("1.00 GiB"), "{budget}");
    keep(&page, "metrics");
    page.click("#tab-splats");
    page.wait("document.getElementById('panel-metrics').hidden");
    page.wait("!location.search.includes('tab=metrics')");
    assert_content(&page);
}

#[test]
fn plots_of_a_row_begin_at_one_height() {
    let stage = Stage::shared();
    let root = stage.scratch.join("legends");
    for name in ["one-with-a-long-name-for-a-run", "two-with-a-long-name-for-a-run"] {
        copy(&stage.run(), &root.join(name));
    }
    let view = View::start(&root);
    let page = window();
    page.resize(960, 700);
    let run = "runs/one-with-a-long-name-for-a-run";
    let other = "runs/two-with-a-long-name-for-a-run";
    page.go(&format!("{}&tab=metrics&run={run}&run={other}", view.url));
    ready(&page);
    page.wait("document.querySelectorAll('#charts figure[data-chart=psnr] path.curve').length === 4");
    let of = |what: &str| {
        page.eval(&format!("['loss', 'psnr'].map(id => document.querySelector(`#charts figure[data-chart=${{id}}] {what}`).getBoundingClientRect())"))
    };
    let (keys, plots) = (of(".keys"), of(".plot"));
    assert_eq!(keys[0]["top"], keys[1]["top"], "two in a row");
    assert_eq!(plots[0]["top"], plots[1]["top"], "{keys} {plots}");
    keep(&page, "overlay");
    assert_content(&page);
}

#[test]
fn the_reason_of_a_failure_is_there_in_full() {
    let stage = Stage::shared();
    let root = stage.scratch.join("failed");
    let reason = "the device was lost; ".repeat(30) + "hint: <none>";
    copy(&stage.run(), &root.join("run"));
    change(&root.join("run"), |record| {
        record["status"] = "failed".into();
        record["message"] = reason.as_str().into();
    });
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&tab=metrics", view.url));
    ready(&page);
    page.wait("document.getElementById('ended').textContent.startsWith('failed at 100: ')");
    let said = page.eval("document.getElementById('ended').textContent");
    assert!(said.as_str().unwrap().ends_with(&reason), "{said}");
    assert_eq!(page.eval("document.getElementById('live').title"), reason);
    let over = page.eval("document.documentElement.scrollWidth - innerWidth");
    assert!(over.as_f64() <= Some(0.0), "{over} px too wide");
    assert_content(&page);
}

#[test]
fn views_are_listed_sorted_and_compared() {
    let stage = Stage::shared();
    let page = stage.page("&tab=evaluation");
    page.wait("document.querySelector('#views tr[data-view]')");
    let metrics = json(
        &stage
            .run()
            .join(format!("eval/iteration_{}/metrics.json", ITERATIONS[1])),
    );
    let rows = "[...document.querySelectorAll('#views tr[data-view]')]";
    let of_sets: usize = ["test", "train"]
        .iter()
        .filter_map(|set| metrics[set]["views"].as_array())
        .map(Vec::len)
        .sum();
    assert_eq!(page.eval(&format!("{rows}.length")), of_sets, "{metrics}");
    // The worst view comes first, and stands beside mean and median.
    let test = &metrics["test"];
    let said = page.eval("document.getElementById('summary').textContent");
    let number = |value: &Value| format!("{:.2}", value.as_f64().unwrap());
    let worst = test["worst"]["name"].as_str().unwrap();
    let wanted = format!(
        "{}, median {}, worst {} {worst}",
        number(&test["mean"]["psnr_image"]),
        number(&test["median"]),
        number(&test["worst"]["psnr_image"])
    );
    assert_eq!(said, wanted);
    // Sorting turns the list around.
    let order = || page.eval(&format!("{rows}.map(row => row.dataset.view)"));
    let before = order();
    let heading = "#views [data-act=sort][data-value=psnr_image]";
    page.click(heading);
    page.wait(&format!(
        "JSON.stringify({rows}.map(row => row.dataset.view)) !== {:?}",
        before.to_string()
    ));
    page.click(heading);
    // A view with pictures: both sides load, and the wipe moves.
    page.click("#views tr[data-view]:not(.dim)");
    page.wait("!document.getElementById('stage').hidden");
    for side in ["left", "right"] {
        page.wait(&format!("document.getElementById('picture-{side}').width === 80"));
    }
    let clip = "document.getElementById('clip').style.clipPath";
    let middle = page.eval(clip);
    page.set("#wipe", "200");
    page.wait(&format!("{clip} !== {:?}", middle.as_str().unwrap()));
    page.click("#pair-render-error");
    page.wait("document.getElementById('picture-right').getAttribute('aria-label').startsWith('error')");
    // The error is computed from the two others; the gain makes it brighter.
    assert_eq!(
        page.eval("document.getElementById('error-most').textContent"),
        "≥ 0.250"
    );
    let sum = "(() => { const c = document.getElementById('picture-right'); \
               return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.reduce((a, b) => a + b); })()";
    let plain = page.eval(sum).as_f64().unwrap();
    page.set("#gain", "4");
    assert_eq!(
        page.eval("document.getElementById('error-most').textContent"),
        "≥ 0.062"
    );
    assert!(page.eval(sum).as_f64().unwrap() > 1.1 * plain);
    keep(&page, "evaluation");
    // How many Gaussians the tiles hold was saved too.
    page.click("#pair-render-density");
    page.wait("document.getElementById('picture-right').getAttribute('aria-label').startsWith('density')");
    page.wait("!document.getElementById('density-bar').hidden && document.getElementById('error-bar').hidden");
    let colors = "(() => { const c = document.getElementById('picture-right'); \
                  const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer); \
                  return new Set(d).size; })()";
    // One colour a tile of 16 x 16 pixels.
    page.wait(&format!(
        "{colors} > 1 && {colors} <= 5 * Math.ceil(document.getElementById('picture-right').height / 16)"
    ));
    keep(&page, "density");
    page.click("#pair-gt-render");
    page.wait("document.getElementById('density-bar').hidden");
    // The way to the camera looks like a button.
    assert_ne!(
        page.eval("getComputedStyle(document.querySelector('#view-title [data-act=camera]')).borderTopColor"),
        "rgba(0, 0, 0, 0)"
    );
    // The evaluation before.
    let now = page.eval("document.getElementById('evaluation').value");
    page.click("#panel-evaluation [data-act=eval-step][data-value='-1']");
    page.wait(&format!(
        "document.getElementById('evaluation').value !== {:?}",
        now.as_str().unwrap()
    ));
    page.wait("document.querySelector('#views tr[data-view]')");
    assert_content(&page);
}

#[test]
fn views_without_pictures_are_drawn_by_the_page() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    page.click("#tab-evaluation");
    page.wait("document.querySelector('#views tr.dim')");
    let camera = page.eval("document.querySelector('#views tr.dim').dataset.view");
    let camera = camera.as_str().unwrap();
    let own = || {
        page.click("#views tr.dim");
        page.run(&format!(
            "window.same = false; (async () => {{ while (!window.same) {{ \
             const p = await kiln.picture({camera:?}).catch(() => ({{ rgba: [] }})); \
             const c = document.getElementById('picture-left'); \
             const shown = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
             window.same = p.rgba.length === shown.length && p.rgba.every((value, i) => value === shown[i]); \
             await new Promise(end => setTimeout(end, 50)); }} }})()"
        ));
        page.wait("window.same");
    };
    own();
    assert_eq!(page.eval("document.getElementById('load-evaluated').hidden"), true);
    // Of another iteration when its model is loaded.
    page.click("#panel-evaluation [data-act=eval-step][data-value='-1']");
    page.wait("!document.getElementById('load-evaluated').hidden");
    page.click("#load-evaluated");
    page.wait(&format!(
        "JSON.parse(kiln.status()).iteration === {} && document.getElementById('load-evaluated').hidden",
        ITERATIONS[0]
    ));
    own();
    assert_content(&page);
}
