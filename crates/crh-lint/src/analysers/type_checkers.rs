//! Type checkers and compilers: `cargo check`, `mypy`, `pyright`, `go vet` and `javac`. They run
//! only on trusted changes, because they need the whole tree and installed dependencies, and
//! because builds run code of the project.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Deserialize;

use super::analyser::{Analyser, AnalyserInput, TrustedRepo, path_argument};
use super::diagnostic::{AnalyserReport, Diagnostic};
use super::names::TypeChecker;
use super::output::{parse_json, stderr_summary};
use super::scratch::Scratch;
use crate::Project;
use crate::installation::InstalledProgram;
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_os::files::symlink;
use crh_review::finding::{Category, Confidence, Severity, Side};

/// A large project takes minutes, and nothing is cached between the two sides.
pub(super) const TIMEOUT: Duration = Duration::from_secs(300);
/// Maximum errors that `javac` prints. With its own limit of 100, old errors would hide new ones.
const JAVAC_ERRORS: &str = "1000";
/// Rules about modules that are not installed. crh drops their errors.
const NOT_INSTALLED_RULES: [&str; 4] =
    ["import-not-found", "import-untyped", "reportMissingImports", "reportMissingModuleSource"];

impl TypeChecker {
    /// Whether the project uses this checker, judged by files in its root folder. crh uses `javac`
    /// if there is no file of a build tool for Java.
    pub(super) fn is_used(self, project: &dyn Project) -> bool {
        let text = |path: &str| project.file(Side::New, path).ok().flatten();
        let exists = |path: &str| text(path).is_some();
        let has = |path: &str, section: &str| {
            text(path).is_some_and(|text| String::from_utf8_lossy(&text).contains(section))
        };
        match self {
            Self::CargoCheck => exists("Cargo.toml"),
            Self::GoVet => exists("go.mod"),
            Self::Mypy => {
                exists("mypy.ini")
                    || exists(".mypy.ini")
                    || has("pyproject.toml", "[tool.mypy")
                    || has("setup.cfg", "[mypy")
            }
            Self::Pyright => exists("pyrightconfig.json") || has("pyproject.toml", "[tool.pyright"),
            Self::Javac => !["pom.xml", "build.gradle", "build.gradle.kts", "build.xml"]
                .into_iter()
                .any(exists),
        }
    }

    /// Whether the output says that dependencies are missing. Other errors may result from that.
    fn misses_dependencies(self, output: &str) -> bool {
        let signs: &[&str] = match self {
            Self::GoVet => &["no required module provides package", "missing go.sum entry"],
            Self::Javac => &["does not exist\n"],
            Self::CargoCheck | Self::Mypy | Self::Pyright => &[],
        };
        signs.iter().any(|sign| output.contains(sign))
    }

    /// Parses a line such as `src/a.rs:3:5: error[E0308]: mismatched types`.
    fn parse_line(self, line: &str) -> Option<Diagnostic> {
        let (line, is_type_error) = match line.strip_prefix("vet: ") {
            Some(line) => (line, true),
            None => (line, self != Self::GoVet),
        };
        let (path, rest) = line.split_once(':')?;
        let (row, rest) = rest.split_once(':')?;
        let column = rest.split_once(':').filter(|(column, _)| column.parse::<u32>().is_ok());
        let message = column.map_or(rest, |(_, message)| message).trim_start();
        let (rule, message) = match self {
            Self::CargoCheck => {
                let (rule, message) = message.strip_prefix("error")?.split_once(": ")?;
                (rule.trim_matches(['[', ']']), message)
            }
            Self::Mypy => {
                let (message, rule) = message.strip_prefix("error: ")?.rsplit_once("  [")?;
                (rule.strip_suffix(']')?, message)
            }
            Self::Javac => ("", message.strip_prefix("error: ")?),
            Self::GoVet => ("", message),
            Self::Pyright => return None,
        };
        self.diagnostic(path, row.parse().ok()?, rule, message, is_type_error)
    }

    fn diagnostic(
        self,
        path: &str,
        line: u32,
        rule: &str,
        message: &str,
        is_type_error: bool,
    ) -> Option<Diagnostic> {
        if NOT_INSTALLED_RULES.contains(&rule) {
            return None;
        }
        let stops_build = matches!(self, Self::CargoCheck | Self::GoVet | Self::Javac);
        let (severity, confidence) = match stops_build && is_type_error {
            true => (Severity::P1, Confidence::thousandths(950)),
            false => (Severity::P2, Confidence::thousandths(850)),
        };
        Some(Diagnostic {
            path: path.to_owned(),
            line,
            rule: if rule.is_empty() { "error".to_owned() } else { rule.to_owned() },
            message: message.to_owned(),
            severity,
            category: Category::Bug,
            confidence,
            why: String::new(),
        })
    }
}

/// A type checker on a trusted project.
pub(super) struct TypeCheckAnalyser<'a> {
    pub(super) checker: TypeChecker,
    pub(super) trusted: &'a TrustedRepo,
    /// The `bin` folder of the Rust toolchain that the project names, if it names one and the
    /// checker is `cargo check`; or why crh cannot use that toolchain.
    pub(super) toolchain: Result<Option<PathBuf>, String>,
}

impl Analyser for TypeCheckAnalyser<'_> {
    fn handles(&self, path: &str, _: &dyn Fn() -> Vec<u8>) -> bool {
        let extension = extension(path);
        match self.checker {
            TypeChecker::CargoCheck => extension == "rs",
            TypeChecker::Mypy | TypeChecker::Pyright => matches!(extension.as_str(), "py" | "pyi"),
            TypeChecker::GoVet => extension == "go",
            TypeChecker::Javac => extension == "java",
        }
    }

    fn is_affected_by(&self, path: &str) -> bool {
        let names: &[&str] = match self.checker {
            TypeChecker::CargoCheck => &["Cargo.toml", "Cargo.lock"],
            TypeChecker::Mypy => &["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"],
            TypeChecker::Pyright => &["pyrightconfig.json", "pyproject.toml"],
            TypeChecker::GoVet => &["go.mod", "go.sum", "go.work"],
            TypeChecker::Javac => &[],
        };
        let name = path.rsplit('/').next().unwrap_or(path);
        self.handles(path, &Vec::new) || names.contains(&name)
    }

    fn input(&self) -> AnalyserInput<'_> {
        AnalyserInput::Tree(self.trusted)
    }

    fn choose_program(&self, installed: &InstalledProgram) -> InstalledProgram {
        let home = std::env::home_dir();
        match &self.toolchain {
            Ok(Some(bin)) => InstalledProgram::in_toolchain(
                bin,
                self.checker.program(),
                &installed.path,
                home.as_deref(),
            ),
            Ok(None) | Err(_) => installed.clone(),
        }
    }

    fn missing_config(&self, _: &dyn Project) -> Option<String> {
        self.toolchain.clone().err()
    }

    fn is_per_file(&self) -> bool {
        false
    }

    /// Links packages that cargo and go downloaded earlier. For cargo, also returns the tree, where
    /// cargo runs build scripts.
    fn link_dependencies(&self, scratch: &Scratch, home: &Path) -> io::Result<Vec<PathBuf>> {
        let (links, mut readable): (&[&str], Vec<PathBuf>) = match self.checker {
            TypeChecker::CargoCheck => (&[".cargo/registry", ".cargo/git"], vec![scratch.tree()]),
            TypeChecker::GoVet => (&["go/pkg/mod"], Vec::new()),
            TypeChecker::Mypy | TypeChecker::Pyright | TypeChecker::Javac => (&[], Vec::new()),
        };
        for link in links {
            let (from, to) = (home.join(link), scratch.root().join(link));
            if from.is_dir() {
                fs::create_dir_all(to.parent().unwrap_or(&to))?;
                symlink(&from, &to)?;
                readable.push(from);
            }
        }
        Ok(readable)
    }

    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String> {
        let words: &[&str] = match self.checker {
            TypeChecker::CargoCheck => {
                &["check", "--offline", "--workspace", "--all-targets", "--message-format", "short"]
            }
            TypeChecker::Mypy => &[
                "--show-error-codes",
                "--no-error-summary",
                "--no-color-output",
                "--no-pretty",
                "--hide-error-context",
                "--ignore-missing-imports",
                "--",
            ],
            TypeChecker::Pyright => &["--outputjson"],
            TypeChecker::GoVet => &["vet", "./..."],
            TypeChecker::Javac => {
                &["-proc:none", "-implicit:none", "-Xmaxerrs", JAVAC_ERRORS, "-d", "../classes"]
            }
        };
        let mut args: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match self.checker {
            TypeChecker::Mypy => {
                let is_code = |path: &&String| {
                    self.handles(path, &Vec::new) && scratch.tree().join(path).is_file()
                };
                let is_settings = |path: &String| !self.handles(path, &Vec::new);
                let code: Vec<String> = files.iter().filter(is_code).map(path_argument).collect();
                // mypy must check the same files on both sides. If a side has none of them, mypy
                // checks `pass`, which has no errors.
                match code.is_empty() {
                    false => args.extend(code),
                    true if files.iter().any(is_settings) => args.push(".".to_owned()),
                    true => {
                        args.pop();
                        args.extend(["-c", "pass"].map(str::to_owned));
                    }
                }
            }
            TypeChecker::Javac => args.push(java_sources(scratch).map_err(|why| why.to_string())?),
            TypeChecker::CargoCheck | TypeChecker::Pyright | TypeChecker::GoVet => {}
        }
        Ok(args)
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String> {
        let diagnostics: Vec<Diagnostic> = match self.checker {
            TypeChecker::Pyright => parse_pyright(output)?,
            TypeChecker::CargoCheck
            | TypeChecker::Mypy
            | TypeChecker::GoVet
            | TypeChecker::Javac => {
                let printed = [output.stdout.as_slice(), b"\n", &output.stderr].concat();
                let text = String::from_utf8_lossy(&printed);
                if self.checker.misses_dependencies(&text) {
                    return Err("dependencies of the project are not installed".to_owned());
                }
                text.lines().filter_map(|line| self.checker.parse_line(line)).collect()
            }
        };
        if diagnostics.is_empty()
            && !output.status.success()
            && self.checker != TypeChecker::Pyright
        {
            let complaint = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
            return Err(format!("failed: {}", stderr_summary(complaint)));
        }
        Ok(AnalyserReport { diagnostics, unparsed_files: Vec::new() })
    }
}

/// Writes an argument file with all Java files of the tree, and returns the argument for it.
fn java_sources(scratch: &Scratch) -> io::Result<String> {
    let tree = scratch.tree();
    let mut sources = Vec::new();
    let mut folders = vec![tree.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && path.extension().is_some_and(|it| it == "java") {
                let path = path.strip_prefix(&tree).unwrap_or(&path).to_string_lossy();
                sources.push(format!("\"{}\"\n", path.replace('\\', "\\\\").replace('"', "\\\"")));
            }
        }
    }
    sources.sort();
    let file = scratch.write_extra("sources", sources.concat().as_bytes())?;
    Ok(format!("@{}", file.display()))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PyrightOutput {
    general_diagnostics: Vec<PyrightRow>,
}

#[derive(Deserialize)]
struct PyrightRow {
    file: String,
    severity: String,
    message: String,
    #[serde(default)]
    rule: String,
    range: Option<PyrightRange>,
}

#[derive(Deserialize)]
struct PyrightRange {
    start: PyrightPosition,
}

#[derive(Deserialize)]
struct PyrightPosition {
    /// 0-based.
    line: u32,
}

fn parse_pyright(output: &ProcessOutput) -> Result<Vec<Diagnostic>, String> {
    let PyrightOutput { general_diagnostics } = parse_json(output)?;
    let errors = general_diagnostics.into_iter().filter(|row| row.severity == "error");
    let diagnostics = errors.filter_map(|row| {
        let line = row.range?.start.line.saturating_add(1);
        TypeChecker::Pyright.diagnostic(&row.file, line, &row.rule, &row.message, true)
    });
    Ok(diagnostics.collect())
}
