//! Commits made of values in one `git fast-import`, however many there are: no checkout, no index, no loose object.

use crate::process::{Git, GitError};

/// A list of commits on its way to git.
#[derive(Debug, Default)]
pub(crate) struct FastImport {
    stream: Vec<u8>,
    commits: usize,
}

impl FastImport {
    /// Begins a commit on a branch, on top of what the branch has had in this list; `committer` is `Name <address> seconds
    /// zone`, and fixed, so that the same commits have the same names everywhere. What follows is in this commit.
    pub(crate) fn commit(&mut self, branch: &str, committer: &str, message: &str, from: &str) {
        self.commits += 1;
        let mark = self.commits;
        let length = message.len();
        let head = format!(
            "commit refs/heads/{branch}\nmark :{mark}\ncommitter {committer}\ndata {length}\n{message}\n"
        );
        self.stream.extend_from_slice(head.as_bytes());
        if !from.is_empty() {
            self.stream.extend_from_slice(format!("from refs/heads/{from}\n").as_bytes());
        }
    }

    /// Takes out of the commit what it has from its parent.
    pub(crate) fn clear(&mut self) {
        self.stream.extend_from_slice(b"deleteall\n");
    }

    /// Puts a file into the commit.
    pub(crate) fn file(&mut self, path: &str, bytes: &[u8]) {
        let head = format!("M 100644 inline {}\ndata {}\n", quoted(path), bytes.len());
        self.stream.extend_from_slice(head.as_bytes());
        self.stream.extend_from_slice(bytes);
        self.stream.push(b'\n');
    }

    /// Makes a tree that is there already the whole of the commit.
    pub(crate) fn tree(&mut self, id: &str) {
        self.stream.extend_from_slice(format!("M 040000 {id} \"\"\n").as_bytes());
    }

    /// Hands the list to git; the names of the commits, in their order.
    pub(crate) fn run(mut self, git: &Git) -> Result<Vec<String>, GitError> {
        for mark in 1..=self.commits {
            self.stream.extend_from_slice(format!("get-mark :{mark}\n").as_bytes());
        }
        self.stream.extend_from_slice(b"done\n");
        let printed = git.run_with_input(["fast-import", "--quiet", "--done"], &self.stream)?;
        Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
    }
}

/// A path as it is read there. Everything but these three stands for itself inside quotes.
fn quoted(path: &str) -> String {
    let path = path.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{path}\"")
}
