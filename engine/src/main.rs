//! The `kiln` program: parses arguments, calls the library, maps errors to exit codes.

use std::process::ExitCode;

use kiln::cli::{self, Exit, Request, UsageError};

fn main() -> ExitCode {
    let request = match cli::parse(std::env::args_os()) {
        Ok(request) => request,
        // Help and version are answers, not errors.
        Err(UsageError::Arguments(error)) if !error.use_stderr() => {
            let _ = error.print();
            return Exit::Ok.into();
        }
        Err(error) => return cli::report(&error, &mut std::io::stderr()).into(),
    };
    match request {
        Request::Profiles(profiles) => {
            match cli::run_profiles(&profiles, &mut std::io::stdout().lock()) {
                Ok(()) => Exit::Ok.into(),
                Err(error) => cli::report(&error, &mut std::io::stderr()).into(),
            }
        }
        Request::Train(_) | Request::Plan(_) | Request::Doctor(_) => {
            eprintln!("error: this build has no device layer");
            Exit::Internal.into()
        }
    }
}
