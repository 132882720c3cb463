//! A mesh as files hold it: PLY with colours of vertices, or with the harmonics of a model of triangles, OBJ with its material library and picture, GLB with its picture.

use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::{Path, PathBuf};

use kiln_files::{open_filled, open_inside, open_regular, read_inside, read_opened};
use kiln_mesh::{Mesh, glb, obj, ply};
use kiln_triangles::{Model, is_value};

use super::DrawnError;
use super::raster::{Coat, Harmonics, Texture};

/// Most bytes of a picture's file.
const MOST_PICTURE_BYTES: u64 = 1 << 30;

/// Memory that a picture may take however few its bytes are: 2048 x 2048 pixels of one colour,
const FREE_PICTURE_BYTES: u64 = 12 << 20;
/// and how much more for each byte: an atlas that is almost empty has more.
const PICTURE_GROWTH: u64 = 256;

/// A mesh that was read, with the picture over it.
#[derive(Clone, Debug)]
pub struct MeshFile {
    /// Its file.
    pub path: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// The mesh; it has triangles.
    pub mesh: Mesh,
    /// The picture that its texture coordinates point into.
    pub texture: Option<Texture>,
    /// The colours of its vertices by direction.
    pub harmonics: Option<Harmonics>,
}

impl MeshFile {
    /// Reads a mesh; the ending of its name says how.
    ///
    /// # Errors
    /// [`DrawnError`] naming the file for what is no mesh, has no faces, or names pictures that cannot be used.
    pub fn read(path: &Path) -> Result<Self, DrawnError> {
        Self::read_from(path, None)
    }

    /// The same with positions relative to `origin`, if that is known: those of the file are of a data set unless it says that they are
    /// relative to another.
    ///
    /// # Errors
    /// See [`MeshFile::read`].
    pub fn read_from(path: &Path, origin: Option<[f64; 3]>) -> Result<Self, DrawnError> {
        let surface = Self::read_as(path, true, origin)?;
        match surface.mesh.triangles().is_empty() {
            true => Err(DrawnError::NoFaces {
                path: path.to_owned(),
                vertices: surface.mesh.positions().len(),
            }),
            false => Ok(surface),
        }
    }

    /// [`MeshFile::read`] of files that may hold points only.
    ///
    /// # Errors
    /// See [`MeshFile::read`].
    pub(super) fn read_any(path: &Path) -> Result<Self, DrawnError> {
        Self::read_as(path, false, None)
    }

    /// Reads harmonics, too, where they are wanted and there.
    fn read_as(path: &Path, harmonics: bool, origin: Option<[f64; 3]>) -> Result<Self, DrawnError> {
        let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let mut surface = Self {
            path: path.to_owned(),
            bytes: 0,
            mesh: Mesh::default(),
            texture: None,
            harmonics: None,
        };
        match ending.as_deref() {
            Some("ply") => {
                let wanted = |name: &str| harmonics && is_value(name);
                let (mesh, values) =
                    ply::read_with(surface.open(path)?, wanted, origin).map_err(DrawnError::file(path))?;
                // A mesh with some other properties is a mesh.
                surface.harmonics = Model::of(&mesh, &values).ok().map(Harmonics::of);
                surface.mesh = mesh;
            }
            Some("obj") => surface.read_obj(origin)?,
            Some("glb") => {
                let file = open_filled(path).map_err(DrawnError::read(path))?;
                let bytes = read_opened(file, u32::MAX.into()).map_err(DrawnError::read(path))?;
                surface.bytes = bytes.len() as u64;
                let read = glb::read_from(&bytes, origin.unwrap_or_default()).map_err(DrawnError::file(path))?;
                surface.mesh = read.mesh;
                if let Some(picture) = read.picture {
                    surface.texture = Some(surface.decode(path, &picture)?);
                }
            }
            _ => return Err(DrawnError::Ending { path: path.to_owned() }),
        }
        Ok(surface)
    }

    fn read_obj(&mut self, origin: Option<[f64; 3]>) -> Result<(), DrawnError> {
        let path = self.path.clone();
        let file = self.open(&path)?;
        let mesh = match origin {
            Some(origin) => obj::read_from(file, origin),
            None => obj::read(file),
        };
        self.mesh = mesh.map_err(DrawnError::file(&path))?;
        if self.mesh.uvs().is_none() {
            return Ok(());
        }
        let library = obj::library(BufReader::new(open_regular(&path).map_err(DrawnError::read(&path))?));
        let Some(library) = library.map_err(DrawnError::file(&path))? else {
            return Ok(());
        };
        // Both are named from the folder of the mesh, and stay in it.
        let folder = path.parent().unwrap_or(Path::new(""));
        let named = Path::new(&library);
        let library = path.with_file_name(named);
        let file = open_inside(folder, named).map_err(DrawnError::read(&library))?;
        let pictures = obj::pictures(self.count(&library, file)?).map_err(DrawnError::file(&library))?;
        match &pictures[..] {
            [] => {}
            [picture] => {
                let named = named.with_file_name(picture);
                let picture = path.with_file_name(&named);
                let bytes = read_inside(folder, &named, MOST_PICTURE_BYTES).map_err(DrawnError::read(&picture))?;
                self.bytes += bytes.len() as u64;
                self.texture = Some(self.decode(&picture, &bytes)?);
            }
            several => {
                return Err(DrawnError::Textures {
                    path,
                    found: several.len(),
                });
            }
        }
        Ok(())
    }

    /// Opens a file and counts its bytes.
    fn open(&mut self, path: &Path) -> Result<BufReader<File>, DrawnError> {
        let file = open_filled(path).map_err(DrawnError::read(path))?;
        self.count(path, file)
    }

    fn count(&mut self, path: &Path, file: File) -> Result<BufReader<File>, DrawnError> {
        self.bytes += file.metadata().map_err(DrawnError::read(path))?.len();
        Ok(BufReader::with_capacity(1 << 18, file))
    }

    fn decode(&self, texture: &Path, bytes: &[u8]) -> Result<Texture, DrawnError> {
        let wrong = |what: String| DrawnError::Texture {
            mesh: self.path.clone(),
            texture: texture.to_owned(),
            what,
        };
        let mut reader = image::ImageReader::new(Cursor::new(bytes))
            .with_guessed_format()
            .map_err(|error| wrong(error.to_string()))?;
        let mut limits = image::Limits::default();
        let room = FREE_PICTURE_BYTES + PICTURE_GROWTH * bytes.len() as u64;
        limits.max_alloc = limits.max_alloc.map(|most| most.min(room));
        reader.limits(limits);
        let picture = reader.decode().map_err(|error| wrong(error.to_string()))?.into_rgb8();
        let size_px = [picture.width(), picture.height()];
        Texture::of_picture(size_px, picture.as_raw()).map_err(|error| wrong(error.to_string()))
    }

    /// What it looks like.
    #[must_use]
    pub fn coat(&self) -> Coat<'_> {
        match &self.harmonics {
            Some(harmonics) => Coat::Harmonics(harmonics),
            None => Coat::of(&self.mesh, self.texture.as_ref()),
        }
    }

    /// What it is, for people.
    #[must_use]
    pub fn describe(&self) -> String {
        let look = match self.coat() {
            Coat::Colors => "colours of its vertices".to_owned(),
            Coat::Harmonics(_) => "colours of its vertices by direction".to_owned(),
            Coat::Texture(texture) => format!("a texture of {0} x {0}", texture.side()),
            Coat::Plain => "no colours".to_owned(),
        };
        format!("{} triangles, {look}", self.mesh.triangles().len())
    }

    /// What is odd about it.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        matches!(self.coat(), Coat::Plain).then(|| {
            format!(
                "{} has no colours and is drawn grey, lit from the camera: pictures say nothing about photos",
                self.path.display()
            )
        })
    }
}
