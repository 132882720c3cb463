//! A PLY file of Gaussians that is read in parts, as often as they are wanted.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::columns::{append, empty_model};
use super::read::OpenPly;
use super::sound::{keep_last, some_left};
use super::{Notes, PlyComments, PlyError};
use kiln_gaussians::Gaussians;

/// A binary file whose header has been read and whose size holds what it announces.
pub struct PlyParts {
    path: PathBuf,
    open: OpenPly,
    /// For each Gaussian that cannot be drawn, how many before it can; known once the file was looked through.
    left_out: Vec<u32>,
    /// What is added to centres that are read, world units.
    step: [f64; 3],
}

impl PlyParts {
    /// Opens a file as [`read_ply`](super::read_ply) does; text has no parts.
    ///
    /// # Errors
    /// [`PlyError::File`], naming the file and what is wrong.
    pub fn open(path: &Path) -> Result<Self, PlyError> {
        let open = OpenPly::open(path).and_then(|open| match open.is_binary() {
            true => Ok(open),
            false => Err(kiln_formats::Error::Format("ascii").into()),
        });
        Ok(Self {
            path: path.to_owned(),
            open: open.map_err(|problem| problem.of(path))?,
            left_out: Vec::new(),
            step: [0.0; 3],
        })
    }

    /// Looks through the whole file, so that Gaussians that cannot be drawn do not count any more, and says what there is to say of it.
    ///
    /// # Errors
    /// [`PlyError::File`] where none is left, or the file cannot be read.
    pub fn look_through(&mut self) -> Result<Notes, PlyError> {
        self.survey().map_err(|problem| problem.of(&self.path))
    }

    fn survey(&mut self) -> Result<Notes, PlyError> {
        let (columns, mut notes) = (self.open.columns.clone(), self.open.notes.clone());
        let mut one = empty_model(&columns, 1);
        let mut left_out = Vec::new();
        self.open.seek(0)?;
        self.open.rows(|vertex, row| {
            one.truncate(0);
            append(&columns, row, &mut one);
            if !keep_last(&mut one, vertex as u64, &mut notes) {
                left_out.push((vertex - left_out.len()) as u32);
            }
        })?;
        some_left(&notes)?;
        self.open.at_end(&mut notes)?;
        self.left_out = left_out;
        Ok(notes)
    }

    /// Gaussians of the file, without those that cannot be drawn as soon as they are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.open.count - self.left_out.len()
    }

    /// True when it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Highest degree of spherical harmonics stored, 0 to 3.
    #[must_use]
    pub fn sh_degree(&self) -> u32 {
        self.open.columns.degree()
    }

    /// What the header's comments say.
    #[must_use]
    pub const fn comments(&self) -> PlyComments {
        self.open.comments
    }

    /// Reads the Gaussians numbered `range`, as far as there are so many; those that cannot be drawn have no number.
    ///
    /// # Errors
    /// [`PlyError::File`], naming the file and what is wrong.
    pub fn read(&mut self, range: Range<usize>) -> Result<Gaussians, PlyError> {
        let end = range.end.min(self.len());
        let range = range.start.min(end)..end;
        self.rows(range).map_err(|problem| problem.of(&self.path))
    }

    fn rows(&mut self, range: Range<usize>) -> Result<Gaussians, PlyError> {
        let columns = self.open.columns.clone();
        let mut model = empty_model(&columns, range.len());
        let Some(last) = range.end.checked_sub(1).filter(|_| !range.is_empty()) else {
            return Ok(model);
        };
        let first = self.in_file(range.start);
        self.open.seek(first)?;
        let rows = first..self.in_file(last) + 1;
        let mut notes = Notes::default();
        self.open.rows_of(rows, |vertex, row| {
            append(&columns, row, &mut model);
            keep_last(&mut model, vertex as u64, &mut notes);
        })?;
        if self.step != [0.0; 3] {
            model.move_by(self.step);
        }
        Ok(model)
    }

    /// Number in the file of a Gaussian that is left.
    fn in_file(&self, number: usize) -> usize {
        let before = self.left_out.partition_point(|kept| *kept as usize <= number);
        number + before
    }

    /// Moves all centres that are read from now on, world units.
    pub fn move_by(&mut self, step: [f64; 3]) {
        self.step = std::array::from_fn(|axis| self.step[axis] + step[axis]);
    }
}
