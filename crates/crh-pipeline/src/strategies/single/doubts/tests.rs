use super::super::sample::{member, request};
use super::*;
use crh_review::finding::Severity::{P0, P1, P2, P3};

/// Compares candidates as `id title: doubts`.
fn check(
    members: &[Member],
    thin: &[Option<String>],
    requests: &[ContextRequest],
    validation: LaterValidation,
    expected: &[&str],
) {
    let is_changed = |path: &str| path == "a.py";
    let recheck_candidates = candidates(members, thin, requests, is_changed, validation);
    let word = |doubt: &Doubt| match doubt {
        Doubt::LowConfidence(_) => "low",
        Doubt::ThinEvidence(_) => "thin",
        Doubt::CrossFile => "elsewhere",
        Doubt::Severe => "severe",
    };
    let lines = recheck_candidates.iter().map(|one| {
        let doubts: Vec<_> = one.doubts.iter().map(word).collect();
        format!("{} {}: {}", one.id, members[one.index].finding.title, doubts.join(" "))
    });
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}

#[test]
fn confident_proven_local_finding_is_not_rechecked() {
    let members = [member("a", P0, 650), member("b", P3, 1000)];
    let read = request("read_file", json!({ "path": "a.py" }), Some(0));
    check(&members, &[None, None], &[read], LaterValidation::Follows, &[]);
}

#[test]
fn each_doubt_makes_a_candidate() {
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
        LaterValidation::Follows,
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
fn candidates_are_sorted_by_severity() {
    let members = [member("a", P2, 500), member("b", P0, 500), member("c", P2, 250)];
    let expected = ["F1 b: low", "F2 a: low", "F3 c: low"];
    check(&members, &[], &[], LaterValidation::Follows, &expected);
}

#[test]
fn severe_findings_are_rechecked_without_validation() {
    let members = [member("a", P2, 1000), member("b", P1, 1000), member("c", P0, 500)];
    check(
        &members,
        &[],
        &[],
        LaterValidation::OnlyThisRound,
        &["F1 c: low severe", "F2 b: severe"],
    );
    check(&members, &[], &[], LaterValidation::Follows, &["F1 c: low"]);
}

#[test]
fn request_for_other_files_is_a_suspicion() {
    let is_changed = |path: &str| path == "a.py";
    let suspects =
        |tool: &str, arguments, at| suspects_elsewhere(&[request(tool, arguments, at)], is_changed);
    assert!(suspects("read_file", json!({ "path": "b.py" }), None));
    assert!(suspects("search_code", json!({ "query": "total" }), None));
    assert!(!suspects("read_file", json!({ "path": "a.py" }), None));
    assert!(!suspects("read_file", json!({ "path": "b.py" }), Some(0)), "it has its finding");
}

#[test]
fn only_doubtful_severe_findings_are_escalated() {
    assert!(needs_escalation(&[member("a", P3, 900), member("b", P1, 599)]));
    assert!(needs_escalation(&[member("a", P0, 0)]));
    assert!(!needs_escalation(&[member("a", P1, 600), member("b", P2, 100)]));
}

#[test]
fn candidate_shows_finding_and_doubts() {
    let members = [member("a", P1, 500)];
    let doubts = vec![Doubt::LowConfidence(Confidence::thousandths(500)), Doubt::CrossFile];
    let value = RecheckCandidate { id: "F1".to_owned(), index: 0, doubts }.to_json(&members);
    assert_eq!(value["finding"], json!(members[0].finding));
    assert_eq!(
        (&value["id"], &value["doubts"]),
        (
            &json!("F1"),
            &json!([
                "your confidence was only 0.50",
                "it may depend on code outside of the change"
            ])
        )
    );
}
