//! `--judge`: a model says which reports are about which expected issues. Its answers are kept as they come, so that nobody
//! pays for them twice.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::models;
use super::super::models::Models;
use super::reviews;
use super::reviews::Reviews;
use crate::cli::EvalRunArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::eval::rows::KeptRows;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui::Verbosity;
use crate::ui::rows::{Before, Rows};
use crate::{config, ui};
use crh_llm::{Model, ModelFacts, Money, Redactor};
use crh_pipeline::judge;
use crh_pipeline::judge::{Judge, Pairs, Question, Verdict};
use crh_review::eval::{CaseRun, Ending, Evaluation, JudgedBy, Labels, Rule};
use crh_review::report::Decimal;

/// A recording costs nothing, whatever it cost when it was made.
const ANY_AMOUNT: Money = Money::cents(u64::MAX);

/// A judge that can be asked.
pub(super) struct Bench {
    model: Model,
    /// Says that it is the same one: its name, of a recording the content.
    identity: String,
    is_paid: bool,
    redactor: Redactor,
    rows: KeptRows,
    side_by_side: usize,
    verbosity: Verbosity,
}

/// A run of a case or of a twin that is to be judged.
struct Open {
    case: usize,
    run: usize,
    /// How people call it.
    shown: String,
    question: Question,
}

/// Everything that decides what a judge says, but for chance.
#[derive(Serialize)]
struct AnswerKey<'a> {
    judge: &'a str,
    /// What is taken for known about it: how it is asked follows from that.
    facts: &'a ModelFacts,
    prompt: &'a str,
    question: &'a str,
}

/// What a judge said, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    pairs: Pairs,
    cost_usd: Decimal,
}

/// What came of a question.
struct Ended {
    /// The answer, or why there is none, without secrets.
    pairs: Result<Pairs, String>,
    cost_usd: Decimal,
    before: Before,
}

/// What all questions came to.
#[derive(Default)]
struct Sums {
    cost_usd: u64,
    unanswered: u32,
    /// Why the first of these was not.
    why: Option<String>,
}

impl Bench {
    /// Finds the judge. Nothing is asked of it.
    pub(super) fn open(
        name: &str,
        args: &EvalRunArgs,
        reviews: &Reviews,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        // Not with the command line, which would repeat a wrong one: its address may have a password.
        let name = name.parse().map_err(|error: crh_llm::NameError| {
            Failure::usage(format!("`--judge`: {error}"))
                .hint("`crh model list` shows providers and models")
        })?;
        let mut flags = RawSettings::default();
        args.review.how.clone().set(&mut flags);
        let settings = config::load(environment, None, flags)?;
        let known = Models::new(&settings, environment)?;
        let model = match reviews.recorder() {
            Some(recorder) => known.open(&name, None)?.recording(recorder),
            None => known.open(&name, args.review.record.as_deref())?,
        };
        let side_by_side = settings.review_side_by_side.value.get();
        Ok(Self {
            model,
            identity: reviews::identity(&name, environment)?,
            is_paid: reviews::is_paid(&name),
            redactor: known.redactor(),
            rows: reviews::kept_rows(&args.review, &settings, environment)?,
            side_by_side: usize::try_from(side_by_side).unwrap_or(usize::MAX),
            verbosity: args.review.talk.verbosity(),
        })
    }

    /// Judges every run in which there is something to decide, for so much money at most.
    pub(super) fn judge(
        &self,
        evaluation: &mut Evaluation,
        left: Money,
        environment: &Environment,
    ) -> Result<(), Failure> {
        let open = open(evaluation);
        let prompt = judge::version();
        let mut names = Vec::new();
        for Open { question, .. } in &open {
            let question = &question.text();
            let facts = self.model.facts();
            let key = AnswerKey { judge: &self.identity, facts, prompt: &prompt, question };
            names.push(KeptRows::name(&key).or_fail(Kind::Bug)?);
        }
        let mut shown = Rows::new(open.len(), self.verbosity, environment);
        let mut sums = Sums::default();
        let mut ended = |at: usize, ended: Ended| {
            let Open { case, run, shown: name, .. } = &open[at];
            shown.ended(&line(name, &ended.pairs), ended.before);
            evaluation.cases[*case].runs[*run].judged = sums.add(ended);
        };
        let mut unknown = Vec::new();
        for (at, name) in names.iter().enumerate() {
            match self.kept(name, &open[at].question, environment) {
                Some(known) => ended(at, known),
                None => unknown.push(at),
            }
        }
        self.ask(&open, &unknown, left, |at, said| {
            self.keep(&names[at], &said);
            ended(at, said);
        })?;
        drop(shown);
        sums.warn(open.len());
        self.sign(evaluation, prompt, &sums);
        Ok(())
    }

    /// What was said to the same question before.
    fn kept(&self, name: &str, question: &Question, environment: &Environment) -> Option<Ended> {
        let Answer { pairs, cost_usd } = self.rows.find(name, environment.now())?;
        // Somebody may have touched the file.
        let (expected, reported) = question.size();
        let fits = pairs.iter().all(|(first, second)| *first < expected && *second < reported);
        fits.then_some(Ended { pairs: Ok(pairs), cost_usd, before: Before::Yes })
    }

    fn keep(&self, name: &str, said: &Ended) {
        let Ok(pairs) = said.pairs.clone() else { return };
        let answer = Answer { pairs, cost_usd: said.cost_usd };
        if let Err(error) = self.rows.keep(name, &answer) {
            ui::warn(&format!(
                "a verdict could not be kept, and would be asked for again: {error}"
            ));
        }
    }

    /// Asks those of the questions that stand at these places.
    fn ask(
        &self,
        open: &[Open],
        places: &[usize],
        left: Money,
        mut ended: impl FnMut(usize, Ended),
    ) -> Result<(), Failure> {
        if places.is_empty() {
            return Ok(());
        }
        let judge = Judge {
            model: self.model.clone(),
            money: if self.is_paid { left } else { ANY_AMOUNT },
            side_by_side: self.side_by_side,
            seed: 0,
        };
        let questions = places.iter().map(|at| open[*at].question.clone()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.or_fail(Kind::Outside)?;
        runtime.block_on(judge.ask(questions, |place, Verdict { pairs, cost }| {
            // Casting rounds to millionths; no question costs what does not fit.
            let cost_usd = Decimal((cost.as_dollars() * 1e6).round() as u64);
            // A vendor may repeat what it was sent.
            let pairs = pairs.map_err(|why| self.redactor.redact(&why).into_owned());
            ended(places[place], Ended { pairs, cost_usd, before: Before::No });
        }));
        models::warn_of_recording(&self.model);
        Ok(())
    }

    /// Says in the evaluation who judged it.
    fn sign(&self, evaluation: &mut Evaluation, prompt: String, sums: &Sums) {
        evaluation.rule = Rule::Judge;
        evaluation.about.is_repeatable &= !self.is_paid;
        evaluation.judged_by = Some(JudgedBy {
            model: self.model.name().to_owned(),
            prompt,
            cost_usd: Decimal(sums.cost_usd),
            unanswered: sums.unanswered,
        });
    }
}

impl Sums {
    /// Adds what came of a question; its answer, if there is one.
    fn add(&mut self, ended: Ended) -> Option<Pairs> {
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

    fn warn(&self, questions: usize) {
        if let Some(why) = &self.why {
            ui::warn(&format!(
                "the judge did not answer {} of {questions} times, and these are matched by text: {why}",
                self.unanswered
            ));
        }
    }
}

/// The runs in which there is something to decide. Those of twins are held against what is expected of their cases: credit in pairs is
/// only for what is not reported on the twin, whoever says so.
fn open(evaluation: &Evaluation) -> Vec<Open> {
    let cases = evaluation.cases.iter().map(|case| (case.labels.id.as_str(), &case.labels));
    let labels: BTreeMap<&str, &Labels> = cases.collect();
    let mut open = Vec::new();
    for (case, cases) in evaluation.cases.iter().enumerate() {
        for (run, CaseRun { ending, reported, .. }) in cases.runs.iter().enumerate() {
            let number = open.len() + 1;
            let question = match (ending, &cases.labels.twin_of) {
                // What such a run reported does not count.
                (Ending::Failed(_) | Ending::NotRun(_), _) => None,
                (Ending::Reviewed | Ending::Incomplete(_), None) => {
                    Question::new(number, &cases.labels.expected, reported)
                }
                (Ending::Reviewed | Ending::Incomplete(_), Some(of)) => labels
                    .get(of.as_str())
                    .and_then(|of| Question::about_twin(number, &of.expected, reported)),
            };
            let Some(question) = question else { continue };
            let repeat =
                if cases.runs.len() == 1 { String::new() } else { format!(" ({})", run + 1) };
            let shown = format!("{}{repeat}", cases.labels.id);
            open.push(Open { case, run, shown, question });
        }
    }
    open
}

/// An answer, for people.
fn line(name: &str, pairs: &Result<Pairs, String>) -> String {
    match pairs {
        Ok(pairs) => match pairs.len() {
            0 => format!("{name:<36} judged: no report is about an expected issue"),
            1 => format!("{name:<36} judged: 1 pair of a report and an expected issue"),
            pairs => format!("{name:<36} judged: {pairs} pairs of a report and an expected issue"),
        },
        Err(why) => format!("{name:<36} not judged: {why}"),
    }
}
