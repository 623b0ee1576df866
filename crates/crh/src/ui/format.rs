//! Formats numbers, times and stages for progress output.

use std::borrow::Cow;
use std::time::Duration;

use crh_agent::UsageTotals;
use crh_llm::Money;
use crh_pipeline::events::Stage;
use crh_pipeline::text::{cents, dollars};
use crh_review::one_line;
use crh_review::render::reviewer_reason;

/// Label of a stage.
pub(super) fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Target => "Reading the change",
        Stage::Scope => "Selecting files",
        Stage::Workspace => "Preparing the workspace",
        Stage::Context => "Choosing reviewers",
        Stage::Plan => "Planning",
        Stage::Review => "Reviewing",
        Stage::Findings => "Checking evidence",
        Stage::Merge => "Merging findings",
        Stage::Edit => "Selecting findings",
        Stage::Validate => "Checking issues again",
        Stage::Proof => "Running tests",
        Stage::Report => "Writing the report",
        Stage::Sinks => "Sending the report",
    }
}

/// A number with a singular or plural noun.
pub(super) fn count(count: usize, singular: &str, plural: &str) -> String {
    if count == 1 { format!("1 {singular}") } else { format!("{count} {plural}") }
}

/// Token count, rounded: `980 tokens`, `12.3k tokens`, `1.4M tokens`.
pub(super) fn tokens(totals: &UsageTotals) -> String {
    let total = totals.usage.input.saturating_add(totals.usage.output);
    match total {
        0..1_000 => format!("{total} tokens"),
        1_000..1_000_000 => format!("{:.1}k tokens", total as f64 / 1e3),
        1_000_000.. => format!("{:.1}M tokens", total as f64 / 1e6),
    }
}

/// Share of input tokens read from the vendor's cache; none if zero.
pub(super) fn cached(totals: &UsageTotals) -> Option<String> {
    let usage = &totals.usage;
    let percent = usage.cache_read.saturating_mul(100).checked_div(usage.input)?;
    (percent > 0).then(|| format!("{percent} % cached"))
}

/// Cost and budget: `0.42 of 2.00 USD`.
pub(super) fn money(spent: Money, budget: Option<Money>) -> String {
    match budget {
        Some(budget) => format!("{} of {:.2} USD", cents(spent.as_dollars()), budget.as_dollars()),
        None => dollars(spent.as_dollars()),
    }
}

/// Elapsed time: `0:07`, `12:05`, `1:02:03`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// The name of a run for people. Runs other than those of reviewers get an explanation.
pub(super) fn run_title(run: &str) -> Cow<'_, str> {
    match run.strip_prefix("validate-") {
        Some(number) => format!("validation {number} (checks issues again)").into(),
        None if run == "scout" => "scout (chooses reviewers)".into(),
        None if run == "editor" => "editor (selects findings)".into(),
        None => run.into(),
    }
}

/// The reviewers with reasons, one per line and escaped.
pub(super) fn team(team: &[(String, String)]) -> String {
    let member = |(name, reason): &(String, String)| {
        let reason = reviewer_reason(name, reason);
        format!("  {}", one_line(&format!("{name}: {reason}")))
    };
    let members: Vec<String> = team.iter().map(member).collect();
    format!("Reviewers:\n{}", members.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crh_llm::TokenUsage;
    use crh_pipeline::text::duration;

    #[test]
    fn team_is_a_list() {
        let member = |name: &str, why: &str| (name.to_owned(), why.to_owned());
        let members = [member("correctness", "always"), member("data", "a\n  fake: b")];
        assert_eq!(
            team(&members),
            "Reviewers:\n  correctness: reviews every change\n  data: a fake: b"
        );
    }

    #[test]
    fn numbers_are_rounded() {
        let totals = |input, cache_read, output| UsageTotals {
            usage: TokenUsage { input, cache_read, cache_written: 0, output },
            ..UsageTotals::default()
        };
        for (shown, expected) in [
            (tokens(&totals(0, 0, 0)), "0 tokens"),
            (tokens(&totals(900, 0, 99)), "999 tokens"),
            (tokens(&totals(900, 0, 100)), "1.0k tokens"),
            (tokens(&totals(1_234_567, 0, 0)), "1.2M tokens"),
            (tokens(&totals(u64::MAX, 0, 1)), "18446744073709.6M tokens"),
            (money(Money::ZERO, None), "0.00 USD"),
            (money(Money::cents(1).percent(40), None), "<0.01 USD"),
            (money(Money::cents(142), Some(Money::cents(200))), "1.42 of 2.00 USD"),
            (clock(Duration::from_secs(7)), "0:07"),
            (clock(Duration::from_secs(725)), "12:05"),
            (clock(Duration::from_secs(3_723)), "1:02:03"),
            (duration(80), "80 ms"),
            (duration(3_210), "3.2 s"),
            (duration(75_999), "75 s"),
            (count(1, "file", "files"), "1 file"),
            (count(0, "file", "files"), "0 files"),
        ] {
            assert_eq!(shown, expected);
        }
        assert_eq!(cached(&totals(0, 0, 5)), None);
        assert_eq!(cached(&totals(300, 1, 5)), None);
        assert_eq!(cached(&totals(300, 200, 5)).as_deref(), Some("66 % cached"));
    }
}
