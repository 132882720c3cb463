//! Files that are written, and run folders and checkpoints that are read.

use std::io::ErrorKind;
use std::path::Path;

use super::{complete, golden, path, system};
use crate::export::{DeliveryError, ExportError, FileError, PlyError};
use crate::record::run_folder::RunFolderError;
use crate::train::checkpoint::CheckpointError;
use kiln_config::ConfigError;

fn full() -> ExportError {
    ExportError::new(Path::new("runs/a/run.json"), system(ErrorKind::StorageFull))
}

#[test]
fn written_files() {
    let errors = vec![
        full(),
        ExportError::new(Path::new("runs/a"), system(ErrorKind::ReadOnlyFilesystem)),
        ExportError::new(Path::new("runs/a/run.json"), system(ErrorKind::NotADirectory)),
    ];
    let mut examples = complete!(ExportError, errors, [DiskFull, NotWritable, Io]);
    let delivery = vec![
        DeliveryError::NoGaussians,
        DeliveryError::OutsideCrop {
            low: [-3.5, -1.0, 0.25],
            high: [2.0, 1.5, 9.0],
        },
        DeliveryError::TooLarge {
            path: path("garden.glb"),
            gaussians: 20_000_000,
            bytes: 4_880_001_000,
        },
        DeliveryError::Exists {
            path: path("city.streamed-sog"),
        },
        DeliveryError::Sog {
            path: path("city.sog"),
            what: "the archive would be larger than 4 GiB, which its format cannot name".to_owned(),
        },
        DeliveryError::Stopped,
        DeliveryError::Read(PlyError::File {
            path: path("city.ply"),
            problem: Box::new(PlyError::NoVertices),
        }),
        DeliveryError::Write(full()),
    ];
    let more = complete!(
        DeliveryError,
        delivery,
        [NoGaussians, OutsideCrop, TooLarge, Exists, Sog, Stopped, Read, Write]
    );
    examples.extend(more);
    let files = vec![
        FileError::Read {
            path: path("garden.spz"),
            source: system(ErrorKind::PermissionDenied),
        },
        FileError::Damaged {
            path: path("garden.glb"),
            what: "it is truncated: 4000 bytes announced, 300 there".to_owned(),
        },
    ];
    examples.extend(complete!(FileError, files, [Read, Damaged]));
    golden("export", examples);
}

#[test]
fn run_folders() {
    let errors = vec![
        RunFolderError::Write(full()),
        RunFolderError::Config(ConfigError::Write {
            message: "a number is not finite".to_owned(),
        }),
        RunFolderError::OtherScene {
            path: path("runs/a"),
            found: "garden".to_owned(),
            wanted: "bonsai".to_owned(),
        },
        RunFolderError::Exists {
            path: path("runs/a"),
            status: "done",
            done: 30_000,
            total: 30_000,
        },
        RunFolderError::NotARun {
            path: path("runs/a"),
            file: "cameras.json",
        },
        RunFolderError::NoRun { path: path("runs/a") },
        RunFolderError::Unreadable {
            path: path("runs/a/run.json"),
            reason: "its schema_version is 9 and this program knows 1".to_owned(),
        },
        RunFolderError::Busy { path: path("runs/a") },
    ];
    let examples = complete!(
        RunFolderError,
        errors,
        [Write, Config, OtherScene, Exists, NotARun, NoRun, Unreadable, Busy]
    );
    golden("run_folder", examples);
}

#[test]
fn checkpoints() {
    let file = || path("runs/a/checkpoints/checkpoint_00003000.kiln");
    let errors = vec![
        CheckpointError::Read {
            path: file(),
            source: system(ErrorKind::NotFound),
        },
        CheckpointError::Damaged {
            path: file(),
            what: "its checksum is not that of its content".to_owned(),
        },
        CheckpointError::NotNumbers {
            path: file(),
            found: 12,
            rows: 300,
            what: "Gaussians",
        },
        CheckpointError::Format {
            path: file(),
            found: '1',
        },
        CheckpointError::Mismatch {
            path: file(),
            what: "`model.sh_degree` is 1 here and 3 there".to_owned(),
        },
        CheckpointError::Over {
            path: file(),
            iteration: 2999,
            asked: 100,
        },
        CheckpointError::None(path("runs/a/checkpoints")),
    ];
    golden(
        "checkpoint",
        complete!(
            CheckpointError,
            errors,
            [Read, Damaged, NotNumbers, Format, Mismatch, Over, None]
        ),
    );
}
