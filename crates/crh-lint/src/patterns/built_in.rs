//! The built-in pattern rules. They are data in `rules/`, and each is compiled on first use.

use std::collections::BTreeSet;
use std::sync::{LazyLock, OnceLock};

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
        // A test checks that every rule compiles, so `ok` hides no error here.
        let rule = lazy(move || {
            let mut definition = rule_file::parse_rules(text).ok()?.into_iter().next()?;
            definition.language = Grammar(language);
            PatternRule::new(definition).ok()
        });
        Self { id: read_id(text), rule }
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

/// A rule as listed in `docs/static.md` and used by ignore comments, parsed on first use.
struct ListedRule {
    id: &'static str,
    /// Definitions in all languages. The first one counts, with the aliases of all.
    texts: Vec<&'static str>,
    rule: OnceLock<Option<LintRule>>,
}

static LISTED: LazyLock<Vec<ListedRule>> = LazyLock::new(|| {
    let mut listed: Vec<ListedRule> = Vec::new();
    for text in FILES.iter().flat_map(|(text, _)| text.split(RULE_SEPARATOR)) {
        let id = read_id(text);
        match listed.iter_mut().find(|rule| rule.id == id) {
            Some(rule) => rule.texts.push(text),
            // Strings are leaked on purpose: this happens once per rule and process.
            None => {
                listed.push(ListedRule { id: id.leak(), texts: vec![text], rule: OnceLock::new() });
            }
        }
    }
    listed
});

impl ListedRule {
    fn rule(&'static self) -> Option<&'static LintRule> {
        self.rule.get_or_init(|| self.parse()).as_ref()
    }

    fn parse(&self) -> Option<LintRule> {
        let mut definitions =
            self.texts.iter().filter_map(|text| rule_file::parse_rules(text).ok());
        let definition = definitions.next()?.into_iter().next()?;
        let metadata = rule_file::metadata(&definition).unwrap_or_default();
        let (severity, category, confidence) = rule_file::rating(&definition, &metadata);
        let others = definitions.flatten().map(|it| rule_file::metadata(&it).unwrap_or_default());
        let also = metadata.also.into_iter().chain(others.flat_map(|it| it.also));
        let aliases: BTreeSet<String> = also.collect();
        let aliases: Vec<&'static str> = aliases.into_iter().map(|name| &*name.leak()).collect();
        Some(LintRule {
            id: self.id,
            severity,
            category,
            confidence,
            summary: definition.message.leak(),
            aliases: aliases.leak(),
        })
    }
}

/// Ids of the built-in rules.
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    LISTED.iter().map(|rule| rule.id)
}

/// The built-in rules. A rule of several languages is listed once.
pub(crate) fn rules() -> impl Iterator<Item = &'static LintRule> {
    LISTED.iter().filter_map(ListedRule::rule)
}

/// The built-in rule with an id.
pub(crate) fn rule(id: &str) -> Option<&'static LintRule> {
    LISTED.iter().find(|rule| rule.id == id)?.rule()
}

fn read_id(text: &str) -> String {
    let name = text.trim_start().strip_prefix("id: ").and_then(|it| it.lines().next());
    format!("patterns/{}", name.unwrap_or_default())
}

fn load_rules(language: Language) -> Vec<BuiltInRule> {
    let files = FILES.iter().filter(|(_, languages)| languages.contains(&language));
    files
        .flat_map(|(text, _)| {
            text.split(RULE_SEPARATOR).map(|rule| BuiltInRule::new(rule, language))
        })
        .collect()
}

#[cfg(test)]
mod tests;
