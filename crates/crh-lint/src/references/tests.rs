//! What must be reported and what must not, by language. Each fixture is a whole repository.

mod config;
mod go;
mod java;
mod python;
mod ruby;
mod rust;
mod script;

use crate::references::review;
use crate::testing::Fixture;
use crh_review::finding::Side;

/// Findings as `path:line rule title`. A line of the old text has a minus.
fn findings(fixture: &str) -> Vec<String> {
    let output = Fixture::new(fixture).with(review);
    assert_eq!(output.notes, Vec::<String>::new(), "{fixture}");
    let lines = output.findings.iter().map(|it| {
        let line = it.finding.line_start.map_or(0, std::num::NonZeroU32::get);
        let rule = it.rule.strip_prefix("references/").unwrap();
        let side = if it.finding.side == Some(Side::Old) { "-" } else { "" };
        format!("{}:{side}{line} {rule} {}", it.finding.file, it.finding.title)
    });
    lines.collect()
}

fn must_find(table: &[(&str, &str)]) {
    let failures: Vec<String> = table
        .iter()
        .map(|(fixture, expected)| (fixture, expected, findings(fixture).join("\n")))
        .filter(|(_, expected, actual)| actual != *expected)
        .map(|(fixture, expected, actual)| {
            format!("{fixture}\nEXPECTED {expected}\nFOUND    {actual}\n")
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn must_not_find(table: &[&str]) {
    let failures: Vec<String> = table
        .iter()
        .map(|fixture| (fixture, findings(fixture).join("\n")))
        .filter(|(_, actual)| !actual.is_empty())
        .map(|(fixture, actual)| format!("{fixture}\nFOUND    {actual}\n"))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Checks whether a call of `load` is reported because it does not match the new parameters.
fn check_arity(fixture: &str, place: &str, is_found: bool) {
    let expected = format!("{place} arity 1 call of `load` does not match its new parameters");
    match is_found {
        true => must_find(&[(fixture, &expected)]),
        false => must_not_find(&[fixture]),
    }
}

#[test]
fn removal_is_reported_at_its_hunk_with_first_uses() {
    let using_files: String =
        (1..=7).map(|at| format!("//- m{at}.py\nfrom a import load\n")).collect();
    let fixture = format!(
        "//- a.py\ndef keep():\n    pass\n\n\ndef load():\n    pass\n\n\ndef other():\n    pass\n{using_files}//- head\n//- a.py\ndef keep():\n    pass\n\n\ndef other():\n    pass\n//- m1.py\nfrom a import load\nx = 1\n"
    );
    let output = Fixture::new(&fixture).with(review);
    let [static_finding] = output.findings.as_slice() else { panic!("{output:?}") };
    let finding = &static_finding.finding;
    assert_eq!((finding.file.as_str(), finding.side), ("a.py", Some(Side::Old)));
    assert_eq!(finding.line_start.map(std::num::NonZeroU32::get), Some(5));
    assert_eq!(finding.evidence[0].snippet, "def load():");
    let quoted: Vec<&str> = finding.evidence.iter().filter_map(|it| it.file.as_deref()).collect();
    assert_eq!(quoted, ["m1.py", "m2.py", "m3.py", "m4.py", "m5.py"]);
    assert!(
        finding.why_it_matters.contains("at `m1.py:1`, `m2.py:1`, `m3.py:1` and 4 more."),
        "{}",
        finding.why_it_matters
    );
}

#[test]
fn newly_ignored_file_is_noted_not_missing() {
    let base = "//- src/a.ts\nexport const x = 1\n//- .gitignore\nb\n//- src/m.ts\nimport { x } from './a'\n";
    let head = "//- head\n//- src/a.ts deleted\n//- .gitignore\nb\nsrc/a.ts\n";
    let output = Fixture::new(&format!("{base}{head}")).with(review);
    assert_eq!(output.findings.len(), 0, "{output:?}");
    let note = "`src/a.ts` is not checked: the change adds it to a .gitignore file";
    assert_eq!(output.notes, [note]);
}

#[test]
fn removed_file_finding_counts_imports() {
    let why = |using_files: &str| {
        let fixture = format!(
            "//- p/__init__.py\n//- p/a.py\nX = 1\n//- m.py\n{using_files}//- head\n//- p/a.py deleted\n"
        );
        let output = Fixture::new(&fixture).with(review);
        output.findings[0].finding.why_it_matters.clone()
    };
    assert_eq!(
        why("from p.a import X\n"),
        "The change deletes or moves `p/a.py`. It is still imported from there at `m.py:1`. That import fails."
    );
    assert_eq!(
        why("from p.a import X\nimport p.a\n"),
        "The change deletes or moves `p/a.py`. It is still imported from there at `m.py:1`, `m.py:2`. Those imports fail."
    );
}
