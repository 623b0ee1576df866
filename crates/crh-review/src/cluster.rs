//! Which findings say the same thing: step 4 of the way from findings to issues.
//!
//! Invariant: the result depends on the set of findings, not on their order. They are sorted first, and
//! each is compared with the first of a cluster only, so that there is no chaining.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::finding::{Family, Origin};
use crate::hex;
use crate::place::Placed;
use crate::words::{content_words, normal_title, overlap};

/// How far apart two reports of one problem may be.
const LINES_APART: u32 = 3;
/// Titles that share so many of their words say the same, within a family.
const SAME_OVERLAP: f64 = 0.5;
/// Titles that share so many may say the same: someone should look.
const NEAR_OVERLAP: f64 = 0.2;
/// How many pairs are worth asking about; the rest stay apart, as undecided pairs do, and are counted.
const PAIRS_MAX: usize = 200;
/// How many pairs are looked at before the answered ones are taken out. A hostile return has millions.
const NEAR_MAX: usize = 50 * PAIRS_MAX;

/// Two issues that may be one. Undecided, they stay apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidatePair {
    /// Names the pair, so that it can be answered.
    pub id: String,
    /// The file of both.
    pub file: String,
    /// What the first says, and on which line.
    pub left: PairSide,
    /// What the second says, and on which line.
    pub right: PairSide,
}

/// One half of a pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairSide {
    /// Its line.
    pub line: u32,
    /// Its title.
    pub title: String,
    /// Its effect.
    pub why_it_matters: String,
}

/// The first finding of a cluster, ready to be compared.
struct Seed {
    line: u32,
    evidence_line: Option<u32>,
    family: Family,
    title: String,
    words: Vec<u32>,
    /// The first finding of a program in the cluster: others of programs are compared with it too.
    by_code: Option<ByCode>,
}

/// What tells two findings of programs apart.
struct ByCode {
    line: u32,
    reviewer: String,
    rule: Option<String>,
}

/// Findings sorted into clusters.
pub(crate) struct Grouped {
    pub(crate) clusters: Vec<Vec<Placed>>,
    pub(crate) pairs: Vec<CandidatePair>,
    pub(crate) unlisted_pairs: usize,
}

/// Sorts findings into clusters. `same` holds the ids of the pairs that were found to be one.
pub(crate) fn clusters(mut placed: Vec<Placed>, same: &BTreeSet<String>) -> Grouped {
    placed.sort_by(|a, b| {
        (&a.location, &a.evidence_line(), &a.member).cmp(&(
            &b.location,
            &b.evidence_line(),
            &b.member,
        ))
    });
    let mut grouping = Grouping::default();
    for finding in placed {
        grouping.take_in(finding);
    }
    grouping.finish(same)
}

#[derive(Default)]
struct Grouping {
    seeds: Vec<Seed>,
    clusters: Vec<Vec<Placed>>,
    // The clusters that the next finding may still belong to.
    open: Vec<usize>,
    near: Vec<(usize, usize)>,
    unlisted_pairs: usize,
    words: HashMap<String, u32>,
}

impl Grouping {
    fn take_in(&mut self, finding: Placed) {
        let seed = self.seed(&finding);
        let (clusters, seeds) = (&self.clusters, &self.seeds);
        self.open.retain(|at| {
            let first = &clusters[*at][0].location;
            first.file == finding.location.file
                && first.side == finding.location.side
                && seed.line - seeds[*at].line <= LINES_APART
        });
        if let Some(at) = self.open.iter().find(|at| self.seeds[**at].is_same(&seed)) {
            let first = &mut self.seeds[*at].by_code;
            *first = first.take().or(seed.by_code);
            self.clusters[*at].push(finding);
            return;
        }
        let new = self.clusters.len();
        for at in &self.open {
            if !self.seeds[*at].is_near(&seed) {
                continue;
            }
            if self.near.len() < NEAR_MAX {
                self.near.push((*at, new));
            } else {
                self.unlisted_pairs += 1;
            }
        }
        self.open.push(new);
        self.seeds.push(seed);
        self.clusters.push(vec![finding]);
    }

    fn seed(&mut self, finding: &Placed) -> Seed {
        let title = normal_title(&finding.member.finding.title);
        let mut words: Vec<u32> = Vec::new();
        for word in content_words(&title) {
            let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
            let id = match self.words.get(word) {
                Some(id) => *id,
                None => *self.words.entry(word.to_owned()).or_insert(next),
            };
            words.push(id);
        }
        words.sort_unstable();
        words.dedup();
        Seed {
            line: finding.location.line_start,
            evidence_line: finding.evidence_line(),
            family: finding.member.finding.category.family(),
            title,
            words,
            by_code: match finding.member.origin {
                Origin::Code => Some(ByCode {
                    line: finding.location.line_start,
                    reviewer: finding.member.reviewer.clone(),
                    rule: finding.member.rule.clone(),
                }),
                Origin::Model => None,
            },
        }
    }

    /// Joins the clusters that were found to be one; what is left of the pairs is returned.
    fn finish(mut self, same: &BTreeSet<String>) -> Grouped {
        let mut joined_into: Vec<usize> = (0..self.clusters.len()).collect();
        let mut pairs = Vec::new();
        for &(left, right) in &self.near {
            let pair = candidate(&self.clusters[left][0], &self.clusters[right][0]);
            if same.contains(&pair.id) {
                let (left, right) = (root(&joined_into, left), root(&joined_into, right));
                let (first, second) = (left.min(right), left.max(right));
                if first == second || !self.seeds[first].may_be_one_with(&self.seeds[second]) {
                    continue;
                }
                joined_into[second] = first;
                let by_code = self.seeds[second].by_code.take();
                self.seeds[first].by_code = self.seeds[first].by_code.take().or(by_code);
            } else if pairs.len() < PAIRS_MAX {
                pairs.push(pair);
            } else {
                self.unlisted_pairs += 1;
            }
        }
        for at in (0..self.clusters.len()).rev() {
            let root = root(&joined_into, at);
            if root != at {
                let members = std::mem::take(&mut self.clusters[at]);
                self.clusters[root].extend(members);
            }
        }
        self.clusters.retain(|members| !members.is_empty());
        Grouped { clusters: self.clusters, pairs, unlisted_pairs: self.unlisted_pairs }
    }
}

fn root(joined_into: &[usize], mut at: usize) -> usize {
    while joined_into[at] != at {
        at = joined_into[at];
    }
    at
}

fn candidate(left: &Placed, right: &Placed) -> CandidatePair {
    let side = |placed: &Placed| PairSide {
        line: placed.location.line_start,
        title: placed.member.finding.title.clone(),
        why_it_matters: placed.member.finding.why_it_matters.clone(),
    };
    let (left_side, right_side) = (side(left), side(right));
    let said = |s: &PairSide| format!("{}\n{}\n{}", s.line, s.title, s.why_it_matters);
    let text = format!("{}\n{}\n{}", left.location.file, said(&left_side), said(&right_side));
    CandidatePair {
        id: hex(&Sha256::digest(text)[..6]),
        file: left.location.file.clone(),
        left: left_side,
        right: right_side,
    }
}

impl Seed {
    fn is_same(&self, other: &Self) -> bool {
        if !self.may_be_one_with(other) {
            return false;
        }
        let same_family = self.family == other.family;
        let same_evidence =
            self.evidence_line.is_some() && self.evidence_line == other.evidence_line;
        // A title of signs alone says nothing.
        (self.title == other.title && !self.title.is_empty())
            || same_family && same_evidence
            || same_family && overlap(&self.words, &other.words) >= SAME_OVERLAP
    }

    fn is_near(&self, other: &Self) -> bool {
        if !self.may_be_one_with(other) {
            return false;
        }
        if self.family == other.family {
            overlap(&self.words, &other.words) >= NEAR_OVERLAP
        } else {
            self.line == other.line
        }
    }
    /// A program knows what it finds: its words are made from a table and say nothing about whether two findings are one.
    /// Two of programs are one only on one line, by one rule or by two programs that say the same.
    fn may_be_one_with(&self, other: &Self) -> bool {
        let (Some(own), Some(other)) = (&self.by_code, &other.by_code) else { return true };
        own.line == other.line && (own.rule == other.rule || own.reviewer != other.reviewer)
    }
}
