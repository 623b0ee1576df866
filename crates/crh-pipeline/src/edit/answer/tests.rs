use std::num::NonZeroU32;

use serde_json::json;

use super::*;
use crh_review::finding::{AutofixClass, Category, Confidence, Evidence, Finding, Owner, Severity};

/// A finding by its title: a bug in `a.py` on line 7.
fn member(title: &str, severity: Severity, thousandths: u16) -> Member {
    let snippet = "total = compute(order)".to_owned();
    let finding = Finding {
        title: title.to_owned(),
        severity,
        category: Category::Bug,
        file: "a.py".to_owned(),
        line_start: NonZeroU32::new(7),
        line_end: None,
        side: None,
        diff_line: None,
        confidence: Confidence::thousandths(thousandths),
        evidence: vec![Evidence { file: None, line: None, side: None, snippet }],
        why_it_matters: "The total is wrong.".to_owned(),
        suggested_fix: None,
        replacement: None,
        autofix_class: AutofixClass::Manual,
        owner: Owner::Human,
        requires_verification: false,
        pre_existing: false,
    };
    Member::new("single", finding)
}

fn members() -> Vec<Member> {
    vec![
        member("one", Severity::P1, 750),
        member("two", Severity::P2, 500),
        member("three", Severity::P3, 250),
    ]
}

fn group(findings: &[&str], verdict: &str) -> Value {
    json!({ "findings": findings, "verdict": verdict, "probability": 0.7, "severity": "P2" })
}

fn titles(groups: &[EditedGroup]) -> Vec<Vec<&str>> {
    groups
        .iter()
        .map(|group| group.members.iter().map(|member| member.finding.title.as_str()).collect())
        .collect()
}

#[test]
fn every_finding_ends_in_one_group() {
    let parse = parse_edit(members(), true);
    let answer = json!({ "groups": [group(&["F3", "f1"], "publish"), group(&["F2"], "minor")] });
    let groups = parse(answer).unwrap();
    assert_eq!(titles(&groups), [vec!["three", "one"], vec!["two"]]);
    let probability = Confidence::thousandths(700);
    assert_eq!(groups[0].judgement, EditorJudgement::Probable(probability));
    assert_eq!(groups[1].judgement, EditorJudgement::Minor);
}

#[test]
fn wrong_ids_go_back_once_and_then_nothing_is_lost() {
    let parse = parse_edit(members(), true);
    let answer = json!({ "groups": [group(&["F1", "F9"], "refuted"), group(&["F1"], "minor")] });
    assert_eq!(
        parse(answer.clone()).unwrap_err(),
        "there is no finding `F9`; `F1` is listed more than once; these findings are in no group: F2, F3; report all groups again"
    );
    let groups = parse(answer).unwrap();
    assert_eq!(titles(&groups), [vec!["one"], vec!["two"], vec!["three"]]);
    let probability = Confidence::thousandths(500);
    assert_eq!(groups[1].judgement, EditorJudgement::Probable(probability));
}

#[test]
fn last_answer_is_used_as_it_is() {
    let parse = parse_edit(members(), false);
    let groups = parse(json!({ "groups": [group(&["F2"], "publish")] })).unwrap();
    assert_eq!(titles(&groups), [vec!["two"], vec!["one"], vec!["three"]]);
}
