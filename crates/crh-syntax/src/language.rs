//! Supported languages, their file names and grammars.

use std::fmt;

/// Maximum bytes to read after `#!`. Operating systems read no more.
const INTERPRETER_LINE_MAX: usize = 256;

/// A language with a grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// Python 3.
    Python,
    /// JavaScript, with JSX.
    JavaScript,
    /// TypeScript without JSX.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Rust.
    Rust,
    /// Go.
    Go,
    /// Java.
    Java,
    /// Ruby.
    Ruby,
    /// C.
    C,
    /// C++.
    Cpp,
    /// C#.
    CSharp,
    /// PHP, with the HTML around it.
    Php,
    /// Kotlin.
    Kotlin,
    /// Swift.
    Swift,
}

impl Language {
    /// Every language, in the order of the enum.
    pub const ALL: [Self; 14] = [
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Rust,
        Self::Go,
        Self::Java,
        Self::Ruby,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Php,
        Self::Kotlin,
        Self::Swift,
    ];

    /// Language of a file by its name. `.h` counts as C, although C++ headers can have this
    /// extension, too.
    pub fn from_path(path: &str) -> Option<Self> {
        // Git quotes names that are not UTF-8. Backslashes in them are escapes, not separators.
        let name = match path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) {
            Some(path) => path.rsplit('/').next().unwrap_or(path),
            None => path.rsplit(['/', '\\']).next().unwrap_or(path),
        };
        match name {
            "Rakefile" | "Gemfile" | "Guardfile" | "Vagrantfile" | "Podfile" | "Brewfile" => {
                return Some(Self::Ruby);
            }
            _ => {}
        }
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        // To Unix compilers, these extensions in capitals mean C++.
        if matches!(extension, "C" | "H") {
            return Some(Self::Cpp);
        }
        match extension.to_ascii_lowercase().as_str() {
            "py" | "pyi" | "pyw" => Some(Self::Python),
            "js" | "jsx" | "mjs" | "cjs" => Some(Self::JavaScript),
            "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" => Some(Self::Tsx),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            "java" => Some(Self::Java),
            "rb" | "rake" | "gemspec" | "ru" => Some(Self::Ruby),
            "c" | "h" => Some(Self::C),
            "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp" | "tpp" => {
                Some(Self::Cpp)
            }
            "cs" | "csx" => Some(Self::CSharp),
            "php" | "phtml" => Some(Self::Php),
            "kt" | "kts" => Some(Self::Kotlin),
            "swift" => Some(Self::Swift),
            _ => None,
        }
    }

    /// Language of a file by its name, otherwise by the interpreter in its first line.
    pub fn of_file(path: &str, text: &[u8]) -> Option<Self> {
        Self::from_path(path).or_else(|| Self::from_interpreter(text))
    }

    fn from_interpreter(text: &[u8]) -> Option<Self> {
        match interpreter(text)?.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.') {
            "python" | "pypy" | "uv" => Some(Self::Python),
            "node" | "nodejs" => Some(Self::JavaScript),
            "bun" | "deno" | "ts-node" | "tsx" => Some(Self::TypeScript),
            "ruby" | "jruby" | "rake" => Some(Self::Ruby),
            "php" => Some(Self::Php),
            "swift" => Some(Self::Swift),
            "kotlin" => Some(Self::Kotlin),
            "rust-script" => Some(Self::Rust),
            _ => None,
        }
    }

    /// Language by a common name, in any case: `python`, `ts`, `c++`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "python" | "python3" | "py" => Some(Self::Python),
            "javascript" | "js" | "jsx" | "mjs" | "cjs" | "javascriptreact" => {
                Some(Self::JavaScript)
            }
            "typescript" | "ts" | "mts" | "cts" => Some(Self::TypeScript),
            "tsx" | "typescriptreact" => Some(Self::Tsx),
            "rust" | "rs" => Some(Self::Rust),
            "go" | "golang" => Some(Self::Go),
            "java" => Some(Self::Java),
            "ruby" | "rb" => Some(Self::Ruby),
            "c" => Some(Self::C),
            "cpp" | "c++" | "cxx" | "cc" => Some(Self::Cpp),
            "csharp" | "c#" | "cs" | "c-sharp" => Some(Self::CSharp),
            "php" => Some(Self::Php),
            "kotlin" | "kt" | "kts" => Some(Self::Kotlin),
            "swift" => Some(Self::Swift),
            _ => None,
        }
    }

    /// Lower-case name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::Rust => "rust",
            Self::Go => "go",
            Self::Java => "java",
            Self::Ruby => "ruby",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::CSharp => "csharp",
            Self::Php => "php",
            Self::Kotlin => "kotlin",
            Self::Swift => "swift",
        }
    }

    /// Grammar, for code that searches the trees of [`crate::SyntaxTree`]. Parse texts only with
    /// [`crate::SyntaxTree`], because some texts make a grammar kill the process.
    pub fn grammar(self) -> tree_sitter::Language {
        let grammar = match self {
            Self::Python => tree_sitter_python::LANGUAGE,
            Self::JavaScript => tree_sitter_javascript::LANGUAGE,
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT,
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX,
            Self::Rust => tree_sitter_rust::LANGUAGE,
            Self::Go => tree_sitter_go::LANGUAGE,
            Self::Java => tree_sitter_java::LANGUAGE,
            Self::Ruby => tree_sitter_ruby::LANGUAGE,
            Self::C => tree_sitter_c::LANGUAGE,
            Self::Cpp => tree_sitter_cpp::LANGUAGE,
            Self::CSharp => tree_sitter_c_sharp::LANGUAGE,
            Self::Php => tree_sitter_php::LANGUAGE_PHP,
            Self::Kotlin => tree_sitter_kotlin_ng::LANGUAGE,
            Self::Swift => tree_sitter_swift::LANGUAGE,
        };
        grammar.into()
    }
}

/// The program that a script's first line names: `bash` for `#!/usr/bin/env -S bash -e`.
pub fn interpreter(text: &[u8]) -> Option<&str> {
    let line = text.split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
    let line = std::str::from_utf8(&line[..line.len().min(INTERPRETER_LINE_MAX)]).ok()?;
    let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    words.find(|word| *word != "env" && !word.starts_with('-') && !word.contains('='))
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
