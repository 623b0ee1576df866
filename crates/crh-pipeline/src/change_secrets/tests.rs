//! What is masked, what is restored, and what stays readable.

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
fn removed_and_context_lines_are_masked_too() {
    let diff = diff();
    let secrets = ChangeSecrets::from_diff(&diff);
    let hidden = secrets.mask_diff(&diff);
    let masked_text = String::from_utf8_lossy(hidden.raw()).into_owned();
    assert!(
        !masked_text.contains("Xk29vQp41mZr") && !masked_text.contains(&token()),
        "{masked_text}"
    );
    assert_eq!(hidden.files(), diff.files());
    let mut text = format!("it has {}, {} and {KEPT}", token(), &token()[..20]);
    secrets.mask(&mut text);
    let expected = "it has [redacted], [redacted] and postgres://app:[redacted]@db.corp.net/main";
    assert_eq!(text, expected);
}

#[test]
fn numbered_value_is_restored_exactly() {
    let secrets = ChangeSecrets::from_diff(&diff());
    let value = json!({ "snippet": format!("key = '{}'", token()), "other": [KEPT, 3, null] });
    let numbered = secrets.replace_with_placeholders(value.clone());
    assert_eq!(
        numbered,
        json!({
            "snippet": "key = '[redacted 1]'",
            "other": ["postgres://app:[redacted 0]@db.corp.net/main", 3, null],
        })
    );
    assert_eq!(secrets.restore(numbered), Some(value));
    assert_eq!(secrets.restore(json!("[redacted 7]")), Some(json!("[redacted 7]")));
}

#[test]
fn texts_about_a_change_are_masked() {
    let body = format!("It uses {}.\n\nSee https://app:Xk29vQp41mZr@db.corp.net", token());
    let commit = json!({ "id": "a".repeat(40), "subject": "Add a key", "body": body });
    let masked = json!({
        "id": "a".repeat(40),
        "subject": "Add a key",
        "body": "It uses [redacted].\n\nSee https://app:[redacted]@db.corp.net",
    });
    assert_eq!(ChangeSecrets::mask_prose_of(commit), Some(masked));
    assert_eq!(ChangeSecrets::mask_prose_of(json!(["Add a test"])), None);
    // A password in a text cannot blank the ids that crh compares.
    let id = "9f1c03e5b7a24d6880e1fa5c3b92d74e6a0f8c15";
    let body = format!("See https://app:{id}@db.corp.net");
    let masked = json!({ "headRev": id, "body": "See https://app:[redacted]@db.corp.net" });
    let metadata = json!({ "headRev": id, "body": body });
    assert_eq!(ChangeSecrets::mask_prose_of(metadata), Some(masked));
}

/// A change to `app.py` with a password and another line.
fn with_password(password: &str, line: &str) -> Diff {
    Diff::read(format!(
        "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -0,0 +1,2 @@\n+u = 'postgres://app:{password}@db.corp.net/main'\n+{line}\n"
    ))
}

#[test]
fn field_names_and_closed_sets_are_never_masked() {
    for password in ["severity", "manual", "completed", "why_it_matters_to_all_of_us_here"] {
        let secrets = ChangeSecrets::from_diff(&with_password(password, "x = 1"));
        let record = json!({
            "severity": "P1", "autofix_class": "manual", "ended": "completed", "why_it_matters": "none",
        });
        assert_eq!(secrets.replace_with_placeholders(record.clone()), record, "{password}");
        let leaks = json!({ "title": password, "ended": { "failed": format!("no {password}") } });
        let numbered = secrets.replace_with_placeholders(leaks.clone());
        assert_eq!(
            numbered,
            json!({ "title": "[redacted 0]", "ended": { "failed": "no [redacted 0]" } }),
        );
        assert_eq!(secrets.restore(numbered), Some(leaks));
    }
    let secrets = ChangeSecrets::from_diff(&with_password("Xk29vQp41mZr", "x = 1"));
    let strange = json!({ "severity": "Xk29vQp41mZr", "Xk29vQp41mZr": 1 });
    let numbered = secrets.replace_with_placeholders(strange.clone());
    assert_eq!(numbered, json!({ "severity": "[redacted 0]", "[redacted 0]": 1 }));
    assert_eq!(secrets.restore(numbered), Some(strange));
}

#[test]
fn placeholder_look_alike_is_restored_unchanged() {
    /// Stored form of a line with the password; also a literal line of the change.
    const ALIKE: &str = "[redacted [redacted 0]]";
    let lines = [r#"y = "[redacted 0]" + z"#, "y = '[redacted ~~0][redacted 7]'", ALIKE];
    for line in lines {
        let secrets = ChangeSecrets::from_diff(&with_password("Xk29vQp41mZr", line));
        for text in [line.to_owned(), format!("a Xk29vQp41mZr\n{line}\n[redacted Xk29vQp41mZr]")] {
            let value = json!(text);
            let numbered = secrets.replace_with_placeholders(value.clone());
            assert!(!numbered.to_string().contains("Xk29vQp41mZr"));
            assert_eq!(secrets.restore(numbered.clone()), Some(value.clone()));
            if line != ALIKE {
                assert_eq!(secrets.restore_if_numbered(numbered), value);
            }
        }
        // Results from other tools contain no placeholders.
        assert_eq!(secrets.restore_if_numbered(json!(line)), json!(line));
    }
}

#[test]
fn password_equal_to_file_name_keeps_path_and_diff() {
    let diff = with_password("app.py", "x = 'app.py'");
    let secrets = ChangeSecrets::from_diff(&diff);
    let hidden = secrets.mask_diff(&diff);
    let expected = diff.raw().to_vec();
    let expected = String::from_utf8(expected).unwrap();
    let (head, lines) = expected.split_once("+u").unwrap();
    let expected = format!("{head}+u{}", lines.replace("app.py", "******"));
    assert_eq!(String::from_utf8_lossy(hidden.raw()), expected);
    let value = json!({ "file": "app.py", "snippet": "x = 'app.py'" });
    let numbered = secrets.replace_with_placeholders(value.clone());
    assert_eq!(numbered, json!({ "file": "app.py", "snippet": "x = '[redacted 0]'" }));
    assert_eq!(secrets.restore(numbered), Some(value));
    for path in ["app.py", "src/app.py"] {
        let mut masked_path = path.to_owned();
        secrets.mask_path(&mut masked_path);
        assert_eq!(masked_path, path);
    }
}

#[test]
fn secret_outside_the_change_is_masked_and_not_restored() {
    let secrets = ChangeSecrets::from_diff(&with_password("Xk29vQp41mZr", "x = 1"));
    let value = json!({ "file": "app.py", "title": token(), "evidence": [
        { "file": "use.py", "snippet": format!("connect('{}')", token()) },
    ]});
    let numbered = secrets.replace_with_placeholders(value);
    assert_eq!(
        numbered,
        json!({ "file": "app.py", "title": "[redacted ?]", "evidence": [
            { "file": "use.py", "snippet": "connect('[redacted ?]')" },
        ]})
    );
    assert_eq!(secrets.restore(numbered), None);
    let alike = json!({ "snippet": "connect('[redacted ?]')" });
    assert_eq!(secrets.restore(secrets.replace_with_placeholders(alike.clone())), Some(alike));
}
