//! What of all that an analyser says is new, and how much of it is told.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::Sided;
use super::said::{Mask, Said};
use crate::fold::folded;
use crate::found::Found;
use crate::suppress::Ignores;
use crate::{Change, ChangedFile, Project};
use crh_review::finding::Side;

/// One that says more about a change was set off by something that a program wrote; the worst ones tell.
const FINDINGS_MAX: usize = 50;
/// For how many it is asked whether a comment silences them: far more than anybody writes such comments for.
const SILENCED_MAX: usize = 2_000;

/// The files before the change, by their paths, that tell whether something is new: those of the files that something is said about,
/// and those that such a line was taken from.
pub(super) fn origins(
    change: &Change<'_>,
    asked: &[&ChangedFile],
    after: &[Said],
    texts: &mut Texts<'_>,
) -> Result<Vec<String>, String> {
    let said_of: BTreeSet<&str> = after.iter().map(|said| said.path.as_str()).collect();
    let mut lines = HashSet::new();
    for said in after {
        lines.insert(folded(texts.line(Side::New, &said.path, said.line)?));
    }
    let own = asked.iter().filter(|file| said_of.contains(file.path.as_str()));
    let others = change.all.iter().filter(|file| removed(file).any(|line| lines.contains(&line)));
    let paths = own.copied().chain(others).filter_map(|file| before(file));
    let mut seen = HashSet::new();
    Ok(paths.filter(|path| seen.insert(*path)).map(str::to_owned).collect())
}

/// The path before the change.
fn before(file: &ChangedFile) -> Option<&str> {
    file.before.as_deref().or(file.is_deleted.then_some(file.path.as_str()))
}

fn removed(file: &ChangedFile) -> impl Iterator<Item = String> {
    file.removed.iter().map(|line| folded(&String::from_utf8_lossy(line)))
}

/// What was not said before the change: the same rule on a line with the same text, white space aside, is nothing new, neither in the
/// file nor in one that the line was taken from. Where the file before the change could not be shown, only added lines are new.
pub(super) fn said(
    change: &Change<'_>,
    after: Vec<Said>,
    then: &Sided,
    texts: &mut Texts<'_>,
) -> Result<Vec<Said>, String> {
    let by_path = |file: &'_ ChangedFile| Some((before(file)?.to_owned(), file.path.clone()));
    let renamed: BTreeMap<String, String> = change.files.iter().filter_map(by_path).collect();
    let said_of: BTreeSet<&str> = then.said.iter().map(|said| said.path.as_str()).collect();
    let gone_from = change.all.iter().filter_map(|file| Some((before(file)?, file)));
    let gone: BTreeMap<&str, HashSet<String>> = gone_from
        .filter(|(path, _)| said_of.contains(path))
        .map(|(path, file)| (path, removed(file).collect()))
        .collect();
    let (mut known, mut moved) = (BTreeSet::new(), BTreeSet::new());
    for said in &then.said {
        let line = folded(texts.line(Side::Old, &said.path, said.line)?);
        if gone.get(said.path.as_str()).is_some_and(|gone| gone.contains(&line)) {
            moved.insert((said.rule.clone(), line.clone()));
        }
        let path = renamed.get(&said.path).unwrap_or(&said.path);
        known.insert((path.clone(), said.rule.clone(), line));
    }
    let not_shown: BTreeSet<&str> = then.unread.iter().map(|(path, _)| path.as_str()).collect();
    let files: BTreeMap<&str, &ChangedFile> =
        change.files.iter().map(|file| (file.path.as_str(), file)).collect();
    let mut new = Vec::new();
    for said in after {
        let Some(file) = files.get(said.path.as_str()) else { continue };
        let line = folded(texts.line(Side::New, &said.path, said.line)?);
        let is_untold = before(file).is_some_and(|path| not_shown.contains(path));
        let is_new = !line.is_empty()
            && !known.contains(&(said.path.clone(), said.rule.clone(), line.clone()))
            && !moved.contains(&(said.rule.clone(), line))
            && (!is_untold || file.adds(said.line));
        if is_new {
            new.push(said);
        }
    }
    Ok(new)
}

/// As much as is told.
pub(super) struct Bounded {
    /// By file and line.
    pub(super) found: Vec<Found>,
    /// How many are not in it.
    left_out: usize,
}

impl Bounded {
    pub(super) fn note(&self) -> Option<String> {
        let more = self.left_out;
        let findings = if more == 1 { "finding is" } else { "findings are" };
        (more > 0).then(|| format!("{more} more {findings} not listed"))
    }
}

/// The worst ones as findings; those that say the same in a file as one. What a comment silences stands for itself and takes nobody's place:
/// otherwise one comment would silence other lines.
pub(super) fn bounded(
    analyser: &str,
    mut new: Vec<Said>,
    texts: &mut Texts<'_>,
    mask: &Mask,
) -> Result<Bounded, String> {
    new.sort_by(|one, two| {
        let key = |it: &'_ Said| (it.severity, it.path.clone(), it.line, it.rule.clone());
        key(one).cmp(&key(two))
    });
    let (mut shown, mut silenced): (Vec<Found>, Vec<Found>) = (Vec::new(), Vec::new());
    let mut same: BTreeMap<(String, String, String), (usize, usize)> = BTreeMap::new();
    let mut left_out = 0_usize;
    for (at, said) in new.into_iter().enumerate() {
        let rule = format!("{analyser}/{}", said.rule);
        let is_silenced = at < SILENCED_MAX && texts.silences(&said.path, &rule, said.line)?;
        let key = (said.path.clone(), rule, said.message.clone());
        if let Some((_, more)) = same.get_mut(&key).filter(|_| !is_silenced) {
            *more += 1;
            continue;
        }
        let list = if is_silenced { &mut silenced } else { &mut shown };
        if list.len() == FINDINGS_MAX {
            left_out += 1;
            continue;
        }
        let line = mask.text(texts.line(Side::New, &said.path, said.line)?);
        list.push(said.found(analyser, &line));
        if !is_silenced {
            same.insert(key, (shown.len() - 1, 0));
        }
    }
    for (at, more) in same.into_values().filter(|(_, more)| *more > 0) {
        let lines = if more == 1 { "1 more line".to_owned() } else { format!("{more} more lines") };
        if let Some(found) = shown.get_mut(at) {
            found.why += &format!(" The same is true of {lines} of this file.");
        }
    }
    shown.append(&mut silenced);
    shown.sort_by(|one, two| {
        (&one.file, one.line, &one.rule).cmp(&(&two.file, two.line, &two.rule))
    });
    Ok(Bounded { found: shown, left_out })
}

/// The texts of files, each read once.
pub(super) struct Texts<'p> {
    project: &'p dyn Project,
    known: BTreeMap<(bool, String), Vec<String>>,
    ignores: BTreeMap<String, Ignores>,
}

impl<'p> Texts<'p> {
    pub(super) fn new(project: &'p dyn Project) -> Self {
        Self { project, known: BTreeMap::new(), ignores: BTreeMap::new() }
    }

    /// A line, counted from 1, without its line end; empty if there is none.
    pub(super) fn line(&mut self, side: Side, path: &str, number: u32) -> Result<&str, String> {
        let key = (side == Side::New, path.to_owned());
        if !self.known.contains_key(&key) {
            let bytes = self.project.file(side, path)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            self.known.insert(key.clone(), text.lines().map(str::to_owned).collect());
        }
        let at = usize::try_from(number).unwrap_or(usize::MAX).wrapping_sub(1);
        Ok(self.known.get(&key).and_then(|lines| lines.get(at)).map_or("", String::as_str))
    }

    /// Whether a comment in the text after the change silences a rule on a line.
    fn silences(&mut self, path: &str, rule: &str, line: u32) -> Result<bool, String> {
        if !self.ignores.contains_key(path) {
            let bytes = self.project.file(Side::New, path)?.unwrap_or_default();
            let ignores = Ignores::read(path, &String::from_utf8_lossy(&bytes));
            self.ignores.insert(path.to_owned(), ignores);
        }
        let ignores = self.ignores.get(path);
        Ok(ignores.is_some_and(|it| it.silencing(rule, line, line).is_some()))
    }
}
