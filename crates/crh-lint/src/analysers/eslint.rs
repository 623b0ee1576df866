//! eslint, on JavaScript files. Of a change that nobody trusts, with a short list of its own rules about defects; of a trusted one, with the
//! project's own configuration.

use std::time::Duration;

use serde::Deserialize;

use super::said::Said;
use super::{Analyser, Installed, Needs, Scratch, Trusted, argument, json};
use crate::Project;
use crate::paths::extension;
use crate::process::Finished;
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const NAME: &str = "eslint";
/// Configurations with types take a minute.
const TIME: Duration = Duration::from_secs(90);
/// How it marks what is an error.
const ERROR: u8 = 2;

/// Rules of eslint's core about code that fails or does something else than it says.
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
/// Those that make code fail, not only mislead.
#[rustfmt::skip]
const FAILS: &[&str] = &[
    "constructor-super", "no-class-assign", "no-const-assign", "no-dupe-args", "no-func-assign", "no-import-assign",
    "no-invalid-regexp", "no-new-native-nonconstructor", "no-obj-calls", "no-this-before-super",
    "no-unsafe-optional-chaining",
];

/// Files that configure eslint, in the root of a repository.
const CONFIGURATIONS: [&str; 11] = [
    "eslint.config.js",
    "eslint.config.mjs",
    "eslint.config.cjs",
    "eslint.config.ts",
    "eslint.config.mts",
    ".eslintrc.js",
    ".eslintrc.cjs",
    ".eslintrc.json",
    ".eslintrc.yml",
    ".eslintrc.yaml",
    ".eslintrc",
];

pub(super) struct Eslint<'a> {
    pub(super) program: &'a Installed,
    /// Set if the project's own configuration counts.
    pub(super) trusted: Option<&'a Trusted>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    file_path: String,
    messages: Vec<Message>,
    /// Those that a comment silences, which is for us to say.
    #[serde(default)]
    suppressed_messages: Vec<Message>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    /// None for a text that cannot be parsed.
    rule_id: Option<String>,
    severity: u8,
    message: String,
    line: Option<u32>,
}

/// Whether the project configures it.
pub(super) fn is_configured(project: &dyn Project) -> bool {
    let Ok(paths) = project.paths(Side::New) else { return false };
    CONFIGURATIONS.iter().any(|name| paths.binary_search_by(|path| path.as_str().cmp(name)).is_ok())
}

impl Analyser for Eslint<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn installed(&self) -> &Installed {
        self.program
    }

    fn time(&self) -> Duration {
        TIME
    }

    fn wants(&self, path: &str, _: &dyn Fn() -> Vec<u8>) -> bool {
        let extension = extension(path);
        let is_script = matches!(extension.as_str(), "js" | "mjs" | "cjs" | "jsx");
        let is_typed =
            matches!(extension.as_str(), "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte");
        let is_minified = path.ends_with(".min.js");
        // Without the project's configuration there is no parser for types.
        !is_minified && (is_script || is_typed && self.trusted.is_some())
    }

    fn needs(&self) -> Needs<'_> {
        self.trusted.map_or(Needs::Files, Needs::Tree)
    }

    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String> {
        let mut args =
            vec!["--format=json".to_owned(), "--no-error-on-unmatched-pattern".to_owned()];
        if self.trusted.is_none() {
            let file = scratch.write_beside("eslint.config.mjs", configuration().as_bytes());
            let file = file.map_err(|why| format!("writing its configuration: {why}"))?;
            args.push("--no-config-lookup".to_owned());
            args.push("--no-inline-config".to_owned());
            args.push("--no-warn-ignored".to_owned());
            args.push(format!("--config={}", file.display()));
        }
        args.push("--".to_owned());
        args.extend(files.iter().map(argument));
        Ok(args)
    }

    fn read(&self, finished: &Finished) -> Result<Vec<Said>, String> {
        // It ends with 1 if it has something to say.
        let files: Vec<File> = json(finished)?;
        let said = files.into_iter().flat_map(|file| {
            let messages = file.messages.into_iter().chain(file.suppressed_messages);
            messages.filter_map(move |message| self.said(&file.file_path, message))
        });
        Ok(said.collect())
    }
}

impl Eslint<'_> {
    fn said(&self, path: &str, message: Message) -> Option<Said> {
        let rule = message.rule_id?;
        let is_ours = RULES.contains(&rule.as_str());
        let (severity, category) = match (is_ours, self.trusted) {
            (true, _) if FAILS.contains(&rule.as_str()) => (Severity::P1, Category::Bug),
            (true, _) => (Severity::P2, Category::Bug),
            // What else a project calls an error is a rule of its own.
            (false, Some(_)) if message.severity == ERROR => (Severity::P3, Category::Standards),
            (false, _) => return None,
        };
        Some(Said {
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

/// Our own configuration. It imports nothing, so that nothing has to be found.
fn configuration() -> String {
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
