//! What is taken of a fixer's work: the difference between its tree and the one that was reviewed, and what it said of it.

use std::collections::{BTreeMap, BTreeSet};

use super::report::Reported;
use super::{Errand, FileEdit, Taken, Told};
use crate::text::one_line;
use crh_git::{Difference, Differs, WorkTreeError};

/// What is taken of what was reported, from everything that differs in the tree; why nothing is, in half a sentence.
pub(super) fn taken(
    errand: &Errand,
    reported: BTreeMap<u32, Reported>,
    differences: Result<Vec<Difference>, WorkTreeError>,
) -> Result<Taken, String> {
    let differences = differences.map_err(|why| format!("its tree cannot be compared: {why}"))?;
    let mut edits = Vec::new();
    for Difference { path, what } in differences {
        let none_taken = |what: &str| {
            let path = one_line(&String::from_utf8_lossy(&path));
            format!("it changed `{path}`, {what}: nothing of its work is taken")
        };
        let name = String::from_utf8(path.clone()).ok();
        let Some(name) = name.filter(|name| errand.files.contains(name)) else {
            return Err(none_taken("which is none of its files"));
        };
        match what {
            // No issue is fixed by there being nothing any more; a file that is to go is for a person.
            Differs::Text { before: Some(_), after: None } => {
                let name = one_line(&name);
                return Err(format!("it deleted `{name}`: nothing of its work is taken"));
            }
            Differs::Text { before: Some(before), after: Some(after) }
                if is_blank(&after) && !is_blank(&before) =>
            {
                let name = one_line(&name);
                return Err(format!("it emptied `{name}`: nothing of its work is taken"));
            }
            Differs::Text { before, after } => {
                let issues = BTreeSet::new();
                edits.push(FileEdit { path: name, before, after, issues });
            }
            Differs::More(what) => return Err(none_taken(&format!("and not its text ({what})"))),
        }
    }
    let mut told: BTreeMap<u32, Told> = errand.too_many().collect();
    for (number, _) in errand.places() {
        let said = match reported.get(&number) {
            Some(Reported { told: Told::Done(sentence), files }) => {
                let own = edits.iter_mut().filter(|edit| files.contains(&edit.path));
                let changed = own.map(|edit| edit.issues.insert(number)).count();
                if changed == 0 {
                    let why = "nothing was changed for it, though the fixer says";
                    Told::NotDone(format!("{why}: {sentence}"))
                } else {
                    Told::Done(sentence.clone())
                }
            }
            Some(Reported { told: not_done @ Told::NotDone(_), .. }) => not_done.clone(),
            None => Told::NotDone("the fixer said nothing about it".to_owned()),
        };
        told.insert(number, said);
    }
    let (edits, for_nothing): (Vec<_>, Vec<_>) =
        edits.into_iter().partition(|edit| !edit.issues.is_empty());
    let note = |edit: FileEdit| {
        format!(
            "what was changed in `{}` is for no issue that is done, and is not taken",
            one_line(&edit.path)
        )
    };
    Ok(Taken { edits, told, notes: for_nothing.into_iter().map(note).collect() })
}

/// Whether there is nothing to read in a text.
fn is_blank(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_whitespace)
}
