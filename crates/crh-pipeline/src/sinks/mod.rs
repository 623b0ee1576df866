//! Delivers a report to sinks, once each. A failed delivery is recorded in its receipt and does not
//! end the review.

mod file;

use std::path::PathBuf;
use std::str::FromStr;
use std::{fmt, io};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crh_forge::forges::SinkProfile;
pub use crh_forge::{ForgeName, PostKind};
use crh_review::report::Report;
use crh_review::stable_json_line;

/// A destination for a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportSink {
    /// Standard output: the report as one line of JSON.
    Stdout,
    /// A file, which is replaced. Its extension selects the format: `.md`, `.html`, `.sarif`,
    /// `.txt`; otherwise JSON.
    File(PathBuf),
    /// The forge where the change is proposed.
    Forge(ForgeSink),
}

/// A forge to post to, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ForgeSink {
    /// The forge.
    pub forge: ForgeName,
    /// How to post.
    pub kind: PostKind,
}

/// Why a sink name is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SinkError {
    /// `file:` without a path.
    #[error("`file:` needs a path, as in `file:review.json`")]
    NoPath,
    /// Unknown sink.
    #[error("unknown sink `{0}`; use {names}", names = sink_names())]
    Unknown(String),
}

/// Result of one delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkReceipt {
    /// Sink as typed on the command line.
    pub sink: String,
    /// What happened to the report.
    pub delivery: SinkDelivery,
}

/// What happened to a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SinkDelivery {
    /// Delivered.
    Written,
    /// Not delivered, since this is a dry run.
    #[serde(rename = "shown")]
    DryRun,
    /// Not delivered, and the reason.
    Failed(String),
}

/// Names of all sinks, for messages.
fn sink_names() -> String {
    let forges = ForgeSink::all().map(ForgeSink::name);
    let names: Vec<String> =
        ["stdout", "file:PATH"].into_iter().chain(forges).map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

impl FromStr for ReportSink {
    type Err = SinkError;

    fn from_str(word: &str) -> Result<Self, SinkError> {
        match word.split_once(':') {
            Some(("file", "")) => Err(SinkError::NoPath),
            Some(("file", path)) => Ok(Self::File(PathBuf::from(path))),
            Some(_) => Err(SinkError::Unknown(word.to_owned())),
            None if word == "stdout" => Ok(Self::Stdout),
            None if word == "file" => Err(SinkError::NoPath),
            None => {
                let forge = ForgeSink::all().find(|forge| forge.name() == word);
                forge.map(Self::Forge).ok_or_else(|| SinkError::Unknown(word.to_owned()))
            }
        }
    }
}

impl fmt::Display for ReportSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdout => f.write_str("stdout"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Forge(forge) => f.write_str(forge.name()),
        }
    }
}

impl ForgeSink {
    /// All forge sinks.
    pub fn all() -> impl Iterator<Item = Self> {
        ForgeName::ALL.into_iter().flat_map(|forge| {
            let sinks = forge.rules().profile().sinks.iter();
            sinks.map(move |sink| Self { forge, kind: sink.kind })
        })
    }

    /// Name as typed on the command line.
    pub fn name(self) -> &'static str {
        self.profile().map_or("", |sink| sink.name)
    }

    /// Explanation in the help text.
    pub fn help(self) -> &'static str {
        self.profile().map_or("", |sink| sink.help)
    }

    fn profile(self) -> Option<&'static SinkProfile> {
        self.forge.rules().profile().sinks.iter().find(|sink| sink.kind == self.kind)
    }
}

/// Delivers a report to each sink, in order and once. `write_stdout` prints; `post` contacts
/// forges.
pub fn emit(
    report: &Report,
    sinks: &[ReportSink],
    write_stdout: &mut dyn FnMut(&str) -> io::Result<()>,
    post: &mut dyn FnMut(ForgeSink) -> SinkDelivery,
) -> Vec<SinkReceipt> {
    let mut receipts = Vec::new();
    for (index, sink) in sinks.iter().enumerate() {
        if sinks[..index].contains(sink) {
            continue;
        }
        let result = match sink {
            ReportSink::Stdout => stable_json_line(report)
                .map_err(io::Error::from)
                .and_then(|line| write_stdout(&line))
                .map_err(|error| error.to_string()),
            ReportSink::File(path) => {
                file::write_report(path, report).map_err(|error| error.to_string())
            }
            ReportSink::Forge(forge) => {
                receipts.push(SinkReceipt { sink: sink.to_string(), delivery: post(*forge) });
                continue;
            }
        };
        let delivery = match result {
            Ok(()) => SinkDelivery::Written,
            Err(why) => SinkDelivery::Failed(why),
        };
        receipts.push(SinkReceipt { sink: sink.to_string(), delivery });
    }
    receipts
}

#[cfg(test)]
mod tests;
