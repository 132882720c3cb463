//! Which words of a command are paths, by the parser's own table of arguments.

use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use crate::cli::args::Cli;

/// Parts of names of values that stand for a path.
const NOUNS: [&str; 8] = ["SCENE", "RUN", "FILE", "FOLDER", "DIR", "PATH", "CKPT", "PROJECT"];
/// Folders inside of the scene, which are named from there.
const INSIDE: [&str; 3] = ["images", "depths", "normals"];
/// Files where a shipped name is no path.
const SHIPPED: [&str; 2] = ["profile", "recipe"];

/// A path with both names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Translated {
    /// As typed.
    pub(super) typed: String,
    /// On Windows.
    pub(super) windows: String,
    /// A file of settings names it.
    pub(super) is_stored: bool,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argument {
    /// The word, or what precedes the path in it.
    pub(super) before: String,
    /// The path that it is, or ends with.
    pub(super) path: Option<Translated>,
}

impl Argument {
    fn plain(word: &str) -> Self {
        Self {
            before: word.to_owned(),
            path: None,
        }
    }

    /// As Windows reads it.
    pub(super) fn text(&self) -> String {
        let path = self.path.as_ref().map_or("", |path| &path.windows);
        format!("{}{path}", self.before)
    }
}

/// The words of a command that the parser takes, without the program's name, with every path translated.
///
/// # Errors
/// What `translate` says.
pub(super) fn arguments<E>(
    words: &[String],
    translate: &dyn Fn(&str) -> Result<String, E>,
) -> Result<Vec<Argument>, E> {
    let mut root = Cli::command();
    root.build();
    let mut reader = Reader {
        command: &root,
        position: 0,
        translate,
        read: Vec::new(),
    };
    let mut words = words.iter().map(String::as_str).peekable();
    let mut only_positions = false;
    while let Some(word) = words.next() {
        let is_flag = word.starts_with('-') && word != "-" && !only_positions;
        if !is_flag {
            reader.position(word)?;
            continue;
        }
        if word == "--" {
            only_positions = true;
            reader.read.push(Argument::plain(word));
            continue;
        }
        let Some((flag, before, attached)) = flag_of(reader.command, word) else {
            reader.read.push(Argument::plain(word));
            continue;
        };
        if let Some(value) = attached {
            reader.value(flag, before, value)?;
            continue;
        }
        reader.read.push(Argument::plain(word));
        let (least, most) = values(flag);
        for number in 0..most {
            let Some(value) = words.next_if(|next| number < least || !next.starts_with('-')) else {
                break;
            };
            reader.value(flag, "", value)?;
        }
    }
    Ok(reader.read)
}

/// Least and most words that follow a flag and belong to it.
fn values(flag: &Arg) -> (usize, usize) {
    if !flag.get_action().takes_values() || flag.is_require_equals_set() {
        return (0, 0);
    }
    let range = flag.get_num_args().unwrap_or_default();
    (range.min_values(), range.max_values())
}

/// The flag that takes a value of those that a word stands for, what precedes its value in the word, and that value.
fn flag_of<'a, 'w>(command: &'a Command, word: &'w str) -> Option<(&'a Arg, &'w str, Option<&'w str>)> {
    let split = |at: usize| (word.get(..at).unwrap_or(word), word.get(at..).unwrap_or(""));
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let is_it = |flag: &&Arg| {
            flag.get_long() == Some(name) || flag.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
        };
        let flag = command.get_arguments().find(is_it)?;
        return Some(match long.len() > name.len() {
            true => {
                let (before, value) = split("--".len() + name.len() + "=".len());
                (flag, before, Some(value))
            }
            false => (flag, word, None),
        });
    }
    for (at, letter) in word.char_indices().skip(1) {
        let is_it = |flag: &&Arg| {
            let aliases = flag.get_all_short_aliases().unwrap_or_default();
            flag.get_short() == Some(letter) || aliases.contains(&letter)
        };
        let flag = command.get_arguments().find(is_it)?;
        if flag.get_action().takes_values() {
            let end = at + letter.len_utf8();
            let end = end + usize::from(word.get(end..).is_some_and(|rest| rest.starts_with('=')));
            let (before, value) = split(end);
            return Some((flag, before, (!value.is_empty()).then_some(value)));
        }
    }
    None
}

struct Reader<'a, E> {
    command: &'a Command,
    /// Arguments without a flag so far.
    position: usize,
    translate: &'a dyn Fn(&str) -> Result<String, E>,
    read: Vec<Argument>,
}

impl<E> Reader<'_, E> {
    /// Takes a word that is no flag: the name of a command, or what a command is about.
    fn position(&mut self, word: &str) -> Result<(), E> {
        if self.position == 0
            && let Some(command) = self.command.find_subcommand(word)
        {
            self.command = command;
            self.read.push(Argument::plain(word));
            return Ok(());
        }
        let argument = self.command.get_positionals().nth(self.position);
        self.position += 1;
        match argument {
            Some(argument) => self.value(argument, "", word),
            None => {
                self.read.push(Argument::plain(word));
                Ok(())
            }
        }
    }

    /// Takes a value behind what precedes it in its word.
    fn value(&mut self, argument: &Arg, before: &str, value: &str) -> Result<(), E> {
        let set = value.split_once('=').filter(|_| argument.get_id() == "set");
        let (before, path) = match set {
            // Within YAML a backslash between quotation marks is no backslash, so these go with the other sort.
            Some((key, path)) if path.starts_with('/') => (format!("{before}{key}="), Some((path, true))),
            None if is_path(argument, value) => (before.to_owned(), Some((value, false))),
            _ => (format!("{before}{value}"), None),
        };
        let path = path.map(|(path, turns)| {
            let windows = (self.translate)(path)?;
            Ok(Translated {
                typed: path.to_owned(),
                windows: if turns { windows.replace('\\', "/") } else { windows },
                is_stored: false,
            })
        });
        self.read.push(Argument {
            before,
            path: path.transpose()?,
        });
        Ok(())
    }
}

/// Whether a value of an argument is a path from where the command is started.
fn is_path(argument: &Arg, value: &str) -> bool {
    let id = argument.get_id().as_str();
    if INSIDE.contains(&id) {
        return value.starts_with('/');
    }
    if SHIPPED.contains(&id) || id == "name" {
        return [".yaml", ".yml"].iter().any(|ending| value.ends_with(ending));
    }
    let names = argument.get_value_names().unwrap_or_default();
    let mut alternatives = names.iter().flat_map(|name| name.as_str().split('|'));
    let is_word =
        alternatives.clone().any(|name| name == value) || value.parse::<f64>().is_ok() && !Path::new(value).exists();
    !is_word && alternatives.any(|name| NOUNS.contains(&name))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::cli::parse;

    /// The command with every path in brackets.
    fn bracketed(line: &str) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        parse([String::from("kiln")].into_iter().chain(words.clone())).unwrap();
        let translate = |path: &str| Ok::<_, std::convert::Infallible>(format!("<{path}>"));
        let Ok(read) = arguments(&words, &translate);
        let read: Vec<String> = read.iter().map(Argument::text).collect();
        read.join(" ")
    }

    #[test]
    fn paths_are_found_wherever_they_stand() {
        for (line, found) in [
            ("train garden", "train <garden>"),
            ("train train -o train", "train <train> -o <train>"),
            (
                "train -s a/b -m out --iterations 7000 -q",
                "train -s <a/b> -m <out> --iterations 7000 -q",
            ),
            ("train --source_path=a -oout", "train --source_path=<a> -o<out>"),
            ("train -qo out garden", "train -qo <out> <garden>"),
            (
                "train garden -i images_4 -d /maps",
                "train <garden> -i images_4 -d </maps>",
            ),
            (
                "train garden --test_iterations 1 2 --name b",
                "train <garden> --test_iterations 1 2 --name b",
            ),
            (
                "train garden --profile 8gb --recipe my.yaml",
                "train <garden> --profile 8gb --recipe <my.yaml>",
            ),
            (
                "train garden --config c.yaml --resume",
                "train <garden> --config <c.yaml> --resume",
            ),
            ("train --resume=c.kiln -o a", "train --resume=<c.kiln> -o <a>"),
            ("train garden --hold-out 8", "train <garden> --hold-out 8"),
            (
                "train garden --hold-out list.txt --device 1",
                "train <garden> --hold-out <list.txt> --device 1",
            ),
            (
                "train --set dataset.path=/a/b --set train.seed=3",
                "train --set dataset.path=</a/b> --set train.seed=3",
            ),
            (
                "train garden --init-mesh m.ply --recipe bound",
                "train <garden> --init-mesh <m.ply> --recipe bound",
            ),
            ("render a --cameras train -o p", "render <a> --cameras train -o <p>"),
            (
                "render a --path f.json --output=p",
                "render <a> --path <f.json> --output=<p>",
            ),
            (
                "eval a --mesh m.obj --truth solids",
                "eval <a> --mesh <m.obj> --truth solids",
            ),
            ("memory latest", "memory latest"),
            ("view runs --export site", "view <runs> --export <site>"),
            ("export m.ply -o m.spz", "export <m.ply> -o <m.spz>"),
            ("split garden -o p --blocks auto", "split <garden> -o <p> --blocks auto"),
            ("profiles show 8gb", "profiles show 8gb"),
            ("doctor --json", "doctor --json"),
            ("merge -- p", "merge -- <p>"),
        ] {
            assert_eq!(bracketed(line), found, "{line}");
        }
    }

    #[test]
    fn a_path_in_a_setting_has_slashes() {
        let words = ["train", "--set", "dataset.path=/mnt/d/x"].map(str::to_owned);
        let translate = |_: &str| Ok::<_, std::convert::Infallible>(r"D:\x".to_owned());
        let Ok(read) = arguments(&words, &translate);
        assert_eq!(read.last().unwrap().text(), "dataset.path=D:/x");
    }
}
