//! Overhead of `crh review`: time relative to the models' time, and memory.
//!
//! The real program reviews a change in eight scopes with a fake model that is as fast as a fast
//! real one. The lower bound is the chain of dependent calls: two of the orchestrator, those of one
//! sub-agent and those of one check. `cargo bench -p crh-cli --bench review` prints one line per
//! measure and fails if a limit is exceeded. The fake model's own time is included, so run it on an
//! idle machine.

#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up must fail")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crh_testkit::fake_model::{FakeRequest, PromptPart, ScriptedReply, calls, calls_all};
use crh_testkit::measure::{high_water, is_within};
use crh_testkit::{FakeModel, Repo};

/// Response time of the fake model.
const ANSWER: Duration = Duration::from_millis(200);

/// Scopes of the change, and files in each.
const SCOPES: usize = 8;
const FILES: usize = 3;

/// Dependent turns: the orchestrator's, a sub-agent's including its report, and a check's.
const ORCHESTRATOR_TURNS: usize = 2;
const SUB_AGENT_TURNS: usize = 5;
const CHECK_TURNS: usize = 2;

/// A check handles six issues, checks run in parallel, and every sub-agent reports one issue.
const CHECKS: usize = SCOPES.div_ceil(6);

fn main() -> ExitCode {
    let bench = Bench::new();
    // First, because it also creates the private store, like a user's first review.
    let memory = bench.memory();
    let turns = ORCHESTRATOR_TURNS + SUB_AGENT_TURNS + CHECK_TURNS;
    let model = ANSWER * u32::try_from(turns).unwrap();
    let times: Vec<Duration> = (0..3).map(|_| bench.time()).collect();
    let all = times.iter().map(|time| format!("{time:.0?}")).collect::<Vec<_>>().join(", ");
    let best = times.into_iter().min().unwrap();
    let ratio = best.as_secs_f64() / model.as_secs_f64();
    let detail = format!("the best of {all} / {turns} x {ANSWER:.0?}");
    let fast = is_within("crh review / the calls that wait for each other", ratio, 1.15, &detail);
    let small = match memory {
        None => {
            println!("  -  memory is measured where /proc is");
            true
        }
        Some(kilobytes) => {
            let megabytes = kilobytes as f64 / 1024.0;
            let detail = format!("{megabytes:.0} MB");
            is_within("peak memory of crh review / 150 MB", megabytes / 150.0, 1.0, &detail)
        }
    };
    if fast && small { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A repository with a change, a model, and a folder for crh's files.
struct Bench {
    repo: Repo,
    own: TempDir,
}

impl Bench {
    fn new() -> Self {
        // Use a RAM disk if there is one, so that no disk is measured.
        let memory = Path::new("/dev/shm");
        let own = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() }.unwrap();
        Self { repo: repo(), own }
    }

    /// Duration of a review process.
    fn time(&self) -> Duration {
        let model = FakeModel::answering(answer).forgetful();
        let start = Instant::now();
        let ended = self.start(&model).wait_with_output().unwrap();
        let time = start.elapsed();
        check(&model, &String::from_utf8_lossy(&ended.stdout));
        time
    }

    /// Peak memory of a review in kilobytes, if known.
    fn memory(&self) -> Option<u64> {
        let model = FakeModel::answering(answer).forgetful();
        let mut child = self.start(&model);
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0;
        // Peak memory only grows, so the last sample is nearly exact.
        while child.try_wait().unwrap().is_none() {
            peak = peak.max(high_water(&status));
            std::thread::sleep(Duration::from_millis(2));
        }
        check(&model, &String::from_utf8_lossy(&child.wait_with_output().unwrap().stdout));
        (peak > 0).then_some(peak)
    }

    #[expect(clippy::disallowed_methods, reason = "measures the real program")]
    fn start(&self, model: &FakeModel) -> Child {
        let own = |name: &str| self.own.path().join(name);
        Command::new(env!("CARGO_BIN_EXE_crh"))
            .current_dir(self.repo.path())
            // Cargo sets it for benchmarks, which slows down program start.
            .env_remove("LD_LIBRARY_PATH")
            .env("HOME", self.own.path())
            .env("CRH_STORE", own("store"))
            .env("CRH_STRATEGY", "delegate")
            .env("OPENAI_API_KEY", "sk-not-a-real-key-0123456789")
            .env("OPENAI_BASE_URL", model.url())
            .args(["review", "HEAD~1..HEAD", "--format", "json", "--run-dir"])
            .arg(own("runs"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// Checks that the measured run was a complete review.
fn check(model: &FakeModel, stdout: &str) {
    let report: Value = serde_json::from_str(stdout).unwrap();
    assert_eq!((&report["status"], &report["verdict"]), (&json!("ok"), &json!("Ready with fixes")));
    assert_eq!(report["issues"].as_array().unwrap().len(), SCOPES);
    let expected = ORCHESTRATOR_TURNS + SCOPES * SUB_AGENT_TURNS + CHECKS * CHECK_TURNS;
    assert_eq!(model.usage().requests, expected as u64);
}

fn path(scope: usize, file: usize) -> String {
    format!("src/part_{scope}/file_{file}.py")
}

/// A wrong line of the change.
fn wrong(scope: usize, file: usize) -> String {
    format!("    return total_{scope}_{file} / 0")
}

/// A repository of a few hundred files, whose last commit changes the files of the scopes in three
/// places each.
fn repo() -> Repo {
    let repo = Repo::new();
    for edited in [false, true] {
        let files = (0..SCOPES).flat_map(|scope| (0..FILES).map(move |file| (scope, file)));
        let files = files.map(|(scope, file)| (path(scope, file), text(scope, file, edited)));
        let others = (0..300).map(|other| (format!("lib/other_{other}.py"), text(9, other, false)));
        let others: Vec<_> = if edited { Vec::new() } else { others.collect() };
        repo.import(files.chain(others));
    }
    repo
}

fn text(scope: usize, file: usize, edited: bool) -> String {
    let function = |number: usize| {
        let mut text = format!("def function_{number}(first, second):\n");
        for line in 0..12 {
            text += &format!("    value_{line} = first[{line}] + second.part_{number}\n");
        }
        if edited && number.is_multiple_of(8) {
            text += &format!("    value_12 = value_{number} * 2\n    print(value_12)\n");
        }
        match edited && number == 8 {
            true => text + &wrong(scope, file) + "\n\n\n",
            false => text + "    return value_0\n\n\n",
        }
    };
    (0..20).map(function).collect()
}

/// Reply of the fake model, derived from the conversation.
fn answer(asked: &FakeRequest) -> ScriptedReply {
    let messages = asked.body["messages"].as_array().unwrap();
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    let said = match asked.caller.split_once("sub-agent-") {
        Some((_, slot)) => reviews(slot.parse::<usize>().unwrap() - 1, turn),
        None if asked.caller == "orchestrator" => orchestrates(asked, turn),
        None => checks(asked, turn),
    };
    said.delayed(ANSWER)
}

fn orchestrates(asked: &FakeRequest, turn: usize) -> ScriptedReply {
    if turn == 0 {
        let files = |scope| (0..FILES).map(|file| path(scope, file)).collect::<Vec<_>>();
        let scopes = (0..SCOPES)
            .map(|scope| json!({ "scope": format!("part {scope}"), "files": files(scope) }));
        return calls("delegate_review", json!({ "scopes": scopes.collect::<Vec<_>>() }));
    }
    let last = asked.prompt_parts().into_iter().rev().find_map(|read| match read {
        PromptPart::Result(text) => Some(text),
        _ => None,
    });
    let answer: Value = serde_json::from_str(&last.unwrap()).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    let ids: Vec<&Value> = findings.iter().map(|finding| &finding["id"]).collect();
    calls("submit_review", json!({ "keep": ids, "drop": [], "summary": "All parts have it." }))
}

fn reviews(scope: usize, turn: usize) -> ScriptedReply {
    let each = |tool: &'static str| {
        (0..FILES).map(move |file| (tool, json!({ "path": path(scope, file) })))
    };
    match turn {
        0 => calls_all(each("diff_get_file")),
        1 => calls("repo_read", json!({ "path": path(scope, 0) })),
        2 => calls("repo_grep", json!({ "pattern": "total_[0-9]+" })),
        3 => calls_all(each("mark_file_reviewed")),
        _ => {
            let findings = json!([finding(scope)]);
            calls("report_findings", json!({ "findings": findings, "summary": "A division." }))
        }
    }
}

fn finding(scope: usize) -> Value {
    let snippet = wrong(scope, 1);
    json!({
        "title": format!("The total of part {scope} is divided by zero"),
        "severity": "P1",
        "category": "bug",
        "file": path(scope, 1),
        "line_start": 130,
        "confidence": 0.75,
        "evidence": [{ "file": path(scope, 1), "line": 130, "side": "new", "snippet": snippet }],
        "why_it_matters": "Every call fails with ZeroDivisionError.",
        "autofix_class": "manual",
        "owner": "human",
        "requires_verification": false,
        "pre_existing": false,
    })
}

fn checks(asked: &FakeRequest, turn: usize) -> ScriptedReply {
    if turn == 0 {
        return calls("repo_grep", json!({ "pattern": "ZeroDivisionError" }));
    }
    let claims = asked.prompt_parts().into_iter().find_map(|read| match read {
        PromptPart::User(text) if text.contains("\nid: ") => Some(text),
        _ => None,
    });
    let claims = claims.unwrap();
    let ids = claims.lines().filter_map(|line| line.strip_prefix("id: "));
    let said = |id| json!({ "id": id, "verdict": "confirmed", "reason": "The divisor is zero." });
    calls("report_checks", json!({ "checks": ids.map(said).collect::<Vec<_>>() }))
}
