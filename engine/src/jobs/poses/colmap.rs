//! COLMAP as a child process: its steps, their log, and how far they are.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kiln_files::open_appending;

use super::super::news::{Listener, News, PosesNews};
use super::PosesError;
use crate::export::write_atomic;
use crate::record::words::count;
use crate::run::interrupt::Interrupt;
use kiln_scene::photos_below;

/// What it prints, in its folder.
pub(super) const LOG: &str = "colmap.log";
/// How its mapper ends, with an error, where photos do not hang together.
const NO_MODEL: &str = "failed to create sparse model";
/// More photos are not matched each with each, whose time grows with their square, but with their neighbours by name.
const MOST_EXHAUSTIVE: usize = 400;
/// How often a step is looked at.
const LOOK: Duration = Duration::from_millis(100);
/// Last lines of the log in a message.
const SHOWN_LINES: usize = 4;

/// The program, where a shell would find it.
pub(super) fn found() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let names = match cfg!(windows) {
        true => names(&std::env::var("PATHEXT").unwrap_or_default()),
        false => vec!["colmap".to_owned()],
    };
    std::env::split_paths(&folders)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|path| path.is_file())
}

/// Its names on Windows, in the order in which a shell there tries extensions: the program, or the script by which its archive starts it.
fn names(extensions: &str) -> Vec<String> {
    /// What starts without another program.
    const STARTED: [&str; 4] = [".com", ".exe", ".bat", ".cmd"];
    let mut found: Vec<String> = extensions
        .split(';')
        .map(|one| one.trim().to_ascii_lowercase())
        .collect();
    found.retain(|one| STARTED.contains(&one.as_str()));
    if found.is_empty() {
        found.extend(STARTED.map(str::to_owned));
    }
    found
        .into_iter()
        .map(|extension| format!("colmap{extension}"))
        .collect()
}

/// The flag of the GPU in the help of a step.
fn flag_of(help: &str) -> Option<String> {
    let mut words = help.split_whitespace();
    let flag = words.find(|word| word.starts_with("--") && word.ends_with(".use_gpu"))?;
    Some(flag.to_owned())
}

/// COLMAP at work on a folder of photos.
pub(super) struct Colmap<'a> {
    pub(super) program: PathBuf,
    /// Where its files go.
    pub(super) made: PathBuf,
    pub(super) photos: PathBuf,
    pub(super) interrupt: &'a Interrupt,
}

impl Colmap<'_> {
    /// Features, matches and a sparse model of so many photos.
    pub(super) fn run(&self, photos: usize, listen: &mut Listener<'_>) -> Result<(), PosesError> {
        let sparse = self.made.join("sparse");
        std::fs::create_dir_all(&sparse).map_err(refused("make the folder", &sparse))?;
        let (listed, others) = photos_below(&self.photos);
        let only = self.only(&listed, &others, listen)?;
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
        let features = [&database[..], &images, &camera, &only].concat();
        self.step_on_any_gpu("feature_extractor", &features, photos, listen)?;
        let matcher = match photos <= MOST_EXHAUSTIVE {
            true => "exhaustive_matcher",
            false => "sequential_matcher",
        };
        self.step_on_any_gpu(matcher, &database, photos, listen)?;
        let output = text(&sparse);
        let arguments = [&database[..], &images, &["--output_path", &output]].concat();
        match self.step("mapper", &arguments, photos, listen) {
            // That is no failure of the program: the photos have nothing to go by, which has a message of its own.
            Err(PosesError::Failed { said, .. }) if said.contains(NO_MODEL) => Ok(()),
            other => other,
        }
    }

    /// The argument that keeps pictures that are no photos from COLMAP, which takes every picture below the folder: masks beside
    /// photos and thumbnails, too.
    fn only(
        &self,
        listed: &[PathBuf],
        others: &[PathBuf],
        listen: &mut Listener<'_>,
    ) -> Result<Vec<String>, PosesError> {
        let Some(first) = others.first() else {
            return Ok(Vec::new());
        };
        let list = self.made.join("photos.txt");
        let names: String = listed.iter().map(|name| text(name).replace('\\', "/") + "\n").collect();
        let written = write_atomic(&list, |file| file.write_all(names.as_bytes()));
        written.map_err(|error| refused("write", &list)(io::Error::other(error)))?;
        listen(News::Note(&format!(
            "{} other pictures in {} are kept from COLMAP, such as {}",
            others.len(),
            self.photos.display(),
            first.display()
        )));
        Ok(vec!["--image_list_path".to_owned(), text(&list)])
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
    fn step_on_any_gpu(
        &self,
        step: &'static str,
        arguments: &[&str],
        photos: usize,
        listen: &mut Listener<'_>,
    ) -> Result<(), PosesError> {
        let error = match self.step(step, arguments, photos, listen) {
            Err(error @ PosesError::Failed { .. }) => error,
            other => return other,
        };
        let Some(switch) = self.gpu_switch(step) else {
            return Err(error);
        };
        listen(News::Poses(PosesNews::WithoutGpu { step }));
        self.step(step, &[arguments, &[&switch, "0"]].concat(), photos, listen)
    }

    /// The flag that turns the GPU off, whose name differs by version.
    fn gpu_switch(&self, step: &str) -> Option<String> {
        let help = Command::new(&self.program).args([step, "-h"]).output().ok()?;
        let help = [help.stdout, help.stderr].concat();
        flag_of(&String::from_utf8_lossy(&help))
    }

    fn step(
        &self,
        step: &'static str,
        arguments: &[&str],
        photos: usize,
        listen: &mut Listener<'_>,
    ) -> Result<(), PosesError> {
        let log = self.made.join(LOG);
        let file = open_appending(&log).map_err(refused("write", &log))?;
        let said = Arc::new(Mutex::new(Said::new(file)));
        listen(News::Poses(PosesNews::Begins {
            step,
            photos,
            log: &log,
        }));
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
            child.stdout.take().map(|pipe| gather(pipe, &said)),
            child.stderr.take().map(|pipe| gather(pipe, &said)),
        ];
        let status = self.wait(step, &mut child, &said, listen)?;
        for reader in readers.into_iter().flatten() {
            // A reader that panicked has nothing to add.
            let _ = reader.join();
        }
        let (spent, well) = (since.elapsed(), status.success());
        listen(News::Poses(PosesNews::Ended { step, spent, well }));
        if well {
            return Ok(());
        }
        let said = said.lock().unwrap_or_else(PoisonError::into_inner).last.join(" | ");
        let status = status.to_string();
        Err(PosesError::Failed {
            step,
            status,
            said: if said.is_empty() {
                "it said nothing".to_owned()
            } else {
                said
            },
            log,
        })
    }

    /// Waits for a step, reports how far it is, and ends it when a signal comes.
    fn wait(
        &self,
        step: &'static str,
        child: &mut Child,
        said: &Mutex<Said>,
        listen: &mut Listener<'_>,
    ) -> Result<ExitStatus, PosesError> {
        let since = Instant::now();
        loop {
            let ended = child.try_wait().map_err(refused("wait for", &self.program))?;
            let heard = said.lock().unwrap_or_else(PoisonError::into_inner).progress.clone();
            let spent = since.elapsed();
            let heard = heard.as_str();
            listen(News::Poses(PosesNews::Works { step, heard, spent }));
            if let Some(status) = ended {
                return Ok(status);
            }
            if let Some(signal) = self.interrupt.signal() {
                // It may have ended by the same signal; its database is whole after any end.
                let _ = child.kill();
                let _ = child.wait();
                return Err(PosesError::Interrupted { step, signal });
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// What the system refused, and of which file or program.
fn refused(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PosesError {
    let path = path.to_owned();
    move |source| PosesError::System { action, path, source }
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
        // A full disk is reported by the step itself.
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

/// Takes the lines of a pipe until it ends.
fn gather(pipe: impl Read + Send + 'static, said: &Arc<Mutex<Said>>) -> std::thread::JoinHandle<()> {
    let said = Arc::clone(said);
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).into_owned();
            said.lock().unwrap_or_else(PoisonError::into_inner).hear(&line);
        }
    })
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
    }

    #[test]
    fn windows_says_which_extensions_it_starts() {
        assert_eq!(
            names(".COM;.EXE; .bat ;.CMD;.VBS;.JS"),
            ["colmap.com", "colmap.exe", "colmap.bat", "colmap.cmd"]
        );
        assert_eq!(names(".BAT;.EXE"), ["colmap.bat", "colmap.exe"]);
        assert_eq!(names("").len(), 4);
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
