//! `crh review --estimate`: prints the plan and its maximum cost.

use super::session::ReviewSession;
use crate::cli::{FormatArg, ListFormatArg};
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_pipeline::context::PanelContext;
use crh_pipeline::plan::CostEstimate;
use crh_pipeline::{context, plan};
use crh_review::stable_json;

/// The format of an estimate. Rejects the formats that only a report has.
pub(super) fn estimate_format(format: Option<FormatArg>) -> Result<ListFormatArg, Failure> {
    match format {
        None | Some(FormatArg::Text) => Ok(ListFormatArg::Text),
        Some(FormatArg::Json) => Ok(ListFormatArg::Json),
        Some(
            FormatArg::Markdown
            | FormatArg::Sarif
            | FormatArg::CodeQuality
            | FormatArg::Envelope
            | FormatArg::Comment
            | FormatArg::Quickfix
            | FormatArg::Annotations
            | FormatArg::Html,
        ) => Err(Failure::usage("`--estimate` prints only text or JSON")
            .hint("pass `--format json`, or leave `--format` out")),
    }
}

pub(super) fn print_estimate(
    session: &ReviewSession,
    format: ListFormatArg,
) -> Result<(), Failure> {
    let estimate = estimate(session);
    let text = match format {
        ListFormatArg::Json => stable_json(&estimate).or_fail(FailureKind::Bug)?,
        ListFormatArg::Text if session.model_set.is_none() => {
            "No model is used: this review is free.\n".to_owned()
        }
        ListFormatArg::Text => estimate.to_string(),
    };
    ui::result_text(&crh_review::escape_invisible(&text))
}

fn estimate(session: &ReviewSession) -> CostEstimate {
    let ReviewSession { subject, terms, checks, model_set, .. } = session;
    let Some(model_set) = model_set else {
        let plan = plan::plan(subject, terms.strategy, checks, &PanelContext::default());
        return plan::estimate_without_model(&plan);
    };
    let known = context::context_without_models(
        subject,
        terms,
        checks.change_origin,
        model_set.min_context(),
    );
    let plan = plan::plan(subject, terms.strategy, checks, &known);
    plan::estimate(&plan, subject, model_set, terms, &known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_has_no_format_of_a_report() {
        assert_eq!(estimate_format(None).unwrap(), ListFormatArg::Text);
        assert_eq!(estimate_format(Some(FormatArg::Json)).unwrap(), ListFormatArg::Json);
        let failure = estimate_format(Some(FormatArg::Sarif)).unwrap_err();
        assert_eq!(failure.error.to_string(), "`--estimate` prints only text or JSON");
    }
}
