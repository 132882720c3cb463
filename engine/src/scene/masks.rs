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
    let named = |view: &View| {
        let given = given.get(&view.name).filter(|_| asked.is_none());
        given.map(|name| root.join(name))
    };
    let gone = views
        .iter()
        .filter(|view| named(view).is_some_and(|path| !path.is_file()));
    let gone: Vec<String> = gone.map(|view| view.name.clone()).collect();
    if !gone.is_empty() {
        warnings.push(format!(
            "masks that the data set names for {} images are not there: {}",
            gone.len(),
            listed(&gone)
        ));
    }
    let given: Vec<Option<PathBuf>> = views
        .iter()
        .map(|view| named(view).filter(|path| path.is_file()))
        .collect();
    let found = match (asked, views.first()) {
        (_, None) => return Ok(()),
        (Some(folder), Some(view)) => {
            let found = search::masks(views, root, Some(&folder), &given);
            if found.masks.iter().all(Option::is_none) {
                return Err(SceneError::NoMasks {
                    images: views.len(),
                    looked_for: format!("{}.png, {}.png", view.name, without_extension(&view.name)),
                    folder,
                });
            }
            found
        }
        (None, Some(_)) => usual(views, root, &given, (notices, warnings)),
    };
    let relative = |path: &Path| relative(root, path);
    if let Some(first) = found.renamed.first() {
        let mask = found.masks[*first].as_deref().map(relative).unwrap_or_default();
        notices.push(format!(
            "masks of {} images are there under other names, such as {mask} for {}",
            found.renamed.len(),
            views[*first].name
        ));
    }
    let paths: Vec<PathBuf> = found.masks.iter().flatten().cloned().collect();
    if !found.spare.is_empty() && !paths.is_empty() {
        let spare: Vec<String> = found.spare.iter().map(|path| relative(path)).collect();
        notices.push(format!(
            "{} files that are called masks are of no image, or of no single one, and are not used: {}",
            spare.len(),
            listed(&spare)
        ));
    }
    if paths.is_empty() {
        return Ok(());
    }
    let mut headers = header::read_all(&paths, fence)?.into_iter();
    let (mut without, mut odd, mut guessed) = (Vec::new(), Vec::new(), Vec::new());
    for (at, (view, path)) in views.iter_mut().zip(found.masks).enumerate() {
        let header = path.and_then(|path| Some((path, headers.next()?)));
        let is_renamed = found.renamed.binary_search(&at).is_ok();
        let (path, size_px) = match header {
            Some((path, Ok(Some(Header { width, height, .. })))) => (path, (width, height)),
            Some((_, Err(error))) if !is_renamed || matches!(error, SceneError::LinkOut { .. }) => return Err(error),
            other => {
                guessed.extend(other.map(|(path, _)| relative(&path)));
                without.push(view.name.clone());
                continue;
            }
        };
        let wide = |(w, h): (u32, u32)| (u64::from(w), u64::from(h));
        // a mask lies over the stored picture: it is turned and undistorted with it
        let image_px = view.upright.file_px;
        if !is_scaled_copy(wide(size_px), wide(image_px)) {
            // what a name alone made a mask does not stop a run
            if is_renamed {
                guessed.push(relative(&path));
                without.push(view.name.clone());
            } else {
                odd.push((view.name.clone(), path, size_px, view.image_path.clone(), image_px));
            }
            continue;
        }
        view.mask = Some(MaskFile { path, size_px });
    }
    odd.sort();
    let all = odd.iter().map(|(name, ..)| name.clone()).collect();
    if let Some((_, mask, mask_px, image, image_px)) = odd.into_iter().next() {
        return Err(SceneError::MaskSize {
            mask,
            mask_px,
            image,
            image_px,
            all,
        });
    }
    if !guessed.is_empty() {
        warnings.push(format!(
            "{} files that are called masks have another shape than their images, or cannot be read, and are not used: {}",
            guessed.len(),
            listed(&guessed)
        ));
    }
    if !without.is_empty() && without.len() < views.len() {
        warnings.push(format!(
            "{} of {} images have no mask and count whole: {}",
            without.len(),
            views.len(),
            listed(&without)
        ));
    }
    Ok(())
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
