//! Test fixture: a user with a home and a private store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crh_testkit::{Output, Program, Repo};

/// A user with an empty home.
pub(crate) struct User {
    home: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::new().unwrap() }
    }

    /// A path in the user's home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Writes a file in the user's home.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Runs crh as this user in a folder.
    pub(crate) fn crh(&self, folder: &Path, args: &[&str]) -> Program {
        self.at_home(Program::new(env!("CARGO_BIN_EXE_crh"), folder).args(args))
    }

    /// Like `crh`, with another umask.
    pub(crate) fn crh_with_umask(&self, umask: &str, folder: &Path, args: &[&str]) -> Program {
        let script = format!("umask {umask}; exec \"$0\" \"$@\"");
        let shell = Program::new("sh", folder).args(["-c", &script, env!("CARGO_BIN_EXE_crh")]);
        self.at_home(shell.args(args))
    }

    fn at_home(&self, program: Program) -> Program {
        let home = self.home.path().to_str().unwrap();
        let program = program.env("HOME", home).env("CRH_STORE", &format!("{home}/store"));
        // Tests must not depend on installed linters.
        program.env("CRH_ANALYSERS", "never")
    }

    /// Prepares a target into a folder and returns the output. It must succeed.
    pub(crate) fn prepared(&self, folder: &Path, target: &[&str], name: &str) -> Output {
        let out = self.path(name);
        let args = [&["prepare", "--out", out.to_str().unwrap()], target].concat();
        let output = self.crh(folder, &args).run();
        assert_eq!(output.code, 0, "{target:?}: {}", output.shown());
        output
    }

    /// The error output, with temporary paths replaced by names.
    pub(crate) fn refused(&self, repo: &Repo, args: &[&str]) -> String {
        self.replace_paths(repo, &self.crh(repo.path(), args).run().shown())
    }

    /// Replaces temporary paths by names.
    pub(crate) fn replace_paths(&self, repo: &Repo, text: &str) -> String {
        let real = repo.path().canonicalize().unwrap();
        let text = text.replace(self.home.path().to_str().unwrap(), "HOME");
        let text = text.replace(real.to_str().unwrap(), "REPO");
        text.replace(repo.path().to_str().unwrap(), "REPO")
    }
}

/// The JSON output of `crh prepare`.
pub(crate) fn summary(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap()
}

/// Status and path of each file of a prepared change.
pub(crate) fn changed_files(summary: &Value) -> Vec<String> {
    let files = summary["scope"]["files"].as_array().unwrap().iter();
    let shown = |file: &Value| {
        format!("{} {}", file["status"].as_str().unwrap(), file["path"].as_str().unwrap())
    };
    files.map(shown).collect()
}

/// Processes whose current folder is this one. Zero outside of Linux.
pub(crate) fn processes_in(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let folders = processes.filter_map(|entry| fs::read_link(entry.path().join("cwd")).ok());
    folders.filter(|current| *current == folder).count()
}

/// Paths, modes, contents and symlink targets of a folder.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, String> {
    listing(folder, |_, _| String::new())
}

/// Like `tree`, with modification times, except for git objects.
///
/// Git updates the time of an object instead of writing it again; its bytes stay the same. The
/// times of the object folders are included, so no object can appear or vanish.
pub(crate) fn tree_with_times(folder: &Path) -> BTreeMap<String, String> {
    listing(folder, |path, meta| {
        let is_object =
            meta.is_file() && path.components().any(|part| part.as_os_str() == "objects");
        let time = format!(" {}.{:09}", meta.mtime(), meta.mtime_nsec());
        if is_object { String::new() } else { time }
    })
}

fn listing(folder: &Path, more: fn(&Path, &fs::Metadata) -> String) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let meta = fs::symlink_metadata(&path).unwrap();
        let shown = if meta.is_symlink() {
            format!("-> {}", fs::read_link(&path).unwrap().display())
        } else if meta.is_dir() {
            left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            "folder".to_owned()
        } else {
            fs::read(&path).unwrap().escape_ascii().to_string()
        };
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        found.insert(name, format!("{:o}{} {shown}", meta.mode(), more(&path, &meta)));
    }
    found
}

/// Fails with the names of differing files, not with two whole trees.
pub(crate) fn assert_same(
    one: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
    what: &str,
) {
    let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let differ: Vec<_> = names
        .into_iter()
        .filter(|name| one.get(*name) != other.get(*name))
        .map(|name| (name, one.get(name), other.get(name)))
        .collect();
    assert!(differ.is_empty(), "{what}: {differ:#?}");
}

/// All files of a workspace as one text.
pub(crate) fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    add_whole(folder, "", &mut text);
    text
}

fn add_whole(folder: &Path, under: &str, text: &mut String) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{under}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_symlink() {
            *text += &format!("== {name} -> {}\n", fs::read_link(&path).unwrap().display());
        } else if path.is_dir() {
            add_whole(&path, &format!("{name}/"), text);
        } else {
            *text += &format!("== {name}\n{}", fs::read_to_string(&path).unwrap());
        }
    }
}
