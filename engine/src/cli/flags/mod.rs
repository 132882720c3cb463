//! Flags that set keys, in one table: arguments, settings and the page on other trainers' flags are made from it.

mod arguments;
mod others;
mod refused;
#[cfg(test)]
mod tests;
mod whole;

use std::fmt::Display;
use std::str::FromStr;

pub(super) use arguments::{DeviceFlags, ModelFlags, SettingFlags};
pub(super) use others::page;
pub(super) use refused::{RefusedFlag, find_refused};
use whole::whole;

use kiln_config::quoted;

/// A flag that sets a key.
pub(super) struct Flag {
    /// Spellings, letters for short ones. The first of each length is shown in help, and long ones may have underscores
    /// instead of hyphens.
    names: &'static [&'static str],
    /// The key.
    key: &'static str,
    /// What follows the flag.
    value: Value,
    /// A line for people.
    help: &'static str,
    /// Left out of help: understood because other trainers have it.
    hidden: bool,
}

/// What follows a flag, and the YAML it stands for.
enum Value {
    /// Nothing: the flag sets this.
    Switch(&'static str),
    /// One value by this name, read by a function whose error says what is expected.
    One(&'static str, fn(&str) -> Result<String, String>),
    /// The same, where nothing stands for this text.
    Optional(&'static str, fn(&str) -> Result<String, String>, &'static str),
    /// Iterations.
    List,
}

use Value::{List, One, Optional, Switch};

/// Flags of commands that resolve settings, in the order of their help.
const SETTINGS: &[Flag] = &[
    flag(
        &["source-path", "s", "scene-path", "data-dir"],
        "dataset.path",
        One("SCENE", text),
        "Scene folder",
    )
    .hidden(),
    flag(
        &["output", "o", "m", "model-path", "result-dir"],
        "run.output",
        One("RUN", text),
        "Run folder, or with --name the folder of the runs",
    ),
    flag(
        &["name", "experiment-name"],
        "run.name",
        One("NAME", name),
        "Run name; the run goes to runs/NAME, or to RUN/NAME with -o",
    ),
    flag(
        &["images", "i"],
        "dataset.images",
        One("FOLDER", text),
        "Image folder inside the scene",
    ),
    flag(
        &["depths", "d"],
        "dataset.depths",
        One("FOLDER", text),
        "Train on the depth maps in a folder of the scene",
    ),
    flag(
        &["normals"],
        "dataset.normals",
        One("FOLDER", text),
        "Train on the normal maps in a folder of the scene; `dataset.normals.axes` says what they are along",
    ),
    flag(
        &["init-ply"],
        "init",
        One("FILE", init_ply),
        "Start from the points of a PLY file",
    ),
    flag(
        &["init-model"],
        "init",
        One("RUN|FILE", init_model),
        "Start from a trained model: the last one of a run, or a file (PLY, compressed PLY, SPZ, SOG, GLB)",
    ),
    flag(
        &["init-mesh"],
        "init",
        One("FILE", init_mesh),
        "Bind Gaussians to the triangles of a mesh (PLY, OBJ, GLB), with --recipe bound",
    ),
    flag(
        &["resolution", "r", "data-factor"],
        "dataset.resolution",
        One("N", resolution),
        "1, 2, 4, 8, ... 64 are divisors, any other number is a width in pixels (16 or more); -1: at most 1600 pixels wide",
    ),
    flag(
        &["eval"],
        "dataset.hold_out",
        Switch("true"),
        "Hold out every 8th view (the default)",
    ),
    flag(
        &["hold-out", "llffhold", "test-every"],
        "dataset.hold_out",
        One("N|FILE", hold_out),
        "Hold out every Nth view (N from 2), or those that a file names, one a line; 0 is the file sparse/0/test.txt of the scene",
    ),
    flag(&["no-eval"], "dataset.hold_out", Switch("false"), "Train on all views"),
    flag(
        &["sh-degree"],
        "model.sh_degree",
        One("N", whole::<u32>),
        "Highest SH degree, 0 to 3",
    ),
    flag(
        &["white-background", "w"],
        "model.background",
        Switch("white"),
        "White instead of black behind the scene",
    ),
    flag(
        &["random-background"],
        "model.background",
        Switch("random"),
        "Another colour behind the scene in every training step",
    ),
    flag(
        &["antialiasing"],
        "model.kind",
        Switch("mip"),
        "Compensate opacities for the 2D filter (the default)",
    )
    .hidden(),
    flag(
        &["kernel-size"],
        "mip.kernel_size",
        One("PX2", number::<f32>),
        "Variance of the 2D Mip filter",
    ),
    flag(
        &["iterations", "max-steps", "total-steps"],
        "schedule.iterations",
        One("N", whole::<u32>),
        "Stop after N steps; a schedule that would hardly begin is scaled",
    ),
    flag(
        &["test-iterations"],
        "schedule.test",
        List,
        "Evaluate after these iterations",
    ),
    flag(
        &["save-iterations"],
        "schedule.save",
        List,
        "Export after these iterations",
    ),
    flag(
        &["checkpoint-iterations"],
        "schedule.checkpoint",
        List,
        "Write a checkpoint after these iterations",
    ),
    flag(
        &["seed"],
        "train.seed",
        One("N", whole::<u64>),
        "Seed of every random choice",
    ),
    flag(
        &["refine-poses", "pose-opt"],
        "train.refine_poses",
        Switch("{}"),
        "Correct the cameras' poses while training",
    ),
    flag(
        &["max-gaussians", "cap-max", "max-cap", "max-splats"],
        "memory.max_gaussians",
        One("N", whole::<u32>),
        "Most Gaussians",
    ),
    flag(
        &["data-device"],
        "dataset.residency",
        One("DEVICE", residency_of),
        "Where decoded training images live: cuda or cpu",
    )
    .hidden(),
    flag(
        &["low-dram"],
        "dataset.residency",
        Switch("stream"),
        "Keep few training images in memory",
    )
    .hidden(),
    flag(
        &["high-dram"],
        "dataset.residency",
        Switch("host"),
        "Keep all training images in memory",
    )
    .hidden(),
    flag(
        &["gaussians-per-triangle", "g", "n-gaussians-per-surface-triangle"],
        "bound.per_triangle",
        One("N", whole::<u32>),
        "Gaussians of a triangle: 1, 3, 4 or 6",
    )
    .hidden(),
    flag(
        &["refinement-iterations", "f"],
        "bound.iterations",
        One("N", whole::<u32>),
        "Steps of a refinement",
    )
    .hidden(),
    flag(
        &["refinement-time"],
        "bound.iterations",
        One("TIME", refinement_time),
        "Steps of a refinement: short, medium or long",
    )
    .hidden(),
    flag(
        &["normal-consistency-factor"],
        "bound.normal_consistency",
        One("WEIGHT", number::<f32>),
        "Weight of the angles between neighbouring triangles",
    )
    .hidden(),
    flag(
        &["project-mesh-on-surface-points"],
        "mesh.method",
        Optional("BOOL", projected, "true"),
        "Move vertices of a mesh to points, True or False",
    )
    .hidden(),
    flag(
        &["n-vertices-in-mesh", "v", "decimation-target"],
        "mesh.decimate",
        One("N", triangles),
        "Triangles that a mesh keeps",
    )
    .hidden(),
    flag(
        &["max-points"],
        "mesh_splatting.max_points",
        One("N", whole::<u32>),
        "Most vertices of a model of triangles",
    )
    .hidden(),
    flag(
        &["indoor"],
        "mesh_splatting.scene",
        Switch("indoors"),
        "Train triangles by the schedule for rooms",
    )
    .hidden(),
    flag(
        &["optimize-memory"],
        "memory.storage",
        Optional("BOOL", storage, "true"),
        "Keep colours and moments in 16 bits, True or False",
    )
    .hidden(),
    flag(
        &["enable-lpips"],
        "eval.lpips",
        Optional("BOOL", truth, "true"),
        "Compute LPIPS, True or False",
    )
    .hidden(),
    flag(
        &["debug"],
        "diagnose.validation",
        Switch("true"),
        "Turn on the Vulkan validation layer",
    )
    .hidden(),
];

/// Flags of commands that use a device.
const DEVICE: &[Flag] = &[
    flag(
        &["device", "gpu"],
        "device.select",
        One("N|NAME|UUID", device),
        "Device: its number, a part of its name, or its uuid, as `kiln doctor` lists them",
    ),
    flag(
        &["allow-cpu"],
        "device.allow_cpu",
        Switch("true"),
        "Accept a CPU driver (slow)",
    ),
];

const fn flag(names: &'static [&'static str], key: &'static str, value: Value, help: &'static str) -> Flag {
    Flag {
        names,
        key,
        value,
        help,
        hidden: false,
    }
}

impl Flag {
    const fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// Long spellings with hyphens, the shown one first.
    fn longs(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().copied().filter(|name| name.len() > 1)
    }

    /// Letters of short spellings, the shown one first.
    fn shorts(&self) -> impl Iterator<Item = char> {
        let letters = self.names.iter().filter(|name| name.len() == 1);
        letters.filter_map(|name| name.chars().next())
    }

    /// Every spelling, as typed.
    fn spellings(&self) -> impl Iterator<Item = String> {
        let longs = self.longs().flat_map(|name| {
            let underscored = name.contains('-').then(|| format!("--{}", name.replace('-', "_")));
            underscored.into_iter().chain([format!("--{name}")])
        });
        self.shorts().map(|letter| format!("-{letter}")).chain(longs)
    }

    /// The long spelling that is shown.
    fn name(&self) -> &'static str {
        self.longs().next().unwrap_or_default()
    }
}

fn text(value: &str) -> Result<String, String> {
    Ok(quoted(value))
}

/// The name of a run, which becomes that of a folder.
fn name(value: &str) -> Result<String, String> {
    match value.trim().is_empty() {
        true => Err("a name is expected; without the flag the run is called after its scene".to_owned()),
        false => text(value),
    }
}

/// A divisor or a width. Factors such as 0.9 are answered: it is what memory guides of other trainers name.
fn resolution(value: &str) -> Result<String, String> {
    match value.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor.fract() != 0.0 => Err(
            "factors such as 0.9 are not taken; 1 to 64 divide the size, and a larger number is the width in pixels: for 0.9 of photos \
             1600 pixels wide it is 1440"
                .to_owned(),
        ),
        _ => whole::<i32>(value),
    }
}

/// Triangles that are left of a mesh.
fn triangles(value: &str) -> Result<String, String> {
    Ok(format!("{{ triangles: {} }}", whole::<u32>(value)?))
}

/// Whether vertices of SuGaR's meshes move to points.
fn projected(word: &str) -> Result<String, String> {
    Ok(match truth(word)?.as_str() {
        "true" => "sugar".to_owned(),
        _ => "poisson".to_owned(),
    })
}

/// Whether colours are kept in 16 bits.
fn storage(word: &str) -> Result<String, String> {
    Ok(match truth(word)?.as_str() {
        "true" => "half".to_owned(),
        _ => "exact".to_owned(),
    })
}

fn number<T: FromStr + Display>(value: &str) -> Result<String, String> {
    let number: T = value.parse().map_err(|_| "a number is expected".to_owned())?;
    Ok(number.to_string())
}

fn init_ply(path: &str) -> Result<String, String> {
    Ok(format!("{{ kind: ply, path: {} }}", quoted(path)))
}

fn init_model(path: &str) -> Result<String, String> {
    Ok(format!("{{ kind: model, path: {} }}", quoted(path)))
}

fn init_mesh(path: &str) -> Result<String, String> {
    Ok(format!("{{ kind: mesh, path: {} }}", quoted(path)))
}

/// Every how many views, or a file; 0 stands for the list that INRIA's trainer reads then.
fn hold_out(asked: &str) -> Result<String, String> {
    Ok(match asked.parse::<u32>() {
        Ok(0) => quoted("sparse/0/test.txt"),
        Ok(every) => every.to_string(),
        Err(_) => quoted(asked),
    })
}

fn device(asked: &str) -> Result<String, String> {
    Ok(match asked.parse::<u32>() {
        // A uuid of digits alone is far longer than any number of devices.
        Ok(index) if asked.len() < 10 => index.to_string(),
        _ => quoted(asked),
    })
}

fn residency_of(device: &str) -> Result<String, String> {
    match device.split(':').next() {
        Some("cuda") => Ok("device".to_owned()),
        Some("cpu") => Ok("host".to_owned()),
        _ => Err("cuda or cpu is expected; `--set dataset.residency=NAME` knows more".to_owned()),
    }
}

/// The words that SuGaR's scripts have for lengths of a refinement.
fn refinement_time(word: &str) -> Result<String, String> {
    match word {
        "short" => Ok("2000".to_owned()),
        "medium" => Ok("7000".to_owned()),
        "long" => Ok("15000".to_owned()),
        _ => Err("short, medium or long is expected; `--refinement-iterations N` takes any number".to_owned()),
    }
}

fn truth(word: &str) -> Result<String, String> {
    match word.to_ascii_lowercase().as_str() {
        "true" | "1" => Ok("true".to_owned()),
        "false" | "0" => Ok("false".to_owned()),
        _ => Err("True or False is expected".to_owned()),
    }
}
