use super::*;
use crate::history::tests::{issue, outcome, review};
use crate::history::{DismissalQuote, ReviewEntry};
use crate::lesson::{LessonState, Lessons};
use crh_review::finding::Category;

const TODAY: &str = "2026-11-18";

fn dismissed(proposal: &str, key: &str, reason: &str, title: &str) -> OutcomeEntry {
    OutcomeEntry {
        by: "alice".to_owned(),
        url: format!("https://forge.example/o/r/pull/{proposal}#c1"),
        quote: Some(DismissalQuote { reason: reason.to_owned(), title: title.to_owned() }),
        ..outcome(proposal, key, OutcomeKind::Dismissed)
    }
}

fn history(reviews: Vec<ReviewEntry>, outcomes: Vec<OutcomeEntry>) -> History {
    let outcomes = outcomes.into_iter().map(|it| ((it.proposal.clone(), it.key.clone()), it));
    History { reviews, outcomes: outcomes.collect(), unreadable: 0 }
}

#[test]
fn dismissal_with_a_reason_becomes_an_unconfirmed_lesson() {
    let rule = Some("leftovers/print");
    let reviews = vec![review("1", "r1", vec![issue("k", rule, "Print left")])];
    let outcomes = vec![dismissed("1", "k", "Prints are the output.", "Print left")];
    let proposals = from_dismissals(&history(reviews, outcomes), TODAY);
    let [LessonProposal { lesson, evidence }] = proposals.as_slice() else {
        panic!("{proposals:?}")
    };
    assert_eq!(lesson.paths, ["tools/*.py"]);
    assert_eq!((lesson.rule.as_deref(), lesson.title.as_deref()), (rule, None));
    assert_eq!(lesson.text, "Prints are the output.");
    assert_eq!(lesson.state(TODAY), LessonState::Unconfirmed);
    assert_eq!(lesson.expires, "2027-11-18");
    assert_eq!(
        evidence,
        &[
            "`alice` dismissed \"Print left\" in `tools/report.py`: Prints are the output. (https://forge.example/o/r/pull/1#c1)"
        ]
    );
    Lessons::new("f", vec![lesson.clone()]).unwrap();
}

#[test]
fn second_occurrence_in_another_proposal_confirms() {
    let title = "Print left";
    let reviews = vec![
        review("1", "r1", vec![issue("k", None, title)]),
        review("2", "r2", vec![issue("l", None, title)]),
    ];
    let outcomes = vec![
        dismissed("1", "k", "Prints are output.", title),
        dismissed("2", "l", "Prints are output here, too.", "print LEFT"),
    ];
    let proposals = from_dismissals(&history(reviews, outcomes), TODAY);
    assert_eq!(proposals.len(), 1);
    assert_eq!(proposals[0].lesson.state(TODAY), LessonState::Active);
    assert_eq!(proposals[0].lesson.title.as_deref(), Some("print LEFT"));
}

#[test]
fn dismissals_without_words_give_no_lesson() {
    let reviews = vec![review("1", "r1", vec![issue("k", None, "t"), issue("l", None, "u")])];
    let outcomes = vec![
        outcome("1", "k", OutcomeKind::Dismissed),
        OutcomeEntry { kind: OutcomeKind::Ignored, ..dismissed("1", "l", "why", "u") },
    ];
    assert_eq!(from_dismissals(&history(reviews, outcomes), TODAY), []);
}

#[test]
fn dismissed_credential_or_injection_only_informs() {
    for (rule, category) in [
        (Some("secrets/github-token"), Category::Security),
        (Some("injection/instruction"), Category::Security),
        (None, Category::Security),
    ] {
        let issue = IssueEntry { category, ..issue("k", rule, "t") };
        let reviews = vec![review("1", "r1", vec![issue])];
        let outcomes = vec![dismissed("1", "k", "It is an example.", "t")];
        let proposals = from_dismissals(&history(reviews, outcomes), TODAY);
        let lesson = &proposals[0].lesson;
        assert_eq!((&lesson.rule, &lesson.title), (&None, &None), "{rule:?}");
    }
}

#[test]
fn repeated_repairs_of_a_folder_become_one_lesson() {
    let repair = |index: usize, file: &str| RepairCommit {
        commit: format!("{index:040x}"),
        subject: format!("fix: time zone {index}"),
        author: "Alice".to_owned(),
        day: "2026-01-01".to_owned(),
        files: vec![file.to_owned(), "CHANGELOG.md".to_owned()],
    };
    let two: Vec<RepairCommit> = (0..2).map(|index| repair(index, "src/time/zone.rs")).collect();
    assert_eq!(from_repairs(&two, TODAY), []);
    let mut three = two.clone();
    three.push(repair(2, "src/time/day.rs"));
    let proposals = from_repairs(&three, TODAY);
    let paths: Vec<&String> = proposals.iter().flat_map(|it| &it.lesson.paths).collect();
    assert_eq!(paths, ["/CHANGELOG.md", "src/time/*.rs"]);
    let lesson = &proposals[1].lesson;
    assert!(lesson.rule.is_none() && lesson.title.is_none(), "it holds nothing back");
    let lessons = proposals.iter().map(|it| it.lesson.clone()).collect();
    Lessons::new("f", lessons).unwrap();
}

#[test]
fn subjects_of_repairs_are_recognised() {
    for subject in ["fix: a", "Fixes #3", "Revert \"x\"", "parser: fix crash", "hotfix login"] {
        assert!(is_repair(subject), "{subject}");
    }
    for subject in ["add fixtures", "prefix names", "docs: describe fixing", ""] {
        assert!(!is_repair(subject), "{subject}");
    }
}

#[test]
fn documents_that_name_files_become_lessons() {
    let document = SolutionDocument {
        path: "docs/solutions/retry.md".to_owned(),
        title: "Retry storms".to_owned(),
        files: vec!["src/retry.rs".to_owned()],
        day: "2026-05-01".to_owned(),
    };
    let without = SolutionDocument { files: Vec::new(), ..document.clone() };
    let proposals = from_documents(&[document, without], TODAY);
    assert_eq!(proposals.len(), 1);
    assert_eq!(
        proposals[0].lesson.text,
        "Solved before, see docs/solutions/retry.md: Retry storms"
    );
    Lessons::new("f", vec![proposals[0].lesson.clone()]).unwrap();
}

#[test]
fn patterns_match_odd_paths_only() {
    for (file, glob) in [("a[1]/b*.rs", "a[[]1[]]/*.rs"), ("Makefile", "/Makefile"), ("a/b", "a/*")]
    {
        assert_eq!(folder_glob(file), glob);
        assert!(crh_git::PathGlobs::new([glob]).unwrap().is_match(file.as_bytes()), "{glob}");
    }
}

fn comment(proposal: u64, by: &str, file: &str, body: &str) -> ReviewComment {
    ReviewComment {
        proposal,
        by: by.to_owned(),
        file: file.to_owned(),
        body: body.to_owned(),
        url: format!("https://forge.example/o/r/pull/{proposal}#r1"),
        day: "2026-11-01".to_owned(),
    }
}

#[test]
fn merge_commits_of_all_forges_name_their_proposal() {
    for (subject, body, number) in [
        ("Merge pull request #12 from a/b", "", Some(12)),
        ("Merge pull request 'Add totals' (#13) from b into main", "", Some(13)),
        ("Add totals (#14)", "", Some(14)),
        ("Merge branch 'b' into 'main'", "Add totals\n\nSee merge request o/r!15", Some(15)),
        ("Revert (#1) again", "", None),
        ("Add totals", "See (#3)", None),
        ("Add totals (#0)", "", None),
        ("Add totals (#99999999999999999999)", "", None),
    ] {
        assert_eq!(merged_proposal(subject, body), number, "{subject}");
    }
}

#[test]
fn comment_that_states_a_custom_is_proposed_once() {
    let proposals = from_comments(
        &[
            comment(1, "ann", "shop/a.py", "Nice. We always use Decimal for money."),
            comment(2, "bob", "tax/b.py", "> never mind\nWe always use Decimal for money!"),
        ],
        "2026-11-18",
    );
    let [LessonProposal { lesson, evidence }] = proposals.as_slice() else {
        panic!("{proposals:#?}");
    };
    assert_eq!(lesson.text, "We always use Decimal for money.");
    assert_eq!(lesson.paths, ["shop/*.py", "tax/*.py"]);
    assert_eq!((&lesson.rule, &lesson.title, &lesson.confirmed_by), (&None, &None, &None));
    assert_eq!(evidence.len(), 2);
    assert!(evidence[1].starts_with("`bob` wrote in `tax/b.py`: "), "{evidence:?}");
}

#[test]
fn weak_rule_needs_two_proposals() {
    let weak = "Please use the logger instead of print.";
    let count = |comments: &[ReviewComment]| from_comments(comments, "2026-11-18").len();
    assert_eq!(count(&[comment(1, "a", "a.py", weak), comment(1, "a", "b.py", weak)]), 0);
    assert_eq!(count(&[comment(1, "a", "a.py", weak), comment(2, "a", "b.py", weak)]), 1);
}

#[test]
fn chatter_questions_quotes_and_code_are_no_rules() {
    for body in [
        "Thanks, looks good to me now.",
        "Should we always use Decimal here?",
        "> We always use Decimal for money.",
        "```\nnever do this at home, please\n```",
        "<!-- we must always approve this change -->",
        "never mind",
    ] {
        assert_eq!(from_comments(&[comment(1, "a", "a.py", body)], "2026-11-18"), [], "{body}");
    }
}
