//! A run that is still being trained.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use kiln_tests::runs::json;
use kiln_tests::view::View;

use crate::stage::{Stage, assert_content, copy, drawn, ready, window};

fn append(path: &Path, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Changes `run.json` as the trainer does: in one piece.
fn set_status(run: &Path, status: &str, models: usize) {
    let path = run.join("run.json");
    let mut record = json(&path);
    record["status"] = status.into();
    let full = json(&run.join("full.json"));
    record["plys"] = full["plys"].as_array().unwrap()[..models].to_vec().into();
    let new = run.join("new.json");
    fs::write(&new, record.to_string()).unwrap();
    fs::rename(new, path).unwrap();
}

#[test]
fn new_lines_and_models_arrive_while_the_page_is_open() {
    let stage = Stage::shared();
    let root = stage.scratch.join("live");
    let run = root.join("now");
    copy(&stage.run(), &run);
    fs::copy(run.join("run.json"), run.join("full.json")).unwrap();
    let models = json(&run.join("full.json"))["plys"].as_array().unwrap().len();
    let first = models / 2;
    set_status(&run, "running", first);
    // The first lines only; the last of them is half written.
    let metrics = run.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let half = lines.len() / 2;
    let (start, end) = lines[half].split_at(lines[half].len() / 2);
    fs::write(&metrics, lines[..half].concat() + start).unwrap();

    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/now&tab=metrics", view.url));
    ready(&page);
    page.wait("document.getElementById('live').textContent.includes('training')");
    let curve = "document.querySelector('#charts figure[data-chart=loss] path.curve').getAttribute('d')";
    page.wait(curve);
    let before = page.eval(curve);

    append(&metrics, end);
    for line in &lines[half + 1..] {
        append(&metrics, line);
    }
    let rest = text.len() - lines[..half].concat().len() - start.len();
    page.wait(&format!("JSON.parse(kiln.status()).live_bytes >= {rest}"));
    page.wait(&format!("{curve} !== {:?}", before.as_str().unwrap()));

    // A model is saved: the page offers it.
    set_status(&run, "running", models);
    page.click("#tab-splats");
    page.wait("!document.getElementById('newest').hidden");
    page.click("#newest");
    page.wait("JSON.parse(kiln.status()).iteration === 100");
    drawn(&page);
    set_status(&run, "done", models);
    page.wait("!document.getElementById('live').textContent.includes('training')");
    assert_content(&page);
}
