//! Failures during a fix leave the tree as before or as after.

use expect_test::expect;

use super::*;
use crh_testkit::fake_model::computed;
use crh_testkit::tries_case;

/// A model that changes the checkout before it answers.
fn says_after(findings: &[Value], act: impl Fn() + Send + Sync + 'static) -> FakeModel {
    let findings = findings.to_vec();
    let answer = computed(move |_| {
        act();
        answers(&findings)
    });
    FakeModel::start().on("single", [answer]).on("validate-1", [confirms()])
}

type Act = fn(&Path);

#[test]
fn file_changed_during_review_is_skipped() {
    let acts: [(&str, Act); 4] = [
        ("changed", |path| fs::write(path, "mine\n").unwrap()),
        ("deleted", |path| fs::remove_file(path).unwrap()),
        ("a folder", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("a link", |path| {
            fs::rename(path, path.with_extension("real")).unwrap();
            std::os::unix::fs::symlink("mail.real", path).unwrap();
        }),
    ];
    let mut all = String::new();
    for (name, act) in acts {
        let desk = Desk::with_faults();
        let path = desk.repo.path().join(MAIL);
        let model = says_after(&[mean(), swallowed()], move || act(&path));
        let output = desk.review(&model, &["--mode", "headless"]);
        assert!(desk.text(ORDERS).contains("    return result\n"), "{name}");
        let said = output
            .stdout
            .lines()
            .filter(|line| line.contains("Applied") || line.contains("not fixed"));
        all += &format!("{name}:\n{}\n", said.collect::<Vec<_>>().join("\n"));
        // Only what crh may not write would fail again.
        let is_rejected = desk.stored("residual-work.json")[0]["kind"] == "rejected";
        assert_eq!(is_rejected, ["a folder", "a link"].contains(&name), "{name}");
        assert!(!desk.repo.path().join(".crh/fixing").exists(), "{name}");
    }
    expect![[r#"
        changed:
        Applied 1 safe_auto fixes.
        - Warning: #1 not fixed: its lines changed since the review
        deleted:
        Applied 1 safe_auto fixes.
        - Warning: #1 not fixed: there is no file `shop/mail.py`
        a folder:
        Applied 1 safe_auto fixes.
        - Warning: #1 not fixed: `shop/mail.py` cannot be changed: it is not a regular file
        a link:
        Applied 1 safe_auto fixes.
        - Warning: #1 not fixed: `shop/mail.py` cannot be changed: it is a symlink
    "#]]
    .assert_eq(&all);
}

/// Puts checkout and run into the middle of a fix: only these files are written.
pub(super) fn interrupt(desk: &Desk, before: &BTreeMap<&str, String>, written: &[&str]) {
    let fixes = fs::read_dir(desk.run().join("fixes")).unwrap();
    let number =
        |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().parse::<u32>().unwrap();
    let last = fixes.map(|fix| fix.unwrap().path()).max_by_key(number).unwrap();
    fs::write(last.join("state.json"), "\"placing\"").unwrap();
    let named = last.strip_prefix(desk.repo.path()).unwrap();
    fs::write(desk.repo.path().join(".crh/fixing"), format!("{}\n", named.display())).unwrap();
    for (path, text) in before.iter().filter(|(path, _)| !written.contains(*path)) {
        desk.repo.write(path, text);
    }
}

pub(super) fn clean() -> FakeModel {
    FakeModel::start().on("single", [answers(&[])])
}

#[test]
fn next_run_rolls_back_an_interrupted_fix() {
    // CI tries each next command once, since the journal's own tests stop at each step.
    let states = [&[][..], &[MAIL], &[ORDERS], &[MAIL, ORDERS]];
    for (choice, written) in states.into_iter().enumerate() {
        for (number, next) in ["fix", "undo", "headless"].into_iter().enumerate() {
            if !tries_case(number, choice, states.len()) {
                continue;
            }
            let desk = Desk::with_faults();
            let untouched = desk.files();
            desk.reviewed(&[mean(), swallowed()]);
            let before = BTreeMap::from([(MAIL, desk.text(MAIL)), (ORDERS, desk.text(ORDERS))]);
            desk.fix(&[]);
            let after = desk.files();
            interrupt(&desk, &before, written);
            let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
            let output = match next {
                "fix" => desk.fix(&["--dry-run", "--issue", "9"]),
                "undo" => desk.fix(&["--undo", &name]),
                _ => desk.review(&clean(), &["--mode", "headless"]),
            };
            let note = "note: rolled back an interrupted fix: shop/mail.py, shop/orders.py";
            assert!(output.stderr.contains(note), "{next} {written:?}: {}", output.shown());
            assert_eq!(desk.files(), untouched, "{next} {written:?}");
            assert_ne!(desk.files(), after);
        }
    }
}

#[test]
fn edit_after_interruption_is_kept() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean(), swallowed()]);
    let before = BTreeMap::from([(MAIL, desk.text(MAIL)), (ORDERS, desk.text(ORDERS))]);
    desk.fix(&[]);
    interrupt(&desk, &before, &[MAIL]);
    desk.repo.write(ORDERS, "mine\n");
    let found = desk.files();
    expect![[r#"
        exit 3
        error: a fix of this checkout was interrupted, and `shop/orders.py` was changed since: its original content is in `REPO/.crh/runs/RUN/fixes/1/1.before`
        hint: restore the file, or check all files and delete `.crh/fixing` to keep them as they are
        ---
    "#]].assert_eq(&desk.shown(&desk.fix(&[])));
    let output = desk.review(&clean(), &["--mode", "headless"]);
    assert!(output.stdout.contains("Applied 0 safe_auto fixes."), "{}", output.shown());
    assert!(output.stdout.contains("nothing was applied: a fix of this checkout was interrupted"));
    assert_eq!(desk.files(), found);
}

#[test]
fn tracked_marker_is_rejected() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean()]);
    desk.repo.write(".crh/fixing", "/somewhere/else\n");
    desk.repo.git(&["add", "--force", ".crh/fixing"]);
    expect![[r#"
        exit 3
        error: `.crh/fixing` is part of this repository
        hint: nothing was changed
        ---
    "#]]
    .assert_eq(&desk.shown(&desk.fix(&[])));
}

#[test]
fn full_disk_leaves_the_tree_unchanged() {
    let desk = Desk::with_faults();
    let rows: String = (0..4_000).map(|n| format!("ROW_{n} = {n} * {n}\n")).collect();
    desk.repo.write(MAIL, format!("{}{rows}", desk.text(MAIL)));
    desk.reviewed(&[mean(), swallowed()]);
    let before = desk.files();
    for trap in ["trap '' XFSZ; ", ""] {
        // 100 blocks of 512 bytes: the file of the fix has more.
        let script = format!("{trap}ulimit -f 100; exec \"$0\" \"$@\"");
        let limited = Program::new("sh", desk.repo.path()).args([
            "-c",
            &script,
            env!("CARGO_BIN_EXE_crh"),
            "fix",
        ]);
        let home = desk.user.path("");
        let home = home.to_str().unwrap().trim_end_matches('/');
        let limited = limited.env("HOME", home).env("CRH_STORE", &format!("{home}/store"));
        let output = limited.env("CRH_ANALYSERS", "never").run();
        assert_ne!(output.code, 0, "{}", output.shown());
        desk.crh(&["fix", "--issue", "9"]).run();
        assert_eq!(desk.files(), before, "{trap}");
    }
    assert_eq!(desk.fix(&[]).code, 0);
}

/// Puts a folder where a file of the run belongs.
fn bar(desk: &Desk) -> PathBuf {
    let place = desk.run().join("applied-fixes.json");
    fs::remove_file(&place).unwrap();
    fs::create_dir_all(place.join("in the way")).unwrap();
    place
}

#[test]
fn unwritable_report_fails_and_is_written_later() {
    let desk = Desk::with_faults();
    desk.reviewed(&[mean()]);
    let name = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    let place = bar(&desk);
    expect![[r#"
        exit 3
        note: undo with `crh fix --undo RUN`
        error: the fixes are applied, but the stored report could not be updated: cannot write `applied-fixes.json` to the run folder: Is a directory (os error 21)
        hint: make the run folder writable, then run `crh fix RUN` to update it
        ---
        #1 replaced line 5 (shop/orders.py)
        1 issue fixed.
    "#]].assert_eq(&desk.shown(&desk.fix(&[])));
    assert!(desk.text(ORDERS).contains("    return result\n"));
    assert_eq!(issues(&desk.stored("review.json")), "#1 open: The total is divided by the count\n");
    fs::remove_dir_all(&place).unwrap();
    assert_eq!(desk.fix(&[&name]).code, 0);
    assert_eq!(
        issues(&desk.stored("review.json")),
        "#1 fixed: The total is divided by the count\n"
    );
    let place = bar(&desk);
    expect![[r#"
        exit 3
        error: the fixes are undone, but the stored report could not be updated: cannot write `applied-fixes.json` to the run folder: Is a directory (os error 21)
        hint: make the run folder writable, then run `crh fix --undo RUN` to update it
        ---
        Restored:
        shop/orders.py
    "#]].assert_eq(&desk.shown(&desk.fix(&["--undo", &name])));
    assert!(!desk.text(ORDERS).contains("    return result\n"));
    fs::remove_dir_all(&place).unwrap();
    assert_eq!(desk.fix(&["--undo", &name]).code, 0);
    assert_eq!(issues(&desk.stored("review.json")), "#1 open: The total is divided by the count\n");
}

#[test]
fn mode_with_unwritable_report_fails() {
    let desk = Desk::with_faults();
    let runs = desk.repo.path().join(".crh/runs");
    // The verification command breaks the run folder during the fix.
    let script =
        format!("for run in {}/*; do mkdir -p $run/applied-fixes.json/x; done", runs.display());
    let verify = json!(["sh", "-c", script]).to_string();
    let model = FakeModel::answering(|asked| match asked.caller.as_str() {
        "single" => answers(&[mean()]),
        _ => confirms(),
    });
    let output = desk.review(&model, &["--mode", "headless", "--trust", "--verify", &verify]);
    assert_eq!(output.code, 3, "{}", output.shown());
    let said =
        "error: the stored report does not contain the fixes: cannot write `applied-fixes.json`";
    assert_eq!(output.stderr.matches(said).count(), 1, "{}", output.shown());
    assert!(output.stdout.contains("\nApplied 1 safe_auto fixes.\n"), "{}", output.shown());
    assert!(desk.text(ORDERS).contains("    return result\n"), "{}", output.shown());
}

#[test]
fn review_that_cannot_be_stored_does_not_pass() {
    let desk = Desk::with_faults();
    let runs = desk.repo.path().join(".crh/runs");
    let model = FakeModel::answering(move |_| {
        for run in fs::read_dir(&runs).unwrap() {
            fs::create_dir_all(run.unwrap().path().join("review.json/x")).unwrap();
        }
        answers(&[])
    });
    let output = desk.review(&model, &[]);
    assert_eq!(output.code, 3, "{}", output.shown());
    let problem = "error: the run is not stored completely: cannot write `review.json`";
    assert_eq!(output.stderr.matches(problem).count(), 1, "{}", output.shown());
}
