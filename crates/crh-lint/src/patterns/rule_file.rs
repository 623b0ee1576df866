//! Rule files: ast-grep's format, with crh's own fields under `metadata.crh`.

use std::path::Path;
use std::sync::OnceLock;

use ast_grep_config::{
    GlobalRules, RuleCollection, RuleConfig, SerializableRuleConfig, Severity as EngineSeverity,
};
use ast_grep_core::Matcher;
use serde::Deserialize;

use super::grammar::Grammar;
use super::rule_cost;
use super::rule_cost::RuleCost;
use super::scan::{ScanOutcome, UnparsedMatches, scan};
use crate::findings::RuleRating;
use crate::paths;
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::SyntaxTree;

/// Maximum nesting levels of a rule, because the engine walks rules recursively. Normal rules have
/// a few levels.
const RULE_DEPTH_MAX: usize = 48;
/// Maximum rules per file. Files with more rules are generated.
const RULES_MAX: usize = 100;
/// Maximum bytes of a rule id. Every finding shows the id, so it must be short.
const ID_BYTES_MAX: usize = 80;
/// Default confidence of a repository rule: it was written for this code.
const DEFAULT_CONFIDENCE: Confidence = Confidence::thousandths(800);

/// A rule as written in a rule file.
pub(crate) type RuleDefinition = SerializableRuleConfig<Grammar>;

/// crh's own fields of a rule: `metadata.crh`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RuleMetadata {
    severity: Option<Severity>,
    category: Option<Category>,
    confidence: Option<Confidence>,
    /// Names of the rule in other tools.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// Suggested fix, as a sentence.
    #[serde(default)]
    pub(crate) fix: String,
    /// Whether the rule also applies to tests and examples; it does if this is missing.
    samples: Option<bool>,
    /// If set, a match is reported only if it repeats an earlier one.
    pub(crate) once: Option<OnceScope>,
    /// Examples that the rule must match.
    #[serde(default)]
    pub(crate) invalid: Vec<String>,
    /// Examples that the rule must not match.
    #[serde(default)]
    pub(crate) valid: Vec<String>,
}

/// Makes a rule report only repetitions of a match.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OnceScope {
    /// The variable whose text makes two matches equal.
    pub(crate) name: String,
    /// Node kinds that limit the comparison. Two matches are compared if their nearest enclosing
    /// node of such a kind is the same. This node may be the match itself.
    pub(crate) within: Vec<String>,
}

/// A compiled rule.
pub(crate) struct PatternRule {
    pub(crate) id: String,
    pub(crate) rating: RuleRating,
    pub(crate) why: String,
    pub(crate) metadata: RuleMetadata,
    pub(crate) grammar: Grammar,
    /// Cost apart from steps; zero for built-in rules, which are trusted.
    pub(crate) cost: RuleCost,
    /// Node kinds that the rule can match, computed on first use.
    kinds: OnceLock<Vec<usize>>,
    /// The engine's rule, in a collection of one, because only a collection applies the rule's path
    /// filters.
    engine: RuleCollection<Grammar>,
}

/// Parses the rules of a file. The error is half a sentence whose subject is the file.
pub(crate) fn parse_rules(text: &str) -> Result<Vec<RuleDefinition>, String> {
    // These are the engine's own settings, with a lower depth limit.
    let mut options = serde_saphyr::options! {
        strict_booleans: true,
        merge_keys: serde_saphyr::MergeKeyPolicy::AsOrdinary,
        reject_unsupported_tags: true,
    };
    if let Some(budget) = &mut options.budget {
        budget.max_depth = RULE_DEPTH_MAX;
    }
    let definitions: Vec<RuleDefinition> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|why| first_line(&why))?;
    match definitions.len() {
        0 => Err("it contains no rule".to_owned()),
        1..=RULES_MAX => Ok(definitions),
        count => Err(format!("it contains {count} rules; the limit is {RULES_MAX}")),
    }
}

/// Parses `metadata.crh` of a rule.
pub(crate) fn metadata(definition: &RuleDefinition) -> Result<RuleMetadata, String> {
    let Some(metadata) = &definition.metadata else { return Ok(RuleMetadata::default()) };
    // The engine's metadata type has no accessors, so it is read as JSON.
    let metadata = serde_json::to_value(metadata).map_err(|why| why.to_string())?;
    let Some(crh) = metadata.get("crh") else { return Ok(RuleMetadata::default()) };
    RuleMetadata::deserialize(crh).map_err(|why| format!("`metadata.crh`: {why}"))
}

/// Severity, category and confidence. The severity is crh's own field, otherwise ast-grep's. A
/// rule without a category is a project standard.
pub(crate) fn rating(definition: &RuleDefinition, metadata: &RuleMetadata) -> RuleRating {
    let severity = metadata.severity.unwrap_or(match definition.severity {
        EngineSeverity::Error => Severity::P1,
        EngineSeverity::Warning => Severity::P2,
        EngineSeverity::Info | EngineSeverity::Hint | EngineSeverity::Off => Severity::P3,
    });
    let category = metadata.category.unwrap_or(Category::Standards);
    (severity, category, metadata.confidence.unwrap_or(DEFAULT_CONFIDENCE))
}

/// The rule id in reports.
pub(crate) fn id(definition: &RuleDefinition) -> String {
    format!("patterns/{}", definition.id)
}

impl PatternRule {
    /// Compiles a rule. The error is half a sentence whose subject is the rule.
    pub(crate) fn new(definition: RuleDefinition) -> Result<Self, String> {
        let is_word = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
        if definition.id.is_empty()
            || definition.id.len() > ID_BYTES_MAX
            || !definition.id.chars().all(is_word)
        {
            return Err("its `id` may contain only letters, digits, `-`, `_` and `.`".to_owned());
        }
        if definition.message.trim().is_empty() {
            return Err("it has no `message`".to_owned());
        }
        let metadata = metadata(&definition)?;
        let rule = Self {
            id: id(&definition),
            rating: rating(&definition, &metadata),
            why: definition.note.clone().unwrap_or_default().trim().to_owned(),
            grammar: definition.language,
            cost: RuleCost::default(),
            kinds: OnceLock::new(),
            engine: compile(definition)?,
            metadata,
        };
        Ok(rule)
    }

    /// Node kinds that the rule can match. They are cached, because computing them takes longer
    /// than many matches.
    pub(crate) fn kinds(&self, engine: &RuleConfig<Grammar>) -> &[usize] {
        // The engine rejects a rule without kinds when it compiles the rule.
        let kinds = || engine.matcher.potential_kinds().iter().flatten().collect();
        self.kinds.get_or_init(kinds)
    }

    /// Compiles a repository rule within the cost limits. The error is half a sentence whose
    /// subject is the rule.
    pub(crate) fn from_repository(definition: RuleDefinition) -> Result<Self, String> {
        let cost = rule_cost::cost(&definition)?;
        let rule = Self { cost, ..Self::new(definition)? };
        match rule_cost::example_limit_error(&rule.metadata.invalid, &rule.metadata.valid) {
            Some(why) => Err(why),
            None => Ok(rule),
        }
    }

    /// The engine's rule, if it applies to a file.
    pub(crate) fn for_path(&self, path: &str) -> Option<&RuleConfig<Grammar>> {
        if self.metadata.samples == Some(false) && paths::is_sample(path) {
            return None;
        }
        self.engine.get_rule_from_lang(Path::new(path), self.grammar).into_iter().next()
    }

    /// The engine's rule, regardless of paths.
    fn engine_rule(&self) -> Option<&RuleConfig<Grammar>> {
        let name = self.id.strip_prefix("patterns/")?;
        self.engine.get_rule(name)
    }

    /// The examples that the rule gets wrong, each as half a sentence whose subject is the rule.
    pub(crate) fn failing_examples(&self) -> Vec<String> {
        let Some(engine) = self.engine_rule() else { return Vec::new() };
        let has_match = |text: &str| {
            let tree = SyntaxTree::new(self.grammar.0, text).ok()?;
            match scan(&tree, "", &[(self, engine)], UnparsedMatches::Drop) {
                ScanOutcome::Done(found) => Some(!found.is_empty()),
                ScanOutcome::Aborted(_) => None,
            }
        };
        let mut failures = Vec::new();
        for text in self.metadata.invalid.iter().filter(|text| has_match(text) != Some(true)) {
            failures.push(format!("does not match its example {text:?}"));
        }
        for text in self.metadata.valid.iter().filter(|text| has_match(text) != Some(false)) {
            failures.push(format!("matches its valid example {text:?}"));
        }
        failures
    }
}

fn compile(definition: RuleDefinition) -> Result<RuleCollection<Grammar>, String> {
    let config = RuleConfig::try_from(definition, &GlobalRules::default());
    let config = config.map_err(|why| with_causes(&why))?;
    RuleCollection::try_new(vec![config]).map_err(|why| why.to_string())
}

fn with_causes(why: &dyn std::error::Error) -> String {
    let mut message = first_line(why).trim_end_matches('.').to_owned();
    let mut cause = why.source();
    while let Some(why) = cause {
        message = format!("{message}: {}", first_line(why).trim_end_matches('.'));
        cause = why.source();
    }
    message
}

fn first_line(why: &dyn std::error::Error) -> String {
    why.to_string().lines().next().unwrap_or_default().to_owned()
}
