use super::super::sample::{member, request};
use super::*;
use crh_review::finding::Severity::P1;

fn candidate(at: usize) -> RecheckCandidate {
    RecheckCandidate { id: format!("F{at}"), index: at, doubts: Vec::new() }
}

/// Compares lookups as `tool about`, and notes.
fn check(candidates: &[usize], requests: &[ContextRequest], expected: &[&str]) {
    let mut members = vec![member("a", P1, 500), member("b", P1, 500), member("c", P1, 500)];
    for (member, path) in members.iter_mut().zip(["a.py", "b.py", "c.py"]) {
        path.clone_into(&mut member.finding.file);
    }
    let place =
        |finding: &Finding| FileLine { path: finding.file.clone(), side: Side::New, line: 7 };
    let candidates: Vec<_> = candidates.iter().map(|at| candidate(*at)).collect();
    let ContextLookups { planned: made, notes } =
        plan_lookups(&candidates, requests, &members, place);
    let lookup_lines =
        made.iter().map(|(lookup, _)| format!("{} {}", lookup.tool(), lookup.about()));
    let actual: Vec<_> =
        lookup_lines.chain(notes.into_iter().map(|note| format!("note: {note}"))).collect();
    assert_eq!(actual, expected);
}

fn read(path: &str, for_finding: Option<usize>) -> ContextRequest {
    request("read_file", json!({ "path": path, "line": 3 }), for_finding)
}

#[test]
fn requested_lookups_come_first() {
    let search = request("search_code", json!({ "query": "x" }), None);
    check(
        &[1, 0],
        &[search, read("x.py", Some(0)), read("y.py", Some(1))],
        &["read_file `y.py`", "read_file `x.py`", "search_code `x`"],
    );
}

#[test]
fn candidate_without_request_gets_its_surroundings() {
    check(&[2, 0], &[], &["read_file `c.py`", "read_file `a.py`"]);
    check(&[0], &[read("x.py", Some(0))], &["read_file `x.py`"]);
    let ruff = |path: &str| request("run_ruff", json!({ "path": path }), None);
    let three = [ruff("x.py"), ruff("y.py"), ruff("z.py")];
    check(&[0], &three, &["run_ruff `x.py`", "run_ruff `y.py`", "run_ruff `z.py`"]);
}

#[test]
fn at_most_three_lookups_and_two_files() {
    check(
        &[],
        &[read("x.py", None), read("y.py", None), read("z.py", None)],
        &[
            "read_file `x.py`",
            "read_file `y.py`",
            "note: `z.py` was not looked up: the limit is 2 files",
        ],
    );
    check(&[0, 1, 2], &[], &["read_file `a.py`", "read_file `b.py`"]);
    let function =
        request("get_function_context", json!({ "path": "y.py", "function_name": "f" }), None);
    check(
        &[0],
        &[read("x.py", None), function, read("x.py", None)],
        &["read_file `x.py`", "get_function_context `f` in `y.py`"],
    );
}

#[test]
fn only_one_part_per_file_is_shown() {
    let other = request("read_file", json!({ "path": "x.py", "line": 900 }), None);
    check(
        &[],
        &[read("x.py", None), other],
        &["read_file `x.py`", "note: `x.py` was not looked up: another part of the file is shown"],
    );
}

#[test]
fn incomplete_request_is_skipped_with_a_note() {
    check(
        &[],
        &[
            request("search_code", json!({}), None),
            request("get_function_context", json!({ "path": "a.py" }), None),
        ],
        &[
            "note: a lookup was skipped: `query` is missing",
            "note: a lookup was skipped: `function_name` is missing",
        ],
    );
}

#[test]
fn window_shows_200_lines_and_names_the_rest() {
    let text: String = (1..=1000).map(|number| format!("l{number}\n")).collect();
    let ends = |line: u32| {
        let window_text = window(&text, line);
        let (head, body) = window_text.split_once('\n').unwrap();
        assert_eq!(body.lines().count(), 200);
        head.to_owned()
    };
    assert_eq!(ends(500), "lines 400 to 599 of 1000, the others are left out:");
    assert_eq!(ends(1), "lines 1 to 200 of 1000, the others are left out:");
    assert_eq!(ends(u32::MAX), "lines 801 to 1000 of 1000, the others are left out:");
    assert_eq!(window("a\nb\n", 9), "all 2 lines:\n    1  a\n    2  b\n");
    assert_eq!(window("", 1), "all 0 lines:\n");
}

#[test]
fn function_is_shown_with_imports_and_truncated() {
    let reply = |lines: usize| {
        let definition = "x\n".repeat(lines);
        json!({ "definition": definition, "imports": ["import os"], "start_line": 8, "end_line": 9 })
    };
    assert_eq!(function_text(&reply(2)), "import os\n    8  x\n    9  x");
    let long = function_text(&reply(300));
    assert_eq!(long.lines().count(), 201);
    assert!(long.ends_with("\n[101 more lines are left out]"), "{long}");
}

#[test]
fn model_text_stays_on_one_line() {
    let query = format!("a\n# b\u{202e}{}", "x".repeat(200));
    let about = ContextLookup::Search { query, language: None }.about();
    assert!(about.starts_with("`a # b") && about.ends_with("x…`"), "{about}");
    assert!(about.chars().count() <= 103 && !about.contains('\u{202e}'), "{about}");
}
