//! A review edits no file before the user agrees, and "Report only" leaves the working tree as it was.

use std::collections::BTreeMap;

use super::*;
use crate::user::{assert_same, tree};

const FIRST: &str = "What should the agent do with the 3 findings?";
const REST: &str = "What should the agent do with the remaining 2 findings?";
const FIXED: &str = "+++ b/shop/mail.py\n-        pass\n+        raise\n";

fn three() -> Vec<Value> {
    vec![safe(), gated(), deferred()]
}

/// The working tree, the index and what git reports about them.
type Snapshot = (BTreeMap<String, String>, String);

fn snapshot(scene: &Scene) -> Snapshot {
    let mut files = tree(scene.repo.path());
    // Git and crh keep their own files there. Of these, only the index belongs to the working tree.
    let is_own = |path: &str| [".git", ".crh"].iter().any(|own| path.starts_with(own));
    files.retain(|path, _| path == ".git/index" || !is_own(path));
    files.remove("");
    // A usual `git status` would write the index.
    let status = ["--no-optional-locks", "status", "--porcelain", "--branch", "--ignored=no"];
    (files, scene.git(&status))
}

fn assert_unchanged(scene: &Scene, before: &Snapshot, when: &str) {
    let after = snapshot(scene);
    assert_same(&before.0, &after.0, when);
    assert_eq!(before.1, after.1, "{when}");
}

/// A checkout with an edit that is staged and one that is not, and how it is before the review.
fn dirty(mode: &'static [&'static str]) -> (Scene, Snapshot) {
    let mut scene = Scene::new(&three());
    scene.mode = mode;
    scene.repo.write("notes.txt", "staged\n");
    scene.repo.git(&["add", "notes.txt"]);
    scene.repo.write("notes.txt", "staged\nand edited\n");
    let before = snapshot(&scene);
    (scene, before)
}

#[test]
fn plain_review_changes_no_file_before_the_user_agrees() {
    let mut scene = Scene::new(&three());
    let before = snapshot(&scene);
    scene.begins(USUAL);
    scene.sees(FIRST);
    assert_unchanged(&scene, &before, "at the first question");
    scene.types("f");
    scene.sees(REST);
    assert_eq!(scene.diff(), FIXED);
    scene.types("d");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("Review completed", "agreed"), 1);
    assert_eq!(scene.diff(), FIXED);
}

#[test]
fn report_only_of_a_plain_review_leaves_the_tree_unchanged() {
    let (mut scene, before) = dirty(&[]);
    scene.begins(USUAL);
    scene.sees(FIRST).types("d");
    assert_eq!(scene.ends("Review completed", "agreed_to_nothing"), 1);
    assert_unchanged(&scene, &before, "after Report only");
}

#[test]
fn report_only_undoes_what_an_explicit_interactive_review_fixed() {
    for mode in [INTERACTIVE, &["mode:interactive"]] {
        let (mut scene, before) = dirty(mode);
        scene.begins(USUAL);
        scene.sees(REST);
        assert_eq!(scene.diff().matches("+        raise").count(), 1, "{mode:?}");
        scene.types("d");
        assert_eq!(scene.ends("The fixes are undone", "report_only_undone"), 1);
        assert_unchanged(&scene, &before, "after Report only");
        scene.keeps(&expect_test::expect![[r##"
            #1 open: An unpaid order is refunded
            #2 open: The total is divided by the count
            #3 open: A failed mail is swallowed
            queues: {"fixer":[3],"report":[],"residual":[1,2]}
            fix order: [1,2,3]
            applied-fixes.json: []
            residual-work.json:
              #1 An unpaid order is refunded
              #2 The total is divided by the count
              #3 A failed mail is swallowed
            advisory.json:
            questions.json: {"decisions":[],"state":"answered"}
        "##]]);
    }
}

#[test]
fn report_only_keeps_what_the_repeated_review_found_in_reviewed_code() {
    let line = "        return smtp.send(to, text)";
    let late = finding("P1", "A mail is sent twice", "shop/mail.py:3", line);
    let model = FakeModel::start()
        .on("single", [answers(&three()), answers(&[late])])
        .on("validate-1", [confirms(), confirms()]);
    let mut scene = Scene::of(model, Repo::from_fixture(SHOP)).fixing_first();
    scene.begins(USUAL);
    scene.sees("What should the agent do with the remaining 3 findings?").types("d");
    assert_eq!(scene.ends("The fixes are undone", "report_only_later_finding"), 1);
    scene.keeps(&expect_test::expect![[r##"
        #1 open: An unpaid order is refunded
        #2 open: The total is divided by the count
        #3 open: A failed mail is swallowed
        #4 open: A mail is sent twice
        queues: {"fixer":[3],"report":[4],"residual":[1,2]}
        fix order: [1,2,3,4]
        applied-fixes.json: []
        residual-work.json:
          #1 An unpaid order is refunded
          #2 The total is divided by the count
          #3 A failed mail is swallowed
        advisory.json:
          #4 A mail is sent twice
        questions.json: {"decisions":[],"state":"answered"}
    "##]]);
}

#[test]
fn fix_that_the_user_undoes_during_the_questions_is_open() {
    let mut scene = Scene::new(&three());
    scene.begins(USUAL);
    scene.sees(FIRST).types("f");
    scene.sees(REST);
    scene.repo.git(&["checkout", "--quiet", "--", "shop/mail.py"]);
    scene.types("d");
    assert_eq!(scene.ends("Review completed", "fix_undone_meanwhile"), 1);
    scene.keeps(&expect_test::expect![[r##"
        #1 open: An unpaid order is refunded
        #2 open: The total is divided by the count
        #3 open: A failed mail is swallowed
        queues: {"fixer":[3],"report":[],"residual":[1,2]}
        fix order: [1,2,3]
        applied-fixes.json: []
        residual-work.json:
          #1 An unpaid order is refunded
          #2 The total is divided by the count
          #3 A failed mail is swallowed (its fix is no longer in `shop/mail.py`: the file was changed after the fix)
        advisory.json:
        questions.json: {"decisions":[],"state":"answered"}
    "##]]);
}

#[test]
fn report_only_keeps_fixes_in_a_file_that_was_edited_since() {
    let mut scene = Scene::begun_fixing_first(&three());
    scene.sees(REST);
    let mail = scene.repo.path().join("shop/mail.py");
    let text = std::fs::read_to_string(&mail).unwrap();
    std::fs::write(&mail, format!("{text}# mine\n")).unwrap();
    let before = snapshot(&scene);
    scene.types("d");
    scene.sees("What should happen next?").types("2");
    assert_eq!(scene.ends("The fixes stay", "report_only_edited"), 1);
    assert_unchanged(&scene, &before, "after Report only");
}

#[test]
fn resumed_review_asks_first_unless_the_mode_is_named_again() {
    let mut scene = Scene::begun_fixing_first(&three());
    scene.sees(REST).types("\x03");
    scene.terminal.take().unwrap().end();
    let before = snapshot(&scene);
    scene.mode = &[];
    scene.comes_back();
    scene.sees(FIRST);
    assert_unchanged(&scene, &before, "at the first question");
    scene.types("\x03");
    assert_eq!(scene.terminal.take().unwrap().end().code, 130);
}
