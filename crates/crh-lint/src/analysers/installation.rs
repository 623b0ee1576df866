//! Where an analyser is installed, and what of the disk belongs to its installation.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// More than a first line that names an interpreter has.
const FIRST_LINE: u64 = 512;
/// A script in a script in a script is the most that package managers do.
const INTERPRETERS_MAX: usize = 3;

/// A program that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Installed {
    pub(super) program: PathBuf,
    /// The files and folders of its installation, and of what interprets it.
    pub(super) readable: Vec<PathBuf>,
}

impl Installed {
    /// The first program of a name in the folders of a `PATH`. Those that lie inside `not_in`, or are interpreted by something that
    /// does, are passed over: what stands there comes with the change.
    pub(super) fn find(name: &str, path: &OsStr, not_in: Option<&Path>) -> Option<Self> {
        programs(name, path).find_map(|program| Self::at(program, path, not_in))
    }

    /// The program in this place; none if a part of it lies inside `not_in`.
    pub(super) fn at(program: PathBuf, path: &OsStr, not_in: Option<&Path>) -> Option<Self> {
        let mut readable = Vec::new();
        let mut next = Some(program.clone());
        for _ in 0..INTERPRETERS_MAX {
            let Some(file) = next else { break };
            if is_in(&file, not_in) {
                return None;
            }
            belonging(&file, &mut readable);
            next = interpreter(&file, path);
        }
        readable.sort();
        readable.dedup();
        // A link beside the program may lead there too.
        readable.retain(|it| !is_in(it, not_in));
        Some(Self { program, readable })
    }
}

/// The folders of a `PATH` in which nothing comes with the change: absolute, and not inside `not_in`.
pub(super) fn folders_outside(path: &OsStr, not_in: Option<&Path>) -> OsString {
    let folders = std::env::split_paths(path);
    let kept = folders.filter(|folder| folder.is_absolute() && !is_in(folder, not_in));
    // They came out of one, so that they go back into one.
    std::env::join_paths(kept).unwrap_or_default()
}

fn programs(name: &str, path: &OsStr) -> impl Iterator<Item = PathBuf> {
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(move |folder| folder.join(name)).filter(|file| is_program(file))
}

/// Whether a file lies in a folder, or leads there.
fn is_in(file: &Path, folder: Option<&Path>) -> bool {
    let Some(folder) = folder else { return false };
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    file.starts_with(folder) || real(file).starts_with(real(folder))
}

/// Whether this is a file that can be run.
pub(crate) fn is_program(file: &Path) -> bool {
    let may_run = |file: fs::Metadata| file.is_file() && file.permissions().mode() & 0o111 != 0;
    fs::metadata(file).is_ok_and(may_run)
}

/// What a program interprets, by its first line.
fn interpreter(file: &Path, path: &OsStr) -> Option<PathBuf> {
    let mut line = Vec::new();
    fs::File::open(file).ok()?.take(FIRST_LINE).read_to_end(&mut line).ok()?;
    let line = line.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace();
    let program = Path::new(words.next()?);
    if program.file_name()? != "env" {
        return Some(program.to_owned());
    }
    let name = words.find(|word| !word.starts_with('-'))?;
    programs(name, path).next()
}

/// What belongs to a program, both where it was found and where that leads: its file, the modules beside it, the libraries of a Python.
/// Never a whole folder that may hold something else of the user's.
fn belonging(file: &Path, readable: &mut Vec<PathBuf>) {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    readable.push(real.clone());
    for file in [file, &real] {
        readable.extend(modules_of(file));
        let Some(folder) = file.parent().filter(|folder| folder.ends_with("bin")) else { continue };
        let Some(root) = folder.parent() else { continue };
        let marker = root.join("pyvenv.cfg");
        if marker.is_file() {
            readable.extend([marker, folder.to_owned(), root.join("lib"), root.join("lib64")]);
            continue;
        }
        let Ok(libraries) = fs::read_dir(root.join("lib")) else { continue };
        let is_of_python = |name: &OsStr| {
            let name = name.to_string_lossy();
            name.starts_with("python3") || name.starts_with("libpython3")
        };
        let libraries = libraries.flatten().filter(|entry| is_of_python(&entry.file_name()));
        readable.extend(libraries.map(|entry| entry.path()));
    }
}

/// The outermost `node_modules` that a file lies in.
fn modules_of(file: &Path) -> Option<PathBuf> {
    let mut parts = file.components();
    let mut folder = PathBuf::new();
    let is_it = |part: &Component<'_>| part.as_os_str() == "node_modules";
    parts.any(|part| {
        folder.push(part);
        is_it(&part)
    });
    folder.ends_with("node_modules").then_some(folder)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder with these programs; a text that begins with `->` makes a link.
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
        let installed = Installed::find(name, &path, Some(&root.join("checkout"))).unwrap();
        let shown = installed.readable.iter().filter_map(|it| it.strip_prefix(&root).ok());
        assert_eq!(shown.map(Path::to_str).collect::<Option<Vec<_>>>().unwrap(), expected);
    }

    #[test]
    fn a_program_alone_is_its_file() {
        check(
            &[("home/bin/ruff", "\x7fELF"), ("home/lib/diary", "")],
            &["home/bin"],
            "ruff",
            &["home/bin/ruff"],
        );
    }

    #[test]
    fn a_module_of_node_is_its_modules_and_its_node() {
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
    fn a_script_of_python_is_its_environment_and_the_python_behind_it() {
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
    fn what_comes_with_the_change_is_no_installed_program() {
        check(
            &[("checkout/bin/ruff", ""), ("links/ruff", "-> ../checkout/bin/ruff"), ("b/ruff", "")],
            &["checkout/bin", "links", "b"],
            "ruff",
            &["b/ruff"],
        );
        assert_eq!(Installed::find("ruff", OsStr::new(":.:bin"), None), None);
    }

    #[test]
    fn what_is_interpreted_by_something_that_comes_with_the_change_is_none_either() {
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
    fn folders_that_come_with_the_change_are_not_searched() {
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
