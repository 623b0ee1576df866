use super::*;
use crate::source::Source;

#[test]
fn every_example_of_a_rule_that_has_words_has_one_of_them() {
    let rules = for_language(Language::Python);
    for (id, words) in crate::patterns::words::WORDS {
        let rule = rules.iter().find(|rule| rule.id == id).unwrap().rule().unwrap();
        for text in &rule.besides.invalid {
            let source = Source::new("a.py", text);
            assert!(crate::patterns::words::may_find(id, &source), "{id}: {text} {words:?}");
        }
    }
}

/// What a rule says that looks beyond the statement it is in, or may.
const BEYOND: [&str; 4] = ["kind: module", "follows:", "precedes:", "nthChild: {"];

#[test]
fn rules_that_look_beyond_their_statement_are_known() {
    let (python, _) = FILES[0];
    let beyond = python.split(BETWEEN).filter(|rule| BEYOND.iter().any(|it| rule.contains(it)));
    let ids = beyond.filter_map(|rule| rule.trim_start().strip_prefix("id: ")?.lines().next());
    // What the first looks at is inside of a call.
    assert_eq!(ids.collect::<Vec<_>>(), ["unused-result", "yaml-load"]);
    assert_eq!(crate::patterns::FAR.map(|(id, _)| id), ["yaml-load"]);
}

#[test]
fn every_built_in_rule_can_be_used_and_gets_its_examples_right() {
    let mut wrong = Vec::new();
    for (text, languages) in FILES {
        let written = rule_file::written(text).unwrap();
        for language in languages {
            let rules = for_language(*language).iter();
            // Each is read by itself, and all of them are there.
            let ids = rules.map(|it| (it.id.clone(), it.rule().unwrap().id.clone()));
            let expected = written.iter().map(|it| (rule_file::id(it), rule_file::id(it)));
            assert!(ids.eq(expected), "{language}");
            for mut written in rule_file::written(text).unwrap() {
                written.language = Grammar(*language);
                let id = written.id.clone();
                match PatternRule::new(written) {
                    Err(why) => wrong.push(format!("{language} {id}: {why}")),
                    Ok(rule) => {
                        wrong.extend(
                            rule.wrong_examples().iter().map(|it| format!("{language} {id}: {it}")),
                        );
                        if rule.besides.valid.len() < 3 || rule.besides.invalid.len() < 3 {
                            wrong.push(format!("{language} {id}: fewer than three examples"));
                        }
                    }
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
