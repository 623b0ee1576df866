//! `crh eval import`: making a case of something that is there: commits, a fix to be reversed, two trees, or lines of JSON.

mod case_file;
mod issue;
mod snapshot;
mod written;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

use self::case_file::Words;
use self::snapshot::Snapshot;
use super::case::{Case, Source};
use super::laid_out::{lay_out, lay_out_with, repository};
use super::suite::folder::CASE_FILE;
use super::wrong::shown;
use super::{checked, suite};
use crate::cli::{EvalImportArgs, ImportIssueArgs};
use crate::config::environment::Environment;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_git::{Bare, EMPTY_TREE, Globs, Network, Repository, Store, Withheld};
use crh_pipeline::asked::{Asked, Flags, Target};
use crh_pipeline::scope::{DiffAlone, Role, Rules};
use crh_pipeline::target::{Change, Lookup, Untracked};
use crh_pipeline::{scope, target};
use crh_review::diff::Diff;

/// How many words of a title go into an id.
const ID_WORDS: usize = 5;
/// The longest such id: ids are columns of tables.
const ID_LENGTH: usize = 60;

/// As much of a commit's hash as tells it from the others of a suite.
const FIX_HASH: usize = 8;

/// A case on its way to a folder.
#[derive(Debug)]
struct Import {
    case: Case,
    /// What its reverse is called, if that is a case as well.
    twin: Option<Words>,
    /// What whoever imports it should know.
    notes: Vec<String>,
}

/// What a change is called, and its files.
struct Found {
    words: Words,
    /// What its id is made of, if not of its title.
    called: Option<String>,
    snapshot: Snapshot,
    notes: Vec<String>,
}

/// Writes what was asked for into the folder of a suite.
pub(crate) fn run(args: &EvalImportArgs, environment: &Environment) -> Result<(), Failure> {
    let imports = imports(args, environment)?;
    write_all(&environment.folder.join(&args.out), &imports)?;
    for Import { case, notes, .. } in &imports {
        notes.iter().for_each(|note| ui::note(note));
        let place = args.out.join(&case.id);
        if checked::is_finished(case).is_err() {
            let file = environment.shown(&place.join(CASE_FILE));
            ui::warn(&format!(
                "`{file}` is a draft: no suite takes it before it says what is wrong"
            ));
        }
        ui::result_text(&format!("{}\n", place.display()))?;
    }
    Ok(())
}

/// Writes all or, if something is wrong with one of them, none.
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

fn imports(args: &EvalImportArgs, environment: &Environment) -> Result<Vec<Import>, Failure> {
    let with = Globs::new(&args.with).or_fail(Kind::Usage)?;
    let from = &args.from;
    if let Some(file) = &from.file {
        let repos = args.repo.as_ref().map(|repo| environment.folder.join(repo));
        return of_lines(&environment.folder.join(file), repos.as_deref(), &with);
    }
    if let Some(trees) = &from.trees {
        let trees: Vec<PathBuf> = trees.iter().map(|tree| environment.folder.join(tree)).collect();
        let [old, new] = trees.as_slice() else {
            return Err(Failure::usage("`--trees` takes two folders"));
        };
        return Ok(vec![of_trees(old, new, args, &with)?]);
    }
    let place =
        args.repo.as_ref().map_or(environment.folder.clone(), |repo| environment.folder.join(repo));
    let repository = Repository::discover(&place)
        .or_fail(Kind::Usage)
        .map_err(|failure| failure.hint("`--repo DIR` names another repository"))?;
    let history = History::open(&repository)?;
    let import = match (&from.commit, &from.fix, &from.range) {
        (Some(name), _, _) => of_change(&history, &Target::Commit(name.clone()), args, &with)?,
        (_, Some(name), _) => of_fix(&history, name, args, &with)?,
        (_, _, Some(range)) => of_change(&history, &range_of(range)?, args, &with)?,
        (None, None, None) => return Err(Failure::usage("it is not said what to import")),
    };
    Ok(vec![import])
}

fn range_of(range: &str) -> Result<Target, Failure> {
    let asked = Asked::new(&[range.to_owned()], Flags::default()).or_fail(Kind::Usage)?;
    match asked.target {
        Target::Range(range) => Ok(Target::Range(range)),
        _ => Err(Failure::usage(format!("`{}` is not a range of commits", shown(range)))
            .hint("write `A..B`; `--commit` takes one commit")),
    }
}

/// A repository, seen through a store that is gone afterwards: nothing is written into it, and nothing is fetched.
struct History {
    store: Store,
    _folder: TempDir,
}

impl History {
    fn open(repository: &Repository) -> Result<Self, Failure> {
        let folder = passing()?;
        // Nothing that the user has set up is started for it.
        let withheld = Withheld::default();
        let store = Store::open(folder.path(), repository, withheld).or_fail(Kind::Outside)?;
        Ok(Self { store, _folder: folder })
    }

    fn change(&self, target: &Target) -> Result<Change, Failure> {
        let lookup =
            Lookup { base_branch: None, network: Network::Offline, untracked: Untracked::Named };
        target::change(&self.store, target, &lookup).or_fail(Kind::Usage)
    }

    fn snapshot(&self, ends: (&str, &str), diff: &Diff, with: &Globs) -> Result<Snapshot, Failure> {
        let objects = self.store.bare().objects().or_fail(Kind::Outside)?;
        snapshot::of_commits(&objects, ends, diff, with)
    }
}

fn passing() -> Result<TempDir, Failure> {
    tempfile::tempdir().context("making a temporary folder").or_fail(Kind::Outside)
}

/// The two ends of a change that has both.
fn ends(change: &Change) -> Result<(&str, &str), Failure> {
    let ends = change.base.as_deref().zip(change.head.as_deref());
    ends.ok_or_else(|| Failure::usage("only a diff is known of this change"))
}

/// A change as it is: nothing is expected of it until somebody says so.
fn of_change(
    history: &History,
    target: &Target,
    args: &EvalImportArgs,
    with: &Globs,
) -> Result<Import, Failure> {
    let change = history.change(target)?;
    let snapshot = history.snapshot(ends(&change)?, &change.diff, with)?;
    // Several commits are called by their branch, which is no title.
    let title = match change.commits.as_slice() {
        [] | [_] => change.title,
        [.., last] => last.subject.clone(),
    };
    let words = Words { title, body: change.body };
    let found = Found { words, called: None, snapshot, notes: change.notes };
    import(found, args, None)
}

/// A fix the other way round: the change puts the bug back, and its twin is the fix.
fn of_fix(
    history: &History,
    name: &str,
    args: &EvalImportArgs,
    with: &Globs,
) -> Result<Import, Failure> {
    let fix = history.change(&Target::Commit(name.to_owned()))?;
    let (before, after) = ends(&fix)?;
    if before == EMPTY_TREE {
        return Err(Failure::usage(format!(
            "`{}` is the first commit, which fixes nothing",
            shown(name)
        ))
        .hint("name the commit that fixes the bug"));
    }
    let snapshot = history.snapshot((after, before), &fix.diff, with)?;
    let twin = Words { title: fix.title.clone(), body: fix.body.clone() };
    let mut notes = fix.notes.clone();
    // The fix's own words would tell what is wrong.
    let first = fix.diff.files().first().map(|file| file.path.shown().into_owned());
    let file = first.as_deref().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
    let words = Words { title: format!("Update {}", shown(file)), body: String::new() };
    if args.words.title.is_none() {
        notes.push(format!(
            "the title is `{}`: `--title` gives a better one that does not tell what is wrong",
            words.title
        ));
    }
    // Many fixes are of the same file.
    let called = Some(format!("fix {}", &after[..FIX_HASH]));
    import(Found { words, called, snapshot, notes }, args, Some((twin, &args.issue)))
}

fn of_trees(
    old: &Path,
    new: &Path,
    args: &EvalImportArgs,
    with: &Globs,
) -> Result<Import, Failure> {
    let Some(title) = args.words.title.clone() else {
        return Err(Failure::usage("two folders do not say what the change is called")
            .hint("give it a `--title`, as its author would"));
    };
    let snapshot = snapshot::of_folders(old, new, with)?;
    let words = Words { title, body: String::new() };
    import(Found { words, called: None, snapshot, notes: Vec::new() }, args, None)
}

/// A case of what was found. A fix comes with what it is called and with what is said about the bug.
fn import(
    found: Found,
    args: &EvalImportArgs,
    fix: Option<(Words, &ImportIssueArgs)>,
) -> Result<Import, Failure> {
    let Found { words, called, snapshot, mut notes } = found;
    let Snapshot { base, head, left_out, .. } = snapshot;
    notes.extend(left_out.into_iter().map(|what| format!("left out: {what}")));
    if base == head {
        return Err(Failure::usage("there is no change in it that a case could hold")
            .hint("only files count, not their modes, nor links and submodules"));
    }
    let mut case = Case {
        id: "import".to_owned(),
        title: args.words.title.clone().unwrap_or(words.title),
        body: args.words.body.clone().unwrap_or(words.body),
        language: String::new(),
        licence: args.licence.clone().unwrap_or_default(),
        twin_of: None,
        source: Source::Files { base, head },
        expected: Vec::new(),
        known_bad: Vec::new(),
        // A fix says where something is wrong; of any other change nobody has said a word.
        is_draft: fix.is_none() && !args.clean,
    };
    let diff = diff(&case)?;
    case.language = match &args.words.language {
        Some(language) => language.clone(),
        None => language(&diff).ok_or_else(|| {
            Failure::usage("the changed files do not tell the language")
                .hint("say it with `--language`, in lower case")
        })?,
    };
    let called = match &args.words.title {
        Some(title) => title,
        None => called.as_ref().unwrap_or(&case.title),
    };
    case.id = args.words.id.clone().unwrap_or_else(|| id(&case.language, called));
    let twin = fix.map(|(twin, said)| {
        case.expected.extend(issue::of_fix(&diff, &roles(&diff), said));
        twin
    });
    Ok(Import { case, twin, notes })
}

/// The diff of a case, as reviewers will see it.
fn diff(case: &Case) -> Result<Diff, Failure> {
    let folder = passing()?;
    let mut laid_out = lay_out(std::slice::from_ref(case), folder.path(), None)?;
    let laid_out = laid_out.pop();
    Ok(laid_out.map_or_else(|| Diff::read(Vec::new()), |laid_out| laid_out.diff))
}

/// What the files of a diff are for, in their order.
fn roles(diff: &Diff) -> Vec<Role> {
    scope_of(diff).files.into_iter().map(|file| file.role).collect()
}

fn scope_of(diff: &Diff) -> scope::Scope {
    let rules = Rules {
        exclude: Globs::default(),
        include: Globs::default(),
        generated: Globs::default(),
        max_file_bytes: u64::MAX,
    };
    scope::scope(diff, &DiffAlone, &rules)
}

/// The language of most changed lines.
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

/// An id of the language and the first words of the title.
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

/// The cases of a file. Commits that are at hand become files; where they are not, the diff is kept.
fn of_lines(file: &Path, repos: Option<&Path>, with: &Globs) -> Result<Vec<Import>, Failure> {
    let cases = suite::lines(file)?;
    let folder = passing()?;
    // The one repository that all lines are about, or a folder of many.
    let alone = repos.and_then(repository);
    let laid_out = match &alone {
        Some(repository) => lay_out_with(&cases, folder.path(), std::slice::from_ref(repository))?,
        None => lay_out(&cases, folder.path(), repos)?,
    };
    let bare = Bare::new(folder.path());
    let objects = bare.objects().or_fail(Kind::Outside)?;
    let (mut imports, mut not_at_hand) = (Vec::new(), Vec::new());
    for (mut case, laid_out) in cases.into_iter().zip(laid_out) {
        let mut notes = Vec::new();
        case.source = match (case.source, laid_out.head) {
            (Source::Commits { .. }, Some(head)) => {
                let base = bare.parent(&head).or_fail(Kind::Outside)?;
                let ends = (base.as_str(), head.as_str());
                let Snapshot { base, head, left_out, .. } =
                    snapshot::of_commits(&objects, ends, &laid_out.diff, with)?;
                let id = &case.id;
                notes.extend(left_out.iter().map(|what| format!("`{id}`: left out: {what}")));
                Source::Files { base, head }
            }
            (Source::Commits { diff, .. }, None) => {
                not_at_hand.push(case.id.clone());
                Source::Diff(diff)
            }
            (source @ (Source::Files { .. } | Source::Diff(_)), _) => source,
        };
        imports.push(Import { case, twin: None, notes });
    }
    let (count, all) = (not_at_hand.len(), imports.len());
    if let (Some(first), Some(import)) = (not_at_hand.first(), imports.first_mut()) {
        import.notes.push(format!(
            "the commits of {count} of {all} cases, such as `{first}`, are not at hand, so that the diff is all there is of them; `--repo` names a folder of clones"
        ));
    }
    Ok(imports)
}

#[cfg(test)]
mod tests;
