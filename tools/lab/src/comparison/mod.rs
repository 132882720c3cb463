//! Results of many runs: rows, one a run, and their means in one file.
//!
//! Owns: the file that `compare` and `antialias` write, its tables, and which rows of an earlier call still hold.
//! Promises: every row says what it was made with, and no row is used for another program or another command. Refuses:
//! files of another shape.

mod means;
mod print;
mod row;

use std::path::Path;

use print::{list, object};
pub(crate) use row::{Origin, Row};
use serde::Deserialize;
use serde_json::{Map, Value};
use xtask::failure::{Failure, Result};

use crate::files;

const VERSION: u32 = 1;

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
    /// Keys of the texts that identify a row; rows that agree in all of them share a mean.
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
        let file: File = files::json(path)?;
        if file.schema_version != VERSION || file.kind != self.kind {
            return Err(Failure::new(format!(
                "{} was written by `{}`, version {}, not by `{}`, version {VERSION}\nhint: name another file, or remove it",
                path.display(),
                file.kind,
                file.schema_version,
                self.kind
            )));
        }
        let rows = file.rows.into_iter().enumerate();
        let read = |(at, row)| Row::read(self, row, &format!("{}, row {at}", path.display()));
        rows.map(read).collect()
    }

    /// Writes rows and means; `command` is what was typed, without folders of this machine.
    ///
    /// # Errors
    /// [`Failure`] when the file cannot be written.
    pub(crate) fn store(&self, path: &Path, command: &str, rows: &[Row]) -> Result<()> {
        let columns = self.metrics.iter().map(|metric| {
            object([
                ("key", metric.key.into()),
                ("title", metric.title.into()),
                ("digits", metric.digits.into()),
            ])
        });
        let means = self.means(rows);
        let text = format!(
            "{{\n  \"schema_version\": {VERSION},\n  \"kind\": {},\n  \"command\": {},\n  \"labels\": {},\n  \
             \"columns\": {},\n  \"means\": {},\n  \"rows\": {}\n}}\n",
            Value::from(self.kind),
            Value::from(command),
            Value::from(self.labels),
            list(columns),
            list(means.iter().map(|of| of.print(self))),
            list(rows.iter().map(|row| row.print(self)))
        );
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| Failure::io("create", folder, e))?;
        }
        std::fs::write(path, text).map_err(|e| Failure::io("write", path, e))
    }
}

/// What is read of a file; the rest follows from the rows.
#[derive(Deserialize)]
struct File {
    schema_version: u32,
    kind: String,
    rows: Vec<Map<String, Value>>,
}
