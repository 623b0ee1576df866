//! The cases of an evaluation, the most troublesome first, and what can be chosen of them without a script.

use std::collections::BTreeMap;

use serde::Serialize;

use super::case::CaseView;
use super::outcome::{Outcome, Told};
use crate::eval::render::brief::{brief, first};
use crate::eval::render::figures::count;
use crate::identity::content_id;

/// The most cases that are on the page, the most troublesome first. So many closed cases a browser still opens at once.
const CASES_MAX: usize = 1_000;
/// The most reports that are on the page with their texts, about six million characters; a page of more opens slowly.
const REPORTS_MAX: usize = 5_000;
/// The most expected issues and findings known to be wrong that are on the page: as many as reports, since each is read like one.
const LABELS_MAX: usize = 5_000;
/// The longest id of which an address is made as it is. No case of a suite has a longer one.
const PLAIN_MAX: usize = 100;
/// The most languages that can be chosen between; the others are there, but not to be chosen.
const LANGUAGES_MAX: usize = 24;

/// All cases, and what can be chosen of them.
#[derive(Serialize)]
pub(super) struct Cases {
    outcomes: Vec<OutcomeChoice>,
    languages: Vec<LanguageChoice>,
    cases: Vec<CaseView>,
    /// What is not on the page, in sentences.
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

/// A case by its name, with its place on the page if it has one.
#[derive(Serialize)]
pub(super) struct CaseLink {
    id: String,
    anchor: Option<String>,
}

/// Where the cases are on the page, by their ids.
#[derive(Default)]
pub(super) struct Anchors {
    anchors: BTreeMap<String, String>,
}

impl Anchors {
    /// The places of those cases that are on the page.
    pub(super) fn of(cases: &[Told<'_>]) -> Self {
        let ids = cases.iter().take(CASES_MAX).map(|told| &told.case.labels.id);
        Self { anchors: ids.map(|id| (id.clone(), anchor(id))).collect() }
    }

    /// A case by its name.
    pub(super) fn link(&self, id: &str) -> CaseLink {
        CaseLink { id: brief(id), anchor: self.anchors.get(id).cloned() }
    }
}

/// What the page still has room for.
pub(super) struct Room {
    pub(super) reports: usize,
    pub(super) labels: usize,
}

impl Room {
    /// As many of some as there is room for, which they then take; and how many more there are.
    pub(super) fn take<'a, T>(left: &mut usize, all: &'a [T]) -> (&'a [T], usize) {
        let (shown, more) = first(all, *left);
        *left -= shown.len();
        (shown, more)
    }
}

/// An id for an address: letters and digits as they are, everything else in hexadecimal, so that no two are the same. Of a very long one
/// the hash stands for it, behind what no other begins with.
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
            "Here are the {} cases that call for a look first; {cases_more} more are in the JSON form.",
            cases.len(),
        ));
    }
    let sums = [
        (cases.iter().map(CaseView::labels_left_out).sum::<usize>(), "label"),
        (cases.iter().map(CaseView::reports_left_out).sum::<usize>(), "report"),
    ];
    for (number, what) in sums.into_iter().filter(|(number, _)| *number > 0) {
        let is = if number == 1 { "is" } else { "are" };
        left_out.push(format!("{} {is} only in the JSON form.", count(number, what)));
    }
    left_out
}

/// The languages that can be chosen between; none if there is nothing to choose.
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
