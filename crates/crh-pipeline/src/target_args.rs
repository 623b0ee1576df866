//! What the user asked for: words and flags become one target, one mode and one plan, or a sentence that says
//! which of them do not go together.

use crh_forge::github::NameError;
use crh_forge::launchpad;

/// What is to be reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The current branch against its base: what is committed, staged and not staged, together.
    CurrentBranch,
    /// The same against a base that was named.
    Against(String),
    /// What is not committed yet, with files that git does not know yet.
    Uncommitted,
    /// What is staged.
    Staged,
    /// One commit, against its first parent.
    Commit(String),
    /// From one commit to another.
    Range(Range),
    /// A branch, or a commit, against its base; without touching the checkout.
    Named(String),
    /// A pull request or a merge proposal, as it was typed: a number, `owner/name#number`, or an address.
    PullRequest(String),
    /// A diff that was handed in.
    Diff(Vec<u8>),
}

/// Two ends, as git writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What lies between them.
    pub dots: Dots,
}

/// How a range was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// `A..B`: from A itself.
    Two,
    /// `A...B`: from where B left A.
    Three,
}

/// What a review may ask, apply and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It asks.
    Interactive,
    /// It applies what is safe, and asks nothing.
    Autofix,
    /// It only reports.
    ReportOnly,
    /// For programs: it asks nothing and answers with an envelope.
    Headless,
}

/// What the flags say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--base REF`
    pub base: Option<String>,
    /// `--uncommitted`
    pub uncommitted: bool,
    /// `--staged`
    pub staged: bool,
    /// `--commit SHA`
    pub commit: Option<String>,
    /// `--diff FILE`, read.
    pub diff: Option<Vec<u8>>,
    /// `--mode MODE`, as often as it was given.
    pub modes: Vec<Mode>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What is to be reviewed.
    pub target: Target,
    /// How; none if nothing was said.
    pub mode: Option<Mode>,
    /// The plan that the change is held against.
    pub plan: Option<String>,
}

/// Why it cannot be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Two modes.
    #[error(
        "Review failed{}. Reason: conflicting mode flags — mode:{} and mode:{} cannot be combined.",
        if [.0, .1].contains(&&Mode::Headless) { " (headless mode)" } else { "" },
        .0.word(),
        .1.word()
    )]
    TwoModes(Mode, Mode),
    /// A base and a target.
    #[error(
        "Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base."
    )]
    BaseWithTarget,
    /// Two targets.
    #[error("{0} and {1} cannot be combined: each says what is to be reviewed")]
    TwoTargets(String, String),
    /// No such mode.
    #[error(
        "there is no mode `{0}`; the modes are `interactive`, `autofix`, `report-only` and `headless`"
    )]
    NoSuchMode(String),
    /// A word with nothing behind its colon.
    #[error("`{0}` needs something behind the colon")]
    Empty(String),
    /// Two bases or two plans.
    #[error("`{0}` was given twice")]
    Twice(&'static str),
    /// It cannot be the name of anything.
    #[error("`{0}` is not the name of a branch or commit")]
    NotAName(String),
    /// It looks like a pull request and is none.
    #[error("{}", NameError::NoName)]
    NearlyAPullRequest,
    /// It looks like a merge proposal and is none.
    #[error("{}", launchpad::NameError::NoName)]
    NearlyAMergeProposal,
}

impl Mode {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Autofix => "autofix",
            Self::ReportOnly => "report-only",
            Self::Headless => "headless",
        }
    }

    /// The mode of a name.
    pub fn from_word(word: &str) -> Option<Self> {
        let all = [Self::Interactive, Self::Autofix, Self::ReportOnly, Self::Headless];
        all.into_iter().find(|mode| mode.word() == word)
    }
}

impl Asked {
    /// Reads words (`feature`, `A..B`, `base:main`, `mode:headless`, `plan:PATH`) and flags.
    pub fn new(words: &[String], flags: Flags) -> Result<Self, AskError> {
        let mut read =
            Words { base: flags.base.clone(), modes: flags.modes.clone(), ..Words::default() };
        for word in words {
            read.take(word)?;
        }
        let mode = one_mode(&read.modes)?;
        let Words { base, plan, target, .. } = read;
        let mut targets = named_targets(flags);
        match target {
            Some(_) if base.is_some() => return Err(AskError::BaseWithTarget),
            Some(word) => targets.push((format!("`{word}`"), parse_target(&word)?)),
            None => {}
        }
        targets.extend(base.map(|base| ("a base".to_owned(), Target::Against(base))));
        let mut targets = targets.into_iter();
        let first = targets.next();
        if let (Some((one, _)), Some((other, _))) = (&first, targets.next()) {
            return Err(AskError::TwoTargets(one.clone(), other));
        }
        let target = first.map_or(Target::CurrentBranch, |(_, target)| target);
        Ok(Self { target, mode, plan })
    }
}

/// The words that have been read so far.
#[derive(Debug, Default)]
struct Words {
    modes: Vec<Mode>,
    base: Option<String>,
    plan: Option<String>,
    target: Option<String>,
}

impl Words {
    fn take(&mut self, word: &str) -> Result<(), AskError> {
        let Some((token, value)) =
            word.split_once(':').filter(|(token, _)| matches!(*token, "mode" | "base" | "plan"))
        else {
            return match self.target.replace(word.to_owned()) {
                None => Ok(()),
                Some(first) => Err(AskError::TwoTargets(format!("`{first}`"), format!("`{word}`"))),
            };
        };
        if value.is_empty() {
            return Err(AskError::Empty(word.to_owned()));
        }
        match token {
            "mode" => {
                let mode = Mode::from_word(value);
                self.modes.push(mode.ok_or_else(|| AskError::NoSuchMode(value.to_owned()))?);
                Ok(())
            }
            "base" => once(&mut self.base, value, "base:"),
            _ => once(&mut self.plan, value, "plan:"),
        }
    }
}

/// The mode that was asked for, however often. Of several, programs that want one without questions are answered in its form.
fn one_mode(modes: &[Mode]) -> Result<Option<Mode>, AskError> {
    let Some(first) = modes.first() else { return Ok(None) };
    let mut others = modes.iter().filter(|mode| *mode != first);
    let headless = others.clone().find(|mode| **mode == Mode::Headless);
    match headless.or_else(|| others.next()) {
        Some(other) => Err(AskError::TwoModes(*first, *other)),
        None => Ok(Some(*first)),
    }
}

fn once(slot: &mut Option<String>, value: &str, name: &'static str) -> Result<(), AskError> {
    match slot.replace(value.to_owned()) {
        Some(first) if first != value => Err(AskError::Twice(name)),
        Some(_) | None => Ok(()),
    }
}

/// The targets that have a flag.
fn named_targets(flags: Flags) -> Vec<(String, Target)> {
    let uncommitted = flags.uncommitted.then_some(("`--uncommitted`", Target::Uncommitted));
    let staged = flags.staged.then_some(("`--staged`", Target::Staged));
    let commit = flags.commit.map(|name| ("`--commit`", Target::Commit(name)));
    let diff = flags.diff.map(|bytes| ("`--diff`", Target::Diff(bytes)));
    let all = [uncommitted, staged, commit, diff].into_iter().flatten();
    all.map(|(name, target)| (name.to_owned(), target)).collect()
}

/// A range, a pull request, or the name of a branch or commit.
fn parse_target(word: &str) -> Result<Target, AskError> {
    let or_head = |name: &str| if name.is_empty() { "HEAD" } else { name }.to_owned();
    let range = |from: &str, to: &str, dots| {
        Target::Range(Range { from: or_head(from), to: or_head(to), dots })
    };
    if word.is_empty() || word.starts_with('-') || word.chars().any(char::is_control) {
        return Err(AskError::NotAName(word.to_owned()));
    }
    if is_pull_request(word) {
        return Ok(Target::PullRequest(word.to_owned()));
    }
    // Without its scheme.
    if word.contains("/+merge/") {
        return Err(AskError::NearlyAMergeProposal);
    }
    if is_nearly_a_pull_request(word) {
        return Err(AskError::NearlyAPullRequest);
    }
    let target = match (word.split_once("..."), word.split_once("..")) {
        (Some((from, to)), _) => range(from, to, Dots::Three),
        (None, Some((from, to))) => range(from, to, Dots::Two),
        (None, None) => Target::Named(word.to_owned()),
    };
    match &target {
        Target::Range(Range { from, to, .. }) if from.contains("..") || to.contains("..") => {
            Err(AskError::NotAName(word.to_owned()))
        }
        _ => Ok(target),
    }
}

/// A number, `owner/name#number`, or an address.
fn is_pull_request(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.contains("://")
        // Seven digits and more may be the beginning of a commit's name.
        || (is_number(word) && word.len() < 7)
        || word.split_once('#').is_some_and(|(_, number)| is_number(number))
}

/// `owner/name#` with something that is no number, or an address without its scheme. No remote is asked for such a branch; one
/// that is called so can be written as `refs/heads/NAME`.
fn is_nearly_a_pull_request(word: &str) -> bool {
    let is_repo = |text: &str| {
        let parts: Vec<&str> = text.split('/').collect();
        matches!(parts.as_slice(), [owner, name] if !owner.is_empty() && !name.is_empty())
    };
    let begins_like_number = |text: &str| {
        let text = text.strip_prefix('-').unwrap_or(text);
        text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit())
    };
    let parts: Vec<&str> = word.split('/').collect();
    let is_address =
        matches!(parts.as_slice(), [host, _, _, "pull" | "pulls", ..] if host.contains(['.', ':']));
    is_address
        || word
            .split_once('#')
            .is_some_and(|(repo, number)| is_repo(repo) && begins_like_number(number))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(words: &str, expected: Expect) {
        check_with(words, Flags::default(), expected);
    }

    fn check_with(words: &str, flags: Flags, expected: Expect) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let shown = match Asked::new(&words, flags) {
            Ok(Asked { target, mode, plan }) => format!(
                "{target:?}{}{}",
                mode.map_or_else(String::new, |mode| format!(" mode:{}", mode.word())),
                plan.map_or_else(String::new, |plan| format!(" plan:{plan}")),
            ),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn words_are_targets_tokens_or_ranges() {
        check("", expect!["CurrentBranch"]);
        check("feature/x", expect![[r#"Named("feature/x")"#]]);
        check(
            "main..feature",
            expect![[r#"Range(Range { from: "main", to: "feature", dots: Two })"#]],
        );
        check("main...", expect![[r#"Range(Range { from: "main", to: "HEAD", dots: Three })"#]]);
        check("..x", expect![[r#"Range(Range { from: "HEAD", to: "x", dots: Two })"#]]);
        check("a..b..c", expect!["error: `a..b..c` is not the name of a branch or commit"]);
        check(
            "base:origin/main mode:headless plan:docs/plan.md",
            expect![[r#"Against("origin/main") mode:headless plan:docs/plan.md"#]],
        );
        check("1234567", expect![[r#"Named("1234567")"#]]);
    }

    #[test]
    fn what_does_not_go_together_is_refused_in_the_words_of_the_specification() {
        check(
            "mode:autofix mode:report-only",
            expect![
                "error: Review failed. Reason: conflicting mode flags — mode:autofix and mode:report-only cannot be combined."
            ],
        );
        check(
            "mode:autofix mode:headless",
            expect![
                "error: Review failed (headless mode). Reason: conflicting mode flags — mode:autofix and mode:headless cannot be combined."
            ],
        );
        check(
            "mode:autofix mode:report-only mode:headless",
            expect![
                "error: Review failed (headless mode). Reason: conflicting mode flags — mode:autofix and mode:headless cannot be combined."
            ],
        );
        check_with(
            "mode:headless",
            Flags { modes: vec![Mode::Headless, Mode::Headless], ..Flags::default() },
            expect!["CurrentBranch mode:headless"],
        );
        check(
            "feature base:main",
            expect![
                "error: Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base."
            ],
        );
        let flags = Flags { base: Some("main".to_owned()), ..Flags::default() };
        check_with(
            "a..b",
            flags,
            expect![
                "error: Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base."
            ],
        );
    }

    #[test]
    fn two_targets_are_one_too_many() {
        let flags = Flags { staged: true, uncommitted: true, ..Flags::default() };
        check_with(
            "",
            flags,
            expect![
                "error: `--uncommitted` and `--staged` cannot be combined: each says what is to be reviewed"
            ],
        );
        let flags = Flags { staged: true, base: Some("main".to_owned()), ..Flags::default() };
        check_with(
            "",
            flags,
            expect![
                "error: `--staged` and a base cannot be combined: each says what is to be reviewed"
            ],
        );
        check(
            "a b",
            expect!["error: `a` and `b` cannot be combined: each says what is to be reviewed"],
        );
        check("base:a base:b", expect!["error: `base:` was given twice"]);
    }

    #[test]
    fn a_number_and_an_address_are_a_pull_request_and_a_long_number_is_a_commit() {
        let target = |word: &str| Asked::new(&[word.to_owned()], Flags::default()).unwrap().target;
        for pull_request in ["12", "o/r#12", "#3", "https://github.com/o/r/pull/1"] {
            assert_eq!(target(pull_request), Target::PullRequest(pull_request.to_owned()));
        }
        assert_eq!(target("1234567"), Target::Named("1234567".to_owned()));
    }

    #[test]
    fn a_merge_proposal_is_an_address_with_its_scheme() {
        let path = "code.launchpad.net/~ann/shop/+git/shop/+merge/12";
        let address = format!("https://{path}");
        let asked = Asked::new(std::slice::from_ref(&address), Flags::default()).unwrap();
        assert_eq!(asked.target, Target::PullRequest(address));
        check(
            path,
            expect![
                "error: a merge proposal is written as `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or with `api.launchpad.net/devel`"
            ],
        );
    }

    #[test]
    fn what_is_nearly_a_pull_request_is_told_how_one_is_written() {
        for word in [
            "github.com/o/r/pull/12",
            "ghe.corp:8443/o/r/pulls/1/files",
            "o/r#1x",
            "o/r#-1",
            "o/r#",
        ] {
            check(
                word,
                expect![
                    "error: a pull request is written as `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`"
                ],
            );
        }
        for branch in ["#12-fix", "feature/#12-fix", "refs/heads/o/r#1x", "o/r#x", "a/b/c/pull/1"] {
            let asked = Asked::new(&[branch.to_owned()], Flags::default()).unwrap();
            assert_eq!(asked.target, Target::Named(branch.to_owned()));
        }
    }

    #[test]
    fn what_is_not_a_name_is_said_to_be_none() {
        check("mode:", expect!["error: `mode:` needs something behind the colon"]);
        check(
            "mode:fast",
            expect![
                "error: there is no mode `fast`; the modes are `interactive`, `autofix`, `report-only` and `headless`"
            ],
        );
        let dash = Asked::new(&["--output=x".to_owned()], Flags::default()).unwrap_err();
        assert_eq!(dash, AskError::NotAName("--output=x".to_owned()));
    }
}
