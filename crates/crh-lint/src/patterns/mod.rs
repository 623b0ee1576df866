//! Structural rules: bug patterns as data, by ast-grep's engine. The built-in ones are in `rules/`; a repository can bring its own.

#[path = "rule_cost.rs"]
mod bounds;
mod built_in;
mod document;
mod grammar;
mod rule_file;
mod scan;
#[path = "keywords.rs"]
mod words;

use std::cell::Cell;
use std::collections::BTreeSet;

use built_in::BuiltIn;
pub(crate) use built_in::rules;
use rule_file::PatternRule;
use scan::{Doubtful, Scan, scan};

use crate::look::{Look, Looked, Reviewer};
use crate::source::Source;
use crate::{ChangedFile, paths};
use crh_syntax::Language;

/// A file of rules that is larger than this was not written by hand, and compiling it would be felt.
const FILE_MAX: usize = 64 << 10;

/// Rules of all files together: each is compiled, tried on its examples and held against every file of its language.
const OWN_MAX: usize = 200;

/// The built-in rules of languages whose statements can be told apart that look at more than the statement they are in, each with a word without
/// which it finds nothing.
const FAR: [(&str, &str); 1] = [("yaml-load", "yaml")];

/// The rules that are held against a change: the built-in ones, and those of the repository.
#[derive(Default)]
pub struct Patterns {
    own: Vec<PatternRule>,
}

/// Whose rules: a change can bring some that take all the time there is, which must not cost what the others find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    BuiltIn,
    Repository,
}

/// A file of rules that a repository brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFile {
    /// Its path, for what is said about it.
    pub path: String,
    /// What stands in it.
    pub text: Vec<u8>,
}

impl Patterns {
    /// The built-in rules and those of a repository, and a sentence about each rule that cannot be used.
    pub fn with(files: &[RuleFile]) -> (Self, Vec<String>) {
        let (mut own, mut notes, mut left_out) = (Vec::new(), Vec::new(), 0_usize);
        let mut taken: BTreeSet<String> = rules().iter().map(|rule| rule.id.to_owned()).collect();
        for file in files {
            let mut note = |why: &str| notes.push(format!("a rule file, `{}`: {why}", file.path));
            let text = match std::str::from_utf8(&file.text) {
                Ok(text) if text.len() <= FILE_MAX => text,
                Ok(_) => {
                    note(&format!("it has more than {FILE_MAX} bytes"));
                    continue;
                }
                Err(_) => {
                    note("it is not UTF-8");
                    continue;
                }
            };
            let written = rule_file::written(text).unwrap_or_else(|why| {
                note(&why);
                Vec::new()
            });
            for written in written {
                let name = written.id.clone();
                if own.len() == OWN_MAX {
                    left_out += 1;
                    continue;
                }
                match usable(written, &mut taken) {
                    Ok(rule) => own.push(rule),
                    Err(why) => note(&format!("the rule `{name}` is left out: {why}")),
                }
            }
        }
        if left_out > 0 {
            notes.push(format!("{left_out} more rules are left out: at most {OWN_MAX} are used"));
        }
        (Self { own }, notes)
    }

    /// The repository's rules for a language.
    fn own_for(&self, language: Language) -> impl Iterator<Item = &PatternRule> {
        self.own.iter().filter(move |rule| rule.grammar.0 == language)
    }

    /// The rules that may find something in a text.
    fn candidates(
        &self,
        whose: Whose,
        language: Language,
        source: &Source<'_>,
    ) -> Vec<&PatternRule> {
        let may_find =
            |rule: &&BuiltIn| language != Language::Python || words::may_find(&rule.id, source);
        let built_in = || built_in::for_language(language).iter().filter(may_find);
        match whose {
            Whose::BuiltIn => built_in().filter_map(BuiltIn::rule).collect(),
            Whose::Repository => self.own_for(language).collect(),
        }
    }

    /// What rules find in a text.
    fn found_in(&self, whose: Whose, source: &Source<'_>, doubtful: Doubtful) -> Scan {
        let parsed = match source.parsed() {
            Some(Ok(parsed)) => parsed,
            Some(Err(_)) => return Scan::NotDone("it was not parsed"),
            None => return Scan::Done(Vec::new()),
        };
        let rules = self.candidates(whose, parsed.language(), source).into_iter();
        let rules: Vec<_> =
            rules.filter_map(|rule| Some((rule, rule.for_path(source.path)?))).collect();
        scan(parsed, source.path, &rules, doubtful)
    }

    /// Whether the built-in rules find nothing in what the change touches. They look no further than the outermost statement that they are in, but for
    /// those in [`FAR`]. A repository's may.
    fn is_clean(&self, look: &Look<'_>) -> bool {
        let Some(part) = &look.part else { return false };
        let is_far =
            FAR.iter().any(|(_, word)| look.new.as_ref().is_none_or(|it| it.has_one_of(&[word])));
        let is_whole =
            || matches!(part.parsed(), Some(Ok(parsed)) if !parsed.tree().root_node().has_error());
        let found = || self.found_in(Whose::BuiltIn, part, Doubtful::Counts);
        !is_far && is_whole() && matches!(found(), Scan::Done(found) if found.is_empty())
    }

    /// What rules find that the change brings.
    fn held_against(&self, whose: Whose, look: &Look<'_>) -> Looked {
        if whose == Whose::BuiltIn && self.is_clean(look) {
            return Looked::default();
        }
        let not_done = Cell::new(None);
        let old_text = look.old.as_ref().map(|old| old.text);
        let mut found = look.introduced(|source| {
            let is_old = old_text.is_some_and(|text| std::ptr::eq(text, source.text));
            let doubtful = if is_old { Doubtful::Counts } else { Doubtful::IsLeftOut };
            match self.found_in(whose, source, doubtful) {
                Scan::Done(found) => found,
                Scan::NotDone(why) => {
                    not_done.set(Some(why));
                    Vec::new()
                }
            }
        });
        let Some(why) = not_done.get() else { return Looked { found, notes: Vec::new() } };
        // What is not known of one side cannot be told apart from what is new.
        found.clear();
        let rules = match whose {
            Whose::BuiltIn => "rules",
            Whose::Repository => "the repository's rules",
        };
        let note = format!("{rules} were not held against `{}`: {why}", look.file.path);
        Looked { found, notes: vec![note] }
    }
}

fn usable(
    written: rule_file::Written,
    taken: &mut BTreeSet<String>,
) -> Result<PatternRule, String> {
    let rule = PatternRule::of_repository(written)?;
    if let Some(wrong) = rule.wrong_examples().first() {
        return Err(format!("it {wrong}"));
    }
    match taken.insert(rule.id.clone()) {
        true => Ok(rule),
        false => Err("another rule has its `id`".to_owned()),
    }
}

impl Reviewer for Patterns {
    fn name(&self) -> &'static str {
        "patterns"
    }

    fn wants(&self, file: &ChangedFile) -> bool {
        let language = Language::of_path(&file.path).filter(|_| !paths::is_vendored(&file.path));
        language.is_some_and(|language| {
            !built_in::for_language(language).is_empty() || self.own_for(language).next().is_some()
        })
    }

    fn look(&self, look: &Look<'_>) -> Looked {
        let mut all = self.held_against(Whose::BuiltIn, look);
        let has_own = Language::of_path(&look.file.path)
            .is_some_and(|language| self.own_for(language).next().is_some());
        if has_own {
            let own = self.held_against(Whose::Repository, look);
            all.found.extend(own.found);
            all.notes.extend(own.notes);
        }
        all.found.sort_by_key(|found| found.line);
        all
    }
}

#[cfg(test)]
mod tests;
