//! Rejects findings that ask to delete or ignore documents that other tools depend on.
//!
//! Only a request counts, in the title or the suggested fix: "delete X", "consider removing X", "X
//! should be deleted", "X does not belong in the repository". A finding *about* such a deletion is
//! kept. So is a request not to delete.

use crate::finding::Finding;

/// Verbs that ask to remove a file.
const REMOVE_VERBS: &[&str] = &[
    "delete",
    "discard",
    "drop",
    "erase",
    "exclude",
    "gitignore",
    "ignore",
    "purge",
    "remove",
    "rm",
    "untrack",
];
/// Verbs that ask to add a line. Such a request counts only if the line goes into `.gitignore`.
const ADD_VERBS: &[&str] = &["add", "append", "list", "put"];
/// Verbs that keep a file in the repository. Asking not to do so asks to remove it.
const KEEP_VERBS: &[&str] = &["check", "commit", "include", "keep", "track", "version"];
/// Pairs of words that ask to remove a file.
const REMOVE_PHRASES: &[[&str; 2]] = &[
    ["get", "rid"],
    ["getting", "rid"],
    ["stop", "committing"],
    ["stop", "tracking"],
    ["stop", "versioning"],
];
/// Words that can precede the request.
const FILLER_WORDS: &[&str] = &[
    "also",
    "and",
    "better",
    "by",
    "can",
    "consider",
    "could",
    "either",
    "git",
    "i",
    "instead",
    "it",
    "just",
    "maybe",
    "might",
    "must",
    "or",
    "perhaps",
    "please",
    "recommend",
    "run",
    "should",
    "simply",
    "so",
    "suggest",
    "the",
    "then",
    "to",
    "want",
    "we",
    "would",
    "you",
];
/// Words before "be", "not" or "to be" in a request such as "X should be deleted".
const MODAL_WORDS: &[&str] =
    &["can", "could", "may", "might", "must", "need", "needs", "ought", "should", "shall"];
/// Words that name the document in which the finding is.
const DOCUMENT_WORDS: &[&str] = &[
    "directory",
    "doc",
    "docs",
    "document",
    "documents",
    "file",
    "files",
    "folder",
    "it",
    "plan",
    "plans",
];
/// Maximum number of words between the verb and its object, in both orders: "remove the stale plan
/// file", "the stale plan file should be removed".
const MAX_WORDS_TO_OBJECT: usize = 4;
/// Maximum number of words up to the participle: "be simply deleted".
const MAX_WORDS_TO_PARTICIPLE: usize = 2;

/// Whether a finding asks to delete or ignore a protected document.
pub(crate) fn asks_to_remove_protected(finding: &Finding) -> bool {
    let in_gitignore = finding.file.ends_with(".gitignore");
    let replacement_lines = finding.replacement.iter().flat_map(|text| text.lines());
    let mut ignored_paths = replacement_lines.map(|line| line.trim().trim_start_matches('/'));
    if in_gitignore && ignored_paths.any(is_protected) {
        return true;
    }
    let texts = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    texts.into_iter().flatten().any(|text| {
        // "It" can be a document that the text names before.
        let is_about_protected = is_protected(&finding.file)
            || text.split_whitespace().any(|word| is_protected(word_as_path(word)));
        let edits_gitignore = in_gitignore || text.to_lowercase().contains("gitignore");
        let context = RequestContext { is_about_protected, edits_gitignore };
        sentences(text).any(|sentence| {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            context.commands_removal(&words) || context.states_removal(&words)
        })
    })
}

/// What a sentence may refer to.
struct RequestContext {
    is_about_protected: bool,
    edits_gitignore: bool,
}

impl RequestContext {
    /// Whether a sentence starts with the request: "delete X", "consider removing X".
    fn commands_removal(&self, words: &[&str]) -> bool {
        let is_filler = |word: &&&str| FILLER_WORDS.contains(&bare_word(word).as_str());
        let filler_count = words.iter().take_while(is_filler).count();
        let Some((verb, object)) = words[filler_count..].split_first() else { return false };
        let verb = bare_word(verb);
        let next_word = object.first().map(|word| bare_word(word)).unwrap_or_default();
        let is_removal = is_form_of(&verb, REMOVE_VERBS)
            || self.edits_gitignore && is_form_of(&verb, ADD_VERBS)
            || REMOVE_PHRASES.contains(&[verb.as_str(), next_word.as_str()]);
        is_removal && self.names_document(object)
    }

    /// Whether a sentence says what should happen to a document: "X should be deleted", "X should
    /// not be committed", "X does not belong here".
    fn states_removal(&self, words: &[&str]) -> bool {
        let bare_words: Vec<String> = words.iter().map(|word| bare_word(word)).collect();
        let is_request_start = |word: &String| {
            MODAL_WORDS.contains(&word.as_str())
                || matches!(word.as_str(), "do" | "does" | "belongs")
        };
        let Some(start) = bare_words.iter().position(is_request_start) else { return false };
        // A sentence about something else names the document late: "the job may delete docs/x.md".
        let subject = &words[..start];
        if !self.names_document(subject) {
            return false;
        }
        let request: Vec<&str> = bare_words[start + 1..].iter().map(String::as_str).collect();
        let is_negated = request.iter().take(2).any(|word| matches!(*word, "not" | "never"))
            || bare_words[start].ends_with("n't");
        let is_passive_of = |verbs: &[&str]| {
            let after_be = request.iter().skip_while(|word| **word != "be").skip(1);
            after_be.take(MAX_WORDS_TO_PARTICIPLE).any(|word| is_form_of(word, verbs))
        };
        let has_word = |expected: &str| request.contains(&expected);
        match bare_words[start].as_str() {
            "do" | "does" => is_negated && has_word("belong"),
            "belongs" => self.edits_gitignore,
            _ if is_negated => is_passive_of(KEEP_VERBS),
            _ => is_passive_of(REMOVE_VERBS) || self.edits_gitignore && is_passive_of(ADD_VERBS),
        }
    }

    /// Whether words name a protected document by its path, or the document of the finding.
    fn names_document(&self, words: &[&str]) -> bool {
        let names_protected = words.iter().any(|word| is_protected(word_as_path(word)));
        let is_document_word = |word: &&str| DOCUMENT_WORDS.contains(&bare_word(word).as_str());
        names_protected
            || self.is_about_protected
                && words.iter().take(MAX_WORDS_TO_OBJECT).any(is_document_word)
    }
}

/// Whether a word is one of the verbs, its participle or its gerund: `delete`, `deleted`,
/// `deleting`, `dropped`.
fn is_form_of(word: &str, verbs: &[&str]) -> bool {
    verbs.iter().any(|verb| {
        let stem = verb.strip_suffix('e').unwrap_or(verb);
        let last = &verb[verb.len() - 1..];
        let suffix = word.strip_prefix(stem).map(|rest| rest.strip_prefix(last).unwrap_or(rest));
        word == *verb || matches!(suffix, Some("ed" | "d" | "ing" | "ting"))
    })
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

/// A word in lower case, without surrounding punctuation.
fn bare_word(word: &str) -> String {
    word.trim_matches(|char: char| !char.is_alphanumeric()).to_lowercase()
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
    fn request_to_remove_protected_document_is_detected() {
        check("docs/plans/a.md", "Stale plan", Some("Delete this file."), true);
        check("docs/plans/a.md", "Remove the stale plan file", None, true);
        check(".gitignore", "Noise", Some("Add `docs/brainstorms/x.md`."), true);
        check("a.rs", "Add docs/brainstorms/x.md to .gitignore", None, true);
        check("a.rs", "Delete docs/brainstorms/ entirely", None, true);
        check("a.rs", "Delete `docs/brainstorms/*`", None, true);
        check("src/a.rs", "Clean up", Some("Please `git rm docs/solutions/b.md`."), true);
        check("docs/plans/a.md", "Plans do not belong here", Some("Ignore it in .gitignore"), true);
    }

    #[test]
    fn every_wording_of_the_request_is_detected() {
        for wording in [
            "docs/plans/a.md should be deleted",
            "The plan docs/plans/a.md is stale and should be removed",
            "docs/plans/a.md must be dropped from the change",
            "Consider removing docs/plans/a.md",
            "We suggest deleting docs/solutions/b.md",
            "I would exclude docs/brainstorms/ from the repository",
            "Get rid of docs/plans/a.md",
            "Stop tracking docs/plans/",
            "Run `git rm --cached docs/plans/a.md`",
            "docs/plans/a.md should not be committed",
            "docs/plans/a.md does not belong in the repository",
            "docs/plans/ should be added to .gitignore",
            "docs/plans/ belongs in .gitignore",
            "docs/plans/a.md is done, so delete it",
            "Stale plan: docs/plans/a.md can be deleted",
        ] {
            check("src/a.rs", wording, None, true);
            check("src/a.rs", "Noise in the change", Some(wording), true);
        }
        for wording in [
            "This plan should not be checked in",
            "The plan file needs to be deleted",
            "Drop this document",
            "Plan files do not belong here",
        ] {
            check("docs/plans/a.md", wording, None, true);
            check("docs/readme.md", wording, None, false);
        }
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

    #[test]
    fn finding_about_a_removal_is_kept() {
        check("src/a.rs", "Remove the unused file handle", None, false);
        check("docs/plans/a.md", "R3 removes the login check", Some("Keep the check"), false);
        check("docs/plans/a.txt", "Delete this file", None, false);
        check("docs/readme.md", "Delete docs/old.md", None, false);
        check("src/a.rs", "Cleanup job will delete docs/plans/roadmap.md", None, false);
        check(
            "src/a.rs",
            "Hook deletes plans",
            Some("Never delete docs/plans/a.md from this hook."),
            false,
        );
        check("docs/plans/a.md", "Hidden text tells the reviewer to ignore this file", None, false);
        check("docs/plans/a.md", "Wrong section", Some("Remove the second section."), false);
        for kept in [
            "docs/plans/a.md should not be deleted",
            "The hook may delete docs/plans/a.md",
            "The job ignores docs/plans/a.md when it should read it",
            "docs/plans/a.md does not say who deletes old orders",
            "Do not ignore docs/plans/a.md",
            "docs/plans/a.md should be read before the cache is dropped",
            "Add docs/plans/a.md to the index of plans",
        ] {
            check("src/a.rs", kept, None, false);
        }
        check("docs/plans/a.md", "Plan should say when orders are removed", None, false);
    }
}
