//! What a plan is made from: each issue held against what stands on the pull request.

use std::collections::{BTreeMap, BTreeSet};

use super::Learned;
use crate::github::Standing;
use crate::github::post::dismissed::{Dismissal, dismissal};
use crate::github::post::position::{Anchor, Positions};
use crate::github::post::state::{NoState, State, last_state};
use crate::github::post::thread::{OwnThread, own_threads, standing_in};
use crate::github::post::{INLINE_MAX, Posting};
use crate::posted::masked;
use crh_review::finding::Severity;
use crh_review::normal_posted_title;
use crh_review::render::links_into;
use crh_review::report::{CoverageState, Fate, Issue, Report, Strategy};
use crh_review::verdict::{Asked, Verdict, is_incomplete, verdict};

/// Each issue held against what stands.
pub(super) struct Look<'a> {
    pub(super) posting: &'a Posting<'a>,
    pub(super) standing: &'a Standing,
    pub(super) learned: &'a Learned,
    /// How an address begins that may stay a link.
    pub(super) links: Option<String>,
    /// The report as it is shown: what must be hidden is, and what was dismissed is not among its issues any more.
    pub(super) report: Report,
    /// Where each issue of the report goes.
    pub(super) places: Vec<Place<'a>>,
    /// The issues that a person who decides has dismissed since the review.
    pub(super) gone: Vec<(Issue, Dismissal)>,
    /// What people said no to, each with whether that settles it.
    pub(super) dismissals: Vec<Dismissal>,
    /// Own conversations that no issue of the report stands in, without those that were dismissed.
    pub(super) unmatched: Vec<OwnThread<'a>>,
    /// What is known about the last review.
    pub(super) last: Result<State, NoState>,
}

/// Where an issue goes.
#[derive(Debug, Clone)]
pub(super) enum Place<'a> {
    /// It stands there already.
    Stands(OwnThread<'a>, Option<Anchor>),
    /// Onto lines.
    Inline(Anchor),
    /// Into the summary, and why.
    Summary(NotInline),
}

/// Why an issue is in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotInline {
    /// GitHub's diff does not show the line.
    NotInDiff,
    /// GitHub refused it.
    Refused,
    /// Nothing is posted inline.
    CommentOnly,
    /// As many more urgent ones are beside their lines as are posted there.
    Crowded,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        posting: &'a Posting<'a>,
        standing: &'a Standing,
        learned: &'a Learned,
    ) -> Self {
        let links = links_into(posting.web, &standing.pull.repo);
        // One that cannot be masked is refused before.
        let mut report = masked(posting.report, posting.mask).unwrap_or_default();
        let own = own_threads(standing, posting.instance);
        let said: Vec<Option<Dismissal>> =
            own.iter().map(|own| dismissal(*own, standing, posting.instance)).collect();
        let matched = standing_in(&report.issues, &own);
        let last = last_state(standing, posting.instance);
        let refused = refused(&last, &standing.pull.head, learned);
        let files = report.issues.iter().map(|issue| issue.location.file.clone());
        let files: Vec<String> = files.collect();
        let files: BTreeSet<&str> = files.iter().map(String::as_str).collect();
        let positions = Positions::new(&standing.files, posting.diff, &files);
        let (mut kept, mut gone, mut places) = (Vec::new(), Vec::new(), Vec::new());
        // With those that stand, so that it does not matter how many of them were posted before.
        let mut beside_lines = 0;
        for (issue, thread) in std::mem::take(&mut report.issues).into_iter().zip(&matched) {
            // Issues of the first severity are taken out by their own name alone.
            let is_named =
                |no: &Dismissal| issue.severity != Severity::P0 || no.key == issue.dedupe_key;
            let no = thread.and_then(|at| said[at].clone());
            let no = no.filter(|no| no.decides && is_named(no));
            if let Some(no) = no {
                gone.push((issue, no));
                continue;
            }
            let anchor = positions.anchor(&issue.location);
            let place = match (thread, anchor) {
                (Some(at), anchor) => Place::Stands(own[*at], anchor),
                (None, _) if posting.terms.comment_only || learned.no_review.is_some() => {
                    Place::Summary(NotInline::CommentOnly)
                }
                (None, _) if refused.contains(&issue.dedupe_key) => {
                    Place::Summary(NotInline::Refused)
                }
                (None, Some(_)) if beside_lines >= INLINE_MAX => Place::Summary(NotInline::Crowded),
                (None, Some(anchor)) => Place::Inline(anchor),
                (None, None) => Place::Summary(NotInline::NotInDiff),
            };
            beside_lines += usize::from(!matches!(place, Place::Summary(_)));
            places.push(place);
            kept.push(issue);
        }
        report.issues = kept;
        if !gone.is_empty() {
            judge_again(&mut report);
        }
        let taken: BTreeSet<usize> = matched.iter().flatten().copied().collect();
        let is_free = |at: &usize| !taken.contains(at) && said[*at].is_none();
        let unmatched = (0..own.len()).filter(is_free).map(|at| own[at]).collect();
        let dismissals = said.into_iter().flatten().collect();
        Self {
            posting,
            standing,
            learned,
            links,
            report,
            places,
            gone,
            dismissals,
            unmatched,
            last,
        }
    }

    /// The issues with where they go.
    pub(super) fn issues(&self) -> impl Iterator<Item = (&Issue, &Place<'a>)> {
        self.report.issues.iter().zip(&self.places)
    }

    /// Whether the review looked at everything that it was to look at.
    pub(super) fn is_complete(&self) -> bool {
        let asked = match self.report.strategy {
            Strategy::Static => Asked::Checks,
            Strategy::Single | Strategy::Delegate | Strategy::Panel => Asked::Review,
        };
        self.report.verdict != Verdict::Incomplete && !is_incomplete(&self.report, asked)
    }

    /// The own conversations that are resolved: outdated, nobody answered, and a review that looked at the file did not find
    /// the issue, under whatever fate. A whole review has looked at all files.
    pub(super) fn outdated(&self) -> Vec<OwnThread<'a>> {
        let may_tell = self.report.strategy != Strategy::Static && self.is_complete();
        let terms = self.posting.terms;
        if !may_tell || !terms.resolve_outdated || terms.comment_only {
            return Vec::new();
        }
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let report = self.posting.report;
        let issues = report.issues.iter().chain(&report.pre_existing);
        let issues = issues.map(|issue| (&issue.location.file, &issue.title));
        let dropped = report.suppressed.iter().filter_map(|dropped| dropped.member.as_ref());
        let dropped = dropped.map(|member| (&member.finding.file, &member.finding.title));
        for (file, title) in issues.chain(dropped) {
            let title = normal_posted_title(&(self.posting.mask)(title));
            found.entry(file.clone()).or_default().insert(title);
        }
        let seen = report.coverage.iter().filter(|file| file.state == CoverageState::Reviewed);
        let seen: BTreeSet<&str> = seen.map(|file| file.path.as_str()).collect();
        let is_gone = |own: &&OwnThread<'_>| {
            let titles = found.get(&own.thread.path);
            let was_looked_at =
                self.posting.carried.is_none() || seen.contains(own.thread.path.as_str());
            was_looked_at
                && own.thread.outdated
                && !own.thread.resolved
                && own.replies(self.posting.instance).next().is_none()
                && !titles.is_some_and(|titles| titles.contains(&normal_posted_title(own.title)))
                && !report.pre_existing.iter().any(|issue| issue.dedupe_key == own.key)
        };
        self.unmatched.iter().filter(is_gone).copied().collect()
    }

    /// The address of the line that a comment is on.
    pub(super) fn line_url(&self, anchor: &Anchor) -> String {
        use crh_review::finding::Side;
        let pull = &self.standing.pull;
        let side = match anchor.end.side {
            Side::Old => 'L',
            Side::New => 'R',
        };
        let file = crh_review::identity::content_id(anchor.path.as_bytes());
        let line = anchor.end.line;
        let web = self.posting.web.trim_end_matches('/');
        format!("{web}/{}/pull/{}/files#diff-{file}{side}{line}", pull.repo, pull.number)
    }
}

/// The keys of the issues whose places GitHub has refused at this head.
fn refused(last: &Result<State, NoState>, head: &str, learned: &Learned) -> BTreeSet<String> {
    let before = last.iter().filter(|state| state.head == head).flat_map(|state| &state.refused);
    before.chain(&learned.refused).cloned().collect()
}

/// Gives the verdict of a report from which issues were taken. If some of its issues are not shown, the verdict stays: it
/// counts those, too.
fn judge_again(report: &mut Report) {
    if report.suppressed.iter().any(|dropped| dropped.fate == Fate::OverCap) {
        return;
    }
    // A report of checks does not say whether a review was asked for. An incomplete one is never green.
    let asked = match report.verdict {
        Verdict::ChecksPassed => Asked::Checks,
        Verdict::NotReady
        | Verdict::ReadyWithFixes
        | Verdict::Incomplete
        | Verdict::ReadyToMerge => Asked::Review,
    };
    (report.verdict, report.verdict_reason) = verdict(report, asked);
}
