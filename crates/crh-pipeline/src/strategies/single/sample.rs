//! Findings and requests for the tests of `single`.

use std::num::NonZeroU32;

use serde_json::{Value, json};

use super::answer::ContextRequest;
use crh_review::finding::{
    AutofixClass, Category, Confidence, Evidence, Finding, Member, Owner, Severity,
};

/// A finding by its title: a bug in `a.py` on line 7.
pub(crate) fn member(title: &str, severity: Severity, thousandths: u16) -> Member {
    let snippet = "total = compute(order)".to_owned();
    let finding = Finding {
        title: title.to_owned(),
        severity,
        category: Category::Bug,
        file: "a.py".to_owned(),
        line_start: NonZeroU32::new(7),
        line_end: None,
        side: None,
        diff_line: None,
        confidence: Confidence::thousandths(thousandths),
        evidence: vec![Evidence { file: None, line: None, side: None, snippet }],
        why_it_matters: "The total is wrong.".to_owned(),
        suggested_fix: None,
        replacement: None,
        autofix_class: AutofixClass::Manual,
        owner: Owner::Human,
        requires_verification: false,
        pre_existing: false,
    };
    Member::new("single", finding)
}

/// A request as the model writes it.
pub(super) fn raw_request(tool: &str, arguments: Value, for_finding: Option<usize>) -> Value {
    json!({ "tool": tool, "arguments": arguments, "for_finding": for_finding, "why": "to know" })
}

/// The same request, parsed.
pub(super) fn request(tool: &str, arguments: Value, for_finding: Option<usize>) -> ContextRequest {
    serde_json::from_value(raw_request(tool, arguments, for_finding)).unwrap()
}
