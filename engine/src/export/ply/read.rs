//! Reading Gaussians from PLY files of any program.
//!
//! Binary files of either byte order and text. Missing `f_rest` means degree 0, a missing filter means 0. Gaussians that cannot be
//! drawn are left out, and counted. The file's size is checked against its header before anything is allocated.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use kiln_files::open_filled;
use kiln_formats::Error;
use kiln_formats::ply::Columns;
use kiln_ply::{Element, Format, Reader, Scalar};

use super::columns::{append, empty_model, find};
use super::sound::{keep_last, some_left};
use super::{Notes, PlyComments};
use kiln_gaussians::Gaussians;

/// Vertices converted at a time.
const BATCH: usize = 4096;

/// Why a PLY file holds no model.
#[derive(Debug, thiserror::Error)]
pub enum PlyError {
    /// The file an error is about.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: Box<PlyError>,
    },
    /// The operating system refused a read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// A header that makes no sense.
    #[error("header line {line}: {found}; is it a PLY file?")]
    Header {
        /// Line number.
        line: u64,
        /// What was found.
        found: String,
    },
    /// A row of text that makes no sense.
    #[error("line {line}: {found}; correct it, or export the file again")]
    Line {
        /// Line number.
        line: u64,
        /// What was found.
        found: String,
    },
    /// The reader of a format refuses it.
    #[error(transparent)]
    Splats(#[from] Error),
    /// No vertex element.
    #[error("it has no element \"vertex\"; is it a Gaussian splatting file?")]
    NoVertices,
    /// Points without shapes.
    #[error(
        "it holds points without shapes and opacities, no model; `kiln train SCENE --init-ply FILE` starts from points"
    )]
    Points,
    /// A file of splats of another format.
    #[error("it is {0}, from which no model is read here; name the run, or a PLY file")]
    Delivered(&'static str),
    /// The file is shorter than its header says.
    #[error("it is truncated: {needed} bytes announced, {size} there; copy or export it again")]
    Truncated {
        /// Bytes the header announces, itself included.
        needed: u128,
        /// Bytes in the file.
        size: u64,
    },
    /// Gaussians of which none can be drawn.
    #[error("none of its {count} Gaussians can be drawn: the first is one with {what}; export it again")]
    NoneSound {
        /// How many there are.
        count: u64,
        /// What is wrong with the first.
        what: &'static str,
    },
}

impl PlyError {
    /// The same error, of a file.
    #[must_use]
    pub(crate) fn of(self, path: &Path) -> Self {
        Self::File {
            path: path.to_owned(),
            problem: Box::new(self),
        }
    }
}

impl From<kiln_ply::Error> for PlyError {
    fn from(e: kiln_ply::Error) -> Self {
        match e {
            kiln_ply::Error::Line { line, found } => Self::Header { line, found },
            kiln_ply::Error::Io(e) => Self::Io(e),
            // Only rows are cut short, and they are read in batches here.
            kiln_ply::Error::Truncated { .. } => Self::Io(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reads a model and what its comments say.
///
/// # Errors
/// [`PlyError::File`], naming the file and what is wrong.
pub fn read_ply(path: &Path) -> Result<(Gaussians, PlyComments), PlyError> {
    let (model, comments, _) = read_noted(path)?;
    Ok((model, comments))
}

/// The same with what was left out or read otherwise.
pub(in crate::export) fn read_noted(path: &Path) -> Result<(Gaussians, PlyComments, Notes), PlyError> {
    read_file(path).map_err(|problem| problem.of(path))
}

fn read_file(path: &Path) -> Result<(Gaussians, PlyComments, Notes), PlyError> {
    let mut open = OpenPly::open(path)?;
    let mut model = empty_model(&open.columns, open.count);
    let (columns, mut notes) = (open.columns.clone(), std::mem::take(&mut open.notes));
    open.rows(|vertex, row| {
        append(&columns, row, &mut model);
        keep_last(&mut model, vertex as u64, &mut notes);
    })?;
    some_left(&notes)?;
    open.at_end(&mut notes)?;
    Ok((model, open.comments, notes))
}

/// Where rows come from.
enum Rows {
    /// One after the other, of a fixed size; true: highest bytes first.
    Binary(BufReader<File>, bool),
    /// Lines, of this element.
    Text(Box<Reader<BufReader<File>>>, Element),
}

/// A file whose header has been read and whose size holds what it announces.
pub(super) struct OpenPly {
    rows: Rows,
    pub(super) comments: PlyComments,
    pub(super) columns: Columns,
    /// What its header gives cause to say.
    pub(super) notes: Notes,
    /// Gaussians.
    pub(super) count: usize,
    /// As rows are handed out: little-endian.
    vertex: Element,
    /// Where the first vertex lies in the file.
    first_byte: u64,
    needed: u128,
    /// No element comes behind the Gaussians.
    is_last: bool,
    /// Bytes of the file.
    pub(super) size: u64,
}

impl OpenPly {
    /// Opens a file and checks it; the reader stands at the first vertex.
    pub(super) fn open(path: &Path) -> Result<Self, PlyError> {
        let mut file = open_filled(path).map_err(PlyError::Io)?;
        let size = file.metadata().map_err(PlyError::Io)?.len();
        if let Some(format) = delivered(&mut file).map_err(PlyError::Io)? {
            return Err(PlyError::Delivered(format));
        }
        let mut reader = Reader::new(BufReader::with_capacity(1 << 18, file));
        let header = reader.header()?;
        let place = header.elements.iter().position(|element| element.name == "vertex");
        let place = place.ok_or(PlyError::NoVertices)?;
        let (before, vertex) = (&header.elements[..place], &header.elements[place]);
        let has_list = |element: &Element| element.properties.iter().any(|property| property.list.is_some());
        if has_list(vertex) {
            return Err(Error::List(vertex.name.clone()).into());
        }
        let is_text = header.format == Format::Ascii;
        // Rows of text are handed out as rows of doubles.
        let row = match is_text {
            true => {
                let names = vertex.properties.iter().map(|property| property.name.as_str());
                Element::new("vertex", vertex.count).with(Scalar::F64, names)
            }
            false => vertex.clone(),
        };
        let mut notes = Notes::default();
        let columns = find(&row, vertex, &mut notes)?;
        let too_many = || Error::TooMany(vertex.count);
        let cut = |needed: u128| PlyError::Truncated { needed, size };
        let behind = |start: u64, bytes: u64| u128::from(start) + u128::from(bytes);
        let mut skip = 0;
        if is_text || before.iter().any(has_list) {
            for element in before {
                let passed = reader.pass_over(header.format, element);
                passed.map_err(|error| match error {
                    kiln_ply::Error::Truncated { offset, needed } => cut(behind(offset, needed)),
                    other => of_row(other),
                })?;
            }
        } else {
            let bytes = before.iter().map(Element::bytes).fold(0, u64::saturating_add);
            skip = i64::try_from(bytes).map_err(|_| too_many())?;
        }
        let first_byte = reader.offset().checked_add(skip.unsigned_abs()).ok_or_else(too_many)?;
        let least = match is_text {
            // The last line may do without its end.
            true => {
                u128::from(vertex.count) * u128::from(vertex.least_row_bytes(header.format))
                    - u128::from(vertex.count > 0)
            }
            false => u128::from(vertex.count) * vertex.stride as u128,
        };
        let needed = u128::from(first_byte) + least;
        if needed > u128::from(size) {
            return Err(cut(needed));
        }
        let count = u32::try_from(vertex.count).map_err(|_| too_many())? as usize;
        let rows = match is_text {
            true => Rows::Text(Box::new(reader), vertex.clone()),
            false => {
                let mut reader = reader.into_inner();
                reader.seek_relative(skip).map_err(PlyError::Io)?;
                Rows::Binary(reader, header.format == Format::BigEndian)
            }
        };
        Ok(Self {
            rows,
            comments: PlyComments::of(&header.comments),
            columns,
            notes,
            count,
            vertex: row,
            first_byte,
            needed,
            is_last: place + 1 == header.elements.len(),
            size,
        })
    }

    /// True when rows can be read in any order.
    pub(super) const fn is_binary(&self) -> bool {
        matches!(self.rows, Rows::Binary(..))
    }

    /// Puts the reader before a vertex, of a binary file.
    pub(super) fn seek(&mut self, vertex: usize) -> Result<(), PlyError> {
        let at = self.first_byte + vertex as u64 * self.vertex.stride as u64;
        match &mut self.rows {
            Rows::Binary(reader, _) => reader.seek(SeekFrom::Start(at)).map(drop).map_err(PlyError::Io),
            Rows::Text(..) => Err(Error::Format(Format::Ascii.name()).into()),
        }
    }

    /// Passes every vertex with its number to `take`.
    pub(super) fn rows(&mut self, take: impl FnMut(usize, &[u8])) -> Result<(), PlyError> {
        self.rows_of(0..self.count, take)
    }

    /// Passes the vertices of `range`, at whose first the reader stands, with their numbers to `take`.
    pub(super) fn rows_of(&mut self, range: Range<usize>, mut take: impl FnMut(usize, &[u8])) -> Result<(), PlyError> {
        let (needed, size, stride) = (self.needed, self.size, self.vertex.stride);
        let (reader, is_big) = match &mut self.rows {
            Rows::Binary(reader, is_big) => (reader, *is_big),
            Rows::Text(reader, line) => {
                let (mut values, mut bytes) = (Vec::new(), Vec::new());
                for vertex in range {
                    reader.row(Format::Ascii, line, &mut values).map_err(of_row)?;
                    bytes.clear();
                    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                    take(vertex, &bytes);
                }
                return Ok(());
            }
        };
        let mut batch = vec![0; stride * BATCH.min(range.len())];
        let mut done = range.start;
        while done < range.end {
            let rows = BATCH.min(range.end - done);
            let bytes = &mut batch[..rows * stride];
            reader.read_exact(bytes).map_err(|e| match e.kind() {
                // the file shrank since its size was read
                io::ErrorKind::UnexpectedEof => PlyError::Truncated { needed, size },
                _ => PlyError::Io(e),
            })?;
            for (offset, row) in bytes.chunks_exact_mut(stride).enumerate() {
                if is_big {
                    self.vertex.swap(row);
                }
                take(done + offset, row);
            }
            done += rows;
        }
        Ok(())
    }

    /// Notes bytes behind the last row, which the reader has passed.
    pub(super) fn at_end(&mut self, notes: &mut Notes) -> Result<(), PlyError> {
        if !self.is_last {
            return Ok(());
        }
        let bytes = match &mut self.rows {
            Rows::Binary(..) => u128::from(self.size).saturating_sub(self.needed),
            Rows::Text(reader, _) => u128::from(reader.text_left().map_err(PlyError::Io)?),
        };
        if bytes > 0 {
            notes.remark(format!("{bytes} bytes follow its last row, and are not read"));
        }
        Ok(())
    }
}

/// Why a row of text cannot be read.
fn of_row(error: kiln_ply::Error) -> PlyError {
    match error {
        kiln_ply::Error::Line { line, found } => PlyError::Line { line, found },
        other => other.into(),
    }
}

/// The format of a file for viewers, by its first bytes; the file stands at its start again.
fn delivered(file: &mut File) -> io::Result<Option<&'static str>> {
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(match &start[..] {
        b"NGSP" | [0x1f, 0x8b, ..] => Some("an SPZ file"),
        b"glTF" => Some("a GLB file"),
        b"PK\x03\x04" => Some("a SOG file"),
        _ => None,
    })
}
