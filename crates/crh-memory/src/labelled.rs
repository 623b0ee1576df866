//! Histories of issues with the outcome that a person gave them, and a confusion matrix that
//! compares these labels with crh's decisions.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::outcome::{
    CitedLines, FileTexts, IssueHistory, OutcomeJudge, OutcomeKind, ProposalEnd, RaisedAgain,
    outcome_with,
};

/// Labelled histories that ship with crh. Their changes are made up.
pub const SHIPPED_HISTORIES: &str = include_str!("../data/histories.toml");

/// Why a file of labelled histories cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelledError {
    /// The file is not TOML, or has missing or unknown fields.
    #[error("{0}")]
    Format(String),
    /// A history cites lines that its files in `before` do not have.
    #[error("history `{0}`: `lines` must be inside `before`")]
    Lines(String),
}

/// A history with the outcome that a person gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledHistory {
    /// Name of the history.
    pub id: String,
    /// Label: the outcome that a person gave.
    pub expected: OutcomeKind,
    /// The history.
    pub history: IssueHistory,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryFile {
    history: Vec<HistoryRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistoryRow {
    id: String,
    outcome: OutcomeKind,
    /// Title of the issue, for an [`OutcomeJudge`].
    #[serde(default)]
    title: String,
    file: String,
    /// First and last line of the issue.
    lines: (u32, u32),
    /// Further code that the issue quotes.
    #[serde(default)]
    also: Vec<CitedLines>,
    before: FileTexts,
    #[serde(default)]
    after: FileTexts,
    #[serde(default)]
    dismissed: bool,
    #[serde(default)]
    replies: Vec<String>,
    #[serde(default)]
    raised_again: RaisedAgain,
    #[serde(default)]
    end: ProposalEnd,
}

/// Parses a file of labelled histories.
pub fn parse_histories(text: &str) -> Result<Vec<LabelledHistory>, LabelledError> {
    let file: HistoryFile =
        toml::from_str(text).map_err(|error| LabelledError::Format(error.to_string()))?;
    file.history.into_iter().map(labelled_history).collect()
}

fn labelled_history(row: HistoryRow) -> Result<LabelledHistory, LabelledError> {
    let HistoryRow { id, outcome, file, lines: (first, last), also, before, after, .. } = row;
    let cited: Vec<CitedLines> =
        [CitedLines { file, first, last }].into_iter().chain(also).collect();
    let is_inside = |cited: &CitedLines| {
        let lines = before.get(&cited.file).map_or(0, |text| text.lines().count());
        cited.first >= 1
            && cited.first <= cited.last
            && usize::try_from(cited.last).is_ok_and(|last| last <= lines)
    };
    if !cited.iter().all(is_inside) {
        return Err(LabelledError::Lines(id));
    }
    let history = IssueHistory {
        title: row.title,
        cited,
        before,
        after,
        is_dismissed: row.dismissed,
        replies: row.replies,
        is_outdated: false,
        raised_again: row.raised_again,
        end: row.end,
    };
    Ok(LabelledHistory { id, expected: outcome, history })
}

/// Decisions about labelled histories.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfusionMatrix {
    /// Number of histories by label and decision.
    counts: BTreeMap<(OutcomeKind, OutcomeKind), usize>,
    /// Wrong decisions: name, label and decision.
    pub mistakes: Vec<(String, OutcomeKind, OutcomeKind)>,
}

impl ConfusionMatrix {
    /// Decides the outcome of every history and compares it with the label.
    pub fn new(histories: &[LabelledHistory], judge: &dyn OutcomeJudge) -> Self {
        let mut matrix = Self::default();
        for LabelledHistory { id, expected, history } in histories {
            let decided = outcome_with(history, judge);
            *matrix.counts.entry((*expected, decided)).or_default() += 1;
            if decided != *expected {
                matrix.mistakes.push((id.clone(), *expected, decided));
            }
        }
        matrix
    }

    /// Number of histories.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }

    /// Number of right decisions.
    pub fn right(&self) -> usize {
        self.total() - self.mistakes.len()
    }

    /// The matrix as a Markdown table: one row per label, one column per decision.
    pub fn to_markdown(&self) -> String {
        let used = |kind: &OutcomeKind| {
            self.counts.keys().any(|(label, decision)| label == kind || decision == kind)
        };
        let kinds: Vec<OutcomeKind> = OutcomeKind::ALL.into_iter().filter(used).collect();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let mut table = format!("| known answer ↓ crh's answer → | {} |\n", names.join(" | "));
        table.push_str(&format!("|---|{}\n", "---:|".repeat(kinds.len())));
        for label in &kinds {
            let cells: Vec<String> = kinds
                .iter()
                .map(|decision| match self.counts.get(&(*label, *decision)) {
                    Some(count) => count.to_string(),
                    None => String::new(),
                })
                .collect();
            table.push_str(&format!("| {} | {} |\n", label.name(), cells.join(" | ")));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Certainty, CodeOnly, JudgedOutcome, outcome};

    /// Answers every question with the label, like a perfect model.
    struct PerfectJudge<'a>(&'a [LabelledHistory]);

    impl OutcomeJudge for PerfectJudge<'_> {
        fn judge(&self, history: &IssueHistory) -> Option<JudgedOutcome> {
            let label = self.0.iter().find(|it| it.history == *history)?.expected;
            let is_fixed = matches!(label, OutcomeKind::FixedInPlace | OutcomeKind::FixedElsewhere);
            let is_argued_against = label == OutcomeKind::ArguedAgainst;
            Some(JudgedOutcome { still_stands: !is_fixed, is_argued_against })
        }
    }

    #[test]
    fn shipped_histories_cover_the_outcomes() {
        let histories = parse_histories(SHIPPED_HISTORIES).unwrap();
        assert!(histories.len() >= 40, "{}", histories.len());
        for kind in OutcomeKind::ALL {
            let count = histories.iter().filter(|it| it.expected == kind).count();
            assert!(count >= 2, "{kind}: {count}");
        }
        let untitled: Vec<&str> = histories
            .iter()
            .filter(|it| outcome(&it.history).certainty == Certainty::Guess)
            .filter(|it| it.history.title.is_empty())
            .map(|it| it.id.as_str())
            .collect();
        assert_eq!(untitled, Vec::<&str>::new(), "a judge needs a title");
        let mut ids: Vec<&str> = histories.iter().map(|it| it.id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), histories.len(), "every id is used once");
    }

    #[test]
    fn certain_decisions_about_shipped_histories_are_right() {
        let histories = parse_histories(SHIPPED_HISTORIES).unwrap();
        let matrix = ConfusionMatrix::new(&histories, &PerfectJudge(&histories));
        assert_eq!(matrix.mistakes, [], "mistakes that no judge can correct");
    }

    #[test]
    fn code_alone_is_right_where_the_documentation_says_so() {
        let histories = parse_histories(SHIPPED_HISTORIES).unwrap();
        let matrix = ConfusionMatrix::new(&histories, &CodeOnly);
        let is_guess = |id: &str| {
            let history = histories.iter().find(|it| it.id == id).unwrap();
            outcome(&history.history).certainty == Certainty::Guess
        };
        let mistakes: Vec<&str> = matrix.mistakes.iter().map(|(id, _, _)| id.as_str()).collect();
        assert!(mistakes.iter().all(|id| is_guess(id)), "{mistakes:?}");
        let page = include_str!("../../../docs/learning.md");
        assert!(page.contains(&matrix.to_markdown()), "{}", matrix.to_markdown());
        let sentence = format!("{} of {}", matrix.right(), matrix.total());
        assert!(page.contains(&sentence), "{sentence}: {mistakes:?}");
    }

    #[test]
    fn history_that_cites_missing_lines_is_rejected() {
        let text = "[[history]]\nid = \"a\"\noutcome = \"open\"\nfile = \"a.rs\"\nlines = [2, 2]\nbefore = { \"a.rs\" = \"x\" }\n";
        assert_eq!(parse_histories(text), Err(LabelledError::Lines("a".to_owned())));
    }
}
