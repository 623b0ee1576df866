//! The rules that come with crh: data in `rules/`, compiled when the first file of their language is looked at.

use std::sync::LazyLock;

use crh_syntax::Language;

use super::grammar::Grammar;
use super::rule_file;
use super::rule_file::PatternRule;
use crate::Rule;

/// A file of rules and the languages it is for: those that share the names of their nodes share the rules.
const FILES: [(&str, &[Language]); 6] = [
    (include_str!("../../rules/python.yml"), &[Language::Python]),
    (
        include_str!("../../rules/javascript.yml"),
        &[Language::JavaScript, Language::TypeScript, Language::Tsx],
    ),
    (include_str!("../../rules/go.yml"), &[Language::Go]),
    (include_str!("../../rules/rust.yml"), &[Language::Rust]),
    (include_str!("../../rules/java.yml"), &[Language::Java]),
    (include_str!("../../rules/ruby.yml"), &[Language::Ruby]),
];

/// The built-in rules of a language.
pub(crate) fn for_language(language: Language) -> &'static [PatternRule] {
    static PYTHON: LazyLock<Vec<PatternRule>> = LazyLock::new(|| compiled(Language::Python));
    static JAVASCRIPT: LazyLock<Vec<PatternRule>> =
        LazyLock::new(|| compiled(Language::JavaScript));
    static TYPESCRIPT: LazyLock<Vec<PatternRule>> =
        LazyLock::new(|| compiled(Language::TypeScript));
    static TSX: LazyLock<Vec<PatternRule>> = LazyLock::new(|| compiled(Language::Tsx));
    static GO: LazyLock<Vec<PatternRule>> = LazyLock::new(|| compiled(Language::Go));
    static RUST: LazyLock<Vec<PatternRule>> = LazyLock::new(|| compiled(Language::Rust));
    static JAVA: LazyLock<Vec<PatternRule>> = LazyLock::new(|| compiled(Language::Java));
    static RUBY: LazyLock<Vec<PatternRule>> = LazyLock::new(|| compiled(Language::Ruby));
    match language {
        Language::Python => &PYTHON,
        Language::JavaScript => &JAVASCRIPT,
        Language::TypeScript => &TYPESCRIPT,
        Language::Tsx => &TSX,
        Language::Go => &GO,
        Language::Rust => &RUST,
        Language::Java => &JAVA,
        Language::Ruby => &RUBY,
        Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => &[],
    }
}

/// What `docs/static.md` lists and ignore comments go by. A rule that several languages have is listed once, with the names that others have for it in each.
pub(crate) fn rules() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(listed);
    &RULES
}

/// A test shows that every file can be read and every rule in it is one, so that nothing is lost here.
fn compiled(language: Language) -> Vec<PatternRule> {
    let files = FILES.iter().filter(|(_, languages)| languages.contains(&language));
    let written = files.flat_map(|(text, _)| rule_file::written(text).unwrap_or_default());
    let spoken = written.map(|mut written| {
        written.language = Grammar(language);
        written
    });
    spoken.filter_map(|written| PatternRule::new(written).ok()).collect()
}

fn listed() -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut names: Vec<Vec<String>> = Vec::new();
    for written in FILES.iter().flat_map(|(text, _)| rule_file::written(text).unwrap_or_default()) {
        let besides = rule_file::besides(&written).unwrap_or_default();
        let id = rule_file::id(&written);
        if let Some(at) = rules.iter().position(|rule| rule.id == id) {
            names[at].extend(besides.also);
            continue;
        }
        // Read once for the whole life of the process, like everything else about a rule.
        rules.push(Rule {
            id: id.leak(),
            severity: rule_file::severity(&written, &besides),
            category: rule_file::category(&besides),
            confidence: rule_file::confidence(&besides),
            finds: written.message.clone().leak(),
            also: &[],
        });
        names.push(besides.also);
    }
    for (rule, mut also) in rules.iter_mut().zip(names) {
        also.sort();
        also.dedup();
        let also: Vec<&'static str> = also.into_iter().map(|name| &*name.leak()).collect();
        rule.also = also.leak();
    }
    rules
}

#[cfg(test)]
mod tests;
