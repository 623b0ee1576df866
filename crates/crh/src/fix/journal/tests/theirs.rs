//! What somebody else does to the files of a fix, before, meanwhile and since: it is never lost.

use super::*;

#[test]
fn what_is_not_as_it_was_reviewed_or_fixed_stays_as_it_is() {
    let desk = Desk::new();
    fs::write(desk.checkout.path().join("sub/b.sh"), "theirs").unwrap();
    let before = desk.seen();
    let error = desk.apply(UNDISTURBED).unwrap_err();
    assert_eq!(error.to_string(), "`sub/b.sh` is not as it was when it was reviewed");
    assert_eq!(desk.seen(), before);
    let desk = Desk::new();
    desk.apply(UNDISTURBED).unwrap();
    fs::write(desk.checkout.path().join("a.py"), "theirs").unwrap();
    let before = desk.seen();
    assert_eq!(desk.undo().unwrap_err().to_string(), "`a.py` is not as the fix has left it");
    assert_eq!(desk.seen(), before);
}

#[test]
fn what_was_changed_after_an_interruption_is_not_overwritten() {
    let desk = Desk::new();
    killed(|| desk.apply(&ends_at("noting that it is done")));
    assert!(desk.locked().is_between().unwrap());
    fs::write(desk.checkout.path().join("a.py"), "theirs").unwrap();
    let before = desk.seen();
    let error = desk.recover().unwrap_err();
    let NotApplied::Stuck { path, kept } = error else { panic!("{error}") };
    assert_eq!((path.as_str(), fs::read(kept).unwrap()), ("a.py", b"a\n".to_vec()));
    assert_eq!(desk.seen(), before);
    fs::write(desk.checkout.path().join("a.py"), "a\n").unwrap();
    assert!(desk.recover().unwrap().is_some());
}

/// The steps at which a file takes its place, or leaves it.
const PLACING: [&str; 3] = [
    "putting the draft in place",
    "putting the draft where nothing stands",
    "moving the file away",
];

/// A hook that saves a file, as an editor does, when the first draft is put in its place; and ends the program at the next one.
fn saving(
    desk: &Desk,
    file: &str,
    then: impl Fn() -> io::Result<()>,
) -> impl Fn(&str) -> io::Result<()> {
    let (path, count) = (desk.checkout.path().join(file), Cell::new(0));
    move |step: &str| {
        if !PLACING.contains(&step) {
            return Ok(());
        }
        count.set(count.get() + 1);
        match count.get() {
            1 => fs::write(&path, "theirs"),
            2 => then(),
            _ => Ok(()),
        }
    }
}

#[test]
fn what_an_editor_saves_meanwhile_stays_and_the_rest_is_rolled_back() {
    for file in ["sub/b.sh", "gone", "new/er/d"] {
        let desk = Desk::new();
        let mut expected = desk.seen();
        let error = desk.apply(&saving(&desk, file, || Ok(()))).unwrap_err();
        assert!(matches!(&error, NotApplied::Changed { path } if path == file), "{error}");
        assert!(!desk.locked().is_between().unwrap(), "{file}");
        let mut seen = desk.seen();
        assert_eq!(seen.remove(Path::new(file)).unwrap().1, Some(b"theirs".to_vec()));
        expected.remove(Path::new(file));
        seen.retain(|path, _| !path.starts_with("new"));
        assert_eq!(seen, expected, "{file}");
    }
}

#[test]
fn what_was_never_put_in_place_does_not_keep_the_rest_from_being_rolled_back() {
    let desk = Desk::new();
    let before = desk.seen();
    killed(|| desk.apply(&saving(&desk, "new/er/d", || ended())));
    fs::write(desk.checkout.path().join("sub/b.sh"), "theirs").unwrap();
    assert!(desk.recover().unwrap().is_some());
    assert_eq!(fs::read(desk.checkout.path().join("sub/b.sh")).unwrap(), b"theirs");
    fs::write(desk.checkout.path().join("sub/b.sh"), "b\r\n").unwrap();
    fs::remove_dir_all(desk.checkout.path().join("new")).unwrap();
    assert_eq!(desk.seen(), before);
}

#[test]
fn what_is_changed_after_an_interruption_that_changed_nothing_stays() {
    let is_first = "noting that files take their places";
    let names = Cell::new(Vec::new());
    let desk = Desk::new();
    let listing = |step: &str| {
        let mut all = names.take();
        all.push(step.to_owned());
        names.set(all);
        Ok(())
    };
    desk.apply(&listing).unwrap();
    let steps = names.take().iter().position(|step| step == is_first).unwrap();
    for step in 0..=steps {
        let desk = Desk::new();
        killed(|| desk.apply(&at(step, || ended())));
        for file in ["a.py", "sub/b.sh", "gone"] {
            fs::write(desk.checkout.path().join(file), "theirs").unwrap();
        }
        let mut expected = Desk::new().seen();
        let bytes = expected.values_mut().filter_map(|(_, bytes)| bytes.as_mut());
        bytes.for_each(|bytes| *bytes = b"theirs".to_vec());
        assert_eq!(desk.recover().unwrap(), None, "step {step}");
        assert_eq!(desk.seen(), expected, "step {step}");
    }
}

/// A hook that does something after a file was looked at and before another takes its place, at the one of this number, from 1.
fn between(number: usize, act: impl Fn()) -> impl Fn(&str) -> io::Result<()> {
    let count = Cell::new(0);
    move |step: &str| {
        if PLACING.contains(&step) {
            count.set(count.get() + 1);
            if count.get() == number {
                act();
            }
        }
        Ok(())
    }
}

/// Something that happens to a file.
type Act = fn(&Path);

/// What an editor does: it saves in place, or beside and over it; or somebody does something else to the file.
const ACTS: [(&str, Act); 4] = [
    ("saved", |path| fs::write(path, "theirs").unwrap()),
    ("replaced", |path| {
        let new = path.with_extension("new");
        fs::write(&new, "theirs").unwrap();
        fs::rename(&new, path).unwrap();
    }),
    ("a link", |path| {
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
        symlink("elsewhere", path).unwrap();
    }),
    ("a folder", |path| {
        if path.exists() {
            fs::remove_file(path).unwrap();
        }
        fs::create_dir(path).unwrap();
    }),
];

/// A tree in which something was done to one file. New folders that it is in may be there or not.
fn with_theirs(before: &Seen, seen: &Seen, file: &str) -> (Seen, Seen) {
    let of = |seen: &Seen| {
        let all = seen.clone().into_iter();
        all.filter(|(path, _)| path != Path::new(file) && !path.starts_with("new")).collect()
    };
    (of(before), of(seen))
}

#[test]
fn what_is_saved_between_the_look_and_the_rename_stays_and_the_rest_is_rolled_back() {
    for (number, file) in [(1, "a.py"), (2, "sub/b.sh"), (3, "gone"), (4, "new/er/d")] {
        for (name, act) in ACTS {
            let (desk, alone) = (Desk::new(), Desk::new());
            let before = desk.seen();
            let path = desk.checkout.path().join(file);
            let error = desk.apply(&between(number, || act(&path))).unwrap_err();
            assert!(matches!(&error, NotApplied::Changed { path } if path == file), "{error}");
            assert!(!desk.locked().is_between().unwrap(), "{name} {file}");
            fs::create_dir_all(alone.checkout.path().join("new/er")).unwrap();
            act(&alone.checkout.path().join(file));
            let at = Path::new(file);
            let seen = desk.seen();
            assert_eq!(seen.get(at), alone.seen().get(at), "{name} {file}");
            let (expected, others) = with_theirs(&before, &seen, file);
            assert_eq!(others, expected, "{name} {file}");
        }
    }
}

#[test]
fn what_is_saved_while_a_fix_is_taken_back_stays_and_so_does_the_fix() {
    for (number, file) in [(1, "a.py"), (2, "gone"), (3, "new/er/d"), (4, "sub/b.sh")] {
        let desk = Desk::new();
        desk.apply(UNDISTURBED).unwrap();
        let before = desk.seen();
        let path = desk.checkout.path().join(file);
        let saves = between(number, || fs::write(&path, "theirs").unwrap());
        let error = desk.locked().undo(&desk.fixes(), &saves).unwrap_err();
        assert!(matches!(&error, NotApplied::Changed { path } if path == file), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        let (expected, others) = with_theirs(&before, &desk.seen(), file);
        assert_eq!(others, expected, "{file}");
        assert_eq!(standing(&desk.fixes()).unwrap().len(), 1, "{file}");
        assert_eq!(desk.undo().unwrap_err().to_string(), left_otherwise(file));
    }
}

fn left_otherwise(file: &str) -> String {
    format!("`{file}` is not as the fix has left it")
}

#[test]
fn what_is_saved_while_a_fix_is_rolled_back_stays_until_somebody_says_what_is_right() {
    for (number, file, ours) in [(5, "a.py", "A\n"), (8, "new/er/d", "d\n")] {
        let desk = Desk::new();
        let before = desk.seen();
        let path = desk.checkout.path().join(file);
        let saves = between(number, || fs::write(&path, "theirs").unwrap());
        let full = |step: &str| match step {
            "noting that it is done" => Err(io::ErrorKind::StorageFull.into()),
            step => saves(step),
        };
        let error = desk.apply(&full).unwrap_err();
        assert!(matches!(&error, NotApplied::Stuck { path, .. } if path == file), "{error}");
        for _ in 0..2 {
            assert_eq!(fs::read(&path).unwrap(), b"theirs");
            let error = desk.recover().unwrap_err();
            assert!(matches!(&error, NotApplied::Stuck { path, .. } if path == file), "{error}");
        }
        fs::write(&path, ours).unwrap();
        assert!(desk.recover().unwrap().is_some());
        assert_eq!(desk.seen(), before, "{file}");
    }
}

#[test]
fn what_a_fix_had_removed_and_somebody_made_anew_stays_and_the_rest_is_rolled_back() {
    let check = |act: fn(&Desk, &dyn Fn())| {
        let desk = Desk::new();
        let mut expected = desk.seen();
        let path = desk.checkout.path().join("gone");
        act(&desk, &|| fs::write(&path, "theirs").unwrap());
        assert!(!desk.locked().is_between().unwrap());
        let mut seen = desk.seen();
        let theirs = seen.remove(Path::new("gone")).unwrap().1;
        assert_eq!(theirs, Some(b"theirs".to_vec()));
        expected.remove(Path::new("gone"));
        assert_eq!(seen, expected);
    };
    check(|desk, save| {
        let saves = between(7, save);
        let full = |step: &str| match step {
            "noting that it is done" => Err(io::ErrorKind::StorageFull.into()),
            step => saves(step),
        };
        let error = desk.apply(&full).unwrap_err();
        assert!(matches!(&error, NotApplied::Io { .. }), "{error}");
    });
    check(|desk, save| {
        killed(|| desk.apply(&ends_at("noting that it is done")));
        save();
        assert!(desk.recover().unwrap().is_some());
    });
}

#[test]
fn where_the_file_system_knows_only_plain_renames_a_fix_is_applied_and_taken_back() {
    let desk = Desk::new();
    let before = desk.seen();
    let plain = |step: &str| match step {
        "naming the draft" => Err(io::ErrorKind::Unsupported.into()),
        step if PLACING.contains(&step) => Err(io::ErrorKind::Unsupported.into()),
        _ => Ok(()),
    };
    desk.apply(&plain).unwrap();
    let after = desk.seen();
    assert_eq!(after.get(Path::new("a.py")), Some(&(0o100_644, Some(b"A\n".to_vec()))));
    assert_eq!(after.len(), before.len() + 2, "nothing of ours is left: {after:?}");
    desk.locked().undo(&desk.fixes(), &plain).unwrap();
    assert_eq!(desk.seen(), before);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn permissions_that_were_changed_since_a_fix_stay_when_it_is_taken_back() {
    let desk = Desk::new();
    let mut expected = desk.seen();
    desk.apply(UNDISTURBED).unwrap();
    for (file, mode) in [("a.py", 0o755), ("sub/b.sh", 0o600)] {
        set_mode(&desk.checkout.path().join(file), mode);
        expected.get_mut(Path::new(file)).unwrap().0 = 0o100_000 | mode;
    }
    desk.undo().unwrap();
    assert_eq!(desk.seen(), expected);
}

#[test]
fn permissions_that_were_changed_since_an_interruption_stay() {
    let desk = Desk::new();
    let mut expected = desk.seen();
    killed(|| desk.apply(&ends_at("noting that it is done")));
    set_mode(&desk.checkout.path().join("a.py"), 0o755);
    expected.get_mut(Path::new("a.py")).unwrap().0 = 0o100_755;
    assert!(desk.recover().unwrap().is_some());
    assert_eq!(desk.seen(), expected);
}

#[test]
fn permissions_that_change_in_the_middle_are_a_change_like_any_other() {
    let desk = Desk::new();
    let mut expected = desk.seen();
    let path = desk.checkout.path().join("a.py");
    let error = desk.apply(&between(1, || set_mode(&path, 0o755))).unwrap_err();
    assert!(matches!(&error, NotApplied::Changed { path } if path == "a.py"), "{error}");
    expected.get_mut(Path::new("a.py")).unwrap().0 = 0o100_755;
    assert_eq!(desk.seen(), expected);
}
