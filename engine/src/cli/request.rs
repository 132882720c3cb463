//! Arguments to a request: what to do, with the inputs of the profile, before any file or device is touched.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Parser as _;

use super::args::{Cli, Command, ModelArgs, ProfilesCommand, SettingsArgs};
use super::{UsageError, refused};
use crate::config::{AutoError, Budget, ConfigError, Inputs, Override, Profile, choose, extended_profile, resolve};
use crate::scene::Split;
use crate::serve::Listen;

/// What the program is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Train a scene.
    Train(Train),
    /// Evaluate a model.
    Eval(Eval),
    /// Render a model.
    Render(Render),
    /// Print the plan.
    Plan(Plan),
    /// Show runs in a browser.
    View(View),
    /// Show what is shipped.
    Profiles(Profiles),
    /// Show devices.
    Doctor(Doctor),
}

/// `kiln train`
#[derive(Clone, Debug, PartialEq)]
pub struct Train {
    /// Inputs of the profile.
    pub settings: Settings,
    /// Where to resume, when asked to.
    pub resume: Option<Resume>,
    /// Events as JSON lines on standard output.
    pub json: bool,
    /// No progress line.
    pub quiet: bool,
}

/// Where a run resumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The latest checkpoint of the run folder.
    Latest,
    /// A checkpoint file.
    From(PathBuf),
}

/// The model that `kiln eval` and `kiln render` work on.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Run folder or PLY file.
    pub target: PathBuf,
    /// Iteration of a run.
    pub iteration: Option<u32>,
    /// What the command line sets; the run's own settings lie below.
    pub settings: Settings,
    /// No progress line.
    pub quiet: bool,
}

/// `kiln eval`
#[derive(Clone, Debug, PartialEq)]
pub struct Eval {
    /// What to evaluate.
    pub model: Model,
    /// Machine-readable output.
    pub json: bool,
    /// Write into the run folder.
    pub write: bool,
}

/// `kiln render`
#[derive(Clone, Debug, PartialEq)]
pub struct Render {
    /// What to render.
    pub model: Model,
    /// Which views of it.
    pub views: RenderViews,
    /// Folder of the pictures.
    pub output: PathBuf,
}

/// Views that `kiln render` draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenderViews {
    /// Those of a set of the scene.
    Set(Split),
    /// Those of a file.
    File(PathBuf),
}

/// `kiln plan`
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Inputs of the profile.
    pub settings: Settings,
    /// Also print every setting.
    pub explain: bool,
}

/// `kiln view`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Folder with runs, or one run.
    pub folder: PathBuf,
    /// What to do with them.
    pub action: ViewAction,
}

/// What `kiln view` does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewAction {
    /// Serve them until Ctrl-C.
    Serve {
        /// Where to listen.
        listen: Listen,
        /// Open a browser.
        open: bool,
    },
    /// Write a folder for any web server.
    Export(PathBuf),
}

/// `kiln profiles`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Profiles {
    /// Everything that is shipped.
    List,
    /// One profile, recipe or file, resolved.
    Show {
        /// Its name.
        name: String,
        /// Recipe under a profile.
        recipe: Option<String>,
    },
    /// The JSON Schema.
    Schema,
}

/// `kiln doctor`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doctor {
    /// Machine-readable output.
    pub json: bool,
}

/// The inputs of a profile. With `--profile auto` the device's budget is one of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Layers; `profile` is none for `auto`.
    pub inputs: Inputs,
    /// `--profile auto` was typed. Without `--profile`, a file's `extends` decides, else it is `auto` too.
    pub auto: bool,
}

impl Settings {
    /// The profile as far as it is known without a device: everything but what an automatic memory profile sets. Use
    /// its `device` section to choose the device whose budget [`Settings::resolve`] asks for.
    ///
    /// # Errors
    /// A [`ConfigError`] for the first thing that is wrong.
    pub fn preliminary(&self) -> Result<Profile, ConfigError> {
        resolve(&self.inputs)
    }

    /// True when the memory profile depends on the device.
    ///
    /// # Errors
    /// When the configuration file cannot be read or is not YAML.
    pub fn needs_device(&self) -> Result<bool, ConfigError> {
        if self.auto || self.inputs.profile.is_some() {
            return Ok(self.auto);
        }
        Ok(self
            .inputs
            .file
            .as_deref()
            .map(extended_profile)
            .transpose()?
            .flatten()
            .is_none())
    }

    /// The final profile on a device with this budget.
    ///
    /// # Errors
    /// [`AutoError`] when no shipped profile fits, a CPU driver is not allowed, or the configuration is wrong.
    pub fn resolve(&self, budget: Budget) -> Result<Profile, AutoError> {
        let preliminary = self.preliminary()?;
        if !self.needs_device()? {
            return match budget.is_cpu && !preliminary.device.allow_cpu {
                true => Err(AutoError::CpuNotAllowed),
                false => Ok(preliminary),
            };
        }
        let name = choose(budget, preliminary.device.allow_cpu)?;
        let inputs = Inputs {
            profile: Some(name.to_owned()),
            ..self.inputs.clone()
        };
        Ok(resolve(&inputs)?)
    }

    /// The scene folder of a resolved profile.
    ///
    /// # Errors
    /// [`UsageError::NoScene`] when neither the command line nor a file names one.
    pub fn scene(profile: &Profile) -> Result<PathBuf, UsageError> {
        profile
            .dataset
            .path
            .as_deref()
            .map(PathBuf::from)
            .ok_or(UsageError::NoScene)
    }
}

/// Parses arguments; the first is the program's name.
///
/// # Errors
/// [`UsageError`] for what cannot be understood, and for `--help` and `--version` with their text.
pub fn parse<I, S>(args: I) -> Result<Request, UsageError>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString>,
{
    let text = |arg: OsString| {
        arg.into_string().map_err(|arg| UsageError::NotText {
            shown: arg.to_string_lossy().into_owned(),
        })
    };
    let args: Vec<String> = args.into_iter().map(|arg| text(arg.into())).collect::<Result<_, _>>()?;
    if let Some((flag, instead)) = refused::find(&args) {
        return Err(UsageError::Refused {
            flag: flag.to_owned(),
            instead,
        });
    }
    let cli = Cli::try_parse_from(args).map_err(|error| UsageError::Arguments(Box::new(error)))?;
    Ok(match cli.command {
        Command::Train(train) => {
            let resume = match (train.resume, train.start_checkpoint) {
                (Some(Some(path)), _) | (None, Some(path)) => Some(Resume::From(path)),
                (Some(None), _) => Some(Resume::Latest),
                (None, None) => None,
            };
            Request::Train(Train {
                settings: settings(train.settings)?,
                resume,
                json: train.json,
                quiet: train.quiet,
            })
        }
        Command::Eval(eval) => Request::Eval(Eval {
            model: model(eval.model)?,
            json: eval.json,
            write: eval.write,
        }),
        Command::Render(render) => Request::Render(Render {
            model: model(render.model)?,
            views: match render.cameras.as_str() {
                "train" => RenderViews::Set(Split::Train),
                "test" => RenderViews::Set(Split::Test),
                file => RenderViews::File(file.into()),
            },
            output: render.output,
        }),
        Command::Plan(plan) => Request::Plan(Plan {
            settings: settings(plan.settings)?,
            explain: plan.explain,
        }),
        Command::View(view) => Request::View(View {
            folder: view.folder,
            action: match view.export {
                Some(output) => ViewAction::Export(output),
                None => ViewAction::Serve {
                    listen: Listen {
                        host: view.host,
                        port: view.port,
                        names: view.allow_host,
                        remote: view.allow_remote,
                    },
                    open: view.open,
                },
            },
        }),
        Command::Profiles(command) => Request::Profiles(match command {
            ProfilesCommand::List => Profiles::List,
            ProfilesCommand::Show { name, recipe } => Profiles::Show { name, recipe },
            ProfilesCommand::Schema => Profiles::Schema,
        }),
        Command::Doctor(doctor) => Request::Doctor(Doctor { json: doctor.json }),
    })
}

fn settings(args: SettingsArgs) -> Result<Settings, UsageError> {
    let mut overrides = Vec::new();
    let mut set = |key: &str, flag: &str, value: Option<String>| {
        if let Some(value) = value {
            overrides.push(Override {
                key: key.to_owned(),
                value,
                flag: flag.to_owned(),
            });
        }
    };
    set("dataset.path", "SCENE", args.scene.or(args.source_path).map(text));
    set("run.output", "--output", args.output.map(text));
    set("run.name", "--name", args.name.map(text));
    set("dataset.images", "--images", args.images.map(text));
    if let Some(path) = args.init_ply {
        set("init.kind", "--init-ply", Some("ply".to_owned()));
        set("init.path", "--init-ply", Some(text(path)));
    }
    set("dataset.resolution", "--resolution", args.resolution.map(number));
    set("dataset.eval", "--eval", args.eval.then(|| number(true)));
    set("dataset.eval", "--no-eval", args.no_eval.then(|| number(false)));
    set("model.sh_degree", "--sh-degree", args.sh_degree.map(number));
    set(
        "model.background",
        "--white-background",
        args.white_background.then(|| "white".to_owned()),
    );
    set("mip.kernel_size", "--kernel-size", args.kernel_size.map(number));
    set("schedule.iterations", "--iterations", args.iterations.map(number));
    set("schedule.test", "--test-iterations", args.test_iterations.map(list));
    set("schedule.save", "--save-iterations", args.save_iterations.map(list));
    set(
        "schedule.checkpoint",
        "--checkpoint-iterations",
        args.checkpoint_iterations.map(list),
    );
    set("train.seed", "--seed", args.seed.map(number));
    set(
        "train.resolution_scale",
        "--resolution-scale",
        args.resolution_scale.map(number),
    );
    set("device.allow_cpu", "--allow-cpu", args.allow_cpu.then(|| number(true)));
    for setting in args.set {
        let (key, value) = split_setting(&setting).ok_or(UsageError::SetForm { found: setting.clone() })?;
        set(key, "--set", Some(value.to_owned()));
    }
    let auto = args.profile.as_deref() == Some("auto");
    Ok(Settings {
        inputs: Inputs {
            profile: args.profile.filter(|_| !auto),
            recipe: args.recipe,
            file: args.config,
            overrides,
            steps_scaler: args.steps_scaler,
        },
        auto,
    })
}

fn model(args: ModelArgs) -> Result<Model, UsageError> {
    let ModelArgs {
        target,
        scene,
        iteration,
        set,
        allow_cpu,
        quiet,
    } = args;
    let from_flag = |key: &str, flag: &str, value: String| Override {
        key: key.to_owned(),
        value,
        flag: flag.to_owned(),
    };
    let mut overrides = Vec::new();
    overrides.extend(scene.map(|scene| from_flag("dataset.path", "SCENE", text(scene))));
    overrides.extend(allow_cpu.then(|| from_flag("device.allow_cpu", "--allow-cpu", number(true))));
    for setting in set {
        let (key, value) = split_setting(&setting).ok_or(UsageError::SetForm { found: setting.clone() })?;
        overrides.push(from_flag(key, "--set", value.to_owned()));
    }
    Ok(Model {
        target,
        iteration,
        settings: Settings {
            inputs: Inputs {
                overrides,
                ..Inputs::default()
            },
            auto: false,
        },
        quiet,
    })
}

/// `a.b=v` with a path of plain key names.
fn split_setting(setting: &str) -> Option<(&str, &str)> {
    let (key, value) = setting.split_once('=')?;
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    // The path length is bounded like the nesting of files.
    (key.split('.').all(plain) && key.split('.').count() <= 16).then_some((key, value))
}

/// A text as YAML. JSON's quoting is YAML's double quoting.
fn text(value: String) -> String {
    serde_json::Value::from(value).to_string()
}

fn number(value: impl ToString) -> String {
    value.to_string()
}

fn list(values: Vec<u32>) -> String {
    let values: Vec<String> = values.iter().map(u32::to_string).collect();
    format!("[{}]", values.join(", "))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::Background;

    const CPU: Budget = Budget {
        bytes: 1 << 34,
        is_cpu: true,
    };
    const GPU: Budget = Budget {
        bytes: 16 << 30,
        is_cpu: false,
    };

    fn train(line: &str) -> Train {
        match parse(line.split_whitespace()).unwrap() {
            Request::Train(train) => train,
            other => panic!("{other:?}"),
        }
    }

    fn profile(line: &str) -> Profile {
        train(line).settings.resolve(GPU).unwrap()
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
            ("--eval", |p| p.dataset.eval),
            ("--no-eval", |p| !p.dataset.eval),
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
            ("--resolution_scale 0.9", |p| p.train.resolution_scale == 0.9),
            ("--seed 18446744073709551615", |p| p.train.seed == u64::MAX),
            ("--steps-scaler 0.5", |p| p.schedule.iterations == 15_000),
            ("--allow-cpu", |p| p.device.allow_cpu),
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
        assert_eq!(train("kiln train s").resume, None);
        assert_eq!(train("kiln train --resume s").resume, Some(Resume::Latest));
        assert_eq!(
            train("kiln train s --resume=a.ckpt").resume,
            Some(Resume::From("a.ckpt".into()))
        );
        assert_eq!(
            train("kiln train s --start_checkpoint a").resume,
            Some(Resume::From("a".into()))
        );
        assert!(train("kiln train s --quiet").quiet && !train("kiln train s").quiet);
        assert!(train("kiln train s --json").json && !train("kiln train s").json);
        let plan = parse(["kiln", "plan", "s", "--profile", "8gb", "--explain"]).unwrap();
        assert!(matches!(plan, Request::Plan(Plan { explain: true, .. })));
        assert_eq!(
            parse(["kiln", "doctor"]).unwrap(),
            Request::Doctor(Doctor { json: false })
        );
        assert_eq!(
            parse(["kiln", "profiles", "list"]).unwrap(),
            Request::Profiles(Profiles::List)
        );
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
    fn eval_and_render() {
        let parse = |line: &str| parse(line.split_whitespace()).unwrap();
        let Request::Eval(eval) = parse("kiln eval run scene --iteration 7 --json --set eval.lpips=false") else {
            panic!("not eval");
        };
        let profile = eval.model.settings.preliminary().unwrap();
        assert_eq!((eval.model.iteration, eval.json, eval.write), (Some(7), true, false));
        assert_eq!(
            (profile.dataset.path.as_deref(), profile.eval.lpips),
            (Some("scene"), false)
        );
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
        assert!(
            super::parse(["kiln", "render", "run"]).is_err(),
            "no folder to write to"
        );
    }

    #[test]
    fn cpu_drivers_need_permission() {
        let resolve = |line: &str| train(line).settings.resolve(CPU);
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
        let error = train("kiln train s --sh_degree 4").settings.resolve(GPU).unwrap_err();
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
}
