//! What is kept is read back, from our own summary alone.

use serde_json::json;

use super::*;
use crate::github::Account;
use crh_review::finding::Side;
use crh_review::identity::{review_marker, summary_marker};

fn quote(snippet: &str) -> Quote {
    Quote { file: "a.rs".to_owned(), side: Side::New, line: 3, snippet: snippet.to_owned() }
}

fn state(issues: usize) -> State {
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
    State {
        version: VERSION,
        review_id: "id".to_owned(),
        base: "b".to_owned(),
        head: "h".to_owned(),
        basis: Basis {
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

fn standing(author: u64, last_line: &str) -> Standing {
    let body = format!(
        "{}\r\n{}\r\n## Ready to merge\r\n\r\n{last_line}\r\n",
        review_marker("id"),
        summary_marker("crh")
    );
    let author = Some(Account { id: author, login: "x".to_owned() });
    let mut standing = Standing::default();
    standing.viewer.id = 7;
    standing.comments = vec![TopComment { id: 1, author, body, ..TopComment::default() }];
    standing
}

#[test]
fn what_is_kept_is_read_back() {
    let kept = line("crh", &state(3)).unwrap();
    assert_eq!(kept.matches("-->").count(), 1, "{kept}");
    assert_eq!(last_state(&standing(7, &kept), "crh"), Ok(state(3)));
}

#[test]
fn what_others_wrote_or_damaged_is_not_believed() {
    let kept = line("crh", &state(1)).unwrap();
    assert_eq!(last_state(&standing(8, &kept), "crh"), Err(NoState::NoReview));
    assert_eq!(last_state(&standing(7, &kept), "other"), Err(NoState::NoReview));
    assert_eq!(last_state(&standing(7, "no state"), "crh"), Err(NoState::NotKept));
    let other = line("other", &state(1)).unwrap();
    assert_eq!(last_state(&standing(7, &other), "crh"), Err(NoState::NotKept));
    for cut in [10, 60, kept.len() - 10] {
        let damaged = format!(
            "<!-- crh:crh:state:{} -->",
            &kept["<!-- crh:crh:state:".len()..][..cut.min(kept.len() - 30)]
        );
        assert_eq!(last_state(&standing(7, &damaged), "crh"), Err(NoState::Damaged), "{damaged}");
    }
    let new = line("crh", &State { version: VERSION + 1, ..state(1) }).unwrap();
    assert_eq!(last_state(&standing(7, &new), "crh"), Err(NoState::OtherVersion));
}

#[test]
fn what_is_too_long_is_not_kept() {
    assert!(line("crh", &state(40)).is_some());
    assert_eq!(line("crh", &state(400)), None);
}

#[test]
fn reasons_are_the_first_to_go() {
    let kept = |issues: usize| {
        let mut state = state(issues);
        for issue in &mut state.issues {
            issue.why = "w".repeat(WHY_KEPT);
        }
        last_state(&standing(7, &line("crh", &state).unwrap()), "crh").unwrap()
    };
    assert_eq!(kept(20).issues[19].why.len(), WHY_KEPT);
    let brief = kept(40);
    assert_eq!((brief.issues.len(), brief.issues[39].why.as_str()), (40, ""));
}

#[test]
fn as_many_lines_of_a_quote_are_kept_as_prove_something() {
    let check = |snippet: &str, expected: &str| {
        assert_eq!(kept_quote(&quote(snippet)), quote(expected), "{snippet}");
    };
    check("let total = 1;", "let total = 1;");
    check("let total = 1;\nlet other = 2;", "let total = 1;");
    check("}\n\nlet other = 2;\nmore", "}\n\nlet other = 2;");
    check("{\n{\n{\nlet other = 2;", "{\n{\n{");
    check(&"設".repeat(400), &"設".repeat(QUOTE_KEPT));
}
