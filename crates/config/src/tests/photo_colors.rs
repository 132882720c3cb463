//! Whether photos have colours of their own.

use super::*;

fn with(settings: &[(&str, &str)]) -> Result<Profile, ConfigError> {
    let set = |(key, value): &(&str, &str)| Override::new(key, (*value).to_owned(), "--set");
    resolve(&Inputs {
        overrides: settings.iter().map(set).collect(),
        ..Inputs::default()
    })
}

#[test]
fn photos_decide_unless_it_is_set() {
    let default = with(&[]).unwrap();
    assert!(default.photo_colors_are_open() && !default.learns_photo_colors());
    let on = with(&[("train.photo_colors", "on")]).unwrap();
    assert!(!on.photo_colors_are_open() && on.learns_photo_colors());
    let off = with(&[("train.photo_colors", "off")]).unwrap();
    assert!(!off.photo_colors_are_open() && !off.learns_photo_colors());
    let bound = resolve(&Inputs {
        recipe: Some("bound".to_owned()),
        overrides: vec![Override::new("init", "{ kind: mesh, path: a.ply }".to_owned(), "--set")],
        ..Inputs::default()
    });
    assert!(!bound.unwrap().photo_colors_are_open());
}

#[test]
fn the_loss_of_old_names_the_key() {
    let error = with(&[("losses", "[{ kind: l1 }, { kind: exposure }]")]).unwrap_err();
    assert!(error.to_string().contains("exposure"), "{error}");
    let hint = format!("{error} {:?}", error.hint());
    assert!(hint.contains("train.photo_colors"), "{hint}");
}

#[test]
fn triangles_go_without() {
    let triangles = |settings: &[(&str, &str)]| {
        let set = |(key, value): &(&str, &str)| Override::new(key, (*value).to_owned(), "--set");
        resolve(&Inputs {
            recipe: Some("meshsplatting".to_owned()),
            overrides: settings.iter().map(set).collect(),
            ..Inputs::default()
        })
    };
    assert!(!triangles(&[]).unwrap().photo_colors_are_open());
    let refused = triangles(&[("train.photo_colors", "on")]).unwrap_err().to_string();
    assert!(refused.contains("train.photo_colors"), "{refused}");
}
