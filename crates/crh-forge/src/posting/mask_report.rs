//! A report with what must not be shown hidden, in every text of it, before anything of it leaves.

use serde_json::Value;

use crh_review::report::Report;

/// Hides something in a text.
type Mask<'a> = &'a (dyn Fn(&str) -> String + Sync);

/// The field that holds new text for lines of a file.
const REPLACEMENT: &str = "replacement";

/// The report as it may be shown to everybody: every text in it is masked, so that none can be forgotten. A new text in which
/// something had to be hidden is not one any more. None if something was hidden that is a word of the form itself: what is left is
/// no report.
pub(crate) fn masked(report: &Report, mask: Mask<'_>) -> Option<Report> {
    let mut value = serde_json::to_value(report).ok()?;
    mask_texts(&mut value, mask);
    serde_json::from_value(value).ok()
}

fn mask_texts(value: &mut Value, mask: Mask<'_>) {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *text = mask(text),
            Value::Array(values) => left.extend(values),
            Value::Object(fields) => {
                if let Some(Value::String(text)) = fields.get(REPLACEMENT)
                    && mask(text) != *text
                {
                    fields.insert(REPLACEMENT.to_owned(), Value::Null);
                }
                left.extend(fields.values_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::github::post::tests_support::Review;
    use crh_review::report::Dropped;

    fn hidden(text: &str) -> String {
        text.replace("hunter2", "***")
    }

    #[test]
    fn no_text_of_a_report_is_forgotten() {
        let secret = "say hunter2";
        let mut report = Review::new(&[10]).report;
        let issue = &mut report.issues[0];
        issue.location.file = secret.to_owned();
        issue.disagreement = Some(secret.to_owned());
        issue.rule = Some(secret.to_owned());
        issue.replacement = Some(secret.to_owned());
        issue.evidence[0].snippet = secret.to_owned();
        report.intent = secret.to_owned();
        report.change.title = secret.to_owned();
        let dropped: Dropped = serde_json::from_value(json!({
            "fate": "over_cap", "reason": secret, "reviewer": "checks", "raw": { "deep": [secret] },
            "member": { "reviewer": "checks", "origin": "code", "rule": secret, "finding": {
                "title": secret, "severity": "P1", "file": secret, "line_start": 1, "line_end": 1,
                "why_it_matters": secret, "confidence": 0.8, "category": "bug",
                "evidence": [{ "snippet": secret }], "autofix_class": "manual", "owner": "human",
                "requires_verification": false, "pre_existing": false,
            } },
        }))
        .unwrap();
        report.suppressed.push(dropped);
        let shown = masked(&report, &hidden).unwrap();
        let text = serde_json::to_string(&shown).unwrap();
        assert!(!text.contains("hunter2") && text.contains("say ***"), "{text}");
        assert_eq!(shown.issues[0].replacement, None);
        assert_eq!(shown.suppressed.len(), 1);
    }

    #[test]
    fn a_report_without_secrets_stays_as_it_is() {
        let mut report = Review::new(&[10, 20]).report;
        report.issues[0].replacement = Some("    x();".to_owned());
        assert_eq!(masked(&report, &hidden), Some(report));
    }

    #[test]
    fn a_report_whose_form_would_be_hidden_is_none() {
        let report = Review::new(&[10]).report;
        assert_eq!(masked(&report, &|text| text.replace("bug", "***")), None);
    }
}
