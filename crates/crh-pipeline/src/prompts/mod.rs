//! What agents are told. Each prompt is a Markdown file with one typed struct, rendered strictly: every slot of the file
//! is a field and every field a slot, exactly once. What comes from the change or from a model is fenced.

mod change;
mod fence;
mod files;
pub(crate) mod fixer;
pub(crate) mod judge;
mod template;

pub(crate) use change::{groups, numbered};
pub use fence::fence;
use serde_json::{Value, json};

use self::template::Prompt;
use crate::plan::{Assignment, Part};
use crate::requirements::PlanDocument;
use crate::reviewers::{Catalogue, Returns, Reviewer};
use crate::subject::Subject;
use crate::terms::{PromptOverrides, Terms};
use crate::text::one_line;
use crate::tools::session::{agent_tools, panel_tools};
use crh_llm::{Cache, Conversation, ToolSpec};
use crh_review::identity::content_id;
use crh_review::report::{PlanSource, Strategy};
use crh_review::stable_json_line;

/// How many hex digits of a hash name the prompts: as many as name a review.
const VERSION_DIGITS: usize = 16;

/// The language that is written in if nothing else is asked for.
const ENGLISH: &str = "English";

/// The prompts of one review: the beginning that all its agents share, and what each is told at the end.
#[derive(Debug, Clone)]
pub struct Prompts {
    system: String,
    change: String,
    /// What stands behind the change for all agents; empty unless they are a panel.
    together: String,
    tools: Vec<ToolSpec>,
    reviewer: String,
    language: String,
    not_shown: Vec<String>,
    notes: Vec<String>,
}

impl Prompts {
    /// The prompts for a change. `context` is the smallest context, in tokens, of the models that will read them.
    pub fn new(subject: &Subject, terms: &Terms, context: u64) -> Self {
        let shown = change::shown(subject, context, &terms.allowance, None);
        let (together, tools) = match terms.strategy {
            Strategy::Panel => (panel_rules(terms), panel_tools()),
            Strategy::Single | Strategy::Delegate | Strategy::Static => {
                (String::new(), agent_tools())
            }
        };
        Self::of(shown, together, tools, terms)
    }

    /// The prompts for one part of a change that is too large for one look by a panel.
    pub fn of_part(subject: &Subject, terms: &Terms, context: u64, part: &ChangePart) -> Self {
        let shown = change::shown(subject, context, &terms.allowance, Some(&part.parts));
        let about = files::ChangePart {
            number: part.number.to_string(),
            count: part.count.to_string(),
            signatures: change::fence_or_none("signatures", &part.signatures),
        };
        let together = format!("{}\n\n{}", about.render(), panel_rules(terms));
        Self::of(shown, together, panel_tools(), terms)
    }

    fn of(shown: change::Shown, together: String, tools: Vec<ToolSpec>, terms: &Terms) -> Self {
        let change::Shown { prompt, not_shown, notes } = shown;
        let language = one_line(&terms.language);
        let language = if language.is_empty() { ENGLISH.to_owned() } else { language };
        let own = |text: &Option<String>, built_in: &dyn Fn() -> String| {
            text.as_ref().map_or_else(built_in, |text| text.trim_end().to_owned())
        };
        Self {
            system: own(&terms.overrides.system, &|| files::Rules {}.render()),
            change: prompt.render(),
            together,
            tools,
            reviewer: own(&terms.overrides.reviewer, &|| files::Reviewer {}.render()),
            language: files::Language { language }.render(),
            not_shown,
            notes,
        }
    }

    /// The hash of all prompt files in use, overrides included, and of the tools that agents are told of.
    pub fn version(overrides: &PromptOverrides) -> String {
        version(overrides, &agent_tools(), &panel_tools())
    }

    /// The tools that every agent of this review is told of.
    pub fn tools(&self) -> Vec<ToolSpec> {
        self.tools.clone()
    }

    /// Whether the diff of this file stands in the beginning that all agents share. One that is too large for that is
    /// read with tools.
    pub fn shows_diff_of(&self, path: &str) -> bool {
        !self.not_shown.iter().any(|not_shown| not_shown == path)
    }

    /// What of the change could not be told, for the report.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The rules, the change, and at the end what this one agent is to do. All but the last is the same bytes for every
    /// agent of a review, and a cache breakpoint stands between.
    pub fn conversation(&self, own: &str) -> Conversation {
        let mut conversation = Conversation::new(&self.system);
        conversation.say(self.shared(), Cache::Breakpoint);
        conversation.say(own, Cache::Unmarked);
        conversation
    }

    /// What all agents are told behind the rules.
    fn shared(&self) -> String {
        match self.together.as_str() {
            "" => self.change.clone(),
            together => format!("{}\n\n{together}", self.change),
        }
    }

    /// What the orchestrator is told.
    pub fn orchestrator(&self) -> String {
        self.own(&files::Orchestrator {})
    }

    /// What a sub-agent is told about its part.
    ///
    /// `known` is what programs have found in it, a row each; empty if nothing.
    pub fn sub_agent(&self, assignment: &Assignment, known: &str) -> String {
        // Not cut, however long: nobody else is told about these files.
        let files: String = assignment.parts.iter().map(part_row).collect();
        let prompt = files::SubAgent {
            reviewer: self.reviewer.clone(),
            name: assignment.name.clone(),
            label: change::fence_or_none("label", &assignment.label),
            focus: change::fence_or_none("focus", &assignment.focus),
            files: change::fence_or_none("files", &files),
        };
        self.own_knowing(&prompt, known)
    }

    /// What the one reviewer of `single` is told. `context` is code around the changed lines, each piece put into a
    /// [`fence`] by whoever selected it; empty if there is none. `known` is what programs have found, a row each; empty if
    /// nothing.
    pub fn single(&self, context: &str, known: &str) -> String {
        let context = if context.is_empty() { "None." } else { context };
        let (reviewer, context) = (self.reviewer.clone(), context.to_owned());
        self.own_knowing(&files::Single { reviewer, context }, known)
    }

    /// What is asked about findings once tools have brought more context: the findings as JSON with their ids, and what
    /// the tools answered. Both are fenced here.
    pub fn round(&self, candidates: &str, results: &str) -> String {
        self.own(&files::Round {
            candidates: fence("candidates", candidates),
            results: fence("results", results),
        })
    }

    /// What a fresh run is asked about findings of others: their ids and claims with the code around, and nothing of
    /// their authors' reasons. They are fenced here.
    pub fn validate(&self, candidates: &str) -> String {
        self.own(&files::Validate { candidates: fence("candidates", candidates) })
    }

    /// What whoever judges a plan is told: where it is, and what it asks for. Both are fenced here.
    pub fn requirements(&self, document: &PlanDocument) -> String {
        let source = match document.source {
            PlanSource::Explicit => "named for this change",
            PlanSource::Inferred => "guessed from its name",
        };
        self.own(&files::Requirements {
            plan: fence("plan", &format!("{}, {source}", change::path(&document.path))),
            items: fence("requirements", &document.rows()),
        })
    }

    /// What a reviewer of a panel is told: its lens, and this review. `known` is what programs have found, a row each.
    pub fn lens(&self, lens: &LensBrief<'_>, known: &str) -> String {
        let LensBrief { reviewer, assignment, intent, given } = lens;
        let (name, prompt) = (reviewer.name.clone(), reviewer.prompt.trim().to_owned());
        let intent = change::fence_or_none("intent", intent);
        let why = change::fence_or_none("reason", &assignment.why);
        let given = if given.is_empty() { "None.".to_owned() } else { (*given).to_owned() };
        let files: String = assignment.parts.iter().map(part_row).collect();
        let files = change::fence_or_none("files", &files);
        let cap = reviewer.cap.to_string();
        match reviewer.returns {
            Returns::Findings => {
                let route = format!("{} -> {}", reviewer.route.class, reviewer.route.owner);
                let max_severity = reviewer.max_severity.to_string();
                let prompt = files::Lens {
                    name,
                    prompt,
                    intent,
                    why,
                    given,
                    files,
                    route,
                    cap,
                    max_severity,
                };
                self.own_knowing(&prompt, known)
            }
            Returns::Notes(_) => self.own_knowing(
                &files::NoteTaker { name, prompt, intent, why, given, files, cap },
                known,
            ),
        }
    }

    /// What is asked before a panel is chosen: the issues that the change is linked to, and the reviewers that could be added, a
    /// row each. Both are fenced here.
    pub fn scout(&self, issues: &str, candidates: &str) -> String {
        self.own(&files::Scout {
            issues: change::fence_or_none("linked-issues", issues),
            candidates: change::fence_or_none("reviewers", candidates),
        })
    }

    /// What a fixer reads: rules of its own, since all others change nothing, then its issues with the code around them, and the
    /// files that it may write. Both are fenced here.
    pub fn fixer(&self, issues: &str, files: &str) -> Conversation {
        let (rules, errand) = fixer::prompts(issues, files);
        let mut conversation = Conversation::new(rules.render());
        conversation.say(self.own(&errand), Cache::Unmarked);
        conversation
    }

    /// Which findings of a panel are one: the pairs as JSON, fenced here.
    pub fn pairs(&self, pairs: &str) -> String {
        self.own(&files::Pairs { pairs: fence("pairs", pairs) })
    }

    /// An agent's own instructions, and what programs have found in its files.
    fn own_knowing(&self, prompt: &impl Prompt, known: &str) -> String {
        if known.is_empty() {
            return self.own(prompt);
        }
        let known = files::Known { findings: fence("findings", known) };
        format!("{}\n\n{}", prompt.render(), self.own(&known))
    }

    /// An agent's own instructions, the line about the language last.
    fn own(&self, prompt: &impl Prompt) -> String {
        format!("{}\n\n{}", prompt.render(), self.language)
    }
}

/// One part of a change that is too large for one look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePart {
    /// Which, from 1.
    pub number: usize,
    /// How many there are.
    pub count: usize,
    /// Its files.
    pub parts: Vec<Part>,
    /// What the others declare, a line each.
    pub signatures: String,
}

/// What a reviewer of a panel is told besides the change.
#[derive(Debug)]
pub struct LensBrief<'a> {
    /// Whose lens.
    pub reviewer: &'a Reviewer,
    /// What it looks at, and why it was chosen.
    pub assignment: &'a Assignment,
    /// What the change is for; empty if nobody knows.
    pub intent: &'a str,
    /// What it is given besides, each piece put into a [`fence`]; empty if nothing.
    pub given: &'a str,
}

/// How reviewers of a panel review: in our words, or in the user's.
fn panel_rules(terms: &Terms) -> String {
    let own = terms.overrides.reviewer.as_ref();
    own.map_or_else(|| files::Panel {}.render(), |text| text.trim_end().to_owned())
}

fn part_row(part: &Part) -> String {
    let path = change::path(&part.path);
    match part.diff_lines {
        None => format!("{path}\n"),
        Some((first, last)) => format!("{path}: only diff lines {first}-{last}\n"),
    }
}

fn version(overrides: &PromptOverrides, tools: &[ToolSpec], panel: &[ToolSpec]) -> String {
    let PromptOverrides { system, reviewer } = overrides;
    let in_use = |(name, text): &(&'static str, &'static str)| {
        let own = match *name {
            files::Rules::FILE => system.as_deref(),
            files::Reviewer::FILE | files::Panel::FILE => reviewer.as_deref(),
            _ => None,
        };
        (*name, own.unwrap_or(text).to_owned())
    };
    let files: Vec<_> = files::FILES.iter().map(in_use).collect();
    // As JSON, so that no text can pass for the end of one file and the beginning of the next.
    let reviewers = Catalogue::built_in().version();
    hashed(&json!({ "files": files, "tools": tools, "panel": panel, "reviewers": reviewers }))
}

fn hashed(all: &Value) -> String {
    let all = stable_json_line(all).unwrap_or_else(|_| all.to_string());
    let mut id = content_id(all.as_bytes());
    id.truncate(VERSION_DIGITS);
    id
}

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;
