//! Compares the diagnostics of both sides of the change and limits how many are listed.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::diagnostic::{Diagnostic, SideDiagnostics};
use crate::findings::FindingDraft;
use crate::secrets::CredentialMask;
use crate::suppress::IgnoreComments;
use crate::whitespace::fold_whitespace;
use crate::{ChangeView, ChangedFile, Project, paths};
use crh_review::finding::Side;

/// Limit per analyser for findings, and for findings that an ignore comment covers. The most severe
/// are kept. If there are more, they are mostly in generated code.
const FINDINGS_MAX: usize = 50;
/// Limit per analyser for diagnostics that are checked against ignore comments. Further ones count
/// as not ignored.
const IGNORE_CHECKS_MAX: usize = 2_000;

/// Old paths needed to tell whether a diagnostic is new: those of files with diagnostics, of files
/// that cannot be parsed, and of files from which the change removes the text of a line with a
/// diagnostic.
pub(super) fn origin_paths(
    change: &ChangeView<'_>,
    checked: &[&ChangedFile],
    after: &SideDiagnostics,
    texts: &mut SourceCache<'_>,
) -> Result<Vec<String>, String> {
    let diagnostics = &after.diagnostics;
    let reported_paths: BTreeSet<&str> = diagnostics
        .iter()
        .map(|diagnostic| diagnostic.path.as_str())
        .chain(after.unparsed_files.iter().map(String::as_str))
        .collect();
    let mut lines = HashSet::new();
    for diagnostic in diagnostics {
        lines.insert(fold_whitespace(texts.line(Side::New, &diagnostic.path, diagnostic.line)?));
    }
    let files_with_diagnostics =
        checked.iter().filter(|file| reported_paths.contains(file.path.as_str()));
    let files_with_moved_lines = change
        .all_files
        .iter()
        .filter(|file| removed_lines(file).any(|line| lines.contains(&line)));
    let paths = files_with_diagnostics
        .copied()
        .chain(files_with_moved_lines)
        .filter_map(|file| old_path(file));
    let mut seen = HashSet::new();
    Ok(paths.filter(|path| seen.insert(*path)).map(str::to_owned).collect())
}

fn old_path(file: &ChangedFile) -> Option<&str> {
    file.old_path.as_deref().or(file.is_deleted.then_some(file.path.as_str()))
}

fn removed_lines(file: &ChangedFile) -> impl Iterator<Item = String> {
    file.removed.iter().map(|line| fold_whitespace(&String::from_utf8_lossy(line)))
}

/// Files that the analyser cannot parse after the change, without samples ([`paths::is_in_use`])
/// and without files that it could not parse before the change either.
pub(super) fn newly_unparsed_files(
    checked: &[&ChangedFile],
    after: &SideDiagnostics,
    before: &SideDiagnostics,
) -> Vec<String> {
    let is_newly_unparsed = |file: &&&ChangedFile| {
        paths::is_in_use(&file.path)
            && after.unparsed_files.contains(&file.path)
            && !old_path(file).is_some_and(|path| before.unparsed_files.contains(path))
    };
    checked.iter().filter(is_newly_unparsed).map(|file| file.path.clone()).collect()
}

/// Which diagnostics can be new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiagnosticScope {
    /// Diagnostics in changed files.
    ChangedFiles,
    /// Also diagnostics in files that the change does not touch, such as callers. The analyser must
    /// have checked the whole project on both sides.
    Project,
}

/// Returns the diagnostics that the change introduces. A diagnostic is old if the analyser reported
/// its rule before the change on a line with the same text (ignoring white space), either in the
/// same file or on a line that the change removes from any file. A line that moves from a sample to
/// code in use is new. If the old file could not be checked, only diagnostics on added lines are
/// new. Drops diagnostics on blank lines and in changed files that are not under review.
pub(super) fn new_diagnostics(
    change: &ChangeView<'_>,
    after: Vec<Diagnostic>,
    old_side: &SideDiagnostics,
    scope: DiagnosticScope,
    texts: &mut SourceCache<'_>,
) -> Result<Vec<Diagnostic>, String> {
    let old_and_new_path =
        |file: &'_ ChangedFile| Some((old_path(file)?.to_owned(), file.path.clone()));
    let new_paths: BTreeMap<String, String> =
        change.files.iter().filter_map(old_and_new_path).collect();
    let reported_paths: BTreeSet<&str> =
        old_side.diagnostics.iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    let files_by_old_path =
        change.all_files.iter().filter_map(|file| Some((old_path(file)?, file)));
    let removed_by_path: BTreeMap<&str, HashSet<String>> = files_by_old_path
        .filter(|(path, _)| reported_paths.contains(path))
        .map(|(path, file)| (path, removed_lines(file).collect()))
        .collect();
    let (mut known_lines, mut moved_lines) = (BTreeSet::new(), BTreeSet::new());
    for diagnostic in &old_side.diagnostics {
        let line = fold_whitespace(texts.line(Side::Old, &diagnostic.path, diagnostic.line)?);
        if removed_by_path
            .get(diagnostic.path.as_str())
            .is_some_and(|removed| removed.contains(&line))
        {
            let is_in_use = paths::is_in_use(&diagnostic.path);
            moved_lines.insert((diagnostic.rule.clone(), line.clone(), is_in_use));
        }
        let path = new_paths.get(&diagnostic.path).unwrap_or(&diagnostic.path);
        known_lines.insert((path.clone(), diagnostic.rule.clone(), line));
    }
    let unchecked_paths: BTreeSet<&str> = old_side
        .unread_files
        .iter()
        .chain(&old_side.failed_files)
        .map(|(path, _)| path)
        .chain(&old_side.unparsed_files)
        .map(String::as_str)
        .collect();
    let files: BTreeMap<&str, &ChangedFile> =
        change.files.iter().map(|file| (file.path.as_str(), file)).collect();
    // A line that moves from a test, fixture, example or document to code in use is new.
    let was_moved = |diagnostic: &Diagnostic, line: String| {
        let origins: &[bool] =
            if paths::is_in_use(&diagnostic.path) { &[true] } else { &[true, false] };
        let key = |is_in_use: &bool| (diagnostic.rule.clone(), line.clone(), *is_in_use);
        origins.iter().any(|is_in_use| moved_lines.contains(&key(is_in_use)))
    };
    let mut introduced_diagnostics = Vec::new();
    for diagnostic in after {
        let file = files.get(diagnostic.path.as_str());
        let is_untouched = || change.all_files.iter().all(|file| file.path != diagnostic.path);
        if file.is_none() && (scope == DiagnosticScope::ChangedFiles || !is_untouched()) {
            continue;
        }
        let line = fold_whitespace(texts.line(Side::New, &diagnostic.path, diagnostic.line)?);
        let old_side_is_unknown =
            file.and_then(|file| old_path(file)).is_some_and(|path| unchecked_paths.contains(path));
        let is_new = !line.is_empty()
            && !known_lines.contains(&(
                diagnostic.path.clone(),
                diagnostic.rule.clone(),
                line.clone(),
            ))
            && !was_moved(&diagnostic, line)
            && (!old_side_is_unknown || file.is_some_and(|file| file.adds(diagnostic.line)));
        if is_new {
            introduced_diagnostics.push(diagnostic);
        }
    }
    Ok(introduced_diagnostics)
}

pub(super) struct LimitedFindings {
    /// Sorted by file and line.
    pub(super) findings: Vec<FindingDraft>,
    /// How many findings are left out.
    omitted: usize,
}

impl LimitedFindings {
    pub(super) fn note(&self) -> Option<String> {
        let more = self.omitted;
        let findings = if more == 1 { "finding is" } else { "findings are" };
        (more > 0).then(|| format!("{more} more {findings} not listed"))
    }
}

/// Turns the most severe diagnostics into findings. Merges diagnostics with the same rule and
/// message in one file. Diagnostics that an ignore comment covers are never merged and have their
/// own limit, so that one comment cannot hide findings on other lines.
pub(super) fn limit(
    analyser: &str,
    mut diagnostics: Vec<Diagnostic>,
    texts: &mut SourceCache<'_>,
    mask: &CredentialMask,
) -> Result<LimitedFindings, String> {
    diagnostics.sort_by(|one, two| {
        let key = |it: &'_ Diagnostic| (it.severity, it.path.clone(), it.line, it.rule.clone());
        key(one).cmp(&key(two))
    });
    let (mut findings, mut ignored_findings): (Vec<FindingDraft>, Vec<FindingDraft>) =
        (Vec::new(), Vec::new());
    let mut duplicate_counts: BTreeMap<(String, String, String), (usize, usize)> = BTreeMap::new();
    let mut omitted_count = 0_usize;
    for (index, diagnostic) in diagnostics.into_iter().enumerate() {
        let rule = format!("{analyser}/{}", diagnostic.rule);
        let is_ignored = index < IGNORE_CHECKS_MAX
            && texts.is_ignored(&diagnostic.path, &rule, diagnostic.line)?;
        let key = (diagnostic.path.clone(), rule, diagnostic.message.clone());
        if let Some((_, more)) = duplicate_counts.get_mut(&key).filter(|_| !is_ignored) {
            *more += 1;
            continue;
        }
        let list = if is_ignored { &mut ignored_findings } else { &mut findings };
        if list.len() == FINDINGS_MAX {
            omitted_count += 1;
            continue;
        }
        let line = mask.apply(texts.line(Side::New, &diagnostic.path, diagnostic.line)?);
        list.push(diagnostic.into_draft(analyser, &line));
        if !is_ignored {
            duplicate_counts.insert(key, (findings.len() - 1, 0));
        }
    }
    for (index, more) in duplicate_counts.into_values().filter(|(_, more)| *more > 0) {
        let lines = if more == 1 { "1 more line".to_owned() } else { format!("{more} more lines") };
        if let Some(finding) = findings.get_mut(index) {
            finding.why += &format!(" The same applies to {lines} of this file.");
        }
    }
    findings.append(&mut ignored_findings);
    findings.sort_by(|one, two| {
        (&one.file, one.line, &one.rule).cmp(&(&two.file, two.line, &two.rule))
    });
    Ok(LimitedFindings { findings, omitted: omitted_count })
}

/// File contents and ignore comments, each read once.
pub(super) struct SourceCache<'p> {
    project: &'p dyn Project,
    lines: BTreeMap<(bool, String), Vec<String>>,
    ignores: BTreeMap<String, IgnoreComments>,
}

impl<'p> SourceCache<'p> {
    pub(super) fn new(project: &'p dyn Project) -> Self {
        Self { project, lines: BTreeMap::new(), ignores: BTreeMap::new() }
    }

    /// Returns a line (1-based) without its line end; an empty string if the file lacks the line.
    pub(super) fn line(&mut self, side: Side, path: &str, number: u32) -> Result<&str, String> {
        let key = (side == Side::New, path.to_owned());
        if !self.lines.contains_key(&key) {
            let bytes = self.project.file(side, path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            self.lines.insert(key.clone(), text.lines().map(str::to_owned).collect());
        }
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        Ok(self.lines.get(&key).and_then(|lines| lines.get(index)).map_or("", String::as_str))
    }

    /// Whether an ignore comment in the new text covers a rule on a line.
    fn is_ignored(&mut self, path: &str, rule: &str, line: u32) -> Result<bool, String> {
        if !self.ignores.contains_key(path) {
            let bytes = self.project.file(Side::New, path)?.unwrap_or_default();
            let ignores = IgnoreComments::read(path, &String::from_utf8_lossy(&bytes));
            self.ignores.insert(path.to_owned(), ignores);
        }
        let ignores = self.ignores.get(path);
        Ok(ignores.is_some_and(|it| it.suppression_for(rule, line, line).is_some()))
    }
}
