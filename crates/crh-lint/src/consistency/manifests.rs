//! Manifests: which dependencies they name, and in which way.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

/// What a manifest asks for: by table and name, the requirement in one spelling.
pub(super) type Dependencies = BTreeMap<(String, String), String>;

/// A kind of manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Npm,
    Cargo,
    Python,
    Pipfile,
    Bundler,
    Composer,
    Go,
}

impl Kind {
    /// The kind of a file by its name.
    pub(super) fn of(name: &str) -> Option<Self> {
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

    /// The lock files that go with it, with how each is brought up to date and what comes of it if it is not.
    pub(super) fn locks(self) -> &'static [(&'static str, &'static str, &'static str)] {
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

    /// The dependencies of a manifest; none if it cannot be read.
    pub(super) fn dependencies(self, text: &str) -> Option<Dependencies> {
        match self {
            Self::Npm => {
                json(text, &["dependencies", "devDependencies", "optionalDependencies"], |_| true)
            }
            Self::Composer => json(text, &["require", "require-dev"], |name| name.contains('/')),
            Self::Cargo => Some(cargo(&text.parse().ok()?)),
            Self::Python => Some(python(&text.parse().ok()?)),
            Self::Pipfile => Some(pipfile(&text.parse().ok()?)),
            Self::Bundler => Some(gemfile(text)),
            Self::Go => Some(go(text)),
        }
    }
}

fn json(text: &str, tables: &[&str], is_wanted: fn(&str) -> bool) -> Option<Dependencies> {
    let manifest: serde_json::Value = serde_json::from_str(text).ok()?;
    let mut found = Dependencies::new();
    for table in tables {
        let Some(entries) = manifest.get(table).and_then(serde_json::Value::as_object) else {
            continue;
        };
        for (name, requirement) in entries.iter().filter(|(name, _)| is_wanted(name)) {
            let requirement = requirement.as_str()?.trim().to_owned();
            found.insert(((*table).to_owned(), name.clone()), requirement);
        }
    }
    Some(found)
}

/// Where a manifest of Cargo has its dependencies, beside those that are only for some targets.
const CARGO_TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
/// The table whose entries count only for those who ask for them.
pub(super) const WORKSPACE: &str = "workspace.dependencies";

/// Which table a crate stands in makes no difference to the lock file; only the workspace's own is told apart.
fn cargo(manifest: &toml::Table) -> Dependencies {
    let mut found = Dependencies::new();
    let mut add = |table: &str, entries: Option<&toml::Value>| {
        for (key, value) in entries.and_then(toml::Value::as_table).into_iter().flatten() {
            let field = |name: &str| value.get(name).and_then(toml::Value::as_str);
            let name = field("package").unwrap_or(key);
            let version = value.as_str().or_else(|| field("version")).unwrap_or_default();
            found.insert((table.to_owned(), name.to_owned()), version.trim().to_owned());
        }
    };
    add(WORKSPACE, manifest.get("workspace").and_then(|it| it.get("dependencies")));
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    for table in CARGO_TABLES {
        targets.into_iter().flatten().for_each(|(_, target)| add("", target.get(table)));
        add("", manifest.get(table));
    }
    found
}

fn python(manifest: &toml::Table) -> Dependencies {
    let mut found = Dependencies::new();
    let project = manifest.get("project");
    let tool = |name: &str| manifest.get("tool").and_then(|tool| tool.get(name));
    let at = |value: Option<&toml::Value>, name: &str| value.and_then(|it| it.get(name)).cloned();
    let mut lists = vec![
        ("dependencies".to_owned(), at(project, "dependencies")),
        ("uv".to_owned(), at(tool("uv"), "dev-dependencies")),
    ];
    for (prefix, tables) in [
        ("extra ", at(project, "optional-dependencies")),
        ("group ", manifest.get("dependency-groups").cloned()),
        ("pdm ", at(tool("pdm"), "dev-dependencies")),
    ] {
        let tables = tables.as_ref().and_then(toml::Value::as_table).into_iter().flatten();
        lists.extend(tables.map(|(name, list)| (format!("{prefix}{name}"), Some(list.clone()))));
    }
    for (table, list) in lists {
        let list = list.as_ref().and_then(toml::Value::as_array).into_iter().flatten();
        for (name, requirement) in list.filter_map(toml::Value::as_str).map(pep508) {
            found.insert((table.clone(), name), requirement);
        }
    }
    let poetry = tool("poetry");
    let mut tables = vec![
        ("poetry".to_owned(), at(poetry, "dependencies")),
        ("poetry dev".to_owned(), at(poetry, "dev-dependencies")),
    ];
    let groups = at(poetry, "group");
    let groups = groups.as_ref().and_then(toml::Value::as_table).into_iter().flatten();
    tables.extend(
        groups.map(|(name, group)| (format!("poetry {name}"), at(Some(group), "dependencies"))),
    );
    for (table, entries) in tables {
        for (name, value) in entries.as_ref().and_then(toml::Value::as_table).into_iter().flatten()
        {
            found.insert((table.clone(), python_name(name)), format!("{value:?}"));
        }
    }
    found
}

/// A requirement such as `Foo_bar [x] >= 1, < 2; python_version < "3"`: its name, and the rest in one spelling.
fn pep508(requirement: &str) -> (String, String) {
    let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    let requirement = requirement.trim();
    let end = requirement.find(|it| !is_name(it)).unwrap_or(requirement.len());
    let (name, rest) = requirement.split_at(end);
    let rest: String = rest.chars().filter(|it| !it.is_whitespace()).collect();
    let rest = rest.replace('"', "'");
    let (versions, marker) = rest.split_once(';').unwrap_or((&rest, ""));
    let mut versions: Vec<&str> = versions.split(',').collect();
    versions.sort_unstable();
    (python_name(name), format!("{};{marker}", versions.join(",")))
}

/// A name in the spelling that package indexes use.
pub(super) fn python_name(name: &str) -> String {
    let parts = name.split(['-', '_', '.']).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn pipfile(manifest: &toml::Table) -> Dependencies {
    let tables = ["packages", "dev-packages"].into_iter();
    let entries = tables.flat_map(|table| {
        let entries = manifest.get(table).and_then(toml::Value::as_table).into_iter().flatten();
        entries
            .map(move |(name, value)| ((table.to_owned(), python_name(name)), format!("{value:?}")))
    });
    entries.collect()
}

static GEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"^\s*gem[\s(]\s*["']([\w.-]+)["']((?:\s*,\s*["'][^"'#]*["'])*)(.*)$"#).ok()
});

/// The gems that are asked for under all circumstances, by line.
fn gemfile(text: &str) -> Dependencies {
    let mut found = Dependencies::new();
    let Some(gem) = &*GEM else { return found };
    for line in gem_lines(text) {
        let Some(gem) = gem.captures(line) else { continue };
        let rest = &gem[3];
        if [" if ", " unless ", "ENV"].iter().any(|it| rest.contains(it)) {
            continue;
        }
        let is_quote = |it: char| matches!(it, '"' | '\'');
        let versions: Vec<&str> =
            gem[2].split(',').map(|it| it.trim().trim_matches(is_quote)).collect();
        let versions: Vec<&str> = versions.into_iter().filter(|it| !it.is_empty()).collect();
        found.insert((String::new(), gem[1].to_owned()), versions.join(", "));
    }
    found
}

/// The lines outside of conditions, as far as their indentation tells: `if` to `end` at the start of a line.
fn gem_lines(text: &str) -> impl Iterator<Item = &str> {
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

/// The modules that are required and not replaced.
fn go(text: &str) -> Dependencies {
    let mut found = Dependencies::new();
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
                found.insert((String::new(), module.to_owned()), version.to_owned());
            }
            ("replace", Some(module), _) => replaced.push(module.to_owned()),
            _ => {}
        }
    }
    for module in replaced {
        found.remove(&(String::new(), module));
    }
    found
}
