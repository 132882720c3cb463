//! The commands that README and guide show are run as they stand, page by page, each in a folder with what the page takes
//! for granted. `kiln` is the program itself, with settings that make it quick and a CPU driver enough; programs that do not
//! belong to the project have stand-ins. What needs a card (its name, its memory) is left out of the command line.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln::cli::{Request, parse};
use kiln_config::{Inputs, resolve};
use kiln_tests::projects::MadeProject;
use kiln_tests::runs::{self, Scratch};

/// Programs other than `kiln`, and what stands in for them.
const STAND_INS: [(&str, &str); 3] = [
    ("kiln", include_str!("bin/kiln.sh")),
    ("colmap", include_str!("bin/colmap.sh")),
    ("ffmpeg", include_str!("bin/ffmpeg.sh")),
];
/// Programs whose work is not Kiln's: that they are called is all.
const NOTHING: [&str; 7] = ["cargo", "docker", "podman", "ssh", "apt", "apt-get", "git"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Blocks of a page in one of these languages, with the line they begin at.
fn blocks(page: &str, languages: &[&str]) -> Vec<(usize, String)> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let (mut found, mut open): (Vec<(usize, String)>, Option<bool>) = (Vec::new(), None);
    for (number, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), open) {
            (Some(language), None) => {
                let wanted = languages.contains(&language);
                open = Some(wanted);
                if wanted {
                    found.push((number + 1, String::new()));
                }
            }
            (Some(_), Some(_)) => open = None,
            (None, Some(true)) => {
                let (_, block) = found.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            (None, _) => {}
        }
    }
    found
}

/// A folder to run a page in.
struct Place {
    scratch: Scratch,
}

impl Place {
    fn new(page: &str) -> Self {
        let scratch = Scratch::new(&page.replace(['/', '.'], "-"));
        let bin = scratch.join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(scratch.join("work")).unwrap();
        let nothing = NOTHING.iter().map(|name| (*name, "#!/bin/sh\nexit 0\n"));
        for (name, text) in STAND_INS.into_iter().chain(nothing) {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        // What another trainer's command does here.
        let python = "#!/bin/sh\nshift\nexec kiln plan \"$@\"\n";
        fs::write(bin.join("python"), python).unwrap();
        fs::set_permissions(bin.join("python"), fs::Permissions::from_mode(0o755)).unwrap();
        Self { scratch }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.scratch.join("work").join(path)
    }

    fn run(&self, name: &str, block: &str) -> String {
        let path = std::env::var("PATH").unwrap();
        let kiln = runs::kiln();
        let mut shell = Command::new("bash");
        shell
            .args(["-euo", "pipefail", "-c", block])
            .current_dir(self.scratch.join("work"))
            .env("PATH", format!("{}:{path}", self.scratch.join("bin").display()))
            .env("HOME", self.scratch.join("home"))
            .env("KILN_PROGRAM", kiln.get_program())
            .env("KILN_SCENE", runs::scene());
        let output = shell.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(
            output.status.success(),
            "{name} ends with {}\n{block}\n{said}",
            output.status
        );
        said
    }

    /// All shell blocks of a page, in order.
    fn run_page(&self, page: &str) {
        let blocks = blocks(page, &["sh"]);
        assert!(!blocks.is_empty(), "{page} has no shell block");
        for (line, block) in blocks {
            // A place of the reader's machine.
            let block = block.replace("/data/", &format!("{}/", self.at("data").display()));
            self.run(&format!("{page}:{line}"), &block);
        }
    }

    /// The bundled scene.
    fn scene(&self, name: &str) {
        symlink(runs::scene(), self.at(name)).unwrap();
    }

    /// A run of the bundled scene.
    fn trained(&self, name: &str) {
        if !self.at("garden").exists() {
            self.scene("garden");
        }
        self.run(name, &format!("kiln train garden -o {name}"));
    }
}

#[test]
fn the_readme() {
    let place = Place::new("README");
    // the photos lie elsewhere, as photos do
    fs::create_dir_all(place.at("garden")).unwrap();
    symlink(runs::scene().join("images"), place.at("garden/images")).unwrap();
    place.run_page("README.md");
    assert!(place.at("runs/garden/run.json").is_file());
}

#[test]
fn photos_to_splats() {
    let place = Place::new("photos");
    fs::write(place.at("garden.mp4"), "").unwrap();
    place.run_page("docs/guide/photos-to-splats.md");
    assert!(place.at("runs/garden/run.json").is_file() && place.at("pictures").is_dir());
}

#[test]
fn installing_and_containers() {
    let place = Place::new("install");
    place.scene("garden");
    place.run_page("docs/guide/install.md");
    let home = place.scratch.join("home/.local/share");
    assert!(home.join("man/man1/kiln.1").is_file() && home.join("bash-completion/completions/kiln").is_file());
    place.run_page("docs/guide/container.md");
}

#[test]
fn files_for_viewers_and_run_folders() {
    let place = Place::new("models");
    place.trained("runs/garden");
    let models = place.at("runs/garden/point_cloud");
    let model = fs::read_dir(models)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path()
        .join("point_cloud.ply");
    for name in ["model.ply", "other.ply"] {
        fs::copy(&model, place.at(name)).unwrap();
    }
    place.run_page("docs/guide/export.md");
    assert!(place.at("garden.glb").is_file() && place.at("table.compressed.ply").is_file());
    place.scene("scene");
    fs::rename(place.at("runs/garden"), place.at("runs/scene")).unwrap();
    place.run_page("docs/guide/run-folder.md");
    assert!(place.at("out").is_dir());
}

#[test]
fn scores_and_pictures_of_meshes() {
    let place = Place::new("meshes");
    place.scene("garden");
    let mut file = Vec::new();
    let corners = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let faces = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let mesh = kiln_mesh::Mesh::new(corners, faces).unwrap();
    kiln_mesh::ply::write(&mesh, &[], &mut file).unwrap();
    for name in ["garden.ply", "scan.ply"] {
        fs::write(place.at(name), &file).unwrap();
    }
    place.run_page("docs/guide/mesh-scores.md");
    assert!(fs::read_dir(place.at("pictures")).unwrap().count() > 0);
}

#[test]
fn the_viewer() {
    let place = Place::new("viewer");
    place.trained("runs/garden-16gb");
    fs::create_dir_all(place.at("data")).unwrap();
    symlink(place.at("runs"), place.at("data/experiments")).unwrap();
    let _ = MadeProject::new(&place.at("city-blocks"), &[("b0000", [[None; 2]; 2])]);
    for name in ["city.streamed-sog", "garden.sog"] {
        place.run(name, &format!("kiln export runs/garden-16gb -o {name}"));
    }
    place.run_page("docs/guide/viewer.md");
    assert!(place.at("site/index.html").is_file());
}

#[test]
fn commands_of_other_trainers_storage_and_comparisons() {
    let place = Place::new("others");
    for name in ["garden", "SCENE"] {
        place.scene(name);
    }
    for page in [
        "docs/guide/flags.md",
        "docs/guide/storage.md",
        "docs/guide/comparisons.md",
    ] {
        place.run_page(page);
    }
    assert!(place.at("runs/compact-2/run.json").is_file());
}

/// Pages with shell blocks that no test above runs.
#[test]
fn no_page_is_forgotten() {
    let known = [
        "README.md",
        "comparisons.md",
        "container.md",
        "export.md",
        "flags.md",
        "install.md",
        "large-scenes.md",
        "mesh-scores.md",
        // Its commands train for an hour: they are understood, see below.
        "methods.md",
        "photos-to-splats.md",
        "recipes.md",
        "run-folder.md",
        "storage.md",
        "viewer.md",
    ];
    for entry in fs::read_dir(root().join("docs/guide")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let has = !blocks(&format!("docs/guide/{name}"), &["sh"]).is_empty();
        assert_eq!(has, known.contains(&name.as_str()), "{name}");
    }
}

/// Commands of pages that no test runs are understood, and set what exists: meshes want a model that was trained for long.
#[test]
fn commands_of_other_pages_are_understood() {
    let mut seen = 0;
    for page in [
        "docs/guide/large-scenes.md",
        "docs/guide/methods.md",
        "docs/guide/recipes.md",
        "docs/meshes.md",
        "docs/notebook/quality.md",
    ] {
        for (line, block) in blocks(page, &["sh"]) {
            let block = block.replace("\\\n", " ");
            for command in block.lines().filter(|line| line.starts_with("kiln ")) {
                // The shell knows quotes and comments.
                let words = Command::new("bash")
                    .args(["-c", &format!("printf '%s\\n' {command}")])
                    .output();
                let words = String::from_utf8(words.unwrap().stdout).unwrap();
                let settings = match parse(words.lines()) {
                    Ok(Request::Train(train)) => train.job.settings,
                    Ok(Request::Mesh(mesh)) => mesh.job.model.settings,
                    Ok(Request::Render(render)) => render.model.settings,
                    Ok(Request::Split(split)) => split.job.settings,
                    Ok(Request::Eval(eval)) => eval.model.settings,
                    // Nothing of them is a setting.
                    Ok(Request::Merge(_) | Request::Status(_)) => continue,
                    other => panic!("{page}:{line}: {command}: {other:?}"),
                };
                if let Err(error) = settings.preliminary() {
                    panic!("{page}:{line}: {command}: {error}");
                }
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "{seen} commands");
}

/// YAML of the pages, as files of their own.
#[test]
fn settings_that_are_shown_can_be_used() {
    let scratch = Scratch::new("yaml");
    let mut seen = 0;
    for entry in fs::read_dir(root().join("docs/guide")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        for (line, block) in blocks(&format!("docs/guide/{name}"), &["yaml"]) {
            let file = scratch.join("shown.yaml");
            fs::write(&file, &block).unwrap();
            // Rules for captures have their place in recipes.
            let inputs = match block.contains("adapt:") {
                true => Inputs {
                    recipe: Some(file.display().to_string()),
                    ..Inputs::default()
                },
                false => Inputs {
                    file: Some(file),
                    ..Inputs::default()
                },
            };
            if let Err(error) = resolve(&inputs) {
                panic!("{name}:{line}: {error}\n{block}");
            }
            seen += 1;
        }
    }
    assert!(seen >= 2, "{seen} blocks");
}
