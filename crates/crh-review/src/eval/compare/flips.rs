//! Facts that hold in only one evaluation of a case, by majority of the repeats.

use std::collections::BTreeMap;

use super::Flip;
use crate::eval::evaluation::Ending;
use crate::eval::scores::graded::{GradedCase, ReportIdentity};
use crate::width::truncate;
use crate::words::collapse_whitespace;

/// Maximum length of a description or title in a table.
const DESCRIPTION_MAX: usize = 80;

/// A fact about a run of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact<'a> {
    /// The run failed.
    Failed,
    /// An expected issue was found.
    Found(usize),
    /// A report that is known to be wrong: index of its label, and number among the reports of the
    /// run that match this label.
    KnownBad(usize, usize),
    /// A report on a clean change: its identity, and number among the reports of the run with this
    /// identity.
    OnClean(ReportIdentity<'a>, usize),
}

/// Facts of the runs of a case, each with the number of its runs and a description.
type Facts<'a> = BTreeMap<Fact<'a>, (usize, &'a str)>;

/// Flips of a case: facts that hold in only one of the two evaluations.
pub(super) fn flips(before: &GradedCase<'_>, after: &GradedCase<'_>) -> Vec<Flip> {
    let [facts_before, facts_after] = [common_facts(before), common_facts(after)];
    let disappeared = facts_before
        .iter()
        .filter(|(fact, _)| !facts_after.contains_key(fact))
        .map(|flip| (flip, FactChange::Disappeared));
    let appeared = facts_after
        .iter()
        .filter(|(fact, _)| !facts_before.contains_key(fact))
        .map(|flip| (flip, FactChange::Appeared));
    // A failed review makes no false reports, but that is not an improvement.
    let fails_after = facts_after.contains_key(&Fact::Failed);
    let mut flips: Vec<_> = disappeared.chain(appeared).collect();
    flips.retain(|((fact, _), change)| !(fails_after && fact.is_better(*change)));
    flips.sort_by_key(|((fact, _), _)| **fact);
    let flips = flips.into_iter().map(|((fact, description), change)| Flip {
        case: after.case.labels.id.clone(),
        is_better: fact.is_better(change),
        what: fact.sentence(change, description, after),
    });
    flips.collect()
}

/// Whether a fact appeared or disappeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FactChange {
    Appeared,
    Disappeared,
}

/// Facts of more than half of the runs, with a description.
fn common_facts<'a>(case: &GradedCase<'a>) -> BTreeMap<Fact<'a>, &'a str> {
    let mut facts = Facts::new();
    for run in &case.runs {
        if let Ending::Failed(reason) = &run.run.ending {
            facts.entry(Fact::Failed).or_insert((0, reason)).0 += 1;
        }
        for (issue, _) in &run.classes.matched {
            let description = &case.case.labels.expected[*issue].description;
            facts.entry(Fact::Found(*issue)).or_insert((0, description)).0 += 1;
        }
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for (label, report) in &run.classes.known_bad {
            let number = counts.entry(*label).or_default();
            let fact = Fact::KnownBad(*label, *number);
            facts.entry(fact).or_insert((0, &run.reported[*report].title)).0 += 1;
            *number += 1;
        }
        let mut counts: BTreeMap<ReportIdentity<'_>, usize> = BTreeMap::new();
        for report in &run.classes.on_clean {
            let identity = ReportIdentity::new(&run.reported[*report]);
            let number = counts.entry(identity).or_default();
            let fact = Fact::OnClean(identity, *number);
            facts.entry(fact).or_insert((0, &run.reported[*report].title)).0 += 1;
            *number += 1;
        }
    }
    let runs = case.runs.len();
    let majority_facts = facts.into_iter().filter(|(_, (times, _))| times * 2 > runs);
    majority_facts.map(|(fact, (_, description))| (fact, description)).collect()
}

impl Fact<'_> {
    fn is_better(&self, change: FactChange) -> bool {
        match self {
            Self::Found(_) => change == FactChange::Appeared,
            Self::Failed | Self::KnownBad(..) | Self::OnClean(..) => {
                change == FactChange::Disappeared
            }
        }
    }

    fn sentence(&self, change: FactChange, description: &str, case: &GradedCase<'_>) -> String {
        let change_kind = if case.is_twin() { "a reversed change" } else { "a clean change" };
        let prefix = match (self, change) {
            (Self::Failed, FactChange::Appeared) => "the review failed".to_owned(),
            (Self::Failed, FactChange::Disappeared) => "the review no longer fails".to_owned(),
            (Self::Found(_), FactChange::Appeared) => "found".to_owned(),
            (Self::Found(_), FactChange::Disappeared) => "no longer found".to_owned(),
            (Self::KnownBad(..), FactChange::Appeared) => {
                "a new report that is known to be wrong".to_owned()
            }
            (Self::KnownBad(..), FactChange::Disappeared) => {
                "no longer reported, known to be wrong".to_owned()
            }
            (Self::OnClean(..), FactChange::Appeared) => format!("a new report on {change_kind}"),
            (Self::OnClean(..), FactChange::Disappeared) => {
                format!("no longer reported on {change_kind}")
            }
        };
        format!("{prefix}: {}", truncate(&collapse_whitespace(description), DESCRIPTION_MAX))
    }
}
