//! Commands in comments: `/crh review` and others. Only the first line of a comment counts, and it
//! must start with `/crh`, so that quoted text and code never become a command.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What every command starts with.
const PREFIX: &str = "/crh";

/// Longest reason of a dismissal, in characters.
const REASON_MAX: usize = 500;

/// A command in a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
pub enum CommentCommand {
    /// Review the pull request now.
    Review {
        /// Whether unchanged files are reviewed again.
        full: bool,
    },
    /// Hide an issue in later reviews.
    Dismiss {
        /// Number of the issue in the last report.
        issue: u32,
        /// Why.
        reason: String,
    },
    /// Show the evidence of an issue.
    Explain {
        /// Number of the issue in the last report.
        issue: u32,
    },
    /// Commit the fix of an issue, or suggest it.
    Fix {
        /// Number of the issue in the last report.
        issue: u32,
    },
    /// Stop reviewing new pushes.
    Pause,
    /// Review new pushes again.
    Resume,
    /// List the commands.
    Help,
}

/// Why a comment that starts with `/crh` is no command. crh answers its author with this message.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CommandError {
    /// Unknown command.
    #[error("this is not a command of crh")]
    Unknown,
    /// The number of an issue is missing.
    #[error("`/crh {command}` needs the number of an issue, such as `/crh {command} 3`")]
    MissingNumber {
        /// The command.
        command: &'static str,
    },
    /// A command with words that it does not take.
    #[error("`/crh {command}` takes no more words")]
    ExtraWords {
        /// The command.
        command: &'static str,
    },
}

impl CommentCommand {
    /// The command of a comment; `None` if the comment is not addressed to crh.
    pub fn parse(comment: &str) -> Option<Result<Self, CommandError>> {
        let line = comment.lines().next().unwrap_or_default();
        let rest = line.strip_prefix(PREFIX)?;
        if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
            return None;
        }
        Some(parse_words(rest))
    }

    /// The name, for logs and the audit log.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Review { full: false } => "review",
            Self::Review { full: true } => "review full",
            Self::Dismiss { .. } => "dismiss",
            Self::Explain { .. } => "explain",
            Self::Fix { .. } => "fix",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Help => "help",
        }
    }
}

fn parse_words(text: &str) -> Result<CommentCommand, CommandError> {
    let mut words = text.split_whitespace();
    let Some(name) = words.next() else { return Ok(CommentCommand::Help) };
    let rest: Vec<&str> = words.collect();
    let without_words = |command: &'static str, parsed: CommentCommand| match rest.as_slice() {
        [] => Ok(parsed),
        _ => Err(CommandError::ExtraWords { command }),
    };
    let number = |command: &'static str| {
        let word = rest.first().map(|word| word.trim_start_matches('#'));
        let number = word.and_then(|word| word.parse::<u32>().ok()).filter(|number| *number > 0);
        number.ok_or(CommandError::MissingNumber { command })
    };
    match name {
        "review" => match rest.as_slice() {
            [] => Ok(CommentCommand::Review { full: false }),
            ["full"] => Ok(CommentCommand::Review { full: true }),
            _ => Err(CommandError::ExtraWords { command: "review" }),
        },
        "dismiss" => {
            let issue = number("dismiss")?;
            let reason = rest[1..].join(" ").chars().take(REASON_MAX).collect();
            Ok(CommentCommand::Dismiss { issue, reason })
        }
        "explain" | "fix" => {
            let (command, issue) = if name == "fix" {
                ("fix", number("fix")?)
            } else {
                ("explain", number("explain")?)
            };
            match (rest.len(), command) {
                (1, "fix") => Ok(CommentCommand::Fix { issue }),
                (1, _) => Ok(CommentCommand::Explain { issue }),
                (_, command) => Err(CommandError::ExtraWords { command }),
            }
        }
        "pause" => without_words("pause", CommentCommand::Pause),
        "resume" => without_words("resume", CommentCommand::Resume),
        "help" => without_words("help", CommentCommand::Help),
        _ => Err(CommandError::Unknown),
    }
}

/// The list of commands, as Markdown.
pub const HELP: &str = "\
Commands for people with write access. A command stands alone on the first line of a comment.

| command | what crh does |
|---|---|
| `/crh review` | reviews what changed since its last review |
| `/crh review full` | reviews the whole pull request again |
| `/crh dismiss 3 REASON` | hides issue 3 of the last report in later reviews |
| `/crh explain 3` | shows the evidence of issue 3 |
| `/crh fix 3` | commits the fix of issue 3 to the branch, or suggests it |
| `/crh pause` | no longer reviews new pushes to this pull request |
| `/crh resume` | reviews new pushes again |
| `/crh help` | shows this list |
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_is_the_command() {
        let check = |comment: &str, expected: CommentCommand| {
            assert_eq!(CommentCommand::parse(comment), Some(Ok(expected)), "{comment}");
        };
        check("/crh review", CommentCommand::Review { full: false });
        check("/crh  review\tfull \r\nthanks", CommentCommand::Review { full: true });
        check("/crh explain #3", CommentCommand::Explain { issue: 3 });
        check("/crh fix 12", CommentCommand::Fix { issue: 12 });
        check("/crh pause", CommentCommand::Pause);
        check("/crh resume", CommentCommand::Resume);
        check("/crh help", CommentCommand::Help);
        check("/crh", CommentCommand::Help);
        let reason = "the caller checks it".to_owned();
        check("/crh dismiss 3 the caller  checks it", CommentCommand::Dismiss { issue: 3, reason });
        let long = format!("/crh dismiss 3 {}", "x".repeat(9_000));
        let Some(Ok(CommentCommand::Dismiss { reason, .. })) = CommentCommand::parse(&long) else {
            panic!("not a dismissal")
        };
        assert_eq!(reason.len(), REASON_MAX);
    }

    #[test]
    fn quoted_or_embedded_text_is_no_command() {
        for comment in [
            "",
            "> /crh review",
            "    /crh review",
            "`/crh review`",
            "```\n/crh review\n```",
            "Please run /crh review",
            "hello\n/crh review",
            "/crhreview",
            "/CRH review",
            "/crh\u{a0}review",
            "<!-- -->/crh review",
        ] {
            assert_eq!(CommentCommand::parse(comment), None, "{comment:?}");
        }
    }

    #[test]
    fn malformed_command_is_explained() {
        let message =
            |comment: &str| CommentCommand::parse(comment).unwrap().unwrap_err().to_string();
        assert_eq!(message("/crh approve"), "this is not a command of crh");
        assert_eq!(message("/crh review twice"), "`/crh review` takes no more words");
        assert_eq!(message("/crh pause 3"), "`/crh pause` takes no more words");
        assert_eq!(message("/crh fix 3 4"), "`/crh fix` takes no more words");
        for comment in ["/crh explain", "/crh explain x", "/crh explain 0", "/crh explain -1"] {
            let expected = "`/crh explain` needs the number of an issue, such as `/crh explain 3`";
            assert_eq!(message(comment), expected, "{comment}");
        }
    }
}
