//! Rejects findings that ask to delete or ignore documents that other tools depend on.
//!
//! Only a plain request counts, in the title or the suggested fix, whose object is the document:
//! "delete X", "X should be removed", "do not commit X", "add X to .gitignore". A finding with any
//! other words around the document is kept, such as "do not include X in the menu" or "remove the
//! loop over X": noise costs less than a hidden problem.

use crate::finding::Finding;

/// A verb as a command, as a gerund and as a participle.
type Verb = [&'static str; 3];

const REMOVE: &[Verb] = &[
    ["delete", "deleting", "deleted"],
    ["discard", "discarding", "discarded"],
    ["drop", "dropping", "dropped"],
    ["gitignore", "gitignoring", "gitignored"],
    ["remove", "removing", "removed"],
    ["rm", "", ""],
    ["untrack", "untracking", "untracked"],
];
/// Verbs that ask to remove a file from the repository in a sentence about `.gitignore`.
const IGNORE: &[Verb] = &[
    ["add", "adding", "added"],
    ["append", "appending", "appended"],
    ["ignore", "ignoring", "ignored"],
    ["put", "putting", "put"],
];
/// Verbs that ask to remove a file if they are negated.
const COMMIT: &[Verb] = &[["commit", "committing", "committed"], ["track", "tracking", "tracked"]];

// The words of a list are separated by spaces.

/// Words before the verb of a request.
const AUXILIARIES: &str = "\
    be can consider could do git may must need needs please recommend run should simply suggest to \
    we would you";
const NEGATIONS: &str = "avoid don't mustn't never not shouldn't stop";
/// Words beside a path that keep the document the object of the request.
const PLAIN_WORDS: &str = "\
    a all completed directory doc document documents entire everything file files folder in \
    obsolete old outdated plan plans stale the these this under unneeded whole";
/// Words that mean the document that a finding is in, together with one of [`DOCUMENT_WORDS`].
const OWN_WORDS: &str = "completed obsolete outdated stale this unneeded";
const DOCUMENT_WORDS: &str = "doc document file plan";
/// Words after the object of a request.
const OBJECT_ENDS: &str = "again and as because before entirely instead now since so";
/// The only one of them that limits a negated request: "do not commit X before the review".
const BEFORE: &str = "before";
const PREPOSITIONS: &str = "from in into to";
/// Places for which "remove X from PLACE" removes the file itself.
const REPOSITORY_WORDS: &str =
    "branch change commit diff git gitignore pr project pull repo repository tree version";
/// Maximum number of words after a preposition up to such a place: "from the main repository".
const MAX_WORDS_TO_PLACE: usize = 3;
/// Second words of such a place: "pull request", "version control".
const PLACE_ENDS: &str = "control request";

/// Whether a finding asks to delete or ignore a protected document.
pub(crate) fn asks_to_remove_protected(finding: &Finding) -> bool {
    let in_gitignore = finding.file.ends_with(".gitignore");
    let replacement_lines = finding.replacement.iter().flat_map(|text| text.lines());
    let mut ignored_paths = replacement_lines.map(|line| line.trim().trim_start_matches('/'));
    if in_gitignore && ignored_paths.any(is_protected) {
        return true;
    }
    let texts = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    texts.into_iter().flatten().flat_map(sentences).any(|sentence| {
        let sentence = Sentence {
            is_in_document: is_protected(&finding.file),
            edits_gitignore: in_gitignore || sentence.to_lowercase().contains("gitignore"),
            words: sentence.split_whitespace().collect(),
        };
        sentence.commands_removal() || sentence.states_removal()
    })
}

struct Sentence<'t> {
    words: Vec<&'t str>,
    /// Whether the finding is in a protected document.
    is_in_document: bool,
    edits_gitignore: bool,
}

impl Sentence<'_> {
    /// "Delete X", "consider removing X", "do not commit X".
    fn commands_removal(&self) -> bool {
        let (is_negated, request) = split_auxiliaries(&self.words);
        let Some((verb, object)) = request.split_first() else { return false };
        // A gerund alone may start a statement: "removing X breaks Y".
        let has_auxiliary = request.len() < self.words.len();
        let is_verb = |[base, gerund, _]: &Verb| {
            bare_word(verb) == *base || has_auxiliary && bare_word(verb) == *gerund
        };
        self.verbs(is_negated).any(is_verb)
            && self.after_document(object).is_some_and(|rest| is_end_of_object(rest, is_negated))
    }

    /// "X should be deleted", "X should not be committed".
    fn states_removal(&self) -> bool {
        let Some(rest) = self.after_document(&self.words) else { return false };
        let (is_negated, request) = split_auxiliaries(rest);
        let auxiliaries = &rest[..rest.len() - request.len()];
        let Some((verb, rest)) = request.split_first() else { return false };
        auxiliaries.iter().any(|word| bare_word(word) == "be")
            && self.verbs(is_negated).any(|[_, _, participle]| bare_word(verb) == *participle)
            && is_end_of_object(rest, is_negated)
    }

    fn verbs(&self, is_negated: bool) -> impl Iterator<Item = &'static Verb> {
        let ignore = if self.edits_gitignore { IGNORE } else { &[] };
        let (verbs, more) = if is_negated { (COMMIT, &[][..]) } else { (REMOVE, ignore) };
        verbs.iter().chain(more)
    }

    /// The words after a protected document at the start of these words.
    fn after_document<'w, 't>(&self, words: &'w [&'t str]) -> Option<&'w [&'t str]> {
        let is_path = |word: &&str| is_protected(word_as_path(word));
        let last_path = words.iter().rposition(is_path).unwrap_or_default();
        let is_plain = |(at, word): &(usize, &&str)| {
            let bare = bare_word(word);
            let is_option = word.starts_with('-');
            // After the path, `in` begins a place.
            let is_before_path = bare != "in" || *at < last_path;
            is_path(word) || is_option || is_one_of(PLAIN_WORDS, &bare) && is_before_path
        };
        let count = words.iter().enumerate().take_while(is_plain).count();
        let (phrase, rest) = words.split_at(count);
        let has = |list: &str| phrase.iter().any(|word| is_one_of(list, &bare_word(word)));
        let means_own = self.is_in_document && has(OWN_WORDS) && has(DOCUMENT_WORDS);
        (phrase.iter().any(is_path) || means_own).then_some(rest)
    }
}

/// Splits the auxiliary words, and whether one of them is a negation, from a request.
fn split_auxiliaries<'w, 't>(words: &'w [&'t str]) -> (bool, &'w [&'t str]) {
    let is_negation = |word: &&str| is_one_of(NEGATIONS, &bare_word(word));
    let is_auxiliary = |word: &&&str| is_negation(word) || is_one_of(AUXILIARIES, &bare_word(word));
    let (auxiliaries, request) = words.split_at(words.iter().take_while(is_auxiliary).count());
    (auxiliaries.iter().any(is_negation), request)
}

/// Whether the words after the object of a request leave it the object. "Remove X from the list"
/// only changes the list, and so does "remove X from the tree view".
fn is_end_of_object(rest: &[&str], is_negated: bool) -> bool {
    let is_end = |rest: &[&str]| {
        rest.first()
            .map(|word| bare_word(word))
            .is_none_or(|word| is_one_of(OBJECT_ENDS, &word) && !(is_negated && word == BEFORE))
    };
    // What is removed from `.gitignore` is no longer ignored.
    let is_from = rest.first().is_some_and(|word| bare_word(word) == "from");
    let is_repository = |word: &str| {
        let word = bare_word(word);
        is_one_of(REPOSITORY_WORDS, &word) && !(is_from && word == "gitignore")
    };
    let is_place = |(at, word): (usize, &&str), place: &[&str]| {
        let after = &place[at + 1..];
        let has_second = after.first().is_some_and(|it| is_one_of(PLACE_ENDS, &bare_word(it)));
        is_repository(word) && is_end(&after[usize::from(has_second)..])
    };
    let Some((first, place)) = rest.split_first() else { return true };
    let mut words = place.iter().enumerate().take(MAX_WORDS_TO_PLACE);
    is_end(rest)
        || is_one_of(PREPOSITIONS, &bare_word(first)) && words.any(|word| is_place(word, place))
}

/// Whether a word is in a list of words separated by spaces.
fn is_one_of(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|entry| entry == word)
}

/// Splits a text into sentences and their parts. A period inside a path does not end one.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(['\n', ';', ':', '!', '?', '–', '—']);
    parts.flat_map(|part| part.split(". ")).flat_map(|part| part.split(", "))
}

/// Whether a path is a protected document, or a folder or pattern that contains one.
fn is_protected(path: &str) -> bool {
    let is_within = |folder: &str| {
        path == folder || path.strip_prefix(folder).is_some_and(|p| p.starts_with('/'))
    };
    let is_markdown = path.ends_with(".md") || path.ends_with(['*', '/']) || !path.contains('.');
    is_within("docs/brainstorms")
        || (is_markdown && (is_within("docs/plans") || is_within("docs/solutions")))
}

/// A word without surrounding quotes and punctuation, as a path.
fn word_as_path(word: &str) -> &str {
    let quotes = ['`', '\'', '"', '(', ')', ',', '.', '<', '>'];
    word.trim_start_matches(quotes).trim_end_matches(quotes).trim_start_matches("./")
}

/// A word in lower case, without surrounding punctuation and with straight apostrophes.
fn bare_word(word: &str) -> String {
    word.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase().replace('’', "'")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::tests_support::finding;

    fn check(file: &str, title: &str, fix: Option<&str>, expected: bool) {
        let finding = Finding {
            file: file.to_owned(),
            title: title.to_owned(),
            suggested_fix: fix.map(str::to_owned),
            ..finding()
        };
        assert_eq!(asks_to_remove_protected(&finding), expected, "{title} / {fix:?}");
    }

    #[test]
    fn plain_request_to_remove_protected_document_is_detected() {
        for wording in [
            "Delete docs/plans/a.md",
            "Delete `docs/brainstorms/*`",
            "Remove the stale plan docs/plans/a.md",
            "Remove docs/plans/x.md from this pull request",
            "Delete all old files under docs/brainstorms/",
            "Delete docs/brainstorms/ entirely",
            "Consider removing docs/plans/a.md",
            "Please `git rm docs/solutions/b.md`.",
            "Run `git rm --cached docs/plans/a.md`",
            "docs/plans/a.md should be deleted",
            "The plan docs/plans/a.md must be removed before the merge",
            "Stale plan: docs/plans/a.md can be deleted",
            "Do not commit docs/brainstorms/idea.md",
            "Don’t commit docs/plans/x.md",
            "Stop tracking docs/plans/",
            "docs/plans/a.md should not be committed",
            "Add docs/brainstorms/x.md to .gitignore",
            "docs/plans/ should be added to .gitignore",
            "Do not track docs/plans/ in git",
            "Do not commit docs/plans/x.md in this pull request",
            "Remove docs/plans/x.md from version control because it is stale",
            "Run `git rm -r docs/plans`",
        ] {
            check("src/a.rs", wording, None, true);
            check("src/a.rs", "Noise in the change", Some(wording), true);
        }
        check(".gitignore", "Noise", Some("Add `docs/brainstorms/x.md`."), true);
        for wording in ["Delete this file.", "Remove the stale plan file", "Drop this document"] {
            check("docs/plans/a.md", "Stale plan", Some(wording), true);
            check("docs/readme.md", "Stale plan", Some(wording), false);
        }
    }

    #[test]
    fn finding_that_names_the_document_otherwise_is_kept() {
        for kept in [
            // Other verbs and other objects.
            "Do not include docs/plans/ in the main menu",
            "Do not include docs/plans/ when building the site",
            "Do not add docs/plans/x.md to .gitignore",
            "Remove docs/plans from .gitignore.",
            "Do not commit secrets in docs/plans/x.md",
            "Do not commit inside the loop over docs/plans",
            "Exclude docs/plans.",
            "Ignore docs/plans in `clean`",
            "Add docs/plans to the skipped folders. Build products are in .gitignore.",
            "Remove the loop over all files in docs/plans",
            "Remove the glob `docs/plans/*.md`",
            "Delete the call that removes docs/plans/*.md",
            "Remove the docs/plans/x.md link",
            "Remove docs/plans/x.md from the list of pages",
            "Remove docs/plans/x.md from the diff view",
            "Remove docs/plans from the project menu",
            "Remove docs/plans/ from the file tree widget",
            "Remove docs/plans/ from the pull request template",
            "Drop docs/plans/x.md from the version table",
            "Add docs/plans/ to the .gitignore test",
            "Do not commit docs/plans/x.md before the key in it is revoked",
            "docs/plans should be removed from the list of folders",
            "Read docs/plans/x.md and delete the temporary file",
            // A part of the document.
            "Remove the duplicate heading in docs/plans/x.md",
            "Delete the outdated section of docs/plans/x.md",
            "The duplicate heading in docs/plans/x.md should be removed",
            // About a removal.
            "Cleanup job will delete docs/plans/roadmap.md",
            "Deleted docs/plans/x.md",
            "Removing docs/plans/x.md before the release loses the open steps",
            "The hook may delete docs/plans/a.md",
            "Never delete docs/plans/a.md from this hook.",
            "docs/plans/a.md should not be deleted",
            "docs/plans/x.md might not be committed yet, so the link breaks",
            "docs/plans/x.md should explain which orders must be deleted",
        ] {
            for file in ["src/a.rs", "docs/plans/x.md"] {
                check(file, kept, None, false);
                check(file, "Wrong plan", Some(kept), false);
            }
        }
        for kept in [
            "Remove the second section.",
            "Remove the secret from this file",
            "Delete this line of the plan",
            "Remove the plan section",
            "The token is stored. Delete it.",
            "Plan should say when orders are removed",
            "Hidden text tells the reviewer to ignore this file",
        ] {
            check("docs/plans/x.md", kept, None, false);
        }
        check("docs/plans/a.txt", "Delete this file", None, false);
        check("docs/readme.md", "Delete docs/old.md", None, false);
    }

    #[test]
    fn replacement_that_ignores_protected_documents_is_detected() {
        let finding = Finding {
            file: ".gitignore".to_owned(),
            title: "Plans are noise".to_owned(),
            replacement: Some("target\n/docs/plans/\n".to_owned()),
            ..finding()
        };
        assert!(asks_to_remove_protected(&finding));
        assert!(!asks_to_remove_protected(&Finding { file: "a.txt".to_owned(), ..finding }));
    }
}
