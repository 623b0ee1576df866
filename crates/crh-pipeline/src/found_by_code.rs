//! What programs have found in a review, for the reviewers that ask models: nobody repeats it.

use std::sync::Arc;
use std::time::Duration;

use crh_review::finding::Member;
use crh_review::report::Fate;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::plan::Part;
use crate::runs::RunRecord;
use crate::text::one_line;

/// Whoever would have to read more is not helped by it.
const ROWS_MAX: usize = 40;
/// Programs are mostly done in a moment, and before the first model has answered. If not, models are asked without.
const WAIT: Duration = Duration::from_secs(30);

/// What programs have found. Clones share it.
#[derive(Debug, Clone)]
pub struct FoundByCode {
    rows: Arc<watch::Sender<Option<Vec<Row>>>>,
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
        Self { rows: Arc::new(watch::Sender::new(None)) }
    }

    /// Nothing, and nothing will come.
    pub fn nothing() -> Self {
        let nothing = Self::new();
        nothing.settle(&[]);
        nothing
    }

    /// All that will be found. What the project has silenced is part of it, or a model would say it instead.
    pub fn settle(&self, records: &[RunRecord]) {
        let mut rows = Vec::new();
        for record in records {
            rows.extend(record.members.iter().map(|member| row(member, "")));
            let silenced = record.set_aside.iter().filter(|it| it.fate == Fate::Suppressed);
            let silenced = silenced.filter_map(|it| it.member.as_ref());
            rows.extend(silenced.map(|member| row(member, " (left as it is by the project)")));
        }
        rows.sort_by(|a, b| (&a.path, a.line, &a.text).cmp(&(&b.path, b.line, &b.text)));
        self.rows.send_replace(Some(rows));
    }

    /// What was found in these files, a row each; empty if nothing.
    pub(crate) async fn in_files(&self, parts: &[Part]) -> String {
        let mut settled = self.rows.subscribe();
        let rows = match timeout(WAIT, settled.wait_for(Option::is_some)).await {
            Ok(Ok(rows)) => rows.clone().unwrap_or_default(),
            Ok(Err(_)) | Err(_) => Vec::new(),
        };
        let is_asked = |row: &&Row| parts.iter().any(|part| part.path == row.path);
        let rows = rows.iter().filter(is_asked).take(ROWS_MAX);
        rows.map(|row| format!("{}:{} {}\n", row.path, row.line, row.text)).collect()
    }
}

fn row(member: &Member, remark: &str) -> Row {
    let rule = member.rule.as_deref().unwrap_or(&member.reviewer);
    let line = member.finding.line_start.map_or(0, std::num::NonZeroU32::get);
    let text = format!("{rule}: {}{remark}", one_line(&member.finding.title));
    Row { path: member.finding.file.clone(), line, text }
}

#[cfg(test)]
mod tests {
    use crh_review::finding::Origin;
    use crh_review::report::Dropped;
    use serde_json::json;

    use super::*;
    use crate::plan::Assignment;

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

    #[tokio::test]
    async fn a_reviewer_is_told_what_was_found_in_its_own_files() {
        let assignment = Assignment {
            name: "leftovers".to_owned(),
            reviewer: "leftovers".to_owned(),
            label: String::new(),
            why: String::new(),
            focus: String::new(),
            parts: Vec::new(),
        };
        let record = RunRecord {
            members: vec![member("b.js", "x/two"), member("a.js", "x/one"), member("c.js", "x/no")],
            set_aside: vec![Dropped {
                fate: Fate::Suppressed,
                reason: "ignored".to_owned(),
                into: None,
                reviewer: "leftovers".to_owned(),
                member: Some(member("a.js", "x/silenced")),
                raw: None,
            }],
            ..RunRecord::begun(assignment)
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
}
