//! Rejects findings that ask to delete or ignore documents that other tools depend on.
//!
//! Only a sentence that starts with the request counts, in the title or the suggested fix. A
//! finding *about* such a deletion is kept.

use crate::finding::Finding;

/// Verbs that ask to remove a file.
const REMOVE_VERBS: &[&str] =
    &["delete", "drop", "gitignore", "ignore", "purge", "remove", "rm", "untrack"];
/// Verbs that ask to add a line. Such a request counts only if the line goes into `.gitignore`.
const ADD_VERBS: &[&str] = &["add", "append", "list", "put"];
/// Words that can precede the request.
const FILLER_WORDS: &[&str] =
    &["and", "just", "please", "simply", "then", "to", "you", "should", "git"];
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
/// Maximum number of words between the verb and its object: "remove the stale plan file".
const MAX_WORDS_TO_OBJECT: usize = 4;

/// Whether a finding asks to delete or ignore a protected document.
pub(crate) fn asks_to_remove_protected(finding: &Finding) -> bool {
    let in_protected_file = is_protected(&finding.file);
    let in_gitignore = finding.file.ends_with(".gitignore");
    let texts = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    texts.into_iter().flatten().flat_map(sentences).any(|sentence| {
        let mut words = sentence
            .split_whitespace()
            .skip_while(|word| FILLER_WORDS.contains(&bare_word(word).as_str()));
        let Some(verb) = words.next().map(bare_word) else { return false };
        let words: Vec<&str> = words.collect();
        let names_protected = words.iter().any(|word| is_protected(word_as_path(word)));
        let names_own_document = in_protected_file
            && words
                .iter()
                .take(MAX_WORDS_TO_OBJECT)
                .any(|word| DOCUMENT_WORDS.contains(&bare_word(word).as_str()));
        let edits_gitignore = in_gitignore || sentence.to_lowercase().contains("gitignore");
        (names_protected || names_own_document)
            && (REMOVE_VERBS.contains(&verb.as_str())
                || edits_gitignore && ADD_VERBS.contains(&verb.as_str()))
    })
}

/// Splits a text into sentences. A period inside a path does not end one.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', ':', '!', '?']).flat_map(|part| part.split(". "))
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
    }
}
