//! Tests of the search for documents.

use super::*;

const PLANS: &[&str] = &[
    "docs/plans/2026-01-05-onboarding-skill.md",
    "docs/plans/2026-02-01-onboarding-skill-checks.md",
    "docs/plans/2026-03-01-payload-limits.md",
    "docs/plans/refunds.md",
    "docs/plans/refunds.txt",
];

/// Result as `source path`, with notes.
fn search_result(title: &str, body: &str, branch: &str) -> String {
    search_in(DescriptionSource::Proposal, title, body, branch)
}

fn search_in(body_source: DescriptionSource, title: &str, body: &str, branch: &str) -> String {
    let plans: Vec<String> = PLANS.iter().map(|path| (*path).to_owned()).collect();
    let clues =
        RequirementsClues { explicit: None, title, body, body_source, branch, plans: &plans };
    let RequirementsSearch { document, notes } =
        discover(&clues, |_| Some("# Requirements\n- R1: it\n".to_owned()));
    let document = document.map(|plan| format!("{} {}", plan.source, plan.path));
    document.into_iter().chain(notes).collect::<Vec<_>>().join("; ")
}

#[test]
fn explicit_document_wins() {
    let clues = RequirementsClues {
        explicit: Some(("plans/mine.md", "# Requirements\n- R1: it\n")),
        title: "",
        body: "docs/plans/refunds.md",
        body_source: DescriptionSource::Proposal,
        branch: "refunds",
        plans: &["docs/plans/refunds.md".to_owned()],
    };
    let document = discover(&clues, |_| None).document.unwrap();
    assert_eq!((document.path.as_str(), document.source), ("plans/mine.md", PlanSource::Explicit));
    assert_eq!(document.items.len(), 1);
}

#[test]
fn existing_link_in_description_is_explicit() {
    let check =
        |body: &str, expected: &str| assert_eq!(search_result("Pay", body, ""), expected, "{body}");
    let refunds = "explicit docs/plans/refunds.md";
    check("Plan: docs/plans/refunds.md.", refunds);
    check("Plan:docs/plans/refunds.md", refunds);
    check("[plan](./docs/plans/refunds.md), `docs/plans/refunds.md`", refunds);
    check("https://forge.example/o/r/blob/main/docs/plans/refunds.md#L3", refunds);
    check(
        "docs/plans/gone.md",
        "the description names the plan `docs/plans/gone.md`, which does not exist",
    );
    for other in [
        "packages/a/docs/plans/refunds.md",
        "docs/plans/old/refunds.md",
        "docs/plans/refunds.mdx",
        "docs/plans/refunds.txt",
        "docs/plans/.md",
        "docs/plans/",
        "",
    ] {
        check(other, "");
    }
}

#[test]
fn plan_mentioned_in_a_commit_message_is_inferred() {
    let check = |body: &str, expected: &str| {
        assert_eq!(search_in(DescriptionSource::Commits, "Pay", body, ""), expected, "{body}");
    };
    let (explicit, inferred) = ("explicit docs/plans/refunds.md", "inferred docs/plans/refunds.md");
    check("This follows up on docs/plans/refunds.md in part.", inferred);
    check("See `docs/plans/refunds.md`.", inferred);
    check("Plan: the part of docs/plans/refunds.md that is left", inferred);
    check("Body.\n\nPlan: docs/plans/refunds.md", explicit);
    check("plan: `./docs/plans/refunds.md`.", explicit);
    check(
        "- Move docs/plans/2026-03-01-payload-limits.md\n\nPlan: docs/plans/refunds.md",
        explicit,
    );
}

#[test]
fn plan_in_a_title_counts_like_one_in_the_description() {
    let check = |body_source, title: &str, body: &str, expected: &str| {
        assert_eq!(search_in(body_source, title, body, ""), expected, "{title}");
    };
    let (explicit, inferred) = ("explicit docs/plans/refunds.md", "inferred docs/plans/refunds.md");
    let commits = DescriptionSource::Commits;
    check(commits, "Implement docs/plans/refunds.md", "", inferred);
    check(commits, "Follow up on docs/plans/refunds.md in part", "Body.", inferred);
    check(commits, "Implement docs/plans/refunds.md", "Plan: docs/plans/refunds.md", explicit);
    check(commits, "Plan: docs/plans/refunds.md", "", explicit);
    // The title says which of several plans it is about.
    let limits = "See docs/plans/2026-03-01-payload-limits.md.";
    check(commits, "Implement docs/plans/refunds.md", limits, inferred);
    check(DescriptionSource::Proposal, "Implement docs/plans/refunds.md", "", explicit);
}

#[test]
fn newest_matching_link_of_several_is_inferred() {
    let two_links = "docs/plans/2026-02-01-onboarding-skill-checks.md replaces docs/plans/2026-01-05-onboarding-skill.md, see docs/plans/2026-03-01-payload-limits.md";
    let checks = "inferred docs/plans/2026-02-01-onboarding-skill-checks.md";
    assert_eq!(search_result("Skill for onboarding", two_links, ""), checks);
    assert_eq!(search_result("Update", two_links, "me/onboarding"), checks);
    assert_eq!(
        search_result("Update the review", two_links, "fix/pay"),
        "the description names 3 plans, none of which matches its title"
    );
    assert_eq!(
        search_result("Pay", "docs/plans/a.md docs/plans/b.md", ""),
        "the description names 2 plans, none of which exists"
    );
    assert_eq!(
        search_result("Refunds", "docs/plans/gone.md docs/plans/refunds.md", ""),
        "inferred docs/plans/refunds.md"
    );
}

#[test]
fn branch_match_must_be_unique() {
    let check = |branch: &str, expected: &str| {
        assert_eq!(search_result("", "", branch), expected, "{branch}");
    };
    check(
        "feat/onboarding-skill-check",
        "inferred docs/plans/2026-02-01-onboarding-skill-checks.md",
    );
    check("feat/Refund", "inferred docs/plans/refunds.md");
    // Two plans have both words.
    check("feat/onboarding-skill", "");
    // `pay` does not match `payload-limits`.
    check("fix/pay", "");
    check("fix/update-review", "");
    check("main", "");
    check("", "");
    check("issue-42", "");
    // A stale link does not prevent a match by branch name.
    assert_eq!(
        search_result("", "docs/plans/gone.md", "refunds"),
        "inferred docs/plans/refunds.md; the description names the plan `docs/plans/gone.md`, which does not exist"
    );
}

#[test]
fn unreadable_document_is_noted() {
    let plans = ["docs/plans/refunds.md".to_owned()];
    let clues = RequirementsClues {
        explicit: None,
        title: "",
        body: "",
        body_source: DescriptionSource::Proposal,
        branch: "refunds",
        plans: &plans,
    };
    let search = discover(&clues, |_| None);
    assert_eq!(search.document, None);
    assert_eq!(search.notes, ["the plan `docs/plans/refunds.md` could not be read"]);
}

#[test]
fn generic_words_are_sorted() {
    assert!(GENERIC_WORDS.is_sorted());
}
