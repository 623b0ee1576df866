//! What programs have found in a review, for the reviewers that ask models: nobody repeats it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::checks::is_brought_along;
use crate::plan::Part;
use crate::runs::RunRecord;
use crate::text::one_line;
use crh_review::finding::Member;
use crh_review::report::Fate;

/// Whoever would have to read more is not helped by it.
const ROWS_MAX: usize = 40;
/// Programs are mostly done in a moment, and before the first model has answered. If not, models are asked without.
const WAIT: Duration = Duration::from_secs(30);

/// What programs have found. Clones share it.
#[derive(Debug, Clone)]
pub struct FoundByCode {
    known: Arc<watch::Sender<Known>>,
}

/// What is known so far.
#[derive(Debug, Default)]
struct Known {
    rows: Vec<Row>,
    /// Whether nothing more will come.
    is_all: bool,
    /// Whether somebody was told before all was known.
    was_early: bool,
    /// How many rows came after that.
    late: usize,
}

/// One finding, as a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    path: String,
    line: u32,
    text: String,
}

impl Default for FoundByCode {
    fn default() -> Self {
        Self::new()
    }
}

impl FoundByCode {
    /// Nothing yet: whoever asks waits.
    pub fn new() -> Self {
        Self { known: Arc::new(watch::Sender::new(Known::default())) }
    }

    /// Nothing, and nothing will come.
    pub fn nothing() -> Self {
        let nothing = Self::new();
        nothing.settle(&[]);
        nothing
    }

    /// What has been found by now; more will come.
    pub fn add(&self, records: &[RunRecord]) {
        self.known.send_modify(|known| known.add(rows(records)));
    }

    /// The last of what is found.
    pub fn settle(&self, records: &[RunRecord]) {
        self.known.send_modify(|known| {
            known.add(rows(records));
            known.is_all = true;
        });
    }

    /// What models were not told, in a sentence; none if there was nothing.
    pub(crate) fn not_told(&self) -> Option<String> {
        let late = self.known.borrow().late;
        let findings = if late == 1 { "1 finding".to_owned() } else { format!("{late} findings") };
        (late > 0).then(|| {
            format!("models were asked before all analysers had ended, and not told of {findings}")
        })
    }

    /// What was found in these files, a row each; empty if nothing.
    pub(crate) async fn in_files(&self, parts: &[Part]) -> String {
        let mut settled = self.known.subscribe();
        // Whoever takes longer than this is not waited for: what is known by then is told.
        drop(timeout(WAIT, settled.wait_for(|known| known.is_all)).await);
        let is_asked = |row: &&Row| parts.iter().any(|part| part.path == row.path);
        let mut told = String::new();
        self.known.send_if_modified(|known| {
            known.was_early |= !known.is_all;
            let rows: Vec<&Row> = known.rows.iter().filter(is_asked).collect();
            for row in rows.iter().take(ROWS_MAX) {
                told += &format!("{}:{} {}\n", row.path, row.line, row.text);
            }
            if let more @ 1.. = rows.len().saturating_sub(ROWS_MAX) {
                told += &format!("and {more} more\n");
            }
            false
        });
        told
    }
}

impl Known {
    fn add(&mut self, rows: Vec<Row>) {
        if self.was_early {
            self.late += rows.len();
        }
        self.rows.extend(rows);
        self.rows.sort_by(|a, b| (&a.path, a.line, &a.text).cmp(&(&b.path, b.line, &b.text)));
    }
}

/// What models are told. What the project has silenced is part of it, or a model would say it instead; what the change itself
/// silences is not, since nobody but its author has left that as it is.
fn rows(records: &[RunRecord]) -> Vec<Row> {
    let mut rows = Vec::new();
    for record in records {
        rows.extend(record.members.iter().map(|member| row(member, "")));
        let silenced = record.set_aside.iter().filter(|it| it.fate == Fate::Suppressed);
        let silenced = silenced.filter(|it| !is_brought_along(it));
        let silenced = silenced.filter_map(|it| it.member.as_ref());
        rows.extend(silenced.map(|member| row(member, " (left as it is by the project)")));
    }
    rows
}

fn row(member: &Member, remark: &str) -> Row {
    let rule = member.rule.as_deref().unwrap_or(&member.reviewer);
    let line = member.finding.line_start.map_or(0, std::num::NonZeroU32::get);
    let text = format!("{rule}: {}{remark}", one_line(&member.finding.title));
    Row { path: member.finding.file.clone(), line, text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::Assignment;
    use crh_review::finding::Origin;
    use crh_review::report::Dropped;

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

    fn silenced(rule: &str, reason: &str) -> Dropped {
        Dropped {
            fate: Fate::Suppressed,
            reason: reason.to_owned(),
            into: None,
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

    fn found(members: Vec<Member>) -> RunRecord {
        RunRecord { members, ..RunRecord::begun(assignment()) }
    }

    #[tokio::test]
    async fn a_reviewer_is_told_what_was_found_in_its_own_files() {
        let record = RunRecord {
            members: vec![member("b.js", "x/two"), member("a.js", "x/one"), member("c.js", "x/no")],
            set_aside: vec![
                silenced("x/silenced", "ignored"),
                silenced("x/own", "`# noqa` on line 3, added by this change"),
            ],
            ..RunRecord::begun(assignment())
        };
        let found = FoundByCode::new();
        let asked = found.clone();
        let asked = tokio::spawn(async move {
            asked.in_files(&[Part::whole("a.js"), Part::whole("b.js")]).await
        });
        tokio::task::yield_now().await;
        assert!(!asked.is_finished(), "it waits until all is known");
        found.settle(&[record]);
        let expected = "a.js:3 x/one: x/one was broken\n\
                        a.js:3 x/silenced: x/silenced was broken (left as it is by the project)\n\
                        b.js:3 x/two: x/two was broken\n";
        assert_eq!(asked.await.unwrap(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_program_that_never_ends_is_not_waited_for() {
        assert_eq!(FoundByCode::new().in_files(&[Part::whole("a.js")]).await, "");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_known_is_told_without_waiting_for_the_slow_and_the_rest_is_counted() {
        let known = FoundByCode::new();
        known.add(&[found(vec![member("a.js", "x/one")])]);
        assert_eq!(known.not_told(), None);
        let told = known.in_files(&[Part::whole("a.js")]).await;
        assert_eq!(told, "a.js:3 x/one: x/one was broken\n");
        known.settle(&[found(vec![member("a.js", "x/two")])]);
        let expected =
            "models were asked before all analysers had ended, and not told of 1 finding";
        assert_eq!(known.not_told().as_deref(), Some(expected));
    }

    #[tokio::test]
    async fn what_is_left_out_is_counted() {
        let known = FoundByCode::new();
        known.settle(&[found(vec![member("a.js", "x/one"); ROWS_MAX + 2])]);
        let told = known.in_files(&[Part::whole("a.js")]).await;
        assert_eq!(told.lines().last(), Some("and 2 more"));
        assert_eq!(told.lines().count(), ROWS_MAX + 1);
    }
}
