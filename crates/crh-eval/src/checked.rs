//! Validation of cases. Every case of every format is checked once after reading.

use super::case::{Case, CaseSource, Files};
use super::case_error::{CaseError, shown};
use crh_git::check_path;
use crh_review::diff::Diff;
use crh_review::eval::{Expected, LABELS_MAX, Span};
use crh_review::finding::Side;

/// Prefix of a description that a person still has to write.
pub(crate) const DRAFT: &str = "DRAFT:";

/// Longest id, in bytes. Ids are folder names and table columns.
const ID_MAX: usize = 100;
/// Longest title, in characters: twice what forges show.
const TITLE_MAX: usize = 256;
/// Longest description, in bytes: the limit of forges.
const BODY_MAX: usize = 65_536;
/// Longest label text, in bytes: about a page.
const TEXT_MAX: usize = 8_192;
/// Maximum number of files per side: a small repository.
const FILES_MAX: usize = 5_000;
/// Largest file, in bytes. Reviews leave out larger ones by default.
pub(crate) const FILE_MAX: usize = 2 << 20;
/// Maximum bytes of a case, both sides together. Suites are stored in repositories and read into
/// memory whole.
pub(crate) const CASE_MAX: usize = 32 << 20;
/// Longest path and longest file name, in bytes: the limits of file systems.
const PATH_MAX: usize = 4_096;
const NAME_MAX: usize = 255;

pub(crate) fn check(case: &Case) -> Result<(), CaseError> {
    check_id(&case.id)?;
    check_texts(case)?;
    match &case.source {
        CaseSource::Files { base, head } => check_files(base, head)?,
        CaseSource::Commits { repo, clone: _, base, head, diff } => {
            check_repository(repo)?;
            check_commit("base_commit", base)?;
            check_commit("head_commit", head)?;
            if !diff.is_empty() {
                check_diff(diff)?;
            }
        }
        CaseSource::Diff(diff) => check_diff(diff)?,
    }
    check_labels(case)
}

/// Checks that an id is a valid case id.
pub(crate) fn check_id(id: &str) -> Result<(), CaseError> {
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
    Err(CaseError::new(format!("`{}` is not a valid case id", shown(id))).hint(format!(
        "use at most {ID_MAX} letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`"
    )))
}

fn check_texts(case: &Case) -> Result<(), CaseError> {
    let Case { title, body, language, .. } = case;
    if title.trim().is_empty() || title.chars().any(char::is_control) {
        return Err(CaseError::new("`title` must be one line of text")
            .hint("use the title that the author of the change would use"));
    }
    if title.chars().count() > TITLE_MAX {
        return Err(CaseError::new(format!("`title` has more than {TITLE_MAX} characters"))
            .hint("put the rest into `body`"));
    }
    if body.len() > BODY_MAX || body.contains('\0') {
        let message = format!("`body` contains a null character or more than {BODY_MAX} bytes");
        return Err(
            CaseError::new(message).hint("`body` is the author's description of the change")
        );
    }
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"+#._-".contains(&byte);
    if language.is_empty() || language.len() > NAME_MAX || !language.bytes().all(is_plain) {
        let message = format!("`language` is `{}`, which is not a language name", shown(language));
        return Err(CaseError::new(message).hint("write it in lower case, such as `python` or `c`"));
    }
    check_length("licence", &case.licence)
}

fn check_length(key: &str, text: &str) -> Result<(), CaseError> {
    if text.len() <= TEXT_MAX {
        return Ok(());
    }
    Err(CaseError::new(format!("`{key}` has more than {TEXT_MAX} bytes")).hint("shorten it"))
}

fn check_files(base: &Files, head: &Files) -> Result<(), CaseError> {
    let mut total = 0;
    for (side, files) in [("base", base), ("head", head)] {
        if files.len() > FILES_MAX {
            return Err(CaseError::new(format!("the {side} has more than {FILES_MAX} files"))
                .hint(
                    "keep only the files that the change touches, and their callers and callees",
                ));
        }
        for (path, bytes) in files {
            check_file(path)?;
            let folders = path.match_indices('/').map(|(at, _)| &path[..at]);
            if let Some(folder) = { folders }.find(|folder| files.contains_key(*folder)) {
                let message =
                    format!("`{}` is both a file and a folder in the {side}", shown(folder));
                return Err(CaseError::new(message).hint("remove one of them"));
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
        return Err(CaseError::new("the change is empty: base and head are equal")
            .hint("`head` holds the files that the change adds or modifies"));
    }
    Ok(())
}

pub(crate) fn too_large(path: &str) -> CaseError {
    CaseError::new(format!("`{}` is larger than {} MiB", shown(path), FILE_MAX >> 20))
        .hint("leave it out, or shorten it to the relevant part")
}

pub(crate) fn too_much() -> CaseError {
    CaseError::new(format!("the files are larger than {} MiB together", CASE_MAX >> 20))
        .hint("keep only the files that the change touches, and their callers and callees")
}

/// Checks that a path stays below the root and does not name git's own files.
pub(crate) fn check_file(path: &str) -> Result<(), CaseError> {
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
    Err(CaseError::new(format!("`{}` is not a valid path of a file in a case", shown(path)))
        .hint("write it relative to the repository root, with `/`, without `..` and `.git`"))
}

/// Checks that the name of a repository is a relative path, such as `owner/name`.
pub(crate) fn check_repository(repo: &str) -> Result<(), CaseError> {
    if check_file(repo).is_ok() && !repo.contains('\\') {
        return Ok(());
    }
    Err(CaseError::new(format!("`repo` is `{}`, which is not a repository name", shown(repo)))
        .hint("write `owner/name`"))
}

fn check_commit(key: &str, name: &str) -> Result<(), CaseError> {
    let is_hash = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if name.len() == 40 && name.bytes().all(is_hash) {
        return Ok(());
    }
    Err(CaseError::new(format!("`{key}` is `{}`, which is not a commit id", shown(name)))
        .hint("give all 40 characters of the hash"))
}

fn check_diff(diff: &[u8]) -> Result<(), CaseError> {
    if Diff::read(diff).files().is_empty() {
        return Err(CaseError::new("`diff` contains no file").hint("use the output of `git diff`"));
    }
    Ok(())
}

fn check_labels(case: &Case) -> Result<(), CaseError> {
    let Case { expected, known_bad, .. } = case;
    if expected.len() > LABELS_MAX || known_bad.len() > LABELS_MAX {
        return Err(CaseError::new(format!("more than {LABELS_MAX} labels of one kind"))
            .hint("split it into several cases"));
    }
    if let (Some(other), false) = (&case.twin_of, expected.is_empty()) {
        let message = format!(
            "`twin_of` says that the case reverses `{}`, but `expected` is not empty",
            shown(other)
        );
        return Err(
            CaseError::new(message).hint("a reversed change has no defects: leave `expected` out")
        );
    }
    for (at, issue) in expected.iter().enumerate() {
        let key = format!("expected[{at}]");
        check_description(&key, &issue.description)?;
        if issue.spans.len() > LABELS_MAX {
            return Err(CaseError::new(format!("`{key}` has more than {LABELS_MAX} places"))
                .hint("name the lines that show it best"));
        }
        for (number, place) in issue.spans.iter().enumerate() {
            let also = number.checked_sub(1).map(|also| format!("{key}.also[{also}]"));
            check_span(also.as_deref().unwrap_or(&key), place, &case.source)?;
        }
        let is_word = |word: &String| !word.trim().is_empty() && word.len() <= NAME_MAX;
        if issue.keywords.len() > LABELS_MAX || !issue.keywords.iter().all(is_word) {
            return Err(CaseError::new(format!("`{key}.keywords` is not a list of words"))
                .hint("three to six words or short phrases that a correct comment would contain"));
        }
    }
    for (at, bad) in known_bad.iter().enumerate() {
        let key = format!("known_bad[{at}]");
        check_description(&key, &bad.description)?;
        check_span(&key, &bad.span, &case.source)?;
    }
    Ok(())
}

/// Rejects unfinished labels: a score against them would mean nothing.
pub(crate) fn is_finished(case: &Case) -> Result<(), CaseError> {
    if case.is_draft {
        return Err(CaseError::new("the case is still a draft: it does not list the issues that a review should find").hint(
            "add one `[[expected]]` table for each defect, no table if there is no defect, and remove `draft = true`",
        ));
    }
    let is_draft = |issue: &Expected| issue.description.starts_with(DRAFT);
    let Some(at) = case.expected.iter().position(is_draft) else { return Ok(()) };
    Err(CaseError::new(format!("`expected[{at}].description` is still a draft")).hint(format!(
        "describe the defect, check category, severity and lines, then remove `{DRAFT}`"
    )))
}

fn check_description(key: &str, description: &str) -> Result<(), CaseError> {
    let key = format!("{key}.description");
    if description.trim().is_empty() {
        return Err(
            CaseError::new(format!("`{key}` is empty")).hint("describe the defect in one sentence")
        );
    }
    check_length(&key, description)
}

/// Checks that the lines exist, if the file is known.
fn check_span(key: &str, span: &Span, source: &CaseSource) -> Result<(), CaseError> {
    check_file(span.file())
        .map_err(|_| {
            CaseError::new(format!(
                "`{key}.file` is `{}`, which is not a valid path",
                shown(span.file())
            ))
        })
        .map_err(|wrong| wrong.hint("write it relative to the repository root, with `/`"))?;
    let (files, side, other) = match (source, span.side()) {
        (CaseSource::Files { base, .. }, Side::Old) => (base, "before", "new"),
        (CaseSource::Files { head, .. }, Side::New) => (head, "after", "old"),
        (CaseSource::Commits { .. } | CaseSource::Diff(_), Side::Old | Side::New) => return Ok(()),
    };
    let Some(bytes) = files.get(span.file()) else {
        let message = format!(
            "`{key}.file` is `{}`, which does not exist {side} the change",
            shown(span.file())
        );
        return Err(CaseError::new(message)
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
    Err(CaseError::new(message).hint("lines are counted from 1, on the side given by `side`"))
}

/// Number of lines, including a last line without a newline.
fn lines(bytes: &[u8]) -> u64 {
    bytes.split_inclusive(|byte| *byte == b'\n').map(|_| 1).sum()
}
