use expect_test::expect;
use serde_json::json;

use super::*;

/// An issue on lines of `a.py` that quotes the first of them.
pub(in crate::fix) fn issue(
    number: u32,
    lines: (u32, u32),
    quote: &str,
    replacement: Option<&str>,
) -> Issue {
    let value = json!({
        "number": number, "dedupe_key": "0123456789abcdef", "title": "It is wrong",
        "severity": "P2", "category": "bug",
        "file": "a.py", "side": "new", "line_start": lines.0, "line_end": lines.1,
        "confidence": 0.8, "why_it_matters": "", "description": "", "suggestion": "",
        "replacement": replacement, "evidence_snippet": quote,
        "evidence": [{ "file": "a.py", "side": "new", "line": lines.0, "snippet": quote }],
        "reviewers": [], "language": "python", "tier": "primary", "validation": "confirmed",
        "autofix_class": "safe_auto", "owner": "review-fixer", "queue": "fixer", "action": "apply",
        "requires_verification": false, "pre_existing": false, "members": [],
    });
    serde_json::from_value(value).unwrap()
}

/// The edits of issues in a text that changed since the review.
fn came(issues: &[Issue], reviewed: &[u8], now: &[u8], changed: &[LineChange]) -> ReplacementEdits {
    let changed = changed.to_vec();
    let texts = FileTexts { reviewed: reviewed.to_vec(), now: now.to_vec(), changed };
    let texts = issues.iter().map(|issue| (issue.number, Ok(texts.clone()))).collect();
    replaced(&issues.iter().collect::<Vec<_>>(), &texts)
}

/// The new text with escaped bytes, and the skipped issues.
fn shown(replaced: &ReplacementEdits) -> String {
    let edits = replaced.edits.iter().map(|edit| {
        let after = edit.after.as_deref().unwrap_or_default().escape_ascii().to_string();
        format!("{:?} {}\n", edit.issues, after)
    });
    let left = replaced.left.iter().map(|left| format!("#{}: {}\n", left.number, left.why));
    edits.chain(left).collect()
}

fn check(issues: &[Issue], text: &[u8], expected: expect_test::Expect) {
    expected.assert_eq(&shown(&came(issues, text, text, &[])));
}

#[test]
fn replacement_changes_only_its_lines() {
    check(
        &[issue(1, (2, 3), "two", Some("2 and 3"))],
        b"one\ntwo\nthree\nfour\n",
        expect![[r#"
            {1} one\n2 and 3\nfour\n
        "#]],
    );
    check(
        &[issue(1, (2, 2), "two", Some("2\n2\n"))],
        b"\xef\xbb\xbfone\ntwo\n\xff\n",
        expect![[r#"
            {1} \xef\xbb\xbfone\n2\n2\n\xff\n
        "#]],
    );
    for (replacement, expected) in [
        ("1", "{1} \\xef\\xbb\\xbf1\\ntwo\\n\n"),
        ("\u{feff}1", "{1} \\xef\\xbb\\xbf1\\ntwo\\n\n"),
        ("", "{1} \\xef\\xbb\\xbftwo\\n\n"),
    ] {
        let text = b"\xef\xbb\xbfone\ntwo\n";
        let first = [issue(1, (1, 1), "one", Some(replacement))];
        assert_eq!(shown(&came(&first, text, text, &[])), expected);
    }
    check(
        &[issue(1, (2, 2), "two", Some(""))],
        b"one\ntwo\nthree",
        expect![[r#"
            {1} one\nthree
        "#]],
    );
}

#[test]
fn line_endings_and_missing_final_newline_are_preserved() {
    check(
        &[issue(1, (1, 1), "one", Some("1\n1"))],
        b"one\r\ntwo\r\n",
        expect![[r#"
            {1} 1\r\n1\r\ntwo\r\n
        "#]],
    );
    check(
        &[issue(1, (2, 2), "two", Some("2\r\n2\r\n"))],
        b"one\ntwo",
        expect![[r#"
            {1} one\n2\n2
        "#]],
    );
    check(
        &[issue(1, (2, 2), "two", Some("2\n2"))],
        b"one\r\ntwo",
        expect![[r#"
            {1} one\r\n2\r\n2
        "#]],
    );
    check(
        &[issue(1, (1, 1), "one", Some("1\n1\n"))],
        b"one",
        expect![[r#"
            {1} 1\n1
        "#]],
    );
}

#[test]
fn issues_of_one_file_are_applied_without_overlap() {
    let text = b"one\ntwo\nthree\nfour\n";
    let issues = [
        issue(4, (4, 4), "four", Some("4")),
        issue(1, (1, 2), "one", Some("1\n2")),
        issue(2, (2, 3), "two", Some("2\n3")),
        issue(3, (1, 2), "one", Some("1\n2\n")),
    ];
    check(
        &issues,
        text,
        expect![[r#"
            {1, 3, 4} 1\n2\nthree\n4\n
            #2: it overlaps the fix of #1
        "#]],
    );
}

#[test]
fn unclear_replacement_is_skipped_with_reason() {
    let text = b"one\ntwo\nthree\n";
    let hidden = issue(3, (2, 2), "two", Some("key = '[redacted]'"));
    let mut removed = issue(4, (2, 2), "two", Some("2"));
    removed.location.side = Side::Old;
    let issues = [
        issue(1, (2, 2), "two", None),
        issue(2, (2, 2), "two", Some("two")),
        hidden,
        removed,
        issue(5, (3, 9), "three", Some("3")),
        issue(6, (2, 2), "elsewhere", Some("2")),
    ];
    check(
        &issues,
        text,
        expect![[r#"
            #1: the report contains no code for this fix
            #2: its replacement changes nothing
            #3: its replacement contains a hidden credential
            #4: it is about removed lines
            #5: the reviewed file has no such lines
            #6: its quoted code is not at the given lines
        "#]],
    );
    check(
        &[issue(1, (1, 1), "o", Some("1"))],
        b"o\0n\0e\0\n",
        expect![[r#"
            #1: its file is not text
        "#]],
    );
    check(
        &[issue(1, (1, 1), "caf", Some("caf\u{e9}!")), issue(2, (2, 2), "two", Some("2"))],
        b"caf\xe9\ntwo\n",
        expect![[r#"
            {2} caf\xe9\n2\n
            #1: its file is not UTF-8, and its replacement is not ASCII
        "#]],
    );
}

#[test]
fn moved_lines_are_followed_and_changed_lines_skipped() {
    let reviewed = b"a\nb\nx\nd\nx\nf\n";
    let wanted = [issue(1, (5, 5), "x", Some("X"))];
    let check = |now: &[u8], changed: &[(usize, usize, usize)], expected: expect_test::Expect| {
        let changed: Vec<LineChange> =
            changed.iter().map(|&(at, were, are)| LineChange { at, were, are }).collect();
        expected.assert_eq(&shown(&came(&wanted, reviewed, now, &changed)));
    };
    let moved = expect![[r#"
        {1} new\na\nd\nX\nf\n
    "#]];
    check(b"new\na\nd\nx\nf\n", &[(0, 0, 1), (1, 2, 0)], moved);
    let before = expect![[r#"
        {1} a\nb\nx\nd\nnew\nX\nf\n
    "#]];
    check(b"a\nb\nx\nd\nnew\nx\nf\n", &[(4, 0, 1)], before);
    let after = expect![[r#"
        {1} a\nb\nx\nd\nX\nnew\nf\n
    "#]];
    check(b"a\nb\nx\nd\nx\nnew\nf\n", &[(5, 0, 1)], after);
    let left = "#1: its lines changed since the review\n";
    let gone =
        came(&wanted, reviewed, b"a\nb\nx\nd\nf\n", &[LineChange { at: 4, were: 1, are: 0 }]);
    assert_eq!(shown(&gone), left);
    let unlike = came(&wanted, reviewed, b"a\nb\nx\nd\ny\nf\n", &[]);
    assert_eq!(shown(&unlike), left);
    let wide = [issue(1, (3, 5), "x", Some("X"))];
    let between = LineChange { at: 4, were: 0, are: 1 };
    assert_eq!(shown(&came(&wide, reviewed, b"a\nb\nx\nd\nnew\nx\nf\n", &[between])), left);
}

#[test]
fn replacement_in_the_file_counts_only_at_the_place_of_the_old_lines() {
    let reviewed = b"a\nb\nb\nc\nd\n";
    let check = |lines,
                 replacement: &str,
                 now: &[u8],
                 changed: &[(usize, usize, usize)],
                 expected: bool| {
        let changed: Vec<LineChange> =
            changed.iter().map(|&(at, were, are)| LineChange { at, were, are }).collect();
        let found = came(&[issue(1, lines, "", Some(replacement))], reviewed, now, &changed);
        assert_eq!(found.already_fixed.contains(&1), expected, "{}", now.escape_ascii());
        assert!(!expected || found.edits.is_empty() && found.left.is_empty());
    };
    check((4, 4), "C", b"a\nb\nb\nC\nd\n", &[(3, 1, 1)], true);
    check((4, 4), "C", b"new\na\nb\nb\nC\r\nd\nnew\n", &[(0, 0, 1), (3, 1, 1), (5, 0, 1)], true);
    check((4, 4), "C", b"a\nb\nb\nC\nc\nd\n", &[(3, 0, 1)], false);
    check((4, 4), "C", b"C\na\nb\nb\nd\n", &[(0, 0, 1), (3, 1, 0)], false);
    check((4, 4), "C", b"a\nb\nb\nC\nD\n", &[(3, 2, 2)], false);
    check((4, 4), "C", reviewed, &[], false);
    // The replacement keeps the old line, or a part of the old lines.
    check((4, 4), "c\nC", b"a\nb\nb\nc\nC\nd\n", &[(4, 0, 1)], true);
    check((3, 4), "b\nC", b"a\nb\nb\nC\nd\n", &[(3, 1, 1)], true);
    // Git may say that the other of two equal lines was deleted.
    check((2, 2), "", b"a\nb\nc\nd\n", &[(2, 1, 0)], true);
    check((5, 5), "", b"a\nb\nb\nc\n", &[(4, 1, 0)], true);
}

#[test]
fn changed_quote_skips_the_fix() {
    let mut wanted = issue(1, (1, 1), "a", Some("A"));
    let quote = json!({ "file": "a.py", "side": "new", "line": 3, "snippet": "c" });
    wanted.evidence.push(serde_json::from_value(quote).unwrap());
    let came = |now: &[u8], at: usize| {
        let changed = [LineChange { at, were: 1, are: 1 }];
        shown(&came(&[wanted.clone()], b"a\nb\nc\nd\n", now, &changed))
    };
    assert_eq!(came(b"a\nB\nc\nd\n", 1), "{1} A\\nB\\nc\\nd\\n\n");
    let changed = "#1: its quoted code changed since the review\n";
    assert_eq!(came(b"a\nb\nC\nd\n", 2), changed);
}

#[test]
fn unreadable_file_is_the_reason_of_each_issue() {
    let issues = [issue(1, (1, 1), "one", Some("1")), issue(2, (2, 2), "two", Some("2"))];
    let gone = [1, 2].map(|number| SkippedIssue::rejected(number, "`a.py` is gone"));
    let texts = gone.iter().map(|left| (left.number, Err(left.clone()))).collect();
    let replaced = replaced(&issues.iter().collect::<Vec<_>>(), &texts);
    assert_eq!((replaced.edits, replaced.left), (Vec::new(), gone.to_vec()));
}
