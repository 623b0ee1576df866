//! Repository tools with unusual names and histories.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crh_git::BareRepository;
use crh_pipeline::revisions::Revisions;
use crh_pipeline::tools::{ToolContext, ToolError, call};
use crh_testkit::Repo;

/// Tool context for the change between two commits.
fn tool_context(repo: &Repo, base: &str, head: &str) -> ToolContext {
    let bare = BareRepository::new(&repo.path().join(".git"));
    let revisions = Revisions::new(bare, &repo.id(base), &repo.id(head)).unwrap();
    ToolContext::new().with_repository(move || Ok(revisions))
}

fn text_reply(ctx: &ToolContext, tool: &str, arguments: &Value) -> String {
    call(tool, &arguments.to_string(), ctx).unwrap()
}

fn reply(ctx: &ToolContext, tool: &str, arguments: &Value) -> Value {
    serde_json::from_str(&text_reply(ctx, tool, arguments)).unwrap()
}

fn refusal(ctx: &ToolContext, tool: &str, arguments: &Value) -> String {
    match call(tool, &arguments.to_string(), ctx).unwrap_err() {
        ToolError::TellModel(message) => message,
        ToolError::Abort(message) => format!("abort: {message}"),
    }
}

#[test]
fn long_line_ends_with_the_number_of_missing_characters() {
    let repo = Repo::new();
    repo.commit("base");
    repo.write("big.js", "x".repeat(200_000));
    repo.commit("a long line");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let read = text_reply(&ctx, "repo_read", &json!({ "path": "big.js" }));
    assert!(read.ends_with("x… [cut: 198000 more characters]\n"), "{read}");
}

#[test]
fn quoted_path_can_be_requested() {
    let repo = Repo::new();
    repo.commit("base");
    let folder = repo.path().join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.py"), "x = 1\n").unwrap();
    repo.write("\"b\"", "with quotes\n");
    repo.write("b", "without\n");
    repo.commit("odd names");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let listed = reply(&ctx, "repo_ls", &json!({}));
    assert_eq!(listed["entries"][2]["path"], r#""d\377""#);
    let listed = reply(&ctx, "repo_ls", &json!({ "path": r#""d\377""# }));
    assert_eq!(listed["entries"][0]["path"], "a.py");
    let path = r#""d\377/a.py""#;
    let found = text_reply(&ctx, "repo_grep", &json!({ "pattern": "x = 1" }));
    assert_eq!(found, format!("{path}:1: x = 1\n"));
    let read = text_reply(&ctx, "repo_read", &json!({ "path": path }));
    assert_eq!(read, format!("{path} at head, lines 1-1 of 1:\n    1  x = 1\n"));
    assert_eq!(reply(&ctx, "repo_stat", &json!({ "path": path }))["size"], 6);
    assert_eq!(reply(&ctx, "read_file", &json!({ "path": path }))["language"], "python");
    // An existing file with quotes in its name wins.
    let read = text_reply(&ctx, "repo_read", &json!({ "path": "\"b\"" }));
    assert!(read.ends_with("    1  with quotes\n"), "{read}");
    assert_eq!(
        refusal(&ctx, "repo_log", &json!({ "path": path })),
        r#"the history of `"d\377/a.py"` cannot be read: it is not UTF-8"#
    );
}

#[test]
fn blame_shows_the_unquoted_original_path() {
    let repo = Repo::new();
    repo.write("ü \"a\"\t.txt", "one\ntwo\nthree\n");
    repo.commit("base");
    fs::rename(repo.path().join("ü \"a\"\t.txt"), repo.path().join("b.txt")).unwrap();
    repo.commit("renamed");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let blamed = reply(&ctx, "repo_blame", &json!({ "path": "b.txt", "startLine": 1 }));
    assert_eq!(blamed["lines"][0]["originalPath"], "ü \"a\"\t.txt");
}

#[test]
fn log_rejects_paths_outside_the_repository() {
    let repo = Repo::new();
    repo.commit("base");
    repo.write("a.txt", "1\n");
    repo.commit("change");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    for path in ["/etc/passwd", "../a.txt", "."] {
        let says = refusal(&ctx, "repo_log", &json!({ "path": path }));
        assert_eq!(says, refusal(&ctx, "repo_read", &json!({ "path": path })));
    }
}

#[test]
fn boundary_commit_is_marked_or_older() {
    let repo = Repo::new();
    repo.write("a.txt", "1\n");
    repo.commit("the first");
    for number in 0..50 {
        repo.commit(&format!("older {number}"));
    }
    repo.write("a.txt", "2\n");
    repo.commit("change");
    let ctx = tool_context(&repo, "HEAD~1", "HEAD");
    let log = |arguments: Value| reply(&ctx, "repo_log", &arguments)["commits"].clone();
    let of_path = log(json!({ "path": "a.txt" }));
    let rows: Vec<_> = of_path.as_array().unwrap().iter().collect();
    let shown: Vec<_> = rows.iter().map(|row| (&row["subject"], &row["orOlder"])).collect();
    assert_eq!(shown, [(&json!("change"), &Value::Null), (&json!("older 0"), &Value::Bool(true))]);
    let all = log(json!({ "limit": 100 }));
    assert_eq!(all.as_array().unwrap().len(), 51);
    assert!(all.as_array().unwrap().iter().all(|row| row["orOlder"].is_null()));
}

#[test]
fn path_suggestion_works_with_many_files() {
    let repo = Repo::new();
    let file = |number| (format!("a/{number:020}.rs"), String::new());
    repo.import((0..6_000).map(file).chain([("zz/target.rs".to_owned(), String::new())]));
    let ctx = tool_context(&repo, "main", "main");
    let says = refusal(&ctx, "repo_read", &json!({ "path": "zz/tagret.rs" }));
    let expected = "there is no `zz/tagret.rs` at this revision; did you mean `zz/target.rs`, ";
    assert!(says.starts_with(expected), "{says}");
}

#[test]
fn symbol_tools_read_the_signs_of_each_language() {
    let files = [
        (
            "a.c",
            "#define TWICE(x) total(x)\n**total(p) = 1;\n*(total(p)) = 1;\n * total of all\n// total\n",
        ),
        ("b.py", "# total\nx = total(1)\n"),
        (
            "c.ts",
            "class Cart { total() { return 1; } }\nconst { total } = cart;\nconst { total: all } = cart;\n",
        ),
        (
            "d.rb",
            "class Cart\n  def valid?\n    true\n  end\n\n  def save!\n    valid?\n  end\nend\n",
        ),
        ("e.php", "<?php\n#[total()]\n# total\n"),
        ("f.sh", "# total\n"),
    ];
    let repo = Repo::new();
    for (path, text) in files {
        repo.write(path, text);
    }
    repo.commit("all");
    let ctx = tool_context(&repo, "HEAD", "HEAD");
    let places = |tool: &str, name: &str| -> Vec<String> {
        let reply = text_reply(&ctx, tool, &json!({ "name": name }));
        let lines = reply.lines().filter(|line| !line.starts_with([' ', '[']) && !line.is_empty());
        let place = |line: &str| match line.split_once(", lines ") {
            Some((definition, _)) => definition.to_owned(),
            None => line.split(' ').next().unwrap().trim_end_matches(':').to_owned(),
        };
        lines.map(place).collect()
    };
    let uses = ["a.c:1", "a.c:2", "a.c:3", "b.py:2", "c.ts:2", "c.ts:3", "e.php:2", "c.ts:1"];
    assert_eq!(places("find_callers", "total"), uses);
    // `total` without a value before it is no call of the method.
    let method_uses: Vec<&str> = uses.into_iter().filter(|it| *it != "b.py:2").collect();
    assert_eq!(places("find_callers", "Cart.total"), method_uses);
    assert_eq!(places("find_definition", "Cart.valid?"), ["d.rb: Cart.valid?"]);
    assert_eq!(places("find_definition", "save!"), ["d.rb: Cart.save!"]);
    assert_eq!(places("find_callers", "valid?"), ["d.rb:2", "d.rb:7"]);
}

/// Lowest precision and recall of `find_callers` in the repositories of `data/lookup`, in percent.
const FLOORS: [(&str, usize, usize); 4] =
    [("go", 76, 100), ("python", 78, 100), ("rust", 71, 91), ("typescript", 84, 84)];

/// `answers.txt` has the answers of gopls, pyright, rust-analyzer and TypeScript's server, as
/// `scripts/compare-index --write-answers` writes them: name, definition, uses.
#[test]
fn definitions_and_uses_agree_with_language_servers() {
    for (language, least_precision, least_recall) in FLOORS {
        let folder = format!("{}/tests/data/lookup/{language}", env!("CARGO_MANIFEST_DIR"));
        let repo = Repo::new();
        repo.git(&["--work-tree", &folder, "add", "--all"]);
        repo.git(&["commit", "--quiet", "--message", language]);
        let ctx = tool_context(&repo, "HEAD", "HEAD");
        let answers = fs::read_to_string(format!("{folder}/answers.txt")).unwrap();
        let answers: Vec<Vec<&str>> = answers.lines().map(|it| it.split(' ').collect()).collect();
        let own_name = |name: &str| name.rsplit('.').next().unwrap().to_owned();
        let (mut listed, mut known, mut right) = (0, 0, 0);
        for answer in &answers {
            let (name, definition) = (answer[0], answer[1]);
            let reply = text_reply(&ctx, "find_definition", &json!({ "name": name }));
            assert!(shows_line(&reply, definition), "{language} {name}:\n{reply}");
            // Lines that define the name count neither as uses nor as errors.
            let same_name = answers.iter().filter(|it| own_name(it[0]) == own_name(name));
            let definitions: BTreeSet<&str> = same_name.map(|it| it[1]).collect();
            let reply = text_reply(&ctx, "find_callers", &json!({ "name": name }));
            let lines = reply.lines().filter(|line| !line.starts_with('['));
            let lines = lines.map(|it| it.split(' ').next().unwrap().trim_end_matches(':'));
            let lines: BTreeSet<&str> = lines.filter(|it| !definitions.contains(it)).collect();
            listed += lines.len();
            known += answer[2..].len();
            right += answer[2..].iter().filter(|it| lines.contains(*it)).count();
        }
        let (precision, recall) = (100 * right / listed, 100 * right / known);
        assert!(
            precision >= least_precision && recall >= least_recall,
            "{language}: precision {precision}, recall {recall}"
        );
    }
}

/// Whether a reply of `find_definition` contains this line of this file.
fn shows_line(reply: &str, place: &str) -> bool {
    let (path, line) = place.split_once(':').unwrap();
    let line: u32 = line.parse().unwrap();
    let ranges = reply.lines().filter_map(|it| it.strip_prefix(path)?.split_once(", lines "));
    ranges.into_iter().any(|(_, range)| {
        let (first, last) = range.split_once('-').unwrap();
        (first.parse().unwrap()..=last.parse().unwrap()).contains(&line)
    })
}
