//! Why a run cannot be planned.

use std::io;
use std::path::PathBuf;

use crate::eval::lpips::LpipsError;
use crate::export::PlyError;
use crate::gaussians::init::InitError;
use crate::memory::{Budget, MemoryError};
use crate::plan::Remedies;
use crate::plugins::Maps;
use crate::scene::SceneError;
use crate::vk::VkError;

/// What keeps a run from being planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Scene data.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A file that the initial model is to come from.
    #[error(transparent)]
    Ply(#[from] PlyError),
    /// The initial model.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The mesh that Gaussians are to be bound to.
    #[error(transparent)]
    Bound(#[from] BoundError),
    /// A model of triangles.
    #[error(transparent)]
    Triangles(#[from] TrianglesError),
    /// Memory that was planned or committed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The device.
    #[error(transparent)]
    Vulkan(#[from] VkError),
    /// LPIPS or its weights.
    #[error(transparent)]
    Lpips(#[from] LpipsError),
    /// A loss that the scene cannot serve.
    #[error(transparent)]
    Loss(#[from] LossError),
    /// No device fits the request.
    #[error("{0}")]
    NoDevice(String),
    /// The model or the smallest useful plan is larger than the cap.
    #[error(
        "the run needs {:.1} MiB of device memory for {gaussians} Gaussians but the cap is {:.1} MiB, {budget}",
        mib(*needed_bytes),
        mib(budget.cap_bytes)
    )]
    DoesNotFit {
        /// Bytes of the smallest plan.
        needed_bytes: u64,
        /// Gaussians it was made for.
        gaussians: u32,
        /// A number of Gaussians that does fit, where fewer are enough.
        fitting: Option<u32>,
        /// What is allowed, and why.
        budget: Box<Budget>,
        /// What fits instead.
        remedies: Remedies,
    },
    /// The background is set to more points than the model may have beside the others.
    #[error(
        "`init.background` is {count}: with {points} other points that is more than `{key}`, {capacity}; fewer points of \
         background fit, or a larger `{key}`"
    )]
    TooMuchBackground {
        /// Points of background asked for.
        count: u32,
        /// Points besides.
        points: u32,
        /// The setting that limits them.
        key: &'static str,
        /// Its value.
        capacity: u32,
    },
    /// Images that are to stay on the device leave too little of the cap.
    #[error(
        "`dataset.residency` is device, but {images} training images need {:.1} MiB of device memory and the rest at least \
         {:.1} MiB, and the cap is {:.1} MiB",
        mib(*images_bytes),
        mib(*other_bytes),
        mib(*cap_bytes)
    )]
    ImagesDoNotFit {
        /// Training images.
        images: usize,
        /// Bytes of them.
        images_bytes: u64,
        /// Bytes of the smallest plan without them.
        other_bytes: u64,
        /// Bytes allowed.
        cap_bytes: u64,
        /// What fits instead.
        remedies: Remedies,
    },
    /// Decoded images would need more memory than the machine has left.
    #[error(
        "`dataset.residency` is {residency}: decoded images need up to {:.1} MiB of memory, and {:.1} MiB are available",
        mib(*needed_bytes),
        mib(*available_bytes)
    )]
    HostMemory {
        /// The setting.
        residency: &'static str,
        /// Bytes of the estimate.
        needed_bytes: u64,
        /// Bytes the system can give without swapping.
        available_bytes: u64,
    },
}

impl PlanError {
    /// What noticed that the device is lost, when that is the error.
    pub(crate) fn lost(&self) -> Option<&str> {
        match self {
            Self::Vulkan(VkError::Lost { during })
            | Self::Memory(MemoryError::Vulkan(VkError::Lost { during }))
            | Self::Lpips(LpipsError::Memory(MemoryError::Vulkan(VkError::Lost { during }))) => Some(during),
            _ => None,
        }
    }
}

/// Why Gaussians cannot be bound to a mesh.
#[derive(Debug, thiserror::Error)]
pub enum BoundError {
    /// A file that cannot be read.
    #[error("the mesh {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file whose name says nothing that meshes are stored in.
    #[error("{} is no mesh file by its name; .ply, .obj and .glb are read", path.display())]
    Ending {
        /// The file.
        path: PathBuf,
    },
    /// A file of the right kind that holds no usable mesh.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: kiln_mesh::Error,
    },
    /// Points only.
    #[error("{} holds {vertices} points and no triangle that Gaussians could be bound to", path.display())]
    NoFaces {
        /// The file.
        path: PathBuf,
        /// Its points.
        vertices: usize,
    },
    /// More Gaussians than the profile allows.
    #[error(
        "{triangles} triangles with {per_triangle} Gaussians each are more than the {most} of `memory.max_gaussians`, and their number \
         is fixed"
    )]
    TooManyGaussians {
        /// Triangles of the mesh.
        triangles: u32,
        /// Gaussians of each.
        per_triangle: u32,
        /// What the profile allows.
        most: u32,
    },
    /// The smallest plan is larger than the cap.
    #[error(
        "{triangles} triangles with {per_triangle} Gaussians each need {:.1} MiB of device memory, and the cap is {:.1} MiB",
        mib(*needed_bytes),
        mib(*cap_bytes)
    )]
    DoesNotFit {
        /// Bytes of the smallest plan.
        needed_bytes: u64,
        /// Bytes allowed.
        cap_bytes: u64,
        /// Triangles of the mesh.
        triangles: u32,
        /// Gaussians of each.
        per_triangle: u32,
        /// Triangles that would fit; 0 where none would.
        fitting: u32,
        /// What fits instead.
        remedies: Remedies,
    },
    /// More triangles or vertices than a pass can bind.
    #[error(
        "the mesh has {triangles} triangles and {vertices} vertices, and passes of this device bind at most {most} of either at once"
    )]
    TooLarge {
        /// Triangles of the mesh.
        triangles: u32,
        /// Vertices of the mesh.
        vertices: u32,
        /// What a pass can bind.
        most: u64,
    },
}

impl BoundError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Read { .. } | Self::Ending { .. } | Self::File { .. } => {
                "`--init-mesh FILE` names the mesh".to_owned()
            }
            Self::NoFaces { .. } => "name a mesh; `kiln mesh` makes one of a trained model".to_owned(),
            Self::TooManyGaussians { .. } => {
                "a larger `memory.max_gaussians`, a smaller `bound.per_triangle`, or a mesh of fewer \
                                              triangles (`mesh.decimate`)"
                    .to_owned()
            }
            Self::DoesNotFit {
                fitting: 0, remedies, ..
            } => remedies.to_string(),
            Self::DoesNotFit {
                fitting,
                per_triangle,
                remedies,
                ..
            } => format!(
                "a mesh of {fitting} triangles fits (`mesh.decimate: {{ triangles: {fitting} }}`){}{}",
                if *per_triangle > 1 {
                    ", a smaller `bound.per_triangle` has room for more"
                } else {
                    ""
                },
                remedies.behind()
            ),
            Self::TooLarge { most, .. } => {
                format!("a mesh of fewer triangles: `mesh.decimate: {{ triangles: {most} }}`")
            }
        }
    }
}

/// Why a model of triangles cannot be trained.
#[derive(Debug, thiserror::Error)]
pub enum TrianglesError {
    /// The smallest plan is larger than the cap.
    #[error(
        "the first model's {vertices} vertices, three a point, need {:.1} MiB of device memory, and the cap is {:.1} MiB",
        mib(*needed_bytes),
        mib(*cap_bytes)
    )]
    DoesNotFit {
        /// Bytes of the smallest plan.
        needed_bytes: u64,
        /// Bytes allowed.
        cap_bytes: u64,
        /// Vertices of the first model.
        vertices: u32,
        /// Vertices that would fit; 0 where not even a few would.
        fitting: u32,
        /// What fits instead.
        remedies: Remedies,
    },
    /// The cap holds the first model, but not as many vertices as the profile wants room for.
    #[error(
        "`mesh_splatting.max_points` wants room for {vertices} vertices, which needs {:.1} MiB of device memory, and the cap is {:.1} MiB",
        mib(*needed_bytes),
        mib(*cap_bytes)
    )]
    NoRoom {
        /// Bytes of the smallest plan.
        needed_bytes: u64,
        /// Bytes allowed.
        cap_bytes: u64,
        /// Vertices wanted.
        vertices: u32,
        /// Vertices that fit.
        fitting: u32,
        /// What fits instead.
        remedies: Remedies,
    },
    /// More vertices than a pass can bind.
    #[error("a model of {vertices} vertices is too large for this device, whose passes bind at most {most} at once")]
    TooLarge {
        /// Vertices of the model, or that the profile wants room for.
        vertices: u32,
        /// What a pass can bind.
        most: u32,
    },
    /// Images that no pass can bind whole.
    #[error(
        "models of triangles take images of at most {most} pixels on this device, whose passes can bind no more at once, and the largest has {pixels}"
    )]
    ImagesTooLarge {
        /// Of the largest image.
        pixels: u32,
        /// That fit a binding.
        most: u64,
    },
    /// The machine has too little memory to connect the surface.
    #[error(
        "connecting a surface of {vertices} vertices takes up to {:.1} MiB of memory, and {:.1} MiB are available",
        mib(*needed_bytes),
        mib(*available_bytes)
    )]
    HostMemory {
        /// Vertices there is room for.
        vertices: u32,
        /// Bytes that it takes.
        needed_bytes: u64,
        /// Bytes the system can give without swapping.
        available_bytes: u64,
        /// Vertices with which it fits.
        fitting: u32,
    },
}

impl TrianglesError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::DoesNotFit {
                fitting: 0, remedies, ..
            } => remedies.to_string(),
            Self::DoesNotFit { fitting, remedies, .. } => format!(
                "`--set mesh_splatting.max_points={fitting}` fits, with fewer of the points{}",
                remedies.behind()
            ),
            Self::NoRoom {
                vertices,
                fitting,
                remedies,
                ..
            } => format!(
                "`--set mesh_splatting.max_points={fitting}` fits, `--set mesh_splatting.max_points=\"up to {vertices}\"` takes what \
                 fits{}",
                remedies.behind()
            ),
            Self::TooLarge { most, .. } => format!("`--set mesh_splatting.max_points={most}`"),
            Self::ImagesTooLarge { .. } => "`dataset.resolution` makes images smaller".to_owned(),
            Self::HostMemory { fitting, .. } => format!(
                "`--set mesh_splatting.max_points={fitting}` fits; `mesh_splatting.delaunay: false` trains a soup that is not \
                 connected"
            ),
        }
    }
}

/// Why a loss cannot be had from a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LossError {
    /// The coverage loss without masks.
    #[error("the loss `{loss}` compares with masks, and the scene has none")]
    NoMasks {
        /// The loss.
        loss: &'static str,
    },
    /// Maps and their loss, one without the other.
    #[error("the loss `{loss}` compares with {} maps, and of these two the run has one", maps.name())]
    NoMaps {
        /// The loss.
        loss: &'static str,
        /// Its maps.
        maps: Maps,
    },
    /// A background that changes behind photos that are blended over one.
    #[error("`model.background` is random, and photos with transparent pixels are blended over one colour once")]
    Blended,
    /// Coverage and scores both want the fourth value of image gradients.
    #[error(
        "the loss `{loss}` and the strategy `error_guided` cannot go together: both use the fourth channel of image gradients"
    )]
    Scores {
        /// The loss.
        loss: &'static str,
    },
    /// Two photos in each step of a run that has few of them at a time.
    #[error(
        "the loss `{loss}` looks at two photos in each step, and `dataset.residency` is stream, which decodes one for each step"
    )]
    Streamed {
        /// The loss.
        loss: &'static str,
    },
    /// More Gaussians than the lists of neighbours can be bound for.
    #[error(
        "the regularizer `density` with {k} neighbours takes at most {most} Gaussians on this device, whose passes can bind no \
         more at once, and the run wants {gaussians}"
    )]
    TooDense {
        /// Gaussians wanted.
        gaussians: u32,
        /// Neighbours of each.
        k: u32,
        /// Gaussians that fit.
        most: u32,
        /// Neighbours with which all of them fit.
        fitting: Option<u32>,
    },
    /// Images that no pass can bind whole.
    #[error(
        "the loss `{loss}` takes images of at most {most} pixels on this device, whose passes can bind no more at once, and \
         the largest has {pixels}"
    )]
    SurfacesTooLarge {
        /// The loss.
        loss: &'static str,
        /// Of the largest image.
        pixels: u64,
        /// That fit a binding.
        most: u64,
    },
}

impl LossError {
    /// What to do about it.
    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::NoMasks { .. } => {
                "`dataset.masks` names their folder; `dataset.alpha: mask` takes them from transparent photos"
            }
            Self::NoMaps { maps: Maps::Depths, .. } => "`dataset.depths` names the folder of the maps",
            Self::NoMaps {
                maps: Maps::Normals, ..
            } => "`dataset.normals` names the folder of the maps",
            Self::Blended => {
                "`dataset.alpha: mask` leaves transparent pixels out, `ignore` takes their colours as they are stored"
            }
            Self::TooDense { fitting: Some(_), .. } => {
                "fewer neighbours, the option `k` of the regularizer, leave room for more"
            }
            Self::TooDense { fitting: None, .. } => "lower `memory.max_gaussians`",
            Self::SurfacesTooLarge { .. } => "`dataset.resolution` makes images smaller",
            Self::Streamed { .. } => {
                "`dataset.residency: host` or `device` keeps all photos; `dataset.resolution` makes them smaller"
            }
            Self::Scores { .. } => "take the loss out, or choose another `strategy.kind`, `mcmc` for instance",
        }
    }
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / crate::memory::MIB as f64
}
