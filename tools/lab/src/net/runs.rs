//! What is run, and which files of it count.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::failure::{Failure, Result};
use xtask::steps;

use super::digests::Digests;

/// Every recipe, with the storage modes that it allows.
const RECIPES: [(&str, &[&str]); 13] = [
    ("default", ALL),
    ("draft", ALL),
    ("fast", ALL),
    ("quality", ALL),
    ("mcmc", ALL),
    ("mip", ALL),
    ("demo", ALL),
    ("surface", &["exact", "compact"]),
    ("sugar", &["exact", "compact"]),
    ("sugar_light", &["exact", "compact"]),
    ("bound", &["exact", "compact"]),
    ("meshsplatting", &["exact"]),
    ("meshsplatting_indoor", &["exact"]),
];
const ALL: &[&str] = &["exact", "half", "compact"];
/// The model that meshes are made of: its splats lie on surfaces.
const MODEL: &str = "train/surface-exact-whole-1";
/// The model that is exported.
const EXPORTED: &str = "tests/golden/splat_transform/source.ply";
const FORMATS: [&[&str]; 9] = [
    &["ply"],
    &["compressed-ply"],
    &["spz", "--spz-version", "2"],
    &["spz", "--spz-version", "3"],
    &["spz", "--spz-version", "4"],
    &["sog"],
    &["streamed-sog"],
    &["3d-tiles"],
    &["glb"],
];

/// Only the sparse points; Gaussians on a mesh have no such key.
const NO_BACKGROUND: &str = "init.background=0";
/// Settings of every training.
const TINY: [&str; 6] = [
    "dataset.resolution=48",
    "eval.lpips=false",
    "eval.views_logged=1",
    "train.deterministic=true",
    "schedule.live_seconds=0",
    "schedule.checkpoint_minutes=0",
];
const DEVICE: [&str; 4] = ["--profile", "cpu", "--device", "llvmpipe"];

/// Runs of the program in a folder, and the digests of what they leave.
pub(super) struct Net<'a> {
    root: &'a Path,
    kiln: &'a Path,
    folder: &'a Path,
    pub(super) digests: Digests,
}

impl<'a> Net<'a> {
    pub(super) fn new(root: &'a Path, kiln: &'a Path, folder: &'a Path) -> Self {
        Self {
            root,
            kiln,
            folder,
            digests: Digests::default(),
        }
    }

    /// Trains by every recipe: in each storage mode, whole and with forced bands, with one and two threads of the driver.
    pub(super) fn trainings(&mut self) -> Result<()> {
        for (recipe, modes) in RECIPES {
            for mode in modes {
                for bands in ["whole", "bands"] {
                    for threads in ["1", "2"] {
                        self.training(recipe, mode, bands, threads)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn training(&mut self, recipe: &str, mode: &str, bands: &str, threads: &str) -> Result<()> {
        let name = format!("train/{recipe}-{mode}-{bands}-{threads}");
        let mut command = self.train(&self.scene(), recipe);
        command.args(["--iterations", "24", "--set", &format!("memory.storage={mode}")]);
        command.arg("-o").arg(self.folder.join(&name));
        match recipe {
            "bound" => {
                let mesh = self.mesh_of_model()?;
                command.arg("--init-mesh").arg(mesh);
            }
            "sugar" | "sugar_light" => set(&mut command, &[NO_BACKGROUND, "sugar.stages=[coarse]"]),
            _ => set(&mut command, &[NO_BACKGROUND]),
        }
        if bands == "bands" {
            command.args(["--fault", "bands=3"]);
        }
        finish(command.env("LP_NUM_THREADS", threads))?;
        self.put_run(&name)
    }

    /// Meshes of one model by two methods, and that of Gaussians bound to triangles, in three formats.
    pub(super) fn meshes(&mut self) -> Result<()> {
        for (method, run) in [
            ("fusion", MODEL),
            ("poisson", MODEL),
            ("bound", "train/bound-exact-whole-1"),
        ] {
            let name = format!("mesh/{method}");
            let out = self.mesh(method, run, &name)?;
            self.put_meshes(&name, &out)?;
        }
        Ok(())
    }

    /// A run of all stages of SuGaR.
    pub(super) fn sugar(&mut self) -> Result<()> {
        let mut command = self.train(&self.scene(), "sugar");
        command.args([
            "--iterations",
            "24",
            "--fault",
            "points=20000",
            "--fault",
            "poisson_depth=5",
        ]);
        let own = [
            NO_BACKGROUND,
            "mesh.decimate={ triangles: 400 }",
            "bound.per_triangle=3",
            "bound.iterations=12",
        ];
        set(&mut command, &own);
        finish(command.arg("-o").arg(self.folder.join("sugar")))?;
        // What is refined needs no file for people.
        self.digests
            .add("sugar/mesh/mesh.ply", &self.folder.join("sugar/mesh/mesh.ply"))?;
        self.put_meshes("sugar/refined/mesh", &self.folder.join("sugar/refined/mesh"))?;
        for file in ["coarse.ply", "bound.ply"] {
            let path = self.folder.join("sugar").join(file);
            self.digests.add(&format!("sugar/{file}"), &path)?;
        }
        Ok(())
    }

    /// Two blocks, trained and merged.
    pub(super) fn blocks(&mut self) -> Result<()> {
        let project = self.folder.join("blocks");
        let mut split = self.kiln();
        split.arg("split").arg(self.scene()).args(DEVICE);
        split.args([
            "--blocks",
            "2",
            "--min-views",
            "5",
            "--max-gaussians",
            "6000",
            "--iterations",
            "8",
        ]);
        set(&mut split, &TINY[..4]);
        set(&mut split, &[NO_BACKGROUND]);
        finish(split.arg("-o").arg(&project))?;
        for block in ["b0000", "b0001"] {
            let mut train = self.kiln();
            finish(train.args(["train", "--quiet"]).arg(project.join("blocks").join(block)))?;
        }
        finish(self.kiln().args(["merge", "--quiet"]).arg(&project))?;
        let model = project.join("merged/point_cloud.ply");
        self.digests.add("blocks/merged/point_cloud.ply", &model)
    }

    /// A fixed model in every format.
    pub(super) fn exports(&mut self) -> Result<()> {
        let folder = self.folder.join("export");
        fs::create_dir_all(&folder).map_err(|e| Failure::io("create", &folder, e))?;
        for format in FORMATS {
            let name = format.concat().replace("--spz-version", "");
            let out = folder.join(format!("{name}.{}", format[0].replace("compressed-", "compressed.")));
            let mut command = self.kiln();
            command.args(["export", "--quiet"]).arg(self.root.join(EXPORTED));
            finish(command.arg("--format").args(format).arg("-o").arg(&out))?;
            self.digests.add(&format!("export/{name}"), &out)?;
        }
        Ok(())
    }

    /// What is stored in the repository: modules, and the bundle that draws the viewer's frames.
    pub(super) fn files(&mut self) -> Result<()> {
        self.digests.add("shaders", &self.root.join("shaders/spv"))?;
        self.digests.add("viewer", &self.root.join("viewer-wasm/dist"))
    }

    fn scene(&self) -> PathBuf {
        self.root.join("tests/scenes/stilllife")
    }

    fn kiln(&self) -> Command {
        let mut command = Command::new(self.kiln);
        command.current_dir(self.root).env("LP_NUM_THREADS", "1");
        command
    }

    fn train(&self, scene: &Path, recipe: &str) -> Command {
        let mut command = self.kiln();
        command
            .args(["train", "--quiet", "--recipe", recipe])
            .arg(scene)
            .args(DEVICE);
        command.args(["--max-gaussians", "6000"]);
        set(&mut command, &TINY);
        command
    }

    /// The mesh that Gaussians are bound to, made once.
    fn mesh_of_model(&self) -> Result<PathBuf> {
        let mesh = self.folder.join("mesh/bind/mesh.ply");
        if !mesh.is_file() {
            self.mesh("fusion", MODEL, "mesh/bind")?;
        }
        Ok(mesh)
    }

    fn mesh(&self, method: &str, run: &str, name: &str) -> Result<PathBuf> {
        let out = self.folder.join(name);
        let mut command = self.kiln();
        command.args(["mesh", "--quiet", "--method", method, "--device", "llvmpipe"]);
        command.args([
            "--format",
            "ply,obj,glb",
            "--fault",
            "points=20000",
            "--fault",
            "poisson_depth=5",
        ]);
        set(&mut command, &["mesh.decimate={ triangles: 400 }"]);
        finish(command.arg(self.folder.join(run)).arg("-o").arg(&out))?;
        Ok(out)
    }

    /// Models of a run, and its last checkpoint.
    fn put_run(&mut self, name: &str) -> Result<()> {
        let run = self.folder.join(name);
        self.digests.add(name, &run.join("point_cloud"))?;
        let checkpoints = run.join("checkpoints");
        let entries = fs::read_dir(&checkpoints).map_err(|e| Failure::io("list", &checkpoints, e))?;
        let last = entries.flatten().map(|entry| entry.path()).max();
        let last = last.ok_or_else(|| Failure::new(format!("{} holds no file", checkpoints.display())))?;
        self.digests.add_checkpoint(&format!("{name}/checkpoint"), &last)
    }

    /// Meshes of a folder with their pictures; a report has times.
    fn put_meshes(&mut self, name: &str, folder: &Path) -> Result<()> {
        for file in ["mesh.ply", "mesh.obj", "mesh.glb", "mesh.png", "mesh.mtl"] {
            self.digests.add(&format!("{name}/{file}"), &folder.join(file))?;
        }
        Ok(())
    }
}

fn set(command: &mut Command, settings: &[&str]) {
    for setting in settings {
        command.args(["--set", setting]);
    }
}

/// Runs a command; its failure has what it printed.
fn finish(command: &mut Command) -> Result<()> {
    let output = command
        .output()
        .map_err(|e| Failure::new(format!("cannot start `{}`: {e}", steps::line(command))))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::new(format!(
            "`{}` ended with {}\n{}",
            steps::line(command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        ))),
    }
}
