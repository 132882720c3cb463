//! Files do not import each other in large circles.
//!
//! An arrow leads from a file to the file that holds what it imports, through the `pub use` of modules in between. What a
//! module only hands on is no arrow of its own, and tests may look wherever they like.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::imports;

/// Most files that may import each other in a circle.
const LARGEST: usize = 3;

type Name = Vec<String>;

/// Who imports whom among `files`: names of modules with their source.
pub(crate) fn arrows(files: &BTreeMap<Name, String>) -> BTreeMap<Name, BTreeSet<Name>> {
    let found: BTreeMap<&Name, Vec<_>> = files
        .iter()
        .map(|(name, source)| (name, imports(source, name, &super::roots(name))))
        .collect();
    let mut handed_on: BTreeMap<Name, &Name> = BTreeMap::new();
    for (name, list) in &found {
        for import in list {
            if let Some(exported) = &import.exported {
                let here = name.iter().chain([exported]).cloned().collect();
                handed_on.insert(here, &import.path);
            }
        }
    }
    // The file that a path leads to.
    let lead = |path: &Name| -> Option<Name> {
        let mut path = path.clone();
        for _ in 0..8 {
            let next = (1..=path.len()).rev().find_map(|end| {
                let (head, rest) = path.split_at(end);
                let to = handed_on.get(head).filter(|to| to.as_slice() != head)?;
                Some(to.iter().chain(rest).cloned().collect::<Name>())
            });
            match next {
                Some(next) => path = next,
                None => break,
            }
        }
        (1..=path.len())
            .rev()
            .map(|end| path[..end].to_vec())
            .find(|head| files.contains_key(head))
    };
    let mut arrows: BTreeMap<Name, BTreeSet<Name>> = BTreeMap::new();
    for (name, list) in &found {
        let own = list
            .iter()
            .filter(|import| import.exported.is_none() && !import.in_test);
        let to = own.filter_map(|import| lead(&import.path)).filter(|to| to != *name);
        arrows.insert((*name).clone(), to.collect());
    }
    arrows
}

/// Files that can be reached from each other, the largest such group first.
pub(crate) fn knots(arrows: &BTreeMap<Name, BTreeSet<Name>>) -> Vec<Vec<String>> {
    let reach = |from: &Name| {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(name) = open.pop() {
            for next in arrows.get(&name).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        seen
    };
    let all: BTreeMap<&Name, BTreeSet<Name>> = arrows.keys().map(|name| (name, reach(name))).collect();
    let mut groups = BTreeSet::new();
    for (name, seen) in &all {
        if seen.contains(*name) {
            let back = seen
                .iter()
                .filter(|other| all.get(other).is_some_and(|seen| seen.contains(*name)));
            groups.insert(back.map(|name| name.join("/")).collect::<Vec<_>>());
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups
}

#[test]
fn circles_are_small() {
    let files = super::house().into_iter().filter(|(name, _)| {
        // Modules of tests look at everything; the root only declares modules.
        let last = name.last().map_or("", String::as_str);
        !matches!(last, "tests" | "lib" | "main" | "golden")
    });
    let arrows = arrows(&files.collect());
    assert!(
        arrows.values().map(BTreeSet::len).sum::<usize>() > 500,
        "arrows are found"
    );
    let large: Vec<_> = knots(&arrows).into_iter().filter(|knot| knot.len() > LARGEST).collect();
    assert!(large.is_empty(), "files that import each other in a circle: {large:#?}");
}

#[test]
fn circles_are_found_through_what_modules_hand_on() {
    let name = |name: &str| -> Name { name.split('/').map(str::to_owned).collect() };
    let files = [
        ("room", "pub use a::A; pub(crate) use b::B as Renamed;"),
        ("room/a", "use super::Renamed;"),
        ("room/b", "use crate::other::C;\nmod tests { use crate::leaf::L; }"),
        ("other", "use crate::room::{self, A};"),
        ("leaf", "use crate::room::a;"),
    ];
    let arrows = arrows(&files.map(|(path, source)| (name(path), source.to_owned())).into());
    assert_eq!(arrows[&name("other")], [name("room"), name("room/a")].into());
    assert_eq!(arrows[&name("room/b")], [name("other")].into());
    assert_eq!(knots(&arrows), [["other", "room/a", "room/b"].map(str::to_owned)]);
}
