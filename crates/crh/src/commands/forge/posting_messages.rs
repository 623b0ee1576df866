//! What became of a posting, in words; and what would be written, as JSON. The same for every forge.

use serde::Serialize;

use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_forge::posted::{Delivery, Item, Outcome, Receipt};
use crh_forge::{github, launchpad};
use crh_pipeline::sinks::{PostAs, PostTo};
use crh_review::stable_json;

/// What to do if something that must be hidden is a word of the report's own form.
pub(crate) const HIDDEN_FORM: &str = "nothing was posted; a key or token that is as plain a word as `bug` or `high` is not safe: make a longer one";

/// A write that is only shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Shown {
    GitHub(github::post::Request),
    Launchpad(launchpad::post::Write),
}

/// Prints everything that would be written, to all places together.
pub(crate) fn show(writes: &[Shown]) -> Result<(), Failure> {
    ui::result_text(&stable_json(writes).or_fail(Kind::Bug)?)
}

/// Refuses two forms that are one comment in two versions, and two forges: a change is proposed at one.
pub(crate) fn go_together(places: &[PostTo]) -> Result<(), Failure> {
    let has = |form: PostAs| places.contains(&PostTo::GitHub(form));
    if has(PostAs::Review) && has(PostAs::Comment) {
        return Err(Failure::usage("`github` and `github-comment` cannot be combined: both write the summary")
            .hint("`--sink github` posts comments on lines and the summary, `--sink github-comment` the summary alone"));
    }
    let at_github = places.iter().find(|place| matches!(place, PostTo::GitHub(_)));
    match at_github.filter(|_| places.contains(&PostTo::Launchpad)) {
        Some(other) => {
            let message = format!("`{}` and `launchpad` cannot be combined", other.word());
            Err(Failure::usage(message)
                .hint("a change is proposed at one of them: leave the other out"))
        }
        None => Ok(()),
    }
}

/// What was posted, and where it stands, in one line; none if nothing was to be.
pub(crate) fn said<Refusal>(outcome: &Outcome<Refusal>, place: &str) -> Option<String> {
    let is_issue = |receipt: &&Receipt| matches!(receipt.item, Item::Issue { .. });
    let issues = |matches: fn(&Delivery) -> bool| {
        outcome
            .receipts
            .iter()
            .filter(is_issue)
            .filter(|receipt| matches(&receipt.delivery))
            .count()
    };
    let posted = issues(|delivery| *delivery == Delivery::Posted);
    let in_summary = issues(Delivery::is_in_summary);
    let left =
        issues(|delivery| matches!(delivery, Delivery::Skipped(_)) && !delivery.is_in_summary());
    let count = |number: usize, one: &str, more: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        number => Some(format!("{number} {more}")),
    };
    let whole = outcome.receipts.iter().filter_map(|receipt| {
        let what = match &receipt.item {
            Item::Summary => "the summary",
            Item::CheckRun => "the check run",
            Item::CodeScanning => "the alerts",
            Item::Vote { .. } => "the vote",
            Item::Issue { .. } | Item::Draft { .. } | Item::Thread { .. } => return None,
        };
        let became = match receipt.delivery {
            Delivery::Posted => "posted",
            Delivery::Updated => "updated",
            Delivery::Skipped(_) => "left as it was",
            Delivery::Failed(_) => "not posted",
        };
        Some(format!("{what} {became}"))
    });
    let parts = [
        count(posted, "comment posted", "comments posted"),
        count(left, "left as it was", "left as they were"),
        count(in_summary, "issue only in the summary", "issues only in the summary"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().chain(whole).collect();
    let url = outcome.url.as_deref().unwrap_or(place);
    (!parts.is_empty()).then(|| format!("{}: {url}", parts.join(", ")))
}

/// What was not posted, and why, in one line.
pub(crate) fn failures<Refusal>(outcome: &Outcome<Refusal>) -> String {
    let failed = outcome.receipts.iter().filter_map(|receipt| match &receipt.delivery {
        Delivery::Failed(why) => Some(why.as_str()),
        Delivery::Posted | Delivery::Updated | Delivery::Skipped(_) => None,
    });
    let failed: Vec<&str> = failed.collect();
    let mut reasons = failed.clone();
    reasons.dedup();
    match failed.len() {
        1 => reasons.join("; "),
        count => format!("{count} parts were not posted: {}", reasons.join("; ")),
    }
}
