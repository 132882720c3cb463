//! `config.resolved.yaml` as paths and values, and the differences of several runs.
//!
//! Reads the block style that the trainer writes: keys by indentation, `- ` for items, plain or quoted values.

/// Path and value of each leaf, in order.
pub(crate) type Leaves = Vec<(String, String)>;

/// A key or item whose lines are being read.
struct Block {
    indent: usize,
    path: String,
    is_item: bool,
    n_items: usize,
}

/// Reads a configuration; lines of any other style are passed over.
pub(crate) fn leaves(text: &str) -> Leaves {
    let mut out = Leaves::new();
    let mut around: Vec<Block> = Vec::new();
    for line in text.lines() {
        let mut rest = line.trim_start();
        let mut indent = line.len() - rest.len();
        if rest.is_empty() || rest.starts_with('#') {
            continue;
        }
        while let Some(item) = rest.strip_prefix("- ") {
            // The key that holds the list may be as far in as its items.
            around.retain(|block| block.indent < indent || (block.indent == indent && !block.is_item));
            let path = around.last_mut().map_or_else(String::new, |list| {
                list.n_items += 1;
                join(&list.path, &(list.n_items - 1).to_string())
            });
            around.push(Block {
                indent,
                path,
                is_item: true,
                n_items: 0,
            });
            rest = item.trim_start();
            indent += 2;
        }
        let keyed = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")));
        let Some((key, value)) = keyed else {
            out.extend(around.last().map(|item| (item.path.clone(), unquoted(rest))));
            continue;
        };
        around.retain(|block| block.indent < indent);
        let path = join(around.last().map_or("", |block| block.path.as_str()), key.trim());
        match value.trim() {
            "" => around.push(Block {
                indent,
                path,
                is_item: false,
                n_items: 0,
            }),
            value => out.push((path, unquoted(value))),
        }
    }
    out
}

fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}

fn unquoted(value: &str) -> String {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(value).to_owned()
}

/// A line of a comparison: path, and the value of each run (`None`: it has no such key).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) path: String,
    pub(crate) values: Vec<Option<String>>,
}

/// The paths whose values are not the same in all runs, in the order they first appear.
pub(crate) fn differences(runs: &[&Leaves]) -> Vec<Difference> {
    let mut paths: Vec<&str> = Vec::new();
    for (path, _) in runs.iter().copied().flatten() {
        if !paths.contains(&path.as_str()) {
            paths.push(path);
        }
    }
    let value = |leaves: &Leaves, wanted: &str| {
        let found = leaves.iter().find(|(path, _)| path == wanted);
        found.map(|(_, value)| value.clone())
    };
    let rows = paths.into_iter().map(|path| Difference {
        path: path.to_owned(),
        values: runs.iter().map(|leaves| value(leaves, path)).collect(),
    });
    rows.filter(|row| row.values.iter().any(|value| *value != row.values[0]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::golden;

    fn find<'a>(leaves: &'a Leaves, path: &str) -> &'a str {
        leaves
            .iter()
            .find(|(known, _)| known == path)
            .map_or("absent", |(_, value)| value)
    }

    #[test]
    fn the_fixtures_configuration_becomes_paths() {
        let leaves = leaves(&golden("config.resolved.yaml"));
        for (path, value) in [
            ("version", "1"),
            ("memory.storage", "exact"),
            ("memory.max_gaussians", "up to 25000"),
            ("schedule.test.0", "1500"),
            ("schedule.resolution.0.scale", "0.5"),
            ("strategy.densify.every", "50"),
            ("losses.1", "dssim"),
            ("optimizer.lr.quats", "0.001"),
            ("regularizers", "[]"),
            ("sinks.2", "memory_jsonl"),
        ] {
            assert_eq!(find(&leaves, path), value, "{path}");
        }
    }

    #[test]
    fn only_what_differs_is_listed() {
        let a = leaves("a: 1\nb:\n  c: \"x\"\n  d: 2\nlist:\n- 1\n- 2\n");
        let b = leaves("a: 1\nb:\n  c: y\nlist:\n- 1\n- 3\n");
        let rows = differences(&[&a, &b]);
        let paths: Vec<_> = rows.iter().map(|row| row.path.as_str()).collect();
        assert_eq!(paths, ["b.c", "b.d", "list.1"]);
        assert_eq!(rows[1].values, [Some("2".to_owned()), None]);
        assert!(differences(&[&a]).is_empty() && differences(&[]).is_empty());
    }
}
