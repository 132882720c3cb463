//! Kiln for Linux under WSL2, played by a variable and by scripts in the place of `wslpath` and `kiln.exe`.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kiln_tests::runs::{self, Scratch, outcome};

/// As WSL's own: drives are below `mnt` of the machine, all else on the share; what is not there is refused.
const WSLPATH: &str = r#"#!/bin/sh
[ "$1" = -w ] && [ -e "$2" ] || exit 1
case "$2" in
    MACHINE/mnt/d*) printf 'D:%s\n' "${2#MACHINE/mnt/d}" ;;
    *) printf '//wsl.localhost/Debian%s\n' "$2" ;;
esac | tr / '\\'
"#;

/// Writes down its arguments, one a line, and ends with 6.
const PROGRAM: &str = r#"#!/bin/sh
echo "from windows"
printf '%s\n' "$@" > "MACHINE/handed"
exit 6
"#;

/// Waits for Ctrl-C, and then saves for a moment.
const PATIENT: &str = r#"#!/bin/sh
trap 'echo saved; exit 130' INT
echo started
while :; do sleep 0.05; done
"#;

/// A machine of WSL2 with a drive `D:` that has a scene.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    fn new(program: Option<&str>) -> Self {
        let scratch = Scratch::new("wsl");
        for folder in ["bin", "mnt/d/my garden", "home"] {
            fs::create_dir_all(scratch.join(folder)).unwrap();
        }
        let machine = Self { scratch };
        machine.script("wslpath", WSLPATH);
        if let Some(program) = program {
            machine.script("kiln.exe", program);
        }
        machine
    }

    /// Without links: what paths are resolved to.
    fn path(&self, path: &str) -> PathBuf {
        self.scratch.join("").canonicalize().unwrap().join(path)
    }

    fn script(&self, name: &str, text: &str) {
        let path = self.path("bin").join(name);
        let root = self.path("");
        let text = text.replace("MACHINE", root.to_str().unwrap().trim_end_matches('/'));
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `kiln` there, in a folder of it.
    fn kiln(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut command = runs::kiln();
        let paths = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        command
            .args(arguments)
            .current_dir(self.path(folder))
            .env("WSL_DISTRO_NAME", "Debian")
            .env("PATH", paths);
        command
    }

    fn handed(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("handed")).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

#[test]
fn a_command_is_handed_over_with_the_names_of_windows_and_its_exit_code_comes_back() {
    let machine = Machine::new(Some(PROGRAM));
    let line = ["train", "my garden", "--windows", "-o", "runs/new", "--profile", "8gb"];
    let output = machine.kiln("mnt/d", &line).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "from windows\n");
    assert_eq!(
        machine.handed(),
        ["train", r"D:\my garden", "-o", r"D:\runs\new", "--profile", "8gb"]
    );
    let command = r"kiln.exe train 'D:\my garden' -o 'D:\runs\new' --profile 8gb";
    assert!(said.contains(&format!("note: {command}\n")), "{said}");
    assert!(said.contains("`taskkill.exe /F /IM kiln.exe`"), "{said}");
    assert!(!said.contains("warning"), "{said}");
}

#[test]
fn a_scene_among_the_files_of_linux_is_slow_and_is_copied_to_a_drive() {
    let machine = Machine::new(Some(PROGRAM));
    let scene = machine.path("home");
    let line = ["--windows", "train", scene.to_str().unwrap(), "-o", "/mnt/d/runs/a"];
    let (_, said) = outcome(&mut machine.kiln("mnt/d", &line));
    assert!(
        machine.handed()[1].starts_with(r"\\wsl.localhost\Debian\"),
        "{:?}",
        machine.handed()
    );
    let copy = format!("`cp -r {} /mnt/c/home`", scene.display());
    assert!(said.contains("warning: ") && said.contains(&copy), "{said}");
    // So is a run that goes to where the command is started.
    let (_, said) = outcome(&mut machine.kiln("home", &["inspect", "--windows", "../mnt/d/my garden"]));
    assert!(
        said.contains("warning: this folder lies in WSL's own file system"),
        "{said}"
    );
    assert_eq!(machine.handed(), ["inspect", r"D:\my garden"]);
}

/// The file is the user's and stays as it is.
#[test]
fn paths_that_a_file_of_settings_names_are_set_by_their_windows_names() {
    let machine = Machine::new(Some(PROGRAM));
    let (scene, file) = (machine.path("mnt/d/my garden"), machine.path("mnt/d/my.yaml"));
    let text = format!("dataset: {{ path: {:?} }}\n", scene.to_str().unwrap());
    fs::write(&file, &text).unwrap();
    let line = ["train", "--windows", "--config", "my.yaml", "--profile", "8gb"];
    let (_, said) = outcome(&mut machine.kiln("mnt/d", &line));
    let set = "dataset.path=D:/my garden";
    assert_eq!(
        machine.handed(),
        ["train", "--config", r"D:\my.yaml", "--profile", "8gb", "--set", set],
        "{said}"
    );
    let note = format!(
        "note: the settings name {} as `dataset.path`, which is D:/my garden on Windows",
        scene.display()
    );
    assert!(said.contains(&note), "{said}");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    // A scene that the command names is the one that counts.
    let (_, said) = outcome(&mut machine.kiln("mnt/d", &[&line[..], &["my garden"]].concat()));
    assert!(!said.contains("dataset.path"), "{said}");
}

/// The signal goes to Kiln's process alone, as `kill` sends it; one of a terminal goes to all of them anyhow.
#[test]
fn ctrl_c_reaches_the_windows_program_once() {
    let machine = Machine::new(Some(PATIENT));
    let mut command = machine.kiln("mnt/d", &["train", "my garden", "--windows"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert_eq!(lines.next().unwrap().unwrap(), "started");
    let sent = Command::new("kill")
        .arg("-INT")
        .arg(child.id().to_string())
        .status()
        .unwrap();
    assert!(sent.success());
    assert_eq!(lines.next().unwrap().unwrap(), "saved");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "it goes on");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
}

#[test]
fn without_the_program_or_without_wsl_nothing_is_handed_over() {
    let machine = Machine::new(None);
    let line = ["train", "my garden", "--windows"];
    let (code, said) = outcome(&mut machine.kiln("mnt/d", &line));
    assert_eq!(code, Some(9), "{said}");
    assert!(said.contains("kiln-VERSION-x86_64-windows.zip"), "{said}");
    let (code, said) = outcome(machine.kiln("mnt/d", &line).env_remove("WSL_DISTRO_NAME"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("this is not WSL2"), "{said}");
    // A file that the system cannot start.
    let path = machine.path("bin/kiln.exe");
    fs::write(&path, "#!/none/such\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let (code, said) = outcome(&mut machine.kiln("mnt/d", &line));
    assert_eq!(code, Some(9), "{said}");
    assert!(said.contains("did not start") && said.contains("interop"), "{said}");
}

/// Only a CPU driver answers, whatever this machine has: the profile of a card wants a card.
#[test]
fn where_only_a_cpu_answers_the_command_for_windows_is_printed() {
    let machine = Machine::new(Some(PROGRAM));
    let scene = runs::scene();
    let line = [
        "train",
        scene.to_str().unwrap(),
        "--profile",
        "8gb",
        "--device",
        "no such card",
    ];
    let (code, said) = outcome(&mut machine.kiln("mnt/d", &line));
    assert_eq!(code, Some(5), "{said}");
    let command = format!(
        "`kiln.exe train '\\\\wsl.localhost\\Debian{}' --profile 8gb --device 'no such card'`",
        scene.canonicalize().unwrap().to_str().unwrap().replace('/', "\\")
    );
    assert!(
        said.contains(&command) && said.contains("`--windows` hands it over"),
        "{said}\n{command}"
    );
    assert!(!machine.path("handed").exists());
}

/// Allowed is not wanted: a line at the start names what uses the card, once, also where a mesh follows that opens the device again.
#[test]
fn a_run_on_a_cpu_names_the_program_that_uses_the_card() {
    let machine = Machine::new(Some(PROGRAM));
    let Some(index) = runs::cpu_device(&mut machine.kiln("home", &["doctor", "--json"])) else {
        return;
    };
    let (scene, select) = (runs::scene(), format!("device.select={index}"));
    let line = [
        "train",
        scene.to_str().unwrap(),
        "--profile",
        "cpu",
        "--set",
        &select,
        "--set",
        "dataset.resolution=24",
        "--set",
        "memory.max_gaussians=6000",
        "--set",
        "mesh.voxel=0.2",
        "--iterations",
        "2",
        "--mesh",
    ];
    let run = |more: &[&str]| outcome(&mut machine.kiln("home", &[&line[..], more].concat())).1;
    let said = run(&["-o", "a"]);
    let note = "kiln.exe uses the card by its vendor's driver: `kiln.exe train ";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert_eq!(
        said.matches("the same command with `--windows` hands it over").count(),
        1,
        "{said}"
    );
    assert!(said.matches("device: ").count() > 1, "the mesh opens it again: {said}");
    assert!(!machine.path("handed").exists());
    let (_, said) = outcome(
        machine
            .kiln("home", &[&line[..], &["-o", "b"]].concat())
            .env_remove("WSL_DISTRO_NAME"),
    );
    assert!(!said.contains("kiln.exe"), "{said}");
    assert!(!run(&["-o", "c", "--quiet"]).contains("kiln.exe"));
}

#[test]
fn a_path_of_windows_is_named_as_wsl_does() {
    let machine = Machine::new(None);
    for typed in [r"D:\garden", "D:/garden", "D:garden"] {
        let (code, said) = outcome(&mut machine.kiln("home", &["train", typed]));
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains("WSL2 calls /mnt/d/garden"), "{said}");
    }
    let mut elsewhere = machine.kiln("home", &["train", r"D:\garden"]);
    let (_, said) = outcome(elsewhere.env_remove("WSL_DISTRO_NAME"));
    assert!(!said.contains("/mnt/d"), "{said}");
}

#[test]
fn doctor_says_what_is_best_in_three_sentences() {
    for (program, best) in [
        (Some(PROGRAM), "Best is `kiln.exe`"),
        (None, "Best is Kiln for Windows"),
    ] {
        let machine = Machine::new(program);
        let output = machine.kiln("home", &["doctor"]).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let (_, sentences) = printed.rsplit_once("\n\n").unwrap();
        assert_eq!(sentences.lines().count(), 3, "{printed}");
        assert!(sentences.starts_with("This is Linux under WSL2"), "{printed}");
        let has_card = !sentences.contains("Only a CPU driver answers");
        assert!(has_card || sentences.contains(best), "{printed}");
    }
}

/// The trial runs in a process of its own, which the fault ends as a driver would.
#[test]
fn a_driver_that_dies_does_not_take_the_program_along() {
    let scratch = Scratch::new("dies");
    let out = scratch.join("run");
    let mut command = runs::train_command(&out, &[]);
    let (code, said) = outcome(command.args(["--fault", "dying_driver=true"]));
    assert_eq!(code, Some(5), "{said}");
    for words in [
        "dies when it opens `",
        "signal 6 (abort)",
        "VK_DRIVER_FILES=FILE.json",
        "--device",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!out.exists());
    // One that lives opens its device, and then the program's own.
    let mut trial = runs::kiln();
    let (code, said) = outcome(trial.args(["doctor", "--open", "0"]));
    assert_eq!((code, said.as_str()), (Some(0), ""));
}
