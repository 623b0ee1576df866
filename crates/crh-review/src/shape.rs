//! Checks the shape of a finding beyond what its type enforces. Each message tells the model what
//! to change. Also repairs mistakes that have only one meaning, such as a line number in quotes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::diff::Diff;
use crate::finding::{Finding, Member, Origin, Proof, TITLE_MAX};
use crate::words::collapse_whitespace;

/// Limit on quotes per finding. crh searches whole files for each quote.
const MAX_QUOTES: usize = 20;
/// Limit on cited lines per finding: far more than a real finding cites.
pub(crate) const MAX_CITED_LINES: u32 = 2_000;
/// Limit on the bytes of a quote: far more than a real quote has.
const MAX_SNIPPET_BYTES: usize = 10_000;
/// Fields of a finding or quote that hold a line number.
const LINE_FIELDS: [&str; 4] = ["line_start", "line_end", "diff_line", "line"];
/// Fields of a finding that hold one of a few words, with the sign between the parts of a word.
const WORD_FIELDS: [(&str, &str); 4] =
    [("autofix_class", "_"), ("category", "_"), ("owner", "-"), ("side", "_")];
/// Fields of a finding that are true or false, with the value that counts if the field is missing.
/// A fix that may need a test is not applied without one.
const FLAGS: [(&str, bool); 2] = [("pre_existing", false), ("requires_verification", true)];
/// Floats from this value on stay floats: they are no line numbers, and may not be exact.
const MAX_WHOLE_FLOAT: f64 = 1e15;

/// Replaces whole floats such as `8.0` by integers at every depth. A field that holds a float
/// accepts integers too.
pub fn repair_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole_float = number
                .as_f64()
                .filter(|float| number.is_f64() && float.fract() == 0.0)
                .filter(|float| float.abs() < MAX_WHOLE_FLOAT);
            if let Some(float) = whole_float {
                // The cast is exact: the value is whole and small.
                *value = Value::from(float as i64);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(repair_whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(repair_whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Repairs numbers in a finding before it is parsed: whole floats, and line numbers in strings such
/// as `L12`.
pub(crate) fn repair_numbers(finding: &mut Value) {
    let Some(fields) = finding.as_object_mut() else { return };
    for (name, field) in fields.iter_mut() {
        match field {
            Value::Array(quotes) if name == "evidence" => {
                quotes.iter_mut().for_each(repair_numbers);
            }
            Value::Object(_) if name == "evidence" => repair_numbers(field),
            Value::String(text) if LINE_FIELDS.contains(&name.as_str()) => {
                if let Ok(line) = text.trim().trim_start_matches(['L', 'l']).parse::<f64>() {
                    *field = Value::from(line);
                }
            }
            _ => {}
        }
        repair_whole_numbers(field);
    }
}

/// Repairs the words and flags of a finding before it is parsed: their case and signs, words after a
/// severity, and flags that are missing or in quotes.
pub(crate) fn repair_words(finding: &mut Value) {
    let Some(fields) = finding.as_object_mut() else { return };
    for (name, sign) in WORD_FIELDS {
        if let Some(Value::String(word)) = fields.get_mut(name) {
            *word = word.trim().to_lowercase().replace([' ', '_', '-'], sign);
        }
    }
    if let Some(Value::String(word)) = fields.get_mut("severity") {
        let first = word.split(|char: char| !char.is_ascii_alphanumeric()).next();
        let severity = first.unwrap_or_default().to_ascii_uppercase();
        if ["P0", "P1", "P2", "P3"].contains(&severity.as_str()) {
            *word = severity;
        }
    }
    for (name, if_missing) in FLAGS {
        let flag = fields.entry(name).or_insert(Value::Null);
        match flag.as_str().map(|text| text.trim().to_ascii_lowercase()).as_deref() {
            Some("true") => *flag = Value::Bool(true),
            Some("false") => *flag = Value::Bool(false),
            Some(_) => {}
            None if flag.is_null() => *flag = Value::Bool(if_missing),
            None => {}
        }
    }
}

/// Makes the evidence of a finding a list of quotes, if it is one quote, or the text of quotes.
pub(crate) fn repair_evidence(finding: &mut Value) {
    let Some(evidence) = finding.get_mut("evidence") else { return };
    if evidence.is_string() || evidence.is_object() {
        *evidence = Value::Array(vec![evidence.take()]);
    }
    for quote in evidence.as_array_mut().into_iter().flatten() {
        if quote.is_string() {
            *quote = json!({ "snippet": quote.take() });
        }
    }
}

/// Removes `./` from the start of the paths that a finding cites.
pub(crate) fn repair_paths(finding: &mut Finding) {
    for path in cited_paths(finding) {
        while let Some(rest) = path.strip_prefix("./") {
            *path = rest.to_owned();
        }
    }
}

/// Removes the prefixes `a/` and `b/` of a diff from the paths that findings cite. It does so only
/// if the diff has the path without the prefix, and there is no file with the prefix.
pub fn drop_diff_prefixes(members: &mut [Member], diff: &Diff, is_file: impl Fn(&str) -> bool) {
    let mut changed: BTreeSet<String> = BTreeSet::new();
    for file in diff.files() {
        let paths = [Some(&file.path), file.old_path.as_ref()];
        changed.extend(paths.into_iter().flatten().map(|path| path.shown().into_owned()));
    }
    for path in members.iter_mut().flat_map(|member| cited_paths(&mut member.finding)) {
        let rest = path.strip_prefix("a/").or_else(|| path.strip_prefix("b/"));
        if let Some(rest) = rest.filter(|rest| changed.contains(*rest))
            && !changed.contains(path.as_str())
            && !is_file(path.as_str())
        {
            *path = rest.to_owned();
        }
    }
}

fn cited_paths(finding: &mut Finding) -> impl Iterator<Item = &mut String> {
    let quoted_paths = finding.evidence.iter_mut().filter_map(|quote| quote.file.as_mut());
    quoted_paths.chain([&mut finding.file])
}

/// Puts a title on one line and cuts it at a word if it is too long.
pub(crate) fn repair_title(title: &mut String) {
    *title = shorten_title(&collapse_whitespace(title));
}

/// A title of at most [`TITLE_MAX`] characters, cut at a word.
pub(crate) fn shorten_title(title: &str) -> String {
    if title.chars().count() <= TITLE_MAX {
        return title.to_owned();
    }
    let cut: String = title.chars().take(TITLE_MAX - 1).collect();
    // A title without a space in its second half is cut inside a word.
    let is_word_end = title.chars().nth(TITLE_MAX - 1).is_some_and(char::is_whitespace);
    let end = if is_word_end { None } else { cut.rfind(' ').filter(|end| *end > cut.len() / 2) };
    format!("{}…", cut[..end.unwrap_or(cut.len())].trim_end())
}

/// All problems with the shape of a finding. Empty if the shape is valid.
pub(crate) fn shape_problems(member: &Member) -> Vec<String> {
    let finding = &member.finding;
    let mut problems = Vec::new();
    check_title(finding, &mut problems);
    check_position(finding, &mut problems);
    if let Some(problem) = path_problem(&finding.file) {
        problems.push(format!("`file`: {problem}"));
    }
    for (index, evidence) in finding.evidence.iter().enumerate() {
        if let Some(problem) = evidence.file.as_deref().and_then(path_problem) {
            problems.push(format!("`evidence[{index}].file`: {problem}"));
        }
    }
    if finding.evidence.len() > MAX_QUOTES {
        let count = finding.evidence.len();
        problems.push(format!("`evidence` has {count} quotes: give the {MAX_QUOTES} that matter"));
    }
    if finding.evidence.iter().any(|evidence| evidence.snippet.len() > MAX_SNIPPET_BYTES) {
        problems.push(format!("a `snippet` has more than {MAX_SNIPPET_BYTES} bytes: quote less"));
    }
    // Static checks may point at a line without a quote; models must quote.
    if finding.evidence.is_empty()
        && member.proof == Proof::Quotes
        && member.origin == Origin::Model
    {
        problems.push("`evidence` is empty: quote the line that proves it".to_owned());
    }
    if finding.why_it_matters.trim().is_empty() {
        problems.push("`why_it_matters` is empty: say what goes wrong and for whom".to_owned());
    }
    problems
}

fn check_title(finding: &Finding, problems: &mut Vec<String>) {
    if finding.title.trim().is_empty() {
        problems.push("`title` is empty: say in one line what is wrong".to_owned());
    }
}

fn check_position(finding: &Finding, problems: &mut Vec<String>) {
    match (finding.diff_line, finding.line_start) {
        (None, None) => problems.push("`line_start` is missing: cite a line".to_owned()),
        (None, Some(start)) => {
            let end = finding.line_end.unwrap_or(start).get();
            if end < start.get() {
                problems.push("`line_end` is before `line_start`: swap them".to_owned());
            } else if end - start.get() >= MAX_CITED_LINES {
                problems.push(format!(
                    "more than {MAX_CITED_LINES} lines are cited: cite those that matter"
                ));
            }
        }
        // `diff_line` counts. The other fields are redundant.
        (Some(_), _) => {}
    }
}

fn path_problem(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("empty: name the file as the diff does")
    } else if path.starts_with('/') {
        Some("absolute: write the path from the repository root")
    } else if path.split('/').any(|part| matches!(part, "." | ".." | "")) {
        Some("has `.`, `..` or an empty part: write the path as the diff does")
    } else {
        None
    }
}
