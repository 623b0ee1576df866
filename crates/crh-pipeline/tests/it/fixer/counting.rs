//! Which edits count as the fix of an issue, in code without functions and for removed lines.

use serde_json::json;

use super::scene::{CART, Scene, edit, reports};
use crh_pipeline::fixer::IssueOutcome;
use crh_review::Location;
use crh_review::finding::Side;
use crh_testkit::fake_model::calls;
use crh_testkit::{FakeModel, Repo};

/// Why an issue is not done.
const ELSEWHERE: &str = "the code around its lines was not changed";
const COMMENTS: &str = "only comments or white space were changed for it";

/// A fixer that reports the issues in a new file as done after these edits.
fn scene(path: &str, text: &str, table: &str, edits: &[(&str, &str)]) -> (FakeModel, Scene) {
    let repo = Repo::from_fixture(CART);
    repo.write(path, text);
    repo.commit("a file");
    let edits = edits.iter().map(|(old, new)| edit(path, old, new));
    let done: Vec<(u32, &str)> = (1..).zip(table.trim().lines().map(|_| "done")).collect();
    let model = FakeModel::start().on("fixer-1", edits.chain([reports(&done)]));
    let scene = Scene::from_repo(&model, repo, table);
    (model, scene)
}

/// "done" or the start of the reason why not, by issue.
async fn outcomes(scene: &Scene) -> Vec<String> {
    let outcomes = scene.repair().await.outcomes.into_values();
    let word = |outcome| match outcome {
        IssueOutcome::Done(_) => "done".to_owned(),
        IssueOutcome::NotDone(why) | IssueOutcome::NotTried(why) => {
            why.split(',').next().unwrap_or_default().to_owned()
        }
    };
    outcomes.map(word).collect()
}

async fn check(path: &str, text: &str, table: &str, edits: &[(&str, &str)], expected: &[&str]) {
    let (_model, scene) = scene(path, text, table, edits);
    assert_eq!(outcomes(&scene).await, expected, "{table} {edits:?}");
}

#[tokio::test]
async fn change_in_the_block_of_its_lines_fixes_an_issue_outside_of_functions() {
    let steps: String = (1..20).map(|step| format!("  - run: make {step}\n")).collect();
    let workflow = format!("name: ci\non: push\nsteps:\n{steps}");
    let table = r#"a ci.yml:18 P1 0.9 "The token of the step has no limited permissions""#;
    let permissions = ("on: push\n", "on: push\npermissions:\n  contents: read\n");
    // The title names the new key.
    check("ci.yml", &workflow, table, &[permissions], &["done"]).await;
    let table = r#"a ci.yml:18 P1 0.9 "The token of the step may write""#;
    check("ci.yml", &workflow, table, &[permissions], &[ELSEWHERE]).await;
    check("ci.yml", &workflow, table, &[("make 3\n", "build 3\n")], &[ELSEWHERE]).await;
    let comment = ("on: push\n", "# Read only.\non: push\n");
    check("ci.yml", &workflow, table, &[comment], &[COMMENTS]).await;
    let page = format!("Setup\n\n{steps}");
    let table = r#"a page.md:18 P1 0.9 "The page has no heading""#;
    check("page.md", &page, table, &[("Setup\n", "# Setup\n")], &[ELSEWHERE]).await;

    let service = |name: &str| {
        let ports: String = (1..8).map(|port| format!("      - 80{port}\n")).collect();
        format!("  {name}:\n    image: {name}:latest\n    ports:\n{ports}    user: root{name}\n")
    };
    let head = "x-log: &log\n  driver: none\n\n\n\n\nservices:\n";
    let compose = format!("{head}{}{}    logging: *log\n", service("db"), service("web"));
    let table = r#"a compose.yml:20 P1 0.9 "The image is not pinned""#;
    for (line, old, new, expected) in [
        (20, "image: web:latest", "image: web:1", "done"),
        (20, "user: rootweb", "user: web", "done"),
        (20, "image: db:latest", "image: db:1", ELSEWHERE),
        (20, "driver: none", "driver: json", ELSEWHERE),
        // The line names the anchor.
        (30, "driver: none", "driver: json", "done"),
        (30, "user: rootdb", "user: db", ELSEWHERE),
    ] {
        let table = table.replace(":20", &format!(":{line}"));
        check("compose.yml", &compose, &table, &[(old, new)], &[expected]).await;
    }

    let lines: String = (1..9).map(|line| format!("  const name{line} = {line};\n")).collect();
    let code = format!(
        "const app = express();\n\nfunction other(id) {{\n  return id;\n}}\n\n\
         app.get('/fee', (req, res) => {{\n{lines}  res.send(req.query.id);\n}});\n"
    );
    let table = r#"a app.js:16 P1 0.9 "The reply contains unescaped text""#;
    for (old, new, expected) in [
        ("const name1 = 1;\n", "const name1 = escape(1);\n", "done"),
        ("express();\n", "express();\napp.use(escaped);\n", ELSEWHERE),
        ("  return id;\n", "  return -id;\n", ELSEWHERE),
        ("  return id;\n", "  return id;\n  log(id);\n", ELSEWHERE),
    ] {
        check("app.js", &code, table, &[(old, new)], &[expected]).await;
    }

    // An attribute is no TOML table.
    let lines: String = (1..20).map(|line| format!("Send({line});\n")).collect();
    let code = format!("using Shop;\n\n[assembly: CLSCompliant(true)]\n\n{lines}");
    let table = r#"a Program.cs:20 P1 0.9 "The order is sent twice""#;
    for (old, expected) in [("Send(2);", ELSEWHERE), ("Send(16);", "done")] {
        check("Program.cs", &code, table, &[(old, "Keep();")], &[expected]).await;
    }
}

#[tokio::test]
async fn change_in_a_function_fixes_no_issue_outside_of_it() {
    let lines: String = (1..9).map(|line| format!("        name{line} = {line}\n")).collect();
    let code = format!("if DEBUG:\n    def check(line):\n{lines}        return line\n");
    let table = r#"a cart.py:1 P1 0.9 "The condition is wrong""#;
    check("cart.py", &code, table, &[("name8 = 8", "name8 = 9")], &[ELSEWHERE]).await;
    check("cart.py", &code, table, &[("if DEBUG:", "if TEST:")], &["done"]).await;
}

#[tokio::test]
async fn change_in_another_callback_fixes_no_issue() {
    let lines: String = (1..9).map(|line| format!("  const name{line} = {line};\n")).collect();
    let code = format!(
        "app.get('/fee', (req, res) => {{\n{lines}  res.send(req.query.id);\n}});\n\n\
         const page = {{\n  title(req) {{\n    return req.title;\n  }},\n}};\n\n\
         app.get('/rate', (req, res) => {{\n  res.send(rate);\n  res.end();\n}});\n"
    );
    let table = r#"a app.js:10 P1 0.9 "The reply contains unescaped text""#;
    for (old, new, expected) in [
        ("const name1 = 1;\n", "const name1 = escape(1);\n", "done"),
        ("send(rate);", "send(1);", ELSEWHERE),
        ("send(rate);\n", "send(rate);\n  log(1);\n", ELSEWHERE),
        ("return req.title;", "return 1;", ELSEWHERE),
    ] {
        check("app.js", &code, table, &[(old, new)], &[expected]).await;
    }
}

/// The lines are closer to each other than the distance that a fix may have.
#[tokio::test]
async fn change_at_the_lines_of_another_issue_is_not_for_its_neighbour() {
    let code = "def total(lines):\n    one = 1\n    two = 2\n    three = 3\n    return one\n";
    let table = r#"
        a cart.py:2 P1 0.9 "Tax is missing"
        b cart.py:4 P1 0.9 "An empty list crashes"
    "#;
    let (one, two, three) =
        (("one = 1", "one = 0"), ("two = 2", "two = 0"), ("three = 3", "three = 0"));
    const OTHER: &str = "the change around its lines may be for another issue";
    for (edits, expected) in [
        (vec![one, three], ["done", "done"]),
        (vec![three], [OTHER, "done"]),
        // This may be for either.
        (vec![two], ["done", "done"]),
    ] {
        check("cart.py", code, table, &edits, &expected).await;
    }
}

/// The constant that the second issue names is outside of functions, as the first issue is.
#[tokio::test]
async fn named_constant_belongs_to_the_issue_that_names_it() {
    let code = "RATE = 10\n\n\n\n\n\n\n\n\nMODE = 1\n\n\n\ndef fee(a):\n    return a * RATE\n";
    let table = r#"
        a cart.py:10 P1 0.9 "The mode is wrong"
        a cart.py:15 P1 0.9 "The fee is wrong"
    "#;
    let (mode, rate) = (("MODE = 1", "MODE = 2"), ("RATE = 10", "RATE = 9"));
    check("cart.py", code, table, &[mode, rate], &["done", "done"]).await;
}

/// The first issue cites a line that the change removed, the second a line of the same function.
async fn check_removed(edits: &[(&str, &str)], named: &[&str], expected: [&str; 2]) {
    let lines: String = (3..40).map(|line| format!("    name_{line} = 0\n")).collect();
    let head = format!("def total(lines):\n    count = len(lines)\n{lines}");
    let base = head.replace("    name_5 = 0\n", "    check_all(lines)\n    name_5 = 0\n");
    let repo = Repo::from_fixture(CART);
    repo.write("cart.py", &base);
    repo.commit("a guard");
    repo.write("cart.py", &head);
    repo.commit("no guard");
    let table = r#"
        a cart.py:5 P1 0.9 "The guard was removed"
        a cart.py:30 P1 0.9 "A line without a name fails"
    "#;
    let edits = edits.iter().map(|(old, new)| {
        let path = if old.contains("strip") { "label.py" } else { "cart.py" };
        edit(path, old, new)
    });
    let report = json!({ "repairs": [
        { "number": 1, "outcome": "done", "sentence": "It is done.", "files": named },
        { "number": 2, "outcome": "done", "sentence": "It is done." },
    ] });
    let model = FakeModel::start().on("fixer-1", edits.chain([calls("report_repairs", report)]));
    let mut scene = Scene::from_repo(&model, repo, table).with_files(&["cart.py", "label.py"]);
    scene.fix_task.issues[0].location.side = Side::Old;
    scene.fix_task.issues[0].evidence.clear();
    assert_eq!(outcomes(&scene).await, expected);
}

#[tokio::test]
async fn issue_about_removed_lines_is_fixed_at_their_place_or_by_bringing_them_back() {
    let name = ("name_22 = 0", "name_22 = lines or 0");
    // The removed line is back at its place or elsewhere, or only a name in it.
    for new in ["    check_all(lines)\n    name_5 = 0\n", "    assert lines\n    name_5 = 0\n"] {
        check_removed(&[("    name_5 = 0\n", new), name], &[], ["done", "done"]).await;
    }
    let moved = ("    name_15 = 0\n", "    name_15 = 0\n    check_all(lines, 1)\n");
    check_removed(&[moved, name], &[], ["done", "done"]).await;
    check_removed(&[moved, ("name_30 = 0", "name_30 = 1")], &[], ["done", "done"]).await;
    // Another change of the file.
    let other = ("    name_15 = 0\n", "    name_15 = 0\n    log(lines)\n");
    check_removed(&[other, ("name_30 = 0", "name_30 = 1")], &[], [ELSEWHERE, "done"]).await;
    check_removed(&[("name_30 = 0", "name_30 = 1")], &[], [ELSEWHERE, "done"]).await;
    // Another file, if the report names it.
    let elsewhere = ("line.strip()", "check(line).strip()");
    let both = [elsewhere, ("name_30 = 0", "name_30 = 1")];
    check_removed(&both, &["label.py"], ["done", "done"]).await;
}

#[tokio::test]
async fn comment_fixes_an_issue_about_comments() {
    let code = "# Bills.\n\n\n\n\n\ndef fee(amount):\n    return amount\n";
    let comment = ("    return", "    # May be None.\n    return");
    for (title, expected) in [
        ("Document that `amount` may be None", "done"),
        ("The public function lacks rustdoc", "done"),
        ("No JSDoc for a public function", "done"),
        ("`unsafe` without a SAFETY note", "done"),
        ("The licence header is missing", "done"),
        ("`# type: ignore` is missing", "done"),
        ("The line needs `//go:embed`", "done"),
        ("The thread safety is gone", COMMENTS),
        ("`document.write` of unescaped text", COMMENTS),
        ("Differs from C# and from issue #12", COMMENTS),
        ("Calls https://example.com", COMMENTS),
        ("`#[must_use]` is missing", COMMENTS),
    ] {
        let table = format!("a cart.py:8 P1 0.9 \"{title}\"");
        check("cart.py", code, &table, &[comment], &[expected]).await;
    }
    // Another place of the issue is a comment.
    let table = r#"a cart.py:8 P1 0.9 "The header and the result differ""#;
    let (_model, mut scene) = scene("cart.py", code, table, &[("# Bills.", "# Fees.")]);
    let location = scene.fix_task.issues[0].location.clone();
    let place = Location { line_start: 1, line_end: 1, ..location };
    scene.fix_task.issues[0].other_places = vec![place];
    assert_eq!(outcomes(&scene).await, ["done"]);
}

/// A file, its text, the cited line, an edit, and whether the edit fixes the issue.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str, &'a str, &'a str);

async fn check_rows(rows: &[Row<'_>]) {
    let mut wrong = Vec::new();
    for row @ (path, text, cited, old, new, expected) in rows {
        let line = 1 + text.lines().position(|line| line.contains(cited)).unwrap();
        let table = format!("a {path}:{line} P1 0.9 \"This is wrong and unsafe\"");
        let (_model, scene) = scene(path, text, &table, &[(*old, *new)]);
        let found = outcomes(&scene).await;
        if found != [*expected] {
            wrong.push((row, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn comment_by_the_mark_of_its_file_fixes_no_code() {
    let files = [
        ("x.sh", "set -e\ncd /x\nrm -rf *\n", "rm -rf *", "# safe"),
        ("Makefile", "a:\n\trm x\n", "\trm x", "# safe"),
        ("Dockerfile", "FROM x\nRUN rm *\n", "RUN rm *", "# safe"),
        ("x.toml", "[b]\nq = 1\nw = 4\n", "w = 4", "# safe"),
        ("x.yml", "b:\n  q: 1\n  w: 'a#b'\n", "  w: 'a#b'", "# safe"),
        ("x.tf", "a = 1\nb = \"0/0\"\n", "b = \"0/0\"", "// safe"),
        ("x.ini", "[a]\nb = 1\nc = 2\n", "c = 2", "; safe"),
        ("x.sql", "SELECT 1;\nDELETE FROM t;\n", "DELETE FROM t;", "-- safe"),
        ("x.css", "a { b: c }\nd { e: f }\n", "d { e: f }", "/* safe */"),
        ("x.html", "<p>a</p>\n<p>bad</p>\n", "<p>bad</p>", "<!-- it's safe -->"),
        ("x.md", "# A\n\nIt's bad.\n", "It's bad.", "<!-- safe -->"),
        ("x.py", "a = 1\nb = 'x#y'\n", "b = 'x#y'", "# safe"),
    ];
    for (path, text, line, comment) in files {
        let (after, above) = (format!("{line} {comment}"), format!("{comment}\n{line}"));
        let rows = [&after, &above].map(|new| (path, text, line, line, new.as_str(), COMMENTS));
        check_rows(&rows).await;
    }
    let html = ("x.html", "<p>\nbad\n</p>\n", "bad", "bad\n", "bad\n<!--\n it is safe\n-->\n");
    check_rows(&[(html.0, html.1, html.2, html.3, html.4, COMMENTS)]).await;
    check_rows(&[
        ("x.sh", "#!/bin/sh\nrm -rf *\n", "rm", "rm -rf *", "rm -rf ./t # safe", "done"),
        ("x.sh", "#!/bin/sh\nrm -rf *\n", "#!", "#!/bin/sh", "#!/bin/sh -e", "done"),
        ("x.sh", "a=${b#c}\necho $#\n", "b#c", "b#c", "b#d", "done"),
        ("x.sh", "a='b # c'\necho\n", "b # c", "# c", "# d", "done"),
        ("x.yml", "a: it's # b\nc: d#e\n", "d#e", "d#e", "d#f", "done"),
        ("x.css", "a { color: #fff }\n", "#fff", "#fff", "#000", "done"),
        ("x.jsonc", "{\n  \"a\": \"http://b\"\n}\n", "http", "//b", "//c", "done"),
        ("x.sql", "SELECT '--', 1;\n", "SELECT", "1;", "2;", "done"),
        ("x.md", "# A title\n\nText.\n", "title", "A title", "Another title", "done"),
        ("x.html", "<p>\n<!-- a --> bad\n</p>\n", "bad", "bad", "good", "done"),
    ])
    .await;
}

#[tokio::test]
async fn white_space_fixes_no_code_except_as_indentation() {
    let json = "{\n  \"a\": {\n    \"q\": 1\n  }\n}\n";
    let code = "def page(user):\n    if user:\n        return \"<b>\" + user.name\n    return 1\n";
    check_rows(&[
        ("c.yml", "a:\n  password: hunter\n", "pass", ": hunter", ":   hunter", COMMENTS),
        ("p.json", json, "q", "    \"q\": 1", "      \"q\" : 1", COMMENTS),
        ("s.toml", "[a]\nw = 4\n", "w", "w = 4", "w=4", COMMENTS),
        ("R.md", "# A\n\n1. Install node 8.\n", "node", "Install node", "Install  node", COMMENTS),
        ("s.py", code, "name", "\"<b>\" + user", "\"<b>\"+user", COMMENTS),
        ("s.py", code, "name", "\"<b>\"", "\"<b> \"", "done"),
        ("s.py", code, "return 1", "    return 1", "        return 1", "done"),
        ("c.yml", "a:\n  b:\n    c: 1\n", "c: 1", "    c", "  c", "done"),
        ("c.yml", "a:\n  b:1\n", "b:1", "b:1", "b: 1", "done"),
        ("Makefile", "a:\n    rm x\n", "rm", "    rm", "\trm", "done"),
        ("x.sh", "a = 1\necho\n", "a = 1", "a = 1", "a=1", "done"),
    ])
    .await;
    let table = r#"a p.json:3 P1 0.9 "The indentation is wrong""#;
    check("p.json", json, table, &[("    \"q\"", "      \"q\"")], &["done"]).await;
}

#[tokio::test]
async fn change_more_than_three_lines_away_fixes_no_issue() {
    let near = "TAX = 1\n\n\ndef fee(a):\n    b = 1\n    c = 2\n    return a\n\n\nMODE = 1\n";
    let far = near.replace("\n\n\n", "\n\n\n\n");
    let go = "package a\n\nfunc b() {\n\tx()\n}\n\n\nfunc c() {\n\ty()\n}\n";
    check_rows(&[
        ("cart.py", near, "def fee", "TAX = 1", "TAX = 2", "done"),
        ("cart.py", &far, "def fee", "TAX = 1", "TAX = 2", ELSEWHERE),
        ("cart.py", near, "return a", "MODE = 1", "MODE = 2", "done"),
        ("cart.py", &far, "return a", "MODE = 1", "MODE = 2", ELSEWHERE),
        ("a.go", go, "func c", "x()", "z()", ELSEWHERE),
    ])
    .await;
}

#[tokio::test]
async fn change_of_another_key_or_function_nearby_fixes_no_issue() {
    let store = "class Store:\n    def get(self, key):\n        return self.db[key]\n\n    \
                 def put(self, key):\n        self.db[key] = 1\n\n\nLIMIT = 3\n\n\n\
                 @app.route('/x')\ndef view(request):\n    return 1\n";
    let yaml = "on: push\nlevel: debug\ntoken: test\nname: ci\n";
    let toml = "[a]\nx = 1\n[b]\ny = 2\nz = 3\n";
    check_rows(&[
        ("s.py", store, "return self", "self.db[key] = 1", "self.db[key] = 2", ELSEWHERE),
        ("s.py", store, "return self", "= 1\n", "= 1\n        log(key)\n", ELSEWHERE),
        ("s.py", store, "return self", "return self.db[key]", "return self.db.get(key)", "done"),
        ("s.py", store, "LIMIT", "'/x'", "'/y'", ELSEWHERE),
        ("s.py", store, "LIMIT", "@app", "@cached\n@app", ELSEWHERE),
        ("s.py", store, "LIMIT", "= 1\n\n\nL", "= 1\n        log(key)\n\n\nL", ELSEWHERE),
        ("s.py", store, "LIMIT", "LIMIT = 3", "LIMIT = 30", "done"),
        ("s.py", store, "LIMIT", "LIMIT = 3\n", "LIMIT = 3\n\nassert ready()\n", "done"),
        ("s.py", store, "LIMIT", "\n@app", "\ndef check():\n    pass\n\n\n@app", "done"),
        ("c.yml", yaml, "token", "debug", "info", ELSEWHERE),
        ("c.yml", yaml, "token", "name: ci\n", "", ELSEWHERE),
        ("c.yml", yaml, "token", "test", "prod", "done"),
        ("c.yml", yaml, "token", "name: ci\n", "name: ci\nsecret: 1\n", "done"),
        ("c.toml", toml, "y = 2", "x = 1", "x = 2", ELSEWHERE),
        ("c.toml", toml, "y = 2", "z = 3", "z = 4", "done"),
    ])
    .await;
}

#[tokio::test]
async fn removed_line_is_back_only_under_the_same_header() {
    let toml = "[a]\nx = 1\n\n[b]\nverify = true\ny = 2\n\n[d]\nw = 4\n";
    let long_toml = toml.replace("y = 2\n", "y = 2\nk = 1\nl = 1\nm = 1\nn = 1\n");
    let json = "{\n  \"a\": {\n    \"strict\": true,\n    \"x\": 1\n  },\n  \"c\": {\n    \"q\": 1\n  }\n}\n";
    let yaml = "guard:\n  limit: 5\n  on: 1\nh:\n  v: 1\n";
    let js = "function a(x) {\n  if (!x) return null;\n  return x.y;\n}\n\nfunction b(x) {\n  return x.z;\n}\n";
    let guard = "  if (!x) return null;\n";
    let strict = "    \"strict\": true,\n";
    let mut wrong = Vec::new();
    for (path, base, removed, old, new, expected) in [
        ("s.toml", toml, "verify = true\n", "w = 4\n", "verify = true\nw = 4\n", ELSEWHERE),
        ("s.toml", toml, "verify = true\n", "y = 2\n", "verify = false\ny = 2\n", ELSEWHERE),
        ("s.toml", toml, "verify = true\n", "y = 2\n", "y = 3\n", ELSEWHERE),
        ("s.toml", toml, "verify = true\n", "y = 2\n", "", ELSEWHERE),
        ("s.toml", toml, "verify = true\n", "y = 2\n", "# verify = true\ny = 2\n", COMMENTS),
        ("s.toml", toml, "verify = true\n", "y = 2\n", "verify = true\ny = 2\n", "done"),
        ("s.toml", toml, "verify = true\n", "y = 2\n", "check = 1\ny = 2\n", "done"),
        ("s.toml", &long_toml, "verify = true\n", "n = 1\n", "n = 1\nverify = true\n", "done"),
        ("p.json", json, strict, "    \"q\"", "    \"strict\": true,\n    \"q\"", ELSEWHERE),
        ("p.json", json, strict, "\"x\": 1\n", "\"x\": 1,\n    \"strict\": true\n", "done"),
        ("c.yml", yaml, "  limit: 5\n", "  v: 1\n", "  v: 1\n  limit: 5\n", ELSEWHERE),
        ("c.yml", yaml, "  limit: 5\n", "  on: 1\n", "  on: 1\n  limit: 5\n", "done"),
        (
            "a.js",
            js,
            guard,
            "  return x.z;\n",
            "  if (!x) return null;\n  return x.z;\n",
            ELSEWHERE,
        ),
        ("a.js", js, guard, "  return x.y;\n", "  if (!x) return null;\n  return x.y;\n", "done"),
        ("a.js", js, guard, "  return x.y;\n", "  return x?.y;\n", "done"),
    ] {
        let repo = Repo::from_fixture(CART);
        repo.write(path, base);
        repo.commit("a line");
        repo.write(path, base.replacen(removed, "", 1));
        repo.commit("no line");
        let line = 1 + base[..base.find(removed).unwrap()].lines().count();
        let table = format!("a {path}:{line} P1 0.9 \"The check was removed\"");
        let model =
            FakeModel::start().on("fixer-1", [edit(path, old, new), reports(&[(1, "done")])]);
        let mut scene = Scene::from_repo(&model, repo, &table);
        scene.fix_task.issues[0].location.side = Side::Old;
        scene.fix_task.issues[0].evidence.clear();
        let found = outcomes(&scene).await;
        if found != [expected] {
            wrong.push((path, old, new, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
