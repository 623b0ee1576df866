//! Stops at every step by a panic, a signal or a full disk. The tree is as before or as after.

use std::cell::RefCell;
use std::process::Command;

use rustix::process::Signal;

use super::*;

/// An operation on a checkout.
struct Scene {
    /// Preparation.
    begin: fn(&Desk),
    act: fn(&Desk, Steps<'_>) -> Result<(), ApplyError>,
    meanwhile: Meanwhile,
}

/// What happens during the operation.
#[derive(Clone, Copy)]
enum Meanwhile {
    Nothing,
    /// Nothing, and the file system supports only plain renames.
    PlainRenames,
    /// Another program saves files, each at the first step of a name: step, file, text.
    Saves(&'static [(&'static str, &'static str, &'static str)]),
}

/// Observations of a scene.
#[derive(Default)]
struct Watch {
    steps: RefCell<Vec<String>>,
    /// Saved files and their texts.
    saved: RefCell<Vec<(&'static str, &'static str)>>,
    /// Number of steps before the first save.
    undisturbed: Cell<usize>,
}

impl Watch {
    /// Runs a scene up to the step with this number.
    fn play(&self, desk: &Desk, scene: &Scene, last: usize) -> Result<(), ApplyError> {
        (scene.act)(desk, &|step: &str| {
            self.steps.borrow_mut().push(step.to_owned());
            if self.steps.borrow().len() > last {
                ended();
            }
            match scene.meanwhile {
                Meanwhile::Nothing => Ok(()),
                Meanwhile::PlainRenames if IN_ONE_STEP.contains(&step) => {
                    Err(io::ErrorKind::Unsupported.into())
                }
                Meanwhile::PlainRenames => Ok(()),
                Meanwhile::Saves(saves) => {
                    let is_first = self.steps.borrow().iter().filter(|it| *it == step).count() == 1;
                    for (at, file, text) in saves {
                        if *at == step && is_first {
                            if self.saved.borrow().is_empty() {
                                self.undisturbed.set(self.steps.borrow().len());
                            }
                            fs::write(desk.checkout.path().join(file), text)?;
                            self.saved.borrow_mut().push((file, text));
                        }
                    }
                    Ok(())
                }
            }
        })
    }
}

/// Steps that a file system may not support.
const IN_ONE_STEP: [&str; 4] = [
    "naming the draft",
    "putting the draft where nothing stands",
    "putting the draft in place",
    "moving the file away",
];

const SCENES: [Scene; 12] = [
    Scene { begin: nothing, act: applying, meanwhile: Meanwhile::Nothing },
    Scene { begin: applied, act: undoing, meanwhile: Meanwhile::Nothing },
    Scene { begin: interrupted, act: recovering, meanwhile: Meanwhile::Nothing },
    Scene { begin: half_written, act: applying, meanwhile: Meanwhile::Nothing },
    Scene { begin: nothing, act: applying, meanwhile: Meanwhile::PlainRenames },
    Scene { begin: applied, act: undoing, meanwhile: Meanwhile::PlainRenames },
    Scene {
        begin: nothing,
        act: applying,
        meanwhile: Meanwhile::Saves(&[("putting the draft in place", "a.py", "theirs")]),
    },
    Scene {
        begin: nothing,
        act: applying,
        meanwhile: Meanwhile::Saves(&[("moving the file away", "gone", "theirs")]),
    },
    Scene {
        begin: applied,
        act: undoing,
        meanwhile: Meanwhile::Saves(&[("putting the draft in place", "a.py", "theirs")]),
    },
    Scene {
        begin: applied,
        act: undoing,
        meanwhile: Meanwhile::Saves(&[("moving the file away", "new/er/d", "theirs")]),
    },
    Scene {
        begin: nothing,
        act: applying,
        meanwhile: Meanwhile::Saves(&[
            ("putting the draft in place", "a.py", "theirs"),
            ("putting back what stood there", "a.py", "theirs again"),
        ]),
    },
    Scene {
        begin: nothing,
        act: applying,
        meanwhile: Meanwhile::Saves(&[
            ("moving the file away", "gone", "theirs"),
            ("putting back what stood there", "gone", "theirs again"),
        ]),
    },
];

fn nothing(_: &Desk) {}

fn applied(desk: &Desk) {
    desk.apply(UNDISTURBED).unwrap();
}

fn interrupted(desk: &Desk) {
    killed(|| desk.apply(&ends_at("noting that it is done")));
}

fn half_written(desk: &Desk) {
    killed(|| desk.apply(&ends_at("writing the journal")));
}

fn applying(desk: &Desk, steps: Steps<'_>) -> Result<(), ApplyError> {
    desk.apply(steps)
}

fn undoing(desk: &Desk, steps: Steps<'_>) -> Result<(), ApplyError> {
    desk.locked().undo(&desk.fixes(), steps).map(drop)
}

fn recovering(desk: &Desk, steps: Steps<'_>) -> Result<(), ApplyError> {
    desk.locked().recover(steps).map(drop)
}

/// Stops a scene at each of its steps and checks the recovery. Returns the names of the steps.
fn check(scene: &Scene) -> BTreeSet<String> {
    let before = Desk::new().seen();
    let after = Desk::new();
    after.apply(UNDISTURBED).unwrap();
    let after = after.seen();
    let (all, undisturbed) = {
        let (desk, watch) = (Desk::new(), Watch::default());
        (scene.begin)(&desk);
        let done = watch.play(&desk, scene, usize::MAX);
        assert_eq!(done.is_ok(), watch.saved.borrow().is_empty(), "{done:?}");
        (watch.steps.take(), watch.undisturbed.get())
    };
    // Steps before the first save are covered by the scene without one.
    for (last, step) in all.iter().enumerate().skip(undisturbed) {
        let (desk, watch) = (Desk::new(), Watch::default());
        (scene.begin)(&desk);
        killed(|| watch.play(&desk, scene, last));
        desk.recover().unwrap();
        assert!(!desk.locked().is_between().unwrap());
        let seen = desk.seen();
        let saved = watch.saved.take();
        let is_standing = !applied_fixes(&desk.fixes()).unwrap().is_empty();
        let expected = if is_standing { &after } else { &before };
        if saved.is_empty() {
            assert_eq!(&seen, expected, "{last}: {step}");
            desk.undo().unwrap();
            assert_eq!(desk.seen(), before, "{last}: {step}");
            continue;
        }
        check_saved(&seen, expected, &saved, &format!("{last}: {step}"));
    }
    all.into_iter().skip(undisturbed).collect()
}

/// Checks that every saved file exists under one of its names, and that nothing else changed.
fn check_saved(seen: &Seen, expected: &Seen, saved: &[(&str, &str)], at: &str) {
    for (file, text) in saved {
        let place = Path::new(file).parent().unwrap();
        let lies = |(path, (_, bytes)): (&PathBuf, &(u32, Option<Vec<u8>>))| {
            path.parent() == Some(place) && bytes.as_deref() == Some(text.as_bytes())
        };
        assert!(seen.iter().any(lies), "{at}: {text} in {seen:?}");
    }
    let is_other = |path: &PathBuf| !saved.iter().any(|(file, _)| path == Path::new(file));
    let of = |all: &Seen| {
        let all = all.clone().into_iter();
        all.filter(|(path, _)| is_other(path) && !is_draft(path)).collect::<Seen>()
    };
    assert_eq!(of(seen), of(expected), "{at}");
    let drafts = seen.keys().filter(|path| is_draft(path)).count();
    assert!(drafts < saved.len(), "{at}: {seen:?}");
}

fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".crh-fix-"))
}

/// Step names in the source code of the journal.
fn named_steps() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fix");
    let files = fs::read_dir(folder.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.chain([folder.join("journal.rs")]).filter(|path| path.is_file());
    let texts = files.filter(|path| !path.ends_with("tests.rs")).map(fs::read_to_string);
    let mut named = BTreeSet::new();
    for text in texts {
        for call in ["steps(\"", "steps)(\""] {
            let text = text.as_ref().unwrap();
            let rests = text.split(call).skip(1);
            named.extend(rests.map(|rest| rest.split('"').next().unwrap().to_owned()));
        }
    }
    named
}

/// Covers systems where processes cannot be traced.
#[test]
fn stop_at_any_step_leaves_state_before_or_after() {
    let seen: BTreeSet<String> = SCENES.iter().flat_map(check).collect();
    assert_eq!(seen, named_steps());
}

/// Here the user has to decide, and must find both versions.
#[test]
fn stop_during_rollback_keeps_concurrent_saves() {
    for (step, file, ours) in
        [("putting the draft in place", "a.py", "A\n"), ("moving the file away", "new/er/d", "d\n")]
    {
        let saves: &'static [_] = Box::leak(Box::new([(step, file, "theirs")]));
        let meanwhile = Meanwhile::Saves(saves);
        let scene = Scene { begin: interrupted, act: recovering, meanwhile };
        for last in 0.. {
            let (desk, watch) = (Desk::new(), Watch::default());
            let before = desk.seen();
            (scene.begin)(&desk);
            let ended =
                catch_unwind(AssertUnwindSafe(|| drop(watch.play(&desk, &scene, last)))).is_err();
            let path = desk.checkout.path().join(file);
            if !watch.saved.take().is_empty() {
                let error = desk.recover().unwrap_err();
                let is_stuck = matches!(&error, ApplyError::Stuck { path, .. } if path == file);
                assert!(is_stuck, "{last}: {error}");
                assert_eq!(fs::read(&path).unwrap(), b"theirs", "{last}");
                fs::write(&path, ours).unwrap();
            }
            desk.recover().unwrap();
            assert_eq!(desk.seen(), before, "{last} {file}");
            if !ended {
                break;
            }
        }
    }
}

#[test]
fn stopped_rollback_is_finished_by_the_next_run() {
    let steps = steps_of_apply();
    for step in (0..steps).step_by(9) {
        let desk = Desk::new();
        let before = desk.seen();
        for again in 0..steps {
            // Stopped while applying, then stopped while rolling back.
            killed(|| desk.apply(&at(step, || ended())));
            let ended =
                catch_unwind(AssertUnwindSafe(|| desk.locked().recover(&at(again, || ended()))));
            desk.recover().unwrap();
            if !applied_fixes(&desk.fixes()).unwrap().is_empty() {
                desk.undo().unwrap();
            }
            assert_eq!(desk.seen(), before, "steps {step} and {again}");
            if ended.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn failure_at_any_step_leaves_tree_unchanged() {
    for step in 0..steps_of_apply() {
        let desk = Desk::new();
        let before = desk.seen();
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        let applied = desk.apply(&at(step, full));
        let stands = !applied_fixes(&desk.fixes()).unwrap().is_empty();
        assert_eq!(applied.is_ok(), stands, "step {step}: {applied:?}");
        if stands {
            // Only the marker was left.
            desk.undo().unwrap();
        }
        assert_eq!(desk.recover().unwrap(), None, "step {step}");
        assert_eq!(desk.seen(), before, "step {step}");
    }
}

/// Variable with the step at which the child process of the test below stops.
const STEP: &str = "CRH_TEST_FIX_STEP";
const CHECKOUT: &str = "CRH_TEST_FIX_CHECKOUT";
const RUN: &str = "CRH_TEST_FIX_RUN";

#[test]
#[ignore = "it is the program that the test below kills"]
fn child_that_kills_itself() {
    let variable = |name: &str| std::env::var_os(name).unwrap();
    let step = variable(STEP).into_string().unwrap().parse().unwrap();
    let key = StampKey::load_or_create(Path::new(&variable(RUN))).unwrap();
    let locked = LockedCheckout::take(Path::new(&variable(CHECKOUT)), Some(&key)).unwrap();
    let fixes = PathBuf::from(variable(RUN)).join("fixes");
    let kill = || {
        rustix::process::kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
        Ok(())
    };
    locked.apply(&fixes, &edits(), PURPOSE, &at(step, kill)).unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a process that can be killed")]
fn process_killed_at_any_step_is_rolled_back_or_done() {
    for step in 0..steps_of_apply() {
        let desk = Desk::new();
        let before = desk.seen();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "fix::journal::tests::kills::child_that_kills_itself"])
            .env(STEP, step.to_string())
            .env(CHECKOUT, desk.checkout.path().canonicalize().unwrap())
            .env(RUN, desk.run.path())
            .output()
            .unwrap();
        assert_eq!(child.status.code(), None, "step {step}: {child:?}");
        desk.recover().unwrap();
        if !applied_fixes(&desk.fixes()).unwrap().is_empty() {
            desk.undo().unwrap();
        }
        assert_eq!(desk.seen(), before, "step {step}");
    }
}
