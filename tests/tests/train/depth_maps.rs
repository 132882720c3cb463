//! Runs that are shown depth maps.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::export::read_ply;
use kiln::plan::{scene_options, training_options};
use kiln::run::interrupt::Interrupt;
use kiln_mesh::solids::{cast, distance};
use kiln_scene::{SceneIndex, SplitMix64};
use kiln_tests::runs::{Scratch, profile, rows, train_scene};

use super::losses::solids;

const STEPS: &str = "400";

/// Writes what a network would make of each photo: inverse depth in 16 bits, with another scale and shift for each, and `nonsense`
/// in a share of the pixels.
fn write_maps(scene: &Path, folder: &str, nonsense: f32) {
    let index = SceneIndex::load(scene, &scene_options(&profile(scene, &[])).unwrap()).unwrap();
    std::fs::create_dir(scene.join(folder)).unwrap();
    let mut random = SplitMix64::new(11);
    for (_, view) in index.views() {
        let camera = &view.camera;
        let origin = camera.position().map(f64::from);
        let [scale, shift] = [30_000.0 + 30_000.0 * random.next_f32(), 4000.0 * random.next_f32()].map(f64::from);
        let map = image::ImageBuffer::<image::Luma<u16>, _>::from_fn(camera.width_px, camera.height_px, |x, y| {
            let local = [
                (f64::from(x) + 0.5 - f64::from(camera.cx)) / f64::from(camera.fx),
                (f64::from(y) + 0.5 - f64::from(camera.cy)) / f64::from(camera.fy),
                1.0,
            ];
            let direction = [0, 1, 2].map(|axis| {
                let parts = (0..3).map(|row| f64::from(camera.rotation[row][axis]) * local[row]);
                parts.sum::<f64>()
            });
            let value = cast(origin, direction).map_or(0.0, |(depth, _)| scale / depth + shift);
            let odd = random.next_f32() < nonsense && value > 0.0;
            let value = if odd {
                f64::from(60_000.0 * random.next_f32())
            } else {
                value
            };
            image::Luma([value as u16])
        });
        let stem = view.name.rsplit_once('.').unwrap().0;
        map.save(scene.join(folder).join(format!("{stem}.png"))).unwrap();
    }
}

/// Trains from random points, and gives the mean distance of Gaussians from the things that the photos show, by opacity squared: what
/// hardly shows does not count.
fn mean_distance(scratch: &Scratch, name: &str, maps: &[(&str, &str)]) -> f64 {
    let own = [
        ("dataset.resolution", "-1"),
        ("dataset.masks", "\"off\""),
        ("train.deterministic", "true"),
        ("init", "{ kind: random_frustum, count: 3000, opacity: 0.4 }"),
        ("schedule.iterations", STEPS),
        ("schedule.test", "[]"),
        ("schedule.save", "[]"),
        ("strategy", "{ kind: fixed }"),
        ("optimizer.lr.means", "0.003"),
        ("optimizer.lr.means_end", "0.001"),
        ("optimizer.lr.opacity", "0.1"),
    ];
    let profile = profile(&scratch.join(name), &[&own[..], maps]);
    train_scene(profile, scratch.join("scene"), None, &Interrupt::unattached()).unwrap();
    let (model, _) = read_ply(&scratch.join(&format!("{name}/point_cloud/iteration_{STEPS}/point_cloud.ply"))).unwrap();
    let weighed = model.means.iter().zip(&model.logit_opacities).map(|(mean, logit)| {
        let opacity = 1.0 / (1.0 + f64::from(-logit).exp());
        (opacity * opacity, distance(*mean).0.abs())
    });
    let [sum, total] = weighed.fold([0.0; 2], |[sum, total], (weight, far)| {
        [sum + weight * far, total + weight]
    });
    sum / total
}

/// Maps bring Gaussians to the surfaces, and a fifth of nonsense in them does no harm.
#[test]
fn gaussians_go_where_maps_say() {
    let scratch = Scratch::new("depth");
    let scene = scratch.join("scene");
    solids(&scene);
    write_maps(&scene, "guesses", 0.0);
    write_maps(&scene, "nonsense", 0.2);
    let losses = "[{ kind: l1 }, { kind: dssim }, { kind: depth, weight: 1, weight_end: 0.1, from: 10 }]";
    let with = |folder| [("dataset.depths", folder), ("losses", losses)];
    let none = mean_distance(&scratch, "none", &[]);
    let sound = mean_distance(&scratch, "sound", &with("guesses"));
    let odd = mean_distance(&scratch, "odd", &with("nonsense"));
    println!("mean distance: {none} without maps, {sound} with them, {odd} with a fifth of nonsense");
    assert!(sound < 0.8 * none, "{sound} against {none}");
    assert!(odd < none, "{odd} against {none}");
    let steps = rows(&scratch.join("sound/metrics.jsonl"));
    assert!(
        steps
            .iter()
            .filter(|row| row["type"] == "train")
            .all(|row| row["loss"].as_f64().unwrap().is_finite())
    );
}

/// The folder alone asks for the loss, and only training looks at it.
#[test]
fn a_folder_of_maps_brings_its_loss() {
    let profile = profile(Path::new("unused"), &[&[("dataset.depths", "depths")]]);
    assert!(profile.losses.iter().any(|loss| loss.kind() == "depth"));
    assert!(training_options(&profile).unwrap().depths.is_some());
    assert!(scene_options(&profile).unwrap().depths.is_none());
}
