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
fn strange_titles_in_a_usual_window() {
    walks(USUAL, "strange");
}

#[test]
fn strange_titles_in_a_narrow_window() {
    walks((40, 10), "strange_narrow");
}

#[test]
fn strange_titles_in_a_tiny_window() {
    walks((20, 5), "strange_tiny");
}

/// A fix that replaces one line by many.
fn long_fix() -> Value {
    let text: String =
        (1..=30).map(|line| format!("    result = round(result, {line})\n")).collect();
    with(gated(), json!({ "replacement": format!("{text}    return result") }))
}

#[test]
fn long_fix_is_cut_to_the_window() {
    let mut scene = Scene::begun(&[long_fix(), for_humans()]);
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("2");
    scene.sees("What should the agent do").types("a");
    scene.sees("Finding 1 of 2").types("1");
    scene.sees("Finding 2 of 2").types("1");
    scene.sees("What should happen next?").types("1");
    assert_eq!(scene.ends("Review completed", "long_fix"), 0);
    assert_eq!(scene.diff().lines().count(), 33);
}

#[test]
fn plan_of_fifteen_issues_is_shown() {
    let lines: String = (1..=600).map(|line| format!("value_{line} = compute({line})\n")).collect();
    // Far enough apart to stay separate issues.
    let found = |number: usize| {
        let line = 10 * number;
        let (title, quote) =
            (format!("Trouble {number} of fifteen"), format!("value_{line} = compute"));
        let found = finding("P2", &title, &format!("many.py:{line}"), &quote);
        let exact = json!({
            "autofix_class": "gated_auto", "owner": "downstream-resolver",
            "suggested_fix": "Count.", "replacement": format!("value_{line} = {line}"),
        });
        if number.is_multiple_of(2) { with(found, exact) } else { found }
    };
    let found: Vec<Value> = (1..=15).map(found).collect();
    let repo = Repo::from_fixture("//- a.py\na = 1\n");
    repo.write("many.py", &lines);
    repo.commit("many");
    let mut scene = Scene::of(finds(&found), repo);
    let args = ["review", "--base", "base", "--strategy", "single", "--max-issues", "15"];
    scene.starts(scene.crh(&args), USUAL);
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("2");
    scene.sees("What should the agent do").types("b");
    scene.sees("Should the agent do this?").types("1");
    scene.sees("What should happen next?").types("\r");
    assert_eq!(scene.ends("Review completed", "fifteen"), 0);
    assert_eq!(scene.diff().lines().filter(|line| line.starts_with('-')).count(), 7);
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
