//! Who is on a panel, as the user, the repository and its settings wish; and what is refused.

use expect_test::{Expect, expect, expect_file};
use serde_json::json;

use super::panel::is_content;
use super::script::{finding, reports};
use super::{Desk, SHOP, items, text};
use crh_testkit::FakeModel;

fn model() -> FakeModel {
    FakeModel::answering(is_content)
}

/// Reviews with these arguments; the names of those who judged.
fn team(desk: &Desk, model: &FakeModel, args: &[&str]) -> Vec<String> {
    let reviewed = desk.review(model, &[&["--strategy", "panel"], args].concat());
    assert_eq!(reviewed.output.code, 0, "{}", reviewed.output.shown());
    let rows = items(&reviewed.report["reviewers"]).iter();
    let judging = rows.filter(|row| row["origin"] == "model");
    judging.map(|row| text(&row["name"]).to_owned()).collect()
}

/// A review is refused before anything is paid for.
fn check_refused(args: &[&str], expected: Expect) {
    let (desk, nobody) = (Desk::new(), FakeModel::start());
    let reviewed = desk.review(&nobody, args);
    assert!(desk.runs().is_empty(), "{args:?}");
    expected.assert_eq(&desk.shown(&reviewed.output));
}

#[test]
fn reviewers_are_listed_with_why_each_would_look_or_not() {
    let desk = Desk::new();
    let listed = |args: &[&str]| {
        let output = desk.crh(&[&["reviewers", "HEAD~1..HEAD"], args].concat()).run();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{args:?}");
        output.stdout
    };
    expect_file!["../../data/panel/reviewers.txt"].assert_eq(&listed(&[]));
    expect_file!["../../data/panel/reviewers_full.txt"].assert_eq(&listed(&["--depth", "full"]));
    expect_file!["../../data/panel/reviewers.json"].assert_eq(&listed(&["--format", "json"]));
}

#[test]
fn those_who_are_asked_for_by_name_or_alias_and_no_others() {
    let names = "testing,ce-correctness-reviewer,review:ce-security-reviewer";
    let team = team(&Desk::new(), &model(), &["--reviewers", names]);
    assert_eq!(team, ["correctness", "testing", "security"]);
}

#[test]
fn a_reviewer_that_there_is_not_is_refused_with_the_nearest_name() {
    check_refused(
        &["--strategy", "panel", "--reviewers", "securty"],
        expect![[r#"
        exit 2
        error: there is no reviewer `securty`
        hint: did you mean `security`? `crh reviewers` lists all of them
        ---
    "#]],
    );
    check_refused(
        &["--strategy", "panel", "--reviewers", "correctness,qqq"],
        expect![[r#"
        exit 2
        error: there is no reviewer `qqq`
        hint: `crh reviewers` lists them
        ---
    "#]],
    );
}

#[test]
fn what_only_a_panel_heeds_is_refused_elsewhere() {
    check_refused(
        &["--strategy", "single", "--reviewers", "security"],
        expect![[r#"
            exit 2
            error: `--reviewers` is for a panel, and this review has none
            hint: a panel is the strategy `panel` with a model; `--budget quick` alone is none
            ---
        "#]],
    );
    check_refused(
        &["--strategy", "delegate", "--plan", "README.md"],
        expect![[r#"
            exit 2
            error: `--plan` is for a panel, and this review has none
            hint: a panel is the strategy `panel` with a model; `--budget quick` alone is none
            ---
        "#]],
    );
    check_refused(
        &["--strategy", "single", "--waive", "R1"],
        expect![[r#"
            exit 2
            error: `--waive` is for a panel, and this review has none
            hint: a panel is the strategy `panel` with a model; `--budget quick` alone is none
            ---
        "#]],
    );
}

#[test]
fn a_plan_that_is_not_there_is_refused() {
    check_refused(
        &["--strategy", "panel", "--plan", "docs/plans/none.md"],
        expect![[r#"
        exit 2
        error: reading `REPO/docs/plans/none.md`: No such file or directory (os error 2)
        hint: `--plan` names a file of the change, or one on the disk
        ---
    "#]],
    );
}

#[test]
fn the_depth_is_a_flag_and_a_setting() {
    let desk = Desk::new();
    let auto = team(&desk, &model(), &[]);
    let lite = team(&desk, &model(), &["--depth", "lite"]);
    let full = team(&desk, &model(), &["--depth", "full"]);
    assert_eq!(lite, ["correctness"]);
    expect![[r#"
        correctness python
        correctness testing maintainability agent-native python
    "#]]
    .assert_eq(&format!("{}\n{}\n", auto.join(" "), full.join(" ")));
    desk.user.write(".config/crh/config.toml", "[review]\ndepth = \"lite\"\n");
    assert_eq!(team(&desk, &model(), &[]), lite);
}

#[test]
fn a_reviewer_that_is_switched_off_is_not_asked() {
    let settings = "\n    //- crh.toml\n    [reviewers]\n    off = [\"python\", \"nobody\"]";
    let desk = Desk::with(&format!("{settings}{SHOP}"));
    let reviewed = desk.review(&model(), &["--strategy", "panel"]);
    assert!(!reviewed.reviewers().contains("python"), "{}", reviewed.reviewers());
    expect![[r#"
        `reviewers.off` names `nobody`: there is no such reviewer
    "#]]
    .assert_eq(&reviewed.warnings());
}

/// A reviewer of the repository's own.
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
fn a_repositorys_own_reviewer_is_one_of_the_panel() {
    let desk = Desk::new();
    desk.repo.write(".crh/reviewers/money.md", MONEY);
    desk.repo.commit("a reviewer");
    desk.repo.write("shop/price.py", "price = 5\nprice = price / 2\nprice = price * 3\n");
    desk.repo.commit("a price");
    let half = finding("P2", "Half a cent", "shop/price.py:2", "price = price / 2");
    let money = FakeModel::answering(move |asked| match asked.caller.as_str() {
        "money" => {
            let told = asked.body["messages"].to_string();
            assert!(told.contains("Amounts that are not whole."));
            reports(std::slice::from_ref(&half))
        }
        _ => is_content(asked),
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
fn a_change_does_not_bring_the_reviewers_that_look_at_it() {
    let desk = Desk::new();
    desk.repo.write(".crh/reviewers/money.md", MONEY);
    desk.repo.write("shop/price.py", "price = 5\nprice = price / 2\nprice = price * 3\n");
    desk.repo.commit("a reviewer and a price");
    assert!(!team(&desk, &model(), &[]).contains(&"money".to_owned()));
}

#[test]
fn a_reviewer_that_cannot_be_used_is_told_and_left_out() {
    let desk = Desk::new();
    desk.repo.write(".crh/reviewers/money.md", MONEY.replace("cap: 3", "cap: many"));
    desk.repo.write(".crh/reviewers/security.md", MONEY.replace("name: money", "name: security"));
    desk.repo.commit("reviewers");
    desk.repo.write("shop/price.py", "price = 5\nprice = price / 2\nprice = price * 3\n");
    desk.repo.commit("a price");
    let reviewed = desk.review(&model(), &["--strategy", "panel"]);
    assert_eq!(reviewed.end().1, "ok");
    expect![[r#"
        the reviewer `.crh/reviewers/money.md` is not used: its front matter cannot be read: invalid u64 at line 9, column 6
        the reviewer `.crh/reviewers/security.md` is not used: `security` is the name of a reviewer already (built in): give it another one
    "#]].assert_eq(&reviewed.warnings());
    let listed = desk.crh(&["reviewers", "HEAD~1..HEAD", "--format", "json"]).run();
    expect![[r#"
        warning: the reviewer `.crh/reviewers/money.md` is not used: its front matter cannot be read: invalid u64 at line 9, column 6
        warning: the reviewer `.crh/reviewers/security.md` is not used: `security` is the name of a reviewer already (built in): give it another one
    "#]].assert_eq(&listed.stderr);
    let rows: serde_json::Value = serde_json::from_str(&listed.stdout).unwrap();
    assert!(!items(&rows).iter().any(|row| row["name"] == json!("money")));
}
