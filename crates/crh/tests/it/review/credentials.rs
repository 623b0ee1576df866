//! Credentials in added, removed and unchanged lines: no output shows them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::ReviewFixture;
use super::script::{confirms, delegates, finding, reports, submits, works};
use crate::user::tree;
use crh_testkit::FakeModel;

/// In an unchanged, a removed and an added line.
const KEYS: [&str; 3] = ["Xk29vQp41mZr", "16C7e42F292c6912E7710c838347Ae178B4a", "Zk31wQp42nYr"];

const CHANGE: &str = r#"
    //- a.py
    url = "postgres://app:Xk29vQp41mZr@db.corp.net/main"
    token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    debug = False
    //- b.py
    y = 1
    //- head
    //- a.py
    url = "postgres://app:Xk29vQp41mZr@db.corp.net/main"
    breakpoint()
    spare = "postgres://app:Zk31wQp42nYr@db.corp.net/main"
    debug = True
    //- b.py
    y = 2
    "#;

/// Files of a run that contain a key, except for the change itself.
fn showing(run: &Path) -> Vec<String> {
    let files = tree(run).into_keys().filter(|name| !name.starts_with("workspace"));
    let shows = |name: &String| {
        let bytes = fs::read(run.join(name)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        KEYS.iter().any(|key| text.contains(key))
    };
    files.filter(shows).collect()
}

#[test]
fn secrets_of_the_change_are_masked_everywhere() {
    let desk = ReviewFixture::with(CHANGE);
    let forms = [
        "text",
        "json",
        "markdown",
        "sarif",
        "envelope",
        "comment",
        "quickfix",
        "annotations",
        "html",
    ];
    for form in forms {
        let output = desk.crh(&["check", "HEAD~1..HEAD", "--format", form]).run();
        assert_eq!(output.code, 1, "{}", output.shown());
        let shown: Vec<_> = KEYS.iter().filter(|key| output.stdout.contains(**key)).collect();
        assert!(shown.is_empty(), "{form} shows {shown:?}");
        assert!(output.stdout.contains("a.py"), "{}", output.stdout);
    }
    assert_eq!(desk.runs().len(), forms.len());
    for run in desk.runs() {
        assert_eq!(showing(&run), Vec::<String>::new());
    }
    let shown = desk.crh(&["show", "--format", "html"]).run().stdout;
    assert!(shown.contains("breakpoint()") && !KEYS.iter().any(|key| shown.contains(key)));
}

#[test]
fn masked_finding_survives_resume() {
    let desk = ReviewFixture::with(CHANGE);
    let quote = "url = \"postgres://app:Xk29vQp41mZr@db.corp.net/main\"\nbreakpoint()";
    let stops = finding("P1", "The program stops here", "a.py:1", quote);
    let scopes = || delegates(&[("first", &["a.py"]), ("second", &["b.py"])]);
    let model = FakeModel::start()
        .on("orchestrator", [scopes()])
        .on("sub-agent-1", works(&["a.py"], &[stops]))
        .on("sub-agent-2", [reports(&[]).delayed(Duration::from_secs(3_600))]);
    let review = ["review", "HEAD~1..HEAD", "--side-by-side", "1"];
    let running = desk.crh_with_model(&model, &review).start();
    model.wait_for("sub-agent-2", 1);
    running.interrupt();
    running.end();
    let run = desk.runs().pop().unwrap();
    let stored = fs::read_to_string(run.join("stages/runs/sub-agent-1.json")).unwrap();
    assert!(stored.contains("postgres://app:[redacted "), "{stored}");
    assert_eq!(showing(&run), Vec::<String>::new());

    model.script("orchestrator", [scopes(), submits(&["1.1"], &[])]);
    model.script("sub-agent-2", works(&["b.py"], &[]));
    model.script("validate-1", [confirms()]);
    let name = run.file_name().unwrap().to_str().unwrap();
    let reviewed = desk.reviewed(desk.crh_with_model(&model, &["review", "--resume", name]).run());
    let issues = reviewed.issues();
    assert!(issues.contains("The program stops here"), "{issues} {}", reviewed.fates());
    assert_eq!(showing(&run), Vec::<String>::new());

    let diff = run.join("workspace/preview-diffs/latest/diff/raw.diff");
    let merged = run.join("reviewers/sub-agent-1.json");
    let paths = [diff.to_str().unwrap(), merged.to_str().unwrap()];
    let output = desk.crh(&["merge", "--diff", paths[0], paths[1], "--format", "json"]).run();
    assert!(output.stdout.contains("\"fate\"") || output.stdout.contains("stops here"));
    assert!(output.stdout.contains("app:[redacted]@"), "{}", output.stdout);
    assert!(!output.stdout.contains("unsupported"), "{}", output.stdout);
}

#[test]
fn secret_quoted_from_unchanged_file_is_masked() {
    let desk = ReviewFixture::with(
        r#"
        //- lib.py
        def connect(key):
            return key

        def other():
            return 1
        //- use.py
        import lib
        lib.connect("ghp_16C7e42F292c6912E7710c838347Ae178B4a")
        //- head
        //- lib.py
        def other():
            return 1
        "#,
    );
    let output = desk.crh(&["check", "HEAD~1..HEAD", "--format", "json"]).run();
    assert!(output.stdout.contains(r#"lib.connect(\"[redacted]\")"#), "{}", output.stdout);
    assert!(!KEYS.iter().any(|key| output.stdout.contains(key)), "{}", output.stdout);
    for run in desk.runs() {
        assert_eq!(showing(&run), Vec::<String>::new());
    }
}
