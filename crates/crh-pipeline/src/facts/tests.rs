//! Tests of facts of small diffs.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};

use super::*;
use crate::prompts::sample;

/// Builds a diff from a short form: a line `path`, `path new`, `path gone` or `path from OLD` (pure
/// rename), followed by indented lines that start with `+` or `-`.
fn diff(text: &str) -> String {
    let mut diff = String::new();
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).peekable();
    while let Some(head) = lines.next() {
        let (path, what) = head.split_once(' ').unwrap_or((head, ""));
        if let Some(old) = what.strip_prefix("from ") {
            diff += &format!(
                "diff --git a/{old} b/{path}\nsimilarity index 100%\nrename from {old}\nrename to {path}\n"
            );
            continue;
        }
        let mode = match what {
            "new" => "new file mode 100644\n",
            "gone" => "deleted file mode 100644\n",
            _ => "",
        };
        let (old, new) = match what {
            "new" => ("/dev/null".to_owned(), format!("b/{path}")),
            "gone" => (format!("a/{path}"), "/dev/null".to_owned()),
            _ => (format!("a/{path}"), format!("b/{path}")),
        };
        let mut body = String::new();
        let (mut added, mut removed) = (0, 0);
        while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
            match line.trim_start().as_bytes().first() {
                Some(b'+') => added += 1,
                _ => removed += 1,
            }
            body += &format!("{}\n", line.trim_start());
        }
        let (from, to) = (u32::from(what != "new"), u32::from(what != "gone"));
        diff += &format!(
            "diff --git a/{path} b/{path}\n{mode}index 1111111..2222222\n--- {old}\n+++ {new}\n@@ -{from},{removed} +{to},{added} @@\n{body}"
        );
    }
    diff
}

/// Facts of a diff in a repository with these paths.
fn facts(text: &str, tree: &[&str]) -> ChangeFacts {
    let mut contents = sample::contents(diff(text));
    contents.instructions.clear();
    let (_folder, change) = sample::change_under_review(&contents);
    let files = inputs::input_files(&change);
    let mut inputs = inputs::collect_inputs(&change, &files);
    inputs.tree = tree.iter().map(|path| (*path).to_owned()).collect();
    ChangeFacts::from_inputs(&files, &inputs)
}

/// Facts of the changes of a snapshot. Its lines with `> ` are the files of a change with their
/// lines after `|`, and perhaps the paths of the repository after `with`. The others are the result.
fn check(expected: Expect) {
    let mut lines = expected.data.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let mut actual = String::new();
    while lines.peek().is_some() {
        let (mut text, mut tree) = (String::new(), Vec::new());
        while let Some(line) = lines.next_if(|line| line.starts_with("> ")) {
            actual += &format!("{line}\n");
            match line[2..].strip_prefix("with ") {
                Some(paths) => tree = paths.split(' ').collect(),
                None => text += &format!("{}\n", line[2..].replace(" | ", "\n  ")),
            }
        }
        while lines.next_if(|line| !line.starts_with("> ")).is_some() {}
        let facts = facts(&text, &tree);
        let evidence = facts.with_evidence();
        actual.extend(evidence.map(|(fact, witness)| format!("{fact}: {witness}\n")));
        actual += &format!("{:?}, {} lines\n", facts.extent(), facts.lines());
    }
    expected.assert_eq(&actual);
}

#[test]
fn docs_and_comments_are_prose() {
    check(expect![[r#"
        > README.md | +Words.
        > a.py | +# A comment.
        docs: `README.md` is read by people
        Prose, 0 lines
        > a.py | -# Old. | +# New.
        docs: `a.py` has comments that changed
        Prose, 0 lines
        > a.py | +# Why. | +go() | +stop()
        code: lines that run changed in `a.py`
        docs: `a.py` has comments that changed
        More, 2 lines
    "#]]);
}

#[test]
fn one_changed_code_line_is_one_line() {
    check(expect![[r#"
        > a.py | -go(1) | +go(2)
        code: lines that run changed in `a.py`
        OneLine, 2 lines
        > a.json | +1
        > README.md | +Words.
        docs: `README.md` is read by people
        OneLine, 0 lines
        > a.py | +go()
        > tests/test_a.py | +go()
        code: lines that run changed in `a.py`
        tests: `tests/test_a.py` is a test
        More, 1 lines
        > a.py | +go()
        > weird | +?
        code: lines that run changed in `a.py`
        More, 2 lines
    "#]]);
}

#[test]
fn files_that_instruct_agents_are_not_prose() {
    check(expect![[r#"
        > skills/pdf/SKILL.md | +Fill in the form. | +Ask before you send it.
        docs: `skills/pdf/SKILL.md` is read by agents
        More, 0 lines
    "#]]);
}

fn is_risk(path: &str, line: &str) -> bool {
    facts(&format!("{path}\n  +{line}\n"), &[]).has(ChangeFact::InjectionRisk)
}

#[test]
fn joined_commands_are_risks() {
    for line in [
        "exec(\"ls \" + c)",
        "cp.execSync('ls ' + c)",
        "spawn(`ls ${c}`, options)",
        "await execAsync(`ls ${c}`)",
        "check_output(f\"ls {c}\", **{\"shell\": True})",
        "subprocess.run(\"ls {}\".format(c),",
        "text = subprocess.getoutput(\"ls %s\" % c)",
        "proc = await create_subprocess_shell(f'ls {c}')",
        "system(\"ls #{n}\")",
        "system \"ls #{n}\"",
        "out, status = Open3.capture2e(\"ls #{n}\")",
    ] {
        assert!(is_risk("a.py", line), "{line}");
    }
    for line in [
        "subprocess.run([f\"{folder}/tool\"])",
        "check_output(\"ls\")",
        "text = `ls ${c}`",
        "spawn(\"ls\", [c])",
        "system(\"ls\")",
    ] {
        assert!(!is_risk("a.py", line), "{line}");
    }
    for line in ["files = `ls #{n}`", "puts `ls #{n}`", "%x(ls #{n})"] {
        assert!(is_risk("a.rb", line), "{line}");
    }
    assert!(is_risk("a.php", "system(\"ls $name\");"));
    for line in ["raise \"no file `#{n}`\"", "# `ls #{n}`", "system('ls', n)", "`ls`"] {
        assert!(!is_risk("a.rb", line), "{line}");
    }
}

#[test]
fn lines_that_can_inject_commands_or_queries_are_risks() {
    for line in [
        "subprocess.run(command, shell=True)",
        "os.system('ls ' + name)",
        "spawn(command, { shell: true })",
        "eval(text)",
        "Command::new(\"sh\").args([\"sh\", \"-c\", &text])",
        "cursor.execute(\"SELECT * FROM users WHERE name = '\" + name + \"'\")",
        "cursor.execute(\"DELETE FROM users WHERE id = %s\" % user)",
        "cursor.execute(f\"SELECT id FROM users WHERE name = '{name}'\")",
        "db.query(`SELECT id FROM users WHERE name = '${name}'`)",
        "q := fmt.Sprintf(\"SELECT id FROM users WHERE name = '%s'\", name)",
        "let q = format!(\"update users set name = '{name}'\");",
        "db.execute(f\"select {x}\")",
        "cursor.execute(\"drop table %s\" % name)",
        "cursor.execute('select {}'.format(x))",
        "client.query(`select ${columns}`)",
        "await prisma.$queryRawUnsafe(`delete ${target}`)",
        "conn.execute(&format!(\"drop table {name}\"), [])?;",
        "sqlx::query(&format!(\"select {column}\")).fetch_all(&pool)",
        "db.QueryContext(ctx, \"select \"+column)",
        "db.Exec(fmt.Sprintf(\"insert into %s values (1)\", table))",
        "connection.createStatement().executeQuery(\"select name, \" + column);",
        "statement.executeUpdate(\"UPDATE \" + table + \" SET a = 1\");",
        "context.Users.FromSqlRaw($\"SELECT {columns}\")",
        "User.find_by_sql(\"select #{columns}\")",
        "User.where(\"name = '#{name}'\")",
        "try db.execute(\"delete from users where id = \\(id)\")",
        "snprintf(text, sizeof text, \"select a from t where id = '%s'\", id);",
    ] {
        assert!(is_risk("a.py", line), "{line}");
    }
    for path in ["a.php", "a.kt"] {
        assert!(is_risk(path, "db.query(\"select $column\")"), "{path}");
        assert!(is_risk(path, "val q = \"select a from t where id = $id\""), "{path}");
    }
    for line in [
        "subprocess.run(command, shell=False)",
        "cursor.execute(\"SELECT * FROM users WHERE name = %s\", (name,))",
        "cursor.execute(\"DELETE FROM users WHERE id = ?\", user)",
        "select = \"from\" + name",
        "evaluate(text)",
        "print('update the page' + name)",
        "print(f\"select {x}\")",
        "log.info(\"delete \" + name)",
        "document.querySelector(\"select \" + name)",
        "pool.execute(f\"job {name}\")",
        "db.query(\"select a from t where id = $id\", { id })",
        "db.execute(\"select %s\", (x,))",
        "conn.execute(\"drop table a\", [])?;",
        "User.where(name: name)",
        "executor.execute(() -> update(name + 1));",
    ] {
        assert!(!is_risk("a.py", line), "{line}");
    }
    assert!(!is_risk("README.md", "Never use shell=True."));
}

#[test]
fn code_without_tests_requires_existing_tests() {
    check(expect![[r#"
        > src/a.rs | +go(); | +stop();
        > with src/a.rs tests/it.rs
        code: lines that run changed in `src/a.rs`
        code_without_tests: `src/a.rs` changed, and no test did, of which there are some (`tests/it.rs`)
        More, 2 lines
        > src/a.rs | +go(); | +stop();
        > with src/a.rs
        code: lines that run changed in `src/a.rs`
        More, 2 lines
        > src/a.rs | +go(); | +#[test] | +fn works() {}
        > with src/a.rs tests/it.rs
        code: lines that run changed in `src/a.rs`
        tests: line 2 of `src/a.rs` is that of a test
        More, 3 lines
        > src/a.rs | +go(); | +stop();
        > tests/it.rs | +check();
        > with src/a.rs tests/it.rs
        code: lines that run changed in `src/a.rs`
        tests: `tests/it.rs` is a test
        More, 2 lines
    "#]]);
}

#[test]
fn migrations_and_schemas_are_found_by_path() {
    check(expect![[r#"
        > db/migrate/20260101000000_add_x.rb new | +add_column :a, :x | +end
        > db/schema.rb | +t.string x | +end
        code: lines that run changed in `db/migrate/20260101000000_add_x.rb`
        migrations: `db/migrate/20260101000000_add_x.rb` is a migration
        schema: `db/schema.rb` describes stored data
        structure: `db/migrate/20260101000000_add_x.rb` is new
        More, 4 lines
        > prisma/migrations/1_x/migration.sql new | +alter table a; | +commit;
        > prisma/schema.prisma | +x Int
        code: lines that run changed in `prisma/migrations/1_x/migration.sql`
        migrations: `prisma/migrations/1_x/migration.sql` is a migration
        schema: `prisma/schema.prisma` describes stored data
        structure: `prisma/migrations/1_x/migration.sql` is new
        More, 3 lines
        > alembic/versions/ab_x.py new | +op.add_column() | +op.x()
        code: lines that run changed in `alembic/versions/ab_x.py`
        migrations: `alembic/versions/ab_x.py` is a migration
        structure: `alembic/versions/ab_x.py` is new
        More, 2 lines
        > docs/migrations/how.md | +Words.
        > src/migrate/hosts.go | +go() | +stop()
        code: lines that run changed in `src/migrate/hosts.go`
        docs: `docs/migrations/how.md` is read by people
        More, 2 lines
    "#]]);
}

#[test]
fn public_api_is_route_contract_or_changed_signature() {
    check(expect![[r#"
        > api/v1.proto | +string x = 1; | +string y = 2;
        code: lines that run changed in `api/v1.proto`
        public_api: `api/v1.proto` is what others call
        More, 2 lines
        > app.py | +@app.route('/orders') | +def orders(): pass
        code: lines that run changed in `app.py`
        public_api: line 1 of `app.py` is a route
        More, 2 lines
        > src/lib.rs | -pub fn total(a: u32) -> u32 { | +pub fn total(a: u64) -> u64 { | +go()
        code: lines that run changed in `src/lib.rs`
        public_api: the public signature in line 1 of `src/lib.rs` before the change is another one
        More, 3 lines
        > src/lib.rs | -pub fn total() {} | +go(); | +    pub fn total() {}
        code: lines that run changed in `src/lib.rs`
        More, 3 lines
        > src/lib.rs | +pub fn more() {} | +pub fn most() {}
        code: lines that run changed in `src/lib.rs`
        More, 2 lines
        > a.py | -def _own(x): | +def _own(x, y): | +go()
        code: lines that run changed in `a.py`
        More, 3 lines
    "#]]);
}

#[test]
fn guard_is_found_by_path_or_changed_permission_check() {
    check(expect![[r#"
        > .github/workflows/ci.yml | +run: true
        guard: `.github/workflows/ci.yml` is run by CI
        OneLine, 0 lines
        > CODEOWNERS | -* @ops
        guard: `CODEOWNERS` says who has to agree to a change
        OneLine, 0 lines
        > web/jest.config.js | +x
        code: lines that run changed in `web/jest.config.js`
        guard: `web/jest.config.js` sets up the tests
        OneLine, 1 lines
        > src/auth/login.go | +go()
        code: lines that run changed in `src/auth/login.go`
        guard: `src/auth/login.go` decides who may do what
        OneLine, 1 lines
        > src/auth/README.md | +Words.
        docs: `src/auth/README.md` is read by people
        Prose, 0 lines
        > views.py | -@login_required
        code: lines that run changed in `views.py`
        guard: line 1 of `views.py` says `login_required`, which decides who may do what
        OneLine, 1 lines
        > views.py | +relogin_required()
        code: lines that run changed in `views.py`
        OneLine, 1 lines
    "#]]);
}

#[test]
fn frontend_and_cli_are_found_by_names() {
    check(expect![[r#"
        > ui/List.tsx | +<b/> | +<i/>
        code: lines that run changed in `ui/List.tsx`
        frontend: `ui/List.tsx` runs in a browser
        More, 2 lines
        > ui/list.ts | +window.addEventListener('x', f) | +go()
        code: lines that run changed in `ui/list.ts`
        frontend: line 1 of `ui/list.ts` says `addEventListener`, which browsers know
        More, 2 lines
        > server/list.ts | +listen() | +go()
        code: lines that run changed in `server/list.ts`
        More, 2 lines
        > tool.py | +parser.add_argument('--x') | +go()
        code: lines that run changed in `tool.py`
        cli: line 1 of `tool.py` is about arguments of a program
        More, 2 lines
        > src/cli/show.rs | +go(); | +stop();
        code: lines that run changed in `src/cli/show.rs`
        cli: `src/cli/show.rs` is a command line
        More, 2 lines
    "#]]);
}

#[test]
fn rails_requires_an_application_around_the_file() {
    check(expect![[r#"
        > app/models/a.rb | +go | +stop
        > with app/models/a.rb config/application.rb
        code: lines that run changed in `app/models/a.rb`
        rails: `app/models/a.rb` belongs to a Rails application
        More, 2 lines
        > shop/app/models/a.rb | +go | +stop
        > with shop/config/application.rb
        code: lines that run changed in `shop/app/models/a.rb`
        rails: `shop/app/models/a.rb` belongs to a Rails application
        More, 2 lines
        > app/models/a.rb | +go | +stop
        > with app/models/a.rb
        code: lines that run changed in `app/models/a.rb`
        More, 2 lines
        > tool/a.rb | +go | +stop
        > with config/application.rb
        code: lines that run changed in `tool/a.rb`
        More, 2 lines
    "#]]);
}

#[test]
fn new_user_feature_is_agent_surface_with_agent_tools() {
    check(expect![[r#"
        > app.py | +@app.route('/orders') | +def orders(): pass
        > with mcp/server.py
        code: lines that run changed in `app.py`
        public_api: line 1 of `app.py` is a route
        agent_surface: line 1 of `app.py` offers something new, and agents work with `mcp/server.py`
        More, 2 lines
        > app.py | +@app.route('/orders') | +def orders(): pass
        > with server.py
        code: lines that run changed in `app.py`
        public_api: line 1 of `app.py` is a route
        More, 2 lines
        > app.py | -parser.add_argument('--old') | +parser.add_argument('--new')
        > with mcp/server.py
        code: lines that run changed in `app.py`
        agent_surface: line 1 of `app.py` offers something new, and agents work with `mcp/server.py`
        cli: line 1 of `app.py` is about arguments of a program
        OneLine, 2 lines
        > app.py | +go() | +stop()
        > with mcp/server.py
        code: lines that run changed in `app.py`
        More, 2 lines
    "#]]);
}

#[test]
fn new_and_deleted_files_are_structural() {
    check(expect![[r#"
        > a.py new | +go() | +stop()
        code: lines that run changed in `a.py`
        structure: `a.py` is new
        More, 2 lines
        > a.py gone | -go() | -stop()
        code: lines that run changed in `a.py`
        deletions: `a.py` is gone
        More, 2 lines
    "#]]);
}

#[test]
fn many_new_lines_are_structural() {
    let lines: String = (0..100).map(|at| format!("  +go({at})\n")).collect();
    let change_facts = facts(&format!("a.py\n{lines}"), &[]);
    assert_eq!(change_facts.witness(ChangeFact::Structure), Some("100 lines that run are new"));
    let inputs = FactInputs { comments: 2, solutions: 1, ..FactInputs::default() };
    let change_facts = ChangeFacts::from_inputs(&[], &inputs);
    let fact_lines: Vec<String> =
        change_facts.with_evidence().map(|(fact, why)| format!("{fact}: {why}")).collect();
    assert_eq!(
        fact_lines,
        ["comments: there are 2 comments on the change", "solutions: `docs/solutions` has a file"]
    );
}

#[test]
fn gemfile_with_rails_makes_a_rails_application() {
    let (_folder, change) =
        sample::change_under_review(&sample::contents(diff("shop/lib/a.rb\n  +go\n  +stop\n")));
    let files = inputs::input_files(&change);
    let mut inputs = inputs::collect_inputs(&change, &files);
    assert!(!ChangeFacts::from_inputs(&files, &inputs).has(ChangeFact::Rails));
    inputs.rails_gemfiles = BTreeSet::from(["shop/".to_owned()]);
    assert!(ChangeFacts::from_inputs(&files, &inputs).has(ChangeFact::Rails));
}

#[test]
fn words_come_from_added_lines_in_scope() {
    let text = "a.py\n  +token = currentUser()\n  +# a password\nb.go\n  +select {\n  -secret()\ntests/test_a.py\n  +jwt()\n";
    let (_folder, change) = sample::change_under_review(&sample::contents(diff(text)));
    let facts = ChangeFacts::from_change(&change);
    assert_eq!(facts.witness(ChangeFact::Standards), Some("`AGENTS.md` holds for changed files"));
    assert_eq!((facts.lines(), facts.lines_in(&["go"])), (3, 2));
    let place = |word: &str, languages: &[&str]| facts.place_of(word, languages).map(str::to_owned);
    let first = Some("line 1 of `a.py`".to_owned());
    assert_eq!(place("token", &[]), first);
    assert_eq!(place("user", &["python"]), first);
    assert_eq!(place("currentuser", &[]), first);
    assert_eq!(place("select", &["python"]), None);
    assert_eq!(place("select", &["rust", "go"]), Some("line 1 of `b.go`".to_owned()));
    for word in ["password", "secret", "jwt"] {
        assert_eq!(place(word, &[]), None, "{word}");
    }
}

#[test]
fn moved_guard_is_still_a_guard() {
    let facts = facts("docs/ci.yml from .github/workflows/ci.yml\na.py\n  +x = 1\n", &[]);
    let guard = facts
        .with_evidence()
        .find(|(fact, _)| *fact == ChangeFact::Guard)
        .map(|it| it.1.to_owned());
    expect![[r#"
        Some(
            "`.github/workflows/ci.yml`, which is run by CI, is moved to `docs/ci.yml`",
        )
    "#]]
    .assert_debug_eq(&guard);
}
