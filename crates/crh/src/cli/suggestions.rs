//! Suggestions in errors about the command line, and notes below help texts.

use std::ffi::OsString;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::Cli;

/// Note about `crh diff`, which users take for a review.
pub(super) const DIFF_NOTE: &str =
    "To review a diff, use `crh review --diff FILE`; to review commits, `crh review A..B`";

/// Note about `crh login`, which users take for the login to a forge or to a model.
pub(super) const LOGIN_NOTE: &str = "Only Launchpad has a login. For GitHub, set `GITHUB_TOKEN` or run `gh auth login`; for models, set a key such as `ANTHROPIC_API_KEY`. `crh doctor` checks them";

/// Adds what crh knows about mistaken commands and options. Clap only compares letters. Removes
/// hidden commands from clap's suggestions.
pub(crate) fn with_suggestions(mut error: clap::Error, command_line: &[OsString]) -> clap::Error {
    let command = command_line.get(1).map(|word| word.to_string_lossy()).unwrap_or_default();
    let kinds = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg];
    let word = kinds.into_iter().find_map(|kind| match error.get(kind) {
        Some(ContextValue::String(word)) => Some(word.as_str()),
        _ => None,
    });
    let command_names = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::Strings(names)) => shown_commands(names),
        _ => Vec::new(),
    };
    let is_unlike_any = error.kind() == ErrorKind::InvalidSubcommand && command_names.is_empty();
    let tip = word.and_then(|word| tip(&command, word, is_unlike_any));
    error.remove(ContextKind::SuggestedSubcommand);
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    } else if !command_names.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(command_names));
    }
    error
}

/// The commands that are not hidden.
fn shown_commands(names: &[String]) -> Vec<String> {
    let command = Cli::command();
    let is_shown =
        |name: &&String| !command.find_subcommand(name).is_some_and(clap::Command::is_hide_set);
    names.iter().filter(is_shown).cloned().collect()
}

/// What to type instead of a word of this command. `is_unlike_any` says that the word is the name
/// of a command and resembles none.
fn tip(command: &str, word: &str, is_unlike_any: bool) -> Option<String> {
    let text = match (command, word) {
        ("scan" | "lint", _) => {
            "`crh check` runs the static checks; `crh review` asks models, too".to_owned()
        }
        ("pr" | "mr", _) => "`crh review 12` reviews pull request 12".to_owned(),
        ("run", _) => {
            "`crh review` reviews the current branch; `crh runs list` lists stored reviews"
                .to_owned()
        }
        ("diff", _) if is_unlike_any => DIFF_NOTE.to_owned(),
        ("login", _) if is_unlike_any => LOGIN_NOTE.to_owned(),
        ("config", "get" | "list") => "`crh config show` prints all settings".to_owned(),
        ("config", "set" | "edit") => {
            "edit `crh.toml`, which `crh init` writes; `crh config show` prints all settings"
                .to_owned()
        }
        ("fix", "--all") => {
            "`crh fix` applies all safe fixes; name other issues with `--issue N`".to_owned()
        }
        ("review" | "check" | "reviewers" | "prepare", "--pr" | "--mr") => {
            format!("give the pull request without an option: `crh {command} 12`")
        }
        (
            "check",
            "--model" | "--cheap-model" | "--escalation-model" | "--editor-model" | "--effort",
        ) => "`crh check` asks no model; `crh review` does".to_owned(),
        _ => return None,
    };
    Some(text)
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use expect_test::expect;

    use super::*;

    #[test]
    fn mistaken_command_gets_a_tip() {
        let lines = [
            "scan",
            "lint",
            "pr 12",
            "run",
            "diff main..x",
            "diff nmber",
            "login github",
            "config set a b",
            "fix --all",
            "review --pr 12",
            "check --pr=12",
            "check --model x",
            "revew",
        ];
        let tips = lines.map(|line| {
            let command_line: Vec<OsString> =
                ["crh"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
            let error = Cli::try_parse_from(&command_line).unwrap_err();
            let text = with_suggestions(error, &command_line).to_string();
            let tip = text.lines().find_map(|line| line.trim_start().strip_prefix("tip: "));
            format!("{line}: {}\n", tip.unwrap_or("-"))
        });
        expect![[r#"
            scan: `crh check` runs the static checks; `crh review` asks models, too
            lint: `crh check` runs the static checks; `crh review` asks models, too
            pr 12: `crh review 12` reviews pull request 12
            run: `crh review` reviews the current branch; `crh runs list` lists stored reviews
            diff main..x: To review a diff, use `crh review --diff FILE`; to review commits, `crh review A..B`
            diff nmber: a similar subcommand exists: 'number'
            login github: Only Launchpad has a login. For GitHub, set `GITHUB_TOKEN` or run `gh auth login`; for models, set a key such as `ANTHROPIC_API_KEY`. `crh doctor` checks them
            config set a b: edit `crh.toml`, which `crh init` writes; `crh config show` prints all settings
            fix --all: `crh fix` applies all safe fixes; name other issues with `--issue N`
            review --pr 12: give the pull request without an option: `crh review 12`
            check --pr=12: give the pull request without an option: `crh check 12`
            check --model x: `crh check` asks no model; `crh review` does
        "#]]
        .assert_eq(&tips[..12].concat());
        assert!(tips[12].contains("'review'") && !tips[12].contains("'serve-answer'"), "{tips:?}");
    }
}
