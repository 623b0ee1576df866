//! Which document a change is held against: the one that the caller names, one that the description names, or the only
//! one whose name has the words of the branch. A wrong plan is worse than none.

use std::collections::BTreeSet;

use super::{PlanDocument, document};
use crh_review::report::PlanSource;

/// Where plans are.
pub const FOLDER: &str = "docs/plans/";
/// How much of a description is searched for plans. Forges take no longer ones.
const BODY_MAX: usize = 256 * 1024;
/// How many words of a branch say what it is about; those behind them are mostly details.
const KEYWORDS_MAX: usize = 3;
/// A shorter word has to be the whole word of a name: `pay` is not `payload`.
const WHOLE_BELOW: usize = 4;
/// A shorter word says nothing.
const WORD_MIN: usize = 3;

/// Words that many plans and many branches have, sorted.
const GENERIC: &[&str] = &[
    "add",
    "adds",
    "and",
    "branch",
    "bug",
    "bugfix",
    "build",
    "change",
    "changes",
    "chore",
    "clean",
    "cleanup",
    "dev",
    "develop",
    "doc",
    "docs",
    "draft",
    "enhancement",
    "feat",
    "feature",
    "features",
    "fix",
    "fixes",
    "for",
    "from",
    "hotfix",
    "implement",
    "implementation",
    "improve",
    "improvement",
    "improvements",
    "initial",
    "into",
    "issue",
    "main",
    "master",
    "merge",
    "minor",
    "misc",
    "new",
    "patch",
    "perf",
    "plan",
    "plans",
    "refactor",
    "release",
    "remove",
    "review",
    "spike",
    "style",
    "support",
    "task",
    "temp",
    "test",
    "tests",
    "the",
    "ticket",
    "tmp",
    "update",
    "updates",
    "use",
    "wip",
    "with",
    "work",
];

/// Where a plan may be named.
#[derive(Debug, Clone, Copy)]
pub struct Clues<'a> {
    /// The path that the caller gave, and the text there.
    pub explicit: Option<(&'a str, &'a str)>,
    /// The title of what is proposed; empty if there is none.
    pub title: &'a str,
    /// Its description; empty if there is none.
    pub body: &'a str,
    /// The name of the branch; empty if it has none.
    pub branch: &'a str,
    /// The paths of the files in [`FOLDER`] after the change.
    pub plans: &'a [String],
}

/// The plan that was found, and what the reader should know about the search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Discovered {
    /// The plan. It may ask for nothing that could be read.
    pub document: Option<PlanDocument>,
    /// What was named and not used, and what of the plan could not be read.
    pub notes: Vec<String>,
}

/// Finds the plan. `text_of` reads one of the files; none if it is no text.
pub fn discover(clues: &Clues<'_>, text_of: impl Fn(&str) -> Option<String>) -> Discovered {
    if let Some((path, text)) = clues.explicit {
        let (document, notes) = document(path, PlanSource::Explicit, text);
        return Discovered { document: Some(document), notes };
    }
    let mut found = Discovered::default();
    let named = match in_description(clues) {
        Ok(named) => named,
        Err(note) => {
            found.notes.push(note);
            None
        }
    };
    let by_branch = || by_branch(clues).map(|path| (path, PlanSource::Inferred));
    let Some((path, source)) = named.or_else(by_branch) else { return found };
    match text_of(&path) {
        Some(text) => {
            let (document, notes) = document(&path, source, &text);
            found.document = Some(document);
            found.notes.extend(notes);
        }
        None => found.notes.push(format!("the plan `{path}` could not be read")),
    }
    found
}

/// The plan that the description names: a promise if it names one, a hint if it names several. Links grow stale and are
/// copied, so only files that are there count.
fn in_description(clues: &Clues<'_>) -> Result<Option<(String, PlanSource)>, String> {
    let named = mentioned(clues.body);
    let there: Vec<&String> = named.iter().filter(|path| clues.plans.contains(path)).collect();
    match (named.len(), there.as_slice()) {
        (0, _) => Ok(None),
        (1, [path]) => Ok(Some(((*path).clone(), PlanSource::Explicit))),
        (1, _) => Err(format!("the description names the plan `{}`, which is not there", named[0])),
        (several, []) => {
            Err(format!("the description names {several} plans, none of which is there"))
        }
        (several, there) => {
            let about: BTreeSet<String> =
                keywords(clues.title).chain(keywords(clues.branch)).collect();
            let is_related = |path: &&&String| about.iter().any(|word| has_word(path, word));
            let newest = there.iter().filter(is_related).max_by_key(|path| date(path));
            let newest = newest.map(|path| ((**path).clone(), PlanSource::Inferred));
            newest.map(Some).ok_or_else(|| {
                format!("the description names {several} plans, and its title fits none of them")
            })
        }
    }
}

/// The only plan whose name has all the words that say what the branch is about.
fn by_branch(clues: &Clues<'_>) -> Option<String> {
    let words: Vec<String> = keywords(clues.branch).take(KEYWORDS_MAX).collect();
    let has_all =
        |path: &&String| path.ends_with(".md") && words.iter().all(|word| has_word(path, word));
    let mut fitting = clues.plans.iter().filter(|_| !words.is_empty()).filter(has_all);
    let only = fitting.next()?;
    fitting.next().is_none().then(|| only.clone())
}

/// The paths `docs/plans/*.md` that a text names, each once: as they are, or in an address of a file.
fn mentioned(body: &str) -> Vec<String> {
    let body = &body[..body.floor_char_boundary(BODY_MAX)];
    let mut paths: Vec<String> = Vec::new();
    let is_name =
        |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.' | '/' | '+');
    for (at, _) in body.match_indices(FOLDER) {
        let before = body[..at].rsplit(|char: char| {
            char.is_whitespace() || matches!(char, '(' | '[' | '<' | '`' | '"' | '\'' | '*' | '|')
        });
        let before = before.into_iter().next().unwrap_or_default();
        // In another folder it is another file.
        let is_address = before.contains("://") && before.ends_with('/');
        if !(is_address || matches!(before.rsplit(':').next(), Some("" | "/" | "./"))) {
            continue;
        }
        let rest = &body[at + FOLDER.len()..];
        let rest = &rest[..rest.find(|char| !is_name(char)).unwrap_or(rest.len())];
        let Some(end) = rest.find(".md").map(|end| end + ".md".len()) else { continue };
        let (name, after) = rest.split_at(end);
        let is_whole = !name.contains('/') && after.trim_start_matches(['.', '/']).is_empty();
        let path = format!("{FOLDER}{name}");
        if is_whole && name.len() > ".md".len() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// The words of a name or a title that say what it is about, in its order.
fn keywords(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|word| {
        word.len() >= WORD_MIN
            && word.chars().any(char::is_alphabetic)
            && GENERIC.binary_search(&word.as_str()).is_err()
    })
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Whether the name of a file has a word, or one that begins with it: `skill` is in `onboarding-skills.md`.
fn has_word(path: &str, wanted: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".md").unwrap_or(name);
    words(name).any(|word| match wanted.chars().count() < WHOLE_BELOW {
        true => word == wanted,
        false => word.starts_with(wanted),
    })
}

/// The date that the name of a plan begins with, for comparing; the empty text if it has none. A commit knows no other.
fn date(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.find(|char: char| !(char.is_ascii_digit() || char == '-'));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests;
