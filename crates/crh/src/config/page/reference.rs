//! Generates the reference page `docs/configuration.md` from the key table.

use expect_test::expect_file;

use super::description;
use crate::config::key::{ConfigKey, DefaultValue, FlagEffect, KeyAccess, KeyFlag};
use crate::config::keys::KEYS;

const START: &str = "\
# Configuration

<!-- Generated from crates/crh/src/config/keys.rs. -->

| Task | Command |
|---|---|
| Show all settings and where each value comes from | `crh config show` |
| Write a commented `crh.toml` for this repository | `crh init` |
| Get completion and checks for `crh.toml` in your editor | `crh config schema > crh.schema.json` |

## Where settings come from

crh reads settings from five places. The first one that sets a key wins:

1. flags
2. environment variables; an empty variable counts as not set
3. `crh.toml` in the root of the repository
4. your own config: `$XDG_CONFIG_HOME/crh/config.toml`, by default `~/.config/crh/config.toml`; `CRH_CONFIG` names another file
5. the default

A list replaces the whole list of a lower place.
Only flags marked \"adds\" extend it.
Unknown keys are errors.

## What a repository may set

A repository may set only keys that tune its own review.
Keys that affect your machine or your costs are for you: crh rejects a `crh.toml` that sets one.
The table below marks them with \"you\".

## Globs

Globs match paths from the root of the repository.

| Pattern | Matches |
|---|---|
| `*`, `?` | any characters, one character; never a `/` |
| `**` | any number of folders |
| `{a,b}` | `a` or `b` |
| `[a-z]` | one of these characters |
| a glob without `/` | a file name in any folder |

## All keys

| Key | Default | Set by | Variable | Flag |
|---|---|---|---|---|
";

fn row(key: &ConfigKey) -> String {
    let spec = &key.spec;
    let default = match spec.default {
        DefaultValue::Literal(value) => format!("`{value}`"),
        DefaultValue::Computed(words) => words.to_owned(),
    };
    let access = match spec.access {
        KeyAccess::Anyone => "repository, you",
        KeyAccess::UserOnly => "you",
        KeyAccess::RepositoryStricter => "you; repository if stricter",
    };
    let path = spec.path();
    let anchor = path.replace('.', "");
    let variable = spec.variable.map(|name| format!("`{name}`")).unwrap_or_default();
    let flag = spec.flag.map(flag_text).unwrap_or_default();
    format!("| [`{path}`](#{anchor}) | {default} | {access} | {variable} | {flag} |\n")
}

fn flag_text(flag: KeyFlag) -> String {
    let effect = match flag.effect {
        FlagEffect::Replaces => "",
        FlagEffect::Adds => " (adds)",
    };
    format!("`{}`{effect}", format!("{} {}", flag.name, flag.value).trim_end())
}

fn entry(key: &ConfigKey) -> String {
    let spec = &key.spec;
    let section = spec.section.map(|name| format!("[{name}]\n")).unwrap_or_default();
    format!(
        "\n### `{}`\n\n{}\n\nValue: {}.\n\n```toml\n{section}{} = {}\n```\n",
        spec.path(),
        sentences(key),
        key.expected,
        spec.name,
        spec.example,
    )
}

/// The description of a key with one sentence per line.
fn sentences(key: &ConfigKey) -> String {
    description(key).replace(". ", ".\n")
}

#[test]
fn reference_page_documents_every_key() {
    let rows: String = KEYS.iter().map(row).collect();
    let entries: String = KEYS.iter().map(entry).collect();
    let page = expect_file!["../../../../../docs/configuration.md"];
    page.assert_eq(&format!("{START}{rows}{entries}"));
}
