//! The two things that change the user's repository, and only when the user has just said so: a commit of some files, and a push.
//!
//! Hooks run here, unlike elsewhere: they are the user's own guard of what is committed and pushed.

use std::time::Duration;

use crate::process::Git;
use crate::process::GitError;
use crate::repository::Repository;
use crate::variables::Withheld;

/// Hooks may run the project's checks, which take as long as those take.
const COMMIT_LIMIT: Duration = Duration::from_secs(900);

/// Where a branch is pushed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upstream {
    /// Where the user's settings say.
    AsItIs,
    /// To a branch of the same name at `origin`, which it follows from then on.
    Origin,
}

impl Repository {
    /// Commits these files as they lie in the checkout, and nothing else, on the branch that is checked out; where that fails, nothing
    /// is staged that was not before. Without a file nothing is committed: to git, no path is every path.
    pub fn commit_files(
        &self,
        paths: &[&str],
        message: &str,
        withheld: &Withheld,
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            let (command, code) = ("commit".to_owned(), None);
            let message = "no file was named".to_owned();
            return Err(GitError::Failed { command, code, message });
        }
        let git = Git::in_folder(self.folder()).with_filters(withheld).with_limit(COMMIT_LIMIT);
        let git = git.with_hooks();
        let run = |args: &[&str], paths: &[&str]| {
            git.run([&["--literal-pathspecs"], args, &["--"], paths].concat()).map(drop)
        };
        // A file that git does not know cannot be committed by its name.
        let mut new = Vec::new();
        for path in paths {
            if !self.tracks(path)? {
                new.push(*path);
            }
        }
        if !new.is_empty() {
            run(&["add", "--intent-to-add"], &new)?;
        }
        let committed = run(&["commit", "--quiet", "--only", "-m", message], paths);
        if committed.is_err() && !new.is_empty() {
            // Why it failed is what the user has to know, whatever becomes of this.
            run(&["rm", "--quiet", "--cached"], &new).unwrap_or_default();
        }
        committed
    }

    /// Pushes the branch that is checked out.
    pub fn push(&self, upstream: Upstream, withheld: &Withheld) -> Result<(), GitError> {
        let git = Git::in_folder(self.folder()).with_network(withheld).with_hooks();
        match upstream {
            Upstream::AsItIs => git.run(["push"])?,
            Upstream::Origin => git.run(["push", "--set-upstream", "origin", "HEAD"])?,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use crh_testkit::Repo;

    use super::*;

    fn repository(repo: &Repo) -> Repository {
        repo.git(&["config", "user.name", "A"]);
        repo.git(&["config", "user.email", "a@example.org"]);
        Repository::discover(repo.path()).unwrap()
    }

    fn said(repo: &Repo, args: &[&str]) -> String {
        String::from_utf8(repo.git(args)).unwrap()
    }

    #[test]
    fn only_the_named_files_are_committed() {
        let repo = Repo::from_fixture("//- a.txt\na\n//- b.txt\nb\n//- c.txt\nc\n");
        let repository = repository(&repo);
        repo.write("a.txt", "fixed\n");
        repo.write("b.txt", "mine\n");
        repo.git(&["add", "b.txt"]);
        repo.write("new [x].txt", "new\n");
        fs::remove_file(repo.path().join("c.txt")).unwrap();
        let files = ["a.txt", "c.txt", "new [x].txt"];
        repository.commit_files(&files, "fix(review): one", &Withheld::default()).unwrap();
        let shown = said(&repo, &["show", "--format=%s", "--name-status", "HEAD"]);
        assert_eq!(shown, "fix(review): one\n\nM\ta.txt\nD\tc.txt\nA\tnew [x].txt\n");
        assert_eq!(said(&repo, &["status", "--porcelain"]), "M  b.txt\n");
    }

    #[test]
    fn a_commit_that_a_hook_refuses_leaves_nothing_staged() {
        let repo = Repo::from_fixture("//- a.txt\na\n//- b.txt\nb\n//- c.txt\nc\n");
        let repository = repository(&repo);
        let hook = repo.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho not today >&2\nexit 1\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        repo.write("a.txt", "fixed\n");
        repo.write("b.txt", "mine\n");
        repo.git(&["add", "b.txt"]);
        repo.write("new.txt", "new\n");
        fs::remove_file(repo.path().join("c.txt")).unwrap();
        let before = said(&repo, &["status", "--porcelain"]);
        let files = ["a.txt", "c.txt", "new.txt"];
        let refused = repository.commit_files(&files, "x", &Withheld::default()).unwrap_err();
        assert!(refused.to_string().contains("not today"), "{refused}");
        assert_eq!(said(&repo, &["status", "--porcelain"]), before);
    }

    #[test]
    fn without_a_file_nothing_is_committed() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        let repository = repository(&repo);
        repo.write("a.txt", "mine\n");
        let refused = repository.commit_files(&[], "x", &Withheld::default()).unwrap_err();
        assert_eq!(refused.to_string(), "`git commit` failed: no file was named");
        assert_eq!(said(&repo, &["status", "--porcelain"]), " M a.txt\n");
    }

    #[test]
    fn a_branch_is_pushed_where_it_belongs() {
        let origin = Repo::from_fixture("//- a.txt\na\n");
        origin.git(&["config", "receive.denyCurrentBranch", "ignore"]);
        let repo = origin.cloned(&[]);
        let repository = repository(&repo);
        repo.git(&["checkout", "--quiet", "-b", "topic"]);
        repo.write("a.txt", "b\n");
        repository.commit_files(&["a.txt"], "fix(review): one", &Withheld::default()).unwrap();
        repository.push(Upstream::Origin, &Withheld::default()).unwrap();
        assert_eq!(origin.id("topic"), repo.id("HEAD"));
        repo.write("a.txt", "c\n");
        repository.commit_files(&["a.txt"], "fix(review): two", &Withheld::default()).unwrap();
        repository.push(Upstream::AsItIs, &Withheld::default()).unwrap();
        assert_eq!(origin.id("topic"), repo.id("HEAD"));
    }

    #[test]
    fn the_users_hooks_have_their_say() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        let repository = repository(&repo);
        let hook = repo.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho no >&2\nexit 1\n").unwrap();
        let mut mode = fs::metadata(&hook).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        fs::set_permissions(&hook, mode).unwrap();
        repo.write("a.txt", "b\n");
        let refused = repository.commit_files(&["a.txt"], "x", &Withheld::default()).unwrap_err();
        assert_eq!(refused.to_string(), "`git commit` failed: no");
    }
}
