//! Scenes have no unit of length: the same one in another unit trains to the same figures.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;

use kiln::run::interrupt::Interrupt;
use kiln_tests::runs::{self, Scratch, profile};

/// Two runs that differ by rounding alone end up less than so many dB apart: the last bits of a model decide who is split. On
/// lavapipe these do by 0.0002 dB.
const NOISE_DB: f64 = 0.1;

/// 60 steps with the regularizer of sizes, so strong that it would be the end of a model in another unit,
const SETTINGS: &[(&str, &str)] = &[
    ("schedule.iterations", "60"),
    ("schedule.test", "[]"),
    ("regularizers", "[{ kind: scale, weight: 1.0 }]"),
];
/// and what else measures Gaussians in world units: copies and samples by size and world-size prunes, or noise as strong.
const STRATEGIES: [&str; 2] = [
    "{ kind: error_guided, densify: { from: 2, until: 50, every: 16, growth: 0.1 }, prune: { opacity: 0.001, world: 0.05 } }",
    "{ kind: mcmc, densify: { from: 2, until: 50, every: 16, growth: 0.1 }, noise: 5e8 }",
];

/// Reads a little-endian record file and writes it with some of its numbers changed.
struct Records {
    bytes: Vec<u8>,
    at: usize,
}

impl Records {
    fn open(path: &Path) -> (Self, u64) {
        let mut records = Self {
            bytes: fs::read(path).unwrap(),
            at: 0,
        };
        let count = records.count();
        (records, count)
    }

    fn count(&mut self) -> u64 {
        let value = u64::from_le_bytes(self.bytes[self.at..self.at + 8].try_into().unwrap());
        self.at += 8;
        value
    }

    fn multiply(&mut self, numbers: usize, factor: f64) {
        for number in self.bytes[self.at..self.at + 8 * numbers].chunks_exact_mut(8) {
            let value = f64::from_le_bytes(number.try_into().unwrap());
            number.copy_from_slice(&(factor * value).to_le_bytes());
        }
        self.at += 8 * numbers;
    }

    fn skip_items(&mut self, bytes: usize) {
        let count = self.count();
        self.at += bytes * usize::try_from(count).unwrap();
    }
}

/// The bundled scene with all positions multiplied by `factor`, in `folder`.
fn scaled(folder: &Path, factor: f64) {
    let from = runs::scene();
    for part in ["images", "sparse/0"] {
        fs::create_dir_all(folder.join(part)).unwrap();
        for entry in fs::read_dir(from.join(part)).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.join(part).join(entry.file_name())).unwrap();
        }
    }
    // Image: id, rotation, translation, camera, name, keypoints (x, y, point).
    let path = folder.join("sparse/0/images.bin");
    let (mut images, count) = Records::open(&path);
    for _ in 0..count {
        images.at += 4 + 4 * 8;
        images.multiply(3, factor);
        images.at += 4;
        images.at += images.bytes[images.at..].iter().position(|byte| *byte == 0).unwrap() + 1;
        images.skip_items(24);
    }
    assert_eq!(images.at, images.bytes.len());
    fs::write(path, images.bytes).unwrap();
    // Point: id, position, colour, error, track (image, keypoint).
    let path = folder.join("sparse/0/points3D.bin");
    let (mut points, count) = Records::open(&path);
    for _ in 0..count {
        points.at += 8;
        points.multiply(3, factor);
        points.at += 3 + 8;
        points.skip_items(8);
    }
    assert_eq!(points.at, points.bytes.len());
    fs::write(path, points.bytes).unwrap();
}

#[test]
fn the_unit_of_length_does_not_matter() {
    let scratch = Scratch::new("scale");
    let end = |strategy: &str, factor: f64| {
        let scene = scratch.join(&format!("scene-{}-{factor}", strategy.len()));
        scaled(&scene, factor);
        let root = scratch.join(&format!("run-{}-{factor}", strategy.len()));
        let profile = profile(&root, &[runs::QUICK, SETTINGS, &[("strategy", strategy)]]);
        let (end, _) = runs::train_scene(profile, scene, None, &Interrupt::unattached()).unwrap();
        let resolved = fs::read_to_string(root.join("config.resolved.yaml")).unwrap();
        let near = resolved.lines().find_map(|line| line.trim().strip_prefix("near: "));
        let near: f64 = near.unwrap().parse().unwrap();
        (end.test_psnr.unwrap(), near / factor)
    };
    for strategy in STRATEGIES {
        let (wanted, near) = end(strategy, 1.0);
        assert!(wanted > 11.0, "{wanted} dB: it learns");
        for factor in [0.05, 20.0] {
            let (found, found_near) = end(strategy, factor);
            println!("times {factor}: {found} dB, near plane {found_near}; as it is: {wanted} dB, {near}");
            assert!(
                (found_near / near - 1.0).abs() < 1e-3,
                "{factor}: {found_near}, not {near}"
            );
            assert!(
                (found - wanted).abs() < NOISE_DB,
                "{found} dB in a scene multiplied by {factor}, {wanted} dB as it is"
            );
        }
    }
}
