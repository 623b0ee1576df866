//! What a change is looked up in: the repository the user is in with its settings and private store, or a diff alone.

#[path = "change_source/target_failure.rs"]
mod failed;

use std::collections::BTreeSet;
use std::path::PathBuf;

pub(super) use failed::failed;
use serde::{Deserialize, Serialize};

use super::forge::Submission;
use super::repository_file::{file_at, repository_file};
use super::review::checks::BaselineAt;
use super::{forge, interrupts, store};
use crate::cli::{ModeArg, TargetArgs};
use crate::config::environment::{Environment, INDEX_FILE};
use crate::config::file::ConfigFile;
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::Branch;
use crate::failure::{Failure, Kind, OrFail};
use crate::{config, fix, input, ui};
use crh_forge::Proposal;
use crh_git::{Globs, Network, Objects, ReadError, Repository, Store};
use crh_pipeline::asked::{Asked, Flags, Mode, Target};
use crh_pipeline::pack::Decided;
use crh_pipeline::scope::{Decision, DiffAlone, RepositoryFiles, Rules, Scope};
use crh_pipeline::target::{
    Change, CheckedOut, Lookup, Origins, TargetError, UnderReview, Untracked,
};
use crh_pipeline::{scope, target};
use crh_review::diff::{Diff, FileDiff, RepoPath};

/// How many files that are left out are named in the warning: as many as fit on a screen. The summary has all.
const UNTRACKED_NAMED: usize = 20;

/// How many files are named that a change itself leaves out. The coverage has all.
const LEFT_OUT_NAMED: usize = 5;

/// A file of attributes that could not be read, and why.
pub(super) type Unread = (String, String);

/// What the words and flags ask for.
pub(super) fn asked(args: TargetArgs) -> Result<Asked, Failure> {
    let diff = args.diff.as_deref().map(input::bytes).transpose()?;
    let flags = Flags {
        base: args.base,
        uncommitted: args.uncommitted,
        staged: args.staged,
        commit: args.commit,
        diff,
        modes: args.mode.into_iter().map(asked_mode).collect(),
    };
    Asked::new(&args.words, flags).or_fail(Kind::Usage)
}

fn asked_mode(mode: ModeArg) -> Mode {
    match mode {
        ModeArg::Interactive => Mode::Interactive,
        ModeArg::Autofix => Mode::Autofix,
        ModeArg::ReportOnly => Mode::ReportOnly,
        ModeArg::Headless => Mode::Headless,
    }
}

/// What becomes of files that git does not know, where there can be any.
pub(super) fn untracked(is_asked_for: bool, target: &Target) -> Result<Untracked, Failure> {
    match target {
        _ if !is_asked_for => Ok(Untracked::Named),
        Target::CurrentBranch
        | Target::Against(_)
        | Target::Uncommitted
        // Where the checkout goes on from it.
        | Target::PullRequest(_) => Ok(Untracked::Included),
        Target::Staged
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_)
        | Target::Diff(_) => {
            Err(Failure::usage("`--include-untracked` is for the current branch alone")
                .hint("leave it out; `git add` stages a new file"))
        }
    }
}

/// What a change is looked up in.
pub(super) struct Opened {
    pub(super) settings: Settings,
    /// The settings as they were before the change.
    pub(super) before: Settings,
    pub(super) store: Option<Store>,
    /// The settings of the branch that the change is proposed to, whether they can be used or not.
    of_tip: Option<ConfigFile>,
    /// Whose attributes say which files are reviewed.
    pub(super) attributes: AttributesAt,
    /// What the change is proposed in.
    pull: Option<Proposed>,
}

/// What is proposed at a forge, and its commits are to be fetched.
struct Proposed {
    proposal: Proposal,
    origins: Origins,
    under_review: UnderReview,
}

/// Which settings of the repository count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OwnSettings {
    /// Those of the checkout.
    OfCheckout,
    /// Those of the branch that the change is proposed to, which are read when its commits are here. What is checked out may be
    /// what a stranger proposes.
    OfTip,
}

impl OwnSettings {
    fn of(pull: Option<&Submission>) -> Self {
        if pull.is_some() { Self::OfTip } else { Self::OfCheckout }
    }
}

/// Whose attributes count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AttributesAt {
    /// Those before the change.
    Old,
    /// Those after it.
    #[default]
    New,
    /// Those of a commit: the tip of the branch that the change is proposed to.
    Commit(String),
}

impl Opened {
    /// Opens what a target is looked up in. `places` are those that will be written, which are no part of a checkout.
    pub(super) fn for_target(
        target: &Target,
        pull: Option<&Submission>,
        environment: &Environment,
        flags: RawSettings,
        places: Vec<PathBuf>,
    ) -> Result<Self, Failure> {
        let opened = match (target, pull) {
            (_, Some(pull)) if !pull.has_clone => Self::alone(pull, environment, flags),
            (Target::Diff(_), _) => Self::without_repository(environment, flags),
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
            ) => Self::in_repository(environment, flags, places, OwnSettings::of(pull)),
        };
        let proposed = pull.map(|pull| Proposed {
            proposal: pull.proposal.clone(),
            origins: pull.origins.clone(),
            under_review: pull.under_review,
        });
        Ok(Self { pull: proposed, ..opened? })
    }

    /// Opens what a target is looked up in, and pins the change. A pull request that nobody named is left out if its commits
    /// cannot be had.
    pub(super) fn with_change(
        asked: &Asked,
        pull: &mut Option<Submission>,
        untracked: Untracked,
        environment: &Environment,
        flags: &RawSettings,
        places: Vec<PathBuf>,
    ) -> Result<(Self, Change), Failure> {
        let Asked { target, mode, .. } = asked;
        interrupts::watch_fetches()?;
        let open = |pull: Option<&Submission>, places| {
            Self::for_target(target, pull, environment, flags.clone(), places)
        };
        let mut opened = open(pull.as_ref(), places.clone())?;
        let change = match (opened.change(target, untracked), pull.as_ref()) {
            (Err(error @ (TargetError::Forge { .. } | TargetError::Missing(_))), Some(found))
                if found.under_review == UnderReview::Checkout =>
            {
                forge::left_out(&error.into());
                *pull = None;
                // Its store is in use as long as it is there.
                drop(opened);
                opened = open(None, places)?;
                opened.change(target, untracked)
            }
            (change, _) => change,
        };
        let at = pull.as_ref().map(|pull| &pull.at);
        Ok((opened, change.map_err(|error| failed(error, *mode, at))?))
    }

    /// Whether the checkout that the user is in has a change. To be asked before the store is released.
    pub(super) fn checked_out(
        &self,
        asked: &Asked,
        change: &Change,
    ) -> Result<CheckedOut, Failure> {
        let Some(store) = &self.store else { return Ok(CheckedOut::No) };
        target::checked_out(store, &asked.target, change)
            .map_err(|error| failed(error, asked.mode, None))
    }

    /// For a pull request of a repository that has no clone here. Its own settings are read when its commits are here.
    fn alone(
        pull: &Submission,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Self, Failure> {
        let settings = config::load(environment, None, flags)?;
        let store = store::alone(&settings, &pull.place)?;
        let attributes = AttributesAt::default();
        Ok(Self {
            before: settings.clone(),
            settings,
            store: Some(store),
            attributes,
            of_tip: None,
            pull: None,
        })
    }

    /// For a diff that was handed in. It has no repository, but the settings of the one that the user is in count, if
    /// they are in one.
    fn without_repository(environment: &Environment, flags: RawSettings) -> Result<Self, Failure> {
        let file = match Repository::discover(&environment.folder) {
            Ok(repository) => repository_file(&repository)?,
            Err(_) => None,
        };
        let settings = config::load(environment, file.as_ref(), flags)?;
        let attributes = AttributesAt::default();
        Ok(Self {
            before: settings.clone(),
            settings,
            store: None,
            attributes,
            of_tip: None,
            pull: None,
        })
    }

    fn in_repository(
        environment: &Environment,
        flags: RawSettings,
        places: Vec<PathBuf>,
        own: OwnSettings,
    ) -> Result<Self, Failure> {
        let mut repository = Repository::discover(&environment.folder)
            .or_fail(Kind::Usage)
            .map_err(|failure| failure.hint("go into one, or hand in a diff with `--diff FILE`"))?;
        // Set inside hooks: `git commit --all` works with an index of its own.
        if let Some(index) = environment.variable(INDEX_FILE).filter(|name| !name.is_empty()) {
            repository.index = environment.folder.join(index);
        }
        for place in places {
            repository.ours.push(outside_git(place, &repository)?);
        }
        if let Some(root) = &repository.work_tree {
            repository.ours.extend(fix::journal::MARKERS.map(|marker| root.join(marker)));
        }
        // Where the store is has nothing to do with the repository's own settings; and opening it asks git whether
        // it trusts the repository.
        let of_store =
            RawSettings { store_folder: flags.store_folder.clone(), ..RawSettings::default() };
        let settings = config::load(environment, None, of_store)?;
        let store = store::open(&settings, &repository)?;
        let file = match own {
            OwnSettings::OfCheckout => repository_file(&repository)?,
            OwnSettings::OfTip => None,
        };
        let settings = config::load(environment, file.as_ref(), flags)?;
        let attributes = AttributesAt::default();
        Ok(Self {
            before: settings.clone(),
            settings,
            store: Some(store),
            attributes,
            of_tip: None,
            pull: None,
        })
    }

    /// Reads the settings where they belong to the change: a commit that was named brings its own, whatever is checked out. What
    /// silences findings or leaves files out comes from before the change, unless it is not committed: it may be a stranger's.
    /// Nothing is written to the store after this. The reader must know of settings that do not count, since they cannot be used.
    pub(super) fn settle(
        &mut self,
        target: &Target,
        change: &Change,
        objects: Option<&Objects>,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Option<String>, Failure> {
        let (Some(store), Some(objects), Some(head)) = (&self.store, objects, &change.head) else {
            return Ok(None);
        };
        store.release().map_err(store::failed)?;
        if let Some(proposed) = &change.proposed {
            // Whoever proposes it may be a stranger: the tip of the branch that it is proposed to says everything.
            let tip = &proposed.tip;
            let file = file_at(store.repository(), objects, tip, &tip[..12]);
            self.of_tip = file.as_ref().ok().cloned().flatten();
            let (settings, note) = match file
                .and_then(|file| config::load(environment, file.as_ref(), flags.clone()))
            {
                Ok(settings) => (settings, None),
                // Or a change that mends them could not be reviewed.
                Err(failure) if failure.kind == Kind::Usage => {
                    (config::load(environment, None, flags)?, Some(unusable(&failure)))
                }
                Err(failure) => return Err(failure),
            };
            self.before = settings.clone();
            self.settings = settings;
            self.attributes = AttributesAt::Commit(tip.clone());
            return Ok(note);
        }
        // A file that cannot be used has no say here, or a change that mends it could not be reviewed.
        let before = change.base.as_ref().and_then(|base| {
            file_at(store.repository(), objects, base, &base[..12]).ok().flatten()
        });
        let before = config::load(environment, before.as_ref(), flags.clone())
            .or_else(|_| config::load(environment, None, flags.clone()))?;
        match target {
            Target::Commit(_) | Target::Range(_) | Target::Named(_) => {
                let file = file_at(store.repository(), objects, head, &head[..12])?;
                self.settings = config::load(environment, file.as_ref(), flags)?;
                self.hold_against(&before);
            }
            Target::CurrentBranch | Target::Against(_) => self.hold_against(&before),
            // Not committed: the author and the reader are one.
            Target::Uncommitted | Target::Staged | Target::Diff(_) | Target::PullRequest(_) => {}
        }
        self.before = before;
        Ok(None)
    }

    /// Takes what a change must not say of itself from before it.
    fn hold_against(&mut self, before: &Settings) {
        let Settings { checks_ignore, scope_exclude, scope_include, .. } = before;
        self.settings.checks_ignore = checks_ignore.clone();
        self.settings.scope_exclude = scope_exclude.clone();
        self.settings.scope_include = scope_include.clone();
        self.settings.scope_generated = before.scope_generated.clone();
        self.attributes = AttributesAt::Old;
        self.settings.scope_max_file_bytes = before.scope_max_file_bytes.clone();
        self.settings.review_depth = before.review_depth.clone();
        self.settings.reviewers_off = before.reviewers_off.clone();
    }

    fn change(&self, target: &Target, untracked: Untracked) -> Result<Change, TargetError> {
        let Some(store) = &self.store else {
            return match target {
                Target::Diff(bytes) => target::from_diff(bytes.clone()),
                _ => Err(TargetError::NotADiff),
            };
        };
        let lookup = Lookup {
            base_branch: match &self.settings.base_branch.value {
                Branch::Named(name) => Some(name),
                Branch::Detected => None,
            },
            network: if self.settings.git_offline.value {
                Network::Offline
            } else {
                Network::Online
            },
            untracked,
        };
        match &self.pull {
            None => target::change(store, target, &lookup),
            Some(Proposed { proposal, origins, under_review }) => {
                target::proposed(store, proposal.clone(), origins, *under_review, &lookup)
            }
        }
    }

    pub(super) fn objects(&self) -> Result<Option<Objects>, Failure> {
        let objects = self.store.as_ref().map(|store| store.bare().objects());
        objects.transpose().or_fail(Kind::Outside)
    }

    /// Which files of the change are reviewed, and which attributes could not be read.
    pub(super) fn scope(
        &self,
        diff: &Diff,
        ends: Option<(&str, &str)>,
        objects: Option<&Objects>,
    ) -> Result<(Scope, Vec<Unread>), Failure> {
        scope_of(&self.settings, diff, ends, objects, &self.attributes)
    }

    /// What the reader must be told: files that are left out by what this change itself adds to the settings or to attributes.
    pub(super) fn left_out_by_itself(
        &self,
        scope: &Scope,
        diff: &Diff,
        ends: Option<(&str, &str)>,
        objects: Option<&Objects>,
    ) -> Result<Option<String>, Failure> {
        let is_same = self.settings.scope_exclude.value == self.before.scope_exclude.value
            && self.settings.scope_include.value == self.before.scope_include.value
            && self.settings.scope_generated.value == self.before.scope_generated.value
            && self.settings.scope_max_file_bytes.value == self.before.scope_max_file_bytes.value;
        let is_attributes = |file: &FileDiff| {
            file.path.as_bytes().rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes")
        };
        if is_same && !diff.files().iter().any(is_attributes) {
            return Ok(None);
        }
        let (before, _) = scope_of(&self.before, diff, ends, objects, &AttributesAt::Old)?;
        let pairs = scope.files.iter().zip(&before.files);
        let lost = pairs.filter_map(|(now, before)| match (&now.decision, &before.decision) {
            (Decision::Out(reason), Decision::In) => {
                Some(format!("`{}` ({})", now.path.shown(), reason.sentence()))
            }
            (Decision::In | Decision::Out(_), Decision::In | Decision::Out(_)) => None,
        });
        let mut lost: Vec<String> = lost.collect();
        let more = lost.len().saturating_sub(LEFT_OUT_NAMED);
        lost.truncate(LEFT_OUT_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let lost = Some(lost.join(", ")).filter(|lost| !lost.is_empty());
        Ok(lost.map(|lost| {
            format!("left out of the review by what this change itself adds: {lost}{more}")
        }))
    }

    /// What those say about reviews who decide about the repository that a change is proposed to. The settings have to be
    /// settled.
    pub(super) fn decided(
        &self,
        pull: &Submission,
        change: &Change,
    ) -> Result<Option<Decided>, Failure> {
        let (Some(store), Some(proposed)) = (&self.store, &change.proposed) else {
            return Ok(None);
        };
        Ok(Some(Decided {
            dismissed: pull.dismissed(self.settings.instance.value.as_str()),
            settings: self.of_tip.as_ref().map(|file| file.text.clone().into_bytes()),
            baseline: BaselineAt::Commit(store.bare(), &proposed.tip).bytes()?,
            tip: Some(proposed.tip.clone()),
        }))
    }

    /// The objects at the tip that a change was decided about which say which of its files are reviewed.
    pub(super) fn attribute_objects(
        change: &Change,
        decided: Option<&Decided>,
        objects: Option<&Objects>,
    ) -> Result<BTreeSet<String>, Failure> {
        let tip = decided.and_then(|decided| decided.tip.as_deref());
        let (Some(tip), Some(objects)) = (tip, objects) else { return Ok(BTreeSet::new()) };
        let of_file = |file: &'_ FileDiff| [Some(file.path.clone()), file.old_path.clone()];
        let paths: Vec<RepoPath> = change.diff.files().iter().flat_map(of_file).flatten().collect();
        let paths = paths.iter().map(RepoPath::as_bytes);
        crh_git::attribute_objects(objects, tip, paths).or_fail(Kind::Outside)
    }

    pub(super) fn bundle(
        &self,
        ends: Option<&(String, String)>,
        also: &BTreeSet<String>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let (Some(store), Some((base, head))) = (&self.store, ends) else { return Ok(None) };
        let bundle = crh_git::bundle(store.bare(), base, head, also);
        let bundle = bundle.map(Some).or_fail(Kind::Outside);
        if self.settings.git_offline.value {
            // A partial clone has both ends, but not all that lies before them.
            bundle.map_err(|failure| failure.hint("leave `--offline` out"))
        } else {
            bundle
        }
    }
}

/// Which files of a diff are reviewed by these settings and the attributes of one side, and which attributes could not be read.
pub(super) fn scope_of(
    settings: &Settings,
    diff: &Diff,
    ends: Option<(&str, &str)>,
    objects: Option<&Objects>,
    attributes: &AttributesAt,
) -> Result<(Scope, Vec<Unread>), Failure> {
    let globs = |list: &config::value::Globs| {
        Globs::new(list.0.iter().map(config::value::Glob::as_str)).or_fail(Kind::Usage)
    };
    let rules = Rules {
        exclude: globs(&settings.scope_exclude.value)?,
        include: globs(&settings.scope_include.value)?,
        generated: globs(&settings.scope_generated.value)?,
        max_file_bytes: settings.scope_max_file_bytes.value.get(),
    };
    let (Some(objects), Some((base, head))) = (objects, ends) else {
        return Ok((scope::scope(diff, &DiffAlone, &rules), Vec::new()));
    };
    let attributes = match attributes {
        AttributesAt::Old => base,
        AttributesAt::New => head,
        AttributesAt::Commit(commit) => commit,
    };
    let files = RepositoryFiles::new(objects, base, head, attributes, diff);
    let files = files.or_fail(Kind::Outside)?;
    let shown = |(path, why): &(Vec<u8>, ReadError)| {
        (String::from_utf8_lossy(path).into_owned(), why.to_string())
    };
    let unread = files.unread().iter().map(shown).collect();
    Ok((scope::scope(diff, &files, &rules), unread))
}

/// Says that settings do not count.
pub(super) fn unusable(failure: &Failure) -> String {
    let why = ui::on_one_line(&format!("{:#}", failure.error));
    let note = format!("the settings of the repository do not count: {why}");
    ui::warn(&note);
    note
}

/// A place to write to as it will be called, if it is not one of git's own.
fn outside_git(place: PathBuf, repository: &Repository) -> Result<PathBuf, Failure> {
    let parent = place.parent().and_then(|parent| parent.canonicalize().ok());
    let place = match (parent, place.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        (_, _) => place,
    };
    if place.starts_with(&repository.git_dir) || place.starts_with(&repository.common_dir) {
        return Err(Failure::usage(format!("`{}` is git's own place", place.display()))
            .hint("write somewhere else"));
    }
    Ok(place)
}

/// Says first what is not part of the review.
pub(super) fn tell(change: &Change) {
    if !change.untracked.is_empty() {
        let (named, more) = change.untracked.split_at(change.untracked.len().min(UNTRACKED_NAMED));
        let names = on_one_line(&named.join("`, `"));
        let more =
            if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        ui::warn(&format!(
            "not part of the review, since git does not know them: `{names}`{more} (`git add` them, or `--include-untracked`)"
        ));
    }
    for note in &change.notes {
        ui::note(note);
    }
}

/// A name with a line end in it could say what looks like a line of ours.
fn on_one_line(names: &str) -> String {
    names.replace('\n', "\\n")
}
