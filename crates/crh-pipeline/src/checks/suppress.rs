//! Findings that an ignore comment, the settings or the baseline silence. Each keeps its place in the report, with the reason.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use super::baseline::{BASELINE, Baseline, Known, WANTS_MORE};
use super::terms::{CheckTerms, IgnoredPaths, Since};
use crate::plan::SARIF;
use crate::runs::RunRecord;
use crh_lint::{ChangedFile, Ignores, Misfit, Project, is_named};
use crh_review::finding::{Finding, Member, Side};
use crh_review::report::{Dropped, Fate};

/// The settings of the repository.
const SETTINGS: &str = "crh.toml";
/// How many places a warning names: as many as fit a line or two. The report has all.
const PLACES_NAMED: usize = 5;
/// What no change and no setting silences.
const NEVER: &str = "injection/";

/// What a reason says of what the change itself adds.
const ADDED: &str = ", added by this change";
/// So many lines may stand between a `crh:ignore` that does not count and its finding for it to be meant.
const NEAR: u32 = 3;

/// What silences a finding.
struct Silenced {
    reason: String,
    /// Where this change itself brings that in, if it does.
    added_at: Option<String>,
}

/// Sets findings aside that are silenced.
pub(super) fn suppress(
    records: &mut [RunRecord],
    files: &[ChangedFile],
    project: Option<&dyn Project>,
    terms: &CheckTerms,
) {
    let change = Files::new(records, files, project);
    let before = before(files, project);
    let mut known = terms.baseline.as_ref().map(|it| Known::of(it, before.as_ref()));
    for record in records.iter_mut() {
        let mut added = Vec::new();
        let members = std::mem::take(&mut record.members);
        for member in members {
            let silenced = change.silenced(&member, terms, known.as_mut());
            match silenced {
                None => record.members.push(member),
                Some(Silenced { reason, added_at }) => {
                    added.extend(added_at);
                    record.set_aside.push(suppressed(member, reason));
                }
            }
        }
        record.notes.extend(warning(added));
    }
    for (at, note) in change.misfits(records) {
        if let Some(record) = records.get_mut(at) {
            record.notes.push(note);
        }
    }
}

/// The baseline as it was, if the change touches it. One that was none knew nothing.
fn before(files: &[ChangedFile], project: Option<&dyn Project>) -> Option<Baseline> {
    let file = files.iter().find(|file| file.path == BASELINE)?;
    let old = file.before.as_ref().and_then(|path| project?.file(Side::Old, path).ok().flatten());
    Some(old.and_then(|bytes| Baseline::read(&bytes).ok()).unwrap_or_default())
}

/// Whether the change itself brought along what silences a finding about it.
pub(crate) fn is_brought_along(dropped: &Dropped) -> bool {
    dropped.fate == Fate::Suppressed && dropped.reason.contains(ADDED)
}

/// A finding that is silenced.
pub(super) fn suppressed(member: Member, reason: String) -> Dropped {
    Dropped {
        fate: Fate::Suppressed,
        reason,
        into: None,
        reviewer: member.reviewer.clone(),
        member: Some(member),
        raw: None,
    }
}

/// What a reader must see: that a change brings along what silences findings about it.
fn warning(mut places: Vec<String>) -> Option<String> {
    let all = places.len();
    places.dedup();
    let (s, are) = if all == 1 { ("", "is") } else { ("s", "are") };
    let more = places.len().saturating_sub(PLACES_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    places.truncate(PLACES_NAMED);
    (all > 0).then(|| {
        format!(
            "{all} finding{s} {are} silenced by what this change itself adds: {}{more}",
            places.join(", ")
        )
    })
}

/// The files that findings are about, each read once.
struct Files<'a> {
    by_path: BTreeMap<&'a str, &'a ChangedFile>,
    read: BTreeMap<String, Text>,
    rules: BTreeSet<String>,
}

/// A text, and what silences findings in it.
#[derive(Default)]
struct Text {
    lines: Vec<String>,
    ignores: Ignores,
}

impl<'a> Files<'a> {
    fn new(records: &[RunRecord], files: &'a [ChangedFile], project: Option<&dyn Project>) -> Self {
        let by_path = files.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut read = BTreeMap::new();
        let members = || records.iter().flat_map(|record| &record.members);
        for Member { finding, .. } in members() {
            if !read.contains_key(&finding.file) {
                let bytes = project.and_then(|it| it.file(Side::New, &finding.file).ok().flatten());
                let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
                let text = text.map(|text| Text {
                    ignores: Ignores::read(&finding.file, &text),
                    lines: text.lines().map(str::to_owned).collect(),
                });
                read.insert(finding.file.clone(), text.unwrap_or_default());
            }
        }
        let rules = members().filter_map(|member| member.rule.clone()).collect();
        Self { by_path, read, rules }
    }

    fn silenced(
        &self,
        member: &Member,
        terms: &CheckTerms,
        known: Option<&mut Known>,
    ) -> Option<Silenced> {
        let rule = member.rule.as_deref().filter(|rule| !rule.starts_with(NEVER))?;
        let finding = &member.finding;
        let by_comment = self.by_comment(rule, finding);
        let by_setting = || {
            let row = terms.ignore.iter().find(|row| row.covers(rule, &finding.file))?;
            let reason = format!("`checks.ignore` has `{}` for this file", row.rules);
            Some(Silenced::by(reason, row.since, SETTINGS))
        };
        let in_baseline = || {
            let line = self.line(finding);
            let file = self.by_path.get(finding.file.as_str());
            let before = file.and_then(|file| file.before.as_deref());
            let since = known?.claims(rule, &finding.file, before, &line)?;
            Some(Silenced::by("in the baseline".to_owned(), since, BASELINE))
        };
        by_comment.or_else(by_setting).or_else(in_baseline)
    }

    fn by_comment(&self, rule: &str, finding: &Finding) -> Option<Silenced> {
        let text = self.read.get(&finding.file)?;
        let (first, last) = lines(finding)?;
        let found = text.ignores.silencing(rule, first, last)?;
        let (by, line) = (&found.by, found.line);
        let file = self.by_path.get(finding.file.as_str());
        let is_added = file.is_some_and(|file| is_added(file, line));
        let own = if is_added { ADDED } else { "" };
        let why = match found.reason.is_empty() {
            true => String::new(),
            false => format!(": {}", found.reason),
        };
        let place = || format!("`{}:{line}`", finding.file);
        Some(Silenced {
            reason: format!("`{by}` on line {line}{own}{why}"),
            added_at: is_added.then(place),
        })
    }

    /// The line that a finding is about: of the file, or as the diff alone has it.
    fn line(&self, finding: &Finding) -> String {
        let Some((number, _)) = lines(finding) else { return String::new() };
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        let text = self.read.get(&finding.file).and_then(|text| text.lines.get(at));
        let added = || {
            let file = self.by_path.get(finding.file.as_str())?;
            let at = file.added.binary_search_by_key(&number, |line| line.number).ok()?;
            file.added.get(at).map(|line| String::from_utf8_lossy(&line.text).into_owned())
        };
        text.cloned().or_else(added).unwrap_or_default()
    }

    /// Says once of each `crh:ignore` at a finding why it does not count: to the reviewer that it names, or else to that of
    /// the nearest finding, by its place among the records.
    fn misfits(&self, records: &[RunRecord]) -> Vec<(usize, String)> {
        let mut by_file: BTreeMap<&str, BTreeMap<u32, Vec<Misfit>>> = BTreeMap::new();
        let mut nearest: BTreeMap<(&str, u32), (u32, usize)> = BTreeMap::new();
        for (at, record) in records.iter().enumerate() {
            for Member { finding, .. } in &record.members {
                let file = finding.file.as_str();
                let Some((text, (first, last))) = self.read.get(file).zip(lines(finding)) else {
                    continue;
                };
                let misfits = by_file.entry(file).or_insert_with(|| {
                    let mut by_line: BTreeMap<u32, Vec<Misfit>> = BTreeMap::new();
                    for misfit in text.ignores.misfits(&self.rules) {
                        by_line.entry(misfit.line).or_default().push(misfit);
                    }
                    by_line
                });
                // On the line, or above it with others between.
                for (line, _) in misfits.range(first.saturating_sub(NEAR)..=last.max(first)) {
                    let here = (first.saturating_sub(*line), at);
                    let best = nearest.entry((file, *line)).or_insert(here);
                    *best = here.min(*best);
                }
            }
        }
        let mut notes = Vec::new();
        for ((file, line), (_, at)) in nearest {
            let said = by_file.get_mut(file).and_then(|misfits| misfits.remove(&line));
            for misfit in said.unwrap_or_default() {
                let named = records.iter().position(|it| {
                    let name = it.assignment.name.as_str();
                    name.strip_prefix(SARIF).unwrap_or(name) == misfit.reviewer
                });
                let why = misfit.why;
                notes.push((
                    named.unwrap_or(at),
                    format!("the `crh:ignore` at `{file}:{line}` {why}"),
                ));
            }
        }
        notes
    }
}

impl Silenced {
    /// By a file of ours.
    fn by(reason: String, since: Since, file: &str) -> Self {
        match since {
            Since::Before => Self { reason, added_at: None },
            Since::ThisChange => {
                Self { reason: format!("{reason}{ADDED}"), added_at: Some(format!("`{file}`")) }
            }
        }
    }
}

impl IgnoredPaths {
    fn covers(&self, rule: &str, path: &str) -> bool {
        let is_meant = match self.rules.strip_suffix('*') {
            Some(start) => rule.starts_with(start),
            None => is_named(&self.rules, rule),
        };
        let is_enough = self.since == Since::Before || !rule.starts_with(WANTS_MORE);
        is_meant && is_enough && self.paths.is_match(path.as_bytes())
    }
}

/// The lines of a finding in the text after the change.
fn lines(finding: &Finding) -> Option<(u32, u32)> {
    if finding.side == Some(Side::Old) {
        return None;
    }
    let first = finding.line_start?.get();
    Some((first, finding.line_end.map_or(first, NonZeroU32::get)))
}

fn is_added(file: &ChangedFile, line: u32) -> bool {
    file.added.binary_search_by_key(&line, |added| added.number).is_ok()
}
