//! `crh tool`: errors that the caller can act on.

use std::fs;
use std::fs::File;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::tool::repository;
use crate::user::{User, tree};
use crh_testkit::{Output, Repo};

/// A repository, its user, and a workspace.
struct ToolFixture {
    repo: Repo,
    user: User,
}

impl ToolFixture {
    fn new(repo: Repo, target: &[&str]) -> Self {
        let user = User::new();
        user.prepared(repo.path(), target, "out");
        Self { repo, user }
    }

    fn call(&self, name: &str, arguments: &str) -> Output {
        let out = self.user.path("out");
        let args = ["tool", name, arguments, "--workspace", out.to_str().unwrap()];
        self.user.crh(self.repo.path(), &args).run()
    }

    /// Checks that a call is rejected with a message.
    fn refused(&self, name: &str, arguments: &str, message: &str) {
        let output = self.call(name, arguments);
        let expected =
            format!("error: {message}\nhint: `crh tool --list` shows the arguments of each tool\n");
        assert_eq!(
            output,
            Output { code: 2, stdout: String::new(), stderr: expected },
            "{name} {arguments}"
        );
    }
}

#[test]
fn paths_outside_of_workspace_are_rejected() {
    let repo = repository();
    let secret = User::new();
    secret.write("secret.txt", "private contents\n");
    let outside = secret.path("secret.txt");
    symlink(&outside, repo.path().join("to-file")).unwrap();
    symlink(secret.path(""), repo.path().join("to-folder")).unwrap();
    symlink("../../../../../../etc/passwd", repo.path().join("up")).unwrap();
    // Agent instructions are read automatically, so a symlink there is an attack.
    fs::remove_file(repo.path().join("AGENTS.md")).unwrap();
    symlink(&outside, repo.path().join("AGENTS.md")).unwrap();
    symlink(&outside, repo.path().join("REVIEW.md")).unwrap();
    symlink(&outside, repo.path().join(".gitattributes")).unwrap();
    repo.commit("links");
    let called = ToolFixture::new(repo, &["HEAD~1..HEAD"]);
    let workspace = tree(&called.user.path("out"));
    let strays = workspace.values().filter(|bytes| bytes.contains("private contents"));
    assert_eq!(strays.count(), 0);
    let outside = outside.to_str().unwrap();
    called.refused(
        "repo_read",
        r#"{"path": "src/../../a"}"#,
        "`src/../../a` is not a path inside the repository: write it from the root, without `..`",
    );
    for (path, text) in [("to-file", outside), ("up", "../../../../../../etc/passwd")] {
        for tool in ["repo_read", "read_file"] {
            let reply = called.call(tool, &format!(r#"{{"path": "{path}"}}"#));
            assert!(reply.stdout.contains(text), "the text of the link: {reply:?}");
        }
    }
    for (tool, arguments) in [
        ("repo_read", r#"{"path": "to-folder/secret.txt"}"#),
        ("repo_ls", r#"{"path": "to-folder"}"#),
        ("read", r#"{"path": "../store"}"#),
        ("ls", r#"{"path": ".."}"#),
        ("grep", r#"{"pattern": ".", "path": "/etc"}"#),
        ("find", r#"{"pattern": "*", "path": "agent/../.."}"#),
    ] {
        let reply = called.call(tool, arguments);
        assert_eq!((reply.code, reply.stdout.as_str()), (2, ""), "{tool} {arguments}");
        assert!(!reply.stderr.contains("private contents"), "{reply:?}");
    }
    let found = called.call("repo_grep", r#"{"pattern": "private contents|root:"}"#);
    assert!(found.stdout.starts_with("[no line matches in "), "{found:?}");
}

#[test]
fn search_skips_and_names_large_files() {
    let repo = repository();
    let large = File::create(repo.path().join("large.bin")).unwrap();
    large.set_len((64 << 20) + 1).unwrap();
    repo.commit("a large file");
    let called = ToolFixture::new(repo, &["HEAD~1..HEAD"]);
    let says = "`large.bin` has 67108865 bytes, more than the 67108864 that are read";
    called.refused("repo_read", r#"{"path": "large.bin"}"#, says);
    let found = called.call("repo_grep", r#"{"pattern": "the answer"}"#);
    let expected = format!("src/lib.rs:2:     // the answer\n[not searched: {says}]\n");
    assert_eq!(found.stdout, expected);
    let found = called.call("search_code", r#"{"query": "the answer"}"#);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!((&found["total"], &found["notSearched"]), (&json!(1), &json!([says])));
    let stat = called.call("repo_stat", r#"{"path": "large.bin"}"#);
    assert!(stat.stdout.contains(r#""size": 67108865"#), "{stat:?}");
}

#[test]
fn damaged_object_is_an_error_not_an_empty_file() {
    let called = ToolFixture::new(repository(), &["HEAD~2..HEAD"]);
    let id = called.repo.git(&["rev-parse", "HEAD:docs/guide.md"]);
    let id = std::str::from_utf8(&id).unwrap().trim();
    let object = called.repo.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(&object).unwrap();
    fs::write(&object, "").unwrap();
    let read = called.call("repo_read", r#"{"path": "docs/guide.md"}"#);
    assert_eq!((read.code, read.stdout.as_str()), (2, ""), "{read:?}");
    assert!(read.stderr.contains("docs/guide.md"), "{read:?}");
    let found = called.call("repo_grep", r#"{"pattern": "number"}"#).stdout;
    let count = |start: &str| found.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("src/"), count("[not searched: ")), (2, 1), "{found}");
}

/// Checks reading a file, with the repository folder replaced by a name.
fn check_place(user: &User, repo: &Repo, place: &[&str], expected: Expect) {
    let read = ["tool", "repo_read", r#"{"path": "src/lib.rs"}"#];
    let output = user.crh(&user.path(""), &[&read, place].concat()).run();
    expected.assert_eq(&user.replace_paths(repo, &output.shown()));
}

#[test]
fn missing_workspace_or_wrong_repository_is_rejected() {
    let (repo, other) = (repository(), Repo::from_fixture("//- a.md\na\n"));
    let user = User::new();
    user.prepared(repo.path(), &["HEAD~2..HEAD"], "out");
    let check = |place: &[&str], expected: Expect| check_place(&user, &other, place, expected);
    check(
        &[],
        expect![[r#"
            exit 2
            error: this tool needs a workspace, and there is none
            hint: create one with `crh prepare --out DIR` and pass it with `--workspace DIR`
            ---
        "#]],
    );
    check(
        &["--workspace", "out"],
        expect![[r#"
            exit 2
            error: `HOME` is not inside a git repository
            hint: set the repository of the workspace with `--repo DIR`
            ---
        "#]],
    );
    let place = other.path().to_str().unwrap();
    check(
        &["--workspace", "out", "--repo", place],
        expect![[r#"
            exit 2
            error: the commits of the workspace are not in `REPO`
            hint: set the repository of the workspace with `--repo DIR`
            ---
        "#]],
    );
    let place = repo.path().to_str().unwrap();
    check(
        &["--workspace", "out", "--repo", place],
        expect![[r#"
            exit 0
            ---
            src/lib.rs at head, lines 1-4 of 4:
                1  fn number() -> u32 {
                2      // the answer
                3      42
                4  }
        "#]],
    );
}

/// A tar archive with one entry.
fn archive(name: &str, kind: u8, link: &str, bytes: &[u8]) -> Vec<u8> {
    let mut header = [0u8; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644\0");
    put(108, "0000000\0");
    put(116, "0000000\0");
    put(124, &format!("{:011o}\0", bytes.len()));
    put(136, "00000000000\0");
    put(148, "        ");
    put(156, std::str::from_utf8(&[kind]).unwrap());
    put(157, link);
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut archive = header.to_vec();
    archive.extend_from_slice(bytes);
    archive.resize(archive.len().next_multiple_of(512) + 1024, 0);
    archive
}

/// Start of the tar entry with the git objects.
const OBJECTS: &[u8] = b"objects.bundle\0";

#[test]
fn foreign_archive_is_rejected_without_unpacking() {
    let repo = repository();
    let user = User::new();
    let pack = user.path("packed.tar");
    user.prepared(repo.path(), &["HEAD~2..HEAD", "--pack", pack.to_str().unwrap()], "out");
    let whole = fs::read(&pack).unwrap();
    let check = |bytes: &[u8], reason: &str| {
        fs::write(&pack, bytes).unwrap();
        let args = ["tool", "mp_metadata", "--packed", pack.to_str().unwrap()];
        // Folder where archives are unpacked, to inspect the result.
        fs::create_dir_all(user.path("tmp/deep")).unwrap();
        let tmp = user.path("tmp/deep");
        let output = user.crh(&user.path(""), &args).env("TMPDIR", tmp.to_str().unwrap()).run();
        assert_eq!((output.code, output.stdout.as_str()), (2, ""), "{reason}: {output:?}");
        let says = format!(
            "error: `{}` is not an archive of `crh prepare --pack`: {reason}\n",
            pack.display()
        );
        let hint = "hint: create one with `crh prepare --pack FILE`\n";
        assert_eq!(output.stderr, format!("{says}{hint}"));
        let left: Vec<String> = tree(&user.path("tmp")).into_keys().collect();
        assert_eq!(left, ["", "deep"], "{reason}");
    };
    let cut = "the file is cut off, or is another kind of file";
    check(b"", cut);
    // The objects are the last entry.
    let objects = whole.windows(OBJECTS.len()).rposition(|name| name == OBJECTS).unwrap();
    check(&[&whole[..objects], &[0; 1024]].concat(), "its git objects are missing");
    check(
        &[b"garbage\n".repeat(1000), vec![0; 1024]].concat(),
        "it is not a tar archive, or it is damaged",
    );
    check(&[0; 10240], "it is empty");
    check(&whole[..whole.len() / 2], cut);
    check(&whole[..whole.len() - 1024], cut);
    check(&archive("../x", b'0', "", b"x"), "unexpected entry `../x`");
    check(&archive("/x", b'0', "", b"x"), "unexpected entry `/x`");
    check(&archive("workspace/../../x", b'0', "", b"x"), "unexpected entry `workspace/../../x`");
    check(&archive("other", b'0', "", b"x"), "unexpected entry `other`");
    check(&archive("workspace", b'2', "/etc", b""), "unexpected entry `workspace`");
    check(&archive("workspace/x", b'1', "/etc/passwd", b""), "unexpected entry `workspace/x`");
}
