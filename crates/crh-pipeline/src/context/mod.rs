//! Stage "context": prepares the reviewers. It finds the intent of the change, chooses the team
//! with reasons, and collects extra material.
//!
//! Rules choose the team. Then one cheap model call, the scout, states the intent and may add
//! reviewers. If that call fails, the review continues with the team that the rules chose.

mod extra_material;
mod intent;
mod intent_prompt;
mod requirements_doc;
mod scout;
pub mod solutions;
pub(crate) mod standards;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use intent::Intent;
pub use intent_prompt::IntentPrompt;
use serde::Serialize;
use serde_json::Value;
pub use solutions::{Solution, solutions_for};
pub use standards::{StandardsFile, standards_for};

use crate::assignment::{Assignment, DiffPart};
use crate::change_under_review::ChangeUnderReview;
use crate::checks::ChangeOrigin;
use crate::facts::ChangeFacts;
use crate::plan::parts::whole_files;
use crate::prompts::group_files;
use crate::requirements;
use crate::requirements::{RequirementJudgements, RequirementsDoc};
use crate::review_context::ReviewContext;
use crate::review_options::{PanelOptions, ReviewOptions};
use crate::reviewers::{ExtraMaterial, Reviewer, ReviewerCatalogue, own_reviewers};
use crate::runs::{RunRecord, RunResults};
use crate::strategies::panel::part_prompts::parts_fit;
use crate::team::{PanelSelection, ScoutSuggestion, Team, choose_team};
use crh_review::finding::Member;
use crh_review::report;
use crh_review::report::Strategy;

/// Everything that the reviewers need before they start. Empty for static checks. `delegate` has only
/// notes.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct PanelContext {
    /// Purpose of the change.
    pub intent: Intent,
    /// Chosen and skipped reviewers.
    pub team: Team,
    /// Files per part. There is more than one part only if the change is too large for one prompt.
    pub parts: Vec<Vec<DiffPart>>,
    /// The requirements document of the change.
    pub document: Option<RequirementsDoc>,
    /// Extra material for reviewers, fenced.
    #[serde(skip)]
    pub extra_material: BTreeMap<ExtraMaterial, String>,
    /// The run of the scout, if there was one.
    #[serde(skip)]
    pub scout: Option<RunRecord>,
    /// Time spent waiting for the user's answer.
    #[serde(skip)]
    pub user_wait: Duration,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// The context before the scout is asked.
struct PanelDraft {
    catalogue: ReviewerCatalogue,
    facts: ChangeFacts,
    selection: PanelSelection,
    context: PanelContext,
}

/// Builds the context of a review. Empty for static checks and without models. A panel asks the
/// scout, and the user if the intent is unclear.
pub async fn build_context(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
    origin: ChangeOrigin,
    ctx: Option<&ReviewContext>,
    intent_prompt: Option<&IntentPrompt>,
) -> PanelContext {
    let Some(ctx) = ctx else { return PanelContext::default() };
    if options.strategy != Strategy::Panel {
        return context_without_models(change, options, origin, ctx.models.min_context());
    }
    let draft = draft_context(change, options, origin, ctx.models.min_context());
    if draft.context.parts.is_empty() {
        return draft.context;
    }
    let candidates = draft.candidates();
    // Without candidates, the scout cannot add a reviewer. A default team still needs the intent
    // from the scout.
    let mut context = if candidates.is_empty() && !draft.context.team.is_narrowed {
        draft.context
    } else if options.budget.has_two_calls() {
        draft.without_scout(options.budget.llm_calls)
    } else {
        let (answer, record) = scout::ask_scout(ctx, &candidates).await;
        draft.with_scout_answer(answer, record)
    };
    if let Some(intent_prompt) = intent_prompt {
        context.user_wait = intent_prompt.clarify(&mut context.intent, &ctx.journal).await;
        // Store the user's answer, so that a resumed review does not ask again.
        if let (Some(scout), None) = (&mut context.scout, &context.intent.doubt) {
            scout.answer["intent"] = Value::from(context.intent.text.clone());
            scout.answer["doubt"] = Value::Null;
            ctx.journal.store_run(scout);
        }
    }
    context
}

/// The reviewers of a change, chosen by rules alone.
#[derive(Debug, Clone)]
pub struct Panel {
    /// All available reviewers.
    pub catalogue: ReviewerCatalogue,
    /// Chosen and skipped reviewers.
    pub team: Team,
    /// Names of skipped reviewers that the scout may add.
    pub scout_candidates: BTreeSet<String>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// Chooses the reviewers of a change without asking a model.
pub fn panel(change: &ChangeUnderReview, options: &PanelOptions, origin: ChangeOrigin) -> Panel {
    let (catalogue, notes) = catalogue(change, origin);
    let (facts, selection) = (ChangeFacts::from_change(change), options.selection());
    let team = choose_team(&catalogue, &facts, &selection, &[]);
    let scout_candidates = candidates(&catalogue, &facts, &selection, &team);
    let scout_candidates =
        scout_candidates.into_iter().map(|reviewer| reviewer.name.clone()).collect();
    Panel { catalogue, team, scout_candidates, notes }
}

/// All reviewers for a change, and a note on each of the repository's own reviewers that cannot be
/// used.
pub fn catalogue(
    change: &ChangeUnderReview,
    origin: ChangeOrigin,
) -> (ReviewerCatalogue, Vec<String>) {
    let (files, mut notes) = own_reviewers(change, origin);
    let (catalogue, unusable_notes) =
        ReviewerCatalogue::built_in().clone().with_own_reviewers(&files);
    notes.extend(unusable_notes);
    (catalogue, notes)
}

/// The context of a review without asking a model.
pub fn context_without_models(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
    origin: ChangeOrigin,
    context: u64,
) -> PanelContext {
    match options.strategy {
        Strategy::Panel => draft_context(change, options, origin, context).context,
        Strategy::Single => single_context(change, options, context),
        Strategy::Delegate => PanelContext {
            notes: requirements_doc::unchecked_plan_note(change, options).into_iter().collect(),
            ..PanelContext::default()
        },
        Strategy::Static => PanelContext::default(),
    }
}

/// The context of `single`, which has one reviewer. With a budget of two calls, that reviewer gets
/// all files in one part.
fn single_context(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
    context: u64,
) -> PanelContext {
    let parts = match options.budget.has_two_calls() {
        true => vec![whole_files(change)],
        false => group_files(change, context, options),
    };
    let has_files = |part: &Vec<DiffPart>| !part.is_empty();
    let panel_context = PanelContext {
        // With `single`, crh does not ask the user about the intent, so it does not warn either.
        intent: Intent { doubt: None, ..intent::intent_from_metadata(change) },
        team: Team::of_single(),
        parts: parts.into_iter().filter(has_files).collect(),
        notes: requirements_doc::unchecked_plan_note(change, options).into_iter().collect(),
        ..PanelContext::default()
    };
    panel_context.without_unfit_parts(change, options, context)
}

fn draft_context(
    change: &ChangeUnderReview,
    options: &ReviewOptions,
    origin: ChangeOrigin,
    context: u64,
) -> PanelDraft {
    let (catalogue, mut notes) = catalogue(change, origin);
    let facts = ChangeFacts::from_change(change);
    let selection = options.panel.selection();
    let team = choose_team(&catalogue, &facts, &selection, &[]);
    let intent = intent::intent_from_metadata(change);
    let (material, material_notes) = extra_material::extra_material(change, &facts, &intent.text);
    notes.extend(material_notes);
    let requirements_search = requirements_doc::find_requirements(change, &options.panel);
    notes.extend(requirements_search.notes);
    let panel_context = PanelContext {
        intent,
        team,
        parts: group_files(change, context, options),
        document: requirements_search.document,
        extra_material: material,
        scout: None,
        user_wait: Duration::ZERO,
        notes,
    };
    let context = panel_context.without_unfit_parts(change, options, context);
    PanelDraft { catalogue, facts, selection, context }
}

/// The reviewers that the rules do not choose and the scout may add.
fn candidates<'a>(
    catalogue: &'a ReviewerCatalogue,
    facts: &ChangeFacts,
    selection: &PanelSelection,
    chosen: &Team,
) -> Vec<&'a Reviewer> {
    let can_be_added = |reviewer: &&Reviewer| {
        let suggestion =
            ScoutSuggestion { name: reviewer.name.clone(), why: reviewer.soft.clone() };
        let larger_team = choose_team(catalogue, facts, selection, &[suggestion]);
        !reviewer.soft.is_empty()
            && chosen.get(&reviewer.name).is_none()
            && larger_team.get(&reviewer.name).is_some()
    };
    catalogue.reviewers().iter().filter(can_be_added).collect()
}

impl PanelDraft {
    fn candidates(&self) -> Vec<&Reviewer> {
        candidates(&self.catalogue, &self.facts, &self.selection, &self.context.team)
    }

    /// The context if the scout's call would leave no calls for a reviewer and the editor.
    fn without_scout(self, llm_calls: u32) -> PanelContext {
        let mut context = self.context;
        let s = if llm_calls == 1 { "" } else { "s" };
        context.notes.push(format!(
            "the model call that chooses reviewers was skipped, since the limit of {llm_calls} model call{s} leaves it none; crh chose them by fixed rules; raise `--max-llm-calls`"
        ));
        context
    }

    fn with_scout_answer(
        self,
        answer: Option<scout::ScoutAnswer>,
        record: RunRecord,
    ) -> PanelContext {
        let Self { catalogue, facts, selection, mut context } = self;
        match answer {
            Some(scout::ScoutAnswer { intent, reviewers }) => {
                context.team = choose_team(&catalogue, &facts, &selection, &reviewers);
                context.intent = intent;
            }
            None => context.notes.push(format!(
                "the model call that chooses reviewers failed ({}); crh chose them by fixed rules",
                record.ended.failure().unwrap_or("no answer")
            )),
        }
        context.scout = Some(record);
        context
    }
}

impl PanelContext {
    /// Joins all parts into one if even the parts do not fit into the model's context. Then one
    /// failed run says how many tokens are missing, instead of one run per part.
    fn without_unfit_parts(
        self,
        change: &ChangeUnderReview,
        options: &ReviewOptions,
        context: u64,
    ) -> Self {
        if self.parts.len() <= 1 || parts_fit(change, options, context, &self) {
            return self;
        }
        Self { parts: vec![whole_files(change)], ..self }
    }

    /// Index of the part of an assignment.
    pub(crate) fn part_of(&self, assignment: &Assignment) -> usize {
        self.parts.iter().position(|part| *part == assignment.parts).unwrap_or_default()
    }

    /// Extra material for a reviewer, fenced. Empty if there is none.
    pub(crate) fn extra_material_for(&self, reviewer: &Reviewer) -> String {
        let extra = reviewer.given.iter().filter_map(|given| self.extra_material.get(given));
        extra.cloned().collect::<Vec<_>>().join("\n\n")
    }

    /// The other reviewers of the team, one per line.
    pub(crate) fn others(&self, reviewer: &Reviewer) -> String {
        let others = self.team.chosen.iter().map(|choice| &choice.reviewer);
        others
            .filter(|other| other.name != reviewer.name)
            .map(|other| format!("{}: {}\n", other.name, other.lens))
            .collect()
    }

    /// Requirements with their judgements, and findings for the missing ones. None without a
    /// requirements document.
    pub(crate) fn judged_requirements(
        &self,
        runs: &RunResults,
        waived: &[String],
    ) -> Option<(report::Plan, Vec<Member>)> {
        let document = self.document.as_ref()?;
        let is_judge = |run: &&RunRecord| run.assignment.name == requirements::REVIEWER;
        let answer = runs.records.iter().find(is_judge).map(|run| run.answer.clone());
        let judged: Option<RequirementJudgements> =
            answer.and_then(|answer| serde_json::from_value(answer).ok());
        let waived: BTreeSet<String> = waived.iter().cloned().collect();
        Some(requirements::missing_findings(document, judged.as_ref(), &waived))
    }

    /// The assignment that judges the requirements, if there are any.
    fn requirements_assignment(&self) -> Option<Assignment> {
        let document = self.document.as_ref().filter(|document| !document.items.is_empty())?;
        Some(Assignment {
            name: requirements::REVIEWER.to_owned(),
            reviewer: requirements::REVIEWER.to_owned(),
            label: document.path.clone(),
            why: format!("the change is checked against `{}`", document.path),
            focus: String::new(),
            parts: Vec::new(),
        })
    }

    /// The assignments of the panel: every reviewer on every part, and the check of requirements.
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
        assignments.extend(self.requirements_assignment());
        assignments
    }
}
