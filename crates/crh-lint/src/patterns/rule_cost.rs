//! Cost limits for repository rules. The change under review can add such rules, so crh bounds
//! their run time.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use super::rule_file::RuleDefinition;

/// Maximum words of a rule with its utilities (`utils`, named sub-rules) expanded. The largest
/// built-in rule has about 100 words.
const WORDS_MAX: usize = 2_000;
/// Maximum variables in a message or a fix. Each is expanded for every match.
pub(crate) const VARIABLES_MAX: usize = 20;
/// Maximum examples per rule. Each is parsed and scanned before the first file of the change.
const EXAMPLES_MAX: usize = 20;
/// Maximum regular expressions per rule. Each is compiled several times to measure its size.
const REGEXES_MAX: usize = 20;
/// Maximum bytes of a compiled regular expression without Unicode. Expressions for a name or a line
/// are smaller; larger ones have counted repetitions, which are slow.
const REGEX_BYTES_MAX: usize = 32 << 10;
/// Maximum bytes of a compiled regular expression with Unicode classes, which take memory but no
/// time.
const UNICODE_REGEX_BYTES_MAX: usize = 1 << 20;
/// First size that [`largest_regex`] tries. Smaller expressions cost as much as this size.
const REGEX_BYTES_MIN: usize = 1 << 10;

/// The cost of a rule, apart from the steps that its matching takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RuleCost {
    /// Words in the rule, with its utilities expanded.
    pub(crate) words: usize,
    /// Bytes of the largest regular expression of the rule.
    pub(crate) regex_bytes: usize,
}

/// The cost of a repository rule. The error says why the rule is rejected, as half a sentence.
pub(crate) fn cost(definition: &RuleDefinition) -> Result<RuleCost, String> {
    // A recursive rewriter never terminates, and each transformation can double its input.
    if definition.rewriters.is_some() {
        return Err("`rewriters` are not supported".to_owned());
    }
    if definition.core.transform.is_some() {
        return Err("`transform` is not supported".to_owned());
    }
    let json = |why: serde_json::Error| why.to_string();
    let core = serde_json::to_value(&definition.core).map_err(json)?;
    let fix = serde_json::to_value(&definition.fix).map_err(json)?;
    let texts = [&Value::String(definition.message.clone()), &fix];
    let variable_count =
        |value: &Value| strings(value).iter().map(|it| it.matches('$').count()).sum();
    if texts.into_iter().any(|value| VARIABLES_MAX < variable_count(value)) {
        return Err(format!("its `message` or `fix` contains more than {VARIABLES_MAX} variables"));
    }
    let words = expanded_word_count(&core)?.saturating_add(strings(&fix).len());
    if words > WORDS_MAX {
        return Err(format!("it has more than {WORDS_MAX} words with its `utils` expanded"));
    }
    Ok(RuleCost { words, regex_bytes: largest_regex(&[&core, &fix])? })
}

/// Why the rule is rejected, if it has too many examples.
pub(crate) fn example_limit_error(invalid: &[String], valid: &[String]) -> Option<String> {
    let count = invalid.len() + valid.len();
    (count > EXAMPLES_MAX).then(|| format!("it has {count} examples; the limit is {EXAMPLES_MAX}"))
}

/// Counts the words of a rule with each utility expanded as often as it is used.
fn expanded_word_count(core: &Value) -> Result<usize, String> {
    let mut unweighed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    if let Some(utils) = core.get("utils").and_then(Value::as_object) {
        unweighed.extend(utils.iter().map(|(name, rule)| (name.as_str(), strings(rule))));
    }
    let mut weights: BTreeMap<&str, usize> = BTreeMap::new();
    let weigh = |words: &[&str], weights: &BTreeMap<&str, usize>| {
        let word_weights = words.iter().map(|word| weights.get(word).copied().unwrap_or(1));
        word_weights.fold(1, usize::saturating_add)
    };
    // In each round, weigh the utilities that use only weighed ones. If a round weighs none, the
    // rest is a cycle, which the engine would follow without end.
    while !unweighed.is_empty() {
        let names: Vec<&str> = unweighed.keys().copied().collect();
        let is_unweighed = |word: &&str| names.binary_search(word).is_ok();
        let ready = unweighed.iter().filter(|(_, words)| !words.iter().any(is_unweighed));
        let ready: Vec<_> = ready.map(|(name, words)| (*name, weigh(words, &weights))).collect();
        if ready.is_empty() {
            return Err("its `utils` are recursive".to_owned());
        }
        for (name, weight) in ready {
            unweighed.remove(name);
            weights.insert(name, weight);
        }
    }
    let rules = ["rule", "constraints"].into_iter().filter_map(|part| core.get(part));
    Ok(rules.map(|rule| weigh(&strings(rule), &weights)).fold(0, usize::saturating_add))
}

/// The compiled size of the largest regular expression, rounded up to a power of two.
fn largest_regex(values: &[&Value]) -> Result<usize, String> {
    let mut regexes = Vec::new();
    let mut pending = values.to_vec();
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(values) => pending.extend(values),
            Value::Object(map) => {
                regexes.extend(map.get("regex").and_then(Value::as_str));
                pending.extend(map.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    if regexes.len() > REGEXES_MAX {
        return Err(format!("it has more than {REGEXES_MAX} regular expressions"));
    }
    let mut largest = 0;
    for regex in regexes {
        // Some expressions are valid only with Unicode. Invalid ones are reported when the engine
        // compiles the rule.
        let character_set = match compile(regex, CharacterSet::Ascii, REGEX_BYTES_MAX) {
            Err(regex::Error::Syntax(_)) => CharacterSet::Unicode,
            Ok(_) | Err(_) => CharacterSet::Ascii,
        };
        let is_too_large = |character_set, max_bytes| {
            matches!(compile(regex, character_set, max_bytes), Err(regex::Error::CompiledTooBig(_)))
        };
        if is_too_large(character_set, REGEX_BYTES_MAX)
            || is_too_large(CharacterSet::Unicode, UNICODE_REGEX_BYTES_MAX)
        {
            return Err("one of its regular expressions is too large".to_owned());
        }
        let mut size = largest.max(REGEX_BYTES_MIN);
        while size < REGEX_BYTES_MAX && is_too_large(character_set, size) {
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

fn compile(
    regex: &str,
    character_set: CharacterSet,
    max_bytes: usize,
) -> Result<Regex, regex::Error> {
    let is_unicode = match character_set {
        CharacterSet::Ascii => false,
        CharacterSet::Unicode => true,
    };
    RegexBuilder::new(regex).unicode(is_unicode).size_limit(max_bytes).build()
}

/// Every string in a value, including field names.
fn strings(value: &Value) -> Vec<&str> {
    let mut words = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(word) => words.push(word.as_str()),
            Value::Array(values) => pending.extend(values),
            Value::Object(map) => {
                words.extend(map.keys().map(String::as_str));
                pending.extend(map.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    words
}
