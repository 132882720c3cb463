#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::network::{CONVS, bias_at, channels, convs, linear_at, scaling_at};
use super::*;
use crate::memory::MIB;
use crate::program::TensorTable;
use crate::twins::{conv3x3, lpips, max_pool2x2};
use crate::vk::{Device, Instance, Validation};

const RANGES: [(LpipsRange, &str); 2] = [
    (LpipsRange::ZeroOne, "zero_one"),
    (LpipsRange::MinusOneOne, "minus_one_one"),
];

/// What weights rounded to halves may move a figure by.
const HALVES: f64 = 1e-4;

/// What f32 sums in another order may move a figure by.
const ROUNDING: f64 = 1e-6;

struct Images {
    size_px: [u32; 2],
    image: Vec<[f32; 3]>,
    target: Vec<u8>,
}

impl Images {
    fn pair(&self) -> Pair<'_, 3> {
        Pair {
            image: &self.image,
            target: &self.target,
            size_px: self.size_px,
        }
    }

    fn target_pixels(&self) -> Vec<[f32; 3]> {
        let pixels = self.target.chunks_exact(3);
        pixels.map(|p| [p[0], p[1], p[2]].map(unit)).collect()
    }
}

fn unit(byte: u8) -> f32 {
    f32::from(byte) / 255.0
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/metrics")
}

fn golden() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("lpips.json")).unwrap()).unwrap()
}

fn weights() -> LpipsWeights {
    match LpipsWeights::find().unwrap() {
        Search::Found(weights) => weights,
        Search::Absent(text) => panic!("{text}"),
    }
}

fn recorded(name: &str) -> Images {
    let read = |which: &str| {
        image::open(folder().join(format!("pair_{name}_{which}.png")))
            .unwrap()
            .to_rgb8()
    };
    let (pred, gt) = (read("pred"), read("gt"));
    Images {
        size_px: [pred.width(), pred.height()],
        image: pred.pixels().map(|p| p.0.map(unit)).collect(),
        target: gt.into_raw(),
    }
}

/// The pair of `synthetic` in the golden file, by its formula.
fn synthetic(size_px: [u32; 2]) -> Images {
    let [width, height] = size_px;
    let byte = |v: u32| u8::try_from(v % 256).unwrap();
    let (mut image, mut target) = (Vec::new(), Vec::new());
    for y in 0..height {
        for x in 0..width {
            let pred = [byte(5 * x + 3 * y), byte(x * y), byte((x ^ y) * 4)];
            let green = byte(x * y + 16 * (x / 8 % 2));
            target.extend([255 - pred[0], green, pred[2].wrapping_add(byte(8 * (y / 4 % 2)))]);
            image.push(pred.map(unit));
        }
    }
    Images { size_px, image, target }
}

/// The network on the CPU.
struct Twin {
    weights: LpipsWeights,
    range: LpipsRange,
}

impl Twin {
    /// Features at each tap.
    fn taps(&self, pixels: &[[f32; 3]], mut size_px: [u32; 2]) -> Vec<Vec<f32>> {
        let constants = self.weights.constants();
        let scaling = |at: usize| std::array::from_fn(|c| constants[scaling_at() as usize + at + c]);
        let mut features = lpips::input(pixels, scaling(0), scaling(3), gain_and_offset(self.range));
        let mut taps = Vec::new();
        for block in 0..BLOCKS {
            if block > 0 {
                features = max_pool2x2::max_pool2x2(size_px, &features);
                size_px = size_px.map(|side| side / 2);
            }
            for conv in convs(block) {
                let bias = &constants[bias_at(conv) as usize..bias_at(conv + 1) as usize];
                features = conv3x3::conv3x3(size_px, &features, &self.unpacked(conv), bias);
            }
            taps.push(features.clone());
        }
        taps
    }

    fn unpacked(&self, conv: usize) -> Vec<f32> {
        let [input, output] = CONVS[conv].map(|v| v as usize);
        let words = self.weights.conv(conv);
        let half = |o: usize, rest: usize| {
            let word = words[((o / 8) * input * 9 + rest) * 4 + o % 8 / 2];
            half_to_f32(u16::try_from(if o.is_multiple_of(2) { word & 0xffff } else { word >> 16 }).unwrap())
        };
        (0..output)
            .flat_map(|o| (0..input * 9).map(move |rest| half(o, rest)))
            .collect()
    }

    fn per_tap(&self, pair: &Images) -> Vec<f64> {
        let a = self.taps(&pair.image, pair.size_px);
        let b = self.taps(&pair.target_pixels(), pair.size_px);
        let terms = a.iter().zip(&b).enumerate().map(|(tap, (a, b))| {
            let plane = a.len() / channels(tap) as usize;
            let linear = &self.weights.constants()[linear_at(tap) as usize..linear_at(tap + 1) as usize];
            lpips::difference(a, b, plane, linear) / plane as f64
        });
        terms.collect()
    }
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn assert_golden(what: &str, found: &[f64], wanted: &Value, key: &str) {
    let reference = numbers(&wanted[key]["per_tap"]);
    for (tap, (x, y)) in found.iter().zip(&reference).enumerate() {
        assert!((x - y).abs() < HALVES, "{what} {key} tap {tap}: {x} against {y}");
    }
    let total = found.iter().sum::<f64>();
    for (which, tolerance) in [("lpips", HALVES), ("lpips_halves", ROUNDING)] {
        let reference = wanted[key][which].as_f64().unwrap();
        let apart = (total - reference).abs();
        assert!(apart < tolerance, "{what} {key}: {total} against {which} {reference}");
    }
}

#[test]
fn the_twin_agrees_with_recorded_features_and_distances() {
    let golden = golden();
    let pair = synthetic([48, 40]);
    for (range, key) in RANGES {
        let twin = Twin {
            weights: weights(),
            range,
        };
        let taps = twin.taps(&pair.image, pair.size_px);
        for (tap, wanted) in golden["synthetic"]["taps_of_pred"][key]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
        {
            let indices = wanted["flat_indices_chw"].as_array().unwrap();
            let largest = wanted["max"].as_f64().unwrap();
            for (index, value) in indices.iter().zip(numbers(&wanted["values"])) {
                let found = f64::from(taps[tap][usize::try_from(index.as_u64().unwrap()).unwrap()]);
                assert!(
                    (found - value).abs() < 1e-3 * largest,
                    "{key} tap {tap} at {index}: {found} against {value}"
                );
            }
            let mean = taps[tap].iter().map(|v| f64::from(*v)).sum::<f64>() / taps[tap].len() as f64;
            let reference = wanted["mean"].as_f64().unwrap();
            assert!(
                (mean / reference - 1.0).abs() < 1e-3,
                "{key} tap {tap}: mean {mean} against {reference}"
            );
        }
        assert_golden("twin, synthetic", &twin.per_tap(&pair), &golden["synthetic"], key);
    }
}

/// A device with a workspace, the validation layer on.
struct Rig {
    lpips: Lpips,
    gpu: Gpu,
    device: Arc<Device>,
}

impl Rig {
    fn new(budget_bytes: u64, max_size_px: [u32; 2]) -> Self {
        let instance = Arc::new(Instance::new(Validation::Synchronization).unwrap());
        let caps = instance.devices().unwrap().into_iter().next().unwrap();
        let device = Device::open(&instance, caps).unwrap();
        let mut table = TensorTable::default();
        let tensors = LpipsTensors::new(&mut table, budget_bytes, max_size_px).unwrap();
        let program = tensors.program().clone();
        let gpu = Gpu::new(&device, table, &[&program], budget_bytes).unwrap();
        Self {
            lpips: Lpips::new(tensors, weights()),
            gpu,
            device,
        }
    }

    fn per_tap(&mut self, pair: &Images, range: LpipsRange) -> [f64; BLOCKS] {
        let allocations = self.device.allocations();
        let found = self.lpips.per_tap(&mut self.gpu, &pair.pair(), range).unwrap();
        assert_eq!(
            self.device.allocations(),
            allocations,
            "device memory taken after planning"
        );
        found
    }

    fn assert_silent(&self) {
        let messages = self.device.instance().validation().unwrap().messages();
        assert!(messages.is_empty(), "{}", messages.join("\n"));
    }
}

#[test]
fn the_device_agrees_with_recorded_distances() {
    let golden = golden();
    let mut rig = Rig::new(DEFAULT_BUDGET_BYTES, [131, 97]);
    // Every pair in both ranges takes a software driver most of a minute.
    let full = std::env::var_os("KILN_FULL").is_some();
    for (range, key) in RANGES {
        let found = rig.per_tap(&synthetic([48, 40]), range);
        assert_golden("synthetic", &found, &golden["synthetic"], key);
        for name in ["a", "b", "c"] {
            if full || (name == "a" && range == LpipsRange::ZeroOne) {
                let found = rig.per_tap(&recorded(name), range);
                assert_golden(name, &found, &golden["pairs"][name], key);
            }
        }
    }
    rig.assert_silent();
}

#[test]
fn cuts_do_not_show() {
    let close = |what: &str, found: [f64; BLOCKS], whole: [f64; BLOCKS]| {
        for (tap, (x, y)) in found.iter().zip(&whole).enumerate() {
            assert!((x - y).abs() < ROUNDING, "{what} tap {tap}: {x} cut, {y} whole");
        }
    };
    let range = LpipsRange::ZeroOne;
    let mut rig = Rig::new(DEFAULT_BUDGET_BYTES, [368, 97]);

    let recorded = recorded("c");
    let whole = rig.per_tap(&recorded, range);
    assert_golden("c", &whole, &golden()["pairs"]["c"], "zero_one");
    // Sides that are no multiples of anything. Ten rows of the widest level at a time, four of the third, several strips at each of
    // the three, and four tiles.
    let odd = synthetic([61, 53]);
    let whole = rig.per_tap(&odd, range);
    let planned = rig.lpips.tensors.limits;
    rig.lpips.tensors.limits.strip_bytes = [12 * 61 * 512, 8 * 60 * 512, 8 * 60 * 512];
    rig.lpips.compiled.clear();
    assert_eq!(
        [0, 1, 2].map(|b| rig.lpips.tensors.limits.strip_rows(b, [61 >> b, 53 >> b])),
        [10, 6, 4]
    );
    let tiles = tiles::forced(odd.size_px, [2, 2]);
    assert_eq!(tiles.len(), 4);
    close(
        "strips and tiles",
        rig.lpips.over(&mut rig.gpu, &odd.pair(), range, &tiles).unwrap(),
        whole,
    );

    // Long enough that tiles read less than the image.
    let long = synthetic([368, 16]);
    rig.lpips.tensors.limits = planned;
    rig.lpips.compiled.clear();
    let whole = rig.per_tap(&long, range);
    let tiles = tiles::forced(long.size_px, [3, 1]);
    assert!(tiles.iter().all(|t| t.size[0] < 368) && tiles.len() == 3);
    close(
        "halo",
        rig.lpips.over(&mut rig.gpu, &long.pair(), range, &tiles).unwrap(),
        whole,
    );
    rig.assert_silent();
}

#[test]
fn equal_images_are_no_distance_apart() {
    let mut rig = Rig::new(32 * MIB, [24, 16]);
    let mut pair = synthetic([24, 16]);
    pair.image = pair.target_pixels();
    // Not exactly zero: the device may divide a byte by 255 another way than the host did.
    let found = rig.per_tap(&pair, LpipsRange::MinusOneOne);
    assert!(found.iter().all(|term| *term < 1e-12), "{found:?}");
    let larger = synthetic([48, 40]);
    let error = rig
        .lpips
        .distance(&mut rig.gpu, &larger.pair(), LpipsRange::ZeroOne)
        .unwrap_err();
    assert!(error.to_string().contains("48x40"), "{error}");
    rig.assert_silent();
}

#[test]
fn images_of_the_wrong_size_are_refused() {
    let images = synthetic([48, 40]);
    let mut pair = images.pair();
    assert!(pair.check().is_ok());
    pair.size_px = [48, 41];
    assert!(matches!(
        pair.check(),
        Err(LpipsError::Length {
            found: 1920,
            expected: 1968,
            ..
        })
    ));
    pair.size_px = [128, 15];
    assert!(matches!(pair.check(), Err(LpipsError::Size { .. })));
    pair.size_px = images.size_px;
    pair.target = &images.target[1..];
    assert!(matches!(
        pair.check(),
        Err(LpipsError::Length {
            which: "photograph",
            ..
        })
    ));
}
