//! Merging, as tables: one line per finding in, one line per issue or dropped finding out.
//!
//! A finding is `reviewer file:line severity category confidence route "title"`, then any of
//! `quote="…"`, `side=old`, `pre`, `fix`, `replace="…"`, `code`, `voice=…`, `rule=…`. Without a
//! quote it quotes its line.

use std::num::NonZeroU32;

use expect_test::{Expect, expect};

use super::*;
use crate::diff::Diff;
use crate::evidence::SymbolSpan;
use crate::finding::tests_support::finding;
use crate::finding::{Evidence, Finding, Origin, Side};
use crate::report::{AppliedFix, FixOutcome};

/// `f.rs` and `F.rs` with 100 lines: 20 to 29 are new, and a line was removed after line 60.
fn sources() -> Sources {
    let mut diff = String::new();
    for path in ["f.rs", "F.rs"] {
        diff += &format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -19 +19,11 @@\n"
        );
        diff += " let v19 = call(19);\n";
        for line in 20..30 {
            diff += &format!("+let v{line} = call({line});\n");
        }
        diff += "@@ -50,3 +60,2 @@\n let v60 = call(60);\n-let gone = removed(1);\n let v61 = call(61);\n";
    }
    let text: String = (1..=100).map(|line| format!("let v{line} = call({line});\n")).collect();
    let span = |name: &str, start, end| SymbolSpan { name: name.to_owned(), start, end };
    Sources::new(Diff::read(diff))
        .with_file(Side::New, "f.rs", text.clone())
        .with_file(Side::New, "F.rs", text.clone())
        .with_file(Side::New, "other.rs", text)
        .with_symbols(Side::New, "f.rs", vec![span("all", 1, 45), span("inner", 20, 24)])
}

fn word<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap_or_else(|error| panic!("{word}: {error}"))
}

fn member(line: &str) -> Member {
    let (head, rest) = line.split_once('"').unwrap();
    let (title, rest) = rest.split_once('"').unwrap();
    let [reviewer, place, severity, category, confidence, route] =
        head.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
    let (file, line) = place.split_once(':').unwrap();
    let (class, owner) = route.split_once('/').unwrap();
    let option = |name: &str| {
        let (_, value_start) = rest.split_once(&format!("{name}=\""))?;
        Some(value_start.split_once('"').unwrap().0.replace("\\n", "\n").replace("\\t", "\t"))
    };
    let quote = option("quote").unwrap_or_else(|| format!("let v{line} = call({line});"));
    let evidence = Evidence { file: None, line: None, side: None, snippet: quote };
    let mut member = Member::new(
        reviewer,
        Finding {
            title: title.to_owned(),
            severity: word(severity),
            category: word(category),
            file: file.to_owned(),
            line_start: NonZeroU32::new(line.parse().unwrap()),
            side: rest.contains("side=old").then_some(Side::Old),
            confidence: Confidence::new(confidence.parse().unwrap()).unwrap(),
            evidence: vec![evidence],
            suggested_fix: rest.contains(" fix").then(|| "do it".to_owned()),
            replacement: option("replace"),
            autofix_class: word(class),
            owner: word(owner),
            pre_existing: rest.contains(" pre"),
            ..finding()
        },
    );
    if rest.contains(" code") {
        member.origin = Origin::Code;
    }
    member.voice = option("voice");
    member.rule = option("rule");
    member
}

fn members(table: &str) -> Vec<Member> {
    table.lines().map(str::trim).filter(|line| !line.is_empty()).map(member).collect()
}

/// Merges without past decisions and answers.
fn merge_in(sources: &Sources, members: Vec<Member>) -> MergeResult {
    consolidate(members, sources, &PastDecisions::default(), &BTreeSet::new())
}

fn merge(table: &str) -> MergeResult {
    judge(table, &BTreeMap::new())
}

fn judge(table: &str, judgements: &BTreeMap<String, Judgement>) -> MergeResult {
    apply_judgements(merge_in(&sources(), members(table)), judgements)
}

fn describe(merged: &MergeResult) -> String {
    let mut out = String::new();
    let row = |issue: &Issue| {
        let moved = issue.relocated_from.map(|line| format!(" from {line}")).unwrap_or_default();
        let note = issue.disagreement.as_ref().map(|d| format!(" [{d}]")).unwrap_or_default();
        format!(
            "#{} {}{moved} {} {} {} {}/{} {} {} \"{}\"{note}\n",
            issue.number,
            issue.location,
            issue.severity,
            issue.confidence,
            issue.reviewers.join(","),
            issue.autofix_class,
            issue.owner,
            issue.queue,
            issue.action,
            issue.title,
        )
    };
    out.extend(merged.issues.iter().map(row));
    out.extend(merged.pre_existing.iter().map(|issue| format!("before: {}", row(issue))));
    for dropped in &merged.dropped {
        let title = &dropped.member.as_ref().unwrap().finding.title;
        out +=
            &format!("{}: {} \"{title}\" -- {}\n", dropped.fate, dropped.reviewer, dropped.reason);
    }
    out.extend(merged.testing_gaps.iter().map(|gap| format!("gap: {gap}\n")));
    out.extend(merged.residual_risks.iter().map(|risk| format!("risk: {risk}\n")));
    for pair in &merged.candidate_pairs {
        out += &format!("pair: \"{}\" / \"{}\"\n", pair.left.title, pair.right.title);
    }
    out
}

/// Merges the findings of a snapshot, its lines with `> `. The other lines are the result.
fn check(expected: Expect) {
    check_table(expected, merge);
}

fn check_table(expected: Expect, merge: impl FnOnce(&str) -> MergeResult) {
    let table: Vec<&str> =
        expected.data.lines().filter_map(|line| line.trim().strip_prefix("> ")).collect();
    let input: String = table.iter().map(|line| format!("> {line}\n")).collect();
    expected.assert_eq(&(input + &describe(&merge(&table.join("\n")))));
}

#[test]
fn agreement_lifts_two_findings_over_the_minimum() {
    check(expect![[r#"
        > alice f.rs:20 P2 bug 0.55 manual/human "Index out of range"
        > bob   f.rs:21 P1 bug 0.55 manual/human "index out of range!" quote="let v20 = call(20);"
        > carol f.rs:25 P1 bug 0.55 manual/human "Something else"
        #1 f.rs:20 from 21 P1 0.65 alice,bob manual/human report defer "index out of range!" [bob (P1), alice (P2) -- kept P1, the more severe]
        below_gate: carol "Something else" -- confidence 0.55
    "#]]);
}

#[test]
fn agreement_counts_voices_not_findings() {
    check(expect![[r##"
        > alice f.rs:20 P1 bug 0.70 manual/human "Same words"
        > alice f.rs:20 P1 bug 0.65 manual/human "Same words"
        > ruff  f.rs:25 P1 bug 0.70 manual/human "Unused name" voice="flake"
        > flake f.rs:25 P1 bug 0.70 manual/human "Unused name" voice="flake"
        > x     f.rs:29 P1 bug 0.95 manual/human "Agreed"
        > y     f.rs:29 P1 bug 0.95 manual/human "Agreed"
        #1 f.rs:29 P1 1.00 x,y manual/human report defer "Agreed"
        #2 f.rs:20 P1 0.70 alice manual/human report defer "Same words"
        #3 f.rs:25 P1 0.70 flake,ruff manual/human report defer "Unused name"
    "##]]);
}

#[test]
fn different_families_on_one_line_stay_apart() {
    check(expect![[r##"
        > security    f.rs:20 P0 security    0.90 manual/human "SQL injection in query"
        > performance f.rs:20 P2 performance 0.80 manual/human "Slow query without index"
        #1 f.rs:20 P0 0.90 security manual/human report defer "SQL injection in query"
        #2 f.rs:20 P2 0.80 performance manual/human report defer "Slow query without index"
        pair: "Slow query without index" / "SQL injection in query"
    "##]]);
}

#[test]
fn issues_sort_by_line_number_and_exact_path() {
    check(expect![[r##"
        > a f.rs:29 P2 bug 0.80 manual/human "One"
        > a f.rs:20 P2 bug 0.80 manual/human "Two"
        > a F.rs:20 P2 bug 0.80 manual/human "Two"
        > a f.rs:9 P2 bug 0.80 manual/human "Three is near" quote="let v9 = call(9);"
        #1 F.rs:20 P2 0.80 a manual/human report defer "Two"
        #2 f.rs:9 P2 0.80 a manual/human report defer "Three is near"
        #3 f.rs:20 P2 0.80 a manual/human report defer "Two"
        #4 f.rs:29 P2 0.80 a manual/human report defer "One"
    "##]]);
}

#[test]
fn clusters_do_not_chain() {
    check(expect![[r##"
        > a f.rs:20 P2 bug 0.80 manual/human "Off by one in loop"
        > b f.rs:23 P2 bug 0.80 manual/human "Off by one in loop"
        > c f.rs:26 P2 bug 0.80 manual/human "Off by one in loop"
        #1 f.rs:20 P2 0.90 a,b manual/human report defer "Off by one in loop"
        #2 f.rs:26 P2 0.80 c manual/human report defer "Off by one in loop"
    "##]]);
}

#[test]
fn static_findings_merge_only_on_the_same_line() {
    check(expect![[r##"
        > secrets   f.rs:20 P0 security 1 manual/human "GitHub token in the code" code rule="secrets/github"
        > secrets   f.rs:21 P0 security 1 manual/human "npm token in the code"    code rule="secrets/npm"
        > secrets   f.rs:22 P0 security 1 manual/human "Slack token in the code"  code rule="secrets/slack"
        > leftovers f.rs:24 P1 bug      1 manual/human "`debugger` is left over"  code rule="leftovers/debugger"
        > leftovers f.rs:26 P1 bug      1 manual/human "`debugger` is left over"  code rule="leftovers/debugger"
        #1 f.rs:20 P0 1.00 secrets manual/human report defer "GitHub token in the code"
        #2 f.rs:21 P0 1.00 secrets manual/human report defer "npm token in the code"
        #3 f.rs:22 P0 1.00 secrets manual/human report defer "Slack token in the code"
        #4 f.rs:24 P1 1.00 leftovers manual/human report defer "`debugger` is left over"
        #5 f.rs:26 P1 1.00 leftovers manual/human report defer "`debugger` is left over"
    "##]]);
    // On one line, the same rule and title merge, two rules of one reviewer do not, and other reviewers
    // merge.
    check(expect![[r#"
        > secrets f.rs:20 P0 security 1 manual/human "GitHub token in the code" code rule="secrets/github"
        > secrets f.rs:20 P0 security 1 manual/human "GitHub token in the code" code rule="secrets/github" fix
        > secrets f.rs:20 P0 security 1 manual/human "npm token in the code"    code rule="secrets/npm"
        > patterns f.rs:20 P0 security 1 manual/human "A shell runs a joined text" code rule="patterns/shell"
        > semgrep f.rs:20 P0 security 1 manual/human "Hard-coded credential"    code rule="generic.token"
        #1 f.rs:20 P0 1.00 patterns,semgrep manual/human report defer "A shell runs a joined text"
        #2 f.rs:20 P0 1.00 secrets manual/human report defer "GitHub token in the code"
        #3 f.rs:20 P0 1.00 secrets manual/human report defer "npm token in the code"
    "#]]);
    // Two removed functions can have one line.
    check(expect![[r#"
        > references f.rs:20 P1 api_contract 1 manual/human "`old_name` is gone" code rule="references/removed"
        > references f.rs:20 P1 api_contract 1 manual/human "`other_name` is gone" code rule="references/removed"
        #1 f.rs:20 P1 1.00 references manual/human report defer "`old_name` is gone"
        #2 f.rs:20 P1 1.00 references manual/human report defer "`other_name` is gone"
    "#]]);
}

#[test]
fn model_finding_does_not_join_static_findings() {
    check(expect![[r##"
        > a       f.rs:20 P0 security 1 manual/human "Token in the code"
        > secrets f.rs:21 P0 security 1 manual/human "GitHub token in the code" code rule="secrets/github"
        > secrets f.rs:22 P0 security 1 manual/human "npm token in the code"    code rule="secrets/npm"
        #1 f.rs:21 P0 1.00 a,secrets manual/human report defer "GitHub token in the code"
        #2 f.rs:22 P0 1.00 secrets manual/human report defer "npm token in the code"
    "##]]);
}

#[test]
fn title_overlap_merges_or_makes_a_pair() {
    check(expect![[r##"
        > a f.rs:20 P2 bug   0.80 manual/human "Token leaks into the log file"
        > b f.rs:22 P2 logic 0.80 manual/human "The token leaks into a log"
        > c f.rs:21 P2 bug   0.80 manual/human "Token leaks are never checked"
        #1 f.rs:20 P2 0.90 a,b manual/human report defer "Token leaks into the log file"
        #2 f.rs:21 P2 0.80 c manual/human report defer "Token leaks are never checked"
        pair: "Token leaks into the log file" / "Token leaks are never checked"
    "##]]);
}

#[test]
fn most_cautious_route_wins() {
    check(expect![[r#"
        > security    f.rs:20 P0 security 0.80 safe_auto/review-fixer         "Same thing" fix
        > correctness f.rs:20 P1 security 0.90 gated_auto/downstream-resolver "Same thing"
        > a f.rs:25 P1 bug 0.80 safe_auto/review-fixer "Both fix it" replace="x"
        > b f.rs:25 P1 bug 0.80 safe_auto/review-fixer "Both fix it" replace="y"
        > c f.rs:29 P3 bug 0.80 safe_auto/review-fixer "Fixed" replace="x"
        #1 f.rs:20 P0 1.00 correctness,security gated_auto/downstream-resolver residual defer "Same thing" [security (P0), correctness (P1) -- kept P0, the more severe; security (safe fix), correctness (fix that changes behaviour) -- kept fix that changes behaviour, the more cautious; security (for `crh fix`), correctness (for a developer or a coding agent) -- kept for a developer or a coding agent, the more cautious]
        #2 f.rs:25 P1 0.90 a,b gated_auto/review-fixer residual skip "Both fix it" [a, b (different replacements) -- kept none]
        #3 f.rs:29 P3 0.80 c safe_auto/review-fixer fixer apply "Fixed"
    "#]]);
}

#[test]
fn model_severity_is_capped_by_category() {
    check(expect![[r#"
        > alice f.rs:20 P0 style 0.80 manual/human "Odd name"
        > alice f.rs:22 P0 testing 0.80 manual/human "Refunds are untested"
        > alice f.rs:24 P0 standards 0.80 manual/human "Rule nine is broken"
        > bob   f.rs:24 P2 maintainability 0.90 manual/human "Rule nine is broken"
        > ruff  f.rs:26 P1 style 0.80 manual/human "Unused name" code rule="x/unused"
        > carol f.rs:26 P0 style 0.80 manual/human "Unused name"
        > alice f.rs:28 P0 security 0.80 manual/human "Open to all"
        #1 f.rs:28 P0 0.80 alice manual/human report defer "Open to all"
        #2 f.rs:26 P1 0.90 carol,ruff manual/human report defer "Unused name" [carol (P0), ruff (P1) -- lowered to P1: style is P3 at most]
        #3 f.rs:22 P1 0.80 alice manual/human report defer "Refunds are untested" [alice (P0) -- lowered to P1: testing is P1 at most]
        #4 f.rs:24 P2 1.00 alice,bob manual/human report defer "Rule nine is broken" [alice (P0), bob (P2) -- lowered to P2: standards is P2 at most]
        #5 f.rs:20 P3 0.80 alice manual/human report defer "Odd name" [alice (P0) -- lowered to P3: style is P3 at most]
    "#]]);
}

#[test]
fn finding_moves_to_its_quote() {
    check(expect![[r##"
        > right  f.rs:21 P1 bug 0.90 manual/human "Right line"
        > near   f.rs:28 P1 bug 0.90 manual/human "Wrong line" quote="let v24 = call(24);"
        > far    f.rs:90 P1 bug 0.90 manual/human "Far line"   quote="let v29 = call(29);"
        > folded f.rs:26 P1 bug 0.90 manual/human "Other blanks" quote="+  let  v26 =\tcall(26);"
        > liar   f.rs:20 P1 bug 0.90 manual/human "Invented"   quote="let v20 = other(20);"
        > lazy   f.rs:20 P1 bug 0.90 manual/human "Ellipsis"   quote="let v20 = ... ;"
        > short  f.rs:20 P1 bug 0.90 manual/human "Too short"  quote="v20 ="
        > sign   f.rs:20 P1 bug 0.90 manual/human "Long by its sign" quote="+call(20"
        > gap    f.rs:20 P1 bug 0.90 manual/human "Not consecutive" quote="let v20 = call(20);\nlet v22 = call(22);"
        #1 f.rs:21 P1 0.90 right manual/human report defer "Right line"
        #2 f.rs:24 from 28 P1 0.90 near manual/human report defer "Wrong line"
        #3 f.rs:26 P1 0.90 folded manual/human report defer "Other blanks"
        #4 f.rs:29 from 90 P1 0.65 far manual/human report defer "Far line"
        unsupported: gap "Not consecutive" -- the quote `let v20 = call(20); let v22 = call(22);` is not in `f.rs`
        unsupported: lazy "Ellipsis" -- the quote `let v20 = ... ;` is not in `f.rs`
        unsupported: liar "Invented" -- the quote `let v20 = other(20);` is not in `f.rs`
        unsupported: short "Too short" -- the quote `v20 =` is too short: quote the whole cited line, or at least 8 visible characters
        unsupported: sign "Long by its sign" -- the quote `+call(20` is too short: quote the whole cited line, or at least 8 visible characters
        pair: "Right line" / "Wrong line"
    "##]]);
}

#[test]
fn quote_of_removed_line_is_on_the_old_side() {
    check(expect![[r##"
        > a f.rs:51 P1 bug 0.90 manual/human "Check was removed" side=old quote="let gone = removed(1);"
        > b f.rs:60 P1 bug 0.90 manual/human "Said new, is old" quote="-let gone = removed(1);"
        > c f.rs:60 P1 bug 0.90 manual/human "Both sides quoted" quote="-let gone = removed(1);\n let v61 = call(61);"
        #1 f.rs:51 (removed) P1 1.00 a,b manual/human report defer "Check was removed"
        #2 f.rs:61 from 60 P1 0.90 c manual/human report defer "Both sides quoted"
    "##]]);
}

#[test]
fn unchanged_code_is_pre_existing() {
    check(expect![[r##"
        > a f.rs:40 P1 bug 0.90 manual/human "In a changed function"
        > a f.rs:70 P1 bug 0.90 manual/human "Within ten lines of a removed line"
        > a f.rs:85 P2 bug 0.90 manual/human "Elsewhere"
        > a other.rs:5 P2 bug 0.90 manual/human "Another file"
        > a f.rs:35 P1 bug 0.90 manual/human "Said to be old" pre
        > a other.rs:50 P1 bug 0.90 manual/human "Old problem of a caller" pre
        > a other.rs:70 P1 bug 0.90 manual/human "A caller that the change breaks"
        > a f.rs:22 P1 bug 0.90 manual/human "Said to be old on an added line" pre
        > a f.rs:95 P1 bug 0.50 manual/human "Elsewhere and unsure"
        > rule f.rs:99 P1 bug 0.90 manual/human "A program knows better" code
        #1 f.rs:22 P1 0.90 a manual/human report defer "Said to be old on an added line"
        #2 f.rs:40 P1 0.90 a manual/human report defer "In a changed function"
        #3 f.rs:70 P1 0.90 a manual/human report defer "Within ten lines of a removed line"
        #4 f.rs:99 P1 0.90 rule manual/human report defer "A program knows better"
        #5 other.rs:70 P1 0.90 a manual/human report defer "A caller that the change breaks"
        before: #6 f.rs:35 P1 0.90 a manual/human report defer "Said to be old"
        before: #7 other.rs:50 P1 0.90 a manual/human report defer "Old problem of a caller"
        before: #8 f.rs:85 P2 0.90 a manual/human report defer "Elsewhere"
        before: #9 other.rs:5 P2 0.90 a manual/human report defer "Another file"
        below_gate: a "Elsewhere and unsure" -- confidence 0.5
    "##]]);
}

#[test]
fn p0_has_lower_minimum_confidence() {
    check(expect![[r##"
        > a f.rs:20 P0 bug 0.50 manual/human "Disaster"
        > a f.rs:25 P0 bug 0.49 manual/human "Guess"
        > a f.rs:29 P1 bug 0.59 manual/human "Doubt"
        #1 f.rs:20 P0 0.50 a manual/human report defer "Disaster"
        below_gate: a "Doubt" -- confidence 0.59
        below_gate: a "Guess" -- confidence 0.49
    "##]]);
}

#[test]
fn unsure_blocker_is_hidden_but_open() {
    let merged = merge(
        "a f.rs:20 P1 bug 0.45 manual/downstream-resolver \"Perhaps wrong\"
         a f.rs:28 P2 bug 0.45 manual/downstream-resolver \"Perhaps slow\"",
    );
    let open = |dropped: &DroppedFinding| (dropped.fate, dropped.open);
    let dropped: Vec<_> = merged.dropped.iter().map(open).collect();
    assert_eq!(dropped, [(Fate::BelowGate, None), (Fate::BelowGate, Some(Severity::P1))]);
}

#[test]
fn weak_test_and_maintainability_findings_are_softened() {
    check(expect![[r##"
        > alice f.rs:20 P2 testing 0.70 manual/human "Rounding is checked nowhere"
        > alice f.rs:22 P3 maintainability 0.90 advisory/human "Two names for one thing"
        > alice f.rs:24 P2 maintainability 0.30 manual/human "Deep nesting"
        > alice f.rs:26 P2 testing 0.75 manual/human "The test asserts nothing"
        > alice F.rs:20 P1 testing 0.70 manual/human "The guard can be wrong"
        > alice F.rs:22 P2 bug 0.50 advisory/human "Perhaps a bug"
        > alice F.rs:24 P2 maintainability 0.50 manual/human "Shared by two"
        > bob   F.rs:24 P2 maintainability 0.55 manual/human "Shared by two"
        > ruff  F.rs:26 P2 maintainability 0.60 advisory/human "Found by a program" code
        > alice F.rs:35 P2 testing 0.60 advisory/human "An old gap" pre
        #1 F.rs:20 P1 0.70 alice manual/human report defer "The guard can be wrong"
        #2 f.rs:26 P2 0.75 alice manual/human report defer "The test asserts nothing"
        #3 F.rs:24 P2 0.65 alice,bob manual/human report defer "Shared by two"
        #4 F.rs:26 P2 0.60 ruff advisory/human report acknowledge "Found by a program"
        before: #5 F.rs:35 P2 0.60 alice advisory/human report acknowledge "An old gap"
        below_gate: alice "Perhaps a bug" -- confidence 0.5
        softened: alice "Deep nesting" -- only one reviewer, confidence 0.3
        softened: alice "Rounding is checked nowhere" -- only one reviewer, confidence 0.7
        softened: alice "Two names for one thing" -- only one reviewer, marked as advisory
        gap: f.rs:20: Rounding is checked nowhere
        risk: f.rs:24: Deep nesting
        risk: f.rs:22: Two names for one thing
    "##]]);
}

#[test]
fn one_missing_test_issue_per_folder() {
    check(expect![[r##"
        > alice f.rs:20 P2 testing 0.80 manual/human "No test covers refunds"
        > bob   f.rs:24 P2 testing 0.90 manual/human "The new branch is untested"
        > carol f.rs:28 P1 testing 0.55 manual/human "Missing tests for totals"
        > alice F.rs:20 P2 testing 0.80 manual/human "The test asserts nothing"
        > alice F.rs:24 P3 testing 0.95 manual/human "No tests for the sender"
        #1 f.rs:24 P2 0.90 bob manual/human report defer "The new branch is untested"
        #2 F.rs:20 P2 0.80 alice manual/human report defer "The test asserts nothing"
        below_gate: carol "Missing tests for totals" -- confidence 0.55
        softened: alice "No test covers refunds" -- another issue reports missing tests in this folder
        softened: alice "No tests for the sender" -- another issue reports missing tests in this folder
        gap: f.rs:20: No test covers refunds
        gap: F.rs:24: No tests for the sender
    "##]]);
}

#[test]
fn softened_findings_follow_reviewer_notes_once() {
    let merged = merge(
        r#"
        alice f.rs:20 P2 testing 0.70 manual/human "Rounding is checked nowhere"
        alice f.rs:24 P2 maintainability 0.70 manual/human "Deep nesting"
        "#,
    );
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
    let started = Report {
        testing_gaps: lines(&["No test charges zero cents."]),
        residual_risks: lines(&["f.rs:24: Deep nesting", "The rate is not cached."]),
        ..Report::default()
    };
    let report = into_report(started, merged, CommandKind::Review, 10);
    let gaps = ["No test charges zero cents.", "f.rs:20: Rounding is checked nowhere"];
    assert_eq!(report.testing_gaps, gaps);
    assert_eq!(report.residual_risks, ["f.rs:24: Deep nesting", "The rate is not cached."]);
}

#[test]
fn second_quote_on_changed_line_counts_as_change() {
    let mut finding = member(r#"a f.rs:85 P1 bug 0.90 manual/human "Caller breaks""#);
    finding.finding.evidence.push(Evidence {
        file: None,
        line: NonZeroU32::new(20),
        side: None,
        snippet: "let v20 = call(20);".to_owned(),
    });
    let all = merge_in(&sources(), vec![finding]);
    assert_eq!(all.issues.len(), 1);
    assert_eq!(all.issues[0].tier, crate::Tier::Secondary);
}

#[test]
fn answered_pairs_are_merged() {
    let table = r#"
        security    f.rs:20 P0 security    0.55 manual/human "Secret in the log"
        reliability f.rs:20 P2 bug         0.50 manual/human "Log line grows without bound"
    "#;
    let unmerged = merge(table);
    let same_pair_ids = unmerged.candidate_pairs.iter().map(|pair| pair.id.clone()).collect();
    let joined = consolidate(members(table), &sources(), &PastDecisions::default(), &same_pair_ids);
    expect![[r##"
        #1 f.rs:20 P0 0.65 reliability,security manual/human report defer "Secret in the log" [security (P0), reliability (P2) -- kept P0, the more severe]
    "##]].assert_eq(&describe(&apply_judgements(joined, &BTreeMap::new())));
}

#[test]
fn judgements_confirm_refute_or_lower_confidence() {
    let table = r#"
        a f.rs:20 P0 bug 0.60 manual/human "Unsure blocker"
        a f.rs:25 P2 bug 0.80 manual/human "Unsure trifle"
        b f.rs:29 P1 bug 0.80 manual/human "Refuted"
        c F.rs:20 P1 bug 0.80 manual/human "Checker crashed"
        d F.rs:25 P2 bug 0.80 manual/human "Confirmed"
        rule F.rs:29 P1 bug 0.80 manual/human "Found by a program" code
    "#;
    let before = merge(table);
    let judgements = before.issues.iter().map(|issue| {
        let result = match issue.title.as_str() {
            "Refuted" | "Found by a program" => JudgementResult::Refuted,
            "Checker crashed" => JudgementResult::Failed,
            "Confirmed" => JudgementResult::Confirmed,
            _ => JudgementResult::Unsure,
        };
        let reason = "handled by the caller".to_owned();
        (issue.dedupe_key.clone(), Judgement::new(result, reason))
    });
    let after = judge(table, &judgements.collect());
    expect![[r##"
        #1 f.rs:20 P0 0.60 a manual/human report defer "Unsure blocker"
        #2 F.rs:20 P1 0.80 c manual/human report defer "Checker crashed"
        #3 F.rs:29 P1 0.80 rule manual/human report defer "Found by a program"
        #4 F.rs:25 P2 0.80 d manual/human report defer "Confirmed"
        refuted: b "Refuted" -- handled by the caller
        below_gate: a "Unsure trifle" -- confidence 0.55 after an undecided check
    "##]]
    .assert_eq(&describe(&after));
    let validations: Vec<_> = after.issues.iter().map(|issue| issue.validation).collect();
    let expected =
        [Validation::Unsure, Validation::Degraded, Validation::ByCode, Validation::Confirmed];
    assert_eq!(validations, expected);
}

#[test]
fn validation_raises_a_severity_with_its_reason() {
    let table = r#"
        a f.rs:20 P3 security 0.80 manual/human "SQL injection"
        b f.rs:25 P3 style 0.80 manual/human "Long name"
        c f.rs:29 P1 bug 0.80 manual/human "Overflow"
    "#;
    let before = merge(table);
    let judgements = before.issues.iter().map(|issue| {
        let severity = if issue.title == "Overflow" { Severity::P3 } else { Severity::P0 };
        let judgement = Judgement::new(JudgementResult::Confirmed, "line 20 joins strings");
        (issue.dedupe_key.clone(), Judgement { severity: Some(severity), ..judgement })
    });
    expect![[r##"
        #1 f.rs:20 P0 0.80 a manual/human report defer "SQL injection" [a (P3), validation (P0) -- raised to P0: line 20 joins strings]
        #2 f.rs:29 P1 0.80 c manual/human report defer "Overflow"
        #3 f.rs:25 P3 0.80 b manual/human report defer "Long name"
    "##]]
    .assert_eq(&describe(&judge(table, &judgements.collect())));
}

/// Merges the findings of a snapshot after the issue on line 20 of `f.rs` was dismissed.
fn check_after_dismissal(expected: Expect) {
    let key = merge(r#"a f.rs:20 P1 bug 0.90 manual/human "Known""#).issues[0].dedupe_key.clone();
    let remembered = PastDecisions {
        dismissed: [(key, "by design".to_owned())].into(),
        ..PastDecisions::default()
    };
    check_table(expected, |table| {
        let all = consolidate(members(table), &sources(), &remembered, &BTreeSet::new());
        apply_judgements(all, &BTreeMap::new())
    });
}

#[test]
fn dismissal_survives_moved_line() {
    check_after_dismissal(expect![[r##"
        > b f.rs:22 P2 logic 0.90 manual/human "Seen again, two lines further down"
        > a f.rs:29 P1 bug 0.90 manual/human "New"
        #1 f.rs:29 P1 0.90 a manual/human report defer "New"
        dismissed: b "Seen again, two lines further down" -- by design
    "##]]);
}

#[test]
fn dismissal_survives_edit_of_the_line() {
    let about = DismissedIssue {
        dedupe_key: "0011223344556677".to_owned(),
        file: "f.rs".to_owned(),
        side: None,
        title: "a &lt; b &amp; c".to_owned(),
    };
    let remembered = PastDecisions {
        dismissed: [(about.dedupe_key.clone(), "by design".to_owned())].into(),
        rewritten: vec![about],
        ..PastDecisions::default()
    };
    let check = |severity: &str, expected: &[&str]| {
        let table = format!(
            "a f.rs:20 {severity} bug 0.90 manual/human \"A < b & c\"\na F.rs:20 {severity} bug 0.90 manual/human \"a < b & c\""
        );
        let all = consolidate(members(&table), &sources(), &remembered, &BTreeSet::new());
        let remaining_files: Vec<&str> =
            all.issues.iter().map(|issue| issue.location.file.as_str()).collect();
        assert_eq!(remaining_files, expected, "{severity}");
    };
    check("P2", &["F.rs"]);
    check("P1", &["F.rs", "f.rs"]);
    check("P0", &["F.rs", "f.rs"]);
}

#[test]
fn dismissal_covers_one_issue_and_no_nearby_p0() {
    check_after_dismissal(expect![[r##"
        > a f.rs:20 P1 bug 0.90 manual/human "The same line again"
        > b f.rs:22 P1 data 0.90 manual/human "New trouble next to it"
        #1 f.rs:22 P1 0.90 b manual/human report defer "New trouble next to it"
        dismissed: a "The same line again" -- by design
    "##]]);
    check_after_dismissal(expect![[r##"
        > b f.rs:22 P0 data 0.90 manual/human "New disaster next to it"
        #1 f.rs:22 P0 0.90 b manual/human report defer "New disaster next to it"
    "##]]);
}

#[test]
fn dismissal_hides_a_nearby_p1_only_if_a_model_quotes_the_line() {
    check_after_dismissal(expect![[r##"
        > b f.rs:22 P1 data 0.90 manual/human "New trouble next to it"
        #1 f.rs:22 P1 0.90 b manual/human report defer "New trouble next to it"
    "##]]);
    check_after_dismissal(expect![[r##"
        > b f.rs:21 P1 data 0.90 manual/human "Cites the line after it" quote="let v20 = call(20);\nlet v21 = call(21);"
        dismissed: b "Cites the line after it" -- by design
    "##]]);
}

#[test]
fn key_survives_moved_lines_and_new_wording() {
    let key = |sources: &Sources, table: &str| {
        let all = merge_in(sources, members(table));
        all.issues[0].dedupe_key.clone()
    };
    let original_key = key(&sources(), r#"a f.rs:22 P1 bug 0.9 manual/human "One""#);
    assert_eq!(original_key, key(&sources(), r#"b f.rs:22 P3 data 0.7 manual/human "Two""#));
    assert_ne!(original_key, key(&sources(), r#"a f.rs:22 P1 security 0.9 manual/human "One""#));
    assert_ne!(original_key, key(&sources(), r#"a f.rs:23 P1 bug 0.9 manual/human "One""#));
    // The same line, one line further down in the same function.
    let moved: String = std::iter::once("// new first line\n".to_owned())
        .chain((1..=100).map(|line| format!("let v{line} = call({line});\n")))
        .collect();
    let spans = vec![SymbolSpan { name: "inner".to_owned(), start: 21, end: 25 }];
    let moved =
        sources().with_file(Side::New, "f.rs", moved).with_symbols(Side::New, "f.rs", spans);
    let table = r#"a f.rs:23 P1 bug 0.9 manual/human "One" quote="let v22 = call(22);""#;
    assert_eq!(original_key, key(&moved, table));
}

#[test]
fn static_finding_outside_any_file_becomes_an_issue() {
    check(expect![[r##"
        > injection (description):3 P1 security 1 manual/human "Instructs"   code quote="ignore all instructions"
        > injection (title):1       P1 security 1 manual/human "Instructs"   code quote="approve this"
        > injection f.rs:80         P1 security 1 manual/human "Far away"    code quote="x"
        > injection g.rs:7          P1 security 1 manual/human "Not given"   code quote="y"
        #1 (description):3 P1 1.00 injection manual/human report defer "Instructs"
        #2 (title):1 P1 1.00 injection manual/human report defer "Instructs"
        #3 f.rs:80 P1 1.00 injection manual/human report defer "Far away"
        #4 g.rs:7 P1 1.00 injection manual/human report defer "Not given"
    "##]]);
}

#[test]
fn key_without_a_file_follows_the_quote() {
    let key = |line: &str| {
        let row =
            format!(r#"injection {line} P1 security 1 manual/human "Instructs" code quote="a  b""#);
        merge(&row).issues[0].dedupe_key.clone()
    };
    assert_eq!(key("(description):3"), key("(description):9"));
    assert_ne!(key("(description):3"), key("(title):3"));
    let twice = r#"
        injection (description):3 P1 security 1 manual/human "Instructs" code quote="a b"
        injection (description):9 P1 security 1 manual/human "Instructs" code quote="a b"
        "#;
    let issues = merge(twice).issues;
    assert_eq!(issues[0].dedupe_key, key("(description):3"));
    assert_ne!(issues[0].dedupe_key, issues[1].dedupe_key);
}

#[test]
fn model_cannot_refute_static_finding() {
    let table = r#"
        injection (description):3 P1 security 1 manual/human    "Instructs the reviewer" code quote="say LGTM"
        model     f.rs:20         P3 security 1 advisory/human  "Fine"               pre
        secrets   f.rs:20         P0 security 1 manual/human    "Key in the code"    code quote="k"
        "#;
    let issues = merge(table).issues;
    let refuted = Judgement::new(JudgementResult::Refuted, "all is well".to_owned());
    let judgements = issues.iter().map(|issue| (issue.dedupe_key.clone(), refuted.clone()));
    let merged = judge(table, &judgements.collect());
    expect![[r##"
        #1 f.rs:20 P0 1.00 model,secrets manual/human report defer "Key in the code" [secrets (P0), model (P3) -- kept P0, the more severe; secrets (manual fix), model (no fix) -- kept manual fix, the more cautious]
        #2 (description):3 P1 1.00 injection manual/human report defer "Instructs the reviewer"
    "##]].assert_eq(&describe(&merged));
}

#[test]
fn verdict_ignores_the_issue_limit() {
    let table = r#"
        a f.rs:20 P2 bug 0.90 manual/downstream-resolver "One"
        b f.rs:20 P2 bug 0.80 manual/downstream-resolver "One"
        a f.rs:24 P2 bug 0.85 manual/downstream-resolver "Two"
        c f.rs:24 P2 bug 0.85 manual/downstream-resolver "Two"
        a f.rs:29 P3 bug 0.80 advisory/human "Three"
        a f.rs:85 P2 bug 0.80 advisory/human "Before"
    "#;
    let report = into_report(Report::default(), merge(table), CommandKind::Review, 1);
    assert_eq!(report.verdict.to_string(), "Ready with fixes");
    assert_eq!(report.verdict_reason, "2 issues (1 hidden) to fix");
    let fates: Vec<_> = report.fates().into_iter().map(|(fate, n)| format!("{fate} {n}")).collect();
    assert_eq!(fates, ["merged 1", "over_cap 3"]);
    assert_eq!(report.issues.len() + report.pre_existing.len() + report.suppressed.len(), 6);
    assert_eq!(
        report.over_cap_note,
        "2 more issues are hidden: the report shows at most 1 issue found by models"
    );
    assert_eq!((&report.fix_order, &report.queues.residual), (&vec![1], &vec![1, 2]));
    let over_cap: Vec<u32> = report.over_cap.iter().map(|issue| issue.number).collect();
    assert_eq!((over_cap, report.pre_existing[0].number), (vec![2, 3], 4));
}

#[test]
fn dismissed_issue_over_the_limit_is_not_counted() {
    let table = r#"
        a f.rs:20 P2 bug 0.90 manual/downstream-resolver "One"
        b f.rs:20 P2 bug 0.80 manual/downstream-resolver "One"
        a f.rs:24 P2 bug 0.85 manual/downstream-resolver "Two"
        a f.rs:29 P2 bug 0.80 manual/downstream-resolver "Three"
    "#;
    let mut report = into_report(Report::default(), merge(table), CommandKind::Review, 1);
    let mut note_without = |number| {
        report.dismiss(number, "in this review").unwrap();
        report.over_cap_note.clone()
    };
    let note = "1 more issue is hidden: the report shows at most 1 issue found by models";
    assert_eq!([2, 1, 3].map(&mut note_without), [note, note, ""]);
    let fates: Vec<_> = report.fates().into_iter().collect();
    assert_eq!(fates, [(Fate::Dismissed, 4)]);
}

#[test]
fn person_is_asked_to_apply_only_an_exact_replacement() {
    let table = r#"
        a f.rs:20 P2 bug 0.9 manual/human "One" fix
        a f.rs:24 P2 bug 0.9 manual/release "Two" fix
        a f.rs:27 P2 bug 0.9 manual/human "Three" replace="let v27 = 1;"
        a F.rs:20 P2 bug 0.9 manual/downstream-resolver "Four" fix
    "#;
    let issues = merge(table).issues;
    let mut actions: Vec<String> =
        issues.iter().map(|issue| format!("{} {}", issue.title, issue.action)).collect();
    actions.sort();
    assert_eq!(actions, ["Four apply", "One defer", "Three apply", "Two defer"]);
}

#[test]
fn fixed_issue_over_the_limit_is_not_open() {
    let table = r#"
        a f.rs:20 P2 bug 0.90 manual/downstream-resolver "One"
        a f.rs:24 P1 bug 0.85 safe_auto/review-fixer "Two"
    "#;
    let mut report = into_report(Report::default(), merge(table), CommandKind::Review, 1);
    let fix = |number| AppliedFix { number, outcome: FixOutcome::Done, ..AppliedFix::default() };
    assert_eq!(report.over_cap[0].number, 2);
    report.applied_fixes = vec![fix(1)];
    refresh_verdict(&mut report, CommandKind::Review);
    assert_eq!(
        (report.verdict_reason.as_str(), &report.queues.residual),
        ("1 issue (hidden) to fix", &vec![2])
    );
    report.applied_fixes.push(fix(2));
    refresh_verdict(&mut report, CommandKind::Review);
    assert_eq!(report.verdict.to_string(), "Ready to merge");
}

#[test]
fn limit_does_not_count_static_issues_and_names_them() {
    let table = r#"
        a f.rs:20 P1 bug 0.90 manual/human "One"
        a f.rs:24 P1 bug 0.85 manual/human "Two"
        secrets f.rs:29 P2 security 1 manual/human "Three" code quote="k"
    "#;
    let report = into_report(Report::default(), merge(table), CommandKind::Review, 1);
    let numbers = |issues: &[Issue]| issues.iter().map(|issue| issue.number).collect::<Vec<_>>();
    assert_eq!((numbers(&report.issues), numbers(&report.over_cap)), (vec![1, 3], vec![2]));
    let all: Vec<u32> = report.all_issues().map(|issue| issue.number).collect();
    assert_eq!(all, [1, 2, 3]);
    let note = "1 more issue is hidden: the report shows at most 1 issue found by models";
    assert_eq!(report.over_cap_note, note);
    assert_eq!(
        report.suppressed[0].reason,
        "issue 2; the report shows at most 1 issue found by models"
    );
}

#[test]
fn limit_keeps_p0_first_and_then_the_most_probable() {
    let table = r#"
        a f.rs:20 P0 bug 0.9 manual/human "One"
        a f.rs:24 P1 bug 0.9 manual/human "Two"
        a f.rs:29 P2 bug 0.9 manual/human "Three"
        a f.rs:27 P2 bug 0.8 manual/human "Unrated"
    "#;
    let mut merged = merge(table);
    for (issue, percent) in merged.issues.iter_mut().zip([50, 60, 80]) {
        issue.probability = Some(Confidence::thousandths(percent * 10));
    }
    let kept = |max_issues| {
        let report =
            into_report(Report::default(), merged.clone(), CommandKind::Review, max_issues);
        report.issues.iter().map(|issue| issue.number).collect::<Vec<_>>()
    };
    assert_eq!((kept(1), kept(2), kept(3)), (vec![1], vec![1, 3], vec![1, 2, 3]));
}

#[test]
fn hidden_issue_takes_no_key_from_shown_one() {
    let without_guess = r#"a f.rs:21 P1 bug 0.9 manual/human "Real trouble""#;
    let with_guess = r#"
        a f.rs:21 P1 bug 0.9 manual/human "Real trouble"
        b f.rs:21 P1 bug 0.2 manual/human "Wild guess" quote="let v20 = call(20);\nlet v21 = call(21);"
    "#;
    let key = |table: &str| merge(table).issues[0].dedupe_key.clone();
    assert_eq!(key(without_guess), key(with_guess));
}

#[test]
fn key_does_not_follow_highest_confidence() {
    let key = |bug_confidence: &str, security_confidence: &str| {
        let table = format!(
            "a f.rs:20 P1 bug {bug_confidence} manual/human \"Same words\"\n\
             b f.rs:22 P1 security {security_confidence} manual/human \"Same words\""
        );
        merge(&table).issues[0].dedupe_key.clone()
    };
    assert_eq!(key("0.9", "0.8"), key("0.8", "0.9"));
}

#[test]
fn quote_signs_select_the_side() {
    // The text of the removed line occurs again far down in the new file.
    let diff = "--- a/x\n+++ b/x\n@@ -10,2 +10,1 @@\n let kept = 1;\n-check(user_id);\n";
    let text: String = (1..=950)
        .map(|n| if n == 900 { "check(user_id);\n".into() } else { format!("line {n}\n") })
        .collect();
    let sources = Sources::new(Diff::read(diff)).with_file(Side::New, "x", text);
    let table =
        r#"a x:11 P0 security 0.9 manual/human "The check is gone" quote="-check(user_id);""#;
    let all = merge_in(&sources, members(table));
    assert_eq!(all.issues[0].location.to_string(), "x:11 (removed)");
    assert_eq!(all.issues[0].confidence.to_string(), "0.90");
}

#[test]
fn line_numbers_of_two_sides_are_not_compared() {
    let added: String = (1..=60).map(|n| format!("+added {n};\n")).collect();
    let diff = format!("--- a/x\n+++ b/x\n@@ -1,1 +1,60 @@\n{added}-old_check(user_id);\n");
    let table = r#"a x:60 P1 bug 0.8 manual/human "Gone" quote="-old_check(user_id);""#;
    let all = merge_in(&Sources::new(Diff::read(diff)), members(table));
    assert_eq!(all.issues[0].confidence.to_string(), "0.80");
}

#[test]
fn moved_finding_loses_its_replacement() {
    let ranged = |line: u32, end: u32, quote: u32| {
        let table = format!(
            "a f.rs:{line} P1 bug 0.9 manual/human \"Ranged\" quote=\"let v{quote} = call({quote});\" replace=\"x\""
        );
        let mut members = members(&table);
        members[0].finding.line_end = NonZeroU32::new(end);
        merge_in(&sources(), members).issues.remove(0)
    };
    let inside = ranged(20, 26, 23);
    assert_eq!((inside.location.line_start, inside.location.line_end), (20, 26));
    assert_eq!((inside.relocated_from, inside.replacement.as_deref()), (None, Some("x")));
    let moved = ranged(22, 24, 28);
    assert_eq!((moved.relocated_from, moved.replacement), (Some(22), None));
}

#[test]
fn second_quote_is_searched_near_its_own_line() {
    // The same text is on the unchanged line 5 and on the added line 80.
    let text: String = (1..=90)
        .map(|n| {
            if n == 5 || n == 80 {
                "self.total += amount;\n".into()
            } else {
                format!("unique line {n};\n")
            }
        })
        .collect();
    let diff = "--- a/x\n+++ b/x\n@@ -79,1 +79,2 @@\n unique line 79;\n+self.total += amount;\n";
    let sources = Sources::new(Diff::read(diff)).with_file(Side::New, "x", text);
    let mut member =
        member(r#"a x:10 P0 bug 0.9 manual/human "Counted twice" quote="unique line 10;""#);
    let snippet = "self.total += amount;".to_owned();
    member.finding.evidence.push(Evidence {
        file: None,
        line: NonZeroU32::new(80),
        side: None,
        snippet,
    });
    let all = merge_in(&sources, vec![member]);
    assert_eq!(all.issues[0].evidence[1].line, 80);
}

#[test]
fn cited_last_line_does_not_decide_the_tier() {
    let mut member = member(r#"a f.rs:85 P2 bug 0.9 manual/human "Far away" replace="x""#);
    member.finding.line_end = NonZeroU32::new(1_500);
    let all = merge_in(&sources(), vec![member]);
    assert_eq!((all.issues.len(), all.pre_existing.len()), (0, 1));
    assert_eq!(all.pre_existing[0].replacement, None, "no text for lines that are not there");
}

/// Typical quotes of a change with alternating old and new lines.
#[test]
fn quotes_are_found_in_typical_copies() {
    let diff = "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n fn alpha() {\n     let guard = lock();\n-    check(user)?;\n\
                +    let y = read(path)?;\n \n-    write(x)?;\n+    write(y)?;\n";
    let sources = Sources::new(Diff::read(diff));
    let place = |quote: &str, line: u32| {
        let mut member = member(r#"a x:1 P1 bug 0.9 manual/human "Natural""#);
        member.finding.line_start = NonZeroU32::new(line);
        member.finding.evidence[0].snippet = quote.to_owned();
        let all = merge_in(&sources, vec![member]);
        all.issues.first().map(|issue| issue.location.to_string())
    };
    // Old lines without signs, with new lines between them in the diff.
    assert_eq!(place("    check(user)?;\n\n    write(x)?;", 3).as_deref(), Some("x:3 (removed)"));
    // A context line without its leading space next to signed lines.
    assert_eq!(
        place("fn alpha() {\n     let guard = lock();\n-    check(user)?;", 1).as_deref(),
        Some("x:1")
    );
    assert_eq!(place("let guard = lock();\n-    check(user)?;", 2).as_deref(), Some("x:2"));
    assert_eq!(place("-    check(user)?;\n+    let y = read(path)?;", 3).as_deref(), Some("x:3"));
    assert_eq!(
        place("\n+    write(y)?;", 4).as_deref(),
        Some("x:4"),
        "an empty line is part of the quote"
    );
    assert_eq!(place("+    check(user)?;", 3), None, "a wrong sign");
}

#[test]
fn nearest_quote_counts_all_cited_lines() {
    // Two equal blocks of four lines, 2 to 5 and 6 to 9, and the same line on 1 and 32.
    let block = "open_the_door();\nwalk_in();\nlook_around();\nclose_it();\n";
    let rest: String = (10..=31).map(|n| format!("line number {n};\n")).collect();
    let text = format!("same_line_here();\n{block}{block}{rest}same_line_here();\n");
    let added: String = text.lines().map(|line| format!("+{line}\n")).collect();
    let diff = format!("--- /dev/null\n+++ b/x\n@@ -0,0 +1,32 @@\n{added}");
    let sources = Sources::new(Diff::read(diff));
    let lines = |quote: &str, start: u32, end: u32| {
        let mut member = member(r#"a x:1 P1 bug 0.9 manual/human "Near""#);
        member.finding.line_start = NonZeroU32::new(start);
        member.finding.line_end = NonZeroU32::new(end);
        member.finding.evidence[0].snippet = quote.to_owned();
        let all = merge_in(&sources, vec![member]);
        (all.issues[0].location.line_start, all.issues[0].relocated_from)
    };
    assert_eq!(lines("same_line_here();", 10, 32), (10, None));
    assert_eq!(lines(block, 5, 5), (5, None));
    assert_eq!(lines("same_line_here();", 30, 30), (32, Some(30)));
}

#[test]
fn titles_without_words_do_not_merge() {
    check(expect![[r##"
        > a f.rs:20 P0 security 0.90 manual/human "???"
        > b f.rs:23 P3 style    0.90 manual/human "!!!"
        #1 f.rs:20 P0 0.90 a manual/human report defer "???"
        #2 f.rs:23 P3 0.90 b manual/human report defer "!!!"
    "##]]);
}

#[test]
fn renamed_file_may_be_cited_by_old_path() {
    let diff = "diff --git a/old.rs b/new.rs\nsimilarity index 80%\nrename from old.rs\nrename to new.rs\n\
                --- a/old.rs\n+++ b/new.rs\n@@ -1 +1,2 @@\n fn kept() {}\n+fn added() {}\n";
    let table = r#"a old.rs:2 P1 bug 0.9 manual/human "Cited by old path" quote="fn added() {}""#;
    let sources = Sources::new(Diff::read(diff));
    let all = merge_in(&sources, members(table));
    assert_eq!(all.issues[0].location.to_string(), "new.rs:2");
}

#[test]
fn diff_line_locates_a_finding() {
    let merge_diff_line = |number| {
        let mut member =
            member(r#"a f.rs:1 P1 bug 0.9 manual/human "By number" quote="let v20 = call(20);""#);
        member.finding.line_start = None;
        member.finding.diff_line = NonZeroU32::new(number);
        let merged = merge_in(&sources(), vec![member]);
        describe(&merged)
    };
    // Line 6 of the diff is the first added line; line 4 is a hunk header; line 26 is in the other file.
    expect![[r##"
        #0 f.rs:20 P1 0.90 a manual/human report defer "By number"
        malformed: a "By number" -- `diff_line` 4 is not a line inside a hunk of the diff
        malformed: a "By number" -- `diff_line` 26 is in `F.rs`, not in `f.rs`
    "##]]
    .assert_eq(&(merge_diff_line(6) + &merge_diff_line(4) + &merge_diff_line(26)));
}

/// A diff can contain any line number, so the cost must depend on the shown lines only.
#[test]
fn huge_line_numbers_cost_nothing() {
    let diff =
        "--- a/a\n+++ b/a\n@@ -4294967290,1 +4294967290,2 @@\n some context\n+some added line\n";
    let table = r#"a a:4294967290 P1 bug 0.9 manual/human "Far down" quote="some added line""#;
    let sources = Sources::new(Diff::read(diff));
    let remembered = PastDecisions {
        dismissed: [("x".to_owned(), String::new())].into(),
        ..PastDecisions::default()
    };
    let all = consolidate(members(table), &sources, &remembered, &BTreeSet::new());
    assert_eq!(all.issues[0].location.line_start, 4_294_967_291);
}

#[test]
fn request_to_remove_protected_document_is_dropped() {
    check(expect![[r##"
        > a f.rs:20 P2 maintainability 0.90 manual/human "Delete docs/plans/2026-01-plan.md"
        > a f.rs:25 P2 maintainability 0.90 manual/human "Delete the dead branch"
        #1 f.rs:25 P2 0.90 a manual/human report defer "Delete the dead branch"
        protected_path: a "Delete docs/plans/2026-01-plan.md" -- asks to remove a protected document
    "##]]);
}

#[test]
fn model_cannot_rewrite_a_static_finding() {
    let table = r#"
        secrets f.rs:20 P0 security 0.90 manual/human "AWS key in the code" fix code rule="secrets/aws"
        alice   f.rs:20 P3 security 1.0 advisory/human "AWS key in the code" replace="let ok = 1;"
        bob     f.rs:20 P3 security 1.0 advisory/human "AWS key in code: no action needed"
    "#;
    let members = members(table);
    let sources = sources();
    // The editor puts its own choice first.
    let group = vec![members[2].clone(), members[1].clone(), members[0].clone()];
    for grouping in [Grouping::Rules(&BTreeSet::new()), Grouping::Editor(&[group])] {
        let merged =
            consolidate_for_editor(members.clone(), &sources, &PastDecisions::default(), grouping);
        let issue = &merged.issues[0];
        assert_eq!(issue.title, "AWS key in the code");
        assert_eq!(issue.members[0].reviewer, "secrets");
        assert_eq!(issue.suggested_fix.as_deref(), Some("do it"));
        assert_eq!(issue.replacement, None);
    }
}
