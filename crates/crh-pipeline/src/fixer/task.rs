//! What a fixer is sent for, and what it is shown of it.

use std::collections::{BTreeMap, BTreeSet};

use super::desk::Desk;
use super::{Taken, Told};
use crate::code::Code;
use crate::office::Office;
use crate::plan::{Assignment, Part};
use crate::prompts::fence;
use crate::text::one_line;
use crate::validate::excerpt::excerpt;
use crh_llm::Conversation;
use crh_review::finding::Side;
use crh_review::report::Issue;

/// More issues are more than one run repairs with care; a report seldom has so many.
const ISSUES_MAX: usize = 40;

/// What a fixer is sent for.
#[derive(Debug, Clone, Default)]
pub struct Errand {
    /// Which round of fixing it is, from 1: part of the name of its run.
    pub round: u32,
    /// What is to be repaired.
    pub issues: Vec<Issue>,
    /// What it may write, from the root of the repository; also files that are not there yet.
    pub files: BTreeSet<String>,
}

impl Errand {
    /// The run that goes on it. Its label has the keys of the issues, so that the same errand is known again.
    pub(super) fn assignment(&self) -> Assignment {
        let keys: Vec<&str> = self.shown().map(|issue| issue.dedupe_key.as_str()).collect();
        Assignment {
            name: format!("fixer-{}", self.round),
            reviewer: "fixer".to_owned(),
            label: format!("repairs {}", keys.join(" ")),
            why: String::new(),
            focus: String::new(),
            parts: self.files.iter().map(Part::whole).collect(),
        }
    }

    /// What it is about, for people.
    pub(super) fn label(&self) -> String {
        match self.shown().count() {
            1 => "1 issue".to_owned(),
            count => format!("{count} issues"),
        }
    }

    /// The numbers of the issues that are shown, each with its file.
    pub(super) fn places(&self) -> impl Iterator<Item = (u32, &str)> {
        self.shown().map(|issue| (issue.number, issue.location.file.as_str()))
    }

    /// The issues that one run takes.
    fn shown(&self) -> impl Iterator<Item = &Issue> {
        self.issues.iter().take(ISSUES_MAX)
    }

    /// The issues that one run does not take.
    pub(super) fn too_many(&self) -> impl Iterator<Item = (u32, Told)> {
        let told = format!("one fixer takes {ISSUES_MAX} issues at a time");
        let left = self.issues.iter().skip(ISSUES_MAX);
        left.map(move |issue| (issue.number, Told::NotDone(told.clone())))
    }

    /// What comes of an errand of which nothing is taken.
    pub(super) fn nothing_done(&self, told: &str) -> Taken {
        let each = self.places().map(|(number, _)| (number, Told::NotDone(told.to_owned())));
        let told: BTreeMap<u32, Told> = each.chain(self.too_many()).collect();
        Taken { edits: Vec::new(), told, notes: Vec::new() }
    }

    /// What the fixer reads.
    pub(super) fn conversation(&self, office: &Office, desk: &Desk) -> Conversation {
        let code = Code::of(&office.subject);
        let issues: Vec<String> =
            self.shown().map(|issue| shown(issue, desk, &code, office)).collect();
        let file = |path: &String| format!("{}{}\n", one_line(path), desk.remark(path));
        let files: String = self.files.iter().map(file).collect();
        office.prompts.fixer(&issues.join("\n"), &files)
    }
}

/// One issue with the code around it.
fn shown(issue: &Issue, desk: &Desk, code: &Code<'_>, office: &Office) -> String {
    let Issue { number, severity, title, location, .. } = issue;
    let title = one_line(title);
    let why = one_line(&issue.why_it_matters);
    let mut text = format!("number: {number}\ntitle: {title}\nseverity: {severity}\n");
    text += &format!("place: {location}\nwhy it matters: {why}\n");
    if let Some(fix) = &issue.suggested_fix {
        text += &format!("suggested: {}\n", one_line(fix));
    }
    if let Some(replacement) = &issue.replacement {
        let fenced = fence("replacement", replacement);
        text += &format!("suggested text for these lines:\n{fenced}\n");
    }
    let of_tree = match location.side {
        Side::New => desk.excerpt(&location.file, location.line_start..=location.line_end),
        // What was removed is not in the tree.
        Side::Old => None,
    };
    let around = of_tree.unwrap_or_else(|| excerpt(location, code, &office.subject.diff));
    text + &format!("{}\n", fence("code", &around))
}
