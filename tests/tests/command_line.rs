//! The `kiln` program as people use it: flags of other trainers, several runs in a folder, reports on runs, and output
//! that cannot be written.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_tests::runs::{self, EVENTFUL, Scratch, json, outcome, train_command};

fn kiln(arguments: &[&str]) -> Command {
    let mut command = runs::kiln();
    command.args(arguments);
    command
}

/// What a command that must end well prints.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Files below a folder with their content, sorted.
fn files(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_command_of_another_trainer_makes_a_named_run_that_reports_find() {
    let scratch = Scratch::new("flags");
    let (out, scene) = (scratch.join("out"), runs::scene());
    let line = "-r 80 --eval --iterations 4 --test_iterations 2 4 --save_iterations 4 --checkpoint_iterations 2 \
                --experiment_name first --data_device cpu --enable_lpips False --max-gaussians 6000 --allow-cpu --quiet";
    let train = |name: &str| {
        let mut command = kiln(&["train", "-s", text(&scene), "-m", text(&out)]);
        command.args(line.replace("first", name).split_whitespace());
        outcome(&mut command)
    };
    for name in ["first", "second"] {
        assert_eq!(train(name), (Some(0), String::new()));
        let run = json(&out.join(name).join("run.json"));
        assert_eq!((&run["name"], &run["status"]), (&name.into(), &"done".into()));
        assert_eq!(run["evals"].as_array().unwrap().len(), 2);
    }
    let (code, said) = train("first");
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("already holds a run"), "{said}");
    // The name is kept when the folder alone is named.
    let mut resume = kiln(&["train", text(&scene), "-o", text(&out.join("first")), "--resume"]);
    let longer = line
        .replace("--experiment_name first", "")
        .replace("--iterations 4", "--iterations 5");
    assert_eq!(
        outcome(resume.args(longer.split_whitespace())),
        (Some(0), String::new())
    );
    assert_eq!(json(&out.join("first/run.json"))["name"], "first");

    let report = printed(&mut kiln(&["memory", text(&out.join("second"))]));
    for words in [
        "run        second in ",
        "peak ",
        "owner ",
        "largest tensors",
        "model/geometry[0]",
    ] {
        assert!(report.contains(words), "{words}\n{report}");
    }
    assert!(!report.contains("warning: memory grew"), "{report}");
    let latest: serde_json::Value =
        serde_json::from_str(&printed(&mut kiln(&["memory", text(&out), "--json"]))).unwrap();
    assert!(latest["peak_reserved"].as_u64() >= latest["peak_allocated"].as_u64());
    let inspected = printed(&mut kiln(&["inspect", text(&out.join("second"))]));
    assert!(
        inspected.contains("4 of 4 iterations") && inspected.contains("checkpoint_00000002.kiln"),
        "{inspected}"
    );
    let ply = out.join("second/point_cloud/iteration_4/point_cloud.ply");
    let inspected = printed(&mut kiln(&["inspect", text(&ply)]));
    assert!(
        inspected.contains("iteration  4\n") && !inspected.contains("warning"),
        "{inspected}"
    );
}

#[test]
fn pages_are_generated() {
    let flags = printed(&mut kiln(&["flags"]));
    assert_eq!(
        flags,
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/flags.md")).unwrap()
    );
    assert!(printed(&mut kiln(&["completions", "bash"])).contains("max-gaussians"));
    assert!(printed(&mut kiln(&["man"])).starts_with(".ie"));
    assert!(printed(&mut kiln(&["train", "--help"])).contains("kiln train garden --profile 8gb"));
    let scene = printed(&mut kiln(&["inspect", text(&runs::scene())]));
    assert!(scene.contains("40 of 40 found"), "{scene}");
}

/// A row of `kiln plan --explain` about a tensor.
struct Explained<'a> {
    name: &'a str,
    class: &'a str,
    bytes: u64,
    block: usize,
    offset: u64,
    life: String,
}

/// Blocks (class, bytes, bytes asked of the driver) and tensors of an explained plan.
fn explained(table: &str) -> (Vec<(&str, u64, u64)>, Vec<Explained<'_>>) {
    let number = |word: &str| -> u64 { word.parse().unwrap_or_else(|_| panic!("`{word}` in:\n{table}")) };
    let rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let (mut blocks, mut tensors) = (Vec::new(), Vec::new());
    let mut listing = false;
    for words in rows {
        match words[..] {
            ["block", at, class, bytes, asked, _, _] => {
                assert_eq!(number(at), blocks.len() as u64);
                blocks.push((class, number(bytes), number(asked)));
            }
            ["tensors:", ..] => listing = true,
            [name, class, _, bytes, place, ref life @ ..] if listing => {
                let (block, offset) = place.split_once(':').unwrap();
                tensors.push(Explained {
                    name,
                    class,
                    bytes: number(bytes),
                    block: number(block) as usize,
                    offset: number(offset),
                    life: life.join(" "),
                });
            }
            _ => {}
        }
    }
    (blocks, tensors)
}

#[test]
fn explained_plans_list_every_tensor_with_place_and_lifetime() {
    for profile in ["8gb", "cpu"] {
        let table = printed(&mut kiln(&[
            "plan",
            text(&runs::scene()),
            "--profile",
            profile,
            "--explain",
        ]));
        let (blocks, tensors) = explained(&table);
        let find = |name: &str| {
            tensors
                .iter()
                .find(|t| t.name == name)
                .unwrap_or_else(|| panic!("{name}"))
        };
        assert_eq!(
            (find("model/geometry[0]").class, find("model/geometry[0]").life.as_str()),
            ("persistent", "the run")
        );
        let keys = &find("step/tile_keys").life;
        assert!(
            keys.starts_with("step ") && keys.contains("..") && keys.contains("; evaluate "),
            "{keys}"
        );
        assert_eq!(
            find("staging/upload").class,
            "upload",
            "windows of the host are listed too"
        );
        // A card keeps memory to compare with; a CPU driver has nothing to compare.
        assert_eq!(tensors.iter().any(|t| t.name == "probe/reference"), profile == "8gb");
        for t in &tensors {
            let (class, bytes, asked) = blocks[t.block];
            assert!(
                t.class == class && t.offset + t.bytes <= bytes && bytes <= asked,
                "{} is outside",
                t.name
            );
            // What a kernel binds without using it is a stub.
            assert!(t.life != "never used" || t.bytes == 16, "{} is never used", t.name);
        }
        for (i, a) in tensors.iter().enumerate().filter(|(_, t)| t.class != "arena") {
            let apart = |b: &Explained<'_>| a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
            assert!(
                tensors[..i].iter().all(|b| a.block != b.block || apart(b)),
                "{} overlaps",
                a.name
            );
        }
    }
}

/// What is printed before a run is what the run takes, to the byte.
#[test]
fn an_explained_plan_is_what_a_run_takes() {
    let scratch = Scratch::new("explained");
    let root = scratch.join("run");
    let settings: [&[(&str, &str)]; 2] = [EVENTFUL, &[("schedule.iterations", "2")]];
    let (code, said) = outcome(&mut train_command(&root, &settings));
    assert_eq!(code, Some(0), "{said}");
    let mut command = kiln(&[
        "plan",
        text(&runs::scene()),
        "--explain",
        "--profile",
        "cpu",
        "--recipe",
        "default",
    ]);
    for (key, value) in settings.iter().flat_map(|list| list.iter()) {
        command.args(["--set", &format!("{key}={value}")]);
    }
    let table = printed(&mut command);
    let (blocks, tensors) = explained(&table);
    let row = &runs::rows(&root.join("memory.jsonl"))[0];
    let device = |class: &str| !["upload", "readback"].contains(&class);
    let asked: u64 = blocks.iter().filter(|b| device(b.0)).map(|b| b.2).sum();
    assert_eq!(row["reserved"], asked);
    assert!(
        table
            .lines()
            .any(|line| line.split_whitespace().collect::<Vec<_>>()[..] == ["on", "the", "device", &asked.to_string()])
    );
    let own = tensors
        .iter()
        .filter(|t| device(t.class) && t.class != "arena")
        .map(|t| t.bytes);
    let arena = blocks.iter().filter(|b| b.0 == "arena").map(|b| b.1);
    assert_eq!(row["allocated"], own.sum::<u64>() + arena.sum::<u64>());
    let environment = json(&root.join("env.json"));
    for listed in environment["allocations"].as_array().unwrap() {
        let tensor = tensors.iter().find(|t| listed["name"] == t.name).unwrap();
        assert_eq!(
            (&listed["bytes"], &listed["class"]),
            (&tensor.bytes.into(), &tensor.class.into())
        );
    }
    assert_eq!(environment["allocations"].as_array().unwrap().len(), 20);
}

#[test]
fn a_device_is_chosen_by_name() {
    let devices = printed(&mut kiln(&["doctor", "--json"]));
    let devices: serde_json::Value = serde_json::from_str(&devices).unwrap();
    let uuid = devices[0]["uuid"].as_str().unwrap();
    assert!(printed(&mut kiln(&["doctor"])).contains(uuid));
    let plan = |device: &str| {
        outcome(&mut kiln(&[
            "plan",
            text(&runs::scene()),
            "--profile",
            "8gb",
            "--device",
            device,
        ]))
    };
    assert_eq!(plan(uuid).0, Some(0));
    let (code, said) = plan("no such card");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("no device matches") && said.contains(uuid), "{said}");
}

#[test]
fn a_folder_with_a_run_of_another_scene_is_left_alone() {
    let scratch = Scratch::new("other");
    let root = scratch.join("run");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/run");
    for (path, bytes) in files(&golden) {
        let to = root.join(path.strip_prefix(&golden).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
    let before = files(&root);
    let (code, said) = outcome(&mut train_command(&root, &[EVENTFUL]));
    assert_eq!(code, Some(7), "{said}");
    for words in ["two-views", "stilllife", "-o FOLDER", "--name"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!(files(&root), before);
}

/// A CPU driver takes seconds to minutes a view for LPIPS: it is left out, which is said, unless it is asked for.
#[test]
fn lpips_is_off_on_cpu_drivers_unless_asked_for() {
    let scratch = Scratch::new("lpips");
    let train = |name: &str, more: &[&str]| {
        let root = scratch.join(name);
        let mut command = kiln(&["train", text(&runs::scene()), "-o", text(&root), "--allow-cpu"]);
        command
            .args(["-r", "20", "--iterations", "1", "--max-gaussians", "400"])
            .args(more);
        let (code, said) = outcome(&mut command);
        assert_eq!(code, Some(0), "{said}");
        let rows = runs::rows(&root.join("metrics.jsonl"));
        let row = rows.iter().find(|row| row["set"] == "test").unwrap().clone();
        (said, row["lpips"].clone())
    };
    let (said, lpips) = train("usual", &[]);
    assert!(
        said.contains("note: LPIPS is off on CPU drivers, `--enable-lpips` turns it on"),
        "{said}"
    );
    assert!(lpips.is_null(), "{lpips}");
    let config = fs::read_to_string(scratch.join("usual/config.resolved.yaml")).unwrap();
    assert!(config.contains("lpips: false"), "{config}");
    let (said, _) = train("asked", &["--enable-lpips"]);
    assert!(
        said.contains("note: LPIPS on a CPU driver takes seconds to minutes a view"),
        "{said}"
    );
    assert!(!said.contains("the device has been at"), "{said}");
}

/// Whatever folder the program runs in next.
#[test]
fn a_run_finds_its_scene_from_any_folder() {
    let scratch = Scratch::new("elsewhere");
    let root = scratch.join("run");
    let mut train = kiln(&["train", "scenes/stilllife", "-o", text(&root), "--allow-cpu", "--quiet"]);
    train.current_dir(env!("CARGO_MANIFEST_DIR"));
    train.args(["-r", "20", "--iterations", "1", "--max-gaussians", "400"]);
    assert_eq!(outcome(&mut train).0, Some(0));
    let eval = || {
        let mut eval = kiln(&["eval", text(&root), "--allow-cpu"]);
        eval.current_dir(scratch.join(""));
        outcome(&mut eval)
    };
    let (code, said) = eval();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("kernel: mip, 0.1 px^2 (as the file states)"), "{said}");
    let config = root.join("config.resolved.yaml");
    let settings = fs::read_to_string(&config).unwrap();
    fs::write(&config, settings.replace("stilllife", "gone")).unwrap();
    let (code, said) = eval();
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("scenes/gone that") && said.contains("kiln eval"),
        "{said}"
    );
}

/// What is missing is reported before a device is looked for, and a profile's card is planned for without one.
#[test]
fn a_machine_without_a_driver_still_answers() {
    let bare = |arguments: &[&str]| {
        let mut command = kiln(arguments);
        command
            .env("VK_DRIVER_FILES", "/nonexistent")
            .env("VK_ICD_FILENAMES", "/nonexistent");
        let output = command.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let scene = runs::scene();
    for (arguments, code, words) in [
        (&["train", "nonexist"][..], 4, "cannot open the data set nonexist"),
        (
            &["plan", "nonexist", "--profile", "8gb"],
            4,
            "cannot open the data set nonexist",
        ),
        (&["inspect", "nonexist"], 4, "nonexist does not exist"),
        (&["train"], 2, "no scene is given"),
        (&["train", text(&scene)], 5, "hint: "),
        (
            &["plan", text(&scene), "--profile", "8gb"],
            0,
            "no Vulkan device answers here",
        ),
        (&["plan", text(&scene), "--profile", "8gb"], 0, "verdict: fits"),
        (&["doctor", "--json"], 5, "[]\n"),
        (&[], 2, "Usage: kiln <COMMAND>"),
    ] {
        let (found, said) = bare(arguments);
        assert_eq!(found, Some(code), "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?}: {words}: {said}");
        assert!(!arguments.is_empty() || !said.contains("error"), "{said}");
    }
}

/// The reason of a budget is what set it, and what would fit is a number.
#[test]
fn a_plan_that_does_not_fit_says_what_would() {
    let too_many = ["--profile", "16gb", "--max-gaussians", "60M"];
    let (code, said) = outcome(kiln(&["plan", text(&runs::scene())]).args(too_many));
    assert_eq!(code, Some(6), "{said}");
    assert!(
        said.contains("the cap is 14848.0 MiB, as `memory.cap_gib` says"),
        "{said}"
    );
    let (_, rest) = said.split_once("`--max-gaussians ").unwrap();
    let fitting = rest.split_once('`').unwrap().0;
    assert!(
        (1_000_000..60_000_000).contains(&fitting.parse::<u32>().unwrap()),
        "{said}"
    );
    let fits = ["--profile", "16gb", "--max-gaussians", fitting];
    assert_eq!(outcome(kiln(&["plan", text(&runs::scene())]).args(fits)).0, Some(0));
}

/// A folder of photos, an installed `colmap` that knows the poses of the bundled scene, and one that does not work.
#[cfg(unix)]
#[test]
fn colmap_is_run_when_it_is_asked_for() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let scratch = Scratch::new("colmap");
    let (photos, bin) = (scratch.join("photos"), scratch.join("bin"));
    fs::create_dir_all(&bin).unwrap();
    symlink(runs::scene().join("images"), &photos).unwrap();
    let install = |script: &str| {
        fs::write(bin.join("colmap"), script).unwrap();
        fs::set_permissions(bin.join("colmap"), fs::Permissions::from_mode(0o755)).unwrap();
    };
    let path = std::env::var("PATH").unwrap();
    let train = |name: &str, path: &str, more: &[&str]| {
        let root = scratch.join(name);
        let mut command = kiln(&["train", text(&photos), "-o", text(&root), "--allow-cpu"]);
        command
            .args(["-r", "40", "--iterations", "2", "--max-gaussians", "2000"])
            .args(more);
        command.env("PATH", path).env("KILN_SCENE", runs::scene());
        outcome(&mut command)
    };
    // never silently
    let with_bin = format!("{}:{path}", bin.display());
    let working = include_str!("documents/bin/colmap.sh");
    install(working);
    let (code, said) = train("unasked", &with_bin, &[]);
    assert_eq!(code, Some(4), "{said}");
    for words in [
        "holds no camera poses, only 40 photos",
        "--colmap",
        "colmap mapper --database_path",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let (code, said) = train("absent", "/nonexistent", &["--colmap"]);
    assert_eq!(code, Some(9), "{said}");
    assert!(
        said.contains("none is on PATH") && said.contains("hint: `apt install colmap`"),
        "{said}"
    );
    // it works
    let (code, said) = train("run", &with_bin, &["--colmap"]);
    assert_eq!(code, Some(0), "{said}");
    for words in [
        "COLMAP feature_extractor: 40 photos",
        "COLMAP exhaustive_matcher: done",
        "COLMAP mapper: done",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let made = scratch.join("run-colmap");
    assert!(made.join("sparse/0/images.bin").is_file() && made.join("colmap.log").is_file());
    assert_eq!(json(&scratch.join("run/run.json"))["status"], "done");
    // what it made is used again, also by commands that know the run alone
    let (code, said) = train("run", &with_bin, &["--colmap"]);
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("which COLMAP made before"), "{said}");
    let eval = printed(&mut kiln(&["eval", text(&scratch.join("run")), "--allow-cpu", "-q"]));
    assert!(eval.contains("test       5"), "{eval}");
    // a GPU that it cannot use, then photos that do not overlap, then a crash
    let broken = "#!/bin/sh\nif [ \"$2\" = -h ]; then echo '  --SiftExtraction.use_gpu arg'; exit 0; fi\n\
        case \"$*\" in *mapper*) echo 'ERROR: failed to create sparse model'; exit 1;; *use_gpu*) echo tried; exit 0;; esac\n\
        echo no display >&2\nexit 3\n";
    install(broken);
    let (code, said) = train("broken", &with_bin, &["--colmap"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("once more without the GPU") && said.contains("found no camera poses for the 40 photos"),
        "{said}"
    );
    install("#!/bin/sh\necho first\necho no space left >&2\nexit 3\n");
    let (code, said) = train("crash", &with_bin, &["--colmap"]);
    assert_eq!(code, Some(4), "{said}");
    assert!(
        said.contains("COLMAP's feature_extractor failed (exit status: 3)") && said.contains("no space left"),
        "{said}"
    );
    // it is ended with the run
    install("#!/bin/sh\necho $$ > \"$KILN_PID\"\nexec sleep 600\n");
    let mut command = kiln(&[
        "train",
        text(&photos),
        "-o",
        text(&scratch.join("ended")),
        "--allow-cpu",
        "--colmap",
    ]);
    let pid = scratch.join("pid");
    let mut child = command.env("PATH", &with_bin).env("KILN_PID", &pid).spawn().unwrap();
    let started = std::time::Instant::now();
    while !fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n')) {
        assert!(started.elapsed().as_secs() < 60, "the step does not start");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(
        Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let pid = fs::read_to_string(&pid).unwrap();
    assert!(
        !Command::new("kill")
            .args(["-0", pid.trim()])
            .status()
            .unwrap()
            .success(),
        "COLMAP goes on"
    );
}

/// Where nobody may make a folder, not even the superuser.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let (code, said) = outcome(&mut train_command(Path::new("/proc/kiln-run"), &[EVENTFUL]));
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("/proc/kiln-run"), "{said}");
}
