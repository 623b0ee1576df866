//! The only code that changes the user's repository, at the user's request: committing files and
//! pushing.
//!
//! Hooks run here, because they are the user's checks for commits and pushes.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use crate::process::{Git, GitError};
use crate::repository::Repository;
use crate::variables::HiddenVariables;

/// Time limit of a commit, long because hooks may run the project's checks.
const COMMIT_LIMIT: Duration = Duration::from_secs(900);

/// Newest commit of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchTip {
    /// Commit id.
    pub id: String,
    /// Parent commits.
    pub parents: Vec<String>,
    /// Changed files; empty for a merge.
    pub files: Vec<String>,
}

/// A branch of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteBranch {
    /// Name of the remote.
    pub remote: String,
    /// Name of the branch.
    pub branch: String,
}

impl Repository {
    /// Commits only these files on the current branch. If this fails, nothing more is staged than
    /// before. An empty list is an error, because git would commit all paths.
    pub fn commit_files(
        &self,
        paths: &[&str],
        message: &str,
        hidden_variables: &HiddenVariables,
    ) -> Result<(), GitError> {
        if paths.is_empty() {
            let (command, code) = ("commit".to_owned(), None);
            let message = "no files given".to_owned();
            return Err(GitError::Failed { command, code, message });
        }
        let git =
            Git::in_folder(self.folder()).with_filters(hidden_variables).with_limit(COMMIT_LIMIT);
        let git = git.with_hooks();
        let run = |args: &[&str], paths: &[&str]| {
            git.run([&["--literal-pathspecs"], args, &["--"], paths].concat()).map(drop)
        };
        // Staged changes of other files stay out of this commit. If nothing is staged, commit the
        // whole index, so that files staged by hooks are included.
        let nothing_staged = self.staged()?.is_empty();
        let index = self.git_dir.join("index");
        let (old_index, old_head) = (fs::read(&index), self.head().ok());
        let result = run(&["add", "--all"], paths).and_then(|()| match nothing_staged {
            true => git.run(["commit", "--quiet", "-m", message]).map(drop),
            false => run(&["commit", "--quiet", "--only", "-m", message], paths),
        });
        if result.is_err() {
            // Restores what the user has staged, and drops what hooks have staged. If a hook failed
            // after the commit was made, the old index would undo the commit, so crh only unstages
            // the files. An error is ignored, because the error of the commit is more important.
            let restored = match old_index {
                Ok(bytes) if self.head().ok() == old_head => replace_index(&index, &bytes),
                Ok(_) | Err(_) => Err(io::ErrorKind::Unsupported.into()),
            };
            if restored.is_err() {
                run(&["reset", "--quiet"], paths).unwrap_or_default();
            }
        }
        result
    }

    /// Tip of a local branch, with its parents and changed files.
    pub fn tip(&self, branch: &str) -> Result<BranchTip, GitError> {
        let name = format!("refs/heads/{branch}");
        let output = self.git().text(["rev-list", "--parents", "--max-count=1", &name, "--"])?;
        let mut ids = output.split_whitespace().map(str::to_owned);
        let id = ids.next().unwrap_or_default();
        let args = ["diff-tree", "--root", "--no-commit-id", "--name-only", "--no-renames", "-r"];
        let output = self.git().run([&args[..], &["-z", &id, "--"]].concat())?;
        let files = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files = files.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        Ok(BranchTip { id, parents: ids.collect(), files })
    }

    /// Files with staged changes.
    pub fn staged(&self) -> Result<Vec<String>, GitError> {
        let output =
            self.git().run(["diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD"])?;
        let names = output.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The remote branch that is the upstream of a local branch.
    pub fn upstream_branch(&self, branch: &str) -> Option<RemoteBranch> {
        let pattern = format!("refs/heads/{branch}");
        let format = "--format=%(upstream:remotename)%00%(upstream:remoteref)";
        let output =
            self.git().text(["for-each-ref", format, "--end-of-options", &pattern]).ok()?;
        let (remote, branch) = output.split_once('\0')?;
        let branch = branch.strip_prefix("refs/heads/")?;
        // `.` means a local branch.
        (!remote.is_empty() && remote != ".")
            .then(|| RemoteBranch { remote: remote.to_owned(), branch: branch.to_owned() })
    }

    /// Pushes one local branch to a remote branch, regardless of the user's push settings. A branch
    /// without an upstream gets this one.
    pub fn push(
        &self,
        branch: &str,
        target: &RemoteBranch,
        hidden_variables: &HiddenVariables,
    ) -> Result<(), GitError> {
        let git = Git::in_folder(self.folder()).with_network(hidden_variables).with_hooks();
        let refspec = format!("refs/heads/{branch}:refs/heads/{}", target.branch);
        let no_extra_refs = ["--no-follow-tags", "--recurse-submodules=no"];
        let upstream_option = match self.upstream_branch(branch) {
            None => "--set-upstream",
            Some(_) => "--no-set-upstream",
        };
        let args = [
            "push",
            no_extra_refs[0],
            no_extra_refs[1],
            upstream_option,
            "--",
            &target.remote,
            &refspec,
        ];
        git.run(args).map(drop)
    }
}

/// Replaces the index as git does: through its lock file.
fn replace_index(index: &Path, bytes: &[u8]) -> io::Result<()> {
    let lock = index.with_extension("lock");
    let mut file = fs::File::create_new(&lock)?;
    let replaced = file.write_all(bytes).and_then(|()| fs::rename(&lock, index));
    replaced.or_else(|error| fs::remove_file(&lock).and(Err(error)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crh_testkit::Repo;

    fn repository(repo: &Repo) -> Repository {
        repo.git(&["config", "user.name", "A"]);
        repo.git(&["config", "user.email", "a@example.org"]);
        Repository::discover(repo.path()).unwrap()
    }

    fn git_output(repo: &Repo, args: &[&str]) -> String {
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
        repository.commit_files(&files, "fix(review): one", &HiddenVariables::default()).unwrap();
        let commit = git_output(&repo, &["show", "--format=%s", "--name-status", "HEAD"]);
        assert_eq!(commit, "fix(review): one\n\nM\ta.txt\nD\tc.txt\nA\tnew [x].txt\n");
        assert_eq!(git_output(&repo, &["status", "--porcelain"]), "M  b.txt\n");
    }

    #[test]
    fn commit_rejected_by_hook_leaves_the_index_as_it_was() {
        let repo = Repo::from_fixture("//- a.txt\na\n//- b.txt\nb\n//- c.txt\nc\n");
        let repository = repository(&repo);
        let hook = repo.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ngit add other.txt\necho not today >&2\nexit 1\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        repo.write("a.txt", "staged\n");
        repo.write("b.txt", "mine\n");
        repo.git(&["add", "a.txt", "b.txt"]);
        repo.write("a.txt", "fixed\n");
        repo.write("new.txt", "new\n");
        repo.write("other.txt", "other\n");
        fs::remove_file(repo.path().join("c.txt")).unwrap();
        let before = git_output(&repo, &["status", "--porcelain"]);
        let files = ["a.txt", "c.txt", "new.txt"];
        let error = repository.commit_files(&files, "x", &HiddenVariables::default()).unwrap_err();
        assert!(error.to_string().contains("not today"), "{error}");
        assert_eq!(git_output(&repo, &["status", "--porcelain"]), before);
        assert_eq!(git_output(&repo, &["show", ":a.txt"]), "staged\n");
    }

    #[test]
    fn commit_without_files_fails() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        let repository = repository(&repo);
        repo.write("a.txt", "mine\n");
        let error = repository.commit_files(&[], "x", &HiddenVariables::default()).unwrap_err();
        assert_eq!(error.to_string(), "`git commit` failed: no files given");
        assert_eq!(git_output(&repo, &["status", "--porcelain"]), " M a.txt\n");
    }

    #[test]
    fn branch_is_pushed_to_its_target() {
        let origin = Repo::from_fixture("//- a.txt\na\n");
        origin.git(&["config", "receive.denyCurrentBranch", "ignore"]);
        let repo = origin.cloned(&[]);
        let repository = repository(&repo);
        repo.git(&["checkout", "--quiet", "-b", "topic"]);
        repo.write("a.txt", "b\n");
        repository
            .commit_files(&["a.txt"], "fix(review): one", &HiddenVariables::default())
            .unwrap();
        assert_eq!(repository.upstream_branch("topic"), None);
        let topic = RemoteBranch { remote: "origin".to_owned(), branch: "topic".to_owned() };
        repository.push("topic", &topic, &HiddenVariables::default()).unwrap();
        assert_eq!(origin.id("topic"), repo.id("HEAD"));
        assert_eq!(repository.upstream_branch("topic"), Some(topic.clone()));
        repo.write("a.txt", "c\n");
        repository
            .commit_files(&["a.txt"], "fix(review): two", &HiddenVariables::default())
            .unwrap();
        repository.push("topic", &topic, &HiddenVariables::default()).unwrap();
        assert_eq!(origin.id("topic"), repo.id("HEAD"));
    }

    #[test]
    fn push_ignores_push_settings() {
        let origin = Repo::from_fixture("//- a.txt\na\n");
        origin.git(&["config", "receive.denyCurrentBranch", "ignore"]);
        let repo = origin.cloned(&[]);
        let repository = repository(&repo);
        repo.git(&["checkout", "--quiet", "-b", "topic", "--track", "origin/main"]);
        for (name, value) in
            [("push.default", "matching"), ("push.followTags", "true"), ("remote.pushDefault", "x")]
        {
            repo.git(&["config", name, value]);
        }
        repo.git(&["tag", "-a", "-m", "mine", "private"]);
        let main = origin.id("main");
        repo.write("a.txt", "b\n");
        repository
            .commit_files(&["a.txt"], "fix(review): one", &HiddenVariables::default())
            .unwrap();
        let topic = RemoteBranch { remote: "origin".to_owned(), branch: "topic".to_owned() };
        repository.push("topic", &topic, &HiddenVariables::default()).unwrap();
        let refs = git_output(&origin, &["for-each-ref", "--format=%(refname)"]);
        assert_eq!(refs, "refs/heads/main\nrefs/heads/topic\n");
        assert_eq!((origin.id("main"), origin.id("topic")), (main, repo.id("HEAD")));
        let upstream = repository.upstream_branch("topic").map(|upstream| upstream.branch);
        assert_eq!(upstream.as_deref(), Some("main"), "the upstream stays");
    }

    #[test]
    fn tip_has_parents_and_files() {
        let repo = Repo::from_fixture("//- a.txt\na\n//- b.txt\nb\n");
        let repository = repository(&repo);
        let first = repo.id("HEAD");
        assert_eq!(repository.tip("main").unwrap().parents, Vec::<String>::new());
        repo.write("a.txt", "fixed\n");
        repository.commit_files(&["a.txt"], "x", &HiddenVariables::default()).unwrap();
        let files = vec!["a.txt".to_owned()];
        let tip = BranchTip { id: repo.id("HEAD"), parents: vec![first], files };
        assert_eq!(repository.tip("main").unwrap(), tip);
    }

    #[test]
    fn changes_staged_by_hooks_are_committed() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        let repository = repository(&repo);
        let hook = repo.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho formatted >> a.txt\ngit add a.txt\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        repo.write("a.txt", "fixed\n");
        repository.commit_files(&["a.txt"], "x", &HiddenVariables::default()).unwrap();
        assert_eq!(git_output(&repo, &["show", "HEAD:a.txt"]), "fixed\nformatted\n");
        assert_eq!(git_output(&repo, &["status", "--porcelain"]), "");
    }

    #[test]
    fn user_hooks_run() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        let repository = repository(&repo);
        let hook = repo.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho no >&2\nexit 1\n").unwrap();
        let mut mode = fs::metadata(&hook).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
        fs::set_permissions(&hook, mode).unwrap();
        repo.write("a.txt", "b\n");
        let error =
            repository.commit_files(&["a.txt"], "x", &HiddenVariables::default()).unwrap_err();
        assert_eq!(error.to_string(), "`git commit` failed: no");
    }
}
