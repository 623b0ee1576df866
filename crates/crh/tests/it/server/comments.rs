//! Replies to crh's comments, and `/crh fix`.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{NAME, ServerScenario};
use crate::review::script::{answers, confirms_all, finding, with};
use crh_testkit::FakeModel;
use crh_testkit::fake_github::{Permission, Thread};
use crh_testkit::fake_model::{FakeRequest, ScriptedReply, calls};

pub(crate) const HEAD: &str = "def total(items):\n    return 1\n";

/// Replies of the person that the model judges in different ways.
pub(crate) const QUESTION: &str = "Why does this matter?";
pub(crate) const WRONG: &str = "I disagree, one is right.";
pub(crate) const RIGHT: &str = "This is impossible, see the signature.";

/// The right line in place of the defect.
const REPLACEMENT: &str = "    return sum(items)";

/// Finds one defect with an exact replacement, and answers replies.
pub(crate) fn reviewer() -> FakeModel {
    fixing_with(REPLACEMENT)
}

/// The same, with this replacement.
fn fixing_with(replacement: &'static str) -> FakeModel {
    FakeModel::answering(move |asked: &FakeRequest| reply_to(asked, replacement))
}

fn reply_to(asked: &FakeRequest, replacement: &str) -> ScriptedReply {
    match asked.caller.as_str() {
        "single" => {
            let found =
                finding("P1", "The total is always one", "shop/orders.py:2", "    return 1");
            let fix = json!({
                "replacement": replacement, "autofix_class": "safe_auto", "owner": "review-fixer",
            });
            answers(&[with(found, fix)])
        }
        "answer" => answer(&asked.body.to_string()),
        caller if caller.starts_with("validate") => confirms_all(asked),
        _ => answers(&[]),
    }
}

/// Environments of the processes that ask for an answer now, one variable per line.
fn environments_of_answers() -> Vec<String> {
    let read = |process: &Path, file: &str| {
        let bytes = fs::read(process.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', "\n")
    };
    let is_answer =
        |process: &Path| read(process, "cmdline").lines().nth(1) == Some("serve-answer");
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes
        .filter(|process| is_answer(process))
        .map(|process| read(&process, "environ"))
        .collect()
}

fn answer(prompt: &str) -> ScriptedReply {
    let (kind, verdict, line, code, text) = if prompt.contains(RIGHT) {
        ("dispute", "refuted", 1, "def total(items):", "The signature takes items.")
    } else if prompt.contains(WRONG) {
        ("dispute", "confirmed", 2, "    return 1", "Two items also give one.")
    } else {
        assert!(prompt.contains(QUESTION), "the prompt has no reply");
        ("question", "confirmed", 2, "    return 1", "Every invoice is wrong. Ask @everyone.")
    };
    let report = json!({
        "kind": kind, "verdict": verdict, "file": "shop/orders.py", "line": line, "code": code,
        "answer": text,
    });
    calls("report_answer", report)
}

impl ServerScenario {
    /// Reviews the pull request, and returns crh's conversation about the defect.
    fn reviewed(&self) -> Thread {
        assert_eq!(self.deliver("pull_request", "push", &self.push_event(1)), 202);
        self.wait_for_quiet();
        self.only_thread()
    }

    fn only_thread(&self) -> Thread {
        let threads = self.github.threads(&self.pull);
        assert_eq!(threads.len(), 1, "{threads:?}");
        threads.into_iter().next().unwrap()
    }

    /// Replies in crh's conversation, and delivers the event twice. Returns crh's new comments.
    fn reply(&self, author: &str, body: &str) -> Vec<String> {
        let thread = self.only_thread();
        let before = thread.comments.len() + 1;
        let id = self.github.reply(&thread.id, author, body);
        let event = json!({
            "action": "created",
            "pull_request": self.push_event(1)["pull_request"],
            "comment": {
                "id": id, "body": body, "in_reply_to_id": thread.comments[0].id,
                "user": { "login": author, "type": "User" },
            },
            "repository": { "full_name": NAME }, "installation": { "id": self.installation },
        });
        for delivery in ["first", "again"] {
            let name = format!("reply-{id}-{delivery}");
            assert_eq!(self.deliver("pull_request_review_comment", &name, &event), 202);
            self.wait_for_quiet();
        }
        let comments = self.only_thread().comments;
        comments[before..].iter().map(|comment| comment.body.clone()).collect()
    }

    /// Comments in the conversation, and returns crh's answers.
    fn command(&self, author: &str, body: &str) -> Vec<String> {
        let own = || -> Vec<String> {
            let comments = self.github.comments(&self.pull);
            let own = comments.into_iter().filter(|comment| comment.author == "crh[bot]");
            own.map(|comment| comment.body).collect()
        };
        let before = own().len();
        let id = self.github.comment(&self.pull, author, body);
        let event = self.comment_event(id, author, body);
        for delivery in ["first", "again"] {
            let name = format!("command-{id}-{delivery}");
            assert_eq!(self.deliver("issue_comment", &name, &event), 202);
            self.wait_for_quiet();
        }
        own().split_off(before)
    }
}

#[test]
fn reply_is_answered_once_and_a_dispute_is_checked_again() {
    let environments = Arc::new(Mutex::new(Vec::new()));
    let seen = environments.clone();
    let model = FakeModel::answering(move |asked: &FakeRequest| {
        if asked.caller == "answer" {
            seen.lock().unwrap().extend(environments_of_answers());
        }
        reply_to(asked, REPLACEMENT)
    });
    let scenario = ServerScenario::start_with(&model, HEAD, &Permission::ALL, None);
    scenario.github.role(NAME, "ann", "write").role(NAME, "eve", "read");
    scenario.reviewed();
    let asked = || model.requests().iter().filter(|it| it.caller == "answer").count();
    assert_eq!(scenario.reply("eve", RIGHT), Vec::<String>::new());
    assert_eq!(asked(), 0, "strangers spend nothing");

    let answers = scenario.reply("ann", QUESTION);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].starts_with("Every invoice is wrong."), "{answers:?}");
    assert!(!answers[0].contains(" @everyone"), "{answers:?}");

    let answers = scenario.reply("ann", WRONG);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("stands by it"), "{answers:?}");
    assert!(answers[0].contains("`shop/orders.py:2`"), "{answers:?}");
    assert!(!scenario.only_thread().resolved);

    let answers = scenario.reply("ann", RIGHT);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].contains("withdraws this issue"), "{answers:?}");
    assert!(answers[0].contains("`shop/orders.py:1`"), "{answers:?}");
    let thread = scenario.only_thread();
    assert_eq!((thread.resolved, thread.resolved_by.as_deref()), (true, Some("crh[bot]")));
    assert_eq!(asked(), 3);
    check_without_forge_token(&environments.lock().unwrap(), &model);
    // The person's text is fenced.
    let request = model.requests().into_iter().find(|it| it.caller == "answer").unwrap();
    assert!(request.body.to_string().contains("kind=\\\"reply\\\""), "{}", request.body);

    // Later reviews do not report it again.
    scenario.command("ann", "/crh review full");
    let explained = scenario.command("ann", "/crh explain 1");
    assert!(explained[0].starts_with("The last report has no issue 1."), "{explained:?}");
    assert_eq!(scenario.github.threads(&scenario.pull).len(), 1);
    scenario.stop();
}

/// Checks that the processes that ask this model have no token and no key of the forge.
fn check_without_forge_token(environments: &[String], model: &FakeModel) {
    // Other tests run servers at the same time.
    let own_model = model.url();
    let own: Vec<&String> = environments.iter().filter(|it| it.contains(&own_model)).collect();
    assert!(own.len() >= 3, "{environments:?}");
    for environment in own {
        let names =
            environment.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name);
        let forge_names: Vec<&str> = names
            .filter(|name| {
                name.contains("TOKEN") || name.starts_with("GITHUB_") || name.starts_with("GH_")
            })
            .collect();
        assert_eq!(forge_names, [""; 0]);
        assert!(!environment.contains("ghs_") && !environment.contains("PRIVATE KEY"));
    }
}

/// A program with an account of a person could go on without end.
#[test]
fn conversation_gets_at_most_five_answers() {
    let model = reviewer();
    let scenario = ServerScenario::start_with(&model, HEAD, &Permission::ALL, None);
    scenario.github.role(NAME, "robot", "write");
    scenario.reviewed();
    let last = "This is the last answer of crh in this conversation.";
    let answers: Vec<Vec<bool>> = (0..6)
        .map(|_| scenario.reply("robot", QUESTION).iter().map(|it| it.contains(last)).collect())
        .collect();
    assert_eq!(answers, [&[false][..], &[false], &[false], &[false], &[true], &[]]);
    assert_eq!(model.requests().iter().filter(|it| it.caller == "answer").count(), 5);
    assert_eq!(scenario.reply("robot", "/crh dismiss it is intended"), Vec::<String>::new());
    assert_eq!(scenario.github.reactions(NAME).len(), 1, "people can still dismiss the issue");
    scenario.stop();
}

#[test]
fn fix_is_committed_to_a_branch_of_the_same_repository_once() {
    let model = reviewer();
    let scenario = ServerScenario::start_with(&model, HEAD, &Permission::ALL, None);
    scenario.github.role(NAME, "ann", "write").role(NAME, "eve", "read");
    scenario.reviewed();
    let before = scenario.github.head(&scenario.pull);
    assert_eq!(scenario.command("eve", "/crh fix 1"), Vec::<String>::new());
    assert_eq!(scenario.github.head(&scenario.pull), before);
    let answers = scenario.command("ann", "/crh fix 1");
    let head = scenario.github.head(&scenario.pull);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(answers[0].starts_with(&format!("Fixed issue 1 in {head}.")), "{answers:?}");
    let git = |args: &[&str]| String::from_utf8(scenario.repo.git(args)).unwrap();
    assert_eq!(git(&["rev-parse", &format!("{head}^")]).trim(), before);
    let file = git(&["show", &format!("{head}:shop/orders.py")]);
    assert_eq!(file, "def total(items):\n    return sum(items)\n");
    let message = git(&["show", "--no-patch", "--format=%B", &head]);
    assert!(message.starts_with("Fix [P1] The total is always one\n"), "{message}");
    // The branch has another head than the review now.
    let answers = scenario.command("ann", "/crh fix 1");
    assert!(answers[0].starts_with("The branch moved since the last review"), "{answers:?}");
    assert_eq!(scenario.github.head(&scenario.pull), head);
    scenario.stop();
}

#[test]
fn fix_that_fails_a_static_check_is_refused() {
    let model = fixing_with("    return sum items");
    let scenario = ServerScenario::start_with(&model, HEAD, &Permission::ALL, None);
    scenario.github.role(NAME, "ann", "write");
    scenario.reviewed();
    let before = scenario.github.head(&scenario.pull);
    let answers = scenario.command("ann", "/crh fix 1");
    assert_eq!(answers.len(), 1, "{answers:?}");
    let expected = "crh does not apply the fix of issue 1: the fixed file fails a static check: ";
    assert!(answers[0].starts_with(expected), "{answers:?}");
    assert!(answers[0].contains("(shop/orders.py:2, syntax/"), "{answers:?}");
    assert_eq!(scenario.github.head(&scenario.pull), before);
    scenario.stop();
}

#[test]
fn fix_is_suggested_if_crh_may_not_commit() {
    let without_contents: Vec<Permission> =
        Permission::ALL.into_iter().filter(|one| *one != Permission::WriteContents).collect();
    for (fork, permissions) in [(Some("mallory"), &Permission::ALL[..]), (None, &without_contents)]
    {
        let model = reviewer();
        let scenario = ServerScenario::start_with(&model, HEAD, permissions, fork);
        scenario.github.role(NAME, "ann", "write");
        scenario.command("ann", "/crh review");
        let head = scenario.github.head(&scenario.pull);
        let answers = scenario.command("ann", "/crh fix 1");
        assert_eq!(answers, Vec::<String>::new(), "the suggestion is the answer");
        let suggested: Vec<Value> = scenario
            .github
            .threads(&scenario.pull)
            .iter()
            .filter(|thread| thread.comments[0].body.starts_with("Fix of issue 1."))
            .map(|thread| json!([thread.path, thread.line, thread.comments.len()]))
            .collect();
        assert_eq!(suggested, [json!(["shop/orders.py", 2, 1])]);
        assert_eq!(scenario.github.head(&scenario.pull), head);
        scenario.stop();
    }
}
