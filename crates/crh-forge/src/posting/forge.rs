//! What a forge adds to the posting engine: rules, which are pure, and a poster, which sends.

use std::time::Duration;

use super::position::Anchor;
use super::{
    ForgeRequest, PostingSteps, PostingWrite, ProposalState, ReviewPosting, WriteAnswer, WriteKind,
    own_summary, withdraw_reviews,
};
use crate::forges::SinkProfile;
use crate::rest::RestForge;
use crate::{ForgeError, ProposalKind};

/// Number of times that crh reads the state after an unconfirmed write. The forge may still be
/// working on the write, and a new text may not be visible everywhere yet.
pub(super) const REREADS_MAX: u32 = 3;

/// What a forge can do, and its limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ForgeProfile {
    /// Name of the forge.
    pub name: &'static str,
    /// Ways to post. The first posts reviews.
    pub sinks: &'static [SinkProfile],
    /// What the forge calls a proposed change.
    pub kind: ProposalKind,
    /// Separator of repository and number: `#` in `o/r#7`.
    pub separator: &'static str,
    /// Maximum number of inline comments.
    pub inline_max: usize,
    /// Maximum number of inline comments of one write. 1 for forges that take them one by one.
    pub batch_max: usize,
    /// Whether a comment can be on several lines.
    pub has_ranges: bool,
    /// Syntax of fixes that are applied with one click.
    pub suggestions: SuggestionSyntax,
    /// Why the forge has no vote against a change; `None` if it has one.
    pub no_request_changes: Option<&'static str>,
    /// Whether a vote has a text, by which crh recognises its own. If not, the summary tells which
    /// head crh approved, so crh posts the summary before it votes.
    pub votes_have_text: bool,
    /// Why threads cannot be resolved; `None` if they can.
    pub no_resolving: Option<&'static str>,
    /// Whether an outdated thread means that its lines changed.
    pub outdated_means_changed: bool,
    /// Whether crh repeats a write that the forge did not apply.
    pub repeats_writes: bool,
    /// Delays while posting.
    pub delays: PostingDelays,
}

/// Syntax of a fix that is applied with one click.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuggestionSyntax {
    /// The block replaces the commented lines.
    CommentedLines,
    /// The block says how many lines above the commented line it replaces, as in `:-2+0`.
    RelativeLines,
    /// The forge has no such fixes.
    Unsupported,
}

/// Delays while posting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PostingDelays {
    /// Before each read of the state after an unconfirmed write.
    pub rereads: [Duration; REREADS_MAX as usize],
    /// Between writes, after the first few.
    pub between_writes: Duration,
}

/// Pure part of a forge: its abilities, and how it expresses a write.
pub trait ForgeRules: Sync {
    /// The rest of the implementation, if the forge has a plain REST API.
    fn rest(&self) -> Option<&'static dyn RestForge> {
        None
    }

    /// Abilities and limits.
    fn profile(&self) -> &'static ForgeProfile;

    /// The request of a write.
    fn request(&self, write: &WriteKind, state: &ProposalState) -> ForgeRequest;

    /// Web address of a line of the diff.
    fn line_url(
        &self,
        anchor: &Anchor,
        posting: &ReviewPosting<'_>,
        state: &ProposalState,
    ) -> String;

    /// The writes of a posting, for a forge that posts in its own way. The caller has checked that
    /// crh may post. `None` for forges with threads on lines and a summary that can be edited.
    fn plan_whole(
        &self,
        _posting: &ReviewPosting<'_>,
        _state: &ProposalState,
    ) -> Option<PostingSteps> {
        None
    }

    /// The writes that withdraw this installation's approvals of older heads.
    fn withdrawals(&self, instance: &str, state: &ProposalState) -> Vec<WriteKind> {
        withdraw_reviews(instance, state)
    }

    /// Web address of the summary of this review, if it exists.
    fn summary_url(&self, posting: &ReviewPosting<'_>, state: &ProposalState) -> Option<String> {
        let url = own_summary(state, posting.instance).map(|own| own.url.clone());
        url.filter(|url| !url.is_empty())
    }
}

/// Part of a forge that reads the state of one proposed change and writes to it.
pub trait ForgePoster: Sync {
    /// The pure part.
    fn rules(&self) -> &'static dyn ForgeRules;

    /// Reads the current state.
    fn read_state(&self, instance: &str)
    -> impl Future<Output = Result<ProposalState, ForgeError>>;

    /// Sends a write once. Returns the forge's answer, and the address of the summary if this was
    /// the summary.
    fn send(&self, write: &PostingWrite) -> impl Future<Output = (WriteAnswer, Option<String>)>;
}
