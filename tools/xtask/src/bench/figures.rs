//! The figures of a bench, read from the folders of its two runs.

use std::collections::HashMap;
use std::path::Path;

use tinyjson::JsonValue;

use super::model::{self, Sizes};
use crate::failure::{Failure, Result};
use crate::node::Node;

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
    pub(super) seed: f64,
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
    /// Memory rate that the lower bound is computed with, 10^9 bytes a second, and whether it was given.
    pub(super) bandwidth_gb_s: (f64, bool),
}

impl Figures {
    /// Reads two finished run folders: without and with timestamps.
    ///
    /// # Errors
    /// [`Failure`] naming the file that is missing or holds something else.
    pub(super) fn read(scene: Scene, plain: &Path, timed: &Path, bandwidth_gb_s: Option<f64>) -> Result<Self> {
        let environment = Node::file(&plain.join("env.json"))?;
        let rows = Rows::read(&plain.join("metrics.jsonl"))?;
        let timed_rows = Rows::read(&timed.join("metrics.jsonl"))?;
        let timings = Node::file(&timed.join("timings.json"))?;
        let windows = timings.list("windows")?;
        let last = windows.last().ok_or_else(|| {
            Failure::new(format!(
                "{} has no timed step: the device has no timestamps, or the run was too short",
                timed.join("timings.json").display()
            ))
        })?;
        let sizes = Sizes {
            gaussians: last.number("gaussians")?,
            visible: last.number("visible")?,
            intersections: last.number("intersections")?,
            photo_bytes: if timed_rows.steps_copy_photos {
                model::PHOTO
            } else {
                0.0
            },
            ..sizes_of(&timings, &plain.join("cameras.json"))?
        }
        .with_sh_share(last.number("sh_share")?);
        let mut passes = Vec::new();
        for row in last.list("passes")? {
            let name = row.text("pass")?;
            passes.push(Pass {
                bytes: model::bytes(&name, &sizes),
                calls: row.number("calls")?,
                ms: row.number("ms")?,
                name,
            });
        }
        // A pass that moves little can seem fast by its caches alone.
        let large = |pass: &&Pass| pass.bytes.is_some_and(|bytes| bytes > 4e6);
        let best = passes
            .iter()
            .filter(large)
            .filter_map(Pass::gb_per_s)
            .fold(0.0, f64::max);
        let span = (last.number("from")?, last.number("to")?);
        Ok(Self {
            scene,
            device: environment.child("device")?.text("name")?,
            driver: environment.text("driver")?,
            seed: environment.number("seed")?,
            iterations: rows.iterations()?,
            rate: rows.rate()?,
            steady_rate: rows.steady_rate()?,
            host_ms: timings.number("host_ms")?,
            busy_ms: last.number("total_ms")?,
            step_ms: 1e3 / timed_rows.rate_between(span.0, span.1)?,
            gaussians: [rows.mean("gaussians")?, rows.last("gaussians")?],
            sizes,
            quality: rows.quality,
            passes,
            bandwidth_gb_s: bandwidth_gb_s.map_or((best, false), |given| (given, true)),
        })
    }

    /// Share of the time between steps in which no pass runs.
    pub(super) fn idle(&self) -> f64 {
        (1.0 - self.busy_ms / self.step_ms).max(0.0)
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

/// What a run's timings and cameras say about sizes.
fn sizes_of(timings: &Node, cameras: &Path) -> Result<Sizes> {
    let gaussian = timings.child("gaussian_bytes")?;
    let (mut pixels, mut tiles) = (0.0_f64, 1.0_f64);
    for camera in Node::file(cameras)?.entries()? {
        let (width, height) = (camera.number("width")?, camera.number("height")?);
        pixels = pixels.max(width * height);
        tiles = tiles.max((width / 16.0).ceil() * (height / 16.0).ceil());
    }
    Ok(Sizes {
        pixels,
        tile_bits: tiles.log2().ceil(),
        geometry_bytes: gaussian.number("geometry")?,
        sh_bytes: gaussian.number("sh")?,
        sh_state_bytes: gaussian.number("sh_state")?,
        state_bytes: gaussian.number("all")?,
        ..Sizes::default()
    })
}

/// The rows of `metrics.jsonl` that matter here.
struct Rows {
    train: Vec<Node>,
    quality: Option<[f64; 2]>,
    /// Steps bring their photos to the device themselves.
    steps_copy_photos: bool,
}

impl Rows {
    fn read(path: &Path) -> Result<Self> {
        let (mut train, mut quality, mut steps_copy_photos) = (Vec::new(), None, true);
        for row in Node::lines(path)? {
            match row.text("type")?.as_str() {
                "train" => train.push(row),
                "eval" if row.text("set")? == "test" => {
                    quality = Some([row.number("psnr_image")?, row.number("ssim_valid")?]);
                }
                "event" if row.text("kind")? == "images" => {
                    steps_copy_photos = row.child("detail")?.text("residency")? != "device";
                }
                _ => {}
            }
        }
        if train.len() < 2 {
            return Err(Failure::new(format!("{} has no two training rows", path.display())));
        }
        Ok(Self {
            train,
            quality,
            steps_copy_photos,
        })
    }

    fn row(&self, of: Option<&Node>, key: &str) -> Result<f64> {
        of.map_or_else(|| Err(Failure::new("no training rows")), |row| row.number(key))
    }

    fn last(&self, key: &str) -> Result<f64> {
        self.row(self.train.last(), key)
    }

    fn iterations(&self) -> Result<f64> {
        self.last("it")
    }

    fn rate(&self) -> Result<f64> {
        Ok(self.last("it")? / self.last("t_s")?)
    }

    fn steady_rate(&self) -> Result<f64> {
        let last = self.iterations()?;
        self.rate_between((1.0 - STEADY) * last, last)
    }

    /// Steps a second between the rows nearest to two iterations.
    fn rate_between(&self, from: f64, to: f64) -> Result<f64> {
        let mut chosen = Vec::new();
        for row in &self.train {
            let it = row.number("it")?;
            // One row before the first one, so that short windows have two ends.
            if it >= from - 10.0 && it <= to + 10.0 {
                chosen.push((it, row.number("t_s")?));
            }
        }
        match (chosen.first(), chosen.last()) {
            (Some(first), Some(last)) if last.1 > first.1 => Ok((last.0 - first.0) / (last.1 - first.1)),
            _ => self.rate(),
        }
    }

    fn mean(&self, key: &str) -> Result<f64> {
        let values: Result<Vec<f64>> = self.train.iter().map(|row| row.number(key)).collect();
        let values = values?;
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }
}

/// All figures as JSON, one object a scene.
///
/// # Errors
/// [`Failure`] when a figure is no number that JSON has.
pub(super) fn json(all: &[Figures]) -> Result<String> {
    let list: Vec<JsonValue> = all.iter().map(object).collect();
    let text = JsonValue::from(list).format();
    text.map(|text| text + "\n")
        .map_err(|e| Failure::new(format!("a figure is no number: {e}")))
}

fn object(of: &Figures) -> JsonValue {
    let text = |value: &str| JsonValue::from(value.to_owned());
    let optional = |value: Option<f64>| value.map_or_else(|| JsonValue::from(()), JsonValue::from);
    let map = |entries: Vec<(&str, JsonValue)>| -> JsonValue {
        let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value));
        JsonValue::from(entries.collect::<HashMap<_, _>>())
    };
    let pass = |pass: &Pass| {
        map(vec![
            ("pass", text(&pass.name)),
            ("calls", pass.calls.into()),
            ("ms", pass.ms.into()),
            ("bytes", optional(pass.bytes)),
            ("gb_per_s", optional(pass.gb_per_s())),
        ])
    };
    map(vec![
        ("scene", text(&of.scene.name)),
        ("commit", text(&of.scene.commit)),
        ("device", text(&of.device)),
        ("driver", text(&of.driver)),
        ("seed", of.seed.into()),
        ("iterations", of.iterations.into()),
        ("it_per_s", of.rate.into()),
        ("steady_it_per_s", of.steady_rate.into()),
        ("host_ms", of.host_ms.into()),
        ("busy_ms", of.busy_ms.into()),
        ("step_ms", of.step_ms.into()),
        ("idle_share", of.idle().into()),
        ("mean_gaussians", of.gaussians[0].into()),
        ("gaussians", of.gaussians[1].into()),
        ("visible", of.sizes.visible.into()),
        ("intersections", of.sizes.intersections.into()),
        ("pixels", of.sizes.pixels.into()),
        ("psnr_image", optional(of.quality.map(|[psnr, _]| psnr))),
        ("ssim_valid", optional(of.quality.map(|[_, ssim]| ssim))),
        ("bytes", of.bytes().into()),
        ("bandwidth_gb_per_s", of.bandwidth_gb_s.0.into()),
        ("bandwidth_given", of.bandwidth_gb_s.1.into()),
        ("bound_ms", of.bound_ms().into()),
        (
            "passes",
            JsonValue::from(of.passes.iter().map(pass).collect::<Vec<_>>()),
        ),
    ])
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
        let environment = r#"{"device":{"name":"card"},"driver":"1.0","seed":7}"#;
        fs::write(folder.join("env.json"), environment).unwrap();
        fs::write(
            folder.join("cameras.json"),
            r#"[{"width":64,"height":48},{"width":33,"height":16}]"#,
        )
        .unwrap();
        if timed {
            let passes = r#"[{"pass":"update","calls":1,"ms":2},{"pass":"begin","calls":1,"ms":1}]"#;
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
        let folder = std::env::temp_dir().join(format!("xtask-bench-{}", std::process::id()));
        let (plain, timed) = (folder.join("plain"), folder.join("timed"));
        run(&plain, false);
        run(&timed, true);
        let scene = Scene {
            name: "s".to_owned(),
            commit: "c".to_owned(),
        };
        let figures = Figures::read(scene.clone(), &plain, &timed, None).unwrap();
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
        let written: JsonValue = json(&[figures]).unwrap().parse().unwrap();
        assert_eq!(written[0]["seed"].get::<f64>(), Some(&7.0));
        assert!(written[0]["passes"][1]["bytes"].is_null());

        fs::write(timed.join("timings.json"), r#"{"host_ms":1,"windows":[]}"#).unwrap();
        let failure = Figures::read(scene, &plain, &timed, None).unwrap_err();
        assert!(failure.message.contains("has no timed step"), "{}", failure.message);
        fs::remove_dir_all(folder).unwrap();
    }
}
