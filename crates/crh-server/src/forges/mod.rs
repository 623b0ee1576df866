//! The forges that a server serves: GitHub through its App, and forges with a plain REST API through
//! the token of an account.

mod access;
mod events;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use secrecy::SecretString;

pub use access::{RestAccess, RestAccessError, RestAccessSettings};
pub(crate) use events::plan_event;

use crate::forge_access::{CheckNotice, ForgeAccess, ForgeFailure, ForgeResult, OpenChange};
use crate::github_app::GitHubAccess;
use crate::job::{ChangeId, InstallationId};
use crate::tasks::ReplyTask;
use crate::webhook::plan::CommentRef;
use crh_forge::forge_code::{
    CommitResult, FileCommit, FixSuggestion, HeadFile, OwnConversation, PullHead,
};

/// Name of the server's instance of crh in the marks of its comments. By this name, two instances
/// that comment on the same line recognise their own conversations. It equals the default of the
/// setting `instance`.
const INSTANCE: &str = "crh";

/// Installation of all changes at REST forges, which have no installations.
pub const NO_INSTALLATION: InstallationId = InstallationId(1);

/// The forges of a server. Clones share connections.
#[derive(Debug, Clone)]
pub struct ServerForges {
    github: Option<Arc<GitHubAccess>>,
    rest: Vec<Arc<RestAccess>>,
}

impl From<Arc<GitHubAccess>> for ServerForges {
    fn from(github: Arc<GitHubAccess>) -> Self {
        Self { github: Some(github), rest: Vec::new() }
    }
}

impl ServerForges {
    /// The forges of a server. At least one must be given.
    pub fn new(github: Option<Arc<GitHubAccess>>, rest: Vec<Arc<RestAccess>>) -> Self {
        Self { github, rest }
    }

    /// The GitHub App, if the server has one.
    pub fn github(&self) -> Option<&Arc<GitHubAccess>> {
        self.github.as_ref()
    }

    /// The forges with a REST API.
    pub fn rest(&self) -> &[Arc<RestAccess>] {
        &self.rest
    }

    /// Host names of all forges.
    pub fn names(&self) -> Vec<&str> {
        let github = self.github.iter().map(|github| github.host().name());
        github.chain(self.rest.iter().map(|rest| rest.host().name())).collect()
    }

    /// Web address of a change, or of its repository if it has no number.
    pub fn change_url(&self, change: &ChangeId) -> String {
        if let Some(rest) = self.find_rest(&change.forge) {
            return rest.change_url(change);
        }
        let server = self.github.as_ref().map_or("", |github| github.host().server());
        let repository = &change.repository;
        match change.number.as_str() {
            "" => format!("{server}/{repository}"),
            number => format!("{server}/{repository}/pull/{number}"),
        }
    }

    /// Whether a comment of the server's account has this mark.
    pub async fn has_marked_comment(&self, change: &ChangeId, mark: &str) -> ForgeResult<bool> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => {
                github.has_marked_comment(&change.repository, &change.number, mark).await
            }
            FoundForge::Rest(rest) => rest.has_marked_comment(change, mark).await,
        }
    }

    /// Posts a comment in the conversation of a change.
    pub async fn comment(&self, change: &ChangeId, body: &str) -> ForgeResult<()> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => {
                github.comment(&change.repository, &change.number, body).await
            }
            FoundForge::Rest(rest) => rest.comment(change, body).await,
        }
    }

    /// Adds a thumbs-up to a comment. Repeating it changes nothing.
    pub async fn approve_comment(
        &self,
        change: &ChangeId,
        comment: &CommentRef,
    ) -> ForgeResult<()> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.react(&change.repository, comment, "+1").await,
            FoundForge::Rest(rest) => rest.approve_comment(change, comment).await,
        }
    }

    /// The conversation of a reply, if crh started it about an issue.
    pub(crate) async fn own_conversation(
        &self,
        change: &ChangeId,
        task: &ReplyTask,
    ) -> ForgeResult<Option<OwnConversation>> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.own_conversation(change, task.root).await,
            FoundForge::Rest(rest) => rest.own_conversation(change, task.comment.id).await,
        }
    }

    /// Posts a reply in a conversation.
    pub(crate) async fn reply(
        &self,
        change: &ChangeId,
        conversation: &OwnConversation,
        body: &str,
    ) -> ForgeResult<()> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.reply(change, conversation.root, body).await,
            FoundForge::Rest(rest) => rest.reply(change, conversation, body).await,
        }
    }

    /// Resolves a conversation, if the forge's API can. Repeating it changes nothing.
    pub(crate) async fn resolve(&self, change: &ChangeId, thread: &str) -> ForgeResult<()> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.resolve(&change.repository, thread).await,
            FoundForge::Rest(rest) => rest.resolve(change, thread).await,
        }
    }

    /// Head of a pull request.
    pub(crate) async fn pull_head(&self, change: &ChangeId) -> ForgeResult<PullHead> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.pull_head(change).await,
            FoundForge::Rest(rest) => rest.pull_head(change).await,
        }
    }

    /// Message of a commit.
    pub(crate) async fn commit_message(
        &self,
        change: &ChangeId,
        commit: &str,
    ) -> ForgeResult<String> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.commit_message(&change.repository, commit).await,
            FoundForge::Rest(rest) => rest.commit_message(&change.repository, commit).await,
        }
    }

    /// A text file at a commit. `None` if there is no such file, or if it is too large, a symlink
    /// or not UTF-8.
    pub(crate) async fn file_at(
        &self,
        change: &ChangeId,
        commit: &str,
        path: &str,
    ) -> ForgeResult<Option<HeadFile>> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.file_at(&change.repository, commit, path).await,
            FoundForge::Rest(rest) => rest.file_at(&change.repository, commit, path).await,
        }
    }

    /// Commits a file to the branch of a change.
    pub(crate) async fn commit_file(
        &self,
        change: &ChangeId,
        commit: &FileCommit<'_>,
    ) -> ForgeResult<CommitResult> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.commit_file(&change.repository, commit).await,
            FoundForge::Rest(rest) => rest.commit_file(&change.repository, commit).await,
        }
    }

    /// Suggests a fix at its lines, once. Returns whether the forge accepted it.
    pub(crate) async fn suggest(
        &self,
        change: &ChangeId,
        head: &str,
        suggestion: &FixSuggestion<'_>,
    ) -> ForgeResult<bool> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.suggest(change, head, suggestion).await,
            FoundForge::Rest(rest) => rest.suggest(change, suggestion).await,
        }
    }

    /// The REST forge with this host name.
    pub fn find_rest(&self, forge: &str) -> Option<&Arc<RestAccess>> {
        self.rest.iter().find(|rest| rest.host().name() == forge)
    }

    fn find(&self, forge: &str) -> ForgeResult<FoundForge<'_>> {
        match (self.find_rest(forge), &self.github) {
            (Some(rest), _) => Ok(FoundForge::Rest(rest)),
            (None, Some(github)) if github.host().name() == forge => Ok(FoundForge::GitHub(github)),
            // A stored job can be about a forge that is not configured any more.
            (None, _) => {
                Err(ForgeFailure::Denied(format!("this server has no token for `{forge}`")))
            }
        }
    }
}

enum FoundForge<'a> {
    GitHub(&'a Arc<GitHubAccess>),
    Rest(&'a Arc<RestAccess>),
}

impl ForgeAccess for ServerForges {
    async fn token(
        &self,
        forge: &str,
        _: InstallationId,
        repository: &str,
    ) -> ForgeResult<SecretString> {
        match self.find(forge)? {
            FoundForge::GitHub(github) => github.token(repository).await,
            FoundForge::Rest(rest) => rest.token(),
        }
    }

    async fn open_change(
        &self,
        _: InstallationId,
        change: &ChangeId,
    ) -> ForgeResult<Option<OpenChange>> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.open_change(change).await,
            FoundForge::Rest(rest) => rest.open_change(change).await,
        }
    }

    async fn open_changes(
        &self,
        forge: &str,
        _: InstallationId,
        repository: &str,
    ) -> ForgeResult<Vec<OpenChange>> {
        match self.find(forge)? {
            FoundForge::GitHub(github) => github.open_changes(repository).await,
            FoundForge::Rest(rest) => rest.open_changes(repository).await,
        }
    }

    async fn may_write(
        &self,
        forge: &str,
        _: InstallationId,
        repository: &str,
        account: &str,
    ) -> ForgeResult<bool> {
        match self.find(forge)? {
            FoundForge::GitHub(github) => github.may_write(repository, account).await,
            FoundForge::Rest(rest) => rest.may_write(repository, account).await,
        }
    }

    async fn report_check(
        &self,
        _: InstallationId,
        change: &ChangeId,
        head: &str,
        notice: &CheckNotice,
    ) -> ForgeResult<()> {
        match self.find(&change.forge)? {
            FoundForge::GitHub(github) => github.report_check(change, head, notice).await,
            FoundForge::Rest(rest) => rest.report_notice(change, notice).await,
        }
    }
}
