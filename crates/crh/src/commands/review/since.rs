//! `--since-last`: what a review knows about the one before it, and what it is made with itself.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::super::analysers::Trust;
use super::super::forge::{Forge, Submission};
use super::pinned::{Found, Pinned};
use crate::cli::PreparedArgs;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_forge::github::post::{Basis, last_state};
use crh_pipeline::checks::CheckTerms;
use crh_pipeline::context;
use crh_pipeline::pack::Packed;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::since::{Last, Now, Since};
use crh_pipeline::subject::Subject;
use crh_pipeline::terms::{Crew, PanelTerms, Terms};
use crh_review::finding::Severity;
use crh_review::identity::content_id;
use crh_review::report::Strategy;
use crh_review::stable_json_line;

/// Where a run keeps what it goes on from, for posting it and for going on with it.
pub(in crate::commands) const GROUND: &str = "stages/since.json";

/// What the names of reviewers have for files of other tools, whatever these are called.
const SARIF: &str = "sarif";

/// Whether only what changed since the last review is to be reviewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Wish {
    /// If that can be done.
    SinceLast,
    /// It was not asked for.
    Everything,
}

/// What a review that was asked for it goes on from.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::commands) enum Ground {
    /// The last one.
    Since(Since),
    /// Nothing: everything is reviewed, and why.
    Everything(String),
}

impl Wish {
    /// By the flag `--since-last`.
    pub(in crate::commands) fn by(since_last: bool) -> Self {
        if since_last { Self::SinceLast } else { Self::Everything }
    }

    /// Refuses what has no last review.
    pub(in crate::commands) fn is_for(self, pull: Option<&Submission>) -> Result<(), Failure> {
        match (self, pull.map(|pull| &pull.at)) {
            (Self::SinceLast, None) => {
                Err(Failure::usage("`--since-last` is for a pull request, and this is none")
                    .hint("name one: its address, `OWNER/NAME#N`, or `N` inside a clone"))
            }
            (Self::SinceLast, Some(Forge::Launchpad { .. })) => Err(Failure::usage(
                "`--since-last` is for a pull request of GitHub's, and this is a merge proposal",
            )
            .hint("leave it out: everything is reviewed")),
            (Self::SinceLast, Some(Forge::GitHub { .. })) | (Self::Everything, _) => Ok(()),
        }
    }

    /// What is known about the last review: from the pull request, or from the archive that it was put into.
    pub(super) fn last(
        self,
        pull: Option<&Submission>,
        pinned: &Pinned,
        subject: &Subject,
        prepared: &PreparedArgs,
    ) -> Result<Option<Last>, Failure> {
        let instance = pinned.settings.instance.value.as_str();
        let packed = pinned.packed.as_ref().map(Packed::last).transpose().or_fail(Kind::Usage)?;
        let with_it = "`crh prepare --since-last --pack FILE` puts it into an archive";
        match (self, packed, pull.map(|pull| &pull.at), pinned.files()) {
            (_, Some(Some(last)), _, _) => Ok(Some(last)),
            (Self::SinceLast, Some(None), _, _) => {
                Err(Failure::usage("the archive does not say what was reviewed before")
                    .hint(with_it))
            }
            (Self::SinceLast, None, _, _) if prepared.workspace.is_some() => {
                Err(Failure::usage("a workspace does not say what was reviewed before")
                    .hint(with_it))
            }
            (Self::SinceLast, None, Some(Forge::GitHub { standing, .. }), Some((bare, head))) => {
                let state = last_state(standing, instance);
                Ok(Some(Last::found(state, &bare, &head, &subject.diff)))
            }
            (Self::SinceLast, None, _, _) => Ok(Some(Last::without_commits())),
            (Self::Everything, _, _, _) => Ok(None),
        }
    }
}

impl Ground {
    /// What a review goes on from, given what it is made with.
    pub(super) fn of(last: Last, subject: &Subject, basis: &Basis, made: Made<'_>) -> Self {
        let models = made.crew.map(Crew::names).unwrap_or_default();
        let now = Now {
            base: &subject.change.base_sha,
            head: &subject.change.head_sha,
            basis,
            models: &models,
            strategy: made.terms.strategy,
        };
        match last.since(&now) {
            Ok(since) => Self::Since(since),
            Err(why) => Self::Everything(why.to_string()),
        }
    }

    /// The subject of a review that goes on from this. The user is told.
    pub(super) fn under(self, mut subject: Subject) -> Subject {
        match self {
            Self::Since(since) => {
                ui::note(&since.sentence());
                subject.since(since)
            }
            Self::Everything(why) => {
                let note =
                    format!("everything is reviewed, although `--since-last` is given: {why}");
                ui::note(&note);
                subject.notes.push(note);
                subject
            }
        }
    }

    /// The last review, if this is what is gone on from.
    pub(in crate::commands) fn since(self) -> Option<Since> {
        match self {
            Self::Since(since) => Some(since),
            Self::Everything(_) => None,
        }
    }
}

/// What says how a review is made.
#[derive(Clone, Copy)]
pub(super) struct Made<'a> {
    pub(super) terms: &'a Terms,
    pub(super) checks: &'a CheckTerms,
    pub(super) crew: Option<&'a Crew>,
    pub(super) min_severity: Severity,
    pub(super) trust: Trust,
}

/// What decides about what is reviewed and how, the same on every machine. Where runs are kept, how much is done side by side
/// and how the report looks is no part of it.
#[derive(Serialize)]
struct Configuration<'a, R> {
    /// Another version may look at other files, and find other things.
    crh: &'static str,
    rules: R,
    asked: crh_review::verdict::Asked,
    allowance: &'a crh_pipeline::terms::Allowance,
    language: &'a str,
    min_severity: Severity,
    is_trusted: bool,
    /// The hashes of what the project tells reviewers, by name.
    instructions: BTreeMap<String, String>,
    /// Those of the attributes that say which files are reviewed, by path.
    attributes: BTreeMap<String, String>,
    /// Who may look: what was said about the panel, and the hash of the reviewers that there are. None if there is none.
    panel: Option<(&'a PanelTerms, String)>,
}

/// What the next review must find unchanged to go on from this one. Models, strategy and base are in its report.
pub(super) fn basis(
    pinned: &Pinned,
    found: &Found,
    subject: &Subject,
    made: Made<'_>,
) -> Result<Basis, Failure> {
    let Made { terms, checks, .. } = made;
    let configuration = Configuration {
        crh: env!("CARGO_PKG_VERSION"),
        rules: found.rules_of_review(),
        asked: terms.asked,
        allowance: &terms.allowance,
        language: &terms.language,
        min_severity: made.min_severity,
        is_trusted: made.trust == Trust::Given,
        instructions: instructions(subject)?,
        attributes: pinned.attribute_files(&subject.diff)?,
        panel: match terms.strategy {
            Strategy::Panel => {
                let (catalogue, _) = context::catalogue(subject, pinned.work());
                Some((&terms.panel, catalogue.version()))
            }
            Strategy::Single | Strategy::Delegate | Strategy::Static => None,
        },
    };
    let configuration = stable_json_line(&configuration).or_fail(Kind::Bug)?;
    let installed = checks.analysers.iter().flat_map(|all| all.installed().map(|(name, _)| name));
    let sarif = (!checks.sarif.is_empty()).then_some(SARIF);
    let reviewers = crh_lint::REVIEWERS.iter().copied().chain(installed).chain(sarif);
    let mut reviewers: Vec<String> = reviewers.map(str::to_owned).collect();
    reviewers.sort();
    Ok(Basis {
        configuration: content_id(configuration.as_bytes()),
        prompt_version: Prompts::version(&terms.overrides),
        reviewers,
    })
}

fn instructions(subject: &Subject) -> Result<BTreeMap<String, String>, Failure> {
    let workspace = subject.workspace().or_fail(Kind::Bug)?;
    let names = workspace.agent_files().context("the project's instructions");
    let hash = |name: String| {
        let bytes = workspace.bytes(&format!("agent/{name}")).or_fail(Kind::Outside)?;
        Ok((name, content_id(&bytes)))
    };
    names.or_fail(Kind::Outside)?.into_iter().map(hash).collect()
}
