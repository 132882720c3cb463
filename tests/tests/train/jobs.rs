//! Jobs called from the library: a training that ends with a mesh, a scene in blocks, and what a caller hears of both.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests stop at the first surprise")]

use std::path::Path;

use kiln::jobs::{self, JobError, Meshed, News, RequestError, SplitEnd, TrainEnd};
use kiln::mesh::MeshEvent;
use kiln::project::SplitOptions;
use kiln::run::Outlets;
use kiln::run::interrupt::Interrupt;
use kiln_config::{Inputs, Override};
use kiln_tests::gpu;
use kiln_tests::runs::{self, Scratch, json};

/// Profile `cpu` and recipe `demo` on the bundled scene, with these settings.
fn settings(output: &Path, keys: &[(&str, &str)]) -> jobs::Settings {
    let own = [
        ("dataset.path", runs::scene().display().to_string()),
        ("run.output", output.display().to_string()),
    ];
    let keys = keys.iter().map(|(key, value)| (*key, (*value).to_owned()));
    let inputs = Inputs {
        profile: Some("cpu".to_owned()),
        recipe: Some("demo".to_owned()),
        overrides: own
            .into_iter()
            .chain(keys)
            .map(|(key, value)| Override::new(key, value, "the test"))
            .collect(),
        ..Inputs::default()
    };
    jobs::Settings { inputs, auto: false }
}

/// One call trains and makes the mesh of what it trained; the caller hears of the device first, and of the mesh after the training.
#[test]
fn one_call_trains_and_makes_a_mesh() {
    let scratch = Scratch::new("jobs-train");
    let run = scratch.join("run");
    let keys = [
        ("schedule.iterations", "60"),
        ("schedule.resolution", "[]"),
        ("dataset.resolution", "66"),
        ("eval.lpips", "false"),
        ("memory.max_gaussians", "4000"),
        ("mesh.min_triangles", "10"),
        ("mesh.voxel", "0.05"),
    ];
    let request = jobs::Train {
        settings: settings(&run, &keys),
        mesh: true,
        ..jobs::Train::default()
    };
    let mut heard = Vec::new();
    let mut listen = |news: News<'_>| match news {
        News::Device { .. } => heard.push("device"),
        News::Trained(end) => {
            assert_eq!(end.iterations, 60);
            heard.push("trained");
        }
        News::Mesh(MeshEvent::Stage(row)) => heard.push(row.stage.name()),
        _ => {}
    };
    gpu::take_turn();
    let end = jobs::train(&request, &Outlets::default(), &mut listen, &Interrupt::unattached()).unwrap();
    let TrainEnd::Now(trained) = end else {
        panic!("{end:?}");
    };
    assert_eq!((trained.end.signal, trained.block, trained.stage), (None, None, None));
    let Some(Meshed::Made(made)) = trained.mesh else {
        panic!("{:?}", trained.mesh);
    };
    assert!(made.report.surface.triangles > 0 && made.files.iter().all(|file| file.is_file()));
    let listed = json(&run.join("run.json"))["files"].to_string();
    assert!(listed.contains("\"mesh/mesh.ply\""), "{listed}");
    let order: Vec<&str> = heard.iter().copied().filter(|name| *name != "touch").collect();
    assert_eq!(heard.iter().filter(|name| **name == "device").count(), 2, "{heard:?}");
    assert_eq!(order.first(), Some(&"device"));
    let trained = order.iter().position(|name| *name == "trained").unwrap();
    assert!(order[trained..].contains(&"write"), "{order:?}");
    assert!(!order[..trained].contains(&"write"), "{order:?}");
    let stages = runs::events(&run, "mesh_stage");
    assert_eq!(stages.len(), heard.len() - 3, "{heard:?}");
}

/// What blocks there would be is known without a file; without a folder or a profile it is refused with the key to set.
#[test]
fn a_scene_is_cut_into_blocks_on_paper() {
    let scratch = Scratch::new("jobs-split");
    let keys = [
        ("dataset.resolution", "40"),
        ("init.background", "0"),
        ("memory.max_gaussians", "6000"),
        ("schedule.iterations", "8"),
    ];
    let project = scratch.join("project");
    let mut request = jobs::Split {
        settings: settings(&project, &keys),
        faults: kiln::plan::Faults::default(),
        options: SplitOptions {
            blocks: Some(2),
            min_views: 5,
            ..SplitOptions::default()
        },
        plan_only: true,
    };
    let SplitEnd::Outline(outline) = jobs::split(&request, &mut |_| {}).unwrap() else {
        panic!("a project was made");
    };
    assert_eq!(outline.blocks.len(), 2);
    assert!(outline.blocks.iter().all(|block| block.planned.gaussians > 0));
    assert!(!project.exists());
    request.settings.auto = true;
    let refused = jobs::split(&request, &mut |_| {}).unwrap_err();
    assert!(
        matches!(refused, JobError::Request(RequestError::NoProfile)),
        "{refused}"
    );
}
