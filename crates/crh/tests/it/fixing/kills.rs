//! `kill -9` at every write of a fix, and at every write of taking it back, and a disk that fails: what comes next ends in the state
//! before or after, in the tree and in the report.

use std::collections::BTreeSet;
use std::path::Path;

use crh_testkit::Blow;
use crh_testkit::Traced;

use super::*;

/// What readers find in the run folder.
const KEPT: [&str; 6] = [
    "review.json",
    "review.md",
    "metadata.json",
    "applied-fixes.json",
    "residual-work.json",
    "advisory.json",
];

/// Where not each is tried, one of so many is.
const SOME: usize = 5;
/// As much is shown of a text that is not as it should be.
const SHOWN: usize = 300;

/// A checkout, in which a run was found, as it is brought back for each kill.
struct Stage {
    desk: Desk,
    run: String,
}

/// Everything that is in a folder, to be brought back.
struct Saved(tempfile::TempDir);

/// The tree, what is kept of the run, and the names of all that lies beside that.
#[derive(PartialEq, Eq)]
struct State(BTreeMap<String, String>);

impl State {
    /// What differs from another one: most of both is the same and long.
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

impl Stage {
    /// Reviewed, and nothing is fixed.
    fn new() -> Self {
        let desk = Desk::new();
        desk.reviewed(&[mean(), swallowed(), unpaid()]);
        let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
        Self { desk, run }
    }

    fn save(&self) -> Saved {
        let saved = Saved(tempfile::TempDir::new().unwrap());
        copy(self.desk.repo.path(), saved.0.path());
        saved
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
        // Where journals lie says nothing about what they have led to.
        state.remove(&run.join("fixes").display().to_string());
        State(state)
    }

    /// Does this to its end, whatever that is.
    fn next(&self, args: &[&str]) {
        let output = self.desk.fix(args);
        assert!(output.code < 2, "{args:?} {}", output.shown());
    }
}

fn copy(from: &Path, to: &Path) {
    let dot = format!("{}/.", from.display());
    let output = Program::new("cp", from).args(["-a", &dot, to.to_str().unwrap()]).run();
    assert_eq!(output.code, 0, "{}", output.shown());
}

/// Hits a command at its writes, and looks at what the next one makes of it.
fn check(
    stage: &Stage,
    args: &[&str],
    blow: Blow,
    begin: &Saved,
    (before, after): (&State, &State),
) {
    let mut writes = Vec::new();
    let (mut as_before, mut as_after) = (0, 0);
    // A disk that fails goes on failing, so that not every place has to be tried.
    let step = if blow == Blow::Kill { 1 } else { SOME };
    for number in (1..).step_by(step) {
        stage.bring_back(begin);
        let killed = stage.desk.crh(args).hit_at(stage.desk.repo.path(), number, blow);
        let write = match killed {
            Traced::Hit(write, _) => write,
            Traced::Ended(code, count) => {
                assert_eq!(code, 0, "{writes:#?}");
                assert!(count < number && number - count <= step, "{writes:#?}");
                break;
            }
            // Then only the tests of the journal itself show something.
            Traced::NotPermitted => return,
        };
        let left = stage.save();
        // It mends what it finds, and fixes nothing itself.
        stage.next(&[&stage.run, "--issue", "99"]);
        let found = stage.state();
        match (found == *before, found == *after) {
            (true, false) => as_before += 1,
            (false, true) => as_after += 1,
            (_, _) => panic!(
                "at {number}, {write}: {:#?} {:#?}",
                found.unlike(before),
                found.unlike(after)
            ),
        }
        let none = Vec::<String>::new();
        // From a whole state it is always the same way on.
        if writes.len() % SOME == 0 {
            stage.next(&[&stage.run]);
            assert_eq!(stage.state().unlike(after), none, "fixed after {number}, {write}");
        }
        stage.bring_back(&left);
        stage.next(&["--undo", &stage.run]);
        assert_eq!(stage.state().unlike(before), none, "taken back after {number}, {write}");
        writes.push(write);
    }
    let kinds = ["rename shop/", "write .crh/", "open .crh/", "unlink .crh/"];
    let are_all_seen = kinds.iter().all(|kind| writes.iter().any(|it| it.starts_with(kind)));
    assert!(are_all_seen || step > 1, "{writes:#?}");
    assert!(writes.len() * step > 50, "{writes:#?}");
    assert!(as_before.min(as_after) * step > 10, "{as_before} {as_after} {writes:#?}");
}

#[test]
fn a_fix_that_is_killed_at_any_write_is_there_or_is_not() {
    let stage = Stage::new();
    let (before, begin) = (stage.state(), stage.save());
    stage.next(&[]);
    let after = stage.state();
    check(&stage, &["fix", &stage.run], Blow::Kill, &begin, (&before, &after));
}

#[test]
fn taking_it_back_that_is_killed_at_any_write_is_done_or_is_not() {
    let stage = Stage::new();
    let before = stage.state();
    stage.next(&[]);
    let (after, begin) = (stage.state(), stage.save());
    check(&stage, &["fix", "--undo", &stage.run], Blow::Kill, &begin, (&before, &after));
}

#[test]
fn a_disk_that_is_full_from_any_write_on_leaves_what_was_before_or_comes_after() {
    for blow in [Blow::FullDisk, Blow::ReadOnly] {
        let stage = Stage::new();
        let (before, begin) = (stage.state(), stage.save());
        stage.next(&[]);
        let after = stage.state();
        check(&stage, &["fix", &stage.run], blow, &begin, (&before, &after));
    }
}
