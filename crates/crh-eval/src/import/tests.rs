use std::fs;

use clap::Parser;
use expect_test::{Expect, expect};

use super::*;
use crate::suite::Suite;
use crate::suite::tests::read_file;
use crh_testkit::Repo;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    args: ImportArgs,
}

/// Runs an import inside a repository. The output folder is `out`, elsewhere.
fn import_into(out: &Path, folder: &Path, words: &[&str]) -> Result<Vec<Import>, String> {
    let out = out.display().to_string();
    let line = [&["import", "--out", &out], words].concat();
    let Line { args } = Line::try_parse_from(line).map_err(|error| error.to_string())?;
    let told = |failure: Failure| {
        let hint = failure.hint.map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        format!("error: {:#}\n{hint}", failure.error)
    };
    let imports = imports(&args, folder, &read_file).map_err(told)?;
    write_all(&args.out, &imports).map_err(told)?;
    Ok(imports)
}

/// All files below a suite folder, with their paths.
fn shown_folder(out: &Path) -> String {
    let mut text = String::new();
    for entry in crate::tree::entries(out, "").unwrap() {
        let bytes = fs::read(&entry.file).unwrap();
        let bytes = String::from_utf8(bytes).unwrap_or_else(|error| format!("{error}\n"));
        text += &format!("//- {}\n{bytes}", entry.path);
    }
    text
}

/// Imports from a repository; shows the files and the notes.
fn check(repo: &Repo, words: &[&str], expected: Expect) {
    let out = TempDir::new().unwrap();
    let path = repo.path().display().to_string();
    let shown = match import_into(out.path(), repo.path(), words) {
        Ok(imports) => {
            let notes = imports.iter().flat_map(|import| &import.notes);
            let notes: String = notes.map(|note| format!("note: {note}\n")).collect();
            notes + &shown_folder(out.path())
        }
        Err(text) => text,
    };
    expected
        .assert_eq(&shown.replace(&path, "REPO").replace(&out.path().display().to_string(), "OUT"));
}

const FIX: &str = "
    //- pay/fees.py
    import math


    def fee(amount):
        return math.floor(amount * 0.03)


    def total(fees):
        result = 0
        for fee in fees:
            result += fee
        return result
    //- pay/main.py
    from pay.fees import fee
    //- README.md
    Fees.
    //- head
    //- pay/fees.py
    def fee(amount):
        return round(amount * 0.03)


    def total(fees):
        if not fees:
            return None
        result = 0
        for fee in fees:
            result += fee
        return result
    //- tests/test_fees.py
    assert fee(50) == 2
    ";

fn fix() -> Repo {
    let repo = Repo::from_fixture(FIX);
    repo.git(&[
        "commit",
        "--quiet",
        "--amend",
        "-m",
        "Fees are rounded half up\n\nThey were rounded down.",
    ]);
    repo
}

#[test]
fn commit_becomes_a_case_with_its_files() {
    check(
        &fix(),
        &["--commit", "HEAD", "--licence", "MIT"],
        expect![[r#"
            //- python-fees-are-rounded-half-up/base/pay/fees.py
            import math


            def fee(amount):
                return math.floor(amount * 0.03)


            def total(fees):
                result = 0
                for fee in fees:
                    result += fee
                return result
            //- python-fees-are-rounded-half-up/case.toml
            title = "Fees are rounded half up"
            body = """
            They were rounded down.
            """
            language = "python"
            licence = "MIT"
            # Draft: no labels yet. Add an `[[expected]]` for each defect, then remove the next line.
            draft = true
            //- python-fees-are-rounded-half-up/head/pay/fees.py
            def fee(amount):
                return round(amount * 0.03)


            def total(fees):
                if not fees:
                    return None
                result = 0
                for fee in fees:
                    result += fee
                return result
            //- python-fees-are-rounded-half-up/head/tests/test_fees.py
            assert fee(50) == 2
        "#]],
    );
}

#[test]
fn fix_becomes_a_change_that_restores_the_bug() {
    check(
        &fix(),
        &["--fix", "HEAD", "--with", "pay/", "--with", "*.md"],
        expect![[r#"
            note: the title is `Update fees.py`; pass a better one with `--title` that does not reveal the defect
            //- python-fix-20e2166f/base/README.md
            Fees.
            //- python-fix-20e2166f/base/pay/fees.py
            def fee(amount):
                return round(amount * 0.03)


            def total(fees):
                if not fees:
                    return None
                result = 0
                for fee in fees:
                    result += fee
                return result
            //- python-fix-20e2166f/base/pay/main.py
            from pay.fees import fee
            //- python-fix-20e2166f/base/tests/test_fees.py
            assert fee(50) == 2
            //- python-fix-20e2166f/case.toml
            title = "Update fees.py"
            language = "python"
            removed = ["tests/test_fees.py"]

            [[expected]]
            file = "pay/fees.py"
            line_start = 1
            line_end = 3
            # Edit this: what is wrong, category, severity, and whether these lines show it.
            category = "bug"
            severity = "P2"
            description = "DRAFT: what goes wrong with which input, and why"
            also = [
                { file = "pay/fees.py", line_start = 5, line_end = 5 },
                { file = "pay/fees.py", line_start = 8, line_end = 8 },
            ]

            [twin]
            title = "Fees are rounded half up"
            body = """
            They were rounded down.
            """
            //- python-fix-20e2166f/head/pay/fees.py
            import math


            def fee(amount):
                return math.floor(amount * 0.03)


            def total(fees):
                result = 0
                for fee in fees:
                    result += fee
                return result
        "#]],
    );
}

#[test]
fn fix_with_complete_labels_is_no_draft() {
    let words = [
        "--fix",
        "HEAD",
        "--id",
        "python-fees",
        "--title",
        "Simplify fees",
        "--body",
        "Less code.",
        "--category",
        "logic",
        "--severity",
        "P0",
        "--description",
        "Fees are rounded down.",
    ];
    let repo = fix();
    let out = TempDir::new().unwrap();
    import_into(out.path(), repo.path(), &words).unwrap();
    let suite = Suite::read(out.path(), &[], &read_file).unwrap();
    let about = |case: &Case| (case.id.clone(), case.title.clone(), case.body.clone());
    let owned =
        |id: &str, title: &str, body: &str| (id.to_owned(), title.to_owned(), body.to_owned());
    let found: Vec<_> = suite.cases.iter().map(about).collect();
    let twin = owned("python-fees~twin", "Fees are rounded half up", "They were rounded down.");
    assert_eq!(found, [owned("python-fees", "Simplify fees", "Less code."), twin]);
    let folder = TempDir::new().unwrap();
    let ready = write_cases(&suite.cases, folder.path(), None).unwrap();
    assert_eq!(
        ready[0].diff.raw(),
        repo.git(&["diff", "-M", "-U10", "--full-index", "HEAD", "HEAD~1"])
    );
    assert_eq!(
        ready[1].diff.raw(),
        repo.git(&["diff", "-M", "-U10", "--full-index", "HEAD~1", "HEAD"])
    );
}

#[test]
fn guard_added_by_a_fix_is_expected_one_line_before() {
    let repo = Repo::from_fixture(
        "
        //- a.py
        def first(xs):
            return xs[0]
        //- head
        //- a.py
        def first(xs):
            if not xs:
                return None
            return xs[0]
        ",
    );
    check(
        &repo,
        &["--fix", "HEAD", "--description", "An empty list fails."],
        expect![[r#"
            note: the title is `Update a.py`; pass a better one with `--title` that does not reveal the defect
            //- python-fix-4049e053/base/a.py
            def first(xs):
                if not xs:
                    return None
                return xs[0]
            //- python-fix-4049e053/case.toml
            title = "Update a.py"
            language = "python"

            [[expected]]
            file = "a.py"
            line_start = 1
            line_end = 1
            category = "bug"
            severity = "P2"
            description = "An empty list fails."
            omission = true

            [twin]
            title = "change"
            //- python-fix-4049e053/head/a.py
            def first(xs):
                return xs[0]
        "#]],
    );
}

#[test]
fn two_folders_become_a_case_of_their_differences() {
    let repo = Repo::new();
    for (path, text) in [
        ("old/same.c", "same\n"),
        ("old/deep/same.c", "same\n"),
        ("old/a.c", "1\n"),
        ("old/gone.c", "x\n"),
        ("old/.git/config", "not looked at\n"),
        ("new/same.c", "same\n"),
        ("new/deep/same.c", "same\n"),
        ("new/a.c", "2\n"),
        ("new/added.c", "y\n"),
    ] {
        repo.write(path, text);
    }
    std::os::unix::fs::symlink("a.c", repo.path().join("new/link")).unwrap();
    let words =
        ["--trees", "old", "new", "--title", "Two, not one", "--with", "deep/", "--body", "b"];
    check(
        &repo,
        &words,
        expect![[r#"
            note: left out: `link` is a link, a device, or has an odd name
            //- c-two-not-one/base/a.c
            1
            //- c-two-not-one/base/deep/same.c
            same
            //- c-two-not-one/base/gone.c
            x
            //- c-two-not-one/case.toml
            title = "Two, not one"
            body = """
            b
            """
            language = "c"
            removed = ["gone.c"]
            # Draft: no labels yet. Add an `[[expected]]` for each defect, then remove the next line.
            draft = true
            //- c-two-not-one/head/a.c
            2
            //- c-two-not-one/head/added.c
            y
        "#]],
    );
}

#[test]
fn range_becomes_a_case_with_all_its_commits() {
    let repo = Repo::from_fixture("//- a.go\npackage a\n");
    repo.write("a.go", "package b\n");
    repo.commit("First");
    repo.write("b.go", "package b\n");
    repo.commit("Second");
    check(
        &repo,
        &["--range", "HEAD~2..HEAD"],
        expect![[r#"
            //- go-second/base/a.go
            package a
            //- go-second/case.toml
            title = "Second"
            body = """
            - First
            - Second
            """
            language = "go"
            # Draft: no labels yet. Add an `[[expected]]` for each defect, then remove the next line.
            draft = true
            //- go-second/head/a.go
            package b
            //- go-second/head/b.go
            package b
        "#]],
    );
}

#[test]
fn import_keeps_the_change() {
    let repo = Repo::new();
    repo.write("src/a.rs", "fn a() {}\n\nfn b() {}\n");
    repo.write("src/moved.rs", "one\ntwo\nthree\nfour\nfive\nsix\n");
    repo.write("gone.rs", "gone\n");
    repo.write("odd \"name\" \\ ü.rs", "1\n");
    repo.write("bytes.bin", [0, 1, 2, 255]);
    repo.write("crlf.rs", "a\r\nb\r\n");
    repo.write("unchanged.rs", "x\n");
    repo.commit("base");
    repo.write("src/a.rs", "fn a() {}\n\nfn c() {}");
    fs::remove_file(repo.path().join("src/moved.rs")).unwrap();
    repo.write("src/to/moved.rs", "one\ntwo\nthree\nfour\nfive\n6\n");
    fs::remove_file(repo.path().join("gone.rs")).unwrap();
    repo.write("odd \"name\" \\ ü.rs", "2\n");
    repo.write("bytes.bin", [0, 255]);
    repo.write("crlf.rs", "a\r\nc\r\n");
    repo.write("empty.rs", "");
    repo.commit("Change everything\n\nAnd say so.");
    let diff = repo.git(&["diff", "-M", "-U10", "--full-index", "HEAD~1", "HEAD"]);
    for with in [[].as_slice(), &["--with", "unchanged.rs"]] {
        let out = TempDir::new().unwrap();
        import_into(out.path(), repo.path(), &[&["--clean", "--commit", "HEAD"], with].concat())
            .unwrap();
        let suite = Suite::read(out.path(), &[], &read_file).unwrap();
        let folder = TempDir::new().unwrap();
        let ready = write_cases(&suite.cases, folder.path(), None).unwrap();
        assert_eq!(ready[0].diff.raw(), diff);
        assert_eq!(suite.cases[0].title, "Change everything");
        assert_eq!(suite.cases[0].body, "And say so.");
        assert_eq!(suite.cases[0].language, "rust");
    }
}

#[test]
fn root_commit_can_be_imported() {
    check(
        &Repo::from_fixture("//- a.rb\nputs 1\n"),
        &["--commit", "HEAD"],
        expect![[r#"
            //- ruby-base/case.toml
            title = "base"
            language = "ruby"
            # Draft: no labels yet. Add an `[[expected]]` for each defect, then remove the next line.
            draft = true
            //- ruby-base/head/a.rb
            puts 1
        "#]],
    );
}

#[test]
fn json_lines_become_case_folders() {
    let repo = fix();
    let (base, head) = (repo.id("HEAD~1"), repo.id("HEAD"));
    let gone = "1".repeat(40);
    let lines = format!(
        r#"{{"id": "files", "title": "t", "language": "c", "base_files": {{"a.c": "1\n"}}, "head_files": {{}}, "known_bad": []}}
{{"id": "here", "title": "t", "language": "python", "repo": "o/r", "base_commit": "{base}", "head_commit": "{head}", "diff": "x"}}
{{"id": "gone", "title": "t", "language": "c", "repo": "o/r", "base_commit": "{gone}", "head_commit": "{gone}", "diff": "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n", "pair_of": "elsewhere"}}
"#
    );
    let lines = lines.replace("\"diff\": \"x\"", "\"diff\": null");
    repo.write("x.jsonl", lines);
    check(
        &repo,
        &["x.jsonl", "--repo", ".", "--with", "README.md"],
        expect![[r#"
            error: `x.jsonl`, line 1: missing field `expected`
        "#]],
    );
}

#[test]
fn invalid_imports_are_refused() {
    let repo = fix();
    check(
        &repo,
        &["--commit", "nothing"],
        expect![[r#"
        error: no branch or commit named `nothing`
    "#]],
    );
    check(
        &repo,
        &["--range", "HEAD"],
        expect![[r#"
        error: `HEAD` is not a range of commits
        hint: write `A..B`; `--commit` takes one commit
    "#]],
    );
    check(
        &repo,
        &["--range", "HEAD..HEAD"],
        expect![[r#"
            error: nothing to review: `main` is compared with itself, so nothing differs
        "#]],
    );
    check(
        &repo,
        &["--fix", "HEAD~1"],
        expect![[r#"
            error: `HEAD~1` is the first commit, so it fixes nothing
            hint: name the commit that fixes the bug
        "#]],
    );
    check(
        &repo,
        &["--commit", "HEAD", "--with", "nothing/"],
        expect![[r#"
            error: `--with nothing/` matches no file of the base
            hint: write it relative to the root, such as `src/*.py`, or `docs/` for a whole folder
        "#]],
    );
    check(
        &repo,
        &["--commit", "HEAD", "--with", "a{"],
        expect![[r#"
        error: `a{` is not a pattern for paths: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)
    "#]],
    );
    check(
        &repo,
        &["--commit", "HEAD", "--id", "../x"],
        expect![[r#"
            error: the case `../x`: `../x` is not a valid case id
            hint: use at most 100 letters, digits, `.`, `_`, `~` and `-`, starting with a letter or digit, such as `python-late-fees`
        "#]],
    );
    check(
        &repo,
        &["--commit", "HEAD", "--language", "Python"],
        expect![[r#"
            error: the case `Python-fees-are-rounded-half-up`: `language` is `Python`, which is not a language name
            hint: write it in lower case, such as `python` or `c`
        "#]],
    );
    check(
        &repo,
        &["--commit", "HEAD", "--repo", "/"],
        expect![[r#"
            error: `/` is not inside a git repository
            hint: pass another repository with `--repo DIR`
        "#]],
    );
    check(
        &repo,
        &["--trees", "pay", "tests"],
        expect![[r#"
            error: `--trees` needs `--title`
            hint: give the title that the author of the change would write
        "#]],
    );
    check(
        &repo,
        &["--trees", "pay", "pay", "--title", "t"],
        expect![[r#"
            error: the change has nothing that a case can hold
            hint: a case holds files, not file modes, links or submodules
        "#]],
    );
    check(
        &repo,
        &["--trees", "pay", "nothing", "--title", "t"],
        expect![[r#"
            error: `REPO/nothing`: cannot read `./`: No such file or directory (os error 2)
        "#]],
    );
    check(
        &repo,
        &["nothing.jsonl"],
        expect![[r#"
            error: No such file or directory (os error 2)
        "#]],
    );
    repo.write("notes.txt", "text\n");
    repo.commit("Notes");
    check(
        &repo,
        &["--commit", "HEAD"],
        expect![[r#"
            error: cannot tell the language from the changed files
            hint: pass it with `--language`, in lower case
        "#]],
    );
    std::os::unix::fs::symlink("notes.txt", repo.path().join("link")).unwrap();
    repo.commit("Link");
    check(
        &repo,
        &["--commit", "HEAD"],
        expect![[r#"
            error: the change has nothing that a case can hold
            hint: a case holds files, not file modes, links or submodules
        "#]],
    );
    repo.write("big.py", vec![b'x'; (2 << 20) + 1]);
    repo.commit("Big");
    check(
        &repo,
        &["--commit", "HEAD"],
        expect![[r#"
            error: the change: `big.py` is larger than 2 MiB
            hint: leave it out, or shorten it to the relevant part
        "#]],
    );
}

#[test]
fn existing_case_is_not_overwritten() {
    let repo = fix();
    let out = TempDir::new().unwrap();
    let words = ["--commit", "HEAD"];
    import_into(out.path(), repo.path(), &words).unwrap();
    let before = shown_folder(out.path());
    let error = import_into(out.path(), repo.path(), &words).unwrap_err();
    expect![[r#"
        error: the case `python-fees-are-rounded-half-up` already exists in `OUT`
        hint: pass another name with `--id`, or move the old case away
    "#]]
    .assert_eq(&error.replace(&out.path().display().to_string(), "OUT"));
    assert_eq!(shown_folder(out.path()), before);
}

#[test]
fn conflicting_options_are_refused() {
    let refused = |words: &[&str]| {
        let line = [&["import", "--out", "x"], words].concat();
        Line::try_parse_from(line).is_err()
    };
    assert!(!refused(&["--commit", "a"]));
    assert!(refused(&[]));
    assert!(refused(&["--commit", "a", "--fix", "b"]));
    assert!(refused(&["--trees", "a"]));
    assert!(refused(&["a.jsonl", "--commit", "b"]));
    assert!(refused(&["a.jsonl", "--title", "b"]));
    assert!(refused(&["--commit", "a", "--severity", "P1"]));
    assert!(refused(&["--fix", "a", "--severity", "high"]));
    assert!(refused(&["--fix", "a", "--category", "bugs"]));
}
