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
    let last = steps_of_apply() - 4;
    killed(|| desk.apply(&at(last, || panic!("step {last}"))));
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

/// A hook that saves a file, as an editor does, when the first draft is put in its place; and ends the program at the next one.
fn saving(
    desk: &Desk,
    file: &str,
    then: impl Fn() -> io::Result<()>,
) -> impl Fn(&str) -> io::Result<()> {
    let (path, count) = (desk.checkout.path().join(file), Cell::new(0));
    move |step: &str| {
        if step != "putting the draft in place" {
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
    killed(|| desk.apply(&saving(&desk, "new/er/d", || panic!("the second file"))));
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
        killed(|| desk.apply(&at(step, || panic!("step {step}"))));
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
