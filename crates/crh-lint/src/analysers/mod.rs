//! Analysers of others, where they are installed: ruff, eslint, shellcheck, semgrep, tsc. Each is a reviewer that is run on the changed
//! files before and after the change, in the sandbox, and says what is new.
//!
//! Invariants:
//! - nothing is run outside the sandbox;
//! - of a change that is not trusted, only texts go in: its settings for an analyser do not count;
//! - an analyser that fails costs a note, never the review;
//! - no credential that the change adds goes on, whatever an analyser says about its line.

mod eslint;
#[path = "installation.rs"]
mod installed;
#[path = "comparison.rs"]
mod new;
mod ruff;
#[path = "diagnostic.rs"]
mod said;
mod scratch;
mod semgrep;
mod shellcheck;
mod tsc;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use self::installed::Installed;
pub(crate) use self::installed::is_program;
use self::new::Texts;
pub use self::ruff::Said as RuffSaid;
use self::said::{Mask, Said};
use self::scratch::Scratch;
use crate::fold::folded;
use crate::found::Found;
use crate::process::{Bounds, Finished, UNSTOPPED};
use crate::sandbox::{Job, NoSandbox, Sandbox};
use crate::{Change, ChangedFile, Project, Returned, Run};
use crh_review::finding::Side;

/// The names of all of them, in the order in which they are listed everywhere.
pub const NAMES: [&str; 5] = [ruff::NAME, eslint::NAME, shellcheck::NAME, semgrep::NAME, tsc::NAME];

/// A change with more files of one kind is a move or a program's; the first ones tell.
const FILES_MAX: usize = 300;
/// No person writes a file with more, and no analyser is at its best with it.
const FILE_BYTES_MAX: usize = 1_000_000;
/// How much one may print: tens of thousands of findings.
const OUTPUT: u64 = 32 << 20;
/// How many files are named that it could not be shown: as many as somebody looks after.
const UNREAD_NAMED: usize = 20;
/// How many bytes of files it is shown: more than fifty thousand screens.
const SHOWN_BYTES_MAX: usize = 100_000_000;
/// How much of its complaints is told.
const WORDS_CHARS: usize = 300;
/// What a version has at the most, and how long it may be asked for.
const VERSION_CHARS: usize = 60;
const VERSION_TIME: Duration = Duration::from_secs(20);

/// The analysers that are installed, and the sandbox they run in.
#[derive(Debug, Clone)]
pub struct Analysers {
    /// The program that shuts them in: crh.
    helper: PathBuf,
    /// Tried when it is first needed.
    sandbox: OnceLock<Result<Sandbox, NoSandbox>>,
    /// Where programs are.
    path: OsString,
    installed: BTreeMap<&'static str, Installed>,
    trusted: Option<Trusted>,
}

/// What is known about a repository whose changes the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// Where it is checked out, for the modules that are installed there; none if it is not.
    pub checkout: Option<PathBuf>,
}

/// One of them, at work on one change.
trait Analyser: Sync {
    /// What it is called.
    fn name(&self) -> &'static str;

    /// The program.
    fn installed(&self) -> &Installed;

    /// How long it may take for one side.
    fn time(&self) -> Duration;

    /// Whether it has something to say about a file. Its text is read only if the path does not tell.
    fn wants(&self, path: &str, text: &dyn Fn() -> Vec<u8>) -> bool;

    /// What it has to see besides the files.
    fn needs(&self) -> Needs<'_>;

    /// Whether it says something about the files that it is given alone, and not about all that is there.
    fn asks_about_files(&self) -> bool {
        true
    }

    /// A file as it is shown to it: with as many lines.
    fn shown(&self, text: Vec<u8>) -> Vec<u8> {
        text
    }

    /// The arguments for these files. What it writes into the scratch folder goes beside the tree.
    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String>;

    /// What it said. The error is a sentence.
    fn read(&self, finished: &Finished) -> Result<Vec<Said>, String>;
}

/// What an analyser has to see besides the files that it is asked about.
#[derive(Debug, Clone, Copy)]
enum Needs<'a> {
    /// Nothing: it looks at one file at a time.
    Files,
    /// The whole tree, and what is installed in the checkout.
    Tree(&'a Trusted),
}

impl Analysers {
    /// The analysers that are installed in the folders of a `PATH`, to be shut in by this program. Of a change that is not trusted,
    /// those that lie in the checkout do not count.
    pub fn find(
        helper: &Path,
        path: &OsStr,
        checkout: Option<&Path>,
        trusted: Option<Trusted>,
    ) -> Self {
        let not_in = checkout.filter(|_| trusted.is_none());
        let path = installed::folders_outside(path, not_in);
        let mut installed = BTreeMap::new();
        for name in NAMES {
            let own = trusted.as_ref().and_then(|it| of_project(name, it.checkout.as_deref()?));
            let own = own.and_then(|program| Installed::at(program, &path, not_in));
            let found = own.or_else(|| Installed::find(name, &path, not_in));
            installed.extend(found.map(|found| (name, found)));
        }
        Self { helper: helper.to_owned(), sandbox: OnceLock::new(), path, installed, trusted }
    }

    /// The sandbox, or why there is none. It is tried once.
    pub fn sandbox(&self) -> Result<&Sandbox, NoSandbox> {
        let tried = self.sandbox.get_or_init(|| Sandbox::probe(&self.helper));
        tried.as_ref().map_err(NoSandbox::clone)
    }

    /// Which of them there are, and where.
    pub fn installed(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.installed.iter().map(|(name, installed)| (*name, installed.program.as_path()))
    }

    /// What one of them says when it is asked for its version. The error is a sentence.
    pub fn version(&self, name: &str) -> Result<String, String> {
        let installed = self.installed.get(name).ok_or("it is not installed")?;
        let scratch = Scratch::new().map_err(|why| why.to_string())?;
        let args = vec!["--version".to_owned()];
        let said = self.run(installed, args, &scratch, Vec::new(), VERSION_TIME)?;
        if !said.status.success() {
            return Err(format!("it failed: {}", words(&said.stderr)));
        }
        let text = String::from_utf8_lossy(&said.stdout);
        let line = text.lines().find(|line| line.contains(|char: char| char.is_ascii_digit()));
        Ok(line.unwrap_or_default().trim().chars().take(VERSION_CHARS).collect())
    }

    /// Who of them would look at what: those that have files.
    pub fn planned(&self, change: &Change<'_>) -> Vec<(&'static str, Vec<String>)> {
        let of = |analyser: &dyn Analyser| {
            let files = files(analyser, change);
            let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
            (analyser.name(), paths)
        };
        let all = self.for_change(change);
        let all = all.iter().map(|analyser| of(analyser.as_ref()));
        all.filter(|(_, files)| !files.is_empty()).collect()
    }

    /// Runs those that have files. One that fails is a row with a note.
    pub fn review(&self, change: &Change<'_>) -> Vec<Run> {
        let all = self.for_change(change);
        thread::scope(|scope| {
            let started: Vec<_> = all
                .iter()
                .map(|analyser| {
                    let thread = scope.spawn(|| self.carry_out(analyser.as_ref(), change));
                    (analyser.name(), thread)
                })
                .collect();
            let ended = started.into_iter().map(|(name, thread)| match thread.join() {
                Ok(run) => run,
                Err(_) => Some(crashed(name)),
            });
            ended.flatten().collect()
        })
    }

    /// What ruff says about a text. The error is a sentence.
    pub fn ruff(&self, name: &str, text: &str) -> Option<Result<Vec<RuffSaid>, String>> {
        let installed = self.installed.get(ruff::NAME)?;
        Some(ruff::about_text(self, installed, name, text))
    }

    /// Those that can look at such a change.
    fn for_change(&self, change: &Change<'_>) -> Vec<Box<dyn Analyser + '_>> {
        let Some(project) = change.project else { return Vec::new() };
        let installed = |name| self.installed.get(name);
        let mut all: Vec<Box<dyn Analyser + '_>> = Vec::new();
        if let Some(program) = installed(ruff::NAME) {
            all.push(Box::new(ruff::Ruff { program }));
        }
        if let Some(program) = installed(eslint::NAME) {
            let trusted = self.trusted.as_ref().filter(|_| eslint::is_configured(project));
            all.push(Box::new(eslint::Eslint { program, trusted }));
        }
        if let Some(program) = installed(shellcheck::NAME) {
            all.push(Box::new(shellcheck::Shellcheck { program }));
        }
        if let (Some(program), Some(rules)) = (installed(semgrep::NAME), semgrep::rules(project)) {
            all.push(Box::new(semgrep::Semgrep { program, rules }));
        }
        if let (Some(program), Some(trusted)) = (installed(tsc::NAME), &self.trusted)
            && tsc::is_configured(project)
        {
            all.push(Box::new(tsc::Tsc { program, trusted }));
        }
        all
    }

    fn carry_out(&self, analyser: &dyn Analyser, change: &Change<'_>) -> Option<Run> {
        let began = Instant::now();
        let wanted = files(analyser, change);
        if wanted.is_empty() {
            return None;
        }
        let asked = &wanted[..wanted.len().min(FILES_MAX)];
        let mut files: Vec<String> = asked.iter().map(|file| file.path.clone()).collect();
        let mut unread = Vec::new();
        let outcome = self.introduced(analyser, change, asked, &mut unread).map(|mut returned| {
            // What is not named does not count as looked at either.
            let unnamed = unread.split_off(unread.len().min(UNREAD_NAMED));
            files.retain(|path| !unnamed.iter().any(|(other, _)| other == path));
            let more = wanted.len() - asked.len() + unnamed.len();
            if more > 0 {
                let files = if more == 1 { "file was" } else { "files were" };
                returned.notes.push(format!("{more} more {files} not shown to it"));
            }
            returned
        });
        let returned = outcome.unwrap_or_else(|why| {
            // A row that failed would leave the review incomplete. What nobody looked at does not count as looked at, and that is all it costs.
            (files, unread) = Default::default();
            Returned { findings: Vec::new(), notes: vec![format!("it looked at nothing: {why}")] }
        });
        let outcome = Ok(returned);
        Some(Run { name: analyser.name(), files, unread, outcome, took: began.elapsed() })
    }

    /// What it says about the files and did not say before the change. What it could not be shown goes into `unread`.
    fn introduced(
        &self,
        analyser: &dyn Analyser,
        change: &Change<'_>,
        asked: &[&ChangedFile],
        unread: &mut Vec<(String, String)>,
    ) -> Result<Returned, String> {
        let Some(project) = change.project else { return Ok(Returned::default()) };
        let mask = Mask::of(change);
        let paths: Vec<String> = asked.iter().map(|file| file.path.clone()).collect();
        let after = self.side(analyser, project, Side::New, &paths, &mask)?;
        unread.extend(after.unread);
        let mut notes: Vec<String> = after.left.into_iter().collect();
        let mut found = Vec::new();
        if !after.said.is_empty() {
            let mut texts = Texts::new(project);
            let paths = new::origins(change, asked, &after.said, &mut texts)?;
            let wanted = paths.into_iter().filter(|path| {
                let text = || project.file(Side::Old, path).ok().flatten().unwrap_or_default();
                analyser.wants(path, &text)
            });
            let paths: Vec<String> = wanted.take(FILES_MAX).collect();
            let before = self.side(analyser, project, Side::Old, &paths, &mask)?;
            notes.extend(before.left.clone());
            let new = new::said(change, after.said, &before, &mut texts)?;
            let bounded = new::bounded(analyser.name(), new, &mut texts, &mask)?;
            notes.extend(bounded.note());
            found = bounded.found;
        }
        Ok(Returned { findings: found.into_iter().map(Found::reported).collect(), notes })
    }

    /// What it says about one side.
    fn side(
        &self,
        analyser: &dyn Analyser,
        project: &dyn Project,
        side: Side,
        paths: &[String],
        mask: &Mask,
    ) -> Result<Sided, String> {
        let scratch = Scratch::new().map_err(|why| format!("making a folder: {why}"))?;
        let mut readable = Vec::new();
        let mut unread = match analyser.needs() {
            Needs::Files => {
                let shown = |text| analyser.shown(text);
                lay_out_files(&scratch, project, side, paths, shown)
            }
            Needs::Tree(_) => scratch.lay_out(project, side)?,
        };
        if let Needs::Tree(Trusted { checkout: Some(checkout) }) = analyser.needs() {
            let linked = scratch.link_modules(checkout, paths);
            readable.extend(linked.map_err(|why| format!("linking modules: {why}"))?);
        }
        let asked: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
        unread.retain(|(path, _)| asked.contains(path.as_str()));
        let not_there: BTreeSet<&str> = unread.iter().map(|(path, _)| path.as_str()).collect();
        let shown: Vec<String> =
            paths.iter().filter(|path| !not_there.contains(path.as_str())).cloned().collect();
        if shown.is_empty() && analyser.asks_about_files() {
            return Ok(Sided { said: Vec::new(), unread, left: scratch.remove() });
        }
        let args = analyser.args(&shown, &scratch)?;
        let mut finished =
            self.run(analyser.installed(), args, &scratch, readable, analyser.time())?;
        finished.stderr = mask.text(&String::from_utf8_lossy(&finished.stderr)).into_bytes();
        let mut said = analyser.read(&finished).map_err(|why| mask.text(&why))?;
        for said in &mut said {
            said.path = scratch.path_of(&said.path);
            said.message = mask.text(&said.message);
        }
        Ok(Sided { said, unread, left: scratch.remove() })
    }

    fn run(
        &self,
        installed: &Installed,
        args: Vec<String>,
        scratch: &Scratch,
        mut readable: Vec<PathBuf>,
        time: Duration,
    ) -> Result<Finished, String> {
        readable.extend(installed.readable.iter().cloned());
        let job = Job {
            program: &installed.program,
            args,
            path: &self.path,
            scratch: scratch.root(),
            folder: scratch.tree(),
            readable,
        };
        let sandbox = self.sandbox().map_err(|why| why.to_string())?;
        sandbox
            .run(job, Bounds { time, output: OUTPUT, is_stopped: UNSTOPPED })
            .map_err(|why| why.to_string())
    }
}

/// What is installed in the checkout itself.
fn of_project(name: &str, checkout: &Path) -> Option<PathBuf> {
    if !matches!(name, eslint::NAME | tsc::NAME) {
        return None;
    }
    let program = checkout.join(scratch::MODULES).join(".bin").join(name);
    is_program(&program).then_some(program)
}

/// The files of the change that it has something to say about.
fn files<'c>(analyser: &dyn Analyser, change: &'c Change<'_>) -> Vec<&'c ChangedFile> {
    let Some(project) = change.project else { return Vec::new() };
    let is_wanted = |file: &&ChangedFile| {
        let Some(path) = file.after() else { return false };
        // What cannot be read is said by those who look at every file.
        let text = || project.file(Side::New, path).ok().flatten().unwrap_or_default();
        analyser.wants(path, &text)
    };
    change.files.iter().filter(is_wanted).collect()
}

/// What was said about one side.
#[derive(Debug, Default)]
struct Sided {
    said: Vec<Said>,
    /// What could not be shown, each with the reason.
    unread: Vec<(String, String)>,
    /// Why its folder is still there, as a sentence; none if it is gone.
    left: Option<String>,
}

/// Writes these files alone. Those that could not be, each with the reason.
fn lay_out_files(
    scratch: &Scratch,
    project: &dyn Project,
    side: Side,
    paths: &[String],
    shown: impl Fn(Vec<u8>) -> Vec<u8>,
) -> Vec<(String, String)> {
    let mut left = SHOWN_BYTES_MAX;
    let mut write = |path: &String| {
        let bytes = project.file(side, path)?.ok_or("it is no file with lines")?;
        if bytes.len() > FILE_BYTES_MAX {
            return Err(format!("it has more than {FILE_BYTES_MAX} bytes"));
        }
        left = left.checked_sub(bytes.len()).ok_or("the files before it were too large")?;
        scratch.write(path, &shown(bytes)).map_err(|why| why.to_string())
    };
    let written = paths.iter().map(|path| (path, write(path)));
    written.filter_map(|(path, written)| Some((path.clone(), written.err()?))).collect()
}

/// The row of an analyser that crh itself could not carry out.
fn crashed(name: &'static str) -> Run {
    let outcome = Err("it crashed".to_owned());
    Run { name, files: Vec::new(), unread: Vec::new(), outcome, took: Duration::ZERO }
}

/// The beginning of what an analyser complains about, on one line.
pub(crate) fn words(stderr: &[u8]) -> String {
    let text = folded(&String::from_utf8_lossy(stderr));
    match text.char_indices().nth(WORDS_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "it said nothing".to_owned(),
        None => text,
    }
}

/// A file as an argument: one that begins with a dash is no option.
fn argument(path: &String) -> String {
    format!("./{path}")
}

/// Reads what was printed as JSON. The error is a sentence.
fn json<T: serde::de::DeserializeOwned>(finished: &Finished) -> Result<T, String> {
    serde_json::from_slice(&finished.stdout).map_err(|_| {
        format!("what it printed is not understood; it says: {}", words(&finished.stderr))
    })
}

#[cfg(test)]
mod tests;
