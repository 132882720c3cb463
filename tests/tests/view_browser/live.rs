//! A run that is still being trained.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use kiln_tests::runs::json;
use kiln_tests::view::View;

use crate::view_browser::stage::{Stage, assert_content, change, copy, drawn, keep, ready, status, window};

fn append(path: &Path, text: &str) {
    OpenOptions::new()
        .append(true)
        .open(path)
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

fn set_status(run: &Path, status: &str, models: usize) {
    let full = json(&run.join("full.json"));
    change(run, |record| {
        record["status"] = status.into();
        record["iterations"]["done"] = 0.into();
        record["plys"] = full["plys"].as_array().unwrap()[..models].to_vec().into();
    });
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
    // What a trainer holds while it writes to the folder.
    let writer = File::open(&run).unwrap();
    writer.lock().unwrap();
    // The first lines only; the last of them is half written.
    let metrics = run.join("metrics.jsonl");
    // Snapshots went when the run ended.
    let kept = |line: &&str| !line.contains("\"kind\":\"live\"");
    let whole = fs::read_to_string(&metrics).unwrap();
    let text: String = whole.split_inclusive('\n').filter(kept).collect();
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

    // A model is saved: it comes by itself, until the reader picks one.
    page.click("#tab-splats");
    drawn(&page);
    assert_eq!(status(&page)["iteration"], 50);
    set_status(&run, "running", models);
    page.wait("JSON.parse(kiln.status()).iteration === 100");
    drawn(&page);
    keep(&page, "live");
    assert_eq!(status(&page)["follows"], true);
    page.set("#iteration", "0");
    page.wait("JSON.parse(kiln.status()).iteration === 50");
    assert_eq!(status(&page)["follows"], false);
    assert!(page.eval("location.search").as_str().unwrap().contains("iter=50"));
    page.click("#follow");
    page.wait("JSON.parse(kiln.status()).iteration === 100");
    assert!(!page.eval("location.search").as_str().unwrap().contains("iter="));
    set_status(&run, "done", models);
    drop(writer);
    page.wait("!document.getElementById('live').textContent.includes('training')");
    assert_content(&page);
}

#[test]
fn a_run_without_a_model_shows_what_it_begins_with_and_then_its_snapshots() {
    let stage = Stage::shared();
    let root = stage.scratch.join("snapshots");
    let run = root.join("now");
    copy(&stage.run(), &run);
    change(&run, |record| {
        record["status"] = "running".into();
        record["plys"] = Vec::<u8>::new().into();
    });
    let writer = File::open(&run).unwrap();
    writer.lock().unwrap();
    let metrics = run.join("metrics.jsonl");
    let text = fs::read_to_string(&metrics).unwrap();
    let row = text.lines().next().unwrap();
    fs::write(&metrics, format!("{row}\n")).unwrap();
    let view = View::start(&root);
    let page = window();
    page.go(&view.url);
    ready(&page);
    page.wait("JSON.parse(kiln.status()).shown === 'input'");
    drawn(&page);
    keep(&page, "input");
    assert!(page.eval("document.getElementById('empty').hidden").as_bool().unwrap());
    for iteration in [50, 100] {
        let saved = run.join(format!("point_cloud/iteration_{iteration}/point_cloud.ply"));
        fs::copy(saved, run.join("live.ply")).unwrap();
        let detail = r#""kind":"live","detail":{"kept":5,"gaussians":9}"#;
        append(
            &metrics,
            &format!("{{\"type\":\"event\",\"it\":{iteration},{detail}}}\n"),
        );
        page.wait(&format!("JSON.parse(kiln.status()).iteration === {iteration}"));
        drawn(&page);
        assert_eq!(status(&page)["shown"], "live");
    }
    drop(writer);
    assert_content(&page);
}
