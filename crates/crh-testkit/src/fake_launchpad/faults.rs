//! What goes wrong on script: which request, how often, and how.

use crate::fake_github::faults::matches;

/// Something that goes wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// With which requests.
    pub on: On,
    /// How often it does before it stops.
    pub times: usize,
    /// What goes wrong.
    pub how: How,
}

/// Requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum On {
    /// Those with a method and a path such as `/devel/*/all_comments`, where `*` stands for anything.
    Request(String, String),
    /// The write with this number; the first one that the fake ever got is 1.
    Write(usize),
}

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// It is not applied, and answered with a status; from 500 on with the number of an OOPS.
    StatusBefore(u16),
    /// It is applied, and answered with a status; from 500 on with the number of an OOPS.
    StatusAfter(u16),
    /// It is not applied, and the connection ends without an answer.
    CutBefore,
    /// It is applied, and the connection ends without an answer.
    CutAfter,
    /// It is answered with a redirect to this address.
    Redirect(String),
}

impl Fault {
    /// A fault that happens once, with the write of a number.
    pub fn on_write(number: usize, how: How) -> Self {
        Self { on: On::Write(number), times: 1, how }
    }

    /// A fault that happens once, with a method and a path in which `*` stands for anything.
    pub fn on(method: &str, path: &str, how: How) -> Self {
        Self { on: On::Request(method.to_owned(), path.to_owned()), times: 1, how }
    }

    /// The same, but so often.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }

    /// Whether it is about a request.
    pub(super) fn fits(&self, method: &str, path: &str, write: Option<usize>) -> bool {
        self.times > 0
            && match &self.on {
                On::Request(wanted, pattern) => wanted == method && matches(pattern, path),
                On::Write(number) => write == Some(*number),
            }
    }
}
