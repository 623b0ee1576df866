//! What the documents promise, held against the program and the repository.

use crate::read;
use crate::root;

/// The commands in the README's fenced blocks that run crh through cargo.
fn readme_commands() -> Vec<String> {
    let readme = read("README.md");
    let joined = readme.replace("\\\n", " ");
    joined
        .lines()
        .filter_map(|line| line.strip_prefix("cargo run --quiet -- "))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

#[test]
fn the_first_command_of_the_readme_works_as_written() {
    let first = &readme_commands()[0];
    let script = format!("\"$0\" {first}");
    let program = crh_testkit::Program::new("bash", &root());
    let output = program.args(["-c", &script, env!("CARGO_BIN_EXE_crh")]).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    // What the README shows of it is what it prints.
    let readme = read("README.md");
    let (_, after) = readme.split_once("It prints:").unwrap();
    let shown = after.split("```").nth(1).unwrap().trim_start_matches("text").trim();
    for part in shown.split("…").map(str::trim) {
        assert!(output.stdout.contains(part), "not printed: {part}");
    }
}

#[test]
fn the_readme_and_ci_run_the_same_test_command() {
    let command = "cargo test --workspace";
    assert!(read("README.md").contains(&format!("\n{command}\n")));
    assert!(read(".ci/run").lines().any(|line| line == command), "as a command of its own");
}

#[test]
fn every_path_that_a_document_names_exists() {
    for document in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md", "AGENTS.md"] {
        let text = read(document);
        let code = text.split('`').skip(1).step_by(2);
        let prefixes = ["crates/", "docs/", "scripts/", "examples/", "fuzz/", ".ci/"];
        for path in code.filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix))) {
            if path.contains(['*', '{', '<', ' ', 'N']) {
                continue;
            }
            assert!(root().join(path).exists(), "{document} names {path}");
        }
    }
}
