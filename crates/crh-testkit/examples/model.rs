//! Serves a fake model for `scripts/check-mcp` until standard input ends. The arguments are a file with
//! the findings that it reports, as a JSON array, and `slow` if it never answers. Its URL is the first
//! line of standard output; for each line of standard input it prints how many requests it got.

#![expect(clippy::unwrap_used, reason = "a program for one script")]

use std::io::{BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

use crh_testkit::FakeModel;
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, calls};

/// Longer than the script runs.
const NEVER: Duration = Duration::from_secs(3_600);

fn main() {
    let mut args = std::env::args().skip(1);
    let findings = std::fs::read_to_string(args.next().unwrap()).unwrap();
    let findings: Vec<Value> = serde_json::from_str(&findings).unwrap();
    let is_slow = args.next().is_some_and(|arg| arg == "slow");
    let model = FakeModel::answering(move |request| {
        let reply = reply(request, &findings);
        if is_slow { reply.delayed(NEVER) } else { reply }
    });
    let mut out = std::io::stdout();
    writeln!(out, "{}", model.url()).unwrap();
    out.flush().unwrap();
    for line in std::io::stdin().lock().lines() {
        line.unwrap();
        writeln!(out, "{}", model.requests().len()).unwrap();
        out.flush().unwrap();
    }
}

/// Reports the findings, or confirms claims.
fn reply(request: &FakeRequest, findings: &[Value]) -> ScriptedReply {
    if request.caller.starts_with("validate") {
        let text = request.body.to_string();
        let ids = text.split("id: ").skip(1).filter_map(|rest| rest.split("\\n").next());
        let check =
            |id| json!({ "id": id, "verdict": "confirmed", "reason": "The line shows it." });
        return calls("report_checks", json!({ "checks": ids.map(check).collect::<Vec<_>>() }));
    }
    calls("report_findings", json!({ "findings": findings, "summary": "Looked at all of it." }))
}
