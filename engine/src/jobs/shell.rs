//! Paths as words of a command that is printed to be copied.

use std::path::Path;

/// The path as one word of a shell: quoted where it holds anything but letters, digits and a few marks.
pub(crate) fn word(path: &Path) -> String {
    let text = path.display().to_string();
    match text.starts_with('-') {
        true => argument_word(&format!("./{text}")),
        false => argument_word(&text),
    }
}

/// An argument as one word of a shell.
pub(crate) fn argument_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '=' | ':' | '@' | '+' | ',' | '%');
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word() {
        for (path, shown) in [
            ("garden/images_4", "garden/images_4"),
            ("ünï cödé 場景", "'ünï cödé 場景'"),
            ("it's", r"'it'\''s'"),
            ("a$b", "'a$b'"),
            ("-r", "./-r"),
            ("", "''"),
        ] {
            assert_eq!(word(Path::new(path)), shown);
        }
    }
}
