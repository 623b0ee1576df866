//! One review, from a pinned change to its report: the list of stages and nothing else. What the user typed becomes a
//! `Subject` before, and the report goes to its sinks after.

use std::sync::Arc;
use std::time::Instant;

use crate::assemble::{Assembly, assemble, mask, mask_keys};
use crate::carried::carry;
use crate::checks::CheckTerms;
use crate::collect::collect;
use crate::consolidate::{Consolidated, consolidated};
use crate::context::{Context, Person, context};
use crate::credentials::Credentials;
use crate::dispatch::dispatch;
use crate::events::{Event, Stage};
use crate::found_by_code::FoundByCode;
use crate::journal::Journal;
use crate::office::Office;
use crate::plan::plan;
use crate::prompts::Prompts;
use crate::runs::{RunRecord, milliseconds};
use crate::subject::Subject;
use crate::terms::{Crew, Terms};
use crate::validate::validate;
use crh_agent::Ledger;
use crh_llm::Money;
use crh_review::finding::{Member, Severity};
use crh_review::report::Report;
use crh_review::{Remembered, conclude};

/// A review that is about to begin.
#[derive(Debug)]
pub struct Review {
    /// What is under review.
    pub subject: Arc<Subject>,
    /// On what terms.
    pub terms: Arc<Terms>,
    /// What static reviewers work with.
    pub checks: Arc<CheckTerms>,
    /// Who is asked; nobody if the strategy asks no model.
    pub crew: Option<Crew>,
    /// Who pays. It is opened before, so that whoever shows the progress can look into it.
    pub ledger: Ledger,
    /// What was decided about issues before.
    pub remembered: Remembered,
    /// The mildest severity that the report shows.
    pub min_severity: Severity,
    /// Whoever can be asked what the change is for, if somebody is there.
    pub person: Option<Person>,
    /// Where everything is written down.
    pub journal: Journal,
    /// Names this run.
    pub run_id: String,
    /// Where waits between attempts take their randomness from.
    pub seed: u64,
    /// When the user asked for it.
    pub since: Instant,
}

/// A review that came to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct Reviewed {
    /// What is said about the change.
    pub report: Report,
    /// The runs it comes from, validation included.
    pub records: Vec<RunRecord>,
}

/// Reviews.
pub async fn review(review: Review) -> Reviewed {
    let Review { subject, terms, journal, .. } = &review;
    let mut office = review.crew.clone().map(|crew| office(&review, crew));
    let budget = office.as_ref().map_or(Money::ZERO, |_| terms.allowance.money);
    journal.tell(Event::Planned { files: subject.files().count(), budget });
    let context = journal
        .waiting_stage(
            Stage::Context,
            context(subject, terms, review.checks.work, office.as_ref(), review.person.as_ref()),
        )
        .await;
    if let Some(office) = office.as_mut() {
        office.ledger.put_off(context.waited);
    }
    let plan =
        journal.stage(Stage::Plan, || plan(subject, terms.strategy, &review.checks, &context));
    announce(journal, &context);
    let runs = journal
        .waiting_stage(
            Stage::Review,
            dispatch(&plan, subject, &review.checks, office.as_ref(), journal, &context),
        )
        .await;
    let collected =
        journal.stage(Stage::Findings, || carry(collect(&runs), subject, &runs, plan.strategy));
    let promised = context.promised(&runs, &terms.panel.waived);
    let missing = promised.iter().flat_map(|(_, missing)| missing.clone());
    let members: Vec<Member> = collected.members.iter().cloned().chain(missing).collect();
    let consolidated = journal
        .waiting_stage(
            Stage::Merge,
            consolidated(members, subject, &review.remembered, office.as_ref()),
        )
        .await;
    let Consolidated { merged, run: paired, notes: undecided } = consolidated;
    let validated = journal
        .waiting_stage(Stage::Validate, validate(&merged, &collected, subject, office.as_ref()))
        .await;
    let report = journal.stage(Stage::Report, || {
        let report = assemble(Assembly {
            subject,
            terms,
            context: &context,
            plan: &plan,
            runs: &runs,
            promised: promised.map(|(plan, _)| plan),
            paired: paired.as_ref(),
            undecided,
            collected: &collected,
            merged: conclude(merged, &validated.judgements),
            validated: &validated,
            models: review.crew.as_ref().map(Crew::names).unwrap_or_default(),
            prompt_version: Prompts::version(&terms.overrides),
            run_id: review.run_id.clone(),
            artifact: artifact(journal),
            spent: review.ledger.spent(),
            took_ms: milliseconds(review.since.elapsed()),
            interrupted: journal.cancel().is_cancelled(),
            not_written: journal.problems(),
            min_severity: Some(review.min_severity),
        });
        mask_keys(mask(report, &Credentials::of(&subject.diff)), journal.redactor())
    });
    let before = context.scout.into_iter();
    let records = before.chain(runs.records).chain(paired).chain(validated.runs).collect();
    Reviewed { report, records }
}

/// Says who looks at the change, before anybody does.
fn announce(journal: &Journal, context: &Context) {
    let chosen = &context.team.chosen;
    let team: Vec<(String, String)> =
        chosen.iter().map(|it| (it.reviewer.name.clone(), it.why.clone())).collect();
    if !team.is_empty() {
        journal.tell(Event::TeamChosen { team });
    }
}

fn office(review: &Review, crew: Crew) -> Office {
    Office {
        prompts: Arc::new(Prompts::new(&review.subject, &review.terms, crew.context())),
        subject: review.subject.clone(),
        terms: review.terms.clone(),
        crew,
        ledger: review.ledger.clone(),
        found: FoundByCode::new(),
        journal: review.journal.clone(),
        seed: review.seed,
    }
}

fn artifact(journal: &Journal) -> String {
    journal.folder().map(|folder| folder.display().to_string()).unwrap_or_default()
}
