//! From a model and its cameras to files.

use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use kiln_mesh::march::{self, Bricks, Grid};
use kiln_mesh::{Mesh, clean, cull, decimate, holes, nearest, peel, pieces, spread, topology};

use super::bound::read_bound;
use super::density::Density;
use super::fusion::{check_host, integrated, slabs, touched};
use super::log::Log;
use super::photos::Photos;
use super::poisson::{self, PoissonRow};
use super::report::{Dropped, MeshEvent, MeshReport, MeshStage, TextureRow};
use super::stage::{COLOR_BRICKS, DepthStage, MOST_BRICKS, StagePlan, StageSizes, Subject};
use super::texture::{BakeSettings, Layout, Textured, bake, least_bytes, write_textured};
use super::{MeshError, Space, colors};
use crate::config::{self, MeshDepth, MeshFormat, MeshMethod, MeshSpace, Profile, TextureKind};
use crate::export::{AtomicFile, digest_of, file_digest, write_atomic, write_json};
use crate::gaussians::Gaussians;
use crate::kernels::fusion::Voxels;
use crate::kernels::level::Level;
use crate::kernels::morton::Frame;
use crate::kernels::surface_depth::{DepthKind, Depths};
use crate::kernels::views::Variants;
use crate::memory::{Budget, MemoryError, PlanLimits};
use crate::plan::{Faults, Look, OpenDevice, available_bytes};
use crate::scene::{Camera, Photo, SceneIndex};
use crate::twins::fusion::{contracted_distance, to_grid, to_world};
use crate::vk::CompiledProgram;

/// Largest angle between ray and surface normal at which a depth counts: cosine of 80 degrees (PGSR).
const LEAST_COSINE: f32 = 0.173_648_18;
/// Pieces below this share of the largest one go.
const LEAST_SHARE: f64 = 0.001;
/// Contracted distance that vertices keep to.
const WORLD_REACH: f64 = 1.998;
/// Name of the files, before their endings.
pub(super) const STEM: &str = "mesh";
/// Name of the report beside the files.
pub(super) const REPORT_FILE: &str = "report.json";

/// Told how far the work is; [`ControlFlow::Break`] ends it.
pub type Tell<'a> = &'a mut dyn FnMut(MeshEvent) -> ControlFlow<()>;

/// What a mesh is made of.
#[derive(Clone, Debug)]
pub(crate) struct MeshJob<'a> {
    pub(crate) profile: &'a Profile,
    pub(crate) model: &'a Gaussians,
    pub(crate) look: Look,
    /// Training views: name and camera.
    pub(crate) views: Vec<(String, Camera)>,
    /// What they are of.
    pub(crate) scene: &'a SceneIndex,
}

/// What will be allocated, and for which voxels.
pub(crate) struct MeshPlan {
    space: Space,
    voxels: Voxels,
    stage: StagePlan,
    budget: Budget,
}

/// What a plan says before anything is done, for people and `--dry-run`.
#[derive(Clone, Copy, Debug)]
pub struct MeshOutlook {
    /// Where there will be voxels.
    pub space: Space,
    /// Bricks of the whole space along each axis.
    pub space_bricks: [u32; 3],
    /// What is allocated.
    pub sizes: StageSizes,
    /// What may be.
    pub budget: Budget,
}

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

impl MeshPlan {
    pub(crate) fn outlook(&self) -> MeshOutlook {
        MeshOutlook {
            space: self.space,
            space_bricks: self.voxels.bricks,
            sizes: self.stage.sizes(),
            budget: self.budget,
        }
    }
}

/// What the depth of a pixel is, by the setting.
pub(crate) const fn depth_kind(depth: MeshDepth) -> DepthKind {
    match depth {
        MeshDepth::Plane => DepthKind::Plane,
        MeshDepth::Median => DepthKind::Median,
        MeshDepth::Expected => DepthKind::Expected,
    }
}

impl<'a> MeshJob<'a> {
    /// The job of the training views of `scene`.
    pub(crate) fn new(profile: &'a Profile, model: &'a Gaussians, look: Look, scene: &'a SceneIndex) -> Self {
        Self {
            profile,
            model,
            look,
            views: scene
                .train
                .iter()
                .map(|view| (view.id.clone(), view.camera.clone()))
                .collect(),
            scene,
        }
    }

    /// Chooses the voxels and plans every byte.
    ///
    /// # Errors
    /// See [`Space::choose`] and [`StagePlan::fit`].
    pub(crate) fn plan(
        &self,
        variants: &Variants,
        budget: Budget,
        limits: PlanLimits,
        faults: &Faults,
    ) -> Result<MeshPlan, MeshError> {
        let gaussians = u32::try_from(self.model.len()).unwrap_or(u32::MAX);
        self.plan_for(gaussians, self.model.sh_degree, variants, budget, limits, faults)
    }

    /// The same for a model that is to come, of which this one's Gaussians say where it will be.
    ///
    /// # Errors
    /// See [`MeshJob::plan`].
    pub(crate) fn plan_for(
        &self,
        gaussians: u32,
        sh_degree: u32,
        variants: &Variants,
        budget: Budget,
        limits: PlanLimits,
        faults: &Faults,
    ) -> Result<MeshPlan, MeshError> {
        let options = &self.profile.mesh;
        if gaussians == 0 {
            return Err(MeshError::NoGaussians);
        }
        let cameras: Vec<Camera> = self.views.iter().map(|(_, camera)| camera.clone()).collect();
        let wide;
        let of_space = match self.split() {
            Some(_) => {
                // Points come from far outside of the box, too.
                wide = config::Mesh {
                    bounds: None,
                    space: MeshSpace::Contracted,
                    ..options.clone()
                };
                &wide
            }
            None => options,
        };
        let space = Space::choose(of_space, self.model, &cameras, self.scene.extent)?;
        let voxels = space.voxels(options.truncation);
        let depths = Depths {
            kind: depth_kind(options.depth),
            far: options.far.unwrap_or(f32::INFINITY),
            least_cosine: LEAST_COSINE,
        };
        let subject = Subject {
            gaussians,
            sh_degree,
            sizes_px: cameras
                .iter()
                .map(|camera| [camera.width_px, camera.height_px])
                .collect(),
            depths,
            masked: self.scene.masked,
            level: self.level(),
        };
        let bricks = match options.method {
            MeshMethod::Fusion => MOST_BRICKS,
            MeshMethod::Poisson | MeshMethod::Bound => COLOR_BRICKS,
        };
        let stage = StagePlan::fit(&subject, Some((&voxels, bricks)), variants, budget, limits, faults)?;
        Ok(MeshPlan {
            space,
            voxels,
            stage,
            budget,
        })
    }

    /// The box that is reconstructed on its own, if one is.
    fn split(&self) -> Option<[[f32; 3]; 2]> {
        let options = &self.profile.mesh;
        let (center, reach) = (self.scene.center(), self.scene.extent);
        let own = || [center.map(|x| x - reach), center.map(|x| x + reach)];
        let given = |[a, b, c, d, e, f]: [f32; 6]| [[a, b, c], [d, e, f]];
        (options.split && options.method == MeshMethod::Poisson).then(|| options.bounds.map_or_else(own, given))
    }

    /// The level that points are taken on: twice as many pixels of each view look for it as there is to be points of one.
    fn level(&self) -> Option<(Level, Frame)> {
        let options = &self.profile.mesh;
        let density = options.level.filter(|_| options.method == MeshMethod::Poisson)?;
        let pixels = |(_, camera): &(String, Camera)| camera.width_px * camera.height_px;
        let most = self.views.iter().map(pixels).max()?;
        let level = Level {
            candidates: options
                .points
                .div_ceil(count(self.views.len()))
                .saturating_mul(2)
                .min(most),
            density,
            far: options.far.unwrap_or(f32::INFINITY),
        };
        Some((level, Frame::new(self.scene.center(), self.scene.extent)))
    }

    /// Makes the mesh on the device of the plan and writes it into `folder`; `source` is the file of the model.
    ///
    /// # Errors
    /// [`MeshError`]; nothing is written then, but for formats before the one that failed.
    pub(crate) fn make(
        &self,
        open: &OpenDevice,
        plan: MeshPlan,
        source: &Path,
        folder: &Path,
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
            MeshMethod::Poisson => self.reconstructed((&mut stage, masks), &space, &mut log)?,
            MeshMethod::Bound => Raw {
                mesh: read_bound(source)?,
                bricks: 0,
                slabs: 0,
                poisson: None,
                points: None,
            },
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
                let mesh = poisson::projected(&mesh, points, &mut log.part(MeshStage::Project))?;
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
        let textured = match options.texture.layout() {
            Some(layout) if options.formats.iter().any(holds_picture) => {
                let textured = self.textured(open, budget, mesh.clone(), layout, &mut log)?;
                log.end(MeshStage::Texture, Some(&mesh))?;
                Some(textured)
            }
            _ => None,
        };
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
        log: &mut Log<'_>,
    ) -> Result<Raw, MeshError> {
        let options = &self.profile.mesh;
        let cameras: Vec<&Camera> = self.views.iter().map(|(_, camera)| camera).collect();
        let place = (space, self.scene.extent);
        let points = poisson::points(
            stage,
            &cameras,
            masks,
            place,
            (options.points, options.level),
            &mut |view| log.tell(MeshStage::Points, count(view), count(cameras.len())),
        )?;
        if points.is_empty() {
            return Err(self.no_surface(space));
        }
        log.points = points.len() as u64;
        log.end(MeshStage::Points, None)?;
        let tree = options.project.then(|| points.tree()).transpose()?;
        let (mesh, row) = poisson::surface(options, points, self.split(), &mut log.part(MeshStage::Reconstruct))?;
        log.end(MeshStage::Reconstruct, Some(&mesh))?;
        Ok(Raw {
            mesh,
            bricks: 0,
            slabs: 0,
            poisson: Some(row),
            points: tree,
        })
    }

    /// What a picture is baked from.
    fn bake_settings(&self, layout: Layout, budget: Budget) -> BakeSettings {
        let side = |pick: fn(&Camera) -> u32| self.views.iter().map(|(_, camera)| pick(camera)).max().unwrap_or(1);
        BakeSettings {
            layout,
            views: self.views.len(),
            largest_px: [side(|camera| camera.width_px), side(|camera| camera.height_px)],
            masked: self.scene.masked,
            cap_bytes: budget.cap_bytes,
        }
    }

    /// Holds the smallest plan of the picture over a mesh of so many triangles, which is to come, against the budget.
    ///
    /// # Errors
    /// [`MeshError::Memory`] when it cannot fit.
    pub(crate) fn check_picture(&self, triangles: u32, budget: Budget, limits: PlanLimits) -> Result<(), MeshError> {
        let options = &self.profile.mesh;
        let Some(layout) = options
            .texture
            .layout()
            .filter(|_| options.formats.iter().any(holds_picture))
        else {
            return Ok(());
        };
        let settings = self.bake_settings(layout, budget);
        let needed_bytes = least_bytes(triangles, &settings, limits)?;
        match needed_bytes <= budget.cap_bytes {
            true => Ok(()),
            false => Err(MemoryError::OverBudget {
                needed_bytes,
                cap_bytes: budget.cap_bytes,
                largest: format!("those of the picture over {triangles} triangles (`mesh.texture`)"),
            }
            .into()),
        }
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

/// The level 0 of the voxels in the world.
fn triangles(space: &Space, voxels: &Voxels, bricks: Bricks, log: &mut Log<'_>) -> Result<Mesh, MeshError> {
    let grid = match space {
        Space::Bounded { lower, voxel, .. } => Grid {
            origin: *lower,
            voxel: *voxel,
        },
        // Places first, points of the world below.
        Space::Contracted { .. } => Grid {
            origin: [0.0; 3],
            voxel: 1.0,
        },
    };
    let mesh = march::bricks(&bricks, grid, &mut log.part(MeshStage::March))?;
    drop(bricks);
    if matches!(space, Space::Bounded { .. }) {
        return Ok(mesh);
    }
    let in_world = |place: &[f32; 3]| nearest_in_world(voxels, place.map(f64::from));
    let positions = mesh.positions().iter().map(in_world).collect();
    Ok(mesh.with_positions(positions)?)
}

/// Colours the mesh and takes out what `options` say; `seen` are the colours of the vertices that some view sees.
fn cleaned(
    options: &config::Mesh,
    mesh: Mesh,
    seen: &[Option<[f32; 3]>],
    log: &mut Log<'_>,
) -> Result<(Mesh, Dropped), MeshError> {
    let mut dropped = Dropped::default();
    let colors = spread::colors(seen, mesh.triangles());
    let mut mesh = mesh.with_colors(colors)?;
    log.end(MeshStage::Color, Some(&mesh))?;
    log.tell(MeshStage::Clean, 0, 1)?;
    if options.cull_unseen {
        let is_seen = |vertex: u32| seen.get(vertex as usize).is_some_and(Option::is_some);
        let faces: Vec<bool> = mesh.triangles().iter().map(|t| t.iter().any(|&v| is_seen(v))).collect();
        (mesh, dropped.unseen) = cull::unseen(mesh, &faces)?;
    }
    let keep = match options.pieces {
        Some(most) => pieces::Keep::Largest(most as usize),
        None => pieces::Keep::AtLeast {
            triangles: options.min_triangles,
            share: if options.min_triangles > 0 { LEAST_SHARE } else { 0.0 },
        },
    };
    (mesh, dropped.pieces) = pieces::keep(mesh, keep)?;
    if options.fill_holes > 0 {
        let (filled, report) = holes::fill(mesh, options.fill_holes as usize);
        (mesh, dropped.holes_filled) = (filled, report.filled);
    }
    if mesh.triangles().is_empty() {
        return Err(MeshError::NothingLeft {
            pieces: dropped.pieces,
            unseen: dropped.unseen,
        });
    }
    Ok((clean::unreferenced(mesh).0, dropped))
}

/// Texels of a picture in charts for each triangle, at least; with fewer, seams and gutters are all that it holds.
const TEXELS_PER_TRIANGLE: u64 = 64;

/// What a picture in charts has room for, where no number of triangles is asked for.
fn for_picture(options: &config::Mesh, mesh: &Mesh) -> Option<decimate::Target> {
    let is_in_charts = options.texture.kind == TextureKind::Charts && options.formats.iter().any(holds_picture);
    let most = (u64::from(options.texture.size).pow(2) / TEXELS_PER_TRIANGLE).max(1);
    (is_in_charts && mesh.triangles().len() as u64 > most).then_some(decimate::Target::Triangles(most))
}

fn holds_picture(format: &MeshFormat) -> bool {
    *format != MeshFormat::Ply
}

/// The mesh with as few triangles as `options` ask for, and the largest error of that.
fn decimated(
    options: &config::Mesh,
    voxels: &Voxels,
    mesh: Mesh,
    log: &mut Log<'_>,
) -> Result<(Mesh, Option<f32>), MeshError> {
    let target = options.decimate.and_then(|target| {
        let triangles = target.triangles.map(|n| decimate::Target::Triangles(n.into()));
        let vertices = target.vertices.map(|n| decimate::Target::Vertices(n.into()));
        let error = target.error.map(|error| decimate::Target::Error(error * voxels.voxel));
        triangles.or(vertices).or(error)
    });
    // The triangles of a bound mesh are those of its Gaussians: fewer only where they are asked for.
    let by_itself = || for_picture(options, &mesh).filter(|_| options.method != MeshMethod::Bound);
    let Some(target) = target.or_else(by_itself) else {
        return Ok((mesh, None));
    };
    let needed_bytes = decimate::host_bytes(mesh.positions().len() as u64, mesh.triangles().len() as u64);
    if let Some(available_bytes) = available_bytes().filter(|available| needed_bytes > *available) {
        return Err(MeshError::Decimation {
            triangles: mesh.triangles().len() as u64,
            needed_bytes,
            available_bytes,
        });
    }
    // In contracted space what is far may be off by more: there errors count in voxels, which grow with the distance.
    let is_contracted = voxels.radius > 0.0;
    let place = |mesh: Mesh, to: &dyn Fn([f32; 3]) -> [f32; 3]| {
        let positions = mesh.positions().iter().map(|p| to(*p)).collect();
        mesh.with_positions(positions)
    };
    let mesh = match is_contracted {
        true => place(mesh, &|p| {
            to_grid(voxels, p.map(f64::from)).map(|q| q as f32 * voxels.voxel)
        })?,
        false => mesh,
    };
    let (mesh, done) = decimate::decimate(mesh, target, &mut log.part(MeshStage::Decimate))?;
    let mesh = match is_contracted {
        true => place(mesh, &|q| {
            nearest_in_world(voxels, q.map(|q| f64::from(q / voxels.voxel)))
        })?,
        false => mesh,
    };
    log.end(MeshStage::Decimate, Some(&mesh))?;
    Ok((mesh, Some(done.error)))
}

/// The point of the world at a place, or before the end of the world in its direction.
fn nearest_in_world(voxels: &Voxels, q: [f64; 3]) -> [f32; 3] {
    let middle = f64::from(2.0 * voxels.radius / voxels.voxel);
    let shrink = (WORLD_REACH / contracted_distance(voxels, q)).min(1.0);
    let point = to_world(voxels, q.map(|q| middle + (q - middle) * shrink));
    point.unwrap_or(voxels.origin.map(f64::from)).map(|x| x as f32)
}

pub(super) fn write(mesh: &Mesh, format: MeshFormat, path: &Path) -> Result<(), MeshError> {
    let comments = [format!("kiln {}", env!("CARGO_PKG_VERSION"))];
    write_atomic(path, |file| {
        let written = match format {
            MeshFormat::Ply => kiln_mesh::ply::write(mesh, &comments, file),
            MeshFormat::Obj => kiln_mesh::obj::write(mesh, None, file),
            MeshFormat::Glb => kiln_mesh::glb::write(mesh, None, file),
        };
        written.map_err(|error| match error {
            kiln_mesh::Error::Io(error) => error,
            other => io::Error::other(other),
        })
    })?;
    Ok(())
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
