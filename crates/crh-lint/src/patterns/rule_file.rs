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
use crate::{LintRule, paths};
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::SyntaxTree;

/// The engine recurses into a rule; rules have a few levels.
const RULE_DEPTH_MAX: usize = 48;
/// Rules per file.
const RULES_MAX: usize = 100;
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
    /// Whether the rule also applies to tests and examples.
    samples: Option<bool>,
    /// Set if only repetitions are reported.
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
    /// Node kinds within which matches are compared; the nearest one counts, possibly the match
    /// itself.
    pub(crate) within: Vec<String>,
}

/// A compiled rule.
pub(crate) struct PatternRule {
    pub(crate) id: String,
    /// Severity, category and confidence of all findings of this rule. The real id is in `id`.
    pub(crate) rating: LintRule,
    pub(crate) why: String,
    pub(crate) metadata: RuleMetadata,
    pub(crate) grammar: Grammar,
    /// Cost apart from steps; zero for built-in rules.
    pub(crate) cost: RuleCost,
    /// Node kinds that the rule can match, computed on first use.
    kinds: OnceLock<Vec<usize>>,
    /// The engine's rule in a collection of one, which knows its paths.
    engine: RuleCollection<Grammar>,
}

/// Parses the rules of a file. The error is half a sentence.
pub(crate) fn parse_rules(text: &str) -> Result<Vec<RuleDefinition>, String> {
    // The engine's own settings, with a lower depth limit.
    let mut options = serde_saphyr::options! {
        strict_booleans: true,
        merge_keys: serde_saphyr::MergeKeyPolicy::AsOrdinary,
        reject_unsupported_tags: true,
    };
    if let Some(budget) = &mut options.budget {
        budget.max_depth = RULE_DEPTH_MAX;
    }
    let written: Vec<RuleDefinition> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|why| first_line(&why))?;
    match written.len() {
        0 => Err("it contains no rule".to_owned()),
        1..=RULES_MAX => Ok(written),
        more => Err(format!("it contains {more} rules; the limit is {RULES_MAX}")),
    }
}

/// Parses `metadata.crh` of a rule.
pub(crate) fn metadata(written: &RuleDefinition) -> Result<RuleMetadata, String> {
    let Some(metadata) = &written.metadata else { return Ok(RuleMetadata::default()) };
    // The engine's metadata type is opaque.
    let metadata = serde_json::to_value(metadata).map_err(|why| why.to_string())?;
    let Some(crh) = metadata.get("crh") else { return Ok(RuleMetadata::default()) };
    RuleMetadata::deserialize(crh).map_err(|why| format!("`metadata.crh`: {why}"))
}

/// The severity: crh's own field, otherwise ast-grep's.
pub(crate) fn severity(written: &RuleDefinition, besides: &RuleMetadata) -> Severity {
    besides.severity.unwrap_or(match written.severity {
        EngineSeverity::Error => Severity::P1,
        EngineSeverity::Warning => Severity::P2,
        EngineSeverity::Info | EngineSeverity::Hint | EngineSeverity::Off => Severity::P3,
    })
}

/// The category. Without one, a repository rule is a project standard.
pub(crate) fn category(besides: &RuleMetadata) -> Category {
    besides.category.unwrap_or(Category::Standards)
}

pub(crate) fn confidence(besides: &RuleMetadata) -> Confidence {
    besides.confidence.unwrap_or(DEFAULT_CONFIDENCE)
}

/// The rule id in reports.
pub(crate) fn id(written: &RuleDefinition) -> String {
    format!("patterns/{}", written.id)
}

impl PatternRule {
    /// Compiles a rule. The error is half a sentence.
    pub(crate) fn new(written: RuleDefinition) -> Result<Self, String> {
        let is_word = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
        if written.id.is_empty() || written.id.len() > 80 || !written.id.chars().all(is_word) {
            return Err("its `id` may contain only letters, digits, `-`, `_` and `.`".to_owned());
        }
        if written.message.trim().is_empty() {
            return Err("it has no `message`".to_owned());
        }
        let besides = metadata(&written)?;
        let rule = Self {
            id: id(&written),
            rating: LintRule {
                id: "patterns",
                severity: severity(&written, &besides),
                category: category(&besides),
                confidence: confidence(&besides),
                summary: "",
                aliases: &[],
            },
            why: written.note.clone().unwrap_or_default().trim().to_owned(),
            grammar: written.language,
            cost: RuleCost::default(),
            kinds: OnceLock::new(),
            engine: compile(written)?,
            metadata: besides,
        };
        Ok(rule)
    }

    /// Node kinds that the rule can match. Computing them takes longer than many matches.
    pub(crate) fn kinds(&self, engine: &RuleConfig<Grammar>) -> &[usize] {
        // A rule without kinds is rejected when it is parsed.
        let kinds = || engine.matcher.potential_kinds().iter().flatten().collect();
        self.kinds.get_or_init(kinds)
    }

    /// Compiles a rule of the repository within the cost limits. The error is half a sentence.
    pub(crate) fn from_repository(written: RuleDefinition) -> Result<Self, String> {
        let cost = rule_cost::cost(&written)?;
        let rule = Self { cost, ..Self::new(written)? };
        match rule_cost::has_too_many_examples(&rule.metadata.invalid, &rule.metadata.valid) {
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

    /// The examples that the rule gets wrong, each as half a sentence.
    pub(crate) fn failing_examples(&self) -> Vec<String> {
        let Some(engine) = self.engine_rule() else { return Vec::new() };
        let finds = |text: &str| {
            let parsed = SyntaxTree::new(self.grammar.0, text).ok()?;
            match scan(&parsed, "", &[(self, engine)], UnparsedMatches::Drop) {
                ScanOutcome::Done(found) => Some(!found.is_empty()),
                ScanOutcome::Aborted(_) => None,
            }
        };
        let mut wrong = Vec::new();
        for text in self.metadata.invalid.iter().filter(|text| finds(text) != Some(true)) {
            wrong.push(format!("does not match its example {text:?}"));
        }
        for text in self.metadata.valid.iter().filter(|text| finds(text) != Some(false)) {
            wrong.push(format!("matches its valid example {text:?}"));
        }
        wrong
    }
}

fn compile(written: RuleDefinition) -> Result<RuleCollection<Grammar>, String> {
    let config = RuleConfig::try_from(written, &GlobalRules::default());
    let config = config.map_err(|why| with_causes(&why))?;
    RuleCollection::try_new(vec![config]).map_err(|why| why.to_string())
}

fn with_causes(why: &dyn std::error::Error) -> String {
    let mut words = first_line(why).trim_end_matches('.').to_owned();
    let mut cause = why.source();
    while let Some(why) = cause {
        words = format!("{words}: {}", first_line(why).trim_end_matches('.'));
        cause = why.source();
    }
    words
}

fn first_line(why: &dyn std::error::Error) -> String {
    why.to_string().lines().next().unwrap_or_default().to_owned()
}
