//! `cameras.bin`, `images.bin`, `points3D.bin`: little-endian records behind a count.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use kiln_files::open_filled;

use super::{CameraRecord, ImageRecord, known_model, lens, point};
use crate::SceneError;
use crate::formats::posed::text_of;
use crate::seen::{PointRecord, thin};

/// Longest image name read, bytes.
const MAX_NAME_BYTES: usize = 4096;

pub(super) fn cameras(path: &Path) -> Result<Vec<CameraRecord>, SceneError> {
    let mut file = RecordFile::open(path)?;
    // id, model, width, height and the two parameters of the shortest model
    let count = file.count("cameras", 4 + 4 + 8 + 8 + 2 * 8)?;
    let mut cameras = Vec::with_capacity(count);
    for _ in 0..count {
        let id = file.u32("camera id")?;
        let number = file.u32("camera model")?;
        let model = usize::try_from(number).ok().and_then(|number| lens::MODELS.get(number));
        let model = model.map_or_else(|| format!("number {number}"), |name| (*name).to_owned());
        // How long the record of another model is cannot be known.
        let (model, params) = known_model(path, id, &model)?;
        let (width, height) = (file.u64("camera width")?, file.u64("camera height")?);
        let params = (0..params)
            .map(|_| file.f64("lens parameter"))
            .collect::<Result<_, _>>()?;
        cameras.push(CameraRecord {
            id,
            model,
            width,
            height,
            params,
        });
    }
    file.finish()?;
    Ok(cameras)
}

/// Bytes of the shortest image record: id, quaternion, translation, camera, the name's NUL, observation count.
pub(super) const IMAGE_BYTES: u64 = 4 + 32 + 24 + 4 + 1 + 8;

/// Bytes of an observation: the keypoint, two f64, and the id of its point.
pub(super) const OBSERVATION_BYTES: u64 = 24;
/// Id of a keypoint without a point.
pub(super) const NO_POINT: u64 = u64::MAX;

/// The count that starts the file, if the file can back it.
pub(super) fn count_images(path: &Path) -> Result<u64, SceneError> {
    Ok(RecordFile::open(path)?.count("images", IMAGE_BYTES)? as u64)
}

/// Images, each with at most `most_seen` of the points that it shows.
pub(super) fn images(path: &Path, most_seen: usize) -> Result<Vec<ImageRecord>, SceneError> {
    let mut file = RecordFile::open(path)?;
    let count = file.count("images", IMAGE_BYTES)?;
    let mut images = Vec::with_capacity(count);
    for _ in 0..count {
        let id = file.u32("image id")?;
        let quat = file.f64s("image rotation")?;
        let translation = file.f64s("image translation")?;
        let camera = file.u32("image camera")?;
        let name = file.name(id)?;
        let observations = file.count("observations", OBSERVATION_BYTES)?;
        let mut seen = Vec::new();
        if most_seen == 0 {
            file.skip("observations", observations as u64 * OBSERVATION_BYTES)?;
        } else {
            for _ in 0..observations {
                file.skip("observation", 16)?;
                let point = file.u64("observed point")?;
                if point != NO_POINT {
                    seen.push(point);
                }
            }
            thin(&mut seen, most_seen);
        }
        images.push(ImageRecord {
            id,
            quat,
            translation,
            camera,
            name,
            seen,
        });
    }
    file.finish()?;
    Ok(images)
}

pub(super) fn points(path: &Path) -> Result<Vec<PointRecord>, SceneError> {
    let mut file = RecordFile::open(path)?;
    // id, position, colour, error, track length
    let count = file.count("points", 8 + 24 + 3 + 8 + 8)?;
    let mut points = Vec::with_capacity(count);
    for _ in 0..count {
        let id = file.u64("point id")?;
        let position = file.f64s("point position")?;
        let color = file.bytes::<3>("point colour")?;
        let error = file.f64("point error")?;
        let track = file.count("track elements", 8)? as u64;
        file.skip("track", track * 8)?;
        points.push(point(path, id, position, color, error, track)?);
    }
    file.finish()?;
    Ok(points)
}

/// A file read forwards that knows how many bytes are left.
pub(super) struct RecordFile {
    reader: BufReader<File>,
    path: PathBuf,
    offset: u64,
    size: u64,
}

impl RecordFile {
    pub(super) fn open(path: &Path) -> Result<Self, SceneError> {
        let file = open_filled(path).map_err(|e| SceneError::io(path, "open", e))?;
        let size = file.metadata().map_err(|e| SceneError::io(path, "inspect", e))?.len();
        Ok(Self {
            reader: BufReader::with_capacity(1 << 16, file),
            path: path.to_owned(),
            offset: 0,
            size,
        })
    }

    fn left(&self) -> u64 {
        self.size.saturating_sub(self.offset)
    }

    fn truncated(&self, what: &'static str, needed: u64) -> SceneError {
        let (path, offset, available) = (self.path.clone(), self.offset, self.left());
        SceneError::Truncated {
            path,
            what,
            offset,
            needed,
            available,
        }
    }

    pub(super) fn bytes<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], SceneError> {
        let mut bytes = [0; N];
        if self.left() < N as u64 {
            return Err(self.truncated(what, N as u64));
        }
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(self.truncated(what, N as u64));
            }
            Err(e) => return Err(SceneError::io(&self.path, "read", e)),
        }
        self.offset += N as u64;
        Ok(bytes)
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, SceneError> {
        self.bytes(what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, SceneError> {
        self.bytes(what).map(u64::from_le_bytes)
    }

    fn f64(&mut self, what: &'static str) -> Result<f64, SceneError> {
        self.bytes(what).map(f64::from_le_bytes)
    }

    pub(super) fn f64s<const N: usize>(&mut self, what: &'static str) -> Result<[f64; N], SceneError> {
        let mut values = [0.0; N];
        for value in &mut values {
            *value = self.f64(what)?;
        }
        Ok(values)
    }

    /// A count that the rest of the file can back, `record_bytes` being the least each record takes.
    pub(super) fn count(&mut self, what: &'static str, record_bytes: u64) -> Result<usize, SceneError> {
        let count = self.u64(what)?;
        let fits = self.left() / record_bytes;
        if count > fits {
            return Err(SceneError::Count {
                path: self.path.clone(),
                what,
                count,
                fits,
                file_bytes: self.size,
            });
        }
        usize::try_from(count).map_err(|_| self.truncated(what, u64::MAX))
    }

    fn skip(&mut self, what: &'static str, bytes: u64) -> Result<(), SceneError> {
        if self.left() < bytes {
            return Err(self.truncated(what, bytes));
        }
        let step = i64::try_from(bytes).map_err(|_| self.truncated(what, bytes))?;
        self.reader
            .seek_relative(step)
            .map_err(|e| SceneError::io(&self.path, "read", e))?;
        self.offset += bytes;
        Ok(())
    }

    pub(super) fn name(&mut self, image: u32) -> Result<String, SceneError> {
        let mut name = Vec::new();
        loop {
            match self.bytes::<1>("image name")? {
                [0] => break,
                [byte] if name.len() < MAX_NAME_BYTES => name.push(byte),
                _ => {
                    let found = format!("a name longer than {MAX_NAME_BYTES} bytes");
                    return Err(SceneError::malformed(
                        &self.path,
                        format!("image {image}"),
                        found,
                        super::EXPORT_AGAIN,
                    ));
                }
            }
        }
        Ok(text_of(name))
    }

    /// A count that is too small leaves bytes over: records would be lost in silence.
    pub(super) fn finish(self) -> Result<(), SceneError> {
        match self.left() {
            0 => Ok(()),
            left => Err(SceneError::malformed(
                &self.path,
                format!("byte {}", self.offset),
                format!("{left} bytes follow the last record its count announces"),
                super::EXPORT_AGAIN,
            )),
        }
    }
}
