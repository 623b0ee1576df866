//! Whether the exact new text of an issue is offered as a block that GitHub applies at a click.
//!
//! A click must never make the file worse than it was: whatever is not certain is shown as code instead.

use super::position::Anchor;
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_review::visible;

/// Why a new text is shown without a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoButton {
    /// There is no new text.
    None,
    /// It is nothing but white space.
    Empty,
    /// The comment is not on exactly the lines that it replaces.
    OtherLines,
    /// The lines are not at the head, or say something else there than what was quoted.
    Changed,
    /// It is what stands there.
    Same,
    /// It would open or close a bracket that it does not close or open.
    Brackets,
    /// It repeats the line above or below.
    Repeats,
    /// It has lost the indentation.
    Indentation,
    /// It holds a fence, a marker, or characters that cannot be seen.
    Unsafe,
    /// The file's lines do not end as those of a comment do.
    LineEnds,
}

/// Whether a new text applies; if not, why. `head` is the file's lines at the head, `anchor` where the comment is.
pub(super) fn button(
    issue: &Issue,
    anchor: &Anchor,
    head: Option<&[String]>,
) -> Result<(), NoButton> {
    let text = issue.replacement.as_deref().ok_or(NoButton::None)?;
    let (first, last) = (issue.location.line_start, issue.location.line_end);
    if text.trim().is_empty() {
        return Err(NoButton::Empty);
    }
    if issue.location.side != Side::New || !anchor.is_on(first, last) {
        return Err(NoButton::OtherLines);
    }
    if text.contains("```")
        || text.contains("~~~")
        || text.contains("<!-- c")
        || visible(text) != text
    {
        return Err(NoButton::Unsafe);
    }
    let head = head.ok_or(NoButton::Changed)?;
    let (above, replaced, below) = around(head, first, last).ok_or(NoButton::Changed)?;
    if !quotes_stand(issue, head) {
        return Err(NoButton::Changed);
    }
    if replaced.iter().any(|line| line.ends_with('\r')) {
        return Err(NoButton::LineEnds);
    }
    let new: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let plain = |line: &str| line.trim_end().to_owned();
    if new.iter().map(|line| plain(line)).eq(replaced.iter().map(|line| plain(line))) {
        return Err(NoButton::Same);
    }
    if open_brackets(new.iter().copied()) != open_brackets(replaced.iter().map(String::as_str)) {
        return Err(NoButton::Brackets);
    }
    if repeats(above, new.first(), replaced.first()) || repeats(below, new.last(), replaced.last())
    {
        return Err(NoButton::Repeats);
    }
    if lost_indentation(&new, replaced) {
        return Err(NoButton::Indentation);
    }
    Ok(())
}

/// The lines from `first` to `last`, with the line above and the line below.
fn around(
    head: &[String],
    first: u32,
    last: u32,
) -> Option<(Option<&String>, &[String], Option<&String>)> {
    let (first, last) = (usize::try_from(first).ok()?, usize::try_from(last).ok()?);
    let replaced = head.get(first.checked_sub(1)?..last)?;
    let above = first.checked_sub(2).and_then(|at| head.get(at));
    (!replaced.is_empty()).then(|| (above, replaced, head.get(last)))
}

/// Whether what was quoted from the new side of the issue's file is where it was found.
fn quotes_stand(issue: &Issue, head: &[String]) -> bool {
    let own =
        |quote: &&crh_review::Quote| quote.file == issue.location.file && quote.side == Side::New;
    issue.evidence.iter().filter(own).all(|quote| {
        let start = usize::try_from(quote.line).unwrap_or(usize::MAX).saturating_sub(1);
        let lines = quote.snippet.lines().filter(|line| !line.trim().is_empty());
        let mut at_head = head.iter().skip(start).filter(|line| !line.trim().is_empty());
        lines.into_iter().all(|line| at_head.next().is_some_and(|there| is_quoted(line, there)))
    })
}

/// Whether a line of a quote is a line of the file: white space folded, the sign of a diff taken off.
fn is_quoted(quoted: &str, line: &str) -> bool {
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = folded(line);
    let unsigned = quoted.strip_prefix(['+', ' ']).map(folded);
    folded(quoted) == line || unsigned.is_some_and(|quoted| quoted == line)
}

/// The brackets of some lines that have no partner in them, in order: what the lines around have to close or to open.
fn open_brackets<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<char> {
    let mut open: Vec<char> = Vec::new();
    for char in lines.flat_map(str::chars) {
        let partner = match char {
            '(' | '[' | '{' => None,
            ')' => Some('('),
            ']' => Some('['),
            '}' => Some('{'),
            _ => continue,
        };
        if partner.is_some() && open.last().copied() == partner {
            open.pop();
        } else {
            open.push(char);
        }
    }
    open
}

/// Whether a new text ends with the line that comes next, and what it replaces did not.
fn repeats(neighbour: Option<&String>, new: Option<&&str>, replaced: Option<&String>) -> bool {
    let Some(neighbour) = neighbour.map(|line| line.trim()).filter(|line| !line.is_empty()) else {
        return false;
    };
    new.is_some_and(|line| line.trim() == neighbour)
        && replaced.is_none_or(|line| line.trim() != neighbour)
}

/// Whether all that is replaced is indented and the new text begins at the margin.
fn lost_indentation(new: &[&str], replaced: &[String]) -> bool {
    let is_indented = |line: &str| line.starts_with([' ', '\t']);
    let mut written = replaced.iter().filter(|line| !line.trim().is_empty()).peekable();
    let was = written.peek().is_some() && written.all(|line| is_indented(line));
    was && new.iter().find(|line| !line.trim().is_empty()).is_some_and(|line| !is_indented(line))
}

#[cfg(test)]
mod tests;
