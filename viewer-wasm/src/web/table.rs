//! The tab of all projects and runs.

use super::app::{App, with};
use super::{dom, net};
use crate::address::Tab;
use crate::json::{self, Value};
use crate::run::names::short;
use crate::run::project::section;
use crate::run::table::{Choice, Column, Row, table};
use crate::run::{RunInfo, parse_index};

/// Bytes at the end of `metrics.jsonl` in which the last time is looked for.
const END_BYTES: u32 = 16 << 10;

/// Widest map, pixels.
const WIDEST_PX: f64 = 480.0;

/// What is known of all runs.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<Row>,
    choice: Choice,
    /// Entries of `projects.json`.
    projects: Option<Value>,
    /// Rows are being read.
    reading: bool,
}

/// Reads the index and what is not known yet of its runs, or changes; one after the other.
pub(super) async fn read_rows() {
    let begun = with(|app| !std::mem::replace(&mut app.table.reading, true));
    if begun != Some(true) {
        return;
    }
    let request = |file: &str| with(|app| app.address.request(file)).unwrap_or_default();
    // A server of files alone may have no projects.
    let projects = net::text(&request("projects.json"), true).await;
    if let Some(projects) = projects.ok().and_then(|text| json::parse(&text).ok()) {
        with(|app| {
            app.table.projects = Some(projects);
            app.show_projects();
        });
    }
    let index_url = request("runs.json");
    let index = net::text(&index_url, true)
        .await
        .ok()
        .and_then(|text| parse_index(&text).ok());
    let wanted = with(|app| {
        if let Some(index) = index {
            app.take_index(index);
        }
        let settled = |row: &&Row| row.info.as_ref().is_some_and(|info| !info.is_running());
        let rows = app.table.rows.iter().filter(|row| !settled(row));
        rows.map(|row| row.path.clone()).collect::<Vec<_>>()
    });
    for path in wanted.unwrap_or_default() {
        let url = |file: &str| request(&format!("{path}/{file}"));
        let info = net::text(&url("run.json"), true).await;
        let info = info.ok().and_then(|text| RunInfo::parse(&text).ok());
        let end = net::end(&url("metrics.jsonl"), END_BYTES).await.unwrap_or_default();
        with(|app| {
            if let Some(row) = app.table.rows.iter_mut().find(|row| row.path == path) {
                row.info = info;
                row.seconds = seconds(&end);
            }
            app.show_table();
        });
    }
    with(|app| app.table.reading = false);
}

/// The time in the last line that has one.
fn seconds(end: &str) -> Option<f64> {
    let lines = end.lines().rev();
    lines
        .filter(|line| line.contains("\"t_s\""))
        .find_map(|line| json::parse(line).ok()?.number("t_s"))
}

impl App {
    /// Takes the list of runs; rows that stay keep what is known of them.
    pub(super) fn take_index(&mut self, index: Vec<String>) {
        let mut rows: Vec<Row> = index
            .iter()
            .zip(short(&index))
            .map(|(path, name)| {
                let old = self.table.rows.iter().find(|row| row.path == *path).cloned();
                Row {
                    path: path.clone(),
                    name,
                    ..old.unwrap_or_default()
                }
            })
            .collect();
        std::mem::swap(&mut self.table.rows, &mut rows);
        if self.index != index {
            self.index = index;
            self.show_runs();
        }
        self.show_table();
    }

    /// Name of a run for people.
    pub(super) fn name_of<'a>(&'a self, path: &'a str) -> &'a str {
        let row = self.table.rows.iter().find(|row| row.path == path);
        row.map_or_else(|| path.rsplit('/').next().unwrap_or(path), |row| &row.name)
    }

    /// Draws the maps anew when the tab is in front.
    pub(super) fn show_projects(&self) {
        if self.address.tab == Tab::Runs {
            let width = dom::by_id("projects").map_or(0.0, |element| f64::from(element.client_width()));
            let open = self.runs.first().map_or("", |run| &run.path);
            let mut html = String::new();
            for project in self.table.projects.as_ref().map_or(&[][..], Value::as_items) {
                html += &section(project, width.min(WIDEST_PX), open);
            }
            dom::set_html("projects", &html);
        }
    }

    /// Draws the tab anew when it is in front.
    pub(super) fn show_table(&self) {
        if self.address.tab == Tab::Runs {
            let open: Vec<(String, usize)> = self.runs.iter().map(|run| (run.path.clone(), run.color)).collect();
            dom::set_html("runs-table", &table(&self.table.rows, &self.table.choice, &open));
            dom::set_text(
                "runs-count",
                &format!(
                    "{} {}",
                    self.table.rows.len(),
                    if self.table.rows.len() == 1 { "run" } else { "runs" }
                ),
            );
        }
    }

    pub(super) fn sort_table(&mut self, title: &str) {
        self.table.choice.sort(Column::of_title(title));
        self.show_table();
    }

    pub(super) fn filter_table(&mut self, filter: &str) {
        filter.clone_into(&mut self.table.choice.filter);
        self.show_table();
    }
}
