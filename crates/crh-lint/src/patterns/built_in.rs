//! The rules that come with crh: data in `rules/`, each compiled when it is first held against a text.

use std::sync::LazyLock;

use super::grammar::Grammar;
use super::rule_file;
use super::rule_file::PatternRule;
use crate::Rule;
use crate::lazy::{Lazy, lazy};
use crh_syntax::Language;

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

/// What stands between the rules of a file.
const BETWEEN: &str = "\n---\n";

/// A built-in rule, which is read and compiled when it is first asked for: most are about words that most texts have not.
pub(crate) struct BuiltIn {
    /// Its name in reports.
    pub(crate) id: String,
    rule: Lazy<PatternRule>,
}

impl BuiltIn {
    fn new(text: &'static str, language: Language) -> Self {
        let name = text.trim_start().strip_prefix("id: ").and_then(|it| it.lines().next());
        let id = format!("patterns/{}", name.unwrap_or_default());
        // A test shows that every rule can be read and used, so that nothing is lost here.
        let rule = lazy(move || {
            let mut written = rule_file::written(text).ok()?.into_iter().next()?;
            written.language = Grammar(language);
            PatternRule::new(written).ok()
        });
        Self { id, rule }
    }

    pub(crate) fn rule(&'static self) -> Option<&'static PatternRule> {
        self.rule.as_ref()
    }
}

type Rules = LazyLock<Vec<BuiltIn>>;

/// The built-in rules of a language.
pub(crate) fn for_language(language: Language) -> &'static [BuiltIn] {
    static PYTHON: Rules = Rules::new(|| all(Language::Python));
    static JAVASCRIPT: Rules = Rules::new(|| all(Language::JavaScript));
    static TYPESCRIPT: Rules = Rules::new(|| all(Language::TypeScript));
    static TSX: Rules = Rules::new(|| all(Language::Tsx));
    static GO: Rules = Rules::new(|| all(Language::Go));
    static RUST: Rules = Rules::new(|| all(Language::Rust));
    static JAVA: Rules = Rules::new(|| all(Language::Java));
    static RUBY: Rules = Rules::new(|| all(Language::Ruby));
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

fn all(language: Language) -> Vec<BuiltIn> {
    let files = FILES.iter().filter(|(_, languages)| languages.contains(&language));
    files
        .flat_map(|(text, _)| text.split(BETWEEN).map(|rule| BuiltIn::new(rule, language)))
        .collect()
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
