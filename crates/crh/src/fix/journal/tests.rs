//! Applies fixes of every kind to a checkout, and undoes them.

mod kills;
mod theirs;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use tempfile::TempDir;

use super::super::tree::FileSnapshot;
use super::*;
use crh_review::report::FixOutcome;

/// A checkout and a separate run folder.
struct Desk {
    checkout: TempDir,
    run: TempDir,
}

/// Modes and bytes of everything below a folder, by path.
type Seen = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

impl Desk {
    fn new() -> Self {
        let desk = Self { checkout: TempDir::new().unwrap(), run: TempDir::new().unwrap() };
        let files = [("a.py", "a\n", 0o644), ("sub/b.sh", "b\r\n", 0o755), ("gone", "c", 0o600)];
        for (path, text, mode) in files {
            let path = desk.checkout.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        }
        desk.key().write_stamp(desk.run.path()).unwrap();
        desk
    }

    fn key(&self) -> StampKey {
        StampKey::load_or_create(self.run.path()).unwrap()
    }

    fn fixes(&self) -> PathBuf {
        self.run.path().join("fixes")
    }

    fn locked(&self) -> LockedCheckout {
        LockedCheckout::take(&self.checkout.path().canonicalize().unwrap(), Some(&self.key()))
            .unwrap()
    }

    fn apply(&self, steps: Steps<'_>) -> Result<(), ApplyError> {
        let edited = BTreeSet::from(["a.py".to_owned()]);
        let purpose =
            Purpose { after: Some("a commit"), fixes: &fixes(), edited: &edited, ..PURPOSE };
        self.locked().apply(&self.fixes(), &edits(), purpose, steps)
    }

    fn undo(&self) -> Result<Vec<String>, ApplyError> {
        self.locked().undo(&self.fixes(), UNDISTURBED)
    }

    fn recover(&self) -> Result<Option<RolledBackFix>, ApplyError> {
        self.locked().recover(UNDISTURBED)
    }

    fn seen(&self) -> Seen {
        let mut seen = BTreeMap::new();
        let mut left = vec![self.checkout.path().to_owned()];
        while let Some(path) = left.pop() {
            let facts = fs::symlink_metadata(&path).unwrap();
            let bytes = match facts.is_dir() {
                false if facts.is_symlink() => None,
                true => {
                    left.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                    None
                }
                false => Some(fs::read(&path).unwrap()),
            };
            let name = path.strip_prefix(self.checkout.path()).unwrap().to_owned();
            seen.insert(name, (facts.permissions().mode(), bytes));
        }
        seen
    }
}

fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> FileEdit {
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    let issues = BTreeSet::from([1]);
    FileEdit { path: path.to_owned(), before: bytes(before), after: bytes(after), issues }
}

/// One edit of each kind: two changes, a deletion, and a new file in new folders.
fn edits() -> Vec<FileEdit> {
    vec![
        edit("a.py", Some("a\n"), Some("A\n")),
        edit("sub/b.sh", Some("b\r\n"), Some("B\r\n")),
        edit("gone", Some("c"), None),
        edit("new/er/d", None, Some("d\n")),
    ]
}

fn fixes() -> Vec<AppliedFix> {
    let files = edits().into_iter().map(|edit| edit.path).collect();
    let description = "capitals".to_owned();
    vec![AppliedFix {
        number: 1,
        description,
        files,
        outcome: FixOutcome::Done,
        ..AppliedFix::default()
    }]
}

/// Purpose for tests that do not check the purpose.
const PURPOSE: Purpose<'static> =
    Purpose { asker: FixOrigin::Command, after: None, fixes: &[], edited: &BTreeSet::new() };

/// A hook that acts at one step.
fn at(step: usize, act: impl Fn() -> io::Result<()>) -> impl Fn(&str) -> io::Result<()> {
    let count = Cell::new(0);
    move |_: &str| {
        let now = count.get();
        count.set(now + 1);
        if now == step { act() } else { Ok(()) }
    }
}

fn counted(run: impl FnOnce(Steps<'_>)) -> usize {
    let count = Cell::new(0);
    run(&|_| {
        count.set(count.get() + 1);
        Ok(())
    });
    count.get()
}

/// Stands for SIGKILL.
fn ended() -> ! {
    resume_unwind(Box::new("ended"))
}

/// A hook that stops the program at the first step of a name.
fn ends_at(step: &'static str) -> impl Fn(&str) -> io::Result<()> {
    move |now: &str| if now == step { ended() } else { Ok(()) }
}

/// Runs something and catches the panic that stands for SIGKILL.
fn killed<T>(run: impl FnOnce() -> T) {
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
}

/// A draft may hold content that only its owner may read.
#[test]
fn draft_is_private_until_its_mode_is_set() {
    let desk = Desk::new();
    let modes = Cell::new(Vec::new());
    let look = |step: &str| {
        if step == "setting the mode" {
            let drafts =
                desk.seen().into_values().filter(|(_, bytes)| bytes.as_deref() == Some(b"A\n"));
            let mut seen = modes.take();
            seen.extend(drafts.map(|(mode, _)| mode & 0o777));
            modes.set(seen);
        }
        Ok(())
    };
    desk.apply(&look).unwrap();
    assert_eq!(modes.take().first(), Some(&0o600));
}

fn steps_of_apply() -> usize {
    let desk = Desk::new();
    counted(|steps| desk.apply(steps).unwrap())
}

#[test]
fn apply_then_undo_restores_bytes_and_modes() {
    let desk = Desk::new();
    let before = desk.seen();
    desk.apply(UNDISTURBED).unwrap();
    let after = desk.seen();
    let of = |path: &str| after.get(Path::new(path)).cloned();
    assert_eq!(of("a.py"), Some((0o100_644, Some(b"A\n".to_vec()))));
    assert_eq!(of("sub/b.sh"), Some((0o100_755, Some(b"B\r\n".to_vec()))));
    assert_eq!(of("gone"), None);
    assert_eq!(of("new/er/d").and_then(|(_, bytes)| bytes), Some(b"d\n".to_vec()));
    assert_eq!(after.len(), before.len() + 2, "nothing of ours is left: {after:?}");
    let applied_fixes = applied_fixes(&desk.fixes()).unwrap();
    let (_, journal) = &applied_fixes[&1];
    assert_eq!((journal.after.as_deref(), &journal.fixes), (Some("a commit"), &fixes()));
    assert_eq!(journal.edited, BTreeSet::from(["a.py".to_owned()]));
    assert_eq!(desk.undo().unwrap(), ["a.py", "gone", "new/er/d", "sub/b.sh"]);
    assert_eq!(desk.seen(), before);
    assert_eq!(desk.undo().unwrap(), Vec::<String>::new(), "there is nothing left to undo");
}

#[test]
fn two_fixes_of_one_file_are_undone_together() {
    let desk = Desk::new();
    let before = desk.seen();
    desk.apply(UNDISTURBED).unwrap();
    let second = [edit("a.py", Some("A\n"), None), edit("new/er/d", Some("d\n"), Some("D\n"))];
    desk.locked().apply(&desk.fixes(), &second, PURPOSE, UNDISTURBED).unwrap();
    desk.undo().unwrap();
    assert_eq!(desk.seen(), before);
    desk.apply(UNDISTURBED).unwrap();
    assert_eq!(applied_fixes(&desk.fixes()).unwrap().into_keys().collect::<Vec<_>>(), [4]);
}

#[test]
fn checkout_is_locked_while_it_is_fixed() {
    let desk = Desk::new();
    let first = desk.locked();
    let second = LockedCheckout::take(&desk.checkout.path().canonicalize().unwrap(), None);
    assert!(matches!(second, Err(ApplyError::Busy)));
    drop(first);
    desk.apply(UNDISTURBED).unwrap();
}

#[test]
fn interrupted_fix_is_rolled_back_first() {
    let desk = Desk::new();
    let before = desk.seen();
    killed(|| desk.apply(&ends_at("noting that it is done")));
    desk.apply(UNDISTURBED).unwrap();
    let second = [edit("a.py", Some("A\n"), Some("AA\n")), edit("more", None, Some("more\n"))];
    let ends = ends_at("noting that it is done");
    killed(|| desk.locked().apply(&desk.fixes(), &second, PURPOSE, &ends));
    assert_eq!(desk.undo().unwrap().len(), edits().len());
    assert_eq!(desk.seen(), before);
}

#[test]
fn marker_is_never_overwritten() {
    let desk = Desk::new();
    let before = desk.seen();
    let marker = desk.checkout.path().join(MARKER);
    let checkout = desk.locked().tree.path().to_owned();
    let journal = Journal { checkout, ..Journal::of(FixOrigin::Command, Vec::new()) };
    fs::create_dir(marker.parent().unwrap()).unwrap();
    fs::write(&marker, "theirs").unwrap();
    let error = desk.locked().apply_journal(&desk.fixes(), &journal, &[], UNDISTURBED).unwrap_err();
    assert_eq!(error.to_string(), "`.crh/fixing` says that a fix is under way");
    assert_eq!(fs::read(&marker).unwrap(), b"theirs");
    fs::remove_dir_all(marker.parent().unwrap()).unwrap();
    assert_eq!(desk.seen(), before);
}

#[test]
fn run_folder_may_have_any_name() {
    let desk = Desk::new();
    let before = desk.seen();
    for name in [&b"ends in a blank "[..], b"two\nlines\n", b"no text \xff"] {
        let fixes = desk.run.path().join(OsStr::from_bytes(name));
        killed(|| {
            desk.locked().apply(&fixes, &edits(), PURPOSE, &ends_at("noting that it is done"))
        });
        assert!(desk.locked().is_between().unwrap());
        assert!(is_needed(&fixes), "{name:?}");
        assert!(desk.recover().unwrap().is_some(), "{name:?}");
        assert!(!is_needed(&fixes), "{name:?}");
        assert_eq!(desk.seen(), before);
    }
}

#[test]
fn incomplete_journal_is_removed_by_the_next_fix() {
    let desk = Desk::new();
    let steps = Cell::new(0);
    killed(|| {
        desk.apply(&|step: &str| {
            if step == "writing the journal" {
                ended();
            }
            steps.set(steps.get() + 1);
            Ok(())
        })
    });
    assert!(steps.get() > 2 && desk.fixes().join("1/0.before").exists());
    assert_eq!(desk.undo().unwrap(), Vec::<String>::new());
    assert_eq!(fs::read_dir(desk.fixes()).unwrap().count(), 0);
}

#[test]
fn special_permission_bits_are_never_restored() {
    let desk = Desk::new();
    let locked = desk.locked();
    let mut found = locked.tree.read(inside("a.py").unwrap()).unwrap().unwrap();
    found.mode = 0o7755;
    let draft = |found: &FileSnapshot| {
        let image = StoredVersion::from_snapshot(0, "before", found);
        let (path, folders) = ("a.py".to_owned(), Vec::new());
        let entry = FileEntry { number: 0, path, before: None, after: None, folders };
        entry.write_draft(&locked.tree, &image, b"", "draft", UNDISTURBED).unwrap();
        let draft = desk.checkout.path().join("draft-0");
        let mode = fs::metadata(&draft).unwrap().permissions().mode() & 0o7777;
        fs::remove_file(&draft).unwrap();
        mode
    };
    assert_eq!(draft(&found), 0o755);
    // Even root cannot give a file to this owner.
    found.owner = (u32::MAX, u32::MAX);
    assert_eq!(draft(&found), 0o755);
}

#[test]
fn paths_outside_and_through_symlinks_are_rejected() {
    let desk = Desk::new();
    let root = desk.checkout.path();
    let outside = desk.run.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x"), "x").unwrap();
    symlink(&outside, root.join("link")).unwrap();
    symlink(outside.join("x"), root.join("x")).unwrap();
    fs::create_dir(root.join("folder")).unwrap();
    for (path, before, expected) in [
        ("../outside/x", Some("x"), "`../outside/x` is not inside the checkout"),
        ("/etc/passwd", None, "`/etc/passwd` is not inside the checkout"),
        ("link/x", Some("x"), "`link/x` cannot be changed: `link` is a symlink"),
        ("link/y", None, "`link/y` cannot be changed: `link` is a symlink"),
        ("a.py/x", None, "`a.py/x` cannot be changed: `a.py` is not a folder"),
        ("x", Some("x"), "`x` cannot be changed: it is a symlink"),
        ("folder", None, "`folder` cannot be changed: it is not a regular file"),
        (".git/hooks/pre-commit", None, "`.git/hooks/pre-commit` belongs to git"),
        ("sub/.GIT/config", None, "`sub/.GIT/config` belongs to git"),
        ("\"\\377\"", None, "`\"\\377\"` has a name that is not UTF-8"),
    ] {
        let edits = [edit("a.py", Some("a\n"), Some("A\n")), edit(path, before, Some("y"))];
        let before = desk.seen();
        let error = desk.locked().apply(&desk.fixes(), &edits, PURPOSE, UNDISTURBED).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!(desk.seen(), before, "{path}");
    }
    assert_eq!(fs::read(outside.join("x")).unwrap(), b"x");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}
