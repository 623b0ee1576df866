//! The instructions of a repository: which are taken, and what is said of those that are not.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crh_git::Objects;
use crh_pipeline::agent_files::{AgentFiles, agent_files};
use crh_review::diff::RepoPath;
use crh_testkit::Repo;

fn found(repo: &Repo, changed: &[&[u8]]) -> AgentFiles {
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::new(*path)).collect();
    agent_files(&objects, &repo.id("HEAD"), &changed.iter().collect::<Vec<_>>()).unwrap()
}

fn places(found: &AgentFiles) -> Vec<&str> {
    found.files.iter().map(|file| file.place.as_str()).collect()
}

#[test]
fn what_is_too_large_or_leads_nowhere_is_said() {
    let repo = Repo::new();
    // More than is ever read at once.
    File::create(repo.path().join("AGENTS.md")).unwrap().set_len((64 << 20) + 1).unwrap();
    repo.write("REVIEW.md", "a".repeat((256 << 10) + 1));
    repo.write(".clinerules", "a".repeat(256 << 10));
    repo.write(".crh/skills/a.md", "a");
    symlink("../../gone.md", repo.path().join(".crh/skills/gone.md")).unwrap();
    fs::create_dir(repo.path().join(".cursor")).unwrap();
    symlink("../docs", repo.path().join(".cursor/rules")).unwrap();
    repo.commit("instructions");
    let found = found(&repo, &[]);
    assert_eq!(places(&found), ["rules/.clinerules", "skills/a.md"]);
    assert_eq!(
        found.notes,
        [
            "`AGENTS.md` is left out of the instructions: it has 67108865 bytes, more than 262144",
            "`REVIEW.md` is left out of the instructions: it has 262145 bytes, more than 262144",
            "`.cursor/rules` is left out of the instructions: it is a link, not a folder",
            "`.crh/skills/gone.md` is left out of the instructions: it is a link that leads to no file of the repository",
        ]
    );
}

#[test]
fn of_too_many_files_the_first_are_taken_and_the_rest_is_counted() {
    let repo = Repo::new();
    let file = |number| (format!(".clinerules/{number:04}/a.md"), "a".to_owned());
    repo.import((0..300).map(file).chain([("REVIEW.md".to_owned(), "a".to_owned())]));
    let found = found(&repo, &[]);
    assert_eq!(found.files.len(), 200);
    assert_eq!(
        found.notes,
        ["101 more files of instructions are left out: at most 200 are looked at"]
    );
    let places = places(&found);
    assert!(places.contains(&"rules/REVIEW.md"));
    assert!(places.contains(&"rules/.clinerules%2F0198%2Fa.md"), "{places:?}");
    assert!(!places.contains(&"rules/.clinerules%2F0199%2Fa.md"), "{places:?}");
}

#[test]
fn names_that_are_not_text_are_taken_too() {
    let repo = Repo::new();
    for folder in [b"d\xff".as_slice(), b".clinerules"] {
        let folder = repo.path().join(OsStr::from_bytes(folder));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("AGENTS.md"), "a").unwrap();
        fs::write(folder.join(OsStr::from_bytes(b"\xfe.md")), "a").unwrap();
    }
    repo.commit("instructions");
    let found = found(&repo, &[b"d\xff/a.rs"]);
    assert_eq!(places(&found), ["rules/%FE.md", "rules/AGENTS.md", "rules/d%FF%2FAGENTS.md"]);
}
