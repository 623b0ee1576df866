//! Own comment threads: opened by the token's account, with the marker of this installation. A
//! marker is an HTML comment with the key of the issue.

use std::collections::BTreeMap;

use super::{InlineComment, InlineThread, ProposalState};
use crh_review::identity::key_in_comment;
use crh_review::normalise_posted_title;
use crh_review::render::title_in_comment;
use crh_review::report::Issue;

/// Start of the mark in every answer of `crh serve`.
pub const ANSWER_MARK: &str = "<!-- crh answer ";

/// The line in which crh writes the mark of a comment: the last one. A mark elsewhere in a text is
/// a quotation.
pub fn mark_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default()
}

/// Maximum number of lines that an issue with the same title may have moved.
const MATCH_DISTANCE_MAX: u32 = 3;

/// An own comment thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnThread<'a> {
    pub(super) thread: &'a InlineThread,
    /// Key of the thread's issue, stable across reviews.
    pub(super) key: &'a str,
    /// Title of the issue, as escaped for the comment.
    pub(super) title: &'a str,
}

/// Threads of this installation, oldest first. Markers in texts of other accounts do not count.
pub(super) fn own_threads<'a>(
    proposal_state: &'a ProposalState,
    instance: &str,
) -> Vec<OwnThread<'a>> {
    let to_own_thread = |thread: &'a InlineThread| {
        let first = thread.comments.first().filter(|first| first.ours)?;
        let key = key_in_comment(instance, &first.body)?;
        Some(OwnThread { thread, key, title: title_in_comment(&first.body).unwrap_or_default() })
    };
    proposal_state.threads.iter().filter_map(to_own_thread).collect()
}

impl<'a> OwnThread<'a> {
    /// Replies of people. crh's own comments contain a marker, or in answers of `crh serve` a mark.
    /// An own comment without either is from a person who shares the account.
    pub(super) fn replies(self, instance: &str) -> impl Iterator<Item = &'a InlineComment> {
        let by_person = move |comment: &&InlineComment| {
            let is_crh = mark_line(&comment.body).starts_with(ANSWER_MARK)
                || key_in_comment(instance, &comment.body).is_some();
            !(comment.by_bot || comment.ours && is_crh)
        };
        self.thread.comments.iter().skip(1).filter(by_person)
    }

    /// Web address, if known.
    pub(super) fn url(self) -> Option<String> {
        let first = self.thread.comments.first()?;
        (!first.url.is_empty()).then(|| first.url.clone())
    }

    /// Number of lines between the thread and an issue with the same file and title but another
    /// key; `None` if the issue is too far away. In an outdated thread the line changed, so any
    /// distance counts.
    fn distance(self, issue: &Issue) -> Option<u32> {
        let thread = self.thread;
        let distance_from =
            |line: Option<u32>| line.map(|line| line.abs_diff(issue.location.line_start));
        let is_same_side = thread.side.is_none_or(|side| side == issue.location.side);
        let distance = match thread.outdated {
            true => Some(distance_from(thread.original_line).unwrap_or(u32::MAX)),
            false => distance_from(thread.start_line.or(thread.line))
                .filter(|lines| *lines <= MATCH_DISTANCE_MAX),
        };
        distance.filter(|_| is_same_side)
    }
}

/// The index of the thread of each issue, or `None`. Threads match by key, otherwise by file and
/// title. A thread that matches by title belongs to only one issue.
pub(super) fn match_threads(issues: &[Issue], threads: &[OwnThread<'_>]) -> Vec<Option<usize>> {
    let mut is_matched = vec![false; threads.len()];
    let mut thread_indexes: Vec<Option<usize>> = issues
        .iter()
        .map(|issue| {
            let has_key = |index: &usize| threads[*index].key == issue.dedupe_key;
            let candidates: Vec<usize> = (0..threads.len()).filter(has_key).collect();
            for index in &candidates {
                is_matched[*index] = true;
            }
            // Open threads take precedence over resolved ones.
            candidates
                .iter()
                .copied()
                .find(|index| !threads[*index].thread.resolved)
                .or(candidates.first().copied())
        })
        .collect();
    let mut by_title: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for index in (0..threads.len()).filter(|index| !is_matched[*index]) {
        let OwnThread { thread, title, .. } = threads[index];
        by_title.entry((&thread.path, normalise_posted_title(title))).or_default().push(index);
    }
    for (issue, thread_index) in
        issues.iter().zip(&mut thread_indexes).filter(|(_, thread_index)| thread_index.is_none())
    {
        let key = (issue.location.file.as_str(), normalise_posted_title(&issue.title));
        let candidates =
            by_title.get(&key).into_iter().flatten().filter(|index| !is_matched[**index]);
        let by_distance =
            candidates.filter_map(|index| Some((threads[*index].distance(issue)?, *index)));
        *thread_index = by_distance.min().map(|(_, index)| index);
        if let Some(index) = *thread_index {
            is_matched[index] = true;
        }
    }
    thread_indexes
}
