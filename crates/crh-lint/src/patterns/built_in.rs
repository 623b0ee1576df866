//! The built-in pattern rules: data in `rules/`, each compiled on first use.

use std::sync::LazyLock;

use super::grammar::Grammar;
use super::rule_file;
use super::rule_file::PatternRule;
use crate::LintRule;
use crate::lazy_option::{LazyOption, lazy};
use crh_syntax::Language;

/// Rule files and their languages. Languages with the same node names share rules.
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

const RULE_SEPARATOR: &str = "\n---\n";

/// A built-in rule, parsed and compiled on first use. Most rules are about words that most texts do
/// not contain.
pub(crate) struct BuiltInRule {
    /// Rule id in reports.
    pub(crate) id: String,
    rule: LazyOption<PatternRule>,
}

impl BuiltInRule {
    fn new(text: &'static str, language: Language) -> Self {
        let name = text.trim_start().strip_prefix("id: ").and_then(|it| it.lines().next());
        let id = format!("patterns/{}", name.unwrap_or_default());
        // A test checks that every rule compiles, so no rule is lost here.
        let rule = lazy(move || {
            let mut written = rule_file::parse_rules(text).ok()?.into_iter().next()?;
            written.language = Grammar(language);
            PatternRule::new(written).ok()
        });
        Self { id, rule }
    }

    pub(crate) fn rule(&'static self) -> Option<&'static PatternRule> {
        self.rule.as_ref()
    }
}

type LazyRules = LazyLock<Vec<BuiltInRule>>;

/// The built-in rules of a language.
pub(crate) fn for_language(language: Language) -> &'static [BuiltInRule] {
    static PYTHON: LazyRules = LazyRules::new(|| load_rules(Language::Python));
    static JAVASCRIPT: LazyRules = LazyRules::new(|| load_rules(Language::JavaScript));
    static TYPESCRIPT: LazyRules = LazyRules::new(|| load_rules(Language::TypeScript));
    static TSX: LazyRules = LazyRules::new(|| load_rules(Language::Tsx));
    static GO: LazyRules = LazyRules::new(|| load_rules(Language::Go));
    static RUST: LazyRules = LazyRules::new(|| load_rules(Language::Rust));
    static JAVA: LazyRules = LazyRules::new(|| load_rules(Language::Java));
    static RUBY: LazyRules = LazyRules::new(|| load_rules(Language::Ruby));
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

/// Rules as listed in `docs/static.md` and used by ignore comments. A rule of several languages is
/// listed once, with the aliases of all languages.
pub(crate) fn rules() -> &'static [LintRule] {
    static RULES: LazyLock<Vec<LintRule>> = LazyLock::new(list_rules);
    &RULES
}

fn load_rules(language: Language) -> Vec<BuiltInRule> {
    let files = FILES.iter().filter(|(_, languages)| languages.contains(&language));
    files
        .flat_map(|(text, _)| {
            text.split(RULE_SEPARATOR).map(|rule| BuiltInRule::new(rule, language))
        })
        .collect()
}

fn list_rules() -> Vec<LintRule> {
    let mut rules: Vec<LintRule> = Vec::new();
    let mut names: Vec<Vec<String>> = Vec::new();
    for written in
        FILES.iter().flat_map(|(text, _)| rule_file::parse_rules(text).unwrap_or_default())
    {
        let besides = rule_file::metadata(&written).unwrap_or_default();
        let id = rule_file::id(&written);
        if let Some(at) = rules.iter().position(|rule| rule.id == id) {
            names[at].extend(besides.also);
            continue;
        }
        // Leaked on purpose: parsed once per process.
        rules.push(LintRule {
            id: id.leak(),
            severity: rule_file::severity(&written, &besides),
            category: rule_file::category(&besides),
            confidence: rule_file::confidence(&besides),
            summary: written.message.clone().leak(),
            aliases: &[],
        });
        names.push(besides.also);
    }
    for (rule, mut also) in rules.iter_mut().zip(names) {
        also.sort();
        also.dedup();
        let also: Vec<&'static str> = also.into_iter().map(|name| &*name.leak()).collect();
        rule.aliases = also.leak();
    }
    rules
}

#[cfg(test)]
mod tests;
