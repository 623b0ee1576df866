//! What stands on a merge proposal, as posting decides by it.

/// What stands on a merge proposal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standing {
    /// The name of the account that asks; none if it asks as nobody.
    pub viewer: Option<String>,
    /// What decides whether anything is posted.
    pub proposal: ProposalState,
    /// The newest preview diff; none if Launchpad has made none.
    pub round: Option<StandingRound>,
    /// What was said about the whole, oldest first.
    pub comments: Vec<Said>,
    /// What was said about lines, round after round from the oldest on, in Launchpad's order within each.
    pub inline: Vec<InlineSaid>,
    /// What there is more of than was read.
    pub unread: Vec<String>,
}

/// What of a merge proposal decides whether anything is posted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalState {
    /// The unique name of the repository that it is proposed to.
    pub repo: String,
    /// Its number.
    pub number: u64,
    /// Its path in the web service.
    pub path: String,
    /// Where it can be looked at.
    pub url: String,
    /// The commit at its head now.
    pub head: String,
    /// Who proposes it.
    pub registrant: Option<String>,
    /// Launchpad's word for where it stands.
    pub status: String,
    /// Whether not everybody may see both of its repositories.
    pub private: bool,
}

/// A preview diff that can carry comments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StandingRound {
    /// Its number.
    pub id: u64,
    /// The head that it shows.
    pub head: String,
    /// Its text, as Launchpad counts its lines.
    pub diff: Vec<u8>,
}

/// What somebody wrote about the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Said {
    /// Who wrote it; none if that cannot be told.
    pub author: Option<String>,
    /// The vote that came with it.
    pub vote: Option<String>,
    /// The text, as it was written.
    pub content: String,
    /// Where it can be looked at.
    pub url: String,
}

/// What somebody wrote about a line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InlineSaid {
    /// The line of it; none if it was said under a key that is no number.
    pub line: Option<u32>,
    /// Who wrote it; none if that cannot be told.
    pub author: Option<String>,
    /// When.
    pub created_at: String,
    /// The text, as it was written.
    pub text: String,
}

impl ProposalState {
    /// Whether there is nothing to decide about it any more.
    pub fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "Merged" | "Rejected" | "Superseded")
    }
}
