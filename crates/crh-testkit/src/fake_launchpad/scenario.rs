//! What tests make happen at the fake: repositories, merge proposals, and what people do there.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use super::state::{
    Bug, Comment, Decision, PreviewDiff, Proposal, Report, Repository, State, Token,
};
use super::{CONSUMER, FakeLaunchpad};
use crate::fake_github::git::Bare;

/// A merge proposal to register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merge {
    /// The repository with the change, by its unique name.
    pub source: String,
    /// The branch there.
    pub branch: String,
    /// The repository that it is to be merged into.
    pub target: String,
    /// The branch there.
    pub into: String,
    /// The description.
    pub description: String,
    /// The commit message.
    pub commit_message: String,
    /// Who registers it.
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

/// Which merge proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeAt {
    /// Its path, such as `~ann/shop/+git/shop/+merge/12`.
    pub path: String,
    /// Its number.
    pub number: u64,
}

impl fmt::Display for MergeAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

impl FakeLaunchpad {
    /// A token of a person, who is made if there is none.
    pub fn token(&self, token: &str, secret: &str, person: &str) -> &Self {
        let mut state = self.desk.state();
        state.ensure(person);
        let (consumer, secret) = (CONSUMER.to_owned(), secret.to_owned());
        let token_of = Token { consumer, secret, person: person.to_owned() };
        state.tokens.insert(token.to_owned(), token_of);
        drop(state);
        self
    }

    /// An access token with which the git of a person reads private repositories.
    pub fn git_token(&self, person: &str, token: &str) -> &Self {
        self.desk.state().git_tokens.insert(token.to_owned(), person.to_owned());
        self
    }

    /// Serves a description of the web service, with its own address in the place of `of`.
    pub fn describe(&self, wadl: &str, of: &str) -> &Self {
        let own = format!("{}/", self.api_url());
        self.desk.state().wadl = Some(wadl.replace(of, &own));
        self
    }

    /// Gives lists out in pages of so many entries.
    pub fn pages_of(&self, entries: usize) -> &Self {
        self.desk.state().page = Some(entries);
        self
    }

    /// Somebody says yes in a browser to a token that was asked for.
    ///
    /// # Panics
    /// If nobody asked for it.
    pub fn authorize(&self, request_token: &str, person: &str) {
        let mut state = self.desk.state();
        state.ensure(person);
        let token = state.request_tokens.get_mut(request_token).unwrap();
        token.decision = Decision::Yes(person.to_owned());
    }

    /// Somebody says no to it.
    ///
    /// # Panics
    /// If nobody asked for it.
    pub fn decline(&self, request_token: &str) {
        let mut state = self.desk.state();
        state.request_tokens.get_mut(request_token).unwrap().decision = Decision::No;
    }

    /// The tokens that were asked for and not exchanged yet.
    pub fn request_tokens(&self) -> Vec<String> {
        self.desk.state().request_tokens.keys().cloned().collect()
    }

    /// A repository with a unique name and the branches of one of the test's, a [`crate::Repo`] or a folder.
    pub fn repository(&self, name: &str, source: impl AsRef<Path>) -> &Self {
        let bare = Bare::new(self.folder.path().join(format!("{name}.git")), source.as_ref());
        let mut state = self.desk.state();
        let owner = name.split('/').next().unwrap_or_default().trim_start_matches('~');
        state.ensure(owner);
        let id = state.id();
        state.repositories.push(Repository {
            id,
            name: name.to_owned(),
            private: false,
            bare,
            reports: Vec::new(),
        });
        drop(state);
        self
    }

    /// Makes a repository private: only who has a token sees it.
    pub fn make_private(&self, name: &str) -> &Self {
        self.desk.state().repository_mut(name).unwrap().private = true;
        self
    }

    /// Takes the branches of a repository as they are now in the test's. No preview diff is made: those that there are may be
    /// stale from now on.
    pub fn refresh(&self, name: &str) {
        self.desk.state().repository(name).unwrap().bare.refresh();
    }

    /// Cleans a repository up: what no branch leads to is gone.
    pub fn clean_up(&self, name: &str) {
        self.desk.state().repository(name).unwrap().bare.clean_up();
    }

    /// Registers a merge proposal of which no preview diff is made.
    pub fn propose_unseen(&self, merge: Merge) -> MergeAt {
        let (source, target) = ((merge.source, merge.branch), (merge.target, merge.into));
        self.register(source, target, &merge.registrant, |proposal| {
            proposal.description = Some(merge.description).filter(|text| !text.is_empty());
            proposal.commit_message = Some(merge.commit_message).filter(|text| !text.is_empty());
        })
    }

    /// Registers a merge proposal, and makes its first preview diff.
    pub fn propose(&self, merge: Merge) -> MergeAt {
        let at = self.propose_unseen(merge);
        self.push(&at);
        at
    }

    /// Registers a merge proposal between branches of Bazaar's.
    pub fn propose_bazaar(&self, source: &str, target: &str) -> MergeAt {
        let of = |branch: &str| (branch.to_owned(), String::new());
        self.register(of(source), of(target), "ann", |proposal| proposal.bazaar = true)
    }

    fn register(
        &self,
        source: (String, String),
        target: (String, String),
        registrant: &str,
        more: impl FnOnce(&mut Proposal),
    ) -> MergeAt {
        let mut state = self.desk.state();
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
        MergeAt { path, number: id }
    }

    /// Takes the branches of a merge proposal as they are now in the test's repositories, and makes a preview diff: a round.
    pub fn push(&self, at: &MergeAt) {
        let mut state = self.desk.state();
        let (id, created) = (state.id(), state.tick());
        let proposal = &state.proposals[&at.path];
        for name in [&proposal.source.0, &proposal.target.0] {
            state.repository(name).unwrap().bare.refresh();
        }
        let source_revision = state.tip(&proposal.source).unwrap();
        let target_revision = state.tip(&proposal.target).unwrap();
        let target = &state.repository(&proposal.target.0).unwrap().bare;
        let from = &state.repository(&proposal.source.0).unwrap().bare;
        // In neither repository: each gives out its own commits alone.
        let bare = Bare::new(self.folder.path().join(format!("scratch/{id}.git")), &target.path);
        bare.take_head(from, &source_revision, proposal.id);
        // What Launchpad shows is what the merge would do to the target as it is now, not what the branch did.
        let (tree, conflicts) = bare.merged(&target_revision, &source_revision);
        let text = bare.diff_text(&target_revision, &tree);
        let diff = PreviewDiff { id, created, source_revision, target_revision, text, conflicts };
        state.proposals.get_mut(&at.path).unwrap().diffs.push(diff);
    }

    /// Makes the newest preview diff again, so often: rounds in which nothing has changed.
    ///
    /// # Panics
    /// If there is none.
    pub fn push_again(&self, at: &MergeAt, times: usize) {
        for _ in 0..times {
            let mut state = self.desk.state();
            let (id, created) = (state.id(), state.tick());
            let diffs = &mut state.proposals.get_mut(&at.path).unwrap().diffs;
            let last = diffs.last().unwrap().clone();
            diffs.push(PreviewDiff { id, created, ..last });
        }
    }

    /// Says where a merge proposal stands, by Launchpad's word: `Merged`, `Work in progress`.
    pub fn set_status(&self, at: &MergeAt, status: &str) {
        self.in_proposal(at, |proposal| proposal.status = status.to_owned());
    }

    /// Says what path a merge proposal had before somebody was renamed: who asks there is sent on.
    pub fn was_at(&self, at: &MergeAt, before: &str) {
        self.desk.state().moved.insert(before.to_owned(), at.path.clone());
    }

    /// Comments on a merge proposal as a whole; the comment's number.
    pub fn comment(&self, at: &MergeAt, author: &str, content: &str) -> u64 {
        self.say(at, author, |comment| comment.content = content.to_owned())
    }

    /// Votes on a merge proposal, with a comment; the comment's number.
    pub fn vote(&self, at: &MergeAt, author: &str, vote: &str, content: &str) -> u64 {
        let id = self.say(at, author, |comment| {
            comment.content = content.to_owned();
            comment.vote = Some(vote.to_owned());
        });
        self.in_proposal(at, |proposal| proposal.votes.insert(author.to_owned(), id));
        id
    }

    /// Comments on lines of a preview diff, by its id; the number of the comment that carries them.
    pub fn inline(&self, at: &MergeAt, author: &str, diff: u64, lines: &[(u64, &str)]) -> u64 {
        self.say(at, author, |comment| {
            comment.preview_diff = Some(diff);
            comment.inline = lines.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
        })
    }

    /// Begins to write beside a line of a preview diff, and does not publish it.
    pub fn draft(&self, at: &MergeAt, author: &str, diff: u64, (line, text): (u64, &str)) {
        self.in_proposal(at, |proposal| {
            let drafts = proposal.drafts.entry((author.to_owned(), diff)).or_default();
            drafts.insert(line, text.to_owned())
        });
    }

    fn say(&self, at: &MergeAt, author: &str, more: impl FnOnce(&mut Comment)) -> u64 {
        let mut state = self.desk.state();
        let mut comment = written(&mut state, author);
        more(&mut comment);
        let id = comment.id;
        state.proposals.get_mut(&at.path).unwrap().comments.push(comment);
        id
    }

    /// What a check says about a commit, by Launchpad's word: `Succeeded`, `Failed`, `Running`.
    pub fn report(&self, repository: &str, commit: &str, title: &str, result: &str) -> &Self {
        let mut state = self.desk.state();
        let (id, created) = (state.id(), state.tick());
        let report = Report {
            id,
            commit: commit.to_owned(),
            title: title.to_owned(),
            result: result.to_owned(),
            summary: Some(format!("{title}: {result}")),
            url: Some(format!("https://ci.example/{title}")),
            created,
        };
        state.repository_mut(repository).unwrap().reports.push(report);
        drop(state);
        self
    }

    /// A bug that a merge proposal deals with; its number.
    pub fn link_bug(&self, at: &MergeAt, title: &str, description: &str) -> u64 {
        let mut state = self.desk.state();
        let number = state.id();
        let (title, description) = (title.to_owned(), description.to_owned());
        state.bugs.insert(number, Bug { number, title, description });
        state.proposals.get_mut(&at.path).unwrap().bugs.push(number);
        number
    }

    fn in_proposal<T>(&self, at: &MergeAt, change: impl FnOnce(&mut Proposal) -> T) -> T {
        change(self.desk.state().proposals.get_mut(&at.path).unwrap())
    }
}

/// A comment of now, without a word.
pub(super) fn written(state: &mut State, author: &str) -> Comment {
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
