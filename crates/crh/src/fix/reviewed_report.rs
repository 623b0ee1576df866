//! The report of a fixed run as if nothing was fixed: for an undo, and for a pull request, which does
//! not have the fixes.

use super::REVIEWED;
use crh_pipeline::assemble::recount_summary;
use crh_pipeline::run_folder::RunFolder;
use crh_review::refresh_verdict;
use crh_review::report::Report;
use crh_review::verdict::CommandKind;

/// The stored copy of the report from before the fixes, which has what reviews of the fixes found
/// about the reviewed change, with the current statistics, which include the cost of the fixes. If
/// there is no copy, the current report without its list of fixes.
pub(crate) fn report_before_fixes(
    folder: Option<&RunFolder>,
    report: Report,
    command: CommandKind,
) -> Report {
    let mut before = match folder.map(|folder| folder.read::<Report>(REVIEWED)) {
        Some(Ok(reviewed)) => Report { stats: report.stats, ..reviewed },
        Some(Err(_)) | None => Report { applied_fixes: Vec::new(), ..report },
    };
    refresh_verdict(&mut before, command);
    recount_summary(&mut before);
    before
}
