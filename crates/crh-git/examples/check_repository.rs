//! Compares search and file reading with git on a real repository: 30 patterns and every file of a
//! revision. Run by `scripts/check-repository`.

#![expect(clippy::print_stdout, reason = "it prints what it found")]
#![expect(clippy::unwrap_used, reason = "a check that cannot set itself up must fail")]

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use crh_git::{Git, LINE_BYTES_MAX, Objects, Repository, SearchPattern, SearchQuery, search};

/// Words, classes, anchors, alternations, repetitions, no match, very many matches. Git (`-E`) and
/// crh interpret them equally.
const PATTERNS: [&str; 30] = [
    "import",
    "TODO",
    "self",
    "e",
    "return None",
    "no_such_word_anywhere_at_all",
    "^import",
    "^class [A-Z]",
    "^[a-z]+$",
    "^    def [a-z_]+\\(",
    "\\)$",
    ":$",
    "[0-9]+",
    "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "[A-Z][A-Z_]+ = ",
    "[^a-zA-Z0-9_ ]{5}",
    "[A-Z]{3}",
    "[ ]+$",
    "(True|False|None)",
    "(TODO|FIXME|XXX)",
    "(get|set)_[a-z]+",
    "^(from|import) [a-z]+",
    "a.c",
    "colou?r",
    "(ab)+",
    "x{3}",
    "\\.py",
    "\"[^\"]*\"",
    "'[a-z]+'",
    "^.{120}",
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let Some(folder) = args.next() else {
        println!("usage: check_repository REPO [REVISION]");
        return ExitCode::FAILURE;
    };
    let repository = Repository::discover(Path::new(&folder)).unwrap();
    // With a byte locale, `.` would match half a character.
    let git = Git::in_folder(Path::new(&folder))
        .with_setting("safe.directory=*")
        .with_variable("LC_ALL", "C.UTF-8");
    let name = args.next().unwrap_or_else(|| "HEAD".to_owned());
    let head = git.text(["rev-parse", &format!("{name}^{{commit}}")]).unwrap();
    let objects = Objects::open(&repository.common_dir).unwrap();
    let mut mismatches = 0;
    let mut lines = 0;
    for pattern in PATTERNS {
        let (ours, theirs) =
            (crh_matches(&objects, &head, pattern), git_matches(&git, &head, pattern));
        lines += theirs.len();
        if ours != theirs {
            mismatches += 1;
            let first = ours.iter().zip(&theirs).find(|(ours, theirs)| ours != theirs);
            let shown = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
            let first = first.map(|(ours, theirs)| (shown(ours), shown(theirs)));
            println!("{pattern}: {} lines, git has {}; first: {first:?}", ours.len(), theirs.len());
        }
    }
    let files = objects.files(&head).unwrap();
    let mut bytes = 0;
    for file in files.iter().filter(|file| file.kind.is_file()) {
        let path = String::from_utf8(file.path.clone()).unwrap();
        let theirs = git.run(["show", &format!("{head}:{path}")]).unwrap();
        let ours = objects.file(&head, &path).unwrap();
        bytes += ours.len();
        if ours != theirs {
            mismatches += 1;
            println!("{path}: {} bytes, git has {}", ours.len(), theirs.len());
        }
    }
    println!(
        "{} files, {bytes} bytes read, {} patterns, {lines} matching lines, {mismatches} mismatches",
        files.len(),
        PATTERNS.len()
    );
    if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Matches of crh, formatted like `git grep -z`.
fn crh_matches(objects: &Objects, head: &str, pattern: &str) -> Vec<Vec<u8>> {
    let query = SearchQuery::new(SearchPattern::Regex(pattern.to_owned()));
    let result = search(objects, head, &query, &|_| true, &AtomicBool::new(false)).unwrap();
    assert!(result.unreadable_files.is_empty());
    let line = |it: &crh_git::LineMatch| {
        let number = it.line.to_string();
        [&it.path[..], b"\0", number.as_bytes(), b"\0", &it.text[..]].concat()
    };
    result.matches.iter().map(line).collect()
}

fn git_matches(git: &Git, head: &str, pattern: &str) -> Vec<Vec<u8>> {
    // `git grep` fails if nothing matches.
    let printed =
        git.run(["grep", "-I", "-n", "-z", "-E", "-e", pattern, head]).unwrap_or_default();
    let prefix = format!("{head}:");
    let lines = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let cut = |line: &[u8]| {
        let text = line.iter().enumerate().filter(|(_, byte)| **byte == 0).nth(1).unwrap().0 + 1;
        line[..line.len().min(text + LINE_BYTES_MAX)].to_vec()
    };
    lines.map(|line| cut(line.strip_prefix(prefix.as_bytes()).unwrap())).collect()
}
