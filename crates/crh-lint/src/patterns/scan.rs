//! Matches rules against one text.

use std::collections::HashSet;

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt;
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::replacer::Replacer;
use ast_grep_core::{AstGrep, NodeMatch};

use super::document::Document;
use super::grammar::Grammar;
use super::rule_cost::NAMES_MAX;
use super::rule_file::PatternRule;
use crate::findings::{FindingDraft, one_line_title};
use crh_syntax::SyntaxTree;

/// The engine compares nodes recursively. The deepest of 12,000 hand-written files has fewer than
/// 100 levels.
const DEPTH_MAX: usize = 250;

/// Writing a byte of a message costs as much as reading this many.
const WRITE_COST: usize = 16;
/// Trying this many words of a rule costs one step.
const WORDS_PER_STEP: usize = 16;

pub(crate) enum ScanOutcome {
    Done(Vec<FindingDraft>),
    /// Why the scan was aborted.
    Aborted(&'static str),
}

/// How matches in unparsable code are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnparsedMatches {
    /// For the old text, so that old matches are not reported as new.
    Keep,
    /// For the new text.
    Drop,
}

/// crh's rule and the engine's.
pub(crate) type RulePair<'r> = (&'r PatternRule, &'r RuleConfig<Grammar>);

/// Matches rules against a text. Returns findings by place and rule, each rule once per line.
pub(crate) fn scan(
    parsed: &SyntaxTree<'_>,
    path: &str,
    rules: &[RulePair<'_>],
    doubtful: UnparsedMatches,
) -> ScanOutcome {
    let expression = rules.iter().map(|(rule, _)| rule.cost.expression).max().unwrap_or(0);
    let root = AstGrep::doc(Document::new(parsed).with_regex_size(expression));
    let document = root.root().get_doc();
    if document.depth() > DEPTH_MAX {
        return ScanOutcome::Aborted("it is nested too deeply");
    }
    let mut by_kind: Vec<Vec<&RulePair<'_>>> = Vec::new();
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
    let mut once = FirstMatches::default();
    for node in root.root().dfs() {
        let Some(rules) = by_kind.get(usize::from(node.kind_id())) else { continue };
        for (rule, engine) in rules {
            if !document.spend(rule.cost.words / WORDS_PER_STEP) {
                break;
            }
            let Some(matched) = engine.matcher.match_node(node.clone()) else { continue };
            if once.is_first(rule, &matched) {
                continue;
            }
            if doubtful == UnparsedMatches::Drop && matched.get_inner_node().has_parse_error() {
                continue;
            }
            let is_new = seen.insert((matched.start_pos().line(), rule.id.as_str()));
            if is_new && document.spend_bytes(message_cost(engine, &matched)) {
                found.push(finding(parsed.text(), path, rule, engine, &matched));
            }
        }
    }
    match document.is_exhausted() {
        true => ScanOutcome::Aborted("the rules take too long on it"),
        false => ScanOutcome::Done(found),
    }
}

/// First matches of rules that report only repetitions.
#[derive(Default)]
struct FirstMatches(HashSet<(String, usize, String)>);

impl FirstMatches {
    /// Whether a match is the first of its kind and therefore fine.
    fn is_first(&mut self, rule: &PatternRule, matched: &NodeMatch<'_, Document>) -> bool {
        let Some(once) = &rule.metadata.once else { return false };
        let mut around =
            std::iter::successors(Some(matched.get_node().clone()), ast_grep_core::Node::parent);
        let place = around.find(|node| once.within.iter().any(|kind| *kind == *node.kind()));
        let (Some(place), Some(value)) = (place, matched.get_env().get_match(&once.name)) else {
            return true;
        };
        self.0.insert((rule.id.clone(), place.node_id(), value.text().into_owned()))
    }
}

/// Upper bound for the message and fix of a match, in bytes to read. A bound variable may be as
/// long as the file.
fn message_cost(engine: &RuleConfig<Grammar>, matched: &NodeMatch<'_, Document>) -> usize {
    let env = matched.get_env();
    let bytes = env.get_matched_variables().map(|variable| match variable {
        MetaVariable::Capture(name, _) => env.get_match(&name).map_or(0, |it| it.range().len()),
        MetaVariable::MultiCapture(name) => {
            env.get_multiple_matches(&name).iter().map(|it| it.range().len()).sum()
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => 0,
    });
    let times = engine.message.matches('$').count() + engine.fixer.len() * NAMES_MAX;
    bytes.fold(0, usize::saturating_add).saturating_mul(times * WRITE_COST)
}

fn finding(
    text: &str,
    path: &str,
    rule: &PatternRule,
    engine: &RuleConfig<Grammar>,
    matched: &NodeMatch<'_, Document>,
) -> FindingDraft {
    let line = line_number(matched.start_pos().line());
    let start = matched.range().start;
    let (from, to) = lines_around(text, start, start);
    let title = one_line_title(&engine.get_message(matched));
    let why = if rule.why.is_empty() { title.clone() } else { rule.why.clone() };
    let found = FindingDraft::new(&rule.rating, path, line, &text[from..to]);
    let mut found = FindingDraft {
        rule: rule.id.clone(),
        ..found.with_text(title, why, rule.metadata.fix.clone())
    };
    if let Some((end, replacement)) = replacement(text, engine, matched) {
        found.end = Some(end);
        found.replacement = Some(replacement);
    }
    found
}

/// The new text for whole lines from the first line of the match, and the last of these lines.
/// `None` if the fix starts elsewhere or there are several fixes.
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
    let last =
        line_number(matched.start_pos().line() + text[from..range.end].matches('\n').count());
    let lines = format!("{}{new}{}", &text[from..range.start], &text[range.end..to]);
    (!lines.trim().is_empty()).then_some((last, lines))
}

/// Start and end of the lines of a range, without the last line end.
fn lines_around(text: &str, start: usize, end: usize) -> (usize, usize) {
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[end..].find('\n').map_or(text.len(), |at| end + at);
    (from, to)
}

fn line_number(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}
