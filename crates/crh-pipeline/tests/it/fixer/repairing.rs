//! Successful fixers.

use expect_test::expect;
use serde_json::json;

use super::scene::{CART, ISSUES, NEW, OLD, Scene, edit, reports, tool_replies};
use crh_pipeline::events::ReviewEvent;
use crh_pipeline::fixer::IssueOutcome;
use crh_review::Location;
use crh_testkit::fake_model::{PromptPart, calls, calls_all};
use crh_testkit::{FakeModel, Repo};

#[tokio::test]
async fn repair_is_the_tree_difference_by_issue() {
    let model = FakeModel::start().on(
        "fixer-1",
        [
            calls("read_worktree", json!({ "path": "cart.py", "start": 2 })),
            edit("cart.py", OLD, NEW),
            // The same call again is allowed, since the file has changed.
            calls("read_worktree", json!({ "path": "cart.py", "start": 2 })),
            reports(&[(1, "done"), (2, "not_done")]),
        ],
    );
    let scene = Scene::new(&model);
    let repair = scene
        .check(expect![[r##"
        #1 done: It is done.
        #2 not done: It is not_done.
        cart.py for {1}: OLD is NEW
        fixer-1 Completed
    "##]])
        .await;
    expect![[r#"
        `cart.py` has 3 lines.
            2      count = len(lines)
            3      return sum(lines) / count
        `cart.py` is changed. Lines as they are now:
            1  def total(lines):
            2      count = len(lines)
            3      return sum(lines) / count if count else 0
        `cart.py` has 3 lines.
            2      count = len(lines)
            3      return sum(lines) / count if count else 0
    "#]]
    .assert_eq(&tool_replies(&model));
    assert_eq!(repair.record.models, ["openai:fake"]);
    assert_eq!((repair.record.totals.llm_calls, repair.record.totals.tool_calls), (4, 3));
    assert_eq!(scene.refusals(), "");
    let ended = scene.events.lock().unwrap().iter().any(|event| match event {
        ReviewEvent::RunEnded { run, failure, .. } => run == "fixer-1" && failure.is_none(),
        _ => false,
    });
    assert!(ended, "its end is told and stored as that of any run");
    assert_eq!(repair.record.answer["told"]["1"]["done"], "It is done.");
}

/// The issues in the first prompt, with a mark instead of each fence.
fn issues_of_prompt(prompt: &str) -> String {
    let issues = prompt.split("Lines with numbers").next().unwrap();
    let lines = issues.lines().map(|line| match line.contains("data-") {
        true => "<fence>\n".to_owned(),
        false => format!("{}\n", line.trim_end()),
    });
    lines.collect()
}

#[tokio::test]
async fn fixer_prompt_has_issues_code_rules_and_files() {
    let model = FakeModel::start().on("fixer-1", [reports(&[])]);
    let mut scene = Scene::new(&model).with_files(&["cart.py", "label.py", "new.py"]);
    let [first, second] = scene.fix_task.issues.as_mut_slice() else { panic!("not two issues") };
    first.other_places = vec![second.location.clone()];
    scene.repair().await;
    let read = model.requests()[0].prompt_parts();
    let said: Vec<&String> = read
        .iter()
        .filter_map(|read| match read {
            PromptPart::User(text) => Some(text),
            _ => None,
        })
        .collect();
    let [own] = said.as_slice() else { panic!("{said:?}") };
    expect![[r#"
        # Your task: repair these issues

        <fence>
        number: 1
        title: An empty order divides by zero
        severity: P1
        place: cart.py:3
        other places: label.py:2
        why it matters: An order without a line fails.
        <fence>
            1  def total(lines):
            2      count = len(lines)
            3      return sum(lines) / count
        <fence>
        code at label.py:2:
        <fence>
            1  def label(line):
            2      return line.strip()
        <fence>

        number: 2
        title: A line without a name fails
        severity: P2
        place: label.py:2
        why it matters: It is wrong.
        <fence>
            1  def label(line):
            2      return line.strip()
        <fence>
        <fence>

    "#]]
    .assert_eq(&issues_of_prompt(own));
    assert!(own.contains("\nnew.py (not there yet)\n"), "{own}");
    let rules = read.iter().any(|read| match read {
        PromptPart::System(text) => text.starts_with("You repair defects"),
        _ => false,
    });
    assert!(rules, "a fixer has rules of its own");
}

#[tokio::test]
async fn edits_of_one_turn_are_applied_in_order() {
    let model = FakeModel::start().on(
        "fixer-1",
        [
            calls_all([
                ("edit_file", json!({ "path": "cart.py", "old": "count", "new": "n" })),
                ("edit_file", json!({ "path": "cart.py", "old": "    count =", "new": "    n =" })),
                ("edit_file", json!({ "path": "cart.py", "old": "/ count", "new": "/ max(n, 1)" })),
                ("edit_file", json!({ "path": "cart.py", "old": "max(n, 1)", "new": "(n or 1)" })),
            ]),
            reports(&[(1, "done")]),
        ],
    );
    let scene = Scene::new(&model);
    scene
        .check(expect![[r##"
        #1 done: It is done.
        #2 not done: the fixer did not report about it
        cart.py for {1}
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count\n"
          "def total(lines):\n    n = len(lines)\n    return sum(lines) / (n or 1)\n"
        fixer-1 Completed
    "##]])
        .await;
    expect![[r#"
        `old` occurs 2 times: take in lines around it until it occurs once
        `cart.py` is changed. Lines as they are now:
            1  def total(lines):
            2      n = len(lines)
            3      return sum(lines) / count
        `cart.py` is changed. Lines as they are now:
            1  def total(lines):
            2      n = len(lines)
            3      return sum(lines) / max(n, 1)
        `cart.py` is changed. Lines as they are now:
            1  def total(lines):
            2      n = len(lines)
            3      return sum(lines) / (n or 1)
    "#]]
    .assert_eq(&tool_replies(&model));
}

#[tokio::test]
async fn edit_in_the_turn_of_the_report_counts() {
    let edit_and_report = |old: &str| {
        let repair = json!({ "number": 1, "outcome": "done", "sentence": "It is done." });
        edit("cart.py", old, NEW).and_calls("report_repairs", json!({ "repairs": [repair] }))
    };
    // The first edit fails, so its report is not true.
    let replies = [edit_and_report("    return sum(items)\n"), edit_and_report(OLD)];
    let model = FakeModel::start().on("fixer-1", replies);
    let scene = Scene::new(&model);
    scene
        .check(expect![[r##"
        #1 done: It is done.
        #2 not done: the fixer did not report about it
        cart.py for {1}: OLD is NEW
        fixer-1 Completed
    "##]])
        .await;
    expect![[r#"
        `old` occurs 0 times: copy it to the letter from `read_worktree`, without line numbers
        The answer was not accepted: another call of the same turn failed, see its result. Submit the whole answer again, corrected.
    "#]].assert_eq(&tool_replies(&model));
}

#[tokio::test]
async fn named_and_new_files_belong_to_the_issue() {
    let new = json!({ "path": "shop/zero.py", "content": "ZERO = 0\n" });
    let named = json!({ "repairs": [
        { "number": 1, "outcome": "done", "sentence": "Zero is a constant.", "files": ["shop/zero.py"] },
        { "number": 2, "outcome": "not_done", "sentence": "It takes a decision." },
    ] });
    let model = FakeModel::start().on(
        "fixer-1",
        [
            calls("write_file", new),
            edit("cart.py", OLD, "    return sum(lines) / count if count else ZERO\n"),
            // The new file belongs to no issue yet.
            reports(&[(1, "done")]),
            calls("report_repairs", named),
        ],
    );
    let scene = Scene::new(&model).with_files(&["cart.py", "label.py", "shop/zero.py"]);
    scene.check(expect![[r##"
        #1 done: Zero is a constant.
        #2 not done: It takes a decision.
        cart.py for {1}
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count\n"
          "def total(lines):\n    count = len(lines)\n    return sum(lines) / count if count else ZERO\n"
        shop/zero.py for {1}
          -
          "ZERO = 0\n"
        fixer-1 Completed
    "##]]).await;
}

#[tokio::test]
async fn done_without_a_change_is_not_done() {
    let model = FakeModel::start()
        .on("fixer-1", [edit("cart.py", OLD, NEW), reports(&[(1, "done"), (2, "done")])]);
    Scene::new(&model)
        .check(expect![[r##"
        #1 done: It is done.
        #2 not done: no file was changed for it, although the fixer reports: It is done.
        cart.py for {1}: OLD is NEW
        fixer-1 Completed
    "##]])
        .await;
    // The same if it was changed and reverted.
    let model = FakeModel::start().on(
        "fixer-1",
        [edit("cart.py", OLD, NEW), edit("cart.py", NEW, OLD), reports(&[(1, "done")])],
    );
    Scene::new(&model)
        .check(expect![[r#"
        #1 not done: no file was changed for it, although the fixer reports: It is done.
        #2 not done: the fixer did not report about it
        fixer-1 Completed
    "#]])
        .await;
}

#[tokio::test]
async fn issue_is_not_done_if_only_another_file_was_changed() {
    let report = json!({ "repairs": [
        { "number": 1, "outcome": "done", "sentence": "The label is new.", "files": ["label.py"] },
        { "number": 2, "outcome": "not_done", "sentence": "It takes a decision." },
    ] });
    let change = edit("label.py", "    return line.strip()\n", "    return line\n");
    let model = FakeModel::start().on("fixer-1", [change, calls("report_repairs", report)]);
    Scene::new(&model)
        .check(expect![[r#"
        #1 not done: only other files were changed for it, although the fixer reports: The label is new.
        #2 not done: It takes a decision.
        fixer-1 Completed
        ! the edit of `label.py` belongs to no repaired issue and is rejected
    "#]])
        .await;
}

#[tokio::test]
async fn issue_is_done_only_by_an_edit_for_it() {
    let table = r#"
        a cart.py:3 P1 0.9 "An empty order divides by zero"
        a cart.py:12 P2 0.9 "A line without a name fails"
    "#;
    let rest = "\n\n# Names of the lines.\n# They are printed on the bill.\n\n\n\n";
    let label = "def label(line):\n    return line.strip()\n";
    let total = "def total(lines):\n    count = len(lines)\n    return sum(lines) / count\n";
    let (first, strip) = ((OLD, NEW), "    return line.strip()\n");
    let elsewhere = IssueOutcome::NotDone(
        "the code around its lines was not changed, although the fixer reports: It is done."
            .to_owned(),
    );
    let done = IssueOutcome::Done("It is done.".to_owned());
    for (second, expected) in [
        (None, &elsewhere),
        (Some(("# They", "# These")), &elsewhere),
        (Some((strip, "    return line.strip()  \n")), &elsewhere),
        (Some((strip, "    return (line or '').strip()\n")), &done),
    ] {
        let repo = Repo::from_fixture(CART);
        repo.write("cart.py", format!("{total}{rest}{label}"));
        repo.commit("two functions");
        let edits = [first].into_iter().chain(second).map(|(old, new)| edit("cart.py", old, new));
        let model =
            FakeModel::start().on("fixer-1", edits.chain([reports(&[(1, "done"), (2, "done")])]));
        let outcomes = Scene::from_repo(&model, repo, table).repair().await.outcomes;
        assert_eq!((&outcomes[&1], &outcomes[&2]), (&done, expected), "{second:?}");
    }
}

/// The outcome of an issue at the last line of `fee`, reported as done after this edit.
async fn outcome_after(title: &str, old: &str, new: &str) -> String {
    let repo = Repo::from_fixture(CART);
    let code = "\"\"\"Bills.\"\"\"\nRATE = 10\n\n\ndef round_up(amount):\n    return int(amount)\n\n\n\n\n\
                def other(amount):\n    return amount\n\n\n\n\n\
                def fee(amount):\n    \"\"\"The fee.\"\"\"\n    whole = 1\n    rest = 2\n    more = 3\n    # Sum.\n\
                \x20   return round_up(amount * RATE)\n";
    repo.write("cart.py", code);
    repo.commit("fees");
    let line = code.lines().count();
    let table = format!("a cart.py:{line} P1 0.9 \"{title}\"");
    let model =
        FakeModel::start().on("fixer-1", [edit("cart.py", old, new), reports(&[(1, "done")])]);
    let repair = Scene::from_repo(&model, repo, &table).repair().await;
    assert_eq!(
        repair.edits.len(),
        usize::from(matches!(repair.outcomes[&1], IssueOutcome::Done(_)))
    );
    match &repair.outcomes[&1] {
        IssueOutcome::Done(_) => "done".to_owned(),
        IssueOutcome::NotDone(why) | IssueOutcome::NotTried(why) => {
            why.split(',').next().unwrap_or_default().to_owned()
        }
    }
}

#[tokio::test]
async fn only_an_edit_of_the_code_around_an_issue_counts() {
    let elsewhere = "the code around its lines was not changed";
    for (old, new, expected) in [
        ("amount * RATE", "amount / RATE", "done"),
        // The same function.
        ("    whole = 1\n", "    whole = 0\n", "done"),
        // A constant and a function that the line names, and an import for it.
        ("RATE = 10\n", "RATE = 100\n", "done"),
        ("    return int(amount)\n", "    return int(amount) + 1\n", "done"),
        ("RATE = 10\n", "from bills import round_up\nRATE = 10\n", "done"),
        // Other code.
        ("    return amount\n", "    return -amount\n", elsewhere),
        ("RATE = 10\n", "PRICE = 1\nRATE = 10\n", elsewhere),
    ] {
        assert_eq!(outcome_after("The fee is wrong", old, new).await, expected, "{new}");
    }
}

#[tokio::test]
async fn comment_is_no_fix_of_code() {
    let comments = "only comments or white space were changed for it";
    for (old, new) in [
        ("\"\"\"Bills.\"\"\"", "\"\"\"Bills of the shop.\"\"\""),
        ("\"\"\"The fee.\"\"\"", "\"\"\"The fee in cents.\"\"\""),
        ("    # Sum.\n", "    # Sum of all.\n\n"),
        ("    # Sum.\n", ""),
        ("amount * RATE)\n", "amount * RATE)  # Correct.\n"),
    ] {
        assert_eq!(outcome_after("The fee is wrong", old, new).await, comments, "{new}");
    }
    let title = "The comment says nothing";
    assert_eq!(outcome_after(title, "    # Sum.\n", "    # In cents.\n").await, "done");
}

/// Both issues are in one long function, and the edit is at neither.
#[tokio::test]
async fn change_that_fits_two_issues_counts_for_neither() {
    let lines: String = (3..30).map(|line| format!("    name_{line} = 0\n")).collect();
    let repo = Repo::from_fixture(CART);
    repo.write("cart.py", format!("def total(lines):\n    count = len(lines)\n{lines}"));
    repo.commit("one function");
    let table = r#"
        a cart.py:3 P1 0.9 "An empty order divides by zero"
        a cart.py:28 P2 0.9 "A line without a name fails"
    "#;
    let change = edit("cart.py", "name_15 = 0", "name_15 = 1");
    let model = FakeModel::start().on("fixer-1", [change, reports(&[(1, "done"), (2, "done")])]);
    let outcomes = Scene::from_repo(&model, repo, table).repair().await.outcomes;
    let why = "the change around its lines may be for another issue, although the fixer reports: It is done.";
    assert_eq!(
        outcomes.into_values().collect::<Vec<_>>(),
        [1, 2].map(|_| IssueOutcome::NotDone(why.to_owned()))
    );
}

#[tokio::test]
async fn edit_at_another_issue_is_not_for_the_issue_of_the_file() {
    let names: String = (3..=18).map(|line| format!("    NAME_{line} = 0\n")).collect();
    let check = async |line: u32, expected: &str| {
        let name = edit("label.py", &format!("NAME_{line} = 0\n"), &format!("NAME_{line} = 1\n"));
        let replies = [edit("cart.py", OLD, NEW), name, reports(&[(1, "done"), (2, "done")])];
        let model = FakeModel::start().on("fixer-1", replies);
        let repo = Repo::from_fixture(&format!("{CART}{names}"));
        let mut scene = Scene::from_repo(&model, repo, ISSUES);
        let [first, second] = scene.fix_task.issues.as_mut_slice() else {
            panic!("not two issues")
        };
        let place = Location { line_start: 18, line_end: 18, ..second.location.clone() };
        first.other_places = vec![place];
        let outcomes = scene.repair().await.outcomes;
        assert_eq!(format!("{:?}", outcomes[&2]), expected);
    };
    // The line is near the second issue.
    check(4, r#"Done("It is done.")"#).await;
    // The line is at no place of an issue.
    let expected = r#"NotDone("the code around its lines was not changed, although the fixer reports: It is done.")"#;
    check(10, expected).await;
    // The line is the other place of the first issue.
    check(18, expected).await;
}

#[tokio::test]
async fn blank_space_is_no_fix_of_other_things() {
    let spaces = || {
        let old = "    return sum(lines) / count\n";
        edit("cart.py", old, "    return sum(lines) / count  \n\n")
    };
    let model =
        || FakeModel::start().on("fixer-1", [spaces(), reports(&[(1, "done"), (2, "not_done")])]);
    Scene::new(&model())
        .check(expect![[r#"
        #1 not done: only comments or white space were changed for it, although the fixer reports: It is done.
        #2 not done: It is not_done.
        fixer-1 Completed
        ! the edit of `cart.py` belongs to no repaired issue and is rejected
    "#]])
        .await;
    // The issue itself is about trailing white space.
    let model = model();
    let mut scene = Scene::new(&model);
    scene.fix_task.issues[0].replacement = Some("    return sum(lines) / count \n".to_owned());
    let outcomes = scene.repair().await.outcomes;
    expect![[r#"Done("It is done.")"#]].assert_eq(&format!("{:?}", outcomes[&1]));
}

#[tokio::test]
async fn existing_file_is_not_written_whole() {
    let write = |path: &str, content: &str| {
        calls("write_file", json!({ "path": path, "content": content }))
    };
    let model = FakeModel::start().on(
        "fixer-1",
        [
            write("cart.py", "x = 1\n"),
            write("new.py", "x = 1\n"),
            // The fixer made it, so it may write it again.
            write("new.py", "x = 2\n"),
            reports(&[(1, "not_done")]),
        ],
    );
    Scene::new(&model).with_files(&["cart.py", "new.py"]).repair().await;
    expect![[r#"
        `cart.py` is there already: `edit_file` changes it
        `new.py` is written: 1 lines.
        `new.py` is written: 1 lines.
    "#]]
    .assert_eq(&tool_replies(&model));
}
