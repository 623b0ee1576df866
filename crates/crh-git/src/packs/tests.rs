//! What is found is what git has, and what is not usual is left to others.

use super::*;
use crh_testkit::Repo;

/// A file with a long history, so that most of its versions are differences from others.
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

/// All objects that git knows of.
fn ids(repo: &Repo) -> Vec<ObjectId> {
    let args = ["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"];
    let listed = String::from_utf8(repo.git(&args)).unwrap();
    listed.lines().map(|id| ObjectId::from_hex(id.as_bytes()).unwrap()).collect()
}

/// What was read is what was asked for if it has its hash.
fn hash(kind: Kind, bytes: &[u8]) -> ObjectId {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, kind, bytes).unwrap()
}

/// Reads all objects, each as the first of a process.
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

/// How many objects are kept as a difference from another.
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
fn packed_objects_are_read_with_what_they_are_differences_from() {
    for by_distance in ["true", "false"] {
        let repo = with_history();
        let setting = format!("repack.useDeltaBaseOffset={by_distance}");
        repo.git(&["-c", &setting, "repack", "-a", "-d", "-f", "-q"]);
        assert!(differences(&repo) > 8);
        check(&repo);
    }
}

#[test]
fn offsets_that_do_not_fit_into_31_bits_are_read() {
    let repo = with_history();
    repo.git(&["repack", "-a", "-d", "-f", "-q"]);
    let index = one_index(&repo);
    let pack = index.with_extension("pack");
    fs::remove_file(&index).unwrap();
    // All offsets beyond 64 go to the table of large ones.
    repo.git(&["index-pack", "--index-version=2,64", pack.to_str().unwrap()]);
    assert!(packs(&repo).unwrap().packs[0].large > 30);
    check(&repo);
}

#[test]
fn several_packs_loose_objects_and_alternates_are_one_repository() {
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
fn what_is_not_usual_is_left_to_others() {
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
fn only_the_first_objects_are_read() {
    let repo = with_history();
    let (packs, id) = (packs(&repo).unwrap(), ids(&repo)[0]);
    for _ in 0..READS_MAX {
        assert!(packs.has(&id));
    }
    assert!(!packs.has(&id));
    assert_eq!(packs.find(&id, &mut Vec::new()), None);
}

#[test]
fn a_broken_index_gives_no_other_object() {
    let repo = with_history();
    repo.git(&["repack", "-a", "-d", "-f", "-q"]);
    let (ids, index) = (ids(&repo), one_index(&repo));
    // Beyond the checksums are the offsets: whether one leads to another object, only git's own check finds out.
    let offsets = HEAD as usize + 24 * ids.len();
    for (broken, at) in broken(&index) {
        let wrong = wrong(&repo, &ids);
        assert!(wrong == 0 || (broken == Broken::Flipped && at >= offsets), "{broken:?} at {at}");
    }
}

#[test]
fn a_broken_pack_does_not_panic() {
    let repo = with_history();
    repo.git(&["repack", "-a", "-d", "-f", "-q"]);
    let (ids, pack) = (ids(&repo), one_index(&repo).with_extension("pack"));
    let mut unread = 0;
    for _ in broken(&pack) {
        wrong(&repo, &ids);
        let first = packs(&repo).and_then(|packs| packs.find(&ids[0], &mut Vec::new()));
        unread += usize::from(first.is_none());
    }
    assert!(unread > 0);
}

#[derive(Debug, PartialEq)]
enum Broken {
    Flipped,
    Cut,
}

/// Breaks a file at one place after another.
fn broken(path: &Path) -> impl Iterator<Item = (Broken, usize)> {
    let good = fs::read(path).unwrap();
    // It is read-only.
    fs::remove_file(path).unwrap();
    (0..good.len()).step_by(29).flat_map(|at| [(Broken::Flipped, at), (Broken::Cut, at)]).map(
        move |(broken, at)| {
            let mut bytes = good.clone();
            match broken {
                Broken::Flipped => bytes[at] ^= 1 << (at % 8),
                Broken::Cut => bytes.truncate(at),
            }
            fs::write(path, bytes).unwrap();
            (broken, at)
        },
    )
}

/// How many objects are read that are not what was asked for.
fn wrong(repo: &Repo, ids: &[ObjectId]) -> usize {
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
