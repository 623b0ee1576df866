use std::collections::BTreeMap;
use std::fs;

use expect_test::expect;
use tempfile::TempDir;

use super::*;
use crate::case::CaseSource;
use crate::import::written;
use crate::suite::Suite;
use crate::suite::tests::read_file;
use crh_review::finding::{Category, Severity};

fn span(file: &str, first: u32, last: u32, side: Side) -> Span {
    Span::new(file, first, last, side).unwrap()
}

fn case(title: &str, body: &str, description: &str) -> Case {
    let files = |text: &str| {
        let files = [("a \"b\".py", text), ("gone.py", "x\n")];
        files.map(|(path, text)| (path.to_owned(), text.into())).into()
    };
    let (base, mut head): (BTreeMap<_, _>, BTreeMap<_, _>) = (files("1\n2\n"), files("1\n3\n"));
    head.remove("gone.py");
    Case {
        is_draft: false,
        id: "python-x".to_owned(),
        title: title.to_owned(),
        body: body.to_owned(),
        language: "python".to_owned(),
        licence: "MIT".to_owned(),
        twin_of: None,
        source: CaseSource::Files { base, head },
        expected: vec![Expected {
            spans: vec![
                span("a \"b\".py", 2, 2, Side::New),
                span("gone.py", 1, 1, Side::Old),
                span("a \"b\".py", 1, 2, Side::New),
            ],
            category: Some(Category::ErrorHandling),
            severity: Severity::P0,
            description: description.to_owned(),
            keywords: vec!["three".to_owned(), "\"3\"".to_owned()],
            omission: true,
            on_twin: Vec::new(),
        }],
        known_bad: vec![KnownBad {
            span: span("a \"b\".py", 1, 1, Side::New),
            description: description.to_owned(),
        }],
    }
}

#[test]
fn case_is_written_in_the_order_of_its_keys() {
    let twin = ChangeWords { title: "Back".to_owned(), body: "To two.".to_owned() };
    let case = case("Make it \"three\"", "Because.\n\nIt is \"better\".", "It is `3`.");
    expect![[r#"
        title = "Make it \"three\""
        body = """
        Because.

        It is "better".
        """
        language = "python"
        licence = "MIT"
        removed = ["gone.py"]

        [[expected]]
        file = "a \"b\".py"
        line_start = 2
        line_end = 2
        category = "error_handling"
        severity = "P0"
        description = "It is `3`."
        keywords = ["three", "\"3\""]
        omission = true
        also = [
            { file = "gone.py", line_start = 1, line_end = 1, side = "old" },
            { file = "a \"b\".py", line_start = 1, line_end = 2 },
        ]

        [[known_bad]]
        file = "a \"b\".py"
        line_start = 1
        line_end = 1
        description = "It is `3`."

        [twin]
        title = "Back"
        body = """
        To two.
        """
    "#]]
    .assert_eq(&case_file(&case, &["gone.py"], Some(&twin)));
}

#[test]
fn draft_is_marked_in_the_case_file() {
    let mut case = case("t", "", "DRAFT: d");
    case.expected[0].spans.truncate(1);
    case.expected[0].keywords.clear();
    case.known_bad.clear();
    case.licence.clear();
    case.twin_of = Some("other".to_owned());
    expect![[r#"
        title = "t"
        language = "python"
        twin_of = "other"

        [[expected]]
        file = "a \"b\".py"
        line_start = 2
        line_end = 2
        # Edit this: what is wrong, category, severity, and whether these lines show it.
        category = "error_handling"
        severity = "P0"
        description = "DRAFT: d"
        omission = true
    "#]]
    .assert_eq(&case_file(&case, &[], None));
}

#[test]
fn special_characters_survive_a_round_trip() {
    for text in [
        "plain",
        "quotes \" and \"\"\" and \"\"\"\" and '''",
        "ends with a quote \"",
        "back\\slash \\n \\u0041",
        "two\nlines\n\n  and more\ttabs",
        "carriage\r\nreturn",
        "\u{1b}[31mred\u{7f}\u{0}\u{85}",
        "ünï ¢ödé \u{202e}\u{200b}",
        "# no comment = [x]",
        "\n\nleading lines",
    ] {
        let body = text.replace('\0', "");
        let case = case("t", body.trim_end(), text);
        let twin = ChangeWords { title: "Back".to_owned(), body: body.trim_end().to_owned() };
        let out = TempDir::new().unwrap();
        written::write(out.path(), &case, Some(&twin)).unwrap();
        let suite = Suite::read(out.path(), &[], &read_file).unwrap_or_else(|failure| {
            let file = out.path().join("python-x/case.toml");
            panic!("{:#}\n{}", failure.error, fs::read_to_string(file).unwrap())
        });
        let twin = case.twin(twin.title, twin.body).unwrap();
        assert_eq!(suite.cases, [case, twin], "{text:?}");
    }
}
