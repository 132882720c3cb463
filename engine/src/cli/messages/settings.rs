//! Command line and configuration.

use super::{complete, golden, path};
use crate::cli::{ProfilesError, UsageError, WindowsError, parse};
use kiln_config::{At, AutoError, ConfigError};

fn typed(line: &str) -> UsageError {
    parse(line.split_whitespace()).unwrap_err()
}

#[test]
fn command_line() {
    let usage = vec![
        typed("kiln trian garden"),
        typed("kiln train garden --stes 3"),
        typed("kiln train garden --iterations many"),
        typed("kiln train garden --resolution"),
        typed("kiln train garden --enable_lpips maybe"),
        typed("kiln train garden --data_device tpu"),
        typed("kiln train garden --eval --no-eval"),
        typed("kiln render runs/a"),
        typed("kiln export runs/a"),
        typed("kiln export runs/a -o garden.splat"),
        typed("kiln export runs/a --format glb --spz-version 4"),
        typed("kiln export runs/a --format ply"),
        typed("kiln export runs/a --format ply -o garden.spz"),
        typed("kiln export runs/a --format ksplat"),
        typed("kiln export runs/a --format spz --crop 0,0,0,1,1"),
        typed("kiln export runs/a --format spz --sh-degree 4"),
        UsageError::OverTheModel {
            shown: "model.ply".to_owned(),
        },
        typed("kiln completions tcsh"),
        typed("kiln man trian"),
        typed("kiln train garden --skip_coarse True"),
        typed("kiln train garden --fragmentation aggressive"),
        typed("kiln train garden -c output -i 7000 -r density --max_points 4M"),
        typed("kiln train garden -i 7000"),
        typed("kiln train garden --resolution 0.9"),
        typed("kiln train garden --set x"),
        typed("kiln train garden --fault x"),
        typed("kiln train garden --fault vcap=3"),
        typed("kiln render runs/a -o b --fault v_cap=many"),
        UsageError::NotText {
            shown: "a\u{fffd}".to_owned(),
        },
        UsageError::WriteNeedsRun {
            shown: "model.ply".to_owned(),
        },
        UsageError::MergedIsPly {
            output: path("city.spz"),
            project: path("city-blocks"),
        },
        UsageError::OtherSystem {
            shown: "/mnt/d/runs".to_owned(),
            other: "WSL2",
            instead: r"/mnt/d/runs is a path of WSL2, which Windows calls D:\runs; `wslpath -w /mnt/d/runs` prints that name there"
                .to_owned(),
        },
        UsageError::NothingThere {
            shown: "gaden".to_owned(),
        },
    ];
    let mut examples = complete!(
        UsageError,
        usage,
        [
            Arguments,
            Refused,
            NotText,
            SetForm,
            Fault,
            WriteNeedsRun,
            NoFormat,
            OtherEnding,
            NotSpz,
            PlyWithoutName,
            OverTheModel,
            MergedIsPly,
            OtherSystem,
            NothingThere,
        ]
    );
    let auto = vec![
        AutoError::CpuNotAllowed,
        AutoError::TooSmall {
            budget_gib: 3.5,
            heap_gib: 8.0,
            smallest_gib: 7.0,
        },
        AutoError::Config(ConfigError::Write {
            message: "a number".to_owned(),
        }),
    ];
    examples.extend(complete!(AutoError, auto, [CpuNotAllowed, TooSmall, Config]));
    let profiles = vec![
        ProfilesError::Config(unknown_name()),
        ProfilesError::Write(super::system(std::io::ErrorKind::StorageFull)),
    ];
    examples.extend(complete!(ProfilesError, profiles, [Config, Write]));
    let windows = vec![
        WindowsError::NotWsl,
        WindowsError::NoProgram,
        WindowsError::Path {
            path: "garden".to_owned(),
            reason: super::system(std::io::ErrorKind::NotFound),
        },
        WindowsError::Start {
            program: "/mnt/c/kiln/kiln.exe".into(),
            reason: super::system(std::io::ErrorKind::PermissionDenied),
        },
    ];
    examples.extend(complete!(WindowsError, windows, [NotWsl, NoProgram, Path, Start]));
    golden("command_line", examples);
}

fn unknown_name() -> ConfigError {
    ConfigError::UnknownName {
        what: "profile",
        found: "12gb".to_owned(),
        known: vec!["16gb".to_owned(), "8gb".to_owned()],
    }
}

#[test]
fn configuration() {
    let at = || At {
        source: "my.yaml".into(),
        line: 7,
    };
    let known = || vec!["save".to_owned(), "test".to_owned()];
    let errors = vec![
        ConfigError::Read {
            file: path("my.yaml").display().to_string(),
            source: super::system(std::io::ErrorKind::NotFound),
        },
        ConfigError::TooLarge {
            file: "my.yaml".to_owned(),
            found: 10_485_760,
            allowed: 1_048_576,
        },
        ConfigError::Syntax {
            at: at(),
            message: "tabs are not allowed, indent with spaces".to_owned(),
        },
        ConfigError::UnknownKey {
            at: at(),
            key: "schedule.savee".to_owned(),
            known: known(),
        },
        ConfigError::UnknownKey {
            at: at(),
            key: "strategy.from".to_owned(),
            known: Vec::new(),
        },
        ConfigError::UnknownValue {
            at: at(),
            key: "strategy.kind".to_owned(),
            found: "adaptiv".to_owned(),
            known: vec!["adaptive".to_owned(), "adaptive_abs".to_owned()],
        },
        ConfigError::UnknownValue {
            at: at(),
            key: "regularizers.0.kind".to_owned(),
            found: "depth".to_owned(),
            known: vec!["opacity".to_owned(), "scale".to_owned()],
        },
        ConfigError::Type {
            at: at(),
            key: "run.name".to_owned(),
            found: "7".to_owned(),
            expected: "a text (in quotes if it looks like something else)".to_owned(),
        },
        ConfigError::Range {
            at: At::whole("--sh-degree"),
            key: "model.sh_degree".to_owned(),
            found: "4".to_owned(),
            allowed: "0 to 3".to_owned(),
        },
        ConfigError::Missing {
            at: at(),
            key: "strategy.kind".to_owned(),
        },
        unknown_name(),
        ConfigError::ExtendsTwice { at: at() },
        ConfigError::RecipeBase {
            at: at(),
            found: "profiles/8gb".to_owned(),
        },
        ConfigError::Write {
            message: "a number is not finite".to_owned(),
        },
    ];
    let examples = complete!(
        ConfigError,
        errors,
        [
            Read,
            TooLarge,
            Syntax,
            UnknownKey,
            UnknownValue,
            Type,
            Range,
            Missing,
            UnknownName,
            ExtendsTwice,
            RecipeBase,
            Write,
        ]
    );
    golden("configuration", examples);
}
