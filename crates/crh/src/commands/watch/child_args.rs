//! Arguments of the child commands: the arguments of `crh review --watch`, if the child command
//! accepts them.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory};

use crate::cli::Cli;

/// Arguments that crh does not copy to both commands. `--watch` goes to neither of them, and the
/// others go only to the review.
const OWN_ARGS: [&str; 4] = ["watch", "max_cost", "no_pr", "offline"];
const REVIEW: &str = "review";
const CHECK: &str = "check";

/// Arguments of the two child commands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ChildArgs {
    options: Vec<OsString>,
    check_options: Vec<OsString>,
    /// Target of the review, and `--` with paths.
    target: Vec<OsString>,
    /// `--no-pr` and `--offline` as the user gave them. A check always gets both.
    review_only: Vec<OsString>,
    max_cost: Vec<OsString>,
}

impl ChildArgs {
    /// Takes the arguments from the command line of this process.
    pub(super) fn from_command_line(line: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let command = Cli::command();
        let mut matches = command.clone().try_get_matches_from(line).ok()?;
        let (_, matches) = matches.remove_subcommand()?;
        let review = command.find_subcommand(REVIEW)?;
        let check = command.find_subcommand(CHECK)?;
        let mut args = Self {
            options: Vec::new(),
            check_options: Vec::new(),
            target: Vec::new(),
            review_only: Vec::new(),
            max_cost: Vec::new(),
        };
        for arg in review.get_arguments() {
            let id = arg.get_id();
            if matches.value_source(id.as_str()) != Some(ValueSource::CommandLine) {
                continue;
            }
            let words = words(arg, &matches);
            if id == "max_cost" {
                args.max_cost = words;
            } else if OWN_ARGS.contains(&id.as_str()) {
                let is_watch = id == "watch";
                args.review_only.extend(words.into_iter().filter(|_| !is_watch));
            } else if arg.is_positional() {
                args.target.extend(words);
            } else {
                if check.get_arguments().any(|other| other.get_id() == id) {
                    args.check_options.extend(words.clone());
                }
                args.options.extend(words);
            }
        }
        Some(args)
    }

    /// `crh check` without any network access and without a stored run.
    pub(super) fn check(&self) -> Vec<OsString> {
        let own = [CHECK, "--format=json", "--mode=report-only", "--no-pr", "--offline"];
        let own = own.map(OsString::from).into_iter();
        own.chain(self.check_options.clone()).chain(self.target.clone()).collect()
    }

    /// `crh review`. `max_usd` replaces the user's `--max-cost`.
    pub(super) fn review(&self, max_usd: Option<f64>) -> Vec<OsString> {
        let max_cost = match max_usd {
            Some(usd) => vec![format!("--max-cost={usd}").into()],
            None => self.max_cost.clone(),
        };
        let own = [REVIEW, "--format=json"].map(OsString::from).into_iter();
        let options = self.options.iter().chain(&self.review_only).chain(&max_cost).cloned();
        own.chain(options).chain(self.target.clone()).collect()
    }
}

/// An argument as the user could have typed it.
fn words(arg: &Arg, matches: &ArgMatches) -> Vec<OsString> {
    let raw_values = matches.get_raw(arg.get_id().as_str());
    let values: Vec<OsString> = raw_values.into_iter().flatten().map(OsString::from).collect();
    let Some(long) = arg.get_long() else {
        let dashes = arg.is_last_set().then(|| OsString::from("--"));
        return dashes.into_iter().chain(values).collect();
    };
    if !arg.get_action().takes_values() {
        return vec![format!("--{long}").into()];
    }
    let word = |value: OsString| {
        let mut word = OsString::from(format!("--{long}="));
        word.push(value);
        word
    };
    values.into_iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(line: &str, expected: Expect) {
        let line = line.split(' ').map(OsString::from);
        let args = ChildArgs::from_command_line(line).unwrap();
        let text = |args: Vec<OsString>| {
            let words = args.into_iter().map(|arg| arg.into_string().unwrap());
            words.collect::<Vec<String>>().join(" ")
        };
        let no_limit = None;
        expected.assert_eq(&format!("{}\n{}\n", text(args.check()), text(args.review(no_limit))));
    }

    #[test]
    fn children_get_the_arguments_that_they_have() {
        check(
            "crh review --watch",
            expect![[r#"
            check --format=json --mode=report-only --no-pr --offline
            review --format=json
        "#]],
        );
        check(
            "crh review --watch --exclude docs/** --exclude=-x --model openai:m --fail-on P2 --trust --no-pr --max-cost 1 base:main -- src a",
            expect![[r#"
                check --format=json --mode=report-only --no-pr --offline --fail-on=P2 --trust --exclude=docs/** --exclude=-x base:main -- src a
                review --format=json --fail-on=P2 --model=openai:m --trust --exclude=docs/** --exclude=-x --no-pr --max-cost=1 base:main -- src a
            "#]],
        );
    }

    #[test]
    fn limit_of_the_day_replaces_the_limit_of_the_user() {
        let line = ["crh", "review", "--watch", "--max-cost", "2", "--no-pr"].map(OsString::from);
        let args = ChildArgs::from_command_line(line).unwrap();
        let flag = |usd| {
            let words = args.review(usd);
            words.into_iter().filter(|word| word.to_string_lossy().contains("cost")).collect()
        };
        let before: Vec<OsString> = flag(None);
        assert_eq!(before, ["--max-cost=2"]);
        let after: Vec<OsString> = flag(Some(0.25));
        assert_eq!(after, ["--max-cost=0.25"]);
    }
}
