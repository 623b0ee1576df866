//! What is to be reviewed, pinned: a target of the user's repository, a workspace or an archive that was prepared, or
//! the workspace of a run that was begun.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::forge::Submission;
use super::super::opened::{AttributesAt, Opened};
use super::super::{opened, tool};
use super::checks::{BaselineAt, Silencing};
use super::naming;
use super::resumed::{ANEW, Resumed};
use crate::cli::{PreparedArgs, SarifFlags};
use crate::config;
use crate::config::environment::Environment;
use crate::config::file::{ConfigFile, REPOSITORY_FILE};
use crate::config::keys::{RawSettings, Settings};
use crate::config::value::{Glob, Globs};
use crate::failure::{Failure, Kind, OrFail};
use crh_git::{Bare, Entry};
use crh_pipeline::asked::{Asked, Target};
use crh_pipeline::checks::Work;
use crh_pipeline::dismissed::SaidNo;
use crh_pipeline::pack::{Decided, Packed};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::scope::Scope;
use crh_pipeline::subject::Subject;
use crh_pipeline::target::{Change, CheckedOut, Untracked};
use crh_pipeline::terms::Crew;
use crh_pipeline::tools::{Bench, ToolError};
use crh_pipeline::workspace::{Contents, Workspace};
use crh_pipeline::{prepare, workspace};
use crh_review::diff::Diff;
use crh_review::report;

/// Where the objects of a run are that goes on.
const OF_RUN: &str = "`--repo DIR` names the repository of the run, `--packed FILE` its archive";

/// What is to be reviewed, and by which settings.
pub(super) struct Pinned {
    pub(super) settings: Settings,
    pub(super) change: report::Change,
    pub(super) scope: Scope,
    pub(super) notes: Vec<String>,
    untracked: Vec<String>,
    source: Source,
    objects: Option<(Bare, String, String)>,
    /// The checkout that has the reviewed files, if it is the one under review.
    pub(super) checkout: Option<PathBuf>,
    pub(super) checked_out: CheckedOut,
    pub(super) silencing: Silencing,
    pub(super) origin: Origin,
    /// The issues that were dismissed at the forge, and by whom.
    pub(super) dismissed: Vec<SaidNo>,
    /// Whose attributes say which files are reviewed.
    attributes: AttributesAt,
    /// The store of a repository that has no clone here.
    alone: Option<PathBuf>,
    /// An archive is laid out in a folder that is gone when this is.
    pub(super) packed: Option<Packed>,
}

/// What was found out about a change when its review began. A run keeps it, since it may be different when the run goes
/// on: the checkout has changed, and with it what it says about its files.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Found {
    change: report::Change,
    notes: Vec<String>,
    untracked: Vec<String>,
    checkout: Option<PathBuf>,
    #[serde(default)]
    checked_out: CheckedOut,
    exclude: Vec<String>,
    include: Vec<String>,
    generated: Vec<String>,
    max_file_bytes: NonZeroU64,
    silencing: Silencing,
    /// The files of other tools, which are read again.
    pub(super) sarif: Vec<PathBuf>,
    pub(super) sarif_base: Vec<PathBuf>,
    origin: Origin,
    #[serde(default)]
    attributes: AttributesAt,
    #[serde(default)]
    alone: Option<PathBuf>,
    #[serde(default)]
    dismissed: Vec<SaidNo>,
    /// Who was asked, as the review's id has it; empty if no model was.
    #[serde(default)]
    pub(super) models: String,
}

impl Found {
    /// The same, of a review that asks these models.
    pub(super) fn asking(self, crew: Option<&Crew>) -> Self {
        Self { models: crew.map(Crew::names).unwrap_or_default(), ..self }
    }

    /// Whether it is about the checkout that it was reviewed in.
    pub(super) fn is_of_checkout(&self) -> bool {
        self.checkout.is_some()
    }

    /// The same, with something done to the title of the change, which its author has written.
    pub(super) fn with_title(mut self, act: impl FnOnce(&mut String)) -> Self {
        act(&mut self.change.title);
        self
    }
}

/// Where a change comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// From the repository that the user is in.
    Repository,
    /// From a forge, where anybody may propose one: where the user stands says nothing about it.
    Forge,
    /// It was prepared, perhaps by somebody else: where the user stands says nothing about it.
    Prepared,
}

/// Where the workspace comes from.
enum Source {
    /// It is written.
    Contents(Box<Contents>),
    /// It is there, and copied, since a review leaves marks in it.
    Folder(PathBuf),
    /// It is there, and belongs to the run that goes on.
    OfRun(PathBuf),
}

impl Pinned {
    /// Pins a target. `runs` is where run folders lie: they are no part of a checkout. `heard` is given the change as soon
    /// as it is known, to tell of it or to describe it. `pull` is the pull request that it is proposed in; none after this if it
    /// was only found, and cannot be had.
    pub(super) fn target(
        asked: &Asked,
        pull: &mut Option<Submission>,
        untracked: Untracked,
        environment: &Environment,
        flags: RawSettings,
        runs: Option<&Path>,
        heard: impl FnOnce(&mut Change),
    ) -> Result<Self, Failure> {
        let places = runs.into_iter().map(Path::to_owned).collect();
        let (mut opened, mut change) =
            Opened::with_change(asked, pull, untracked, environment, &flags, places)?;
        heard(&mut change);
        let objects = opened.objects()?;
        let checked_out = opened.checked_out(asked, &change)?;
        let unusable =
            opened.settle(&asked.target, &change, objects.as_ref(), environment, flags)?;
        let ends = change.base.clone().zip(change.head.clone());
        let shown = ends.as_ref().map(|(base, head)| (base.as_str(), head.as_str()));
        let (scope, unread) = opened.scope(&change.diff, shown, objects.as_ref())?;
        let lost = opened.left_out_by_itself(&scope, &change.diff, shown, objects.as_ref())?;
        let facts = naming::of_repository(&change, &opened)?;
        let tip = change.proposed.as_ref().map(|proposed| proposed.tip.clone());
        let (untracked, mut notes) = (change.untracked.clone(), change.notes.clone());
        notes.extend(unusable);
        notes.extend(lost);
        let (contents, more) =
            prepare::contents(change, objects.as_ref()).or_fail(Kind::Outside)?;
        notes.extend(more);
        notes.extend(unread.into_iter().map(unread_attributes));
        let bare = opened.store.as_ref().map(|store| store.bare().clone());
        let root = opened.store.as_ref().and_then(|store| store.repository().work_tree.clone());
        let checkout = root.filter(|_| checked_out == CheckedOut::AsReviewed);
        let folder = bare.as_ref().map(|bare| bare.folder().to_owned());
        let objects = bare.zip(ends).map(|(bare, (base, head))| (bare, base, head));
        let baseline = match (&asked.target, &checkout) {
            // Not committed: the author and the reader are one.
            (Target::Uncommitted | Target::Staged, Some(root)) => BaselineAt::Checkout(root),
            (_, _) => at(objects.as_ref(), tip.as_deref()),
        };
        let ignore = &opened.settings.checks_ignore.value;
        let silencing = Silencing::of(ignore, &opened.before.checks_ignore.value, &baseline)?;
        Ok(Self {
            silencing,
            origin: match (&asked.target, pull.as_ref()) {
                (Target::PullRequest(_), _) => Origin::Forge,
                // What is checked out is a stranger's, wherever that is.
                (_, Some(pull)) if pull.is_foreign() => Origin::Forge,
                (_, _) => Origin::Repository,
            },
            dismissed: pull
                .as_ref()
                .map(|pull| pull.dismissed(opened.settings.instance.value.as_str()))
                .unwrap_or_default(),
            alone: folder.filter(|_| pull.as_ref().is_some_and(|pull| !pull.has_clone)),
            attributes: opened.attributes,
            settings: opened.settings,
            change: facts,
            scope,
            notes,
            untracked,
            source: Source::Contents(Box::new(contents)),
            objects,
            checkout,
            checked_out,
            packed: None,
        })
    }

    /// Pins what was prepared or begun: a folder, an archive, or the workspace of a run.
    pub(super) fn prepared(
        args: &PreparedArgs,
        resumed: Option<&Resumed>,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<Self, Failure> {
        let packed =
            args.packed.as_deref().map(|file| Packed::open(&environment.folder.join(file)));
        let packed = packed.transpose().map_err(tool::no_archive)?;
        let decided = packed.as_ref().map(Packed::decided).transpose().map_err(tool::no_archive)?;
        let decided = decided.flatten();
        let (mut settings, unusable) = settings_of(decided.as_ref(), environment, flags)?;
        if let Some(Resumed { found, .. }) = resumed {
            found.rules(&mut settings)?;
        }
        let (workspace, source) = laid_out(args, packed.as_ref(), resumed, environment)?;
        let ends = tool::ends(&workspace);
        let objects = match &ends {
            Some(ends) => objects(args, packed.as_ref(), resumed, ends, environment)?,
            None => None,
        };
        let diff = latest_diff(&workspace)?;
        let read = objects.as_ref().map(|(bare, _, _)| bare.objects()).transpose();
        let read = read.or_fail(Kind::Outside)?;
        let shown = ends.as_ref().map(|(base, head)| (base.as_str(), head.as_str()));
        // What was prepared may be a stranger's: it is held against what it is proposed to, or against what was before it.
        let tip = decided.as_ref().and_then(|decided| decided.tip.clone());
        let attributes = match (resumed, tip) {
            (Some(resumed), _) => resumed.found.attributes.clone(),
            (None, Some(tip)) => AttributesAt::Commit(tip),
            (None, None) => AttributesAt::Old,
        };
        let ends = shown.filter(|_| read.is_some());
        let (scope, unread) = opened::scope_of(&settings, &diff, ends, read.as_ref(), &attributes)?;
        let ignore = &settings.checks_ignore.value;
        let silencing = match (resumed, &decided) {
            (Some(Resumed { found, .. }), _) => found.silencing.clone(),
            (None, Some(decided)) => {
                let baseline = BaselineAt::Given(decided.baseline.as_deref());
                Silencing::of(ignore, ignore, &baseline)?
            }
            (None, None) => Silencing::of(ignore, ignore, &at(objects.as_ref(), None))?,
        };
        let change =
            naming::of_workspace(&workspace, &diff, packed.is_none(), args, environment, &settings);
        let pinned = Self {
            silencing,
            origin: Origin::Prepared,
            attributes,
            settings,
            change,
            scope,
            notes: unusable.into_iter().chain(unread.into_iter().map(unread_attributes)).collect(),
            untracked: Vec::new(),
            source,
            objects,
            checkout: None,
            checked_out: CheckedOut::No,
            alone: None,
            dismissed: decided.map(|decided| decided.dismissed).unwrap_or_default(),
            packed,
        };
        Ok(match resumed {
            None => pinned,
            Some(Resumed { found, .. }) => {
                let Found { change, notes, untracked, checkout, origin, .. } = found.clone();
                let Found { alone, dismissed, checked_out, .. } = found.clone();
                let pinned = Self { checked_out, alone, dismissed, ..pinned };
                Self { change, notes, untracked, checkout, origin, ..pinned }
            }
        })
    }

    /// Where the files of the change are, and the commit they are in.
    pub(super) fn files(&self) -> Option<(Bare, String)> {
        self.objects.as_ref().map(|(bare, _, head)| (bare.clone(), head.clone()))
    }

    /// Where the change was made.
    pub(super) fn work(&self) -> Work {
        match self.checkout {
            Some(_) => Work::InCheckout,
            None => Work::Elsewhere,
        }
    }

    /// The hashes of the files of attributes that say which files are reviewed, where those are of another commit than the two
    /// that are compared.
    pub(super) fn attribute_files(&self, diff: &Diff) -> Result<BTreeMap<String, String>, Failure> {
        let (AttributesAt::Commit(commit), Some((bare, _, _))) = (&self.attributes, &self.objects)
        else {
            return Ok(BTreeMap::new());
        };
        let objects = bare.objects().or_fail(Kind::Outside)?;
        let paths = diff.files().iter().map(|file| file.path.as_bytes());
        let files = crh_git::attribute_files(&objects, commit, paths).or_fail(Kind::Outside)?;
        let hash = |file: Entry| (String::from_utf8_lossy(&file.path).into_owned(), file.id);
        Ok(files.into_iter().map(hash).collect())
    }

    /// What was found out about the change, for going on with it.
    pub(super) fn found(&self, sarif: &SarifFlags, environment: &Environment) -> Found {
        let files = |files: &[PathBuf]| {
            let is_stdin = |file: &Path| file == Path::new("-");
            let place = |file: &PathBuf| match is_stdin(file) {
                true => file.clone(),
                false => environment.folder.join(file),
            };
            files.iter().map(place).collect()
        };
        let globs = |globs: &Globs| globs.0.iter().map(|glob| glob.as_str().to_owned()).collect();
        Found {
            change: self.change.clone(),
            notes: self.notes.clone(),
            untracked: self.untracked.clone(),
            checkout: self.checkout.clone(),
            checked_out: self.checked_out,
            exclude: globs(&self.settings.scope_exclude.value),
            include: globs(&self.settings.scope_include.value),
            generated: globs(&self.settings.scope_generated.value),
            max_file_bytes: self.settings.scope_max_file_bytes.value,
            silencing: self.silencing.clone(),
            sarif: files(&sarif.sarif),
            sarif_base: files(&sarif.sarif_base),
            origin: self.origin,
            attributes: self.attributes.clone(),
            alone: self.alone.clone(),
            dismissed: self.dismissed.clone(),
            models: String::new(),
        }
    }

    /// The subject of the review, with its workspace in `folder`.
    pub(super) fn subject(&self, folder: &Path) -> Result<Subject, Failure> {
        let folder = match &self.source {
            Source::Contents(contents) => {
                workspace::write(contents, folder).or_fail(Kind::Outside)?;
                folder
            }
            Source::Folder(from) => {
                workspace::copy(from, folder).or_fail(Kind::Outside)?;
                folder
            }
            Source::OfRun(folder) => folder,
        };
        let workspace = Workspace::open(folder).or_fail(Kind::Outside)?;
        let diff = latest_diff(&workspace)?;
        let mut bench = Bench::new().with_workspace(workspace);
        if let Some((bare, base, head)) = self.objects.clone() {
            // What is not there is found out now, not in the middle of a review.
            let revisions = Revisions::new(bare, &base, &head).or_fail(Kind::Outside)?;
            bench = bench.with_repository(move || Ok::<_, ToolError>(revisions));
        }
        Ok(Subject {
            bench,
            diff,
            scope: self.scope.clone(),
            change: self.change.clone(),
            untracked: self.untracked.clone(),
            notes: self.notes.clone(),
            since: None,
        })
    }
}

impl Found {
    /// What says which files are reviewed and which findings count.
    pub(super) fn rules_of_review(&self) -> impl Serialize + '_ {
        let Self { exclude, include, generated, max_file_bytes, silencing, .. } = self;
        (exclude, include, generated, max_file_bytes, silencing)
    }

    /// Sets the rules that said which files are reviewed.
    fn rules(&self, settings: &mut Settings) -> Result<(), Failure> {
        let globs = |globs: &[String]| {
            let globs = globs.iter().map(|glob| Glob::parse(glob));
            globs.collect::<Result<_, _>>().map(Globs).map_err(Failure::usage)
        };
        settings.scope_exclude.value = globs(&self.exclude)?;
        settings.scope_include.value = globs(&self.include)?;
        settings.scope_generated.value = globs(&self.generated)?;
        settings.scope_max_file_bytes.value = self.max_file_bytes;
        Ok(())
    }
}

/// The baseline before the change, or at the tip of what it is proposed to: what a change says of itself may be a stranger's
/// word.
fn at<'a>(objects: Option<&'a (Bare, String, String)>, tip: Option<&'a str>) -> BaselineAt<'a> {
    match objects {
        Some((bare, base, _)) => BaselineAt::Commit(bare, tip.unwrap_or(base)),
        None => BaselineAt::Nowhere,
    }
}

/// The settings for what was prepared, with those that came in its archive, and what the reader must know of them.
fn settings_of(
    decided: Option<&Decided>,
    environment: &Environment,
    flags: RawSettings,
) -> Result<(Settings, Option<String>), Failure> {
    let file = decided.and_then(|decided| decided.settings.clone()).map(|bytes| {
        ConfigFile::new(REPOSITORY_FILE.to_owned(), environment.folder.clone(), bytes)
    });
    let loaded = file.transpose().and_then(|file| {
        let settings = config::load(environment, file.as_ref(), flags.clone())?;
        Ok((settings, None))
    });
    match loaded {
        Err(failure) if failure.kind == Kind::Usage && decided.is_some() => {
            let settings = config::load(environment, None, flags)?;
            Ok((settings, Some(opened::unusable(&failure))))
        }
        loaded => loaded,
    }
}

/// The workspace of what was prepared or begun, and where it comes from.
fn laid_out(
    args: &PreparedArgs,
    packed: Option<&Packed>,
    resumed: Option<&Resumed>,
    environment: &Environment,
) -> Result<(Workspace, Source), Failure> {
    match (packed, resumed, &args.workspace) {
        (_, Some(resumed), _) => {
            let folder = resumed.workspace();
            let workspace = Workspace::open(&folder)
                .or_fail(Kind::Usage)
                .map_err(|failure| failure.hint(ANEW))?;
            Ok((workspace, Source::OfRun(folder)))
        }
        (Some(packed), None, _) => {
            let workspace = packed.workspace().or_fail(Kind::Usage)?;
            let folder = workspace.folder().to_owned();
            Ok((workspace, Source::Folder(folder)))
        }
        (None, None, folder) => {
            let folder = environment.folder.join(folder.as_deref().unwrap_or(Path::new("")));
            let workspace = Workspace::open(&folder)
                .or_fail(Kind::Usage)
                .map_err(|failure| failure.hint("`crh prepare --out DIR` writes a workspace"))?;
            Ok((workspace, Source::Folder(folder)))
        }
    }
}

/// The objects of both ends: from the archive, or from the repository of the workspace. An archive of a diff alone has none.
fn objects(
    args: &PreparedArgs,
    packed: Option<&Packed>,
    resumed: Option<&Resumed>,
    (base, head): &(String, String),
    environment: &Environment,
) -> Result<Option<(Bare, String, String)>, Failure> {
    let bare = match packed {
        Some(packed) => {
            let bare = packed.objects();
            let is_its_own = |bare: &Bare| Revisions::new(bare.clone(), base, head).is_ok();
            if resumed.is_some() && !bare.as_ref().is_some_and(is_its_own) {
                return Err(
                    Failure::usage("this is not the archive that the run began with").hint(OF_RUN)
                );
            }
            bare
        }
        // What has no clone here is where it was when the run began.
        None if args.repo.is_none() && alone(resumed).is_some() => alone(resumed),
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

/// The store of the run's repository, if that has no clone here and the store is still there.
fn alone(resumed: Option<&Resumed>) -> Option<Bare> {
    let folder = resumed?.found.alone.as_deref()?;
    folder.is_dir().then(|| Bare::new(folder))
}

fn latest_diff(workspace: &Workspace) -> Result<Arc<Diff>, Failure> {
    let Some(round) = workspace.latest() else {
        return Err(Failure::usage("the workspace has no diff").hint("write it again"));
    };
    let diff = workspace.diff(&round.id).or_fail(Kind::Usage)?;
    let is_unchanged = round.base_rev.is_some() && round.base_rev == round.head_rev;
    if diff.files().is_empty() && !is_unchanged {
        return Err(Failure::usage("the diff of the workspace is empty, and its change is not")
            .hint("write it again with `crh prepare`"));
    }
    Ok(diff)
}

fn unread_attributes((path, why): opened::Unread) -> String {
    format!("the attributes in `{path}` do not count: {why}")
}
