//! Detects the tracker of a project from its settings, its agent instructions and its pages. No
//! I/O.

use crate::config::hand_off::TrackerChoice;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tracker {
    GitHub,
    Linear,
    Jira,
    /// The user's own command.
    Command,
}

impl Tracker {
    /// Display name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::Linear => "Linear",
            Self::Jira => "Jira",
            Self::Command => "tracker",
        }
    }
}

/// How certain the detection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetectionConfidence {
    High,
    Low,
}

/// The detected tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DetectedTracker {
    pub(super) tracker: Tracker,
    pub(super) confidence: DetectionConfidence,
}

/// A text of the project that may mention a tracker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProjectText {
    pub(super) kind: TextKind,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    /// Instructions for agents.
    Instructions,
    /// A page for people, such as the README.
    Page,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MentionForm {
    /// By URL.
    Address,
    /// By name.
    Words,
}

/// Words that follow `Linear` if it is the product and not the adjective.
const LINEAR_AFTER: [&str; 9] =
    ["issue", "ticket", "project", "team", "board", "workspace", "task", "backlog", "tracker"];
/// Words that precede `Linear` if it is the product.
const LINEAR_BEFORE: [&str; 7] = ["in", "on", "to", "with", "use", "via", "using"];

/// The tracker of a project, or `None`. `own` is the GitHub repository of the project; links to
/// issues of other repositories do not count.
pub(super) fn named(
    choice: TrackerChoice,
    own: Option<&str>,
    texts: &[ProjectText],
) -> Option<DetectedTracker> {
    let certain =
        |tracker| Some(DetectedTracker { tracker, confidence: DetectionConfidence::High });
    match choice {
        TrackerChoice::Github => return certain(Tracker::GitHub),
        TrackerChoice::Linear => return certain(Tracker::Linear),
        TrackerChoice::Jira => return certain(Tracker::Jira),
        TrackerChoice::Command => return certain(Tracker::Command),
        TrackerChoice::None => return None,
        TrackerChoice::Auto => {}
    }
    let of_kind = |kind: TextKind| -> Vec<(Tracker, MentionForm)> {
        let texts = texts.iter().filter(|text| text.kind == kind);
        texts.flat_map(|text| mentions(&text.text, own)).collect()
    };
    let in_instructions = of_kind(TextKind::Instructions);
    if let Some((tracker, _)) = in_instructions.first().copied() {
        return Some(DetectedTracker {
            tracker,
            confidence: sure_if(in_instructions.iter().all(|(other, _)| *other == tracker)),
        });
    }
    let in_pages = of_kind(TextKind::Page);
    let addresses: Vec<Tracker> = in_pages
        .iter()
        .filter(|(_, mention)| *mention == MentionForm::Address)
        .map(|(tracker, _)| *tracker)
        .collect();
    match (addresses.first().copied(), in_pages.first().copied()) {
        (Some(tracker), _) => {
            let confidence = sure_if(addresses.iter().all(|other| *other == tracker));
            Some(DetectedTracker { tracker, confidence })
        }
        (None, Some((tracker, _))) => {
            Some(DetectedTracker { tracker, confidence: DetectionConfidence::Low })
        }
        (None, None) => None,
    }
}

fn sure_if(only_one: bool) -> DetectionConfidence {
    if only_one { DetectionConfidence::High } else { DetectionConfidence::Low }
}

/// The trackers that a text mentions, once per kind of mention.
fn mentions(text: &str, own: Option<&str>) -> Vec<(Tracker, MentionForm)> {
    let lower = text.to_lowercase();
    let has_own_issues = own.is_some_and(|own| {
        let address = format!("github.com/{}/issues", own.to_lowercase());
        lower.contains(&address)
    });
    let found = [
        (lower.contains("linear.app/"), Tracker::Linear, MentionForm::Address),
        (lower.contains(".atlassian.net"), Tracker::Jira, MentionForm::Address),
        (has_own_issues, Tracker::GitHub, MentionForm::Address),
        (is_about_linear(text), Tracker::Linear, MentionForm::Words),
        (words(&lower).any(|word| word == "jira"), Tracker::Jira, MentionForm::Words),
        (lower.contains("github issue"), Tracker::GitHub, MentionForm::Words),
    ];
    found
        .into_iter()
        .filter(|(is_mentioned, ..)| *is_mentioned)
        .map(|(_, tracker, form)| (tracker, form))
        .collect()
}

/// Whether `Linear` means the product here, not the adjective.
fn is_about_linear(text: &str) -> bool {
    let all: Vec<&str> = words(text).collect();
    all.iter().enumerate().filter(|(_, word)| **word == "Linear").any(|(at, _)| {
        let before = at.checked_sub(1).map(|at| all[at].to_lowercase()).unwrap_or_default();
        let after = all.get(at + 1).map(|word| word.to_lowercase()).unwrap_or_default();
        let after = after.strip_suffix('s').unwrap_or(&after);
        LINEAR_AFTER.contains(&after) || LINEAR_BEFORE.contains(&before.as_str())
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        choice: TrackerChoice,
        texts: &[(TextKind, &str)],
        expected: Option<(Tracker, DetectionConfidence)>,
    ) {
        let given: Vec<ProjectText> = texts
            .iter()
            .map(|(kind, text)| ProjectText { kind: *kind, text: (*text).to_owned() })
            .collect();
        let expected =
            expected.map(|(tracker, confidence)| DetectedTracker { tracker, confidence });
        assert_eq!(named(choice, Some("Acme/shop"), &given), expected, "{texts:?}");
    }

    #[test]
    fn setting_overrides_detected_tracker() {
        let told = [(TextKind::Instructions, "File bugs in Linear.")];
        check(TrackerChoice::Jira, &told, Some((Tracker::Jira, DetectionConfidence::High)));
        check(TrackerChoice::Github, &told, Some((Tracker::GitHub, DetectionConfidence::High)));
        check(TrackerChoice::Command, &told, Some((Tracker::Command, DetectionConfidence::High)));
        check(TrackerChoice::None, &told, None);
        check(TrackerChoice::Auto, &told, Some((Tracker::Linear, DetectionConfidence::High)));
    }

    #[test]
    fn agent_instructions_override_pages() {
        use DetectionConfidence::{High, Low};
        let auto =
            |texts: &[(TextKind, &str)], expected| check(TrackerChoice::Auto, texts, expected);
        let (told, page) = (TextKind::Instructions, TextKind::Page);
        auto(
            &[(page, "https://acme.atlassian.net/x"), (told, "Linear issues")],
            Some((Tracker::Linear, High)),
        );
        auto(&[(told, "GitHub issues, or JIRA for the old ones")], Some((Tracker::Jira, Low)));
        auto(&[(page, "See https://linear.app/acme/team/SHOP")], Some((Tracker::Linear, High)));
        auto(&[(page, "https://github.com/acme/Shop/issues/new")], Some((Tracker::GitHub, High)));
        auto(&[(page, "https://github.com/other/lib/issues/7")], None);
        auto(&[(page, "linear.app/a"), (page, "x.atlassian.net")], Some((Tracker::Linear, Low)));
        auto(&[(page, "We track work in Jira.")], Some((Tracker::Jira, Low)));
        auto(&[(page, "It runs in linear time. Linear algebra. Linearly.")], None);
        auto(&[], None);
    }
}
