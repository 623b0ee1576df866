//! Facts that hold in only one evaluation of a case, by majority of the repeats.

use std::collections::BTreeMap;

use super::Flip;
use crate::eval::evaluation::Ending;
use crate::eval::scores::graded::{Graded, Identity};
use crate::width::truncate;
use crate::words::collapse_whitespace;

/// Maximum length of a description or title in a table.
const SHOWN: usize = 80;

/// A fact about a run of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact<'a> {
    /// The run failed.
    Failed,
    /// An expected issue was found.
    Found(usize),
    /// The n-th report that is known to be wrong.
    KnownBad(usize, usize),
    /// The n-th report of one kind on a clean change.
    OnClean(Identity<'a>, usize),
}

/// Facts of the runs of a case: number of runs and description.
type Facts<'a> = BTreeMap<Fact<'a>, (usize, &'a str)>;

/// Flips of a case.
pub(super) fn flips(before: &Graded<'_>, after: &Graded<'_>) -> Vec<Flip> {
    let [had, has] = [common_facts(before), common_facts(after)];
    let gone = had.iter().filter(|(what, _)| !has.contains_key(what)).map(|flip| (flip, Now::Gone));
    let new = has.iter().filter(|(what, _)| !had.contains_key(what)).map(|flip| (flip, Now::There));
    // A failed review makes no false reports, but that is not an improvement.
    let now_fails = has.contains_key(&Fact::Failed);
    let mut flips: Vec<_> = gone.chain(new).collect();
    flips.retain(|((what, _), now)| !(now_fails && what.is_better(*now)));
    flips.sort_by_key(|((what, _), _)| **what);
    let flips = flips.into_iter().map(|((what, words), now)| Flip {
        case: after.case.labels.id.clone(),
        is_better: what.is_better(now),
        what: what.sentence(now, words, after),
    });
    flips.collect()
}

/// Whether a fact appeared or disappeared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    There,
    Gone,
}

/// Facts of more than half of the runs, with a description.
fn common_facts<'a>(case: &Graded<'a>) -> BTreeMap<Fact<'a>, &'a str> {
    let mut facts = Facts::new();
    for run in &case.runs {
        if let Ending::Failed(why) = &run.run.ending {
            facts.entry(Fact::Failed).or_insert((0, why)).0 += 1;
        }
        for (issue, _) in &run.sorted.matched {
            let words = &case.case.labels.expected[*issue].description;
            facts.entry(Fact::Found(*issue)).or_insert((0, words)).0 += 1;
        }
        let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
        for (bad, at) in &run.sorted.known_bad {
            let number = seen.entry(*bad).or_default();
            let what = Fact::KnownBad(*bad, *number);
            facts.entry(what).or_insert((0, &run.reported[*at].title)).0 += 1;
            *number += 1;
        }
        let mut seen: BTreeMap<Identity<'_>, usize> = BTreeMap::new();
        for at in &run.sorted.on_clean {
            let identity = Identity::of(&run.reported[*at]);
            let number = seen.entry(identity).or_default();
            let what = Fact::OnClean(identity, *number);
            facts.entry(what).or_insert((0, &run.reported[*at].title)).0 += 1;
            *number += 1;
        }
    }
    let runs = case.runs.len();
    let common = facts.into_iter().filter(|(_, (times, _))| times * 2 > runs);
    common.map(|(what, (_, words))| (what, words)).collect()
}

impl Fact<'_> {
    fn is_better(&self, now: Now) -> bool {
        match self {
            Self::Found(_) => now == Now::There,
            Self::Failed | Self::KnownBad(..) | Self::OnClean(..) => now == Now::Gone,
        }
    }

    fn sentence(&self, now: Now, words: &str, case: &Graded<'_>) -> String {
        let change = if case.is_twin() { "a twin" } else { "a clean change" };
        let start = match (self, now) {
            (Self::Failed, Now::There) => "the review failed".to_owned(),
            (Self::Failed, Now::Gone) => "the review no longer fails".to_owned(),
            (Self::Found(_), Now::There) => "found".to_owned(),
            (Self::Found(_), Now::Gone) => "no longer found".to_owned(),
            (Self::KnownBad(..), Now::There) => "a new report that is known to be wrong".to_owned(),
            (Self::KnownBad(..), Now::Gone) => "no longer reported, known to be wrong".to_owned(),
            (Self::OnClean(..), Now::There) => format!("a new report on {change}"),
            (Self::OnClean(..), Now::Gone) => format!("no longer reported on {change}"),
        };
        format!("{start}: {}", truncate(&collapse_whitespace(words), SHOWN))
    }
}
