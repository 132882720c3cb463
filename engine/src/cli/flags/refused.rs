//! Flags of a command line that other trainers have and Kiln has not.

use super::others::Row::{Does, Refused, RefusedWith, Sets};
use super::others::{GAUSSIANS, MESHES, NUMBER, OTHERS, TRIANGLES};

/// A flag of other trainers on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedFlag {
    /// As typed.
    pub flag: &'static str,
    /// The value, where that is what is not understood.
    pub value: Option<String>,
    /// What to use instead.
    pub instead: &'static str,
}

/// The refused flags of a command line up to `--`, each once. Only training and planning have such flags; other commands are free to
/// use the same letters.
pub(in crate::cli) fn find_refused(args: &[String]) -> Vec<RefusedFlag> {
    if !matches!(args.get(1).map(String::as_str), Some("train" | "plan")) {
        return Vec::new();
    }
    let args = args.get(2..).unwrap_or_default();
    let typed = args.iter().enumerate().take_while(|(_, arg)| *arg != "--");
    let mut found: Vec<RefusedFlag> = Vec::new();
    for (at, arg) in typed {
        let next = args.get(at + 1).map(String::as_str);
        if let Some(refused) = refused(arg, next).filter(|refused| found.iter().all(|known| known.flag != refused.flag))
        {
            found.push(refused);
        }
    }
    found
}

fn refused(arg: &str, next: Option<&str>) -> Option<RefusedFlag> {
    let rows = GAUSSIANS.iter().chain(OTHERS).chain(MESHES).chain(TRIANGLES);
    let mut rows = rows.filter_map(|row| match *row {
        Refused(flags, _, instead) => Some((flags, &[][..], instead)),
        RefusedWith(flags, only, _, instead) => Some((flags, only, instead)),
        Sets(_) | Does(..) => None,
    });
    rows.find_map(|(flags, only, instead)| {
        flags.iter().find_map(|flag| {
            let value = attached(arg, flag)?.or(next);
            let is_meant = |value: &&str| {
                let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                only.contains(value) || is_number && only.contains(&NUMBER)
            };
            let value = value.filter(is_meant);
            (only.is_empty() || value.is_some()).then(|| RefusedFlag {
                flag,
                value: value.map(str::to_owned),
                instead,
            })
        })
    })
}

/// Whether an argument is this flag, and the value that is attached to it: `--flag=V`, `-fV`.
fn attached<'a>(arg: &'a str, flag: &str) -> Option<Option<&'a str>> {
    let rest = arg.strip_prefix(flag)?;
    if rest.is_empty() {
        return Some(None);
    }
    match rest.strip_prefix('=') {
        Some(value) => Some(Some(value)),
        None => (!flag.starts_with("--")).then_some(Some(rest)),
    }
}
