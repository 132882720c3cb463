//! The address line and what stands in it: a link shows another reader what one sees.

use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use super::app::{App, with};
use super::beside::Beside;
use super::dom;
use super::photo::Photo;
use crate::address::Address;
use crate::style::Style;

/// After this time without a change the address follows: browsers take few changes of it a second.
const REST_MS: f64 = 250.0;

impl App {
    /// Sets up what the address says of how things are shown.
    pub(super) fn restore_looks(&mut self) {
        let address = &self.address;
        let view = &mut self.view;
        view.look.style = Style::of_name(address.look("style").unwrap_or_default());
        view.look.degree = address.number("sh").map_or(3, |degree| degree.clamp(0.0, 3.0) as u32);
        view.look.scale = address.number("size").map_or(1.0, |size| size.clamp(0.05, 1.5) as f32);
        view.photo = Photo::of_name(address.look("photo").unwrap_or_default());
        view.photo_share = address
            .number("share")
            .map_or(view.photo_share, |share| share.clamp(0.0, 1.0));
        view.kept.wanted = address.look("with").map(str::to_owned);
        view.kept.beside = Beside::of_name(address.look("beside").unwrap_or_default());
        view.kept.share = address.number("split").map_or(0.5, |share| share.clamp(0.0, 1.0));
        if let Some(input) = dom::input_by_id("photo-amount") {
            input.set_value(&format!("{:.0}", 1000.0 * view.photo_share));
        }
        if let Some(input) = dom::input_by_id("scale") {
            input.set_value(&view.look.scale.to_string());
        }
        dom::set_text("scale-value", &format!("{:.2}", view.look.scale));
        self.evaluation.restore(address);
        self.curves.restore(address);
    }

    fn looks(&self) -> Vec<(&'static str, String)> {
        let (look, view) = (&self.view.look, &self.view);
        let mut looks = Vec::new();
        let mut add = |key, value: String, changed: bool| {
            if changed {
                looks.push((key, value));
            }
        };
        add("style", look.style.name().to_owned(), look.style != Style::default());
        add("sh", look.degree.to_string(), look.degree < 3);
        add("size", format!("{:.2}", look.scale), (look.scale - 1.0).abs() > 1e-3);
        let photo = view.photo != Photo::Off;
        add("photo", view.photo.name().to_owned(), photo);
        add("share", format!("{:.3}", view.photo_share), photo);
        let kept = &view.kept;
        let link = kept.link.as_ref().or(view.elsewhere.as_ref()).or(kept.wanted.as_ref());
        add("with", link.cloned().unwrap_or_default(), link.is_some());
        let beside = link.is_some() && kept.beside != Beside::default();
        add("beside", kept.beside.name().to_owned(), beside);
        let split = link.is_some() && (kept.share - 0.5).abs() > 1e-3;
        add("split", format!("{:.3}", kept.share), split);
        let budget = self.address.look("budget");
        add("budget", budget.unwrap_or_default().to_owned(), budget.is_some());
        self.evaluation.looks(&mut add);
        self.curves.looks(&mut add);
        looks
    }

    /// What is shown changed: the address says so soon.
    pub(super) fn touch(&mut self) {
        self.touched_ms = Some(dom::now_ms());
    }

    /// Writes what was touched into the address once that rests.
    pub(super) fn settle(&mut self) {
        if self.touched_ms.is_some_and(|touched| dom::now_ms() - touched > REST_MS) {
            self.sync_address();
        }
    }

    /// Writes what is shown into the browser's address line.
    pub(super) fn sync_address(&mut self) {
        self.touched_ms = None;
        self.remember_place();
        self.address.runs = self
            .runs
            .iter()
            .map(|run| run.path.clone())
            .chain(self.pending_runs())
            .collect();
        self.address.looks = self.looks();
        let text = self.address.print();
        let history = dom::window().and_then(|window| window.history().ok());
        if let Some(history) = history {
            let url = if text.is_empty() { "./" } else { &text };
            let entry = (self.address.tab, self.address.runs.first().cloned());
            // *Back* leads to the tab and the run before; the first run of a page opens by itself.
            let stays = self.entry.0 == entry.0 && (self.entry.1.is_none() || self.entry.1 == entry.1);
            let _ = if stays {
                history.replace_state_with_url(&JsValue::NULL, "", Some(url))
            } else {
                history.push_state_with_url(&JsValue::NULL, "", Some(url))
            };
            self.entry = entry;
        }
    }

    /// *Back* or *Forward* was pressed: the address is that of another tab or run.
    pub(super) fn follow_history(&mut self) {
        let Some(location) = dom::window().map(|window| window.location()) else {
            return;
        };
        let then = Address::parse(&location.search().unwrap_or_default());
        if then.runs.first() == self.address.runs.first() {
            self.entry.0 = then.tab;
            self.show_tab(then.tab);
        } else {
            // All that its address says is set up as for whoever opens it.
            let _ = location.reload();
        }
    }

    /// Runs of the address that are not open yet: they stay in it.
    fn pending_runs(&self) -> Vec<String> {
        let open = |path: &String| self.runs.iter().any(|run| run.path == *path);
        self.address.runs.iter().filter(|path| !open(path)).cloned().collect()
    }

    /// Puts the address into the clipboard, without the token, which is the reader's own.
    pub(super) fn copy_link(&mut self) {
        self.sync_address();
        let query = Address {
            hides_token: true,
            ..self.address.clone()
        }
        .print();
        let Some(window) = dom::window() else {
            return;
        };
        let location = window.location();
        let page = location.origin().unwrap_or_default() + &location.pathname().unwrap_or_default();
        let link = page + &query;
        spawn_local(async move {
            let written = JsFuture::from(window.navigator().clipboard().write_text(&link)).await;
            with(|app| match written {
                Ok(_) => dom::set_text("copy-link", "Copied"),
                Err(_) => app.say("link", &format!("The browser keeps its clipboard. The link is {link}")),
            });
            super::live::pause(2000).await;
            dom::set_text("copy-link", "Copy link");
        });
    }
}
