//! Documents that other tools live by: no finding may ask to delete or ignore them.
//!
//! Only what asks counts: a sentence that begins with the request, in the title or the suggested fix. A finding
//! *about* such a deletion is a finding like any other.

use crate::finding::Finding;

/// Words that ask for a file to go away.
const REMOVE: &[&str] =
    &["delete", "drop", "gitignore", "ignore", "purge", "remove", "rm", "untrack"];
/// Words that ask for a line, which is a request of this kind when the line is one of `.gitignore`.
const ADD: &[&str] = &["add", "append", "list", "put"];
/// What may stand before the request.
const FILLERS: &[&str] = &["and", "just", "please", "simply", "then", "to", "you", "should", "git"];
/// Words for the document itself, when the finding stands in it.
const ITSELF: &[&str] = &[
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
/// How far from the request its object may stand: "remove the stale plan file".
const REACH: usize = 4;

/// Whether a finding asks to delete or ignore a protected document.
pub(crate) fn asks_to_remove_protected(finding: &Finding) -> bool {
    let in_protected_file = is_protected(&finding.file);
    let in_gitignore = finding.file.ends_with(".gitignore");
    let texts = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    texts.into_iter().flatten().flat_map(sentences).any(|sentence| {
        let mut words =
            sentence.split_whitespace().skip_while(|word| FILLERS.contains(&plain(word).as_str()));
        let Some(request) = words.next().map(plain) else { return false };
        let words: Vec<&str> = words.collect();
        let names_protected = words.iter().any(|word| is_protected(path_in(word)));
        let names_itself = in_protected_file
            && words.iter().take(REACH).any(|word| ITSELF.contains(&plain(word).as_str()));
        let ignores = in_gitignore || sentence.to_lowercase().contains("gitignore");
        (names_protected || names_itself)
            && (REMOVE.contains(&request.as_str()) || ignores && ADD.contains(&request.as_str()))
    })
}

/// The sentences of a text. A period inside a path ends none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', ';', ':', '!', '?']).flat_map(|part| part.split(". "))
}

/// Whether a path is one of the protected documents, or a folder or pattern that holds them.
fn is_protected(path: &str) -> bool {
    let within = |folder: &str| {
        path == folder || path.strip_prefix(folder).is_some_and(|p| p.starts_with('/'))
    };
    let is_markdown = path.ends_with(".md") || path.ends_with(['*', '/']) || !path.contains('.');
    within("docs/brainstorms")
        || (is_markdown && (within("docs/plans") || within("docs/solutions")))
}

/// A word as a path: without the quotes and punctuation of a sentence.
fn path_in(word: &str) -> &str {
    let quotes = ['`', '\'', '"', '(', ')', ',', '.', '<', '>'];
    word.trim_start_matches(quotes).trim_end_matches(quotes).trim_start_matches("./")
}

/// A word in lower case, without punctuation around it.
fn plain(word: &str) -> String {
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
    fn asking_to_remove_a_protected_document_is_noticed() {
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
    fn a_finding_about_a_removal_is_one_like_any_other() {
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
