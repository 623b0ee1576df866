//! Who acts next: class and owner to queue and action. Total functions: every pair lands somewhere.

use crate::finding::{AutofixClass, Finding, Member, Owner};
use crate::report::{Action, Queue};

/// The queue of a class and an owner.
pub(crate) fn queue(class: AutofixClass, owner: Owner) -> Queue {
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

/// What to do with one finding, by what it brings along.
pub(crate) fn action(finding: &Finding) -> Action {
    match queue(finding.autofix_class, finding.owner) {
        Queue::Report => Action::Acknowledge,
        Queue::Fixer | Queue::Residual => {
            let has_fix = finding.replacement.is_some() || finding.suggested_fix.is_some();
            if has_fix { Action::Apply } else { Action::Defer }
        }
    }
}

/// The route of an issue: the most careful of what its members say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) class: AutofixClass,
    pub(crate) owner: Owner,
    pub(crate) queue: Queue,
    pub(crate) action: Action,
    pub(crate) requires_verification: bool,
}

impl Route {
    /// The route of several findings that are one issue. Members are never empty.
    pub(crate) fn of(members: &[&Member]) -> Self {
        let findings = || members.iter().map(|member| &member.finding);
        // An `advisory` member has no say about who works, so that it cannot silence one that asks for it.
        let with_a_say = || findings().filter(|f| f.autofix_class != AutofixClass::Advisory);
        let contradict = contradict(members);
        let class = with_a_say().map(|f| f.autofix_class).max().unwrap_or(AutofixClass::Advisory);
        // But nothing is changed without asking that someone would leave alone, or change differently.
        let is_disputed = contradict || with_a_say().count() < members.len();
        let class = match class {
            AutofixClass::SafeAuto if is_disputed => AutofixClass::GatedAuto,
            undisputed => undisputed,
        };
        let owner = with_a_say()
            .map(|f| f.owner)
            .max()
            .or_else(|| findings().map(|f| f.owner).max())
            .unwrap_or(Owner::Human);
        let queue = queue(class, owner);
        let action = match queue {
            Queue::Report => Action::Acknowledge,
            Queue::Fixer | Queue::Residual if contradict => Action::Skip,
            Queue::Fixer | Queue::Residual => findings().map(action).max().unwrap_or(Action::Defer),
        };
        let requires_verification = findings().any(|f| f.requires_verification);
        Self { class, owner, queue, action, requires_verification }
    }
}

/// Whether two members want different text in the same place.
pub(crate) fn contradict(members: &[&Member]) -> bool {
    let mut wanted = members.iter().filter_map(|member| member.finding.replacement.as_deref());
    wanted.next().is_some_and(|first| wanted.any(|other| other != first))
}

#[cfg(test)]
mod tests;
