//! A real git repository in a temporary folder: no user configuration, fixed names and dates.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::fixture::Fixture;

/// A temporary git repository.
#[derive(Debug)]
pub struct Repo {
    dir: TempDir,
}

impl Default for Repo {
    fn default() -> Self {
        Self::new()
    }
}

impl AsRef<Path> for Repo {
    fn as_ref(&self) -> &Path {
        self.path()
    }
}

impl Repo {
    /// A repository without a commit.
    pub fn new() -> Self {
        let repo = Self { dir: TempDir::new().unwrap() };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    /// A repository from a fixture: one commit for the base, one for the change if there is one.
    pub fn from_fixture(text: &str) -> Self {
        let repo = Self::new();
        let fixture = Fixture::parse(text);
        for (path, text) in fixture.base {
            repo.write(&path, text);
        }
        repo.commit_all("base");
        for (path, text) in &fixture.head {
            match text {
                Some(text) => repo.write(path, text),
                None => fs::remove_file(repo.path().join(path)).unwrap(),
            }
        }
        if !fixture.head.is_empty() {
            repo.commit_all("change");
        }
        repo
    }

    /// Clones this repository by URL, so that `--depth` and `--filter` work.
    pub fn cloned(&self, options: &[&str]) -> Self {
        let clone = Self { dir: TempDir::new().unwrap() };
        let (url, folder) = (self.url(), clone.path().to_str().unwrap().to_owned());
        self.git(&[&["clone", "--quiet"], options, &["--", &url, &folder]].concat());
        clone
    }

    /// The `file://` URL.
    pub fn url(&self) -> String {
        format!("file://{}", self.path().display())
    }

    /// The commit id of a revision.
    pub fn id(&self, name: &str) -> String {
        let printed = self.git(&["rev-parse", "--verify", &format!("{name}^{{commit}}")]);
        String::from_utf8(printed).unwrap().trim().to_owned()
    }

    /// The folder of the repository.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file and creates its folders.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Commits everything in the folder, possibly an empty commit. Returns the commit id.
    pub fn commit(&self, message: &str) -> String {
        self.commit_all(message);
        self.id("HEAD")
    }

    /// Like [`Self::commit`], without a second git process for the id.
    fn commit_all(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    /// Adds a commit to `main` through `git fast-import`: thousands of files at once, without a
    /// checkout.
    ///
    /// # Panics
    ///
    /// If git fails.
    pub fn import(&self, files: impl IntoIterator<Item = (String, String)>) {
        let has_parent =
            !self.git_or_nothing(&["rev-parse", "--quiet", "--verify", "main"]).is_empty();
        let parent = if has_parent { "from refs/heads/main^0\n" } else { "" };
        let mut stream = format!(
            "commit refs/heads/main\ncommitter C <c@example.com> 1767225600 +0000\ndata 1\nx\n{parent}"
        );
        for (path, text) in files {
            stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        let mut child = self
            .command(&["fast-import", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(child.wait().unwrap().success(), "git fast-import failed");
    }

    /// Runs git here and returns its output.
    ///
    /// # Panics
    ///
    /// If git fails: a test that cannot set itself up has failed.
    pub fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = self.run(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} failed: {stderr}");
        output.stdout
    }

    /// Runs git here and returns its output, even if it fails (as `git grep` does without a match).
    pub fn git_or_nothing(&self, args: &[&str]) -> Vec<u8> {
        self.run(args).stdout
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = git(self.path());
        command.args(args);
        command
    }
}

/// git in a folder, without user configuration, with fixed names and dates.
#[expect(clippy::disallowed_methods, reason = "tests set up real repositories")]
pub(crate) fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    // With `env_clear`, the standard library starts git with `fork`, which copies the memory map of
    // the test program.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name != "PATH") {
        command.env_remove(name);
    }
    command
        .current_dir(folder)
        .env("HOME", folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("LC_ALL", "C")
        .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
        .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.com")])
        .envs([("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")])
        .envs([("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")]);
    command
}
