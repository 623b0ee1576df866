//! Review targets: empty change, nothing in scope, no model, workspace, archive.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use super::script::{confirms, delegates, finding, submits, works};
use super::{MAIL, ORDERS, ReviewFixture, issues, json, runs, with_model};
use crh_testkit::FakeModel;

/// A model with two findings.
fn model() -> FakeModel {
    let findings = [
        finding("P1", "The total is divided", "shop/orders.py:5", "return result / len(items)"),
        finding("P2", "A failed mail is swallowed", "shop/mail.py:4", "except Exception:"),
    ];
    FakeModel::start()
        .on("orchestrator", [delegates(&[("all", &[ORDERS, MAIL])]), submits(&["1.1", "1.2"], &[])])
        .on("sub-agent-1", works(&[ORDERS, MAIL], &findings))
        .on("validate-1", [confirms()])
}

#[test]
fn description_file_gives_title_and_body() {
    let desk = ReviewFixture::new();
    let model = model();
    fs::write(
        desk.repo.path().join("pr.json"),
        r#"{"title": "Average orders", "body": "As agreed."}"#,
    )
    .unwrap();
    let args = ["review", "--strategy", "delegate", "--description", "pr.json", "HEAD~1..HEAD"];
    let output = desk.crh_with_model(&model, &args).run();
    assert_eq!(output.code, 1, "{}", output.stderr);
    let asked = model.requests().remove(0).body.to_string();
    assert!(asked.contains("Average orders") && asked.contains("As agreed."), "{asked}");
}

#[test]
fn empty_change_is_an_error() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start();
    let mut said = String::new();
    for target in [
        &["HEAD..HEAD"][..],
        &["--uncommitted"],
        &["--staged"],
        &["--diff", "-"],
        &["HEAD..HEAD", "--mode", "headless"],
        &["--diff", "-", "--mode", "headless"],
    ] {
        let args = [&["review"], target].concat();
        let output = desk.crh_with_model(&model, &args).stdin(b"\n").run();
        said += &format!("$ crh review {}\n{}", target.join(" "), desk.shown(&output));
    }
    assert!(desk.runs().is_empty());
    expect![[r#"
        $ crh review HEAD..HEAD
        exit 2
        error: nothing to review: `main` is compared with itself, so nothing differs
        hint: name a base with `--base REF`, review one commit with `--commit SHA`, or add new files with `--include-untracked`
        ---
        $ crh review --uncommitted
        exit 2
        error: nothing to review: there are no uncommitted changes
        hint: leave out `--uncommitted` to review the commits of the branch
        ---
        $ crh review --staged
        exit 2
        error: nothing to review: nothing is staged
        hint: stage changes with `git add`, or review them with `--uncommitted`
        ---
        $ crh review --diff -
        exit 2
        error: nothing to review: the diff is empty
        hint: pass the output of `git diff` or `git show`
        ---
        $ crh review HEAD..HEAD --mode headless
        exit 2
        error: nothing to review: `main` is compared with itself, so nothing differs
        hint: name a base with `--base REF`, review one commit with `--commit SHA`, or add new files with `--include-untracked`
        ---
        Review failed (headless mode). Reason: nothing to review: `main` is compared with itself, so nothing differs.
        $ crh review --diff - --mode headless
        exit 2
        error: nothing to review: the diff is empty
        hint: pass the output of `git diff` or `git show`
        ---
        Review failed (headless mode). Reason: nothing to review: the diff is empty.
    "#]].assert_eq(&said);
}

#[test]
fn review_without_model_runs_checks_and_is_incomplete() {
    let desk = ReviewFixture::new();
    let output = desk.crh(&["review", "HEAD~1..HEAD"]).run();
    expect![[r#"
        exit 4
        warning: no model is configured; running static checks only
        note: set `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY` or `OPENROUTER_API_KEY`, name a model with `--model`, or set up a local one with `crh init --local`; `crh doctor` says more
        Incomplete · no issues · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; base 3e4bebcd7dbb, head c6b083bca9cf
        Reviewers:
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues in 2 reviewed files.

        Incomplete: only static checks ran
    "#]].assert_eq(&desk.shown(&output));
    let reviewed = desk.reviewed(output);
    assert_eq!(reviewed.end(), (4, "ok", "Incomplete"));
    let asked_for = desk.crh(&["review", "HEAD~1..HEAD", "--strategy", "static"]).run();
    assert_eq!(desk.reviewed(asked_for).end(), (0, "ok", "Checks passed"));
}

#[test]
fn workspace_and_archive_give_same_issues() {
    let desk = ReviewFixture::new();
    let direct = desk.review(&model(), &[]);
    let pack = desk.user.path("change.tar");
    desk.user.prepared(desk.repo.path(), &["HEAD~1..HEAD", "--pack", pack.to_str().unwrap()], "ws");
    let workspace = desk.user.path("ws");
    let before = crate::user::tree(&workspace);
    let folder = ["review", "--workspace", workspace.to_str().unwrap()];
    let from_folder = desk.reviewed(desk.crh_with_model(&model(), &folder).run());
    assert_eq!(from_folder.issues(), direct.issues(), "{}", from_folder.output.shown());
    assert_eq!(from_folder.end(), direct.end());
    assert_eq!(from_folder.report["review_id"], direct.report["review_id"]);
    crate::user::assert_same(&before, &crate::user::tree(&workspace), "the workspace");

    // The archive needs neither the repository nor the store.
    let moved = desk.user.path("moved");
    fs::rename(desk.repo.path(), &moved).unwrap();
    fs::remove_dir_all(desk.user.path("store")).unwrap();
    let elsewhere = desk.user.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let packed = ["review", "--packed", pack.to_str().unwrap()];
    let packed = with_model(desk.user.crh(&elsewhere, &packed), &model()).run();
    let run = runs(&elsewhere.join(".crh/runs")).pop().unwrap();
    let report: Value = json(&run.join("review.json"));
    assert_eq!(issues(&report), direct.issues(), "{}", packed.shown());
    assert_eq!(packed.code, direct.output.code);
    fs::rename(&moved, desk.repo.path()).unwrap();
}

#[test]
fn default_target_is_branch_with_uncommitted_changes() {
    let desk = ReviewFixture::new();
    desk.repo.git(&["switch", "--quiet", "--create", "feature"]);
    desk.repo.git(&["branch", "--force", "main", "HEAD~1"]);
    desk.repo.write("shop/mail.py", "def send(to, text):\n    return None\n");
    desk.repo.write("shop/new.py", "x = 1\n");
    let all = [MAIL, ORDERS];
    // Twice, so that the second review sees the first run folder.
    let [first, second] = [(); 2].map(|()| {
        let model = FakeModel::start()
            .on("orchestrator", [delegates(&[("all", &all)]), submits(&[], &[])])
            .on("sub-agent-1", works(&all, &[]));
        desk.shown(&desk.crh_with_model(&model, &["review"]).run())
    });
    expect![[r#"
        exit 0
        warning: not reviewed because untracked: `shop/new.py` (`git add` it, or pass `--include-untracked`)
        Ready to merge · no issues · 0.01 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +6 -5; base main (3e4bebcd7dbb), head b3c27c7c177b
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - sub-agent-1
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        No issues in 2 reviewed files.
        The change rewrites how orders are added up.
        [1] all: Looked at all of it.

        Review coverage
          - untracked file, not reviewed: shop/new.py

        Ready to merge: nothing actionable was found
    "#]].assert_eq(&first);
    assert_eq!(first, second);
}

#[test]
fn diff_is_reviewed_without_repository() {
    let desk = ReviewFixture::new();
    let diff = desk.repo.git(&["diff", "HEAD~1..HEAD"]);
    let nowhere = desk.user.path("nowhere");
    fs::create_dir(&nowhere).unwrap();
    let model = model();
    let program = with_model(desk.user.crh(&nowhere, &["review", "--diff", "-"]), &model);
    let output = program.stdin(diff).run();
    let run = runs(&nowhere.join(".crh/runs")).pop().unwrap();
    expect![[r#"
        #1 P1 shop/orders.py:5 The total is divided (0.75, confirmed)
        #2 P2 shop/mail.py:4 A failed mail is swallowed (0.75, confirmed)
    "#]]
    .assert_eq(&issues(&json(&run.join("review.json"))));
    expect![[r#"
        exit 1
        Ready with fixes (incomplete) · 1 P1, 1 P2 · 0.03 USD · TIME · HOME/nowhere/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5; 2 files not fully reviewed (shop/mail.py,
                shop/orders.py)
        Reviewers:
          - orchestrator: the strategy is `delegate`
          - sub-agent-1
          - static checks: secrets, workflows, injection

        2 issues (1 P1, 1 P2); no file was fully reviewed.
        The change rewrites how orders are added up.
        [1] all: Looked at all of it.

        1 P1 shop/orders.py:5
            The total is divided
            | return result / len(items)
            The total is divided: an order of two items shows it.
            category bug; found by delegate; confidence 0.75; probability that
            maintainers agree 0.75; confirmed by a second model run; a person must
            decide this

        2 P2 shop/mail.py:4
            A failed mail is swallowed
            | except Exception:
            A failed mail is swallowed: an order of two items shows it.
            category bug; found by delegate; confidence 0.75; probability that
            maintainers agree 0.75; confirmed by a second model run; a person must
            decide this

        Open work
          - 1 P1 shop/orders.py:5: a person must decide this

        Review coverage
          - shop/mail.py: partly reviewed (not all static checks ran)
          - shop/orders.py: partly reviewed (not all static checks ran)
          - checks not run: syntax, references, leftovers, consistency, patterns (the
            change is only a diff: there is no repository to read from); run crh in a
            checkout that matches the diff

        Ready with fixes: 1 issue to fix. The review is incomplete: 2 files not fully
          reviewed (shop/mail.py, shop/orders.py)
    "#]]
    .assert_eq(&desk.shown(&output));
}

#[test]
fn missing_workspace_or_archive_is_an_error() {
    let desk = ReviewFixture::new();
    let model = FakeModel::start();
    let mut said = String::new();
    for args in [&["--workspace", "nowhere"][..], &["--packed", "nowhere.tar"]] {
        let output = desk.crh_with_model(&model, &[&["review"], args].concat()).run();
        said += &format!("$ crh review {}\n{}", args.join(" "), desk.shown(&output));
    }
    expect![[r#"
        $ crh review --workspace nowhere
        exit 2
        error: `REPO/nowhere` is not a workspace: No such file or directory (os error 2)
        hint: `crh prepare --out DIR` writes a workspace
        ---
        $ crh review --packed nowhere.tar
        exit 2
        error: cannot read the archive `REPO/nowhere.tar`: No such file or directory (os error 2)
        hint: create one with `crh prepare --pack FILE`
        ---
    "#]]
    .assert_eq(&said);
}
