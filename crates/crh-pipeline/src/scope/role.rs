//! Determines the role of a file by its path, and counts changed lines by role.
//!
//! Unknown files count as code ([`FileRole::Executable`]), since otherwise a change could look
//! smaller than it is. Files that run programs are code, too: `Makefile`, `justfile`,
//! `CMakeLists.txt`, Terraform, notebooks, templates, `.mdx`. A `Dockerfile` and CI files are
//! mostly data, so they count as configuration. So do skills, prompts and other files that instruct
//! agents: they are part of the product, although they are written as prose.
//!
//! Limitation: tests inside a source file (`#[cfg(test)]`) count as code. Telling them apart
//! requires parsing both versions of every file.

use serde::Serialize;

use super::known_names;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_syntax::Language;

/// Role of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum FileRole {
    /// Code, or unknown.
    Executable,
    /// Tests.
    Test,
    /// Documentation.
    Prose,
    /// Configuration.
    Config,
    /// Data: tables, translations, drawings, recorded output; symlinks.
    Other,
}

/// Numbers of changed lines by role.
///
/// Blank lines count as blank in any file. In code, tests and configuration, a line with only a
/// line comment counts as prose; block comments count as the code around them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LineCounts {
    /// Code.
    pub executable: u64,
    /// Tests.
    pub test: u64,
    /// Documentation and comments.
    pub prose: u64,
    /// Configuration.
    pub config: u64,
    /// Data.
    pub other: u64,
    /// Blank lines.
    pub blank: u64,
}

/// What a path reveals about a file.
#[derive(Debug)]
pub(crate) struct FileKind {
    pub(crate) role: FileRole,
    /// `false` if the role is a guess.
    pub(super) is_known: bool,
    /// Start of a line comment.
    comment_start: Option<&'static str>,
}

impl LineCounts {
    /// Sum of all lines.
    pub fn total(&self) -> u64 {
        let Self { executable, test, prose, config, other, blank } = self;
        executable + test + prose + config + other + blank
    }

    pub(super) fn add(&mut self, counts: &Self) {
        let Self { executable, test, prose, config, other, blank } = counts;
        self.executable += executable;
        self.test += test;
        self.prose += prose;
        self.config += config;
        self.other += other;
        self.blank += blank;
    }

    fn count(&mut self, role: FileRole) {
        let count = match role {
            FileRole::Executable => &mut self.executable,
            FileRole::Test => &mut self.test,
            FileRole::Prose => &mut self.prose,
            FileRole::Config => &mut self.config,
            FileRole::Other => &mut self.other,
        };
        *count += 1;
    }
}

impl FileKind {
    /// Kind of a file that is not a symlink.
    pub(crate) fn of_path(path: &str) -> Self {
        kind_of_path(path, false)
    }

    /// Role of a line. `None` if blank.
    pub(crate) fn of_line(&self, line: &[u8]) -> Option<FileRole> {
        match line.trim_ascii() {
            [] => None,
            text if is_comment(self, text) => Some(FileRole::Prose),
            _ => Some(self.role),
        }
    }
}

/// Counts the added and the removed lines of a file.
pub(super) fn count_changed_lines(
    kind: &FileKind,
    diff: &Diff,
    file: &FileDiff,
) -> [LineCounts; 2] {
    let mut added = LineCounts::default();
    let mut removed = LineCounts::default();
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        let counts = match line.kind {
            LineKind::Added => &mut added,
            LineKind::Removed => &mut removed,
            LineKind::Context | LineKind::Remark => continue,
        };
        match kind.of_line(line.text()) {
            Some(role) => counts.count(role),
            None => counts.blank += 1,
        }
    }
    [added, removed]
}

/// Whether a line is a comment for people. Comments without a space (`#!/bin/sh`, `//go:build`,
/// `#pragma`) are for programs.
fn is_comment(kind: &FileKind, text: &[u8]) -> bool {
    let Some(rest) = kind.comment_start.and_then(|start| text.strip_prefix(start.as_bytes()))
    else {
        return false;
    };
    let repeated_marks =
        rest.iter().take_while(|byte| matches!(byte, b'/' | b'#' | b'-' | b';')).count();
    let rest = &rest[repeated_marks..];
    // `//!` documents a Rust module; `#!` would be a shebang.
    let rest = if kind.comment_start == Some("//") {
        rest.strip_prefix(b"!").unwrap_or(rest)
    } else {
        rest
    };
    rest.first().is_none_or(u8::is_ascii_whitespace)
}

/// Kind of a file by its path. A symlink is data.
pub(super) fn kind_of_path(path: &str, is_link: bool) -> FileKind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = extension(name);
    let (role, is_known) = if is_link {
        (FileRole::Other, true)
    } else if instructs_agents(path) {
        (FileRole::Config, true)
    } else if has(PROSE_EXTENSIONS, &extension) {
        (FileRole::Prose, true)
    } else if is_test(path, name, &extension) {
        (FileRole::Test, true)
    } else if let Some(role) = role_of_name(name) {
        (role, true)
    } else if has(EXECUTABLE_EXTENSIONS, &extension) || Language::from_path(path).is_some() {
        (FileRole::Executable, true)
    } else if has(CONFIG_EXTENSIONS, &extension) {
        (FileRole::Config, true)
    } else if has(OTHER_EXTENSIONS, &extension) {
        (FileRole::Other, true)
    } else if extension == "txt" {
        (FileRole::Prose, true)
    } else {
        (FileRole::Executable, false)
    };
    let comment_start = match role {
        FileRole::Executable | FileRole::Test | FileRole::Config => {
            comment_start(path, name, &extension)
        }
        FileRole::Prose | FileRole::Other => None,
    };
    FileKind { role, is_known, comment_start }
}

/// Whether a path has the name or extension of code, also in a folder of tests.
pub(super) fn is_code(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    role_of_name(name) == Some(FileRole::Executable)
        || has(EXECUTABLE_EXTENSIONS, &extension(name))
        || Language::from_path(path).is_some()
}

/// Whether a path has the extension of documentation, configuration or data, or a name with a known
/// role.
pub(super) fn is_known_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = extension(name);
    let lists = [PROSE_EXTENSIONS, CONFIG_EXTENSIONS, OTHER_EXTENSIONS, &["txt"]];
    lists.iter().any(|list| has(list, &extension)) || role_of_name(name).is_some()
}

/// Whether a path has the name or extension of configuration.
pub(super) fn is_config(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_extension = || has(CONFIG_EXTENSIONS, &extension(name));
    role_of_name(name).map_or_else(by_extension, |role| role == FileRole::Config)
}

/// Extension in lower case; `env` for `.env`.
pub(super) fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_ascii_lowercase())
}

fn has(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

/// Extensions of documentation. `.txt` is not in the list, since tests and build tools use it too.
const PROSE_EXTENSIONS: &[&str] =
    &["md", "markdown", "rst", "adoc", "asciidoc", "org", "tex", "textile", "pod", "rdoc"];

/// Whether a file instructs agents: a skill, a prompt, an agent or the rules for agents.
pub(crate) fn instructs_agents(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    if has(AGENT_NAMES, name) || AGENT_ENDINGS.iter().any(|end| name.ends_with(end)) {
        return true;
    }
    let is_text = has(AGENT_TEXT_EXTENSIONS, &extension(name));
    is_text
        && !name.starts_with("README")
        && folders.split('/').any(|part| has(AGENT_FOLDERS, part))
}

/// Names of files that instruct agents.
const AGENT_NAMES: &[&str] = &[
    ".cursorrules",
    ".windsurfrules",
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    "SKILL.md",
    "copilot-instructions.md",
];
/// Endings of files that instruct agents.
const AGENT_ENDINGS: &[&str] =
    &[".agent.md", ".chatmode.md", ".instructions.md", ".mdc", ".prompt", ".prompt.md"];
/// Folders whose text files instruct agents.
const AGENT_FOLDERS: &[&str] =
    &[".agents", ".claude", ".codex", ".cursor", ".gemini", "agents", "prompts", "skills"];
/// Extensions of the text files in [`AGENT_FOLDERS`] that instruct agents.
const AGENT_TEXT_EXTENSIONS: &[&str] = &["markdown", "md", "txt"];

/// Names of documentation, with or without `.txt`. In upper case only, since `install` is a
/// program.
const PROSE_NAMES: &[&str] = &[
    "AUTHORS",
    "CHANGELOG",
    "CHANGES",
    "CONTRIBUTING",
    "CONTRIBUTORS",
    "COPYING",
    "COPYRIGHT",
    "HISTORY",
    "INSTALL",
    "LICENCE",
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "MAINTAINERS",
    "NEWS",
    "NOTICE",
    "PATENTS",
    "README",
    "SECURITY",
    "THANKS",
    "TODO",
    "UNLICENSE",
];

/// Code in languages that crh does not parse.
const EXECUTABLE_EXTENSIONS: &[&str] = &[
    "applescript",
    "asm",
    "asp",
    "aspx",
    "astro",
    "awk",
    "bash",
    "bat",
    "bats",
    "bazel",
    "bzl",
    "cgi",
    "cjs",
    "clj",
    "cljc",
    "cljs",
    "cmake",
    "cmd",
    "coffee",
    "command",
    "cr",
    "csh",
    "cshtml",
    "css",
    "csx",
    "cu",
    "cuh",
    "d",
    "dart",
    "ejs",
    "el",
    "elm",
    "erb",
    "erl",
    "ex",
    "exp",
    "exs",
    "f",
    "f90",
    "fcgi",
    "fish",
    "frag",
    "fs",
    "fsx",
    "gd",
    "glsl",
    "gql",
    "gradle",
    "graphql",
    "groovy",
    "haml",
    "handlebars",
    "hbs",
    "hcl",
    "hlsl",
    "hrl",
    "hs",
    "hta",
    "htm",
    "html",
    "inc",
    "inl",
    "ipynb",
    "j2",
    "jinja",
    "jinja2",
    "jl",
    "jsp",
    "jspx",
    "ksh",
    "less",
    "lhs",
    "liquid",
    "lisp",
    "lua",
    "m",
    "mak",
    "mdx",
    "metal",
    "mjml",
    "mk",
    "ml",
    "mli",
    "mm",
    "move",
    "mustache",
    "nim",
    "nix",
    "njk",
    "nu",
    "pas",
    "php3",
    "php4",
    "php5",
    "php7",
    "phps",
    "pht",
    "phtml",
    "pl",
    "plsql",
    "pm",
    "prisma",
    "pro",
    "proto",
    "ps1",
    "ps1xml",
    "psd1",
    "psm1",
    "pug",
    "pxd",
    "pyx",
    "r",
    "rake",
    "razor",
    "re",
    "reg",
    "rego",
    "rkt",
    "s",
    "sass",
    "sbt",
    "scala",
    "scm",
    "scpt",
    "scss",
    "sh",
    "slim",
    "sol",
    "sql",
    "star",
    "styl",
    "sv",
    "svelte",
    "tcl",
    "tcsh",
    "tf",
    "thrift",
    "tmpl",
    "tpl",
    "twig",
    "v",
    "vb",
    "vbe",
    "vbs",
    "vert",
    "vhd",
    "vhdl",
    "vim",
    "vue",
    "wat",
    "wgsl",
    "wsf",
    "wsgi",
    "wsh",
    "xonsh",
    "xsh",
    "xsl",
    "xslt",
    "zig",
    "zsh",
];

const CONFIG_EXTENSIONS: &[&str] = &[
    "cfg",
    "cnf",
    "conf",
    "config",
    "csproj",
    "cue",
    "dhall",
    "dockerfile",
    "dockerignore",
    "editorconfig",
    "entitlements",
    "env",
    "eslintignore",
    "eslintrc",
    "fsproj",
    "gitattributes",
    "gitignore",
    "gitmodules",
    "ini",
    "json",
    "json5",
    "jsonc",
    "kdl",
    "mailmap",
    "npmignore",
    "npmrc",
    "nvmrc",
    "pbxproj",
    "plist",
    "prettierignore",
    "prettierrc",
    "properties",
    "props",
    "ron",
    "service",
    "sln",
    "targets",
    "tfvars",
    "toml",
    "vbproj",
    "vcxproj",
    "webmanifest",
    "xcconfig",
    "xml",
    "yaml",
    "yml",
];

const OTHER_EXTENSIONS: &[&str] = &[
    "csv", "diff", "eps", "geojson", "jsonl", "log", "ndjson", "patch", "po", "pot", "ps", "snap",
    "srt", "svg", "tsv", "vtt", "xlf", "xliff",
];

/// Role by the whole file name.
fn role_of_name(name: &str) -> Option<FileRole> {
    match name {
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | "CMakeLists.txt"
        | "meson.build" | "BUILD" | "WORKSPACE" | "Jenkinsfile" | "Procfile" | "Earthfile"
        | "Tiltfile" | "Fastfile" | "Dangerfile" => return Some(FileRole::Executable),
        "Dockerfile" | "Containerfile" | "CODEOWNERS" | "go.mod" | "go.work" | "robots.txt"
        | "constraints.txt" | "runtime.txt" | "VERSION" => return Some(FileRole::Config),
        _ => {}
    }
    if known_names::lock_file(name).is_some() {
        return Some(FileRole::Config);
    }
    if name.starts_with("Dockerfile.") || name.starts_with(".env.") {
        return Some(FileRole::Config);
    }
    if name.starts_with("requirements") && name.ends_with(".txt") {
        return Some(FileRole::Config);
    }
    let stem = name.strip_suffix(".txt").unwrap_or(name);
    has(PROSE_NAMES, stem).then_some(FileRole::Prose)
}

/// Folders of tests and fixtures. `spec` is not in the list, since it may hold specifications.
const TEST_FOLDERS: &[&str] = &[
    "__mocks__",
    "__snapshots__",
    "__tests__",
    "androidTest",
    "cypress",
    "e2e",
    "integration-tests",
    "integration_tests",
    "test",
    "testdata",
    "tests",
];

/// Whether a file is a test or test data, by its folder or name.
fn is_test(path: &str, name: &str, extension: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let is_test_folder = |part: &str| {
        // .NET projects and Swift targets: `Shop.Tests`, `ShopTests`.
        has(TEST_FOLDERS, part) || part.ends_with("Tests") || part.ends_with(".Test")
    };
    if folders.split('/').any(is_test_folder) {
        return true;
    }
    if extension == "rb" && folders.split('/').any(|part| part == "spec") {
        return true;
    }
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    match extension {
        "py" => {
            stem.starts_with("test_")
                || stem.ends_with("_test")
                || has(&["conftest", "tests"], stem)
        }
        "rs" => {
            has(&["tests", "test"], stem) || stem.ends_with("_test") || stem.ends_with("_tests")
        }
        "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" | "vue" | "svelte" => {
            [".test", ".spec", ".cy", ".e2e"].iter().any(|end| stem.ends_with(end))
        }
        "java" | "kt" | "kts" | "scala" | "groovy" | "cs" | "fs" | "vb" | "swift" | "php" => {
            ["Test", "Tests"].iter().any(|end| stem.ends_with(end))
        }
        "rb" => stem.starts_with("test_") || stem.ends_with("_test") || stem.ends_with("_spec"),
        "c" | "cc" | "cpp" | "cxx" | "h" | "hpp" => {
            ["_test", "_tests", "_unittest"].iter().any(|end| stem.ends_with(end))
        }
        "go" | "exs" | "ex" | "dart" | "lua" | "zig" | "erl" | "clj" => stem.ends_with("_test"),
        "bats" | "feature" => true,
        _ => false,
    }
}

/// Start of a line comment, where it is unambiguous.
fn comment_start(path: &str, name: &str, extension: &str) -> Option<&'static str> {
    if let Some(language) = Language::from_path(path) {
        return Some(match language {
            Language::Python | Language::Ruby => "#",
            Language::JavaScript
            | Language::TypeScript
            | Language::Tsx
            | Language::Rust
            | Language::Go
            | Language::Java
            | Language::C
            | Language::Cpp
            | Language::CSharp
            | Language::Php
            | Language::Kotlin
            | Language::Swift => "//",
        });
    }
    let is_make = has(&["Makefile", "makefile", "GNUmakefile", "justfile", "CMakeLists.txt"], name);
    if is_make || name.starts_with("Dockerfile") || name == "Containerfile" {
        return Some("#");
    }
    match extension {
        "bash" | "bats" | "bazel" | "bzl" | "cmake" | "conf" | "cr" | "dockerfile" | "env"
        | "ex" | "exs" | "feature" | "fish" | "gql" | "graphql" | "hcl" | "jl" | "ksh" | "mk"
        | "nim" | "nix" | "pl" | "pm" | "properties" | "ps1" | "pyx" | "r" | "rego" | "sh"
        | "star" | "tcl" | "tf" | "tfvars" | "toml" | "yaml" | "yml" | "zsh" => Some("#"),
        "cu" | "d" | "dart" | "fs" | "fsx" | "glsl" | "gradle" | "groovy" | "json5" | "jsonc"
        | "less" | "metal" | "mm" | "proto" | "scala" | "scss" | "sol" | "sv" | "thrift"
        | "wgsl" | "zig" => Some("//"),
        "elm" | "hs" | "lua" | "sql" | "vhd" | "vhdl" => Some("--"),
        "clj" | "cljc" | "cljs" | "el" | "ini" | "lisp" | "scm" => Some(";"),
        _ => None,
    }
}
