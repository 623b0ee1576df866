//! Checks the documents against the program and the repository.

use std::collections::BTreeMap;

use crate::{read, root};

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
fn first_readme_command_works_as_written() {
    let first = &readme_commands()[0];
    let script = format!("\"$0\" {first}");
    let program = crh_testkit::Program::new("bash", &root());
    let output = program.args(["-c", &script, env!("CARGO_BIN_EXE_crh")]).run();
    assert_eq!(output.code, 0, "{}", output.stderr);
    // The README shows the real output.
    let readme = read("README.md");
    let (_, after) = readme.split_once("these lines:").unwrap();
    let shown = after.split("```").nth(1).unwrap().trim_start_matches("text").trim();
    for part in shown.split("…").map(str::trim) {
        assert!(output.stdout.contains(part), "not printed: {part}");
    }
}

#[test]
fn readme_and_ci_use_the_same_test_command() {
    let command = "cargo test --workspace";
    assert!(read("README.md").contains(&format!("\n{command}\n")));
    assert!(read(".ci/run").lines().any(|line| line == command), "as a command of its own");
}

#[test]
fn paths_named_in_documents_exist() {
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

#[test]
fn site_has_every_page_and_links_lead_to_files() {
    let summary = read("docs/SUMMARY.md");
    let entries = std::fs::read_dir(root().join("docs")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    assert!(pages.len() > 15);
    for page in &pages {
        assert!(page == "SUMMARY.md" || summary.contains(&format!("({page})")), "{page}");
        let text = read(&format!("docs/{page}"));
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')) {
            let (path, _anchor) = link.0.split_once('#').unwrap_or((link.0, ""));
            let is_file = !path.is_empty() && !path.contains("://");
            assert!(!is_file || root().join("docs").join(path).exists(), "{page}: {path}");
        }
    }
}

/// Checks facts of the models page against the code.
#[test]
fn models_page_matches_the_code() {
    let page = read("docs/models.md");
    let catalogue = crh_llm::ModelCatalogue::new(BTreeMap::new()).unwrap();
    for provider in crh_llm::Provider::ALL {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{provider}` |")));
        let row = row.unwrap_or_else(|| panic!("no row for {provider}"));
        let facts = catalogue.provider(provider);
        for variable in facts.key.iter().chain(&facts.base_url_variable) {
            assert!(row.contains(variable.as_str()), "{row}");
        }
    }
    let unknown = crh_llm::LiveName {
        provider: crh_llm::Provider::OpenAi,
        model: "unknown".to_owned(),
        base_url: None,
    };
    let facts = catalogue.facts(&unknown, &"https://host.example".parse().unwrap());
    assert_eq!((facts.context, facts.max_output), (128_000, 8_192));
    assert!(page.contains("else 128,000 tokens; output of 8,192 tokens"));
    let timeouts = crh_http::Timeouts::default();
    let seconds = [timeouts.connect, timeouts.first_byte, timeouts.idle].map(|time| time.as_secs());
    assert_eq!(seconds, [15, 5 * 60, 2 * 60]);
    assert!(page.contains(
        "15 seconds for a connection, five minutes for the first byte of a reply, and two minutes between two parts of a reply"
    ));
    let policy = crh_llm::retry::RetryPolicy::default();
    assert_eq!((policy.max_attempts, policy.longest_wait.as_secs()), (5, 60));
    assert!(page.contains("at most a minute") && page.contains("at most five requests"));
}

/// The static checks page lists every built-in rule. `UPDATE_EXPECT=1` writes the list.
#[test]
fn static_page_lists_every_rule() {
    const BEGIN: &str = "<!-- rules -->\n";
    const END: &str = "<!-- /rules -->";
    let mut list =
        "| rule | finds | severity | confidence | names in other tools |\n|---|---|---|---|---|\n"
            .to_owned();
    // Credential formats differ only in the vendor, which is part of the rule id.
    let mut secrets: Vec<(String, Vec<String>)> = Vec::new();
    for rule in crh_lint::rules() {
        let aliases: Vec<String> = rule.aliases.iter().map(|name| format!("`{name}`")).collect();
        let (finds, confidence) = (rule.summary.replace('|', "\\|"), rule.confidence.value());
        let (id, severity, aliases) = (rule.id, rule.severity, aliases.join(", "));
        if !id.starts_with("secrets/") {
            list += &format!("| `{id}` | {finds} | {severity} | {confidence} | {aliases} |\n");
            continue;
        }
        let rating = format!("{severity} | {confidence}");
        let name = match aliases.as_str() {
            "" => format!("`{id}`"),
            aliases => format!("`{id}` ({aliases})"),
        };
        match secrets.iter_mut().find(|(known, _)| *known == rating) {
            Some((_, names)) => names.push(name),
            None => secrets.push((rating, vec![name])),
        }
    }
    list += "\n| severity | confidence | rules for credentials |\n|---|---|---|\n";
    for (rating, names) in secrets {
        list += &format!("| {rating} | {} |\n", names.join(", "));
    }
    let page = read("docs/static.md");
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}{list}{END}{after}");
    expect_test::expect_file![root().join("docs/static.md")].assert_eq(&expected);
}
