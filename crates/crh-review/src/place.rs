//! Puts a finding where its evidence is: steps 1 to 3 of the way from findings to issues.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::shape_problems;
use crate::diff::{LineKind, LineMap, MappedLine};
use crate::evidence::{Cited, Found, Needle, Quotable, Sources, distance};
use crate::finding::{Confidence, Member, Origin, Proof, Side};
use crate::protect::asks_to_remove_protected;
use crate::report::Fate;

/// A quote farther from the cited line than this was cited carelessly.
const FAR: u32 = 40;
/// What a careless citation costs.
const FAR_COST: Confidence = Confidence::thousandths(250);
/// As much of a quote as a reason needs to be recognised.
const QUOTE_SHOWN: usize = 60;
/// How far from a changed line trouble can still be about the change.
const NEAR: u32 = 10;

/// How close an issue is to the change.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// On an added or removed line.
    Primary,
    /// In a changed function, or within ten lines of a change.
    Secondary,
    /// Elsewhere: it was there before.
    PreExisting,
}

/// Lines of a file on one side.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Location {
    /// Path from the repository root, after the change.
    pub file: String,
    /// Which side the lines count on.
    pub side: Side,
    /// First line.
    pub line_start: u32,
    /// Last line.
    pub line_end: u32,
}

/// A quote that code has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Quote {
    /// The file it was found in.
    pub file: String,
    /// The side it was found on.
    pub side: Side,
    /// The line at which it was found to start.
    pub line: u32,
    /// The quoted text.
    pub snippet: String,
}

/// A finding at the place where its evidence is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) member: Member,
    pub(crate) location: Location,
    /// The line that was cited, if the evidence is elsewhere.
    pub(crate) relocated_from: Option<u32>,
    pub(crate) evidence: Vec<Quote>,
    pub(crate) tier: Tier,
    /// As returned, less what a careless citation costs.
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

impl Placed {
    /// The line on which the first quote from the finding's own file was found.
    pub(crate) fn evidence_line(&self) -> Option<u32> {
        self.evidence.iter().find(|quote| quote.file == self.location.file).map(|quote| quote.line)
    }
}

/// What became of a finding that was to be placed.
pub(crate) enum Placement {
    At(Placed),
    Nowhere(Member, Unplaced),
}

/// Why a finding could not be placed.
#[derive(Debug)]
pub(crate) struct Unplaced {
    pub(crate) fate: Fate,
    pub(crate) reason: String,
}

/// Places findings; keeps what it has prepared of each file for the next.
pub(crate) struct Placer<'a> {
    sources: &'a Sources,
    files: HashMap<String, CitedFile>,
    // By the file's place in the diff.
    maps: BTreeMap<usize, LineMap>,
}

/// What is known of a file that some finding cites.
pub(crate) struct CitedFile {
    pub(crate) quotable: Quotable,
    changed: Changed,
}

/// The changed lines of a file, sorted.
#[derive(Debug, Default)]
struct Changed {
    removed: Vec<u32>,
    added: Vec<u32>,
    /// Lines next to a change of either kind, counted in the old and in the new file.
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

    /// What is known of a file, by its current path.
    pub(crate) fn file(&mut self, path: &str) -> &CitedFile {
        let sources = self.sources;
        if !self.files.contains_key(path) {
            let quotable = Quotable::of(sources, path);
            let file = CitedFile { quotable, changed: Changed::of(sources, path) };
            self.files.insert(path.to_owned(), file);
        }
        &self.files[path]
    }

    /// Checks a finding's shape and evidence and puts it at the place of its evidence.
    pub(crate) fn place(&mut self, member: Member) -> Placement {
        match self.try_place(&member) {
            Ok((location, relocated_from, evidence, confidence)) => {
                let tier = self.tier(&member, &location, &evidence);
                let placed =
                    Placed { member, location, relocated_from, evidence, tier, confidence };
                Placement::At(placed)
            }
            Err(unplaced) => Placement::Nowhere(member, unplaced),
        }
    }

    fn try_place(
        &mut self,
        member: &Member,
    ) -> Result<(Location, Option<u32>, Vec<Quote>, Confidence), Unplaced> {
        let problems = shape_problems(member);
        if !problems.is_empty() {
            return Err(Unplaced { fate: Fate::Malformed, reason: problems.join("; ") });
        }
        if member.origin == Origin::Model && asks_to_remove_protected(&member.finding) {
            let reason = "asks to remove a protected document".to_owned();
            return Err(Unplaced { fate: Fate::ProtectedPath, reason });
        }
        let cited = self.cited_location(member)?;
        let confidence = member.finding.confidence;
        if member.origin == Origin::Code {
            let evidence = self.quotes_of_code(member, &cited);
            return Ok((cited, None, evidence, confidence));
        }
        if member.proof == Proof::CitedLine {
            let quote = self.cited_line(&cited)?;
            return Ok((cited, None, vec![quote], confidence));
        }
        let evidence = self.found_quotes(member, &cited)?;
        Ok(relocated(cited, confidence, evidence))
    }

    /// Where a finding says it is, in lines of a file.
    fn cited_location(&mut self, member: &Member) -> Result<Location, Unplaced> {
        let finding = &member.finding;
        let file = self.sources.current_path(&finding.file);
        let Some(number) = finding.diff_line else {
            // The shape was checked: without `diff_line` there is a `line_start`.
            let line_start = finding.line_start.map_or(1, NonZeroU32::get);
            let line_end = finding.line_end.map_or(line_start, NonZeroU32::get);
            let side = finding.side.unwrap_or_default();
            return Ok(Location { file, side, line_start, line_end });
        };
        let malformed = |reason| Unplaced { fate: Fate::Malformed, reason };
        let (cited, line) = self.mapped(number.get()).ok_or_else(|| {
            malformed(format!("`diff_line` {number} is not a line inside a hunk of the diff"))
        })?;
        if cited != file {
            return Err(malformed(format!(
                "`diff_line` {number} is in `{cited}`, not in `{file}`"
            )));
        }
        let (side, line) = line.side();
        Ok(Location { file, side, line_start: line, line_end: line })
    }

    /// The file and the place of a line of the diff.
    fn mapped(&mut self, number: u32) -> Option<(String, MappedLine)> {
        let diff = self.sources.diff();
        let at = diff.file_at(number)?;
        let map = self.maps.entry(at).or_insert_with(|| diff.line_map(&diff.files()[at]));
        let line = *map.get(number)?;
        Some((diff.files()[at].path.shown().into_owned(), line))
    }

    /// Finds every quote of a finding, or says which one is nowhere.
    fn found_quotes(
        &mut self,
        member: &Member,
        cited: &Location,
    ) -> Result<Vec<(Quote, Found)>, Unplaced> {
        let mut quotes = Vec::new();
        for (at, piece) in member.finding.evidence.iter().enumerate() {
            let file = piece.file.as_deref().unwrap_or(&cited.file);
            let file = self.sources.current_path(file);
            let side = piece.side.unwrap_or(cited.side);
            // The first quote is of the cited line; the others are of their own.
            let near = match piece.line {
                Some(line) if at > 0 || file != cited.file => {
                    Cited { side, first: line.get(), last: line.get() }
                }
                Some(_) | None => Cited { side, first: cited.line_start, last: cited.line_end },
            };
            let needle = Needle::new(&piece.snippet).ok_or_else(|| {
                unsupported("the quote is too short to prove anything".to_owned())
            })?;
            let Some(found) = self.file(&file).quotable.find(&needle, near) else {
                return Err(unsupported(self.nowhere(&file, side, &piece.snippet)));
            };
            let snippet = piece.snippet.trim_matches(['\n', '\r']).to_owned();
            quotes.push((Quote { file, side: found.side, line: found.first, snippet }, found));
        }
        if !quotes.iter().any(|(quote, _)| quote.file == cited.file) {
            return Err(unsupported(format!("no quote is from `{}`", cited.file)));
        }
        Ok(quotes)
    }

    fn nowhere(&self, file: &str, side: Side, snippet: &str) -> String {
        let quote: String = snippet.trim().chars().take(QUOTE_SHOWN).collect();
        let quote = quote.replace('\n', " ");
        if self.sources.knows(side, file) {
            format!("the quote `{quote}` is not in `{file}`")
        } else {
            format!("the quote `{quote}` is from `{file}`, which is not part of the review")
        }
    }

    /// A program's quotes are kept as they are; without one, the line it points at is quoted.
    fn quotes_of_code(&mut self, member: &Member, cited: &Location) -> Vec<Quote> {
        if member.finding.evidence.is_empty() {
            return self.cited_line(cited).into_iter().collect();
        }
        member
            .finding
            .evidence
            .iter()
            .map(|piece| Quote {
                file: piece.file.clone().unwrap_or_else(|| cited.file.clone()),
                side: piece.side.unwrap_or(cited.side),
                line: piece.line.map_or(cited.line_start, NonZeroU32::get),
                snippet: piece.snippet.clone(),
            })
            .collect()
    }

    fn cited_line(&mut self, cited: &Location) -> Result<Quote, Unplaced> {
        let file = self.file(&cited.file);
        let text = file.quotable.line(cited.side, cited.line_start).ok_or_else(|| {
            unsupported(format!(
                "line {} of `{}` is neither in the diff nor in the file",
                cited.line_start, cited.file
            ))
        })?;
        if text.is_empty() {
            return Err(unsupported(format!(
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
        let here = evidence.iter().find(|quote| quote.file == location.file);
        // The last line is only claimed; what is quoted was found.
        if here.is_some_and(|quote| self.is_changed(quote)) {
            return Tier::Primary;
        }
        let start = location.line_start;
        let changed = &self.file(&location.file).changed;
        let (exact, near) = match location.side {
            Side::Old => (&changed.removed, &changed.near_old),
            Side::New => (&changed.added, &changed.near_new),
        };
        if any_within(exact, start, start) {
            return Tier::Primary;
        }
        let symbol = sources.symbol(location.side, &location.file, start);
        let in_changed_symbol = symbol.is_some_and(|span| any_within(near, span.start, span.end));
        let is_near = any_within(near, start.saturating_sub(NEAR), start.saturating_add(NEAR));
        // A program knows what the change did to a place that the change did not touch.
        if in_changed_symbol || is_near || member.origin == Origin::Code {
            return Tier::Secondary;
        }
        if evidence.iter().any(|quote| self.is_changed(quote)) {
            return Tier::Secondary;
        }
        Tier::PreExisting
    }

    fn is_changed(&mut self, quote: &Quote) -> bool {
        let lines = u32::try_from(quote.snippet.lines().count().max(1)).unwrap_or(u32::MAX);
        let changed = &self.file(&quote.file).changed;
        let exact = match quote.side {
            Side::Old => &changed.removed,
            Side::New => &changed.added,
        };
        any_within(exact, quote.line, quote.line.saturating_add(lines - 1))
    }
}

fn unsupported(reason: String) -> Unplaced {
    Unplaced { fate: Fate::Unsupported, reason }
}

/// Moves a finding to where the first quote from its own file was found, unless that is among the cited lines.
fn relocated(
    cited: Location,
    confidence: Confidence,
    quotes: Vec<(Quote, Found)>,
) -> (Location, Option<u32>, Vec<Quote>, Confidence) {
    let found = quotes.iter().find(|(quote, _)| quote.file == cited.file).map(|(_, found)| *found);
    let evidence = quotes.into_iter().map(|(quote, _)| quote).collect();
    let Some(found) = found else { return (cited, None, evidence, confidence) };
    let lines = Cited { side: cited.side, first: cited.line_start, last: cited.line_end };
    if found.is_among(lines) {
        return (cited, None, evidence, confidence);
    }
    let length = cited.line_end - cited.line_start;
    let location = Location {
        side: found.side,
        line_start: found.first,
        line_end: found.first.saturating_add(length),
        file: cited.file,
    };
    // Lines of two sides do not compare: a removed line may stand far from its number in the new file.
    let is_far = found.side == lines.side && distance(found, lines) > FAR;
    let confidence = if is_far { confidence.lowered(FAR_COST) } else { confidence };
    (location, Some(cited.line_start), evidence, confidence)
}

/// Whether a sorted list has a number between two others, both included.
fn any_within(sorted: &[u32], first: u32, last: u32) -> bool {
    let at = sorted.partition_point(|line| *line < first);
    sorted.get(at).is_some_and(|line| *line <= last)
}

impl Changed {
    fn of(sources: &Sources, path: &str) -> Self {
        let mut changed = Self::default();
        for hunk in sources.hunks(path) {
            // A line that is missing on one side is next to the line that follows there.
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
