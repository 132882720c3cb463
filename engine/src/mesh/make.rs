//! From a model and its cameras to files.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kiln_mesh::{Mesh, clean, nearest, peel, spread, topology};

use super::bound::read_bound;
use super::cleaning::cleaned;
use super::decimation::decimated;
use super::density::Density;
use super::files::{REPORT_FILE, STEM, holds_picture, write};
use super::fusion::{check_host, integrated, slabs, touched};
use super::job::{MeshJob, MeshPlan, count};
use super::log::{Log, Tell};
use super::marching::triangles;
use super::photos::Photos;
use super::poisson::{self, PoissonRow};
use super::report::{Dropped, MeshReport, MeshStage, TextureRow};
use super::stage::DepthStage;
use super::texture::{TextureProgress, Textured, bake, write_textured};
use super::{MeshError, Space, Up, colors};
use crate::config::{MeshFormat, MeshMethod};
use crate::export::{AtomicFile, digest_of, file_digest, write_json};
use crate::kernels::fusion::Voxels;
use crate::memory::Budget;
use crate::plan::{Faults, OpenDevice};
use crate::scene::{Camera, Photo};
use crate::vk::CompiledProgram;

/// A mesh that was written.
#[derive(Clone, Debug)]
pub struct Made {
    /// Its files, and the report last.
    pub files: Vec<PathBuf>,
    /// What happened.
    pub report: MeshReport,
}

/// A surface before colours and cleaning.
struct Raw {
    mesh: Mesh,
    bricks: usize,
    slabs: usize,
    poisson: Option<PoissonRow>,
    /// Points that vertices move to in the end.
    points: Option<nearest::Points>,
}

/// What views see of vertices; none where none sees one.
type Colors = Vec<Option<[f32; 3]>>;

impl<'a> MeshJob<'a> {
    /// Makes the mesh on the device of the plan and writes it into `folder`, so that what `up` says is up; `source` is the file of the
    /// model.
    ///
    /// # Errors
    /// [`MeshError`]; nothing is written then, but for formats before the one that failed.
    pub(crate) fn make(
        &self,
        open: &OpenDevice,
        plan: MeshPlan,
        source: &Path,
        (folder, up): (&Path, Up),
        tell: Tell<'_>,
    ) -> Result<Made, MeshError> {
        let options = &self.profile.mesh;
        let MeshPlan {
            space,
            voxels,
            stage,
            budget,
        } = plan;
        // A folder that cannot be written to is known before the work, not after.
        drop(AtomicFile::create(&folder.join(REPORT_FILE))?);
        let memory = stage.sizes();
        let mut log = Log::new(tell);
        // The device lives no longer than this: decimation may want what it takes on a machine that shares memory.
        let (raw, seen, views_in_bands) = {
            // Photos are read where they say which pixels count, and for textures.
            let masks = self.scene.masked.then(|| Photos::open(self.scene, self.profile));
            let masks = masks.transpose()?;
            let mut stage = DepthStage::new(stage, (self.profile, self.model, self.look), open, budget)?;
            let drawn = (&mut stage, masks.as_ref());
            let (raw, seen) = self.surface(drawn, (&space, &voxels, memory.bricks), source, &open.faults, &mut log)?;
            (raw, seen, stage.banded)
        };
        let (mesh, dropped, decimation_error) =
            self.finished(raw.mesh, &seen, (&voxels, raw.points.as_ref()), &mut log)?;
        if mesh.triangles().is_empty() {
            return Err(self.no_surface(&space));
        }
        let mesh = mesh.with_own_normals();
        let textured = self.textured(open, budget, &mesh, &mut log)?;
        // Photos were looked up in the scene's coordinates.
        let origin = self.scene.origin;
        let mesh = up.turned(mesh.with_origin(origin));
        let textured = textured.map(|textured| Textured {
            mesh: up.turned(textured.mesh.with_origin(origin)),
            ..textured
        });
        log.tell(MeshStage::Write, 0, 1)?;
        let mut files = written(&mesh, textured.as_ref(), &options.formats, folder)?;
        // Done is done, whoever asks to stop now.
        let _ = log.end(MeshStage::Write, Some(&mesh));
        let names: Vec<&str> = self.views.iter().map(|(name, _)| name.as_str()).collect();
        let settings = serde_json::to_vec(options).unwrap_or_default();
        let report = MeshReport {
            kiln: env!("CARGO_PKG_VERSION"),
            model: source.display().to_string(),
            model_sha256: file_digest(source).unwrap_or_default(),
            settings: options.clone(),
            settings_sha256: digest_of(&settings),
            views_sha256: digest_of(names.join("\n").as_bytes()),
            device: open.device.caps().name.clone(),
            space,
            views: self.views.len(),
            views_in_bands,
            bricks: raw.bricks,
            slabs: raw.slabs,
            poisson: raw.poisson,
            memory,
            stages: log.rows,
            dropped,
            surface: topology::report(&mesh).into(),
            decimation_error,
            texture: textured.as_ref().map(TextureRow::from),
            up,
            files: files
                .iter()
                .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
                .collect(),
        };
        let path = folder.join(REPORT_FILE);
        write_json(&path, &report)?;
        files.push(path);
        Ok(Made { files, report })
    }

    /// The surface that the profile's method finds, and what the views see of its vertices.
    fn surface(
        &self,
        (stage, masks): (&mut DepthStage<'a>, Option<&Photos>),
        (space, voxels, pool): (&Space, &Voxels, u32),
        source: &Path,
        faults: &Faults,
        log: &mut Log<'_>,
    ) -> Result<(Raw, Colors), MeshError> {
        let raw = match self.profile.mesh.method {
            MeshMethod::Fusion => self.fused((stage, masks), space, voxels, pool, log)?,
            MeshMethod::Bound => Raw {
                mesh: read_bound(source)?,
                bricks: 0,
                slabs: 0,
                poisson: None,
                points: None,
            },
            _ => self.reconstructed((stage, masks), space, faults, log)?,
        };
        if raw.mesh.triangles().is_empty() {
            return Err(self.no_surface(space));
        }
        let places = raw.mesh.positions();
        let turns = colors::turns(stage, places.len());
        let mut draw = self.drawing(masks, log, MeshStage::Color, turns);
        let seen = colors::colors(stage, voxels, places, self.views.len(), &mut draw)?;
        Ok((raw, seen))
    }

    /// The surface with its colours, without what was dropped, with as many triangles as wanted, moved to the points it goes through;
    /// and the error that decimation made.
    fn finished(
        &self,
        mesh: Mesh,
        seen: &[Option<[f32; 3]>],
        (voxels, points): (&Voxels, Option<&nearest::Points>),
        log: &mut Log<'_>,
    ) -> Result<(Mesh, Dropped, Option<f32>), MeshError> {
        let options = &self.profile.mesh;
        let (mesh, mut dropped) = if options.method == MeshMethod::Bound {
            // It was clean before it was trained, and its triangles are those of the Gaussians.
            let colors = spread::colors(seen, mesh.triangles());
            let mesh = mesh.with_colors(colors)?;
            log.end(MeshStage::Color, Some(&mesh))?;
            (mesh, Dropped::default())
        } else {
            let (mesh, dropped) = cleaned(options, mesh, seen, log)?;
            log.end(MeshStage::Clean, Some(&mesh))?;
            (mesh, dropped)
        };
        let (mut mesh, decimation_error) = decimated(options, voxels, mesh, log)?;
        if let Some(points) = points {
            (mesh, dropped.projected) = poisson::projected(&mesh, points, &mut log.part(MeshStage::Project))?;
            log.end(MeshStage::Project, Some(&mesh))?;
        }
        if let Some(peel) = options.peel {
            let density = Density::of(self.model)?;
            (mesh, dropped.peeled) = peel::borders(mesh, peel.rounds, peel.density, |places| density.at(places))?;
            log.end(MeshStage::Peel, Some(&mesh))?;
            mesh = clean::unreferenced(mesh).0;
        }
        Ok((mesh, dropped, decimation_error))
    }

    /// Depth of all views into voxels, and the surface in these.
    fn fused(
        &self,
        (stage, masks): (&mut DepthStage<'a>, Option<&Photos>),
        space: &Space,
        voxels: &Voxels,
        pool: u32,
        log: &mut Log<'_>,
    ) -> Result<Raw, MeshError> {
        let n = self.views.len();
        let keys = {
            let mut draw = self.drawing(masks, log, MeshStage::Touch, 1);
            touched(stage, voxels, n, &mut draw)?
        };
        if keys.is_empty() {
            return Err(self.no_surface(space));
        }
        check_host(keys.len(), space.voxel())?;
        log.bricks = keys.len() as u64;
        log.end(MeshStage::Touch, None)?;
        let slabs = slabs(keys.len(), pool);
        let bricks = {
            let mut draw = self.drawing(masks, log, MeshStage::Integrate, slabs);
            let min_views = self.profile.mesh.min_views;
            integrated(stage, voxels, &keys, min_views, n, &mut draw)?
        };
        log.end(MeshStage::Integrate, None)?;
        let mesh = triangles(space, voxels, bricks, log)?;
        log.end(MeshStage::March, Some(&mesh))?;
        Ok(Raw {
            mesh,
            bricks: keys.len(),
            slabs,
            poisson: None,
            points: None,
        })
    }

    /// Pixels of all views as points, and the surface through these.
    fn reconstructed(
        &self,
        (stage, masks): (&mut DepthStage<'a>, Option<&Photos>),
        space: &Space,
        faults: &Faults,
        log: &mut Log<'_>,
    ) -> Result<Raw, MeshError> {
        let options = &self.profile.mesh;
        let most = faults.points.unwrap_or(options.quality.points());
        let cameras: Vec<&Camera> = self.views.iter().map(|(_, camera)| camera).collect();
        let place = (space, self.scene.extent);
        let points = poisson::points(
            stage,
            &cameras,
            masks,
            place,
            (most, options.method.level()),
            &mut |view| log.tell(MeshStage::Points, count(view), count(cameras.len())),
        )?;
        if points.is_empty() {
            return Err(self.no_surface(space));
        }
        log.points = points.len() as u64;
        log.end(MeshStage::Points, None)?;
        let tree = (options.method == MeshMethod::Sugar)
            .then(|| points.tree())
            .transpose()?;
        let (mesh, row) = poisson::surface(
            (options, faults.poisson_depth),
            points,
            self.split(),
            &mut log.part(MeshStage::Reconstruct),
        )?;
        log.end(MeshStage::Reconstruct, Some(&mesh))?;
        Ok(Raw {
            mesh,
            bricks: 0,
            slabs: 0,
            poisson: Some(row),
            points: tree,
        })
    }

    /// The mesh with a picture over it, from the photos of the training views, where a format holds one.
    fn textured(
        &self,
        open: &OpenDevice,
        budget: Budget,
        mesh: &Mesh,
        log: &mut Log<'_>,
    ) -> Result<Option<Textured>, MeshError> {
        let options = &self.profile.mesh;
        let Some(layout) = options.layout().filter(|_| options.formats.iter().any(holds_picture)) else {
            return Ok(None);
        };
        let photos = Photos::open(self.scene, self.profile)?;
        let settings = self.bake_settings(layout, budget);
        let mut photo = |view: usize| -> Result<(Camera, Photo), MeshError> {
            let (_, camera) = self.views.get(view).ok_or(MeshError::NoViews)?;
            Ok((camera.clone(), photos.get(view)?))
        };
        let mut said = |now: TextureProgress| match log.tell(MeshStage::Texture, now.done, now.total) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let textured = bake(&open.device, mesh.clone(), &settings, &mut photo, &mut said)?;
        log.end(MeshStage::Texture, Some(mesh))?;
        Ok(Some(textured))
    }

    /// Draws view after view and says so; `turns` times all views make the stage.
    fn drawing<'l>(
        &'l self,
        masks: Option<&'l Photos>,
        log: &'l mut Log<'_>,
        stage: MeshStage,
        turns: usize,
    ) -> impl FnMut(&mut DepthStage<'a>, usize, &CompiledProgram) -> Result<(), MeshError> + 'l {
        let total = count(turns * self.views.len());
        let mut done = 0;
        move |device, view, next| {
            log.tell(stage, done, total.max(done))?;
            done += 1;
            match self.views.get(view) {
                Some((_, camera)) => {
                    let photo = masks.map(|photos| photos.get(view)).transpose()?;
                    device.draw(camera, photo.as_ref().and_then(Photo::mask), Some(next))
                }
                None => Ok(()),
            }
        }
    }

    fn no_surface(&self, space: &Space) -> MeshError {
        MeshError::NoSurface {
            space: space.to_string(),
        }
    }
}

/// Writes every format and returns the files.
fn written(
    mesh: &Mesh,
    textured: Option<&Textured>,
    formats: &[MeshFormat],
    folder: &Path,
) -> Result<Vec<PathBuf>, MeshError> {
    let mut files = Vec::new();
    for format in formats {
        match textured.filter(|_| holds_picture(format)) {
            Some(textured) => files.extend(write_textured(textured, folder, STEM, *format == MeshFormat::Glb)?),
            None => {
                let path = folder.join(format!("{STEM}.{}", format.name()));
                write(mesh, *format, &path)?;
                files.push(path);
            }
        }
    }
    Ok(files)
}
