//! Reading a merge proposal.

use std::time::Duration;

use expect_test::{expect, expect_file};

use crate::launchpad_scene::{FORK, LaunchpadScene, SHOP};
use crate::scene::{QUICK, now};
use crh_forge::launchpad::{
    LaunchpadClient, LaunchpadClientConfig, LaunchpadCredentials, LaunchpadService,
    MergeProposalRef, read,
};
use crh_forge::posting::ProposalState;
use crh_forge::{ChangeProposal, ForgeError};
use crh_http::{NetworkSettings, Timeouts};
use crh_testkit::fake_launchpad::{
    CONSUMER, LaunchpadFault, LaunchpadFaultKind, Merge, REVIEWER, SECRET, TOKEN,
};

async fn read(scene: &LaunchpadScene) -> Result<(ChangeProposal, ProposalState), ForgeError> {
    // Spawned, which requires a `Send` future.
    let (client, proposal_ref) = (scene.client(), scene.proposal_ref());
    let read = tokio::spawn(async move { read::merge_proposal(&client, &proposal_ref).await })
        .await
        .unwrap();
    assert_eq!(scene.launchpad.surprises(), Vec::<String>::new());
    read
}

/// A proposal as stable text, with diffs by line.
fn stable_text(scene: &LaunchpadScene, proposal: &ChangeProposal) -> String {
    let mut proposal = proposal.clone();
    let mut diffs = String::new();
    for round in &mut proposal.rounds {
        let text = round.diff.take().unwrap_or_default();
        diffs += &format!("diff {}:\n{}\n", round.id, String::from_utf8_lossy(&text));
    }
    let mut text = format!("{proposal:#?}\n{diffs}").replace(&scene.launchpad.url(), "URL");
    for (index, commit) in scene
        .repo
        .git(&["rev-list", "--reverse", "--topo-order", "--all"])
        .split(|byte| *byte == b'\n')
        .enumerate()
    {
        if !commit.is_empty() {
            text = text.replace(std::str::from_utf8(commit).unwrap(), &format!("COMMIT{index}"));
        }
    }
    text.lines()
        .filter(|line| !line.starts_with("index "))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[tokio::test]
async fn three_rounds_are_read_with_comments() {
    let scene = LaunchpadScene::new();
    let (launchpad, merge) = (&scene.launchpad, &scene.merge);
    let diff_id = |at: usize| launchpad.preview_diffs(merge)[at];
    launchpad.comment(merge, "ben", "In the first.");
    launchpad.inline(merge, "ben", diff_id(0), &[(10, "Why?"), (1, "A header.")]);
    scene.push("FIVE", &[]);
    launchpad.comment(merge, "cas", "In the second.");
    launchpad.inline(merge, REVIEWER, diff_id(1), &[(10, "Loud.")]);
    launchpad.inline(merge, "ben", diff_id(0), &[(10, "Late.")]);
    scene.push("five!", &[("naïve \"x\".py", "a\n")]);
    launchpad.vote(merge, "ben", "Approve", "In the third.");
    launchpad.inline(merge, "cas", diff_id(2), &[(7, "A new file.")]);
    launchpad.link_bug(merge, "Five is a number", "It should not be.");
    let head = launchpad.head(merge);
    launchpad.report(FORK, &head, "test", "Failed").report(FORK, &head, "lint", "Succeeded");
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    expect_file!["../data/launchpad_proposal.txt"].assert_eq(&stable_text(&scene, &proposal));
    assert_eq!(proposal_state.viewer_login(), Some(REVIEWER));
    assert_eq!(proposal_state.row_diff.as_ref().map(|diff| diff.id), Some(diff_id(2)));
    assert_eq!(proposal_state.row_diff.unwrap().diff, launchpad.diff_text(merge).into_bytes());
    assert_eq!(proposal_state.threads.len(), 5);
    // The same state gives the same value.
    assert_eq!(read(&scene).await.unwrap().0, proposal);
}

#[tokio::test]
async fn comments_are_read_over_several_pages() {
    let scene = LaunchpadScene::new();
    for number in 0..200 {
        scene.launchpad.comment(&scene.merge, "ben", &format!("comment {number}"));
    }
    let (proposal, _) = read(&scene).await.unwrap();
    let texts: Vec<&str> =
        proposal.comments.iter().map(|comment| comment.content.as_str()).collect();
    let expected: Vec<String> = (0..200).map(|number| format!("comment {number}")).collect();
    assert_eq!(texts, expected);
    let requests = scene.launchpad.requests();
    assert_eq!(
        requests.iter().filter(|request| request.path.ends_with("/all_comments")).count(),
        3
    );
}

#[tokio::test]
async fn rounds_are_read_over_several_pages() {
    let scene = LaunchpadScene::new();
    for text in ["FIVE", "five!", "5.0", "v"] {
        scene.push(text, &[]);
    }
    scene.launchpad.pages_of(2);
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    let ids = proposal.rounds.iter().map(|round| round.id.parse::<u64>().unwrap());
    assert_eq!(ids.collect::<Vec<_>>(), scene.launchpad.preview_diffs(&scene.merge));
    assert_eq!((proposal.notes, proposal_state.incomplete_lists), (vec![], vec![]));
    let requests = scene.launchpad.requests();
    assert_eq!(
        requests.iter().filter(|request| request.path.ends_with("/preview_diffs")).count(),
        3
    );
}

#[tokio::test]
async fn long_round_list_is_truncated_with_note() {
    let scene = LaunchpadScene::new();
    scene.launchpad.push_again(&scene.merge, 100);
    scene.launchpad.pages_of(1);
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    let newest = scene.launchpad.preview_diffs(&scene.merge).last().unwrap().to_string();
    assert_eq!(proposal.rounds.last().map(|round| &round.id), Some(&newest));
    assert_eq!(proposal.notes[0], "There are more preview diffs than crh reads.");
    assert_eq!(proposal_state.incomplete_lists, ["preview diffs"]);
}

#[tokio::test]
async fn requests_are_concurrent() {
    let scene = LaunchpadScene::new();
    // Proposal, rounds, comments, votes, bugs and account: six independent requests.
    let gathering = scene.launchpad.gather(6);
    read(&scene).await.unwrap();
    assert!(gathering.is_complete(), "one after another");
}

#[tokio::test]
async fn silent_host_times_out() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let service = LaunchpadService::parse(&format!("http://{address}")).unwrap();
    let credentials = LaunchpadCredentials::anonymous();
    let config =
        LaunchpadClientConfig { service: service.clone(), credentials, retry: QUICK, now, seed: 7 };
    let silence = Duration::from_millis(50);
    let timeouts = Timeouts { first_byte: silence, idle: silence, ..Timeouts::default() };
    let client =
        LaunchpadClient::new(&NetworkSettings { timeouts, ..NetworkSettings::default() }, config)
            .unwrap();
    let url = format!("http://{address}/~ann/shop/+git/shop/+merge/1");
    let proposal_ref = MergeProposalRef::parse(&url, &service).unwrap();
    let error = read::merge_proposal(&client, &proposal_ref).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unreachable { .. }), "{error}");
    assert!(error.to_string().ends_with("no data for 0.05 s"), "{error}");
}

#[tokio::test]
async fn deleted_branch_falls_back_to_last_diff() {
    let scene = LaunchpadScene::new();
    let head = scene.repo.id("feature");
    let proposal_without_diff = scene.launchpad.propose_unseen(Merge {
        source: FORK.to_owned(),
        branch: "gone/soon".to_owned(),
        ..Merge::default()
    });
    scene.repo.git(&["switch", "--quiet", "main"]);
    scene.repo.git(&["branch", "--quiet", "-D", "feature"]);
    scene.launchpad.refresh(FORK);
    let (proposal, _) = read(&scene).await.unwrap();
    assert_eq!(proposal.source.commit, head);
    let proposal_ref =
        MergeProposalRef { number: proposal_without_diff.number, ..scene.proposal_ref() };
    let error = read::merge_proposal(&scene.client(), &proposal_ref).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "cannot parse the reply to `GET {proposal_without_diff}`: its source branch `gone/soon` is gone and Launchpad has no diff of it"
        )
    );
}

#[tokio::test]
async fn outdated_diff_is_noted() {
    let scene = LaunchpadScene::new();
    scene.repo.write("orders.py", "other\n");
    let head = scene.repo.commit("unseen");
    scene.launchpad.refresh(FORK);
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    assert_eq!((&proposal.source.commit, proposal.rounds.len()), (&head, 1));
    assert_ne!(proposal_state.row_diff.unwrap().head, head);
    assert_eq!(proposal.notes, ["Launchpad's newest diff is older than the branch head."]);
}

#[tokio::test]
async fn public_proposal_is_read_anonymously() {
    let scene = LaunchpadScene::new();
    let client = scene.client_as(LaunchpadCredentials::anonymous());
    let (proposal, proposal_state) =
        read::merge_proposal(&client, &scene.proposal_ref()).await.unwrap();
    assert_eq!((proposal.title.as_str(), proposal_state.viewer), ("Spell out five", None));
    scene.launchpad.make_private(SHOP);
    let error = read::merge_proposal(&client, &scene.proposal_ref()).await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
    assert!(read(&scene).await.is_ok(), "a token gives access");
}

#[tokio::test]
async fn failures_include_launchpads_message() {
    let mut lines = String::new();
    for (credentials, how, times) in [
        (LaunchpadCredentials::new(CONSUMER, TOKEN, &"wrong".into()).unwrap(), None, 0),
        (LaunchpadCredentials::new(CONSUMER, "unknown", &SECRET.into()).unwrap(), None, 0),
        (LaunchpadCredentials::anonymous(), Some(LaunchpadFaultKind::StatusBefore(503)), 9),
        (LaunchpadCredentials::anonymous(), Some(LaunchpadFaultKind::CutBefore), 9),
        (LaunchpadCredentials::anonymous(), Some(LaunchpadFaultKind::StatusBefore(503)), 2),
        (LaunchpadCredentials::anonymous(), Some(LaunchpadFaultKind::StatusBefore(404)), 1),
    ] {
        let scene = LaunchpadScene::new();
        if let Some(how) = how {
            // A single request, so that the OOPS number is stable.
            let path = format!("/devel/{}/all_comments", scene.merge);
            scene.launchpad.fail(LaunchpadFault::on("GET", &path, how).times(times));
        }
        let read = read::merge_proposal(&scene.client_as(credentials), &scene.proposal_ref()).await;
        let line = read.map_or_else(|error| error.to_string(), |(proposal, _)| proposal.title);
        let line = line.replace(scene.service().name(), "HOST").replace(&scene.merge.path, "MERGE");
        // The HTTP library words the cause of a cut connection.
        let line = match line.split_once("HOST`: ") {
            Some((host, why)) if !why.starts_with("status") => {
                format!("{host}HOST`: …")
            }
            Some(_) | None => line,
        };
        // Several requests are concurrent, so the OOPS number varies.
        lines += line.trim_end_matches(|char: char| char.is_ascii_digit());
        lines += "\n";
    }
    expect![[r#"
        `HOST` rejected the credentials: Invalid signature
        `HOST` rejected the credentials: Unknown access token ([redacted])
        `HOST` answers with server errors: status 503 (Service Unavailable), OOPS-fake
        cannot reach `HOST`: …
        Spell out five
        `GET MERGE/all_comments` failed: not found, or the token cannot see it
    "#]]
    .assert_eq(&lines);
}

#[tokio::test]
async fn optional_parts_become_notes() {
    let scene = LaunchpadScene::new();
    let fail_reads = |path: &str| {
        scene
            .launchpad
            .fail(LaunchpadFault::on("GET", path, LaunchpadFaultKind::StatusBefore(503)).times(99));
    };
    fail_reads("*/votes");
    fail_reads("*/bugs");
    fail_reads("*/diff_text");
    let (proposal, proposal_state) = read(&scene).await.unwrap();
    assert_eq!((proposal.notes.len(), proposal_state.row_diff), (3, None), "{:?}", proposal.notes);
}

#[tokio::test]
async fn credentials_go_to_no_other_host() {
    let scene = LaunchpadScene::new();
    read(&scene).await.unwrap();
    let librarian_requests = scene.launchpad.librarian_requests();
    assert_eq!(librarian_requests.len(), 1);
    assert_eq!(librarian_requests[0].header("authorization"), None);
    let service_requests = scene.launchpad.requests();
    assert!(service_requests.iter().all(|request| {
        request.header("authorization").is_some_and(|value| value.contains("PLAINTEXT"))
    }));
    // Neither by redirect nor by a list's next link.
    let elsewhere = format!("{}/1/x", scene.launchpad.librarian_url());
    scene.launchpad.fail(LaunchpadFault::on(
        "GET",
        "*/+me",
        LaunchpadFaultKind::Redirect(elsewhere),
    ));
    let error = read(&scene).await.unwrap_err();
    assert!(error.to_string().contains("another host"), "{error}");
    assert!(
        scene
            .launchpad
            .librarian_requests()
            .iter()
            .all(|request| request.header("authorization").is_none())
    );
    let insecure = "http://librarian.example/1/x".to_owned();
    scene.launchpad.fail(LaunchpadFault::on(
        "GET",
        "*/diff_text",
        LaunchpadFaultKind::Redirect(insecure),
    ));
    let (proposal, _) = read(&scene).await.unwrap();
    assert!(proposal.notes[0].contains("not `https`"), "{:?}", proposal.notes);
}

#[tokio::test]
async fn bazaar_proposal_is_rejected() {
    let scene = LaunchpadScene::new();
    let bazaar = scene.launchpad.propose_bazaar("~ann/shop/fix", "~acme/shop/trunk");
    let url = format!("{}/{bazaar}", scene.launchpad.url());
    let error = MergeProposalRef::parse(&url, &scene.service()).unwrap_err();
    assert!(error.to_string().contains("Bazaar"), "{error}");
    // And one whose address looks like git.
    let proposal_ref = MergeProposalRef {
        repository: "~ann/shop/fix".to_owned(),
        number: bazaar.number,
        ..scene.proposal_ref()
    };
    let error = read::merge_proposal(&scene.client(), &proposal_ref).await.unwrap_err();
    assert!(error.to_string().contains("Bazaar"), "{error}");
}
