//! What the editor reads: every finding with its whole text, the code around the findings, and the
//! callers of the functions that they are in.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::{task, time};

use super::answer::finding_id;
use crate::change_under_review::ChangeUnderReview;
use crate::checks::INJECTION;
use crate::code_reader::CodeReader;
use crate::text::{cut, one_line};
use crate::validate::excerpt::excerpt;
use crh_agent::CancelToken;
use crh_git::{SearchQuery, search};
use crh_review::Location;
use crh_review::diff::RepoPath;
use crh_review::finding::{Member, Origin, Side};
use crh_review::report::Issue;
use crh_syntax::{Language, SymbolKind};

/// Maximum characters of the code around findings.
const CODE_CHARS: usize = 40_000;
/// An excerpt covers findings within this many lines.
const COVERED_LINES: u32 = 25;
/// Maximum number of functions whose callers are listed.
const FUNCTIONS_MAX: usize = 12;
/// Maximum number of listed callers per function.
const CALLERS_MAX: usize = 8;
/// Maximum number of matches of the search for callers.
const MATCHES_MAX: usize = 400;
/// Maximum characters of a line with a call.
const LINE_CHARS: usize = 160;
/// Timeout of the search for callers. Without them the editor can still search.
const CALLERS_TIMEOUT: Duration = Duration::from_secs(20);

/// Texts for the editor's prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Material {
    /// The findings with ids. Findings that may be the same are next to each other.
    pub(crate) findings: String,
    /// Code around the findings.
    pub(crate) code: String,
    /// Callers of the functions that contain findings.
    pub(crate) callers: String,
    /// Findings about text that addresses reviewers, one per line. Empty if there is none.
    pub(crate) addressed: String,
}

impl Material {
    /// Collects the material for issues whose members get ids in order. `members` are all findings
    /// of the review.
    pub(super) async fn new(
        issues: &[&Issue],
        members: &[Member],
        change: &ChangeUnderReview,
        cancel: &CancelToken,
    ) -> Self {
        let code_reader = CodeReader::new(change);
        let locations: Vec<Location> = issues.iter().map(|issue| issue.location.clone()).collect();
        let names = function_names(&locations, &code_reader);
        Self {
            findings: findings_text(issues),
            code: code_text(&locations, &code_reader, change),
            callers: find_callers(names, change, cancel).await,
            addressed: addressed_text(members),
        }
    }
}

/// Findings of the check for instructions to the reviewer, with their places and without quotes.
fn addressed_text(members: &[Member]) -> String {
    let is_instruction =
        |member: &&Member| member.origin == Origin::Code && member.reviewer == INJECTION;
    let row = |member: &Member| {
        let finding = &member.finding;
        let line = finding.line_start.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line} {}\n", one_line(&finding.file), one_line(&finding.title))
    };
    members.iter().filter(is_instruction).map(row).collect()
}

fn findings_text(issues: &[&Issue]) -> String {
    let mut text = String::new();
    let mut index = 0;
    for issue in issues {
        let first = index;
        for member in &issue.members {
            let alike = (index > first).then(|| finding_id(first));
            text.push_str(&finding_text(&finding_id(index), member, issue, alike));
            index += 1;
        }
    }
    text
}

/// One finding with everything that its reviewer wrote.
fn finding_text(id: &str, member: &Member, issue: &Issue, alike: Option<String>) -> String {
    let finding = &member.finding;
    let mut text = format!(
        "{id} by {}, {} {}, confidence {}, at {}\n",
        member.reviewer, finding.severity, finding.category, finding.confidence, issue.location
    );
    if let Some(alike) = alike {
        let _ = writeln!(text, "may be the same as {alike}");
    }
    let _ = writeln!(text, "title: {}", one_line(&finding.title));
    let _ = writeln!(text, "claim: {}", one_line(&finding.why_it_matters));
    for quote in &finding.evidence {
        let file = quote.file.as_deref().unwrap_or(&finding.file);
        let line = quote.line.map(|line| format!(":{line}")).unwrap_or_default();
        let _ = writeln!(text, "quote from {file}{line}: {}", one_line(&quote.snippet));
    }
    if let Some(fix) = &finding.suggested_fix {
        let _ = writeln!(text, "fix: {}", one_line(fix));
    }
    text.push('\n');
    text
}

/// The code around each location, unless an earlier excerpt shows it.
fn code_text(
    locations: &[Location],
    code_reader: &CodeReader<'_>,
    change: &ChangeUnderReview,
) -> String {
    let mut shown: Vec<&Location> = Vec::new();
    let mut text = String::new();
    for location in locations {
        let is_shown = shown.iter().any(|known| {
            known.file == location.file
                && known.side == location.side
                && known.line_start.abs_diff(location.line_start) <= COVERED_LINES
        });
        if is_shown || text.len() > CODE_CHARS {
            continue;
        }
        let side = match location.side {
            Side::Old => " before the change",
            Side::New => "",
        };
        let _ = writeln!(text, "{}{side}", location.file);
        text.push_str(&excerpt(location, code_reader, &change.diff).text);
        text.push('\n');
        shown.push(location);
    }
    text
}

/// Names of the functions around the locations.
fn function_names(locations: &[Location], code_reader: &CodeReader<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for location in locations {
        let Some(symbols) = code_reader.symbols(location.side, &location.file) else { continue };
        let function = symbols.all().iter().rfind(|symbol| {
            matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method)
                && symbol.start <= location.line_start
                && location.line_start <= symbol.end
        });
        let name = function.and_then(|function| function.name.rsplit(['.', ':', '#']).next());
        // Short names have too many uses to be helpful.
        let is_searchable = |name: &&str| {
            name.len() > 3 && name.chars().all(|char| char.is_alphanumeric() || char == '_')
        };
        names.extend(name.filter(is_searchable).map(str::to_owned));
    }
    names.into_iter().take(FUNCTIONS_MAX).collect()
}

/// Lines at head that contain the name of one of the functions. The search runs on its own thread.
async fn find_callers(
    names: BTreeSet<String>,
    change: &ChangeUnderReview,
    cancel: &CancelToken,
) -> String {
    if names.is_empty() {
        return String::new();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let (change, stop_flag) = (change.clone(), stop.clone());
    let search = task::spawn_blocking(move || callers_text(&names, &change, &stop_flag));
    let text = tokio::select! {
        text = search => text.unwrap_or_default(),
        () = cancel.cancelled() => String::new(),
        () = time::sleep(CALLERS_TIMEOUT) => String::new(),
    };
    stop.store(true, Ordering::Relaxed);
    text
}

fn callers_text(names: &BTreeSet<String>, change: &ChangeUnderReview, stop: &AtomicBool) -> String {
    let code_reader = CodeReader::new(change);
    let Some(repository) = code_reader.repository() else { return String::new() };
    let Some(head) = repository.resolve(Some("head")) else { return String::new() };
    let query = SearchQuery { max_matches: MATCHES_MAX, ..SearchQuery::for_words(names) };
    let is_code = |path: &[u8]| Language::from_path(&String::from_utf8_lossy(path)).is_some();
    let Ok(result) = search(repository.objects(), head, &query, &is_code, stop) else {
        return String::new();
    };
    let mut calls: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for hit in &result.matches {
        let line = String::from_utf8_lossy(&hit.text);
        let path = RepoPath::new(hit.path.as_slice()).shown().into_owned();
        for name in names.iter().filter(|name| line.contains(name.as_str())) {
            let row = format!("  {path}:{}: {}\n", hit.line, cut(line.trim(), LINE_CHARS));
            calls.entry(name).or_default().push(row);
        }
    }
    let mut text = String::new();
    for (name, rows) in calls {
        let _ = writeln!(text, "{name}:");
        rows.iter().take(CALLERS_MAX).for_each(|row| text.push_str(row));
        if rows.len() > CALLERS_MAX {
            let _ = writeln!(text, "  [{} more]", rows.len() - CALLERS_MAX);
        }
    }
    text
}
