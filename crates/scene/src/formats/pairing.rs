//! Image files under other names than the poses give them.
//!
//! Tools rename photos: `000.jpg` of a model is `000.JPG` or `000.png` in the folder, and some models name them without any
//! ending. [`Pairing`] owns the search for such a file: the same folder and stem, where case and ending may differ, when exactly one
//! file answers. [`Tree`] owns that for names which are spelt in another encoding, or have other folders before them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::beside::is_of_system;

/// Endings of files that are photos, in small letters; the usual ones first.
pub(crate) const ENDINGS: [&str; 7] = ["png", "jpg", "jpeg", "webp", "tif", "tiff", "exr"];
/// Most files of a folder that are listed.
const MOST_FILES: usize = 1_000_000;

/// Deepest folder that is looked into.
const MOST_DEEP: usize = 8;

/// Folders that were listed: stems in small letters with the names of their files.
#[derive(Default)]
pub(crate) struct Pairing {
    folders: BTreeMap<PathBuf, BTreeMap<String, Vec<String>>>,
}

impl Pairing {
    /// The one photo that `path`, which is not there, may mean.
    pub(crate) fn find(&mut self, path: &Path) -> Option<PathBuf> {
        // a name without the ending of a photo has none, whatever dots are in it
        let stem = if is_photo(path) {
            path.file_stem()
        } else {
            path.file_name()
        };
        let (folder, stem) = (path.parent()?, stem?.to_str()?);
        let known = self
            .folders
            .entry(folder.to_owned())
            .or_insert_with(|| photos_of(folder));
        match &known.get(&stem.to_lowercase())?[..] {
            [name] => Some(folder.join(name)),
            _ => None,
        }
    }
}

/// True for a name with the ending of a photo.
pub(crate) fn is_photo(name: &Path) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending.to_lowercase().as_str()))
}

/// All photos below a folder.
#[derive(Default)]
pub(crate) struct Tree {
    /// Paths relative to the folder.
    photos: Vec<PathBuf>,
    /// Their folders and names as [`key`] has them.
    keys: Vec<Vec<String>>,
    /// Photos by the last of their keys.
    by_name: BTreeMap<String, Vec<usize>>,
}

impl Tree {
    /// Lists `root`, links to folders and what systems keep for themselves left out.
    pub(crate) fn of(root: &Path) -> Self {
        Self::listed(root, |path| !is_of_system(path))
    }

    /// Lists all of `root` but links to folders.
    pub(crate) fn with_all(root: &Path) -> Self {
        Self::listed(root, |_| true)
    }

    fn listed(root: &Path, wanted: impl Fn(&Path) -> bool) -> Self {
        let mut tree = Self::default();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(root.join(&folder)).into_iter().flatten().flatten();
            for entry in entries {
                let path = folder.join(entry.file_name());
                if !wanted(&path) {
                    continue;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    if path.components().count() <= MOST_DEEP {
                        folders.push(path);
                    }
                } else if is_photo(&path) && tree.photos.len() < MOST_FILES {
                    tree.photos.push(path);
                }
            }
        }
        Self::made_of(tree.photos.into_iter())
    }

    /// The tree of these paths.
    pub(crate) fn made_of(photos: impl Iterator<Item = PathBuf>) -> Self {
        let mut tree = Self {
            photos: photos.collect(),
            ..Self::default()
        };
        // Whatever order the system lists them in.
        tree.photos.sort();
        for (at, path) in tree.photos.iter().enumerate() {
            let keys = keys(&path.to_string_lossy());
            tree.by_name
                .entry(keys.last().cloned().unwrap_or_default())
                .or_default()
                .push(at);
            tree.keys.push(keys);
        }
        tree
    }

    /// What is left of the tree with the photos that are `wanted`.
    pub(crate) fn only(self, wanted: impl Fn(&Path) -> bool) -> Self {
        Self::made_of(self.photos.into_iter().filter(|path| wanted(path)))
    }

    /// Paths relative to the folder, sorted.
    pub(crate) fn photos(&self) -> impl Iterator<Item = &Path> {
        self.photos.iter().map(PathBuf::as_path)
    }

    /// The one photo whose path is the end of `name` in another spelling, or ends so.
    pub(crate) fn in_other_folders(&self, name: &str) -> Option<&Path> {
        let wanted = keys(name);
        let found = self.by_name.get(wanted.last()?)?;
        let fits = |at: &usize| {
            let (long, short) = match self.keys[*at].len() > wanted.len() {
                true => (&self.keys[*at], &wanted),
                false => (&wanted, &self.keys[*at]),
            };
            long.ends_with(short)
        };
        self.one(found.iter().copied().filter(fits), name)
    }

    /// The one photo whose path is `name` in another spelling.
    pub(crate) fn spelt(&self, name: &str) -> Option<&Path> {
        let wanted = keys(name);
        let found = self.by_name.get(wanted.last()?)?;
        self.one(found.iter().copied().filter(|at| self.keys[*at] == wanted), name)
    }

    /// The one photo whose path has the longest end in common with `name`, at least the name of the file.
    pub(crate) fn ending_like(&self, name: &str) -> Option<&Path> {
        let wanted = keys(name);
        let found = self.by_name.get(wanted.last()?)?;
        let common = |at: usize| {
            let both = self.keys[at].iter().rev().zip(wanted.iter().rev());
            both.take_while(|(a, b)| a == b).count()
        };
        let most = found.iter().map(|at| common(*at)).max()?;
        self.one(found.iter().copied().filter(|at| common(*at) == most), name)
    }

    /// The only one of `found`, or the only one that ends as `name` does to the letter.
    fn one(&self, found: impl Iterator<Item = usize>, name: &str) -> Option<&Path> {
        let found: Vec<&Path> = found.map(|at| self.photos[at].as_path()).collect();
        let same = || {
            let name = Path::new(name).file_name();
            let mut same = found.iter().filter(|path| path.file_name() == name);
            same.next().filter(|_| same.next().is_none())
        };
        match &found[..] {
            [path] => Some(path),
            _ => same().copied(),
        }
    }
}

/// Folders and stem of a path, each as [`key`] has it.
fn keys(path: &str) -> Vec<String> {
    let path = if is_photo(Path::new(path)) {
        path.rsplit_once('.').map_or(path, |(stem, _)| stem)
    } else {
        path
    };
    path.split(['/', '\\'])
        .filter(|part| !part.is_empty())
        .map(key)
        .collect()
}

/// What a name has in common in all encodings, in small letters: each run of what is not ASCII is one sign, together with a letter that
/// an accent follows.
fn key(name: &str) -> String {
    const SIGN: char = '\u{fffd}';
    let mut key = String::new();
    let mut letters = name.chars().peekable();
    while let Some(letter) = letters.next() {
        let accented = letters.peek().is_some_and(|next| ('\u{300}'..'\u{370}').contains(next));
        let letter = if letter.is_ascii() && !accented {
            letter.to_ascii_lowercase()
        } else {
            SIGN
        };
        if letter != SIGN || !key.ends_with(SIGN) {
            key.push(letter);
        }
    }
    key
}

fn photos_of(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut photos = BTreeMap::<String, Vec<String>>::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for name in entries.take(MOST_FILES).map(|entry| entry.file_name()) {
        let name = Path::new(&name);
        let texts = (name.file_stem().and_then(|stem| stem.to_str()), name.to_str());
        if let ((Some(stem), Some(name)), true) = (texts, is_photo(name)) {
            photos.entry(stem.to_lowercase()).or_default().push(name.to_owned());
        }
    }
    photos
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_scratch::Scratch;

    fn tree(files: &[&str]) -> Tree {
        let folder = Scratch::new();
        for file in files {
            folder.write(file, "");
        }
        Tree::of(folder.path())
    }

    #[test]
    fn other_spellings_are_found_where_one_file_answers() {
        let tree = tree(&[
            "cafe\u{301} 1.jpg",
            "\u{1f4f7}/a.png",
            "x1.jpg",
            "x\u{e9}.jpg",
            "x\u{e8}.jpg",
            "sub/b.jpg",
        ]);
        let found = |name: &str| tree.spelt(name).map(|path| path.to_string_lossy().replace('\\', "/"));
        // Composed, decomposed, Latin-1 read as such, UTF-8 read as Latin-1, and another ending.
        for name in [
            "caf\u{e9} 1.jpg",
            "CAFE\u{301} 1.JPG",
            "caf\u{c3}\u{a9} 1.jpg",
            "caf\u{e9} 1.png",
        ] {
            assert_eq!(found(name).as_deref(), Some("cafe\u{301} 1.jpg"), "{name:?}");
        }
        assert_eq!(found("\u{fffd}/a.png").as_deref(), Some("\u{1f4f7}/a.png"));
        assert_eq!(found("x\u{e9}.jpg").as_deref(), Some("x\u{e9}.jpg"));
        for name in ["x\u{ea}.jpg", "b.jpg", "sub/c.jpg", "cafe 1.jpg", ""] {
            assert_eq!(found(name), None, "{name:?}");
        }
    }

    #[test]
    fn the_longest_end_in_common_decides() {
        let tree = tree(&["left/1.jpg", "right/1.jpg", "right/2.jpg", "3.JPG"]);
        let found = |name: &str| {
            tree.ending_like(name)
                .map(|path| path.to_string_lossy().replace('\\', "/"))
        };
        assert_eq!(found("home/me/scan/left/1.jpg").as_deref(), Some("left/1.jpg"));
        assert_eq!(found("home/me/scan/right/1.jpg").as_deref(), Some("right/1.jpg"));
        assert_eq!(found("scan\\2.jpg").as_deref(), Some("right/2.jpg"));
        assert_eq!(found("images/3.jpg").as_deref(), Some("3.JPG"));
        for name in ["1.jpg", "middle/1.jpg", "left/4.jpg"] {
            assert_eq!(found(name), None, "{name}");
        }
    }
}
