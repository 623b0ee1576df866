//! Tools by which runs delegate, submit and report. Defined here as models see them; the code that
//! starts a run implements them.

use std::borrow::Cow;
use std::sync::LazyLock;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{ReviewTools, arguments};
use crh_llm::ToolSpec;
use crh_review::finding::{Confidence, Finding, Severity};
use crh_review::{Dialect, ProposedTest, ReviewerReturn, parse_return_value};

/// A tool by which a run delegates, submits or reports. Models read its doc comments and fill in
/// its fields.
///
/// Models sometimes add fields, and crh should not lose an answer because of them. The types of an
/// answer therefore deny unknown fields only in their schema, with
/// `#[schemars(deny_unknown_fields)]`, and the parser ignores them.
pub trait SessionTool: JsonSchema {
    /// Name for the model.
    const NAME: &'static str;
}

/// Gives the change out to sub-agents, one for each scope, all at once; answers with what they found when all are done.
/// Call it once, with every file of the change in one scope. A second call is allowed only to confirm a P0 that the
/// first one brought. Only the orchestrator may call this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DelegateReview {
    /// The scopes. Put files together that belong together; few large scopes are better than many small ones.
    pub scopes: Vec<ScopeWanted>,
}

/// What one sub-agent is to look at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ScopeWanted {
    /// What these files are about, in a few words.
    pub scope: String,
    /// Paths, as `diff_list_files` shows them. A file belongs to one scope.
    pub files: Vec<String>,
    /// What to look at besides the rubric: a question, a risk, a caller elsewhere.
    #[serde(default)]
    pub focus: Option<String>,
    /// In a second call: the ids of the P0 findings that this scope is to confirm.
    #[serde(default)]
    pub confirms: Option<Vec<String>>,
}

/// Submits the review and ends it. Every id that `delegate_review` brought stands either in one group of `keep` or in
/// `drop`. Only the orchestrator may call this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SubmitReview {
    /// The findings that stay. Findings with the same root cause are one group.
    #[serde(deserialize_with = "read_groups")]
    pub keep: Vec<KeptGroup>,
    /// The findings that go: code of another scope contradicts them, or they are not about this change.
    pub drop: Vec<DropWanted>,
    /// What was reviewed and what was found, in a few sentences for the author.
    pub summary: String,
}

/// Findings with the same root cause.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct KeptGroup {
    /// The ids of the findings; first the one with the best place and evidence.
    pub findings: Vec<String>,
    /// How likely it is, from 0 to 1, that the maintainers agree and would fix it.
    #[serde(default)]
    pub probability: Option<Confidence>,
    /// Severity by what happens if the change is merged as it is.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// The defect in one line of at most 100 characters.
    #[serde(default)]
    pub title: Option<String>,
    /// Two or three sentences: the failing case, the cause, what to do.
    #[serde(default)]
    pub text: Option<String>,
}

/// Reads groups. A bare id is a group of one.
fn read_groups<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<KeptGroup>, D::Error> {
    let values = Vec::<Value>::deserialize(deserializer)?;
    let group = |value: Value| match value {
        Value::String(id) => Ok(KeptGroup { findings: vec![id], ..KeptGroup::default() }),
        value => serde_json::from_value(value).map_err(D::Error::custom),
    };
    values.into_iter().map(group).collect()
}

/// Reads one of a fixed set of words in any case, and with spaces or hyphens: models write `CONFIRMED` and
/// `Not addressed`.
fn read_word<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    let word = String::deserialize(deserializer)?;
    let word = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
    T::deserialize(word.into_deserializer())
}

/// A finding that goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct DropWanted {
    /// Its id.
    pub id: String,
    /// Why it is no finding, in a sentence.
    pub reason: String,
}

/// Reports what was found in the scope and ends the sub-agent's work: call it once, last, after every file of the scope
/// was marked as reviewed. No finding is a good answer. Only sub-agents may call this.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportFindings {
    /// What is wrong with the change. Empty is a good answer.
    pub findings: Vec<Finding>,
    /// Risks that remain though nothing is provably wrong.
    #[serde(default)]
    pub residual_risks: Vec<String>,
    /// Behaviour of the change that no test covers.
    #[serde(default)]
    pub testing_gaps: Vec<String>,
    /// What was looked at and what was found, in a sentence or two.
    pub summary: String,
}

/// Reports the judgements of a run that checks claims: one entry for each id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportChecks {
    /// One entry for each id.
    pub checks: Vec<ClaimCheck>,
}

/// The judgement on one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ClaimCheck {
    /// The id of the claim.
    pub id: String,
    /// `confirmed`, `unfulfilled`, `refuted` or `unsure`.
    #[serde(deserialize_with = "read_word")]
    pub verdict: ClaimVerdict,
    /// How likely it is, from 0 to 1, that the maintainers agree and would fix it.
    #[serde(default)]
    pub probability: Option<Confidence>,
    /// The severity that the defect deserves.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// Why, in one sentence that names the line which decides it.
    pub reason: String,
}

/// What can be said of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimVerdict {
    /// It is real, new with this change, and handled nowhere else.
    Confirmed,
    /// The change does not do what it says.
    Unfulfilled,
    /// The code shows that one of these is not so.
    Refuted,
    /// The code that can be seen does not decide it.
    Unsure,
}

/// Reports the verdicts of a run that checks requirements: one entry for each id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportRequirements {
    /// One entry for each id of the plan.
    pub requirements: Vec<RequirementCheck>,
}

/// What was found out about one requirement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RequirementCheck {
    /// Its id in the plan.
    pub id: String,
    /// `met`, `partially_addressed` or `not_addressed`.
    #[serde(deserialize_with = "read_word")]
    pub state: RequirementVerdict,
    /// The file and line that decide it; of what is missing, what you looked for, in one sentence.
    pub evidence: String,
}

/// What can be said of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequirementVerdict {
    /// The code after the change does all of it.
    Met,
    /// The change does a part of it, or all of it for some cases only.
    PartiallyAddressed,
    /// Nothing in the change does it, and the code did not do it before.
    NotAddressed,
}

/// Reports the notes of a reviewer that was asked for notes. Call it once, last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportNotes {
    /// The notes, the most important first; one to three sentences each.
    pub notes: Vec<String>,
    /// What was looked at, in a sentence.
    #[serde(default)]
    pub summary: String,
}

/// Reports the intent of the change and the reviewers that it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportScout {
    /// What the change is meant to do, and what must not break: two or three short sentences.
    pub intent: String,
    /// What about its goal is unclear, in a sentence; left out if nothing is.
    #[serde(default)]
    pub doubt: Option<String>,
    /// The reviewers that it needs besides. Empty is a good answer.
    #[serde(default)]
    pub reviewers: Vec<ReviewerWanted>,
}

/// A reviewer that a change needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReviewerWanted {
    /// Its name, as it was listed.
    pub name: String,
    /// What in the change calls for it, in half a sentence.
    pub why: String,
}

/// Reports the decisions of the editor: every id is in exactly one group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ReportEdit {
    /// The groups. Findings with the same root cause are one group.
    pub groups: Vec<EditedIssue>,
}

/// Findings with the same root cause, and the decision about them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EditedIssue {
    /// The ids of the findings; first the one with the best place and evidence.
    pub findings: Vec<String>,
    /// `publish`, `minor` or `refuted`.
    #[serde(deserialize_with = "read_word")]
    pub verdict: EditVerdict,
    /// How likely it is, from 0 to 1, that the maintainers agree and would fix it.
    pub probability: Confidence,
    /// Severity by what happens if the change is merged as it is.
    pub severity: Severity,
    /// The defect in one line of at most 100 characters.
    #[serde(default)]
    pub title: Option<String>,
    /// Two or three sentences: the failing case, the cause, what to do.
    #[serde(default)]
    pub text: Option<String>,
    /// Why it is minor or refuted, in one sentence that names code.
    #[serde(default)]
    pub reason: Option<String>,
    /// A test that proves it. Part of the schema of `ReportTestedEdit` only.
    #[serde(default)]
    #[schemars(skip)]
    pub test: Option<ProposedTest>,
}

/// [`ReportEdit`] for an editor that may propose tests.
#[derive(Debug)]
pub(crate) struct ReportTestedEdit;

impl JsonSchema for ReportTestedEdit {
    fn schema_name() -> Cow<'static, str> {
        "ReportTestedEdit".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ReportEdit::json_schema(generator);
        let test = ProposedTest::json_schema(generator).to_value();
        if let Some(fields) = schema.pointer_mut("/properties/groups/items/properties") {
            fields["test"] = test;
        }
        schema
    }
}

/// What becomes of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum EditVerdict {
    /// It is a defect of this change.
    Publish,
    /// True, but too small for a comment.
    Minor,
    /// The code shows that it is wrong.
    Refuted,
}

impl SessionTool for DelegateReview {
    const NAME: &'static str = "delegate_review";
}

impl SessionTool for SubmitReview {
    const NAME: &'static str = "submit_review";
}

impl SessionTool for ReportFindings {
    const NAME: &'static str = "report_findings";
}

impl SessionTool for ReportChecks {
    const NAME: &'static str = "report_checks";
}

impl SessionTool for ReportRequirements {
    const NAME: &'static str = "report_requirements";
}

impl SessionTool for ReportNotes {
    const NAME: &'static str = "report_notes";
}

impl SessionTool for ReportScout {
    const NAME: &'static str = "report_scout";
}

impl SessionTool for ReportEdit {
    const NAME: &'static str = "report_edit";
}

impl SessionTool for ReportTestedEdit {
    const NAME: &'static str = ReportEdit::NAME;
}

/// Reading tools in the requests of a panel. Every request contains the list, so it has only the
/// tools that models called in recorded reviews. crh also answers calls of the other reading tools.
const IN_PANEL: [&str; 9] = [
    "read",
    "diff_get_file",
    "repo_read",
    "repo_ls",
    "repo_grep",
    "find_definition",
    "find_callers",
    "find_implementations",
    "get_function",
];

/// Tools of all agents of a panel.
pub fn panel_tool_specs() -> Vec<ToolSpec> {
    static ALL: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
        let is_shown = |tool: &ToolSpec| IN_PANEL.contains(&tool.name.as_str());
        let read_only = ReviewTools::specs().into_iter().filter(is_shown);
        // Report tools of runs that every review has. A run with another report tool adds it.
        let session = [lens_spec(), tool_spec::<ReportChecks>(), tool_spec::<ReportEdit>()];
        read_only.chain(session.map(without_details)).map(shorten).collect()
    });
    ALL.clone()
}

/// The same tools, with the report tool of an editor that may propose tests.
pub(crate) fn with_tested_edit(mut tools: Vec<ToolSpec>) -> Vec<ToolSpec> {
    for tool in tools.iter_mut().filter(|tool| tool.name == ReportTestedEdit::NAME) {
        *tool = shorten(tool_spec::<ReportTestedEdit>());
    }
    tools
}

/// The same tool without details of its arguments, which the prompts explain.
fn without_details(mut tool: ToolSpec) -> ToolSpec {
    arguments::remove_details(&mut tool.schema);
    tool
}

fn shorten(mut tool: ToolSpec) -> ToolSpec {
    arguments::shorten_schema(&mut tool.schema);
    tool
}

/// Report tool of specialised reviewers: the report tool of sub-agents with another description.
pub(crate) fn lens_spec() -> ToolSpec {
    let description = "Reports the findings of a reviewer. Call it once, last.";
    ToolSpec { description: description.to_owned(), ..tool_spec::<ReportFindings>() }
}

/// Parses a report of findings. Sets the reviewer, so that a model cannot report in another's name.
/// The error is a sentence for the model.
pub(crate) fn read_report(mut value: Value, reviewer: &str) -> Result<ReviewerReturn, String> {
    drop_unknown_fields(&mut value, &tool_spec::<ReportFindings>());
    if let Some(fields) = value.as_object_mut() {
        fields.insert("reviewer".to_owned(), Value::from(reviewer));
    }
    let parsed = parse_return_value(value, Dialect::Native, reviewer);
    parsed.map_err(|error| format!("{}.", error.to_string().trim_end_matches('.')))
}

/// Drops unknown fields of a report of findings. Models sometimes add fields, and the parser of
/// findings is strict, unlike those of other answers.
pub(crate) fn drop_unknown_fields(value: &mut Value, spec: &ToolSpec) {
    if value["findings"].is_array() {
        drop_fields_outside(value, &spec.schema);
    }
}

/// Drops fields that an inlined JSON Schema does not have, at every level.
fn drop_fields_outside(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            let Some(known) = schema["properties"].as_object() else { return };
            fields.retain(|name, _| known.contains_key(name));
            for (name, field) in fields {
                drop_fields_outside(field, &known[name]);
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| drop_fields_outside(item, &schema["items"]));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Tool that marks a file as reviewed.
pub(crate) const MARK_TOOL: &str = "mark_file_reviewed";

/// Tools of all agents of a delegated review. The list is the same for all, so that the vendor's
/// prompt cache serves it. Calls that an agent may not make are refused.
pub fn agent_tool_specs() -> Vec<ToolSpec> {
    /// Cached, since deriving schemas is slow and every agent needs them.
    static ALL: LazyLock<Vec<ToolSpec>> = LazyLock::new(|| {
        let session = [
            tool_spec::<DelegateReview>(),
            tool_spec::<SubmitReview>(),
            tool_spec::<ReportFindings>(),
            tool_spec::<ReportChecks>(),
        ];
        ReviewTools::specs().into_iter().chain(session).collect()
    });
    ALL.clone()
}

/// Specification of a session tool.
pub fn tool_spec<T: SessionTool>() -> ToolSpec {
    let (description, schema) = arguments::describe::<T>();
    ToolSpec { name: T::NAME.to_owned(), description, schema }
}

/// Parses the arguments of a session tool. The error is a sentence for the model.
pub fn parse_arguments<T: SessionTool + DeserializeOwned>(arguments: Value) -> Result<T, String> {
    if !arguments.is_object() {
        return Err("the arguments are not a JSON object".to_owned());
    }
    arguments::read(arguments).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use expect_test::{expect, expect_file};
    use serde_json::json;

    use super::*;

    #[test]
    fn agents_see_catalogue_then_session_tools() {
        let names: Vec<String> = agent_tool_specs().into_iter().map(|tool| tool.name).collect();
        let catalogue: Vec<&str> = super::super::catalogue().iter().map(|tool| tool.name).collect();
        let (shared, session) = names.split_at(catalogue.len());
        assert_eq!(shared, catalogue);
        let own = ["delegate_review", "submit_review", "report_findings", "report_checks"];
        assert_eq!(session, own);
    }

    #[test]
    fn session_tools_match_the_golden_file() {
        let tools = agent_tool_specs();
        let session = &tools[ReviewTools::specs().len()..];
        expect_file!["../../tests/data/tools/session.json"]
            .assert_eq(&crh_review::stable_json(session).unwrap());
    }

    #[test]
    fn requirements_tool_matches_the_golden_file() {
        expect_file!["../../tests/data/tools/report_requirements.json"]
            .assert_eq(&crh_review::stable_json(&tool_spec::<ReportRequirements>()).unwrap());
    }

    #[test]
    fn session_arguments_are_described_and_closed() {
        let session = agent_tool_specs().into_iter().skip(ReviewTools::specs().len());
        for tool in session.chain([tool_spec::<ReportRequirements>()]) {
            assert!(tool.description.len() > 20, "{}", tool.name);
            assert_eq!(tool.schema["additionalProperties"], false, "{}", tool.name);
            assert!(!tool.schema.to_string().contains("$ref"), "{}", tool.name);
            for (argument, schema) in tool.schema["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{} {argument}", tool.name);
            }
        }
    }

    #[test]
    fn list_of_a_panel_is_short() {
        let specs = panel_tool_specs();
        let chars = |tool: &ToolSpec| {
            tool.name.len() + tool.description.len() + tool.schema.to_string().len()
        };
        let total: usize = specs.iter().map(chars).sum();
        let rows: Vec<String> =
            specs.iter().map(|tool| format!("{} {}", tool.name, chars(tool))).collect();
        assert!(total <= 6_000, "{total} characters: {rows:?}");
    }

    #[test]
    fn invalid_call_is_explained_in_a_sentence() {
        let error_for = |arguments| parse_arguments::<DelegateReview>(arguments).unwrap_err();
        expect!["the argument `scopes` is missing"].assert_eq(&error_for(json!({})));
        expect!["the arguments are not a JSON object"].assert_eq(&error_for(json!([])));
        expect!["the argument `files` is missing"]
            .assert_eq(&error_for(json!({ "scopes": [{ "scope": "a" }] })));
        expect!["the argument `files` is missing"]
            .assert_eq(&error_for(json!({ "scopes": [{ "scope": "a", "file": "b" }] })));
    }

    #[test]
    fn words_of_an_answer_may_have_any_case() {
        for verdict in ["confirmed", "Confirmed", " CONFIRMED "] {
            let check = json!({ "id": "a1", "verdict": verdict, "reason": "Line 3." });
            let answer = parse_arguments::<ReportChecks>(json!({ "checks": [check] })).unwrap();
            assert_eq!(answer.checks[0].verdict, ClaimVerdict::Confirmed, "{verdict}");
        }
        for state in ["not_addressed", "NOT_ADDRESSED", "Not addressed", "not-addressed"] {
            let check = json!({ "id": "R1", "state": state, "evidence": "Line 3." });
            let answer = json!({ "requirements": [check] });
            let answer = parse_arguments::<ReportRequirements>(answer).unwrap();
            assert_eq!(answer.requirements[0].state, RequirementVerdict::NotAddressed, "{state}");
        }
        for (verdict, probability) in [("publish", json!(0.8)), ("Publish", json!("80%"))] {
            let group = json!({
                "findings": ["F1"], "verdict": verdict, "probability": probability, "severity": "p1",
            });
            let answer = parse_arguments::<ReportEdit>(json!({ "groups": [group] })).unwrap();
            let group = &answer.groups[0];
            let parsed = (group.verdict, group.probability);
            assert_eq!(parsed, (EditVerdict::Publish, Confidence::thousandths(800)));
        }
    }

    /// Adds an unknown field to each object of an answer.
    fn add_unknown_fields(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.values_mut().for_each(add_unknown_fields);
                fields.insert("extra".to_owned(), json!({ "of": "the model" }));
            }
            Value::Array(items) => items.iter_mut().for_each(add_unknown_fields),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn check_unknown_fields<T>(answer: Value)
    where
        T: SessionTool + DeserializeOwned + PartialEq + std::fmt::Debug,
    {
        let mut extended = answer.clone();
        add_unknown_fields(&mut extended);
        let expected = parse_arguments::<T>(answer).unwrap();
        assert_eq!(parse_arguments::<T>(extended), Ok(expected), "{}", T::NAME);
    }

    #[test]
    fn unknown_fields_of_an_answer_are_ignored() {
        let scope = json!({ "scope": "cart", "files": ["cart.py"] });
        check_unknown_fields::<DelegateReview>(json!({ "scopes": [scope] }));
        check_unknown_fields::<SubmitReview>(json!({
            "keep": [{ "findings": ["1.1"], "severity": "P1" }],
            "drop": [{ "id": "1.2", "reason": "Not of this change." }],
            "summary": "One defect.",
        }));
        let check = json!({ "id": "a1", "verdict": "refuted", "reason": "Line 3." });
        check_unknown_fields::<ReportChecks>(json!({ "checks": [check] }));
        let requirement = json!({ "id": "R1", "state": "met", "evidence": "Line 3." });
        check_unknown_fields::<ReportRequirements>(json!({ "requirements": [requirement] }));
        check_unknown_fields::<ReportNotes>(json!({ "notes": ["Old code does the same."] }));
        let reviewer = json!({ "name": "security", "why": "It reads a path." });
        check_unknown_fields::<ReportScout>(json!({ "intent": "Pays.", "reviewers": [reviewer] }));
        let group = json!({
            "findings": ["a1"], "verdict": "publish", "probability": 0.7, "severity": "P1",
            "test": { "path": "tests/test_cart.py", "content": "assert total() == 3\n" },
        });
        check_unknown_fields::<ReportEdit>(json!({ "groups": [group] }));
    }
}
