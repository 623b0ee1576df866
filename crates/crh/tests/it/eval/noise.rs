//! `crh eval noise`: findings per commit of a repository.

use expect_test::expect;

use crate::user::User;
use crh_testkit::Repo;

#[test]
fn noise_counts_findings_on_the_last_commits() {
    let repo = Repo::new();
    for (text, message) in [
        ("def a():\n    return 1\n", "A function"),
        ("def a():\n    return (1\n", "A slip"),
        ("def a():\n    return 2\n", "The slip is gone"),
        ("def a():\n    return 3\n", "Three"),
    ] {
        repo.write("a.py", text);
        repo.commit(message);
    }
    let user = User::new();
    let noise = |last: &str, more: &[&str]| {
        let path = repo.path().to_str().unwrap();
        let args = ["eval", "noise", path, "--strategy", "static", "--last", last];
        user.crh(&user.path(""), &[&args, more].concat()).run()
    };
    let output = noise("3", &[]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let slip = repo.id("HEAD~2");
    expect![[r#"
        1 findings on 1 of 3 commits: 33.33 for every 100 commits
        by reviewer: syntax 1
        by severity: P1 1

        1 of 1 findings:

        SLIP a.py:2
          P1 The file does not parse (syntax)
          > return (1
    "#]]
    .assert_eq(&output.stdout.replace(&slip[..12], "SLIP"));
    assert_eq!(noise("2", &[]).stdout.lines().count(), 1);
    let json: serde_json::Value =
        serde_json::from_str(&noise("3", &["--format", "json"]).stdout).unwrap();
    assert_eq!(json["per_100_commits"], 33.333333);
    let twice = noise("3", &["--repeat", "2"]).stdout;
    let lines: Vec<_> = twice.lines().filter(|line| line.contains("findings")).collect();
    assert_eq!(
        lines,
        [
            "2 findings on 1 of 3 commits in 6 reviews: 33.33 for every 100 commits",
            "1 of 1 findings:"
        ]
    );
    // A folder without commits is refused.
    let empty = Repo::new();
    let refused = user.crh(empty.path(), &["eval", "noise", "--strategy", "static"]).run();
    assert_eq!(refused.code, 2, "{}", refused.stderr);
}
