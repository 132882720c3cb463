//! Meshes drawn from the views of a scene, which are pinholes, and held against its photos and against a truth.

use std::path::{Path, PathBuf};

use super::evaluation::{self, Evaluation, Told, lpips_sets};
use super::mesh_renderer::MeshRenderer;
use super::own_split;
use super::resolution_phases::Phase;
use super::stored::{Cameras, of_scene, pictures, size_px, views_of};
use super::{RunError, StoredError};
use crate::eval::{DepthPicture, EvalFile, LpipsRange, Picture};
use crate::mesh::{DepthFile, MeshFile, MeshScores, Truth, TruthSettings};
use crate::plan::{OpenDevice, pinhole_options};
use crate::record::events::Progress;
use kiln_config::Profile;
use kiln_gpu::vk::DeviceKind;
use kiln_scene::{Camera, SceneIndex};

/// A mesh in host memory, and the device that draws it.
pub struct Drawn<'a> {
    profile: &'a Profile,
    /// The run that the scene is looked for in.
    run: Option<&'a Path>,
    open: &'a OpenDevice,
    surface: MeshFile,
    samples: u32,
}

/// Figures of a mesh, and what to say about them.
#[derive(Clone, Debug)]
pub struct MeshEvaluated {
    /// The figures.
    pub report: MeshScores,
    /// What is odd.
    pub warnings: Vec<String>,
}

impl<'a> Drawn<'a> {
    /// Samples along each side of a pixel where nobody says a number.
    pub const SAMPLES: u32 = 4;

    /// Reads the mesh in `path`, with its texture; its pictures have `samples` times `samples` samples a pixel.
    ///
    /// # Errors
    /// [`RunError::Mesh`] when the file holds no mesh.
    pub fn load(
        path: &Path,
        samples: u32,
        (profile, run): (&'a Profile, Option<&'a Path>),
        open: &'a OpenDevice,
    ) -> Result<Self, RunError> {
        Ok(Self {
            profile,
            run,
            open,
            surface: MeshFile::read(path)?,
            samples,
        })
    }

    /// What the mesh is, for people: `80120 triangles, colours of its vertices`.
    #[must_use]
    pub fn describe(&self) -> String {
        self.surface.describe()
    }

    /// Measures the mesh against all test views and five training views of `scene` and, with `truth`, against that.
    ///
    /// # Errors
    /// [`RunError`] when scene, truth or device fail, and for a scene without test views.
    pub fn evaluate(
        mut self,
        scene: &Path,
        truth: Option<(&Truth, &TruthSettings)>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<MeshEvaluated, RunError> {
        let mut scene = SceneIndex::load(scene, &pinhole_options(self.profile)?)?;
        own_split::keep(&mut scene, self.run)?;
        self.lie_at(scene.origin)?;
        if scene.test.is_empty() {
            let scene = scene.root;
            return Err(StoredError::NoTestViews { scene }.into());
        }
        let mut report = MeshScores::new(&self.surface, self.samples);
        if let Some((truth, settings)) = truth {
            report.truth = Some(truth.score(&self.surface.mesh, settings)?);
        }
        let phase = Phase::at(self.profile, &scene, u32::MAX)?;
        let (weights, warning) = evaluation::lpips_weights(&self.profile.eval)?;
        let sizes_px: Vec<[u32; 2]> = phase.scene.views().map(|(_, view)| size_px(&view.camera)).collect();
        let views = (&sizes_px[..], phase.scene.masked);
        let mut renderer = MeshRenderer::new(self.open, self.profile, &self.surface, self.samples, views, weights)?;
        let evaluation = Evaluation {
            scene: &phase.scene,
            store: &phase.store,
            lpips_of: lpips_sets(self.open.device.caps().kind == DeviceKind::Cpu, true),
            shown: 0,
            corrected: self.profile.learns_photo_colors(),
            counted: false,
        };
        let mut file = EvalFile::new(0, 0, 0.0, LpipsRange::ZeroOne);
        let left_out = evaluation.run(&mut renderer, &mut file, &mut |reported| {
            if let Told::Progress(now) = reported {
                progress(now);
            }
            Ok(())
        })?;
        let tested = file.test.as_ref().map_or(0, |set| set.views.len());
        report.put(file, renderer.coverage.get(..tested).unwrap_or_default());
        let left_out = left_out.iter().map(|(_, error)| format!("{error} (left out)"));
        let warnings = phase.scene.warnings.iter().cloned();
        let warnings = warnings.chain(self.surface.warning()).chain(warning).chain(left_out);
        Ok(MeshEvaluated {
            report,
            warnings: warnings.collect(),
        })
    }

    /// Draws views into `out`, one PNG file named after each; gives their paths.
    ///
    /// # Errors
    /// [`RunError`] when cameras cannot be read, the device fails or a file cannot be written.
    pub fn render(
        self,
        cameras: &Cameras,
        out: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<PathBuf>, RunError> {
        let samples = self.samples;
        self.draw(cameras, samples, out, progress, |renderer, camera, path| {
            let image = renderer.image(camera)?;
            Picture::rendering(size_px(camera), bytemuck::cast_slice(&image), 4)?.write(path)?;
            Ok(())
        })
    }

    /// Draws the depths of views into `out`, one 16-bit PNG file named after each, and `depth.json` with the scale of each;
    /// gives the paths of all. A depth is that of the middle of its pixel.
    ///
    /// # Errors
    /// See [`Drawn::render`].
    pub fn render_depth(
        self,
        cameras: &Cameras,
        out: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<PathBuf>, RunError> {
        let mut depths = DepthFile::default();
        let mut paths = self.draw(cameras, 1, out, progress, |renderer, camera, path| {
            let picture = DepthPicture::new(size_px(camera), &renderer.depth(camera)?)?;
            picture.write(path)?;
            depths.put(path, &picture);
            Ok(())
        })?;
        paths.push(depths.write(out)?);
        Ok(paths)
    }

    /// Takes the mesh relative to a scene's origin, if it is not yet.
    fn lie_at(&mut self, origin: [f64; 3]) -> Result<(), RunError> {
        if self.surface.mesh.origin() != origin {
            self.surface = MeshFile::read_from(&self.surface.path, Some(origin))?;
        }
        Ok(())
    }

    fn draw(
        mut self,
        cameras: &Cameras,
        samples: u32,
        out: &Path,
        progress: &mut dyn FnMut(Progress),
        mut picture: impl FnMut(&mut MeshRenderer<'_>, &Camera, &Path) -> Result<(), RunError>,
    ) -> Result<Vec<PathBuf>, RunError> {
        let (views, _) = match cameras {
            Cameras::Scene { scene, set } => {
                let mut scene = SceneIndex::load(scene, &pinhole_options(self.profile)?)?;
                own_split::keep(&mut scene, self.run)?;
                self.lie_at(scene.origin)?;
                of_scene(&scene, *set, self.profile)?
            }
            _ => views_of(cameras, self.profile)?,
        };
        let sizes_px: Vec<[u32; 2]> = views.iter().map(|(_, camera)| size_px(camera)).collect();
        let views_px = (&sizes_px[..], false);
        let mut renderer = MeshRenderer::new(self.open, self.profile, &self.surface, samples, views_px, None)?;
        pictures(&views, out, progress, |camera, path| {
            picture(&mut renderer, camera, path)
        })
    }
}
