//! Every flag that is accepted, and what is refused.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
use std::path::PathBuf;

use super::*;
use kiln_config::{AutoError, Background, Budget, DeviceChoice, HoldOut, LpipsChoice, MostGaussians, Profile};

const CPU: Budget = Budget {
    bytes: 1 << 34,
    heap_bytes: 80 << 30,
    is_cpu: true,
};
const GPU: Budget = Budget {
    bytes: 16 << 30,
    heap_bytes: 80 << 30,
    is_cpu: false,
};

fn train(line: &str) -> Train {
    match parse(line.split_whitespace()).unwrap() {
        Request::Train(train) => train,
        other => panic!("{other:?}"),
    }
}

fn profile(line: &str) -> Profile {
    train(line).job.settings.resolve(GPU).unwrap()
}

#[test]
fn a_path_of_windows_in_double_quotes_holds_no_escapes() {
    for (typed, wanted) in [
        (r#""C:\temp\x""#, r"C:\temp\x"),
        (r"C:\temp\x", r"C:\temp\x"),
        (r"'C:\temp\x'", r"C:\temp\x"),
        (r#""C:\\temp\\x""#, r"C:\temp\x"),
        (r#""a\u0062c""#, "abc"),
    ] {
        assert_eq!(
            profile(&format!("kiln train --set dataset.path={typed}"))
                .dataset
                .path
                .as_deref(),
            Some(wanted),
            "{typed}"
        );
    }
}

#[test]
fn every_accepted_flag_reaches_its_key() {
    type Check = fn(&Profile) -> bool;
    let rows: &[(&str, Check)] = &[
        ("--source_path garden", |p| p.dataset.path.as_deref() == Some("garden")),
        ("-s garden", |p| p.dataset.path.as_deref() == Some("garden")),
        ("garden", |p| p.dataset.path.as_deref() == Some("garden")),
        ("-m out/x", |p| p.run.output.as_deref() == Some("out/x")),
        ("--model_path out/x", |p| p.run.output.as_deref() == Some("out/x")),
        ("-o 17", |p| p.run.output.as_deref() == Some("17")),
        ("--experiment_name full_30k", |p| {
            p.run.name.as_deref() == Some("full_30k")
        }),
        ("--name full_30k", |p| p.run.name.as_deref() == Some("full_30k")),
        ("-i images_4", |p| p.dataset.images == "images_4"),
        ("--images images_4", |p| p.dataset.images == "images_4"),
        ("-r4", |p| p.dataset.resolution == 4),
        ("-r -1", |p| p.dataset.resolution == -1),
        ("--resolution 2", |p| p.dataset.resolution == 2),
        ("--eval", |p| p.dataset.hold_out == HoldOut::Yes),
        ("--no-eval", |p| p.dataset.hold_out == HoldOut::No),
        ("--hold-out 5", |p| p.dataset.hold_out == HoldOut::Every(5)),
        ("--eval --llffhold 5", |p| p.dataset.hold_out == HoldOut::Every(5)),
        ("--llffhold 0", |p| {
            p.dataset.hold_out == HoldOut::Listed("sparse/0/test.txt".to_owned())
        }),
        ("--hold-out test.txt", |p| {
            p.dataset.hold_out == HoldOut::Listed("test.txt".to_owned())
        }),
        ("--cap_max 7000", |p| p.memory.max_gaussians == MostGaussians::Set(7000)),
        ("--test_iterations 1000 5000", |p| {
            p.schedule.test == [1000, 5000, 30_000]
        }),
        ("--save_iterations 10", |p| p.schedule.save == [10, 30_000]),
        ("--checkpoint_iterations 10 20", |p| p.schedule.checkpoint == [10, 20]),
        ("--iterations 7000", |p| {
            p.schedule.iterations == 7000 && p.schedule.test == [7000]
        }),
        ("--sh_degree 2", |p| p.model.sh_degree == 2),
        ("-w", |p| p.model.background == Background::White),
        ("--white_background", |p| p.model.background == Background::White),
        ("--kernel_size 0.3", |p| p.mip.kernel_size == 0.3),
        ("--seed 18446744073709551615", |p| p.train.seed == u64::MAX),
        ("--steps-scaler 0.5", |p| p.schedule.iterations == 15_000),
        ("--allow-cpu", |p| p.device.allow_cpu),
        ("--max-gaussians 500000", |p| {
            p.memory.max_gaussians == MostGaussians::Set(500_000)
        }),
        ("--device 1", |p| p.device.select == Some(DeviceChoice::Number(1))),
        ("--device H200", |p| {
            p.device.select == Some(DeviceChoice::Named("H200".to_owned()))
        }),
        ("--device 00000000000000000000000000000001", |p| {
            matches!(p.device.select, Some(DeviceChoice::Named(_)))
        }),
        ("--profile 8gb", |p| p.memory.cap_gib == Some(7.0)),
        ("--profile auto", |p| p.memory.cap_gib == Some(14.5)),
        ("", |p| p.memory.cap_gib == Some(14.5)),
        ("--recipe demo", |p| p.schedule.iterations == 1500),
        ("--iterations 9 --set schedule.iterations=8", |p| {
            p.schedule.iterations == 8
        }),
        ("--set run.name=null --set schedule.save=[]", |p| {
            p.schedule.save == [30_000]
        }),
    ];
    for (flags, check) in rows {
        assert!(check(&profile(&format!("kiln train {flags}"))), "{flags}");
    }
}

#[test]
fn resume_quiet_and_other_commands() {
    assert_eq!(train("kiln train s").job.resume, None);
    assert_eq!(train("kiln train --resume s").job.resume, Some(Resume::Latest));
    assert_eq!(
        train("kiln train s --resume=a.ckpt").job.resume,
        Some(Resume::From("a.ckpt".into()))
    );
    assert_eq!(
        train("kiln train s --start_checkpoint a").job.resume,
        Some(Resume::From("a".into()))
    );
    assert!(train("kiln train s --quiet").quiet && !train("kiln train s").quiet);
    assert!(train("kiln train s --json").json && !train("kiln train s").json);
    let plan = parse(["kiln", "plan", "s", "--profile", "8gb", "--explain"]).unwrap();
    assert!(matches!(plan, Request::Plan(Plan { explain: true, .. })));
    assert_eq!(
        parse(["kiln", "doctor"]).unwrap(),
        Request::Doctor(Doctor {
            trial: None,
            pipelines: false,
            json: false
        })
    );
    assert_eq!(
        parse(["kiln", "profiles", "list"]).unwrap(),
        Request::Profiles(Profiles::List)
    );
}

#[test]
fn eval_and_render() {
    let parse = |line: &str| parse(line.split_whitespace()).unwrap();
    let Request::Eval(eval) = parse("kiln eval run scene --iteration 7 --json --set eval.lpips=false") else {
        panic!("not eval");
    };
    let profile = eval.model.settings.preliminary().unwrap();
    assert_eq!((eval.model.iteration, eval.json, eval.write), (Some(7), true, false));
    assert_eq!(
        (profile.dataset.path.as_deref(), profile.eval.lpips),
        (Some("scene"), LpipsChoice::Off)
    );
    let Request::Eval(other) = parse("kiln eval -m run -s scene --iteration 7 --json --set eval.lpips=false") else {
        panic!("not eval");
    };
    let path = other.model.settings.preliminary().unwrap().dataset.path;
    assert_eq!(
        (&other.model.target, path.as_deref()),
        (&eval.model.target, Some("scene")),
        "as other trainers have it"
    );
    assert!(super::parse("kiln eval -m run run".split(' ')).is_err());
    assert!(super::parse(["kiln", "eval"]).is_err(), "no run");
    let views = |line: &str| match parse(line) {
        Request::Render(render) => render.views,
        other => panic!("{other:?}"),
    };
    assert_eq!(views("kiln render a.ply scene -o out"), RenderViews::Set(Split::Test));
    assert_eq!(
        views("kiln render run -o out --cameras train"),
        RenderViews::Set(Split::Train)
    );
    assert_eq!(
        views("kiln render run -o out --cameras path.json"),
        RenderViews::File("path.json".into())
    );
    assert_eq!(
        views("kiln render run -o out --path fly.json --depth"),
        RenderViews::Path("fly.json".into())
    );
    assert!(super::parse("kiln render run -o out --path a --cameras b".split(' ')).is_err());
    assert!(
        super::parse(["kiln", "render", "run"]).is_err(),
        "no folder to write to"
    );
}

#[test]
fn cpu_drivers_need_permission() {
    let resolve = |line: &str| train(line).job.settings.resolve(CPU);
    assert!(matches!(resolve("kiln train s"), Err(AutoError::CpuNotAllowed)));
    assert!(matches!(
        resolve("kiln train s --profile 8gb"),
        Err(AutoError::CpuNotAllowed)
    ));
    assert_eq!(resolve("kiln train s --allow-cpu").unwrap().memory.cap_gib, Some(1.0));
    assert_eq!(resolve("kiln train s --profile cpu").unwrap().memory.cap_gib, Some(1.0));
    assert_eq!(
        resolve("kiln train s --profile 8gb --allow-cpu")
            .unwrap()
            .memory
            .cap_gib,
        Some(7.0)
    );
}

#[test]
fn errors_name_the_flag() {
    let error = train("kiln train s --sh_degree 4")
        .job
        .settings
        .resolve(GPU)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "`model.sh_degree` is 4, allowed: 0 to 3 (--sh-degree)"
    );
    for bad in ["x", "=1", "a..b=1", "a b=1", ".=1"] {
        let error = parse(["kiln", "train", "s", "--set", bad]).unwrap_err();
        assert!(matches!(error, UsageError::SetForm { .. }), "{bad}");
    }
    assert!(parse("kiln train s --eval --no-eval".split(' ')).is_err());
    assert!(parse("kiln train s -s t".split(' ')).is_err());
    let error = Settings::scene(&profile("kiln train")).unwrap_err();
    assert_eq!(error.to_string(), "no scene is given");
}

#[test]
#[cfg(unix)]
fn arguments_are_text() {
    use std::os::unix::ffi::OsStringExt as _;
    let args = ["kiln", "train"]
        .map(OsString::from)
        .into_iter()
        .chain([OsString::from_vec(vec![b'a', 0xe9])]);
    let error = parse(args).unwrap_err();
    assert_eq!(error.to_string(), "the argument `a\u{fffd}` is not UTF-8 text");
}

#[test]
fn argument_table_is_consistent() {
    use clap::CommandFactory as _;
    Cli::command().debug_assert();
}

#[test]
fn view() {
    let view = |line: &str| match parse(line.split_whitespace()).unwrap() {
        Request::View(view) => view,
        other => panic!("{other:?}"),
    };
    let serve = |listen, open| ViewAction::Serve { listen, open };
    let plain = view("kiln view");
    assert_eq!(plain.folder, PathBuf::from("runs"));
    assert_eq!(plain.action, serve(Listen::default(), false));
    let listen = Listen {
        host: "::".parse().unwrap(),
        port: 0,
        names: vec!["rig.lan".to_owned()],
        remote: true,
    };
    let all = view("kiln view garden --host :: --port 0 --allow-remote --allow-host rig.lan --open");
    assert_eq!(all.action, serve(listen, true));
    assert_eq!(
        view("kiln view --export site").action,
        ViewAction::Export("site".into())
    );
    assert!(parse("kiln view --export site --open".split(' ')).is_err());
    assert!(parse("kiln view --host evil.example".split(' ')).is_err());
}

#[test]
fn names_and_files_are_listed_where_a_name_is_missing() {
    let reported = |line: &str| parse(line.split_whitespace()).unwrap_err().to_string();
    assert!(reported("kiln train s --profile").contains("[possible values: auto, 8gb, 16gb, 24gb, cpu, or FILE.yaml]"));
    let recipe = reported("kiln train s --recipe");
    assert!(
        recipe.contains("[possible values: default, ") && recipe.contains(", or FILE.yaml]"),
        "{recipe}"
    );
    let other = reported("kiln mesh r --method");
    assert!(!other.contains("FILE.yaml"), "{other}");
}

#[test]
fn merged_models_are_ply() {
    assert!(parse("kiln merge city -o city.ply".split_whitespace()).is_ok());
    for other in ["city.spz", "city", "city.compressed.ply"] {
        let error = parse(["kiln", "merge", "city", "-o", other]).unwrap_err();
        assert_eq!(
            error.hint().unwrap(),
            format!("`kiln merge city`, then `kiln export city -o {other}`")
        );
    }
}

#[test]
fn help_says_what_a_command_takes() {
    let help = |command: &str| {
        let text = parse(["kiln", command, "--help"]).unwrap_err().to_string();
        // Lines are broken where the terminal ends.
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(help("split").contains("Project folder") && !help("split").contains("Run folder, or with"));
    assert!(help("train").contains("Run folder, or with"));
    for command in ["eval", "render", "mesh", "export"] {
        let text = help(command);
        assert!(
            text.contains("PLY, SPZ, SOG or GLB") && !text.contains("--random-background"),
            "{text}"
        );
    }
    for command in ["train", "split", "plan", "eval", "render", "mesh"] {
        assert!(
            help(command).contains("any other number is a width in pixels"),
            "{command}"
        );
    }
}

#[test]
fn the_machine_stays_awake_for_what_takes_as_long_as_a_scene_or_model() {
    for (line, wanted) in [
        ("train garden --mesh", true),
        ("eval runs/a", true),
        ("render runs/a -o pictures", true),
        ("mesh runs/a", true),
        ("export runs/a --format streamed-sog", true),
        ("split garden -o city --profile 8gb", true),
        ("merge city", true),
        ("view runs --export site", true),
        ("view runs", false),
        ("plan garden", false),
        ("inspect garden", false),
        ("status city", false),
        ("doctor", false),
    ] {
        let words = ["kiln"].into_iter().chain(line.split(' '));
        assert_eq!(parse(words).unwrap().takes_long(), wanted, "{line}");
    }
}
