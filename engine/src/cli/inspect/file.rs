//! A file for viewers.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::{Description, mib, pretty};
use crate::export::{FileError, FileSummary, summarize_file};

/// What a file says of itself.
#[derive(Debug, Serialize)]
pub(super) struct FileDescription {
    path: String,
    #[serde(flatten)]
    summary: FileSummary,
}

impl FileDescription {
    /// `None` when the file is none for viewers.
    pub(super) fn of(path: &Path) -> Result<Option<Self>, FileError> {
        Ok(summarize_file(path)?.map(|summary| Self {
            path: path.display().to_string(),
            summary,
        }))
    }
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
