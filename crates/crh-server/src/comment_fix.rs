//! `/crh fix 3`: commits an exact replacement to the branch of the pull request, or suggests it.
//!
//! The branch must still have the reviewed head. The commit names the comment that asked for it, so
//! that a job that runs twice commits once.

use crate::comment_jobs::{CommentJobRunner, answer_mark, find_issue, fix_text, issue_text};
use crate::github_app::GitHubAccess;
use crate::github_code::{CommitResult, FileCommit, PullHead};
use crate::job::AttemptFailure;
use crate::webhook::plan::CommentRef;
use crate::worker::Attempt;
use crh_forge::posting::apply_replacement;
use crh_review::render::ticket_title;
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
        let repository = change.repository.as_str();
        let (review, report, issue) = match find_issue(attempt, number).await? {
            Ok(found) => found,
            Err(answer) => return Ok(Some(answer)),
        };
        let Some(github) = self.access.github_at(&change.forge) else {
            return Ok(Some(fix_text(&report, &issue)));
        };
        let head = github.pull_head(change).await?;
        if head.is_own_branch && head.commit != review.head {
            let message = github.commit_message(repository, &head.commit).await?;
            if message.lines().any(|line| line == trailer(comment)) {
                return Ok(Some(committed(number, &head.commit)));
            }
        }
        if head.commit != review.head {
            return Ok(Some(MOVED.to_owned()));
        }
        let path = issue.location.file.as_str();
        let Some(file) = github.file_at(repository, &head.commit, path).await? else {
            return Ok(Some(refused(&report, &issue, "its file is not text, or too large")));
        };
        let text = match apply_replacement(&issue, &file.text) {
            Ok(text) => text,
            Err(why) => return Ok(Some(refused(&report, &issue, why))),
        };
        // The last fence before a write: a worker that lost its lease ends here.
        attempt.begin_step("fix").await?;
        if head.is_own_branch {
            let message = message(&issue, comment);
            let (branch, parent) = (head.branch.as_str(), head.commit.as_str());
            let commit =
                FileCommit { branch, parent, file: &file, path, text: &text, message: &message };
            match github.commit_file(repository, &commit).await? {
                CommitResult::Committed(sha) => return Ok(Some(committed(number, &sha))),
                CommitResult::Refused if github.pull_head(change).await? != head => {
                    return Ok(Some(MOVED.to_owned()));
                }
                // The App may not write here, or the branch is protected.
                CommitResult::Refused => {}
            }
        }
        self.suggest(github, attempt, comment, &head, (&report, &issue)).await
    }

    /// Suggests the replacement at its lines, once.
    async fn suggest(
        &self,
        github: &GitHubAccess,
        attempt: &Attempt<'_>,
        comment: &CommentRef,
        head: &PullHead,
        (report, issue): (&Report, &Issue),
    ) -> Result<Option<String>, AttemptFailure> {
        let change = &attempt.job().key.change;
        let mark = answer_mark(comment.id);
        if github.has_line_comment(change, &mark).await? {
            return Ok(None);
        }
        let replacement = issue.replacement.as_deref().unwrap_or_default();
        let replacement = replacement.trim_end_matches('\n');
        let body = format!(
            "Fix of issue {}. crh may not commit to this branch.\n\n```suggestion\n{replacement}\n```\n\n{mark}",
            issue.number
        );
        let location = &issue.location;
        let lines = (location.file.as_str(), location.line_start, location.line_end);
        let is_taken = github.comment_on_lines(change, &head.commit, lines, &body).await?;
        Ok((!is_taken).then(|| issue_text(report, issue)))
    }
}

fn committed(number: u32, commit: &str) -> String {
    format!("Fixed issue {number} in {commit}.")
}

fn refused(report: &Report, issue: &Issue, why: &str) -> String {
    let number = issue.number;
    format!("crh does not apply the fix of issue {number}: {why}.\n\n{}", issue_text(report, issue))
}

fn message(issue: &Issue, comment: &CommentRef) -> String {
    let title = ticket_title(issue);
    format!("Fix {title}\n\nRequested by {}.\n\n{}\n", comment.author, trailer(comment))
}

/// Line of a commit message that names the comment.
fn trailer(comment: &CommentRef) -> String {
    format!("Crh-Comment: {}", comment.id)
}
