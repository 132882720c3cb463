//! What a step takes, by a model of its bytes and operations.
//!
//! Every group of passes moves so many bytes and computes so much for each Gaussian, visible Gaussian, intersection and pixel.
//! Bytes are counted from the kernels and go at nine tenths of the card's bandwidth; operations are what the timed passes of an
//! NVIDIA H200 took beyond their bytes (*bonsai* and *snowmiku*, `docs/notebook/performance.md`), and scale with the card's
//! arithmetic. Launches cost the same everywhere. On the H200 the model is within 15 % of the scenes it was made from; other
//! cards are by the data sheet, without a measurement.

use serde::Serialize;

use super::cards::Card;
use super::demand::Demand;
use crate::step::Capacities;
use kiln_gaussians::layout::Storage;

/// The card that operations were measured on, TFLOPS.
const MEASURED_TFLOPS: f64 = 66.9;
/// Share of the bandwidth that passes reach.
const REACHED: f64 = 0.9;
/// Milliseconds a step that depend on nothing: launches, scans of one group, sorts of few keys.
const FIXED_MS: f64 = 0.26;
/// How tile intersections of a visible Gaussian beyond the first fall with the number of Gaussians: later ones are smaller.
const SHRINK: f64 = 0.8;

/// What a step of training has to do with.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Gaussians, millions.
    gaussians: f64,
    /// Of those visible, millions.
    visible: f64,
    /// Tile intersections, millions.
    intersections: f64,
    /// Pixels, millions.
    pixels: f64,
    /// SH coefficients stored, all channels.
    words: f64,
    storage: Storage,
}

/// Predicted steps a second at some number of Gaussians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// Gaussians.
    pub gaussians: u32,
    /// Steps a second.
    pub it_per_s: f64,
}

/// Predicted rates of a run on a card, from the first number of Gaussians to the last that fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The card.
    pub card: Card,
    /// Rates by rising number of Gaussians.
    pub rates: Vec<Rate>,
}

impl Prediction {
    /// Minutes of so many steps, all of them at the least and at the most Gaussians.
    #[must_use]
    pub fn minutes(&self, iterations: u32) -> [f64; 2] {
        let of = |rate: Option<&Rate>| rate.map_or(0.0, |rate| f64::from(iterations) / rate.it_per_s.max(1e-9) / 60.0);
        [of(self.rates.first()), of(self.rates.last())]
    }

    /// For a run of `capacities` in a scene that asks for `demand`; colours out of view wait for their steps, but not in
    /// `compact`.
    #[must_use]
    pub fn new(card: Card, demand: &Demand, capacities: &Capacities) -> Self {
        let (first, last) = (demand.gaussians, capacities.n_limit);
        let mut counts = vec![first];
        counts.extend(
            [100_000, 300_000, 1_000_000, 3_000_000]
                .into_iter()
                .filter(|n| (first * 2..last / 2).contains(n)),
        );
        if last > first {
            counts.push(last);
        }
        let rate = |gaussians: u32| Rate {
            gaussians,
            it_per_s: 1e3 / milliseconds(&card, &load(gaussians, demand, capacities)),
        };
        Self {
            card,
            rates: counts.into_iter().map(rate).collect(),
        }
    }
}

fn load(n: u32, demand: &Demand, capacities: &Capacities) -> Load {
    let gaussians = f64::from(n) / 1e6;
    let visible = gaussians * demand.mean_share;
    let smaller = (f64::from(demand.gaussians) / f64::from(n.max(1)))
        .min(1.0)
        .powf(SHRINK);
    let each = 1.0 + (demand.per_visible - 1.0).max(0.0) * smaller;
    Load {
        gaussians,
        visible,
        intersections: visible * each,
        pixels: f64::from(capacities.max_pixels) / 1e6,
        words: 3.0 * f64::from((capacities.sh_degree + 1) * (capacities.sh_degree + 1)),
        storage: capacities.storage,
    }
}

/// Milliseconds of the two halves of a step, without its loss and update, for a view with so many Gaussians, visible ones, tile
/// intersections and pixels, in degree 0 of SH.
pub(super) fn view_milliseconds(card: &Card, gaussians: f64, visible: f64, intersections: f64, pixels: f64) -> f64 {
    let [gaussians, visible, intersections, pixels] = [gaussians, visible, intersections, pixels].map(|n| n / 1e6);
    let bytes = 60.0 * gaussians + visible * (336.0 + 3.0 * 4.0) + 200.0 * visible + 150.0 * intersections;
    let operations = (0.2 + 0.337 + 0.03) * intersections + (0.09 + 0.285) * pixels;
    bytes / (REACHED * card.gb_per_s) + operations * MEASURED_TFLOPS / card.tflops
}

/// Milliseconds of one step.
fn milliseconds(card: &Card, load: &Load) -> f64 {
    let Load {
        gaussians,
        visible,
        intersections,
        pixels,
        words,
        storage,
    } = *load;
    // Bytes of a value of SH with both moments, read and written, and of the value alone; of the geometry of a Gaussian with its
    // moments, read and written.
    let (stepped, read, geometry) = match storage {
        Storage::Exact => (24.0, 4.0, 264.0),
        Storage::Half => (12.0, 2.0, 264.0),
        Storage::Compact => (8.0, 2.0, 176.0),
    };
    // Colours that wait are read with their moments and updated where they are visible; those that do not, everywhere.
    let (moments, updated) = match storage {
        Storage::Exact => (stepped / 3.0, visible),
        Storage::Half | Storage::Compact => (0.0, gaussians),
    };
    // MB in millions of things.
    let cull = 60.0 * gaussians;
    let project = visible * (136.0 + words * (read + moments));
    let update = geometry * gaussians + visible * 200.0 + updated * words * stepped;
    let sorts = 200.0 * visible + 150.0 * intersections;
    let bytes = cull + project + update + sorts;
    // Milliseconds on the card that was measured.
    let operations = 0.117 * gaussians + (0.2 + 0.337 + 0.03) * intersections + (0.09 + 0.285 + 0.155) * pixels;
    bytes / (REACHED * card.gb_per_s) + operations * MEASURED_TFLOPS / card.tflops + FIXED_MS
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    /// Timed steps on the card that the model was made from: millions of Gaussians, visible ones, intersections and pixels, ms.
    #[test]
    fn measured_steps_are_predicted() {
        let card = Card::named("NVIDIA H200").unwrap();
        for (gaussians, visible, intersections, pixels, measured) in [
            (0.909, 0.224, 0.576, 0.4264, 1.156),
            (0.999, 0.490, 1.229, 0.4264, 1.743),
            (0.213, 0.115, 1.220, 1.8479, 1.898),
        ] {
            let load = Load {
                gaussians,
                visible,
                intersections,
                pixels,
                words: 48.0,
                storage: Storage::Exact,
            };
            let predicted = milliseconds(&card, &load);
            assert!(
                (predicted / measured - 1.0).abs() < 0.15,
                "{predicted} ms, measured {measured}"
            );
        }
    }

    #[test]
    fn smaller_values_and_faster_cards_are_faster() {
        let capacities = Capacities::new(6_000_000, 3_000_000, 9_000_000, 3, [(800, 533)]);
        let demand = Demand {
            mean_share: 0.25,
            per_visible: 9.4,
            ..Demand::of_checkpoint(&capacities, 92_311)
        };
        let slow = Card::named("RTX 3060").unwrap();
        let rates = |card, storage| {
            let capacities = Capacities { storage, ..capacities };
            Prediction::new(card, &demand, &capacities).rates
        };
        let exact = rates(slow, Storage::Exact);
        let whole = Prediction {
            card: slow,
            rates: exact.clone(),
        };
        let [least, most] = whole.minutes(30_000);
        assert!((least * 60.0 * exact[0].it_per_s / 30_000.0 - 1.0).abs() < 1e-6 && most > least);
        let counts: Vec<u32> = exact.iter().map(|rate| rate.gaussians).collect();
        assert_eq!(counts, [92_311, 300_000, 1_000_000, 6_000_000]);
        assert!(
            exact.windows(2).all(|two| two[0].it_per_s > two[1].it_per_s),
            "{exact:?}"
        );
        let compact = rates(slow, Storage::Compact);
        let fast = rates(Card::named("RTX 4090").unwrap(), Storage::Exact);
        for ((exact, compact), fast) in exact.iter().zip(compact).zip(fast) {
            assert!(compact.it_per_s > exact.it_per_s && fast.it_per_s > exact.it_per_s);
        }
    }
}
