//! Clusters findings that describe the same problem (step 4 of merging, see `docs/findings.md`).
//!
//! Invariant: the result does not depend on the order of the input. Findings are sorted first, and
//! each is compared only with the first finding of a cluster (a static one also with the first
//! static finding), so clusters do not chain.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::finding::{Family, Origin};
use crate::hex;
use crate::place::{Location, PlacedFinding};
use crate::words::{content_words, normalise_title, overlap};

/// Largest distance in lines between two reports of the same problem. Models cite lines
/// imprecisely.
const MAX_LINE_DISTANCE: u32 = 3;
/// Title overlap from which two findings of one family of categories are the same.
const MIN_SAME_OVERLAP: f64 = 0.5;
/// Title overlap from which two findings of one family of categories become a candidate pair.
const MIN_PAIR_OVERLAP: f64 = 0.2;
/// Limit on listed candidate pairs. crh only counts further pairs, and their issues stay apart.
const MAX_LISTED_PAIRS: usize = 200;
/// Limit on candidate pairs, counted before crh removes the pairs that the caller has answered. The
/// findings of a hostile reviewer can form millions of pairs.
const MAX_CONSIDERED_PAIRS: usize = 50 * MAX_LISTED_PAIRS;

/// Two issues that may be the same. They stay separate until a caller says otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CandidatePair {
    /// Id of the pair, for `--answers`.
    pub id: String,
    /// File of both issues.
    pub file: String,
    /// First issue.
    pub left: PairSide,
    /// Second issue.
    pub right: PairSide,
}

/// One issue of a candidate pair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PairSide {
    /// Line of the issue.
    pub line: u32,
    /// Title of the issue.
    pub title: String,
    /// Effect of the issue.
    pub why_it_matters: String,
}

/// First finding of a cluster, prepared for comparison.
struct ClusterSeed {
    line: u32,
    evidence_line: Option<u32>,
    family: Family,
    title: String,
    word_ids: Vec<u32>,
    /// First static finding of the cluster. Later static findings are compared with it too.
    static_key: Option<StaticFindingKey>,
}

/// Identifies a static finding.
struct StaticFindingKey {
    line: u32,
    reviewer: String,
    rule: Option<String>,
}

impl StaticFindingKey {
    /// Whether the rule belongs to a check of crh, such as `secrets/github` to `secrets`.
    fn is_own_rule(&self) -> bool {
        let rule = self.rule.as_deref().and_then(|rule| rule.strip_prefix(&self.reviewer));
        rule.is_some_and(|rest| rest.starts_with('/'))
    }
}

/// Findings in clusters, and the pairs that may be the same.
pub(crate) struct ClusterResult {
    pub(crate) clusters: Vec<Vec<PlacedFinding>>,
    pub(crate) pairs: Vec<CandidatePair>,
    pub(crate) unlisted_pairs: usize,
}

/// Whether findings at these locations may be about the same problem.
pub(crate) fn is_near(one: &Location, other: &Location) -> bool {
    (&one.file, one.side) == (&other.file, other.side)
        && one.line_start.abs_diff(other.line_start) <= MAX_LINE_DISTANCE
}

/// Clusters findings. `same_pair_ids` holds the ids of candidate pairs that are the same issue.
pub(crate) fn cluster_findings(
    mut findings: Vec<PlacedFinding>,
    same_pair_ids: &BTreeSet<String>,
) -> ClusterResult {
    findings.sort_by(|a, b| {
        (&a.location, &a.evidence_line(), &a.member).cmp(&(
            &b.location,
            &b.evidence_line(),
            &b.member,
        ))
    });
    let mut builder = ClusterBuilder::default();
    for finding in findings {
        builder.add(finding);
    }
    builder.finish(same_pair_ids)
}

#[derive(Default)]
struct ClusterBuilder {
    seeds: Vec<ClusterSeed>,
    clusters: Vec<Vec<PlacedFinding>>,
    // Clusters that the next finding can still join.
    open_clusters: Vec<usize>,
    candidate_pairs: Vec<(usize, usize)>,
    unlisted_pairs: usize,
    word_ids: HashMap<String, u32>,
}

impl ClusterBuilder {
    fn add(&mut self, finding: PlacedFinding) {
        let seed = self.make_seed(&finding);
        let clusters = &self.clusters;
        self.open_clusters
            .retain(|index| is_near(&clusters[*index][0].location, &finding.location));
        if let Some(index) =
            self.open_clusters.iter().find(|index| self.seeds[**index].is_same_problem(&seed))
        {
            let static_key = &mut self.seeds[*index].static_key;
            *static_key = static_key.take().or(seed.static_key);
            self.clusters[*index].push(finding);
            return;
        }
        let new_index = self.clusters.len();
        for index in &self.open_clusters {
            if !self.seeds[*index].may_be_same_problem(&seed) {
                continue;
            }
            if self.candidate_pairs.len() < MAX_CONSIDERED_PAIRS {
                self.candidate_pairs.push((*index, new_index));
            } else {
                self.unlisted_pairs += 1;
            }
        }
        self.open_clusters.push(new_index);
        self.seeds.push(seed);
        self.clusters.push(vec![finding]);
    }

    fn make_seed(&mut self, finding: &PlacedFinding) -> ClusterSeed {
        let title = normalise_title(&finding.member.finding.title);
        let mut words: Vec<u32> = Vec::new();
        for word in content_words(&title) {
            let next_id = u32::try_from(self.word_ids.len()).unwrap_or(u32::MAX);
            let id = match self.word_ids.get(word) {
                Some(id) => *id,
                None => *self.word_ids.entry(word.to_owned()).or_insert(next_id),
            };
            words.push(id);
        }
        words.sort_unstable();
        words.dedup();
        ClusterSeed {
            line: finding.location.line_start,
            evidence_line: finding.evidence_line(),
            family: finding.member.finding.category.family(),
            title,
            word_ids: words,
            static_key: match finding.member.origin {
                Origin::Code | Origin::Plan => Some(StaticFindingKey {
                    line: finding.location.line_start,
                    reviewer: finding.member.reviewer.clone(),
                    rule: finding.member.rule.clone(),
                }),
                Origin::Model => None,
            },
        }
    }

    /// Joins the clusters of pairs in `same_pair_ids` and returns the remaining pairs.
    fn finish(mut self, same_pair_ids: &BTreeSet<String>) -> ClusterResult {
        let mut parents: Vec<usize> = (0..self.clusters.len()).collect();
        let mut pairs = Vec::new();
        for &(left, right) in &self.candidate_pairs {
            let pair = candidate_pair(&self.clusters[left][0], &self.clusters[right][0]);
            if same_pair_ids.contains(&pair.id) {
                let (left, right) = (find_root(&parents, left), find_root(&parents, right));
                let (first, second) = (left.min(right), left.max(right));
                if first == second || !self.seeds[first].may_merge_with(&self.seeds[second]) {
                    continue;
                }
                parents[second] = first;
                let static_key = self.seeds[second].static_key.take();
                self.seeds[first].static_key = self.seeds[first].static_key.take().or(static_key);
            } else if pairs.len() < MAX_LISTED_PAIRS {
                pairs.push(pair);
            } else {
                self.unlisted_pairs += 1;
            }
        }
        for index in (0..self.clusters.len()).rev() {
            let root = find_root(&parents, index);
            if root != index {
                let members = std::mem::take(&mut self.clusters[index]);
                self.clusters[root].extend(members);
            }
        }
        self.clusters.retain(|members| !members.is_empty());
        ClusterResult { clusters: self.clusters, pairs, unlisted_pairs: self.unlisted_pairs }
    }
}

fn find_root(parents: &[usize], mut index: usize) -> usize {
    while parents[index] != index {
        index = parents[index];
    }
    index
}

fn candidate_pair(left: &PlacedFinding, right: &PlacedFinding) -> CandidatePair {
    let side = |placed: &PlacedFinding| PairSide {
        line: placed.location.line_start,
        title: placed.member.finding.title.clone(),
        why_it_matters: placed.member.finding.why_it_matters.clone(),
    };
    let (left_side, right_side) = (side(left), side(right));
    let text_of = |s: &PairSide| format!("{}\n{}\n{}", s.line, s.title, s.why_it_matters);
    let text = format!("{}\n{}\n{}", left.location.file, text_of(&left_side), text_of(&right_side));
    CandidatePair {
        id: hex(&Sha256::digest(text)[..6]),
        file: left.location.file.clone(),
        left: left_side,
        right: right_side,
    }
}

impl ClusterSeed {
    fn is_same_problem(&self, other: &Self) -> bool {
        if !self.may_merge_with(other) {
            return false;
        }
        let same_family = self.family == other.family;
        // Two checks of crh on one line report two defects. A linter mostly repeats what crh
        // reports.
        let are_two_checks = match (&self.static_key, &other.static_key) {
            (Some(first), Some(second)) => {
                first.rule != second.rule && first.is_own_rule() && second.is_own_rule()
            }
            _ => false,
        };
        let same_evidence = self.evidence_line.is_some()
            && self.evidence_line == other.evidence_line
            && !are_two_checks;
        // A title without letters or digits normalises to an empty string.
        (self.title == other.title && !self.title.is_empty())
            || same_family && same_evidence
            || same_family && overlap(&self.word_ids, &other.word_ids) >= MIN_SAME_OVERLAP
    }

    fn may_be_same_problem(&self, other: &Self) -> bool {
        if !self.may_merge_with(other) {
            return false;
        }
        if self.family == other.family {
            overlap(&self.word_ids, &other.word_ids) >= MIN_PAIR_OVERLAP
        } else {
            self.line == other.line
        }
    }
    /// Whether two findings may be the same. A static check gives all findings of a rule a similar
    /// title, so similar words do not make them the same. Two static findings merge only on the
    /// same line, and only if they have the same rule and title or come from different reviewers:
    /// two removed functions can be reported on the same line.
    fn may_merge_with(&self, other: &Self) -> bool {
        let (Some(own_key), Some(other_key)) = (&self.static_key, &other.static_key) else {
            return true;
        };
        own_key.line == other_key.line
            && (own_key.reviewer != other_key.reviewer
                || own_key.rule == other_key.rule && self.title == other.title)
    }
}
