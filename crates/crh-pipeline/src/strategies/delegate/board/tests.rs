use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::assignment::{Assignment, DiffPart};
use crate::tools::session::DropWanted;
use crh_review::finding::Member;

/// A finding with this title.
pub(in super::super) fn finding(severity: Severity, title: &str) -> Finding {
    let finding = json!({
        "title": title, "severity": severity, "category": "bug", "file": "a.rs", "line_start": 2,
        "confidence": 0.75, "evidence": [{ "snippet": "for i in 0..=n {" }],
        "why_it_matters": "The last index is out of range.", "autofix_class": "manual",
        "owner": "downstream-resolver", "requires_verification": false, "pre_existing": false,
    });
    serde_json::from_value(finding).unwrap()
}

/// A sub-agent with one finding per severity.
pub(in super::super) fn record(slot: u32, severities: &[Severity]) -> RunRecord {
    let mut record = RunRecord::new(Assignment {
        name: format!("sub-agent-{slot}"),
        reviewer: "delegate".to_owned(),
        label: format!("scope {slot}"),
        why: String::new(),
        focus: String::new(),
        parts: vec![DiffPart::whole("a.rs")],
    });
    let titled = |(number, severity): (usize, &Severity)| {
        Member::new("delegate", finding(*severity, &format!("finding {slot}.{number}")))
    };
    record.members = (1..).zip(severities).map(titled).collect();
    record
}

/// A board with a P0 and a P2 of one sub-agent, and a P1 of another.
fn board() -> Board {
    let mut board = Board::default();
    board.begin(Delegation::First);
    board.add_record(1, record(1, &[Severity::P0, Severity::P2]));
    board.add_record(2, record(2, &[Severity::P1]));
    let shown_ids = [(1, 1), (1, 2), (2, 1)].map(|(slot, number)| FindingId { slot, number });
    board.mark_answered(shown_ids);
    board
}

/// A submission. Words of `keep` are groups, with ids joined by `+`.
fn submission(keep: &str, drop: &str) -> SubmitReview {
    let group = |ids: &str| KeptGroup {
        findings: ids.split('+').map(str::to_owned).collect(),
        ..KeptGroup::default()
    };
    let drop = drop
        .split_whitespace()
        .map(|id| DropWanted { id: id.to_owned(), reason: "not so".to_owned() });
    SubmitReview {
        keep: keep.split_whitespace().map(group).collect(),
        drop: drop.collect(),
        summary: " done ".to_owned(),
    }
}

/// Shows the groups of a submission, or the error.
fn check(keep: &str, drop: &str, expected: Expect) {
    let actual = match board().parse_submission(&submission(keep, drop)) {
        Err(message) => message,
        Ok(submission) => submission.groups.iter().map(show_group).collect(),
    };
    expected.assert_eq(&actual);
}

fn show_group(group: &EditedGroup) -> String {
    let titles: Vec<&str> =
        group.members.iter().map(|member| member.finding.title.as_str()).collect();
    format!("{} {}: {:?}\n", titles.join(" + "), group.severity, group.judgement)
}

#[test]
fn dropped_findings_are_refuted_with_the_reason() {
    check(
        "1.2 2.1",
        "1.1",
        expect![[r#"
            finding 1.2 P2: Probable(Confidence(750))
            finding 2.1 P1: Probable(Confidence(750))
            finding 1.1 P0: Refuted("not so")
        "#]],
    );
    check(
        "1.1 1.2 2.1",
        "",
        expect![[r#"
            finding 1.1 P0: Probable(Confidence(750))
            finding 1.2 P2: Probable(Confidence(750))
            finding 2.1 P1: Probable(Confidence(750))
        "#]],
    );
    check(
        "",
        "2.1 1.1 1.2",
        expect![[r#"
            finding 2.1 P1: Refuted("not so")
            finding 1.1 P0: Refuted("not so")
            finding 1.2 P2: Refuted("not so")
        "#]],
    );
}

#[test]
fn unknown_id_is_refused() {
    check("1.1 1.2 2.1 3.1", "", expect!["there is no finding `3.1`; there are: 1.1, 1.2, 2.1"]);
    check("1.1 1.2 2.1", "1.3", expect!["there is no finding `1.3`; there are: 1.1, 1.2, 2.1"]);
    check("1.1 1.2 2.1 all", "", expect!["there is no finding `all`; there are: 1.1, 1.2, 2.1"]);
}

#[test]
fn id_must_be_kept_or_dropped_but_not_both() {
    check("1.1 1.2 2.1", "2.1", expect!["`2.1` is in `keep` and in `drop`: decide on one"]);
    check("2.1", "", expect!["neither in `keep` nor in `drop`: 1.1, 1.2"]);
    check("1.1+1.2 2.1+1.1", "", expect!["`1.1` is in more than one group of `keep`"]);
}

#[test]
fn drop_requires_a_reason() {
    let mut submitted = submission("1.1 1.2", "2.1");
    submitted.drop[0].reason = " \n".to_owned();
    assert_eq!(board().parse_submission(&submitted), Err("say why `2.1` is dropped".to_owned()));
}

#[test]
fn submission_before_delegation_is_refused() {
    let message = "nothing has been reviewed yet: call `delegate_review` first";
    let mut board = Board::default();
    assert_eq!(board.parse_submission(&submission("", "")), Err(message.to_owned()));
    board.begin(Delegation::First);
    assert_eq!(board.parse_submission(&submission("", "")), Err(message.to_owned()));
    board.mark_answered([]);
    assert!(board.parse_submission(&submission("", "")).is_ok());
}

/// The reply to a delegation of scopes that confirm these ids.
fn delegation(board: &Board, scopes: &[&str]) -> String {
    let scope = |ids: &&str| ScopeWanted {
        scope: "callers".to_owned(),
        files: vec!["a.rs".to_owned()],
        focus: None,
        confirms: Some(ids.split_whitespace().map(str::to_owned).collect()),
    };
    let scopes: Vec<ScopeWanted> = scopes.iter().map(scope).collect();
    match board.check_delegation(&scopes) {
        Ok(delegation) => format!("{delegation:?}"),
        Err(message) => message,
    }
}

#[test]
fn work_is_delegated_once() {
    let mut board = Board::default();
    assert_eq!(delegation(&board, &[""]), "First");
    board.begin(Delegation::First);
    expect!["delegate once: all scopes go into one call"].assert_eq(&delegation(&board, &[""]));
    board.add_record(1, record(1, &[Severity::P1]));
    board.mark_answered([FindingId { slot: 1, number: 1 }]);
    expect!["the change has been delegated, and there is no P0 to confirm: call `submit_review`"]
        .assert_eq(&delegation(&board, &["1.1"]));
}

#[test]
fn second_delegation_only_confirms_p0() {
    let mut board = board();
    expect!["a second delegation only confirms P0 findings: say in `confirms` of scope `callers` which (1.1), or call `submit_review`"].assert_eq(&delegation(&board, &["1.1", ""]));
    expect!["`1.2` is no P0 finding; these are: 1.1"].assert_eq(&delegation(&board, &["1.1 1.2"]));
    expect!["`9.9` is no P0 finding; these are: 1.1"].assert_eq(&delegation(&board, &["9.9"]));
    expect!["say in `scopes` which P0 is to be confirmed where: 1.1"]
        .assert_eq(&delegation(&board, &[]));
    assert_eq!(delegation(&board, &["1.1"]), "Confirming");
    board.begin(Delegation::Confirming);
    expect!["there is no third delegation: decide about what was found with `submit_review`"]
        .assert_eq(&delegation(&board, &["1.1"]));
}

#[test]
fn too_many_scopes_are_refused() {
    let many = vec![""; SCOPES_MAX + 1];
    expect!["65 scopes are too many: group files that belong together into 64 or fewer"]
        .assert_eq(&delegation(&Board::default(), &many));
    assert_eq!(delegation(&Board::default(), &many[1..]), "First");
}

proptest! {
    /// For any submission, no finding is invented or lost.
    #[test]
    fn orchestrator_cannot_invent_or_lose_findings(
        keep in prop::collection::vec((0_u32..4, 0_usize..4), 0..6),
        drop in prop::collection::vec((0_u32..4, 0_usize..4), 0..6),
    ) {
        let words = |ids: &[(u32, usize)]| {
            ids.iter().map(|(slot, number)| format!("{slot}.{number}")).collect::<Vec<_>>().join(" ")
        };
        let Ok(submission) = board().parse_submission(&submission(&words(&keep), &words(&drop))) else {
            return Ok(());
        };
        let members = submission.groups.iter().flat_map(|group| &group.members);
        let mut titles: Vec<&String> = members.map(|member| &member.finding.title).collect();
        titles.sort();
        prop_assert_eq!(titles, ["finding 1.1", "finding 1.2", "finding 2.1"]);
    }
}
