//! ruff on Python files, with rules that find defects and are almost always right.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::analyser::{Analyser, path_argument};
use super::diagnostic::{AnalyserReport, Diagnostic};
use super::output::{parse_json, stderr_summary};
use super::scratch::Scratch;
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::Language;

/// About 1,000 times as long as ruff needs for the files of a typical change.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);
/// How long an agent's tool call waits for ruff.
const TEXT_TIMEOUT: Duration = Duration::from_secs(8);
/// Rule groups to select. An unknown group is an error in some ruff versions, so only old, wide
/// groups are listed. A review drops rules that are in neither of the two lists below.
const RULE_GROUPS: &str = "F,B,PLE,PLW,PLR,ASYNC,RUF,PIE,YTT";
/// A recent Python version, so that ruff does not report syntax as too new. crh does not know the
/// project's version.
const TARGET_VERSION: &str = "py313";

/// Rules about code that raises an exception when it runs.
#[rustfmt::skip]
const RAISING_RULES: &[&str] = &[
    "F404", "F407", "F501", "F502", "F505", "F506", "F507", "F508", "F509", "F521", "F524", "F525", "F621", "F622",
    "F633", "F701", "F702", "F704", "F706", "F707", "F821", "F822", "F823",
    "B016", "B030",
    "PLE0101", "PLE0115", "PLE0117", "PLE0118", "PLE0237", "PLE0241", "PLE0303", "PLE0305", "PLE0307", "PLE0308",
    "PLE0309", "PLE0604", "PLE1132", "PLE1142", "PLE1300", "PLE1307", "PLE1507", "PLE1700",
    "PLW0245", "PLW1501",
    "RUF016",
];

/// Rules about code that does not do what it says.
#[rustfmt::skip]
const MISLEADING_RULES: &[&str] = &[
    "F601", "F602", "F631", "F632", "F634",
    "B002", "B012", "B015", "B020", "B022", "B025", "B029", "B031", "B032", "B035",
    "PIE796",
    "PLE0704", "PLE1205", "PLE1206", "PLE1310", "PLE2502",
    "PLW0127", "PLW0128", "PLW0129", "PLW0133", "PLW0711", "PLR0124",
    "ASYNC251",
    "RUF026", "RUF030",
    "YTT101", "YTT102", "YTT103", "YTT201", "YTT202", "YTT203", "YTT204", "YTT301", "YTT302", "YTT303",
];

/// Rule names of syntax errors. Some ruff versions print no rule for them.
const SYNTAX_ERRORS: [&str; 2] = ["invalid-syntax", "E999"];

pub(super) struct RuffAnalyser;

/// A ruff diagnostic for a single text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuffDiagnostic {
    /// The rule, such as `F821`.
    pub rule: String,
    /// The line, 1-based.
    pub line: u32,
    /// The message.
    pub message: String,
    /// `error` for syntax errors and code that raises when it runs, otherwise `warning`.
    pub severity: &'static str,
}

#[derive(Deserialize)]
struct RuffJsonFinding {
    code: Option<String>,
    message: String,
    filename: String,
    location: RuffJsonLocation,
}

#[derive(Deserialize)]
struct RuffJsonLocation {
    row: u32,
}

impl RuffDiagnostic {
    fn from_finding(finding: RuffJsonFinding) -> Self {
        let rule = finding.code.unwrap_or_else(|| SYNTAX_ERRORS[0].to_owned());
        let raises =
            severity(&rule) == Some(Severity::P1) || SYNTAX_ERRORS.contains(&rule.as_str());
        let severity = if raises { "error" } else { "warning" };
        Self { rule, line: finding.location.row, message: finding.message, severity }
    }
}

impl Analyser for RuffAnalyser {
    fn handles(&self, path: &str, text: &dyn Fn() -> Vec<u8>) -> bool {
        let is_script = || {
            extension(path).is_empty() && Language::of_file(path, &text()) == Some(Language::Python)
        };
        extension(path) == "py" || is_script()
    }

    fn line_ends(&self) -> &'static [char] {
        &['\r']
    }

    fn args(&self, files: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        Ok(args(files))
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String> {
        let mut report = AnalyserReport::default();
        for finding in parse_findings(output)? {
            let RuffJsonFinding { code, message, filename, location } = finding;
            let Some(rule) = code.filter(|code| !SYNTAX_ERRORS.contains(&code.as_str())) else {
                report.unparsed_files.push(filename);
                continue;
            };
            let Some(severity) = severity(&rule) else { continue };
            report.diagnostics.push(Diagnostic {
                path: filename,
                line: location.row,
                severity,
                category: Category::Bug,
                confidence: Confidence::thousandths(900),
                why: why(&rule, severity).to_owned(),
                rule,
                message,
            });
        }
        Ok(report)
    }
}

fn args(files: &[String]) -> Vec<String> {
    let fixed_args = [
        "check".to_owned(),
        "--isolated".to_owned(),
        "--no-cache".to_owned(),
        // crh applies ignore comments itself.
        "--ignore-noqa".to_owned(),
        "--exit-zero".to_owned(),
        "--output-format=json".to_owned(),
        format!("--target-version={TARGET_VERSION}"),
        format!("--select={RULE_GROUPS}"),
        "--".to_owned(),
    ];
    fixed_args.into_iter().chain(files.iter().map(path_argument)).collect()
}

fn parse_findings(output: &ProcessOutput) -> Result<Vec<RuffJsonFinding>, String> {
    if !output.status.success() {
        return Err(format!("it failed: {}", stderr_summary(&output.stderr)));
    }
    parse_json(output)
}

/// The consequence, unless the message states it.
fn why(rule: &str, severity: Severity) -> &'static str {
    match (rule, severity) {
        // A quoted annotation may never be evaluated.
        ("F821", _) => "This raises when it is evaluated.",
        ("F822", _) => "`import *` from this module raises.",
        (_, Severity::P1) => "This raises when it runs.",
        (_, Severity::P0 | Severity::P2 | Severity::P3) => "",
    }
}

fn severity(rule: &str) -> Option<Severity> {
    if RAISING_RULES.contains(&rule) {
        Some(Severity::P1)
    } else if MISLEADING_RULES.contains(&rule) {
        Some(Severity::P2)
    } else {
        None
    }
}

/// Checks a text and returns all results: the agent that called this judges them itself. `run` runs
/// ruff with arguments, in a scratch folder and within a time limit.
pub(super) fn check_text(
    name: &str,
    text: &str,
    run: impl FnOnce(Vec<String>, &Scratch, Duration) -> Result<ProcessOutput, String>,
) -> Result<Vec<RuffDiagnostic>, String> {
    let scratch = Scratch::new().map_err(|why| why.to_string())?;
    // The folder does not matter: ruff runs with `--isolated`.
    let name = name.rsplit('/').next().unwrap_or(name).to_owned();
    scratch.write(&name, text.as_bytes()).map_err(|why| why.to_string())?;
    let output = run(args(&[name]), &scratch, TEXT_TIMEOUT)?;
    let diagnostics = parse_findings(&output)?.into_iter().map(RuffDiagnostic::from_finding);
    let mut diagnostics: Vec<RuffDiagnostic> = diagnostics.collect();
    diagnostics.sort_by(|one, two| (one.line, &one.rule).cmp(&(two.line, &two.rule)));
    Ok(diagnostics)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syntax_errors_of_all_ruff_versions_are_errors() {
        for (code, expected) in [
            (r#""E999""#, "E999 error"),
            ("null", "invalid-syntax error"),
            (r#""invalid-syntax""#, "invalid-syntax error"),
            (r#""F821""#, "F821 error"),
            (r#""E501""#, "E501 warning"),
        ] {
            let text = format!(
                r#"{{"code": {code}, "message": "m", "filename": "a.py", "location": {{"row": 1}}}}"#
            );
            let found = RuffDiagnostic::from_finding(serde_json::from_str(&text).unwrap());
            assert_eq!(format!("{} {}", found.rule, found.severity), expected);
        }
    }
}
