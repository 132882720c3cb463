//! What the tests share: a trained run, a server for it, and a page that is ready.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use kiln_tests::browser::{Browser, Page};
use kiln_tests::runs::{QUICK, Scratch, outcome, train_command};
use kiln_tests::view::View;
use serde_json::Value;

/// Iterations of the trained run's models and evaluations.
pub(crate) const ITERATIONS: [u64; 2] = [50, 100];

/// Name of the trained run.
pub(crate) const RUN: &str = "runs/garden";

/// A trained run with a server, and a browser that stays while they are used.
pub(crate) struct Stage {
    pub(crate) scratch: Scratch,
    pub(crate) view: View,
    // Held, so that tests one after the other use one browser.
    _browser: Arc<Browser>,
}

impl Stage {
    /// Trained and started by the first test that asks.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Stage>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let stage = Arc::new(Self::set_up());
            *shared = Arc::downgrade(&stage);
            stage
        })
    }

    fn set_up() -> Self {
        let scratch = Scratch::new("viewer");
        let root = scratch.join("runs");
        let more = [
            ("schedule.test", "[50]"),
            ("schedule.save", "[50]"),
            ("eval.views_logged", "3"),
        ];
        let (code, text) = outcome(&mut train_command(&root.join("garden"), &[QUICK, &more]));
        assert_eq!(code, Some(0), "{text}");
        let view = View::start(&root);
        Self {
            scratch,
            view,
            _browser: Browser::shared(),
        }
    }

    /// The folder of the trained run.
    pub(crate) fn run(&self) -> PathBuf {
        self.scratch.join("runs/garden")
    }

    /// A page on the trained run; `more` is added to the address, for example `&tab=metrics`.
    pub(crate) fn page(&self, more: &str) -> Page {
        let page = window();
        page.go(&format!("{}&run={RUN}{more}", self.view.url));
        ready(&page);
        page
    }
}

/// A window that is small, because the browser's software driver draws every pixel on the processor.
pub(crate) fn window() -> Page {
    Page::new(640, 400)
}

/// Waits until a page has loaded everything.
pub(crate) fn ready(page: &Page) {
    page.wait("document.documentElement.dataset.state === 'ready' && !JSON.parse(kiln.status()).loading");
}

/// Waits until the model is drawn.
pub(crate) fn drawn(page: &Page) {
    page.wait(
        "(() => { const s = JSON.parse(kiln.status()); return !s.loading && s.splats > 0 && s.first_frame_ms !== null; })()",
    );
}

/// What the page says about itself.
pub(crate) fn status(page: &Page) -> Value {
    page.eval("JSON.parse(kiln.status())")
}

/// The messages on the page.
pub(crate) fn messages(page: &Page) -> Vec<String> {
    let list = page.eval("[...document.querySelectorAll('#messages [role=alert]')].map(e => e.textContent)");
    serde_json::from_value(list).unwrap()
}

/// Nothing went wrong: no message, no error on the console.
pub(crate) fn assert_content(page: &Page) {
    assert_eq!(messages(page), [""; 0]);
    assert_eq!(page.complaints(), [""; 0]);
}

/// Copies a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    assert!(
        Command::new("cp")
            .arg("-r")
            .args([from, to])
            .status()
            .unwrap()
            .success()
    );
}

/// Changes `run.json` as the trainer does: in one piece.
pub(crate) fn change(run: &Path, how: impl FnOnce(&mut Value)) {
    let path = run.join("run.json");
    let mut record = kiln_tests::runs::json(&path);
    how(&mut record);
    let new = run.join("new.json");
    fs::write(&new, record.to_string()).unwrap();
    fs::rename(new, path).unwrap();
}

/// Writes a picture of the page where somebody wants one.
pub(crate) fn keep(page: &Page, name: &str) {
    if let Some(folder) = std::env::var_os("KILN_SCREENSHOTS").map(PathBuf::from) {
        fs::create_dir_all(&folder).unwrap();
        page.resize(1280, 800);
        // Two frames after the change, the last before it has been replaced.
        let _ = page.eval(
            "new Promise(end => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, 1000))))",
        );
        page.screenshot(&folder.join(format!("{name}.png")));
    }
}
