//! `kiln completions` and `kiln man`: made from the argument table, so that they are never behind it.

use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory as _;

use super::args::{Cli, Shell};
use crate::export::{ExportError, make_folder, write_atomic};

/// Completions of a shell.
///
/// # Errors
/// When `out` cannot be written.
pub fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
        Shell::PowerShell => clap_complete::Shell::PowerShell,
    };
    // The generator panics on an output that fails, so it writes into memory.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kiln", &mut text);
    out.write_all(&text)
}

/// The manual page: of the program, or of one of its commands.
///
/// # Errors
/// When `out` cannot be written.
pub fn man(command: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    let cli = commands();
    let named = command.and_then(|name| cli.find_subcommand(name).cloned());
    clap_mangen::Man::new(named.unwrap_or(cli)).render(out)
}

/// The program with its commands, but `help`, of which there is no page.
fn commands() -> clap::Command {
    let mut cli = Cli::command().disable_help_subcommand(true);
    cli.build();
    cli
}

/// The manual pages of the program and of all its commands, each a file of `folder`, which is made.
///
/// # Errors
/// [`ExportError::Io`] when the folder or a file cannot be written.
pub fn man_pages(folder: &Path) -> Result<(), ExportError> {
    make_folder(folder)?;
    let mut pending = vec![commands()];
    while let Some(command) = pending.pop() {
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        pending.extend(shown.cloned());
        let page = clap_mangen::Man::new(command);
        write_atomic(&folder.join(page.get_filename()), |file| page.render(file))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_shell_knows_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell] {
            let text = text(|out| completions(shell, out));
            for command in [
                "train",
                "eval",
                "render",
                "export",
                "mesh",
                "plan",
                "inspect",
                "memory",
                "doctor",
                "max-gaussians",
                "draft",
                "16gb",
            ] {
                assert!(text.contains(command), "{shell:?} does not know {command}");
            }
        }
    }

    #[test]
    fn manual_pages() {
        let page = text(|out| man(None, out));
        assert!(page.contains(".TH kiln 1") && page.contains("Train a scene"), "{page}");
        let page = text(|out| man(Some("train"), out));
        assert!(
            page.contains("kiln\\-train") && page.contains("max\\-gaussians"),
            "{page}"
        );
    }

    #[test]
    fn every_command_has_a_page_in_the_folder_of_all() {
        let folder = kiln_scratch::Scratch::new();
        man_pages(folder.path()).unwrap();
        let mut pending = vec![("kiln".to_owned(), Cli::command())];
        while let Some((name, command)) = pending.pop() {
            let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
            assert!(page.contains(".SH NAME") && !page.contains("\\-\\-fault"), "{name}");
            if name == "kiln-train" {
                assert_eq!(page, text(|out| man(Some("train"), out)));
            }
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            pending.extend(shown.map(|command| (format!("{name}-{}", command.get_name()), command.clone())));
        }
        let file = folder.path().join("kiln.1");
        let error = man_pages(&file).unwrap_err().to_string();
        assert!(error.contains("kiln.1"), "{error}");
    }

    /// `--fault` is for tests and stands in nothing that people read.
    #[test]
    fn faults_are_shown_nowhere() {
        let mut pages = vec![crate::cli::flags_page()];
        for command in ["train", "plan", "eval", "render"] {
            pages.push(text(|out| man(Some(command), out)));
            let mut cli = Cli::command();
            let help = cli.find_subcommand_mut(command).unwrap().render_long_help();
            pages.push(help.to_string());
        }
        for page in pages {
            assert!(!page.contains("--fault") && !page.contains("\\-\\-fault"), "{page}");
        }
    }

    #[test]
    fn every_command_shows_examples() {
        for command in Cli::command()
            .get_subcommands()
            .filter(|command| command.get_name() != "help")
        {
            let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines = examples
                .lines()
                .filter(|line| line.trim_start().starts_with("kiln "))
                .count();
            assert!(lines >= 1, "{} has no example", command.get_name());
        }
    }
}
