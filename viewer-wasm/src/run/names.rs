//! Names of runs for people: as much of the path's end as makes them distinct.

/// A name for each path: its last folder, with those above it as long as two are called the same.
pub(crate) fn short(paths: &[String]) -> Vec<String> {
    let ends = |path: &str, folders: usize| -> String {
        let parts: Vec<&str> = path.split('/').collect();
        parts[parts.len().saturating_sub(folders)..].join("/")
    };
    let depth = paths.iter().map(|path| path.split('/').count()).max().unwrap_or(1);
    let mut names: Vec<String> = paths.iter().map(|path| ends(path, 1)).collect();
    for folders in 2..=depth {
        let is_twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
        let twice: Vec<bool> = names.iter().map(is_twice).collect();
        for ((name, path), twice) in names.iter_mut().zip(paths).zip(twice) {
            if twice {
                *name = ends(path, folders);
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_long_as_they_must_be() {
        let paths = ["runs/a/seed0", "runs/b/seed0", "runs/c", "runs/x/b/seed0", "c2"].map(str::to_owned);
        assert_eq!(short(&paths), ["a/seed0", "runs/b/seed0", "c", "x/b/seed0", "c2"]);
        assert_eq!(short(&[]), [""; 0]);
    }
}
