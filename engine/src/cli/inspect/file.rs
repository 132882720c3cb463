//! A file for viewers.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::super::Failure;
use super::run::size;
use super::{Description, mib, pretty};
use crate::export::{FileSummary, ModelFile, PlyError, RenderMode, read_model_file, summarize_file};
use crate::jobs::named::SOG_INDICES;
use crate::run::RunError;

/// Folders that levels of detail lie deep at most.
const DEPTH: u32 = 4;

/// What a file says of itself.
#[derive(Debug, Serialize)]
pub(super) struct FileDescription {
    path: String,
    #[serde(flatten)]
    summary: FileSummary,
}

impl FileDescription {
    /// `None` when the file is none for viewers.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, Box<dyn Failure>> {
        let is_index = SOG_INDICES.iter().any(|name| path.ends_with(name));
        let summary = match is_index {
            true => Some(of_folder(path).map_err(RunError::from)?),
            false => summarize_file(path)?,
        };
        Ok(summary.map(|summary| Self {
            path: path.display().to_string(),
            summary,
        }))
    }
}

/// Reads the Gaussians that an index in a folder of SOG images names, of levels of detail the finest.
fn of_folder(index: &Path) -> Result<FileSummary, PlyError> {
    let ModelFile { model, comments, .. } = read_model_file(index)?;
    let mut bounds: Option<[[f32; 3]; 2]> = None;
    for mean in &model.means {
        let [low, high] = bounds.get_or_insert([*mean; 2]);
        for axis in 0..3 {
            low[axis] = low[axis].min(mean[axis]);
            high[axis] = high[axis].max(mean[axis]);
        }
    }
    let folder = index.parent().unwrap_or_else(|| Path::new(""));
    Ok(FileSummary {
        format: if index.ends_with(SOG_INDICES[0]) {
            "streamed SOG, finest level"
        } else {
            "SOG in a folder"
        },
        version: None,
        bytes: size(folder, DEPTH),
        gaussians: model.len() as u64,
        sh_degree: model.sh_degree,
        antialiased: comments.render_mode.map(|mode| mode == RenderMode::Mip),
        position_step: None,
        bounds,
    })
}

impl Description for FileDescription {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let found = &self.summary;
        writeln!(out, "model      {} ({})", self.path, mib(found.bytes))?;
        let version = found.version.map_or_else(String::new, |version| format!(" {version}"));
        writeln!(out, "format     {}{version}", found.format)?;
        writeln!(out, "Gaussians  {}, SH degree {}", found.gaussians, found.sh_degree)?;
        let mode = match found.antialiased {
            Some(true) => "mip",
            Some(false) => "default",
            None => "not stated",
        };
        writeln!(out, "rendering  {mode}")?;
        if let Some(step) = found.position_step {
            writeln!(out, "positions  in steps of {step}")?;
        }
        if let Some(bounds) = found.bounds {
            writeln!(out, "extent     {}", super::extent(bounds))?;
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        pretty(self, out)
    }
}
