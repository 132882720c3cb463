//! A run folder.

use std::io::{self, Write};
use std::path::Path;

use kiln_files::is_inside_name;
use serde::Serialize;

use super::super::eval::{plain, print_low_views};
use super::{Description, count, mib, pretty};
use crate::eval::{EvalFile, NamedView};
use crate::jobs::shell::argument_word;
use crate::project::last_step;
use crate::record::run_folder::{
    Environment, EvalRecord, PlyKind, PlyRecord, RunFolderError, RunRecord, SetRecord, StageRecord, Status,
    checkpoints_path, config_path, environment_path, is_written_to, record_path,
};
use crate::record::sinks::METRICS_FILE;
use kiln_config::{Inputs, Profile, resolve};

/// What a run folder holds.
#[derive(Debug, Serialize)]
pub(super) struct RunDescription {
    folder: String,
    /// The index as it is; of a run under way with the iteration that it is at.
    record: RunRecord,
    /// Device and driver; null when `env.json` cannot be read.
    device: Option<String>,
    /// Commit of the program; null when `env.json` cannot be read.
    commit: Option<String>,
    /// Settings that set the recipe apart; null when `config.resolved.yaml` cannot be read.
    recipe: Option<String>,
    /// Test views of the last evaluation that lie 2 dB and more under their median, the lowest first; empty when its
    /// `metrics.json` cannot be read.
    low_views: Vec<NamedView>,
    /// Mean opacity of the model at the last evaluation, 0 to 1; null where that does not say.
    mean_opacity: Option<f64>,
    /// Names of the checkpoints, oldest first.
    checkpoints: Vec<String>,
    /// A process writes to the folder; none = not known.
    written_to: Option<bool>,
    /// Bytes of everything in the folder.
    bytes: u64,
    /// What is listed and not there.
    missing: Vec<String>,
    /// Models that are not as they were written, and what is wrong with each.
    damaged: Vec<(String, &'static str)>,
}

impl RunDescription {
    pub(super) fn of(root: &Path) -> Result<Self, RunFolderError> {
        let mut record = RunRecord::read(&record_path(root))?;
        let (low_views, mean_opacity) = complete(&mut record, root);
        let written_to = is_written_to(root);
        if record.status == Status::Running && written_to != Some(false) {
            keep_up(&mut record, &root.join(METRICS_FILE));
        }
        let environment = Environment::read(&environment_path(root)).ok();
        let settings = resolve(&Inputs {
            file: Some(config_path(root)),
            ..Inputs::default()
        });
        let damaged = record
            .plys
            .iter()
            .filter_map(|ply| Some((ply.path.clone(), ply.damage(root)?)));
        let listed = record.evals.iter().map(|eval| &eval.path).chain(&record.files);
        let missing = listed.filter(|path| !root.join(path).exists()).cloned().collect();
        Ok(Self {
            folder: root.display().to_string(),
            device: environment.as_ref().map(Environment::device_line),
            commit: environment.map(|environment| environment.engine.commit),
            recipe: settings.ok().map(|profile| recipe(&profile)),
            low_views,
            mean_opacity,
            checkpoints: names(&checkpoints_path(root)),
            written_to,
            bytes: size(root, 8),
            missing,
            damaged: damaged.collect(),
            record,
        })
    }

    /// What made the run: command, settings, device and program.
    fn print_origin(&self, out: &mut dyn Write) -> io::Result<()> {
        let made = self.record.made_by.as_ref();
        let command = made.filter(|made| !made.command.is_empty());
        for (head, line) in [
            ("command", &command.map(|made| command_line(&made.command))),
            ("recipe", &made.and_then(|made| made.recipe.clone())),
            ("profile", &made.and_then(|made| made.profile.clone())),
            ("settings", &self.recipe),
            ("device", &self.device),
            ("version", &made.map(|made| made.version.clone())),
            ("commit", &self.commit),
        ] {
            if let Some(line) = line {
                writeln!(out, "{head:<11}{}", plain(line))?;
            }
        }
        Ok(())
    }
}

/// Takes the figures of evaluations from their files, which hold more than the index of an older run; gives the low test
/// views of the last one, and the mean opacity of its model.
fn complete(record: &mut RunRecord, root: &Path) -> (Vec<NamedView>, Option<f64>) {
    let (mut low_views, mut mean_opacity) = (Vec::new(), None);
    for eval in &mut record.evals {
        let file = is_inside_name(&eval.path)
            .then(|| EvalFile::read(&root.join(&eval.path)))
            .flatten();
        if let Some(file) = &file {
            let [test, train] = [&file.test, &file.train].map(|set| set.as_ref().map(SetRecord::from));
            (eval.test, eval.train) = (test, train);
        }
        mean_opacity = file.as_ref().and_then(|file| file.mean_opacity);
        let test = file.and_then(|file| file.test);
        low_views = test.map(|test| test.low_views).unwrap_or_default();
    }
    (low_views, mean_opacity)
}

/// Takes how far a run is from its last step: its index is written again only when a model is saved.
fn keep_up(record: &mut RunRecord, metrics: &Path) {
    if let Some(row) = last_step(metrics) {
        record.iterations.done = record.iterations.done.max(row.it);
    }
}

/// One line on what is trained, how and for how long.
fn recipe(profile: &Profile) -> String {
    let losses: Vec<&str> = profile.losses.iter().map(kiln_config::plugins::Loss::kind).collect();
    if profile.is_triangles() {
        return format!(
            "triangles with {}, SH degree {}, resolution {}, seed {}",
            losses.join(" + "),
            profile.model.sh_degree,
            profile.dataset.resolution,
            profile.train.seed
        );
    }
    let filter = if profile.mip.filter_3d { "with" } else { "without" };
    format!(
        "{} with {}, SH degree {}, 2D filter of {} px^2, {filter} 3D filter, resolution {}, seed {}",
        profile.strategy.kind(),
        losses.join(" + "),
        profile.model.sh_degree,
        profile.mip.kernel_size,
        profile.dataset.resolution,
        profile.train.seed
    )
}

/// A command as a shell takes it.
fn command_line(arguments: &[String]) -> String {
    let words = arguments.iter().map(|argument| argument_word(argument));
    std::iter::once("kiln".to_owned())
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Names in a folder, sorted; none when it is not there.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.retain(|name| !name.starts_with('.'));
    names.sort();
    names
}

/// Bytes of the files below a folder, links not followed.
pub(super) fn size(folder: &Path, depth: u32) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() && depth > 0 => size(&entry.path(), depth - 1),
        Ok(found) if found.is_file() => found.len(),
        _ => 0,
    };
    entries.map(of).sum()
}

impl Description for RunDescription {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let run = &self.record;
        writeln!(out, "run        {} in {} ({})", run.name, self.folder, mib(self.bytes))?;
        writeln!(
            out,
            "status     {}, {} of {} iterations",
            run.status.found(self.written_to),
            run.iterations.done,
            run.iterations.total
        )?;
        if let Some(message) = &run.message {
            writeln!(out, "           {message}")?;
        }
        writeln!(
            out,
            "scene      {} ({}): {} train, {} test",
            run.scene.name,
            run.scene.path,
            count(run.scene.train_views as usize, "view"),
            count(run.scene.test_views as usize, "view")
        )?;
        self.print_origin(out)?;
        for (head, list) in [("models", run.plys.len()), ("results", run.evals.len())] {
            if list == 0 {
                writeln!(out, "{head:<11}none yet")?;
            }
        }
        print_models(&run.plys, out)?;
        print_results(&run.evals, out)?;
        if let Some(mean) = self.mean_opacity {
            writeln!(out, "  mean opacity {mean:.4} at the last evaluation")?;
        }
        print_low_views(&self.low_views, out)?;
        print_stages(&run.stages, out)?;
        if !self.checkpoints.is_empty() {
            writeln!(out, "checkpoints\n  {}", self.checkpoints.join("\n  "))?;
        }
        writeln!(out, "files\n  {}", run.files.join(", "))?;
        for path in &self.missing {
            writeln!(out, "warning: {path} is listed and not there")?;
        }
        for (path, what) in &self.damaged {
            writeln!(out, "warning: {path} {what}")?;
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        pretty(self, out)
    }
}

/// The models that the run wrote.
fn print_models(plys: &[PlyRecord], out: &mut dyn Write) -> io::Result<()> {
    if !plys.is_empty() {
        writeln!(out, "models")?;
    }
    for ply in plys {
        writeln!(
            out,
            "  {:<52} {:>9} {} {:>12}",
            ply.path,
            ply.gaussians,
            if ply.kind == PlyKind::Triangles {
                "triangles"
            } else {
                "Gaussians"
            },
            mib(ply.bytes)
        )?;
    }
    Ok(())
}

/// The figures of its evaluations.
fn print_results(evals: &[EvalRecord], out: &mut dyn Write) -> io::Result<()> {
    if !evals.is_empty() {
        let heads =
            ["set", "views", "psnr_image", "median", "worst", "ssim", "lpips"].map(|head| format!("{head:>11}"));
        writeln!(out, "results\n  {:>11}{}", "iteration", heads.concat())?;
    }
    for eval in evals {
        for (set, record) in [("test", &eval.test), ("train", &eval.train)] {
            if let Some(record) = record {
                writeln!(out, "  {:>11}{set:>11}{}", eval.iteration, figures(record))?;
            }
        }
    }
    Ok(())
}

/// What the stages behind it took.
fn print_stages(stages: &[StageRecord], out: &mut dyn Write) -> io::Result<()> {
    if !stages.is_empty() {
        writeln!(out, "stages")?;
    }
    for row in stages {
        let how = if row.done { "done" } else { "not over" };
        writeln!(
            out,
            "  {:<10}{how:<10}{:>9.1} s {:>12} of the device",
            row.stage.name(),
            row.seconds,
            mib(row.device_bytes)
        )?;
    }
    Ok(())
}

fn figures(SetRecord { mean, spread }: &SetRecord) -> String {
    let figure = |value: Option<f64>, digits: usize| match value.filter(|value| value.is_finite()) {
        Some(value) => format!("{value:>11.digits$}"),
        None => format!("{:>11}", "-"),
    };
    let m = &mean.metrics;
    let worst = spread.worst.as_ref();
    let figures = [
        figure(Some(m.psnr_image), 2),
        figure(spread.median, 2),
        figure(worst.map(|view| view.psnr_image), 2),
        figure(Some(m.ssim), 4),
        figure(mean.lpips, 4),
    ];
    let name = worst.map(|view| format!("  {}", plain(&view.name)));
    format!("{:>11}{}{}", mean.n, figures.concat(), name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::eval::Spread;
    use kiln_scene::Split;
    use kiln_scratch::Scratch;

    #[test]
    fn the_golden_run_is_described() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/run");
        let described = RunDescription::of(&root).unwrap();
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for words in [
            "run        golden in ",
            "status     done, 40 of 40 iterations\n",
            "scene      two-views (scenes/two-views): 1 view train, 1 view test\n",
            "command    kiln train scenes/two-views --recipe demo --profile cpu\n",
            "recipe     demo\nprofile    cpu\n",
            "settings   error_guided",
            "version    ",
            "device     example device, example driver 1.0\n",
            "  point_cloud/iteration_40/point_cloud.ply",
            "  iteration        set      views psnr_image     median      worst       ssim      lpips\n",
            "         40       test          1      30.66      30.66      30.66     0.9493          -  test_view\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        assert!(!text.contains("warning"), "{text}");
        let mut damaged = described;
        damaged.record.plys[0].sha256 = Some("0".repeat(64));
        damaged.record.plys[1].bytes += 1;
        let wrong = |at: usize| damaged.record.plys[at].damage(&root).unwrap();
        assert!(wrong(0).contains("bytes") && wrong(1).contains("size"));
        damaged.record.plys[1].path.push('x');
        assert!(damaged.record.plys[1].damage(&root).unwrap().contains("not there"));
        let described = RunDescription::of(&root).unwrap();
        let mut out = Vec::new();
        described.json(&mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["record"]["scene"]["name"], "two-views");
    }

    #[test]
    fn a_run_under_way_is_where_its_last_step_is() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/run");
        let mut record = RunRecord::read(&record_path(&root)).unwrap();
        record.iterations.done = 0;
        record.plys[0].kind = PlyKind::Triangles;
        let scratch = Scratch::new();
        keep_up(&mut record, &scratch.path().join("metrics.jsonl"));
        assert_eq!(record.iterations.done, 0, "no step yet");
        keep_up(&mut record, &root.join("metrics.jsonl"));
        assert_eq!(record.iterations.done, 40);
        let mut described = RunDescription::of(&root).unwrap();
        described.record = record;
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(" triangles ") && text.contains(" Gaussians "), "{text}");
    }

    #[test]
    fn figures_come_from_the_files_of_evaluations_and_low_views_are_listed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/run");
        let mut record = RunRecord::read(&record_path(&root)).unwrap();
        let known = record.evals.clone();
        // The index of an older run.
        for eval in &mut record.evals {
            eval.test.as_mut().unwrap().spread = Spread::default();
        }
        let older = record.evals.clone();
        let scratch = Scratch::new();
        assert!(complete(&mut record, scratch.path()).0.is_empty());
        assert_eq!(record.evals, older, "without files the index is all there is");
        assert!(complete(&mut record, &root).0.is_empty());
        assert_eq!(record.evals, known);

        let path = &known[1].path;
        let mut file: EvalFile = serde_json::from_str(&std::fs::read_to_string(root.join(path)).unwrap()).unwrap();
        let mut views = file.test.clone().unwrap().views;
        views.push(views[0].clone());
        views[1].name = "fogged".to_owned();
        views[1].metrics.psnr_image = 20.0;
        file.put(Split::Test, views);
        let to = scratch.path().join(path);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::write(to, serde_json::to_string(&file).unwrap()).unwrap();
        let mut described = RunDescription::of(&root).unwrap();
        described.low_views = complete(&mut described.record, scratch.path()).0;
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let table = "1 test view 2 dB or more under the median\n  \
            view    psnr_image   fog share\n  \
            fogged      20.000        0.25\n";
        assert!(text.contains(table), "{text}");
    }
}
