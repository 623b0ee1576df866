//! How bad a finding can be by its kind: what a model says above that is graded down, and the issue says so.

use std::collections::BTreeSet;

use crate::finding::{Category, Member, Origin, Severity};

/// The most severe that a finding of a kind can be. A matter of taste never keeps a change from being merged, whatever
/// a model makes of it.
pub fn severity_cap(category: Category) -> Severity {
    match category {
        Category::Style => Severity::P3,
        Category::Maintainability | Category::Standards => Severity::P2,
        Category::Testing => Severity::P1,
        Category::Security
        | Category::Bug
        | Category::ErrorHandling
        | Category::Performance
        | Category::Logic
        | Category::Concurrency
        | Category::ApiContract
        | Category::Data
        | Category::Requirements => Severity::P0,
    }
}

/// How bad a finding counts as. A program's rule has the severity that people gave it.
pub(crate) fn graded(member: &Member) -> Severity {
    let said = member.finding.severity;
    match member.origin {
        Origin::Code => said,
        Origin::Model => said.max(severity_cap(member.finding.category)),
    }
}

/// Why an issue is milder than somebody said it is: `style is P3 at most`; none if it is not.
pub(crate) fn why_milder(members: &[&Member], kept: Severity) -> Option<String> {
    let above = members.iter().filter(|member| member.finding.severity < kept);
    let kinds: BTreeSet<Category> = above.map(|member| member.finding.category).collect();
    let caps = kinds.iter().map(|kind| format!("{kind} is {} at most", severity_cap(*kind)));
    (!kinds.is_empty()).then(|| caps.collect::<Vec<_>>().join(", "))
}
