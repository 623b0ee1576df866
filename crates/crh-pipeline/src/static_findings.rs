//! Findings of static checks, for the prompts of model reviewers. Models then do not repeat them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::assignment::DiffPart;
use crate::runs::RunRecord;
use crate::text::one_line;
use crh_review::finding::Member;
use crh_review::report::Fate;

/// Maximum number of findings in one prompt.
const FINDINGS_MAX: usize = 40;
/// How long a prompt waits for static checks. They usually finish sooner. After this time the
/// prompt is built with the findings so far.
const ANALYSERS_WAIT: Duration = Duration::from_secs(30);

/// Findings of static checks. Clones share the state.
#[derive(Debug, Clone)]
pub struct StaticFindings {
    state: Arc<watch::Sender<StaticFindingsState>>,
}

#[derive(Debug, Default)]
struct StaticFindingsState {
    findings: Vec<PromptFinding>,
    /// Whether all static checks have finished.
    is_complete: bool,
    /// Whether a prompt was built before all static checks had finished.
    was_read_early: bool,
    /// Number of findings that were added after a prompt was built too early.
    late_count: usize,
}

/// One finding, as prompts show it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PromptFinding {
    path: String,
    line: u32,
    text: String,
}

impl Default for StaticFindings {
    fn default() -> Self {
        Self::new()
    }
}

impl StaticFindings {
    /// No findings yet. Readers wait for [`Self::finish`].
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(StaticFindingsState::default())) }
    }

    /// No findings, and none will come.
    pub fn empty() -> Self {
        let empty = Self::new();
        empty.finish(&[]);
        empty
    }

    /// Adds findings. More may follow.
    pub fn add(&self, records: &[RunRecord]) {
        self.state.send_modify(|state| state.add(prompt_findings(records)));
    }

    /// Adds the last findings.
    pub fn finish(&self, records: &[RunRecord]) {
        self.state.send_modify(|state| {
            state.add(prompt_findings(records));
            state.is_complete = true;
        });
    }

    /// A note on findings that came too late for some prompts. None if there are none.
    pub(crate) fn late_findings_note(&self) -> Option<String> {
        let late_count = self.state.borrow().late_count;
        let findings =
            if late_count == 1 { "1 finding".to_owned() } else { format!("{late_count} findings") };
        (late_count > 0).then(|| {
            format!("slow linters reported {findings} after the prompts were built; models may repeat them")
        })
    }

    /// The findings in these files, one per line. Empty if there are none.
    pub(crate) async fn in_files(&self, parts: &[DiffPart]) -> String {
        let mut updates = self.state.subscribe();
        // After the timeout, the findings known so far are used.
        drop(timeout(ANALYSERS_WAIT, updates.wait_for(|state| state.is_complete)).await);
        let is_requested = |row: &&PromptFinding| parts.iter().any(|part| part.path == row.path);
        let mut text = String::new();
        self.state.send_if_modified(|state| {
            state.was_read_early |= !state.is_complete;
            let requested_findings: Vec<&PromptFinding> =
                state.findings.iter().filter(is_requested).collect();
            for finding in requested_findings.iter().take(FINDINGS_MAX) {
                text += &format!("{}:{} {}\n", finding.path, finding.line, finding.text);
            }
            if let omitted_count @ 1.. = requested_findings.len().saturating_sub(FINDINGS_MAX) {
                text += &format!("and {omitted_count} more\n");
            }
            false
        });
        text
    }
}

impl StaticFindingsState {
    fn add(&mut self, new_findings: Vec<PromptFinding>) {
        if self.was_read_early {
            self.late_count += new_findings.len();
        }
        self.findings.extend(new_findings);
        self.findings.sort_by(|a, b| (&a.path, a.line, &a.text).cmp(&(&b.path, b.line, &b.text)));
    }
}

/// Rows for the prompts. They include findings that the project suppresses, since models would
/// otherwise report them again. They exclude findings that the change itself suppresses, since the
/// maintainers have not accepted these suppressions.
fn prompt_findings(records: &[RunRecord]) -> Vec<PromptFinding> {
    let mut findings = Vec::new();
    for record in records {
        findings.extend(record.members.iter().map(|member| prompt_finding(member, "")));
        let suppressed_findings =
            record.dropped.iter().filter(|dropped| dropped.fate == Fate::Suppressed);
        let suppressed_findings =
            suppressed_findings.filter(|dropped| !dropped.is_suppressed_by_change());
        let suppressed_members = suppressed_findings.filter_map(|dropped| dropped.member.as_ref());
        findings.extend(
            suppressed_members
                .map(|member| prompt_finding(member, " (left as it is by the project)")),
        );
    }
    findings
}

fn prompt_finding(member: &Member, remark: &str) -> PromptFinding {
    let rule = member.rule.as_deref().unwrap_or(&member.reviewer);
    let line = member.finding.line_start.map_or(0, std::num::NonZeroU32::get);
    let text = format!("{rule}: {}{remark}", one_line(&member.finding.title));
    PromptFinding { path: member.finding.file.clone(), line, text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::assignment::Assignment;
    use crh_review::finding::Origin;
    use crh_review::report::{DropCause, DroppedFinding};

    fn member(path: &str, rule: &str) -> Member {
        let finding = json!({
            "title": format!("{rule} was\nbroken"), "severity": "P1", "category": "bug", "file": path,
            "line_start": 3, "confidence": 0.9, "evidence": [{ "snippet": "debugger;" }],
            "why_it_matters": "It stops.", "autofix_class": "manual", "owner": "human",
            "requires_verification": false, "pre_existing": false,
        });
        let finding = serde_json::from_value(finding).unwrap();
        let rule = Some(rule.to_owned());
        Member { origin: Origin::Code, rule, ..Member::new("leftovers", finding) }
    }

    fn silenced(rule: &str, cause: Option<DropCause>) -> DroppedFinding {
        DroppedFinding {
            fate: Fate::Suppressed,
            reason: "`# noqa` on line 3".to_owned(),
            cause,
            into: None,
            open: None,
            validation: None,
            reviewer: "leftovers".to_owned(),
            member: Some(member("a.js", rule)),
            raw: None,
        }
    }

    fn assignment() -> Assignment {
        Assignment {
            name: "leftovers".to_owned(),
            reviewer: "leftovers".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: Vec::new(),
        }
    }

    fn record_with(members: Vec<Member>) -> RunRecord {
        RunRecord { members, ..RunRecord::new(assignment()) }
    }

    #[tokio::test]
    async fn prompt_lists_static_findings_of_assigned_files() {
        let record = RunRecord {
            members: vec![member("b.js", "x/two"), member("a.js", "x/one"), member("c.js", "x/no")],
            dropped: vec![
                silenced("x/silenced", None),
                silenced("x/own", Some(DropCause::ByChange)),
            ],
            ..RunRecord::new(assignment())
        };
        let findings = StaticFindings::new();
        let reader = findings.clone();
        let read_task = tokio::spawn(async move {
            reader.in_files(&[DiffPart::whole("a.js"), DiffPart::whole("b.js")]).await
        });
        tokio::task::yield_now().await;
        assert!(!read_task.is_finished(), "it waits until all is known");
        findings.finish(&[record]);
        let expected = "a.js:3 x/one: x/one was broken\n\
                        a.js:3 x/silenced: x/silenced was broken (left as it is by the project)\n\
                        b.js:3 x/two: x/two was broken\n";
        assert_eq!(read_task.await.unwrap(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn endless_check_does_not_block_prompts() {
        assert_eq!(StaticFindings::new().in_files(&[DiffPart::whole("a.js")]).await, "");
    }

    #[tokio::test(start_paused = true)]
    async fn late_findings_are_counted_in_a_note() {
        let state = StaticFindings::new();
        state.add(&[record_with(vec![member("a.js", "x/one")])]);
        assert_eq!(state.late_findings_note(), None);
        let text = state.in_files(&[DiffPart::whole("a.js")]).await;
        assert_eq!(text, "a.js:3 x/one: x/one was broken\n");
        state.finish(&[record_with(vec![member("a.js", "x/two")])]);
        let expected =
            "slow linters reported 1 finding after the prompts were built; models may repeat them";
        assert_eq!(state.late_findings_note().as_deref(), Some(expected));
    }

    #[tokio::test]
    async fn omitted_findings_are_counted() {
        let state = StaticFindings::new();
        state.finish(&[record_with(vec![member("a.js", "x/one"); FINDINGS_MAX + 2])]);
        let text = state.in_files(&[DiffPart::whole("a.js")]).await;
        assert_eq!(text.lines().last(), Some("and 2 more"));
        assert_eq!(text.lines().count(), FINDINGS_MAX + 1);
    }
}
