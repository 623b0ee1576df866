//! The rules that every case keeps, wherever it was read: checked once, so that nothing after it has to ask.

use super::case::{Case, Files, Source};
use super::wrong::{Wrong, shown};
use crh_git::check_path;
use crh_review::diff::Diff;
use crh_review::eval::{Expected, LABELS_MAX, Span};
use crh_review::finding::Side;

/// How a description begins that somebody still has to write.
pub(crate) const DRAFT: &str = "DRAFT:";

/// The longest id, in bytes: it is the name of folders and a column of tables.
const ID_MAX: usize = 100;
/// The longest title, in characters: twice what any forge shows of one.
const TITLE_MAX: usize = 256;
/// The longest body, in bytes: what forges allow.
const BODY_MAX: usize = 65_536;
/// The longest text of a label, in bytes: a page.
const TEXT_MAX: usize = 8_192;
/// The most files of a case on one side: a small repository.
const FILES_MAX: usize = 5_000;
/// The largest file: larger ones are left out of reviews anyway.
pub(crate) const FILE_MAX: usize = 2 << 20;
/// The most bytes of a case on both sides. Suites are kept in repositories and read into memory as a whole.
pub(crate) const CASE_MAX: usize = 32 << 20;
/// The longest path, in bytes, and the longest name in it: what file systems allow.
const PATH_MAX: usize = 4_096;
const NAME_MAX: usize = 255;

/// Checks a case.
pub(crate) fn check(case: &Case) -> Result<(), Wrong> {
    id(&case.id)?;
    words(case)?;
    match &case.source {
        Source::Files { base, head } => files(base, head)?,
        Source::Commits { repo, base, head, diff } => {
            repository(repo)?;
            commit("base_commit", base)?;
            commit("head_commit", head)?;
            if !diff.is_empty() {
                is_diff(diff)?;
            }
        }
        Source::Diff(diff) => is_diff(diff)?,
    }
    labels(case)
}

/// Whether a name can be that of a case.
pub(crate) fn id(id: &str) -> Result<(), Wrong> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte);
    let is_good = id.bytes().all(is_plain)
        && id.starts_with(|first: char| first.is_ascii_alphanumeric())
        && !id.contains("..")
        && !id.ends_with('.')
        && !id.to_ascii_lowercase().ends_with(".lock")
        && id.len() <= ID_MAX;
    if is_good {
        return Ok(());
    }
    Err(Wrong::new(format!("`{}` cannot be the id of a case", shown(id))).hint(format!(
        "up to {ID_MAX} letters, digits, `.`, `_`, `~` and `-`, a letter or digit first, such as `python-late-fees`"
    )))
}

fn words(case: &Case) -> Result<(), Wrong> {
    let Case { title, body, language, .. } = case;
    if title.trim().is_empty() || title.chars().any(char::is_control) {
        return Err(Wrong::new("`title` is not one line of text")
            .hint("a title is what the author of a change would call it"));
    }
    if title.chars().count() > TITLE_MAX {
        return Err(Wrong::new(format!("`title` has more than {TITLE_MAX} characters"))
            .hint("put the rest into `body`"));
    }
    if body.len() > BODY_MAX || body.contains('\0') {
        let message = format!("`body` has a null character, or more than {BODY_MAX} bytes");
        return Err(Wrong::new(message).hint("a body is what the author of a change says about it"));
    }
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+#._-".contains(&byte);
    if language.is_empty() || language.len() > NAME_MAX || !language.bytes().all(is_plain) {
        let message = format!("`language` is `{}`, which is no word for one", shown(language));
        return Err(Wrong::new(message).hint("write it in lower case, such as `python` or `c`"));
    }
    text("licence", &case.licence)
}

fn text(key: &str, text: &str) -> Result<(), Wrong> {
    if text.len() <= TEXT_MAX {
        return Ok(());
    }
    Err(Wrong::new(format!("`{key}` has more than {TEXT_MAX} bytes")).hint("say it in fewer words"))
}

fn files(base: &Files, head: &Files) -> Result<(), Wrong> {
    let mut total = 0;
    for (side, files) in [("base", base), ("head", head)] {
        if files.len() > FILES_MAX {
            return Err(Wrong::new(format!("the {side} has more than {FILES_MAX} files"))
                .hint("keep only what the change touches, and what it calls and is called by"));
        }
        for (path, bytes) in files {
            check_file(path)?;
            let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            if let Some(folder) = { folders }.find(|folder| files.contains_key(*folder)) {
                let message = format!("`{}` is a file and a folder in the {side}", shown(folder));
                return Err(Wrong::new(message).hint("take one of them out"));
            }
            if bytes.len() > FILE_MAX {
                return Err(too_large(path));
            }
            total += bytes.len();
        }
    }
    if total > CASE_MAX {
        return Err(too_much());
    }
    if base == head {
        return Err(Wrong::new("the change changes nothing: base and head are the same").hint(
            "`head` holds the files that the change adds or modifies, as they are after it",
        ));
    }
    Ok(())
}

pub(crate) fn too_large(path: &str) -> Wrong {
    Wrong::new(format!("`{}` is larger than {} MiB", shown(path), FILE_MAX >> 20))
        .hint("leave it out, or cut it to the part that matters")
}

pub(crate) fn too_much() -> Wrong {
    Wrong::new(format!("the files have more than {} MiB", CASE_MAX >> 20))
        .hint("keep only what the change touches, and what it calls and is called by")
}

/// Whether a path can be that of a file in a case: below the root, and nothing that git would take for its own.
pub(crate) fn check_file(path: &str) -> Result<(), Wrong> {
    let is_below = !path.is_empty()
        && !path.ends_with('/')
        && path.len() <= PATH_MAX
        && check_path(path.as_bytes()).is_ok();
    let is_gits =
        |name: &str| ["", ".git", "git~1"].iter().any(|git| name.eq_ignore_ascii_case(git));
    let is_plain =
        |name: &str| name.len() <= NAME_MAX && !is_gits(name.trim_end_matches(['.', ' ']));
    if is_below && path.split('/').all(is_plain) {
        return Ok(());
    }
    Err(Wrong::new(format!("`{}` cannot be the path of a file in a case", shown(path))).hint(
        "write it from the root of the repository, with `/`, without `..` and without `.git`",
    ))
}

/// Whether a name can be that of a repository.
pub(crate) fn repository(repo: &str) -> Result<(), Wrong> {
    if check_file(repo).is_ok() && !repo.contains('\\') {
        return Ok(());
    }
    Err(Wrong::new(format!("`repo` is `{}`, which is no name of a repository", shown(repo)))
        .hint("write `owner/name`"))
}

fn commit(key: &str, name: &str) -> Result<(), Wrong> {
    let is_hash = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if name.len() == 40 && name.bytes().all(is_hash) {
        return Ok(());
    }
    Err(Wrong::new(format!("`{key}` is `{}`, which is no commit", shown(name)))
        .hint("give all 40 characters of its hash"))
}

fn is_diff(diff: &[u8]) -> Result<(), Wrong> {
    if Diff::read(diff).files().is_empty() {
        return Err(Wrong::new("`diff` has no file in it").hint("give it as `git diff` prints it"));
    }
    Ok(())
}

fn labels(case: &Case) -> Result<(), Wrong> {
    let Case { expected, known_bad, .. } = case;
    if expected.len() > LABELS_MAX || known_bad.len() > LABELS_MAX {
        return Err(Wrong::new(format!("there are more than {LABELS_MAX} labels of one kind"))
            .hint("make several cases of it"));
    }
    if let (Some(other), false) = (&case.twin_of, expected.is_empty()) {
        let message =
            format!("it is the twin of `{}`, and yet `expected` is not empty", shown(other));
        return Err(Wrong::new(message)
            .hint("a twin puts right what is wrong with the other: leave `expected` out"));
    }
    for (at, issue) in expected.iter().enumerate() {
        let key = format!("expected[{at}]");
        described(&key, &issue.description)?;
        if issue.spans.is_empty() || issue.spans.len() > LABELS_MAX {
            return Err(Wrong::new(format!("`{key}` has no place, or more than {LABELS_MAX}"))
                .hint("name the lines that show it"));
        }
        for (number, place) in issue.spans.iter().enumerate() {
            let also = number.checked_sub(1).map(|also| format!("{key}.also[{also}]"));
            span(also.as_deref().unwrap_or(&key), place, &case.source)?;
        }
        let is_word = |word: &String| !word.trim().is_empty() && word.len() <= NAME_MAX;
        if issue.keywords.len() > LABELS_MAX || !issue.keywords.iter().all(is_word) {
            return Err(Wrong::new(format!("`{key}.keywords` is not a list of words"))
                .hint("three to six words or short phrases that a correct comment would contain"));
        }
    }
    for (at, bad) in known_bad.iter().enumerate() {
        let key = format!("known_bad[{at}]");
        described(&key, &bad.description)?;
        span(&key, &bad.span, &case.source)?;
    }
    Ok(())
}

/// Refuses labels that somebody still has to write: a score against them would mean nothing.
pub(crate) fn is_finished(case: &Case) -> Result<(), Wrong> {
    if case.is_draft {
        return Err(Wrong::new("it is still a draft: nobody has said what is wrong with it").hint(
            "write an `[[expected]]` for what is, or none if nothing is, and take `draft = true` out",
        ));
    }
    let is_draft = |issue: &Expected| issue.description.starts_with(DRAFT);
    let Some(at) = case.expected.iter().position(is_draft) else { return Ok(()) };
    Err(Wrong::new(format!("`expected[{at}].description` is still a draft")).hint(format!(
        "say what is wrong there and check category, severity and lines, then take `{DRAFT}` out"
    )))
}

fn described(key: &str, description: &str) -> Result<(), Wrong> {
    let key = format!("{key}.description");
    if description.trim().is_empty() {
        return Err(
            Wrong::new(format!("`{key}` is empty")).hint("say what is wrong, in a sentence")
        );
    }
    text(&key, description)
}

/// Whether lines are there, as far as the files are known.
fn span(key: &str, span: &Span, source: &Source) -> Result<(), Wrong> {
    check_file(span.file())
        .map_err(|_| {
            Wrong::new(format!("`{key}.file` is `{}`, which is no path", shown(span.file())))
        })
        .map_err(|wrong| wrong.hint("write it from the root of the repository, with `/`"))?;
    let (files, side, other) = match (source, span.side()) {
        (Source::Files { base, .. }, Side::Old) => (base, "before", "new"),
        (Source::Files { head, .. }, Side::New) => (head, "after", "old"),
        (Source::Commits { .. } | Source::Diff(_), Side::Old | Side::New) => return Ok(()),
    };
    let Some(bytes) = files.get(span.file()) else {
        let message = format!(
            "`{key}.file` is `{}`, which is not there {side} the change",
            shown(span.file())
        );
        return Err(Wrong::new(message)
            .hint(format!("check the path; lines of the other side have `side = \"{other}\"`")));
    };
    let lines = lines(bytes);
    if u64::from(span.line_end()) <= lines {
        return Ok(());
    }
    let (first, last) = (span.line_start(), span.line_end());
    let message = format!(
        "`{key}` is at lines {first} to {last}, but `{}` has {lines} {side} the change",
        shown(span.file())
    );
    Err(Wrong::new(message).hint("lines are counted from 1, on the side that `side` says"))
}

/// How many lines a text has; what follows the last newline is one too.
fn lines(bytes: &[u8]) -> u64 {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|_| 1).sum()
}
