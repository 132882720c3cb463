//! Paths as words of a command that is printed to be copied.

use std::path::Path;

/// Marks that no shell of this system gives a meaning to.
const PLAIN: &str = if cfg!(windows) { r"_.\/-=:@+" } else { "_./-=:@+,%" };

/// Makes a folder with those above it.
pub(crate) const MAKE_FOLDER: &str = if cfg!(windows) { "mkdir" } else { "mkdir -p" };

/// The path as one word of a shell: quoted where it holds anything but letters, digits and a few marks.
pub(crate) fn word(path: &Path) -> String {
    let mut text = path.display().to_string();
    if cfg!(windows) && text.contains('\\') {
        // Names inside a folder are joined with the other mark.
        text = text.replace('/', r"\");
    }
    match text.starts_with('-') {
        true => argument_word(&format!("./{text}")),
        false => argument_word(&text),
    }
}

/// An argument as one word of a shell; on Windows of its command prompt, and of PowerShell where it has no `"` in it.
pub(crate) fn argument_word(text: &str) -> String {
    if !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || PLAIN.contains(c)) {
        text.to_owned()
    } else if cfg!(windows) {
        format!("\"{}\"", text.replace('"', "\\\""))
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A message as all systems print it, of files in `folder`, which is called `D`.
    pub(crate) fn plain(text: &str, folder: &Path) -> String {
        let folder = folder.display().to_string();
        // Commands join names with one mark only.
        let text = text.replace(&folder, "D").replace(&folder.replace('/', r"\"), "D");
        match cfg!(windows) {
            true => text.replace('\\', "/"),
            false => text,
        }
    }

    #[test]
    fn paths_are_one_word() {
        for (path, shown) in [
            ("garden/images_4", "garden/images_4"),
            ("ünï cödé 場景", "'ünï cödé 場景'"),
            ("a$b", "'a$b'"),
            ("-r", "./-r"),
            ("", "''"),
        ] {
            let quote = if cfg!(windows) { '"' } else { '\'' };
            assert_eq!(word(Path::new(path)), shown.replace('\'', &quote.to_string()));
        }
        if cfg!(windows) {
            assert_eq!(
                word(Path::new(r"C:\runs/merged/model.ply")),
                r"C:\runs\merged\model.ply"
            );
        }
        let [apostrophe, quote] = ["it's", "a\"b"].map(argument_word);
        match cfg!(windows) {
            true => assert_eq!([apostrophe, quote], [r#""it's""#, r#""a\"b""#]),
            false => assert_eq!([apostrophe, quote], [r"'it'\''s'", r#"'a"b'"#]),
        }
    }
}
