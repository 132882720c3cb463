//! `kiln completions` and `kiln man`: made from the argument table, so that they are never behind it.

use std::io::{self, Write};

use clap::CommandFactory as _;

use super::args::{Cli, Shell};

/// Completions of a shell.
///
/// # Errors
/// When `out` cannot be written.
pub fn completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    let shell = match shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
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
    let mut cli = Cli::command();
    cli.build();
    let named = command.and_then(|name| cli.find_subcommand(name).cloned());
    let page = named.unwrap_or(cli);
    let title = page.get_display_name().unwrap_or(page.get_name()).to_owned();
    clap_mangen::Man::new(page).title(title).render(out)
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
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
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
