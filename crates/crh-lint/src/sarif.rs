//! Imports findings of other tools from SARIF 2.1.0 files. Results that are new in a change become
//! findings.
//!
//! SARIF files are untrusted. crh reads only known fields, within limits. Of the paths that they
//! name, it opens only those of the reviewed tree.

mod fix;
mod location;
mod log;
mod text;

use std::collections::{BTreeMap, HashSet};

use location::LocationResolver;
pub use log::SarifReadError;
use log::{SarifLog, ToolRun};

use crate::findings::{FINDINGS_MAX, FindingDraft};
use crate::secrets::CredentialMask;
use crate::whitespace::fold_whitespace;
use crate::{ChangeView, ChangedFile, Project, StaticFinding, source};
use crh_review::finding::{Category, Confidence, Severity, Side};

/// Other tools are usually right but sometimes noisy. So their confidence is above the display
/// threshold and below that of crh's own measured rules.
const CONFIDENCE: Confidence = Confidence::thousandths(800);

/// A parsed SARIF file.
#[derive(Debug, Clone)]
pub struct SarifFile(SarifLog);

/// The results of one tool for a change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SarifToolOutput {
    /// The tool's name in lower-case letters, digits and dashes; prefix of its rule ids.
    pub tool: String,
    /// New findings, by file and line, at most `FINDINGS_MAX` unless a whole tree is reviewed. The
    /// caller may show fewer.
    pub findings: Vec<StaticFinding>,
    /// Findings that the SARIF file marks as suppressed, each with the reason.
    pub suppressed: Vec<(StaticFinding, String)>,
    /// Notes for the report: what was left out, and why.
    pub notes: Vec<String>,
}

/// How results that the change introduces are told from older ones.
#[derive(Debug, Clone, Copy)]
pub enum SarifComparison<'a> {
    /// SARIF files of the base. A result that they contain is not new.
    BaseFiles(&'a [SarifFile]),
    /// There are no SARIF files of the base, so only results on added lines are new.
    AddedLines,
    /// The change is a whole tree, so every result is new.
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
    comparison: SarifComparison<'_>,
    change: &ChangeView<'_>,
) -> Vec<SarifToolOutput> {
    let mut by_tool: BTreeMap<String, SarifToolOutput> = BTreeMap::new();
    let runs = files.iter().flat_map(|file| &file.0.runs);
    let Some(project) = change.project else {
        for run in runs {
            let notes = vec!["nothing was imported: only the diff is available".to_owned()];
            let output = SarifToolOutput { tool: run.slug(), notes, ..SarifToolOutput::default() };
            by_tool.insert(output.tool.clone(), output);
        }
        return by_tool.into_values().collect();
    };
    let baseline = SarifBaseline::new(comparison, project, change);
    let mask = CredentialMask::for_change(change);
    for run in runs {
        let slug = run.slug();
        let output = by_tool.entry(slug.clone()).or_default();
        output.tool = slug;
        import_run(run, &baseline, &mask, project, change, output);
    }
    by_tool.into_values().map(|output| sort_and_limit(output, comparison)).collect()
}

enum SarifBaseline {
    Known(KnownResults),
    AddedLines,
    Nothing,
}

/// Results of the base in files that the change touches. The keys contain the rule, the path (only
/// in `by_file`) and the line with folded white space.
#[derive(Default)]
struct KnownResults {
    by_file: HashSet<(String, String, String)>,
    by_line: HashSet<(String, String)>,
}

impl SarifBaseline {
    fn new(
        comparison: SarifComparison<'_>,
        project: &dyn Project,
        change: &ChangeView<'_>,
    ) -> Self {
        let files = match comparison {
            SarifComparison::AddedLines => return Self::AddedLines,
            SarifComparison::Everything => return Self::Nothing,
            SarifComparison::BaseFiles(files) => files,
        };
        let mut known = KnownResults::default();
        let changed_paths: HashSet<&str> =
            change.all_files.iter().filter_map(|it| it.in_diff().old_path.as_deref()).collect();
        let mut texts = LineCache::new(project, Side::Old);
        for run in files.iter().flat_map(|file| &file.0.runs) {
            let resolver = LocationResolver::new(run, project.paths(Side::Old).unwrap_or_default());
            for result in &run.results {
                let Some((path, line, _)) = resolver.locate(result) else { continue };
                if changed_paths.contains(path.as_str()) {
                    let line = fold_whitespace(texts.line(&path, line));
                    known.by_line.insert((run.rule_id(result), line.clone()));
                    known.by_file.insert((run.rule_id(result), path, line));
                }
            }
        }
        Self::Known(known)
    }

    fn contains(
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
                // The result is old if the change moved its line and the base has a result of the
                // same rule for that text.
                let moved_key = (rule.clone(), folded.clone());
                let is_moved =
                    known.by_line.contains(&moved_key) && change.is_moved_line(&file.path, number);
                let same_file_key = file.old_path.clone().map(|path| (rule, path, folded));
                is_moved
                    || same_file_key
                        .is_some_and(|same_file_key| known.by_file.contains(&same_file_key))
            }
        }
    }
}

/// The texts of one side with the offsets of their lines. Each file is read once.
struct LineCache<'a> {
    project: &'a dyn Project,
    side: Side,
    texts: BTreeMap<String, (String, Vec<usize>)>,
}

impl<'a> LineCache<'a> {
    fn new(project: &'a dyn Project, side: Side) -> Self {
        Self { project, side, texts: BTreeMap::new() }
    }

    fn text(&mut self, path: &str) -> &(String, Vec<usize>) {
        let (project, side) = (self.project, self.side);
        self.texts.entry(path.to_owned()).or_insert_with(|| {
            let bytes = project.file(side, path).ok().flatten().unwrap_or_default();
            let text = source::text(bytes).unwrap_or_default();
            let starts = std::iter::once(0)
                .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
            let starts = starts.collect();
            (text, starts)
        })
    }

    /// Whether a file has this line. The text after the last newline is a line only if it is not
    /// empty.
    fn has_line(&mut self, path: &str, number: u32) -> bool {
        let (text, starts) = self.text(path);
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        starts.get(index).is_some_and(|start| *start < text.len())
    }

    fn last_line_number(&mut self, path: &str) -> u32 {
        let (text, starts) = self.text(path);
        let lines = starts.iter().filter(|start| **start < text.len()).count();
        u32::try_from(lines).unwrap_or(u32::MAX)
    }

    fn line(&mut self, path: &str, number: u32) -> &str {
        let (text, starts) = self.text(path);
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let Some(start) = starts.get(index) else { return "" };
        let end = starts.get(index + 1).map_or(text.len(), |end| end - 1);
        text.get(*start..end).unwrap_or_default().trim_end_matches('\r')
    }
}

fn import_run(
    run: &ToolRun,
    baseline: &SarifBaseline,
    mask: &CredentialMask,
    project: &dyn Project,
    change: &ChangeView<'_>,
    output: &mut SarifToolOutput,
) {
    let files: BTreeMap<&str, &ChangedFile> =
        change.files.iter().filter_map(|file| file.new_path().map(|path| (path, file))).collect();
    let paths = match project.paths(Side::New) {
        Ok(paths) => paths,
        Err(why) => return output.notes.push(format!("nothing was imported: {why}")),
    };
    let resolver = LocationResolver::new(run, paths);
    let mut texts = LineCache::new(project, Side::New);
    let (mut unplaced_count, mut known_count) = (0_usize, 0_usize);
    for result in run.results.iter().filter(|result| result.is_problem()) {
        let Some((path, line, end)) = resolver.locate(result) else {
            unplaced_count += 1;
            continue;
        };
        let Some(file) = files.get(path.as_str()) else { continue };
        if !texts.has_line(&path, line) {
            unplaced_count += 1;
            continue;
        }
        let rule = run.rule_id(result);
        let text = texts.line(&path, line).to_owned();
        if baseline.contains(&rule, change, file, (line, &text)) {
            known_count += 1;
            continue;
        }
        let end = end.min(texts.last_line_number(&path));
        let (text, starts) = (text, texts.text(&path));
        let replacement = fix::replacement(run, result, &resolver, &path, (line, end), starts);
        let replacement = replacement.filter(|text| !mask.matches(text));
        let finding_text = text::finding_text(run, result, &|text| mask.apply(text));
        let rating = (severity(run, result), category(run, result), CONFIDENCE);
        let draft = FindingDraft::with_rating(rule, rating, &path, line, &mask.apply(&text))
            .with_text(finding_text.title, finding_text.why, finding_text.fix);
        let finding = FindingDraft { end: Some(end), replacement, ..draft }.into_finding();
        match result.suppression_reason() {
            Some(why) => output.suppressed.push((finding, why)),
            None => output.findings.push(finding),
        }
    }
    let results =
        |count: usize| if count == 1 { "1 result".to_owned() } else { format!("{count} results") };
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    if known_count > 0 && matches!(baseline, SarifBaseline::AddedLines) {
        output.notes.push(format!(
            "{} on lines that this change does not add {} left out; pass `--sarif-base FILE` to compare with the base",
            results(known_count),
            are(known_count)
        ));
    }
    if run.results_over_limit > 0 {
        output
            .notes
            .push(format!("{} more results in the file were not read", run.results_over_limit));
    }
    let malformed = run.malformed_results;
    if malformed > 0 {
        let (results, are) = (results(malformed), are(malformed));
        output.notes.push(format!("{results} in the file {are} malformed and left out"));
    }
    if unplaced_count > 0 {
        output.notes.push(format!(
            "{} {} no line in a file of the reviewed tree and {} left out",
            results(unplaced_count),
            if unplaced_count == 1 { "has" } else { "have" },
            are(unplaced_count)
        ));
    }
}

/// A numeric security severity takes precedence over the level. Its limits are those of CVSS for
/// critical, high and medium.
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

fn sort_and_limit(mut output: SarifToolOutput, comparison: SarifComparison<'_>) -> SarifToolOutput {
    let max_findings = match comparison {
        SarifComparison::Everything => usize::MAX,
        SarifComparison::BaseFiles(_) | SarifComparison::AddedLines => FINDINGS_MAX,
    };
    let omitted_count = dedup_and_limit(&mut output.findings, max_findings, |it| it);
    if omitted_count > 0 {
        output.notes.push(format!("{omitted_count} more findings are not listed"));
    }
    let omitted_count = dedup_and_limit(&mut output.suppressed, max_findings, |(it, _)| it);
    if omitted_count > 0 {
        output.notes.push(format!("{omitted_count} more suppressed results are not listed"));
    }
    output
}

/// Sorts and deduplicates the entries, and keeps the `max_entries` most severe. Returns how many
/// entries are dropped.
fn dedup_and_limit<T: PartialEq>(
    entries: &mut Vec<T>,
    max_entries: usize,
    finding_of: fn(&T) -> &StaticFinding,
) -> usize {
    let sort_key = |entry: &T| {
        let StaticFinding { rule, finding } = finding_of(entry);
        (finding.file.clone(), finding.line_start, rule.clone(), finding.title.clone())
    };
    entries.sort_by_cached_key(sort_key);
    entries.dedup();
    let omitted_count = entries.len().saturating_sub(max_entries);
    if omitted_count > 0 {
        entries.sort_by_key(|entry| finding_of(entry).finding.severity);
        entries.truncate(max_entries);
        entries.sort_by_cached_key(sort_key);
    }
    omitted_count
}

#[cfg(test)]
mod tests;
