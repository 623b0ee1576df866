//! What people said about a proposed change, by the lines of a diff that they said it of.

use std::collections::{BTreeMap, HashMap};

use super::same_line::BothDiffs;
use crate::workspace::{Comment, Thread};
use crh_forge::{Round, Spot};
use crh_review::diff::{Diff, FileDiff, LineMap, RepoPath};
use crh_review::finding::Side;

/// What people said.
#[derive(Default)]
pub(super) struct Talk {
    pub(super) general: Vec<Comment>,
    pub(super) threads: Vec<Thread>,
    /// Where each thread is on the diff that it belongs to.
    spots: Vec<Option<Spot>>,
}

impl Talk {
    /// What was said while a round was the newest one, at the lines of its own diff.
    pub(super) fn in_round(round: &Round) -> Self {
        Self::of(&round.comments, &round.threads)
    }

    /// The same at the lines of another diff of that round. A forge that compares a merge with its target counts other lines than we
    /// do as soon as the target has changed, and what cannot be found here without doubt has no line.
    pub(super) fn in_round_on(round: &Round, diff: &Diff) -> Self {
        let mut talk = Self::in_round(round);
        let theirs = Diff::read(round.diff.clone().unwrap_or_default());
        talk.spots = moved(&talk.spots, &theirs, diff);
        for (thread, spot) in talk.threads.iter_mut().zip(&talk.spots) {
            thread.line = spot.as_ref().map(|spot| spot.line);
        }
        talk
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
        let files = Files::new(diff, is_meant);
        // A file with a thousand threads is mapped once.
        let mut maps: HashMap<&RepoPath, LineMap> = HashMap::new();
        let mut inline: BTreeMap<u32, Vec<Comment>> = BTreeMap::new();
        for (thread, spot) in self.threads.iter().zip(&self.spots) {
            let Some(spot) = spot else { continue };
            let Some(file) = files.of(spot) else { continue };
            let map = maps.entry(&file.path).or_insert_with(|| diff.line_map(file));
            if let Some(number) = map.number_of(spot.side, spot.line) {
                inline.entry(number).or_default().extend(thread.replies.iter().cloned());
            }
        }
        inline
    }
}

/// The files of a diff by what they are called on each side.
struct Files<'d>(HashMap<(Side, &'d RepoPath), &'d FileDiff>);

impl<'d> Files<'d> {
    fn new(diff: &'d Diff, is_meant: impl Fn(&RepoPath) -> bool) -> Self {
        let mut files = HashMap::new();
        for file in diff.files().iter().filter(|file| is_meant(&file.path)) {
            files.insert((Side::New, &file.path), file);
            files.insert((Side::Old, before(file)), file);
        }
        // Some forges call both sides of a renamed file by its new name.
        for file in diff.files().iter().filter(|file| is_meant(&file.path)) {
            files.entry((Side::Old, &file.path)).or_insert(file);
        }
        Self(files)
    }

    fn of(&self, spot: &Spot) -> Option<&'d FileDiff> {
        let path = RepoPath::new(spot.file.as_bytes());
        // A path that is no text is named as git quotes it.
        let unquoted = || RepoPath::unquoted(spot.file.as_bytes());
        let found = self.0.get(&(spot.side, &path)).copied();
        found.or_else(|| self.0.get(&(spot.side, &unquoted()?)).copied())
    }
}

/// What a file is called on the old side.
fn before(file: &FileDiff) -> &RepoPath {
    file.old_path.as_ref().unwrap_or(&file.path)
}

/// Spots of one diff as spots of another.
fn moved(spots: &[Option<Spot>], theirs: &Diff, ours: &Diff) -> Vec<Option<Spot>> {
    let all = |_: &RepoPath| true;
    let (files, own_files) = (Files::new(theirs, all), Files::new(ours, all));
    // A file with a thousand threads is read once.
    let mut known: HashMap<(&RepoPath, &RepoPath), (LineMap, BothDiffs<'_>)> = HashMap::new();
    let mut move_one = |spot: &Spot| {
        let (file, own) = (files.of(spot)?, own_files.of(spot)?);
        let (map, both) = known.entry((&file.path, &own.path)).or_insert_with(|| {
            (theirs.line_map(file), BothDiffs::new((theirs, file), (ours, own)))
        });
        let line = both.ours(map.number_of(spot.side, spot.line)?)?;
        let (path, line) = match spot.side {
            Side::Old => (before(own), line.old),
            Side::New => (&own.path, line.new),
        };
        Some(Spot { file: path.shown().into_owned(), side: spot.side, line })
    };
    spots.iter().map(|spot| move_one(spot.as_ref()?)).collect()
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
