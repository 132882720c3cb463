//! Nothing on the page is of another run or another iteration, and what went away is said to be gone.

use std::fs::{self, File};
use std::path::Path;

use kiln_tests::browser::Page;
use kiln_tests::runs::{self, json};
use kiln_tests::view::View;
use serde_json::{Value, json};

use crate::view_browser::stage::{
    ITERATIONS, Stage, assert_content, change, copy, drawn, messages, ready, status, window,
};

type Break = fn(&Path);

/// Runs with something broken: a name, what breaks them, and whether their own splats are there all the same.
const BROKEN: &[(&str, Break, bool)] = &[
    ("bad-json", |run| fs::write(run.join("run.json"), "{").unwrap(), false),
    (
        "other-schema",
        |run| change(run, |record| record["schema_version"] = 99.into()),
        false,
    ),
    (
        "no-model",
        |run| {
            change(run, |record| {
                record["plys"] = json!([]);
                record["files"] = json!([]);
            });
        },
        false,
    ),
    ("bad-ply", |run| fs::write(model(run), "no model").unwrap(), false),
    ("no-ply", |run| fs::remove_file(model(run)).unwrap(), false),
    (
        "no-cameras",
        |run| fs::remove_file(run.join("cameras.json")).unwrap(),
        true,
    ),
    (
        "no-metrics",
        |run| fs::remove_file(run.join("metrics.jsonl")).unwrap(),
        true,
    ),
    (
        "failed",
        |run| {
            change(run, |record| {
                record["status"] = "failed".into();
                record["message"] = "it broke".into();
            });
        },
        true,
    ),
];

fn model(run: &Path) -> std::path::PathBuf {
    run.join("point_cloud/iteration_100/point_cloud.ply")
}

fn text(page: &Page, id: &str) -> String {
    let text = page.eval(&format!("document.getElementById({id:?}).textContent"));
    text.as_str().unwrap().to_owned()
}

/// The figures beside the cameras, without unit, by name.
fn camera_figures(page: &Page) -> Vec<(String, String)> {
    let script = "[...document.querySelectorAll('#cameras [data-camera]')].map(e => \
                  [e.dataset.camera, e.querySelector('small')?.textContent ?? ''])";
    serde_json::from_value(page.eval(script)).unwrap()
}

#[test]
fn a_run_that_shows_nothing_shows_nothing_of_the_run_before() {
    let stage = Stage::shared();
    let root = stage.scratch.join("switch");
    copy(&stage.run(), &root.join("good"));
    for (name, breaks, _) in BROKEN {
        copy(&stage.run(), &root.join(name));
        breaks(&root.join(name));
    }
    // All but the good one end at another iteration, so that its splats are known from theirs.
    change(&root.join("good"), |record| {
        let plys = record["plys"].as_array_mut().unwrap();
        plys.retain(|ply| ply["iteration"] == ITERATIONS[0]);
    });
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/good", view.url));
    ready(&page);
    drawn(&page);
    let good = status(&page);
    assert_eq!(good["iteration"], ITERATIONS[0]);
    for (name, _, has_splats) in BROKEN {
        page.set("#run", &format!("runs/{name}"));
        if *has_splats {
            page.wait(&format!("JSON.parse(kiln.status()).iteration === {}", ITERATIONS[1]));
            drawn(&page);
            assert_ne!(status(&page)["splats"], good["splats"], "{name}");
        } else {
            page.wait("document.querySelector('#messages [role=alert]') && !JSON.parse(kiln.status()).loading");
            let now = status(&page);
            assert_eq!((&now["splats"], &now["drawn"]), (&0.into(), &0.into()), "{name}: {now}");
            assert_eq!(now["shown"], "nothing", "{name}");
        }
        let address = page.eval("new URLSearchParams(location.search).getAll('run').join()");
        assert_eq!(address, format!("runs/{name}"));
        let unread = ["bad-json", "other-schema"].contains(name);
        assert_eq!(
            camera_figures(&page).is_empty(),
            unread || *name == "no-cameras",
            "{name}: cameras of the run before"
        );
        assert_eq!(
            text(&page, "live").is_empty(),
            unread,
            "{name}: {}",
            text(&page, "live")
        );
        assert_eq!(text(&page, "live").contains("it broke"), *name == "failed", "{name}");
        // A message at a time: those of other runs are gone.
        let said = usize::from(*name != "failed");
        page.wait(&format!(
            "document.querySelectorAll('#messages [role=alert]').length === {said}"
        ));
        page.set("#run", "runs/good");
        page.wait(&format!("JSON.parse(kiln.status()).iteration === {}", ITERATIONS[0]));
        drawn(&page);
        assert_eq!(messages(&page), [""; 0], "after {name}");
    }
    // Who changes their mind at once gets the last that they chose.
    for (name, ..) in BROKEN {
        for run in [*name, "no-cameras", "good"] {
            page.set("#run", &format!("runs/{run}"));
        }
        page.wait("JSON.parse(kiln.status()).run === 'runs/good'");
        drawn(&page);
        assert_eq!(
            (&status(&page)["iteration"], &status(&page)["splats"]),
            (&good["iteration"], &good["splats"])
        );
        assert_eq!(messages(&page), [""; 0], "after {name} and another");
    }
}

#[test]
fn figures_are_of_the_iteration_on_the_screen() {
    let stage = Stage::shared();
    let root = stage.scratch.join("figures");
    copy(&stage.run(), &root.join("whole"));
    copy(&stage.run(), &root.join("later"));
    let first = ITERATIONS[0];
    change(&root.join("later"), |record| {
        record["evals"]
            .as_array_mut()
            .unwrap()
            .retain(|eval| eval["iteration"] != first);
    });
    let figures = json(&root.join(format!("whole/eval/iteration_{first}/metrics.json")));
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&run=runs/whole&iter={first}", view.url));
    ready(&page);
    drawn(&page);
    page.wait("document.querySelector('#cameras small')");
    let rows: Vec<Value> = ["test", "train"]
        .iter()
        .flat_map(|set| figures[set]["views"].as_array().unwrap().clone())
        .collect();
    let mut compared = 0;
    for (camera, figure) in camera_figures(&page) {
        let row = rows.iter().find(|row| row["name"] == camera.as_str());
        if let Some(row) = row {
            assert_eq!(
                figure,
                format!("{:.1} dB", row["psnr_image"].as_f64().unwrap()),
                "{camera}"
            );
            compared += 1;
        }
    }
    assert!(compared > 2, "{compared}");
    assert_content(&page);

    page.set("#run", "runs/later");
    page.wait("JSON.parse(kiln.status()).run === 'runs/later'");
    drawn(&page);
    page.wait("document.querySelector('#cameras small')");
    page.set("#iteration", "0");
    page.wait(&format!("JSON.parse(kiln.status()).iteration === {first}"));
    assert!(camera_figures(&page).iter().all(|(_, figure)| figure.is_empty()));
    assert_eq!(text(&page, "cameras-note"), format!("no evaluation at {first}"));
}

#[test]
fn figures_are_those_of_the_terminal() {
    let stage = Stage::shared();
    let page = stage.page("&tab=evaluation");
    page.wait("document.querySelector('#views tr[data-view]')");
    let newest = json(
        &stage
            .run()
            .join(format!("eval/iteration_{}/metrics.json", ITERATIONS[1])),
    );
    for row in newest["test"]["views"].as_array().unwrap() {
        let name = row["name"].as_str().unwrap();
        let cells = page.eval(&format!(
            "[...document.querySelector('#views tr[data-value=\"test/{name}\"]').cells].slice(1, 3).map(c => c.textContent)"
        ));
        let [psnr, ssim] = ["psnr_image", "ssim_valid"].map(|key| row[key].as_f64().unwrap());
        assert_eq!(cells, json!([format!("{psnr:.2}"), format!("{ssim:.4}")]), "{name}");
    }
    page.click("#tab-metrics");
    let mean = newest["test"]["mean"]["ssim_valid"].as_f64().unwrap();
    page.wait(&format!(
        "document.getElementById('tables').textContent.includes('{mean:.4}')"
    ));
    assert_content(&page);
}

#[test]
fn names_may_have_colons() {
    let stage = Stage::shared();
    let root = stage.scratch.join("colons");
    let name = "2026-11-22T12:30:00";
    copy(&stage.run(), &root.join(name));
    let view = View::start(&root);
    let page = window();
    page.go(&view.url);
    ready(&page);
    drawn(&page);
    assert_eq!(status(&page)["run"], format!("runs/{name}"));
    page.go(&format!("{}&run=runs/{name}", view.url));
    ready(&page);
    drawn(&page);
    assert_content(&page);
}

#[test]
fn a_run_and_a_server_that_went_away_are_said_to_be_gone() {
    let stage = Stage::shared();
    let root = stage.scratch.join("gone");
    let run = root.join("now");
    copy(&stage.run(), &run);
    change(&run, |record| {
        record["status"] = "running".into();
        record["iterations"]["total"] = 1000.into();
    });
    // What a trainer holds while it writes to the folder.
    let writer = File::open(&run).unwrap();
    writer.lock().unwrap();
    let view = View::start(&root);
    let port = view.address.port();
    let page = window();
    page.go(&view.url);
    ready(&page);
    page.wait("document.getElementById('live').textContent.includes('training')");
    drop(writer);
    page.wait("document.getElementById('live').textContent.includes('no process writes to this run')");
    let writer = File::open(&run).unwrap();
    writer.lock().unwrap();
    page.wait("document.getElementById('live').textContent.includes('training')");

    // A run that comes later is listed without a reload.
    copy(&stage.run(), &root.join("later"));
    page.wait("[...document.getElementById('run').options].some(option => option.value === 'runs/later')");

    drop(view);
    page.wait("document.getElementById('live').textContent.includes('no answer for')");
    page.wait("document.getElementById('messages').textContent.includes('does not answer')");
    let mut command = runs::kiln();
    command.arg("view").arg(&root).args(["--port", &port.to_string()]);
    let again = View::start_with(&mut command);
    page.wait("document.getElementById('messages').textContent.includes('started anew')");
    page.go(&again.url);
    ready(&page);
    drawn(&page);
    assert_eq!(messages(&page), [""; 0]);
}
