//! `crh eval import`: creates a case from commits, a reversed fix, two folders, or JSON lines.

mod args;
mod case_file;
mod issue;
mod snapshot;
mod written;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

pub use self::args::{ImportArgs, ImportFromArgs, ImportIssueArgs, ImportTextArgs};
use self::case_file::ChangeWords;
use self::snapshot::Snapshot;
use super::case::{Case, CaseSource};
use super::case_error::shown;
use super::ready_case::{lay_out_with, repository, write_cases};
use super::suite::ReadFile;
use super::suite::folder::CASE_FILE;
use super::{checked, suite};
use crh_git::{
    BareRepository, EMPTY_TREE, HiddenVariables, NetworkMode, PathGlobs, Repository, Store,
};
use crh_pipeline::failure::{Failure, FailureKind, OrFail};
use crh_pipeline::resolve::{PinnedChange, ResolveOptions, UntrackedPolicy};
use crh_pipeline::scope::{DiffOnly, FileRole, ScopeRules};
use crh_pipeline::target_args::{ParsedTarget, Target, TargetFlags};
use crh_pipeline::{resolve, scope};
use crh_review::diff::Diff;

/// Number of title words in a generated id.
const ID_WORDS: usize = 5;
/// Longest generated id. Ids are table columns.
const ID_LENGTH: usize = 60;

/// Length of a commit hash prefix that is unique within a suite.
const FIX_HASH: usize = 8;

/// A case that is about to be written.
#[derive(Debug)]
struct Import {
    case: Case,
    /// Title and body of the twin, if the twin becomes a case, too.
    twin: Option<ChangeWords>,
    /// Notes for the user.
    notes: Vec<String>,
}

/// Title, description and files of a change.
struct ImportedChange {
    words: ChangeWords,
    /// Words for the id, if they do not come from the title.
    id_words: Option<String>,
    snapshot: Snapshot,
    notes: Vec<String>,
}

/// An imported case.
pub struct ImportedCase {
    /// Its folder, below the output folder as the user wrote it.
    pub place: PathBuf,
    /// Its `case.toml`, if the user must add the expected issues.
    pub draft: Option<PathBuf>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Imports cases into the folder of a suite. Paths are relative to `here`; `read_file` reads JSON
/// lines.
pub fn import_cases(
    args: &ImportArgs,
    here: &Path,
    read_file: &dyn Fn(&Path) -> Result<Vec<u8>, Failure>,
) -> Result<Vec<ImportedCase>, Failure> {
    let imports = imports(args, here, read_file)?;
    write_all(&here.join(&args.out), &imports)?;
    let imported = imports.into_iter().map(|Import { case, notes, .. }| {
        let place = args.out.join(&case.id);
        let draft = checked::is_finished(&case).is_err().then(|| place.join(CASE_FILE));
        ImportedCase { place, draft, notes }
    });
    Ok(imported.collect())
}

/// Writes all cases, or none if one is invalid.
fn write_all(out: &Path, imports: &[Import]) -> Result<(), Failure> {
    for Import { case, .. } in imports {
        checked::check(case)
            .map_err(|wrong| wrong.at(format!("the case `{}`", shown(&case.id))))?;
    }
    written::check_room(out, imports.iter().map(|import| import.case.id.as_str()))?;
    imports
        .iter()
        .try_for_each(|Import { case, twin, .. }| written::write(out, case, twin.as_ref()))
}

fn imports(
    args: &ImportArgs,
    here: &Path,
    read_file: ReadFile<'_>,
) -> Result<Vec<Import>, Failure> {
    let with = PathGlobs::new(&args.with).or_fail(FailureKind::Usage)?;
    let from = &args.source;
    if let Some(file) = &from.file {
        let repos = args.repo.as_ref().map(|repo| here.join(repo));
        return of_lines(suite::lines(&here.join(file), read_file)?, repos.as_deref(), &with);
    }
    if let Some(trees) = &from.trees {
        let trees: Vec<PathBuf> = trees.iter().map(|tree| here.join(tree)).collect();
        let [old, new] = trees.as_slice() else {
            return Err(Failure::usage("`--trees` takes two folders"));
        };
        return Ok(vec![of_trees(old, new, args, &with)?]);
    }
    let place = args.repo.as_ref().map_or(here.to_owned(), |repo| here.join(repo));
    let repository = Repository::discover(&place)
        .or_fail(FailureKind::Usage)
        .map_err(|failure| failure.hint("pass another repository with `--repo DIR`"))?;
    let history = History::open(&repository)?;
    let import = match (&from.commit, &from.fix, &from.range) {
        (Some(name), _, _) => of_change(&history, &Target::Commit(name.clone()), args, &with)?,
        (_, Some(name), _) => of_fix(&history, name, args, &with)?,
        (_, _, Some(range)) => of_change(&history, &range_of(range)?, args, &with)?,
        (None, None, None) => return Err(Failure::usage("nothing to import")),
    };
    Ok(vec![import])
}

fn range_of(range: &str) -> Result<Target, Failure> {
    let asked = ParsedTarget::new(&[range.to_owned()], TargetFlags::default())
        .or_fail(FailureKind::Usage)?;
    match asked.target {
        Target::Range(range) => Ok(Target::Range(range)),
        _ => Err(Failure::usage(format!("`{}` is not a range of commits", shown(range)))
            .hint("write `A..B`; `--commit` takes one commit")),
    }
}

/// A repository, read through a temporary store: crh writes nothing into it and fetches nothing.
struct History {
    store: Store,
    _folder: TempDir,
}

impl History {
    fn open(repository: &Repository) -> Result<Self, Failure> {
        let folder = temp_folder()?;
        // No user configuration applies here.
        let withheld = HiddenVariables::default();
        let store =
            Store::open(folder.path(), repository, withheld).or_fail(FailureKind::External)?;
        Ok(Self { store, _folder: folder })
    }

    fn change(&self, target: &Target) -> Result<PinnedChange, Failure> {
        let lookup = ResolveOptions {
            base_branch: None,
            network: NetworkMode::Offline,
            untracked: UntrackedPolicy::Listed,
        };
        resolve::resolve_target(&self.store, target, &lookup).or_fail(FailureKind::Usage)
    }

    fn snapshot(
        &self,
        ends: (&str, &str),
        diff: &Diff,
        with: &PathGlobs,
    ) -> Result<Snapshot, Failure> {
        let objects = self.store.bare().objects().or_fail(FailureKind::External)?;
        snapshot::of_commits(&objects, ends, diff, with)
    }
}

fn temp_folder() -> Result<TempDir, Failure> {
    tempfile::tempdir().context("cannot create a temporary folder").or_fail(FailureKind::External)
}

/// Base and head commit of a change.
fn ends(change: &PinnedChange) -> Result<(&str, &str), Failure> {
    let ends = change.base.as_deref().zip(change.head.as_deref());
    ends.ok_or_else(|| Failure::usage("only the diff of this change is known"))
}

/// Imports a change without expected issues; a person labels them later.
fn of_change(
    history: &History,
    target: &Target,
    args: &ImportArgs,
    with: &PathGlobs,
) -> Result<Import, Failure> {
    let change = history.change(target)?;
    let snapshot = history.snapshot(ends(&change)?, &change.diff, with)?;
    // A range of commits is named after its branch, which is not a title.
    let title = match change.commits.as_slice() {
        [] | [_] => change.title,
        [.., last] => last.subject.clone(),
    };
    let words = ChangeWords { title, body: change.body };
    let found = ImportedChange { words, id_words: None, snapshot, notes: change.notes };
    import(found, args, None)
}

/// Imports a reversed fix: the case reintroduces the bug, and its twin is the fix.
fn of_fix(
    history: &History,
    name: &str,
    args: &ImportArgs,
    with: &PathGlobs,
) -> Result<Import, Failure> {
    let fix = history.change(&Target::Commit(name.to_owned()))?;
    let (before, after) = ends(&fix)?;
    if before == EMPTY_TREE {
        return Err(Failure::usage(format!(
            "`{}` is the first commit, so it fixes nothing",
            shown(name)
        ))
        .hint("name the commit that fixes the bug"));
    }
    let snapshot = history.snapshot((after, before), &fix.diff, with)?;
    let twin = ChangeWords { title: fix.title.clone(), body: fix.body.clone() };
    let mut notes = fix.notes.clone();
    // The fix's own description would reveal the bug.
    let first = fix.diff.files().first().map(|file| file.path.shown().into_owned());
    let file = first.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let words = ChangeWords { title: format!("Update {}", shown(file)), body: String::new() };
    if args.text.title.is_none() {
        notes.push(format!(
            "the title is `{}`; pass a better one with `--title` that does not reveal the defect",
            words.title
        ));
    }
    // The commit hash keeps ids unique: many fixes touch the same file.
    let id_words = Some(format!("fix {}", &after[..FIX_HASH]));
    import(ImportedChange { words, id_words, snapshot, notes }, args, Some((twin, &args.issue)))
}

fn of_trees(
    old: &Path,
    new: &Path,
    args: &ImportArgs,
    with: &PathGlobs,
) -> Result<Import, Failure> {
    let Some(title) = args.text.title.clone() else {
        return Err(Failure::usage("`--trees` needs `--title`")
            .hint("give the title that the author of the change would write"));
    };
    let snapshot = snapshot::of_folders(old, new, with)?;
    let words = ChangeWords { title, body: String::new() };
    import(ImportedChange { words, id_words: None, snapshot, notes: Vec::new() }, args, None)
}

/// Builds a case. For a fix, also the twin and the expected issue.
fn import(
    found: ImportedChange,
    args: &ImportArgs,
    fix: Option<(ChangeWords, &ImportIssueArgs)>,
) -> Result<Import, Failure> {
    let ImportedChange { words, id_words, snapshot, mut notes } = found;
    let Snapshot { base, head, left_out, .. } = snapshot;
    notes.extend(left_out.into_iter().map(|what| format!("left out: {what}")));
    if base == head {
        return Err(Failure::usage("the change has nothing that a case can hold")
            .hint("a case holds files, not file modes, links or submodules"));
    }
    let mut case = Case {
        id: "import".to_owned(),
        title: args.text.title.clone().unwrap_or(words.title),
        body: args.text.body.clone().unwrap_or(words.body),
        language: String::new(),
        licence: args.licence.clone().unwrap_or_default(),
        twin_of: None,
        source: CaseSource::Files { base, head },
        expected: Vec::new(),
        known_bad: Vec::new(),
        // A fix shows where the bug is. Other changes have no labels yet.
        is_draft: fix.is_none() && !args.clean,
    };
    let diff = diff(&case)?;
    case.language = match &args.text.language {
        Some(language) => language.clone(),
        None => language(&diff).ok_or_else(|| {
            Failure::usage("cannot tell the language from the changed files")
                .hint("pass it with `--language`, in lower case")
        })?,
    };
    let id_words = match &args.text.title {
        Some(title) => title,
        None => id_words.as_ref().unwrap_or(&case.title),
    };
    case.id = args.text.id.clone().unwrap_or_else(|| id(&case.language, id_words));
    let twin = fix.map(|(twin, issue_args)| {
        case.expected.extend(issue::of_fix(&diff, &roles(&diff), issue_args));
        twin
    });
    Ok(Import { case, twin, notes })
}

/// The diff as reviewers will see it.
fn diff(case: &Case) -> Result<Diff, Failure> {
    let folder = temp_folder()?;
    let mut ready = write_cases(std::slice::from_ref(case), folder.path(), None)?;
    let ready = ready.pop();
    Ok(ready.map_or_else(|| Diff::read(Vec::new()), |ready| ready.diff))
}

/// Roles of the files of a diff, in order.
fn roles(diff: &Diff) -> Vec<FileRole> {
    scope_of(diff).files.into_iter().map(|file| file.role).collect()
}

fn scope_of(diff: &Diff) -> scope::Scope {
    let rules = ScopeRules {
        paths: PathGlobs::default(),
        exclude: PathGlobs::default(),
        include: PathGlobs::default(),
        generated: PathGlobs::default(),
        max_file_bytes: u64::MAX,
        strict: false,
    };
    scope::decide_scope(diff, &DiffOnly, &rules)
}

/// The language with the most changed lines.
fn language(diff: &Diff) -> Option<String> {
    let files = scope_of(diff).files.into_iter();
    let mut lines = BTreeMap::<&str, u64>::new();
    for file in files {
        let language = match file.language {
            Some("tsx") => "typescript",
            Some(language) => language,
            None => continue,
        };
        *lines.entry(language).or_default() += file.added.total() + file.removed.total();
    }
    let most = lines.into_iter().max_by_key(|(language, lines)| (*lines, Reverse(*language)));
    most.map(|(language, _)| language.to_owned())
}

/// Builds an id from the language and the first words of the title.
fn id(language: &str, title: &str) -> String {
    let is_word = |char: char| char.is_ascii_alphanumeric();
    let title = title.to_lowercase();
    let words = title.split(|char| !is_word(char)).filter(|word| !word.is_empty());
    let mut id: String = language.chars().filter(|char| is_word(*char)).collect();
    for word in words.take(ID_WORDS) {
        if id.len() + 1 + word.len() > ID_LENGTH {
            break;
        }
        id = format!("{id}-{word}");
    }
    id
}

/// Imports the cases of a JSON-lines file. If a case's commits are available, it gets whole files;
/// otherwise it keeps the diff.
fn of_lines(
    cases: Vec<Case>,
    repos: Option<&Path>,
    with: &PathGlobs,
) -> Result<Vec<Import>, Failure> {
    let folder = temp_folder()?;
    // Either one repository for all lines, or a folder of repositories.
    let alone = repos.and_then(repository);
    let ready = match &alone {
        Some(repository) => lay_out_with(&cases, folder.path(), std::slice::from_ref(repository))?,
        None => write_cases(&cases, folder.path(), repos)?,
    };
    let bare = BareRepository::new(folder.path());
    let objects = bare.objects().or_fail(FailureKind::External)?;
    let (mut imports, mut without_commits) = (Vec::new(), Vec::new());
    for (mut case, ready) in cases.into_iter().zip(ready) {
        let mut notes = Vec::new();
        case.source = match (case.source, ready.head) {
            (CaseSource::Commits { .. }, Some(head)) => {
                let base = bare.parent(&head).or_fail(FailureKind::External)?;
                let ends = (base.as_str(), head.as_str());
                let Snapshot { base, head, left_out, .. } =
                    snapshot::of_commits(&objects, ends, &ready.diff, with)?;
                let id = &case.id;
                notes.extend(left_out.iter().map(|what| format!("`{id}`: left out: {what}")));
                CaseSource::Files { base, head }
            }
            (CaseSource::Commits { diff, .. }, None) => {
                without_commits.push(case.id.clone());
                CaseSource::Diff(diff)
            }
            (source @ (CaseSource::Files { .. } | CaseSource::Diff(_)), _) => source,
        };
        imports.push(Import { case, twin: None, notes });
    }
    let (count, all) = (without_commits.len(), imports.len());
    if let (Some(first), Some(import)) = (without_commits.first(), imports.first_mut()) {
        import.notes.push(format!(
            "the commits of {count} of {all} cases, such as `{first}`, are not available, so these cases have only a diff; pass a folder of clones with `--repo`"
        ));
    }
    Ok(imports)
}

#[cfg(test)]
mod tests;
