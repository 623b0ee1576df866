//! Compares the issues of a report with the current state of the pull request.

use std::collections::BTreeSet;

use crate::posting::dismissal::{ThreadDismissal, dismissal};
use crate::posting::position::{Anchor, CommentPositions};
use crate::posting::saved_review::{NoSavedReview, SavedReview, last_saved_review};
use crate::posting::thread::{OwnThread, match_threads, own_threads};
use crate::posting::{
    ForgeRules, PostingConstraints, PostingWrite, ProposalState, ReviewPosting, WriteKind,
    mask_report,
};
use crh_review::finding::Severity;
use crh_review::normalise_posted_title;
use crh_review::render::repo_link_prefix;
use crh_review::report::{CoverageState, Fate, Issue, Report, Strategy};
use crh_review::verdict::{command_of, is_marked_incomplete, verdict};

/// Basis of a plan: each issue with its placement.
pub(super) struct PostingAnalysis<'a> {
    pub(super) rules: &'a dyn ForgeRules,
    pub(super) posting: &'a ReviewPosting<'a>,
    pub(super) proposal_state: &'a ProposalState,
    pub(super) constraints: &'a PostingConstraints,
    /// Prefix of addresses that stay links in posted texts: those of the repository.
    pub(super) links: Option<String>,
    /// The masked report without dismissed issues.
    pub(super) report: Report,
    /// Placement of each issue in the report.
    pub(super) placements: Vec<IssuePlacement<'a>>,
    /// Issues of the report that an effective dismissal hides.
    pub(super) dismissed_issues: Vec<(Issue, ThreadDismissal)>,
    /// All dismissals, effective or not.
    pub(super) dismissals: Vec<ThreadDismissal>,
    /// Own threads without an issue in the report and without a dismissal.
    pub(super) unmatched_threads: Vec<OwnThread<'a>>,
    /// State of the last review.
    pub(super) last_review: Result<SavedReview, NoSavedReview>,
}

/// Where an issue is shown.
#[derive(Debug, Clone)]
pub(super) enum IssuePlacement<'a> {
    /// In an existing thread.
    Existing(OwnThread<'a>, Option<Anchor>),
    /// As an inline comment.
    Inline(Anchor),
    /// Only in the summary.
    Summary(NotInline),
}

/// Why an issue is only in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotInline {
    /// The forge's diff does not show the line.
    NotInDiff,
    /// The forge refused the position.
    Refused,
    /// crh posts no inline comments: the user wants only the summary, or the forge accepts none.
    CommentOnly,
    /// The limit of inline comments is reached.
    OverCommentLimit,
}

impl<'a> PostingAnalysis<'a> {
    pub(super) fn new(
        rules: &'a dyn ForgeRules,
        posting: &'a ReviewPosting<'a>,
        proposal_state: &'a ProposalState,
        constraints: &'a PostingConstraints,
    ) -> Self {
        // `find_refusal` already rejected reports that cannot be masked.
        let mut report = mask_report(posting.report, posting.mask).unwrap_or_default();
        let threads = own_threads(proposal_state, posting.instance);
        let thread_dismissals: Vec<Option<ThreadDismissal>> = threads
            .iter()
            .map(|thread| dismissal(*thread, proposal_state, posting.instance))
            .collect();
        let thread_indexes = match_threads(&report.issues, &threads);
        let last_review = last_saved_review(proposal_state, posting.instance);
        let refused_keys = refused_keys(&last_review, &proposal_state.properties.head, constraints);
        let issues = std::mem::take(&mut report.issues);
        let files: Vec<String> = issues.iter().map(|issue| issue.location.file.clone()).collect();
        let files: BTreeSet<&str> = files.iter().map(String::as_str).collect();
        let positions = CommentPositions::new(&proposal_state.files, posting.diff, &files);
        let (mut open_issues, mut dismissed_issues) = (Vec::new(), Vec::new());
        let mut placements = Vec::new();
        // Existing threads count: otherwise a second posting would exceed the limit.
        let mut inline_count = 0;
        let profile = rules.profile();
        for (issue, thread_index) in issues.into_iter().zip(&thread_indexes) {
            let dismissal = thread_index.and_then(|index| thread_dismissals[index].clone());
            let thread_index = match dismissal.filter(|dismissal| dismissal.is_effective) {
                Some(dismissal) if covers(&dismissal, &issue) => {
                    dismissed_issues.push((issue, dismissal));
                    continue;
                }
                // The person dismissed other code. The issue gets a thread of its own.
                Some(_) => None,
                None => *thread_index,
            };
            let mut anchor = positions.anchor(&issue.location);
            if let Some(anchor) = anchor.as_mut().filter(|_| !profile.has_ranges) {
                anchor.start = None;
            }
            let no_comments =
                posting.options.comment_only || constraints.reason_for_no_review.is_some();
            let placement = match (thread_index, anchor) {
                (Some(index), anchor) => IssuePlacement::Existing(threads[index], anchor),
                (None, _) if no_comments => IssuePlacement::Summary(NotInline::CommentOnly),
                (None, _) if refused_keys.contains(&issue.dedupe_key) => {
                    IssuePlacement::Summary(NotInline::Refused)
                }
                (None, Some(_)) if inline_count >= profile.inline_max => {
                    IssuePlacement::Summary(NotInline::OverCommentLimit)
                }
                (None, Some(anchor)) => IssuePlacement::Inline(anchor),
                (None, None) => IssuePlacement::Summary(NotInline::NotInDiff),
            };
            inline_count += usize::from(!matches!(placement, IssuePlacement::Summary(_)));
            placements.push(placement);
            open_issues.push(issue);
        }
        report.issues = open_issues;
        if !dismissed_issues.is_empty() {
            recompute_verdict(&mut report);
        }
        let unmatched_threads = unmatched(&threads, &thread_indexes, &thread_dismissals);
        let dismissals = thread_dismissals.into_iter().flatten().collect();
        Self {
            rules,
            posting,
            proposal_state,
            constraints,
            links: repo_link_prefix(posting.web, &proposal_state.properties.repo),
            report,
            placements,
            dismissed_issues,
            dismissals,
            unmatched_threads,
            last_review,
        }
    }

    /// Issues with their placements.
    pub(super) fn issues(&self) -> impl Iterator<Item = (&Issue, &IssuePlacement<'a>)> {
        self.report.issues.iter().zip(&self.placements)
    }

    /// Whether the review covered everything.
    pub(super) fn is_complete(&self) -> bool {
        !is_marked_incomplete(&self.report)
    }

    /// Own threads to resolve, all without replies: threads whose code and issue are gone, and, if
    /// prompts or settings changed since the last review, threads whose issue crh no longer posts.
    pub(super) fn threads_to_resolve(&self) -> Vec<OwnThread<'a>> {
        let is_conclusive = self.report.strategy != Strategy::Static && self.is_complete();
        let options = self.posting.options;
        let may_resolve = options.resolve_outdated && self.rules.profile().no_resolving.is_none();
        if !is_conclusive || !may_resolve || options.comment_only {
            return Vec::new();
        }
        let withheld_titles = self.withheld_titles();
        let is_resolvable = |own: &&OwnThread<'_>| {
            !own.thread.resolved
                && own.replies(self.posting.instance).next().is_none()
                && (self.is_gone(own) || withheld_titles.contains(&self.key_of_thread(own)))
        };
        self.unmatched_threads.iter().filter(is_resolvable).copied().collect()
    }

    /// Whether the code of a thread changed, and a review of the file did not find its issue again,
    /// not even as a hidden finding. A full review covers all files.
    fn is_gone(&self, own: &OwnThread<'_>) -> bool {
        let report = self.posting.report;
        let was_reviewed = self.posting.carried_issues.is_none()
            || report
                .coverage
                .iter()
                .any(|file| file.state == CoverageState::Reviewed && file.path == own.thread.path);
        let title = self.key_of_thread(own);
        let issues = report.issues.iter().chain(&report.pre_existing);
        let hidden = report.suppressed.iter().filter_map(|dropped| dropped.member.as_ref());
        let hidden = hidden.map(|member| (&*member.finding.file, &*member.finding.title));
        let mut found = issues.map(|issue| (&*issue.location.file, &*issue.title)).chain(hidden);
        was_reviewed
            && own.thread.outdated
            && !found.any(|(file, found_title)| self.title_key(file, found_title) == title)
            && !report.pre_existing.iter().any(|issue| issue.dedupe_key == own.key)
    }

    /// File and title of issues below P1 that this review found but does not post, if the last
    /// review had other prompts or settings.
    fn withheld_titles(&self) -> BTreeSet<(String, String)> {
        let have_rules_changed = match &self.last_review {
            Ok(saved) => {
                let (old, new) = (&saved.basis, self.posting.basis);
                (&old.prompt_version, &old.configuration)
                    != (&new.prompt_version, &new.configuration)
            }
            Err(NoSavedReview::OtherVersion) => true,
            Err(_) => false,
        };
        if !have_rules_changed {
            return BTreeSet::new();
        }
        let report = self.posting.report;
        let is_withheld = |fate| matches!(fate, Fate::Minor | Fate::BelowGate | Fate::OverCap);
        let dropped = report.suppressed.iter().filter(|dropped| is_withheld(dropped.fate));
        let findings = dropped.filter_map(|dropped| dropped.member.as_ref());
        let findings = findings.map(|member| &member.finding);
        let findings = findings.map(|it| (it.severity, &*it.file, &*it.title));
        let over_cap = report.over_cap.iter();
        let over_cap = over_cap.map(|it| (it.severity, &*it.location.file, &*it.title));
        let small = findings.chain(over_cap).filter(|(severity, ..)| *severity > Severity::P1);
        small.map(|(_, file, title)| self.title_key(file, title)).collect()
    }

    fn title_key(&self, file: &str, title: &str) -> (String, String) {
        (file.to_owned(), normalise_posted_title(&(self.posting.mask)(title)))
    }

    fn key_of_thread(&self, own: &OwnThread<'_>) -> (String, String) {
        (own.thread.path.clone(), normalise_posted_title(own.title))
    }

    /// Address of the line of a comment.
    pub(super) fn line_url(&self, anchor: &Anchor) -> String {
        self.rules.line_url(anchor, self.posting, self.proposal_state)
    }

    /// A write with its request.
    pub(super) fn write(&self, kind: WriteKind) -> PostingWrite {
        PostingWrite::new(self.rules, kind, self.proposal_state)
    }
}

/// Whether a dismissal hides an issue: only if it is for exactly the same key, or the issue is P2
/// or P3. Otherwise a later push could hide a serious issue behind an old decision.
fn covers(dismissal: &ThreadDismissal, issue: &Issue) -> bool {
    match issue.severity {
        Severity::P0 | Severity::P1 => dismissal.key == issue.dedupe_key,
        Severity::P2 | Severity::P3 => true,
    }
}

/// Threads without an issue and without a dismissal.
fn unmatched<'a>(
    threads: &[OwnThread<'a>],
    thread_indexes: &[Option<usize>],
    dismissals: &[Option<ThreadDismissal>],
) -> Vec<OwnThread<'a>> {
    let matched_indexes: BTreeSet<usize> = thread_indexes.iter().flatten().copied().collect();
    let is_unmatched =
        |index: &usize| !matched_indexes.contains(index) && dismissals[*index].is_none();
    (0..threads.len()).filter(is_unmatched).map(|index| threads[index]).collect()
}

/// Keys of issues whose position the forge refused at this head.
fn refused_keys(
    last_review: &Result<SavedReview, NoSavedReview>,
    head: &str,
    constraints: &PostingConstraints,
) -> BTreeSet<String> {
    let earlier_keys =
        last_review.iter().filter(|state| state.head == head).flat_map(|state| &state.refused);
    earlier_keys.chain(&constraints.refused_keys).cloned().collect()
}

/// Recomputes the verdict after dismissed issues were removed. Issues that the report's limit hides
/// count, too, so if there are any, the verdict stays.
fn recompute_verdict(report: &mut Report) {
    if report.suppressed.iter().any(|dropped| dropped.fate == Fate::OverCap) {
        return;
    }
    (report.verdict, report.verdict_reason) = verdict(report, command_of(report));
}
