//! The TypeScript compiler. Runs only on trusted changes, because it needs the whole tree and the
//! installed modules.

use std::time::Duration;

use super::analyser::{Analyser, AnalyserInput, TrustedRepo};
use super::diagnostic::{AnalyserReport, Diagnostic};
use super::output::stderr_summary;
use super::scratch::Scratch;
use crate::Project;
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_review::finding::{Category, Confidence, Severity, Side};

/// A large project takes a minute.
pub(super) const TIMEOUT: Duration = Duration::from_secs(180);
const CONFIG_FILE: &str = "tsconfig.json";
/// Errors about missing dependencies. crh drops them.
const NOT_INSTALLED_CODES: [&str; 4] = ["TS2307", "TS2688", "TS7016", "TS6053"];

pub(super) struct TscAnalyser<'a> {
    pub(super) trusted: &'a TrustedRepo,
}

impl Analyser for TscAnalyser<'_> {
    fn handles(&self, path: &str, _: &dyn Fn() -> Vec<u8>) -> bool {
        matches!(extension(path).as_str(), "ts" | "mts" | "cts" | "tsx")
    }

    fn is_affected_by(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let is_config = name.starts_with("tsconfig") && name.ends_with(".json");
        self.handles(path, &Vec::new) || name == "package.json" || is_config
    }

    fn input(&self) -> AnalyserInput<'_> {
        AnalyserInput::Tree(self.trusted)
    }

    fn missing_config(&self, project: &dyn Project) -> Option<String> {
        let is_configured = matches!(project.file(Side::New, CONFIG_FILE), Ok(Some(_)));
        (!is_configured).then(|| format!("the root folder has no `{CONFIG_FILE}`"))
    }

    fn is_per_file(&self) -> bool {
        false
    }

    fn line_ends(&self) -> &'static [char] {
        &['\r', '\u{2028}', '\u{2029}']
    }

    fn args(&self, _: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        let args = ["--noEmit", "--pretty", "false", "--project", CONFIG_FILE];
        Ok(args.into_iter().map(str::to_owned).collect())
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String> {
        let text = String::from_utf8_lossy(&output.stdout);
        let diagnostics: Vec<Diagnostic> = text.lines().filter_map(parse_line).collect();
        // tsc exits with 1 or 2 if it reports anything.
        if diagnostics.is_empty() && !output.status.success() {
            let complaint = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
            return Err(format!("failed: {}", stderr_summary(complaint)));
        }
        Ok(AnalyserReport { diagnostics, unparsed_files: Vec::new() })
    }
}

/// Parses a line such as `src/a.ts(3,5): error TS2345: Argument of type …`.
fn parse_line(line: &str) -> Option<Diagnostic> {
    let (location, rest) = line.split_once("): error ")?;
    let (path, position) = location.rsplit_once('(')?;
    let (row, _) = position.split_once(',')?;
    let (rule, message) = rest.split_once(": ")?;
    let is_code = rule.strip_prefix("TS")?.bytes().all(|byte| byte.is_ascii_digit());
    if !is_code || NOT_INSTALLED_CODES.contains(&rule) {
        return None;
    }
    Some(Diagnostic {
        path: path.to_owned(),
        line: row.parse().ok()?,
        rule: rule.to_owned(),
        message: message.to_owned(),
        severity: Severity::P2,
        category: Category::Bug,
        confidence: Confidence::thousandths(850),
        why: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_diagnostic_lines_are_parsed() {
        let read = |line| parse_line(line).map(|it| (it.path, it.line, it.rule, it.message));
        assert_eq!(
            read("src/a (1).ts(3,5): error TS2345: Argument: of type."),
            Some(("src/a (1).ts".into(), 3, "TS2345".into(), "Argument: of type.".into()))
        );
        for other in [
            "  The types of 'x' are incompatible.",
            "error TS5058: The specified path does not exist.",
            "a.ts(1,1): error TS2307: Cannot find module 'x'.",
            "a.ts(1,1): error XX1: no.",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
