//! The conversations that are ours: begun by our account, with the marker of this instance.

use std::collections::BTreeMap;

use crate::github::{InlineComment, InlineThread, Standing};
use crh_review::identity::marked_key;
use crh_review::normal_posted_title;
use crh_review::render::title_of;
use crh_review::report::Issue;

/// How many lines an issue may have moved and still be the one that is talked about, if its title is the same.
const NEAR: u32 = 3;

/// A conversation of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnThread<'a> {
    pub(super) thread: &'a InlineThread,
    /// What names its issue across runs.
    pub(super) key: &'a str,
    /// The issue's title, as it was cleaned for the comment.
    pub(super) title: &'a str,
}

/// The conversations of this instance, oldest first. What others wrote counts for nothing, whatever markers it has.
pub(super) fn own_threads<'a>(standing: &'a Standing, instance: &str) -> Vec<OwnThread<'a>> {
    let own = |thread: &'a InlineThread| {
        let first = thread.comments.first().filter(|first| first.ours)?;
        let key = marked_key(instance, &first.body)?;
        Some(OwnThread { thread, key, title: title_of(&first.body).unwrap_or_default() })
    };
    standing.threads.iter().filter_map(own).collect()
}

impl<'a> OwnThread<'a> {
    /// What people said in it. crh never replies, so a reply of our own account without a marker is a person's that uses it.
    pub(super) fn replies(self, instance: &str) -> impl Iterator<Item = &'a InlineComment> {
        let by_person = move |comment: &&InlineComment| {
            !comment.by_bot && (!comment.ours || marked_key(instance, &comment.body).is_none())
        };
        self.thread.comments.iter().skip(1).filter(by_person)
    }

    /// Where it can be looked at; none if that is not known.
    pub(super) fn url(self) -> Option<String> {
        let first = self.thread.comments.first()?;
        (!first.url.is_empty()).then(|| first.url.clone())
    }

    /// How far away from it an issue of the same file and title is that has another name by now; none if that is another one.
    /// The line of an outdated conversation has another text, so that the issue may be anywhere.
    fn distance(self, issue: &Issue) -> Option<u32> {
        let thread = self.thread;
        let from = |line: Option<u32>| line.map(|line| line.abs_diff(issue.location.line_start));
        let is_there = thread.side.is_none_or(|side| side == issue.location.side);
        let distance = match thread.outdated {
            true => Some(from(thread.original_line).unwrap_or(u32::MAX)),
            false => from(thread.start_line.or(thread.line)).filter(|lines| *lines <= NEAR),
        };
        distance.filter(|_| is_there)
    }
}

/// Which conversation each issue stands in, by its index. No conversation stands for two issues.
pub(super) fn standing_in(issues: &[Issue], threads: &[OwnThread<'_>]) -> Vec<Option<usize>> {
    let mut taken = vec![false; threads.len()];
    let mut matched: Vec<Option<usize>> = issues
        .iter()
        .map(|issue| {
            let same = |at: &usize| threads[*at].key == issue.dedupe_key;
            let found: Vec<usize> = (0..threads.len()).filter(same).collect();
            for at in &found {
                taken[*at] = true;
            }
            // An open conversation says more than one that was closed.
            found
                .iter()
                .copied()
                .find(|at| !threads[*at].thread.resolved)
                .or(found.first().copied())
        })
        .collect();
    let mut about: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for at in (0..threads.len()).filter(|at| !taken[*at]) {
        let OwnThread { thread, title, .. } = threads[at];
        about.entry((&thread.path, normal_posted_title(title))).or_default().push(at);
    }
    for (issue, place) in issues.iter().zip(&mut matched).filter(|(_, place)| place.is_none()) {
        let key = (issue.location.file.as_str(), normal_posted_title(&issue.title));
        let same = about.get(&key).into_iter().flatten().filter(|at| !taken[**at]);
        let near = same.filter_map(|at| Some((threads[*at].distance(issue)?, *at)));
        *place = near.min().map(|(_, at)| at);
        if let Some(at) = *place {
            taken[at] = true;
        }
    }
    matched
}
