//! Reviews a suite: every case as a change of a temporary repository, once per repeat.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::review::description::TitleAndBody;
use super::super::review::quiet::Subject;
use super::evaluated_reviewers::{EvaluatedReviewers, evaluated};
use super::evaluation_files;
use super::reviews::{EvalArm, EvalEnding, ReviewBatch, ReviewTask};
use crate::cli::SuiteArgs;
use crate::config::environment::Environment;
use crate::eval::case::Case;
use crate::eval::ready_case::{ReadyCase, write_cases};
use crate::eval::review_cache::CaseReview;
use crate::eval::suite::Suite;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_git::PathGlobs;
use crh_pipeline::target_args::Target;
use crh_review::eval::{
    About, CaseRun, CaseRuns, Ending, Evaluation, Labels, Rule, SCHEMA_VERSION, classify_reports,
};
use crh_review::identity::content_id;
use crh_review::report::Strategy;

/// Suite of this project.
const USUAL: &str = "eval/suite";
/// Name of the temporary repository. It is neutral, because tools may show it to the reviewer.
const REPOSITORY: &str = "repository";
/// Maximum number of missing repositories that a warning names.
const NAMED_MAX: usize = 5;

/// A suite that is ready for review, with its temporary repository.
pub(super) struct OpenedSuite {
    pub(super) suite: Suite,
    pub(super) ready: Vec<ReadyCase>,
    folder: TempDir,
}

impl OpenedSuite {
    /// Reads a suite and lays out the selected cases.
    pub(super) fn new(
        args: &SuiteArgs,
        evaluated: &EvaluatedReviewers,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let place = match &args.suite {
            Some(place) => environment.folder.join(place),
            None => usual(environment)?,
        };
        let mut suite = Suite::read(&place)?;
        let listed = args.case_list.as_deref();
        let listed = listed.map(|file| case_list(&environment.folder.join(file))).transpose()?;
        match listed.as_ref().unwrap_or(&args.cases).as_slice() {
            [] => evaluated.choose(&mut suite.cases)?,
            globs => choose(&mut suite, globs)?,
        }
        let folder = tempfile::tempdir().or_fail(FailureKind::External)?;
        let repos = args.repos.as_deref().map(|repos| environment.folder.join(repos));
        let place = folder.path().join(REPOSITORY);
        fs::create_dir(&place).or_fail(FailureKind::External)?;
        let ready = write_cases(&suite.cases, &place, repos.as_deref())?;
        warn_of_diffs(&ready);
        Ok(Self { suite, ready, folder })
    }

    /// An evaluation of all cases, without runs.
    pub(super) fn unreviewed(&self, about: About, rule: Rule, repeats: u32) -> Evaluation {
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

    /// Reviews all cases the given number of times. Calls `kept` with each result, the id of its
    /// case and its repeat.
    pub(super) fn review(
        &self,
        reviews: &ReviewBatch,
        repeats: u32,
        rule: Rule,
        environment: &Environment,
        mut kept: impl FnMut(&str, u32, &CaseReview),
    ) -> Result<(Evaluation, EvalEnding), Failure> {
        let mut evaluation = self.unreviewed(self.about(reviews, repeats), rule, repeats);
        let tasks: Vec<ReviewTask> = self.tasks().collect();
        let there = environment.isolated(&self.folder.path().join(REPOSITORY), self.folder.path());
        let mut runs: Vec<Vec<(u32, CaseRun)>> = vec![Vec::new(); evaluation.cases.len()];
        let end =
            reviews.carry_out(&tasks, repeats, &there, environment, |case, repeat, row| {
                let labels = &evaluation.cases[case].labels;
                kept(&labels.id, repeat, &row);
                let line = line(labels, &row.run, rule, repeat, repeats);
                runs[case].push((repeat, row.run));
                line
            })?;
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
            let description = Some(TitleAndBody { title, body });
            ReviewTask { subject: Subject { target, description }, change }
        })
    }

    fn about(&self, reviews: &ReviewBatch, repeats: u32) -> About {
        About {
            tool: concat!("crh ", env!("CARGO_PKG_VERSION")).to_owned(),
            suite: self.suite.name.clone(),
            suite_hash: self.suite.hash(),
            strategy: reviews.arm().name(),
            reviewers: reviews.reviewers().to_vec(),
            lenses: match reviews.arm() {
                EvalArm::Strategy(Strategy::Panel) => evaluated(),
                EvalArm::Strategy(Strategy::Single | Strategy::Delegate | Strategy::Static)
                | EvalArm::Bare => BTreeMap::new(),
            },
            model: reviews.model(),
            budget: reviews.budget().to_owned(),
            prompt_version: reviews.prompt_version().to_owned(),
            is_repeatable: reviews.is_repeatable(repeats),
        }
    }
}

/// The suite below the current folder.
fn usual(environment: &Environment) -> Result<PathBuf, Failure> {
    let place = environment.folder.join(USUAL);
    if place.is_dir() {
        return Ok(place);
    }
    Err(Failure::usage(format!("`{USUAL}` does not exist here"))
        .hint("name the suite as an argument; `crh eval import` creates cases from commits"))
}

/// Ids or globs of a case list, one per line.
fn case_list(file: &Path) -> Result<Vec<String>, Failure> {
    let text = String::from_utf8_lossy(&input::bytes(file)?).into_owned();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let globs: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match globs.is_empty() {
        true => Err(Failure::usage(format!("{} lists no case", input::display_name(file)))
            .hint("write one id or glob per line")),
        false => Ok(globs),
    }
}

/// Keeps cases whose ids match, together with their twins.
fn choose(suite: &mut Suite, globs: &[String]) -> Result<(), Failure> {
    let globs = PathGlobs::new(globs.iter().map(String::as_str)).or_fail(FailureKind::Usage)?;
    let matches = |id: &str| globs.is_match(id.as_bytes());
    // A case and its twin (the reversed change) are selected together.
    let pair = |case: &Case| case.twin_of.clone().unwrap_or_else(|| case.id.clone());
    let chosen: BTreeSet<String> =
        suite.cases.iter().filter(|case| matches(&case.id)).map(pair).collect();
    suite.cases.retain(|case| chosen.contains(&pair(case)));
    if suite.cases.is_empty() {
        return Err(Failure::usage("no case id matches").hint("remove `--case` to use all cases"));
    }
    Ok(())
}

/// Warns about cases with only a diff: reviewers see less of them.
fn warn_of_diffs(ready: &[ReadyCase]) {
    let alone = ready.iter().filter(|case| case.head.is_none()).count();
    if alone == 0 {
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
    let where_they_are = match missing.is_empty() {
        true => String::new(),
        false => format!(
            "; pass the folder with clones of {}{more} with `--repos DIR`",
            named.join(", ")
        ),
    };
    ui::warn(&format!(
        "{alone} of {all} cases have only a diff, so reviewers see no other file{where_they_are}"
    ));
}

/// One line for people.
fn line(labels: &Labels, run: &CaseRun, rule: Rule, repeat: u32, repeats: u32) -> String {
    let said = match &run.ending {
        Ending::Failed(why) => format!("failed: {why}"),
        Ending::NotRun(why) => format!("not run: {why}"),
        Ending::Reviewed => said(labels, run, rule),
        Ending::Incomplete(why) => format!("{}; incomplete: {why}", said(labels, run, rule)),
    };
    let repeat = if repeats == 1 { String::new() } else { format!(" ({repeat})") };
    let effort = &run.effort;
    let cost = if effort.llm_calls == 0 {
        String::new()
    } else {
        format!(" · {}", ui::dollars(effort.cost_usd))
    };
    format!(
        "{:<36} {said} · {}{cost}",
        format!("{}{repeat}", labels.id),
        ui::duration(effort.latency_ms)
    )
}

/// Found and expected issues.
fn said(labels: &Labels, run: &CaseRun, rule: Rule) -> String {
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

pub(super) fn report_file(out: &Path, case: &str, repeat: u32) -> PathBuf {
    out.join(evaluation_files::REPORTS).join(format!("{case}-{repeat}.json"))
}
