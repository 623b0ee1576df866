//! A small language for evaluations in tests: one item per line, words separated by spaces, quotes
//! for texts.
//!
//! ```text
//! case ID [python] [40 lines] [twin of ID]     a case begins
//! expect PLACE[,PLACE…]|anywhere [CATEGORY] [SEVERITY] ["description"] [on-twin=PLACE[,…]] [keywords=a,b] [omission]
//! bad PLACE                                    a finding that is known to be wrong
//! run [failed|not-run|incomplete] [$0.5] [200ms]   a repeat of the case begins; without one there is a run that says nothing
//! report PLACE[,PLACE…] [CATEGORY] [SEVERITY] [0.75] ["title"] [key=K] [by=REVIEWER[,REVIEWER…]]
//! judged E-R …                                 the matches of the judge in this run
//! finding PLACE … at=STEP[,STEP…]              a report before publication, at these steps of the funnel
//! judged-findings E-F …                        the matches of the judge among the findings
//! ```
//!
//! A place is `file:3`, `file:3-5`, or `file:-3` on the old side. A report has no category by
//! default; an expected issue is a `bug` with `P1`. Indices of expected issues and reports start at
//! 0.

use expect_test::Expect;

use super::case::{Expected, KnownBad, Labels, Span};
use super::evaluation::{
    About, CaseRun, CaseRuns, Effort, Ending, Evaluation, JudgedBy, Reported, SCHEMA_VERSION,
};
use super::funnel::FunnelReport;
use super::matching::Rule;
use crate::finding::{Category, Confidence, Severity, Side};
use crate::report::Decimal;

/// The lines of a snapshot that start with `> `: the input of the test.
pub(super) fn snapshot_input(expected: &Expect) -> String {
    let lines = expected.data.lines().filter_map(|line| line.trim().strip_prefix("> "));
    lines.collect::<Vec<_>>().join("\n")
}

/// The input as lines of a snapshot.
pub(super) fn input_lines(input: &str) -> String {
    input.lines().map(|line| format!("> {line}\n")).collect()
}

/// Parses an evaluation.
pub(super) fn evaluation(rule: Rule, table: &str) -> Evaluation {
    let mut cases: Vec<CaseRuns> = Vec::new();
    for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let words = words(line);
        match words[0].as_str() {
            "case" => cases.push(case(&words[1..])),
            "expect" => cases.last_mut().unwrap().labels.expected.push(expected(&words[1..])),
            "bad" => cases.last_mut().unwrap().labels.known_bad.push(KnownBad {
                span: span(&words[1]),
                description: words.get(2).cloned().unwrap_or_default(),
            }),
            "run" => cases.last_mut().unwrap().runs.push(run(&words[1..])),
            "report" => last_run(&mut cases).reported.push(reported(&words[1..])),
            "judged" => {
                last_run(&mut cases).judged =
                    Some(words[1..].iter().map(|word| pair(word)).collect());
            }
            "finding" => {
                let (step_words, report_words): (Vec<_>, Vec<_>) =
                    words[1..].iter().cloned().partition(|word| word.starts_with("at="));
                let steps = step_words[0]["at=".len()..].split(',');
                let steps = steps.map(|step| serde_json::from_value(step.into()).unwrap());
                let reported = reported(&report_words);
                let report = FunnelReport { reported, steps: steps.collect() };
                last_run(&mut cases).funnel.get_or_insert_default().reports.push(report);
            }
            "judged-findings" => {
                last_run(&mut cases).funnel.get_or_insert_default().judged =
                    Some(words[1..].iter().map(|word| pair(word)).collect());
            }
            other => panic!("{other} begins no line"),
        }
    }
    for case in &mut cases {
        if case.runs.is_empty() {
            case.runs.push(run(&[]));
        }
    }
    cases.sort_by(|left, right| left.labels.id.cmp(&right.labels.id));
    let repeats = cases.iter().map(|case| case.runs.len()).max().unwrap_or(1);
    Evaluation {
        schema_version: SCHEMA_VERSION,
        about: About { tool: "tool".to_owned(), ..About::default() },
        rule,
        repeats: u32::try_from(repeats).unwrap(),
        judged_by: None,
        cases,
    }
}

/// A judge without a name.
pub(super) fn judge() -> JudgedBy {
    let empty = String::new;
    let cost_usd = Decimal::default();
    JudgedBy { model: empty(), brief: empty(), prompt: empty(), cost_usd, unanswered: 0 }
}

fn last_run(cases: &mut [CaseRuns]) -> &mut CaseRun {
    let runs = &mut cases.last_mut().unwrap().runs;
    if runs.is_empty() {
        runs.push(run(&[]));
    }
    runs.last_mut().unwrap()
}

/// Splits a line into words. A quoted text is one word and keeps its first quote.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        match index % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(format!("\"{part}")),
        }
    }
    words
}

fn case(words: &[String]) -> CaseRuns {
    let value_after = |word: &str| {
        let index = words.iter().position(|candidate| candidate == word)?;
        words.get(index + 1).cloned()
    };
    let lines = words.iter().position(|word| word == "lines").map(|index| words[index - 1].clone());
    let labels = Labels {
        id: words[0].clone(),
        language: words
            .get(1)
            .filter(|word| *word != "twin")
            .map_or_else(|| "any".to_owned(), Clone::clone),
        lines: lines.map_or(10, |lines| lines.parse().unwrap()),
        twin_of: value_after("of"),
        expected: Vec::new(),
        known_bad: Vec::new(),
    };
    CaseRuns { title: labels.id.clone(), labels, runs: Vec::new() }
}

fn run(words: &[String]) -> CaseRun {
    let mut effort = Effort::default();
    let mut ending = Ending::Reviewed;
    for word in words {
        let reason = || "for a reason".to_owned();
        match word.as_str() {
            "failed" => ending = Ending::Failed(reason()),
            "not-run" => ending = Ending::NotRun(reason()),
            "incomplete" => ending = Ending::Incomplete(reason()),
            other => match (other.strip_prefix('$'), other.strip_suffix("ms")) {
                (Some(dollars), _) => {
                    effort.cost_usd = Decimal((dollars.parse::<f64>().unwrap() * 1e6) as u64);
                }
                (None, Some(latency)) => effort.latency_ms = latency.parse().unwrap(),
                (None, None) => panic!("{other} says nothing about a run"),
            },
        }
    }
    CaseRun { effort, ..CaseRun::new(ending, Vec::new()) }
}

fn expected(words: &[String]) -> Expected {
    let mut expected = Expected {
        spans: if words[0] == "anywhere" { Vec::new() } else { spans(&words[0]) },
        category: Some(Category::Bug),
        severity: Severity::P1,
        description: String::new(),
        keywords: Vec::new(),
        omission: false,
        on_twin: Vec::new(),
    };
    for word in &words[1..] {
        if let Some(text) = word.strip_prefix('"') {
            expected.description = text.to_owned();
        } else if let Some(places) = word.strip_prefix("on-twin=") {
            expected.on_twin = spans(places);
        } else if let Some(keywords) = word.strip_prefix("keywords=") {
            expected.keywords = keywords.split(',').map(|word| word.replace('+', " ")).collect();
        } else if word == "omission" {
            expected.omission = true;
        } else if let Ok(severity) = serde_json::from_value(word.as_str().into()) {
            expected.severity = severity;
        } else {
            expected.category = Some(serde_json::from_value(word.as_str().into()).unwrap());
        }
    }
    expected
}

fn reported(words: &[String]) -> Reported {
    let mut places = spans(&words[0]).into_iter();
    let mut reported = Reported::new(places.next().unwrap(), "");
    reported.also = places.collect();
    for word in &words[1..] {
        if let Some(text) = word.strip_prefix('"') {
            reported.title = text.to_owned();
        } else if let Some(key) = word.strip_prefix("key=") {
            reported.key = key.to_owned();
        } else if let Some(reviewers) = word.strip_prefix("by=") {
            reported.reviewers = reviewers.split(',').map(str::to_owned).collect();
        } else if let Ok(confidence) = word.parse() {
            reported.confidence = Some(Confidence::new(confidence).unwrap());
        } else if let Ok(severity) = serde_json::from_value(word.as_str().into()) {
            reported.severity = Some(severity);
        } else {
            reported.category = Some(serde_json::from_value(word.as_str().into()).unwrap());
        }
    }
    reported
}

fn pair(word: &str) -> (usize, usize) {
    let (expected, reported) = word.split_once('-').unwrap();
    (expected.parse().unwrap(), reported.parse().unwrap())
}

fn spans(places: &str) -> Vec<Span> {
    places.split(',').map(span).collect()
}

fn span(place: impl AsRef<str>) -> Span {
    let (file, lines) = place.as_ref().split_once(':').unwrap();
    let (side, lines) = match lines.strip_prefix('-') {
        Some(lines) => (Side::Old, lines),
        None => (Side::New, lines),
    };
    let (start, end) = lines.split_once('-').unwrap_or((lines, lines));
    Span::new(file, start.parse().unwrap(), end.parse().unwrap(), side).unwrap()
}
