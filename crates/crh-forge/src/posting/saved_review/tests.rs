//! Saved state is read back, and only from our own summary.

use serde_json::json;

use super::*;
use crate::posting::ForgeUser;
use crh_review::finding::Side;
use crh_review::identity::{review_marker, summary_marker};

fn quote(snippet: &str) -> Quote {
    Quote { file: "a.rs".to_owned(), side: Side::New, line: 3, snippet: snippet.to_owned() }
}

fn state(issues: usize) -> SavedReview {
    let issue = OpenIssue {
        key: "00112233445566aa".to_owned(),
        title: "A title --> with a 設定".to_owned(),
        severity: Severity::P1,
        category: Category::Bug,
        location: Location { file: "a.rs".to_owned(), side: Side::New, line_start: 3, line_end: 4 },
        why: "It is wrong for two items.".to_owned(),
        evidence: vec![quote("let x = 1;")],
        reviewers: vec!["correctness".to_owned()],
        rule: None,
        confidence: serde_json::from_value(json!(0.8)).unwrap(),
        validation: Validation::Confirmed,
        autofix_class: AutofixClass::Manual,
        owner: Owner::Human,
        requires_verification: false,
        since: "abc".to_owned(),
    };
    SavedReview {
        version: VERSION,
        review_id: "id".to_owned(),
        base: "b".to_owned(),
        head: "h".to_owned(),
        basis: ReviewBasis {
            configuration: "c".to_owned(),
            prompt_version: "p".to_owned(),
            reviewers: vec!["secrets".to_owned()],
        },
        models: "m".to_owned(),
        strategy: Strategy::Single,
        complete: true,
        issues: vec![issue; issues],
        withheld: 0,
        refused: vec![],
    }
}

fn pull_with_summary(author: u64, last_line: &str) -> ProposalState {
    let body = format!(
        "{}\r\n{}\r\n## Ready to merge\r\n\r\n{last_line}\r\n",
        review_marker("id"),
        summary_marker("crh")
    );
    let author = Some(ForgeUser::new(author, "x"));
    ProposalState {
        viewer: Some(ForgeUser::new(7, "x")),
        comments: vec![ProposalComment { id: 1, author, body, ..ProposalComment::default() }],
        ..ProposalState::default()
    }
}

#[test]
fn saved_state_is_read_back() {
    let state_line = state_line("crh", &state(3)).unwrap();
    assert_eq!(state_line.matches("-->").count(), 1, "{state_line}");
    assert_eq!(last_saved_review(&pull_with_summary(7, &state_line), "crh"), Ok(state(3)));
}

#[test]
fn foreign_or_damaged_state_is_ignored() {
    let own_line = state_line("crh", &state(1)).unwrap();
    assert_eq!(
        last_saved_review(&pull_with_summary(8, &own_line), "crh"),
        Err(NoSavedReview::NoReview)
    );
    assert_eq!(
        last_saved_review(&pull_with_summary(7, &own_line), "other"),
        Err(NoSavedReview::NoReview)
    );
    assert_eq!(
        last_saved_review(&pull_with_summary(7, "no state"), "crh"),
        Err(NoSavedReview::NoState)
    );
    let foreign_line = state_line("other", &state(1)).unwrap();
    assert_eq!(
        last_saved_review(&pull_with_summary(7, &foreign_line), "crh"),
        Err(NoSavedReview::NoState)
    );
    for cut in [10, 60, own_line.len() - 10] {
        let damaged = format!(
            "<!-- crh:crh:state:{} -->",
            &own_line["<!-- crh:crh:state:".len()..][..cut.min(own_line.len() - 30)]
        );
        assert_eq!(
            last_saved_review(&pull_with_summary(7, &damaged), "crh"),
            Err(NoSavedReview::Damaged),
            "{damaged}"
        );
    }
    let newer_line = state_line("crh", &SavedReview { version: VERSION + 1, ..state(1) }).unwrap();
    assert_eq!(
        last_saved_review(&pull_with_summary(7, &newer_line), "crh"),
        Err(NoSavedReview::OtherVersion)
    );
}

#[test]
fn oversized_state_is_not_saved() {
    assert!(state_line("crh", &state(40)).is_some());
    assert_eq!(state_line("crh", &state(400)), None);
}

#[test]
fn reasons_are_dropped_from_oversized_state() {
    let save_and_load = |issues: usize| {
        let mut state = state(issues);
        for issue in &mut state.issues {
            issue.why = "w".repeat(STORED_REASON_MAX);
        }
        last_saved_review(&pull_with_summary(7, &state_line("crh", &state).unwrap()), "crh")
            .unwrap()
    };
    assert_eq!(save_and_load(20).issues[19].why.len(), STORED_REASON_MAX);
    let large_review = save_and_load(40);
    assert_eq!((large_review.issues.len(), large_review.issues[39].why.as_str()), (40, ""));
}

#[test]
fn quotes_keep_enough_lines_to_match() {
    let check = |snippet: &str, expected: &str| {
        assert_eq!(shortened_quote(&quote(snippet)), quote(expected), "{snippet}");
    };
    check("let total = 1;", "let total = 1;");
    check("let total = 1;\nlet other = 2;", "let total = 1;");
    check("}\n\nlet other = 2;\nmore", "}\n\nlet other = 2;");
    check("{\n{\n{\nlet other = 2;", "{\n{\n{");
    check(&"設".repeat(400), &"設".repeat(STORED_QUOTE_MAX));
}
