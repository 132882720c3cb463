//! The figures of a bench, read from the folders of its two runs.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use xtask::failure::{Failure, Result};

use super::model::{self, Sizes};
use crate::files;

/// Share of a run's steps, at its end, that counts as the steady state.
const STEADY: f64 = 0.2;

/// What a run was made from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scene {
    /// Name of the scene.
    pub(super) name: String,
    /// Commit of the source tree.
    pub(super) commit: String,
}

/// One pass of the step at the end of the run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pass {
    /// Its name.
    pub(super) name: String,
    /// Dispatches a step.
    pub(super) calls: f64,
    /// Milliseconds a step.
    pub(super) ms: f64,
    /// Bytes a step by the model, where it has a row.
    pub(super) bytes: Option<f64>,
}

impl Pass {
    /// Bytes of the model over time, 10^9 a second.
    pub(super) fn gb_per_s(&self) -> Option<f64> {
        self.bytes.filter(|_| self.ms > 0.0).map(|bytes| bytes / self.ms / 1e6)
    }
}

/// Everything that is reported of one scene.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    /// Scene and commit.
    pub(super) scene: Scene,
    /// Device and driver as the run's `env.json` has them.
    pub(super) device: String,
    /// See `device`.
    pub(super) driver: String,
    /// Seed.
    pub(super) seed: u64,
    /// Steps of each run.
    pub(super) iterations: f64,
    /// Steps over training-loop seconds, of the run without timestamps.
    pub(super) rate: f64,
    /// The same over the last fifth of the steps.
    pub(super) steady_rate: f64,
    /// Milliseconds a step that the submitting thread does not wait for the device.
    pub(super) host_ms: f64,
    /// Milliseconds of all passes of a step in the last window of timed steps.
    pub(super) busy_ms: f64,
    /// Milliseconds between steps over the same window of the run with timestamps.
    pub(super) step_ms: f64,
    /// Gaussians, averaged over the run, and at its end.
    pub(super) gaussians: [f64; 2],
    /// What the model of bytes is given: means of the last window.
    pub(super) sizes: Sizes,
    /// PSNR (one squared error per image) and SSIM (valid) over the test views, where they were evaluated.
    pub(super) quality: Option<[f64; 2]>,
    /// The passes in order of cost.
    pub(super) passes: Vec<Pass>,
    /// Milliseconds that the pass whose work never changes took after the run, on devices with a clock.
    pub(super) reference_ms: Option<f64>,
    /// Memory rate that the lower bound is computed with, 10^9 bytes a second, and whether it was given.
    pub(super) bandwidth_gb_s: (f64, bool),
}

impl Figures {
    /// Reads two finished run folders: without and with timestamps.
    ///
    /// # Errors
    /// [`Failure`] naming the file that is missing or holds something else.
    pub(super) fn read(scene: Scene, plain: &Path, timed: &Path, bandwidth_gb_s: Option<f64>) -> Result<Self> {
        let environment: files::Environment = files::json(&plain.join("env.json"))?;
        let rows = Rows::read(&plain.join("metrics.jsonl"))?;
        let timed_rows = Rows::read(&timed.join("metrics.jsonl"))?;
        let timings_path = timed.join("timings.json");
        let timings: Timings = files::json(&timings_path)?;
        let last = timings.windows.last().ok_or_else(|| {
            Failure::new(format!(
                "{} has no timed step: the device has no timestamps, or the run was too short",
                timings_path.display()
            ))
        })?;
        let sizes = Sizes {
            gaussians: last.gaussians,
            visible: last.visible,
            intersections: last.intersections,
            photo_bytes: if timed_rows.steps_copy_photos {
                model::PHOTO
            } else {
                0.0
            },
            ..sizes_of(&timings.gaussian_bytes, &plain.join("cameras.json"))?
        }
        .with_sh_share(last.sh_share);
        let pass = |row: &TimedPass| Pass {
            bytes: model::bytes(&row.pass, &sizes),
            calls: row.calls,
            ms: row.ms,
            name: row.pass.clone(),
        };
        let passes: Vec<Pass> = last.passes.iter().map(pass).collect();
        // A pass that moves little can seem fast by its caches alone.
        let large = |pass: &&Pass| pass.bytes.is_some_and(|bytes| bytes > 4e6);
        let best = passes
            .iter()
            .filter(large)
            .filter_map(Pass::gb_per_s)
            .fold(0.0, f64::max);
        Ok(Self {
            scene,
            device: environment.device.name,
            driver: environment.driver,
            seed: environment.seed,
            iterations: rows.last().it,
            rate: rows.rate(),
            steady_rate: rows.steady_rate(),
            host_ms: timings.host_ms,
            busy_ms: last.total_ms,
            step_ms: 1e3 / timed_rows.rate_between(last.from, last.to),
            gaussians: [rows.mean_gaussians(), rows.last().gaussians],
            sizes,
            quality: rows.quality,
            passes,
            reference_ms: None,
            bandwidth_gb_s: bandwidth_gb_s.map_or((best, false), |given| (given, true)),
        })
    }

    /// Share of the time between steps in which no pass runs.
    pub(super) fn idle(&self) -> f64 {
        (1.0 - self.busy_ms / self.step_ms).max(0.0)
    }

    /// How many of the reference pass a step of the steady state takes the time of: what figures of different days are compared by.
    pub(super) fn references(&self) -> Option<f64> {
        self.reference_ms.map(|ms| 1e3 / self.steady_rate / ms)
    }

    /// Bytes that a step has to move, by the model.
    pub(super) fn bytes(&self) -> f64 {
        self.passes.iter().filter_map(|pass| pass.bytes).sum()
    }

    /// Milliseconds that moving them takes at the memory rate.
    pub(super) fn bound_ms(&self) -> f64 {
        match self.bandwidth_gb_s {
            (rate, _) if rate > 0.0 => self.bytes() / rate / 1e6,
            _ => 0.0,
        }
    }
}

/// `timings.json`, as far as it matters here.
#[derive(Deserialize)]
struct Timings {
    host_ms: f64,
    gaussian_bytes: GaussianBytes,
    windows: Vec<Window>,
}

/// Bytes per Gaussian.
#[derive(Deserialize)]
struct GaussianBytes {
    geometry: f64,
    sh: f64,
    sh_state: f64,
    all: f64,
}

/// Means over the timed steps between two iterations.
#[derive(Deserialize)]
struct Window {
    from: f64,
    to: f64,
    gaussians: f64,
    visible: f64,
    intersections: f64,
    sh_share: f64,
    total_ms: f64,
    passes: Vec<TimedPass>,
}

#[derive(Deserialize)]
struct TimedPass {
    pass: String,
    calls: f64,
    ms: f64,
}

/// A camera of `cameras.json`.
#[derive(Deserialize)]
struct Camera {
    width: f64,
    height: f64,
}

/// What a run's timings and cameras say about sizes.
fn sizes_of(gaussian: &GaussianBytes, cameras: &Path) -> Result<Sizes> {
    let cameras: Vec<Camera> = files::json(cameras)?;
    let (mut pixels, mut tiles) = (0.0_f64, 1.0_f64);
    for Camera { width, height } in cameras {
        pixels = pixels.max(width * height);
        tiles = tiles.max((width / 16.0).ceil() * (height / 16.0).ceil());
    }
    Ok(Sizes {
        pixels,
        tile_bits: tiles.log2().ceil(),
        geometry_bytes: gaussian.geometry,
        sh_bytes: gaussian.sh,
        sh_state_bytes: gaussian.sh_state,
        state_bytes: gaussian.all,
        ..Sizes::default()
    })
}

/// A row of `metrics.jsonl`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum MetricsRow {
    Train(Training),
    Eval {
        set: String,
        psnr_image: f64,
        ssim_valid: f64,
    },
    Event {
        kind: String,
        detail: Value,
    },
    #[serde(other)]
    Other,
}

/// A training row.
#[derive(Clone, Copy, Deserialize)]
struct Training {
    it: f64,
    t_s: f64,
    gaussians: f64,
}

/// The rows of `metrics.jsonl` that matter here.
struct Rows {
    /// All but the last.
    train: Vec<Training>,
    last: Training,
    quality: Option<[f64; 2]>,
    /// Steps bring their photos to the device themselves.
    steps_copy_photos: bool,
}

impl Rows {
    fn read(path: &Path) -> Result<Self> {
        let (mut train, mut quality, mut steps_copy_photos) = (Vec::new(), None, true);
        for row in files::lines(path)? {
            match row {
                MetricsRow::Train(row) => train.push(row),
                MetricsRow::Eval {
                    set,
                    psnr_image,
                    ssim_valid,
                } if set == "test" => quality = Some([psnr_image, ssim_valid]),
                MetricsRow::Event { kind, detail } if kind == "images" => {
                    steps_copy_photos = detail["residency"] != "device";
                }
                _ => {}
            }
        }
        match train.pop() {
            Some(last) if !train.is_empty() => Ok(Self {
                train,
                last,
                quality,
                steps_copy_photos,
            }),
            _ => Err(Failure::new(format!(
                "{} has fewer than two training rows: the run was too short for a rate",
                path.display()
            ))),
        }
    }

    fn all(&self) -> impl Iterator<Item = &Training> {
        self.train.iter().chain([&self.last])
    }

    fn last(&self) -> Training {
        self.last
    }

    fn rate(&self) -> f64 {
        self.last.it / self.last.t_s
    }

    fn steady_rate(&self) -> f64 {
        self.rate_between((1.0 - STEADY) * self.last.it, self.last.it)
    }

    /// Steps per second between the rows nearest to two iterations.
    fn rate_between(&self, from: f64, to: f64) -> f64 {
        // One row before the first one, so that short windows have two ends.
        let inside = |row: &&Training| row.it >= from - 10.0 && row.it <= to + 10.0;
        let mut chosen = self.all().filter(inside);
        match (chosen.next(), chosen.last()) {
            (Some(first), Some(last)) if last.t_s > first.t_s => (last.it - first.it) / (last.t_s - first.t_s),
            _ => self.rate(),
        }
    }

    fn mean_gaussians(&self) -> f64 {
        self.all().map(|row| row.gaussians).sum::<f64>() / self.all().count() as f64
    }
}

/// All figures as JSON, one object per scene; what is no number is `null`.
pub(super) fn json(all: &[Figures]) -> String {
    let list = Value::Array(all.iter().map(object).collect());
    format!("{list:#}\n")
}

fn object(of: &Figures) -> Value {
    let pass = |pass: &Pass| {
        json!({
            "pass": pass.name,
            "calls": pass.calls,
            "ms": pass.ms,
            "bytes": pass.bytes,
            "gb_per_s": pass.gb_per_s(),
        })
    };
    json!({
        "scene": of.scene.name,
        "commit": of.scene.commit,
        "device": of.device,
        "driver": of.driver,
        "seed": of.seed,
        "iterations": of.iterations,
        "it_per_s": of.rate,
        "steady_it_per_s": of.steady_rate,
        "host_ms": of.host_ms,
        "busy_ms": of.busy_ms,
        "step_ms": of.step_ms,
        "idle_share": of.idle(),
        "mean_gaussians": of.gaussians[0],
        "gaussians": of.gaussians[1],
        "visible": of.sizes.visible,
        "intersections": of.sizes.intersections,
        "pixels": of.sizes.pixels,
        "psnr_image": of.quality.map(|[psnr, _]| psnr),
        "ssim_valid": of.quality.map(|[_, ssim]| ssim),
        "bytes": of.bytes(),
        "bandwidth_gb_per_s": of.bandwidth_gb_s.0,
        "bandwidth_given": of.bandwidth_gb_s.1,
        "bound_ms": of.bound_ms(),
        "reference_ms": of.reference_ms,
        "references_a_step": of.references(),
        "passes": of.passes.iter().map(pass).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use std::fs;

    use super::*;

    /// A run of 100 steps, 10 a second, then 20 a second for the last fifth.
    fn run(folder: &Path, timed: bool) {
        fs::create_dir_all(folder).unwrap();
        let rows: Vec<String> = (1..=10)
            .map(|k| {
                let seconds = if k <= 8 {
                    f64::from(k)
                } else {
                    8.0 + 0.5 * f64::from(k - 8)
                };
                format!(
                    "{{\"type\":\"train\",\"it\":{},\"gaussians\":{},\"t_s\":{seconds}}}",
                    10 * k,
                    100 * k
                )
            })
            .chain([
                "{\"type\":\"eval\",\"set\":\"test\",\"psnr_image\":20,\"ssim_valid\":0.5}".to_owned(),
                r#"{"type":"event","it":0,"kind":"images","detail":{"residency":"device"}}"#.to_owned(),
            ])
            .collect();
        fs::write(folder.join("metrics.jsonl"), rows.join("\n")).unwrap();
        let environment = r#"{"device":{"name":"card"},"driver":"1.0","seed":7,"engine":{"commit":"c"}}"#;
        fs::write(folder.join("env.json"), environment).unwrap();
        fs::write(
            folder.join("cameras.json"),
            r#"[{"width":64,"height":48},{"width":33,"height":16}]"#,
        )
        .unwrap();
        if timed {
            let passes = r#"[{"pass":"update","calls":1,"ms":2},{"pass":"prepare_args","calls":1,"ms":1}]"#;
            let window = format!(
                "{{\"from\":81,\"to\":100,\"gaussians\":100000,\"visible\":0,\"sh_share\":0.25,\"intersections\":0,\
                 \"total_ms\":3,\"passes\":{passes}}}"
            );
            let bytes = r#"{"geometry":44,"sh":12,"sh_state":36,"all":72}"#;
            let timings = format!("{{\"host_ms\":0.25,\"gaussian_bytes\":{bytes},\"windows\":[{window}]}}");
            fs::write(folder.join("timings.json"), timings).unwrap();
        }
    }

    #[test]
    fn figures_come_from_the_files_of_both_runs() {
        let folder = std::env::temp_dir().join(format!("kiln-lab-bench-{}", std::process::id()));
        let (plain, timed) = (folder.join("plain"), folder.join("timed"));
        run(&plain, false);
        run(&timed, true);
        let scene = Scene {
            name: "s".to_owned(),
            commit: "c".to_owned(),
        };
        let mut figures = Figures::read(scene.clone(), &plain, &timed, None).unwrap();
        assert_eq!(figures.references(), None);
        // The last 30 steps took two seconds: 66.7 ms each.
        figures.reference_ms = Some(20.0);
        assert!((figures.references().unwrap() - 10.0 / 3.0).abs() < 1e-9);
        assert!((figures.rate - 100.0 / 9.0).abs() < 1e-9, "{}", figures.rate);
        // of 36 bytes of SH with its moments a quarter takes part
        assert!((figures.sizes.state_bytes - 45.0).abs() < 1e-9);
        assert_eq!((figures.sizes.pixels, figures.sizes.tile_bits), (3072.0, 4.0));
        assert!(figures.sizes.photo_bytes.abs() < 1e-9, "photos stay on the device");
        assert_eq!(figures.gaussians, [550.0, 1000.0]);
        assert_eq!(figures.quality, Some([20.0, 0.5]));
        // 90.125 bytes each of 100 000, in 2 ms
        let rate = figures.passes[0].gb_per_s().unwrap();
        assert!((rate - 4.50625).abs() < 1e-9, "{rate}");
        assert!((figures.bound_ms() - 2.0).abs() < 1e-9);
        assert!(figures.idle() > 0.9);
        let written: Value = serde_json::from_str(&json(&[figures])).unwrap();
        assert_eq!(
            (&written[0]["seed"], &written[0]["it_per_s"]),
            (&7.into(), &(100.0 / 9.0).into())
        );
        assert!(written[0]["passes"][1]["bytes"].is_null());
        assert!((written[0]["references_a_step"].as_f64().unwrap() - 10.0 / 3.0).abs() < 1e-9);

        fs::write(
            timed.join("timings.json"),
            r#"{"host_ms":1,"gaussian_bytes":{"geometry":1,"sh":1,"sh_state":1,"all":1},"windows":[]}"#,
        )
        .unwrap();
        let failure = Figures::read(scene, &plain, &timed, None).unwrap_err();
        assert!(failure.message.contains("has no timed step"), "{}", failure.message);
        fs::remove_dir_all(folder).unwrap();
    }
}
