//! Rounds of a merge proposal and their comments.

use expect_test::expect_file;
use serde_json::{Value, json};

use super::super::{FORK, LaunchpadScenario};
use crate::user::all_text;
use crh_testkit::fake_launchpad::{LaunchpadFault, LaunchpadFaultKind};

/// The line of a preview diff with this prefix.
fn line_of(pad: &LaunchpadScenario, start: &str) -> u64 {
    let text = pad.launchpad.diff_text(&pad.merge);
    let at = text.lines().position(|line| line.starts_with(start));
    at.unwrap_or_else(|| panic!("{start} in {text}")) as u64 + 1
}

/// What the comments of a list say.
fn contents(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|comment| comment["content"].as_str().unwrap()).collect()
}

/// Three rounds with general and inline comments, a vote, a bug and checks.
pub(super) fn three_rounds() -> LaunchpadScenario {
    let pad = LaunchpadScenario::new();
    let launchpad = &pad.launchpad;
    let newest = || *launchpad.preview_diffs(&pad.merge).last().unwrap();
    launchpad.comment(&pad.merge, "ben", "Is this ready?");
    let (marker, header) = (line_of(&pad, "+<<<<<<<"), line_of(&pad, "@@"));
    launchpad.inline(&pad.merge, "ben", newest(), &[(marker, "A conflict."), (header, "Here?")]);
    launchpad.inline(&pad.merge, "ann", newest(), &[(marker, "I see.")]);
    pad.push("shop/orders.py", "def total(items):\n    return 2\n");
    launchpad.vote(&pad.merge, "cas", "Needs Fixing", "Two of what?");
    launchpad.inline(&pad.merge, "cas", newest(), &[(line_of(&pad, "+    return 2"), "Why two?")]);
    pad.push("shop/orders.py", "def total(items):\n    return sum(items)\n");
    launchpad.comment(&pad.merge, "ann", "Now it adds up.");
    let sum = line_of(&pad, "+    return sum");
    launchpad.inline(&pad.merge, "ben", newest(), &[(sum, "Of prices?")]);
    launchpad.link_bug(&pad.merge, "Totals are wrong", "Two items cost as much as one.");
    let head = launchpad.head(&pad.merge);
    launchpad.report(FORK, &head, "lint", "Succeeded").report(FORK, &head, "build", "Failed");
    pad
}

#[test]
fn workspace_has_three_rounds_with_comments() {
    let pad = three_rounds();
    let ids = pad.launchpad.preview_diffs(&pad.merge);
    pad.prepared();
    assert_eq!(pad.launchpad.writes().len(), 0);
    let heads = ["feature~2", "feature~1", "feature"].map(|name| pad.fork.id(name));
    let expected: Vec<_> = ids.iter().map(u64::to_string).zip(heads).collect();
    assert_eq!(pad.rounds(), expected);
    // The files of a diff are the same for all forges.
    let text = all_text(&pad.user.path("out"));
    let files = text.split("== ").skip(1).filter(|file| !file.contains("/diff/"));
    let text: String = files.map(|file| format!("== {file}")).collect();
    expect_file!["../../../data/launchpad/workspace.txt"].assert_eq(&pad.shown(&text));
}

#[test]
fn round_with_missing_commits_uses_launchpads_diff() {
    let pad = LaunchpadScenario::new();
    let first = pad.fork.id("feature");
    let shown = pad.launchpad.diff_text(&pad.merge);
    pad.launchpad.comment(&pad.merge, "ben", "Not like this.");
    pad.fork.git(&["reset", "--quiet", "--hard", "main"]);
    pad.push("shop/orders.py", "def total(items):\n    return 3\n");
    pad.launchpad.clean_up(FORK);
    pad.prepared();
    let ids: Vec<String> =
        pad.launchpad.preview_diffs(&pad.merge).iter().map(u64::to_string).collect();
    assert_eq!(pad.rounds()[0], (ids[0].clone(), first.clone()));
    assert_eq!(pad.written(&format!("preview-diffs/{}/diff/raw.diff", ids[0])), shown);
    // Without Launchpad's diff the comments remain, with a note.
    let path = format!("/devel/*/+preview-diff/{}/diff_text", ids[0]);
    pad.launchpad
        .fail(LaunchpadFault::on("GET", &path, LaunchpadFaultKind::StatusBefore(404)).times(9));
    let summary = pad.prepared();
    let notes: Vec<&str> =
        summary["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect();
    let missing = format!("round {} with the head `{first}` has no diff: ", ids[0]);
    assert!(notes.iter().any(|note| note.starts_with(&missing)), "{notes:?}");
    assert_eq!(pad.written(&format!("preview-diffs/{}/diff/raw.diff", ids[0])), "");
    let said = pad.json(&format!("preview-diffs/{}/comments/general.json", ids[0]));
    assert_eq!(contents(&said), ["Not like this."]);
}

#[test]
fn missing_diff_is_built_from_commits() {
    let pad = LaunchpadScenario::new();
    pad.push("more.py", "x = 1\n");
    let first = pad.launchpad.preview_diffs(&pad.merge)[0];
    let path = format!("/devel/*/+preview-diff/{first}/diff_text");
    pad.launchpad
        .fail(LaunchpadFault::on("GET", &path, LaunchpadFaultKind::StatusBefore(404)).times(9));
    pad.prepared();
    let meta = pad.json(&format!("preview-diffs/{first}/meta.json"));
    assert_eq!(meta["baseRev"], json!(pad.repo.id("main~1")));
    assert_eq!(meta["headRev"], json!(pad.fork.id("feature~1")));
    let diff = pad.written(&format!("preview-diffs/{first}/diff/raw.diff"));
    assert!(diff.contains("+<<<<<<< HEAD"), "{diff}");
}
