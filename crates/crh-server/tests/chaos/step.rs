//! In the place of `crh prepare`, `crh review` and `crh post`: the same arguments, files and exit codes.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use crh_server::worker::{PARENT_VARIABLE, end_with_parent};

use crate::{
    ADDRESS,
    services::{CALL_COST, Reply, Request, send},
};

/// Model calls of one review.
const CALLS: i64 = 3;

pub(crate) fn run() -> ExitCode {
    end_with_parent(std::env::var(PARENT_VARIABLE).ok().as_deref());
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let position = arguments.iter().position(|argument| argument == name)?;
        arguments.get(position + 1).cloned()
    };
    let address = std::env::var(ADDRESS).unwrap();
    let result = match arguments[0].as_str() {
        "prepare" => {
            prepare(&address, &arguments[1], &after("--head").unwrap(), &after("--pack").unwrap())
        }
        "review" => review(&address, &after("--packed").unwrap(), &after("--run-dir").unwrap()),
        "post" => post(&address, &after("--pr").unwrap(), &after("--head").unwrap()),
        other => panic!("{other}"),
    };
    match result {
        Some(()) => ExitCode::SUCCESS,
        None => {
            eprintln!("error: the service failed");
            ExitCode::from(3)
        }
    }
}

fn prepare(address: &str, target: &str, head: &str, pack: &str) -> Option<()> {
    assert!(std::env::var("GITHUB_TOKEN").is_ok() && std::env::var("ANTHROPIC_API_KEY").is_err());
    let (_, number) = target.split_once('#')?;
    let Reply::Pull(pull) = send(address, &Request::Pull { pull: number.parse().ok()? })? else {
        return None;
    };
    if pull.head != head {
        return None;
    }
    std::fs::write(pack, pull.repository).ok()
}

fn review(address: &str, pack: &str, runs: &str) -> Option<()> {
    assert!(std::env::var("GITHUB_TOKEN").is_err() && std::env::var("ANTHROPIC_API_KEY").is_ok());
    let repository = std::fs::read_to_string(pack).ok()?;
    let run = Path::new(runs).join(format!("20261117T120000Z_{}", std::process::id()));
    std::fs::create_dir_all(run.join("stages")).ok()?;
    for _ in 0..CALLS {
        send(address, &Request::Call { repository: repository.clone() })?;
    }
    let cost = (CALLS * CALL_COST) as f64 / 1e6;
    let report = serde_json::json!({
        "status": "ok", "verdict": "Ready to merge", "issues": [],
        "stats": { "cost_usd": cost, "tokens_used": { "in": 1, "out": 1 } },
    });
    write(&run.join("review.json"), &report.to_string())?;
    write(&run.join("metadata.json"), r#"{"completed_at": "2026-11-17T12:00:00Z"}"#)
}

/// Writes a file at once, as crh does.
fn write(path: &Path, text: &str) -> Option<()> {
    let unfinished: PathBuf = path.with_extension("unfinished");
    std::fs::write(&unfinished, text).ok()?;
    std::fs::rename(unfinished, path).ok()
}

fn post(address: &str, number: &str, head: &str) -> Option<()> {
    assert!(std::env::var("GITHUB_TOKEN").is_ok() && std::env::var("ANTHROPIC_API_KEY").is_err());
    let pull = number.parse().ok()?;
    let Reply::Reviews(heads) = send(address, &Request::Reviews { pull })? else { return None };
    if heads.iter().any(|known| known == head) {
        return Some(());
    }
    match send(address, &Request::Post { pull, head: head.to_owned() })? {
        Reply::Posted => Some(()),
        _ => None,
    }
}
