//! Agreement of renders and normal maps on the device, and its gradient by blended normals, against the twin.

use kiln::kernels::normal_map_loss::{self, Recorded};
use kiln::math::{norm, scale};
use kiln::scene::Photo;
use kiln::step::Capacities;
use kiln::twins::normal_map_loss::{Mapped, normal_map_loss};
use kiln::twins::rng::uniform;
use kiln::twins::surface::{Blended, Plane};
use kiln_tests::child;
use kiln_tests::gpu::{losses, open};
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

use super::map_loss::{Drawn, Passes, SIZES, WEIGHT, Wanted};

fn random(i: u32, channel: u32) -> f32 {
    uniform::<f32>(37, 0, i, channel)
}

/// Blended normals and the light that is left: some that cancel, some that hardly block any.
fn blended(pixels: u32) -> Vec<([f32; 4], f32)> {
    let pixel = |i: u32| {
        let size = if i % 17 == 2 { 0.05 } else { 1.0 };
        let normal = [random(i, 0) - 0.5, random(i, 1) - 0.5, -0.3 - 0.5 * random(i, 2)];
        let [x, y, z] = normal.map(|v| size * v);
        let left = if i % 13 == 5 { 0.6 } else { 0.45 * random(i, 3) };
        ([x, y, z, 3.0], left)
    };
    (0..pixels).map(pixel).collect()
}

/// A map's words: some of nothing.
fn words(pixels: u32) -> Vec<u32> {
    let word = |i: u32| {
        let v = [random(i, 4) - 0.5, random(i, 5) - 0.5, random(i, 6) - 0.9];
        let [x, y, z] = scale(v, 127.0 / norm(v)).map(|v| (v.round() as i8).cast_unsigned());
        let trust = (255.0 * random(i, 7)) as u8;
        if i % 11 == 3 {
            0
        } else {
            u32::from_le_bytes([x, y, z, trust])
        }
    };
    (0..pixels).map(word).collect()
}

fn mapped(word: u32) -> Mapped<f64> {
    let [x, y, z, trust] = word.to_le_bytes();
    if word == 0 {
        return Mapped::default();
    }
    let v = [x, y, z].map(|byte| f64::from(byte.cast_signed()));
    Mapped {
        normal: scale(v, 1.0 / norm(v)),
        trust: f64::from(trust) / 255.0,
    }
}

#[test]
fn losses_and_gradients_follow_the_twin() {
    follow_the_twin();
}

#[test]
fn every_subgroup_width_follows_the_twin() {
    if let Some(role) = child::role() {
        let size = open().caps().subgroup_size;
        assert_eq!(size.to_string(), role, "the driver's subgroup size");
        return follow_the_twin();
    }
    for (width, size) in [("128", "4"), ("512", "16")] {
        child::run_with_vectors(module_path!(), "every_subgroup_width_follows_the_twin", size, width);
    }
}

fn follow_the_twin() {
    for (masked, alone, behind_depths) in [(false, true, false), (true, false, true), (false, false, true)] {
        let set = |capacities: &mut Capacities| {
            capacities.masked = masked;
            let kinds: &[&str] = if behind_depths {
                &["depth", "normal_map"]
            } else {
                &["normal_map"]
            };
            capacities.losses = losses(kinds);
        };
        let recorded = Recorded {
            weight: WEIGHT,
            alone,
            behind_depths,
        };
        let mut passes = Passes::new(set, alone, |program, tensors, surface, sums| {
            normal_map_loss::record(program, &tensors.shared, &tensors.pixels, surface, sums, recorded);
        });
        for size in SIZES {
            let scene = Scene {
                seed: 29,
                size,
                ..Scene::default()
            };
            let pixels = size[0] * size[1];
            let (made, words) = (blended(pixels), words(pixels));
            let mask: Vec<u8> = scene.mask().iter().map(|counts| u8::from(*counts) * 255).collect();
            // words of depth that would be normals, were they read as such
            let depths = vec![0x7f7f_7f7f; pixels as usize + 1];
            let photo = Photo::with_maps(
                scene.target(),
                masked.then_some(&mask[..]),
                behind_depths.then_some(&depths[..]),
                Some(&words),
            );
            let twin: Vec<Blended<f64>> = made
                .iter()
                .map(|([x, y, z, distance], left)| Blended {
                    plane: Plane {
                        normal: [x, y, z].map(|v| f64::from(*v)),
                        distance: (*distance).into(),
                    },
                    transmittance: (*left).into(),
                    ..Blended::default()
                })
                .collect();
            let of_map: Vec<Mapped<f64>> = words
                .iter()
                .zip(&mask)
                .map(|(word, mask)| match masked && *mask == 0 {
                    true => Mapped::default(),
                    false => mapped(*word),
                })
                .collect();
            let (loss, gradient) = normal_map_loss(&twin, &of_map, f64::from(WEIGHT.start) / 2.0);
            let wanted = Wanted {
                loss,
                gradient: gradient.iter().map(|[x, y, z]| [*x, *y, *z, 0.0]).collect(),
                counting: 4000,
            };
            let drawn = Drawn {
                planes: made.iter().map(|(plane, _)| *plane).collect(),
                beside: made.iter().map(|(_, left)| [0.2, 0.3, 0.4, *left]).collect(),
            };
            let what = format!("{size:?}, masks: {masked}, depths: {behind_depths}");
            passes.follow(uniforms(&scene.camera(), 0, 1), &drawn, &photo, &wanted, &what);
        }
        passes.assert_valid();
    }
}
