//! The page's state, and its beginning.

use std::cell::RefCell;

use super::renderer::Renderer;
use super::runs::Run;
use super::splats::View;
use super::{actions, curves, dom, evaluation, live, pictures, pointer, runs, table};
use crate::address::{Address, Tab};
use crate::html::escape;

thread_local! {
    static APP: RefCell<Option<App>> = const { RefCell::new(None) };
}

/// Everything the page knows.
pub(super) struct App {
    pub(super) address: Address,
    /// Folders that `runs.json` names.
    pub(super) index: Vec<String>,
    /// The runs shown; the first is the one whose splats and views are.
    pub(super) runs: Vec<Run>,
    pub(super) renderer: Option<Renderer>,
    pub(super) view: View,
    pub(super) curves: curves::Curves,
    pub(super) evaluation: evaluation::Compare,
    pub(super) pictures: pictures::Pictures,
    pub(super) table: table::Table,
    /// Key and text of each message that is shown.
    messages: Vec<(String, String)>,
    pub(super) live_bytes: u64,
    /// Whether the server has a list of runs.
    pub(super) has_index: bool,
    /// Counts the choices of a run: what was asked for before the last of them is not shown any more.
    pub(super) choice: u32,
    /// When the server's silence began, milliseconds of the page.
    pub(super) silent_since_ms: Option<f64>,
    /// When something was changed that the address does not say yet.
    pub(super) touched_ms: Option<f64>,
    /// Tab and run of the entry in the browser's history that the page stands on.
    pub(super) entry: (Tab, Option<String>),
}

/// Messages under these keys are about the page or the server; all others are about a run, and go with it.
const LASTING: [&str; 5] = ["address", "index", "webgl", "sort", "server"];

/// Works on the page's state; `None` while somebody else does, which only happens inside an event of the page's own
/// making.
pub(super) fn with<R>(work: impl FnOnce(&mut App) -> R) -> Option<R> {
    APP.with(|app| app.try_borrow_mut().ok().and_then(|mut app| app.as_mut().map(work)))
}

/// Builds the page.
pub(super) fn start(token: Option<String>, stored: bool) {
    let location = dom::window().map(|window| window.location());
    let query = location.and_then(|location| location.search().ok()).unwrap_or_default();
    let address = Address::parse(&query);
    let tab = address.tab;
    let app = App {
        address: Address {
            token: token.or(address.token),
            hides_token: stored,
            ..address
        },
        index: Vec::new(),
        runs: Vec::new(),
        renderer: None,
        view: View::new(),
        curves: curves::Curves::default(),
        evaluation: evaluation::Compare::default(),
        pictures: pictures::Pictures::default(),
        table: table::Table::default(),
        messages: Vec::new(),
        live_bytes: 0,
        has_index: false,
        choice: 0,
        silent_since_ms: None,
        touched_ms: None,
        entry: (tab, None),
    };
    APP.with(|slot| *slot.borrow_mut() = Some(app));
    actions::listen();
    pointer::listen();
    with(|app| {
        app.restore_theme();
        app.restore_looks();
        // A small window belongs to the scene.
        app.show_panel(!dom::is_narrow());
        app.start_drawing();
        for run in app.address.refused.clone() {
            let text = format!("`{run}` is not a folder below this page, or one run too many, and was not opened.");
            app.say("address", &text);
        }
        app.show_tab(app.address.tab);
    });
    super::splats::animate();
    wasm_bindgen_futures::spawn_local(async {
        runs::open_all().await;
        if let Some(root) = dom::document().and_then(|document| document.document_element()) {
            let failed = with(|app| app.renderer.is_none()).unwrap_or(true);
            let _ = root.set_attribute("data-state", if failed { "failed" } else { "ready" });
        }
        live::follow().await;
    });
}

impl App {
    /// Shows a message until it is dismissed; another one under the same key takes its place.
    pub(super) fn say(&mut self, key: &str, text: &str) {
        match self.messages.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => text.clone_into(old),
            None => self.messages.push((key.to_owned(), text.to_owned())),
        }
        self.show_messages();
    }

    /// Takes a message back.
    pub(super) fn unsay(&mut self, key: &str) {
        self.messages.retain(|(known, _)| known != key);
        self.show_messages();
    }

    /// Takes back what was said about the run that was shown.
    pub(super) fn forget_messages(&mut self) {
        self.messages.retain(|(key, _)| LASTING.contains(&key.as_str()));
        self.show_messages();
    }

    fn show_messages(&self) {
        let rows = self.messages.iter().map(|(key, text)| {
            format!(
                "<p role=\"alert\"><span>{}</span><button type=\"button\" class=\"quiet\" data-act=\"dismiss\" \
                 data-value=\"{}\" aria-label=\"Dismiss\">&times;</button></p>",
                escape(text),
                escape(key)
            )
        });
        dom::set_html("messages", &rows.collect::<String>());
    }

    /// Brings a tab to the front.
    pub(super) fn show_tab(&mut self, tab: Tab) {
        self.address.tab = tab;
        for each in Tab::ALL {
            dom::show(&format!("panel-{}", each.name()), each == tab);
            if let Some(button) = dom::by_id(&format!("tab-{}", each.name())) {
                let _ = button.set_attribute("aria-selected", if each == tab { "true" } else { "false" });
                let _ = button.set_attribute("tabindex", if each == tab { "0" } else { "-1" });
            }
        }
        self.sync_address();
        match tab {
            Tab::Splats => self.view.dirty = true,
            Tab::Metrics => self.draw_charts(),
            Tab::Evaluation => self.show_evaluation(),
            Tab::Runs => {
                self.show_projects();
                self.show_table();
                wasm_bindgen_futures::spawn_local(table::read_rows());
            }
        }
    }

    fn restore_theme(&self) {
        let storage = dom::window().and_then(|window| window.local_storage().ok().flatten());
        if let Some(theme) = storage.and_then(|storage| storage.get_item("theme").ok().flatten()) {
            set_theme(&theme);
        }
    }

    /// Dark becomes light and the other way round.
    pub(super) fn toggle_theme(&mut self) {
        let root = dom::document().and_then(|document| document.document_element());
        let chosen = root.and_then(|root| root.get_attribute("data-theme"));
        let dark = chosen.map_or_else(dom::is_dark, |theme| theme == "dark");
        let theme = if dark { "light" } else { "dark" };
        set_theme(theme);
        if let Some(storage) = dom::window().and_then(|window| window.local_storage().ok().flatten()) {
            let _ = storage.set_item("theme", theme);
        }
    }

    /// How the page stands, as JSON.
    pub(super) fn status_json(&self) -> String {
        let view = &self.view;
        let quoted = |text: &str| {
            format!(
                "\"{}\"",
                text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ")
            )
        };
        let model = self.renderer.as_ref().and_then(|renderer| renderer.model.as_ref());
        let number = |value: Option<f64>| value.map_or("null".to_owned(), |value| format!("{value:.3}"));
        let messages: Vec<_> = self.messages.iter().map(|(_, text)| quoted(text)).collect();
        let fields = [
            (
                "run",
                self.runs.first().map_or("null".to_owned(), |run| quoted(&run.path)),
            ),
            (
                "iteration",
                view.subject.iteration().map_or("null".to_owned(), |it| it.to_string()),
            ),
            ("shown", quoted(view.subject.word())),
            ("follows", self.follows().to_string()),
            ("splats", model.map_or(0, |model| model.loaded).to_string()),
            (
                "triangles",
                self.renderer
                    .as_ref()
                    .and_then(|renderer| renderer.mesh.as_ref())
                    .map_or(0, |mesh| mesh.n_triangles)
                    .to_string(),
            ),
            (
                "kept",
                self.renderer
                    .as_ref()
                    .and_then(|renderer| renderer.kept.model.as_ref())
                    .map_or(0, |model| model.loaded)
                    .to_string(),
            ),
            ("coarse", view.coarse.to_string()),
            ("drawn", model.map_or(0, |model| model.drawn).to_string()),
            ("skipped", view.skipped.to_string()),
            ("sh_degree", model.map_or(0, |model| model.about.degree).to_string()),
            (
                "gpu_bytes",
                model.map_or(0, |model| model.layout.gpu_bytes()).to_string(),
            ),
            (
                "streamed",
                model
                    .and_then(|model| Some((model.about.count, model.streamed?)))
                    .map_or("null".to_owned(), |(budget, of)| {
                        format!(
                            "{{\"finest\":{},\"budget\":{budget},\"pending\":{}}}",
                            of.finest, of.pending
                        )
                    }),
            ),
            ("loading", view.is_loading().to_string()),
            ("sorts", view.sorts.to_string()),
            ("sort_ms", number(view.sort_ms)),
            ("frame_ms", number(view.frame_ms)),
            ("first_frame_ms", number(view.first_frame_ms)),
            ("loaded_ms", number(view.loaded_ms)),
            ("webgl", self.renderer.is_some().to_string()),
            ("live_bytes", self.live_bytes.to_string()),
            ("messages", format!("[{}]", messages.join(","))),
        ];
        let parts: Vec<_> = fields.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", parts.join(","))
    }
}

fn set_theme(theme: &str) {
    if let Some(root) = dom::document().and_then(|document| document.document_element()) {
        let _ = root.set_attribute("data-theme", if theme == "light" { "light" } else { "dark" });
    }
}
