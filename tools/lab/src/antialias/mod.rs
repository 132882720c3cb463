//! `kiln-lab antialias`: models trained at one scale and evaluated at others.
//!
//! Owns: the scenes, the runs and their evaluations. A scene of solid things ([`SyntheticKind::Solids`]) is made at five
//! scales, trained at the first and evaluated at all, once with the Mip filters and once with plain rasterisation, which is
//! the comparison of Mip-Splatting (Yu et al. 2024, section 6). Photos at every scale are means over the same rays, so
//! what a low scale asks for is known exactly. Promises: as `compare`. Refuses: a run or an evaluation that fails.

mod arguments;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use arguments::Arguments;

use serde::Deserialize;
use xtask::failure::{Failure, Result};
use xtask::say;
use xtask::steps::{self, Steps};

use crate::comparison::{Metric, Origin, Row, Shape};
use crate::synth::{self, Synthetic, SyntheticKind};
use crate::{files, program};

const fn metric(key: &'static str, title: &'static str, digits: usize) -> Metric {
    Metric { key, title, digits }
}

const SHAPE: Shape = Shape {
    kind: "antialias",
    labels: &["model", "scale"],
    metrics: &[
        metric("psnr_image", "PSNR", 2),
        metric("ssim_valid", "SSIM", 4),
        metric("gaussians", "N", 0),
    ],
};

/// A scale: how it is called, and width of its photos over that of the training photos, as a fraction.
struct Scale {
    name: &'static str,
    over: u32,
    under: u32,
}

/// The scales; training is at the first.
const SCALES: [Scale; 5] = [
    Scale::new("1", 1, 1),
    Scale::new("1/2", 1, 2),
    Scale::new("1/4", 1, 4),
    Scale::new("1/8", 1, 8),
    Scale::new("2", 2, 1),
];
/// Rays along each side of a pixel at the training scale; the other scales have as many over the same square.
const SAMPLES: u32 = 8;
/// What is compared.
const MODELS: [&str; 2] = ["mip", "classic"];

impl Scale {
    const fn new(name: &'static str, over: u32, under: u32) -> Self {
        Self { name, over, under }
    }

    /// The folder of its scene.
    fn folder(&self, out: &Path) -> PathBuf {
        out.join(format!("scene-{}", self.name.replace('/', "-")))
    }

    /// Its scene: at every scale as many rays along a side of a photo.
    fn scene(&self, arguments: &Arguments) -> Synthetic {
        Synthetic {
            kind: SyntheticKind::Solids,
            gaussians: arguments.points,
            size_px: arguments.size.map(|side| side * self.over / self.under),
            views: arguments.views,
            samples: SAMPLES * self.under / self.over,
            truth: 0,
            ..Synthetic::default()
        }
    }
}

/// Trains and evaluates what is missing, writes the file after every run and prints the means.
///
/// # Errors
/// [`Failure`] when a run or an evaluation fails.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let mut steps = Steps::default();
    let kiln = arguments.program.find(root, &mut steps)?;
    let inputs = program::inputs(&kiln, "mip")?;
    let path = arguments.json();
    let before = SHAPE.load(&path)?;
    let mut rows: Vec<Row> = Vec::new();
    for &seed in &arguments.seeds {
        for model in MODELS {
            let command = told(arguments, model, seed);
            let known = before.iter().filter(|row| row.is_of(&command, &inputs));
            let mut made: Vec<Row> = known.cloned().collect();
            if made.len() != SCALES.len() {
                scenes(arguments, &mut steps)?;
                made = train_and_evaluate(arguments, &kiln, &mut steps, (model, seed), &inputs)?;
            }
            rows.extend(made);
            SHAPE.store(&path, &typed(arguments), &rows)?;
        }
    }
    steps.report();
    say(SHAPE.table(&rows).trim_end());
    say(path.display());
    Ok(())
}

/// Provides the scenes.
fn scenes(arguments: &Arguments, steps: &mut Steps) -> Result<()> {
    for scale in &SCALES {
        let (scene, folder) = (scale.scene(arguments), scale.folder(&arguments.out));
        synth::provide(&scene, &folder, steps)?;
    }
    Ok(())
}

/// `kiln train` without scene and output folder.
fn options(arguments: &Arguments, model: &str, seed: u64) -> Vec<String> {
    let iterations = arguments.iterations;
    let list = format!(
        "--recipe mip --set model.kind={model} --profile {} --seed {seed} --iterations {iterations} \
         --test-iterations {iterations} --save-iterations {iterations} --max-gaussians {} --set eval.lpips=false",
        arguments.program.profile, arguments.max_gaussians
    );
    let list = list.split(' ').map(str::to_owned);
    list.chain(arguments.program.passed_on.iter().cloned()).collect()
}

/// A run's command as it is stored. The scene follows from the options of the harness, so they name it.
fn told(arguments: &Arguments, model: &str, seed: u64) -> String {
    let [width, height] = arguments.size;
    format!(
        "kiln train solids-{width}x{height}-{}-{} {}",
        arguments.views,
        arguments.points,
        options(arguments, model, seed).join(" ")
    )
}

/// What was typed, as it is stored.
fn typed(arguments: &Arguments) -> String {
    let [width, height] = arguments.size;
    let seeds: Vec<String> = arguments.seeds.iter().map(u64::to_string).collect();
    let mut text = format!(
        "cargo lab antialias --seeds {} --iterations {} --size {width}x{height} --views {} --points {} \
         --max-gaussians {} --profile {}",
        seeds.join(","),
        arguments.iterations,
        arguments.views,
        arguments.points,
        arguments.max_gaussians,
        arguments.program.profile
    );
    if !arguments.program.passed_on.is_empty() {
        text += &format!(" -- {}", arguments.program.passed_on.join(" "));
    }
    text
}

/// Trains at the first scale and makes a row of each.
fn train_and_evaluate(
    arguments: &Arguments,
    kiln: &Path,
    steps: &mut Steps,
    (model, seed): (&str, u64),
    inputs: &str,
) -> Result<Vec<Row>> {
    let name = format!("{model}-seed{seed}");
    let run = arguments.out.join(&name);
    if run.exists() {
        fs::remove_dir_all(&run).map_err(|e| Failure::io("remove", &run, e))?;
    }
    let mut command = Command::new(kiln);
    command.arg("train").arg(SCALES[0].folder(&arguments.out));
    command.args(options(arguments, model, seed)).arg("-o").arg(&run);
    steps.run(&name, command, true)?;
    let origin = Origin::of_run(&run, told(arguments, model, seed), inputs)?;
    let row = |scale: &Scale| {
        let mut command = Command::new(kiln);
        command.arg("eval").arg(&run).arg(scale.folder(&arguments.out));
        command.args(["--json", "--quiet"]);
        command.args(arguments.program.passed_on.iter().filter(|arg| *arg == "--allow-cpu"));
        let figures = steps.time(&format!("{name} at {}", scale.name), || evaluate(command))?;
        Ok(Row {
            worst_view: None,
            labels: vec![model.to_owned(), scale.name.to_owned()],
            origin: origin.clone(),
            figures,
        })
    };
    SCALES.iter().map(row).collect()
}

/// What `kiln eval --json` prints, as far as it matters here.
#[derive(Deserialize)]
struct Evaluated {
    gaussians: Option<f64>,
    test: Test,
}

#[derive(Deserialize)]
struct Test {
    mean: Mean,
}

#[derive(Deserialize)]
struct Mean {
    psnr_image: Option<f64>,
    ssim_valid: Option<f64>,
}

/// Runs an evaluation; its figures in the order of [`SHAPE`].
fn evaluate(mut command: Command) -> Result<Vec<Option<f64>>> {
    let line = steps::line(&command);
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.map_err(|e| Failure::new(format!("cannot start `{line}`: {e}")))?;
    if !output.status.success() {
        return Err(Failure::new(format!("`{line}` ended with {}", output.status)));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let Evaluated { gaussians, test } = files::parse(&printed, &format!("what `{line}` printed"))?;
    Ok(vec![test.mean.psnr_image, test.mean.ssim_valid, gaussians])
}

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::program::Program;

    /// A program that leaves what the real one leaves, and a line in a log for each time it was asked.
    fn stand_in(folder: &Path) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(folder).unwrap();
        let path = folder.join("kiln");
        let script = r#"#!/bin/sh
echo "$@" >> "$(dirname "$0")/log"
verb=$1
scene=$3
while [ $# -gt 0 ]; do
  case "$1" in -o) run=$2 ;; esac
  shift
done
case $verb in
  train)
    mkdir -p "$run"
    echo '{"seed": 0, "driver": "1.0", "engine": {"commit": "abc"}, "device": {"name": "card"}}' > "$run/env.json" ;;
  eval)
    case $scene in *1-8) psnr=21 ;; *) psnr=30 ;; esac
    echo "{\"gaussians\": 9, \"test\": {\"mean\": {\"psnr_image\": $psnr, \"ssim_valid\": null}}}" ;;
esac
"#;
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn every_model_is_trained_once_and_evaluated_at_every_scale() {
        let folder = std::env::temp_dir().join(format!("kiln-lab-antialias-{}", std::process::id()));
        let kiln = stand_in(&folder);
        let mut arguments = Arguments {
            seeds: vec![0],
            iterations: 7000,
            size: [128, 128],
            views: 1,
            points: 10,
            max_gaussians: 300_000,
            out: folder.join("out"),
            json: None,
            program: Program {
                profile: "auto".to_owned(),
                kiln: Some(kiln),
                passed_on: Vec::new(),
            },
        };
        run(&folder, &arguments).unwrap();
        let log = || fs::read_to_string(folder.join("log")).unwrap();
        let asked = |verb: &str| log().lines().filter(|line| line.starts_with(verb)).count();
        assert_eq!([asked("train"), asked("eval")], [2, 10]);
        for (name, side) in [("1", 128), ("1-2", 64), ("1-4", 32), ("1-8", 16), ("2", 256)] {
            let photo = arguments.out.join(format!("scene-{name}/images/view_0000.png"));
            assert_eq!(image::image_dimensions(photo).unwrap(), (side, side));
        }
        let rows = SHAPE.load(&arguments.json()).unwrap();
        assert_eq!(rows.len(), 10);
        assert_eq!(rows[8].labels, ["classic", "1/8"]);
        assert_eq!(rows[8].figures, [Some(21.0), None, Some(9.0)]);
        assert!(rows[8].origin.command.contains("model.kind=classic"));
        run(&folder, &arguments).unwrap();
        assert_eq!([asked("train"), asked("eval")], [2, 10], "nothing was missing");
        arguments.iterations += 1;
        run(&folder, &arguments).unwrap();
        assert_eq!([asked("train"), asked("eval")], [4, 20]);
        // The same rays at every scale: pixels along a side times rays per pixel.
        for scale in &SCALES {
            let scene = scale.scene(&arguments);
            assert_eq!(
                scene.size_px[0] * scene.samples,
                arguments.size[0] * SAMPLES,
                "{}",
                scale.name
            );
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
