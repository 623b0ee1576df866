//! Actions of people on Launchpad: create repositories and merge proposals, push, comment, vote.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::state::{
    Bug, Comment, Decision, FakeLaunchpadState, PreviewDiff, Proposal, Repository, StatusReport,
    Token,
};
use super::{CONSUMER, FakeLaunchpad};
use crate::fake_github::git::FakeBareRepository;

/// A merge proposal to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// Unique name of the source repository.
    pub source: String,
    /// Source branch.
    pub branch: String,
    /// Unique name of the target repository.
    pub target: String,
    /// Target branch.
    pub into: String,
    /// The description.
    pub description: String,
    /// The commit message.
    pub commit_message: String,
    /// Account that registers it.
    pub registrant: String,
}

impl Default for Merge {
    fn default() -> Self {
        Self {
            source: "~acme/shop/+git/shop".to_owned(),
            branch: "feature".to_owned(),
            target: "~acme/shop/+git/shop".to_owned(),
            into: "main".to_owned(),
            description: "What it does.".to_owned(),
            commit_message: "A change".to_owned(),
            registrant: "ann".to_owned(),
        }
    }
}

/// Identifies a merge proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeHandle {
    /// Its path, such as `~ann/shop/+git/shop/+merge/12`.
    pub path: String,
    /// Number.
    pub number: u64,
}

impl fmt::Display for MergeHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

impl FakeLaunchpad {
    /// Adds a token, and its person if needed.
    pub fn token(&self, token: &str, secret: &str, person: &str) -> &Self {
        let mut state = self.service.state();
        state.ensure(person);
        let (consumer, secret) = (CONSUMER.to_owned(), secret.to_owned());
        let token_of = Token { consumer, secret, person: person.to_owned() };
        state.tokens.insert(token.to_owned(), token_of);
        drop(state);
        self
    }

    /// Adds a git access token for private repositories.
    pub fn git_token(&self, person: &str, token: &str) -> &Self {
        self.service.state().git_tokens.insert(token.to_owned(), person.to_owned());
        self
    }

    /// Serves a description of the web service, with `real_url` replaced by the fake's address.
    pub fn describe(&self, wadl: &str, real_url: &str) -> &Self {
        let api_url = format!("{}/", self.api_url());
        self.service.state().wadl = Some(wadl.replace(real_url, &api_url));
        self
    }

    /// Sets the page size.
    pub fn pages_of(&self, entries: usize) -> &Self {
        self.service.state().page = Some(entries);
        self
    }

    /// A person authorizes a requested token.
    ///
    /// # Panics
    ///
    /// If the token was not requested.
    pub fn authorize(&self, request_token: &str, person: &str) {
        let mut state = self.service.state();
        state.ensure(person);
        let token = state.request_tokens.get_mut(request_token).unwrap();
        token.decision = Decision::Yes(person.to_owned());
    }

    /// A person declines a requested token.
    ///
    /// # Panics
    ///
    /// If the token was not requested.
    pub fn decline(&self, request_token: &str) {
        let mut state = self.service.state();
        state.request_tokens.get_mut(request_token).unwrap().decision = Decision::No;
    }

    /// Requested tokens that were not exchanged yet.
    pub fn request_tokens(&self) -> Vec<String> {
        self.service.state().request_tokens.keys().cloned().collect()
    }

    /// Adds a repository with a unique name and the branches of a [`crate::Repo`] or a folder.
    pub fn repository(&self, name: &str, source: impl AsRef<Path>) -> &Self {
        let bare = FakeBareRepository::new(
            self.folder.path().join(format!("{name}.git")),
            source.as_ref(),
        );
        let mut state = self.service.state();
        let owner = name.split('/').next().unwrap_or_default().trim_start_matches('~');
        state.ensure(owner);
        let id = state.id();
        state.repositories.push(Repository {
            id,
            name: name.to_owned(),
            private: false,
            bare,
            status_reports: Vec::new(),
        });
        drop(state);
        self
    }

    /// Makes a repository private.
    pub fn make_private(&self, name: &str) -> &Self {
        self.service.state().repository_mut(name).unwrap().private = true;
        self
    }

    /// Updates the branches of a repository without a new preview diff.
    pub fn refresh(&self, name: &str) {
        self.service.state().repository(name).unwrap().bare.refresh();
    }

    /// Removes unreachable objects.
    pub fn clean_up(&self, name: &str) {
        self.service.state().repository(name).unwrap().bare.clean_up();
    }

    /// Registers a merge proposal without a preview diff.
    pub fn propose_unseen(&self, merge: Merge) -> MergeHandle {
        let (source, target) = ((merge.source, merge.branch), (merge.target, merge.into));
        self.register(source, target, &merge.registrant, |proposal| {
            proposal.description = Some(merge.description).filter(|text| !text.is_empty());
            proposal.commit_message = Some(merge.commit_message).filter(|text| !text.is_empty());
        })
    }

    /// Registers a merge proposal with its first preview diff.
    pub fn propose(&self, merge: Merge) -> MergeHandle {
        let handle = self.propose_unseen(merge);
        self.push(&handle);
        handle
    }

    /// Registers a merge proposal of Bazaar branches.
    pub fn propose_bazaar(&self, source: &str, target: &str) -> MergeHandle {
        let branch_reference = |branch: &str| (branch.to_owned(), String::new());
        self.register(branch_reference(source), branch_reference(target), "ann", |proposal| {
            proposal.bazaar = true;
        })
    }

    fn register(
        &self,
        source: (String, String),
        target: (String, String),
        registrant: &str,
        more: impl FnOnce(&mut Proposal),
    ) -> MergeHandle {
        let mut state = self.service.state();
        state.ensure(registrant);
        let (id, created) = (state.id(), state.tick());
        let path = format!("{}/+merge/{id}", source.0);
        let mut proposal = Proposal {
            id,
            path: path.clone(),
            registrant: registrant.to_owned(),
            source,
            target,
            bazaar: false,
            description: None,
            commit_message: None,
            status: "Needs review".to_owned(),
            created,
            diffs: Vec::new(),
            comments: Vec::new(),
            votes: BTreeMap::new(),
            bugs: Vec::new(),
            drafts: BTreeMap::new(),
        };
        more(&mut proposal);
        state.proposals.insert(path.clone(), proposal);
        MergeHandle { path, number: id }
    }

    /// Pushes the current branches of the test repositories and creates a preview diff: a new
    /// round.
    pub fn push(&self, handle: &MergeHandle) {
        let mut state = self.service.state();
        let (id, created) = (state.id(), state.tick());
        let proposal = &state.proposals[&handle.path];
        for name in [&proposal.source.0, &proposal.target.0] {
            state.repository(name).unwrap().bare.refresh();
        }
        let source_revision = state.tip(&proposal.source).unwrap();
        let target_revision = state.tip(&proposal.target).unwrap();
        let target = &state.repository(&proposal.target.0).unwrap().bare;
        let from = &state.repository(&proposal.source.0).unwrap().bare;
        // The merge happens in a separate repository: source and target must serve only their own
        // commits.
        let bare = FakeBareRepository::new(
            self.folder.path().join(format!("scratch/{id}.git")),
            &target.path,
        );
        bare.fetch_head(from, &source_revision, proposal.id);
        // Launchpad shows the merge into the current target, not the branch's own changes.
        let (tree, conflicts) = bare.merge(&target_revision, &source_revision);
        let text = bare.diff_text(&target_revision, &tree);
        let diff = PreviewDiff { id, created, source_revision, target_revision, text, conflicts };
        state.proposals.get_mut(&handle.path).unwrap().diffs.push(diff);
    }

    /// Repeats the newest preview diff: rounds without changes.
    ///
    /// # Panics
    ///
    /// If there is no preview diff.
    pub fn push_again(&self, handle: &MergeHandle, times: usize) {
        for _ in 0..times {
            let mut state = self.service.state();
            let (id, created) = (state.id(), state.tick());
            let diffs = &mut state.proposals.get_mut(&handle.path).unwrap().diffs;
            let last = diffs.last().unwrap().clone();
            diffs.push(PreviewDiff { id, created, ..last });
        }
    }

    /// Sets the status, such as `Merged` or `Work in progress`.
    pub fn set_status(&self, handle: &MergeHandle, status: &str) {
        self.in_proposal(handle, |proposal| proposal.status = status.to_owned());
    }

    /// Sets a former path that redirects to the merge proposal.
    pub fn was_at(&self, handle: &MergeHandle, old_path: &str) {
        self.service.state().moved.insert(old_path.to_owned(), handle.path.clone());
    }

    /// Adds a general comment and returns its number.
    pub fn comment(&self, handle: &MergeHandle, author: &str, content: &str) -> u64 {
        self.add_comment(handle, author, |comment| comment.content = content.to_owned())
    }

    /// Votes with a comment and returns its number.
    pub fn vote(&self, handle: &MergeHandle, author: &str, vote: &str, content: &str) -> u64 {
        let id = self.add_comment(handle, author, |comment| {
            comment.content = content.to_owned();
            comment.vote = Some(vote.to_owned());
        });
        self.in_proposal(handle, |proposal| proposal.votes.insert(author.to_owned(), id));
        id
    }

    /// Adds a comment with inline comments on a preview diff and returns its number.
    pub fn inline(
        &self,
        handle: &MergeHandle,
        author: &str,
        diff: u64,
        lines: &[(u64, &str)],
    ) -> u64 {
        self.add_comment(handle, author, |comment| {
            comment.preview_diff = Some(diff);
            comment.inline = lines.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        })
    }

    /// Adds an unpublished draft comment.
    pub fn draft(&self, handle: &MergeHandle, author: &str, diff: u64, (line, text): (u64, &str)) {
        self.in_proposal(handle, |proposal| {
            let drafts = proposal.drafts.entry((author.to_owned(), diff)).or_default();
            drafts.insert(line, text.to_owned())
        });
    }

    fn add_comment(
        &self,
        handle: &MergeHandle,
        author: &str,
        change: impl FnOnce(&mut Comment),
    ) -> u64 {
        let mut state = self.service.state();
        let mut comment = new_comment(&mut state, author);
        change(&mut comment);
        let id = comment.id;
        state.proposals.get_mut(&handle.path).unwrap().comments.push(comment);
        id
    }

    /// Adds a status report: `Succeeded`, `Failed`, `Running`.
    pub fn report(&self, repository: &str, commit: &str, title: &str, result: &str) -> &Self {
        let mut state = self.service.state();
        let (id, created) = (state.id(), state.tick());
        let report = StatusReport {
            id,
            commit: commit.to_owned(),
            title: title.to_owned(),
            result: result.to_owned(),
            summary: Some(format!("{title}: {result}")),
            url: Some(format!("https://ci.example/{title}")),
            created,
        };
        state.repository_mut(repository).unwrap().status_reports.push(report);
        drop(state);
        self
    }

    /// Links a bug and returns its number.
    pub fn link_bug(&self, handle: &MergeHandle, title: &str, description: &str) -> u64 {
        let mut state = self.service.state();
        let number = state.id();
        let (title, description) = (title.to_owned(), description.to_owned());
        state.bugs.insert(number, Bug { number, title, description });
        state.proposals.get_mut(&handle.path).unwrap().bugs.push(number);
        number
    }

    fn in_proposal<T>(&self, handle: &MergeHandle, change: impl FnOnce(&mut Proposal) -> T) -> T {
        change(self.service.state().proposals.get_mut(&handle.path).unwrap())
    }
}

/// An empty comment.
pub(super) fn new_comment(state: &mut FakeLaunchpadState, author: &str) -> Comment {
    state.ensure(author);
    Comment {
        id: state.id(),
        author: author.to_owned(),
        subject: String::new(),
        content: String::new(),
        vote: None,
        created: state.tick(),
        preview_diff: None,
        inline: BTreeMap::new(),
    }
}
