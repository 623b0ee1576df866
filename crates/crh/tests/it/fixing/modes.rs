//! What each mode does to the tree, and what it leaves behind.

use std::slice;

use expect_test::expect;
use serde_json::json;

use super::*;
use crate::review::script::with;
use crate::user::{assert_same, tree, tree_with_times};
use crh_testkit::fake_model::computed;

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
fn fix_outside_the_paths_is_reviewed_again() {
    let desk = Desk::new();
    let quotes = json!([
        swallowed()["evidence"][0],
        { "file": ORDERS, "line": 5, "side": "new", "snippet": "return result / len(items)" },
    ]);
    let outside = with(swallowed(), json!({ "evidence": quotes }));
    let again = safe("It raises", "shop/mail.py:5", "        raise", "        raise Lost(to)");
    let again = with(again, json!({ "autofix_class": "manual", "owner": "human" }));
    let model = FakeModel::start()
        .on("single", [answers(&[outside]), answers(&[again])])
        .on("validate-1", [confirms(), confirms()]);
    let output = desk.review(&model, &["--mode", "autofix", "--", ORDERS]);
    assert!(output.code < 2, "{}", output.shown());
    let report = desk.stored("review.json");
    expect![[r#"
        #1 fixed: The error is swallowed
        #2 open: It raises
    "#]]
    .assert_eq(&issues(&report));
    assert!(report["fix_review_gaps"].is_null(), "{}", report["fix_review_gaps"]);
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
    let why = "its fix is applied, but the review of the fix found the issue again";
    assert_eq!(left, json!(why));
}

#[test]
fn fix_that_did_not_help_is_not_applied_again_after_an_undo() {
    let line = "return result / len(items)";
    let longer = format!("    items = list(items)\n    {line}");
    let first = safe("It is divided", "shop/orders.py:5", line, &longer);
    let second = safe("The total is a mean", "shop/orders.py:6", line, &longer);
    let with_git = |desk: &Desk| drop(desk.repo.git(&["checkout", "--quiet", "--", ORDERS]));
    let with_crh = |desk: &Desk| assert_eq!(desk.fix(&["--undo"]).code, 0);
    for undo in [&with_git as &dyn Fn(&Desk), &with_crh] {
        let desk = Desk::with_faults();
        let reviewed = desk.text(ORDERS);
        let model = says_in_rounds(&[slice::from_ref(&first), slice::from_ref(&second)]);
        desk.review(&model, &["--mode", "autofix"]);
        assert_eq!(issues(&desk.stored("review.json")), "#1 found_again: It is divided\n");
        undo(&desk);
        for (args, code) in [(&[][..], 0), (&["--issue", "1"], 1)] {
            let output = desk.fix(args);
            assert_eq!(output.code, code, "{}", output.shown());
            assert_eq!(desk.text(ORDERS), reviewed, "{}", output.shown());
            assert_eq!(issues(&desk.stored("review.json")), "#1 open: It is divided\n");
        }
    }
}

#[test]
fn fix_that_the_user_reverts_during_its_review_is_open_again() {
    let desk = Desk::new();
    let (file, reviewed) = (desk.repo.path().join(ORDERS), desk.text(ORDERS));
    let reverted = reviewed.clone();
    let reverts = computed(move |_| {
        fs::write(&file, &reverted).unwrap();
        answers(&[])
    });
    let model = FakeModel::start()
        .on("single", [answers(&[mean(), swallowed()]), reverts])
        .on("validate-1", [confirms()]);
    let output = desk.review(&model, &["--mode", "autofix"]);
    assert!(output.code < 2, "{}", output.shown());
    assert_eq!(desk.text(ORDERS), reviewed);
    let report = desk.stored("review.json");
    expect![[r#"
        #1 fixed: The error is swallowed
        #2 open: The total is divided by the count
    "#]]
    .assert_eq(&issues(&report));
    let why = "its fix is no longer in `shop/orders.py`: the file was changed after the fix";
    let warnings = report["warnings"].to_string();
    assert!(warnings.contains(&format!("#2 not fixed: {why}")), "{warnings}");
    assert!(report["not_fixed"].is_null(), "crh could fix it: {}", report["not_fixed"]);
    // Later commands know it, too.
    assert_eq!(desk.fix(&["--issue", "2"]).code, 0);
    expect![[r#"
        #1 fixed: The error is swallowed
        #2 fixed: The total is divided by the count
    "#]]
    .assert_eq(&issues(&desk.stored("review.json")));
}

#[test]
fn undo_keeps_later_findings_in_reviewed_code() {
    let desk = Desk::new();
    let longer = json!({ "replacement": "    items = sorted(items)\n    return result" });
    let line = "return order.amount";
    let zero = |severity| finding(severity, "It starts at zero", "shop/orders.py:2", "result = 0");
    let unused = finding("P1", "The items are unused", "shop/orders.py:5", "items = sorted(items)");
    let unpaid = finding("P1", "A refund of what was not paid", "shop/orders.py:10", line);
    let first = [with(mean(), longer), zero("P3")];
    let model = says_in_rounds(&[&first, &[zero("P1"), unused, unpaid]]);
    let reviewed = desk.files();
    desk.review(&model, &["--mode", "autofix"]);
    let shown = |report: &Value| {
        let lines = report["issues"].as_array().unwrap().iter().map(|it| {
            format!("{} {} {}\n", it["severity"], it["line_start"], it["title"]).replace('"', "")
        });
        format!("{}\n{}", report["verdict"].as_str().unwrap(), lines.collect::<String>())
    };
    assert_eq!(shown(&desk.stored("review.json")).lines().count(), 5);
    let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    assert_eq!(desk.fix(&["--undo", &run]).code, 0);
    assert_eq!(desk.files(), reviewed);
    let (report, calls) = (desk.stored("review.json"), model.requests().len());
    // Findings in undone code are gone, but the cost of finding them stays. All others have their
    // place and severity.
    expect![[r#"
        Ready with fixes
        P2 5 The total is divided by the count
        P1 2 It starts at zero
        P1 9 A refund of what was not paid
    "#]]
    .assert_eq(&shown(&report));
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
    for cache in [&[][..], &["--no-cache"]] {
        let desk = Desk::new();
        let home = desk.user.path("");
        places.iter().for_each(|(_, name)| fs::create_dir(home.join(name)).unwrap());
        let before = (tree_with_times(desk.repo.path()), tree(&home));
        let args = ["review", "--mode", "report-only", "--strategy", "single"];
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
        let mut after = tree(&home);
        let made = after.keys().filter(|name| name.starts_with("cache/")).count();
        assert_eq!(made == 0, !cache.is_empty(), "{cache:?}: {made}");
        after.retain(|name, _| !name.starts_with("cache/"));
        let what = format!("{cache:?}");
        assert_same(&before.0, &tree_with_times(desk.repo.path()), &what);
        assert_same(&before.1, &after, &what);
    }
}

#[test]
fn only_safe_issues_of_the_fixer_are_applied() {
    for fields in [json!({ "autofix_class": "gated_auto" }), json!({ "owner": "human" })] {
        let desk = Desk::new();
        let before = desk.files();
        let output = desk.review(&says(&[with(mean(), fields.clone())]), &["--mode", "headless"]);
        assert!(output.stdout.contains("\nApplied 0 safe_auto fixes.\n"), "{fields}");
        assert_eq!(desk.files(), before, "{fields}");
    }
}
