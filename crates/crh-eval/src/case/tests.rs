use super::*;

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn case() -> Case {
    Case {
        id: "a".to_owned(),
        title: "Title".to_owned(),
        body: "Body".to_owned(),
        language: "c".to_owned(),
        licence: String::new(),
        twin_of: None,
        source: CaseSource::Files { base: files(&[("a", "1\n"), ("b", "2\n")]), head: files(&[]) },
        expected: Vec::new(),
        known_bad: Vec::new(),
        is_draft: false,
    }
}

#[test]
fn content_hash_covers_what_a_review_sees() {
    let hash = case().content_hash();
    assert_eq!(hash.len(), 64);
    let unseen = [
        Case { id: "b".to_owned(), ..case() },
        Case { language: "go".to_owned(), ..case() },
        Case { licence: "MIT".to_owned(), ..case() },
        Case { twin_of: Some("x".to_owned()), ..case() },
    ];
    for other in unseen {
        assert_eq!(other.content_hash(), hash, "{other:?}");
    }
    let source = |base: &[(&str, &str)], head: &[(&str, &str)]| CaseSource::Files {
        base: files(base),
        head: files(head),
    };
    let commits = |repo: &str, diff: &str| {
        let (base, head) = ("1".repeat(40), "2".repeat(40));
        CaseSource::Commits { repo: repo.to_owned(), clone: None, base, head, diff: diff.into() }
    };
    let mut seen = vec![
        Case { title: "Other".to_owned(), ..case() },
        Case { body: "Other".to_owned(), ..case() },
        Case { title: "TitleB".to_owned(), body: "ody".to_owned(), ..case() },
    ];
    let sources = [
        source(&[("a", "1\n"), ("b", "2\n")], &[("a", "1\n")]),
        source(&[("a", "1\n"), ("b", "3\n")], &[]),
        source(&[("a", "1\n"), ("c", "2\n")], &[]),
        source(&[("a", "1\n")], &[("b", "2\n")]),
        commits("o/r", ""),
        commits("o/q", ""),
        commits("o/r", "x"),
        CaseSource::Diff(b"x".to_vec()),
    ];
    seen.extend(sources.map(|source| Case { source, ..case() }));
    let mut hashes: Vec<String> = seen.iter().map(Case::content_hash).collect();
    hashes.push(hash);
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), seen.len() + 1);
}

fn check(base: &[(&str, &str)], diff: &str, expected: Result<&[(&str, &str)], &str>) {
    let found = applied(&files(base), diff.as_bytes());
    let found = found.map_err(|wrong| wrong.at("x").error.to_string());
    assert_eq!(found, expected.map(files).map_err(str::to_owned), "{diff}");
}

#[test]
fn diff_creates_the_changed_files() {
    let base = [("a", "1\n"), ("b", "2\n"), ("c", "3\n")];
    check(
        &base,
        "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n\
         diff --git a/b b/b\ndeleted file mode 100644\n--- a/b\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n\
         diff --git a/c b/d/c\nsimilarity index 100%\nrename from c\nrename to d/c\n\
         diff --git a/e b/e\nnew file mode 100644\n--- /dev/null\n+++ b/e\n@@ -0,0 +1 @@\n+5\n",
        Ok(&[("a", "one\n"), ("d/c", "3\n"), ("e", "5\n")]),
    );
}

#[test]
fn diff_of_other_files_is_refused() {
    let a = [("a", "1\n")];
    check(
        &a,
        "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
        Err("x: `diff` changes `x`, which is not in the base"),
    );
    check(
        &a,
        "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-2\n+3\n",
        Err("x: `diff` does not apply to `a`: line 1 of the old file does not match the diff"),
    );
    check(
        &a,
        "--- a/a\n+++ b/a\n@@ -1,2 +1 @@\n-1\n",
        Err("x: `diff`, line 3: the hunk is 2 lines shorter than its header says"),
    );
}
