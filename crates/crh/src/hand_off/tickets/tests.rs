use std::time::Duration;

use serde_json::json;

use super::super::sinks::TicketCommand;
use super::super::tests_support::{issue, report};
use super::*;
use crh_forge::ForgeRetryPolicy;
use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost, ReplyCache, Repo,
};
use crh_forge::tracker::{GitHubIssues, Linear, LinearAccount};
use crh_http::NetworkSettings;
use crh_testkit::FakeGitHub;
use crh_testkit::fake_github::TOKEN;
use crh_testkit::fake_trackers::{FakeTracker, LINEAR_KEY, PROJECT, TrackerFault};

fn github() -> FakeGitHub {
    let repo = crh_testkit::Repo::new();
    repo.write("a", "a\n");
    repo.commit("base");
    let github = FakeGitHub::start();
    github.repository("acme/shop", &repo);
    github
}

fn at_github(github: &FakeGitHub) -> Sink {
    let urls = (github.url(), github.api_url(), github.graphql_url());
    let host = GitHubHost::from_variables(Some(&urls.0), Some(&urls.1), Some(&urls.2)).unwrap();
    let setup = GitHubClientConfig {
        host,
        credentials: GitHubCredentials::Token(TOKEN.into()),
        cache: ReplyCache::disabled(),
        retry: ForgeRetryPolicy {
            first_wait: Duration::from_millis(1),
            ..ForgeRetryPolicy::default()
        },
        now: Environment::clock,
        seed: 7,
    };
    let client = GitHubClient::new(&NetworkSettings::default(), setup).unwrap();
    Sink::GitHub(GitHubIssues::with_client(client, Repo::parse("acme/shop").unwrap()))
}

fn at_linear(fake: &FakeTracker, key: &str) -> Sink {
    let base = fake.url().parse().unwrap();
    let account = LinearAccount { base, key: key.into(), team: PROJECT.to_owned() };
    Sink::Linear(Linear::new(&NetworkSettings::default(), account).unwrap())
}

fn by_command(script: &str) -> Sink {
    let arguments = vec!["-c".to_owned(), script.to_owned()];
    Sink::Command(TicketCommand { program: "sh".to_owned(), arguments, withheld: Vec::new() })
}

fn tickets(
    chain: impl IntoIterator<Item = Sink>,
    named: Option<(Tracker, DetectionConfidence)>,
) -> Tickets {
    let named = named.map(|(tracker, confidence)| DetectedTracker { tracker, confidence });
    let chain = chain.into_iter().collect();
    Tickets::with_chain(chain, Vec::new(), named, "crh".to_owned(), Redactor::new(&[]))
}

fn linear_for_sure() -> Option<(Tracker, DetectionConfidence)> {
    Some((Tracker::Linear, DetectionConfidence::High))
}

#[test]
fn certain_and_reachable_tracker_is_named() {
    let (linear, github) = (FakeTracker::linear(), github());
    let chain = |key: &str| [at_linear(&linear, key), at_github(&github)];
    let named = TrackerLabel::Named("Linear".to_owned());
    assert_eq!(tickets(chain(LINEAR_KEY), linear_for_sure()).label(), &named);
    let guessed = Some((Tracker::Linear, DetectionConfidence::Low));
    assert_eq!(tickets(chain(LINEAR_KEY), guessed).label(), &TrackerLabel::Generic);
    assert_eq!(tickets(chain("bad"), linear_for_sure()).label(), &TrackerLabel::Generic);
    assert_eq!(tickets([at_github(&github)], None).label(), &TrackerLabel::Generic);
    assert_eq!(tickets([by_command("true")], None).label(), &TrackerLabel::Generic);
    let own = Some((Tracker::Command, DetectionConfidence::High));
    assert_eq!(tickets([by_command("true")], own).label(), &TrackerLabel::Generic);
    github.disable_issues("acme/shop");
    let nowhere = TrackerLabel::None(
        "Linear rejected the key: Authentication required; the issue list of `acme/shop` was not \
         found: missing, disabled, or not visible with this key"
            .to_owned(),
    );
    assert_eq!(tickets(chain("bad"), linear_for_sure()).label(), &nowhere);
    let unknown = TrackerLabel::None(
        "no issue tracker is configured or named in the documentation".to_owned(),
    );
    assert_eq!(tickets([], None).label(), &unknown);
}

#[test]
fn each_tracker_is_checked_once_when_needed() {
    let (linear, github) = (FakeTracker::linear(), github());
    let mut tickets =
        tickets([at_linear(&linear, LINEAR_KEY), at_github(&github)], linear_for_sure());
    assert_eq!(linear.requests(), ["query Probe"]);
    assert_eq!(github.requests().len(), 0);
    tickets.label();
    tickets.fall_back();
    assert_eq!(linear.requests().len(), 1);
    assert_eq!(github.requests().len(), 1);
}

#[test]
fn failed_tracker_is_not_used_again() {
    let (linear, github) = (FakeTracker::linear(), github());
    let mut tickets = tickets(
        [at_linear(&linear, LINEAR_KEY), at_github(&github), by_command("echo SHOP-1")],
        linear_for_sure(),
    );
    let report = report(vec![issue(1, json!({})), issue(2, json!({}))]);
    linear.fail(TrackerFault::StatusBefore(503));
    let why = tickets.file(&report.issues[0], &report).unwrap_err();
    assert_eq!(why.0, "cannot tell whether Linear created the ticket: status 503");
    assert!(tickets.has_next());
    assert_eq!(tickets.fall_back(), Some(&TrackerLabel::Generic));
    for _ in 0..2 {
        for issue in &report.issues {
            tickets.file(issue, &report).unwrap();
        }
    }
    assert_eq!((linear.tickets().len(), github.issues("acme/shop").len()), (0, 2));
    assert_eq!(tickets.fall_back(), Some(&TrackerLabel::Generic));
    let third = issue(3, json!({}));
    assert_eq!(tickets.file(&third, &report).unwrap().url, "SHOP-1");
    assert!(!tickets.has_next());
    assert_eq!(tickets.fall_back(), None);
    let nowhere = "Linear failed; GitHub failed; `tracker.command` failed";
    assert_eq!(tickets.label(), &TrackerLabel::None(nowhere.to_owned()));
    let fourth = issue(4, json!({}));
    assert!(tickets.file(&fourth, &report).is_err());
}

#[test]
fn command_gets_each_issue_once_without_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let script = format!("cat >> '{}'; echo SHOP-1", log.display());
    let chain = VecDeque::from([by_command(&script)]);
    let secret = "sk-this-is-a-key-0123456789".to_owned();
    let redactor = Redactor::new(&[secret.clone().into()]);
    let mut tickets = Tickets::with_chain(chain, Vec::new(), None, "crh".to_owned(), redactor);
    let issue = issue(1, json!({"title": secret, "why_it_matters": format!("It has {secret}.")}));
    let report = report(vec![issue.clone()]);
    let filed = |was_there| FiledTicket { url: "SHOP-1".to_owned(), already_filed: was_there };
    assert_eq!(tickets.file(&issue, &report), Ok(filed(false)));
    assert_eq!(tickets.file(&issue, &report), Ok(filed(true)));
    let told = fs::read_to_string(log).unwrap();
    assert_eq!(told.lines().count(), 1);
    assert!(!told.contains(&secret), "{told}");
}

#[test]
fn only_known_texts_of_a_checkout_are_read() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("AGENTS.md", "agents");
    write("README.md", &"r".repeat(TEXT_MAX as usize + 1));
    write(".github/ISSUE_TEMPLATE/bug.yml", "bug");
    write("src/notes.md", "notes");
    std::os::unix::fs::symlink("/etc/hostname", root.path().join("CLAUDE.md")).unwrap();
    let found: Vec<(TextKind, usize)> =
        texts(root.path()).into_iter().map(|text| (text.kind, text.text.len())).collect();
    let readme = (TextKind::Page, TEXT_MAX as usize);
    assert_eq!(found, [(TextKind::Instructions, 6), readme, (TextKind::Page, 3)]);
}
