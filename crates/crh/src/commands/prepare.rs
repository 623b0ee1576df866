//! `crh prepare`: resolves a change and writes the workspace that reviewers see.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;

use super::change_source::{ChangeSource, UnreadableAttributes};
use super::forge::{ExpectedHead, ForgeProposal, PullRequestLookup};
use super::github::{Audience, SkipRules};
use super::review::since::ReviewExtent;
use super::{change_source, forge, github, require_parent_folder};
use crate::cli::{PrepareArgs, PrepareOutputArgs, TargetArgs};
use crate::config::environment::{CI, Environment};
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::posting::last_saved_review;
use crh_git::Objects;
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::context_pack::context_files;
use crh_pipeline::incremental::PreviousReviewLookup;
use crh_pipeline::pack::PackExtras;
use crh_pipeline::resolve::{PinnedChange, UntrackedPolicy};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::scope::Scope;
use crh_pipeline::target_args::ParsedTarget;
use crh_pipeline::tools::ToolContext;
use crh_pipeline::workspace::{WorkspaceContents, WorkspaceError};
use crh_pipeline::{pack, prepare, workspace};
use crh_review::diff::Diff;
use crh_review::report::ReviewedChange;
use crh_review::stable_json;

/// The parsed command line.
struct PrepareRequest {
    parsed: ParsedTarget,
    untracked: UntrackedPolicy,
    /// Whether the archive contains the last review.
    extent: ReviewExtent,
    expected_head: Option<ExpectedHead>,
    pull_lookup: PullRequestLookup,
    skip_rules: SkipRules,
    /// Folder to write.
    folder: Option<PathBuf>,
    /// Archive to write.
    archive: Option<PathBuf>,
}

/// The workspace of a change, before it is written.
struct PreparedWorkspace {
    contents: WorkspaceContents,
    /// Base and head; none for a diff without a repository.
    commits: Option<(String, String)>,
    /// Git objects of the change; none for a diff without a repository.
    objects: Option<Objects>,
    /// Git objects that hold attributes at the tip of the target branch, for the bundle.
    tip_objects: BTreeSet<String>,
}

/// The summary that `crh prepare` prints on standard output.
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
    /// Settings file of the target branch of a pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<String>,
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
            settings: None,
        }
    }

    /// Adds the scope. Warns about unreadable attributes, and if no file is left to review.
    fn with_scope(
        mut self,
        scope: Scope,
        unreadable: Vec<UnreadableAttributes>,
        unmatched: Option<String>,
    ) -> Self {
        let ignored = unreadable
            .into_iter()
            .map(|(path, error)| format!("ignoring the attributes in `{path}`: {error}"));
        let no_file_left = (scope.totals.files_in == 0).then(|| {
            "no file of the change is left to review; `scope` in the output gives the reason for each".to_owned()
        });
        for note in ignored.chain(no_file_left).chain(unmatched) {
            ui::warn(&note);
            self.notes.push(note);
        }
        Self { scope: Some(scope), ..self }
    }
}

pub(crate) fn run(args: PrepareArgs, environment: &Environment) -> Result<(), Failure> {
    let PrepareArgs { target, output, scope, git, cache } = args;
    let mut flags = RawSettings::default();
    let request = PrepareRequest::parse(target, output, &mut flags, environment)?;
    scope.set(&mut flags);
    git.set(&mut flags);
    let _temporary_store = cache.temporary_store(&mut flags)?;
    let (mut source, change, pull) = request.open_change(environment, &flags)?;
    change_source::print_notes(&change);
    let objects = source.objects()?;
    let config_note = source.load_change_settings(
        &request.parsed.target,
        &change,
        objects.as_ref(),
        environment,
        flags,
    )?;
    github::check_skip_rules(request.skip_rules, pull.as_ref(), &source.settings)?;
    let mut summary = PrepareSummary::from_change(&change);
    summary.notes.extend(config_note);
    let commits = change.base.clone().zip(change.head.clone());
    let last = last_review(request.extent, pull.as_ref(), &source, &change);
    let pull_to_archive = pull.as_ref().filter(|_| request.archive.is_some());
    let policy = pull_to_archive.map(|pull| source.branch_policy(pull, &change)).transpose()?;
    let policy = policy.flatten();
    let settings = policy.as_ref().and_then(|policy| policy.settings.as_deref());
    summary.settings = settings.map(|text| String::from_utf8_lossy(text).into_owned());
    let tip_objects = ChangeSource::attribute_objects(&change, policy.as_ref(), objects.as_ref())?;
    let (contents, notes) =
        prepare::workspace_contents(change, objects.as_ref()).or_fail(FailureKind::External)?;
    for note in notes {
        ui::note(&note);
        summary.notes.push(note);
    }
    let mut workspace = PreparedWorkspace { contents, commits, objects, tip_objects };
    let extras = PackExtras { bundle: None, previous_review: last, policy };
    let (scope, unreadable) = workspace.add_context(&source)?;
    let unmatched = change_source::unmatched_paths_warning(&scope, &source.settings, environment)?;
    request.write(&workspace, &source, extras)?;
    let summary = summary.with_scope(scope, unreadable, unmatched);
    ui::result_text(&stable_json(&summary).or_fail(FailureKind::Bug)?)
}

impl PrepareRequest {
    fn parse(
        target: TargetArgs,
        output: PrepareOutputArgs,
        flags: &mut RawSettings,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let include_untracked = target.include_untracked;
        let extent = ReviewExtent::from_flag(target.since_last);
        let expected_head = target.head.as_deref().map(ExpectedHead::parse).transpose()?;
        let pull_lookup = PullRequestLookup::from_no_pr_flag(target.no_pr);
        let audience = match environment.variable(CI) {
            Some(_) => Audience::Others,
            None => Audience::OnePerson,
        };
        let skip_rules = SkipRules::from_no_skip_flag(target.no_skip, audience);
        let parsed = change_source::parse_target(target, flags, environment)?;
        reject_plan(&parsed)?;
        let untracked = change_source::untracked_policy(include_untracked, &parsed.target)?;
        let PrepareOutputArgs { out: folder, pack: archive } = output;
        archive
            .iter()
            .try_for_each(|file| require_parent_folder(&environment.folder.join(file)))?;
        if extent == ReviewExtent::SinceLast && archive.is_none() {
            return Err(Failure::usage("`--since-last` needs an archive").hint(
                "write one with `--pack FILE`; a workspace folder cannot store the last review",
            ));
        }
        Ok(Self {
            parsed,
            untracked,
            extent,
            expected_head,
            pull_lookup,
            skip_rules,
            folder,
            archive,
        })
    }

    /// Finds the pull request and resolves the change.
    fn open_change(
        &self,
        environment: &Environment,
        flags: &RawSettings,
    ) -> Result<(ChangeSource, PinnedChange, Option<ForgeProposal>), Failure> {
        let target = &self.parsed.target;
        let mut pull = forge::find_proposal(target, self.pull_lookup, environment, flags)?;
        self.check_pull(pull.as_ref())?;
        let output_paths = [&self.folder, &self.archive].into_iter().flatten();
        let output_paths = output_paths.map(|path| environment.folder.join(path)).collect();
        let (source, change) = ChangeSource::with_change(
            &self.parsed,
            &mut pull,
            self.untracked,
            environment,
            flags,
            output_paths,
        )?;
        // Check again, because `with_change` may drop an automatically found pull request.
        self.check_pull(pull.as_ref())?;
        Ok((source, change, pull))
    }

    /// Fails if the pull request does not match `--since-last` or `--head`.
    fn check_pull(&self, pull: Option<&ForgeProposal>) -> Result<(), Failure> {
        self.extent.is_for(pull)?;
        ExpectedHead::check(self.expected_head.as_ref(), pull)
    }

    /// Writes the folder, the archive, or both.
    fn write(
        &self,
        workspace: &PreparedWorkspace,
        source: &ChangeSource,
        extras: PackExtras,
    ) -> Result<(), Failure> {
        let PreparedWorkspace { contents, commits, tip_objects, .. } = workspace;
        if let Some(folder) = &self.folder {
            workspace::write_workspace(contents, folder).map_err(write_failure)?;
        }
        let Some(archive) = &self.archive else { return Ok(()) };
        let bundle = source.bundle(commits.as_ref(), tip_objects)?;
        let extras = PackExtras { bundle, ..extras };
        let pack_result = match &self.folder {
            Some(folder) => pack::pack(folder, &extras, archive),
            None => pack::pack_contents(contents, &extras, archive),
        };
        pack_result.or_fail(FailureKind::Usage)
    }
}

impl PreparedWorkspace {
    /// Decides the scope and adds the context files for the files in scope.
    fn add_context(
        &mut self,
        source: &ChangeSource,
    ) -> Result<(Scope, Vec<UnreadableAttributes>), Failure> {
        // The last round is the one under review.
        let diff = self.contents.rounds.last().map(|round| Arc::clone(&round.diff));
        let diff = diff.unwrap_or_else(|| Arc::new(Diff::read(Vec::new())));
        let commits = self.commits.as_ref().map(|(base, head)| (base.as_str(), head.as_str()));
        let (scope, unreadable) = source.scope(&diff, commits, self.objects.as_ref())?;
        let mut tool_context = ToolContext::new();
        if let (Some(store), Some((base, head))) = (&source.store, commits) {
            let revisions = Revisions::new(store.bare().clone(), base, head);
            let revisions = revisions.or_fail(FailureKind::External)?;
            tool_context = tool_context.with_repository(move || Ok(revisions));
        }
        let change = ChangeUnderReview {
            tool_context,
            diff,
            scope,
            report_change: ReviewedChange::default(),
            untracked: Vec::new(),
            notes: Vec::new(),
            incremental: None,
            lessons: Arc::default(),
        };
        self.contents.context = context_files(&change).or_fail(FailureKind::Bug)?;
        Ok((change.scope, unreadable))
    }
}

/// Rejects `plan:`, which only reviews use.
fn reject_plan(parsed: &ParsedTarget) -> Result<(), Failure> {
    match parsed.plan {
        None => Ok(()),
        Some(_) => Err(Failure::usage("`plan:` works only with `crh review`").hint("remove it")),
    }
}

/// The last review, for `--since-last`.
fn last_review(
    extent: ReviewExtent,
    pull: Option<&ForgeProposal>,
    source: &ChangeSource,
    change: &PinnedChange,
) -> Option<PreviousReviewLookup> {
    let proposal_state = match (extent, pull) {
        (ReviewExtent::SinceLast, Some(pull)) if pull.forge.saves_reviews() => &pull.state,
        (ReviewExtent::SinceLast, _) | (ReviewExtent::Everything, _) => return None,
    };
    let (Some(store), Some(head)) = (&source.store, &change.head) else {
        return Some(PreviousReviewLookup::without_commits());
    };
    let state = last_saved_review(proposal_state, source.settings.instance.value.as_str());
    Some(PreviousReviewLookup::compare(state, store.bare(), head, &change.diff))
}

fn write_failure(error: WorkspaceError) -> Failure {
    let is_not_replaced = matches!(error, WorkspaceError::NotReplaced { .. });
    let failure = Failure::new(FailureKind::Usage, error);
    if is_not_replaced {
        failure.hint("name a new folder, or one that `crh prepare` wrote")
    } else {
        failure
    }
}
