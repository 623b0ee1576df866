//! Files that parsed before the change, or are new, and do not parse after it.

use std::borrow::Borrow;

use crh_review::finding::Category;
use crh_review::finding::Confidence;
use crh_review::finding::Owner;
use crh_review::finding::Severity;
use crh_syntax::Language;
use crh_syntax::Problem;
use crh_syntax::ProblemKind;
use crh_syntax::Problems;
use crh_syntax::problems;

use crate::ChangedFile;
use crate::Returned;
use crate::found::Found;
use crate::paths;

/// How far from an added line a mistake in it can show: a forgotten bracket shows at the next statement.
const REACH: u32 = 3;
/// A change that breaks more files than this was made by a program; the first ones tell.
const FINDINGS_MAX: usize = 50;

/// Looks for files that the change keeps from parsing. Files without a text after the change are passed over. It looks at one
/// after another, so that their texts need not be there all at once.
pub fn review(files: impl IntoIterator<Item: Borrow<ChangedFile>>) -> Returned {
    let mut returned = Returned::default();
    let mut left_out = 0_usize;
    for file in files {
        let file = file.borrow();
        match broken(file) {
            Broken::No => {}
            Broken::Unknown(why) => {
                returned
                    .notes
                    .push(format!("the syntax of `{}` was not checked: {why}", file.path));
            }
            Broken::At { .. } if returned.findings.len() == FINDINGS_MAX => left_out += 1,
            Broken::At { line, what, language } => {
                returned.findings.push(found(file, line, &what, language).finding());
            }
        }
    }
    if left_out > 0 {
        returned.notes.push(format!("{left_out} more files that do not parse are not listed"));
    }
    returned
}

enum Broken {
    No,
    Unknown(String),
    At { line: u32, what: String, language: &'static str },
}

fn broken(file: &ChangedFile) -> Broken {
    let (Some(language), Some(new)) = (Language::of_path(&file.path), &file.new) else {
        return Broken::No;
    };
    let Some(trust) = trust(language) else { return Broken::No };
    let Ok(new) = std::str::from_utf8(new) else { return Broken::No };
    if is_other_language(language, &file.path, new) {
        return Broken::No;
    }
    let after = match problems(language, new) {
        Ok(problems) => problems,
        Err(why) => return Broken::Unknown(why.to_string()),
    };
    let Some((line, what)) = blamed(file, &after, trust) else { return Broken::No };
    // What was not understood before says nothing about the change: it may be the grammar that is wrong.
    let parsed_before = match &file.old {
        None => !paths::is_sample(&file.path),
        Some(old) => {
            let before = std::str::from_utf8(old).ok().map(|old| problems(language, old));
            before.is_some_and(|before| before.is_ok_and(|before| before.places.is_empty()))
        }
    };
    if parsed_before { Broken::At { line, what, language: language.name() } } else { Broken::No }
}

/// The line to point at and what is wrong, if the change is to blame for it.
///
/// A mistake shows near the line that was added. Only a bracket without its partner may show far from there, where it
/// opens or where it is missed; then the last added line before that is the best guess.
fn blamed(file: &ChangedFile, problems: &Problems, trust: Trust) -> Option<(u32, String)> {
    let added = file.added.iter().map(|line| line.number);
    let near = problems.places.iter().find_map(|problem| {
        let (first, last) =
            (problem.start.saturating_sub(REACH), problem.end.saturating_add(REACH));
        let near = added.clone().filter(|line| (first..=last).contains(line));
        near.min_by_key(|line| line.abs_diff(problem.start)).map(|line| (line, problem))
    });
    if let Some(bracket) = problems.unpaired {
        let far = || {
            problems.places.first().map(|problem| {
                added.filter(|line| *line <= problem.start).max().unwrap_or(problem.start)
            })
        };
        let line = near.map(|(line, _)| line).or_else(far)?;
        return Some((line, format!("a `{bracket}` has no partner")));
    }
    match trust {
        Trust::InBrackets => None,
        Trust::Full => near.map(|(line, problem)| (line, words(problem))),
    }
}

fn words(problem: &Problem) -> String {
    match &problem.kind {
        ProblemKind::Missing(what) => format!("`{what}` is missing"),
        ProblemKind::Unexpected if problem.start == problem.end => {
            "something is here that has no place in the grammar".to_owned()
        }
        ProblemKind::Unexpected => {
            format!("lines {} to {} do not fit the grammar", problem.start, problem.end)
        }
    }
}

/// How far an error of the grammar is an error of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// Of thousands of files that run (hundreds in Go, Java and Ruby) none has an error.
    Full,
    /// Of a thousand files that run, one to six have errors; in all of them brackets come in pairs.
    InBrackets,
}

/// How far the grammar of a language can be trusted; not at all if there is none. In C, C++, C# and Swift not even
/// brackets need to come in pairs, for there are conditions around lines.
fn trust(language: Language) -> Option<Trust> {
    match language {
        Language::Python | Language::Go | Language::Java | Language::Ruby => Some(Trust::Full),
        Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Rust => {
            Some(Trust::InBrackets)
        }
        Language::C
        | Language::Cpp
        | Language::CSharp
        | Language::Php
        | Language::Kotlin
        | Language::Swift => None,
    }
}

/// Whether a text is in another language than its name says: a template of code, HTML, JavaScript with types, or the XML
/// that also goes by `.ts`.
fn is_other_language(language: Language, path: &str, text: &str) -> bool {
    path.contains("{{")
        || text.contains('\0')
        || text.trim_start().starts_with('<')
        || text.contains("{%")
        || text.contains("<%")
        || language == Language::JavaScript && text.contains("@flow")
}

fn found<'a>(file: &'a ChangedFile, line: u32, what: &str, language: &str) -> Found<'a> {
    let text = file.added.iter().find(|added| added.number == line);
    let snippet = text.map(|added| String::from_utf8_lossy(&added.text).trim_end().to_owned());
    let state = if file.old.is_some() { "parsed before this change" } else { "is new" };
    Found {
        file: &file.path,
        line,
        severity: Severity::P1,
        category: Category::Bug,
        confidence: Confidence::thousandths(900),
        title: "The file does not parse".to_owned(),
        why: format!(
            "The file {state}, and as {language} it does not parse: {what}. Whatever loads or builds it fails."
        ),
        owner: Owner::DownstreamResolver,
        fix: "Correct the syntax at or just before this line.",
        snippet: snippet.unwrap_or_default(),
        pre_existing: false,
    }
}

#[cfg(test)]
mod tests;
