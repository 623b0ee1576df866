//! `kill -9` and a failing disk at every write of a fix and of an undo. The next command ends in
//! the state before or after, in the tree and in the report. A fix never removes a file; an undo of
//! a created file does.
//!
//! CI tries each kind of write once. With `CRH_TEST_ALL=1`, the tests try each write.
//!
//! The tests trace programs. Where that is not allowed they print a line to standard error and
//! prove nothing, and they fail if `CRH_TEST_ALL` is set. Then only
//! `crh/src/fix/journal/tests/kills.rs` covers every step.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use super::repairing::{BEFORE, edits, vague};
use super::resuming::ended;
use super::*;
use crh_testkit::fake_model::{FakeRequest, PromptPart, calls};
use crh_testkit::{InjectedFault, TraceOutcome, runs_all_cases};

/// Files of the run folder that readers use.
const KEPT: [&str; 6] = [
    "review.json",
    "review.md",
    "metadata.json",
    "applied-fixes.json",
    "residual-work.json",
    "advisory.json",
];

/// Sampling: one of so many writes is tried.
const SOME: usize = 5;
/// A program is really killed at one of so many writes. At the others, a snapshot was saved while
/// it was stopped.
const KILLED: usize = 16;
/// Sampling for a failing disk, which keeps failing.
const FAILED: usize = 8;
/// Maximum length of a text in a failure message.
const SHOWN: usize = 300;

/// A checkout with a run, restored for each kill.
struct Stage {
    desk: Desk,
    run: String,
}

/// Exit code of an undisturbed command.
const DONE: i32 = 0;
const LEFT_SOMETHING: i32 = 1;

/// A copy of a folder, to restore it.
struct Saved(tempfile::TempDir);

/// The tree, the run's files, and the names of all others.
#[derive(PartialEq, Eq)]
struct State(BTreeMap<String, String>);

impl State {
    /// Only the differences, because most of both states is equal and long.
    fn unlike(&self, other: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let differ = names.into_iter().filter(|name| self.0.get(*name) != other.0.get(*name));
        let show = |state: &Self, name: &String| {
            let text = state.0.get(name).map_or("nothing", String::as_str);
            text.chars().take(SHOWN).collect::<String>()
        };
        differ.map(|name| format!("{name}: {} / {}", show(self, name), show(other, name))).collect()
    }
}

impl Saved {
    fn of(folder: &Path) -> Self {
        let saved = Self(tempfile::TempDir::new().unwrap());
        copy(folder, saved.0.path());
        saved
    }
}

impl Stage {
    /// A reviewed checkout without fixes.
    fn new() -> Self {
        let desk = Desk::with_faults();
        // A mode that git does not track.
        let mode = fs::Permissions::from_mode(0o640);
        fs::set_permissions(desk.repo.path().join(MAIL), mode).unwrap();
        desk.reviewed(&[mean(), swallowed(), unpaid()]);
        let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
        Self { desk, run }
    }

    fn save(&self) -> Saved {
        Saved::of(self.desk.repo.path())
    }

    fn bring_back(&self, saved: &Saved) {
        for entry in fs::read_dir(self.desk.repo.path()).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => fs::remove_dir_all(&path).unwrap(),
                false => fs::remove_file(&path).unwrap(),
            }
        }
        copy(saved.0.path(), self.desk.repo.path());
    }

    fn state(&self) -> State {
        let (run, mut state) = (self.desk.run(), self.desk.files());
        for name in KEPT {
            state.insert(name.to_owned(), fs::read_to_string(run.join(name)).unwrap());
        }
        for folder in [&run, &run.join("stages"), &self.desk.repo.path().join(".crh")] {
            let names = fs::read_dir(folder).unwrap();
            let names = names.map(|entry| entry.unwrap().path().display().to_string());
            state.extend(names.map(|name| (name, "is there".to_owned())));
        }
        // Journals are not part of the result.
        state.remove(&run.join("fixes").display().to_string());
        state.insert("git status".to_owned(), status(&self.desk));
        State(state)
    }

    /// Runs a command and checks its exit code.
    fn next(&self, args: &[&str], code: i32) {
        let output = self.desk.fix(args);
        assert_eq!(output.code, code, "{args:?} {}", output.shown());
    }
}

fn status(desk: &Desk) -> String {
    let args = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=all"];
    String::from_utf8(desk.repo.git(&args)).unwrap()
}

fn copy(from: &Path, to: &Path) {
    let dot = format!("{}/.", from.display());
    let output = Program::new("cp", from).args(["-a", &dot, to.to_str().unwrap()]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
}

/// The state after a command was stopped just before a write.
struct Left {
    write: String,
    /// Its number among the writes of the tree and of journals.
    number: Option<usize>,
    saved: Saved,
}

/// The writes to try: all, or the first of each kind. A kind is a system call and a path without
/// the names that contain digits.
fn sample(all: &[Left]) -> Vec<(usize, &Left)> {
    let mut seen = BTreeSet::new();
    let has_digit = |name: &str| name.contains(|letter: char| letter.is_ascii_digit());
    let kind = |left: &Left| {
        let names = left.write.split('/').map(|name| if has_digit(name) { "N" } else { name });
        names.collect::<Vec<_>>().join("/")
    };
    let all = all.iter().enumerate();
    all.filter(|(_, left)| seen.insert(kind(left)) || runs_all_cases()).collect()
}

fn is_of_the_fix(write: &str) -> bool {
    let path = write.split_once(' ').map_or("", |(_, path)| path);
    let is_journal = path.starts_with(".crh/fixing") || path.contains("/fixes");
    is_journal || !path.starts_with(".crh") && !path.starts_with(".context")
}

/// The state at each write of the tree and of journals, and at one of so many others; and the exit
/// code. `None` if tracing is not allowed.
fn all_left(stage: &Stage, program: Program, one_of: usize) -> Option<(Vec<Left>, i32)> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let (kept, repo) = (Arc::clone(&all), stage.desk.repo.path().to_owned());
    let (mut of_the_fix, mut others) = (0_usize, 0_usize);
    let traced = program.run_watching_changes(stage.desk.repo.path(), move |write| {
        let counter = if is_of_the_fix(write) { &mut of_the_fix } else { &mut others };
        *counter += 1;
        let number = is_of_the_fix(write).then_some(*counter);
        if number.is_some() || counter.is_multiple_of(one_of) {
            let (write, saved) = (write.to_owned(), Saved::of(&repo));
            kept.lock().unwrap().push(Left { write, number, saved });
        }
    });
    match traced {
        TraceOutcome::Ended(code, _) => Some((std::mem::take(&mut all.lock().unwrap()), code)),
        TraceOutcome::Hit(write, _) => panic!("{write}"),
        TraceOutcome::NotPermitted | TraceOutcome::NotOnThisMachine => {
            traced.is_conclusive("a fix that is killed at any write");
            None
        }
    }
}

/// Restores the state at a write. Sometimes kills the program there instead, to compare both.
fn leave(stage: &Stage, begin: &Saved, program: Program, left: &Left) {
    match left.number {
        Some(number) if number.is_multiple_of(KILLED) => {
            stage.bring_back(begin);
            let repo = stage.desk.repo.path();
            let killed = program.run_with_fault_at_matching(
                is_of_the_fix,
                repo,
                number,
                InjectedFault::Kill,
            );
            let TraceOutcome::Hit(write, -1) = &killed else { panic!("{killed:?}") };
            // The rest contains the run id, which differs in a new review.
            let call = |write: &str| write.split(' ').next().map(str::to_owned);
            assert_eq!(call(write), call(&left.write), "{number}: {write}");
        }
        Some(_) | None => stage.bring_back(&left.saved),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The command rolls back or resumes.
    GoesOn,
    /// The command undoes everything.
    Undoes,
}

impl Next {
    /// Both next commands after a write that moves a file into place. After other writes they
    /// alternate, because neighbouring writes leave almost the same state.
    fn after(at: usize, write: &str) -> &'static [Self] {
        let is_placing = ["rename shop", "unlink shop", "rename tools", "unlink tools"];
        match at % 2 {
            _ if is_placing.iter().any(|kind| write.starts_with(kind)) => {
                &[Self::GoesOn, Self::Undoes]
            }
            0 => &[Self::GoesOn],
            _ => &[Self::Undoes],
        }
    }
}

/// Runs the next command. Returns whether it leads to the state before.
fn check_next(stage: &Stage, next: Next, shown: &str, (before, after): (&State, &State)) -> bool {
    match next {
        Next::GoesOn => {
            stage.next(&[&stage.run, "--issue", "99"], LEFT_SOMETHING);
            let found = stage.state();
            let is_before = found == *before;
            let is_whole = is_before != (found == *after);
            let unlike = (found.unlike(before), found.unlike(after));
            assert!(is_whole, "{shown}: {unlike:#?}");
            is_before
        }
        Next::Undoes => {
            stage.next(&["--undo", &stage.run], DONE);
            let unlike = stage.state().unlike(before);
            assert_eq!(unlike, Vec::<String>::new(), "taken back after {shown}");
            true
        }
    }
}

/// Stops a command at its writes and checks the next one. Returns the writes; empty if tracing is
/// not allowed.
fn check(stage: &Stage, args: &[&str], (before, after): (&State, &State)) -> Vec<String> {
    let begin = stage.save();
    let Some((all, code)) = all_left(stage, stage.desk.crh(args), SOME) else { return Vec::new() };
    assert_eq!(code, DONE);
    let (mut as_before, mut as_after) = (0, 0);
    for (at, left) in sample(&all) {
        for next in Next::after(at, &left.write) {
            leave(stage, &begin, stage.desk.crh(args), left);
            let shown = format!("{at}, {}", left.write);
            let is_before = check_next(stage, *next, &shown, (before, after));
            *(if is_before { &mut as_before } else { &mut as_after }) += 1;
        }
    }
    let writes: Vec<String> = all.into_iter().map(|left| left.write).collect();
    let counts = (as_before, as_after);
    assert!(writes.len() > 40 && as_before > 10 && as_after > 0, "{counts:?} {writes:#?}");
    writes
}

/// Fails if no write starts with one of these.
fn assert_seen(writes: &[String], kinds: &[&str]) {
    for kind in kinds {
        assert!(writes.iter().any(|write| write.starts_with(kind)), "{kind}: {writes:#?}");
    }
}

const KINDS: [&str; 5] =
    ["rename shop/", "unlink shop/", "write .crh/", "open .crh/", "unlink .crh/"];

#[test]
fn fix_killed_at_any_write_is_complete_or_absent() {
    let stage = Stage::new();
    let (before, begin) = (stage.state(), stage.save());
    stage.next(&[], DONE);
    let after = stage.state();
    stage.bring_back(&begin);
    let writes = check(&stage, &["fix", &stage.run], (&before, &after));
    if !writes.is_empty() {
        assert_seen(&writes, &KINDS);
    }
}

#[test]
fn disk_full_at_any_write_leaves_before_or_after() {
    for (choice, blow) in [InjectedFault::FullDisk, InjectedFault::ReadOnly].into_iter().enumerate()
    {
        let stage = Stage::new();
        let (before, begin) = (stage.state(), stage.save());
        stage.next(&[], DONE);
        let after = stage.state();
        // CI tries each of these writes with one of the faults.
        let (first, step) = match runs_all_cases() {
            true => (1, FAILED),
            false => (1 + choice * 2 * FAILED, 4 * FAILED),
        };
        for (at, number) in (first..).step_by(step).enumerate() {
            stage.bring_back(&begin);
            let program = stage.desk.crh(&["fix", &stage.run]);
            let hit = program.run_with_fault(stage.desk.repo.path(), number, blow);
            if !hit.is_conclusive(&format!("crh fix, {blow:?}")) {
                return;
            }
            let TraceOutcome::Hit(write, _) = hit else {
                assert!(at > 1, "{hit:?}");
                break;
            };
            let next = if at.is_multiple_of(2) { Next::Undoes } else { Next::GoesOn };
            check_next(&stage, next, &write, (&before, &after));
            if at.is_multiple_of(3) {
                stage.next(&[&stage.run], DONE);
                assert_eq!(stage.state().unlike(&after), Vec::<String>::new(), "after {write}");
            }
        }
    }
}

const AUTOFIX: [&str; 5] = ["review", "--strategy", "single", "--mode", "autofix"];

/// A file that the change removes, with its folders.
const REMOVED: &str = "tools/clean/files.py";
const RESTORED: &str = "def clean(path):\n    path.unlink()\n";

/// A checkout where `autofix` fixes one file by code and two by a fixer, one of which is created
/// again.
fn shop_without_tools() -> Desk {
    let shop = SHOP.replace(
        "    //- head\n",
        "    //- tools/clean/files.py\n    def clean(path):\n        path.unlink()\n    //- head\n    //- tools/clean/files.py (deleted)\n",
    );
    let desk = Desk { repo: Repo::from_fixture(&shop), ..Desk::with_faults() };
    fs::remove_dir_all(desk.repo.path().join("tools")).unwrap();
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(desk.repo.path().join(MAIL), mode).unwrap();
    desk
}

/// A model that reports findings while they exist, and repairs them.
fn finds_and_repairs() -> FakeModel {
    let missing = with(
        vague(safe("Nothing cleans up", &format!("{REMOVED}:1"), "def clean(path):", "")),
        json!({
            "side": "old",
            "evidence":
                [{ "file": REMOVED, "line": 1, "side": "old", "snippet": "def clean(path):" }],
        }),
    );
    let findings = [vague(mean()), swallowed(), unpaid(), missing];
    FakeModel::answering(move |asked| match asked.caller.as_str() {
        "single" if is_unfixed(asked) => answers(&findings),
        "single" => answers(&[]),
        caller if caller.starts_with("fixer-") => repairs(asked),
        _ => confirms(),
    })
}

fn is_unfixed(asked: &FakeRequest) -> bool {
    asked
        .prompt_parts()
        .iter()
        .any(|read| matches!(read, PromptPart::User(text) if text.contains("len(items)")))
}

fn repairs(asked: &FakeRequest) -> ScriptedReply {
    let is_call = |read: &PromptPart| matches!(read, PromptPart::Call { .. });
    match asked.prompt_parts().into_iter().filter(is_call).count() {
        0 => edits(ORDERS, BEFORE, "    return result\n"),
        1 => calls("write_file", json!({ "path": REMOVED, "content": RESTORED })),
        _ => {
            let done = |number| json!({ "number": number, "outcome": "done", "sentence": "Done." });
            calls("report_repairs", json!({ "repairs": [done(3), done(4)] }))
        }
    }
}

/// The tree and the state of git.
fn tree(desk: &Desk) -> (BTreeMap<String, String>, String) {
    (desk.files(), status(desk))
}

/// Fails if the stored report has fixes, their repeated review has not ended, and the report looks
/// complete.
fn assert_incomplete_until_reviewed(desk: &Desk, shown: &str) {
    let run = desk.run();
    if !run.join("review.json").exists() || run.join("rounds/1/review.json").exists() {
        return;
    }
    let report = desk.stored("review.json");
    let fixes = report["applied_fixes"].as_array().map_or(0, Vec::len);
    assert!(fixes == 0 || report["status"] == "truncated", "{shown}: {report}");
}

#[test]
fn autofix_killed_at_any_write_can_resume_or_undo() {
    let stage = Stage { desk: shop_without_tools(), run: String::new() };
    let (desk, model) = (&stage.desk, finds_and_repairs());
    let (before, begin) = (tree(desk), stage.save());
    let review = || with_model(desk.crh(&[&AUTOFIX, &CHECKOUT[..]].concat()), &model);
    // `resuming.rs` samples the many other writes.
    let Some((all, code)) = all_left(&stage, review(), usize::MAX) else { return };
    assert_eq!(code, LEFT_SOMETHING);
    let after = (ended(desk), status(desk));
    assert_eq!(desk.text(REMOVED), RESTORED);
    let applied = desk.stored("applied-fixes.json");
    assert_eq!(applied.as_array().unwrap().len(), 3, "{applied}");
    // The test of a plain fix has the other steps, so CI tries one of three of them here.
    let is_tried = |(at, left): &(usize, &Left)| {
        left.write.contains("tools") || at.is_multiple_of(3) || runs_all_cases()
    };
    for (at, left) in sample(&all).into_iter().filter(is_tried) {
        for next in Next::after(at, &left.write) {
            leave(&stage, &begin, review(), left);
            let shown = format!("{at}, {}", left.write);
            let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
            assert_incomplete_until_reviewed(desk, &shown);
            match next {
                Next::GoesOn => {
                    let resumed = desk.crh(&["review", "--resume", &run]);
                    let resumed = with_model(resumed, &model).run();
                    assert_eq!(resumed.code, LEFT_SOMETHING, "{shown}: {}", resumed.shown());
                    assert_eq!((ended(desk), status(desk)), after, "gone on after {shown}");
                }
                Next::Undoes => {
                    stage.next(&["--undo", &run], DONE);
                    assert_eq!(tree(desk), before, "taken back after {shown}");
                }
            }
        }
    }
    let writes: Vec<String> = all.into_iter().map(|left| left.write).collect();
    let kinds = ["mkdir tools", "rename tools/clean/", "open .crh/fixing", "write .crh/runs/"];
    assert_seen(&writes, &[&["rename shop/", "unlink shop/"], &kinds[..]].concat());
}

/// The fix creates a file, which an undo removes with its folders.
#[test]
fn undo_killed_at_any_write_is_complete_or_absent() {
    let desk = shop_without_tools();
    let before = tree(&desk);
    let review = desk.crh(&[&AUTOFIX, &CHECKOUT[..]].concat());
    let output = with_model(review, &finds_and_repairs()).run();
    assert_eq!(output.code, LEFT_SOMETHING, "{}", output.shown());
    // Todo files are not part of a fix.
    fs::remove_dir_all(desk.repo.path().join(".context")).unwrap();
    let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    let stage = Stage { desk, run };
    let (after, begin) = (stage.state(), stage.save());
    stage.next(&["--undo", &stage.run], DONE);
    let taken_back = stage.state();
    assert_eq!(tree(&stage.desk), before);
    stage.bring_back(&begin);
    let writes = check(&stage, &["fix", "--undo", &stage.run], (&taken_back, &after));
    if !writes.is_empty() {
        assert_seen(&writes, &KINDS);
        assert_seen(&writes, &["rename tools/clean/", "unlink tools/clean/", "unlink tools"]);
    }
}
