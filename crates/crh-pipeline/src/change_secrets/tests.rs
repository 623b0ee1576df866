//! What is hidden, what comes back, and what has to stay readable.

use serde_json::json;

use super::*;

const KEPT: &str = "postgres://app:Xk29vQp41mZr@db.corp.net/main";

fn token() -> String {
    format!("gh{}", "p_16C7e42F292c6912E7710c838347Ae178B4a")
}

fn diff() -> Diff {
    let (removed, added) = (token(), "x = 2");
    Diff::read(format!(
        "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n u = '{KEPT}'\n-key = '{removed}'\n+{added}\n"
    ))
}

#[test]
fn what_a_change_takes_away_or_leaves_alone_is_hidden_like_what_it_adds() {
    let diff = diff();
    let credentials = Credentials::of(&diff);
    let hidden = credentials.hidden_in(&diff);
    let shown = String::from_utf8_lossy(hidden.raw()).into_owned();
    assert!(!shown.contains("Xk29vQp41mZr") && !shown.contains(&token()), "{shown}");
    assert_eq!(hidden.files(), diff.files());
    let mut text = format!("it has {}, {} and {KEPT}", token(), &token()[..20]);
    credentials.hide(&mut text);
    let expected = "it has [redacted], [redacted] and postgres://app:[redacted]@db.corp.net/main";
    assert_eq!(text, expected);
}

#[test]
fn what_is_numbered_comes_back_as_it_was() {
    let credentials = Credentials::of(&diff());
    let value = json!({ "snippet": format!("key = '{}'", token()), "other": [KEPT, 3, null] });
    let numbered = credentials.numbered(value.clone());
    assert_eq!(
        numbered,
        json!({
            "snippet": "key = '[redacted 1]'",
            "other": ["postgres://app:[redacted 0]@db.corp.net/main", 3, null],
        })
    );
    assert_eq!(credentials.restored(numbered), Some(value));
    assert_eq!(credentials.restored(json!("[redacted 7]")), Some(json!("[redacted 7]")));
}

/// A change to `app.py` that has a password and another line.
fn with_password(password: &str, line: &str) -> Diff {
    Diff::read(format!(
        "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -0,0 +1,2 @@\n+u = 'postgres://app:{password}@db.corp.net/main'\n+{line}\n"
    ))
}

#[test]
fn names_of_fields_and_words_of_closed_sets_stay_whatever_a_password_is() {
    for password in ["severity", "manual", "completed", "why_it_matters_to_all_of_us_here"] {
        let credentials = Credentials::of(&with_password(password, "x = 1"));
        let record = json!({
            "severity": "P1", "autofix_class": "manual", "ended": "completed", "why_it_matters": "none",
        });
        assert_eq!(credentials.numbered(record.clone()), record, "{password}");
        let leaks = json!({ "title": password, "ended": { "failed": format!("no {password}") } });
        let numbered = credentials.numbered(leaks.clone());
        assert_eq!(
            numbered,
            json!({ "title": "[redacted 0]", "ended": { "failed": "no [redacted 0]" } }),
        );
        assert_eq!(credentials.restored(numbered), Some(leaks));
    }
    let credentials = Credentials::of(&with_password("Xk29vQp41mZr", "x = 1"));
    let strange = json!({ "severity": "Xk29vQp41mZr", "Xk29vQp41mZr": 1 });
    let numbered = credentials.numbered(strange.clone());
    assert_eq!(numbered, json!({ "severity": "[redacted 0]", "[redacted 0]": 1 }));
    assert_eq!(credentials.restored(numbered), Some(strange));
}

#[test]
fn a_text_that_looks_like_a_number_comes_back_as_it_was() {
    /// As a line with the password is stored: nothing tells the two apart but who has written them.
    const ALIKE: &str = "[redacted [redacted 0]]";
    let lines = [r#"y = "[redacted 0]" + z"#, "y = '[redacted ~~0][redacted 7]'", ALIKE];
    for line in lines {
        let credentials = Credentials::of(&with_password("Xk29vQp41mZr", line));
        for text in [line.to_owned(), format!("a Xk29vQp41mZr\n{line}\n[redacted Xk29vQp41mZr]")] {
            let value = json!(text);
            let numbered = credentials.numbered(value.clone());
            assert!(!numbered.to_string().contains("Xk29vQp41mZr"));
            assert_eq!(credentials.restored(numbered.clone()), Some(value.clone()));
            if line != ALIKE {
                assert_eq!(credentials.restored_if_numbered(numbered), value);
            }
        }
        // What was returned by others has never been numbered.
        assert_eq!(credentials.restored_if_numbered(json!(line)), json!(line));
    }
}

#[test]
fn a_password_that_is_called_like_a_file_hides_neither_the_file_nor_its_diff() {
    let diff = with_password("app.py", "x = 'app.py'");
    let credentials = Credentials::of(&diff);
    let hidden = credentials.hidden_in(&diff);
    let expected = diff.raw().to_vec();
    let expected = String::from_utf8(expected).unwrap();
    let (head, lines) = expected.split_once("+u").unwrap();
    let expected = format!("{head}+u{}", lines.replace("app.py", "******"));
    assert_eq!(String::from_utf8_lossy(hidden.raw()), expected);
    let value = json!({ "file": "app.py", "snippet": "x = 'app.py'" });
    let numbered = credentials.numbered(value.clone());
    assert_eq!(numbered, json!({ "file": "app.py", "snippet": "x = '[redacted 0]'" }));
    assert_eq!(credentials.restored(numbered), Some(value));
    for path in ["app.py", "src/app.py"] {
        let mut shown = path.to_owned();
        credentials.hide_in_path(&mut shown);
        assert_eq!(shown, path);
    }
}

#[test]
fn what_is_quoted_from_elsewhere_is_hidden_and_does_not_count_when_it_is_read_again() {
    let credentials = Credentials::of(&with_password("Xk29vQp41mZr", "x = 1"));
    let value = json!({ "file": "app.py", "title": token(), "evidence": [
        { "file": "use.py", "snippet": format!("connect('{}')", token()) },
    ]});
    let numbered = credentials.numbered(value);
    assert_eq!(
        numbered,
        json!({ "file": "app.py", "title": "[redacted ?]", "evidence": [
            { "file": "use.py", "snippet": "connect('[redacted ?]')" },
        ]})
    );
    assert_eq!(credentials.restored(numbered), None);
    let alike = json!({ "snippet": "connect('[redacted ?]')" });
    assert_eq!(credentials.restored(credentials.numbered(alike.clone())), Some(alike));
}
