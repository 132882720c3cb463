//! A data set.

use std::io::{self, Write};
use std::path::Path;

use super::{Description, count, mib, pretty};
use crate::config::Profile;
use crate::plan::scene_options;
use crate::run::RunError;
use crate::scene::{SceneIndex, SceneOptions, SceneReport};

/// Names of missing images that are shown.
const SHOWN: usize = 5;
/// Points of a photo at which its colours are compared with those of others.
const SEEN_POINTS: u32 = 4096;

/// What a data set holds.
pub(super) struct SceneDescription(SceneReport);

impl SceneDescription {
    pub(super) fn of(path: &Path, profile: &Profile) -> Result<Self, RunError> {
        let options = SceneOptions {
            seen_points: SEEN_POINTS,
            ..scene_options(profile)?
        };
        let scene = SceneIndex::load(path, &options)?;
        Ok(Self(SceneReport::of(&scene).with_photos(&scene)?))
    }
}

impl Description for SceneDescription {
    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let scene = &self.0;
        writeln!(out, "scene      {} ({})", scene.root, scene.kind)?;
        writeln!(out, "poses      {}", scene.model)?;
        writeln!(out, "images     {}", scene.images)?;
        writeln!(
            out,
            "           {} of {} found; {} to train on, {} held out",
            scene.images_found, scene.images_listed, scene.train_views, scene.test_views
        )?;
        for camera in &scene.cameras {
            let [width, height] = camera.file_px;
            let crop = match camera.crop {
                Some(crop) => format!(
                    ", {} x {} after undistortion, which loses {:.1} % of the area",
                    camera.source_px[0],
                    camera.source_px[1],
                    100.0 * crop
                ),
                None => String::new(),
            };
            writeln!(
                out,
                "camera     {}, {width} x {height} pixels, {}{crop}",
                camera.model,
                count(camera.images, "image")
            )?;
        }
        for size in &scene.training_sizes {
            writeln!(
                out,
                "training   {} at {} x {} pixels",
                count(size.images, "image"),
                size.px[0],
                size.px[1]
            )?;
        }
        writeln!(out, "           {} of memory for all of them", mib(scene.image_bytes))?;
        match scene.points_box {
            Some(bounds) => writeln!(out, "points     {}, {}", scene.points, extent(bounds))?,
            None => writeln!(out, "points     none")?,
        }
        writeln!(out, "cameras    {}", extent(scene.cameras_box))?;
        writeln!(out, "extent     {:.3}", scene.extent)?;
        if let Some(spread) = scene.exposure_spread {
            writeln!(out, "exposure   photos differ by {:.1} %", 100.0 * spread)?;
        }
        if scene.masked_images > 0 {
            writeln!(out, "masks      of {} images", scene.masked_images)?;
        }
        writeln!(
            out,
            "suggested  kiln train {} --profile {} -r {}",
            scene.root, scene.suggested_profile, scene.suggested_resolution
        )?;
        for notice in &scene.notices {
            writeln!(out, "note: {notice}")?;
        }
        for warning in &scene.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        let missing = scene.images_missing.len();
        if missing > 0 {
            let shown: Vec<&str> = scene.images_missing.iter().take(SHOWN).map(String::as_str).collect();
            let more = missing.saturating_sub(SHOWN);
            let rest = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            writeln!(out, "missing: {}{rest}", shown.join(", "))?;
        }
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        pretty(&self.0, out)
    }
}

fn extent([low, high]: [[f32; 3]; 2]) -> String {
    let axes = ["x", "y", "z"];
    let parts: Vec<String> = axes
        .iter()
        .enumerate()
        .map(|(i, axis)| format!("{axis} {:.3} to {:.3}", low[i], high[i]))
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use crate::config::{Inputs, resolve};

    #[test]
    fn the_bundled_scene_is_described() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let profile = resolve(&Inputs::default()).unwrap();
        let described = SceneDescription::of(&root, &profile).unwrap();
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for words in [
            "(colmap)\n",
            "40 of 40 found; 35 to train on, 5 held out\n",
            "camera     PINHOLE, ",
            "40 images\n",
            "suggested  kiln train ",
            "--profile 8gb -r 1\n",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let mut out = Vec::new();
        described.json(&mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["train_views"], 35);
    }
}
