//! What an earlier attempt at the review brought: nobody pays for it twice.

use std::collections::{BTreeMap, BTreeSet};

use super::files::Files;
use crate::plan::{Part, SUB_AGENT};
use crate::runs::{RunRecord, Runs};

/// What an earlier attempt brought.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Sub-agents that reported, by their slots.
    pub(super) completed: BTreeMap<u32, RunRecord>,
    /// What they were given to review.
    pub(super) done: BTreeSet<Part>,
    /// The first slot that nobody had.
    pub(super) next_slot: u32,
    /// The orchestrator, if it submitted.
    orchestrator: Option<RunRecord>,
}

impl Earlier {
    /// What is in the runs that were completed in an earlier attempt.
    pub(super) fn of(records: &[RunRecord], orchestrator: &str) -> Self {
        let mut earlier = Self { next_slot: 1, ..Self::default() };
        for record in records {
            let name = &record.assignment.name;
            if name == orchestrator {
                earlier.orchestrator = Some(record.clone());
            }
            let slot = name.strip_prefix(SUB_AGENT).and_then(|slot| slot.parse::<u32>().ok());
            let Some(slot) = slot else { continue };
            earlier.next_slot = earlier.next_slot.max(slot.saturating_add(1));
            // Those who only confirmed something have no coverage: what they looked at is not done by that.
            let covers =
                |part: &&Part| record.coverage.iter().any(|covered| covered.path == part.path);
            earlier.done.extend(record.assignment.parts.iter().filter(covers).cloned());
            earlier.completed.insert(slot, record.clone());
        }
        earlier
    }

    /// Everything, if nothing is left to do.
    pub(super) fn finished(&self, files: &Files) -> Option<Runs> {
        let orchestrator = self.orchestrator.as_ref()?;
        let mut pieces = files.iter().flat_map(|file| &file.pieces);
        pieces.all(|piece| self.done.contains(&piece.part)).then(|| Runs {
            records: std::iter::once(orchestrator)
                .chain(self.completed.values())
                .cloned()
                .collect(),
            notes: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Assignment;
    use crate::strategies::delegate::files::tests::files;
    use crh_review::report::{CoverageState, FileCoverage};

    fn record(name: &str, paths: &[&str]) -> RunRecord {
        let parts: Vec<Part> = paths.iter().map(|path| Part::whole(*path)).collect();
        let coverage = parts.iter().map(|part| FileCoverage {
            path: part.path.clone(),
            state: CoverageState::Reviewed,
            reason: String::new(),
        });
        let coverage = coverage.collect();
        let assignment = Assignment {
            name: name.to_owned(),
            reviewer: "delegate".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts,
        };
        RunRecord { coverage, ..RunRecord::begun(assignment) }
    }

    #[test]
    fn what_was_reported_is_done_and_slots_go_on_after_the_highest() {
        let records = [
            record("secrets", &["a", "b", "c"]),
            record("sub-agent-7", &["b"]),
            record("sub-agent-2", &["a"]),
        ];
        let earlier = Earlier::of(&records, "orchestrator");
        assert_eq!(earlier.done, BTreeSet::from(["a", "b"].map(Part::whole)));
        let completed = [(2, records[2].clone()), (7, records[1].clone())];
        assert_eq!(earlier.completed, BTreeMap::from(completed));
        assert_eq!(earlier.next_slot, 8);
        assert_eq!(earlier.finished(&files("a 1 1\nb 1 1", 10)), None, "nobody submitted");
    }

    #[test]
    fn whoever_only_confirmed_has_not_reviewed() {
        let confirming = RunRecord { coverage: Vec::new(), ..record("sub-agent-4", &["a"]) };
        let earlier = Earlier::of(&[confirming], "orchestrator");
        assert!(earlier.done.is_empty());
        assert_eq!(earlier.completed.len(), 1);
    }

    #[test]
    fn a_review_that_was_submitted_and_lacks_no_file_is_finished() {
        let done = record("sub-agent-1", &["a"]);
        let submitted = record("orchestrator", &["a"]);
        let finished = |orchestrator: &RunRecord, text: &str| {
            let records = [done.clone(), orchestrator.clone()];
            Earlier::of(&records, "orchestrator")
                .finished(&files(text, 10))
                .map(|runs| runs.records)
        };
        assert_eq!(finished(&submitted, "a 1 1"), Some(vec![submitted.clone(), done.clone()]));
        assert_eq!(finished(&submitted, "a 1 1\nb 1 1"), None);
    }
}
