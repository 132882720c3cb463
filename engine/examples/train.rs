//! Trains a scene with the library: `cargo run --release --example train -- SCENE OUTPUT [RECIPE [PROFILE]]`.
//!
//! Photos without camera poses get them from COLMAP, where it is installed; with recipe `sugar` all four stages of SuGaR run.

use std::env;
use std::error::Error;
use std::process::ExitCode;

use kiln::jobs::{self, News, Settings, Train, TrainEnd};
use kiln::run::Outlets;
use kiln::run::interrupt::Interrupt;
use kiln_config::{Inputs, Override};

fn main() -> ExitCode {
    match train() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn train() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let (Some(scene), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: train SCENE OUTPUT [RECIPE [PROFILE]]".into());
    };
    let inputs = Inputs {
        recipe: Some(arguments.next().unwrap_or_else(|| "draft".to_owned())),
        profile: Some(arguments.next().unwrap_or_else(|| "8gb".to_owned())),
        overrides: vec![
            Override::text("dataset.path", &scene, "SCENE"),
            Override::text("run.output", &output, "OUTPUT"),
        ],
        ..Inputs::default()
    };
    let request = Train {
        settings: Settings { inputs, auto: false },
        colmap: true,
        ..Train::default()
    };
    let mut listen = |news: News<'_>| match news {
        News::Device { name, driver, .. } => println!("on {name} ({driver})"),
        News::Note(note) | News::Warning(note) => println!("{note}"),
        News::Stage(stage) => println!("{}: {:.1} s", stage.stage.name(), stage.seconds),
        _ => {}
    };
    match jobs::train(&request, &Outlets::default(), &mut listen, &Interrupt::unattached())? {
        TrainEnd::Before { block, .. } => println!("{} is trained", block.display()),
        TrainEnd::Now(trained) => println!(
            "{} iterations in {}, {:.2} dB on the test views",
            trained.end.iterations,
            trained.end.folder.display(),
            trained.end.test_psnr.unwrap_or(f64::NAN)
        ),
    }
    Ok(())
}
