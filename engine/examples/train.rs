//! Trains a scene with the library: `cargo run --release --example train -- SCENE OUTPUT`.

use std::env;
use std::error::Error;
use std::path::PathBuf;

use kiln::config::{Facts, Inputs, Override, resolve, resolve_for};
use kiln::plan::{Faults, open_device, scene_options};
use kiln::run::interrupt::Interrupt;
use kiln::run::{RunRequest, run};
use kiln::scene::SceneIndex;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(scene), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: train SCENE OUTPUT".into());
    };
    let inputs = Inputs {
        profile: Some("8gb".to_owned()),
        recipe: Some("draft".to_owned()),
        overrides: vec![Override {
            key: "run.output".to_owned(),
            value: output,
            flag: "OUTPUT".to_owned(),
        }],
        ..Inputs::default()
    };
    // Recipes adapt to the capture, so the scene is looked at before the settings are final.
    let profile = resolve(&inputs)?;
    let scene = PathBuf::from(scene);
    let index = SceneIndex::load(&scene, &scene_options(&profile)?)?;
    let (profile, adapted) = resolve_for(&inputs, &Facts::of(&index, profile.schedule.iterations))?;
    for rule in adapted {
        println!("{rule}");
    }
    let open = open_device(&profile, Faults::default())?;
    let end = run(RunRequest::new(profile, open, scene), &Interrupt::unattached())?;
    println!(
        "{} iterations in {}, {:.2} dB on the test views",
        end.iterations,
        end.folder.display(),
        end.test_psnr.unwrap_or(f64::NAN)
    );
    Ok(())
}
