//! What other tools say about the change, from SARIF files: one row for each tool.

use super::suppressed::suppressed;
use super::terms::CheckTerms;
use super::{assignment, record};
use crate::plan::SARIF;
use crate::runs::RunRecord;
use crh_lint::sarif::{Compared, ToolReturned};
use crh_lint::{Change, Returned, sarif};

/// The rows of all tools. They cover nothing: what they looked at is not known.
pub(super) fn records(change: &Change<'_>, terms: &CheckTerms) -> Vec<RunRecord> {
    if terms.sarif.is_empty() {
        return Vec::new();
    }
    let compared = match terms.sarif_base.is_empty() {
        true => Compared::WithAddedLines,
        false => Compared::With(&terms.sarif_base),
    };
    sarif::review(&terms.sarif, compared, change).into_iter().map(row).collect()
}

pub(super) fn row(returned: ToolReturned) -> RunRecord {
    let ToolReturned { tool, findings, suppressed: set_aside, notes } = returned;
    let assignment = assignment(&format!("{SARIF}{tool}"), Vec::new());
    let mut record = record(assignment.clone(), Returned { findings, notes });
    for (reported, why) in set_aside {
        let one = Returned { findings: vec![reported], notes: Vec::new() };
        let members = self::record(assignment.clone(), one).members;
        record.set_aside.extend(members.into_iter().map(|it| suppressed(it, why.clone())));
    }
    record
}
