//! Decides what became of a posted issue: from the code before and after, from later reviews, and
//! from its comment thread. Code decides where it can. Where it can only guess, a judge may decide.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::cited_code::FileTexts;
use crate::cited_code::{CodeChange, compare_cited_code};

/// What became of an issue. An issue stands while its problem is in the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The cited code, or the code next to it, changed so that the issue no longer stands.
    FixedInPlace,
    /// Other code changed so that the issue no longer stands.
    FixedElsewhere,
    /// The cited code moved, and the issue with it.
    Moved,
    /// Only the form of the cited code changed, and the issue stands.
    Reformatted,
    /// The file of the cited code was deleted.
    FileDeleted,
    /// A maintainer, or the user of this machine, dismissed the issue.
    Dismissed,
    /// A person argued against the issue, and the code stayed.
    ArguedAgainst,
    /// The change was merged or closed, and the issue stands.
    Ignored,
    /// The change was merged with the issue and reverted later.
    Reverted,
    /// The proposal is open, and the issue stands.
    Open,
}

/// Whether a maintainer acted on an issue, as a label for calibration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reception {
    /// The issue was fixed, or its change was reverted.
    ActedOn,
    /// A person rejected the issue.
    Rejected,
    /// The issue stands in a merged or closed change, or in code that moved or was reformatted.
    LeftAlone,
    /// Not known: the proposal is open, or the file was deleted.
    Undecided,
}

impl Reception {
    /// Name in exports: `acted_on`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ActedOn => "acted_on",
            Self::Rejected => "rejected",
            Self::LeftAlone => "left_alone",
            Self::Undecided => "undecided",
        }
    }
}

impl OutcomeKind {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::FixedInPlace,
        Self::FixedElsewhere,
        Self::Moved,
        Self::Reformatted,
        Self::FileDeleted,
        Self::Dismissed,
        Self::ArguedAgainst,
        Self::Ignored,
        Self::Reverted,
        Self::Open,
    ];

    /// Whether a maintainer acted on the issue.
    pub fn reception(self) -> Reception {
        match self {
            Self::FixedInPlace | Self::FixedElsewhere | Self::Reverted => Reception::ActedOn,
            Self::Dismissed | Self::ArguedAgainst => Reception::Rejected,
            Self::Moved | Self::Reformatted | Self::Ignored => Reception::LeftAlone,
            // A deleted file says nothing about the issue.
            Self::FileDeleted | Self::Open => Reception::Undecided,
        }
    }

    /// Name in tables: `fixed in place`.
    pub fn name(self) -> &'static str {
        match self {
            Self::FixedInPlace => "fixed in place",
            Self::FixedElsewhere => "fixed elsewhere",
            Self::Moved => "moved",
            Self::Reformatted => "reformatted",
            Self::FileDeleted => "file deleted",
            Self::Dismissed => "dismissed",
            Self::ArguedAgainst => "argued against",
            Self::Ignored => "ignored",
            Self::Reverted => "reverted",
            Self::Open => "open",
        }
    }
}

impl fmt::Display for OutcomeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An outcome, and whether code can be sure of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// What became of the issue.
    pub kind: OutcomeKind,
    /// How sure the decision is.
    pub certainty: Certainty,
}

/// How sure a decision by code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The facts permit only this outcome.
    Certain,
    /// The facts permit several outcomes; this is the most frequent one.
    Guess,
}

/// Whether a later review of the whole change raised the issue again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaisedAgain {
    /// A later review raised it.
    Yes,
    /// A later, complete review did not raise it.
    No,
    /// No later review raised it, and the last review is not both later and complete.
    #[default]
    Unknown,
}

/// State of the proposed change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalEnd {
    /// Neither merged nor closed.
    #[default]
    Open,
    /// Merged.
    Merged,
    /// Closed without a merge.
    Closed,
    /// Merged, and reverted later.
    Reverted,
}

/// Lines of a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CitedLines {
    /// Path from the repository root.
    pub file: String,
    /// First line, from 1.
    pub first: u32,
    /// Last line.
    pub last: u32,
}

/// Everything that decides about an outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueHistory {
    /// Title of the issue, for a judge. Empty if it is not known.
    pub title: String,
    /// Cited code, the place of the issue first. Empty if the issue is about removed lines.
    pub cited: Vec<CitedLines>,
    /// Files when the issue was posted: those that are cited, and those that changed since.
    pub before: FileTexts,
    /// The same files now. Deleted files are missing.
    pub after: FileTexts,
    /// Whether a maintainer dismissed the issue.
    pub is_dismissed: bool,
    /// Replies of the author and of maintainers, except dismissals.
    pub replies: Vec<String>,
    /// Whether the forge marks the cited line as changed. Counts only if the cited code is not
    /// known.
    pub is_outdated: bool,
    /// Whether a later review raised the issue again.
    pub raised_again: RaisedAgain,
    /// State of the proposed change.
    pub end: ProposalEnd,
}

/// What a judge says about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedOutcome {
    /// Whether the problem is still in the code.
    pub still_stands: bool,
    /// Whether a reply argues against the issue.
    pub is_argued_against: bool,
}

/// Decides the cases that code can only guess, for example by asking a model. `None` if it cannot
/// decide.
pub trait OutcomeJudge {
    /// What became of an issue.
    fn judge(&self, history: &IssueHistory) -> Option<JudgedOutcome>;
}

/// Decides by code alone: guesses stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CodeOnly;

impl OutcomeJudge for CodeOnly {
    fn judge(&self, _history: &IssueHistory) -> Option<JudgedOutcome> {
        None
    }
}

/// What became of an issue. The judge decides only where the code guesses.
pub fn outcome_with(history: &IssueHistory, judge: &dyn OutcomeJudge) -> OutcomeKind {
    let Outcome { kind, certainty } = outcome(history);
    match certainty {
        Certainty::Certain => kind,
        Certainty::Guess => {
            judge.judge(history).map_or(kind, |judged| history.judged_outcome(kind, judged))
        }
    }
}

/// What became of an issue, by code.
pub fn outcome(history: &IssueHistory) -> Outcome {
    use Certainty::{Certain, Guess};
    use OutcomeKind::{FileDeleted, FixedElsewhere, FixedInPlace, Moved, Reformatted};
    let decided = |kind, certainty| Outcome { kind, certainty };
    if history.is_dismissed {
        return decided(OutcomeKind::Dismissed, Certain);
    }
    let change = history.cited.first().map_or(CodeChange::Unknown, |cited| history.compare(cited));
    let raised = history.raised_again;
    let unless_raised = |fixed: OutcomeKind| match raised {
        RaisedAgain::Yes => history.standing(),
        RaisedAgain::No => decided(fixed, Certain),
        RaisedAgain::Unknown => decided(fixed, Guess),
    };
    match change {
        CodeChange::FileDeleted => decided(FileDeleted, Certain),
        CodeChange::Changed => unless_raised(FixedInPlace),
        CodeChange::Unknown if history.is_outdated => unless_raised(FixedInPlace),
        CodeChange::SameInNewContext if raised != RaisedAgain::Unknown => {
            unless_raised(FixedInPlace)
        }
        CodeChange::SameInNewContext | CodeChange::Same if history.has_changed_evidence() => {
            unless_raised(FixedElsewhere)
        }
        CodeChange::SameInNewContext => match history.standing() {
            Outcome { kind: OutcomeKind::Ignored | OutcomeKind::Open, .. } => {
                decided(FixedInPlace, Guess)
            }
            other => other,
        },
        CodeChange::Same | CodeChange::Unknown => match raised {
            // If no file is known, crh cannot see which code fixed the issue.
            RaisedAgain::No if history.has_other_changes() || history.before.is_empty() => {
                decided(FixedElsewhere, Guess)
            }
            RaisedAgain::No | RaisedAgain::Yes | RaisedAgain::Unknown => history.standing(),
        },
        CodeChange::Moved | CodeChange::Reformatted if history.has_changed_evidence() => {
            unless_raised(FixedElsewhere)
        }
        CodeChange::Moved => history.standing_as(Moved),
        CodeChange::Reformatted => history.standing_as(Reformatted),
    }
}

impl IssueHistory {
    fn compare(&self, cited: &CitedLines) -> CodeChange {
        let CitedLines { file, first, last } = cited;
        compare_cited_code(file, (*first, *last), &self.before, &self.after)
    }

    /// Whether code changed in or next to the other cited places.
    fn has_changed_evidence(&self) -> bool {
        self.cited.iter().skip(1).any(|cited| match self.compare(cited) {
            CodeChange::Changed | CodeChange::FileDeleted | CodeChange::SameInNewContext => true,
            CodeChange::Same
            | CodeChange::Reformatted
            | CodeChange::Moved
            | CodeChange::Unknown => false,
        })
    }

    fn has_other_changes(&self) -> bool {
        self.before != self.after
    }

    /// The outcome by a judge. It chooses only between outcomes that the facts permit.
    fn judged_outcome(&self, guess: OutcomeKind, judged: JudgedOutcome) -> OutcomeKind {
        use OutcomeKind::{FixedElsewhere, FixedInPlace, Moved, Reformatted};
        let is_fixed = matches!(guess, FixedInPlace | FixedElsewhere);
        if is_fixed && !judged.still_stands {
            return guess;
        }
        let is_argued_against = judged.is_argued_against && !self.replies.is_empty();
        match (self.end, is_argued_against) {
            (ProposalEnd::Reverted, _) => OutcomeKind::Reverted,
            (_, true) => OutcomeKind::ArguedAgainst,
            (_, false) if matches!(guess, Moved | Reformatted) => guess,
            (ProposalEnd::Open, false) => OutcomeKind::Open,
            (ProposalEnd::Merged | ProposalEnd::Closed, false) => OutcomeKind::Ignored,
        }
    }

    /// `kind`, unless a reply argues against the issue or its change was reverted.
    fn standing_as(&self, kind: OutcomeKind) -> Outcome {
        match self.standing() {
            Outcome { kind: OutcomeKind::Ignored | OutcomeKind::Open, certainty } => {
                Outcome { kind, certainty }
            }
            other => other,
        }
    }

    /// The outcome of an issue that is still in the code.
    fn standing(&self) -> Outcome {
        let argument = self.replies.iter().map(|reply| stance(reply)).max();
        let certainty = match argument {
            Some(Stance::Unclear) => Certainty::Guess,
            Some(Stance::Agrees | Stance::Argues) | None => Certainty::Certain,
        };
        let kind = match (self.end, argument) {
            (ProposalEnd::Reverted, _) => OutcomeKind::Reverted,
            (_, Some(Stance::Argues)) => OutcomeKind::ArguedAgainst,
            (ProposalEnd::Open, _) => OutcomeKind::Open,
            (ProposalEnd::Merged | ProposalEnd::Closed, _) => OutcomeKind::Ignored,
        };
        let certainty = if kind == OutcomeKind::Reverted { Certainty::Certain } else { certainty };
        Outcome { kind, certainty }
    }
}

/// What a reply says about an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stance {
    Agrees,
    Unclear,
    Argues,
}

/// Phrases that argue against an issue.
const ARGUING: [&str; 16] = [
    "disagree",
    "can't happen",
    "cannot happen",
    "can never",
    "is fine",
    "are fine",
    "isn't a problem",
    "is not a problem",
    "is wrong",
    "not true",
    "incorrect",
    "on purpose",
    "deliberate",
    "don't think",
    "do not think",
    "no need",
];
/// Phrases that agree with an issue.
const AGREEING: [&str; 8] = [
    "good catch",
    "nice catch",
    "you're right",
    "will fix",
    "thanks",
    "fixed in",
    "follow-up",
    "agreed",
];

fn stance(reply: &str) -> Stance {
    let text = reply.to_lowercase().replace('’', "'");
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    match (says(&AGREEING), says(&ARGUING)) {
        (true, false) => Stance::Agrees,
        (false, true) => Stance::Argues,
        (true, true) | (false, false) => Stance::Unclear,
    }
}
