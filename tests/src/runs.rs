//! Whole training runs of the bundled scene on whatever Vulkan device there is, and what they leave behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use kiln::plan::{Faults, OpenDevice, open_device};
use kiln::run::interrupt::Interrupt;
use kiln::run::{ResumeFrom, RunEnd, RunError, RunRequest, run};
use kiln_config::{Profile, Validation};
use kiln_gpu::vk::{Device, DeviceKind, Tier};
use serde_json::Value;

use crate::gpu;
use crate::setup::{Settings, Setup, fault};

/// The bundled scene.
#[must_use]
pub fn scene() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/stilllife")
}

/// A folder that goes away with the value.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A fresh folder.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn new(name: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kiln-{name}-{}-{number}", std::process::id()));
        fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// A path inside.
    #[must_use]
    pub fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind in a temporary folder is no failure.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Only the sparse points: what small runs count and compare is about them.
pub const NO_BACKGROUND: (&str, &str) = ("init.background", "0");

/// Settings of a run of 72 steps on images 80 pixels wide, with everything that happens in a long one: densifications
/// at multiples of 8, prunes, opacity resets at 20, 40 and 60, degree raises at the same, an epoch of 35 views.
pub const EVENTFUL: &[(&str, &str)] = &[
    NO_BACKGROUND,
    ("dataset.resolution", "80"),
    ("schedule.iterations", "72"),
    ("schedule.test", "[]"),
    ("schedule.save", "[]"),
    ("schedule.sh_every", "20"),
    ("memory.max_gaussians", "6000"),
    (
        "strategy.densify",
        "{ from: 2, until: 70, every: 8, grad_threshold: 0.002 }",
    ),
    ("strategy.prune", "{ opacity: 0.06, world: 0.1 }"),
    ("strategy.reset", "{ every: 20, until: 70, opacity: 0.08 }"),
    ("optimizer.lr.means_decay_steps", "72"),
    ("train.deterministic", "true"),
    ("eval.lpips", "false"),
    ("eval.views_logged", "1"),
    ("eval.lpips", "false"),
];

/// Settings of a run of 100 steps that learns as quickly as it can, with five densifications, a reset at 40 and three
/// degree raises.
pub const QUICK: &[(&str, &str)] = &[
    NO_BACKGROUND,
    ("dataset.resolution", "80"),
    ("schedule.iterations", "100"),
    ("schedule.test", "[1]"),
    ("schedule.save", "[]"),
    ("schedule.sh_every", "15"),
    ("memory.max_gaussians", "6000"),
    (
        "strategy.densify",
        "{ from: 2, until: 60, every: 10, grad_threshold: 0.001 }",
    ),
    ("strategy.prune", "{ opacity: 0.06, world: 0.1 }"),
    ("strategy.reset", "{ every: 40, until: 50, opacity: 0.08 }"),
    ("optimizer.lr.sh0", "0.02"),
    ("optimizer.lr.scales", "0.01"),
    ("eval.views_logged", "2"),
    ("eval.lpips", "false"),
];

/// Profile `cpu` with recipe `default` and `settings`, later ones winning, written to `output`.
///
/// # Panics
/// When a setting is wrong.
#[must_use]
pub fn profile(output: &Path, settings: &[Settings<'_>]) -> Setup {
    Setup::new("default", settings.iter().copied().flatten()).into_folder(output)
}

/// Trains the bundled scene with a profile.
///
/// # Errors
/// What ended the run.
///
/// # Panics
/// Without a Vulkan device, or when the validation layer was on and had something to say.
pub fn train(setup: Setup, resume: Option<ResumeFrom>, interrupt: &Interrupt) -> Result<RunEnd, RunError> {
    train_scene(setup, scene(), resume, interrupt).map(|(end, _)| end)
}

/// [`train`] on any scene; also gives the number of allocations the driver was asked for.
///
/// # Errors
/// What ended the run.
///
/// # Panics
/// See [`train`].
pub fn train_scene(
    setup: Setup,
    scene: PathBuf,
    resume: Option<ResumeFrom>,
    interrupt: &Interrupt,
) -> Result<(RunEnd, u64), RunError> {
    gpu::take_turn();
    let Setup { mut profile, faults } = setup;
    let (validation, portable) = (profile.diagnose().validation, faults.portable);
    let open = open(&profile, faults);
    let (device, tier) = (open.device.clone(), open.tier);
    // As the program decides it: over the test views of a run of seconds LPIPS takes a CPU driver longer than the run.
    profile.eval.lpips = profile.eval.lpips.on_device(device.caps().kind == DeviceKind::Cpu);
    let allocations = device.allocations();
    let chosen = profile.device.select.is_some();
    let request = RunRequest {
        resume,
        ..RunRequest::new(profile, open, scene)
    };
    let end = run(request, interrupt)?;
    if validation != Validation::Off {
        gpu::assert_valid(&device);
    }
    let allocations = device.allocations() - allocations;
    if !chosen {
        opened().push((validation, portable, tier, device));
    }
    Ok((end, allocations))
}

/// Devices of runs that ended well, by validation and whether they are held to the portable tier: half of a short run is making
/// pipelines, and the next finds them there.
type Opened = Vec<(Validation, bool, Tier, Arc<Device>)>;

fn opened() -> MutexGuard<'static, Opened> {
    static OPENED: Mutex<Opened> = Mutex::new(Vec::new());
    OPENED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn open(profile: &Profile, faults: Faults) -> OpenDevice {
    let wanted = (profile.diagnose().validation, faults.portable);
    let mut opened = opened();
    let at = opened
        .iter()
        .position(|(validation, portable, ..)| (*validation, *portable) == wanted);
    match at.filter(|_| profile.device.select.is_none()) {
        Some(at) => {
            let (.., tier, device) = opened.swap_remove(at);
            OpenDevice::on(device, tier, profile, faults)
        }
        None => open_device(profile, faults).expect("a Vulkan device; install a driver, for example Mesa's lavapipe"),
    }
}

/// A JSON file.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The objects of a JSONL file.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn rows(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{}: {e}: {line}", path.display())))
        .collect()
}

/// Rows of `metrics.jsonl` of event `kind`.
#[must_use]
pub fn events(run: &Path, kind: &str) -> Vec<Value> {
    let mut rows = rows(&run.join("metrics.jsonl"));
    rows.retain(|row| row["type"] == "event" && row["kind"] == kind);
    rows
}

/// Everything that the model and its growth went through: densifications, resets and filters.
#[must_use]
pub fn history(run: &Path) -> Vec<Value> {
    let mut rows = rows(&run.join("metrics.jsonl"));
    rows.retain(|row| {
        ["densify", "densify_capped", "reset", "filter"]
            .iter()
            .any(|kind| row["kind"] == *kind)
    });
    rows
}

/// Stops unless densifications (at least `densify` of them), a prune and a reset happened after iteration `after` and
/// up to `until`.
///
/// # Panics
/// With what is missing.
pub fn assert_eventful(run: &Path, after: u64, until: u64, densify: usize) {
    let inside = |row: &Value| row["it"].as_u64().is_some_and(|it| it > after && it <= until);
    let mut densified = events(run, "densify");
    densified.retain(inside);
    let sum = |key: &str| {
        densified
            .iter()
            .filter_map(|row| row["detail"][key].as_u64())
            .sum::<u64>()
    };
    let (births, deaths) = (sum("clones") + sum("splits"), sum("deaths"));
    let resets = events(run, "reset").iter().filter(|row| inside(row)).count();
    assert!(
        densified.len() >= densify && births > 0 && deaths > 0 && resets > 0,
        "iterations {after} to {until}: {} densifications, {births} births, {deaths} deaths, {resets} resets",
        densified.len()
    );
}

/// The raw model of an iteration, byte for byte.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn raw_model(run: &Path, iteration: u32) -> Vec<u8> {
    let path = run.join(format!("point_cloud/iteration_{iteration}/point_cloud_raw.ply"));
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What a checkpoint holds, without what may differ between equal runs: seconds, and settings of output and length.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn checkpoint(path: &Path) -> (Vec<u8>, Value) {
    let bytes = fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let tail = bytes.len() - 48;
    let length: [u8; 8] = bytes[tail..tail + 8].try_into().expect("eight bytes");
    let footer = tail - usize::try_from(u64::from_le_bytes(length)).expect("a length");
    let mut state: Value = serde_json::from_slice(&bytes[footer..tail]).expect("a footer");
    let map = state["state"].as_object_mut().expect("a state");
    map.remove("t_s");
    map.remove("profile");
    (bytes[..footer].to_vec(), state)
}

/// Checkpoints of a run, oldest first.
///
/// # Panics
/// When there is no folder of checkpoints.
#[must_use]
pub fn checkpoints(run: &Path) -> Vec<PathBuf> {
    let folder = run.join("checkpoints");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// The `kiln` program: the one that the variable `KILN` names, or the one beside the test programs, built when it is not up to date.
///
/// # Panics
/// When it does not build.
#[must_use]
pub fn kiln() -> Command {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        if let Some(named) = std::env::var_os("KILN") {
            return PathBuf::from(named);
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        // Together with a test program of the workspace, as tests are built: alone the program gets other features of what it
        // depends on, and all of that is built twice.
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--workspace", "--bin", "kiln", "--test", "sources"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo starts");
        assert!(status.success(), "the program does not build");
        let own = std::env::current_exe().expect("path of the test program");
        let folder = own.ancestors().nth(2).expect("tests lie in a target folder");
        folder.join(format!("kiln{}", std::env::consts::EXE_SUFFIX))
    });
    Command::new(program)
}

/// Which of the devices that `doctor`, a `kiln doctor --json`, lists is a CPU; none where every one is a card.
///
/// # Panics
/// When it lists no device.
#[must_use]
pub fn cpu_device(doctor: &mut Command) -> Option<usize> {
    let listed = doctor.output().expect("kiln starts").stdout;
    let devices: Vec<Value> = serde_json::from_slice(&listed).expect("a list of devices");
    assert!(!devices.is_empty(), "no device");
    devices.iter().position(|device| device["kind"] == "cpu")
}

/// Arguments that train the bundled scene into `output` with `settings`.
#[must_use]
pub fn train_command(output: &Path, settings: &[&[(&str, &str)]]) -> Command {
    let mut command = kiln();
    command.arg("train").arg(scene()).arg("--output").arg(output);
    command.args(["--profile", "cpu", "--recipe", "default", "--quiet"]);
    for (key, value) in settings.iter().flat_map(|list| list.iter()) {
        match fault(key) {
            Some(name) => command.args(["--fault", &format!("{name}={value}")]),
            None => command.args(["--set", &format!("{key}={value}")]),
        };
    }
    command
}

/// Runs a command to its end: exit code and standard error.
///
/// # Panics
/// When it does not start.
#[must_use]
pub fn outcome(command: &mut Command) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = command.output().expect("the program starts");
    (status.code(), String::from_utf8_lossy(&stderr).into_owned())
}
