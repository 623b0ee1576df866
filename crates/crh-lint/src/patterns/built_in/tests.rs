use super::*;

#[test]
fn every_built_in_rule_can_be_used_and_gets_its_examples_right() {
    let mut wrong = Vec::new();
    for (text, languages) in FILES {
        let written = rule_file::written(text).unwrap();
        for language in languages {
            let rules = for_language(*language);
            assert!(rules.len() <= written.len());
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
