//! ruff, on Python files: those of its rules that are about defects and almost always right.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Analyser, Analysers, Installed, Needs, Scratch, argument, json, said, words};
use crate::paths::extension;
use crate::process::Finished;
use crh_review::finding::{Category, Confidence, Severity};

pub(super) const NAME: &str = "ruff";
/// A thousand times what it takes for the files of a change.
const TIME: Duration = Duration::from_secs(30);
/// How long an agent waits for it.
const TEXT_TIME: Duration = Duration::from_secs(8);
/// Groups of rules. One of them that a version does not know is an error, so that they are given as wide as they have always been;
/// what is not in the lists below is dropped.
const GROUPS: &str = "F,B,PLE,PLW,PLR,ASYNC,RUF,PIE,YTT";
/// Nothing is a new feature that is not there yet: what Python the code is for is not known.
const PYTHON: &str = "py313";

/// Rules about code that raises where it is reached.
#[rustfmt::skip]
const RAISES: &[&str] = &[
    "F404", "F407", "F501", "F502", "F505", "F506", "F507", "F508", "F509", "F521", "F524", "F525", "F621", "F622",
    "F633", "F701", "F702", "F704", "F706", "F707", "F821", "F822", "F823",
    "B016", "B030",
    "PLE0101", "PLE0115", "PLE0117", "PLE0118", "PLE0237", "PLE0241", "PLE0303", "PLE0305", "PLE0307", "PLE0308",
    "PLE0309", "PLE0604", "PLE1132", "PLE1142", "PLE1300", "PLE1307", "PLE1507", "PLE1700",
    "PLW0245", "PLW1501",
    "RUF016",
];

/// Rules about code that does something else than it says.
#[rustfmt::skip]
const MISLEADS: &[&str] = &[
    "F601", "F602", "F631", "F632", "F634",
    "B002", "B012", "B015", "B020", "B022", "B025", "B029", "B031", "B032", "B035",
    "PIE796",
    "PLE0704", "PLE1205", "PLE1206", "PLE1310", "PLE2502",
    "PLW0127", "PLW0128", "PLW0129", "PLW0133", "PLW0711", "PLR0124",
    "ASYNC251",
    "RUF026", "RUF030",
    "YTT101", "YTT102", "YTT103", "YTT201", "YTT202", "YTT203", "YTT204", "YTT301", "YTT302", "YTT303",
];

pub(super) struct Ruff<'a> {
    pub(super) program: &'a Installed,
}

/// What ruff says about a line, for whoever asked about a text alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The rule, such as `F821`.
    pub rule: String,
    /// The line, counted from 1.
    pub line: u32,
    /// What is wrong.
    pub message: String,
    /// `error` for what raises where it is reached, `warning` for the rest.
    pub severity: &'static str,
}

/// A finding as it is printed; of what else is there, nothing is needed.
#[derive(Deserialize)]
struct Printed {
    code: Option<String>,
    message: String,
    filename: String,
    location: Location,
}

#[derive(Deserialize)]
struct Location {
    row: u32,
}

impl Analyser for Ruff<'_> {
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
        extension(path) == "py"
    }

    fn needs(&self) -> Needs<'_> {
        Needs::Files
    }

    fn args(&self, files: &[String], _: &Scratch) -> Result<Vec<String>, String> {
        Ok(args(files))
    }

    fn read(&self, finished: &Finished) -> Result<Vec<said::Said>, String> {
        let said = printed(finished)?.into_iter().filter_map(|printed| {
            let Printed { code, message, filename, location } = printed;
            let rule = code?;
            let severity = severity(&rule)?;
            Some(said::Said {
                path: filename,
                line: location.row,
                severity,
                category: Category::Bug,
                confidence: Confidence::thousandths(900),
                why: why(&rule, severity).to_owned(),
                rule,
                message,
            })
        });
        Ok(said.collect())
    }
}

fn args(files: &[String]) -> Vec<String> {
    let fixed = [
        "check".to_owned(),
        "--isolated".to_owned(),
        "--no-cache".to_owned(),
        // What a comment silences is for us to say.
        "--ignore-noqa".to_owned(),
        "--exit-zero".to_owned(),
        "--output-format=json".to_owned(),
        format!("--target-version={PYTHON}"),
        format!("--select={GROUPS}"),
        "--".to_owned(),
    ];
    fixed.into_iter().chain(files.iter().map(argument)).collect()
}

fn printed(finished: &Finished) -> Result<Vec<Printed>, String> {
    if !finished.status.success() {
        return Err(format!("it failed: {}", words(&finished.stderr)));
    }
    json(finished)
}

/// What comes of it, as far as the message does not say it.
fn why(rule: &str, severity: Severity) -> &'static str {
    match (rule, severity) {
        // An annotation in quotes may never be.
        ("F821", _) => "This raises where it is evaluated.",
        ("F822", _) => "Importing everything from this module raises.",
        (_, Severity::P1) => "This raises where it is reached.",
        (_, Severity::P0 | Severity::P2 | Severity::P3) => "",
    }
}

/// How bad it is; none if it is not among the rules.
fn severity(rule: &str) -> Option<Severity> {
    if RAISES.contains(&rule) {
        Some(Severity::P1)
    } else if MISLEADS.contains(&rule) {
        Some(Severity::P2)
    } else {
        None
    }
}

/// What ruff says about a text, by all of its groups: whoever asks by hand judges by themselves.
pub(super) fn about_text(
    analysers: &Analysers,
    program: &Installed,
    name: &str,
    text: &str,
) -> Result<Vec<Said>, String> {
    let scratch = Scratch::new().map_err(|why| why.to_string())?;
    // Where the file is would only make it look there.
    let name = name.rsplit('/').next().unwrap_or(name).to_owned();
    scratch.write(&name, text.as_bytes()).map_err(|why| why.to_string())?;
    let finished = analysers.run(program, args(&[name]), &scratch, Vec::new(), TEXT_TIME)?;
    let said = printed(&finished)?.into_iter().map(|printed| {
        let rule = printed.code.unwrap_or_else(|| "invalid-syntax".to_owned());
        let raises = severity(&rule) == Some(Severity::P1) || rule == "invalid-syntax";
        let severity = if raises { "error" } else { "warning" };
        Said { rule, line: printed.location.row, message: printed.message, severity }
    });
    let mut said: Vec<Said> = said.collect();
    said.sort_by(|one, two| (one.line, &one.rule).cmp(&(two.line, &two.rule)));
    Ok(said)
}
