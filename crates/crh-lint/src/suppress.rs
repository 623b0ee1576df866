//! Comments that silence a finding: the forms that people know from other tools, and `crh:ignore`.
//!
//! Invariant: nothing that a change can contain silences `injection/*`, and only `crh:ignore` with a reason silences
//! `secrets/*`; otherwise a hostile change could turn itself green.

mod comments;
mod forms;

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

use comments::Comments;
use forms::{Form, Names};

use crate::rule::rules;
use crate::{REVIEWERS, Rule, analysers};

/// The reviewer whose findings nothing in a change silences.
const NEVER: &str = "injection";
/// The reviewer whose findings want a reason.
const ONLY_WITH_REASON: &str = "secrets";
/// The reviewer whose rules are data: their names are not known here.
const RULES_AS_DATA: &str = "patterns";

/// Forms that count until they are ended are a few in a file. Whoever writes more means none of them, and each would be held
/// against each end.
const OPEN_MAX: usize = 1_000;
/// All lines of a text, and nothing ends it before.
const WHOLE: (u32, u32) = (1, u32::MAX - 1);

/// What silences a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppression {
    /// The comment as far as it says so: `# noqa: T100`.
    pub by: String,
    /// Its line, 1-based.
    pub line: u32,
    /// The reason that is given in it; empty if none.
    pub reason: String,
}

/// A `crh:ignore` that does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Its line, 1-based.
    pub line: u32,
    /// The reviewer that it seems to mean, as it is written; empty if it names nothing.
    pub reviewer: String,
    /// Why it does not count, as it follows the place.
    pub why: String,
}

/// The comments of one text that silence findings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ignores {
    spans: Vec<Span>,
    marks: Vec<Mark>,
}

/// A form that counts for some lines.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    first: u32,
    last: u32,
    names: Names,
    by: String,
    line: u32,
}

/// A `crh:ignore`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    first: u32,
    last: u32,
    rule: String,
    reason: String,
    line: u32,
}

impl Ignores {
    /// The comments of a text. By its tree where its language has a grammar, otherwise by the usual signs.
    pub fn read(path: &str, text: &str) -> Self {
        let mut ignores = Self::default();
        let Some(Comments { comments, attributes }) = comments::read(path, text) else {
            return ignores;
        };
        let lines: Vec<&str> = text.lines().collect();
        let mut open: Vec<Span> = Vec::new();
        for comment in &comments {
            let on_it = (comment.first, comment.last);
            let reach = (comment.first, comment.covers());
            for form in forms::read(&comment.text, comment.sign) {
                let (place, names, by) = match form {
                    Form::Crh { rule, reason } => {
                        let (first, last) = reach;
                        ignores.marks.push(Mark { first, last, rule, reason, line: comment.first });
                        continue;
                    }
                    Form::Line { names, by } => (on_it, names, by),
                    Form::LineOrNext { names, by } => (reach, names, by),
                    Form::File { names, by } if comment.is_alone() => (WHOLE, names, by),
                    // The tools pass over it, too.
                    Form::File { .. } => continue,
                    Form::Command { names, by } => {
                        (comments::command(&lines, comment).unwrap_or(WHOLE), names, by)
                    }
                    Form::NextLine { names, by } => {
                        let next = comment.last.saturating_add(1);
                        ((next, next), names, by)
                    }
                    Form::Begins { names, by } => ((comment.first, u32::MAX), names, by),
                    Form::Ends { names } => {
                        open.iter_mut().for_each(|span| span.close(&names, comment.last));
                        ignores.spans.extend(open.extract_if(.., |it| it.last != u32::MAX));
                        continue;
                    }
                };
                let is_open = place.1 == u32::MAX;
                let span = Span { first: place.0, last: place.1, names, by, line: comment.first };
                match is_open {
                    false => ignores.spans.push(span),
                    true if open.len() < OPEN_MAX => open.push(span),
                    true => {}
                }
            }
        }
        ignores.spans.extend(open);
        ignores.spans.extend(attributes.into_iter().map(|it| Span {
            first: it.first,
            last: it.last,
            names: Names::These(it.names),
            by: it.by,
            line: it.line,
        }));
        ignores
    }

    /// What silences a finding of a rule on these lines, if anything does.
    pub fn silencing(&self, rule: &str, first: u32, last: u32) -> Option<Suppression> {
        let reviewer = reviewer(rule);
        if reviewer == NEVER {
            return None;
        }
        let is_at = |from: u32, to: u32| [first, last].iter().any(|at| (from..=to).contains(at));
        let mark = self.marks.iter().find(|mark| {
            !mark.reason.is_empty() && is_at(mark.first, mark.last) && is_named(&mark.rule, rule)
        });
        if let Some(mark) = mark {
            let by = format!("crh:ignore {}", mark.rule);
            return Some(Suppression { by, line: mark.line, reason: mark.reason.clone() });
        }
        if reviewer == ONLY_WITH_REASON {
            return None;
        }
        let (also, built_in) = (also(rule), built_in(rule));
        let span = self.spans.iter().find(|span| {
            is_at(span.first, span.last)
                && match &span.names {
                    Names::AllOf(tool) => match built_in {
                        Some(built_in) => tool.has(built_in),
                        None => tool.is(reviewer),
                    },
                    Names::These(names) => {
                        names.iter().any(|name| also.iter().any(|also| is_same(name, also)))
                    }
                }
        });
        span.map(|span| Suppression { by: span.by.clone(), line: span.line, reason: String::new() })
    }

    /// The uses of `crh:ignore` that do not count: without a reason, or with a name that nothing has. `others` are the names of
    /// rules that are not built in and were met in this review.
    pub fn misfits(&self, others: &BTreeSet<String>) -> Vec<Misfit> {
        let others = RuleNames::of(others.iter().map(String::as_str));
        let misfits = self.marks.iter().filter_map(|mark| {
            let is_other = || others.has(&mark.rule);
            let why = match (&*mark.rule, &*mark.reason) {
                ("", _) => "names no rule: write `crh:ignore RULE why`".to_owned(),
                (rule, _) if reviewer(rule) == NEVER => {
                    "names a rule that no comment silences".to_owned()
                }
                (rule, _) if !is_known(rule) && !is_other() => {
                    format!("names `{rule}`, which is no rule")
                }
                (rule, _) if is_of_unknown_tool(rule) && !is_other() && !others.has_tool(rule) => {
                    format!("names `{rule}`, which is a rule of nothing that ran here")
                }
                (_, "") => "has no reason: write `crh:ignore RULE why`".to_owned(),
                (_, _) => return None,
            };
            Some(Misfit { line: mark.line, reviewer: reviewer(&mark.rule).to_owned(), why })
        });
        misfits.collect()
    }
}

impl Span {
    fn close(&mut self, names: &Names, line: u32) {
        let is_meant = match (&self.names, names) {
            (_, Names::AllOf(_)) => true,
            (Names::AllOf(_), Names::These(_)) => false,
            (Names::These(mine), Names::These(theirs)) => {
                mine.iter().all(|name| theirs.contains(name))
            }
        };
        if is_meant && self.last == u32::MAX {
            self.last = line;
        }
    }
}

/// Whether a name in `crh:ignore` or in a list of paths means a rule: its id, its reviewer, or a name that other tools know it by.
pub fn is_named(name: &str, rule: &str) -> bool {
    name == rule || name == reviewer(rule) || also(rule).iter().any(|also| is_same(name, also))
}

/// The reviewer of a rule.
fn reviewer(rule: &str) -> &str {
    rule.split('/').next().unwrap_or(rule)
}

fn built_in(rule: &str) -> Option<&'static Rule> {
    rules().find(|built_in| built_in.id == rule)
}

/// The names that other tools know a rule by. A rule of another tool is known by what stands behind the slash.
fn also(rule: &str) -> Vec<&str> {
    match (built_in(rule), rule.split_once('/')) {
        (Some(built_in), _) => built_in.also.to_vec(),
        (None, Some((reviewer, name)))
            if !REVIEWERS.contains(&reviewer) || reviewer == RULES_AS_DATA =>
        {
            vec![name]
        }
        (None, _) => Vec::new(),
    }
}

/// Whether two names of other tools are the same: letter case aside, and with or without the path before it, as in
/// `clippy::dbg_macro` and `python.lang.exec-used`.
fn is_same(written: &str, name: &str) -> bool {
    without_path(written).eq_ignore_ascii_case(without_path(name))
        || forms::is_between(written, name)
}

fn without_path(name: &str) -> &str {
    name.rsplit([':', '.']).next().unwrap_or(name)
}

/// Every name that means one of some rules, for asking often.
struct RuleNames {
    /// Rules and their reviewers.
    own: HashSet<String>,
    /// What other tools call them, without the path and in small letters.
    others: HashSet<String>,
}

impl RuleNames {
    fn of<'a>(rules: impl Iterator<Item = &'a str>) -> Self {
        let mut names = Self { own: HashSet::new(), others: HashSet::new() };
        for rule in rules {
            names.own.extend([rule.to_owned(), reviewer(rule).to_owned()]);
            let also = also(rule).into_iter();
            names.others.extend(also.map(|name| without_path(name).to_ascii_lowercase()));
        }
        names
    }

    /// Whether what stands before the slash of a name is the reviewer of one of them.
    fn has_tool(&self, name: &str) -> bool {
        self.own.contains(reviewer(name))
    }

    /// Whether [`is_named`] holds for one of them.
    fn has(&self, name: &str) -> bool {
        self.own.contains(name) || self.others.contains(&without_path(name).to_ascii_lowercase())
    }
}

/// The names of what is built in.
static BUILT_IN: LazyLock<RuleNames> = LazyLock::new(|| RuleNames::of(rules().map(|it| it.id)));

/// Whether a name can mean a rule that is built in, or one whose name is not known here.
fn is_known(name: &str) -> bool {
    let is_reviewer = REVIEWERS.contains(&reviewer(name));
    match name.split_once('/') {
        Some((RULES_AS_DATA, _)) => true,
        Some(_) => !is_reviewer || BUILT_IN.own.contains(name),
        None => is_reviewer || BUILT_IN.has(name),
    }
}

/// Whether a name has a slash and before it neither a reviewer nor an analyser, and no rule of ours goes by it elsewhere.
fn is_of_unknown_tool(name: &str) -> bool {
    let tool = reviewer(name);
    tool.len() < name.len()
        && !REVIEWERS.contains(&tool)
        && !analysers::NAMES.contains(&tool)
        && !BUILT_IN.has(name)
}

#[cfg(test)]
mod tests;
