//! Messages about a posting, and the JSON of a dry run, for all forges.

use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_forge::posting::{ForgeRequest, ItemDelivery, PostedItem, PostingOutcome, PostingReceipt};
use crh_pipeline::sinks::{ForgeName, ForgeSink, PostKind};
use crh_review::stable_json;

/// Hint if a secret equals a word of the report format.
pub(crate) const HINT_SECRET_IN_SCHEMA: &str = "nothing was posted; a key or token that is a plain word such as `bug` or `high` is not safe: use a longer one";

/// Prints the writes of a dry run as JSON.
pub(crate) fn print_dry_run(writes: &[ForgeRequest]) -> Result<(), Failure> {
    ui::result_text(&stable_json(writes).or_fail(FailureKind::Bug)?)
}

/// Rejects sinks that write the same comment, and sinks of two forges.
pub(crate) fn check_sinks(sinks: &[ForgeSink]) -> Result<(), Failure> {
    let Some(first) = sinks.iter().min_by_key(|sink| sink.forge) else { return Ok(()) };
    if let Some(other) = sinks.iter().find(|sink| sink.forge != first.forge) {
        let (first, other) = (first.name(), other.name());
        let message = format!("`{first}` and `{other}` cannot be combined");
        return Err(Failure::usage(message).hint("use the one where the change is proposed"));
    }
    let find = |kind: PostKind| sinks.iter().find(|sink| sink.kind == kind);
    match (find(PostKind::Review), find(PostKind::Comment)) {
        (Some(review), Some(comment)) => {
            let (review, comment) = (review.name(), comment.name());
            let message =
                format!("`{review}` and `{comment}` cannot be combined: both write the summary");
            Err(Failure::usage(message).hint(format!(
                "`--sink {review}` posts inline comments and the summary, `--sink {comment}` only the summary"
            )))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

/// A hint that names the sinks for reviews of the forges that `is_named` accepts.
pub(crate) fn sink_hint(is_named: impl Fn(ForgeName) -> bool) -> String {
    let forges = ForgeName::ALL.into_iter().filter(|forge| is_named(*forge));
    let flags = forges.map(|forge| format!("`--sink {}`", forge.name()));
    format!("add {}", flags.collect::<Vec<_>>().join(" or "))
}

/// One line about the results of a posting with the address of the summary; `None` if there was
/// nothing to post.
pub(crate) fn success_message(outcome: &PostingOutcome, fallback_url: &str) -> Option<String> {
    let is_issue = |receipt: &&PostingReceipt| matches!(receipt.item, PostedItem::Issue { .. });
    let issues = |matches: fn(&ItemDelivery) -> bool| {
        outcome
            .receipts
            .iter()
            .filter(is_issue)
            .filter(|receipt| matches(&receipt.delivery))
            .count()
    };
    let posted = issues(|delivery| *delivery == ItemDelivery::Posted);
    let in_summary = issues(ItemDelivery::is_in_summary);
    let unchanged = issues(|delivery| {
        matches!(delivery, ItemDelivery::Skipped(_)) && !delivery.is_in_summary()
    });
    let count = |number: usize, one: &str, more: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {more}")),
    };
    let other_items = outcome.receipts.iter().filter_map(|receipt| {
        let item_name = match &receipt.item {
            PostedItem::Summary => "summary",
            PostedItem::CheckRun => "check run",
            PostedItem::CodeScanning => "alerts",
            PostedItem::Vote { .. } => "vote",
            PostedItem::Issue { .. } | PostedItem::Draft { .. } | PostedItem::Thread { .. } => {
                return None;
            }
        };
        let result = match receipt.delivery {
            ItemDelivery::Posted => "posted",
            ItemDelivery::Updated => "updated",
            ItemDelivery::Skipped(_) => "unchanged",
            ItemDelivery::Failed(_) => "not posted",
        };
        Some(format!("{item_name} {result}"))
    });
    let parts = [
        count(posted, "comment posted", "comments posted"),
        count(unchanged, "comment unchanged", "comments unchanged"),
        count(in_summary, "issue only in the summary", "issues only in the summary"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().chain(other_items).collect();
    let url = outcome.url.as_deref().unwrap_or(fallback_url);
    (!parts.is_empty()).then(|| format!("{}: {url}", parts.join(", ")))
}

/// One line about failed items.
pub(crate) fn failure_message(outcome: &PostingOutcome) -> String {
    let failures = outcome.receipts.iter().filter_map(|receipt| match &receipt.delivery {
        ItemDelivery::Failed(why) => Some(why.as_str()),
        ItemDelivery::Posted | ItemDelivery::Updated | ItemDelivery::Skipped(_) => None,
    });
    let failures: Vec<&str> = failures.collect();
    let mut reasons = failures.clone();
    reasons.dedup();
    match failures.len() {
        1 => reasons.join("; "),
        count => format!("{count} items were not posted: {}", reasons.join("; ")),
    }
}
