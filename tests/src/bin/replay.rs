//! Replays memory traces on every allocator; `cargo xtask replay` builds and starts it.

use std::process::ExitCode;

use kiln_tests::replay;

fn main() -> ExitCode {
    match replay::main(std::env::args().skip(1)) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}
