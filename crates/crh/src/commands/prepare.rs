//! `crh prepare`: what the user asked for becomes a pinned change and the workspace that reviewers see.

use std::path::Path;
use std::path::PathBuf;

use crh_git::BaseError;
use crh_git::Globs;
use crh_git::Network;
use crh_git::Objects;
use crh_git::ReadError;
use crh_git::Repository;
use crh_git::Store;
use crh_pipeline::asked::AskError;
use crh_pipeline::asked::Asked;
use crh_pipeline::asked::Flags;
use crh_pipeline::asked::Mode;
use crh_pipeline::asked::Target;
use crh_pipeline::pack;
use crh_pipeline::prepare;
use crh_pipeline::scope;
use crh_pipeline::scope::DiffAlone;
use crh_pipeline::scope::RepositoryFiles;
use crh_pipeline::scope::Rules;
use crh_pipeline::scope::Scope;
use crh_pipeline::target;
use crh_pipeline::target::Change;
use crh_pipeline::target::Lookup;
use crh_pipeline::target::TargetError;
use crh_pipeline::target::Untracked;
use crh_pipeline::workspace;
use crh_pipeline::workspace::WorkspaceError;
use crh_review::stable_json;
use serde::Serialize;

use super::repository_file::file_at;
use super::repository_file::repository_file;
use super::store;
use crate::cli::ModeArg;
use crate::cli::PlaceArgs;
use crate::cli::PrepareArgs;
use crate::cli::TargetArgs;
use crate::config;
use crate::config::environment::Environment;
use crate::config::environment::INDEX_FILE;
use crate::config::keys::RawSettings;
use crate::config::keys::Settings;
use crate::config::value::Branch;
use crate::failure::Failure;
use crate::failure::Kind;
use crate::failure::OrFail;
use crate::input;
use crate::ui;

/// How many files that are left out are named in the warning: as many as fit on a screen. The summary has all.
const UNTRACKED_NAMED: usize = 20;

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
}

/// A file of attributes that could not be read, and why.
type Unread = (String, String);

pub(crate) fn run(args: PrepareArgs, environment: &Environment) -> Result<(), Failure> {
    let include_untracked = args.target.include_untracked;
    let asked = asked(args.target)?;
    if asked.plan.is_some() {
        return Err(Failure::usage(
            "`plan:` says what a change is held against, not what is in it",
        )
        .hint("leave it out here"));
    }
    let untracked = untracked(include_untracked, &asked.target)?;
    let mut flags = RawSettings::default();
    args.scope.set(&mut flags);
    args.git.set(&mut flags);
    let PlaceArgs { out, pack } = args.places;
    let mut opened = match &asked.target {
        Target::Diff(_) => Opened::without_repository(environment, flags.clone())?,
        Target::CurrentBranch
        | Target::Against(_)
        | Target::Uncommitted
        | Target::Staged
        | Target::Commit(_)
        | Target::Range(_)
        | Target::Named(_) => {
            let places =
                [&out, &pack].into_iter().flatten().map(|path| environment.folder.join(path));
            Opened::in_repository(environment, flags.clone(), places.collect())?
        }
    };
    let change =
        opened.change(&asked.target, untracked).map_err(|error| failed(error, asked.mode))?;
    tell(&change);
    let objects = opened.objects()?;
    opened.settle(&asked.target, &change, objects.as_ref(), environment, flags)?;
    let mut prepared = Prepared::of(&change);
    let ends = change.base.clone().zip(change.head.clone());
    let (contents, notes) = prepare::contents(change, objects.as_ref()).or_fail(Kind::Outside)?;
    for note in notes {
        ui::note(&note);
        prepared.notes.push(note);
    }
    // Files are made by the disk and decided about by the processor: both at once.
    let (scope, written) = std::thread::scope(|threads| {
        let scope = threads.spawn(|| opened.scope(&contents, objects.as_ref()));
        let written =
            write(&contents, out.as_deref(), pack.as_deref(), || opened.bundle(ends.as_ref()));
        (scope.join(), written)
    });
    let (scope, unread) = scope.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    written?;
    for (path, why) in unread {
        let note = format!("the attributes in `{path}` do not count: {why}");
        ui::warn(&note);
        prepared.notes.push(note);
    }
    if scope.totals.files_in == 0 {
        let note = "no file of the change is left to review; `scope` says why of each".to_owned();
        ui::warn(&note);
        prepared.notes.push(note);
    }
    prepared.scope = Some(scope);
    ui::result_text(&stable_json(&prepared).or_fail(Kind::Bug)?)
}

/// What the words and flags ask for.
fn asked(args: TargetArgs) -> Result<Asked, Failure> {
    let diff = args.diff.as_deref().map(input::bytes).transpose()?;
    let flags = Flags {
        base: args.base,
        uncommitted: args.uncommitted,
        staged: args.staged,
        commit: args.commit,
        diff,
        mode: args.mode.map(|mode| match mode {
            ModeArg::Interactive => Mode::Interactive,
            ModeArg::Autofix => Mode::Autofix,
            ModeArg::ReportOnly => Mode::ReportOnly,
            ModeArg::Headless => Mode::Headless,
        }),
    };
    Asked::new(&args.words, flags).map_err(|error| {
        let is_pull_request = matches!(error, AskError::PullRequest(_));
        let failure = Failure::new(Kind::Usage, error);
        if is_pull_request { failure.hint("fetch its branch, and name that") } else { failure }
    })
}

/// What becomes of files that git does not know, where there can be any.
fn untracked(is_asked_for: bool, target: &Target) -> Result<Untracked, Failure> {
    match target {
        _ if !is_asked_for => Ok(Untracked::Named),
        Target::CurrentBranch | Target::Against(_) | Target::Uncommitted => Ok(Untracked::Included),
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
struct Opened {
    settings: Settings,
    store: Option<Store>,
}

impl Opened {
    /// For a diff that was handed in. It has no repository, but the settings of the one that the user is in count, if
    /// they are in one.
    fn without_repository(environment: &Environment, flags: RawSettings) -> Result<Self, Failure> {
        let file = match Repository::discover(&environment.folder) {
            Ok(repository) => repository_file(&repository)?,
            Err(_) => None,
        };
        Ok(Self { settings: config::load(environment, file.as_ref(), flags)?, store: None })
    }

    fn in_repository(
        environment: &Environment,
        flags: RawSettings,
        places: Vec<PathBuf>,
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
        // Where the store is has nothing to do with the repository's own settings; and opening it asks git whether
        // it trusts the repository.
        let settings = config::load(environment, None, RawSettings::default())?;
        let store = store::open(&settings, &repository)?;
        let file = repository_file(&repository)?;
        let settings = config::load(environment, file.as_ref(), flags)?;
        Ok(Self { settings, store: Some(store) })
    }

    /// Reads the rules for the files of a change where they belong to it: a commit that was named brings its own, whatever
    /// is checked out. Nothing is written to the store after this.
    fn settle(
        &mut self,
        target: &Target,
        change: &Change,
        objects: Option<&Objects>,
        environment: &Environment,
        flags: RawSettings,
    ) -> Result<(), Failure> {
        let (Some(store), Some(objects), Some(head)) = (&self.store, objects, &change.head) else {
            return Ok(());
        };
        store.release().map_err(store::failed)?;
        match target {
            Target::Commit(_) | Target::Range(_) | Target::Named(_) => {
                let file = file_at(store.repository(), objects, head, &head[..12])?;
                self.settings = config::load(environment, file.as_ref(), flags)?;
                Ok(())
            }
            Target::CurrentBranch
            | Target::Against(_)
            | Target::Uncommitted
            | Target::Staged
            | Target::Diff(_) => Ok(()),
        }
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
        target::change(store, target, &lookup)
    }

    fn objects(&self) -> Result<Option<Objects>, Failure> {
        let objects = self.store.as_ref().map(|store| store.bare().objects());
        objects.transpose().or_fail(Kind::Outside)
    }

    fn scope(
        &self,
        contents: &workspace::Contents,
        objects: Option<&Objects>,
    ) -> Result<(Scope, Vec<Unread>), Failure> {
        let globs = |list: &config::value::Globs| {
            Globs::new(list.0.iter().map(config::value::Glob::as_str)).or_fail(Kind::Usage)
        };
        let rules = Rules {
            exclude: globs(&self.settings.scope_exclude.value)?,
            include: globs(&self.settings.scope_include.value)?,
            generated: globs(&self.settings.scope_generated.value)?,
            max_file_bytes: self.settings.scope_max_file_bytes.value.get(),
        };
        let round = &contents.rounds[0];
        let (Some(objects), Some(base), Some(head)) = (objects, &round.base_rev, &round.head_rev)
        else {
            return Ok((scope::scope(&round.diff, &DiffAlone, &rules), Vec::new()));
        };
        // Locally the author and the reader are one: attributes are those of the change itself.
        let files = RepositoryFiles::new(objects, base, head, head, &round.diff);
        let files = files.or_fail(Kind::Outside)?;
        let shown = |(path, why): &(Vec<u8>, ReadError)| {
            (String::from_utf8_lossy(path).into_owned(), why.to_string())
        };
        let unread = files.unread().iter().map(shown).collect();
        Ok((scope::scope(&round.diff, &files, &rules), unread))
    }

    fn bundle(&self, ends: Option<&(String, String)>) -> Result<Option<Vec<u8>>, Failure> {
        let (Some(store), Some((base, head))) = (&self.store, ends) else { return Ok(None) };
        let bundle = crh_git::bundle(store.bare(), base, head).map(Some).or_fail(Kind::Outside);
        if self.settings.git_offline.value {
            // A partial clone has both ends, but not all that lies before them.
            bundle.map_err(|failure| failure.hint("leave `--offline` out"))
        } else {
            bundle
        }
    }
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
fn tell(change: &Change) {
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

/// Writes the folder, the archive, or both.
fn write(
    contents: &workspace::Contents,
    out: Option<&Path>,
    archive: Option<&Path>,
    bundle: impl FnOnce() -> Result<Option<Vec<u8>>, Failure>,
) -> Result<(), Failure> {
    if let Some(out) = out {
        workspace::write(contents, out).map_err(not_written)?;
    }
    let Some(archive) = archive else { return Ok(()) };
    let bundle = bundle()?;
    let packed = match out {
        Some(out) => pack::pack(out, bundle.as_deref(), archive),
        None => pack::pack_contents(contents, bundle.as_deref(), archive),
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

/// Whose fault it is that there is nothing to review, and what to do about it.
fn failed(error: TargetError, mode: Option<Mode>) -> Failure {
    let (kind, hint) = whose(&error);
    if mode == Some(Mode::Headless) && is_without_scope(&error) {
        let text = "Review failed (headless mode). Reason: no diff scope detected. Re-invoke with a branch name, PR number, or base:<ref>.";
        return Failure::usage(text).hint(error.to_string());
    }
    let failure = Failure::new(kind, error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Whether an error means that nothing says what there is to review, and not that something said is wrong.
fn is_without_scope(error: &TargetError) -> bool {
    match error {
        TargetError::Nothing(_) | TargetError::Unborn | TargetError::Bare => true,
        TargetError::Base(error) => match error {
            BaseError::Unresolvable { .. }
            | BaseError::Ambiguous(_)
            | BaseError::Unrelated { .. } => true,
            BaseError::Remote { .. }
            | BaseError::Git(_)
            | BaseError::Missing(_)
            | BaseError::NoSuchBranch(_) => false,
        },
        TargetError::NoSuchName(_)
        | TargetError::Unmerged(_)
        | TargetError::NotADiff
        | TargetError::Missing(_)
        | TargetError::Store(_)
        | TargetError::Log(_)
        | TargetError::Read(_)
        | TargetError::Git(_) => false,
    }
}

fn whose(error: &TargetError) -> (Kind, Option<&'static str>) {
    match error {
        TargetError::NoSuchName(_) => {
            (Kind::Usage, Some("`git branch --all` lists branches; fetch it if it is new"))
        }
        TargetError::Unborn => (Kind::Usage, Some("`--uncommitted` takes what is there")),
        TargetError::Bare => (Kind::Usage, Some("name a branch, or a range `A..B`")),
        TargetError::Unmerged(_) => (Kind::Usage, Some("resolve them, or take `--uncommitted`")),
        TargetError::Nothing(_) => (
            Kind::Usage,
            Some(
                "`--base REF` names another base, `--commit SHA` takes one commit, `--include-untracked` takes new files",
            ),
        ),
        TargetError::NotADiff => (Kind::Usage, Some("`git diff` and `git show` print one")),
        TargetError::Base(error) => match error {
            BaseError::Remote { .. } => {
                (Kind::Outside, Some("`--offline` takes the base as it was last fetched"))
            }
            BaseError::Git(_) => (Kind::Outside, None),
            BaseError::Missing(_) => {
                (Kind::Usage, Some("leave `--offline` out, or `git fetch --unshallow`"))
            }
            BaseError::NoSuchBranch(_)
            | BaseError::Unresolvable { .. }
            | BaseError::Ambiguous(_)
            | BaseError::Unrelated { .. } => {
                (Kind::Usage, Some("`--base REF` says it, or `base.branch` in `crh.toml`"))
            }
        },
        TargetError::Missing(_) => {
            (Kind::Outside, Some("leave `--offline` out, or fetch them with git"))
        }
        TargetError::Log(_) | TargetError::Read(_) | TargetError::Git(_) => {
            (Kind::Outside, Some("`git fsck` says whether the repository is damaged"))
        }
        TargetError::Store(_) => (Kind::Outside, None),
    }
}
