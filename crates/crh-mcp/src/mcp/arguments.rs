//! Arguments of the tools, and the command lines of crh that they become.

use rmcp::schemars;
use schemars::JsonSchema;
use serde::Deserialize;

use super::runs::is_run_name;

/// Maximum bytes of one argument. Longer ones are a mistake, and the system limits command lines.
const ARGUMENT_MAX: usize = 4 << 10;
/// Maximum number of paths.
const PATHS_MAX: usize = 100;
/// Prefixes of words that `crh review` reads as flags: they could choose a mode that edits, or read
/// a file.
const WORD_FLAGS: [&str; 3] = ["base:", "mode:", "plan:"];

/// An argument that crh does not accept.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
pub(crate) struct ArgumentError(String);

/// Who reviews the change
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StrategyArgument {
    /// Specialised reviewers in parallel
    Panel,
    /// One finder, then an editor
    Single,
    /// An orchestrator with sub-agents
    Delegate,
    /// Static checks only
    Static,
}

/// Limits on calls, time and cost
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BudgetArgument {
    /// 2 model calls, 60 seconds, 0.50 USD
    Quick,
    /// 200 model calls, 15 minutes, 2 USD
    Standard,
    /// 800 model calls, 1 hour, 10 USD
    Deep,
}

/// Which change to look at
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ChangeArguments {
    /// Folder of the git repository, inside the folders that the client opened; needed only if
    /// there are several
    pub(crate) repository: Option<String>,
    /// A branch, a commit, a range `A..B`, or the URL of a pull request. Default: the current
    /// branch with staged and unstaged changes
    target: Option<String>,
    /// Branch or commit to compare with, instead of the detected base
    base: Option<String>,
    /// Only uncommitted changes, including untracked files
    #[serde(default)]
    uncommitted: bool,
    /// Only staged changes
    #[serde(default)]
    staged: bool,
    /// Also files that git does not track yet, such as files that were just created
    #[serde(default)]
    include_untracked: bool,
    /// Only these files and folders of the repository
    #[serde(default)]
    paths: Vec<String>,
}

/// Which change to review, and how thoroughly
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ReviewArguments {
    #[serde(flatten)]
    pub(crate) change: ChangeArguments,
    strategy: Option<StrategyArgument>,
    budget: Option<BudgetArgument>,
    /// Maximum cost of the model calls, in US dollars
    max_cost_usd: Option<f64>,
}

/// A stored run
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct RunArguments {
    /// Folder of the git repository; needed only if the client opened several
    pub(crate) repository: Option<String>,
    /// Name of the run, as `review_change` returns it; default: the newest
    pub(crate) run: Option<String>,
}

/// An issue of a stored run
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct IssueArguments {
    /// Folder of the git repository; needed only if the client opened several
    pub(crate) repository: Option<String>,
    /// Name of the run, as `review_change` returns it; default: the newest
    pub(crate) run: Option<String>,
    /// Number of the issue in the report
    pub(crate) issue: u32,
}

/// An issue to dismiss
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DismissArguments {
    /// Folder of the git repository; needed only if the client opened several
    pub(crate) repository: Option<String>,
    /// Name of the run, as `review_change` returns it; default: the newest
    pub(crate) run: Option<String>,
    /// Number of the issue in the report
    pub(crate) issue: u32,
    /// Why the issue is no problem
    pub(crate) reason: String,
}

impl ChangeArguments {
    /// Arguments of crh after the command.
    pub(crate) fn command_line(&self) -> Result<Vec<String>, ArgumentError> {
        let mut args = Vec::new();
        if let Some(base) = &self.base {
            args.push(format!("--base={}", checked("base", base)?));
        }
        if self.uncommitted {
            args.push("--uncommitted".to_owned());
        }
        if self.staged {
            args.push("--staged".to_owned());
        }
        if self.include_untracked {
            args.push("--include-untracked".to_owned());
        }
        if let Some(target) = &self.target {
            args.push(checked_target(target)?.to_owned());
        }
        if self.paths.len() > PATHS_MAX {
            return Err(ArgumentError(format!("`paths` has more than {PATHS_MAX} entries")));
        }
        if !self.paths.is_empty() {
            args.push("--".to_owned());
        }
        for path in &self.paths {
            args.push(checked_path(path)?.to_owned());
        }
        Ok(args)
    }
}

impl ReviewArguments {
    /// Arguments of crh after the command.
    pub(crate) fn command_line(&self) -> Result<Vec<String>, ArgumentError> {
        let mut args = Vec::new();
        if let Some(strategy) = self.strategy {
            let name = match strategy {
                StrategyArgument::Panel => "panel",
                StrategyArgument::Single => "single",
                StrategyArgument::Delegate => "delegate",
                StrategyArgument::Static => "static",
            };
            args.push(format!("--strategy={name}"));
        }
        if let Some(budget) = self.budget {
            let name = match budget {
                BudgetArgument::Quick => "quick",
                BudgetArgument::Standard => "standard",
                BudgetArgument::Deep => "deep",
            };
            args.push(format!("--budget={name}"));
        }
        if let Some(cost) = self.max_cost_usd {
            if !(cost.is_finite() && cost >= 0.0) {
                return Err(ArgumentError("`max_cost_usd` must not be negative".to_owned()));
            }
            args.push(format!("--max-cost={cost}"));
        }
        args.extend(self.change.command_line()?);
        Ok(args)
    }
}

impl DismissArguments {
    /// The issue as `crh dismiss` takes it, and the reason.
    pub(crate) fn command_line(&self) -> Result<[String; 2], ArgumentError> {
        let issue = match checked_run(self.run.as_deref())? {
            Some(run) => format!("{run}#{}", self.issue),
            None => self.issue.to_string(),
        };
        let reason = checked("reason", self.reason.trim())?;
        Ok([issue, reason.to_owned()])
    }
}

/// Rejects a text that is empty, too long, has control characters, or looks like a flag.
fn checked<'a>(name: &str, text: &'a str) -> Result<&'a str, ArgumentError> {
    let problem = match text {
        "" => "is empty".to_owned(),
        _ if text.len() > ARGUMENT_MAX => format!("is longer than {ARGUMENT_MAX} bytes"),
        _ if text.starts_with('-') => "starts with `-`".to_owned(),
        _ if text.contains(char::is_control) => "contains a control character".to_owned(),
        _ => return Ok(text),
    };
    Err(ArgumentError(format!("`{name}` {problem}")))
}

fn checked_target(target: &str) -> Result<&str, ArgumentError> {
    let target = checked("target", target)?;
    if WORD_FLAGS.iter().any(|word| target.starts_with(word)) {
        return Err(ArgumentError(
            "`target` is a setting; use the other arguments of this tool".to_owned(),
        ));
    }
    match target.starts_with(['/', '~', '.']) || target.contains("/../") {
        true => Err(ArgumentError(
            "`target` is a path; name files and folders of the repository as `paths`".to_owned(),
        )),
        false => Ok(target),
    }
}

fn checked_path(path: &str) -> Result<&str, ArgumentError> {
    let path = checked("paths", path)?;
    match path.starts_with(['/', '~', ':']) || path.split('/').any(|part| part == "..") {
        true => Err(ArgumentError("`paths` may only name files of the repository".to_owned())),
        false => Ok(path),
    }
}

/// Accepts the name of a run, but no path: a path could lead out of the repository.
pub(crate) fn checked_run(run: Option<&str>) -> Result<Option<&str>, ArgumentError> {
    match run {
        Some(run) if !is_run_name(checked("run", run)?) => {
            Err(ArgumentError("`run` is not the name of a run".to_owned()))
        }
        run => Ok(run),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn command_line(arguments: Value) -> Result<String, String> {
        let arguments: ReviewArguments =
            serde_json::from_value(arguments).map_err(|error| error.to_string())?;
        arguments.command_line().map(|args| args.join(" ")).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_become_flags() {
        let all = json!({
            "target": "feature", "base": "main", "paths": ["src", "a b"], "strategy": "single",
            "budget": "quick", "max_cost_usd": 0.25,
        });
        let expected =
            "--strategy=single --budget=quick --max-cost=0.25 --base=main feature -- src a b";
        assert_eq!(command_line(all), Ok(expected.to_owned()));
        assert_eq!(command_line(json!({})), Ok(String::new()));
        let flags = json!({ "staged": true, "uncommitted": true, "include_untracked": true });
        let expected = "--uncommitted --staged --include-untracked";
        assert_eq!(command_line(flags), Ok(expected.to_owned()));
    }

    #[test]
    fn hostile_arguments_are_refused() {
        for (arguments, expected) in [
            (json!({ "target": "--mode=autofix" }), "`target` starts with `-`"),
            (
                json!({ "target": "mode:autofix" }),
                "`target` is a setting; use the other arguments of this tool",
            ),
            (
                json!({ "target": "../x" }),
                "`target` is a path; name files and folders of the repository as `paths`",
            ),
            (json!({ "base": "a\nb" }), "`base` contains a control character"),
            (json!({ "target": "x".repeat(10 << 20) }), "`target` is longer than 4096 bytes"),
            (json!({ "paths": ["a/../../b"] }), "`paths` may only name files of the repository"),
            (json!({ "paths": vec!["a"; 101] }), "`paths` has more than 100 entries"),
            (json!({ "max_cost_usd": -1 }), "`max_cost_usd` must not be negative"),
        ] {
            assert_eq!(command_line(arguments), Err(expected.to_owned()));
        }
        assert!(checked_run(Some("../run")).is_err());
        assert_eq!(checked_run(Some("20261117T210145Z_2a")), Ok(Some("20261117T210145Z_2a")));
    }
}
