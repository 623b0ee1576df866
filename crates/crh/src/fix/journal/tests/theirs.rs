//! Changes by other programs before, during and after a fix are never lost.

use super::*;

#[test]
fn edited_file_is_neither_fixed_nor_undone() {
    let desk = Desk::new();
    fs::write(desk.checkout.path().join("sub/b.sh"), "theirs").unwrap();
    let before = desk.seen();
    let error = desk.apply(UNDISTURBED).unwrap_err();
    assert_eq!(error.to_string(), "`sub/b.sh` changed since the review");
    assert_eq!(desk.seen(), before);
    let desk = Desk::new();
    desk.apply(UNDISTURBED).unwrap();
    fs::write(desk.checkout.path().join("a.py"), "theirs").unwrap();
    let before = desk.seen();
    assert_eq!(desk.undo().unwrap_err().to_string(), "`a.py` was changed after the fix");
    assert_eq!(desk.seen(), before);
}

#[test]
fn fix_whose_lines_are_gone_is_undone_without_a_change() {
    let check = |original: &str, fixed: &str, now: &str, is_gone: bool| {
        let desk = Desk::new();
        let path = desk.checkout.path().join("a.py");
        fs::write(&path, original).unwrap();
        let edits = [edit("a.py", Some(original), Some(fixed))];
        desk.locked().apply(&desk.fixes(), &edits, PURPOSE, UNDISTURBED).unwrap();
        fs::write(&path, now).unwrap();
        // crh restores nothing.
        assert_eq!(desk.undo().ok(), is_gone.then(Vec::new), "{now:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), now);
        assert_eq!(applied_fixes(&desk.fixes()).unwrap().is_empty(), is_gone, "{now:?}");
    };
    check("a\nmine\n", "b\nmine\n", "a\n", true);
    check("a\nmine\n", "b\nmine\n", "b\n", false);
    check("a\nmine\n", "a\nb\nmine\n", "a\n\nother\n", false);
}

#[test]
fn undo_after_two_fixes_keeps_an_edit_that_was_made_while_the_fix_was_undone() {
    let desk = Desk::new();
    let path = desk.checkout.path().join("a.py");
    let fix = |before: &str, after: &str| {
        fs::write(&path, before).unwrap();
        let edits = [edit("a.py", Some(before), Some(after))];
        desk.locked().apply(&desk.fixes(), &edits, PURPOSE, UNDISTURBED).unwrap();
    };
    fix("a\nmine\n", "b\nmine\n");
    fix("a\nother\n", "b\nother\n");
    assert_eq!(desk.undo().unwrap(), ["a.py"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nother\n");
    // The user undid one of two changes, and the second fix makes it again.
    fix("a\nx\nmine\n", "b\nx\nY\nmine\n");
    fix("b\nx\nmine\n", "b\nx\nY\nmine\n");
    assert_eq!(desk.undo().unwrap(), ["a.py"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nx\nmine\n");
    fix("a\nmine\n", "b\nmine\n");
    fix("b\nother\n", "c\nother\n");
    let error = desk.undo().unwrap_err().to_string();
    assert!(error.starts_with("`a.py` was changed between two fixes"), "{error}");
}

#[test]
fn edit_after_interruption_is_not_overwritten() {
    let desk = Desk::new();
    killed(|| desk.apply(&ends_at("noting that it is done")));
    assert!(desk.locked().is_between().unwrap());
    fs::write(desk.checkout.path().join("a.py"), "theirs").unwrap();
    let before = desk.seen();
    let error = desk.recover().unwrap_err();
    let ApplyError::Stuck { path, kept } = error else { panic!("{error}") };
    assert_eq!((path.as_str(), fs::read(kept).unwrap()), ("a.py", b"a\n".to_vec()));
    assert_eq!(desk.seen(), before);
    fs::write(desk.checkout.path().join("a.py"), "a\n").unwrap();
    assert!(desk.recover().unwrap().is_some());
}

/// Steps that move a file.
const PLACING: [&str; 3] = [
    "putting the draft in place",
    "putting the draft where nothing stands",
    "moving the file away",
];

/// A hook that saves a file when the first draft is moved into place, and stops the program at the
/// next one.
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
fn concurrent_save_stays_and_the_rest_is_rolled_back() {
    for file in ["sub/b.sh", "gone", "new/er/d"] {
        let desk = Desk::new();
        let mut expected = desk.seen();
        let error = desk.apply(&saving(&desk, file, || Ok(()))).unwrap_err();
        assert!(matches!(&error, ApplyError::Changed { path } if path == file), "{error}");
        assert!(!desk.locked().is_between().unwrap(), "{file}");
        let mut seen = desk.seen();
        assert_eq!(seen.remove(Path::new(file)).unwrap().1, Some(b"theirs".to_vec()));
        expected.remove(Path::new(file));
        seen.retain(|path, _| !path.starts_with("new"));
        assert_eq!(seen, expected, "{file}");
    }
}

#[test]
fn untouched_file_does_not_block_the_rollback() {
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
fn edit_after_an_interruption_without_effect_stays() {
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

/// A hook that acts after a file was read and before it is replaced, at the file with this number,
/// from 1.
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

type Act = fn(&Path);

/// Ways to change a file: save in place, save by rename, and others.
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

/// The tree with a change of another program in one file, with and without its new folders.
fn with_theirs(before: &Seen, seen: &Seen, file: &str) -> (Seen, Seen) {
    let of = |seen: &Seen| {
        let all = seen.clone().into_iter();
        all.filter(|(path, _)| path != Path::new(file) && !path.starts_with("new")).collect()
    };
    (of(before), of(seen))
}

#[test]
fn save_between_read_and_rename_stays() {
    for (number, file) in [(1, "a.py"), (2, "sub/b.sh"), (3, "gone"), (4, "new/er/d")] {
        for (name, act) in ACTS {
            let (desk, alone) = (Desk::new(), Desk::new());
            let before = desk.seen();
            let path = desk.checkout.path().join(file);
            let error = desk.apply(&between(number, || act(&path))).unwrap_err();
            assert!(matches!(&error, ApplyError::Changed { path } if path == file), "{error}");
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
fn save_during_undo_stays_and_keeps_the_fix() {
    for (number, file) in [(1, "a.py"), (2, "gone"), (3, "new/er/d"), (4, "sub/b.sh")] {
        let desk = Desk::new();
        desk.apply(UNDISTURBED).unwrap();
        let before = desk.seen();
        let path = desk.checkout.path().join(file);
        let saves = between(number, || fs::write(&path, "theirs").unwrap());
        let error = desk.locked().undo(&desk.fixes(), &saves).unwrap_err();
        assert!(matches!(&error, ApplyError::Changed { path } if path == file), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        let (expected, others) = with_theirs(&before, &desk.seen(), file);
        assert_eq!(others, expected, "{file}");
        assert_eq!(applied_fixes(&desk.fixes()).unwrap().len(), 1, "{file}");
        assert_eq!(desk.undo().unwrap_err().to_string(), left_otherwise(file));
    }
}

fn left_otherwise(file: &str) -> String {
    format!("`{file}` was changed after the fix")
}

#[test]
fn save_during_rollback_stays_until_user_decides() {
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
        assert!(matches!(&error, ApplyError::Stuck { path, .. } if path == file), "{error}");
        for _ in 0..2 {
            assert_eq!(fs::read(&path).unwrap(), b"theirs");
            let error = desk.recover().unwrap_err();
            assert!(matches!(&error, ApplyError::Stuck { path, .. } if path == file), "{error}");
        }
        fs::write(&path, ours).unwrap();
        assert!(desk.recover().unwrap().is_some());
        assert_eq!(desk.seen(), before, "{file}");
    }
}

#[test]
fn recreated_file_stays_and_the_rest_is_rolled_back() {
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
        assert!(matches!(&error, ApplyError::Io { .. }), "{error}");
    });
    check(|desk, save| {
        killed(|| desk.apply(&ends_at("noting that it is done")));
        save();
        assert!(desk.recover().unwrap().is_some());
    });
}

#[test]
fn fix_and_undo_work_with_plain_renames_only() {
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
fn undo_keeps_permissions_changed_since() {
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
fn rollback_keeps_permissions_changed_since() {
    let desk = Desk::new();
    let mut expected = desk.seen();
    killed(|| desk.apply(&ends_at("noting that it is done")));
    set_mode(&desk.checkout.path().join("a.py"), 0o755);
    expected.get_mut(Path::new("a.py")).unwrap().0 = 0o100_755;
    assert!(desk.recover().unwrap().is_some());
    assert_eq!(desk.seen(), expected);
}

#[test]
fn permission_change_during_fix_counts_as_change() {
    let desk = Desk::new();
    let mut expected = desk.seen();
    let path = desk.checkout.path().join("a.py");
    let error = desk.apply(&between(1, || set_mode(&path, 0o755))).unwrap_err();
    assert!(matches!(&error, ApplyError::Changed { path } if path == "a.py"), "{error}");
    expected.get_mut(Path::new("a.py")).unwrap().0 = 0o100_755;
    assert_eq!(desk.seen(), expected);
}
