//! Rules held against one text.

use std::collections::HashSet;

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt;
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::replacer::Replacer;
use ast_grep_core::{AstGrep, NodeMatch};

use super::bounds::NAMES_MAX;
use super::document::Document;
use super::grammar::Grammar;
use super::rule_file::PatternRule;
use crate::found::{Found, headline};
use crh_syntax::Parsed;

/// The engine compares what is alike by recursion. Of 12,000 files that people wrote the deepest has fewer than 100 levels.
const DEPTH_MAX: usize = 250;

/// Writing a byte of a message, folding it and cutting it to its length takes as long as reading so many.
const WRITTEN: usize = 16;
/// Trying as many words of a rule takes as long as a step.
const WORDS_PER_STEP: usize = 16;

/// What came of it.
pub(crate) enum Scan {
    Done(Vec<Found>),
    /// Why the text was not gone through to the end.
    NotDone(&'static str),
}

/// What becomes of a match where the text does not parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubtful {
    /// It counts: in the text before the change, so that nothing of it is new.
    Counts,
    /// It is left out.
    IsLeftOut,
}

/// A rule of ours and the engine's.
pub(crate) type Pair<'r> = (&'r PatternRule, &'r RuleConfig<Grammar>);

/// Holds rules against a text: what they find, by place and rule, each once a line.
pub(crate) fn scan(
    parsed: &Parsed<'_>,
    path: &str,
    rules: &[Pair<'_>],
    doubtful: Doubtful,
) -> Scan {
    let expression = rules.iter().map(|(rule, _)| rule.cost.expression).max().unwrap_or(0);
    let root = AstGrep::doc(Document::new(parsed).read_by(expression));
    let document = root.root().get_doc();
    if document.depth() > DEPTH_MAX {
        return Scan::NotDone("it is nested too deeply");
    }
    let mut by_kind: Vec<Vec<&Pair<'_>>> = Vec::new();
    for pair in rules {
        for kind in pair.0.kinds(pair.1).iter().copied() {
            if by_kind.len() <= kind {
                by_kind.resize_with(kind + 1, Vec::new);
            }
            by_kind[kind].push(pair);
        }
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut once = Once::default();
    for node in root.root().dfs() {
        let Some(rules) = by_kind.get(usize::from(node.kind_id())) else { continue };
        for (rule, engine) in rules {
            if !document.takes(rule.cost.words / WORDS_PER_STEP) {
                break;
            }
            let Some(matched) = engine.matcher.match_node(node.clone()) else { continue };
            if once.is_first(rule, &matched) {
                continue;
            }
            if doubtful == Doubtful::IsLeftOut && matched.get_inner_node().is_doubtful() {
                continue;
            }
            let is_new = seen.insert((matched.start_pos().line(), rule.id.as_str()));
            if is_new && document.reads(written_out(engine, &matched)) {
                found.push(finding(parsed.text(), path, rule, engine, &matched));
            }
        }
    }
    match document.is_spent() {
        true => Scan::NotDone("the rules take too long on it"),
        false => Scan::Done(found),
    }
}

/// The matches of rules for what may be there once.
#[derive(Default)]
struct Once(HashSet<(String, usize, String)>);

impl Once {
    /// Whether a match is the first of its kind, so that there is nothing wrong with it.
    fn is_first(&mut self, rule: &PatternRule, matched: &NodeMatch<'_, Document>) -> bool {
        let Some(once) = &rule.besides.once else { return false };
        let mut around =
            std::iter::successors(Some(matched.get_node().clone()), ast_grep_core::Node::parent);
        let place = around.find(|node| once.within.iter().any(|kind| *kind == *node.kind()));
        let (Some(place), Some(value)) = (place, matched.get_env().get_match(&once.name)) else {
            return true;
        };
        self.0.insert((rule.id.clone(), place.node_id(), value.text().into_owned()))
    }
}

/// What is written for a match, at the most, in bytes to read: a value that a rule binds may be as long as the file.
fn written_out(engine: &RuleConfig<Grammar>, matched: &NodeMatch<'_, Document>) -> usize {
    let env = matched.get_env();
    let bytes = env.get_matched_variables().map(|variable| match variable {
        MetaVariable::Capture(name, _) => env.get_match(&name).map_or(0, |it| it.range().len()),
        MetaVariable::MultiCapture(name) => {
            env.get_multiple_matches(&name).iter().map(|it| it.range().len()).sum()
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => 0,
    });
    let times = engine.message.matches('$').count() + engine.fixer.len() * NAMES_MAX;
    bytes.fold(0, usize::saturating_add).saturating_mul(times * WRITTEN)
}

fn finding(
    text: &str,
    path: &str,
    rule: &PatternRule,
    engine: &RuleConfig<Grammar>,
    matched: &NodeMatch<'_, Document>,
) -> Found {
    let line = number(matched.start_pos().line());
    let start = matched.range().start;
    let (from, to) = lines_around(text, start, start);
    let title = headline(&engine.get_message(matched));
    let why = if rule.why.is_empty() { title.clone() } else { rule.why.clone() };
    let found = Found::new(&rule.rated, path, line, &text[from..to]);
    let mut found =
        Found { rule: rule.id.clone(), ..found.saying(title, why, rule.besides.fix.clone()) };
    if let Some((end, replacement)) = replacement(text, engine, matched) {
        found.end = Some(end);
        found.replacement = Some(replacement);
    }
    found
}

/// The new text for whole lines, from the line where the match begins, and the last of them; none if the fix begins elsewhere or there is a choice.
fn replacement(
    text: &str,
    engine: &RuleConfig<Grammar>,
    matched: &NodeMatch<'_, Document>,
) -> Option<(u32, String)> {
    let [fixer] = engine.fixer.as_slice() else { return None };
    let range = fixer.get_replaced_range(matched, &engine.matcher);
    let start = matched.range().start;
    let new = String::from_utf8(fixer.generate_replacement(matched)).ok()?;
    text.get(range.clone())?;
    let (from, to) = lines_around(text, range.start, range.end);
    if !(from..=to).contains(&start) || text[from..start].contains('\n') {
        return None;
    }
    let last = number(matched.start_pos().line() + text[from..range.end].matches('\n').count());
    let lines = format!("{}{new}{}", &text[from..range.start], &text[range.end..to]);
    (!lines.trim().is_empty()).then_some((last, lines))
}

/// Where the lines of a range begin and end, without the last line end.
fn lines_around(text: &str, start: usize, end: usize) -> (usize, usize) {
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[end..].find('\n').map_or(text.len(), |at| end + at);
    (from, to)
}

fn number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}
