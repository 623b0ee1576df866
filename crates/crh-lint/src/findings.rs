//! What a static reviewer gives back.

use std::num::NonZeroU32;

use crate::Rule;
use crate::fold::folded;
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Owner, Severity, Side, TITLE_MAX,
};

/// A quote is for recognising a line, not for reading it: what is longer is generated.
const SNIPPET_CHARS: usize = 240;

/// A reviewer that says more than this about a change was set off by something that a program wrote. Of what is given back only the
/// first ones are shown, once it is known what of it is silenced.
pub(crate) const RETURNED_MAX: usize = 1_000;

/// What a static reviewer gives back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Returned {
    /// What it found, by file and line.
    pub findings: Vec<Reported>,
    /// What the reader should know: what was left out, and why.
    pub notes: Vec<String>,
}

impl Returned {
    /// The same, and a word about what is too much.
    pub(crate) fn bounded(mut self) -> Self {
        let more = self.findings.len().saturating_sub(RETURNED_MAX);
        if more > 0 {
            self.notes.push(format!("{more} more findings are not listed"));
            self.findings.truncate(RETURNED_MAX);
        }
        self
    }
}

/// A finding, and the rule that it breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The rule's name, such as `leftovers/debugger`.
    pub rule: String,
    /// What is wrong.
    pub finding: Finding,
}

/// A finding in a few words, before it is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) rule: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    /// The side its line counts on; none for the text after the change.
    pub(crate) side: Option<Side>,
    /// The last line, if it is about several.
    pub(crate) end: Option<u32>,
    pub(crate) severity: Severity,
    pub(crate) category: Category,
    pub(crate) confidence: Confidence,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) owner: Owner,
    pub(crate) fix: String,
    /// The exact new text for its lines.
    pub(crate) replacement: Option<String>,
    /// The line as it may be shown.
    pub(crate) snippet: String,
    /// Other places that prove it: file, line, and the line's text.
    pub(crate) witnesses: Vec<(String, u32, String)>,
    pub(crate) pre_existing: bool,
}

impl Found {
    /// What a rule has found on a line of a file.
    pub(crate) fn new(rule: &Rule, file: &str, line: u32, snippet: &str) -> Self {
        Self {
            rule: rule.id.to_owned(),
            file: file.to_owned(),
            line,
            side: None,
            end: None,
            severity: rule.severity,
            category: rule.category,
            confidence: rule.confidence,
            title: String::new(),
            why: String::new(),
            owner: Owner::DownstreamResolver,
            fix: String::new(),
            replacement: None,
            snippet: snippet.trim_end().to_owned(),
            witnesses: Vec::new(),
            pre_existing: false,
        }
    }

    /// What is wrong, in one line; what comes of it; what to do.
    pub(crate) fn saying(
        mut self,
        title: impl Into<String>,
        why: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        (self.title, self.why, self.fix) = (title.into(), why.into(), fix.into());
        self
    }

    pub(crate) fn reported(self) -> Reported {
        let line = |number: u32| NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN);
        let own = Evidence {
            file: None,
            line: Some(line(self.line)),
            side: self.side,
            snippet: cut(&self.snippet),
        };
        let witnesses = self.witnesses.iter().map(|(file, number, text)| Evidence {
            file: Some(file.clone()),
            line: Some(line(*number)),
            side: self.side.map(|_| Side::New),
            snippet: cut(text.trim_end()),
        });
        let finding = Finding {
            title: headline(&self.title),
            severity: self.severity,
            category: self.category,
            file: self.file,
            line_start: Some(line(self.line)),
            line_end: self.end.filter(|end| *end > self.line).map(line),
            side: self.side,
            diff_line: None,
            confidence: self.confidence,
            evidence: std::iter::once(own).chain(witnesses).collect(),
            why_it_matters: self.why,
            suggested_fix: Some(self.fix).filter(|fix| !fix.is_empty()),
            autofix_class: match self.replacement {
                Some(_) => AutofixClass::GatedAuto,
                None => AutofixClass::Manual,
            },
            replacement: self.replacement,
            owner: self.owner,
            requires_verification: false,
            pre_existing: self.pre_existing,
        };
        Reported { rule: self.rule, finding }
    }
}

/// A title in one line that is not too long: names in it are of the change's making.
pub(crate) fn headline(title: &str) -> String {
    let title = folded(title);
    match title.char_indices().nth(TITLE_MAX) {
        Some(_) => title.chars().take(TITLE_MAX - 1).chain(['…']).collect(),
        None => title,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SNIPPET_CHARS) {
        Some((end, _)) => format!("{} [cut]", &text[..end]),
        None => text.to_owned(),
    }
}
