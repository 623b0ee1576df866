//! More than anybody reads, written by others: it neither fills the memory nor hides what is ours, and what is cut is said.

use crate::scene::{INSTANCE, Scene};
use crh_forge::github::{Standing, read};
use crh_testkit::fake_github::{Fault, How, REVIEWER};

/// The longest comment that GitHub takes, in letters.
const LETTERS: usize = 65_536;

async fn read(scene: &Scene) -> (Vec<String>, Standing) {
    let (proposal, standing) =
        read::proposal(&scene.client(), &scene.name(), INSTANCE).await.unwrap();
    (proposal.notes, standing)
}

/// Conversations of somebody, each with so many replies of a stranger's.
fn threads(scene: &Scene, count: usize, author: &str, replies: usize) {
    for _ in 0..count {
        let thread = scene.github.thread(&scene.pull, author, ("orders.py", 5), "First.");
        for _ in 0..replies {
            scene.github.reply(&thread, "mal", "More.");
        }
    }
}

#[tokio::test]
async fn a_flood_of_comments_does_not_hide_our_own() {
    let scene = Scene::new();
    let text = "x".repeat(LETTERS);
    for _ in 0..260 {
        scene.github.comment(&scene.pull, "mal", &text);
    }
    scene.github.comment(&scene.pull, REVIEWER, &text);
    let (notes, standing) = read(&scene).await;
    let lengths = standing.comments.iter().map(|comment| comment.body.len());
    // As many as fill 16 MB, then the beginnings of four, and what is ours.
    let expected = [[LETTERS; 256].as_slice(), &[1 << 10; 4], &[LETTERS]].concat();
    assert_eq!(lengths.collect::<Vec<_>>(), expected);
    let note = "Of 4 comments only the beginning is here: others wrote more than 16 MB.";
    assert_eq!((standing.unread, notes), (Vec::new(), vec![note.to_owned()]));
}

#[tokio::test]
async fn long_conversations_of_others_do_not_hide_ours() {
    let scene = Scene::new();
    threads(&scene, 100, "ann", 30);
    threads(&scene, 1, REVIEWER, 250);
    let (notes, standing) = read(&scene).await;
    assert_eq!(standing.threads.len(), 101);
    assert_eq!(standing.threads[100].comments.len(), 251);
    let note = "Of 50 long conversations about lines only the beginning is read.";
    assert_eq!((standing.unread, notes), (Vec::new(), vec![note.to_owned()]));
}

/// In which parts conversations were asked for, and how the answer ended.
fn asked(scene: &Scene) -> Vec<(u64, u64, u16)> {
    let queries = scene.github.requests().into_iter().filter(|it| it.path == "/api/graphql");
    let shown = queries.map(|it| {
        let part = |name: &str| it.body["variables"][name].as_u64().unwrap();
        (part("threads"), part("comments"), it.status.unwrap())
    });
    shown.collect()
}

async fn check_parts(fault: Fault, expected: &[(u64, u64, u16)]) {
    let scene = Scene::new();
    threads(&scene, 30, REVIEWER, 1);
    scene.github.fail(fault.clone());
    let (notes, standing) = read(&scene).await;
    assert_eq!((standing.threads.len(), notes), (30, Vec::new()), "{fault:?}");
    assert_eq!(asked(&scene), expected, "{fault:?}");
}

#[tokio::test]
async fn a_page_that_is_too_much_comes_in_smaller_parts() {
    let on = |how: How, times: usize| Fault::on("POST", "/api/graphql", how).times(times);
    let (full, small) = ((100, 30, 200), (25, 10, 200));
    check_parts(on(How::TooLarge, 1), &[full, small, small]).await;
    // Each is asked three times before less is.
    let failed = (100, 30, 502);
    check_parts(on(How::StatusBefore(502), 3), &[failed, failed, failed, small, small]).await;
    check_parts(on(How::StatusBefore(502), 2), &[failed, failed, full]).await;
    check_parts(on(How::Timeout, 3), &[full, full, full, small, small]).await;
    let scene = Scene::new();
    scene.github.fail(on(How::StatusBefore(504), usize::MAX));
    let refused = read::proposal(&scene.client(), &scene.name(), INSTANCE).await.unwrap_err();
    assert!(refused.to_string().ends_with("it answers with status 504 (Gateway Timeout)"));
    assert_eq!(asked(&scene).len(), 9, "no smaller ones are left");
}

#[tokio::test]
async fn where_ours_are_not_all_read_that_is_said() {
    let scene = Scene::new();
    threads(&scene, 200, REVIEWER, 30);
    let (notes, standing) = read(&scene).await;
    assert_eq!(standing.threads.len(), 200);
    assert_eq!(standing.unread, ["conversations about lines"]);
    assert_eq!(notes, ["There is more said about lines than is read."]);
}
