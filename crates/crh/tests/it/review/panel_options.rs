//! Selection of reviewers by flags, settings and the repository.

use expect_test::{Expect, expect, expect_file};
use serde_json::{Value, json};

use super::panel::no_findings;
use super::script::{finding, reports};
use super::{ReviewFixture, SHOP, items, with_key};
use crh_testkit::FakeModel;

fn model() -> FakeModel {
    FakeModel::answering(no_findings)
}

/// Checks that a review is rejected before any model call.
fn check_refused(args: &[&str], expected: Expect) {
    let (desk, unused_model) = (ReviewFixture::new(), FakeModel::start());
    let reviewed = desk.review(&unused_model, args);
    assert!(desk.runs().is_empty(), "{args:?}");
    expected.assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn reviewers_are_listed_with_reasons() {
    let desk = ReviewFixture::new();
    let listed = |args: &[&str]| {
        let output = desk.crh(&[&["reviewers", "HEAD~1..HEAD"], args].concat()).run();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{args:?}");
        output.stdout
    };
    let text = listed(&[]);
    expect_file!["../../data/panel/reviewers.txt"].assert_eq(&text);
    expect_file!["../../data/panel/reviewers_full.txt"].assert_eq(&listed(&["--depth", "full"]));
    let rows: Value = serde_json::from_str(&listed(&["--format", "json"])).unwrap();
    let first = json!({
        "name": "correctness", "aliases": ["ce-correctness-reviewer"], "runs": true,
        "tier": "strong", "why": "always",
        "lens": "every kind of defect, for every input and state that the changed code will meet",
    });
    assert_eq!(rows[0], first);
    let names = |runs: bool| {
        let rows = items(&rows).iter().filter(move |row| row["runs"] == runs);
        rows.map(|row| super::text(&row["name"])).collect::<Vec<_>>()
    };
    assert_eq!(names(true), ["correctness", "upkeep"]);
    let (running, others) = text.split_once("\n\n").unwrap();
    assert!(names(true).iter().all(|name| running.contains(name)), "{text}");
    assert!(names(false).iter().all(|name| others.contains(name)), "{text}");
    assert_eq!(names(true).len() + names(false).len(), text.matches("\n  ").count());
}

#[test]
fn unknown_reviewer_suggests_nearest_name() {
    check_refused(
        &["--strategy", "panel", "--reviewers", "securty"],
        expect![[r#"
        exit 2
        error: unknown reviewer `securty`
        hint: did you mean `security`? `crh reviewers` lists all of them
        ---
    "#]],
    );
    check_refused(
        &["--strategy", "panel", "--reviewers", "correctness,qqq"],
        expect![[r#"
        exit 2
        error: unknown reviewer `qqq`
        hint: `crh reviewers` lists them
        ---
    "#]],
    );
}

#[test]
fn panel_flags_are_rejected_for_other_strategies() {
    for (strategy, flag, value) in [
        ("single", "--reviewers", "security"),
        ("delegate", "--plan", "README.md"),
        ("single", "--waive", "R1"),
    ] {
        let (desk, unused_model) = (ReviewFixture::new(), FakeModel::start());
        let refused = desk.review(&unused_model, &["--strategy", strategy, flag, value]);
        let expected = format!(
            "exit 2\nerror: `{flag}` needs the strategy `panel`\n\
             hint: leave out `--strategy`, or pass `--strategy panel`\n---\n"
        );
        assert_eq!(desk.shown(&refused.output), expected);
        assert!(desk.runs().is_empty(), "{flag}");
    }
}

#[test]
fn hint_names_the_setting_that_prevents_a_panel() {
    let desk = ReviewFixture::new();
    let refused = |args: &[&str]| {
        let reviewed =
            desk.review_as_usual(&model(), &[&["--reviewers", "security"], args].concat());
        assert_eq!(reviewed.output.code, 2, "{}", reviewed.output.shown());
        let hint = reviewed.output.stderr.lines().find(|line| line.starts_with("hint: "));
        hint.unwrap_or_default().replace(desk.user.path("").to_str().unwrap(), "HOME/")
    };
    assert_eq!(
        refused(&["--budget", "quick"]),
        "hint: `--budget quick` uses the strategy `single`; pass `--strategy panel` or another budget"
    );
    desk.user.write(".config/crh/config.toml", "[review]\nstrategy = \"single\"\n");
    expect![
        "hint: pass `--strategy panel`, or change `review.strategy` (~/.config/crh/config.toml:2)"
    ]
    .assert_eq(&refused(&[]));
}

#[test]
fn reviewers_are_listed_with_a_note_if_they_do_not_run() {
    let desk = ReviewFixture::new();
    desk.user.write(".config/crh/config.toml", "[review]\nstrategy = \"single\"\n");
    let output = desk.crh(&["reviewers", "HEAD~1..HEAD"]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    expect![[r#"
        note: your reviews use the strategy `single` (`review.strategy` of ~/.config/crh/config.toml:2), not these reviewers; they run with `crh review --strategy panel`
    "#]].assert_eq(&desk.user.replace_paths(&desk.repo, &output.stderr));
}

#[test]
fn missing_plan_is_an_error() {
    check_refused(
        &["--strategy", "panel", "--plan", "docs/plans/none.md"],
        expect![[r#"
        exit 2
        error: cannot read `REPO/docs/plans/none.md`: No such file or directory (os error 2)
        hint: pass a file on disk or in the reviewed commit with `--plan`
        ---
    "#]],
    );
}

#[test]
fn interactive_mode_without_terminal_says_so() {
    let desk = ReviewFixture::new();
    let note = "note: crh asks nothing and changes no file: standard input or standard error is not a terminal\n";
    for (mode, is_noted) in [("mode:interactive", true), ("mode:report-only", false)] {
        let output = with_key(desk.crh(&["review", "HEAD~1..HEAD", mode]), &model()).run();
        assert_eq!(output.stderr.contains(note), is_noted, "{}", output.shown());
    }
}

#[test]
fn check_warns_of_names_that_it_does_not_know() {
    let settings = "\n    //- crh.toml\n    [reviewers]\n    off = [\"secrets\"]\n    [checks.ignore]\n    \"syntax/invalid-jsn\" = [\"a\"]";
    let desk = ReviewFixture::with(&format!("{settings}{SHOP}"));
    let output = desk.crh(&["check", "HEAD~1..HEAD"]).run();
    expect![[r#"
        warning: `checks.ignore` names `syntax/invalid-jsn`: there is no such rule; did you mean `syntax/invalid-json`?
        warning: `reviewers.off` names `secrets`: there is no such reviewer; `secrets` is a static check, use `checks.ignore`
    "#]].assert_eq(
        &output
            .stderr
            .lines()
            .filter(|it| it.starts_with("warning"))
            .map(|it| format!("{it}\n"))
            .collect::<String>(),
    );
}

/// A custom reviewer of the repository.
const MONEY: &str = "---
name: money
lens: whether amounts stay whole
when:
  - words: [price]
tier: mid
category: bug
route: manual -> human
cap: 3
returns: findings
---
## What you hunt

Amounts that are not whole.
";

#[test]
fn custom_reviewer_of_repository_runs() {
    let desk = ReviewFixture::new();
    desk.repo.write(".crh/reviewers/money.md", MONEY);
    desk.repo.commit("a reviewer");
    desk.repo.write("shop/price.py", "price = 5\nprice = price / 2\nprice = price * 3\n");
    desk.repo.commit("a price");
    let half = finding("P2", "Half a cent", "shop/price.py:2", "price = price / 2");
    let money = FakeModel::answering(move |asked| match asked.caller.as_str() {
        "money" => {
            let told = asked.body.to_string();
            assert!(told.contains("Amounts that are not whole."));
            reports(std::slice::from_ref(&half))
        }
        _ => no_findings(asked),
    });
    let reviewed = desk.review(&money, &["--strategy", "panel"]);
    expect![[r#"
        secrets completed: 
        syntax completed: 
        references completed: 
        leftovers completed: 
        workflows completed: 
        consistency completed: 
        patterns completed: 
        injection completed: 
        correctness completed: Looked at all of it.
        money completed: Looked at all of it.
        #1 P2 shop/price.py:2 Half a cent (0.75, confirmed)
    "#]]
    .assert_eq(&format!("{}{}", reviewed.reviewers(), reviewed.issues()));
}

#[test]
fn invalid_custom_reviewer_is_skipped_with_warning() {
    let desk = ReviewFixture::new();
    desk.repo.write(".crh/reviewers/money.md", MONEY.replace("cap: 3", "cap: many"));
    desk.repo.write(".crh/reviewers/security.md", MONEY.replace("name: money", "name: security"));
    desk.repo.commit("reviewers");
    desk.repo.write("shop/price.py", "price = 5\nprice = price / 2\nprice = price * 3\n");
    desk.repo.commit("a price");
    let reviewed = desk.review(&model(), &["--strategy", "panel"]);
    assert_eq!(reviewed.end().1, "ok");
    expect![[r#"
        the reviewer `.crh/reviewers/money.md` is not used: its front matter is invalid: invalid u64 at line 9, column 6
        the reviewer `.crh/reviewers/security.md` is not used: the name `security` is taken by another reviewer (built in): choose another one
    "#]].assert_eq(&reviewed.warnings());
    let listed = desk.crh(&["reviewers", "HEAD~1..HEAD", "--format", "json"]).run();
    expect![[r#"
        warning: the reviewer `.crh/reviewers/money.md` is not used: its front matter is invalid: invalid u64 at line 9, column 6
        warning: the reviewer `.crh/reviewers/security.md` is not used: the name `security` is taken by another reviewer (built in): choose another one
    "#]].assert_eq(&listed.stderr);
    let rows: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert!(!items(&rows).iter().any(|row| row["name"] == json!("money")));
}
