//! Merges findings into issues and assigns every finding a fate. `docs/findings.md` describes the
//! ten steps.
//!
//! Invariants: each finding has exactly one fate. Issues keep their original findings, and merging
//! starts from those, so merging is idempotent and independent of input order.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cluster::{CandidatePair, cluster_findings};
use crate::evidence::Sources;
use crate::finding::{Confidence, Member, Severity, Side};
use crate::grade::members_severity_cap;
use crate::issue::{
    add_near_places, build_issue, make_keys_unique, nearby_keys, regrade, sort_by_confidence,
};
use crate::place::{PlacedFinding, Placement, Placer};
use crate::report::{
    DroppedFinding, Fate, Issue, OVER_CAP_CAUSE, Queue, Queues, Report, Validation, over_cap_note,
};
use crate::soften::{NoteList, UntestedFolders, soften_weak};
use crate::verdict::{CommandKind, is_actionable, plural, verdict};
use crate::words::normalise_posted_title;

/// Minimum confidence of a shown issue.
const MIN_CONFIDENCE: Confidence = Confidence::thousandths(600);
/// Minimum confidence of a shown P0. Lower than for other issues, because a possible disaster is
/// worth a look.
const MIN_CONFIDENCE_P0: Confidence = Confidence::thousandths(500);
/// Confidence that an issue less severe than P1 loses by an unsure judgement.
const UNSURE_PENALTY: Confidence = Confidence::thousandths(250);
/// Name of the validation run in the disagreement of an issue.
pub(crate) const VALIDATION: &str = "validation";
/// Maximum number of lines that an issue may have moved since it was dismissed or suppressed.
const MAX_MOVED_LINES: u32 = 3;

/// Result of merging: issues, pre-existing issues, dropped findings and candidate pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MergeResult {
    /// Issues of the change.
    pub issues: Vec<Issue>,
    /// Issues that existed before the change.
    pub pre_existing: Vec<Issue>,
    /// Findings that are not shown, with their fate.
    pub dropped: Vec<DroppedFinding>,
    /// Pairs of issues that may be the same.
    pub candidate_pairs: Vec<CandidatePair>,
    /// Number of further pairs that are not listed.
    #[serde(default)]
    pub unlisted_pairs: usize,
    /// Softened findings about tests, as lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub testing_gaps: Vec<String>,
    /// Other softened findings, as lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residual_risks: Vec<String>,
}

/// Decisions from before this review: `dedupe_key` to reason.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PastDecisions {
    /// Issues that a person dismissed.
    pub dismissed: BTreeMap<String, String>,
    /// Issues suppressed by a baseline, an ignore comment or a setting.
    pub suppressed: BTreeMap<String, String>,
    /// Dismissed issues whose line was rewritten, so that their key changed.
    pub rewritten: Vec<DismissedIssue>,
}

/// A dismissed issue, recognised by file, side and title if its key changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DismissedIssue {
    /// Key of the issue when it was dismissed.
    pub dedupe_key: String,
    /// File of the issue.
    pub file: String,
    /// Side of its line, if known.
    pub side: Option<Side>,
    /// Its title, original or as posted.
    pub title: String,
}

impl DismissedIssue {
    /// Whether an issue has the same file, side and title.
    pub fn matches(&self, issue: &Issue) -> bool {
        self.file == issue.location.file
            && self.side.is_none_or(|side| side == issue.location.side)
            && normalise_posted_title(&self.title) == normalise_posted_title(&issue.title)
    }
}

/// Result of validating one issue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judgement {
    /// The result.
    pub result: JudgementResult,
    /// Reason for the result.
    #[serde(default)]
    pub reason: String,
    /// Probability that the maintainers agree, if the validator gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Confidence>,
    /// Severity by the validator, if it gave one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
}

impl Judgement {
    /// A judgement without probability and severity.
    pub fn new(result: JudgementResult, reason: impl Into<String>) -> Self {
        Self { result, reason: reason.into(), probability: None, severity: None }
    }
}

/// Possible results of a validation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Judged")]
pub enum JudgementResult {
    /// The problem is real and new.
    Confirmed,
    /// The problem does not exist.
    Refuted,
    /// The validator could not decide.
    Unsure,
    /// The validator gave no verdict.
    NoVerdict,
    /// The validator failed.
    Failed,
}

impl JudgementResult {
    /// The validation of an issue that stays in the report, shown or hidden.
    pub fn validation(self) -> Validation {
        match self {
            Self::Confirmed => Validation::Confirmed,
            Self::Unsure | Self::Refuted => Validation::Unsure,
            Self::NoVerdict => Validation::NoVerdict,
            Self::Failed => Validation::Degraded,
        }
    }
}

/// How findings are grouped into issues.
#[derive(Debug, Clone, Copy)]
pub enum Grouping<'a> {
    /// By rules. Holds the ids of candidate pairs that are the same issue.
    Rules(&'a BTreeSet<String>),
    /// By the editor, a model. The first finding of a group leads. Rules group the findings that
    /// are in no group.
    Editor(&'a [Vec<Member>]),
}

/// Steps 1 to 7 of merging, without an editor: shape, evidence, tier, clusters, agreement, route,
/// and selection by softening and minimum confidence.
///
/// `same_pair_ids` holds the ids of candidate pairs that are the same issue.
pub fn consolidate(
    members: Vec<Member>,
    sources: &Sources,
    past_decisions: &PastDecisions,
    same_pair_ids: &BTreeSet<String>,
) -> MergeResult {
    let grouping = Grouping::Rules(same_pair_ids);
    let mut result = merge_findings(members, sources, past_decisions, grouping);
    let issues = std::mem::take(&mut result.issues);
    result.select_issues(issues);
    finish_merge(result)
}

/// Steps 1 to 6 of merging, for the editor: shape, evidence, tier, groups, agreement and route.
/// Issues of the change need no minimum confidence, since the editor judges them.
pub fn consolidate_for_editor(
    members: Vec<Member>,
    sources: &Sources,
    past_decisions: &PastDecisions,
    grouping: Grouping<'_>,
) -> MergeResult {
    let mut result = merge_findings(members, sources, past_decisions, grouping);
    let (pre_existing, issues): (Vec<_>, Vec<_>) =
        std::mem::take(&mut result.issues).into_iter().partition(|issue| issue.pre_existing);
    result.select_issues(pre_existing);
    result.issues = issues;
    finish_merge(result)
}

/// Sorts the dropped findings and numbers equal keys. Keys are numbered after the selection,
/// because a dropped issue must not take the key of a shown one.
fn finish_merge(mut result: MergeResult) -> MergeResult {
    sort_dropped(&mut result.dropped);
    make_keys_unique(result.issues.iter_mut().chain(&mut result.pre_existing));
    result
}

/// Groups the findings that have evidence into issues, in report order.
fn merge_findings(
    members: Vec<Member>,
    sources: &Sources,
    past_decisions: &PastDecisions,
    grouping: Grouping<'_>,
) -> MergeResult {
    let mut placer = Placer::new(sources);
    let mut result = MergeResult::default();
    let mut placed_findings = Vec::with_capacity(members.len());
    for member in members {
        match placer.place(member) {
            Placement::Placed(finding) => placed_findings.push(finding),
            Placement::Unplaced(member, error) => {
                result.drop_member(member, error.fate, &error.reason, None);
            }
        }
    }
    let (groups, same_pair_ids) = match grouping {
        Grouping::Rules(same_pair_ids) => (Vec::new(), same_pair_ids),
        Grouping::Editor(groups) => {
            let rule_groups = RuleGroups::new(placed_findings.clone());
            let taken = take_groups(&mut placed_findings, groups).into_iter();
            let groups = taken.map(|group| IssueFindings {
                separated: rule_groups.separated_from(&group),
                other_problems: rule_groups.other_problems_in(&group),
                cluster: group,
            });
            (groups.collect(), &BTreeSet::new())
        }
    };
    let cluster_result = cluster_findings(placed_findings, same_pair_ids);
    result.candidate_pairs = cluster_result.pairs;
    result.unlisted_pairs = cluster_result.unlisted_pairs;
    let clusters = cluster_result.clusters.into_iter();
    let clusters = clusters.map(|cluster| IssueFindings {
        cluster: sort_by_confidence(cluster),
        separated: Vec::new(),
        other_problems: Vec::new(),
    });
    let groups: Vec<IssueFindings> = groups.into_iter().chain(clusters).collect();
    let issues = groups.into_iter().map(|findings| {
        let IssueFindings { cluster, separated, other_problems } = findings;
        let mut issue = build_issue(cluster, &separated, &mut placer);
        add_near_places(&mut issue, &other_problems);
        issue
    });
    let issues = issues.collect();
    let mut issues = result.drop_decided_issues(issues, past_decisions, &mut placer);
    issues.sort_by(by_urgency);
    result.issues = issues;
    result
}

/// The findings of an issue.
struct IssueFindings {
    cluster: Vec<PlacedFinding>,
    /// Findings of other issues that are the same problem by the rules.
    separated: Vec<Member>,
    /// Findings of this issue that are not the problem of its first finding by the rules.
    other_problems: Vec<PlacedFinding>,
}

/// Groups of findings that are the same problem by the rules, although the editor may have
/// separated them.
struct RuleGroups {
    groups: Vec<Vec<Member>>,
    index_by_member: BTreeMap<Member, usize>,
}

impl RuleGroups {
    fn new(placed_findings: Vec<PlacedFinding>) -> Self {
        let clusters = cluster_findings(placed_findings, &BTreeSet::new()).clusters.into_iter();
        let groups: Vec<Vec<Member>> = clusters
            .map(|cluster| cluster.into_iter().map(|placed| placed.member).collect())
            .collect();
        let index_by_member = groups
            .iter()
            .enumerate()
            .flat_map(|(index, group)| group.iter().map(move |member| (member.clone(), index)))
            .collect();
        Self { groups, index_by_member }
    }

    /// Findings of this group that the rules do not group with its first finding.
    fn other_problems_in(&self, group: &[PlacedFinding]) -> Vec<PlacedFinding> {
        let index = |placed: &PlacedFinding| self.index_by_member.get(&placed.member);
        let first = group.first().and_then(index);
        group.iter().filter(|placed| index(placed) != first).cloned().collect()
    }

    /// Findings that the rules group with a finding of this group, and that are not in it.
    fn separated_from(&self, group: &[PlacedFinding]) -> Vec<Member> {
        let own_members: BTreeSet<&Member> = group.iter().map(|placed| &placed.member).collect();
        let indexes: BTreeSet<usize> = own_members
            .iter()
            .filter_map(|member| self.index_by_member.get(*member).copied())
            .collect();
        let linked = indexes.into_iter().flat_map(|index| &self.groups[index]);
        linked.filter(|member| !own_members.contains(member)).cloned().collect()
    }
}

/// Takes the findings of each group out of the list, in the order of the group.
fn take_groups(
    placed_findings: &mut Vec<PlacedFinding>,
    groups: &[Vec<Member>],
) -> Vec<Vec<PlacedFinding>> {
    let mut taken_groups = Vec::with_capacity(groups.len());
    for group in groups {
        let rank =
            |placed: &PlacedFinding| group.iter().position(|member| *member == placed.member);
        let (mut taken, rest): (Vec<_>, Vec<_>) =
            std::mem::take(placed_findings).into_iter().partition(|placed| rank(placed).is_some());
        *placed_findings = rest;
        taken.sort_by_key(rank);
        if !taken.is_empty() {
            taken_groups.push(taken);
        }
    }
    taken_groups
}

/// Steps 8 and 10 of merging: validation, then order and numbers. `judgements` are keyed by
/// `dedupe_key`; issues without one were not validated. Static findings and pre-existing issues are
/// never validated.
pub fn apply_judgements(
    mut result: MergeResult,
    judgements: &BTreeMap<String, Judgement>,
) -> MergeResult {
    for issue in std::mem::take(&mut result.issues) {
        let judgement = judgements.get(&issue.dedupe_key);
        result.add_judged_issue(issue, judgement);
    }
    number_issues(result)
}

/// Sorts and numbers the issues. Validation and the editor change the order.
pub(crate) fn number_issues(mut result: MergeResult) -> MergeResult {
    result.issues.sort_by(by_urgency);
    sort_dropped(&mut result.dropped);
    // One numbering for both lists, so that `#3` is unique in every output.
    for (number, issue) in (1..).zip(result.issues.iter_mut().chain(&mut result.pre_existing)) {
        issue.number = number;
    }
    result
}

/// Adds merged findings to a report: verdict, then the limit on issues, then duplicates.
pub fn into_report(
    mut report: Report,
    merged: MergeResult,
    command: CommandKind,
    max_issues: usize,
) -> Report {
    report.issues = merged.issues;
    report.pre_existing = merged.pre_existing;
    report.candidate_pairs = merged.candidate_pairs;
    report.suppressed.extend(merged.dropped);
    extend_unique(&mut report.testing_gaps, merged.testing_gaps);
    extend_unique(&mut report.residual_risks, merged.residual_risks);
    report.command = command;
    let mut dropped = MergeResult::default();
    let excess_issues = take_excess(&mut report.issues, command, max_issues);
    let limit = limit_text(max_issues, command);
    report.over_cap.clone_from(&excess_issues);
    // The verdict counts the issues over the limit, too: hiding issues must not improve it.
    (report.verdict, report.verdict_reason) = verdict(&report, command);
    let fixed = 0;
    report.over_cap_note = over_cap_note(&excess_issues, fixed, &limit);
    for issue in excess_issues {
        let reason = format!("issue {}; {OVER_CAP_CAUSE} {limit}", issue.number);
        dropped.drop_issue(issue, Fate::OverCap, &reason);
    }
    for issue in report.issues.iter().chain(&report.pre_existing) {
        for member in issue.members.iter().skip(1) {
            let reason = format!("duplicate of \"{}\"", issue.title);
            dropped.drop_member(member.clone(), Fate::Merged, &reason, Some(&issue.dedupe_key));
        }
    }
    report.suppressed.extend(dropped.dropped);
    sort_dropped(&mut report.suppressed);
    report.queues = queues(report.all_issues());
    report.fix_order = fix_order(&report);
    report
}

/// Takes the issues over the limit out of the list. Keeps every P0 first, then the most probable
/// issues. Issues without a probability keep their order and come last. In a review, issues of static checks and of the plan do not count.
fn take_excess(issues: &mut Vec<Issue>, command: CommandKind, max_issues: usize) -> Vec<Issue> {
    let is_counted = |issue: &&Issue| command == CommandKind::Checks || issue.takes_second_look();
    let mut counted: Vec<&Issue> = issues.iter().filter(is_counted).collect();
    counted.sort_by_key(|issue| (issue.severity != Severity::P0, Reverse(issue.probability)));
    let excess: BTreeSet<u32> =
        counted.into_iter().skip(max_issues).map(|issue| issue.number).collect();
    let (kept, excess) =
        std::mem::take(issues).into_iter().partition(|issue| !excess.contains(&issue.number));
    *issues = kept;
    excess
}

/// The issues that a limit allows: `5 issues found by models`.
fn limit_text(max_issues: usize, command: CommandKind) -> String {
    let issues = plural(max_issues, "issue");
    match command {
        CommandKind::Review => format!("{issues} found by models"),
        CommandKind::Checks => issues,
    }
}

/// Recomputes verdict, queues and fix order after issues were fixed or added.
pub fn refresh_verdict(report: &mut Report, command: CommandKind) {
    report.command = command;
    (report.verdict, report.verdict_reason) = verdict(report, command);
    report.queues = queues(report.open_issues());
    report.fix_order = fix_order(report);
}

impl MergeResult {
    /// All findings in their original form, and the entries that could not be parsed.
    pub fn flatten(self) -> (Vec<Member>, Vec<DroppedFinding>) {
        let issues = self.issues.into_iter().chain(self.pre_existing);
        let mut members: Vec<Member> = issues.flat_map(|issue| issue.members).collect();
        let (parsed, unparsed): (Vec<_>, Vec<_>) =
            self.dropped.into_iter().partition(|dropped| dropped.member.is_some());
        members.extend(parsed.into_iter().filter_map(|dropped| dropped.member));
        (members, unparsed)
    }

    /// Drops issues with a past decision and returns the other issues.
    ///
    /// Each decision applies to one issue: the issue with the decision's key, or else one of these:
    /// - a P1 of a model that quotes the line of the decision: models choose between close lines
    /// - a P2 or P3 on a nearby line, or with the same title if the line was rewritten
    ///
    /// A wider rule would let a later push hide new code behind an old decision.
    fn drop_decided_issues(
        &mut self,
        issues: Vec<Issue>,
        past_decisions: &PastDecisions,
        placer: &mut Placer<'_>,
    ) -> Vec<Issue> {
        let mut open_decisions = past_decisions.clone();
        if open_decisions.is_empty() {
            return issues;
        }
        let mut undecided = Vec::with_capacity(issues.len());
        for issue in issues {
            match open_decisions.take_decision(std::slice::from_ref(&issue.dedupe_key)) {
                Some((fate, reason)) => self.drop_issue(issue, fate, &reason),
                None => undecided.push(issue),
            }
        }
        for issue in std::mem::take(&mut undecided) {
            let keys = match issue.severity {
                Severity::P0 => Vec::new(),
                Severity::P1 if !issue.takes_second_look() => Vec::new(),
                Severity::P1 => {
                    nearby_keys(&issue, MAX_MOVED_LINES, |line| issue.quotes_line(line), placer)
                }
                Severity::P2 | Severity::P3 => {
                    let mut keys = nearby_keys(&issue, MAX_MOVED_LINES, |_| true, placer);
                    let rewritten_issues = past_decisions
                        .rewritten
                        .iter()
                        .filter(|dismissed| dismissed.matches(&issue));
                    keys.extend(rewritten_issues.map(|dismissed| dismissed.dedupe_key.clone()));
                    keys
                }
            };
            match open_decisions.take_decision(&keys) {
                Some((fate, reason)) => self.drop_issue(issue, fate, &reason),
                None => undecided.push(issue),
            }
        }
        undecided
    }

    /// Selects the issues to keep. `issues` must be in report order.
    fn select_issues(&mut self, issues: Vec<Issue>) {
        let mut untested_folders = UntestedFolders::default();
        for issue in issues {
            // Soften before the confidence check: a finding too weak for an issue can still become
            // a note.
            if let Some((note_list, reason)) = soften_weak(&issue) {
                self.soften(issue, note_list, &reason);
            } else if is_low_confidence(&issue) {
                let reason = format!("confidence {}", issue.confidence.value());
                self.hide_below_gate(issue, &reason);
            } else if issue.pre_existing {
                self.pre_existing.push(issue);
            } else if let Some((note_list, reason)) = untested_folders.soften_repeat(&issue) {
                self.soften(issue, note_list, &reason);
            } else {
                self.issues.push(issue);
            }
        }
    }

    /// Turns an issue into a line of a note list.
    fn soften(&mut self, issue: Issue, note_list: NoteList, reason: &str) {
        let line = format!("{}: {}", issue.location, issue.title);
        let lines = match note_list {
            NoteList::TestingGaps => &mut self.testing_gaps,
            NoteList::ResidualRisks => &mut self.residual_risks,
        };
        lines.push(line);
        self.drop_issue(issue, Fate::Softened, reason);
    }

    fn drop_member(&mut self, member: Member, fate: Fate, reason: &str, into: Option<&str>) {
        let dropped = DroppedFinding::new(member, fate, reason);
        self.dropped.push(DroppedFinding { into: into.map(str::to_owned), ..dropped });
    }

    /// Adds an issue, or drops or hides it if its judgement says so.
    pub(crate) fn add_judged_issue(&mut self, mut issue: Issue, judgement: Option<&Judgement>) {
        match judgement.and_then(|judgement| apply_judgement(&mut issue, judgement)) {
            Some((Fate::BelowGate, reason)) => self.hide_below_gate(issue, &reason),
            Some((fate, reason)) => self.drop_issue(issue, fate, &reason),
            None => self.issues.push(issue),
        }
    }

    /// Hides an issue that stays open.
    pub(crate) fn hide_open_issue(&mut self, issue: Issue, fate: Fate, reason: &str) {
        let second_look = issue.second_look();
        let Issue { severity, members, .. } = issue;
        let mut members = members.into_iter();
        let lead = members.next().map(|member| {
            DroppedFinding::new(member, fate, reason).still_open(severity, second_look)
        });
        self.dropped.extend(lead);
        self.dropped.extend(members.map(|member| DroppedFinding::new(member, fate, reason)));
    }

    /// Hides an issue with low confidence. A P0 or P1 stays open: only validation refutes it.
    fn hide_below_gate(&mut self, issue: Issue, reason: &str) {
        match issue.severity {
            Severity::P0 | Severity::P1 => self.hide_open_issue(issue, Fate::BelowGate, reason),
            Severity::P2 | Severity::P3 => self.drop_issue(issue, Fate::BelowGate, reason),
        }
    }

    /// Drops an issue. All its findings get the same fate.
    pub(crate) fn drop_issue(&mut self, issue: Issue, fate: Fate, reason: &str) {
        let dismissed_with = (fate == Fate::Dismissed).then_some(issue.dedupe_key.as_str());
        for member in issue.members {
            self.drop_member(member, fate, reason, dismissed_with);
        }
    }
}

/// Order of issues in the report. The order is total, which makes the report deterministic.
fn by_urgency(a: &Issue, b: &Issue) -> Ordering {
    let key =
        |issue: &Issue| (issue.severity, Reverse(issue.probability.unwrap_or(issue.confidence)));
    key(a)
        .cmp(&key(b))
        .then_with(|| a.location.file.cmp(&b.location.file))
        .then_with(|| a.location.line_start.cmp(&b.location.line_start))
        .then_with(|| a.location.cmp(&b.location))
        .then_with(|| a.members.cmp(&b.members))
}

impl PastDecisions {
    fn is_empty(&self) -> bool {
        self.dismissed.is_empty() && self.suppressed.is_empty()
    }

    /// Removes and returns the decision for the first key that has one.
    fn take_decision(&mut self, keys: &[String]) -> Option<(Fate, String)> {
        keys.iter().find_map(|key| {
            let dismissed = self.dismissed.remove(key).map(|reason| (Fate::Dismissed, reason));
            dismissed
                .or_else(|| self.suppressed.remove(key).map(|reason| (Fate::Suppressed, reason)))
        })
    }
}

/// Appends the lines that are not present yet.
fn extend_unique(lines: &mut Vec<String>, new_lines: Vec<String>) {
    let mut known_lines: BTreeSet<String> = lines.iter().cloned().collect();
    lines.extend(new_lines.into_iter().filter(|line| known_lines.insert(line.clone())));
}

fn sort_dropped(dropped: &mut [DroppedFinding]) {
    dropped.sort_by(|a, b| {
        (a.fate, &a.reviewer, &a.member, &a.reason).cmp(&(
            b.fate,
            &b.reviewer,
            &b.member,
            &b.reason,
        ))
    });
}

/// Open issues that block the merge, most urgent first. Issues over the limit are not listed.
fn fix_order(report: &Report) -> Vec<u32> {
    let open_issues = report.shown_open_issues();
    open_issues.filter(|issue| is_actionable(issue)).map(|issue| issue.number).collect()
}

fn queues<'a>(issues: impl Iterator<Item = &'a Issue> + Clone) -> Queues {
    let numbers_in =
        |queue| issues.clone().filter(|i| i.queue == queue).map(|i| i.number).collect();
    Queues {
        fixer: numbers_in(Queue::Fixer),
        residual: numbers_in(Queue::Residual),
        report: numbers_in(Queue::Report),
    }
}

fn is_low_confidence(issue: &Issue) -> bool {
    issue.confidence < min_confidence(issue.severity)
}

/// The confidence from which an issue of this severity is shown.
pub(crate) fn min_confidence(severity: Severity) -> Confidence {
    match severity {
        Severity::P0 => MIN_CONFIDENCE_P0,
        Severity::P1 | Severity::P2 | Severity::P3 => MIN_CONFIDENCE,
    }
}

/// Applies a judgement. Returns the fate if the issue is dropped.
fn apply_judgement(issue: &mut Issue, judgement: &Judgement) -> Option<(Fate, String)> {
    // Models cannot overrule static checks: a static check may warn about the very text that steers
    // the model.
    if !issue.takes_second_look() {
        return None;
    }
    match judgement.result {
        JudgementResult::Refuted => return Some((Fate::Refuted, judgement.reason.clone())),
        JudgementResult::Confirmed => {
            issue.validation = Validation::Confirmed;
            raise_severity(issue, judgement);
            return None;
        }
        // Never lose a blocker because the validator crashed.
        JudgementResult::Failed => issue.validation = Validation::Degraded,
        JudgementResult::Unsure | JudgementResult::NoVerdict => {
            let has_verdict = judgement.result == JudgementResult::Unsure;
            issue.validation = if has_verdict { Validation::Unsure } else { Validation::NoVerdict };
            if issue.severity > Severity::P1 {
                issue.confidence = issue.confidence.lowered(UNSURE_PENALTY);
            }
        }
    }
    is_low_confidence(issue).then(|| {
        let reason = format!("confidence {} after an undecided check", issue.confidence.value());
        (Fate::BelowGate, reason)
    })
}

/// Raises the severity if validation confirms the issue and finds it worse than its reviewers did.
fn raise_severity(issue: &mut Issue, judgement: &Judgement) {
    let severity =
        judgement.severity.map(|severity| severity.max(members_severity_cap(&issue.members)));
    if let Some(severity) = severity.filter(|severity| *severity < issue.severity) {
        regrade(issue, severity, VALIDATION, &judgement.reason);
    }
}

#[cfg(test)]
mod tests;
