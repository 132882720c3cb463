//! Where the photos of a data set are: the folder, and each photo in it under whatever name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::Loader;
use crate::error::listed;
use crate::formats::lens::Lens;
use crate::formats::pairing::{Pairing, Tree};
use crate::formats::posed::PosedImage;
use crate::photos::header;
use crate::photos::header::Header;
use crate::{Resolution, SceneError, evenly};

/// Image folder of COLMAP data sets by default.
const IMAGES: &str = "images";
/// Image folder of data sets whose photos are not undistorted yet, where there is no other.
const INPUT: &str = "input";
/// Divisors that ready-made image folders come in.
const READY_MADE: [u32; 3] = [2, 4, 8];
/// Most image names that are looked for to know which folder they are relative to.
const MOST_LOOKED_FOR: usize = 16;
/// Most entries of a scene's folder that are searched for images.
const MOST_FOLDERS: usize = 1000;

impl Loader<'_> {
    /// The folder with the images of a COLMAP data set: the one asked for, one with images of the size asked for, or
    /// `images`.
    pub(super) fn image_folder(&mut self, posed: &[PosedImage]) -> Result<PathBuf, SceneError> {
        if let Some(images) = &self.options.images {
            let folder = self.root.join(images);
            // the user named it, so links in its own path are meant
            self.fence.allow(&folder);
            return Ok(folder);
        }
        let whole = self.root.join(IMAGES);
        let input = self.root.join(INPUT);
        if !whole.exists() && input.is_dir() {
            self.notices
                .push(format!("images are taken from {INPUT}: there is no folder {IMAGES}"));
            return Ok(input);
        }
        // exports of one folder, where the photos lie beside the model, and names that have the folder in them
        let some: Vec<&String> = evenly(posed.len(), MOST_LOOKED_FOR).map(|at| &posed[at].name).collect();
        let is_in = |folder: &Path| some.iter().find(|name| is_there(&folder.join(name)));
        if let (None, Some(name)) = (whole.exists().then(|| is_in(&whole)).flatten(), is_in(self.root)) {
            if whole.exists() {
                self.notices.push(format!(
                    "image names are relative to {}: {name} is there, and not in {IMAGES}",
                    self.root.display()
                ));
            }
            return Ok(self.root.to_owned());
        }
        let divisor = match self.resolution {
            Resolution::Divide(divisor) if READY_MADE.contains(&divisor) => divisor,
            _ => return Ok(whole),
        };
        let name = format!("{IMAGES}_{divisor}");
        let folder = self.root.join(&name);
        if !folder.is_dir() {
            return Ok(whole);
        }
        let paths = |folder: &Path| posed.iter().map(|image| folder.join(&image.name)).collect::<Vec<_>>();
        let headers = header::read_all(&paths(&folder), &self.fence)?;
        let headers: Vec<Option<Header>> = headers.into_iter().map(|header| header.ok().flatten()).collect();
        let there = headers.iter().flatten().count();
        let whole_there = paths(&whole).iter().filter(|path| path.is_file()).count();
        let odd = posed.iter().zip(&headers).find_map(|(image, header)| {
            let header = (*header)?;
            (!is_divided(&image.lens, header, divisor)).then_some((image, header))
        });
        let why_not = match odd {
            Some((image, Header { width, height, .. })) => {
                format!(
                    "{} there is {width}x{height}, which is not its camera's size by {divisor}",
                    image.name
                )
            }
            None if there == 0 || there < whole_there => {
                format!("it holds {there} of the images and {IMAGES} {whole_there}")
            }
            None => {
                self.resolution = Resolution::Divide(1);
                self.notices.push(format!(
                    "images are taken from {name}, which holds them at the size asked for \
                     (--images ./{IMAGES} resizes the others instead)"
                ));
                return Ok(folder);
            }
        };
        self.notices.push(format!("{name} is not used: {why_not}"));
        Ok(whole)
    }

    /// Headers of image files. Those that are not there are looked for under another ending or spelling, or, where none is there, under
    /// other folders; `paths` follows.
    pub(super) fn headers(
        &mut self,
        folder: &Path,
        names: &[String],
        paths: &mut [PathBuf],
    ) -> Result<Vec<header::Found>, SceneError> {
        let mut headers = header::read_all(paths, &self.fence)?;
        let mut pairing = Pairing::default();
        let (mut places, mut others) = (Vec::new(), Vec::new());
        for (at, path) in paths.iter().enumerate() {
            if let (Ok(None), Some(other)) = (&headers[at], pairing.find(path)) {
                places.push(at);
                others.push(other);
            }
        }
        let found = header::read_all(&others, &self.fence)?;
        if let (Some(other), Some(at)) = (others.first(), places.first()) {
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            self.notices.push(format!(
                "{} of {} images are there under another ending, such as {} for {}",
                others.len(),
                paths.len(),
                name(other),
                name(&paths[*at])
            ));
        }
        for ((at, other), header) in places.into_iter().zip(others).zip(found) {
            headers[at] = header;
            paths[at] = other;
        }
        self.headers_elsewhere(folder, names, paths, &mut headers)?;
        Ok(headers)
    }

    /// Headers of those image files that are under other names.
    fn headers_elsewhere(
        &mut self,
        folder: &Path,
        names: &[String],
        paths: &mut [PathBuf],
        headers: &mut [header::Found],
    ) -> Result<(), SceneError> {
        let missing = |header: &header::Found| matches!(header, Ok(None));
        let none_is_there = headers.iter().all(missing);
        let is_wanted = |at: &usize| missing(&headers[*at]) && (none_is_there || !names[*at].is_ascii());
        let wanted: Vec<usize> = (0..headers.len()).filter(is_wanted).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut trees = vec![folder];
        // Names without folders are of one folder, which the user is to name.
        if none_is_there && folder != self.root && names.iter().all(|name| name.contains('/')) {
            trees.push(self.root);
        }
        for root in trees {
            let tree = Tree::of(root);
            let find = |name: &str| match none_is_there {
                true => tree.ending_like(name),
                false => tree.spelt(name),
            };
            let found: Vec<(usize, PathBuf)> = wanted
                .iter()
                .filter_map(|at| Some((*at, root.join(find(&names[*at])?))))
                .collect();
            // A photo that two names answer to is that of neither.
            let mut uses = BTreeMap::<&Path, usize>::new();
            for path in paths
                .iter()
                .map(PathBuf::as_path)
                .chain(found.iter().map(|(_, path)| path.as_path()))
            {
                *uses.entry(path).or_default() += 1;
            }
            let found: Vec<(usize, PathBuf)> = found
                .iter()
                .filter(|(_, path)| uses[path.as_path()] == 1)
                .cloned()
                .collect();
            let (Some((at, first)), others) = (found.first(), found.iter().map(|(_, path)| path.clone())) else {
                continue;
            };
            let others: Vec<PathBuf> = others.collect();
            let read = header::read_all(&others, &self.fence)?;
            self.notices.push(format!(
                "{} of {} images are there under another name, such as {} for {}",
                found.len(),
                paths.len(),
                first.strip_prefix(self.root).unwrap_or(first).display(),
                names[*at]
            ));
            for ((at, path), header) in found.into_iter().zip(read) {
                headers[at] = header;
                paths[at] = path;
            }
            break;
        }
        Ok(())
    }

    pub(super) fn why_empty(&self, folder: &Path, listed_images: usize, missing: &[String]) -> String {
        if listed_images == 0 {
            return "it lists no images; export the model again".to_owned();
        }
        let state = match std::fs::read_dir(folder) {
            Ok(_) => format!("is in {}", folder.display()),
            Err(_) if folder.exists() => format!("is there: {} is not a folder that can be read", folder.display()),
            Err(_) => format!("is there: there is no folder {}", folder.display()),
        };
        let remedy = match self.folder_with(missing) {
            Some(name) => format!("they are in {name}: add `-i {name}`"),
            None => "name their folder with `-i FOLDER`".to_owned(),
        };
        format!(
            "none of its {listed_images} images {state} (missing: {}); {remedy}",
            listed(missing)
        )
    }

    /// The folder of the scene that holds the first of these images.
    fn folder_with(&self, names: &[String]) -> Option<String> {
        let first = names.first()?;
        let entries = std::fs::read_dir(self.root).into_iter().flatten().flatten();
        let holds = |folder: &PathBuf| is_there(&folder.join(first));
        let mut folders: Vec<PathBuf> = entries
            .take(MOST_FOLDERS)
            .map(|entry| entry.path())
            .filter(holds)
            .collect();
        folders.sort();
        let name = folders.first()?.file_name()?;
        Some(name.to_string_lossy().into_owned())
    }
}

/// True for a photo that is there, under its own ending or another.
fn is_there(path: &Path) -> bool {
    path.is_file() || Pairing::default().find(path).is_some()
}

/// True when a file has the size of its camera divided by `divisor`, rounded either way.
fn is_divided(lens: &Lens, header: Header, divisor: u32) -> bool {
    let near = |side: u64, file: u32| {
        let exact = side as f64 / f64::from(divisor);
        (exact - f64::from(file)).abs() < 1.0
    };
    let fits = |[width, height]: [u64; 2]| near(width, header.width) && near(height, header.height);
    lens.size.is_some_and(|size| fits(size) || fits([size[1], size[0]]))
}
