//! Locates findings by their evidence (steps 1 to 3 of merging, see `docs/findings.md`).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::diff::{LineKind, LineMap, MappedLine};
use crate::evidence::{
    CitedLines, Needle, QuotableText, QuoteMatch, Sources, distance, without_line_numbers,
};
use crate::finding::{Confidence, Evidence, Member, Origin, Proof, Side};
use crate::protected_docs::asks_to_remove_protected;
use crate::report::Fate;
use crate::shape::{MAX_CITED_LINES, shape_problems};
use crate::width::truncate;

/// A quote that is more than this many lines away from the cited line lowers the confidence.
const FAR_LINES: u32 = 40;
/// Confidence that a finding loses if its quote is more than `FAR_LINES` away.
const FAR_PENALTY: Confidence = Confidence::thousandths(250);
/// Maximum characters of a quote in the reason for dropping a finding.
const MAX_QUOTE_CHARS: usize = 60;
/// Maximum characters of a similar line that crh shows to a reviewer.
const MAX_SIMILAR_CHARS: usize = 200;
/// Distance to a changed line within which an issue counts as part of the change.
const NEAR_LINES: u32 = 10;

/// Distance of an issue to the change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// On an added or removed line.
    Primary,
    /// In a changed function, or within ten lines of a change.
    Secondary,
    /// Elsewhere. A P2 or P3 there existed before.
    PreExisting,
}

/// Lines of a file on one side.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Location {
    /// Path from the repository root, after the change.
    pub file: String,
    /// Side of the lines.
    pub side: Side,
    /// First line.
    pub line_start: u32,
    /// Last line.
    pub line_end: u32,
}

/// A quote located in the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quote {
    /// File of the quote.
    pub file: String,
    /// Side of the quote.
    pub side: Side,
    /// First line of the quote.
    pub line: u32,
    /// The quoted text.
    pub snippet: String,
}

/// A finding at the location of its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlacedFinding {
    pub(crate) member: Member,
    pub(crate) location: Location,
    /// The cited line, if the evidence is elsewhere.
    pub(crate) relocated_from: Option<u32>,
    pub(crate) evidence: Vec<Quote>,
    pub(crate) tier: Tier,
    /// The claimed confidence, less the cost of a distant quote.
    pub(crate) confidence: Confidence,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line_start)?;
        match self.side {
            Side::Old => write!(f, " (removed)"),
            Side::New => Ok(()),
        }
    }
}

impl Location {
    /// Whether both locations have a line in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        (&self.file, self.side) == (&other.file, other.side)
            && self.line_start <= other.line_end
            && other.line_start <= self.line_end
    }
}

impl PlacedFinding {
    /// Line of the first quote from the finding's own file.
    pub(crate) fn evidence_line(&self) -> Option<u32> {
        self.evidence.iter().find(|quote| quote.file == self.location.file).map(|quote| quote.line)
    }
}

/// Result of placing a finding.
pub(crate) enum Placement {
    Placed(PlacedFinding),
    Unplaced(Member, PlacementError),
}

/// Why a finding could not be placed.
#[derive(Debug)]
pub(crate) struct PlacementError {
    pub(crate) fate: Fate,
    pub(crate) reason: String,
    /// The line that is most like a quote that was not found.
    pub(crate) similar_line: Option<String>,
}

/// The location that a finding cites.
pub(crate) struct CitedLocation {
    pub(crate) location: Location,
    /// How `diff_line` contradicts the other fields.
    pub(crate) conflict: Option<String>,
}

/// Whether the first quote of a finding was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstQuote {
    Found,
    Missing,
}

/// Places findings and caches the prepared files.
pub(crate) struct Placer<'a> {
    sources: &'a Sources,
    files: HashMap<String, CitedFile>,
    // Keyed by the index of the file in the diff.
    maps: BTreeMap<usize, LineMap>,
}

/// A file cited by at least one finding.
pub(crate) struct CitedFile {
    pub(crate) quotable_text: QuotableText,
    changed_lines: ChangedLines,
}

/// The changed lines of a file, sorted.
#[derive(Debug, Default)]
struct ChangedLines {
    removed: Vec<u32>,
    added: Vec<u32>,
    /// Lines next to a change, in old and in new numbering.
    near_old: Vec<u32>,
    near_new: Vec<u32>,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(sources: &'a Sources) -> Self {
        Self { sources, files: HashMap::new(), maps: BTreeMap::new() }
    }

    pub(crate) fn sources(&self) -> &'a Sources {
        self.sources
    }

    /// The prepared file with this current path.
    pub(crate) fn file(&mut self, path: &str) -> &CitedFile {
        let sources = self.sources;
        if !self.files.contains_key(path) {
            let quotable = QuotableText::from_sources(sources, path);
            let file = CitedFile {
                quotable_text: quotable,
                changed_lines: ChangedLines::from_hunks(sources, path),
            };
            self.files.insert(path.to_owned(), file);
        }
        &self.files[path]
    }

    /// Checks shape and evidence of a finding and locates it.
    pub(crate) fn place(&mut self, member: Member) -> Placement {
        match self.try_place(&member) {
            Ok((location, relocated_from, evidence, confidence)) => {
                let tier = self.tier(&member, &location, &evidence);
                let placed =
                    PlacedFinding { member, location, relocated_from, evidence, tier, confidence };
                Placement::Placed(placed)
            }
            Err(unplaced) => Placement::Unplaced(member, unplaced),
        }
    }

    pub(crate) fn try_place(
        &mut self,
        member: &Member,
    ) -> Result<(Location, Option<u32>, Vec<Quote>, Confidence), PlacementError> {
        let problems = shape_problems(member);
        if !problems.is_empty() {
            return Err(PlacementError::new(Fate::Malformed, problems.join("; ")));
        }
        if member.origin == Origin::Model && asks_to_remove_protected(&member.finding) {
            let reason = "asks to remove a protected document".to_owned();
            return Err(PlacementError::new(Fate::ProtectedPath, reason));
        }
        let cited = self.cited_location(member)?.location;
        let confidence = member.finding.confidence;
        if member.origin != Origin::Model {
            let evidence = self.static_check_quotes(member, &cited);
            return Ok((cited, None, evidence, confidence));
        }
        if member.proof == Proof::CitedLine {
            let quote = self.quote_cited_line(&cited)?;
            return Ok((cited, None, vec![quote], confidence));
        }
        let (evidence, first_quote) = self.find_quotes(member, &cited)?;
        // A changed line that a finding cites is a better place than its second quote.
        if first_quote == FirstQuote::Missing && self.is_changed_line(&cited) {
            let quotes = evidence.into_iter().map(|(quote, _)| quote).collect();
            return Ok((cited, None, quotes, confidence));
        }
        Ok(relocate(cited, confidence, evidence))
    }

    /// The location that a finding cites. A `diff_line` in the cited file decides; cited lines
    /// around it are kept. Otherwise the cited lines count.
    pub(crate) fn cited_location(
        &mut self,
        member: &Member,
    ) -> Result<CitedLocation, PlacementError> {
        let finding = &member.finding;
        let file = self.sources.current_path(&finding.file);
        let stated_lines = finding.line_start.map(NonZeroU32::get).map(|first| {
            let last = finding.line_end.map_or(first, NonZeroU32::get);
            (first, last.clamp(first, first.saturating_add(MAX_CITED_LINES - 1)))
        });
        let location = |side, (line_start, line_end)| Location {
            file: file.clone(),
            side,
            line_start,
            line_end,
        };
        let stated_side = finding.side.unwrap_or_default();
        let Some(number) = finding.diff_line else {
            // `shape_problems` has checked that a finding without `diff_line` has a `line_start`.
            let location = location(stated_side, stated_lines.unwrap_or((1, 1)));
            return Ok(CitedLocation { location, conflict: None });
        };
        let problem = match self.locate_diff_line(number.get()) {
            Some((cited_file, line)) if cited_file == file => {
                let (side, line) = line.side();
                let is_same_side = finding.side.is_none_or(|stated| stated == side);
                return Ok(match stated_lines {
                    Some((first, last)) if is_same_side && (first..=last).contains(&line) => {
                        CitedLocation { location: location(side, (first, last)), conflict: None }
                    }
                    Some(stated) => {
                        let location = location(side, (line, line));
                        let stated = Location {
                            line_start: stated.0,
                            side: stated_side,
                            ..location.clone()
                        };
                        let conflict = format!(
                            "`diff_line` {number} is {location}, but the finding also cites {stated}; crh uses `diff_line`"
                        );
                        CitedLocation { location, conflict: Some(conflict) }
                    }
                    None => {
                        CitedLocation { location: location(side, (line, line)), conflict: None }
                    }
                });
            }
            Some((cited_file, _)) => {
                format!("`diff_line` {number} is in `{cited_file}`, not in `{file}`")
            }
            None => format!("`diff_line` {number} is not a line inside a hunk of the diff"),
        };
        match stated_lines {
            Some(stated) => {
                let location = location(stated_side, stated);
                let conflict = Some(format!("{problem}; crh uses {location}"));
                Ok(CitedLocation { location, conflict })
            }
            None => Err(PlacementError::new(Fate::Malformed, problem)),
        }
    }

    /// File and position of a line of the diff.
    fn locate_diff_line(&mut self, number: u32) -> Option<(String, MappedLine)> {
        let diff = self.sources.diff();
        let file_index = diff.file_at(number)?;
        let map =
            self.maps.entry(file_index).or_insert_with(|| diff.line_map(&diff.files()[file_index]));
        let line = *map.get(number)?;
        Some((diff.files()[file_index].path.shown().into_owned(), line))
    }

    /// Finds the quotes of a finding. At least one from its own file must be found; others may be
    /// missing. The error names the first missing one.
    fn find_quotes(
        &mut self,
        member: &Member,
        cited: &Location,
    ) -> Result<(Vec<(Quote, QuoteMatch)>, FirstQuote), PlacementError> {
        let mut quotes = Vec::new();
        let mut first_quote = FirstQuote::Found;
        let mut first_error = None;
        for (index, evidence) in member.finding.evidence.iter().enumerate() {
            match self.find_quote(index, evidence, cited) {
                Ok(found) => quotes.push(found),
                Err(error) => {
                    if index == 0 {
                        first_quote = FirstQuote::Missing;
                    }
                    first_error.get_or_insert(error);
                }
            }
        }
        if quotes.iter().any(|(quote, _)| quote.file == cited.file) {
            return Ok((quotes, first_quote));
        }
        Err(first_error
            .unwrap_or_else(|| unsupported_error(format!("no quote is from `{}`", cited.file))))
    }

    /// Finds one quote, by its index in the evidence.
    fn find_quote(
        &mut self,
        index: usize,
        evidence: &Evidence,
        cited: &Location,
    ) -> Result<(Quote, QuoteMatch), PlacementError> {
        let file = evidence.file.as_deref().unwrap_or(&cited.file);
        let file = self.sources.current_path(file);
        let side = evidence.side.unwrap_or(cited.side);
        let finding_lines = CitedLines { side, first: cited.line_start, last: cited.line_end };
        let own_line =
            evidence.line.map(|line| CitedLines { side, first: line.get(), last: line.get() });
        // Search for the first quote near the cited line, and for the others near the line that
        // they name.
        let cited_lines = match own_line {
            Some(own_line) if index > 0 || file != cited.file => own_line,
            Some(_) | None => finding_lines,
        };
        let snippet = &evidence.snippet;
        let quotable = &self.file(&file).quotable_text;
        let search = |snippet: &str| {
            Needle::new(snippet)
                .and_then(|needle| quotable.find(&needle, cited_lines))
                .or_else(|| quotable.find_whole_line(snippet, cited_lines))
                .or_else(|| quotable.find_whole_line(snippet, own_line?))
        };
        let search_unnumbered = || {
            let code = without_line_numbers(snippet)?;
            // Line numbers are copied with whole lines. A number may also be a part of the code.
            let is_whole = |found: &QuoteMatch| quotable.starts_whole_line(*found, &code);
            let quote_match = search(&code).filter(is_whole)?;
            Some((code, quote_match))
        };
        let searched = search(snippet).map(|quote_match| (snippet.clone(), quote_match));
        if let Some((snippet, quote_match)) = searched.or_else(search_unnumbered) {
            let snippet = snippet.trim_matches(['\n', '\r']).to_owned();
            let (side, line) = (quote_match.side, quote_match.first);
            return Ok((Quote { file, side, line, snippet }, quote_match));
        }
        let near_line = own_line.unwrap_or(cited_lines).first;
        let similar_line = quotable.most_similar_line(snippet, side, near_line);
        let similar_line = similar_line.map(|(line, text)| {
            format!("line {line} of `{file}` is `{}`", truncate(text, MAX_SIMILAR_CHARS))
        });
        let reason = match Needle::new(snippet) {
            Some(_) => self.missing_quote_reason(&file, side, snippet),
            None => format!(
                "the quote `{}` is too short: quote the whole cited line, or at least 8 visible characters",
                one_line_quote(snippet)
            ),
        };
        Err(PlacementError { similar_line, ..unsupported_error(reason) })
    }

    fn missing_quote_reason(&self, file: &str, side: Side, snippet: &str) -> String {
        let quote = one_line_quote(snippet);
        if self.sources.contains_file(side, file) {
            format!("the quote `{quote}` is not in `{file}`")
        } else {
            format!("the quote `{quote}` is from `{file}`, which is not part of the review")
        }
    }

    /// Keeps the quotes of a static check. Without one, quotes the cited line.
    fn static_check_quotes(&mut self, member: &Member, cited: &Location) -> Vec<Quote> {
        if member.finding.evidence.is_empty() {
            return self.quote_cited_line(cited).into_iter().collect();
        }
        member
            .finding
            .evidence
            .iter()
            .map(|evidence| Quote {
                file: evidence.file.clone().unwrap_or_else(|| cited.file.clone()),
                side: evidence.side.unwrap_or(cited.side),
                line: evidence.line.map_or(cited.line_start, NonZeroU32::get),
                snippet: evidence.snippet.clone(),
            })
            .collect()
    }

    fn quote_cited_line(&mut self, cited: &Location) -> Result<Quote, PlacementError> {
        let file = self.file(&cited.file);
        let text = file.quotable_text.line(cited.side, cited.line_start).ok_or_else(|| {
            unsupported_error(format!(
                "line {} of `{}` is neither in the diff nor in the file",
                cited.line_start, cited.file
            ))
        })?;
        if text.is_empty() {
            return Err(unsupported_error(format!(
                "line {} is empty: it proves nothing",
                cited.line_start
            )));
        }
        Ok(Quote {
            file: cited.file.clone(),
            side: cited.side,
            line: cited.line_start,
            snippet: text.to_owned(),
        })
    }

    fn tier(&mut self, member: &Member, location: &Location, evidence: &[Quote]) -> Tier {
        let sources = self.sources;
        let own_quote = evidence.iter().find(|quote| quote.file == location.file);
        // A changed line in the quote is enough, because the cited lines can be wrong.
        if own_quote.is_some_and(|quote| self.is_changed(quote)) {
            return Tier::Primary;
        }
        if self.is_changed_line(location) {
            return Tier::Primary;
        }
        let start = location.line_start;
        let changed = &self.file(&location.file).changed_lines;
        let near_numbers = match location.side {
            Side::Old => &changed.near_old,
            Side::New => &changed.near_new,
        };
        let symbol = sources.symbol(location.side, &location.file, start);
        let in_changed_symbol =
            symbol.is_some_and(|span| any_within(near_numbers, span.start, span.end));
        let is_near = any_within(
            near_numbers,
            start.saturating_sub(NEAR_LINES),
            start.saturating_add(NEAR_LINES),
        );
        // A static check or a plan may report an effect of the change on text outside the change.
        if in_changed_symbol || is_near || member.origin != Origin::Model {
            return Tier::Secondary;
        }
        if evidence.iter().any(|quote| self.is_changed(quote)) {
            return Tier::Secondary;
        }
        Tier::PreExisting
    }

    /// Whether a location starts on an added or removed line.
    fn is_changed_line(&mut self, location: &Location) -> bool {
        let changed_numbers = self.file(&location.file).changed_lines.on(location.side);
        any_within(changed_numbers, location.line_start, location.line_start)
    }

    fn is_changed(&mut self, quote: &Quote) -> bool {
        let lines = u32::try_from(quote.snippet.lines().count().max(1)).unwrap_or(u32::MAX);
        let changed_numbers = self.file(&quote.file).changed_lines.on(quote.side);
        any_within(changed_numbers, quote.line, quote.line.saturating_add(lines - 1))
    }
}

fn unsupported_error(reason: String) -> PlacementError {
    PlacementError::new(Fate::Unsupported, reason)
}

/// The beginning of a quote on one line.
fn one_line_quote(snippet: &str) -> String {
    let quote: String = snippet.trim().chars().take(MAX_QUOTE_CHARS).collect();
    quote.replace('\n', " ")
}

impl PlacementError {
    fn new(fate: Fate, reason: String) -> Self {
        Self { fate, reason, similar_line: None }
    }
}

/// Moves a finding to the first quote from its own file, unless the quote overlaps the cited lines.
fn relocate(
    cited: Location,
    confidence: Confidence,
    quotes: Vec<(Quote, QuoteMatch)>,
) -> (Location, Option<u32>, Vec<Quote>, Confidence) {
    let quote_match = quotes
        .iter()
        .find(|(quote, _)| quote.file == cited.file)
        .map(|(_, quote_match)| *quote_match);
    let evidence = quotes.into_iter().map(|(quote, _)| quote).collect();
    let Some(quote_match) = quote_match else { return (cited, None, evidence, confidence) };
    let cited_lines =
        CitedLines { side: cited.side, first: cited.line_start, last: cited.line_end };
    if quote_match.overlaps(cited_lines) {
        return (cited, None, evidence, confidence);
    }
    let length = cited.line_end - cited.line_start;
    let location = Location {
        side: quote_match.side,
        line_start: quote_match.first,
        line_end: quote_match.first.saturating_add(length),
        file: cited.file,
    };
    // Line numbers of different sides cannot be compared.
    let is_far =
        quote_match.side == cited_lines.side && distance(quote_match, cited_lines) > FAR_LINES;
    let confidence = if is_far { confidence.lowered(FAR_PENALTY) } else { confidence };
    (location, Some(cited.line_start), evidence, confidence)
}

/// Whether a sorted list has a number in `first..=last`.
fn any_within(sorted_lines: &[u32], first: u32, last: u32) -> bool {
    let index = sorted_lines.partition_point(|line| *line < first);
    sorted_lines.get(index).is_some_and(|line| *line <= last)
}

impl ChangedLines {
    /// The removed or the added lines.
    fn on(&self, side: Side) -> &[u32] {
        match side {
            Side::Old => &self.removed,
            Side::New => &self.added,
        }
    }

    fn from_hunks(sources: &Sources, path: &str) -> Self {
        let mut changed = Self::default();
        for hunk in sources.hunks(path) {
            // A line that exists on one side only is near the line that follows it on the other
            // side.
            let (mut next_old, mut next_new) = (hunk.old.start, hunk.new.start);
            for line in sources.diff().lines(hunk) {
                match line.kind {
                    LineKind::Removed => changed.removed.push(line.old),
                    LineKind::Added => changed.added.push(line.new),
                    LineKind::Context | LineKind::Remark => {}
                }
                if matches!(line.kind, LineKind::Removed | LineKind::Added) {
                    changed.near_old.push(next_old);
                    changed.near_new.push(next_new);
                }
                next_old = next_old.saturating_add(u32::from(line.kind.in_old()));
                next_new = next_new.saturating_add(u32::from(line.kind.in_new()));
            }
        }
        for lines in
            [&mut changed.removed, &mut changed.added, &mut changed.near_old, &mut changed.near_new]
        {
            lines.sort_unstable();
            lines.dedup();
        }
        changed
    }
}
