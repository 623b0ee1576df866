//! Sample workspace with contents in every file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crh_pipeline::workspace;
use crh_pipeline::workspace::{
    AgentFile, ChangeMetadata, CiCheck, CiStatus, CommitEntry, ContextFile, LinkedIssueEntry,
    Workspace, WorkspaceComment, WorkspaceContents, WorkspaceRound, WorkspaceThread,
};
use crh_review::diff::Diff;

/// A real diff with every edge case that has broken a parser.
pub(crate) const EDGE: &[u8] = include_bytes!("../../../crh-review/tests/data/edge.diff");

/// A small first round: one changed line, and a file that becomes a symlink.
pub(crate) const SMALL: &str = "\
diff --git a/src/a.rs b/src/a.rs
index 1111111..2222222 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -1,3 +1,3 @@
 fn a() {
-    old();
+    new();
 }
diff --git a/config b/config
deleted file mode 100644
index 3333333..0000000
--- a/config
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/config b/config
new file mode 120000
index 0000000..4444444
--- /dev/null
+++ b/config
@@ -0,0 +1 @@
+src/a.rs
\\ No newline at end of file
";

pub(crate) fn comment(id: &str, content: &str) -> WorkspaceComment {
    WorkspaceComment {
        id: id.to_owned(),
        author: Some("ada".to_owned()),
        created_at: Some("2026-01-02T00:00:00Z".to_owned()),
        content: content.to_owned(),
    }
}

pub(crate) fn round(
    id: &str,
    created_at: Option<&str>,
    diff: impl Into<Vec<u8>>,
) -> WorkspaceRound {
    WorkspaceRound {
        id: id.to_owned(),
        created_at: created_at.map(str::to_owned),
        base_rev: Some("aaaa".to_owned()),
        head_rev: Some(format!("head{id}")),
        diff: Diff::read(diff).into(),
        general: Vec::new(),
        threads: Vec::new(),
        inline: BTreeMap::new(),
    }
}

/// Two rounds in the wrong order, with comments on both.
pub(crate) fn contents() -> WorkspaceContents {
    let mut first = round("9", Some("2026-01-01T00:00:00Z"), SMALL);
    first.general.push(comment("g1", "please explain"));
    first.inline.insert(8, vec![comment("i1", "is this right?")]);
    let mut second = round("10", Some("2026-01-01T00:00:00Z"), EDGE);
    second.general.push(comment("g2", "ready again"));
    second.inline.insert(22, vec![comment("i2", "why the capital?"), comment("i3", "agreed")]);
    second.inline.insert(7, vec![comment("i4", "new indeed")]);
    second.threads.push(WorkspaceThread {
        id: "t1".to_owned(),
        file: Some("src/a.rs".to_owned()),
        line: None,
        resolved: true,
        outdated: true,
        replies: vec![comment("i1", "is this right?")],
    });
    let file = |place: &str, text: &str| AgentFile {
        place: place.to_owned(),
        bytes: text.as_bytes().to_vec(),
    };
    WorkspaceContents {
        metadata: ChangeMetadata {
            url: "https://forge.example/1".to_owned(),
            title: "Capital\n  letters\u{2028}# everywhere".to_owned(),
            body: "They are\nbetter.".to_owned(),
            author: Some("bob".to_owned()),
            source_git_path: Some("capitals".to_owned()),
            target_git_path: Some("main".to_owned()),
            source_repository: None,
            target_repository: None,
            base_rev: Some("aaaa".to_owned()),
            head_rev: Some("head10".to_owned()),
            draft: false,
            state: Some("open".to_owned()),
            labels: vec!["style".to_owned()],
            votes: Vec::new(),
        },
        ci: CiStatus {
            checks: vec![CiCheck {
                name: "build".to_owned(),
                state: "failure".to_owned(),
                url: None,
                summary: Some("2 tests failed".to_owned()),
            }],
        },
        commits: vec![CommitEntry {
            id: "head10".to_owned(),
            author: "Bob <bob@example.com>".to_owned(),
            date: "2026-01-01T00:00:00Z".to_owned(),
            subject: "Use capitals".to_owned(),
            body: String::new(),
        }],
        linked_issues: vec![LinkedIssueEntry {
            id: "7".to_owned(),
            title: "Letters are small".to_owned(),
            body: "all of them".to_owned(),
            url: "https://forge.example/issues/7".to_owned(),
        }],
        instructions: vec![
            file("AGENTS.md", "Be kind.\n"),
            file("rules/style.md", "No tabs.\n"),
            file("nested/src/AGENTS.md", "Only here.\n"),
        ],
        context: vec![ContextFile { name: "index.json", text: "[]\n".to_owned() }],
        rounds: vec![second, first],
    }
}

/// A single round.
pub(crate) fn one_round(diff: impl Into<Vec<u8>>) -> WorkspaceContents {
    WorkspaceContents {
        metadata: ChangeMetadata::default(),
        ci: CiStatus::default(),
        commits: Vec::new(),
        linked_issues: Vec::new(),
        instructions: Vec::new(),
        context: Vec::new(),
        rounds: vec![round("1", None, diff)],
    }
}

/// Writes a workspace to a new folder and opens it.
pub(crate) fn write_and_open(contents: &WorkspaceContents) -> (TempDir, Workspace) {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("ws");
    workspace::write_workspace(contents, &out).unwrap();
    let workspace = Workspace::open(&out).unwrap();
    (folder, workspace)
}

/// Everything below a folder: paths, permissions, symlinks and contents.
pub(crate) fn tree(root: &Path) -> String {
    let mut out = String::new();
    let mut folders = vec![root.to_owned()];
    let mut entries = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                folders.push(path.clone());
            }
            entries.push(path);
        }
    }
    entries.sort();
    for path in entries {
        let metadata = fs::symlink_metadata(&path).unwrap();
        let relative_path = path.strip_prefix(root).unwrap().display();
        let mode = metadata.permissions().mode() & 0o777;
        if metadata.is_symlink() {
            let target = fs::read_link(&path).unwrap();
            out.push_str(&format!("==== {relative_path} -> {}\n", target.display()));
        } else if metadata.is_dir() {
            out.push_str(&format!("==== {relative_path}/ {mode:o}\n"));
        } else {
            let text = fs::read(&path).unwrap();
            out.push_str(&format!("==== {relative_path} {mode:o}\n"));
            out.push_str(&String::from_utf8_lossy(&text).replace('\r', "<CR>"));
        }
    }
    out
}
