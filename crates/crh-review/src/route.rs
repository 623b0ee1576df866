//! Maps fix class and owner to queue and action.

use crate::finding::{AutofixClass, Finding, Member, Owner};
use crate::report::{Action, Queue};

pub(crate) fn queue_for(class: AutofixClass, owner: Owner) -> Queue {
    match (class, owner) {
        (AutofixClass::Advisory, _) | (_, Owner::Human | Owner::Release) => Queue::Report,
        (AutofixClass::SafeAuto, Owner::ReviewFixer) => Queue::Fixer,
        (
            AutofixClass::GatedAuto | AutofixClass::Manual,
            Owner::ReviewFixer | Owner::DownstreamResolver,
        )
        | (AutofixClass::SafeAuto, Owner::DownstreamResolver) => Queue::Residual,
    }
}

/// Recommended action for one finding, by its class. [`issue_action`] also looks at the owner.
pub(crate) fn action_for(finding: &Finding) -> Action {
    match finding.autofix_class {
        AutofixClass::Advisory => Action::Acknowledge,
        AutofixClass::SafeAuto | AutofixClass::GatedAuto | AutofixClass::Manual => {
            let has_fix = finding.replacement.is_some() || finding.suggested_fix.is_some();
            if has_fix { Action::Apply } else { Action::Defer }
        }
    }
}

/// Route of an issue: the most cautious choice of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IssueRoute {
    pub(crate) class: AutofixClass,
    pub(crate) owner: Owner,
    pub(crate) queue: Queue,
    pub(crate) action: Action,
    pub(crate) requires_verification: bool,
}

impl IssueRoute {
    /// Route of one issue, from its members.
    pub(crate) fn from_members(members: &[&Member]) -> Self {
        let findings = || members.iter().map(|member| &member.finding);
        // An `advisory` member does not decide who works, so that it cannot silence a member that
        // asks for work.
        let deciding_findings = || findings().filter(|f| f.autofix_class != AutofixClass::Advisory);
        let has_conflict = replacements_conflict(members);
        let class =
            deciding_findings().map(|f| f.autofix_class).max().unwrap_or(AutofixClass::Advisory);
        // If replacements differ, a member says that there is nothing to fix, or a replacement may
        // delete lines by mistake, crh asks before it applies the fix.
        let is_disputed = has_conflict
            || deciding_findings().count() < members.len()
            || deciding_findings().any(is_doubtful_deletion);
        let class = match class {
            AutofixClass::SafeAuto if is_disputed => AutofixClass::GatedAuto,
            class => class,
        };
        let owner = deciding_findings()
            .map(|f| f.owner)
            .max()
            .or_else(|| findings().map(|f| f.owner).max())
            .unwrap_or(Owner::Human);
        let queue = queue_for(class, owner);
        let action = match has_conflict {
            true => Action::Skip,
            false => findings().map(action_for).max().unwrap_or(Action::Defer),
        };
        let requires_verification = findings().any(|f| f.requires_verification);
        Self { class, owner, queue, action, requires_verification }
    }

    /// The route that the members have together with `separated`: findings that the rules of
    /// merging group with them, but that the editor, a model, put into other issues. The
    /// recommended action stays: it is about the members alone.
    pub(crate) fn restricted_by(self, members: &[&Member], separated: &[Member]) -> Self {
        Self { action: self.action, ..Self::from_members(&route_voters(members, separated)) }
    }
}

/// Findings that decide on the route of an issue. If all members are advisory, the `separated`
/// findings do not count.
pub(crate) fn route_voters<'a>(members: &[&'a Member], separated: &'a [Member]) -> Vec<&'a Member> {
    let is_advisory = |member: &&Member| member.finding.autofix_class == AutofixClass::Advisory;
    let separated = if members.iter().all(is_advisory) { &[] } else { separated };
    members.iter().copied().chain(separated).collect()
}

/// The action for an issue. Without an exact replacement, crh does not fix what a person has to
/// handle or what waits for a release.
pub(crate) fn issue_action(route: &IssueRoute, replacement: Option<&str>) -> Action {
    match (route.action, route.owner) {
        (Action::Apply, Owner::Human | Owner::Release) if replacement.is_none() => Action::Defer,
        (action, _) => action,
    }
}

/// Whether the replacement is empty and no words ask to delete anything. Models send empty text for
/// fields that they do not fill.
fn is_doubtful_deletion(finding: &Finding) -> bool {
    let is_empty = finding.replacement.as_deref().is_some_and(|text| text.trim().is_empty());
    let words = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    let asks_to_delete = words.into_iter().flatten().any(|text| {
        let text = text.to_lowercase();
        ["delete", "remove", "drop", "unused"].iter().any(|word| text.contains(word))
    });
    is_empty && !asks_to_delete
}

/// Whether two members propose different replacements of a line. Replacements of different lines
/// complement each other.
pub(crate) fn replacements_conflict(members: &[&Member]) -> bool {
    let findings = members.iter().map(|member| &member.finding);
    let fixes: Vec<&Finding> = findings.filter(|it| it.replacement.is_some()).collect();
    fixes.iter().enumerate().any(|(index, later)| {
        let mut earlier = fixes[..index].iter();
        earlier.any(|it| it.replacement != later.replacement && may_cite_same_line(it, later))
    })
}

/// Whether two findings cite a line in common. If one cites lines of a file and the other a line of
/// the diff, they may.
fn may_cite_same_line(one: &Finding, other: &Finding) -> bool {
    let lines = |finding: &Finding| {
        let first = finding.line_start?;
        Some((first, finding.line_end.unwrap_or(first).max(first)))
    };
    let side = |finding: &Finding| finding.side.unwrap_or_default();
    one.file == other.file
        && match (lines(one), lines(other)) {
            (Some((first, last)), Some((other_first, other_last))) => {
                side(one) == side(other) && first <= other_last && other_first <= last
            }
            (None, None) => one.diff_line == other.diff_line,
            (Some(_), None) | (None, Some(_)) => true,
        }
}

#[cfg(test)]
mod tests;
