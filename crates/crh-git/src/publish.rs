//! The two things that change the user's repository, and only when the user has just said so: a commit of some files, and a push.
//!
//! Hooks run here, unlike elsewhere: they are the user's own guard of what is committed and pushed.

use std::time::Duration;

use crate::process::{Git, GitError};
use crate::repository::Repository;
use crate::variables::Withheld;

/// Hooks may run the project's checks, which take as long as those take.
const COMMIT_LIMIT: Duration = Duration::from_secs(900);

/// The newest commit of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    /// Its id.
    pub id: String,
    /// The commits that it stands on.
    pub parents: Vec<String>,
    /// The files that it changes; none that it says of a merge.
    pub files: Vec<String>,
}

/// A branch at a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteBranch {
    /// The name of the remote.
    pub remote: String,
    /// The name of the branch there.
    pub branch: String,
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
        // What the user has staged of other files is not for this commit. Where there is none, hooks may stage what they make of
        // these: by their names alone, git would leave that behind as a change that is taken back.
        let is_alone = self.staged()?.is_empty();
        let committed = run(&["add", "--all"], paths).and_then(|()| match is_alone {
            true => git.run(["commit", "--quiet", "-m", message]).map(drop),
            false => run(&["commit", "--quiet", "--only", "-m", message], paths),
        });
        if committed.is_err() {
            // What a hook has staged goes too. Why it failed is what the user has to know, whatever becomes of this.
            let staged = if is_alone { &["."] } else { paths };
            run(&["reset", "--quiet"], staged).unwrap_or_default();
        }
        committed
    }

    /// The commit at the tip of a local branch: its parents, and the files that it changes.
    pub fn tip(&self, branch: &str) -> Result<Tip, GitError> {
        let name = format!("refs/heads/{branch}");
        let printed = self.git().text(["rev-list", "--parents", "--max-count=1", &name, "--"])?;
        let mut ids = printed.split_whitespace().map(str::to_owned);
        let id = ids.next().unwrap_or_default();
        let args = ["diff-tree", "--root", "--no-commit-id", "--name-only", "--no-renames", "-r"];
        let printed = self.git().run([&args[..], &["-z", &id, "--"]].concat())?;
        let files = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        let files = files.map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        Ok(Tip { id, parents: ids.collect(), files })
    }

    /// The files that are staged otherwise than they are committed.
    pub fn staged(&self) -> Result<Vec<String>, GitError> {
        let printed =
            self.git().run(["diff", "--cached", "--name-only", "--no-renames", "-z", "HEAD"])?;
        let names = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// The branch at a remote that a local one follows.
    pub fn followed(&self, branch: &str) -> Option<RemoteBranch> {
        let pattern = format!("refs/heads/{branch}");
        let format = "--format=%(upstream:remotename)%00%(upstream:remoteref)";
        let printed =
            self.git().text(["for-each-ref", format, "--end-of-options", &pattern]).ok()?;
        let (remote, branch) = printed.split_once('\0')?;
        let branch = branch.strip_prefix("refs/heads/")?;
        // A local branch is at no remote.
        (!remote.is_empty() && remote != ".")
            .then(|| RemoteBranch { remote: remote.to_owned(), branch: branch.to_owned() })
    }

    /// Pushes a local branch to one at a remote, and nothing else, whatever the user's settings push besides.
    pub fn push(
        &self,
        branch: &str,
        to: &RemoteBranch,
        withheld: &Withheld,
    ) -> Result<(), GitError> {
        let git = Git::in_folder(self.folder()).with_network(withheld).with_hooks();
        let what = format!("refs/heads/{branch}:refs/heads/{}", to.branch);
        let alone = ["--no-follow-tags", "--recurse-submodules=no"];
        let follow = match self.followed(branch) {
            None => "--set-upstream",
            Some(_) => "--no-set-upstream",
        };
        let args = ["push", alone[0], alone[1], follow, "--", &to.remote, &what];
        git.run(args).map(drop)
    }
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
        assert_eq!(repository.followed("topic"), None);
        let topic = RemoteBranch { remote: "origin".to_owned(), branch: "topic".to_owned() };
        repository.push("topic", &topic, &Withheld::default()).unwrap();
        assert_eq!(origin.id("topic"), repo.id("HEAD"));
        assert_eq!(repository.followed("topic"), Some(topic.clone()));
        repo.write("a.txt", "c\n");
        repository.commit_files(&["a.txt"], "fix(review): two", &Withheld::default()).unwrap();
        repository.push("topic", &topic, &Withheld::default()).unwrap();
        assert_eq!(origin.id("topic"), repo.id("HEAD"));
    }

    #[test]
    fn one_branch_is_pushed_whatever_settings_would_push_besides() {
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
        repository.commit_files(&["a.txt"], "fix(review): one", &Withheld::default()).unwrap();
        let topic = RemoteBranch { remote: "origin".to_owned(), branch: "topic".to_owned() };
        repository.push("topic", &topic, &Withheld::default()).unwrap();
        let refs = said(&origin, &["for-each-ref", "--format=%(refname)"]);
        assert_eq!(refs, "refs/heads/main\nrefs/heads/topic\n");
        assert_eq!((origin.id("main"), origin.id("topic")), (main, repo.id("HEAD")));
        let followed = repository.followed("topic").map(|followed| followed.branch);
        assert_eq!(followed.as_deref(), Some("main"), "what it follows is the user's");
    }

    #[test]
    fn the_tip_of_a_branch_is_known_by_its_parents_and_files() {
        let repo = Repo::from_fixture("//- a.txt\na\n//- b.txt\nb\n");
        let repository = repository(&repo);
        let first = repo.id("HEAD");
        assert_eq!(repository.tip("main").unwrap().parents, Vec::<String>::new());
        repo.write("a.txt", "fixed\n");
        repository.commit_files(&["a.txt"], "x", &Withheld::default()).unwrap();
        let files = vec!["a.txt".to_owned()];
        let tip = Tip { id: repo.id("HEAD"), parents: vec![first], files };
        assert_eq!(repository.tip("main").unwrap(), tip);
    }

    #[test]
    fn what_a_hook_makes_of_the_files_is_committed_and_nothing_is_left_staged() {
        let repo = Repo::from_fixture("//- a.txt\na\n");
        let repository = repository(&repo);
        let hook = repo.path().join(".git/hooks/pre-commit");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho formatted >> a.txt\ngit add a.txt\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        repo.write("a.txt", "fixed\n");
        repository.commit_files(&["a.txt"], "x", &Withheld::default()).unwrap();
        assert_eq!(said(&repo, &["show", "HEAD:a.txt"]), "fixed\nformatted\n");
        assert_eq!(said(&repo, &["status", "--porcelain"]), "");
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
