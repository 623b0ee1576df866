//! The built-in pattern rules. They are data in `rules/`, and each is compiled on first use.

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

/// A built-in rule, parsed and compiled on first use: most rules need a keyword that most texts do
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
        // A test checks that every rule compiles, so `ok` hides no error here.
        let rule = lazy(move || {
            let mut definition = rule_file::parse_rules(text).ok()?.into_iter().next()?;
            definition.language = Grammar(language);
            PatternRule::new(definition).ok()
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
    let mut alias_lists: Vec<Vec<String>> = Vec::new();
    for definition in
        FILES.iter().flat_map(|(text, _)| rule_file::parse_rules(text).unwrap_or_default())
    {
        let metadata = rule_file::metadata(&definition).unwrap_or_default();
        let id = rule_file::id(&definition);
        if let Some(at) = rules.iter().position(|rule| rule.id == id) {
            alias_lists[at].extend(metadata.also);
            continue;
        }
        let (severity, category, confidence) = rule_file::rating(&definition, &metadata);
        // The strings are leaked on purpose: this function runs once per process.
        rules.push(LintRule {
            id: id.leak(),
            severity,
            category,
            confidence,
            summary: definition.message.clone().leak(),
            aliases: &[],
        });
        alias_lists.push(metadata.also);
    }
    for (rule, mut aliases) in rules.iter_mut().zip(alias_lists) {
        aliases.sort();
        aliases.dedup();
        let aliases: Vec<&'static str> = aliases.into_iter().map(|name| &*name.leak()).collect();
        rule.aliases = aliases.leak();
    }
    rules
}

#[cfg(test)]
mod tests;
