//! Installed toolchains of rustup. crh starts the `cargo` of a toolchain: the one in `PATH` may be
//! a shim of rustup, which does not work in the sandbox and may download a toolchain.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Project;
use crh_os::files::file_id;
use crh_review::finding::Side;

/// Files of a project that name its toolchain. rustup prefers the first.
const TOOLCHAIN_FILES: [&str; 2] = ["rust-toolchain", "rust-toolchain.toml"];
/// Limit for the name of a toolchain, with date and target triple.
const NAME_CHARS_MAX: usize = 100;

/// The folder of rustup.
#[derive(Debug, Clone)]
pub(crate) struct RustupFolder(PathBuf);

#[derive(Deserialize)]
struct ToolchainFile {
    toolchain: ToolchainSection,
}

#[derive(Deserialize)]
struct ToolchainSection {
    channel: Option<String>,
    path: Option<String>,
}

impl RustupFolder {
    /// The folder `.rustup` in the home folder, if it exists.
    pub(crate) fn find(home: &Path) -> Option<Self> {
        let folder = home.join(".rustup");
        folder.is_dir().then_some(Self(folder))
    }

    /// The `bin` of the default toolchain.
    pub(super) fn default_bin(&self) -> Option<PathBuf> {
        let settings = fs::read_to_string(self.0.join("settings.toml")).ok()?;
        let name = settings.lines().find_map(|line| line.strip_prefix("default_toolchain = "))?;
        self.bin(name.trim_matches('"'))
    }

    /// The `bin` of an installed toolchain. The name may lack the target triple, as `1.80` does.
    fn bin(&self, name: &str) -> Option<PathBuf> {
        let entries = fs::read_dir(self.0.join("toolchains")).ok()?.flatten();
        let is_named = |entry: &str| {
            let is_target = |rest: &str| {
                rest.strip_prefix('-').is_some_and(|it| it.starts_with(std::env::consts::ARCH))
            };
            entry.strip_prefix(name).is_some_and(|rest| rest.is_empty() || is_target(rest))
        };
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let name = names.filter(|entry| is_named(entry)).min()?;
        let bin = self.0.join("toolchains").join(name).join("bin");
        bin.is_dir().then_some(bin)
    }
}

/// Whether a program is a link to rustup in the same folder, symbolic or hard.
pub(super) fn is_rustup_shim(program: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).ok().and_then(|file| file_id(&file));
    let rustup = program.with_file_name("rustup");
    id(&rustup).is_some_and(|rustup| id(program) == Some(rustup))
}

/// The `bin` of the toolchain that a project names; `None` if it names none. The error, for example
/// for a toolchain that is not installed, is a sentence.
pub(crate) fn toolchain_bin(
    project: &dyn Project,
    rustup: Option<&RustupFolder>,
) -> Result<Option<PathBuf>, String> {
    let mut files = TOOLCHAIN_FILES.into_iter().filter_map(|file| {
        let text = project.file(Side::New, file).transpose()?;
        Some(text.map(|text| (file, String::from_utf8_lossy(&text).into_owned())))
    });
    let Some((file, text)) = files.next().transpose()? else { return Ok(None) };
    let Some(name) = parse_name(file, &text)? else { return Ok(None) };
    let bin = rustup.and_then(|rustup| rustup.bin(&name));
    let why = || format!("the project names the Rust toolchain `{name}`, which is not installed");
    bin.map(Some).ok_or_else(why)
}

/// The name of the toolchain in a file; `None` if the file names none.
fn parse_name(file: &str, text: &str) -> Result<Option<String>, String> {
    let name = match toml::from_str::<ToolchainFile>(text) {
        Ok(ToolchainFile { toolchain: ToolchainSection { path: Some(_), .. } }) => {
            return Err(format!("`{file}` names a toolchain by its path"));
        }
        Ok(ToolchainFile { toolchain: ToolchainSection { channel: None, .. } }) => return Ok(None),
        Ok(ToolchainFile { toolchain: ToolchainSection { channel: Some(name), .. } }) => name,
        // The old format has only the name.
        Err(_) => text.trim().to_owned(),
    };
    let is_name_char = |char: char| char.is_ascii_alphanumeric() || "._-+".contains(char);
    let is_name = (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_name_char);
    is_name.then_some(Some(name)).ok_or_else(|| format!("`{file}` cannot be read"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixture;

    #[test]
    fn only_an_installed_toolchain_that_the_project_names_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let arch = std::env::consts::ARCH;
        let full = format!("1.70-{arch}-unknown-linux-gnu");
        for name in [full.as_str(), "1.70.1", "mine", "nightly-2026-01-01-x"] {
            fs::create_dir_all(folder.path().join("toolchains").join(name).join("bin")).unwrap();
        }
        let rustup = RustupFolder(folder.path().to_owned());
        let toml = "rust-toolchain.toml";
        let missing = |name: &str| {
            Err(format!("the project names the Rust toolchain `{name}`, which is not installed"))
        };
        let names_full = format!("[toolchain]\nchannel = \"{full}\"");
        for (file, text, expected) in [
            (toml, "[toolchain]\nchannel = \"1.70\"", Ok(Some(full.as_str()))),
            (toml, names_full.as_str(), Ok(Some(full.as_str()))),
            (toml, "[toolchain]\nchannel = \"mine\"", Ok(Some("mine"))),
            (toml, "[toolchain]\ncomponents = [\"clippy\"]", Ok(None)),
            (toml, "[toolchain]\nchannel = \"1.7\"", missing("1.7")),
            (toml, "[toolchain]\nchannel = \"nightly\"", missing("nightly")),
            (
                toml,
                "[toolchain]\npath = \"/\"",
                Err(format!("`{toml}` names a toolchain by its path")),
            ),
            (toml, "[toolchain]\nchannel = \"../mine\"", Err(format!("`{toml}` cannot be read"))),
            ("rust-toolchain", "1.70.1", Ok(Some("1.70.1"))),
            ("rust-toolchain", "[toolchain]\nchannel = \"2\"", missing("2")),
            ("other", "1", Ok(None)),
        ] {
            let fixture = Fixture::new(&format!("//- a\n1\n//- head\n//- {file}\n{text}\n"));
            let bin = fixture.with(|change| toolchain_bin(change.project.unwrap(), Some(&rustup)));
            let folder = folder.path().join("toolchains");
            let expected = expected.map(|it| it.map(|name| folder.join(name).join("bin")));
            assert_eq!(bin, expected, "{file}: {text}");
        }
    }

    #[test]
    fn links_to_rustup_are_shims() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["rustup", "other"] {
            fs::write(at(name), name).unwrap();
        }
        std::os::unix::fs::symlink("rustup", at("cargo")).unwrap();
        fs::hard_link(at("rustup"), at("rustc")).unwrap();
        for (name, expected) in [("cargo", true), ("rustc", true), ("other", false)] {
            assert_eq!(is_rustup_shim(&at(name)), expected, "{name}");
        }
    }
}
