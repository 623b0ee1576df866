//! Converts a SARIF fix into the new text of a finding's lines.

use super::location::LocationResolver;
use super::log::{Region, SarifResult, ToolRun};

/// The new text for the lines of a finding. `None` unless the fix is a single replacement within
/// these lines.
pub(super) fn replacement(
    run: &ToolRun,
    result: &SarifResult,
    resolver: &LocationResolver<'_>,
    path: &str,
    (first, last): (u32, u32),
    (text, line_starts): &(String, Vec<usize>),
) -> Option<String> {
    let [fix] = result.fixes.as_slice() else { return None };
    let [change] = fix.artifact_changes.as_slice() else { return None };
    let [edit] = change.replacements.as_slice() else { return None };
    if resolver.path(&change.artifact_location)? != path {
        return None;
    }
    let region = edit.deleted_region;
    let from =
        offset(run, text, line_starts, region.start_line?, region.start_column.unwrap_or(1))?;
    let to = region_end(run, text, line_starts, region)?;
    let lines_start = *line_starts.get(zero_based(first)?)?;
    let lines_end = line_starts.get(zero_based(last)? + 1).copied().unwrap_or(text.len());
    if from < lines_start || to < from || to > lines_end {
        return None;
    }
    let new_text =
        [text.get(lines_start..from)?, &edit.inserted_content.text, text.get(to..lines_end)?];
    Some(new_text.concat())
}

fn region_end(run: &ToolRun, text: &str, line_starts: &[usize], region: Region) -> Option<usize> {
    let line = region.end_line.or(region.start_line)?;
    match region.end_column {
        Some(column) => offset(run, text, line_starts, line, column),
        // Without an end column, the region ends at the end of the line, before the newline.
        None => {
            let next = line_starts.get(zero_based(line)? + 1);
            Some(next.map_or(text.len(), |next| next - 1))
        }
    }
}

/// The byte offset of a line and column. If the line is not ASCII, the column is unambiguous only
/// if the file declares that it counts Unicode characters.
fn offset(
    run: &ToolRun,
    text: &str,
    line_starts: &[usize],
    line: u32,
    column: u32,
) -> Option<usize> {
    let line_index = zero_based(line)?;
    let start = *line_starts.get(line_index)?;
    let end = line_starts.get(line_index + 1).copied().unwrap_or(text.len());
    let line_text = text.get(start..end)?;
    if !line_text.is_ascii() && !run.columns_are_characters {
        return None;
    }
    let column = zero_based(column)?;
    let column_offset =
        line_text.char_indices().map(|(at, _)| at).chain([line_text.len()]).nth(column)?;
    Some(start + column_offset)
}

fn zero_based(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
