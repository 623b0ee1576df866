//! Findings of other tools, as SARIF 2.1.0 files bring them: what of it is new in a change becomes findings like ours.
//!
//! A file is data by a stranger: only what is known is read, within bounds, and no place in it is opened.

mod fix;
mod log;
#[path = "sarif/location.rs"]
mod place;
#[path = "sarif/text.rs"]
mod words;

use std::collections::{BTreeMap, HashSet};

use aho_corasick::{AhoCorasick, MatchKind};
pub use log::SarifError;
use log::{Log, ToolRun};
use place::Places;
use words::Words;

use crate::fold::folded;
use crate::found::{Found, RETURNED_MAX};
use crate::{Change, ChangedFile, Project, Reported, secrets, source};
use crh_review::finding::{Category, Confidence, Owner, Severity, Side};

/// Others' tools are often right and sometimes noisy: above the gate, below what is measured here.
const CONFIDENCE: Confidence = Confidence::thousandths(800);
/// What stands for a credential.
const MASK: &str = "****";

/// A SARIF file that was read.
#[derive(Debug, Clone)]
pub struct Sarif(Log);

/// What one tool says about a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolReturned {
    /// The tool's name, in small letters, digits and dashes: it stands before the slash of its rules.
    pub tool: String,
    /// What it found that is new, by file and line. Whoever lists it sets the most.
    pub findings: Vec<Reported>,
    /// What the file itself marks as suppressed, each with the reason.
    pub suppressed: Vec<(Reported, String)>,
    /// What the reader should know: what was left out, and why.
    pub notes: Vec<String>,
}

/// What is held against a change.
#[derive(Debug, Clone, Copy)]
pub enum Compared<'a> {
    /// Results of the text before the change: what is in them is not new.
    With(&'a [Sarif]),
    /// Nothing of that kind is there: only results on added lines count.
    WithAddedLines,
    /// The change is a whole tree: everything counts.
    WithNothing,
}

impl Sarif {
    /// Reads a file.
    pub fn read(bytes: &[u8]) -> Result<Self, SarifError> {
        Log::read(bytes).map(Self)
    }
}

/// What some files say about a change, one row for each tool.
pub fn review(files: &[Sarif], compared: Compared<'_>, change: &Change<'_>) -> Vec<ToolReturned> {
    let mut by_tool: BTreeMap<String, ToolReturned> = BTreeMap::new();
    let runs = files.iter().flat_map(|file| &file.0.runs);
    let Some(project) = change.project else {
        return runs
            .map(ToolRun::slug)
            .map(|tool| ToolReturned {
                tool,
                notes: vec!["nothing was taken over: the change is only a diff".to_owned()],
                ..ToolReturned::default()
            })
            .map(|row| (row.tool.clone(), row))
            .collect::<BTreeMap<_, _>>()
            .into_values()
            .collect();
    };
    let before = Before::of(compared, project, change);
    let masked = Masked::of(change);
    for run in runs {
        let slug = run.slug();
        let row = by_tool.entry(slug.clone()).or_default();
        row.tool = slug;
        take(run, &before, &masked, project, change, row);
    }
    by_tool.into_values().map(|row| finished(row, compared)).collect()
}

/// The credentials that the change adds: a tool that quotes a line quotes them too.
struct Masked(Option<AhoCorasick>);

impl Masked {
    fn of(change: &Change<'_>) -> Self {
        let values = secrets::values(change.all);
        // The longest first: one may be the beginning of another.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values);
        Self(search.ok().filter(|_| !values.is_empty()))
    }

    fn text(&self, text: &str) -> String {
        match &self.0 {
            Some(search) => {
                let mut out = String::new();
                search.replace_all_with(text, &mut out, |_, _, out| {
                    out.push_str(MASK);
                    true
                });
                out
            }
            None => text.to_owned(),
        }
    }

    fn is_in(&self, text: &str) -> bool {
        self.0.as_ref().is_some_and(|search| search.is_match(text))
    }
}

/// What was there before the change.
enum Before {
    Known(KnownBefore),
    AddedLines,
    Nothing,
}

/// What a tool said before the change, by its rule and the folded line.
#[derive(Default)]
struct KnownBefore {
    in_files: HashSet<(String, String, String)>,
    anywhere: HashSet<(String, String)>,
}

impl Before {
    fn of(compared: Compared<'_>, project: &dyn Project, change: &Change<'_>) -> Self {
        let files = match compared {
            Compared::WithAddedLines => return Self::AddedLines,
            Compared::WithNothing => return Self::Nothing,
            Compared::With(files) => files,
        };
        let mut known = KnownBefore::default();
        let wanted: HashSet<&str> =
            change.all.iter().filter_map(|it| it.before.as_deref()).collect();
        let mut texts = Texts::new(project, Side::Old);
        for run in files.iter().flat_map(|file| &file.0.runs) {
            let places = Places::new(run, project.paths(Side::Old).unwrap_or_default());
            for result in &run.results {
                let Some((path, line, _)) = places.of(result) else { continue };
                if wanted.contains(path.as_str()) {
                    let line = folded(texts.line(&path, line));
                    known.anywhere.insert((run.rule_id(result), line.clone()));
                    known.in_files.insert((run.rule_id(result), path, line));
                }
            }
        }
        Self::Known(known)
    }

    fn has(
        &self,
        rule: &str,
        change: &Change<'_>,
        file: &ChangedFile,
        (number, line): (u32, &str),
    ) -> bool {
        match self {
            Self::Nothing => false,
            Self::AddedLines => !file.adds(number),
            Self::Known(known) => {
                let (rule, folded) = (rule.to_owned(), folded(line));
                // A line moved if it was taken away somewhere, and the tool had said the same of it there.
                let moved = (rule.clone(), folded.clone());
                let is_moved =
                    known.anywhere.contains(&moved) && change.has_moved(&file.path, number);
                let here = file.before.clone().map(|path| (rule, path, folded));
                is_moved || here.is_some_and(|here| known.in_files.contains(&here))
            }
        }
    }
}

/// The texts of one side, each read once.
struct Texts<'a> {
    project: &'a dyn Project,
    side: Side,
    read: BTreeMap<String, (String, Vec<usize>)>,
}

impl<'a> Texts<'a> {
    fn new(project: &'a dyn Project, side: Side) -> Self {
        Self { project, side, read: BTreeMap::new() }
    }

    fn text(&mut self, path: &str) -> &(String, Vec<usize>) {
        let (project, side) = (self.project, self.side);
        self.read.entry(path.to_owned()).or_insert_with(|| {
            let bytes = project.file(side, path).ok().flatten().unwrap_or_default();
            let text = source::text(bytes).unwrap_or_default();
            let starts = std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
            let starts = starts.collect();
            (text, starts)
        })
    }

    /// Whether a file has such a line. What stands behind the last line end is one only if it is not empty.
    fn has(&mut self, path: &str, number: u32) -> bool {
        let (text, starts) = self.text(path);
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        starts.get(at).is_some_and(|start| *start < text.len())
    }

    /// The number of a file's last line.
    fn last(&mut self, path: &str) -> u32 {
        let (text, starts) = self.text(path);
        let lines = starts.iter().filter(|start| **start < text.len()).count();
        u32::try_from(lines).unwrap_or(u32::MAX)
    }

    fn line(&mut self, path: &str, number: u32) -> &str {
        let (text, starts) = self.text(path);
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let Some(start) = starts.get(at) else { return "" };
        let end = starts.get(at + 1).map_or(text.len(), |end| end - 1);
        text.get(*start..end).unwrap_or_default().trim_end_matches('\r')
    }
}

/// Takes over what one run of a tool says.
fn take(
    run: &ToolRun,
    before: &Before,
    masked: &Masked,
    project: &dyn Project,
    change: &Change<'_>,
    row: &mut ToolReturned,
) {
    let files: BTreeMap<&str, &ChangedFile> =
        change.files.iter().filter_map(|file| file.after().map(|path| (path, file))).collect();
    let paths = match project.paths(Side::New) {
        Ok(paths) => paths,
        Err(why) => return row.notes.push(format!("nothing was taken over: {why}")),
    };
    let places = Places::new(run, paths);
    let mut texts = Texts::new(project, Side::New);
    let (mut unplaced, mut elsewhere) = (0_usize, 0_usize);
    for result in run.results.iter().filter(|result| result.is_problem()) {
        let Some((path, line, end)) = places.of(result) else {
            unplaced += 1;
            continue;
        };
        let Some(file) = files.get(path.as_str()) else { continue };
        if !texts.has(&path, line) {
            unplaced += 1;
            continue;
        }
        let rule = run.rule_id(result);
        let text = texts.line(&path, line).to_owned();
        if before.has(&rule, change, file, (line, &text)) {
            elsewhere += 1;
            continue;
        }
        let end = end.min(texts.last(&path));
        let (text, starts) = (text, texts.text(&path));
        let replacement = fix::replacement(run, result, &places, &path, (line, end), starts);
        let replacement = replacement.filter(|text| !masked.is_in(text));
        let said = words::of(run, result, &|text| masked.text(text));
        let snippet = masked.text(text.trim_end());
        let found = Found { snippet, replacement, ..found(run, result, rule, &path, said) };
        let reported = Found { line, end: Some(end), ..found }.reported();
        match result.suppressed() {
            Some(why) => row.suppressed.push((reported, why)),
            None => row.findings.push(reported),
        }
    }
    if elsewhere > 0 && matches!(before, Before::AddedLines) {
        let (s, are) = if elsewhere == 1 { ("", "is") } else { ("s", "are") };
        row.notes.push(format!(
            "{elsewhere} result{s} on lines that this change does not add {are} left out: `--sarif-base FILE` tells what was there before"
        ));
    }
    if run.more > 0 {
        row.notes.push(format!("{} more results in the file were not read", run.more));
    }
    if run.malformed > 0 {
        let (s, are) = if run.malformed == 1 { ("", "is") } else { ("s", "are") };
        row.notes
            .push(format!("{} result{s} in the file {are} no SARIF and left out", run.malformed));
    }
    if unplaced > 0 {
        let (s, have) = if unplaced == 1 { ("", "has") } else { ("s", "have") };
        row.notes.push(format!(
            "{unplaced} result{s} {have} no line in a file of the reviewed tree and {} left out",
            if unplaced == 1 { "is" } else { "are" }
        ));
    }
}

fn found(run: &ToolRun, result: &log::SarifResult, rule: String, path: &str, said: Words) -> Found {
    Found {
        rule,
        file: path.to_owned(),
        line: 1,
        side: None,
        end: None,
        severity: severity(run, result),
        category: category(run, result),
        confidence: CONFIDENCE,
        title: said.title,
        why: said.why,
        owner: Owner::DownstreamResolver,
        fix: said.fix,
        replacement: None,
        snippet: String::new(),
        witnesses: Vec::new(),
        pre_existing: false,
    }
}

/// A number for how bad it is counts for more than a word.
fn severity(run: &ToolRun, result: &log::SarifResult) -> Severity {
    match (run.security_severity(result), run.level(result)) {
        (Some(score), _) if score >= 9.0 => Severity::P0,
        (Some(score), _) if score >= 7.0 => Severity::P1,
        (Some(score), _) if score >= 4.0 => Severity::P2,
        (Some(_), _) => Severity::P3,
        (None, "error") => Severity::P1,
        (None, "note" | "none") => Severity::P3,
        (None, _) => Severity::P2,
    }
}

fn category(run: &ToolRun, result: &log::SarifResult) -> Category {
    let tags = run.tags(result);
    let has = |tag: &str| tags.iter().any(|it| it.eq_ignore_ascii_case(tag));
    if run.security_severity(result).is_some() || has("security") {
        Category::Security
    } else if has("performance") || has("efficiency") {
        Category::Performance
    } else if has("maintainability") {
        Category::Maintainability
    } else if has("style") {
        Category::Style
    } else {
        Category::Bug
    }
}

/// Sorts and bounds what a tool says.
fn finished(mut row: ToolReturned, compared: Compared<'_>) -> ToolReturned {
    let most = match compared {
        Compared::WithNothing => usize::MAX,
        Compared::With(_) | Compared::WithAddedLines => RETURNED_MAX,
    };
    let more = listed(&mut row.findings, most, |it| it);
    if more > 0 {
        row.notes.push(format!("{more} more findings are in no list"));
    }
    let more = listed(&mut row.suppressed, most, |(it, _)| it);
    if more > 0 {
        row.notes.push(format!("{more} more results that the file suppresses are in no list"));
    }
    row
}

/// Each once and by file and line, the worst `most` of them. Says how many are left out.
fn listed<T: PartialEq>(rows: &mut Vec<T>, most: usize, reported: fn(&T) -> &Reported) -> usize {
    let place = |row: &T| {
        let Reported { rule, finding } = reported(row);
        (finding.file.clone(), finding.line_start, rule.clone(), finding.title.clone())
    };
    rows.sort_by_cached_key(place);
    rows.dedup();
    let more = rows.len().saturating_sub(most);
    if more > 0 {
        rows.sort_by_key(|row| reported(row).finding.severity);
        rows.truncate(most);
        rows.sort_by_cached_key(place);
    }
    more
}

#[cfg(test)]
mod tests;
