//! Comments that suppress findings: the forms of other tools, and `crh:ignore`.
//!
//! Invariant: nothing in a change suppresses `injection/*`, and only `crh:ignore` with a reason
//! suppresses `secrets/*`. Otherwise a hostile change could approve itself.

mod comments;
mod forms;

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use comments::{LintAttribute, ParsedComments};
use forms::{IgnoreForm, IgnoreScope, IgnoredRules};

use crate::REVIEWERS;
use crate::analysers::names::is_analyser;
use crate::rule::{find_rule, rules};

/// The reviewer whose findings cannot be suppressed.
const UNSUPPRESSIBLE: &str = "injection";
/// The reviewer whose findings can be suppressed only with a reason.
const NEEDS_REASON: &str = "secrets";
/// The reviewer to which a repository can add rules. crh does not know their names in advance.
const CUSTOM_RULES: &str = "patterns";

/// Limit for open blocks per file, because crh compares each of them with each end comment.
const OPEN_SPANS_MAX: usize = 1_000;
/// All lines of a text. `u32::MAX` is reserved for open blocks.
const WHOLE_FILE: (u32, u32) = (1, u32::MAX - 1);

/// What suppresses a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The relevant part of the comment: `# noqa: T100`.
    pub excerpt: String,
    /// Line of the comment, 1-based.
    pub line: u32,
    /// The reason in the comment; empty if there is none.
    pub reason: String,
}

/// A `crh:ignore` without effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidIgnore {
    /// Line of the comment, 1-based.
    pub line: u32,
    /// Reviewer in the comment, as written; empty if the comment names no rule.
    pub reviewer: String,
    /// Why the comment has no effect. Messages put this text after the location.
    pub why: String,
}

/// The ignore comments of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IgnoreComments {
    spans: Vec<IgnoreSpan>,
    crh_ignores: Vec<CrhIgnore>,
}

/// An ignore comment of another tool and the lines that it covers. The last line is `u32::MAX`
/// while a block is open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct IgnoreSpan {
    first_line: u32,
    last_line: u32,
    rules: IgnoredRules,
    excerpt: String,
    comment_line: u32,
}

/// A `crh:ignore` comment and the lines that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
struct CrhIgnore {
    first_line: u32,
    last_line: u32,
    rule: String,
    reason: String,
    comment_line: u32,
}

impl IgnoreComments {
    /// Parses the comments of a text. With a grammar, crh finds them in the syntax tree, otherwise
    /// by comment signs such as `#`.
    pub fn read(path: &str, text: &str) -> Self {
        let mut ignores = Self::default();
        let Some(ParsedComments { comments, attributes }) = comments::read(path, text) else {
            return ignores;
        };
        let lines: Vec<&str> = text.lines().collect();
        let mut open_spans: Vec<IgnoreSpan> = Vec::new();
        for comment in &comments {
            let comment_line = comment.first_line;
            let covered_lines = (comment_line, comment.last_covered_line());
            let next_line = comment.last_line.saturating_add(1);
            for form in forms::read(&comment.text, comment.sign) {
                let (scope, rules, excerpt) = match form {
                    IgnoreForm::Crh { rule, reason } => {
                        let (first_line, last_line) = covered_lines;
                        let crh_ignore =
                            CrhIgnore { first_line, last_line, rule, reason, comment_line };
                        ignores.crh_ignores.push(crh_ignore);
                        continue;
                    }
                    IgnoreForm::Tool { scope, rules, excerpt } => (scope, rules, excerpt),
                };
                let (first_line, last_line) = match scope {
                    IgnoreScope::Line => (comment_line, comment.last_line),
                    IgnoreScope::LineOrNext => covered_lines,
                    IgnoreScope::File if comment.is_alone() => WHOLE_FILE,
                    // In the other tools too, a file comment that shares its line with code has no
                    // effect.
                    IgnoreScope::File => continue,
                    IgnoreScope::Command => {
                        comments::shell_command_lines(&lines, comment).unwrap_or(WHOLE_FILE)
                    }
                    IgnoreScope::NextLine => (next_line, next_line),
                    IgnoreScope::BlockStart => (comment_line, u32::MAX),
                    IgnoreScope::BlockEnd => {
                        open_spans
                            .iter_mut()
                            .for_each(|span| span.close_at(&rules, comment.last_line));
                        ignores
                            .spans
                            .extend(open_spans.extract_if(.., |it| it.last_line != u32::MAX));
                        continue;
                    }
                };
                let span = IgnoreSpan { first_line, last_line, rules, excerpt, comment_line };
                if last_line != u32::MAX {
                    ignores.spans.push(span);
                } else if open_spans.len() < OPEN_SPANS_MAX {
                    open_spans.push(span);
                }
            }
        }
        ignores.spans.extend(open_spans);
        ignores.spans.extend(attributes.into_iter().map(IgnoreSpan::from_attribute));
        ignores
    }

    /// Whether the text has no ignore comment.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty() && self.crh_ignores.is_empty()
    }

    /// What suppresses a finding of a rule on these lines, if anything.
    pub fn suppression_for(&self, rule: &str, first: u32, last: u32) -> Option<Suppression> {
        let reviewer = reviewer_of(rule);
        if reviewer == UNSUPPRESSIBLE {
            return None;
        }
        let overlaps_finding =
            |from: u32, to: u32| [first, last].iter().any(|line| (from..=to).contains(line));
        let crh_ignore = self.crh_ignores.iter().find(|crh_ignore| {
            !crh_ignore.reason.is_empty()
                && overlaps_finding(crh_ignore.first_line, crh_ignore.last_line)
                && name_matches_rule(&crh_ignore.rule, rule)
        });
        if let Some(crh_ignore) = crh_ignore {
            return Some(Suppression {
                excerpt: format!("crh:ignore {}", crh_ignore.rule),
                line: crh_ignore.comment_line,
                reason: crh_ignore.reason.clone(),
            });
        }
        if reviewer == NEEDS_REASON {
            return None;
        }
        let (aliases, built_in) = (aliases_of(rule), find_rule(rule));
        let span = self.spans.iter().find(|span| {
            overlaps_finding(span.first_line, span.last_line)
                && match &span.rules {
                    IgnoredRules::AllOf(tool) => match built_in {
                        Some(built_in) => tool.covers_rule(built_in),
                        None => tool.covers_tool(reviewer),
                    },
                    IgnoredRules::These(names) => names
                        .iter()
                        .any(|name| aliases.iter().any(|alias| is_same_alias(name, alias))),
                }
        });
        span.map(|span| Suppression {
            excerpt: span.excerpt.clone(),
            line: span.comment_line,
            reason: String::new(),
        })
    }

    /// Uses of `crh:ignore` without effect: without a rule or a reason, or with a rule that is
    /// unknown or cannot be ignored. `other_rules` are ids of rules that are not built in and that
    /// this review used.
    pub fn invalid_ignores(&self, other_rules: &BTreeSet<String>) -> Vec<InvalidIgnore> {
        let other_names = RuleNames::from_rules(other_rules.iter().map(String::as_str));
        let invalid_ignores = self.crh_ignores.iter().filter_map(|crh_ignore| {
            let is_other_rule = || other_names.contains(&crh_ignore.rule);
            let why = match (&*crh_ignore.rule, &*crh_ignore.reason) {
                ("", _) => "names no rule: write `crh:ignore RULE why`".to_owned(),
                (rule, _) if reviewer_of(rule) == UNSUPPRESSIBLE => {
                    "names a rule that cannot be ignored".to_owned()
                }
                (rule, _) if !is_known(rule) && !is_other_rule() => {
                    format!("names `{rule}`, which is not a rule")
                }
                (rule, _)
                    if has_unknown_tool(rule)
                        && !is_other_rule()
                        && !other_names.contains_tool(rule) =>
                {
                    format!("names `{rule}`, a rule of a tool that did not run")
                }
                (_, "") => "has no reason: write `crh:ignore RULE why`".to_owned(),
                (_, _) => return None,
            };
            Some(InvalidIgnore {
                line: crh_ignore.comment_line,
                reviewer: reviewer_of(&crh_ignore.rule).to_owned(),
                why,
            })
        });
        invalid_ignores.collect()
    }
}

impl IgnoreSpan {
    fn from_attribute(attribute: LintAttribute) -> Self {
        Self {
            first_line: attribute.first_line,
            last_line: attribute.last_line,
            rules: IgnoredRules::These(attribute.names),
            excerpt: attribute.excerpt,
            comment_line: attribute.attribute_line,
        }
    }

    /// Ends an open block at a line, if the end comment names all rules of the block or no rule.
    fn close_at(&mut self, names: &IgnoredRules, line: u32) {
        let is_ended = match (&self.rules, names) {
            (_, IgnoredRules::AllOf(_)) => true,
            (IgnoredRules::AllOf(_), IgnoredRules::These(_)) => false,
            (IgnoredRules::These(own_names), IgnoredRules::These(ended_names)) => {
                own_names.iter().all(|name| ended_names.contains(name))
            }
        };
        if is_ended && self.last_line == u32::MAX {
            self.last_line = line;
        }
    }
}

/// Whether a name in `crh:ignore` or in a path list refers to a rule: by its id, its reviewer, or
/// an alias.
pub fn name_matches_rule(name: &str, rule: &str) -> bool {
    name == rule
        || name == reviewer_of(rule)
        || aliases_of(rule).iter().any(|alias| is_same_alias(name, alias))
}

fn reviewer_of(rule: &str) -> &str {
    rule.split('/').next().unwrap_or(rule)
}

/// The names of a rule in other tools. A rule of another tool is known by the part after the slash.
fn aliases_of(rule: &str) -> Vec<&str> {
    match (find_rule(rule), rule.split_once('/')) {
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
fn is_same_alias(name_in_comment: &str, alias: &str) -> bool {
    without_path(name_in_comment).eq_ignore_ascii_case(without_path(alias))
        || forms::is_in_range(name_in_comment, alias)
}

fn without_path(name: &str) -> &str {
    name.rsplit([':', '.']).next().unwrap_or(name)
}

/// All names of some rules, for fast lookup.
struct RuleNames {
    /// Rule ids and reviewer names.
    ids: HashSet<String>,
    /// Aliases, without the path and in lower case.
    aliases: HashSet<String>,
}

impl RuleNames {
    fn from_rules<'a>(rules: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self { ids: HashSet::new(), aliases: HashSet::new() };
        for rule in rules {
            names.ids.extend([rule.to_owned(), reviewer_of(rule).to_owned()]);
            let aliases = aliases_of(rule).into_iter();
            names.aliases.extend(aliases.map(|name| without_path(name).to_ascii_lowercase()));
        }
        names
    }

    /// Whether the part before the slash is the reviewer of one of the rules.
    fn contains_tool(&self, name: &str) -> bool {
        self.ids.contains(reviewer_of(name))
    }

    /// Whether [`name_matches_rule`] is true for one of the rules.
    fn contains(&self, name: &str) -> bool {
        self.ids.contains(name) || self.aliases.contains(&without_path(name).to_ascii_lowercase())
    }
}

static BUILT_IN: LazyLock<RuleNames> =
    LazyLock::new(|| RuleNames::from_rules(rules().map(|it| it.id)));

/// Whether a name may refer to a built-in rule, or to a rule of the repository or of another tool.
fn is_known(name: &str) -> bool {
    let is_reviewer = REVIEWERS.contains(&reviewer_of(name));
    match name.split_once('/') {
        Some((CUSTOM_RULES, _)) => true,
        Some(_) => !is_reviewer || BUILT_IN.ids.contains(name),
        None => is_reviewer || BUILT_IN.contains(name),
    }
}

/// Whether the part before the slash is neither a reviewer nor an analyser, and the name is no
/// alias of a built-in rule.
fn has_unknown_tool(name: &str) -> bool {
    let tool = reviewer_of(name);
    tool.len() < name.len()
        && !REVIEWERS.contains(&tool)
        && !is_analyser(tool)
        && !BUILT_IN.contains(name)
}

#[cfg(test)]
mod tests;
