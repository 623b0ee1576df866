use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use tempfile::TempDir;

use super::*;
use crate::case::{CaseSource, Files};
use crh_testkit::Fixture;

/// A valid case that tests extend.
const CASE: &str = "
//- s/a/case.toml
title = \"Sum in one go\"
language = \"python\"
//- s/a/base/sum.py
total = 0
for x in xs:
    total += x
//- s/a/head/sum.py
total = sum(xs)
";

fn written(fixture: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in Fixture::parse(fixture).base {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn shown_files(files: &Files) -> String {
    let shown = files.iter().map(|(path, bytes)| format!("{path}:{}", bytes.len()));
    shown.collect::<Vec<_>>().join(" ")
}

fn shown_case(case: &Case) -> String {
    let Case {
        id,
        title,
        body,
        language,
        licence,
        twin_of,
        source,
        expected,
        known_bad,
        is_draft: _,
    } = case;
    let mut text = format!("{id} {title:?} {body:?} {language} {licence:?} {twin_of:?}\n");
    text += &match source {
        CaseSource::Files { base, head } => {
            format!("  {} -> {}\n", shown_files(base), shown_files(head))
        }
        CaseSource::Commits { repo, base, head, diff, .. } => {
            format!("  {repo} {}..{} {}\n", &base[..4], &head[..4], diff.len())
        }
        CaseSource::Diff(diff) => format!("  diff {}\n", diff.len()),
    };
    for issue in expected {
        text += &format!("  expected {}\n", serde_json::to_string(issue).unwrap());
    }
    for bad in known_bad {
        text += &format!("  known bad {}\n", serde_json::to_string(bad).unwrap());
    }
    text
}

fn shown_place(place: &Path) -> String {
    match Suite::read(place, &[], &read_file) {
        Ok(suite) => {
            let cases: String = suite.cases.iter().map(shown_case).collect();
            format!("{}\n{cases}", suite.name)
        }
        Err(Failure { error, hint, .. }) => {
            let hint = hint.map(|hint| format!("hint: {hint}\n"));
            let parent = place.parent().unwrap().display().to_string();
            format!("error: {error:#}\n{}", hint.unwrap_or_default()).replace(&parent, "…")
        }
    }
}

fn check_place(place: &Path, expected: Expect) {
    expected.assert_eq(&shown_place(place));
}

/// Reads the suite `s` of a fixture.
fn check(fixture: &str, expected: Expect) {
    check_all(&[fixture.to_owned()], expected);
}

/// Reads the suite `s` of several fixtures, one after the other.
fn check_all(fixtures: &[String], expected: Expect) {
    let shown = fixtures.iter().map(|fixture| shown_place(&written(fixture).path().join("s")));
    expected.assert_eq(&shown.collect::<String>());
}

/// A valid case with more lines at the end of its file.
fn with(more: &str) -> String {
    CASE.replace("//- s/a/base", &format!("{more}\n//- s/a/base"))
}

/// A file with one line of JSON.
fn line(line: &str) -> String {
    format!("//- s/x.jsonl\n{line}\n")
}

#[test]
fn folder_of_folders_is_a_suite() {
    let more = r#"
//- s/README.md
Not a case.
//- s/.hidden/x
Not one either.
//- s/b/case.toml
title = "Round fees"
body = """
Half up, as the bank does.
"""
language = "python"
licence = "MIT OR Apache-2.0"
removed = ["old.py"]

[[expected]]
file = "fees.py"
line_start = 2
category = "logic"
severity = "P1"
description = "Fees are rounded down."
keywords = ["rounding", "floor"]
omission = true
also = [{ file = "old.py", line_start = 1, line_end = 1, side = "old" }]
note = "fee(0.5)"
proved = "ran with Python 3.12: 0"

[[known_bad]]
file = "fees.py"
line_start = 1
line_end = 2
description = "Says that math is not imported."

[twin]
title = "Round fees half up"
body = "Again."
//- s/b/base/old.py
x = 1
//- s/b/base/fees.py
import math
fee = round(x)
//- s/b/head/fees.py
import math
fee = math.floor(x)
"#;
    check(
        &format!("{CASE}{more}"),
        expect![[r#"
        s
        a "Sum in one go" "" python "" None
          sum.py:38 -> sum.py:17
        b "Round fees" "Half up, as the bank does." python "MIT OR Apache-2.0" None
          fees.py:27 old.py:6 -> fees.py:32
          expected {"spans":[{"file":"fees.py","line_start":2,"line_end":2,"side":"new"},{"file":"old.py","line_start":1,"line_end":1,"side":"old"}],"category":"logic","severity":"P1","description":"Fees are rounded down.","keywords":["rounding","floor"],"omission":true}
          known bad {"file":"fees.py","line_start":1,"line_end":2,"side":"new","description":"Says that math is not imported."}
        b~twin "Round fees half up" "Again." python "MIT OR Apache-2.0" Some("b")
          fees.py:32 -> fees.py:27 old.py:6
    "#]],
    );
}

#[test]
fn single_case_is_a_suite() {
    let folder = written(CASE);
    check_place(
        &folder.path().join("s/a"),
        expect![[r#"
        a
        a "Sum in one go" "" python "" None
          sum.py:38 -> sum.py:16
    "#]],
    );
}

#[test]
fn change_is_a_diff_with_or_without_base_files() {
    let diff = "
//- s/b/case.toml
title = \"t\"
language = \"c\"
//- s/b/change.diff
--- a/x
+++ b/x
@@ -1 +1,2 @@
 one
+two
";
    check(
        diff,
        expect![[r#"
        s
        b "t" "" c "" None
          diff 40
    "#]],
    );
    check(
        &format!("{diff}//- s/b/base/x\none\n"),
        expect![[r#"
        s
        b "t" "" c "" None
          x:4 -> x:8
    "#]],
    );
    check(
        &format!("{diff}//- s/b/base/x\nzero\n"),
        expect![[r#"
            error: `b/change.diff`: `diff` does not apply to `x`: line 1 of the old file does not match the diff
            hint: is this the output of `git diff` between exactly these files?
        "#]],
    );
    check(
        &format!("{diff}//- s/b/base/x\none\n//- s/b/head/x\ntwo\n"),
        expect![[r#"
            error: `b/change.diff`: the change is given twice, by this file and by `head` or `removed`
            hint: remove one of them
        "#]],
    );
}

#[test]
fn json_lines_are_cases_and_unknown_keys_are_ignored() {
    check(
        r#"
//- s/one.jsonl
{"id": "qb-bit_count", "title": "Tidy", "body": null, "language": "Python", "repo": null, "licence": null, "source": "x", "rule_detectable": "no", "base_files": {"a.py": "1\n2\n", "gone.py": "x\n"}, "head_files": {"a.py": "1\n3\n"}, "diff": "ignored", "expected": [{"file": "a.py", "line_start": 2, "line_end": 2, "side": null, "category": "bug", "severity": "high", "title": "Wrong number.", "description": "It is 3.", "keywords": ["number"], "omission": false, "kind": "x"}]}

{"id": "by-diff", "title": "t", "language": "c", "base_files": {"a.c": "1\n"}, "diff": "--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-1\n+2\n", "known_bad": [{"file": "a.c", "line_start": 1, "description": "d"}]}
//- s/two.jsonl
{"id": "rf-Py-3", "title": "t", "language": "go", "repo": "o/r", "base_commit": "1111111111111111111111111111111111111111", "head_commit": "2222222222222222222222222222222222222222", "diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n", "expected": []}
{"id": "fwd-Py-3", "title": "t", "language": "go", "repo": "o/r", "base_commit": "2222222222222222222222222222222222222222", "head_commit": "1111111111111111111111111111111111111111", "pair_of": "rf-Py-3"}
{"id": "alone", "title": "t", "language": "go", "diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"}
"#,
        expect![[r#"
            error: `one.jsonl`, line 3: missing field `expected`
        "#]],
    );
}

#[test]
fn json_lines_file_is_a_suite() {
    let folder = written(
        r#"
//- s/mine.jsonl
{"id": "a", "title": "t", "language": "go", "diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"}
"#,
    );
    check_place(
        &folder.path().join("s/mine.jsonl"),
        expect![[r#"
            error: `mine.jsonl`, line 1: missing field `expected`
        "#]],
    );
    check_place(
        &folder.path().join("s/other.jsonl"),
        expect![[r#"
            error: cannot read the suite `…/other.jsonl`: No such file or directory (os error 2)
            hint: a suite is a folder of cases, or a file of JSON lines
        "#]],
    );
}

/// A pull request with more lines at the end of its file.
fn pull_request(more: &str) -> String {
    let (base, head) = ("1".repeat(40), "2".repeat(40));
    format!(
        "//- s/pr/case.toml\ntitle = \"Share\"\nbase_commit = \"{base}\"\nhead_commit = \"{head}\"\n{more}\n"
    )
}

#[test]
fn pull_request_has_commits_and_comments() {
    let comments = r#"
[[comment]]
text = "Fails without people"
severity = "High"

[[comment]]
text = "Rounds down"
severity = "low"
category = "logic"
file = "bill.py"
line_start = 3
"#;
    let (base, head) = ("1".repeat(40), "2".repeat(40));
    let benchmark = format!(
        r#"{{"id": "pr-1", "repository": "owner/name", "base": "{base}", "head": "{head}", "title": "Share", "body": null, "expected": [{{"n": 1, "comment": "Fails without people", "severity": "Medium"}}]}}"#
    );
    check_all(
        &[pull_request(comments), line(&benchmark)],
        expect![[r#"
        s
        pr "Share" "" mixed "" None
          pr 1111..2222 0
          expected {"spans":[],"severity":"P1","description":"Fails without people"}
          expected {"spans":[{"file":"bill.py","line_start":3,"line_end":3,"side":"new"}],"category":"logic","severity":"P3","description":"Rounds down"}
        s
        pr-1 "Share" "" mixed "" None
          owner/name 1111..2222 0
          expected {"spans":[],"severity":"P2","description":"Fails without people"}
    "#]],
    );
}

#[test]
fn incomplete_pull_request_is_refused() {
    let comment = |line: &str| {
        pull_request(&format!("[[comment]]\ntext = \"Wrong\"\nseverity = \"low\"\n{line}"))
    };
    check_all(
        &[
            with("repo = \"owner/name\""),
            format!("{}//- s/pr/change.diff\nx\n", pull_request("")),
            comment("file = \"bill.py\""),
            comment("line = 3"),
        ],
        expect![[r#"
            error: `a/case.toml`: a pull request needs `base_commit` and `head_commit`
            hint: give all 40 characters of each hash
            error: `pr/case.toml`: the change is given twice, by commits and by files
            hint: remove one of them
            error: `pr/case.toml`: `comment[0]` has only one of `file` and `line_start`
            hint: give both, or none if the comment names no line
            error: `pr/case.toml`: unknown key `comment[0].line`
            hint: did you mean `file`? The known keys are `text`, `severity`, `category`, `file`, `line_start`, `line_end`, `side`
        "#]],
    );
}

#[test]
fn empty_suite_is_refused() {
    check(
        "//- s/README.md\nNothing here.\n",
        expect![[r#"
            error: `…/s`: the suite has no cases
            hint: a case is a folder with a `case.toml`, or a line of a `.jsonl` file
        "#]],
    );
    check(
        "//- s/a/base/x\nx\n",
        expect![[r#"
            error: cannot read `a/case.toml`: No such file or directory (os error 2)
            hint: every folder of a suite is a case; hidden folders are ignored
        "#]],
    );
}

#[test]
fn ids_are_safe_file_names_and_unique() {
    let named = |name: &str| CASE.replace("s/a/", &format!("s/{name}/"));
    let json = r#"{"id": "a", "title": "t", "language": "go", "diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"}"#;
    check_all(
        &[
            named("a b"),
            named("-a"),
            named("a..b"),
            named("a.lock"),
            named(&"a".repeat(101)),
            line(&json.replace("\"a\"", r#""a\u001b[31m\nhint: x""#)),
            format!("{CASE}{}", named("A")),
            format!("{CASE}{}", line(json)),
        ],
        expect![[r#"
            error: `a b/case.toml`: `a b` is not a valid case id
            hint: use at most 100 letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`
            error: `-a/case.toml`: `-a` is not a valid case id
            hint: use at most 100 letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`
            error: `a..b/case.toml`: `a..b` is not a valid case id
            hint: use at most 100 letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`
            error: `a.lock/case.toml`: `a.lock` is not a valid case id
            hint: use at most 100 letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`
            error: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/case.toml`: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa` is not a valid case id
            hint: use at most 100 letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `a/case.toml`: the id `a` is used twice
            hint: the other case is in `A/case.toml`
            error: `x.jsonl`, line 1: missing field `expected`
        "#]],
    );
}

#[test]
fn invalid_case_file_is_reported_with_key() {
    let titled = |title: &str| CASE.replace("\"Sum in one go\"", title);
    check_all(
        &[
            CASE.replace("title = ", "titel = "),
            CASE.replace("title = \"Sum in one go\"\n", ""),
            titled("\" \""),
            titled("3"),
            titled("\"Sum"),
            titled("\"\\u001b[2J\""),
            CASE.replace("\"python\"", "\"Python 3\""),
            with("removed = [\"x\"]"),
            with("removed = [\"sum.py\"]"),
            with("twin_of = \"b\""),
            with("[twin]\ntitle = \"\""),
            with("[twin]\nname = \"\""),
        ],
        expect![[r#"
            error: `a/case.toml`: unknown key `titel`
            hint: did you mean `title`? The known keys are `title`, `body`, `language`, `licence`, `removed`, `draft`, `twin_of`, `repo`, `base_commit`, `head_commit`, `comment`, `expected`, `known_bad`, `twin`
            error: `a/case.toml`: missing field `title`
            error: `a/case.toml`: `title` must be one line of text
            hint: use the title that the author of the change would use
            error: `a/case.toml`: `title`: invalid type: integer `3`, expected a string
            error: `a/case.toml`: line 1: invalid TOML: invalid basic string, expected `"`
            error: `a/case.toml`: `title` must be one line of text
            hint: use the title that the author of the change would use
            error: `a/case.toml`: `language` is `Python 3`, which is not a language name
            hint: write it in lower case, such as `python` or `c`
            error: `a/case.toml`: `removed` names `x`, which is not in `base`
            hint: write it relative to the repository root
            error: `a/case.toml`: `sum.py` is both in `head` and in `removed`
            hint: remove it from one of them
            error: `a/case.toml`: `twin_of` names the case `b`, which does not exist
            hint: add that case, or remove this one
            error: `a/case.toml`, `[twin]`: `title` must be one line of text
            hint: use the title that the author of the change would use
            error: `a/case.toml`: unknown key `twin.name`
            hint: did you mean `title`? The known keys are `title`, `body`
        "#]],
    );
}

/// An expected issue with one line replaced.
fn issue(from: &str, to: &str) -> String {
    let issue = "[[expected]]\nfile = \"sum.py\"\nline_start = 1\nline_end = 1\n\
                 category = \"bug\"\nseverity = \"P1\"\ndescription = \"d\"\n";
    assert!(issue.contains(from));
    issue.replace(from, to)
}

#[test]
fn invalid_labels_are_reported_with_key() {
    let also = |also: &str| issue("line_end = 1", &format!("also = [{also}]"));
    let labels = [
        issue("\"bug\"", "\"bugs\""),
        issue("\"P1\"", "\"urgent\""),
        issue("severity = \"P1\"\n", ""),
        issue("severity", "serverity"),
        issue("line_start = 1", "line_start = 0"),
        issue("line_start = 1", "line_start = 2"),
        issue("line_end = 1", "line_end = 2"),
        issue("line_end = 1", "line_end = 4\nside = \"old\""),
        issue("line_end = 1", "side = \"left\""),
        issue("sum.py", "sums.py"),
        issue("sum.py", "../sum.py"),
        issue("\"d\"", "\"\""),
        issue("\"d\"", "\"DRAFT: d\""),
        issue("\"d\"", "\"d\"\nproved = \"yes\""),
        also("{ file = \"sum.py\", line_start = 7 }"),
        also("{ file = \"sum.py\", line_start = 1, line = 2 }"),
        also("{ file = \"sum.py\", line_start = 3, line_end = 2 }"),
        "[[known_bad]]\nfile = \"sum.py\"\nline_start = 9\ndescription = \"d\"".to_owned(),
    ];
    check_all(
        &labels.map(|labels| with(&labels)),
        expect![[r#"
            error: `a/case.toml`: `expected[0].category`: unknown variant `bugs`, expected one of `security`, `bug`, `error_handling`, `performance`, `style`, `logic`, `concurrency`, `api_contract`, `data`, `testing`, `maintainability`, `standards`, `requirements`
            error: `a/case.toml`: `expected[0].severity`: unknown severity `urgent`, expected one of `P0`, `P1`, `P2`, `P3`
            error: `a/case.toml`: `expected[0]`: missing field `severity`
            error: `a/case.toml`: unknown key `expected[0].serverity`
            hint: did you mean `severity`? The known keys are `file`, `line_start`, `line_end`, `side`, `category`, `severity`, `description`, `keywords`, `omission`, `also`, `note`, `proved`
            error: `a/case.toml`: `expected[0]` has invalid lines 0 to 1 of `sum.py`
            hint: lines are counted from 1, and `line_end` must not be before `line_start`
            error: `a/case.toml`: `expected[0]` has invalid lines 2 to 1 of `sum.py`
            hint: lines are counted from 1, and `line_end` must not be before `line_start`
            error: `a/case.toml`: `expected[0]` is at lines 1 to 2, but `sum.py` has 1 after the change
            hint: lines are counted from 1, on the side given by `side`
            error: `a/case.toml`: `expected[0]` is at lines 1 to 4, but `sum.py` has 3 before the change
            hint: lines are counted from 1, on the side given by `side`
            error: `a/case.toml`: `expected[0].side`: unknown variant `left`, expected `old` or `new`
            error: `a/case.toml`: `expected[0].file` is `sums.py`, which does not exist after the change
            hint: check the path; lines of the other side have `side = "old"`
            error: `a/case.toml`: `expected[0].file` is `../sum.py`, which is not a valid path
            hint: write it relative to the repository root, with `/`
            error: `a/case.toml`: `expected[0].description` is empty
            hint: describe the defect in one sentence
            error: `a/case.toml`: `expected[0].description` is still a draft
            hint: describe the defect, check category, severity and lines, then remove `DRAFT:`
            error: `a/case.toml`: `expected[0].proved` is `yes`
            hint: start it with `ran` and what you saw, or with `not run:` and the reason
            error: `a/case.toml`: `expected[0].also[0]` is at lines 7 to 7, but `sum.py` has 1 after the change
            hint: lines are counted from 1, on the side given by `side`
            error: `a/case.toml`: unknown key `expected[0].also[0].line`
            hint: did you mean `file`? The known keys are `file`, `line_start`, `line_end`, `side`
            error: `a/case.toml`: `expected[0].also[0]`: `sum.py` has no lines 3 to 2
            error: `a/case.toml`: `known_bad[0]` is at lines 9 to 9, but `sum.py` has 1 after the change
            hint: lines are counted from 1, on the side given by `side`
        "#]],
    );
}

#[test]
fn invalid_files_are_refused() {
    check_all(
        &[
            CASE.replace("total = sum(xs)", "total = 0\nfor x in xs:\n    total += x"),
            CASE.replace("s/a/head/sum.py", "s/a/nothing/sum.py"),
            format!("{CASE}//- s/a/head/.git/config\nx\n"),
            format!("{CASE}//- s/a/head/sub/.GIT/hooks/x\nx\n"),
        ],
        expect![[r#"
            error: `a/case.toml`: `head/sum.py` equals the file in `base`
            hint: `head` holds only files that the change adds or modifies
            error: `a/case.toml`: the change is empty: base and head are equal
            hint: `head` holds the files that the change adds or modifies
            error: `a/case.toml`: `.git/config` is not a valid path of a file in a case
            hint: write it relative to the repository root, with `/`, without `..` and `.git`
            error: `a/case.toml`: `sub/.GIT/hooks/x` is not a valid path of a file in a case
            hint: write it relative to the repository root, with `/`, without `..` and `.git`
        "#]],
    );
    let folder = written(CASE);
    symlink("/etc/passwd", folder.path().join("s/a/base/link")).unwrap();
    check_place(
        &folder.path().join("s"),
        expect![[r#"
            error: `a/base`: `link` is a symbolic link, a device or a pipe
            hint: a case holds regular files only
        "#]],
    );
    let folder = written(CASE);
    fs::write(folder.path().join("s/a/head/big"), vec![b'x'; (2 << 20) + 1]).unwrap();
    check_place(
        &folder.path().join("s"),
        expect![[r#"
            error: `a/head`: `big` is larger than 2 MiB
            hint: leave it out, or shorten it to the relevant part
        "#]],
    );
    let folder = written(CASE);
    fs::write(folder.path().join("s/a/head/bytes"), [0, 255, 10, 13]).unwrap();
    check_place(
        &folder.path().join("s"),
        expect![[r#"
        s
        a "Sum in one go" "" python "" None
          sum.py:38 -> bytes:4 sum.py:16
    "#]],
    );
}

#[test]
fn invalid_json_lines_are_reported_with_number() {
    let begin = r#"{"id": "a", "title": "t", "language": "c""#;
    let files = |base: &str, head: &str| {
        format!(r#"{begin}, "base_files": {base}, "head_files": {head}}}"#)
    };
    let commits = |repo: &str, base: &str| {
        let head = "1".repeat(40);
        format!(r#"{begin}, "repo": "{repo}", "base_commit": "{base}", "head_commit": "{head}"}}"#)
    };
    let lines = [
        "{".to_owned(),
        "[1]".to_owned(),
        r#"{"id": "a", "id": "b"}"#.to_owned(),
        format!("{begin}}}"),
        format!(r#"{begin}, "diff": "not one"}}"#),
        files(r#"{"/etc/x": "1"}"#, "{}"),
        files(r#"{"a/../x": "1"}"#, "{}"),
        files(r#"{"a\u001b[2J\nb/.git": "1"}"#, "{}"),
        files(r#"{"a": "1", "a/b": "1"}"#, "{}"),
        files(r#"{"a": "1"}"#, r#"{"a": "1"}"#),
        files(r#"{"a": 1}"#, r#"{"a": "1"}"#),
        commits("o/r", "HEAD"),
        commits("../r", &"2".repeat(40)),
    ];
    check_all(
        &lines.map(|json| line(&json)),
        expect![[r#"
            error: `x.jsonl`, line 1: invalid JSON: EOF while parsing an object at line 1 column 1
            hint: write one object per line
            error: `x.jsonl`, line 1: not a JSON object
            hint: write one object per line
            error: `x.jsonl`, line 1: invalid JSON: the key `id` is given twice at line 1 column 22
            hint: write one object per line
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: `base_files.a`: invalid type: integer `1`, expected a string
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
        "#]],
    );
}

#[test]
fn twin_belongs_to_one_existing_case() {
    let json = |id: &str, more: &str| {
        format!(
            r#"{{"id": "{id}", "title": "t", "language": "go", "diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n"{more}}}"#
        )
    };
    let twin = |id: &str, of: &str| json(id, &format!(r#", "pair_of": "{of}""#));
    let issue = r#", "twin_of": "a", "expected": [{"file": "a", "line_start": 1, "category": "bug", "severity": "P1", "description": "d"}]"#;
    let suites = [
        vec![json("rf-one", ""), twin("fwd-one", "rf-on")],
        vec![json("a", ""), twin("b", "a"), twin("c", "b")],
        vec![json("a", ""), twin("b", "a"), twin("c", "a")],
        vec![twin("a", "a")],
        vec![json("a", ""), json("b", issue)],
    ];
    check_all(
        &suites.map(|lines| line(&lines.join("\n"))),
        expect![[r#"
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
            error: `x.jsonl`, line 1: missing field `expected`
        "#]],
    );
    check(
        &with("[twin]\ntitle = \"Back\""),
        expect![[r#"
        s
        a "Sum in one go" "" python "" None
          sum.py:38 -> sum.py:16
        a~twin "Back" "" python "" Some("a")
          sum.py:16 -> sum.py:38
    "#]],
    );
}

#[test]
fn suite_hash_covers_labels() {
    let hash = |fixture: &str| {
        Suite::read(&written(fixture).path().join("s"), &[], &read_file).unwrap().hash()
    };
    let changes = [
        CASE.to_owned(),
        CASE.replace("Sum in one go", "Sum"),
        CASE.replace("python", "ruby"),
        CASE.replace("s/a/", "s/b/"),
        CASE.replace("sum(xs)", "max(xs)"),
        with("licence = \"MIT\""),
        with(&issue("", "")),
        with(&issue("\"P1\"", "\"P2\"")),
        with(&issue("\"bug\"", "\"data\"")),
        with(&issue("\"d\"", "\"e\"")),
        with(&issue("line_end = 1", "omission = true")),
        with(&issue("line_end = 1", "keywords = [\"k\"]")),
        with(&issue("line_end = 1", "also = [{ file = \"sum.py\", line_start = 1 }]")),
        with(&issue("line_end = 1", "line_end = 1\nside = \"old\"")),
        with("[[known_bad]]\nfile = \"sum.py\"\nline_start = 1\ndescription = \"d\""),
        with("[twin]\ntitle = \"Back\""),
    ];
    let mut hashes: Vec<String> = changes.iter().map(|fixture| hash(fixture)).collect();
    assert_eq!(hashes[0], hash(CASE));
    // Notes are for people.
    assert_eq!(hashes[6], hash(&with(&issue("line_end = 1", "note = \"n\"\nproved = \"ran\""))));
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), changes.len());
}

pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).or_fail(FailureKind::Usage)
}

#[test]
fn draft_that_is_not_chosen_does_no_harm() {
    let draft =
        CASE.replace("s/a/", "s/b/").replace("\n//- s/b/base", "\ndraft = true\n//- s/b/base");
    let folder = written(&format!("{CASE}{draft}"));
    let read = |glob: &str| {
        let suite = Suite::read(&folder.path().join("s"), &[glob.to_owned()], &read_file);
        suite.map(|suite| suite.cases.len()).map_err(|failure| failure.error.to_string())
    };
    assert_eq!(read("a"), Ok(1));
    assert_eq!(read("nothing"), Err("no case id matches".to_owned()));
    let error = read("b").unwrap_err();
    assert!(error.contains("the case is still a draft"), "{error}");
}
