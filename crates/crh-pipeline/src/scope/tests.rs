//! Scope decisions as data: one line for every file of a fixture or diff.

use std::cell::RefCell;
use std::collections::HashMap;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crh_git::{AttributeState, PathEntryKind, ReadError};
use crh_testkit::Fixture;

/// Files from a fixture. Its `.gitattributes` support whole paths only.
struct Fake {
    contents: HashMap<(Side, String), String>,
    marks: HashMap<String, FileAttributes>,
    asked: RefCell<Vec<String>>,
}

impl Fake {
    fn of(fixture: &Fixture) -> Self {
        let mut fake = Self {
            contents: HashMap::new(),
            marks: HashMap::new(),
            asked: RefCell::new(Vec::new()),
        };
        for (path, text) in &fixture.base {
            fake.contents.insert((Side::Old, path.clone()), text.clone());
        }
        for (path, text) in &fixture.head {
            let text = text.clone().unwrap_or_default();
            fake.contents.insert((Side::New, path.clone()), text);
        }
        let attributes = fake.contents.get(&(Side::Old, ".gitattributes".to_owned()));
        for line in attributes.cloned().unwrap_or_default().lines() {
            let (path, attribute) = line.split_once(' ').unwrap();
            let (name, state) = match (attribute.strip_prefix('-'), attribute.split_once('=')) {
                (Some(name), _) => (name, AttributeState::Unset),
                (None, Some((name, value))) => (name, AttributeState::Value(value.to_owned())),
                (None, None) => (attribute, AttributeState::Set),
            };
            let marks = fake.marks.entry(path.to_owned()).or_default();
            match name {
                "linguist-generated" => marks.generated = AttributeMark::from_state(name, &state),
                "linguist-vendored" => marks.vendored = AttributeMark::from_state(name, &state),
                _ => panic!("`{name}` is of no interest here"),
            }
        }
        fake
    }
}

impl FileSource for Fake {
    fn attributes(&self, path: &RepoPath) -> FileAttributes {
        self.marks.get(&*path.shown()).cloned().unwrap_or_default()
    }

    fn size(&self, side: Side, path: &RepoPath) -> Option<u64> {
        self.contents.get(&(side, path.shown().into_owned())).map(|text| text.len() as u64)
    }

    fn content(&self, side: Side, path: &RepoPath) -> Result<Option<Vec<u8>>, ReadError> {
        self.asked.borrow_mut().push(format!("{side:?} {}", path.shown()));
        let text = self.contents.get(&(side, path.shown().into_owned()));
        let missing = || ReadError::NoEntry(path.shown().into_owned());
        text.map(|text| Some(text.clone().into_bytes())).ok_or_else(missing)
    }

    fn had_folder(&self, folder: &[u8]) -> Option<bool> {
        let folder = format!("{}/", String::from_utf8_lossy(folder));
        let mut old_paths = self.contents.keys().filter(|(side, _)| *side == Side::Old);
        Some(old_paths.any(|(_, path)| path.starts_with(&folder)))
    }

    fn entry(&self, _: &[u8]) -> Result<Option<PathEntryKind>, ReadError> {
        Ok(None)
    }

    fn head_files(&self) -> Option<Vec<(Vec<u8>, PathEntryKind)>> {
        None
    }
}

/// Diff of a fixture, as git prints it: one hunk per file, all other lines as context.
fn diff_of(fixture: &Fixture) -> Diff {
    let mut raw = String::new();
    for (path, head) in &fixture.head {
        let base = fixture.base.iter().find(|(name, _)| name == path).map(|(_, text)| text);
        let old: Vec<_> = base.map_or(Vec::new(), |text| text.lines().collect());
        let new: Vec<_> = head.as_ref().map_or(Vec::new(), |text| text.lines().collect());
        let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        raw.push_str(&format!("diff --git a/{path} b/{path}\n"));
        match (base, head) {
            (None, _) => raw.push_str("new file mode 100644\n"),
            (_, None) => raw.push_str("deleted file mode 100644\n"),
            (Some(_), Some(_)) => {}
        }
        if old.is_empty() && new.is_empty() {
            continue;
        }
        let side = |is_there, name: String| if is_there { name } else { "/dev/null".to_owned() };
        raw.push_str(&format!("--- {}\n", side(base.is_some(), format!("a/{path}"))));
        raw.push_str(&format!("+++ {}\n", side(head.is_some(), format!("b/{path}"))));
        let start = |lines: &[&str]| usize::from(!lines.is_empty());
        let (first, second) = (start(&old), start(&new));
        raw.push_str(&format!("@@ -{first},{} +{second},{} @@\n", old.len(), new.len()));
        let lines = |sign: &str, lines: &[&str]| -> String {
            lines.iter().map(|line| format!("{sign}{line}\n")).collect()
        };
        raw.push_str(&lines(" ", &old[..same]));
        raw.push_str(&lines("-", &old[same..]));
        raw.push_str(&lines("+", &new[same..]));
    }
    Diff::read(raw)
}

/// Parses rules such as `exclude *.md`, one per line.
fn rules(text: &str) -> ScopeRules {
    let of = |word: &str| {
        let lines = text.lines().map(str::trim);
        let globs = lines.filter_map(|line| line.strip_prefix(word));
        PathGlobs::new(globs.map(str::trim)).unwrap()
    };
    let (exclude, include, generated) = (of("exclude "), of("include "), of("generated "));
    ScopeRules {
        paths: PathGlobs::default(),
        exclude,
        include,
        generated,
        max_file_bytes: 10_000,
        strict: false,
    }
}

/// Non-zero counts by first letter.
fn counts(lines: &LineCounts) -> String {
    let LineCounts { executable, test, prose, config, other, blank } = *lines;
    let all = [executable, test, prose, config, other, blank];
    let nonzero = all.iter().zip("etpcob".chars()).filter(|(count, _)| **count > 0);
    nonzero.map(|(count, word)| format!("{count}{word}")).collect()
}

fn scope_text(scope: &Scope) -> String {
    let mut text = String::new();
    for file in &scope.files {
        let path = file.path.shown();
        let (added, removed) = (counts(&file.added), counts(&file.removed));
        let decision = match &file.decision {
            ScopeDecision::In => format!("in as {:?}", file.role),
            ScopeDecision::Out(reason) => format!("out, {}: {}", reason.name(), reason.sentence()),
        };
        let effect = match file.effect {
            SkipEffect::Harmless | SkipEffect::Accepted => "",
            SkipEffect::Incomplete => " [incomplete]",
        };
        text.push_str(&format!("{path} +{added} -{removed} {decision}{effect}\n"));
        for note in &file.notes {
            match note {
                ScopeNote::IgnoredClaim { reason } => {
                    text.push_str(&format!("  not believed: {}\n", reason.sentence()));
                }
                ScopeNote::Deleted
                | ScopeNote::Link
                | ScopeNote::LinkLoop
                | ScopeNote::ComesIntoUse
                | ScopeNote::UnknownKind
                | ScopeNote::LinesNotShown
                | ScopeNote::Included { .. }
                | ScopeNote::Unread { .. } => text.push_str(&format!("  {note:?}\n")),
            }
        }
    }
    text
}

/// The name of the reason for each file that is out of scope.
fn reasons(scope: &Scope) -> Vec<&'static str> {
    let reason = |file: &ScopeFile| match &file.decision {
        ScopeDecision::In => "in",
        ScopeDecision::Out(reason) => reason.name(),
    };
    scope.files.iter().map(reason).collect()
}

/// New files with these paths and the line `x`.
fn new_files(paths: &str) -> Fixture {
    let file = |path: &str| (path.to_owned(), Some("x\n".to_owned()));
    Fixture { base: Vec::new(), head: paths.split_whitespace().map(file).collect() }
}

fn check(fixture: &str, expected: Expect) {
    check_with("", fixture, expected);
}

#[expect(clippy::needless_pass_by_value, reason = "tests read better")]
fn check_with(rule_lines: &str, fixture: &str, expected: Expect) {
    let fixture = Fixture::parse(fixture);
    let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules(rule_lines));
    expected.assert_eq(&scope_text(&scope));
}

#[expect(clippy::needless_pass_by_value, reason = "tests read better")]
fn check_diff(fixture: &str, diff: &str, expected: Expect) {
    let diff: String =
        diff.lines().map(|line| format!("{}\n", line.trim_start_matches('|'))).collect();
    let scope = decide_scope(&Diff::read(diff), &Fake::of(&Fixture::parse(fixture)), &rules(""));
    expected.assert_eq(&scope_text(&scope));
}

#[test]
fn lines_are_counted_by_role() {
    check(
        "
        //- src/a.rs
        //! One.
        fn a() {}
        //- gone.py
        x = 1
        # why
        //- head
        //- src/a.rs
        //! One.
        fn b() {}

        // A comment.
        //go:build is for a program
        #![deny(warnings)]
        //- gone.py (deleted)
        //- tests/it.rs
        // Why.
        fn t() {}
        //- README.md
        # Title

        Text.
        //- ci.yml
        # Why.
        on: push
        //- run.sh
        #!/bin/sh
        # Why.
        ls
        //- data.csv
        # 1
        //- deploy
        rm -rf /
        //- q.sql
        -- Why.
        select 1
        ",
        expect![[r#"
            src/a.rs +3e1p1b -1e in as Executable
            gone.py + -1e1p in as Executable
              Deleted
            tests/it.rs +1t1p - in as Test
            README.md +2p1b - in as Prose
            ci.yml +1p1c - in as Config
            run.sh +2e1p - in as Executable
            data.csv +1o - in as Other
            deploy +1e - in as Executable
              UnknownKind
            q.sql +1e1p - in as Executable
        "#]],
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn role_is_derived_from_the_path() {
    let paths = "
        src/lib.rs src/lib/tests.rs tests/README.md tests/data/x.json test_a.py latest_a.py a_test.go
        contest.go a.spec.ts src/spec/openapi.ts spec/a_spec.rb spec/helper.rb src/test/java/A.java
        ATest.java ColumnSpec.java Manifest.kt App.Tests/A.cs AppTests/a.swift Makefile Dockerfile
        Dockerfile.dev .github/workflows/a.yml LICENSE license.txt notes.txt CMakeLists.txt
        requirements-dev.txt a.mdx a.html a.ipynb main.tf a.po a.svg .env .gitignore Gemfile
        bin/install INSTALL a.unheard-of README a.C A.MD uv.lock skills/pdf/SKILL.md
        plugins/x/skills/pdf/forms.md skills/README.md src/prompts/verify.md src/prompts/verify.rs
        .claude/agents/tester.md agents/tester.md docs/agents.md CLAUDE.md .github/review.prompt.md";
    let mut by_role = std::collections::BTreeMap::new();
    for path in paths.split_whitespace() {
        let kind = role::kind_of_path(path, false);
        let paths: &mut String = by_role.entry((kind.role, !kind.is_known)).or_default();
        paths.push_str(&format!("  {path}\n"));
    }
    let mut actual = String::new();
    for ((role, is_unknown), paths) in by_role {
        let unknown = if is_unknown { ", unknown" } else { "" };
        actual.push_str(&format!("{role:?}{unknown}\n{paths}"));
    }
    expect![[r#"
        Executable
          src/lib.rs
          latest_a.py
          contest.go
          src/spec/openapi.ts
          ColumnSpec.java
          Manifest.kt
          Makefile
          CMakeLists.txt
          a.mdx
          a.html
          a.ipynb
          main.tf
          Gemfile
          a.C
          src/prompts/verify.rs
        Executable, unknown
          bin/install
          a.unheard-of
        Test
          src/lib/tests.rs
          tests/data/x.json
          test_a.py
          a_test.go
          a.spec.ts
          spec/a_spec.rb
          spec/helper.rb
          src/test/java/A.java
          ATest.java
          App.Tests/A.cs
          AppTests/a.swift
        Prose
          tests/README.md
          LICENSE
          license.txt
          notes.txt
          INSTALL
          README
          A.MD
          skills/README.md
          docs/agents.md
        Config
          Dockerfile
          Dockerfile.dev
          .github/workflows/a.yml
          requirements-dev.txt
          .env
          .gitignore
          uv.lock
          skills/pdf/SKILL.md
          plugins/x/skills/pdf/forms.md
          src/prompts/verify.md
          .claude/agents/tester.md
          agents/tester.md
          CLAUDE.md
          .github/review.prompt.md
        Other
          a.po
          a.svg
    "#]]
    .assert_eq(&actual);
}

#[test]
fn lfs_pointers_are_skipped_only_if_nothing_else_is_in_the_file() {
    let pointer = |id: u32| {
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {id}\n")
    };
    let fixture = Fixture {
        base: vec![
            ("model.bin".to_owned(), pointer(1)),
            ("code.py".to_owned(), "run()\n".to_owned()),
        ],
        head: [("model.bin", ""), ("new.bin", ""), ("code.py", ""), ("more.py", "run()\n")]
            .map(|(path, end)| (path.to_owned(), Some(pointer(2) + end)))
            .into(),
    };
    let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules(""));
    assert_eq!(reasons(&scope), ["lfsPointer", "lfsPointer", "in", "in"]);
}

#[test]
fn only_the_paths_under_review_are_in_scope() {
    let fixture = new_files("services/a/x.py services/ab.py services/b/x.py");
    let paths = PathGlobs::new(["/services/a", "/services/a/"]).unwrap();
    let rules = ScopeRules { paths, ..rules("exclude x.py") };
    let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules);
    assert_eq!(reasons(&scope), ["excluded", "outsidePaths", "outsidePaths"]);
}

#[test]
fn lock_files_and_vendored_folders_are_skipped() {
    let fixture = new_files(
        "a/Cargo.lock Cargo.lock.md vendor/a.go src/vendors/a.go web/node_modules/vendor/a.js
         .yarn/releases/yarn.cjs yarn/releases/a.cjs vendor a.min.js a.js.map src/min.js",
    );
    let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules(""));
    expect![[r#"
        a/Cargo.lock +1c - in as Config
          not believed: a lock file: package managers write `Cargo.lock`
        Cargo.lock.md +1p - in as Prose
        vendor/a.go +1e - out, vendoredFolder: third-party code: it is in `vendor` [incomplete]
        src/vendors/a.go +1e - in as Executable
        web/node_modules/vendor/a.js +1e - out, vendoredFolder: third-party code: it is in `node_modules` [incomplete]
        .yarn/releases/yarn.cjs +1e - out, vendoredFolder: third-party code: it is in `.yarn/releases` [incomplete]
        yarn/releases/a.cjs +1e - in as Executable
        vendor +1e - in as Executable
          UnknownKind
        a.min.js +1e - out, generatedName: generated: its name ends in `.min.js` [incomplete]
        a.js.map +1e - out, generatedName: generated: its name ends in `.js.map`
        src/min.js +1e - in as Executable
    "#]]
    .assert_eq(&scope_text(&scope));
}

#[test]
fn new_file_with_marker_is_generated() {
    check(
        r##"
        //- head
        //- a.go
        // Copyright.

        // Code generated by protoc-gen-go. DO NOT EDIT.
        package a
        //- a.php
        <?php
        /**
         * @generated SignedSource<<x>>
         */
        //- a.cs
        // <auto-generated>
        //- a_pb2.py
        # -*- coding: utf-8 -*-
        # Generated by the protocol buffer compiler.  DO NOT EDIT!
        //- a.xml
        <?xml version="1.0"?>
        <!--
          This file was automatically generated by a tool.
        -->
        //- a.rs
        /* automatically generated by rust-bindgen 0.72 */
        //- says.rs
        //! Finds `@generated` and "Code generated by x. DO NOT EDIT." in files.
        //- text.py
        x = "# Code generated by x. DO NOT EDIT."
        # Code generated by x. DO NOT EDIT.
        //- doc.py
        """
        Code generated by x. DO NOT EDIT.
        """
        //- field.rs
        struct A {
            /// @generated by the server if it is left out.
            id: u32,
        //- loose.rs
        // Generated files are read here, and this is how.
        //- id.rs
        // @generatedness is another word.
        "##,
        expect![[r#"
            a.go +1e2p1b - out, generatedHeader: generated: its line 3 says `Code generated by protoc-gen-go. DO NOT EDIT.` [incomplete]
            a.php +4e - out, generatedHeader: generated: its line 3 says `@generated SignedSource<<x>>` [incomplete]
            a.cs +1p - out, generatedHeader: generated: its line 1 says `<auto-generated>` [incomplete]
            a_pb2.py +2p - out, generatedHeader: generated: its line 2 says `Generated by the protocol buffer compiler.  DO NOT EDIT!` [incomplete]
            a.xml +4c - out, generatedHeader: generated: its line 3 says `This file was automatically generated by a tool.`
            a.rs +1e - out, generatedHeader: generated: its line 1 says `automatically generated by rust-bindgen 0.72` [incomplete]
            says.rs +1p - in as Executable
            text.py +1e1p - in as Executable
            doc.py +3e - in as Executable
            field.rs +2e1p - in as Executable
            loose.rs +1p - in as Executable
            id.rs +1p - in as Executable
        "#]],
    );
}

#[test]
fn marker_added_by_the_change_is_ignored() {
    check(
        "
        //- src/auth.go
        package auth
        //- old.go
        // Code generated by x. DO NOT EDIT.
        package a
        //- freed.go
        // Code generated by x. DO NOT EDIT.
        package a
        //- head
        //- src/auth.go
        // Code generated by x. DO NOT EDIT.
        package auth
        func Evil() {}
        //- old.go
        // Code generated by x. DO NOT EDIT.
        package a
        func F() {}
        //- freed.go
        package a
        ",
        expect![[r#"
            src/auth.go +2e1p -1e in as Executable
              not believed: generated: its line 1 says `Code generated by x. DO NOT EDIT.`
            old.go +1e - out, generatedHeader: generated: its line 1 says `Code generated by x. DO NOT EDIT.`
            freed.go +1e -1e1p in as Executable
        "#]],
    );
}

#[test]
fn marker_counts_only_in_the_header() {
    let fixture = |lines: usize| {
        let licence = "// Licence.\n".repeat(lines);
        let text = format!("{licence}// Code generated by x. DO NOT EDIT.\n");
        Fixture { base: Vec::new(), head: vec![("a.go".to_owned(), Some(text))] }
    };
    let is_in = |lines| {
        let fixture = fixture(lines);
        let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules(""));
        scope.files[0].decision.is_in()
    };
    assert_eq!((is_in(39), is_in(40)), (false, true));
}

#[test]
fn long_lines_in_web_files_mean_minified() {
    let long = "a;".repeat(400);
    check(
        &format!(
            "//- was.js\n{long}\n//- short.js\na\n//- head\n//- new.css\n{long}\n//- new.py\n{long}\n//- was.js\n{long}b\n//- short.js\n{long}\n"
        ),
        expect![[r#"
            new.css +1e - out, minified: minified: its lines have 800 bytes on average
            new.py +1e - in as Executable
            was.js +1e -1e out, minified: minified: its lines have 801 bytes on average
            short.js +1e -1e in as Executable
        "#]],
    );
}

#[test]
fn attributes_set_and_unset_marks() {
    check(
        "
        //- .gitattributes
        set.rs linguist-generated
        true.rs linguist-generated=true
        slip.rs linguist-generated=ture
        theirs.rs linguist-vendored
        vendor/ours.go linguist-vendored=false
        Cargo.lock -linguist-generated
        hand.go -linguist-generated
        vendor/gen.go -linguist-generated
        //- head
        //- set.rs
        x
        //- true.rs
        x
        //- slip.rs
        x
        //- theirs.rs
        x
        //- vendor/ours.go
        x
        //- Cargo.lock
        x
        //- hand.go
        // Code generated by x. DO NOT EDIT.
        //- vendor/gen.go
        x
        ",
        expect![[r#"
            set.rs +1e - out, generatedAttribute: generated, by the attribute `linguist-generated`
            true.rs +1e - out, generatedAttribute: generated, by the attribute `linguist-generated=true`
            slip.rs +1e - in as Executable
            theirs.rs +1e - out, vendoredAttribute: third-party code, by the attribute `linguist-vendored`
            vendor/ours.go +1e - in as Executable
            Cargo.lock +1c - in as Config
            hand.go +1p - in as Executable
            vendor/gen.go +1e - out, vendoredFolder: third-party code: it is in `vendor` [incomplete]
        "#]],
    );
}

#[test]
fn user_rules_override_everything() {
    check_with(
        "
        exclude *.sql
        exclude docs/
        include kept/
        include huge.txt
        generated *.gen.*
        ",
        "
        //- .gitattributes
        kept/a.rs linguist-generated
        a.gen.rs -linguist-generated
        //- head
        //- docs/a.rs
        x
        //- kept/a.sql
        x
        //- kept/a.rs
        x
        //- kept/vendor/Cargo.lock
        x
        //- kept/a.go
        // Code generated by x. DO NOT EDIT.
        //- a.gen.rs
        x
        //- kept/a.gen.rs
        x
        //- kept/empty.rs
        ",
        expect![[r#"
            docs/a.rs +1e - out, excluded: excluded by `docs/`
            kept/a.sql +1e - out, excluded: excluded by `*.sql`
            kept/a.rs +1e - in as Executable
              Included { glob: "kept/" }
            kept/vendor/Cargo.lock +1c - in as Config
              Included { glob: "kept/" }
            kept/a.go +1p - in as Executable
              Included { glob: "kept/" }
            a.gen.rs +1e - out, generatedRule: generated, by the pattern `*.gen.*`
            kept/a.gen.rs +1e - in as Executable
              Included { glob: "kept/" }
            kept/empty.rs + - out, empty: empty: it has no lines
        "#]],
    );
}

#[test]
fn large_files_are_skipped() {
    let large = "x\n".repeat(6_000);
    check(
        &format!(
            "//- a.rs\n{large}//- gone.rs\n{large}//- kept.rs\na\n//- head\n//- a.rs\n{large}b\n//- gone.rs (deleted)\n//- kept.rs\nb\n"
        ),
        expect![[r#"
            a.rs +1e - out, tooLarge: too large: it has 12002 bytes, more than 10000 [incomplete]
            gone.rs + -6000e out, tooLarge: too large: it has 12000 bytes, more than 10000
              Deleted
            kept.rs +1e -1e in as Executable
        "#]],
    );
    let fixture = Fixture { base: Vec::new(), head: vec![("new.rs".to_owned(), Some(large))] };
    let scope = decide_scope(&diff_of(&fixture), &DiffOnly, &rules(""));
    expect![[r#"
        new.rs +6000e - out, tooLarge: too large: it has 12000 bytes, more than 10000 [incomplete]
    "#]]
    .assert_eq(&scope_text(&scope));
}

#[test]
fn files_without_lines_cannot_be_included() {
    let diff = "\
diff --git a/sub b/sub
index 1111111..2222222 160000
--- a/sub
+++ b/sub
@@ -1 +1 @@
-Subproject commit 1111111111111111111111111111111111111111
+Subproject commit 2222222222222222222222222222222222222222
Submodule log 1234567..89abcde:
  > a commit
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/a.rs b/b.rs
similarity index 100%
rename from a.rs
rename to b.rs
diff --git a/a.rs b/c.rs
similarity index 100%
copy from a.rs
copy to c.rs
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
diff --git a/__init__.py b/__init__.py
new file mode 100644
index 0000000..e69de29
";
    let forced = decide_scope(&Diff::read(diff), &DiffOnly, &rules("include **"));
    expect![[r#"
        sub +1e -1e out, submodule: a submodule: its code is in another repository
        log + - out, submodule: a submodule: its code is in another repository [incomplete]
        run.sh + - out, modeOnly: only its mode changed, from 100644 to 100755 [incomplete]
          ComesIntoUse
        b.rs + - out, moveOnly: only its path changed, and no line
        c.rs + - out, moveOnly: only its path changed, and no line
        logo.png + - out, binary: binary: it has no lines
        __init__.py + - out, empty: empty: it has no lines
    "#]]
    .assert_eq(&scope_text(&forced));
}

#[test]
fn deleted_files_symlinks_and_hidden_lines_are_noted() {
    check_diff(
        "",
        "\
diff --git a/gone.rs b/gone.rs
deleted file mode 100644
--- a/gone.rs
+++ /dev/null
@@ -1 +0,0 @@
-fn gone() {}
diff --git a/link.rs b/link.rs
new file mode 120000
--- /dev/null
+++ b/link.rs
@@ -0,0 +1 @@
+/etc/passwd
diff --git a/changed.rs b/changed.rs
index 1111111..2222222 100644
--- a/changed.rs
+++ b/changed.rs
@@ -5 +5 @@
-a
+b
diff --cc merged.rs
index 1111111,2222222..3333333
--- a/merged.rs
+++ b/merged.rs
@@@ -1,1 -1,1 +1,1 @@@
++x
diff --git a/cut.rs b/cut.rs
index 1111111..2222222 100644
--- a/cut.rs
+++ b/cut.rs
",
        expect![[r#"
            gone.rs + -1e in as Executable
              Deleted
            link.rs +1o - in as Other [incomplete]
              Link
            changed.rs +1e -1e in as Executable
              Unread { message: "there is no `changed.rs` at this revision" }
            merged.rs + - in as Executable
              LinesNotShown
              Unread { message: "there is no `merged.rs` at this revision" }
            cut.rs + - in as Executable
              LinesNotShown
              Unread { message: "there is no `cut.rs` at this revision" }
        "#]],
    );
}

#[test]
fn moved_file_is_skipped_only_if_skipped_before() {
    let moved = |old: &str, new: &str| {
        format!(
            "diff --git a/{old} b/{new}\nsimilarity index 90%\nrename from {old}\nrename to {new}\n\
             index 1111111..2222222 100644\n--- a/{old}\n+++ b/{new}\n@@ -1 +1 @@\n-a\n+b\n"
        )
    };
    let diff = [
        moved("src/auth.rs", "vendor/auth.rs"),
        moved("vendor/a.rs", "third_party/a.rs"),
        moved("vendor/b.rs", "src/b.rs"),
        moved("src/c.rs", "gen/c.rs"),
        moved("gen/d.rs", "gen/e.rs"),
    ];
    check_diff(
        "
        //- .gitattributes
        gen/c.rs linguist-generated
        gen/d.rs linguist-generated
        gen/e.rs linguist-generated
        //- src/auth.rs
        a
        //- vendor/b.rs
        a
        //- src/c.rs
        a
        //- head
        //- vendor/auth.rs
        b
        ",
        &diff.concat(),
        expect![[r#"
            vendor/auth.rs +1e -1e in as Executable
              not believed: third-party code: it is in `vendor`
            third_party/a.rs +1e -1e out, vendoredFolder: third-party code: it is in `third_party` [incomplete]
            src/b.rs +1e -1e in as Executable [incomplete]
              ComesIntoUse
            gen/c.rs +1e -1e in as Executable
              not believed: generated, by the attribute `linguist-generated`
            gen/e.rs +1e -1e out, generatedAttribute: generated, by the attribute `linguist-generated`
        "#]],
    );
}

#[test]
fn content_is_read_only_if_needed() {
    let fixture = Fixture::parse(
        "
        //- edited.go
        package a
        //- licensed.go
        // All rights reserved.
        //- pressed.js
        a
        //- made.go
        // Code generated by x. DO NOT EDIT.
        //- Cargo.lock
        a
        //- gone.go
        a
        //- docs/a.md
        a
        //- head
        //- edited.go
        package b
        //- licensed.go
        // Some rights reserved.
        //- pressed.js
        b
        //- made.go
        // Code generated by x. DO NOT EDIT.
        package b
        //- Cargo.lock
        b
        //- gone.go (deleted)
        //- new.go
        // Code generated by x. DO NOT EDIT.
        //- docs/a.md
        b
        ",
    );
    let files = Fake::of(&fixture);
    decide_scope(&diff_of(&fixture), &files, &rules("exclude docs/"));
    let expected_reads = ["Old licensed.go", "Old pressed.js", "Old made.go", "New made.go"];
    assert_eq!(
        *files.asked.borrow(),
        expected_reads,
        "the diff shows that `edited.go` has no header"
    );
}

#[test]
fn header_in_diff_decides_like_the_whole_file() {
    let marker = "// Code generated by x. DO NOT EDIT.";
    let kinds = ["", "// x", "/*", "*/", marker, "fn a() {}"];
    let mut decided = 0;
    for number in 0..kinds.len().pow(4) {
        let digit = |place: u32| number / kinds.len().pow(place) % kinds.len();
        let lines: Vec<&[u8]> = (0..4).map(|place| kinds[digit(place)].as_bytes()).collect();
        let is_out = content::reason("a.go", || lines.iter().copied()).is_some();
        for shown_count in 0..=lines.len() {
            let has_no_marker =
                content::has_no_marker("a.go", lines[..shown_count].iter().copied());
            assert!(!(has_no_marker && is_out), "{lines:?} {shown_count}");
            assert!(!content::has_no_marker("a.js", lines[..shown_count].iter().copied()));
            decided += usize::from(has_no_marker);
        }
    }
    assert!(decided > 1_000, "{decided}");
}

#[test]
fn scope_json_is_deterministic() {
    let fixture = Fixture::parse(
        "
        //- head
        //- Cargo.lock
        x = 1
        //- thing.x
        x
        ",
    );
    let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules(""));
    let json = crh_review::stable_json_line(&scope).unwrap();
    // Wrapped as a person would.
    expect![[r#"
        {"files":[{"added":{"blank":0,"config":1,"executable":0,"other":0,"prose":0,"test":0},
        "decision":{"is":"out","name":"Cargo.lock","why":"lockFile"},
        "effect":"accepted","path":"Cargo.lock","removed":{"blank":0,"config":0,"executable":0,"other":0,"prose":0,"test":0},
        "role":"config","status":"added"},
        {"added":{"blank":0,"config":0,"executable":1,"other":0,"prose":0,"test":0},
        "decision":{"is":"in"},
        "notes":[{"note":"unknownKind"}],"path":"thing.x","removed":{"blank":0,"config":0,"executable":0,"other":0,"prose":0,"test":0},
        "role":"executable","status":"added"}],"totals":{"added":{"blank":0,"config":0,"executable":1,"other":0,"prose":0,"test":0},
        "filesIn":1,"filesOut":1,"leftOut":1,"removed":{"blank":0,"config":0,"executable":0,"other":0,"prose":0,"test":0},
        "unknownKind":1}}
    "#]].assert_eq(&json.replace("},", "},\n"));
}

/// The reason after this one. A new reason stops the build here, so that the test covers it.
fn reason_after(reason: &SkipReason) -> Option<SkipReason> {
    let text = String::new;
    Some(match reason {
        SkipReason::OutsidePaths => SkipReason::Excluded { glob: text() },
        SkipReason::Excluded { .. } => SkipReason::Submodule,
        SkipReason::Submodule => SkipReason::Binary,
        SkipReason::Binary => SkipReason::LfsPointer,
        SkipReason::LfsPointer => SkipReason::ModeOnly { old: text(), new: text() },
        SkipReason::ModeOnly { .. } => SkipReason::MoveOnly,
        SkipReason::MoveOnly => SkipReason::Empty,
        SkipReason::Empty => SkipReason::GeneratedRule { glob: text() },
        SkipReason::GeneratedRule { .. } => SkipReason::GeneratedAttribute { attribute: text() },
        SkipReason::GeneratedAttribute { .. } => {
            SkipReason::GeneratedHeader { line: 1, text: text() }
        }
        SkipReason::GeneratedHeader { .. } => SkipReason::GeneratedName { ending: "" },
        SkipReason::GeneratedName { .. } => SkipReason::Minified { mean_line_bytes: 0 },
        SkipReason::Minified { .. } => SkipReason::VendoredAttribute { attribute: text() },
        SkipReason::VendoredAttribute { .. } => SkipReason::VendoredFolder { folder: "" },
        SkipReason::VendoredFolder { .. } => SkipReason::LockFile { name: "" },
        SkipReason::LockFile { .. } => SkipReason::TooLarge { bytes: 0, limit: 0 },
        SkipReason::TooLarge { .. } => SkipReason::ReviewedBefore { commit: text() },
        SkipReason::ReviewedBefore { .. } => return None,
    })
}

#[test]
fn skip_reason_name_equals_its_json_name() {
    for reason in std::iter::successors(Some(SkipReason::OutsidePaths), reason_after) {
        let json = serde_json::to_value(ScopeDecision::Out(reason.clone())).unwrap();
        assert_eq!((json["is"].as_str(), json["why"].as_str()), (Some("out"), Some(reason.name())));
    }
}

/// Path parts with and without a rule.
fn path() -> impl Strategy<Value = String> {
    let folder =
        prop::sample::select(vec!["src", "vendor", "tests", "a b", "ü", "node_modules", "spec"]);
    let name = prop::sample::select(vec![
        "a.rs",
        "b.min.js",
        "Cargo.lock",
        "README.md",
        "x",
        "c.json",
        "d.go",
    ]);
    let text = "[a-z.]{1,6}";
    (prop::collection::vec(folder, 0..3), prop_oneof![name.prop_map(str::to_owned), text])
        .prop_map(|(folders, name)| {
            [folders.join("/"), name].join("/").trim_start_matches('/').to_owned()
        })
        .prop_filter("git has no such names", |path| !path.ends_with('.'))
}

proptest! {
    #[test]
    fn every_file_and_line_is_counted_once(
        paths in prop::collection::btree_set(path(), 0..20),
        lines in prop::collection::vec("(# |// |)[ a-z]{0,9}", 20),
        rule in prop::sample::select(vec!["", "exclude *.rs", "include vendor/", "generated src/"]),
    ) {
        let text = |at: usize| lines[..at % lines.len()].iter().map(|line| format!("{line}\n")).collect();
        let paths: Vec<_> = paths.into_iter().collect();
        let fixture = Fixture {
            base: paths.iter().step_by(3).map(|path| (path.clone(), "old\n".to_owned())).collect(),
            head: paths.iter().enumerate().map(|(at, path)| {
                (path.clone(), (at % 6 != 0).then(|| text(at)))
            }).collect(),
        };
        let diff = diff_of(&fixture);
        let scope = decide_scope(&diff, &Fake::of(&fixture), &rules(rule));
        let expected: Vec<_> = diff.files().iter().map(|file| &file.path).collect();
        prop_assert_eq!(expected.len(), paths.len());
        prop_assert_eq!(scope.files.iter().map(|file| &file.path).collect::<Vec<_>>(), expected);
        for (file, shown) in scope.files.iter().zip(diff.files()) {
            prop_assert_eq!(file.added.total(), u64::from(shown.additions));
            prop_assert_eq!(file.removed.total(), u64::from(shown.deletions));
        }
        let totals = &scope.totals;
        prop_assert_eq!(totals.files_in + totals.files_out, u32::try_from(paths.len()).unwrap());
        let all: u32 = diff.files().iter().map(|file| file.additions + file.deletions).sum();
        let counted = totals.added.total() + totals.removed.total() + totals.left_out;
        prop_assert_eq!(counted, u64::from(all));
    }
}

#[test]
fn new_code_in_skipped_places_makes_the_review_incomplete() {
    let long_line = "a".repeat(2_000);
    check(
        &format!(
            "
        //- vendor/old/a.py
        x = 1
        //- vendor/github.com/a/b/c.go
        package c
        //- gen.go
        // Code generated by x. DO NOT EDIT.
        package a
        //- head
        //- vendor/evil.py
        import os
        //- vendor/new/a.py
        import os
        //- vendor/new/README.md
        Text.
        //- vendor/old/b.py
        x = 2
        //- vendor/old/deep/b.py
        x = 2
        //- vendor/github.com/a/b/d/e.go
        package d
        //- vendor/github.com/evil/b/e.go
        package d
        //- .yarn/plugins/evil.cjs
        module.exports = 1
        //- app.min.js
        x()
        //- app.min.css
        a{{}}
        //- new.go
        // Code generated by x. DO NOT EDIT.
        package a
        //- gen.go
        // Code generated by x. DO NOT EDIT.
        package b
        //- min.js
        x(\"{long_line}\")
        //- comment.js
        // {long_line}
        /* {long_line} */
        x()
        y()
        //- poetry.lock
        import os
        //- Cargo.lock
        [[package]]
        name = \"a\"
        "
        ),
        expect![[r#"
            vendor/evil.py +1e - out, vendoredFolder: third-party code: it is in `vendor` [incomplete]
            vendor/new/a.py +1e - out, vendoredFolder: third-party code: it is in `vendor` [incomplete]
            vendor/new/README.md +1p - out, vendoredFolder: third-party code: it is in `vendor`
            vendor/old/b.py +1e - out, vendoredFolder: third-party code: it is in `vendor`
            vendor/old/deep/b.py +1e - out, vendoredFolder: third-party code: it is in `vendor`
            vendor/github.com/a/b/d/e.go +1e - out, vendoredFolder: third-party code: it is in `vendor`
            vendor/github.com/evil/b/e.go +1e - out, vendoredFolder: third-party code: it is in `vendor` [incomplete]
            .yarn/plugins/evil.cjs +1e - out, vendoredFolder: third-party code: it is in `.yarn/plugins` [incomplete]
            app.min.js +1e - out, generatedName: generated: its name ends in `.min.js` [incomplete]
            app.min.css +1e - out, generatedName: generated: its name ends in `.min.css`
            new.go +1e1p - out, generatedHeader: generated: its line 1 says `Code generated by x. DO NOT EDIT.` [incomplete]
            gen.go +1e -1e out, generatedHeader: generated: its line 1 says `Code generated by x. DO NOT EDIT.`
            min.js +1e - out, minified: minified: its lines have 2005 bytes on average [incomplete]
            comment.js +3e1p - in as Executable
            poetry.lock +1c - in as Config
              not believed: a lock file: package managers write `poetry.lock`
            Cargo.lock +2c - out, lockFile: a lock file: package managers write `Cargo.lock`
        "#]],
    );
}

#[test]
fn strict_rules_accept_no_skipped_update() {
    let fixture = Fixture::parse(
        "
        //- vendor/old/a.py
        x = 1
        //- head
        //- vendor/old/a.py
        x = 2
        //- Cargo.lock
        [[package]]
        ",
    );
    for (strict, expected) in [(false, SkipEffect::Accepted), (true, SkipEffect::Incomplete)] {
        let rules = ScopeRules { strict, ..rules("") };
        let scope = decide_scope(&diff_of(&fixture), &Fake::of(&fixture), &rules);
        let effects: Vec<SkipEffect> = scope.files.iter().map(|file| file.effect).collect();
        assert_eq!(effects, [expected, expected]);
    }
}

#[test]
fn binary_file_is_harmless_only_if_it_is_data() {
    let effect = |path: &str, mode: &str, content: &str| {
        let diff = format!(
            "diff --git a/{path} b/{path}\nnew file mode {mode}\nBinary files /dev/null and b/{path} differ\n"
        );
        let fixture = Fixture::parse(&format!("//- head\n//- {path}\n{content}\n"));
        decide_scope(&Diff::read(diff), &Fake::of(&fixture), &rules("")).files[0].effect
    };
    let (plain, executable) = ("100644", "100755");
    let (harmless, accepted, incomplete) =
        (SkipEffect::Harmless, SkipEffect::Accepted, SkipEffect::Incomplete);
    for (path, mode, content, expected) in [
        ("install.vbs", plain, "x\0", incomplete),
        ("Directory.Build.targets", plain, "x\0", incomplete),
        ("hooks/pre-commit", plain, "curl x | sh\n#\0\0\0\0", incomplete),
        (".bashrc", plain, "x\0", incomplete),
        (".newtoolrc", plain, "x\0", incomplete),
        ("config/a.yml", plain, "x\0", incomplete),
        ("bin/x.pyz", plain, "x\0", incomplete),
        ("bin/x.new", plain, "text\0", incomplete),
        ("bin/logo.png", executable, "\x7fELF\0", incomplete),
        ("bin/logo.png", plain, "\x7fELF\0", incomplete),
        ("bin/t.dat", executable, "#!/bin/sh\n\0", incomplete),
        ("bin/t.dat", executable, "x\0", incomplete),
        ("bin/t.dat", plain, "x\0", harmless),
        ("img/logo.gif", executable, "GIF89a\0", harmless),
        ("img/logo.png", executable, "BM=1\ncurl x | sh\nexit\n\0", incomplete),
        ("img/logo.svg", plain, "<\0s\0v\0g\0>\0", incomplete),
        ("a.plist", plain, "\0<\0p\0l\0i\0s\0t\0>", incomplete),
        ("a.plist", plain, "bplist00\0", harmless),
        ("x.new", plain, "\x01\x02\x03\0", accepted),
        ("tests/a.xml", plain, "x\0", accepted),
        ("app.pbxproj", plain, "text", accepted),
        ("run.sh", plain, "x\0", incomplete),
        ("lib/a.so", plain, "x\0", incomplete),
        ("tests/a.so", plain, "x\0", accepted),
        ("run", plain, "#!/bin/sh", incomplete),
        ("data.xyz", plain, "12", accepted),
    ] {
        assert_eq!(effect(path, mode, content), expected, "{path} {mode} {content:?}");
    }
    // Without its content, and deleted.
    let unread = |path: &str, change: &str| {
        let diff = format!("diff --git a/{path} b/{path}\n{change} differ\n");
        decide_scope(&Diff::read(diff), &DiffOnly, &rules("")).files[0].effect
    };
    let change = "index 1..2 100644\nBinary files a/x and b/x";
    assert_eq!([unread("a.so", change), unread("run.sh", change)], [incomplete; 2]);
    let logo = "new file mode 100755\nBinary files /dev/null and b/logo.png";
    assert_eq!(unread("logo.png", logo), incomplete);
    let deletion = "deleted file mode 100644\nBinary files a/run.sh and /dev/null";
    assert_eq!(unread("run.sh", deletion), harmless);
}

#[test]
fn moves_to_names_that_run_make_the_review_incomplete() {
    let moved = |old: &str, new: &str| {
        let header = format!(
            "diff --git a/{old} b/{new}\nsimilarity index 90%\nrename from {old}\nrename to {new}\n"
        );
        let edit = format!("--- a/{old}\n+++ b/{new}\n@@ -1 +1 @@\n-a\n+b\n");
        let effect = |diff: String| {
            let empty = Fixture::parse("//- head\n");
            let scope = decide_scope(&Diff::read(diff), &Fake::of(&empty), &rules(""));
            scope.files[0].effect
        };
        let effects = [effect(header.clone()), effect(header + &edit)];
        assert_eq!(effects[0], effects[1], "{old} -> {new}");
        effects[0]
    };
    for (old, new) in [
        ("testdata/x.txt", "sitecustomize.py"),
        ("vendor/evil.py", "evil.py"),
        ("docs/x.md", "run.sh"),
        ("x.dat", "x.js"),
        ("fixtures/a.py", "src/a.py"),
        ("tools/a.py", "setup.py"),
        ("ci/a.yml", ".github/workflows/a.yml"),
        ("app.min.js", "app.js"),
        ("docs/ci.yml", "azure-pipelines.yml"),
        ("data/s.json", ".claude/settings.json"),
        ("docs/e.xml", "Directory.Build.targets"),
        ("docs/h.txt", ".bashrc"),
        ("docs/d.txt", "Containerfile"),
        ("docs/d.txt", "deploy/Dockerfile.prod"),
        ("data/x.json", ".zed/tasks.json"),
        ("src/x.json", ".devcontainer.json"),
        ("conf/x.toml", "netlify.toml"),
        ("notes.txt", "web/x.cgi"),
        ("notes.txt", "bin/x.phar"),
        ("docs/x.md", "AGENTS.md"),
        ("lib/a.py", "fabfile.py"),
        ("tests/a.py", "src/a.py"),
        ("examples/a.py", "a.py"),
        ("src/test/java/A.java", "src/main/java/A.java"),
        ("a.sh.tmpl", "a.sh"),
        ("a.py.j2", "a.py"),
        ("a.yml.disabled", "a.yml"),
        ("notes.txt", "k8s/a.yml"),
        ("sub/setup.py", "setup.py"),
        ("sub/.envrc", ".envrc"),
        ("template/.github/workflows/a.yml", ".github/workflows/a.yml"),
        ("sub/AGENTS.md", "AGENTS.md"),
        (".env.example", ".env"),
    ] {
        assert_eq!(moved(old, new), SkipEffect::Incomplete, "{old} -> {new}");
    }
    for (old, new) in [
        ("src/a.py", "src/b.py"),
        ("a.js", "a.ts"),
        ("deploy", "deploy.sh"),
        ("tests/a.py", "tests/b/a.py"),
        ("src/a.py", "tests/a.py"),
        ("a.txt", "b.md"),
        ("src/a.py", "vendor/a.py"),
        ("setup.py", "sub/setup.py"),
        ("a.sh.tmpl", "b.sh.j2"),
        ("logo.png", "img/logo.png"),
        ("config/a.yml", "settings/a.yml"),
        ("src/a.json", "lib/b.json"),
        ("docs/a.yml", "docs/b/a.yml"),
        (".eslintrc", ".eslintrc.json"),
    ] {
        assert_eq!(moved(old, new), SkipEffect::Harmless, "{old} -> {new}");
    }
}

#[test]
fn file_that_the_settings_leave_out_cannot_move_into_use() {
    let diff = "diff --git a/legacy/a.py b/app.py\nsimilarity index 100%\nrename from legacy/a.py\nrename to app.py\n";
    let scope = decide_scope(&Diff::read(diff), &DiffOnly, &rules("exclude legacy/**"));
    assert_eq!(scope.files[0].effect, SkipEffect::Incomplete);
}

#[test]
fn link_brings_only_unread_code_into_use() {
    let effect = |link: &str, target: &str| {
        let diff = format!(
            "diff --git a/{link} b/{link}\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/{link}\n\
             @@ -0,0 +1,{} @@\n+{target}\n\\ No newline at end of file\n",
            target.lines().count()
        );
        decide_scope(&Diff::read(diff), &DiffOnly, &rules("")).files[0].effect
    };
    for (link, target) in [
        ("sitecustomize.py", "testdata/x.txt"),
        ("lib/evil.py", "../vendor/evil.py"),
        ("plugins", "vendor"),
        ("settings.py", "/tmp/x.py"),
        ("a/settings.py", "../../x.py"),
        (".cargo", "docs/cargo"),
        (".github/workflows", "../docs"),
        (".mcp.json", "/tmp/x.json"),
        ("compose.yaml", "/tmp/x"),
        ("plugin.py", "vendor/sub\n+x/../evil.py"),
        ("a.txt", "/etc/passwd"),
        ("b.md", ".git/config"),
    ] {
        assert_eq!(effect(link, target), SkipEffect::Incomplete, "{link} -> {target}");
    }
    for (link, target) in [
        ("CLAUDE.md", "AGENTS.md"),
        ("bin/tool", "../scripts/tool.sh"),
        ("src/b.py", "a.py"),
        ("docs/data.json", "/etc/data.json"),
    ] {
        assert_eq!(effect(link, target), SkipEffect::Harmless, "{link} -> {target}");
    }
}

/// A tree after the change: files, and symlinks as `link -> target`.
struct Tree(Vec<(String, Option<String>)>);

impl Tree {
    fn parse(text: &str) -> Self {
        let entry = |line: &str| match line.trim().split_once(" -> ") {
            Some((link, target)) => (link.to_owned(), Some(target.to_owned())),
            None => (line.trim().to_owned(), None),
        };
        Self(text.split(',').map(entry).collect())
    }

    fn find(&self, path: &[u8]) -> Option<&(String, Option<String>)> {
        self.0.iter().find(|(name, _)| name.as_bytes() == path)
    }
}

impl FileSource for Tree {
    fn attributes(&self, path: &RepoPath) -> FileAttributes {
        let mark = AttributeMark::Marked("linguist-generated".to_owned());
        let is_marked = path.as_bytes().starts_with(b"marked/");
        let generated = if is_marked { mark } else { AttributeMark::Unspecified };
        FileAttributes { generated, ..FileAttributes::default() }
    }

    fn size(&self, _: Side, _: &RepoPath) -> Option<u64> {
        Some(10)
    }

    fn content(&self, _: Side, path: &RepoPath) -> Result<Option<Vec<u8>>, ReadError> {
        let target = self.find(path.as_bytes()).and_then(|(_, target)| target.clone());
        Ok(Some(target.unwrap_or_default().into_bytes()))
    }

    fn had_folder(&self, _: &[u8]) -> Option<bool> {
        Some(false)
    }

    fn entry(&self, path: &[u8]) -> Result<Option<PathEntryKind>, ReadError> {
        let folder = [path, b"/"].concat();
        match self.find(path) {
            Some((_, Some(_))) => Ok(Some(PathEntryKind::Link)),
            Some((name, None)) if name == "sub" => Ok(Some(PathEntryKind::Submodule)),
            Some((_, None)) => Ok(Some(PathEntryKind::File)),
            None if self.0.iter().any(|(name, _)| name.as_bytes().starts_with(&folder)) => {
                Ok(Some(PathEntryKind::Folder))
            }
            None => Err(ReadError::NoEntry(String::new())),
        }
    }

    fn head_files(&self) -> Option<Vec<(Vec<u8>, PathEntryKind)>> {
        let kind = |target: &Option<String>| match target {
            Some(_) => PathEntryKind::Link,
            None => PathEntryKind::File,
        };
        let files = self.0.iter().map(|(name, target)| (name.clone().into_bytes(), kind(target)));
        Some(files.collect())
    }
}

/// Effect of a changed link in a tree.
fn link_effect(tree: &str, link: &str, rules_text: &str) -> (SkipEffect, Vec<ScopeNote>) {
    let diff = format!(
        "diff --git a/{link} b/{link}\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/{link}\n\
         @@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"
    );
    let mut scope = decide_scope(&Diff::read(diff), &Tree::parse(tree), &rules(rules_text));
    let file = scope.files.remove(0);
    (file.effect, file.notes)
}

#[test]
fn last_target_of_a_chain_of_links_decides() {
    let chain_of = |links: usize| {
        let links = (0..links).map(|link| format!("l{link}.txt -> l{}.txt, ", link + 1));
        format!("p.py -> l0.txt, {}src/a.py", links.collect::<String>())
    };
    let long_chain = chain_of(60);
    for (tree, link) in [
        // Through a new link, and through a link to a folder.
        ("lib.x -> testdata, p.py -> lib.x/evil.py, testdata/evil.py", "p.py"),
        ("ext.x -> vendor, p.py -> ext.x/evil.py, vendor/evil.py", "p.py"),
        ("a/p.py -> ../b/q.py, b/q.py -> ../c/evil.py, c -> vendor, vendor/evil.py", "a/p.py"),
        // `..` after a linked folder is the parent of the target.
        ("in -> vendor/lib, p.py -> in/../evil.py, vendor/evil.py, vendor/lib/x, evil.py", "p.py"),
        // Outside of the tree.
        ("p.py -> .git/hooks/x.py, src/a.py", "p.py"),
        ("p.py -> .GIT/x.py, src/a.py", "p.py"),
        ("p.py -> q, q -> /tmp/x.py", "p.py"),
        ("p.py -> missing.py", "p.py"),
        ("p.py -> sub/x.py, sub", "p.py"),
        ("p.py -> src/a.py/x, src/a.py", "p.py"),
        // Loops, and more links than a system follows.
        ("p.py -> q.py, q.py -> p.py", "p.py"),
        ("p.py -> p.py/x", "p.py"),
        (&long_chain, "p.py"),
        // A link without a name that runs, which an unchanged link leads through.
        ("l.txt -> testdata/evil.py, p.py -> l.txt, testdata/evil.py", "l.txt"),
        // Attributes of the target.
        ("p.py -> marked/a.py, marked/a.py", "p.py"),
        // A linked folder with a file that the settings leave out.
        ("lib -> pkg, pkg/gen/evil.py, pkg/a.py", "lib"),
    ] {
        let (effect, _) = link_effect(tree, link, "exclude pkg/gen/**");
        assert_eq!(effect, SkipEffect::Incomplete, "{tree}");
    }
    for (tree, link) in [
        ("lib.x -> src, p.py -> lib.x/a.py, src/a.py", "p.py"),
        ("lib.x -> src, p.py -> lib.x/a.py, src/a.py", "lib.x"),
        ("in -> vendor/lib, p.py -> in/../../a.py, vendor/lib/x, a.py", "p.py"),
        ("README.txt -> docs/readme.txt, docs/readme.txt", "README.txt"),
        ("lib -> pkg, pkg/vendor/a.py, pkg/a.py", "lib"),
        ("l.txt -> notes.txt, notes.txt", "l.txt"),
    ] {
        let (effect, _) = link_effect(tree, link, "exclude pkg/gen/**");
        assert_eq!(effect, SkipEffect::Harmless, "{tree}");
    }
    let (_, notes) = link_effect("p.py -> q.py, q.py -> p.py", "p.py", "");
    assert_eq!(notes, [ScopeNote::Link, ScopeNote::LinkLoop]);
}

#[test]
fn reviewed_link_with_another_target_is_not_reviewed_before() {
    let diff = "diff --git a/p.py b/p.py\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/p.py\n@@ -0,0 +1 @@\n+lib/a.py\n\\ No newline at end of file\n";
    let effect = |tree: &str| {
        let scope = decide_scope(&Diff::read(diff), &Tree::parse(tree), &rules(""));
        scope.without_reviewed("1", |_| true).files[0].effect
    };
    assert_eq!(effect("p.py -> lib/a.py, lib/a.py"), SkipEffect::Harmless);
    assert_eq!(effect("p.py -> lib/a.py, lib -> vendor, vendor/a.py"), SkipEffect::Incomplete);
}

#[test]
fn chain_of_links_in_a_diff_alone_is_followed() {
    let link = |path: &str, target: &str| {
        format!(
            "diff --git a/{path} b/{path}\nnew file mode 120000\nindex 0000000..1111111\n--- /dev/null\n+++ b/{path}\n\
             @@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
        )
    };
    let diff = link("p.py", "notes.txt/a.py") + &link("notes.txt", "vendor");
    let scope = decide_scope(&Diff::read(diff), &DiffOnly, &rules(""));
    assert_eq!(scope.files[0].effect, SkipEffect::Incomplete);
}

#[test]
fn moved_file_also_runs_under_the_name_of_a_link_to_it() {
    let diff = "diff --git a/testdata/x.txt b/data/x.txt\nsimilarity index 100%\nrename from testdata/x.txt\nrename to data/x.txt\n";
    for (tree, expected) in [
        ("data/x.txt, p.py -> data/x.txt", SkipEffect::Incomplete),
        ("data/x.txt, bin -> data", SkipEffect::Harmless),
        ("data/x.txt, p.md -> data/x.txt", SkipEffect::Harmless),
    ] {
        let scope = decide_scope(&Diff::read(diff), &Tree::parse(tree), &rules(""));
        assert_eq!(scope.files[0].effect, expected, "{tree}");
    }
}

#[test]
fn moved_link_is_judged_by_its_new_target() {
    let diff = "diff --git a/a/b/t.py b/p/a/t.py\nsimilarity index 100%\nrename from a/b/t.py\nrename to p/a/t.py\n";
    let tree = Tree::parse("p/a/t.py -> ../m/x.py, p/m/x.py");
    let scope = decide_scope(&Diff::read(diff), &tree, &rules("exclude p/m/**"));
    assert_eq!(scope.files[0].effect, SkipEffect::Incomplete);
}

#[test]
fn script_stored_by_git_lfs_is_unread() {
    let effect_with_mode = |mode: &str, path: &str| {
        let diff = format!(
            "diff --git a/{path} b/{path}\nnew file mode {mode}\nindex 0000000..1111111\n--- /dev/null\n+++ b/{path}\n\
             @@ -0,0 +1,3 @@\n+version https://git-lfs.github.com/spec/v1\n+oid sha256:{}\n+size 9\n",
            "ab".repeat(32)
        );
        decide_scope(&Diff::read(diff), &DiffOnly, &rules("")).files[0].effect
    };
    let effect = |path| effect_with_mode("100644", path);
    for path in ["setup.py", "pom.xml", ".bashrc", "tool.AppImage", "bin/deploy"] {
        assert_eq!(effect(path), SkipEffect::Incomplete, "{path}");
    }
    assert_eq!(effect_with_mode("100755", "model.onnx"), SkipEffect::Incomplete);
    assert_eq!(effect("model.onnx"), SkipEffect::Harmless);
    assert_eq!(effect("world.umap"), SkipEffect::Accepted);
}

#[test]
fn submodules_may_move_within_their_address() {
    let list = |url: &str| format!("[submodule \"a\"]\n\tpath = lib/a\n\turl = {url}\n");
    let effect = |old_url: &str, new_url: &str, header: &str| {
        let fixture = Fixture::parse(&format!(
            "//- .gitmodules\n{}//- head\n//- .gitmodules\n{}",
            list(old_url),
            list(new_url)
        ));
        let list_diff = if old_url == new_url {
            String::new()
        } else {
            "diff --git a/.gitmodules b/.gitmodules\n--- a/.gitmodules\n+++ b/.gitmodules\n@@ -3 +3 @@\n-x\n+y\n".to_owned()
        };
        let diff = format!(
            "diff --git a/lib/a b/lib/a\n{header}--- a/lib/a\n+++ b/lib/a\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n{list_diff}"
        );
        decide_scope(&Diff::read(diff), &Fake::of(&fixture), &rules("")).files[0].effect
    };
    let bump = "index 1111111..2222222 160000\n";
    assert_eq!(effect("https://x/a", "https://x/a", bump), SkipEffect::Accepted);
    assert_eq!(effect("https://x/a", "https://evil/a", bump), SkipEffect::Incomplete);
    let added = "new file mode 160000\nindex 0000000..2222222\n";
    assert_eq!(effect("https://x/a", "https://x/a", added), SkipEffect::Incomplete);
    let moved =
        "similarity index 50%\nrename from lib/a\nrename to lib/a\nindex 1111111..2222222 160000\n";
    assert_eq!(effect("https://x/a", "https://x/a", moved), SkipEffect::Incomplete);
    let replaced = "old mode 100644\nnew mode 160000\n";
    assert_eq!(effect("https://x/a", "https://x/a", replaced), SkipEffect::Incomplete);
}

#[test]
fn script_that_becomes_executable_makes_the_review_incomplete() {
    let effect = |path: &str, [old, new]: [u32; 2], content: &str, edit: &str| {
        let modes = format!("old mode {old}\nnew mode {new}\n");
        let diff = format!("diff --git a/{path} b/{path}\n{modes}{edit}");
        let fixture = Fixture::parse(&format!("//- head\n//- {path}\n{content}\n"));
        let scope = decide_scope(&Diff::read(diff), &Fake::of(&fixture), &rules(""));
        let file = &scope.files[0];
        let is_in_use = file.notes.contains(&ScopeNote::ComesIntoUse);
        assert_eq!(is_in_use, file.effect == SkipEffect::Incomplete, "{path}");
        is_in_use
    };
    let (executable, plain) = ([100_644, 100_755], [100_755, 100_644]);
    let edit = |path: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -2 +2 @@\n-old\n+new\n");
    for (path, modes, content, edit, expected) in [
        ("run.sh", executable, "ls", String::new(), true),
        ("run", executable, "#!/bin/sh", String::new(), true),
        ("notes.txt", executable, "Text.", String::new(), false),
        ("b.sh", plain, "ls", String::new(), false),
        ("script.txt", executable, "#!/bin/sh\nnew", edit("script.txt"), true),
        ("text.txt", executable, "Text.\nnew", edit("text.txt"), false),
    ] {
        assert_eq!(effect(path, modes, content, &edit), expected, "{path}");
    }
}
