//! Imports findings of another tool from a file, so that crh can score them like its own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::REPEATS_MAX;
use super::case_error::{CaseError, nearest, shown};
use super::checked::check_file;
use super::host::EvalHost;
use super::ready_case::ReadyCase;
use super::suite::labels::{optional_severity, read as read_value};
use super::suite_reviews::OpenedSuite;
use crh_pipeline::failure::Failure;
use crh_review::eval::{CaseRun, CaseRuns, Ending, Evaluation, REPORTS_MAX, Reported, Span};
use crh_review::finding::{Category, Confidence, Severity, Side, TITLE_MAX};
use crh_review::{StrictJson, json_problem};

/// Findings of another tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct ToolFindings {
    /// Number of runs per case.
    repeats: u32,
    /// Findings by case and repeat, in file order. Cases without findings are absent.
    findings: BTreeMap<String, BTreeMap<u32, Vec<Reported>>>,
}

/// A finding as other tools write it. Unknown keys are ignored.
#[derive(Debug, Deserialize)]
struct RawReport {
    case: String,
    file: String,
    line: Option<u32>,
    line_start: Option<u32>,
    line_end: Option<u32>,
    side: Option<RawSide>,
    title: Option<String>,
    text: Option<String>,
    description: Option<String>,
    body: Option<String>,
    evidence: Option<String>,
    category: Option<Category>,
    #[serde(default, deserialize_with = "optional_severity")]
    severity: Option<Severity>,
    confidence: Option<Confidence>,
    repeat: Option<u32>,
}

/// A diff side, by the names that tools and forges use.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawSide {
    #[serde(alias = "NEW", alias = "RIGHT", alias = "right", alias = "after")]
    New,
    #[serde(alias = "OLD", alias = "LEFT", alias = "left", alias = "before")]
    Old,
}

/// Whether the other tool also reviewed the twins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twins {
    /// The user says that it did.
    Asked,
    /// The user does not say it. Only a finding on a twin shows that it did. Without one, twins
    /// count as not reviewed.
    IfNamed,
}

/// Fills an evaluation with the findings of another tool, from the name and the content of a file.
/// The content is a JSON array, or one JSON object per line. A case without findings counts as
/// reviewed.
pub fn fill(
    evaluation: &mut Evaluation,
    (name, bytes): (&str, &[u8]),
    twins: Twins,
    opened: &OpenedSuite,
    host: &dyn EvalHost,
) -> Result<(), Failure> {
    let ids = evaluation.cases.iter().map(|case| case.labels.id.as_str()).collect();
    let external = rows(bytes).and_then(|rows| read_findings(rows, &ids));
    let external = external.map_err(|(place, wrong)| wrong.at(format!("{name}{place}")))?;
    external.fill(evaluation, twins);
    warn_of_places(evaluation, opened, host);
    Ok(())
}

/// Warns if reports are about files that the change does not touch: their paths may have another
/// form.
fn warn_of_places(evaluation: &Evaluation, opened: &OpenedSuite, host: &dyn EvalHost) {
    let is_touched = |file: &str, ready: &ReadyCase| {
        let files = ready.diff.files().iter();
        files
            .flat_map(|touched| [Some(&touched.path), touched.old_path.as_ref()])
            .flatten()
            .any(|path| path.shown() == file)
    };
    let cases = evaluation.cases.iter().zip(&opened.ready);
    let strays: Vec<&str> = cases
        .flat_map(|(case, ready)| {
            let reported = case.runs.iter().flat_map(|run| &run.reported);
            reported.map(|it| it.span.file()).filter(|file| !is_touched(file, ready))
        })
        .collect();
    if let Some(first) = strays.first() {
        host.warn(&format!(
            "{} reports are about files that their change does not touch, such as `{first}`; paths must be relative to the root of the case",
            strays.len()
        ));
    }
}

impl ToolFindings {
    fn fill(mut self, evaluation: &mut Evaluation, twins: Twins) {
        evaluation.repeats = self.repeats;
        let is_named = |case: &CaseRuns| {
            case.labels.twin_of.is_some() && self.findings.contains_key(&case.labels.id)
        };
        let are_asked = twins == Twins::Asked || evaluation.cases.iter().any(is_named);
        for CaseRuns { labels, runs, .. } in &mut evaluation.cases {
            let mut findings = self.findings.remove(&labels.id).unwrap_or_default();
            let ending = match labels.twin_of.is_none() || are_asked {
                true => Ending::Reviewed,
                false => Ending::NotRun(
                    "the tool did not review reversed changes (`--with-twins`)".to_owned(),
                ),
            };
            *runs = (1..=self.repeats)
                .map(|repeat| {
                    let reported = findings.remove(&repeat).unwrap_or_default();
                    CaseRun::new(ending.clone(), reported)
                })
                .collect();
        }
    }
}

/// A row with its location, for error messages.
type LocatedRow = (String, Value);

/// An error with its location.
type LocatedError = (String, CaseError);

fn rows(bytes: &[u8]) -> Result<Vec<LocatedRow>, LocatedError> {
    let not_json = |error: serde_json::Error| {
        CaseError::new(format!("invalid JSON: {}", json_problem(&error)))
            .hint("give a JSON array, or one object per line")
    };
    if bytes.trim_ascii_start().starts_with(b"[") {
        let StrictJson(list) =
            serde_json::from_slice(bytes).map_err(|error| (String::new(), not_json(error)))?;
        let Value::Array(list) = list else { return Ok(Vec::new()) };
        return Ok((0..).zip(list).map(|(at, row): (usize, _)| (format!("[{at}]"), row)).collect());
    }
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    let lines = lines.filter(|(_, line): &(usize, &[u8])| !line.trim_ascii().is_empty());
    lines
        .map(|(number, line)| {
            let place = format!(", line {number}");
            match serde_json::from_slice(line) {
                Ok(StrictJson(row)) => Ok((place, row)),
                Err(error) => Err((place, not_json(error))),
            }
        })
        .collect()
}

fn read_findings(
    rows: Vec<LocatedRow>,
    ids: &BTreeSet<&str>,
) -> Result<ToolFindings, LocatedError> {
    let mut external = ToolFindings { repeats: 1, findings: BTreeMap::new() };
    for (place, row) in rows {
        let read = || -> Result<(), CaseError> {
            if !row.is_object() {
                return Err(CaseError::new("not a JSON object").hint("`{case, file, line, text}`"));
            }
            let raw: RawReport = read_value(row)?;
            let case = known(&raw.case, ids)?;
            let repeat = raw.repeat.unwrap_or(1);
            if !(1..=REPEATS_MAX).contains(&repeat) {
                return Err(CaseError::new(format!("`repeat` is {repeat}"))
                    .hint(format!("repeats are counted from 1 to {REPEATS_MAX}")));
            }
            external.repeats = external.repeats.max(repeat);
            let reports = external.findings.entry(case).or_default().entry(repeat).or_default();
            if reports.len() >= REPORTS_MAX {
                let message = format!("more than {REPORTS_MAX} reports about one case");
                return Err(
                    CaseError::new(message).hint("give only the reports that a person would see")
                );
            }
            reports.push(reported(raw)?);
            Ok(())
        };
        read().map_err(|wrong| (place, wrong))?;
    }
    Ok(external)
}

fn known(case: &str, ids: &BTreeSet<&str>) -> Result<String, CaseError> {
    if ids.contains(case) {
        return Ok(case.to_owned());
    }
    let wrong = CaseError::new(format!("the suite has no case `{}`", shown(case)));
    Err(match nearest(case, ids.iter().copied()) {
        Some(near) => wrong.hint(format!("did you mean `{near}`?")),
        None => wrong,
    })
}

fn reported(raw: RawReport) -> Result<Reported, CaseError> {
    let file = raw.file.strip_prefix("./").unwrap_or(&raw.file);
    check_file(file)?;
    let side = match raw.side {
        Some(RawSide::Old) => Side::Old,
        Some(RawSide::New) | None => Side::New,
    };
    let Some(first) = raw.line_start.or(raw.line) else {
        return Err(CaseError::new("`line` and `line_start` are missing")
            .hint("give the line of the file, counted from 1"));
    };
    let last = raw.line_end.unwrap_or(first);
    let span = Span::new(file, first, last, side).ok_or_else(|| {
        CaseError::new(format!("invalid lines {first} to {last} of `{}`", shown(file)))
            .hint("lines are counted from 1, and `line_end` must not be before `line_start`")
    })?;
    let texts = [raw.text, raw.description, raw.body].into_iter().flatten();
    let mut texts = texts.map(|text| text.trim().to_owned());
    let text = texts.find(|text| !text.is_empty()).unwrap_or_default();
    let title = raw.title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
    let Some(title) = title.or_else(|| first_line(&text)) else {
        return Err(
            CaseError::new("`text` and `title` are missing").hint("give the text of the finding")
        );
    };
    // Do not repeat the title.
    let text = if text == title { String::new() } else { text };
    Ok(Reported {
        span,
        also: Vec::new(),
        title,
        text,
        evidence: raw.evidence.unwrap_or_default(),
        category: raw.category,
        severity: raw.severity,
        confidence: raw.confidence,
        key: String::new(),
        reviewers: Vec::new(),
    })
}

fn first_line(text: &str) -> Option<String> {
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| crh_review::truncate(line, TITLE_MAX))
}

#[cfg(test)]
mod tests;
