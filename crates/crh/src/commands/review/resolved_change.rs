//! Resolves what to review: a target in the user's repository, a prepared workspace or archive, or
//! the workspace of a run.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::change_source::{AttributesAt, ChangeSource, unmatched_paths_warning};
use super::super::forge::ForgeProposal;
use super::super::{change_source, tool};
use super::checks::{BaselineAt, SuppressionSettings};
use super::naming;
use super::resumed_run::{ResumedRun, START_ANEW_HINT};
use crate::cli::{SarifFlags, WorkspaceArgs};
use crate::config;
use crate::config::environment::Environment;
use crate::config::file::{ConfigFile, REPOSITORY_FILE};
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::{GlobList, GlobPattern};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::{input, ui};
use crh_git::{BareRepository, PathEntry};
use crh_pipeline::change_under_review::ChangeUnderReview;
use crh_pipeline::checks::{ChangeAuthor, ChangeOrigin};
use crh_pipeline::dismissals::ForgeDismissal;
use crh_pipeline::pack::{BranchPolicy, PackedChange};
use crh_pipeline::resolve::{CheckoutMatch, PinnedChange, UntrackedPolicy};
use crh_pipeline::review_options::ModelSet;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::scope::Scope;
use crh_pipeline::target_args::{ParsedTarget, Target};
use crh_pipeline::tools::{ToolContext, ToolError};
use crh_pipeline::workspace::{Workspace, WorkspaceContents};
use crh_pipeline::{prepare, workspace};
use crh_review::diff::Diff;
use crh_review::report;

/// Hint where to find the objects of a resumed run.
const OF_RUN: &str =
    "pass the repository of the run with `--repo DIR`, or its archive with `--packed FILE`";

/// A resolved change with its settings.
pub(in crate::commands) struct ResolvedChange {
    pub(super) settings: Settings,
    pub(super) change: report::ReviewedChange,
    pub(super) scope: Scope,
    pub(super) notes: Vec<String>,
    untracked: Vec<String>,
    source: WorkspaceSource,
    objects: Option<(BareRepository, String, String)>,
    /// The reviewed checkout, if it contains the reviewed files.
    pub(super) checkout: Option<PathBuf>,
    pub(super) checked_out: CheckoutMatch,
    pub(super) silencing: SuppressionSettings,
    pub(super) origin: Origin,
    /// Whether the author may lack write access to the repository.
    is_by_stranger: bool,
    /// Whether the change has commits, which another author may have made.
    has_commits: bool,
    /// Issues that were dismissed on the forge.
    pub(super) dismissed: Vec<ForgeDismissal>,
    /// Where the git attributes are read from.
    attributes: AttributesAt,
    /// The store of a repository without a local clone.
    alone: Option<PathBuf>,
    /// Keeps the unpacked archive alive.
    pub(super) packed: Option<PackedChange>,
}

/// Facts about a change when its review began. A run stores them, because the checkout may change
/// before the run is resumed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ResumeState {
    change: report::ReviewedChange,
    notes: Vec<String>,
    untracked: Vec<String>,
    checkout: Option<PathBuf>,
    #[serde(default)]
    checked_out: CheckoutMatch,
    #[serde(default)]
    paths: Vec<String>,
    exclude: Vec<String>,
    include: Vec<String>,
    generated: Vec<String>,
    max_file_bytes: NonZeroU64,
    #[serde(default)]
    strict: bool,
    silencing: SuppressionSettings,
    /// SARIF files, which are read again.
    pub(super) sarif: Vec<PathBuf>,
    pub(super) sarif_base: Vec<PathBuf>,
    origin: Origin,
    #[serde(default)]
    is_by_stranger: bool,
    #[serde(default)]
    has_commits: bool,
    #[serde(default)]
    attributes: AttributesAt,
    #[serde(default)]
    alone: Option<PathBuf>,
    #[serde(default)]
    dismissed: Vec<ForgeDismissal>,
    /// Models as named in the review id. Empty without a model.
    #[serde(default)]
    pub(super) models: String,
}

impl ResumeState {
    /// Adds the models.
    pub(super) fn asking(self, model_set: Option<&ModelSet>) -> Self {
        Self { models: model_set.map(ModelSet::names).unwrap_or_default(), ..self }
    }

    /// Whether the reviewed change is the checkout itself.
    pub(super) fn is_of_checkout(&self) -> bool {
        self.checkout.is_some()
    }

    /// Changes the title, which the author of the change wrote.
    pub(super) fn with_title(mut self, act: impl FnOnce(&mut String)) -> Self {
        act(&mut self.change.title);
        self
    }
}

/// Origin of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// The current repository.
    Repository,
    /// A forge. Anybody may propose a change there, so crh does not trust it, even if the current
    /// folder is trusted.
    Forge,
    /// A prepared change. Another user may have prepared it, so crh does not trust it either.
    Prepared,
}

/// Source of the workspace.
enum WorkspaceSource {
    /// Contents that this run writes to a new folder.
    Contents(Box<WorkspaceContents>),
    /// An existing folder. crh copies it, because a review writes to its workspace.
    Folder(PathBuf),
    /// The folder of the resumed run.
    OfRun(PathBuf),
}

impl ResolvedChange {
    /// Resolves a target. `runs` is the folder of all runs, which crh leaves out of the change.
    /// Calls `on_change` as soon as the change is known. `pull` is the pull request. If crh found
    /// it by the current branch and cannot fetch its commits, crh sets it to `None`.
    pub(in crate::commands) fn target(
        parsed: &ParsedTarget,
        pull: &mut Option<ForgeProposal>,
        untracked: UntrackedPolicy,
        environment: &Environment,
        flags: RawSettings,
        runs: Option<&Path>,
        on_change: impl FnOnce(&mut PinnedChange),
    ) -> Result<Self, Failure> {
        let output_paths = runs.into_iter().map(Path::to_owned).collect();
        let (mut opened, mut change) =
            ChangeSource::with_change(parsed, pull, untracked, environment, &flags, output_paths)?;
        on_change(&mut change);
        let objects = opened.objects()?;
        let checked_out = opened.match_checkout(parsed, &change)?;
        let config_notes = opened.load_change_settings(
            &parsed.target,
            &change,
            objects.as_ref(),
            environment,
            flags,
        )?;
        let commits = change.base.clone().zip(change.head.clone());
        let commit_ids = commits.as_ref().map(|(base, head)| (base.as_str(), head.as_str()));
        let (scope, unread) = opened.scope(&change.diff, commit_ids, objects.as_ref())?;
        let unmatched = unmatched_paths_warning(&scope, &opened.settings, environment)?;
        let self_excluded =
            opened.self_exclusion_warning(&scope, &change.diff, commit_ids, objects.as_ref())?;
        unmatched.iter().for_each(|warning| ui::warn(warning));
        let facts = naming::of_repository(&change, &opened)?;
        let tip = change.proposed.as_ref().map(|proposed| proposed.target_tip.clone());
        let (untracked, mut notes) = (change.untracked.clone(), change.notes.clone());
        let has_commits = !change.commits.is_empty();
        notes.extend(config_notes);
        notes.extend(self_excluded);
        notes.extend(unmatched);
        let (contents, more) =
            prepare::workspace_contents(change, objects.as_ref()).or_fail(FailureKind::External)?;
        notes.extend(more);
        notes.extend(unread.into_iter().map(unread_attributes));
        let bare = opened.store.as_ref().map(|store| store.bare().clone());
        let root = opened.store.as_ref().and_then(|store| store.repository().work_tree.clone());
        let checkout = root.filter(|_| checked_out == CheckoutMatch::AsReviewed);
        let folder = bare.as_ref().map(|bare| bare.folder().to_owned());
        let objects = bare.zip(commits).map(|(bare, (base, head))| (bare, base, head));
        let baseline = match (&parsed.target, &checkout) {
            // The user made the uncommitted changes, so crh trusts the baseline in the checkout.
            (Target::Uncommitted | Target::Staged, Some(root)) => BaselineAt::Checkout(root),
            (_, _) => baseline_before(objects.as_ref(), tip.as_deref()),
        };
        let ignore = &opened.settings.checks_ignore.value;
        let ignored_before = &opened.settings_before.checks_ignore.value;
        let silencing = SuppressionSettings::new(ignore, ignored_before, &baseline)?
            .with_lessons(base_commit(objects.as_ref(), tip.as_deref()))?;
        Ok(Self {
            silencing,
            origin: match (&parsed.target, pull.as_ref()) {
                (Target::PullRequest(_), _) => Origin::Forge,
                // A pull request from a fork is foreign code, even if it is checked out.
                (_, Some(pull)) if pull.is_foreign() => Origin::Forge,
                (_, _) => Origin::Repository,
            },
            has_commits,
            is_by_stranger: pull.as_ref().is_some_and(ForgeProposal::is_by_stranger),
            dismissed: pull
                .as_ref()
                .map(|pull| pull.dismissals(opened.settings.instance.value.as_str()))
                .unwrap_or_default(),
            alone: folder.filter(|_| pull.as_ref().is_some_and(|pull| !pull.has_clone)),
            attributes: opened.attributes,
            settings: opened.settings,
            change: facts,
            scope,
            notes,
            untracked,
            source: WorkspaceSource::Contents(Box::new(contents)),
            objects,
            checkout,
            checked_out,
            packed: None,
        })
    }

    /// Resolves a prepared change: a folder, an archive, or the workspace of a run.
    pub(super) fn prepared(
        args: &WorkspaceArgs,
        resumed: Option<&ResumedRun>,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Self, Failure> {
        let packed =
            args.packed.as_deref().map(|file| PackedChange::open(&environment.folder.join(file)));
        let packed = packed.transpose().map_err(tool::archive_failure)?;
        let policy =
            packed.as_ref().map(PackedChange::policy).transpose().map_err(tool::archive_failure)?;
        let policy = policy.flatten();
        let (mut settings, unusable) = settings_of(policy.as_ref(), environment, flags)?;
        if let Some(ResumedRun { change_facts, .. }) = resumed {
            change_facts.restore_rules(&mut settings)?;
        }
        let (workspace, source) = open_workspace(args, packed.as_ref(), resumed, environment)?;
        let ends = tool::commits(&workspace);
        let objects = match &ends {
            Some(ends) => objects(args, packed.as_ref(), resumed, ends, environment)?,
            None => None,
        };
        let diff = checked_diff(&workspace, objects.as_ref().filter(|_| resumed.is_none()))?;
        let read = objects.as_ref().map(|(bare, _, _)| bare.objects()).transpose();
        let read = read.or_fail(FailureKind::External)?;
        let shown = ends.as_ref().map(|(base, head)| (base.as_str(), head.as_str()));
        // A prepared change may be foreign code, so crh uses the attributes of the target branch,
        // or those before the change, and not the change's own.
        let tip = policy.as_ref().and_then(|policy| policy.tip.clone());
        let attributes = match (resumed, tip) {
            (Some(resumed), _) => resumed.change_facts.attributes.clone(),
            (None, Some(tip)) => AttributesAt::Commit(tip),
            (None, None) => AttributesAt::Old,
        };
        let ends = shown.filter(|_| read.is_some());
        let (scope, unread) =
            change_source::decide_scope(&settings, &diff, ends, read.as_ref(), &attributes)?;
        let unmatched = unmatched_paths_warning(&scope, &settings, environment)?;
        let ignore = &settings.checks_ignore.value;
        let silencing = match (resumed, &policy) {
            (Some(ResumedRun { change_facts, .. }), _) => change_facts.silencing.clone(),
            (None, Some(policy)) => {
                let baseline = BaselineAt::Given(policy.baseline.as_deref());
                SuppressionSettings::new(ignore, ignore, &baseline)?
                    .with_packed_lessons(policy.lessons.as_deref())
            }
            (None, None) => {
                SuppressionSettings::new(ignore, ignore, &baseline_before(objects.as_ref(), None))?
                    .with_lessons(base_commit(objects.as_ref(), None))?
            }
        };
        let change =
            naming::of_workspace(&workspace, &diff, packed.is_none(), args, environment, &settings);
        let notes = unusable.into_iter().chain(unmatched).chain(settings.milder_fail_on());
        let notes = notes.chain(unread.into_iter().map(unread_attributes)).collect();
        let resolved = Self {
            silencing,
            origin: Origin::Prepared,
            is_by_stranger: true,
            has_commits: true,
            attributes,
            settings,
            change,
            scope,
            notes,
            untracked: Vec::new(),
            source,
            objects,
            checkout: None,
            checked_out: CheckoutMatch::Different,
            alone: None,
            dismissed: dismissals(policy, args, environment)?,
            packed,
        };
        Ok(match resumed {
            None => resolved,
            Some(ResumedRun { change_facts, .. }) => resolved.resumed(change_facts.clone()),
        })
    }

    /// The same change with the facts that were stored when the resumed run began.
    fn resumed(self, change_facts: ResumeState) -> Self {
        let ResumeState { change, notes, untracked, checkout, origin, has_commits, .. } =
            change_facts;
        let ResumeState { alone, dismissed, checked_out, is_by_stranger, .. } = change_facts;
        let resolved = Self { checked_out, alone, dismissed, is_by_stranger, has_commits, ..self };
        Self { change, notes, untracked, checkout, origin, ..resolved }
    }

    /// The repository with the files of the change, and their commit.
    pub(super) fn files(&self) -> Option<(BareRepository, String)> {
        self.objects.as_ref().map(|(bare, _, head)| (bare.clone(), head.clone()))
    }

    pub(super) fn work(&self) -> ChangeOrigin {
        match self.checkout {
            Some(_) if !self.has_commits => ChangeOrigin::InCheckout,
            Some(_) | None => ChangeOrigin::Elsewhere,
        }
    }

    pub(super) fn author(&self) -> ChangeAuthor {
        if self.is_by_stranger { ChangeAuthor::Stranger } else { ChangeAuthor::Trusted }
    }

    /// Hashes of the attribute files that select the reviewed files. Empty if they come from one of
    /// the two compared commits.
    pub(super) fn attribute_files(&self, diff: &Diff) -> Result<BTreeMap<String, String>, Failure> {
        let (AttributesAt::Commit(commit), Some((bare, _, _))) = (&self.attributes, &self.objects)
        else {
            return Ok(BTreeMap::new());
        };
        let objects = bare.objects().or_fail(FailureKind::External)?;
        let paths = diff.files().iter().map(|file| file.path.as_bytes());
        let files =
            crh_git::attribute_files(&objects, commit, paths).or_fail(FailureKind::External)?;
        let hash = |file: PathEntry| (String::from_utf8_lossy(&file.path).into_owned(), file.id);
        Ok(files.into_iter().map(hash).collect())
    }

    /// Facts about the change to store for a resumed run.
    pub(super) fn change_facts(
        &self,
        sarif: &SarifFlags,
        environment: &Environment,
    ) -> ResumeState {
        let files = |files: &[PathBuf]| {
            let is_stdin = |file: &Path| file == Path::new("-");
            let place = |file: &PathBuf| match is_stdin(file) {
                true => file.clone(),
                false => environment.folder.join(file),
            };
            files.iter().map(place).collect()
        };
        let globs =
            |globs: &GlobList| globs.0.iter().map(|glob| glob.as_str().to_owned()).collect();
        ResumeState {
            change: self.change.clone(),
            notes: self.notes.clone(),
            untracked: self.untracked.clone(),
            checkout: self.checkout.clone(),
            checked_out: self.checked_out,
            paths: globs(&self.settings.scope_paths.value),
            exclude: globs(&self.settings.scope_exclude.value),
            include: globs(&self.settings.scope_include.value),
            generated: globs(&self.settings.scope_generated.value),
            max_file_bytes: self.settings.scope_max_file_bytes.value,
            strict: self.settings.scope_strict.value,
            silencing: self.silencing.clone(),
            sarif: files(&sarif.sarif),
            sarif_base: files(&sarif.sarif_base),
            origin: self.origin,
            is_by_stranger: self.is_by_stranger,
            has_commits: self.has_commits,
            attributes: self.attributes.clone(),
            alone: self.alone.clone(),
            dismissed: self.dismissed.clone(),
            models: String::new(),
        }
    }

    /// Why crh cannot fix the change in the checkout.
    fn checkout_obstacle(&self) -> Option<report::CheckoutObstacle> {
        match (&self.checkout, self.checked_out) {
            (Some(_), _) => None,
            (None, CheckoutMatch::WithUnreviewedChanges) => {
                Some(report::CheckoutObstacle::UnreviewedChanges)
            }
            (None, CheckoutMatch::AsReviewed | CheckoutMatch::Different) => {
                Some(report::CheckoutObstacle::NotCheckedOut)
            }
        }
    }

    /// The change under review, with its workspace in `folder`.
    pub(in crate::commands) fn subject(&self, folder: &Path) -> Result<ChangeUnderReview, Failure> {
        let folder = match &self.source {
            WorkspaceSource::Contents(contents) => {
                workspace::write_workspace(contents, folder).or_fail(FailureKind::External)?;
                folder
            }
            WorkspaceSource::Folder(from) => {
                workspace::copy_workspace(from, folder).or_fail(FailureKind::External)?;
                folder
            }
            WorkspaceSource::OfRun(folder) => folder,
        };
        let workspace = Workspace::open(folder).or_fail(FailureKind::External)?;
        let diff = latest_diff(&workspace)?;
        let mut tool_context = ToolContext::new().with_workspace(workspace);
        if let Some((bare, base, head)) = self.objects.clone() {
            // Report missing objects now, not in the middle of a review.
            let revisions = Revisions::new(bare, &base, &head).or_fail(FailureKind::External)?;
            tool_context = tool_context.with_repository(move || Ok::<_, ToolError>(revisions));
        }
        Ok(ChangeUnderReview {
            tool_context,
            diff,
            scope: self.scope.clone(),
            report_change: report::ReviewedChange {
                checkout_obstacle: self.checkout_obstacle(),
                ..self.change.clone()
            },
            untracked: self.untracked.clone(),
            notes: self.notes.clone(),
            incremental: None,
            lessons: Arc::default(),
        })
    }
}

impl ResumeState {
    /// The rules that select files and findings.
    pub(super) fn rules_of_review(&self) -> impl Serialize + '_ {
        let Self { paths, exclude, include, generated, max_file_bytes, strict, silencing, .. } =
            self;
        (paths, exclude, include, generated, max_file_bytes, strict, silencing)
    }

    /// Restores the rules that selected the files.
    fn restore_rules(&self, settings: &mut Settings) -> Result<(), Failure> {
        let globs = |globs: &[String]| {
            let globs = globs.iter().map(|glob| GlobPattern::parse(glob));
            globs.collect::<Result<_, _>>().map(GlobList).map_err(Failure::usage)
        };
        settings.scope_paths.value = globs(&self.paths)?;
        settings.scope_exclude.value = globs(&self.exclude)?;
        settings.scope_include.value = globs(&self.include)?;
        settings.scope_generated.value = globs(&self.generated)?;
        settings.scope_max_file_bytes.value = self.max_file_bytes;
        settings.scope_strict.value = self.strict;
        Ok(())
    }
}

/// The commit before the change: the tip of the target branch, or the base. `None` if the
/// repository does not have it.
fn base_commit<'a>(
    objects: Option<&'a (BareRepository, String, String)>,
    tip: Option<&'a str>,
) -> Option<(&'a BareRepository, &'a str)> {
    let (bare, base, _) = objects?;
    let commit = tip.filter(|tip| bare.has(tip)).unwrap_or(base);
    bare.has(commit).then_some((bare, commit))
}

/// The baseline before the change, or at the tip of its target. The change itself may be foreign
/// and must not suppress its own findings.
fn baseline_before<'a>(
    objects: Option<&'a (BareRepository, String, String)>,
    tip: Option<&'a str>,
) -> BaselineAt<'a> {
    match objects {
        Some((bare, base, _)) => BaselineAt::Commit(bare, tip.unwrap_or(base)),
        None => BaselineAt::Nowhere,
    }
}

/// The settings for a prepared change, including those of its archive, and a warning if crh ignores
/// those.
fn settings_of(
    policy: Option<&BranchPolicy>,
    environment: &Environment,
    flags: RawSettings,
) -> Result<(Settings, Option<String>), Failure> {
    let file = policy.and_then(|policy| policy.settings.clone()).map(|bytes| {
        ConfigFile::new(REPOSITORY_FILE.to_owned(), environment.folder.clone(), bytes)
    });
    let loaded = file.transpose().and_then(|file| {
        let settings = config::load(environment, file.as_ref(), flags.clone())?;
        Ok((settings, None))
    });
    match loaded {
        Err(failure) if failure.kind == FailureKind::Usage && policy.is_some() => {
            let settings = config::load(environment, None, flags)?;
            Ok((settings, Some(change_source::warn_config_ignored(&failure))))
        }
        loaded => loaded,
    }
}

/// The workspace of a prepared change or a run, and its source.
fn open_workspace(
    args: &WorkspaceArgs,
    packed: Option<&PackedChange>,
    resumed: Option<&ResumedRun>,
    environment: &Environment,
) -> Result<(Workspace, WorkspaceSource), Failure> {
    match (packed, resumed, &args.workspace) {
        (_, Some(resumed), _) => {
            let folder = resumed.workspace();
            let workspace = Workspace::open(&folder)
                .or_fail(FailureKind::Usage)
                .map_err(|failure| failure.hint(START_ANEW_HINT))?;
            Ok((workspace, WorkspaceSource::OfRun(folder)))
        }
        (Some(packed), None, _) => {
            let workspace = packed.workspace().or_fail(FailureKind::Usage)?;
            let folder = workspace.folder().to_owned();
            Ok((workspace, WorkspaceSource::Folder(folder)))
        }
        (None, None, folder) => {
            let folder = environment.folder.join(folder.as_deref().unwrap_or(Path::new("")));
            let workspace = Workspace::open(&folder)
                .or_fail(FailureKind::Usage)
                .map_err(|failure| failure.hint("`crh prepare --out DIR` writes a workspace"))?;
            Ok((workspace, WorkspaceSource::Folder(folder)))
        }
    }
}

/// The objects of both commits, from the archive or the repository. An archive of a diff has none.
fn objects(
    args: &WorkspaceArgs,
    packed: Option<&PackedChange>,
    resumed: Option<&ResumedRun>,
    (base, head): &(String, String),
    environment: &Environment,
) -> Result<Option<(BareRepository, String, String)>, Failure> {
    let bare = match packed {
        Some(packed) => {
            let bare = packed.objects();
            let has_commits =
                |bare: &BareRepository| Revisions::new(bare.clone(), base, head).is_ok();
            if resumed.is_some() && !bare.as_ref().is_some_and(has_commits) {
                return Err(Failure::usage("this is not the archive of the run").hint(OF_RUN));
            }
            bare
        }
        // Without a clone, the objects are in the store that the run used when it began.
        None if args.repo.is_none() && store_without_clone(resumed).is_some() => {
            store_without_clone(resumed)
        }
        None => {
            let repo = args.repo.as_deref().unwrap_or(&environment.folder);
            let revisions = tool::revisions(repo, environment, base, head);
            let revisions = revisions.map_err(|failure| match resumed {
                Some(_) => failure.hint(OF_RUN),
                None => failure,
            })?;
            Some(revisions.bare().clone())
        }
    };
    Ok(bare.map(|bare| (bare, base.clone(), head.clone())))
}

/// The store of the run's repository, if there is no clone and the store still exists.
fn store_without_clone(resumed: Option<&ResumedRun>) -> Option<BareRepository> {
    let folder = resumed?.change_facts.alone.as_deref()?;
    folder.is_dir().then(|| BareRepository::new(folder))
}

fn latest_diff(workspace: &Workspace) -> Result<Arc<Diff>, Failure> {
    let Some(round) = workspace.latest() else {
        return Err(
            Failure::usage("the workspace has no diff").hint("write it again with `crh prepare`")
        );
    };
    let diff = workspace.diff(&round.id).or_fail(FailureKind::Usage)?;
    let is_unchanged = round.base_rev.is_some() && round.base_rev == round.head_rev;
    if diff.files().is_empty() && !is_unchanged {
        return Err(Failure::usage("the diff of the workspace is empty, but its change is not")
            .hint("write it again with `crh prepare`"));
    }
    Ok(diff)
}

/// The diff of a prepared change. Fails if `objects` is given and the diff is not the difference of
/// the commits, because such a diff could hide a file.
fn checked_diff(
    workspace: &Workspace,
    objects: Option<&(BareRepository, String, String)>,
) -> Result<Arc<Diff>, Failure> {
    let diff = latest_diff(workspace)?;
    let Some((bare, base, head)) = objects else { return Ok(diff) };
    if bare.diff(base, head).or_fail(FailureKind::External)? == diff.raw() {
        return Ok(diff);
    }
    Err(Failure::usage("the diff of the workspace is not the difference of its commits").hint(
        "someone changed it, or another version of git wrote it; write it again with `crh prepare`",
    ))
}

fn unread_attributes((path, why): change_source::UnreadableAttributes) -> String {
    format!("the attributes in `{path}` are ignored: {why}")
}

/// Issues that people dismissed at the forge, or at the server which runs this review.
fn dismissals(
    policy: Option<BranchPolicy>,
    args: &WorkspaceArgs,
    environment: &Environment,
) -> Result<Vec<ForgeDismissal>, Failure> {
    let mut dismissed = policy.map(|policy| policy.dismissed).unwrap_or_default();
    if let Some(file) = &args.dismissals {
        let reasons: BTreeMap<String, String> =
            input::json(&environment.folder.join(file), "an object of keys and reasons")?;
        dismissed.extend(reasons.into_iter().map(|(dedupe_key, reason)| ForgeDismissal {
            dedupe_key,
            reason,
            about: None,
        }));
    }
    Ok(dismissed)
}
