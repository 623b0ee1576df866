//! Converts a SARIF fix into the new text of a finding's lines.

use super::location::LocationResolver;
use super::log::{Region, SarifResult, ToolRun};

/// The new text for the lines of a finding. `None` unless the fix is a single replacement within
/// them.
pub(super) fn replacement(
    run: &ToolRun,
    result: &SarifResult,
    places: &LocationResolver<'_>,
    path: &str,
    (first, last): (u32, u32),
    (text, starts): &(String, Vec<usize>),
) -> Option<String> {
    let [fix] = result.fixes.as_slice() else { return None };
    let [change] = fix.artifact_changes.as_slice() else { return None };
    let [replaced] = change.replacements.as_slice() else { return None };
    if places.path(&change.artifact_location)? != path {
        return None;
    }
    let region = replaced.deleted_region;
    let from = offset(run, text, starts, region.start_line?, region.start_column.unwrap_or(1))?;
    let to = end(run, text, starts, region)?;
    let begin = *starts.get(index(first)?)?;
    let finish = starts.get(index(last)? + 1).copied().unwrap_or(text.len());
    if from < begin || to < from || to > finish {
        return None;
    }
    let new = [text.get(begin..from)?, &replaced.inserted_content.text, text.get(to..finish)?];
    Some(new.concat())
}

fn end(run: &ToolRun, text: &str, starts: &[usize], region: Region) -> Option<usize> {
    let line = region.end_line.or(region.start_line)?;
    match region.end_column {
        Some(column) => offset(run, text, starts, line, column),
        // To the end of the line, without its newline.
        None => {
            let next = starts.get(index(line)? + 1);
            Some(next.map_or(text.len(), |next| next - 1))
        }
    }
}

/// The byte offset of a line and column. Columns beyond ASCII are unambiguous only if the file
/// declares their unit.
fn offset(run: &ToolRun, text: &str, starts: &[usize], line: u32, column: u32) -> Option<usize> {
    let at = index(line)?;
    let start = *starts.get(at)?;
    let end = starts.get(at + 1).copied().unwrap_or(text.len());
    let own = text.get(start..end)?;
    if !own.is_ascii() && !run.columns_are_characters {
        return None;
    }
    let column = index(column)?;
    let inside = own.char_indices().map(|(at, _)| at).chain([own.len()]).nth(column)?;
    Some(start + inside)
}

fn index(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
