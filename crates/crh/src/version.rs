//! The text of `crh --version`: version, commit, features, and how crh was installed.

use std::path::Path;
use std::sync::LazyLock;

use crh_os::names::canonical;

/// Cargo features of this program, for bug reports.
const FEATURES: [(&str, bool); 2] =
    [("server", cfg!(all(feature = "server", unix))), ("otel", cfg!(all(feature = "otel", unix)))];

/// File that marks crh's container image.
const CONTAINER_MARK: &str = "/usr/share/crh/installed-by";

/// The text after `crh ` that `crh --version` prints.
pub(crate) fn version_text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let program = std::env::current_exe().and_then(canonical);
        let method = program.map_or("unknown", |path| installation_method(&path, &Path::exists));
        // `scripts/release` sets the commit.
        let commit = option_env!("CRH_COMMIT").unwrap_or("not recorded");
        let features: Vec<&str> =
            FEATURES.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| *name).collect();
        let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
        format!(
            "{}\ncommit: {commit}\noptional features: {features}\ninstalled by: {method}",
            env!("CARGO_PKG_VERSION")
        )
    });
    &TEXT
}

/// How crh was installed, derived from the path of the program and from files near it.
fn installation_method(program: &Path, exists: &dyn Fn(&Path) -> bool) -> &'static str {
    let has_folder = |name: &str| program.components().any(|part| part.as_os_str() == name);
    let is_in = |folder: &str| program.starts_with(folder);
    match () {
        () if is_in("/usr/bin") && exists(Path::new(CONTAINER_MARK)) => "container image",
        () if has_folder("node_modules") => "npm",
        () if has_folder("Cellar") => "Homebrew",
        () if is_in("/nix/store") => "Nix",
        () if is_in("/usr/bin") && exists(Path::new("/var/lib/dpkg/info/crh-cli.list")) => "dpkg",
        () if is_in("/usr/bin") => "a package of the system",
        () if has_folder(".cargo") => "cargo",
        () if has_python_beside(program, exists) => "pip",
        () if has_folder("target") => "built from source",
        () => "archive or install script",
    }
}

/// Whether the program is in the folder for programs of a Python environment.
fn has_python_beside(program: &Path, exists: &dyn Fn(&Path) -> bool) -> bool {
    let Some(folder) = program.parent() else { return false };
    let has = |names: &[&str]| names.iter().any(|name| exists(&folder.join(name)));
    (folder.ends_with("bin") && has(&["python", "python3"]))
        || (folder.ends_with("Scripts") && has(&["python.exe"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_the_program_tells_how_it_was_installed() {
        let cases = [
            ("/usr/bin/crh", "/usr/share/crh/installed-by", "container image"),
            ("/usr/bin/crh", "/var/lib/dpkg/info/crh-cli.list", "dpkg"),
            ("/usr/bin/crh", "", "a package of the system"),
            ("/app/node_modules/crh-cli-linux-x64/bin/crh", "", "npm"),
            ("/opt/homebrew/Cellar/crh-cli/0.1.0/bin/crh", "", "Homebrew"),
            ("/nix/store/abc-crh/bin/crh", "", "Nix"),
            ("/home/ann/.cargo/bin/crh", "", "cargo"),
            ("/home/ann/venv/bin/crh", "/home/ann/venv/bin/python3", "pip"),
            ("C:/venv/Scripts/crh.exe", "C:/venv/Scripts/python.exe", "pip"),
            ("/home/ann/crh/target/debug/crh", "", "built from source"),
            ("/home/ann/.local/bin/crh", "", "archive or install script"),
        ];
        for (program, present, method) in cases {
            let exists = |path: &Path| path == Path::new(present);
            assert_eq!(installation_method(Path::new(program), &exists), method, "{program}");
        }
    }
}
