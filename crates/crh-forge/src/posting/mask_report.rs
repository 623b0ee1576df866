//! Masks every text of a report before it is posted.

use serde_json::Value;

use crh_review::report::Report;

type MaskFn<'a> = &'a (dyn Fn(&str) -> String + Sync);

/// Field with the replacement text of a fix.
const REPLACEMENT: &str = "replacement";

/// Masks all strings of the report in its JSON form, so that a new field cannot be forgotten. Drops
/// replacement texts that contained a secret. Returns `None` if a secret equals a word of the
/// report format, such as a category.
pub(crate) fn mask_report(report: &Report, mask: MaskFn<'_>) -> Option<Report> {
    let mut value = serde_json::to_value(report).ok()?;
    mask_texts(&mut value, mask);
    serde_json::from_value(value).ok()
}

fn mask_texts(value: &mut Value, mask: MaskFn<'_>) {
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *text = mask(text),
            Value::Array(values) => pending.extend(values),
            Value::Object(fields) => {
                if let Some(Value::String(text)) = fields.get(REPLACEMENT)
                    && mask(text) != *text
                {
                    fields.insert(REPLACEMENT.to_owned(), Value::Null);
                }
                pending.extend(fields.values_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::posting::tests_support::ReviewFixture;
    use crh_review::report::DroppedFinding;

    fn mask_password(text: &str) -> String {
        text.replace("hunter2", "***")
    }

    #[test]
    fn every_text_of_a_report_is_masked() {
        let secret = "say hunter2";
        let mut report = ReviewFixture::new(&[10]).report;
        let issue = &mut report.issues[0];
        issue.location.file = secret.to_owned();
        issue.disagreement = Some(secret.to_owned());
        issue.rule = Some(secret.to_owned());
        issue.replacement = Some(secret.to_owned());
        issue.evidence[0].snippet = secret.to_owned();
        report.intent = secret.to_owned();
        report.change.title = secret.to_owned();
        let dropped: DroppedFinding = serde_json::from_value(json!({
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
        let masked_report = mask_report(&report, &mask_password).unwrap();
        let text = serde_json::to_string(&masked_report).unwrap();
        assert!(!text.contains("hunter2") && text.contains("say ***"), "{text}");
        assert_eq!(masked_report.issues[0].replacement, None);
        assert_eq!(masked_report.suppressed.len(), 1);
    }

    #[test]
    fn report_without_secrets_is_unchanged() {
        let mut report = ReviewFixture::new(&[10, 20]).report;
        report.issues[0].replacement = Some("    x();".to_owned());
        assert_eq!(mask_report(&report, &mask_password), Some(report));
    }

    #[test]
    fn masking_that_breaks_the_format_gives_none() {
        let report = ReviewFixture::new(&[10]).report;
        assert_eq!(mask_report(&report, &|text| text.replace("bug", "***")), None);
    }
}
