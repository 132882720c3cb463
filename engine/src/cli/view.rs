//! `kiln view`: runs in a browser.

use std::io::{self, Write};
use std::path::Path;

use super::exit::unprinted;
use super::request::{View, ViewAction};
use super::{Exit, Failure};
use crate::jobs::RequestError;
use crate::jobs::kinds::foreign;
use crate::record::words::count;
use crate::serve::{Listen, ServeError, Server, export, listens_beyond, open_browser};

/// Serves the runs until Ctrl-C, or exports them. The address, or what was written, goes to `out`.
///
/// # Errors
/// Anything that keeps the runs from being shown; the caller prints it.
pub fn run(view: View, out: &mut dyn Write) -> Result<Exit, Box<dyn Failure>> {
    // The page opens more kinds of splats than are read elsewhere.
    let is_shown = view
        .folder
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("splat"));
    if let Some((what, instead)) = foreign(&view.folder).filter(|_| !is_shown) {
        return Err(Box::new(RequestError::NotAModel {
            path: view.folder,
            what: what.to_owned(),
            instead,
        }));
    }
    let result = match view.action {
        ViewAction::Serve { listen, open } => serve(&view.folder, &listen, open, out),
        ViewAction::Export(output) => write_folder(&view.folder, &output, out),
    };
    result.map(|()| Exit::Ok).map_err(|error| Box::new(error) as _)
}

fn serve(folder: &Path, listen: &Listen, open: bool, out: &mut dyn Write) -> Result<(), ServeError> {
    let server = Server::bind(folder, listen)?;
    let url = server.url();
    print(out, &url)?;
    let mut messages = io::stderr();
    // Messages are for people; where nobody reads them the server works all the same.
    if listens_beyond(listen.host) {
        let _ = writeln!(
            messages,
            "warning: other machines reach this address, and nothing on the way is encrypted; who has the token can \
             read the runs"
        );
    }
    if server.listed() == 0 {
        let _ = writeln!(
            messages,
            "note: no run in {} yet; the page shows one once it is there",
            folder.display()
        );
    }
    if open {
        let _ = match open_browser(&url) {
            Ok(program) => writeln!(messages, "note: asked {program} to open it"),
            Err(error) => writeln!(
                messages,
                "note: no browser could be started ({error}); open the address by hand"
            ),
        };
    }
    let _ = writeln!(messages, "serving {}; Ctrl-C ends it", folder.display());
    server.run()
}

fn write_folder(folder: &Path, output: &Path, out: &mut dyn Write) -> Result<(), ServeError> {
    let exported = export(folder, output)?;
    let line = format!(
        "{}: {}, {}, {:.1} MB",
        output.display(),
        count(exported.runs, "run"),
        count(exported.files, "file"),
        exported.bytes as f64 / 1e6
    );
    print(out, &line)
}

/// Prints a line at once: another program may wait for it.
fn print(out: &mut dyn Write, line: &str) -> Result<(), ServeError> {
    let result = writeln!(out, "{line}").and_then(|()| out.flush());
    result.map_err(|error| ServeError::Write(unprinted(error)))
}
