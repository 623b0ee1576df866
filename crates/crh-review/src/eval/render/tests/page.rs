//! The HTML page: consistent, inert and bounded.

use std::collections::BTreeSet;

use expect_test::expect_file;

use super::example::{comparison, full, hostile, hostile_comparison, panel, silent, troubled};
use crate::eval::render::html;
use crate::eval::{Comparison, Ending, Evaluation, KnownBad, Sheet, Span};
use crate::finding::Side;

fn page(sheets: &[Sheet], comparison: Option<&Comparison>) -> String {
    html(sheets, comparison).unwrap()
}

/// All tags of a page.
fn tags(page: &str) -> Vec<String> {
    let tags = page.split('<').skip(1).map(|rest| rest.split_once('>').unwrap().0);
    tags.map(|tag| tag.replace("&#x2f;", "/")).collect()
}

/// The values of an attribute, in the order of the page.
fn values(page: &str, attribute: &str) -> Vec<String> {
    let start = format!(" {attribute}=\"");
    let tags = tags(page);
    let values = tags.iter().filter_map(|tag| tag.split_once(&start)?.1.split_once('"'));
    values.map(|(value, _)| value.to_owned()).collect()
}

/// Checks that a page has no scripts, loads nothing, links only to itself, and has no dangling
/// links.
fn check(page: &str) {
    let allowed_tags = "!DOCTYPE html head meta title style body main header footer section nav div p h1 h2 h3 ul ol li dl dt dd \
                 span strong small code pre figure figcaption a table thead tbody tr th td details summary fieldset \
                 legend label input svg g rect line circle path text";
    let allowed_tags: BTreeSet<&str> = allowed_tags.split_whitespace().collect();
    for tag in tags(page) {
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap();
        assert!(allowed_tags.contains(name), "<{tag}>");
        for forbidden in [" on", "src=", "style=", "http:", "https:"] {
            assert!(!tag.contains(forbidden), "<{tag}>");
        }
    }
    assert!(!page.contains("url(") && !page.contains("@import"));
    assert!(page.contains("default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"));
    assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
    let ids = values(page, "id");
    let once: BTreeSet<&String> = ids.iter().collect();
    assert_eq!(once.len(), ids.len(), "an id stands twice: {ids:?}");
    for link in values(page, "href") {
        let place = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leads elsewhere"));
        assert!(ids.iter().any(|id| id == place), "{link} leads nowhere");
    }
    for element in ["details", "section", "table", "svg", "div", "li", "p", "g"] {
        let count = |start: &str| {
            let tags = tags(page);
            tags.iter().filter(|tag| tag.split([' ', '\n']).next() == Some(start)).count()
        };
        assert_eq!(count(element), count(&format!("/{element}")), "{element}");
    }
}

#[test]
fn complete_page() {
    let page = page(&[full(), silent()], Some(&comparison()));
    check(&page);
    expect_file!["../../../../tests/data/eval/page.html"].assert_eq(&page);
}

#[test]
fn all_page_kinds_are_well_formed() {
    for sheets in [vec![], vec![silent()], vec![troubled()], vec![full()], vec![silent(), full()]] {
        check(&page(&sheets, None));
        check(&page(&sheets, Some(&comparison())));
    }
}

#[test]
fn text_is_escaped_in_html() {
    let page = page(&[hostile(), full()], Some(&hostile_comparison()));
    check(&page);
    assert!(page.contains("&lt;script&gt;"), "it is there, as text");
}

#[test]
fn same_evaluation_gives_same_page() {
    assert_eq!(page(&[full()], None), page(&[full()], None));
}

/// A sheet with this many cases, the last of them the worst.
fn many(cases: usize) -> Sheet {
    let mut sheet = troubled();
    let case = silent().evaluation.cases[0].clone();
    let failed = sheet.evaluation.cases[2].clone();
    sheet.evaluation.cases = vec![case; cases];
    for (index, case) in sheet.evaluation.cases.iter_mut().enumerate() {
        case.labels.id = format!("case-{index:05}");
    }
    sheet.evaluation.cases[cases - 1].runs = failed.runs;
    sheet
}

#[test]
fn large_page_shows_worst_cases_and_counts_the_rest() {
    let page = page(&[many(1_200)], None);
    check(&page);
    assert_eq!(page.matches("<details id=\"case-").count(), 1_000);
    assert!(page.contains("id=\"case-case-01199\""), "the one that failed is there");
    assert!(page.contains("These are the 1000 worst cases; 200 more are in"));
    assert!(page.len() < 4_000_000, "{}", page.len());
}

#[test]
fn reports_per_page_are_limited_and_counted() {
    let mut sheet = many(3);
    let report = full().evaluation.cases[0].runs[0].reported[0].clone();
    let report = crate::eval::Reported { text: "word ".repeat(2_000), ..report };
    for case in &mut sheet.evaluation.cases {
        case.runs[0].reported = vec![report.clone(); 4_000];
    }
    let page = page(&[sheet], None);
    assert_eq!(page.matches("class=\"report\"").count(), 5_000);
    assert!(page.contains("7000 reports are only in the JSON output."));
    assert!(page.len() < 12_000_000, "{}", page.len());
}

/// The part of a page that is a case.
fn case<'p>(page: &'p str, id: &str) -> &'p str {
    let start = page.find(&format!("<details id=\"case-{id}\"")).unwrap();
    page[start..].split_once("</details>").unwrap().0
}

/// One case of the example, with this outcome of its only run.
fn ended(ending: Ending) -> Evaluation {
    let mut evaluation = full().evaluation;
    evaluation.repeats = 1;
    evaluation.cases.retain(|case| case.labels.id == "python-late-fee");
    evaluation.cases[0].runs.truncate(1);
    evaluation.cases[0].runs[0].ending = ending;
    evaluation
}

#[test]
fn reports_of_failed_runs_are_not_called_found() {
    let badges = |ending: Ending| {
        let page = page(&[Sheet::new(ended(ending), &[])], None);
        check(&page);
        let case = case(&page, "python-late-fee").to_owned();
        let badges = case.split("<span class=\"badge ").skip(1);
        let text = |badge: &str| badge.split(['>', '<']).nth(1).unwrap().to_owned();
        badges.map(text).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(badges(Ending::Reviewed), "1 found, found, P1, reviewed, found issue 1, P1");
    assert_eq!(
        badges(Ending::Failed("no answer".to_owned())),
        "failed, 1 missed, missed, P1, failed, does not count, P1"
    );
    assert_eq!(
        badges(Ending::NotRun("no money".to_owned())),
        "not run, not run, P1, not run, does not count, P1"
    );
}

#[test]
fn unstarted_run_is_excluded_from_means() {
    let mut evaluation = ended(Ending::Failed("no answer".to_owned()));
    evaluation.cases.push(evaluation.cases[0].clone());
    evaluation.cases[1].labels.id = "not-begun".to_owned();
    evaluation.cases[1].runs[0].ending = Ending::NotRun("no money".to_owned());
    let page = page(&[Sheet::new(evaluation, &[])], None);
    assert!(page.contains("1 run, 0.0160 USD on average"), "{page}");
}

#[test]
fn evaluation_numbers_are_consistent_on_the_page() {
    let page = page(&[silent(), full(), silent(), full()], None);
    let legends: Vec<&str> = page.split("<ol class=\"legend\">").skip(1).collect();
    let marks = |legend: &str| {
        let list = legend.split_once("</ol>").unwrap().0;
        let dots = list.split("<span class=\"dot\">").skip(1);
        let mark = |dot: &str| {
            let (number, rest) = dot.split_once('<').unwrap();
            let name = rest.split_once("<strong>").unwrap().1.split_once('<').unwrap().0;
            format!("{number} {name}")
        };
        dots.map(mark).collect::<Vec<_>>()
    };
    let full = "crh 0.1.0 delegate anthropic:claude-sonnet-4-5";
    let silent = "crh 0.1.0 static";
    assert_eq!(marks(legends[0]), [format!("2 {full}"), format!("4 {full}")]);
    let all = [silent, full, silent, full];
    let numbered: Vec<String> =
        (1..).zip(all).map(|(number, name)| format!("{number} {name}")).collect();
    assert_eq!(marks(legends[1]), numbered);
    for (number, name) in (1..).zip(all) {
        assert!(page.contains(&format!("<th scope=\"row\">{number}. {name}</th>")));
    }
}

#[test]
fn all_reports_on_clean_changes_are_counted() {
    let mut evaluation = full().evaluation;
    // Its only report is known to be wrong.
    evaluation.cases.retain(|case| case.labels.id == "c-outline-node-pool");
    let page = page(&[Sheet::new(evaluation, &[])], None);
    assert!(page.contains("<small>2 reports on clean changes</small>"), "{page}");
}

#[test]
fn foreign_texts_and_lists_are_limited() {
    let long_text = "long & word ".repeat(1_000);
    let mut evaluation = full().evaluation;
    let about = &mut evaluation.about;
    for text in [&mut about.tool, &mut about.suite, &mut about.strategy, &mut about.model] {
        text.clone_from(&long_text);
    }
    for case in &mut evaluation.cases {
        case.labels.id.push_str(&long_text);
        case.labels.twin_of =
            case.labels.twin_of.as_ref().map(|twin_id| format!("{twin_id}{long_text}"));
        case.labels.language.push_str(&long_text);
        case.title.clone_from(&long_text);
        for expected in &mut case.labels.expected {
            expected.description.clone_from(&long_text);
            expected.spans = vec![expected.spans[0].clone(); 5_000];
        }
        let span = Span::new(&long_text[..1_000], 1, 2, Side::New).unwrap();
        let known_bad = KnownBad { span, description: String::new() };
        case.labels.known_bad = vec![known_bad; 400];
        case.labels.known_bad[0].description.clone_from(&long_text);
        for run in &mut case.runs {
            run.ending = Ending::Incomplete(long_text.clone());
            run.verdict.clone_from(&long_text);
            for report in &mut run.reported {
                report.title.clone_from(&long_text);
                report.reviewers = vec!["reviewer".to_owned(); 10_000];
                report.reviewers[0].clone_from(&long_text);
            }
        }
    }
    let mut comparison = comparison();
    comparison.before.clone_from(&long_text);
    comparison.flips[0].what.clone_from(&long_text);
    comparison.left_out = vec![long_text.clone(); 600];
    let baselines = [(long_text.clone(), evaluation.clone())];
    let page = page(&[Sheet::new(evaluation, &baselines)], Some(&comparison));
    check(&page);
    let more_than_a_text = "long &amp; word ".repeat(1_000 / "long & word ".len() + 1);
    assert!(!page.contains(&more_than_a_text));
    assert!(page.contains("1009 labels are only in the JSON output."));
    assert!(page.contains("and 4990 more</p>"), "places");
    assert!(page.contains("and 9990 more</p>"), "reviewers");
    assert!(page.len() < 3_000_000, "{}", page.len());
}

#[test]
fn number_of_languages_is_limited() {
    let mut evaluation = full().evaluation;
    let case = evaluation.cases.iter().find(|case| !case.labels.expected.is_empty()).unwrap();
    evaluation.cases = vec![case.clone(); 80];
    for (index, case) in evaluation.cases.iter_mut().enumerate() {
        case.labels.id = format!("case-{index}");
        case.labels.language = format!("language-{index:02}");
    }
    let page = page(&[Sheet::new(evaluation, &[])], None);
    check(&page);
    assert!(page.contains("Language: 30 more are only in the JSON output."));
    assert!(!page.contains("<th scope=\"row\">language-50</th>"));
}

#[test]
fn number_of_reviewers_is_limited() {
    let mut sheet = panel();
    sheet.evaluation.about.reviewers =
        (0..80).map(|number| format!("reviewer-{number:02}")).collect();
    let page = page(&[Sheet::new(sheet.evaluation, &[])], None);
    check(&page);
    assert!(page.contains("Contribution per reviewer"));
    // Four other tools reported something.
    assert!(page.contains("34 more are only in the JSON output."));
    assert!(!page.contains("<th scope=\"row\">reviewer-50</th>"));
}

#[test]
fn cases_with_odd_names_have_unique_anchors() {
    let mut sheet = many(4);
    for (case, id) in sheet.evaluation.cases.iter_mut().zip(["a/b", "a_2fb", "a b", "ä"]) {
        case.labels.id = id.to_owned();
    }
    let page = page(&[sheet], None);
    check(&page);
    assert_eq!(page.matches("<details id=\"case-").count(), 4);
}
