//! Imports findings of other tools from SARIF 2.1.0 files: results that are new in a change become
//! findings.
//!
//! SARIF files are untrusted: only known fields are read, with limits, and no path in them is
//! opened.

mod fix;
mod location;
mod log;
mod text;

use std::collections::{BTreeMap, HashSet};

use aho_corasick::{AhoCorasick, MatchKind};
use location::LocationResolver;
pub use log::SarifReadError;
use log::{SarifLog, ToolRun};
use text::FindingText;

use crate::findings::{FINDINGS_MAX, FindingDraft};
use crate::whitespace::fold_whitespace;
use crate::{ChangeView, ChangedFile, Project, StaticFinding, secrets, source};
use crh_review::finding::{Category, Confidence, Owner, Severity, Side};

/// Other tools are usually right but sometimes noisy: above the display threshold, below measured
/// rules.
const CONFIDENCE: Confidence = Confidence::thousandths(800);
/// Replacement for a masked credential.
const MASK: &str = "****";

/// A parsed SARIF file.
#[derive(Debug, Clone)]
pub struct SarifFile(SarifLog);

/// The results of one tool for a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SarifToolOutput {
    /// The tool's name in lower-case letters, digits and dashes; prefix of its rule ids.
    pub tool: String,
    /// New findings, by file and line. The caller limits how many are shown.
    pub findings: Vec<StaticFinding>,
    /// Findings that the file marks as suppressed, each with the reason.
    pub suppressed: Vec<(StaticFinding, String)>,
    /// Notes for the report: what was left out, and why.
    pub notes: Vec<String>,
}

/// How new results are told from old ones.
#[derive(Debug, Clone, Copy)]
pub enum SarifComparison<'a> {
    /// Results for the base: they are not new.
    BaseFiles(&'a [SarifFile]),
    /// No base results: only results on added lines count.
    AddedLines,
    /// The change is a whole tree: everything counts.
    Everything,
}

impl SarifFile {
    /// Parses a file.
    pub fn read(bytes: &[u8]) -> Result<Self, SarifReadError> {
        SarifLog::read(bytes).map(Self)
    }
}

/// Imports the results for a change, grouped by tool.
pub fn review(
    files: &[SarifFile],
    compared: SarifComparison<'_>,
    change: &ChangeView<'_>,
) -> Vec<SarifToolOutput> {
    let mut by_tool: BTreeMap<String, SarifToolOutput> = BTreeMap::new();
    let runs = files.iter().flat_map(|file| &file.0.runs);
    let Some(project) = change.project else {
        return runs
            .map(ToolRun::slug)
            .map(|tool| SarifToolOutput {
                tool,
                notes: vec!["nothing was imported: only the diff is available".to_owned()],
                ..SarifToolOutput::default()
            })
            .map(|row| (row.tool.clone(), row))
            .collect::<BTreeMap<_, _>>()
            .into_values()
            .collect();
    };
    let before = SarifBaseline::new(compared, project, change);
    let masked = CredentialMask::for_change(change);
    for run in runs {
        let slug = run.slug();
        let row = by_tool.entry(slug.clone()).or_default();
        row.tool = slug;
        import_run(run, &before, &masked, project, change, row);
    }
    by_tool.into_values().map(|row| sort_and_limit(row, compared)).collect()
}

/// Masks the credentials that the change adds: a tool may quote them.
struct CredentialMask(Option<AhoCorasick>);

impl CredentialMask {
    fn for_change(change: &ChangeView<'_>) -> Self {
        let values = secrets::values(change.all_files);
        // Longest match first: one value may be the prefix of another.
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

enum SarifBaseline {
    Known(KnownResults),
    AddedLines,
    Nothing,
}

/// Results before the change, by rule and normalized line.
#[derive(Default)]
struct KnownResults {
    in_files: HashSet<(String, String, String)>,
    anywhere: HashSet<(String, String)>,
}

impl SarifBaseline {
    fn new(compared: SarifComparison<'_>, project: &dyn Project, change: &ChangeView<'_>) -> Self {
        let files = match compared {
            SarifComparison::AddedLines => return Self::AddedLines,
            SarifComparison::Everything => return Self::Nothing,
            SarifComparison::BaseFiles(files) => files,
        };
        let mut known = KnownResults::default();
        let wanted: HashSet<&str> =
            change.all_files.iter().filter_map(|it| it.old_path.as_deref()).collect();
        let mut texts = LineCache::new(project, Side::Old);
        for run in files.iter().flat_map(|file| &file.0.runs) {
            let places = LocationResolver::new(run, project.paths(Side::Old).unwrap_or_default());
            for result in &run.results {
                let Some((path, line, _)) = places.locate(result) else { continue };
                if wanted.contains(path.as_str()) {
                    let line = fold_whitespace(texts.line(&path, line));
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
        change: &ChangeView<'_>,
        file: &ChangedFile,
        (number, line): (u32, &str),
    ) -> bool {
        match self {
            Self::Nothing => false,
            Self::AddedLines => !file.adds(number),
            Self::Known(known) => {
                let (rule, folded) = (rule.to_owned(), fold_whitespace(line));
                // A line is moved if the change removes it elsewhere and the tool reported it
                // there.
                let moved = (rule.clone(), folded.clone());
                let is_moved =
                    known.anywhere.contains(&moved) && change.has_moved(&file.path, number);
                let here = file.old_path.clone().map(|path| (rule, path, folded));
                is_moved || here.is_some_and(|here| known.in_files.contains(&here))
            }
        }
    }
}

/// The texts of one side, each read once.
struct LineCache<'a> {
    project: &'a dyn Project,
    side: Side,
    read: BTreeMap<String, (String, Vec<usize>)>,
}

impl<'a> LineCache<'a> {
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

    /// Whether a file has this line. Text after the last line end counts only if it is not empty.
    fn has(&mut self, path: &str, number: u32) -> bool {
        let (text, starts) = self.text(path);
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        starts.get(at).is_some_and(|start| *start < text.len())
    }

    /// The number of the last line.
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

/// Imports one run of a tool.
fn import_run(
    run: &ToolRun,
    before: &SarifBaseline,
    masked: &CredentialMask,
    project: &dyn Project,
    change: &ChangeView<'_>,
    row: &mut SarifToolOutput,
) {
    let files: BTreeMap<&str, &ChangedFile> =
        change.files.iter().filter_map(|file| file.new_path().map(|path| (path, file))).collect();
    let paths = match project.paths(Side::New) {
        Ok(paths) => paths,
        Err(why) => return row.notes.push(format!("nothing was imported: {why}")),
    };
    let places = LocationResolver::new(run, paths);
    let mut texts = LineCache::new(project, Side::New);
    let (mut unplaced, mut elsewhere) = (0_usize, 0_usize);
    for result in run.results.iter().filter(|result| result.is_problem()) {
        let Some((path, line, end)) = places.locate(result) else {
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
        let text_of_finding = text::finding_text(run, result, &|text| masked.text(text));
        let snippet = masked.text(text.trim_end());
        let found = FindingDraft {
            snippet,
            replacement,
            ..draft(run, result, rule, &path, text_of_finding)
        };
        let reported = FindingDraft { line, end: Some(end), ..found }.into_finding();
        match result.suppression_reason() {
            Some(why) => row.suppressed.push((reported, why)),
            None => row.findings.push(reported),
        }
    }
    if elsewhere > 0 && matches!(before, SarifBaseline::AddedLines) {
        let (s, are) = if elsewhere == 1 { ("", "is") } else { ("s", "are") };
        row.notes.push(format!(
            "{elsewhere} result{s} on lines that this change does not add {are} left out; pass `--sarif-base FILE` to compare with the base"
        ));
    }
    if run.more > 0 {
        row.notes.push(format!("{} more results in the file were not read", run.more));
    }
    if run.malformed > 0 {
        let (s, are) = if run.malformed == 1 { ("", "is") } else { ("s", "are") };
        row.notes
            .push(format!("{} result{s} in the file {are} malformed and left out", run.malformed));
    }
    if unplaced > 0 {
        let (s, have) = if unplaced == 1 { ("", "has") } else { ("s", "have") };
        row.notes.push(format!(
            "{unplaced} result{s} {have} no line in a file of the reviewed tree and {} left out",
            if unplaced == 1 { "is" } else { "are" }
        ));
    }
}

fn draft(
    run: &ToolRun,
    result: &log::SarifResult,
    rule: String,
    path: &str,
    said: FindingText,
) -> FindingDraft {
    FindingDraft {
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

/// A numeric security severity takes precedence over the level.
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

fn sort_and_limit(mut row: SarifToolOutput, compared: SarifComparison<'_>) -> SarifToolOutput {
    let most = match compared {
        SarifComparison::Everything => usize::MAX,
        SarifComparison::BaseFiles(_) | SarifComparison::AddedLines => FINDINGS_MAX,
    };
    let more = dedup_and_limit(&mut row.findings, most, |it| it);
    if more > 0 {
        row.notes.push(format!("{more} more findings are not listed"));
    }
    let more = dedup_and_limit(&mut row.suppressed, most, |(it, _)| it);
    if more > 0 {
        row.notes.push(format!("{more} more suppressed results are not listed"));
    }
    row
}

/// Sorts and deduplicates, and keeps the `most` most severe. Returns how many are left out.
fn dedup_and_limit<T: PartialEq>(
    rows: &mut Vec<T>,
    most: usize,
    reported: fn(&T) -> &StaticFinding,
) -> usize {
    let place = |row: &T| {
        let StaticFinding { rule, finding } = reported(row);
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
