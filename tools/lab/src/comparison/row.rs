//! One run's figures and what they were made with.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use xtask::failure::{Failure, Result};

use super::Shape;
use super::print::{figure, object};
use crate::files;

/// What a row was made with.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub(crate) struct Origin {
    /// Seed of the run.
    pub(crate) seed: u64,
    /// The command, with scenes by name and without the output folder.
    pub(crate) command: String,
    /// The first 16 digits of the SHA-256 of program and recipe file: rows of other inputs are made anew.
    pub(crate) inputs: String,
    /// Commit that the program was built from.
    pub(crate) commit: String,
    /// Device, as the run's `env.json` has it.
    pub(crate) device: String,
    /// Its driver.
    pub(crate) driver: String,
    /// Name of the run's folder.
    pub(crate) run: String,
}

impl Origin {
    /// What a finished run says of its making.
    ///
    /// # Errors
    /// [`Failure`] when its `env.json` is missing or holds something else.
    pub(crate) fn of_run(run: &Path, command: String, inputs: &str) -> Result<Self> {
        let environment: files::Environment = files::json(&run.join("env.json"))?;
        let name = run.file_name().unwrap_or(run.as_os_str());
        Ok(Self {
            seed: environment.seed,
            command,
            inputs: inputs.to_owned(),
            commit: environment.engine.commit,
            device: environment.device.name,
            driver: environment.driver,
            run: name.to_string_lossy().into_owned(),
        })
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    /// Texts in the order of [`Shape::labels`].
    pub(crate) labels: Vec<String>,
    /// What it was made with.
    pub(crate) origin: Origin,
    /// Figures in the order of [`Shape::metrics`]; none where the run has none.
    pub(crate) figures: Vec<Option<f64>>,
    /// Name of the test view with the lowest PSNR, where the run says.
    pub(crate) worst_view: Option<String>,
}

impl Row {
    /// Whether it is the row that this command of this program would make.
    pub(crate) fn is_of(&self, command: &str, inputs: &str) -> bool {
        self.origin.command == command && self.origin.inputs == inputs
    }

    /// As the file has it: an object on one line.
    pub(super) fn print(&self, shape: &Shape) -> String {
        let labels = shape.labels.iter().zip(&self.labels);
        let mut entries: Vec<(&str, Value)> = labels.map(|(key, label)| (*key, label.as_str().into())).collect();
        let origin = &self.origin;
        entries.push(("seed", origin.seed.into()));
        let figures = shape.metrics.iter().zip(&self.figures);
        entries.extend(figures.map(|(metric, value)| (metric.key, figure(*value))));
        entries.extend(self.worst_view.iter().map(|name| ("worst_view", name.as_str().into())));
        let texts = [
            ("device", &origin.device),
            ("driver", &origin.driver),
            ("commit", &origin.commit),
            ("inputs", &origin.inputs),
            ("run", &origin.run),
            ("command", &origin.command),
        ];
        entries.extend(texts.map(|(key, text)| (key, text.as_str().into())));
        object(entries)
    }

    /// Reads a row; `place` is what messages call it.
    pub(super) fn read(shape: &Shape, row: Map<String, Value>, place: &str) -> Result<Self> {
        let wrong = |reason: String| Failure::new(format!("{place}: {reason}\nhint: name another file, or remove it"));
        let text = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let label = |key: &&str| text(key).ok_or_else(|| wrong(format!("`{key}` is no text")));
        let figure = |key: &str| match row.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                let number = value.as_f64();
                number.map(Some).ok_or_else(|| wrong(format!("`{key}` is no number")))
            }
        };
        Ok(Self {
            labels: shape.labels.iter().map(label).collect::<Result<_>>()?,
            figures: shape.metrics.iter().map(|of| figure(of.key)).collect::<Result<_>>()?,
            worst_view: text("worst_view"),
            origin: serde_json::from_value(Value::Object(row)).map_err(|e| wrong(e.to_string()))?,
        })
    }
}
