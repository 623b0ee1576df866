//! Reviews a suite: every case as a change of a temporary repository, once per repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

use crate::evaluated_reviewers::{EvaluatedReviewers, category_by_reviewer};
use crate::evaluation_files;
use crate::host::EvalHost;
use crate::ready_case::{ReadyCase, write_cases};
use crate::reviews::{EvalArm, EvalEnding, ReviewBatch, ReviewTask};
use crate::suite::Suite;
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::run_folder::write_atomic;
use crh_pipeline::target_args::Target;
use crh_pipeline::text::{dollars, duration};
use crh_review::eval::{
    About, CaseRun, CaseRuns, Ending, Evaluation, Labels, Rule, SCHEMA_VERSION, classify_reports,
};
use crh_review::identity::content_id;
use crh_review::report::{Report, Strategy};
use crh_review::stable_json;

/// Name of the temporary repository. It is neutral, because tools may show it to the reviewer.
const REPOSITORY: &str = "repository";
/// Maximum number of missing repositories that a warning names.
const NAMED_MAX: usize = 5;

/// The suite and the cases that a user chose.
pub struct SuiteChoice {
    /// Folder or file of the suite.
    pub place: PathBuf,
    /// Ids or globs of the chosen cases. If empty, the evaluated reviewers decide which cases fit.
    pub globs: Vec<String>,
    /// Folder with clones of the repositories that cases refer to.
    pub repos: Option<PathBuf>,
}

/// A suite that is ready for review, with its temporary repository.
pub struct OpenedSuite {
    pub(crate) suite: Suite,
    pub(crate) ready: Vec<ReadyCase>,
    folder: TempDir,
}

impl OpenedSuite {
    /// Reads a suite and lays out the selected cases.
    pub fn new(
        choice: &SuiteChoice,
        evaluated: &EvaluatedReviewers,
        host: &dyn EvalHost,
    ) -> Result<Self, Failure> {
        let read_file = |path: &Path| host.read_file(path);
        let mut suite = Suite::read(&choice.place, &choice.globs, &read_file)?;
        if choice.globs.is_empty() {
            evaluated.choose(&mut suite.cases, host)?;
        }
        let folder = tempfile::tempdir().or_fail(FailureKind::External)?;
        let place = folder.path().join(REPOSITORY);
        fs::create_dir(&place).or_fail(FailureKind::External)?;
        let ready = write_cases(&suite.cases, &place, choice.repos.as_deref())?;
        warn_of_diffs(&ready, host);
        Ok(Self { suite, ready, folder })
    }

    /// Name of the suite.
    pub fn name(&self) -> &str {
        &self.suite.name
    }

    /// The folder of the temporary repository, and a folder above it that can be the home folder.
    pub fn folders(&self) -> (PathBuf, &Path) {
        (self.folder.path().join(REPOSITORY), self.folder.path())
    }

    /// An evaluation of all cases by another tool, without runs.
    pub fn by_tool(&self, tool: &str, rule: Rule) -> Evaluation {
        let about = About {
            tool: tool.to_owned(),
            suite: self.suite.name.clone(),
            suite_hash: self.suite.hash(),
            ..About::default()
        };
        self.unreviewed(about, rule, 1)
    }

    /// An evaluation of all cases, without runs.
    fn unreviewed(&self, about: About, rule: Rule, repeats: u32) -> Evaluation {
        let cases = self.suite.cases.iter().zip(&self.ready);
        let cases = cases.map(|(case, ready)| CaseRuns {
            labels: ready.labels.clone(),
            title: case.title.clone(),
            runs: Vec::new(),
        });
        Evaluation {
            schema_version: SCHEMA_VERSION,
            about,
            rule,
            repeats,
            judged_by: None,
            cases: cases.collect(),
        }
    }

    /// Reviews all cases the given number of times. If `out` is given, writes every report into
    /// it.
    pub fn review(
        &self,
        reviews: &ReviewBatch,
        repeats: u32,
        rule: Rule,
        out: Option<&Path>,
        host: &dyn EvalHost,
    ) -> Result<(Evaluation, EvalEnding), Failure> {
        let mut evaluation = self.unreviewed(self.about(reviews, repeats), rule, repeats);
        let tasks: Vec<ReviewTask> = self.tasks().collect();
        let mut not_written = None;
        let mut runs: Vec<Vec<(u32, CaseRun)>> = vec![Vec::new(); evaluation.cases.len()];
        let end = reviews.carry_out(&tasks, repeats, host, |case, repeat, row| {
            let labels = &evaluation.cases[case].labels;
            if let (Some(out), Some(report)) = (out, &row.report)
                && let Err(error) = write_report(out, &labels.id, repeat, report)
            {
                not_written.get_or_insert(error);
            }
            let line = line(labels, &row.run, rule, repeat, repeats);
            runs[case].push((repeat, row.run));
            line
        })?;
        not_written.map_or(Ok(()), Err)?;
        for (case, mut runs) in evaluation.cases.iter_mut().zip(runs) {
            runs.sort_by_key(|(repeat, _)| *repeat);
            case.runs = runs.into_iter().map(|(_, run)| run).collect();
        }
        Ok((evaluation, end))
    }

    fn tasks(&self) -> impl Iterator<Item = ReviewTask> {
        self.suite.cases.iter().zip(&self.ready).map(|(case, ready)| {
            let (title, body) = (case.title.clone(), case.body.clone());
            let (target, change) = match &ready.head {
                // The commit id covers both trees, the title and the body.
                Some(head) => (Target::Commit(head.clone()), head.clone()),
                None => {
                    let diff = ready.diff.raw().to_vec();
                    let all = [case.title.as_bytes(), case.body.as_bytes(), &diff].join(&0);
                    (Target::Diff(diff), content_id(&all))
                }
            };
            ReviewTask { target, title_and_body: Some((title, body)), change }
        })
    }

    fn about(&self, reviews: &ReviewBatch, repeats: u32) -> About {
        About {
            tool: concat!("crh ", env!("CARGO_PKG_VERSION")).to_owned(),
            suite: self.suite.name.clone(),
            suite_hash: self.suite.hash(),
            strategy: reviews.arm.name(),
            reviewers: reviews.reviewers().to_vec(),
            lenses: match reviews.arm {
                EvalArm::Strategy(Strategy::Panel) => category_by_reviewer(),
                EvalArm::Strategy(Strategy::Single | Strategy::Delegate | Strategy::Static)
                | EvalArm::Bare => BTreeMap::new(),
            },
            model: reviews.model(),
            budget: reviews.budget().to_owned(),
            prompt_version: reviews.prompt_version.clone(),
            is_repeatable: reviews.is_repeatable(repeats),
        }
    }
}

/// Warns about cases with only a diff: reviewers see less of them.
fn warn_of_diffs(ready: &[ReadyCase], host: &dyn EvalHost) {
    let diff_only = ready.iter().filter(|case| case.head.is_none()).count();
    if diff_only == 0 {
        return;
    }
    let missing: BTreeSet<&str> =
        ready.iter().filter_map(|case| case.not_found.as_deref()).collect();
    let named: Vec<String> =
        missing.iter().take(NAMED_MAX).map(|name| format!("`{name}`")).collect();
    let more = match missing.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let all = ready.len();
    let advice = match missing.is_empty() {
        true => String::new(),
        false => format!(
            "; pass the folder with clones of {}{more} with `--repos DIR`",
            named.join(", ")
        ),
    };
    host.warn(&format!(
        "{diff_only} of {all} cases have only a diff, so reviewers see no other file{advice}"
    ));
}

/// One line for people.
fn line(labels: &Labels, run: &CaseRun, rule: Rule, repeat: u32, repeats: u32) -> String {
    let result = match &run.ending {
        Ending::Failed(why) => format!("failed: {why}"),
        Ending::NotRun(why) => format!("not run: {why}"),
        Ending::Reviewed => counts(labels, run, rule),
        Ending::Incomplete(why) => format!("{}; incomplete: {why}", counts(labels, run, rule)),
    };
    let repeat = if repeats == 1 { String::new() } else { format!(" ({repeat})") };
    let effort = &run.effort;
    let cost = if effort.llm_calls == 0 {
        String::new()
    } else {
        format!(" · {}", dollars(effort.cost_usd.0 as f64 / 1e6))
    };
    format!(
        "{:<36} {result} · {}{cost}",
        format!("{}{repeat}", labels.id),
        duration(effort.latency_ms)
    )
}

/// Numbers of found, expected and other reported issues, in words.
fn counts(labels: &Labels, run: &CaseRun, rule: Rule) -> String {
    let sorted = classify_reports(labels, run, rule);
    let found = sorted.matched.len();
    let others = run.reported.len() - found;
    match (labels.expected.len(), others) {
        (0, 0) => "nothing reported, as expected".to_owned(),
        (0, others) => format!("{others} reported where nothing is expected"),
        (expected, 0) => format!("{found} of {expected} found"),
        (expected, others) => format!("{found} of {expected} found, {others} more reported"),
    }
}

fn write_report(out: &Path, case: &str, repeat: u32, report: &Report) -> Result<(), Failure> {
    let path = out.join(evaluation_files::REPORTS).join(format!("{case}-{repeat}.json"));
    let written = stable_json(report).map_err(std::io::Error::from);
    written
        .and_then(|text| write_atomic(&path, text.as_bytes()))
        .with_context(|| format!("cannot write `{}`", path.display()))
        .or_fail(FailureKind::Usage)
}
