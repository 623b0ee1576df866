//! A repository's own review configuration: reviewers, solutions and derived facts.

use tempfile::TempDir;

use crate::checks::{Backing, change_under_review};
use crh_pipeline::checks::ChangeOrigin;
use crh_pipeline::context::solutions_for;
use crh_pipeline::facts::{ChangeFact, ChangeFacts};
use crh_pipeline::reviewers::{ReviewerCatalogue, own_reviewers};
use crh_testkit::Repo;

fn reviewer(lens: &str) -> String {
    format!("---\nname: queries\nlens: {lens}\ncategory: performance\n---\nLook at queries.\n")
}

#[test]
fn change_cannot_choose_its_reviewers() {
    let repo = Repo::new();
    repo.write(".crh/reviewers/queries.md", reviewer("old"));
    repo.write(".crh/reviewers/notes.txt", "not one");
    repo.commit("base");
    repo.write(".crh/reviewers/queries.md", reviewer("new"));
    repo.write(".crh/reviewers/more.md", "no front matter");
    repo.commit("change");
    let check = |work: ChangeOrigin, created_at: Option<&str>, expected: (&str, usize)| {
        let folder = TempDir::new().unwrap();
        let subject = change_under_review(&repo, &folder, Backing::Repository, |contents| {
            contents.rounds[0].created_at = created_at.map(str::to_owned);
        });
        let (files, unread) = own_reviewers(&subject, work);
        let (catalogue, unusable) =
            ReviewerCatalogue::built_in().clone().with_own_reviewers(&files);
        let lens = catalogue.get("queries").unwrap().lens.as_str();
        assert_eq!((lens, unread.len() + unusable.len()), expected);
    };
    let committed = Some("2026-01-01T00:00:00Z");
    check(ChangeOrigin::Elsewhere, None, ("old", 0));
    check(ChangeOrigin::InCheckout, committed, ("old", 0));
    check(ChangeOrigin::InCheckout, None, ("new", 1));
}

#[test]
fn surplus_and_large_reviewer_files_are_noted() {
    let (repo, folder) = (Repo::new(), TempDir::new().unwrap());
    for at in 0..51 {
        repo.write(&format!(".crh/reviewers/{at:02}.md"), reviewer("one"));
    }
    repo.write(".crh/reviewers/00.md", "x".repeat(70_000));
    repo.commit("base");
    repo.write("a.py", "x = 1\n");
    repo.commit("change");
    let alone = change_under_review(&repo, &folder, Backing::DiffAlone, |_| {});
    assert_eq!(own_reviewers(&alone, ChangeOrigin::Elsewhere), (Vec::new(), Vec::new()));
    let folder = TempDir::new().unwrap();
    let subject = change_under_review(&repo, &folder, Backing::Repository, |_| {});
    let (files, notes) = own_reviewers(&subject, ChangeOrigin::Elsewhere);
    assert_eq!(files.len(), 49);
    assert_eq!(
        notes,
        [
            "1 more files in `.crh/reviewers` are left out: crh reads at most 50",
            "reviewer file `.crh/reviewers/00.md` was not read: it has 70000 bytes, more than 65536",
        ]
    );
}

#[test]
fn solutions_and_facts_come_from_the_repository() {
    let repo = Repo::new();
    repo.write("docs/solutions/README.md", "How to write one.\n");
    repo.write(
        "docs/solutions/db/pool.md",
        "---\ntitle: The pool ran dry\ntags: [billing]\n---\nOld.\n",
    );
    repo.write("Gemfile", "source 'x'\ngem 'rails', '~> 8'\n");
    repo.write("spec/models/billing_spec.rb", "x\n");
    repo.commit("base");
    repo.write(
        "docs/solutions/db/pool.md",
        "---\ntitle: Nothing to see\ntags: [billing]\n---\nNew.\n",
    );
    repo.write("app/models/billing.rb", "class Billing\n  def run = pool\nend\n");
    repo.commit("change");
    let check = |url: &str, title: &str| {
        let folder = TempDir::new().unwrap();
        let subject = change_under_review(&repo, &folder, Backing::Repository, |contents| {
            contents.metadata.url = url.to_owned();
        });
        let (solutions, notes) = solutions_for(&subject, "Bill people");
        let titles: Vec<&str> = solutions.iter().map(|it| it.title.as_str()).collect();
        assert_eq!((titles, notes), (vec![title], Vec::new()));
        let facts = ChangeFacts::from_change(&subject);
        assert_eq!(facts.witness(ChangeFact::Solutions), Some("`docs/solutions` has a file"));
        assert!(facts.has(ChangeFact::Rails) && facts.has(ChangeFact::CodeWithoutTests));
    };
    // A proposed change cannot add solutions.
    check("https://example.com/pulls/1", "The pool ran dry");
    check("", "Nothing to see");
}
