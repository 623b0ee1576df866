//! Renders one issue as a todo file: front matter and fixed sections.
//!
//! Invariant: untrusted text cannot add front matter or headings. Texts are one line each, and
//! quotes are indented.

use super::comment::prose;
use super::issue_parts::{advice, facts, proposed_fix, quotes};
use super::{location_label, next_step_with_note};
use crate::finding::Severity;
use crate::identity::is_key;
use crate::report::{Issue, Report};
use crate::sanitise;

/// Maximum length of the title in a file name.
const MAX_SLUG: usize = 50;
/// Front matter field with the dedupe key.
const KEY: &str = "dedupe_key: ";

/// The todo file of an issue. Deterministic: it contains no time except in the run id.
pub fn todo(issue: &Issue, report: &Report, id: &str) -> String {
    let mut out = front_matter(issue, id);
    out.push_str(&format!("\n# {}\n", prose(&issue.title, None)));
    let mut section = |heading: &str, text: &str| {
        out.push_str(&format!("\n## {heading}\n\n{}\n", text.trim_end()));
    };
    section("Problem Statement", &prose(&issue.why_it_matters, None));
    section("Findings", &format!("{}{}", facts(issue, None), quotes(issue)));
    section("Proposed Solutions", &proposed_fix(issue, None));
    section("Recommended Action", advice(report, issue));
    section("Technical Details", &technical_details(issue, report));
    section("Acceptance Criteria", &acceptance_criteria(issue));
    let work_log = format!(
        "- Created by crh from issue {} of run {}.",
        issue.number,
        sanitise::code_span(&sanitise::path(&report.run_id))
    );
    section("Work Log", &work_log);
    out
}

/// The file name: `{id}-{status}-{priority}-{slug}.md`.
pub fn todo_name(issue: &Issue, id: &str) -> String {
    format!("{id}-ready-{}-{}.md", priority(issue.severity), slug(issue))
}

/// The dedupe key in the front matter of a todo file.
pub fn todo_key(text: &str) -> Option<&str> {
    let mut lines = text.lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    let mut front_matter = lines.take_while(|line| line.trim_end() != "---");
    let value = front_matter.find_map(|line| line.strip_prefix(KEY))?;
    Some(value.trim().trim_matches(|char| char == '"' || char == '\'')).filter(|key| is_key(key))
}

fn front_matter(issue: &Issue, id: &str) -> String {
    let is_safe = |char: &char| char.is_ascii_alphanumeric();
    let key: String = issue.dedupe_key.chars().filter(is_safe).collect();
    let priority = priority(issue.severity);
    let category = issue.category;
    format!(
        "---\nstatus: ready\npriority: {priority}\nissue_id: \"{id}\"\ntags: [code-review, {category}]\ndependencies: []\n{KEY}\"{key}\"\n---\n"
    )
}

fn priority(severity: Severity) -> &'static str {
    match severity {
        Severity::P0 | Severity::P1 => "p1",
        Severity::P2 => "p2",
        Severity::P3 => "p3",
    }
}

/// The title in lower case with dashes, or the category if nothing remains.
fn slug(issue: &Issue) -> String {
    let title = issue.title.to_lowercase();
    let words = title.split(|char: char| !char.is_ascii_alphanumeric());
    let mut slug = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !slug.is_empty() && slug.len() + 1 + word.len() > MAX_SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(MAX_SLUG));
    }
    match slug.is_empty() {
        true => issue.category.to_string().replace('_', "-"),
        false => slug,
    }
}

fn technical_details(issue: &Issue, report: &Report) -> String {
    let commit_note = match report.change.head_sha.as_str() {
        "" => String::new(),
        head => format!(" at {}", sanitise::code_span(&sanitise::path(head))),
    };
    format!(
        "- Reviewed{commit_note}: {}\n- Next step: {}\n",
        sanitise::code_span(&location_label(issue)),
        next_step_with_note(report, issue)
    )
}

fn acceptance_criteria(issue: &Issue) -> String {
    let mut out = "- [ ] The problem described above no longer occurs.\n".to_owned();
    if issue.requires_verification {
        out.push_str("- [ ] The project's tests pass with the solution.\n");
    }
    out.push_str("- [ ] A test covers it, or the work log says why not.\n");
    out
}

#[cfg(test)]
mod tests;
