//! Matches rules against one text.

use std::collections::HashSet;

use ast_grep_config::RuleConfig;
use ast_grep_core::matcher::MatcherExt;
use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::replacer::Replacer;
use ast_grep_core::{AstGrep, NodeMatch};

use super::document::Document;
use super::grammar::Grammar;
use super::rule_cost::VARIABLES_MAX;
use super::rule_file::PatternRule;
use crate::findings::{FindingDraft, one_line_title};
use crate::source::line_number;
use crh_syntax::SyntaxTree;

/// Maximum nesting levels of a text, because the engine compares nodes recursively. The deepest of
/// 12,000 hand-written files has fewer than 100 levels.
const DEPTH_MAX: usize = 250;

/// Bytes that could be read for the cost of writing one byte of a message.
const WRITE_COST: usize = 16;
/// Words of a rule that are tried for one step.
const WORDS_PER_STEP: usize = 16;

pub(crate) enum ScanOutcome {
    Done(Vec<FindingDraft>),
    /// Why the scan was aborted.
    Aborted(&'static str),
}

/// What happens to matches in code with parse errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnparsedMatches {
    /// Keeps them, for example in the old text: otherwise an old match might be reported as new.
    Keep,
    /// Drops them. Used for the new text.
    Drop,
}

/// crh's rule, and the same rule of the ast-grep engine.
pub(crate) type RulePair<'r> = (&'r PatternRule, &'r RuleConfig<Grammar>);

/// Matches rules against a text. The findings are in text order, at most one per rule and line.
pub(crate) fn scan(
    tree: &SyntaxTree<'_>,
    path: &str,
    rules: &[RulePair<'_>],
    unparsed_matches: UnparsedMatches,
) -> ScanOutcome {
    let regex_bytes = rules.iter().map(|(rule, _)| rule.cost.regex_bytes).max().unwrap_or(0);
    let root = AstGrep::doc(Document::new(tree).with_regex_bytes(regex_bytes));
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
    let mut findings = Vec::new();
    let mut reported_lines = HashSet::new();
    let mut first_matches = FirstMatches::default();
    for node in root.root().dfs() {
        let Some(rules) = by_kind.get(usize::from(node.kind_id())) else { continue };
        for (rule, engine) in rules {
            if !document.spend(rule.cost.words / WORDS_PER_STEP) {
                break;
            }
            let Some(matched) = engine.matcher.match_node(node.clone()) else { continue };
            if first_matches.is_first_match(rule, &matched) {
                continue;
            }
            if unparsed_matches == UnparsedMatches::Drop
                && matched.get_inner_node().has_parse_error()
            {
                continue;
            }
            let is_new = reported_lines.insert((matched.start_pos().line(), rule.id.as_str()));
            if is_new && document.spend_bytes(message_cost(engine, &matched)) {
                findings.push(finding(tree.text(), path, rule, engine, &matched));
            }
        }
    }
    match document.is_exhausted() {
        true => ScanOutcome::Aborted("the rules take too long on it"),
        false => ScanOutcome::Done(findings),
    }
}

/// Matches seen so far of rules that report only repetitions: rule id, id of the enclosing node,
/// and compared text.
#[derive(Default)]
struct FirstMatches(HashSet<(String, usize, String)>);

impl FirstMatches {
    /// Whether the rule reports only repetitions and this match is the first, or cannot be
    /// compared.
    fn is_first_match(&mut self, rule: &PatternRule, matched: &NodeMatch<'_, Document>) -> bool {
        let Some(scope) = &rule.metadata.once else { return false };
        let mut ancestors =
            std::iter::successors(Some(matched.get_node().clone()), ast_grep_core::Node::parent);
        let scope_node =
            ancestors.find(|node| scope.within.iter().any(|kind| *kind == *node.kind()));
        let (Some(scope_node), Some(value)) =
            (scope_node, matched.get_env().get_match(&scope.name))
        else {
            return true;
        };
        self.0.insert((rule.id.clone(), scope_node.node_id(), value.text().into_owned()))
    }
}

/// Upper bound for the cost of the message and fix of a match, as a number of bytes to read. A
/// captured variable may be as long as the file.
fn message_cost(engine: &RuleConfig<Grammar>, matched: &NodeMatch<'_, Document>) -> usize {
    let env = matched.get_env();
    let bytes = env.get_matched_variables().map(|variable| match variable {
        MetaVariable::Capture(name, _) => env.get_match(&name).map_or(0, |it| it.range().len()),
        MetaVariable::MultiCapture(name) => {
            env.get_multiple_matches(&name).iter().map(|it| it.range().len()).sum()
        }
        MetaVariable::Dropped(_) | MetaVariable::Multiple => 0,
    });
    let times = engine.message.matches('$').count() + engine.fixer.len() * VARIABLES_MAX;
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
    let mut draft =
        FindingDraft::with_rating(rule.id.clone(), rule.rating, path, line, &text[from..to])
            .with_text(title, why, rule.metadata.fix.clone());
    if let Some((end, replacement)) = replacement(text, engine, matched) {
        draft.end = Some(end);
        draft.replacement = Some(replacement);
    }
    draft
}

/// The number of the last line to replace, and the new text from the first line of the match to
/// that line. `None` if the fix starts on another line, leaves only blank lines, or is not the
/// only fix.
fn replacement(
    text: &str,
    engine: &RuleConfig<Grammar>,
    matched: &NodeMatch<'_, Document>,
) -> Option<(u32, String)> {
    let [fixer] = engine.fixer.as_slice() else { return None };
    let range = fixer.get_replaced_range(matched, &engine.matcher);
    let start = matched.range().start;
    let new_text = String::from_utf8(fixer.generate_replacement(matched)).ok()?;
    text.get(range.clone())?;
    let (from, to) = lines_around(text, range.start, range.end);
    if !(from..=to).contains(&start) || text[from..start].contains('\n') {
        return None;
    }
    let last =
        line_number(matched.start_pos().line() + text[from..range.end].matches('\n').count());
    let lines = format!("{}{new_text}{}", &text[from..range.start], &text[range.end..to]);
    (!lines.trim().is_empty()).then_some((last, lines))
}

/// Byte offsets of the start of the first line and the end of the last line of a range. The last
/// newline is excluded.
fn lines_around(text: &str, start: usize, end: usize) -> (usize, usize) {
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[end..].find('\n').map_or(text.len(), |at| end + at);
    (from, to)
}
