//! Posting to a merge proposal: what is posted, when nothing is, and that repeating changes
//! nothing.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, mpsc};

use expect_test::expect;
use serde_json::{Value, json};

use super::LaunchpadScenario;
use crate::review::script::answers;
use crate::review::{runs, with_model};
use crate::user::tree;
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind, REVIEWER, SECRET, TOKEN};
use crh_testkit::fake_model::computed;
use crh_testkit::{FakeGitHub, FakeModel, Output, Repo, fake_github};

/// Checks the merge proposal and posts.
fn posted(pad: &LaunchpadScenario) -> Output {
    let output = pad.run(&["check", &pad.url(), "--sink", "launchpad"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    assert!(!output.stderr.contains("cannot deliver the report"), "{}", output.shown());
    output
}

/// Folder of a run of the merge proposal that is not posted.
fn run(pad: &LaunchpadScenario) -> String {
    let output = pad.run(&["check", &pad.url(), "--run-dir", "runs"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let runs = runs(&pad.elsewhere.path().join("runs"));
    let name = runs[0].file_name().unwrap().to_str().unwrap();
    format!("runs/{name}")
}

/// `crh post` with its usual flags, and more.
fn post(pad: &LaunchpadScenario, run: &str, more: &[&str]) -> Output {
    let (url, head) = (pad.url(), pad.fork.id("feature"));
    let usual = ["post", run, "--sink", "launchpad", "--proposal", &url, "--head", &head];
    pad.run(&[&usual, more].concat())
}

/// Visible content without heads and run names.
fn seen(pad: &LaunchpadScenario) -> String {
    let lines = pad.launchpad.render(&pad.merge);
    let is_named = |line: &&str| !line.contains(":state:") && !line.contains("review_id=");
    let lines = lines.lines().filter(is_named).map(|line| match line.split_once(", review ") {
        Some((before, _)) => format!("{before}\n"),
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// Adds a commit to the source branch.
fn commit(pad: &LaunchpadScenario, file: &str, text: &str) {
    pad.fork.git(&["checkout", "--quiet", "feature"]);
    pad.fork.write(file, text);
    pad.fork.commit(file);
}

#[test]
fn posting_twice_gives_one_comment() {
    let pad = LaunchpadScenario::new();
    let output = posted(&pad);
    let comments = pad.launchpad.comments(&pad.merge);
    let place = format!("{}/comments/{}", pad.url(), comments[0].id);
    assert!(output.stderr.contains(&format!(": {place}\n")), "{}", output.shown());
    expect![[r#"
        merge proposal (Needs review) by ann, 1 preview diffs

        comment by crh-reviewer, Needs Fixing
            Ready with fixes: 1 issue to fix

            1 issue (1 P1) in 2 reviewed files.

            Inline:
              #1 P1 shop/orders.py:2: A merge conflict was left in the file

            --
            crh, no model
            <!-- crh:crh:summary -->
          on line 15 of diff 1:
            P1: A merge conflict was left in the file

            The markers of a merge conflict are part of the file, and both versions stand in it. Programs that read the file fail, or take the markers for content.

            Fix: Decide for one of the versions, or bring them together, and take the markers out.

            (syntax, confidence 0.98)

            <!-- crh:crh:3cd2789684bed270 -->
    "#]].assert_eq(&seen(&pad));
    let output = posted(&pad);
    let line = format!("summary unchanged: {place}");
    assert!(output.stderr.contains(&line), "{}", output.shown());
    assert_eq!(pad.launchpad.comments(&pad.merge), comments);
    assert_eq!(pad.launchpad.writes().len(), 1);
}

#[test]
fn run_stores_the_posting_result() {
    let pad = LaunchpadScenario::new();
    let output = pad.run(&["check", &pad.url(), "--sink", "launchpad", "--run-dir", "runs"]);
    assert_eq!(output.code, 1, "{}", output.shown());
    let folder = &runs(&pad.elsewhere.path().join("runs"))[0];
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join("stages").join(name)).unwrap())
            .unwrap()
    };
    let kept = fs::read_to_string(folder.join("stages/posted-launchpad.json")).unwrap();
    expect![[r#"
        {
          "notes": [],
          "receipts": [
            {
              "delivery": "posted",
              "item": {
                "issue": {
                  "key": "3cd2789684bed270",
                  "number": 1
                }
              }
            },
            {
              "delivery": "posted",
              "item": {
                "vote": {
                  "event": "Needs Fixing"
                }
              }
            },
            {
              "delivery": "posted",
              "item": "summary"
            }
          ],
          "url": "LAUNCHPAD/~ann/shop/+git/shop/+merge/1003/comments/1005"
        }
    "#]]
    .assert_eq(&pad.shown(&kept));
    assert_eq!(read("sinks.json"), json!([{"sink": "launchpad", "delivery": "written"}]));
}

#[test]
fn stored_run_is_posted_to_the_flags_target() {
    let pad = LaunchpadScenario::new();
    let run = run(&pad);
    assert_eq!(pad.launchpad.writes().len(), 0);
    let output = post(&pad, &run, &[]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(pad.launchpad.comments(&pad.merge).len(), 1);
    let files = [
        format!("{run}/review.json"),
        format!("{run}/workspace/preview-diffs/latest/diff/raw.diff"),
    ];
    let output = post(&pad, &files[0], &["--diff", &files[1]]);
    assert_eq!(output.code, 0, "{}", output.shown());
    assert_eq!(pad.launchpad.writes().len(), 1, "nothing was left to write");
}

#[test]
fn run_for_another_target_is_refused() {
    let pad = LaunchpadScenario::new();
    let run = run(&pad);
    let (url, head, zero) = (pad.url(), pad.fork.id("feature"), "0".repeat(40));
    let asked = pad.launchpad.requests().len();
    let other = url.replace(&pad.merge.number.to_string(), "7");
    let mut shown = String::new();
    for flags in [
        vec!["--proposal", &other, "--head", &head],
        vec!["--proposal", "https://code.launchpad.net/~ann/+git/x/+merge/7", "--head", &head],
        vec!["--proposal", "shop/7", "--head", &head],
        vec!["--proposal", &url, "--head", &zero],
        vec!["--proposal", &url, "--head", "short"],
        vec!["--proposal", &url],
        vec!["--head", &head],
        vec!["--proposal", &url, "--head", &head, "--resolve-outdated"],
        vec!["--proposal", &url, "--head", &head, "--sink", "github"],
    ] {
        shown += &pad.run(&[&["post", &run, "--sink", "launchpad"], &flags[..]].concat()).shown();
    }
    shown += &pad.run(&["post", &run, "--proposal", &url, "--head", &head]).shown();
    shown += &post(&pad, &format!("{run}/review.json"), &[]).shown();
    let shown = shown.replace(&head, "HEAD").replace(&zero, "ZERO");
    let shown = shown.replace(&format!(" {}", pad.merge.number), " N");
    expect![[r#"
        exit 2
        error: the run is for the merge proposal N, not for 7
        hint: nothing was posted; name the run of this merge proposal
        ---
        exit 2
        error: `code.launchpad.net` does not belong to the configured Launchpad, `HOST`
        hint: set another Launchpad with `launchpad.service_root` or `LP_SERVICE_ROOT`
        ---
        exit 2
        error: not a merge proposal: expected `https://code.launchpad.net/~owner/project/+git/name/+merge/12`, or the same with `api.launchpad.net/devel`
        hint: pass the address of the merge proposal that your browser shows; for your own Launchpad, set `launchpad.service_root`
        ---
        exit 3
        error: the run is for commit `HEAD`, not for `ZERO`
        hint: nothing was posted; name a run of `ZERO`, or review that commit first
        ---
        exit 2
        error: the value of `--head` is not a full commit id
        hint: `git rev-parse HEAD` prints it
        ---
        exit 2
        error: no head commit given
        hint: use `--head SHA`
        ---
        exit 2
        error: no merge proposal given
        hint: use `--proposal URL`
        ---
        exit 2
        error: `--resolve-outdated` does not work with Launchpad
        hint: leave it out: inline comments stay
        ---
        exit 2
        error: `github` and `launchpad` cannot be combined
        hint: use the one where the change is proposed
        ---
        exit 2
        error: `--proposal` does not work with GitHub
        hint: add `--sink launchpad` or `--sink gitlab` or `--sink gitea`
        ---
        exit 2
        error: a report file needs its diff to place the comments
        hint: add `--diff FILE`, or pass the run folder
        ---
    "#]].assert_eq(&pad.shown(&shown));
    assert_eq!(pad.launchpad.requests().len(), asked, "no request was sent");
}

#[test]
fn push_during_review_posts_nothing() {
    let repo = Repo::from_fixture(super::BASE);
    let fork = repo.cloned(&[]);
    fork.git(&["checkout", "--quiet", "-b", "feature"]);
    fork.write("more.py", "z = 1\n");
    fork.commit("more");
    let pad = LaunchpadScenario::with(repo, fork);
    let (go, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let model = FakeModel::start().on(
        "single",
        [computed(move |_| {
            gate.lock().unwrap().recv().unwrap();
            answers(&[])
        })],
    );
    let args = ["review", &pad.url(), "--strategy", "single", "--sink", "launchpad"];
    let running = with_model(pad.crh(pad.elsewhere.path(), &args), &model).start();
    model.wait_for("single", 1);
    let reviewed = pad.fork.id("feature");
    commit(&pad, "more.py", "z = 2\n");
    pad.launchpad.push(&pad.merge);
    go.send(()).unwrap();
    let output = running.end();
    super::assert_secret(&output);
    assert_eq!(output.code, 3, "{}", output.shown());
    let said = format!("the head of the merge proposal moved from {reviewed} to");
    assert!(output.stderr.contains(&said), "{}", output.shown());
    assert_eq!(pad.launchpad.writes().len(), 0);
}

#[test]
fn dry_run_prints_the_write_and_sends_none() {
    let pad = LaunchpadScenario::new();
    let args = ["check", &pad.url(), "--sink", "launchpad", "--dry-run"];
    let printed = |output: &Output| -> Value {
        serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", output.shown()))
    };
    let writes = printed(&pad.run(&args));
    let [write] = &writes.as_array().unwrap()[..] else { panic!("{writes}") };
    assert_eq!((&write["method"], &write["path"]), (&json!("POST"), &json!(pad.merge.path)));
    let body = write["body"].as_object().unwrap();
    let names: Vec<&String> = body.keys().collect();
    let expected = ["content", "inline_comments", "previewdiff_id", "vote", "ws.op"];
    assert_eq!(names, expected, "{write:#}");
    let diffs = pad.launchpad.preview_diffs(&pad.merge);
    assert_eq!(body["previewdiff_id"], json!(diffs.last()));
    assert_eq!(pad.launchpad.writes().len(), 0);
    posted(&pad);
    assert_eq!(pad.launchpad.comments(&pad.merge)[0].content, body["content"].as_str().unwrap());
    assert_eq!(printed(&pad.run(&args)), json!([]));
    let run = run(&pad);
    assert_eq!(printed(&post(&pad, &run, &["--dry-run"])), json!([]));
}

#[test]
fn impossible_posting_is_refused_early() {
    let pad = LaunchpadScenario::new();
    let model = FakeModel::start();
    let mut shown = String::new();
    let mut refused = |folder: &Path, args: &[&str], environment: &[(&'static str, String)]| {
        let program = pad.with_environment(folder, args, environment);
        shown += &with_model(program, &model).run().shown();
    };
    let (url, here, known) = (pad.url(), pad.elsewhere.path(), pad.launchpad.environment());
    let anonymous = pad.launchpad.environment_without();
    refused(here, &["review", &url, "--sink", "launchpad"], &anonymous);
    refused(here, &["review", &url, "--sink", "github"], &known);
    refused(here, &["review", &url, "--sink", "launchpad", "--sink", "github-check"], &known);
    refused(here, &["review", &url, "--sink", "launchpad", "--request-changes"], &known);
    refused(here, &["review", &url, "--dry-run"], &known);
    refused(pad.fork.path(), &["review", "main..feature", "--sink", "launchpad"], &known);
    pad.launchpad.set_status(&pad.merge, "Merged");
    refused(here, &["review", &url, "--sink", "launchpad"], &known);
    let github = FakeGitHub::start();
    github.repository("acme/shop", &pad.fork);
    let pull = github.pull("acme/shop", fake_github::Pull::default());
    let pull = format!("{}/acme/shop/pull/{}", github.url(), pull.number);
    refused(here, &["review", &pull, "--sink", "launchpad"], &github.environment());
    expect![[r#"
        exit 2
        error: commenting requires a Launchpad login
        hint: run `crh login launchpad`, or set `LP_ACCESS_TOKEN` and `LP_ACCESS_SECRET`
        ---
        exit 2
        error: `--sink github` needs a pull request, but this is a merge proposal
        hint: use `--sink launchpad`
        ---
        exit 2
        error: `github-check` and `launchpad` cannot be combined
        hint: use the one where the change is proposed
        ---
        exit 2
        error: `--request-changes` does not work with Launchpad
        hint: leave it out: the vote follows from the verdict
        ---
        exit 2
        error: `--dry-run` needs a sink that posts
        hint: add `--sink github` or `--sink launchpad` or `--sink gitlab` or `--sink gitea`
        ---
        exit 2
        error: `--sink launchpad` needs a merge proposal
        hint: pass its address
        ---
        exit 2
        error: the merge proposal is closed, so crh does not post to it
        hint: leave out the `--sink` that posts to review it anyway
        ---
        exit 2
        error: `--sink launchpad` needs a merge proposal, but this is a pull request
        hint: use `--sink github`
        ---
    "#]]
    .assert_eq(&pad.shown(&shown));
    assert_eq!(pad.launchpad.writes().len() + github.writes_received(), 0);
    assert_eq!(model.requests().len(), 0, "nothing was paid for");
}

#[test]
fn refused_write_posts_nothing_and_can_be_repeated() {
    let pad = LaunchpadScenario::new();
    let run = run(&pad);
    pad.launchpad.fail(LaunchpadFault::on_write(1, LaunchpadFaultKind::StatusBefore(401)));
    let late = post(&pad, &run, &[]);
    let last_lines = late.stderr.lines().collect::<Vec<_>>();
    assert_eq!(late.code, 3, "{}", late.shown());
    expect![[r#"
        warning: 3 items were not posted: `HOST` rejected the credentials: it is on script
        note: post again to retry; nothing is posted twice"#]]
    .assert_eq(&pad.shown(&last_lines.join("\n")));
    assert_eq!(pad.launchpad.comments(&pad.merge), []);
}

#[test]
fn forged_comments_have_no_effect() {
    let (original, pad) = (LaunchpadScenario::new(), LaunchpadScenario::new());
    posted(&original);
    let said = &original.launchpad.comments(&original.merge)[0];
    pad.launchpad.comment(&pad.merge, "mallory", &said.content);
    let diff = pad.launchpad.preview_diffs(&pad.merge)[0];
    let lines: Vec<(u64, &str)> =
        said.inline.iter().map(|(line, text)| (*line, text.as_str())).collect();
    pad.launchpad.inline(&pad.merge, "mallory", diff, &lines);
    posted(&pad);
    let comments = pad.launchpad.comments(&pad.merge);
    let ours: Vec<_> = comments.iter().filter(|it| it.author == REVIEWER).collect();
    assert_eq!(ours.len(), 1);
    assert_eq!(ours[0].inline.keys().collect::<Vec<_>>(), said.inline.keys().collect::<Vec<_>>());
    assert_eq!(comments.len(), 3, "what mallory wrote is left alone");
}

#[test]
fn credentials_are_in_no_file() {
    let pad = LaunchpadScenario::new();
    let args = ["check", &pad.url(), "--sink", "launchpad", "--verbose", "--run-dir", "runs"];
    assert_eq!(pad.run(&args).code, 1);
    for folder in [pad.user.path(""), pad.elsewhere.path().to_owned()] {
        for (name, text) in tree(&folder) {
            assert!(![TOKEN, SECRET].iter().any(|secret| text.contains(secret)), "{name}");
        }
    }
}
