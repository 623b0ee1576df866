//! Checks findings before the merge, so that their reviewer can repair what the merge would drop.

use std::fmt;

use crate::evidence::Sources;
use crate::finding::Member;
use crate::place::{Location, Placer};
use crate::report::Fate;

/// Result of checking one finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FindingCheck {
    /// Whether the merge drops the finding.
    pub is_dropped: bool,
    /// Why the merge would drop the finding. Absent if the merge accepts it, or if the reviewer
    /// cannot repair it.
    pub problem: Option<FindingProblem>,
    /// How its positions contradict each other, if they do.
    pub conflict: Option<String>,
}

/// A problem that the reviewer of a finding can repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingProblem {
    /// `malformed` or `unsupported`.
    pub fate: Fate,
    /// What is wrong.
    pub reason: String,
    /// The line that is most like a quote that was not found.
    pub similar_line: Option<String>,
}

impl fmt::Display for FindingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, similar_line, .. } = self;
        match similar_line {
            Some(line) => write!(f, "{reason}; the nearest text: {line}"),
            None => write!(f, "{reason}"),
        }
    }
}

/// Checks shape and evidence of findings, as the merge does.
pub fn check_findings(members: &[Member], sources: &Sources) -> Vec<FindingCheck> {
    let mut placer = Placer::new(sources);
    let mut check = |member: &Member| {
        let conflict = placer.cited_location(member).ok().and_then(|cited| cited.conflict);
        let error = placer.try_place(member).err();
        let is_dropped = error.is_some();
        let problem = error.and_then(|error| match error.fate {
            Fate::Malformed | Fate::Unsupported => Some(FindingProblem {
                fate: error.fate,
                reason: error.reason,
                similar_line: error.similar_line,
            }),
            // The reviewer cannot repair a finding with another fate.
            _ => None,
        });
        FindingCheck { is_dropped, problem, conflict }
    };
    members.iter().map(&mut check).collect()
}

/// The locations that findings cite; `None` if a finding has only a `diff_line`, and that line is
/// not in a hunk of its file.
pub fn cited_locations(members: &[Member], sources: &Sources) -> Vec<Option<Location>> {
    let mut placer = Placer::new(sources);
    let locate = |member: &Member| Some(placer.cited_location(member).ok()?.location);
    members.iter().map(locate).collect()
}

#[cfg(test)]
mod tests;
