//! Computes fixes before anything is written: the resulting commit, the fixes that pass, and
//! reasons for the others.

use std::collections::{BTreeMap, BTreeSet};

use super::edits::replaced;
use super::fix_judge::{FixJudge, FixUnit, JudgedUnits};
use super::journal::LockedCheckout;
use super::outcome::SkippedIssue;
use super::repair::{EditGroup, ModelFixes, run_fixer};
use super::reviewed_checkout::{ReviewedCheckout, reason_if_edited};
use super::surroundings::{changes_lines, texts};
use super::verification::Verification;
use crate::commands::interrupts;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::fixer::FileEdit;
use crh_review::Location;
use crh_review::diff::Diff;
use crh_review::finding::{Severity, Side};
use crh_review::report::{AppliedFix, CREDENTIAL_MASK, FixAuthor, FixOutcome, Issue, TestProof};
use crh_review::verdict::is_actionable;

/// Fixes that are computed but not written yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PlannedFixes {
    /// Commit without the fixes.
    pub(super) from: String,
    /// Commit with the fixes.
    pub(super) commit: String,
    pub(super) fixes: Vec<AppliedFix>,
    /// Changed files.
    pub(super) paths: BTreeSet<String>,
    /// Changed files that also have edits of the user.
    pub(super) edited: BTreeSet<String>,
    /// Closed issues whose edits were in the checkout before, so that crh changes nothing for them.
    pub(super) already_fixed: BTreeSet<u32>,
    pub(super) left: Vec<SkippedIssue>,
    /// Warnings about all fixes.
    pub(super) warnings: Vec<String>,
}

impl PlannedFixes {
    /// Combines two plans; `other` is on top.
    pub(super) fn then(self, other: Self) -> Self {
        let mut left = [self.left, other.left].concat();
        left.sort();
        let mut warnings = self.warnings;
        let new = other.warnings.into_iter().filter(|it| !warnings.contains(it));
        let new: Vec<String> = new.collect();
        warnings.extend(new);
        let mut fixes = [self.fixes, other.fixes].concat();
        fixes.sort_by_key(|fix| fix.number);
        Self {
            from: self.from,
            commit: other.commit,
            fixes,
            paths: self.paths.into_iter().chain(other.paths).collect(),
            edited: self.edited.into_iter().chain(other.edited).collect(),
            already_fixed: self.already_fixed.into_iter().chain(other.already_fixed).collect(),
            left,
            warnings,
        }
    }

    /// Drops all fixes for one reason.
    pub(super) fn refused(self, why: &str) -> Self {
        let more = self.fixes.iter().map(|fix| SkippedIssue::new(fix.number, why));
        let left = self.left.into_iter().chain(more).collect();
        let (commit, warnings) = (self.from.clone(), self.warnings);
        Self { left, warnings, ..Self::nothing(commit) }
    }

    /// Marks the fixes that do not change all places of an issue that may block the merge: the
    /// editor, a model, may have grouped different defects.
    pub(super) fn with_open_places(
        mut self,
        reviewed_checkout: &ReviewedCheckout<'_>,
        issues: &[&Issue],
    ) -> Result<Self, Failure> {
        let is_fixed = |issue: &Issue| self.fixes.iter().any(|fix| fix.number == issue.number);
        let mut grouped = issues.to_vec();
        grouped.retain(|issue| {
            // An advisory P0 or P1 is not actionable, but counts for the verdict.
            (issue.severity <= Severity::P1 || is_actionable(issue))
                && !issue.other_places.is_empty()
                && is_fixed(issue)
        });
        let diffs = reviewed_checkout.diffs_to(&grouped, &self.commit)?;
        for fix in &mut self.fixes {
            let issue = grouped.iter().find(|issue| issue.number == fix.number);
            let diff = diffs.get(reviewed_checkout.found_on(fix.number));
            let (Some(issue), Some(diff)) = (issue, diff) else { continue };
            let places = std::iter::once(&issue.location).chain(&issue.other_places);
            fix.open_places = places.filter(|place| !is_changed(diff, place)).cloned().collect();
            if !fix.open_places.is_empty() {
                fix.outcome = FixOutcome::Partial;
                self.already_fixed.remove(&fix.number);
            }
        }
        Ok(self)
    }

    /// The fixes of the units that passed.
    fn new(judged: JudgedUnits<'_, '_>, from: &str) -> Self {
        Self {
            fixes: judged.kept.iter().flat_map(|unit| fixes(unit, &judged)).collect(),
            paths: judged.edits.into_iter().map(|edit| edit.path).collect(),
            commit: judged.commit,
            left: judged.left,
            warnings: judged.warnings,
            ..Self::nothing(from.to_owned())
        }
    }

    fn nothing(from: String) -> Self {
        Self {
            commit: from.clone(),
            from,
            fixes: Vec::new(),
            paths: BTreeSet::new(),
            edited: BTreeSet::new(),
            already_fixed: BTreeSet::new(),
            left: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// The verification command, and the tests that prove the issues.
#[derive(Clone, Copy)]
struct Proof<'p, 'b> {
    verification: Option<&'p Verification<'b>>,
    tests: &'p [FileEdit],
}

impl Proof<'_, '_> {
    /// The tests of these issues.
    fn tests_of<'i>(&self, issues: impl Iterator<Item = &'i Issue>) -> Vec<FileEdit> {
        let numbers: BTreeSet<u32> = issues.map(|issue| issue.number).collect();
        let tests = self.tests.iter().filter(|test| !test.issues.is_disjoint(&numbers));
        tests.cloned().collect()
    }
}

/// Computes fixes without changing the checkout: exact replacements by code, the rest by a fixer on
/// top of them.
pub(super) fn plan_fixes(
    reviewed_checkout: &ReviewedCheckout<'_>,
    checkout: &LockedCheckout,
    issues: &[&Issue],
    environment: &Environment,
) -> Result<(PlannedFixes, PlannedFixes), Failure> {
    let verification = Verification::new(reviewed_checkout.session, environment);
    let tests = new_tests(reviewed_checkout, checkout, issues)?;
    let proof = Proof { verification: verification.as_ref(), tests: &tests };
    let (exact, inexact): (Vec<&Issue>, Vec<&Issue>) =
        issues.iter().partition(|issue| issue.has_exact_fix());
    let first = by_code(reviewed_checkout, checkout, exact, proof)?;
    let second = by_model(reviewed_checkout, checkout, &inexact, &first.commit, proof)?;
    Ok((first, second))
}

/// The tests that prove the issues, as new files. A test is left out if the checkout has a file at
/// its path, or if crh has masked a credential in it.
fn new_tests(
    reviewed_checkout: &ReviewedCheckout<'_>,
    checkout: &LockedCheckout,
    issues: &[&Issue],
) -> Result<Vec<FileEdit>, Failure> {
    let objects = reviewed_checkout.bare.objects().or_fail(FailureKind::External)?;
    let mut tests: Vec<FileEdit> = Vec::new();
    for issue in issues {
        let Some(TestProof { path, content, .. }) = &issue.proof else { continue };
        let is_free =
            matches!(objects.file_if_any(&reviewed_checkout.now, path.as_bytes()), Ok(None))
                && matches!(checkout.bytes(path), Ok(None))
                && tests.iter().all(|test| test.path != *path);
        if is_free && !content.contains(CREDENTIAL_MASK) {
            let (path, after) = (path.clone(), Some(content.clone().into_bytes()));
            let issues = BTreeSet::from([issue.number]);
            tests.push(FileEdit { path, before: None, after, issues });
        }
    }
    Ok(tests)
}

/// Applies exact replacements. Edits of the user stay. Only the code around a replacement must not
/// have changed since the review.
fn by_code(
    reviewed_checkout: &ReviewedCheckout<'_>,
    checkout: &LockedCheckout,
    exact: Vec<&Issue>,
    proof: Proof<'_, '_>,
) -> Result<PlannedFixes, Failure> {
    let files = exact.iter().map(|issue| issue.location.file.as_str()).collect();
    let start = reviewed_checkout.start(checkout, &files)?;
    let texts = texts(reviewed_checkout, &start, &exact)?;
    let first = replaced(&exact, &texts);
    let already_fixed = first.already_fixed;
    let mut usable: BTreeSet<u32> =
        first.edits.iter().flat_map(|edit| edit.issues.clone()).collect();
    usable.extend(&already_fixed);
    let usable = exact.into_iter().filter(|issue| usable.contains(&issue.number));
    let units: Vec<FixUnit<'_>> = usable
        .map(|issue| FixUnit {
            issues: vec![issue],
            described: BTreeMap::from([(issue.number, described(issue))]),
            edits: Vec::new(),
            author: FixAuthor::Code,
        })
        .collect();
    let compute_edits = |units: &[&FixUnit<'_>]| {
        let issues: Vec<&Issue> = units.iter().flat_map(|unit| unit.issues.clone()).collect();
        let mut edits = replaced(&issues, &texts).edits;
        let changed = issues.into_iter().filter(|issue| !already_fixed.contains(&issue.number));
        edits.extend(proof.tests_of(changed));
        edits
    };
    let judge =
        FixJudge { reviewed_checkout, base: &start.commit, verification: proof.verification };
    let judged = judge.verified(&units, &compute_edits)?.after(first.left);
    let mut planned = PlannedFixes::new(judged, &start.commit);
    planned.edited = start.edited.intersection(&planned.paths).cloned().collect();
    add_already_fixed(&mut planned, &units, &already_fixed, &start.edited);
    Ok(planned)
}

/// Gives fixes whose edits were in the checkout before the file of their issue, which crh does not
/// change.
fn add_already_fixed(
    planned: &mut PlannedFixes,
    units: &[FixUnit<'_>],
    already_fixed: &BTreeSet<u32>,
    edited: &BTreeSet<String>,
) {
    let issues = units.iter().flat_map(|unit| &unit.issues);
    for issue in issues.filter(|issue| already_fixed.contains(&issue.number)) {
        let Some(fix) = planned.fixes.iter_mut().find(|fix| fix.number == issue.number) else {
            continue;
        };
        let file = &issue.location.file;
        fix.files = vec![file.clone()];
        planned.already_fixed.insert(issue.number);
        // The commit with the fixes has the edits of the user.
        planned.edited.extend(edited.get(file).cloned());
    }
}

/// Runs the fixer on issues without an exact replacement.
fn by_model(
    reviewed_checkout: &ReviewedCheckout<'_>,
    checkout: &LockedCheckout,
    issues: &[&Issue],
    base: &str,
    proof: Proof<'_, '_>,
) -> Result<PlannedFixes, Failure> {
    let nothing = PlannedFixes::nothing(base.to_owned());
    if issues.is_empty() || interrupts::is_pressed() {
        return Ok(nothing);
    }
    // Do not pay for work that cannot be applied.
    if reviewed_checkout.session.model_set.is_some()
        && let Some(why) = reason_if_edited(&reviewed_checkout.edited_since_review(checkout)?)
    {
        let left = issues.iter().map(|issue| SkippedIssue::new(issue.number, &why)).collect();
        return Ok(PlannedFixes { left, ..nothing });
    }
    let ModelFixes { parts, described, left } = run_fixer(reviewed_checkout, issues, base)?;
    let unit = |part: EditGroup| {
        let of_part = issues.iter().filter(|issue| part.issues.contains(&issue.number));
        let of_part: Vec<&Issue> = of_part.copied().collect();
        let described = described.iter().filter(|(number, _)| part.issues.contains(number));
        let tests = proof.tests_of(of_part.iter().copied());
        let is_untouched = |test: &FileEdit| part.edits.iter().all(|edit| edit.path != test.path);
        let tests: Vec<FileEdit> = tests.into_iter().filter(is_untouched).collect();
        FixUnit {
            issues: of_part,
            described: described.map(|(number, what)| (*number, what.clone())).collect(),
            edits: [part.edits, tests].concat(),
            author: FixAuthor::Model,
        }
    };
    let units: Vec<FixUnit<'_>> = parts.into_iter().map(unit).collect();
    let compute_edits =
        |units: &[&FixUnit<'_>]| units.iter().flat_map(|unit| unit.edits.clone()).collect();
    let judge = FixJudge { reviewed_checkout, base, verification: proof.verification };
    Ok(PlannedFixes::new(judge.verified(&units, &compute_edits)?.after(left), base))
}

/// Whether a diff changes a place. Removed lines are nowhere in it, so any change of their file
/// counts.
fn is_changed(diff: &Diff, place: &Location) -> bool {
    match place.side {
        Side::New => changes_lines(diff, &place.file, (place.line_start, place.line_end)),
        Side::Old => diff.files().iter().any(|file| file.path.shown() == place.file),
    }
}

/// Description of a replacement, from the suggestion of the reviewer.
fn described(issue: &Issue) -> String {
    let suggestion = issue.suggestion.lines().next().unwrap_or_default().trim();
    let (start, end) = (issue.location.line_start, issue.location.line_end);
    let lines = match start == end {
        true => format!(" {start}"),
        false => format!("s {start} to {end}"),
    };
    // The words of a model may describe another edit than the deletion that crh makes.
    let is_deletion = issue.replacement.as_deref().is_some_and(|text| text.trim().is_empty());
    match (is_deletion, suggestion.is_empty()) {
        (true, _) => format!("deleted line{lines}"),
        (false, true) => format!("replaced line{lines}"),
        (false, false) => suggestion.to_owned(),
    }
}

/// The fixes of a unit, as the report lists them once they are applied.
fn fixes(unit: &FixUnit<'_>, judged: &JudgedUnits<'_, '_>) -> Vec<AppliedFix> {
    let outcome = match unit.requires_verification() && !judged.is_verified {
        true => FixOutcome::Unverified,
        false => FixOutcome::Done,
    };
    let fix = |issue: &&Issue| {
        let number = issue.number;
        let files = judged.edits.iter().filter(|edit| edit.issues.contains(&number));
        AppliedFix {
            number,
            description: unit.described.get(&number).cloned().unwrap_or_default(),
            files: files.map(|edit| edit.path.clone()).collect(),
            outcome,
            author: unit.author,
            open_places: Vec::new(),
        }
    };
    unit.issues.iter().map(fix).collect()
}
