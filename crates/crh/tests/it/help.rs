//! Golden file of all help texts, so that changes show up in review.

use std::collections::BTreeSet;

use expect_test::{expect, expect_file};

use crate::crh;

/// Cuts the entries that an earlier text has in the same words to their first line.
fn cut_known_entries(text: &str, known: &mut BTreeSet<String>) -> String {
    // Further paragraphs of an entry are indented more.
    let text = text.replace("\n\n          ", "\n\0\n          ");
    let entries = text.split("\n\n").map(|entry| match entry.split_once('\n') {
        Some((first, _)) if first.starts_with("  ") && !known.insert(entry.to_owned()) => {
            format!("{first} …")
        }
        _ => entry.to_owned(),
    });
    let text = entries.collect::<Vec<_>>().join("\n\n").replace('\0', "");
    text.replace(" …\n\n      ", " …\n      ")
}

#[test]
fn help_texts_match_golden_file() {
    let commands: [&[&str]; 41] = [
        &[],
        &["review"],
        &["reviewers"],
        &["fix"],
        &["check"],
        &["baseline"],
        &["demo"],
        &["doctor"],
        &["prepare"],
        &["tool"],
        &["diff"],
        &["diff", "number"],
        &["diff", "map"],
        &["diff", "files"],
        &["merge"],
        &["render"],
        &["schema"],
        &["config"],
        &["config", "show"],
        &["config", "schema"],
        &["init"],
        &["model"],
        &["model", "list"],
        &["model", "check"],
        &["ask"],
        &["show"],
        &["runs"],
        &["runs", "list"],
        &["runs", "prune"],
        &["dismiss"],
        &["stats"],
        &["learn"],
        &["lsp"],
        &["serve"],
        &["worker"],
        &["login"],
        &["login", "launchpad"],
        &["logout"],
        &["logout", "launchpad"],
        &["completions"],
        &["man"],
    ];
    let (mut all, mut known) = (String::new(), BTreeSet::new());
    for command in commands {
        let output = crh(command).args(["--help"]).run();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""));
        let text = cut_known_entries(&output.stdout, &mut known);
        all += &format!("$ crh {}\n{text}\n", [command, &["--help"]].concat().join(" "));
    }
    expect_file!["../data/help.txt"].assert_eq(&all);
}

#[test]
fn wrong_arguments_are_escaped_and_get_the_usage() {
    expect![[r#"
        exit 2
        error: unexpected argument '--frobnicate' found

        Usage: crh diff number

        For more information, try '--help'.
        ---
    "#]]
    .assert_eq(&crh(&["diff", "number", "--frobnicate"]).run().shown());
    expect![[r#"
        exit 2
        error: the following required arguments were not provided:
          <REVIEWER_OUTPUT>...

        Usage: crh merge --diff <FILE> <REVIEWER_OUTPUT>...

        For more information, try '--help'.
        ---
    "#]]
    .assert_eq(&crh(&["merge", "--diff", "x"]).run().shown());
    let output = crh(&["schema", "\u{1b}]0;pwn\u{7}"]).run();
    assert_eq!(output.code, 2);
    assert!(
        !output.stderr.contains('\u{1b}') && output.stderr.contains("\\u{1b}"),
        "{}",
        output.stderr
    );
}

#[test]
fn version_is_printed() {
    let version = format!("crh {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(crh(&["-V"]).run().stdout, version);
    let long = crh(&["--version"]).run().stdout;
    let details = long.strip_prefix(&version).unwrap();
    assert!(details.starts_with("commit: ") && details.contains("installed by: "), "{details}");
}
