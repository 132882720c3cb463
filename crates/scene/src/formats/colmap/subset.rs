//! Parts of a binary model as models of their own.
//!
//! Records are passed on byte for byte: cameras whole, images and points where they belong to a part, with what they say of
//! each other cut down to the part. Files are read once for all parts, in memory that depends on the ids alone.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::Path;

use kiln_files::open_regular;

use super::binary::{IMAGE_BYTES, NO_POINT, OBSERVATION_BYTES, RecordFile};
use crate::SceneError;
use crate::formats::posed::listed_name;

/// What is in each part.
pub struct Subsets<'a> {
    /// How many parts there are.
    pub count: usize,
    /// True when an image, by its name, is in a part.
    pub has_image: &'a dyn Fn(usize, &str) -> bool,
    /// True when a point, by its place, is in a part.
    pub has_point: &'a dyn Fn(usize, [f64; 3]) -> bool,
}

/// Why parts are not written.
#[derive(Debug, thiserror::Error)]
pub enum SubsetError {
    /// The model cannot be read.
    #[error(transparent)]
    Read(#[from] SceneError),
    /// A part cannot be written.
    #[error("cannot write the sparse model of a block: {0}")]
    Write(#[from] io::Error),
}

/// A file of a part: its records, counted.
struct Part {
    file: BufWriter<File>,
    records: u64,
    /// Ids of the images, or points, of the part, ascending.
    ids: Vec<u64>,
}

/// Writes the parts of the model in `folder`, whose files are binary; `create` makes the file of a name for a part.
///
/// # Errors
/// [`SubsetError`] when a file of the model is damaged, or one of a part cannot be written.
pub fn write_subsets(
    folder: &Path,
    subsets: &Subsets<'_>,
    create: &dyn Fn(usize, &str) -> io::Result<File>,
) -> Result<(), SubsetError> {
    let cameras = folder.join("cameras.bin");
    for part in 0..subsets.count {
        let mut from = open_regular(&cameras).map_err(|e| SceneError::io(&cameras, "open", e))?;
        let mut to = create(part, "cameras.bin")?;
        io::copy(&mut from, &mut to)?;
        to.sync_all()?;
    }
    let points = point_ids(&folder.join("points3D.bin"), subsets)?;
    let images = write_images(&folder.join("images.bin"), subsets, &points, create)?;
    drop(points);
    write_points(&folder.join("points3D.bin"), subsets, &images, create)
}

fn open_parts(
    name: &str,
    subsets: &Subsets<'_>,
    create: &dyn Fn(usize, &str) -> io::Result<File>,
) -> io::Result<Vec<Part>> {
    let open = |part| {
        let mut file = BufWriter::with_capacity(1 << 16, create(part, name)?);
        // The count is known in the end.
        file.write_all(&0_u64.to_le_bytes())?;
        Ok(Part {
            file,
            records: 0,
            ids: Vec::new(),
        })
    };
    (0..subsets.count).map(open).collect()
}

/// Ends the files and gives the ids of their records, ascending.
fn close(parts: Vec<Part>) -> io::Result<Vec<Vec<u64>>> {
    let end = |mut part: Part| {
        part.file.seek(SeekFrom::Start(0))?;
        part.file.write_all(&part.records.to_le_bytes())?;
        let file = part.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.sync_all()?;
        part.ids.sort_unstable();
        Ok(part.ids)
    };
    parts.into_iter().map(end).collect()
}

/// Ids of the points of each part, ascending.
fn point_ids(path: &Path, subsets: &Subsets<'_>) -> Result<Vec<Vec<u64>>, SubsetError> {
    let mut ids = vec![Vec::new(); subsets.count];
    each_point(path, |id, place, _, _| {
        for (part, ids) in ids.iter_mut().enumerate() {
            if (subsets.has_point)(part, place) {
                ids.push(id);
            }
        }
        Ok(())
    })?;
    ids.iter_mut().for_each(|ids: &mut Vec<u64>| ids.sort_unstable());
    Ok(ids)
}

fn write_images(
    path: &Path,
    subsets: &Subsets<'_>,
    points: &[Vec<u64>],
    create: &dyn Fn(usize, &str) -> io::Result<File>,
) -> Result<Vec<Vec<u64>>, SubsetError> {
    let mut parts = open_parts("images.bin", subsets, create)?;
    let mut file = RecordFile::open(path)?;
    let count = file.count("images", IMAGE_BYTES)?;
    let mut seen: Vec<[u8; OBSERVATION_BYTES as usize]> = Vec::new();
    for _ in 0..count {
        let id = file.u32("image id")?;
        // Rotation, translation and camera.
        let pose = file.bytes::<{ 32 + 24 + 4 }>("image pose")?;
        let name = file.name(id)?;
        let observations = file.count("observations", OBSERVATION_BYTES)?;
        seen.clear();
        for _ in 0..observations {
            seen.push(file.bytes("observation")?);
        }
        let known = listed_name(path, &name)?;
        for (number, part) in parts.iter_mut().enumerate() {
            if !(subsets.has_image)(number, &known) {
                continue;
            }
            part.records += 1;
            part.ids.push(u64::from(id));
            part.file.write_all(&id.to_le_bytes())?;
            part.file.write_all(&pose)?;
            part.file.write_all(name.as_bytes())?;
            part.file.write_all(&[0])?;
            part.file.write_all(&(observations as u64).to_le_bytes())?;
            for observation in &seen {
                let (place, point) = observation.split_at(16);
                let id = point.try_into().map_or(NO_POINT, u64::from_le_bytes);
                let is_kept = points[number].binary_search(&id).is_ok();
                part.file.write_all(place)?;
                part.file
                    .write_all(&if is_kept { id } else { NO_POINT }.to_le_bytes())?;
            }
        }
    }
    file.finish()?;
    Ok(close(parts)?)
}

fn write_points(
    path: &Path,
    subsets: &Subsets<'_>,
    images: &[Vec<u64>],
    create: &dyn Fn(usize, &str) -> io::Result<File>,
) -> Result<(), SubsetError> {
    let mut parts = open_parts("points3D.bin", subsets, create)?;
    each_point(path, |id, place, rest, track| {
        for (number, part) in parts.iter_mut().enumerate() {
            if !(subsets.has_point)(number, place) {
                continue;
            }
            let in_part = |element: &&[u8; 8]| {
                let [a, b, c, d, ..] = **element;
                let image = u64::from(u32::from_le_bytes([a, b, c, d]));
                images[number].binary_search(&image).is_ok()
            };
            part.records += 1;
            part.file.write_all(&id.to_le_bytes())?;
            for value in place {
                part.file.write_all(&value.to_le_bytes())?;
            }
            part.file.write_all(rest)?;
            let kept = track.iter().filter(in_part).count() as u64;
            part.file.write_all(&kept.to_le_bytes())?;
            for element in track.iter().filter(in_part) {
                part.file.write_all(element)?;
            }
        }
        Ok(())
    })?;
    close(parts)?;
    Ok(())
}

/// Hands on every point: id, place, colour and error as bytes, and its track of an image and a keypoint each.
fn each_point(
    path: &Path,
    mut take: impl FnMut(u64, [f64; 3], &[u8; 11], &[[u8; 8]]) -> io::Result<()>,
) -> Result<(), SubsetError> {
    let mut file = RecordFile::open(path)?;
    let count = file.count("points", 8 + 24 + 3 + 8 + 8)?;
    let mut track = Vec::new();
    for _ in 0..count {
        let id = file.u64("point id")?;
        let place = file.f64s("point position")?;
        let rest = file.bytes("point colour and error")?;
        let length = file.count("track elements", 8)?;
        track.clear();
        for _ in 0..length {
            track.push(file.bytes("track")?);
        }
        take(id, place, &rest, &track)?;
    }
    file.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    /// An image record with keypoints that show these points.
    fn image(id: u32, name: &str, seen: &[u64]) -> Vec<u8> {
        let mut bytes = id.to_le_bytes().to_vec();
        bytes.extend([7; 60]);
        bytes.extend(name.as_bytes());
        bytes.push(0);
        bytes.extend((seen.len() as u64).to_le_bytes());
        for point in seen {
            bytes.extend([9; 16]);
            bytes.extend(point.to_le_bytes());
        }
        bytes
    }

    fn point(id: u64, x: f64, track: &[u32]) -> Vec<u8> {
        let mut bytes = id.to_le_bytes().to_vec();
        for value in [x, 0.0, 0.0] {
            bytes.extend(value.to_le_bytes());
        }
        bytes.extend([5; 11]);
        bytes.extend((track.len() as u64).to_le_bytes());
        for image in track {
            bytes.extend(image.to_le_bytes());
            bytes.extend([3, 0, 0, 0]);
        }
        bytes
    }

    fn file(records: &[Vec<u8>]) -> Vec<u8> {
        let count = (records.len() as u64).to_le_bytes().to_vec();
        [count, records.concat()].concat()
    }

    #[test]
    fn parts_say_nothing_of_what_is_elsewhere() {
        let folder = Scratch::new();
        folder.write("cameras.bin", b"cameras");
        let images = [image(4, "a.jpg", &[10, 11, NO_POINT]), image(2, "b.jpg", &[11])];
        let points = [point(11, 1.0, &[4, 2]), point(10, -1.0, &[4])];
        folder.write("images.bin", file(&images));
        folder.write("points3D.bin", file(&points));
        let out = Scratch::new();
        let create = |part: usize, name: &str| File::create(out.path().join(format!("{part}-{name}")));
        let subsets = Subsets {
            count: 2,
            has_image: &|part, name| part == 0 || name == "b.jpg",
            has_point: &|part, [x, ..]| part == 1 || x < 0.0,
        };
        write_subsets(folder.path(), &subsets, &create).unwrap();
        let read = |name: &str| std::fs::read(out.path().join(name)).unwrap();
        assert_eq!(read("1-cameras.bin"), b"cameras");
        let first = [
            image(4, "a.jpg", &[10, NO_POINT, NO_POINT]),
            image(2, "b.jpg", &[NO_POINT]),
        ];
        assert_eq!(read("0-images.bin"), file(&first));
        assert_eq!(read("0-points3D.bin"), file(&[point(10, -1.0, &[4])]));
        assert_eq!(read("1-images.bin"), file(&[image(2, "b.jpg", &[11])]));
        assert_eq!(
            read("1-points3D.bin"),
            file(&[point(11, 1.0, &[2]), point(10, -1.0, &[])])
        );
        let whole = folder.write("images.bin", &file(&images)[..100]);
        let error = write_subsets(folder.path(), &subsets, &create).unwrap_err();
        assert!(error.to_string().contains(&whole.display().to_string()), "{error}");
    }
}
