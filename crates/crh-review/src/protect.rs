//! Documents that other tools live by: no finding may ask to delete or ignore them.

use crate::finding::Finding;

/// Words that ask for a file to go away.
const REMOVAL: &[&str] = &[
    "delete",
    "deleting",
    "drop",
    "gitignore",
    "ignore",
    "purge",
    "remove",
    "removing",
    "rm",
    "untrack",
];
/// Words for the file itself, when the finding stands in it.
const ITSELF: &[&str] = &["directory", "doc", "document", "file", "files", "folder", "plan"];
/// How far from the removal word its object may stand: "remove the stale plan file".
const REACH: usize = 4;

/// Whether a finding asks to delete or ignore a protected document.
pub(crate) fn asks_to_remove_protected(finding: &Finding) -> bool {
    let texts = [Some(finding.title.as_str()), finding.suggested_fix.as_deref()];
    let in_protected_file = is_protected(&finding.file);
    texts.into_iter().flatten().any(|text| {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.iter().enumerate().any(|(at, word)| {
            let follows = &words[at + 1..words.len().min(at + 1 + REACH)];
            let object = |next: &&str| {
                is_protected(path_in(next))
                    || in_protected_file && ITSELF.contains(&plain(next).as_str())
            };
            let to_gitignore = in_protected_file && plain(text).contains("gitignore");
            REMOVAL.contains(&plain(word).as_str()) && (follows.iter().any(object) || to_gitignore)
        })
    })
}

/// Whether a path is one of the protected documents.
fn is_protected(path: &str) -> bool {
    let within = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| !rest.is_empty());
    within("docs/brainstorms/")
        || ((within("docs/plans/") || within("docs/solutions/")) && path.ends_with(".md"))
}

/// A word as a path: without the quotes and punctuation of a sentence.
fn path_in(word: &str) -> &str {
    word.trim_matches(|char: char| !char.is_alphanumeric() && char != '_')
}

/// A word in lower case, without punctuation around it.
fn plain(word: &str) -> String {
    path_in(word).to_lowercase()
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
        check(
            ".gitignore",
            "Noise",
            Some("Add `docs/brainstorms/x.md`: ignore docs/brainstorms/x.md"),
            true,
        );
        check("src/a.rs", "Clean up", Some("rm docs/solutions/b.md"), true);
        check("docs/plans/a.md", "Plans do not belong here", Some("Ignore it in .gitignore"), true);
    }

    #[test]
    fn other_removals_are_findings_like_any_other() {
        check("src/a.rs", "Remove the unused file handle", None, false);
        check("docs/plans/a.md", "R3 removes the login check", Some("Keep the check"), false);
        check("docs/plans/a.txt", "Delete this file", None, false);
        check("docs/readme.md", "Delete docs/old.md", None, false);
    }
}
