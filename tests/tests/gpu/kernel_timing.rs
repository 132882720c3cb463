//! Kernels timed at start, on the device of the tests: every way runs, takes time, and the quickest is chosen.
#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use kiln::plan::KernelTiming;
use kiln_kernels::views::{Reduction, Threads, Variants};
use kiln_tests::gpu;

#[test]
fn every_way_is_timed_and_the_quickest_taken() {
    let device = gpu::open();
    let rules = Variants {
        threads: Threads::Pixels,
        ..gpu::variants(Reduction::Segmented)
    };
    let reductions = [Reduction::Segmented, Reduction::CompareExchange];
    let others: Vec<Variants> = reductions
        .into_iter()
        .flat_map(|reduction| {
            [Threads::Pixels, Threads::Columns].map(|threads| Variants {
                reduction,
                threads,
                ..rules
            })
        })
        .filter(|variants| *variants != rules)
        .collect();
    let timing = KernelTiming::measure(&device, &rules, &others).unwrap().unwrap();
    let timed: Vec<Variants> = timing.times.iter().map(|(variants, _)| *variants).collect();
    assert_eq!(timed, [&[rules], &others[..]].concat(), "{timing}");
    assert!(
        timing.times.iter().all(|(_, ms)| *ms > 0.0 && ms.is_finite()),
        "{timing}"
    );
    let of = |wanted: Variants| timing.times.iter().find(|(v, _)| *v == wanted).unwrap().1;
    let best = timing.times.iter().map(|(_, ms)| *ms).fold(f64::INFINITY, f64::min);
    let chosen = of(timing.quickest());
    assert!(
        chosen == best || chosen <= of(rules) && best >= 0.95 * of(rules),
        "{timing}"
    );
    assert_eq!(KernelTiming::measure(&device, &rules, &[]).unwrap(), None);
}
