//! Complete runs of modes that ask nothing: output, run folder, todos, tree and git status. Each is
//! compared with a file.

use expect_test::{ExpectFile, expect_file};

use super::repairing::{BEFORE, edits, reports, vague};
use super::*;
use crate::user::tree;
use crh_review::stable_json_line;
use crh_testkit::fake_model::{bad_request, calls, computed};

/// Files of a run whose content is compared. Of the others only the names are.
const READ: [&str; 6] = [
    "applied-fixes.json",
    "advisory.json",
    "metadata.json",
    "residual-work.json",
    "review.json",
    "review.md",
];

/// Values that differ between runs or change with prompts.
const PASSING: [&str; 5] =
    ["completed_at", "cost_usd", "latency_seconds_e2e", "latency_seconds_llm", "tokens_used"];

const HEADLESS: [&str; 2] = ["--mode", "headless"];
const AUTOFIX: [&str; 2] = ["--mode", "autofix"];

/// Reviews the checkout and compares everything.
fn check(desk: &Desk, model: &FakeModel, args: &[&str], expected: ExpectFile) {
    let (files, head) = (desk.files(), desk.repo.id("HEAD"));
    let output = desk.review(model, args);
    assert_eq!(desk.repo.id("HEAD"), head, "no mode commits");
    expected.assert_eq(&whole(desk, &output, &files));
}

/// Everything that a review produced.
fn whole(desk: &Desk, output: &Output, files: &BTreeMap<String, String>) -> String {
    let (shown, git, tree, run) =
        (desk.shown(output), desk.git(), changed(desk, files), artifacts(desk));
    let whole = format!("{shown}== git\n{git}== tree\n{tree}== run\n{run}");
    let run = desk.run().file_name().unwrap().to_str().unwrap().to_owned();
    desk.user.replace_paths(&desk.repo, &whole.replace(&run, "RUN"))
}

/// Changed files with their content.
fn changed(desk: &Desk, before: &BTreeMap<String, String>) -> String {
    let after = desk.files();
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let gone = gone.map(|name| format!("-- {name} (gone)\n"));
    let is_new = |(name, text): &(&String, &String)| before.get(*name) != Some(*text);
    let is_file = |(name, _): &(&String, &String)| desk.repo.path().join(name).is_file();
    let new = after.iter().filter(is_new).filter(is_file);
    let new = new.map(|(name, _)| format!("-- {name}\n{}", desk.text(name)));
    gone.chain(new).collect()
}

/// The files of the run folder.
fn artifacts(desk: &Desk) -> String {
    let run = desk.run();
    let names = tree(&run).into_keys().filter(|name| run.join(name).is_file());
    let mut shown: Vec<String> = names.map(|name| kept(&run, &name)).collect();
    shown.dedup();
    shown.concat()
}

/// A file of a run, or its folder if that has its own tests.
fn kept(run: &Path, name: &str) -> String {
    let mut parts = name.split('/');
    match (parts.next(), parts.next()) {
        (Some("workspace"), _) => "-- workspace/\n".to_owned(),
        (Some("rounds"), Some(round)) => format!("-- rounds/{round}/\n"),
        (Some("reviewers"), Some(_)) => {
            format!("-- {name}: {}", lasting(&run.join(name), Lines::One))
        }
        _ if READ.contains(&name) => {
            format!("-- {name}\n{}", lasting(&run.join(name), Lines::Many))
        }
        _ => format!("-- {name}\n"),
    }
}

/// How JSON is printed.
enum Lines {
    One,
    /// Values of the second level get their own lines.
    Many,
}

/// A text without values that differ between runs.
fn lasting(path: &Path, lines: Lines) -> String {
    let text = fs::read_to_string(path).unwrap();
    let Ok(mut value) = serde_json::from_str(&text) else { return text };
    hide(&mut value);
    let line = |value: &Value| stable_json_line(value).unwrap();
    let item = |item: &Value| format!("  {}", line(item));
    match (&value, lines) {
        (_, Lines::One) => line(&value),
        (Value::Object(fields), Lines::Many) => {
            let field = |(name, field): (&String, &Value)| match field {
                Value::Array(items) if !items.is_empty() => {
                    format!("{name}:\n{}", items.iter().map(item).collect::<String>())
                }
                _ => format!("{name}: {}", line(field)),
            };
            fields.iter().map(field).collect()
        }
        (Value::Array(items), Lines::Many) => items.iter().map(item).collect(),
        (_, Lines::Many) => line(&value),
    }
}

fn hide(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => {
            for (name, field) in fields {
                match PASSING.contains(&name.as_str()) {
                    true => *field = json!("PASSING"),
                    false => hide(field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A finding with this class and owner.
fn routed(finding: Value, class: &str, owner: &str) -> Value {
    with(finding, json!({ "autofix_class": class, "owner": owner }))
}

/// One finding of each kind that is not applied without a question.
fn for_others() -> Vec<Value> {
    let line = |title: &str, place: &str, quote: &str| finding("P2", title, place, quote);
    let gated = line("Nothing is logged", "shop/mail.py:1", "def send(to, text):");
    let gated = with(gated, json!({ "suggested_fix": "Log it." }));
    vec![
        routed(gated, "gated_auto", "downstream-resolver"),
        unpaid(),
        routed(line("Cents are lost", "shop/orders.py:4", "item.price"), "manual", "human"),
        routed(
            line("Old orders are refunded", "shop/orders.py:8", "def refund"),
            "manual",
            "release",
        ),
        routed(line("The name is short", "shop/log.py:1", "def log(text):"), "advisory", "human"),
    ]
}

#[test]
fn headless_applies_safe_fixes_and_returns_the_rest() {
    let desk = Desk::new();
    let all = [vec![mean(), swallowed()], for_others()].concat();
    let model = says(&all);
    check(&desk, &model, &HEADLESS, expect_file!["../../data/modes/headless.txt"]);
}

#[test]
fn headless_with_a_clean_change() {
    let model = FakeModel::start().on("single", [answers(&[])]);
    check(&Desk::new(), &model, &HEADLESS, expect_file!["../../data/modes/headless_clean.txt"]);
}

#[test]
fn headless_drops_fixes_that_fail_verification() {
    let desk = Desk::new();
    let needing = with(mean(), json!({ "requires_verification": true }));
    let args = ["--trust", "--verify", "grep -q pass shop/mail.py", "--mode", "headless"];
    let model = says(&[needing, swallowed()]);
    check(&desk, &model, &args, expect_file!["../../data/modes/headless_verified.txt"]);
}

#[test]
fn headless_sends_one_fixer() {
    let model = says(&[vague(mean()), swallowed()])
        .on("fixer-1", [edits(ORDERS, BEFORE, "    return result\n"), reports(2, "done")]);
    check(&Desk::new(), &model, &HEADLESS, expect_file!["../../data/modes/headless_fixer.txt"]);
    assert_eq!(model.requests().len(), 5, "a review, an editor, a check, and a fixer of two turns");
}

#[test]
fn headless_with_a_failing_reviewer() {
    let model = FakeModel::start().on("single", [bad_request("no such model")]);
    check(&Desk::new(), &model, &HEADLESS, expect_file!["../../data/modes/headless_failed.txt"]);
}

#[test]
fn headless_with_edits_during_the_review() {
    let desk = Desk::with_faults();
    let path = desk.repo.path().join(MAIL);
    let answer = computed(move |_| {
        fs::write(&path, "mine\n").unwrap();
        answers(&[mean(), swallowed()])
    });
    let model = FakeModel::start().on("single", [answer]).on("validate-1", [confirms()]);
    check(&desk, &model, &HEADLESS, expect_file!["../../data/modes/headless_moved.txt"]);
}

#[test]
fn headless_with_uncommitted_changes() {
    let desk = Desk::new();
    desk.repo.write("shop/log.py", "def log(text):\n    print(text, flush=True)\n");
    desk.repo.git(&["add", "shop/log.py"]);
    desk.repo.write("shop/note.py", "NOTE = 1\n");
    let model = says(&[mean(), unpaid()]);
    check(&desk, &model, &HEADLESS, expect_file!["../../data/modes/headless_dirty.txt"]);
}

#[test]
fn autofix_reviews_again_and_writes_todos() {
    let all = [vec![mean(), swallowed()], for_others()].concat();
    let model = FakeModel::start()
        .on("single", [answers(&all), answers(&[])])
        .on("validate-1", [confirms()]);
    check(&Desk::new(), &model, &AUTOFIX, expect_file!["../../data/modes/autofix.txt"]);
}

#[test]
fn autofix_with_a_clean_change() {
    let model = FakeModel::start().on("single", [answers(&[])]);
    check(&Desk::new(), &model, &AUTOFIX, expect_file!["../../data/modes/autofix_clean.txt"]);
}

#[test]
fn autofix_in_two_rounds() {
    let second =
        safe("It starts at zero", "shop/orders.py:2", "    result = 0", "    result = Decimal(0)");
    let model = FakeModel::start()
        .on("single", [answers(&[mean(), swallowed(), unpaid()]), answers(&[second]), answers(&[])])
        .on("validate-1", [confirms(), confirms()]);
    check(&Desk::new(), &model, &AUTOFIX, expect_file!["../../data/modes/autofix_rounds.txt"]);
}

#[test]
fn autofix_that_never_converges() {
    let line = |title: &str, now: &str, then: &str| {
        safe(
            title,
            "shop/orders.py:5",
            &format!("return result / {now}"),
            &format!("    return result / {then}"),
        )
    };
    let first = line("It is divided by the count", "len(items)", "1.0");
    let second = line("It is divided by one", "1.0", "2.0");
    let model = says_in_rounds(&[&[first], &[second]]);
    check(&Desk::new(), &model, &AUTOFIX, expect_file!["../../data/modes/autofix_endless.txt"]);
}

#[test]
fn autofix_with_a_fixer_that_first_skips_an_issue() {
    // crh rejects the first report, because the other issue of the changed file is missing.
    let full_report = || {
        let repair = |number: u32, outcome: &str| {
            let sentence = format!("It is {outcome}.");
            json!({ "number": number, "outcome": outcome, "sentence": sentence })
        };
        calls("report_repairs", json!({ "repairs": [repair(1, "done"), repair(2, "not_done")] }))
    };
    let refund = vague(safe("It is not paid", "shop/orders.py:9", "return order.amount", ""));
    let model = FakeModel::start()
        .on("single", [answers(&[vague(mean()), refund]), answers(&[])])
        .on("validate-1", [confirms()])
        .on(
            "fixer-1",
            [edits(ORDERS, BEFORE, "    return result\n"), reports(1, "done"), full_report()],
        );
    check(&Desk::new(), &model, &AUTOFIX, expect_file!["../../data/modes/autofix_fixer.txt"]);
}

#[test]
fn autofix_outside_the_checkout() {
    let desk = Desk::new();
    desk.repo.git(&["branch", "feature"]);
    desk.repo.git(&["checkout", "--quiet", "-b", "other", "HEAD~1"]);
    let (files, head) = (desk.files(), desk.repo.id("HEAD"));
    let args =
        ["review", "--strategy", "single", "--no-pr", "--mode", "autofix", "main~1..feature"];
    let output = desk.checked(with_model(desk.crh(&args), &says(&[mean(), unpaid()])));
    assert_eq!(desk.repo.id("HEAD"), head);
    expect_file!["../../data/modes/autofix_elsewhere.txt"]
        .assert_eq(&whole(&desk, &output, &files));
}

#[test]
fn autofix_next_to_existing_todos() {
    let desk = Desk::new();
    desk.repo.write(".context/compound-engineering/todos/041-pending-p1-old.md", "Old.\n");
    fs::write(desk.repo.path().join(".git/info/exclude"), ".context/\n").unwrap();
    let model = says(&[unpaid()]);
    check(&desk, &model, &AUTOFIX, expect_file!["../../data/modes/autofix_todos.txt"]);
}
