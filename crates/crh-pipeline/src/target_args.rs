//! Parses command-line words and flags into one target, mode and plan, or reports which of them
//! conflict.

use crh_forge::github::PullRequestRefError;
use crh_forge::launchpad;

/// What to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The current branch with staged and unstaged changes, compared with its base.
    CurrentBranch,
    /// The current branch with uncommitted changes, compared with this ref.
    Against(String),
    /// Uncommitted changes, including untracked files.
    Uncommitted,
    /// Staged changes.
    Staged,
    /// One commit, compared with its first parent.
    Commit(String),
    /// A range of commits.
    Range(CommitRange),
    /// A branch or commit, compared with its base. Ignores the checkout.
    Named(String),
    /// A pull request or merge proposal as typed: number, `owner/name#number`, or URL.
    PullRequest(String),
    /// A diff from a file or standard input.
    Diff(Vec<u8>),
}

/// A commit range in git's notation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRange {
    /// First end.
    pub from: String,
    /// Second end.
    pub to: String,
    /// Two or three dots.
    pub dots: Dots,
}

/// Separator of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dots {
    /// `A..B`: starts at A.
    Two,
    /// `A...B`: starts at the merge base of A and B.
    Three,
}

/// Mode that the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestedMode {
    /// Asks the user what to do with each issue.
    Interactive,
    /// Applies safe fixes without asking.
    Autofix,
    /// Reports and changes nothing.
    ReportOnly,
    /// For programs: asks nothing and prints the report in the format `envelope`.
    Headless,
}

/// Target flags of the command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetFlags {
    /// `--base REF`
    pub base: Option<String>,
    /// `--uncommitted`
    pub uncommitted: bool,
    /// `--staged`
    pub staged: bool,
    /// `--commit SHA`
    pub commit: Option<String>,
    /// Contents of `--diff FILE`.
    pub diff: Option<Vec<u8>>,
    /// Every `--mode MODE` that was given.
    pub modes: Vec<RequestedMode>,
}

/// Target, mode and plan from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedTarget {
    /// What to review.
    pub target: Target,
    /// `None` if not given.
    pub mode: Option<RequestedMode>,
    /// Path of the plan to check the change against.
    pub plan: Option<String>,
}

/// Why the arguments are rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetArgsError {
    /// Two different modes.
    #[error(
        "Review failed{}. Reason: conflicting mode flags — mode:{} and mode:{} cannot be combined.",
        if [.0, .1].contains(&&RequestedMode::Headless) { " (headless mode)" } else { "" },
        .0.name(),
        .1.name()
    )]
    TwoModes(RequestedMode, RequestedMode),
    /// Both a base and a target.
    #[error(
        "Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base."
    )]
    BaseWithTarget,
    /// Both a base and a range, which has a base of its own.
    #[error(
        "`{range}` and `--base {base}` both name a base; pass `{range}` alone, or `{tip} --base {base}`"
    )]
    BaseWithRange {
        /// The range as typed.
        range: String,
        /// End of the range.
        tip: String,
        /// The base.
        base: String,
    },
    /// `--commit` with a range.
    #[error("`{0}` is a range, not a commit; pass it without `--commit`")]
    RangeAsCommit(String),
    /// Two targets.
    #[error("{0} and {1} cannot be combined: each selects what to review")]
    TwoTargets(String, String),
    /// Unknown mode.
    #[error("unknown mode `{0}`; use `interactive`, `autofix`, `report-only` or `headless`")]
    NoSuchMode(String),
    /// No value after the colon.
    #[error("`{0}` needs a value after the colon")]
    MissingValue(String),
    /// Two different bases or plans.
    #[error("`{0}` was given twice")]
    GivenTwice(&'static str),
    /// Not a valid name of a branch or commit.
    #[error("`{0}` is not a valid name of a branch or commit")]
    InvalidName(String),
    /// Looks like a pull request, but is malformed.
    #[error("{}", PullRequestRefError::UnknownForm)]
    MalformedPullRequest,
    /// Looks like a merge proposal, but is malformed.
    #[error("{}", launchpad::MergeProposalRefError::UnknownForm)]
    MalformedMergeProposal,
}

impl RequestedMode {
    /// Name as typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::Autofix => "autofix",
            Self::ReportOnly => "report-only",
            Self::Headless => "headless",
        }
    }

    /// Parses the name of a mode.
    pub fn from_name(word: &str) -> Option<Self> {
        let modes = [Self::Interactive, Self::Autofix, Self::ReportOnly, Self::Headless];
        modes.into_iter().find(|mode| mode.name() == word)
    }
}

impl ParsedTarget {
    /// Parses words (`feature`, `A..B`, `base:main`, `mode:headless`, `plan:PATH`) and flags.
    pub fn new(words: &[String], flags: TargetFlags) -> Result<Self, TargetArgsError> {
        let mut parsed = TargetWords { modes: flags.modes.clone(), ..TargetWords::default() };
        for word in words {
            parsed.add_word(word)?;
        }
        let mode = single_mode(&parsed.modes)?;
        let TargetWords { base: base_word, plan, target, .. } = parsed;
        if base_word.is_some() && target.is_some() {
            return Err(TargetArgsError::BaseWithTarget);
        }
        let mut base = flags.base.clone();
        if let Some(word) = base_word {
            set_once(&mut base, &word, "base:")?;
        }
        if let Some(range) = flags.commit.as_ref().filter(|name| parse_range(name).is_some()) {
            return Err(TargetArgsError::RangeAsCommit(range.clone()));
        }
        let mut targets = flag_targets(flags);
        if let Some(word) = target {
            let parsed_word = match (parse_target(&word)?, base.take()) {
                (target, None) => target,
                // Compare the branch with the merge base of the branch and the ref that `--base`
                // names.
                (Target::Named(to), Some(from)) => {
                    Target::Range(CommitRange { from, to, dots: Dots::Three })
                }
                (Target::Range(CommitRange { to: tip, .. }) | Target::Commit(tip), Some(base)) => {
                    return Err(TargetArgsError::BaseWithRange { range: word, tip, base });
                }
                (_, Some(_)) => return Err(TargetArgsError::BaseWithTarget),
            };
            targets.push((format!("`{word}`"), parsed_word));
        }
        targets.extend(base.map(|base| ("a base".to_owned(), Target::Against(base))));
        let mut targets = targets.into_iter();
        let first_target = targets.next();
        if let (Some((first_name, _)), Some((second_name, _))) = (&first_target, targets.next()) {
            return Err(TargetArgsError::TwoTargets(first_name.clone(), second_name));
        }
        let target = first_target.map_or(Target::CurrentBranch, |(_, target)| target);
        Ok(Self { target, mode, plan })
    }
}

#[derive(Debug, Default)]
struct TargetWords {
    modes: Vec<RequestedMode>,
    base: Option<String>,
    plan: Option<String>,
    target: Option<String>,
}

impl TargetWords {
    fn add_word(&mut self, word: &str) -> Result<(), TargetArgsError> {
        let Some((token, value)) =
            word.split_once(':').filter(|(token, _)| matches!(*token, "mode" | "base" | "plan"))
        else {
            return match self.target.replace(word.to_owned()) {
                None => Ok(()),
                Some(first) => {
                    Err(TargetArgsError::TwoTargets(format!("`{first}`"), format!("`{word}`")))
                }
            };
        };
        if value.is_empty() {
            return Err(TargetArgsError::MissingValue(word.to_owned()));
        }
        match token {
            "mode" => {
                let mode = RequestedMode::from_name(value);
                self.modes.push(mode.ok_or_else(|| TargetArgsError::NoSuchMode(value.to_owned()))?);
                Ok(())
            }
            "base" => set_once(&mut self.base, value, "base:"),
            _ => set_once(&mut self.plan, value, "plan:"),
        }
    }
}

/// The requested mode. If `headless` is one of several modes, the error names it: programs expect
/// `(headless mode)` in the message.
fn single_mode(modes: &[RequestedMode]) -> Result<Option<RequestedMode>, TargetArgsError> {
    let Some(first) = modes.first() else { return Ok(None) };
    let mut others = modes.iter().filter(|mode| *mode != first);
    let headless = others.clone().find(|mode| **mode == RequestedMode::Headless);
    match headless.or_else(|| others.next()) {
        Some(other) => Err(TargetArgsError::TwoModes(*first, *other)),
        None => Ok(Some(*first)),
    }
}

fn set_once(
    slot: &mut Option<String>,
    value: &str,
    name: &'static str,
) -> Result<(), TargetArgsError> {
    match slot.replace(value.to_owned()) {
        Some(first) if first != value => Err(TargetArgsError::GivenTwice(name)),
        Some(_) | None => Ok(()),
    }
}

fn flag_targets(flags: TargetFlags) -> Vec<(String, Target)> {
    let uncommitted = flags.uncommitted.then_some(("`--uncommitted`", Target::Uncommitted));
    let staged = flags.staged.then_some(("`--staged`", Target::Staged));
    let commit = flags.commit.map(|name| ("`--commit`", Target::Commit(name)));
    let diff = flags.diff.map(|bytes| ("`--diff`", Target::Diff(bytes)));
    let given_targets = [uncommitted, staged, commit, diff].into_iter().flatten();
    given_targets.map(|(name, target)| (name.to_owned(), target)).collect()
}

/// A range, a pull request, or the name of a branch or commit.
fn parse_target(word: &str) -> Result<Target, TargetArgsError> {
    if word.is_empty() || word.starts_with('-') || word.chars().any(char::is_control) {
        return Err(TargetArgsError::InvalidName(word.to_owned()));
    }
    if is_pull_request(word) {
        return Ok(Target::PullRequest(word.to_owned()));
    }
    // A merge proposal URL without its scheme.
    if word.contains("/+merge/") {
        return Err(TargetArgsError::MalformedMergeProposal);
    }
    if is_nearly_a_pull_request(word) {
        return Err(TargetArgsError::MalformedPullRequest);
    }
    match parse_range(word) {
        None => Ok(Target::Named(word.to_owned())),
        Some(CommitRange { from, to, .. }) if from.contains("..") || to.contains("..") => {
            Err(TargetArgsError::InvalidName(word.to_owned()))
        }
        // A first commit has no parent, so a range cannot name it.
        Some(range) if word.ends_with("^!") => Ok(Target::Commit(range.to)),
        Some(range) => Ok(Target::Range(range)),
    }
}

/// A range in one of git's notations: `A..B`, `A...B`, or `A^!`, `A^-` and `A^-2` for what one
/// commit changes. A relative path, such as `../a`, is no range.
pub fn parse_range(word: &str) -> Option<CommitRange> {
    let name_or_head = |name: &str| if name.is_empty() { "HEAD" } else { name }.to_owned();
    let (from, to, dots) = if let Some((from, to)) = word.split_once("...") {
        (from, to, Dots::Three)
    } else if let Some((from, to)) = word.split_once("..") {
        (from, to, Dots::Two)
    } else {
        let (commit, parent) =
            word.strip_suffix('!').map(|start| (start, "")).or_else(|| word.rsplit_once('-'))?;
        let commit = commit.strip_suffix('^').filter(|commit| !commit.is_empty())?;
        let is_number = parent.bytes().all(|byte| byte.is_ascii_digit());
        let from = format!("{commit}^{parent}");
        return is_number.then(|| CommitRange { from, to: commit.to_owned(), dots: Dots::Two });
    };
    // The name of a revision neither starts nor ends with a slash.
    let is_path = from.ends_with('/') || to.starts_with('/');
    (!is_path).then(|| CommitRange { from: name_or_head(from), to: name_or_head(to), dots })
}

/// Whether the word is a number, `owner/name#number`, a URL, or a merge request of GitLab
/// (`group/name!number`, `!number`).
fn is_pull_request(word: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    word.contains("://")
        // Seven or more digits may be an abbreviated commit hash.
        || (is_number(word) && word.len() < 7)
        || word.split_once('#').is_some_and(|(_, number)| is_number(number))
        || word.rsplit_once('!').is_some_and(|(path, number)| {
            is_number(number) && (path.is_empty() || path.contains('/'))
        })
}

/// Whether the word looks like a mistyped pull request: `owner/name#` without a number, or a URL
/// without its scheme. crh does not look for a branch of that name. A user who has such a branch
/// can type `refs/heads/NAME`.
fn is_nearly_a_pull_request(word: &str) -> bool {
    let is_repo = |text: &str| {
        let parts: Vec<&str> = text.split('/').collect();
        matches!(parts.as_slice(), [owner, name] if !owner.is_empty() && !name.is_empty())
    };
    let starts_like_number = |text: &str| {
        let text = text.strip_prefix('-').unwrap_or(text);
        text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit())
    };
    let parts: Vec<&str> = word.split('/').collect();
    let is_url_without_scheme =
        matches!(parts.as_slice(), [host, _, _, "pull" | "pulls", ..] if host.contains(['.', ':']));
    is_url_without_scheme
        || word
            .split_once('#')
            .is_some_and(|(repo, number)| is_repo(repo) && starts_like_number(number))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(words: &str, expected: Expect) {
        check_with(words, TargetFlags::default(), expected);
    }

    fn check_with(words: &str, flags: TargetFlags, expected: Expect) {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let actual = match ParsedTarget::new(&words, flags) {
            Ok(ParsedTarget { target, mode, plan }) => format!(
                "{target:?}{}{}",
                mode.map_or_else(String::new, |mode| format!(" mode:{}", mode.name())),
                plan.map_or_else(String::new, |plan| format!(" plan:{plan}")),
            ),
            Err(error) => format!("error: {error}"),
        };
        expected.assert_eq(&actual);
    }

    #[test]
    fn words_parse_as_targets_tokens_or_ranges() {
        check("", expect!["CurrentBranch"]);
        check("feature/x", expect![[r#"Named("feature/x")"#]]);
        check(
            "main..feature",
            expect![[r#"Range(CommitRange { from: "main", to: "feature", dots: Two })"#]],
        );
        check(
            "main...",
            expect![[r#"Range(CommitRange { from: "main", to: "HEAD", dots: Three })"#]],
        );
        check("..x", expect![[r#"Range(CommitRange { from: "HEAD", to: "x", dots: Two })"#]]);
        check("HEAD^!", expect![[r#"Commit("HEAD")"#]]);
        check("a-1^-", expect![[r#"Range(CommitRange { from: "a-1^", to: "a-1", dots: Two })"#]]);
        check("v1^-2", expect![[r#"Range(CommitRange { from: "v1^2", to: "v1", dots: Two })"#]]);
        check("a^-b", expect![[r#"Named("a^-b")"#]]);
        check("^!", expect![[r#"Named("^!")"#]]);
        check("../a", expect![[r#"Named("../a")"#]]);
        check("a/../b", expect![[r#"Named("a/../b")"#]]);
        check("a..b..c", expect!["error: `a..b..c` is not a valid name of a branch or commit"]);
        check(
            "base:origin/main mode:headless plan:docs/plan.md",
            expect![[r#"Against("origin/main") mode:headless plan:docs/plan.md"#]],
        );
        check("1234567", expect![[r#"Named("1234567")"#]]);
    }

    #[test]
    fn range_as_commit_is_rejected() {
        let flags =
            |name: &str| TargetFlags { commit: Some(name.to_owned()), ..TargetFlags::default() };
        check_with(
            "",
            flags("main..feature"),
            expect!["error: `main..feature` is a range, not a commit; pass it without `--commit`"],
        );
        check_with("", flags("feature~2"), expect![[r#"Commit("feature~2")"#]]);
    }

    #[test]
    fn conflicts_are_rejected_in_the_specified_words() {
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
            TargetFlags {
                modes: vec![RequestedMode::Headless, RequestedMode::Headless],
                ..TargetFlags::default()
            },
            expect!["CurrentBranch mode:headless"],
        );
        check(
            "feature base:main",
            expect![
                "error: Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base."
            ],
        );
        let flags = TargetFlags { base: Some("main".to_owned()), ..TargetFlags::default() };
        check_with(
            "12",
            flags,
            expect![
                "error: Cannot use base: with a PR number or branch target — base: implies the current checkout is already the correct branch. Pass base: alone, or pass the target alone and let scope detection resolve the base."
            ],
        );
    }

    #[test]
    fn range_with_a_base_flag_is_rejected_with_both_choices() {
        let flags = TargetFlags { base: Some("main".to_owned()), ..TargetFlags::default() };
        check_with(
            "a..b",
            flags.clone(),
            expect![
                "error: `a..b` and `--base main` both name a base; pass `a..b` alone, or `b --base main`"
            ],
        );
        check_with(
            "b^!",
            flags,
            expect![
                "error: `b^!` and `--base main` both name a base; pass `b^!` alone, or `b --base main`"
            ],
        );
    }

    #[test]
    fn base_flag_applies_to_a_named_branch() {
        let flags = TargetFlags { base: Some("main".to_owned()), ..TargetFlags::default() };
        check_with(
            "feature",
            flags.clone(),
            expect![[r#"Range(CommitRange { from: "main", to: "feature", dots: Three })"#]],
        );
        check_with("base:main", flags.clone(), expect![[r#"Against("main")"#]]);
        check_with("base:other", flags, expect!["error: `base:` was given twice"]);
    }

    #[test]
    fn two_targets_are_rejected() {
        let flags = TargetFlags { staged: true, uncommitted: true, ..TargetFlags::default() };
        check_with(
            "",
            flags,
            expect![
                "error: `--uncommitted` and `--staged` cannot be combined: each selects what to review"
            ],
        );
        let flags =
            TargetFlags { staged: true, base: Some("main".to_owned()), ..TargetFlags::default() };
        check_with(
            "",
            flags,
            expect!["error: `--staged` and a base cannot be combined: each selects what to review"],
        );
        check("a b", expect!["error: `a` and `b` cannot be combined: each selects what to review"]);
        check("base:a base:b", expect!["error: `base:` was given twice"]);
    }

    #[test]
    fn short_number_or_url_is_a_pull_request() {
        let target = |word: &str| {
            ParsedTarget::new(&[word.to_owned()], TargetFlags::default()).unwrap().target
        };
        for pull_request in ["12", "o/r#12", "#3", "https://github.com/o/r/pull/1"] {
            assert_eq!(target(pull_request), Target::PullRequest(pull_request.to_owned()));
        }
        assert_eq!(target("1234567"), Target::Named("1234567".to_owned()));
    }

    #[test]
    fn merge_proposal_needs_a_url_with_scheme() {
        let path = "code.launchpad.net/~ann/shop/+git/shop/+merge/12";
        let address = format!("https://{path}");
        let parsed =
            ParsedTarget::new(std::slice::from_ref(&address), TargetFlags::default()).unwrap();
        assert_eq!(parsed.target, Target::PullRequest(address));
        check(
            path,
            expect![
                "error: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`"
            ],
        );
    }

    #[test]
    fn malformed_pull_request_gets_a_hint() {
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
                    "error: not a pull request: expected `https://github.com/owner/name/pull/12`, `owner/name#12` or `12`"
                ],
            );
        }
        for branch in ["#12-fix", "feature/#12-fix", "refs/heads/o/r#1x", "o/r#x", "a/b/c/pull/1"] {
            let parsed = ParsedTarget::new(&[branch.to_owned()], TargetFlags::default()).unwrap();
            assert_eq!(parsed.target, Target::Named(branch.to_owned()));
        }
    }

    #[test]
    fn invalid_names_are_rejected() {
        check("mode:", expect!["error: `mode:` needs a value after the colon"]);
        check(
            "mode:fast",
            expect![
                "error: unknown mode `fast`; use `interactive`, `autofix`, `report-only` or `headless`"
            ],
        );
        let dash =
            ParsedTarget::new(&["--output=x".to_owned()], TargetFlags::default()).unwrap_err();
        assert_eq!(dash, TargetArgsError::InvalidName("--output=x".to_owned()));
    }
}
