//! The one cheap call before a panel is chosen: what is the change for, and whom does it need besides.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::Intent;
use super::intent::INTENT_CHARS;
use crate::office::Office;
use crate::plan::Assignment;
use crate::question::{Question, asked};
use crate::reviewers::Reviewer;
use crate::runs::RunRecord;
use crate::team::Scouted;
use crate::text::{cut, one_line};
use crate::tools::session::{ReportScout, read};
use crate::workspace::LinkedIssue;
use crh_agent::Purpose;

/// Names its run.
const SCOUT: &str = "scout";

/// Once, and two repairs.
const TURNS: u32 = 3;
/// An intent and some names; the rest is for models that think first.
const OUTPUT_TOKENS: u32 = 4_000;
/// A review that knows less is better than one that has spent its time on waiting.
const PATIENCE: Duration = Duration::from_secs(60);
/// The longest reason, in characters: half a line.
const WHY_CHARS: usize = 160;
/// How much of the linked issues is shown, in characters each and in number: what they are about, not their discussions.
const ISSUE_CHARS: usize = 1_500;
const ISSUES_MAX: usize = 5;

/// What becomes of names that were not listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unlisted {
    Refused,
    Ignored,
}

/// What it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) intent: Intent,
    pub(super) reviewers: Vec<Scouted>,
}

/// Asks; none if there was no answer.
pub(super) async fn ask(office: &Office, candidates: &[&Reviewer]) -> (Option<Answer>, RunRecord) {
    let names: Vec<String> = candidates.iter().map(|it| it.name.clone()).collect();
    let question = Question {
        assignment: assignment(office),
        model: office.crew.small(),
        own: prompt(office, candidates),
        purpose: Purpose::Work,
        turns: TURNS,
        tool_calls: 0,
        output_tokens: OUTPUT_TOKENS,
        about: "for whoever is asked before the review",
        patience: PATIENCE,
        places: None,
    };
    let was_told = AtomicBool::new(false);
    let read = move |value| {
        let said = read::<ReportScout>(value)?;
        // Once: what else it said is worth more than a name that is nobody's.
        let again = was_told.swap(true, Ordering::Relaxed);
        checked(said, &names, if again { Unlisted::Ignored } else { Unlisted::Refused })
    };
    let (said, record) = asked::<ReportScout, _>(office, question, read).await;
    (said.map(|said| answer(said, candidates)), record)
}

fn assignment(office: &Office) -> Assignment {
    Assignment {
        name: SCOUT.to_owned(),
        reviewer: SCOUT.to_owned(),
        label: String::new(),
        why: String::new(),
        focus: String::new(),
        parts: crate::plan::whole_files(&office.subject),
    }
}

fn prompt(office: &Office, candidates: &[&Reviewer]) -> String {
    let issues = office.subject.workspace().ok().and_then(|it| it.bytes("linked-issues.json").ok());
    let issues: Vec<LinkedIssue> =
        issues.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let issues: Vec<String> = issues
        .iter()
        .take(ISSUES_MAX)
        .map(|it| format!("{} {}\n{}\n", it.id, one_line(&it.title), cut(&it.body, ISSUE_CHARS)))
        .collect();
    let candidates: String = candidates
        .iter()
        .map(|it| format!("{}: {}; if {}\n", it.name, one_line(&it.lens), one_line(&it.soft)))
        .collect();
    office.prompts.scout(&issues.join("\n"), &candidates)
}

/// Refuses an intent that says nothing, and names that were not listed, so that a reviewer is not lost to a slip of the pen.
fn checked(said: ReportScout, names: &[String], unlisted: Unlisted) -> Result<ReportScout, String> {
    if said.intent.trim().is_empty() {
        return Err("`intent` is empty: say in two or three sentences what the change is for, or in `doubt` what is unclear about it".to_owned());
    }
    let unknown = said.reviewers.iter().find(|wanted| !names.contains(&wanted.name));
    match unknown.filter(|_| unlisted == Unlisted::Refused) {
        Some(wanted) => Err(format!(
            "there is no reviewer `{}` to add; the names are {}",
            one_line(&wanted.name),
            names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        )),
        None => Ok(said),
    }
}

fn answer(said: ReportScout, candidates: &[&Reviewer]) -> Answer {
    let reviewers = candidates.iter().filter_map(|reviewer| {
        let wanted = said.reviewers.iter().find(|wanted| wanted.name == reviewer.name)?;
        let why = cut(&one_line(&wanted.why), WHY_CHARS);
        Some(Scouted { name: reviewer.name.clone(), why })
    });
    let intent = Intent {
        text: cut(&one_line(&said.intent), INTENT_CHARS),
        doubt: said
            .doubt
            .map(|doubt| cut(&one_line(&doubt), WHY_CHARS))
            .filter(|it| !it.is_empty()),
    };
    Answer { reviewers: reviewers.collect(), intent }
}
