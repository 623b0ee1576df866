//! Decides whether a fix becomes a suggestion that is applied with one click.
//!
//! A click must never break the file. crh shows doubtful fixes as code instead.

use super::position::{Anchor, DiffPoint};
use crh_review::diff::LineKind;
use crh_review::finding::Side;
use crh_review::report::Issue;
use crh_review::{escape_invisible, has_command};

/// Why a fix is not offered as a suggestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoSuggestion {
    /// No replacement text.
    NoReplacement,
    /// The replacement has only white space.
    Empty,
    /// The comment is not on exactly the replaced lines.
    OtherLines,
    /// The lines are missing at the head or differ from the quote.
    Changed,
    /// The replacement equals the current text.
    Same,
    /// The replacement opens or closes other brackets than the replaced lines.
    Brackets,
    /// The replacement repeats the line above or below.
    Repeats,
    /// The replacement lost the indentation of the replaced lines.
    Indentation,
    /// Contains a code fence, the start of a crh marker (an HTML comment), a command such as
    /// `/merge`, or invisible characters.
    Unsafe,
    /// The replaced lines end in CRLF, which comments cannot express.
    LineEnds,
}

/// Checks a suggestion. `head` has the file's lines at the head, `anchor` is the position of the
/// comment.
pub(super) fn check_suggestion(
    issue: &Issue,
    anchor: &Anchor,
    head: Option<&[String]>,
) -> Result<(), NoSuggestion> {
    let text = issue.replacement.as_deref().ok_or(NoSuggestion::NoReplacement)?;
    let (first, last) = (issue.location.line_start, issue.location.line_end);
    if text.trim().is_empty() {
        return Err(NoSuggestion::Empty);
    }
    if issue.location.side != Side::New || !anchor.is_on(first, last) {
        return Err(NoSuggestion::OtherLines);
    }
    if text.contains("```")
        || text.contains("~~~")
        || text.contains("<!-- c")
        || has_command(text)
        || escape_invisible(text) != text
    {
        return Err(NoSuggestion::Unsafe);
    }
    let head = head.ok_or(NoSuggestion::Changed)?;
    let (above, replaced, below) = split_around(head, first, last).ok_or(NoSuggestion::Changed)?;
    if !quotes_match(issue, head) {
        return Err(NoSuggestion::Changed);
    }
    if replaced.iter().any(|line| line.ends_with('\r')) {
        return Err(NoSuggestion::LineEnds);
    }
    let new_lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let trimmed = |line: &str| line.trim_end().to_owned();
    if new_lines.iter().map(|line| trimmed(line)).eq(replaced.iter().map(|line| trimmed(line))) {
        return Err(NoSuggestion::Same);
    }
    if open_brackets(new_lines.iter().copied())
        != open_brackets(replaced.iter().map(String::as_str))
    {
        return Err(NoSuggestion::Brackets);
    }
    if repeats_neighbour(above, new_lines.first(), replaced.first())
        || repeats_neighbour(below, new_lines.last(), replaced.last())
    {
        return Err(NoSuggestion::Repeats);
    }
    if lost_indentation(&new_lines, replaced) {
        return Err(NoSuggestion::Indentation);
    }
    Ok(())
}

/// Prefix of every masked secret in a report.
const MASKED: &str = "[redacted";

/// Applies the replacement of an issue to its file at the head, with the line ends of the replaced
/// lines. The error completes the sentence "crh does not apply the fix: …".
pub fn apply_replacement(issue: &Issue, file: &str) -> Result<String, &'static str> {
    let text = issue.replacement.as_ref().map(|text| text.replace("\r\n", "\n"));
    let issue = &Issue { replacement: text, ..issue.clone() };
    let (first, last) = (issue.location.line_start, issue.location.line_end);
    let point =
        |line| DiffPoint { side: Side::New, line, numbers: (line, line), kind: LineKind::Added };
    let anchor = Anchor {
        path: issue.location.file.clone(),
        old_path: None,
        end: point(last),
        start: (first < last).then(|| point(first)),
    };
    let without_return = |line: &str| line.strip_suffix('\r').unwrap_or(line).to_owned();
    let lines: Vec<String> = file.split('\n').map(without_return).collect();
    check_suggestion(issue, &anchor, Some(&lines)).map_err(NoSuggestion::words)?;
    let text = issue.replacement.as_deref().unwrap_or_default();
    if text.contains(MASKED) {
        return Err("its replacement contains a hidden credential");
    }
    let index = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let lines: Vec<&str> = file.split('\n').collect();
    let (replaced, after) = (&lines[index(first) - 1..index(last)], &lines[index(last)..]);
    let has_return = |line: Option<&&str>| line.is_some_and(|line| line.ends_with('\r'));
    // The last line of a file may have no line end of its own.
    let sample = if after.is_empty() { lines.first() } else { replaced.first() };
    let between = if has_return(sample) { "\r\n" } else { "\n" };
    let middle: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let end = if has_return(replaced.last()) { "\r" } else { "" };
    let middle = format!("{}{end}", middle.join(between));
    let all = lines[..index(first) - 1].iter().copied().chain([middle.as_str()]);
    Ok(all.chain(after.iter().copied()).collect::<Vec<_>>().join("\n"))
}

impl NoSuggestion {
    fn words(self) -> &'static str {
        match self {
            Self::NoReplacement => "the report contains no code for this fix",
            Self::Empty => "its replacement is empty",
            Self::OtherLines => "it is about removed lines",
            Self::Changed => "its lines are not as they were reviewed",
            Self::Same => "its replacement changes nothing",
            Self::Brackets => "its replacement opens or closes other brackets",
            Self::Repeats => "its replacement repeats a neighbouring line",
            Self::Indentation => "its replacement lost the indentation",
            Self::Unsafe => "its replacement contains characters that comments cannot show",
            Self::LineEnds => "its lines end in CRLF",
        }
    }
}

/// The lines from `first` to `last`, with the lines above and below.
fn split_around(
    head: &[String],
    first: u32,
    last: u32,
) -> Option<(Option<&String>, &[String], Option<&String>)> {
    let (first, last) = (usize::try_from(first).ok()?, usize::try_from(last).ok()?);
    let replaced = head.get(first.checked_sub(1)?..last)?;
    let above = first.checked_sub(2).and_then(|index| head.get(index));
    (!replaced.is_empty()).then(|| (above, replaced, head.get(last)))
}

/// Whether the quotes from the new side of the file still match.
fn quotes_match(issue: &Issue, head: &[String]) -> bool {
    let is_from_new_side =
        |quote: &&crh_review::Quote| quote.file == issue.location.file && quote.side == Side::New;
    issue.evidence.iter().filter(is_from_new_side).all(|quote| {
        let start = usize::try_from(quote.line).unwrap_or(usize::MAX).saturating_sub(1);
        let lines = quote.snippet.lines().filter(|line| !line.trim().is_empty());
        let mut head_lines = head.iter().skip(start).filter(|line| !line.trim().is_empty());
        lines
            .into_iter()
            .all(|line| head_lines.next().is_some_and(|head_line| is_quoted(line, head_line)))
    })
}

/// Compares a quoted line with a file line, ignoring the amount of white space and a diff sign
/// before the quote.
fn is_quoted(quoted: &str, line: &str) -> bool {
    let single_spaced = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = single_spaced(line);
    let without_sign = quoted.strip_prefix(['+', ' ']).map(single_spaced);
    single_spaced(quoted) == line || without_sign.is_some_and(|quoted| quoted == line)
}

/// Brackets without a partner in these lines, in order.
fn open_brackets<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<char> {
    let mut unmatched: Vec<char> = Vec::new();
    for char in lines.flat_map(str::chars) {
        let partner = match char {
            '(' | '[' | '{' => None,
            ')' => Some('('),
            ']' => Some('['),
            '}' => Some('{'),
            _ => continue,
        };
        if partner.is_some() && unmatched.last().copied() == partner {
            unmatched.pop();
        } else {
            unmatched.push(char);
        }
    }
    unmatched
}

/// Whether the new text repeats a neighbouring line that the old text did not.
fn repeats_neighbour(
    neighbour: Option<&String>,
    new_line: Option<&&str>,
    replaced_line: Option<&String>,
) -> bool {
    let Some(neighbour) = neighbour.map(|line| line.trim()).filter(|line| !line.is_empty()) else {
        return false;
    };
    new_line.is_some_and(|line| line.trim() == neighbour)
        && replaced_line.is_none_or(|line| line.trim() != neighbour)
}

/// Whether the replaced lines are indented and the new text is not.
fn lost_indentation(new_lines: &[&str], replaced: &[String]) -> bool {
    let is_indented = |line: &str| line.starts_with([' ', '\t']);
    let mut non_empty = replaced.iter().filter(|line| !line.trim().is_empty()).peekable();
    let was_indented = non_empty.peek().is_some() && non_empty.all(|line| is_indented(line));
    was_indented
        && new_lines
            .iter()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| !is_indented(line))
}

#[cfg(test)]
mod tests;
