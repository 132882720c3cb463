//! The work of every day: many runs, small windows, and hands that stay on the keyboard.

use kiln_tests::browser::Page;
use kiln_tests::view::View;
use serde_json::json;

use crate::view_browser::stage::{Stage, assert_content, change, copy, drawn, keep, ready, status, window};

/// Presses a key where the focus is.
fn press(page: &Page, key: &str) {
    page.run(&format!(
        "(document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', {{ key: {key:?}, bubbles: true }}))"
    ));
}

#[test]
fn all_runs_are_in_a_table_that_is_filtered_and_sorted() {
    let stage = Stage::shared();
    let root = stage.scratch.join("table");
    for (name, psnr) in [("a/seed0", 30.0), ("b/seed0", 20.0), ("b/other", 25.0)] {
        let run = root.join(name);
        copy(&stage.run(), &run);
        change(&run, |record| {
            for eval in record["evals"].as_array_mut().unwrap() {
                eval["test"]["psnr_image"] = psnr.into();
            }
            record["status"] = if name == "b/other" { "failed" } else { "done" }.into();
        });
    }
    let view = View::start(&root);
    let page = window();
    page.go(&format!("{}&tab=runs", view.url));
    ready(&page);
    let names = "[...document.querySelectorAll('#runs-table tbody th button')].map(e => e.textContent)";
    let psnr = "[...document.querySelectorAll('#runs-table tbody tr')].map(row => row.cells[7].textContent)";
    page.wait(&format!("{psnr}.length === 3 && !{psnr}.includes('-')"));
    page.run("document.querySelector('#runs-table [data-value=\"Test PSNR\"]').focus()");
    page.click("#runs-table [data-value='Test PSNR']");
    page.wait(&format!("{psnr}.join() === '30.00,25.00,20.00'"));
    assert_eq!(
        page.eval(names),
        json!(["a/seed0", "other", "b/seed0"]),
        "names distinguish them"
    );
    assert_eq!(
        page.eval("document.activeElement.dataset.value"),
        "Test PSNR",
        "the focus stays"
    );
    keep(&page, "runs");
    page.set("#runs-filter", "b/ done");
    page.wait(&format!("{names}.join() === 'b/seed0'"));
    // Laid over the curves from here, and opened from here.
    page.set("#runs-filter", "");
    page.click("#runs-table [data-act=overlay]");
    page.wait("new URLSearchParams(location.search).getAll('run').length === 2");
    page.click("#runs-table tbody tr:nth-child(2) [data-act=open-run]");
    page.wait("JSON.parse(kiln.status()).run === 'runs/b/other'");
    drawn(&page);
    assert_eq!(page.eval("document.title"), "other · Kiln");
    assert_content(&page);
}

#[test]
fn the_keyboard_is_enough() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    page.resize(1000, 500);
    page.click("#side-toggle");
    // Pressing a button leaves the focus on it, though the panel is drawn anew.
    page.run("document.querySelector('#degrees [data-value=\"1\"]').focus()");
    page.click("#degrees [data-value='1']");
    page.wait("document.querySelector('#degrees [data-value=\"1\"]').ariaPressed === 'true'");
    assert_eq!(page.eval("document.activeElement.dataset.value"), "1");
    // Arrows turn the scene, and go from tab to tab.
    page.run("document.getElementById('view').focus()");
    press(&page, "ArrowLeft");
    let place = "new URLSearchParams(location.search).get('view')";
    page.wait(place);
    // A key that was let go before the next frame has moved the camera for one.
    let before = page.eval(place);
    page.run("for (const kind of ['keydown', 'keyup']) window.dispatchEvent(new KeyboardEvent(kind, { key: 'w' }))");
    page.wait(&format!("{place} !== {:?}", before.as_str().unwrap()));
    page.run("document.getElementById('tab-splats').focus()");
    press(&page, "ArrowRight");
    assert_eq!(page.eval("document.activeElement.id"), "tab-metrics");
    page.wait("!document.getElementById('panel-metrics').hidden");
    // The help holds the focus and gives it back.
    press(&page, "?");
    page.wait(
        "document.getElementById('help').open && document.getElementById('help').contains(document.activeElement)",
    );
    page.click("#help-close");
    page.wait("!document.getElementById('help').open && document.activeElement.id === 'tab-metrics'");
    assert_content(&page);
}

#[test]
fn no_window_is_too_small() {
    let stage = Stage::shared();
    let page = stage.page("");
    drawn(&page);
    for width in [320, 390, 760, 1000, 1440] {
        page.resize(width, 700);
        for tab in ["splats", "metrics", "evaluation"] {
            page.click(&format!("#tab-{tab}"));
            let over = page
                .eval("document.documentElement.scrollWidth - innerWidth")
                .as_f64()
                .unwrap();
            assert!(over <= 0.0, "{tab} at {width}: {over} px too wide");
        }
        // The scales below the pictures of a view.
        for pair in ["render-error", "render-density", "gt-render"] {
            page.click(&format!("#pair-{pair}"));
            let over = page.eval("document.documentElement.scrollWidth - innerWidth");
            assert!(over.as_f64() <= Some(0.0), "{pair} at {width}: {over} px too wide");
        }
    }
    // In a small window the scene comes first; its panel is a press away.
    let small = window();
    small.resize(390, 800);
    small.go(&format!("{}&run={}", stage.view.url, crate::view_browser::stage::RUN));
    ready(&small);
    drawn(&small);
    assert_eq!(small.eval("document.getElementById('side').hidden"), true);
    small.click("#side-toggle");
    assert_eq!(small.eval("document.getElementById('side').hidden"), false);
    assert!(status(&small)["splats"].as_u64() > Some(0));
    assert_content(&small);
}
