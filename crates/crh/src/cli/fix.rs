//! `crh fix`.

use clap::Args;

use super::flags::{AnalyserFlags, DisplayFlags, FixFlags, RoleFlags};
use super::review::TrustArgs;
use super::runs::RunDirFlag;

#[derive(Debug, Args)]
pub(crate) struct FixArgs {
    /// The stored review: the name of its run folder in `.crh/runs`, a unique prefix of that name,
    /// or the path of the folder (default: the newest)
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Fix the issue with this number, even if its fix is not marked as safe; repeatable (default:
    /// all issues with a safe fix). A fix that changes behaviour also needs `--verify`, and an issue
    /// without a ready fix needs a model; `crh show` prints the command for each issue
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse_issue_number)]
    pub(crate) issue: Vec<u32>,
    /// Print the fixes as a patch and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Undo the fixes of this stored review (default: the newest review with fixes)
    #[arg(long, value_name = "RUN", conflicts_with_all = ["run", "issue", "dry_run"])]
    pub(crate) undo: Option<Option<String>>,
    #[command(flatten)]
    pub(crate) fix: FixFlags,
    #[command(flatten)]
    pub(crate) trust: TrustArgs,
    #[command(flatten)]
    pub(crate) model: RoleFlags,
    #[command(flatten)]
    pub(crate) analysers: AnalyserFlags,
    #[command(flatten)]
    pub(crate) runs: RunDirFlag,
    #[command(flatten)]
    pub(crate) display: DisplayFlags,
}

/// Parses the number of an issue.
fn parse_issue_number(text: &str) -> Result<u32, String> {
    let digits = issue_digits(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = digits.parse().ok().filter(|_| is_number);
    number.ok_or_else(|| "write the number of an issue, such as `3`, `#3` or `I3`".to_owned())
}

/// The digits of an issue number, which users and models also write as `#3` and `I3`.
pub(crate) fn issue_digits(text: &str) -> &str {
    let name = text.trim();
    let name = name.strip_prefix('#').unwrap_or(name);
    name.strip_prefix(['I', 'i']).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issue_number_may_have_a_sign_or_a_letter() {
        for text in ["12", "#12", "I12", "i12", "#I12", " 12 "] {
            assert_eq!(parse_issue_number(text), Ok(12), "{text}");
        }
        for text in ["", "#", "I", "x12", "+12", "-1", "1.2", "99999999999"] {
            assert!(parse_issue_number(text).is_err(), "{text}");
        }
    }
}
