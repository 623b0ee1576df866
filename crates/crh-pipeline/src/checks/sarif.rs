//! Imports findings of other tools from SARIF files, one record per tool.

use super::options::CheckOptions;
use super::suppress::dropped_as_suppressed;
use super::{assignment, new_record};
use crate::assignment::SARIF;
use crate::runs::RunRecord;
use crh_lint::sarif::{SarifComparison, SarifToolOutput};
use crh_lint::{ChangeView, StaticOutput, sarif};

/// Records of all tools. Their coverage is empty, since the files do not say what a tool has read.
pub(super) fn records(change: &ChangeView<'_>, options: &CheckOptions) -> Vec<RunRecord> {
    if options.sarif.is_empty() {
        return Vec::new();
    }
    let comparison = match options.sarif_base.is_empty() {
        true => SarifComparison::AddedLines,
        false => SarifComparison::BaseFiles(&options.sarif_base),
    };
    sarif::review(&options.sarif, comparison, change).into_iter().map(record_from_tool).collect()
}

pub(super) fn record_from_tool(output: SarifToolOutput) -> RunRecord {
    let SarifToolOutput { tool, findings, suppressed, notes } = output;
    let assignment = assignment(&format!("{SARIF}{tool}"), Vec::new());
    let mut record = new_record(assignment.clone(), StaticOutput { findings, notes });
    for (finding, why) in suppressed {
        let output = StaticOutput { findings: vec![finding], notes: Vec::new() };
        let members = new_record(assignment.clone(), output).members;
        record
            .dropped
            .extend(members.into_iter().map(|member| dropped_as_suppressed(member, why.clone())));
    }
    record
}
