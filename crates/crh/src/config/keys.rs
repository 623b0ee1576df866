//! The keys. A new one is one entry here; a flag is added in `cli.rs` besides.

use std::num::NonZeroU64;

use super::environment::Environment;
use super::key::BuiltIn;
use super::key::Effect;
use super::key::Facts;
use super::key::Flag;
use super::key::Given;
use super::key::Key;
use super::key::Rank;
use super::key::Setting;
use super::key::settings;
use super::settle::Sources;
use super::value::Branch;
use super::value::Color;
use super::value::Folder;
use super::value::Globs;
use super::value::InstanceName;
use super::value::Value;

/// A source file that a person wrote has less; what has more was made by a program.
const FILE_BYTES_MAX: NonZeroU64 = match NonZeroU64::new(1_000_000) {
    Some(bytes) => bytes,
    None => NonZeroU64::MIN,
};

settings! {
    /// The name of this installation, for the markers in the comments it writes: two installations with two
    /// names leave each other's comments alone.
    instance: InstanceName = |_| InstanceName::default(), Facts {
        section: None,
        name: "instance",
        built_in: BuiltIn::Written(r#""crh""#),
        rank: Rank::User,
        variable: None,
        flag: Some(Flag { name: "--instance", value: "NAME", effect: Effect::Replaces }),
        example: r#""team-a""#,
    };

    /// Whether text has colours; `auto` means on a terminal. The variable means `never`, whatever it holds.
    color: Color = |_| Color::Auto, Facts {
        section: None,
        name: "color",
        built_in: BuiltIn::Written(r#""auto""#),
        rank: Rank::User,
        variable: Some("NO_COLOR"),
        flag: Some(Flag { name: "--color", value: "WHEN", effect: Effect::Replaces }),
        example: r#""never""#,
    };

    /// Files that are never reviewed.
    scope_exclude: Globs = |_| Globs::default(), Facts {
        section: Some("scope"),
        name: "exclude",
        built_in: BuiltIn::Written("[]"),
        rank: Rank::Anyone,
        variable: None,
        flag: Some(Flag { name: "--exclude", value: "GLOB", effect: Effect::Adds }),
        example: r#"["docs/**", "*.snap"]"#,
    };

    /// Files that are reviewed even if they are generated, vendored or lock files.
    scope_include: Globs = |_| Globs::default(), Facts {
        section: Some("scope"),
        name: "include",
        built_in: BuiltIn::Written("[]"),
        rank: Rank::Anyone,
        variable: None,
        flag: None,
        example: r#"["vendor/ours/**"]"#,
    };

    /// Files that are generated here, besides those that can be told by their looks.
    scope_generated: Globs = |_| Globs::default(), Facts {
        section: Some("scope"),
        name: "generated",
        built_in: BuiltIn::Written("[]"),
        rank: Rank::Anyone,
        variable: None,
        flag: None,
        example: r#"["src/schema.rs"]"#,
    };

    /// A changed file with more bytes than this is left out.
    scope_max_file_bytes: NonZeroU64 = |_| FILE_BYTES_MAX, Facts {
        section: Some("scope"),
        name: "max_file_bytes",
        built_in: BuiltIn::Written("1_000_000"),
        rank: Rank::Anyone,
        variable: None,
        flag: None,
        example: "250_000",
    };

    /// The branch that changes are compared with, instead of the one that is detected.
    base_branch: Branch = |_| Branch::Detected, Facts {
        section: Some("base"),
        name: "branch",
        built_in: BuiltIn::Found("it is detected"),
        rank: Rank::Anyone,
        variable: Some("CRH_BASE"),
        flag: None,
        example: r#""main""#,
    };

    /// Never talk to a remote: what is not here is not fetched. The variable is `1`, `true`, `0` or `false`.
    git_offline: bool = |_| false, Facts {
        section: Some("git"),
        name: "offline",
        built_in: BuiltIn::Written("false"),
        rank: Rank::User,
        variable: Some("CRH_OFFLINE"),
        flag: Some(Flag { name: "--offline", value: "", effect: Effect::Replaces }),
        example: "true",
    };

    /// Where snapshots and fetched objects are kept. In a file, a relative path starts at the folder of that
    /// file; in the variable, at the current folder. `~/` is your home.
    store_folder: Folder = Folder::in_cache, Facts {
        section: Some("store"),
        name: "folder",
        built_in: BuiltIn::Found("`$XDG_CACHE_HOME/crh`, else `~/.cache/crh`"),
        rank: Rank::User,
        variable: Some("CRH_STORE"),
        flag: None,
        example: r#""~/.cache/crh""#,
    };
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_flag_of_a_key_is_on_the_command_line_as_the_pages_show_it() {
        let command = crate::cli::Cli::command();
        let config = command.find_subcommand("config").unwrap();
        let show = config.find_subcommand("show").unwrap();
        for flag in KEYS.iter().filter_map(|key| key.facts.flag) {
            let found = show.get_arguments().find(|argument| {
                argument.get_long().is_some_and(|long| flag.name == format!("--{long}"))
            });
            let found = found.unwrap_or_else(|| panic!("{}", flag.name));
            if !flag.value.is_empty() {
                assert_eq!(found.get_value_names().unwrap(), [flag.value]);
            }
        }
    }

    #[test]
    fn no_two_keys_or_variables_are_the_same() {
        let mut paths: Vec<String> = KEYS.iter().map(|key| key.facts.path()).collect();
        paths.extend(KEYS.iter().filter_map(|key| key.facts.variable).map(str::to_owned));
        let distinct: std::collections::BTreeSet<_> = paths.iter().collect();
        assert_eq!(distinct.len(), paths.len());
    }
}
