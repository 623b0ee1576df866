//! Reviews fixed files again and adds new issues to the report. An open issue stays open even if
//! this review does not find it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::sync::Arc;

use super::super::change_source::AttributesAt;
use super::super::{change_source, run_lookup};
use super::outcome::ReviewEnding;
use super::runner;
use super::runner::EndedReview;
use super::session::ReviewSession;
use crate::config::environment::Environment;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix;
use crate::fix::found_on::keep_found_on;
use crate::fix::review_marks::{FixReviewEnd, mark_files};
use crate::fix::{AppliedFixes, EarlierFindings, FixReviewResult};
use crate::ui::Verbosity;
use crh_git::BareRepository;
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::incremental::{HeadChange, IncrementalReview};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::tools::{ToolContext, ToolError};
use crh_pipeline::workspace::Workspace;
use crh_pipeline::{prepare, resolve, workspace};
use crh_review::diff::Diff;
use crh_review::finding::{Evidence, Finding, Member, Severity};
use crh_review::report::{
    AppliedFix, CoverageState, Decimal, DroppedFinding, Fate, FixOutcome, Issue, Report,
    RunOutcome, Stats, Status,
};
use crh_review::verdict::has_lost_findings;
use crh_review::{Location, add_places, set_other_places};

/// Warning if the user stopped the repeated review.
pub(super) const REPEATED_REVIEW_STOPPED: &str = "the repeated review of the fixes was stopped";
/// Reason for hiding a finding milder than P1 in a file without a fix. The first review has already
/// reviewed that file.
const OUTSIDE_FIXES: &str = "the review of the fixes found it in a file without a fix";

/// Reviews the fixed files and adds new issues to the report.
pub(super) fn review(
    session: &ReviewSession,
    report: &mut Report,
    applied: &[AppliedFix],
    round: u32,
    verbosity: Verbosity,
    environment: &Environment,
) -> Result<ReviewEnding, Failure> {
    let Some((bare, reviewed)) = &session.files else { return Ok(ReviewEnding::Finished) };
    let Some(run) = session.place.folder() else { return Ok(ReviewEnding::Finished) };
    let applied_fixes = AppliedFixes::load(run)?;
    let Some(now) = applied_fixes.commit().map(str::to_owned) else {
        return Ok(ReviewEnding::Finished);
    };
    let now = now.as_str();
    let changed: BTreeSet<String> =
        applied.iter().flat_map(|fix| fix.files.iter().cloned()).collect();
    let spent = run.spent_before().map_err(run_lookup::folder_failure)?;
    let folder = run.fix_round(round).or_fail(FailureKind::External)?;
    let subject = subject(session, (bare, reviewed, now), &changed, &folder.workspace())?;
    let EndedReview { report: second, end, write_problems: _ } =
        runner::review_fixes_again(session, &subject, &folder, spent, verbosity, environment)?;
    let second = match end {
        ReviewEnding::Finished => second,
        // Stopped reviewers did not fail.
        ReviewEnding::Interrupted => Report { reviewers: Vec::new(), ..second },
    };
    let result = match end {
        ReviewEnding::Finished if is_verifying(&second, &changed) => FixReviewResult::Verifying,
        ReviewEnding::Finished | ReviewEnding::Interrupted => FixReviewResult::Incomplete,
    };
    match end {
        ReviewEnding::Finished => {
            let left = unreviewed(&second, &changed);
            mark_files(session, report, &changed, &left, FixReviewEnd::Ended(second.status));
        }
        // The marks are there, unless an earlier attempt has ended this review.
        ReviewEnding::Interrupted => {
            mark_files(session, report, &changed, &changed, FixReviewEnd::Stopped);
        }
    }
    let open_places = fix::open_places_at(session, report, now)?;
    let earlier = EarlierFindings::new(report);
    let new = merge_findings(report, second, &changed, &open_places);
    let undo = Diff::read(bare.diff(now, reviewed).or_fail(FailureKind::External)?);
    fix::keep_later_findings(session, run, &undo, report, &earlier, &new.found_again)
        .or_fail(FailureKind::External)?;
    let found_here = [new.numbers, new.moved].concat();
    keep_found_on(run, &found_here, now).or_fail(FailureKind::External)?;
    let updated = applied_fixes
        .keep_repeated_review(run, new.found_again, result)
        .or_fail(FailureKind::External)?;
    report.applied_fixes = updated.applied();
    if end == ReviewEnding::Interrupted {
        fix::warn(report, &[REPEATED_REVIEW_STOPPED.to_owned()]);
    }
    fix::up_to_date(session, report);
    Ok(end)
}

/// The change including its fixes, restricted to the fixed files.
fn subject(
    session: &ReviewSession,
    (bare, reviewed, now): (&BareRepository, &str, &str),
    changed: &BTreeSet<String>,
    folder: &std::path::Path,
) -> Result<ChangeUnderReview, Failure> {
    let before = &session.subject;
    let base = before.report_change.base_sha.clone();
    let diff = Diff::read(bare.diff(&base, now).or_fail(FailureKind::External)?);
    let objects = bare.objects().or_fail(FailureKind::External)?;
    let body = before.workspace().map(|workspace| workspace.metadata().body.clone());
    let change = resolve::PinnedChange {
        base: Some(base.clone()),
        head: Some(now.to_owned()),
        source: before.report_change.head_ref.clone(),
        target: before.report_change.base_ref.clone(),
        title: before.report_change.title.clone(),
        body: body.unwrap_or_default(),
        author: before.report_change.author.clone(),
        created_at: None,
        commits: Vec::new(),
        diff,
        untracked: Vec::new(),
        notes: Vec::new(),
        proposed: None,
    };
    // A fix may change a file outside the paths that restrict the review.
    let mut settings = session.settings.clone();
    settings.scope_paths.value.0.clear();
    let (scope, _) = change_source::decide_scope(
        &settings,
        &change.diff,
        Some((&base, now)),
        Some(&objects),
        &AttributesAt::Old,
    )?;
    let paths = change.diff.files().iter().map(|file| file.path.shown().into_owned());
    let unchanged = paths.filter(|path| !changed.contains(path)).collect();
    let (contents, notes) =
        prepare::workspace_contents(change, Some(&objects)).or_fail(FailureKind::External)?;
    workspace::write_workspace(&contents, folder).or_fail(FailureKind::External)?;
    let workspace = Workspace::open(folder).or_fail(FailureKind::External)?;
    let Some(round) = workspace.latest() else {
        return Err(Failure::usage("the workspace of the fixes has no diff"));
    };
    let diff: Arc<Diff> = workspace.diff(&round.id).or_fail(FailureKind::External)?;
    let revisions = Revisions::new(bare.clone(), &base, now).or_fail(FailureKind::External)?;
    let analysers = session.checks.analysers.clone();
    let tool_context = ToolContext::new().with_workspace(workspace).with_analysers(analysers);
    let tool_context = tool_context.with_repository(move || Ok::<_, ToolError>(revisions));
    let subject = ChangeUnderReview {
        tool_context,
        diff,
        scope,
        report_change: before.report_change.clone(),
        untracked: Vec::new(),
        notes,
        incremental: None,
        lessons: before.lessons.clone(),
    };
    let head = reviewed.to_owned();
    Ok(subject.into_incremental(IncrementalReview {
        head,
        head_change: HeadChange::Moved,
        unchanged_files: unchanged,
        issues: Vec::new(),
    }))
}

/// Places by issue number.
type OpenPlaces = BTreeMap<u32, Vec<Location>>;

/// Issues that a repeated review added or found again.
struct RepeatFindings {
    /// Numbers of the new issues.
    numbers: Vec<u32>,
    /// Fixed issues that were found again.
    found_again: Vec<u32>,
    /// Issues that now have their place in the fixed code.
    moved: Vec<u32>,
}

/// Whether a repeated review verifies the fixes of these files: it is complete, models have reviewed
/// all files, and no finding was lost.
fn is_verifying(second: &Report, changed: &BTreeSet<String>) -> bool {
    let is_reviewed = |path: &String| {
        let file = second.coverage.iter().find(|file| file.path == *path);
        file.is_some_and(|file| file.state == CoverageState::Reviewed)
    };
    !is_cut_short(second) && !has_lost_findings(second) && changed.iter().all(is_reviewed)
}

/// Fixed files that a repeated review did not fully review. A file that is no longer part of the
/// change needs no review.
fn unreviewed(second: &Report, changed: &BTreeSet<String>) -> BTreeSet<String> {
    let is_unreviewed = |state: CoverageState| match state {
        CoverageState::Reviewed => is_cut_short(second),
        CoverageState::Truncated | CoverageState::NotReviewed => true,
        CoverageState::OutOfScope | CoverageState::ReviewedBefore => false,
    };
    let files = second.coverage.iter().filter(|file| changed.contains(&file.path));
    files.filter(|file| is_unreviewed(file.state)).map(|file| file.path.clone()).collect()
}

/// Whether something is missing in a repeated review, perhaps without a mark at a file: a reviewer,
/// check or validation failed, or a limit ended it.
fn is_cut_short(second: &Report) -> bool {
    second.status > Status::Ok || second.failed_reviewers().next().is_some()
}

/// Adds new issues with the next numbers, adds dropped findings, and reopens fixed issues that were
/// found again. A known issue keeps the more urgent severity. `open_places` are the places that
/// partial fixes left open, in the fixed code: a finding there says nothing against the fix.
fn merge_findings(
    report: &mut Report,
    second: Report,
    changed: &BTreeSet<String>,
    open_places: &OpenPlaces,
) -> RepeatFindings {
    let known = |issue: &Issue| {
        let all = || report.all_issues().chain(&report.pre_existing);
        let has_fix = |it: &&Issue| report.fix_of(it.number).is_some();
        let same_key = all().find(|it| it.dedupe_key == issue.dedupe_key);
        let known = same_key
            .or_else(|| all().find(|it| has_fix(it) && is_same_issue(it, issue)))
            .or_else(|| all().find(|it| has_fix(it) && shares_finding(it, issue)));
        known.map(|it| it.number)
    };
    let mut suppressed = without_issues(&second);
    let is_old = |number: u32| report.pre_existing.iter().any(|it| it.number == number);
    let (mut new, mut old, mut outgrown) = (Vec::new(), Vec::new(), BTreeSet::new());
    let mut again = Vec::new();
    // The limit on issues holds for the first review only. It must not hide a problem of a fix.
    for issue in second.issues.into_iter().chain(second.over_cap).chain(second.pre_existing) {
        let is_fixed_file = changed.contains(&issue.location.file);
        match known(&issue) {
            // The repeated review does not count this issue as pre-existing, so it becomes a new
            // one.
            Some(number) if is_old(number) && !issue.pre_existing => {
                outgrown.insert(number);
                new.push(issue);
            }
            Some(number) => again.push((number, issue)),
            None if issue.pre_existing => old.push(issue),
            None if is_fixed_file || issue.severity <= Severity::P1 => new.push(issue),
            None => suppressed.extend(dropped_findings(issue)),
        }
    }
    suppressed.retain(|dropped| report.suppressed.iter().all(|it| !is_same(it, dropped)));
    report.suppressed.extend(suppressed);
    report.pre_existing.retain(|it| !outgrown.contains(&it.number));
    let is_of_a_fix = |(number, issue): &&(u32, Issue)| {
        let is_open = |it: &Location| it.overlaps(&issue.location);
        let is_left_open = open_places.get(number).is_some_and(|it| it.iter().any(is_open));
        !is_left_open && (changed.contains(&issue.location.file) || report.is_fixed(*number))
    };
    let found_again = again.iter().filter(is_of_a_fix).map(|(number, _)| *number).collect();
    let found_again = warn_found_again(report, &found_again);
    let moved = update_known(report, again, open_places);
    let last = report.all_issues().chain(&report.pre_existing).map(|issue| issue.number).max();
    let mut free = last.unwrap_or_default() + 1..;
    let numbers: Vec<u32> = free.by_ref().take(new.len()).collect();
    report
        .issues
        .extend(numbers.iter().copied().zip(new).map(|(number, issue)| Issue { number, ..issue }));
    report.pre_existing.extend(free.zip(old).map(|(number, issue)| Issue { number, ..issue }));
    let failed = second.reviewers.into_iter().filter(|row| row.outcome == RunOutcome::Failed);
    let failed =
        failed.map(|row| format!("in the repeated review of the fixes, {}", row.failure()));
    fix::warn(report, &failed.collect::<Vec<_>>());
    report.stats = combined_stats(&report.stats, &second.stats);
    RepeatFindings { numbers, found_again, moved }
}

/// The dropped findings of a report, without those of the issues over its limit on issues.
fn without_issues(report: &Report) -> Vec<DroppedFinding> {
    let of_issues: BTreeSet<&Member> =
        report.over_cap.iter().flat_map(|issue| &issue.members).collect();
    let has_issue = |dropped: &DroppedFinding| {
        let member = dropped.member.as_ref();
        dropped.fate == Fate::OverCap && member.is_some_and(|it| of_issues.contains(it))
    };
    report.suppressed.iter().filter(|dropped| !has_issue(dropped)).cloned().collect()
}

/// Whether a repeated review found a fixed issue again. A fix changes the lines that identify an
/// issue, and a model may give it another title.
fn is_same_issue(known: &Issue, new: &Issue) -> bool {
    let has_replacement = |member: &Member| member.finding.replacement == new.replacement;
    known.dedupe_key == new.dedupe_key
        || known.location.file == new.location.file
            && (known.title == new.title
                || new.replacement.is_some() && known.members.iter().any(has_replacement))
}

/// Whether an issue has a finding of a group of findings. The key and the title of a group are those
/// of one place only, so crh compares its findings.
fn shares_finding(group: &Issue, new: &Issue) -> bool {
    let is_in_group = |member: &Member| {
        group.members.iter().any(|known| is_same_finding(&known.finding, &member.finding))
    };
    group.members.len() > 1 && new.members.iter().any(is_in_group)
}

/// Whether two findings are about the same code, or have the same title in the same file.
fn is_same_finding(one: &Finding, other: &Finding) -> bool {
    let side = |finding: &Finding| finding.side.unwrap_or_default();
    let quote = quoted_words(one);
    (&one.file, side(one)) == (&other.file, side(other))
        && (one.title == other.title
            || one.category.family() == other.category.family()
                && !quote.is_empty()
                && quote == quoted_words(other))
}

/// The words of the first quote that a finding has from its file. Empty without one.
fn quoted_words(finding: &Finding) -> Vec<&str> {
    let is_own = |quote: &&Evidence| quote.file.as_ref().is_none_or(|file| *file == finding.file);
    let quote = finding.evidence.iter().find(is_own);
    quote.map(|quote| quote.snippet.split_whitespace().collect()).unwrap_or_default()
}

/// Turns an open issue into findings that the report does not show. The issue still counts for the
/// verdict.
fn dropped_findings(issue: Issue) -> impl Iterator<Item = DroppedFinding> {
    let second_look = issue.second_look();
    let Issue { severity, members, .. } = issue;
    members.into_iter().enumerate().map(move |(index, member)| {
        let dropped = DroppedFinding::new(member, Fate::Minor, OUTSIDE_FIXES);
        if index == 0 { dropped.still_open(severity, second_look) } else { dropped }
    })
}

/// Whether two reviews dropped the same finding. Ignores lines, because a fix may have moved them,
/// the reason, because it may name a line, and the result of the second look.
fn is_same(one: &DroppedFinding, other: &DroppedFinding) -> bool {
    let without_lines = |dropped: &DroppedFinding| {
        let mut dropped =
            DroppedFinding { reason: String::new(), validation: None, ..dropped.clone() };
        if let Some(Member { finding, .. }) = &mut dropped.member {
            (finding.line_start, finding.line_end, finding.diff_line) = (None, None, None);
            finding.evidence.iter_mut().for_each(|quote| quote.line = None);
        }
        dropped
    };
    without_lines(one) == without_lines(other)
}

/// Warns about fixed issues that were found again, unless an earlier review found them again
/// already. Returns the numbers of the issues in the warnings.
fn warn_found_again(report: &mut Report, found_again: &BTreeSet<u32>) -> Vec<u32> {
    let is_new = |fix: &AppliedFix| fix.outcome != FixOutcome::FoundAgain;
    let fixed = found_again.iter().filter(|number| report.fix_of(**number).is_some_and(is_new));
    let fixed: Vec<u32> = fixed.copied().collect();
    let warnings = fixed.iter().map(|number| fix::found_again_warning(*number));
    fix::warn(report, &warnings.collect::<Vec<_>>());
    fixed
}

/// Raises the severity of known issues, and makes them actionable if the second review does. An
/// issue with a fix gets its place in the fixed code, and loses its replacement, which is already
/// applied. If the second review found it at another place than the texts are about, it gets the
/// texts of that review, too. It keeps the places that its fix left open. If the second review found
/// several issues that are one known issue, the others add their places. Returns the numbers of the
/// issues with a fix.
fn update_known(
    report: &mut Report,
    again: Vec<(u32, Issue)>,
    open_places: &OpenPlaces,
) -> Vec<u32> {
    let mut moved = Vec::new();
    for (number, second) in again {
        let fix_outcome = report.fix_of(number).map(|fix| fix.outcome);
        let mut issues = report.issues.iter_mut().chain(&mut report.over_cap);
        let Some(issue) = issues.find(|issue| issue.number == number) else { continue };
        // The texts of an issue with a partial fix are about the place that the fix left open.
        let is_partial =
            matches!(fix_outcome, Some(FixOutcome::Partial | FixOutcome::PartlyReverted));
        let is_elsewhere = is_partial || !is_same_issue(issue, &second);
        fix::raise(issue, &second);
        if fix_outcome.is_none() {
            continue;
        }
        if moved.contains(&number) {
            let dropped = merge_into(issue, second);
            let is_new =
                |it: &DroppedFinding| report.suppressed.iter().all(|known| !is_same(known, it));
            let dropped: Vec<DroppedFinding> = dropped.into_iter().filter(is_new).collect();
            report.suppressed.extend(dropped);
            continue;
        }
        moved.push(number);
        if is_elsewhere {
            (issue.title, issue.language) = (second.title, second.language);
            (issue.why_it_matters, issue.description) = (second.why_it_matters, second.description);
            (issue.suggested_fix, issue.suggestion) = (second.suggested_fix, second.suggestion);
            issue.other_places = second.other_places;
        } else {
            set_other_places(issue, second.other_places);
        }
        issue.location = second.location;
        (issue.evidence, issue.evidence_snippet) = (second.evidence, second.evidence_snippet);
        (issue.relocated_from, issue.replacement) = (second.relocated_from, None);
        if let Some(places) = open_places.get(&number) {
            add_places(issue, places);
        }
    }
    moved
}

/// Adds the places of an issue to another one. Returns its findings, which the report does not show.
fn merge_into(issue: &mut Issue, other: Issue) -> Vec<DroppedFinding> {
    let places: Vec<Location> = iter::once(other.location).chain(other.other_places).collect();
    add_places(issue, &places);
    let reason = format!("duplicate of \"{}\"", issue.title);
    let dropped = |member: Member| DroppedFinding {
        into: Some(issue.dedupe_key.clone()),
        ..DroppedFinding::new(member, Fate::Merged, reason.clone())
    };
    other.members.into_iter().map(dropped).collect()
}

/// Adds up the time of model calls, and takes the longer total time, because both are measured from
/// the start of the command. Leaves the cost unchanged: crh computes it from the transcripts.
fn combined_stats(one: &Stats, other: &Stats) -> Stats {
    let llm = one.latency_seconds_llm.0.saturating_add(other.latency_seconds_llm.0);
    Stats {
        latency_seconds_e2e: other.latency_seconds_e2e.max(one.latency_seconds_e2e),
        latency_seconds_llm: Decimal(llm),
        ..one.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crh_review::finding::Origin;
    use crh_review::report::{FileCoverage, ReviewerRow};

    fn issue(number: u32) -> Issue {
        let issue = json!({
            "number": number, "dedupe_key": format!("{number:016x}"), "severity": "P1",
            "title": format!("Trouble {number}"), "category": "bug", "file": "a.rs", "side": "new",
            "line_start": 1, "line_end": 1, "confidence": 0.8, "why_it_matters": "",
            "description": "", "suggestion": "", "evidence_snippet": "", "reviewers": [],
            "language": "rust", "evidence": [], "tier": "primary", "validation": "not_run",
            "autofix_class": "manual", "owner": "downstream-resolver", "queue": "residual",
            "action": "defer", "requires_verification": false, "pre_existing": false, "members": [],
        });
        serde_json::from_value(issue).unwrap()
    }

    #[test]
    fn warning_about_a_failed_reviewer_says_why_it_failed() {
        let failed = ReviewerRow {
            name: "correctness".to_owned(),
            origin: Origin::Model,
            why: String::new(),
            outcome: RunOutcome::Failed,
            note: "the server read only half of the prompt; raise its context length".to_owned(),
        };
        let second = Report { reviewers: vec![failed], ..Report::default() };
        let mut report = Report::default();
        merge_findings(&mut report, second, &BTreeSet::new(), &OpenPlaces::new());
        let why = "reviewer correctness failed: the server read only half of the prompt; raise its context length";
        assert_eq!(report.warnings, [format!("in the repeated review of the fixes, {why}")]);
    }

    #[test]
    fn fixed_issue_is_found_again_although_it_counts_as_old() {
        let fixed = issue(1);
        let file = fixed.location.file.clone();
        let fix = AppliedFix {
            number: 1,
            description: String::new(),
            files: vec![file.clone()],
            outcome: FixOutcome::Done,
            ..AppliedFix::default()
        };
        let mut report = Report { applied_fixes: vec![fix], ..Report::default() };
        report.issues.push(fixed.clone());
        let again = Issue { pre_existing: true, ..fixed };
        let other = Issue { pre_existing: true, ..issue(2) };
        let second = Report { pre_existing: vec![again, other], ..Report::default() };
        let RepeatFindings { numbers, found_again, .. } =
            merge_findings(&mut report, second, &BTreeSet::from([file]), &OpenPlaces::new());
        assert_eq!((numbers, found_again), (vec![], vec![1]));
        let old: Vec<u32> = report.pre_existing.iter().map(|it| it.number).collect();
        assert_eq!(old, [2]);
    }

    #[test]
    fn refound_issue_with_a_partial_fix_gets_the_new_texts() {
        let title = |outcome| {
            let files = vec!["a.rs".to_owned()];
            let fix = AppliedFix { number: 1, files, outcome, ..AppliedFix::default() };
            let mut report =
                Report { issues: vec![issue(1)], applied_fixes: vec![fix], ..Report::default() };
            let again = Issue { title: "Other words".to_owned(), ..issue(1) };
            let second = Report { issues: vec![again], ..Report::default() };
            let changed = BTreeSet::from(["a.rs".to_owned()]);
            merge_findings(&mut report, second, &changed, &OpenPlaces::new());
            report.issues[0].title.clone()
        };
        assert_eq!(title(FixOutcome::Partial), "Other words");
        assert_eq!(title(FixOutcome::Done), "Trouble 1");
    }

    #[test]
    fn partial_fix_is_not_blamed_for_the_places_that_it_left_open() {
        let check = |line: u32, found: &[u32], places: &[u32], text: &str| {
            let place =
                |line: u32| Location { line_start: line, line_end: line, ..issue(1).location };
            let files = vec!["a.rs".to_owned()];
            let outcome = FixOutcome::Partial;
            let fix = AppliedFix { number: 1, files, outcome, ..AppliedFix::default() };
            let mut report =
                Report { issues: vec![issue(1)], applied_fixes: vec![fix], ..Report::default() };
            let again = Issue { location: place(line), ..issue(1) };
            let second = Report { issues: vec![again], ..Report::default() };
            let changed = BTreeSet::from(["a.rs".to_owned()]);
            let open = OpenPlaces::from([(1, vec![place(9), place(20)])]);
            let RepeatFindings { found_again, moved, .. } =
                merge_findings(&mut report, second, &changed, &open);
            assert_eq!((found_again.as_slice(), moved.as_slice()), (found, &[1][..]), "{line}");
            assert_eq!(report.warnings.len(), found.len());
            let issue = &report.issues[0];
            let shown = iter::once(&issue.location).chain(&issue.other_places);
            let shown: Vec<u32> = shown.map(|it| it.line_start).collect();
            assert_eq!((shown.as_slice(), issue.why_it_matters.as_str()), (places, text));
        };
        check(9, &[], &[9, 20], " Also at a.rs:20.");
        check(20, &[], &[20, 9], " Also at a.rs:9.");
        // The fix changed line 5. No edit has closed the open places.
        check(5, &[1], &[5, 9, 20], " Also at a.rs:9, a.rs:20.");
    }

    fn member(file: &str, title: &str, quote: &str) -> Member {
        let member = json!({
            "reviewer": "correctness", "origin": "model", "proof": "quotes",
            "finding": {
                "title": title, "severity": "P2", "category": "bug", "file": file,
                "line_start": 9, "line_end": 9, "confidence": 0.8, "why_it_matters": "",
                "evidence": [{ "line": 9, "snippet": quote }], "autofix_class": "safe_auto",
                "owner": "review-fixer", "requires_verification": false, "pre_existing": false,
            },
        });
        serde_json::from_value(member).unwrap()
    }

    #[test]
    fn finding_over_the_cap_of_a_reviewer_is_kept() {
        let over_cap = |member: &Member| {
            DroppedFinding::new(member.clone(), Fate::OverCap, "over a limit".to_owned())
        };
        // The limit on issues hides the first one. It becomes an issue of the report.
        let members = ["Of an issue", "Over the cap"].map(|title| member("a.rs", title, "x();"));
        let hidden = Issue { members: vec![members[0].clone()], ..issue(7) };
        let second = Report {
            over_cap: vec![hidden],
            suppressed: members.iter().map(over_cap).collect(),
            ..Report::default()
        };
        let mut report = Report::default();
        let changed = BTreeSet::from(["a.rs".to_owned()]);
        merge_findings(&mut report, second, &changed, &OpenPlaces::new());
        assert_eq!(report.issues.len(), 1);
        assert_eq!(report.suppressed, [over_cap(&members[1])]);
    }

    #[test]
    fn fixed_group_is_found_again_by_any_of_its_findings() {
        let check = |again: Member, expected: (Vec<u32>, Vec<u32>)| {
            let lead = member("a.rs", "Trouble 1", "first();");
            let members = vec![lead, member("b.rs", "No check", "second();")];
            let files = vec!["a.rs".to_owned(), "b.rs".to_owned()];
            let fix = AppliedFix { number: 1, files: files.clone(), ..AppliedFix::default() };
            let group = Issue { members, ..issue(1) };
            let mut report =
                Report { issues: vec![group], applied_fixes: vec![fix], ..Report::default() };
            let mut found = Issue { title: again.finding.title.clone(), ..issue(7) };
            found.location.file.clone_from(&again.finding.file);
            let title = found.title.clone();
            found.members = vec![again];
            let second = Report { issues: vec![found], ..Report::default() };
            let changed = files.into_iter().collect();
            let RepeatFindings { numbers, found_again, .. } =
                merge_findings(&mut report, second, &changed, &OpenPlaces::new());
            assert_eq!((numbers, found_again), expected, "{title}");
            // The report shows what the repeated review found, as an issue of its own or not.
            let shown = report.issues.iter().find(|it| it.title == title).unwrap();
            assert_eq!(shown.location.file, "b.rs");
        };
        check(member("b.rs", "Other words", " second();  "), (vec![], vec![1]));
        check(member("b.rs", "No check", "second(1);"), (vec![], vec![1]));
        check(member("b.rs", "Other words", "third();"), (vec![2], vec![]));
    }

    #[test]
    fn fixed_group_that_is_found_again_as_two_issues_has_both_places() {
        let place = |file: &str, line: u32| Location {
            file: file.to_owned(),
            line_start: line,
            line_end: line,
            ..issue(1).location
        };
        let members = ["a.rs", "b.rs"].map(|file| member(file, "Trouble 1", "x();"));
        let group = Issue {
            why_it_matters: "It fails. Also at b.rs:20.".to_owned(),
            other_places: vec![place("b.rs", 20)],
            members: members.to_vec(),
            ..issue(1)
        };
        let files = vec!["a.rs".to_owned(), "b.rs".to_owned()];
        let fix = AppliedFix { number: 1, files: files.clone(), ..AppliedFix::default() };
        let mut report =
            Report { issues: vec![group], applied_fixes: vec![fix], ..Report::default() };
        let [first, second] = members.clone();
        let first = Issue { location: place("a.rs", 10), members: vec![first], ..issue(1) };
        let title = second.finding.title.clone();
        let second =
            Issue { location: place("b.rs", 22), title, members: vec![second], ..issue(7) };
        let second = Report { issues: vec![first, second], ..Report::default() };
        let changed = files.into_iter().collect();
        let found = merge_findings(&mut report, second, &changed, &OpenPlaces::new());
        assert_eq!((found.numbers, found.found_again, found.moved), (vec![], vec![1], vec![1]));
        let [shown] = report.issues.as_slice() else { panic!("{:?}", report.issues) };
        assert_eq!(shown.location, place("a.rs", 10));
        assert_eq!(shown.other_places, [place("b.rs", 22)]);
        assert_eq!(shown.why_it_matters, "It fails. Also at b.rs:22.");
        let [dropped] = report.suppressed.as_slice() else { panic!("{:?}", report.suppressed) };
        assert_eq!((dropped.fate, dropped.into.as_ref()), (Fate::Merged, Some(&shown.dedupe_key)));
        assert_eq!(dropped.member.as_ref(), Some(&members[1]));
    }

    #[test]
    fn repeated_review_that_is_cut_short_leaves_its_files_unreviewed() {
        let failed = |origin: Origin| {
            let row = ReviewerRow {
                name: "syntax".to_owned(),
                origin,
                why: String::new(),
                outcome: RunOutcome::Failed,
                note: String::new(),
            };
            let (path, reason) = ("a".to_owned(), String::new());
            let file = FileCoverage { path, state: CoverageState::Reviewed, reason };
            Report { reviewers: vec![row], coverage: vec![file], ..Report::default() }
        };
        let changed = BTreeSet::from(["a".to_owned()]);
        let check = |second: &Report, is_complete: bool| {
            let left = if is_complete { BTreeSet::new() } else { changed.clone() };
            assert_eq!(unreviewed(second, &changed), left, "{second:?}");
            assert_eq!(is_verifying(second, &changed), is_complete, "{second:?}");
        };
        for origin in [Origin::Code, Origin::Model] {
            check(&failed(origin), false);
        }
        let ended =
            |status: Status| Report { reviewers: Vec::new(), status, ..failed(Origin::Model) };
        check(&ended(Status::Ok), true);
        // A validation failed, or a limit ended a reviewer after it had marked its files.
        check(&ended(Status::Degraded), false);
        check(&ended(Status::Truncated), false);
    }

    #[test]
    fn refound_issue_gets_the_higher_severity_and_its_new_place() {
        let check = |severity: Severity, is_fixed: bool, expected: (Severity, u32, bool)| {
            let replacement = Some("y();".to_owned());
            let known = Issue { replacement: replacement.clone(), ..issue(1) };
            let fix = AppliedFix {
                number: 1,
                description: String::new(),
                files: vec!["a.rs".to_owned()],
                outcome: FixOutcome::Done,
                ..AppliedFix::default()
            };
            let applied_fixes = if is_fixed { vec![fix] } else { Vec::new() };
            let mut report =
                Report { issues: vec![known.clone()], applied_fixes, ..Report::default() };
            let mut again = Issue { severity, ..known };
            (again.location.line_start, again.location.line_end) = (2, 2);
            let second = Report { issues: vec![again], ..Report::default() };
            let changed = BTreeSet::from(["a.rs".to_owned()]);
            merge_findings(&mut report, second, &changed, &OpenPlaces::new());
            let issue = &report.issues[0];
            let found = (issue.severity, issue.location.line_start, issue.replacement.is_some());
            assert_eq!(found, expected, "{severity} {is_fixed}");
        };
        check(Severity::P0, true, (Severity::P0, 2, false));
        check(Severity::P2, true, (Severity::P1, 2, false));
        check(Severity::P0, false, (Severity::P0, 1, true));
    }
}
