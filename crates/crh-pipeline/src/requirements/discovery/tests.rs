//! Which plan is found: descriptions and branches against the files that are there.

use super::*;

const PLANS: &[&str] = &[
    "docs/plans/2026-01-05-onboarding-skill.md",
    "docs/plans/2026-02-01-onboarding-skill-checks.md",
    "docs/plans/2026-03-01-payload-limits.md",
    "docs/plans/refunds.md",
    "docs/plans/refunds.txt",
];

/// What is found, as `source path`, and the notes.
fn found(title: &str, body: &str, branch: &str) -> String {
    let plans: Vec<String> = PLANS.iter().map(|path| (*path).to_owned()).collect();
    let clues = Clues { explicit: None, title, body, branch, plans: &plans };
    let Discovered { document, notes } =
        discover(&clues, |_| Some("# Requirements\n- R1: it\n".to_owned()));
    let document = document.map(|plan| format!("{} {}", plan.source, plan.path));
    document.into_iter().chain(notes).collect::<Vec<_>>().join("; ")
}

#[test]
fn what_the_caller_names_goes_before_all_else() {
    let clues = Clues {
        explicit: Some(("plans/mine.md", "# Requirements\n- R1: it\n")),
        title: "",
        body: "docs/plans/refunds.md",
        branch: "refunds",
        plans: &["docs/plans/refunds.md".to_owned()],
    };
    let document = discover(&clues, |_| None).document.unwrap();
    assert_eq!((document.path.as_str(), document.source), ("plans/mine.md", PlanSource::Explicit));
    assert_eq!(document.items.len(), 1);
}

#[test]
fn one_plan_in_the_description_is_a_promise_if_it_is_there() {
    let check = |body: &str, expected: &str| assert_eq!(found("Pay", body, ""), expected, "{body}");
    let refunds = "explicit docs/plans/refunds.md";
    check("Plan: docs/plans/refunds.md.", refunds);
    check("Plan:docs/plans/refunds.md", refunds);
    check("[plan](./docs/plans/refunds.md), `docs/plans/refunds.md`", refunds);
    check("https://forge.example/o/r/blob/main/docs/plans/refunds.md#L3", refunds);
    check(
        "docs/plans/gone.md",
        "the description names the plan `docs/plans/gone.md`, which is not there",
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
fn of_several_plans_the_newest_that_fits_is_a_hint() {
    let both = "docs/plans/2026-02-01-onboarding-skill-checks.md replaces docs/plans/2026-01-05-onboarding-skill.md, see docs/plans/2026-03-01-payload-limits.md";
    let checks = "inferred docs/plans/2026-02-01-onboarding-skill-checks.md";
    assert_eq!(found("Skill for onboarding", both, ""), checks);
    assert_eq!(found("Update", both, "me/onboarding"), checks);
    assert_eq!(
        found("Update the review", both, "fix/pay"),
        "the description names 3 plans, and its title fits none of them"
    );
    assert_eq!(
        found("Pay", "docs/plans/a.md docs/plans/b.md", ""),
        "the description names 2 plans, none of which is there"
    );
    assert_eq!(
        found("Refunds", "docs/plans/gone.md docs/plans/refunds.md", ""),
        "inferred docs/plans/refunds.md"
    );
}

#[test]
fn a_branch_names_a_plan_only_if_no_other_fits() {
    let check =
        |branch: &str, expected: &str| assert_eq!(found("", "", branch), expected, "{branch}");
    check(
        "feat/onboarding-skill-check",
        "inferred docs/plans/2026-02-01-onboarding-skill-checks.md",
    );
    check("feat/Refund", "inferred docs/plans/refunds.md");
    // Two plans have both words.
    check("feat/onboarding-skill", "");
    // `pay` is no word of `payload-limits`.
    check("fix/pay", "");
    check("fix/update-review", "");
    check("main", "");
    check("", "");
    check("issue-42", "");
    // A stale link does not keep the branch from being asked.
    assert_eq!(
        found("", "docs/plans/gone.md", "refunds"),
        "inferred docs/plans/refunds.md; the description names the plan `docs/plans/gone.md`, which is not there"
    );
}

#[test]
fn a_plan_that_is_no_text_is_said() {
    let plans = ["docs/plans/refunds.md".to_owned()];
    let clues = Clues { explicit: None, title: "", body: "", branch: "refunds", plans: &plans };
    let found = discover(&clues, |_| None);
    assert_eq!(found.document, None);
    assert_eq!(found.notes, ["the plan `docs/plans/refunds.md` could not be read"]);
}

#[test]
fn generic_words_are_sorted_so_that_they_can_be_searched() {
    assert!(GENERIC.is_sorted());
}
