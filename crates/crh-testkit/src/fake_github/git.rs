//! Bare repositories of the fake: copies of test repositories, diffs, and git over HTTP.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;

use super::diff::Diff;
use crate::http::HttpRequest;
use crate::repo::git;

/// Maximum number of commits that GitHub lists.
const MAX_COMMITS: usize = 250;

/// As on GitHub, commits that a force push removed from a branch can be fetched by hash.
const CONFIG: &str =
    "[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n[gc]\n\tauto = 0\n";

/// A bare repository and its source.
#[derive(Debug, Clone)]
pub(crate) struct FakeBareRepository {
    pub(crate) path: PathBuf,
    pub(crate) source: PathBuf,
}

/// A commit of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FakeCommit {
    pub(crate) sha: String,
    pub(crate) tree: String,
    pub(crate) parents: Vec<String>,
    pub(crate) author: (String, String, String),
    pub(crate) message: String,
}

/// CGI reply of `git http-backend`.
#[derive(Debug)]
pub(crate) struct CgiReply {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum DiffContext {
    Three,
    None,
}

impl FakeBareRepository {
    pub(crate) fn new(path: PathBuf, source: &Path) -> Self {
        std::fs::create_dir_all(&path).unwrap();
        let bare = Self { path, source: source.to_owned() };
        bare.run(&["init", "--quiet", "--bare", "--initial-branch=main"]);
        let config = std::fs::OpenOptions::new().append(true).open(bare.path.join("config"));
        config.unwrap().write_all(CONFIG.as_bytes()).unwrap();
        bare.refresh();
        bare
    }

    /// Copies the current branches and tags of the test repository.
    pub(crate) fn refresh(&self) {
        let source = self.source.to_str().unwrap();
        let branches = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        self.run(&[&["fetch", "--quiet", "--prune", "--no-tags", source], &branches[..]].concat());
    }

    /// Fetches a commit of another repository as the head of a pull request.
    pub(crate) fn fetch_head(&self, from: &Self, sha: &str, number: u64) {
        self.fetch_ref(from, sha, &format!("refs/pull/{number}/head"));
    }

    /// Fetches a commit of another repository under a name.
    pub(crate) fn fetch_ref(&self, from: &Self, sha: &str, name: &str) {
        if from.path != self.path {
            self.run(&["fetch", "--quiet", "--no-tags", from.path.to_str().unwrap(), sha]);
        }
        self.run(&["update-ref", name, sha]);
    }

    /// Removes unreachable objects.
    pub(crate) fn clean_up(&self) {
        self.run(&["reflog", "expire", "--expire=now", "--all"]);
        self.run(&["gc", "--quiet", "--prune=now"]);
    }

    pub(crate) fn tip(&self, branch: &str) -> Option<String> {
        let name = format!("refs/heads/{branch}^{{commit}}");
        let output = git(&self.path).args(["rev-parse", "--quiet", "--verify", &name]).output();
        let output = output.unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(crate) fn merge_base(&self, left: &str, right: &str) -> Option<String> {
        let output = git(&self.path).args(["merge-base", left, right]).output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// Merges one commit into another. Returns the id of the merged tree and the conflicting
    /// files, which have conflict markers in that tree.
    pub(crate) fn merge(&self, into: &str, from: &str) -> (String, Vec<String>) {
        let merge = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages"];
        let unrelated = "--allow-unrelated-histories";
        let output = git(&self.path).args(merge).args([unrelated, into, from]).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{stderr}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parts = text.split('\0').filter(|part| !part.is_empty()).map(str::to_owned);
        (parts.next().unwrap(), parts.collect())
    }

    pub(super) fn diff(&self, old: &str, new: &str, context: DiffContext) -> Diff {
        let diff = |form: &[&str], more: &[&str]| {
            let quoted = ["-c", "core.quotepath=false", "diff", "--no-color", "--no-ext-diff"];
            self.run(&[&quoted[..], &["--no-textconv"], form, more, &[old, new, "--"]].concat())
        };
        let options: &[&str] = match context {
            DiffContext::Three => &["--find-renames"],
            DiffContext::None => &["--no-renames", "--unified=0"],
        };
        Diff::parse(
            &diff(&["--raw", "-z", "--no-abbrev"], options),
            &diff(&["--numstat", "-z"], options),
            &diff(&["--patch"], options),
        )
    }

    /// Git's diff of two commits or trees, with renames.
    pub(crate) fn diff_text(&self, old: &str, new: &str) -> Vec<u8> {
        let args = ["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames"];
        let output = git(&self.path).args(args).args([old, new, "--"]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Commits in `with` but not in `without`, oldest first: at most the newest `MAX_COMMITS`.
    pub(crate) fn commits(&self, without: &str, with: &str) -> Vec<FakeCommit> {
        let (range, max_count) =
            (format!("{without}..{with}"), format!("--max-count={MAX_COMMITS}"));
        let form = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%B%x01";
        let output =
            self.run(&["log", "--reverse", "--topo-order", &max_count, form, &range, "--"]);
        let commits = output.split('\u{1}').filter_map(|record| {
            let fields: Vec<&str> = record.trim_start_matches('\n').split('\0').collect();
            let [sha, tree, parents, name, email, date, message] = fields[..] else { return None };
            Some(FakeCommit {
                sha: sha.to_owned(),
                tree: tree.to_owned(),
                parents: parents.split_whitespace().map(str::to_owned).collect(),
                author: (name.to_owned(), email.to_owned(), date.to_owned()),
                message: message.trim_end().to_owned(),
            })
        });
        commits.collect()
    }

    /// Answers a request with `git http-backend`.
    pub(crate) fn serve(&self, request: &HttpRequest, service: &str, query: &str) -> CgiReply {
        let mut command = git(&self.path);
        command
            .arg("http-backend")
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_PROJECT_ROOT", &self.path)
            .env("PATH_INFO", format!("/{service}"))
            .env("QUERY_STRING", query)
            .env("REQUEST_METHOD", &request.method)
            .env("CONTENT_LENGTH", request.body.len().to_string());
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            command.envs(request.header(header).map(|value| (variable, value)));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let output = thread::scope(|scope| {
            // Git may stop reading early; its reply says why.
            scope.spawn(move || drop(stdin.write_all(&request.body)));
            child.wait_with_output().unwrap()
        });
        CgiReply::parse(output.stdout)
    }

    /// Type of an object; `None` if there is no such object.
    pub(crate) fn object_type(&self, id: &str) -> Option<String> {
        if id.len() != 40 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let output = git(&self.path).args(["cat-file", "-t", id]).output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(crate) fn blob(&self, id: &str) -> Vec<u8> {
        git(&self.path).args(["cat-file", "blob", id]).output().unwrap().stdout
    }

    /// Entries of a tree: mode, type, id and name. Empty if there is no such tree.
    pub(crate) fn tree(&self, id: &str) -> Vec<(String, String, String, String)> {
        let output = git(&self.path).args(["ls-tree", "-z", id]).output().unwrap().stdout;
        let output = String::from_utf8_lossy(&output);
        let entries = output.split('\0').filter_map(|entry| {
            let (about, name) = entry.split_once('\t')?;
            let mut words = about.split(' ').map(str::to_owned);
            Some((words.next()?, words.next()?, words.next()?, name.to_owned()))
        });
        entries.collect()
    }

    /// Tree, parents and message of a commit.
    pub(crate) fn commit_parts(&self, id: &str) -> (String, Vec<String>, String) {
        let output = self.run(&["show", "--no-patch", "--format=%T%x00%P%x00%B", id]);
        let mut parts = output.splitn(3, '\0').map(str::to_owned);
        let mut next = || parts.next().unwrap_or_default();
        let (tree, parents, message) = (next(), next(), next());
        let parents = parents.split_whitespace().map(str::to_owned).collect();
        (tree, parents, message.trim_end().to_owned())
    }

    /// Last commit up to this one that changed a file.
    pub(crate) fn last_commit(&self, commit: &str, path: &str) -> String {
        self.run(&["log", "--max-count=1", "--format=%H", commit, "--", path]).trim().to_owned()
    }

    /// Writes a tree like another one, with some files replaced: path, mode and text.
    pub(crate) fn write_tree(&self, base: &str, files: &[(String, String, String)]) -> String {
        let folder = tempfile::TempDir::new().unwrap();
        let with_index = |args: &[&str], input: &str| {
            let mut command = git(&self.path);
            command.args(args).env("GIT_INDEX_FILE", folder.path().join("index"));
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "git {args:?} failed");
            String::from_utf8_lossy(&output.stdout).trim().to_owned()
        };
        with_index(&["read-tree", base], "");
        for (path, mode, text) in files {
            let blob = with_index(&["hash-object", "-w", "--stdin"], text);
            let entry = format!("{mode},{blob},{path}");
            with_index(&["update-index", "--add", "--cacheinfo", &entry], "");
        }
        with_index(&["write-tree"], "")
    }

    pub(crate) fn write_commit(&self, tree: &str, parents: &[String], message: &str) -> String {
        let parents: Vec<&str> =
            parents.iter().flat_map(|parent| ["-p", parent.as_str()]).collect();
        let args = [&["commit-tree", tree, "-m", message], &parents[..]].concat();
        self.run(&args).trim().to_owned()
    }

    /// Moves a branch here and in the test repository.
    pub(crate) fn move_branch(&self, branch: &str, sha: &str) {
        let name = format!("refs/heads/{branch}");
        self.run(&["update-ref", &name, sha]);
        let path = self.path.to_str().unwrap();
        for args in [&["fetch", "--quiet", "--no-tags", path, sha][..], &["update-ref", &name, sha]]
        {
            let output = git(&self.source).args(args).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    fn run(&self, args: &[&str]) -> String {
        let output = git(&self.path).args(args).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?} failed: {stderr}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl CgiReply {
    fn parse(mut output: Vec<u8>) -> Self {
        let end = output.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap_or(output.len());
        let body = output.split_off((end + 4).min(output.len()));
        let head = String::from_utf8_lossy(&output).into_owned();
        let field = |name: &str| {
            let value = head.lines().find_map(|line| line.strip_prefix(name));
            value.map(str::trim)
        };
        let status = field("Status:").and_then(|status| status.get(..3)?.parse().ok());
        Self {
            status: status.unwrap_or(if head.is_empty() { 500 } else { 200 }),
            content_type: field("Content-Type:").unwrap_or("text/plain").to_owned(),
            body,
        }
    }
}
