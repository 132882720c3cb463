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
use super::texture::{Layout, Textured, bake, write_textured};
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
        // Photos are read where they say which pixels count, and for textures.
        let masks = self.scene.masked.then(|| Photos::open(self.scene, self.profile));
        let masks = masks.transpose()?;
        let masks = masks.as_ref();
        let mut stage = DepthStage::new(stage, (self.profile, self.model, self.look), open, budget)?;
        let n = self.views.len();
        let raw = match options.method {
            MeshMethod::Fusion => self.fused((&mut stage, masks), &space, &voxels, memory.bricks, &mut log)?,
            MeshMethod::Bound => Raw {
                mesh: read_bound(source)?,
                bricks: 0,
                slabs: 0,
                poisson: None,
                points: None,
            },
            _ => self.reconstructed((&mut stage, masks), &space, &open.faults, &mut log)?,
        };
        let mesh = raw.mesh;
        if mesh.triangles().is_empty() {
            return Err(self.no_surface(&space));
        }
        let seen = {
            let turns = colors::turns(&stage, mesh.positions().len());
            let mut draw = self.drawing(masks, &mut log, MeshStage::Color, turns);
            colors::colors(&mut stage, &voxels, mesh.positions(), n, &mut draw)?
        };
        let views_in_bands = stage.banded;
        // The device is not needed any more, and decimation may want what it takes on a machine that shares memory.
        drop(stage);
        let (mesh, mut dropped) = if options.method == MeshMethod::Bound {
            // It was clean before it was trained, and its triangles are those of the Gaussians.
            let colors = spread::colors(&seen, mesh.triangles());
            let mesh = mesh.with_colors(colors)?;
            log.end(MeshStage::Color, Some(&mesh))?;
            (mesh, Dropped::default())
        } else {
            cleaned(options, mesh, &seen, &mut log)?
        };
        if options.method != MeshMethod::Bound {
            log.end(MeshStage::Clean, Some(&mesh))?;
        }
        let (mesh, decimation_error) = decimated(options, &voxels, mesh, &mut log)?;
        let mesh = match &raw.points {
            Some(points) => {
                let (mesh, gone) = poisson::projected(&mesh, points, &mut log.part(MeshStage::Project))?;
                dropped.projected = gone;
                log.end(MeshStage::Project, Some(&mesh))?;
                mesh
            }
            None => mesh,
        };
        let mesh = match options.peel {
            Some(peel) => {
                let density = Density::of(self.model)?;
                let (mesh, gone) = peel::borders(mesh, peel.rounds, peel.density, |places| density.at(places))?;
                dropped.peeled = gone;
                log.end(MeshStage::Peel, Some(&mesh))?;
                clean::unreferenced(mesh).0
            }
            None => mesh,
        };
        if mesh.triangles().is_empty() {
            return Err(self.no_surface(&space));
        }
        let mesh = mesh.with_own_normals();
        let textured = match options.layout() {
            Some(layout) if options.formats.iter().any(holds_picture) => {
                let textured = self.textured(open, budget, mesh.clone(), layout, &mut log)?;
                log.end(MeshStage::Texture, Some(&mesh))?;
                Some(textured)
            }
            _ => None,
        };
        // Photos were looked up in the scene's coordinates.
        let origin = self.scene.origin;
        let mesh = up.turned(mesh.with_origin(origin));
        let textured = textured.map(|textured| Textured {
            mesh: up.turned(textured.mesh.with_origin(origin)),
            ..textured
        });
        let mut files = Vec::new();
        log.tell(MeshStage::Write, 0, 1)?;
        for format in &options.formats {
            match textured.as_ref().filter(|_| holds_picture(format)) {
                Some(textured) => files.extend(write_textured(textured, folder, STEM, *format == MeshFormat::Glb)?),
                None => {
                    let path = folder.join(format!("{STEM}.{}", format.name()));
                    write(&mesh, *format, &path)?;
                    files.push(path);
                }
            }
        }
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
            views: n,
            views_in_bands,
            bricks: raw.bricks,
            slabs: raw.slabs,
            poisson: raw.poisson,
            memory,
            stages: log.rows,
            dropped,
            surface: topology::report(&mesh).into(),
            decimation_error,
            texture: textured.as_ref().map(|textured| TextureRow {
                side: textured.texture.side(),
                parts: textured.parts,
                fill: textured.fill,
                seen: textured.seen,
                batches: textured.batches,
                device_bytes: textured.device_bytes,
            }),
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

    /// The mesh with a picture over it, from the photos of the training views.
    fn textured(
        &self,
        open: &OpenDevice,
        budget: Budget,
        mesh: Mesh,
        layout: Layout,
        log: &mut Log<'_>,
    ) -> Result<Textured, MeshError> {
        let photos = Photos::open(self.scene, self.profile)?;
        let settings = self.bake_settings(layout, budget);
        let mut photo = |view: usize| -> Result<(Camera, Photo), MeshError> {
            let (_, camera) = self.views.get(view).ok_or(MeshError::NoViews)?;
            Ok((camera.clone(), photos.get(view)?))
        };
        bake(&open.device, mesh, &settings, &mut photo, &mut |now| match log.tell(
            MeshStage::Texture,
            now.done,
            now.total,
        ) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        })
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
