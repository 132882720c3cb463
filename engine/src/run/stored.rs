//! Models that a run, or another trainer, left behind: found, evaluated and rendered again.
//!
//! Promises the figures and pictures that training gave for the same iteration: the raw file holds exactly what was
//! on the device, and views, photographs and passes are the same. Writes nothing without an output.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::evaluation::{self, Evaluation, Told, lpips_sets};
use super::model_parts::ModelParts;
use super::own_split;
use super::renderer::{DrawnViews, Renderer};
use super::resolution_phases::Phase;
use super::watch::device_budget;
use super::{RunError, StoredError};
use crate::eval::{EvalFile, LpipsRange, Picture, PoseSource};
use crate::export::{
    ModelFile, PlyComments, PlyParts, RenderMode, model_origin, read_camera_path, read_cameras, read_model_file,
};
use crate::mesh::{self, Layers, Made, MeshJob, MeshOutlook, Up};
use crate::plan::{CLASSIC_KERNEL_SIZE, Faults, Look, OpenDevice, Pinned, pinhole_options, scene_options, schedule};
use crate::record::events::{Progress, Stage};
use crate::record::pictures::PictureWriter;
use crate::record::run_folder::{PlyKind, RunFolder, RunScene, config_path, eval_path, models_path};
use kiln_config::{ModelKind, Profile};
use kiln_gaussians::Gaussians;
use kiln_gpu::memory::Gpu;
use kiln_gpu::vk::DeviceKind;
use kiln_scene::math::sub;
use kiln_scene::{Camera, DEFAULT_NEAR_Z, SceneIndex, SceneOptions, Split};

/// Where a model lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub ply: PathBuf,
    /// Settings of the run it is of.
    pub config: Option<PathBuf>,
    /// The profile's kernel holds where the file states none; else such a file is drawn as plain 3D Gaussian Splatting does.
    pub kernel_of_profile: bool,
}

impl Location {
    /// Finds the model that `target`, a run folder or a PLY file, names: of a folder the iteration asked for or else
    /// the last one, raw before fused before triangles.
    ///
    /// # Errors
    /// [`StoredError`] when there is none.
    pub fn find(target: &Path, iteration: Option<u32>) -> Result<Self, StoredError> {
        let path = target.to_owned();
        if target.is_file() {
            // RUN/point_cloud/iteration_N/FILE
            let config = target.ancestors().nth(3).map(config_path).filter(|path| path.is_file());
            return match iteration {
                None => Ok(Self {
                    ply: path,
                    config,
                    kernel_of_profile: false,
                }),
                Some(_) => Err(StoredError::OneModel { path }),
            };
        }
        if !target.is_dir() {
            return Err(StoredError::Absent { path });
        }
        let models = models(target);
        let chosen = match iteration {
            None => models.last(),
            Some(wanted) => models.iter().find(|(found, _)| *found == wanted),
        };
        match (chosen, iteration) {
            (Some((_, ply)), _) => Ok(Self {
                ply: ply.clone(),
                config: Some(config_path(target)).filter(|path| path.is_file()),
                kernel_of_profile: false,
            }),
            (None, Some(wanted)) if !models.is_empty() => {
                let found: Vec<String> = models.iter().map(|(found, _)| found.to_string()).collect();
                let found = found.join(", ");
                Err(StoredError::NoIteration { path, wanted, found })
            }
            _ => Err(StoredError::NoModel { path }),
        }
    }
}

/// Models of a run folder, by iteration.
fn models(run: &Path) -> Vec<(u32, PathBuf)> {
    let entries = std::fs::read_dir(models_path(run)).into_iter().flatten().flatten();
    let mut models: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let iteration = entry.file_name().to_str()?.strip_prefix("iteration_")?.parse().ok()?;
            let files =
                [PlyKind::Raw, PlyKind::Fused, PlyKind::Triangles].map(|kind| entry.path().join(kind.file_name()));
            Some((iteration, files.into_iter().find(|file| file.is_file())?))
        })
        .collect();
    models.sort();
    models
}

/// A model, with how to draw it.
pub struct Stored<'a> {
    profile: &'a Profile,
    open: &'a OpenDevice,
    pinned: Pinned,
    model: ModelParts,
    path: PathBuf,
    /// The run that it is of.
    run: Option<PathBuf>,
    look: Look,
    /// Cameras beside the model, of a run that corrected them.
    cameras: PathBuf,
    /// What the file says beside its numbers.
    comments: PlyComments,
    /// What the file says of its kernel: whether it has a Mip filter, and its size.
    stated: [bool; 2],
    iteration: u32,
    notes: Vec<String>,
}

/// What is reported while views are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum News {
    /// The device has no room for the model.
    InParts {
        /// Its Gaussians.
        gaussians: u64,
        /// How many there is room for.
        at_once: u32,
    },
    /// How far it is.
    Progress(Progress),
}

/// An evaluation, and what to say about it.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// The figures.
    pub file: EvalFile,
    /// What is odd.
    pub warnings: Vec<String>,
}

/// Views to render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cameras {
    /// The views of a set of a scene.
    Scene {
        /// The scene's folder.
        scene: PathBuf,
        /// Which views.
        set: Split,
    },
    /// Records in the shape of `cameras.json`.
    File(PathBuf),
    /// The frames of a camera path.
    Path(PathBuf),
}

impl<'a> Stored<'a> {
    /// Reads the model. What its comments do not say is taken from `profile` for models with a 3D filter; others
    /// are drawn as plain 3D Gaussian Splatting does. A PLY file that more than half of the free host memory is needed for stays
    /// where it is and is read in parts. The near plane is that of the profile, else of the scene that views
    /// are of, else [`DEFAULT_NEAR_Z`].
    ///
    /// # Errors
    /// [`RunError::Ply`] when the file holds no model, [`StoredError::Triangles`] for one of triangles.
    pub fn load(location: &Location, profile: &'a Profile, open: &'a OpenDevice) -> Result<Self, RunError> {
        if mesh::is_triangles(&location.ply) {
            let path = location.ply.clone();
            return Err(StoredError::Triangles { path }.into());
        }
        let (mut model, comments, notes) = read_parts(location, open)?;
        let filtered = comments.render_mode.is_none() && model.is_filtered()?;
        let stated = [
            comments.render_mode.is_some() || filtered,
            comments.kernel_size.is_some(),
        ];
        let mip = match comments.render_mode {
            Some(mode) => mode == RenderMode::Mip,
            None => filtered || location.kernel_of_profile && profile.model.kind == ModelKind::Mip,
        };
        let otherwise = if mip {
            profile.mip.kernel_size
        } else {
            CLASSIC_KERNEL_SIZE
        };
        let iteration = comments.iteration.and_then(|it| u32::try_from(it).ok()).unwrap_or(0);
        let sh_degree = match location.config {
            Some(_) => schedule::sh_degree_at(profile, iteration).min(model.sh_degree()),
            None => model.sh_degree(),
        };
        let look = Look {
            kernel_size: comments.kernel_size.unwrap_or(otherwise),
            classic: !mip,
            sh_degree,
            near_z: profile.model.near.unwrap_or(DEFAULT_NEAR_Z),
        };
        Ok(Self {
            profile,
            open,
            pinned: Pinned::for_rendering(open)?,
            model,
            path: location.ply.clone(),
            run: location.config.as_deref().and_then(Path::parent).map(Path::to_owned),
            look,
            cameras: location.ply.with_file_name("cameras.json"),
            comments,
            stated,
            iteration,
            notes,
        })
    }

    /// What was left out of the model's file, or read otherwise than as it stands there, for people.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The scene in `path`, its cameras where the run of the model corrected them to; true when it did. The model is moved to
    /// the scene's origin, if that is not its own.
    fn scene(&mut self, path: &Path, options: &SceneOptions) -> Result<(SceneIndex, bool), RunError> {
        let mut scene = SceneIndex::load(path, options)?;
        own_split::keep(&mut scene, self.run.as_deref())?;
        let own = model_origin(&self.path, &self.comments, scene.origin)?;
        if own != scene.origin {
            self.model.move_by(sub(own, scene.origin));
            self.comments.origin = Some(scene.origin);
        }
        let refined = self.cameras.is_file();
        if refined {
            let known: BTreeMap<String, Camera> = read_cameras(&self.cameras)?.into_iter().collect();
            for view in scene.train.iter_mut().chain(&mut scene.test) {
                if let Some(camera) = known.get(&view.id) {
                    view.camera.rotation = camera.rotation;
                    view.camera.translation = camera.translation;
                }
            }
        }
        Ok((scene, refined))
    }

    /// How the model is drawn, for people: `mip, 0.1 px^2`.
    #[must_use]
    pub fn kernel(&self) -> String {
        let kind = if self.look.classic { "classic" } else { "mip" };
        format!("{kind}, {} px^2", self.look.kernel_size)
    }

    /// Whether the file says that it has a Mip filter or none, and of what size its kernel is.
    #[must_use]
    pub const fn states_kernel(&self) -> [bool; 2] {
        self.stated
    }

    /// What is odd about the device.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.pinned.warnings
    }

    /// The views to draw, those of a scene as it is read by `options`, and the near plane of the scene that they are of, unless the
    /// profile has one.
    fn views(&mut self, cameras: &Cameras, options: &SceneOptions) -> Result<Views, RunError> {
        match cameras {
            Cameras::Scene { scene, set } => of_scene(&self.scene(scene, options)?.0, *set, self.profile),
            _ => views_of(cameras, self.profile),
        }
    }

    /// Evaluates all test views and five training views of `scene`. With `run`, the figures and the pictures of the
    /// first `eval.views_logged` views of each set become the run's evaluation of this iteration.
    ///
    /// # Errors
    /// [`RunError`] when scene, device or run folder fail.
    pub fn evaluate(
        mut self,
        scene: &Path,
        run: Option<&Path>,
        tell: &mut dyn FnMut(News),
    ) -> Result<Evaluated, RunError> {
        let (scene, refined) = self.scene(scene, &scene_options(self.profile)?)?;
        self.look.near_z = self.profile.near_z(&scene);
        let mut folder = match run {
            Some(root) => Some(RunFolder::reopen(root, &RunScene::of(&scene))?),
            None => None,
        };
        let phase = Phase::at(self.profile, &scene, u32::MAX)?;
        let (weights, warning) = evaluation::lpips_weights(&self.profile.eval)?;
        let gaussians = u32::try_from(self.model.len()).unwrap_or(u32::MAX);
        // Training time is known to the run only.
        let t_s = run
            .and_then(|root| recorded_seconds(root, self.iteration))
            .unwrap_or(0.0);
        let mut file = EvalFile::new(self.iteration, gaussians, t_s, LpipsRange::ZeroOne);
        file.mean_opacity = self.model.mean_opacity()?;
        let aligns = self.profile.train.refine_poses.is_none_or(|poses| poses.test_steps > 0);
        file.poses = refined.then_some(if aligns {
            PoseSource::Aligned
        } else {
            PoseSource::Refined
        });
        let evaluation = Evaluation {
            scene: &phase.scene,
            store: &phase.store,
            lpips_of: lpips_sets(self.open.device.caps().kind == DeviceKind::Cpu, true),
            shown: match folder {
                Some(_) => self.profile.eval.views_logged as usize,
                None => 0,
            },
            corrected: self.profile.learns_photo_colors(),
            counted: true,
        };
        let Self {
            open,
            profile,
            pinned: Pinned { variants, warnings, .. },
            model,
            look,
            ..
        } = self;
        let views = DrawnViews::of(phase.scene.views().map(|(_, view)| &view.camera), phase.scene.masked);
        let mut renderer = Renderer::new(open, profile, &variants, model, look, &views, weights);
        tell_parts(u64::from(gaussians), renderer.prepare()?, tell);
        let mut pictures = PictureWriter::default();
        let left_out = evaluation.run(&mut renderer, &mut file, &mut |reported| {
            match (reported, &folder) {
                (Told::Progress(now), _) => tell(News::Progress(now)),
                (Told::View(view), Some(folder)) => {
                    pictures.give(folder, Arc::new(view))?;
                }
                (Told::View(_), None) => {}
            }
            Ok(())
        })?;
        if let Some(folder) = &mut folder {
            pictures.wait()?;
            folder.write_eval(&file)?;
        }
        let left_out = left_out.iter().map(|(_, error)| format!("{error} (left out)"));
        let warnings = warnings
            .into_iter()
            .chain(phase.scene.warnings.iter().cloned())
            .chain(warning)
            .chain(left_out)
            .collect();
        Ok(Evaluated { file, warnings })
    }

    /// Renders views into `out`, one PNG file named after each; gives their paths.
    ///
    /// # Errors
    /// [`RunError`] when cameras cannot be read, the device fails or a file cannot be written.
    pub fn render(
        mut self,
        cameras: &Cameras,
        out: &Path,
        tell: &mut dyn FnMut(News),
    ) -> Result<Vec<PathBuf>, RunError> {
        let (views, near_z) = self.views(cameras, &scene_options(self.profile)?)?;
        self.look.near_z = near_z.unwrap_or(self.look.near_z);
        let drawn = DrawnViews::of(views.iter().map(|(_, camera)| camera), false);
        let Self {
            open,
            profile,
            pinned: Pinned { variants, .. },
            model,
            look,
            ..
        } = self;
        let gaussians = model.len() as u64;
        let mut renderer = Renderer::new(open, profile, &variants, model, look, &drawn, None);
        tell_parts(gaussians, renderer.prepare()?, tell);
        pictures(&views, out, &mut |now| tell(News::Progress(now)), |camera, path| {
            let image = renderer.image(camera)?;
            Picture::rendering(size_px(camera), bytemuck::cast_slice(&image), 4)?.write(path)?;
            Ok(())
        })
    }

    /// Renders depth and normals of views into `out`, as `layers` ask: depths as 16-bit pictures with their scales in
    /// `depth.json`, normals as colours; gives the paths of all. Fisheyes that training kept as
    /// they are are drawn as the pinholes that `dataset.undistort: whole` makes of them.
    ///
    /// # Errors
    /// See [`Stored::render`]; [`RunError::Mesh`].
    pub fn render_layers(
        mut self,
        cameras: &Cameras,
        layers: Layers,
        out: &Path,
        tell: &mut dyn FnMut(News),
    ) -> Result<Vec<PathBuf>, RunError> {
        let (views, near_z) = self.views(cameras, &pinhole_options(self.profile)?)?;
        self.look.near_z = near_z.unwrap_or(self.look.near_z);
        let model = whole(&mut self.model, &self.path, &self.open.faults)?;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let paths = mesh::draw(
            self.open,
            &self.pinned.variants,
            (self.profile, model, self.look),
            device_budget(self.open, self.profile),
            (&views, layers),
            out,
            &mut |done| {
                tell(News::Progress(Progress {
                    stage: Stage::Eval,
                    done: count(done),
                    total: count(views.len()),
                }));
            },
        )?;
        Ok(paths)
    }

    /// Plans a mesh from the training views of `scene`, all of them pinholes, and makes it in the folder of `to`, with that way up,
    /// unless only the plan is wanted.
    ///
    /// # Errors
    /// [`RunError::Scene`]; [`RunError::Mesh`] when it cannot fit, before any work, or fails.
    pub fn mesh(
        mut self,
        source: &Path,
        scene: &Path,
        to: Option<(&Path, Up)>,
        tell: mesh::Tell<'_>,
    ) -> Result<(MeshOutlook, Option<Made>), RunError> {
        let (scene, _) = self.scene(scene, &pinhole_options(self.profile)?)?;
        self.look.near_z = self.profile.near_z(&scene);
        let model = whole(&mut self.model, &self.path, &self.open.faults)?;
        let job = MeshJob::new(self.profile, model, self.look, &scene);
        let budget = device_budget(self.open, self.profile);
        let limits = Gpu::limits(&self.open.device);
        let plan = job.plan(&self.pinned.variants, budget, limits, &self.open.faults)?;
        let outlook = plan.outlook();
        let made = to.map(|to| job.make(self.open, plan, source, to, tell)).transpose()?;
        Ok((outlook, made))
    }
}

/// All Gaussians, in host memory.
fn whole<'m>(model: &'m mut ModelParts, path: &Path, faults: &Faults) -> Result<&'m Gaussians, RunError> {
    let (gaussians, needed_bytes) = (model.len() as u64, model.host_bytes());
    let available = host_room(faults);
    let fits = available.is_none_or(|bytes| needed_bytes <= bytes);
    match model.all(fits)? {
        Some(all) => Ok(all),
        None => Err(StoredError::HostMemory {
            path: path.to_owned(),
            gaussians,
            needed_bytes,
            available_bytes: available.unwrap_or(0),
        }
        .into()),
    }
}

/// Host memory that there is.
fn host_room(faults: &Faults) -> Option<u64> {
    faults
        .host_mib
        .map(|mib| u64::from(mib) << 20)
        .or_else(kiln_system::available_bytes)
}

fn tell_parts(gaussians: u64, at_once: Option<u32>, tell: &mut dyn FnMut(News)) {
    if let Some(at_once) = at_once {
        tell(News::InParts { gaussians, at_once });
    }
}

/// Reads a model and what its comments say: into host memory, or, of a PLY file that more than half of that is needed for, what
/// is in its header.
fn read_parts(location: &Location, open: &OpenDevice) -> Result<(ModelParts, PlyComments, Vec<String>), RunError> {
    let (path, faults) = (&location.ply, &open.faults);
    if let Some(room) = host_room(faults).map(|bytes| bytes / 2)
        // Other files of Gaussians are recognised, and errors of a file reported, below.
        && let Ok(mut file) = PlyParts::open(path)
        && file.len() as u64 * Gaussians::host_bytes(file.sh_degree()) > room
    {
        let (comments, notes) = (file.comments(), file.look_through()?);
        return Ok((ModelParts::in_file(file, faults.chunk, room), comments, notes.lines()));
    }
    let ModelFile { model, comments, notes } = read_model_file(path)?;
    Ok((ModelParts::in_memory(model, faults.chunk), comments, notes.lines()))
}

/// Draws a picture of each view into `out`, named after it, and says how far that is; gives the paths.
///
/// # Errors
/// What `picture` says.
pub(super) fn pictures(
    views: &[(String, Camera)],
    out: &Path,
    progress: &mut dyn FnMut(Progress),
    mut picture: impl FnMut(&Camera, &Path) -> Result<(), RunError>,
) -> Result<Vec<PathBuf>, RunError> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let mut paths = Vec::with_capacity(views.len());
    for (stem, camera) in views {
        let path = out.join(format!("{stem}.png"));
        picture(camera, &path)?;
        paths.push(path);
        progress(Progress {
            stage: Stage::Eval,
            done: count(paths.len()),
            total: count(views.len()),
        });
    }
    Ok(paths)
}

/// Views to draw, by name, and the near plane of the scene that they are of.
type Views = (Vec<(String, Camera)>, Option<f32>);

/// The views, all of them pinholes; those of a scene bring its near plane along, unless the profile has one.
pub(super) fn views_of(cameras: &Cameras, profile: &Profile) -> Result<Views, RunError> {
    match cameras {
        Cameras::File(path) => Ok((read_cameras(path)?, None)),
        Cameras::Path(path) => Ok((read_camera_path(path)?, None)),
        Cameras::Scene { scene, set } => of_scene(&SceneIndex::load(scene, &pinhole_options(profile)?)?, *set, profile),
    }
}

pub(super) fn of_scene(scene: &SceneIndex, set: Split, profile: &Profile) -> Result<Views, RunError> {
    let views = scene.views_of(set).iter();
    let views: Vec<_> = views.map(|view| (view.id.clone(), view.camera.clone())).collect();
    if views.is_empty() {
        let scene = scene.root.clone();
        return Err(StoredError::NoViews { scene, set }.into());
    }
    Ok((views, Some(profile.near_z(scene))))
}

pub(super) const fn size_px(camera: &Camera) -> [u32; 2] {
    [camera.width_px, camera.height_px]
}

/// Training seconds in the run's own evaluation of an iteration.
fn recorded_seconds(run: &Path, iteration: u32) -> Option<f64> {
    EvalFile::read(&eval_path(run, iteration)).map(|file| file.t_s)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_scratch::Scratch;

    #[test]
    fn models_are_found_raw_and_last_first() {
        let scratch = Scratch::new();
        let run = scratch.path().join("run");
        let put = |path: &str| {
            let path = run.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            path
        };
        let text = |iteration| Location::find(&run, iteration).unwrap_err().to_string();
        assert!(text(None).contains("does not exist"), "{}", text(None));
        std::fs::create_dir_all(&run).unwrap();
        assert!(text(Some(3)).contains("holds no model"), "{}", text(Some(3)));
        let raw = put("point_cloud/iteration_900/point_cloud_raw.ply");
        let old = put("point_cloud/iteration_900/point_cloud.ply");
        let last = put("point_cloud/iteration_1000/point_cloud.ply");
        put("point_cloud/iteration_x/point_cloud.ply");
        std::fs::create_dir_all(run.join("point_cloud/iteration_2000")).unwrap();
        let find = |target: &Path, iteration| Location::find(target, iteration).unwrap();
        assert_eq!((find(&run, None).ply, find(&run, None).config), (last, None));
        let config = Some(put("config.resolved.yaml"));
        let expected = Location {
            ply: raw,
            config: config.clone(),
            kernel_of_profile: false,
        };
        assert_eq!(find(&run, Some(900)), expected);
        assert_eq!(
            find(&old, None),
            Location {
                ply: old.clone(),
                config,
                kernel_of_profile: false,
            }
        );
        assert!(text(Some(7)).ends_with("no model of iteration 7; there is 900, 1000"));
        assert!(
            Location::find(&old, Some(900))
                .unwrap_err()
                .to_string()
                .contains("--iteration")
        );
    }
}
