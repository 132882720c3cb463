//! What installs a release on Windows by its address: manifests for scoop and winget.

use serde_json::json;

/// What the manifests say of a release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release<'a> {
    /// Version.
    pub(crate) version: &'a str,
    /// Address of the project.
    pub(crate) repository: &'a str,
    /// Name of the archive for Windows, without `.zip`.
    pub(crate) name: &'a str,
    /// SHA-256 of the archive.
    pub(crate) sha256: &'a str,
}

const DESCRIPTION: &str = "Trains 3D Gaussian Splatting scenes inside a fixed GPU memory budget, on any Vulkan card";
/// The version of winget's schema.
const SCHEMA: &str = "1.6.0";

impl Release<'_> {
    fn url(&self) -> String {
        let repository = self.repository.trim_end_matches('/');
        format!("{repository}/releases/download/v{}/{}.zip", self.version, self.name)
    }

    /// `kiln.json`, as `scoop install FILE` takes it.
    pub(crate) fn scoop(&self) -> String {
        let manifest = json!({
            "version": self.version,
            "description": DESCRIPTION,
            "homepage": self.repository,
            "license": "MIT|Apache-2.0",
            "architecture": { "64bit": { "url": self.url(), "hash": self.sha256, "extract_dir": self.name } },
            "bin": "kiln.exe",
        });
        format!("{manifest:#}\n")
    }

    /// The three files of winget, with their names.
    pub(crate) fn winget(&self) -> [(String, String); 3] {
        let head = |kind: &str| {
            format!(
                "# yaml-language-server: $schema=https://aka.ms/winget-manifest.{kind}.{SCHEMA}.schema.json\nPackageIdentifier: Kiln.Kiln\n\
                 PackageVersion: {}\n",
                self.version
            )
        };
        let tail = |kind: &str| format!("ManifestType: {kind}\nManifestVersion: {SCHEMA}\n");
        let version = format!("{}DefaultLocale: en-US\n{}", head("version"), tail("version"));
        let installer = format!(
            "{}InstallerType: zip\nNestedInstallerType: portable\nNestedInstallerFiles:\n- RelativeFilePath: {}\\kiln.exe\n  PortableCommandAlias: kiln\n\
             Installers:\n- Architecture: x64\n  InstallerUrl: {}\n  InstallerSha256: {}\n{}",
            head("installer"),
            self.name,
            self.url(),
            self.sha256.to_uppercase(),
            tail("installer")
        );
        let locale = format!(
            "{}PackageLocale: en-US\nPublisher: Kiln\nPackageName: Kiln\nLicense: MIT OR Apache-2.0\nPackageUrl: {}\nShortDescription: {DESCRIPTION}\n{}",
            head("defaultLocale"),
            self.repository,
            tail("defaultLocale")
        );
        [
            ("Kiln.Kiln.yaml".to_owned(), version),
            ("Kiln.Kiln.installer.yaml".to_owned(), installer),
            ("Kiln.Kiln.locale.en-US.yaml".to_owned(), locale),
        ]
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests stop at the first surprise")]
    use super::*;

    const RELEASE: Release<'_> = Release {
        version: "1.2.3",
        repository: "https://example.org/kiln/",
        name: "kiln-1.2.3-x86_64-windows",
        sha256: "00ff",
    };

    #[test]
    fn scoop_takes_the_folder_inside_the_archive() {
        let manifest: serde_json::Value = serde_json::from_str(&RELEASE.scoop()).unwrap();
        let archive = &manifest["architecture"]["64bit"];
        assert_eq!(
            archive["url"],
            "https://example.org/kiln/releases/download/v1.2.3/kiln-1.2.3-x86_64-windows.zip"
        );
        assert_eq!(archive["extract_dir"], RELEASE.name);
        assert_eq!(archive["hash"], "00ff");
        assert_eq!(manifest["bin"], "kiln.exe");
    }

    #[test]
    fn wingets_files_name_the_program_inside_the_archive() {
        let files = RELEASE.winget();
        for (name, text) in &files {
            assert!(
                text.contains("PackageIdentifier: Kiln.Kiln\nPackageVersion: 1.2.3\n"),
                "{name}: {text}"
            );
            assert!(text.ends_with("ManifestVersion: 1.6.0\n"), "{name}: {text}");
        }
        let installer = &files[1].1;
        assert!(
            installer.contains("RelativeFilePath: kiln-1.2.3-x86_64-windows\\kiln.exe\n"),
            "{installer}"
        );
        assert!(installer.contains("InstallerSha256: 00FF\n"), "{installer}");
    }
}
