use serde_json::json;

use super::*;

pub(crate) fn review(proposal: &str, run: &str, issues: Vec<IssueEntry>) -> ReviewEntry {
    ReviewEntry {
        repo: "o/r".to_owned(),
        proposal: proposal.to_owned(),
        url: format!("https://forge.example/o/r/pull/{proposal}"),
        run: run.to_owned(),
        at: "2026-11-18T00:00:00Z".to_owned(),
        base: "b".repeat(40),
        head: "a".repeat(40),
        strategy: Strategy::Panel,
        models: "m".to_owned(),
        is_complete: true,
        cost_usd: Decimal(250_000),
        seconds: Decimal(30_000_000),
        issues,
    }
}

pub(crate) fn issue(key: &str, rule: Option<&str>, title: &str) -> IssueEntry {
    IssueEntry {
        key: key.to_owned(),
        severity: Severity::P2,
        category: Category::Maintainability,
        rule: rule.map(str::to_owned),
        reviewers: vec!["leftovers".to_owned()],
        validation: Validation::ByCode,
        tier: Tier::Primary,
        confidence: Confidence::thousandths(800),
        probability: None,
        file: "tools/report.py".to_owned(),
        cited: vec![CitedLines { file: "tools/report.py".to_owned(), first: 2, last: 2 }],
        title_hash: title_hash(title),
    }
}

pub(crate) fn outcome(proposal: &str, key: &str, kind: OutcomeKind) -> OutcomeEntry {
    OutcomeEntry {
        key: key.to_owned(),
        proposal: proposal.to_owned(),
        at: "2026-11-18T01:00:00Z".to_owned(),
        kind,
        is_local: false,
        by: String::new(),
        url: String::new(),
        quote: None,
    }
}

#[test]
fn entries_are_stored_once_and_read_back() {
    let state = tempfile::tempdir().unwrap();
    let review = HistoryEntry::Review(review("1", "run1", vec![issue("k", None, "t")]));
    let open = HistoryEntry::Outcome(outcome("1", "k", OutcomeKind::Open));
    let fixed = HistoryEntry::Outcome(outcome("1", "k", OutcomeKind::FixedInPlace));
    let entries = [review.clone(), open.clone()];
    assert_eq!(append(state.path(), "O/R", &entries).unwrap(), 2);
    assert_eq!(append(state.path(), "o/r", &entries).unwrap(), 0, "nothing is new");
    assert_eq!(append(state.path(), "o/r", &[fixed]).unwrap(), 1);
    let history = load(state.path(), "o/r").unwrap();
    assert_eq!(history.reviews.len(), 1);
    assert_eq!(history.outcome_of("1", "k").unwrap().kind, OutcomeKind::FixedInPlace);
    assert_eq!(load_all(state.path()).unwrap(), [history]);
}

#[test]
fn damaged_lines_are_counted_and_kept() {
    let state = tempfile::tempdir().unwrap();
    let path = history_path(state.path(), "o/r");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "{\"entry\":\"from_the_future\"}\n{\"entry\":\"rev").unwrap();
    let entry = HistoryEntry::Review(review("1", "run1", Vec::new()));
    assert_eq!(append(state.path(), "o/r", &[entry]).unwrap(), 1);
    let history = load(state.path(), "o/r").unwrap();
    assert_eq!((history.reviews.len(), history.unreadable), (1, 2));
}

#[test]
fn forgetting_deletes_one_repository_or_all() {
    let state = tempfile::tempdir().unwrap();
    assert_eq!(forget(state.path(), None).unwrap(), 0);
    for repo in ["o/r", "o/s", "o/t"] {
        let entry = HistoryEntry::Review(review("1", "run1", Vec::new()));
        append(state.path(), repo, &[entry]).unwrap();
    }
    assert_eq!(forget(state.path(), Some("o/r")).unwrap(), 1);
    assert_eq!(load(state.path(), "o/r").unwrap(), History::default());
    assert_eq!(forget(state.path(), None).unwrap(), 2);
    assert_eq!(load_all(state.path()).unwrap(), []);
}

#[test]
fn entry_of_an_issue_has_no_words_and_no_code() {
    let issue = json!({
        "number": 1, "dedupe_key": "0123456789abcdef", "title": "Zebra title", "severity": "P1",
        "category": "bug", "file": "a.rs", "side": "new", "line_start": 3, "line_end": 4,
        "confidence": 0.8, "why_it_matters": "zebra why", "description": "zebra text",
        "suggestion": "zebra fix", "evidence_snippet": "let zebra = 1;", "reviewers": ["single"],
        "language": "rust", "tier": "primary", "validation": "confirmed",
        "evidence": [
            { "file": "a.rs", "side": "new", "line": 3, "snippet": "let zebra = 1;" },
            { "file": "b.rs", "side": "new", "line": 7, "snippet": "zebra();\nzebra();" },
        ],
        "autofix_class": "manual", "owner": "human", "queue": "residual", "action": "defer",
        "requires_verification": false, "pre_existing": false, "members": [],
    });
    let issue: Issue = serde_json::from_value(issue).unwrap();
    let entry = IssueEntry::new(&issue);
    let text = stable_json_line(&entry).unwrap().to_lowercase();
    assert!(!text.contains("zebra"), "{text}");
    let cited: Vec<(&str, u32, u32)> =
        entry.cited.iter().map(|it| (it.file.as_str(), it.first, it.last)).collect();
    assert_eq!(cited, [("a.rs", 3, 4), ("b.rs", 7, 8)]);
    assert_eq!(entry.title_hash, title_hash("zebra  TITLE!"));
}

#[test]
fn last_review_says_whether_an_issue_is_gone() {
    let at = |run: &str, head: &str, keys: &[&str]| ReviewEntry {
        head: head.repeat(40),
        ..review("1", run, keys.iter().map(|key| issue(key, None, key)).collect())
    };
    let first = at("run1", "a", &["k", "l"]);
    let raised = |later: Vec<ReviewEntry>| {
        let reviews = [vec![first.clone()], later].concat();
        History { reviews, ..History::default() }.raised_again(&first, &first.issues[0])
    };
    assert_eq!(raised(Vec::new()), RaisedAgain::Unknown);
    assert_eq!(raised(vec![at("run2", "a", &[])]), RaisedAgain::Unknown, "the same head");
    assert_eq!(raised(vec![at("run2", "b", &["l"])]), RaisedAgain::No);
    assert_eq!(raised(vec![at("run2", "b", &["k"])]), RaisedAgain::Yes);
    let partial = ReviewEntry { is_complete: false, ..at("run2", "b", &[]) };
    assert_eq!(raised(vec![partial]), RaisedAgain::Unknown);
}

#[test]
fn undo_takes_back_only_dismissals_of_this_machine() {
    let local = |proposal: &str| OutcomeEntry {
        is_local: true,
        ..outcome(proposal, "k", OutcomeKind::Dismissed)
    };
    let at_forge = OutcomeEntry { by: "ann".to_owned(), is_local: false, ..local("2") };
    let outcomes = [local(""), local("1"), at_forge.clone()];
    let outcomes = outcomes.map(|it| ((it.proposal.clone(), it.key.clone()), it));
    let history = History { outcomes: outcomes.into(), ..History::default() };
    let open = |proposal: &str| HistoryEntry::Outcome(outcome(proposal, "k", OutcomeKind::Open));
    assert_eq!(history.withdrawals("k", "2026-11-18T01:00:00Z"), [open(""), open("1")]);
    assert_eq!(history.forge_dismissal("k"), Some(&at_forge));
    assert_eq!(history.forge_dismissal("l"), None);
}
