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
            warning: not reviewed because untracked: `.context` (`git add` it, or pass `--include-untracked`)
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
fn issues_over_the_limit_are_fixed_and_handed_off() {
    let desk = Desk::new();
    let swallowed = with(swallowed(), json!({ "severity": "P2" }));
    let model = finds(&[unpaid(), with(mean(), json!({ "severity": "P2" })), swallowed]);
    let output = review_with_limit(&desk, &model);
    assert_eq!(output.code, 1, "{}", output.shown());
    let report = desk.stored("review.json");
    assert_eq!(report["issues"].as_array().unwrap().len(), 1, "{}", output.shown());
    assert_eq!(report["applied_fixes"].as_array().unwrap().len(), 2, "{}", output.shown());
    assert!(desk.text(MAIL).contains("raise") && !desk.text(ORDERS).contains("len(items)"));

    let desk = Desk::new();
    let model = finds(&[unpaid(), with(swallowed_by_hand(), json!({ "severity": "P2" }))]);
    let output = review_with_limit(&desk, &model);
    let residual = desk.stored("residual-work.json");
    assert_eq!(residual.as_array().unwrap().len(), 2, "{}", output.shown());
    let expected =
        ["001-ready-p1-a-refund-of-what-was-not-paid.md", "002-ready-p2-the-error-is-swallowed.md"];
    assert_eq!(todos(&desk), expected);
}

#[test]
fn todos_of_crh_are_no_untracked_files() {
    let desk = Desk::new();
    desk.review(&says(&[unpaid()]), &["--mode", "autofix"]);
    desk.repo.write(&format!("{TODOS}/mine.md"), "Buy milk.\n");
    let output = desk.review(&says(&[unpaid()]), &[]);
    let untracked = &desk.stored("review.json")["scope"]["untracked"];
    assert_eq!(untracked, &json!([format!("{TODOS}/mine.md")]), "{}", output.shown());
}

/// An autofix review that publishes one issue.
fn review_with_limit(desk: &Desk, model: &FakeModel) -> Output {
    let args = ["review", "--strategy", "single", "--max-comments", "1", "--mode", "autofix"];
    desk.checked(with_model(desk.crh(&[&args[..], &CHECKOUT[..]].concat()), model))
}

/// An issue for others, without an exact fix.
fn swallowed_by_hand() -> Value {
    let by_hand = json!({
        "autofix_class": "manual", "owner": "downstream-resolver", "replacement": null,
    });
    with(swallowed(), by_hand)
}
