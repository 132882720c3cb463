//! What browsers do not need goes from scripts before they are compressed: comments, indentation, and the hashes that
//! `wasm-bindgen` ends the names of imports with, in script and module alike.

/// A script without whole-line comments and indentation.
#[must_use]
pub(crate) fn script(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_comment = false;
    for line in text.lines().map(str::trim) {
        in_comment |= line.starts_with("/**");
        if !in_comment && !line.is_empty() && !line.starts_with("//") {
            out += line;
            out.push('\n');
        }
        in_comment &= !line.ends_with("*/");
    }
    out
}

/// Numbers imports instead of naming them by a hash. A number is as long as the hash was, so lengths in the module
/// stay true.
pub(crate) fn number_imports(script: &mut String, module: &mut [u8]) {
    let mut hashes: Vec<String> = Vec::new();
    let words = script.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    for word in words.filter(|word| word.starts_with("__wb")) {
        let Some((_, hash)) = word.rsplit_once('_') else {
            continue;
        };
        let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash && !hashes.iter().any(|known| known == hash) {
            hashes.push(hash.to_owned());
        }
    }
    for (number, hash) in hashes.iter().enumerate() {
        let (old, new) = (format!("_{hash}"), format!("_{number:016}"));
        *script = script.replace(&old, &new);
        let mut at = 0;
        while let Some(found) = find(&module[at..], old.as_bytes()) {
            module[at + found..][..new.len()].copy_from_slice(new.as_bytes());
            at += found + new.len();
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_indentation_go_and_code_stays() {
        let text = "// about\nconst a = 1; // why\n\n  /**\n   * More.\n   */\n  f(\"/** x */\");\n/** one */\ng();\n";
        assert_eq!(script(text), "const a = 1; // why\nf(\"/** x */\");\ng();\n");
    }

    #[test]
    fn imports_have_the_same_names_in_script_and_module() {
        let mut script = "__wbg_f_0123456789abcdef: 1, __wbg_g_f_fedcba9876543210, x_0123456789abcdee".to_owned();
        let mut module = b"\x18__wbg_f_0123456789abcdef\0__wbg_g_f_fedcba9876543210".to_vec();
        let length = module.len();
        number_imports(&mut script, &mut module);
        assert_eq!(
            script,
            "__wbg_f_0000000000000000: 1, __wbg_g_f_0000000000000001, x_0123456789abcdee"
        );
        assert_eq!(module, b"\x18__wbg_f_0000000000000000\0__wbg_g_f_0000000000000001");
        assert_eq!(module.len(), length);
    }
}
