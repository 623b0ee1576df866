//! Finds the requirements document of a change: named by the user, linked in the description, or
//! the only one that matches the branch name. A wrong document is worse than none.

use std::collections::BTreeSet;

use super::{RequirementsDoc, parse_document};
use crh_review::report::PlanSource;

/// Folder of the documents.
pub const PLANS_FOLDER: &str = "docs/plans/";
/// Maximum bytes of a title and description to search.
const TEXT_MAX: usize = 256 * 1024;
/// Maximum number of keywords of a branch name. Further ones are ignored.
const KEYWORDS_MAX: usize = 3;
/// Minimum length of a word that may match the beginning of a longer word. Shorter words must match
/// completely: `pay` does not match `payload`.
const PREFIX_MATCH_MIN: usize = 4;
/// Minimum length of a keyword.
const WORD_MIN: usize = 3;

/// Words that many plans and branches contain, sorted.
const GENERIC_WORDS: &[&str] = &[
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

/// Where a document may be named.
#[derive(Debug, Clone, Copy)]
pub struct RequirementsClues<'a> {
    /// Path and text of a document that the user named.
    pub explicit: Option<(&'a str, &'a str)>,
    /// Title of the change. Empty if there is none.
    pub title: &'a str,
    /// Description of the change. Empty if there is none.
    pub body: &'a str,
    /// Where the description comes from.
    pub body_source: DescriptionSource,
    /// Branch name. Empty if there is none.
    pub branch: &'a str,
    /// Files in [`PLANS_FOLDER`], at head or untracked in the checkout.
    pub plans: &'a [String],
}

/// Where the description of a change comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptionSource {
    /// A pull request or merge proposal.
    Proposal,
    /// Commit messages.
    Commits,
}

/// Result of the search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequirementsSearch {
    /// The document. It may have no items.
    pub document: Option<RequirementsDoc>,
    /// Notes on documents that were not used, and on parts that could not be read.
    pub notes: Vec<String>,
}

/// Finds the document. `text_of` reads a file, and returns None if that fails.
pub fn discover(
    clues: &RequirementsClues<'_>,
    text_of: impl Fn(&str) -> Option<String>,
) -> RequirementsSearch {
    if let Some((path, text)) = clues.explicit {
        let (document, notes) = parse_document(path, PlanSource::Explicit, text);
        return RequirementsSearch { document: Some(document), notes };
    }
    let mut search = RequirementsSearch::default();
    let linked_plan = match plan_in_description(clues) {
        Ok(linked_plan) => linked_plan,
        Err(note) => {
            search.notes.push(note);
            None
        }
    };
    let inferred_plan = || plan_by_branch(clues).map(|path| (path, PlanSource::Inferred));
    let Some((path, source)) = linked_plan.or_else(inferred_plan) else { return search };
    match text_of(&path) {
        Some(text) => {
            let (document, notes) = parse_document(&path, source, &text);
            search.document = Some(document);
            search.notes.extend(notes);
        }
        None => search.notes.push(format!("the plan `{path}` could not be read")),
    }
    search
}

/// The document that the title or the description links to. Only existing files count. The title
/// of a commit is the first line of its message, so it counts like the description.
///
/// - If a proposal has one link, the linked document counts as explicit.
/// - If there are several links, the newest document that matches the title or the branch counts as
///   inferred.
/// - In commit messages, the document of a single link counts as inferred, since a message may
///   mention a plan in passing. If lines `Plan: PATH` state exactly one plan, that plan counts as
///   explicit, even next to other links.
fn plan_in_description(
    clues: &RequirementsClues<'_>,
) -> Result<Option<(String, PlanSource)>, String> {
    let text = format!("{}\n\n{}", clues.title, clues.body);
    let mentioned_paths = mentioned_plans(&text);
    let existing_paths: Vec<&String> =
        mentioned_paths.iter().filter(|path| clues.plans.contains(path)).collect();
    let is_stated = |path: &str| text.lines().any(|line| states_plan(line, path));
    let stated_paths: Vec<&&String> =
        existing_paths.iter().filter(|path| is_stated(path)).collect();
    match (mentioned_paths.len(), existing_paths.as_slice()) {
        (0, _) => Ok(None),
        // Subjects of other commits may mention further plans.
        (_, _) if clues.body_source == DescriptionSource::Commits && stated_paths.len() == 1 => {
            Ok(Some(((*stated_paths[0]).clone(), PlanSource::Explicit)))
        }
        (1, [path]) => {
            let source = match clues.body_source {
                DescriptionSource::Proposal => PlanSource::Explicit,
                DescriptionSource::Commits => PlanSource::Inferred,
            };
            Ok(Some(((*path).clone(), source)))
        }
        (1, _) => Err(format!(
            "the description names the plan `{}`, which does not exist",
            mentioned_paths[0]
        )),
        (several, []) => {
            Err(format!("the description names {several} plans, none of which exists"))
        }
        (several, existing_paths) => {
            let topic_words: BTreeSet<String> =
                keywords(clues.title).chain(keywords(clues.branch)).collect();
            let is_related = |path: &&&String| topic_words.iter().any(|word| has_word(path, word));
            let newest_path =
                existing_paths.iter().filter(is_related).max_by_key(|path| name_date(path));
            let newest_plan = newest_path.map(|path| ((**path).clone(), PlanSource::Inferred));
            newest_plan.map(Some).ok_or_else(|| {
                format!("the description names {several} plans, none of which matches its title")
            })
        }
    }
}

/// Whether a line is `Plan:` and one word.
pub(crate) fn is_plan_line(line: &str) -> bool {
    let (label, rest) = line.trim().split_once(':').unwrap_or_default();
    label.eq_ignore_ascii_case("plan") && rest.split_whitespace().count() == 1
}

/// Whether a line is `Plan: PATH`, without other words.
fn states_plan(line: &str, path: &str) -> bool {
    let (label, rest) = line.trim().split_once(':').unwrap_or_default();
    let rest = rest.trim().trim_end_matches('.').trim_matches(['`', '<', '>']);
    label.eq_ignore_ascii_case("plan") && rest.trim_start_matches("./") == path
}

/// The only document whose name contains all keywords of the branch. None if there are several.
fn plan_by_branch(clues: &RequirementsClues<'_>) -> Option<String> {
    let words: Vec<String> = keywords(clues.branch).take(KEYWORDS_MAX).collect();
    let has_all =
        |path: &&String| path.ends_with(".md") && words.iter().all(|word| has_word(path, word));
    let mut matching_plans = clues.plans.iter().filter(|_| !words.is_empty()).filter(has_all);
    let first_match = matching_plans.next()?;
    matching_plans.next().is_none().then(|| first_match.clone())
}

/// Paths `docs/plans/*.md` in a text, as plain paths or in URLs, deduplicated.
fn mentioned_plans(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(TEXT_MAX)];
    let mut paths: Vec<String> = Vec::new();
    let is_name =
        |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '.' | '/' | '+');
    for (start, _) in text.match_indices(PLANS_FOLDER) {
        let words_before = text[..start].rsplit(|char: char| {
            char.is_whitespace() || matches!(char, '(' | '[' | '<' | '`' | '"' | '\'' | '*' | '|')
        });
        let text_before = words_before.into_iter().next().unwrap_or_default();
        // `other/docs/plans/a.md` is another file than `docs/plans/a.md`.
        let is_url = text_before.contains("://") && text_before.ends_with('/');
        if !(is_url || matches!(text_before.rsplit(':').next(), Some("" | "/" | "./"))) {
            continue;
        }
        let rest = &text[start + PLANS_FOLDER.len()..];
        let rest = &rest[..rest.find(|char| !is_name(char)).unwrap_or(rest.len())];
        let Some(end) = rest.find(".md").map(|end| end + ".md".len()) else { continue };
        let (name, suffix) = rest.split_at(end);
        let is_whole = !name.contains('/') && suffix.trim_start_matches(['.', '/']).is_empty();
        let path = format!("{PLANS_FOLDER}{name}");
        if is_whole && name.len() > ".md".len() && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Keywords of a name or title, in order.
fn keywords(text: &str) -> impl Iterator<Item = String> {
    words(text).filter(|word| {
        word.len() >= WORD_MIN
            && word.chars().any(char::is_alphabetic)
            && GENERIC_WORDS.binary_search(&word.as_str()).is_err()
    })
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

/// Whether a file name has a word with this prefix: `skill` matches `onboarding-skills.md`. A
/// prefix that is shorter than [`PREFIX_MATCH_MIN`] must be the whole word.
fn has_word(path: &str, prefix: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(".md").unwrap_or(name);
    words(name).any(|word| match prefix.chars().count() < PREFIX_MATCH_MIN {
        true => word == prefix,
        false => word.starts_with(prefix),
    })
}

/// The date at the beginning of a file name, or an empty string.
fn name_date(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let end = name.find(|char: char| !(char.is_ascii_digit() || char == '-'));
    &name[..end.unwrap_or(name.len())]
}

#[cfg(test)]
mod tests;
