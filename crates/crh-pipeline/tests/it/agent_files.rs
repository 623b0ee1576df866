//! Which instruction files of a repository are read, and the notes about the others.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use crh_git::Objects;
use crh_pipeline::agent_files::{AgentFiles, read_agent_files};
use crh_review::diff::RepoPath;
use crh_testkit::Repo;

fn read_files(repo: &Repo, changed: &[&[u8]]) -> AgentFiles {
    let objects = Objects::open(&repo.path().join(".git")).unwrap();
    let changed: Vec<RepoPath> = changed.iter().map(|path| RepoPath::new(*path)).collect();
    read_agent_files(&objects, &repo.id("HEAD"), &changed.iter().collect::<Vec<_>>()).unwrap()
}

fn places(found: &AgentFiles) -> Vec<&str> {
    found.files.iter().map(|file| file.place.as_str()).collect()
}

#[test]
fn large_files_and_dangling_symlinks_are_noted() {
    let repo = Repo::new();
    // Larger than any file crh reads at once.
    File::create(repo.path().join("AGENTS.md")).unwrap().set_len((64 << 20) + 1).unwrap();
    repo.write("REVIEW.md", "a".repeat((256 << 10) + 1));
    repo.write(".clinerules", "a".repeat(256 << 10));
    repo.write(".crh/skills/a.md", "a");
    symlink("../../gone.md", repo.path().join(".crh/skills/gone.md")).unwrap();
    fs::create_dir(repo.path().join(".cursor")).unwrap();
    symlink("../docs", repo.path().join(".cursor/rules")).unwrap();
    repo.commit("instructions");
    let agent_files = read_files(&repo, &[]);
    assert_eq!(places(&agent_files), ["rules/.clinerules", "skills/a.md"]);
    assert_eq!(
        agent_files.notes,
        [
            "instruction file `AGENTS.md` is left out: it has 67108865 bytes, more than 262144",
            "instruction file `REVIEW.md` is left out: it has 262145 bytes, more than 262144",
            "instruction file `.cursor/rules` is left out: it is a symlink, not a folder",
            "instruction file `.crh/skills/gone.md` is left out: it is a symlink that does not lead to a file of the repository",
        ]
    );
}

#[test]
fn claude_file_beside_agents_file_is_read_unless_it_says_the_same() {
    let check = |claude: &str, expected: &[&str]| {
        let repo = Repo::new();
        repo.write("AGENTS.md", "Use tabs.\n");
        match claude.strip_prefix("-> ") {
            Some(target) => symlink(target, repo.path().join("CLAUDE.md")).unwrap(),
            None => repo.write("CLAUDE.md", claude),
        }
        repo.write(".cursorrules", "Use blanks.\n");
        repo.commit("instructions");
        let agent_files = read_files(&repo, &[b"a.rs"]);
        assert_eq!(places(&agent_files), expected, "{claude}");
        agent_files
    };
    let agent_files = check("Write tests.\n", &["AGENTS.md", "rules/CLAUDE.md"]);
    assert_eq!(agent_files.files[1].bytes, b"Write tests.\n");
    check("Use tabs.\n", &["AGENTS.md"]);
    check("Use runes", &["AGENTS.md", "rules/CLAUDE.md"]);
    check("-> AGENTS.md", &["AGENTS.md"]);
    let agent_files = check("-> gone.md", &["AGENTS.md"]);
    assert_eq!(agent_files.notes.len(), 1, "{:?}", agent_files.notes);
}

#[test]
fn surplus_files_are_counted_and_left_out() {
    let repo = Repo::new();
    let file = |number| (format!(".clinerules/{number:04}/a.md"), "a".to_owned());
    repo.import((0..300).map(file).chain([("REVIEW.md".to_owned(), "a".to_owned())]));
    let agent_files = read_files(&repo, &[]);
    assert_eq!(agent_files.files.len(), 200);
    assert_eq!(
        agent_files.notes,
        ["101 more instruction files are left out: crh reads at most 200"]
    );
    let places = places(&agent_files);
    assert!(places.contains(&"rules/REVIEW.md"));
    assert!(places.contains(&"rules/.clinerules%2F0198%2Fa.md"), "{places:?}");
    assert!(!places.contains(&"rules/.clinerules%2F0199%2Fa.md"), "{places:?}");
}

#[test]
fn non_utf8_names_are_read() {
    let repo = Repo::new();
    for folder in [b"d\xff".as_slice(), b".clinerules"] {
        let folder = repo.path().join(OsStr::from_bytes(folder));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("AGENTS.md"), "a").unwrap();
        fs::write(folder.join(OsStr::from_bytes(b"\xfe.md")), "a").unwrap();
    }
    repo.commit("instructions");
    let agent_files = read_files(&repo, &[b"d\xff/a.rs"]);
    assert_eq!(places(&agent_files), ["rules/%FE.md", "rules/AGENTS.md", "rules/d%FF%2FAGENTS.md"]);
}
