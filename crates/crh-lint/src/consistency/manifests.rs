//! Parsers for the dependencies of manifests.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// Normalized requirements, by table and name.
pub(super) type Dependencies = BTreeMap<(String, String), String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ManifestKind {
    Npm,
    Cargo,
    Python,
    Pipfile,
    Bundler,
    Composer,
    Go,
}

impl ManifestKind {
    pub(super) fn from_file_name(name: &str) -> Option<Self> {
        Some(match name {
            "package.json" => Self::Npm,
            "Cargo.toml" => Self::Cargo,
            "pyproject.toml" => Self::Python,
            "Pipfile" => Self::Pipfile,
            "Gemfile" => Self::Bundler,
            "composer.json" => Self::Composer,
            "go.mod" => Self::Go,
            _ => return None,
        })
    }

    /// Lock file names, each with the command that updates it and the effect of a stale one.
    pub(super) fn lock_files(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Npm => &[
                ("package-lock.json", "npm install", "`npm ci` refuses to install"),
                ("npm-shrinkwrap.json", "npm install", "`npm ci` refuses to install"),
                (
                    "pnpm-lock.yaml",
                    "pnpm install",
                    "`pnpm install --frozen-lockfile`, the default in CI, refuses to install",
                ),
                ("yarn.lock", "yarn install", "`yarn install --immutable` refuses to install"),
                ("bun.lock", "bun install", "`bun install --frozen-lockfile` refuses to install"),
                ("bun.lockb", "bun install", "`bun install --frozen-lockfile` refuses to install"),
            ],
            Self::Cargo => {
                &[("Cargo.lock", "cargo update --workspace", "`cargo build --locked` fails")]
            }
            Self::Python => &[
                (
                    "uv.lock",
                    "uv lock",
                    "`uv sync --locked` fails, and what is installed is not what was tested",
                ),
                ("poetry.lock", "poetry lock", "`poetry install` refuses the lock file"),
                ("pdm.lock", "pdm lock", "`pdm install --frozen-lockfile` installs something else"),
            ],
            Self::Pipfile => &[("Pipfile.lock", "pipenv lock", "`pipenv install --deploy` fails")],
            Self::Bundler => &[(
                "Gemfile.lock",
                "bundle install",
                "`bundle install` in frozen or deployment mode fails",
            )],
            Self::Composer => &[(
                "composer.lock",
                "composer update --lock",
                "`composer install` installs something else and warns",
            )],
            Self::Go => &[("go.sum", "go mod tidy", "the build fails with a missing go.sum entry")],
        }
    }

    /// The dependencies of a manifest; `None` if it cannot be parsed.
    pub(super) fn dependencies(self, text: &str) -> Option<Dependencies> {
        match self {
            Self::Npm => json_dependencies(
                text,
                &["dependencies", "devDependencies", "optionalDependencies"],
                |_| true,
            ),
            Self::Composer => {
                json_dependencies(text, &["require", "require-dev"], |name| name.contains('/'))
            }
            Self::Cargo => Some(cargo_dependencies(&text.parse().ok()?)),
            Self::Python => Some(python_dependencies(&text.parse().ok()?)),
            Self::Pipfile => Some(pipfile_dependencies(&text.parse().ok()?)),
            Self::Bundler => Some(gemfile_dependencies(text)),
            Self::Go => Some(go_dependencies(text)),
        }
    }
}

fn json_dependencies(
    text: &str,
    tables: &[&str],
    is_package: fn(&str) -> bool,
) -> Option<Dependencies> {
    let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut dependencies = Dependencies::new();
    for table in tables {
        let Some(entries) = manifest.get(table).and_then(serde_json::Value::as_object) else {
            continue;
        };
        for (name, requirement) in entries.iter().filter(|(name, _)| is_package(name)) {
            let requirement = requirement.as_str()?.trim().to_owned();
            dependencies.insert(((*table).to_owned(), name.clone()), requirement);
        }
    }
    Some(dependencies)
}

/// Dependency tables of Cargo, apart from the per-target ones.
const CARGO_TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
/// Entries of this table count only for crates that use them.
pub(super) const WORKSPACE_TABLE: &str = "workspace.dependencies";

/// The table of a dependency does not matter for the lock file, except for the workspace table.
fn cargo_dependencies(manifest: &toml::Table) -> Dependencies {
    let mut dependencies = Dependencies::new();
    let mut add = |table: &str, entries: Option<&toml::Value>| {
        for (key, value) in entries.and_then(toml::Value::as_table).into_iter().flatten() {
            let field = |name: &str| value.get(name).and_then(toml::Value::as_str);
            let name = field("package").unwrap_or(key);
            let version = value.as_str().or_else(|| field("version")).unwrap_or_default();
            dependencies.insert((table.to_owned(), name.to_owned()), version.trim().to_owned());
        }
    };
    add(WORKSPACE_TABLE, manifest.get("workspace").and_then(|it| it.get("dependencies")));
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    for table in CARGO_TABLES {
        targets.into_iter().flatten().for_each(|(_, target)| add("", target.get(table)));
        add("", manifest.get(table));
    }
    dependencies
}

fn python_dependencies(manifest: &toml::Table) -> Dependencies {
    let mut dependencies = Dependencies::new();
    let project = manifest.get("project");
    let tool = |name: &str| manifest.get("tool").and_then(|tool| tool.get(name));
    let entry_of =
        |value: Option<&toml::Value>, name: &str| value.and_then(|it| it.get(name)).cloned();
    let mut lists = vec![
        ("dependencies".to_owned(), entry_of(project, "dependencies")),
        ("uv".to_owned(), entry_of(tool("uv"), "dev-dependencies")),
    ];
    for (prefix, tables) in [
        ("extra ", entry_of(project, "optional-dependencies")),
        ("group ", manifest.get("dependency-groups").cloned()),
        ("pdm ", entry_of(tool("pdm"), "dev-dependencies")),
    ] {
        let tables = tables.as_ref().and_then(toml::Value::as_table).into_iter().flatten();
        lists.extend(tables.map(|(name, list)| (format!("{prefix}{name}"), Some(list.clone()))));
    }
    for (table, list) in lists {
        let list = list.as_ref().and_then(toml::Value::as_array).into_iter().flatten();
        for (name, requirement) in list.filter_map(toml::Value::as_str).map(parse_requirement) {
            dependencies.insert((table.clone(), name), requirement);
        }
    }
    let poetry = tool("poetry");
    let mut tables = vec![
        ("poetry".to_owned(), entry_of(poetry, "dependencies")),
        ("poetry dev".to_owned(), entry_of(poetry, "dev-dependencies")),
    ];
    let groups = entry_of(poetry, "group");
    let groups = groups.as_ref().and_then(toml::Value::as_table).into_iter().flatten();
    tables
        .extend(groups.map(|(name, group)| {
            (format!("poetry {name}"), entry_of(Some(group), "dependencies"))
        }));
    for (table, entries) in tables {
        for (name, value) in entries.as_ref().and_then(toml::Value::as_table).into_iter().flatten()
        {
            dependencies
                .insert((table.clone(), normalized_python_name(name)), format!("{value:?}"));
        }
    }
    dependencies
}

/// Parses a requirement such as `Foo_bar [x] >= 1, < 2; python_version < "3"` into a name and the
/// normalized rest.
fn parse_requirement(requirement: &str) -> (String, String) {
    let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    let requirement = requirement.trim();
    let end = requirement.find(|it| !is_name(it)).unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(end);
    let rest: String = rest.chars().filter(|it| !it.is_whitespace()).collect();
    let rest = rest.replace('"', "'");
    let (versions, marker) = rest.split_once(';').unwrap_or((&rest, ""));
    let mut versions: Vec<&str> = versions.split(',').collect();
    versions.sort_unstable();
    (normalized_python_name(name), format!("{};{marker}", versions.join(",")))
}

/// A package name as package indexes spell it.
pub(super) fn normalized_python_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn pipfile_dependencies(manifest: &toml::Table) -> Dependencies {
    let tables = ["packages", "dev-packages"].into_iter();
    let entries = tables.flat_map(|table| {
        let entries = manifest.get(table).and_then(toml::Value::as_table).into_iter().flatten();
        entries.map(move |(name, value)| {
            ((table.to_owned(), normalized_python_name(name)), format!("{value:?}"))
        })
    });
    entries.collect()
}

static GEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^\s*gem[\s(]\s*["']([\w.-]+)["']((?:\s*,\s*["'][^"'#]*["'])*)(.*)$"#).ok()
});

/// Gems that are required unconditionally.
fn gemfile_dependencies(text: &str) -> Dependencies {
    let mut dependencies = Dependencies::new();
    let Some(pattern) = &*GEM else { return dependencies };
    for line in unconditional_lines(text) {
        let Some(gem) = pattern.captures(line) else { continue };
        let rest = &gem[3];
        if [" if ", " unless ", "ENV"].iter().any(|it| rest.contains(it)) {
            continue;
        }
        let is_quote = |it: char| matches!(it, '"' | '\'');
        let versions: Vec<&str> =
            gem[2].split(',').map(|it| it.trim().trim_matches(is_quote)).collect();
        let versions: Vec<&str> = versions.into_iter().filter(|it| !it.is_empty()).collect();
        dependencies.insert((String::new(), gem[1].to_owned()), versions.join(", "));
    }
    dependencies
}

/// Lines outside of top-level `if` … `end` blocks, judged by indentation.
fn unconditional_lines(text: &str) -> impl Iterator<Item = &str> {
    let mut in_condition = false;
    text.lines().filter(move |line| {
        in_condition = match line.split_whitespace().next() {
            Some("if" | "unless" | "case") if !line.starts_with(' ') => true,
            Some("end") if !line.starts_with(' ') => false,
            _ => in_condition,
        };
        !in_condition
    })
}

/// Modules that are required and not replaced.
fn go_dependencies(text: &str) -> Dependencies {
    let mut dependencies = Dependencies::new();
    let mut block = "";
    let mut replaced = Vec::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        let mut words = line.split_whitespace();
        let mut directive = block;
        if block.is_empty() {
            directive = words.next().unwrap_or_default();
        } else if line == ")" {
            block = "";
            continue;
        }
        match (directive, words.next(), words.next()) {
            (_, Some("("), None) => block = directive,
            ("require", Some(module), Some(version)) => {
                dependencies.insert((String::new(), module.to_owned()), version.to_owned());
            }
            ("replace", Some(module), _) => replaced.push(module.to_owned()),
            _ => {}
        }
    }
    for module in replaced {
        dependencies.remove(&(String::new(), module));
    }
    dependencies
}
