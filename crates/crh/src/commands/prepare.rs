//! `crh prepare`: resolves a change and writes the workspace that reviewers see.

use std::path::Path;

use serde::Serialize;

use super::change_source::{ChangeSource, UnreadableAttributes};
use super::forge::{ExpectedHead, Forge, ForgeProposal, PullRequestLookup};
use super::github::{Audience, SkipRules};
use super::review::since::Wish;
use super::{change_source, forge, github};
use crate::cli::{PrepareArgs, PrepareOutputArgs};
use crate::config::environment::{CI, Environment};
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::github::post::last_saved_review;
use crh_pipeline::incremental::PreviousReviewLookup;
use crh_pipeline::pack::PackExtras;
use crh_pipeline::resolve::PinnedChange;
use crh_pipeline::scope::Scope;
use crh_pipeline::target_args::ParsedTarget;
use crh_pipeline::workspace::WorkspaceError;
use crh_pipeline::{pack, prepare, workspace};
use crh_review::diff::Diff;
use crh_review::stable_json;

/// Printed on standard output.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PrepareSummary {
    title: String,
    base_rev: Option<String>,
    head_rev: Option<String>,
    source_git_path: String,
    target_git_path: String,
    untracked: Vec<String>,
    notes: Vec<String>,
    scope: Option<Scope>,
}

impl PrepareSummary {
    fn from_change(change: &PinnedChange) -> Self {
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

    /// Adds the scope. Warns about unreadable attributes, and if no file is left to review.
    fn with_scope(mut self, scope: Scope, unread: Vec<UnreadableAttributes>) -> Self {
        let ignored = unread
            .into_iter()
            .map(|(path, why)| format!("ignoring the attributes in `{path}`: {why}"));
        let nothing_left = (scope.totals.files_in == 0).then(|| {
            "no file of the change is left to review; `scope` in the output gives the reason for each".to_owned()
        });
        for note in ignored.chain(nothing_left) {
            ui::warn(&note);
            self.notes.push(note);
        }
        Self { scope: Some(scope), ..self }
    }
}

#[expect(clippy::too_many_lines, reason = "one step after the other")]
pub(crate) fn run(args: PrepareArgs, environment: &Environment) -> Result<(), Failure> {
    let include_untracked = args.target.include_untracked;
    let wish = Wish::by(args.target.since_last);
    let head = args.target.head.as_deref().map(ExpectedHead::parse).transpose()?;
    let looked_for = PullRequestLookup::from_no_pr_flag(args.target.no_pr);
    let in_ci = environment.variable(CI).map(|_| Audience::Others);
    let rules =
        SkipRules::from_no_skip_flag(args.target.no_skip, in_ci.unwrap_or(Audience::OnePerson));
    let parsed = change_source::parse_target(args.target)?;
    reject_plan(&parsed)?;
    let untracked = change_source::untracked_policy(include_untracked, &parsed.target)?;
    let mut flags = RawSettings::default();
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    let PrepareOutputArgs { out, pack } = args.output;
    if wish == Wish::SinceLast && pack.is_none() {
        return Err(Failure::usage("`--since-last` needs an archive").hint(
            "write one with `--pack FILE`; a workspace folder cannot store the last review",
        ));
    }
    let places = [&out, &pack].into_iter().flatten().map(|path| environment.folder.join(path));
    let _passing = args.cache.temporary_store(&mut flags)?;
    let mut pull = forge::find_proposal(&parsed.target, looked_for, environment, &flags)?;
    // Checked before the fetch, and again because an automatically found pull request may be
    // dropped.
    let fits = |pull: Option<&ForgeProposal>| {
        wish.is_for(pull)?;
        ExpectedHead::check(head.as_ref(), pull)
    };
    fits(pull.as_ref())?;
    let places = places.collect();
    let (mut opened, change) =
        ChangeSource::with_change(&parsed, &mut pull, untracked, environment, &flags, places)?;
    fits(pull.as_ref())?;
    change_source::print_notes(&change);
    let objects = opened.objects()?;
    let unusable = opened.load_change_settings(
        &parsed.target,
        &change,
        objects.as_ref(),
        environment,
        flags,
    )?;
    github::check_skip_rules(rules, pull.as_ref(), &opened.settings)?;
    let mut prepared = PrepareSummary::from_change(&change);
    prepared.notes.extend(unusable);
    let ends = change.base.clone().zip(change.head.clone());
    let last = last_review(wish, pull.as_ref(), &opened, &change);
    let decided = pull.as_ref().filter(|_| pack.is_some());
    let decided = decided.map(|pull| opened.branch_policy(pull, &change)).transpose()?.flatten();
    let also = ChangeSource::attribute_objects(&change, decided.as_ref(), objects.as_ref())?;
    let besides = PackExtras { bundle: None, last, policy: decided };
    let (contents, notes) =
        prepare::workspace_contents(change, objects.as_ref()).or_fail(FailureKind::External)?;
    for note in notes {
        ui::note(&note);
        prepared.notes.push(note);
    }
    // Writing is bound by the disk and scoping by the CPU, so they run in parallel.
    let (scope, written) = std::thread::scope(|threads| {
        let scope = threads.spawn(|| {
            let none = Diff::read(Vec::new());
            // The last round is the one under review.
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
    ui::result_text(&stable_json(&prepared).or_fail(FailureKind::Bug)?)
}

/// Rejects `plan:`, which only reviews use.
fn reject_plan(asked: &ParsedTarget) -> Result<(), Failure> {
    match asked.plan {
        None => Ok(()),
        Some(_) => Err(Failure::usage("`plan:` is only for reviews").hint("remove it")),
    }
}

/// The last review, for `--since-last`.
fn last_review(
    wish: Wish,
    pull: Option<&ForgeProposal>,
    opened: &ChangeSource,
    change: &PinnedChange,
) -> Option<PreviousReviewLookup> {
    let standing = match (wish, pull.map(|pull| &pull.forge)) {
        (Wish::SinceLast, Some(Forge::GitHub { pull_state, .. })) => pull_state,
        (Wish::SinceLast, Some(Forge::Launchpad { .. }) | None) | (Wish::Everything, _) => {
            return None;
        }
    };
    let (Some(store), Some(head)) = (&opened.store, &change.head) else {
        return Some(PreviousReviewLookup::without_commits());
    };
    let state = last_saved_review(standing, opened.settings.instance.value.as_str());
    Some(PreviousReviewLookup::compare(state, store.bare(), head, &change.diff))
}

/// Writes the folder, the archive, or both.
fn write(
    contents: &workspace::WorkspaceContents,
    out: Option<&Path>,
    archive: Option<&Path>,
    besides: PackExtras,
    bundle: impl FnOnce() -> Result<Option<Vec<u8>>, Failure>,
) -> Result<(), Failure> {
    if let Some(out) = out {
        workspace::write_workspace(contents, out).map_err(write_failure)?;
    }
    let Some(archive) = archive else { return Ok(()) };
    let besides = PackExtras { bundle: bundle()?, ..besides };
    let packed = match out {
        Some(out) => pack::pack(out, &besides, archive),
        None => pack::pack_contents(contents, &besides, archive),
    };
    packed.or_fail(FailureKind::Usage)
}

fn write_failure(error: WorkspaceError) -> Failure {
    let is_taken = matches!(error, WorkspaceError::NotReplaced { .. });
    let failure = Failure::new(FailureKind::Usage, error);
    if is_taken {
        failure.hint("name a new folder, or one that `crh prepare` wrote")
    } else {
        failure
    }
}
