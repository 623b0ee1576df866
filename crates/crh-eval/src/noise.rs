//! Reviews the last commits of a repository, to count findings.

use crate::host::EvalHost;
use crate::reviews::{EvalEnding, ReviewBatch, ReviewTask};
use crh_git::{Git, Repository};
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::target_args::Target;
use crh_review::eval::{CommitRun, Ending};

/// Reviews of commits.
pub struct CommitReviews {
    /// One per commit and repeat, in the order of the commits.
    pub runs: Vec<CommitRun>,
    /// How every review ended.
    pub endings: Vec<Ending>,
}

/// Reviews each commit the given number of times; `None` after an interruption.
pub fn review_commits(
    commits: &[String],
    reviews: &ReviewBatch,
    repeats: u32,
    host: &dyn EvalHost,
) -> Result<Option<CommitReviews>, Failure> {
    let tasks: Vec<ReviewTask> = commits.iter().map(|commit| task(commit)).collect();
    let mut runs: Vec<Vec<(u32, CommitRun)>> = vec![Vec::new(); tasks.len()];
    let mut endings = Vec::new();
    let end = reviews.carry_out(&tasks, repeats, host, |number, repeat, row| {
        let commit = &commits[number];
        endings.push(row.run.ending.clone());
        let run = CommitRun {
            commit: commit.clone(),
            not_reviewed: match row.run.ending {
                Ending::Reviewed => None,
                Ending::Incomplete(why) | Ending::Failed(why) | Ending::NotRun(why) => Some(why),
            },
            reported: row.run.reported,
        };
        let line = line(&run);
        runs[number].push((repeat, run));
        line
    })?;
    if end == EvalEnding::Interrupted {
        return Ok(None);
    }
    runs.iter_mut().for_each(|runs| runs.sort_by_key(|(repeat, _)| *repeat));
    let runs = runs.into_iter().flatten().map(|(_, run)| run).collect();
    Ok(Some(CommitReviews { runs, endings }))
}

/// The last commits without merges, newest first.
pub fn last_commits(repository: &Repository, last: usize) -> Result<Vec<String>, Failure> {
    if repository.head().or_fail(FailureKind::External)?.is_none() {
        return Err(Failure::usage("the repository has no commits")
            .hint("pass a repository with a history, `crh eval noise REPO`"));
    }
    let git = Git::with_git_dir(&repository.git_dir);
    let count = format!("--max-count={last}");
    // Skip empty commits: there is nothing to review.
    let asked = ["rev-list", "--no-merges", "--full-history", &count, "HEAD", "--", ":/"];
    let listed = git.text(asked).or_fail(FailureKind::External)?;
    Ok(listed.lines().map(str::to_owned).collect())
}

fn task(commit: &str) -> ReviewTask {
    let target = Target::Commit(commit.to_owned());
    ReviewTask { target, title_and_body: None, change: commit.to_owned() }
}

fn line(run: &CommitRun) -> String {
    let commit = run.commit.get(..12).unwrap_or(&run.commit);
    match (&run.not_reviewed, run.reported.as_slice()) {
        (Some(why), _) => format!("{commit} not reviewed: {why}"),
        (None, []) => format!("{commit} nothing reported"),
        (None, [first, rest @ ..]) => {
            let more =
                if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            let (file, line) = (first.span.file(), first.span.line_start());
            format!("{commit} {}: {file}:{line}{more}", first.title)
        }
    }
}
