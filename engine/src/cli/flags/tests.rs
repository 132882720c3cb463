//! Every row of the table, and the document that shows it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::path::Path;

use super::others::{GAUSSIANS, KNOWN_COMMAND, MESHES, OTHERS, Row, TRIANGLES, example};
use super::{find_refused, page};
use crate::cli::exit::{Exit, Failure as _};
use crate::cli::{Request, UsageError, parse};
use kiln_config::{ConfigError, HoldOut, Inputs, LpipsChoice, Profile, resolve};

fn rows() -> impl Iterator<Item = &'static Row> {
    GAUSSIANS.iter().chain(OTHERS).chain(MESHES).chain(TRIANGLES)
}

/// `kiln train scene` with the row's example, under each of its spellings; the scene is left out when the row names one.
fn command_lines(row: &Row) -> Vec<Vec<String>> {
    let typed = row.typed();
    let (first, values) = typed.split_once(' ').unwrap_or((typed, ""));
    let spellings = row.spellings();
    assert!(
        spellings.iter().any(|flag| flag == first),
        "{typed} is an example of another flag"
    );
    let names_scene = spellings.iter().any(|flag| flag == "-s");
    let line = |flag: String| {
        let mut line = vec!["kiln".to_owned(), "train".to_owned()];
        line.extend((!names_scene).then(|| "scene".to_owned()));
        line.push(flag);
        line.extend(values.split_whitespace().map(str::to_owned));
        line
    };
    spellings.into_iter().map(line).collect()
}

#[test]
fn every_row_is_what_happens() {
    for row in rows() {
        for line in command_lines(row) {
            let shown = line.join(" ");
            match (row, parse(line)) {
                (Row::Sets(typed), Ok(Request::Train(train))) => {
                    let (flag, value) = example(typed).unwrap();
                    let overrides = &train.job.settings.inputs.overrides;
                    let set = overrides.iter().find(|set| set.key == flag.key);
                    assert_eq!(set.map(|set| &set.value), Some(&value), "{shown}");
                    match train.job.settings.preliminary() {
                        Ok(profile) => assert!(has_key(&profile, flag.key), "{shown}"),
                        Err(ConfigError::Range { key: found, .. }) => assert_eq!(found, flag.key, "{shown}"),
                        Err(other) => panic!("{shown}: {other}"),
                    }
                }
                (Row::Does(..), Ok(Request::Train(train))) => {
                    assert!(train.quiet || train.job.resume.is_some(), "{shown}");
                }
                (Row::Refused(_, _, instead) | Row::RefusedWith(_, _, _, instead), Err(error)) => {
                    assert!(matches!(error, UsageError::Refused { .. }), "{shown}: {error}");
                    assert_eq!(error.exit(), Exit::Usage);
                    assert!(error.hint().unwrap().ends_with(*instead), "{shown}: {error:?}");
                }
                (_, found) => panic!("{shown}: {found:?}"),
            }
        }
    }
}

#[test]
fn values_may_be_attached_and_other_commands_are_free() {
    for typed in ["--skip_coarse=True", "-n0.3", "--ip=0.0.0.0"] {
        let error = parse(["kiln", "plan", "scene", typed]).unwrap_err();
        let name = error.to_string();
        assert!(name.ends_with("is not a flag of Kiln"), "{typed}: {name}");
    }
    for free in [
        "kiln train scene -- --ip",
        "kiln train scene -r 4",
        "kiln view --port 1",
        "kiln",
    ] {
        let args: Vec<String> = free.split(' ').map(str::to_owned).collect();
        assert!(find_refused(&args).is_empty(), "{free}");
    }
}

#[test]
fn all_refused_flags_are_named_together() {
    let refused = |line: &str| parse(line.split(' ')).unwrap_err();
    let sugar = "kiln train -s garden -c output/garden -i 7000 -r dn_consistency --skip_coarse True --refinement_time short \
                 --optimize_memory True -l 0.3 -v 1000000 -g 1 -f 15000 -t True";
    let error = refused(sugar);
    assert_eq!(
        error.to_string(),
        "6 flags are not understood here: `-c`, `-i 7000`, `-r dn_consistency`, `--skip_coarse`, `-l`, `-t`"
    );
    let hint = error.hint().unwrap();
    let lines: Vec<&str> = hint.lines().collect();
    assert_eq!(lines.len(), 6, "{hint}");
    assert!(
        lines[0].starts_with("`-c`: `sugar.from` names") && lines[1].contains("`sugar.start`"),
        "{hint}"
    );
    for (line, said) in [
        ("kiln train s -i7000", "`7000` is no value of `-i`"),
        ("kiln plan s -rdensity", "`density` is no value of `-r`"),
        ("kiln plan s -c x -c y", "`-c` is not a flag of Kiln"),
    ] {
        let error = refused(line);
        assert_eq!(error.to_string(), said);
        assert!(!error.hint().unwrap().starts_with("`-"), "{line}");
    }
    for folder in ["-i ./7000", "-i images_4", "--images 7000px"] {
        assert!(parse(format!("kiln train s {folder}").split(' ')).is_ok(), "{folder}");
    }
}

#[test]
fn flags_whose_key_means_the_same_set_it() {
    let set = |typed: &str| {
        let Request::Train(train) = parse(format!("kiln train s {typed}").split(' ')).unwrap() else {
            panic!("not train");
        };
        let set = train
            .job
            .settings
            .inputs
            .overrides
            .into_iter()
            .find(|set| set.key != "dataset.path")
            .unwrap();
        format!("{}={}", set.key, set.value)
    };
    for (typed, expected) in [
        ("--max_points 8M", "mesh_splatting.max_points=8000000"),
        ("--optimize_memory True", "memory.storage=half"),
        ("--optimize_memory", "memory.storage=half"),
        ("--optimize-memory=False", "memory.storage=exact"),
        ("--indoor", "mesh_splatting.scene=indoors"),
        ("--project_mesh_on_surface_points False", "mesh.method=poisson"),
        ("-v 200000", "mesh.decimate={ triangles: 200000 }"),
        ("-g 6", "bound.per_triangle=6"),
        ("-f 15000", "bound.iterations=15000"),
    ] {
        assert_eq!(set(typed), expected);
    }
    for (typed, said) in [
        ("-r 0.9", "factors such as 0.9 are not taken"),
        ("--resolution=1.5", "1440"),
        ("-r x", "a whole number is expected"),
        ("--name=", "a name is expected"),
        ("--batch_size 4", "`--batch_size` is not a flag of Kiln"),
    ] {
        let error = parse(format!("kiln train s {typed}").split(' '))
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{typed}: {error}");
    }
}

#[test]
fn a_known_command_line_carries_over() {
    let line = format!("kiln train {KNOWN_COMMAND}");
    let Request::Train(train) = parse(line.split_whitespace()).unwrap() else {
        panic!("not train");
    };
    let profile = train.job.settings.preliminary().unwrap();
    assert_eq!(profile.dataset.path.as_deref(), Some("garden"));
    assert_eq!(
        (profile.dataset.resolution, &profile.dataset.hold_out),
        (4, &HoldOut::Yes)
    );
    assert_eq!(profile.run.output.as_deref(), Some("output/garden"));
    assert_eq!(profile.run.name.as_deref(), Some("full_res30k"));
    assert_eq!(profile.schedule.iterations, 30_000);
    assert_eq!(profile.schedule.test, [1000, 5000, 10_000, 15_000, 30_000]);
    assert_eq!(profile.schedule.save, [5000, 10_000, 15_000, 20_000, 30_000]);
    assert_eq!(profile.schedule.checkpoint, [5000, 10_000, 20_000]);
    assert_eq!(profile.eval.lpips, LpipsChoice::On);
}

fn has_key(profile: &Profile, key: &str) -> bool {
    let json = serde_json::to_value(profile).unwrap();
    json.pointer(&format!("/{}", key.replace('.', "/"))).is_some()
}

#[test]
fn every_answer_names_something_that_exists() {
    let recipe = |name: &str| {
        let inputs = Inputs {
            recipe: Some(name.to_owned()),
            ..Inputs::default()
        };
        resolve(&inputs).unwrap()
    };
    // Keys of the stages of SuGaR are those of its recipe; sections that are null are looked at with their defaults.
    let mut profile = recipe("sugar");
    profile.diagnose.get_or_insert_default();
    profile.mesh_splatting.get_or_insert_default();
    profile.mesh.texture.size = Some(4096);
    for row in rows() {
        let (Row::Refused(_, _, instead) | Row::RefusedWith(_, _, _, instead)) = row else {
            continue;
        };
        let named: Vec<&str> = instead.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "{instead}");
        for word in named {
            let section = word.split('.').next().unwrap_or_default();
            if word.contains('.') && has_key(&profile, section) {
                assert!(has_key(&profile, word), "{}: {word}", row.typed());
            }
        }
    }
}

#[test]
fn the_document_shows_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/flags.md");
    let text = page();
    if std::env::var_os("KILN_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, &text).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/guide/flags.md is stale: KILN_BLESS=1 cargo test -p kiln flags"
    );
}
