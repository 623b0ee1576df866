//! Compares reads with git, and checks that unusual repositories are left to the object database.

use super::*;
use crh_testkit::Repo;

/// A file with a long history, so that most versions are stored as deltas.
fn with_history() -> Repo {
    let repo = Repo::new();
    for version in 0..12 {
        let line = |line: usize| format!("line {line} of version {}\n", version * (line % 40 / 39));
        let long = (0..300).map(line).collect();
        repo.import([("src/long.txt".to_owned(), long), ("empty".to_owned(), String::new())]);
    }
    repo.git(&["tag", "--annotate", "--message", "x", "tagged"]);
    repo
}

fn packs(repo: &Repo) -> Option<Packs> {
    Packs::open(&repo.path().join(".git/objects"))
}

/// All object ids.
fn ids(repo: &Repo) -> Vec<ObjectId> {
    let args = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
    let listed = String::from_utf8(repo.git(&args)).unwrap();
    listed.lines().map(|id| ObjectId::from_hex(id.as_bytes()).unwrap()).collect()
}

/// Verifies a read object by its hash.
fn hash(kind: Kind, bytes: &[u8]) -> ObjectId {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, bytes).unwrap()
}

/// Checks each object with a new reader, as if it were the first that a process reads.
fn check(repo: &Repo) {
    let ids = ids(repo);
    assert!(ids.len() > 36, "{}", ids.len());
    for id in ids {
        let packs = packs(repo).unwrap();
        let mut bytes = b"left from before".to_vec();
        let kind = packs.find(&id, &mut bytes).unwrap();
        assert_eq!(hash(kind, &bytes), id);
        assert!(packs.has(&id));
    }
    let missing = ObjectId::from_bytes_or_panic(&[7; 20]);
    assert_eq!(packs(repo).unwrap().find(&missing, &mut Vec::new()), None);
    assert!(!packs(repo).unwrap().has(&missing));
}

/// Number of objects stored as deltas.
fn differences(repo: &Repo) -> usize {
    let args = ["cat-file", "--batch-all-objects", "--batch-check=%(deltabase)"];
    let listed = String::from_utf8(repo.git(&args)).unwrap();
    listed.lines().filter(|base| !base.trim_matches('0').is_empty()).count()
}

#[test]
fn loose_objects_are_read() {
    check(&with_history());
}

#[test]
fn packed_deltas_are_read() {
    for by_distance in ["true", "false"] {
        let repo = with_history();
        let setting = format!("repack.useDeltaBaseOffset={by_distance}");
        repo.git(&["-c", &setting, "repack", "-a", "-d", "-f", "-q"]);
        assert!(differences(&repo) > 8);
        check(&repo);
    }
}

#[test]
fn large_offsets_are_read() {
    let repo = with_history();
    repo.git(&["repack", "-a", "-d", "-f", "-q"]);
    let index = one_index(&repo);
    let pack = index.with_extension("pack");
    fs::remove_file(&index).unwrap();
    // All offsets above 64 go to the table of large offsets.
    repo.git(&["index-pack", "--index-version=2,64", pack.to_str().unwrap()]);
    assert!(packs(&repo).unwrap().packs[0].large_offset_count > 30);
    check(&repo);
}

#[test]
fn packs_loose_objects_and_alternates_are_combined() {
    let repo = with_history();
    repo.git(&["repack", "-q", "-d"]);
    repo.import([("other".to_owned(), "second pack".to_owned())]);
    repo.git(&["repack", "-q", "-d"]);
    repo.git(&["multi-pack-index", "write"]);
    repo.import([("other".to_owned(), "loose".to_owned())]);
    check(&repo);

    let borrower = Repo::new();
    let alternates = format!("{}\n", repo.path().join(".git/objects").display());
    borrower.write(".git/objects/info/alternates", alternates);
    borrower.write("own", "own");
    borrower.commit("own");
    check(&borrower);
}

#[test]
fn unusual_repositories_are_not_opened() {
    let repo = with_history();
    repo.git(&["-c", "pack.indexVersion=1", "repack", "-a", "-d", "-q"]);
    assert!(packs(&repo).is_none(), "an index of version 1");
    assert!(Packs::open(&repo.path().join("nowhere")).is_none());
    let sha256 = repo.path().join("sha256");
    repo.git(&["init", "-q", "--object-format=sha256", sha256.to_str().unwrap()]);
    repo.git(&["-C", "sha256", "commit", "-q", "--allow-empty", "-m", "one"]);
    repo.git(&["-C", "sha256", "commit", "-q", "--allow-empty", "-m", "two"]);
    repo.git(&["-C", "sha256", "repack", "-a", "-d", "-q"]);
    assert!(Packs::open(&sha256.join(".git/objects")).is_none());
}

#[test]
fn number_of_reads_is_limited() {
    let repo = with_history();
    let (packs, id) = (packs(&repo).unwrap(), ids(&repo)[0]);
    for _ in 0..READS_MAX {
        assert!(packs.has(&id));
    }
    assert!(!packs.has(&id));
    assert_eq!(packs.find(&id, &mut Vec::new()), None);
}

#[test]
fn damaged_index_returns_no_wrong_object() {
    let repo = with_history();
    repo.git(&["repack", "-a", "-d", "-f", "-q"]);
    let (ids, index) = (ids(&repo), one_index(&repo));
    // The offsets follow the checksums. Only git's own check detects an offset of another object.
    let offsets = HEADER_BYTES as usize + 24 * ids.len();
    for (broken, at) in damaged_files(&index) {
        let wrong = wrong_reads(&repo, &ids);
        assert!(wrong == 0 || (broken == Damage::Flipped && at >= offsets), "{broken:?} at {at}");
    }
}

#[test]
fn damaged_pack_does_not_panic() {
    let repo = with_history();
    repo.git(&["repack", "-a", "-d", "-f", "-q"]);
    let (ids, pack) = (ids(&repo), one_index(&repo).with_extension("pack"));
    let mut unread = 0;
    for _ in damaged_files(&pack) {
        wrong_reads(&repo, &ids);
        let first = packs(&repo).and_then(|packs| packs.find(&ids[0], &mut Vec::new()));
        unread += usize::from(first.is_none());
    }
    assert!(unread > 0);
}

#[derive(Debug, PartialEq)]
enum Damage {
    Flipped,
    Cut,
}

/// Damages a file at one position after another.
fn damaged_files(path: &Path) -> impl Iterator<Item = (Damage, usize)> {
    let good = fs::read(path).unwrap();
    // Git makes the file read-only, so it is deleted and written again.
    fs::remove_file(path).unwrap();
    (0..good.len()).step_by(29).flat_map(|at| [(Damage::Flipped, at), (Damage::Cut, at)]).map(
        move |(broken, at)| {
            let mut bytes = good.clone();
            match broken {
                Damage::Flipped => bytes[at] ^= 1 << (at % 8),
                Damage::Cut => bytes.truncate(at),
            }
            fs::write(path, bytes).unwrap();
            (broken, at)
        },
    )
}

/// Number of reads that return a wrong object.
fn wrong_reads(repo: &Repo, ids: &[ObjectId]) -> usize {
    let Some(packs) = packs(repo) else { return 0 };
    let is_wrong = |id: &&ObjectId| {
        let mut bytes = Vec::new();
        packs.find(id, &mut bytes).is_some_and(|kind| hash(kind, &bytes) != **id)
    };
    ids.iter().take(READS_MAX).filter(is_wrong).count()
}

fn one_index(repo: &Repo) -> PathBuf {
    indexes(&repo.path().join(".git/objects")).unwrap().remove(0)
}
