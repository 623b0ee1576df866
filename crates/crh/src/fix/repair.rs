//! What needs a model: one fixer works on a copy of the tree, and what it changed comes back as edits.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use super::ground::Ground;
use super::outcome::Left;
use crate::commands::interrupts::Interrupts;
use crate::commands::run_place;
use crate::failure::{Failure, Kind, OrFail};
use crate::ui;
use crh_agent::{Contents, Ledger, Totals};
use crh_git::WorkTree;
use crh_pipeline::fixer::{Errand, FileEdit, Repair, Told, repair};
use crh_pipeline::found_by_code::FoundByCode;
use crh_pipeline::journal::Journal;
use crh_pipeline::office::Office;
use crh_pipeline::prompts::Prompts;
use crh_pipeline::terms::Crew;
use crh_review::finding::Side;
use crh_review::report::Issue;

const NO_MODEL: &str =
    "it comes without an exact replacement, and no model is configured to fix it";
const UNCHANGED: &str = "the fixer says that it is done, and changed nothing for it";
/// Told to the user at the first Ctrl-C.
const STOPPING: &str = "stopping: nothing that the fixer has begun is applied";

/// What a fixer brought.
#[derive(Debug, Default)]
pub(super) struct Repaired {
    /// Edits that go together, with the issues they are for.
    pub(super) parts: Vec<Part>,
    /// What it says it did, by the numbers of the issues.
    pub(super) described: BTreeMap<u32, String>,
    pub(super) left: Vec<Left>,
}

/// Edits that cannot be told apart: they share issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) edits: Vec<FileEdit>,
    pub(super) issues: BTreeSet<u32>,
}

/// Lets a fixer work on issues, on a copy of a commit.
pub(super) fn repaired(
    ground: &Ground<'_>,
    issues: &[&Issue],
    commit: &str,
) -> Result<Repaired, Failure> {
    if issues.is_empty() {
        return Ok(Repaired::default());
    }
    let Some(crew) = &ground.begun.crew else {
        let left = issues.iter().map(|issue| Left::new(issue.number, NO_MODEL)).collect();
        return Ok(Repaired { left, ..Repaired::default() });
    };
    let tree = WorkTree::of(ground.bare, commit).or_fail(Kind::Outside)?;
    let errand = Errand {
        round: ground.next_fixer(),
        issues: issues.iter().map(|issue| (*issue).clone()).collect(),
        files: issues.iter().flat_map(|issue| files(issue)).collect(),
    };
    let Repair { edits, told, .. } = asked(ground, crew, &errand, &tree)?;
    Ok(sorted(edits, told))
}

/// The files that an issue is about: those it may be repaired in.
fn files(issue: &Issue) -> impl Iterator<Item = String> {
    let quoted = issue.evidence.iter().filter(|quote| quote.side == Side::New);
    let quoted = quoted.map(|quote| quote.file.clone());
    std::iter::once(issue.location.file.clone()).chain(quoted)
}

fn asked(
    ground: &Ground<'_>,
    crew: &Crew,
    errand: &Errand,
    tree: &WorkTree,
) -> Result<Repair, Failure> {
    let begun = ground.begun;
    let contents = if begun.log_content { Contents::Full } else { Contents::Withheld };
    let folder = Some(ground.run().clone());
    let journal = Journal::open(folder, begun.redactor.clone(), contents, Vec::new(), |_| {});
    let stopped = journal.clone();
    let _interrupts = Interrupts::watch(move || {
        stopped.cancel().cancel();
        ui::warn(STOPPING);
    })?;
    let spent: Totals = ground.run().spent_before().map_err(run_place::failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.or_fail(Kind::Outside)?;
    let repair = runtime.block_on(async {
        let terms = Arc::new(begun.terms.clone());
        let office = Office {
            subject: Arc::new(begun.subject.clone()),
            prompts: Arc::new(Prompts::new(&begun.subject, &terms, crew.context())),
            crew: crew.clone(),
            ledger: Ledger::resumed(terms.allowance.budget(), spent),
            terms,
            found: FoundByCode::new(),
            journal: journal.clone(),
            seed: RandomState::new().hash_one(()),
        };
        repair(&office, errand, tree).await
    });
    runtime.shutdown_background();
    Ok(repair)
}

/// What it brought, by what goes together.
fn sorted(edits: Vec<FileEdit>, told: BTreeMap<u32, Told>) -> Repaired {
    let mut brought = Repaired::default();
    for edit in edits {
        let (touching, others): (Vec<Part>, Vec<Part>) =
            brought.parts.into_iter().partition(|part| !part.issues.is_disjoint(&edit.issues));
        let mut part = Part { issues: edit.issues.clone(), edits: vec![edit] };
        for other in touching {
            part.edits.extend(other.edits);
            part.issues.extend(other.issues);
        }
        brought.parts = others;
        brought.parts.push(part);
    }
    let changed = |number: &u32| brought.parts.iter().any(|part| part.issues.contains(number));
    for (number, told) in told {
        match told {
            Told::Done(what) if changed(&number) => drop(brought.described.insert(number, what)),
            Told::Done(_) => brought.left.push(Left::new(number, UNCHANGED)),
            Told::NotDone(why) => brought.left.push(Left::new(number, why)),
        }
    }
    brought
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(path: &str, issues: &[u32]) -> FileEdit {
        let issues = issues.iter().copied().collect();
        FileEdit { path: path.to_owned(), before: None, after: Some(Vec::new()), issues }
    }

    #[test]
    fn edits_that_share_issues_go_together() {
        let edits = vec![edit("a", &[1]), edit("b", &[2]), edit("c", &[1, 3]), edit("d", &[3])];
        let told = [
            (1, Told::Done("one".to_owned())),
            (2, Told::Done("two".to_owned())),
            (3, Told::Done("three".to_owned())),
            (4, Told::Done("nothing".to_owned())),
            (5, Told::NotDone("it needs a decision".to_owned())),
        ];
        let brought = sorted(edits, told.into_iter().collect());
        let parts: Vec<(Vec<&str>, &BTreeSet<u32>)> = brought
            .parts
            .iter()
            .map(|part| (part.edits.iter().map(|it| it.path.as_str()).collect(), &part.issues))
            .collect();
        let together = BTreeSet::from([1, 3]);
        assert_eq!(parts, [(vec!["b"], &BTreeSet::from([2])), (vec!["d", "c", "a"], &together)]);
        assert_eq!(brought.described.len(), 3);
        let left = [Left::new(4, UNCHANGED), Left::new(5, "it needs a decision")];
        assert_eq!(brought.left, left);
    }
}
