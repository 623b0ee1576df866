//! Creates many commits with one `git fast-import`, without a checkout or an index.

use crate::process::{Git, GitError};

/// A stream of commits for git.
#[derive(Debug, Default)]
pub(crate) struct FastImport {
    stream: Vec<u8>,
    commit_count: usize,
}

impl FastImport {
    /// Starts a commit on a branch; `from` is the parent branch. If it is empty, the parent is the
    /// last commit of `branch` in this stream, if there is one. `committer` is `Name <address>
    /// seconds zone`; a fixed time keeps commit ids stable. Later calls add files to this commit.
    pub(crate) fn commit(&mut self, branch: &str, committer: &str, message: &str, from: &str) {
        self.commit_count += 1;
        let mark = self.commit_count;
        let length = message.len();
        let header = format!(
            "commit refs/heads/{branch}\nmark :{mark}\ncommitter {committer}\ndata {length}\n{message}\n"
        );
        self.stream.extend_from_slice(header.as_bytes());
        if !from.is_empty() {
            self.stream.extend_from_slice(format!("from refs/heads/{from}\n").as_bytes());
        }
    }

    /// Removes the files that the commit inherits from its parent.
    pub(crate) fn clear(&mut self) {
        self.stream.extend_from_slice(b"deleteall\n");
    }

    /// Adds a file to the commit.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8]) {
        let header = format!("M 100644 inline {}\ndata {}\n", quoted_path(path), bytes.len());
        self.stream.extend_from_slice(header.as_bytes());
        self.stream.extend_from_slice(bytes);
        self.stream.push(b'\n');
    }

    /// Sets the root tree of the commit.
    pub(crate) fn tree(&mut self, id: &str) {
        self.stream.extend_from_slice(format!("M 040000 {id} \"\"\n").as_bytes());
    }

    /// Runs git. Returns the commit ids in order.
    pub(crate) fn run(mut self, git: &Git) -> Result<Vec<String>, GitError> {
        for mark in 1..=self.commit_count {
            self.stream.extend_from_slice(format!("get-mark :{mark}\n").as_bytes());
        }
        self.stream.extend_from_slice(b"done\n");
        let output = git.run_with_input(["fast-import", "--quiet", "--done"], &self.stream)?;
        Ok(String::from_utf8_lossy(&output).lines().map(str::to_owned).collect())
    }
}

/// Quotes a path. Only three characters need escaping.
fn quoted_path(path: &str) -> String {
    let path = path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{path}\"")
}
