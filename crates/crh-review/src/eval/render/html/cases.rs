//! The cases of an evaluation, the worst first, with filters that need no script.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::CaseView;
use super::outcome::{Outcome, Told};
use crate::eval::render::brief::{brief, first};
use crate::eval::render::figures::count;
use crate::identity::content_id;

/// Maximum number of cases on the page.
const CASES_MAX: usize = 1_000;
/// Maximum number of reports with text on the page, about six million characters.
const REPORTS_MAX: usize = 5_000;
/// Maximum number of labels on the page.
const LABELS_MAX: usize = 5_000;
/// Maximum length of an id that is used as an anchor.
const PLAIN_MAX: usize = 100;
/// Maximum number of languages in the filter.
const LANGUAGES_MAX: usize = 24;

/// All cases and their filters.
#[derive(Serialize)]
pub(super) struct Cases {
    outcomes: Vec<OutcomeChoice>,
    languages: Vec<LanguageChoice>,
    cases: Vec<CaseView>,
    /// Notes about content that is not on the page.
    left_out: Vec<String>,
}

#[derive(Serialize)]
struct OutcomeChoice {
    class: &'static str,
    title: &'static str,
    count: usize,
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
    pub(super) fn of(cases: &[Told<'_>]) -> Self {
        let ids = cases.iter().take(CASES_MAX).map(|told| &told.case.labels.id);
        Self { anchors: ids.map(|id| (id.clone(), anchor(id))).collect() }
    }

    /// A case by its name.
    pub(super) fn link(&self, id: &str) -> CaseLink {
        CaseLink { id: brief(id), anchor: self.anchors.get(id).cloned() }
    }
}

/// Remaining room on the page.
pub(super) struct Room {
    pub(super) reports: usize,
    pub(super) labels: usize,
}

impl Room {
    /// Takes as many items as fit, and returns the number of the others.
    pub(super) fn take<'a, T>(left: &mut usize, all: &'a [T]) -> (&'a [T], usize) {
        let (shown, more) = first(all, *left);
        *left -= shown.len();
        (shown, more)
    }
}

/// A unique anchor for an id: letters and digits stay, other bytes become hexadecimal. A very long
/// id is replaced by a prefixed hash.
pub(super) fn anchor(id: &str) -> String {
    if id.len() > PLAIN_MAX {
        return format!("__{}", content_id(id.as_bytes()));
    }
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let written =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("_{byte:02x}") };
    id.bytes().map(written).collect()
}

impl Cases {
    pub(super) fn of(all: &[Told<'_>], anchors: &Anchors) -> Self {
        let (shown, more) = first(all, CASES_MAX);
        let languages = languages(shown);
        let mut room = Room { reports: REPORTS_MAX, labels: LABELS_MAX };
        let cases: Vec<CaseView> = shown
            .iter()
            .map(|told| {
                let language = brief(&told.case.labels.language);
                let choice = languages.iter().position(|choice| choice.name == language);
                CaseView::of(told, anchors, choice, &mut room)
            })
            .collect();
        let outcomes = Outcome::ALL.into_iter().filter_map(|outcome| {
            let count = shown.iter().filter(|told| told.outcomes().contains(&outcome)).count();
            let (class, title) = (outcome.class(), outcome.title());
            (count > 0).then_some(OutcomeChoice { class, title, count })
        });
        let left_out = left_out(more, &cases);
        Self { outcomes: outcomes.collect(), languages, cases, left_out }
    }
}

fn left_out(cases_more: usize, cases: &[CaseView]) -> Vec<String> {
    let mut left_out = Vec::new();
    if cases_more > 0 {
        left_out.push(format!(
            "These are the {} worst cases; {cases_more} more are in the JSON output.",
            cases.len(),
        ));
    }
    let sums = [
        (cases.iter().map(CaseView::labels_left_out).sum::<usize>(), "label"),
        (cases.iter().map(CaseView::reports_left_out).sum::<usize>(), "report"),
    ];
    for (number, what) in sums.into_iter().filter(|(number, _)| *number > 0) {
        let is = if number == 1 { "is" } else { "are" };
        left_out.push(format!("{} {is} only in the JSON output.", count(number, what)));
    }
    left_out
}

/// Languages of the filter; empty if there is only one.
fn languages(cases: &[Told<'_>]) -> Vec<LanguageChoice> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for told in cases {
        *counts.entry(brief(&told.case.labels.language)).or_default() += 1;
    }
    if counts.len() < 2 {
        return Vec::new();
    }
    let choices = counts.into_iter().map(|(name, count)| LanguageChoice { name, count });
    choices.take(LANGUAGES_MAX).collect()
}
