//! What a static reviewer gives back.

use std::num::NonZeroU32;

use crh_review::finding::AutofixClass;
use crh_review::finding::Category;
use crh_review::finding::Confidence;
use crh_review::finding::Evidence;
use crh_review::finding::Finding;
use crh_review::finding::Owner;
use crh_review::finding::Severity;

/// A quote is for recognising a line, not for reading it: what is longer is generated.
const SNIPPET_CHARS: usize = 240;

/// What a static reviewer gives back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Returned {
    /// What it found, by file and line.
    pub findings: Vec<Finding>,
    /// What the reader should know: what was left out, and why.
    pub notes: Vec<String>,
}

/// A finding in a few words, before it is one.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    pub(crate) file: &'a str,
    pub(crate) line: u32,
    pub(crate) severity: Severity,
    pub(crate) category: Category,
    pub(crate) confidence: Confidence,
    pub(crate) title: String,
    pub(crate) why: String,
    pub(crate) owner: Owner,
    pub(crate) fix: &'a str,
    /// The line as it may be shown.
    pub(crate) snippet: String,
    pub(crate) pre_existing: bool,
}

impl Found<'_> {
    pub(crate) fn finding(self) -> Finding {
        let line = NonZeroU32::new(self.line).unwrap_or(NonZeroU32::MIN);
        Finding {
            title: self.title,
            severity: self.severity,
            category: self.category,
            file: self.file.to_owned(),
            line_start: Some(line),
            line_end: None,
            side: None,
            diff_line: None,
            confidence: self.confidence,
            evidence: vec![Evidence {
                file: None,
                line: Some(line),
                side: None,
                snippet: cut(&self.snippet),
            }],
            why_it_matters: self.why,
            suggested_fix: Some(self.fix.to_owned()),
            replacement: None,
            autofix_class: AutofixClass::Manual,
            owner: self.owner,
            requires_verification: false,
            pre_existing: self.pre_existing,
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SNIPPET_CHARS) {
        Some((end, _)) => format!("{} [cut]", &text[..end]),
        None => text.to_owned(),
    }
}
