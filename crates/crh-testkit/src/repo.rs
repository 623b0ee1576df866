//! A real git repository in a temporary folder: no user configuration, fixed names and dates.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::fixture::Fixture;

/// A git repository that is gone when the test ends.
#[derive(Debug)]
pub struct Repo {
    dir: TempDir,
}

impl Default for Repo {
    fn default() -> Self {
        Self::new()
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
        repo.commit("base");
        for (path, text) in &fixture.head {
            match text {
                Some(text) => repo.write(path, text),
                None => fs::remove_file(repo.path().join(path)).unwrap(),
            }
        }
        if !fixture.head.is_empty() {
            repo.commit("change");
        }
        repo
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Writes a file, with the folders it needs.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Commits everything that lies in the folder, also nothing at all. Returns the commit's hash.
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        String::from_utf8(self.git(&["rev-parse", "HEAD"])).unwrap().trim().to_owned()
    }

    /// Runs git here; what it printed.
    ///
    /// # Panics
    /// If git fails: a test that cannot set itself up has failed.
    #[expect(clippy::disallowed_methods, reason = "tests set up real repositories")]
    pub fn git(&self, args: &[&str]) -> Vec<u8> {
        let output = Command::new("git")
            .current_dir(self.path())
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", self.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("LC_ALL", "C")
            .envs([("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
            .envs([("GIT_COMMITTER_NAME", "C"), ("GIT_COMMITTER_EMAIL", "c@example.com")])
            .envs([("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")])
            .envs([("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")])
            .args(args)
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} failed: {stderr}");
        output.stdout
    }
}
