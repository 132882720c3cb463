#![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
use super::*;

fn counters(gaussians: u32, visible: u32) -> Counters {
    Counters {
        gaussians,
        visible,
        intersections: 3 * visible,
        ..Counters::default()
    }
}

/// A run whose steps cost `ns[way]` an intersection, with views that differ in what they see.
struct Run {
    race: Race,
    ns: Vec<f64>,
    gaussians: u32,
    step: u32,
    /// Ways of timed steps that are not back yet: three are in flight.
    in_flight: std::collections::VecDeque<(Option<usize>, Counters)>,
}

impl Run {
    fn new(ns: &[f64], gaussians: u32) -> Self {
        let ways = ["rule", "second", "third", "fourth"];
        Self {
            race: Race::new(ways.iter().take(ns.len()).map(|name| (*name).to_owned()).collect()),
            ns: ns.to_vec(),
            gaussians,
            step: 0,
            in_flight: std::collections::VecDeque::new(),
        }
    }

    /// A step: gives its way when it is timed, and the result of a race that is over.
    fn step(&mut self) -> (Option<usize>, Option<RaceResult>) {
        let mut result = None;
        if self.in_flight.len() == 3 {
            let (way, counters) = self.in_flight.pop_front().unwrap();
            if let Some(way) = way {
                // every seventh step is held up by something
                let ns = self.ns[way] * f64::from(counters.intersections);
                let held_up = if self.step.is_multiple_of(7) { 1.01 } else { 1.0 };
                result = self.race.add(way, ns * held_up, &counters);
            }
            self.race.see(&counters);
        }
        let turn = self.race.turn();
        self.step += 1;
        let visible = self.gaussians / 4 * (3 + self.step % 5) / 5;
        self.in_flight.push_back((turn, counters(self.gaussians, visible)));
        (turn, result)
    }

    /// Steps until a race is over; gives its result and how many steps were timed.
    fn result(&mut self, most: u32) -> Option<(RaceResult, u32)> {
        let mut timed = 0;
        for _ in 0..most {
            let (turn, result) = self.step();
            timed += u32::from(turn.is_some());
            if let Some(result) = result {
                return Some((result, timed));
            }
        }
        None
    }
}

#[test]
fn the_quickest_wins_and_steps_take_it_from_then_on() {
    let mut run = Run::new(&[1.0, 1.2, 0.8, 1.1], 1000);
    for _ in 0..WARM_UP {
        assert_eq!(run.step().0, None, "clocks are still going up");
    }
    let (result, timed) = run.result(400).unwrap();
    assert_eq!((result.chosen.as_str(), run.race.chosen()), ("third", 2));
    assert_eq!((result.gaussians, result.runners.len()), (1000, 4));
    assert_eq!(result.runners[0].kernels, "rule");
    assert!(result.runners.iter().all(|runner| runner.steps == ROUNDS));
    // a step each that does not count, and those submitted while the last ones were on their way
    let least = 4 * (ROUNDS + 1);
    assert!((least..least + 5).contains(&timed), "{timed}");
    let ms: Vec<f32> = result.runners.iter().map(|runner| runner.ms.unwrap()).collect();
    assert!(
        (ms[2] / ms[0] - 0.8).abs() < 0.02 && (ms[1] / ms[0] - 1.2).abs() < 0.02,
        "{ms:?}"
    );
    assert!(
        result
            .to_string()
            .starts_with("steps run with the kernels third, found by a race: rule ")
    );
    for _ in 0..300 {
        assert_eq!(run.step().0, None, "it is over");
    }
}

#[test]
fn the_rules_choice_stays_unless_another_is_clearly_quicker() {
    for (other, winner) in [(0.97, "rule"), (1.0, "rule"), (1.3, "rule"), (0.9, "second")] {
        let mut run = Run::new(&[1.0, other], 500);
        let (result, _) = run.result(200).unwrap();
        assert_eq!(result.chosen, winner, "{other}");
    }
}

#[test]
fn a_way_that_is_far_behind_is_given_up_early() {
    let mut run = Run::new(&[1.0, 2.0, 0.9, 1.0], 800);
    let (result, timed) = run.result(400).unwrap();
    assert_eq!(result.chosen, "third");
    let steps: Vec<u32> = result.runners.iter().map(|runner| runner.steps).collect();
    assert_eq!((steps[0], steps[2], steps[3]), (ROUNDS, ROUNDS, ROUNDS));
    assert!((HEATS..HEATS + 2).contains(&steps[1]), "{steps:?}");
    assert!(timed < 4 * ROUNDS, "{timed}");
    // and at once where there is no hope
    let (result, _) = Run::new(&[1.0, 9.0, 0.9, 1.0], 800).result(400).unwrap();
    let steps: Vec<u32> = result.runners.iter().map(|runner| runner.steps).collect();
    assert_eq!(steps, [ROUNDS, 1, ROUNDS, ROUNDS]);
    // the choice of the rules too, but not for one step
    let mut run = Run::new(&[4.0, 1.0], 800);
    assert_eq!(run.result(400).unwrap().0.chosen, "second");
}

#[test]
fn growth_calls_for_another_race() {
    let mut run = Run::new(&[1.0, 0.8], 1000);
    assert_eq!(run.result(200).unwrap().0.chosen, "second");
    run.gaussians = 3000;
    assert!(run.result(200).is_none(), "not yet four times as many");
    // what was quicker for few is slower for many
    run.gaussians = 4100;
    run.ns = vec![1.0, 1.3];
    let (result, _) = run.result(200).unwrap();
    assert_eq!((result.chosen.as_str(), run.race.chosen()), ("rule", 0));
    assert!(run.result(300).is_none());
    // pruning calls for none
    run.gaussians = 900;
    assert!(run.result(300).is_none());
}

#[test]
fn more_visible_gaussians_call_for_another_race_too() {
    let mut race = Race::new(vec!["rule".to_owned(), "second".to_owned()]);
    let mut races = 0;
    for step in 0..600 {
        let seen = counters(100_000, if step < 300 { 1000 } else { 5000 });
        let turn = race.turn();
        races += u32::from(turn.and_then(|way| race.add(way, 1e6, &seen)).is_some());
        race.see(&seen);
    }
    assert_eq!(races, 2);
}

#[test]
fn there_is_no_race_where_there_is_nothing_to_choose() {
    let mut run = Run::new(&[1.0], 1000);
    assert!(run.result(300).is_none());
    assert_eq!(run.race.chosen(), 0);
}

/// Steps that run in bands, are left out or see nothing are not timed; a race does not wait for ever.
#[test]
fn a_race_that_gets_no_steps_is_given_up() {
    let mut race = Race::new(vec!["rule".to_owned(), "second".to_owned()]);
    let mut turns = 0;
    for _ in 0..1000 {
        race.see(&counters(500, 0));
        turns += u32::from(race.turn().is_some());
    }
    assert_eq!(turns, PATIENCE * 2);
    assert_eq!(race.chosen(), 0);
    let mut race = Race::new(vec!["rule".to_owned(), "second".to_owned()]);
    let mut result = None;
    for _ in 0..400 {
        race.see(&counters(500, 0));
        let turn = race.turn();
        result = result.or(turn.and_then(|way| race.add(way, 5.0, &counters(500, 0))));
    }
    let result = result.unwrap();
    assert_eq!((result.chosen.as_str(), result.runners[0].ms), ("rule", None));
    assert!(result.to_string().contains("second none"));
}
