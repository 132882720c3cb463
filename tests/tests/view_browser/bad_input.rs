//! Runs that are broken: a message each, and the rest works on.

use std::fs;
use std::path::Path;

use kiln_tests::runs::json;
use kiln_tests::view::View;

use crate::view_browser::stage::{Stage, copy, drawn, messages, ready, status, window};

/// A run with something broken.
struct Case {
    name: &'static str,
    breaks: fn(&Path),
    /// What the message must say, in lower case.
    words: &'static str,
    /// Whether the model is drawn all the same.
    drawn: bool,
}

fn model(run: &Path) -> std::path::PathBuf {
    run.join("point_cloud/iteration_100/point_cloud.ply")
}

/// Offset of the first row of a PLY file.
fn body(bytes: &[u8]) -> usize {
    let end = b"end_header\n";
    bytes.windows(end.len()).position(|window| window == end).unwrap() + end.len()
}

const CASES: &[Case] = &[
    Case {
        name: "cut-ply",
        breaks: |run| {
            let bytes = fs::read(model(run)).unwrap();
            fs::write(model(run), &bytes[..bytes.len() - 1000]).unwrap();
        },
        words: "cut off",
        drawn: true,
    },
    Case {
        name: "not-a-ply",
        breaks: |run| fs::write(model(run), "<!doctype html><p>no model here</p>").unwrap(),
        words: "neither splats nor a mesh",
        drawn: false,
    },
    Case {
        name: "no-ply",
        breaks: |run| fs::remove_file(model(run)).unwrap(),
        words: "the file is missing",
        drawn: false,
    },
    Case {
        name: "no-splats",
        breaks: |run| {
            let bytes = fs::read(model(run)).unwrap();
            let header = String::from_utf8(bytes[..body(&bytes)].to_vec()).unwrap();
            let start = header.find("element vertex ").unwrap();
            let end = start + header[start..].find('\n').unwrap();
            fs::write(
                model(run),
                format!("{}element vertex 0{}", &header[..start], &header[end..]),
            )
            .unwrap();
        },
        words: "no splats",
        drawn: false,
    },
    Case {
        name: "nan-splats",
        breaks: |run| {
            let mut bytes = fs::read(model(run)).unwrap();
            let start = body(&bytes);
            // x of the first splat.
            bytes[start..start + 4].copy_from_slice(&f32::NAN.to_le_bytes());
            fs::write(model(run), bytes).unwrap();
        },
        words: "1 splat holds a value that is no number",
        drawn: true,
    },
    Case {
        name: "half-json-line",
        breaks: |run| {
            let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
            fs::write(run.join("metrics.jsonl"), &text[..text.len() - 20]).unwrap();
        },
        words: "last line of metrics.jsonl is only half written",
        drawn: true,
    },
    Case {
        name: "broken-json-line",
        breaks: |run| {
            let text = fs::read_to_string(run.join("metrics.jsonl")).unwrap();
            fs::write(run.join("metrics.jsonl"), format!("{{\"type\": nonsense\n{text}")).unwrap();
        },
        words: "metrics.jsonl has 1 damaged line",
        drawn: true,
    },
    Case {
        name: "new-version",
        breaks: |run| {
            let mut record = json(&run.join("run.json"));
            record["schema_version"] = 99.into();
            fs::write(run.join("run.json"), record.to_string()).unwrap();
        },
        words: "99",
        drawn: false,
    },
    Case {
        name: "broken-run-json",
        breaks: |run| fs::write(run.join("run.json"), "{\"schema_version\": 1,").unwrap(),
        words: "run.json",
        drawn: false,
    },
    Case {
        name: "no-cameras",
        breaks: |run| fs::remove_file(run.join("cameras.json")).unwrap(),
        words: "cameras.json is missing",
        drawn: true,
    },
    Case {
        name: "no-metrics",
        breaks: |run| fs::remove_file(run.join("metrics.jsonl")).unwrap(),
        words: "metrics.jsonl is missing",
        drawn: true,
    },
];

#[test]
fn what_is_broken_is_said_and_the_rest_works() {
    let stage = Stage::shared();
    let root = stage.scratch.join("bad");
    for case in CASES {
        let run = root.join(case.name);
        copy(&stage.run(), &run);
        (case.breaks)(&run);
    }
    copy(&stage.run(), &root.join("good"));
    let view = View::start(&root);
    let page = window();
    for case in CASES {
        page.go(&format!("{}&run=runs/{}", view.url, case.name));
        ready(&page);
        if case.drawn {
            drawn(&page);
        }
        page.wait(&format!(
            "document.getElementById('messages').textContent.toLowerCase().includes({:?})",
            case.words
        ));
        assert!(
            case.drawn || status(&page)["splats"] == 0,
            "{}: {}",
            case.name,
            status(&page)
        );
        // Other tabs work, and so does another run.
        page.click("#tab-metrics");
        page.wait("!document.getElementById('panel-metrics').hidden");
        assert_eq!(
            page.eval("document.documentElement.dataset.state"),
            "ready",
            "{}",
            case.name
        );
    }
    page.go(&format!("{}&run=runs/good", view.url));
    ready(&page);
    drawn(&page);
    assert_eq!(messages(&page), [""; 0]);
}

#[test]
fn a_dropped_file_is_opened_and_a_broken_one_named() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    let drop_file = |script: &str, name: &str| {
        page.run(&format!(
            "window.dropped = (async () => {{ const data = new DataTransfer(); \
             data.items.add(new File([await ({script})], {name:?})); \
             for (const kind of ['dragenter', 'dragover', 'drop']) document.getElementById('view').dispatchEvent( \
             new DragEvent(kind, {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()"
        ));
        let _ = page.eval("window.dropped.then(() => 1)");
    };
    drop_file("Promise.resolve('no model at all')", "broken.ply");
    page.wait("document.querySelector('#messages [role=alert]')");
    let said = messages(&page).join("\n");
    assert!(said.contains("broken.ply"), "{said}");
    let label = || page.eval("document.getElementById('iteration-value').textContent");
    assert!(label().as_str().unwrap().starts_with("iteration 100"), "{}", label());
    assert_eq!(status(&page)["shown"], "saved");
    let record = json(&stage.run().join("run.json"));
    let early = record["plys"]
        .as_array()
        .unwrap()
        .iter()
        .find(|ply| ply["iteration"] == 50 && ply["kind"] == "fused");
    let target = format!(
        "runs/garden/point_cloud/iteration_50/point_cloud.ply?token={}",
        stage.view.token
    );
    drop_file(&format!("fetch({target:?}).then(answer => answer.blob())"), "other.ply");
    page.wait(&format!(
        "JSON.parse(kiln.status()).splats === {}",
        early.unwrap()["gaussians"]
    ));
    drawn(&page);
    assert_eq!(status(&page)["shown"], "file");
    assert!(label().as_str().unwrap().starts_with("other.ply · "), "{}", label());
    let figures = page.eval("document.querySelectorAll('#cameras button small').length");
    assert_eq!(figures, 0, "PSNR of the run's model beside another");
    page.click("#newest");
    page.wait("JSON.parse(kiln.status()).shown === 'saved'");
}
