//! The one error type of this layer.
//!
//! Every variant names the file or folder, what was found there and what to do about it. The program maps all of
//! them to the exit code for bad data.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::maps::MapKind;
use super::resolution::{MIN_WIDTH_PX, MOST_ENLARGED};

/// Missing images, or cameras, that a message lists one by one.
pub(super) const SHOWN: usize = 3;
/// Images of another shape that a message lists.
const SHOWN_ODD: usize = 5;

/// Why a data set, or one of its images, cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SceneError {
    /// The operating system refused a read.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io {
        /// File or folder concerned.
        path: PathBuf,
        /// Verb of the refused action, such as "open".
        action: &'static str,
        /// The system's reason.
        reason: Arc<std::io::Error>,
    },
    /// None of the markers of a known data set was found.
    #[error(
        "{} is not a data set Kiln can read; looked for {looked_for}; found {found}; \
         point at the folder that holds one of them", root.display()
    )]
    UnknownKind {
        /// Folder that was searched.
        root: PathBuf,
        /// The markers, comma separated.
        looked_for: String,
        /// What the folder holds instead.
        found: String,
    },
    /// Photos, and nothing that says where they were taken from.
    #[error(
        "{} holds no camera poses, only {photos} photo{}{}; COLMAP finds from photos where they were taken",
        root.display(),
        if *photos == 1 { "" } else { "s" },
        match database {
            Some(file) => format!(" and the matches in {}, from which no model was made", file.display()),
            None => String::new(),
        }
    )]
    NoPoses {
        /// Folder that was named.
        root: PathBuf,
        /// Photos in `folder`.
        photos: usize,
        /// The folder with most photos: `root`, or one in it.
        folder: PathBuf,
        /// COLMAP's database, where there is one.
        database: Option<PathBuf>,
    },
    /// A file of another kind where a folder is wanted.
    #[error("{} is a file, and a scene is a folder", path.display())]
    NotAFolder {
        /// The file.
        path: PathBuf,
    },
    /// A film.
    #[error("{} is a film; photos must be taken from it first", path.display())]
    Film {
        /// The file.
        path: PathBuf,
    },
    /// A folder of a data set.
    #[error("{} is a part of the data set {}, which holds photos and poses", path.display(), scene.display())]
    PartOfScene {
        /// Folder that was named.
        path: PathBuf,
        /// The data set.
        scene: PathBuf,
    },
    /// A folder of data sets.
    #[error("{} is not a data set, but a folder of data sets: {scenes}", root.display())]
    ScenesBelow {
        /// Folder that was named.
        root: PathBuf,
        /// Path of the first data set.
        first: PathBuf,
        /// Names of the data sets in it, the first few.
        scenes: String,
    },
    /// The file ends before the data it announces.
    #[error(
        "{} is truncated: {what} at byte {offset} needs {needed} bytes, the file has {available} left; \
         copy or export the file again", path.display()
    )]
    Truncated {
        /// File concerned.
        path: PathBuf,
        /// The value being read.
        what: &'static str,
        /// Where in the file.
        offset: u64,
        /// Bytes the value needs.
        needed: u64,
        /// Bytes left.
        available: u64,
    },
    /// A count in the file is larger than the file could hold.
    #[error(
        "{} says it holds {count} {what}, but its {file_bytes} bytes hold at most {fits}; \
         copy or export the file again", path.display()
    )]
    Count {
        /// File concerned.
        path: PathBuf,
        /// Things counted.
        what: &'static str,
        /// The count found.
        count: u64,
        /// The most that could follow.
        fits: u64,
        /// Size of the file.
        file_bytes: u64,
    },
    /// The file is readable but its content is not what the format demands.
    #[error("{}, {at}: {found}; {remedy}", path.display())]
    Malformed {
        /// File concerned.
        path: PathBuf,
        /// Line, record or field.
        at: String,
        /// What was found there.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The file is larger than any honest one.
    #[error("{} has {bytes} bytes, more than the {limit} that are read; is it the right file?", path.display())]
    TooLarge {
        /// File concerned.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size read.
        limit: u64,
    },
    /// A camera model that is unknown, or not read with its distortion.
    #[error("{}: camera {camera} uses the model {model}, {}", path.display(), super::formats::lens::not_read(model))]
    CameraModel {
        /// File concerned.
        path: PathBuf,
        /// The camera: its id, or the frame it belongs to.
        camera: String,
        /// The model's name, or its number when it has none.
        model: String,
    },
    /// Distortion that leaves next to nothing of a picture.
    #[error(
        "{}: the lens of this {model} camera leaves no usable picture; its coefficients cannot be right, \
         calibrate it again", path.display()
    )]
    Distortion {
        /// The first image of the camera.
        path: PathBuf,
        /// The camera model's name.
        model: &'static str,
    },
    /// A link that leads out of the data set.
    #[error(
        "{} leads to {}, outside of the data set; if that is meant, add --set dataset.follow_links=true",
        path.display(), target.display()
    )]
    LinkOut {
        /// The file or folder.
        path: PathBuf,
        /// Where it really is.
        target: PathBuf,
    },
    /// An image name that would leave the images folder.
    #[error(
        "{}: the image name {name:?} is empty, absolute or leaves the image folder; \
         names must be relative paths without \"..\"", path.display()
    )]
    UnsafeName {
        /// File that holds the name.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Two records share an id or a name.
    #[error("{}: {what} {id} appears twice; export the model again", path.display())]
    Duplicate {
        /// File concerned.
        path: PathBuf,
        /// Kind of record.
        what: &'static str,
        /// The shared id or name.
        id: String,
    },
    /// A list of held-out views that is not there.
    #[error("{}", match *asked_zero {
        true => format!(
            "0 holds out the views that {} names, and there is no such file",
            path.display()
        ),
        false => format!("{}, which is to name the held-out views, is not there", path.display()),
    })]
    HoldOutList {
        /// Where it would be.
        path: PathBuf,
        /// It is the list that 0 stands for.
        asked_zero: bool,
    },
    /// No view is left to train on.
    #[error("{} leaves no training view: {why}", path.display())]
    NoViews {
        /// File or folder concerned.
        path: PathBuf,
        /// The reason and the remedy.
        why: String,
    },
    /// An image has another shape than the camera that took it.
    #[error(
        "{} is {width}x{height}, but its camera is {camera_width}x{camera_height}, which is {}{}; \
         use the images the model was made from, or a uniformly scaled copy", path.display(),
         unlike((*width).into(), *camera_width), and_others(all, "photos")
    )]
    SizeMismatch {
        /// The image.
        path: PathBuf,
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
        /// The camera's width in pixels.
        camera_width: u64,
        /// The camera's height in pixels.
        camera_height: u64,
        /// Names of all images of which that is so; empty where they were not looked for.
        all: Vec<String>,
    },
    /// A mask has another shape than its image.
    #[error(
        "the mask {} is {}x{}, but its image {} is {}x{}, which is {}{}; \
         make the mask at the size of the image",
        mask.display(), mask_px.0, mask_px.1, image.display(), image_px.0, image_px.1,
        unlike(mask_px.0.into(), image_px.0.into()), and_others(all, "masks")
    )]
    MaskSize {
        /// The mask.
        mask: PathBuf,
        /// Its width and height in pixels.
        mask_px: (u32, u32),
        /// The image.
        image: PathBuf,
        /// Its width and height in pixels.
        image_px: (u32, u32),
        /// Names of all images whose masks are so.
        all: Vec<String>,
    },
    /// A mask that hides the whole image.
    #[error("every pixel of {} is masked; white must count", path.display())]
    AllMasked {
        /// The image.
        path: PathBuf,
    },
    /// Masks are set and there are none.
    #[error(
        "no mask in {} belongs to any of the {images} images; looked for {looked_for} and the like; \
         name another folder or turn masks off (dataset.masks)", folder.display()
    )]
    NoMasks {
        /// The folder.
        folder: PathBuf,
        /// Images of the scene.
        images: usize,
        /// File names that the first image's mask may have.
        looked_for: String,
    },
    /// Maps of photos are set and there are none.
    #[error("{}", match folder.is_dir() {
        true => format!(
            "no {} map in {} belongs to any of the {images} training photos; looked for {looked_for}; name another folder ({})",
            kind.name(),
            folder.display(),
            kind.key()
        ),
        false => format!(
            "there is no folder {}, which {} maps are to come from; name another folder ({})",
            folder.display(),
            kind.name(),
            kind.key()
        ),
    })]
    NoMaps {
        /// What they were to say.
        kind: MapKind,
        /// The folder.
        folder: PathBuf,
        /// Training photos.
        images: usize,
        /// File names that the first photo's map may have.
        looked_for: String,
    },
    /// A map of a photo that cannot be used.
    #[error("the {} map {} cannot be used: {detail}", kind.name(), path.display())]
    Map {
        /// What it was to say.
        kind: MapKind,
        /// The file, or the folder where none can be used.
        path: PathBuf,
        /// Why.
        detail: String,
    },
    /// An image file that cannot be decoded.
    #[error("cannot decode {}: {detail}; PNG, JPEG, WebP, TIFF and EXR are read, save the image again", path.display())]
    Image {
        /// The image.
        path: PathBuf,
        /// The decoder's reason.
        detail: String,
    },
    /// A resolution setting without a meaning.
    #[error(
        "resolution {}; 1, 2, 4, 8, 16, 32 and 64 are divisors, any other number is a width in pixels, 16 or more, and \
         -1 is at most 1600 px wide", meaning(*.0)
    )]
    Resolution(i64),
    /// A view that the scene does not have.
    #[error("the scene has no {0} view number {1}")]
    NoSuchView(&'static str, usize),
}

impl SceneError {
    /// Wraps a system error with the path it concerns.
    pub(crate) fn io(path: &Path, action: &'static str, reason: std::io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            action,
            reason: Arc::new(reason),
        }
    }

    /// A map that cannot be used, and why.
    pub(super) fn map(kind: MapKind, path: &Path, detail: String) -> Self {
        Self::Map {
            kind,
            path: path.to_owned(),
            detail,
        }
    }

    /// The reason alone, for lists of files.
    pub(super) fn short(&self) -> String {
        match self {
            Self::Image { detail, .. } | Self::Map { detail, .. } => detail.clone(),
            Self::Io { reason, .. } => reason.to_string(),
            other => other.to_string(),
        }
    }

    /// A content error at a named place.
    pub(crate) fn malformed(
        path: &Path,
        at: impl Into<String>,
        found: impl Into<String>,
        remedy: &'static str,
    ) -> Self {
        Self::Malformed {
            path: path.to_owned(),
            at: at.into(),
            found: found.into(),
            remedy,
        }
    }
}

/// What a number that is no resolution would stand for.
fn meaning(number: i64) -> String {
    match number {
        1..MIN_WIDTH_PX => format!("{number} is a width of {number} px"),
        _ => format!("{number} means nothing"),
    }
}

/// How a picture differs from what it should be a copy of.
fn unlike(width: u64, of: u64) -> &'static str {
    match width > MOST_ENLARGED.saturating_mul(of) {
        true => "more than 16 times as large",
        false => "another aspect ratio",
    }
}

/// How many images something is so of, with the first few of them; nothing for a single one.
fn and_others(all: &[String], what: &str) -> String {
    if all.len() < 2 {
        return String::new();
    }
    let shown = all
        .iter()
        .take(SHOWN_ODD)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let more = match all.len().saturating_sub(SHOWN_ODD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(", as with {} {what}: {shown}{more}", all.len())
}

/// The first few names, and how many more there are.
pub fn listed(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
