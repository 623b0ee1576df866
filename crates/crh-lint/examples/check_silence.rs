//! Holds the static reviewers against the history of a real project, where they should have next to nothing to say.
//!
//! It reads what `git log -p` prints, from a file or from standard input, and prints every finding and how many commits
//! it saw:
//!
//! ```sh
//! git log -p --no-merges --no-color -M -U1000000 -n 400 | cargo run -p crh-lint --example check_silence
//! ```
//!
//! With so much context a file's hunk is the whole file, so that its text before and after is known and syntax can be
//! checked; with less, only secrets and injection are.

#![expect(clippy::print_stdout, reason = "it prints what it found")]
#![expect(clippy::unwrap_used, reason = "a check that cannot read its input must fail")]

use std::fs::File;
use std::io::BufRead;
use std::io::BufReader;

use crh_lint::AddedLine;
use crh_lint::ChangedFile;
use crh_lint::injection;
use crh_lint::injection::Text;
use crh_lint::secrets;
use crh_lint::syntax;
use crh_review::diff::Diff;
use crh_review::diff::FileChange;
use crh_review::diff::FileDiff;
use crh_review::diff::LineKind;
use crh_syntax::Language;

#[derive(Default)]
struct Counts {
    commits: usize,
    files: usize,
    added_lines: usize,
    whole_files: usize,
    secrets: usize,
    syntax: usize,
    injection: usize,
}

fn main() {
    let input: Box<dyn BufRead> = match std::env::args().nth(1) {
        Some(path) => Box::new(BufReader::new(File::open(path).unwrap())),
        None => Box::new(BufReader::new(std::io::stdin())),
    };
    let mut counts = Counts::default();
    let mut commit = Vec::new();
    for line in input.split(b'\n') {
        let line = line.unwrap();
        // Everything inside a diff has a sign before it, and a message is indented.
        if line.starts_with(b"commit ") && line.len() >= 47 {
            check(&commit, &mut counts);
            commit.clear();
        }
        commit.extend_from_slice(&line);
        commit.push(b'\n');
    }
    check(&commit, &mut counts);
    let Counts { commits, files, added_lines, whole_files, secrets, syntax, injection } = counts;
    println!(
        "{commits} commits, {files} files, {added_lines} added lines, {whole_files} files of a known language known whole: \
         {secrets} secrets, {syntax} syntax, {injection} injection"
    );
}

fn check(commit: &[u8], counts: &mut Counts) {
    let Some(hash) = commit.get(7..47) else { return };
    let hash = String::from_utf8_lossy(hash).into_owned();
    let diff_at =
        commit.windows(12).position(|part| part == b"\ndiff --git ").unwrap_or(commit.len() - 1);
    let (head, diff) = commit.split_at(diff_at + 1);
    let head = String::from_utf8_lossy(head);
    let message: Vec<&str> = head.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let diff = Diff::read(diff);
    let files: Vec<ChangedFile> =
        diff.files().iter().map(|file| changed_file(&diff, file)).collect();
    counts.commits += 1;
    counts.files += files.len();
    counts.added_lines += files.iter().map(|file| file.added.len()).sum::<usize>();
    let is_whole =
        |file: &&ChangedFile| file.new.is_some() && Language::of_path(&file.path).is_some();
    counts.whole_files += files.iter().filter(is_whole).count();
    let texts = [
        Text::title(*message.first().unwrap_or(&"")),
        Text::description(
            message.iter().skip(1).map(|line| format!("{line}\n")).collect::<String>(),
        ),
    ];
    for (name, returned, count) in [
        ("secrets", secrets::review(&files), &mut counts.secrets),
        ("syntax", syntax::review(&files), &mut counts.syntax),
        ("injection", injection::review(&texts, &files), &mut counts.injection),
    ] {
        *count += returned.findings.len();
        for finding in returned.findings {
            let line = finding.line_start.map_or(0, std::num::NonZeroU32::get);
            let (file, title, severity) = (&finding.file, &finding.title, finding.severity);
            let snippet = finding.evidence.first().map_or("", |piece| piece.snippet.trim());
            println!("{} {name} {severity} {file}:{line} {title}", &hash[..10]);
            println!("    {snippet}\n    {}", finding.why_it_matters);
        }
        for note in returned.notes {
            println!("{} {name} note: {note}", &hash[..10]);
        }
    }
}

fn changed_file(diff: &Diff, file: &FileDiff) -> ChangedFile {
    let lines = || file.hunks.iter().flat_map(|hunk| diff.lines(hunk));
    let added = lines().filter(|line| line.kind == LineKind::Added);
    let added = added.map(|line| AddedLine { number: line.new, text: line.text().to_vec() });
    let removed = lines().filter(|line| line.kind == LineKind::Removed);
    let is_link = file.new_mode == Some(0o120_000) || file.new_mode == Some(0o160_000);
    let whole = match file.hunks.as_slice() {
        [hunk] => hunk.old.start <= 1 && hunk.new.start <= 1 && !is_link,
        _ => false,
    };
    let side = |in_side: fn(LineKind) -> bool| {
        let lines = lines().filter(|line| in_side(line.kind));
        lines.flat_map(|line| [line.text(), b"\n"].concat()).collect::<Vec<u8>>()
    };
    let was_there = whole && file.change != FileChange::Added;
    let is_there = whole && file.change != FileChange::Deleted;
    ChangedFile {
        path: file.path.shown().into_owned(),
        old: was_there.then(|| side(LineKind::in_old)),
        new: is_there.then(|| side(LineKind::in_new)),
        added: added.collect(),
        removed: removed.map(|line| line.text().to_vec()).collect(),
    }
}
