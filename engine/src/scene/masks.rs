//! Which file says what pixels of an image count.
//!
//! Masks are looked for by the image's name, most specific place first: in a tree that mirrors the image folder
//! (`masks/SUB/x.jpg.png`, `masks/SUB/x.png`), then beside the image (`x.jpg.mask.png`, `x.mask.png`). An image without
//! one counts whole. A mask that the data set names for an image (`mask_path` of `transforms.json`) goes before these. In the file, white (128 and above) counts and black does not; a file that holds nothing above 1 is
//! read as 0 and 1.

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

/// Folder of masks unless told otherwise.
const FOLDER: &str = "masks";

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
    warnings: &mut Vec<String>,
) -> Result<(), SceneError> {
    let folder = match &options.masks {
        MaskChoice::Off => return Ok(()),
        MaskChoice::Auto => root.join(FOLDER),
        MaskChoice::Folder(folder) => root.join(folder),
    };
    // without the folder, each image costs two look-ups instead of four
    let has_folder = folder.is_dir();
    let asked = matches!(options.masks, MaskChoice::Folder(_));
    let named = |view: &View| given.get(&view.name).filter(|_| !asked).map(|name| root.join(name));
    let gone: Vec<String> = views
        .iter()
        .filter_map(|view| named(view).filter(|path| !path.is_file()).map(|_| view.name.clone()))
        .collect();
    if !gone.is_empty() {
        warnings.push(format!(
            "masks that the data set names for {} images are not there: {}",
            gone.len(),
            listed(&gone)
        ));
    }
    let found: Vec<Option<PathBuf>> = views
        .iter()
        .map(|view| {
            let named = named(view).into_iter();
            named
                .chain(candidates(view, has_folder.then_some(&folder)))
                .find(|path| path.is_file())
        })
        .collect();
    let paths: Vec<PathBuf> = found.iter().flatten().cloned().collect();
    if paths.is_empty() {
        return match (&options.masks, views.first()) {
            (MaskChoice::Folder(_), Some(view)) => Err(SceneError::NoMasks {
                images: views.len(),
                looked_for: format!("{}.png, {}.png", view.name, without_extension(&view.name)),
                folder,
            }),
            (MaskChoice::Auto, Some(view)) if has_files(&folder) => {
                warnings.push(format!(
                    "no file in {} is the mask of any of the {} images, and none is used; looked for {}.png, {}.png and the like",
                    folder.display(),
                    views.len(),
                    view.name,
                    without_extension(&view.name)
                ));
                Ok(())
            }
            _ => Ok(()),
        };
    }
    let headers: Vec<Option<Header>> = header::read_all(&paths, fence)?.into_iter().collect::<Result<_, _>>()?;
    let mut sizes = headers
        .into_iter()
        .map(|header| header.map(|header| (header.width, header.height)));
    let (mut without, mut odd) = (Vec::new(), Vec::new());
    for (view, path) in views.iter_mut().zip(found) {
        let Some((path, Some(size_px))) = path.map(|path| (path, sizes.next().flatten())) else {
            without.push(view.name.clone());
            continue;
        };
        let wide = |(w, h): (u32, u32)| (u64::from(w), u64::from(h));
        // a mask lies over the stored picture: it is turned and undistorted with it
        let image_px = view.upright.file_px;
        if !is_scaled_copy(wide(size_px), wide(image_px)) {
            odd.push((view.name.clone(), path, size_px, view.image_path.clone(), image_px));
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
    if !without.is_empty() {
        warnings.push(format!(
            "{} of {} images have no mask and count whole: {}",
            without.len(),
            views.len(),
            listed(&without)
        ));
    }
    Ok(())
}

/// True for a folder with anything in it.
fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

/// Files that may be the mask of a view, in the order they are tried.
fn candidates(view: &View, folder: Option<&PathBuf>) -> impl Iterator<Item = PathBuf> {
    let name = &view.name;
    let stem = without_extension(name);
    let tree = folder.map(|folder| [folder.join(format!("{name}.png")), folder.join(format!("{stem}.png"))]);
    let image = view.image_path.file_name().unwrap_or_default().to_string_lossy();
    let beside =
        [&*image, without_extension(&image)].map(|name| view.image_path.with_file_name(format!("{name}.mask.png")));
    tree.into_iter().flatten().chain(beside)
}

#[cfg(test)]
mod tests;
