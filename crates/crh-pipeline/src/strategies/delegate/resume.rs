//! Results of an earlier attempt, so that a resumed review does not pay for them again.

use std::collections::{BTreeMap, BTreeSet};

use super::files::DelegateFiles;
use crate::assignment::{DiffPart, SUB_AGENT};
use crate::runs::{RunRecord, RunResults};

#[derive(Debug, Default)]
pub(super) struct EarlierAttempt {
    /// Sub-agents that reported, by slot.
    pub(super) completed_runs: BTreeMap<u32, RunRecord>,
    /// Parts that they reviewed.
    pub(super) done_parts: BTreeSet<DiffPart>,
    /// The next free slot.
    pub(super) next_slot: u32,
    /// The orchestrator's record, if it submitted.
    orchestrator: Option<RunRecord>,
}

impl EarlierAttempt {
    /// Reads the records of an earlier attempt.
    pub(super) fn from_records(records: &[RunRecord], orchestrator: &str) -> Self {
        let mut earlier = Self { next_slot: 1, ..Self::default() };
        for record in records {
            let name = &record.assignment.name;
            if name == orchestrator {
                earlier.orchestrator = Some(record.clone());
            }
            let slot = name.strip_prefix(SUB_AGENT).and_then(|slot| slot.parse::<u32>().ok());
            let Some(slot) = slot else { continue };
            earlier.next_slot = earlier.next_slot.max(slot.saturating_add(1));
            // Sub-agents that only confirmed a finding have no coverage, so their files are not
            // done.
            let covers =
                |part: &&DiffPart| record.coverage.iter().any(|covered| covered.path == part.path);
            earlier.done_parts.extend(record.assignment.parts.iter().filter(covers).cloned());
            earlier.completed_runs.insert(slot, record.clone());
        }
        earlier
    }

    /// All results. None if a part is not reviewed or the orchestrator did not submit.
    pub(super) fn finished_runs(&self, files: &DelegateFiles) -> Option<RunResults> {
        let orchestrator = self.orchestrator.as_ref()?;
        let mut pieces = files.iter().flat_map(|file| &file.pieces);
        pieces.all(|piece| self.done_parts.contains(&piece.part)).then(|| RunResults {
            records: std::iter::once(orchestrator)
                .chain(self.completed_runs.values())
                .cloned()
                .collect(),
            notes: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assignment::Assignment;
    use crate::strategies::delegate::files::tests::files;
    use crh_review::report::{CoverageState, FileCoverage};

    fn record(name: &str, paths: &[&str]) -> RunRecord {
        let parts: Vec<DiffPart> = paths.iter().map(|path| DiffPart::whole(*path)).collect();
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
        RunRecord { coverage, ..RunRecord::new(assignment) }
    }

    #[test]
    fn reported_parts_are_done_and_slots_continue() {
        let records = [
            record("secrets", &["a", "b", "c"]),
            record("sub-agent-7", &["b"]),
            record("sub-agent-2", &["a"]),
        ];
        let earlier = EarlierAttempt::from_records(&records, "orchestrator");
        assert_eq!(earlier.done_parts, BTreeSet::from(["a", "b"].map(DiffPart::whole)));
        let completed = [(2, records[2].clone()), (7, records[1].clone())];
        assert_eq!(earlier.completed_runs, BTreeMap::from(completed));
        assert_eq!(earlier.next_slot, 8);
        assert_eq!(
            earlier.finished_runs(&files("a 1 1\nb 1 1", 10)),
            None,
            "the orchestrator did not submit"
        );
    }

    #[test]
    fn confirming_run_does_not_count_as_review() {
        let confirming = RunRecord { coverage: Vec::new(), ..record("sub-agent-4", &["a"]) };
        let earlier = EarlierAttempt::from_records(&[confirming], "orchestrator");
        assert!(earlier.done_parts.is_empty());
        assert_eq!(earlier.completed_runs.len(), 1);
    }

    #[test]
    fn submitted_review_of_all_files_is_finished() {
        let done = record("sub-agent-1", &["a"]);
        let submitted = record("orchestrator", &["a"]);
        let finished = |orchestrator: &RunRecord, text: &str| {
            let records = [done.clone(), orchestrator.clone()];
            EarlierAttempt::from_records(&records, "orchestrator")
                .finished_runs(&files(text, 10))
                .map(|runs| runs.records)
        };
        assert_eq!(finished(&submitted, "a 1 1"), Some(vec![submitted.clone(), done.clone()]));
        assert_eq!(finished(&submitted, "a 1 1\nb 1 1"), None);
    }
}
