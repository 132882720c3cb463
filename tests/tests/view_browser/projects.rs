//! A project of blocks in the list of runs: its map, its table, and what a click opens.

use std::fs;
use std::path::PathBuf;

use kiln_tests::browser::Page;
use kiln_tests::projects::MadeProject;
use kiln_tests::runs::Scratch;
use kiln_tests::view::View;
use serde_json::Value;

use crate::view_browser::stage::{assert_content, drawn, ready, status, window};

/// What the table of blocks says, a text a row.
fn rows(page: &Page) -> Value {
    page.eval("[...document.querySelectorAll('.project tbody tr')].map(row => [...row.cells].map(cell => cell.innerText.trim()).join(' | '))")
}

/// Has the page read the tab anew, sooner than it does by itself.
fn look_again(page: &Page) {
    page.click("#tab-metrics");
    page.click("#tab-runs");
}

/// Writes pictures of the page where somebody wants some: day and night, wide and narrow.
pub(crate) fn keep_all(page: &Page, name: &str) {
    let Some(folder) = std::env::var_os("KILN_SCREENSHOTS").map(PathBuf::from) else {
        return;
    };
    fs::create_dir_all(&folder).unwrap();
    for (width, height) in [(1280, 800), (390, 844)] {
        page.resize(width, height);
        for theme in ["light", "dark"] {
            page.run(&format!("document.documentElement.dataset.theme = {theme:?}"));
            let _ = page.eval("new Promise(end => setTimeout(end, 500))");
            page.screenshot(&folder.join(format!("{name}-{width}-{theme}.png")));
        }
    }
    page.resize(640, 400);
}

#[test]
fn a_project_is_a_map_whose_blocks_open_their_runs() {
    let scratch = Scratch::new("map");
    let (none, x, y) = (None, Some(24.0), Some(8.0));
    let project = MadeProject::new(
        &scratch.join("city"),
        &[
            ("b0000", [[none, none], [Some(12.0), none]]),
            ("b0001a", [[Some(12.0), none], [x, y]]),
            ("b0001b", [[Some(12.0), y], [x, none]]),
            ("b0002", [[x, none], [none, Some(12.0)]]),
            ("b0003", [[x, Some(12.0)], [none, none]]),
        ],
    );
    project.done("b0000");
    let writer = project.running("b0001a", 160);
    let why = "the device ran out of memory";
    let _ = project.run("b0002", "failed", Some(why), 160);
    let _ = project.run("b0003", "interrupted", None, 160);
    let view = View::start(&project.root);
    let page = window();
    page.go(&view.url);
    ready(&page);
    page.wait("document.querySelectorAll('.map > svg').length === 5");
    assert_eq!(
        page.eval("[...document.querySelectorAll('.project .legend span')].map(e => e.textContent).join(', ')"),
        "1 done, 1 running, 1 stopped, 1 failed, 1 waiting"
    );
    assert_eq!(
        rows(&page),
        serde_json::json!([
            "b0000 | done | 40 of 40 | - | - | 5",
            "b0001a half of b0001 | running | 40 of 160 | 12.5 | 9.6 s | 5",
            "b0001b half of b0001 | waiting | - | - | - | -",
            format!("b0002 | failed: {why} | 40 of 160 | - | - | 5"),
            "b0003 | stopped | 40 of 160 | - | - | 5",
        ])
    );
    // To scale: the plane is 40 by 20, y goes up, and what has no end ends with the project.
    let boxes = page.eval(
        "(() => { const map = document.querySelector('.map'), unit = map.width.baseVal.value / 40; \
         return [map, ...map.querySelectorAll(':scope > svg')].map(e => [e.x, e.y, e.width, e.height].map(v => Math.round(v.baseVal.value / unit))); })()",
    );
    assert_eq!(
        boxes,
        serde_json::json!([
            [0, 0, 40, 20],
            [0, 0, 12, 20],
            [12, 12, 12, 8],
            [12, 0, 12, 12],
            [24, 8, 16, 12],
            [24, 0, 16, 8]
        ])
    );
    let words = "[...document.querySelectorAll('.map title')].map(e => e.textContent).join(', ')";
    assert_eq!(
        page.eval(words),
        "b0000 · done, b0001a · 25 %, b0001b · waiting, b0002 · failed, b0003 · stopped"
    );
    assert!(
        page.eval("document.querySelector('.map > svg.running .share').width.baseVal.valueAsString")
            .as_str()
            .unwrap()
            .starts_with("25")
    );
    keep_all(&page, "map");

    // It goes on while one looks.
    let metrics = project.block("b0001a").join("run/metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let row = text
        .lines()
        .rfind(|line| line.contains("\"type\":\"train\""))
        .unwrap()
        .replace("\"it\":40", "\"it\":120");
    fs::write(&metrics, format!("{text}{row}\n")).unwrap();
    page.wait("document.querySelector('.map > svg.running title').textContent === 'b0001a · 75 %'");
    project.merged();
    look_again(&page);
    page.wait("document.querySelector('.project .legend button')");
    assert_content(&page);

    // A block of the map, one of the table by keyboard, and the merged model open as runs do.
    let shows = |run: &str| {
        page.wait(&format!("JSON.parse(kiln.status()).run === {run:?}"));
        drawn(&page);
        assert!(
            page.eval("!document.getElementById('panel-splats').hidden")
                .as_bool()
                .unwrap()
        );
        assert_eq!(status(&page)["splats"], 5);
        page.click("#tab-runs");
        page.wait("document.querySelector('.map')");
    };
    page.run(
        "document.querySelector('.map > svg.done rect').dispatchEvent(new MouseEvent('click', { bubbles: true }))",
    );
    shows("runs/blocks/b0000/run");
    page.wait("document.querySelector('.map > svg.done').getAttribute('aria-current') === 'true'");
    page.run("document.querySelectorAll('.project tbody button')[1].focus()");
    assert_eq!(page.eval("document.activeElement.textContent"), "b0001a");
    page.run("document.activeElement.click()");
    shows("runs/blocks/b0001a/run");
    assert!(
        page.eval("document.querySelectorAll('.project tbody button')[2].disabled")
            .as_bool()
            .unwrap()
    );
    page.click("#tab-metrics");
    page.wait("document.querySelector('#charts figure[data-chart=loss] path.curve')");
    page.click("#tab-runs");
    page.click(".project .legend button");
    shows("runs/merged");
    assert_content(&page);

    // What is damaged is said.
    fs::write(project.block("b0000").join("done.json"), "{").unwrap();
    fs::create_dir(project.block("<i>foreign")).unwrap();
    look_again(&page);
    page.wait("document.querySelector('.map > svg.damaged') && document.querySelector('.project > .bad')");
    let said = page.eval("document.querySelector('.project').innerText");
    let said = said.as_str().unwrap();
    assert!(
        said.contains("blocks/<i>foreign does not belong to the project"),
        "{said}"
    );
    assert!(said.contains("damaged: cannot read blocks/b0000/done.json"), "{said}");
    keep_all(&page, "map-damaged");
    fs::write(project.root.join("project.json"), "{\"version\": 1,").unwrap();
    look_again(&page);
    page.wait("!document.querySelector('.map')");
    let said = page.eval("document.querySelector('.project').innerText");
    assert!(said.as_str().unwrap().contains("cannot read project.json"), "{said}");
    drop(writer);
}
