//! Golden file of all help texts, so that changes show up in review.

use expect_test::{expect, expect_file};

use crate::crh;

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
    let mut all = String::new();
    for command in commands {
        let output = crh(command).args(["--help"]).run();
        assert_eq!((output.code, output.stderr.as_str()), (0, ""));
        all += &format!("$ crh {}\n{}\n", [command, &["--help"]].concat().join(" "), output.stdout);
    }
    expect_file!["../data/help.txt"].assert_eq(&all);
}

#[test]
fn wrong_arguments_are_escaped_and_get_a_tip() {
    expect![[r#"
        exit 2
        error: unrecognized subcommand 'reveiw'

          tip: some similar subcommands exist: 'serve', 'reviewers', 'review'

        Usage: crh <COMMAND>

        For more information, try '--help'.
        ---
    "#]]
    .assert_eq(&crh(&["reveiw"]).run().shown());
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
