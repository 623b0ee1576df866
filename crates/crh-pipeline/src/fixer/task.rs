//! The task of a fixer and its prompt.

use std::collections::{BTreeMap, BTreeSet};

use super::sandbox::FixSandbox;
use super::{AcceptedWork, IssueOutcome};
use crate::assignment::{Assignment, DiffPart};
use crate::code_reader::CodeReader;
use crate::prompts::fence;
use crate::review_context::ReviewContext;
use crate::text::one_line;
use crate::validate::excerpt::excerpt;
use crh_llm::Conversation;
use crh_review::Location;
use crh_review::finding::Side;
use crh_review::report::Issue;

/// Maximum number of issues per run. With more issues, the model works less carefully.
const ISSUES_MAX: usize = 40;

/// Maximum places of an issue with code in the prompt. The fixer can read the others itself.
const EXCERPTS_MAX: usize = 8;

/// Issues to repair and files to edit.
#[derive(Debug, Clone, Default)]
pub struct FixTask {
    /// Round of fixing, 1-based. Part of the run's name.
    pub round: u32,
    /// Issues to repair.
    pub issues: Vec<Issue>,
    /// Files that the fixer may write, including new ones. Paths from the repository root.
    pub files: BTreeSet<String>,
}

impl FixTask {
    /// Assignment of the run. Its label contains the keys of the issues, which identify the task.
    pub(super) fn assignment(&self) -> Assignment {
        let keys: Vec<&str> = self.shown_issues().map(|issue| issue.dedupe_key.as_str()).collect();
        Assignment {
            name: format!("fixer-{}", self.round),
            reviewer: "fixer".to_owned(),
            label: format!("repairs {}", keys.join(" ")),
            why: String::new(),
            focus: String::new(),
            parts: self.files.iter().map(DiffPart::whole).collect(),
        }
    }

    /// Short description for people.
    pub(super) fn label(&self) -> String {
        match self.shown_issues().count() {
            1 => "1 issue".to_owned(),
            count => format!("{count} issues"),
        }
    }

    /// Numbers of the issues in the prompt, with the files of their places.
    pub(super) fn issue_files(&self) -> impl Iterator<Item = (u32, Vec<String>)> {
        self.shown_issues().map(|issue| {
            let files = places(issue).map(|place| place.file.clone());
            (issue.number, files.collect())
        })
    }

    /// Issues that one run takes.
    pub(super) fn shown_issues(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().take(ISSUES_MAX)
    }

    /// Issues beyond the limit of one run.
    pub(super) fn issues_over_limit(&self) -> impl Iterator<Item = (u32, IssueOutcome)> {
        let reason = format!("one fixer handles at most {ISSUES_MAX} issues");
        let surplus_issues = self.issues.iter().skip(ISSUES_MAX);
        surplus_issues.map(move |issue| (issue.number, IssueOutcome::NotTried(reason.clone())))
    }

    /// Result if nothing is accepted.
    pub(super) fn none_done(&self, reason: &str) -> AcceptedWork {
        let prompt_issues = self
            .shown_issues()
            .map(|issue| (issue.number, IssueOutcome::NotDone(reason.to_owned())));
        let outcomes: BTreeMap<u32, IssueOutcome> =
            prompt_issues.chain(self.issues_over_limit()).collect();
        AcceptedWork { edits: Vec::new(), outcomes, notes: Vec::new() }
    }

    /// Prompt of the fixer.
    pub(super) fn conversation(
        &self,
        context: &ReviewContext,
        sandbox: &FixSandbox,
    ) -> Conversation {
        let code = CodeReader::new(&context.change);
        let issues: Vec<String> = self
            .shown_issues()
            .map(|issue| describe_issue(issue, sandbox, &code, context))
            .collect();
        let file = |path: &String| format!("{}{}\n", one_line(path), sandbox.file_note(path));
        let files: String = self.files.iter().map(file).collect();
        context.prompts.fixer(&issues.join("\n"), &files)
    }
}

/// The place of an issue, and its other places.
fn places(issue: &Issue) -> impl Iterator<Item = &Location> {
    std::iter::once(&issue.location).chain(&issue.other_places)
}

/// An issue with the code around its places.
fn describe_issue(
    issue: &Issue,
    sandbox: &FixSandbox,
    code: &CodeReader<'_>,
    context: &ReviewContext,
) -> String {
    let Issue { number, severity, title, location, other_places, .. } = issue;
    let title = one_line(title);
    let why = one_line(&issue.why_it_matters);
    let mut text = format!("number: {number}\ntitle: {title}\nseverity: {severity}\n");
    text += &format!("place: {location}\n");
    if !other_places.is_empty() {
        let names: Vec<String> = other_places.iter().map(Location::to_string).collect();
        text += &format!("other places: {}\n", names.join(", "));
    }
    text += &format!("why it matters: {why}\n");
    if let Some(fix) = &issue.suggested_fix {
        text += &format!("suggested: {}\n", one_line(fix));
    }
    if let Some(replacement) = &issue.replacement {
        let fenced = fence("replacement", replacement);
        text += &format!("suggested text for these lines:\n{fenced}\n");
    }
    for (index, place) in places(issue).take(EXCERPTS_MAX).enumerate() {
        if index > 0 {
            text += &format!("code at {place}:\n");
        }
        let code_excerpt = code_around(place, sandbox, code, context);
        text += &format!("{}\n", fence("code", &code_excerpt));
    }
    text
}

/// The code around a place of an issue.
fn code_around(
    place: &Location,
    sandbox: &FixSandbox,
    code: &CodeReader<'_>,
    context: &ReviewContext,
) -> String {
    let tree_excerpt = match place.side {
        Side::New => sandbox.code_excerpt(&place.file, place.line_start..=place.line_end),
        // The working tree does not contain removed lines.
        Side::Old => None,
    };
    tree_excerpt.unwrap_or_else(|| excerpt(place, code, &context.change.diff).text)
}
