//! `kiln train PHOTOS --colmap`: camera poses by COLMAP, run as a program of its own.
//!
//! Owns the three steps (features, matches, a sparse model), their log and their progress. What COLMAP makes lies beside
//! the run, in `RUN-colmap`, and is used again by the next run of that name. Photos are read where they are. Promises to run
//! nothing unless a flag says so, to print every step, and to end COLMAP with the run.

use std::fs::File;
use std::io::{BufRead as _, BufReader, IsTerminal as _, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kiln_files::open_appending;

use super::{Exit, Failure};
use crate::config::{Override, Profile};
use crate::export::write_atomic;
use crate::jobs::Settings;
use crate::record::run_folder::{Which, place};
use crate::record::words::{clock, count};
use crate::run::interrupt::{Interrupt, Signal};
use crate::scene::{SceneError, SceneIndex, photos_below};

/// The program.
const PROGRAM: &str = "colmap";
/// What it prints, in its folder.
const LOG: &str = "colmap.log";
/// How its mapper ends, with an error, where photos do not hang together.
const NO_MODEL: &str = "failed to create sparse model";
/// More photos are not matched each with each, whose time grows with their square, but with their neighbours by name.
const MOST_EXHAUSTIVE: usize = 400;
/// How often a step is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// How often it is said how far a step is where lines are not redrawn.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Last lines of the log in a message.
const SHOWN_LINES: usize = 4;

/// COLMAP could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ColmapError {
    /// It is not installed.
    #[error("`--colmap` runs the program `colmap`, and none is on PATH")]
    Absent,
    /// A step failed.
    #[error("COLMAP's {step} failed ({status}): {said}")]
    Failed {
        /// The step.
        step: &'static str,
        /// How it ended.
        status: String,
        /// Its last words.
        said: String,
        /// All of them.
        log: PathBuf,
    },
    /// It ended well without a model.
    #[error("COLMAP found no camera poses for the {photos} photos in {}", folder.display())]
    NoModel {
        /// Photos.
        photos: usize,
        /// Their folder.
        folder: PathBuf,
        /// What it said.
        log: PathBuf,
    },
    /// A file or a program that the system refuses.
    #[error("cannot {action} {}: {source}", path.display())]
    System {
        /// The refused action.
        action: &'static str,
        /// What it concerns.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The run is to end.
    #[error("interrupted in COLMAP's {step}; the same command goes on")]
    Interrupted {
        /// The step.
        step: &'static str,
        /// By what.
        signal: Signal,
    },
}

impl Failure for ColmapError {
    fn exit(&self) -> Exit {
        match self {
            Self::Absent => Exit::Setup,
            Self::Failed { .. } | Self::NoModel { .. } => Exit::Data,
            Self::System { .. } => Exit::Output,
            Self::Interrupted { signal, .. } => (*signal).into(),
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Absent => Some(
                "`apt install colmap`, or see https://colmap.github.io/install.html; poses may come from another machine too: \
                 Kiln needs its `sparse` folder beside the photos"
                    .to_owned(),
            ),
            Self::Failed { log, .. } => Some(format!("all that it said is in {}", log.display())),
            Self::NoModel { log, .. } => Some(format!(
                "photos must overlap by two thirds and be sharp; what COLMAP said is in {}",
                log.display()
            )),
            Self::System { .. } | Self::Interrupted { .. } => None,
        }
    }
}

/// Finds poses for the photos of the scene that `settings` name, unless it has some; gives the settings with the scene that
/// COLMAP made.
///
/// # Errors
/// [`ColmapError`], or the [`SceneError`] of what is no folder of photos.
pub(super) fn with_poses(
    settings: Settings,
    profile: &Profile,
    interrupt: &Interrupt,
    quiet: bool,
) -> Result<Settings, Box<dyn Failure>> {
    let root = Settings::scene(profile).map_err(boxed)?;
    let say = |text: &str| {
        if !quiet {
            // Losing a line of information is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    };
    let (folder, photos) = match SceneIndex::detect(&root) {
        Ok(_) => {
            say(&format!("note: {} has camera poses; COLMAP is not run", root.display()));
            return Ok(settings);
        }
        Err(SceneError::NoPoses { folder, photos, .. }) => (folder, photos),
        Err(error) => return Err(boxed(error)),
    };
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let scene = absolute(&root);
    let name = scene.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let run = place(&profile.run, &name, Which::First);
    let mut folder_name = run.file_name().unwrap_or_default().to_os_string();
    folder_name.push("-colmap");
    let made = run.with_file_name(folder_name);
    if SceneIndex::detect(&made).is_ok() {
        say(&format!(
            "note: camera poses of {}, which COLMAP made before",
            made.display()
        ));
    } else {
        let colmap = Colmap {
            program: find(PROGRAM).ok_or_else(|| boxed(ColmapError::Absent))?,
            made: made.clone(),
            photos: absolute(&folder),
            interrupt,
            quiet,
        };
        colmap.run(photos).map_err(boxed)?;
        SceneIndex::detect(&made).map_err(|_| {
            boxed(ColmapError::NoModel {
                photos,
                folder: folder.clone(),
                log: made.join(LOG),
            })
        })?;
    }
    let mut set = vec![("dataset.path", absolute(&made)), ("dataset.images", absolute(&folder))];
    // What lies beside the photos is meant still.
    let masks = ["masks", "mask"].map(|name| scene.join(name));
    if let Some(masks) = masks.into_iter().find(|folder| folder.is_dir())
        && profile.dataset.masks == "auto"
    {
        set.push(("dataset.masks", masks));
    }
    if profile.run.name.is_none() && profile.run.output.is_none() {
        set.push(("run.name", PathBuf::from(&name)));
    }
    let mut settings = settings;
    let overrides = &mut settings.inputs.overrides;
    overrides.retain(|old| set.iter().all(|(key, _)| old.key != *key));
    let text = |(key, value): (&str, PathBuf)| Override::text(key, &value.display().to_string(), "--colmap");
    overrides.extend(set.into_iter().map(text));
    Ok(settings)
}

fn boxed<E: Failure + 'static>(error: E) -> Box<dyn Failure> {
    Box::new(error)
}

/// A program by its name, where a shell would find it.
fn find(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}

/// The flag of the GPU in the help of a step.
fn flag_of(help: &str) -> Option<String> {
    let mut words = help.split_whitespace();
    let flag = words.find(|word| word.starts_with("--") && word.ends_with(".use_gpu"))?;
    Some(flag.to_owned())
}

/// COLMAP at work on a folder of photos.
struct Colmap<'a> {
    program: PathBuf,
    /// Where its files go.
    made: PathBuf,
    photos: PathBuf,
    interrupt: &'a Interrupt,
    quiet: bool,
}

impl Colmap<'_> {
    /// Features, matches and a sparse model of so many photos.
    fn run(&self, photos: usize) -> Result<(), ColmapError> {
        let sparse = self.made.join("sparse");
        std::fs::create_dir_all(&sparse).map_err(|source| ColmapError::System {
            action: "make the folder",
            path: sparse.clone(),
            source,
        })?;
        // It takes every picture below the folder: masks beside photos and thumbnails, too.
        let (listed, others) = photos_below(&self.photos);
        let list = self.made.join("photos.txt");
        let mut only = Vec::new();
        if !others.is_empty() {
            let names: String = listed.iter().map(|name| text(name).replace('\\', "/") + "\n").collect();
            write_atomic(&list, |file| file.write_all(names.as_bytes())).map_err(|error| ColmapError::System {
                action: "write",
                path: list.clone(),
                source: std::io::Error::other(error),
            })?;
            only = vec!["--image_list_path".to_owned(), text(&list)];
            self.say(&format!(
                "note: {} other pictures in {} are kept from COLMAP, such as {}",
                others.len(),
                self.photos.display(),
                others[0].display()
            ));
        }
        let only: Vec<&str> = only.iter().map(String::as_str).collect();
        let database = text(&self.made.join("database.db"));
        let images = text(&self.photos);
        let database = ["--database_path", &database];
        let images = ["--image_path", &images];
        let one_camera = if self.is_of_one_size(&listed) { "1" } else { "0" };
        let camera = [
            "--ImageReader.single_camera",
            one_camera,
            "--ImageReader.camera_model",
            "OPENCV",
        ];
        self.step_on_any_gpu(
            "feature_extractor",
            &[&database[..], &images, &camera, &only].concat(),
            photos,
        )?;
        let matcher = match photos <= MOST_EXHAUSTIVE {
            true => "exhaustive_matcher",
            false => "sequential_matcher",
        };
        self.step_on_any_gpu(matcher, &database, photos)?;
        let output = text(&sparse);
        let arguments = [&database[..], &images, &["--output_path", &output]].concat();
        match self.step("mapper", &arguments, photos) {
            // That is no failure of the program: the photos have nothing to go by, which is reported as such.
            Err(ColmapError::Failed { said, .. }) if said.contains(NO_MODEL) => Ok(()),
            other => other,
        }
    }

    /// True when all photos have one size, as those of one camera have.
    fn is_of_one_size(&self, names: &[PathBuf]) -> bool {
        let mut sizes = names
            .iter()
            .filter_map(|name| image::image_dimensions(self.photos.join(name)).ok());
        let first = sizes.next();
        sizes.all(|size| Some(size) == first)
    }

    /// A step that wants a GPU with a display; where it fails, once more without.
    fn step_on_any_gpu(&self, step: &'static str, arguments: &[&str], photos: usize) -> Result<(), ColmapError> {
        let error = match self.step(step, arguments, photos) {
            Err(error @ ColmapError::Failed { .. }) => error,
            other => return other,
        };
        let Some(switch) = self.gpu_switch(step) else {
            return Err(error);
        };
        self.say(&format!("COLMAP {step} failed; once more without the GPU"));
        self.step(step, &[arguments, &[&switch, "0"]].concat(), photos)
    }

    /// The flag that turns the GPU off, whose name differs by version.
    fn gpu_switch(&self, step: &str) -> Option<String> {
        let help = Command::new(&self.program).args([step, "-h"]).output().ok()?;
        let help = [help.stdout, help.stderr].concat();
        flag_of(&String::from_utf8_lossy(&help))
    }

    fn step(&self, step: &'static str, arguments: &[&str], photos: usize) -> Result<(), ColmapError> {
        let log = self.made.join(LOG);
        let refused = |action, path: &Path| {
            let path = path.to_owned();
            move |source| ColmapError::System { action, path, source }
        };
        let file = open_appending(&log);
        let file = Arc::new(Mutex::new(Said::new(file.map_err(refused("write", &log))?)));
        let all = log.display();
        self.say(&format!(
            "COLMAP {step}: {} (all that it says: {all})",
            count(photos, "photo")
        ));
        let mut command = Command::new(&self.program);
        command.arg(step).args(arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if std::env::var_os("QT_QPA_PLATFORM").is_none() {
            // Its user interface is not shown, but looked for.
            command.env("QT_QPA_PLATFORM", "offscreen");
        }
        let mut child = command.spawn().map_err(refused("start", &self.program))?;
        let since = Instant::now();
        let readers = [
            child.stdout.take().map(|pipe| listen(pipe, &file)),
            child.stderr.take().map(|pipe| listen(pipe, &file)),
        ];
        let status = self.wait(step, &mut child, &file)?;
        for reader in readers.into_iter().flatten() {
            // A reader that panicked has nothing to add.
            let _ = reader.join();
        }
        if status.success() {
            self.say(&format!("COLMAP {step}: done in {}", clock(since.elapsed())));
            return Ok(());
        }
        let said = file.lock().unwrap_or_else(PoisonError::into_inner).last.join(" | ");
        Err(ColmapError::Failed {
            step,
            status: status.to_string(),
            said: if said.is_empty() {
                "it said nothing".to_owned()
            } else {
                said
            },
            log,
        })
    }

    /// Waits for a step, shows how far it is, and ends it when the run is to end.
    fn wait(
        &self,
        step: &'static str,
        child: &mut Child,
        said: &Mutex<Said>,
    ) -> Result<std::process::ExitStatus, ColmapError> {
        let shown = !self.quiet && std::io::stderr().is_terminal();
        let (since, mut said_at) = (Instant::now(), Duration::ZERO);
        let mut before = String::new();
        loop {
            let ended = child.try_wait().map_err(|source| ColmapError::System {
                action: "wait for",
                path: self.program.clone(),
                source,
            })?;
            let spent = since.elapsed();
            let heard = said.lock().unwrap_or_else(PoisonError::into_inner).progress.clone();
            let now = how_far(step, &heard, spent);
            if !shown && spent.saturating_sub(said_at) >= SAY_EVERY {
                said_at = spent;
                self.say(&now);
            }
            if shown && now != before {
                let _ = write!(std::io::stderr(), "\r\x1b[2K{now}");
                before = now;
            }
            if let Some(status) = ended {
                if shown && !before.is_empty() {
                    let _ = write!(std::io::stderr(), "\r\x1b[2K");
                }
                return Ok(status);
            }
            if let Some(signal) = self.interrupt.signal() {
                // It may have ended by the same signal; its database is whole after any end.
                let _ = child.kill();
                let _ = child.wait();
                return Err(ColmapError::Interrupted { step, signal });
            }
            std::thread::sleep(LOOK);
        }
    }

    fn say(&self, text: &str) {
        if !self.quiet {
            // Losing a line of information is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// What a step has said.
struct Said {
    log: File,
    /// The last lines.
    last: Vec<String>,
    /// How far it is, for people; empty while nothing says so.
    progress: String,
    placed: usize,
}

impl Said {
    const fn new(log: File) -> Self {
        Self {
            log,
            last: Vec::new(),
            progress: String::new(),
            placed: 0,
        }
    }

    fn hear(&mut self, line: &str) {
        // The step itself reports a full disk.
        let _ = writeln!(self.log, "{line}");
        if line.contains("Registering image") {
            self.placed += 1;
            self.progress = format!("{} placed", count(self.placed, "photo"));
        } else if let Some((done, of)) = counted(line) {
            self.progress = format!("{done} of {of}");
        }
        if !line.trim().is_empty() {
            if self.last.len() == SHOWN_LINES {
                self.last.remove(0);
            }
            self.last.push(line.trim().chars().take(200).collect());
        }
    }
}

/// Hands the lines of a pipe on until it ends.
fn listen(pipe: impl Read + Send + 'static, said: &Arc<Mutex<Said>>) -> std::thread::JoinHandle<()> {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            said.lock().unwrap_or_else(PoisonError::into_inner).hear(&line);
        }
    })
}

/// How far a step is that goes on for so long; it says nothing itself for minutes.
fn how_far(step: &str, heard: &str, spent: Duration) -> String {
    match heard {
        "" => format!("COLMAP {step}: {}", clock(spent)),
        heard => format!("COLMAP {step}: {heard}, {}", clock(spent)),
    }
}

/// `[12/120` somewhere in a line.
fn counted(line: &str) -> Option<(u32, u32)> {
    line.split('[').skip(1).find_map(|rest| {
        let (done, rest) = rest.split_once('/')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((done.trim().parse().ok()?, digits.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        assert_eq!(counted("I1 feature.cc:258] Processed file [12/120]"), Some((12, 120)));
        assert_eq!(counted("Matching block [1/3, 2/3] in 0.5s"), Some((1, 3)));
        assert_eq!(counted("[note] 3/4"), None);
        assert_eq!(counted("nothing"), None);
        let spent = Duration::from_secs(127);
        assert_eq!(how_far("mapper", "", spent), "COLMAP mapper: 0:02:07");
        assert_eq!(
            how_far("mapper", "1 photo placed", spent),
            "COLMAP mapper: 1 photo placed, 0:02:07"
        );
    }

    #[test]
    fn the_flag_of_the_gpu_is_that_of_the_version() {
        let three = "  --SiftExtraction.num_threads arg (=-1)\n  --SiftExtraction.use_gpu arg (=1)\n";
        let four = "  --FeatureExtraction.num_threads arg (=-1)\n  --FeatureExtraction.use_gpu arg (=1)\n  --SiftExtraction.max_image_size arg\n";
        assert_eq!(flag_of(three).as_deref(), Some("--SiftExtraction.use_gpu"));
        assert_eq!(flag_of(four).as_deref(), Some("--FeatureExtraction.use_gpu"));
        assert_eq!(flag_of("none"), None);
    }
}
