//! semgrep, with the rules that the repository brings along: those of the base, so that a change cannot switch one off for itself. Rules are
//! data; none is ever fetched.

use std::time::Duration;

use serde::Deserialize;

use super::said::Said;
use super::{Analyser, Installed, Needs, Scratch, argument, words};
use crate::Project;
use crate::paths::extension;
use crate::process::Finished;
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const NAME: &str = "semgrep";
/// It takes seconds to start.
const TIME: Duration = Duration::from_secs(90);
/// Where people keep rules.
const FILES: [&str; 2] = [".semgrep.yml", ".semgrep.yaml"];
const FOLDER: &str = ".semgrep/";
/// The file that lists what it leaves out.
const IGNORED: &str = ".semgrepignore";
/// More files of rules than a team writes.
const RULE_FILES_MAX: usize = 200;

pub(super) struct Semgrep<'a> {
    pub(super) program: &'a Installed,
    /// The files of rules: their names, and what is in them.
    pub(super) rules: Vec<(String, Vec<u8>)>,
}

#[derive(Deserialize)]
struct Printed {
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Outcome {
    check_id: String,
    path: String,
    start: Position,
    extra: Extra,
}

#[derive(Deserialize)]
struct Position {
    line: u32,
}

#[derive(Deserialize)]
struct Extra {
    message: String,
    severity: String,
}

/// The rules of the repository before the change; none if it has none.
pub(super) fn rules(project: &dyn Project) -> Option<Vec<(String, Vec<u8>)>> {
    let paths = project.paths(Side::Old).ok()?;
    let is_rule = |path: &&String| {
        let is_in_folder =
            path.starts_with(FOLDER) && matches!(extension(path).as_str(), "yml" | "yaml");
        is_in_folder || FILES.contains(&path.as_str())
    };
    let files = paths.iter().filter(is_rule).take(RULE_FILES_MAX);
    let rules: Vec<_> = files
        .filter_map(|path| Some((path.clone(), project.file(Side::Old, path).ok()??)))
        .collect();
    (!rules.is_empty()).then_some(rules)
}

impl Analyser for Semgrep<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn installed(&self) -> &Installed {
        self.program
    }

    fn time(&self) -> Duration {
        TIME
    }

    fn wants(&self, path: &str, _: &dyn Fn() -> Vec<u8>) -> bool {
        // The rules say what they are about; the rules themselves are not code, and what the change wants left out is not asked.
        !path.starts_with(FOLDER) && !FILES.contains(&path) && !path.ends_with(IGNORED)
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Files
    }

    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String> {
        let fixed = ["scan", "--json", "--metrics=off", "--disable-version-check", "--quiet"];
        // What a comment silences is for us to say.
        let more = ["--no-git-ignore", "--disable-nosem", "--oss-only", "--jobs=2", "--timeout=10"];
        let mut args: Vec<String> = fixed.into_iter().chain(more).map(str::to_owned).collect();
        for (at, (_, bytes)) in self.rules.iter().enumerate() {
            // Named by their number: what is in a name would be in the name of the rule.
            let file = scratch.write_beside(&format!("rules/{at}.yml"), bytes);
            let file = file.map_err(|why| format!("writing its rules: {why}"))?;
            args.push(format!("--config={}", file.display()));
        }
        args.push("--".to_owned());
        args.extend(files.iter().map(argument));
        Ok(args)
    }

    fn read(&self, finished: &Finished) -> Result<Vec<Said>, String> {
        let printed: Result<Printed, _> = serde_json::from_slice(&finished.stdout);
        let printed = printed.map_err(|_| format!("it failed: {}", words(&finished.stderr)))?;
        Ok(printed.results.into_iter().filter_map(said).collect())
    }
}

fn said(outcome: Outcome) -> Option<Said> {
    let severity = match outcome.extra.severity.as_str() {
        "CRITICAL" | "HIGH" | "ERROR" => Severity::P2,
        "MEDIUM" | "WARNING" => Severity::P3,
        // What is only for information is nothing to hold a change up for.
        _ => return None,
    };
    // It puts the folders of the file before the name of the rule.
    let rule = outcome.check_id.rsplit('.').next().unwrap_or_default().to_owned();
    Some(Said {
        path: outcome.path,
        line: outcome.start.line,
        rule,
        message: outcome.extra.message,
        severity,
        category: Category::Standards,
        confidence: Confidence::thousandths(800),
        why: String::new(),
    })
}
