//! A project of blocks as it is on disk while it trains, made of the golden run.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln::export::file_digest;
use serde_json::{Value, json};

use crate::runs::json;

/// Smallest and largest coordinates; none without an end.
pub type Core = [[Option<f64>; 2]; 2];

/// A project folder.
#[derive(Debug)]
pub struct MadeProject {
    /// Where it lies.
    pub root: PathBuf,
}

impl MadeProject {
    /// A project of blocks that nobody has begun to train, on the plane from 0, 0 to 40, 20.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn new(root: &Path, blocks: &[(&str, Core)]) -> Self {
        let made = Self { root: root.to_owned() };
        let mut entries = Vec::new();
        for (name, [min, max]) in blocks {
            let path = made.block(name).join("block.json");
            let block = json!({
                "version": 1, "name": name, "core": { "min": min, "max": max }, "margin": 1.0, "demand": 1000,
                "train_views": ["view.png"], "test_views": ["test_view.png"], "steps_scaler": null, "max_gaussians": null,
                "divided": false, "planned": { "gaussians": 5000, "device_bytes": 64 << 20, "cap_bytes": 256 << 20 }, "files": [],
            });
            write(&path, &block);
            entries.push(json!({ "name": name, "digest": file_digest(&path).expect("a digest") }));
        }
        let photos = ["test_view.png", "view.png"].map(|name| json!({ "name": name, "bytes": 1 }));
        let project = json!({
            "version": 1,
            "scene": { "path": "scene", "images": "scene/images", "sparse": "scene/sparse/0", "model": [], "photos": photos },
            "settings": { "profile": null, "recipe": null, "file": null, "typed": [], "steps_scaler": null },
            "options": { "gaussians": null, "blocks": null, "margin": 0.05, "min_views": 1, "max_views": 9, "up": null },
            "ground": { "axes": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], "up": [0.0, 0.0, 1.0] },
            "bounds": { "min": [0.0, 0.0], "max": [40.0, 20.0] },
            "gaussians": 4000, "views_used": 1.0, "test_views": ["test_view.png"], "blocks": entries,
        });
        write(&root.join("project.json"), &project);
        made
    }

    /// The folder of a block.
    #[must_use]
    pub fn block(&self, name: &str) -> PathBuf {
        self.root.join("blocks").join(name)
    }

    /// Gives a block a run that did 40 of `total` iterations and then is as `status` says.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn run(&self, name: &str, status: &str, message: Option<&str>, total: u32) -> PathBuf {
        let run = self.block(name).join("run");
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run");
        assert!(
            Command::new("cp")
                .arg("-r")
                .arg(golden)
                .arg(&run)
                .status()
                .expect("cp")
                .success()
        );
        let path = run.join("run.json");
        let mut record = json(&path);
        record["name"] = name.into();
        record["status"] = status.into();
        record["message"] = message.into();
        record["iterations"]["total"] = total.into();
        write(&path, &record);
        run
    }

    /// Gives a block a run that a process writes to for as long as the value is held.
    ///
    /// # Panics
    /// When it cannot be written.
    #[must_use]
    pub fn running(&self, name: &str, total: u32) -> File {
        let writer = File::open(self.run(name, "running", None, total)).expect("a folder");
        writer.lock().expect("a lock");
        writer
    }

    /// Trains a block.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn done(&self, name: &str) {
        let run = self.run(name, "done", None, 40);
        let model = run.join("point_cloud/iteration_40/point_cloud.ply");
        let digest = |path: &Path| file_digest(path).expect("a digest");
        let done = json!({
            "version": 1, "block": digest(&self.block(name).join("block.json")), "typed": [],
            "model": { "name": "run/point_cloud/iteration_40/point_cloud.ply", "sha256": digest(&model) },
            "gaussians": 5, "iterations": 40, "test_psnr": 30.66, "seconds": 3.2, "device": "none",
        });
        write(&self.block(name).join("done.json"), &done);
    }

    /// Puts a merged model there.
    ///
    /// # Panics
    /// When it cannot be written.
    pub fn merged(&self) {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run/point_cloud/iteration_40/point_cloud.ply");
        fs::create_dir_all(self.root.join("merged")).expect("a folder");
        fs::copy(golden, self.root.join("merged/point_cloud.ply")).expect("a copy");
    }
}

fn write(path: &Path, value: &Value) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, format!("{value:#}")).expect("a file");
}
