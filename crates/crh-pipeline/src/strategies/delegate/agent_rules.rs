//! Rules of the `delegate` strategy for tool calls. All agents see the same tools. For each call,
//! the rules decide whether this agent may use the tool. If not, they give the message for the
//! model.

use std::collections::{BTreeMap, BTreeSet};

use crate::tools::session::{
    DelegateReview, ReportChecks, ReportFindings, SessionTool, SubmitReview,
};

/// Permissions of one agent, with its lookups, marks and refused calls so far.
#[derive(Debug)]
pub(super) struct AgentRules {
    role: AgentRole,
    agent_files: ListingState,
    /// Lookups beyond the diff so far.
    lookups: usize,
    marked_files: BTreeSet<String>,
    /// Files whose diff this agent has not seen.
    unseen_files: BTreeSet<String>,
    shown_in_turn: BTreeSet<String>,
    refusals: BTreeMap<DelegateRule, u32>,
}

#[derive(Debug)]
enum AgentRole {
    Orchestrator,
    /// A sub-agent, with the paths of its scope.
    SubAgent(BTreeSet<String>),
}

/// Whether the agent listed the agent files, which are the repository's instructions for agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListingState {
    NotYet,
    Once,
}

/// A rule that an agent can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DelegateRule {
    /// The orchestrator does not read code.
    NoCodeForOrchestrator,
    /// The orchestrator does not mark files as reviewed.
    NoMarksByOrchestrator,
    /// The orchestrator lists the agent files only once.
    AgentFilesOnce,
    /// The orchestrator delegates once, and once more to confirm a P0.
    Delegation,
    /// The orchestrator decides about each finding once.
    Submission,
    /// Each kind of agent ends with its own tool.
    ToolOfOtherAgent,
    /// A sub-agent has one lookup beyond the diff per file.
    OneLookupPerFile,
    /// A sub-agent marks only files of its scope.
    OwnFilesOnly,
    /// A sub-agent marks only files whose diff it has seen.
    ReadBeforeMark,
    /// A sub-agent marks all files before it reports.
    MarkBeforeReport,
}

/// A refused call, with the message for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RuleViolation {
    pub(super) rule: DelegateRule,
    pub(super) message: String,
}

/// Classes of tools that the rules distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ToolClass {
    /// Reads or searches code beyond the diff. Sub-agents may make as many such calls as they have
    /// files.
    Lookup,
    /// Other access to the repository.
    Repository,
    AgentFiles,
    Mark,
    Delegate,
    Submit,
    Report,
    Check,
    /// Tools that show the change itself, or that read nothing, such as `calc`.
    Unrestricted,
}

impl ToolClass {
    fn from_tool(tool: &str) -> Self {
        match tool {
            "repo_read" | "repo_grep" | "read_file" | "search_code" => Self::Lookup,
            "find_definition" | "find_callers" | "find_implementations" | "get_function" => {
                Self::Repository
            }
            "get_function_context" | "run_ruff" => Self::Repository,
            _ if tool.starts_with("repo_") => Self::Repository,
            "agent_files_list" => Self::AgentFiles,
            "mark_file_reviewed" => Self::Mark,
            DelegateReview::NAME => Self::Delegate,
            SubmitReview::NAME => Self::Submit,
            ReportFindings::NAME => Self::Report,
            ReportChecks::NAME => Self::Check,
            _ => Self::Unrestricted,
        }
    }
}

impl AgentRules {
    pub(super) fn orchestrator() -> Self {
        Self::new(AgentRole::Orchestrator)
    }

    /// Rules for a sub-agent with these files.
    pub(super) fn sub_agent<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(AgentRole::SubAgent(paths.into_iter().map(str::to_owned).collect()))
    }

    /// Sets the files whose diff is not in the prompt.
    pub(super) fn without_diffs_of(mut self, paths: impl IntoIterator<Item = String>) -> Self {
        self.unseen_files = paths.into_iter().collect();
        self
    }

    /// Records that the agent has seen the diff of a file.
    pub(super) fn show_file(&mut self, path: &str) {
        if self.unseen_files.remove(path) {
            self.shown_in_turn.insert(path.to_owned());
        }
    }

    /// Begins a turn. The agent has now read the diffs that its earlier turns showed.
    pub(super) fn begin_turn(&mut self) {
        self.shown_in_turn.clear();
    }

    /// Files whose diff this turn showed for the first time. The agent had not read these diffs
    /// when it wrote the calls of this turn.
    pub(super) fn shown_in_turn(&self) -> Vec<String> {
        self.shown_in_turn.iter().cloned().collect()
    }

    fn new(role: AgentRole) -> Self {
        Self {
            role,
            agent_files: ListingState::NotYet,
            lookups: 0,
            marked_files: BTreeSet::new(),
            unseen_files: BTreeSet::new(),
            shown_in_turn: BTreeSet::new(),
            refusals: BTreeMap::new(),
        }
    }

    /// Checks whether a tool may be called. `path` is the file to mark, if the tool marks one.
    pub(super) fn check_call(
        &mut self,
        tool: &str,
        path: Option<&str>,
    ) -> Result<(), RuleViolation> {
        let violation = match &self.role {
            AgentRole::Orchestrator => {
                self.orchestrator_violation(ToolClass::from_tool(tool), tool)
            }
            AgentRole::SubAgent(scope) => {
                self.sub_agent_violation(ToolClass::from_tool(tool), tool, path, scope)
            }
        };
        if let Some((rule, message)) = violation {
            return Err(self.refuse(rule, message));
        }
        match ToolClass::from_tool(tool) {
            ToolClass::Lookup => self.lookups += 1,
            ToolClass::AgentFiles => self.agent_files = ListingState::Once,
            ToolClass::Repository
            | ToolClass::Mark
            | ToolClass::Delegate
            | ToolClass::Submit
            | ToolClass::Report
            | ToolClass::Check
            | ToolClass::Unrestricted => {}
        }
        Ok(())
    }

    /// Counts a refusal and returns it with the message for the model.
    pub(super) fn refuse(&mut self, rule: DelegateRule, message: String) -> RuleViolation {
        *self.refusals.entry(rule).or_default() += 1;
        RuleViolation { rule, message }
    }

    /// Undoes the count of an allowed call that failed.
    pub(super) fn call_failed(&mut self, tool: &str) {
        match ToolClass::from_tool(tool) {
            ToolClass::Lookup => self.lookups = self.lookups.saturating_sub(1),
            ToolClass::AgentFiles => self.agent_files = ListingState::NotYet,
            ToolClass::Repository
            | ToolClass::Mark
            | ToolClass::Delegate
            | ToolClass::Submit
            | ToolClass::Report
            | ToolClass::Check
            | ToolClass::Unrestricted => {}
        }
    }

    /// Marks a file as reviewed.
    pub(super) fn mark_file(&mut self, path: &str) {
        self.marked_files.insert(path.to_owned());
    }

    /// Files of the scope that are not marked.
    pub(super) fn unmarked_files(&self) -> Vec<&str> {
        match &self.role {
            AgentRole::Orchestrator => Vec::new(),
            AgentRole::SubAgent(scope) => {
                scope.difference(&self.marked_files).map(String::as_str).collect()
            }
        }
    }

    /// Whether this rule was broken before.
    pub(super) fn was_refused(&self, rule: DelegateRule) -> bool {
        self.refusals.contains_key(&rule)
    }

    /// Notes on refused calls, for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let notes = self.refusals.iter().map(|(rule, count)| {
            let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
            format!("{}; refused {times}", rule.violation_text())
        });
        notes.collect()
    }

    fn orchestrator_violation(
        &self,
        class: ToolClass,
        tool: &str,
    ) -> Option<(DelegateRule, String)> {
        match class {
            ToolClass::Lookup | ToolClass::Repository => Some((
                DelegateRule::NoCodeForOrchestrator,
                format!(
                    "`{tool}` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up."
                ),
            )),
            ToolClass::Mark => Some((
                DelegateRule::NoMarksByOrchestrator,
                "files are marked by the sub-agent that reviewed them; call `delegate_review`"
                    .to_owned(),
            )),
            ToolClass::AgentFiles => (self.agent_files == ListingState::Once).then(|| {
                let message =
                    "the list was shown before and has not changed; go on with `delegate_review`";
                (DelegateRule::AgentFilesOnce, message.to_owned())
            }),
            ToolClass::Report | ToolClass::Check => Some((
                DelegateRule::ToolOfOtherAgent,
                format!(
                    "`{tool}` is not yours to call: end with `submit_review`, which takes the ids of findings"
                ),
            )),
            ToolClass::Delegate | ToolClass::Submit | ToolClass::Unrestricted => None,
        }
    }

    fn sub_agent_violation(
        &self,
        class: ToolClass,
        tool: &str,
        path: Option<&str>,
        scope: &BTreeSet<String>,
    ) -> Option<(DelegateRule, String)> {
        match class {
            ToolClass::Delegate | ToolClass::Submit | ToolClass::Check => Some((
                DelegateRule::ToolOfOtherAgent,
                format!("`{tool}` is not yours to call: end your work with `report_findings`"),
            )),
            ToolClass::Lookup => (self.lookups >= scope.len()).then(|| {
                let limit = scope.len();
                let message = format!(
                    "you have used the {limit} extra look(s) of your {limit} file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`."
                );
                (DelegateRule::OneLookupPerFile, message)
            }),
            ToolClass::Mark => match path {
                Some(path) if !scope.contains(path) => {
                    let message = format!(
                        "`{path}` is not in your scope: mark only files that were given to you"
                    );
                    Some((DelegateRule::OwnFilesOnly, message))
                }
                Some(path) if self.unseen_files.contains(path) => {
                    let message = format!(
                        "you have not seen the diff of `{path}`: read it with `diff_get_file`, then mark it"
                    );
                    Some((DelegateRule::ReadBeforeMark, message))
                }
                Some(_) | None => None,
            },
            ToolClass::Repository | ToolClass::AgentFiles | ToolClass::Report | ToolClass::Unrestricted => None,
        }
    }
}

impl DelegateRule {
    /// Describes the violation for the report.
    fn violation_text(self) -> &'static str {
        match self {
            Self::NoCodeForOrchestrator => "the orchestrator tried to read code",
            Self::NoMarksByOrchestrator => "the orchestrator tried to mark files as reviewed",
            Self::AgentFilesOnce => "the orchestrator listed the agent files again",
            Self::Delegation => "the orchestrator delegated against the rules",
            Self::Submission => "the orchestrator's submission did not account for the findings",
            Self::ToolOfOtherAgent => "it called a tool of other agents",
            Self::OneLookupPerFile => "it tried more than one lookup per file",
            Self::OwnFilesOnly => "it tried to mark files outside its scope",
            Self::ReadBeforeMark => "it tried to mark files that it had not read",
            Self::MarkBeforeReport => "it reported before it had marked all its files",
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::session::agent_tool_specs;

    /// Makes calls in sequence: `tool`, `tool path`, or `tool!` for a call that fails.
    fn check(mut rules: AgentRules, calls: &str, expected: Expect) {
        let mut actual = String::new();
        for call in calls.split(", ") {
            let (tool, path) = match call.split_once(' ') {
                Some((tool, path)) => (tool, Some(path)),
                None => (call, None),
            };
            let name = tool.trim_end_matches('!');
            let reply = match rules.check_call(name, path) {
                Ok(()) => "goes on".to_owned(),
                Err(refusal) => refusal.message,
            };
            if tool.ends_with('!') {
                rules.call_failed(name);
            }
            actual += &format!("{call}: {reply}\n");
        }
        for note in rules.notes() {
            actual += &format!("note: {note}\n");
        }
        expected.assert_eq(&actual);
    }

    #[test]
    fn permissions_of_every_tool() {
        let (mut orchestrator, mut sub_agent) =
            (AgentRules::orchestrator(), AgentRules::sub_agent(["a", "b", "c", "d"]));
        let mut actual = String::new();
        for tool in agent_tool_specs() {
            let word = |rules: &mut AgentRules| match rules.check_call(&tool.name, None) {
                Ok(()) => "yes",
                Err(_) => "no",
            };
            let (first, second) = (word(&mut orchestrator), word(&mut sub_agent));
            actual += &format!("{} {first} {second}\n", tool.name);
        }
        expect![[r#"
            read yes yes
            grep yes yes
            find yes yes
            ls yes yes
            mp_metadata yes yes
            preview_diffs_list yes yes
            diff_list_files yes yes
            diff_get_file yes yes
            diff_numbered yes yes
            diff_map_line yes yes
            comments_general yes yes
            comments_inline yes yes
            agent_files_list yes yes
            mark_file_reviewed no yes
            repo_read no yes
            repo_ls no yes
            repo_grep no yes
            repo_stat no yes
            find_definition no yes
            find_callers no yes
            find_implementations no yes
            get_function no yes
            repo_log no yes
            repo_blame no yes
            read_file no yes
            search_code no yes
            run_ruff no yes
            get_function_context no yes
            calc yes yes
            delegate_review yes no
            submit_review yes no
            report_findings no yes
            report_checks no no
        "#]]
        .assert_eq(&actual);
    }

    #[test]
    fn orchestrator_cannot_read_code_or_mark_files() {
        check(
            AgentRules::orchestrator(),
            "repo_read, search_code, mark_file_reviewed a.rs, report_findings, diff_get_file",
            expect![[r#"
                repo_read: `repo_read` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up.
                search_code: `search_code` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up.
                mark_file_reviewed a.rs: files are marked by the sub-agent that reviewed them; call `delegate_review`
                report_findings: `report_findings` is not yours to call: end with `submit_review`, which takes the ids of findings
                diff_get_file: goes on
                note: the orchestrator tried to read code; refused 2 times
                note: the orchestrator tried to mark files as reviewed; refused once
                note: it called a tool of other agents; refused once
            "#]],
        );
    }

    #[test]
    fn sub_agent_marks_only_files_that_it_has_seen() {
        let mut rules =
            AgentRules::sub_agent(["a.rs", "b.rs"]).without_diffs_of(["b.rs".to_owned()]);
        let mut can_mark = |path| rules.check_call("mark_file_reviewed", Some(path)).is_ok();
        assert!(can_mark("a.rs"));
        assert!(!can_mark("b.rs"));
        rules.show_file("b.rs");
        assert!(rules.check_call("mark_file_reviewed", Some("b.rs")).is_ok());
    }

    #[test]
    fn orchestrator_lists_agent_files_once() {
        check(
            AgentRules::orchestrator(),
            "agent_files_list!, agent_files_list, agent_files_list",
            expect![[r#"
                agent_files_list!: goes on
                agent_files_list: goes on
                agent_files_list: the list was shown before and has not changed; go on with `delegate_review`
                note: the orchestrator listed the agent files again; refused once
            "#]],
        );
    }

    #[test]
    fn sub_agent_has_one_successful_lookup_per_file() {
        check(
            AgentRules::sub_agent(["a.rs", "b.rs"]),
            "repo_read, repo_grep!, read_file, search_code, repo_read, repo_blame, repo_ls",
            expect![[r#"
                repo_read: goes on
                repo_grep!: goes on
                read_file: goes on
                search_code: you have used the 2 extra look(s) of your 2 file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`.
                repo_read: you have used the 2 extra look(s) of your 2 file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`.
                repo_blame: goes on
                repo_ls: goes on
                note: it tried more than one lookup per file; refused 2 times
            "#]],
        );
    }

    #[test]
    fn sub_agent_cannot_delegate_or_mark_other_files() {
        check(
            AgentRules::sub_agent(["a.rs"]),
            "delegate_review, submit_review, mark_file_reviewed b.rs, mark_file_reviewed a.rs, mark_file_reviewed",
            expect![[r#"
                delegate_review: `delegate_review` is not yours to call: end your work with `report_findings`
                submit_review: `submit_review` is not yours to call: end your work with `report_findings`
                mark_file_reviewed b.rs: `b.rs` is not in your scope: mark only files that were given to you
                mark_file_reviewed a.rs: goes on
                mark_file_reviewed: goes on
                note: it called a tool of other agents; refused 2 times
                note: it tried to mark files outside its scope; refused once
            "#]],
        );
    }

    #[test]
    fn unmarked_files_are_listed() {
        let mut rules = AgentRules::sub_agent(["a.rs", "b.rs", "a.rs"]);
        rules.mark_file("a.rs");
        assert_eq!(rules.unmarked_files(), ["b.rs"]);
        rules.mark_file("b.rs");
        assert!(rules.unmarked_files().is_empty());
    }
}
