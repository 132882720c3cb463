//! How many keys there are, and what may stand for a block of them.

use super::super::tree::{Node, Value};
use super::*;

/// Most values in `configs/default.yaml`, and in what `kiln profiles show default` prints: numbers, words, names, nulls and lists of
/// these; a block in a list counts by its own. A key that a run can go without is a constant, follows from another one, or stands in a
/// section that is null in other runs. Where none of this can be, raise the bound in the commit that adds the key, with the reason.
/// `train.photo_colors` came in the place of a loss with three options.
const MOST_DEFAULTS: usize = 71;
const MOST_SHOWN: usize = 95;

fn values(node: &Node) -> usize {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| values(&entry.node)).sum(),
        Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Map(_))) => {
            items.iter().map(values).sum()
        }
        _ => 1,
    }
}

fn counted(text: &str) -> usize {
    values(&Node::parse(text, "counted").unwrap())
}

#[test]
fn keys_are_few() {
    let defaults = counted(DEFAULT.text);
    let shown = counted(&to_yaml(&with_sets(&[]).unwrap()).unwrap());
    println!("{defaults} values in default.yaml, {shown} shown");
    assert!(
        defaults <= MOST_DEFAULTS,
        "{defaults} values in configs/default.yaml, at most {MOST_DEFAULTS}: see the comment above this bound"
    );
    assert!(
        shown <= MOST_SHOWN,
        "`kiln profiles show default` prints {shown} values, at most {MOST_SHOWN}: see the comment above this bound"
    );
}

fn of(recipe: &str, sets: &[(&str, &str)]) -> Profile {
    resolve(&Inputs {
        recipe: Some(recipe.to_owned()),
        overrides: sets.iter().map(|(k, v)| set(k, v)).collect(),
        ..Inputs::default()
    })
    .unwrap()
}

#[test]
fn sections_of_few_runs_are_null_in_others() {
    for shipped in RECIPES {
        let name = shipped.short_name();
        let profile = of(name, &[]);
        let [bound, triangles, sugar] = [
            profile.bound.is_some(),
            profile.mesh_splatting.is_some(),
            profile.sugar.is_some(),
        ];
        assert_eq!(bound, name == "bound" || name.starts_with("sugar"), "{name}");
        assert_eq!(triangles, name.starts_with("meshsplatting"), "{name}");
        assert_eq!(sugar, name.starts_with("sugar"), "{name}");
        assert!(profile.diagnose.is_none(), "{name}");
    }
    // What needs one has it without a word, with what keys say.
    let sets = [
        ("model.kind", "triangles"),
        ("strategy", "fixed"),
        ("cull", "null"),
        ("mesh_splatting.max_points", "5000"),
    ];
    let triangles = of("default", &sets).mesh_splatting.unwrap();
    assert_eq!(
        triangles,
        MeshSplatting {
            max_points: MostGaussians::Set(5000),
            ..MeshSplatting::default()
        }
    );
    assert!(of("default", &sets[..3]).mesh_splatting.is_some());
    let mesh = ("init", "{ kind: mesh, path: a.ply }");
    let bound = of(
        "default",
        &[
            mesh,
            ("strategy", "fixed"),
            ("cull", "null"),
            ("mip.filter_3d", "false"),
        ],
    );
    assert_eq!(bound.bound, Some(Bound::default()));
    assert_eq!(
        of("default", &[("diagnose.timed_every", "7")]).diagnose().timed_every,
        7
    );
}

#[test]
fn a_name_stands_for_its_block() {
    let profile = of(
        "default",
        &[
            ("losses", "[l1, dssim, { kind: normals, from: 9 }]"),
            ("losses.1.weight", "0.4"),
            ("sinks.3.every", "5"),
            ("strategy", "fixed"),
            ("cull", "floaters"),
            ("cull.every", "30"),
            ("mesh.texture", "charts"),
            ("mesh.texture.size", "512"),
            ("dataset.normals", "maps"),
            ("dataset.normals.axes", "lub"),
        ],
    );
    assert_eq!((profile.losses[0].weight(), profile.losses[1].weight()), (0.8, 0.4));
    assert_eq!(profile.sinks[3].histogram_every(), Some(500));
    assert_eq!((profile.strategy.kind(), profile.mesh.texels()), ("fixed", 512));
    let cull = Cull {
        kind: CullKind::Floaters,
        every: 30,
    };
    assert_eq!(profile.cull, Some(cull));
    let maps = profile.dataset.normals.as_ref().unwrap();
    assert_eq!((maps.path.as_str(), maps.axes), ("maps", NormalsAxes::Lub));
    // Names are written where nothing else is said, and read back.
    let text = to_yaml(&profile).unwrap();
    for line in [
        "- l1\n",
        "- kind: dssim\n",
        "- console\n",
        "  texture:\n    kind: charts\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    let file = TempFile::new("names.yaml", text.as_bytes());
    let again = resolve(&Inputs {
        file: Some(file.0.clone()),
        recipe: Some("meshsplatting".to_owned()),
        ..Inputs::default()
    });
    assert_eq!(again.unwrap(), profile);
    let plain = to_yaml(&of("default", &[("dataset.normals", "maps")])).unwrap();
    assert!(
        plain.contains("normals: maps\n") && plain.contains("texture: charts\n"),
        "{plain}"
    );
}

#[test]
fn qualities_of_meshes_differ_in_what_no_key_sets() {
    let texels = |sets| of("default", sets).mesh.texels();
    assert_eq!(texels(&[]), 4096);
    assert_eq!(texels(&[("mesh.quality", "draft")]), 2048);
    assert_eq!(texels(&[("mesh.quality", "fine"), ("mesh.texture.size", "64")]), 64);
    let [draft, usual, fine] = [MeshQuality::Draft, MeshQuality::Default, MeshQuality::Fine];
    assert_eq!(
        (usual.points(), usual.poisson_depth(), usual.voxel_scale()),
        (10_000_000, 10, 1.0)
    );
    assert!(draft.points() < usual.points() && usual.points() < fine.points());
    assert!(draft.voxel_scale() > 1.0 && fine.voxel_scale() < 1.0);
    let sugar = of("sugar", &[]).mesh.method;
    assert_eq!((sugar.level(), sugar.density_quantile()), (Some(0.3), 0.1));
    assert!(!MeshMethod::Closed.culls_unseen() && MeshMethod::Closed.density_quantile() == 0.0);
}
