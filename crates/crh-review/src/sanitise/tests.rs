//! Untrusted text in every format.

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::*;

#[test]
fn markdown_keeps_code_and_escapes_the_rest() {
    for (text, expected) in [
        ("`Vec<T>` and <b>", "`Vec<T>` and &lt;b&gt;"),
        ("![x](https://evil.example/a.png)", "!\\[x\\](https:\u{200b}//evil.example/a.png)"),
        ("see https://forge.example/o/r/1", "see https://forge.example/o/r/1"),
        ("https://forge.example/o/r", "https://forge.example/o/r"),
        ("https://forge.example/o/raw/a.zip", "https:\u{200b}//forge.example/o/raw/a.zip"),
        (
            "https://forge.example/evil/x/raw/a.zip",
            "https:\u{200b}//forge.example/evil/x/raw/a.zip",
        ),
        ("https://forge.example/login?id=1", "https:\u{200b}//forge.example/login?id=1"),
        ("https://forge.example/o/r/../../evil", "https:\u{200b}//forge.example/o/r/../../evil"),
        ("https://forge.example/o/r/.%2E/x", "https:\u{200b}//forge.example/o/r/.%2E/x"),
        ("see https://forge.example.evil/o", "see https:\u{200b}//forge.example.evil/o"),
        ("<!--https://forge.example/x", "&lt;!--https:\u{200b}//forge.example/x"),
        ("ask @octocat about #12", "ask @\u{200b}octocat about #\u{200b}12"),
        ("@_bot @.bot !7 &8", "@\u{200b}_bot @\u{200b}.bot !\u{200b}7 &amp;\u{200b}8"),
        ("&commat;octocat", "&amp;commat;octocat"),
        ("an open ` tick <i>", "an open \\` tick &lt;i&gt;"),
        ("``a ` b`` c", "``a ` b`` c"),
        ("``<img>``http://f", "``<img>``http:\u{200b}//f"),
        ("two\nlines\n```\n<x>", "two lines \\`\\`\\` &lt;x&gt;"),
        ("[text][ref]", "\\[text\\]\\[ref\\]"),
        ("# Ready", "\\# Ready"),
        ("~~~", "\\~~~"),
        ("1. list", "1\\. list"),
        ("/approve\n/merge", "\\/approve /merge"),
        ("a\u{202e}b\u{1b}[31m", "a\\\\u{202e}b\\\\u{1b}\\[31m"),
        ("evil\rgood", "evil\\\\u{d}good"),
    ] {
        assert_eq!(markdown(text, Some("forge.example/o/r")), expected, "{text}");
    }
}

/// With quadratic running time, each of these would take hours.
#[test]
fn long_hostile_text_is_escaped_in_linear_time() {
    let many = 1 << 18;
    for (text, expected) in [("www.", "www\u{200b}."), ("gh-", "gh-\u{200b}"), ("@a", "@\u{200b}a")]
    {
        assert!(markdown(&text.repeat(many), None) == expected.repeat(many), "{text}");
    }
    // Backtick runs of all lengths without a closing run.
    let runs: String = (1..4_000).map(|length| " ".to_owned() + &"`".repeat(length)).collect();
    assert!(markdown(&runs, None) == runs.trim_start().replace('`', "\\`"), "open");
}

#[test]
fn table_cell_has_no_bare_pipe() {
    assert_eq!(cell("a | b `c|d`\ne", None), "a \\| b `c\\|d` e");
}

#[test]
fn text_cannot_close_its_code_span_or_block() {
    assert_eq!(code_span("a `` b"), "```a `` b```");
    assert_eq!(code_span("`x`"), "`` `x` ``");
    assert_eq!(code_block("a\n```\nb", "rust"), "````rust\na\n```\nb\n````");
}

#[test]
fn code_has_no_commands() {
    let code = "/merge\n```\n/approve\n</div>\n/a\n //\n/* */\n/1\na /b";
    let expected = code.replace("/merge", "\u{200b}/merge").replace("/approve", "\u{200b}/approve");
    let expected = expected.replace("/a\n", "\u{200b}/a\n");
    assert_eq!(code_block(code, ""), format!("````\n{expected}\n````"));
}

#[test]
fn title_of_a_commit_is_inert() {
    assert_eq!(
        commit_line("Totals [skip ci]\nfixes #7, gh-7 and https://f.example @all"),
        "Totals skip ci fixes #\u{200b}7, gh-\u{200b}7 and https:\u{200b}//f.example @\u{200b}all"
    );
}

#[test]
fn html_has_no_tags_mentions_or_links() {
    assert_eq!(
        html("<b> & @me #1 https://x"),
        "&lt;b&gt; &amp; @\u{200b}me #\u{200b}1 https:\u{200b}//x"
    );
}

#[test]
fn path_keeps_its_spaces() {
    assert_eq!(path("a  b\n\tc\u{1b}"), "a  b\\n\\tc\\u{1b}");
}

/// Markdown elements other than plain text, code and emphasis.
fn active_elements(page: &str) -> Vec<String> {
    Parser::new_ext(
        page,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_FOOTNOTES,
    )
    .filter(|event| {
        let emphasis = matches!(
            event,
            Event::Start(Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Paragraph)
                | Event::End(
                    TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Paragraph
                )
        );
        !emphasis && !matches!(event, Event::Text(_) | Event::Code(_))
    })
    .map(|event| format!("{event:?}"))
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// One paragraph stays one paragraph with any text in it.
    #[test]
    fn text_cannot_become_markdown_structure(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "`", "``", "```", "~~~", "<img src=x>", "<!--", "-->", "<b>", "</details>", "[a](b)", "![a](b)",
                "[a]: b", "https://evil.example/", "http://f", "&lt;", "&#x40;", "@team", "#1", "# ", "## x",
                "- ", "* ", "1. ", "1) ", "> ", "---", "===", "\n", "\n\n", "|", "\\", "word", " ", "\t", "    x",
                "<https://evil.example>", "a@b.example", "www.evil.example", "_", "**",
            ]),
            0..8,
        ),
    ) {
        let text: String = pieces.concat();
        let escaped = markdown(&text, Some("forge.example/o/r"));
        prop_assert_eq!(active_elements(&escaped), Vec::<String>::new(), "{:?} -> {:?}", text, escaped);
        prop_assert!(!escaped.contains('\n'));
        let row = format!("| a | b |\n|---|---|\n| {} | x |\n", cell(&text, None));
        let cells = Parser::new_ext(&row, Options::ENABLE_TABLES)
            .filter(|event| matches!(event, Event::Start(Tag::TableCell)))
            .count();
        prop_assert_eq!(cells, 4, "{:?}", row);
    }

    #[test]
    fn code_spans_and_blocks_stay_code(text in "[`a<>|\n ]{0,12}") {
        if !text.trim().is_empty() {
            let page = format!("x {} y", code_span(&text));
            let codes = Parser::new(&page).filter(|event| matches!(event, Event::Code(_))).count();
            prop_assert_eq!(codes, 1, "{:?}", page);
        }
        let block = code_block(&text, "");
        let blocks = Parser::new(&block).filter(|event| matches!(event, Event::Start(Tag::CodeBlock(_)))).count();
        prop_assert_eq!(blocks, 1, "{:?}", block);
    }
}
