//! What people said about a proposed change, by the lines of a diff that they said it of.

use std::collections::BTreeMap;
use std::collections::HashMap;

use crh_forge::Round;
use crh_forge::Spot;
use crh_review::diff::Diff;
use crh_review::diff::LineMap;
use crh_review::diff::RepoPath;
use crh_review::finding::Side;

use crate::workspace::Comment;
use crate::workspace::Thread;

/// What people said.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) general: Vec<Comment>,
    pub(super) threads: Vec<Thread>,
    /// Where each thread is on the diff that it belongs to.
    spots: Vec<Option<Spot>>,
}

impl Talk {
    /// What was said while a round was the newest one.
    pub(super) fn in_round(round: &Round) -> Self {
        Self::of(&round.comments, &round.threads)
    }

    pub(super) fn of(said: &[crh_forge::Comment], threads: &[crh_forge::Thread]) -> Self {
        let spots = threads.iter().map(|thread| thread.spot.clone()).collect();
        let threads = threads.iter().map(|thread| Thread {
            id: thread.id.clone(),
            file: Some(thread.file.clone()),
            line: thread.spot.as_ref().map(|spot| spot.line),
            resolved: thread.resolved,
            outdated: thread.outdated,
            replies: comments(&thread.comments),
        });
        Self { general: comments(said), threads: threads.collect(), spots }
    }

    /// The comments by lines of the numbered diff, in those files where the lines are the ones that were meant.
    pub(super) fn inline(
        &self,
        diff: &Diff,
        is_meant: impl Fn(&RepoPath) -> bool,
    ) -> BTreeMap<u32, Vec<Comment>> {
        let mut files = HashMap::new();
        for file in diff.files().iter().filter(|file| is_meant(&file.path)) {
            files.insert((Side::New, &file.path), file);
            files.insert((Side::Old, file.old_path.as_ref().unwrap_or(&file.path)), file);
        }
        // Some forges call both sides of a renamed file by its new name.
        for file in diff.files().iter().filter(|file| is_meant(&file.path)) {
            files.entry((Side::Old, &file.path)).or_insert(file);
        }
        // A file with a thousand threads is mapped once.
        let mut maps: HashMap<&RepoPath, LineMap> = HashMap::new();
        let mut inline: BTreeMap<u32, Vec<Comment>> = BTreeMap::new();
        for (thread, spot) in self.threads.iter().zip(&self.spots) {
            let Some(spot) = spot else { continue };
            let path = RepoPath::new(spot.file.as_bytes());
            // A path that is no text is named as git quotes it.
            let unquoted = || RepoPath::unquoted(spot.file.as_bytes());
            let found = files.get(&(spot.side, &path)).copied();
            let found = found.or_else(|| files.get(&(spot.side, &unquoted()?)).copied());
            let Some(file) = found else { continue };
            let map = maps.entry(&file.path).or_insert_with(|| diff.line_map(file));
            if let Some(number) = map.number_of(spot.side, spot.line) {
                inline.entry(number).or_default().extend(thread.replies.iter().cloned());
            }
        }
        inline
    }
}

fn comments(said: &[crh_forge::Comment]) -> Vec<Comment> {
    let comment = |comment: &crh_forge::Comment| Comment {
        id: comment.id.clone(),
        author: comment.author.clone(),
        created_at: comment.created_at.clone(),
        content: comment.content.clone(),
    };
    said.iter().map(comment).collect()
}
