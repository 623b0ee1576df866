//! The TypeScript compiler, on a trusted change alone: it needs the whole tree and what is installed in the checkout.

use std::time::Duration;

use super::said::Said;
use super::{Analyser, Installed, Needs, Scratch, Trusted, words};
use crate::Project;
use crate::paths::extension;
use crate::process::Finished;
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const NAME: &str = "tsc";
/// A large project takes a minute.
const TIME: Duration = Duration::from_secs(180);
const CONFIGURATION: &str = "tsconfig.json";
/// Something that it needs is not installed: the rest of what it says follows from that.
const NOT_INSTALLED: [&str; 4] = ["TS2307", "TS2688", "TS7016", "TS6053"];

pub(super) struct Tsc<'a> {
    pub(super) program: &'a Installed,
    pub(super) trusted: &'a Trusted,
}

/// Whether the project is one for it.
pub(super) fn is_configured(project: &dyn Project) -> bool {
    matches!(project.file(Side::New, CONFIGURATION), Ok(Some(_)))
}

impl Analyser for Tsc<'_> {
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
        matches!(extension(path).as_str(), "ts" | "mts" | "cts" | "tsx")
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Tree(self.trusted)
    }

    fn asks_about_files(&self) -> bool {
        false
    }

    fn args(&self, _: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        let args = ["--noEmit", "--pretty", "false", "--project", CONFIGURATION];
        Ok(args.into_iter().map(str::to_owned).collect())
    }

    fn read(&self, finished: &Finished) -> Result<Vec<Said>, String> {
        let text = String::from_utf8_lossy(&finished.stdout);
        let said: Vec<Said> = text.lines().filter_map(said).collect();
        // It ends with 1 or 2 if it has something to say.
        if said.is_empty() && !finished.status.success() {
            let complaint =
                if finished.stderr.is_empty() { &finished.stdout } else { &finished.stderr };
            return Err(format!("it failed: {}", words(complaint)));
        }
        Ok(said)
    }
}

/// A line as it prints them: `src/a.ts(3,5): error TS2345: Argument of type …`.
fn said(line: &str) -> Option<Said> {
    let (place, rest) = line.split_once("): error ")?;
    let (path, position) = place.rsplit_once('(')?;
    let (row, _) = position.split_once(',')?;
    let (rule, message) = rest.split_once(": ")?;
    let is_code = rule.strip_prefix("TS")?.bytes().all(|byte| byte.is_ascii_digit());
    if !is_code || NOT_INSTALLED.contains(&rule) {
        return None;
    }
    Some(Said {
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
    fn a_diagnostic_is_a_line_and_the_rest_is_none() {
        let read = |line| said(line).map(|it| (it.path, it.line, it.rule, it.message));
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
