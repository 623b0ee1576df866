//! Tickets for issues that are left for later, in the tracker that the project has.

use crh_review::report::Issue;
use crh_review::report::Report;

use crate::commands::review::Begun;
use crate::config::environment::Environment;

/// How the tracker is called where it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "what finds trackers is built beside it"))]
pub(crate) enum TrackerLabel {
    /// It is known which one the project has, and it can be reached.
    Named(String),
    /// Some place for tickets can be reached.
    Generic,
    /// None can, and why.
    None(String),
}

/// Where tickets go.
pub(crate) struct Tickets {
    label: TrackerLabel,
}

/// A ticket that is there.
pub(crate) struct Filed {
    pub(crate) url: String,
    pub(crate) was_there: bool,
}

/// Why a ticket was not filed.
#[derive(Debug)]
pub(crate) struct NotFiled(pub(crate) String);

impl Tickets {
    /// Looks once which tracker the project has and what of it can be reached.
    pub(crate) fn detect(_begun: &Begun, _environment: &Environment) -> Self {
        let why = "no tracker is known here";
        Self { label: TrackerLabel::None(why.to_owned()) }
    }

    /// How the tracker is called where it is offered.
    pub(crate) fn label(&self) -> &TrackerLabel {
        &self.label
    }

    /// Files a ticket.
    pub(crate) fn file(&mut self, _issue: &Issue, _report: &Report) -> Result<Filed, NotFiled> {
        Err(NotFiled("there is no tracker".to_owned()))
    }

    /// Goes on with the next place for tickets; none if there is no other.
    pub(crate) fn fall_back(&mut self) -> Option<&TrackerLabel> {
        None
    }
}
