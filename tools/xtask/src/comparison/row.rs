//! One run's figures and what they were made with.

use super::Shape;
use crate::failure::Result;
use crate::json::Json;
use crate::node::Node;

/// What a row was made with.
#[derive(Clone, Debug, Default, PartialEq)]
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

    pub(super) fn json(&self, shape: &Shape) -> Json {
        let labels = shape.labels.iter().zip(&self.labels);
        let mut entries: Vec<(&str, Json)> = labels.map(|(key, text)| (*key, Json::text(text))).collect();
        entries.push(("seed", Json::Number(self.origin.seed as f64)));
        let figure = |value: &Option<f64>| value.map_or(Json::Null, Json::Number);
        let figures = shape.metrics.iter().zip(&self.figures);
        entries.extend(figures.map(|(metric, value)| (metric.key, figure(value))));
        entries.extend(self.worst_view.iter().map(|name| ("worst_view", Json::text(name))));
        let origin = &self.origin;
        let texts = [
            ("device", &origin.device),
            ("driver", &origin.driver),
            ("commit", &origin.commit),
            ("inputs", &origin.inputs),
            ("run", &origin.run),
            ("command", &origin.command),
        ];
        entries.extend(texts.map(|(key, text)| (key, Json::text(text))));
        Json::object(entries)
    }

    pub(super) fn read(shape: &Shape, node: &Node) -> Result<Self> {
        Ok(Self {
            labels: shape.labels.iter().map(|key| node.text(key)).collect::<Result<_>>()?,
            origin: Origin {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "saturates; a seed that is none matches no command"
                )]
                seed: node.number("seed")? as u64,
                command: node.text("command")?,
                inputs: node.text("inputs")?,
                commit: node.text("commit")?,
                device: node.text("device")?,
                driver: node.text("driver")?,
                run: node.text("run")?,
            },
            figures: shape
                .metrics
                .iter()
                .map(|metric| node.optional(metric.key))
                .collect::<Result<_>>()?,
            worst_view: node.text("worst_view").ok(),
        })
    }
}
