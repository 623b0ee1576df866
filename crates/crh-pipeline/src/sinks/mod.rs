//! Where a report goes: the whole of it, once, to each place that was asked for. A place that fails is a receipt, not
//! the end.

mod file;

use std::path::PathBuf;
use std::str::FromStr;
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crh_review::report::Report;
use crh_review::stable_json_line;

/// A place for a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sink {
    /// Standard output: the report as one line of JSON.
    Stdout,
    /// A file, which is replaced as a whole. Its ending says in which form: `.md`, `.html`, `.sarif`, `.txt`; JSON otherwise.
    File(PathBuf),
    /// Where the change is proposed.
    Forge(PostTo),
}

/// A forge at which a change is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PostTo {
    /// The pull request at GitHub.
    GitHub(PostAs),
    /// The merge proposal at Launchpad: one comment with the summary, the vote and what goes beside lines.
    Launchpad,
}

/// How a report stands on a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PostAs {
    /// As a review with comments on lines, and a summary.
    Review,
    /// As one comment, which needs fewer permissions.
    Comment,
    /// As a check run with annotations, which only an App or Actions can make.
    CheckRun,
    /// As alerts of code scanning.
    CodeScanning,
}

/// Why a word names no place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SinkError {
    /// `file:` without a path.
    #[error("`file:` needs a path, as in `file:review.json`")]
    NoPath,
    /// Nobody knows it.
    #[error(
        "there is no sink `{0}`; there are `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif` and `launchpad`"
    )]
    Unknown(String),
}

/// What became of a report at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The place, as it is typed.
    pub sink: String,
    /// What became of it.
    pub delivery: Delivery,
}

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// It is there.
    Written,
    /// It is not, since it was only to be shown what would be written.
    Shown,
    /// It is not, and why.
    Failed(String),
}

impl FromStr for Sink {
    type Err = SinkError;

    fn from_str(word: &str) -> Result<Self, SinkError> {
        match word.split_once(':') {
            Some(("file", "")) => Err(SinkError::NoPath),
            Some(("file", path)) => Ok(Self::File(PathBuf::from(path))),
            Some(_) => Err(SinkError::Unknown(word.to_owned())),
            None if word == "stdout" => Ok(Self::Stdout),
            None if word == "file" => Err(SinkError::NoPath),
            None => {
                let known = PostTo::ALL.into_iter().find(|place| place.word() == word);
                known.map(Self::Forge).ok_or_else(|| SinkError::Unknown(word.to_owned()))
            }
        }
    }
}

impl fmt::Display for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Forge(place) => f.write_str(place.word()),
        }
    }
}

impl PostTo {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::GitHub(PostAs::Review),
        Self::GitHub(PostAs::Comment),
        Self::GitHub(PostAs::CheckRun),
        Self::GitHub(PostAs::CodeScanning),
        Self::Launchpad,
    ];

    /// As it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Self::GitHub(PostAs::Review) => "github",
            Self::GitHub(PostAs::Comment) => "github-comment",
            Self::GitHub(PostAs::CheckRun) => "github-check",
            Self::GitHub(PostAs::CodeScanning) => "github-sarif",
            Self::Launchpad => "launchpad",
        }
    }
}

/// Brings a report to each place, in their order; a place that is named twice gets it once. `write_stdout` is what
/// prints and `post` what talks to forges: nothing else here does.
pub fn emit(
    report: &Report,
    sinks: &[Sink],
    write_stdout: &mut dyn FnMut(&str) -> io::Result<()>,
    post: &mut dyn FnMut(PostTo) -> Delivery,
) -> Vec<Receipt> {
    let mut receipts = Vec::new();
    for (at, sink) in sinks.iter().enumerate() {
        if sinks[..at].contains(sink) {
            continue;
        }
        let written = match sink {
            Sink::Stdout => stable_json_line(report)
                .map_err(io::Error::from)
                .and_then(|line| write_stdout(&line))
                .map_err(|error| error.to_string()),
            Sink::File(path) => file::replace(path, report).map_err(|error| error.to_string()),
            Sink::Forge(place) => {
                receipts.push(Receipt { sink: sink.to_string(), delivery: post(*place) });
                continue;
            }
        };
        let delivery = match written {
            Ok(()) => Delivery::Written,
            Err(why) => Delivery::Failed(why),
        };
        receipts.push(Receipt { sink: sink.to_string(), delivery });
    }
    receipts
}

#[cfg(test)]
mod tests;
