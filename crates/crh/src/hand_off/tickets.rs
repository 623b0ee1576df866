//! Files tickets in the project's tracker.
//!
//! The chain is: the tracker that the project names, GitHub issues by crh's client, GitHub issues
//! by `gh`, the user's command. crh checks each tracker once, when it needs the tracker, and never
//! uses a tracker again that failed.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::path::Path;

use tokio::runtime::Runtime;

use super::detect::{DetectedTracker, DetectionConfidence, ProjectText, TextKind, Tracker};
use super::sinks::Sink;
use super::{detect, sinks};
use crate::commands::review::session::ReviewSession;
use crate::config::environment::Environment;
use crate::config::hand_off::TrackerChoice;
use crh_forge::tracker::{FiledTicket, TrackerError, TrackerTicket};
use crh_llm::Redactor;
use crh_review::render;
use crh_review::report::{Issue, Report};

/// Maximum bytes to read per file; long instructions have a tenth of that.
const TEXT_MAX: u64 = 256 << 10;
/// Maximum number of issue templates to read.
const TEMPLATES_MAX: usize = 20;

/// Instructions for agents.
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];
const PAGES: [&str; 4] =
    ["CONTRIBUTING.md", ".github/CONTRIBUTING.md", "README.md", ".github/ISSUE_TEMPLATE.md"];
const TEMPLATES: &str = ".github/ISSUE_TEMPLATE";

/// How questions name a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TrackerLabel {
    /// The tracker is certain and reachable.
    Named(String),
    /// Some tracker is reachable.
    Generic,
    /// No tracker, with the reason.
    None(String),
}

/// Why a ticket was not filed, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TicketFailure(pub(crate) String);

pub(crate) struct Tickets {
    /// Remaining trackers. The first one is in use.
    chain: VecDeque<Sink>,
    named: Option<DetectedTracker>,
    label: TrackerLabel,
    /// Tickets filed by this process, because crh cannot ask a command for existing tickets.
    filed: BTreeMap<String, FiledTicket>,
    /// Why trackers were skipped.
    skip_reasons: Vec<String>,
    runtime: Option<Runtime>,
    instance: String,
    redactor: Redactor,
}

impl Tickets {
    /// Detects the project's tracker and checks whether it is reachable.
    pub(crate) fn detect(session: &ReviewSession, environment: &Environment) -> Self {
        let settings = &session.settings;
        let choice = settings.tracker_kind.value;
        let at_github = sinks::repository(session, environment);
        let own = at_github.as_ref().map(|(_, repo)| repo.to_string());
        let texts = session.checkout.as_deref().map(texts).unwrap_or_default();
        let named = detect::named(choice, own.as_deref(), &texts);
        let chain = match choice {
            TrackerChoice::None => Err("`tracker.kind` is `none`".to_owned()),
            TrackerChoice::Auto
            | TrackerChoice::Github
            | TrackerChoice::Linear
            | TrackerChoice::Jira
            | TrackerChoice::Command => {
                Ok(sinks::chain(named, at_github.as_ref(), settings, environment))
            }
        };
        let instance = settings.instance.value.as_str().to_owned();
        let (chain, skip_reasons) = match chain {
            Ok(chain) => chain,
            Err(why) => (VecDeque::new(), vec![why]),
        };
        Self::with_chain(chain, skip_reasons, named, instance, session.redactor.clone())
    }

    /// Like [`Self::detect`], for a given chain.
    fn with_chain(
        chain: VecDeque<Sink>,
        skip_reasons: Vec<String>,
        named: Option<DetectedTracker>,
        instance: String,
        redactor: Redactor,
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok();
        let label = TrackerLabel::None(String::new());
        let filed = BTreeMap::new();
        let mut tickets =
            Self { chain, named, label, filed, skip_reasons, runtime, instance, redactor };
        tickets.drop_unreachable();
        tickets
    }

    pub(crate) fn label(&self) -> &TrackerLabel {
        &self.label
    }

    /// Files a ticket unless the issue has one.
    pub(crate) fn file(
        &mut self,
        issue: &Issue,
        report: &Report,
    ) -> Result<FiledTicket, TicketFailure> {
        if let Some(filed) = self.filed.get(&issue.dedupe_key) {
            return Ok(FiledTicket { already_filed: true, ..filed.clone() });
        }
        let mask = |text: String| self.redactor.redact(&text).into_owned();
        let ticket = TrackerTicket {
            title: mask(render::ticket_title(issue)),
            body: mask(render::ticket(issue, report)),
            labels: vec![issue.severity.to_string()],
            dedupe_key: issue.dedupe_key.clone(),
            instance: self.instance.clone(),
        };
        let Some(sink) = self.chain.front() else {
            return Err(TicketFailure("no issue tracker can be reached".to_owned()));
        };
        let filed = match sink {
            Sink::GitHub(issues) | Sink::Gh(issues) => self.wait(issues.file(&ticket)),
            Sink::Linear(linear) => self.wait(linear.file(&ticket)),
            Sink::Jira(jira) => self.wait(jira.file(&ticket)),
            Sink::Command(command) => command.file(&ticket, issue, report),
        };
        let filed = filed.map_err(|why| TicketFailure(crh_review::one_line(&why)))?;
        self.filed.insert(issue.dedupe_key.clone(), filed.clone());
        Ok(filed)
    }

    /// Whether another tracker is left. It may still turn out to be unreachable.
    pub(crate) fn has_next(&self) -> bool {
        self.chain.len() > 1
    }

    /// Switches to the next tracker. Does not use the failed one again. `None` if there is no
    /// other.
    pub(crate) fn fall_back(&mut self) -> Option<&TrackerLabel> {
        if let Some(sink) = self.chain.pop_front() {
            self.skip_reasons.push(format!("{} failed", sink.name()));
        }
        self.drop_unreachable();
        match self.label {
            TrackerLabel::Named(_) | TrackerLabel::Generic => Some(&self.label),
            TrackerLabel::None(_) => None,
        }
    }

    /// Drops unreachable trackers from the front of the chain and updates the label.
    fn drop_unreachable(&mut self) {
        while let Some(sink) = self.chain.front() {
            let reached = match sink {
                Sink::GitHub(issues) | Sink::Gh(issues) => self.wait(issues.probe()),
                Sink::Linear(linear) => self.wait(linear.probe()),
                Sink::Jira(jira) => self.wait(jira.probe()),
                // A trial run would file a ticket.
                Sink::Command(_) => Ok(()),
            };
            match reached {
                Ok(()) => break,
                Err(why) => self.skip_reasons.push(crh_review::one_line(&why)),
            }
            self.chain.pop_front();
        }
        self.label = match (self.chain.front(), self.named) {
            (
                Some(sink),
                Some(DetectedTracker { tracker, confidence: DetectionConfidence::High }),
            ) if sink.tracker() == tracker && tracker != Tracker::Command => {
                TrackerLabel::Named(tracker.name().to_owned())
            }
            (Some(_), _) => TrackerLabel::Generic,
            (None, _) if self.skip_reasons.is_empty() => TrackerLabel::None(
                "no issue tracker is configured or named in the documentation".to_owned(),
            ),
            (None, _) => TrackerLabel::None(self.skip_reasons.join("; ")),
        };
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, TrackerError>>) -> Result<T, String> {
        match &self.runtime {
            Some(runtime) => runtime.block_on(work).map_err(|error| error.to_string()),
            None => Err("cannot start the network client".to_owned()),
        }
    }
}

/// The texts of a checkout that may name a tracker.
fn texts(root: &Path) -> Vec<ProjectText> {
    let read =
        |kind: TextKind, path: &Path| text(&root.join(path)).map(|text| ProjectText { kind, text });
    let instructions =
        INSTRUCTIONS.iter().filter_map(|name| read(TextKind::Instructions, Path::new(name)));
    let pages = PAGES.iter().filter_map(|name| read(TextKind::Page, Path::new(name)));
    let templates = fs::read_dir(root.join(TEMPLATES)).into_iter().flatten().take(TEMPLATES_MAX);
    let mut templates: Vec<_> = templates.filter_map(|entry| Some(entry.ok()?.path())).collect();
    templates.sort();
    let templates = templates.iter().filter_map(|path| read(TextKind::Page, path));
    instructions.chain(pages).chain(templates).collect()
}

/// The beginning of a regular file. Symlinks and pipes are not read.
fn text(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    fs::symlink_metadata(path).ok().filter(fs::Metadata::is_file)?;
    File::open(path).ok()?.take(TEXT_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;
