//! `/crh fix 3`: commits an exact replacement to the branch of the pull request, or suggests it.
//!
//! The branch must still have the reviewed head. The commit names the comment that asked for it, so
//! that a job that runs twice commits once.

use serde::Deserialize;

use crate::comment_jobs::{CommentJobRunner, answer_mark, find_issue, issue_text};
use crate::job::AttemptFailure;
use crate::webhook::plan::CommentRef;
use crate::worker::{Attempt, ChildAccess, ChildEnd};
use crh_forge::forge_code::{CommitResult, FileCommit, FixSuggestion};
use crh_forge::posting::apply_replacement;
use crh_review::render::{comment_line, commit_title};
use crh_review::report::{Issue, Report};

const MOVED: &str = "The branch moved since the last review, so crh changes nothing. Comment `/crh review`, and ask again when the review is there.";

impl CommentJobRunner {
    /// Fixes an issue of the last report. Returns the answer, or `None` if the suggestion is the
    /// answer.
    pub(crate) async fn fix_issue(
        &self,
        attempt: &Attempt<'_>,
        comment: &CommentRef,
        number: u32,
    ) -> Result<Option<String>, AttemptFailure> {
        let change = &attempt.job().key.change;
        let (review, report, issue) = match find_issue(attempt, number).await? {
            Ok(found) => found,
            Err(answer) => return Ok(Some(answer)),
        };
        let head = self.access.pull_head(change).await?;
        if head.is_own_branch && head.commit != review.head {
            let message = self.access.commit_message(change, &head.commit).await?;
            if message.lines().any(|line| line == trailer(comment)) {
                return Ok(Some(committed(number, &head.commit)));
            }
        }
        if head.commit != review.head {
            return Ok(Some(MOVED.to_owned()));
        }
        let path = issue.location.file.as_str();
        let Some(file) = self.access.file_at(change, &head.commit, path).await? else {
            return Ok(Some(refused(&report, &issue, "its file is not text, or too large")));
        };
        let text = match apply_replacement(&issue, &file.text) {
            Ok(text) => text,
            Err(why) => return Ok(Some(refused(&report, &issue, why))),
        };
        if let Some(why) = self.objection(attempt, &head.commit, path, &text).await? {
            return Ok(Some(refused(&report, &issue, &why)));
        }
        // Fails if this worker lost its lease, so that only one worker writes.
        attempt.begin_step("fix").await?;
        if head.is_own_branch {
            let message = message(&issue, comment);
            let (branch, parent) = (head.branch.as_str(), head.commit.as_str());
            let commit =
                FileCommit { branch, parent, file: &file, path, text: &text, message: &message };
            match self.access.commit_file(change, &commit).await? {
                CommitResult::Committed(sha) => return Ok(Some(committed(number, &sha))),
                CommitResult::Refused if self.access.pull_head(change).await? != head => {
                    return Ok(Some(MOVED.to_owned()));
                }
                // crh may not write here, or the branch is protected.
                CommitResult::Refused => {}
            }
        }
        if file.text.contains("\r\n") {
            let why = "crh may not commit to this branch, and a suggestion cannot have CRLF";
            return Ok(Some(refused(&report, &issue, why)));
        }
        let replacement = issue.replacement.as_deref().unwrap_or_default();
        let suggestion = FixSuggestion {
            path,
            lines: (issue.location.line_start, issue.location.line_end),
            heading: &format!("Fix of issue {number}. crh may not commit to this branch."),
            replacement: replacement.trim_end_matches('\n'),
            mark: &answer_mark(comment.id),
        };
        let is_accepted = self.access.suggest(change, &head.commit, &suggestion).await?;
        Ok((!is_accepted).then(|| issue_text(&report, &issue)))
    }

    /// Runs the static checks on the fixed file, in a process without secrets. Returns what they
    /// object to.
    async fn objection(
        &self,
        attempt: &Attempt<'_>,
        head: &str,
        path: &str,
        text: &str,
    ) -> Result<Option<String>, AttemptFailure> {
        let disk_failure = |error: std::io::Error| {
            AttemptFailure::retried(format!("cannot write the files of the job: {error}"))
        };
        attempt.create_folders().map_err(disk_failure)?;
        self.pack_change(attempt, head).await?;
        let (pack, fixed) = (attempt.folder().pack(), attempt.folder().root.join("fixed"));
        std::fs::write(&fixed, text).map_err(disk_failure)?;
        attempt.begin_step("check").await?;
        let (packed, fixed) = (pack.to_string_lossy(), fixed.to_string_lossy());
        let path = format!("--path={path}");
        let arguments = ["serve-check-fix", "--packed", &packed, &path, "--text", &fixed];
        let arguments = arguments.map(str::to_owned).into();
        let timeout = attempt.settings.timeouts.prepare;
        let stdout = match attempt.run_crh(arguments, ChildAccess::Nothing, timeout).await {
            ChildEnd::Exited { code: 0, stdout, .. } => stdout,
            end => return Err(end.failure("check")),
        };
        std::fs::remove_file(&pack).map_err(disk_failure)?;
        let check: FixCheck = serde_json::from_str(&stdout)
            .map_err(|error| AttemptFailure::retried(format!("check: {error}")))?;
        Ok(check.objection.map(|found| {
            let line = found.line.map(|line| format!(":{line}")).unwrap_or_default();
            let [title, file, rule] =
                [&found.title, &found.file, &found.rule].map(|text| comment_line(text));
            format!("the fixed file fails a static check: {title} ({file}{line}, {rule})")
        }))
    }
}

/// What `crh serve-check-fix` prints.
#[derive(Deserialize)]
struct FixCheck {
    objection: Option<Objection>,
}

#[derive(Deserialize)]
struct Objection {
    title: String,
    file: String,
    line: Option<u32>,
    rule: String,
}

fn committed(number: u32, commit: &str) -> String {
    format!("Fixed issue {number} in {commit}.")
}

fn refused(report: &Report, issue: &Issue, why: &str) -> String {
    let number = issue.number;
    format!("crh does not apply the fix of issue {number}: {why}.\n\n{}", issue_text(report, issue))
}

fn message(issue: &Issue, comment: &CommentRef) -> String {
    let (severity, title) = (issue.severity, commit_title(issue));
    format!(
        "Fix [{severity}] {title}\n\nRequested by {}.\n\n{}\n",
        comment.author,
        trailer(comment)
    )
}

/// Line of a commit message that names the comment.
fn trailer(comment: &CommentRef) -> String {
    format!("Crh-Comment: {}", comment.id)
}
