//! Facts that paths show: migrations, schemas, guards, agent tools.

use std::sync::LazyLock;

use super::inputs::InputFile;
use crate::scope::FileRole;
use crh_git::PathGlobs;

/// Globs of guards, with the predicate of the sentence that describes them. A guard is a file whose
/// change affects how later changes are checked.
const GUARDS: &[(&str, &[&str])] = &[
    (
        "is run by CI",
        &[
            "/.github/workflows/**",
            "/.github/actions/**",
            "action.yml",
            "action.yaml",
            ".gitlab-ci.yml",
            "/.gitlab/ci/**",
            "/.circleci/**",
            "/.buildkite/**",
            "/.ci/**",
            "/.teamcity/**",
            "/.woodpecker/**",
            ".drone.yml",
            ".travis.yml",
            "appveyor.yml",
            "azure-pipelines*.yml",
            "bitbucket-pipelines.yml",
            "cloudbuild.yaml",
            "Jenkinsfile",
            "Dangerfile",
        ],
    ),
    (
        "is run before a commit",
        &[".pre-commit-config.yaml", "lefthook.yml", "/.husky/**", "/.githooks/**"],
    ),
    ("says who has to agree to a change", &["CODEOWNERS"]),
    (
        "sets up the tests",
        &[
            "conftest.py",
            "pytest.ini",
            "tox.ini",
            "noxfile.py",
            "jest.config.*",
            "jest.setup.*",
            "vitest.config.*",
            "karma.conf.*",
            "playwright.config.*",
            "cypress.config.*",
            "setupTests.*",
            ".mocharc*",
            ".rspec",
            "spec_helper.rb",
            "rails_helper.rb",
            "test_helper.rb",
            "phpunit.xml*",
        ],
    ),
    (
        "is the configuration of a check",
        &[
            ".eslintrc*",
            "eslint.config.*",
            "biome.json*",
            ".stylelintrc*",
            ".rubocop*.yml",
            "ruff.toml",
            ".ruff.toml",
            ".flake8",
            ".pylintrc",
            "mypy.ini",
            ".bandit",
            ".golangci.*",
            "clippy.toml",
            "deny.toml",
            "phpstan.neon*",
            "psalm.xml*",
            "detekt.yml",
            ".swiftlint.yml",
            "checkstyle.xml",
            ".coveragerc",
            "codecov.yml",
            ".codecov.yml",
            ".nycrc*",
            "sonar-project.properties",
            ".semgrep*",
            ".gitleaks.toml",
            ".trivyignore",
            "crh.toml",
            "/.crh/**",
        ],
    ),
];

/// Folders with authorization code.
const AUTH_FOLDERS: &[&str] =
    &["auth", "authentication", "authorization", "authz", "acl", "rbac", "permissions", "policies"];
/// Names of files with authorization code, up to the first dot.
const AUTH_NAMES: &[&str] = &[
    "ability",
    "access_control",
    "acl",
    "auth",
    "authenticate",
    "authentication",
    "authorization",
    "authorize",
    "authz",
    "csrf",
    "permissions",
    "permission",
    "policy",
    "rbac",
];

const SCHEMA_NAMES: &[&str] = &["schema.rb", "structure.sql", "schema.sql", "schema.prisma"];

static GUARD_GLOBS: LazyLock<Vec<(&'static str, PathGlobs)>> = LazyLock::new(|| {
    // A test checks that every pattern compiles.
    let compile = |(description, globs): &(&'static str, &[&str])| {
        (*description, PathGlobs::new(*globs).unwrap_or_default())
    };
    GUARDS.iter().map(compile).collect()
});

/// Why a file is a guard, as the predicate of a sentence.
pub(super) fn guard(file: &InputFile) -> Option<&'static str> {
    guard_at(&file.path).or_else(|| {
        (file.executable() > 0 && is_auth(&file.path)).then_some("decides who may do what")
    })
}

/// Why a path is a guard, regardless of the contents.
pub(super) fn guard_at(path: &str) -> Option<&'static str> {
    GUARD_GLOBS
        .iter()
        .find(|(_, globs)| globs.is_match(path.as_bytes()))
        .map(|(predicate, _)| *predicate)
}

fn is_auth(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    let stem = name.split('.').next().unwrap_or(name);
    folders.split('/').any(|folder| AUTH_FOLDERS.contains(&folder))
        || AUTH_NAMES.contains(&stem)
        || stem.ends_with("_policy")
}

/// Whether a file is a data migration.
pub(super) fn is_migration(file: &InputFile) -> bool {
    let name = file.name();
    match file.role {
        FileRole::Test | FileRole::Prose => return false,
        FileRole::Executable | FileRole::Config | FileRole::Other => {}
    }
    if matches!(name.as_str(), "__init__.py" | "mod.rs" | "index.ts" | "index.js") {
        return false;
    }
    let lower = file.path.to_ascii_lowercase();
    let folders: Vec<&str> = lower.split('/').rev().skip(1).collect();
    let has = |folder: &str| folders.contains(&folder);
    let is_numbered =
        name.trim_start_matches(['m', 'v']).starts_with(|char: char| char.is_ascii_digit());
    // Folders named `migrate` or `migration` need a second sign, since they also hold other things.
    has("migrations")
        || has("data_migrations")
        || (has("migrate") || has("migration")) && (has("db") || is_numbered)
        || has("alembic") && has("versions")
        || file.role == FileRole::Executable && name.contains("backfill")
        || name.ends_with(".sql") && name.starts_with('v') && name.contains("__")
}

pub(super) fn is_schema(file: &InputFile) -> bool {
    let name = file.name();
    let is_schema_name = SCHEMA_NAMES.contains(&name.as_str()) || name.ends_with(".prisma");
    let is_drizzle =
        file.path.split('/').any(|folder| matches!(folder, "db" | "drizzle" | "database"))
            && matches!(name.as_str(), "schema.ts" | "schema.js");
    file.role != FileRole::Test && (is_schema_name || is_drizzle)
}

/// Whether a path belongs to tools or prompts for agents.
pub(super) fn is_for_agents(path: &str) -> bool {
    let is_agent_folder = |part: &str| {
        matches!(part, ".claude" | "mcp" | "mcp_server" | "mcp-server" | "prompts" | "agent_tools")
    };
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(is_agent_folder) || matches!(name, "SKILL.md" | ".mcp.json" | "mcp.json")
}

/// Whether every line of a file belongs to a public interface.
pub(super) fn is_contract(file: &InputFile) -> bool {
    let name = file.name();
    let extensions = [".proto", ".graphql", ".graphqls", ".avsc", ".thrift", ".d.ts"];
    let is_data = [".yml", ".yaml", ".json"].iter().any(|end| name.ends_with(end));
    let is_openapi = is_data && (name.starts_with("openapi") || name.starts_with("swagger"));
    let is_route_or_serializer =
        matches!(name.as_str(), "routes.rb" | "urls.py" | "serializers.py")
            || file.path.split('/').any(|folder| folder == "serializers");
    match file.role {
        FileRole::Test | FileRole::Prose => false,
        FileRole::Executable | FileRole::Config | FileRole::Other => {
            extensions.iter().any(|end| name.ends_with(end)) || is_openapi || is_route_or_serializer
        }
    }
}

#[cfg(test)]
pub(super) fn unreadable_globs() -> Vec<String> {
    let glob_error = |glob: &&str| PathGlobs::new([glob]).err().map(|why| why.to_string());
    GUARDS.iter().flat_map(|(_, globs)| globs.iter()).filter_map(glob_error).collect()
}
