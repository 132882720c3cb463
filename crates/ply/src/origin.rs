//! What a file's coordinates are relative to, as a header comment `origin X Y Z` says it.

/// Before the three numbers.
const WORD: &str = "origin ";

/// Three finite numbers; none for any other text.
#[must_use]
pub fn parse_origin(text: &str) -> Option<[f64; 3]> {
    let mut words = text.split_whitespace();
    let mut next = || words.next()?.parse().ok().filter(|value: &f64| value.is_finite());
    let origin = [next()?, next()?, next()?];
    words.next().is_none().then_some(origin)
}

/// The origin that comments say, the first that does; none where they say none.
#[must_use]
pub fn origin_of(comments: &[String]) -> Option<[f64; 3]> {
    comments.iter().find_map(|line| parse_origin(line.strip_prefix(WORD)?))
}

/// A comment for a file whose coordinates are relative to `origin`; none for zero.
#[must_use]
pub fn origin_comment(origin: [f64; 3]) -> Option<String> {
    let [x, y, z] = origin;
    (origin != [0.0; 3]).then(|| format!("{WORD}{x} {y} {z}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_hold_an_origin_without_loss() {
        for origin in [[448_262.0, 5_411_932.0, 311.0], [-4e6, 0.1 + 0.2, 1.0 / 1024.0]] {
            let comments = [String::from("Kiln"), origin_comment(origin).unwrap_or_default()];
            assert_eq!(origin_of(&comments), Some(origin));
        }
        assert_eq!(origin_comment([0.0; 3]), None);
        assert_eq!(
            origin_of(&["origins 1 2 3".to_owned(), "origin of all".to_owned()]),
            None
        );
        for bad in ["", "1 2", "1 2 3 4", "1 2 x", "1 2 nan", "1 2 inf"] {
            assert_eq!(parse_origin(bad), None, "{bad}");
        }
    }
}
