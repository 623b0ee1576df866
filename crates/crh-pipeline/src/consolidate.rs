//! Stage "merge": turns findings into issues and checks their quotes.

use std::collections::{BTreeMap, BTreeSet};

use crate::change_under_review::ChangeUnderReview;
use crate::code_reader::CodeReader;
use crh_memory::calibration::{Weights, issue_features};
use crh_review::finding::{Member, Severity, Side};
use crh_review::report::{Issue, Validation};
use crh_review::{
    EditedGroup, EditorJudgement, FindingCheck, Grouping, Judgement, JudgementResult, Location,
    MergeResult, PastDecisions, PublishRules, Sources, SymbolSpan, apply_edit, apply_judgements,
    join_copies, split_rejected,
};
use crh_syntax::SymbolKind;

/// Merges findings. Quotes are looked up in the diff and in the files of base and head.
pub fn consolidate(
    members: Vec<Member>,
    change: &ChangeUnderReview,
    remembered: &PastDecisions,
) -> MergeResult {
    let sources = sources(&members, change);
    // crh asks no model about possible duplicates, so they stay separate issues.
    crh_review::consolidate(members, &sources, remembered, &BTreeSet::new())
}

/// Applies the checks of the merge to findings, without merging them.
pub(crate) fn check_findings(members: &[Member], change: &ChangeUnderReview) -> Vec<FindingCheck> {
    crh_review::check_findings(members, &sources(members, change))
}

/// Removes the prefixes `a/` and `b/` of a diff from the paths that findings cite.
pub(crate) fn drop_diff_prefixes(members: &mut [Member], change: &ChangeUnderReview) {
    let code = CodeReader::new(change);
    let is_file = |path: &str| {
        [Side::Old, Side::New].into_iter().any(|side| code.bytes(side, path).is_some())
    };
    crh_review::drop_diff_prefixes(members, &change.diff, is_file);
}

/// The locations that findings cite.
pub(crate) fn cited_locations(
    members: &[Member],
    change: &ChangeUnderReview,
) -> Vec<Option<Location>> {
    crh_review::cited_locations(members, &sources(members, change))
}

/// Merges findings for the editor. Issues need no minimum confidence.
pub fn consolidate_for_editor(
    members: Vec<Member>,
    change: &ChangeUnderReview,
    remembered: &PastDecisions,
) -> MergeResult {
    let sources = sources(&members, change);
    let grouping = Grouping::Rules(&BTreeSet::new());
    crh_review::consolidate_for_editor(members, &sources, remembered, grouping)
}

/// Splits the groups that the editor calls minor or refutes by place, so that validation checks the
/// claims at each place on their own. Then joins the groups that have copies of a finding.
pub fn regroup(groups: &[EditedGroup], change: &ChangeUnderReview) -> Vec<EditedGroup> {
    let members: Vec<Member> =
        groups.iter().flat_map(|group| group.members.iter().cloned()).collect();
    let sources = sources(&members, change);
    join_copies(&split_rejected(groups, &sources), &sources)
}

/// The issues that validation checks. If the editor puts the findings of an issue into different
/// groups, the issue is split, since each group is a separate claim.
pub fn split_by_editor(
    merged: &MergeResult,
    groups: Option<&[EditedGroup]>,
    members: &[Member],
    change: &ChangeUnderReview,
    remembered: &PastDecisions,
) -> MergeResult {
    let parts: Vec<Vec<Member>> = merged
        .issues
        .iter()
        .map(|issue| parts(issue, groups.unwrap_or_default()))
        .filter(|parts| parts.len() > 1)
        .flatten()
        .collect();
    if parts.is_empty() {
        return merged.clone();
    }
    let sources = sources(members, change);
    let grouping = Grouping::Editor(&parts);
    crh_review::consolidate_for_editor(members.to_vec(), &sources, remembered, grouping)
}

/// The findings of an issue, one list for each group of the editor. Findings in no group come
/// first, in a list of their own.
fn parts(issue: &Issue, groups: &[EditedGroup]) -> Vec<Vec<Member>> {
    let mut parts: BTreeMap<Option<usize>, Vec<Member>> = BTreeMap::new();
    for member in &issue.members {
        let group = groups.iter().position(|group| group.members.contains(member));
        parts.entry(group).or_default().push(member.clone());
    }
    parts.into_values().collect()
}

/// Applies the editor's decisions and the judgements of validation to the merged findings, and
/// numbers the issues. `merged` has the issues that were validated. If an editor was expected and
/// gave no answer, the confidence of the reviewers decides.
pub fn select_issues(
    merged: MergeResult,
    members: &[Member],
    change: &ChangeUnderReview,
    remembered: &PastDecisions,
    selection: &IssueSelection<'_>,
) -> MergeResult {
    let IssueSelection { has_editor, groups, judgements, by_editor, rules, calibration } =
        selection;
    if !has_editor {
        return apply_judgements(merged, judgements);
    }
    let mut by_member: BTreeMap<Member, Judgement> = merged
        .issues
        .iter()
        .filter_map(|issue| Some((issue, judgements.get(&issue.dedupe_key)?)))
        .flat_map(|(issue, judgement)| {
            issue.members.iter().map(|member| (member.clone(), judgement.clone()))
        })
        .collect();
    let Some(groups) = groups else {
        let by_confidence = consolidate(members.to_vec(), change, remembered);
        let judgement = |issue: &Issue| {
            let judgement = by_member.get(issue.members.first()?)?;
            Some((issue.dedupe_key.clone(), judgement.clone()))
        };
        let by_key = by_confidence.issues.iter().filter_map(judgement).collect();
        let mut selected = apply_judgements(by_confidence, &by_key);
        for dropped in selected.dropped.iter_mut().filter(|dropped| dropped.validation.is_some()) {
            let judgement = dropped.member.as_ref().and_then(|member| by_member.get(member));
            let validation = judgement.map(|judgement| judgement.result.validation());
            dropped.validation = validation.or(dropped.validation);
        }
        return selected;
    };
    // The judgement on the first finding of a group holds for its other findings, except for those
    // of another P0 or P1: the editor may have grouped different defects.
    let urgent = merged.issues.iter().filter(|issue| issue.severity <= Severity::P1);
    let urgent: BTreeSet<&Member> = urgent.flat_map(|issue| &issue.members).collect();
    for group in *groups {
        let judgement = group.members.first().and_then(|lead| by_member.get(lead)).cloned();
        let Some(judgement) = judgement else { continue };
        for member in group.members.iter().filter(|member| !urgent.contains(member)) {
            by_member.entry(member.clone()).or_insert_with(|| judgement.clone());
        }
    }
    for (member, judgement) in by_editor {
        by_member.entry(member.clone()).or_insert_with(|| judgement.clone());
    }
    let mut groups: Vec<EditedGroup> =
        groups.iter().flat_map(|group| split_by_validation(group, &by_member)).collect();
    let member_groups: Vec<Vec<Member>> =
        groups.iter().map(|group| group.members.clone()).collect();
    let sources = sources(members, change);
    let grouping = Grouping::Editor(&member_groups);
    let regrouped =
        crh_review::consolidate_for_editor(members.to_vec(), &sources, remembered, grouping);
    let Some(calibration) = calibration else {
        return apply_edit(regrouped, &groups, &by_member, *rules);
    };
    calibration.replace_probabilities(&regrouped.issues, &mut groups, &mut by_member);
    apply_edit(regrouped, &groups, &by_member, *rules)
}

/// Splits a group of which validation refuted only a part.
fn split_by_validation(
    group: &EditedGroup,
    judgements: &BTreeMap<Member, Judgement>,
) -> Vec<EditedGroup> {
    let is_refuted = |member: &Member| {
        let judgement = judgements.get(member);
        judgement.is_some_and(|judgement| judgement.result == JudgementResult::Refuted)
    };
    let (refuted, upheld): (Vec<Member>, Vec<Member>) =
        group.members.iter().cloned().partition(is_refuted);
    let parts = [refuted, upheld].into_iter().filter(|members| !members.is_empty());
    parts.map(|members| group.with_members(members)).collect()
}

/// Fitted weights of the repository, and the models of this review.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// The weights.
    pub weights: Weights,
    /// Model names joined by `+`.
    pub models: String,
}

impl Calibration {
    /// Replaces the probabilities of the editor and of validation by the fitted one, so that the
    /// threshold and the order of issues depend on it alone.
    fn replace_probabilities(
        &self,
        issues: &[Issue],
        groups: &mut [EditedGroup],
        judgements: &mut BTreeMap<Member, Judgement>,
    ) {
        for group in groups.iter_mut().filter(|group| !group.is_forgotten) {
            let EditorJudgement::Probable(by_editor) = group.judgement else { continue };
            let Some(lead) = group.members.first() else { continue };
            let Some(issue) = issues.iter().find(|issue| issue.members.first() == Some(lead))
            else {
                continue;
            };
            let judgement = judgements.get(lead);
            let validation =
                judgement.map_or(Validation::NotRun, |judgement| judgement.result.validation());
            let probabilities =
                [Some(by_editor), judgement.and_then(|judgement| judgement.probability)];
            let judged = Issue {
                severity: group.severity,
                probability: probabilities.into_iter().flatten().min(),
                validation,
                ..issue.clone()
            };
            let fitted = self.weights.probability(&issue_features(&judged, &self.models));
            group.judgement = EditorJudgement::Probable(fitted);
            for member in &group.members {
                if let Some(judgement) = judgements.get_mut(member) {
                    judgement.probability = judgement.probability.map(|_| fitted);
                }
            }
        }
    }
}

/// What decides which issues are published.
#[derive(Debug)]
pub struct IssueSelection<'a> {
    /// Whether the strategy has an editor.
    pub has_editor: bool,
    /// The editor's groups. None if it gave no answer.
    pub groups: Option<&'a [EditedGroup]>,
    /// Judgements of validation, by `dedupe_key`.
    pub judgements: &'a BTreeMap<String, Judgement>,
    /// Judgements of the editor, if no validation follows it.
    pub by_editor: BTreeMap<Member, Judgement>,
    /// Threshold and minimum severity.
    pub rules: PublishRules,
    /// Fitted weights. None if the repository has none.
    pub calibration: Option<&'a Calibration>,
}

/// The diff, the text of every cited file, and the symbols of changed files.
fn sources(members: &[Member], change: &ChangeUnderReview) -> Sources {
    let mut sources = Sources::new(change.diff.as_ref().clone());
    let code = CodeReader::new(change);
    for path in cited_paths(members, &sources) {
        for side in [Side::Old, Side::New] {
            let bytes = code.bytes(side, &path).or_else(|| instruction_file(change, side, &path));
            let Some(bytes) = bytes else { continue };
            if code.is_changed(&path) {
                sources = sources.with_symbols(side, &path, symbol_spans(&code, side, &path));
            }
            sources = sources.with_file(side, &path, bytes);
        }
    }
    sources
}

/// A file of the project's agent instructions, by its workspace path.
fn instruction_file(change: &ChangeUnderReview, side: Side, path: &str) -> Option<Vec<u8>> {
    let is_in_workspace = side == Side::New && path.starts_with("agent/");
    change.workspace().ok().filter(|_| is_in_workspace)?.bytes(path).ok()
}

/// Cited files by their new path, deduplicated.
fn cited_paths(members: &[Member], sources: &Sources) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for Member { finding, .. } in members {
        let quoted_paths = finding.evidence.iter().filter_map(|piece| piece.file.as_deref());
        paths.extend(quoted_paths.chain([finding.file.as_str()]));
    }
    paths.into_iter().map(|path| sources.current_path(path)).collect()
}

/// Functions and types of a file. Empty if the file does not parse. Modules are skipped: they may
/// span the whole file.
fn symbol_spans(code: &CodeReader<'_>, side: Side, path: &str) -> Vec<SymbolSpan> {
    let Some(symbols) = code.symbols(side, path) else { return Vec::new() };
    let is_code_symbol = |kind: SymbolKind| match kind {
        SymbolKind::Function | SymbolKind::Method | SymbolKind::Type => true,
        SymbolKind::Module => false,
    };
    let code_symbols = symbols.all().iter().filter(|symbol| is_code_symbol(symbol.kind));
    code_symbols
        .map(|symbol| SymbolSpan {
            name: symbol.name.clone(),
            start: symbol.start,
            end: symbol.end,
        })
        .collect()
}
