//! Planning, training and models that are read.

use std::io::ErrorKind;

use kiln_formats::Error as FormatError;

use super::{complete, golden, path, system};
use crate::eval::lpips::LpipsError;
use crate::eval::{PictureError, ReportError};
use crate::export::{CamerasError, ExportError, PlyError};
use crate::mesh::{DrawnError, MeshError};
use crate::plan::{BoundError, Job, LossError, NoJob, PlanError, Remedies, Remedy, TrianglesError};
use crate::record::SpillEvidence;
use crate::record::run_folder::RunFolderError;
use crate::run::{DeviceLoss, RunError, StoredError};
use crate::train::TrainError;
use crate::train::checkpoint::CheckpointError;
use kiln_config::plugins::Maps;
use kiln_gaussians::init::InitError;
use kiln_gpu::memory::{Budget, MemoryError};
use kiln_gpu::vk::VkError;
use kiln_kernels::counters::{Counters, Stall};
use kiln_scene::{SceneError, Split};

fn stalled(reason: Stall) -> TrainError {
    let counters = Counters {
        stalled: 1 + reason as u32,
        stall_iteration: 1200,
        visible_wanted: 700_000,
        intersections_wanted: 9_000_000,
        nonfinite: 3,
        nonfinite_index: 17,
        ..bytemuck::Zeroable::zeroed()
    };
    TrainError::Stalled {
        counters: Box::new(counters),
        v_cap: 500_000,
        i_cap: 3_000_000,
    }
}

fn lost(iteration: u32) -> DeviceLoss {
    DeviceLoss {
        iteration,
        noticed: "a training step".to_owned(),
        at: "`rasterize_backward` of `step`".to_owned(),
        submit_ms: 100,
    }
}

fn remedies(list: &[(&str, u64)]) -> Remedies {
    let remedy = |(what, mib): &(&str, u64)| Remedy {
        what: (*what).to_owned(),
        bytes: mib << 20,
    };
    Remedies(list.iter().map(remedy).collect())
}

#[test]
fn plan() {
    let errors = vec![
        PlanError::Scene(SceneError::Resolution(0)),
        PlanError::Ply(PlyError::NoVertices),
        PlanError::Init(InitError::NoPoints),
        PlanError::Bound(BoundError::TooManyGaussians {
            triangles: 2_000_000,
            per_triangle: 6,
            most: 6_000_000,
        }),
        PlanError::Triangles(TrianglesError::DoesNotFit {
            needed_bytes: 900 << 20,
            cap_bytes: 800 << 20,
            vertices: 600_000,
            fitting: 540_672,
            remedies: remedies(&[("`--set memory.cap_gib=0.9`", 900), ("`--sh-degree 2`", 700)]),
        }),
        PlanError::Triangles(TrianglesError::NoRoom {
            needed_bytes: 9000 << 20,
            cap_bytes: 7168 << 20,
            vertices: 8_000_000,
            fitting: 5_390_336,
            remedies: remedies(&[("`--set memory.cap_gib=8.8` on a card that has it", 9000)]),
        }),
        PlanError::Triangles(TrianglesError::DoesNotFit {
            needed_bytes: 900 << 20,
            cap_bytes: 64 << 20,
            vertices: 600_000,
            fitting: 0,
            remedies: remedies(&[("`--resolution 2`", 60)]),
        }),
        PlanError::Triangles(TrianglesError::TooLarge {
            vertices: 3_000_000,
            most: 2_796_202,
        }),
        PlanError::Triangles(TrianglesError::ImagesTooLarge {
            pixels: 24_000_000,
            most: 16_777_216,
        }),
        PlanError::Triangles(TrianglesError::HostMemory {
            vertices: 4_000_000,
            needed_bytes: 9 << 30,
            available_bytes: 4 << 30,
            fitting: 1_769_472,
        }),
        PlanError::Memory(MemoryError::OverBudget {
            needed_bytes: 9 << 30,
            cap_bytes: 7 << 30,
            largest: "model/sh[0] (1.0 GiB)".to_owned(),
        }),
        PlanError::Vulkan(VkError::Timeout("step".to_owned(), 60)),
        PlanError::Lpips(LpipsError::Budget { budget_bytes: 1 << 20 }),
        PlanError::Loss(LossError::NoMasks { loss: "alpha" }),
        PlanError::Loss(LossError::NoMaps {
            loss: "depth",
            maps: Maps::Depths,
        }),
        PlanError::Loss(LossError::NoMaps {
            loss: "normal_map",
            maps: Maps::Normals,
        }),
        PlanError::Loss(LossError::Blended),
        PlanError::Loss(LossError::Scores { loss: "alpha" }),
        PlanError::Loss(LossError::Streamed { loss: "neighbour" }),
        PlanError::Loss(LossError::TooDense {
            gaussians: 3_000_000,
            k: 16,
            most: 2_097_152,
            fitting: Some(11),
        }),
        PlanError::Loss(LossError::SurfacesTooLarge {
            loss: "normals",
            pixels: 24_000_000,
            most: 8_388_608,
        }),
        PlanError::NoDevice(
            "`device.select` is `card`, which 2 devices match; a number or a uuid names one of them; the devices are:\n  \
             0: Card 80, uuid 1234\n  1: Card 80, uuid 5678"
                .to_owned(),
        ),
        PlanError::DoesNotFit {
            needed_bytes: 9 << 30,
            gaussians: 6_000_000,
            fitting: Some(4_505_600),
            budget: Box::new(Budget::new(8 << 30, Some(8 << 30), Some(7 << 30))),
            remedies: remedies(&[
                ("`--set memory.storage=half`", 6100),
                ("`--set memory.storage=compact`", 4700),
                ("`--sh-degree 2`", 6900),
                ("`--max-gaussians 4505600`", 7165),
            ]),
        },
        PlanError::DoesNotFit {
            needed_bytes: 900 << 20,
            gaussians: 200_000,
            fitting: None,
            budget: Box::new(Budget::new(8 << 30, Some(800 << 20), Some(7 << 30))),
            remedies: Remedies::default(),
        },
        PlanError::TooMuchBackground {
            count: 5000,
            points: 3500,
            key: "memory.max_gaussians",
            capacity: 8000,
        },
        PlanError::ImagesDoNotFit {
            images: 185,
            images_bytes: 600 << 20,
            other_bytes: 800 << 20,
            cap_bytes: 1 << 30,
            remedies: remedies(&[("`--set dataset.residency=host`", 800)]),
        },
        PlanError::HostMemory {
            residency: "host",
            needed_bytes: 9 << 30,
            available_bytes: 4 << 30,
        },
        PlanError::HostMemory {
            residency: "stream",
            needed_bytes: 9 << 30,
            available_bytes: 4 << 30,
        },
    ];
    golden(
        "plan",
        complete!(
            PlanError,
            errors,
            [
                Scene,
                Ply,
                Init,
                Bound,
                Triangles,
                Memory,
                Vulkan,
                Lpips,
                Loss,
                NoDevice,
                DoesNotFit,
                TooMuchBackground,
                ImagesDoNotFit,
                HostMemory
            ]
        ),
    );
}

#[test]
fn train() {
    let errors = vec![
        TrainError::Memory(MemoryError::OverBudget {
            needed_bytes: 9 << 30,
            cap_bytes: 7 << 30,
            largest: "model/sh[0] (1.0 GiB)".to_owned(),
        }),
        TrainError::Vulkan(VkError::Timeout("step".to_owned(), 60)),
        TrainError::Export(ExportError::new(&path("runs/a"), system(ErrorKind::StorageFull))),
        TrainError::Triangles(kiln_triangles::Error::NoneLeft { triangles: 1200 }),
        TrainError::Triangles(kiln_triangles::Error::Unconnected { triangles: 1200 }),
        TrainError::Checkpoint(CheckpointError::None(path("runs/a/checkpoints"))),
        TrainError::Lpips(LpipsError::Budget { budget_bytes: 1 << 20 }),
        TrainError::Job(NoJob(Job::Filter)),
        TrainError::TileTooFull {
            iteration: 1200,
            column: 3,
            row: 4,
            splats: 700_000,
            v_cap: 500_000,
        },
        stalled(Stall::Visible),
        stalled(Stall::Intersections),
        stalled(Stall::NonFinite),
        stalled(Stall::Loops),
    ];
    golden(
        "train",
        complete!(
            TrainError,
            errors,
            [
                Memory,
                Vulkan,
                Lpips,
                Export,
                Triangles,
                Checkpoint,
                Job,
                TileTooFull,
                Stalled
            ]
        ),
    );
}

#[test]
fn run() {
    let errors = vec![
        RunError::Scene(SceneError::Resolution(0)),
        RunError::DeviceLost {
            losses: [7000, 9100].map(lost).to_vec(),
            report: Some(path("runs/a/device_lost.json")),
            reopening: None,
        },
        RunError::DeviceLost {
            losses: vec![lost(7000)],
            report: None,
            reopening: Some("the loader found no Vulkan driver".to_owned()),
        },
        RunError::Validation {
            mode: "sync",
            count: 3,
            first: "SYNC-HAZARD-READ_AFTER_WRITE: vkCmdDispatch".to_owned(),
        },
        RunError::Export(ExportError::new(&path("runs/a"), system(ErrorKind::StorageFull))),
        RunError::Folder(RunFolderError::Busy { path: path("runs/a") }),
        RunError::Picture(PictureError {
            what: "the photograph",
            width: 8,
            height: 8,
            found: 64,
            wanted: 192,
        }),
        RunError::Report(ReportError::Size {
            width: 8,
            height: 8,
            found: 16,
            wanted: 8,
        }),
        RunError::Ply(PlyError::NoVertices),
        RunError::Cameras(CamerasError {
            path: path("cameras.json"),
            what: "it holds no camera".to_owned(),
        }),
        RunError::Stored(StoredError::Absent { path: path("runs/b") }),
        RunError::NotFinite {
            iteration: 812,
            left_out: 113,
            steps: 224,
        },
        RunError::Grew {
            iteration: 20_000,
            last_densify: 15_000,
            before: 900_000,
            after: 900_001,
        },
        RunError::Spilled {
            iteration: 2000,
            evidence: SpillEvidence::Probe {
                block: "block 3 (arena)".to_owned(),
                gb_s: 12.5,
                reference_gb_s: 410.0,
            },
            saved: true,
        },
        RunError::Spilled {
            iteration: 0,
            evidence: SpillEvidence::HostHeap {
                host_heap_usage: 900 << 20,
                baseline: 40 << 20,
            },
            saved: false,
        },
        RunError::Overflow {
            iteration: 600,
            dropped: 5000,
            n_cap: 1_000_000,
        },
        RunError::Plan(PlanError::Loss(LossError::NoMasks { loss: "alpha" })),
        RunError::Train(stalled(Stall::Visible)),
        RunError::Mesh(MeshError::NoViews),
        RunError::Drawn(DrawnError::Ending { path: path("mesh.stl") }),
    ];
    golden(
        "run",
        complete!(
            RunError,
            errors,
            [
                Plan, Train, Scene, Export, Folder, Picture, Report, Ply, Cameras, Stored, NotFinite, Grew, Spilled,
                Validation, DeviceLost, Overflow, Mesh, Drawn
            ]
        ),
    );
}

/// Wraps errors that end the program inside another one only.
macro_rules! wrapped {
    ($enum:ident $(in $outer:ident)+, $list:expr, [$($variant:ident),* $(,)?]) => {{
        let name = |error: &$enum| match error {
            $($enum::$variant { .. } => stringify!($variant),)*
        };
        let list = $list;
        for variant in [$(stringify!($variant)),*] {
            assert!(list.iter().any(|error| name(error) == variant), "no example of {variant}");
        }
        list.into_iter()
            .map(|error| {
                let name = format!("{}::{}", stringify!($enum), name(&error));
                $(let error = $outer::from(error);)+
                (name, Box::new(error) as Box<dyn crate::cli::Failure>)
            })
            .collect::<Vec<_>>()
    }};
}

#[test]
fn models() {
    let file = |problem| PlyError::File {
        path: path("model.ply"),
        problem: Box::new(problem),
    };
    let ply = vec![
        file(PlyError::Io(system(ErrorKind::NotFound))),
        PlyError::Io(system(ErrorKind::PermissionDenied)),
        PlyError::Header {
            line: 1,
            found: "no \"ply\" at the start".to_owned(),
        },
        PlyError::NoVertices,
        PlyError::Points,
        PlyError::Delivered("a GLB file"),
        PlyError::Truncated {
            needed: 5_000_000,
            size: 4_000,
        },
        PlyError::NoneSound {
            count: 7,
            what: "a position that is not finite",
        },
        PlyError::Line {
            line: 61,
            found: "no value for rot_3".to_owned(),
        },
    ];
    let formats = vec![
        FormatError::Format("ascii"),
        FormatError::List("vertex".to_owned()),
        FormatError::TooMany(5_000_000_000),
        FormatError::Missing("scale_0, rot_0".to_owned()),
        FormatError::RestCount(7),
        FormatError::Required("KHR_draco_mesh_compression".into()),
        FormatError::Damaged("it is truncated".to_owned()),
        FormatError::Io(system(ErrorKind::UnexpectedEof)),
        FormatError::TooLarge("SOG holds 1 to 268304400 Gaussians, and there are 300000000".to_owned()),
        FormatError::Stopped,
    ];
    let ply = ply.into_iter().chain([PlyError::Splats(FormatError::RestCount(7))]);
    let mut examples = wrapped!(PlyError in RunError,
        ply.collect::<Vec<_>>(),
        [
            File, Io, Header, NoVertices, Points, Delivered, Truncated, NoneSound, Line, Splats
        ]
    );
    examples.extend(wrapped!(FormatError in PlyError in RunError,
        formats,
        [
            Format, List, TooMany, Missing, RestCount, Required, Damaged, Io, TooLarge, Stopped
        ]
    ));
    let stored = vec![
        StoredError::Absent { path: path("runs/b") },
        StoredError::NoModel { path: path("runs/b") },
        StoredError::NoIteration {
            path: path("runs/b"),
            wanted: 7,
            found: "7000, 30000".to_owned(),
        },
        StoredError::OneModel {
            path: path("model.ply"),
        },
        StoredError::NoViews {
            scene: path("garden"),
            set: Split::Test,
        },
        StoredError::NoTestViews { scene: path("garden") },
        StoredError::PartGone {
            scene: path("garden"),
            set: Split::Test,
            names: "0001, 0009".to_owned(),
        },
        StoredError::Triangles {
            path: path("runs/a/triangles.ply"),
        },
        StoredError::TileTooFull {
            column: 12,
            row: 7,
            gaussians: 90_000,
            capacity: 65_536,
        },
        StoredError::HostMemory {
            path: path("city/merged/point_cloud.ply"),
            gaussians: 100_000_000,
            needed_bytes: 23 << 30,
            available_bytes: 9 << 30,
        },
    ];
    examples.extend(wrapped!(StoredError in RunError,
        stored,
        [Absent, NoModel, NoIteration, OneModel, NoViews, NoTestViews, PartGone, Triangles, TileTooFull, HostMemory]
    ));
    let init = vec![
        InitError::NoPoints,
        InitError::NoGaussians,
        InitError::NotFinite {
            index: 3,
            position: [0.0, f32::NAN, 1.0],
        },
        InitError::TooMany(5_000_000_000),
        InitError::ShDegree(4),
    ];
    examples.extend(wrapped!(InitError in PlanError, init, [NoPoints, NoGaussians, NotFinite, TooMany, ShDegree]));
    let bound = vec![
        BoundError::Read {
            path: path("mesh.ply"),
            source: system(ErrorKind::NotFound),
        },
        BoundError::Ending { path: path("mesh.stl") },
        BoundError::File {
            path: path("mesh.ply"),
            source: kiln_mesh::Error::Index {
                triangle: 7,
                vertex: 9,
                vertices: 8,
            },
        },
        BoundError::NoFaces {
            path: path("points.ply"),
            vertices: 5000,
        },
        BoundError::TooManyGaussians {
            triangles: 2_000_000,
            per_triangle: 6,
            most: 6_000_000,
        },
        BoundError::DoesNotFit {
            needed_bytes: 9 << 30,
            cap_bytes: 7 << 30,
            triangles: 2_000_000,
            per_triangle: 6,
            fitting: 1_540_096,
            remedies: remedies(&[("`--set memory.storage=compact`", 5400)]),
        },
        BoundError::DoesNotFit {
            needed_bytes: 900 << 20,
            cap_bytes: 800 << 20,
            triangles: 2_000,
            per_triangle: 1,
            fitting: 0,
            remedies: Remedies::default(),
        },
        BoundError::TooLarge {
            triangles: 12_000_000,
            vertices: 6_000_000,
            most: 11_184_810,
        },
    ];
    examples.extend(wrapped!(BoundError in PlanError,
        bound,
        [Read, Ending, File, NoFaces, TooManyGaussians, DoesNotFit, TooLarge]
    ));
    let lpips = vec![
        LpipsError::Weights {
            path: path("weights.safetensors"),
            what: "it has 7 bytes, expected 29435440".to_owned(),
        },
        LpipsError::Budget { budget_bytes: 1 << 20 },
        LpipsError::Size {
            found: [8, 8],
            what: "is smaller than 16 px",
        },
        LpipsError::Length {
            which: "photograph",
            found: 3,
            expected: 192,
        },
        LpipsError::Memory(MemoryError::Vulkan(VkError::Timeout("lpips".to_owned(), 60))),
    ];
    examples.extend(wrapped!(LpipsError in PlanError, lpips, [Weights, Budget, Size, Length, Memory]));
    golden("models", examples);
}
