//! One issue as a todo file: front matter, and the sections that readers of such files look for.
//!
//! Whatever an issue says, the front matter and the headings are ours alone: texts are one line each, and quotes are indented.

use super::comment::prose;
use super::issue_parts::{advice, facts, proposed, quotes};
use super::place;
use crate::clean;
use crate::finding::Severity;
use crate::identity::is_key;
use crate::report::{Issue, Report};

/// As much of a title as a file's name needs.
const SLUG_MAX: usize = 50;
/// The line of the front matter that says which issue it is.
const KEY: &str = "dedupe_key: ";

/// The file of an issue, with its id. It holds no time but the one in the name of the run.
pub fn todo(issue: &Issue, report: &Report, id: &str) -> String {
    let mut out = front_matter(issue, id);
    out.push_str(&format!("\n# {}\n", prose(&issue.title, None)));
    let mut section = |heading: &str, text: &str| {
        out.push_str(&format!("\n## {heading}\n\n{}\n", text.trim_end()));
    };
    section("Problem Statement", &prose(&issue.why_it_matters, None));
    section("Findings", &format!("{}{}", facts(issue, None), quotes(issue)));
    section("Proposed Solutions", &proposed(issue, None));
    section("Recommended Action", advice(issue));
    section("Technical Details", &technical_details(issue, report));
    section("Acceptance Criteria", &acceptance_criteria(issue));
    let work_log = format!(
        "- Written by crh: issue {} of the run {}.",
        issue.number,
        clean::code_span(&clean::path(&report.run_id))
    );
    section("Work Log", &work_log);
    out
}

/// What the name of the file is made of: `{id}-{status}-{priority}-{slug}.md`.
pub fn todo_name(issue: &Issue, id: &str) -> String {
    format!("{id}-ready-{}-{}.md", priority(issue.severity), slug(issue))
}

/// The key of the issue that a todo file is about. Only the front matter counts.
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
    let plain = |char: &char| char.is_ascii_alphanumeric();
    let key: String = issue.dedupe_key.chars().filter(plain).collect();
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

/// The title in small letters, digits and dashes; the category if nothing of it is left.
fn slug(issue: &Issue) -> String {
    let title = issue.title.to_lowercase();
    let words = title.split(|char: char| !char.is_ascii_alphanumeric());
    let mut slug = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !slug.is_empty() && slug.len() + 1 + word.len() > SLUG_MAX {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.extend(word.chars().take(SLUG_MAX));
    }
    match slug.is_empty() {
        true => issue.category.to_string().replace('_', "-"),
        false => slug,
    }
}

fn technical_details(issue: &Issue, report: &Report) -> String {
    let reviewed = match report.change.head_sha.as_str() {
        "" => String::new(),
        head => format!(" at {}", clean::code_span(&clean::path(head))),
    };
    format!(
        "- Reviewed{reviewed}: {}\n- Route: {} -> {}\n",
        clean::code_span(&place(issue)),
        issue.autofix_class,
        issue.owner
    )
}

fn acceptance_criteria(issue: &Issue) -> String {
    let mut out =
        "- [ ] What the problem statement describes does not happen any more.\n".to_owned();
    if issue.requires_verification {
        out.push_str("- [ ] The project's own verification has passed with the solution.\n");
    }
    out.push_str("- [ ] A test shows it, or the work log says why none can.\n");
    out
}

#[cfg(test)]
mod tests;
