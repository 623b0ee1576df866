//! Turns the event lines of `crh --debug` into progress for the client.

use serde::Deserialize;
use serde_json::Value;

/// Stages of a review, in order, as `crh` names them in its events.
const STAGES: [&str; 13] = [
    "target",
    "scope",
    "workspace",
    "context",
    "plan",
    "review",
    "findings",
    "merge",
    "edit",
    "validate",
    "proof",
    "report",
    "sinks",
];
/// Units of money per US dollar in the events.
const UNITS_PER_USD: f64 = 1e12;

/// Progress of one call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ProgressStep {
    /// Grows with every step, and stays below [`ProgressStep::TOTAL`].
    pub(crate) done: f64,
    pub(crate) message: String,
}

impl ProgressStep {
    /// Number of stages.
    pub(crate) const TOTAL: f64 = STAGES.len() as f64;
}

/// Reads events.
#[derive(Debug, Default)]
pub(crate) struct ProgressReader {
    stage: usize,
    /// Steps in this stage.
    steps: u32,
    spent_usd: f64,
}

/// The fields of events that progress needs.
#[derive(Deserialize)]
struct EventLine {
    event: String,
    stage: Option<String>,
    run: Option<String>,
    tool: Option<String>,
    about: Option<String>,
    path: Option<String>,
    text: Option<String>,
    totals: Option<Value>,
}

impl ProgressReader {
    /// The step of a line, if it is an event that the client shows.
    pub(crate) fn read(&mut self, line: &str) -> Option<ProgressStep> {
        let event: EventLine = serde_json::from_str(line).ok()?;
        let message = match event.event.as_str() {
            "stage_started" => {
                let name = event.stage?;
                let stage = STAGES.iter().position(|stage| *stage == name)?;
                if stage > self.stage {
                    (self.stage, self.steps) = (stage, 0);
                }
                name
            }
            "run_started" => format!("{} starts", event.run?),
            "run_ended" => format!("{} ended", event.run?),
            "tool_called" => {
                format!("{}: {} {}", event.run?, event.tool?, event.about.unwrap_or_default())
            }
            "file_reviewed" => format!("reviewed {}", event.path?),
            "warning" => format!("warning: {}", event.text?),
            "spent" => {
                let money = event.totals?.get("money")?.as_f64()?;
                self.spent_usd = money / UNITS_PER_USD;
                return None;
            }
            _ => return None,
        };
        Some(self.step(&message))
    }

    /// The next step, with the cost so far.
    pub(crate) fn step(&mut self, message: &str) -> ProgressStep {
        self.steps = self.steps.saturating_add(1);
        // Grows within the stage, but never reaches the next one.
        let part = 1.0 - 1.0 / f64::from(self.steps.saturating_add(1));
        let message: String = message.chars().filter(|c| !c.is_control()).collect();
        let message = match self.spent_usd > 0.0 {
            true => format!("{message} ({:.2} USD)", self.spent_usd),
            false => message,
        };
        ProgressStep { done: self.stage as f64 + part, message }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_become_growing_progress() {
        let mut reader = ProgressReader::default();
        let lines = [
            r#"{"at_ms":0,"event":"stage_started","stage":"target"}"#,
            r#"{"event":"stage_started","stage":"review"}"#,
            r#"{"event":"run_started","files":3,"label":"","run":"security"}"#,
            r#"{"event":"spent","totals":{"money":500000000000}}"#,
            r#"{"event":"tool_called","run":"security","tool":"read_file","about":"a.py"}"#,
            "note: a plain line",
            r#"{"event":"stage_started","stage":"validate"}"#,
        ];
        let steps: Vec<ProgressStep> = lines.iter().filter_map(|line| reader.read(line)).collect();
        let messages: Vec<&str> = steps.iter().map(|step| step.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "target",
                "review",
                "security starts",
                "security: read_file a.py (0.50 USD)",
                "validate (0.50 USD)"
            ]
        );
        assert!(steps.windows(2).all(|pair| pair[0].done < pair[1].done), "{steps:?}");
        assert!(steps.iter().all(|step| step.done < ProgressStep::TOTAL));
    }
}
