//! Which file is the mask of which photo, by their names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::formats::beside::{MASK_ENDS, is_of_system};
use crate::formats::pairing::{Tree, is_photo};
use crate::view::{View, without_extension};

/// What a mask or a folder of masks is called.
const WORDS: [&str; 2] = ["masks", "mask"];
/// Most entries of a folder that are looked at.
const MOST_ENTRIES: usize = 1_000_000;

/// Masks by view.
#[derive(Default)]
pub(super) struct Found {
    /// The mask of each view.
    pub(super) masks: Vec<Option<PathBuf>>,
    /// Views whose masks are there under other names than the usual ones.
    pub(super) renamed: Vec<usize>,
    /// Files of the folder, and files beside photos or the data set that are called masks, which are of no view; sorted.
    pub(super) spare: Vec<PathBuf>,
}

/// Folders in `root` and beside the first of `views` with files that are called `masks` or `mask`, in the order in which they are tried, and
/// others that have the word in their name.
pub(super) fn folders(root: &Path, views: &[View]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let beside = views.first().and_then(|view| view.image_path.parent());
    let places = std::iter::once(root).chain(beside.filter(|folder| *folder != root));
    let mut found: Vec<PathBuf> = places
        .flat_map(entries)
        .filter(|path| has_word(path) && has_files(path))
        .collect();
    // `masks` comes before `mask`, and both before `Masks`
    let rank = |path: &Path| WORDS.iter().position(|word| path.ends_with(word));
    found.sort_by_key(|path| (rank(path).unwrap_or(WORDS.len()), path.clone()));
    let is_usual = |path: &PathBuf| WORDS.contains(&&*name(path).to_lowercase());
    found.into_iter().partition(is_usual)
}

/// Masks of `views`, whose scene is in `root`, in `folder` and beside the photos; `given` are those that are known. A file that may be of
/// several views under another name is that of none.
pub(super) fn masks(views: &[View], root: &Path, folder: Option<&Path>, given: &[Option<PathBuf>]) -> Found {
    let photos: BTreeSet<&Path> = views.iter().map(|view| view.image_path.as_path()).collect();
    let photos_known: BTreeSet<Cow<'_, Path>> = photos.iter().map(|path| known(path)).collect();
    let is_there = |path: &PathBuf| path.is_file() && !photos_known.contains(&known(path));
    let usual = |(view, given): (&View, &Option<PathBuf>)| given.clone().or_else(|| usual(view, folder).find(is_there));
    let mut masks: Vec<Option<PathBuf>> = views.iter().zip(given).map(usual).collect();

    // Files that may be masks and are of no view yet.
    let free = {
        let taken: BTreeSet<Cow<'_, Path>> = masks.iter().flatten().map(|path| known(path)).collect();
        let is_free = |path: &PathBuf| !taken.contains(&known(path)) && !photos_known.contains(&known(path));
        let in_folder = folder.map(|folder| Tree::of(folder).only(|name| is_free(&folder.join(name))));
        let beside: BTreeSet<&Path> = photos.iter().filter_map(|photo| photo.parent()).chain([root]).collect();
        let beside = beside.into_iter().map(|folder| {
            let called =
                entries(folder).filter(|path| is_photo(path) && has_word(path) && !is_of_system(path) && is_free(path));
            (folder.to_owned(), Tree::made_of(called.map(|path| name(&path).into())))
        });
        Free {
            folder: folder.map(Path::to_owned).zip(in_folder),
            beside: beside.collect(),
        }
    };
    let wanted = views.iter().enumerate().filter(|(at, _)| masks[*at].is_none());
    let found: Vec<(usize, PathBuf)> = wanted
        .filter_map(|(at, view)| Some((at, free.mask_of(view)?)))
        .collect();
    let mut uses = BTreeMap::<&Path, usize>::new();
    for (_, path) in &found {
        *uses.entry(path).or_default() += 1;
    }
    let mut renamed = Vec::new();
    for (at, path) in found.iter().filter(|(_, path)| uses[path.as_path()] == 1) {
        masks[*at] = Some(path.clone());
        renamed.push(*at);
    }
    let taken: BTreeSet<&Path> = renamed.iter().filter_map(|at| masks[*at].as_deref()).collect();
    let spare = free.files().filter(|path| !taken.contains(path.as_path()));
    let spare: BTreeSet<PathBuf> = spare.collect();
    Found {
        spare: spare.into_iter().collect(),
        masks,
        renamed,
    }
}

/// A path as its system compares it: on Windows a file is found by a name in other letters than its own.
fn known(path: &Path) -> Cow<'_, Path> {
    match cfg!(windows) {
        true => PathBuf::from(path.to_string_lossy().to_lowercase()).into(),
        false => path.into(),
    }
}

/// Files that may be masks.
struct Free {
    /// Those of the folder of masks.
    folder: Option<(PathBuf, Tree)>,
    /// Those beside photos, by folder.
    beside: BTreeMap<PathBuf, Tree>,
}

impl Free {
    /// The mask of a view under a name that is not usual: another ending, case or encoding, a word behind it, other folders.
    fn mask_of(&self, view: &View) -> Option<PathBuf> {
        let bases = [&*view.name, without_extension(&view.name)];
        let of = |behind: &str| bases.map(|base| format!("{base}{behind}.png"));
        let names: Vec<String> = [""].iter().chain(&MASK_ENDS).flat_map(|behind| of(behind)).collect();
        if let Some((folder, tree)) = &self.folder {
            let spelt = names.iter().find_map(|name| tree.spelt(name));
            let found = spelt.or_else(|| names.iter().find_map(|name| tree.in_other_folders(name)));
            if let Some(found) = found {
                return Some(folder.join(found));
            }
        }
        let (folder, photo) = (view.image_path.parent()?, name(&view.image_path));
        let tree = self.beside.get(folder)?;
        let bases = [&*photo, without_extension(&photo)];
        let of = |behind: &&str| bases.map(|base| format!("{base}{behind}.png"));
        let found = MASK_ENDS
            .iter()
            .flat_map(of)
            .find_map(|name| tree.spelt(&name).map(Path::to_owned));
        Some(folder.join(found?))
    }

    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let trees = self
            .folder
            .iter()
            .map(|(folder, tree)| (folder, tree))
            .chain(&self.beside);
        trees.flat_map(|(folder, tree)| tree.photos().map(|name| folder.join(name)))
    }
}

/// Files that are usually the mask of a view, in the order they are tried.
fn usual(view: &View, folder: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let name = &view.name;
    let stem = without_extension(name);
    // without the folder, each image costs two look-ups instead of four
    let tree = folder.map(|folder| [folder.join(format!("{name}.png")), folder.join(format!("{stem}.png"))]);
    let image = view.image_path.file_name().unwrap_or_default().to_string_lossy();
    let beside =
        [&*image, without_extension(&image)].map(|name| view.image_path.with_file_name(format!("{name}.mask.png")));
    tree.into_iter().flatten().chain(beside)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.take(MOST_ENTRIES).map(|entry| entry.path())
}

/// True for a folder with anything in it.
fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// True for a name that has the word as one of its own.
fn has_word(path: &Path) -> bool {
    let name = name(path).to_lowercase();
    let mut words = name.split(|letter: char| !letter.is_alphabetic());
    words.any(|word| WORDS.contains(&word))
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
