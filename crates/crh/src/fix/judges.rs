//! Those who say whether fixes hold: the checks that need no model, and the command that verifies, if there is one.

use std::collections::BTreeMap;

use super::ground::Ground;
use super::outcome::Left;
use super::verification::{Said, Verification};
use crate::commands::interrupts;
use crate::failure::{Failure, Kind, OrFail};
use crh_pipeline::checks;
use crh_pipeline::fixer::FileEdit;
use crh_review::report::Issue;

const NO_VERIFICATION: &str =
    "it has to be verified, and the setting `fix.verify` names no command";

/// Something that is applied or not: the edits of one or more issues that cannot be told apart.
#[derive(Debug, Clone)]
pub(super) struct Unit<'r> {
    pub(super) issues: Vec<&'r Issue>,
    /// What was done about each of them.
    pub(super) described: BTreeMap<u32, String>,
    /// What a fixer changed; none where code makes the edits of several units together.
    pub(super) edits: Vec<FileEdit>,
}

/// What became of units that were held against judges.
pub(super) struct Held<'u, 'r> {
    pub(super) kept: Vec<&'u Unit<'r>>,
    pub(super) commit: String,
    pub(super) edits: Vec<FileEdit>,
    pub(super) left: Vec<Left>,
    pub(super) warnings: Vec<String>,
}

/// Those who say whether fixes hold.
pub(super) struct Judges<'g, 'b> {
    pub(super) ground: &'g Ground<'b>,
    /// The commit that fixes are put on top of.
    pub(super) base: &'g str,
    pub(super) verification: Option<&'g Verification<'b>>,
}

/// Makes edits of units that go together.
pub(super) type Made<'m, 'r> = &'m dyn Fn(&[&Unit<'r>]) -> Vec<FileEdit>;

/// What somebody has against fixes, as why they are left.
enum Objection {
    /// They do not hold together: some of them may.
    Against(String),
    /// Nobody knows whether they hold, and to look at fewer of them is no help.
    Unknown(String),
}

/// Who tells the units that hold from those that do not.
struct Sieve<'s, 'r> {
    made: Made<'s, 'r>,
    objection: &'s dyn Fn(&str) -> Option<Objection>,
}

impl Judges<'_, '_> {
    /// The units that hold: the checks have nothing against them, and the tree still works with them.
    pub(super) fn verified<'u, 'r>(
        &self,
        units: &'u [Unit<'r>],
        made: Made<'_, 'r>,
    ) -> Result<Held<'u, 'r>, Failure> {
        let all: Vec<&Unit<'r>> = units.iter().collect();
        let Some(verification) = self.verification else {
            return self.unverified(all, made, NO_VERIFICATION);
        };
        let held = self.checked(all, made)?;
        if held.kept.is_empty() {
            return Ok(held);
        }
        let said = |commit: &str| verification.of_commit(self.ground, commit);
        let (against, unproved) = match said(&held.commit) {
            Said::Passed => return Ok(held),
            Said::OutOfTime(why) => return Ok(self.untold(held, &unknown(&why))),
            Said::Failed(why) => (failing(&why), Unproved::FailsAnyway(why)),
            Said::Nothing(why) => (not_running(&why), Unproved::NotRun(why)),
        };
        match said(self.base) {
            Said::Passed => {
                let objection = |commit: &str| match said(commit) {
                    Said::Passed => None,
                    Said::Failed(why) => Some(Objection::Against(failing(&why))),
                    Said::Nothing(why) => Some(Objection::Against(not_running(&why))),
                    Said::OutOfTime(why) => Some(Objection::Unknown(unknown(&why))),
                };
                let sieve = Sieve { made, objection: &objection };
                Ok(self.sifted(&held.kept, &against, &sieve)?.after(held.left))
            }
            Said::Failed(_) => self.unproved(held, made, &unproved),
            Said::Nothing(why) => self.unproved(held, made, &Unproved::NotRun(why)),
            Said::OutOfTime(why) => Ok(self.untold(held, &unknown(&why))),
        }
    }

    /// None of these units, for nobody knows whether they hold.
    fn untold<'u, 'r>(&self, held: Held<'u, 'r>, why: &str) -> Held<'u, 'r> {
        let mut none = Held::nothing(self.base).after(held.left);
        none.leave(&held.kept, why);
        none
    }

    /// The units that hold where the command says nothing about them, and a word about that to whoever has set it up.
    fn unproved<'u, 'r>(
        &self,
        held: Held<'u, 'r>,
        made: Made<'_, 'r>,
        why: &Unproved,
    ) -> Result<Held<'u, 'r>, Failure> {
        let mut proved = self.unverified(held.kept, made, &why.left())?.after(held.left);
        proved.warnings.push(why.warning());
        Ok(proved)
    }

    /// The units that hold where nobody can say whether the tree works: those that need it are left.
    fn unverified<'u, 'r>(
        &self,
        units: Vec<&'u Unit<'r>>,
        made: Made<'_, 'r>,
        why: &str,
    ) -> Result<Held<'u, 'r>, Failure> {
        let needs = |unit: &&Unit<'_>| unit.issues.iter().any(|issue| issue.requires_verification);
        let (needing, others): (Vec<_>, Vec<_>) = units.into_iter().partition(needs);
        let left = needing.into_iter().flat_map(|unit| left_of(unit, why)).collect();
        Ok(self.checked(others, made)?.after(left))
    }

    /// The units that the checks have nothing against: all together, or else those that hold.
    fn checked<'u, 'r>(
        &self,
        units: Vec<&'u Unit<'r>>,
        made: Made<'_, 'r>,
    ) -> Result<Held<'u, 'r>, Failure> {
        if units.is_empty() {
            return Ok(Held::nothing(self.base));
        }
        let edits = made(&units);
        let commit = self.committed(&edits)?;
        let Some(against) = self.objection(&commit)? else {
            let (left, warnings) = (Vec::new(), Vec::new());
            return Ok(Held { kept: units, commit, edits, left, warnings });
        };
        let objection = |commit: &str| match self.objection(commit) {
            Ok(objection) => objection.map(Objection::Against),
            Err(failure) => {
                Some(Objection::Unknown(format!("the checks failed: {:#}", failure.error)))
            }
        };
        self.sifted(&units, &against, &Sieve { made, objection: &objection })
    }

    /// The units that nobody objects to, of those that there is this objection to when they are all together.
    fn sifted<'u, 'r>(
        &self,
        units: &[&'u Unit<'r>],
        against: &str,
        sieve: &Sieve<'_, 'r>,
    ) -> Result<Held<'u, 'r>, Failure> {
        let mut held = Held::nothing(self.base);
        self.sift(&mut held, units, against, sieve)?;
        Ok(held)
    }

    /// Adds those units that nobody objects to together with what is held, of those that there is this objection to. By halves: few
    /// of many are found in few looks, and a look may take minutes.
    fn sift<'u, 'r>(
        &self,
        held: &mut Held<'u, 'r>,
        units: &[&'u Unit<'r>],
        against: &str,
        sieve: &Sieve<'_, 'r>,
    ) -> Result<(), Failure> {
        let (first, second) = units.split_at(units.len() / 2);
        if first.is_empty() {
            held.leave(units, against);
            return Ok(());
        }
        let all = held.kept.len() + first.len();
        self.offer(held, first, sieve)?;
        match held.kept.len() == all {
            // What was objected to is these and those.
            true => self.sift(held, second, against, sieve),
            false => self.offer(held, second, sieve),
        }
    }

    /// Adds these units to what is held, or those of them that nobody objects to.
    fn offer<'u, 'r>(
        &self,
        held: &mut Held<'u, 'r>,
        units: &[&'u Unit<'r>],
        sieve: &Sieve<'_, 'r>,
    ) -> Result<(), Failure> {
        if interrupts::is_pressed() {
            return Ok(());
        }
        let with = [&held.kept, units].concat();
        let edits = (sieve.made)(&with);
        let commit = self.committed(&edits)?;
        match (sieve.objection)(&commit) {
            None => (held.kept, held.commit, held.edits) = (with, commit, edits),
            Some(Objection::Against(why)) => self.sift(held, units, &why, sieve)?,
            Some(Objection::Unknown(why)) => held.leave(units, &why),
        }
        Ok(())
    }

    /// What would be in the tree, as a commit.
    fn committed(&self, edits: &[FileEdit]) -> Result<String, Failure> {
        let files: Vec<crh_git::ChangedFile<'_>> =
            edits.iter().map(|edit| (edit.path.as_str(), edit.after.as_deref())).collect();
        self.ground.bare.amended(self.base, &files).or_fail(Kind::Outside)
    }

    /// What the checks say that need no model: of a fix, they find nothing new.
    fn objection(&self, commit: &str) -> Result<Option<String>, Failure> {
        let (begun, bare) = (self.ground.begun, self.ground.bare);
        let found = checks::objections(&begun.subject, &begun.checks, bare, self.base, commit);
        Ok(found.or_fail(Kind::Outside)?.first().map(|member| {
            let finding = &member.finding;
            let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
            let rule = member.rule.as_deref().unwrap_or(&member.reviewer);
            let place = format!("{}{line}", finding.file);
            format!("the checks object to its fix: {} ({place}, `{rule}`)", finding.title)
        }))
    }
}

impl<'u, 'r> Held<'u, 'r> {
    fn nothing(base: &str) -> Self {
        let commit = base.to_owned();
        let (left, warnings) = (Vec::new(), Vec::new());
        Self { kept: Vec::new(), commit, edits: Vec::new(), left, warnings }
    }

    fn leave(&mut self, units: &[&'u Unit<'r>], why: &str) {
        self.left.extend(units.iter().flat_map(|unit| left_of(unit, why)));
    }

    /// The same with what was left before.
    pub(super) fn after(mut self, left: Vec<Left>) -> Self {
        self.left.extend(left);
        self
    }
}

/// Why the command that verifies says nothing about fixes.
enum Unproved {
    NotRun(String),
    /// It fails without them, too; how that was seen.
    FailsAnyway(String),
}

impl Unproved {
    /// Why what has to be verified is left, in a sentence without its period.
    fn left(&self) -> String {
        match self {
            Self::NotRun(why) => {
                format!("it has to be verified, and `fix.verify` could not be run: {why}")
            }
            Self::FailsAnyway(why) => {
                format!("it has to be verified, and `fix.verify` fails without it, too: {why}")
            }
        }
    }

    /// The same for everything else.
    fn warning(&self) -> String {
        match self {
            Self::NotRun(why) => {
                format!("no fix was verified: `fix.verify` could not be run: {why}")
            }
            Self::FailsAnyway(why) => {
                format!("no fix was verified: `fix.verify` fails without any fix, too: {why}")
            }
        }
    }
}

fn failing(why: &str) -> String {
    format!("its fix was reverted, since `fix.verify` fails with it: {why}")
}

fn not_running(why: &str) -> String {
    format!("its fix was reverted, since `fix.verify` could not be run with it: {why}")
}

fn unknown(why: &str) -> String {
    format!("it is not known whether its fix holds: {why}")
}

fn left_of<'a>(unit: &'a Unit<'_>, why: &'a str) -> impl Iterator<Item = Left> + 'a {
    unit.issues.iter().map(move |issue| Left::new(issue.number, why))
}
