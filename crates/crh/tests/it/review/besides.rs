//! What needs no model: `crh check`, and `crh doctor`.

use std::fs;

use crh_testkit::FakeModel;
use expect_test::expect;

use super::Desk;

#[test]
fn checks_that_find_nothing_pass() {
    let desk = Desk::new();
    let output = desk.crh(&["check", "HEAD~1..HEAD"]).run();
    expect![[r#"
        exit 0
        Checks passed: no issues · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +9 -5

        No issues in 2 reviewed files.

        Checks passed: nothing was found
    "#]]
    .assert_eq(&desk.shown(&output));
    assert_eq!(desk.reviewed(output).end(), (0, "ok", "Checks passed"));
}

#[test]
fn checks_find_a_secret_and_a_syntax_error_and_never_print_the_secret() {
    let desk = Desk::with(
        r#"
        //- a.py
        x = 1
        //- b.py
        y = 1
        //- head
        //- a.py
        x = 1
        token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
        //- b.py
        def broken(:
            return 1
        "#,
    );
    let output = desk.crh(&["check", "HEAD~1..HEAD"]).run();
    expect![[r#"
        exit 1
        Not ready: 1 P0, 1 P1 · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +3 -1

        2 issues (1 P0, 1 P1) in 2 reviewed files.

        1 P0 a.py:2
            GitHub token in the code
            | token = "ghp_****"
            Everybody who can read this branch, its history or a build of it can use the
            credential. Taking the line out later does not take it back.
            Fix: Revoke the credential now: whoever can read the branch has it. Then
                 take it out of the change and out of the branch's history, and read it
                 from the environment or a secret store.
            security; by secrets, rule secrets/github-token; confidence 0.95; found by a
            program; manual -> human

        2 P1 b.py:1
            The file does not parse
            | def broken(:
            The file parsed before this change, and as python it does not parse: a `(`
            has no partner. Whatever loads or builds it fails.
            Fix: Correct the syntax at or just before this line.
            bug; by syntax, rule syntax/does-not-parse; confidence 0.90; found by a
            program; manual -> downstream-resolver

        Not ready: 1 P0 issue must be fixed before the merge
    "#]]
    .assert_eq(&desk.shown(&output));
    let reviewed = desk.reviewed(output);
    assert_eq!(reviewed.end(), (1, "ok", "Not ready"));
    let stored: String = ["review.json", "review.md"]
        .map(|name| fs::read_to_string(desk.runs()[0].join(name)).unwrap())
        .concat();
    assert!(!stored.contains("16C7e42F292c6912E7710c838347Ae178B4a"));
}

#[test]
fn the_doctor_says_what_works_and_what_to_do() {
    let desk = Desk::new();
    let shown = |output: &crh_testkit::Output| {
        let text = desk.shown(output);
        let lines = text.lines().map(|line| match line.split_once("  git         git version ") {
            Some((works, _)) => format!("{works}  git         git version N\n"),
            None if line.contains("  sandbox  ") => "SANDBOX\n".to_owned(),
            None => format!("{line}\n"),
        });
        lines.filter(|line| !line.contains("without it no analyser is run")).collect::<String>()
    };
    let before = crate::user::tree_with_times(desk.repo.path());
    expect![[r#"
        exit 0
        ---
        works   git         git version N
        works   settings    the files and variables that were found can be read
        works   repository  `REPO`, and its private store
        lacks   keys        no provider's key is set
                            -> `crh model list` shows the variables; a model on this machine needs none
        lacks   model       none: `crh review` runs only the checks that need no model
                            -> set a provider's key, or name a model with `--model` or `model.reviewer`
        SANDBOX
        works   analysers   none is run: `checks.analysers` is `never`
    "#]].assert_eq(&shown(&desk.crh(&["doctor"]).run()));
    let model = FakeModel::start();
    expect![[r#"
        exit 0
        ---
        works   git         git version N
        works   settings    the files and variables that were found can be read
        works   repository  `REPO`, and its private store
        works   keys        `OPENAI_API_KEY` set
        works   model       openai:gpt-4.1-mini reviews; `crh model check` asks it
        SANDBOX
        works   analysers   none is run: `checks.analysers` is `never`
    "#]]
    .assert_eq(&shown(&desk.asking(&model, &["doctor"]).run()));
    crate::user::assert_same(&before, &crate::user::tree_with_times(desk.repo.path()), "doctor");
    desk.repo.write("crh.toml", "[review\n");
    let broken = desk.crh(&["doctor"]).run();
    assert_eq!(broken.code, 2);
    expect![[r#"
        exit 2
        ---
        works   git         git version N
        BROKEN  settings    crh.toml:1:8: this is not TOML: unclosed table, expected `]`
                            -> `crh init` writes a file to start from; `crh config schema` serves editors
        SANDBOX
    "#]].assert_eq(&shown(&broken));
}
