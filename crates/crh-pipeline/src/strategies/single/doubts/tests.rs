use super::super::sample::{member, request};
use super::*;
use crh_review::finding::Severity::{P0, P1, P2, P3};

/// What is looked at again, as `id title: doubts`.
fn check(
    members: &[Member],
    thin: &[Option<String>],
    requests: &[ContextRequest],
    validation: Validation,
    expected: &[&str],
) {
    let is_changed = |path: &str| path == "a.py";
    let found = candidates(members, thin, requests, is_changed, validation);
    let word = |doubt: &Doubt| match doubt {
        Doubt::LowConfidence(_) => "low",
        Doubt::ThinEvidence(_) => "thin",
        Doubt::CrossFile => "elsewhere",
        Doubt::Severe => "severe",
    };
    let shown = found.iter().map(|one| {
        let doubts: Vec<_> = one.doubts.iter().map(word).collect();
        format!("{} {}: {}", one.id, members[one.at].finding.title, doubts.join(" "))
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_sure_proven_and_about_the_change_alone_is_not_looked_at_again() {
    let members = [member("a", P0, 650), member("b", P3, 1000)];
    let read = request("read_file", json!({ "path": "a.py" }), Some(0));
    check(&members, &[None, None], &[read], Validation::Follows, &[]);
}

#[test]
fn low_confidence_thin_evidence_and_other_files_each_are_a_reason() {
    let mut contract = member("contract", P2, 900);
    contract.finding.category = Category::ApiContract;
    let members = [
        member("guess", P2, 649),
        member("unproven", P2, 900),
        member("reads", P2, 900),
        member("searches", P2, 900),
        member("calls", P2, 900),
        contract,
        member("fine", P2, 900),
    ];
    let mut thin = vec![None; 7];
    thin[1] = Some("the quote is too short".to_owned());
    let requests = [
        request("read_file", json!({ "path": "b.py" }), Some(2)),
        request("search_code", json!({ "query": "total" }), Some(3)),
        request("get_function_context", json!({ "path": "b.py", "function_name": "f" }), Some(4)),
        request("run_ruff", json!({ "path": "a.py" }), Some(6)),
    ];
    check(
        &members,
        &thin,
        &requests,
        Validation::Follows,
        &[
            "F1 guess: low",
            "F2 unproven: thin",
            "F3 reads: elsewhere",
            "F4 searches: elsewhere",
            "F5 calls: elsewhere",
            "F6 contract: elsewhere",
        ],
    );
}

#[test]
fn the_most_severe_come_first_and_others_in_the_order_of_the_draft() {
    let members = [member("a", P2, 500), member("b", P0, 500), member("c", P2, 250)];
    let expected = ["F1 b: low", "F2 a: low", "F3 c: low"];
    check(&members, &[], &[], Validation::Follows, &expected);
}

#[test]
fn where_nobody_validates_later_severe_findings_are_looked_at_whatever_their_confidence() {
    let members = [member("a", P2, 1000), member("b", P1, 1000), member("c", P0, 500)];
    check(&members, &[], &[], Validation::IsTheRound, &["F1 c: low severe", "F2 b: severe"]);
    check(&members, &[], &[], Validation::Follows, &["F1 c: low"]);
}

#[test]
fn a_suspicion_without_a_finding_counts_if_it_is_about_other_files() {
    let is_changed = |path: &str| path == "a.py";
    let suspects =
        |tool: &str, arguments, at| suspects_elsewhere(&[request(tool, arguments, at)], is_changed);
    assert!(suspects("read_file", json!({ "path": "b.py" }), None));
    assert!(suspects("search_code", json!({ "query": "total" }), None));
    assert!(!suspects("read_file", json!({ "path": "a.py" }), None));
    assert!(!suspects("read_file", json!({ "path": "b.py" }), Some(0)), "it has its finding");
}

#[test]
fn only_severe_findings_below_their_number_are_worth_a_stronger_model() {
    assert!(is_escalated(&[member("a", P3, 900), member("b", P1, 599)]));
    assert!(is_escalated(&[member("a", P0, 0)]));
    assert!(!is_escalated(&[member("a", P1, 600), member("b", P2, 100)]));
}

#[test]
fn the_second_round_is_shown_the_finding_and_why_it_is_in_doubt() {
    let members = [member("a", P1, 500)];
    let doubts = vec![Doubt::LowConfidence(Confidence::thousandths(500)), Doubt::CrossFile];
    let shown = Candidate { id: "F1".to_owned(), at: 0, doubts }.shown(&members);
    assert_eq!(shown["finding"], json!(members[0].finding));
    assert_eq!(
        (&shown["id"], &shown["doubts"]),
        (
            &json!("F1"),
            &json!([
                "your confidence was only 0.50",
                "it may depend on code outside of the change"
            ])
        )
    );
}
