//! A change that is too large for one prompt: every reviewer gets every part, with the declarations
//! of the others.

use std::collections::BTreeMap;

use expect_test::expect;

use super::scene::{Scene, fenced, prompt_end, render, reports};
use crh_testkit::fake_model::bad_request;
use crh_testkit::{FakeModel, Repo};

/// Two folders, each with more than half of what fits.
fn repo() -> Repo {
    let repo = Repo::new();
    for (folder, word) in [("api", "old"), ("store", "old"), ("api", "new"), ("store", "new")] {
        let body: String =
            (0..900).map(|line| format!("    {word}_{line} = readfromstorage({line})\n")).collect();
        repo.write(&format!("{folder}/work.py"), format!("def {folder}_work(disk):\n{body}"));
        if folder == "store" {
            repo.commit(word);
        }
    }
    repo
}

fn scene() -> Scene {
    Scene::from_repo(repo()).with_reviewers(&["correctness", "security"])
}

/// The part of a caller's prompt about the change.
fn change_prompt(model: &FakeModel, caller: &str) -> String {
    let requests = model.requests();
    let first = requests.iter().find(|asked| asked.caller == caller).unwrap();
    first.body["messages"][1]["content"].to_string()
}

#[tokio::test]
async fn every_reviewer_gets_every_part() {
    let names = ["correctness", "correctness-2", "security", "security-2"];
    let model = names.iter().fold(FakeModel::start(), |it, name| it.on(name, [reports(&[])]));
    let reviewed = scene().review(&model).await;
    expect![[r#"
        ReadyToMerge: nothing actionable was found
    "#]]
    .assert_eq(&render(&reviewed.report));
    assert!(reviewed.report.scope.line.ends_with("; reviewed in 2 parts"));
    let files: BTreeMap<&str, String> =
        names.iter().map(|name| (*name, fenced(&prompt_end(&model, name), "files"))).collect();
    expect![[r#"
        {
            "correctness": "api/work.py\n",
            "correctness-2": "store/work.py\n",
            "security": "api/work.py\n",
            "security-2": "store/work.py\n",
        }"#]]
    .assert_eq(&format!("{files:#?}"));
    for (caller, own, other) in [("security", "api", "store"), ("security-2", "store", "api")] {
        let change = change_prompt(&model, caller);
        assert!(change.contains(&format!("{other}/work.py: def {other}_work(disk):")), "{caller}");
        assert!(!change.contains(&format!("{own}/work.py: def {own}_work(disk):")), "{caller}");
        assert!(
            change.contains(&format!("+def {own}_work(disk):"))
                || change.contains(&format!(" def {own}_work(disk):"))
        );
    }
}

#[tokio::test]
async fn unreviewed_part_is_reported() {
    let model = FakeModel::start()
        .on("correctness", [reports(&[])])
        .on("correctness-2", [bad_request("no")])
        .on("security", [reports(&[])])
        .on("security-2", [bad_request("no")]);
    let reviewed = scene().check(&model, expect![[r#"
        Incomplete: failed reviewers: correctness, security; 1 file not fully reviewed (store/work.py)
          correctness (asked for by `--reviewers`) Failed: part 2 of 2: the model rejected the request: no
          security (asked for by `--reviewers`) Failed: part 2 of 2: the model rejected the request: no
        NotReviewed store/work.py: correctness, security failed
        ! reviewer correctness failed: part 2 of 2: the model rejected the request: no
        ! reviewer security failed: part 2 of 2: the model rejected the request: no
    "#]]).await;
    let envelope = crh_review::render::envelope(&reviewed.report);
    assert!(envelope.starts_with("Code review complete"), "part 1 was looked at: {envelope}");
}
