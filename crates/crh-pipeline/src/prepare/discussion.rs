//! Comments of people on a proposed change, mapped to lines of a diff.

use std::collections::{BTreeMap, HashMap};

use super::line_match::LineMatcher;
use crate::workspace::{WorkspaceComment, WorkspaceThread};
use crh_forge::{DiffSpot, ProposalRound};
use crh_review::diff::{Diff, FileDiff, LineMap, RepoPath};
use crh_review::finding::Side;

#[derive(Default)]
pub(super) struct Discussion {
    pub(super) general: Vec<WorkspaceComment>,
    pub(super) threads: Vec<WorkspaceThread>,
    /// Position of each thread in its diff.
    spots: Vec<Option<DiffSpot>>,
}

impl Discussion {
    /// Comments of a round, on the lines of its own diff.
    pub(super) fn from_round(round: &ProposalRound) -> Self {
        Self::from_forge(&round.comments, &round.threads)
    }

    /// Comments of a round, on the lines of another diff of the round. If the target branch has
    /// moved, Launchpad's diff has other line numbers than ours. A comment that cannot be mapped
    /// with certainty has no line.
    pub(super) fn from_round_on_diff(round: &ProposalRound, diff: &Diff) -> Self {
        let mut discussion = Self::from_round(round);
        let theirs = Diff::read(round.diff.clone().unwrap_or_default());
        discussion.spots = map_spots(&discussion.spots, &theirs, diff);
        for (thread, spot) in discussion.threads.iter_mut().zip(&discussion.spots) {
            thread.line = spot.as_ref().map(|spot| spot.line);
        }
        discussion
    }

    pub(super) fn from_forge(
        comments: &[crh_forge::DiscussionComment],
        threads: &[crh_forge::DiscussionThread],
    ) -> Self {
        let spots = threads.iter().map(|thread| thread.spot.clone()).collect();
        let threads = threads.iter().map(|thread| WorkspaceThread {
            id: thread.id.clone(),
            file: Some(thread.file.clone()),
            line: thread.spot.as_ref().map(|spot| spot.line),
            resolved: thread.resolved,
            outdated: thread.outdated,
            replies: workspace_comments(&thread.comments),
        });
        Self { general: workspace_comments(comments), threads: threads.collect(), spots }
    }

    /// Comments by line of the numbered diff, for the files that `includes_file` accepts.
    pub(super) fn inline_comments(
        &self,
        diff: &Diff,
        includes_file: impl Fn(&RepoPath) -> bool,
    ) -> BTreeMap<u32, Vec<WorkspaceComment>> {
        let files = FilesBySide::new(diff, includes_file);
        // The maps are cached, since a file may have thousands of threads.
        let mut maps: HashMap<&RepoPath, LineMap> = HashMap::new();
        let mut inline: BTreeMap<u32, Vec<WorkspaceComment>> = BTreeMap::new();
        for (thread, spot) in self.threads.iter().zip(&self.spots) {
            let Some(spot) = spot else { continue };
            let Some(file) = files.find(spot) else { continue };
            let map = maps.entry(&file.path).or_insert_with(|| diff.line_map(file));
            if let Some(number) = map.number_of(spot.side, spot.line) {
                inline.entry(number).or_default().extend(thread.replies.iter().cloned());
            }
        }
        inline
    }
}

/// Files of a diff by side and path.
struct FilesBySide<'d>(HashMap<(Side, &'d RepoPath), &'d FileDiff>);

impl<'d> FilesBySide<'d> {
    fn new(diff: &'d Diff, includes_file: impl Fn(&RepoPath) -> bool) -> Self {
        let mut files = HashMap::new();
        for file in diff.files().iter().filter(|file| includes_file(&file.path)) {
            files.insert((Side::New, &file.path), file);
            files.insert((Side::Old, old_path(file)), file);
        }
        // Some forges use the new name for both sides of a renamed file.
        for file in diff.files().iter().filter(|file| includes_file(&file.path)) {
            files.entry((Side::Old, &file.path)).or_insert(file);
        }
        Self(files)
    }

    fn find(&self, spot: &DiffSpot) -> Option<&'d FileDiff> {
        let path = RepoPath::new(spot.file.as_bytes());
        // Paths that are not UTF-8 are quoted as in git.
        let unquoted = || RepoPath::from_quoted(spot.file.as_bytes());
        let file = self.0.get(&(spot.side, &path)).copied();
        file.or_else(|| self.0.get(&(spot.side, &unquoted()?)).copied())
    }
}

fn old_path(file: &FileDiff) -> &RepoPath {
    file.old_path.as_ref().unwrap_or(&file.path)
}

/// Maps positions in one diff to positions in another.
fn map_spots(spots: &[Option<DiffSpot>], theirs: &Diff, ours: &Diff) -> Vec<Option<DiffSpot>> {
    let all = |_: &RepoPath| true;
    let (their_files, our_files) = (FilesBySide::new(theirs, all), FilesBySide::new(ours, all));
    // The matchers are cached, since a file may have thousands of threads.
    let mut matchers: HashMap<(&RepoPath, &RepoPath), (LineMap, LineMatcher<'_>)> = HashMap::new();
    let mut map_spot = |spot: &DiffSpot| {
        let (their_file, our_file) = (their_files.find(spot)?, our_files.find(spot)?);
        let (map, matcher) =
            matchers.entry((&their_file.path, &our_file.path)).or_insert_with(|| {
                (
                    theirs.line_map(their_file),
                    LineMatcher::new((theirs, their_file), (ours, our_file)),
                )
            });
        let line = matcher.our_line(map.number_of(spot.side, spot.line)?)?;
        let (path, line) = match spot.side {
            Side::Old => (old_path(our_file), line.old),
            Side::New => (&our_file.path, line.new),
        };
        Some(DiffSpot { file: path.shown().into_owned(), side: spot.side, line })
    };
    spots.iter().map(|spot| map_spot(spot.as_ref()?)).collect()
}

fn workspace_comments(comments: &[crh_forge::DiscussionComment]) -> Vec<WorkspaceComment> {
    let comment = |comment: &crh_forge::DiscussionComment| WorkspaceComment {
        id: comment.id.clone(),
        author: comment.author.clone(),
        created_at: comment.created_at.clone(),
        content: comment.content.clone(),
    };
    comments.iter().map(comment).collect()
}
