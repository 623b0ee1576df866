//! Opens the source of a change: the current repository with its settings and crh's own object
//! store, or a diff without a repository.

mod path_args;
mod target_failure;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) use path_args::unmatched_paths_warning;
use serde::{Deserialize, Serialize};
pub(super) use target_failure::target_failure;

use super::forge::ForgeProposal;
use super::repository_file::{file_at, repository_file};
use super::review::checks::{BaselineAt, lessons_at};
use super::{forge, interrupts, run_lookup, store};
use crate::cli::{ModeArg, TargetArgs};
use crate::config::environment::{Environment, INDEX_FILE};
use crate::config::file::ConfigFile;
use crate::config::key::{ConfigKey, ResolvedSetting, SourcedValue};
use crate::config::keys::{KEYS, RawSettings, Settings};
use crate::config::value::BaseBranch;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::fix::journal::MARKERS;
use crate::hand_off::todos;
use crate::{config, input, ui};
use crh_forge::ChangeProposal;
use crh_git::{
    Base, BaseError, BaseRequest, NetworkMode, Objects, PathGlobs, ReadError, Repository, Store,
};
use crh_os::names::canonical;
use crh_pipeline::pack::BranchPolicy;
use crh_pipeline::resolve::{
    CheckoutMatch, PinnedChange, ProposalRemotes, ResolveOptions, ReviewedHead, TargetError,
    UntrackedPolicy,
};
use crh_pipeline::scope::{DiffOnly, RepositoryFiles, Scope, ScopeDecision, ScopeRules};
use crh_pipeline::target_args::{
    ParsedTarget, RequestedMode, Target, TargetArgsError, TargetFlags, parse_range,
};
use crh_pipeline::{resolve, scope};
use crh_review::diff::{Diff, FileDiff, RepoPath, UnsupportedDiff};

/// Maximum untracked files in a warning. The summary of `crh prepare` lists all of them.
const UNTRACKED_SHOWN_MAX: usize = 20;

/// Maximum files in a warning about files that the change excludes. The coverage in the report
/// lists all of them.
const EXCLUDED_SHOWN_MAX: usize = 5;

/// An attributes file that could not be read, and the error.
pub(super) type UnreadableAttributes = (String, String);

/// Parses the target arguments.
pub(super) fn parse_target(
    args: TargetArgs,
    flags: &mut RawSettings,
    environment: &Environment,
) -> Result<ParsedTarget, Failure> {
    let revisions = old_revisions(&args);
    let (words, paths) = path_args::split(args.words, args.paths, &revisions, environment);
    if !paths.is_empty() {
        let globs = path_args::globs(&paths, environment)?;
        flags.scope_paths = Some(SourcedValue::from_flag("PATH", globs));
    }
    let diff = args.diff.as_deref().map(input::bytes).transpose()?;
    let target_flags = TargetFlags {
        base: args.base,
        uncommitted: args.uncommitted,
        staged: args.staged,
        commit: args.commit,
        diff,
        modes: args.mode.into_iter().map(requested_mode).collect(),
    };
    ParsedTarget::new(&words, target_flags).map_err(|error| {
        let unknown = match &error {
            TargetArgsError::TwoTargets(..) => path_args::unknown_word(&words, environment),
            _ => None,
        };
        match unknown {
            Some(word) => path_args::unknown_word_failure(word, environment),
            None => Failure::new(FailureKind::Usage, error),
        }
    })
}

/// Revisions from before the change that the command line names. If the change deletes a file, only
/// they have it.
fn old_revisions(args: &TargetArgs) -> Vec<String> {
    let parent = args.commit.as_ref().map(|commit| format!("{commit}^"));
    let of_words = args.words.iter().filter_map(|word| {
        let base = word.strip_prefix("base:").map(str::to_owned);
        base.or_else(|| parse_range(word).map(|range| range.from))
    });
    args.base.iter().cloned().chain(parent).chain(of_words).collect()
}

fn requested_mode(mode: ModeArg) -> RequestedMode {
    match mode {
        ModeArg::Interactive => RequestedMode::Interactive,
        ModeArg::Autofix => RequestedMode::Autofix,
        ModeArg::ReportOnly => RequestedMode::ReportOnly,
        ModeArg::Headless => RequestedMode::Headless,
    }
}

/// Whether to include untracked files. Rejects `--include-untracked` for targets without a working
/// tree.
pub(super) fn untracked_policy(
    include_untracked: bool,
    target: &Target,
) -> Result<UntrackedPolicy, Failure> {
    match target {
        _ if !include_untracked => Ok(UntrackedPolicy::Listed),
        Target::CurrentBranch
        | Target::Against(_)
        | Target::Uncommitted
        // If the checkout is ahead of the pull request, crh reviews the checkout.
        | Target::PullRequest(_) => Ok(UntrackedPolicy::Included),
        Target::Staged
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_)
        | Target::Diff(_) => {
            Err(Failure::usage("`--include-untracked` works only for the current branch")
                .hint("remove it, or stage new files with `git add`"))
        }
    }
}

/// The source of a change.
pub(super) struct ChangeSource {
    pub(super) settings: Settings,
    /// Settings with the repository's config from before the change. Equal to `settings` until
    /// [`Self::load_change_settings`] reads it.
    pub(super) settings_before: Settings,
    pub(super) store: Option<Store>,
    /// Base branch that the user's settings name. Without it, crh detects the base, and the config
    /// at that base may name another branch. The config in the checkout cannot set it: otherwise the
    /// change under review could choose its own base.
    base_branch: ResolvedSetting<BaseBranch>,
    /// Config file at the tip of the target branch, even if it is invalid.
    tip_config: Option<ConfigFile>,
    /// Revision whose `.gitattributes` apply.
    pub(super) attributes: AttributesAt,
    /// The pull request or merge proposal.
    proposal: Option<ProposalToFetch>,
}

/// A pull request or merge proposal whose commits must be fetched.
struct ProposalToFetch {
    proposal: ChangeProposal,
    remotes: ProposalRemotes,
    reviewed_head: ReviewedHead,
}

/// Which config file of the repository applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConfigLocation {
    /// The file in the checkout.
    Checkout,
    /// The file at the tip of the target branch, read after the fetch. The checkout may contain the
    /// proposed change, which is untrusted.
    TargetBranchTip,
}

impl ConfigLocation {
    fn for_proposal(pull: Option<&ForgeProposal>) -> Self {
        if pull.is_some() { Self::TargetBranchTip } else { Self::Checkout }
    }
}

/// Revision whose `.gitattributes` apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AttributesAt {
    /// Before the change.
    Old,
    /// After the change.
    #[default]
    New,
    /// The tip of the target branch.
    Commit(String),
}

impl ChangeSource {
    /// Opens the source of a target. crh leaves `output_paths` out of the reviewed working tree.
    pub(super) fn for_target(
        target: &Target,
        pull: Option<&ForgeProposal>,
        environment: &Environment,
        flags: RawSettings,
        output_paths: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        let source = match (target, pull) {
            (_, Some(pull)) if !pull.has_clone => Self::without_clone(pull, environment, flags),
            (Target::Diff(_), _) => Self::for_diff(environment, flags, output_paths),
            (
                Target::CurrentBranch
                | Target::Against(_)
                | Target::Uncommitted
                | Target::Staged
                | Target::Commit(_)
                | Target::Range(_)
                | Target::Named(_)
                | Target::PullRequest(_),
                _,
            ) => Self::in_repository(
                environment,
                flags,
                output_paths,
                ConfigLocation::for_proposal(pull),
            ),
        };
        let proposal = pull.map(|pull| ProposalToFetch {
            proposal: pull.proposal.clone(),
            remotes: pull.remotes.clone(),
            reviewed_head: pull.reviewed_head,
        });
        Ok(Self { proposal, ..source? })
    }

    /// Opens the source of a target and resolves the change. If the commits of an automatically
    /// found pull request cannot be fetched, crh continues without it. If resolving fails because
    /// the private store is damaged, crh deletes the store and tries once more.
    pub(super) fn with_change(
        parsed: &ParsedTarget,
        pull: &mut Option<ForgeProposal>,
        untracked: UntrackedPolicy,
        environment: &Environment,
        flags: &RawSettings,
        output_paths: Vec<PathBuf>,
    ) -> Result<(Self, PinnedChange), Failure> {
        interrupts::watch_ctrl_c()?;
        let resolve = |pull: &mut Option<ForgeProposal>, output_paths| {
            Self::open_and_resolve(parsed, pull, untracked, environment, flags, output_paths)
        };
        let failure = match resolve(pull, output_paths.clone()) {
            Err(failure) if failure.kind == FailureKind::External => failure,
            resolved => return resolved,
        };
        let without_clone = pull.as_ref().filter(|pull| !pull.has_clone);
        let hosted = without_clone.map(|pull| &pull.target_repository);
        let Some(folder) = store::delete_if_damaged(hosted, environment, flags) else {
            return Err(failure);
        };
        // The store borrows objects of the repository. If those are damaged, a new store fails too.
        let resolved = resolve(pull, output_paths).map_err(|_| failure)?;
        ui::warn(&format!(
            "the private object store `{}` was damaged; crh has built it again",
            folder.display()
        ));
        Ok(resolved)
    }

    fn open_and_resolve(
        parsed: &ParsedTarget,
        pull: &mut Option<ForgeProposal>,
        untracked: UntrackedPolicy,
        environment: &Environment,
        flags: &RawSettings,
        output_paths: Vec<PathBuf>,
    ) -> Result<(Self, PinnedChange), Failure> {
        let ParsedTarget { target, mode, .. } = parsed;
        let open = |pull: Option<&ForgeProposal>, output_paths| {
            Self::for_target(target, pull, environment, flags.clone(), output_paths)
        };
        let mut source = open(pull.as_ref(), output_paths.clone())?;
        let root = source.store.as_ref().and_then(|store| store.repository().work_tree.as_deref());
        // Git cannot exclude the files in `.crh` from the change if `.crh` is a symlink, so this
        // check comes first.
        root.map_or(Ok(()), run_lookup::reject_linked_state)?;
        let change = match (source.resolve_change(target, untracked), pull.as_ref()) {
            (
                Err(error @ (TargetError::Forge { .. } | TargetError::MissingObjects(_))),
                Some(proposal),
            ) if proposal.reviewed_head == ReviewedHead::Checkout => {
                forge::note_skipped_lookup(&error.into());
                *pull = None;
                // Releases the lock on the store.
                drop(source);
                source = open(None, output_paths)?;
                source.resolve_change(target, untracked)
            }
            (change, _) => change,
        };
        let pull_forge = pull.as_ref().map(|pull| &pull.forge);
        let to_failure = |error| match (&error, target) {
            (TargetError::NoSuchName(name), Target::Named(word))
                if name == word && !name.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                path_args::unknown_word_failure(name, environment)
            }
            _ => target_failure(error, *mode, pull_forge),
        };
        let mut change = change.map_err(|error| source.base_failure(error, target, to_failure))?;
        if let Some(branch) =
            source.other_branch_set_at_base(target, &change, environment, flags)?
        {
            source.base_branch = branch;
            let resolved = source.resolve_change(target, untracked);
            change = resolved.map_err(|error| source.base_failure(error, target, to_failure))?;
        }
        change.notes.extend(source.ignored_base_note(target));
        Ok((source, change))
    }

    /// The failure of a change that cannot be resolved. If a setting names the missing base branch,
    /// the failure names the setting.
    fn base_failure(
        &self,
        error: TargetError,
        target: &Target,
        to_failure: impl FnOnce(TargetError) -> Failure,
    ) -> Failure {
        let TargetError::Base(BaseError::NoSuchBranch(name)) = &error else {
            return to_failure(error);
        };
        let origins: Vec<String> =
            self.base_branch.origins.iter().map(ToString::to_string).collect();
        if !self.chooses_base(target) || origins.is_empty() {
            return to_failure(error);
        }
        let origins = origins.join(", ");
        Failure::usage(format!(
            "there is no branch `{name}`, which `{origins}` sets as the base branch"
        ))
        .hint("correct the setting `base.branch`, fetch the branch, or pass `--base REF`")
    }

    /// The base branch that the config at the detected base sets, if it is not the branch that crh
    /// used. crh ignores an invalid config.
    fn other_branch_set_at_base(
        &self,
        target: &Target,
        change: &PinnedChange,
        environment: &Environment,
        flags: &RawSettings,
    ) -> Result<Option<ResolvedSetting<BaseBranch>>, Failure> {
        let (Some(store), Some(base)) = (&self.store, &change.base) else { return Ok(None) };
        if !self.chooses_base(target) {
            return Ok(None);
        }
        let objects = store.bare().objects().or_fail(FailureKind::External)?;
        let file = file_at(store.repository(), &objects, base, base).ok().flatten();
        let settings = config::load(environment, file.as_ref(), flags.clone()).ok();
        let branch = settings.map(|settings| settings.base_branch);
        Ok(branch.filter(|branch| branch.value != self.base_branch.value))
    }

    /// Whether crh or a setting chooses the base of the target, and not the command line or a forge.
    fn chooses_base(&self, target: &Target) -> bool {
        match target {
            Target::CurrentBranch | Target::Named(_) => self.proposal.is_none(),
            Target::Against(_)
            | Target::Uncommitted
            | Target::Staged
            | Target::Commit(_)
            | Target::Range(_)
            | Target::PullRequest(_)
            | Target::Diff(_) => false,
        }
    }

    /// A note if the checkout's config names another base branch than crh used.
    fn ignored_base_note(&self, target: &Target) -> Option<String> {
        let name = self.settings.base_branch.value.name()?;
        let is_ignored =
            self.chooses_base(target) && self.settings.base_branch.value != self.base_branch.value;
        is_ignored.then(|| {
            format!(
                "`base.branch = \"{name}\"` of the checkout is ignored, since a change must not choose its base; pass `--base {name}`, or merge the setting first"
            )
        })
    }

    /// Whether the current checkout contains the change. Call this function before
    /// [`Self::load_change_settings`], which releases the store.
    pub(super) fn match_checkout(
        &self,
        parsed: &ParsedTarget,
        change: &PinnedChange,
    ) -> Result<CheckoutMatch, Failure> {
        let Some(store) = &self.store else { return Ok(CheckoutMatch::Different) };
        resolve::match_checkout(store, &parsed.target, change)
            .map_err(|error| target_failure(error, parsed.mode, None))
    }

    /// For a pull request without a local clone. The repository's config is read after the fetch.
    fn without_clone(
        pull: &ForgeProposal,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Self, Failure> {
        let settings = config::load(environment, None, flags)?;
        let store = store::open_without_clone(&settings, &pull.target_repository)?;
        let attributes = AttributesAt::default();
        Ok(Self {
            settings_before: settings.clone(),
            base_branch: settings.base_branch.clone(),
            settings,
            store: Some(store),
            attributes,
            tip_config: None,
            proposal: None,
        })
    }

    /// For a diff file. Inside a repository, crh reads the files of the diff there.
    fn for_diff(
        environment: &Environment,
        flags: RawSettings,
        output_paths: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        if Repository::discover(&environment.folder).is_err() {
            return Self::for_diff_alone(environment, flags);
        }
        let location = ConfigLocation::Checkout;
        Self::in_repository(environment, flags.clone(), output_paths, location).or_else(|failure| {
            let source = Self::for_diff_alone(environment, flags)?;
            let why = crh_review::one_line(&format!("{:#}", failure.error));
            ui::note(&format!("reviewing the diff without the repository: {why}"));
            Ok(source)
        })
    }

    /// For a diff file alone. The config of the current repository applies, if there is one.
    fn for_diff_alone(environment: &Environment, flags: RawSettings) -> Result<Self, Failure> {
        let file = match Repository::discover(&environment.folder) {
            Ok(repository) => repository_file(&repository)?,
            Err(_) => None,
        };
        let settings = config::load(environment, file.as_ref(), flags)?;
        let attributes = AttributesAt::default();
        Ok(Self {
            settings_before: settings.clone(),
            base_branch: ResolvedSetting {
                value: BaseBranch::Detected,
                origins: Vec::new(),
                milder: None,
            },
            settings,
            store: None,
            attributes,
            tip_config: None,
            proposal: None,
        })
    }

    fn in_repository(
        environment: &Environment,
        flags: RawSettings,
        output_paths: Vec<PathBuf>,
        config_location: ConfigLocation,
    ) -> Result<Self, Failure> {
        let mut repository = Repository::discover(&environment.folder)
            .or_fail(FailureKind::Usage)
            .map_err(|failure| {
                failure.hint("run this command inside a repository; to review or check a diff file without one, pass `--diff FILE` to `crh review` or `crh check`")
            })?;
        // Git sets the variable in hooks, for example for `git commit --all`.
        if let Some(index) = environment.variable(INDEX_FILE).filter(|name| !name.is_empty()) {
            repository.index = environment.folder.join(index);
        }
        for path in output_paths {
            repository.excluded.push(canonical_output_path(path, &repository)?);
        }
        if let Some(root) = &repository.work_tree {
            repository.excluded.extend(MARKERS.map(|marker| root.join(marker)));
        }
        // Open the store before reading the repository's config, because this checks that git trusts
        // the repository. A repository cannot set the store folder.
        let store_flags =
            RawSettings { store_folder: flags.store_folder.clone(), ..RawSettings::default() };
        let settings = config::load(environment, None, store_flags)?;
        let mut store = store::open(&settings, &repository)?;
        let file = match config_location {
            ConfigLocation::Checkout => repository_file(&repository)?,
            ConfigLocation::TargetBranchTip => None,
        };
        let user_settings = config::load(environment, None, flags.clone())?;
        let settings = config::load(environment, file.as_ref(), flags)?;
        let todos = todos::own_untracked_files(&repository, settings.todos_dir.value.path());
        store.exclude(todos.or_fail(FailureKind::External)?);
        let attributes = AttributesAt::default();
        Ok(Self {
            settings_before: settings.clone(),
            base_branch: user_settings.base_branch,
            settings,
            store: Some(store),
            attributes,
            tip_config: None,
            proposal: None,
        })
    }

    /// Reads the settings that apply to the change. The author of a committed change may be
    /// untrusted, so the repository's settings come from the config before the change, or at the
    /// tip of a proposal's target branch. The config of the checkout applies if the commits do not
    /// change it. Also releases the store, which is read-only afterwards. Returns notes if the
    /// config at the tip is invalid and therefore ignored, if settings of the change do not apply
    /// to its review, or if a setting of the repository has no effect.
    pub(super) fn load_change_settings(
        &mut self,
        target: &Target,
        change: &PinnedChange,
        objects: Option<&Objects>,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Vec<String>, Failure> {
        let mut notes = Vec::new();
        notes.extend(self.read_change_settings(target, change, objects, environment, flags)?);
        let milder = self.settings.milder_fail_on();
        notes.extend(milder.inspect(|warning| ui::warn(warning)));
        Ok(notes)
    }

    /// Returns a note if settings that the user may expect do not apply.
    fn read_change_settings(
        &mut self,
        target: &Target,
        change: &PinnedChange,
        objects: Option<&Objects>,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Option<String>, Failure> {
        let (Some(store), Some(objects), Some(head)) = (&self.store, objects, &change.head) else {
            return Ok(None);
        };
        store.release().map_err(store::store_failure)?;
        if let Some(proposal) = &change.proposed {
            // The author may be untrusted, so the config comes from the tip of the target branch.
            let tip = &proposal.target_tip;
            let file = file_at(store.repository(), objects, tip, &tip[..12]);
            self.tip_config = file.as_ref().ok().cloned().flatten();
            let (settings, note) = match file
                .and_then(|file| config::load(environment, file.as_ref(), flags.clone()))
            {
                Ok(settings) => (settings, None),
                // An invalid config must not prevent the review of a change that fixes it.
                Err(failure) if failure.kind == FailureKind::Usage => {
                    (config::load(environment, None, flags)?, Some(warn_config_ignored(&failure)))
                }
                Err(failure) => return Err(failure),
            };
            self.settings_before = settings.clone();
            self.settings = settings;
            self.attributes = AttributesAt::Commit(tip.clone());
            return Ok(note);
        }
        // An invalid config must not prevent the review of a change that fixes it.
        let file_before = change.base.as_ref().and_then(|base| {
            file_at(store.repository(), objects, base, &base[..12]).ok().flatten()
        });
        let settings_before = config::load(environment, file_before.as_ref(), flags.clone())
            .or_else(|_| config::load(environment, None, flags.clone()))?;
        match target {
            Target::Commit(_) | Target::Range(_) | Target::Named(_) => {
                let file = file_at(store.repository(), objects, head, &head[..12])?;
                self.settings = config::load(environment, file.as_ref(), flags)?;
            }
            // The commits do not change the config. Uncommitted edits are the user's own, so the
            // settings of the checkout stay.
            Target::CurrentBranch | Target::Against(_)
                if has_config_at_head(store.repository(), objects, file_before.as_ref()) =>
            {
                self.settings_before = settings_before;
                self.attributes = AttributesAt::Old;
                return Ok(None);
            }
            Target::CurrentBranch | Target::Against(_) => {}
            // The author of an uncommitted change runs the review and is trusted.
            Target::Uncommitted | Target::Staged | Target::Diff(_) | Target::PullRequest(_) => {
                self.settings_before = settings_before;
                return Ok(None);
            }
        }
        let note = self.apply_settings_before(&settings_before);
        self.settings_before = settings_before;
        Ok(note)
    }

    /// Replaces the settings after the change by the settings before it. Returns a note if they
    /// differ.
    fn apply_settings_before(&mut self, settings_before: &Settings) -> Option<String> {
        let note = ignored_settings_note(&self.settings, settings_before);
        let milder = self.settings.review_fail_on.milder.take();
        self.settings = settings_before.clone();
        // Keep the warning about a `fail_on` that is milder than the user's: it will have no effect
        // after the merge either.
        self.settings.review_fail_on.milder = milder;
        self.attributes = AttributesAt::Old;
        note.inspect(|note| ui::note(note))
    }

    fn resolve_change(
        &self,
        target: &Target,
        untracked: UntrackedPolicy,
    ) -> Result<PinnedChange, TargetError> {
        let Some(store) = &self.store else {
            return match target {
                Target::Diff(bytes) => resolve::from_diff(bytes.clone()),
                _ => Err(UnsupportedDiff::NoDiff.into()),
            };
        };
        let options = ResolveOptions {
            base_branch: self.base_branch.value.name(),
            network: if self.settings.git_offline.value {
                NetworkMode::Offline
            } else {
                NetworkMode::Online
            },
            untracked,
        };
        match &self.proposal {
            None => resolve::resolve_target(store, target, &options),
            Some(ProposalToFetch { proposal, remotes, reviewed_head }) => {
                resolve::resolve_proposal(
                    store,
                    proposal.clone(),
                    remotes,
                    *reviewed_head,
                    &options,
                )
            }
        }
    }

    pub(super) fn objects(&self) -> Result<Option<Objects>, Failure> {
        let objects = self.store.as_ref().map(|store| store.bare().objects());
        objects.transpose().or_fail(FailureKind::External)
    }

    /// The files to review, and attributes files that could not be read.
    pub(super) fn scope(
        &self,
        diff: &Diff,
        commits: Option<(&str, &str)>,
        objects: Option<&Objects>,
    ) -> Result<(Scope, Vec<UnreadableAttributes>), Failure> {
        decide_scope(&self.settings, diff, commits, objects, &self.attributes)
    }

    /// A warning if the change itself, or the uncommitted config of the checkout, excludes files
    /// from the review.
    pub(super) fn self_exclusion_warning(
        &self,
        scope: &Scope,
        diff: &Diff,
        commits: Option<(&str, &str)>,
        objects: Option<&Objects>,
    ) -> Result<Option<String>, Failure> {
        let are_settings_unchanged = self.settings.scope_exclude.value
            == self.settings_before.scope_exclude.value
            && self.settings.scope_include.value == self.settings_before.scope_include.value
            && self.settings.scope_generated.value == self.settings_before.scope_generated.value
            && self.settings.scope_max_file_bytes.value
                == self.settings_before.scope_max_file_bytes.value;
        let is_attributes = |file: &FileDiff| {
            file.path.as_bytes().rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes")
        };
        if are_settings_unchanged && !diff.files().iter().any(is_attributes) {
            return Ok(None);
        }
        let (scope_before, _) =
            decide_scope(&self.settings_before, diff, commits, objects, &AttributesAt::Old)?;
        let pairs = scope.files.iter().zip(&scope_before.files);
        let excluded =
            pairs.filter_map(|(file, before)| match (&file.decision, &before.decision) {
                (ScopeDecision::Out(reason), ScopeDecision::In) => {
                    Some(format!("`{}` ({})", file.path.shown(), reason.sentence()))
                }
                (
                    ScopeDecision::In | ScopeDecision::Out(_),
                    ScopeDecision::In | ScopeDecision::Out(_),
                ) => None,
            });
        let mut excluded: Vec<String> = excluded.collect();
        let more_count = excluded.len().saturating_sub(EXCLUDED_SHOWN_MAX);
        excluded.truncate(EXCLUDED_SHOWN_MAX);
        let more_text =
            if more_count > 0 { format!(" and {more_count} more") } else { String::new() };
        let file_list = Some(excluded.join(", ")).filter(|list| !list.is_empty());
        Ok(file_list.map(|list| {
            format!(
                "settings or attributes that are missing at the base exclude files from this review: {list}{more_text}"
            )
        }))
    }

    /// What the maintainers decided on the target branch: dismissed issues, config, baseline and
    /// lessons. Call this function after
    /// [`Self::load_change_settings`], which reads the config at the tip.
    pub(super) fn branch_policy(
        &self,
        pull: &ForgeProposal,
        change: &PinnedChange,
    ) -> Result<Option<BranchPolicy>, Failure> {
        let (Some(store), Some(proposal)) = (&self.store, &change.proposed) else {
            return Ok(None);
        };
        Ok(Some(BranchPolicy {
            dismissed: pull.dismissals(self.settings.instance.value.as_str()),
            settings: self.tip_config.as_ref().map(|file| file.text.clone().into_bytes()),
            baseline: BaselineAt::Commit(store.bare(), &proposal.target_tip).bytes()?,
            lessons: lessons_at(store.bare(), &proposal.target_tip)?.map(String::into_bytes),
            tip: Some(proposal.target_tip.clone()),
        }))
    }

    /// Ids of the git objects that hold the attributes of the changed files at the tip of the
    /// target branch. Attributes decide which files are reviewed.
    pub(super) fn attribute_objects(
        change: &PinnedChange,
        policy: Option<&BranchPolicy>,
        objects: Option<&Objects>,
    ) -> Result<BTreeSet<String>, Failure> {
        let tip = policy.and_then(|policy| policy.tip.as_deref());
        let (Some(tip), Some(objects)) = (tip, objects) else { return Ok(BTreeSet::new()) };
        let both_paths = |file: &'_ FileDiff| [Some(file.path.clone()), file.old_path.clone()];
        let paths: Vec<RepoPath> =
            change.diff.files().iter().flat_map(both_paths).flatten().collect();
        let paths = paths.iter().map(RepoPath::as_bytes);
        crh_git::attribute_objects(objects, tip, paths).or_fail(FailureKind::External)
    }

    pub(super) fn bundle(
        &self,
        commits: Option<&(String, String)>,
        extra_objects: &BTreeSet<String>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let (Some(store), Some((base, head))) = (&self.store, commits) else { return Ok(None) };
        let bundle = crh_git::create_bundle(store.bare(), base, head, extra_objects);
        let bundle = bundle.map(Some).or_fail(FailureKind::External);
        if self.settings.git_offline.value {
            // A partial clone may lack objects of earlier commits.
            bundle.map_err(|failure| failure.hint("remove `--offline`"))
        } else {
            bundle
        }
    }
}

/// The files to review by these settings and attributes, and attributes files that could not be
/// read.
pub(super) fn decide_scope(
    settings: &Settings,
    diff: &Diff,
    commits: Option<(&str, &str)>,
    objects: Option<&Objects>,
    attributes: &AttributesAt,
) -> Result<(Scope, Vec<UnreadableAttributes>), Failure> {
    let globs = |list: &config::value::GlobList| {
        PathGlobs::new(list.0.iter().map(config::value::GlobPattern::as_str))
            .or_fail(FailureKind::Usage)
    };
    let rules = ScopeRules {
        paths: globs(&settings.scope_paths.value)?,
        exclude: globs(&settings.scope_exclude.value)?,
        include: globs(&settings.scope_include.value)?,
        generated: globs(&settings.scope_generated.value)?,
        max_file_bytes: settings.scope_max_file_bytes.value.get(),
        strict: settings.scope_strict.value,
    };
    let (Some(objects), Some((base, head))) = (objects, commits) else {
        return Ok((scope::decide_scope(diff, &DiffOnly, &rules), Vec::new()));
    };
    let attributes = match attributes {
        AttributesAt::Old => base,
        AttributesAt::New => head,
        AttributesAt::Commit(commit) => commit,
    };
    let files = RepositoryFiles::new(objects, base, head, attributes, diff);
    let files = files.or_fail(FailureKind::External)?;
    let describe = |(path, error): &(Vec<u8>, ReadError)| {
        (String::from_utf8_lossy(path).into_owned(), error.to_string())
    };
    let unreadable = files.unreadable_attributes().iter().map(describe).collect();
    Ok((scope::decide_scope(diff, &files, &rules), unreadable))
}

/// Whether HEAD has `crh.toml` with the expected text, or lacks it if `expected` is `None`. True
/// before the first commit.
fn has_config_at_head(
    repository: &Repository,
    objects: &Objects,
    expected: Option<&ConfigFile>,
) -> bool {
    let Some(head) = repository.commit("HEAD") else { return true };
    let file = file_at(repository, objects, &head, "HEAD");
    file.is_ok_and(|file| file.map(|file| file.text) == expected.map(|file| file.text.clone()))
}

/// The base that a review of the current branch uses, without a request to a remote. Only the
/// user's own settings and the config at the base choose it.
pub(super) fn find_configured_base(
    store: &Store,
    head: &str,
    user_branch: Option<&str>,
    environment: &Environment,
) -> Result<Base, BaseError> {
    let base = find_base_offline(store, head, user_branch)?;
    let file = store.bare().objects().ok().and_then(|objects| {
        file_at(store.repository(), &objects, &base.commit, &base.commit).ok().flatten()
    });
    let settings = config::load(environment, file.as_ref(), RawSettings::default()).ok();
    match settings.as_ref().and_then(|settings| settings.base_branch.value.name()) {
        Some(branch) if user_branch != Some(branch) => find_base_offline(store, head, Some(branch)),
        Some(_) | None => Ok(base),
    }
}

fn find_base_offline(store: &Store, head: &str, branch: Option<&str>) -> Result<Base, BaseError> {
    let reviewed = store.repository().branch();
    let (repository, network) = (None, NetworkMode::Offline);
    let request = BaseRequest { branch, repository, reviewed_branch: reviewed.as_deref(), network };
    crh_git::find_base(store, head, &request)
}

/// A note on the settings that a change edits and that do not apply to its own review. `None` if
/// the change edits no setting.
fn ignored_settings_note(settings: &Settings, before: &Settings) -> Option<String> {
    let is_changed = |key: &&ConfigKey| (key.resolved)(settings).0 != (key.resolved)(before).0;
    let changed = KEYS.iter().filter(is_changed).map(|key| format!("`{}`", key.spec.path()));
    let changed: Vec<String> = changed.collect();
    (!changed.is_empty()).then(|| {
        format!(
            "this change edits settings of crh; its own review still uses the earlier values of {}",
            changed.join(", ")
        )
    })
}

/// Warns that the repository's config is ignored.
pub(super) fn warn_config_ignored(failure: &Failure) -> String {
    let reason = crh_review::one_line(&format!("{:#}", failure.error));
    let note = format!("ignoring the repository's settings: {reason}");
    ui::warn(&note);
    note
}

/// Canonical output path. Rejects paths inside the git directory.
fn canonical_output_path(path: PathBuf, repository: &Repository) -> Result<PathBuf, Failure> {
    let parent = path.parent().and_then(|parent| canonical(parent).ok());
    let path = match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        (_, _) => path,
    };
    if path.starts_with(&repository.git_dir) || path.starts_with(&repository.common_dir) {
        return Err(Failure::usage(format!("`{}` is inside the git directory", path.display()))
            .hint("write to another path"));
    }
    Ok(path)
}

/// Prints notes about the change, and which untracked files are not reviewed.
pub(super) fn print_notes(change: &PinnedChange) {
    if !change.untracked.is_empty() {
        let (listed, unlisted) =
            change.untracked.split_at(change.untracked.len().min(UNTRACKED_SHOWN_MAX));
        let names = escape_newlines(&listed.join("`, `"));
        let more_text = if unlisted.is_empty() {
            String::new()
        } else {
            format!(" and {} more", unlisted.len())
        };
        let them = if change.untracked.len() == 1 { "it" } else { "them" };
        ui::warn(&format!(
            "not reviewed because untracked: `{names}`{more_text} (`git add` {them}, or pass `--include-untracked`)"
        ));
    }
    for note in &change.notes {
        ui::note(note);
    }
}

/// Escapes newlines. A newline in a file name could imitate an output line of crh.
fn escape_newlines(names: &str) -> String {
    names.replace('\n', "\\n")
}
