//! Finds installed programs, such as analysers, and the files that they need to run.

pub(crate) mod rustup;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use self::rustup::{RustupFolder, is_rustup_shim};
use crh_os::files;

/// Bytes read of a program, enough for a shebang line.
const FIRST_LINE_BYTES: u64 = 512;
/// Maximum programs in a chain: a script, its interpreter, and the interpreter of that.
const INTERPRETERS_MAX: usize = 3;

/// Programs that version managers link under the names of other programs.
const VERSION_MANAGERS: &[&str] = &["asdf", "mise", "proto-shim", "rtx", "volta-shim"];

/// A program, and the files that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InstalledProgram {
    pub(crate) program: PathBuf,
    /// Files and folders of the installation and of its interpreter.
    pub(crate) readable: Vec<PathBuf>,
    /// The `PATH` with which crh starts the program.
    pub(crate) path: OsString,
}

impl InstalledProgram {
    /// Returns the first program with this name in the folders of a `PATH`. Skips shims of version
    /// managers. Also skips programs that lie, or whose interpreter lies, inside `excluded_folder`:
    /// the change may have brought these files.
    pub(crate) fn find(name: &str, path: &OsStr, excluded_folder: Option<&Path>) -> Option<Self> {
        executables_named(name, path)
            .filter(|program| !is_shim(program))
            .find_map(|program| Self::inspect(program, path, excluded_folder))
    }

    /// Returns the program at this path; `None` if it or its interpreter is inside
    /// `excluded_folder`.
    pub(crate) fn inspect(
        program: PathBuf,
        path: &OsStr,
        excluded_folder: Option<&Path>,
    ) -> Option<Self> {
        let mut readable = Vec::new();
        let mut next = Some(program.clone());
        for _ in 0..INTERPRETERS_MAX {
            let Some(file) = next else { break };
            if is_inside(&file, excluded_folder) {
                return None;
            }
            add_install_files(&file, &mut readable);
            next = interpreter(&file, path);
        }
        readable.sort();
        readable.dedup();
        // A symlink beside the program may point into `excluded_folder` too.
        readable.retain(|it| !is_inside(it, excluded_folder));
        Some(Self { program, readable, path: path.to_owned() })
    }

    /// Returns the first compiler or type checker with this name in the folders of a `PATH`. Skips
    /// shims of version managers. Instead of a shim of rustup, returns the program of rustup's
    /// default toolchain.
    pub(crate) fn find_checker(
        name: &str,
        path: &OsStr,
        home: Option<&Path>,
        rustup: Option<&RustupFolder>,
    ) -> Option<Self> {
        let first = executables_named(name, path).find(|program| !is_shim(program))?;
        match is_rustup_shim(&first) {
            true => Some(Self::in_toolchain(&rustup?.default_bin()?, name, path, home)),
            false => {
                let readable = command_files(&first, path, home);
                Some(Self { program: first, readable, path: path.to_owned() })
            }
        }
    }

    /// Returns a program of the toolchain with this `bin` folder, which comes first in its `PATH`.
    pub(crate) fn in_toolchain(bin: &Path, name: &str, path: &OsStr, home: Option<&Path>) -> Self {
        let folders = std::iter::once(bin.to_owned()).chain(std::env::split_paths(path));
        let path = std::env::join_paths(folders).unwrap_or_else(|_| path.to_owned());
        let program = bin.join(name);
        let readable = command_files(&program, &path, home);
        Self { program, readable, path }
    }
}

/// Folders and files of a toolchain, for example of Go, Java or Node: `bin` and what is beside it.
const TOOLCHAIN_PARTS: &[&str] = &[
    "bin", "conf", "include", "lib", "lib64", "libexec", "pkg", "share", "src", "VERSION",
    "go.env", "release",
];

/// Files and folders that a program of the user must read: its own files, those of its
/// interpreters, and the toolchain around its `bin`. The home folder, the folders above it and
/// folders in `~/.local` do not count as a toolchain.
pub(crate) fn command_files(program: &Path, path: &OsStr, home: Option<&Path>) -> Vec<PathBuf> {
    let installed = InstalledProgram::inspect(program.to_owned(), path, None);
    let mut readable = installed.map(|it| it.readable).unwrap_or_default();
    let homes = home.into_iter().flat_map(|home| [Some(home.to_owned()), home.canonicalize().ok()]);
    let homes: Vec<PathBuf> = homes.flatten().collect();
    let is_private = |root: &Path| {
        homes.iter().any(|home| home.starts_with(root) || root.starts_with(home.join(".local")))
    };
    for file in [Some(program.to_owned()), program.canonicalize().ok()].into_iter().flatten() {
        let bin = file.parent().filter(|folder| folder.ends_with("bin"));
        if let Some(root) = bin.and_then(Path::parent).filter(|root| !is_private(root)) {
            readable.extend(TOOLCHAIN_PARTS.iter().map(|part| root.join(part)));
            // Debian's Java links its settings to `/etc/java-17-openjdk/security`.
            let settings = root.join("conf/security/java.security").canonicalize().ok();
            let settings = settings.as_deref().and_then(Path::parent);
            readable.extend(settings.filter(|it| it.starts_with("/etc")).map(Path::to_owned));
        }
    }
    readable.retain(|it| it.exists());
    readable.sort();
    readable.dedup();
    readable
}

/// The absolute folders of a `PATH` that are not inside `excluded_folder`.
pub(crate) fn folders_outside(path: &OsStr, excluded_folder: Option<&Path>) -> OsString {
    let folders = std::env::split_paths(path);
    let outside_folders =
        folders.filter(|folder| folder.is_absolute() && !is_inside(folder, excluded_folder));
    // The folders come from a `PATH`, so they can be joined again.
    std::env::join_paths(outside_folders).unwrap_or_default()
}

fn executables_named(name: &str, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(move |folder| folder.join(name)).filter(|file| is_executable(file))
}

/// The first program with this name in a `PATH`, if it is a shim.
pub(crate) fn find_shim(name: &str, path: &OsStr) -> Option<PathBuf> {
    executables_named(name, path).next().filter(|program| is_shim(program))
}

/// Whether a program is a shim: a version manager that starts the real program. In the sandbox, the
/// manager cannot find that program: it can read neither the user's home nor its own settings.
fn is_shim(program: &Path) -> bool {
    let folder = program.parent().and_then(Path::file_name);
    let target = program.canonicalize().ok();
    let target_name = target.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
    folder == Some(OsStr::new("shims"))
        || target_name.is_some_and(|name| VERSION_MANAGERS.contains(&name))
}

/// Whether a file lies in a folder, directly or through a symlink.
fn is_inside(file: &Path, folder: Option<&Path>) -> bool {
    let Some(folder) = folder else { return false };
    let canonical = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    file.starts_with(folder) || canonical(file).starts_with(canonical(folder))
}

pub(crate) fn is_executable(file: &Path) -> bool {
    let has_bit = |file: &fs::Metadata| files::mode(file).is_none_or(|mode| mode & 0o111 != 0);
    let may_run = |file: fs::Metadata| file.is_file() && has_bit(&file);
    fs::metadata(file).is_ok_and(may_run)
}

/// The program that interprets a script, by its shebang line.
fn interpreter(file: &Path, path: &OsStr) -> Option<PathBuf> {
    let mut line = Vec::new();
    fs::File::open(file).ok()?.take(FIRST_LINE_BYTES).read_to_end(&mut line).ok()?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace();
    let program = Path::new(words.next()?);
    if program.file_name()? != "env" {
        return Some(program.to_owned());
    }
    let name = words.find(|word| !word.starts_with('-'))?;
    executables_named(name, path).next()
}

/// Adds the files that belong to a program, at its path and at the symlink target: the file, the
/// `node_modules` around it, the libraries of a Python. Never adds a whole folder that may hold
/// other files of the user.
fn add_install_files(file: &Path, readable: &mut Vec<PathBuf>) {
    let real_path = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    readable.push(real_path.clone());
    for file in [file, &real_path] {
        readable.extend(outermost_node_modules(file));
        let Some(folder) = file.parent().filter(|folder| folder.ends_with("bin")) else { continue };
        let Some(root) = folder.parent() else { continue };
        let venv_config = root.join("pyvenv.cfg");
        if venv_config.is_file() {
            readable.extend([venv_config, folder.to_owned(), root.join("lib"), root.join("lib64")]);
            continue;
        }
        let Ok(libraries) = fs::read_dir(root.join("lib")) else { continue };
        let is_python_library = |name: &OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("python3") || name.starts_with("libpython3")
        };
        let libraries = libraries.flatten().filter(|entry| is_python_library(&entry.file_name()));
        readable.extend(libraries.map(|entry| entry.path()));
    }
}

fn outermost_node_modules(file: &Path) -> Option<PathBuf> {
    let mut parts = file.components();
    let mut folder = PathBuf::new();
    let is_node_modules = |part: &Component<'_>| part.as_os_str() == "node_modules";
    parts.any(|part| {
        folder.push(part);
        is_node_modules(&part)
    });
    folder.ends_with("node_modules").then_some(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Creates a folder with these programs. Text that starts with `->` creates a symlink.
    fn disk(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match text.strip_prefix("-> ") {
                Some(to) => symlink(to, path).unwrap(),
                None => {
                    fs::write(&path, text.replace("ROOT", root.to_str().unwrap())).unwrap();
                    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
                }
            }
        }
        (folder, root)
    }

    fn check(files: &[(&str, &str)], path: &[&str], name: &str, expected: &[&str]) {
        let (_folder, root) = disk(files);
        let path = std::env::join_paths(path.iter().map(|folder| root.join(folder))).unwrap();
        let installed = InstalledProgram::find(name, &path, Some(&root.join("checkout"))).unwrap();
        let shown = installed.readable.iter().filter_map(|it| it.strip_prefix(&root).ok());
        assert_eq!(shown.map(Path::to_str).collect::<Option<Vec<_>>>().unwrap(), expected);
    }

    #[test]
    fn single_binary_needs_only_its_file() {
        check(
            &[("home/bin/ruff", "\x7fELF"), ("home/lib/diary", "")],
            &["home/bin"],
            "ruff",
            &["home/bin/ruff"],
        );
    }

    #[test]
    fn command_in_the_home_folder_needs_only_its_file() {
        let (_folder, root) = disk(&[
            ("home/bin/check", "#!/bin/sh\n"),
            ("home/lib/diary", ""),
            ("home/.local/bin/tool", "\x7fELF"),
            ("home/.local/share/crh/key", ""),
            ("home/sdk/go/bin/go", "\x7fELF"),
            ("home/sdk/go/src/fmt.go", ""),
            ("home/sdk/go/secret", ""),
            ("links/check", "-> ../home/bin/check"),
        ]);
        let readable = |program: &str| {
            let files =
                command_files(&root.join(program), OsStr::new(""), Some(&root.join("home")));
            let shown = files
                .iter()
                .filter_map(|it| Some(it.strip_prefix(&root).ok()?.to_str()?.to_owned()));
            shown.collect::<Vec<_>>()
        };
        assert_eq!(readable("home/bin/check"), ["home/bin/check"]);
        assert_eq!(readable("links/check"), ["home/bin/check"]);
        assert_eq!(readable("home/.local/bin/tool"), ["home/.local/bin/tool"]);
        let go = ["home/sdk/go/bin", "home/sdk/go/bin/go", "home/sdk/go/src"];
        assert_eq!(readable("home/sdk/go/bin/go"), go);
    }

    #[test]
    fn shims_of_version_managers_are_skipped() {
        let files = [
            ("pyenv/shims/ruff", "#!/usr/bin/env bash\n"),
            ("mise/bin/mise", "\x7fELF"),
            ("mise/links/ruff", "-> ../bin/mise"),
            ("home/bin/ruff", "\x7fELF"),
        ];
        check(&files, &["pyenv/shims", "mise/links", "home/bin"], "ruff", &["home/bin/ruff"]);
        let (_folder, root) = disk(&files);
        let path = std::env::join_paths([root.join("pyenv/shims")]).unwrap();
        assert_eq!(InstalledProgram::find("ruff", &path, None), None);
        assert_eq!(find_shim("ruff", &path), Some(root.join("pyenv/shims/ruff")));
        let path = std::env::join_paths([root.join("home/bin")]).unwrap();
        assert_eq!(find_shim("ruff", &path), None);
    }

    #[test]
    fn node_script_needs_node_modules_and_node() {
        check(
            &[
                ("npm/bin/eslint", "-> ../lib/node_modules/eslint/bin/eslint.js"),
                ("npm/lib/node_modules/eslint/bin/eslint.js", "#!/usr/bin/env node\n"),
                ("node/bin/node", "\x7fELF"),
            ],
            &["npm/bin", "node/bin"],
            "eslint",
            &["node/bin/node", "npm/lib/node_modules", "npm/lib/node_modules/eslint/bin/eslint.js"],
        );
    }

    #[test]
    fn python_script_needs_its_venv_and_python() {
        check(
            &[
                ("bin/semgrep", "-> ../venv/bin/semgrep"),
                ("venv/bin/semgrep", "#!ROOT/venv/bin/python\n"),
                ("venv/pyvenv.cfg", ""),
                ("venv/bin/python", "-> ../../python/bin/python3"),
                ("python/bin/python3", "\x7fELF"),
                ("python/lib/python3.12/os.py", ""),
                ("python/lib/libpython3.12.so", ""),
                ("python/lib/letters/x", ""),
            ],
            &["bin"],
            "semgrep",
            &[
                "python/bin/python3",
                "python/lib/libpython3.12.so",
                "python/lib/python3.12",
                "venv/bin",
                "venv/bin/semgrep",
                "venv/lib",
                "venv/lib64",
                "venv/pyvenv.cfg",
            ],
        );
    }

    #[test]
    fn program_inside_the_checkout_is_skipped() {
        check(
            &[("checkout/bin/ruff", ""), ("links/ruff", "-> ../checkout/bin/ruff"), ("b/ruff", "")],
            &["checkout/bin", "links", "b"],
            "ruff",
            &["b/ruff"],
        );
        assert_eq!(InstalledProgram::find("ruff", OsStr::new(":.:bin"), None), None);
    }

    #[test]
    fn interpreter_inside_the_checkout_is_skipped() {
        check(
            &[
                ("direct/ruff", "#!ROOT/checkout/bin/python\n"),
                ("searched/ruff", "#!/usr/bin/env python\n"),
                ("linked/ruff", "#!ROOT/linked/python\n"),
                ("linked/python", "-> ../checkout/bin/python"),
                ("checkout/bin/python", "\x7fELF"),
                ("b/ruff", "\x7fELF"),
            ],
            &["direct", "linked", "searched", "b"],
            "ruff",
            &["b/ruff"],
        );
    }

    #[test]
    fn checkout_folders_are_removed_from_path() {
        let (_folder, root) = disk(&[("checkout/bin/x", ""), ("links", "-> checkout/bin")]);
        let path = |folders: &[&str]| {
            std::env::join_paths(folders.iter().map(|folder| root.join(folder))).unwrap()
        };
        let all = path(&["checkout", "a", "checkout/bin", "links", "b"]);
        assert_eq!(folders_outside(&all, Some(&root.join("checkout"))), path(&["a", "b"]));
        assert_eq!(folders_outside(&all, None), all);
        assert_eq!(folders_outside(OsStr::new(":.:bin:/b"), None), OsStr::new("/b"));
    }
}
