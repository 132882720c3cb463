//! The page: files of `viewer-wasm/page` and what is built into `viewer-wasm/dist`, embedded when the program is built.

/// A file of the page.
#[derive(Debug)]
pub(super) struct Asset {
    /// Name, without folder.
    pub(super) name: &'static str,
    /// Content.
    pub(super) bytes: &'static [u8],
    /// Content compressed with brotli, when the bundle has it.
    pub(super) brotli: Option<&'static [u8]>,
}

// `ASSETS: &[Asset]`, sorted by name; the build script writes it.
include!(concat!(env!("OUT_DIR"), "/viewer_assets.rs"));

/// All files.
pub(super) fn all() -> &'static [Asset] {
    ASSETS
}

/// The file of that name; the empty name is the page itself.
pub(super) fn find(name: &str) -> Option<&'static Asset> {
    let name = if name.is_empty() { "index.html" } else { name };
    ASSETS.iter().find(|asset| asset.name == name)
}

/// Whether an `Accept-Encoding` header takes brotli.
pub(super) fn accepts_brotli(header: &str) -> bool {
    header.split(',').any(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("br"));
        let refused = |part: &str| {
            let weight = part.strip_prefix("q=").or_else(|| part.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.parse() == Ok(0.0))
        };
        named && !parts.any(refused)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brotli_only_when_asked_for() {
        for header in ["br", "gzip, deflate, br, zstd", "gzip;q=1.0, BR;q=0.5"] {
            assert!(accepts_brotli(header), "{header}");
        }
        for header in ["", "gzip", "brotli", "br;q=0", "br; q=0.0", "*"] {
            assert!(!accepts_brotli(header), "{header}");
        }
    }

    #[test]
    fn the_page_is_whole() {
        for name in [
            "",
            "index.html",
            "boot.js",
            "viewer.css",
            "kiln_viewer.js",
            "kiln_viewer_bg.wasm",
        ] {
            assert!(find(name).is_some_and(|asset| !asset.bytes.is_empty()), "{name}");
        }
        assert!(find("manifest.json").is_none() && find("index.html.br").is_none());
        assert!(all().is_sorted_by_key(|asset| asset.name));
    }
}
