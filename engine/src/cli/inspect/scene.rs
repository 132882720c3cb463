//! A data set.

use std::io::{self, Write};
use std::path::Path;

use super::{Description, count, extent, mib, pretty};
use crate::jobs::shell::word;
use crate::plan::{SEEN_POINTS, scene_options};
use crate::run::RunError;
use kiln_config::Profile;
use kiln_gpu::memory::GIB;
use kiln_gpu::vk::{Caps, DeviceKind};
use kiln_scene::{CameraReport, SceneIndex, SceneOptions, SceneReport};

/// Names of images that are missing, or cannot be decoded, that are shown.
const SHOWN: usize = 5;
/// Kinds of camera, and sizes, that are shown one by one.
const GROUPS: usize = 5;
/// The profile of machines without a card, and the largest photos that they train on in minutes: pixels, and width of those that no
/// divisor makes as small.
const CPU: &str = "cpu";
const CPU_PIXELS: u64 = 80_000;
const CPU_WIDTH: u64 = 320;

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

    /// What to type behind `kiln train`: without a card a recipe and a size that it trains in minutes.
    fn suggested(&self) -> String {
        let scene = &self.0;
        let (root, profile) = (word(Path::new(&scene.root)), &scene.suggested_profile);
        if profile != CPU {
            return format!("{root} --profile {profile} -r {}", scene.suggested_resolution);
        }
        let largest = scene.cameras.iter().map(|camera| camera.source_px);
        let largest = largest
            .max_by_key(|px| px.map(u64::from).iter().product::<u64>())
            .unwrap_or([1, 1]);
        let pixels: u64 = largest.map(u64::from).iter().product();
        let divisor = [1_u64, 2, 4, 8].into_iter().find(|by| pixels / (by * by) <= CPU_PIXELS);
        // Larger than any divisor makes small: a width.
        let size = divisor.unwrap_or_else(|| CPU_WIDTH.min(largest[0].into()));
        format!("{root} --profile {CPU} --recipe demo -r {size} --steps-scaler 0.4")
    }

    /// Suggests no profile that a machine with these `devices` refuses or has no room for.
    pub(super) fn on(mut self, devices: &[Caps]) -> Self {
        let of_gpus = devices.iter().filter(|device| device.kind != DeviceKind::Cpu);
        let local = |device: &Caps| {
            device
                .heaps
                .iter()
                .filter(|heap| heap.device_local)
                .map(|heap| heap.bytes)
                .max()
        };
        let most = of_gpus.map(|device| local(device).unwrap_or(0)).max();
        let fits = |gib: u64| most.is_some_and(|bytes| bytes >= gib * GIB);
        let wanted = self.0.suggested_profile.as_str();
        let chosen = match wanted {
            _ if most.is_none() && !devices.is_empty() => CPU,
            "24gb" if fits(22) => "24gb",
            "24gb" | "16gb" if fits(14) => "16gb",
            // What a smaller card still has is for `kiln plan` to say.
            _ if most.is_some() => "8gb",
            other => other,
        };
        self.0.suggested_profile = chosen.to_owned();
        self
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
        print_cameras(&scene.cameras, out)?;
        print_training(scene, out)?;
        print_space(scene, out)?;
        writeln!(out, "suggested  kiln train {}", self.suggested())?;
        if scene.suggested_profile == CPU {
            writeln!(
                out,
                "           minutes on a CPU driver; `kiln plan {}` times it, larger sizes and other recipes take hours",
                self.suggested()
            )?;
        }
        print_remarks(scene, out)?;
        Ok(())
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        pretty(&self.0, out)
    }
}

/// The cameras of the photos, and in short those after the first few.
fn print_cameras(cameras: &[CameraReport], out: &mut dyn Write) -> io::Result<()> {
    let cameras = grouped(cameras);
    for (camera, cameras) in cameras.iter().take(GROUPS) {
        let [width, height] = camera.file_px;
        let crop = match camera.crop {
            Some(crop) => format!(
                ", {} x {} after undistortion, which loses {:.1} % of the area",
                camera.source_px[0],
                camera.source_px[1],
                100.0 * crop
            ),
            None if camera.kept => ", kept as fisheyes".to_owned(),
            None => String::new(),
        };
        let alike = match cameras {
            1 => String::new(),
            many => format!(" of {many} cameras"),
        };
        writeln!(
            out,
            "camera     {}, {width} x {height} pixels, {}{alike}{crop}",
            camera.model,
            count(camera.images, "image")
        )?;
    }
    let rest = cameras.get(GROUPS..).unwrap_or_default();
    if !rest.is_empty() {
        let cameras: usize = rest.iter().map(|(_, cameras)| cameras).sum();
        let images: usize = rest.iter().map(|(camera, _)| camera.images).sum();
        writeln!(
            out,
            "           and {} of {}",
            count(cameras, "more camera"),
            count(images, "image")
        )?;
    }
    Ok(())
}

/// The sizes that photos are trained at, and the memory they take.
fn print_training(scene: &SceneReport, out: &mut dyn Write) -> io::Result<()> {
    for size in scene.training_sizes.iter().take(GROUPS) {
        writeln!(
            out,
            "training   {} at {} x {} pixels",
            count(size.images, "image"),
            size.px[0],
            size.px[1]
        )?;
    }
    let rest = scene.training_sizes.get(GROUPS..).unwrap_or_default();
    if !rest.is_empty() {
        let images: usize = rest.iter().map(|size| size.images).sum();
        writeln!(
            out,
            "           {} at {}",
            count(images, "image"),
            count(rest.len(), "more size")
        )?;
    }
    writeln!(out, "           {} of memory for all of them", mib(scene.image_bytes))?;
    Ok(())
}

/// Where points and cameras are, how much the photos' exposures differ, and how many have masks.
fn print_space(scene: &SceneReport, out: &mut dyn Write) -> io::Result<()> {
    match scene.points_box {
        Some(bounds) => writeln!(out, "points     {}, {}", scene.points, extent(bounds))?,
        None => writeln!(out, "points     none")?,
    }
    writeln!(out, "cameras    {}", extent(scene.cameras_box))?;
    writeln!(out, "extent     {:.3}", scene.extent)?;
    if let Some([x, y, z]) = scene.origin {
        writeln!(out, "origin     {x} {y} {z}")?;
    }
    if let Some(spread) = scene.exposure_spread {
        let balance = 100.0 * scene.white_balance_spread.unwrap_or_default();
        let spread = 100.0 * spread;
        writeln!(
            out,
            "exposure   photos differ by {spread:.1} %, in white balance by {balance:.1} %"
        )?;
    }
    if let Some(darker) = scene.vignetting {
        writeln!(out, "corners    {:.0} % darker than the middle", 100.0 * darker)?;
    }
    if scene.masked_images > 0 {
        writeln!(out, "masks      of {}", count(scene.masked_images, "image"))?;
    }
    Ok(())
}

/// What there is to say of the data set, and the photos that it does without.
fn print_remarks(scene: &SceneReport, out: &mut dyn Write) -> io::Result<()> {
    for notice in &scene.notices {
        writeln!(out, "note: {notice}")?;
    }
    for warning in &scene.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    for (what, names) in [
        ("missing", &scene.images_missing),
        ("undecodable", &scene.images_undecodable),
        ("far", &scene.images_far),
    ] {
        if !names.is_empty() {
            let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
            let rest = match names.len().saturating_sub(SHOWN) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            writeln!(out, "{what}: {}{rest}", shown.join(", "))?;
        }
    }
    Ok(())
}

/// Cameras that look alike here, with how many they are: those with most images first. Undistortion that loses nearly the
/// same share counts as alike.
fn grouped(cameras: &[CameraReport]) -> Vec<(CameraReport, usize)> {
    let mut groups: Vec<(CameraReport, usize)> = Vec::new();
    let percent = |camera: &CameraReport| camera.crop.map(|crop| (100.0 * crop).round() as i64);
    let alike =
        |a: &CameraReport, b: &CameraReport| (&a.model, a.file_px, percent(a)) == (&b.model, b.file_px, percent(b));
    for camera in cameras {
        match groups.iter_mut().find(|(group, _)| alike(group, camera)) {
            Some((group, cameras)) => {
                group.images += camera.images;
                *cameras += 1;
            }
            None => groups.push((camera.clone(), 1)),
        }
    }
    groups.sort_by_key(|(group, _)| std::cmp::Reverse(group.images));
    groups
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;
    use kiln_config::{Inputs, resolve};
    use kiln_gpu::vk::MemoryHeap;

    #[test]
    fn the_suggested_profile_is_one_that_the_machine_takes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let profile = resolve(&Inputs::default()).unwrap();
        let card = |kind, gib: u64| {
            let mut caps = Caps::default();
            caps.kind = kind;
            caps.heaps = vec![MemoryHeap {
                bytes: gib * GIB,
                device_local: true,
            }];
            caps
        };
        let software = card(DeviceKind::Cpu, 64);
        for (wanted, devices, suggested) in [
            ("24gb", vec![], "24gb"),
            ("8gb", vec![software.clone()], "cpu"),
            ("24gb", vec![software.clone(), card(DeviceKind::Discrete, 24)], "24gb"),
            ("24gb", vec![card(DeviceKind::Discrete, 16)], "16gb"),
            ("16gb", vec![card(DeviceKind::Discrete, 8), software], "8gb"),
            ("8gb", vec![card(DeviceKind::Discrete, 140)], "8gb"),
        ] {
            let mut scene = SceneDescription::of(&root, &profile).unwrap();
            scene.0.suggested_profile = wanted.to_owned();
            assert_eq!(scene.on(&devices).0.suggested_profile, suggested, "{wanted}");
        }
    }

    #[test]
    fn without_a_card_what_takes_minutes_is_suggested() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let mut scene = SceneDescription::of(&root, &resolve(&Inputs::default()).unwrap()).unwrap();
        scene.0.suggested_profile = CPU.to_owned();
        scene.0.root = "photos".to_owned();
        let mut of = |px: [u32; 2]| {
            scene.0.cameras[0].source_px = px;
            scene.suggested()
        };
        let with = |size: u32| format!("photos --profile cpu --recipe demo -r {size} --steps-scaler 0.4");
        assert_eq!(
            [of([566, 426]), of([1600, 1200]), of([4032, 3024])],
            [with(2), with(8), with(320)]
        );
    }

    #[test]
    fn cameras_are_grouped() {
        let camera = |model: &str, side: u32, images: usize, crop: Option<f64>| CameraReport {
            model: model.to_owned(),
            file_px: [side, side],
            source_px: [side, side],
            images,
            crop,
            kept: false,
        };
        let mut cameras: Vec<CameraReport> = (0..64)
            .map(|n| camera("OPENCV", 800, 1, Some(0.0301 + f64::from(n) * 1e-5)))
            .collect();
        cameras.extend((0..8).map(|n| camera("PINHOLE", 100 + n, 2, None)));
        let groups = grouped(&cameras);
        assert_eq!((groups.len(), groups[0].0.images, groups[0].1), (9, 64, 64));
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let mut described = SceneDescription::of(&root, &resolve(&Inputs::default()).unwrap()).unwrap();
        described.0.cameras = cameras;
        described.0.root = "my garden".to_owned();
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("camera     OPENCV, 800 x 800 pixels, 64 images of 64 cameras, "),
            "{text}"
        );
        assert!(text.contains("           and 4 more cameras of 8 images\n"), "{text}");
        let command = format!(
            "kiln train {} --profile",
            crate::jobs::shell::argument_word("my garden")
        );
        assert!(text.contains(&command), "{text}");
        assert_eq!(text.matches("camera  ").count(), 5, "{text}");
    }

    #[test]
    fn fisheyes_that_stay_as_they_are_are_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenes/stilllife");
        let mut described = SceneDescription::of(&root, &resolve(&Inputs::default()).unwrap()).unwrap();
        described.0.cameras = vec![CameraReport {
            model: "OPENCV_FISHEYE".to_owned(),
            file_px: [800, 600],
            source_px: [800, 600],
            images: 40,
            crop: None,
            kept: true,
        }];
        let mut out = Vec::new();
        described.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let wanted = "camera     OPENCV_FISHEYE, 800 x 600 pixels, 40 images, kept as fisheyes\n";
        assert!(text.contains(wanted), "{text}");
    }

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
