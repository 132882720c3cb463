//! `cargo xtask demo`: from a bare machine to a trained scene.
//!
//! Owns: the order set-up, build, training. Promises: a fresh run folder each
//! time, and the absolute paths of the results as the last lines on standard
//! output. Refuses: arguments; `kiln train` is there for everything else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::setup;
use crate::steps::{self, Steps};
use crate::system::Need;

const USAGE: &str = "usage: cargo xtask demo
  sets up what is missing, builds, trains the bundled scene into a new folder under runs/";

/// Runs the verb with its arguments.
pub fn run(root: &Path, args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => demo(root),
        ["--help" | "-h"] => {
            crate::say(USAGE);
            Ok(())
        }
        _ => Err(Failure::usage(USAGE)),
    }
}

fn demo(root: &Path) -> Result<()> {
    eprintln!("this takes a few minutes with a GPU, and about a quarter of an hour on two CPU cores");
    let mut steps = Steps::default();
    steps.time("set-up", || setup::ensure(&[Need::Loader, Need::Driver]))?;
    steps.run(
        "build",
        steps::cargo(root, &["build", "--release", "-p", "kiln"]),
        false,
    )?;
    let kiln = steps::kiln("release")?;
    steps.time("device", || setup::ensure_device(&kiln))?;

    let run = fresh(&root.join("runs"), "demo");
    let mut train = Command::new(&kiln);
    train.current_dir(root).args([
        "train",
        "tests/scenes/stilllife",
        "--recipe",
        "demo",
        "--profile",
        "auto",
    ]);
    train.args(["--allow-cpu", "-o"]).arg(&run);
    let trained = steps.run("train and evaluate", train, true);
    steps.report();
    trained?;

    let results = artifacts(&run)?;
    eprintln!("\nresults");
    eprintln!("{}", quality(&run)?);
    for path in results {
        crate::say(path.display());
    }
    eprintln!("`{} view {}` shows it in a browser", kiln.display(), run.display());
    Ok(())
}

/// One line on the test views of the last evaluation: mean, median and the worst one.
fn quality(run: &Path) -> Result<String> {
    let path = last_iteration(&run.join("eval"))?.join("metrics.json");
    let text = fs::read_to_string(&path).map_err(|e| Failure::io("read", &path, e))?;
    let file: Value = serde_json::from_str(&text).map_err(|e| Failure::io("understand", &path, e))?;
    let test = &file["test"];
    let Some(mean) = test["mean"]["psnr_image"].as_f64() else {
        return Ok("no test views".to_owned());
    };
    let mut line = format!("test views: PSNR {mean:.2} dB");
    let worst = &test["worst"];
    if let (Some(median), Some(name), Some(psnr)) = (
        test["median"].as_f64(),
        worst["name"].as_str(),
        worst["psnr_image"].as_f64(),
    ) {
        line += &format!(" (median {median:.2}, worst {psnr:.2} {name}");
        if let Some(share) = worst["fog_share"].as_f64() {
            line += &format!(", fog share {share:.2}");
        }
        line.push(')');
    }
    Ok(line)
}

/// `NAME` under `folder`, or `NAME-2`, `NAME-3`, ... when that exists.
fn fresh(folder: &Path, name: &str) -> PathBuf {
    let numbered = (2u32..).map(|number| folder.join(format!("{name}-{number}")));
    std::iter::once(folder.join(name))
        .chain(numbered)
        .find(|path| !path.exists())
        .unwrap_or_else(|| folder.join(name))
}

/// The fused model of the last saved iteration, and the image folders of the last evaluation.
fn artifacts(run: &Path) -> Result<Vec<PathBuf>> {
    let ply = last_iteration(&run.join("point_cloud"))?.join("point_cloud.ply");
    let eval = last_iteration(&run.join("eval"))?;
    let images = ["render/test", "error/test"].map(|name| eval.join(name));
    let mut found = vec![ply, eval.join("metrics.json")];
    found.extend(images);
    if let Some(absent) = found.iter().find(|path| !path.exists()) {
        return Err(Failure::new(format!(
            "the run ended well, but {} is not there",
            absent.display()
        )));
    }
    Ok(found)
}

/// The folder `iteration_N` with the largest N.
fn last_iteration(folder: &Path) -> Result<PathBuf> {
    let entries = fs::read_dir(folder).map_err(|e| Failure::io("list", folder, e))?;
    let numbered = entries.flatten().filter_map(|entry| {
        let number: u64 = entry.file_name().to_str()?.strip_prefix("iteration_")?.parse().ok()?;
        Some((number, entry.path()))
    });
    let none = || Failure::new(format!("{} holds no iteration_N", folder.display()));
    numbered.max().map(|(_, path)| path).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    #[test]
    fn run_folders_are_fresh_and_artifacts_come_from_the_last_iteration() {
        let folder = std::env::temp_dir().join(format!("xtask-demo-{}", std::process::id()));
        assert_eq!(fresh(&folder, "demo"), folder.join("demo"));
        let run = folder.join("demo");
        for iteration in [900, 1500] {
            let cloud = run.join(format!("point_cloud/iteration_{iteration}"));
            fs::create_dir_all(&cloud).unwrap();
            fs::write(cloud.join("point_cloud.ply"), "").unwrap();
        }
        assert_eq!(fresh(&folder, "demo"), folder.join("demo-2"));
        assert!(artifacts(&run).is_err());

        let eval = run.join("eval/iteration_1500");
        for part in ["render/test", "error/test"] {
            fs::create_dir_all(eval.join(part)).unwrap();
        }
        fs::write(eval.join("metrics.json"), "{}").unwrap();
        let found = artifacts(&run).unwrap();
        assert_eq!(found[0], run.join("point_cloud/iteration_1500/point_cloud.ply"));
        assert_eq!(found.len(), 4);
        assert_eq!(quality(&run).unwrap(), "no test views");
        let metrics = r#"{"test": {"mean": {"psnr_image": 24.321}, "median": 27.3,
            "worst": {"name": "view_024", "psnr_image": 15.71, "fog_share": 0.764}}}"#;
        fs::write(eval.join("metrics.json"), metrics).unwrap();
        let line = "test views: PSNR 24.32 dB (median 27.30, worst 15.71 view_024, fog share 0.76)";
        assert_eq!(quality(&run).unwrap(), line);
        fs::remove_dir_all(folder).unwrap();
    }
}
