//! `crh show`, `crh runs` and `crh dismiss`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};

use crate::read;
use crate::user::{User, assert_same, tree};
use crh_pipeline::run_folder::{CheckoutState, RunFolder, StampKey, Timestamp};
use crh_review::report::{Report, ReviewedChange};
use crh_testkit::Repo;

const REPORT: &str = "crates/crh-review/tests/data/render/report.json";
const ID: &str = "0123456789abcdef";
/// The first second of 2026.
const NEW_YEAR: u64 = 1_767_225_600;

/// A user in a repository with stored runs.
struct RunsFixture {
    user: User,
    repo: Repo,
}

impl RunsFixture {
    fn new() -> Self {
        let repo = Repo::new();
        repo.write("a.txt", "a\n");
        repo.commit("first");
        Self { user: User::new(), repo }
    }

    fn runs(&self) -> PathBuf {
        self.repo.path().join(".crh/runs")
    }

    /// A run that finished this many hours into the year.
    fn finished(&self, hours: u64) -> RunFolder {
        let mut report = report();
        let folder = self.begun(hours, &report.change);
        report.run_id = folder.run_id();
        assert!(folder.finish(&report, &[], &[]).is_empty());
        folder.complete(Timestamp::from_unix(NEW_YEAR + hours * 3600)).unwrap();
        folder
    }

    fn begun(&self, hours: u64, change: &ReviewedChange) -> RunFolder {
        let key = StampKey::load_or_create(&self.user.path(".local/state/crh")).unwrap();
        begun(&self.runs(), hours, change).stamped(&key).unwrap()
    }

    fn crh(&self, args: &[&str]) -> String {
        self.user.refused(&self.repo, args)
    }

    #[track_caller]
    fn check(&self, args: &[&str], expected: Expect) {
        expected.assert_eq(&self.crh(args));
    }
}

fn report() -> Report {
    let mut report: Report = serde_json::from_str(&read(REPORT)).unwrap();
    report.change.repo = "owner/name".to_owned();
    report.change.title =
        "Charge in\nthe currency of the customer, \u{1b}[31mnot in euros".to_owned();
    report
}

fn begun(runs: &Path, hours: u64, change: &ReviewedChange) -> RunFolder {
    let stamp = Timestamp::from_unix(NEW_YEAR + hours * 3600);
    let folder = RunFolder::create(runs, stamp, ID).unwrap();
    folder.write_start(&CheckoutState::from_change(change)).unwrap();
    folder
}

#[test]
fn show_renders_stored_run() {
    let desk = RunsFixture::new();
    let old = desk.finished(0);
    let newest = desk.finished(1);
    let stored = newest.path().join("review.json");
    let below = desk.repo.path().join("below");
    fs::create_dir(&below).unwrap();
    for format in
        ["text", "json", "markdown", "sarif", "envelope", "comment", "quickfix", "annotations"]
    {
        let rendered = desk.crh(&["render", "--format", format, stored.to_str().unwrap()]);
        assert!(rendered.starts_with("exit 0\n"), "{rendered}");
        assert_eq!(desk.crh(&["show", "--format", format]), rendered, "{format}");
    }
    let json = |folder: &RunFolder| {
        format!("exit 0\n---\n{}", fs::read_to_string(folder.path().join("review.json")).unwrap())
    };
    let shown = |run: &[&str]| desk.crh(&[&["show", "--format", "json"], run].concat());
    assert_eq!(shown(&["latest"]), json(&newest));
    assert_eq!(shown(&["20260101T01"]), json(&newest));
    assert_eq!(shown(&[&old.run_id()]), json(&old));
    assert_eq!(shown(&[old.path().to_str().unwrap()]), json(&old));
    assert_eq!(shown(&["./.crh/runs/20260101T000000Z_0123456789abcdef/"]), json(&old));
    let inside = desk.user.crh(&below, &["show", "--format", "json"]).run();
    assert_eq!(inside.shown(), json(&newest), "from anywhere inside");
    assert_eq!(desk.crh(&["show"]), desk.crh(&["show", "--format", "text"]));
}

#[test]
fn runs_list_shows_verdict_issues_and_cost() {
    let desk = RunsFixture::new();
    desk.check(
        &["show", "--list"],
        expect![[r#"
        exit 0
        note: no runs in `REPO/.crh/runs`
        ---
    "#]],
    );
    desk.check(
        &["runs", "list", "--format", "json"],
        expect![[r#"
        exit 0
        ---
        []
    "#]],
    );
    desk.finished(0);
    desk.begun(1, &ReviewedChange::default());
    let stopped = desk.begun(2, &ReviewedChange::default());
    stopped.finish(&report(), &[], &[]);
    fs::write(desk.finished(3).path().join("review.json"), "[]").unwrap();
    desk.check(&["show", "--list"], expect![[r#"
        exit 0
        ---
        20260101T030000Z_0123456789abcdef  damaged
        20260101T020000Z_0123456789abcdef  Not ready (stopped)     1 P0, 2 P1, 1 P3 (1 hidden)  0.12 USD  Charge in the currency of the customer, \u{1b}[…
        20260101T010000Z_0123456789abcdef  not finished
        20260101T000000Z_0123456789abcdef  Not ready (incomplete)  1 P0, 2 P1, 1 P3 (1 hidden)  0.12 USD  Charge in the currency of the customer, \u{1b}[…
    "#]]);
    assert_eq!(desk.crh(&["runs", "list"]), desk.crh(&["show", "--list"]));
    let json = desk.crh(&["show", "--list", "--format", "json"]);
    assert_eq!(desk.crh(&["runs", "list", "--format", "json"]), json);
    let rows: serde_json::Value =
        serde_json::from_str(json.split("---\n").nth(1).unwrap()).unwrap();
    expect![[r#"
        {
          "completed_at": "2026-01-01T00:00:00Z",
          "cost_usd": 0.123456,
          "hidden_issues": 1,
          "is_foreign": false,
          "is_incomplete": true,
          "issues": {
            "P0": 1,
            "P1": 2,
            "P3": 1
          },
          "run_id": "20260101T000000Z_0123456789abcdef",
          "started_at": "2026-01-01T00:00:00Z",
          "title": "Charge in\nthe currency of the customer, \u001b[31mnot in euros",
          "verdict": "Not ready"
        }
    "#]]
    .assert_eq(&crh_review::stable_json(&rows[3]).unwrap());
    desk.check(
        &["show", "--list", "--format", "sarif"],
        expect![[r#"
        exit 2
        error: a list of runs has only the formats `text` and `json`
        hint: use `--list --format json`, or remove `--list`
        ---
    "#]],
    );
}

#[test]
fn runs_list_leaves_out_dismissed_issues() {
    let desk = RunsFixture::new();
    desk.finished(0);
    desk.crh(&["dismiss", "2"]);
    desk.check(&["runs", "list"], expect![[r#"
        exit 0
        ---
        20260101T000000Z_0123456789abcdef  Not ready (incomplete)  1 P0, 1 P1, 1 P3 (1 hidden)  0.12 USD  Charge in the currency of the customer, \u{1b}[…
    "#]]);
}

#[test]
fn damaged_dismissals_hide_no_stored_run() {
    let desk = RunsFixture::new();
    desk.finished(0);
    desk.finished(1);
    desk.crh(&["dismiss", "2"]);
    let state = desk.user.path(".local/state/crh/dismissed");
    let file = fs::read_dir(&state).unwrap().next().unwrap().unwrap().path();
    fs::write(&file, "{}").unwrap();
    let listed = desk.crh(&["runs", "list"]);
    assert!(listed.starts_with("exit 0\nwarning: dismissed issues count as open: "), "{listed}");
    assert_eq!(listed.matches("warning: ").count(), 1, "once for both runs: {listed}");
    assert_eq!(listed.matches("1 P0, 2 P1, 1 P3").count(), 2, "{listed}");
    let shown = desk.crh(&["show"]);
    assert!(shown.starts_with("exit 0\nwarning: dismissed issues count as open: "), "{shown}");
}

#[test]
fn unknown_or_damaged_run_is_an_error_with_hint() {
    let desk = RunsFixture::new();
    desk.check(
        &["show"],
        expect![[r#"
        exit 2
        error: no runs in `REPO/.crh/runs`
        hint: create one with `crh review`; choose another folder with `--run-dir DIR`
        ---
    "#]],
    );
    desk.finished(0);
    desk.begun(1, &ReviewedChange::default());
    desk.check(
        &["show"],
        expect![[r#"
        exit 2
        error: the run `20260101T010000Z_0123456789abcdef` is incomplete: it has no `review.json`
        hint: continue it with `crh review --resume 20260101T010000Z_0123456789abcdef`
        ---
    "#]],
    );
    desk.check(&["show", "2026"], expect![[r#"
        exit 2
        error: `2026` is ambiguous: `20260101T010000Z_0123456789abcdef` or `20260101T000000Z_0123456789abcdef`
        hint: write more of its name
        ---
    "#]]);
    fs::write(desk.finished(2).path().join("review.json"), "{}").unwrap();
    desk.check(&["show"], expect![[r#"
        exit 2
        error: cannot read `review.json` of the run `20260101T020000Z_0123456789abcdef`: missing field `schema_version` at line 1 column 2
        hint: `crh show --list` lists the runs
        ---
    "#]]);
}

#[test]
fn runs_folder_of_repository_is_not_trusted() {
    let desk = RunsFixture::new();
    desk.finished(0);
    // Git ignores `.crh` without configuration.
    assert_eq!(desk.repo.git(&["status", "--porcelain"]), b"");
    desk.repo.git(&["add", "--force", ".crh"]);
    desk.check(
        &["show"],
        expect![[r#"
        exit 2
        error: `.crh/runs` is committed to this repository, so its runs may not be yours
        hint: choose another folder with `--run-dir DIR`
        ---
    "#]],
    );
    desk.repo.git(&["rm", "--quiet", "--cached", "-r", ".crh"]);
    fs::rename(desk.repo.path().join(".crh"), desk.user.path("mine")).unwrap();
    symlink(desk.user.path("mine"), desk.repo.path().join(".crh")).unwrap();
    desk.check(
        &["show"],
        expect![[r#"
        exit 2
        error: `REPO/.crh` is a symbolic link
        hint: replace the link with a folder; to read the runs in it, pass `--run-dir DIR`
        ---
    "#]],
    );
    let named = desk.user.path("mine/runs");
    let shown = desk.crh(&["show", "--run-dir", named.to_str().unwrap()]);
    assert!(shown.starts_with("exit 0\n"), "the user may name any place: {shown}");
    desk.check(
        &["check", "--run-dir", "runs"],
        expect![[r#"
        exit 2
        error: `REPO/.crh` is a symbolic link
        hint: replace the link with a folder; to read the runs in it, pass `--run-dir DIR`
        ---
    "#]],
    );

    let bare = desk.repo.cloned(&["--bare"]);
    let bare = desk.user.crh(bare.path(), &["show"]).run();
    expect![[r#"
        exit 2
        error: a bare repository has no folder for runs
        hint: choose another folder with `--run-dir DIR`
        ---
    "#]]
    .assert_eq(&bare.shown());
    let outside = tempfile::tempdir().unwrap();
    let shown = desk.user.crh(outside.path(), &["show", "--list"]).run().shown();
    expect![[r#"
        exit 0
        note: no runs in `OUTSIDE/.crh/runs`
        ---
    "#]]
    .assert_eq(&shown.replace(outside.path().to_str().unwrap(), "OUTSIDE"));
}

#[test]
fn prune_deletes_only_old_runs() {
    let desk = RunsFixture::new();
    desk.check(
        &["runs", "prune"],
        expect![[r#"
        exit 0
        note: deleted 0 runs
        ---
    "#]],
    );
    for hours in 0..22 {
        desk.finished(hours);
    }
    fs::create_dir(desk.runs().join("mine")).unwrap();
    let before = tree(desk.repo.path());
    let dry = desk.crh(&["runs", "prune", "--dry-run"]);
    assert_same(&before, &tree(desk.repo.path()), "--dry-run");
    expect![[r#"
        exit 0
        note: 2 runs would be deleted
        ---
        20260101T000000Z_0123456789abcdef
        20260101T010000Z_0123456789abcdef
    "#]]
    .assert_eq(&dry);
    desk.check(
        &["runs", "prune"],
        expect![[r#"
        exit 0
        note: deleted 2 runs
        ---
        20260101T000000Z_0123456789abcdef
        20260101T010000Z_0123456789abcdef
    "#]],
    );
    desk.check(
        &["runs", "prune", "--keep", "19", "--older-than", "1"],
        expect![[r#"
        exit 0
        note: deleted 1 run
        ---
        20260101T020000Z_0123456789abcdef
    "#]],
    );
    let later = desk.crh(&["runs", "prune", "--older-than", "100000"]);
    assert!(later.contains("deleted 0 runs"), "{later}");
    let all = desk.crh(&["runs", "prune", "--older-than", "1"]);
    assert!(all.contains("deleted 19 runs"), "{all}");
    let left: Vec<_> = fs::read_dir(desk.runs()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["mine"]);
}

#[test]
fn dismissal_is_listed_and_undone() {
    let desk = RunsFixture::new();
    desk.check(
        &["dismiss", "--list"],
        expect![[r#"
        exit 0
        note: no dismissed issues
        ---
    "#]],
    );
    desk.finished(0);
    desk.finished(1);
    let before = tree(desk.repo.path());
    desk.check(&["dismiss", "20260101T00#2", "checked", "elsewhere"], expect![[r#"
        exit 0
        note: #2 is dismissed: The limit is no longer checked (src/pay.rs:11); undo with `crh dismiss --undo b7f77e3f253b5d56`
        ---
    "#]]);
    desk.check(&["dismiss", "#5"], expect![[r#"
        exit 0
        note: #5 is dismissed: `charge` takes no currency (src/pay.rs:10); undo with `crh dismiss --undo 752dcdacdadbcc80`
        ---
    "#]]);
    desk.check(&["dismiss", "latest#2", "the caller checks it"], expect![[r#"
        exit 0
        note: #2 was already dismissed, and has a new reason now: The limit is no longer checked (src/pay.rs:11); undo with `crh dismiss --undo b7f77e3f253b5d56`
        ---
    "#]]);
    assert_same(
        &before,
        &tree(desk.repo.path()),
        "a dismissal is the user's, not the repository's",
    );
    desk.check(&["dismiss", "2"], expect![[r#"
        exit 0
        note: #2 was already dismissed: The limit is no longer checked (src/pay.rs:11); undo with `crh dismiss --undo b7f77e3f253b5d56`
        ---
    "#]]);
    desk.check(&["dismiss", "--list"], expect![[r#"
        exit 0
        ---
        752dcdacdadbcc80  repository owner/name  src/pay.rs:10  `charge` takes no currency
        b7f77e3f253b5d56  repository owner/name  src/pay.rs:11  The limit is no longer checked (the caller checks it)
    "#]]);
    let state = desk.user.path(".local/state/crh/dismissed");
    let files: Vec<_> = fs::read_dir(&state).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let json = desk.crh(&["dismiss", "--list", "--format", "json"]);
    let json = json.lines().filter(|line| !line.contains("\"at\"")).collect::<Vec<_>>().join("\n");
    expect![[r#"
        exit 0
        ---
        [
          {
            "dedupe_key": "752dcdacdadbcc80",
            "place": "src/pay.rs:10",
            "reason": "",
            "repo": "owner/name",
            "run": "20260101T010000Z_0123456789abcdef#5",
            "title": "`charge` takes no currency"
          },
          {
            "dedupe_key": "b7f77e3f253b5d56",
            "place": "src/pay.rs:11",
            "reason": "the caller checks it",
            "repo": "owner/name",
            "run": "20260101T010000Z_0123456789abcdef#2",
            "title": "The limit is no longer checked"
          }
        ]"#]]
    .assert_eq(&json);
}

#[test]
fn dismissal_is_undone_by_number_or_key() {
    let desk = RunsFixture::new();
    desk.finished(0);
    desk.crh(&["dismiss", "5"]);
    desk.crh(&["dismiss", "2"]);
    desk.check(
        &["dismiss", "--undo", "5"],
        expect![[r#"
            exit 0
            note: no longer dismissed: `charge` takes no currency (src/pay.rs:10)
            ---
        "#]],
    );
    desk.check(
        &["dismiss", "--undo", "5"],
        expect![[r#"
            exit 2
            error: #5 of `20260101T000000Z_0123456789abcdef` is not dismissed
            hint: `crh dismiss --list` lists dismissed issues with their keys
            ---
        "#]],
    );
    desk.check(
        &["dismiss", "--undo", "b7f77e3f253b5d56"],
        expect![[r#"
            exit 0
            note: no longer dismissed: The limit is no longer checked (src/pay.rs:11)
            ---
        "#]],
    );
    desk.check(
        &["dismiss", "--undo", "b7f77e3f253b5d56"],
        expect![[r#"
            exit 2
            error: no dismissed issue has the key `b7f77e3f253b5d56`
            hint: `crh dismiss --list` lists dismissed issues with their keys
            ---
        "#]],
    );
}

#[test]
fn invalid_issue_reference_is_rejected() {
    let desk = RunsFixture::new();
    desk.finished(0);
    for wrong in [
        "latest#9",
        "latest#0",
        "9",
        "latest#",
        "#-1",
        "latest#+1",
        "latest",
        "",
        "ebbaf6035b222913",
    ] {
        let said = desk.crh(&["dismiss", wrong]);
        assert!(said.starts_with("exit 2\n") && said.contains("\nhint: "), "{wrong}: {said}");
    }
    desk.check(
        &["dismiss", "latest#9"],
        expect![[r#"
        exit 2
        error: the run `20260101T000000Z_0123456789abcdef` has no issue #9
        hint: `crh show 20260101T000000Z_0123456789abcdef` shows its issues
        ---
    "#]],
    );
    desk.check(
        &["dismiss", "latest"],
        expect![[r#"
        exit 2
        error: `latest` is not an issue
        hint: write `RUN#3`, `3` for an issue of the newest run, or, with `--undo`, a key of `crh dismiss --list`
        ---
    "#]],
    );
}

#[test]
fn dismiss_needs_repository_and_home() {
    let desk = RunsFixture::new();
    let mut report = report();
    report.change.repo = String::new();
    let folder = desk.begun(1, &report.change);
    folder.finish(&report, &[], &[]);
    desk.check(
        &["dismiss", "1"],
        expect![[r#"
        exit 2
        error: the change of run `20260101T010000Z_0123456789abcdef` has no repository with a commit
        hint: crh stores dismissals by the first commit of a repository; commit, and run the review again
        ---
    "#]],
    );
    let nowhere = desk.user.crh(desk.repo.path(), &["dismiss", "1"]).env("HOME", "").run();
    expect![[r#"
        exit 2
        error: no folder for `state.folder`: `HOME` is not set to an absolute path
        hint: set `HOME`, or set `CRH_STATE` to a folder
        ---
    "#]]
    .assert_eq(&nowhere.shown());
    // There is only the key of the stamps.
    assert_eq!(fs::read_dir(desk.user.path(".local/state/crh")).unwrap().count(), 1);
}
