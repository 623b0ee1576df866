//! Leftovers and lookalikes.

use super::*;
use crate::testing::Fixture;

/// Findings for a changed file, as `line rule`.
fn findings(path: &str, old: &str, new: &str) -> Vec<String> {
    let base = if old.is_empty() { String::new() } else { format!("//- {path}\n{old}") };
    let fixture = Fixture::new(&format!("{base}//- head\n//- {path}\n{new}"));
    let file_findings = fixture.file_findings_of(&LeftoverCheck);
    let findings = file_findings.iter().flat_map(|file_findings| &file_findings.findings);
    findings.map(|it| format!("{} {}", it.line, it.rule.trim_start_matches("leftovers/"))).collect()
}

#[rustfmt::skip]
const LEFT: &[(&str, &str, &str)] = &[
    // Focused tests.
    ("a.spec.ts", "it.only('a', () => {})\n", "1 focused-test"),
    ("a.spec.ts", "describe.only('a', function () {})\n", "1 focused-test"),
    ("a.spec.tsx", "test.only('a', async ({ page }) => {})\n", "1 focused-test"),
    ("a.spec.ts", "test.describe.only('a', () => {})\n", "1 focused-test"),
    ("a.test.js", "context.only('a', body)\n", "1 focused-test"),
    ("a.test.js", "it.only.each([1, 2])('a %i', (n) => {})\n", "1 focused-test"),
    ("a.test.js", "describe.each([1])('a', () => {\n  test.concurrent.only('b', () => {})\n})\n", "2 focused-test"),
    ("a.test.js", "fit('a', () => {})\n", "1 focused-test"),
    ("a.test.js", "fdescribe('a', () => {})\n", "1 focused-test"),
    ("a.test.mjs", "it('a', { only: true }, () => {})\n", "1 focused-test"),
    ("spec/a_spec.rb", "fit 'a' do\nend\n", "1 focused-test"),
    ("spec/a_spec.rb", "fdescribe A do\nend\n", "1 focused-test"),
    ("spec/a_spec.rb", "it 'a', focus: true do\nend\n", "1 focused-test"),
    ("spec/a_spec.rb", "describe A, :focus do\nend\n", "1 focused-test"),
    ("a_test.go", "package a\n\nvar _ = FDescribe(\"a\", func() {})\n", "3 focused-test"),
    ("a_test.go", "package a\n\nvar _ = ginkgo.FIt(\"a\", func() {})\n", "3 focused-test"),
    ("a.test.ts", "Deno.test.only('a', () => {})\n", "1 focused-test"),
    ("a.test.ts", "Deno.test({ name: 'a', only: true, fn() {} })\n", "1 focused-test"),
    ("a.test.ts", "describe.only.each([1])('a', () => {})\n", "1 focused-test"),
    ("a.test.ts", "fdescribe.each([1])('a', () => {})\n", "1 focused-test"),
    ("a.test.ts", "it.only(title, async () => {})\n", "1 focused-test"),
    ("a.test.ts", "test.only.for([1])('a', () => {})\n", "1 focused-test"),
    ("spec/a_spec.rb", "it 'a', :focus => true do\nend\n", "1 focused-test"),
    ("spec/a_spec.rb", "RSpec.describe A, focus: true do\nend\n", "1 focused-test"),
    ("spec/a_spec.rb", "RSpec.fdescribe A do\nend\n", "1 focused-test"),
    ("spec/a_spec.rb", "it('a', focus: true) { b }\n", "1 focused-test"),
    ("spec/a_spec.rb", "fit { is_expected.to be }\n", "1 focused-test"),
    ("spec/a_spec.rb", "focus 'a' do\n  expect(1).to eq 1\nend\n", "1 focused-test"),
    // Debugger statements.
    ("a.py", "import pdb\n\ndef f():\n    pass\n", "1 debugger"),
    ("a.py", "import os, ipdb\nos.x()\n", "1 debugger"),
    ("a.py", "def f():\n    import pudb; pu.db\n", "2 debugger"),
    ("a.py", "import code\ncode.interact(local=locals())\n", "2 debugger"),
    ("a.py", "import debugpy\ndebugpy.breakpoint()\n", "2 debugger"),
    ("a.py", "import pydevd_pycharm\npydevd_pycharm.settrace('localhost', port=1)\n", "2 debugger"),
    ("a.py", "from celery.contrib import rdb\nrdb.set_trace()\n", "2 debugger"),
    ("a.py", "import pdb\npdb.Pdb().set_trace()\n", "2 debugger"),
    ("a.py", "from IPython import embed\nembed()\n", "2 debugger"),
    ("a.rb", "def a\n  Kernel.binding.pry\nend\n", "2 debugger"),
    ("a.rb", "def a\n  save_and_open_page\nend\n", "2 debugger"),
    ("a.rb", "def a\n  require 'pry'; binding.pry\nend\n", "2 debugger"),
    ("a.rb", "x.each { |y| byebug }\n", "1 debugger"),
    ("a.rb", "def a\n  x = 1\n  case x\n  when 1\n    byebug\n  end\nend\n", "5 debugger"),
    ("a.rb", "def a\n  b\nrescue\n  byebug\nend\n", "4 debugger"),
    ("a.go", "package a\n\nimport \"runtime\"\n\nfunc f() {\n\truntime.Breakpoint()\n}\n", "6 debugger"),
    ("a.cs", "class A {\n  void F() {\n    System.Diagnostics.Debugger.Break();\n  }\n}\n", "3 debugger"),
    ("a.cs", "class A {\n  void F() {\n    Debugger.Launch();\n  }\n}\n", "3 debugger"),
    ("a.js", "function f() {\n  debugger;\n}\n", "2 debugger"),
    ("a.ts", "if (x) debugger\n", "1 debugger"),
    ("a.py", "def f():\n    breakpoint()\n", "2 debugger"),
    ("a.py", "import pdb; pdb.set_trace()\n", "1 debugger"),
    ("a.py", "import ipdb\nipdb.set_trace()\n", "2 debugger"),
    ("a.py", "from pdb import set_trace\nset_trace()\n", "2 debugger"),
    ("a.py", "__import__('pdb').set_trace()\n", "1 debugger"),
    ("a.rb", "def a\n  binding.pry\nend\n", "2 debugger"),
    ("a.rb", "def a\n  binding.irb if b\nend\n", "2 debugger"),
    ("a.rb", "def a\n  byebug\n  b\nend\n", "2 debugger"),
    ("a.rb", "b.each do |c|\n  debugger\nend\n", "2 debugger"),
    ("a.rs", "fn a() { dbg!(1); }\n", "1 debugger"),
    ("a.rs", "fn a() { println!(\"{}\", dbg!(x)); }\n", "1 debugger"),
    ("a.php", "<?php\nvar_dump($a);\n", "2 debugger"),
    ("a.php", "<?php\ndd($a);\n", "2 debugger"),
];

#[test]
fn leftovers_are_found_in_new_and_old_files() {
    let mut wrong = Vec::new();
    for (path, text, expected) in LEFT {
        for old in ["", "\n"] {
            let found = findings(path, old, text);
            if found != [*expected] {
                wrong.push(format!("{path}: {text} -> {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[rustfmt::skip]
const NOT_LEFT: &[(&str, &str)] = &[
    ("a.spec.ts", "// it.only('a', () => {})\nconst s = \"it.only('a', () => {})\"\n"),
    ("a.spec.ts", "it('a', () => {})\nit.skip('a', () => {})\n"),
    ("a.ts", "model.fit(data, labels)\nfit(canvas)\nfit('x')\nquery.only('a')\nconst only = it.only\n"),
    ("tests/fixtures/a.js", "it.only('a', () => {})\ndebugger;\n"),
    ("a.rb", "model.fit 'a' do\nend\nfit(data)\nit 'a', focus: false do\nend\n"),
    ("a.go", "package a\n\nfunc FIt(a string) {}\n\nvar x = FIt(\"a\")\n"),
    ("a.js", "// debugger;\nconst debugger_ = 'debugger;'\n"),
    ("a.py", "\"\"\"breakpoint()\"\"\"\n# pdb.set_trace()\nx.breakpoint()\nself.set_trace()\nimport pdb\n"),
    ("a.py", "def breakpoint():\n    pass\n\nbreakpoint()\n"),
    ("src/debugger/a.py", "breakpoint()\n"),
    ("a.rb", "def debugger\n  @debugger\nend\ndebugger\nbinding.local_variables\nx.byebug\n"),
    ("a.rs", "// dbg!(x)\nconst S: &str = \"dbg!(x)\";\nfn dbg() {}\n"),
    ("a.php", "<?php\n// var_dump($a);\n$s = 'dd($a)';\n$a->dd();\n"),
    ("tests/a.php", "<?php\nvar_dump($a);\n"),
    ("a.py", "import pdb\n\nclass A(pdb.Pdb):\n    pass\n"),
    ("a.py", "try:\n    import pdb\nexcept ImportError:\n    pass\nx = [pdb]\n"),
    ("a.py", "code.interact()\nx.embed()\nsettrace(1)\n"),
    ("a.py", "from x import embed\nembed()\nfrom y import set_trace as go\nst()\n"),
    ("a.cs", "class A {\n  void F() {\n    if (Debugger.IsAttached) Debugger.Break();\n  }\n}\n"),
    ("a.cs", "class A {\n  void F() {\n    debugger.Break();\n    Foo.Launch();\n  }\n}\n"),
    ("a.go", "package a\n\nfunc f() {\n\tx.Breakpoint()\n}\n"),
    ("a.ts", "Deno.test('a', () => {})\ntest.only(1)\nx.test.only('a', () => {})\n"),
    ("a.rb", "focus 'x'\nself.focus = true\nform.focus do\nend\n"),
    ("lib/a.rb", "focus :name do\n  b\nend\n"),
];

#[test]
fn code_similar_to_leftovers_is_not_reported() {
    for (path, text) in NOT_LEFT {
        assert_eq!(findings(path, "", text), [""; 0], "{path}: {text}");
    }
}

#[rustfmt::skip]
const SKIPPED: &[(&str, &str, &str, &[&str])] = &[
    ("a.spec.ts", "// one\nit('a', () => {})\n", "// one\nit.skip('a', () => {})\n", &["2 skipped-test"]),
    ("a.rs", "#[test]\nfn a() {}\n", "// FIXME: once it works\n#[test]\n#[ignore]\nfn a() {}\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "it.skip('a', () => {\n  // not yet\n})\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "xit('a', () => {})\n", &["1 skipped-test"]),
    ("a.spec.ts", "it('a', () => {})\n", "it('a', () => {})\nit.skip('b', () => {})\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "// Fails on Windows, see #12.\nit.skip('a', () => {})\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "it.skip('a', () => {}) // see #12\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "it.skipIf(windows)('a', () => {})\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "test.skip(windows, 'fails there')\nit('a', () => {})\n", &[]),
    ("a_spec.rb", "it 'a' do\nend\n", "xit 'a' do\nend\n", &["1 skipped-test"]),
    ("test_a.py", "def test_a():\n    pass\n", "@pytest.mark.skip\ndef test_a():\n    pass\n", &["1 skipped-test"]),
    ("test_a.py", "class A:\n    def test_a(self):\n        pass\n", "class A:\n    @unittest.skip\n    def test_a(self):\n        pass\n", &["2 skipped-test"]),
    ("test_a.py", "def test_a():\n    pass\n", "@pytest.mark.skip(reason=\"#12\")\ndef test_a():\n    pass\n", &[]),
    ("test_a.py", "def test_a():\n    pass\n", "def test_a():\n    pass\n\n@pytest.mark.skip\ndef test_b():\n    pass\n", &[]),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tf()\n}\n", "package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip()\n\tf()\n}\n", &["4 skipped-test"]),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tf()\n}\n", "package a\n\nfunc TestA(t *testing.T) {\n\tt.Skip(\"#12\")\n\tf()\n}\n", &[]),
    ("a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tf()\n}\n", "package a\n\nfunc TestA(t *testing.T) {\n\tif w {\n\t\tt.Skip()\n\t}\n\tf()\n}\n", &[]),
    ("a.spec.ts", "it('a', () => {})\n", "it('a', { skip: true }, () => {})\n", &["1 skipped-test"]),
    ("a.spec.ts", "describe('a', () => {})\n", "describe.skip('a', () => {})\n", &["1 skipped-test"]),
    ("a.spec.ts", "it.each([1])('a', () => {})\n", "it.skip.each([1])('a', () => {})\n", &["1 skipped-test"]),
    ("a_spec.rb", "it 'a' do\nend\n", "pending 'a' do\nend\n", &["1 skipped-test"]),
    ("a_spec.rb", "it 'a' do\nend\n", "it 'a', :skip do\nend\n", &["1 skipped-test"]),
    ("a_spec.rb", "it 'a' do\nend\n", "it 'a', skip: true do\nend\n", &["1 skipped-test"]),
    ("a_spec.rb", "it 'a' do\nend\n", "it 'a', skip: 'fails on JRuby' do\nend\n", &[]),
    ("a_spec.rb", "it 'a' do\n  b\nend\n", "it 'a' do\n  skip\n  b\nend\n", &["2 skipped-test"]),
    ("a_spec.rb", "it 'a' do\n  b\nend\n", "it 'a' do\n  skip 'see #12'\n  b\nend\n", &[]),
    ("a_test.rb", "class A\n  def test_a\n    b\n  end\nend\n", "class A\n  def test_a\n    skip\n    b\n  end\nend\n", &["3 skipped-test"]),
    ("a_spec.rb", "RSpec.describe A do\nend\n", "RSpec.xdescribe A do\nend\n", &["1 skipped-test"]),
    ("test_a.py", "def test_a():\n    b()\n", "def test_a():\n    pytest.skip()\n    b()\n", &["2 skipped-test"]),
    ("test_a.py", "def test_a():\n    b()\n", "def test_a():\n    pytest.skip('#12')\n    b()\n", &[]),
    ("test_a.py", "def test_a():\n    b()\n", "@mark.skip\ndef test_a():\n    b()\n", &["1 skipped-test"]),
    ("test_a.py", "def test_a():\n    b()\n", "@pytest.mark.skip(reason=\"\")\ndef test_a():\n    b()\n", &["1 skipped-test"]),
    ("test_a.py", "def test_a():\n    b()\n", "@pytest.mark.skipif(True, reason=\"x\")\ndef test_a():\n    b()\n", &[]),
    ("test_a.py", "def test_a():\n    b()\n", "@unittest.skip(\"\")\ndef test_a():\n    b()\n", &["1 skipped-test"]),
    ("ATest.java", "class ATest {\n  @Test\n  void a() {}\n}\n", "class ATest {\n  @Test(enabled = false)\n  void a() {}\n}\n", &["2 skipped-test"]),
    ("ATest.java", "class ATest {\n  @Test\n  void a() {}\n}\n", "class ATest {\n  @Test\n  @org.junit.Ignore\n  void a() {}\n}\n", &["3 skipped-test"]),
    ("ATest.cs", "class ATest {\n  [TestMethod]\n  public void A() {}\n}\n", "class ATest {\n  [TestMethod]\n  [Ignore]\n  public void A() {}\n}\n", &["3 skipped-test"]),
    ("ATest.cs", "class ATest {\n  [Test]\n  public void A() {}\n}\n", "class ATest {\n  [Test, Ignore]\n  public void A() {}\n}\n", &["2 skipped-test"]),
    ("ATest.cs", "class ATest {\n  [Test]\n  public void A() {}\n}\n", "class ATest {\n  [Test, Ignore(\"#12\")]\n  public void A() {}\n}\n", &[]),
    ("a_test.go", "package a\n\nvar _ = It(\"a\", func() {})\n", "package a\n\nvar _ = PIt(\"a\", func() {})\n", &["3 skipped-test"]),
    ("a_test.go", "package a\n\nvar _ = Describe(\"a\", func() {})\n", "package a\n\nvar _ = XDescribe(\"a\", func() {})\n", &["3 skipped-test"]),
    ("a.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore]\nfn a() {}\n", &["2 skipped-test"]),
    ("a.rs", "#[test]\nfn a() {}\n", "#[test]\n#[ignore = \"#12\"]\nfn a() {}\n", &[]),
    ("ATest.java", "class ATest {\n  @Test\n  void a() {}\n}\n", "class ATest {\n  @Test\n  @Disabled\n  void a() {}\n}\n", &["3 skipped-test"]),
    ("ATest.java", "class ATest {\n  @Test\n  void a() {}\n}\n", "class ATest {\n  @Test\n  @Disabled(\"#12\")\n  void a() {}\n}\n", &[]),
    ("ATest.kt", "class ATest {\n  @Test\n  fun a() {}\n}\n", "class ATest {\n  @Test\n  @Ignore\n  fun a() {}\n}\n", &["3 skipped-test"]),
];

#[test]
fn newly_skipped_test_without_reason_is_reported() {
    let mut wrong = Vec::new();
    for (path, old, new, expected) in SKIPPED {
        let reported = findings(path, old, new);
        if reported != *expected {
            wrong.push(format!("{path}: {new} -> {reported:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Findings in a change, as `path:line`.
fn places(change: &str) -> Vec<String> {
    let findings = Fixture::new(change).findings_of(&LeftoverCheck);
    findings.iter().map(|it| it.split(' ').next().unwrap().to_owned()).collect()
}

#[test]
fn one_removed_line_excuses_one_moved_line() {
    let sample =
        "//- a.md\nbreakpoint()\n//- a.py\nx\n//- head\n//- a.md\ny\n//- a.py\nbreakpoint()\n";
    assert_eq!(places(sample), ["a.py:1"]);
    let twice = "//- a.js\ndebugger;\n//- b.js\nf()\n//- c.js\nf()\n//- head\n//- a.js deleted\n\
                 //- b.js\ndebugger;\n//- c.js\ndebugger;\n";
    assert_eq!(places(twice), ["c.js:1"]);
    let again = "//- a.js\ndebugger;\nf()\n//- head\n//- a.js\ndebugger;\nf()\ndebugger;\n";
    assert_eq!(places(again), ["a.js:3"]);
    let above = "//- a.js\nf()\ndebugger;\n//- head\n//- a.js\ndebugger;\nf()\ndebugger;\n";
    assert_eq!(places(above), ["a.js:1"]);
}

#[test]
fn old_and_moved_lines_are_not_reported() {
    let old = "f();\ndebugger;\n";
    assert_eq!(findings("a.js", old, "f();\n  debugger;\ng();\n"), [""; 0]);
    let moved = "//- a.js\ndebugger;\nf();\n//- b.js\ng();\n//- head\n//- a.js\nf();\n//- b.js\ndebugger;\ng();\n";
    assert_eq!(Fixture::new(moved).findings_of(&LeftoverCheck), [""; 0]);
    let converted = moved.replace("- b.js", "- b.ts");
    assert_eq!(Fixture::new(&converted).findings_of(&LeftoverCheck), [""; 0]);
}

#[test]
fn line_moved_from_a_sample_into_use_is_reported() {
    let moved = |from: &str, to: &str| {
        places(&format!(
            "//- {from}\ndebugger;\nf();\n//- {to}\ng();\n//- head\n//- {from}\nf();\n//- {to}\ng();\ndebugger;\n"
        ))
    };
    for sample in ["tests/a.js", "examples/a.js", "docs/a.js", "a.test.js", "src/snapshots/a.js"] {
        assert_eq!(moved(sample, "src/b.js"), ["src/b.js:2"], "{sample}");
        assert_eq!(moved("src/b.js", sample), [""; 0], "{sample}");
        assert_eq!(moved(sample, "tests/other/b.js"), [""; 0], "{sample}");
    }
    // The removed line explains the line added to code in use, not the one added to a sample.
    let both = "//- src/a.js\ndebugger;\nf();\n//- src/b.js\ng();\n//- examples/c.js\nh();\n//- head\n\
                //- examples/c.js\nh();\ndebugger;\n//- src/a.js\nf();\n//- src/b.js\ng();\ndebugger;\n";
    assert_eq!(places(both), ["examples/c.js:2"]);
}

#[test]
fn merge_file_is_reported() {
    let check = |text: &str| Fixture::new(text).findings_of(&LeftoverCheck).len();
    for path in ["src/a.py.orig", "src/a.py.rej", "src/a_BASE_4711.py", "src/a.BACKUP.4711.py"] {
        assert_eq!(check(&format!("//- src/a.py\nx\n//- head\n//- {path}\ny\n")), 1, "{path}");
    }
    assert_eq!(check("//- head\n//- src/a.py.orig\ny\n"), 0);
    assert_eq!(check("//- tests/a.py\nx\n//- head\n//- tests/a.py.orig\ny\n"), 0);
    assert_eq!(check("//- src/a.py\nx\n//- head\n//- src/DATA_BASE_URL.py\ny\n"), 0);
}

#[test]
fn certain_fix_becomes_a_replacement() {
    let cases = [
        ("a.spec.ts", "  it.only('a', () => {\n  })\n", Some("  it('a', () => {")),
        ("a.spec.ts", "fdescribe('a', () => {})\n", Some("describe('a', () => {})")),
        ("a_spec.rb", "it 'a', focus: true do\nend\n", Some("it 'a' do")),
        ("a_test.go", "package a\nvar _ = FIt(\"a\", f)\n", Some("var _ = It(\"a\", f)")),
        ("a.js", "f();\n  debugger;\n", Some("")),
        ("a.js", "if (a) debugger;\n", None),
        ("a.py", "breakpoint()\n", None),
    ];
    for (path, text, expected) in cases {
        let fixture = Fixture::new(&format!("//- head\n//- {path}\n{text}"));
        let file_findings = fixture.file_findings_of(&LeftoverCheck);
        assert_eq!(file_findings[0].findings[0].replacement.as_deref(), expected, "{path}");
    }
}

#[test]
fn many_debugger_statements_take_linear_time() {
    let cases = [
        ("a.rb", "byebug\n", ""),
        ("a.py", "breakpoint()\n", ""),
        ("a.php", "dd(1);\n", "<?php\n"),
        ("a.rs", "dbg!(1)\n", "fn a() { m!(\n"),
    ];
    for (path, line, first_lines) in cases {
        let last_lines = if first_lines.ends_with("(\n") { ") }\n" } else { "" };
        let text = format!("{first_lines}{}{last_lines}", line.repeat(30_000));
        assert_eq!(findings(path, "", &text).len(), 30_000, "{path}");
    }
}
