//! Decides which fixes crh keeps: static checks, then the verification command.

use std::collections::BTreeMap;

use super::outcome::{SkipKind, SkippedIssue};
use super::reviewed_checkout::ReviewedCheckout;
use super::verification::{Verification, VerificationResult};
use crate::commands::interrupts;
use crate::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::checks;
use crh_pipeline::fixer::FileEdit;
use crh_review::report::{FixAuthor, Issue};

/// Beginning of the warning that no fix was verified.
pub(super) const NOT_VERIFIED: &str = "no fix was verified";

/// Edits that crh applies or drops together, because their issues overlap.
#[derive(Debug, Clone)]
pub(super) struct FixUnit<'r> {
    pub(super) issues: Vec<&'r Issue>,
    /// Description by issue number.
    pub(super) described: BTreeMap<u32, String>,
    /// Edits of a fixer. Empty for exact replacements, which are computed together.
    pub(super) edits: Vec<FileEdit>,
    pub(super) author: FixAuthor,
}

impl FixUnit<'_> {
    pub(super) fn requires_verification(&self) -> bool {
        self.issues.iter().any(|issue| issue.requires_verification)
    }
}

/// Units that passed and units that were dropped.
pub(super) struct JudgedUnits<'u, 'r> {
    pub(super) kept: Vec<&'u FixUnit<'r>>,
    pub(super) commit: String,
    pub(super) edits: Vec<FileEdit>,
    pub(super) left: Vec<SkippedIssue>,
    pub(super) warnings: Vec<String>,
    /// Whether the verification command passed with the kept units.
    pub(super) is_verified: bool,
}

pub(super) struct FixJudge<'g, 'b> {
    pub(super) reviewed_checkout: &'g ReviewedCheckout<'b>,
    /// Commit that fixes are applied to.
    pub(super) base: &'g str,
    pub(super) verification: Option<&'g Verification<'b>>,
}

/// Computes the edits of several units.
pub(super) type ComputeEdits<'m, 'r> = &'m dyn Fn(&[&FixUnit<'r>]) -> Vec<FileEdit>;

/// Why a set of fixes is rejected.
enum Rejection {
    /// The set fails; a subset may pass.
    Against(String),
    /// The result is unknown, and a smaller set would not help.
    Unknown(String),
}

/// A test that separates passing units from failing ones.
struct UnitFilter<'s, 'r> {
    compute_edits: ComputeEdits<'s, 'r>,
    objection: &'s dyn Fn(&str) -> Option<Rejection>,
}

impl FixJudge<'_, '_> {
    /// Returns the units that pass the static checks and the verification command. If the command
    /// proves nothing, returns only units that need no verification.
    pub(super) fn verified<'u, 'r>(
        &self,
        units: &'u [FixUnit<'r>],
        compute_edits: ComputeEdits<'_, 'r>,
    ) -> Result<JudgedUnits<'u, 'r>, Failure> {
        let all: Vec<&FixUnit<'r>> = units.iter().collect();
        let Some(verification) = self.verification else {
            // The caller has left out the units that cannot be verified.
            return self.checked(all, compute_edits);
        };
        let passed = self.checked(all, compute_edits)?;
        if passed.kept.is_empty() {
            return Ok(passed);
        }
        let verify = |commit: &str| verification.of_commit(self.reviewed_checkout, commit);
        let (reason, gap) = match verify(&passed.commit) {
            VerificationResult::Passed => return Ok(JudgedUnits { is_verified: true, ..passed }),
            VerificationResult::OutOfTime(why) => return Ok(self.drop_all(passed, &unknown(&why))),
            VerificationResult::Failed(why) => (failing(&why), VerificationGap::FailsAnyway(why)),
            VerificationResult::Nothing(why) => (not_running(&why), VerificationGap::NotRun(why)),
        };
        match verify(self.base) {
            VerificationResult::Passed => {
                let objection = |commit: &str| match verify(commit) {
                    VerificationResult::Passed => None,
                    VerificationResult::Failed(why) => Some(Rejection::Against(failing(&why))),
                    VerificationResult::Nothing(why) => Some(Rejection::Against(not_running(&why))),
                    VerificationResult::OutOfTime(why) => Some(Rejection::Unknown(unknown(&why))),
                };
                let filter = UnitFilter { compute_edits, objection: &objection };
                let passing = self.find_passing(&passed.kept, &reason, &filter)?.after(passed.left);
                Ok(JudgedUnits { is_verified: true, ..passing })
            }
            VerificationResult::Failed(_) => self.without_proof(passed, compute_edits, &gap),
            VerificationResult::Nothing(why) => {
                self.without_proof(passed, compute_edits, &VerificationGap::NotRun(why))
            }
            VerificationResult::OutOfTime(why) => Ok(self.drop_all(passed, &unknown(&why))),
        }
    }

    /// Drops all units, because their result is unknown.
    fn drop_all<'u, 'r>(&self, passed: JudgedUnits<'u, 'r>, why: &str) -> JudgedUnits<'u, 'r> {
        let mut none = JudgedUnits::nothing(self.base).after(passed.left);
        none.skip(&passed.kept, why);
        none
    }

    /// Keeps the units that need no verification, and adds a warning, because the verification
    /// command proves nothing. Drops the others.
    fn without_proof<'u, 'r>(
        &self,
        passed: JudgedUnits<'u, 'r>,
        compute_edits: ComputeEdits<'_, 'r>,
        gap: &VerificationGap,
    ) -> Result<JudgedUnits<'u, 'r>, Failure> {
        let (needing, others): (Vec<_>, Vec<_>) =
            passed.kept.into_iter().partition(|unit| unit.requires_verification());
        let mut proved = self.checked(others, compute_edits)?;
        let mut reason = gap.reason().to_owned();
        match proved.kept.is_empty() {
            true => reason += &format!(": {}", gap.output()),
            // The warning has the output.
            false => proved.warnings.push(gap.warning()),
        }
        // Another command may verify the fixes.
        let kind = SkipKind::Unverifiable;
        let left = needing.iter().flat_map(|unit| skipped_issues(unit, &reason));
        let left = left.map(|left| SkippedIssue { kind, ..left }).collect();
        Ok(proved.after(left).after(passed.left))
    }

    /// Runs the static checks on all units together, and on subsets if they fail.
    fn checked<'u, 'r>(
        &self,
        units: Vec<&'u FixUnit<'r>>,
        compute_edits: ComputeEdits<'_, 'r>,
    ) -> Result<JudgedUnits<'u, 'r>, Failure> {
        // A zero byte would make the file binary, and the checks would not read it.
        let (readable, unreadable): (Vec<_>, Vec<_>) = units
            .into_iter()
            .partition(|unit| !compute_edits(&[unit]).iter().any(adds_control_character));
        if !unreadable.is_empty() {
            let why = "its fix adds a control character";
            let left = unreadable.into_iter().flat_map(|unit| rejected_issues(unit, why)).collect();
            return Ok(self.checked(readable, compute_edits)?.after(left));
        }
        let units = readable;
        if units.is_empty() {
            return Ok(JudgedUnits::nothing(self.base));
        }
        let edits = compute_edits(&units);
        let commit = self.committed(&edits)?;
        let Some(reason) = self.objection(&commit)? else {
            let (left, warnings) = (Vec::new(), Vec::new());
            return Ok(JudgedUnits {
                kept: units,
                commit,
                edits,
                left,
                warnings,
                is_verified: false,
            });
        };
        let objection = |commit: &str| match self.objection(commit) {
            Ok(objection) => objection.map(Rejection::Against),
            Err(failure) => {
                Some(Rejection::Unknown(format!("the static checks failed: {:#}", failure.error)))
            }
        };
        self.find_passing(&units, &reason, &UnitFilter { compute_edits, objection: &objection })
    }

    /// Searches for the passing units after all together have failed.
    fn find_passing<'u, 'r>(
        &self,
        units: &[&'u FixUnit<'r>],
        reason: &str,
        filter: &UnitFilter<'_, 'r>,
    ) -> Result<JudgedUnits<'u, 'r>, Failure> {
        let mut passed = JudgedUnits::nothing(self.base);
        self.bisect(&mut passed, units, reason, filter)?;
        Ok(passed)
    }

    /// Adds the passing units of a failing set. Bisects the set, because each test may take
    /// minutes.
    fn bisect<'u, 'r>(
        &self,
        passed: &mut JudgedUnits<'u, 'r>,
        units: &[&'u FixUnit<'r>],
        reason: &str,
        filter: &UnitFilter<'_, 'r>,
    ) -> Result<(), Failure> {
        let (first, second) = units.split_at(units.len() / 2);
        if first.is_empty() {
            passed.reject(units, reason);
            return Ok(());
        }
        let all = passed.kept.len() + first.len();
        self.add_passing(passed, first, filter)?;
        match passed.kept.len() == all {
            // The first half passes, so the second half fails together with it.
            true => self.bisect(passed, second, reason, filter),
            false => self.add_passing(passed, second, filter),
        }
    }

    /// Adds these units to the kept ones. If they fail together, adds only those that pass.
    fn add_passing<'u, 'r>(
        &self,
        passed: &mut JudgedUnits<'u, 'r>,
        units: &[&'u FixUnit<'r>],
        filter: &UnitFilter<'_, 'r>,
    ) -> Result<(), Failure> {
        if interrupts::is_pressed() {
            return Ok(());
        }
        let with = [&passed.kept, units].concat();
        let edits = (filter.compute_edits)(&with);
        let commit = self.committed(&edits)?;
        match (filter.objection)(&commit) {
            None => (passed.kept, passed.commit, passed.edits) = (with, commit, edits),
            Some(Rejection::Against(why)) => self.bisect(passed, units, &why, filter)?,
            Some(Rejection::Unknown(why)) => passed.skip(units, &why),
        }
        Ok(())
    }

    /// Commits edits on top of the base.
    fn committed(&self, edits: &[FileEdit]) -> Result<String, Failure> {
        let files: Vec<crh_git::AmendedFile<'_>> =
            edits.iter().map(|edit| (edit.path.as_str(), edit.after.as_deref())).collect();
        self.reviewed_checkout
            .bare
            .commit_with_changes(self.base, &files)
            .or_fail(FailureKind::External)
    }

    /// Runs the static checks. A new finding is an objection.
    fn objection(&self, commit: &str) -> Result<Option<String>, Failure> {
        let (session, bare) = (self.reviewed_checkout.session, self.reviewed_checkout.bare);
        let found = checks::check_fix(&session.subject, &session.checks, bare, self.base, commit);
        Ok(found.or_fail(FailureKind::External)?.first().map(|member| {
            let finding = &member.finding;
            let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
            let rule = member.rule.as_deref().unwrap_or(&member.reviewer);
            let place = format!("{}{line}", finding.file);
            format!("its fix fails a static check: {} ({place}, `{rule}`)", finding.title)
        }))
    }
}

/// Whether an edit adds a kind of control character that the file did not have.
fn adds_control_character(edit: &FileEdit) -> bool {
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c);
    let before = edit.before.as_deref().unwrap_or_default();
    let after = edit.after.as_deref().unwrap_or_default();
    after.iter().any(|byte| is_control(byte) && !before.contains(byte))
}

impl<'u, 'r> JudgedUnits<'u, 'r> {
    fn nothing(base: &str) -> Self {
        let commit = base.to_owned();
        let (left, warnings) = (Vec::new(), Vec::new());
        let (kept, edits) = (Vec::new(), Vec::new());
        Self { kept, commit, edits, left, warnings, is_verified: false }
    }

    fn skip(&mut self, units: &[&'u FixUnit<'r>], why: &str) {
        self.left.extend(units.iter().flat_map(|unit| skipped_issues(unit, why)));
    }

    fn reject(&mut self, units: &[&'u FixUnit<'r>], why: &str) {
        self.left.extend(units.iter().flat_map(|unit| rejected_issues(unit, why)));
    }

    /// Adds issues that were dropped before.
    pub(super) fn after(mut self, left: Vec<SkippedIssue>) -> Self {
        self.left.extend(left);
        self
    }
}

/// Why the verification command proves nothing.
enum VerificationGap {
    NotRun(String),
    /// It fails without the fixes too, with its output.
    FailsAnyway(String),
}

impl VerificationGap {
    /// Reason for issues that require verification, without the output.
    fn reason(&self) -> &'static str {
        match self {
            Self::NotRun(_) => "its fix must be tested, and the verify command could not be run",
            Self::FailsAnyway(_) => {
                "its fix must be tested, and the verify command already fails without the fix"
            }
        }
    }

    fn output(&self) -> &str {
        match self {
            Self::NotRun(why) | Self::FailsAnyway(why) => why,
        }
    }

    /// Warning for all other issues.
    fn warning(&self) -> String {
        let why = match self {
            Self::NotRun(_) => ": the verify command could not be run",
            Self::FailsAnyway(_) => ", because the verify command already fails without a fix",
        };
        format!("{NOT_VERIFIED}{why}: {}", self.output())
    }
}

fn failing(why: &str) -> String {
    format!("its fix was dropped, because `fix.verify` fails with it: {why}")
}

fn not_running(why: &str) -> String {
    format!("its fix was dropped, because `fix.verify` could not be run with it: {why}")
}

fn unknown(why: &str) -> String {
    format!("its fix could not be verified: {why}")
}

fn rejected_issues<'a>(
    unit: &'a FixUnit<'_>,
    why: &'a str,
) -> impl Iterator<Item = SkippedIssue> + 'a {
    unit.issues.iter().map(move |issue| SkippedIssue::rejected(issue.number, why))
}

fn skipped_issues<'a>(
    unit: &'a FixUnit<'_>,
    why: &'a str,
) -> impl Iterator<Item = SkippedIssue> + 'a {
    unit.issues.iter().map(move |issue| SkippedIssue::new(issue.number, why))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn new_control_character_is_noticed() {
        let edit = |before: Option<&[u8]>, after: &[u8]| FileEdit {
            path: "a.py".to_owned(),
            before: before.map(<[u8]>::to_vec),
            after: Some(after.to_vec()),
            issues: BTreeSet::new(),
        };
        assert!(adds_control_character(&edit(Some(b"x"), b"x\0")));
        assert!(adds_control_character(&edit(None, b"\x1b[2J")));
        assert!(!adds_control_character(&edit(Some(b"a\x1bb"), b"\x1bc")));
        assert!(!adds_control_character(&edit(Some(b"x"), b"\tx\r\n")));
    }
}
