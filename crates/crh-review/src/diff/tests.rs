//! Parsing of valid and invalid diffs.

use expect_test::{expect, expect_file};

use super::*;
use crate::finding::Side;

/// Formats each file with its mapped lines, then the problems.
fn describe(diff: &Diff) -> String {
    let mut out = String::new();
    for file in diff.files() {
        let status = serde_json::to_string(&file.status()).unwrap();
        out += &format!("{} {} +{} -{}", file.path.shown(), status, file.additions, file.deletions);
        if let Some(old) = &file.old_path {
            out += &format!(" from {}", old.shown());
        }
        out += "\n";
        for line in diff.line_map(file).lines() {
            let sign = match line.kind {
                LineKind::Added => '+',
                LineKind::Removed => '-',
                LineKind::Context | LineKind::Remark => ' ',
            };
            out += &format!("  {} {sign} {}/{}\n", line.number, line.old, line.new);
        }
    }
    for problem in diff.problems() {
        out += &format!("! {problem}\n");
    }
    out
}

/// Describes a diff, after checks that hold for every diff.
fn checked(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let diff = Diff::read(text);
    assert_eq!(diff.to_bytes(), text, "written back");
    for file in diff.files() {
        let map = diff.line_map(file);
        for line in map.lines() {
            assert_eq!(map.get(line.number), Some(line));
            assert_eq!(diff.locate(line.number).map(|(_, line)| line), Some(*line));
            let (side, at) = line.side();
            assert!(map.number_of(side, at).is_some());
        }
    }
    describe(&diff)
}

#[test]
fn all_git_edge_cases_are_parsed() {
    let text = include_bytes!("../../tests/data/edge.diff");
    let diff = Diff::read(&text[..]);
    expect_file!["../../tests/data/edge.files.txt"].assert_eq(&describe(&diff));
    assert_eq!(diff.to_bytes(), text);
    let numbered: Vec<u8> = (1..)
        .zip(text.split_inclusive(|byte| *byte == b'\n'))
        .flat_map(|(number, line)| [format!("{number}  ").as_bytes(), line].concat())
        .collect();
    assert_eq!(diff.numbered_text(), numbered);
}

#[test]
fn content_that_looks_like_a_header_stays_content() {
    expect![[r#"
            q.sql "modified" +1 -1
              5 - 1/0
              6 + 0/1
              7   2/2
              8   3/3
        "#]]
    .assert_eq(&checked(
        "diff --git a/q.sql b/q.sql\n--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,3 @@\n--- old\n+++ new\n \
         @@ -9 +9 @@\n diff --git a/x b/x\n",
    ));
}

#[test]
fn directories_named_a_and_b_keep_their_names() {
    expect![[r#"
            a/x "modified" +1 -1
              6 - 1/0
              7 + 0/1
            b/x "mode" +0 -0
        "#]]
    .assert_eq(&checked(
        "diff --git a/a/x b/a/x\nindex 1..2 100644\n--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-x\n+y\n\
         diff --git a/b/x b/b/x\nold mode 100644\nnew mode 100755\n",
    ));
}

#[test]
fn path_may_contain_the_separator() {
    expect![[r#"
            x b/x "mode" +0 -0
            p b/q r "added" +0 -0
        "#]]
    .assert_eq(&checked(
        "diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n\
         diff --git a/p b/q r b/p b/q r\nnew file mode 100644\nindex 0000000..e69de29\n",
    ));
}

#[test]
fn custom_and_missing_prefixes_are_parsed() {
    expect![[r#"
            m.txt "mode" +0 -0
            a/n.txt "modified" +1 -1
              8 - 1/0
              9 + 0/1
            o "mode" +0 -0
        "#]]
    .assert_eq(&checked(
        "diff --git i/m.txt w/m.txt\nold mode 100644\nnew mode 100755\n\
         diff --git a/n.txt a/n.txt\n--- a/n.txt\n+++ a/n.txt\n@@ -1 +1 @@\n-1\n+2\n\
         diff --git before/o after/o\nold mode 100644\nnew mode 100755\n",
    ));
}

#[test]
fn strip_level_is_zero_without_prefixes() {
    let rename = "similarity index 50%\nrename from src/w\nrename to src/x\n";
    for (header, path, level) in [
        ("diff --git a/src/x b/src/x\n--- a/src/x\n+++ b/src/x\n".to_owned(), "src/x", 1),
        ("diff --git i/src/x w/src/x\n--- i/src/x\n+++ w/src/x\n".to_owned(), "src/x", 1),
        ("diff --git src/x src/x\n--- src/x\n+++ src/x\n".to_owned(), "src/x", 0),
        ("diff --git x y x y\n--- x y\t\n+++ x y\t\n".to_owned(), "x y", 0),
        ("diff --git x x\nnew file mode 100644\n--- /dev/null\n+++ x\n".to_owned(), "x", 0),
        (format!("diff --git src/w src/x\n{rename}--- src/w\n+++ src/x\n"), "src/x", 0),
        (format!("diff --git a/src/w b/src/x\n{rename}--- a/src/w\n+++ b/src/x\n"), "src/x", 1),
        (
            "diff --git \"a\\\"b\" \"a\\\"b\"\n--- \"a\\\"b\"\n+++ \"a\\\"b\"\n".to_owned(),
            "a\"b",
            0,
        ),
        ("--- a/src/x\n+++ b/src/x\n".to_owned(), "src/x", 1),
        ("--- src/x\n+++ src/x\n".to_owned(), "src/x", 0),
    ] {
        let diff = Diff::read(format!("{header}@@ -1 +1 @@\n-1\n+2\n"));
        let found = (diff.files()[0].path.shown().into_owned(), diff.strip_level());
        assert_eq!(found, (path.to_owned(), level), "{header}");
    }
}

#[test]
fn renames_copies_and_quoted_paths_keep_both_names() {
    expect![[r#"
            plain name.txt "renamed" +0 -0 from ä.txt
            dst "copied" +1 -0 from src
              13   1/1
              14 + 0/2
        "#]]
    .assert_eq(&checked(
        "diff --git \"a/\\303\\244.txt\" b/plain name.txt\nsimilarity index 100%\n\
         rename from \"\\303\\244.txt\"\nrename to plain name.txt\n\
         diff --git a/src b/dst\nsimilarity index 90%\ncopy from src\ncopy to dst\n\
         index 1..2 100644\n--- a/src\n+++ b/dst\n@@ -1 +1,2 @@\n 1\n+2\n",
    ));
}

#[test]
fn non_utf8_paths_are_quoted_like_git() {
    expect![[r#"
            "caf\351.txt" "mode" +0 -0
        "#]]
    .assert_eq(&checked(
        "diff --git \"a/caf\\351.txt\" \"b/caf\\351.txt\"\nold mode 100644\nnew mode 100755\n",
    ));
}

#[test]
fn binary_files_have_no_lines() {
    expect![[r#"
            i.png "binary" +0 -0
            j.png "binary" +0 -0
            k "mode" +0 -0
        "#]].assert_eq(&checked("diff --git a/i.png b/i.png\nnew file mode 100644\nindex 0000000..1\n\
         Binary files /dev/null and b/i.png differ\n\
         diff --git a/j.png b/j.png\nindex 1..2 100644\nGIT binary patch\nliteral 3\nKcmZQzWMT#Y01f~L\n\n\
         literal 2\nJcmZQzWMT#Y\n\ndiff --git a/k b/k\nold mode 100644\nnew mode 100755\n"));
}

#[test]
fn submodules_and_symlinks_have_one_line() {
    expect![[r#"
            lib "modified" +1 -1
              6 - 1/0
              7 + 0/1
            link "added" +1 -0
              14 + 0/1
        "#]]
    .assert_eq(&checked(
        "diff --git a/lib b/lib\nindex 1..2 160000\n--- a/lib\n+++ b/lib\n@@ -1 +1 @@\n\
         -Subproject commit 1\n+Subproject commit 2\n\
         diff --git a/link b/link\nnew file mode 120000\nindex 0..1\n--- /dev/null\n+++ b/link\n\
         @@ -0,0 +1 @@\n+target\n\\ No newline at end of file\n",
    ));
}

#[test]
fn combined_diff_is_a_problem_per_file() {
    expect![[r#"
            one.txt "modified" +0 -0
            two.txt "modified" +0 -0
            t "mode" +0 -0
            ! line 1: a combined diff of a merge is not supported; diff against one parent
            ! line 10: a combined diff of a merge is not supported; diff against one parent
        "#]]
    .assert_eq(&checked(
        "diff --cc one.txt\nindex 1,2..3\n--- a/one.txt\n+++ b/one.txt\n@@@ -1,2 -1,2 +1,2 @@@\n\
         - a\n -b\n++c\n  d\ndiff --combined two.txt\nindex 1,2..3\n\
         diff --git a/t b/t\nold mode 100644\nnew mode 100755\n",
    ));
}

#[test]
fn submodule_log_is_a_problem() {
    expect![[r#"
            lib/x "modified" +0 -0
            new "modified" +0 -0
            back "modified" +0 -0
            dirty "modified" +0 -0
            t "mode" +0 -0
            ! line 1: a submodule shown as a log is not supported; use `--submodule=short`
            ! line 3: a submodule shown as a log is not supported; use `--submodule=short`
            ! line 4: a submodule shown as a log is not supported; use `--submodule=short`
            ! line 6: a submodule shown as a log is not supported; use `--submodule=short`
        "#]].assert_eq(&checked("Submodule lib/x 0123abc..4567def:\n  > a commit\nSubmodule new 0000000...f64a91a (new submodule)\n\
         Submodule back 0123abc..4567def (rewind):\n  < a commit\nSubmodule dirty contains modified content\n\
         diff --git a/t b/t\nold mode 100644\nnew mode 100755\n"));
}

#[test]
fn plain_diffs_are_parsed() {
    expect![[r#"
            x.c "modified" +1 -1
              4 - 1/0
              5 + 0/1
            new.c "added" +1 -0
              9 + 0/1
            old.c "deleted" +0 -1
              13 - 1/0
        "#]].assert_eq(&checked("--- a/x.c\t2026-01-01 00:00:00\n+++ b/x.c\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-1\n+2\n\
         --- /dev/null\n+++ b/new.c\n@@ -0,0 +1 @@\n+1\n--- a/old.c\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"));
}

#[test]
fn plain_names_lose_prefixes_and_times() {
    let time = "\t2026-01-01 00:00:00.000000000 +0100";
    for (old, new, path, level) in [
        ("old/src/x", "new/src/x", "src/x", 1),
        ("/tmp/1/src/x", "/tmp/2/src/x", "src/x", 3),
        ("./old/x", "./new/x", "x", 2),
        ("./src/x", "./src/x", "src/x", 1),
        ("src/x", "src/x", "src/x", 0),
        ("src/x.orig", "src/x", "src/x", 0),
        ("src/x", "/dev/null", "src/x", 0),
    ] {
        for time in ["", time] {
            let text = format!("--- {old}{time}\n+++ {new}{time}\n@@ -1 +1 @@\n-1\n+2\n");
            let diff = Diff::read(text);
            let file = &diff.files()[0];
            assert_eq!((&*file.path.shown(), diff.strip_level()), (path, level), "{old} {new}");
        }
    }
}

#[test]
fn recursive_diff_has_added_and_deleted_files() {
    expect![[r#"
        src/x "modified" +1 -1
          5 - 1/0
          6 + 0/1
        src/new "added" +1 -0
          11 + 0/1
        src/old "deleted" +0 -1
          16 - 1/0
        src/time zero "modified" +1 -1
          21 - 1/0
          22 + 0/1
    "#]]
    .assert_eq(&checked(
        "diff -ruN 1/src/x 2/src/x\n--- 1/src/x\t2026-01-01 00:00:00\n\
         +++ 2/src/x\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-1\n+2\n\
         diff -ruN 1/src/new 2/src/new\n--- 1/src/new\t1970-01-01 01:00:00 +0100\n\
         +++ 2/src/new\t2026-01-02 00:00:00\n@@ -0,0 +1 @@\n+1\n\
         diff -ruN 1/src/old 2/src/old\n--- 1/src/old\t2026-01-01 00:00:00\n\
         +++ 2/src/old\t1969-12-31 23:00:00 -0100\n@@ -1 +0,0 @@\n-1\n\
         diff -ruN 1/src/time zero 2/src/time zero\n--- 1/src/time zero\t1970-01-01 00:00:00\n\
         +++ 2/src/time zero\t1970-01-01 00:00:00\n@@ -1 +1 @@\n-1\n+2\n",
    ));
}

#[test]
fn names_without_more_folders_get_prefixes_of_git() {
    let hunk = "@@ -1 +1 @@\n-1\n+2\n";
    let diff = Diff::read(format!(
        "diff -u p/s/x y p/s/x y\n--- p/s/x y\t2026-01-01 00:00:00\n+++ p/s/x y\t2026-01-01\n{hunk}\
         --- /dev/null\n+++ p/s/z\n@@ -0,0 +1 @@\n+1\n"
    ));
    let paths = |strip| {
        let paths = diff.plain_paths(strip).map(|path| path.shown().into_owned());
        paths.collect::<Vec<_>>()
    };
    assert_eq!(paths(0), ["p/s/x y", "p/s/z"]);
    assert_eq!(paths(2), ["x y", "z"]);
    assert_eq!(paths(3), [""; 0]);
    let stripped = diff.with_strip_level(1);
    let expected = format!(
        "diff -u p/s/x y p/s/x y\n--- a/s/x y\t\n+++ b/s/x y\t\n{hunk}\
         --- /dev/null\n+++ b/s/z\n@@ -0,0 +1 @@\n+1\n"
    );
    assert_eq!(String::from_utf8_lossy(stripped.raw()), expected);
    let paths: Vec<_> = stripped.files().iter().map(|file| file.path.shown()).collect();
    assert_eq!((paths, stripped.strip_level()), (vec!["s/x y".into(), "s/z".into()], 1));
    assert_eq!(diff.with_strip_level(3), diff);
}

#[test]
fn mail_text_around_the_diff_is_kept() {
    expect![[r#"
            x "modified" +1 -1
              12 - 1/0
              13 + 0/1
        "#]].assert_eq(&checked("From 1 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n x | 2 +-\n\n\
         diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n-- \n2.47.0\n\n"));
}

#[test]
fn crlf_stays_in_text_but_not_in_paths() {
    expect![[r#"
            x "modified" +1 -1
              6 - 1/0
              7 + 0/1
              8   2/2
        "#]].assert_eq(&checked("diff --git a/x b/x\r\nindex 1..2 100644\r\n--- a/x\r\n+++ b/x\r\n@@ -1,2 +1,2 @@\r\n-1\r\n+2\r\n \r\n"));
    let diff = Diff::read("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\r\n+2\r\n");
    let texts: Vec<_> = diff.lines(&diff.files()[0].hunks[0]).map(|line| line.text()).collect();
    assert_eq!(texts, [b"1\r", b"2\r"]);
}

#[test]
fn truncated_diff_is_a_problem() {
    expect![[r#"
            x "modified" +1 -1
              5   1/1
              6 - 2/0
              7 + 0/2
            y "modified" +1 -1
              12 - 1/0
              13 + 0/1
            ! line 4: the hunk is 6 lines shorter than its header says
            ! line 13: the last line has no newline; the diff may be truncated
        "#]]
    .assert_eq(&checked(
        "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n 1\n-2\n+3\n\
         diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-1\n+2",
    ));
}

#[test]
fn diff_cut_between_parts_is_a_problem() {
    let header = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n";
    expect![[r#"
        x "modified" +0 -0
        ! line 1: the file header announces changes, but no hunk follows
    "#]]
    .assert_eq(&checked(header));
    expect![[r#"
        x "modified" +0 -0
        ! line 1: the file header announces changes, but no hunk follows
    "#]]
    .assert_eq(&checked("diff --git a/x b/x\nindex 1..2 100644\n"));
    expect![[r#"
        x "modified" +1 -1
          6 - 1/0
          7 + 0/1
        ! line 7: the last line has no newline; the diff may be truncated
    "#]]
    .assert_eq(&checked(format!("{header}@@ -1 +1 @@\n-one\n+tw")));
    expect![[r#"
        x "added" +0 -0
    "#]]
    .assert_eq(&checked("diff --git a/x b/x\nnew file mode 100644\nindex 0..e69de29\n"));
}

#[test]
fn empty_context_line_may_lack_its_space() {
    expect![[r#"
            x "modified" +1 -1
              4   1/1
              5   2/2
              6 - 3/0
              7 + 0/3
        "#]]
    .assert_eq(&checked("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"));
}

#[test]
fn arbitrary_text_has_no_files() {
    assert_eq!(checked(""), "");
    assert_eq!(checked("hello\nworld\n"), "");
    assert_eq!(checked([0xff, 0xfe, 0, b'\n']), "");
    expect![[r#"
             "modified" +0 -0
            ! line 1: the file's path cannot be read
            ! line 2: the hunk header cannot be read
            ! line 3: the hunk header cannot be read
            ! line 4: the hunk header cannot be read
            ! line 5: the hunk header cannot be read
            ! line 2: ignored 4 lines outside any file or hunk
            ! line 1: the file header announces changes, but no hunk follows
        "#]]
    .assert_eq(&checked(
        "diff --git \n@@ -99999999999 +1 @@\n@@ -4294967295,2 +1 @@\n@@ -x +1 @@\n@@ -+1 +1 @@\n",
    ));
}

#[test]
fn hunk_before_first_file_is_a_problem() {
    expect![[r#"
            x "mode" +0 -0
            ! line 1: ignored 3 lines outside any file or hunk
        "#]]
    .assert_eq(&checked(
        "@@ -1 +1 @@\n-secret\n+leak\ndiff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
    ));
    for hidden in
        ["  --- a/y\n  +++ b/y\n  @@ -0,0 +1 @@\n  +x\n", "*** a/y\n--- b/y\n***************\n"]
    {
        let diff = format!("{hidden}diff --git a/x b/x\nold mode 100644\nnew mode 100755\n");
        assert!(checked(&diff).contains("outside any file"), "{hidden}");
    }
}

#[test]
fn overlong_name_line_is_not_searched() {
    let names = "x ".repeat(500_000);
    let diff = Diff::read(format!("diff --git a/{names}\n"));
    assert_eq!(diff.problems()[0].kind, DiffProblemKind::Path);
}

#[test]
fn missing_final_newline_adds_no_line() {
    let diff = Diff::read("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n");
    assert_eq!(diff.numbered_lines().count(), 5);
    assert!(diff.locate(6).is_none());
    let numbered = Diff::read("a\nb").numbered_text();
    assert_eq!(numbered, b"1  a\n2  b");
}

#[test]
fn context_lines_map_from_both_sides() {
    let diff = Diff::read("--- a/x\n+++ b/x\n@@ -10,2 +20,3 @@\n a\n+b\n c\n");
    let map = diff.line_map(&diff.files()[0]);
    assert_eq!(map.number_of(Side::Old, 11), Some(6));
    assert_eq!(map.number_of(Side::New, 22), Some(6));
    assert_eq!(map.number_of(Side::New, 21), Some(5));
    assert_eq!(map.number_of(Side::Old, 12), None);
}

#[test]
fn folder_names_are_flat_short_and_unique() {
    for (path, expected) in [
        ("src/a b.rs", "src%2Fa%20b.rs"),
        ("ä", "%C3%A4"),
        ("..", "%2E%2E"),
        (".", "%2E"),
        ("", "~"),
        ("~", "%7E"),
        ("a/../b", "a%2F..%2Fb"),
    ] {
        assert_eq!(RepoPath::new(path).folder_name(), expected, "{path}");
    }
    let long = "d/".repeat(100);
    let safe = RepoPath::new(format!("{long}a")).folder_name();
    assert_eq!(safe.len(), 160 + 1 + 16);
    assert!(safe.starts_with("d%2Fd%2F"));
    assert_ne!(safe, RepoPath::new(format!("{long}b")).folder_name());
    assert_eq!(RepoPath::new("x".repeat(200)).folder_name().len(), 200);
}
