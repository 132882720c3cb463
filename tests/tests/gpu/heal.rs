//! Gaussians that keep the steps of a view from being finite are taken out of the model, and no others.
#![expect(clippy::expect_used, reason = "tests stop at the first surprise")]

use kiln::record::events::Event;
use kiln_kernels::views::Reduction;
use kiln_tests::banded::{camera, profile, scene, trainer};
use kiln_tests::gpu::{assert_valid, open};

#[test]
fn a_view_that_is_never_finite_loses_its_culprits() {
    let device = open();
    let target = scene().target();
    // Not a number, and one that is none as soon as it is squared. Codes of compact storage are finite whatever came.
    for (colour, storage) in [(f32::NAN, "exact"), (1e30, "exact"), (f32::NAN, "compact")] {
        let heals = storage == "exact";
        let mut model = scene().model();
        // Behind all cameras but that of view 1.
        model.means[17] = scene().camera().rotation[2].map(|axis| -11.5 * axis);
        model.log_scales[17] = [0.0; 3];
        model.logit_opacities[17] = 2.0;
        model.sh0[17] = [colour; 3];
        let settings = profile(&[("memory.storage", storage)]);
        let mut trainer = trainer(&device, &settings, Reduction::Segmented, &model);
        let mut done = Vec::new();
        for i in 1..=12_u32 {
            let mut view = camera(&scene(), i);
            let bad = i % 2 == 0;
            if bad {
                view.translation[2] = 13.0;
            }
            trainer.see(usize::from(bad));
            done.extend(trainer.advance(&view, &target).expect("a step"));
        }
        done.extend(trainer.drain().expect("steps"));
        let done: Vec<u32> = done.iter().map(|status| status.iteration).collect();
        let left_out: &[u32] = if heals { &[2, 4, 6] } else { &[] };
        let wanted: Vec<u32> = (1..=12).filter(|i| !left_out.contains(i)).collect();
        assert_eq!(done, wanted, "{colour}, {storage}");
        assert_eq!(trainer.skipped_steps() as usize, left_out.len());
        let told: Vec<(u32, String)> = trainer
            .take_events()
            .into_iter()
            .filter_map(|row| match row.event {
                Event::Warning { message } => Some((row.it, message)),
                _ => None,
            })
            .collect();
        let wanted =
            "the steps of training view 1 were not finite 3 times in a row: Gaussian 17 was taken out of the model";
        assert_eq!(
            told,
            if heals {
                vec![(6, wanted.to_owned())]
            } else {
                Vec::new()
            }
        );
        let healed = trainer.model().expect("download");
        assert_eq!(healed.len(), model.len());
        if heals {
            assert_eq!(healed.sh0[17], [0.0; 3]);
            assert!(healed.logit_opacities[17] < -15.0);
        }
        assert!(
            healed
                .sh0
                .as_flattened()
                .iter()
                .chain(&healed.sh_rest)
                .all(|value| value.is_finite())
        );
    }
    assert_valid(&device);
}
