//! Rule files: ast-grep's own form, with what crh wants to know besides under `metadata.crh`.

use std::path::Path;
use std::sync::OnceLock;

use ast_grep_config::{
    GlobalRules, RuleCollection, RuleConfig, SerializableRuleConfig, Severity as EngineSeverity,
};
use ast_grep_core::Matcher;
use serde::Deserialize;

use super::bounds;
use super::bounds::Cost;
use super::grammar::Grammar;
use super::scan::{Doubtful, Scan, scan};
use crate::{Rule, paths};
use crh_review::finding::{Category, Confidence, Severity};
use crh_syntax::Parsed;

/// What the engine walks by recursion is a rule of a few levels.
const RULE_DEPTH_MAX: usize = 48;
/// Rules of one file.
const RULES_MAX: usize = 100;
/// How sure a repository's rule is that says nothing about it: somebody wrote it for this very code.
const CONFIDENCE: Confidence = Confidence::thousandths(800);

/// What a rule file says about one rule.
pub(crate) type Written = SerializableRuleConfig<Grammar>;

/// What crh wants to know besides: `metadata.crh`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Besides {
    severity: Option<Severity>,
    category: Option<Category>,
    confidence: Option<Confidence>,
    /// What other tools call it.
    #[serde(default)]
    pub(crate) also: Vec<String>,
    /// What to do about it, in a sentence.
    #[serde(default)]
    pub(crate) fix: String,
    /// Whether it holds in tests and examples, too.
    samples: Option<bool>,
    /// What may be there only once.
    pub(crate) once: Option<Once>,
    /// Texts in which it must find something.
    #[serde(default)]
    pub(crate) invalid: Vec<String>,
    /// Texts in which it must not.
    #[serde(default)]
    pub(crate) valid: Vec<String>,
}

/// What a rule finds may be there once, and only a repetition is reported.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Once {
    /// The variable whose text makes two matches the same.
    pub(crate) name: String,
    /// The kinds of nodes within which: the nearest one counts, which may be the match itself.
    pub(crate) within: Vec<String>,
}

/// A rule that can be held against a text.
pub(crate) struct PatternRule {
    pub(crate) id: String,
    /// What it says about everything that it finds. A name of a rule that is read has no place in it.
    pub(crate) rated: Rule,
    pub(crate) why: String,
    pub(crate) besides: Besides,
    pub(crate) grammar: Grammar,
    /// What it costs beside the steps it takes; nothing that counts for a built-in one.
    pub(crate) cost: Cost,
    /// The kinds of nodes that it can match, once they were asked for.
    kinds: OnceLock<Vec<usize>>,
    /// The engine's rule, alone in a collection, which knows the paths it is for.
    engine: RuleCollection<Grammar>,
}

/// The rules of a file as they are written. The error is half a sentence.
pub(crate) fn written(text: &str) -> Result<Vec<Written>, String> {
    // As the engine reads them, but not as deep.
    let mut options = serde_saphyr::options! {
        strict_booleans: true,
        merge_keys: serde_saphyr::MergeKeyPolicy::AsOrdinary,
        reject_unsupported_tags: true,
    };
    if let Some(budget) = &mut options.budget {
        budget.max_depth = RULE_DEPTH_MAX;
    }
    let written: Vec<Written> =
        serde_saphyr::from_multiple_with_options(text, options).map_err(|why| first_line(&why))?;
    match written.len() {
        0 => Err("it holds no rule".to_owned()),
        1..=RULES_MAX => Ok(written),
        more => Err(format!("it holds {more} rules, and {RULES_MAX} are the most")),
    }
}

/// What a rule says under `metadata.crh`.
pub(crate) fn besides(written: &Written) -> Result<Besides, String> {
    let Some(metadata) = &written.metadata else { return Ok(Besides::default()) };
    // The engine's type shows nothing of what it holds.
    let metadata = serde_json::to_value(metadata).map_err(|why| why.to_string())?;
    let Some(crh) = metadata.get("crh") else { return Ok(Besides::default()) };
    Besides::deserialize(crh).map_err(|why| format!("`metadata.crh`: {why}"))
}

/// How bad it is, by what a rule says for us and otherwise by what it says for everybody.
pub(crate) fn severity(written: &Written, besides: &Besides) -> Severity {
    besides.severity.unwrap_or(match written.severity {
        EngineSeverity::Error => Severity::P1,
        EngineSeverity::Warning => Severity::P2,
        EngineSeverity::Info | EngineSeverity::Hint | EngineSeverity::Off => Severity::P3,
    })
}

/// What kind of trouble it is. What a repository forbids without a word more is its standard.
pub(crate) fn category(besides: &Besides) -> Category {
    besides.category.unwrap_or(Category::Standards)
}

/// How sure it is.
pub(crate) fn confidence(besides: &Besides) -> Confidence {
    besides.confidence.unwrap_or(CONFIDENCE)
}

/// The name of a rule in reports.
pub(crate) fn id(written: &Written) -> String {
    format!("patterns/{}", written.id)
}

impl PatternRule {
    /// A rule, ready to be used. The error is half a sentence.
    pub(crate) fn new(written: Written) -> Result<Self, String> {
        let is_word = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
        if written.id.is_empty() || written.id.len() > 80 || !written.id.chars().all(is_word) {
            return Err("its `id` is not a word of letters, digits and hyphens".to_owned());
        }
        if written.message.trim().is_empty() {
            return Err("it has no `message`".to_owned());
        }
        let besides = besides(&written)?;
        let rule = Self {
            id: id(&written),
            rated: Rule {
                id: "patterns",
                severity: severity(&written, &besides),
                category: category(&besides),
                confidence: confidence(&besides),
                finds: "",
                also: &[],
            },
            why: written.note.clone().unwrap_or_default().trim().to_owned(),
            grammar: written.language,
            cost: Cost::default(),
            kinds: OnceLock::new(),
            engine: engine(written)?,
            besides,
        };
        Ok(rule)
    }

    /// The kinds of nodes that it can match. To find them out takes longer than to match many.
    pub(crate) fn kinds(&self, engine: &RuleConfig<Grammar>) -> &[usize] {
        // A rule that does not say which kinds it is about is refused where it is read.
        let kinds = || engine.matcher.potential_kinds().iter().flatten().collect();
        self.kinds.get_or_init(kinds)
    }

    /// A rule of the repository, which may be made to hurt. The error is half a sentence.
    pub(crate) fn of_repository(written: Written) -> Result<Self, String> {
        let cost = bounds::cost(&written)?;
        let rule = Self { cost, ..Self::new(written)? };
        match bounds::has_too_many_examples(&rule.besides.invalid, &rule.besides.valid) {
            Some(why) => Err(why),
            None => Ok(rule),
        }
    }

    /// The engine's rule, if it holds for a file.
    pub(crate) fn for_path(&self, path: &str) -> Option<&RuleConfig<Grammar>> {
        if self.besides.samples == Some(false) && paths::is_sample(path) {
            return None;
        }
        self.engine.get_rule_from_lang(Path::new(path), self.grammar).into_iter().next()
    }

    /// The engine's rule, wherever it holds.
    fn anywhere(&self) -> Option<&RuleConfig<Grammar>> {
        let name = self.id.strip_prefix("patterns/")?;
        self.engine.get_rule(name)
    }

    /// Which of its own examples it gets wrong, each as half a sentence.
    pub(crate) fn wrong_examples(&self) -> Vec<String> {
        let Some(engine) = self.anywhere() else { return Vec::new() };
        let finds = |text: &str| {
            let parsed = Parsed::new(self.grammar.0, text).ok()?;
            match scan(&parsed, "", &[(self, engine)], Doubtful::IsLeftOut) {
                Scan::Done(found) => Some(!found.is_empty()),
                Scan::NotDone(_) => None,
            }
        };
        let mut wrong = Vec::new();
        for text in self.besides.invalid.iter().filter(|text| finds(text) != Some(true)) {
            wrong.push(format!("finds nothing in its example {text:?}"));
        }
        for text in self.besides.valid.iter().filter(|text| finds(text) != Some(false)) {
            wrong.push(format!("finds something in its example {text:?}"));
        }
        wrong
    }
}

fn engine(written: Written) -> Result<RuleCollection<Grammar>, String> {
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
