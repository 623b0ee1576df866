//! Checks the diff parser against git: parses every commit of a repository and compares paths,
//! counts and lines with git's own output.
//!
//! Usage: `check_history REPO [--last N]`. Differences go to stderr, totals to stdout. The exit
//! code is 1 if anything differs.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal, outside the product and its `ui.rs`"
)]

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use crh_review::diff::{
    Content, Diff, DiffLine, FileChange, FileDiff, LineKind, LineMap, RepoPath,
};
use crh_review::finding::Side;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Number of commits between two progress lines.
const PROGRESS: u64 = 250;
/// Maximum number of reported mismatches, because one bug can affect every line.
const SHOWN_MAX: u64 = 100;
/// Mode of a submodule, which has a commit id instead of a file.
const SUBMODULE: u32 = 0o160_000;

/// Git settings that affect a diff, at their defaults.
const SETTINGS: [&str; 15] = [
    "color.ui=never",
    "core.attributesFile=/dev/null",
    "diff.algorithm=default",
    "diff.context=3",
    "diff.dstPrefix=b/",
    "diff.ignoreSubmodules=none",
    "diff.indentHeuristic=true",
    "diff.interHunkContext=0",
    "diff.mnemonicPrefix=false",
    "diff.noPrefix=false",
    "diff.orderFile=/dev/null",
    "diff.relative=false",
    "diff.srcPrefix=a/",
    "diff.submodule=short",
    "diff.suppressBlankEmpty=false",
];

/// Environment variables that would select another repository or diff.
const VARIABLES: [&str; 6] = [
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIFF_OPTS",
    "GIT_DIR",
    "GIT_EXTERNAL_DIFF",
    "GIT_WORK_TREE",
];

/// Options for one way to run `git show`.
struct DiffForm {
    name: &'static str,
    patch: &'static [&'static str],
    /// The options that affect line counts.
    counts: &'static [&'static str],
}

const FORMS: [DiffForm; 2] = [
    DiffForm { name: "plain", patch: &[], counts: &[] },
    DiffForm {
        name: "as crh asks",
        patch: &["-U10", "--full-index", "--diff-algorithm=histogram"],
        counts: &["--diff-algorithm=histogram"],
    },
];

/// One file of a commit according to git.
#[derive(Clone)]
struct GitFileRecord {
    /// Status letter: `A`, `C`, `D`, `M`, `R` or `T`.
    status: u8,
    old_path: Option<Vec<u8>>,
    path: Vec<u8>,
    old: FileVersion,
    new: FileVersion,
    counts: GitLineCounts,
}

/// A file on one side. Mode 0 means that it does not exist.
#[derive(Clone, Default)]
struct FileVersion {
    mode: u32,
    id: String,
}

#[derive(Clone, Copy)]
enum GitLineCounts {
    /// Git counts no lines.
    Binary,
    Lines {
        added: usize,
        deleted: usize,
    },
    /// Half of a type change: all lines of one side count.
    Whole,
}

/// Totals so far.
#[derive(Default)]
struct HistoryTotals {
    commits: u64,
    diffs: u64,
    files: u64,
    lines: u64,
    mismatches: u64,
}

fn main() -> Result<ExitCode> {
    let Some((repo, limit)) = arguments() else {
        eprintln!("usage: check_history REPO [--last N]");
        return Ok(ExitCode::from(2));
    };
    let mut blobs = Blobs::open(&repo)?;
    let mut sums = HistoryTotals::default();
    let mut rev_list = vec!["rev-list", "--no-merges"];
    rev_list.extend(limit.as_deref());
    rev_list.push("HEAD");
    let commits = String::from_utf8(git_output(&repo, &rev_list)?)?;
    let total = commits.lines().count();
    for commit in commits.lines() {
        for form in &FORMS {
            check_commit(&repo, commit, form, &mut blobs, &mut sums)?;
        }
        sums.commits += 1;
        if sums.commits.is_multiple_of(PROGRESS) {
            eprintln!("{} of {total} commits, {} lines", sums.commits, sums.lines);
        }
    }
    blobs.close()?;
    let HistoryTotals { commits, diffs, files, lines, mismatches } = sums;
    println!(
        "{commits} commits, {diffs} diffs, {files} files, {lines} lines, {mismatches} mismatches"
    );
    Ok(if mismatches == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The repository and the limit as a git option.
fn arguments() -> Option<(String, Option<String>)> {
    let words: std::result::Result<Vec<String>, OsString> =
        std::env::args_os().skip(1).map(OsString::into_string).collect();
    match words.ok()?.as_slice() {
        [repo] => Some((repo.clone(), None)),
        [repo, flag, count] if flag == "--last" => {
            let count: u32 = count.parse().ok()?;
            Some((repo.clone(), Some(format!("--max-count={count}"))))
        }
        _ => None,
    }
}

fn check_commit(
    repo: &str,
    commit: &str,
    form: &DiffForm,
    blobs: &mut Blobs,
    sums: &mut HistoryTotals,
) -> Result<()> {
    let raw = show(repo, commit, form.patch)?;
    let options = [&["--raw", "--numstat", "-z", "--no-abbrev"], form.counts].concat();
    let records = split_type_changes(file_records(&show(repo, commit, &options)?)?);
    let diff = Diff::read(raw.clone());
    let mut found = check_whole(&diff, &raw);
    if diff.files().len() != records.len() {
        found.push(format!("{} files, git has {}", diff.files().len(), records.len()));
    }
    for (file, record) in diff.files().iter().zip(&records) {
        let path = file.path.shown();
        let in_file = check_file(&diff, file, record, blobs, sums)?;
        found.extend(in_file.into_iter().map(|what| format!("{path:?}: {what}")));
        sums.files += 1;
    }
    sums.diffs += 1;
    for what in found {
        if sums.mismatches < SHOWN_MAX {
            eprintln!("{commit} ({}): {what}", form.name);
        }
        sums.mismatches += 1;
    }
    Ok(())
}

/// Checks that concern the whole diff.
fn check_whole(diff: &Diff, raw: &[u8]) -> Vec<String> {
    let mut found: Vec<String> =
        diff.problems().iter().map(|problem| format!("problem: {problem}")).collect();
    if diff.to_bytes() != raw {
        found.push("the bytes written are not the bytes read".to_owned());
    }
    // Every byte belongs to a file.
    if diff.files().iter().flat_map(|file| diff.patch(file)).ne(raw) {
        found.push("the patches of the files are not the whole diff".to_owned());
    }
    let lines = raw.split_inclusive(|byte| *byte == b'\n');
    let numbered: Vec<u8> = (1..)
        .zip(lines)
        .flat_map(|(number, line)| [format!("{number}  ").as_bytes(), line].concat())
        .collect();
    if diff.numbered_text() != numbered {
        found.push("the numbered text is not the diff with numbers".to_owned());
    }
    found
}

fn check_file(
    diff: &Diff,
    file: &FileDiff,
    record: &GitFileRecord,
    blobs: &mut Blobs,
    sums: &mut HistoryTotals,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let old_path = file.old_path.as_ref().map(RepoPath::as_bytes);
    if file.path.as_bytes() != record.path || old_path != record.old_path.as_deref() {
        let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let old = record.old_path.as_deref().map(shown);
        found.push(format!("git has the path {:?} (before: {old:?})", shown(&record.path)));
    }
    let letter = match file.change {
        FileChange::Added => b'A',
        FileChange::Deleted => b'D',
        FileChange::Modified => b'M',
        FileChange::Renamed => b'R',
        FileChange::Copied => b'C',
    };
    if letter != record.status {
        found.push(format!("{:?}, git has {}", file.change, char::from(record.status)));
    }
    let modes = [(file.old_mode, record.old.mode), (file.new_mode, record.new.mode)];
    for (read, stated) in modes {
        if let Some(read) = read.filter(|read| *read != stated) {
            found.push(format!("mode {read:o}, git has {stated:o}"));
        }
    }
    let (old, new) = (blobs.text(&record.old)?, blobs.text(&record.new)?);
    let (old, new) = (lines_of(&old), lines_of(&new));
    check_counts(file, record, old.len(), new.len(), &mut found);
    sums.lines += check_lines(diff, file, &old, &new, &mut found);
    Ok(found)
}

fn check_counts(
    file: &FileDiff,
    record: &GitFileRecord,
    old: usize,
    new: usize,
    found: &mut Vec<String>,
) {
    let (added, deleted) = match (record.counts, file.content) {
        // For a renamed or chmodded binary file, the diff does not say that it is binary.
        (GitLineCounts::Binary, Content::Text) if record.old.id == record.new.id => (0, 0),
        (GitLineCounts::Binary | GitLineCounts::Whole, Content::Binary) => (0, 0),
        (GitLineCounts::Lines { added, deleted }, Content::Text) => (added, deleted),
        (GitLineCounts::Whole, Content::Text) => (new, old),
        (GitLineCounts::Binary, Content::Text)
        | (GitLineCounts::Lines { .. }, Content::Binary)
        | (_, Content::Unsupported) => {
            found.push(format!("{:?}, which git's count denies", file.content));
            return;
        }
    };
    if (u64::from(file.additions), u64::from(file.deletions)) != (added as u64, deleted as u64) {
        let FileDiff { additions, deletions, .. } = file;
        found.push(format!("+{additions} -{deletions}, git has +{added} -{deleted}"));
    }
}

/// Checks every line of a file's hunks and returns their number.
fn check_lines(
    diff: &Diff,
    file: &FileDiff,
    old: &[&[u8]],
    new: &[&[u8]],
    found: &mut Vec<String>,
) -> u64 {
    let map = diff.line_map(file);
    let mut checked = 0;
    for hunk in &file.hunks {
        let lines: Vec<_> = diff.lines(hunk).filter(|line| line.kind != LineKind::Remark).collect();
        for line in &lines {
            check_line(line, &map, Side::Old, old, found);
            check_line(line, &map, Side::New, new, found);
            checked += 1;
        }
        // Checking two lines is enough, because `locate` scans the hunk from its start.
        for line in lines.first().into_iter().chain(lines.last()) {
            let located = diff.locate(line.number).filter(|(at, _)| std::ptr::eq(*at, file));
            if located.map(|(_, mapped)| mapped) != map.get(line.number).copied() {
                found.push(format!("line {} is not located where the map has it", line.number));
            }
        }
    }
    if checked != map.lines().len() as u64 {
        found.push(format!("{checked} lines, the map has {}", map.lines().len()));
    }
    checked
}

fn check_line(
    line: &DiffLine<'_>,
    map: &LineMap,
    side: Side,
    file: &[&[u8]],
    found: &mut Vec<String>,
) {
    let number = line.number;
    let mapped = map.get(number).filter(|mapped| mapped.kind == line.kind);
    let (is_there, file_line, in_map) = match side {
        Side::Old => (line.kind.in_old(), line.old, mapped.map(|mapped| mapped.old)),
        Side::New => (line.kind.in_new(), line.new, mapped.map(|mapped| mapped.new)),
    };
    if in_map != Some(file_line) {
        found.push(format!("line {number}: {side} {file_line}, the map has {in_map:?}"));
    }
    if !is_there {
        return;
    }
    let text = file_line.checked_sub(1).and_then(|at| file.get(at as usize));
    if text != Some(&line.text()) {
        let shown = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        let (diff, git) = (shown(line.text()), text.map(|text| shown(text)));
        found.push(format!("line {number}: {side} {file_line} is {diff:?}, git has {git:?}"));
    }
    let back = map.number_of(side, file_line);
    if back != Some(number) {
        found.push(format!("line {number}: {side} {file_line} leads back to {back:?}"));
    }
}

fn lines_of(text: &[u8]) -> Vec<&[u8]> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\n").unwrap_or(line)).collect()
}

/// Parses `--raw --numstat -z`: first one row per file with its versions, then one with its counts.
fn file_records(bytes: &[u8]) -> Result<Vec<GitFileRecord>> {
    let mut fields = bytes.split(|byte| *byte == 0);
    let mut records = Vec::new();
    let mut counts = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        if field.starts_with(b":") {
            records.push(file_record(field, &mut fields)?);
        } else {
            counts.push(line_counts(field, &mut fields)?);
        }
    }
    // Both lists must name the same files in the same order.
    if records.len() != counts.len() {
        return Err("git counts other files than it names".into());
    }
    for (record, (paths, counts)) in records.iter_mut().zip(counts) {
        if paths != (record.old_path.clone(), record.path.clone()) {
            return Err("git counts its files in another order than it names them".into());
        }
        record.counts = counts;
    }
    Ok(records)
}

/// One row of `--raw -z`: `:MODE MODE ID ID STATUS`, then one or two paths.
fn file_record<'a>(
    row: &[u8],
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<GitFileRecord> {
    let row = std::str::from_utf8(row)?.trim_start_matches(':');
    let [old_mode, new_mode, old_id, new_id, status] = row.split(' ').collect::<Vec<_>>()[..]
    else {
        return Err(format!("`{row}` is no row of `git show --raw`").into());
    };
    let version = |mode, id: &str| -> Result<FileVersion> {
        Ok(FileVersion { mode: u32::from_str_radix(mode, 8)?, id: id.to_owned() })
    };
    let status = *status.as_bytes().first().ok_or("a file without a status")?;
    let mut path = || fields.next().map(<[u8]>::to_vec).ok_or("a row without a path");
    Ok(GitFileRecord {
        status,
        old_path: if matches!(status, b'R' | b'C') { Some(path()?) } else { None },
        path: path()?,
        old: version(old_mode, old_id)?,
        new: version(new_mode, new_id)?,
        counts: GitLineCounts::Whole,
    })
}

type Paths = (Option<Vec<u8>>, Vec<u8>);

/// One row of `--numstat -z`: `ADDED\tDELETED\tPATH`, or an empty path followed by two paths.
fn line_counts<'a>(
    row: &[u8],
    fields: &mut impl Iterator<Item = &'a [u8]>,
) -> Result<(Paths, GitLineCounts)> {
    let mut parts = row.splitn(3, |byte| *byte == b'\t');
    let mut part = || parts.next().ok_or("a row of counts that ends early");
    let (added, deleted, path) = (part()?, part()?, part()?);
    let count = |digits| -> Result<usize> { Ok(std::str::from_utf8(digits)?.parse()?) };
    let counts = match (added, deleted) {
        (b"-", b"-") => GitLineCounts::Binary,
        _ => GitLineCounts::Lines { added: count(added)?, deleted: count(deleted)? },
    };
    let mut next = || fields.next().map(<[u8]>::to_vec).ok_or("a row of counts without a path");
    let paths = if path.is_empty() { (Some(next()?), next()?) } else { (None, path.to_vec()) };
    Ok((paths, counts))
}

/// Splits each type change into a deletion and an addition, as a patch prints it.
fn split_type_changes(records: Vec<GitFileRecord>) -> Vec<GitFileRecord> {
    let halves = |whole: GitFileRecord| {
        let counts = GitLineCounts::Whole;
        let deleted =
            GitFileRecord { status: b'D', new: FileVersion::default(), counts, ..whole.clone() };
        let added = GitFileRecord { status: b'A', old: FileVersion::default(), counts, ..whole };
        vec![deleted, added]
    };
    let parts =
        |whole: GitFileRecord| if whole.status == b'T' { halves(whole) } else { vec![whole] };
    records.into_iter().flat_map(parts).collect()
}

/// Reads blobs from a running `git cat-file --batch`.
struct Blobs {
    process: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Blobs {
    fn open(repo: &str) -> Result<Self> {
        let mut command = git(repo);
        command.args(["cat-file", "--batch"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn()?;
        let questions = process.stdin.take().ok_or("git has no stdin")?;
        let answers = BufReader::new(process.stdout.take().ok_or("git has no stdout")?);
        Ok(Self { process, questions, answers })
    }

    /// The text of a version as a diff shows it.
    fn text(&mut self, version: &FileVersion) -> Result<Vec<u8>> {
        match version.mode {
            0 => return Ok(Vec::new()),
            SUBMODULE => return Ok(format!("Subproject commit {}\n", version.id).into_bytes()),
            _ => {}
        }
        writeln!(self.questions, "{}", version.id)?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        let size = match head.split_whitespace().collect::<Vec<_>>()[..] {
            [_, "blob", size] => size.parse()?,
            _ => return Err(format!("git cat-file says `{}`", head.trim_end()).into()),
        };
        // A newline after the blob is not part of it.
        let mut text = vec![0; size];
        self.answers.read_exact(&mut text)?;
        self.answers.read_exact(&mut [0])?;
        Ok(text)
    }

    fn close(self) -> Result<()> {
        let Self { mut process, questions, answers } = self;
        drop((questions, answers));
        if process.wait()?.success() { Ok(()) } else { Err("git cat-file failed".into()) }
    }
}

/// The diff of a commit against its parent, or against nothing for a root commit.
fn show(repo: &str, commit: &str, options: &[&str]) -> Result<Vec<u8>> {
    let fixed = ["show", "--format=", "-M", "--no-color", "--no-ext-diff", "--no-textconv"];
    git_output(repo, &[&fixed, options, &[commit, "--"]].concat())
}

fn git_output(repo: &str, words: &[&str]) -> Result<Vec<u8>> {
    let output = git(repo).args(words).output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let message = String::from_utf8_lossy(&output.stderr);
    Err(format!("git {}: {}", words.join(" "), message.trim_end()).into())
}

/// Git in a repository, without system and user settings.
#[expect(clippy::disallowed_methods, reason = "crh-review is pure; this program is not part of it")]
fn git(repo: &str) -> Command {
    let mut command = Command::new("git");
    command.args(["-C", repo]).stdin(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_ATTR_NOSYSTEM", "1").env("LC_ALL", "C");
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command
}
