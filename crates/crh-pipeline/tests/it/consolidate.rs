//! Findings checked against the files of base and head.

use expect_test::{Expect, expect};

use crate::test_change::TestChange;
use crh_pipeline::collect::ReviewFindings;
use crh_pipeline::consolidate::consolidate;
use crh_review::PastDecisions;
use crh_testkit::Repo;

/// Issues with their locations, and the fates of the other findings.
fn check(test_change: &TestChange, findings: &str, expected: Expect) {
    let merged = consolidate(
        test_change.collected_findings(findings).members,
        &test_change.subject,
        &PastDecisions::default(),
    );
    let mut actual = String::new();
    for issue in merged.issues.iter().chain(&merged.pre_existing) {
        let from = issue.relocated_from.map(|line| format!(" from {line}")).unwrap_or_default();
        actual += &format!("{}{from} {} {}\n", issue.location, issue.tier, issue.title);
    }
    for dropped in &merged.dropped {
        let title = &dropped.member.as_ref().unwrap().finding.title;
        actual += &format!("{}: {title} -- {}\n", dropped.fate, dropped.reason);
    }
    expected.assert_eq(&actual);
}

fn function(name: &str, body: &str) -> String {
    let filler: String = (0..30).map(|at| format!("    step_{name}_{at}()\n")).collect();
    format!("def {name}():\n{filler}    {body}\n\n")
}

#[test]
fn quotes_are_verified_in_whole_files_of_both_sides() {
    let repo = Repo::new();
    let text = |body: &str| function("first", "pass") + &function("second", body);
    repo.write("old/name.py", text("value = before()"));
    repo.write("untouched.py", "def helper():\n    return lookup_table[0]\n");
    repo.write("data.bin", b"\0\x01binary");
    repo.commit("base");
    std::fs::remove_file(repo.path().join("old/name.py")).unwrap();
    repo.write("new/name.py", text("value = after()"));
    repo.write("ü.py", "umlaut = total_of(1)\n");
    repo.commit("change");
    check(
        &TestChange::from_repo(repo),
        r#"
        a new/name.py:65 P1 0.9 "On the changed line" quote="value = after()"
        a old/name.py:65 P1 0.9 "By the old path" quote="value = after()"
        a old/name.py:65 P1 0.9 "Removed" quote="value = before()" side=old
        a new/name.py:40 P1 0.9 "In the changed function" quote="step_second_5()"
        a new/name.py:5 P1 0.9 "In another function" quote="step_first_3()"
        a new/name.py:9 P1 0.9 "At a wrong line" quote="step_second_20()"
        a untouched.py:2 P1 0.9 "In an untouched file" quote="lookup_table[0]"
        a untouched.py:2 P1 0.9 "Not in it" quote="lookup_table[1]"
        a missing.py:2 P1 0.9 "In no file" quote="lookup_table[0]"
        a ../untouched.py:2 P1 0.9 "Outside" quote="lookup_table[0]"
        a ü.py:1 P1 0.9 "With an umlaut" quote="total_of(1)"
        "#,
        expect![[r#"
            new/name.py:5 pre_existing In another function
            new/name.py:40 secondary In the changed function
            new/name.py:65 (removed) primary Removed
            new/name.py:65 primary By the old path
            untouched.py:2 pre_existing In an untouched file
            ü.py:1 primary With an umlaut
            new/name.py:55 from 9 secondary At a wrong line
            malformed: Outside -- `file`: has `.`, `..` or an empty part: write the path as the diff does
            unsupported: In no file -- the quote `lookup_table[0]` is from `missing.py`, which is not part of the review
            unsupported: Not in it -- the quote `lookup_table[1]` is not in `untouched.py`
        "#]],
    );
}

#[test]
fn diff_without_repository_can_be_quoted() {
    let diff = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -10,2 +10,2 @@\n def f():\n-    return old_value(1)\n+    return new_value(1)\n";
    check(
        &TestChange::from_diff(diff),
        r#"
        a a.py:11 P1 0.9 "New" quote="return new_value(1)"
        a a.py:11 P1 0.9 "Old" quote="return old_value(1)" side=old
        a a.py:1 P1 0.9 "Not shown" quote="import something"
        "#,
        expect![[r#"
            a.py:11 (removed) primary Old
            a.py:11 primary New
            unsupported: Not shown -- the quote `import something` is not in `a.py`
        "#]],
    );
}

#[test]
fn thousands_of_findings_are_all_accounted_for() {
    let (files, each) = (300, 10);
    let file = |at: usize| format!("src/f{at}.py");
    let text = |at: usize, value: &str| function(&format!("f{at}"), value);
    let repo = Repo::new();
    repo.import((0..files).map(|at| (file(at), text(at, "value = before()"))));
    repo.import((0..files).map(|at| (file(at), text(at, "value = after()"))));
    repo.git(&["reset", "--hard", "--quiet"]);
    let test_change = TestChange::from_repo(repo);
    let mut findings = String::new();
    for at in 0..files {
        for line in 2..2 + each {
            let quote = format!("step_f{at}_{}()", line - 2);
            findings +=
                &format!("a {}:{line} P2 0.9 \"Problem {line}\" quote=\"{quote}\"\n", file(at));
        }
    }
    let collected =
        ReviewFindings { members: test_change.members(&findings), ..ReviewFindings::default() };
    let merged = consolidate(collected.members, &test_change.subject, &PastDecisions::default());
    let members: usize = merged.issues.iter().map(|issue| issue.members.len()).sum();
    assert_eq!((members, merged.dropped.len()), (files * each, 0));
}
