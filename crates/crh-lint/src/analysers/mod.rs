//! Analysers: the external linters ruff, eslint, shellcheck, semgrep and tsc, and the type checkers
//! of trusted projects, if installed. Each runs as a reviewer in the sandbox on the new side of the
//! change. If it reports anything, it also runs on the old side, and crh reports what is new.
//!
//! Invariants:
//! - Nothing runs outside the sandbox.
//! - An untrusted change provides only file contents. Its analyser settings are ignored.
//! - If an analyser fails, the review continues with a note. If it fails because of a file, that
//!   file or its batch counts as not fully checked, and the other files are checked.
//! - Credentials that the change adds are masked in all analyser output.

mod analyser;
mod batches;
mod comparison;
mod diagnostic;
mod eslint;
mod git_lines;
pub(crate) mod names;
pub(crate) mod output;
mod ruff;
mod scratch;
mod semgrep;
mod shellcheck;
mod tsc;
mod type_checkers;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

pub use self::analyser::TrustedRepo;
use self::analyser::{Analyser, AnalyserInput};
use self::batches::{BatchError, BatchResults, run_each_batch, run_in_batches};
use self::comparison::{DiagnosticScope, SourceCache};
use self::diagnostic::{AnalyserReport, Diagnostic, SideDiagnostics};
use self::git_lines::GitLines;
use self::names::{ESLINT, RUFF, SEMGREP, SHELLCHECK, TSC, TypeChecker};
pub use self::names::{LINTERS, is_analyser};
use self::output::stderr_summary;
pub use self::ruff::RuffDiagnostic;
use self::scratch::Scratch;
use self::type_checkers::TypeCheckAnalyser;
use crate::findings::FindingDraft;
use crate::installation::rustup::{RustupFolder, toolchain_bin};
use crate::installation::{InstalledProgram, find_shim, folders_outside, is_executable};
use crate::paths::extension;
use crate::process::{NEVER_STOPPED, ProcessLimits, ProcessOutput};
use crate::sandbox::{Sandbox, SandboxJob, SandboxJobError, SandboxUnavailable};
use crate::secrets::CredentialMask;
use crate::{ChangeView, ChangedFile, Project, StaticOutput, StaticRun};
use crh_review::finding::Side;

/// Maximum files per analyser. Further files count as not fully checked.
const CHECKED_FILES_MAX: usize = 3_000;
/// Maximum size of a file for an analyser that does not get the whole tree. Larger files are mostly
/// generated.
const FILE_BYTES_MAX: usize = 1_000_000;
/// Limit for the output of one run. Enough for tens of thousands of findings.
const OUTPUT_BYTES_MAX: u64 = 32 << 20;
/// Limit for the list of files that could not be given to an analyser.
const UNREAD_LISTED_MAX: usize = 20;
/// Limit for the total size of the files given to an analyser that does not get the whole tree.
const TOTAL_BYTES_MAX: usize = 100_000_000;
const VERSION_CHARS_MAX: usize = 60;
const VERSION_TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit for the run on an empty file, which shows whether the analyser works at all.
const EMPTY_FILE_TIMEOUT: Duration = Duration::from_secs(20);

/// The installed analysers and the sandbox they run in.
#[derive(Debug, Clone)]
pub struct Analysers {
    /// The sandbox helper: the crh program.
    helper: PathBuf,
    /// Probed on first use.
    sandbox: OnceLock<Result<Sandbox, SandboxUnavailable>>,
    /// The folders in which crh searched for analysers, as a `PATH`.
    path: OsString,
    installed: BTreeMap<&'static str, InstalledProgram>,
    trusted: Option<TrustedRepo>,
    rustup: Option<RustupFolder>,
}

/// An installed analyser, set up for one change.
struct InstalledAnalyser<'a> {
    name: &'static str,
    program: InstalledProgram,
    /// Time limit for one side of the change.
    timeout: Duration,
    analyser: Box<dyn Analyser + 'a>,
}

impl Analysers {
    /// Finds the analysers in the folders of a `PATH`. `helper` is the program that sandboxes them.
    /// If the change is not trusted, skips type checkers and all programs inside the checkout.
    pub fn find(
        helper: &Path,
        path: &OsStr,
        checkout: Option<&Path>,
        trusted: Option<TrustedRepo>,
    ) -> Self {
        let excluded_folder = checkout.filter(|_| trusted.is_none());
        let path = folders_outside(path, excluded_folder);
        let mut installed = BTreeMap::new();
        for name in LINTERS {
            let local_program =
                trusted.as_ref().and_then(|it| project_program(name, it.checkout.as_deref()?));
            let local_program = local_program
                .and_then(|program| InstalledProgram::inspect(program, &path, excluded_folder));
            let program =
                local_program.or_else(|| InstalledProgram::find(name, &path, excluded_folder));
            installed.extend(program.map(|program| (name, program)));
        }
        let home = std::env::home_dir();
        let rustup = home.as_deref().and_then(RustupFolder::find);
        for checker in TypeChecker::ALL.into_iter().filter(|_| trusted.is_some()) {
            let name = checker.program();
            let program =
                InstalledProgram::find_checker(name, &path, home.as_deref(), rustup.as_ref());
            installed.extend(program.map(|program| (checker.name(), program)));
        }
        let (helper, sandbox) = (helper.to_owned(), OnceLock::new());
        Self { helper, sandbox, path, installed, trusted, rustup }
    }

    /// Returns the sandbox, or why it is not available. Probes once.
    pub fn sandbox(&self) -> Result<&Sandbox, SandboxUnavailable> {
        let probe_result = self.sandbox.get_or_init(|| Sandbox::probe(&self.helper));
        probe_result.as_ref().map_err(SandboxUnavailable::clone)
    }

    /// Names and paths of the installed analysers.
    pub fn installed(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.installed.iter().map(|(name, installed)| (*name, installed.program.as_path()))
    }

    /// Linters that are not used because only a shim of a version manager is installed, with the
    /// path of the shim.
    pub fn shims(&self) -> impl Iterator<Item = (&'static str, PathBuf)> {
        LINTERS
            .into_iter()
            .filter(|name| !self.installed.contains_key(name))
            .filter_map(|name| Some((name, find_shim(name, &self.path)?)))
    }

    /// Returns the version that an analyser prints. The error is a sentence.
    pub fn version(&self, name: &str) -> Result<String, String> {
        let installed = self.installed.get(name).ok_or("not installed")?;
        let scratch = Scratch::new().map_err(|why| why.to_string())?;
        let args = vec!["--version".to_owned()];
        let output = self.run(installed, args, &scratch, Vec::new(), VERSION_TIMEOUT)?;
        if !output.status.success() {
            return Err(format!("failed: {}", stderr_summary(&output.stderr)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.contains(|char: char| char.is_ascii_digit()));
        Ok(line.unwrap_or_default().trim().chars().take(VERSION_CHARS_MAX).collect())
    }

    /// The analysers that would run on this change, each with its files.
    pub fn plan(&self, change: &ChangeView<'_>) -> Vec<(&'static str, Vec<String>)> {
        let analysers = self.analysers_for(change).into_iter();
        let plans = analysers.map(|it| {
            let files = files_for(it.analyser.as_ref(), change);
            (it.name, files.iter().map(|file| file.path.clone()).collect::<Vec<_>>())
        });
        plans.filter(|(_, files)| !files.is_empty()).collect()
    }

    /// Runs all analysers that have files to check. The run of a failed analyser has a note, and
    /// that of a panicked one an error.
    pub fn review(&self, change: &ChangeView<'_>) -> Vec<StaticRun> {
        let analysers = self.analysers_for(change);
        thread::scope(|scope| {
            let threads: Vec<_> = analysers
                .iter()
                .map(|it| (it.name, scope.spawn(|| self.run_analyser(it, change))))
                .collect();
            let runs = threads.into_iter().map(|(name, thread)| match thread.join() {
                Ok(run) => run,
                Err(_) => Some(crashed_run(name)),
            });
            runs.flatten().collect()
        })
    }

    /// Runs ruff on the text of a file with this name. `None` if ruff is not installed. The error
    /// is a sentence.
    pub fn ruff(&self, name: &str, text: &str) -> Option<Result<Vec<RuffDiagnostic>, String>> {
        let installed = self.installed.get(RUFF)?;
        let run = |args, scratch: &Scratch, timeout| {
            self.run(installed, args, scratch, Vec::new(), timeout)
        };
        Some(ruff::check_text(name, text, run))
    }

    fn analysers_for<'a>(&'a self, change: &ChangeView<'_>) -> Vec<InstalledAnalyser<'a>> {
        let Some(project) = change.project else { return Vec::new() };
        let trusted = self.trusted.as_ref();
        let eslint_config = trusted.filter(|_| eslint::is_configured(project));
        let semgrep = semgrep::rules(project).map(|rules| semgrep::SemgrepAnalyser { rules });
        let tsc = trusted.map(|trusted| tsc::TscAnalyser { trusted });
        let analysers: [(_, _, Option<Box<dyn Analyser + 'a>>); 5] = [
            (RUFF, ruff::TIMEOUT, Some(Box::new(ruff::RuffAnalyser))),
            (
                ESLINT,
                eslint::TIMEOUT,
                Some(Box::new(eslint::EslintAnalyser { trusted: eslint_config })),
            ),
            (SHELLCHECK, shellcheck::TIMEOUT, Some(Box::new(shellcheck::ShellcheckAnalyser))),
            (SEMGREP, semgrep::TIMEOUT, semgrep.map(|it| Box::new(it) as _)),
            (TSC, tsc::TIMEOUT, tsc.map(|it| Box::new(it) as _)),
        ];
        let used = TypeChecker::ALL.into_iter().filter(|checker| checker.is_used(project));
        let checkers = trusted.into_iter().flat_map(|trusted| {
            let row = move |checker: TypeChecker| {
                let toolchain = match checker {
                    TypeChecker::CargoCheck => toolchain_bin(project, self.rustup.as_ref()),
                    TypeChecker::Mypy
                    | TypeChecker::Pyright
                    | TypeChecker::GoVet
                    | TypeChecker::Javac => Ok(None),
                };
                let analyser = Box::new(TypeCheckAnalyser { checker, trusted, toolchain }) as _;
                (checker.name(), type_checkers::TIMEOUT, Some(analyser))
            };
            used.clone().map(row)
        });
        let analysers = analysers.into_iter().chain(checkers);
        let analysers = analysers.filter_map(|(name, timeout, analyser)| {
            let (program, analyser) = (self.installed.get(name)?, analyser?);
            let program = analyser.choose_program(program);
            Some(InstalledAnalyser { name, program, timeout, analyser })
        });
        analysers.collect()
    }

    fn run_analyser(
        &self,
        installed: &InstalledAnalyser<'_>,
        change: &ChangeView<'_>,
    ) -> Option<StaticRun> {
        let start = Instant::now();
        let candidates = files_for(installed.analyser.as_ref(), change);
        if candidates.is_empty() {
            return None;
        }
        let (checked_files, more_files) =
            candidates.split_at(candidates.len().min(CHECKED_FILES_MAX));
        let mut files: Vec<String> = candidates.iter().map(|file| file.path.clone()).collect();
        let (mut unread_files, mut unfinished_files) = (Vec::new(), Vec::new());
        let outcome = self.new_findings(installed, change, checked_files).map(
            |ChangeCheck { mut output, unread_files: unread, unfinished_files: unfinished }| {
                (unread_files, unfinished_files) = (unread, unfinished);
                let why = format!("{} checks at most {CHECKED_FILES_MAX} files", installed.name);
                unfinished_files
                    .extend(more_files.iter().map(|file| (file.path.clone(), why.clone())));
                // Unread files that are not listed do not count as checked.
                let unlisted_files =
                    unread_files.split_off(unread_files.len().min(UNREAD_LISTED_MAX));
                files.retain(|path| !unlisted_files.iter().any(|(other, _)| other == path));
                match unlisted_files.len() {
                    0 => {}
                    1 => output.notes.push("1 more file was not checked".to_owned()),
                    more => output.notes.push(format!("{more} more files were not checked")),
                }
                output
            },
        );
        let output = outcome.unwrap_or_else(|why| {
            // A failed run would make the review incomplete. Instead, no file counts as checked.
            (files, unread_files) = Default::default();
            StaticOutput { findings: Vec::new(), notes: vec![format!("skipped: {why}")] }
        });
        Some(StaticRun {
            name: installed.name,
            files,
            skipped_files: unread_files,
            partly_checked_files: unfinished_files,
            outcome: Ok(output),
            duration: start.elapsed(),
        })
    }

    /// Returns the findings that the change introduces.
    fn new_findings(
        &self,
        installed: &InstalledAnalyser<'_>,
        change: &ChangeView<'_>,
        checked_files: &[&ChangedFile],
    ) -> Result<ChangeCheck, String> {
        let Some(project) = change.project else { return Ok(ChangeCheck::default()) };
        let analyser = installed.analyser.as_ref();
        if let Some(why) = analyser.missing_config(project) {
            return Err(why);
        }
        let mask = CredentialMask::for_change(change);
        let paths: Vec<String> = checked_files.iter().map(|file| file.path.clone()).collect();
        let after = self.analyse_side(installed, project, Side::New, &paths, &mask)?;
        let mut notes: Vec<String> = after.cleanup_error.clone().into_iter().collect();
        let name = installed.name;
        let failed_files = after.failed_files.iter();
        let mut unfinished_files: Vec<(String, String)> = failed_files
            .map(|(path, why)| (path.clone(), format!("{name} did not check it: {why}")))
            .collect();
        let mut findings = Vec::new();
        if !after.diagnostics.is_empty() || !after.unparsed_files.is_empty() {
            let mut texts = SourceCache::new(project);
            let paths = match analyser.is_per_file() {
                true => comparison::origin_paths(change, checked_files, &after, &mut texts)?,
                // Any changed file may cause an error in another one.
                false => checked_files
                    .iter()
                    .filter_map(|file| file.in_diff().old_path.clone())
                    .collect(),
            };
            let handled_paths = paths.into_iter().filter(|path| {
                let text = || project.file(Side::Old, path).ok().flatten().unwrap_or_default();
                analyser.handles(path, &text) || analyser.is_affected_by(path)
            });
            let paths: Vec<String> = handled_paths.take(CHECKED_FILES_MAX).collect();
            let is_new_code = paths.is_empty() && !analyser.is_per_file();
            let before = match is_new_code {
                true => SideDiagnostics::default(),
                false => self.analyse_side(installed, project, Side::Old, &paths, &mask)?,
            };
            notes.extend(before.cleanup_error.clone());
            let unparsed_files =
                comparison::newly_unparsed_files(checked_files, &after, &before).into_iter();
            unfinished_files
                .extend(unparsed_files.map(|path| (path, format!("{name} cannot parse it"))));
            // Without a run on the base, errors in other files may be old.
            let scope = match analyser.is_per_file() || is_new_code {
                true => DiagnosticScope::ChangedFiles,
                false => DiagnosticScope::Project,
            };
            let new =
                comparison::new_diagnostics(change, after.diagnostics, &before, scope, &mut texts)?;
            let limited_findings = comparison::limit(installed.name, new, &mut texts, &mask)?;
            notes.extend(limited_findings.note());
            findings = limited_findings.findings;
        }
        let findings = findings.into_iter().map(FindingDraft::into_finding).collect();
        let output = StaticOutput { findings, notes };
        Ok(ChangeCheck { output, unread_files: after.unread_files, unfinished_files })
    }

    /// Runs an analyser on one side of the change.
    fn analyse_side(
        &self,
        installed: &InstalledAnalyser<'_>,
        project: &dyn Project,
        side: Side,
        paths: &[String],
        mask: &CredentialMask,
    ) -> Result<SideDiagnostics, String> {
        let analyser = installed.analyser.as_ref();
        let scratch =
            Scratch::new().map_err(|why| format!("cannot create a temporary folder: {why}"))?;
        let mut unread_files = match analyser.input() {
            AnalyserInput::Files => {
                let prepare = |text| analyser.prepare_text(text);
                write_files(&scratch, project, side, paths, prepare)
            }
            AnalyserInput::Tree(_) => scratch.write_tree(project, side)?,
        };
        let readable = link_folders(analyser, &scratch, paths)?;
        let checked: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        unread_files.retain(|(path, _)| checked.contains(path.as_str()));
        let unread_paths: BTreeSet<&str> =
            unread_files.iter().map(|(path, _)| path.as_str()).collect();
        let written_paths: Vec<String> =
            paths.iter().filter(|path| !unread_paths.contains(path.as_str())).cloned().collect();
        if written_paths.is_empty() && analyser.is_per_file() {
            let cleanup_error = scratch.remove();
            return Ok(SideDiagnostics { unread_files, cleanup_error, ..Default::default() });
        }
        let run = |files: &[String], time: Duration| {
            let args = analyser.args(files, &scratch).map_err(BatchError::Analyser)?;
            let output = self.run_job(&installed.program, args, &scratch, readable.clone(), time);
            let mut output = output.map_err(batch_error)?;
            output.stderr = mask.apply(&String::from_utf8_lossy(&output.stderr)).into_bytes();
            let report = analyser.parse_output(&output);
            report.map_err(|why| BatchError::Files(mask.apply(&why)))
        };
        // An analyser that also fails on an empty file is broken; otherwise a file is the cause.
        let check_analyser = || {
            let file = unused_path(&written_paths);
            match scratch.write(&file, b"") {
                Ok(()) => run(&[file], EMPTY_FILE_TIMEOUT).map(drop),
                Err(_) => Ok(()),
            }
        };
        let BatchResults { results, failed_files } = if analyser.checks_files_alone() {
            run_in_batches(&written_paths, installed.timeout, check_analyser, run)?
        } else {
            // The configuration of a trusted project may be the cause too, so no file is blamed.
            let check_analyser = |why: &str| match analyser.input() {
                AnalyserInput::Files => check_analyser(),
                AnalyserInput::Tree(_) => Err(BatchError::Files(why.to_owned())),
            };
            let batch_size = if analyser.is_per_file() { batches::FILES_MAX } else { usize::MAX };
            run_each_batch(&written_paths, batch_size, installed.timeout, check_analyser, run)?
        };
        let mut lines =
            GitLines { project, side, ends: analyser.line_ends(), texts: BTreeMap::new() };
        let mut side = SideDiagnostics { unread_files, failed_files, ..Default::default() };
        for AnalyserReport { diagnostics, unparsed_files } in results {
            side.diagnostics.extend(diagnostics.into_iter().map(|diagnostic| {
                let path = scratch.repo_path(&diagnostic.path);
                Diagnostic {
                    line: lines.line(&path, diagnostic.line),
                    path,
                    message: mask.apply(&diagnostic.message),
                    ..diagnostic
                }
            }));
            side.unparsed_files.extend(unparsed_files.iter().map(|path| scratch.repo_path(path)));
        }
        side.cleanup_error = scratch.remove();
        Ok(side)
    }

    fn run(
        &self,
        installed: &InstalledProgram,
        args: Vec<String>,
        scratch: &Scratch,
        readable: Vec<PathBuf>,
        timeout: Duration,
    ) -> Result<ProcessOutput, String> {
        let outcome = self.run_job(installed, args, scratch, readable, timeout);
        outcome.map_err(|why| why.to_string())
    }

    fn run_job(
        &self,
        installed: &InstalledProgram,
        args: Vec<String>,
        scratch: &Scratch,
        mut readable: Vec<PathBuf>,
        timeout: Duration,
    ) -> Result<ProcessOutput, SandboxJobError> {
        readable.extend(installed.readable.iter().cloned());
        let job = SandboxJob {
            program: &installed.program,
            args,
            path: &installed.path,
            scratch: scratch.root(),
            folder: scratch.tree(),
            readable,
        };
        let sandbox = self.sandbox().map_err(|why| SandboxJobError::Sandbox(why.to_string()))?;
        let limits =
            ProcessLimits { time: timeout, output: OUTPUT_BYTES_MAX, is_stopped: NEVER_STOPPED };
        sandbox.run(job, limits)
    }
}

/// A new path in the root folder, with the extension of the first of these paths.
fn unused_path(paths: &[String]) -> String {
    let first = paths.first().map(|path| extension(path)).unwrap_or_default();
    let mut path = format!("empty.{first}");
    while paths.contains(&path) {
        path.insert(0, '0');
    }
    path
}

fn batch_error(job_error: SandboxJobError) -> BatchError {
    let why = job_error.to_string();
    match job_error {
        SandboxJobError::Timeout(_) | SandboxJobError::TooMuchOutput(_) => BatchError::Files(why),
        SandboxJobError::Sandbox(_) | SandboxJobError::Stopped | SandboxJobError::Io(_) => {
            BatchError::Analyser(why)
        }
    }
}

/// The eslint or tsc in the `node_modules` of the checkout.
fn project_program(name: &str, checkout: &Path) -> Option<PathBuf> {
    if !matches!(name, ESLINT | TSC) {
        return None;
    }
    let program = checkout.join(scratch::NODE_MODULES).join(".bin").join(name);
    is_executable(&program).then_some(program)
}

/// The changed files that an analyser checks, or that affect what it checks.
fn files_for<'c>(analyser: &dyn Analyser, change: &'c ChangeView<'_>) -> Vec<&'c ChangedFile> {
    let Some(project) = change.project else { return Vec::new() };
    let is_handled = |file: &&ChangedFile| {
        // An unreadable file counts as empty here. Reviewers that read every file report it.
        let text = || project.file(Side::New, &file.path).ok().flatten().unwrap_or_default();
        file.new_path().is_some_and(|path| analyser.handles(path, &text))
            || analyser.is_affected_by(&file.path)
    };
    change.files.iter().filter(is_handled).collect()
}

/// Results of an analyser for a change.
#[derive(Default)]
struct ChangeCheck {
    output: StaticOutput,
    /// Files that could not be given to the analyser, each with the reason.
    unread_files: Vec<(String, String)>,
    /// Files that the analyser got and could not check or parse, each with the reason.
    unfinished_files: Vec<(String, String)>,
}

/// Links the `node_modules` of a trusted checkout and downloaded dependencies into the scratch
/// folder. Returns the folders that the sandbox must let the analyser read.
fn link_folders(
    analyser: &dyn Analyser,
    scratch: &Scratch,
    paths: &[String],
) -> Result<Vec<PathBuf>, String> {
    let mut readable = Vec::new();
    if let AnalyserInput::Tree(TrustedRepo { checkout: Some(checkout) }) = analyser.input() {
        let link_targets = scratch.link_modules(checkout, paths);
        readable.extend(link_targets.map_err(|why| format!("cannot link node_modules: {why}"))?);
    }
    if let Some(home) = std::env::home_dir() {
        let links = analyser.link_dependencies(scratch, &home);
        readable.extend(links.map_err(|why| format!("cannot link dependencies: {why}"))?);
    }
    Ok(readable)
}

/// Writes these files to the scratch folder, as UTF-8. Returns the files that it could not write,
/// each with the reason.
fn write_files(
    scratch: &Scratch,
    project: &dyn Project,
    side: Side,
    paths: &[String],
    prepare: impl Fn(Vec<u8>) -> Vec<u8>,
) -> Vec<(String, String)> {
    let mut bytes_left = TOTAL_BYTES_MAX;
    let mut write = |path: &String| {
        let bytes = project.file(side, path)?.ok_or("not a regular file")?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(format!("larger than {FILE_BYTES_MAX} bytes"));
        }
        bytes_left = bytes_left
            .checked_sub(bytes.len())
            .ok_or("the limit for the total file size is reached")?;
        // Some analysers skip files in another encoding, although the language accepts them.
        let text = String::from_utf8_lossy(&bytes).into_owned();
        scratch.write(path, &prepare(text.into_bytes())).map_err(|why| why.to_string())
    };
    let results = paths.iter().map(|path| (path, write(path)));
    results.filter_map(|(path, result)| Some((path.clone(), result.err()?))).collect()
}

/// The run of an analyser whose thread panicked.
fn crashed_run(name: &'static str) -> StaticRun {
    StaticRun {
        name,
        files: Vec::new(),
        skipped_files: Vec::new(),
        partly_checked_files: Vec::new(),
        outcome: Err("it crashed".to_owned()),
        duration: Duration::ZERO,
    }
}

#[cfg(test)]
mod tests;
