//! Train and test views of what was read: by the data set, by number or by a list of names.

use std::collections::BTreeSet;
use std::path::Path;

use super::Loader;
use crate::error::listed;
use crate::options::HoldOut;
use crate::view::{self, View};
use crate::{SceneError, split};

/// Longest list of views that is read, bytes.
const MOST_LIST_BYTES: u64 = 16 << 20;

/// The list that `--hold-out 0` stands for.
const LIST_OF_ZERO: &str = "sparse/0/test.txt";

/// Train and test views.
pub(super) type Sets = (Vec<View>, Vec<View>);

impl Loader<'_> {
    /// The split a data set comes with, or every eighth view where it comes without.
    pub(super) fn ready_split(
        &mut self,
        train: Vec<View>,
        test: Option<Vec<View>>,
        absent: &str,
    ) -> Result<Sets, SceneError> {
        let usual = self.options.eval && self.options.hold_out == HoldOut::Usual;
        match test {
            Some(test) if usual => Ok((train, test)),
            test => {
                if usual {
                    let notice = format!("no {absent}; every eighth training view is held out instead");
                    self.warnings.push(notice);
                }
                let mut all = train;
                all.extend(test.into_iter().flatten());
                split::sort(&mut all);
                self.split(all)
            }
        }
    }

    /// Train and test views of a sorted list.
    pub(super) fn split(&mut self, views: Vec<View>) -> Result<Sets, SceneError> {
        if !self.options.eval {
            return Ok((views, Vec::new()));
        }
        match &self.options.hold_out {
            HoldOut::Usual => Ok(split::hold_out(views, split::HOLDOUT_EVERY)),
            HoldOut::Every(every) => Ok(split::hold_out(views, *every)),
            HoldOut::Listed(file) => self.hold_out_listed(views, file),
        }
    }

    /// Holds out the views that a file names, which has a name a line and may have comments.
    fn hold_out_listed(&mut self, views: Vec<View>, file: &Path) -> Result<Sets, SceneError> {
        let inside = self.root.join(file);
        let asked_zero = file == Path::new(LIST_OF_ZERO);
        let path = match inside.is_file() {
            true => inside,
            false if file.is_file() => file.to_owned(),
            false if !file.exists() => {
                let path = inside;
                return Err(SceneError::HoldOutList { path, asked_zero });
            }
            false => file.to_owned(),
        };
        let size = path.metadata().map_err(|e| SceneError::io(&path, "open", e))?.len();
        if size > MOST_LIST_BYTES {
            return Err(SceneError::TooLarge {
                path,
                bytes: size,
                limit: MOST_LIST_BYTES,
            });
        }
        let bytes = kiln_files::read_regular(&path, MOST_LIST_BYTES).map_err(|e| SceneError::io(&path, "read", e))?;
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(|line| line.trim().trim_start_matches('\u{feff}'));
        let listed_names: BTreeSet<String> = lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| view::without_extension(line).to_owned())
            .collect();
        let is_listed = |view: &View| listed_names.contains(view::without_extension(&view.name));
        let known: BTreeSet<&str> = views.iter().map(|view| view::without_extension(&view.name)).collect();
        let strangers: Vec<String> = listed_names
            .iter()
            .filter(|name| !known.contains(name.as_str()))
            .cloned()
            .collect();
        if listed_names.is_empty() || strangers.len() == listed_names.len() {
            let found = format!("no name of a view among {} lines", listed_names.len());
            let remedy = "name the views to hold out as the model names its images, one a line";
            return Err(SceneError::malformed(&path, "the list", found, remedy));
        }
        if !strangers.is_empty() {
            self.warnings.push(format!(
                "{} of {} names in {} are of no view: {}",
                strangers.len(),
                listed_names.len(),
                path.display(),
                listed(&strangers)
            ));
        }
        let (test, train) = views.into_iter().partition(is_listed);
        Ok((train, test))
    }
}

/// Train and test views by name.
pub(super) fn hold_out_named(views: Vec<View>, held_out: &BTreeSet<String>) -> Sets {
    views.into_iter().partition(|view| !held_out.contains(&view.name))
}
