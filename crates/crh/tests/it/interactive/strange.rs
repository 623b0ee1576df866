//! Unusual reports: hostile and wide characters, long texts, many issues, long fixes, tiny windows,
//! deleted files.

use super::*;

/// Findings with wide characters, escape sequences and endless words.
fn odd_ones() -> Vec<Value> {
    let long = "word ".repeat(19);
    let texts = [
        (
            "支払いのない注文が返金されてしまい、店は損をする。これは非常に長い題名",
            "顧客は二度支払う。".repeat(12),
        ),
        (
            "👩‍👩‍👧‍👦 families ❤️ of 🏳️‍🌈 emoji 🇩🇪 do not fit a row of a terminal 👍🏽 so well",
            "🎉".repeat(90),
        ),
        (
            "A title with \u{1b}[2J\u{1b}[31m and \u{7} and \u{202e}backwards",
            "It\r\u{1b}]0;owned\u{7} acts\non a terminal.".to_owned(),
        ),
        (long.trim_end(), "x".repeat(400)),
    ];
    let lines =
        ["result = 0", "for item in items:", "result += item.price", "return result / len(items)"];
    let numbered = (2..).zip(lines).zip(texts);
    let found = numbered.map(|((line, quote), (title, why))| {
        let found = finding("P0", title, &format!("shop/orders.py:{line}"), quote);
        let owner = json!({ "why_it_matters": why, "owner": "downstream-resolver" });
        with(found, owner)
    });
    found.collect()
}

/// Walks through these findings in a window of this size.
fn walks(size: (u16, u16), name: &str) {
    let mut scene = Scene::new(&odd_ones());
    scene.begins(size);
    scene.sees_question("(D)").types("a");
    for at in 1..=4 {
        scene.sees_finding(at).types(if at == 4 { "\x03" } else { "2" });
    }
    assert_eq!(scene.ends("note:", name), 130);
}

#[test]
fn strange_titles_in_a_narrow_window() {
    walks((40, 10), "strange_narrow");
}

#[test]
fn deleted_file_is_reported_when_its_fix_is_applied() {
    let mut scene = Scene::begun(&[gated(), deferred()]);
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("2");
    std::fs::remove_file(scene.repo.path().join("shop/orders.py")).unwrap();
    scene.tree = Some(FixState::of(&scene.repo));
    scene.sees("Finding 2 of 2").types("1");
    assert_eq!(scene.ends("Review completed", "gone"), 1);
    assert_eq!(scene.git(&["status", "--porcelain"]), " D shop/orders.py\n");
}
