//! Rules of a recipe: what it sets for scenes that were taken in a certain way.
//!
//! A recipe may end with a list `adapt`. Each rule has conditions (`when`), settings (`set`: key paths, nested blocks or
//! both) and a reason (`why`). Where all conditions of a rule hold, its settings lie directly above the recipe and below
//! everything that people set by hand; later rules win over earlier ones. Every rule is checked whenever its recipe is
//! read, whether it applies or not.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value as Json;

use super::error::{At, ConfigError};
use super::profile::Profile;
use super::read::read;
use super::tree::{Entry, Node, Value};
use kiln_scene::{Capture, SceneIndex};

/// How a scene was taken, as far as rules ask; `None` for what is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Facts {
    /// Training views.
    pub photos: u32,
    /// Points of the sparse model.
    pub points: u32,
    /// Share of the sparse points beyond the cameras, 0 to 1.
    pub background: Option<f64>,
    /// Mean number of training pictures that a sparse point falls into.
    pub overlap: Option<f64>,
    /// Iterations of the run, as it is without rules.
    pub iterations: u32,
}

impl Facts {
    /// Those of a scene and a run of so many iterations.
    #[must_use]
    pub fn of(scene: &SceneIndex, iterations: u32) -> Self {
        let capture = Capture::of(scene);
        Self {
            photos: capture.photos,
            points: capture.points,
            background: capture.background_share,
            overlap: capture.overlap,
            iterations,
        }
    }
}

/// A rule that applied and changed something, or that what is set by hand kept from applying.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// What of the scene the rule asks for, e.g. `43 photos`.
    pub to: String,
    /// Key paths with their values before and after; none where the rule was left out.
    pub changes: Vec<(String, String, String)>,
    /// The rule's reason.
    pub why: String,
}

impl std::fmt::Display for Adaptation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changes: Vec<String> = self
            .changes
            .iter()
            .map(|(key, from, to)| match from.as_str() {
                // A key of another kind of strategy.
                "null" => format!("{key} {to}"),
                _ => format!("{key} {from} -> {to}"),
            })
            .collect();
        if changes.is_empty() {
            let Self { to, why, .. } = self;
            return write!(
                f,
                "not adapted to {to}: it does not go together with what is set by hand ({why})"
            );
        }
        write!(f, "adapted to {}: {} ({})", self.to, changes.join(", "), self.why)
    }
}

/// Settings in a line for people, letters.
const SHOWN: usize = 120;

impl Adaptation {
    /// A line of one, as it is displayed, short enough for a console: without its settings where they are many.
    #[must_use]
    pub fn brief(line: &str) -> Cow<'_, str> {
        let parts = line
            .strip_prefix("adapted to ")
            .and_then(|rest| rest.split_once(": "))
            .and_then(|(to, rest)| Some((to, rest.rsplit_once(" (")?)));
        match parts {
            Some((to, (settings, why))) if settings.len() > SHOWN => Cow::Owned(format!(
                "adapted to {to}: {} (settings: `kiln plan`, run.json)",
                why.trim_end_matches(')')
            )),
            _ => Cow::Borrowed(line),
        }
    }
}

/// A rule of a recipe.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    when: When,
    why: String,
    /// The settings as a layer.
    pub(super) layer: Node,
}

/// Conditions; all that are there must hold. What is unknown of a scene holds no condition.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct When {
    photos_below: Option<u32>,
    photos_from: Option<u32>,
    points_below: Option<u32>,
    points_from: Option<u32>,
    background_below: Option<f64>,
    background_from: Option<f64>,
    overlap_below: Option<f64>,
    overlap_from: Option<f64>,
    iterations_below: Option<u32>,
    iterations_from: Option<u32>,
}

/// A rule without its settings.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    when: When,
    why: String,
}

/// The rules as a file has them, so that errors name the whole path.
#[derive(Deserialize)]
struct Heads {
    adapt: Vec<Head>,
}

impl When {
    /// Conditions as (what must lie below, what it must reach) with what a scene has of them.
    fn bounds(&self, facts: &Facts) -> [(Option<f64>, Option<f64>, Option<f64>); 5] {
        let whole = |bounds: [Option<u32>; 2]| bounds.map(|bound| bound.map(f64::from));
        let photos = whole([self.photos_below, self.photos_from]);
        let points = whole([self.points_below, self.points_from]);
        let iterations = whole([self.iterations_below, self.iterations_from]);
        [
            (photos[0], photos[1], Some(f64::from(facts.photos))),
            (points[0], points[1], Some(f64::from(facts.points))),
            (self.background_below, self.background_from, facts.background),
            (self.overlap_below, self.overlap_from, facts.overlap),
            (iterations[0], iterations[1], Some(f64::from(facts.iterations))),
        ]
    }

    fn holds(&self, facts: &Facts) -> bool {
        self.bounds(facts).into_iter().all(|(below, from, found)| {
            below.is_none_or(|bound| found.is_some_and(|found| found < bound))
                && from.is_none_or(|bound| found.is_some_and(|found| found >= bound))
        })
    }

    /// What it asks of a scene, in words.
    fn describe(&self, facts: &Facts) -> String {
        let words = [
            format!("{} photo{}", facts.photos, if facts.photos == 1 { "" } else { "s" }),
            format!("{} sparse points", facts.points),
            format!("{:.1} % background", 100.0 * facts.background.unwrap_or_default()),
            format!("{:.1} photos a point", facts.overlap.unwrap_or_default()),
            format!("{} iterations", facts.iterations),
        ];
        let asked = self.bounds(facts).into_iter().zip(words);
        let asked: Vec<String> = asked
            .filter(|((below, from, _), _)| below.is_some() || from.is_some())
            .map(|(_, words)| words)
            .collect();
        asked.join(", ")
    }

    /// The first key whose value makes no sense, with the value and what is allowed.
    fn problem(&self) -> Option<(&'static str, String, &'static str)> {
        let shares = [
            ("background_below", self.background_below),
            ("background_from", self.background_from),
        ];
        let numbers = [
            ("overlap_below", self.overlap_below),
            ("overlap_from", self.overlap_from),
        ];
        let outside = |(key, value): (&'static str, Option<f64>), most: f64, allowed| {
            let value = value.filter(|value| !(0.0..=most).contains(value))?;
            Some((key, value.to_string(), allowed))
        };
        let shares = shares.into_iter().filter_map(|found| outside(found, 1.0, "0 to 1"));
        let numbers = numbers
            .into_iter()
            .filter_map(|found| outside(found, f64::MAX, "0 or more"));
        shares.chain(numbers).next()
    }
}

/// Takes the rules out of a recipe.
///
/// # Errors
/// [`ConfigError`] naming the line of what is no rule.
pub(super) fn take(recipe: &mut Node) -> Result<Vec<Rule>, ConfigError> {
    let Some(mut entry) = recipe.take("adapt") else {
        return Ok(Vec::new());
    };
    let mut sets = Vec::new();
    if let Value::List(rules) = &mut entry.node.value {
        for (index, rule) in rules.iter_mut().enumerate() {
            let path = |key: &str| format!("adapt.{index}.{key}");
            let set = rule.take("set");
            // What is no block of keys is an error below.
            if matches!(rule.value, Value::Map(_)) {
                sets.push(settings(set, &rule.at, &path("set"))?);
            }
            let empty = matches!(rule.get("when").map(|when| &when.value), Some(Value::Map(list)) if list.is_empty());
            if empty {
                return Err(ConfigError::Range {
                    at: rule.at.clone(),
                    key: path("when"),
                    found: "empty".to_owned(),
                    allowed: "at least one condition".to_owned(),
                });
            }
        }
    }
    let places = entry.node.clone();
    let file = Node {
        at: entry.node.at.clone(),
        value: Value::Map(vec![entry]),
    };
    let heads: Heads = read(&file)?;
    let mut rules = Vec::new();
    for (index, (Head { when, why }, layer)) in heads.adapt.into_iter().zip(sets).enumerate() {
        if let Some((key, found, allowed)) = when.problem() {
            return Err(ConfigError::Range {
                at: places.place_of(&[index.to_string(), "when".to_owned(), key.to_owned()]),
                key: format!("adapt.{index}.when.{key}"),
                found,
                allowed: allowed.to_owned(),
            });
        }
        rules.push(Rule { when, why, layer });
    }
    Ok(rules)
}

/// The settings of a rule as a layer: dots in keys lead into blocks, as on the command line.
fn settings(set: Option<Entry>, rule: &At, path: &str) -> Result<Node, ConfigError> {
    let missing = |at: &At| ConfigError::Missing {
        at: at.clone(),
        key: path.to_owned(),
    };
    let set = set.ok_or_else(|| missing(rule))?;
    let Value::Map(entries) = set.node.value else {
        return Err(ConfigError::Type {
            at: set.node.at,
            key: path.to_owned(),
            found: set.node.value.describe(),
            expected: "a block of keys".to_owned(),
        });
    };
    if entries.is_empty() {
        return Err(missing(&set.node.at));
    }
    let mut layer = Node {
        at: set.node.at.clone(),
        value: Value::Map(Vec::new()),
    };
    for Entry { key, key_at, node } in entries {
        let at = node.at.clone();
        let nested = key.rsplit('.').fold(node, |node, part| Node {
            at: at.clone(),
            value: Value::Map(vec![Entry {
                key: part.to_owned(),
                key_at: key_at.clone(),
                node,
            }]),
        });
        layer.overlay(nested);
    }
    // What is read from the scene was read with the settings below.
    for section in ["dataset", "run", "version", "extends"] {
        if let Some(node) = layer.get(section) {
            return Err(ConfigError::Range {
                at: node.at.clone(),
                key: format!("{path}.{section}"),
                found: "set".to_owned(),
                allowed: "what does not say which scene is read, and how".to_owned(),
            });
        }
    }
    Ok(layer)
}

impl Rule {
    /// The rule in a line, for people.
    pub(super) fn describe(&self) -> String {
        let bounds = self.when.bounds(&Facts::default()).into_iter().zip([
            "photos",
            "points",
            "background",
            "overlap",
            "iterations",
        ]);
        let conditions = bounds.flat_map(|((below, from, _), what)| {
            let below = below.map(|bound| format!("{what} below {bound}"));
            below
                .into_iter()
                .chain(from.map(|bound| format!("{what} from {bound}")))
        });
        let conditions: Vec<String> = conditions.collect();
        let mut keys = Vec::new();
        leaves(&self.layer, "", &mut keys);
        let value = |key: &String| {
            let node = key.split('.').try_fold(&self.layer, |node, part| node.get(part))?;
            Some(format!("{key} {}", node.value.plain()))
        };
        let settings: Vec<String> = keys.iter().filter_map(value).collect();
        format!("{}: {} ({})", conditions.join(", "), settings.join(", "), self.why)
    }

    /// True when all its conditions hold.
    pub(super) fn holds(&self, facts: &Facts) -> bool {
        self.when.holds(facts)
    }

    /// The rule as one that holds and was left out.
    pub(super) fn left_out(&self, facts: &Facts) -> Adaptation {
        Adaptation {
            to: self.when.describe(facts),
            changes: Vec::new(),
            why: self.why.clone(),
        }
    }

    /// What of the way from `before`, without rules, to `after`, with all of them, is of this one and not of a `later` one; none where
    /// all it sets was so already, or is set by hand.
    pub(super) fn reported(
        &self,
        facts: &Facts,
        later: &[&Self],
        before: &Profile,
        after: &Profile,
    ) -> Option<Adaptation> {
        let [before, after] = [before, after].map(|profile| {
            // Through text, because numbers are then those that people wrote, not their binary neighbours.
            let text = serde_json::to_string(profile).unwrap_or_default();
            serde_json::from_str::<Json>(&text).unwrap_or_default()
        });
        let mut keys = Vec::new();
        leaves(&self.layer, "", &mut keys);
        let mut others = Vec::new();
        later.iter().for_each(|rule| leaves(&rule.layer, "", &mut others));
        keys.retain(|key| !others.contains(key));
        let change = |key: String| {
            let at = format!("/{}", key.replace('.', "/"));
            // A key of a strategy that a later rule replaced is gone.
            let to = after.pointer(&at)?.clone();
            let from = before.pointer(&at).cloned().unwrap_or_default();
            let plain = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (from != to).then(|| (key, plain(&from), plain(&to)))
        };
        let changes: Vec<_> = keys.into_iter().filter_map(change).collect();
        (!changes.is_empty()).then(|| Adaptation {
            to: self.when.describe(facts),
            changes,
            why: self.why.clone(),
        })
    }
}

/// Key paths of the values below a node.
fn leaves(node: &Node, path: &str, keys: &mut Vec<String>) {
    match &node.value {
        Value::Map(entries) if !entries.is_empty() => {
            for entry in entries {
                let path = match path {
                    "" => entry.key.clone(),
                    _ => format!("{path}.{}", entry.key),
                };
                leaves(&entry.node, &path, keys);
            }
        }
        _ => keys.push(path.to_owned()),
    }
}

#[cfg(test)]
mod tests;
