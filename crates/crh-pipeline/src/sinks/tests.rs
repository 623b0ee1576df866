//! Sink names, and what each sink receives.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use tempfile::TempDir;

use super::*;

fn report() -> Report {
    Report { review_id: "abc".to_owned(), ..Report::default() }
}

fn nowhere(place: ForgeSink) -> SinkDelivery {
    SinkDelivery::Failed(place.name().to_owned())
}

/// Delivers a report; returns the results and the printed text.
fn emitted(sinks: &[ReportSink]) -> (Vec<SinkDelivery>, String) {
    let mut printed = String::new();
    let mut print = |text: &str| {
        printed.push_str(text);
        Ok(())
    };
    let receipts = emit(&report(), sinks, &mut print, &mut nowhere);
    (receipts.into_iter().map(|receipt| receipt.delivery).collect(), printed)
}

#[test]
fn sink_names_parse_or_list_alternatives() {
    let words = "stdout file:a/b:c.json file: file github github-comment github-check github-sarif launchpad gitlab gitlab-status gitea gitea-comment Stdout https://x";
    let mut actual = String::new();
    for word in words.split(' ') {
        let parsed = match word.parse::<ReportSink>() {
            Ok(sink) => {
                assert_eq!(sink.to_string(), word);
                format!("{sink:?}")
            }
            Err(error) => error.to_string(),
        };
        actual += &format!("{word}: {parsed}\n");
    }
    expect![[r#"
        stdout: Stdout
        file:a/b:c.json: File("a/b:c.json")
        file:: `file:` needs a path, as in `file:review.json`
        file: `file:` needs a path, as in `file:review.json`
        github: Forge(ForgeSink { forge: GitHub, kind: Review })
        github-comment: Forge(ForgeSink { forge: GitHub, kind: Comment })
        github-check: Forge(ForgeSink { forge: GitHub, kind: CheckRun })
        github-sarif: Forge(ForgeSink { forge: GitHub, kind: CodeScanning })
        launchpad: Forge(ForgeSink { forge: Launchpad, kind: Review })
        gitlab: Forge(ForgeSink { forge: GitLab, kind: Review })
        gitlab-status: Forge(ForgeSink { forge: GitLab, kind: CheckRun })
        gitea: Forge(ForgeSink { forge: Gitea, kind: Review })
        gitea-comment: Forge(ForgeSink { forge: Gitea, kind: Comment })
        Stdout: unknown sink `Stdout`; use `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif`, `launchpad`, `gitlab`, `gitlab-comment`, `gitlab-status`, `gitea`, `gitea-comment` or `gitea-status`
        https://x: unknown sink `https://x`; use `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif`, `launchpad`, `gitlab`, `gitlab-comment`, `gitlab-status`, `gitea`, `gitea-comment` or `gitea-status`
    "#]]
    .assert_eq(&actual);
}

#[test]
fn forge_sinks_post_once_each() {
    let words = ["github", "github", "github-comment", "launchpad", "launchpad"];
    let sinks = words.map(|word| word.parse::<ReportSink>().unwrap());
    let failed = |form: &str| SinkDelivery::Failed(form.to_owned());
    assert_eq!(
        emitted(&sinks).0,
        [failed("github"), failed("github-comment"), failed("launchpad")]
    );
}

#[test]
fn stdout_gets_one_line_of_json() {
    let (receipts, printed) = emitted(&[ReportSink::Stdout, ReportSink::Stdout]);
    assert_eq!(receipts, [SinkDelivery::Written]);
    assert_eq!(printed.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<Report>(&printed).unwrap(), report());
}

#[test]
fn file_extension_selects_the_format() {
    let folder = TempDir::new().unwrap();
    let mut actual = String::new();
    for name in ["r.json", "r.md", "r.html", "r.SARIF", "r.txt", "r"] {
        let path = folder.path().join(name);
        fs::write(&path, "before\n".repeat(10_000)).unwrap();
        assert_eq!(emitted(&[ReportSink::File(path.clone())]).0, [SinkDelivery::Written], "{name}");
        let text = fs::read_to_string(&path).unwrap();
        let first: String = text.lines().take(2).collect::<Vec<_>>().join(" | ");
        actual += &format!("{name}: {first}\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400);
    }
    // No temporary file is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
    expect![[r#"
        r.json: { |   "applied_fixes": [],
        r.md: ## Code Review Results | 
        r.html: <!DOCTYPE html> | <html lang="en">
        r.SARIF: { |   "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        r.txt: Scope:  0 files, +0 -0 | 
        r: { |   "applied_fixes": [],
    "#]].assert_eq(&actual);
}

#[test]
fn symlink_target_is_replaced_and_link_kept() {
    let folder = TempDir::new().unwrap();
    let (file, link) = (folder.path().join("file.json"), folder.path().join("link.json"));
    fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink("file.json", &link).unwrap();
    assert_eq!(emitted(&[ReportSink::File(link.clone())]).0, [SinkDelivery::Written]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\n"));
}

#[test]
fn failed_sink_does_not_stop_the_others() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("r.json");
    let (taken, missing) = (folder.path().join("taken.json"), folder.path().join("no/r.json"));
    fs::create_dir(&taken).unwrap();
    let sinks = [taken.clone(), missing.clone(), path.clone()].map(ReportSink::File);
    let mut sinks = sinks.to_vec();
    sinks.insert(0, ReportSink::Stdout);
    let receipts =
        emit(&report(), &sinks, &mut |_| Err(io::Error::other("the pipe is closed")), &mut nowhere);
    let deliveries: Vec<_> = receipts.iter().map(|receipt| receipt.delivery.clone()).collect();
    let failed = |text: String| SinkDelivery::Failed(text);
    assert_eq!(deliveries[0], failed("the pipe is closed".to_owned()));
    assert_eq!(
        deliveries[1],
        failed(format!("`{}` exists and is not a regular file", taken.display()))
    );
    assert!(
        matches!(&deliveries[2], SinkDelivery::Failed(why) if why.contains("no/r.json")),
        "{deliveries:?}"
    );
    assert_eq!(deliveries[3], SinkDelivery::Written);
    assert!(path.is_file());
}
