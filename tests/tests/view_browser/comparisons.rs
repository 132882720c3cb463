//! The page of comparisons: means, the runs behind them, and the way to a run.

use std::fs;

use kiln_tests::runs::Scratch;
use kiln_tests::view::View;

use crate::view_browser::stage::{Stage, assert_content, copy, keep, messages, window};

const COMPARISON: &str = r#"{
  "schema_version": 1, "kind": "compare", "command": "cargo lab compare garden --recipes default,mip",
  "labels": ["scene", "recipe"],
  "columns": [{"key": "psnr_image", "title": "PSNR", "digits": 2}, {"key": "lpips", "title": "LPIPS", "digits": 4}],
  "means": [
    {"scene": "garden", "recipe": "default", "n": 2, "psnr_image": {"mean": 28, "std": 0.5, "min": 27.5, "max": 28.5},
     "lpips": null},
    {"scene": "garden", "recipe": "mip", "n": 1, "psnr_image": {"mean": 29.256, "std": null, "min": 29.256, "max": 29.256},
     "lpips": null}],
  "rows": [
    {"scene": "garden", "recipe": "default", "seed": 0, "psnr_image": 27.5, "lpips": null, "device": "card",
     "commit": "abc", "run": "garden", "command": "kiln train garden"},
    {"scene": "garden", "recipe": "<b>mip</b>", "seed": 1, "psnr_image": 28.5, "lpips": null, "device": "card",
     "commit": "abc", "run": "gone", "command": "kiln train garden"}]}"#;

/// JSON that is no comparison.
const SHAPES: [(&str, &str); 6] = [
    ("compare-shape-1.json", "null"),
    ("compare-shape-2.json", "[]"),
    (
        "compare-shape-3.json",
        r#"{"columns": [], "labels": [], "means": {}, "rows": []}"#,
    ),
    (
        "compare-shape-4.json",
        r#"{"columns": [], "labels": [], "means": [null], "rows": []}"#,
    ),
    (
        "compare-shape-5.json",
        r#"{"columns": [{"key": "a", "title": "A", "digits": 2}], "labels": [], "means": [{"a": {"mean": "x"}}], "rows": []}"#,
    ),
    (
        "compare-shape-6.json",
        r#"{"columns": [{"key": "a", "title": "A", "digits": 999}], "labels": [], "means": [], "rows": [{"a": 1}]}"#,
    ),
];

#[test]
fn a_comparison_is_a_table_that_leads_to_its_runs() {
    let stage = Stage::shared();
    let scratch = Scratch::new("comparisons");
    copy(&stage.run(), &scratch.join("runs/garden"));
    fs::write(scratch.join("runs/compare.json"), COMPARISON).unwrap();
    fs::write(scratch.join("runs/compare-broken.json"), "{").unwrap();
    for (name, text) in SHAPES {
        fs::write(scratch.join("runs").join(name), text).unwrap();
    }
    let view = View::start(&scratch.join("runs"));
    let page = window();
    // The way there from the page of the runs.
    page.go(&view.url);
    page.wait("document.documentElement.dataset.state === 'ready'");
    page.wait("!document.getElementById('or-comparisons').hidden");
    page.click("#comparisons");
    page.wait("location.pathname.endsWith('compare.html') && document.documentElement.dataset.state === 'ready'");
    page.wait("document.querySelector('#messages [role=alert]')");
    assert!(messages(&page)[0].contains("JSON"), "{:?}", messages(&page));
    // JSON of any other shape is a sentence too.
    for (name, text) in SHAPES {
        page.set("#file", &format!("runs/{name}"));
        page.wait(&format!(
            "document.querySelector('#messages [role=alert]')?.textContent.includes('{name}')"
        ));
        let said = &messages(&page)[0];
        let start = format!("runs/{name} is no comparison that this page knows: ");
        assert!(said.starts_with(&start) && !said.contains("Error"), "{text}: {said}");
        assert_eq!(
            page.eval("document.querySelectorAll('#tables table').length"),
            0,
            "{text}"
        );
    }
    page.set("#file", "runs/compare.json");
    page.wait("document.querySelectorAll('#tables table').length === 2");
    let cells = |table: usize, row: usize| {
        let rows = format!("document.querySelectorAll('#tables table')[{table}].tBodies[0].rows[{row}]");
        page.eval(&format!("[...{rows}.cells].map(cell => cell.textContent).join('|')"))
    };
    assert_eq!(cells(0, 0), "garden|default|2|28.00 ± 0.50|-");
    assert_eq!(cells(0, 1), "garden|mip|1|29.26|-");
    assert_eq!(cells(1, 1), "garden|<b>mip</b>|1|28.50|-|card|abc|gone");
    let leads = "[...document.querySelectorAll('#tables td.best')].map(cell => cell.textContent).join('|')";
    assert_eq!(page.eval(leads), "29.26|28.50", "the best mean and the best run");
    // A chart of the one column that all have.
    let chart = |what: &str| page.eval(&format!("document.querySelector('#tables svg.spans').{what}"));
    assert_eq!(
        chart("getAttribute('aria-label')"),
        "PSNR: garden default 28.00; garden mip 29.26"
    );
    assert_eq!(chart("querySelectorAll('circle').length"), 2);
    // Sorted by a figure, and back.
    for first in ["default", "mip"] {
        page.click("#tables th:nth-child(4) button");
        let recipe = "document.querySelector('#tables tbody td:nth-child(2)').textContent";
        page.wait(&format!("{recipe} === '{first}'"));
    }
    keep(&page, "comparisons");
    assert_eq!(
        page.eval("document.querySelectorAll('#tables td a').length"),
        1,
        "a run that is gone has no link"
    );
    assert_eq!(messages(&page), [""; 0]);
    page.click("#tables td a");
    page.wait("location.search.includes('run=runs%2Fgarden') || location.search.includes('run=runs/garden')");
    page.wait("document.documentElement.dataset.state === 'ready'");
    assert_content(&page);
}
