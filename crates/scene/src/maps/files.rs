//! What there is of a map on disk.

use std::path::{Path, PathBuf};

use super::{MapKind, Over, file};
use crate::SceneError;
use crate::fence::Fence;
use crate::photos::decode::decode;

/// The files of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapFile {
    /// The map.
    pub file: SizedFile,
    /// How far each of its pixels is trusted: 255 wholly, 0 not at all.
    pub confidence: Option<SizedFile>,
}

/// A file, and what its header says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizedFile {
    /// Where it is.
    pub path: PathBuf,
    /// Width and height, pixels.
    pub size_px: (u32, u32),
}

impl MapFile {
    /// What there is for the map in `path`.
    pub(crate) fn open(kind: MapKind, path: &Path, fence: &Fence) -> Result<Self, SceneError> {
        let of = |path: &Path| {
            file::size(kind, path, fence).map(|size_px| SizedFile {
                path: path.to_owned(),
                size_px,
            })
        };
        let confidence = path.with_extension("confidence.png");
        Ok(Self {
            file: of(path)?,
            confidence: confidence.is_file().then(|| of(&confidence)).transpose()?,
        })
    }

    /// How far each pixel of a photo at training resolution is trusted; none where all are wholly.
    pub(crate) fn trust(&self, over: &Over<'_>) -> Result<Option<Vec<u8>>, SceneError> {
        let Some(file) = &self.confidence else {
            return Ok(None);
        };
        let trust = decode(&file.path, file.size_px)?.into_luma8().into_raw();
        Ok(Some(over.lay(trust, file.size_px)))
    }
}
