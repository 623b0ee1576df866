//! `scripts/live-check` against fakes.

use std::path::Path;

use expect_test::expect;
use serde_json::json;

use crate::user::User;
use crh_testkit::fake_forge::{Change, Dialect, FakeForge};
use crh_testkit::fake_github::{Pull, TOKEN};
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, Tokens, calls, says};
use crh_testkit::{FakeGitHub, FakeModel, Program, Repo};

/// An API key. It may only occur in a request header.
const KEY: &str = "sk-proj-4f9Tq2LmZx81RvBnWc07YdKe";

/// Answers the questions of `crh model check` as a good model does, but never the long question.
fn answer(asked: &FakeRequest) -> ScriptedReply {
    let body = asked.body.to_string();
    if asked.caller == "ask" {
        return says("one\ntwo\nthree").pieces(3).silent_after_events(4);
    }
    match () {
        () if body.contains("-7 degrees") => says("-7"),
        () if body.contains("read_thermometer") => {
            calls("read_thermometer", json!({ "city": "Oslo" }))
        }
        () if body.contains("json_schema") => says(r#"{"capital":"Oslo","letters":4}"#),
        () => says("one, two, three").pieces(3),
    }
}

/// Whether the script can run: Python is not needed to build crh.
fn has_python() -> bool {
    let folders = std::env::var_os("PATH").unwrap();
    let has = std::env::split_paths(&folders).any(|folder| folder.join("python3").is_file());
    if !has {
        crh_testkit::skip_test("scripts/live-check", "python3 is missing");
    }
    has
}

fn live_check(user: &User, args: &[&str]) -> Program {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/live-check");
    let home = user.path("");
    let args = [&[script.to_str().unwrap(), "--crh", env!("CARGO_BIN_EXE_crh")], args].concat();
    let program = Program::new("python3", &home).args(args);
    program.env("HOME", home.to_str().unwrap()).env("CRH_ANALYSERS", "never")
}

/// A repository with a branch `feature`.
fn repo_with_feature() -> Repo {
    let repo = Repo::from_fixture("//- a.py\na = 1\n//- head\n//- a.py\na = 2\n");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("a.py", "a = 3\n");
    repo.commit("three");
    repo.git(&["checkout", "--quiet", "main"]);
    repo
}

#[test]
fn live_check_removes_its_comment_from_gitlab_and_gitea() {
    if !has_python() {
        return;
    }
    let repo = repo_with_feature();
    for (dialect, name, path) in
        [(Dialect::GitLab, "GitLab", "acme/web/shop"), (Dialect::Gitea, "Gitea", "acme/shop")]
    {
        let forge = FakeForge::start_below(dialect, "/forge");
        forge.repository(path, &repo);
        let change = forge.change(path, Change::default());
        // More comments than one page has.
        for number in 0..120 {
            forge.comment(&change, "ann", &format!("Comment {number}"));
        }
        let user = User::new();
        let program = live_check(&user, &["--pull", &forge.change_url(&change)]);
        let output = program.envs(&forge.environment()).run();
        assert_eq!(output.code, 0, "{}", output.shown());
        for result in ["read: works: 1 files", "post a comment: works", "remove the comment: works"]
        {
            assert!(output.stdout.contains(&format!("{name}: {result}")), "{}", output.shown());
        }
        assert_eq!(forge.comments(&change).len(), 120);
        assert_eq!(forge.surprises(), Vec::<String>::new());
    }
}

#[test]
fn missing_program_is_one_error() {
    if !has_python() {
        return;
    }
    let output = live_check(&User::new(), &["--crh", "/nonexistent/crh"]).run();
    assert_eq!(
        (output.code, output.stderr.as_str()),
        (
            1,
            "error: `/nonexistent/crh` is not a program\n\
             hint: install crh, or name it with `--crh PROGRAM`\n"
        )
    );
}

#[test]
fn report_path_is_checked_before_the_first_request() {
    if !has_python() {
        return;
    }
    let user = User::new();
    user.write("folder/file", "");
    let model = FakeModel::start();
    let name = format!("openai:qwen2.5-coder:7b@{}", model.url());
    for report in ["missing/report.md", "folder"] {
        let output = live_check(&user, &["--model", &name, "--report", report]).run();
        assert_eq!(output.code, 1, "{}", output.shown());
        let error = format!("error: cannot write the report `{report}`: ");
        assert!(output.stderr.starts_with(&error), "{}", output.shown());
        let hint = "\nhint: name a file in an existing folder with `--report FILE`\n";
        assert!(output.stderr.ends_with(hint), "{}", output.shown());
    }
    assert!(model.requests().is_empty(), "{}", model.conversations());
}

#[test]
fn free_server_need_not_report_cached_tokens() {
    if !has_python() {
        return;
    }
    let user = User::new();
    let usage = Tokens { input: 900, output: 20, ..Tokens::default() };
    let model = FakeModel::answering(move |asked| answer(asked).usage(usage));
    let name = format!("openai:qwen2.5-coder:7b@{}", model.url());
    let output = live_check(&user, &["--model", &name]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
    let row = "caching: not reported: the server reported no cached tokens";
    assert!(output.stdout.contains(row), "{}", output.shown());
}

/// With the cheapest and one of the dearest models.
#[test]
fn live_check_stays_below_its_cost_limit() {
    if !has_python() {
        return;
    }
    let user = User::new();
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "ask" => says("one"),
        _ => answer(asked),
    });
    let program = live_check(&user, &["--model", "openai:gpt-5.5"]);
    let program = program.env("OPENAI_API_KEY", KEY).env("OPENAI_BASE_URL", &model.url());
    let output = program.run();
    let report = std::fs::read_to_string(user.path("live-check.md")).unwrap();
    let costs: Vec<f64> = report
        .lines()
        .filter(|line| line.contains("| cost |"))
        .map(|line| line.split_whitespace().rev().nth(2).unwrap().parse().unwrap())
        .collect();
    assert!(costs.len() >= 2 && costs.iter().all(|cost| *cost <= 0.05), "{}", output.shown());
    let untested = "cancelled stream: not tested: the whole answer came within two seconds";
    assert!(output.stdout.contains(untested), "{}", output.shown());
}

#[test]
fn live_check_reports_without_secrets_and_leaves_no_comment() {
    if !has_python() {
        return;
    }
    let user = User::new();
    let model = FakeModel::answering(answer);
    let repo = repo_with_feature();
    let github = FakeGitHub::start();
    github.repository("acme/shop", &repo);
    let pull = github.pull("acme/shop", Pull::default());
    let url = format!("{}/acme/shop/pull/{}", github.url(), pull.number);
    let program = |args: &[&str]| {
        let program = live_check(&user, args).env("OPENAI_API_KEY", KEY);
        program.env("OPENAI_BASE_URL", &model.url()).envs(&github.environment())
    };
    let shown = |text: &str| {
        let text = text.replace(&model.url(), "MODEL").replace(&github.url(), "GITHUB");
        text.replace(env!("CARGO_BIN_EXE_crh"), "crh")
    };
    let planned = program(&["--dry-run", "--pull", &url]).run();
    assert_eq!(planned.code, 0, "{}", planned.shown());
    for planned_step in ["crh model check openai:", "crh ask --model openai:", "DELETE GITHUB/"] {
        assert!(shown(&planned.stdout).contains(planned_step), "{}", planned.shown());
    }
    assert_eq!(model.requests().len(), 0);
    let output = program(&["--pull", &url]).run();
    expect![[r#"
        openai:gpt-6-luna: text: works: `one, two, three`
        openai:gpt-6-luna: streaming: works: 3 chunks
        openai:gpt-6-luna: usage: works: 30 input tokens, 4 output tokens
        openai:gpt-6-luna: tools: works: called the tool and used its result: `-7`
        openai:gpt-6-luna: schema: works: `{"capital":"Oslo","letters":4}`
        openai:gpt-6-luna: caching: works: 4390 of 4397 tokens read from the vendor's cache
        openai:gpt-6-luna: cancelled stream: works: note: openai:gpt-6-luna: 1 call, 78 tokens in, 2000 out, cost 0.0010 USD; calls without token counts are charged at their maximum error: timed out: no answer within the time limit hint: try again, or raise `crh ask --max-seconds`
        openai:gpt-6-luna: cost: works: 0.0015 USD
        GitHub: read: works: 1 files
        GitHub: post a comment: works: posted
        GitHub: remove the comment: works: HTTP status 204
        11 results, 0 failed; wrote live-check.md
    "#]].assert_eq(&shown(&output.stdout));
    assert_eq!(output.code, 0, "{}", output.shown());
    let report = std::fs::read_to_string(user.path("live-check.md")).unwrap();
    for text in [&report, &output.shown()] {
        assert!(!text.contains(KEY) && !text.contains(TOKEN), "{text}");
    }
    assert!(report.contains("| GitHub | remove the comment | works |"), "{report}");
    let comments = github.comments(&pull);
    assert!(comments.is_empty(), "{comments:?}");
}

#[test]
fn live_check_without_credentials_says_what_to_set() {
    if !has_python() {
        return;
    }
    let output = live_check(&User::new(), &[]).run();
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(output.stderr.contains("hint: set one, for example"), "{}", output.shown());
}
