//! What a file is for, by its path alone, and its changed lines counted by that.
//!
//! What nobody knows counts as executable, so that no change looks smaller than it is. For the same reason a
//! file that makes others run is executable even if it is called configuration: a `Makefile`, a `justfile`, a
//! `CMakeLists.txt`, Terraform, notebooks, templates, `.mdx`. A `Dockerfile` and the files of CI services are
//! configuration: they choose what runs, in a form that is mostly data.
//!
//! Not done: tests inside a source file (`#[cfg(test)]`) count as executable. To tell them apart, both versions
//! of every changed file would have to be read and parsed.

use serde::Serialize;

use super::known;
use crh_review::diff::{Diff, FileDiff, LineKind};
use crh_syntax::Language;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// It runs, or nobody knows that it does not.
    Executable,
    /// It tests what runs.
    Test,
    /// People read it.
    Prose,
    /// Programs are set up by it.
    Config,
    /// Data: tables, translations, drawings, recorded output; where a link points.
    Other,
}

/// Changed lines, counted by what they are for.
///
/// A blank line is blank in any file. A line of a program, a test or a configuration that is nothing but a
/// one-line comment is prose; comments in blocks count as what is around them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Lines {
    /// Lines that run.
    pub executable: u64,
    /// Lines of tests.
    pub test: u64,
    /// Lines for people.
    pub prose: u64,
    /// Lines of configuration.
    pub config: u64,
    /// Lines of data.
    pub other: u64,
    /// Lines with nothing on them.
    pub blank: u64,
}

/// What a path tells about a file.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(super) role: Role,
    /// Whether the role was told, not assumed.
    pub(super) is_known: bool,
    /// What starts a comment that ends with its line.
    comment: Option<&'static str>,
}

impl Lines {
    /// All lines together.
    pub fn total(&self) -> u64 {
        let Self { executable, test, prose, config, other, blank } = self;
        executable + test + prose + config + other + blank
    }

    pub(super) fn add(&mut self, more: &Self) {
        let Self { executable, test, prose, config, other, blank } = more;
        self.executable += executable;
        self.test += test;
        self.prose += prose;
        self.config += config;
        self.other += other;
        self.blank += blank;
    }

    fn count(&mut self, role: Role) {
        let count = match role {
            Role::Executable => &mut self.executable,
            Role::Test => &mut self.test,
            Role::Prose => &mut self.prose,
            Role::Config => &mut self.config,
            Role::Other => &mut self.other,
        };
        *count += 1;
    }
}

impl Kind {
    /// What a path tells about a file that is no link.
    pub(crate) fn of_path(path: &str) -> Self {
        kind(path, false)
    }

    /// What a line of the file is for; none of a blank one.
    pub(crate) fn of_line(&self, line: &[u8]) -> Option<Role> {
        match line.trim_ascii() {
            [] => None,
            text if is_comment(self, text) => Some(Role::Prose),
            _ => Some(self.role),
        }
    }
}

/// The added and the removed lines of a file.
pub(super) fn counted(kind: &Kind, diff: &Diff, file: &FileDiff) -> [Lines; 2] {
    let mut added = Lines::default();
    let mut removed = Lines::default();
    for line in file.hunks.iter().flat_map(|hunk| diff.lines(hunk)) {
        let lines = match line.kind {
            LineKind::Added => &mut added,
            LineKind::Removed => &mut removed,
            LineKind::Context | LineKind::Remark => continue,
        };
        match kind.of_line(line.text()) {
            Some(role) => lines.count(role),
            None => lines.blank += 1,
        }
    }
    [added, removed]
}

/// Whether a line is a comment for people. One that goes on without a space (`#!/bin/sh`, `//go:build`, `#pragma`)
/// is read by a program.
fn is_comment(kind: &Kind, text: &[u8]) -> bool {
    let Some(rest) = kind.comment.and_then(|start| text.strip_prefix(start.as_bytes())) else {
        return false;
    };
    let more = rest.iter().take_while(|byte| matches!(byte, b'/' | b'#' | b'-' | b';')).count();
    let rest = &rest[more..];
    // `//!` opens the documentation of a Rust module; after `#` the sign would be a shebang.
    let rest =
        if kind.comment == Some("//") { rest.strip_prefix(b"!").unwrap_or(rest) } else { rest };
    rest.first().is_none_or(u8::is_ascii_whitespace)
}

/// What a path tells. A link is data, whatever it is called.
pub(super) fn kind(path: &str, is_link: bool) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let extension = extension(name);
    let (role, is_known) = if is_link {
        (Role::Other, true)
    } else if has(PROSE_EXTENSIONS, &extension) {
        (Role::Prose, true)
    } else if is_test(path, name, &extension) {
        (Role::Test, true)
    } else if let Some(role) = role_of_name(name) {
        (role, true)
    } else if has(EXECUTABLE_EXTENSIONS, &extension) || Language::of_path(path).is_some() {
        (Role::Executable, true)
    } else if has(CONFIG_EXTENSIONS, &extension) {
        (Role::Config, true)
    } else if has(OTHER_EXTENSIONS, &extension) {
        (Role::Other, true)
    } else if extension == "txt" {
        (Role::Prose, true)
    } else {
        (Role::Executable, false)
    };
    let comment = match role {
        Role::Executable | Role::Test | Role::Config => comment_start(path, name, &extension),
        Role::Prose | Role::Other => None,
    };
    Kind { role, is_known, comment }
}

/// The extension in lower case; a name that starts with its only dot (`.env`) is one.
fn extension(name: &str) -> String {
    name.rsplit_once('.').map_or_else(String::new, |(_, extension)| extension.to_ascii_lowercase())
}

fn has(list: &[&str], word: &str) -> bool {
    list.contains(&word)
}

/// `.txt` is not here, since tests and build tools have such files too.
const PROSE_EXTENSIONS: &[&str] =
    &["md", "markdown", "rst", "adoc", "asciidoc", "org", "tex", "textile", "pod", "rdoc"];

/// Names, with `.txt` or without; in upper case only, since `install` is a program.
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

/// Programs beside those whose language is parsed.
const EXECUTABLE_EXTENSIONS: &[&str] = &[
    "asm",
    "astro",
    "awk",
    "bash",
    "bat",
    "bazel",
    "bzl",
    "cjs",
    "clj",
    "cljc",
    "cljs",
    "cmake",
    "cmd",
    "coffee",
    "cr",
    "cshtml",
    "css",
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
    "exs",
    "f",
    "f90",
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
    "html",
    "htm",
    "inl",
    "ipynb",
    "j2",
    "jinja",
    "jinja2",
    "jl",
    "jsp",
    "ksh",
    "less",
    "lhs",
    "liquid",
    "lisp",
    "lua",
    "m",
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
    "pl",
    "plsql",
    "pm",
    "prisma",
    "pro",
    "proto",
    "ps1",
    "psm1",
    "pug",
    "pxd",
    "pyx",
    "r",
    "razor",
    "re",
    "rego",
    "rkt",
    "s",
    "sass",
    "sbt",
    "scala",
    "scm",
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
    "tf",
    "thrift",
    "tpl",
    "tmpl",
    "twig",
    "v",
    "vb",
    "vert",
    "vhd",
    "vhdl",
    "vim",
    "vue",
    "wat",
    "wgsl",
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

/// What a whole name tells.
fn role_of_name(name: &str) -> Option<Role> {
    match name {
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile" | "CMakeLists.txt"
        | "meson.build" | "BUILD" | "WORKSPACE" | "Jenkinsfile" | "Procfile" | "Earthfile"
        | "Tiltfile" | "Fastfile" | "Dangerfile" => return Some(Role::Executable),
        "Dockerfile" | "Containerfile" | "CODEOWNERS" | "go.mod" | "go.work" | "robots.txt"
        | "constraints.txt" | "runtime.txt" | "VERSION" => return Some(Role::Config),
        _ => {}
    }
    if known::lock_file(name).is_some() {
        return Some(Role::Config);
    }
    if name.starts_with("Dockerfile.") || name.starts_with(".env.") {
        return Some(Role::Config);
    }
    if name.starts_with("requirements") && name.ends_with(".txt") {
        return Some(Role::Config);
    }
    let stem = name.strip_suffix(".txt").unwrap_or(name);
    has(PROSE_NAMES, stem).then_some(Role::Prose)
}

/// Folders that hold tests and what tests need. `spec` is not here: it is also where specifications are kept.
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

/// Whether a path is that of a test, as test runners find them.
fn is_test(path: &str, name: &str, extension: &str) -> bool {
    let folders = path.rsplit_once('/').map_or("", |(folders, _)| folders);
    let is_folder = |part: &str| {
        // .NET and Swift name a project or a target so: `Shop.Tests`, `ShopTests`.
        has(TEST_FOLDERS, part) || part.ends_with("Tests") || part.ends_with(".Test")
    };
    if folders.split('/').any(is_folder) {
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

/// What starts a comment that ends with its line, where one sign is enough to be sure.
fn comment_start(path: &str, name: &str, extension: &str) -> Option<&'static str> {
    if let Some(language) = Language::of_path(path) {
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
