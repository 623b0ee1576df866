use expect_test::expect;
use tempfile::TempDir;

use super::*;

fn dismissal(reason: &str) -> LocalDismissal {
    LocalDismissal {
        reason: reason.to_owned(),
        title: "Swallows the error".to_owned(),
        place: "src/a.rs:12".to_owned(),
        run: "20261115T000000Z_0123456789abcdef#3".to_owned(),
        at: "2026-11-15T00:00:00Z".to_owned(),
    }
}

#[test]
fn dismissals_are_stored_per_repository() {
    let state = TempDir::new().unwrap();
    let state = state.path();
    let path = dismissals_path(state, "o/r");
    assert_eq!(Dismissals::load(&path).unwrap(), Dismissals::default());
    let add = |list: &mut Dismissals| list.add("k1", dismissal("by design"));
    assert_eq!(Dismissals::update(state, "o/r", add).unwrap(), None);
    Dismissals::update(state, "o/r", |list| list.add("k2", dismissal(""))).unwrap();
    expect![[r#"
        {
          "dismissed": {
            "k1": {
              "at": "2026-11-15T00:00:00Z",
              "place": "src/a.rs:12",
              "reason": "by design",
              "run": "20261115T000000Z_0123456789abcdef#3",
              "title": "Swallows the error"
            },
            "k2": {
              "at": "2026-11-15T00:00:00Z",
              "place": "src/a.rs:12",
              "reason": "",
              "run": "20261115T000000Z_0123456789abcdef#3",
              "title": "Swallows the error"
            }
          },
          "repo": "o/r",
          "version": 1
        }
    "#]]
    .assert_eq(&fs::read_to_string(&path).unwrap());
    let remembered = Dismissals::load(&path).unwrap().into_reasons();
    let run = "as issue 3 of run 20261115T000000Z_0123456789abcdef";
    let expected = [("k1", "by design"), ("k2", run)];
    assert_eq!(remembered, expected.map(|(key, why)| (key.to_owned(), why.to_owned())).into());
    assert_eq!(
        Dismissals::load(&dismissals_path(state, "o/other")).unwrap(),
        Dismissals::default()
    );

    let previous =
        Dismissals::update(state, "o/r", |list| list.add("k1", dismissal("no"))).unwrap();
    assert_eq!(previous, Some(dismissal("by design")));
    let undone = Dismissals::update(state, "o/r", |list| list.remove("k1")).unwrap();
    assert_eq!(undone, Some(dismissal("no")));
    assert_eq!(Dismissals::update(state, "o/r", |list| list.remove("k1")).unwrap(), None);
    let lists = load_all(state).unwrap();
    let expected = [("k2".to_owned(), dismissal(""))].into();
    assert_eq!(lists, [("o/r".to_owned(), Dismissals { entries: expected })]);
}

#[test]
fn unchanged_dismissals_are_not_written() {
    let state = TempDir::new().unwrap();
    Dismissals::update(state.path(), "o/r", |list| list.remove("k")).unwrap();
    assert!(!dismissals_path(state.path(), "o/r").exists());
    assert_eq!(load_all(state.path()).unwrap(), []);
    assert_eq!(load_all(&state.path().join("none")).unwrap(), []);
}

#[test]
fn concurrent_updates_keep_all_dismissals() {
    let state = TempDir::new().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let state = state.path();
            scope.spawn(move || {
                for number in 0..10 {
                    let key = format!("{thread}-{number}");
                    Dismissals::update(state, "o/r", |list| list.add(&key, dismissal(""))).unwrap();
                }
            });
        }
    });
    let list = Dismissals::load(&dismissals_path(state.path(), "o/r")).unwrap();
    assert_eq!(list.entries().len(), 80);
}

#[test]
fn foreign_file_is_rejected_and_not_changed() {
    let state = TempDir::new().unwrap();
    let path = dismissals_path(state.path(), "o/r");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    for (text, why) in [
        ("{", "EOF while parsing"),
        (r#"{"version":2,"repo":"o/r","dismissed":{}}"#, "it has version 2, but this crh reads 1"),
        (r#"{"version":1,"repo":"o/r","dismissed":{},"more":1}"#, "unknown field `more`"),
    ] {
        fs::write(&path, text).unwrap();
        let error = Dismissals::update(state.path(), "o/r", |list| list.add("k", dismissal("")));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("is not a valid list of dismissals") && error.contains(why),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert!(load_all(state.path()).is_err());
    }
}
