//! Floods of comments by others neither fill the memory nor hide our own, and shortening is noted.

use crate::scene::{INSTANCE, Scene};
use crh_forge::github::read;
use crh_forge::posting::ProposalState;
use crh_testkit::fake_github::{Fault, FaultKind, REVIEWER};

/// Longest comment that GitHub accepts, in characters.
const LETTERS: usize = 65_536;

async fn read(scene: &Scene) -> (Vec<String>, ProposalState) {
    let (proposal, proposal_state) =
        read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await.unwrap();
    (proposal.notes, proposal_state)
}

/// Adds `count` threads of `author`, each with this many replies of another account.
fn threads(scene: &Scene, count: usize, author: &str, replies: usize) {
    for _ in 0..count {
        let thread = scene.github.thread(&scene.pull, author, ("orders.py", 5), "First.");
        for _ in 0..replies {
            scene.github.reply(&thread, "mal", "More.");
        }
    }
}

#[tokio::test]
async fn flood_of_comments_does_not_hide_ours() {
    let scene = Scene::new();
    let text = "x".repeat(LETTERS);
    for _ in 0..260 {
        scene.github.comment(&scene.pull, "mal", &text);
    }
    scene.github.comment(&scene.pull, REVIEWER, &text);
    let (notes, proposal_state) = read(&scene).await;
    let lengths = proposal_state.comments.iter().map(|comment| comment.body.len());
    // 16 MB of whole comments, four shortened ones, and our own.
    let expected = [[LETTERS; 256].as_slice(), &[1 << 10; 4], &[LETTERS]].concat();
    assert_eq!(lengths.collect::<Vec<_>>(), expected);
    let note = "4 comments were shortened, because other accounts wrote more than 16 MB.";
    assert_eq!((proposal_state.incomplete_lists, notes), (Vec::new(), vec![note.to_owned()]));
}

#[tokio::test]
async fn long_threads_of_others_do_not_hide_ours() {
    let scene = Scene::new();
    threads(&scene, 100, "ann", 30);
    threads(&scene, 1, REVIEWER, 250);
    let (notes, proposal_state) = read(&scene).await;
    assert_eq!(proposal_state.threads.len(), 101);
    assert_eq!(proposal_state.threads[100].comments.len(), 251);
    let note = "Of 50 long threads, only the first comments were read.";
    assert_eq!((proposal_state.incomplete_lists, notes), (Vec::new(), vec![note.to_owned()]));
}

/// Page sizes and statuses of thread queries.
fn thread_queries(scene: &Scene) -> Vec<(u64, u64, u16)> {
    let queries =
        scene.github.requests().into_iter().filter(|request| request.path == "/api/graphql");
    let sizes_and_statuses = queries.map(|request| {
        let variable = |name: &str| request.body["variables"][name].as_u64().unwrap();
        (variable("threads"), variable("comments"), request.status.unwrap())
    });
    sizes_and_statuses.collect()
}

async fn check_thread_queries(fault: Fault, expected: &[(u64, u64, u16)]) {
    let scene = Scene::new();
    threads(&scene, 30, REVIEWER, 1);
    scene.github.fail(fault.clone());
    let (notes, proposal_state) = read(&scene).await;
    assert_eq!((proposal_state.threads.len(), notes), (30, Vec::new()), "{fault:?}");
    assert_eq!(thread_queries(&scene), expected, "{fault:?}");
}

#[tokio::test]
async fn oversized_page_is_requested_in_smaller_size() {
    let fault = |how: FaultKind, times: usize| Fault::on("POST", "/api/graphql", how).times(times);
    let (full, small) = ((100, 30, 200), (25, 10, 200));
    check_thread_queries(fault(FaultKind::TooLarge, 1), &[full, small, small]).await;
    // Three attempts before a smaller size.
    let failed = (100, 30, 502);
    check_thread_queries(
        fault(FaultKind::StatusBefore(502), 3),
        &[failed, failed, failed, small, small],
    )
    .await;
    check_thread_queries(fault(FaultKind::StatusBefore(502), 2), &[failed, failed, full]).await;
    check_thread_queries(fault(FaultKind::Timeout, 3), &[full, full, full, small, small]).await;
    let scene = Scene::new();
    scene.github.fail(fault(FaultKind::StatusBefore(504), usize::MAX));
    let error = read::pull_request(&scene.client(), &scene.pull_ref(), INSTANCE).await.unwrap_err();
    assert!(error.to_string().ends_with("status 504 (Gateway Timeout)"));
    assert_eq!(thread_queries(&scene).len(), 9, "no smaller ones are left");
}

#[tokio::test]
async fn incomplete_own_texts_are_reported() {
    let scene = Scene::new();
    threads(&scene, 200, REVIEWER, 30);
    let (notes, proposal_state) = read(&scene).await;
    assert_eq!(proposal_state.threads.len(), 200);
    assert_eq!(proposal_state.incomplete_lists, ["inline threads"]);
    assert_eq!(notes, ["There are more inline comments than crh reads."]);
}
