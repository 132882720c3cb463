//! What cannot be a mesh is refused with what to do.

use std::fs;

use kiln_gaussians::Gaussians;
use kiln_tests::runs::{self, Scratch, outcome};

use crate::mesh::program::{ball, mesh, written};

#[test]
fn models_that_show_nothing_are_refused() {
    let scratch = Scratch::new("mesh-bad");
    let out = scratch.join("out");
    let refused = |name: &str, more: &[&str], code: i32, words: &[&str]| {
        let (found, said) = mesh(&scratch.join(name), &out, more);
        assert_eq!(found, Some(code), "{name} {more:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{name} {more:?}: {word:?} is not in {said}");
        }
        let left = fs::read_dir(&out).map_or(0, |entries| entries.flatten().count());
        assert_eq!(left, 0, "{name}: something was written");
    };
    written(&scratch.join("ball.ply"), &ball());
    let taken = |places: &[usize]| ball().taken(places);
    written(&scratch.join("one.ply"), &taken(&[7]));
    let mut nan = taken(&[1, 2, 3]);
    nan.means.fill([f32::NAN; 3]);
    nan.logit_opacities[1] = f32::NAN;
    written(&scratch.join("nan.ply"), &nan);
    written(&scratch.join("empty.ply"), &Gaussians::default());
    let far = Gaussians {
        means: vec![[0.0, 0.0, 900.0]; 3],
        ..taken(&[1, 2, 3])
    };
    written(&scratch.join("far.ply"), &far);
    fs::write(scratch.join("points.ply"), "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n0 0 0\n").unwrap();
    fs::write(scratch.join("text.ply"), "no model at all").unwrap();
    refused("absent.ply", &[], 4, &["does not exist"]);
    refused("text.ply", &[], 4, &["text.ply"]);
    refused("points.ply", &[], 4, &["points.ply"]);
    refused("far.ply", &[], 4, &["no view shows a surface", "mesh.space=contracted"]);
    refused("nan.ply", &[], 4, &["nan.ply", "is not finite"]);
    // One Gaussian is a surface, too small a piece to keep.
    refused("one.ply", &[], 4, &["nothing is left", "mesh.min_triangles=0"]);
    refused(
        "ball.ply",
        &["--set", "mesh.min_triangles=1000000"],
        4,
        &["nothing is left", "mesh.min_triangles=0"],
    );
    let empty_box = "mesh.box=[5, 5, 5, 6, 6, 6]";
    refused(
        "ball.ply",
        &["--set", empty_box],
        4,
        &["no view shows a surface", "mesh.box"],
    );
    refused("ball.ply", &["--set", "mesh.box=[1, 1, 1, 0, 0, 0]"], 3, &["mesh.box"]);
    refused(
        "ball.ply",
        &["--set", "mesh.voxel=0.00001"],
        3,
        &["do not fit", "--set mesh.voxel="],
    );
    refused("ball.ply", &["--set", "mesh.voxel=-1"], 3, &["mesh.voxel", "above 0"]);
    refused(
        "ball.ply",
        &["--set", "mesh.quality=best"],
        3,
        &["mesh.quality", "draft, fine, default"],
    );
    refused("ball.ply", &["--set", "mesh.formats=[]"], 3, &["mesh.formats"]);
    let poisson = ["--method", "poisson", "--set"];
    let with = |setting: &'static str| [poisson[0], poisson[1], poisson[2], setting];
    refused(
        "ball.ply",
        &with(empty_box),
        4,
        &["no view shows a surface", "mesh.box"],
    );
    refused("ball.ply", &with("mesh.texture.size=3"), 3, &["mesh.texture.size"]);
    refused("ball.ply", &["--set", "strategy.kind=mcmc"], 2, &["strategy.kind"]);
    refused("ball.ply", &["--vram", "lots"], 2, &["6GiB"]);
    let (code, said) = mesh(&scratch.join("empty.ply"), &out, &[]);
    assert!(matches!(code, Some(4)), "{code:?} {said}");
}

#[test]
fn what_does_not_fit_is_refused_before_work() {
    let scratch = Scratch::new("mesh-fit");
    written(&scratch.join("ball.ply"), &ball());
    let out = scratch.join("out");
    // Views of full size and a space of 2^30 bricks.
    let more = [
        "-r",
        "1",
        "--set",
        "mesh.box=[-8, -8, -8, 8, 8, 8]",
        "--set",
        "mesh.voxel=0.002",
        "--vram",
        "70MiB",
    ];
    let mut command = runs::kiln();
    command
        .arg("mesh")
        .arg(scratch.join("ball.ply"))
        .arg("--scene")
        .arg(runs::scene())
        .arg("-o")
        .arg(&out);
    let (code, said) = outcome(command.arg("--allow-cpu").args(more));
    assert_eq!(code, Some(6), "{said}");
    for word in ["one brick of voxels", "70.0 MiB", "--vram", "mesh.voxel"] {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    assert!(!out.exists());
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_to_is_known_first() {
    let scratch = Scratch::new("mesh-folder");
    written(&scratch.join("ball.ply"), &ball());
    // A file in the place of the folder: refused for every user.
    fs::write(scratch.join("out"), "").unwrap();
    let (code, said) = mesh(&scratch.join("ball.ply"), &scratch.join("out"), &[]);
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("out"), "{said}");
    assert!(!said.contains("done:"), "{said}");
}

#[test]
fn a_scene_must_be_known() {
    let scratch = Scratch::new("mesh-scene");
    written(&scratch.join("ball.ply"), &ball());
    let mut command = runs::kiln();
    command.arg("mesh").arg(scratch.join("ball.ply"));
    let (code, said) = outcome(command.arg("--allow-cpu"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("scene"), "{said}");
    let (code, said) = mesh(&scratch.join("ball.ply"), &scratch.join("out"), &["--iteration", "3"]);
    assert_eq!(code, Some(4), "{said}");
}
