//! What has to be found, and what must not be, by language. Each fixture is a whole repository.

mod config;
mod go;
mod java;
mod python;
mod ruby;
mod rust;
mod script;

use crate::references::review;
use crate::testing::Fixture;

/// What is found, as `path:line rule title`.
fn found(fixture: &str) -> Vec<String> {
    let returned = Fixture::new(fixture).with(review);
    assert_eq!(returned.notes, Vec::<String>::new(), "{fixture}");
    let shown = returned.findings.iter().map(|it| {
        let line = it.finding.line_start.map_or(0, std::num::NonZeroU32::get);
        let rule = it.rule.strip_prefix("references/").unwrap();
        format!("{}:{line} {rule} {}", it.finding.file, it.finding.title)
    });
    shown.collect()
}

fn must_find(table: &[(&str, &str)]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|(fixture, expected)| (fixture, expected, found(fixture).join("\n")))
        .filter(|(_, expected, found)| found != *expected)
        .map(|(fixture, expected, found)| {
            format!("{fixture}\nEXPECTED {expected}\nFOUND    {found}\n")
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn must_not_find(table: &[&str]) {
    let wrong: Vec<String> = table
        .iter()
        .map(|fixture| (fixture, found(fixture).join("\n")))
        .filter(|(_, found)| !found.is_empty())
        .map(|(fixture, found)| format!("{fixture}\nFOUND    {found}\n"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
