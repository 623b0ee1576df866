//! Attributes, compared with `git check-attr`.

use expect_test::{Expect, expect};

use crh_git::{AttributeState, Objects, ReadError, read_attributes};
use crh_testkit::Repo;

/// `path: name: state`, as `git check-attr` prints it.
fn attributes_text(repo: &Repo, revision: &str, paths: &[&str], names: &[&str]) -> String {
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let bytes: Vec<_> = paths.iter().map(|path| path.as_bytes()).collect();
    let attributes = read_attributes(&objects, revision, &bytes, names).unwrap();
    assert_eq!(attributes.unreadable_files, []);
    let mut text = String::new();
    for (path, states) in paths.iter().zip(&attributes.states) {
        assert_eq!(states.len(), names.len());
        for (name, state) in names.iter().zip(states) {
            let state = match state {
                AttributeState::Set => "set",
                AttributeState::Unset => "unset",
                AttributeState::Value(value) => value,
                AttributeState::Unspecified => "unspecified",
            };
            text.push_str(&format!("{path}: {name}: {state}\n"));
        }
    }
    text
}

/// Checks that crh and git print this result.
fn check(files: &[(&str, &str)], paths: &[&str], names: &[&str], expected: Expect) {
    let (repo, head) = repo(files);
    let ours = attributes_text(&repo, &head, paths, names);
    assert_eq!(ours, git(&repo, &head, paths, names));
    expected.assert_eq(&ours);
}

fn repo(files: &[(&str, &str)]) -> (Repo, String) {
    let repo = Repo::new();
    for (path, text) in files {
        repo.write(path, text);
    }
    let head = repo.commit("x");
    // The checkout and local attributes do not count.
    for (path, _) in files {
        repo.write(path, "* linguist-generated=checkout\n");
    }
    (repo, head)
}

fn git(repo: &Repo, revision: &str, paths: &[&str], names: &[&str]) -> String {
    let source = format!("--source={revision}");
    let args = [&["-c", "core.quotePath=false", "check-attr", &source], names, &["--"], paths];
    String::from_utf8(repo.git(&args.concat())).unwrap()
}

#[test]
fn attribute_states_match_git() {
    check(
        &[(
            ".gitattributes",
            "# a comment\n\
             *.pb.go linguist-generated\n\
             *.ts\tlinguist-generated=true -linguist-vendored\n\
             kept.ts -linguist-generated\n\
             later.ts !linguist-generated\n\
             \"with space/*.c\" linguist-vendored\n\
             ünïcode.* linguist-generated=ja\n\
             !not.ts linguist-vendored\n",
        )],
        &["a.pb.go", "a.ts", "kept.ts", "x/later.ts", "with space/a.c", "ünïcode.rs", "not.ts"],
        &["linguist-generated", "linguist-vendored"],
        expect![[r#"
            a.pb.go: linguist-generated: set
            a.pb.go: linguist-vendored: unspecified
            a.ts: linguist-generated: true
            a.ts: linguist-vendored: unset
            kept.ts: linguist-generated: unset
            kept.ts: linguist-vendored: unset
            x/later.ts: linguist-generated: unspecified
            x/later.ts: linguist-vendored: unset
            with space/a.c: linguist-generated: unspecified
            with space/a.c: linguist-vendored: set
            ünïcode.rs: linguist-generated: ja
            ünïcode.rs: linguist-vendored: unspecified
            not.ts: linguist-generated: true
            not.ts: linguist-vendored: unset
        "#]],
    );
}

#[test]
fn nearest_gitattributes_file_wins() {
    check(
        &[
            (".gitattributes", "gen/** a\n*.c b\n"),
            ("gen/.gitattributes", "hand/** -a\n/top.c a=near\n"),
            ("gen/hand/.gitattributes", "again.c !a\n"),
            ("generic/.gitattributes", "* a=other\n"),
        ],
        // In another order than the tree, with missing paths.
        &[
            "gen/hand/x.c",
            "generic/x.c",
            "gen.c",
            "gen/top.c",
            "gen/hand/again.c",
            "gen/deep/top.c",
        ],
        &["b", "a"],
        expect![[r#"
            gen/hand/x.c: b: set
            gen/hand/x.c: a: unset
            generic/x.c: b: set
            generic/x.c: a: other
            gen.c: b: set
            gen.c: a: unspecified
            gen/top.c: b: set
            gen/top.c: a: near
            gen/hand/again.c: b: set
            gen/hand/again.c: a: unspecified
            gen/deep/top.c: b: set
            gen/deep/top.c: a: set
        "#]],
    );
}

#[test]
fn macros_are_read_only_from_the_root() {
    check(
        &[
            (".gitattributes", "[attr]made linguist-generated -diff\n*.bin binary\n*.made made\n"),
            ("sub/.gitattributes", "[attr]mine linguist-generated\n*.x mine\n*.y made\n"),
        ],
        &["a.bin", "a.made", "sub/a.x", "sub/a.y"],
        &["binary", "text", "diff", "linguist-generated", "mine"],
        expect![[r#"
            a.bin: binary: set
            a.bin: text: unset
            a.bin: diff: unset
            a.bin: linguist-generated: unspecified
            a.bin: mine: unspecified
            a.made: binary: unspecified
            a.made: text: unspecified
            a.made: diff: unset
            a.made: linguist-generated: set
            a.made: mine: unspecified
            sub/a.x: binary: unspecified
            sub/a.x: text: unspecified
            sub/a.x: diff: unspecified
            sub/a.x: linguist-generated: unspecified
            sub/a.x: mine: set
            sub/a.y: binary: unspecified
            sub/a.y: text: unspecified
            sub/a.y: diff: unset
            sub/a.y: linguist-generated: set
            sub/a.y: mine: unspecified
        "#]],
    );
}

#[test]
fn patterns_match_like_git() {
    let patterns = [
        "*", "**", "*.c", "a", "a/", "/a", "a/*", "a/**", "**/a", "a/**/c.c", "**/b/**", "?.c",
        "[ab].c", "[!a].c", "\\!x", "\\#x", "a*c", "*/c.c", "a/b", "A/*", "*.[ch]", "x y",
        "\"x y\"", "/**/c.c", "b/c.c", "[a-", "a\\", "***", "ü*", "**.c",
    ];
    let paths = [
        "a",
        "b",
        "c.c",
        "a.c",
        "x.c",
        "a/c.c",
        "a/b/c.c",
        "a/b",
        "b/c.c",
        "A/x",
        "!x",
        "#x",
        "x y",
        "abc",
        "ü.c",
        "a/ü",
        "x/a/y/b/z.h",
        "a/x y/b.c",
    ];
    let names: Vec<_> = (0..patterns.len()).map(|at| format!("n{at}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let lines: String =
        patterns.iter().zip(&names).map(|(pattern, name)| format!("{pattern} {name}\n")).collect();
    let (repo, head) = repo(&[(".gitattributes", &lines), ("a/.gitattributes", &lines)]);
    assert_eq!(attributes_text(&repo, &head, &paths, &names), git(&repo, &head, &paths, &names));
}

#[test]
fn attributes_are_read_at_the_revision() {
    let repo = Repo::from_fixture(
        "
        //- a.rs
        //- .gitattributes
        *.go linguist-generated
        //- head
        //- .gitattributes
        *.rs linguist-generated
        ",
    );
    let sha = |name: &str| String::from_utf8(repo.git(&["rev-parse", name])).unwrap();
    let ask = |name| attributes_text(&repo, sha(name).trim(), &["a.rs"], &["linguist-generated"]);
    assert_eq!(ask("HEAD"), "a.rs: linguist-generated: set\n");
    assert_eq!(ask("HEAD~1"), "a.rs: linguist-generated: unspecified\n");
}

#[test]
fn oversized_gitattributes_file_is_skipped_and_reported() {
    let line = "*.rs linguist-generated\n";
    let long = format!("*.go linguist-generated {}\n", "x".repeat(3_000));
    let (repo, head) = repo(&[
        (".gitattributes", &format!("{long}*.c linguist-generated\n")),
        ("large/.gitattributes", &line.repeat(30_000)),
    ]);
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let paths: [&[u8]; 3] = [b"large/a.rs", b"a.go", b"a.c"];
    let attributes = read_attributes(&objects, &head, &paths, &["linguist-generated"]).unwrap();
    let states = attributes.states.concat();
    let unspecified = AttributeState::Unspecified;
    assert_eq!(states, [unspecified.clone(), unspecified, AttributeState::Set]);
    let unread: Vec<_> =
        attributes.unreadable_files.iter().map(|(_, error)| error.to_string()).collect();
    assert_eq!(
        unread,
        ["reading `large/.gitattributes`: it has 720000 bytes; the limit is 524288"]
    );
}

#[test]
fn symlink_is_ignored_and_missing_revision_is_an_error() {
    let repo = Repo::new();
    repo.write("elsewhere", "* linguist-generated\n");
    std::os::unix::fs::symlink("elsewhere", repo.path().join(".gitattributes")).unwrap();
    let head = repo.commit("x");
    let queried_paths = ["a.rs"];
    assert_eq!(
        attributes_text(&repo, &head, &queried_paths, &["linguist-generated"]),
        "a.rs: linguist-generated: unspecified\n"
    );
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let missing = "0123456789012345678901234567890123456789";
    let error = read_attributes(&objects, missing, &[], &[]).unwrap_err();
    assert_eq!(error, ReadError::NoCommit(missing.to_owned()));
}

#[test]
fn hostile_pattern_is_fast() {
    let pattern = format!("{}b linguist-generated\n", "*a".repeat(60));
    let (repo, head) = repo(&[(".gitattributes", &pattern)]);
    let name = "a".repeat(200);
    let attributes_shown = attributes_text(&repo, &head, &[&name], &["linguist-generated"]);
    assert_eq!(attributes_shown, format!("{name}: linguist-generated: unspecified\n"));
}
