//! The reference page, `docs/configuration.md`: written by this test from the table of the keys.

use expect_test::expect_file;

use super::meaning;
use crate::config::key::{BuiltIn, Effect, Key, Rank};
use crate::config::keys::KEYS;

const START: &str = "\
# Configuration

Settings are read from `crh.toml` in the root of the repository, from your own config
(`$XDG_CONFIG_HOME/crh/config.toml`, else `~/.config/crh/config.toml`; the variable `CRH_CONFIG` names another file), from the
environment and from flags. `crh config show` prints every value with where it comes from, `crh init` writes a commented
`crh.toml`, and `crh config schema` prints its JSON Schema for editors. Unknown keys are errors. This page is generated.

**Which one counts.** Flags count for more than the environment, that for more than the repository's `crh.toml`, that for
more than your own config, and that for more than what is built in. A list takes the place of the whole list below it; only a flag
that says so adds to it. An empty variable counts as not set.

**Who may set what.** A repository may set what tunes the review of it, and nothing that touches your machine: such a key in
`crh.toml` is refused.

**Globs** match paths from the root of the repository: `*` and `?` stay inside a folder, `**` crosses folders, `{a,b}` is
either, `[a-z]` one of these. A glob without a slash is a name in any folder.

## Keys
";

fn entry(key: &Key) -> String {
    let facts = &key.facts;
    let built_in = match facts.built_in {
        BuiltIn::Written(value) => format!("`{value}`"),
        BuiltIn::Found(words) => words.to_owned(),
    };
    let rank = match facts.rank {
        Rank::Anyone => "anyone",
        Rank::User => "you alone: your own config, the environment, flags",
    };
    let variable = facts.variable.map_or("none".to_owned(), |name| format!("`{name}`"));
    let flag = facts.flag.map_or("none".to_owned(), |flag| {
        let effect = match flag.effect {
            Effect::Replaces => "",
            Effect::Adds => " (adds; can be given again)",
        };
        format!("`{}`{effect}", format!("{} {}", flag.name, flag.value).trim_end())
    });
    let section = facts.section.map(|name| format!("[{name}]\n")).unwrap_or_default();
    format!(
        "\n### `{}`\n\n{}\n\n- takes: {}\n- default: {built_in}\n- set by: {rank}\n- variable: {variable}\n\
         - flag: {flag}\n\n```toml\n{section}{} = {}\n```\n",
        facts.path(),
        meaning(key),
        key.wanted,
        facts.name,
        facts.example,
    )
}

#[test]
fn the_reference_page_shows_every_key() {
    let entries: String = KEYS.iter().map(entry).collect();
    let page = expect_file!["../../../../../docs/configuration.md"];
    page.assert_eq(&format!("{START}{entries}"));
}
