//! Comments that suppress findings: the forms of other tools, and `crh:ignore`.
//!
//! Invariant: nothing in a change suppresses `injection/*`, and only `crh:ignore` with a reason
//! suppresses `secrets/*`. Otherwise a hostile change could approve itself.

mod comments;
mod forms;

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use comments::ParsedComments;
use forms::{IgnoreForm, IgnoredRules};

use crate::rule::rules;
use crate::{LintRule, REVIEWERS, analysers};

/// The reviewer whose findings cannot be suppressed.
const UNSUPPRESSIBLE: &str = "injection";
/// The reviewer whose findings can be suppressed only with a reason.
const NEEDS_REASON: &str = "secrets";
/// The reviewer with repository-defined rules, whose names are not known here.
const CUSTOM_RULES: &str = "patterns";

/// Limit for open blocks per file. Each is compared with each end comment.
const OPEN_MAX: usize = 1_000;
/// All lines of a text.
const WHOLE_FILE: (u32, u32) = (1, u32::MAX - 1);

/// What suppresses a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The relevant part of the comment: `# noqa: T100`.
    pub by: String,
    /// Line of the comment, 1-based.
    pub line: u32,
    /// The reason in the comment; empty if there is none.
    pub reason: String,
}

/// A `crh:ignore` without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidIgnore {
    /// Its line, 1-based.
    pub line: u32,
    /// The reviewer it names, as written; empty if it names nothing.
    pub reviewer: String,
    /// Why it has no effect; follows the location in a message.
    pub why: String,
}

/// The ignore comments of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreComments {
    spans: Vec<IgnoreSpan>,
    marks: Vec<CrhIgnore>,
}

/// An ignore comment of another tool and the lines it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnoreSpan {
    first: u32,
    last: u32,
    names: IgnoredRules,
    by: String,
    line: u32,
}

/// A `crh:ignore` comment and the lines it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CrhIgnore {
    first: u32,
    last: u32,
    rule: String,
    reason: String,
    line: u32,
}

impl IgnoreComments {
    /// Parses the comments of a text: by its syntax tree if crh has a grammar, otherwise by comment
    /// signs.
    pub fn read(path: &str, text: &str) -> Self {
        let mut ignores = Self::default();
        let Some(ParsedComments { comments, attributes }) = comments::read(path, text) else {
            return ignores;
        };
        let lines: Vec<&str> = text.lines().collect();
        let mut open: Vec<IgnoreSpan> = Vec::new();
        for comment in &comments {
            let on_it = (comment.first, comment.last);
            let reach = (comment.first, comment.last_covered_line());
            for form in forms::read(&comment.text, comment.sign) {
                let (place, names, by) = match form {
                    IgnoreForm::Crh { rule, reason } => {
                        let (first, last) = reach;
                        ignores.marks.push(CrhIgnore {
                            first,
                            last,
                            rule,
                            reason,
                            line: comment.first,
                        });
                        continue;
                    }
                    IgnoreForm::Line { names, by } => (on_it, names, by),
                    IgnoreForm::LineOrNext { names, by } => (reach, names, by),
                    IgnoreForm::File { names, by } if comment.is_alone() => (WHOLE_FILE, names, by),
                    // The tools ignore it as well.
                    IgnoreForm::File { .. } => continue,
                    IgnoreForm::Command { names, by } => (
                        comments::shell_command_lines(&lines, comment).unwrap_or(WHOLE_FILE),
                        names,
                        by,
                    ),
                    IgnoreForm::NextLine { names, by } => {
                        let next = comment.last.saturating_add(1);
                        ((next, next), names, by)
                    }
                    IgnoreForm::BlockStart { names, by } => ((comment.first, u32::MAX), names, by),
                    IgnoreForm::BlockEnd { names } => {
                        open.iter_mut().for_each(|span| span.close(&names, comment.last));
                        ignores.spans.extend(open.extract_if(.., |it| it.last != u32::MAX));
                        continue;
                    }
                };
                let is_open = place.1 == u32::MAX;
                let span =
                    IgnoreSpan { first: place.0, last: place.1, names, by, line: comment.first };
                match is_open {
                    false => ignores.spans.push(span),
                    true if open.len() < OPEN_MAX => open.push(span),
                    true => {}
                }
            }
        }
        ignores.spans.extend(open);
        ignores.spans.extend(attributes.into_iter().map(|it| IgnoreSpan {
            first: it.first,
            last: it.last,
            names: IgnoredRules::These(it.names),
            by: it.by,
            line: it.line,
        }));
        ignores
    }

    /// What suppresses a finding of a rule on these lines, if anything.
    pub fn suppression_for(&self, rule: &str, first: u32, last: u32) -> Option<Suppression> {
        let reviewer = reviewer_of(rule);
        if reviewer == UNSUPPRESSIBLE {
            return None;
        }
        let is_at = |from: u32, to: u32| [first, last].iter().any(|at| (from..=to).contains(at));
        let mark = self.marks.iter().find(|mark| {
            !mark.reason.is_empty()
                && is_at(mark.first, mark.last)
                && name_matches_rule(&mark.rule, rule)
        });
        if let Some(mark) = mark {
            let by = format!("crh:ignore {}", mark.rule);
            return Some(Suppression { by, line: mark.line, reason: mark.reason.clone() });
        }
        if reviewer == NEEDS_REASON {
            return None;
        }
        let (also, built_in) = (aliases_of(rule), built_in_rule(rule));
        let span = self.spans.iter().find(|span| {
            is_at(span.first, span.last)
                && match &span.names {
                    IgnoredRules::AllOf(tool) => match built_in {
                        Some(built_in) => tool.covers_rule(built_in),
                        None => tool.covers_tool(reviewer),
                    },
                    IgnoredRules::These(names) => {
                        names.iter().any(|name| also.iter().any(|also| is_same_alias(name, also)))
                    }
                }
        });
        span.map(|span| Suppression { by: span.by.clone(), line: span.line, reason: String::new() })
    }

    /// Uses of `crh:ignore` without effect: without a reason, or with an unknown name. `others` are
    /// ids of rules that are not built in and that this review used.
    pub fn invalid_ignores(&self, others: &BTreeSet<String>) -> Vec<InvalidIgnore> {
        let others = RuleNames::from_rules(others.iter().map(String::as_str));
        let misfits = self.marks.iter().filter_map(|mark| {
            let is_other = || others.has(&mark.rule);
            let why = match (&*mark.rule, &*mark.reason) {
                ("", _) => "names no rule: write `crh:ignore RULE why`".to_owned(),
                (rule, _) if reviewer_of(rule) == UNSUPPRESSIBLE => {
                    "names a rule that cannot be ignored".to_owned()
                }
                (rule, _) if !is_known(rule) && !is_other() => {
                    format!("names `{rule}`, which is not a rule")
                }
                (rule, _) if has_unknown_tool(rule) && !is_other() && !others.has_tool(rule) => {
                    format!("names `{rule}`, a rule of a tool that did not run")
                }
                (_, "") => "has no reason: write `crh:ignore RULE why`".to_owned(),
                (_, _) => return None,
            };
            Some(InvalidIgnore {
                line: mark.line,
                reviewer: reviewer_of(&mark.rule).to_owned(),
                why,
            })
        });
        misfits.collect()
    }
}

impl IgnoreSpan {
    fn close(&mut self, names: &IgnoredRules, line: u32) {
        let is_meant = match (&self.names, names) {
            (_, IgnoredRules::AllOf(_)) => true,
            (IgnoredRules::AllOf(_), IgnoredRules::These(_)) => false,
            (IgnoredRules::These(mine), IgnoredRules::These(theirs)) => {
                mine.iter().all(|name| theirs.contains(name))
            }
        };
        if is_meant && self.last == u32::MAX {
            self.last = line;
        }
    }
}

/// Whether a name in `crh:ignore` or in a path list refers to a rule: by its id, its reviewer, or
/// an alias.
pub fn name_matches_rule(name: &str, rule: &str) -> bool {
    name == rule
        || name == reviewer_of(rule)
        || aliases_of(rule).iter().any(|also| is_same_alias(name, also))
}

fn reviewer_of(rule: &str) -> &str {
    rule.split('/').next().unwrap_or(rule)
}

fn built_in_rule(rule: &str) -> Option<&'static LintRule> {
    rules().find(|built_in| built_in.id == rule)
}

/// The names of a rule in other tools. A rule of another tool is known by the part after the slash.
fn aliases_of(rule: &str) -> Vec<&str> {
    match (built_in_rule(rule), rule.split_once('/')) {
        (Some(built_in), _) => built_in.aliases.to_vec(),
        (None, Some((reviewer, name)))
            if !REVIEWERS.contains(&reviewer) || reviewer == CUSTOM_RULES =>
        {
            vec![name]
        }
        (None, _) => Vec::new(),
    }
}

/// Whether two aliases are equal, ignoring case and a leading path, as in `clippy::dbg_macro` and
/// `python.lang.exec-used`.
fn is_same_alias(written: &str, name: &str) -> bool {
    without_path(written).eq_ignore_ascii_case(without_path(name))
        || forms::is_in_range(written, name)
}

fn without_path(name: &str) -> &str {
    name.rsplit([':', '.']).next().unwrap_or(name)
}

/// All names of some rules, for fast lookup.
struct RuleNames {
    /// Rule ids and reviewer names.
    own: HashSet<String>,
    /// Aliases, without the path and in lower case.
    others: HashSet<String>,
}

impl RuleNames {
    fn from_rules<'a>(rules: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self { own: HashSet::new(), others: HashSet::new() };
        for rule in rules {
            names.own.extend([rule.to_owned(), reviewer_of(rule).to_owned()]);
            let also = aliases_of(rule).into_iter();
            names.others.extend(also.map(|name| without_path(name).to_ascii_lowercase()));
        }
        names
    }

    /// Whether the part before the slash is the reviewer of one of the rules.
    fn has_tool(&self, name: &str) -> bool {
        self.own.contains(reviewer_of(name))
    }

    /// Whether [`name_matches_rule`] is true for one of the rules.
    fn has(&self, name: &str) -> bool {
        self.own.contains(name) || self.others.contains(&without_path(name).to_ascii_lowercase())
    }
}

/// Names of the built-in rules.
static BUILT_IN: LazyLock<RuleNames> =
    LazyLock::new(|| RuleNames::from_rules(rules().map(|it| it.id)));

/// Whether a name may refer to a built-in rule or to a rule that is not known here.
fn is_known(name: &str) -> bool {
    let is_reviewer = REVIEWERS.contains(&reviewer_of(name));
    match name.split_once('/') {
        Some((CUSTOM_RULES, _)) => true,
        Some(_) => !is_reviewer || BUILT_IN.own.contains(name),
        None => is_reviewer || BUILT_IN.has(name),
    }
}

/// Whether a name has a prefix that is neither a reviewer nor an analyser, and no built-in rule has
/// it as an alias.
fn has_unknown_tool(name: &str) -> bool {
    let tool = reviewer_of(name);
    tool.len() < name.len()
        && !REVIEWERS.contains(&tool)
        && !analysers::NAMES.contains(&tool)
        && !BUILT_IN.has(name)
}

#[cfg(test)]
mod tests;
