//! `crh prepare`: what the user asked for becomes a pinned change and the workspace that reviewers see.

use std::path::Path;

use serde::Serialize;

use super::forge::{Forge, Head, LookedFor, Submission};
use super::github::{Audience, Rules};
use super::opened::{Opened, Unread};
use super::review::since::Wish;
use super::{forge, github, opened};
use crate::cli::{PlaceArgs, PrepareArgs};
use crate::config::environment::{CI, Environment};
use crate::config::keys::RawSettings;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_forge::github::post::last_state;
use crh_pipeline::asked::Asked;
use crh_pipeline::pack::Besides;
use crh_pipeline::scope::Scope;
use crh_pipeline::since::Last;
use crh_pipeline::target::Change;
use crh_pipeline::workspace::WorkspaceError;
use crh_pipeline::{pack, prepare, workspace};
use crh_review::diff::Diff;
use crh_review::stable_json;

/// What is printed when all is written.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Prepared {
    title: String,
    base_rev: Option<String>,
    head_rev: Option<String>,
    source_git_path: String,
    target_git_path: String,
    untracked: Vec<String>,
    notes: Vec<String>,
    scope: Option<Scope>,
}

impl Prepared {
    fn of(change: &Change) -> Self {
        Self {
            title: change.title.clone(),
            base_rev: change.base.clone(),
            head_rev: change.head.clone(),
            source_git_path: change.source.clone(),
            target_git_path: change.target.clone(),
            untracked: change.untracked.clone(),
            notes: change.notes.clone(),
            scope: None,
        }
    }

    /// The same with what is in scope. Warns of attributes that do not count, and if nothing is left to review.
    fn with_scope(mut self, scope: Scope, unread: Vec<Unread>) -> Self {
        let ignored = unread
            .into_iter()
            .map(|(path, why)| format!("the attributes in `{path}` do not count: {why}"));
        let nothing_left = (scope.totals.files_in == 0).then(|| {
            "no file of the change is left to review; `scope` says why of each".to_owned()
        });
        for note in ignored.chain(nothing_left) {
            ui::warn(&note);
            self.notes.push(note);
        }
        Self { scope: Some(scope), ..self }
    }
}

pub(crate) fn run(args: PrepareArgs, environment: &Environment) -> Result<(), Failure> {
    let include_untracked = args.target.include_untracked;
    let wish = Wish::by(args.target.since_last);
    let head = args.target.head.as_deref().map(Head::parse).transpose()?;
    let looked_for = LookedFor::unless(args.target.no_pr);
    let in_ci = environment.variable(CI).map(|_| Audience::Others);
    let rules = Rules::unless(args.target.no_skip, in_ci.unwrap_or(Audience::OnePerson));
    let asked = opened::asked(args.target)?;
    has_no_plan(&asked)?;
    let untracked = opened::untracked(include_untracked, &asked.target)?;
    let mut flags = RawSettings::default();
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    let PlaceArgs { out, pack } = args.places;
    if wish == Wish::SinceLast && pack.is_none() {
        return Err(Failure::usage("a workspace cannot say what was reviewed before")
            .hint("`--pack FILE` writes an archive, which can"));
    }
    let places = [&out, &pack].into_iter().flatten().map(|path| environment.folder.join(path));
    let _passing = args.cache.passing(&mut flags)?;
    let mut pull = forge::of_target(&asked.target, looked_for, environment, &flags)?;
    // Before anything is fetched, and again since a pull request that nobody named may be left out.
    let fits = |pull: Option<&Submission>| {
        wish.is_for(pull)?;
        Head::is_of(head.as_ref(), pull)
    };
    fits(pull.as_ref())?;
    let places = places.collect();
    let (mut opened, change) =
        Opened::with_change(&asked, &mut pull, untracked, environment, &flags, places)?;
    fits(pull.as_ref())?;
    opened::tell(&change);
    let objects = opened.objects()?;
    let unusable = opened.settle(&asked.target, &change, objects.as_ref(), environment, flags)?;
    github::wanted(rules, pull.as_ref(), &opened.settings)?;
    let mut prepared = Prepared::of(&change);
    prepared.notes.extend(unusable);
    let ends = change.base.clone().zip(change.head.clone());
    let last = last(wish, pull.as_ref(), &opened, &change);
    let decided = pull.as_ref().filter(|_| pack.is_some());
    let decided = decided.map(|pull| opened.decided(pull, &change)).transpose()?.flatten();
    let also = Opened::attribute_objects(&change, decided.as_ref(), objects.as_ref())?;
    let besides = Besides { bundle: None, last, decided };
    let (contents, notes) = prepare::contents(change, objects.as_ref()).or_fail(Kind::Outside)?;
    for note in notes {
        ui::note(&note);
        prepared.notes.push(note);
    }
    // Files are made by the disk and decided about by the processor: both at once.
    let (scope, written) = std::thread::scope(|threads| {
        let scope = threads.spawn(|| {
            let none = Diff::read(Vec::new());
            // The last is the one under review.
            let diff = contents.rounds.last().map_or(&none, |round| &round.diff);
            let ends = ends.as_ref().map(|(base, head)| (base.as_str(), head.as_str()));
            opened.scope(diff, ends, objects.as_ref())
        });
        let written = write(&contents, out.as_deref(), pack.as_deref(), besides, || {
            opened.bundle(ends.as_ref(), &also)
        });
        (scope.join(), written)
    });
    let (scope, unread) = scope.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    written?;
    let prepared = prepared.with_scope(scope, unread);
    ui::result_text(&stable_json(&prepared).or_fail(Kind::Bug)?)
}

/// Refuses what only a review uses.
fn has_no_plan(asked: &Asked) -> Result<(), Failure> {
    match asked.plan {
        None => Ok(()),
        Some(_) => {
            Err(Failure::usage("`plan:` says what a change is held against, not what is in it")
                .hint("leave it out here"))
        }
    }
}

/// What is known about the last review, if only what changed since is to be reviewed.
fn last(wish: Wish, pull: Option<&Submission>, opened: &Opened, change: &Change) -> Option<Last> {
    let standing = match (wish, pull.map(|pull| &pull.at)) {
        (Wish::SinceLast, Some(Forge::GitHub { standing, .. })) => standing,
        (Wish::SinceLast, Some(Forge::Launchpad { .. }) | None) | (Wish::Everything, _) => {
            return None;
        }
    };
    let (Some(store), Some(head)) = (&opened.store, &change.head) else {
        return Some(Last::without_commits());
    };
    let state = last_state(standing, opened.settings.instance.value.as_str());
    Some(Last::found(state, store.bare(), head, &change.diff))
}

/// Writes the folder, the archive, or both.
fn write(
    contents: &workspace::Contents,
    out: Option<&Path>,
    archive: Option<&Path>,
    besides: Besides,
    bundle: impl FnOnce() -> Result<Option<Vec<u8>>, Failure>,
) -> Result<(), Failure> {
    if let Some(out) = out {
        workspace::write(contents, out).map_err(not_written)?;
    }
    let Some(archive) = archive else { return Ok(()) };
    let besides = Besides { bundle: bundle()?, ..besides };
    let packed = match out {
        Some(out) => pack::pack(out, &besides, archive),
        None => pack::pack_contents(contents, &besides, archive),
    };
    packed.or_fail(Kind::Usage)
}

fn not_written(error: WorkspaceError) -> Failure {
    let is_taken = matches!(error, WorkspaceError::NotReplaced { .. });
    let failure = Failure::new(Kind::Usage, error);
    if is_taken {
        failure.hint("name a new folder, or one that `crh prepare` wrote")
    } else {
        failure
    }
}
