//! Numbers about posted issues: what became of them, by category, severity, reviewer and
//! repository, and cost and time by month.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::History;
use crate::outcome::{OutcomeKind, Reception};

/// Width of a plot in the page, in pixels.
const PLOT_WIDTH: u32 = 640;
/// Height of a plot.
const PLOT_HEIGHT: u32 = 160;

/// Numbers about posted issues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct IssueCounts {
    /// Posted issues.
    pub shown: u32,
    /// Fixed issues, and issues whose change was reverted later.
    pub acted_on: u32,
    /// Dismissed or argued against.
    pub rejected: u32,
    /// Issues in merged or closed changes that stand, and issues whose code only moved or was
    /// reformatted.
    pub left_alone: u32,
    /// Issues without an outcome, in open changes or in deleted files.
    pub undecided: u32,
}

/// Cost, time and issues of the posted reviews of a month.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct MonthCost {
    /// Posted reviews.
    pub reviews: u32,
    /// Cost in US dollars.
    pub cost_usd: f64,
    /// Mean seconds from start to report.
    pub mean_seconds: f64,
    /// Posted issues of the month.
    pub issues: IssueCounts,
}

/// All numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LearningStats {
    /// All posted issues.
    pub total: IssueCounts,
    /// Number of issues by outcome.
    pub outcomes: BTreeMap<&'static str, u32>,
    /// By category.
    pub by_category: BTreeMap<String, IssueCounts>,
    /// By reviewer. An issue of several reviewers counts for each.
    pub by_reviewer: BTreeMap<String, IssueCounts>,
    /// By severity.
    pub by_severity: BTreeMap<String, IssueCounts>,
    /// By repository.
    pub by_repository: BTreeMap<String, IssueCounts>,
    /// Issues that were dismissed on this machine and not posted, by category.
    pub dismissed_unposted: BTreeMap<String, u32>,
    /// By month, `YYYY-MM`.
    pub by_month: BTreeMap<String, MonthCost>,
    /// Lines of the history that this version of crh cannot read.
    pub unreadable_lines: usize,
}

impl IssueCounts {
    fn count(&mut self, outcome: Option<OutcomeKind>) {
        self.shown += 1;
        let part = match outcome.map(OutcomeKind::reception) {
            Some(Reception::ActedOn) => &mut self.acted_on,
            Some(Reception::Rejected) => &mut self.rejected,
            Some(Reception::LeftAlone) => &mut self.left_alone,
            Some(Reception::Undecided) | None => &mut self.undecided,
        };
        *part += 1;
    }

    /// Share of decided issues that were acted on, in percent. `None` if no issue is decided.
    pub fn acted_on_percent(&self) -> Option<u32> {
        let decided = self.shown - self.undecided;
        (decided > 0).then(|| (100 * self.acted_on + decided / 2) / decided)
    }
}

impl LearningStats {
    /// Counts the issues of histories.
    pub fn new(histories: &[History]) -> Self {
        let mut stats = Self::default();
        for history in histories {
            stats.unreadable_lines += history.unreadable;
            for review in history.reviews.iter().filter(|review| !review.proposal.is_empty()) {
                let month = review.at.get(..7).unwrap_or_default().to_owned();
                let month = stats.by_month.entry(month).or_default();
                let seconds = review.seconds.0 as f64 / 1e6;
                let earlier = f64::from(month.reviews);
                month.mean_seconds = (month.mean_seconds * earlier + seconds) / (earlier + 1.0);
                month.reviews += 1;
                month.cost_usd += review.cost_usd.0 as f64 / 1e6;
            }
            for proposal in history.proposals() {
                stats.count_proposal(history, proposal);
            }
            for (_, issue) in history.issues_of("") {
                let outcome = history.outcome_of("", &issue.key).map(|outcome| outcome.kind);
                if outcome == Some(OutcomeKind::Dismissed) {
                    *stats.dismissed_unposted.entry(issue.category.to_string()).or_default() += 1;
                }
            }
        }
        stats
    }

    fn count_proposal(&mut self, history: &History, proposal: &str) {
        for (review, issue) in history.issues_of(proposal) {
            let outcome = history.outcome_of(proposal, &issue.key).map(|outcome| outcome.kind);
            let name = outcome.map_or("not known", OutcomeKind::name);
            *self.outcomes.entry(name).or_default() += 1;
            self.total.count(outcome);
            let count = |counts: &mut BTreeMap<String, IssueCounts>, name: String| {
                counts.entry(name).or_default().count(outcome);
            };
            count(&mut self.by_category, issue.category.to_string());
            count(&mut self.by_severity, issue.severity.to_string());
            count(&mut self.by_repository, review.repo.clone());
            for reviewer in &issue.reviewers {
                count(&mut self.by_reviewer, reviewer.clone());
            }
            let month = review.at.get(..7).unwrap_or_default();
            if let Some(month) = self.by_month.get_mut(month) {
                month.issues.count(outcome);
            }
        }
    }

    /// The numbers as tables of text.
    pub fn to_text(&self) -> String {
        let mut tables = Vec::new();
        for (name, rows) in self.groups() {
            let mut text = String::new();
            text.push_str(&format!(
                "{name:<28} {:>6} {:>9} {:>9} {:>10} {:>10} {:>10}\n",
                "shown", "acted on", "rejected", "left alone", "undecided", "acted on %"
            ));
            for (name, counts) in rows {
                let percent =
                    counts.acted_on_percent().map_or("–".to_owned(), |it| format!("{it} %"));
                text.push_str(&format!(
                    "  {name:<26} {:>6} {:>9} {:>9} {:>10} {:>10} {percent:>10}\n",
                    counts.shown,
                    counts.acted_on,
                    counts.rejected,
                    counts.left_alone,
                    counts.undecided,
                ));
            }
            tables.push(text);
        }
        if !self.dismissed_unposted.is_empty() {
            let mut text = format!("{:<28} {:>6}\n", "dismissed before posting", "issues");
            for (category, count) in &self.dismissed_unposted {
                text.push_str(&format!("  {category:<26} {count:>6}\n"));
            }
            tables.push(text);
        }
        if !self.by_month.is_empty() {
            let mut text = format!(
                "{:<28} {:>7} {:>10} {:>12}\n",
                "month", "reviews", "cost USD", "mean seconds"
            );
            for (month, cost) in &self.by_month {
                text.push_str(&format!(
                    "  {month:<26} {:>7} {:>10.2} {:>12.1}\n",
                    cost.reviews, cost.cost_usd, cost.mean_seconds
                ));
            }
            tables.push(text);
        }
        if self.unreadable_lines > 0 {
            tables
                .push(format!("unreadable lines in the stored data: {}\n", self.unreadable_lines));
        }
        tables.join("\n")
    }

    /// Tables, each with a row per name. No tables if no issue was posted.
    fn groups(&self) -> Vec<(&'static str, Vec<(String, IssueCounts)>)> {
        let rows = |counts: &BTreeMap<String, IssueCounts>| {
            let mut rows: Vec<(String, IssueCounts)> =
                counts.iter().map(|(name, it)| (one_line(name), *it)).collect();
            rows.sort_by(|a, b| b.1.shown.cmp(&a.1.shown).then_with(|| a.0.cmp(&b.0)));
            rows
        };
        let groups = [
            ("issues", vec![("all".to_owned(), self.total)]),
            ("category", rows(&self.by_category)),
            ("severity", rows(&self.by_severity)),
            ("reviewer", rows(&self.by_reviewer)),
            ("repository", rows(&self.by_repository)),
        ];
        groups.into_iter().filter(|_| self.total.shown > 0).collect()
    }

    /// The numbers as an HTML page that runs no scripts and loads no other files.
    pub fn to_html(&self) -> String {
        let mut body = String::new();
        let months: Vec<(&str, &MonthCost)> =
            self.by_month.iter().map(|(month, cost)| (month.as_str(), cost)).collect();
        let series = |value: &dyn Fn(&MonthCost) -> f64| -> Vec<(&str, f64)> {
            months.iter().map(|(month, cost)| (*month, value(cost))).collect()
        };
        let share =
            |cost: &MonthCost| cost.issues.acted_on_percent().map(f64::from).unwrap_or_default();
        body.push_str(&plot("Issues acted on, percent", &series(&share)));
        body.push_str(&plot("Cost in US dollars", &series(&|cost| cost.cost_usd)));
        body.push_str(&plot("Mean seconds of a review", &series(&|cost| cost.mean_seconds)));
        for (name, rows) in self.groups() {
            body.push_str(&format!(
                "<table><tr><th>{name}</th><th>shown</th><th>acted on</th><th>rejected</th><th>left alone</th><th>undecided</th></tr>\n"
            ));
            for (name, it) in rows {
                body.push_str(&format!(
                    "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                    escape_html(&name),
                    it.shown,
                    it.acted_on,
                    it.rejected,
                    it.left_alone,
                    it.undecided
                ));
            }
            body.push_str("</table>\n");
        }
        let unposted: u32 = self.dismissed_unposted.values().sum();
        if unposted > 0 {
            body.push_str(&format!("<p>Dismissed here, not posted: {unposted}</p>\n"));
        }
        format!("{PAGE_START}{body}</body></html>\n")
    }
}

const PAGE_START: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>crh stats</title>
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<style>body{font:16px sans-serif;margin:2em auto;max-width:46em}table{border-collapse:collapse;margin:1em 0}
td,th{padding:.2em .8em;text-align:right}td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f2f2f2}
svg rect{fill:#3467a8}svg text{font-size:11px;fill:#444}</style></head><body><h1>What became of the issues</h1>
";

/// A bar chart as SVG. Empty if no value is positive.
fn plot(title: &str, values: &[(&str, f64)]) -> String {
    let highest = values.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if highest <= 0.0 {
        return String::new();
    }
    let width = f64::from(PLOT_WIDTH) / values.len() as f64;
    let bar = |(index, (name, value)): (usize, &(&str, f64))| {
        let height = value / highest * f64::from(PLOT_HEIGHT);
        let x = index as f64 * width;
        let y = f64::from(PLOT_HEIGHT) - height;
        format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{}: {value:.2}</title></rect><text x=\"{x:.1}\" y=\"{}\">{}</text>",
            x + 1.0,
            y + 4.0,
            (width - 2.0).max(1.0),
            escape_html(name),
            PLOT_HEIGHT + 18,
            escape_html(name),
        )
    };
    let bars: String = values.iter().enumerate().map(bar).collect();
    format!(
        "<h2>{}</h2><svg role=\"img\" aria-label=\"{}\" width=\"{PLOT_WIDTH}\" height=\"{}\">{bars}</svg>\n",
        escape_html(title),
        escape_html(title),
        PLOT_HEIGHT + 24
    )
}

fn escape_html(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

/// A name on one line, with invisible characters escaped.
fn one_line(name: &str) -> String {
    crh_review::escape_invisible(&name.replace(['\n', '\t'], " "))
}

#[cfg(test)]
mod tests;
