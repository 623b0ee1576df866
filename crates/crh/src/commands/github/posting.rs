//! Posts a review, or shows what would be written; the same for a review that has just ended and for a stored run.

use std::sync::{Mutex, PoisonError};

use super::hub::failed_to_post;
use super::{Hub, failed};
use crate::cli::PostFlags;
use crate::failure::{Failure, Kind};
use crate::ui;
use crh_forge::github::Name;
use crh_forge::github::post::{
    Basis, Beside, Outcome, Posting, Request, SarifError, Terms, Votes, plan,
};
use crh_git::{Bare, Objects};
use crh_llm::Redactor;
use crh_pipeline::since::{Moved, Since};
use crh_pipeline::sinks::PostAs;
use crh_review::diff::Diff;
use crh_review::report::Report;

/// A file with more bytes than this has no line that anybody wants replaced.
const FILE_MAX: u64 = 4 << 20;

/// A review that is to be posted.
pub(crate) struct ToPost<'a> {
    pub(crate) report: &'a Report,
    pub(crate) diff: &'a Diff,
    pub(crate) files: Files,
    pub(crate) redactor: &'a Redactor,
    pub(crate) instance: &'a str,
    pub(crate) basis: &'a Basis,
    /// The last review, if only what changed since was reviewed.
    pub(crate) since: Option<&'a Since>,
    pub(crate) form: PostAs,
    pub(crate) flags: PostFlags,
}

/// The files of the head, as far as they are at hand.
pub(crate) struct Files(Option<(Mutex<Objects>, String)>);

/// What became of a posting.
pub(crate) enum Posted {
    /// Nothing: this would be written.
    Shown(Vec<Request>),
    /// This.
    Done(Outcome),
}

impl Files {
    /// Those of a commit. What cannot be opened has no files.
    pub(crate) fn of(place: Option<&(Bare, String)>) -> Self {
        let opened = place
            .and_then(|(bare, commit)| Some((Mutex::new(bare.objects().ok()?), commit.clone())));
        Self(opened)
    }

    /// The lines of a text file, without their ends.
    fn lines(&self, path: &str) -> Option<Vec<String>> {
        let (objects, commit) = self.0.as_ref()?;
        let objects = objects.lock().unwrap_or_else(PoisonError::into_inner);
        let (entry, size) = objects.stat(commit, path).ok()?;
        if !entry.kind.is_file() || size > FILE_MAX {
            return None;
        }
        let text = String::from_utf8(objects.file(commit, path).ok()?).ok()?;
        Some(text.lines().map(str::to_owned).collect())
    }
}

/// Posts a review, or says what would be written.
pub(crate) fn posted(hub: &Hub, name: &Name, to_post: &ToPost<'_>) -> Result<Posted, Failure> {
    let ToPost { report, diff, files, redactor, instance, basis, since, form, flags } = to_post;
    if let Some(since) = since.filter(|since| since.moved == Moved::Not) {
        return nothing_new(since, *flags);
    }
    let carried = since.map(|since| since.carried(report));
    let head_lines = |path: &str| files.lines(path);
    let mask = |text: &str| redactor.redact(text).into_owned();
    let posting = Posting {
        report,
        diff,
        head_lines: &head_lines,
        mask: &mask,
        instance,
        web: name.host.server(),
        basis,
        carried: carried.as_deref(),
        terms: Terms {
            votes: Votes { request_changes: flags.request_changes, approve: flags.allow_approve },
            resolve_outdated: flags.resolve_outdated,
            comment_only: *form == PostAs::Comment,
        },
    };
    let beside = match form {
        PostAs::Review | PostAs::Comment => None,
        PostAs::CheckRun => Some(Beside::CheckRun),
        PostAs::CodeScanning => Some(Beside::CodeScanning),
    };
    if flags.dry_run {
        return planned(hub, name, &posting, beside);
    }
    let outcome = match beside {
        None => hub.post(name, &posting),
        Some(beside) => hub.post_beside(name, &posting, beside),
    };
    ui::detail(&hub.shown_limits());
    outcome.map(Posted::Done).map_err(|error| failed_to_post(error, *form))
}

/// What would be written.
fn planned(
    hub: &Hub,
    name: &Name,
    posting: &Posting<'_>,
    beside: Option<Beside>,
) -> Result<Posted, Failure> {
    let planned = match beside {
        None => {
            let standing = hub.read(name, posting.instance).map_err(failed)?.1;
            let plan = plan(posting, &standing);
            let requests = plan.writes.into_iter().map(|write| write.request).collect();
            plan.refusal.map_or(Ok(requests), Err)
        }
        Some(beside) => hub.planned_beside(name, posting, beside).map_err(|error| match error {
            SarifError::Forge(error) => failed(error),
            SarifError::Written(_) | SarifError::Compressed(_) => Failure::new(Kind::Bug, error),
            SarifError::TooLarge(_) => Failure::new(Kind::Outside, error),
        })?,
    };
    Ok(match planned {
        Ok(requests) => Posted::Shown(requests),
        Err(refusal) => Posted::Done(Outcome { refusal: Some(refusal), ..Outcome::default() }),
    })
}

/// What stands there is of the same head, and says the same.
fn nothing_new(since: &Since, flags: PostFlags) -> Result<Posted, Failure> {
    if flags.dry_run {
        return Ok(Posted::Shown(Vec::new()));
    }
    let note = format!("nothing is posted: {}", since.sentence());
    Ok(Posted::Done(Outcome { notes: vec![note], ..Outcome::default() }))
}
