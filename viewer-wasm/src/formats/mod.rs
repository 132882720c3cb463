//! Files of splats and meshes of any kind that people have: which kind one is, and how it becomes batches for the GPU.
//!
//! Owns the choice by the first bytes, or by the name where a format has no mark of its own. PLY is read as it arrives;
//! others are held as a whole, up to [`MAX_WHOLE_BYTES`], and read at their end. Values come out in the axes of PLY files
//! (y down, z forward). What is not opened is refused by its name, with the command that converts it.

mod glb;
pub(crate) mod mesh;
pub(crate) mod sog;
mod splat_file;
mod spz;

use crate::pack::Layout;
use crate::ply::{Batch, Filter, Model, PlyStream, Refusal};
use crate::splat::Splat;
use crate::surface::Surface;

/// Largest file other than PLY, and the most that a compressed one may hold, bytes.
const MAX_WHOLE_BYTES: usize = 512 << 20;
/// Most bytes in which the end of a PLY header is looked for.
const MOST_HEADER_BYTES: usize = 64 << 10;
/// Bytes by which a file is known.
const MARK_BYTES: usize = 4;

/// Kinds that are read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    Spz,
    Sog,
    Glb,
    /// PLY with faces.
    MeshPly,
    Obj,
    /// `.splat`: 32 bytes a splat and nothing else.
    Splat,
}

#[derive(Debug)]
enum Kind {
    /// Not known yet.
    New,
    /// PLY whose header is not whole: of splats, points or a mesh.
    SomePly,
    Ply(Box<PlyStream>),
    Whole(Whole),
}

/// Reads one file.
#[derive(Debug)]
pub(crate) struct Reader {
    name: String,
    kind: Kind,
    held: Vec<u8>,
    whole: Option<Collected>,
    surface: Option<Surface>,
}

impl Reader {
    /// A reader of a file called `name`.
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_ascii_lowercase(),
            kind: Kind::New,
            held: Vec::new(),
            whole: None,
            surface: None,
        }
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// A [`Refusal`] when they show that the file cannot be drawn.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if let Kind::Ply(ply) = &mut self.kind {
            return ply.push(bytes);
        }
        if self.held.len() + bytes.len() > MAX_WHOLE_BYTES {
            return Err(format!(
                "files other than PLY are opened up to {} MiB; convert it to PLY",
                MAX_WHOLE_BYTES >> 20
            ));
        }
        self.held.extend_from_slice(bytes);
        if matches!(self.kind, Kind::New) && self.held.len() >= MARK_BYTES {
            self.kind = self.kind_of()?;
        }
        if matches!(self.kind, Kind::SomePly)
            && let Some(kind) = ply_kind(&self.held)
        {
            self.kind = kind;
            if let Kind::Ply(ply) = &mut self.kind {
                return ply.push(&std::mem::take(&mut self.held));
            }
        }
        Ok(())
    }

    fn kind_of(&self) -> Result<Kind, Refusal> {
        let is = |ending: &str| self.name.ends_with(ending);
        Ok(match &self.held[..MARK_BYTES] {
            b"NGSP" => Kind::Whole(Whole::Spz),
            b"glTF" => Kind::Whole(Whole::Glb),
            [b'P', b'K', 3, 4] => Kind::Whole(Whole::Sog),
            // The reader of a PLY header says what is wrong with it.
            [b'p', b'l', b'y', ..] | [0xef, 0xbb, 0xbf, b'p'] => Kind::SomePly,
            _ if is(".splat") => Kind::Whole(Whole::Splat),
            _ if is(".json") => {
                return Err(
                    "it only names other files; `kiln view FOLDER` shows the folder that it lies in".to_owned(),
                );
            }
            _ if is(".ksplat") || is(".sog") || is(".lcc") => {
                return Err("this format is not opened; `splat-transform FILE out.ply` makes a PLY of it".to_owned());
            }
            _ if is(".obj") => Kind::Whole(Whole::Obj),
            _ if is(".stl") || is(".fbx") || is(".gltf") || is(".dae") => {
                return Err("of meshes, OBJ, GLB and PLY are opened; Blender or MeshLab write them".to_owned());
            }
            _ => {
                return Err(
                    "this is neither splats nor a mesh; PLY, SPZ, SOG, GLB, .splat and OBJ are opened".to_owned(),
                );
            }
        })
    }

    /// What the file says about its model, once that is known.
    pub(crate) fn model(&self) -> Option<Model> {
        match &self.kind {
            Kind::Ply(ply) => ply.model(),
            _ => self.whole.as_ref().map(|whole| whole.model),
        }
    }

    /// Splats read so far, without those left out.
    pub(crate) fn len(&self) -> u32 {
        match &self.kind {
            Kind::Ply(ply) => ply.len(),
            _ => self.whole.as_ref().map_or(0, |whole| whole.len),
        }
    }

    /// Splats left out because a value is not a number.
    pub(crate) fn skipped(&self) -> u32 {
        match &self.kind {
            Kind::Ply(ply) => ply.skipped(),
            _ => self.whole.as_ref().map_or(0, |whole| whole.skipped),
        }
    }

    /// The mesh that the file held instead of splats.
    pub(crate) fn take_surface(&mut self) -> Option<Surface> {
        self.surface.take()
    }

    /// The batches that are full.
    pub(crate) fn take_ready(&mut self) -> Vec<Batch> {
        match &mut self.kind {
            Kind::Ply(ply) => ply.take_ready(),
            _ => self
                .whole
                .as_mut()
                .map(|whole| std::mem::take(&mut whole.ready))
                .unwrap_or_default(),
        }
    }

    /// The end of the file: what it still brings can be taken as ready batches. A sentence when it ended early.
    ///
    /// # Errors
    /// A [`Refusal`] when it holds nothing that can be drawn.
    pub(crate) fn finish(&mut self) -> Result<Option<String>, Refusal> {
        if matches!(self.kind, Kind::SomePly) {
            let mut ply = Box::<PlyStream>::default();
            ply.push(&std::mem::take(&mut self.held))?;
            self.kind = Kind::Ply(ply);
        }
        let kind = match &mut self.kind {
            Kind::Ply(ply) => return ply.finish(),
            Kind::New | Kind::SomePly => return Err("the file is empty, or only the beginning of one".to_owned()),
            Kind::Whole(kind) => *kind,
        };
        let bytes = std::mem::take(&mut self.held);
        let is_mesh = match kind {
            Whole::Glb => !glb::holds_splats(&bytes),
            Whole::MeshPly | Whole::Obj => true,
            Whole::Spz | Whole::Sog | Whole::Splat => false,
        };
        if is_mesh {
            let surface = match kind {
                Whole::Glb => glb::read_mesh(&bytes)?,
                Whole::Obj => mesh::read_obj(&bytes)?,
                _ => mesh::read_ply(&bytes)?,
            };
            if surface.n_triangles() == 0 {
                return Err("the mesh has no triangles".to_owned());
            }
            self.surface = Some(surface);
            return Ok(None);
        }
        self.whole = Some(match kind {
            Whole::MeshPly | Whole::Obj => return Ok(None),
            Whole::Spz => spz::read(&bytes)?,
            Whole::Sog => sog::read(&bytes)?,
            Whole::Glb => glb::read(&bytes)?,
            Whole::Splat => splat_file::read(&bytes)?,
        });
        Ok(None)
    }
}

/// Whether a PLY file is a mesh, once its header is whole or too long for one.
fn ply_kind(held: &[u8]) -> Option<Kind> {
    let head = &held[..held.len().min(MOST_HEADER_BYTES)];
    let text = String::from_utf8_lossy(head);
    let Some((header, _)) = text.split_once("end_header") else {
        return (held.len() >= MOST_HEADER_BYTES).then(|| Kind::Ply(Box::default()));
    };
    let faces = header
        .lines()
        .filter_map(|line| line.trim().strip_prefix("element face "));
    // Models of triangles have harmonics as splats have, and neither sizes nor rotations.
    let is_mesh = faces.into_iter().any(|count| count.trim() != "0") && !header.contains("scale_0");
    Some(match is_mesh {
        true => Kind::Whole(Whole::MeshPly),
        false => Kind::Ply(Box::default()),
    })
}

/// Splats of a file that was read as a whole.
#[derive(Debug)]
struct Collected {
    model: Model,
    sh_words: usize,
    batch: Batch,
    ready: Vec<Batch>,
    len: u32,
    skipped: u32,
}

impl Collected {
    fn new(count: usize, degree: u32, filter: Filter, iteration: Option<u64>) -> Result<Self, Refusal> {
        let count = u32::try_from(count).map_err(|_| "the file announces too many splats".to_owned())?;
        Ok(Self {
            model: Model {
                count,
                degree,
                filter,
                iteration,
            },
            sh_words: Layout::new(count, degree).sh_texels() * 4,
            batch: Batch::default(),
            ready: Vec::new(),
            len: 0,
            skipped: 0,
        })
    }

    /// Takes a splat, or leaves it out when a value of it is not a number.
    fn push(&mut self, splat: &Splat) {
        if !splat.is_sane() {
            self.skipped += 1;
            return;
        }
        self.len += 1;
        self.batch.push(splat, self.model.degree);
        if self.batch.is_full(self.sh_words) {
            self.next();
        }
    }

    /// The same of a splat as the file has it.
    fn take(&mut self, found: &kiln_formats::Splat) {
        match Splat::of(found) {
            Some(splat) => self.push(&splat),
            None => self.skipped += 1,
        }
    }

    fn next(&mut self) {
        let next = self.batch.next(self.sh_words);
        self.ready.push(std::mem::replace(&mut self.batch, next));
    }

    fn end(mut self) -> Self {
        self.next();
        self
    }
}

/// Little-endian numbers of a file that may be cut off or lie about its lengths.
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn float(bytes: &[u8], at: usize) -> Option<f32> {
    word(bytes, at).map(f32::from_bits)
}

/// Says that a file is shorter than it announces.
fn cut(what: &str) -> Refusal {
    format!("the {what} file is cut off")
}

#[cfg(test)]
mod tests;
