//! Structural rules: bug patterns as data, matched by ast-grep's engine. The built-in rules are in
//! `rules/`; a repository can add its own.

mod built_in;
mod document;
mod grammar;
mod keywords;
mod rule_cost;
mod rule_file;
mod scan;

use std::cell::Cell;
use std::collections::BTreeSet;

use built_in::BuiltInRule;
pub(crate) use built_in::{rule, rules};
use rule_file::PatternRule;
use scan::{ScanOutcome, UnparsedMatches, scan};

use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::source::SourceText;
use crate::{ChangedFile, paths};
use crh_syntax::Language;

/// Maximum bytes of a rule file. Hand-written files are smaller, and larger ones would take long to
/// compile.
const FILE_BYTES_MAX: usize = 64 << 10;

/// Maximum rules of all rule files together. Each rule is compiled, tried on its examples and
/// matched against every file of its language.
const REPO_RULES_MAX: usize = 200;

/// Built-in rules whose match depends on code outside of the outermost statement, in languages
/// whose statements crh can separate. Each has a keyword that a file must contain for the rule to
/// match.
const WHOLE_FILE_RULES: [(&str, &str); 1] = [("yaml-load", "yaml")];

/// The rules for a change: built-in rules and those of the repository.
#[derive(Default)]
pub struct PatternRules {
    repo_rules: Vec<PatternRule>,
}

/// Where rules come from. The two sources are scanned separately: if repository rules exhaust their
/// step budget, the findings of built-in rules remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleSource {
    BuiltIn,
    Repository,
}

/// A rule file of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Path, for messages.
    pub path: String,
    /// Contents.
    pub text: Vec<u8>,
}

impl PatternRules {
    /// Loads the rules of a repository. Also returns a note for each rule that cannot be used.
    pub fn from_files(files: &[RuleFile]) -> (Self, Vec<String>) {
        let (mut repo_rules, mut notes, mut omitted_count) = (Vec::new(), Vec::new(), 0_usize);
        let mut used_ids: BTreeSet<String> = built_in::ids().map(str::to_owned).collect();
        for file in files {
            let mut add_note = |why: &str| notes.push(format!("rule file `{}`: {why}", file.path));
            let text = match std::str::from_utf8(&file.text) {
                Ok(text) if text.len() <= FILE_BYTES_MAX => text,
                Ok(_) => {
                    add_note(&format!("larger than {FILE_BYTES_MAX} bytes"));
                    continue;
                }
                Err(_) => {
                    add_note("not UTF-8");
                    continue;
                }
            };
            let definitions = rule_file::parse_rules(text).unwrap_or_else(|why| {
                add_note(&why);
                Vec::new()
            });
            for definition in definitions {
                let name = definition.id.clone();
                if repo_rules.len() == REPO_RULES_MAX {
                    omitted_count += 1;
                    continue;
                }
                match validate(definition, &mut used_ids) {
                    Ok(rule) => repo_rules.push(rule),
                    Err(why) => add_note(&format!("rule `{name}` is not used: {why}")),
                }
            }
        }
        if omitted_count > 0 {
            notes.push(format!(
                "{omitted_count} more rules are not used; the limit is {REPO_RULES_MAX}"
            ));
        }
        (Self { repo_rules }, notes)
    }

    /// The repository's rules for a language.
    fn repo_rules_for(&self, language: Language) -> impl Iterator<Item = &PatternRule> {
        self.repo_rules.iter().filter(move |rule| rule.grammar.0 == language)
    }

    /// Rules that may match a text.
    fn candidates(
        &self,
        rule_source: RuleSource,
        language: Language,
        source: &SourceText<'_>,
    ) -> Vec<&PatternRule> {
        let may_match = |rule: &&BuiltInRule| {
            language != Language::Python || keywords::may_match(&rule.id, source)
        };
        let built_in = || built_in::for_language(language).iter().filter(may_match);
        match rule_source {
            RuleSource::BuiltIn => built_in().filter_map(BuiltInRule::rule).collect(),
            RuleSource::Repository => self.repo_rules_for(language).collect(),
        }
    }

    /// Matches rules against a text.
    fn scan_text(
        &self,
        rule_source: RuleSource,
        source: &SourceText<'_>,
        unparsed_matches: UnparsedMatches,
    ) -> ScanOutcome {
        let tree = match source.syntax_tree() {
            Some(Ok(tree)) => tree,
            Some(Err(_)) => return ScanOutcome::Aborted("it cannot be parsed"),
            None => return ScanOutcome::Done(Vec::new()),
        };
        let rules = self.candidates(rule_source, tree.language(), source).into_iter();
        let rules: Vec<_> =
            rules.filter_map(|rule| Some((rule, rule.for_path(source.path)?))).collect();
        scan(tree, source.path, &rules, unparsed_matches)
    }

    /// Whether the built-in rules find nothing in the changed statements. Built-in rules look no
    /// further than the outermost statement, except those in [`WHOLE_FILE_RULES`]. Repository rules
    /// may look further, so this does not apply to them.
    fn is_clean(&self, ctx: &FileContext<'_>) -> bool {
        let Some(touched_text) = &ctx.touched_text else { return false };
        let needs_whole_file = WHOLE_FILE_RULES
            .iter()
            .any(|(_, word)| ctx.new.as_ref().is_none_or(|it| it.has_one_of(&[word])));
        let parses_cleanly = || matches!(touched_text.syntax_tree(), Some(Ok(tree)) if !tree.tree().root_node().has_error());
        let scan_outcome =
            || self.scan_text(RuleSource::BuiltIn, touched_text, UnparsedMatches::Keep);
        !needs_whole_file
            && parses_cleanly()
            && matches!(scan_outcome(), ScanOutcome::Done(findings) if findings.is_empty())
    }

    /// The findings that the change introduces.
    fn new_findings(&self, rule_source: RuleSource, ctx: &FileContext<'_>) -> FileFindings {
        if rule_source == RuleSource::BuiltIn && self.is_clean(ctx) {
            return FileFindings::default();
        }
        let abort_reason = Cell::new(None);
        let old_text = ctx.old.as_ref().map(|old| old.text);
        let mut findings = ctx.new_findings(|source| {
            let is_old_text = old_text.is_some_and(|text| std::ptr::eq(text, source.text));
            let unparsed_matches =
                if is_old_text { UnparsedMatches::Keep } else { UnparsedMatches::Drop };
            match self.scan_text(rule_source, source, unparsed_matches) {
                ScanOutcome::Done(findings) => findings,
                ScanOutcome::Aborted(why) => {
                    abort_reason.set(Some(why));
                    Vec::new()
                }
            }
        });
        let Some(why) = abort_reason.get() else {
            return FileFindings { findings, ..FileFindings::default() };
        };
        // If the scan of one side was aborted, new findings cannot be told from old ones.
        findings.clear();
        let rules = match rule_source {
            RuleSource::BuiltIn => "rules",
            RuleSource::Repository => "repository rules",
        };
        let note = format!("{rules} were not applied to `{}`: {why}", ctx.file.path);
        FileFindings { findings, notes: vec![note], abort_reason: Some(why.to_owned()) }
    }
}

fn validate(
    definition: rule_file::RuleDefinition,
    used_ids: &mut BTreeSet<String>,
) -> Result<PatternRule, String> {
    let rule = PatternRule::from_repository(definition)?;
    if let Some(failure) = rule.failing_examples().first() {
        return Err(format!("it {failure}"));
    }
    match used_ids.insert(rule.id.clone()) {
        true => Ok(rule),
        false => Err("another rule has the same `id`".to_owned()),
    }
}

impl FileReviewer for PatternRules {
    fn name(&self) -> &'static str {
        "patterns"
    }

    fn handles(&self, file: &ChangedFile, language: Option<Language>) -> bool {
        let language = language.filter(|_| !paths::is_vendored(&file.path));
        language.is_some_and(|language| {
            !built_in::for_language(language).is_empty()
                || self.repo_rules_for(language).next().is_some()
        })
    }

    fn review(&self, ctx: &FileContext<'_>) -> FileFindings {
        let mut output = self.new_findings(RuleSource::BuiltIn, ctx);
        let language = ctx.new.as_ref().and_then(|new| new.language);
        let has_repo_rules =
            language.is_some_and(|language| self.repo_rules_for(language).next().is_some());
        if has_repo_rules {
            let repo_output = self.new_findings(RuleSource::Repository, ctx);
            output.findings.extend(repo_output.findings);
            output.notes.extend(repo_output.notes);
            output.abort_reason = output.abort_reason.or(repo_output.abort_reason);
        }
        output.findings.sort_by_key(|draft| draft.line);
        output
    }
}

#[cfg(test)]
mod tests;
