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
pub(crate) use built_in::rules;
use rule_file::PatternRule;
use scan::{ScanOutcome, UnparsedMatches, scan};

use crate::file_context::{FileContext, FileFindings, FileReviewer};
use crate::source::SourceText;
use crate::{ChangedFile, paths};
use crh_syntax::Language;

/// Larger rule files are not written by hand and would take long to compile.
const FILE_MAX: usize = 64 << 10;

/// Limit for all rule files: each rule is compiled, tried on its examples and matched against every
/// file of its language.
const REPO_RULES_MAX: usize = 200;

/// Built-in rules that look beyond their own statement, in languages whose statements can be told
/// apart. Each with a word that it needs.
const WHOLE_FILE_RULES: [(&str, &str); 1] = [("yaml-load", "yaml")];

/// The rules for a change: built-in rules and those of the repository.
#[derive(Default)]
pub struct PatternRules {
    repo_rules: Vec<PatternRule>,
}

/// Where rules come from. Repository rules may exhaust their budget, which must not affect built-in
/// ones.
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
    /// Loads the rules of a repository. Also returns a note about each rule that cannot be used.
    pub fn from_files(files: &[RuleFile]) -> (Self, Vec<String>) {
        let (mut own, mut notes, mut left_out) = (Vec::new(), Vec::new(), 0_usize);
        let mut taken: BTreeSet<String> = rules().iter().map(|rule| rule.id.to_owned()).collect();
        for file in files {
            let mut note = |why: &str| notes.push(format!("rule file `{}`: {why}", file.path));
            let text = match std::str::from_utf8(&file.text) {
                Ok(text) if text.len() <= FILE_MAX => text,
                Ok(_) => {
                    note(&format!("larger than {FILE_MAX} bytes"));
                    continue;
                }
                Err(_) => {
                    note("not UTF-8");
                    continue;
                }
            };
            let written = rule_file::parse_rules(text).unwrap_or_else(|why| {
                note(&why);
                Vec::new()
            });
            for written in written {
                let name = written.id.clone();
                if own.len() == REPO_RULES_MAX {
                    left_out += 1;
                    continue;
                }
                match validate(written, &mut taken) {
                    Ok(rule) => own.push(rule),
                    Err(why) => note(&format!("rule `{name}` is not used: {why}")),
                }
            }
        }
        if left_out > 0 {
            notes
                .push(format!("{left_out} more rules are not used; the limit is {REPO_RULES_MAX}"));
        }
        (Self { repo_rules: own }, notes)
    }

    /// The repository's rules for a language.
    fn repo_rules_for(&self, language: Language) -> impl Iterator<Item = &PatternRule> {
        self.repo_rules.iter().filter(move |rule| rule.grammar.0 == language)
    }

    /// Rules that may match a text.
    fn candidates(
        &self,
        whose: RuleSource,
        language: Language,
        source: &SourceText<'_>,
    ) -> Vec<&PatternRule> {
        let may_find = |rule: &&BuiltInRule| {
            language != Language::Python || keywords::may_find(&rule.id, source)
        };
        let built_in = || built_in::for_language(language).iter().filter(may_find);
        match whose {
            RuleSource::BuiltIn => built_in().filter_map(BuiltInRule::rule).collect(),
            RuleSource::Repository => self.repo_rules_for(language).collect(),
        }
    }

    /// Matches rules against a text.
    fn scan_text(
        &self,
        whose: RuleSource,
        source: &SourceText<'_>,
        doubtful: UnparsedMatches,
    ) -> ScanOutcome {
        let parsed = match source.parsed() {
            Some(Ok(parsed)) => parsed,
            Some(Err(_)) => return ScanOutcome::Aborted("it cannot be parsed"),
            None => return ScanOutcome::Done(Vec::new()),
        };
        let rules = self.candidates(whose, parsed.language(), source).into_iter();
        let rules: Vec<_> =
            rules.filter_map(|rule| Some((rule, rule.for_path(source.path)?))).collect();
        scan(parsed, source.path, &rules, doubtful)
    }

    /// Whether the built-in rules find nothing in the changed statements. They look no further than the
    /// outermost statement, except those in [`WHOLE_FILE_RULES`]. Repository rules may.
    fn is_clean(&self, ctx: &FileContext<'_>) -> bool {
        let Some(part) = &ctx.touched_text else { return false };
        let is_far = WHOLE_FILE_RULES
            .iter()
            .any(|(_, word)| ctx.new.as_ref().is_none_or(|it| it.has_one_of(&[word])));
        let is_whole =
            || matches!(part.parsed(), Some(Ok(parsed)) if !parsed.tree().root_node().has_error());
        let found = || self.scan_text(RuleSource::BuiltIn, part, UnparsedMatches::Keep);
        !is_far && is_whole() && matches!(found(), ScanOutcome::Done(found) if found.is_empty())
    }

    /// The findings that the change introduces.
    fn new_findings(&self, whose: RuleSource, ctx: &FileContext<'_>) -> FileFindings {
        if whose == RuleSource::BuiltIn && self.is_clean(ctx) {
            return FileFindings::default();
        }
        let not_done = Cell::new(None);
        let old_text = ctx.old.as_ref().map(|old| old.text);
        let mut found = ctx.new_findings(|source| {
            let is_old = old_text.is_some_and(|text| std::ptr::eq(text, source.text));
            let doubtful = if is_old { UnparsedMatches::Keep } else { UnparsedMatches::Drop };
            match self.scan_text(whose, source, doubtful) {
                ScanOutcome::Done(found) => found,
                ScanOutcome::Aborted(why) => {
                    not_done.set(Some(why));
                    Vec::new()
                }
            }
        });
        let Some(why) = not_done.get() else {
            return FileFindings { findings: found, notes: Vec::new() };
        };
        // If one side is unknown, new findings cannot be told from old ones.
        found.clear();
        let rules = match whose {
            RuleSource::BuiltIn => "rules",
            RuleSource::Repository => "repository rules",
        };
        let note = format!("{rules} were not applied to `{}`: {why}", ctx.file.path);
        FileFindings { findings: found, notes: vec![note] }
    }
}

fn validate(
    written: rule_file::RuleDefinition,
    taken: &mut BTreeSet<String>,
) -> Result<PatternRule, String> {
    let rule = PatternRule::from_repository(written)?;
    if let Some(wrong) = rule.failing_examples().first() {
        return Err(format!("it {wrong}"));
    }
    match taken.insert(rule.id.clone()) {
        true => Ok(rule),
        false => Err("another rule has the same `id`".to_owned()),
    }
}

impl FileReviewer for PatternRules {
    fn name(&self) -> &'static str {
        "patterns"
    }

    fn handles(&self, file: &ChangedFile) -> bool {
        let language = Language::from_path(&file.path).filter(|_| !paths::is_vendored(&file.path));
        language.is_some_and(|language| {
            !built_in::for_language(language).is_empty()
                || self.repo_rules_for(language).next().is_some()
        })
    }

    fn review(&self, ctx: &FileContext<'_>) -> FileFindings {
        let mut all = self.new_findings(RuleSource::BuiltIn, ctx);
        let has_own = Language::from_path(&ctx.file.path)
            .is_some_and(|language| self.repo_rules_for(language).next().is_some());
        if has_own {
            let own = self.new_findings(RuleSource::Repository, ctx);
            all.findings.extend(own.findings);
            all.notes.extend(own.notes);
        }
        all.findings.sort_by_key(|found| found.line);
        all
    }
}

#[cfg(test)]
mod tests;
