//! semgrep with the rules of the repository's base, so that a change cannot disable a rule for
//! itself. Rules are data; crh never downloads any.

use std::time::Duration;

use serde::Deserialize;

use super::analyser::{Analyser, path_argument};
use super::diagnostic::{AnalyserReport, Diagnostic};
use super::output::stderr_summary;
use super::scratch::Scratch;
use crate::Project;
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_review::finding::{Category, Confidence, Severity, Side};

/// semgrep takes seconds to start.
pub(super) const TIMEOUT: Duration = Duration::from_secs(90);
/// Where repositories keep semgrep rules.
const RULE_FILES: [&str; 2] = [".semgrep.yml", ".semgrep.yaml"];
const RULE_FOLDER: &str = ".semgrep/";
const IGNORE_FILE: &str = ".semgrepignore";
const RULE_FILES_MAX: usize = 200;

pub(super) struct SemgrepAnalyser {
    /// Contents of the rule files.
    pub(super) rules: Vec<Vec<u8>>,
}

#[derive(Deserialize)]
struct SemgrepOutput {
    results: Vec<SemgrepResult>,
    #[serde(default)]
    errors: Vec<SemgrepError>,
}

/// An error with a path is about a file that semgrep could not parse, or not in time. An error
/// without a path is about the rules.
#[derive(Deserialize)]
struct SemgrepError {
    path: Option<String>,
}

#[derive(Deserialize)]
struct SemgrepResult {
    check_id: String,
    path: String,
    start: SemgrepPosition,
    extra: SemgrepExtra,
}

#[derive(Deserialize)]
struct SemgrepPosition {
    line: u32,
}

#[derive(Deserialize)]
struct SemgrepExtra {
    message: String,
    severity: String,
}

/// The contents of the rule files in the base; `None` if there are none.
pub(super) fn rules(project: &dyn Project) -> Option<Vec<Vec<u8>>> {
    let paths = project.paths(Side::Old).ok()?;
    let is_rule = |path: &&String| {
        let is_in_folder =
            path.starts_with(RULE_FOLDER) && matches!(extension(path).as_str(), "yml" | "yaml");
        is_in_folder || RULE_FILES.contains(&path.as_str())
    };
    let files = paths.iter().filter(is_rule).take(RULE_FILES_MAX);
    let rules: Vec<_> = files.filter_map(|path| project.file(Side::Old, path).ok()?).collect();
    (!rules.is_empty()).then_some(rules)
}

impl Analyser for SemgrepAnalyser {
    fn handles(&self, path: &str, _: &dyn Fn() -> Vec<u8>) -> bool {
        // All languages: each rule names its own. Rule files are not code. semgrep does not get
        // the ignore file of a change, so that the change cannot exclude files.
        !path.starts_with(RULE_FOLDER)
            && !RULE_FILES.contains(&path)
            && !path.ends_with(IGNORE_FILE)
    }

    fn checks_files_alone(&self) -> bool {
        // Each start takes seconds, and semgrep itself limits the time for each file.
        false
    }

    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String> {
        let general_args =
            ["scan", "--json", "--metrics=off", "--disable-version-check", "--quiet"];
        // crh applies ignore comments itself.
        let scan_args =
            ["--no-git-ignore", "--disable-nosem", "--oss-only", "--jobs=2", "--timeout=10"];
        let mut args: Vec<String> =
            general_args.into_iter().chain(scan_args).map(str::to_owned).collect();
        for (at, bytes) in self.rules.iter().enumerate() {
            // Numbered, because semgrep puts the file name into the rule name.
            let file = scratch.write_extra(&format!("rules/{at}.yml"), bytes);
            let file = file.map_err(|why| format!("cannot write the semgrep rules: {why}"))?;
            args.push(format!("--config={}", file.display()));
        }
        args.push("--".to_owned());
        args.extend(files.iter().map(path_argument));
        Ok(args)
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String> {
        let json: Result<SemgrepOutput, _> = serde_json::from_slice(&output.stdout);
        let json = json.map_err(|_| format!("failed: {}", stderr_summary(&output.stderr)))?;
        let diagnostics = json.results.into_iter().filter_map(diagnostic).collect();
        let unparsed_files = json.errors.into_iter().filter_map(|error| error.path).collect();
        Ok(AnalyserReport { diagnostics, unparsed_files })
    }
}

fn diagnostic(result: SemgrepResult) -> Option<Diagnostic> {
    let severity = match result.extra.severity.as_str() {
        "CRITICAL" | "HIGH" | "ERROR" => Severity::P2,
        "MEDIUM" | "WARNING" => Severity::P3,
        // Informational results are dropped.
        _ => return None,
    };
    // semgrep prefixes the rule name with the folders of its file.
    let rule = result.check_id.rsplit('.').next().unwrap_or_default().to_owned();
    Some(Diagnostic {
        path: result.path,
        line: result.start.line,
        rule,
        message: result.extra.message,
        severity,
        category: Category::Standards,
        confidence: Confidence::thousandths(800),
        why: String::new(),
    })
}
