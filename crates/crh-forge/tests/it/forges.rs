//! The same promises on all forges: read, post, post twice, new push, forged markers, fork, renamed
//! file, moved head, a kill at every write, 5,000 comments.

mod hostile_texts;

use std::time::Duration;

use serde_json::json;

use crate::launchpad_scene::{FORK, SHOP, network};
use crate::scene::{INSTANCE, QUICK, issue, now};
use crh_forge::github::post::GitHubPoster;
use crh_forge::github::{
    GitHubClient, GitHubClientConfig, GitHubCredentials, GitHubHost, PullRequestRef, ReplyCache,
};
use crh_forge::launchpad::post::LaunchpadPoster;
use crh_forge::launchpad::{
    LaunchpadClient, LaunchpadClientConfig, LaunchpadCredentials, LaunchpadService,
    MergeProposalRef,
};
use crh_forge::posting::{
    AllowedVotes, ForgePoster, ItemDelivery, PostingDelays, PostingOptions, PostingOutcome,
    PostingRefusal, ReviewBasis, ReviewPosting, plan_withdrawals, post_review, send_withdrawal,
};
use crh_forge::rest::{RestChangeRef, RestClient, RestClientConfig, RestPoster};
use crh_forge::{ChangeProposal, ForgeError, ForgeName, github, launchpad};
use crh_review::diff::Diff;
use crh_review::report::{Report, Strategy};
use crh_review::verdict::Verdict;
use crh_testkit::fake_forge::{
    Change, ChangeHandle, Dialect, FakeForge, Fault, FaultKind, HoldPoint, TOKEN, WriteHold,
};
use crh_testkit::fake_github::{Pull, PullHandle, TOKEN as GITHUB_TOKEN};
use crh_testkit::fake_launchpad::{
    CONSUMER, LaunchpadFault, LaunchpadFaultKind, Merge, MergeHandle, SECRET,
    TOKEN as LAUNCHPAD_TOKEN,
};
use crh_testkit::{FakeGitHub, FakeLaunchpad, Repo, runs_all_cases, tries_case};

const NO_WAITS: PostingDelays =
    PostingDelays { rereads: [Duration::ZERO; 3], between_writes: Duration::ZERO };

/// How long a test waits for a write: several times what a slow machine needs.
const PATIENCE: Duration = Duration::from_secs(60);

const KINDS: [ForgeName; 4] = ForgeName::ALL;

/// Where the source branch is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Same,
    Fork,
}

enum Forge {
    GitHub(FakeGitHub, PullHandle),
    Launchpad(FakeLaunchpad, MergeHandle),
    Rest(FakeForge, ChangeHandle),
}

struct ForgeScene {
    kind: ForgeName,
    repo: Repo,
    forge: Forge,
}

fn lines(from: u32, to: u32) -> String {
    (from..=to).map(|line| format!("    line({line});\n")).collect()
}

impl ForgeScene {
    /// A change that adds `a.rs` with sixty lines, changes line 5 of `b.rs`, and renames `c.rs` to
    /// `d.rs` with a change in line 20.
    fn new(kind: ForgeName, source: Source) -> Self {
        let repo = Repo::new();
        repo.write("b.rs", lines(1, 40));
        repo.write("c.rs", lines(1, 40));
        repo.commit("base");
        repo.git(&["switch", "--quiet", "-c", "feature"]);
        repo.write("a.rs", lines(1, 60));
        repo.write("b.rs", lines(1, 40).replace("line(5)", "line(five)"));
        repo.git(&["mv", "c.rs", "d.rs"]);
        repo.write("d.rs", lines(1, 40).replace("line(20)", "line(twenty)"));
        repo.commit("change");
        let forge = match kind {
            ForgeName::GitHub => {
                let github = FakeGitHub::start();
                github.repository("acme/shop", &repo);
                let pull = match source {
                    Source::Same => Pull::default(),
                    Source::Fork => {
                        github.fork("ann/shop", "acme/shop", &repo);
                        Pull { head: "ann:feature".to_owned(), ..Pull::default() }
                    }
                };
                let pull = github.pull("acme/shop", pull);
                Forge::GitHub(github, pull)
            }
            ForgeName::Launchpad => {
                let launchpad = FakeLaunchpad::start();
                launchpad.repository(SHOP, &repo).repository(FORK, &repo);
                let source = match source {
                    Source::Same => SHOP,
                    Source::Fork => FORK,
                };
                let merge =
                    launchpad.propose(Merge { source: source.to_owned(), ..Merge::default() });
                Forge::Launchpad(launchpad, merge)
            }
            ForgeName::GitLab => rest(Dialect::GitLab, "/gitlab", "acme/web/shop", source, &repo),
            ForgeName::Gitea => rest(Dialect::Gitea, "", "acme/shop", source, &repo),
        };
        Self { kind, repo, forge }
    }

    fn push(&self) {
        match &self.forge {
            Forge::GitHub(github, pull) => github.push(pull),
            Forge::Launchpad(launchpad, merge) => launchpad.push(merge),
            Forge::Rest(forge, change) => forge.push(change),
        }
    }

    /// Head, repository and number, as a report names them.
    fn names(&self) -> (String, String, String) {
        match &self.forge {
            Forge::GitHub(github, pull) => {
                (github.head(pull), pull.repository.clone(), pull.number.to_string())
            }
            Forge::Launchpad(launchpad, merge) => {
                (launchpad.head(merge), SHOP.to_owned(), merge.number.to_string())
            }
            Forge::Rest(forge, change) => {
                (forge.head(change), change.repository.clone(), change.number.to_string())
            }
        }
    }

    /// A review of the head with issues at these lines.
    fn review(&self, id: &str, locations: &[(&str, u32)]) -> Report {
        let mut report = Report {
            review_id: id.to_owned(),
            strategy: Strategy::Single,
            verdict: Verdict::ReadyWithFixes,
            verdict_reason: "issues to fix".to_owned(),
            ..Report::default()
        };
        (report.change.head_sha, report.change.repo, report.change.pr_number) = self.names();
        let numbered = |(number, (file, line)): (usize, &(&str, u32))| {
            let key = format!("{:08x}{line:08x}", u32::from(file.as_bytes()[0]));
            issue(number, &key, &format!("Trouble {file} {line}"), file, *line)
        };
        report.issues = (1..).zip(locations).map(numbered).collect();
        report
    }

    async fn post(&self, report: &Report) -> PostingOutcome {
        match &self.forge {
            Forge::GitHub(..) => {
                let (client, pull_ref) = self.github();
                let poster = GitHubPoster { client: &client, pull_ref: &pull_ref };
                self.post_with(&poster, report).await
            }
            Forge::Launchpad(..) => {
                let (client, proposal_ref) = self.launchpad();
                let poster = LaunchpadPoster { client: &client, proposal_ref: &proposal_ref };
                self.post_with(&poster, report).await
            }
            Forge::Rest(..) => {
                let (client, change) = self.rest(TOKEN);
                let poster = RestPoster { client: &client, change: &change };
                self.post_with(&poster, report).await
            }
        }
    }

    async fn post_with(&self, poster: &impl ForgePoster, report: &Report) -> PostingOutcome {
        let diff = Diff::read(self.repo.git(&["diff", "main...feature"]));
        let posting = ReviewPosting {
            report,
            diff: &diff,
            head_lines: &|path| {
                let text = std::fs::read_to_string(self.repo.path().join(path)).ok()?;
                Some(text.lines().map(str::to_owned).collect())
            },
            mask: &str::to_owned,
            instance: INSTANCE,
            web: "https://forge.example",
            basis: &ReviewBasis::default(),
            carried_issues: None,
            options: PostingOptions {
                resolve_outdated: true,
                votes: AllowedVotes { approve: true, ..AllowedVotes::default() },
                ..PostingOptions::default()
            },
        };
        let outcome = Box::pin(post_review(poster, &posting, &NO_WAITS)).await.unwrap();
        assert_eq!(self.surprises(), Vec::<String>::new(), "{:?}", self.kind);
        outcome
    }

    /// Withdraws approvals of older heads. Returns the results of the writes.
    async fn withdraw(&self) -> Vec<bool> {
        match &self.forge {
            Forge::GitHub(..) => {
                let (client, pull_ref) = self.github();
                withdraw_with(&GitHubPoster { client: &client, pull_ref: &pull_ref }).await
            }
            Forge::Launchpad(..) => {
                let (client, proposal_ref) = self.launchpad();
                let poster = LaunchpadPoster { client: &client, proposal_ref: &proposal_ref };
                withdraw_with(&poster).await
            }
            Forge::Rest(..) => {
                let (client, change) = self.rest(TOKEN);
                withdraw_with(&RestPoster { client: &client, change: &change }).await
            }
        }
    }

    /// Whether crh's account approves.
    fn is_approved(&self) -> bool {
        match &self.forge {
            Forge::GitHub(github, pull) => github.render(pull).contains("APPROVED"),
            Forge::Launchpad(launchpad, merge) => {
                let mut votes = launchpad.comments(merge).into_iter().filter_map(|it| it.vote);
                votes.next_back().is_some_and(|vote| vote == "Approve")
            }
            Forge::Rest(forge, change) => !forge.approvals(change).is_empty(),
        }
    }

    async fn read(&self) -> Result<ChangeProposal, ForgeError> {
        let proposal = match &self.forge {
            Forge::GitHub(..) => {
                let (client, pull_ref) = self.github();
                Box::pin(github::read::pull_request(&client, &pull_ref, INSTANCE)).await?.0
            }
            Forge::Launchpad(..) => {
                let (client, proposal_ref) = self.launchpad();
                Box::pin(launchpad::read::merge_proposal(&client, &proposal_ref)).await?.0
            }
            Forge::Rest(..) => {
                let (client, change) = self.rest(TOKEN);
                change.forge.read(&client, &change, INSTANCE).await?.0
            }
        };
        Ok(proposal)
    }

    fn github(&self) -> (GitHubClient, PullRequestRef) {
        let Forge::GitHub(github, pull) = &self.forge else { panic!("not GitHub") };
        let (server, api, graphql) = (github.url(), github.api_url(), github.graphql_url());
        let host = GitHubHost::from_variables(Some(&server), Some(&api), Some(&graphql)).unwrap();
        let config = GitHubClientConfig {
            host: host.clone(),
            credentials: GitHubCredentials::Token(GITHUB_TOKEN.into()),
            cache: ReplyCache::disabled(),
            retry: QUICK,
            now,
            seed: 7,
        };
        let repo = github::Repo::parse(&pull.repository).unwrap();
        let client = GitHubClient::new(&network(), config).unwrap();
        (client, PullRequestRef { host, repo, number: pull.number })
    }

    fn launchpad(&self) -> (LaunchpadClient, MergeProposalRef) {
        let Forge::Launchpad(launchpad, merge) = &self.forge else { panic!("not Launchpad") };
        let service = LaunchpadService::parse(&launchpad.url()).unwrap();
        let credentials = LaunchpadCredentials::new(CONSUMER, LAUNCHPAD_TOKEN, &SECRET.into());
        let config = LaunchpadClientConfig {
            service: service.clone(),
            credentials: credentials.unwrap(),
            retry: QUICK,
            now,
            seed: 7,
        };
        let url = format!("{}/{merge}", launchpad.url());
        let client = LaunchpadClient::new(&network(), config).unwrap();
        (client, MergeProposalRef::parse(&url, &service).unwrap())
    }

    fn rest(&self, token: &str) -> (RestClient, RestChangeRef) {
        let Forge::Rest(forge, change) = &self.forge else { panic!("no REST forge") };
        let rest = self.kind.rules().rest().unwrap();
        let host = rest.rest_profile().host(&forge.url()).unwrap();
        let change = RestChangeRef::parse(rest, &forge.change_url(change), Some(&host), None);
        let token = Some(rest.rest_profile().token(token.into()));
        let config = RestClientConfig { host, token, retry: QUICK, now, seed: 7 };
        (RestClient::new(&network(), config).unwrap(), change.unwrap())
    }

    fn surprises(&self) -> Vec<String> {
        match &self.forge {
            Forge::GitHub(github, _) => github.surprises(),
            Forge::Launchpad(launchpad, _) => launchpad.surprises(),
            Forge::Rest(forge, _) => forge.surprises(),
        }
    }

    fn writes(&self) -> usize {
        match &self.forge {
            Forge::GitHub(github, _) => github.writes_received(),
            Forge::Launchpad(launchpad, _) => {
                launchpad.requests().iter().filter(|request| request.method == "POST").count()
            }
            Forge::Rest(forge, _) => forge.writes_received(),
        }
    }

    /// Author and text of all comments, general and inline, sorted, without saved states and
    /// addresses.
    fn content(&self) -> Vec<String> {
        let mut content: Vec<String> = match &self.forge {
            Forge::GitHub(github, pull) => {
                let comments = github.comments(pull).into_iter().map(|it| (it.author, it.body));
                let threads = github.threads(pull).into_iter().flat_map(|thread| thread.comments);
                let threads = threads.map(|it| (it.author.clone(), it.body.clone()));
                comments.chain(threads).map(|(author, body)| format!("{author}: {body}")).collect()
            }
            Forge::Launchpad(launchpad, merge) => {
                let comments = launchpad.comments(merge).into_iter();
                let texts = comments.flat_map(|comment| {
                    let inline = comment.inline.into_values();
                    let texts: Vec<String> =
                        std::iter::once(comment.content).chain(inline).collect();
                    texts.into_iter().map(move |text| format!("{}: {text}", comment.author))
                });
                texts.collect()
            }
            Forge::Rest(forge, change) => {
                let threads = forge.threads(change).into_iter().flat_map(|thread| thread.comments);
                let comments = forge.comments(change).into_iter().chain(threads);
                comments.map(|comment| format!("{}: {}", comment.author, comment.body)).collect()
            }
        };
        for text in &mut content {
            let is_stable = |line: &&str| !line.contains(":state:") && !line.contains("://");
            *text = text.lines().filter(is_stable).collect::<Vec<_>>().join("\n");
        }
        // Launchpad keeps inline comments in a comment without text.
        content.retain(|text| !text.ends_with(": "));
        content.sort();
        content
    }

    /// Number of comments whose text contains a word.
    fn count(&self, word: &str) -> usize {
        self.content().iter().filter(|text| text.contains(word)).count()
    }

    /// Adds a general comment and an inline comment of another account.
    fn forge_comments(&self, summary: &str, inline: &str) {
        match &self.forge {
            Forge::GitHub(github, pull) => {
                github.comment(pull, "mallory", summary);
                github.thread(pull, "mallory", ("a.rs", 10), inline);
            }
            Forge::Launchpad(launchpad, merge) => {
                launchpad.comment(merge, "mallory", summary);
                let diff = launchpad.preview_diffs(merge)[0];
                launchpad.inline(merge, "mallory", diff, &[(15, inline)]);
            }
            Forge::Rest(forge, change) => {
                forge.comment(change, "mallory", summary);
                forge.thread(change, "mallory", ("a.rs", 10), inline);
            }
        }
    }

    fn fail(&self, write: usize, kind: FaultKind) {
        match &self.forge {
            Forge::GitHub(github, _) => drop(github.fail(Fault::on_write(write, kind))),
            Forge::Launchpad(launchpad, _) => {
                let kind = match kind {
                    FaultKind::CutBefore => LaunchpadFaultKind::CutBefore,
                    FaultKind::CutAfter => LaunchpadFaultKind::CutAfter,
                    FaultKind::StatusAfter(status) => LaunchpadFaultKind::StatusAfter(status),
                    _ => LaunchpadFaultKind::StatusBefore(502),
                };
                launchpad.fail(LaunchpadFault::on_write(write, kind));
            }
            Forge::Rest(forge, _) => drop(forge.fail(Fault::on_write(write, kind))),
        }
    }

    fn hold(&self, write: usize, moment: HoldPoint) -> WriteHold {
        match &self.forge {
            Forge::GitHub(github, _) => github.hold_write(write, moment),
            Forge::Launchpad(launchpad, _) => launchpad.hold_write(write, moment),
            Forge::Rest(forge, _) => forge.hold_write(write, moment),
        }
    }

    /// Pushes a change of line 20 of `a.rs`.
    fn push_fix(&self) {
        self.repo.write("a.rs", lines(1, 60).replace("line(20)", "line(twenty)"));
        self.repo.commit("fix");
        self.push();
    }
}

async fn withdraw_with(poster: &impl ForgePoster) -> Vec<bool> {
    let state = poster.read_state(INSTANCE).await.unwrap();
    let writes = plan_withdrawals(poster.rules(), INSTANCE, &state);
    let mut results = Vec::new();
    for write in &writes {
        results.push(Box::pin(send_withdrawal(poster, write)).await.is_ok());
    }
    results
}

fn rest(dialect: Dialect, below: &str, name: &str, source: Source, repo: &Repo) -> Forge {
    let forge = FakeForge::start_below(dialect, below);
    forge.repository(name, repo);
    let change = match source {
        Source::Same => Change::default(),
        Source::Fork => {
            forge.fork("ann/shop", name, repo);
            Change { source: "ann/shop".to_owned(), ..Change::default() }
        }
    };
    let change = forge.change(name, change);
    Forge::Rest(forge, change)
}

const FIRST: &str = "0123456789abcdef";
const SECOND: &str = "fedcba9876543210";

#[tokio::test]
async fn change_is_read_from_every_forge() {
    for kind in KINDS {
        for source in [Source::Same, Source::Fork] {
            let scene = ForgeScene::new(kind, source);
            let proposal = scene.read().await.unwrap();
            let (head, repo, number) = scene.names();
            assert_eq!((proposal.repo, proposal.number), (repo.clone(), number), "{kind:?}");
            assert_eq!(proposal.source.commit, head, "{kind:?}");
            assert_eq!(proposal.source.branch, "feature", "{kind:?}");
            assert_eq!(proposal.source.repo == Some(repo), source == Source::Same, "{kind:?}");
            assert!(proposal.open, "{kind:?}");
            assert_eq!(proposal.rounds.last().unwrap().head, head, "{kind:?}");
        }
    }
}

#[tokio::test]
async fn review_is_posted_once_at_the_right_lines() {
    for kind in KINDS {
        for source in [Source::Same, Source::Fork] {
            let scene = ForgeScene::new(kind, source);
            // Line 20 of the renamed file is changed; line 30 of `b.rs` is not in the diff.
            let report =
                scene.review(FIRST, &[("a.rs", 10), ("a.rs", 20), ("d.rs", 20), ("b.rs", 30)]);
            let outcome = scene.post(&report).await;
            assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
            let posted = |delivery: &ItemDelivery| *delivery == ItemDelivery::Posted;
            let posted = outcome.receipts.iter().filter(|it| posted(&it.delivery)).count();
            // Three comments and the summary; Launchpad also votes.
            assert_eq!(
                posted,
                if kind == ForgeName::Launchpad { 5 } else { 4 },
                "{kind:?} {outcome:?}"
            );
            let (content, writes) = (scene.content(), scene.writes());
            assert_eq!(content.len(), 4, "{kind:?} {content:#?}");
            let outcome = scene.post(&report).await;
            assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
            assert_eq!((scene.content(), scene.writes()), (content, writes), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn new_push_gets_only_new_comments() {
    for kind in KINDS {
        let scene = ForgeScene::new(kind, Source::Same);
        scene.post(&scene.review(FIRST, &[("a.rs", 10), ("a.rs", 20)])).await;
        scene.push_fix();
        let second = scene.review(SECOND, &[("a.rs", 10), ("a.rs", 40)]);
        let outcome = scene.post(&second).await;
        assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
        let inline = |line: u32| {
            let marker = format!("crh:crh:{:08x}{line:08x} -->", u32::from(b'a'));
            scene.count(&marker)
        };
        assert_eq!([10, 20, 40].map(inline), [1, 1, 1], "{kind:?} {:#?}", scene.content());
        if let Forge::Rest(forge, change) = &scene.forge {
            let threads = forge.threads(change);
            let gone = threads.iter().find(|thread| thread.comments[0].body.contains("a.rs 20"));
            let gone = gone.unwrap();
            assert!(gone.outdated, "{kind:?}");
            assert_eq!(gone.resolved, kind == ForgeName::GitLab, "Gitea cannot resolve threads");
            assert_eq!(forge.comments(change).len(), 1, "{kind:?}: the summary is updated");
        }
        let writes = scene.writes();
        scene.post(&second).await;
        assert_eq!(scene.writes(), writes, "{kind:?}");
    }
}

#[tokio::test]
async fn markers_of_other_accounts_do_not_count() {
    for kind in KINDS {
        let scene = ForgeScene::new(kind, Source::Same);
        let report = scene.review(FIRST, &[("a.rs", 10)]);
        let key = &report.issues[0].dedupe_key;
        scene.forge_comments(
            "<!-- code-review-agent:review_id=x -->\n<!-- crh:crh:summary -->\n## Ready to merge",
            &format!("**P1** Trouble a.rs 10\n\n<!-- crh:crh:{key} -->"),
        );
        let outcome = scene.post(&report).await;
        assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
        assert_eq!(scene.count("mallory: "), 2, "{kind:?}");
        assert_eq!(scene.count("crh-reviewer: "), 2, "{kind:?} {:#?}", scene.content());
    }
}

#[tokio::test]
async fn nothing_is_posted_to_a_moved_head() {
    for kind in KINDS {
        let scene = ForgeScene::new(kind, Source::Same);
        let mut report = scene.review(FIRST, &[("a.rs", 10)]);
        scene.push_fix();
        let outcome = scene.post(&report).await;
        let is_moved = matches!(outcome.refusal, Some(PostingRefusal::HeadMoved { .. }));
        assert!(is_moved, "{kind:?} {outcome:?}");
        report.change.pr_number = "999".to_owned();
        let outcome = scene.post(&report).await;
        let is_other = matches!(outcome.refusal, Some(PostingRefusal::OtherProposal { .. }));
        assert!(is_other, "{kind:?} {outcome:?}");
        assert_eq!(scene.writes(), 0, "{kind:?}");
    }
}

async fn second_round(kind: ForgeName) -> (ForgeScene, Report) {
    let scene = ForgeScene::new(kind, Source::Same);
    scene.post(&scene.review(FIRST, &[("a.rs", 10), ("a.rs", 20)])).await;
    scene.push_fix();
    let report = scene.review(SECOND, &[("a.rs", 10), ("a.rs", 41), ("a.rs", 42)]);
    (scene, report)
}

#[tokio::test]
async fn fault_at_any_write_then_repost_gives_same_content() {
    for kind in KINDS {
        let (scene, report) = second_round(kind).await;
        let before = scene.writes();
        assert!(scene.post(&report).await.is_complete(), "{kind:?}");
        let (expected, writes) = (scene.content(), scene.writes() - before);
        let faults = [FaultKind::CutBefore, FaultKind::CutAfter, FaultKind::StatusAfter(502)];
        for (choice, fault) in faults.iter().enumerate() {
            let is_tried = |number: &usize| tries_case(*number, choice, faults.len());
            for number in (1..=writes).filter(is_tried) {
                let (scene, report) = second_round(kind).await;
                scene.fail(before + number, fault.clone());
                scene.post(&report).await;
                let outcome = scene.post(&report).await;
                assert!(outcome.is_complete(), "{kind:?} {fault:?} at {number}: {outcome:?}");
                assert_eq!(scene.content(), expected, "{kind:?} {fault:?} at {number}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn posting_killed_at_any_write_can_be_repeated() {
    for kind in KINDS {
        let (scene, report) = second_round(kind).await;
        let before = scene.writes();
        scene.post(&report).await;
        let (expected, writes) = (scene.content(), scene.writes() - before);
        for (choice, moment) in [HoldPoint::Before, HoldPoint::After].into_iter().enumerate() {
            for number in (1..=writes).filter(|number| tries_case(*number, choice, 2)) {
                let (scene, report) = second_round(kind).await;
                let hold = scene.hold(before + number, moment);
                let (held, hold) = {
                    let waiting = tokio::task::spawn_blocking(move || (hold.wait(PATIENCE), hold));
                    tokio::select! {
                        _ = scene.post(&report) => panic!("write {number} was not held"),
                        held = waiting => held.unwrap(),
                    }
                };
                assert!(held);
                hold.release();
                let outcome = scene.post(&report).await;
                assert!(outcome.is_complete(), "{kind:?} {moment:?} at {number}: {outcome:?}");
                assert_eq!(scene.content(), expected, "{kind:?} {moment:?} at {number}");
            }
        }
    }
}

#[tokio::test]
async fn own_comments_are_found_among_five_thousand() {
    for kind in KINDS {
        let scene = ForgeScene::new(kind, Source::Same);
        let report = scene.review(FIRST, &[("a.rs", 10)]);
        scene.post(&report).await;
        for number in 0..5_000 {
            let text = format!("Comment {number}.");
            match &scene.forge {
                Forge::GitHub(github, pull) => drop(github.comment(pull, "ann", &text)),
                Forge::Launchpad(launchpad, merge) => drop(launchpad.comment(merge, "ann", &text)),
                Forge::Rest(forge, change) => drop(forge.comment(change, "ann", &text)),
            }
        }
        let writes = scene.writes();
        let outcome = scene.post(&report).await;
        assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
        assert_eq!(scene.writes(), writes, "{kind:?}");
        assert!(scene.read().await.unwrap().comments.len() >= 5_000, "{kind:?}");
    }
}

/// A fix of three lines: what the comment says where a forge has ranges or suggestions.
#[tokio::test]
async fn range_and_suggestion_are_posted_in_the_syntax_of_the_forge() {
    for kind in KINDS {
        let scene = ForgeScene::new(kind, Source::Same);
        let mut report = scene.review(FIRST, &[("a.rs", 12)]);
        let issue = &mut report.issues[0];
        issue.location.line_start = 10;
        issue.replacement = Some(lines(10, 12).replace("line(11)", "line(eleven)"));
        let outcome = scene.post(&report).await;
        assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
        let content = scene.content();
        let comment = content
            .iter()
            .find(|text| text.contains("Trouble a.rs 12 ") || text.contains("eleven"));
        let comment = comment.map(String::as_str).unwrap_or_default();
        let fence = |fence: &str| comment.lines().any(|line| line.ends_with(fence));
        let is_at = |path: &str, line: u32| match &scene.forge {
            Forge::Rest(forge, change) => {
                let thread = &forge.threads(change)[0];
                (thread.path.as_str(), thread.new_line) == (path, Some(line))
            }
            Forge::GitHub(..) | Forge::Launchpad(..) => true,
        };
        match kind {
            ForgeName::GitHub => assert!(fence("```suggestion"), "{comment}"),
            ForgeName::GitLab => {
                assert!(fence("```suggestion:-2+0"), "{comment}");
                let Forge::Rest(forge, _) = &scene.forge else { panic!("no REST forge") };
                let requests = forge.requests();
                let range = requests.iter().map(|it| &it.body["position"]["line_range"]);
                let range = range.into_iter().find(|range| range.is_object()).unwrap();
                let ends = [&range["start"]["new_line"], &range["end"]["new_line"]];
                assert_eq!(ends, [&json!(10), &json!(12)]);
                assert!(is_at("a.rs", 12));
            }
            ForgeName::Gitea | ForgeName::Launchpad => {
                assert!(!comment.contains("```suggestion"), "{kind:?} {comment}");
                assert!(comment.contains("line(eleven)"), "{kind:?} {content:#?}");
            }
        }
    }
}

#[tokio::test]
async fn approval_is_given_once_and_withdrawn() {
    for kind in [ForgeName::GitLab, ForgeName::Gitea] {
        let scene = ForgeScene::new(kind, Source::Same);
        let Forge::Rest(forge, change) = &scene.forge else { panic!("no REST forge") };
        let ready = Report { verdict: Verdict::ReadyToMerge, ..scene.review(FIRST, &[]) };
        for _ in 0..2 {
            let outcome = scene.post(&ready).await;
            assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
            assert_eq!(forge.approvals(change), ["crh-reviewer"], "{kind:?} {outcome:?}");
        }
        let votes = |it: &&crh_testkit::fake_forge::Exchange| {
            it.path.ends_with("/approve") || it.body["event"] == "APPROVED"
        };
        assert_eq!(forge.requests().iter().filter(votes).count(), 1, "{kind:?}");
        scene.push_fix();
        scene.post(&scene.review(SECOND, &[("a.rs", 10)])).await;
        assert_eq!(forge.approvals(change), Vec::<String>::new(), "{kind:?}");
    }
}

/// A push that crh cannot review must not keep the approval of the head before it.
#[tokio::test]
async fn approval_of_an_older_head_is_withdrawn() {
    for kind in KINDS {
        for fault in [None, Some(FaultKind::CutAfter)] {
            let scene = ForgeScene::new(kind, Source::Fork);
            let ready = |id| Report { verdict: Verdict::ReadyToMerge, ..scene.review(id, &[]) };
            assert!(scene.post(&ready(FIRST)).await.is_complete(), "{kind:?}");
            assert!(scene.is_approved(), "{kind:?}");
            assert_eq!(scene.withdraw().await, [false; 0], "{kind:?}: the head is approved");
            assert!(scene.is_approved(), "{kind:?}");
            scene.push_fix();
            // A lost reply is reported. The next review sees that the approval is gone.
            let is_confirmed = fault.is_none();
            if let Some(fault) = fault {
                scene.fail(scene.writes() + 1, fault);
            }
            assert_eq!(scene.withdraw().await, [is_confirmed], "{kind:?}");
            assert!(!scene.is_approved(), "{kind:?}");
            assert_eq!(scene.withdraw().await, [false; 0], "{kind:?}: nothing is left");
            let outcome = scene.post(&ready(SECOND)).await;
            assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
            assert!(scene.is_approved(), "{kind:?}: the new head is approved {outcome:?}");
            assert_eq!(scene.withdraw().await, [false; 0], "{kind:?}");
            assert_eq!(scene.surprises(), Vec::<String>::new(), "{kind:?}");
        }
    }
}

#[tokio::test]
async fn ci_results_and_linked_issues_are_read() {
    let scene = ForgeScene::new(ForgeName::GitLab, Source::Same);
    let Forge::Rest(forge, change) = &scene.forge else { panic!("no REST forge") };
    forge.pipeline(change, &[("unit", "success")]);
    forge.pipeline(change, &[("unit", "failed"), ("lint", "success")]);
    forge.closes_issue(change, 3, "Totals are wrong", "They are zero.");
    let proposal = scene.read().await.unwrap();
    let checks = proposal.checks.iter().map(|it| (it.name.as_str(), it.state.as_str()));
    assert_eq!(checks.collect::<Vec<_>>(), [("lint", "success"), ("unit", "failed")]);
    assert_eq!(proposal.checks[1].summary.as_deref(), Some("script_failure"));
    let issues = proposal.linked_issues.iter().map(|it| (it.id.as_str(), it.body.as_str()));
    assert_eq!(issues.collect::<Vec<_>>(), [("acme/web/shop#3", "They are zero.")]);
    // A pipeline of an older head says nothing about this one.
    scene.push_fix();
    assert!(scene.read().await.unwrap().checks.is_empty());
}

#[tokio::test]
async fn refused_position_moves_one_issue_to_the_summary() {
    for kind in [ForgeName::GitLab, ForgeName::Gitea] {
        let scene = ForgeScene::new(kind, Source::Same);
        let Forge::Rest(forge, change) = &scene.forge else { panic!("no REST forge") };
        forge.fail(Fault::bad_line("a.rs", 17));
        let report = scene.review(FIRST, &[("a.rs", 10), ("a.rs", 17), ("a.rs", 20)]);
        let outcome = scene.post(&report).await;
        assert!(outcome.is_complete(), "{kind:?} {outcome:?}");
        assert_eq!(forge.threads(change).len(), 2, "{kind:?}");
        assert!(forge.comments(change)[0].body.contains("Trouble a.rs 17"), "{kind:?}");
        let writes = scene.writes();
        scene.post(&report).await;
        assert_eq!(scene.writes(), writes, "{kind:?}: what was refused is known");
    }
}

#[tokio::test]
async fn rest_forges_report_limits_versions_and_hidden_projects() {
    for kind in [ForgeName::GitLab, ForgeName::Gitea] {
        let scene = ForgeScene::new(kind, Source::Same);
        let Forge::Rest(forge, change) = &scene.forge else { panic!("no REST forge") };
        let limited = FaultKind::SecondaryLimit { retry_after: Some(0) };
        forge.fail(Fault::on("GET", "*", limited).times(2));
        assert!(scene.read().await.is_ok(), "{kind:?}: rate limits are waited out");
        forge.fail(Fault::on("GET", "*", FaultKind::StatusBefore(503)).times(2));
        assert!(scene.read().await.is_ok(), "{kind:?}: reads are repeated");
        forge.token("stranger-token", "stranger").hide(&change.repository);
        let (client, stranger) = scene.rest("stranger-token");
        let error = stranger.forge.read(&client, &stranger, INSTANCE).await.map(|_| ());
        assert!(matches!(error, Err(ForgeError::NotFound { .. })), "{kind:?} {error:?}");
        forge.set_version("1.2.3");
        let error = scene.read().await.unwrap_err().to_string();
        assert!(error.contains("1.2.3; crh needs"), "{error}");
        forge.set_version("12.0.0+gitea-1.22.0");
        assert_eq!(scene.read().await.is_ok(), kind == ForgeName::Gitea, "a version of Forgejo");
    }
}
