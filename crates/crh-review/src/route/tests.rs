//! All combinations of class and owner, and all actions.

use expect_test::expect;

use super::*;
use crate::finding::tests_support::finding;

const CLASSES: [AutofixClass; 4] =
    [AutofixClass::SafeAuto, AutofixClass::GatedAuto, AutofixClass::Manual, AutofixClass::Advisory];
const OWNERS: [Owner; 4] =
    [Owner::ReviewFixer, Owner::DownstreamResolver, Owner::Human, Owner::Release];

#[test]
fn every_class_and_owner_has_a_queue() {
    let mut table = String::new();
    for class in CLASSES {
        for owner in OWNERS {
            table += &format!("{class} -> {owner}: {}\n", queue_for(class, owner));
        }
    }
    expect![[r#"
        safe_auto -> review-fixer: fixer
        safe_auto -> downstream-resolver: residual
        safe_auto -> human: report
        safe_auto -> release: report
        gated_auto -> review-fixer: residual
        gated_auto -> downstream-resolver: residual
        gated_auto -> human: report
        gated_auto -> release: report
        manual -> review-fixer: residual
        manual -> downstream-resolver: residual
        manual -> human: report
        manual -> release: report
        advisory -> review-fixer: report
        advisory -> downstream-resolver: report
        advisory -> human: report
        advisory -> release: report
    "#]]
    .assert_eq(&table);
}

#[test]
fn action_depends_on_class_and_fix() {
    let action_with = |class, suggested_fix: Option<&str>, replacement: Option<&str>| {
        action_for(&Finding {
            autofix_class: class,
            suggested_fix: suggested_fix.map(str::to_owned),
            replacement: replacement.map(str::to_owned),
            ..finding()
        })
    };
    assert_eq!(action_with(AutofixClass::Advisory, Some("x"), None), Action::Acknowledge);
    assert_eq!(action_with(AutofixClass::Manual, Some("x"), None), Action::Apply);
    assert_eq!(action_with(AutofixClass::GatedAuto, None, Some("x")), Action::Apply);
    assert_eq!(action_with(AutofixClass::Manual, None, None), Action::Defer);
}

/// Only a fix in words depends on the owner: crh has no fixer for a person or a release.
#[test]
fn owner_changes_only_the_action_for_a_fix_in_words() {
    for (owner, class) in OWNERS.into_iter().flat_map(|owner| CLASSES.map(|class| (owner, class))) {
        let member = |replacement: Option<&str>| {
            let replacement = replacement.map(str::to_owned);
            Member::new("r", Finding { autofix_class: class, owner, replacement, ..finding() })
        };
        let action = |members: &[&Member]| {
            let replacement = members[0].finding.replacement.as_deref();
            issue_action(&IssueRoute::from_members(members), replacement)
        };
        let (exact, other, without) = (member(Some("x")), member(Some("y")), member(None));
        let mut in_words = member(None);
        in_words.finding.suggested_fix = Some("Check the length.".to_owned());
        let (with_fix, without_fix) = match class {
            AutofixClass::Advisory => (Action::Acknowledge, Action::Acknowledge),
            AutofixClass::SafeAuto | AutofixClass::GatedAuto | AutofixClass::Manual => {
                (Action::Apply, Action::Defer)
            }
        };
        let with_words = match owner {
            Owner::ReviewFixer | Owner::DownstreamResolver => with_fix,
            Owner::Human | Owner::Release => without_fix,
        };
        assert_eq!(action(&[&exact]), with_fix, "{class} {owner}");
        assert_eq!(action(&[&in_words]), with_words, "{class} {owner}");
        assert_eq!(action(&[&without]), without_fix, "{class} {owner}");
        assert_eq!(action(&[&exact, &without]), without_fix, "{class} {owner}");
        assert_eq!(action(&[&exact, &other]), Action::Skip, "{class} {owner}");
    }
}

/// For every pair of routes that ask for work, the more cautious one wins; advisory routes do not
/// count.
#[test]
fn more_cautious_of_two_routes_wins() {
    let all = CLASSES.iter().flat_map(|class| OWNERS.map(|owner| (*class, owner)));
    for (left, right) in all.clone().flat_map(|left| all.clone().map(move |right| (left, right))) {
        let member = |(autofix_class, owner)| {
            Member::new("r", Finding { autofix_class, owner, ..finding() })
        };
        let members = [member(left), member(right)];
        let route = IssueRoute::from_members(&[&members[0], &members[1]]);
        let working: Vec<_> = [left, right]
            .into_iter()
            .filter(|(class, _)| *class != AutofixClass::Advisory)
            .collect();
        let decides = if working.is_empty() { vec![left, right] } else { working };
        let disputed = decides.len() == 1;
        let class = decides.iter().map(|(class, _)| *class).max().unwrap();
        let expected = if disputed { class.max(AutofixClass::GatedAuto) } else { class };
        assert_eq!(route.class, expected, "{left:?} and {right:?}");
        assert_eq!(Some(route.owner), decides.iter().map(|(_, owner)| *owner).max());
        assert_eq!(route.queue, queue_for(route.class, route.owner));
    }
}

#[test]
fn empty_replacement_is_safe_only_if_words_ask_to_delete() {
    let class_of = |title: &str, suggested_fix: Option<&str>| {
        let member = Member::new(
            "r",
            Finding {
                title: title.to_owned(),
                suggested_fix: suggested_fix.map(str::to_owned),
                replacement: Some(String::new()),
                autofix_class: AutofixClass::SafeAuto,
                ..finding()
            },
        );
        IssueRoute::from_members(&[&member]).class
    };
    assert_eq!(class_of("The count is ignored", Some("Multiply.")), AutofixClass::GatedAuto);
    assert_eq!(class_of("The count is ignored", None), AutofixClass::GatedAuto);
    assert_eq!(class_of("The count is ignored", Some("Remove it.")), AutofixClass::SafeAuto);
    assert_eq!(class_of("Unused import", None), AutofixClass::SafeAuto);
}
