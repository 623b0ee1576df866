//! What fixes come to before anything is written: the commit that the tree would be, the fixes in it that hold, and why the others
//! do not.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crh_git::Objects;
use crh_pipeline::checks;
use crh_pipeline::fixer::FileEdit;
use crh_review::diff::Diff;
use crh_review::diff::LineKind;
use crh_review::report::AppliedFix;
use crh_review::report::Issue;

use super::edits::Changed;
use super::edits::Texts;
use super::edits::is_exact;
use super::edits::replaced;
use super::ground::Ground;
use super::ground::Start;
use super::ground::moved_words;
use super::journal::Locked;
use super::outcome::Left;
use super::repair::Part;
use super::repair::Repaired;
use super::repair::repaired;
use super::verification::Said;
use super::verification::Verification;
use crate::commands::interrupts;
use crate::config::environment::Environment;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;

const NO_VERIFICATION: &str =
    "it has to be verified, and the setting `fix.verify` names no command";

/// What fixes come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Proposal {
    /// The tree without the fixes, as a commit of the private store.
    pub(super) from: String,
    /// The tree with the fixes in it.
    pub(super) commit: String,
    pub(super) fixes: Vec<AppliedFix>,
    /// The files that they change.
    pub(super) paths: BTreeSet<String>,
    /// Those of them that were not as they were reviewed.
    pub(super) edited: BTreeSet<String>,
    pub(super) left: Vec<Left>,
    /// What has to be known of all of it.
    pub(super) warnings: Vec<String>,
}

impl Proposal {
    /// Both, of which the other one is on top.
    pub(super) fn then(self, other: Self) -> Self {
        let mut left = [self.left, other.left].concat();
        left.sort();
        let mut fixes = [self.fixes, other.fixes].concat();
        fixes.sort_by_key(|fix| fix.number);
        Self {
            from: self.from,
            commit: other.commit,
            fixes,
            paths: self.paths.into_iter().chain(other.paths).collect(),
            edited: self.edited.into_iter().chain(other.edited).collect(),
            left,
            warnings: [self.warnings, other.warnings].concat(),
        }
    }

    /// Nothing of it, and why.
    pub(super) fn refused(self, why: &str) -> Self {
        let more = self.fixes.iter().map(|fix| Left::new(fix.number, why));
        let left = self.left.into_iter().chain(more).collect();
        let (commit, warnings) = (self.from.clone(), self.warnings);
        Self { left, warnings, ..Self::nothing(commit) }
    }

    fn nothing(from: String) -> Self {
        Self {
            commit: from.clone(),
            from,
            fixes: Vec::new(),
            paths: BTreeSet::new(),
            edited: BTreeSet::new(),
            left: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

/// Something that is applied or not: the edits of one or more issues that cannot be told apart.
#[derive(Debug, Clone)]
struct Unit<'r> {
    issues: Vec<&'r Issue>,
    /// What was done about each of them.
    described: BTreeMap<u32, String>,
    /// What a fixer changed; none where code makes the edits of several units together.
    edits: Vec<FileEdit>,
}

/// What became of units that were held against judges.
struct Held<'u, 'r> {
    kept: Vec<&'u Unit<'r>>,
    commit: String,
    edits: Vec<FileEdit>,
    left: Vec<Left>,
    warnings: Vec<String>,
}

/// Finds out what can be done about issues, without changing anything but the private store: by code, which is all that comes with an
/// exact replacement; and by a fixer, on top of that, all that does not.
pub(super) fn propose(
    ground: &Ground<'_>,
    checkout: &Locked,
    issues: &[&Issue],
    environment: &Environment,
) -> Result<(Proposal, Proposal), Failure> {
    let verification = Verification::of(ground.begun, environment);
    let (exact, inexact): (Vec<&Issue>, Vec<&Issue>) =
        issues.iter().partition(|issue| is_exact(issue));
    let first = by_code(ground, checkout, exact, verification.as_ref())?;
    let second = by_model(ground, checkout, &inexact, &first.commit, verification.as_ref())?;
    Ok((first, second))
}

/// The exact replacements. What somebody has changed in their files stays; only their surroundings have to be as they were reviewed.
fn by_code(
    ground: &Ground<'_>,
    checkout: &Locked,
    exact: Vec<&Issue>,
    verification: Option<&Verification<'_>>,
) -> Result<Proposal, Failure> {
    let files = exact.iter().map(|issue| issue.location.file.as_str()).collect();
    let start = ground.start(checkout, &files)?;
    let texts = texts(ground, &start, &exact)?;
    let first = replaced(&exact, &texts);
    let usable: BTreeSet<u32> = first.edits.iter().flat_map(|edit| edit.issues.clone()).collect();
    let usable = exact.into_iter().filter(|issue| usable.contains(&issue.number));
    let units: Vec<Unit<'_>> = usable
        .map(|issue| Unit {
            issues: vec![issue],
            described: BTreeMap::from([(issue.number, described(issue))]),
            edits: Vec::new(),
        })
        .collect();
    let made = |units: &[&Unit<'_>]| {
        let issues: Vec<&Issue> = units.iter().flat_map(|unit| unit.issues.clone()).collect();
        replaced(&issues, &texts).edits
    };
    let judges = Judges { ground, base: &start.commit, verification };
    let held = judges.verified(&units, &made)?.after(first.left);
    let mut proposal = held.into_proposal(&start.commit);
    proposal.edited = start.edited.intersection(&proposal.paths).cloned().collect();
    Ok(proposal)
}

/// What a fixer does about the others, on top of a commit.
fn by_model(
    ground: &Ground<'_>,
    checkout: &Locked,
    issues: &[&Issue],
    base: &str,
    verification: Option<&Verification<'_>>,
) -> Result<Proposal, Failure> {
    let nothing = Proposal::nothing(base.to_owned());
    if issues.is_empty() || interrupts::is_pressed() {
        return Ok(nothing);
    }
    // Nobody pays for what could not be applied.
    if ground.begun.crew.is_some()
        && let Some(why) = moved_words(&ground.moved(checkout)?)
    {
        let left = issues.iter().map(|issue| Left::new(issue.number, &why)).collect();
        return Ok(Proposal { left, ..nothing });
    }
    let Repaired { parts, described, left } = repaired(ground, issues, base)?;
    let unit = |part: Part| {
        let of_part = issues.iter().filter(|issue| part.issues.contains(&issue.number));
        let described = described.iter().filter(|(number, _)| part.issues.contains(number));
        Unit {
            issues: of_part.copied().collect(),
            described: described.map(|(number, what)| (*number, what.clone())).collect(),
            edits: part.edits,
        }
    };
    let units: Vec<Unit<'_>> = parts.into_iter().map(unit).collect();
    let made = |units: &[&Unit<'_>]| units.iter().flat_map(|unit| unit.edits.clone()).collect();
    let judges = Judges { ground, base, verification };
    Ok(judges.verified(&units, &made)?.after(left).into_proposal(base))
}

/// Those who say whether fixes hold.
struct Judges<'g, 'b> {
    ground: &'g Ground<'b>,
    /// The commit that fixes are put on top of.
    base: &'g str,
    verification: Option<&'g Verification<'b>>,
}

/// Makes edits of units that go together.
type Made<'m, 'r> = &'m dyn Fn(&[&Unit<'r>]) -> Vec<FileEdit>;

impl Judges<'_, '_> {
    /// The units that hold: the checks have nothing against them, and the tree still works with them.
    fn verified<'u, 'r>(
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
        let why = match said(&held.commit) {
            Said::Passed => return Ok(held),
            Said::Nothing(why) => return self.unproved(held, made, &Unproved::NotRun(why)),
            Said::Failed(why) => why,
        };
        match said(self.base) {
            Said::Passed => {
                let left = held.left.clone();
                let kept = self.one_by_one(&held.kept, made, &|commit| match said(commit) {
                    Said::Passed => None,
                    Said::Failed(why) | Said::Nothing(why) => Some(reverted(&why)),
                });
                Ok(kept?.after(left))
            }
            Said::Failed(_) => self.unproved(held, made, &Unproved::FailsAnyway(why)),
            Said::Nothing(why) => self.unproved(held, made, &Unproved::NotRun(why)),
        }
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

    /// The units that the checks have nothing against: all together, or else each that holds with those before it.
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
        if self.objection(&commit)?.is_none() {
            let (left, warnings) = (Vec::new(), Vec::new());
            return Ok(Held { kept: units, commit, edits, left, warnings });
        }
        self.one_by_one(&units, made, &|commit| match self.objection(commit) {
            Ok(objection) => objection,
            Err(failure) => Some(format!("the checks failed: {:#}", failure.error)),
        })
    }

    /// Each unit that nobody objects to together with those before it.
    fn one_by_one<'u, 'r>(
        &self,
        units: &[&'u Unit<'r>],
        made: Made<'_, 'r>,
        objection: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Held<'u, 'r>, Failure> {
        let mut held = Held::nothing(self.base);
        for unit in units {
            if interrupts::is_pressed() {
                break;
            }
            let mut with = held.kept.clone();
            with.push(unit);
            let edits = made(&with);
            let commit = self.committed(&edits)?;
            match objection(&commit) {
                None => (held.kept, held.commit, held.edits) = (with, commit, edits),
                Some(why) => held.left.extend(left_of(unit, &why)),
            }
        }
        Ok(held)
    }
}

impl Judges<'_, '_> {
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

impl Held<'_, '_> {
    fn nothing(base: &str) -> Self {
        let commit = base.to_owned();
        let (left, warnings) = (Vec::new(), Vec::new());
        Self { kept: Vec::new(), commit, edits: Vec::new(), left, warnings }
    }

    /// The same with what was left before.
    fn after(mut self, left: Vec<Left>) -> Self {
        self.left.extend(left);
        self
    }

    fn into_proposal(self, from: &str) -> Proposal {
        Proposal {
            fixes: self.kept.iter().flat_map(|unit| fixes(unit, &self.edits)).collect(),
            paths: self.edits.into_iter().map(|edit| edit.path).collect(),
            commit: self.commit,
            left: self.left,
            warnings: self.warnings,
            ..Proposal::nothing(from.to_owned())
        }
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

fn reverted(why: &str) -> String {
    format!("its fix was reverted, since `fix.verify` fails with it: {why}")
}

fn left_of<'a>(unit: &'a Unit<'_>, why: &'a str) -> impl Iterator<Item = Left> + 'a {
    unit.issues.iter().map(move |issue| Left::new(issue.number, why))
}

/// The files of issues as they were when the issues were found and as they are now, by the numbers of the issues.
fn texts(
    ground: &Ground<'_>,
    start: &Start,
    issues: &[&Issue],
) -> Result<BTreeMap<u32, Result<Texts, String>>, Failure> {
    let objects = ground.bare.objects().or_fail(Kind::Outside)?;
    let mut since: BTreeMap<&str, Diff> = BTreeMap::new();
    for issue in issues {
        let found_on = ground.found_on(issue.number);
        if !since.contains_key(found_on) {
            let diff = ground.bare.diff(found_on, &start.commit).or_fail(Kind::Outside)?;
            since.insert(found_on, Diff::read(diff));
        }
    }
    let of = |issue: &&Issue| {
        let path = issue.location.file.as_str();
        let found_on = ground.found_on(issue.number);
        let text = |commit: &str| text(&objects, commit, path);
        let changed = since.get(found_on).map(|diff| changed(diff, path)).unwrap_or_default();
        let texts = match start.barred.get(path) {
            Some(why) => Err(why.clone()),
            None => text(found_on)
                .and_then(|reviewed| Ok(Texts { reviewed, now: text(&start.commit)?, changed })),
        };
        (issue.number, texts)
    };
    Ok(issues.iter().map(of).collect())
}

fn text(objects: &Objects, commit: &str, path: &str) -> Result<Vec<u8>, String> {
    match objects.file_if_any(commit, path.as_bytes()) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("there is no file `{path}`")),
        Err(why) => Err(why.to_string()),
    }
}

/// What a diff changes in a file.
fn changed(diff: &Diff, path: &str) -> Vec<Changed> {
    let file = diff.files().iter().find(|file| file.path.shown() == path);
    let mut all: Vec<Changed> = Vec::new();
    for hunk in file.iter().flat_map(|file| &file.hunks) {
        let start = usize::try_from(hunk.old.start).unwrap_or_default();
        // An empty run starts behind its line.
        let mut next = if hunk.old.len == 0 { start } else { start.saturating_sub(1) };
        let mut run = Changed { at: next, were: 0, are: 0 };
        let keep = |run: Changed, all: &mut Vec<Changed>| {
            if run.were + run.are > 0 {
                all.push(run);
            }
        };
        for line in diff.lines(hunk) {
            match line.kind {
                LineKind::Context => {
                    keep(run, &mut all);
                    next += 1;
                    run = Changed { at: next, were: 0, are: 0 };
                }
                LineKind::Removed => (run.were, next) = (run.were + 1, next + 1),
                LineKind::Added => run.are += 1,
                LineKind::Remark => {}
            }
        }
        keep(run, &mut all);
    }
    all
}

/// What a replacement does, in the words of whoever proposed it.
fn described(issue: &Issue) -> String {
    let said = issue.suggestion.lines().next().unwrap_or_default().trim();
    let (start, end) = (issue.location.line_start, issue.location.line_end);
    match said.is_empty() {
        false => said.to_owned(),
        true if start == end => format!("replaced line {start}"),
        true => format!("replaced lines {start} to {end}"),
    }
}

/// What was done about the issues of a unit.
fn fixes(unit: &Unit<'_>, edits: &[FileEdit]) -> Vec<AppliedFix> {
    let fix = |issue: &&Issue| {
        let number = issue.number;
        let files = edits.iter().filter(|edit| edit.issues.contains(&number));
        AppliedFix {
            number,
            description: unit.described.get(&number).cloned().unwrap_or_default(),
            files: files.map(|edit| edit.path.clone()).collect(),
        }
    };
    unit.issues.iter().map(fix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_diff_changes_is_told_by_runs() {
        let diff = "\
diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,5 +1,6 @@
-one
+1
+1.5
 two
-three
 four
+4.5
 five
@@ -9,0 +10,1 @@
+ten
";
        let diff = Diff::read(diff.as_bytes().to_vec());
        let expected = [(0, 1, 2), (2, 1, 0), (4, 0, 1), (9, 0, 1)]
            .map(|(at, were, are)| Changed { at, were, are });
        assert_eq!(changed(&diff, "a.py"), expected);
        assert_eq!(changed(&diff, "b.py"), []);
    }
}
