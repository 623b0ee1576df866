//! `crh eval noise`: counts findings on the last commits of a repository.

use std::process::ExitCode;

use super::super::review::quiet::Subject;
use super::evaluated_reviewers::EvaluatedReviewers;
use super::evaluation_files;
use super::reviews::{EvalEnding, ReviewBatch, ReviewTask, no_model_failure};
use crate::cli::{EvalNoiseArgs, NoiseFormatArg};
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::{Git, Repository};
use crh_pipeline::target_args::Target;
use crh_review::eval::{CommitRun, Ending, Noise};
use crh_review::stable_json;

pub(super) fn run(args: &EvalNoiseArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    ui::set_verbosity(args.review.verbosity.verbosity());
    let folder = environment.folder.join(&args.repo);
    let repository = Repository::discover(&folder)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("pass a folder inside a repository"))?;
    let commits = commits(&repository, args.last.get().into())?;
    let evaluated = EvaluatedReviewers::from_args(&args.review)?;
    let reviews = ReviewBatch::open(&args.review, &evaluated, environment, no_model_failure)?;
    let tasks: Vec<ReviewTask> = commits.iter().map(|commit| task(commit)).collect();
    let repeats = args.review.repeat.get();
    // User settings must not influence the measurement.
    let home = tempfile::tempdir().or_fail(FailureKind::External)?;
    let there = environment.isolated(&folder, home.path());
    let mut runs: Vec<Vec<(u32, CommitRun)>> = vec![Vec::new(); tasks.len()];
    let mut endings = Vec::new();
    let end = reviews.carry_out(&tasks, repeats, &there, environment, |number, repeat, row| {
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
        return Ok(ui::interrupted());
    }
    runs.iter_mut().for_each(|runs| runs.sort_by_key(|(repeat, _)| *repeat));
    let runs: Vec<CommitRun> = runs.into_iter().flatten().map(|(_, run)| run).collect();
    let noise = Noise::new(&runs, args.sample, args.seed);
    ui::result_text(&match args.format {
        NoiseFormatArg::Text => noise.text(),
        NoiseFormatArg::Markdown => noise.markdown(),
        NoiseFormatArg::Json => stable_json(&noise).or_fail(FailureKind::Bug)?,
    })?;
    Ok(evaluation_files::exit_code(endings.iter()))
}

/// The last commits without merges, newest first.
fn commits(repository: &Repository, last: usize) -> Result<Vec<String>, Failure> {
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
    ReviewTask { subject: Subject { target, description: None }, change: commit.to_owned() }
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
