//! Agreement of renders and depth maps on the device, and its gradient by planes, against the twin.

use kiln::kernels::depth_loss;
use kiln::scene::Photo;
use kiln::step::Capacities;
use kiln::twins::depth_loss::{Mapped, depth_loss};
use kiln::twins::gaussian::View;
use kiln::twins::rng::uniform;
use kiln::twins::surface::{Blended, Plane, pixel_ray};
use kiln_tests::gpu::losses;
use kiln_tests::scenes::Scene;
use kiln_tests::twin::uniforms;

use super::map_loss::{Drawn, Passes, SIZES, WEIGHT, Wanted};

const UNIT: f32 = 0.23;

fn random(i: u32, channel: u32) -> f32 {
    uniform::<f32>(31, 0, i, channel)
}

/// Planes at depths from 2 to 8, and the depths where rays meet them; every 13th pixel has none.
fn planes(view: &View<f32>) -> (Vec<Plane<f32>>, Vec<f32>) {
    let [width, height] = view.size_px;
    (0..width * height)
        .map(|i| {
            let ray = pixel_ray(view, [(i % width) as f32, (i / width) as f32]);
            let normal = [0.4 * random(i, 0) - 0.2, 0.3 * random(i, 1), -0.8];
            let z = 2.0 + 6.0 * random(i, 2);
            let along: f32 = (0..3).map(|k| normal[k] * ray[k]).sum();
            let plane = Plane {
                normal,
                distance: -z * along,
            };
            (plane, if i % 13 == 5 { 0.0 } else { z })
        })
        .unzip()
}

/// A map's words: some near the planes, some far off, some of nothing.
fn words(depths: &[f32]) -> Vec<u32> {
    let word = |(i, z): (u32, &f32)| {
        let off = if i % 5 == 0 { 1.7 } else { 0.1 * random(i, 3) };
        let inverse = (1.0 / (UNIT * z.max(1.0)) + off) * 4096.0;
        let trust = (255.0 * random(i, 4)) as u32;
        if i % 11 == 3 { 0 } else { trust << 16 | inverse as u32 }
    };
    let mut words = vec![UNIT.to_bits()];
    words.extend((0..).zip(depths).map(word));
    words
}

fn mapped(word: u32) -> Mapped<f64> {
    Mapped {
        inverse: f64::from(word & 0xffff) / 4096.0,
        trust: f64::from(word >> 16) / 255.0,
    }
}

#[test]
fn losses_and_gradients_follow_the_twin() {
    for (masked, alone) in [(false, true), (true, false)] {
        let set = |capacities: &mut Capacities| {
            capacities.masked = masked;
            capacities.losses = losses(&["depth"]);
        };
        let mut passes = Passes::new(set, alone, |program, tensors, surface, sums| {
            depth_loss::record(program, &tensors.shared, &tensors.pixels, surface, sums, WEIGHT, alone);
        });
        for size in SIZES {
            let scene = Scene {
                seed: 29,
                size,
                ..Scene::default()
            };
            let camera = scene.camera();
            let (planes, depths) = planes(&View::new(&camera));
            let words = words(&depths);
            let mask: Vec<u8> = scene.mask().iter().map(|counts| u8::from(*counts) * 255).collect();
            let photo = Photo::with_maps(scene.target(), masked.then_some(&mask[..]), Some(&words), None);
            let view = View::<f64>::new(&camera);
            let wide = |v: f32| f64::from(v);
            let blended: Vec<Blended<f64>> = planes
                .iter()
                .map(|plane| Blended {
                    plane: Plane {
                        normal: plane.normal.map(wide),
                        distance: plane.distance.into(),
                    },
                    ..Blended::default()
                })
                .collect();
            let map: Vec<(f64, [f64; 3])> = depths.iter().map(|z| (wide(*z), [0.0; 3])).collect();
            let of_map: Vec<Mapped<f64>> = words[1..]
                .iter()
                .zip(&mask)
                .map(|(word, mask)| match masked && *mask == 0 {
                    true => Mapped::default(),
                    false => mapped(*word),
                })
                .collect();
            let weight = f64::from(WEIGHT.start) / 2.0;
            let (loss, gradient) = depth_loss(&blended, &map, &of_map, UNIT.into(), &view, weight);
            let wanted = Wanted {
                loss,
                gradient: gradient.iter().map(flat).collect(),
                counting: 5000,
            };
            let drawn = Drawn {
                planes: planes.iter().map(flat).collect(),
                beside: depths.iter().map(|z| [*z, 0.0, 0.0, 0.0]).collect(),
            };
            let what = format!("{size:?}, masks: {masked}");
            passes.follow(uniforms(&camera, 0, 1), &drawn, &photo, &wanted, &what);
        }
        passes.assert_valid();
    }
}

fn flat<T: Copy>(plane: &Plane<T>) -> [T; 4] {
    let [x, y, z] = plane.normal;
    [x, y, z, plane.distance]
}
