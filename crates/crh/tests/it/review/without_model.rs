//! Commands without a model: `crh check` and `crh doctor`.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;

use super::ReviewFixture;
use crh_testkit::FakeModel;

#[test]
fn option_of_a_panel_without_a_model_is_the_only_message() {
    let desk = ReviewFixture::new();
    for options in [
        ["--reviewers", "security"],
        ["--waive", "R3"],
        ["--plan", "plan.md"],
        ["--record", "/nope/x"],
    ] {
        let output = desk.crh(&["review", "HEAD~1..HEAD", options[0], options[1]]).run();
        let error = format!("error: `{}` needs a model\nhint: set `OPENAI_API_KEY`", options[0]);
        assert!(output.code == 2 && output.stderr.starts_with(&error), "{}", output.shown());
    }
}

#[test]
fn strategy_static_rejects_options_that_only_a_model_uses() {
    let desk = ReviewFixture::new();
    for options in [["--record", "/nope/x"], ["--model", "openai:gpt-4.1-mini"]] {
        let args = ["review", "HEAD~1..HEAD", "--strategy", "static", options[0], options[1]];
        let output = desk.crh(&args).run();
        let error = format!(
            "error: `{}` needs a model\nhint: do not use the strategy `static`",
            options[0]
        );
        assert!(output.code == 2 && output.stderr.starts_with(&error), "{}", output.shown());
    }
}

#[test]
fn check_finds_secret_and_syntax_error_but_masks_secret() {
    let desk = ReviewFixture::with(
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
        Not ready · 1 P0, 1 P1 · 0.00 USD · TIME · REPO/.crh/runs/RUN
        ---
        Scope:  2 files, +3 -1; base 187b737f1101, head 52a9fcb8e7e3
        Reviewers:
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        2 issues (1 P0, 1 P1) in 2 reviewed files.

        1 P0 a.py:2
            GitHub token in the code
            | token = "ghp_****"
            Everybody who can read this branch, its history or a build of it can use the
            credential. Removing the line later does not undo the leak.
            Fix: Revoke the credential now: each reader of the branch knows it. Then
                 take it out of the change and out of the branch's history, and read it
                 from the environment or a secret store.
            category security; found by secrets, rule secrets/github-token; confidence
            0.80; static check; a person must decide this

        2 P1 b.py:1
            The file does not parse
            | def broken(:
            The file is no longer valid python: unmatched `(`. Loading or building it
            fails.
            Fix: Correct the syntax at or just before this line.
            category bug; found by syntax, rule syntax/does-not-parse; confidence 0.90;
            static check; needs a manual fix

        Open work
          - 1 P0 a.py:2: a person must decide this
          - 2 P1 b.py:1: needs a manual fix

        Not ready: 2 issues must be fixed before the merge, 1 of them P0
        Fix in this order: 1, 2
    "#]]
    .assert_eq(&desk.shown(&output));
    let reviewed = desk.reviewed(output);
    assert_eq!(reviewed.end(), (1, "ok", "Not ready"));
    let stored: String = ["review.json", "review.md"]
        .map(|name| fs::read_to_string(desk.runs()[0].join(name)).unwrap())
        .concat();
    assert!(!stored.contains("16C7e42F292c6912E7710c838347Ae178B4a"));
}

/// The command of the pre-commit hook, without the program name.
fn hook() -> Vec<String> {
    let hooks = include_str!("../../../../../.pre-commit-hooks.yaml");
    let entry = hooks.lines().find_map(|line| line.trim().strip_prefix("entry: crh ")).unwrap();
    entry.split(' ').map(str::to_owned).collect()
}

#[test]
fn hook_accepts_commit_without_reviewable_files() {
    let desk = ReviewFixture::new();
    let hook = hook();
    let hook: Vec<&str> = hook.iter().map(String::as_str).collect();
    desk.repo.write("Cargo.lock", "version = 4\n");
    desk.repo.git(&["add", "."]);
    let output = desk.crh(&hook).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let said = "Incomplete: no file of the change was reviewed";
    assert!(output.stdout.contains(said), "{}", output.stdout);
    assert_eq!(desk.crh(&["check", "--staged"]).run().code, 4, "only the hook is so lenient");
    desk.repo.write("a.py", "breakpoint()\n");
    desk.repo.git(&["add", "."]);
    assert_eq!(desk.crh(&hook).run().code, 1);
}

#[test]
fn settings_of_the_change_do_not_apply_to_its_review() {
    let desk = ReviewFixture::with("//- a.py\nx = 1\n//- head\n//- a.py\nbreakpoint()\n");
    desk.repo.write("crh.toml", "[scope]\nexclude = [\"**\"]\n");
    let note = "note: this change edits settings of crh; its own review still uses the earlier values of `scope.exclude`\n";
    // The user writes uncommitted settings, so they apply.
    for target in [["--base", "HEAD~1"].as_slice(), &["--uncommitted"]] {
        let checked = desk.crh(&[&["check"], target].concat()).run();
        assert_eq!(checked.code, 4, "{}", checked.shown());
        assert!(!checked.stderr.contains("earlier values of"), "{}", checked.shown());
    }
    desk.repo.git(&["add", "crh.toml"]);
    desk.repo.git(&["commit", "-qm", "settings"]);
    let checked = desk.crh(&["check", "--base", "HEAD~2"]).run();
    assert_eq!(checked.code, 1, "{}", checked.shown());
    assert!(checked.stderr.contains(note), "{}", checked.shown());
    assert!(desk.reviewed(checked).warnings().contains("edits settings of crh"));
}

#[test]
fn change_that_excludes_own_files_is_reported() {
    let desk = ReviewFixture::with("//- a.py\nx = 1\n//- head\n//- a.py\nx = 2\n");
    desk.repo.write("crh.toml", "[scope]\nexclude = [\"b.py\"]\n");
    desk.repo.write("b.py", "breakpoint()\n");
    desk.repo.write("c.py", "# @generated by hand\nbreakpoint()\n");
    desk.repo.write("d.py", "breakpoint()\n");
    desk.repo.write(".gitattributes", "d.py linguist-generated\n");
    desk.repo.git(&["add", "."]);
    let staged = desk.crh(&["check", "--staged"]).run();
    let expected = [
        "settings or attributes that are missing at the base exclude files from this review: `b.py` (excluded by `b.py`), `d.py` (generated, by the attribute `linguist-generated`)",
    ];
    let warnings = |output| desk.reviewed(output).warnings();
    let said = warnings(staged);
    assert!(expected.iter().all(|line| said.contains(line)), "{said}");
    desk.repo.commit("hides");
    let committed = desk.crh(&["check", "HEAD~1..HEAD"]).run();
    assert_eq!(committed.code, 1, "{}", committed.shown());
    assert!(committed.stdout.contains("b.py:1"), "the settings are those of the base");
    assert!(committed.stdout.contains("d.py:1"), "the attributes are those of the base");
    let said = warnings(committed);
    assert!(!said.contains("exclude files from this review"), "{said}");
}

#[test]
fn uncommitted_settings_that_exclude_committed_files_are_reported() {
    let desk =
        ReviewFixture::with("//- a.py\nx = 1\n//- head\n//- a.py\nx = 2\n//- b.py\nbreakpoint()\n");
    desk.repo.write("crh.toml", "[scope]\nexclude = [\"b.py\"]\n");
    let checked = desk.crh(&["check", "--base", "HEAD~1"]).run();
    let said = desk.reviewed(checked).warnings();
    let expected = "exclude files from this review: `b.py` (excluded by `b.py`)";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn max_issues_does_not_limit_static_findings_in_sarif() {
    let desk = ReviewFixture::with("//- a.py\nx = 1\n//- head\n//- a.py\nx = 2\n");
    desk.repo.write("b.py", "breakpoint()\n".repeat(60));
    desk.repo.commit("many");
    let shown = |args: &[&str]| {
        let output = desk.crh(&[&["check", "HEAD~1..HEAD"], args].concat()).run();
        assert_eq!(output.code, 1, "{}", output.shown());
        output.stdout
    };
    let issues = |text: &str| text.matches("| breakpoint()").count();
    let usual = shown(&["--max-issues", "49"]);
    assert!(usual.contains("11 more issues are hidden, but count"), "{usual}");
    assert_eq!(issues(&shown(&["--max-issues", "40"])), 40);
    let sarif: serde_json::Value = serde_json::from_str(&shown(&["--format", "sarif"])).unwrap();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let lines: std::collections::BTreeSet<u64> = results
        .iter()
        .map(|it| it["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, (1..=60).collect());
}

#[test]
fn unreviewed_files_are_named_once() {
    let desk = ReviewFixture::with("//- a.py\nx = 1\n//- head\n//- a.py\nx = 2\n");
    desk.repo.write("big.py", "x = 1\n".repeat(200_000));
    desk.repo.write("deep.c", "(".repeat(20_000));
    fs::write(desk.repo.path().join("zero.py"), b"x = 1\0\n").unwrap();
    let late = ["x = 1\n".repeat(2_000).as_bytes(), b"y = '\xff\0'\n"].concat();
    fs::write(desk.repo.path().join("late.py"), late).unwrap();
    desk.repo.commit("odd");
    let output = desk.crh(&["check", "HEAD~1..HEAD"]).run();
    let reviewed = desk.reviewed(output);
    let coverage = reviewed.coverage();
    let gaps = coverage.lines().filter(|line| !line.ends_with(" reviewed"));
    let warnings = reviewed.warnings();
    let said: String = gaps.chain(warnings.lines()).map(|line| format!("{line}\n")).collect();
    // A zero byte that git did not detect does not hide a file from the checks.
    for (name, times) in [("big.py", 1), ("zero.py", 1), ("late.py", 0)] {
        let named: Vec<&str> = said.lines().filter(|line| line.contains(name)).collect();
        assert_eq!(named.len(), times, "{name}: {said}");
    }
}

#[test]
fn doctor_reports_setup_with_remedies() {
    let desk = ReviewFixture::new();
    let shown = |output: &crh_testkit::Output| {
        let text = desk.shown(output);
        let lines = text.lines().map(|line| match line.split_once("  git         git version ") {
            Some((works, _)) => format!("{works}  git         git version N\n"),
            None if line.contains("  sandbox  ") => "SANDBOX\n".to_owned(),
            None => format!("{line}\n"),
        });
        lines.filter(|line| !line.contains("linters do not run without it")).collect::<String>()
    };
    let before = crate::user::tree_with_times(desk.repo.path());
    expect![[r#"
        exit 0
        ---
        ok       git         git version N
        ok       settings    all config files and variables have valid values; names of rules and reviewers are checked only during a review
        ok       repository  `REPO`; the folder for crh's own git objects (`store.folder`) is usable
        missing  base        there is nothing to compare `main` with: the repository has no remote and no other main branch
                             -> review uncommitted and untracked files with `--uncommitted`, a commit with `--commit SHA`, or name a base with `--base REF`
        ok       runs        stored in `REPO/.crh/runs`
        missing  keys        no API key is set
                             -> `crh model list` shows the variables; local models need no key
        missing  model       none configured: `crh review` runs only static checks
                             -> set the API key of a provider, set `--model` or `model.reviewer`, or set up a local model with `crh init --local`
        missing  github      no token for `github.com`: cannot read pull requests
                             -> set `GITHUB_TOKEN` or `GH_TOKEN`, or run `gh auth login`
        missing  launchpad   not logged in to `launchpad.net`: can read public merge proposals, cannot post
                             -> run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`
        SANDBOX
        ok       analysers   disabled: `checks.analysers` is `never`
    "#]].assert_eq(&shown(&desk.crh(&["doctor"]).run()));
    let model = FakeModel::start();
    let with_key = shown(&desk.crh_with_model(&model, &["doctor"]).run());
    let rows = with_key.lines().filter(|line| line.starts_with("ok       ")).collect::<Vec<_>>();
    expect![[r#"
        ok       keys        `OPENAI_API_KEY` set
        ok       model       openai:gpt-5.4-mini (no question asked; test it with `crh model check`)
        ok       editor      openai:gpt-6.1-sol"#]]
    .assert_eq(&rows[4..7].join("\n"));
    crate::user::assert_same(&before, &crate::user::tree_with_times(desk.repo.path()), "doctor");
    desk.repo.write("crh.toml", "[review\n");
    let broken = desk.crh(&["doctor"]).run();
    assert_eq!(broken.code, 2);
    expect![[r#"
        exit 2
        ---
        ok       git         git version N
        BROKEN   settings    crh.toml:1:8: invalid TOML: unclosed table, expected `]`
                             -> `crh init` writes a template; `crh config schema` prints a JSON Schema for editors
        SANDBOX
    "#]].assert_eq(&shown(&broken));
}

#[test]
fn doctor_reports_a_stopped_model_server() {
    let desk = ReviewFixture::new();
    // Nothing listens on the discard port.
    let name = "ollama:m@http://127.0.0.1:9/v1";
    let stopped = desk.crh(&["doctor"]).env("CRH_MODEL", name).run();
    let row = "BROKEN   model       no model server answers at `http://127.0.0.1:9/v1`\n";
    assert!(stopped.code == 3 && stopped.stdout.contains(row), "{}", stopped.shown());
}

/// A linter that only a version manager provides is a matter for `crh doctor`.
#[test]
fn check_does_not_mention_shims() {
    let desk = ReviewFixture::new();
    let place = tempfile::TempDir::new().unwrap();
    let shims = place.path().join("shims");
    fs::create_dir(&shims).unwrap();
    fs::write(shims.join("ruff"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::set_permissions(shims.join("ruff"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let others = std::env::split_paths(&path).filter(|folder| !folder.join("ruff").exists());
    let path = std::env::join_paths([shims].into_iter().chain(others)).unwrap();
    let run = |args: &[&str]| {
        let program = desk.crh(args).env("PATH", path.to_str().unwrap());
        program.env("CRH_ANALYSERS", "auto").run()
    };
    let checked = run(&["check", "HEAD~1..HEAD"]).shown();
    assert!(!checked.contains("shim") && !checked.contains("ruff"), "{checked}");
    let doctor = run(&["doctor"]).shown();
    assert!(doctor.contains("shims/ruff` is a shim"), "{doctor}");
}
