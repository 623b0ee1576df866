//! `--judge`: a model decides which reports match which expected issues. Answers are stored as they
//! arrive, so that none is paid twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::host::{AlreadyDone, EvalHost};
use crate::review_cache::ReviewCache;
use crate::reviews::warn_if_recording_failed;
use crh_llm::{Model, ModelFacts, Money, Redactor};
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::judge;
use crh_pipeline::judge::{DefectMatches, EvalJudge, JudgeAnswer, JudgeQuestion};
use crh_review::eval::{CaseRun, Ending, Evaluation, JudgedBy, Labels, Reported, Rule};
use crh_review::report::Decimal;

/// Budget for a recording, whose replay is free.
const ANY_AMOUNT: Money = Money::cents(u64::MAX);

/// A model that acts as judge.
pub struct JudgeModel {
    /// The model.
    pub model: Model,
    /// Name of the model; for a recording, its content hash.
    pub identity: String,
    /// Whether its answers cost money.
    pub is_paid: bool,
    /// Removes secrets from errors of the model.
    pub redactor: Redactor,
    /// Stored answers.
    pub rows: ReviewCache,
    /// Number of questions in parallel.
    pub side_by_side: usize,
}

/// A run of a case, or of its twin (the change that undoes it), that needs judging.
struct UnjudgedRun {
    /// Index of the case in the evaluation.
    case: usize,
    /// Index of the run in the case.
    run: usize,
    /// Name for people.
    shown: String,
    /// Indices of the findings before publication that the question is about; `None` if it is about
    /// the published comments.
    findings: Option<Vec<usize>>,
    question: JudgeQuestion,
}

/// Everything that determines a judge's answer, except chance.
#[derive(Serialize)]
struct AnswerKey<'a> {
    judge: &'a str,
    /// Model limits, which determine how the question is asked.
    facts: &'a ModelFacts,
    prompt_version: &'a str,
    question: &'a str,
}

/// A judge's stored answer.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    pairs: DefectMatches,
    cost_usd: Decimal,
}

/// Result of one question.
struct JudgeReply {
    /// The answer, or the reason why there is none, without secrets.
    pairs: Result<DefectMatches, String>,
    cost_usd: Decimal,
    before: AlreadyDone,
}

/// Totals of all questions.
#[derive(Default)]
struct JudgeTotals {
    cost_usd: u64,
    unanswered: u32,
    /// Reason of the first failure.
    why: Option<String>,
}

impl JudgeModel {
    /// Judges every run with something to decide, within the given budget.
    pub fn judge(
        &self,
        evaluation: &mut Evaluation,
        left: Money,
        host: &dyn EvalHost,
    ) -> Result<(), Failure> {
        let open = unjudged_runs(evaluation);
        let prompt_version = judge::version();
        let mut names = Vec::new();
        for UnjudgedRun { question, .. } in &open {
            let question = &question.text();
            let facts = self.model.facts();
            let key = AnswerKey {
                judge: &self.identity,
                facts,
                prompt_version: &prompt_version,
                question,
            };
            names.push(ReviewCache::name(&key).or_fail(FailureKind::Bug)?);
        }
        let mut shown = host.show_progress(open.len());
        let mut sums = JudgeTotals::default();
        let mut ended = |at: usize, reply: JudgeReply| {
            let UnjudgedRun { case, run, shown: name, findings, .. } = &open[at];
            shown.task_ended(&line(name, &reply.pairs), reply.before);
            let pairs = sums.add(reply);
            let run = &mut evaluation.cases[*case].runs[*run];
            match (findings, &mut run.funnel) {
                (Some(findings), Some(funnel)) => {
                    let to_index = |(issue, number): (usize, usize)| (issue, findings[number]);
                    funnel.judged = pairs.map(|pairs| pairs.into_iter().map(to_index).collect());
                }
                (_, _) => run.judged = pairs,
            }
        };
        let mut unknown = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match self.find_stored(name, &open[at].question, host) {
                Some(known) => ended(at, known),
                None => unknown.push(at),
            }
        }
        self.ask(&open, &unknown, left, host, |at, reply| {
            self.keep(&names[at], &reply, host);
            ended(at, reply);
        })?;
        drop(shown);
        for run in evaluation.cases.iter_mut().flat_map(|case| &mut case.runs) {
            // If each finding and issue equals a published comment, the answer about the comments
            // covers them.
            if let Some(funnel) = &mut run.funnel
                && funnel.unpublished(&run.reported).is_empty()
            {
                funnel.judged = Some(Vec::new());
            }
        }
        sums.warn(open.len(), host);
        self.record_judge(evaluation, prompt_version, &sums);
        Ok(())
    }

    /// A stored answer to the same question.
    fn find_stored(
        &self,
        name: &str,
        question: &JudgeQuestion,
        host: &dyn EvalHost,
    ) -> Option<JudgeReply> {
        let Answer { pairs, cost_usd } = self.rows.find(name, host.now())?;
        // The file may have been edited.
        let (expected, reported) = question.size();
        let fits = pairs.iter().all(|(first, second)| *first < expected && *second < reported);
        fits.then_some(JudgeReply { pairs: Ok(pairs), cost_usd, before: AlreadyDone::Yes })
    }

    fn keep(&self, name: &str, reply: &JudgeReply, host: &dyn EvalHost) {
        let Ok(pairs) = reply.pairs.clone() else { return };
        let answer = Answer { pairs, cost_usd: reply.cost_usd };
        if let Err(error) = self.rows.keep(name, &answer) {
            host.warn(&format!(
                "cannot store an answer of the judge; the next evaluation pays for it again: {error}"
            ));
        }
    }

    /// Asks the questions at the given indices.
    fn ask(
        &self,
        open: &[UnjudgedRun],
        places: &[usize],
        left: Money,
        host: &dyn EvalHost,
        mut ended: impl FnMut(usize, JudgeReply),
    ) -> Result<(), Failure> {
        if places.is_empty() {
            return Ok(());
        }
        let judge = EvalJudge {
            model: self.model.clone(),
            money: if self.is_paid { left } else { ANY_AMOUNT },
            max_parallel: self.side_by_side,
            retry_seed: 0,
        };
        let questions = places.iter().map(|at| open[*at].question.clone()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(FailureKind::External)?;
        runtime.block_on(judge.ask(questions, |place, JudgeAnswer { pairs, cost }| {
            // Rounds to millionths; no question costs more than fits.
            let cost_usd = Decimal((cost.as_dollars() * 1e6).round() as u64);
            // A provider's error may repeat what crh sent.
            let pairs = pairs.map_err(|why| self.redactor.redact(&why).into_owned());
            ended(places[place], JudgeReply { pairs, cost_usd, before: AlreadyDone::No });
        }));
        warn_if_recording_failed(&self.model, host);
        Ok(())
    }

    /// Records the judge in the evaluation.
    fn record_judge(
        &self,
        evaluation: &mut Evaluation,
        prompt_version: String,
        sums: &JudgeTotals,
    ) {
        evaluation.rule = Rule::Judge;
        evaluation.about.is_repeatable &= !self.is_paid;
        evaluation.judged_by = Some(JudgedBy {
            model: self.model.name().to_owned(),
            prompt: prompt_version,
            brief: judge::brief(),
            cost_usd: Decimal(sums.cost_usd),
            unanswered: sums.unanswered,
        });
    }
}

impl JudgeTotals {
    /// Adds a result and returns its answer, if there is one.
    fn add(&mut self, ended: JudgeReply) -> Option<DefectMatches> {
        self.cost_usd = self.cost_usd.saturating_add(ended.cost_usd.0);
        match ended.pairs {
            Ok(pairs) => Some(pairs),
            Err(why) => {
                self.unanswered += 1;
                self.why.get_or_insert(why);
                None
            }
        }
    }

    fn warn(&self, questions: usize, host: &dyn EvalHost) {
        if let Some(why) = &self.why {
            host.warn(&format!(
                "the judge did not answer {} of {questions} questions; these are matched by text instead: {why}",
                self.unanswered
            ));
        }
    }
}

/// Runs with something to decide. A run of a twin is compared with the expected issues of the case
/// that the twin undoes: an issue found in that case counts only if it is not reported on the twin,
/// too.
fn unjudged_runs(evaluation: &Evaluation) -> Vec<UnjudgedRun> {
    let cases = evaluation.cases.iter().map(|case| (case.labels.id.as_str(), &case.labels));
    let labels: BTreeMap<&str, &Labels> = cases.collect();
    let mut open = Vec::new();
    for (case, cases) in evaluation.cases.iter().enumerate() {
        for (run, CaseRun { ending, reported, funnel, .. }) in cases.runs.iter().enumerate() {
            let number = open.len() + 1;
            let question = match (ending, &cases.labels.twin_of) {
                // Reports of such a run do not count.
                (Ending::Failed(_) | Ending::NotRun(_), _) => None,
                (Ending::Reviewed | Ending::Incomplete(_), None) => {
                    JudgeQuestion::new(number, &cases.labels.expected, reported)
                }
                (Ending::Reviewed | Ending::Incomplete(_), Some(of)) => labels
                    .get(of.as_str())
                    .and_then(|of| JudgeQuestion::for_twin(number, &of.expected, reported)),
            };
            let repeat =
                if cases.runs.len() == 1 { String::new() } else { format!(" ({})", run + 1) };
            let shown = format!("{}{repeat}", cases.labels.id);
            if let Some(question) = question {
                open.push(UnjudgedRun {
                    case,
                    run,
                    shown: shown.clone(),
                    findings: None,
                    question,
                });
            }
            let is_reviewed = match ending {
                Ending::Reviewed | Ending::Incomplete(_) => true,
                Ending::Failed(_) | Ending::NotRun(_) => false,
            };
            let about_findings = funnel.as_ref().filter(|_| is_reviewed).and_then(|funnel| {
                let findings = funnel.unpublished(reported);
                let reports: Vec<Reported> =
                    findings.iter().map(|at| funnel.reports[*at].reported.clone()).collect();
                let number = open.len() + 1;
                let question = JudgeQuestion::new(number, &cases.labels.expected, &reports)?;
                let shown = format!("{shown}, findings");
                Some(UnjudgedRun { case, run, shown, findings: Some(findings), question })
            });
            open.extend(about_findings);
        }
    }
    open
}

/// One line for people.
fn line(name: &str, pairs: &Result<DefectMatches, String>) -> String {
    match pairs {
        Ok(pairs) => match pairs.len() {
            0 => format!("{name:<36} judged: no report matches an expected issue"),
            1 => format!("{name:<36} judged: 1 report matches an expected issue"),
            pairs => format!("{name:<36} judged: {pairs} reports match expected issues"),
        },
        Err(why) => format!("{name:<36} not judged: {why}"),
    }
}
