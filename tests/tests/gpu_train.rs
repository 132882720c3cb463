//! A short training run of the bundled scene on whatever Vulkan device there is.

use std::path::Path;

use kiln::config::{Inputs, Override, resolve};
use kiln::memory::Budget;
use kiln::scene::{ImageOptions, ImageStore, SceneIndex, SceneOptions, Split, ViewId, ViewSampler};
use kiln::train::{Trainer, initial_model, open_device, plan, variants_for};

#[test]
fn a_few_hundred_steps_raise_psnr() {
    let set = |key: &str, value: &str| Override {
        key: key.to_owned(),
        value: value.to_owned(),
        flag: "--set".to_owned(),
    };
    let iterations = std::env::var("ITS")
        .ok()
        .and_then(|s| s.parse::<u32>().ok())
        .unwrap_or(200);
    let inputs = Inputs {
        profile: Some("cpu".to_owned()),
        recipe: Some("demo".to_owned()),
        overrides: vec![
            set(
                "debug.validation",
                if std::env::var("NOVAL").is_ok() {
                    "false"
                } else {
                    "true"
                },
            ),
            set("memory.max_gaussians", "5000"),
            set("schedule.iterations", &iterations.to_string()),
        ],
        ..Inputs::default()
    };
    let profile = resolve(&inputs).expect("shipped profile");
    let open = open_device(&profile).expect("a Vulkan device");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/stilllife");
    let scene = SceneIndex::load(&root, &SceneOptions::default()).expect("bundled scene");
    let store = ImageStore::open(&scene, ImageOptions::default()).expect("images");
    let model = initial_model(&profile, &scene).expect("points");
    let variants = variants_for(open.device.caps(), open.tier, &profile);
    eprintln!("{variants:?}");
    let budget = Budget::of_device(&open.device, Some(1 << 30), 0.97);
    let limits = kiln::memory::Gpu::limits(&open.device);
    let (train_plan, report) = plan(&profile, &scene, model.len() as u32, budget, limits, &variants).expect("fits");
    eprintln!("{report:#?}");
    let mut trainer =
        Trainer::new(&open.device, profile.clone(), train_plan, report, &scene, Some(&model)).expect("commits");
    let psnr = |trainer: &mut Trainer| {
        let mut total = 0.0;
        for (index, view) in scene.test.iter().enumerate() {
            let image = store
                .get(ViewId {
                    split: Split::Test,
                    index,
                })
                .expect("decodes");
            let sums = trainer.evaluate(&view.camera, &image, false).expect("renders").sums;
            let squared: f64 = sums.chunks(8).map(|s| f64::from(s[3] + s[4] + s[5])).sum();
            let pixels = f64::from(view.camera.width_px * view.camera.height_px);
            total += -10.0 * (squared / (3.0 * pixels)).log10();
        }
        total / scene.test.len() as f64
    };
    let before = psnr(&mut trainer);
    let mut sampler = ViewSampler::new(scene.train.len() as u32, 0).expect("views");
    let start = std::time::Instant::now();
    for _ in 0..iterations {
        let index = sampler.draw();
        let image = store
            .get(ViewId {
                split: Split::Train,
                index,
            })
            .expect("decodes");
        let status = trainer.advance(&scene.train[index].camera, &image).expect("steps");
        if let Some(s) = status
            && s.iteration % 20 == 0
        {
            eprintln!(
                "{} loss {} vis {} I {}",
                s.iteration, s.counters.loss, s.counters.visible, s.counters.intersections
            );
        }
    }
    trainer.drain().expect("steps");
    eprintln!("{} s", start.elapsed().as_secs_f64());
    let after = psnr(&mut trainer);
    eprintln!("psnr {before} -> {after}");
    let t = trainer
        .time_passes(
            &scene.train[0].camera,
            &store
                .get(ViewId {
                    split: Split::Train,
                    index: 0,
                })
                .unwrap(),
        )
        .unwrap();
    for p in t {
        eprintln!("{} {:.3} ms", p.pass, p.ns / 1e6);
    }
    if let Some(v) = open.device.instance().validation() {
        for m in v.messages().iter().take(5) {
            eprintln!("{m}");
        }
        assert!(v.messages().is_empty());
    }
    assert!(after > before + 3.0, "{before} -> {after}");
}
