//! Photos of cameras of today, on devices whose bindings hold 128 MiB: a pixel takes 36 bytes of the loss's maps alone.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::fs;
use std::path::Path;

use kiln::plan::{Demand, FirstModel, PlanError, plan, scene_options};
use kiln::run::interrupt::Interrupt;
use kiln_gpu::memory::{BlockRounding, Budget, GIB, MIB, MemoryError, PlanLimits};
use kiln_kernels::views::{Loops, Reduction, Threads, Variants};
use kiln_program::{Command, Tag};
use kiln_scene::SceneIndex;
use kiln_tests::runs::{self, Scratch};

/// Bindings of dzn and lavapipe, and of every device that offers no more than Vulkan asks for.
const LIMITS: PlanLimits = PlanLimits {
    block_bytes: GIB,
    binding_bytes: 128 * MIB,
    rounding: BlockRounding::NONE,
};

/// Photos of 12, 24 and 45 megapixels with everything that a run may ask for: no pass binds more than it may.
#[test]
fn plans_for_large_photos_keep_to_small_bindings() {
    for (width, pixels) in [("4000", 11_900_000), ("5660", 23_900_000), ("7750", 44_900_000)] {
        for threads in [Threads::Pixels, Threads::Columns] {
            let settings = [
                ("dataset.resolution", width),
                ("memory.max_gaussians", "100000"),
                ("eval.lpips", "true"),
                ("dataset.residency", "host"),
                ("train.photo_colors", "on"),
            ];
            let profile = runs::profile(Path::new("unused"), &[&settings]);
            let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
            let [w, h]: [u32; 2] = scene.largest_px().into();
            assert!(w * h > pixels, "{w}x{h}");
            let variants = Variants {
                reduction: Reduction::Segmented,
                sort_subgroup: 0,
                threads,
                loops: Loops::Long,
            };
            let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
            let demand = Demand::count(&profile, &scene, &model);
            let budget = Budget::of_profile(8 * GIB);
            let (plan, report) = plan(&profile, &scene, &demand, budget, LIMITS, &variants, &profile.faults).unwrap();
            for command in plan.programs().iter().flat_map(|program| &program.commands) {
                let Command::Dispatch(pass) = command else { continue };
                for view in &pass.views {
                    assert!(
                        view.bytes <= LIMITS.binding_bytes,
                        "{} binds {view:?}",
                        pass.shader.name
                    );
                }
            }
            // Maps are as large as a binding, whatever the photo.
            let maps = plan
                .table
                .tensors()
                .iter()
                .find(|t| t.name == "step/ssim_maps")
                .unwrap();
            assert!(maps.bytes <= LIMITS.binding_bytes && maps.bytes > LIMITS.binding_bytes / 2);
            assert!(report.device_bytes < 3 * GIB, "{}", report.device_bytes);
        }
    }
}

/// What is too large all the same is named with what it has an entry for.
#[test]
fn a_photo_that_no_swath_helps_is_a_matter_of_pixels() {
    let settings = [("dataset.resolution", "4000"), ("eval.lpips", "false")];
    let profile = runs::profile(Path::new("unused"), &[&settings]);
    let scene = SceneIndex::load(&runs::scene(), &scene_options(&profile).unwrap()).unwrap();
    let model = FirstModel::new(&profile, &scene).unwrap().gaussians;
    let demand = Demand::count(&profile, &scene, &model);
    let limits = PlanLimits {
        // An image of 16 bytes a pixel lies in one block.
        block_bytes: 128 * MIB,
        ..LIMITS
    };
    let variants = Variants {
        reduction: Reduction::Segmented,
        sort_subgroup: 0,
        threads: Threads::Columns,
        loops: Loops::Long,
    };
    let budget = Budget::of_profile(8 * GIB);
    let error = plan(&profile, &scene, &demand, budget, limits, &variants, &profile.faults).err();
    let Some(PlanError::Memory(MemoryError::TooLarge { tag, limit, .. })) = error else {
        unreachable!("{error:?}");
    };
    assert_eq!((tag, limit), (Tag::Pixels, "block"));
}

/// A step and an evaluation with a photo of 24 megapixels, on whatever device there is. One step has every pass that is cut into
/// swaths, and nearly all that a CPU driver does is the loss, pixel by pixel; bytes of many steps in swaths are compared on small
/// photos (`gpu::swaths`).
#[test]
fn a_photo_of_24_megapixels_trains() {
    let [width, height] = [6000, 4000];
    let scratch = Scratch::new("megapixels");
    let scene = scratch.join("scene");
    fs::create_dir_all(scene.join("train")).unwrap();
    let photo = image::RgbImage::from_fn(width, height, |x, y| {
        let near = x.abs_diff(width / 2) < width / 6 && y.abs_diff(height / 2) < height / 6;
        image::Rgb(if near {
            [220, 90, 40]
        } else {
            [30, (x / 40) as u8, (y / 40) as u8]
        })
    });
    photo.save(scene.join("train/large.jpg")).unwrap();
    let frame = r#"{"file_path":"train/large.jpg","transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,2],[0,0,0,1]]}"#;
    let json = format!(r#"{{"camera_angle_x":0.9,"frames":[{frame}]}}"#);
    fs::write(scene.join("transforms_train.json"), json).unwrap();
    let root = scratch.join("run");
    let settings = [
        ("dataset.resolution", "1"),
        ("dataset.hold_out", "false"),
        ("schedule.checkpoint_minutes", "0"),
        ("schedule.iterations", "1"),
        ("schedule.test", "[]"),
        ("schedule.save", "[]"),
        ("memory.max_gaussians", "1000"),
        ("init", "{ kind: random_box, count: 100, half_side: 0.5, scale: 0.05 }"),
        ("train.deterministic", "true"),
        ("eval.lpips", "false"),
        ("eval.views_logged", "0"),
        ("diagnose.validation", "false"),
    ];
    let profile = runs::profile(&root, &[&settings]);
    runs::train_scene(profile, scene, None, &Interrupt::unattached()).unwrap();
    let rows = runs::rows(&root.join("metrics.jsonl"));
    let last = rows.iter().rfind(|row| row["type"] == "train").unwrap();
    assert_eq!(last["it"], 1);
    // The photo against black.
    let l1 = last["l1"].as_f64().unwrap();
    assert!(l1 > 0.02 && l1 < 0.6, "{last}");
}
