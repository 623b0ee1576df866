//! Context: what a panel knows before it looks: what the change is for, who looks at it and why, what each is given besides.
//!
//! Code decides; one cheap call may add reviewers and says what the change is for. Without it the review goes on with what code
//! knows, and says so.

#[path = "extra_material.rs"]
mod given;
mod intent;
#[path = "intent_prompt.rs"]
mod person;
#[path = "requirements_doc.rs"]
mod plan;
mod scout;
pub mod solutions;
mod standards;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use intent::Intent;
pub use person::Person;
use serde::Serialize;
use serde_json::Value;
pub use solutions::{Solution, solutions_for};
pub use standards::{Standard, standards_for};

use crate::checks::Work;
use crate::facts::Facts;
use crate::office::Office;
use crate::plan::{Assignment, Part};
use crate::prompts::groups;
use crate::requirements;
use crate::requirements::{Judged, PlanDocument};
use crate::reviewers::{Catalogue, Given, Reviewer, own_reviewers};
use crate::runs::{RunRecord, Runs};
use crate::subject::Subject;
use crate::team::{Scouted, Team, Wanted, team};
use crate::terms::{PanelTerms, Terms};
use crh_review::finding::Member;
use crh_review::report;
use crh_review::report::Strategy;

/// What a panel knows before it looks. Empty where there is no panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Context {
    /// What the change is for, and what about that is unclear.
    pub intent: Intent,
    /// Who looks at it, and who does not.
    pub team: Team,
    /// What is looked at in one look: more than one part only if the change is too large.
    pub parts: Vec<Vec<Part>>,
    /// The plan that it is held against.
    pub document: Option<PlanDocument>,
    /// What reviewers may be given besides the change, fenced.
    #[serde(skip)]
    pub given: BTreeMap<Given, String>,
    /// The run that was asked before, if one was.
    #[serde(skip)]
    pub scout: Option<RunRecord>,
    /// How long somebody was waited for who was asked what the change is for.
    #[serde(skip)]
    pub waited: Duration,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// What code knows about a change before anyone is asked.
struct Known {
    catalogue: Catalogue,
    facts: Facts,
    wanted: Wanted,
    context: Context,
}

/// What a panel knows. Where there is no panel or no model can be asked, nothing has to be known. Somebody who is there is asked
/// what the change is for if that is unclear.
pub async fn context(
    subject: &Subject,
    terms: &Terms,
    work: Work,
    office: Option<&Office>,
    person: Option<&Person>,
) -> Context {
    let Some(office) = office.filter(|_| terms.strategy == Strategy::Panel) else {
        return Context::default();
    };
    let known = known(subject, terms, work, office.crew.context());
    if known.context.parts.is_empty() {
        return known.context;
    }
    let candidates = known.candidates();
    let mut context = if candidates.is_empty() {
        known.context
    } else {
        let (answer, record) = scout::ask(office, &candidates).await;
        known.told(answer, record)
    };
    if let Some(person) = person {
        context.waited = person.clarify(&mut context.intent, &office.journal).await;
        // A review that goes on asks nobody again, and tells nobody anything else.
        if let (Some(scout), None) = (&mut context.scout, &context.intent.doubt) {
            scout.answer["intent"] = Value::from(context.intent.text.clone());
            scout.answer["doubt"] = Value::Null;
            office.journal.keep(scout);
        }
    }
    context
}

/// Who would look at a change if nobody was asked, out of whom.
#[derive(Debug, Clone)]
pub struct Panel {
    /// All that there are.
    pub catalogue: Catalogue,
    /// Who looks and who does not.
    pub team: Team,
    /// Of those who do not, the names of whom somebody who reads the change may ask for.
    pub on_call: BTreeSet<String>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// Who would look at a change, as far as code knows.
pub fn panel(subject: &Subject, terms: &PanelTerms, work: Work) -> Panel {
    let (catalogue, notes) = catalogue(subject, work);
    let (facts, wanted) = (Facts::of(subject), terms.wanted());
    let team = team(&catalogue, &facts, &wanted, &[]);
    let on_call = candidates(&catalogue, &facts, &wanted, &team);
    let on_call = on_call.into_iter().map(|reviewer| reviewer.name.clone()).collect();
    Panel { catalogue, team, on_call, notes }
}

/// The reviewers that there are for a change, and a sentence about each of the repository's own that cannot be used.
pub fn catalogue(subject: &Subject, work: Work) -> (Catalogue, Vec<String>) {
    let (files, mut notes) = own_reviewers(subject, work);
    let (catalogue, unusable) = Catalogue::built_in().clone().with(&files);
    notes.extend(unusable);
    (catalogue, notes)
}

/// What a panel knows without asking: who would look at a change, and why.
pub fn by_code(subject: &Subject, terms: &Terms, work: Work, context: u64) -> Context {
    match terms.strategy {
        Strategy::Panel => known(subject, terms, work, context).context,
        Strategy::Single | Strategy::Delegate | Strategy::Static => Context::default(),
    }
}

fn known(subject: &Subject, terms: &Terms, work: Work, context: u64) -> Known {
    let (catalogue, mut notes) = catalogue(subject, work);
    let facts = Facts::of(subject);
    let wanted = terms.panel.wanted();
    let team = team(&catalogue, &facts, &wanted, &[]);
    let intent = intent::by_code(subject);
    let (given, unread) = given::given(subject, &facts, &intent.text);
    notes.extend(unread);
    let plan = plan::discovered(subject, &terms.panel);
    notes.extend(plan.notes);
    let context = Context {
        intent,
        team,
        parts: groups(subject, context, &terms.allowance),
        document: plan.document,
        given,
        scout: None,
        waited: Duration::ZERO,
        notes,
    };
    Known { catalogue, facts, wanted, context }
}

/// The reviewers that only somebody who reads the change can ask for.
fn candidates<'a>(
    catalogue: &'a Catalogue,
    facts: &Facts,
    wanted: &Wanted,
    chosen: &Team,
) -> Vec<&'a Reviewer> {
    let could_be = |reviewer: &&Reviewer| {
        let wish = Scouted { name: reviewer.name.clone(), why: reviewer.soft.clone() };
        let added = team(catalogue, facts, wanted, &[wish]);
        !reviewer.soft.is_empty()
            && chosen.get(&reviewer.name).is_none()
            && added.get(&reviewer.name).is_some()
    };
    catalogue.reviewers().iter().filter(could_be).collect()
}

impl Known {
    fn candidates(&self) -> Vec<&Reviewer> {
        candidates(&self.catalogue, &self.facts, &self.wanted, &self.context.team)
    }

    /// What is known once somebody has read the change.
    fn told(self, answer: Option<scout::Answer>, record: RunRecord) -> Context {
        let Self { catalogue, facts, wanted, mut context } = self;
        match answer {
            Some(scout::Answer { intent, reviewers }) => {
                context.team = team(&catalogue, &facts, &wanted, &reviewers);
                context.intent = intent;
            }
            None => context.notes.push(format!(
                "nobody read the change before the panel was chosen ({}): it was chosen by code alone",
                record.ended.failure().unwrap_or("no answer")
            )),
        }
        context.scout = Some(record);
        context
    }
}

impl Context {
    /// Which part an assignment is on.
    pub(crate) fn part_of(&self, assignment: &Assignment) -> usize {
        self.parts.iter().position(|part| *part == assignment.parts).unwrap_or_default()
    }

    /// What a reviewer is given besides the change, fenced; empty if nothing.
    pub(crate) fn given_to(&self, reviewer: &Reviewer) -> String {
        let given = reviewer.given.iter().filter_map(|given| self.given.get(given));
        given.cloned().collect::<Vec<_>>().join("\n\n")
    }

    /// What the change has of what its plan asks for, as it was judged, and what is missing; none if there is no plan.
    pub(crate) fn promised(
        &self,
        runs: &Runs,
        waived: &[String],
    ) -> Option<(report::Plan, Vec<Member>)> {
        let document = self.document.as_ref()?;
        let judge = |run: &&RunRecord| run.assignment.name == requirements::REVIEWER;
        let said = runs.records.iter().find(judge).map(|run| run.answer.clone());
        let judged: Option<Judged> = said.and_then(|said| serde_json::from_value(said).ok());
        let waived: BTreeSet<String> = waived.iter().cloned().collect();
        Some(requirements::members(document, judged.as_ref(), &waived))
    }

    /// Whoever judges the plan, if it asks for something.
    fn judge(&self) -> Option<Assignment> {
        let document = self.document.as_ref().filter(|document| !document.items.is_empty())?;
        Some(Assignment {
            name: requirements::REVIEWER.to_owned(),
            reviewer: requirements::REVIEWER.to_owned(),
            label: document.path.clone(),
            why: format!("the change is held against `{}`", document.path),
            focus: String::new(),
            parts: Vec::new(),
        })
    }

    /// The assignments of the panel: every reviewer on every part, and whoever judges the plan.
    pub(crate) fn assignments(&self) -> Vec<Assignment> {
        let mut assignments = Vec::new();
        for chosen in &self.team.chosen {
            for (number, parts) in (1..).zip(&self.parts) {
                let (name, label) = match (number, self.parts.len()) {
                    (1, 1) => (chosen.reviewer.name.clone(), String::new()),
                    (1, count) => (chosen.reviewer.name.clone(), format!("part 1 of {count}")),
                    (_, count) => (
                        format!("{}-{number}", chosen.reviewer.name),
                        format!("part {number} of {count}"),
                    ),
                };
                assignments.push(Assignment {
                    name,
                    reviewer: chosen.reviewer.name.clone(),
                    label,
                    why: chosen.why.clone(),
                    focus: String::new(),
                    parts: parts.clone(),
                });
            }
        }
        assignments.extend(self.judge());
        assignments
    }
}

/// The end of a change at which the project's instructions are read: `base` or `head`. Locally the author and the reader are one;
/// what is proposed may come from anybody.
pub(crate) fn instructing_end(subject: &Subject) -> &'static str {
    let is_proposed =
        subject.workspace().is_ok_and(|workspace| !workspace.metadata().url.is_empty());
    if is_proposed { "base" } else { "head" }
}
