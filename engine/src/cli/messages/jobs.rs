//! Jobs: requests that cannot be done, and COLMAP.

use super::{complete, golden, path, system};
use crate::jobs::{PosesError, RequestError};

#[test]
fn jobs() {
    let requests = vec![
        RequestError::NotAModel {
            path: path("runs"),
            what: "a folder of runs: bonsai, garden".to_owned(),
            instead: "name one of them, for example runs/bonsai".to_owned(),
        },
        RequestError::SceneMoved {
            path: path("/data/garden"),
            run: path("runs/garden"),
            instead: "name its folder after the run: `kiln eval runs/garden SCENE`".to_owned(),
        },
        RequestError::Unread {
            command: "eval",
            key: "strategy.kind".to_owned(),
            flag: "--set".to_owned(),
        },
        RequestError::OfTriangles {
            key: "mesh_splatting.max_points".to_owned(),
            flag: "--max-points".to_owned(),
        },
        RequestError::Converted {
            path: path("triangles.ply"),
            key: "mesh.voxel".to_owned(),
            flag: "--set".to_owned(),
        },
        RequestError::KernelStated {
            path: path("model.ply"),
            stated: "mip, 0.1 px^2".to_owned(),
            key: "mip.kernel_size".to_owned(),
        },
        RequestError::OutputIsScene { path: path("garden") },
        RequestError::NoSceneOfModel {
            instead: "name its folder after the model: `kiln eval model.ply SCENE`".to_owned(),
        },
        RequestError::NoScene,
        RequestError::NoMesh,
        RequestError::NoRunToResume,
        RequestError::NoRunAround {
            checkpoint: path("checkpoint_00003000.kiln"),
        },
        RequestError::RecipeOfRun {
            recipe: "mip".to_owned(),
            run: path("runs/garden"),
        },
        RequestError::RunAsScene {
            path: path("runs/my garden"),
        },
        RequestError::ProjectAsScene {
            path: path("city-blocks"),
            block: path("city-blocks/blocks/b0000"),
        },
        RequestError::IsSplit {
            path: path("city-blocks"),
            block: path("city-blocks/blocks/b0000"),
        },
        RequestError::NoProjectFolder,
        RequestError::NoProfile,
        RequestError::OfBlock {
            block: path("city/blocks/b0000"),
            flag: "--output".to_owned(),
        },
        RequestError::OfCut {
            block: path("city/blocks/b0000"),
            flag: "--profile".to_owned(),
        },
    ];
    let mut examples = complete!(
        RequestError,
        requests,
        [
            NotAModel,
            SceneMoved,
            Unread,
            OfTriangles,
            Converted,
            KernelStated,
            OutputIsScene,
            NoSceneOfModel,
            NoScene,
            NoMesh,
            NoRunToResume,
            NoRunAround,
            RecipeOfRun,
            RunAsScene,
            ProjectAsScene,
            IsSplit,
            NoProjectFolder,
            NoProfile,
            OfBlock,
            OfCut,
        ]
    );
    let poses = vec![
        PosesError::Absent,
        PosesError::Failed {
            step: "feature_extractor",
            status: "exit status: 1".to_owned(),
            said: "no images were found".to_owned(),
            log: path("runs/garden-colmap/colmap.log"),
        },
        PosesError::NoModel {
            photos: 12,
            folder: path("garden/images"),
            log: path("runs/garden-colmap/colmap.log"),
        },
        PosesError::System {
            action: "make the folder",
            path: path("runs/garden-colmap/sparse"),
            source: system(std::io::ErrorKind::PermissionDenied),
        },
        PosesError::Interrupted {
            step: "mapper",
            signal: crate::run::interrupt::Signal::Interrupt,
        },
    ];
    examples.extend(complete!(
        PosesError,
        poses,
        [Absent, Failed, NoModel, System, Interrupted]
    ));
    golden("jobs", examples);
}
