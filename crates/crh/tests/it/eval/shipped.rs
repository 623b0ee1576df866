//! The suite of this project (`eval/suite`) and its results in `docs/eval.md`.

use std::collections::BTreeMap;
use std::fs;

use expect_test::expect_file;

use super::programs;
use crate::user::User;
use crate::{read, root};

/// Languages of the suite.
const LANGUAGES: [&str; 8] =
    ["c", "go", "java", "javascript", "python", "ruby", "rust", "typescript"];

/// The `case.toml` of every case, by id.
fn cases() -> BTreeMap<String, toml::Table> {
    let folder = root().join("eval/suite");
    let cases = fs::read_dir(folder).unwrap().map(|entry| {
        let id = entry.unwrap().file_name().into_string().unwrap();
        let text = read(&format!("eval/suite/{id}/case.toml"));
        (id, text.parse().unwrap())
    });
    cases.collect()
}

fn list<'a>(case: &'a toml::Table, key: &str) -> &'a [toml::Value] {
    case.get(key).and_then(toml::Value::as_array).map_or(&[], Vec::as_slice)
}

#[test]
fn suite_has_clean_and_defective_cases_per_language() {
    let cases = cases();
    let is_clean = |case: &toml::Table| list(case, "expected").is_empty();
    let clean = cases.values().filter(|case| is_clean(case)).count();
    assert!(cases.len() >= 60 && clean * 3 >= cases.len(), "{clean} of {}", cases.len());
    for language in LANGUAGES {
        let of_it = || cases.values().filter(|case| case["language"].as_str() == Some(language));
        assert!(of_it().any(is_clean) && !of_it().all(is_clean), "{language}");
    }
}

#[test]
fn each_defect_names_its_input_and_its_proof() {
    for (id, case) in cases() {
        for expected in list(&case, "expected") {
            let text = |key: &str| expected.get(key).and_then(toml::Value::as_str).unwrap_or("");
            assert!(text("note").len() > 20, "{id} has no input");
            let proved = text("proved");
            assert!(
                proved.starts_with("ran ") || proved.starts_with("not run: "),
                "{id}: {proved}"
            );
        }
    }
}

/// Scores of an evaluation in Markdown, without cost and time, which differ between runs.
fn numbers(markdown: &str) -> &str {
    markdown.split("### Cost and time").next().unwrap().trim()
}

/// The page shows the current output of each command that it names, and no result is worse than its
/// baseline. `UPDATE_EXPECT=1` rewrites the page.
#[test]
fn eval_page_matches_its_commands_and_gates_pass() {
    let page = read("docs/eval.md");
    let commands: Vec<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("crh "))
        .filter(|line| line.ends_with("--format markdown"))
        .collect();
    let mut parts = page.split("<!-- printed -->\n");
    let mut updated = parts.next().unwrap().to_owned();
    let parts: Vec<&str> = parts.collect();
    assert_eq!((commands.len(), parts.len()), (2, 2));
    for ((command, part), strategy) in commands.iter().zip(parts).zip(["static", "single"]) {
        assert!(command.contains(&format!("--strategy {strategy}")), "{command}");
        let user = User::new();
        let programs = programs(&user);
        let out = user.path("out");
        let out = out.to_str().unwrap();
        let words = command.split_whitespace().chain(["--out", out]);
        let evaluation = user.crh(&root(), &words.collect::<Vec<_>>());
        let printed = evaluation.env("PATH", programs.to_str().unwrap()).run();
        assert_eq!(printed.code, 0, "{}", printed.stderr);
        let (_, rest) = part.split_once("<!-- end -->").unwrap();
        updated += &format!("<!-- printed -->\n{}\n<!-- end -->{rest}", numbers(&printed.stdout));
        let baseline = format!("eval/baselines/{strategy}.json");
        let gate = ["eval", "gate", "--result", out, "--baseline", &baseline];
        let held = user.crh(&root(), &gate).run();
        assert_eq!(held.code, 0, "{}{}", held.stdout, held.stderr);
    }
    expect_file![root().join("docs/eval.md")].assert_eq(&updated);
    for strategy in ["panel", "delegate"] {
        let user = User::new();
        let held = user.crh(&root(), &["eval", "gate", "--strategy", strategy]).run();
        assert_eq!(held.code, 0, "{}{}", held.stdout, held.stderr);
    }
}
