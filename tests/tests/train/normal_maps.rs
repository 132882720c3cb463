//! Runs that are shown normal maps.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::export::read_ply;
use kiln::math::{dot, norm, rotation, scale};
use kiln::plan::{scene_options, training_options};
use kiln::run::ResumeFrom;
use kiln::run::interrupt::Interrupt;
use kiln::twins::surface::thinnest;
use kiln_mesh::solids::distance;
use kiln_tests::runs::{self, Scratch, profile, train_scene};
use kiln_tests::setup::Settings;

use super::losses::solids;

const STEPS: &str = "300";

fn train(scratch: &Scratch, name: &str, settings: &[(&str, &str)], from: Option<ResumeFrom>) {
    let own = [
        ("dataset.resolution", "-1"),
        ("dataset.masks", "\"off\""),
        ("train.deterministic", "true"),
        ("schedule.iterations", STEPS),
        ("schedule.test", "[]"),
        ("schedule.save", "[]"),
        ("strategy", "{ kind: fixed }"),
    ];
    let profile = profile(&scratch.join(name), &[&own[..], settings]);
    train_scene(profile, scratch.join("scene"), from, &Interrupt::unattached()).unwrap();
}

/// Mean angle, degrees, between the thinnest axes of Gaussians and the normals of the things next to them, by opacity squared.
fn mean_angle(scratch: &Scratch, name: &str) -> f64 {
    let path = scratch.join(&format!("{name}/point_cloud/iteration_{STEPS}/point_cloud.ply"));
    let (model, _) = read_ply(&path).unwrap();
    let (mut sum, mut total) = (0.0, 0.0);
    for i in 0..model.means.len() {
        let (away, Some(normal)) = distance(model.means[i]) else {
            continue;
        };
        if away.abs() > 0.05 {
            continue;
        }
        let quat = model.quats[i].map(f64::from);
        let axes = rotation(scale(quat, 1.0 / norm(quat)));
        let thin = thinnest(model.log_scales[i]);
        let cosine = dot(axes.map(|row| row[thin]), normal.map(f64::from)).abs().min(1.0);
        let opacity = 1.0 / (1.0 + f64::from(-model.logit_opacities[i]).exp());
        sum += opacity * opacity * cosine.acos().to_degrees();
        total += opacity * opacity;
    }
    sum / total
}

/// Maps turn Gaussians along the surfaces, and whatever axes they are in.
#[test]
fn gaussians_turn_as_maps_say() {
    let scratch = Scratch::new("normal-maps");
    solids(&scratch.join("scene"));
    let losses = "[{ kind: l1 }, { kind: dssim }, { kind: normal_map, weight: 0.1, weight_end: 0.1, from: 10 }]";
    train(&scratch, "none", &[], None);
    train(
        &scratch,
        "maps",
        &[("dataset.normals", "normals"), ("losses", losses)],
        None,
    );
    let [none, maps] = ["none", "maps"].map(|name| mean_angle(&scratch, name));
    println!("mean angle: {none} degrees without maps, {maps} with them");
    assert!(maps < 0.8 * none, "{maps} against {none}");
}

/// A run that goes on from a checkpoint ends with the bytes of one that never paused, wherever photos and their maps lie, whether
/// depth maps are there too, and in bands of tiles and of records.
#[test]
fn neither_pauses_nor_residency_nor_bands_change_a_byte() {
    let scratch = Scratch::new("normal-maps-pause");
    solids(&scratch.join("scene"));
    let own = |residency| {
        [
            ("dataset.normals", "normals"),
            ("dataset.depths", "depths"),
            ("dataset.residency", residency),
            (
                "losses",
                "[{ kind: l1 }, { kind: dssim }, { kind: depth, from: 3 }, { kind: normal_map, from: 8 }]",
            ),
            ("schedule.iterations", "20"),
            ("schedule.checkpoint", "[5, 12]"),
        ]
    };
    train(&scratch, "whole", &own("host"), None);
    let model = |name: &str| runs::raw_model(&scratch.join(name), 20);
    // Each goes on from a checkpoint, before the normal maps or among them, so that it pauses and is otherwise different too.
    let ways: [(&str, u32, &str, Settings<'_>); 4] = [
        ("device", 5, "device", &[]),
        ("tiles", 5, "stream", &[("fault.bands", "3")]),
        ("stream", 12, "stream", &[]),
        ("records", 12, "host", &[("fault.v_cap", "1536")]),
    ];
    for (name, after, residency, more) in ways {
        let file = scratch.join(&format!("whole/checkpoints/checkpoint_{after:08}.kiln"));
        let settings = [&own(residency)[..], more].concat();
        train(&scratch, name, &settings, Some(ResumeFrom::File(file)));
        assert!(model(name) == model("whole"), "{name}: models differ");
    }
    let stalls = runs::events(&scratch.join("records"), "stall");
    assert!(
        stalls.iter().any(|row| row["detail"]["buffer"] == "visible"),
        "no view was too large for so few records: {stalls:?}"
    );
}

/// The folder alone asks for the loss, and only training looks at it.
#[test]
fn a_folder_of_maps_brings_its_loss() {
    let profile = profile(Path::new("unused"), &[&[("dataset.normals", "normals")]]);
    assert!(profile.losses.iter().any(|loss| loss.kind() == "normal_map"));
    assert!(training_options(&profile).unwrap().normals.is_some());
    assert!(scene_options(&profile).unwrap().normals.is_none());
}
