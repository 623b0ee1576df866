//! eslint. If the change is trusted and the project has an eslint configuration, eslint uses that.
//! Otherwise it checks only JavaScript files, with a fixed list of core rules about defects.

use std::time::Duration;

use serde::Deserialize;

use super::analyser::{Analyser, AnalyserInput, TrustedRepo, path_argument};
use super::diagnostic::{AnalyserReport, Diagnostic};
use super::output::parse_json;
use super::scratch::Scratch;
use crate::Project;
use crate::paths::extension;
use crate::process::ProcessOutput;
use crh_review::finding::{Category, Confidence, Severity, Side};

/// Rules that need type information take up to a minute.
pub(super) const TIMEOUT: Duration = Duration::from_secs(90);
/// The value of `severity` in eslint's JSON for an error.
const ERROR_SEVERITY: u8 = 2;

/// Core rules about code that fails or does not do what it says.
#[rustfmt::skip]
const RULES: &[&str] = &[
    "constructor-super", "for-direction", "getter-return", "no-async-promise-executor", "no-class-assign",
    "no-compare-neg-zero", "no-cond-assign", "no-const-assign", "no-constant-binary-expression", "no-dupe-args",
    "no-dupe-class-members", "no-dupe-else-if", "no-dupe-keys", "no-duplicate-case", "no-ex-assign",
    "no-func-assign", "no-global-assign", "no-import-assign", "no-invalid-regexp", "no-loss-of-precision",
    "no-new-native-nonconstructor", "no-obj-calls", "no-self-assign", "no-setter-return", "no-shadow-restricted-names",
    "no-this-before-super", "no-unreachable", "no-unsafe-finally", "no-unsafe-negation",
    "no-unsafe-optional-chaining", "use-isnan", "valid-typeof",
];
/// The rules of [`RULES`] about code that throws; the others are about misleading code.
#[rustfmt::skip]
const RUNTIME_ERROR_RULES: &[&str] = &[
    "constructor-super", "no-class-assign", "no-const-assign", "no-dupe-args", "no-func-assign", "no-import-assign",
    "no-invalid-regexp", "no-new-native-nonconstructor", "no-obj-calls", "no-this-before-super",
    "no-unsafe-optional-chaining",
];

/// eslint configuration files in the root of a repository.
#[rustfmt::skip]
const CONFIG_FILES: [&str; 11] = [
    "eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", "eslint.config.mts",
    ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml", ".eslintrc",
];

pub(super) struct EslintAnalyser<'a> {
    /// Set if the project's own configuration is used.
    pub(super) trusted: Option<&'a TrustedRepo>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintFile {
    file_path: String,
    messages: Vec<EslintMessage>,
    /// Messages that a comment suppresses. crh decides itself which comments count.
    #[serde(default)]
    suppressed_messages: Vec<EslintMessage>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EslintMessage {
    /// None if no rule made the message, for example if the file cannot be parsed.
    rule_id: Option<String>,
    severity: u8,
    message: String,
    line: Option<u32>,
    /// Whether the file cannot be parsed.
    #[serde(default)]
    fatal: bool,
}

/// Whether the project has an eslint configuration.
pub(super) fn is_configured(project: &dyn Project) -> bool {
    let Ok(paths) = project.paths(Side::New) else { return false };
    CONFIG_FILES.iter().any(|name| paths.binary_search_by(|path| path.as_str().cmp(name)).is_ok())
}

impl Analyser for EslintAnalyser<'_> {
    fn handles(&self, path: &str, _: &dyn Fn() -> Vec<u8>) -> bool {
        let extension = extension(path);
        let is_script = matches!(extension.as_str(), "js" | "mjs" | "cjs" | "jsx");
        let is_typed =
            matches!(extension.as_str(), "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte");
        let is_minified = path.ends_with(".min.js");
        // Without the project's configuration eslint has no parser for types.
        !is_minified && (is_script || is_typed && self.trusted.is_some())
    }

    fn input(&self) -> AnalyserInput<'_> {
        self.trusted.map_or(AnalyserInput::Files, AnalyserInput::Tree)
    }

    fn line_ends(&self) -> &'static [char] {
        &['\r', '\u{2028}', '\u{2029}']
    }

    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String> {
        let mut args =
            vec!["--format=json".to_owned(), "--no-error-on-unmatched-pattern".to_owned()];
        if self.trusted.is_none() {
            let file = scratch.write_extra("eslint.config.mjs", default_config().as_bytes());
            let file =
                file.map_err(|why| format!("cannot write the eslint configuration: {why}"))?;
            args.push("--no-config-lookup".to_owned());
            args.push("--no-inline-config".to_owned());
            args.push("--no-warn-ignored".to_owned());
            args.push(format!("--config={}", file.display()));
        }
        args.push("--".to_owned());
        args.extend(files.iter().map(path_argument));
        Ok(args)
    }

    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String> {
        // eslint exits with 1 if it reports anything.
        let files: Vec<EslintFile> = parse_json(output)?;
        let mut report = AnalyserReport::default();
        for file in files {
            if file.messages.iter().any(|message| message.fatal) {
                report.unparsed_files.push(file.file_path.clone());
            }
            let messages = file.messages.into_iter().chain(file.suppressed_messages);
            report
                .diagnostics
                .extend(messages.filter_map(|message| self.diagnostic(&file.file_path, message)));
        }
        Ok(report)
    }
}

impl EslintAnalyser<'_> {
    fn diagnostic(&self, path: &str, message: EslintMessage) -> Option<Diagnostic> {
        let rule = message.rule_id?;
        let is_listed_rule = RULES.contains(&rule.as_str());
        let (severity, category) = match (is_listed_rule, self.trusted) {
            (true, _) if RUNTIME_ERROR_RULES.contains(&rule.as_str()) => {
                (Severity::P1, Category::Bug)
            }
            (true, _) => (Severity::P2, Category::Bug),
            // Other rules that the project sets to "error" are project standards.
            (false, Some(_)) if message.severity == ERROR_SEVERITY => {
                (Severity::P3, Category::Standards)
            }
            (false, _) => return None,
        };
        Some(Diagnostic {
            path: path.to_owned(),
            line: message.line?,
            rule,
            message: message.message,
            severity,
            category,
            confidence: Confidence::thousandths(900),
            why: String::new(),
        })
    }
}

/// The configuration that replaces the project's own. It has no imports, so eslint loads no
/// modules.
fn default_config() -> String {
    let rules: Vec<String> = RULES.iter().map(|rule| format!("{rule:?}: \"error\"")).collect();
    let parser = "{ ecmaFeatures: { jsx: true } }";
    format!(
        "const rules = {{ {} }};
const languageOptions = {{ ecmaVersion: \"latest\", sourceType: \"module\", parserOptions: {parser} }};
export default [
  {{ linterOptions: {{ reportUnusedDisableDirectives: \"off\" }} }},
  {{ files: [\"**/*.js\", \"**/*.mjs\", \"**/*.jsx\"], languageOptions, rules }},
  {{ files: [\"**/*.cjs\"], languageOptions: {{ ...languageOptions, sourceType: \"commonjs\" }}, rules }},
];
",
        rules.join(", ")
    )
}
