//! The table as arguments of the parser, and what was typed as settings.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, Error, FromArgMatches};

use super::{DEVICE, Flag, SETTINGS, Value};
use kiln_config::Override;

/// Keys whose flags `eval` and `render` have too.
const MODEL_KEYS: [&str; 6] = [
    "dataset.path",
    "dataset.images",
    "dataset.resolution",
    "eval.lpips",
    "model.background",
    "mip.kernel_size",
];

/// The flag of one of these keys that says something of training steps alone.
const TRAINING: &str = "random-background";

/// Settings of the flags of `train` and `plan`, in the order of the table.
#[derive(Debug)]
pub(in crate::cli) struct SettingFlags(pub(in crate::cli) Vec<Override>);

/// Settings of the flags of every command that uses a device.
#[derive(Debug)]
pub(in crate::cli) struct DeviceFlags(pub(in crate::cli) Vec<Override>);

/// Settings of the flags of commands that draw a stored model: those of `train` that say what of a scene is seen and how.
#[derive(Debug)]
pub(in crate::cli) struct ModelFlags(pub(in crate::cli) Vec<Override>);

macro_rules! flags {
    ($name:ident, $table:expr, $wanted:expr) => {
        impl Args for $name {
            fn augment_args(command: Command) -> Command {
                let flags: Vec<&Flag> = $table.iter().filter($wanted).collect();
                command.args(flags.iter().map(|flag| argument(flag, &flags)))
            }

            fn augment_args_for_update(command: Command) -> Command {
                Self::augment_args(command)
            }
        }

        impl FromArgMatches for $name {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
                Ok(Self(
                    $table
                        .iter()
                        .filter($wanted)
                        .filter_map(|flag| typed(flag, matches))
                        .collect(),
                ))
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

flags!(SettingFlags, SETTINGS, |_| true);
flags!(ModelFlags, SETTINGS, |flag| MODEL_KEYS.contains(&flag.key)
    && flag.name() != TRAINING);
flags!(DeviceFlags, DEVICE, |_| true);

/// A flag for the parser. It excludes others of the same key among the flags of the command.
fn argument(flag: &Flag, flags: &[&Flag]) -> Arg {
    let mut shorts = flag.shorts();
    let aliases = flag.longs().skip(1).map(str::to_owned);
    let underscored = flag
        .longs()
        .filter(|name| name.contains('-'))
        .map(|name| name.replace('-', "_"));
    let rivals = flags
        .iter()
        .filter(|other| other.key == flag.key && other.name() != flag.name() && !agree(flag, other));
    let mut argument = Arg::new(flag.name())
        .long(flag.name())
        .aliases(aliases.chain(underscored))
        .help(format!("{} [{}]", flag.help, flag.key))
        .hide(flag.hidden)
        .conflicts_with_all(rivals.map(|other| other.name()));
    if let Some(letter) = shorts.next() {
        argument = argument.short(letter).short_aliases(shorts);
    }
    if flag.key == "dataset.path" {
        argument = argument.conflicts_with("scene");
    }
    match flag.value {
        Value::Switch(_) => argument.action(ArgAction::SetTrue),
        Value::One(name, read) => argument
            .value_name(name)
            .value_parser(read)
            .allow_negative_numbers(true),
        Value::Optional(name, read, missing) => {
            let argument = argument.value_name(name).value_parser(read).num_args(0..=1);
            argument.default_missing_value(missing)
        }
        Value::List => argument.value_name("N").value_parser(super::whole::<u32>).num_args(1..),
    }
}

/// Flags of one key that may stand together: that views are held out, and which. The later one in the table decides.
fn agree(a: &Flag, b: &Flag) -> bool {
    let names = [a.name(), b.name()];
    names.contains(&"eval") && names.contains(&"hold-out")
}

/// The setting of a flag that was typed.
fn typed(flag: &Flag, matches: &ArgMatches) -> Option<Override> {
    let value = match flag.value {
        Value::Switch(value) => matches.get_flag(flag.name()).then(|| value.to_owned())?,
        Value::One(..) | Value::Optional(..) => matches.get_one::<String>(flag.name())?.clone(),
        Value::List => list(matches.get_many::<String>(flag.name())?.map(String::as_str)),
    };
    Some(Override {
        key: flag.key.to_owned(),
        value,
        flag: format!("--{}", flag.name()),
    })
}

/// Values as a YAML list.
pub(super) fn list<'a>(values: impl Iterator<Item = &'a str>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}
