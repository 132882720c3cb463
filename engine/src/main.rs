//! The `kiln` program: parses arguments, calls the library, maps errors to exit codes.

use std::process::ExitCode;

use clap::error::ErrorKind;
use kiln::cli::{self, Exit, Failure, Request, UsageError};
use kiln_gpu::vk::trial;

fn main() -> ExitCode {
    // Without it such writes end the process, and that is all.
    let _ = kiln_system::ignore_large_files();
    if let Ok(own) = std::env::current_exe() {
        trial::try_with(vec![own.into(), "doctor".into(), "--open".into()]);
    }
    let request = match cli::parse(std::env::args_os()) {
        Ok(request) => request,
        // Help and version are answers, not errors.
        Err(UsageError::Arguments(error)) if !error.use_stderr() => {
            let _ = error.print();
            return Exit::Ok.into();
        }
        // Nothing was asked, which help answers.
        Err(UsageError::Arguments(error)) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return Exit::Usage.into();
        }
        Err(error) => return cli::report(&error, &mut std::io::stderr()).into(),
    };
    let _awake = request.takes_long().then(kiln_system::Awake::keep);
    let mut out = std::io::stdout().lock();
    let result: Result<Exit, Box<dyn Failure>> = match request {
        Request::Profiles(profiles) => cli::run_profiles(&profiles, &mut out)
            .map(|()| Exit::Ok)
            .map_err(|e| Box::new(e) as _),
        Request::Train(train) => cli::run_train(train),
        Request::Eval(eval) => cli::run_eval(eval, &mut out),
        Request::Render(render) => cli::run_render(render, &mut out),
        Request::Export(export) => cli::run_export(&export, &mut out),
        Request::Mesh(mesh) => cli::run_mesh(mesh, &mut out),
        Request::Plan(plan) => cli::run_plan(&plan, &mut out),
        Request::View(view) => cli::run_view(view, &mut out),
        Request::Inspect(inspect) => cli::run_inspect(&inspect, &mut out),
        Request::Split(split) => cli::run_split(&split, &mut out),
        Request::Merge(merge) => cli::run_merge(&merge, &mut out),
        Request::Status(status) => cli::run_status(&status, &mut out),
        Request::Memory(memory) => cli::run_memory(&memory.target, memory.json, &mut out),
        Request::Flags => cli::run_text(&mut out, |out| out.write_all(cli::flags_page().as_bytes())),
        Request::Completions(shell) => cli::run_text(&mut out, |out| cli::completions(shell, out)),
        Request::Man(command) => cli::run_text(&mut out, |out| cli::man(command.as_deref(), out)),
        Request::ManPages(folder) => cli::man_pages(&folder).map(|()| Exit::Ok).map_err(|e| Box::new(e) as _),
        Request::Windows(arguments) => cli::run_windows(&arguments),
        Request::Doctor(doctor) => cli::run_doctor(doctor, &mut out).or(Ok(Exit::Output)),
    };
    let exit = match result {
        Ok(exit) => return exit.into(),
        Err(error) => cli::report(error.as_ref(), &mut std::io::stderr()),
    };
    let typed: Vec<String> = std::env::args_os()
        .skip(1)
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    if let Some(advice) = cli::windows_advice(exit, &typed) {
        eprintln!("hint: {advice}");
    }
    exit.into()
}
