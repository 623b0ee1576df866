//! Scripted faults: which request, how often, what fails.

use crate::fake_github::faults::matches;

/// A scripted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchpadFault {
    /// Affected requests.
    pub trigger: LaunchpadFaultTrigger,
    /// How often the fault still occurs.
    pub times: usize,
    /// What fails.
    pub kind: LaunchpadFaultKind,
}

/// Which requests a fault affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchpadFaultTrigger {
    /// By method and path, such as `/devel/*/all_comments`. `*` matches anything.
    Request(String, String),
    /// By write number, starting at 1.
    Write(usize),
}

/// What fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchpadFaultKind {
    /// Not applied, with this status; from 500 on with an OOPS number.
    StatusBefore(u16),
    /// Applied, with this status; from 500 on with an OOPS number.
    StatusAfter(u16),
    /// Not applied; the connection is cut.
    CutBefore,
    /// Applied; the connection is cut.
    CutAfter,
    /// Not applied; redirects to this address.
    Redirect(String),
}

impl LaunchpadFault {
    /// A fault for one write, by number.
    pub fn on_write(number: usize, kind: LaunchpadFaultKind) -> Self {
        Self { trigger: LaunchpadFaultTrigger::Write(number), times: 1, kind }
    }

    /// A fault for one request, by method and path pattern.
    pub fn on(method: &str, path: &str, kind: LaunchpadFaultKind) -> Self {
        Self {
            trigger: LaunchpadFaultTrigger::Request(method.to_owned(), path.to_owned()),
            times: 1,
            kind,
        }
    }

    /// Sets how often the fault occurs.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Whether the fault affects a request.
    pub(super) fn applies_to(&self, method: &str, path: &str, write: Option<usize>) -> bool {
        self.times > 0
            && match &self.trigger {
                LaunchpadFaultTrigger::Request(wanted, pattern) => {
                    wanted == method && matches(pattern, path)
                }
                LaunchpadFaultTrigger::Write(number) => write == Some(*number),
            }
    }
}
