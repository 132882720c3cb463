//! `cameras.txt`, `images.txt`, `points3D.txt`: one record a line, two for images, `#` comments.
//!
//! Text has no count to check against, except the comment `# Number of ...: N` that COLMAP writes; where it is
//! present it must agree, so that a file cut at a line end is noticed.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kiln_files::open_regular;

use super::{CameraRecord, ImageRecord, known_model, point};
use crate::SceneError;
use crate::formats::posed::text_of;
use crate::seen::{PointRecord, thin};

/// Longest record line read, bytes. Lines of observations are never held whole.
const MAX_LINE_BYTES: u64 = 1 << 20;
/// Longest word of an observation, bytes.
const MAX_WORD_BYTES: usize = 64;

pub(super) fn cameras(path: &Path) -> Result<Vec<CameraRecord>, SceneError> {
    let mut lines = Lines::open(path)?;
    let mut cameras = Vec::new();
    while let Some(line) = lines.record()? {
        let mut fields = line.split_ascii_whitespace();
        let id = lines.field(fields.next(), "camera id")?;
        let model: String = lines.field(fields.next(), "camera model")?;
        let (model, count) = known_model(path, id, &model)?;
        let width = lines.field(fields.next(), "width")?;
        let height = lines.field(fields.next(), "height")?;
        let params = (0..count)
            .map(|_| lines.field(fields.next(), "lens parameter"))
            .collect::<Result<_, _>>()?;
        cameras.push(CameraRecord {
            id,
            model,
            width,
            height,
            params,
        });
    }
    lines.finish(cameras.len())?;
    Ok(cameras)
}

/// Images, each with at most `most_seen` of the points that it shows.
pub(super) fn images(path: &Path, most_seen: usize) -> Result<Vec<ImageRecord>, SceneError> {
    let mut lines = Lines::open(path)?;
    let mut images = Vec::new();
    while let Some(line) = lines.record()? {
        let mut rest = line.as_str();
        let id = lines.field(split_field(&mut rest), "image id")?;
        let mut quat = [0.0; 4];
        for value in &mut quat {
            *value = lines.field(split_field(&mut rest), "rotation")?;
        }
        let mut translation = [0.0; 3];
        for value in &mut translation {
            *value = lines.field(split_field(&mut rest), "translation")?;
        }
        let camera = lines.field(split_field(&mut rest), "camera id")?;
        // names may hold spaces, so the name is all that is left
        let name = lines.field(Some(rest), "image name")?;
        // read even where nothing of it is kept: the next image may stand in its place
        let mut seen = lines.observed_points(most_seen > 0)?;
        thin(&mut seen, most_seen);
        images.push(ImageRecord {
            id,
            quat,
            translation,
            camera,
            name,
            seen,
        });
    }
    lines.finish(images.len())?;
    Ok(images)
}

pub(super) fn points(path: &Path) -> Result<Vec<PointRecord>, SceneError> {
    let mut lines = Lines::open(path)?;
    let mut points = Vec::new();
    while let Some(line) = lines.record()? {
        let mut fields = line.split_ascii_whitespace();
        let id = lines.field(fields.next(), "point id")?;
        let mut position = [0.0; 3];
        for value in &mut position {
            *value = lines.field(fields.next(), "position")?;
        }
        let mut color = [0; 3];
        for value in &mut color {
            *value = lines.field(fields.next(), "colour")?;
        }
        let error = lines.field(fields.next(), "error")?;
        // Pairs of image and keypoint.
        let track = fields.count() as u64 / 2;
        points.push(point(path, id, position, color, error, track)?);
    }
    lines.finish(points.len())?;
    Ok(points)
}

/// Takes the first word off `rest`.
fn split_field<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let line = rest.trim_start();
    let (field, tail) = line.split_at(line.find(char::is_whitespace).unwrap_or(line.len()));
    *rest = tail;
    Some(field)
}

/// A text file read line by line in bounded memory.
struct Lines {
    reader: BufReader<File>,
    path: PathBuf,
    number: u64,
    announced: Option<u64>,
}

impl Lines {
    fn open(path: &Path) -> Result<Self, SceneError> {
        let file = open_regular(path).map_err(|e| SceneError::io(path, "open", e))?;
        let reader = BufReader::with_capacity(1 << 16, file);
        Ok(Self {
            reader,
            path: path.to_owned(),
            number: 0,
            announced: None,
        })
    }

    /// The next line that is neither empty nor a comment.
    fn record(&mut self) -> Result<Option<String>, SceneError> {
        loop {
            let mut line = Vec::new();
            let read = (&mut self.reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            if read.map_err(|e| SceneError::io(&self.path, "read", e))? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if line.len() as u64 == MAX_LINE_BYTES && line.last() != Some(&b'\n') {
                // the rest is a track list; records start with what is needed
                self.skip_line()?;
                self.number -= 1;
            }
            // Names may be in another encoding; numbers are the same in all.
            let line = text_of(line);
            let line = line.trim();
            // editors put a mark of the encoding before the first line
            let line = line.strip_prefix('\u{feff}').unwrap_or(line);
            match line.strip_prefix('#') {
                Some(comment) => self.read_comment(comment),
                None if line.is_empty() => {}
                None => return Ok(Some(line.to_owned())),
            }
        }
    }

    fn read_comment(&mut self, comment: &str) {
        let Some((_, tail)) = comment
            .trim()
            .strip_prefix("Number of ")
            .and_then(|rest| rest.split_once(':'))
        else {
            return;
        };
        let number = tail.split(',').next().and_then(|number| number.trim().parse().ok());
        self.announced = self.announced.or(number);
    }

    /// Passes over the rest of the current line, whatever its length.
    fn skip_line(&mut self) -> Result<(), SceneError> {
        loop {
            let buffer = self
                .reader
                .fill_buf()
                .map_err(|e| SceneError::io(&self.path, "read", e))?;
            let (used, done) = match buffer.iter().position(|&byte| byte == b'\n') {
                Some(end) => (end + 1, true),
                None => (buffer.len(), buffer.is_empty()),
            };
            self.reader.consume(used);
            if done {
                self.number += 1;
                return Ok(());
            }
        }
    }

    /// Ids of the points on the current line of observations, `x y id` each with id -1 for none; passes over the line.
    /// Gives them where they are to be kept.
    fn observed_points(&mut self, keep: bool) -> Result<Vec<u64>, SceneError> {
        let (mut points, mut word, mut words) = (Vec::new(), Vec::new(), 0_u64);
        let (mut done, mut wrong) = (false, false);
        while !done {
            let error = |e| SceneError::io(&self.path, "read", e);
            let buffer = self.reader.fill_buf().map_err(error)?;
            done = buffer.is_empty();
            let mut used = 0;
            // The end of the file ends a word too.
            for byte in buffer.iter().copied().chain(done.then_some(b'\n')) {
                used += usize::from(!buffer.is_empty());
                if !byte.is_ascii_whitespace() {
                    // No number needs more; what is cut off is refused below.
                    if word.len() < MAX_WORD_BYTES {
                        word.push(byte);
                    }
                    continue;
                }
                if !word.is_empty() {
                    if words % 3 == 2 && word != b"-1" {
                        let id: Option<u64> = str::from_utf8(&word).ok().and_then(|word| word.parse().ok());
                        wrong = wrong || id.is_none();
                        points.extend(id.filter(|_| keep));
                    }
                    words += 1;
                    word.clear();
                }
                if byte == b'\n' {
                    done = true;
                    break;
                }
            }
            self.reader.consume(used);
        }
        self.number += 1;
        if words.is_multiple_of(3) && !wrong {
            Ok(points)
        } else {
            Err(self.malformed(
                "observations that are not x, y and the id of a point each; an image has two lines, of which the second may \
                 be empty",
            ))
        }
    }

    fn field<T: FromStr>(&self, text: Option<&str>, what: &str) -> Result<T, SceneError> {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
            return Err(self.malformed(&format!("the line ends before the {what}")));
        };
        let short: String = text.chars().take(60).collect();
        text.parse()
            .map_err(|_| self.malformed(&format!("{short:?} where the {what} should be")))
    }

    fn malformed(&self, found: &str) -> SceneError {
        SceneError::malformed(&self.path, format!("line {}", self.number), found, super::EXPORT_AGAIN)
    }

    fn finish(self, found: usize) -> Result<(), SceneError> {
        match self.announced {
            Some(announced) if announced != found as u64 => {
                let found = format!("{found} records, but its header announces {announced}");
                Err(SceneError::malformed(
                    &self.path,
                    "end of file",
                    found,
                    super::EXPORT_AGAIN,
                ))
            }
            _ => Ok(()),
        }
    }
}
