//! A PLY file.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Description, mib, pretty};
use crate::export::{PlySummary, RenderMode, Spread, summarize_ply};
use crate::run::RunError;

/// Figures of a file.
#[derive(Debug, Serialize)]
pub(super) struct PlyDescription {
    path: String,
    bytes: u64,
    gaussians: u64,
    sh_degree: u32,
    /// `mip` or `default`; null when the header does not say.
    render_mode: Option<&'static str>,
    kernel_size: Option<f32>,
    iteration: Option<u64>,
    has_filter_3d: bool,
    /// x, y, z, world units.
    position: [Spread; 3],
    opacity: Spread,
    scale: Spread,
    aspect: Spread,
    /// Values that are NaN or infinite, by property.
    not_finite: BTreeMap<String, u64>,
    /// Gaussians that cannot be drawn, which every command leaves out.
    left_out: u64,
    /// What is left out of the file, and read otherwise than as it stands there.
    notes: Vec<String>,
}

impl PlyDescription {
    pub(super) fn of(path: &Path) -> Result<Self, RunError> {
        let PlySummary {
            bytes,
            gaussians,
            sh_degree,
            has_filter,
            comments,
            position,
            opacity,
            scale,
            aspect,
            not_finite,
            notes,
        } = summarize_ply(path)?;
        Ok(Self {
            path: path.display().to_string(),
            bytes,
            gaussians,
            sh_degree,
            render_mode: comments.render_mode.map(RenderMode::name),
            kernel_size: comments.kernel_size,
            iteration: comments.iteration,
            has_filter_3d: has_filter,
            position,
            opacity,
            scale,
            aspect,
            not_finite,
            left_out: notes.left_out,
            notes: notes.lines(),
        })
    }
}

impl Description for PlyDescription {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "model      {} ({})", self.path, mib(self.bytes))?;
        writeln!(out, "Gaussians  {}, SH degree {}", self.gaussians, self.sh_degree)?;
        let stated = |text: Option<String>| text.unwrap_or_else(|| "not stated".to_owned());
        let mode = self.render_mode.map(|mode| match self.kernel_size {
            Some(size) => format!("{mode}, 2D filter of {size} px^2"),
            None => mode.to_owned(),
        });
        let filter = if self.has_filter_3d { "with" } else { "without" };
        writeln!(
            out,
            "rendering  {}; {filter} a 3D filter beside the model",
            stated(mode)
        )?;
        writeln!(out, "iteration  {}", stated(self.iteration.map(|it| it.to_string())))?;
        writeln!(
            out,
            "{:<11}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
            "", "least", "1 %", "median", "99 %", "greatest", "mean"
        )?;
        let rows = [
            ("x", &self.position[0]),
            ("y", &self.position[1]),
            ("z", &self.position[2]),
            ("opacity", &self.opacity),
            ("scale", &self.scale),
            ("aspect", &self.aspect),
        ];
        for (name, s) in rows {
            let values =
                [s.least, s.low, s.median, s.high, s.greatest, s.mean].map(|value| format!("{:>12}", figure(value)));
            writeln!(out, "{name:<11}{}", values.concat())?;
        }
        for (property, n) in &self.not_finite {
            writeln!(
                out,
                "warning: {property} is NaN or infinite in {n} of {} Gaussians",
                self.gaussians
            )?;
        }
        for note in &self.notes {
            writeln!(out, "warning: {note}")?;
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        pretty(self, out)
    }
}

/// Five digits, however large or small.
fn figure(value: f32) -> String {
    let size = value.abs();
    if value != 0.0 && !(1e-3..1e5).contains(&size) {
        return format!("{value:.3e}");
    }
    format!("{value:.4}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn a_file_is_described() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/run/point_cloud/iteration_40");
        let described = PlyDescription::of(&root.join("point_cloud_raw.ply")).unwrap();
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for words in [
            "Gaussians  5, SH degree ",
            "rendering  mip, 2D filter of 0.1 px^2; with a 3D filter beside the model\n",
            "iteration  40\n",
            "median        99 %    greatest        mean\n",
            "\nopacity ",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let mut out = Vec::new();
        described.json(&mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!((&json["gaussians"], &json["render_mode"]), (&5.into(), &"mip".into()));
    }

    #[test]
    fn figures_stay_short() {
        let shown = [0.0, 0.5, -12.0, 1.5e-7, 3e8].map(figure);
        assert_eq!(shown, ["0.0000", "0.5000", "-12.0000", "1.500e-7", "3.000e8"]);
    }
}
