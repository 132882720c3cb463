//! Writing Gaussians, and points, as PLY.

use std::io::{self, Write};
use std::path::Path;

use kiln_formats::ply::names as ply_names;
use kiln_ply::{Element, Format, Header, Scalar};

use super::super::{ExportError, write_atomic};
use super::{PlyComments, fuse};
use kiln_gaussians::Gaussians;
use kiln_scene::Point;

/// What the values of a file mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlyFlavor {
    /// The optimiser's values, with the 3D filter as a property of its own.
    Raw,
    /// The filter folded into opacity and scale, for viewers that know nothing of it.
    Fused,
}

/// The header of `count` Gaussians of degree `sh_degree`.
fn header(count: u64, sh_degree: u32, flavor: PlyFlavor, comments: PlyComments) -> Header {
    let names = ply_names::written(sh_degree, flavor == PlyFlavor::Raw);
    Header {
        format: Format::LittleEndian,
        comments: comments.lines(sh_degree),
        elements: vec![Element::new("vertex", count).with(Scalar::F32, names)],
    }
}

/// Writes a model chunk by chunk to any [`Write`].
#[derive(Debug)]
pub struct PlyWriter<W> {
    out: W,
    flavor: PlyFlavor,
    sh_degree: u32,
    left: u64,
    row: Vec<u8>,
}

impl<W: Write> PlyWriter<W> {
    /// Writes the header of `count` Gaussians of degree `sh_degree`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W, count: u64, sh_degree: u32, flavor: PlyFlavor, comments: PlyComments) -> io::Result<Self> {
        write!(out, "{}", header(count, sh_degree, flavor, comments))?;
        Ok(Self {
            out,
            flavor,
            sh_degree,
            left: count,
            row: Vec::new(),
        })
    }

    /// Appends the Gaussians of one chunk.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for another SH degree, vectors of unequal length, or more Gaussians than
    /// the header announced.
    pub fn push(&mut self, chunk: &Gaussians) -> io::Result<()> {
        let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        let (count, rest) = (chunk.len(), chunk.rest_coefficients());
        if chunk.sh_degree != self.sh_degree {
            return wrong("a chunk of another SH degree than the PLY header");
        }
        let lengths = [
            chunk.quats.len(),
            chunk.log_scales.len(),
            chunk.logit_opacities.len(),
            chunk.sh0.len(),
        ];
        if lengths != [count; 4] || chunk.filter_3d.len() != count || chunk.sh_rest.len() != count * rest * 3 {
            return wrong("a chunk whose attributes have different lengths");
        }
        let Some(left) = self.left.checked_sub(count as u64) else {
            return wrong("more Gaussians than the PLY header announced");
        };
        self.left = left;
        for index in 0..count {
            self.row.clear();
            self.fill_row(chunk, index, rest);
            self.out.write_all(&self.row)?;
        }
        Ok(())
    }

    fn fill_row(&mut self, chunk: &Gaussians, index: usize, rest: usize) {
        let filter = chunk.filter_3d[index];
        let (log_scales, logit_opacity) = (chunk.log_scales[index], chunk.logit_opacities[index]);
        let (log_scales, logit_opacity) = match self.flavor {
            PlyFlavor::Raw => (log_scales, logit_opacity),
            PlyFlavor::Fused => {
                let fused = fuse(log_scales, logit_opacity, filter);
                (fused.log_scales, fused.logit_opacity)
            }
        };
        let sh_rest = &chunk.sh_rest[index * rest * 3..(index + 1) * rest * 3];
        self.put(&chunk.means[index]);
        self.put(&[0.0; 3]);
        self.put(&chunk.sh0[index]);
        for value in 0..rest * 3 {
            self.put(&[sh_rest[ply_names::rest_slot(value, rest)]]);
        }
        self.put(&[logit_opacity]);
        self.put(&log_scales);
        self.put(&chunk.quats[index]);
        if self.flavor == PlyFlavor::Raw {
            self.put(&[filter]);
        }
    }

    fn put(&mut self, values: &[f32]) {
        self.row.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// Ends the file and hands the output back.
    ///
    /// # Errors
    /// `InvalidInput` when fewer Gaussians came than the header announced; those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        if self.left > 0 {
            let what = format!("{} Gaussians fewer than the PLY header announced", self.left);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Writes a whole model to `path`, atomically.
///
/// # Errors
/// [`ExportError`] when the file cannot be written.
pub fn write_ply(path: &Path, model: &Gaussians, flavor: PlyFlavor, comments: PlyComments) -> Result<(), ExportError> {
    write_atomic(path, |file| {
        let header = header(model.len() as u64, model.sh_degree, flavor, comments);
        file.reserve(header.elements.iter().map(Element::bytes).sum())?;
        let mut writer = PlyWriter::new(file, model.len() as u64, model.sh_degree, flavor, comments)?;
        writer.push(model)?;
        writer.finish().map(|_| ())
    })
}

/// Writes a sparse point cloud (`x y z nx ny nz red green blue`) to `path`, atomically.
///
/// # Errors
/// [`ExportError`] when the file cannot be written.
pub fn write_points(path: &Path, points: &[Point]) -> Result<(), ExportError> {
    write_atomic(path, |file| {
        let vertex = Element::new("vertex", points.len() as u64)
            .with(Scalar::F32, [ply_names::POSITION, ply_names::NORMAL].concat())
            .with(Scalar::U8, ["red", "green", "blue"]);
        let header = Header {
            format: Format::LittleEndian,
            comments: Vec::new(),
            elements: vec![vertex],
        };
        write!(file, "{header}")?;
        let mut row = [0; 27];
        for point in points {
            for (bytes, value) in row.chunks_exact_mut(4).zip(point.position) {
                bytes.copy_from_slice(&value.to_le_bytes());
            }
            row[24..].copy_from_slice(&point.color);
            file.write_all(&row)?;
        }
        Ok(())
    })
}
