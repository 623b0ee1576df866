//! Pull requests that crh skips. A review that is skipped, limited or not posted never passes and
//! always says so.

use expect_test::expect;

use super::{GitHubScenario, NAME, SHOP};
use crate::review::script::answers;
use crate::review::with_model;
use crh_testkit::fake_github::{Permission, Pull};
use crh_testkit::{FakeModel, Output, Repo};

/// `crh check` of a pull request with these arguments, in CI.
fn in_ci(hub: &GitHubScenario, args: &[&str]) -> Output {
    let url = hub.url();
    let args = [&["check", &url, "--run-dir", "runs"], args].concat();
    hub.crh(hub.elsewhere.path(), &args).env("CI", "true").run()
}

/// A GitHub where `main` has these settings and a pull request changes them.
fn with_settings(settings: &str, pull: Pull) -> GitHubScenario {
    let repo = Repo::from_fixture(SHOP);
    repo.write("crh.toml", settings);
    repo.commit("settings");
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("shop/orders.py", "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n");
    repo.write("crh.toml", "[github]\ndrafts = \"review\"\nbots = \"review\"\nskip_labels = []\n");
    repo.commit("a change that wants to be reviewed");
    let mut hub = GitHubScenario::with(repo);
    hub.pull = hub.github.pull(NAME, pull);
    hub
}

/// Output and exit code in CI.
fn said(settings: &str, pull: Pull) -> String {
    let hub = with_settings(settings, pull);
    let output = in_ci(&hub, &["--sink", "github"]);
    let is_skipped = output.code == 4;
    assert_eq!(hub.github.writes_received() == 0, is_skipped, "{}", output.shown());
    assert_eq!(hub.elsewhere.path().join("runs").is_dir(), !is_skipped, "nothing is left");
    let line = output.stderr.lines().find(|line| line.starts_with("error"));
    format!("exit {}: {}\n", output.code, line.unwrap_or("reviewed"))
}

#[test]
fn skip_rules_of_base_branch_apply() {
    let draft = || Pull { draft: true, ..Pull::default() };
    let bot = || Pull { author: "renovate[bot]".to_owned(), ..Pull::default() };
    let labelled = |label: &str| Pull { labels: vec![label.to_owned()], ..Pull::default() };
    let nothing = "";
    let review = "[github]\ndrafts = \"review\"\nbots = \"review\"\nskip_labels = []\n";
    let labels = "[github]\nskip_labels = [\"wip\"]\nonly_labels = [\"ready\"]\n";
    let mut shown = String::new();
    for (settings, pull) in [
        (nothing, Pull::default()),
        (nothing, draft()),
        (nothing, bot()),
        (nothing, labelled("CRH:skip")),
        (review, draft()),
        (review, bot()),
        (review, labelled("crh:skip")),
        (labels, labelled("crh:skip")),
        (labels, labelled("wip")),
        (labels, labelled("Ready")),
    ] {
        shown += &said(settings, pull);
    }
    expect![[r#"
        exit 1: reviewed
        exit 4: error: the pull request is not reviewed: it is a draft (`github.drafts`)
        exit 4: error: the pull request is not reviewed: it is by the bot `renovate[bot]` (`github.bots`)
        exit 4: error: the pull request is not reviewed: it has the label `CRH:skip` (`github.skip_labels`)
        exit 1: reviewed
        exit 1: reviewed
        exit 1: reviewed
        exit 4: error: the pull request is not reviewed: it has none of the labels `ready` (`github.only_labels`)
        exit 4: error: the pull request is not reviewed: it has the label `wip` (`github.skip_labels`)
        exit 1: reviewed
    "#]].assert_eq(&shown);
}

#[test]
fn skip_rules_do_not_apply_at_a_terminal() {
    let hub = GitHubScenario::new();
    hub.github.make_draft(&hub.pull);
    let at_terminal = hub.crh(hub.elsewhere.path(), &["check", &hub.url()]).run();
    assert_eq!(at_terminal.code, 1, "{}", at_terminal.shown());
    let skipped = in_ci(&hub, &[]);
    expect![[r#"
        exit 4
        error: the pull request is not reviewed: it is a draft (`github.drafts`)
        hint: use `--no-skip` to review it anyway
        ---
    "#]]
    .assert_eq(&skipped.shown());
    let asked = in_ci(&hub, &["--no-skip", "--sink", "github"]);
    assert_eq!(asked.code, 1, "{}", asked.shown());
    assert_eq!(hub.github.comments(&hub.pull).len(), 1);
}

#[test]
fn skipped_pull_request_passes_only_if_configured() {
    let hub = GitHubScenario::new();
    hub.github.make_draft(&hub.pull);
    let allowed = in_ci(&hub, &["--allow-incomplete"]);
    expect![[r#"
        exit 0
        warning: the pull request is not reviewed: it is a draft (`github.drafts`)
        ---
    "#]]
    .assert_eq(&allowed.shown());
    let pack = hub.user.path("pull.tar");
    let args = ["prepare", &hub.url(), "--pack", pack.to_str().unwrap()];
    let prepared = hub.crh(hub.elsewhere.path(), &args).env("CI", "true").run();
    assert_eq!((prepared.code, pack.exists()), (4, false), "{}", prepared.shown());
}

#[test]
fn closed_pull_request_is_reviewed_but_not_posted_to() {
    let hub = GitHubScenario::new();
    hub.github.close(&hub.pull);
    let output = in_ci(&hub, &["--sink", "github"]);
    assert_eq!(output.code, 2, "{}", output.shown());
    assert!(output.stderr.contains("is closed"), "{}", output.stderr);
    assert_eq!(hub.github.writes_received(), 0);
    assert_eq!(in_ci(&hub, &[]).code, 1);
}

#[test]
fn failed_posting_fails_the_review() {
    let hub = GitHubScenario::new();
    let may = [Permission::ReadPulls, Permission::Contents];
    hub.github.token("ghp_readsOnly0123456789", "person", &may);
    let environment = hub.github.environment_with("ghp_readsOnly0123456789");
    let url = hub.url();
    let args = ["check", &url, "--sink", "github", "--fail-on", "never"];
    let output =
        hub.with_environment(hub.elsewhere.path(), &args, &environment).env("CI", "1").run();
    assert_eq!(output.code, 3, "{}", output.shown());
    assert!(output.stderr.contains("cannot deliver the report to `github`"), "{}", output.stderr);
    assert!(output.stderr.contains("found but not posted"), "{}", output.stderr);
    assert_eq!(hub.github.comments(&hub.pull).len(), 0);
}

#[test]
fn limited_review_never_passes_and_says_so() {
    let repo = Repo::from_fixture(SHOP);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("shop/orders.py", "def total(items):\n    return sum(items)\n");
    repo.commit("nothing that a check would find");
    let hub = GitHubScenario::with(repo);
    hub.github.token("ghs_app0123456789", "actions[bot]", &Permission::ALL);
    let environment = hub.github.environment_with("ghs_app0123456789");
    let url = hub.url();
    let sinks = ["--sink", "github", "--sink", "github-check", "--allow-approve"];
    let args = [&["review", &url], &sinks[..]].concat();
    // Without a model nothing is reviewed.
    let output =
        hub.with_environment(hub.elsewhere.path(), &args, &environment).env("CI", "1").run();
    assert_eq!(output.code, 4, "{}", output.shown());
    let shown = hub.github.render(&hub.pull);
    assert!(shown.contains("Incomplete") && !shown.contains("APPROVED"), "{shown}");
    assert_eq!(hub.github.check_runs(NAME)[0]["conclusion"], "failure");
}

/// A pull request whose head has an approval of crh, and the arguments of a review that may approve.
fn approved() -> (GitHubScenario, FakeModel, Vec<String>) {
    let repo = Repo::from_fixture(SHOP);
    repo.git(&["checkout", "--quiet", "-b", "feature"]);
    repo.write("shop/orders.py", "def total(items):\n    return sum(items)\n");
    repo.commit("nothing that a check would find");
    let hub = GitHubScenario::with(repo);
    let model = FakeModel::answering(|_| answers(&[]));
    let url = hub.url();
    let args = ["review", &url, "--strategy", "single", "--analysers", "never"];
    let args = [&args[..], &["--sink", "github", "--allow-approve"]].concat();
    let args: Vec<String> = args.into_iter().map(str::to_owned).collect();
    let output = review(&hub, &model, &args, &[]);
    assert_eq!((output.code, is_approved(&hub)), (0, true), "{}", output.shown());
    (hub, model, args)
}

fn review(hub: &GitHubScenario, model: &FakeModel, args: &[String], more: &[&str]) -> Output {
    let args: Vec<&str> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
    with_model(hub.crh(hub.elsewhere.path(), &args), model).env("CI", "1").run()
}

fn is_approved(hub: &GitHubScenario) -> bool {
    hub.github.render(&hub.pull).contains("APPROVED")
}

/// Pushes something that must not be approved. Returns the new head.
fn push_malware(hub: &GitHubScenario) -> String {
    hub.repo.git(&["checkout", "--quiet", "feature"]);
    hub.repo.write("shop/orders.py", "<<<<<<< HEAD\nx = 1\n=======\nx = 2\n>>>>>>> other\n");
    let head = hub.repo.commit("malware");
    hub.github.push(&hub.pull);
    head
}

/// The author gets an approval for a harmless head and then pushes something that crh does not
/// review.
#[test]
fn approval_does_not_survive_a_push_that_is_not_reviewed() {
    let (hub, model, args) = approved();
    assert_eq!(review(&hub, &model, &args, &[]).code, 0);
    assert!(is_approved(&hub), "the same head keeps its approval");
    push_malware(&hub);
    hub.github.make_draft(&hub.pull);
    let tried = review(&hub, &model, &args, &["--dry-run"]);
    assert_eq!((tried.code, is_approved(&hub)), (4, true), "a dry run writes nothing");
    let skipped = review(&hub, &model, &args, &[]);
    assert_eq!((skipped.code, is_approved(&hub)), (4, false), "{}", skipped.shown());
    assert!(skipped.stderr.contains("withdrew crh's approval"), "{}", skipped.stderr);
    assert_eq!(hub.github.surprises(), Vec::<String>::new());
}

/// Where review and posting are two jobs, the second one has no run if the first one failed.
#[test]
fn posting_without_a_run_withdraws_the_approval_of_an_older_head() {
    let (hub, _model, _) = approved();
    let (head, number) = (push_malware(&hub), hub.pull.number.to_string());
    let args = ["post", "--run-dir", "none", "--repo", NAME, "--pr", &number, "--head", &head];
    let post = |more: &[&str]| hub.crh(hub.elsewhere.path(), &[&args, more].concat()).run();
    assert_eq!((post(&["--allow-approve", "--dry-run"]).code, is_approved(&hub)), (2, true));
    let output = post(&["--allow-approve"]);
    assert_eq!((output.code, is_approved(&hub)), (2, false), "{}", output.shown());
}
