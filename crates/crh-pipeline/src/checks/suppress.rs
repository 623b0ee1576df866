//! Suppresses findings by ignore comments, settings or the baseline. Suppressed findings stay in
//! the report, with the reason.

use std::cell::RefCell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroU32;

use super::baseline::{BASELINE, Baseline, BaselineClaims, SECRETS_PREFIX};
use super::options::{ChangeAuthor, CheckOptions, IgnoredPaths, SuppressionOrigin};
use crate::assignment::SARIF;
use crate::runs::RunRecord;
use crate::text::one_line;
use crh_lint::{ChangedFile, IgnoreComments, InvalidIgnore, Project, name_matches_rule};
use crh_review::finding::{Finding, Member, Severity, Side};
use crh_review::report::{DropCause, DroppedFinding, Fate};
use crh_syntax::{Language, SyntaxTree};

/// Settings file of the repository.
const SETTINGS: &str = "crh.toml";
/// Maximum number of findings or places that a note names.
const SHOWN_PLACES_MAX: usize = 5;
/// Prefix of the names of rules that nothing can suppress.
const UNSUPPRESSABLE: &str = "injection/";

/// Maximum number of lines of a statement above and below its finding.
const STATEMENT_LINES_MAX: usize = 200;

/// Maximum number of lines that an ineffective `crh:ignore` may be above a finding. crh reports
/// only comments that are at least this near.
const INVALID_IGNORE_LINES_MAX: u32 = 3;

/// Part of the reason of a suppression that the change adds.
const ADDED_BY_CHANGE: &str = ", added by this change";
/// Part of the reason of a suppression by an old comment that did not cover this line before the
/// change.
const EXTENDED_BY_CHANGE: &str = ", for a line that it did not cover before this change";

struct SuppressionReason {
    reason: String,
    /// Place where the change adds or extends the suppression. None if it already suppressed the
    /// finding before the change.
    added_at: Option<String>,
}

/// Moves suppressed findings to the dropped ones.
pub(super) fn suppress(
    records: &mut [RunRecord],
    files: &[ChangedFile],
    project: Option<&dyn Project>,
    options: &CheckOptions,
) {
    let mut finding_files = FindingFiles::new(records, files, project);
    let old_baseline = previous_baseline(files, project);
    let mut claims = options
        .baseline
        .as_ref()
        .map(|baseline| BaselineClaims::new(baseline, old_baseline.as_ref()));
    for record in records.iter_mut() {
        let (mut silenced, mut refused_places) = (Vec::new(), Vec::new());
        let members = std::mem::take(&mut record.members);
        for member in members {
            match finding_files.suppression(&member, options, claims.as_mut()) {
                None => record.members.push(member),
                Some(SuppressionReason { added_at: Some(place), .. })
                    if !may_suppress_itself(&member, options.author) =>
                {
                    refused_places.push(place);
                    record.members.push(member);
                }
                Some(SuppressionReason { reason, added_at }) => {
                    let cause = added_at.as_ref().map(|_| DropCause::ByChange);
                    silenced.extend(
                        added_at
                            .map(|place| format!("{} ({place})", one_line(&member.finding.title))),
                    );
                    let dropped = dropped_as_suppressed(member, reason);
                    record.dropped.push(DroppedFinding { cause, ..dropped });
                }
            }
        }
        record.notes.extend(self_suppression_warning(silenced));
        record.notes.extend(refused_suppression_note(&refused_places));
    }
    for (index, note) in finding_files.invalid_ignore_notes(records) {
        if let Some(record) = records.get_mut(index) {
            record.notes.push(note);
        }
    }
}

/// The baseline before the change, if the change touches the baseline. An invalid baseline counts
/// as empty.
fn previous_baseline(files: &[ChangedFile], project: Option<&dyn Project>) -> Option<Baseline> {
    let file = files.iter().find(|file| file.path == BASELINE)?;
    let old_bytes =
        file.old_path.as_ref().and_then(|path| project?.file(Side::Old, path).ok().flatten());
    Some(old_bytes.and_then(|bytes| Baseline::parse(&bytes).ok()).unwrap_or_default())
}

pub(super) fn dropped_as_suppressed(member: Member, reason: String) -> DroppedFinding {
    DroppedFinding::new(member, Fate::Suppressed, reason)
}

/// Whether a change may suppress a finding about itself. A stranger's change must not hide a P0, a
/// P1 or a credential. A fix must not hide anything.
fn may_suppress_itself(member: &Member, author: ChangeAuthor) -> bool {
    let is_secret = || member.rule.as_deref().is_some_and(|rule| rule.starts_with(SECRETS_PREFIX));
    match author {
        ChangeAuthor::Trusted => true,
        ChangeAuthor::Stranger => member.finding.severity > Severity::P1 && !is_secret(),
        ChangeAuthor::Fixer => false,
    }
}

/// A warning that names the findings that the change suppresses about itself.
fn self_suppression_warning(mut findings: Vec<String>) -> Option<String> {
    let finding_count = findings.len();
    let s = if finding_count == 1 { "" } else { "s" };
    let omitted = findings.len().saturating_sub(SHOWN_PLACES_MAX);
    let rest_text = if omitted > 0 { format!(" and {omitted} more") } else { String::new() };
    findings.truncate(SHOWN_PLACES_MAX);
    (finding_count > 0).then(|| {
        format!(
            "this change suppresses {finding_count} finding{s} about itself: {}{rest_text}",
            findings.join(", ")
        )
    })
}

/// A note on the suppressions that the change adds and that crh does not accept.
fn refused_suppression_note(places: &[String]) -> Option<String> {
    let places: BTreeSet<&str> = places.iter().map(String::as_str).collect();
    let shown: Vec<&str> = places.iter().copied().take(SHOWN_PLACES_MAX).collect();
    let omitted = places.len() - shown.len();
    let rest_text = if omitted > 0 { format!(" and {omitted} more") } else { String::new() };
    (!places.is_empty()).then(|| {
        format!(
            "ignored the suppression at {}{rest_text}: in a change from a fork or by an author without write access, it cannot hide a P0, a P1 or a credential",
            shown.join(", ")
        )
    })
}

/// Files with findings, each read once.
struct FindingFiles<'a> {
    by_path: BTreeMap<&'a str, &'a ChangedFile>,
    texts: BTreeMap<String, FileText>,
    /// The same files before the change.
    old_texts: BTreeMap<String, FileText>,
    suppressed_before: BTreeMap<SuppressedText, SuppressedPlaces>,
    rules: BTreeSet<String>,
}

/// Lines of a file and its ignore comments.
#[derive(Default)]
struct FileText {
    lines: Vec<String>,
    /// Number of brackets that each line opens, minus those that it closes. Empty without ignore
    /// comments.
    open_brackets: Vec<i64>,
    ignores: IgnoreComments,
    /// Line numbers by the text of the line, without indentation. Empty without ignore comments.
    numbers: BTreeMap<String, Vec<u32>>,
    /// Cached hashes of the statements around places, by first and last line of the place. Without
    /// the cache, many places with the same text would be slow.
    statement_hashes: RefCell<BTreeMap<(u32, u32), Option<u64>>>,
}

/// A rule and the statement that it reports.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SuppressedText {
    file: String,
    rule: String,
    /// First line of the finding, without indentation.
    first_line: String,
    /// Lines of the statement, without indentation.
    statement: Vec<String>,
    /// Number of lines of the finding after its first one.
    length: u32,
}

/// Places with the same text that ignore comments cover.
#[derive(Debug)]
struct SuppressedPlaces {
    /// Number of places before the change.
    old_count: usize,
    /// Maximum number of these places that the change may have moved. Unchanged lines did not move.
    moved_max: usize,
    /// First lines of moved places after the change.
    moved: BTreeSet<u32>,
}

impl FileText {
    fn new(path: &str, bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut file_text = Self {
            ignores: IgnoreComments::read(path, &text),
            lines: text.lines().map(str::to_owned).collect(),
            open_brackets: Vec::new(),
            numbers: BTreeMap::new(),
            statement_hashes: RefCell::default(),
        };
        if !file_text.ignores.is_empty() {
            for (number, line) in (1_u32..).zip(&file_text.lines) {
                file_text.numbers.entry(line.trim().to_owned()).or_default().push(number);
            }
            file_text.open_brackets = open_brackets(path, &text, &file_text.lines);
        }
        file_text
    }

    /// First line of a finding, and all lines of the statement around it, without indentation. A
    /// change of any line of the statement can cause the finding.
    fn statement(&self, (first, last): (u32, u32)) -> Option<(&str, Vec<&str>)> {
        let index = |number: u32| usize::try_from(number).ok()?.checked_sub(1);
        let (first, last) = (index(first)?, index(last.max(first))?);
        let (first_line, _) = (self.lines.get(first)?, self.lines.get(last)?);
        let open_in = |line: usize| self.open_brackets.get(line).copied().unwrap_or_default();
        let mut start = first;
        let mut open = 0;
        for above in (first.saturating_sub(STATEMENT_LINES_MAX)..first).rev() {
            open += open_in(above);
            if open > 0 {
                (start, open) = (above, 0);
            }
        }
        let indentation = |line: &str| line.len() - line.trim_start().len();
        let mut open: i64 = (start..=last).map(open_in).sum();
        let below = self.lines.iter().enumerate().skip(last + 1).take(STATEMENT_LINES_MAX);
        let count = below.take_while(|(index, line)| {
            let is_inside = open > 0
                || line.trim().is_empty()
                || indentation(line) > indentation(first_line)
                || line.trim_start().starts_with([')', ']', '}']);
            open += open_in(*index);
            is_inside
        });
        let end = last + count.count();
        let lines = self.lines[start..=end].iter().map(|line| line.trim());
        Some((first_line.trim(), lines.filter(|line| !line.is_empty()).collect()))
    }

    fn statement_hash(&self, place: (u32, u32)) -> Option<u64> {
        let compute = || self.statement(place).map(|(_, lines)| hash_of(lines.into_iter()));
        *self.statement_hashes.borrow_mut().entry(place).or_insert_with(compute)
    }

    /// Number of places with this text where a comment suppresses the rule.
    fn suppressed_count(&self, text: &SuppressedText) -> usize {
        let numbers = self.numbers.get(&text.first_line).into_iter().flatten();
        let places = numbers.map(|first| (*first, first.saturating_add(text.length)));
        let wanted_hash = hash_of(text.statement.iter().map(String::as_str));
        let is_same = |place| self.statement_hash(place) == Some(wanted_hash);
        let same = places.filter(|place| is_same(*place));
        let is_suppressed = |(first, last): &(u32, u32)| {
            self.ignores.suppression_for(&text.rule, *first, *last).is_some()
        };
        same.filter(is_suppressed).count()
    }
}

fn hash_of<'a>(lines: impl Iterator<Item = &'a str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    lines.for_each(|line| line.hash(&mut hasher));
    hasher.finish()
}

impl<'a> FindingFiles<'a> {
    fn new(records: &[RunRecord], files: &'a [ChangedFile], project: Option<&dyn Project>) -> Self {
        let by_path: BTreeMap<&str, &ChangedFile> =
            files.iter().map(|file| (file.path.as_str(), file)).collect();
        let (mut texts, mut old_texts) = (BTreeMap::new(), BTreeMap::new());
        let read = |side: Side, path: &str| {
            let bytes = project.and_then(|project| project.file(side, path).ok().flatten());
            bytes.map(|bytes| FileText::new(path, &bytes)).unwrap_or_default()
        };
        let members = || records.iter().flat_map(|record| &record.members);
        for Member { finding, .. } in members() {
            let path = &finding.file;
            if texts.contains_key(path) {
                continue;
            }
            let text = read(Side::New, path);
            let old_path = match by_path.get(path.as_str()) {
                Some(file) => file.old_path.as_deref(),
                None => Some(path.as_str()),
            };
            if let Some(old_path) = old_path.filter(|_| !text.ignores.is_empty()) {
                old_texts.insert(path.clone(), read(Side::Old, old_path));
            }
            texts.insert(path.clone(), text);
        }
        let rules = members().filter_map(|member| member.rule.clone()).collect();
        Self { by_path, texts, old_texts, suppressed_before: BTreeMap::new(), rules }
    }

    fn suppression(
        &mut self,
        member: &Member,
        options: &CheckOptions,
        claims: Option<&mut BaselineClaims>,
    ) -> Option<SuppressionReason> {
        let rule = member.rule.as_deref().filter(|rule| !rule.starts_with(UNSUPPRESSABLE))?;
        let finding = &member.finding;
        let by_comment = self.by_comment(rule, finding);
        let by_setting = || {
            let setting = options.ignore.iter().find(|row| row.matches(rule, &finding.file))?;
            let reason = format!("`checks.ignore` has `{}` for this file", setting.rules);
            Some(SuppressionReason::from_file(reason, setting.origin, SETTINGS))
        };
        let in_baseline = || {
            let line = self.line(finding);
            let file = self.by_path.get(finding.file.as_str());
            let old_path = file.and_then(|file| file.old_path.as_deref());
            let origin = claims?.claim(rule, &finding.file, old_path, &line)?;
            Some(SuppressionReason::from_file("in the baseline".to_owned(), origin, BASELINE))
        };
        by_comment.or_else(by_setting).or_else(in_baseline)
    }

    fn by_comment(&mut self, rule: &str, finding: &Finding) -> Option<SuppressionReason> {
        let file_text = self.texts.get(&finding.file)?;
        let (first, last) = new_lines(finding)?;
        let suppression = file_text.ignores.suppression_for(rule, first, last)?;
        let (excerpt, line) = (&suppression.excerpt, suppression.line);
        let file = self.by_path.get(finding.file.as_str());
        let added_note = if file.is_some_and(|file| is_added(file, line)) {
            ADDED_BY_CHANGE
        } else if self.was_suppressed(rule, finding, (first, last)) {
            ""
        } else {
            EXTENDED_BY_CHANGE
        };
        let is_added = !added_note.is_empty();
        let why = match suppression.reason.is_empty() {
            true => String::new(),
            false => format!(": {}", suppression.reason),
        };
        let place = || format!("`{}:{line}`", finding.file);
        Some(SuppressionReason {
            reason: format!("`{excerpt}` on line {line}{added_note}{why}"),
            added_at: is_added.then(place),
        })
    }

    /// Whether a comment suppressed a finding with the same statement before the change. The change
    /// may move such lines, but not add more of them.
    fn was_suppressed(&mut self, rule: &str, finding: &Finding, lines: (u32, u32)) -> bool {
        let text_and_old = self.texts.get(&finding.file).zip(self.old_texts.get(&finding.file));
        let Some((new_text, old_text)) = text_and_old else { return false };
        let Some((first_line, statement)) = new_text.statement(lines) else { return false };
        let file = self.by_path.get(finding.file.as_str());
        let is_unchanged = |line: &&u32| !file.is_some_and(|file| is_added(file, **line));
        let text = SuppressedText {
            file: finding.file.clone(),
            rule: rule.to_owned(),
            first_line: first_line.to_owned(),
            statement: statement.into_iter().map(str::to_owned).collect(),
            length: lines.1.saturating_sub(lines.0),
        };
        let places = match self.suppressed_before.entry(text) {
            Entry::Occupied(places) => places.into_mut(),
            Entry::Vacant(places) => {
                let text = places.key();
                let numbers = new_text.numbers.get(&text.first_line).into_iter().flatten();
                let old_count = old_text.suppressed_count(text);
                let moved_max = old_count.saturating_sub(numbers.filter(is_unchanged).count());
                places.insert(SuppressedPlaces { old_count, moved_max, moved: BTreeSet::new() })
            }
        };
        if is_unchanged(&&lines.0) {
            return places.old_count > 0;
        }
        if places.moved.len() < places.moved_max {
            places.moved.insert(lines.0);
        }
        places.moved.contains(&lines.0)
    }

    /// The line of a finding, from the file or else from the diff.
    fn line(&self, finding: &Finding) -> String {
        let Some((number, _)) = new_lines(finding) else { return String::new() };
        let index = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let text = self.texts.get(&finding.file).and_then(|text| text.lines.get(index));
        let added_line = || {
            let file = self.by_path.get(finding.file.as_str())?;
            let index = file.added.binary_search_by_key(&number, |line| line.number).ok()?;
            file.added.get(index).map(|line| String::from_utf8_lossy(&line.text).into_owned())
        };
        text.cloned().or_else(added_line).unwrap_or_default()
    }

    /// Notes on ineffective `crh:ignore` comments near findings, with the index of the record that
    /// gets the note. Each comment is reported once: to the reviewer that the comment names, or
    /// else to the reviewer of the nearest finding.
    fn invalid_ignore_notes(&self, records: &[RunRecord]) -> Vec<(usize, String)> {
        let mut by_file: BTreeMap<&str, BTreeMap<u32, Vec<InvalidIgnore>>> = BTreeMap::new();
        let mut nearest: BTreeMap<(&str, u32), (u32, usize)> = BTreeMap::new();
        for (record_index, record) in records.iter().enumerate() {
            for Member { finding, .. } in &record.members {
                let file = finding.file.as_str();
                let Some((text, (first, last))) = self.texts.get(file).zip(new_lines(finding))
                else {
                    continue;
                };
                let invalid_ignores = by_file.entry(file).or_insert_with(|| {
                    let mut by_line: BTreeMap<u32, Vec<InvalidIgnore>> = BTreeMap::new();
                    for invalid_ignore in text.ignores.invalid_ignores(&self.rules) {
                        by_line.entry(invalid_ignore.line).or_default().push(invalid_ignore);
                    }
                    by_line
                });
                // On a line of the finding, or a few lines above it.
                for (line, _) in invalid_ignores
                    .range(first.saturating_sub(INVALID_IGNORE_LINES_MAX)..=last.max(first))
                {
                    let candidate = (first.saturating_sub(*line), record_index);
                    let best_candidate = nearest.entry((file, *line)).or_insert(candidate);
                    *best_candidate = candidate.min(*best_candidate);
                }
            }
        }
        let mut notes = Vec::new();
        for ((file, line), (_, record_index)) in nearest {
            let invalid_ignores = by_file.get_mut(file).and_then(|by_line| by_line.remove(&line));
            for invalid_ignore in invalid_ignores.unwrap_or_default() {
                let named_record = records.iter().position(|record| {
                    let name = record.assignment.name.as_str();
                    name.strip_prefix(SARIF).unwrap_or(name) == invalid_ignore.reviewer
                });
                let why = invalid_ignore.why;
                notes.push((
                    named_record.unwrap_or(record_index),
                    format!("the `crh:ignore` at `{file}:{line}` {why}"),
                ));
            }
        }
        notes
    }
}

impl SuppressionReason {
    /// A suppression by a file of the repository.
    fn from_file(reason: String, origin: SuppressionOrigin, file: &str) -> Self {
        match origin {
            SuppressionOrigin::Before => Self { reason, added_at: None },
            SuppressionOrigin::ThisChange => Self {
                reason: format!("{reason}{ADDED_BY_CHANGE}"),
                added_at: Some(format!("`{file}`")),
            },
        }
    }
}

impl IgnoredPaths {
    fn matches(&self, rule: &str, path: &str) -> bool {
        let matches_rule = match self.rules.strip_suffix('*') {
            Some(start) => rule.starts_with(start),
            None => name_matches_rule(&self.rules, rule),
        };
        let may_suppress =
            self.origin == SuppressionOrigin::Before || !rule.starts_with(SECRETS_PREFIX);
        matches_rule && may_suppress && self.paths.is_match(path.as_bytes())
    }
}

/// Lines of a finding on the new side.
fn new_lines(finding: &Finding) -> Option<(u32, u32)> {
    if finding.side == Some(Side::Old) {
        return None;
    }
    let first = finding.line_start?.get();
    Some((first, finding.line_end.map_or(first, NonZeroU32::get)))
}

/// Number of brackets that each line opens, minus those that it closes. Brackets in strings and
/// comments do not count if crh can parse the text.
fn open_brackets(path: &str, text: &str, lines: &[String]) -> Vec<i64> {
    let weight = |letter: char| match letter {
        '(' | '[' => 1,
        ')' | ']' => -1,
        _ => 0,
    };
    let language = Language::of_file(path, text.as_bytes());
    let Some(Ok(syntax_tree)) = language.map(|language| SyntaxTree::new(language, text)) else {
        return lines.iter().map(|line| line.chars().map(weight).sum()).collect();
    };
    let mut counts = vec![0; lines.len()];
    // Uses a cursor, because texts can be nested deeper than the stack.
    let mut cursor = syntax_tree.tree().walk();
    loop {
        let node = cursor.node();
        // In a syntax tree, punctuation has nodes without a name. A missing bracket has no text.
        if !node.is_named()
            && !node.is_missing()
            && let Some(count) = counts.get_mut(node.start_position().row)
        {
            *count += node.kind().chars().map(weight).sum::<i64>();
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return counts;
            }
        }
    }
}

fn is_added(file: &ChangedFile, line: u32) -> bool {
    file.added.binary_search_by_key(&line, |added| added.number).is_ok()
}
