//! Poses with their photos: views, and what is said of photos that are left out.

use std::path::{Path, PathBuf};

use super::Loader;
use super::notices::Unreadable;
use crate::SceneError;
use crate::camera_use::CameraUse;
use crate::error::listed;
use crate::formats::lens::{Distortion, Lens};
use crate::formats::posed::PosedImage;
use crate::photos::header;
use crate::split;
use crate::view::{Alpha, View};

/// Poses that found their photos, and those that found none that can be used.
#[derive(Default)]
struct Paired {
    views: Vec<View>,
    /// Names of photos that are not there.
    missing: Vec<String>,
    undecodable: Unreadable,
    /// Photos of another shape than their cameras.
    odd: Vec<(String, SceneError)>,
}

impl Loader<'_> {
    /// Pairs poses with image files, sorted by name; images that are not there, or cannot be decoded, are left out and
    /// counted.
    pub(super) fn views(
        &mut self,
        folder: &Path,
        listed_in: &Path,
        posed: Vec<PosedImage>,
        alpha: Alpha,
    ) -> Result<Vec<View>, SceneError> {
        let mut paths: Vec<PathBuf> = posed.iter().map(|image| folder.join(&image.name)).collect();
        let names: Vec<String> = posed.iter().map(|image| image.name.clone()).collect();
        let headers = self.headers(folder, &names, &mut paths)?;
        let count = posed.len();
        let photos = paths.into_iter().zip(headers);
        let Paired {
            mut views,
            mut missing,
            mut undecodable,
            odd,
        } = self.paired(posed, photos, alpha)?;
        missing.sort();
        undecodable.sort();
        if let Some(error) = all_odd(odd) {
            return Err(error);
        }
        if views.is_empty() {
            let path = listed_in.to_owned();
            let why = match undecodable.is_empty() {
                true => self.why_empty(folder, count, &missing),
                false => format!(
                    "none of its {count} images can be {}: {}",
                    undecodable.what(),
                    undecodable.reported()
                ),
            };
            return Err(SceneError::NoViews { path, why });
        }
        self.warnings.extend(missing_warning(&missing, count, listed_in));
        self.warnings.extend(undecodable_warning(&undecodable, count, folder));
        self.undecodable.extend(undecodable.names());
        self.missing.extend(missing);
        split::sort(&mut views);
        if let Some(pair) = views.windows(2).find(|pair| pair[0].name == pair[1].name) {
            let (path, id) = (listed_in.to_owned(), pair[0].name.clone());
            return Err(SceneError::Duplicate {
                path,
                what: "image name",
                id,
            });
        }
        Ok(views)
    }

    /// Each pose with its photo, as far as the photo can be used; cameras are counted.
    fn paired(
        &mut self,
        posed: Vec<PosedImage>,
        photos: impl Iterator<Item = (PathBuf, header::Found)>,
        alpha: Alpha,
    ) -> Result<Paired, SceneError> {
        let mut pairs = Paired {
            views: Vec::with_capacity(posed.len()),
            ..Paired::default()
        };
        for (posed, (path, header)) in posed.into_iter().zip(photos) {
            let header = match header {
                Ok(Some(header)) => header,
                Ok(None) => {
                    pairs.missing.push(posed.name);
                    continue;
                }
                Err(error) => {
                    pairs.undecodable.push(posed.name, &error);
                    continue;
                }
            };
            let (lens, name) = (posed.lens, posed.name.clone());
            if header.alpha {
                self.transparent.push((path.clone(), (header.width, header.height)));
            }
            let mut view = match View::new(posed, path, header, alpha, &mut self.planner) {
                Err(error @ SceneError::SizeMismatch { .. }) => {
                    pairs.odd.push((name, error));
                    continue;
                }
                view => view?,
            };
            view.taken_by = self.count_camera(lens, &view);
            pairs.views.push(view);
        }
        Ok(pairs)
    }

    /// Counts the view's camera, and gives its place.
    fn count_camera(&mut self, lens: Lens, view: &View) -> usize {
        let file_px = view.upright.turned_px();
        let known = self.cameras.iter_mut().enumerate().rev();
        let mut same = known.filter(|(_, (other, camera))| *other == lens && camera.file_px == file_px);
        if let Some((at, (_, camera))) = same.next() {
            camera.images += 1;
            return at;
        }
        let camera = CameraUse {
            model: lens.model,
            file_px,
            source_px: (view.source_width, view.source_height),
            images: 1,
            lost: view.upright.lens.as_ref().map(|lens| lens.lost),
            is_fisheye: matches!(lens.distortion, Distortion::Fisheye { .. }),
        };
        self.cameras.push((lens, camera));
        self.cameras.len() - 1
    }
}

/// That some of the `count` images that a file lists are not there.
fn missing_warning(missing: &[String], count: usize, listed_in: &Path) -> Option<String> {
    (!missing.is_empty()).then(|| {
        format!(
            "{} of {count} images listed in {} are missing and left out: {}",
            missing.len(),
            listed_in.display(),
            listed(missing)
        )
    })
}

/// That some of the `count` images in a folder are of no use.
fn undecodable_warning(undecodable: &Unreadable, count: usize, folder: &Path) -> Option<String> {
    (!undecodable.is_empty()).then(|| {
        format!(
            "{} of {count} images in {} cannot be {} and are left out: {}",
            undecodable.len(),
            folder.display(),
            undecodable.what(),
            undecodable.reported()
        )
    })
}

/// The error of photos that have another shape than their cameras: that of the first, with the names of all.
fn all_odd(mut odd: Vec<(String, SceneError)>) -> Option<SceneError> {
    odd.sort_by(|a, b| a.0.cmp(&b.0));
    let names = odd.iter().map(|(name, _)| name.clone()).collect();
    let (_, mut error) = odd.into_iter().next()?;
    if let SceneError::SizeMismatch { all, .. } = &mut error {
        *all = names;
    }
    Some(error)
}
