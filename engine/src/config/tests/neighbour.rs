//! What the loss `neighbour`, which compares views with neighbouring ones, does not go together with.

use crate::config::{ConfigError, Inputs, Override, Profile, resolve};
use crate::plugins::{Loss, NeighbourOptions};

const LOSSES: &str = "[{ kind: l1 }, { kind: dssim }, { kind: normals }, { kind: neighbour }]";

fn with(recipe: &str, settings: &[(&str, &str)]) -> Result<Profile, ConfigError> {
    let set = |(key, value): &(&str, &str)| Override {
        key: (*key).to_owned(),
        value: (*value).to_owned(),
        flag: "--set".to_owned(),
    };
    resolve(&Inputs {
        recipe: Some(recipe.to_owned()),
        overrides: settings.iter().map(set).collect(),
        ..Inputs::default()
    })
}

#[test]
fn one_setting_adds_it_to_recipe_surface() {
    let plain = with("surface", &[]).unwrap();
    assert!(!plain.losses.iter().any(|loss| matches!(loss, Loss::Neighbour(_))));
    let profile = with("surface", &[("losses", LOSSES)]).unwrap();
    assert_eq!(profile.losses[..3], plain.losses[..]);
    let published = NeighbourOptions {
        geometry: 0.03,
        photometric: 0.15,
        from: 7000,
    };
    assert_eq!(profile.losses.get(3), Some(&Loss::Neighbour(published)));
}

#[test]
fn it_is_scaled_with_the_run() {
    let inputs = Inputs {
        recipe: Some("surface".to_owned()),
        overrides: vec![Override {
            key: "losses".to_owned(),
            value: LOSSES.to_owned(),
            flag: "--set".to_owned(),
        }],
        steps_scaler: Some(0.1),
        ..Inputs::default()
    };
    let losses = resolve(&inputs).unwrap().losses;
    assert!(matches!(&losses[3], Loss::Neighbour(options) if options.from == 700));
}

#[test]
fn what_it_does_not_go_with_is_refused() {
    let density = "[{ kind: density }]";
    let late = "[{ kind: l1 }, { kind: dn_consistency }, { kind: neighbour }]";
    let mesh = "{ kind: mesh, path: a.ply }";
    for (recipe, settings, wanted) in [
        (
            "surface",
            &[("losses", LOSSES), ("train.refine_poses", "{}")][..],
            "`losses.3.kind` is neighbour, allowed: not together with `train.refine_poses`",
        ),
        (
            "surface",
            &[("losses", LOSSES), ("regularizers", density)],
            "`losses.3.kind` is neighbour, allowed: not together with the regularizer `density`",
        ),
        (
            "surface",
            &[("losses", late)],
            "`losses.2.kind` is neighbour, allowed: not together with `dn_consistency`",
        ),
        (
            "surface",
            &[("losses", LOSSES), ("optimizer.deferred_sh", "on")],
            "`optimizer.deferred_sh` is on, allowed: auto or off, because of the loss `normals`",
        ),
        (
            "meshsplatting",
            &[("losses", "[{ kind: l1 }, { kind: neighbour }]")],
            "`losses.1.kind` is neighbour",
        ),
        (
            "bound",
            &[("init", mesh), ("losses", "[{ kind: l1 }, { kind: neighbour }]")],
            "`losses.1.kind` is neighbour",
        ),
        (
            "bound",
            &[("init", mesh), ("losses", "[{ kind: l1 }, { kind: dn_consistency }]")],
            "`losses.1.kind` is dn_consistency",
        ),
        (
            "surface",
            &[("losses", "[{ kind: l1 }, { kind: neighbour, geometry: 11 }]")],
            "`losses.1.geometry` is 11, allowed: 0 to 10",
        ),
    ] {
        let error = with(recipe, settings).unwrap_err().to_string();
        assert!(error.contains(wanted), "{wanted}:\n{error}");
    }
}
