//! Results of many runs: rows, one a run, and their means in one file.
//!
//! Owns: the file that `compare` and `antialias` write, its tables, and which rows of an earlier call still hold.
//! Promises: every row says what it was made with, and no row is used for another program or another command. Refuses:
//! files of another shape.

mod means;
mod row;

use std::path::Path;

use crate::failure::{Failure, Result};
use crate::json::Json;
use crate::node::Node;
pub(crate) use row::{Origin, Row};

const VERSION: f64 = 1.0;

/// A figure of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric {
    /// Its key in rows.
    pub(crate) key: &'static str,
    /// Its heading.
    pub(crate) title: &'static str,
    /// Digits after the point.
    pub(crate) digits: usize,
}

/// What the rows of a file have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// What made the file.
    pub(crate) kind: &'static str,
    /// Keys of the texts that a row is told by; rows that agree in all of them share a mean.
    pub(crate) labels: &'static [&'static str],
    /// Figures.
    pub(crate) metrics: &'static [Metric],
}

impl Shape {
    /// The rows of an earlier call; none when there is no such file.
    ///
    /// # Errors
    /// [`Failure`] when the file holds something else.
    pub(crate) fn load(&self, path: &Path) -> Result<Vec<Row>> {
        if !path.exists() {
            return Ok(Vec::new());
        }
        let file = Node::file(path)?;
        let wanted = file.number("schema_version")? == VERSION && file.text("kind")? == self.kind;
        if !wanted {
            return Err(Failure::new(format!(
                "{} was not written by `cargo xtask {}` of this version\nhint: name another file, or remove it",
                path.display(),
                self.kind
            )));
        }
        file.list("rows")?.iter().map(|node| Row::read(self, node)).collect()
    }

    /// Writes rows and means; `command` is what was typed, without folders of this machine.
    ///
    /// # Errors
    /// [`Failure`] when the file cannot be written.
    pub(crate) fn store(&self, path: &Path, command: &str, rows: &[Row]) -> Result<()> {
        let column = |metric: &Metric| {
            Json::object([
                ("key", Json::text(metric.key)),
                ("title", Json::text(metric.title)),
                ("digits", Json::Number(metric.digits as f64)),
            ])
        };
        let file = Json::object([
            ("schema_version", Json::Number(VERSION)),
            ("kind", Json::text(self.kind)),
            ("command", Json::text(command)),
            (
                "labels",
                Json::List(self.labels.iter().map(|label| Json::text(*label)).collect()),
            ),
            ("columns", Json::List(self.metrics.iter().map(column).collect())),
            (
                "means",
                Json::List(self.means(rows).iter().map(|m| m.json(self)).collect()),
            ),
            ("rows", Json::List(rows.iter().map(|row| row.json(self)).collect())),
        ]);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Failure::io("create", folder, e))?;
        }
        std::fs::write(path, file.print()).map_err(|e| Failure::io("write", path, e))
    }
}
