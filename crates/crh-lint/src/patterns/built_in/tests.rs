use super::*;
use crate::source::SourceText;

#[test]
fn every_example_contains_a_keyword_of_its_rule() {
    let rules = for_language(Language::Python);
    for (id, words) in crate::patterns::keywords::RULE_KEYWORDS {
        let rule = rules.iter().find(|rule| rule.id == id).unwrap().rule().unwrap();
        for text in &rule.metadata.invalid {
            let source = SourceText::new("a.py", text);
            assert!(crate::patterns::keywords::may_match(id, &source), "{id}: {text} {words:?}");
        }
    }
}

/// Rule keys that make a rule look beyond its statement.
const BEYOND: [&str; 4] = ["kind: module", "follows:", "precedes:", "nthChild: {"];

#[test]
fn whole_file_rules_are_listed() {
    let (python, _) = FILES[0];
    let beyond =
        python.split(RULE_SEPARATOR).filter(|rule| BEYOND.iter().any(|it| rule.contains(it)));
    let ids = beyond.filter_map(|rule| rule.trim_start().strip_prefix("id: ")?.lines().next());
    // `unused-result` looks beyond a node, but only inside its own statement.
    assert_eq!(ids.collect::<Vec<_>>(), ["unused-result", "yaml-load"]);
    assert_eq!(crate::patterns::WHOLE_FILE_RULES.map(|(id, _)| id), ["yaml-load"]);
}

#[test]
fn every_built_in_rule_passes_its_examples() {
    let mut failures = Vec::new();
    for (text, languages) in FILES {
        let written = rule_file::parse_rules(text).unwrap();
        for language in languages {
            let rules = for_language(*language).iter();
            // Each file is parsed separately, and all rules are present.
            let ids = rules.map(|it| (it.id.clone(), it.rule().unwrap().id.clone()));
            let expected = written.iter().map(|it| (rule_file::id(it), rule_file::id(it)));
            assert!(ids.eq(expected), "{language}");
            for mut written in rule_file::parse_rules(text).unwrap() {
                written.language = Grammar(*language);
                let id = written.id.clone();
                match PatternRule::new(written) {
                    Err(why) => failures.push(format!("{language} {id}: {why}")),
                    Ok(rule) => {
                        failures.extend(
                            rule.failing_examples()
                                .iter()
                                .map(|it| format!("{language} {id}: {it}")),
                        );
                        if rule.metadata.valid.len() < 3 || rule.metadata.invalid.len() < 3 {
                            failures.push(format!("{language} {id}: fewer than three examples"));
                        }
                    }
                }
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
}
