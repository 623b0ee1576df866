//! Reading a merge proposal: one burst, and everything in it.

use std::time::Duration;

use expect_test::{expect, expect_file};

use crate::launchpad_scene::{FORK, LaunchpadScene, SHOP};
use crate::scene::{QUICK, now};
use crh_forge::launchpad::{Client, Credentials, Name, Service, Setup, Standing, read};
use crh_forge::{ForgeError, Proposal};
use crh_http::{Network, Timeouts};
use crh_testkit::fake_launchpad::{CONSUMER, Fault, How, Merge, REVIEWER, SECRET, TOKEN};

async fn read(scene: &LaunchpadScene) -> Result<(Proposal, Standing), ForgeError> {
    // On a task of its own, which not every future can be.
    let (client, name) = (scene.client(), scene.name());
    let read = tokio::spawn(async move { read::proposal(&client, &name).await }).await.unwrap();
    assert_eq!(scene.launchpad.surprises(), Vec::<String>::new());
    read
}

/// Everything of a proposal as a text that does not change from run to run; diffs by their lines.
fn shown(scene: &LaunchpadScene, proposal: &Proposal) -> String {
    let mut proposal = proposal.clone();
    let mut diffs = String::new();
    for round in &mut proposal.rounds {
        let text = round.diff.take().unwrap_or_default();
        diffs += &format!("diff {}:\n{}\n", round.id, String::from_utf8_lossy(&text));
    }
    let mut text = format!("{proposal:#?}\n{diffs}").replace(&scene.launchpad.url(), "URL");
    for (at, commit) in scene
        .repo
        .git(&["rev-list", "--reverse", "--topo-order", "--all"])
        .split(|byte| *byte == b'\n')
        .enumerate()
    {
        if !commit.is_empty() {
            text = text.replace(std::str::from_utf8(commit).unwrap(), &format!("COMMIT{at}"));
        }
    }
    text.lines()
        .filter(|line| !line.starts_with("index "))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[tokio::test]
async fn three_rounds_are_read_with_what_was_said_in_each() {
    let scene = LaunchpadScene::new();
    let (launchpad, merge) = (&scene.launchpad, &scene.merge);
    let round = |at: usize| launchpad.preview_diffs(merge)[at];
    launchpad.comment(merge, "ben", "In the first.");
    launchpad.inline(merge, "ben", round(0), &[(10, "Why?"), (1, "A header.")]);
    scene.push("FIVE", &[]);
    launchpad.comment(merge, "cas", "In the second.");
    launchpad.inline(merge, REVIEWER, round(1), &[(10, "Loud.")]);
    launchpad.inline(merge, "ben", round(0), &[(10, "Late.")]);
    scene.push("five!", &[("naïve \"x\".py", "a\n")]);
    launchpad.vote(merge, "ben", "Approve", "In the third.");
    launchpad.inline(merge, "cas", round(2), &[(7, "A new file.")]);
    launchpad.link_bug(merge, "Five is a number", "It should not be.");
    let head = launchpad.head(merge);
    launchpad.report(FORK, &head, "test", "Failed").report(FORK, &head, "lint", "Succeeded");
    let (proposal, standing) = read(&scene).await.unwrap();
    expect_file!["../data/launchpad_proposal.txt"].assert_eq(&shown(&scene, &proposal));
    assert_eq!(standing.viewer.as_deref(), Some(REVIEWER));
    assert_eq!(standing.round.as_ref().map(|it| it.id), Some(round(2)));
    assert_eq!(standing.round.unwrap().diff, launchpad.diff_text(merge).into_bytes());
    assert_eq!(standing.inline.len(), 5);
    // The same state gives the same value.
    assert_eq!(read(&scene).await.unwrap().0, proposal);
}

#[tokio::test]
async fn two_hundred_comments_come_over_several_pages() {
    let scene = LaunchpadScene::new();
    for number in 0..200 {
        scene.launchpad.comment(&scene.merge, "ben", &format!("comment {number}"));
    }
    let (proposal, _) = read(&scene).await.unwrap();
    let texts: Vec<&str> = proposal.comments.iter().map(|it| it.content.as_str()).collect();
    let expected: Vec<String> = (0..200).map(|number| format!("comment {number}")).collect();
    assert_eq!(texts, expected);
    let pages = scene.launchpad.requests();
    assert_eq!(pages.iter().filter(|it| it.path.ends_with("/all_comments")).count(), 3);
}

#[tokio::test]
async fn rounds_come_over_several_pages() {
    let scene = LaunchpadScene::new();
    for five in ["FIVE", "five!", "5.0", "v"] {
        scene.push(five, &[]);
    }
    scene.launchpad.pages_of(2);
    let (proposal, standing) = read(&scene).await.unwrap();
    let ids = proposal.rounds.iter().map(|round| round.id.parse::<u64>().unwrap());
    assert_eq!(ids.collect::<Vec<_>>(), scene.launchpad.preview_diffs(&scene.merge));
    assert_eq!((proposal.notes, standing.unread), (vec![], vec![]));
    let pages = scene.launchpad.requests();
    assert_eq!(pages.iter().filter(|it| it.path.ends_with("/preview_diffs")).count(), 3);
}

#[tokio::test]
async fn a_list_of_rounds_without_end_is_read_from_the_newest_on_and_that_is_said() {
    let scene = LaunchpadScene::new();
    scene.launchpad.push_again(&scene.merge, 100);
    scene.launchpad.pages_of(1);
    let (proposal, standing) = read(&scene).await.unwrap();
    let newest = scene.launchpad.preview_diffs(&scene.merge).last().unwrap().to_string();
    assert_eq!(proposal.rounds.last().map(|round| &round.id), Some(&newest));
    assert_eq!(proposal.notes[0], "There are more preview diffs than are read.");
    assert_eq!(standing.unread, ["preview diffs"]);
}

#[tokio::test]
async fn everything_is_asked_for_at_once() {
    let scene = LaunchpadScene::new();
    // The proposal, its rounds, comments, votes and bugs, and who asks: none of them has to wait for another.
    let gathering = scene.launchpad.gather(6);
    read(&scene).await.unwrap();
    assert!(gathering.is_complete(), "one after another");
}

#[tokio::test]
async fn a_host_that_says_nothing_is_not_waited_for_without_end() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let service = Service::named(&format!("http://{address}")).unwrap();
    let credentials = Credentials::anonymous();
    let setup = Setup { service: service.clone(), credentials, retry: QUICK, now, seed: 7 };
    let silence = Duration::from_millis(50);
    let timeouts = Timeouts { first_byte: silence, idle: silence, ..Timeouts::default() };
    let client = Client::new(&Network { timeouts, ..Network::default() }, setup).unwrap();
    let url = format!("http://{address}/~ann/shop/+git/shop/+merge/1");
    let name = Name::parse(&url, &service).unwrap();
    let error = read::proposal(&client, &name).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unreachable { .. }), "{error}");
    assert!(error.to_string().ends_with("nothing came for 0.05 s"), "{error}");
}

#[tokio::test]
async fn a_branch_that_is_gone_is_known_by_its_last_diff_or_not_at_all() {
    let scene = LaunchpadScene::new();
    let head = scene.repo.id("feature");
    let unseen = scene.launchpad.propose_unseen(Merge {
        source: FORK.to_owned(),
        branch: "gone/soon".to_owned(),
        ..Merge::default()
    });
    scene.repo.git(&["switch", "--quiet", "main"]);
    scene.repo.git(&["branch", "--quiet", "-D", "feature"]);
    scene.launchpad.refresh(FORK);
    let (proposal, _) = read(&scene).await.unwrap();
    assert_eq!(proposal.source.commit, head);
    let name = Name { number: unseen.number, ..scene.name() };
    let error = read::proposal(&scene.client(), &name).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the answer to `GET {unseen}` cannot be read: its source branch `gone/soon` is gone, and Launchpad has no diff of it"
        )
    );
}

#[tokio::test]
async fn a_diff_that_is_older_than_the_branch_is_said() {
    let scene = LaunchpadScene::new();
    scene.repo.write("orders.py", "other\n");
    let head = scene.repo.commit("unseen");
    scene.launchpad.refresh(FORK);
    let (proposal, standing) = read(&scene).await.unwrap();
    assert_eq!((&proposal.source.commit, proposal.rounds.len()), (&head, 1));
    assert_ne!(standing.round.unwrap().head, head);
    assert_eq!(proposal.notes, ["Launchpad's newest diff is older than the head of the branch."]);
}

#[tokio::test]
async fn what_is_public_is_read_by_nobody_in_particular() {
    let scene = LaunchpadScene::new();
    let client = scene.client_as(Credentials::anonymous());
    let (proposal, standing) = read::proposal(&client, &scene.name()).await.unwrap();
    assert_eq!((proposal.title.as_str(), standing.viewer), ("Spell out five", None));
    scene.launchpad.make_private(SHOP);
    let error = read::proposal(&client, &scene.name()).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    assert!(read(&scene).await.is_ok(), "whoever has a token sees it");
}

#[tokio::test]
async fn failures_are_told_with_what_launchpad_says() {
    let mut lines = String::new();
    for (credentials, how, times) in [
        (Credentials::new(CONSUMER, TOKEN, &"wrong".into()).unwrap(), None, 0),
        (Credentials::new(CONSUMER, "unknown", &SECRET.into()).unwrap(), None, 0),
        (Credentials::anonymous(), Some(How::StatusBefore(503)), 9),
        (Credentials::anonymous(), Some(How::CutBefore), 9),
        (Credentials::anonymous(), Some(How::StatusBefore(503)), 2),
        (Credentials::anonymous(), Some(How::StatusBefore(404)), 1),
    ] {
        let scene = LaunchpadScene::new();
        if let Some(how) = how {
            // What is asked for once, so that the number of the last OOPS is always the same.
            let path = format!("/devel/{}/all_comments", scene.merge);
            scene.launchpad.fail(Fault::on("GET", &path, how).times(times));
        }
        let read = read::proposal(&scene.client_as(credentials), &scene.name()).await;
        let line = read.map_or_else(|error| error.to_string(), |(it, _)| it.title);
        let line = line.replace(scene.service().name(), "HOST").replace(&scene.merge.path, "MERGE");
        // A library says why a connection was cut, and may choose other words.
        let line = match line.split_once("could not be asked: ") {
            Some((host, why)) if !why.starts_with("it answers") => {
                format!("{host}could not be asked: …")
            }
            Some(_) | None => line,
        };
        // Several are asked for at once: whose number is told is a matter of chance.
        lines += line.trim_end_matches(|it: char| it.is_ascii_digit());
        lines += "\n";
    }
    expect![[r#"
        `HOST` does not accept the token: Invalid signature
        `HOST` does not accept the token: Unknown access token ([redacted])
        `HOST` could not be asked: it answers with status 503 (Service Unavailable), OOPS-fake
        `HOST` could not be asked: …
        Spell out five
        `GET MERGE/all_comments` is not there, or the token cannot see it
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn what_a_review_can_do_without_is_noted() {
    let scene = LaunchpadScene::new();
    let fails = |path: &str| {
        scene.launchpad.fail(Fault::on("GET", path, How::StatusBefore(503)).times(99));
    };
    fails("*/votes");
    fails("*/bugs");
    fails("*/diff_text");
    let (proposal, standing) = read(&scene).await.unwrap();
    assert_eq!((proposal.notes.len(), standing.round), (3, None), "{:?}", proposal.notes);
}

#[tokio::test]
async fn the_header_goes_to_no_other_host() {
    let scene = LaunchpadScene::new();
    read(&scene).await.unwrap();
    let asked = scene.launchpad.librarian_requests();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].header("authorization"), None);
    let signed = scene.launchpad.requests();
    assert!(
        signed
            .iter()
            .all(|it| it.header("authorization").is_some_and(|it| it.contains("PLAINTEXT")))
    );
    // Neither where the service sends us, nor where a list says that it goes on.
    let elsewhere = format!("{}/1/x", scene.launchpad.librarian_url());
    scene.launchpad.fail(Fault::on("GET", "*/+me", How::Redirect(elsewhere)));
    let error = read(&scene).await.unwrap_err();
    assert!(error.to_string().contains("another host"), "{error}");
    assert!(
        scene.launchpad.librarian_requests().iter().all(|it| it.header("authorization").is_none())
    );
    let insecure = "http://librarian.example/1/x".to_owned();
    scene.launchpad.fail(Fault::on("GET", "*/diff_text", How::Redirect(insecure)));
    let (proposal, _) = read(&scene).await.unwrap();
    assert!(proposal.notes[0].contains("not `https`"), "{:?}", proposal.notes);
}

#[tokio::test]
async fn a_proposal_of_bazaar_is_none_of_ours() {
    let scene = LaunchpadScene::new();
    let bazaar = scene.launchpad.propose_bazaar("~ann/shop/fix", "~acme/shop/trunk");
    let url = format!("{}/{bazaar}", scene.launchpad.url());
    let error = Name::parse(&url, &scene.service()).unwrap_err();
    assert!(error.to_string().contains("Bazaar"), "{error}");
    // And one that pretends to be of git.
    let name =
        Name { repository: "~ann/shop/fix".to_owned(), number: bazaar.number, ..scene.name() };
    let error = read::proposal(&scene.client(), &name).await.unwrap_err();
    assert!(error.to_string().contains("Bazaar"), "{error}");
}
