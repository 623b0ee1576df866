//! The cases of an evaluation, the worst first, with filters that need no script.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::case::CaseView;
use super::outcome::{CaseOutcome, ClassifiedCase};
use crate::eval::render::brief::{short_line, split_listed};
use crate::eval::render::figures::count;
use crate::identity::content_id;

/// Maximum number of cases on the page.
const CASES_MAX: usize = 1_000;
/// Maximum number of reports with text on the page, about six million characters.
const REPORTS_MAX: usize = 5_000;
/// Maximum number of labels on the page.
const LABELS_MAX: usize = 5_000;
/// Maximum length of an id that is used as an anchor.
const ANCHOR_ID_MAX: usize = 100;
/// Maximum number of languages in the filter.
const LANGUAGES_MAX: usize = 24;

/// All cases and their filters.
#[derive(Serialize)]
pub(super) struct CasesView {
    outcomes: Vec<Value>,
    languages: Vec<LanguageChoice>,
    cases: Vec<CaseView>,
    /// Notes about content that is not on the page.
    left_out: Vec<String>,
}

#[derive(Serialize)]
struct LanguageChoice {
    name: String,
    count: usize,
}

/// A case name, with a link if the case is on the page.
#[derive(Serialize)]
pub(super) struct CaseLink {
    id: String,
    anchor: Option<String>,
}

/// Anchors of the cases, by id.
#[derive(Default)]
pub(super) struct Anchors {
    anchors: BTreeMap<String, String>,
}

impl Anchors {
    /// Anchors of the cases that are on the page.
    pub(super) fn new(cases: &[ClassifiedCase<'_>]) -> Self {
        let ids = cases.iter().take(CASES_MAX).map(|classified| &classified.case.labels.id);
        Self { anchors: ids.map(|id| (id.clone(), anchor(id))).collect() }
    }

    /// A case by its name.
    pub(super) fn link(&self, id: &str) -> CaseLink {
        CaseLink { id: short_line(id), anchor: self.anchors.get(id).cloned() }
    }
}

/// Numbers of reports and labels that still fit on the page.
pub(super) struct PageBudget {
    pub(super) reports: usize,
    pub(super) labels: usize,
}

impl PageBudget {
    /// Takes as many items as fit. Returns these items and the number of the others.
    pub(super) fn take<'a, T>(remaining: &mut usize, items: &'a [T]) -> (&'a [T], usize) {
        let (listed, omitted) = split_listed(items, *remaining);
        *remaining -= listed.len();
        (listed, omitted)
    }
}

/// A unique anchor for an id: letters, digits, `-` and `.` stay, other bytes become hexadecimal. A
/// very long id is replaced by a prefixed hash.
pub(super) fn anchor(id: &str) -> String {
    if id.len() > ANCHOR_ID_MAX {
        return format!("__{}", content_id(id.as_bytes()));
    }
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let encode = |byte: u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("_{byte:02x}") }
    };
    id.bytes().map(encode).collect()
}

impl CasesView {
    pub(super) fn new(all_cases: &[ClassifiedCase<'_>], anchors: &Anchors) -> Self {
        let (listed_cases, omitted_count) = split_listed(all_cases, CASES_MAX);
        let languages = languages(listed_cases);
        let mut budget = PageBudget { reports: REPORTS_MAX, labels: LABELS_MAX };
        let cases: Vec<CaseView> = listed_cases
            .iter()
            .map(|classified| {
                let language = short_line(&classified.case.labels.language);
                let choice = languages.iter().position(|choice| choice.name == language);
                CaseView::new(classified, anchors, choice, &mut budget)
            })
            .collect();
        let outcomes = CaseOutcome::ALL.into_iter().filter_map(|outcome| {
            let count =
                listed_cases.iter().filter(|case| case.outcomes().contains(&outcome)).count();
            let (class, title) = (outcome.class(), outcome.title());
            (count > 0).then(|| json!({ "class": class, "title": title, "count": count }))
        });
        let left_out = omission_notes(omitted_count, &cases);
        Self { outcomes: outcomes.collect(), languages, cases, left_out }
    }
}

fn omission_notes(omitted_count: usize, cases: &[CaseView]) -> Vec<String> {
    let mut notes = Vec::new();
    if omitted_count > 0 {
        notes.push(format!(
            "These are the {} worst cases; {omitted_count} more are in the JSON output.",
            cases.len(),
        ));
    }
    let sums = [
        (cases.iter().map(CaseView::omitted_labels).sum::<usize>(), "label"),
        (cases.iter().map(CaseView::omitted_reports).sum::<usize>(), "report"),
    ];
    for (number, noun) in sums.into_iter().filter(|(number, _)| *number > 0) {
        let verb = if number == 1 { "is" } else { "are" };
        notes.push(format!("{} {verb} only in the JSON output.", count(number, noun)));
    }
    notes
}

/// Languages of the filter; empty if there is only one.
fn languages(cases: &[ClassifiedCase<'_>]) -> Vec<LanguageChoice> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for classified in cases {
        *counts.entry(short_line(&classified.case.labels.language)).or_default() += 1;
    }
    if counts.len() < 2 {
        return Vec::new();
    }
    let choices = counts.into_iter().map(|(name, count)| LanguageChoice { name, count });
    choices.take(LANGUAGES_MAX).collect()
}
