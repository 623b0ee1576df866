//! What each mode does to the tree, and what it leaves behind.

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::review::script::with;
use crate::user::{assert_same, tree, tree_with_times};

#[test]
fn headless_fixes_once_and_prints_the_envelope() {
    let desk = Desk::new();
    let head = desk.repo.id("HEAD");
    let output = desk.review(&says(&[mean(), swallowed(), unpaid()]), &["--mode", "headless"]);
    expect![[r#"
        exit 1
        ---
        Code review complete (headless mode).

        Scope: 3 files, +13 -2; base 30af60f6ed88, head 27e4f9fd97b0
        Intent: not stated
        Reviewers: secrets, syntax, references, leftovers, workflows, consistency, patterns, injection, single (the strategy is `single`)
        Verdict: Ready with fixes
        Artifact: REPO/.crh/runs/RUN

        Applied 2 safe_auto fixes.

        Manual findings (actionable, needs handoff):

        [P1][manual -> downstream-resolver] File: shop/orders.py:9 -- A refund of what was not paid (single, confidence 0.75)
          Why: A refund of what was not paid: an order of two items shows it.
          Evidence: return order.amount

        Review complete
    "#]].assert_eq(&desk.shown(&output));
    expect![[r#"
         M shop/mail.py
         M shop/orders.py
        ref: refs/heads/main
        HEAD commit	refs/heads/main
    "#]]
    .assert_eq(&desk.git());
    assert_eq!(desk.repo.id("HEAD"), head);
    assert!(
        desk.text(ORDERS)
            .contains("        result += item.price * item.count\n    return result\n\n")
    );
    assert!(desk.text(MAIL).ends_with("    except Exception:\n        raise\n"));
    assert!(!desk.repo.path().join(".context").exists(), "todos are for autofix");
}

#[test]
fn run_folder_lists_fixed_and_open_issues() {
    let desk = Desk::new();
    desk.review(&says(&[mean(), swallowed(), unpaid()]), &["--mode", "headless"]);
    let report = desk.stored("review.json");
    expect![[r#"
        #1 open: A refund of what was not paid
        #2 fixed: The error is swallowed
        #3 fixed: The total is divided by the count
    "#]]
    .assert_eq(&issues(&report));
    expect![[r#"
        {
          "queues": {
            "fixer": [],
            "report": [],
            "residual": [
              1
            ]
          },
          "fix_order": [
            1
          ],
          "verdict": "Ready with fixes",
          "applied-fixes.json": [
            {
              "description": "replaced lines 4 to 5",
              "files": [
                "shop/mail.py"
              ],
              "number": 2
            },
            {
              "description": "replaced line 5",
              "files": [
                "shop/orders.py"
              ],
              "number": 3
            }
          ],
          "residual": [
            "A refund of what was not paid"
          ],
          "advisory": [],
          "metadata": "Ready with fixes"
        }"#]].assert_eq(&format!("{:#}", json!({
        "queues": report["queues"], "fix_order": report["fix_order"], "verdict": report["verdict"],
        "applied-fixes.json": desk.stored("applied-fixes.json"),
        "residual": titles(&desk.stored("residual-work.json")),
        "advisory": titles(&desk.stored("advisory.json")),
        "metadata": desk.stored("metadata.json")["verdict"],
    })));
    assert!(fs::read_to_string(desk.run().join("review.md")).unwrap().contains("Applied Fixes"));
}

fn titles(list: &Value) -> Value {
    let title = |item: &Value| match &item["issue"] {
        Value::Null => item["title"].clone(),
        issue => issue["title"].clone(),
    };
    list.as_array().unwrap().iter().map(title).collect()
}

#[test]
fn autofix_reviews_only_the_fixed_files_again() {
    let desk = Desk::new();
    let second = safe(
        "The result is zero at first",
        "shop/orders.py:2",
        "    result = 0",
        "    result = Decimal(0)",
    );
    let elsewhere = safe("It returns nothing", "shop/log.py:3", "    return None", "    return");
    let first = [mean(), swallowed(), unpaid()];
    let model = FakeModel::start()
        .on("single", [answers(&first), answers(&[second, elsewhere]), answers(&[])])
        .on("validate-1", [confirms(), confirms()]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    expect![[r#"
        #1 open: A refund of what was not paid
        #2 fixed: The error is swallowed
        #3 fixed: The total is divided by the count
        #4 fixed: The result is zero at first
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    expect![[r#"
        def total(items):
            result = Decimal(0)
            for item in items:
                result += item.price * item.count
            return result


        def refund(order):
            return order.amount
    "#]]
    .assert_eq(&desk.text(ORDERS));
    expect![[r#"
         M shop/mail.py
         M shop/orders.py
        ?? .context/
        ref: refs/heads/main
        HEAD commit	refs/heads/main
    "#]]
    .assert_eq(&desk.git());
    let report = desk.stored("review.json");
    assert_eq!(report["stats"]["llm_calls"], 7, "what looking again costs is on the bill");
    assert!(desk.run().join("rounds/1/transcripts/single.jsonl").is_file());
    assert!(desk.run().join("rounds/2/review.json").is_file());
}

#[test]
fn autofix_writes_todos_and_headless_does_not() {
    let desk = Desk::new();
    let model = FakeModel::start()
        .on("single", [answers(&[mean(), unpaid()]), answers(&[])])
        .on("validate-1", [confirms()]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    expect![[r#"
        exit 1
        note: wrote todo `REPO/.context/compound-engineering/todos/001-ready-p1-a-refund-of-what-was-not-paid.md`
        ---
        Scope:  3 files, +13 -2; base 30af60f6ed88, head 27e4f9fd97b0
        Team:
          - single: the strategy is `single`
          - static checks: secrets, syntax, references, leftovers, workflows,
            consistency, patterns, injection

        2 issues (1 P1, 1 P2) in 3 reviewed files, of which 1 is fixed.
        Looked at all of it.

        1 P1 shop/orders.py:9
            A refund of what was not paid
            | return order.amount
            A refund of what was not paid: an order of two items shows it.
            bug; found by single; probability 0.90; confirmed by a second model run; fix
            by hand

        2 P2 shop/orders.py:5 (fixed)
            The total is divided by the count
            | return result / len(items)
            The total is divided by the count: an order of two items shows it.
            Replace line 5 with:
            +     return result
            bug; found by single; probability 0.90; confirmed by a second model run

        Applied fixes
          - 2: replaced line 5 (shop/orders.py)

        Residual work
          - 1 P1 shop/orders.py:9: fix by hand

        Ready with fixes: 1 issue to fix
    "#]].assert_eq(&desk.shown(&output));
    let files = desk.files();
    let todos = files.keys().filter(|name| name.starts_with(".context/") && name.ends_with(".md"));
    let todos: Vec<&String> = todos.collect();
    assert_eq!(todos.len(), 1, "{todos:?}");
    assert!(todos[0].contains("/todos/001-ready-p1-"), "{todos:?}");
    expect![[r#"
         M shop/orders.py
        ?? .context/
        ref: refs/heads/main
        HEAD commit	refs/heads/main
    "#]]
    .assert_eq(&desk.git());
}

#[test]
fn fixer_that_never_converges_stops() {
    let desk = Desk::new();
    let before = "return result / len(items)";
    let first = safe("It is divided", "shop/orders.py:5", before, "    return result / 1.0");
    let second =
        safe("Still", "shop/orders.py:5", "return result / 1.0", "    return result / 2.0");
    let model = says_in_rounds(&[&[first], &[second]]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    assert!(output.code < 2, "{}", output.shown());
    expect![[r#"
        #1 fixed: It is divided
        #2 open: Still
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    assert!(desk.text(ORDERS).contains("return result / 1.0\n"));
    let files = desk.files();
    let todos: Vec<&String> = files.keys().filter(|name| name.ends_with("-still.md")).collect();
    assert_eq!(todos, [".context/compound-engineering/todos/001-ready-p2-still.md"]);
    let left = &desk.stored("residual-work.json")[0]["issue"];
    assert_eq!((&left["title"], &left["owner"]), (&json!("Still"), &json!("downstream-resolver")));
}

#[test]
fn autofix_stops_after_two_rounds() {
    let desk = Desk::new();
    let log = safe("It returns nothing", "shop/log.py:3", "    return None", "    return");
    let zero =
        safe("It starts at zero", "shop/orders.py:2", "    result = 0", "    result = Decimal(0)");
    let sends = "        return smtp.send(to, text)";
    let queue = safe("It waits", "shop/mail.py:3", sends, "        return smtp.queue(to, text)");
    let items = "    for item in items:";
    let list = safe("Any items", "shop/orders.py:3", items, "    for item in list(items):");
    // Three open issues, then two, then one: a third round would fix that one too.
    let model = says_in_rounds(&[&[mean(), swallowed(), log], &[zero, queue], &[list]]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    assert!(output.code < 2, "{}", output.shown());
    expect![[r#"
        #1 fixed: It returns nothing
        #2 fixed: The error is swallowed
        #3 fixed: The total is divided by the count
        #4 fixed: It waits
        #5 fixed: It starts at zero
        #6 open: Any items
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    assert!(desk.text(ORDERS).contains(items));
    assert!(!desk.run().join("rounds/3").exists());
    let files = desk.files();
    let todos: Vec<&String> = files.keys().filter(|name| name.ends_with(".md")).collect();
    assert_eq!(todos, [".context/compound-engineering/todos/001-ready-p2-any-items.md"]);
}

#[test]
fn issue_found_after_its_fix_is_open_again() {
    let desk = Desk::new();
    let line = "return result / len(items)";
    let longer = format!("    items = list(items)\n    {line}");
    let first = safe("It is divided", "shop/orders.py:5", line, &longer);
    let second = safe("It is divided", "shop/orders.py:6", line, &longer);
    let model = says_in_rounds(&[&[first], &[second]]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    assert!(output.code < 2, "{}", output.shown());
    let report = desk.stored("review.json");
    expect![[r#"
        #1 found_again: It is divided
    "#]]
    .assert_eq(&issues(&report));
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains("#1 was found again after its fix"), "{warnings}");
    assert_eq!(desk.text(ORDERS).matches("items = list(items)").count(), 1);
    assert_eq!(titles(&desk.stored("residual-work.json")), json!(["It is divided"]));
}

#[test]
fn replacement_of_a_fixed_issue_is_not_applied_twice() {
    let desk = Desk::new();
    let line = "return result / len(items)";
    let longer = format!("    items = list(items)\n    {line}");
    let first = safe("It is divided", "shop/orders.py:5", line, &longer);
    // After the fix, the model finds the same again at the next line and gives it another title.
    let second = safe("The total is a mean", "shop/orders.py:6", line, &longer);
    // Another issue is solved, so that autofix does not stop after the first round.
    let model = says_in_rounds(&[&[first, swallowed()], &[second]]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    assert!(output.code < 2, "{}", output.shown());
    expect![[r#"
        #1 fixed: The error is swallowed
        #2 found_again: It is divided
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
    assert_eq!(desk.text(ORDERS).matches("items = list(items)").count(), 1);
    let left = desk.stored("residual-work.json")[0]["left"].clone();
    let why = "its replacement is in the tree, and the review of the fix found the issue again";
    assert_eq!(left, json!(why));
}

#[test]
fn undo_restores_the_report_of_the_review() {
    let desk = Desk::new();
    let second =
        safe("It starts at zero", "shop/orders.py:2", "    result = 0", "    result = Decimal(0)");
    let model = says_in_rounds(&[&[mean()], &[second]]);
    desk.review(&model, &["--mode", "autofix"]);
    let titles = |report: &Value| issues(report).lines().count();
    assert_eq!(titles(&desk.stored("review.json")), 2);
    let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&["--undo", &run]).code, 0);
    let (report, calls) = (desk.stored("review.json"), model.requests().len());
    // Findings in undone code are gone; their cost stays.
    expect![[r#"
        #1 open: The total is divided by the count
    "#]]
    .assert_eq(&issues(&report));
    assert_eq!(report["stats"]["llm_calls"], calls);
}

#[test]
fn review_without_terminal_changes_nothing() {
    for args in [&[][..], &["--mode", "interactive"], &["--mode", "report-only"]] {
        let desk = Desk::new();
        let before = desk.files();
        let output = desk.review(&says(&[mean()]), args);
        assert_eq!(output.code, 0, "{}", output.shown());
        assert_eq!(desk.files(), before, "{args:?}");
        let keeps = args != ["--mode", "report-only"];
        assert_eq!(desk.repo.path().join(".crh").exists(), keeps, "{args:?}");
    }
}

#[test]
fn report_only_writes_nothing_but_the_cache() {
    let places = [
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("TMPDIR", "tmp"),
    ];
    for strategy in ["single", "static"] {
        for cache in [&[][..], &["--no-cache"]] {
            let desk = Desk::new();
            let home = desk.user.path("");
            places.iter().for_each(|(_, name)| fs::create_dir(home.join(name)).unwrap());
            let before = (tree_with_times(desk.repo.path()), tree(&home));
            let args = ["review", "--mode", "report-only", "--strategy", strategy];
            let program = desk.crh(&[&args, &CHECKOUT[..], cache].concat()).env("CRH_STORE", "");
            let program = places.iter().fold(program, |program, (variable, name)| {
                program.env(variable, home.join(name).to_str().unwrap())
            });
            let model = FakeModel::answering(|asked| match asked.caller.as_str() {
                "single" => answers(&[mean()]),
                _ => confirms(),
            });
            let output = with_model(program, &model).run();
            assert!(output.code < 2, "{}", output.shown());
            assert_eq!(model.requests().is_empty(), strategy == "static");
            let mut after = tree(&home);
            let made = after.keys().filter(|name| name.starts_with("cache/")).count();
            assert_eq!(made == 0, !cache.is_empty(), "{strategy} {cache:?}: {made}");
            after.retain(|name, _| !name.starts_with("cache/"));
            let what = format!("{strategy} {cache:?}");
            assert_same(&before.0, &tree_with_times(desk.repo.path()), &what);
            assert_same(&before.1, &after, &what);
        }
    }
}

#[test]
fn change_outside_the_checkout_is_not_fixed() {
    let desk = Desk::new();
    desk.repo.git(&["branch", "feature"]);
    let range = ["HEAD~1..HEAD"];
    let targets: [&[&str]; 3] = [&range, &["--commit", "HEAD"], &["HEAD~1...feature"]];
    for target in targets {
        let before = desk.files();
        let args = [&["review", "--strategy", "single", "--mode", "headless"], target].concat();
        let output = desk.checked(with_model(desk.crh(&args), &says(&[mean()])));
        assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{}", output.shown());
        let why =
            "\n- Warning: nothing was applied: the reviewed change is not the current checkout\n";
        assert!(output.stdout.contains(why), "{}", output.shown());
        assert!(output.stdout.ends_with("Review complete\n"), "{}", output.shown());
        assert_eq!(desk.files(), before, "{target:?}");
    }
    let args = ["review", "--strategy", "single", "--mode", "autofix", "HEAD~1..HEAD"];
    let output = desk.checked(with_model(desk.crh(&args), &says(&[mean()])));
    assert!(output.code < 2, "{}", output.shown());
    let warnings = desk.stored("review.json")["warnings"].to_string();
    assert!(warnings.contains("nothing was applied: the reviewed change is not"), "{warnings}");
}

#[test]
fn only_safe_issues_of_the_fixer_are_applied() {
    for fields in [
        json!({ "autofix_class": "gated_auto" }),
        json!({ "autofix_class": "manual" }),
        json!({ "owner": "downstream-resolver" }),
        json!({ "owner": "human" }),
    ] {
        let desk = Desk::new();
        let before = desk.files();
        let output = desk.review(&says(&[with(mean(), fields.clone())]), &["--mode", "headless"]);
        assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{fields}");
        assert_eq!(desk.files(), before, "{fields}");
    }
}
