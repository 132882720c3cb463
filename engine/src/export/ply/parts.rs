//! A PLY file of Gaussians that is read in parts, as often as they are wanted.

use std::io::{Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::read::OpenPly;
use super::{PlyComments, PlyError};
use crate::gaussians::Gaussians;

/// A file whose header has been read and whose size holds what it announces.
pub struct PlyParts {
    path: PathBuf,
    open: OpenPly,
    /// What is added to centres that are read, world units.
    step: [f64; 3],
}

impl PlyParts {
    /// Opens a file as [`read_ply`](super::read_ply) does.
    ///
    /// # Errors
    /// [`PlyError::File`], naming the file and what is wrong.
    pub fn open(path: &Path) -> Result<Self, PlyError> {
        let open = OpenPly::open(path).map_err(|problem| problem.of(path))?;
        Ok(Self {
            path: path.to_owned(),
            open,
            step: [0.0; 3],
        })
    }

    /// Gaussians of the file.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.open.count
    }

    /// True when it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Highest degree of spherical harmonics stored, 0 to 3.
    #[must_use]
    pub const fn sh_degree(&self) -> u32 {
        self.open.columns.sh_degree
    }

    /// What the header's comments say.
    #[must_use]
    pub const fn comments(&self) -> PlyComments {
        self.open.comments
    }

    /// Reads the Gaussians numbered `range`, as far as there are so many.
    ///
    /// # Errors
    /// [`PlyError::File`], naming the file and what is wrong.
    pub fn read(&mut self, range: Range<usize>) -> Result<Gaussians, PlyError> {
        let end = range.end.min(self.open.count);
        let range = range.start.min(end)..end;
        self.rows(range).map_err(|problem| problem.of(&self.path))
    }

    fn rows(&mut self, range: Range<usize>) -> Result<Gaussians, PlyError> {
        let columns = self.open.columns.clone();
        let mut model = columns.empty_model(range.len());
        let at = self.open.first_byte + range.start as u64 * self.open.stride as u64;
        self.open.reader.seek(SeekFrom::Start(at)).map_err(PlyError::Io)?;
        self.open
            .rows_of(range, |vertex, row| columns.take(vertex, row, &mut model))?;
        if self.step != [0.0; 3] {
            model.move_by(self.step);
        }
        Ok(model)
    }

    /// Moves all centres that are read from now on, world units.
    pub fn move_by(&mut self, step: [f64; 3]) {
        self.step = std::array::from_fn(|axis| self.step[axis] + step[axis]);
    }
}
