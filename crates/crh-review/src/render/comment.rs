//! Renders the summary comment: markers, verdict, table, folded details, lists and remarks.

use std::collections::BTreeSet;

use super::{
    FIXED_SUFFIX, HiddenCounts, counted_hidden_lines, coverage_gaps, issue_remarks, location_label,
    marked_verdict, next_step_in, reported_by, unfixable_note, unjudged_reason, validation_note,
    warnings_beside_failures,
};
use crate::finding::Side;
use crate::identity::{review_marker, summary_marker};
use crate::report::{Issue, Report, RequirementState, Strategy, TestProof};
use crate::sanitise;
use crate::verdict::counted_hidden;

/// Maximum body length on GitHub, in characters.
pub const COMMENT_MAX: usize = 65_536;
/// Maximum characters of one reviewer text.
const MAX_PROSE: usize = 4_096;
/// Maximum characters of the remarks after the details.
const MAX_REMARKS: usize = 8_192;
/// Maximum characters of the lists. On a long-lived pull request they keep growing.
const MAX_LISTS: usize = 8_192;
/// Characters reserved for the notes about omitted entries.
const MAX_OMITTED_NOTES: usize = 256;

/// Maximum characters of the model names and of the review id in the last line.
const MAX_NAME: usize = 100;

/// What a forge adds to the summary of a report.
#[derive(Debug, Clone, Copy, Default)]
pub struct SummaryOptions<'a> {
    /// Name of the crh instance, so that two instances do not edit each other's comment.
    pub instance: &'a str,
    /// Prefix, after `https://`, of URLs that may stay links.
    pub links: Option<&'a str>,
    /// How to show each issue, in report order. Missing entries are shown in full.
    pub rows: &'a [IssueDisplay],
    /// Heading above the issues that are shown in full.
    pub heading: Option<&'a str>,
    /// Lists after the issues.
    pub lists: &'a [SummaryList],
    /// Remarks about the posting itself.
    pub remarks: &'a [String],
    /// Marker for the last line.
    pub last_line: Option<&'a str>,
}

/// How an issue is shown in a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueDisplay {
    /// Only in the table, with a link to the details.
    Linked(String),
    /// In the table and in full below it.
    Full {
        /// Why it has no inline comment; empty if there is nothing to say.
        why: String,
        /// Link to its discussion.
        link: Option<String>,
    },
}

/// A list after the issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryList {
    /// Heading. Not escaped.
    pub heading: &'static str,
    /// Entries of the list.
    pub entries: Vec<SummaryEntry>,
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryEntry {
    /// Location or short name, shown as code.
    pub place: Option<String>,
    /// Title.
    pub title: String,
    /// Remark; may be empty.
    pub remark: String,
    /// Link to its discussion.
    pub link: Option<String>,
}

/// The summary comment of a report without inline comments. `instance` names the crh instance.
pub fn comment(report: &Report, instance: &str) -> String {
    let links = repo_link_prefix(&report.change.url, &report.change.repo);
    summary(
        report,
        &SummaryOptions { instance, links: links.as_deref(), ..SummaryOptions::default() },
    )
}

/// The summary comment of a report. Never longer than [`COMMENT_MAX`]: entries that do not fit are
/// omitted with a note.
pub fn summary(report: &Report, options: &SummaryOptions<'_>) -> String {
    let links = options.links;
    let mut end = lists(options);
    end.push_str(&closing_lines(report, options));
    if let Some(line) = options.last_line {
        end.push_str(&format!("\n{line}\n"));
    }
    let mut body =
        BoundedText::new(COMMENT_MAX.saturating_sub(end.chars().count() + MAX_OMITTED_NOTES));
    body.push(&format!(
        "{}\n{}\n",
        review_marker(&report.review_id),
        summary_marker(options.instance)
    ));
    let reason = prose(&capitalise(&report.verdict_reason), links);
    body.push(&format!("## {}\n\n{reason}\n", marked_verdict(report)));
    if !report.summary.is_empty() {
        body.push(&format!("\n{}\n", prose(&report.summary, links)));
    }
    let in_full = IssueDisplay::Full { why: String::new(), link: None };
    let rows: Vec<(&Issue, &IssueDisplay)> = report
        .issues
        .iter()
        .enumerate()
        .map(|(index, issue)| (issue, options.rows.get(index).unwrap_or(&in_full)))
        .collect();
    let mut omitted_notes = add_table(&mut body, report, &rows, links);
    omitted_notes.push_str(&add_details(&mut body, report, &rows, options));
    let mut out = body.into_text();
    out.push_str(&omitted_notes);
    out.push_str(&end);
    out
}

/// Text with a maximum length. Pieces are added whole or not at all.
pub(super) struct BoundedText {
    text: String,
    remaining_chars: usize,
}

impl BoundedText {
    pub(super) fn new(max_chars: usize) -> Self {
        Self { text: String::new(), remaining_chars: max_chars }
    }

    /// Adds a piece if it fits. Returns whether it did.
    pub(super) fn push(&mut self, piece: &str) -> bool {
        let Some(remaining_chars) = self.remaining_chars.checked_sub(piece.chars().count()) else {
            return false;
        };
        self.remaining_chars = remaining_chars;
        self.text.push_str(piece);
        true
    }

    /// Adds a piece, or `fallback` if the piece does not fit.
    pub(super) fn push_or(&mut self, piece: &str, fallback: &str) {
        if !self.push(piece) {
            self.push(fallback);
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Reviewer text as a Markdown paragraph, shortened.
pub(super) fn prose(text: &str, links: Option<&str>) -> String {
    let mut max_chars = MAX_PROSE;
    loop {
        let escaped = sanitise::markdown(&truncate_chars(text, max_chars), links);
        // Escaping an invisible character takes up to ten characters, so shorten the text until it
        // fits.
        if escaped.chars().count() <= 2 * MAX_PROSE || max_chars < 64 {
            return escaped;
        }
        max_chars /= 2;
    }
}

/// A Markdown link, or plain text if the URL has unexpected characters.
fn markdown_link(text: &str, link: Option<&str>) -> String {
    let is_safe = |char: char| char.is_ascii_alphanumeric() || "/:.-_#?=%&~+".contains(char);
    match link.filter(|link| !link.is_empty() && link.chars().all(is_safe)) {
        Some(link) => format!("[{text}]({link})"),
        None => text.to_owned(),
    }
}

/// Adds the table. Returns a note about rows that do not fit.
fn add_table(
    body: &mut BoundedText,
    report: &Report,
    rows: &[(&Issue, &IssueDisplay)],
    links: Option<&str>,
) -> String {
    if rows.is_empty() {
        return String::new();
    }
    body.push("\n| # | Severity | Where | Issue | Confidence |\n|---|---|---|---|---|\n");
    let lines: Vec<String> =
        rows.iter().map(|(issue, display)| table_row(report, issue, display, links)).collect();
    let fitting_rows = rows_that_fit(rows, &lines, body.remaining_chars);
    for index in &fitting_rows {
        body.push(&lines[*index]);
    }
    match rows.len() - fitting_rows.len() {
        0 => String::new(),
        1 => "\n1 more issue does not fit here.\n".to_owned(),
        count => format!("\n{count} more issues do not fit here.\n"),
    }
}

fn table_row(
    report: &Report,
    issue: &Issue,
    display: &IssueDisplay,
    links: Option<&str>,
) -> String {
    let link = match display {
        IssueDisplay::Linked(link) => Some(link.as_str()),
        IssueDisplay::Full { link, .. } => link.as_deref(),
    };
    let suffix = if report.is_fixed(issue.number) { FIXED_SUFFIX } else { "" };
    format!(
        "| {} | {} | {} | {}{suffix} | {} |\n",
        issue.number,
        issue.severity,
        markdown_link(&sanitise::code_span(&location_label(issue)).replace('|', "\\|"), link),
        sanitise::cell(&issue.title, links),
        issue.confidence,
    )
}

/// Indices of the rows that fit. Rows of issues that are shown in full come first. The other rows
/// leave half of the space free for the details of these issues.
fn rows_that_fit(
    rows: &[(&Issue, &IssueDisplay)],
    lines: &[String],
    max_chars: usize,
) -> BTreeSet<usize> {
    let is_in_full = |index: &usize| matches!(rows[*index].1, IssueDisplay::Full { .. });
    let (full_rows, linked_rows): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(is_in_full);
    let mut fitting_rows = BTreeSet::new();
    let mut add_rows = |indices: &[usize], mut remaining_chars: usize| {
        for index in indices {
            let Some(rest) = remaining_chars.checked_sub(lines[*index].chars().count()) else {
                break;
            };
            remaining_chars = rest;
            fitting_rows.insert(*index);
        }
        remaining_chars
    };
    let remaining_chars = add_rows(&full_rows, max_chars);
    let chars_for_details = if full_rows.is_empty() { 0 } else { max_chars / 2 };
    add_rows(&linked_rows, remaining_chars.saturating_sub(chars_for_details));
    fitting_rows
}

/// Adds the details of every issue that fits, so that a long one does not hide the short ones after
/// it. Returns a note about the others.
fn add_details(
    body: &mut BoundedText,
    report: &Report,
    rows: &[(&Issue, &IssueDisplay)],
    options: &SummaryOptions<'_>,
) -> String {
    let mut omitted_count = 0;
    let mut heading = options.heading.map(|heading| format!("\n### {heading}\n"));
    for (issue, display) in rows {
        let why = match display {
            IssueDisplay::Linked(_) => continue,
            IssueDisplay::Full { why, .. } => why,
        };
        let opening = heading.take().unwrap_or_default();
        if !body.push(&format!("{opening}{}", details(report, issue, why, options.links))) {
            omitted_count += 1;
        }
    }
    match omitted_count {
        0 => String::new(),
        1 => "\nThe details of 1 issue do not fit here.\n".to_owned(),
        count => format!("\nThe details of {count} issues do not fit here.\n"),
    }
}

fn lists(options: &SummaryOptions<'_>) -> String {
    let mut body = BoundedText::new(MAX_LISTS);
    let mut omitted_count = 0;
    for list in options.lists.iter().filter(|list| !list.entries.is_empty()) {
        let mut opening = Some(format!("\n### {}\n\n", list.heading));
        for entry in &list.entries {
            let place =
                entry.place.as_ref().map(|place| sanitise::code_span(&sanitise::path(place)));
            let place = place.map(|place| format!("{place} ")).unwrap_or_default();
            let title = markdown_link(&prose(&entry.title, None), entry.link.as_deref());
            let remark = prose(&entry.remark, options.links);
            let remark = if remark.is_empty() { remark } else { format!(" ({remark})") };
            let line = format!("- {place}{title}{remark}\n");
            let piece = format!("{}{line}", opening.clone().unwrap_or_default());
            match body.push(&piece) {
                true => opening = None,
                false => omitted_count += 1,
            }
        }
    }
    let mut out = body.into_text();
    if omitted_count > 0 {
        out.push_str(&format!("\n{omitted_count} more entries of these lists do not fit here.\n"));
    }
    out
}

/// The test that proves an issue, as a code block.
pub(super) fn proof_block(issue: &Issue) -> Option<String> {
    let TestProof { path, content, .. } = issue.proof.as_ref()?;
    let path = sanitise::code_span(&sanitise::path(path));
    Some(format!("\n**Test** {path}:\n{}\n", sanitise::code_block(content, &issue.language)))
}

fn details(report: &Report, issue: &Issue, why: &str, links: Option<&str>) -> String {
    let mut out = format!(
        "\n<details>\n<summary>{}. {}: {}</summary>\n\n{}\n",
        issue.number,
        issue.severity,
        sanitise::html(&issue.title),
        prose(&issue.why_it_matters, links),
    );
    for quote in &issue.evidence {
        let removed = if quote.side == Side::Old { " (removed)" } else { "" };
        let place = sanitise::code_span(&sanitise::path(&format!(
            "{}:{}{removed}",
            quote.file, quote.line
        )));
        out.push_str(&format!(
            "\n{place}\n{}\n",
            sanitise::code_block(&quote.snippet, &issue.language)
        ));
    }
    for remark in issue_remarks(issue) {
        out.push_str(&format!("\n{}\n", prose(&remark, links)));
    }
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&format!("\n**Fix:** {}\n", prose(fix, links)));
    }
    if let (None, Some(text)) = (&issue.suggested_fix, &issue.replacement) {
        out.push_str(&format!(
            "\n**Replace with:**\n{}\n",
            sanitise::code_block(text, &issue.language)
        ));
    }
    out.push_str(&proof_block(issue).unwrap_or_default());
    for note in validation_note(issue).into_iter().chain((!why.is_empty()).then_some(why)) {
        out.push_str(&format!("\n**Note:** {}\n", prose(note, links)));
    }
    let reporters = prose(&reported_by(issue), links);
    out.push_str(&format!(
        "\n{}; reported by {reporters}\n\n</details>\n",
        capitalise(&next_step_in(report, issue).to_string())
    ));
    out
}

/// Pre-existing issues, requirements that are not met or not judged, hidden findings, failed
/// reviewers, coverage gaps and warnings.
fn remarks(report: &Report, links: Option<&str>) -> Vec<String> {
    let prose = |text: &str| prose(text, links);
    let mut items: Vec<String> = Vec::new();
    for issue in &report.pre_existing {
        let place = sanitise::code_span(&location_label(issue));
        items.push(format!("Pre-existing: {} {place} {}", issue.severity, prose(&issue.title)));
    }
    for requirement in report.plan.iter().flat_map(|plan| &plan.requirements) {
        let (id, text) = (prose(&requirement.id), prose(&requirement.text));
        match requirement.state {
            _ if requirement.waived => {}
            RequirementState::Met => {}
            RequirementState::PartiallyAddressed | RequirementState::NotAddressed => {
                items.push(format!("Plan requirement {id} not met: {text}"));
            }
            RequirementState::NotJudged => {
                let reason = unjudged_reason(requirement);
                let text = prose(&format!("{}{reason}", requirement.text));
                items.push(format!("Plan requirement {id} not judged: {text}"));
            }
        }
    }
    items.extend(unfixable_note(report).map(prose));
    items.extend(HiddenCounts::new(report).with_reasons());
    let hidden_lines = counted_hidden_lines(&counted_hidden(report));
    items.extend(hidden_lines.iter().map(|line| prose(line)));
    for (failed, note) in report.failures() {
        items.push(format!("{} failed: {}", prose(&capitalise(&failed)), prose(note)));
    }
    items.extend(coverage_gaps(report).map(|gap| prose(&gap)));
    let warnings = warnings_beside_failures(report, report.all_warnings());
    items.extend(warnings.iter().map(|warning| prose(warning)));
    items
}

fn closing_lines(report: &Report, options: &SummaryOptions<'_>) -> String {
    let mut out = String::new();
    let mut items: Vec<String> =
        options.remarks.iter().map(|remark| prose(remark, options.links)).collect();
    items.extend(remarks(report, options.links));
    items.dedup();
    for (index, item) in items.iter().enumerate() {
        let line =
            format!("{}- {item}\n", if index == 0 { "\n### About this review\n\n" } else { "" });
        if out.chars().count() + line.chars().count() > MAX_REMARKS {
            out.push_str(&format!("\n{} more remarks do not fit here.\n", items.len() - index));
            break;
        }
        out.push_str(&line);
    }
    let model = match report.model_used.as_str() {
        "" => "no model".to_owned(),
        model => format!("model {}", model.chars().take(MAX_NAME).collect::<String>()),
    };
    let team = match report.strategy {
        Strategy::Panel => "specialised reviewers",
        Strategy::Single => "one reviewer",
        Strategy::Delegate => "sub-agents",
        Strategy::Static => "static checks",
    };
    let cost = report.stats.cost_usd.0 as f64 / 1e6;
    out.push_str(&format!(
        "\n<sub>Reviewed by crh: {team}, {}, cost ${cost:.2}, review id {}</sub>\n",
        sanitise::markdown(&model, None),
        sanitise::markdown(&report.review_id.chars().take(MAX_NAME).collect::<String>(), None)
    ));
    out
}

fn truncate_chars(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

fn capitalise(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// Prefix, after `https://`, of URLs that may stay links: the repository on the forge at `web`.
pub fn repo_link_prefix(web: &str, repo: &str) -> Option<String> {
    let host = web.strip_prefix("https://")?.split('/').next().filter(|host| !host.is_empty())?;
    (!repo.is_empty()).then(|| format!("{host}/{repo}"))
}
