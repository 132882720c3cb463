//! Makes the JavaScript side of a WebAssembly module.
//!
//! Called by `cargo xtask viewer` as `kiln-wasm-bindgen MODULE.wasm FOLDER NAME`: writes `FOLDER/NAME.js`, an ES module
//! for browsers, and `FOLDER/NAME_bg.wasm`. `kiln-wasm-bindgen --version` prints what identifies a build.

use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--version"] => {
            println!("{}", version());
            Ok(())
        }
        [module, folder, name] => bind(module, Path::new(folder), name).map_err(|e| format!("{module}: {e}")),
        _ => Err("usage: kiln-wasm-bindgen --version | kiln-wasm-bindgen MODULE.wasm FOLDER NAME".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn bind(module: &str, folder: &Path, name: &str) -> Result<(), String> {
    let text = |error: &dyn std::fmt::Debug| format!("{error:?}");
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name(name).typescript(false);
    // Names of functions are half of the module and serve debuggers only.
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.web(true).map_err(|e| text(&e))?;
    bindgen.generate(folder).map_err(|e| text(&e))
}

/// The lock file fixes the library's sources, so its entry for them is the version.
fn version() -> String {
    let lock = include_str!("../Cargo.lock");
    let mut lines = lock
        .lines()
        .skip_while(|line| *line != "name = \"wasm-bindgen-cli-support\"");
    let number = lines
        .nth(1)
        .and_then(|line| line.strip_prefix("version = "))
        .unwrap_or("unknown");
    format!("wasm-bindgen {}", number.trim_matches('"'))
}
