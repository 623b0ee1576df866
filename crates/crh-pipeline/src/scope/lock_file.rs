//! Recognises lock files by their content. Code that only has the name of a lock file is reviewed.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LockFormat {
    Json,
    /// TOML and HCL: assignments and tables.
    Assignments,
    /// YAML and the first format of Yarn: indented keys.
    Keys,
    /// `MODULE VERSION HASH`
    GoSum,
    /// An Elixir map. Mix evaluates the file, so every line must be an entry without a call.
    ElixirMap,
    /// Erlang terms.
    Terms,
    /// Headings in capitals or `key: value`, and indented names with versions.
    Sections,
}

/// Whether all lines fit the format of a lock file with this name.
pub(super) fn has_lock_content<'a>(name: &str, lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let format = lock_format(name);
    let mut scalar_indent = None;
    for line in lines {
        let Ok(line) = std::str::from_utf8(line) else { return false };
        let line = line.strip_prefix('\u{feff}').unwrap_or(line).trim_end();
        let indent = line.len() - line.trim_start().len();
        if line.is_empty() {
            continue;
        }
        if scalar_indent.is_some_and(|start| indent > start) {
            // With these characters, the line could be shell code.
            if line.contains(['|', '&', '$', '<', '>']) {
                return false;
            }
            continue;
        }
        scalar_indent = None;
        // pnpm stores the deprecation messages of packages as text of several lines.
        if name == "pnpm-lock.yaml"
            && indent > 0
            && [": |", ": |-", ": >", ": >-"].iter().any(|end| line.ends_with(end))
        {
            scalar_indent = Some(indent);
        } else if format == LockFormat::Keys && line.ends_with(['|', '&', ';']) {
            return false;
        }
        if !fits(format, line, indent) {
            return false;
        }
    }
    true
}

fn lock_format(name: &str) -> LockFormat {
    match name {
        "Cargo.lock"
        | "poetry.lock"
        | "pdm.lock"
        | "uv.lock"
        | "pylock.toml"
        | ".terraform.lock.hcl" => LockFormat::Assignments,
        "pnpm-lock.yaml" | "pubspec.lock" | "Podfile.lock" | "Chart.lock" | "buf.lock"
        | "pixi.lock" | "stack.yaml.lock" | "shard.lock" | "yarn.lock" => LockFormat::Keys,
        "go.sum" | "go.work.sum" => LockFormat::GoSum,
        "mix.lock" => LockFormat::ElixirMap,
        "rebar.lock" => LockFormat::Terms,
        "Gemfile.lock"
        | "gems.locked"
        | "Berksfile.lock"
        | "Puppetfile.lock"
        | "paket.lock"
        | "cabal.project.freeze"
        | "gradle.lockfile"
        | "Cartfile.resolved" => LockFormat::Sections,
        _ => LockFormat::Json,
    }
}

fn fits(format: LockFormat, line: &str, indent: usize) -> bool {
    let has_hash_comments = match format {
        LockFormat::Assignments | LockFormat::Keys | LockFormat::Sections => true,
        LockFormat::Json | LockFormat::GoSum | LockFormat::ElixirMap | LockFormat::Terms => false,
    };
    let line = line.trim();
    if has_hash_comments && line.starts_with('#') {
        // A line that starts with `#!` would make the file a script.
        return !line.starts_with("#!");
    }
    match format {
        LockFormat::Json => json_line(line),
        LockFormat::Assignments => assignment_line(line),
        LockFormat::Keys => key_line(line, indent),
        LockFormat::GoSum => {
            let words: Vec<&str> = line.split(' ').collect();
            matches!(words[..], [_, version, hash] if version.starts_with('v') && hash.starts_with("h1:"))
        }
        LockFormat::ElixirMap => {
            let is_entry = line.starts_with('"') && line.contains("\": {:") && !line.contains("#{");
            ["%{", "}"].contains(&line) || is_entry && is_term(line)
        }
        LockFormat::Terms => is_term(line),
        LockFormat::Sections => section_line(line, indent),
    }
}

fn is_term(line: &str) -> bool {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "%{}[]<>:,._\" ".contains(char);
    unquoted(line).is_some_and(|rest| rest.chars().all(is_plain))
}

/// A line without its quoted strings; `None` if a string is not closed.
fn unquoted(line: &str) -> Option<String> {
    let mut rest = String::new();
    let mut chars = line.chars();
    while let Some(char) = chars.next() {
        if char != '"' && char != '\'' {
            rest.push(char);
            continue;
        }
        let quote = char;
        rest.push('"');
        loop {
            match chars.next()? {
                '\\' if quote == '"' => {
                    chars.next();
                }
                char if char == quote => break,
                _ => {}
            }
        }
    }
    Some(rest)
}

fn json_line(line: &str) -> bool {
    let is_word = |word: &str| {
        word.is_empty()
            || ["true", "false", "null"].contains(&word)
            || word.chars().all(|char| char.is_ascii_digit() || "+-.eE".contains(char))
    };
    !line.contains('\'')
        && unquoted(line).is_some_and(|rest| {
            rest.split(['{', '}', '[', ']', ':', ',', ' ', '\t', '"']).all(is_word)
        })
}

fn assignment_line(line: &str) -> bool {
    let Some(rest) = unquoted(line) else { return false };
    let has_only_data =
        rest.chars().all(|char| char.is_ascii_alphanumeric() || "\"_.-=[]{},:+ \t#".contains(char));
    // Besides assignments, lines hold tables, list items, and blocks such as `provider "x" {`.
    let has_structure =
        rest.contains('=') || rest.starts_with(['[', ']', '{', '}', '"']) || rest.ends_with("\" {");
    has_only_data && has_structure
}

fn key_line(line: &str, indent: usize) -> bool {
    if line == "---" || line.starts_with("- ") || line.starts_with("? ") {
        return true;
    }
    let Some(rest) = unquoted(line) else { return false };
    if let Some(keys) = rest.strip_suffix(':') {
        // Yarn joins several keys by `, `. A key has no blank unless it is quoted.
        return keys.split(", ").all(|key| !key.contains([' ', '(', '=']) || key.contains('@'));
    }
    let Some((key, value)) = rest.split_once(' ') else { return false };
    let is_key = |key: &str| !key.is_empty() && !key.contains(['(', '=', '$', ';']);
    match key.strip_suffix(':') {
        Some(key) => is_key(key),
        // Yarn's first format: `version "1.2.3"`.
        None => {
            let is_word = ["version", "resolved", "integrity"].contains(&key);
            indent > 0 && is_key(key) && (is_word || value == "\"")
        }
    }
}

fn section_line(line: &str, indent: usize) -> bool {
    let is_plain = line
        .chars()
        .all(|char| char.is_ascii_alphanumeric() || " \"._-+()<>=~!,:/@?*".contains(char));
    let is_heading = || !line.chars().any(|char| char.is_ascii_lowercase());
    let has_key = || {
        let parts = line.split_once(':');
        parts.is_some_and(|(key, value)| !key.contains([' ', '(']) && !value.is_empty())
    };
    // Gradle: `group:name:version=configuration`. Carthage: `github "owner/name" "1.0"`.
    let is_pinned = || {
        line.starts_with("empty=")
            || ["github ", "git ", "binary "].iter().any(|start| line.starts_with(start))
    };
    // A call has a bracket directly after a name, or a quoted text.
    let has_call = || {
        let mut calls =
            line.match_indices('(').filter(|(at, _)| !line[..*at].ends_with([' ', '(']));
        line.contains('"') || calls.next().is_some_and(|(at, _)| at > 0)
    };
    is_plain && (is_pinned() || !has_call() && (indent > 0 || is_heading() || has_key()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, text: &str) -> bool {
        has_lock_content(name, text.lines().map(str::as_bytes))
    }

    #[test]
    fn lock_files_of_package_managers_are_recognised() {
        for (name, text) in [
            (
                "Cargo.lock",
                "# This file is automatically @generated by Cargo.\nversion = 4\n\n[[package]]\nname = \"aho\"\nsource = \"registry+https://x\"\ndependencies = [\n \"memchr 2.0 (a)\",\n]\n",
            ),
            (
                "poetry.lock",
                "[[package]]\nname = \"a\"\ndescription = \"It's $(x); \\\"y\\\"\"\nfiles = [\n    {file = \"a.whl\", hash = \"sha256:00\"},\n]\n\n[package.dependencies]\nb = {version = \">=1\", markers = \"a < 'b'\"}\n",
            ),
            (
                "package-lock.json",
                "{\n  \"name\": \"a\",\n  \"lockfileVersion\": 3,\n  \"requires\": true,\n  \"packages\": {\"\": {\"x\": [1.5, null]}}\n}\n",
            ),
            (
                "yarn.lock",
                "# yarn lockfile v1\n\n\n\"@a/b@^7\", \"@a/b@^7.1\":\n  version \"7.1\"\n  resolved \"https://x#1\"\n  integrity sha512-a==\n  dependencies:\n    \"@a/c\" \"^1\"\n    d \"^1\"\n\nabbrev@1, abbrev@^1.0.0:\n  version \"1\"\n",
            ),
            (
                "yarn.lock",
                "__metadata:\n  version: 6\n\n\"a@npm:^1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n  bin:\n    a: ./bin/a.js\n  languageName: node\n",
            ),
            (
                "pnpm-lock.yaml",
                "lockfileVersion: '9.0'\n\npackages:\n\n  '@a/b@7.0.0(c@5)':\n    resolution: {integrity: sha512-x==}\n    engines: {node: '>=6.9'}\n    deprecated: Use d instead, it is (much) better; really\n    hasBin: true\n  a@1.0.0:\n    text: |-\n      import os\n",
            ),
            ("go.sum", "a.b/c v1.2.3 h1:aaa=\na.b/c v1.2.3/go.mod h1:bbb=\n"),
            (
                "Gemfile.lock",
                "GEM\n  remote: https://rubygems.org/\n  specs:\n    rails (7.0.1)\n      a (= 7.0.1)\n\nPLATFORMS\n  x86_64-linux\n\nDEPENDENCIES\n  rails!\n\nBUNDLED WITH\n   2.4.1\n",
            ),
            (
                "mix.lock",
                "%{\n  \"a\": {:hex, :a, \"1.0\", \"00\", [:mix], [{:b, \"~> 1\", [hex: :b, optional: false]}], \"hexpm\", \"00\"},\n}\n",
            ),
            ("Podfile.lock", "PODS:\n  - A (4.0.1):\n    - A/B (= 4.0.1)\n\nCOCOAPODS: 1.11.2\n"),
            (
                "gradle.lockfile",
                "# This is a file\na.b:c:1.0=compileClasspath,x\nempty=annotationProcessor\n",
            ),
            (
                ".terraform.lock.hcl",
                "provider \"registry.x/a\" {\n  version     = \"4.0\"\n  hashes = [\n    \"h1:aa=\",\n  ]\n}\n",
            ),
        ] {
            assert!(check(name, text), "{name}: {text}");
        }
    }

    #[test]
    fn code_is_not_a_lock_file() {
        for (name, text) in [
            ("poetry.lock", "import os\nos.system('x')\n"),
            ("poetry.lock", "#!/bin/sh\n"),
            ("poetry.lock", "a = \"1\"\nb = exec(\"x\")\n"),
            ("Cargo.lock", "curl https://x | sh\n"),
            ("package-lock.json", "require('child_process').exec(\"x\")\n"),
            ("package-lock.json", "{\"a\": (0, eval)(\"x\")}\n"),
            ("yarn.lock", "import os\n"),
            ("yarn.lock", "try:\n    import evil\n"),
            ("yarn.lock", "def f():\n    pass\n"),
            ("pnpm-lock.yaml", "eval(\"x\")\n"),
            ("go.sum", "package main\n"),
            ("Gemfile.lock", "GEM\nsystem \"x\"\n"),
            ("Gemfile.lock", "`curl x`\n"),
            ("mix.lock", "System.cmd(\"x\", [])\n"),
            ("mix.lock", "System.cmd \"sh\", [\"-c\", \"x\"]\n%{\n}\n"),
            ("mix.lock", "%{\n  \"a\": {:hex, :a, \"#{System.halt()}\"},\n}\n"),
            ("Gemfile.lock", "try:\n  import os\n  os.system(\"x\")\nexcept:\n  pass\n"),
            ("yarn.lock", "x: |\n  curl https://x | sh\n"),
            ("pnpm-lock.yaml", "packages:\n  a:\n    deprecated: |\n      curl https://x | sh\n"),
            ("bun.lock", "console.log(1)\n"),
        ] {
            assert!(!check(name, text), "{name}: {text}");
        }
    }
}
