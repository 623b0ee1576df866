//! Proof by execution: runs tests, which the editor proposes, before and after the change.
//!
//! Invariants: no model starts a process. Only the user's command runs, in the sandbox, and on
//! throw-away checkouts. A test that proves nothing is stored, but never shown.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use serde::Serialize;
use tokio::task;

use crate::change_under_review::ChangeUnderReview;
use crate::revisions::Revisions;
use crh_git::{SkippedEntry, TempCheckout};
use crh_lint::sandbox::{CommandOutcome, Sandbox, UserCommand};
use crh_review::finding::{Category, Severity};
use crh_review::report::{Issue, TestProof};
use crh_review::{EditedGroup, ProposedTest};
use crh_syntax::Language;

/// Maximum number of tests per review. Each needs up to four runs of the command.
const TESTS_MAX: usize = 3;
/// Time limit for all runs of the command in a review, as a multiple of the time limit of one run.
const RUNS: u32 = 6;
/// Maximum bytes of a test. A small test has less than a hundred lines.
const TEST_BYTES: usize = 20_000;
/// Maximum length of a path.
const PATH_BYTES: usize = 200;
/// Maximum lines and characters of output in a proof. The end is kept.
const OUTPUT_LINES: usize = 20;
const OUTPUT_CHARS: usize = 2_000;

/// Placeholder for the path of the test in the arguments of the command.
pub const TEST_PLACEHOLDER: &str = "{test}";

/// The user's command that runs a test.
#[derive(Debug)]
pub struct TestCommand {
    /// The program.
    pub program: String,
    /// Its arguments. The path of the test replaces [`TEST_PLACEHOLDER`].
    pub args: Vec<String>,
    /// The `PATH` to search.
    pub path: OsString,
    /// Time limit of one run.
    pub time_limit: Duration,
    /// The sandbox of the command.
    pub sandbox: Sandbox,
    /// Whether the user has cancelled.
    pub is_stopped: fn() -> bool,
}

/// A proposed test and what its runs showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestAttempt {
    /// `dedupe_key` of the issue.
    pub issue: String,
    /// The test.
    pub test: ProposedTest,
    /// What its runs showed.
    pub result: ProofResult,
}

/// What the runs of a test showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofResult {
    /// The test passes before the change and fails after it.
    Proved(TestProof),
    /// The test proves nothing, for this reason.
    NotProved(String),
}

impl TestCommand {
    /// Program and arguments in one line, for people.
    pub fn shown(&self) -> String {
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn args_for(&self, path: &str) -> Vec<String> {
        self.args.iter().map(|word| word.replace(TEST_PLACEHOLDER, path)).collect()
    }

    fn names_test(&self) -> bool {
        self.args.iter().any(|word| word.contains(TEST_PLACEHOLDER))
    }

    /// Runs the command on a checkout of `base` or `head`, with or without a test.
    fn run(
        &self,
        revisions: &Revisions,
        commit: &str,
        test: Option<&ProposedTest>,
        time: Duration,
    ) -> Result<CommandOutcome, String> {
        let commit = revisions.resolve(Some(commit)).unwrap_or(commit);
        let checkout = TempCheckout::create(revisions.bare(), commit);
        let checkout = checkout.map_err(|error| error.to_string())?;
        if let Some(test) = test {
            write_test(&checkout, test)?;
        }
        let tree = checkout.path();
        Ok(self.sandbox.run_command(&UserCommand {
            program: &self.program,
            args: &self.args_for(test.map_or("", |test| test.path.as_str())),
            path: &self.path,
            scratch: tree.parent().unwrap_or(tree),
            tree,
            time,
            is_stopped: self.is_stopped,
        }))
    }
}

/// Tests for selected P0 and P1 issues about behaviour, each with the key of its issue. At most
/// [`TESTS_MAX`].
pub(crate) fn proposed_tests(
    issues: &[Issue],
    groups: &[EditedGroup],
) -> Vec<(String, ProposedTest)> {
    let is_testable = |issue: &&Issue| {
        issue.severity <= Severity::P1
            && issue.takes_second_look()
            && match issue.category {
                Category::Security
                | Category::Bug
                | Category::ErrorHandling
                | Category::Performance
                | Category::Logic
                | Category::Concurrency
                | Category::ApiContract
                | Category::Data => true,
                Category::Style
                | Category::Testing
                | Category::Maintainability
                | Category::Standards
                | Category::Requirements => false,
            }
    };
    let test_of = |issue: &Issue| {
        let lead = issue.members.first()?;
        let group = groups.iter().find(|group| group.members.contains(lead))?;
        Some((issue.dedupe_key.clone(), group.test.clone()?))
    };
    issues.iter().filter(is_testable).filter_map(test_of).take(TESTS_MAX).collect()
}

/// Runs the tests on a separate thread, within the time that is left.
pub(crate) async fn run_tests(
    tests: Vec<(String, ProposedTest)>,
    change: &Arc<ChangeUnderReview>,
    command: &Arc<TestCommand>,
    time_left: Duration,
) -> Vec<TestAttempt> {
    let (change, command) = (change.clone(), command.clone());
    let runs = task::spawn_blocking(move || {
        let time = command.time_limit.saturating_mul(RUNS).min(time_left);
        let mut runner = TestRunner { command: &command, time, head_alone: None };
        let attempts = tests.into_iter().map(|(issue, test)| {
            let result = match change.tool_context.repository() {
                Ok(revisions) => runner.prove(revisions, &test),
                Err(why) => Err(why.to_string()),
            };
            let result = result.map_or_else(ProofResult::NotProved, ProofResult::Proved);
            TestAttempt { issue, test, result }
        });
        attempts.collect()
    });
    // A panic is a bug in crh. The review goes on without proofs.
    runs.await.unwrap_or_default()
}

impl TestAttempt {
    /// Adds a proof to its issue.
    pub(crate) fn add_proof(self, issues: &mut [Issue]) {
        let issue = issues.iter_mut().find(|issue| issue.dedupe_key == self.issue);
        if let (Some(issue), ProofResult::Proved(proof)) = (issue, self.result) {
            issue.proof = Some(proof);
        }
    }
}

/// Runs tests one after the other.
struct TestRunner<'a> {
    command: &'a TestCommand,
    /// Time left for all runs.
    time: Duration,
    /// Whether the command passes on the head without a test. The error is the reason why it does
    /// not. None until the command has run.
    head_alone: Option<Result<(), String>>,
}

impl TestRunner<'_> {
    /// The proof, or why the test proves nothing.
    fn prove(&mut self, revisions: &Revisions, test: &ProposedTest) -> Result<TestProof, String> {
        check_test(test)?;
        let output = match self.run(revisions, "head", Some(test))? {
            CommandOutcome::Failed(_, output) => output,
            CommandOutcome::Passed => return Err("it passes with the change".to_owned()),
            CommandOutcome::TooSlow(seconds) => {
                return Err(format!("it did not end within {seconds} s with the change"));
            }
            CommandOutcome::NotRun(why) => return Err(why),
        };
        check_passed("before the change", self.run(revisions, "base", Some(test))?)?;
        // A test that fails at random proves nothing.
        if !matches!(self.run(revisions, "head", Some(test))?, CommandOutcome::Failed(..)) {
            return Err("it fails only sometimes with the change".to_owned());
        }
        // If the command runs more than this test, another test may be the one that fails.
        if !self.command.names_test() {
            if self.head_alone.is_none() {
                let outcome = self.run(revisions, "head", None)?;
                self.head_alone = Some(check_passed("without the test", outcome));
            }
            self.head_alone.clone().unwrap_or(Ok(()))?;
        }
        Ok(TestProof {
            path: test.path.clone(),
            content: test.content.clone(),
            command: self.command.shown(),
            output: end_of(&output),
        })
    }

    fn run(
        &mut self,
        revisions: &Revisions,
        commit: &str,
        test: Option<&ProposedTest>,
    ) -> Result<CommandOutcome, String> {
        if self.time.is_zero() {
            return Err("no time was left to run it".to_owned());
        }
        let start = Instant::now();
        let time = self.time.min(self.command.time_limit);
        let outcome = self.command.run(revisions, commit, test, time);
        self.time = self.time.saturating_sub(start.elapsed());
        outcome
    }
}

fn check_passed(when: &str, outcome: CommandOutcome) -> Result<(), String> {
    match outcome {
        CommandOutcome::Passed => Ok(()),
        CommandOutcome::Failed(_, output) => {
            Err(format!("the command fails {when}: {}", end_of(&output)))
        }
        CommandOutcome::TooSlow(seconds) => {
            Err(format!("the command did not end within {seconds} s {when}"))
        }
        CommandOutcome::NotRun(why) => Err(why),
    }
}

/// The last lines of an output.
fn end_of(output: &str) -> String {
    let lines: Vec<&str> = output.trim_end().lines().collect();
    let text = lines[lines.len().saturating_sub(OUTPUT_LINES)..].join("\n");
    let surplus = text.chars().count().saturating_sub(OUTPUT_CHARS);
    text.chars().skip(surplus).collect()
}

/// Checks the size and the path of a test. The path must be plain and name a test in a known
/// programming language. The path must not name a file that configures tools.
fn check_test(test: &ProposedTest) -> Result<(), String> {
    if test.content.len() > TEST_BYTES || test.content.contains('\0') {
        return Err("its content is too long or not text".to_owned());
    }
    let path = test.path.as_str();
    let is_plain = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    if path.len() > PATH_BYTES || !path.split('/').all(is_plain) {
        return Err("its path is not a plain path inside the repository".to_owned());
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_test = name.contains("test") || name.contains("spec");
    let configures = ["config", "conftest", "setup"].iter().any(|word| name.contains(word));
    match Language::from_path(path).is_some() && is_test && !configures {
        true => Ok(()),
        false => Err("its path is not that of a test file".to_owned()),
    }
}

/// Writes a test into a checkout as a new file. Follows no symlink.
fn write_test(checkout: &TempCheckout, test: &ProposedTest) -> Result<(), String> {
    let is_above = |entry: &SkippedEntry| {
        let below = test.path.as_bytes().strip_prefix(entry.path.as_slice());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    if checkout.skipped().iter().any(is_above) {
        return Err("the repository has something else at its path".to_owned());
    }
    let in_words = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => "there is a file at its path".to_owned(),
        _ => format!("it cannot be written: {error}"),
    };
    let mut file = checkout.path().to_owned();
    let mut parts: Vec<&str> = test.path.split('/').collect();
    let name = parts.pop().unwrap_or_default();
    for part in parts {
        file.push(part);
        match fs::symlink_metadata(&file) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return Err("a part of its path is not a folder".to_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                fs::create_dir(&file).map_err(in_words)?;
            }
            Err(error) => return Err(in_words(error)),
        }
    }
    file.push(name);
    let mut file = OpenOptions::new().write(true).create_new(true).open(file).map_err(in_words)?;
    file.write_all(test.content.as_bytes()).map_err(in_words)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crh_git::BareRepository;
    use crh_testkit::Repo;

    fn check(path: &str, is_accepted: bool) {
        let test = ProposedTest { path: path.to_owned(), content: String::new() };
        assert_eq!(check_test(&test).is_ok(), is_accepted, "{path:?}");
    }

    #[test]
    fn test_path_is_plain_and_names_a_test() {
        for path in ["tests/test_total.py", "src/total_test.go", "a/b-c/total.spec.ts", "Test.java"]
        {
            check(path, true);
        }
        for path in [
            "",
            "/tmp/test.py",
            "../test.py",
            "tests/../../test.py",
            "tests//test.py",
            "tests/./test.py",
            ".git/hooks/test.sh",
            ".github/test.py",
            "-test.py",
            "a b/test.py",
            "tests/test.py\n",
            "src/total.py",
            "tests/data.json",
            "test.toml",
            "Makefile",
            "build.rs",
            "tests/conftest.py",
            "vitest.config.ts",
            "test_setup.py",
        ] {
            check(path, false);
        }
        check(&format!("{}/test.py", "a".repeat(PATH_BYTES)), false);
        let long = ProposedTest { path: "test.py".to_owned(), content: "x".repeat(TEST_BYTES + 1) };
        assert!(check_test(&long).is_err());
    }

    #[test]
    fn test_is_a_new_file_that_no_symlink_leads_to() {
        let (repo, outside) = (Repo::new(), tempfile::tempdir().unwrap());
        repo.write("old/test_a.py", "");
        symlink("old", repo.path().join("inner")).unwrap();
        symlink(outside.path(), repo.path().join("outer")).unwrap();
        symlink("old/test_a.py", repo.path().join("test_link.py")).unwrap();
        repo.commit("base");
        let bare = BareRepository::new(&repo.path().join(".git"));
        let checkout = TempCheckout::create(&bare, &repo.id("HEAD")).unwrap();
        for (path, expected) in [
            ("new/sub/test_a.py", Ok(())),
            ("old/test_b.py", Ok(())),
            ("old/test_a.py", Err("there is a file at its path")),
            ("test_link.py", Err("there is a file at its path")),
            ("inner/test_b.py", Err("a part of its path is not a folder")),
            ("old/test_a.py/test_b.py", Err("a part of its path is not a folder")),
            ("outer/test_b.py", Err("the repository has something else at its path")),
            ("outer", Err("the repository has something else at its path")),
        ] {
            let test = ProposedTest { path: path.to_owned(), content: "pass\n".to_owned() };
            assert_eq!(write_test(&checkout, &test), expected.map_err(str::to_owned), "{path}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn end_of_output_is_kept() {
        let lines: Vec<String> = (0..50).map(|number| number.to_string()).collect();
        let expected = lines[30..].join("\n");
        assert_eq!(end_of(&(lines.join("\n") + "\n\n")), expected);
        assert_eq!(end_of(&"x".repeat(9_000)).len(), OUTPUT_CHARS);
        assert_eq!(end_of(""), "");
    }
}
