//! Reading Gaussians from PLY files, whoever wrote them.
//!
//! Properties are found by name, in any order and of any number type; others are passed over. Missing `f_rest` means
//! degree 0, a missing filter means 0. The file's size is checked against its header before anything is allocated.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use kiln_ply::{Element, Format, Property, Reader};

use super::PlyComments;
use crate::gaussians::{Gaussians, ply_names};

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
    /// Text or big-endian.
    #[error("its format is {0:?}, only binary_little_endian 1.0 is read; convert it")]
    Format(&'static str),
    /// No vertex element.
    #[error("it has no element \"vertex\"; is it a Gaussian splatting file?")]
    NoVertices,
    /// A list property where sizes must be fixed.
    #[error("its element {0:?} holds a list; is it a mesh rather than a Gaussian splatting file?")]
    List(String),
    /// More vertices than can be numbered.
    #[error("it announces {0} entries, more than can be read")]
    TooMany(u64),
    /// Properties without which there is no model.
    #[error("it lacks the properties {0}; is it a Gaussian splatting file?")]
    Missing(String),
    /// Points without shapes.
    #[error(
        "it holds points without shapes and opacities, no model; `kiln train SCENE --init-ply FILE` starts from points"
    )]
    Points,
    /// A file of splats of another format.
    #[error("it is {0}, from which no model is read here; name the run, or a PLY file")]
    Delivered(&'static str),
    /// A file for viewers that does not go on as it begins.
    #[error("{0}; copy or export it again")]
    Damaged(String),
    /// A number of `f_rest` properties that belongs to no degree.
    #[error("it has {0} f_rest properties; 0, 9, 24 or 45 in sequence are read (degree 0 to 3)")]
    RestCount(usize),
    /// The file is shorter than its header says.
    #[error("it is truncated: {needed} bytes announced, {size} there; copy or export it again")]
    Truncated {
        /// Bytes the header announces, itself included.
        needed: u128,
        /// Bytes in the file.
        size: u64,
    },
    /// A value that is NaN or infinite.
    #[error("vertex {vertex}: {property} is not finite; export it again")]
    NotFinite {
        /// Which vertex, from 0.
        vertex: usize,
        /// Which property.
        property: String,
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
    read_file(path).map_err(|problem| problem.of(path))
}

fn read_file(path: &Path) -> Result<(Gaussians, PlyComments), PlyError> {
    let mut open = OpenPly::open(path)?;
    let mut model = open.columns.empty_model(open.count);
    let columns = open.columns.clone();
    open.rows(|vertex, row| columns.take(vertex, row, &mut model))?;
    Ok((model, open.comments))
}

/// A file whose header has been read and whose size holds what it announces.
pub(super) struct OpenPly {
    pub(super) reader: BufReader<File>,
    pub(super) comments: PlyComments,
    pub(super) columns: Columns,
    /// Gaussians.
    pub(super) count: usize,
    /// Bytes of a vertex.
    pub(super) stride: usize,
    /// Where the first vertex lies in the file.
    pub(super) first_byte: u64,
    needed: u128,
    /// Bytes of the file.
    pub(super) size: u64,
}

impl OpenPly {
    /// Opens a file and checks it; the reader stands at the first vertex.
    pub(super) fn open(path: &Path) -> Result<Self, PlyError> {
        let mut file = File::open(path).map_err(PlyError::Io)?;
        let size = file.metadata().map_err(PlyError::Io)?.len();
        if let Some(format) = delivered(&mut file).map_err(PlyError::Io)? {
            return Err(PlyError::Delivered(format));
        }
        let mut reader = Reader::new(BufReader::with_capacity(1 << 18, file));
        let header = reader.header()?;
        if header.format != Format::LittleEndian {
            return Err(PlyError::Format(header.format.name()));
        }
        let vertex = header
            .fixed("vertex")
            .map_err(|list| PlyError::List(list.name.clone()))?;
        let (vertex, before) = vertex.ok_or(PlyError::NoVertices)?;
        let columns = Columns::find(vertex)?;
        let too_many = || PlyError::TooMany(vertex.count);
        let skip = i64::try_from(before).map_err(|_| too_many())?;
        let data = u128::from(vertex.count) * vertex.stride as u128;
        let first_byte = reader.offset().checked_add(before).ok_or_else(too_many)?;
        let needed = u128::from(first_byte) + data;
        if needed > u128::from(size) {
            return Err(PlyError::Truncated { needed, size });
        }
        let count = u32::try_from(vertex.count).map_err(|_| too_many())? as usize;
        let mut reader = reader.into_inner();
        reader.seek_relative(skip).map_err(PlyError::Io)?;
        Ok(Self {
            reader,
            comments: PlyComments::of(&header.comments),
            columns,
            count,
            stride: vertex.stride,
            first_byte,
            needed,
            size,
        })
    }

    /// Passes every vertex with its number to `take`.
    pub(super) fn rows(&mut self, take: impl FnMut(usize, &[u8]) -> Result<(), PlyError>) -> Result<(), PlyError> {
        self.rows_of(0..self.count, take)
    }

    /// Passes the vertices of `range`, at whose first the reader stands, with their numbers to `take`.
    pub(super) fn rows_of(
        &mut self,
        range: Range<usize>,
        mut take: impl FnMut(usize, &[u8]) -> Result<(), PlyError>,
    ) -> Result<(), PlyError> {
        let (needed, size, stride) = (self.needed, self.size, self.stride);
        let mut batch = vec![0; stride * BATCH.min(range.len())];
        let mut done = range.start;
        while done < range.end {
            let rows = BATCH.min(range.end - done);
            let bytes = &mut batch[..rows * stride];
            self.reader.read_exact(bytes).map_err(|e| match e.kind() {
                // the file shrank since its size was read
                io::ErrorKind::UnexpectedEof => PlyError::Truncated { needed, size },
                _ => PlyError::Io(e),
            })?;
            for (offset, row) in bytes.chunks_exact(stride).enumerate() {
                take(done + offset, row)?;
            }
            done += rows;
        }
        Ok(())
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

/// The properties of a Gaussian's attributes.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) sh_degree: u32,
    pub(super) position: [Property; 3],
    pub(super) sh0: [Property; 3],
    /// In the engine's order.
    pub(super) rest: Vec<Property>,
    pub(super) opacity: [Property; 1],
    pub(super) scale: [Property; 3],
    pub(super) rotation: [Property; 4],
    pub(super) filter: Option<Property>,
}

impl Columns {
    fn find(vertex: &Element) -> Result<Self, PlyError> {
        let column = |name: &str| vertex.property(name).cloned();
        let fixed = [
            &ply_names::POSITION[..],
            &ply_names::SH0,
            &[ply_names::OPACITY],
            &ply_names::SCALE,
            &ply_names::ROTATION,
        ];
        let names = fixed.concat();
        let missing: Vec<&str> = names.into_iter().filter(|name| column(name).is_none()).collect();
        let has_any = |names: &[&str]| names.iter().any(|name| column(name).is_some());
        let lacking = || {
            if has_any(&["packed_position"]) {
                PlyError::Delivered("a compressed PLY file")
            } else if has_any(&ply_names::POSITION) && !has_any(&ply_names::SCALE) && !has_any(&ply_names::ROTATION) {
                PlyError::Points
            } else {
                PlyError::Missing(missing.join(", "))
            }
        };
        let is_rest = |property: &&Property| property.name.starts_with(ply_names::SH_REST_PREFIX);
        let values = vertex.properties.iter().filter(is_rest).count();
        let sh_degree = ply_names::degree_of_rest_values(values).ok_or(PlyError::RestCount(values))?;
        let mut rest = vec![None; values];
        for index in 0..values {
            let found = column(&format!("{}{index}", ply_names::SH_REST_PREFIX));
            rest[ply_names::rest_slot(index, values / 3)] = found;
        }
        let rest = rest
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(PlyError::RestCount(values))?;
        Ok(Self {
            sh_degree,
            position: columns(ply_names::POSITION, column).ok_or_else(lacking)?,
            sh0: columns(ply_names::SH0, column).ok_or_else(lacking)?,
            rest,
            opacity: columns([ply_names::OPACITY], column).ok_or_else(lacking)?,
            scale: columns(ply_names::SCALE, column).ok_or_else(lacking)?,
            rotation: columns(ply_names::ROTATION, column).ok_or_else(lacking)?,
            filter: column(ply_names::FILTER_3D),
        })
    }

    pub(super) fn empty_model(&self, count: usize) -> Gaussians {
        Gaussians {
            sh_degree: self.sh_degree,
            means: Vec::with_capacity(count),
            quats: Vec::with_capacity(count),
            log_scales: Vec::with_capacity(count),
            logit_opacities: Vec::with_capacity(count),
            sh0: Vec::with_capacity(count),
            sh_rest: Vec::with_capacity(count * self.rest.len()),
            filter_3d: Vec::with_capacity(count),
        }
    }

    /// Puts vertex number `vertex`, whose bytes are `row`, behind those of `model`.
    pub(super) fn take(&self, vertex: usize, row: &[u8], model: &mut Gaussians) -> Result<(), PlyError> {
        self.append(row, model).map_err(|property| PlyError::NotFinite {
            vertex,
            property: property.name.clone(),
        })
    }

    fn append<'a>(&'a self, row: &[u8], model: &mut Gaussians) -> Result<(), &'a Property> {
        model.means.push(values(&self.position, row)?);
        model.sh0.push(values(&self.sh0, row)?);
        for property in &self.rest {
            model.sh_rest.push(value(property, row)?);
        }
        let [opacity] = values(&self.opacity, row)?;
        model.logit_opacities.push(opacity);
        model.log_scales.push(values(&self.scale, row)?);
        model.quats.push(values(&self.rotation, row)?);
        let filter = self.filter.as_ref().map_or(Ok(0.0), |filter| value(filter, row));
        model.filter_3d.push(filter?);
        Ok(())
    }
}

fn columns<const N: usize>(names: [&str; N], find: impl Fn(&str) -> Option<Property>) -> Option<[Property; N]> {
    let found: Option<Vec<Property>> = names.into_iter().map(find).collect();
    found?.try_into().ok()
}

fn values<'a, const N: usize>(properties: &'a [Property; N], row: &[u8]) -> Result<[f32; N], &'a Property> {
    let mut values = [0.0; N];
    for (found, property) in values.iter_mut().zip(properties) {
        *found = value(property, row)?;
    }
    Ok(values)
}

/// A value, or the property when it is not finite.
fn value<'a>(property: &'a Property, row: &[u8]) -> Result<f32, &'a Property> {
    let value = property.read(row);
    if value.is_finite() { Ok(value) } else { Err(property) }
}
