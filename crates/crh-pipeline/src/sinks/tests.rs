//! Words that name places, and what arrives there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use expect_test::expect;
use tempfile::TempDir;

use super::*;

fn report() -> Report {
    Report { review_id: "abc".to_owned(), ..Report::default() }
}

fn nowhere(place: PostTo) -> Delivery {
    Delivery::Failed(format!("{place:?}"))
}

/// What became of a report at these places, and what was printed.
fn emitted(sinks: &[Sink]) -> (Vec<Delivery>, String) {
    let mut printed = String::new();
    let mut print = |text: &str| {
        printed.push_str(text);
        Ok(())
    };
    let receipts = emit(&report(), sinks, &mut print, &mut nowhere);
    (receipts.into_iter().map(|receipt| receipt.delivery).collect(), printed)
}

#[test]
fn words_name_places_or_say_what_would() {
    let words = "stdout file:a/b:c.json file: file github github-comment github-check github-sarif launchpad Stdout https://x";
    let mut shown = String::new();
    for word in words.split(' ') {
        let parsed = match word.parse::<Sink>() {
            Ok(sink) => {
                assert_eq!(sink.to_string(), word);
                format!("{sink:?}")
            }
            Err(error) => error.to_string(),
        };
        shown += &format!("{word}: {parsed}\n");
    }
    expect![[r#"
        stdout: Stdout
        file:a/b:c.json: File("a/b:c.json")
        file:: `file:` needs a path, as in `file:review.json`
        file: `file:` needs a path, as in `file:review.json`
        github: Forge(GitHub(Review))
        github-comment: Forge(GitHub(Comment))
        github-check: Forge(GitHub(CheckRun))
        github-sarif: Forge(GitHub(CodeScanning))
        launchpad: Forge(Launchpad)
        Stdout: there is no sink `Stdout`; there are `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif` and `launchpad`
        https://x: there is no sink `https://x`; there are `stdout`, `file:PATH`, `github`, `github-comment`, `github-check`, `github-sarif` and `launchpad`
    "#]]
    .assert_eq(&shown);
}

#[test]
fn what_goes_to_a_forge_is_posted_once_in_each_form() {
    let words = ["github", "github", "github-comment", "launchpad", "launchpad"];
    let sinks = words.map(|word| word.parse::<Sink>().unwrap());
    let failed = |form: &str| Delivery::Failed(form.to_owned());
    assert_eq!(
        emitted(&sinks).0,
        [failed("GitHub(Review)"), failed("GitHub(Comment)"), failed("Launchpad")]
    );
}

#[test]
fn standard_output_carries_one_line_of_json() {
    let (receipts, printed) = emitted(&[Sink::Stdout, Sink::Stdout]);
    assert_eq!(receipts, [Delivery::Written]);
    assert_eq!(printed.matches('\n').count(), 1);
    assert_eq!(serde_json::from_str::<Report>(&printed).unwrap(), report());
}

#[test]
fn the_name_of_a_file_says_its_form_and_what_was_there_is_replaced() {
    let folder = TempDir::new().unwrap();
    let mut shown = String::new();
    for name in ["r.json", "r.md", "r.html", "r.SARIF", "r.txt", "r"] {
        let path = folder.path().join(name);
        fs::write(&path, "before\n".repeat(10_000)).unwrap();
        assert_eq!(emitted(&[Sink::File(path.clone())]).0, [Delivery::Written], "{name}");
        let text = fs::read_to_string(&path).unwrap();
        let first: String = text.lines().take(2).collect::<Vec<_>>().join(" | ");
        shown += &format!("{name}: {first}\n");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o400, 0o400);
    }
    // Nothing but the reports is left.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
    expect![[r#"
        r.json: { |   "applied_fixes": [],
        r.md: ## Code Review Results | 
        r.html: <!DOCTYPE html> | <html lang="en">
        r.SARIF: { |   "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        r.txt: Scope:  0 files, +0 -0 | 
        r: { |   "applied_fixes": [],
    "#]].assert_eq(&shown);
}

#[test]
fn a_link_stays_a_link_and_its_file_is_replaced() {
    let folder = TempDir::new().unwrap();
    let (file, link) = (folder.path().join("file.json"), folder.path().join("link.json"));
    fs::write(&file, "before").unwrap();
    std::os::unix::fs::symlink("file.json", &link).unwrap();
    assert_eq!(emitted(&[Sink::File(link.clone())]).0, [Delivery::Written]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&file).unwrap().starts_with("{\n"));
}

#[test]
fn a_place_that_fails_is_a_receipt_and_the_others_are_served() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("r.json");
    let (taken, missing) = (folder.path().join("taken.json"), folder.path().join("no/r.json"));
    fs::create_dir(&taken).unwrap();
    let sinks = [taken.clone(), missing.clone(), path.clone()].map(Sink::File);
    let mut sinks = sinks.to_vec();
    sinks.insert(0, Sink::Stdout);
    let receipts =
        emit(&report(), &sinks, &mut |_| Err(io::Error::other("the pipe is closed")), &mut nowhere);
    let shown: Vec<_> = receipts.iter().map(|receipt| receipt.delivery.clone()).collect();
    let failed = |text: String| Delivery::Failed(text);
    assert_eq!(shown[0], failed("the pipe is closed".to_owned()));
    assert_eq!(shown[1], failed(format!("`{}` is there and is not a file", taken.display())));
    assert!(matches!(&shown[2], Delivery::Failed(why) if why.contains("no/r.json")), "{shown:?}");
    assert_eq!(shown[3], Delivery::Written);
    assert!(path.is_file());
}
