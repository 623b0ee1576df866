//! What one evaluation of a case has and the other has not, by the majority of the repeats.

use std::collections::BTreeMap;

use super::Flip;
use crate::eval::evaluation::Ending;
use crate::eval::scores::graded::{Graded, Identity};
use crate::width::cut;
use crate::words::folded;

/// As much of a description or a title as a line of a table can show.
const SHOWN: usize = 80;

/// Something that a run of a case can have or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fact<'a> {
    /// It failed.
    Failed,
    /// An expected issue was found.
    Found(usize),
    /// A report that is known to be wrong was made: the first of this one, the second, and so on.
    KnownBad(usize, usize),
    /// Something was reported on a clean change: the first report of its kind, the second, and so on.
    OnClean(Identity<'a>, usize),
}

/// What the runs of a case have: how many of them, and in which words.
type Facts<'a> = BTreeMap<Fact<'a>, (usize, &'a str)>;

/// What flipped in a case.
pub(super) fn flips(before: &Graded<'_>, after: &Graded<'_>) -> Vec<Flip> {
    let [had, has] = [common_facts(before), common_facts(after)];
    let gone = had.iter().filter(|(what, _)| !has.contains_key(what)).map(|flip| (flip, Now::Gone));
    let new = has.iter().filter(|(what, _)| !had.contains_key(what)).map(|flip| (flip, Now::There));
    // A review that fails makes no mistakes; that is nothing to be glad of.
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

/// Whether the second evaluation has what the first has not, or the other way round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    There,
    Gone,
}

/// What more than half of the runs have, with the words for it.
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
        format!("{start}: {}", cut(&folded(words), SHOWN))
    }
}
