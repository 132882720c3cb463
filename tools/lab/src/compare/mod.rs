//! `kiln-lab compare`: recipes against each other, on several scenes and with several seeds.
//!
//! Owns: the order of the runs and their folders. Promises: the figures come from the files of finished runs; the file
//! with the rows is written after every run, and a call that was broken off goes on where it stopped. Refuses: a run
//! that fails, and a run without test views.

mod arguments;

use std::fs;
use std::path::Path;
use std::process::Command;

pub use arguments::Arguments;
use arguments::{name_of, recipe_name};

use serde::Deserialize;
use xtask::failure::{Failure, Result};
use xtask::say;
use xtask::steps::Steps;

use crate::comparison::{Metric, Origin, Row, Shape};
use crate::{files, program};

const fn metric(key: &'static str, title: &'static str, digits: usize) -> Metric {
    Metric { key, title, digits }
}

/// What a comparison has: PSNR is the mean over the images' own with their median and the lowest beside it, fog the largest
/// share of a test view's light that has no point to stand on, SSIM is without the border.
const SHAPE: Shape = Shape {
    kind: "compare",
    labels: &["scene", "recipe"],
    metrics: &[
        metric("psnr_image", "PSNR", 2),
        metric("psnr_image_median", "median", 2),
        metric("psnr_image_worst", "worst", 2),
        metric("worst_fog_share", "fog", 2),
        metric("ssim_valid", "SSIM", 4),
        metric("lpips", "LPIPS", 4),
        metric("gaussians", "N", 0),
        metric("t_s", "seconds", 1),
        metric("peak_mib", "peak MiB", 0),
    ],
};

/// Trains what is missing, writes the file after every run and prints the means.
///
/// # Errors
/// [`Failure`] when two scenes or recipes share a name, or a run fails.
pub fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    arguments.check()?;
    let mut steps = Steps::default();
    let kiln = arguments.program.find(root, &mut steps)?;
    let path = arguments.json();
    let before = SHAPE.load(&path)?;
    let mut rows = Vec::new();
    for scene in &arguments.scenes {
        for recipe in &arguments.recipes {
            let inputs = program::inputs(&kiln, recipe)?;
            for &seed in &arguments.seeds {
                let row = match before
                    .iter()
                    .find(|row| row.is_of(&told(arguments, scene, recipe, seed), &inputs))
                {
                    Some(row) => row.clone(),
                    None => train(arguments, &kiln, &mut steps, (scene, recipe, seed), &inputs)?,
                };
                rows.push(row);
                // Rows further down that still hold are kept until their turn comes.
                let later = before
                    .iter()
                    .filter(|row| !rows.iter().any(|done| done.origin.run == row.origin.run));
                let all: Vec<Row> = rows.iter().chain(later).cloned().collect();
                SHAPE.store(&path, &typed(arguments), &all)?;
            }
        }
    }
    SHAPE.store(&path, &typed(arguments), &rows)?;
    steps.report();
    say(SHAPE.table(&rows).trim_end());
    say(path.display());
    Ok(())
}

/// `kiln train` without scene and output folder.
fn options(arguments: &Arguments, recipe: &str, seed: u64) -> Vec<String> {
    let mut list: Vec<String> = ["--recipe", recipe, "--profile", &arguments.program.profile, "--seed"]
        .map(str::to_owned)
        .into();
    list.push(seed.to_string());
    if let Some(iterations) = arguments.iterations {
        for option in ["--iterations", "--test-iterations", "--save-iterations"] {
            list.extend([option.to_owned(), iterations.to_string()]);
        }
    }
    if let Some(most) = arguments.max_gaussians {
        list.extend(["--max-gaussians".to_owned(), most.to_string()]);
    }
    list.extend(arguments.program.passed_on.iter().cloned());
    list
}

/// A run's command as it is stored: names in the place of folders.
fn told(arguments: &Arguments, scene: &Path, recipe: &str, seed: u64) -> String {
    let mut words = vec!["kiln".to_owned(), "train".to_owned(), name_of(scene)];
    words.extend(options(arguments, &recipe_name(recipe), seed));
    words.join(" ")
}

/// What was typed, as it is stored: names in the place of folders.
fn typed(arguments: &Arguments) -> String {
    let mut words = vec!["cargo lab compare".to_owned()];
    words.extend(arguments.scenes.iter().map(|scene| name_of(scene)));
    let recipes: Vec<String> = arguments.recipes.iter().map(|recipe| recipe_name(recipe)).collect();
    let seeds: Vec<String> = arguments.seeds.iter().map(u64::to_string).collect();
    words.push(format!("--recipes {} --seeds {}", recipes.join(","), seeds.join(",")));
    if let Some(iterations) = arguments.iterations {
        words.push(format!("--iterations {iterations}"));
    }
    if let Some(most) = arguments.max_gaussians {
        words.push(format!("--max-gaussians {most}"));
    }
    words.push(format!("--profile {}", arguments.program.profile));
    if !arguments.program.passed_on.is_empty() {
        words.push(format!("-- {}", arguments.program.passed_on.join(" ")));
    }
    words.join(" ")
}

/// Trains one run and reads its row.
fn train(
    arguments: &Arguments,
    kiln: &Path,
    steps: &mut Steps,
    (scene, recipe, seed): (&Path, &str, u64),
    inputs: &str,
) -> Result<Row> {
    let labels = vec![name_of(scene), recipe_name(recipe)];
    let name = format!("{}-{}-seed{seed}", labels[0], labels[1]);
    let run = arguments.out.join(&name);
    if run.exists() {
        fs::remove_dir_all(&run).map_err(|e| Failure::io("remove", &run, e))?;
    }
    let mut command = Command::new(kiln);
    command.arg("train").arg(scene).args(options(arguments, recipe, seed));
    command.arg("-o").arg(&run);
    steps.run(&name, command, true)?;
    let (figures, worst_view) = figures(&run)?;
    Ok(Row {
        labels,
        origin: Origin::of_run(&run, told(arguments, scene, recipe, seed), inputs)?,
        figures,
        worst_view,
    })
}

/// The rows of `metrics.jsonl` that matter here.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MetricsRow {
    Train {
        gaussians: Option<f64>,
        t_s: Option<f64>,
    },
    Eval(Evaluation),
    #[serde(other)]
    Other,
}

/// The evaluation of a set of views.
#[derive(Deserialize)]
struct Evaluation {
    set: String,
    psnr_image: Option<f64>,
    median: Option<f64>,
    worst: Option<WorstView>,
    worst_fog_share: Option<f64>,
    ssim_valid: Option<f64>,
    lpips: Option<f64>,
}

#[derive(Deserialize)]
struct WorstView {
    name: String,
    psnr_image: f64,
}

/// A row of `memory.jsonl`.
#[derive(Deserialize)]
struct MemoryRow {
    peak_reserved: Option<f64>,
}

/// The figures of a finished run, in the order of [`SHAPE`], and the name of its worst test view.
fn figures(run: &Path) -> Result<(Vec<Option<f64>>, Option<String>)> {
    let metrics = run.join("metrics.jsonl");
    let (mut last, mut test) = (None, None);
    for row in files::lines(&metrics)? {
        match row {
            MetricsRow::Train { gaussians, t_s } => last = Some((gaussians, t_s)),
            MetricsRow::Eval(row) if row.set == "test" => test = Some(row),
            MetricsRow::Eval(_) | MetricsRow::Other => {}
        }
    }
    let (Some((gaussians, t_s)), Some(test)) = (last, test) else {
        return Err(Failure::new(format!(
            "{} has no evaluation of test views\nhint: is the scene without test views, or does the recipe never test?",
            metrics.display()
        )));
    };
    let memory: Vec<MemoryRow> = files::lines(&run.join("memory.jsonl"))?;
    let peak = memory.iter().filter_map(|row| row.peak_reserved).reduce(f64::max);
    let figures = vec![
        test.psnr_image,
        test.median,
        test.worst.as_ref().map(|view| view.psnr_image),
        test.worst_fog_share,
        test.ssim_valid,
        test.lpips,
        gaussians,
        t_s,
        peak.map(|bytes| bytes / f64::from(1 << 20)),
    ];
    Ok((figures, test.worst.map(|view| view.name)))
}

#[cfg(all(test, unix))]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::program::Program;

    /// A program that leaves what a run leaves, and a line in a log for each time it was asked.
    fn stand_in(folder: &Path) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        fs::create_dir_all(folder).unwrap();
        let path = folder.join("kiln");
        let script = r#"#!/bin/sh
echo "$@" >> "$(dirname "$0")/log"
seed=0
while [ $# -gt 0 ]; do
  case "$1" in --seed) seed=$2 ;; -o) run=$2 ;; esac
  shift
done
[ "$seed" = 2 ] && exit 8
mkdir -p "$run"
echo "{\"seed\": $seed, \"driver\": \"1.0\", \"engine\": {\"commit\": \"abc\"}, \"device\": {\"name\": \"card\"}}" > "$run/env.json"
{ echo '{"type": "train", "gaussians": 90, "t_s": 1.5}'
  echo "{\"type\": \"eval\", \"set\": \"test\", \"psnr_image\": 2$seed, \"ssim_valid\": 0.5, \"lpips\": null, \"median\": 2$seed.5, \"worst\": {\"name\": \"v$seed\", \"psnr_image\": 1$seed}}"
  echo '{"type": "eval", "set": "train", "psnr_image": 99, "ssim_valid": 0.9, "lpips": null}'
} > "$run/metrics.jsonl"
{ echo '{"peak_reserved": 2097152}'; echo '{"peak_reserved": 1048576}'; } > "$run/memory.jsonl"
"#;
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn runs_that_are_missing_are_made_and_a_broken_off_call_goes_on() {
        let folder = std::env::temp_dir().join(format!("kiln-lab-compare-{}", std::process::id()));
        let kiln = stand_in(&folder);
        let asked = || fs::read_to_string(folder.join("log")).unwrap().lines().count();
        let mut arguments = Arguments {
            scenes: vec!["some/room".into()],
            recipes: vec!["default".to_owned()],
            seeds: vec![0, 1, 2],
            iterations: Some(40),
            max_gaussians: None,
            out: folder.join("out"),
            json: None,
            program: Program {
                profile: "auto".to_owned(),
                kiln: Some(kiln.clone()),
                passed_on: Vec::new(),
            },
        };
        // The third seed fails: what is done is kept, and the run's exit code comes through.
        let failure = run(&folder, &arguments).unwrap_err();
        assert_eq!((failure.code, asked()), (8, 3));
        arguments.seeds = vec![0, 1, 3];
        run(&folder, &arguments).unwrap();
        assert_eq!(asked(), 4);
        let rows = SHAPE.load(&arguments.json()).unwrap();
        let psnr: Vec<_> = rows.iter().map(|row| row.figures[0]).collect();
        assert_eq!(psnr, [Some(20.0), Some(21.0), Some(23.0)]);
        assert_eq!(rows[1].figures[1..4], [Some(21.5), Some(11.0), None]);
        assert_eq!(rows[1].worst_view.as_deref(), Some("v1"));
        assert_eq!(rows[0].figures[5..], [None, Some(90.0), Some(1.5), Some(2.0)]);
        assert_eq!(
            (rows[2].origin.seed, rows[2].origin.run.as_str()),
            (3, "room-default-seed3")
        );
        let command = &rows[0].origin.command;
        assert!(command.starts_with("kiln train room --recipe default"), "{command}");
        let text = fs::read_to_string(arguments.json()).unwrap();
        assert!(
            !text.contains(folder.to_str().unwrap()),
            "a folder of this machine: {text}"
        );
        // Another program, or other steps, make everything anew.
        fs::write(&kiln, fs::read_to_string(&kiln).unwrap() + "\n# changed\n").unwrap();
        run(&folder, &arguments).unwrap();
        assert_eq!(asked(), 7);
        arguments.iterations = None;
        run(&folder, &arguments).unwrap();
        assert_eq!(asked(), 10);
        fs::remove_dir_all(folder).unwrap();
    }
}
