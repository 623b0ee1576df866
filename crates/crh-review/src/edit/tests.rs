use std::collections::BTreeSet;

use expect_test::{Expect, expect};

use super::*;
use crate::diff::Diff;
use crate::finding::tests_support::finding;
use crate::finding::{Finding, Owner};
use crate::merge::{Grouping, PastDecisions, consolidate, consolidate_for_editor, into_report};
use crate::narrow_to_places;
use crate::report::{Action, Report};
use crate::verdict::CommandKind;

const RULES: PublishRules =
    PublishRules { threshold: Confidence::thousandths(400), min_severity: Severity::P2 };

fn sources() -> Sources {
    let added: String = (1..=40).map(|line| format!("+let value_{line} = call();\n")).collect();
    Sources::new(Diff::read(format!(
        "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -0,0 +1,40 @@\n{added}"
    )))
}

fn claim(line: u32, severity: Severity) -> Member {
    let mut claimed = Finding { severity, title: format!("Claim about line {line}"), ..finding() };
    claimed.line_start = std::num::NonZeroU32::new(line);
    claimed.evidence[0].snippet = format!("let value_{line} = call();");
    Member::new("finder", claimed)
}

fn group(members: &[Member], judgement: EditorJudgement, severity: Severity) -> EditedGroup {
    EditedGroup {
        members: members.to_vec(),
        judgement,
        severity,
        title: None,
        text: None,
        is_forgotten: false,
        test: None,
    }
}

fn probable(thousandths: u16) -> EditorJudgement {
    EditorJudgement::Probable(Confidence::thousandths(thousandths))
}

fn validated(
    result: JudgementResult,
    probability: Option<u16>,
    severity: Option<Severity>,
) -> Option<Judgement> {
    let probability = probability.map(Confidence::thousandths);
    Some(Judgement { probability, severity, ..Judgement::new(result, "see line 1") })
}

/// Merges, edits and reports.
fn review(
    members: &[Member],
    groups: &[EditedGroup],
    judgements: &BTreeMap<Member, Judgement>,
) -> Report {
    let member_groups: Vec<Vec<Member>> =
        groups.iter().map(|group| group.members.clone()).collect();
    let merged = consolidate_for_editor(
        members.to_vec(),
        &sources(),
        &PastDecisions::default(),
        Grouping::Editor(&member_groups),
    );
    let merged = apply_edit(merged, groups, judgements, RULES);
    into_report(Report::default(), merged, CommandKind::Review, 5)
}

/// Checks claims, one per row: severity by the reviewer, by the editor, and by validation, each with
/// its judgement. The last column is what is published or dropped, and the verdict.
fn check(expected: &Expect) {
    let mut table = String::new();
    for row in expected.data.lines().map(str::trim).filter(|row| !row.is_empty()) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (editor_severity, judgement) = cells[1].split_once(' ').unwrap();
        let judgement = match judgement {
            "refuted" => EditorJudgement::Refuted("guarded in line 3".to_owned()),
            "minor" => EditorJudgement::Minor,
            number => EditorJudgement::Probable(parse_confidence(number)),
        };
        let member = claim(5, parse_word(cells[0]));
        let judgements = parse_validation(cells[2])
            .map(|judgement| (member.clone(), judgement))
            .into_iter()
            .collect();
        let groups = [group(std::slice::from_ref(&member), judgement, parse_word(editor_severity))];
        let result = describe(&review(&[member], &groups, &judgements));
        table += &format!("{} | {:10} | {:19} | {result}\n", cells[0], cells[1], cells[2]);
    }
    expected.assert_eq(&table);
}

/// Parses `-`, `unsure`, `unsure 0.30` or `confirmed 0.45 P2`.
fn parse_validation(text: &str) -> Option<Judgement> {
    let mut words = text.split(' ');
    let result = words.next().filter(|word| *word != "-").map(parse_word)?;
    let probability = words.next().map(parse_confidence);
    let severity = words.next().map(parse_word);
    Some(Judgement { probability, severity, ..Judgement::new(result, "see line 1") })
}

fn parse_confidence(number: &str) -> Confidence {
    Confidence::new(number.parse().unwrap()).unwrap()
}

fn parse_word<T: serde::de::DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(word.into()).unwrap()
}

fn describe(report: &Report) -> String {
    let published = report.issues.iter().map(|issue| {
        let probability = issue.probability.unwrap_or(Confidence::ZERO);
        format!("published {} p {probability} {}", issue.severity, issue.validation)
    });
    let dropped = report.suppressed.iter().map(|dropped| {
        let open = dropped.open.map(|it| format!(" (open {it})")).unwrap_or_default();
        format!("{}{open}: {}", dropped.fate, dropped.reason)
    });
    let lines: Vec<String> = published.chain(dropped).collect();
    format!("{} -> {}", lines.join("; "), report.verdict)
}

#[test]
fn advisory_issue_is_published_only_on_request() {
    let mut member = claim(5, Severity::P2);
    member.finding.autofix_class = AutofixClass::Advisory;
    let groups = [group(std::slice::from_ref(&member), probable(900), Severity::P2)];
    let report = review(&[member.clone()], &groups, &BTreeMap::new());
    let reasons: Vec<&str> = report.suppressed.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!((report.issues.len(), reasons), (0, vec![ADVISORY_NOT_PUBLISHED]));
    let envelope = crate::render::envelope(&report);
    let listed = "Advisory findings (report-only):\n\n[P2][advisory -> ";
    assert!(envelope.contains(listed) && !envelope.contains("Not shown"), "{envelope}");

    let member_groups = [vec![member.clone()]];
    let merged = consolidate_for_editor(
        vec![member],
        &sources(),
        &PastDecisions::default(),
        Grouping::Editor(&member_groups),
    );
    let all = PublishRules { min_severity: Severity::P3, ..RULES };
    assert_eq!(apply_edit(merged, &groups, &BTreeMap::new(), all).issues.len(), 1);
}

#[test]
fn probable_issue_is_published_and_the_lower_probability_counts() {
    check(&expect![[r#"
        P2 | P2 0.6     | -                   | published P2 p 0.60 not_run -> Ready with fixes
        P2 | P2 0.6     | confirmed 0.45 P2   | published P2 p 0.45 confirmed -> Ready with fixes
        P2 | P2 0.6     | unsure 0.30         | below_gate: the probability that maintainers agree is 0.30 -> Ready to merge
        P2 | P2 0.399   | -                   | below_gate: the probability that maintainers agree is 0.40 -> Ready to merge
        P2 | P3 0.9     | -                   | minor: P3 issues are hidden -> Ready to merge
        P3 | P3 0.9     | -                   | minor: P3 issues are hidden -> Ready to merge
        P1 | P1 0.9     | -                   | published P1 p 0.90 not_run -> Ready with fixes
    "#]]);
}

/// The confidence of a reviewer is not shown as a probability of the editor.
#[test]
fn confidence_decides_about_a_forgotten_finding() {
    let published = |confidence: u16, validation: Option<Judgement>| {
        let member = claim(5, Severity::P2);
        let judgements = validation.map(|it| (member.clone(), it)).into_iter().collect();
        let forgotten = EditedGroup {
            is_forgotten: true,
            ..group(std::slice::from_ref(&member), probable(confidence), Severity::P2)
        };
        let report = review(&[member], &[forgotten], &judgements);
        let published: Vec<_> = report.issues.iter().map(|issue| issue.probability).collect();
        let dropped: Vec<_> = report.suppressed.iter().map(|it| it.reason.clone()).collect();
        (published, dropped)
    };
    assert_eq!(published(950, None), (vec![None], vec![]));
    let below = "confidence 0.20, and the model that selects issues did not rate it".to_owned();
    assert_eq!(published(200, None), (vec![], vec![below]));
    let confirmed = validated(JudgementResult::Confirmed, Some(800), Some(Severity::P2));
    assert_eq!(published(950, confirmed), (vec![Some(Confidence::thousandths(800))], vec![]));
}

#[test]
fn changed_severity_names_who_changed_it() {
    use JudgementResult::Confirmed;
    use Severity::{P0, P1, P2, P3};
    let disagreement = |claimed, edited, validation: Option<Judgement>| {
        let member = claim(5, claimed);
        let judgements = validation.map(|it| (member.clone(), it)).into_iter().collect();
        let groups = [group(std::slice::from_ref(&member), probable(900), edited)];
        review(&[member], &groups, &judgements).issues[0].disagreement.clone()
    };
    let by_validation = validated(Confirmed, Some(900), Some(P1));
    let note = "finder (P3), validation (P1) -- raised to P1: see line 1";
    assert_eq!(disagreement(P3, P2, by_validation).as_deref(), Some(note));
    let note = "finder (P1), editor (P0) -- raised to P0";
    assert_eq!(disagreement(P1, P0, None).as_deref(), Some(note));
    let note = "finder (P1), editor (P2) -- lowered to P2";
    let same = validated(Confirmed, Some(900), Some(P2));
    assert_eq!(disagreement(P1, P2, same).as_deref(), Some(note));
    assert_eq!(disagreement(P2, P2, None), None);
}

#[test]
fn editor_alone_drops_only_small_issues() {
    check(&expect![[r#"
        P2 | P2 refuted | -                   | refuted: guarded in line 3 -> Ready to merge
        P2 | P2 minor   | -                   | minor: the model that selects issues calls it minor -> Ready to merge
        P1 | P3 refuted | -                   | below_gate (open P1): the model that selects issues refutes it: guarded in line 3 -> Ready with fixes
        P1 | P3 minor   | -                   | minor (open P1): the model that selects issues calls it minor -> Ready with fixes
        P1 | P1 0.1     | unsure              | below_gate (open P1): the probability that maintainers agree is 0.10 -> Ready with fixes
    "#]]);
}

#[test]
fn validation_decides_about_urgent_issues() {
    check(&expect![[r#"
        P1 | P3 refuted | confirmed 0.80 P1   | published P1 p 0.80 confirmed -> Ready with fixes
        P1 | P3 refuted | confirmed 0.20 P1   | below_gate (open P1): the model that selects issues refutes it: guarded in line 3 -> Ready with fixes
        P1 | P3 refuted | confirmed 0.80 P2   | published P2 p 0.80 confirmed -> Ready with fixes
        P1 | P2 0.1     | confirmed 0.80 P2   | below_gate: the probability that maintainers agree is 0.10 -> Ready to merge
        P1 | P3 minor   | confirmed 0.80 P1   | published P1 p 0.80 confirmed -> Ready with fixes
        P1 | P3 minor   | confirmed 0.80 P2   | minor: the model that selects issues calls it minor -> Ready to merge
        P1 | P3 refuted | confirmed 0.80 P3   | refuted: guarded in line 3 -> Ready to merge
        P2 | P3 refuted | confirmed 0.80 P2   | refuted: guarded in line 3 -> Ready to merge
        P1 | P2 refuted | unsure 0.20 P2      | refuted: guarded in line 3 -> Ready to merge
        P1 | P1 0.9     | refuted             | refuted: see line 1 -> Ready to merge
        P0 | P3 refuted | unsure              | published P0 p 0.00 unsure -> Not ready
        P0 | P3 refuted | failed              | published P0 p 0.00 degraded -> Not ready
        P0 | P3 refuted | refuted             | refuted: see line 1 -> Ready to merge
    "#]]);
}

#[test]
fn only_a_confirmed_issue_is_raised_by_validation() {
    check(&expect![[r#"
        P2 | P2 0.9     | confirmed 0.90 P1   | published P1 p 0.90 confirmed -> Ready with fixes
        P2 | P2 0.9     | unsure 0.30 P0      | below_gate: the probability that maintainers agree is 0.30 -> Ready to merge
        P2 | P2 0.9     | unsure 0.90 P1      | published P2 p 0.90 unsure -> Ready with fixes
        P2 | P1 0.9     | unsure 0.30 P0      | below_gate (open P1): the probability that maintainers agree is 0.30 -> Ready with fixes
        P1 | P2 0.9     | unsure 0.30 P0      | below_gate (open P1): the probability that maintainers agree is 0.30 -> Ready with fixes
    "#]]);
    // A confirmed claim does not raise an undecided one of its group.
    let members = [claim(5, Severity::P2), claim(20, Severity::P2)];
    let judgements = [
        validated(JudgementResult::Confirmed, Some(900), Some(Severity::P2)),
        validated(JudgementResult::Unsure, Some(300), Some(Severity::P0)),
    ];
    let judgements = members.iter().cloned().zip(judgements.into_iter().flatten()).collect();
    let groups = [group(&members, probable(900), Severity::P2)];
    let report = review(&members, &groups, &judgements);
    assert_eq!(report.issues[0].severity, Severity::P2);
}

/// As for an issue from an earlier review.
#[test]
fn doubtful_p1_without_group_stays_open() {
    let undecided = |severity| {
        let mut member = claim(5, severity);
        member.finding.confidence = Confidence::thousandths(500);
        let judgement = validated(JudgementResult::Unsure, None, None);
        let judgements = judgement.map(|it| (member.clone(), it)).into_iter().collect();
        describe(&review(&[member], &[], &judgements)) + "\n"
    };
    expect![[r#"
        below_gate (open P1): confidence 0.5 after an undecided check -> Ready with fixes
        below_gate: confidence 0.25 after an undecided check -> Ready to merge
    "#]]
    .assert_eq(&(undecided(Severity::P1) + &undecided(Severity::P2)));
}

#[test]
fn rejected_group_is_split_by_place() {
    let mut wide = claim(5, Severity::P2);
    wide.finding.line_end = std::num::NonZeroU32::new(7);
    let members = [claim(5, Severity::P2), claim(20, Severity::P1), claim(7, Severity::P2), wide];
    let parts = |judgement| {
        let title = Some("One cause".to_owned());
        let edited = EditedGroup { title, ..group(&members, judgement, Severity::P2) };
        let parts = split_rejected(&[edited], &sources()).into_iter().map(|part| {
            let lines = part.members.iter().map(|member| member.finding.line_start.unwrap().get());
            (part.title.is_some(), lines.collect::<Vec<u32>>())
        });
        parts.collect::<Vec<_>>()
    };
    let refuted = EditorJudgement::Refuted("guarded in line 3".to_owned());
    for rejected in [EditorJudgement::Minor, refuted] {
        assert_eq!(parts(rejected), [(true, vec![5, 7, 5]), (false, vec![20])]);
    }
    assert_eq!(parts(probable(300)), [(true, vec![5, 20, 7, 5])]);
}

#[test]
fn rejected_group_stays_one_issue_if_its_lines_are_near() {
    let issues = |lines: [u32; 2]| {
        let members = lines.map(|line| {
            let mut member = claim(line, Severity::P1);
            member.finding.title = "Division by zero".to_owned();
            member
        });
        let edited = group(&members, EditorJudgement::Minor, Severity::P2);
        let parts = split_rejected(&[edited], &sources());
        let merged =
            consolidate(members.to_vec(), &sources(), &PastDecisions::default(), &BTreeSet::new());
        (parts.len(), merged.issues.len())
    };
    assert_eq!(issues([10, 13]), (1, 1));
    assert_eq!(issues([10, 14]), (2, 2));
}

#[test]
fn group_has_one_issue_with_all_places() {
    let members = [claim(5, Severity::P2), claim(20, Severity::P1), claim(21, Severity::P2)];
    let [first, second, third] = members.clone();
    let edited = EditedGroup {
        title: Some("One cause ".repeat(15)),
        text: Some(" It fails for 0. \n".to_owned()),
        ..group(&[second, first, third], probable(700), Severity::P2)
    };
    let report = review(&members, &[edited], &BTreeMap::new());
    let [issue] = report.issues.as_slice() else { panic!("{:?}", report.issues) };
    assert_eq!(issue.location.line_start, 20);
    let places: Vec<u32> = issue.other_places.iter().map(|place| place.line_start).collect();
    assert_eq!(places, [5]);
    assert_eq!((issue.severity, issue.members.len()), (Severity::P1, 3));
    assert_eq!(issue.why_it_matters, "It fails for 0. Also at a.rs:5.");
    assert!(issue.title.ends_with('…') && issue.title.chars().count() <= 100, "{}", issue.title);
    let fates: BTreeSet<Fate> = report.suppressed.iter().map(|dropped| dropped.fate).collect();
    assert_eq!(fates, BTreeSet::from([Fate::Merged]));
}

#[test]
fn issue_narrowed_to_a_place_has_the_texts_of_its_finding_there() {
    let members = [5, 20, 35].map(|line| claim(line, Severity::P1));
    let edited = EditedGroup {
        title: Some("One cause".to_owned()),
        text: Some("It fails for 0.".to_owned()),
        ..group(&members, probable(700), Severity::P1)
    };
    let report = review(&members, &[edited], &BTreeMap::new());
    let issue = &report.issues[0];
    assert_eq!(issue.why_it_matters, "It fails for 0. Also at a.rs:20, a.rs:35.");
    let narrowed = |places: &[Location]| {
        let mut issue = issue.clone();
        narrow_to_places(&mut issue, places);
        assert_eq!(issue.description, issue.why_it_matters);
        let quotes =
            issue.evidence.iter().map(|quote| format!("{}: {}", quote.line, quote.snippet));
        let quotes: Vec<String> = quotes.collect();
        format!(
            "{} {} | {} | {} | {}\n",
            issue.location,
            issue.title,
            issue.why_it_matters,
            quotes.join(", "),
            issue.evidence_snippet
        )
    };
    let [second, third] = issue.other_places.as_slice() else { panic!("{issue:?}") };
    let fixed_first = narrowed(&[second.clone(), third.clone()]);
    let fixed_second = narrowed(&[issue.location.clone(), third.clone()]);
    expect![[r#"
        a.rs:20 Claim about line 20 | The last index is out of range. Also at a.rs:35. | 20: let value_20 = call(); | let value_20 = call();
        a.rs:5 One cause | It fails for 0. Also at a.rs:35. | 5: let value_5 = call(); | let value_5 = call();
    "#]]
    .assert_eq(&(fixed_first + &fixed_second));
}

/// Findings on line 5, one group of the editor each: `TITLE` or `TITLE => REPLACEMENT`, severity, and
/// probability in thousandths. The result is one line per issue.
fn check_copies(rows: &[(&str, Severity, u16)], expected: &Expect) {
    let reviewers = ["first", "second", "third"];
    let member = |(reviewer, (text, severity, _)): (&str, &(&str, Severity, u16))| {
        let mut member = claim(5, *severity);
        let (title, replacement) = text.split_once(" => ").unzip();
        member.reviewer = reviewer.to_owned();
        member.finding.title = title.unwrap_or(text).to_owned();
        member.finding.replacement = replacement.map(str::to_owned);
        member
    };
    let members: Vec<Member> = reviewers.into_iter().zip(rows).map(member).collect();
    let grouped = members.iter().zip(rows).map(|(member, (_, severity, probability))| {
        group(std::slice::from_ref(member), probable(*probability), *severity)
    });
    let groups = join_copies(&grouped.collect::<Vec<_>>(), &sources());
    let report = review(&members, &groups, &BTreeMap::new());
    let line = |issue: &Issue| {
        let probability = issue.probability.unwrap_or(Confidence::ZERO);
        let reviewers = issue.reviewers.join(", ");
        format!("{} {probability} \"{}\" by {reviewers}\n", issue.severity, issue.title)
    };
    expected.assert_eq(&report.issues.iter().map(line).collect::<String>());
}

#[test]
fn separated_copies_of_a_finding_are_one_issue() {
    use Severity::{P1, P2};
    check_copies(
        &[("Zero divides", P2, 600), ("`zero` divides!", P1, 500), ("Zero divides", P2, 700)],
        &expect![[r#"
            P1 0.70 "Zero divides" by first, second, third
        "#]],
    );
    check_copies(
        &[("Zero divides => guard();", P2, 600), ("An empty list fails => guard();", P2, 500)],
        &expect![[r#"
            P2 0.60 "Zero divides" by first, second
        "#]],
    );
}

#[test]
fn two_defects_on_one_line_stay_two() {
    use Severity::P2;
    check_copies(
        &[("Zero divides => guard();", P2, 600), ("The lock is held => unlock();", P2, 500)],
        &expect![[r#"
            P2 0.60 "Zero divides" by first
            P2 0.50 "The lock is held" by second
        "#]],
    );
    // Models send empty text for fields that they do not fill.
    check_copies(
        &[("Zero divides => ", P2, 600), ("The lock is held => ", P2, 500)],
        &expect![[r#"
            P2 0.60 "Zero divides" by first
            P2 0.50 "The lock is held" by second
        "#]],
    );
}

#[test]
fn issues_on_one_line_have_different_keys() {
    let first = claim(5, Severity::P2);
    let mut second = claim(5, Severity::P2);
    second.finding.title = "Another defect".to_owned();
    let groups = [&first, &second]
        .map(|member| group(std::slice::from_ref(member), probable(700), Severity::P2));
    let report = review(&[first, second], &groups, &BTreeMap::new());
    assert_eq!(report.issues.len(), 2);
    assert_ne!(report.issues[0].dedupe_key, report.issues[1].dedupe_key);
}

/// Two findings of one line in two groups of the editor: class, owner and disagreement of each.
fn check_separated(first: &Finding, second: &Finding, expected: &Expect) {
    let member = |reviewer: &str, finding: &Finding| Member {
        reviewer: reviewer.to_owned(),
        finding: finding.clone(),
        ..claim(5, Severity::P2)
    };
    let members = [member("first", first), member("second", second)];
    let groups = [&members[0], &members[1]]
        .map(|member| group(std::slice::from_ref(member), probable(700), Severity::P2));
    let report = review(&members, &groups, &BTreeMap::new());
    let line = |issue: &Issue| {
        format!(
            "{}: {} -> {}, {:?}\n",
            issue.reviewers.join(", "),
            issue.autofix_class,
            issue.owner,
            issue.disagreement
        )
    };
    let mut lines: Vec<String> = report.issues.iter().map(line).collect();
    lines.sort();
    expected.assert_eq(&lines.concat());
}

#[test]
fn separated_findings_of_one_problem_get_the_cautious_route() {
    let with_route = |autofix_class, owner, replacement: Option<&str>| Finding {
        autofix_class,
        owner,
        replacement: replacement.map(str::to_owned),
        ..claim(5, Severity::P2).finding
    };
    let safe = with_route(AutofixClass::SafeAuto, Owner::ReviewFixer, Some("let value_5 = 5;"));
    let manual = with_route(AutofixClass::Manual, Owner::Human, None);
    check_separated(
        &safe,
        &manual,
        &expect![[r#"
            first: manual -> human, Some("first (safe fix), second (manual fix) -- kept manual fix, the more cautious; first (for `crh fix`), second (for a person to decide) -- kept for a person to decide, the more cautious")
            second: manual -> human, Some("first (safe fix), second (manual fix) -- kept manual fix, the more cautious; first (for `crh fix`), second (for a person to decide) -- kept for a person to decide, the more cautious")
        "#]],
    );
    let other_text = with_route(AutofixClass::SafeAuto, Owner::ReviewFixer, Some("drop(5);"));
    check_separated(
        &safe,
        &other_text,
        &expect![[r#"
            first: gated_auto -> review-fixer, Some("first, second (different replacements) -- kept fix that changes behaviour")
            second: gated_auto -> review-fixer, Some("first, second (different replacements) -- kept fix that changes behaviour")
        "#]],
    );
    let advisory = with_route(AutofixClass::Advisory, Owner::Human, None);
    check_separated(
        &safe,
        &Finding { severity: Severity::P1, ..advisory },
        &expect![[r#"
            first: gated_auto -> review-fixer, Some("first (safe fix), second (no fix) -- kept fix that changes behaviour, the more cautious; first (for `crh fix`), second (for a person to decide) -- kept for `crh fix`, the more cautious")
            second: advisory -> human, None
        "#]],
    );
    let elsewhere = claim(20, Severity::P2).finding;
    let elsewhere =
        Finding { line_start: elsewhere.line_start, evidence: elsewhere.evidence, ..manual };
    check_separated(
        &safe,
        &elsewhere,
        &expect![[r#"
        first: safe_auto -> review-fixer, None
        second: manual -> human, None
    "#]],
    );
}

#[test]
fn fixes_of_different_places_do_not_conflict() {
    let check = |fixes: [(u32, &str); 2], expected: (Action, Option<&str>)| {
        let members = fixes.map(|(line, text)| {
            let mut member = claim(line, Severity::P2);
            member.finding.replacement = Some(text.to_owned());
            member
        });
        let groups = [group(&members, probable(700), Severity::P2)];
        let issue = review(&members, &groups, &BTreeMap::new()).issues.remove(0);
        assert_eq!((issue.action, issue.disagreement.as_deref()), expected, "{fixes:?}");
        // Each replacement alone fixes a part of the issue.
        assert_eq!(issue.replacement, None, "{fixes:?}");
    };
    check([(5, "first();"), (20, "second();")], (Action::Apply, None));
    check([(5, "first();"), (20, "first();")], (Action::Apply, None));
    let conflict = "finder (different replacements) -- kept none";
    check([(5, "first();"), (5, "second();")], (Action::Skip, Some(conflict)));
}

#[test]
fn limit_does_not_count_static_findings() {
    let mut members: Vec<Member> = (1..=7).map(|line| claim(line * 5, Severity::P2)).collect();
    for member in &mut members[..3] {
        member.origin = crate::finding::Origin::Code;
    }
    let groups: Vec<EditedGroup> = members[3..]
        .iter()
        .map(|member| group(std::slice::from_ref(member), probable(700), Severity::P2))
        .collect();
    assert_eq!(review(&members, &groups, &BTreeMap::new()).issues.len(), 7);
}

#[test]
fn hidden_finding_names_the_limit_of_its_category() {
    let mut style = claim(5, Severity::P0);
    style.finding.category = crate::finding::Category::Style;
    let groups = [group(std::slice::from_ref(&style), probable(700), Severity::P3)];
    let report = review(&[style], &groups, &BTreeMap::new());
    let reasons: Vec<&str> = report.suppressed.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, ["P3 issues are hidden; lowered to P3: style is P3 at most"]);
}

#[test]
fn near_place_of_another_p1_is_a_place_of_its_own() {
    let mut second = claim(7, Severity::P1);
    second.finding.title = "Something else breaks".to_owned();
    let first = claim(5, Severity::P1);
    let members = [first, second];
    let groups = [group(&members, probable(700), Severity::P1)];
    let report = review(&members, &groups, &BTreeMap::new());
    let places: Vec<u32> = report.issues[0].other_places.iter().map(|it| it.line_start).collect();
    assert_eq!(places, [7]);
}
