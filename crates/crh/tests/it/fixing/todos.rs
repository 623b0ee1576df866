//! Todo files of autofix: where they are written, and what happens if they cannot be.

use expect_test::expect;

use super::resuming::{finds, resume};
use super::*;

const TODOS: &str = ".context/compound-engineering/todos";

/// A finding for others that does not fail the review.
fn mild() -> Value {
    with(unpaid(), json!({ "severity": "P2" }))
}

fn todos(desk: &Desk) -> Vec<String> {
    let files = desk.files();
    let names = files.keys().filter_map(|name| name.strip_prefix(TODOS)?.strip_prefix('/'));
    names.filter(|name| name.ends_with(".md")).map(str::to_owned).collect()
}

#[test]
fn unwritable_todos_fail_and_are_written_later() {
    // With and without a fix in the tree.
    for findings in [&[mean(), mild()][..], &[mild()]] {
        let desk = Desk::new();
        let model = finds(findings);
        desk.repo.write(".context", "a file\n");
        let output = desk.review(&model, &["--mode", "autofix"]);
        assert_eq!(output.code, 3, "{}", output.shown());
        let shown = desk.shown(&output);
        let told = shown.split_once("---\n").map(|(told, _)| told).unwrap();
        expect![[r#"
            exit 3
            warning: not reviewed because untracked: `.context` (`git add` them, or pass `--include-untracked`)
            error: todo files not written: `REPO/.context` is a symlink or a file
            note: make it a folder, or set another one with `dir` in `[todos]`
            note: run `crh review --resume RUN` to write them
        "#]]
        .assert_eq(told);
        let warnings = |desk: &Desk| desk.stored("review.json")["warnings"].to_string();
        assert!(warnings(&desk).contains("todo files not written: "), "{}", warnings(&desk));
        assert!(output.stdout.contains("todo files not written"), "{}", output.shown());

        fs::remove_file(desk.repo.path().join(".context")).unwrap();
        let asked = model.requests().len();
        let output = resume(&desk, &model, &[]);
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_eq!(todos(&desk), ["001-ready-p2-a-refund-of-what-was-not-paid.md"]);
        assert!(!warnings(&desk).contains("todos"), "{}", warnings(&desk));
        assert_eq!(model.requests().len(), asked, "nothing is paid for twice");
        assert_eq!(resume(&desk, &model, &[]).stdout, output.stdout, "it has ended");
    }
}

#[test]
fn todos_are_written_where_fixes_are_not_allowed() {
    let desk = Desk::new();
    desk.repo.write(".crh/fixing", "/nowhere\n");
    let before = [desk.text(ORDERS), desk.text(MAIL)];
    let output = desk.review(&says(&[mean(), unpaid()]), &["--mode", "autofix"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let warnings = desk.stored("review.json")["warnings"].to_string();
    assert!(warnings.contains("nothing was applied: `.crh/fixing` names `/nowhere`"), "{warnings}");
    assert_eq!([desk.text(ORDERS), desk.text(MAIL)], before);
    // Includes safe issues that were not fixed.
    let expected = [
        "001-ready-p1-a-refund-of-what-was-not-paid.md",
        "002-ready-p2-the-total-is-divided-by-the-count.md",
    ];
    assert_eq!(todos(&desk), expected);
}

#[test]
fn change_outside_the_checkout_gets_no_todos() {
    for mode in ["autofix", "headless"] {
        let desk = Desk::new();
        let before = desk.files();
        let args = ["review", "HEAD~1..HEAD", "--strategy", "single", "--mode", mode];
        let output = desk.checked(with_model(desk.crh(&args), &says(&[unpaid()])));
        assert_eq!((output.code, desk.files()), (1, before), "{mode}");
    }
}
