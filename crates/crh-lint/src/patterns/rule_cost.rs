//! Cost limits for rules of the repository. A change can add rules, so they must terminate quickly.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use super::rule_file::RuleDefinition;

/// Largest size of a rule with its utilities expanded. The largest built-in rule has about 100
/// words.
const WORDS_MAX: usize = 2_000;
/// How many variables a message or a fix may contain: each is expanded for every match.
pub(crate) const NAMES_MAX: usize = 20;
/// Examples per rule: each is parsed and scanned before the first file.
const EXAMPLES_MAX: usize = 20;
/// Regular expressions per rule.
const EXPRESSIONS_MAX: usize = 20;
/// Compiled size for ASCII. Expressions for a name or a line are smaller; larger ones count
/// repetitions.
const EXPRESSION_MAX: usize = 32 << 10;
/// Compiled size with Unicode classes, which take memory but no time.
const UNICODE_MAX: usize = 1 << 20;
/// Smallest size that is distinguished.
const EXPRESSION_MIN: usize = 1 << 10;

/// The cost of a rule, apart from its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RuleCost {
    /// Words in the rule, with its utilities expanded.
    pub(crate) words: usize,
    /// Size of its largest regular expression, in bytes.
    pub(crate) expression: usize,
}

/// The cost of a repository rule, or why the rule is rejected (half a sentence).
pub(crate) fn cost(written: &RuleDefinition) -> Result<RuleCost, String> {
    // A recursive rewriter never terminates, and each transformation can double its input.
    if written.rewriters.is_some() {
        return Err("`rewriters` are not supported".to_owned());
    }
    if written.core.transform.is_some() {
        return Err("`transform` is not supported".to_owned());
    }
    let json = |why: serde_json::Error| why.to_string();
    let core = serde_json::to_value(&written.core).map_err(json)?;
    let fix = serde_json::to_value(&written.fix).map_err(json)?;
    let texts = [&Value::String(written.message.clone()), &fix];
    let names = |value: &Value| strings(value).iter().map(|it| it.matches('$').count()).sum();
    if texts.into_iter().any(|value| NAMES_MAX < names(value)) {
        return Err(format!("its `message` or `fix` contains more than {NAMES_MAX} variables"));
    }
    let words = weight(&core)?.saturating_add(strings(&fix).len());
    if words > WORDS_MAX {
        return Err(format!("it has more than {WORDS_MAX} words with its `utils` expanded"));
    }
    Ok(RuleCost { words, expression: largest_expression(&[&core, &fix])? })
}

/// Why a rule has too many examples, if it has.
pub(crate) fn has_too_many_examples(invalid: &[String], valid: &[String]) -> Option<String> {
    let more = invalid.len() + valid.len();
    (more > EXAMPLES_MAX).then(|| format!("it has {more} examples; the limit is {EXAMPLES_MAX}"))
}

/// Counts the words of a rule with each utility expanded as often as it is used.
fn weight(core: &Value) -> Result<usize, String> {
    let mut open: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    if let Some(utils) = core.get("utils").and_then(Value::as_object) {
        open.extend(utils.iter().map(|(name, rule)| (name.as_str(), strings(rule))));
    }
    let mut weights: BTreeMap<&str, usize> = BTreeMap::new();
    let weigh = |words: &[&str], weights: &BTreeMap<&str, usize>| {
        let each = words.iter().map(|word| weights.get(word).copied().unwrap_or(1));
        each.fold(1, usize::saturating_add)
    };
    // Weighs utilities that use no unweighed one until none is left. What remains is a cycle, which
    // the engine would follow without end.
    while !open.is_empty() {
        let names: Vec<&str> = open.keys().copied().collect();
        let is_open = |word: &&str| names.binary_search(word).is_ok();
        let ready = open.iter().filter(|(_, words)| !words.iter().any(is_open));
        let ready: Vec<_> = ready.map(|(name, words)| (*name, weigh(words, &weights))).collect();
        if ready.is_empty() {
            return Err("its `utils` are recursive".to_owned());
        }
        for (name, weight) in ready {
            open.remove(name);
            weights.insert(name, weight);
        }
    }
    let rules = ["rule", "constraints"].into_iter().filter_map(|part| core.get(part));
    Ok(rules.map(|rule| weigh(&strings(rule), &weights)).fold(0, usize::saturating_add))
}

/// The size of the largest expression, to a power of two.
fn largest_expression(values: &[&Value]) -> Result<usize, String> {
    let mut expressions = Vec::new();
    let mut open = values.to_vec();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(values) => open.extend(values),
            Value::Object(map) => {
                expressions.extend(map.get("regex").and_then(Value::as_str));
                open.extend(map.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    if expressions.len() > EXPRESSIONS_MAX {
        return Err(format!("it has more than {EXPRESSIONS_MAX} regular expressions"));
    }
    let mut largest = 0;
    for expression in expressions {
        // Some expressions are valid only with Unicode. The engine reports invalid ones.
        let letters = match compile(expression, CharacterSet::Ascii, EXPRESSION_MAX) {
            Err(regex::Error::Syntax(_)) => CharacterSet::Unicode,
            Ok(_) | Err(_) => CharacterSet::Ascii,
        };
        let is_too_large = |letters, most| {
            matches!(compile(expression, letters, most), Err(regex::Error::CompiledTooBig(_)))
        };
        if is_too_large(letters, EXPRESSION_MAX) || is_too_large(CharacterSet::Unicode, UNICODE_MAX)
        {
            return Err("one of its regular expressions is too large".to_owned());
        }
        let mut size = largest.max(EXPRESSION_MIN);
        while size < EXPRESSION_MAX && is_too_large(letters, size) {
            size *= 2;
        }
        largest = size;
    }
    Ok(largest)
}

#[derive(Debug, Clone, Copy)]
enum CharacterSet {
    Ascii,
    Unicode,
}

fn compile(expression: &str, letters: CharacterSet, most: usize) -> Result<Regex, regex::Error> {
    let is_unicode = match letters {
        CharacterSet::Ascii => false,
        CharacterSet::Unicode => true,
    };
    RegexBuilder::new(expression).unicode(is_unicode).size_limit(most).build()
}

/// Every string in a value, including field names.
fn strings(value: &Value) -> Vec<&str> {
    let mut words = Vec::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(word) => words.push(word.as_str()),
            Value::Array(values) => open.extend(values),
            Value::Object(map) => {
                words.extend(map.keys().map(String::as_str));
                open.extend(map.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    words
}
