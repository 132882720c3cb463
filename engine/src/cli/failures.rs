//! Exit codes and hints of training errors.

use kiln_blocks::merge::MergeError;

use super::{Exit, Failure};
use crate::eval::lpips::LpipsError;
use crate::export::PlyError;
use crate::jobs::kinds::foreign;
use crate::jobs::shell::word;
use crate::mesh::{DrawnError, MeshError};
use crate::plan::{BoundError, PlanError};
use crate::project::ProjectError;
use crate::run::{RunError, StoredError};
use crate::serve::ServeError;
use crate::train::TrainError;
use crate::train::checkpoint::CheckpointError;
use kiln_gpu::memory::{BudgetLimit, MemoryError};
use kiln_gpu::vk::VkError;
use kiln_kernels::counters::Stall;
use kiln_program::Tag;
use kiln_scene::SubsetError;

impl Failure for VkError {
    fn exit(&self) -> Exit {
        match self {
            Self::Loader(_)
            | Self::NoDevice(_)
            | Self::Unsupported { .. }
            | Self::Pipeline { .. }
            | Self::DriverDied(_) => Exit::NoDevice,
            Self::OutOfMemory { .. } => Exit::DoesNotFit,
            Self::Lost { .. } => Exit::DeviceLost,
            Self::Hazard(_) | Self::Timeout(..) | Self::Call { .. } => Exit::Internal,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Loader(_) | Self::NoDevice(_) => Some("`kiln doctor` shows what was found".to_owned()),
            Self::OutOfMemory { .. } => Some("`--set memory.cap_gib=N` plans with less device memory".to_owned()),
            Self::Pipeline { .. } => Some(
                "another version of the driver may compile it, and `--device` chooses another device; `kiln doctor` lists them"
                    .to_owned(),
            ),
            Self::DriverDied(_) => Some(
                "`--device` chooses another device, and `VK_DRIVER_FILES=FILE.json` another driver by its manifest; under WSL2 \
                 `kiln.exe` uses the card's own"
                    .to_owned(),
            ),
            Self::Unsupported { .. } => Some("`kiln doctor` shows what each device can do, `--device` chooses one".to_owned()),
            Self::Lost { .. } => Some(
                "`--resume` goes on from the newest checkpoint; a device that is lost again needs another driver or cooling"
                    .to_owned(),
            ),
            Self::Hazard(_) => None,
            Self::Timeout(..) => Some("another program may hold the device; `kiln doctor` lists the others".to_owned()),
            Self::Call { .. } => Some("a newer driver may not fail; `kiln doctor` shows which one is used".to_owned()),
        }
    }
}

impl Failure for ProjectError {
    fn exit(&self) -> Exit {
        match self {
            Self::Write(error) => error.exit(),
            Self::Scene(error) => error.exit(),
            Self::Plan(error) => error.exit(),
            Self::Subset(SubsetError::Read(error)) => error.exit(),
            Self::Merge(MergeError::Stopped) => Exit::Interrupted,
            Self::Merge(MergeError::Write { .. }) | Self::Subset(SubsetError::Write(_)) => Exit::Output,
            Self::NotEmpty { .. }
            | Self::OtherSplit { .. }
            | Self::TrainedOtherwise { .. }
            | Self::IsTrained { .. }
            | Self::Busy { .. }
            | Self::NoRoom { .. } => Exit::Output,
            Self::DoesNotFit { .. } => Exit::DoesNotFit,
            Self::Merge(_)
            | Self::NoProject { .. }
            | Self::NotMerged { .. }
            | Self::NoProjectOf { .. }
            | Self::Unreadable { .. }
            | Self::Unsuitable { .. }
            | Self::Foreign { .. }
            | Self::NoSuchBlock { .. }
            | Self::WasCut { .. }
            | Self::MissingBlock { .. }
            | Self::Changed { .. }
            | Self::OtherHoldOut { .. }
            | Self::Untrained { .. }
            | Self::NoModel { .. } => Exit::Data,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Write(error) => error.hint(),
            Self::Scene(error) => error.hint(),
            Self::Plan(error) => error.hint(),
            Self::Subset(SubsetError::Read(error)) => error.hint(),
            Self::Subset(SubsetError::Write(_)) => None,
            Self::Merge(error) => match error {
                MergeError::Differ { .. } => Some("train all blocks with the settings of the project".to_owned()),
                MergeError::Nothing(_) => {
                    Some("train the blocks for longer, or look at them with `kiln view`".to_owned())
                }
                MergeError::Model { .. } | MergeError::Changed(_) => {
                    Some("train its block again, with `--overwrite`".to_owned())
                }
                MergeError::Write { .. } | MergeError::Stopped => None,
            },
            Self::Unsuitable { remedy, .. } | Self::DoesNotFit { remedy, .. } => Some(remedy.clone()),
            Self::NoProject { .. } => Some("`kiln split SCENE --profile NAME -o PROJECT` makes one".to_owned()),
            Self::NotMerged { project, .. } => Some(format!("`kiln merge {}` makes it", word(project))),
            Self::NoProjectOf { .. } => {
                Some("blocks are trained where `kiln split` put them, in PROJECT/blocks".to_owned())
            }
            Self::Unreadable { .. } => Some("it is damaged, or of another version of Kiln".to_owned()),
            Self::NotEmpty { .. } => Some("`-o FOLDER` names one that is new or empty".to_owned()),
            Self::OtherSplit { .. } => {
                Some("`-o FOLDER` makes another project; what was trained in this one stays as it is".to_owned())
            }
            Self::Foreign { .. } => Some("move it elsewhere".to_owned()),
            Self::NoSuchBlock { project, .. } => Some(format!("`kiln status {}` lists its blocks", word(project))),
            Self::WasCut { .. } => Some("name its parts in its place, as the project's blocks.txt does".to_owned()),
            Self::IsTrained { .. } => {
                Some("leave it as it is; `kiln train --overwrite` trains it again, with other settings".to_owned())
            }
            Self::MissingBlock { .. } => {
                Some("copy the project again with all its blocks, or split the scene again".to_owned())
            }
            Self::Changed { .. } => {
                Some("put it back as it was; or split the scene again, with `-o` into another folder".to_owned())
            }
            Self::OtherHoldOut { .. } => Some("delete it: it is written again from project.json".to_owned()),
            Self::Untrained { path, missing, .. } => {
                let block = missing
                    .first()
                    .map(|name| path.join(crate::project::BLOCKS).join(name))?;
                Some(format!(
                    "`kiln train {}` trains the first of them, `kiln status` shows them all",
                    word(&block)
                ))
            }
            Self::TrainedOtherwise { .. } => {
                Some("leave the settings out, or train it again with `--overwrite`".to_owned())
            }
            Self::NoModel { .. } => Some(
                "blocks are merged from models of Gaussians: leave `exporters` and `schedule.save` as they are"
                    .to_owned(),
            ),
            Self::Busy { .. } => Some("wait for it".to_owned()),
            Self::NoRoom { .. } => Some("free some disk space, or write elsewhere with `-o FILE`".to_owned()),
        }
    }
}

impl Failure for CheckpointError {
    fn exit(&self) -> Exit {
        Exit::Data
    }
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { .. } => "`--resume` without a file takes the newest checkpoint of the run".to_owned(),
            Self::Damaged { .. } | Self::NotNumbers { .. } => "`--resume=FILE` goes on from an older one of the same folder".to_owned(),
            Self::Format { .. } => {
                "the version that wrote it goes on with it; `-o FOLDER` starts a run of its own".to_owned()
            }
            Self::Mismatch { .. } => {
                "`kiln train --resume -o RUN` alone takes scene and settings from the run; `-o FOLDER` starts one of its own"
                    .to_owned()
            }
            Self::Over { iteration, .. } => return Some(format!("`--iterations` with more than {iteration} goes on")),
            Self::None(_) => "without `--resume` the run starts from the beginning".to_owned(),
        })
    }
}

impl Failure for MemoryError {
    fn exit(&self) -> Exit {
        match self {
            Self::Vulkan(error) => error.exit(),
            Self::OverBudget { .. } | Self::TooLarge { .. } => Exit::DoesNotFit,
            Self::OutOfRange { .. } | Self::NotAsPlanned { .. } | Self::Overrun { .. } => Exit::Internal,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Vulkan(error) => error.hint(),
            Self::OverBudget { .. } => Some(KNOBS.to_owned()),
            Self::TooLarge { tag, .. } => Some(smaller(*tag).to_owned()),
            Self::OutOfRange { .. } | Self::NotAsPlanned { .. } | Self::Overrun { .. } => None,
        }
    }
}

impl Failure for LpipsError {
    fn exit(&self) -> Exit {
        match self {
            Self::Weights { .. } => Exit::Data,
            Self::Budget { .. } => Exit::DoesNotFit,
            Self::Memory(error) => error.exit(),
            Self::Size { .. } | Self::Length { .. } => Exit::Internal,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Memory(error) => error.hint(),
            _ => Some("`--set eval.lpips=false` goes without LPIPS".to_owned()),
        }
    }
}

impl Failure for ServeError {
    fn reader_left(&self) -> bool {
        matches!(self, Self::Write(error) if error.reader_left())
    }
    fn exit(&self) -> Exit {
        match self {
            Self::Folder { .. } | Self::NotShown { .. } | Self::Model(_) | Self::NoRuns { .. } => Exit::Data,
            Self::Beyond { .. } | Self::Listen { .. } => Exit::Usage,
            Self::System(_) | Self::NoPage => Exit::Internal,
            Self::NotAnExport { .. } | Self::Write(_) => Exit::Output,
        }
    }
    fn hint(&self) -> Option<String> {
        self.hint()
    }
}

/// What makes tensors of a kind smaller. Each has one unit, and nothing else changes its size.
const fn smaller(tag: Tag) -> &'static str {
    match tag {
        Tag::Pixels | Tag::Loss | Tag::Staging => {
            "`--resolution 2` makes photos smaller, and all that has an entry per pixel"
        }
        Tag::Images => {
            "`--set dataset.residency=host` keeps photos off the device; `--resolution 2` makes them smaller"
        }
        Tag::Lpips => "`--set eval.lpips=false` goes without it",
        // Of the others only the workspaces of densification grow with anything.
        Tag::Parameters
        | Tag::Optimizer
        | Tag::Statistics
        | Tag::Visible
        | Tag::Intersections
        | Tag::Gradients
        | Tag::Sort
        | Tag::Neighbors
        | Tag::Densify
        | Tag::Other => "`--max-gaussians N` with fewer Gaussians makes it smaller",
    }
}

const MORE_ROOM: &str = "fewer Gaussians (a smaller `memory.max_gaussians`) or a larger `memory.cap_gib` leave room for more; \
                         `--resolution 2` needs less";
const KNOBS: &str = "these take less: `--resolution 2`, `--sh-degree 2`, `--set memory.max_gaussians=N`; a larger \
                     `memory.cap_gib` allows more";

/// What to do with a file that no model is read from, where that is plain to see.
fn instead_of_model(error: &PlyError) -> Option<String> {
    let PlyError::File { path, problem } = error else {
        return None;
    };
    let is_none = matches!(
        **problem,
        PlyError::Header { line: 1, .. } | PlyError::Delivered(_) | PlyError::Splats(kiln_formats::Error::Damaged(_))
    );
    let (what, instead) = foreign(path).filter(|_| is_none)?;
    Some(format!("it is {what}: {instead}"))
}

impl Failure for PlanError {
    fn exit(&self) -> Exit {
        match self {
            Self::Scene(_) | Self::Ply(_) | Self::Init(_) => Exit::Data,
            Self::Lpips(error) => error.exit(),
            Self::Memory(error) => error.exit(),
            Self::Vulkan(error) => error.exit(),
            Self::Bound(error) => match error {
                BoundError::TooManyGaussians { .. } => Exit::Config,
                BoundError::DoesNotFit { .. } | BoundError::TooLarge { .. } => Exit::DoesNotFit,
                _ => Exit::Data,
            },
            Self::Triangles(_) => Exit::DoesNotFit,
            Self::Loss(_) | Self::TooMuchBackground { .. } => Exit::Config,
            Self::NoDevice(_) => Exit::NoDevice,
            Self::DoesNotFit { .. } | Self::ImagesDoNotFit { .. } | Self::HostMemory { .. } => Exit::DoesNotFit,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Memory(error) => error.hint(),
            Self::Lpips(error) => error.hint(),
            Self::Vulkan(error) => error.hint(),
            Self::Loss(error) => Some(error.hint().to_owned()),
            Self::Bound(error) => Some(error.hint()),
            Self::Triangles(error) => Some(error.hint()),
            Self::NoDevice(_) => Some("`kiln doctor` lists the devices".to_owned()),
            Self::DoesNotFit { remedies, .. } | Self::ImagesDoNotFit { remedies, .. } => Some(remedies.to_string()),
            Self::HostMemory { residency: "host", .. } => Some(
                "`--set dataset.residency=stream` keeps `dataset.cache_gib` of them; `--resolution 2` makes them smaller"
                    .to_owned(),
            ),
            Self::HostMemory { .. } => Some("`--set dataset.cache_gib=N` keeps fewer of them".to_owned()),
            // Its message says what to do.
            Self::TooMuchBackground { .. } => None,
            Self::Scene(error) => error.hint(),
            Self::Ply(error) => instead_of_model(error),
            Self::Init(_) => None,
        }
    }
}

impl Failure for TrainError {
    fn exit(&self) -> Exit {
        match self {
            Self::Checkpoint(error) => error.exit(),
            Self::Lpips(error) => error.exit(),
            Self::Memory(error) => error.exit(),
            Self::Vulkan(error) => error.exit(),
            Self::Export(error) => error.exit(),
            Self::TileTooFull { .. } => Exit::DoesNotFit,
            Self::Triangles(_) => Exit::Data,
            Self::Job(_) => Exit::Internal,
            Self::Stalled { counters, .. } => match counters.stall() {
                Some(Stall::Visible | Stall::Intersections | Stall::Loops) => Exit::DoesNotFit,
                _ => Exit::Internal,
            },
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Memory(error) => error.hint(),
            Self::Lpips(error) => error.hint(),
            Self::Vulkan(error) => error.hint(),
            Self::Checkpoint(error) => error.hint(),
            Self::Export(error) => error.hint(),
            Self::TileTooFull { .. } => Some(MORE_ROOM.to_owned()),
            // Their messages say what to do.
            Self::Job(_) | Self::Triangles(_) => None,
            Self::Stalled { counters, .. } => match counters.stall() {
                Some(Stall::Visible | Stall::Intersections) => Some(MORE_ROOM.to_owned()),
                Some(Stall::Loops) => Some(
                    "on this CPU driver a tile holds 349520 splats or triangles at most; larger photos (a smaller `-r`) have fewer in a \
                     tile, and so have smaller models (`--set memory.max_gaussians=N`); GPUs have no such limit"
                        .to_owned(),
                ),
                _ => Some(
                    "`kiln inspect SCENE` shows what is odd about the data; `--resume` goes on from the newest checkpoint"
                        .to_owned(),
                ),
            },
        }
    }
}

impl Failure for DrawnError {
    fn exit(&self) -> Exit {
        match self {
            Self::Read { .. }
            | Self::Ending { .. }
            | Self::File { .. }
            | Self::NoFaces { .. }
            | Self::Texture { .. }
            | Self::Textures { .. }
            | Self::NoTruth { .. }
            | Self::Host(_) => Exit::Data,
            Self::Picture(_) => Exit::Internal,
            Self::Memory(error) => error.exit(),
            Self::Export(error) => error.exit(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Memory(MemoryError::OverBudget { .. } | MemoryError::TooLarge { .. }) => Some(
                "these take less: a mesh of fewer triangles, a smaller texture, `--resolution 2`; a larger `memory.cap_gib` \
                 allows more"
                    .to_owned(),
            ),
            Self::Memory(error) => error.hint(),
            Self::Export(error) => error.hint(),
            Self::Picture(_) => Some("this is a defect of Kiln; please report it with the command that led to it".to_owned()),
            Self::NoFaces { .. } => Some("`kiln mesh MODEL.ply --scene DIR` makes a mesh of a splat model".to_owned()),
            // Their messages say what to do.
            _ => None,
        }
    }
}

impl Failure for MeshError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoViews
            | Self::NoGaussians
            | Self::NoSurface { .. }
            | Self::NotBound { .. }
            | Self::NothingLeft { .. } => Exit::Data,
            Self::Voxels { .. } => Exit::Config,
            Self::DoesNotFit { .. } | Self::HostMemory { .. } | Self::Decimation { .. } | Self::Neighbors(_) => {
                Exit::DoesNotFit
            }
            Self::Poisson(kiln_mesh::Error::Memory { .. }) => Exit::DoesNotFit,
            Self::Poisson(_) | Self::Model { .. } => Exit::Data,
            Self::Stopped => Exit::Interrupted,
            Self::Train(error) => error.exit(),
            Self::Memory(error) => error.exit(),
            Self::Scene(error) => error.exit(),
            Self::Texture(DrawnError::Host(_)) => Exit::Config,
            Self::Texture(error) => error.exit(),
            Self::Mesh(_) | Self::Picture(_) => Exit::Internal,
            Self::Export(error) => error.exit(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoViews | Self::NoGaussians | Self::Stopped | Self::Model { .. } => None,
            Self::NotBound { .. } => {
                Some("`--method fusion` finds the surface of any model; `--recipe bound` trains one on a mesh".to_owned())
            }
            Self::Voxels { least, .. } => Some(format!("`--set mesh.voxel={}` fits", rounded_up(*least))),
            Self::NoSurface { .. } => Some(
                "`--set mesh.space=contracted` has voxels everywhere; `mesh.box` and `mesh.far` say where else; `kiln render \
                 --depth` shows the depth of views"
                    .to_owned(),
            ),
            Self::NothingLeft { .. } => Some(
                "`--set mesh.min_triangles=0` keeps small pieces, `--method closed` what no view sees".to_owned(),
            ),
            Self::DoesNotFit { budget, .. } => {
                let less = "`--resolution 2` draws smaller views, a larger `mesh.voxel` or a smaller `mesh.box` has fewer bricks";
                Some(match budget.limit {
                    BudgetLimit::Profile => format!("a larger `--vram` (`memory.cap_gib`) allows more; {less}"),
                    BudgetLimit::Reported => format!("{less}; ending other programs that use the device leaves more"),
                    BudgetLimit::Fraction | BudgetLimit::Unreported => less.to_owned(),
                })
            }
            Self::HostMemory { fitting_voxel, .. } => {
                Some(format!("`--set mesh.voxel={}` fits", rounded_up(*fitting_voxel)))
            }
            Self::Neighbors(_) => Some("`--method poisson_depths` takes points without a density".to_owned()),
            Self::Poisson(kiln_mesh::Error::Memory { .. }) => Some(
                "`--set mesh.quality=draft` takes fewer points and a coarser lattice"
                    .to_owned(),
            ),
            Self::Poisson(_) => Some(
                "`mesh.box` and `mesh.far` say where points count; `kiln render --depth --normals` shows what views see; \
                 `--method fusion` leaves open what no view sees"
                    .to_owned(),
            ),
            Self::Decimation { .. } => {
                Some("a larger `mesh.voxel` makes fewer triangles, `--set mesh.decimate=null` keeps them all".to_owned())
            }
            Self::Train(error) => error.hint(),
            Self::Memory(error) => error.hint(),
            Self::Scene(error) => error.hint(),
            Self::Texture(_) => Some(
                "a larger `mesh.texture.size` has room for more charts, `--set mesh.decimate={triangles: 100000}` makes fewer; \
                 `--set mesh.texture.kind=none` goes without a picture"
                    .to_owned(),
            ),
            Self::Mesh(_) | Self::Picture(_) => {
                Some("this is a defect of Kiln; please report it with the command that led to it".to_owned())
            }
            Self::Export(error) => error.hint(),
        }
    }
}

/// Three digits, not below the value.
fn rounded_up(value: f64) -> String {
    let unit = 10.0_f64.powf(value.log10().floor() - 2.0);
    let digits = (2.0 - value.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{:.digits$}", (value / unit).ceil() * unit)
}

impl Failure for RunError {
    fn reader_left(&self) -> bool {
        matches!(self, Self::Export(error) if error.reader_left())
    }
    fn exit(&self) -> Exit {
        match self {
            Self::Plan(error) => error.exit(),
            Self::Train(error) => error.exit(),
            Self::Drawn(error) => error.exit(),
            Self::Stored(StoredError::TileTooFull { .. } | StoredError::HostMemory { .. }) => Exit::DoesNotFit,
            Self::Scene(_) | Self::Ply(_) | Self::Cameras(_) | Self::Stored(_) => Exit::Data,
            Self::Export(error) => error.exit(),
            Self::Folder(error) => error.exit(),
            Self::Mesh(error) => error.exit(),
            Self::Picture(_) | Self::Report(_) | Self::Grew { .. } | Self::Validation { .. } => Exit::Internal,
            Self::DeviceLost { .. } => Exit::DeviceLost,
            Self::NotFinite { .. } => Exit::NotFinite,
            Self::Spilled { .. } => Exit::Spilled,
            Self::Overflow { .. } => Exit::DoesNotFit,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Plan(error) => error.hint(),
            Self::Train(error) => error.hint(),
            Self::Drawn(error) => error.hint(),
            Self::Folder(error) => error.hint(),
            Self::Export(error) => error.hint(),
            Self::Mesh(error) => error.hint(),
            Self::Spilled { saved, .. } => {
                let resume = if *saved { "`--resume` goes on from the checkpoint that was written; " } else { "" };
                Some(format!(
                    "{resume}ending other programs that use the device, or a smaller `memory.cap_gib`, keeps memory where \
                     it belongs; `--set memory.on_spill=warn` goes on, slowly"
                ))
            }
            Self::DeviceLost { .. } => Some(
                "`--resume` goes on from the newest checkpoint, with submissions half as long; a device that is lost again needs \
                 another driver or cooling"
                    .to_owned(),
            ),
            Self::Overflow { .. } => Some(
                "`--set memory.on_full=cap --resume` goes on with the Gaussians there are; a larger \
                 `memory.max_gaussians` or `memory.cap_gib` has room for more"
                    .to_owned(),
            ),
            Self::Picture(_) | Self::Report(_) | Self::Validation { .. } => {
                Some("this is a defect of Kiln; please report it with the command that led to it".to_owned())
            }
            Self::NotFinite { .. } => Some(
                "`kiln inspect SCENE` shows what is odd about the data; lower rates, such as `--set optimizer.lr.sh0=0.001`, move \
                 less at a step"
                    .to_owned(),
            ),
            // Its message asks for a report already.
            Self::Grew { .. } => None,
            Self::Scene(error) => error.hint(),
            Self::Stored(StoredError::TileTooFull { .. }) => {
                Some("`--set memory.cap_gib=GIB` with more leaves room for them, where the device has it".to_owned())
            }
            Self::Ply(error) => instead_of_model(error),
            Self::Cameras(_) | Self::Stored(_) => None,
        }
    }
}
