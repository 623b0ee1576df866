//! What a rule of the repository may ask for: a change can bring it, so that it has to end, and soon.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};
use serde_json::Value;

use super::rule_file::Written;

/// The most that a rule may weigh with its utilities in place of their names. The largest built-in rule has about 100 words.
const WORDS_MAX: usize = 2_000;
/// The most that a message or a fix may name values: each is written out for every match.
pub(crate) const NAMES_MAX: usize = 20;
/// Examples of one rule: each is parsed and searched before the first file of the change is.
const EXAMPLES_MAX: usize = 20;
/// Expressions of one rule, each of which is compiled.
const EXPRESSIONS_MAX: usize = 20;
/// An expression for one name or one line, compiled for ASCII, has fewer bytes: what is larger counts repetitions.
const EXPRESSION_MAX: usize = 32 << 10;
/// The same expression with the classes of Unicode in it, which take room but no time.
const UNICODE_MAX: usize = 1 << 20;
/// The smallest size that is told apart.
const EXPRESSION_MIN: usize = 1 << 10;

/// What a rule costs, beside the steps that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    /// How many words there are in it, with its utilities in place of their names.
    pub(crate) words: usize,
    /// The size of its largest regular expression, in bytes.
    pub(crate) expression: usize,
}

/// What a rule of the repository costs, unless it asks for too much. The error is half a sentence.
pub(crate) fn cost(written: &Written) -> Result<Cost, String> {
    // One that names itself never ends, and each replacement can double what it is given.
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
        return Err(format!("its `message` or `fix` names more than {NAMES_MAX} values"));
    }
    let words = weight(&core)?.saturating_add(strings(&fix).len());
    if words > WORDS_MAX {
        return Err(format!("it is larger than {WORDS_MAX} words, with its `utils` written out"));
    }
    Ok(Cost { words, expression: largest_expression(&[&core, &fix])? })
}

/// Whether a rule brings more examples than are worth the time.
pub(crate) fn has_too_many_examples(invalid: &[String], valid: &[String]) -> Option<String> {
    let more = invalid.len() + valid.len();
    (more > EXAMPLES_MAX)
        .then(|| format!("it has {more} examples, and {EXAMPLES_MAX} are the most"))
}

/// How many words a rule has when each utility stands in place of its name: as often as it is named, it is tried.
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
    // Those that name none that is still open are weighed until none is left, or only circles are, which the engine would follow as far as the text goes.
    while !open.is_empty() {
        let names: Vec<&str> = open.keys().copied().collect();
        let is_open = |word: &&str| names.binary_search(word).is_ok();
        let ready = open.iter().filter(|(_, words)| !words.iter().any(is_open));
        let ready: Vec<_> = ready.map(|(name, words)| (*name, weigh(words, &weights))).collect();
        if ready.is_empty() {
            return Err("its `utils` refer to themselves".to_owned());
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
        // Some are an expression only with Unicode; what is none at all is for the engine to say.
        let letters = match compiled(expression, Letters::Ascii, EXPRESSION_MAX) {
            Err(regex::Error::Syntax(_)) => Letters::Unicode,
            Ok(_) | Err(_) => Letters::Ascii,
        };
        let is_too_large = |letters, most| {
            matches!(compiled(expression, letters, most), Err(regex::Error::CompiledTooBig(_)))
        };
        if is_too_large(letters, EXPRESSION_MAX) || is_too_large(Letters::Unicode, UNICODE_MAX) {
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

/// Which letters the classes of an expression stand for.
#[derive(Debug, Clone, Copy)]
enum Letters {
    Ascii,
    Unicode,
}

fn compiled(expression: &str, letters: Letters, most: usize) -> Result<Regex, regex::Error> {
    let is_unicode = match letters {
        Letters::Ascii => false,
        Letters::Unicode => true,
    };
    RegexBuilder::new(expression).unicode(is_unicode).size_limit(most).build()
}

/// Every text in a value, the names of its fields among them.
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
