//! Which file says what pixels of an image count.
//!
//! Masks are looked for by the image's name, most specific place first: in a tree that mirrors the image folder
//! (`masks/SUB/x.jpg.png`, `masks/SUB/x.png`), then beside the image (`x.jpg.mask.png`, `x.mask.png`); then, with a notice, under the names
//! of other programs ([`search`]). An image without one counts whole. A mask that the data set names for an image (`mask_path` of
//! `transforms.json`) goes before these. In the file, white (128 and above) counts and black does not; a file that holds nothing above 1 is
//! read as 0 and 1.

mod search;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::SceneError;
use super::error::listed;
use super::fence::Fence;
use super::options::{MaskChoice, SceneOptions};
use super::photos::header;
use super::photos::header::Header;
use super::photos::upright::is_scaled_copy;
use super::view::{MaskFile, View, without_extension};
use search::Found;

/// Finds the masks of `views`, whose scene is in `root`; `given` are those that the data set names, relative to `root`, by image.
///
/// # Errors
/// [`SceneError`] when a mask's header is damaged or its shape is not the image's, or when masks of a named folder fit
/// no image.
pub(super) fn attach(
    views: &mut [View],
    root: &Path,
    (options, given): (&SceneOptions, &BTreeMap<String, String>),
    fence: &Fence,
    (notices, warnings): (&mut Vec<String>, &mut Vec<String>),
) -> Result<(), SceneError> {
    let asked = match &options.masks {
        MaskChoice::Off => return Ok(()),
        MaskChoice::Auto => None,
        MaskChoice::Folder(folder) => Some(root.join(folder)),
    };
    let given = match asked {
        None => named(views, root, given, warnings),
        Some(_) => vec![None; views.len()],
    };
    let found = match asked {
        _ if views.is_empty() => return Ok(()),
        Some(folder) => in_folder(views, root, folder, &given)?,
        None => usual(views, root, &given, (notices, warnings)),
    };
    notices.extend(renamed_notice(&found, views, root));
    if found.masks.iter().all(Option::is_none) {
        return Ok(());
    }
    notices.extend(spare_notice(&found, root));
    let unfit = give(views, root, found, fence)?;
    warnings.extend(unfit.guessed_warning());
    warnings.extend(unfit.without_warning(views.len()));
    Ok(())
}

/// The masks that the data set names for views, as far as they are there; those that are not are warned of.
fn named(
    views: &[View],
    root: &Path,
    given: &BTreeMap<String, String>,
    warnings: &mut Vec<String>,
) -> Vec<Option<PathBuf>> {
    let mut gone = Vec::new();
    let mut named = Vec::with_capacity(views.len());
    for view in views {
        let path = given.get(&view.name).map(|name| root.join(name));
        let there = path.as_ref().is_none_or(|path| path.is_file());
        if !there {
            gone.push(view.name.clone());
        }
        named.push(path.filter(|_| there));
    }
    if !gone.is_empty() {
        warnings.push(format!(
            "masks that the data set names for {} images are not there: {}",
            gone.len(),
            listed(&gone)
        ));
    }
    named
}

/// The masks in the folder that was asked for.
fn in_folder(views: &[View], root: &Path, folder: PathBuf, given: &[Option<PathBuf>]) -> Result<Found, SceneError> {
    let found = search::masks(views, root, Some(&folder), given);
    match views.first() {
        Some(view) if found.masks.iter().all(Option::is_none) => Err(SceneError::NoMasks {
            images: views.len(),
            looked_for: format!("{}.png, {}.png", view.name, without_extension(&view.name)),
            folder,
        }),
        _ => Ok(found),
    }
}

/// That masks are there under the names of other programs.
fn renamed_notice(found: &Found, views: &[View], root: &Path) -> Option<String> {
    let first = *found.renamed.first()?;
    let mask = found.masks[first].as_deref().map(|path| relative(root, path));
    Some(format!(
        "masks of {} images are there under other names, such as {} for {}",
        found.renamed.len(),
        mask.unwrap_or_default(),
        views[first].name
    ))
}

/// That files are called masks and are not used.
fn spare_notice(found: &Found, root: &Path) -> Option<String> {
    let spare: Vec<String> = found.spare.iter().map(|path| relative(root, path)).collect();
    (!spare.is_empty()).then(|| {
        format!(
            "{} files that are called masks are of no image, or of no single one, and are not used: {}",
            spare.len(),
            listed(&spare)
        )
    })
}

/// Gives views the masks found for them, and what fits none.
fn give(views: &mut [View], root: &Path, found: Found, fence: &Fence) -> Result<Unfit, SceneError> {
    let paths: Vec<PathBuf> = found.masks.iter().flatten().cloned().collect();
    let mut headers = header::read_all(&paths, fence)?.into_iter();
    let (mut unfit, mut odd) = (Unfit::default(), Vec::new());
    for (at, (view, path)) in views.iter_mut().zip(found.masks).enumerate() {
        let header = path.and_then(|path| Some((path, headers.next()?)));
        let is_renamed = found.renamed.binary_search(&at).is_ok();
        let (path, size_px) = match header {
            Some((path, Ok(Some(Header { width, height, .. })))) => (path, (width, height)),
            Some((_, Err(error))) if !is_renamed || matches!(error, SceneError::LinkOut { .. }) => return Err(error),
            other => {
                unfit.guessed.extend(other.map(|(path, _)| relative(root, &path)));
                unfit.without.push(view.name.clone());
                continue;
            }
        };
        let wide = |(w, h): (u32, u32)| (u64::from(w), u64::from(h));
        // a mask lies over the stored picture: it is turned and undistorted with it
        let image_px = view.upright.file_px;
        if !is_scaled_copy(wide(size_px), wide(image_px)) {
            // what a name alone made a mask does not stop a run
            if is_renamed {
                unfit.guessed.push(relative(root, &path));
                unfit.without.push(view.name.clone());
            } else {
                odd.push((view.name.clone(), path, size_px, view.image_path.clone(), image_px));
            }
            continue;
        }
        view.mask = Some(MaskFile { path, size_px });
    }
    odd.sort();
    let all = odd.iter().map(|(name, ..)| name.clone()).collect();
    match odd.into_iter().next() {
        None => Ok(unfit),
        Some((_, mask, mask_px, image, image_px)) => Err(SceneError::MaskSize {
            mask,
            mask_px,
            image,
            image_px,
            all,
        }),
    }
}

/// Files that are taken for masks and cannot be, and images without one.
#[derive(Default)]
struct Unfit {
    guessed: Vec<String>,
    without: Vec<String>,
}

impl Unfit {
    fn guessed_warning(&self) -> Option<String> {
        (!self.guessed.is_empty()).then(|| {
            format!(
                "{} files that are called masks have another shape than their images, or cannot be read, and are not used: {}",
                self.guessed.len(),
                listed(&self.guessed)
            )
        })
    }

    /// Where some of all `images` have a mask.
    fn without_warning(&self, images: usize) -> Option<String> {
        (!self.without.is_empty() && self.without.len() < images).then(|| {
            format!(
                "{} of {images} images have no mask and count whole: {}",
                self.without.len(),
                listed(&self.without)
            )
        })
    }
}

/// A path in the scene, as people name it.
fn relative(root: &Path, path: &Path) -> String {
    let path = path.strip_prefix(root).unwrap_or(path);
    path.to_string_lossy().replace('\\', "/")
}

/// Masks where none are asked for: in the first folder with such a name that has any, and beside the images. What has none is named.
fn usual(
    views: &[View],
    root: &Path,
    given: &[Option<PathBuf>],
    (notices, warnings): (&mut Vec<String>, &mut Vec<String>),
) -> Found {
    let (folders, others) = search::folders(root, views);
    let (mut used, mut unfit) = (None, Vec::new());
    for folder in folders {
        if used.is_some() {
            unfit.push(folder);
            continue;
        }
        let found = search::masks(views, root, Some(&folder), given);
        match found.masks.iter().flatten().any(|mask| mask.starts_with(&folder)) {
            true => used = Some(found),
            false => unfit.push(folder),
        }
    }
    let has_masks = used.is_some();
    let found = used.unwrap_or_else(|| search::masks(views, root, None, given));
    let name = |path: &Path| relative(root, path);
    for folder in unfit {
        match (views.first(), has_masks) {
            (Some(view), false) => warnings.push(format!(
                "no file in {} is the mask of any of the {} images, and none is used; looked for {}.png, {}.png and the like",
                folder.display(),
                views.len(),
                view.name,
                without_extension(&view.name)
            )),
            _ => notices.push(format!("{} is not used: masks are in another folder", name(&folder))),
        }
    }
    if !has_masks && found.masks.iter().all(Option::is_none) {
        let spare: Vec<String> = found.spare.iter().map(|path| name(path)).collect();
        if !spare.is_empty() {
            warnings.push(format!(
                "{} files beside the images are called masks and are that of none: {}; masks of x.jpg are x.mask.png, or x.png in masks",
                spare.len(),
                listed(&spare)
            ));
        }
        for folder in others.iter().map(|folder| name(folder)) {
            notices.push(format!(
                "{folder} may hold masks, and is not read: `--set dataset.masks={folder}` takes those in it"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests;
