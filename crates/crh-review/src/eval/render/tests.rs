//! One evaluation in every format, and untrusted text that tries to break out of each.

mod example;
mod page;

use expect_test::{expect, expect_file};
use pulldown_cmark::{Event, Options, Parser, Tag};

use self::example::{
    comparison, full, hostile, hostile_comparison, hostile_noise, panel, silent, troubled,
};
use super::*;

#[test]
fn complete_evaluation() {
    expect_file!["../../../tests/data/eval/full.txt"].assert_eq(&text(&full()));
    expect_file!["../../../tests/data/eval/full.md"].assert_eq(&markdown(&full()));
}

#[test]
fn evaluation_without_reports() {
    expect_file!["../../../tests/data/eval/silent.txt"].assert_eq(&text(&silent()));
    expect_file!["../../../tests/data/eval/silent.md"].assert_eq(&markdown(&silent()));
}

#[test]
fn failed_runs_are_listed_first() {
    expect_file!["../../../tests/data/eval/troubled.txt"].assert_eq(&text(&troubled()));
    expect_file!["../../../tests/data/eval/troubled.md"].assert_eq(&markdown(&troubled()));
}

/// The header of a sheet and its section about the panel.
fn of_panel(shown: &str, title: &str) -> String {
    let (head, rest) = shown.split_once("cases, ").unwrap();
    let (_, rest) = rest.split_once(title).unwrap();
    let (section, _) = rest.split_once("Calibration").unwrap();
    format!("{head}…\n{title}{}\n", section.trim_end_matches(['#', ' ', '\n']))
}

#[test]
fn panel_has_one_row_per_reviewer() {
    expect![[r#"
        tool: crh 0.1.0 · suite: shipped (3f2a91c07b66) · strategy: panel
          reviewers: correctness, security, testing · model: anthropic:claude-sonnet-4-5 · budget: standard
          prompts: 9c1d2e3f4a5b · runs: 2 of each case · same result on every run: no
          rule: family (same file, same family of categories, at most 3 lines apart)
        14 …
        Contribution per reviewer
          Matched: found and expected issues in the category of the reviewer. Others: matches in other
          categories. Wrong: duplicates and reports known to be wrong. On clean, on reversed: reports on
          changes without bugs. A report of several reviewers counts for each of them.
          Reviewer        Category  Matched  Others  Wrong  On clean  Unlabelled  On reversed
          concurrency  concurrency      2/2       0      1         0           0            0
          correctness          bug      2/4       5      3         1           0            1
          ruff                   –        –       0      0         0           1            0
          security        security      2/2       0      1         0           0            0
          testing          testing      0/0       0      0         0           0            0
    "#]]
    .assert_eq(&of_panel(&text(&panel()), "Contribution per reviewer"));
    expect![[r#"
        ## Evaluation

        **tool** crh 0.1.0 · **suite** shipped (3f2a91c07b66) · **strategy** panel · **reviewers** correctness, security, testing · **model** anthropic:claude-sonnet-4-5 · **budget** standard · **prompts** 9c1d2e3f4a5b · **runs** 2 of each case · **same result on every run** no · **rule** family (same file, same family of categories, at most 3 lines apart)

        14 …
        ### Contribution per reviewer

        Matched: found and expected issues in the category of the reviewer. Others: matches in other categories. Wrong: duplicates and reports known to be wrong. On clean, on reversed: reports on changes without bugs. A report of several reviewers counts for each of them.

        | Reviewer | Category | Matched | Others | Wrong | On clean | Unlabelled | On reversed |
        |---|---:|---:|---:|---:|---:|---:|---:|
        | concurrency | concurrency | 2/2 | 0 | 1 | 0 | 0 | 0 |
        | correctness | bug | 2/4 | 5 | 3 | 1 | 0 | 1 |
        | ruff | – | – | 0 | 0 | 0 | 1 | 0 |
        | security | security | 2/2 | 0 | 1 | 0 | 0 | 0 |
        | testing | testing | 0/0 | 0 | 0 | 0 | 0 | 0 |
    "#]]
    .assert_eq(&of_panel(&markdown(&panel()), "### Contribution per reviewer"));
}

#[test]
fn comparison_as_text_and_markdown() {
    expect![[r#"
        Before: crh 0.0.9 single anthropic:claude-sonnet-4-5
        After:  crh 0.1.0 delegate anthropic:claude-sonnet-4-5
        10 cases in both, 2 excluded, without 1 run in only one of them. A difference is significant if its
        interval excludes zero and at least 6 cases differ.

        What changed
          Number                 Before  After  Change     95 % interval                  Meaning
          paired recall               –  0.400       –                                not defined
          precision               0.380  0.430  +0.050  −0.031 to +0.120          not significant
          recall                  0.250  0.500  +0.250  +0.083 to +0.417     significantly better
          clean changes flagged   0.125  0.500  +0.375  +0.100 to +0.600      significantly worse
          findings per change     0.450  0.780  +0.330  +0.110 to +0.520  significantly different
          cost per run, USD       0.016  0.016   0.000    0.000 to 0.000                 the same

        Cases that flipped
          worse   java-tenant-attachments: a report on a clean change: `owner` may be null
          better  python-late-fee: issue 1 is found in 2 of 2 runs, before in none

        Excluded: in only one evaluation, labelled differently, or without a common repeat
          c-old-name
          rust-relabelled
    "#]]
    .assert_eq(&comparison_text(&comparison()));
    expect![[r#"
        ## Evaluations compared

        **Before:** crh 0.0.9 single anthropic:claude-sonnet-4-5<br>
        **After:** crh 0.1.0 delegate anthropic:claude-sonnet-4-5

        10 cases in both, 2 excluded, without 1 run in only one of them. A difference is significant if its interval excludes zero and at least 6 cases differ.

        ### What changed

        | Number | Before | After | Change | 95 % interval | Meaning |
        |---|---:|---:|---:|---:|---:|
        | paired recall | – | 0.400 | – |  | not defined |
        | precision | 0.380 | 0.430 | +0.050 | −0.031 to +0.120 | not significant |
        | recall | 0.250 | 0.500 | +0.250 | +0.083 to +0.417 | significantly better |
        | clean changes flagged | 0.125 | 0.500 | +0.375 | +0.100 to +0.600 | significantly worse |
        | findings per change | 0.450 | 0.780 | +0.330 | +0.110 to +0.520 | significantly different |
        | cost per run, USD | 0.016 | 0.016 | 0.000 | 0.000 to 0.000 | the same |

        ### Cases that flipped

        - worse: `java-tenant-attachments`: a report on a clean change: `owner` may be null
        - better: `python-late-fee`: issue 1 is found in 2 of 2 runs, before in none

        ### Excluded: in only one evaluation, labelled differently, or without a common repeat

        - `c-old-name`
        - `rust-relabelled`
    "#]]
    .assert_eq(&comparison_markdown(&comparison()));
}

#[test]
fn terminal_lines_are_narrow_and_escaped() {
    let mut sheet = hostile();
    for case in &mut sheet.evaluation.cases {
        case.runs[0].ending = crate::eval::Ending::Failed("予算が尽きた ".repeat(30));
    }
    for rendered in [text(&sheet), comparison_text(&hostile_comparison())] {
        for line in rendered.lines() {
            assert!(crate::columns(line) <= 100, "{line}");
        }
        assert!(!rendered.contains(['\u{1b}', '\u{202e}']), "{rendered}");
        assert!(!rendered.contains("\n# Forged"), "{rendered}");
    }
}

/// Links, images, mentions and HTML in Markdown, and table rows with a wrong number of cells.
fn foreign(page: &str) -> Vec<String> {
    let acts = Parser::new_ext(page, Options::ENABLE_TABLES).filter_map(|event| match event {
        Event::Start(Tag::Image { dest_url, .. } | Tag::Link { dest_url, .. }) => {
            Some(dest_url.to_string())
        }
        Event::Html(html) | Event::InlineHtml(html) if html.as_ref() != "<br>" => {
            Some(html.to_string())
        }
        Event::Text(text) if text.contains("@team") => Some(text.to_string()),
        _ => None,
    });
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let mut of_head = 0;
    let mut odd = Vec::new();
    for line in page.lines() {
        match line.starts_with('|') {
            true if of_head == 0 => of_head = bars(line),
            true if bars(line) != of_head => odd.push(line.to_owned()),
            true => {}
            false => of_head = 0,
        }
    }
    acts.chain(odd).collect()
}

#[test]
fn text_is_escaped_in_markdown() {
    let pages = [
        markdown(&hostile()),
        comparison_markdown(&hostile_comparison()),
        hostile_noise().markdown(),
    ];
    for page in pages {
        assert_eq!(foreign(&page), Vec::<String>::new(), "{page}");
        assert!(!page.contains(['\u{1b}', '\u{202e}']), "{page}");
        assert!(!page.contains("\n# Forged"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "it is there, as text: {page}");
    }
}
