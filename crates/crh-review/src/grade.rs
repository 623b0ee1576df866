//! Caps the severity of model findings by category. The `disagreement` of an issue names each
//! downgrade.

use std::collections::BTreeSet;

use crate::finding::{Category, Member, Origin, Severity};

/// Highest severity that a model finding of a category can have. Matters of taste never block a
/// merge.
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

/// The highest severity that the categories of an issue's findings allow.
pub(crate) fn members_severity_cap(members: &[Member]) -> Severity {
    let caps = members.iter().map(|member| severity_cap(member.finding.category));
    caps.min().unwrap_or(Severity::P0)
}

/// Severity after the cap. Static checks and plans keep the severity of their rule.
pub(crate) fn effective_severity(member: &Member) -> Severity {
    let claimed_severity = member.finding.severity;
    match member.origin {
        Origin::Code | Origin::Plan => claimed_severity,
        Origin::Model => claimed_severity.max(severity_cap(member.finding.category)),
    }
}

/// Why an issue is less severe than a reviewer claimed, such as `style is P3 at most`.
pub(crate) fn downgrade_reason(members: &[&Member], final_severity: Severity) -> Option<String> {
    let is_capped = |member: &&&Member| {
        member.finding.severity < final_severity
            && effective_severity(member) != member.finding.severity
    };
    let capped_members = members.iter().filter(is_capped);
    let categories: BTreeSet<Category> =
        capped_members.map(|member| member.finding.category).collect();
    let caps = categories.iter().map(|kind| format!("{kind} is {} at most", severity_cap(*kind)));
    (!categories.is_empty()).then(|| caps.collect::<Vec<_>>().join(", "))
}
