//! What an agent of a delegated review may call. All agents see the same tools; here it is decided, call by call, which
//! of them this one may use, and what it is told otherwise.

use std::collections::{BTreeMap, BTreeSet};

use crate::tools::session::{
    DelegateReview, ReportChecks, ReportFindings, SessionTool, SubmitReview,
};

/// How one agent behaves: what it may call, what it has called, what it was refused.
#[derive(Debug)]
pub(super) struct Conduct {
    role: Role,
    agent_files: Listed,
    /// Looks at code beyond the diff so far.
    looks: usize,
    marked: BTreeSet<String>,
    refused: BTreeMap<Rule, u32>,
}

/// Who an agent is.
#[derive(Debug)]
enum Role {
    Orchestrator,
    /// The paths of its scope.
    SubAgent(BTreeSet<String>),
}

/// Whether the repository's instructions were listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listed {
    NotYet,
    Once,
}

/// A rule of the strategy, as far as an agent can break it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rule {
    /// The orchestrator leaves code to the sub-agents.
    NoCodeForOrchestrator,
    /// It leaves marks to those who looked.
    NoMarksByOrchestrator,
    /// It lists the repository's instructions once.
    AgentFilesOnce,
    /// It delegates once, and once more to confirm a P0.
    Delegation,
    /// It decides about each finding once.
    Submission,
    /// Each kind of agent has its own way to end.
    OthersTool,
    /// One look beyond the diff for each file.
    OneLookPerFile,
    /// A sub-agent marks files of its scope.
    OwnFilesOnly,
    /// All files are marked before the report.
    MarkBeforeReport,
}

/// A call that is not made, and what the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) rule: Rule,
    pub(super) told: String,
}

/// What a tool opens, as far as the rules tell tools apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    /// Code beyond the diff, by a path or a search: what a sub-agent may do once for each file.
    Look,
    /// Code or history beyond the diff in other ways.
    Repository,
    AgentFiles,
    Mark,
    Delegate,
    Submit,
    Report,
    Check,
    /// The change itself, or nothing at all.
    Open,
}

impl Door {
    fn of(tool: &str) -> Self {
        match tool {
            "repo_read" | "repo_grep" | "read_file" | "search_code" => Self::Look,
            "get_function_context" | "run_ruff" => Self::Repository,
            _ if tool.starts_with("repo_") => Self::Repository,
            "agent_files_list" => Self::AgentFiles,
            "mark_file_reviewed" => Self::Mark,
            DelegateReview::NAME => Self::Delegate,
            SubmitReview::NAME => Self::Submit,
            ReportFindings::NAME => Self::Report,
            ReportChecks::NAME => Self::Check,
            _ => Self::Open,
        }
    }
}

impl Conduct {
    /// The orchestrator's.
    pub(super) fn orchestrator() -> Self {
        Self::new(Role::Orchestrator)
    }

    /// A sub-agent's that looks at these files.
    pub(super) fn sub_agent<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(Role::SubAgent(paths.into_iter().map(str::to_owned).collect()))
    }

    fn new(role: Role) -> Self {
        Self {
            role,
            agent_files: Listed::NotYet,
            looks: 0,
            marked: BTreeSet::new(),
            refused: BTreeMap::new(),
        }
    }

    /// Whether a tool may be called; `path` is the file that it is to mark, if it marks one and it is known.
    pub(super) fn allows(&mut self, tool: &str, path: Option<&str>) -> Result<(), Refusal> {
        let refused = match &self.role {
            Role::Orchestrator => self.as_orchestrator(Door::of(tool), tool),
            Role::SubAgent(scope) => self.as_sub_agent(Door::of(tool), tool, path, scope),
        };
        if let Some((rule, told)) = refused {
            return Err(self.refuse(rule, told));
        }
        match Door::of(tool) {
            Door::Look => self.looks += 1,
            Door::AgentFiles => self.agent_files = Listed::Once,
            Door::Repository
            | Door::Mark
            | Door::Delegate
            | Door::Submit
            | Door::Report
            | Door::Check
            | Door::Open => {}
        }
        Ok(())
    }

    /// Counts a refusal that was decided elsewhere.
    pub(super) fn refuse(&mut self, rule: Rule, told: String) -> Refusal {
        *self.refused.entry(rule).or_default() += 1;
        Refusal { rule, told }
    }

    /// A call that was allowed brought nothing: it does not count.
    pub(super) fn failed(&mut self, tool: &str) {
        match Door::of(tool) {
            Door::Look => self.looks = self.looks.saturating_sub(1),
            Door::AgentFiles => self.agent_files = Listed::NotYet,
            Door::Repository
            | Door::Mark
            | Door::Delegate
            | Door::Submit
            | Door::Report
            | Door::Check
            | Door::Open => {}
        }
    }

    /// The agent is done with a file.
    pub(super) fn marked(&mut self, path: &str) {
        self.marked.insert(path.to_owned());
    }

    /// The files of its scope that it has not marked.
    pub(super) fn unmarked(&self) -> Vec<&str> {
        match &self.role {
            Role::Orchestrator => Vec::new(),
            Role::SubAgent(scope) => scope.difference(&self.marked).map(String::as_str).collect(),
        }
    }

    /// Whether it was refused by a rule before.
    pub(super) fn was_refused(&self, rule: Rule) -> bool {
        self.refused.contains_key(&rule)
    }

    /// What was refused, for the report.
    pub(super) fn notes(&self) -> Vec<String> {
        let noted = self.refused.iter().map(|(rule, count)| {
            let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
            format!("{}; refused {times}", rule.broken())
        });
        noted.collect()
    }

    fn as_orchestrator(&self, door: Door, tool: &str) -> Option<(Rule, String)> {
        match door {
            Door::Look | Door::Repository => Some((
                Rule::NoCodeForOrchestrator,
                format!(
                    "`{tool}` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up."
                ),
            )),
            Door::Mark => Some((
                Rule::NoMarksByOrchestrator,
                "files are marked by the sub-agent that reviewed them; call `delegate_review`"
                    .to_owned(),
            )),
            Door::AgentFiles => (self.agent_files == Listed::Once).then(|| {
                let told =
                    "the list was shown before and has not changed; go on with `delegate_review`";
                (Rule::AgentFilesOnce, told.to_owned())
            }),
            Door::Report | Door::Check => Some((
                Rule::OthersTool,
                format!(
                    "`{tool}` is not yours to call: end with `submit_review`, which takes the ids of findings"
                ),
            )),
            Door::Delegate | Door::Submit | Door::Open => None,
        }
    }

    fn as_sub_agent(
        &self,
        door: Door,
        tool: &str,
        path: Option<&str>,
        scope: &BTreeSet<String>,
    ) -> Option<(Rule, String)> {
        match door {
            Door::Delegate | Door::Submit | Door::Check => Some((
                Rule::OthersTool,
                format!("`{tool}` is not yours to call: end your work with `report_findings`"),
            )),
            Door::Look => (self.looks >= scope.len()).then(|| {
                let limit = scope.len();
                let told = format!(
                    "you have used the {limit} extra look(s) of your {limit} file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`."
                );
                (Rule::OneLookPerFile, told)
            }),
            Door::Mark => path.filter(|path| !scope.contains(*path)).map(|path| {
                let told =
                    format!("`{path}` is not in your scope: mark only files that were given to you");
                (Rule::OwnFilesOnly, told)
            }),
            Door::Repository | Door::AgentFiles | Door::Report | Door::Open => None,
        }
    }
}

impl Rule {
    /// What an agent did that the rule forbids.
    fn broken(self) -> &'static str {
        match self {
            Self::NoCodeForOrchestrator => "the orchestrator wanted to read code itself",
            Self::NoMarksByOrchestrator => "the orchestrator wanted to mark files as reviewed",
            Self::AgentFilesOnce => "the orchestrator listed the agent files again",
            Self::Delegation => "the orchestrator delegated against the rules",
            Self::Submission => "the orchestrator's submission did not account for the findings",
            Self::OthersTool => "it called a tool that is for other agents",
            Self::OneLookPerFile => "it wanted more than one look beyond the diff for each file",
            Self::OwnFilesOnly => "it wanted to mark files that were not given to it",
            Self::MarkBeforeReport => "it reported before it had marked all its files",
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::tools::session::agent_tools;

    /// Makes calls one after the other: `tool`, `tool path`, `tool!` for one that fails.
    fn check(mut conduct: Conduct, calls: &str, expected: Expect) {
        let mut shown = String::new();
        for call in calls.split(", ") {
            let (tool, path) = match call.split_once(' ') {
                Some((tool, path)) => (tool, Some(path)),
                None => (call, None),
            };
            let name = tool.trim_end_matches('!');
            let said = match conduct.allows(name, path) {
                Ok(()) => "goes on".to_owned(),
                Err(refusal) => refusal.told,
            };
            if tool.ends_with('!') {
                conduct.failed(name);
            }
            shown += &format!("{call}: {said}\n");
        }
        for note in conduct.notes() {
            shown += &format!("note: {note}\n");
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn every_tool_is_open_or_not_by_decision() {
        let (mut orchestrator, mut sub_agent) =
            (Conduct::orchestrator(), Conduct::sub_agent(["a", "b", "c", "d"]));
        let mut shown = String::new();
        for tool in agent_tools() {
            let word = |conduct: &mut Conduct| match conduct.allows(&tool.name, None) {
                Ok(()) => "yes",
                Err(_) => "no",
            };
            let (first, second) = (word(&mut orchestrator), word(&mut sub_agent));
            shown += &format!("{} {first} {second}\n", tool.name);
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
        .assert_eq(&shown);
    }

    #[test]
    fn the_orchestrator_reads_no_code_and_marks_nothing() {
        check(
            Conduct::orchestrator(),
            "repo_read, search_code, mark_file_reviewed a.rs, report_findings, diff_get_file",
            expect![[r#"
                repo_read: `repo_read` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up.
                search_code: `search_code` is for sub-agents: you divide the work and decide about what they find. Call `delegate_review`, and say in `focus` what they should look up.
                mark_file_reviewed a.rs: files are marked by the sub-agent that reviewed them; call `delegate_review`
                report_findings: `report_findings` is not yours to call: end with `submit_review`, which takes the ids of findings
                diff_get_file: goes on
                note: the orchestrator wanted to read code itself; refused 2 times
                note: the orchestrator wanted to mark files as reviewed; refused once
                note: it called a tool that is for other agents; refused once
            "#]],
        );
    }

    #[test]
    fn the_orchestrator_lists_agent_files_once() {
        check(
            Conduct::orchestrator(),
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
    fn a_sub_agent_has_one_look_for_each_file_and_a_failed_one_does_not_count() {
        check(
            Conduct::sub_agent(["a.rs", "b.rs"]),
            "repo_read, repo_grep!, read_file, search_code, repo_read, repo_blame, repo_ls",
            expect![[r#"
                repo_read: goes on
                repo_grep!: goes on
                read_file: goes on
                search_code: you have used the 2 extra look(s) of your 2 file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`.
                repo_read: you have used the 2 extra look(s) of your 2 file(s). Decide from what you have seen: what you cannot confirm gets a lower confidence or is left out. Then mark the files and call `report_findings`.
                repo_blame: goes on
                repo_ls: goes on
                note: it wanted more than one look beyond the diff for each file; refused 2 times
            "#]],
        );
    }

    #[test]
    fn a_sub_agent_neither_delegates_nor_submits_nor_marks_the_files_of_others() {
        check(
            Conduct::sub_agent(["a.rs"]),
            "delegate_review, submit_review, mark_file_reviewed b.rs, mark_file_reviewed a.rs, mark_file_reviewed",
            expect![[r#"
                delegate_review: `delegate_review` is not yours to call: end your work with `report_findings`
                submit_review: `submit_review` is not yours to call: end your work with `report_findings`
                mark_file_reviewed b.rs: `b.rs` is not in your scope: mark only files that were given to you
                mark_file_reviewed a.rs: goes on
                mark_file_reviewed: goes on
                note: it called a tool that is for other agents; refused 2 times
                note: it wanted to mark files that were not given to it; refused once
            "#]],
        );
    }

    #[test]
    fn what_is_not_marked_is_known() {
        let mut conduct = Conduct::sub_agent(["a.rs", "b.rs", "a.rs"]);
        conduct.marked("a.rs");
        assert_eq!(conduct.unmarked(), ["b.rs"]);
        conduct.marked("b.rs");
        assert!(conduct.unmarked().is_empty());
    }
}
