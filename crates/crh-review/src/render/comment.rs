//! The body of a summary comment on GitHub: markers, verdict, a table, the details folded away, and what else stands there.

use std::collections::BTreeSet;

use super::{coverage_gaps, doubt, fates_line, place, reported_by};
use crate::clean;
use crate::finding::Side;
use crate::identity::{review_marker, summary_marker};
use crate::report::{Issue, Report, RequirementState};

/// GitHub refuses longer bodies. It counts characters.
pub const COMMENT_MAX: usize = 65_536;
/// How much of one text of a reviewer is shown, in characters.
const PROSE_MAX: usize = 4_096;
/// How much the remarks after the details may take.
const REMARKS_MAX: usize = 8_192;
/// How much the lists before them may take: those of a long-lived pull request only grow.
const LISTS_MAX: usize = 8_192;
/// Kept free for the lines that say what does not fit.
const LEFT_OUT_MAX: usize = 256;

/// As much of a model's name as the last line has room for.
const MODEL_SHOWN: usize = 100;

/// What a forge adds to a report when it is shown there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Posted<'a> {
    /// The name of the installation, so that two of them do not edit each other's comment.
    pub instance: &'a str,
    /// How an address begins, after `https://`, that may stay a link.
    pub links: Option<&'a str>,
    /// How each issue of the report is shown, in its order; one that is missing is shown whole.
    pub rows: &'a [Shown],
    /// The heading above the issues that are shown whole; none if that needs no saying.
    pub heading: Option<&'a str>,
    /// What stands there beside the issues of the report.
    pub lists: &'a [List],
    /// What the reader should know about the posting itself.
    pub remarks: &'a [String],
    /// A marker that comes last.
    pub last_line: Option<&'a str>,
}

/// How an issue is shown in a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// In the table; the details are at an address.
    At(String),
    /// Whole.
    Here {
        /// Why it is not elsewhere; empty if that needs no saying.
        why: String,
        /// Where it was talked about.
        link: Option<String>,
    },
}

/// What stands in a place beside the issues of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    /// What it is a list of. Not cleaned.
    pub heading: &'static str,
    /// What is in it.
    pub entries: Vec<Entry>,
}

/// One thing in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is, or another short name; shown as code.
    pub place: Option<String>,
    /// What it is.
    pub title: String,
    /// What is to be known about it; empty if nothing.
    pub remark: String,
    /// Where it is talked about.
    pub link: Option<String>,
}

/// The comment of a report that is posted nowhere else. `instance` names the installation, so that two of them do not edit
/// each other's.
pub fn comment(report: &Report, instance: &str) -> String {
    let links = links_into(&report.change.url, &report.change.repo);
    summary(report, &Posted { instance, links: links.as_deref(), ..Posted::default() })
}

/// The summary comment of a report. It is never longer than [`COMMENT_MAX`]: whole entries are left out, and that is said.
pub fn summary(report: &Report, posted: &Posted<'_>) -> String {
    let links = posted.links;
    let mut end = lists(posted);
    end.push_str(&tail(report, posted));
    if let Some(line) = posted.last_line {
        end.push_str(&format!("\n{line}\n"));
    }
    let mut body = Body::new(COMMENT_MAX.saturating_sub(end.chars().count() + LEFT_OUT_MAX));
    body.push(&format!(
        "{}\n{}\n",
        review_marker(&report.review_id),
        summary_marker(posted.instance)
    ));
    let reason = prose(&capitalised(&report.verdict_reason), links);
    body.push(&format!("## {}\n\n{reason}\n", report.verdict));
    if !report.summary.is_empty() {
        body.push(&format!("\n{}\n", prose(&report.summary, links)));
    }
    let here = Shown::Here { why: String::new(), link: None };
    let rows: Vec<(&Issue, &Shown)> = report
        .issues
        .iter()
        .enumerate()
        .map(|(at, issue)| (issue, posted.rows.get(at).unwrap_or(&here)))
        .collect();
    let mut left_out = add_table(&mut body, &rows, links);
    left_out.push_str(&add_details(&mut body, &rows, posted));
    let mut out = body.into_text();
    out.push_str(&left_out);
    out.push_str(&end);
    out
}

/// A text that grows up to a number of characters, by whole pieces.
pub(super) struct Body {
    text: String,
    room: usize,
}

impl Body {
    pub(super) fn new(room: usize) -> Self {
        Self { text: String::new(), room }
    }

    /// Adds a piece if there is room for it; whether there was.
    pub(super) fn push(&mut self, piece: &str) -> bool {
        let Some(room) = self.room.checked_sub(piece.chars().count()) else { return false };
        self.room = room;
        self.text.push_str(piece);
        true
    }

    /// Adds a piece, or what stands in its place.
    pub(super) fn push_or(&mut self, piece: &str, instead: &str) {
        if !self.push(piece) {
            self.push(instead);
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// Text from a reviewer as a paragraph, as much of it as a comment has room for.
pub(super) fn prose(text: &str, links: Option<&str>) -> String {
    let mut most = PROSE_MAX;
    loop {
        let cleaned = clean::markdown(&cut(text, most), links);
        // What cannot be seen is written out, ten characters for one: then less of the text is shown.
        if cleaned.chars().count() <= 2 * PROSE_MAX || most < 64 {
            return cleaned;
        }
        most /= 2;
    }
}

/// A text that leads somewhere, if the address is plain enough to be sure of it.
fn linked(text: &str, link: Option<&str>) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/:.-_#?=%&~+".contains(char);
    match link.filter(|link| !link.is_empty() && link.chars().all(plain)) {
        Some(link) => format!("[{text}]({link})"),
        None => text.to_owned(),
    }
}

/// Adds the table; returns what is to be said about the rows that have no room.
fn add_table(body: &mut Body, rows: &[(&Issue, &Shown)], links: Option<&str>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    body.push("\n| # | Severity | Where | Issue | Confidence |\n|---|---|---|---|---|\n");
    let lines: Vec<String> = rows.iter().map(|(issue, shown)| row(issue, shown, links)).collect();
    let shown = fitting(rows, &lines, body.room);
    for at in &shown {
        body.push(&lines[*at]);
    }
    match rows.len() - shown.len() {
        0 => String::new(),
        1 => "\n1 more issue does not fit here.\n".to_owned(),
        more => format!("\n{more} more issues do not fit here.\n"),
    }
}

fn row(issue: &Issue, shown: &Shown, links: Option<&str>) -> String {
    let link = match shown {
        Shown::At(link) => Some(link.as_str()),
        Shown::Here { link, .. } => link.as_deref(),
    };
    format!(
        "| {} | {} | {} | {} | {} |\n",
        issue.number,
        issue.severity,
        linked(&clean::code_span(&place(issue)).replace('|', "\\|"), link),
        clean::cell(&issue.title, links),
        issue.confidence,
    )
}

/// Which lines of the table there is room for. What is shown nowhere else comes before what is, and leaves half of the room to its
/// details.
fn fitting(rows: &[(&Issue, &Shown)], lines: &[String], room: usize) -> BTreeSet<usize> {
    let is_here = |at: &usize| matches!(rows[*at].1, Shown::Here { .. });
    let (here, elsewhere): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(is_here);
    let mut fits = BTreeSet::new();
    let mut take = |these: &[usize], mut room: usize| {
        for at in these {
            let Some(left) = room.checked_sub(lines[*at].chars().count()) else { break };
            room = left;
            fits.insert(*at);
        }
        room
    };
    let left = take(&here, room);
    let for_details = if here.is_empty() { 0 } else { room / 2 };
    take(&elsewhere, left.saturating_sub(for_details));
    fits
}

/// Adds the details of every issue that there is room for: a long one must not hide the short ones after it. Returns what is to
/// be said about the others.
fn add_details(body: &mut Body, rows: &[(&Issue, &Shown)], posted: &Posted<'_>) -> String {
    let mut left_out = 0;
    let mut heading = posted.heading.map(|heading| format!("\n### {heading}\n"));
    for (issue, shown) in rows {
        let why = match shown {
            Shown::At(_) => continue,
            Shown::Here { why, .. } => why,
        };
        let opening = heading.take().unwrap_or_default();
        if !body.push(&format!("{opening}{}", details(issue, why, posted.links))) {
            left_out += 1;
        }
    }
    match left_out {
        0 => String::new(),
        1 => "\nThe details of 1 issue do not fit here.\n".to_owned(),
        more => format!("\nThe details of {more} issues do not fit here.\n"),
    }
}

/// What stands beside the issues of the report.
fn lists(posted: &Posted<'_>) -> String {
    let mut body = Body::new(LISTS_MAX);
    let mut left_out = 0;
    for list in posted.lists.iter().filter(|list| !list.entries.is_empty()) {
        let mut opening = Some(format!("\n### {}\n\n", list.heading));
        for entry in &list.entries {
            let place = entry.place.as_ref().map(|place| clean::code_span(&clean::path(place)));
            let place = place.map(|place| format!("{place} ")).unwrap_or_default();
            let title = linked(&prose(&entry.title, None), entry.link.as_deref());
            let remark = prose(&entry.remark, posted.links);
            let remark = if remark.is_empty() { remark } else { format!(" ({remark})") };
            let line = format!("- {place}{title}{remark}\n");
            let piece = format!("{}{line}", opening.clone().unwrap_or_default());
            match body.push(&piece) {
                true => opening = None,
                false => left_out += 1,
            }
        }
    }
    let mut out = body.into_text();
    if left_out > 0 {
        out.push_str(&format!("\n{left_out} more entries of these lists do not fit here.\n"));
    }
    out
}

fn details(issue: &Issue, why: &str, links: Option<&str>) -> String {
    let mut out = format!(
        "\n<details>\n<summary>{}. {}: {}</summary>\n\n{}\n",
        issue.number,
        issue.severity,
        clean::html(&issue.title),
        prose(&issue.why_it_matters, links),
    );
    for quote in &issue.evidence {
        let removed = if quote.side == Side::Old { " (removed)" } else { "" };
        let place =
            clean::code_span(&clean::path(&format!("{}:{}{removed}", quote.file, quote.line)));
        out.push_str(&format!(
            "\n{place}\n{}\n",
            clean::code_block(&quote.snippet, &issue.language)
        ));
    }
    if let Some(fix) = &issue.suggested_fix {
        out.push_str(&format!("\n**Fix:** {}\n", prose(fix, links)));
    }
    if let (None, Some(text)) = (&issue.suggested_fix, &issue.replacement) {
        out.push_str(&format!(
            "\n**Replace with:**\n{}\n",
            clean::code_block(text, &issue.language)
        ));
    }
    for note in doubt(issue).into_iter().chain((!why.is_empty()).then_some(why)) {
        out.push_str(&format!("\n**Note:** {}\n", prose(note, links)));
    }
    let by = prose(&reported_by(issue), links);
    out.push_str(&format!(
        "\n{} -> {}, reported by {by}\n\n</details>\n",
        issue.autofix_class, issue.owner
    ));
    out
}

/// What else the reader should know: trouble that was there before, what nobody tested, what was not shown.
fn remarks(report: &Report, links: Option<&str>) -> Vec<String> {
    let prose = |text: &str| prose(text, links);
    let mut items: Vec<String> = Vec::new();
    for issue in &report.pre_existing {
        let place = clean::code_span(&place(issue));
        items.push(format!("Was there before: {} {place} {}", issue.severity, prose(&issue.title)));
    }
    for requirement in report.plan.iter().flat_map(|plan| &plan.requirements) {
        let (id, text) = (prose(&requirement.id), prose(&requirement.text));
        match requirement.state {
            _ if requirement.waived => {}
            RequirementState::Met => {}
            RequirementState::PartiallyAddressed | RequirementState::NotAddressed => {
                items.push(format!("The plan also asks for {id}: {text}"));
            }
            RequirementState::NotJudged => {
                items.push(format!("Not judged: {id} of the plan, {text}"));
            }
        }
    }
    items.extend(report.residual_risks.iter().map(|risk| format!("Risk: {}", prose(risk))));
    items.extend(report.testing_gaps.iter().map(|gap| format!("Not tested: {}", prose(gap))));
    items.extend(fates_line(report).map(|fates| format!("Findings not shown: {fates}")));
    for row in report.failed_reviewers() {
        items.push(format!("Failed reviewer {}: {}", prose(&row.name), prose(&row.note)));
    }
    items.extend(coverage_gaps(report).map(|gap| prose(&gap)));
    items.extend(report.warnings.iter().map(|warning| prose(warning)));
    items
}

fn tail(report: &Report, posted: &Posted<'_>) -> String {
    let mut out = String::new();
    let mut items: Vec<String> = posted.remarks.iter().map(|it| prose(it, posted.links)).collect();
    items.extend(remarks(report, posted.links));
    for (at, item) in items.iter().enumerate() {
        let line = format!("{}- {item}\n", if at == 0 { "\n" } else { "" });
        if out.chars().count() + line.chars().count() > REMARKS_MAX {
            out.push_str(&format!("\n{} more remarks do not fit here.\n", items.len() - at));
            break;
        }
        out.push_str(&line);
    }
    let model = if report.model_used.is_empty() { "no model" } else { report.model_used.as_str() };
    let model: String = model.chars().take(MODEL_SHOWN).collect();
    let cost = report.stats.cost_usd.0 as f64 / 1e6;
    out.push_str(&format!(
        "\n<sub>crh, {}, {}, ${cost:.2}, review {}</sub>\n",
        report.strategy,
        clean::markdown(&model, None),
        clean::markdown(&report.review_id.chars().take(MODEL_SHOWN).collect::<String>(), None)
    ));
    out
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{} …", &text[..end]),
        None => text.to_owned(),
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

/// How an address begins, after `https://`, that may stay a link: it leads into the repository itself, at the forge whose pages
/// are at `web`. Anything else there is a stranger's, or does something.
pub fn links_into(web: &str, repo: &str) -> Option<String> {
    let host = web.strip_prefix("https://")?.split('/').next().filter(|host| !host.is_empty())?;
    (!repo.is_empty()).then(|| format!("{host}/{repo}"))
}
