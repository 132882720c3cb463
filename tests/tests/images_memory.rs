//! Memory of decoded images stays within what was announced, measured on a process of its own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests stop at the first surprise"
)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use kiln_scene::{
    ImageOptions, ImageStore, Resolution, SceneIndex, SceneOptions, Split, ViewId, ViewSampler, estimate_host_bytes,
};
use kiln_tests::runs::Scratch;
use kiln_tests::{child, cpu};

/// A Blender scene of `count` views whose files are links to one noisy picture.
fn write_scene(root: &Path, count: u32, (width, height): (u32, u32)) {
    fs::create_dir_all(root).unwrap();
    let picture = image::RgbImage::from_fn(width, height, |x, y| {
        let noise = (x * 7919 + y * 104_729) ^ (x * y);
        image::Rgb([noise as u8, (noise >> 3) as u8, (x + y) as u8])
    });
    let first = root.join("v0.png");
    picture.save(&first).unwrap();
    let mut frames = Vec::new();
    for n in 0..count {
        if n > 0 {
            fs::hard_link(&first, root.join(format!("v{n}.png"))).unwrap();
        }
        frames.push(format!(
            r#"{{"file_path":"v{n}","transform_matrix":[[1,0,0,{n}],[0,1,0,0],[0,0,1,4],[0,0,0,1]]}}"#
        ));
    }
    let json = format!(r#"{{"camera_angle_x":0.9,"frames":[{}]}}"#, frames.join(","));
    fs::write(root.join("transforms_train.json"), json).unwrap();
}

/// A line of `/proc/self/status`, bytes: `VmRSS` is what is resident, `VmHWM` the most there ever was.
fn status(line: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let value = text.lines().find_map(|l| l.strip_prefix(line)).unwrap();
    let kib: u64 = value
        .trim_start_matches(':')
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    kib * 1024
}

fn index(root: &Path, resolution: Resolution) -> SceneIndex {
    let options = SceneOptions {
        resolution,
        eval: false,
        ..SceneOptions::default()
    };
    SceneIndex::load(root, &options).unwrap()
}

fn view(index: usize) -> ViewId {
    let split = Split::Train;
    ViewId { split, index }
}

/// Draws `steps` views as training does; then checks what was used against the estimate.
fn draw_and_measure(scene: &SceneIndex, options: ImageOptions, steps: usize) {
    let before = status("VmRSS");
    let estimate = estimate_host_bytes(scene, options);
    let store = ImageStore::open(scene, options).unwrap();
    assert_eq!(store.host_bytes(), estimate);
    let mut sampler = ViewSampler::new(u32::try_from(scene.train.len()).unwrap(), 3).unwrap();
    for _ in 0..steps {
        let drawn = sampler.draw();
        store.prefetch(sampler.upcoming(16).into_iter().map(view));
        let photo = store.get(view(drawn)).unwrap();
        assert_eq!(photo.len() as u64, 3 * scene.train[drawn].pixels());
    }
    let (now, most) = (status("VmRSS") - before, status("VmHWM") - before);
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let text = format!(
        "estimate {:.1} MiB, resident {:.1} MiB, most {:.1} MiB",
        mib(estimate),
        mib(now),
        mib(most)
    );
    println!("figures: {text}");
    assert!(most as f64 <= 1.1 * estimate as f64, "{text}");
    if let Some(cache) = options.cache_bytes {
        assert!(store.resident_bytes() <= cache);
    }
}

#[test]
fn memory_stays_within_the_estimate() {
    let (host, stream) = (None, Some(24 << 20));
    let Some(role) = child::role() else {
        for role in ["host", "host, reduced", "stream", "stream, reduced"] {
            let text = child::run(module_path!(), "memory_stays_within_the_estimate", role, &[]);
            let figures = text.lines().find_map(|line| line.split_once("figures: "));
            println!("{role}: {}", figures.expect("figures of the child").1);
        }
        return;
    };
    let scratch = Scratch::new("memory");
    let root = scratch.join("scene");
    write_scene(&root, 60, (1000, 700));
    let divisor = if role.ends_with("reduced") { 2 } else { 1 };
    let scene = index(&root, Resolution::Divide(divisor));
    let options = ImageOptions {
        cache_bytes: if role.starts_with("host") { host } else { stream },
        threads: Some(4),
        ..ImageOptions::default()
    };
    draw_and_measure(&scene, options, 150);
}

/// Only headers are read at start, so the first photo of 2 000 is there at once; a small cache serves them all.
#[test]
fn two_thousand_images_start_at_once_and_stream() {
    if child::role().is_none() {
        child::run(
            module_path!(),
            "two_thousand_images_start_at_once_and_stream",
            "stream",
            &[],
        );
        return;
    }
    let scratch = Scratch::new("thousands");
    let root = scratch.join("scene");
    write_scene(&root, 2000, (800, 600));
    let before = cpu::used();
    let scene = index(&root, Resolution::Divide(1));
    assert_eq!(scene.train.len(), 2000);
    let options = ImageOptions {
        cache_bytes: Some(64 << 20),
        ..ImageOptions::default()
    };
    let store = ImageStore::open(&scene, options).unwrap();
    store.get(view(1234)).unwrap();
    // decoding all would take a minute
    let took = cpu::used() - before;
    assert!(took < Duration::from_secs(15), "{took:?} of processor time");
    assert_eq!(store.report().images, 1);
    drop(store);
    draw_and_measure(&scene, options, 120);
}
