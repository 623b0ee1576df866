//! One report in every format, and untrusted text that tries to break out of each.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::{expect, expect_file};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
use serde_json::json;

use super::*;
use crate::diff::Diff;
use crate::finding::{AutofixClass, Member, Origin, Severity};
use crate::report::{
    AppliedFix, CoverageState, Decimal, DropCause, DroppedFinding, FileCoverage, FixOutcome, Issue,
    Plan, PlanSource, Requirement, RequirementState, ReviewMode, ReviewedChange, ReviewerNotes,
    RunOutcome, SCHEMA_VERSION, Scope, Status, Strategy, not_fixed_warning,
};
use crate::verdict::{CommandKind, Verdict};

const DIFF: &str = include_str!("../../tests/data/render/change.diff");

fn member(reviewer: &str, line: u32, quote: &str, changes: serde_json::Value) -> Member {
    let mut finding = json!({
        "title": "Trouble", "severity": "P1", "category": "bug", "file": "src/pay.rs", "line_start": line,
        "confidence": 0.8, "evidence": [{"snippet": quote}], "why_it_matters": "Customers pay twice.",
        "autofix_class": "manual", "owner": "downstream-resolver",
        "requires_verification": false, "pre_existing": false,
    });
    for (name, value) in changes.as_object().unwrap() {
        finding[name] = value.clone();
    }
    Member::new(reviewer, serde_json::from_value(finding).unwrap())
}

fn members() -> Vec<Member> {
    let rows = json!([
        ["security", 12, "log(card_number);", {
            "title": "Card number is logged", "severity": "P0", "category": "security",
            "suggested_fix": "Log the last four digits.", "replacement": "    log(last_four(card_number));\n",
            "autofix_class": "gated_auto", "requires_verification": true, "confidence": 0.9,
        }],
        ["correctness", 12, "log(card_number);", {
            "title": "card number is logged.", "category": "security", "severity": "P1",
            "autofix_class": "gated_auto",
        }],
        ["correctness", 11, "let total = cents * rate;", {
            "title": "`cents * rate` overflows | wraps", "severity": "P2", "autofix_class": "safe_auto",
            "owner": "review-fixer", "suggested_fix": "Use `checked_mul`.",
        }],
        ["correctness", 11, "-    limit.check(cents);", {
            "title": "The limit is no longer checked", "category": "api_contract", "line_start": 11, "side": "old",
        }],
        ["deployment", 13, "send(total);\n}", {
            "title": "Announce the new rate", "severity": "P3", "category": "requirements",
            "autofix_class": "advisory", "owner": "release",
        }],
        ["correctness", 10, "fn charge(cents: u32) {", {
            "title": "`charge` takes no currency", "severity": "P3", "category": "maintainability",
            "pre_existing": true,
        }],
        ["performance", 13, "send(total);", {
            "title": "Sends one by one", "category": "performance", "confidence": 0.4,
        }],
        ["performance", 13, "send(total, card);", {
            "title": "Invented"
        }],
    ]);
    let member = |row: &serde_json::Value| {
        let line = u32::try_from(row[1].as_u64().unwrap()).unwrap();
        member(row[0].as_str().unwrap(), line, row[2].as_str().unwrap(), row[3].clone())
    };
    let mut members: Vec<Member> = rows.as_array().unwrap().iter().map(member).collect();
    members[2] = by_rule(members[2].clone());
    members
}

fn by_rule(member: Member) -> Member {
    Member { rule: Some("correctness/overflow".to_owned()), ..member }
}

fn plan() -> Plan {
    let requirement = |id: &str, text: &str, state| Requirement {
        id: id.to_owned(),
        text: text.to_owned(),
        state,
        evidence: String::new(),
        waived: false,
    };
    Plan {
        plan_source: PlanSource::Inferred,
        path: "docs/plans/pay.md".to_owned(),
        requirements: vec![
            requirement("R1", "charge once", RequirementState::Met),
            requirement("R2", "refund", RequirementState::NotAddressed),
            requirement("R3", "log the rate", RequirementState::NotJudged),
            Requirement {
                evidence: "`src/pay.rs` has no retry".to_owned(),
                waived: true,
                ..requirement("U1", "retry", RequirementState::PartiallyAddressed)
            },
        ],
    }
}

fn reviewers() -> Vec<ReviewerRow> {
    let row = |name: &str, why: &str, outcome, note: &str| ReviewerRow {
        origin: Origin::Model,
        name: name.to_owned(),
        why: why.to_owned(),
        outcome,
        note: note.to_owned(),
    };
    vec![
        row("correctness", "", RunOutcome::Completed, ""),
        row("security", "touches card numbers", RunOutcome::Completed, ""),
        row("performance", "", RunOutcome::Failed, "timed out"),
    ]
}

fn coverage() -> Vec<FileCoverage> {
    let file = |path: &str, state, reason: &str| FileCoverage {
        path: path.to_owned(),
        state,
        reason: reason.to_owned(),
    };
    vec![
        file("src/pay.rs", CoverageState::Reviewed, ""),
        file("logo.png", CoverageState::OutOfScope, "binary"),
        file("big.rs", CoverageState::Truncated, "over the token budget"),
    ]
}

/// A fix with this outcome.
fn applied_fix(number: u32, outcome: FixOutcome) -> AppliedFix {
    AppliedFix { number, outcome, ..AppliedFix::default() }
}

/// The texts for people in all formats, in which any white space counts as one space.
fn outputs(report: &Report) -> Vec<(&'static str, String)> {
    let outputs = [
        ("text", text(report, &TextStyle::default())),
        ("markdown", markdown(report)),
        ("comment", comment(report, "crh")),
        ("html", html(report, None).unwrap()),
        ("envelope", envelope(report)),
    ];
    let unwrapped = outputs.map(|(format, output)| (format, without_wraps(&output)));
    unwrapped.into()
}

fn without_wraps(output: &str) -> String {
    output.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A report with content in every section.
pub(super) fn full_report() -> Report {
    let sources = crate::Sources::new(Diff::read(DIFF));
    let all = crate::consolidate(members(), &sources, &Default::default(), &BTreeSet::new());
    let merged = crate::apply_judgements(all, &BTreeMap::new());
    let started = Report {
        schema_version: SCHEMA_VERSION,
        review_id: "0123456789abcdef".to_owned(),
        run_id: "20260101-000000_0123456789abcdef".to_owned(),
        artifact: ".crh/runs/20260101-000000_0123456789abcdef/".to_owned(),
        mode: ReviewMode::Headless,
        status: Status::Degraded,
        model_used: "model-a+model-b".to_owned(),
        warnings: vec!["the budget ended before 1 check".to_owned()],
        summary: "Payments are charged and logged in one step.".to_owned(),
        change: ReviewedChange {
            url: "https://forge.example/o/r/pull/7".to_owned(),
            ..ReviewedChange::default()
        },
        scope: Scope {
            files: 3,
            additions: 2,
            deletions: 1,
            untracked: vec!["notes.txt".to_owned()],
            ..Scope::default()
        },
        intent: "Charge in the currency of the customer.".to_owned(),
        plan: Some(plan()),
        reviewers: reviewers(),
        residual_risks: vec!["The rate is not cached.".to_owned()],
        testing_gaps: vec!["No test charges zero cents.".to_owned()],
        notes: ReviewerNotes {
            learnings: vec!["[Known Pattern] docs/solutions/money.md".to_owned()],
            agent_native_gaps: vec!["No tool can refund.".to_owned()],
            schema_drift: vec!["No drift.".to_owned()],
            deployment: vec!["Announce the rate first.".to_owned()],
        },
        coverage: coverage(),
        applied_fixes: vec![AppliedFix {
            number: 3,
            description: "used `checked_mul`".to_owned(),
            files: vec!["src/pay.rs".to_owned()],
            outcome: FixOutcome::Done,
            ..AppliedFix::default()
        }],
        stats: crate::report::Stats { cost_usd: Decimal(123_456), ..Default::default() },
        ..Report::default()
    };
    crate::into_report(started, merged, CommandKind::Review, 15)
}

#[test]
fn all_findings_are_listed_on_request() {
    let report = full_report();
    let all = text(&report, &TextStyle { listed: ListedFindings::All, ..TextStyle::default() });
    let start = all.find("Findings not shown").unwrap();
    let end = start + all[start..].find("\n\n").unwrap();
    expect![[r#"
        Findings not shown
          - P1 src/pay.rs:13: Invented (quote not found: the quote `send(total, card);`
            is not in `src/pay.rs`; reported by performance)
          - P1 src/pay.rs:13: Sends one by one (too uncertain: confidence 0.4; reported
            by performance)"#]]
    .assert_eq(&all[start..end]);
}

#[test]
fn full_report_in_every_format() {
    let report = full_report();
    expect_file!["../../tests/data/render/report.json"].assert_eq(&json(&report).unwrap());
    expect_file!["../../tests/data/render/report.md"].assert_eq(&markdown(&report));
    expect_file!["../../tests/data/render/report.txt"]
        .assert_eq(&text(&report, &TextStyle::default()));
    expect_file!["../../tests/data/render/envelope.txt"].assert_eq(&envelope(&report));
    expect_file!["../../tests/data/render/comment.md"].assert_eq(&comment(&report, "crh"));
    expect_file!["../../tests/data/render/report.sarif"].assert_eq(&sarif(&report).unwrap());
    expect_file!["../../tests/data/render/code-quality.json"]
        .assert_eq(&code_quality(&report).unwrap());
    expect_file!["../../tests/data/render/quickfix.txt"].assert_eq(&quickfix(&report, None, ""));
    expect_file!["../../tests/data/render/annotations.txt"].assert_eq(&annotations(&report));
    let diff = Diff::read(DIFF);
    expect_file!["../../tests/data/render/report.html"]
        .assert_eq(&html(&report, Some(&diff)).unwrap());
}

#[test]
fn fixed_static_finding_over_the_limit_is_no_sarif_result() {
    let mut report = full_report();
    let position = report.issues.iter().position(|issue| report.is_fixed(issue.number)).unwrap();
    let mut issue = report.issues.remove(position);
    issue.members[0].origin = Origin::Code;
    let member = issue.members[0].clone();
    report.suppressed.push(DroppedFinding::new(member, Fate::OverCap, "over the limit"));
    report.over_cap = vec![issue.clone()];
    assert!(!sarif(&report).unwrap().contains(&issue.title));
    report.applied_fixes.clear();
    assert!(sarif(&report).unwrap().contains(&issue.title));
}

#[test]
fn unjudged_requirement_is_shown_with_its_reason() {
    let mut report = full_report();
    let plan = report.plan.as_mut().unwrap();
    plan.requirements[2].evidence = "no line of the code shows it: later".to_owned();
    for (format, output) in outputs(&report) {
        assert!(output.contains("no line of the code shows it: later"), "{format}: {output}");
    }
}

/// A model agrees with a static check in its own words.
#[test]
fn words_of_a_model_beside_a_static_finding_name_the_model() {
    let quote = "let total = cents * rate;";
    let check = member("secrets", 11, quote, json!({ "title": "A key is in the code" }));
    let check = Member { origin: Origin::Code, ..by_rule(check) };
    let words = json!({ "title": "A key is in the code", "why_it_matters": "No action needed" });
    let model = member("security", 11, quote, words);
    let sources = crate::Sources::new(Diff::read(DIFF));
    let all =
        crate::consolidate(vec![check, model], &sources, &Default::default(), &BTreeSet::new());
    let merged = crate::apply_judgements(all, &BTreeMap::new());
    let report = crate::into_report(Report::default(), merged, CommandKind::Review, 15);
    let [issue] = report.issues.as_slice() else { panic!("{:?}", report.issues) };
    assert_ne!(issue.why_it_matters, "No action needed");
    let others = [
        ("html with code", html(&report, Some(&Diff::read(DIFF))).unwrap()),
        ("ticket", ticket(issue, &report)),
        ("todo", todo(issue, &report, "1")),
        ("sarif", sarif(&report).unwrap()),
    ];
    let others = others.map(|(format, output)| (format, without_wraps(&output)));
    for (format, output) in outputs(&report).into_iter().chain(others) {
        let count = output.matches("No action needed").count();
        assert_eq!(count, 1, "{format}: {output}");
        let remark = "security says: A key is in the code. No action needed";
        assert!(output.contains(remark), "{format}: {output}");
    }
}

#[test]
fn reason_of_a_reviewer_is_in_plain_words() {
    let check = |name, why, expected| assert_eq!(reviewer_reason(name, why), expected);
    check("correctness", "always", "reviews every change");
    check("testing", "always", "reviews every change with `--depth full`");
    check(
        "upkeep",
        "`a.py` changed, and no test did, of which there are some (`t.py`)",
        "reviews tests, documentation and clarity of the code; `a.py` changed, but no test did (there are some, such as `t.py`)",
    );
    check("data", "touches card numbers", "touches card numbers");
}

/// The line about low confidence has a fixed wording, which is false for a finding that its
/// reviewer was sure of, or that is hidden by the probability that maintainers agree.
#[test]
fn improbable_finding_is_not_called_unsure() {
    let mut report = full_report();
    let coverage = |report: &Report| {
        let lines = envelope(report);
        let is_counted = |line: &&str| line.contains("Suppressed: ") || line.contains("probably");
        lines.lines().filter(is_counted).map(str::to_owned).collect::<Vec<_>>()
    };
    let unsure = "- Suppressed: 1 finding below 0.60 confidence (P0 at 0.50+ retained)";
    assert_eq!(coverage(&report), [unsure]);
    for member in report.suppressed.iter_mut().filter_map(|dropped| dropped.member.as_mut()) {
        member.finding.confidence = crate::finding::Confidence::thousandths(800);
    }
    let improbable = "- Not shown: 1 finding that maintainers would probably not agree with";
    assert_eq!(coverage(&report), [improbable]);
    let mut report = full_report();
    for dropped in &mut report.suppressed {
        dropped.cause = Some(DropCause::Improbable);
    }
    assert_eq!(coverage(&report), [improbable]);
}

/// An issue about removed code is at the line that took its place.
#[test]
fn line_in_place_of_removed_code_is_explained() {
    let mut report = full_report();
    let note = "The quoted line only shows where the removed code was.";
    let issue = &mut report.issues[0];
    issue.rule = Some("references/removed".to_owned());
    let mut shown = |side: Side| {
        report.issues[0].location.side = side;
        let text = text(&report, &TextStyle::default());
        [text, markdown(&report), comment(&report, "crh")].map(|it| it.contains(note))
    };
    assert_eq!((shown(Side::New), shown(Side::Old)), ([true; 3], [false; 3]));
}

#[test]
fn text_wraps_at_the_width_of_the_window() {
    let report = full_report();
    for width in [20, 30, 39, 60, 80, 132] {
        let rendered = text(&report, &TextStyle { width, ..TextStyle::default() });
        // In a narrow window, replacements stay whole, and so do long words such as paths. Up to
        // nine columns may stand before a word.
        let fits = |line: &&str| {
            let has_long_word = line.split(' ').any(|word| crate::columns(word) + 9 > width);
            crate::columns(line) <= width
                || width < 60 && (has_long_word || line.starts_with("    + "))
        };
        let long_lines: Vec<&str> = rendered.lines().filter(|line| !fits(line)).collect();
        assert_eq!(long_lines, [""; 0], "{width}");
        let longest = rendered.lines().map(crate::columns).max().unwrap();
        assert!(longest + 12 >= width, "{width}: {longest}");
    }
}

#[test]
fn text_shows_exact_replacements() {
    let mut report = full_report();
    report.issues.truncate(1);
    let mut fix_lines = |replacement: &str, line_end: u32| -> String {
        let issue = &mut report.issues[0];
        issue.replacement = Some(replacement.to_owned());
        issue.location.line_end = line_end;
        let rendered = text(&report, &TextStyle::default());
        let start = rendered.find("    Fix:").unwrap();
        let end = rendered.find("    category security;").unwrap();
        let lines = rendered[start..end].lines();
        lines.map(|line| format!("{}\n", line.strip_prefix("    ").unwrap_or(line))).collect()
    };
    expect![[r#"
            Fix: Log the last four digits.
            Replace lines 12 to 13 with:
            + let digits = last_four(card);
            +     log(digits);
    "#]]
    .assert_eq(&fix_lines("let digits = last_four(card);\n    log(digits);\n", 13));
    expect![[r#"
            Fix: Log the last four digits.
            Delete line 12.
    "#]]
    .assert_eq(&fix_lines("", 12));
    assert!(fix_lines(&"x\n".repeat(30), 12).ends_with("\n+ … 10 more lines\n"));
}

#[test]
fn annotation_text_cannot_inject_commands() {
    let mut report = full_report();
    report.verdict = Verdict::ReadyToMerge;
    report.issues.truncate(1);
    report.issues[0].title = "a\n::add-mask::x, y: 100%".to_owned();
    report.issues[0].why_it_matters = "b\r\n::stop-commands::z\n##[error]".to_owned();
    report.issues[0].location.file = "a,line=1::b.rs".to_owned();
    expect![[r#"
        ::error file=a%2Cline=1%3A%3Ab.rs,line=12,endLine=12,title=P0 a %3A%3Aadd-mask%3A%3Ax%2C y%3A 100%25::b ::stop-commands::z ##[error]
    "#]].assert_eq(&annotations(&report));
}

#[test]
fn links_do_not_change_visible_text() {
    let report = full_report();
    let links = FileLinks::Folder { host: "my-host".to_owned(), root: "/home/me/my repo/".into() };
    let linked = text(&report, &TextStyle { links, ..TextStyle::default() });
    let first = linked.lines().find(|line| line.contains("src/pay.rs:12")).unwrap();
    let link = "\u{1b}]8;;file://my-host/home/me/my%20repo/src/pay.rs#12\u{1b}\\";
    assert_eq!(first, format!("1 P0 {link}src/pay.rs:12\u{1b}]8;;\u{1b}\\"));
    let removed = linked.lines().find(|line| line.contains("(removed)")).unwrap();
    assert_eq!(removed, "2 P1 src/pay.rs:11 (removed)", "what is not there any more has no link");
    let mut visible_text = String::new();
    for part in linked.split("\u{1b}]8;;") {
        visible_text.push_str(part.split_once("\u{1b}\\").map_or(part, |(_, text)| text));
    }
    assert_eq!(visible_text, text(&report, &TextStyle::default()));
}

#[test]
fn path_cannot_break_out_of_a_link() {
    let mut report = full_report();
    report.issues[0].location.file = "a\u{1b}\\b c;d#e?é/../\u{7}".to_owned();
    let links = FileLinks::Folder { host: "h".to_owned(), root: "/r".into() };
    let rendered = text(&report, &TextStyle { links, ..TextStyle::default() });
    let first = rendered.lines().find(|line| line.starts_with("1 P0")).unwrap();
    assert_eq!(
        first,
        "1 P0 \u{1b}]8;;file://h/r/a%1B%5Cb%20c%3Bd%23e%3F%C3%A9/../%07#12\u{1b}\\\
         a\\u{1b}\\b c;d#e?é/../\\u{7}:12\u{1b}]8;;\u{1b}\\"
    );
}

#[test]
fn colours_do_not_change_the_text() {
    let report = full_report();
    let coloured = text(&report, &TextStyle { colour: Colour::On, ..TextStyle::default() });
    assert!(coloured.contains("\u{1b}[1;31m1 P0\u{1b}[0m"));
    let mut uncoloured = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        uncoloured.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    uncoloured.push_str(rest);
    assert_eq!(uncoloured, text(&report, &TextStyle::default()));
}

#[test]
fn empty_report_is_rendered() {
    let report = Report { verdict: Verdict::ReadyToMerge, ..Report::default() };
    expect![[r#"
        Code review complete (headless mode).

        Scope: 0 files, +0 -0
        Intent: not stated
        Reviewers:
        Verdict: Ready to merge

        Applied 0 safe_auto fixes.

        Review complete
    "#]]
    .assert_eq(&envelope(&report));
    expect![[r#"
        ## Code Review Results

        **Scope:** 0 files, +0 -0<br>
        **Mode:** report-only<br>
        **Reviewers:** none

        ---

        > **Verdict:** Ready to merge
    "#]]
    .assert_eq(&markdown(&report));
    expect![[r#""#]].assert_eq(&quickfix(&report, None, ""));
    expect![[r#""#]].assert_eq(&annotations(&report));
}

#[test]
fn fix_command_is_named_only_for_a_stored_run_of_the_checkout() {
    let stored = full_report();
    let texts = |report: &Report| {
        [text(report, &TextStyle::default()), markdown(report), html(report, None).unwrap()]
            .map(|text| without_wraps(&text))
    };
    let check = |unfixable: &Report, reason: &str| {
        for (stored, unfixable) in texts(&stored).iter().zip(texts(unfixable)) {
            assert!(stored.contains("crh fix") && !unfixable.contains("crh fix"), "{unfixable}");
            assert_eq!(unfixable.matches(reason).count(), 1, "{unfixable}");
        }
    };
    let unstored = Report { artifact: String::new(), ..stored.clone() };
    check(&unstored, "this review is not stored");
    let unfixable = |obstacle: CheckoutObstacle| {
        let change = ReviewedChange { checkout_obstacle: Some(obstacle), ..stored.change.clone() };
        Report { change, ..stored.clone() }
    };
    let elsewhere = unfixable(CheckoutObstacle::NotCheckedOut);
    check(&elsewhere, "check out this change and review it again");
    let edited = unfixable(CheckoutObstacle::UnreviewedChanges);
    check(&edited, "the checkout has uncommitted changes; review them too");
}

#[test]
fn comment_and_todo_say_how_crh_can_fix_an_issue() {
    let mut report = full_report();
    report.change.checkout_obstacle = Some(CheckoutObstacle::NotCheckedOut);
    let note = "crh can fix only the checkout; check out this change and review it again";
    let todo = todo(&report.issues[0], &report, "001");
    assert!(todo.contains(&format!("could be fixed by crh ({note})")), "{todo}");
    let comment = comment(&report, "");
    assert!(comment.contains("Could be fixed by crh; reported by"), "{comment}");
    assert_eq!(comment.matches(note).count(), 1, "{comment}");
}

#[test]
fn envelope_counts_findings_without_details() {
    let mut report = full_report();
    let note = "\n- Details missing: 1 finding has no explanation\n";
    assert!(!envelope(&report).contains("Details missing"));
    report.issues[0].why_it_matters = report.issues[0].title.clone();
    assert!(envelope(&report).contains(note), "{}", envelope(&report));
}

#[test]
fn envelope_of_static_checks_says_that_the_review_is_incomplete() {
    let mut report = full_report();
    report.strategy = Strategy::Static;
    report.verdict = Verdict::ReadyWithFixes;
    // The mark does not depend on the words of the reason.
    let reason = "1 issue to fix; no model is configured";
    report.verdict_reason = reason.to_owned();
    report.reviewers.clear();
    report.coverage.clear();
    let envelope = envelope(&report);
    let line = format!("\nVerdict: Ready with fixes (incomplete): {reason}\n");
    assert!(envelope.contains(&line), "{envelope}");
    (report.command, report.plan) = (CommandKind::Checks, None);
    report.suppressed.clear();
    report.verdict_reason = "1 issue to fix. The review is incomplete: see below".to_owned();
    let envelope = super::envelope(&report);
    assert!(envelope.contains("\nVerdict: Ready with fixes\n"), "{envelope}");
}

#[test]
fn only_markdown_and_envelope_have_three_verdicts() {
    let mut report = full_report();
    report.verdict = Verdict::Incomplete;
    assert!(annotations(&report).starts_with("::warning title=crh%3A Incomplete::"));
    assert!(comment(&report, "crh").contains("## Incomplete\n"));
    assert!(text(&report, &TextStyle::default()).contains("Incomplete: "));
    assert!(markdown(&report).contains("**Verdict:** Not ready (incomplete)\n"));
    assert!(envelope(&report).contains("\nVerdict: Not ready (incomplete): "));
}

#[test]
fn stopped_envelope_lacks_final_line() {
    let stopped = stopped_envelope(&full_report());
    assert!(stopped.starts_with("Code review stopped (headless mode).\n"), "{stopped}");
    assert_eq!(
        format!("{}\nReview complete\n", stopped.replacen("stopped", "complete", 1)),
        envelope(&full_report())
    );
}

#[test]
fn envelope_counts_only_safe_auto_fixes() {
    let mut report = full_report();
    let fix = |issue: &Issue| applied_fix(issue.number, FixOutcome::Done);
    report.applied_fixes = report.issues.iter().map(fix).collect();
    report.issues[0].autofix_class = AutofixClass::SafeAuto;
    for issue in &mut report.issues[1..] {
        issue.autofix_class = AutofixClass::GatedAuto;
    }
    assert!(report.issues.len() > 1);
    assert!(envelope(&report).contains("\nApplied 1 safe_auto fixes.\n"));
}

#[test]
fn envelope_does_not_count_a_partial_fix_as_fixed() {
    let mut report = full_report();
    let number = report.issues[0].number;
    report.issues[0].autofix_class = AutofixClass::SafeAuto;
    report.applied_fixes = vec![applied_fix(number, FixOutcome::Partial)];
    let text = envelope(&report);
    for expected in [
        "\nApplied 0 safe_auto fixes.\nApplied 1 more safe_auto fix, but its finding is still open.\n",
        "\n  Remark: A fix is applied, but the finding is still open: the fix did not change all places of the issue\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    // The user reverted one of the files.
    report.applied_fixes[0].outcome = FixOutcome::PartlyReverted;
    let step = open_step(&report, &report.issues[0]).to_string();
    assert!(step.starts_with("a part of the applied fix is no longer in the tree; "), "{step}");
}

#[test]
fn failed_review_uses_specified_wording() {
    expect![[r#"
        Review failed (headless mode). Reason: conflicting mode flags — mode:autofix and mode:headless cannot be combined.
    "#]].assert_eq(&failure_line(
        "conflicting mode flags — mode:autofix and mode:headless cannot be combined.",
    ));
    let mut report = full_report();
    for row in &mut report.reviewers {
        row.outcome = RunOutcome::Failed;
    }
    assert!(envelope(&report).starts_with("Code review complete"), "a part was reviewed");
    for file in &mut report.coverage {
        file.state = CoverageState::NotReviewed;
    }
    let with_issues = envelope(&report);
    let degraded =
        "Code review degraded (headless mode). Reason: 0 of 3 reviewers returned results.";
    assert!(with_issues.starts_with(&format!("{degraded}\n\nScope: ")), "{with_issues}");
    assert!(with_issues.contains(&report.issues[0].title), "{with_issues}");
    report.issues.clear();
    report.pre_existing.clear();
    // A completed static check is not a review.
    report.reviewers.push(ReviewerRow {
        origin: Origin::Code,
        outcome: RunOutcome::Completed,
        ..report.reviewers[0].clone()
    });
    report.verdict_reason = "failed reviewers: correctness, performance, security".to_owned();
    expect![[r#"
        Code review degraded (headless mode). Reason: 0 of 3 reviewers returned results.

        Verdict: Not ready (incomplete): failed reviewers: correctness, performance, security

        Review complete
    "#]]
    .assert_eq(&envelope(&report));
}

#[test]
fn sarif_reports_files_that_were_not_read() {
    let invocation = |state: CoverageState| {
        let file = FileCoverage { path: "run.bin".to_owned(), state, reason: String::new() };
        let report = Report { coverage: vec![file], ..Report::default() };
        let log: serde_json::Value = serde_json::from_str(&sarif(&report).unwrap()).unwrap();
        log["runs"][0]["invocations"][0].clone()
    };
    let complete = json!({ "executionSuccessful": true, "toolExecutionNotifications": [] });
    assert_eq!(invocation(CoverageState::Reviewed), complete);
    let text = "the review is incomplete: 1 file not fully reviewed (run.bin)";
    let notification = json!({ "level": "error", "message": { "text": text } });
    assert_eq!(
        invocation(CoverageState::NotReviewed),
        json!({ "executionSuccessful": false, "toolExecutionNotifications": [notification] })
    );
}

#[test]
fn sarif_of_a_review_without_model_is_not_successful() {
    let is_successful = |command: CommandKind| {
        let report = Report { command, strategy: Strategy::Static, ..Report::default() };
        let log: serde_json::Value = serde_json::from_str(&sarif(&report).unwrap()).unwrap();
        log["runs"][0]["invocations"][0]["executionSuccessful"].clone()
    };
    assert_eq!(is_successful(CommandKind::Review), false);
    assert_eq!(is_successful(CommandKind::Checks), true);
}

#[test]
fn reason_of_a_failure_is_listed_once() {
    let mut report = full_report();
    report.warnings =
        vec!["the scout failed (timed out)".to_owned(), report.reviewers[2].failure()];
    let sarif = without_wraps(&sarif(&report).unwrap());
    for (format, output) in outputs(&report).into_iter().chain([("sarif", sarif)]) {
        assert_eq!(output.matches("timed out").count(), 1, "{format}: {output}");
        assert!(output.contains("the scout failed with the same error"), "{format}: {output}");
    }
}

#[test]
fn urgent_issue_for_a_person_is_residual_work() {
    let mut report = full_report();
    let issue = &mut report.issues[0];
    (issue.queue, issue.owner) = (Queue::Report, Owner::Human);
    report.applied_fixes.clear();
    let issue = &report.issues[0];
    assert!(issue.severity <= Severity::P1);
    let line = format!("{} {} {}: ", issue.number, issue.severity, location_label(issue));
    let rendered = text(&report, &TextStyle::default());
    let (_, residual) = rendered.split_once("Open work").unwrap();
    assert!(residual.contains(&line), "{rendered}");
}

#[test]
fn fix_that_did_not_help_is_not_offered_again() {
    let mut report = full_report();
    report.issues.truncate(1);
    let issue = &mut report.issues[0];
    (issue.autofix_class, issue.owner) = (AutofixClass::GatedAuto, Owner::DownstreamResolver);
    let number = issue.number;
    report.applied_fixes = vec![applied_fix(number, FixOutcome::FoundAgain)];
    let rendered = text(&report, &TextStyle::default());
    assert!(rendered.contains("the applied fix did not help; needs a manual fix"), "{rendered}");
    assert!(!rendered.contains("`crh fix --issue"), "{rendered}");
}

#[test]
fn dismissed_issue_does_not_count() {
    let mut report = full_report();
    report.over_cap = report.issues.split_off(1);
    let numbers: Vec<u32> = report.all_issues().map(|issue| issue.number).collect();
    let hidden = report.hidden_open_findings().count();
    for number in numbers {
        assert_eq!(report.dismiss(number, "in this review").unwrap().number, number);
    }
    assert_eq!(report.dismiss(1, ""), None);
    assert_eq!((report.open_issues().count(), report.hidden_open_findings().count()), (0, hidden));
    // One issue has two findings.
    assert_eq!((report.fates()[&Fate::Dismissed], report.dismissed_issues()), (5, 4));
    report.suppressed.retain(|dropped| dropped.fate == Fate::Dismissed);
    assert_eq!(HiddenCounts::new(&report).with_reasons().unwrap(), "4 issues dismissed");
}

#[test]
fn quote_from_another_line_has_its_place() {
    let mut report = full_report();
    assert_eq!(quote_place(&report.issues[0]), None);
    let location = report.issues[0].location.clone();
    let quote = &mut report.issues[0].evidence[0];
    quote.line = location.line_end + 2;
    assert_eq!(quote_place(&report.issues[0]).as_deref(), Some("line 14"));
    report.issues[0].evidence[0].side = Side::Old;
    assert_eq!(quote_place(&report.issues[0]).as_deref(), Some("line 14 before the change"));
    report.issues[0].evidence[0].file = "src/bill.rs".to_owned();
    let place = "src/bill.rs:14 before the change";
    assert_eq!(quote_place(&report.issues[0]).as_deref(), Some(place));
    assert!(text(&report, &TextStyle::default()).contains(&format!("    At {place}:\n    | ")));
    assert!(markdown(&report).contains(&format!("At {place}: `")));
}

#[test]
fn applied_fix_says_that_its_file_is_not_fully_reviewed() {
    let mut report = full_report();
    let path = report.coverage[0].path.clone();
    let note = |report: &mut Report, state, outcome| {
        report.coverage[0].state = state;
        report.fix_note(&AppliedFix { files: vec![path.clone()], ..applied_fix(1, outcome) })
    };
    let (reviewed, partly) = (CoverageState::Reviewed, CoverageState::Truncated);
    assert_eq!(note(&mut report, reviewed, FixOutcome::Done), "");
    let incomplete = "; the review of its file is incomplete";
    assert_eq!(note(&mut report, partly, FixOutcome::Done), incomplete);
    assert_eq!(note(&mut report, partly, FixOutcome::Unverified), "; the fix is not verified");
}

#[test]
fn report_names_the_commit_of_line_numbers_in_fixed_files() {
    let mut report = full_report();
    report.change.head_sha = "0123456789abcdef".to_owned();
    let file = report.issues[0].location.file.clone();
    let fix = applied_fix(report.issues[0].number, FixOutcome::FoundAgain);
    report.applied_fixes = vec![AppliedFix { files: vec![file], ..fix }];
    report.issues.truncate(1);
    assert_eq!(places_note(&report), None);
    report.applied_fixes[0].outcome = FixOutcome::Unverified;
    let note =
        "the first review gives line numbers of 0123456789ab, which may differ after the fixes";
    assert_eq!(places_note(&report).as_deref(), Some(note));
    for rendered in [text(&report, &TextStyle::default()), markdown(&report)] {
        let rendered = without_wraps(&rendered);
        assert!(rendered.contains(note), "{rendered}");
    }
}

#[test]
fn unverified_fix_is_tested_and_not_undone_before_that() {
    let mut report = full_report();
    report.issues.truncate(1);
    let number = report.issues[0].number;
    report.issues[0].requires_verification = true;
    report.applied_fixes = vec![applied_fix(number, FixOutcome::Unverified)];
    let step =
        "the fix is applied, but not verified; run the tests, or undo it with `crh fix --undo`";
    assert_eq!(residual_step(&report, &report.issues[0]), step);
    // The words name `crh fix`, but crh cannot fix this issue again.
    report.artifact.clear();
    assert_eq!(residual_step(&report, &report.issues[0]), step);
    assert_eq!(unfixable_note(&report), None);
}

#[test]
fn apply_is_never_recommended_beside_fixing_by_hand() {
    let mut report = full_report();
    report.issues.truncate(1);
    let mut steps = Vec::new();
    for strategy in [Strategy::Panel, Strategy::Static] {
        for replacement in [Some("x".to_owned()), None] {
            for action in [Action::Apply, Action::Defer] {
                report.strategy = strategy;
                let issue = &mut report.issues[0];
                (issue.autofix_class, issue.owner) =
                    (AutofixClass::Manual, Owner::DownstreamResolver);
                (issue.action, issue.requires_verification) = (action, false);
                issue.replacement.clone_from(&replacement);
                let step = next_step_in(&report, &report.issues[0]);
                steps.push(format!("{strategy} {action} {}: {step}\n", replacement.is_some()));
            }
        }
    }
    // Without a model, only an exact replacement can be applied.
    expect![[r#"
        panel apply true: `crh fix --issue 1` applies this replacement; check the result
        panel defer true: needs a manual fix
        panel apply false: `crh fix --issue 1` lets a model fix this; check the result
        panel defer false: needs a manual fix
        static apply true: `crh fix --issue 1` applies this replacement; check the result
        static defer true: needs a manual fix
        static apply false: needs a manual fix
        static defer false: needs a manual fix
    "#]]
    .assert_eq(&steps.concat());
}

#[test]
fn next_step_of_a_safe_fix_says_whether_a_model_writes_it() {
    let mut report = full_report();
    report.applied_fixes.clear();
    report.issues.truncate(1);
    let mut steps = Vec::new();
    for strategy in [Strategy::Panel, Strategy::Static] {
        // Without a replacement, with one, and with one that contains a masked credential.
        for replacement in [None, Some("x"), Some("key = \"[redacted]\"")] {
            report.strategy = strategy;
            let issue = &mut report.issues[0];
            (issue.autofix_class, issue.owner) = (AutofixClass::SafeAuto, Owner::ReviewFixer);
            (issue.action, issue.requires_verification) = (Action::Apply, false);
            issue.replacement = replacement.map(str::to_owned);
            steps.push(format!("{strategy}: {}\n", next_step_in(&report, &report.issues[0])));
        }
    }
    expect![[r#"
        panel: `crh fix` lets a model fix this
        panel: `crh fix` can fix this
        panel: `crh fix` lets a model fix this
        static: needs a manual fix
        static: `crh fix` can fix this
        static: needs a manual fix
    "#]]
    .assert_eq(&steps.concat());
}

#[test]
fn next_step_names_the_model_flag_if_only_the_command_line_had_a_model() {
    let mut report = Report { needs_model_flag: true, ..full_report() };
    report.applied_fixes.clear();
    let check = |report: &mut Report, replacement: Option<&str>, verifies, expected: &str| {
        let issue = &mut report.issues[0];
        (issue.autofix_class, issue.owner) = (AutofixClass::SafeAuto, Owner::ReviewFixer);
        (issue.action, issue.requires_verification) = (Action::Apply, verifies);
        issue.replacement = replacement.map(str::to_owned);
        assert_eq!(next_step_in(report, &report.issues[0]).to_string(), expected);
    };
    check(&mut report, None, false, "`crh fix --model MODEL` lets a model fix this");
    let both = "`crh fix --verify COMMAND --model MODEL` lets a model fix this";
    check(&mut report, None, true, both);
    check(&mut report, Some("x"), false, "`crh fix` can fix this");
}

#[test]
fn fix_that_crh_refused_is_no_next_step() {
    let mut report = full_report();
    report.applied_fixes.clear();
    report.issues.truncate(1);
    let issue = &mut report.issues[0];
    (issue.autofix_class, issue.owner) = (AutofixClass::SafeAuto, Owner::DownstreamResolver);
    (issue.action, issue.requires_verification) = (Action::Defer, false);
    let number = issue.number;
    let step = |report: &Report| residual_step(report, &report.issues[0]);
    let fixable = format!("`crh fix --issue {number}` can fix this");
    assert_eq!(step(&report), fixable);
    report.not_fixed = vec![number + 10];
    assert_eq!(step(&report), fixable);
    report.not_fixed = vec![number];
    let refused = format!("a fix by crh failed; the line `#{number} not fixed` says why");
    assert_eq!(step(&report), refused);
    report.issues[0].requires_verification = true;
    assert_eq!(step(&report), refused);
    // A warning alone says nothing: `crh fix` accepts the issue with the flag.
    report.not_fixed.clear();
    report.warnings = vec![not_fixed_warning(number, "its fix needs verification")];
    let step = step(&report);
    assert!(step.contains("--verify COMMAND` can fix this"), "{step}");
}

#[test]
fn hidden_findings_that_the_verdict_counts_are_named() {
    let mut report = full_report();
    let hidden = |line: u32, severity: Severity| {
        let changes = json!({ "title": format!("Problem *{line}*"), "severity": severity });
        let member = member("a", line, "let total = cents * rate;", changes);
        let dropped = DroppedFinding::new(member, Fate::BelowGate, "probability 0.2");
        dropped.still_open(severity, Some(Validation::Unsure))
    };
    report.suppressed = (11..18).map(|line| hidden(line, Severity::P1)).collect();
    report.suppressed.push(hidden(18, Severity::P0));
    report.suppressed.push(hidden(19, Severity::P3));
    for rendered in [
        text(&report, &TextStyle::default()),
        markdown(&report).replace("\\*", "*"),
        comment(&report, "crh").replace("\\*", "*"),
        envelope(&report),
    ] {
        let rendered = without_wraps(&rendered);
        let first =
            "hidden, but counts for the verdict: P0 src/pay.rs:18 Problem *18* (too uncertain)";
        assert!(rendered.contains(first), "{rendered}");
        assert_eq!(rendered.matches("hidden, but counts for").count(), 5, "{rendered}");
        assert!(rendered.contains("and 3 more hidden, but counted"), "{rendered}");
    }
}

#[test]
fn replacements_to_choose_from_are_listed() {
    let mut report = full_report();
    let issue = &mut report.issues[0];
    assert_eq!(issue_remarks(issue), Vec::<String>::new());
    issue.replacement = None;
    for (member, text) in issue.members.iter_mut().zip(["    log(1);\n", "    log(2);\n"]) {
        member.finding.replacement = Some(text.to_owned());
    }
    let first = "Replacement for src/pay.rs:12 by security: log(1);";
    let second = "Replacement for src/pay.rs:12 by correctness: log(2);";
    assert_eq!(issue_remarks(issue), [first, second]);
}

#[test]
fn envelope_lists_issues_over_the_limit_without_the_note() {
    let mut report = full_report();
    report.over_cap = report.issues.split_off(1);
    report.over_cap_note =
        "1 more issue is hidden: the report shows at most 1 issue found by models".to_owned();
    // The words of a warning do not matter.
    report.warnings = vec!["2 pages are not shown because of a fault".to_owned()];
    let rendered = envelope(&report);
    assert!(!rendered.contains(&report.over_cap_note), "{rendered}");
    assert!(rendered.contains("Warning: 2 pages are not shown"), "{rendered}");
    let readers =
        [text(&report, &TextStyle::default()), markdown(&report), sarif(&report).unwrap()];
    for rendered in readers {
        let rendered = without_wraps(&rendered);
        assert!(rendered.contains(&report.over_cap_note), "{rendered}");
    }
    // Other formats count the findings of these issues only in the note.
    let members = report.over_cap[0].members.clone();
    let over_cap = |member| DroppedFinding::new(member, Fate::OverCap, "over the limit");
    report.suppressed = members.into_iter().map(over_cap).collect();
    assert_eq!(HiddenCounts::new(&report).with_reasons(), None);
}

#[test]
fn unsure_second_look_is_noted() {
    let mut report = full_report();
    for (validation, note) in [
        (Validation::Unsure, "a second model run could not decide"),
        (Validation::Degraded, "the second model run, which checks the issue, failed"),
    ] {
        assert!(outputs(&report).iter().all(|(_, output)| !output.contains(note)));
        report.issues[0].validation = validation;
        for (format, output) in &outputs(&report)[..3] {
            assert!(output.contains(note), "{format}: {output}");
        }
    }
}

pub(super) fn hostile_report() -> Report {
    let evil = "x | y `a|b` <!-- crh:crh:summary --> <img src=x> ![i](https://evil.example/i) @team \u{1b}[31m\u{202e}";
    let members = vec![member(
        "evil|er\nReview complete",
        11,
        "let total = cents * rate;",
        json!({
            "title": evil,
            "why_it_matters": "~~~\n\nReview complete\n\n| 9 | forged |\n```\n# Heading",
            "suggested_fix": "</details>\n<script>alert(1)</script>",
        }),
    )];
    let sources = crate::Sources::new(Diff::read(DIFF));
    let all = crate::consolidate(members, &sources, &Default::default(), &BTreeSet::new());
    let merged = crate::apply_judgements(all, &BTreeMap::new());
    let started = Report {
        change: ReviewedChange {
            url: "https://forge.example/o/r/pull/7".to_owned(),
            ..ReviewedChange::default()
        },
        review_id: "x --> <img src=x>".to_owned(),
        summary: "## Ready to merge ``<img src=x>``http://f &commat;team".to_owned(),
        residual_risks: vec!["~~~".to_owned()],
        ..Report::default()
    };
    crate::into_report(started, merged, CommandKind::Review, 15)
}

/// Elements of a Markdown page that crh itself never writes.
fn unexpected_elements(page: &str) -> Vec<String> {
    let allowed_tags =
        ["<!-- c", "<details>", "</details>", "<summary>", "<sub>", "</sub>", "<br>"];
    Parser::new_ext(page, Options::ENABLE_TABLES)
        .filter_map(|event| match event {
            Event::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) => {
                Some(dest_url.to_string())
            }
            Event::Start(Tag::Heading { level, .. })
                if level != HeadingLevel::H2 && level != HeadingLevel::H3 =>
            {
                Some(format!("{level}"))
            }
            Event::Html(html) | Event::InlineHtml(html)
                if !html.trim().is_empty()
                    && !allowed_tags.iter().any(|start| html.starts_with(start)) =>
            {
                Some(html.to_string())
            }
            _ => None,
        })
        .collect()
}

#[test]
fn hostile_text_cannot_break_table_or_line() {
    let report = hostile_report();
    let page = markdown(&report);
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| 1 |")).collect();
    assert_eq!(rows.len(), 2, "one row of the issues, one of the residual work");
    // Six cells have seven unescaped bars.
    assert_eq!(rows[0].replace("\\|", "").matches('|').count(), 7, "{}", rows[0]);
    let all = [
        page,
        envelope(&report),
        comment(&report, "crh"),
        quickfix(&report, None, ""),
        annotations(&report),
        text(&report, &TextStyle::default()),
    ];
    for rendered in &all {
        assert!(!rendered.contains('\u{1b}') && !rendered.contains('\u{202e}'), "{rendered}");
        assert!(!rendered.contains("\n| 9 |") && !rendered.contains("\n# Heading"), "{rendered}");
    }
    assert!(all[4].lines().all(|line| line.starts_with("::")), "{}", all[4]);
    assert_eq!(all[1].matches("\nReview complete\n").count(), 1, "{}", all[1]);
    assert_eq!(all[2].matches("<!-- crh:").count(), 1, "{}", all[2]);
    assert_eq!(unexpected_elements(&all[2]), Vec::<String>::new(), "{}", all[2]);
    assert_eq!(unexpected_elements(&all[0]), Vec::<String>::new(), "{}", all[0]);
    for forbidden in ["https://evil", "@team"] {
        assert!(!all[2].contains(forbidden), "{forbidden} in {}", all[2]);
    }
    assert_eq!(all[2].matches("</details>").count(), 1);
    assert_eq!(all[3].lines().count(), 1);
}

/// All HTML tags of a page.
fn tags(page: &str) -> Vec<String> {
    page.split('<')
        .skip(1)
        .map(|rest| rest.split_once('>').unwrap().0.replace("&#x2f;", "/"))
        .collect()
}

#[test]
fn hostile_text_is_inert_in_html() {
    let mut report = hostile_report();
    report.change.title = "</title><script>alert(1)</script>".to_owned();
    report.change.url = "https://e.example/\" onclick=\"x".to_owned();
    report.warnings = vec!["`</code><img src=x onerror=alert(1)>`".to_owned()];
    let file = "</caption><script>\u{202e}.rs";
    report.coverage = vec![FileCoverage {
        path: file.to_owned(),
        state: CoverageState::NotReviewed,
        reason: "<b onmouseover=x>".to_owned(),
    }];
    report.issues[0].evidence[0].snippet = "</pre><iframe src=//e.example>".to_owned();
    report.issues[0].replacement = Some("</pre><style>*{}</style>".to_owned());
    let diff = DIFF.replace("let total = cents * rate;", "<script>alert(\"\u{1b}[2J\")</script>");
    let page = html(&report, Some(&Diff::read(diff))).unwrap();
    let quiet = html(&hostile_report(), None).unwrap();
    for page in [&page, &quiet] {
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
        for tag in tags(page) {
            let name = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap();
            let allowed_tags = "!DOCTYPE html head meta title style body main header footer section nav article div \
                         p h1 h2 h3 ul ol li dl dt dd span strong b em small br code pre figure figcaption a \
                         table caption thead tbody tr th td details summary";
            assert!(allowed_tags.split_whitespace().any(|allowed| allowed == name), "<{tag}>");
            assert!(
                !tag.contains(" on") && !tag.contains("src=") && !tag.contains("style="),
                "<{tag}>"
            );
            assert!(
                !tag.contains("href=")
                    || tag.contains("href=\"#issue-")
                    || tag.contains("href=\"https://forge.example/"),
                "<{tag}>"
            );
        }
        assert_eq!(page.matches("<style>").count(), 1);
        assert!(!page.contains("url(") && !page.contains("@import"));
        assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"));
    }
    assert!(page.contains("&lt;script&gt;"), "it is there, as text");
}

#[test]
fn comment_fits_the_forge_limit() {
    let mut report = full_report();
    let issue = report.issues[0].clone();
    let long_issue = Issue { why_it_matters: "word ".repeat(2_000), ..issue };
    report.issues = vec![long_issue; 60];
    report.warnings = vec!["warning ".repeat(100); 100];
    report.summary = "<word> ".repeat(20_000);
    report.model_used = "m".repeat(100_000);
    let body = comment(&report, "crh");
    assert!(body.len() <= COMMENT_MAX, "{}", body.len());
    assert!(body.contains("do not fit here") && body.ends_with("</sub>\n"));
}

/// Rows and lists of a posted report.
fn posted_rows_and_lists() -> (Vec<IssueDisplay>, Vec<SummaryList>) {
    let entry = |title: &str| SummaryEntry {
        place: Some("src/pay.rs:70".to_owned()),
        title: title.to_owned(),
        remark: "by @dev".to_owned(),
        link: Some("https://forge.example/o/r/pull/7#discussion_r1".to_owned()),
    };
    let list = |heading, titles: &[&str]| SummaryList {
        heading,
        entries: titles.iter().map(|title| entry(title)).collect(),
    };
    let rows = vec![
        IssueDisplay::Linked("https://forge.example/o/r/pull/7/files#diff-0aR12".to_owned()),
        IssueDisplay::Full { why: "its conversation was resolved".to_owned(), link: None },
    ];
    let lists = vec![
        list("Dismissed", &["[Old](https://evil.example) `code](x)` trouble", "Other"]),
        list("Empty", &[]),
    ];
    (rows, lists)
}

#[test]
fn summary_links_inline_issues_and_shows_the_rest() {
    let (rows, lists) = posted_rows_and_lists();
    let posted = SummaryOptions {
        instance: "crh",
        links: Some("forge.example/o/r"),
        rows: &rows,
        heading: Some("Not on a line of the diff"),
        lists: &lists,
        remarks: &["Issue 1 was raised in an earlier review.".to_owned()],
        last_line: Some("<!-- crh:crh:state:e30 -->"),
    };
    let body = summary(&full_report(), &posted);
    expect_file!["../../tests/data/render/summary.md"].assert_eq(&body);
    let links: Vec<String> = unexpected_elements(&body);
    assert!(links.iter().all(|link| link.starts_with("https://forge.example/")), "{links:?}");
}

#[test]
fn inline_comments_are_rendered() {
    let report = full_report();
    let mut rendered = String::new();
    for (issue, offer) in report.issues.iter().zip([
        SuggestionStyle::SuggestionBlock,
        SuggestionStyle::CodeBlock,
        SuggestionStyle::CodeBlock,
    ]) {
        let body = inline(issue, "crh", None, offer);
        assert_eq!(crate::identity::key_in_comment("crh", &body), Some(issue.dedupe_key.as_str()));
        let title = title_in_comment(&body).unwrap();
        assert_eq!(title, comment_title(issue, None));
        rendered.push_str(&format!("{body}=====\n"));
    }
    expect_file!["../../tests/data/render/inline.md"].assert_eq(&rendered);
}

#[test]
fn hostile_text_is_inert_in_inline_comment() {
    let mut report = hostile_report();
    report.issues[0].replacement =
        Some("```\n<!-- crh:crh:summary -->\n</details>@team".to_owned());
    let body = inline(&report.issues[0], "crh", None, SuggestionStyle::CodeBlock);
    assert_eq!(unexpected_elements(&body), Vec::<String>::new(), "{body}");
    assert_eq!(body.matches("<!-- crh:").count(), 1, "{body}");
    assert!(!body.contains(['\u{1b}', '\u{202e}']), "{body}");
}

proptest::proptest! {
    // Each case escapes a megabyte of hostile text.
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(12))]

    #[test]
    fn any_text_fits_the_forge_limit(
        piece in "[a<&@`~\\[\u{202e}\u{1b}設 \n|-]{1,12}",
        times in 0_usize..2_000,
        issues in 0_usize..30,
    ) {
        let mut report = full_report();
        let long_text = piece.repeat(times);
        let issue = Issue {
            why_it_matters: long_text.clone(),
            suggested_fix: Some(long_text.clone()),
            replacement: Some(long_text.clone()),
            rule: Some(long_text.clone()),
            ..report.issues[0].clone()
        };
        let body = inline(&issue, "crh", None, SuggestionStyle::CodeBlock);
        proptest::prop_assert!(body.chars().count() <= COMMENT_MAX);
        proptest::prop_assert!(crate::identity::key_in_comment("crh", &body).is_some());
        report.issues = vec![issue; issues];
        report.summary = long_text.clone();
        report.verdict_reason = long_text.clone();
        report.warnings = vec![long_text.chars().take(500).collect(); issues];
        let entry = SummaryEntry { place: None, title: long_text.clone(), remark: long_text, link: None };
        let lists = [SummaryList { heading: "Many", entries: vec![entry; issues] }];
        let state = format!("<!-- crh:crh:state:{} -->", "e".repeat(24_000));
        let posted =
            SummaryOptions { instance: "crh", lists: &lists, last_line: Some(&state), ..SummaryOptions::default() };
        let body = summary(&report, &posted);
        proptest::prop_assert!(body.chars().count() <= COMMENT_MAX, "{}", body.chars().count());
        proptest::prop_assert!(crate::identity::is_summary("crh", &body));
        proptest::prop_assert!(body.trim_end().ends_with(&state));
        proptest::prop_assert_eq!(body.matches("<details>").count(), body.matches("</details>").count());
    }
}

#[test]
fn text_report_fits_80_columns() {
    let mut report = full_report();
    report.issues[0].title = "注文の合計が二重に計算される ".repeat(10);
    report.issues[0].why_it_matters = "訂正`total(order)`の".repeat(30);
    let rendered = text(&report, &TextStyle::default());
    for line in rendered.lines() {
        assert!(crate::columns(line) <= 80, "{line}");
    }
    // Text with spaces or wide characters fills the lines.
    assert!(rendered.lines().filter(|line| crate::columns(line) > 60).count() > 8, "{rendered}");
}
