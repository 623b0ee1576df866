use crate::testing::Fixture;

/// Findings as `path:line title`.
fn findings(fixture: &str) -> Vec<String> {
    let returned = Fixture::new(fixture).with(super::review);
    let findings = returned.findings.into_iter().map(|it| it.finding);
    findings
        .map(|it| {
            let line = it.line_start.map_or(0, u32::from);
            let side = if it.side.is_some() { " before" } else { "" };
            format!("{}:{line}{side} {}", it.file, it.title)
        })
        .collect()
}

#[track_caller]
fn check(fixture: &str, expected: &[&str]) {
    assert_eq!(findings(fixture), expected, "{fixture}");
}

/// Changes one manifest and leaves the other files.
#[track_caller]
fn check_manifest(path: &str, around: &str, old: &str, new: &str, expected: &[&str]) {
    check(&format!("{around}//- {path}\n{old}\n//- head\n//- {path}\n{new}\n"), expected);
}

const NPM_LOCK: &str = "//- package-lock.json\n{\"lockfileVersion\": 3, \"packages\": {\n\"\": {\"dependencies\": {\"a\": \"^1.0.0\"}},\n\"node_modules/a\": {\"version\": \"1.5.0\"},\n\"packages/x\": {\"dependencies\": {\"a\": \"^1.0.0\"}}}}\n";
const NPM: &str = "{\"name\": \"me\",\n\"dependencies\": {\n\"a\": \"^1.0.0\"\n}}";

#[test]
fn stale_npm_lock_file_is_reported() {
    let added = NPM.replace("\n}}", ",\n\"b\": \"^2.0.0\"\n}}");
    let lock = |name: &str, text: &str| format!("//- {name}\n{text}\n");
    let yarn = "a@^1.0.0:\n  version \"1.5.0\"\n";
    let pnpm = "importers:\n\n  .:\n    dependencies:\n      a:\n        specifier: ^1.0.0\n        version: 1.5.0\n";
    for (name, text) in [
        ("package-lock.json", NPM_LOCK.split_once('\n').unwrap().1),
        ("yarn.lock", yarn),
        ("pnpm-lock.yaml", pnpm),
        ("bun.lock", "{\"workspaces\": {\"\": {\"dependencies\": {\n\"a\": \"^1.0.0\",\n}}}}"),
    ] {
        let around = lock(name, text);
        let title = |what: &str| format!("{what} in `package.json` but not in `{name}`");
        check_manifest(
            "package.json",
            &around,
            NPM,
            &added,
            &[&format!("package.json:4 {}", title("`b` is added"))],
        );
        let bumped = NPM.replace("^1.0.0", "^2.0.0");
        check_manifest(
            "package.json",
            &around,
            NPM,
            &bumped,
            &[&format!("package.json:3 {}", title("`a` is changed"))],
        );
        let removed = "{\"name\": \"me\",\n\"dependencies\": {\n}}";
        check_manifest(
            "package.json",
            &around,
            NPM,
            removed,
            &[&format!("package.json:3 before {}", title("`a` is removed"))],
        );
        let dev = NPM.replace("\n}}", "\n},\n\"devDependencies\": {\"c\": \"1\"}}");
        check_manifest(
            "package.json",
            &around,
            NPM,
            &dev,
            &[&format!("package.json:5 {}", title("`c` is added"))],
        );
        // No locked dependency changes.
        let script =
            NPM.replace("\"me\"", "\"me\", \"version\": \"2.0.0\", \"scripts\": {\"b\": \"c\"}");
        check_manifest("package.json", &around, NPM, &script, &[]);
        let peer = NPM.replace("\n}}", "\n},\n\"peerDependencies\": {\"c\": \"1\"}}");
        check_manifest("package.json", &around, NPM, &peer, &[]);
        let linked = NPM.replace("\n}}", ",\n\"b\": \"workspace:*\"\n}}");
        check_manifest("package.json", &around, NPM, &linked, &[]);
        // The lock file changes too, or already contains it.
        check(
            &format!(
                "{around}//- package.json\n{NPM}\n//- head\n//- package.json\n{added}\n//- {name}\nnew\n"
            ),
            &[],
        );
        check_manifest("package.json", &around, &NPM.replace("^1.0.0", "^0.9.0"), NPM, &[]);
    }
    check_manifest("package.json", "", NPM, &added, &[]);
}

#[test]
fn parent_lock_file_covers_only_its_members() {
    let added = NPM.replace("\n}}", ",\n\"b\": \"^2.0.0\"\n}}");
    let title = "`b` is added in `package.json` but not in `package-lock.json`";
    check_manifest(
        "packages/x/package.json",
        NPM_LOCK,
        NPM,
        &added,
        &[&format!("packages/x/package.json:4 {title}")],
    );
    check_manifest("examples/y/package.json", NPM_LOCK, NPM, &added, &[]);
    // Packages of the same repository are not locked.
    let own = "//- packages/b/package.json\n{\"name\": \"b\"}\n";
    check_manifest("packages/x/package.json", &format!("{NPM_LOCK}{own}"), NPM, &added, &[]);
    let yarn = "//- yarn.lock\na@^1.0.0:\n  version \"1.5.0\"\n//- package.json\n{\"workspaces\": [\"packages/*\"]}\n";
    let title = "`b` is added in `package.json` but not in `yarn.lock`";
    check_manifest(
        "packages/x/package.json",
        yarn,
        NPM,
        &added,
        &[&format!("packages/x/package.json:4 {title}")],
    );
    check_manifest("other/x/package.json", yarn, NPM, &added, &[]);
}

const CARGO_LOCK: &str = "//- Cargo.lock\nversion = 4\n[[package]]\nname = \"me\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n[[package]]\nname = \"a\"\nversion = \"1.5.0\"\nsource = \"registry\"\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"registry\"\n";
const CARGO: &str = "[package]\nname = \"me\"\n[dependencies]\na = \"1\"";

#[test]
fn stale_cargo_lock_file_is_reported() {
    let check = |path: &str, new: &str, expected: &[&str]| {
        check_manifest(path, CARGO_LOCK, CARGO, new, expected);
    };
    let title = |what: &str| format!("{what} in `Cargo.toml` but not in `Cargo.lock`");
    let with = |more: &str| format!("{CARGO}\n{more}");
    check("Cargo.toml", &with("c = \"1\""), &[&format!("Cargo.toml:5 {}", title("`c` is added"))]);
    check(
        "crates/me/Cargo.toml",
        &with("b = \"2\""),
        &[&format!("crates/me/Cargo.toml:5 {}", title("`b` is added"))],
    );
    check(
        "Cargo.toml",
        &with("[dev-dependencies]\nc = { version = \"1\" }"),
        &[&format!("Cargo.toml:6 {}", title("`c` is added"))],
    );
    check(
        "Cargo.toml",
        &with("[target.'cfg(unix)'.dependencies]\nc = \"1\""),
        &[&format!("Cargo.toml:6 {}", title("`c` is added"))],
    );
    check(
        "Cargo.toml",
        &CARGO.replace("\"1\"", "\"2\""),
        &[&format!("Cargo.toml:4 {}", title("`a` is changed"))],
    );
    check(
        "Cargo.toml",
        &with("[workspace.dependencies]\nb = \"3\""),
        &[&format!("Cargo.toml:6 {}", title("`b` is added"))],
    );
    check(
        "Cargo.toml",
        "[package]\nname = \"me\"\n[dependencies]",
        &[&format!("Cargo.toml:4 before {}", title("`a` is removed"))],
    );
    for new in [
        CARGO.replace("\"1\"", "\"1.2\""),
        CARGO.replace("\"1\"", "{ version = \"1\", features = [\"x\"] }"),
        with("[features]\nx = []"),
        with("[dev-dependencies]\na = \"1.1\""),
        with("[workspace.dependencies]\nb = \"2\"\nunused = \"1\""),
    ] {
        check("Cargo.toml", &new, &[]);
    }
    // It is outside of the workspace and not in the lock file at all.
    check_manifest(
        "fuzz/Cargo.toml",
        CARGO_LOCK,
        &CARGO.replace("me", "fuzz"),
        &with("c = \"1\"").replace("me", "fuzz"),
        &[],
    );
}

#[test]
fn stale_uv_lock_file_is_reported() {
    let project = "[project]\nname = \"me\"\ndependencies = [\n  \"foo>=1\",\n]";
    let added = project.replace("\n]", "\n  \"Bar_baz>=2,<3\",\n]");
    let uv = "[[package]]\nname = \"me\"\n[package.metadata]\nrequires-dist = [\n    { name = \"foo\", specifier = \">=1\" },\n    { name = \"own\", editable = \"../own\" },\n]\n";
    for lock in ["uv.lock", "poetry.lock", "pdm.lock"] {
        let around = format!("//- lib/{lock}\n{uv}");
        let title = |what: &str| format!("{what} in `pyproject.toml` but not in `{lock}`");
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &added,
            &[&format!("lib/pyproject.toml:5 {}", title("`bar-baz` is added"))],
        );
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &project.replace(">=1", ">=1.2"),
            &[&format!("lib/pyproject.toml:4 {}", title("`foo` is changed"))],
        );
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &project.replace("\n  \"foo>=1\",", ""),
            &[&format!("lib/pyproject.toml:4 before {}", title("`foo` is removed"))],
        );
        let group = format!("{project}\n[dependency-groups]\ntest = [\"pytest\"]");
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &group,
            &[&format!("lib/pyproject.toml:7 {}", title("`pytest` is added"))],
        );
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &project.replace("foo>=1", "foo >= 1"),
            &[],
        );
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &format!("{project}\n[tool.ruff]\nx = 1\n[build-system]\nrequires = [\"hatchling\"]"),
            &[],
        );
        check_manifest(
            "lib/pyproject.toml",
            &around,
            project,
            &project.replace("\"me\"", "\"me\"\nversion = \"2\""),
            &[],
        );
        check_manifest("other/pyproject.toml", &around, project, &added, &[]);
    }
    let own = project.replace("\n]", "\n  \"own>=2\",\n]");
    check_manifest("pyproject.toml", &format!("//- uv.lock\n{uv}"), project, &own, &[]);
}

#[test]
fn stale_poetry_and_pipenv_lock_files_are_reported() {
    let poetry = "[tool.poetry.dependencies]\npython = \"^3.9\"";
    let title = "`requests` is added in `pyproject.toml` but not in `poetry.lock`";
    check_manifest(
        "pyproject.toml",
        "//- poetry.lock\nx\n",
        poetry,
        &format!("{poetry}\nrequests = \"^2\""),
        &[&format!("pyproject.toml:3 {title}")],
    );
    let title = "`pytest` is added in `pyproject.toml` but not in `poetry.lock`";
    check_manifest(
        "pyproject.toml",
        "//- poetry.lock\nx\n",
        poetry,
        &format!("{poetry}\n[tool.poetry.group.dev.dependencies]\npytest = \"*\""),
        &[&format!("pyproject.toml:4 {title}")],
    );
    let title = "`requests` is added in `Pipfile` but not in `Pipfile.lock`";
    check_manifest(
        "Pipfile",
        "//- Pipfile.lock\n{}\n",
        "[packages]",
        "[packages]\nrequests = \"*\"",
        &[&format!("Pipfile:2 {title}")],
    );
}

#[test]
fn stale_ruby_php_and_go_lock_files_are_reported() {
    let lock = "//- Gemfile.lock\nGEM\n  specs:\n    rails (7.1.0)\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  rails (~> 7.0)\n  mine!\n\nBUNDLED WITH\n   2.4\n";
    let gemfile = "source \"x\"\ngem \"rails\", \"~> 7.0\"\ngem \"mine\", path: \"m\"";
    let check_gem =
        |new: &str, expected: &[&str]| check_manifest("Gemfile", lock, gemfile, new, expected);
    let title = "in `Gemfile` but not in `Gemfile.lock`";
    check_gem(
        &format!("{gemfile}\ngem 'puma', '>= 5'"),
        &[&format!("Gemfile:4 `puma` is added {title}")],
    );
    check_gem(
        &gemfile.replace("~> 7.0", "~> 8.0"),
        &[&format!("Gemfile:2 `rails` is changed {title}")],
    );
    check_gem(
        "source \"x\"\ngem \"mine\", path: \"m\"",
        &[&format!("Gemfile:2 before `rails` is removed {title}")],
    );
    check_gem(
        &format!("{gemfile}\ngroup :test do\n  gem 'rspec'\nend"),
        &[&format!("Gemfile:5 `rspec` is added {title}")],
    );
    check_gem(&gemfile.replace("\"~> 7.0\"", "\"~> 7.0\", require: false"), &[]);
    check_gem(&format!("{gemfile}\n# gem 'puma'\nruby '3'"), &[]);
    check_gem(&format!("{gemfile}\ngem 'x' if ENV['X']"), &[]);

    let composer = "{\"require\": {\n\"php\": \">=8\"\n}}";
    let title = "in `composer.json` but not in `composer.lock`";
    check_manifest(
        "composer.json",
        "//- composer.lock\n{}\n",
        composer,
        "{\"require\": {\n\"php\": \">=8\",\n\"a/b\": \"^1\"\n}}",
        &[&format!("composer.json:3 `a/b` is added {title}")],
    );
    check_manifest(
        "composer.json",
        "//- composer.lock\n{}\n",
        composer,
        "{\"require\": {\n\"php\": \">=8.1\"\n}}",
        &[],
    );

    let sum = "//- go.sum\nx.org/a v1.0.0 h1:x=\nx.org/a v1.0.0/go.mod h1:x=\n";
    let module = "module x.org/me\n\nrequire (\n\tx.org/a v1.0.0\n)";
    let check_go =
        |new: &str, expected: &[&str]| check_manifest("go.mod", sum, module, new, expected);
    let title = "in `go.mod` but not in `go.sum`";
    check_go(
        &module.replace("\n)", "\n\tx.org/b v0.1.0 // indirect\n)"),
        &[&format!("go.mod:5 `x.org/b` is added {title}")],
    );
    check_go(
        &format!("{module}\nrequire x.org/b v0.1.0"),
        &[&format!("go.mod:6 `x.org/b` is added {title}")],
    );
    check_go(
        &module.replace("v1.0.0", "v1.1.0"),
        &[&format!("go.mod:4 `x.org/a` is changed {title}")],
    );
    check_go("module x.org/me\n\ngo 1.22", &[]);
    check_go(&format!("{module}\nrequire x.org/b v0.1.0\nreplace x.org/b => ../b"), &[]);
    let both = format!(
        "{sum}//- go.mod\n{module}\n//- head\n//- go.mod\n{module}\nrequire x.org/b v0.1.0\n//- go.sum\nx.org/a v1.0.0/go.mod h1:x=\nx.org/b v0.1.0/go.mod h1:x=\n"
    );
    check(&both, &[]);
}

const SCHEMA: &str = "ActiveRecord::Schema[7.1].define(version: 2024_01_01_000000) do\n  create_table \"users\", force: :cascade do |t|\n    t.string \"name\"\n    t.index [\"name\"], name: \"index_users_on_name\"\n  end\nend\n";

fn migration(body: &str) -> String {
    format!("class X < ActiveRecord::Migration[7.1]\n  def change\n    {body}\n  end\nend\n")
}

#[test]
fn migration_missing_from_schema_is_reported() {
    let add = migration("add_column :users, :email, :string");
    let path = "db/migrate/20240202000000_x.rb";
    let expected = format!("{path}:3 The migration is missing from `schema.rb`");
    check(&format!("//- db/schema.rb\n{SCHEMA}//- head\n//- {path}\n{add}"), &[&expected]);
    // Older than the schema, but not in it.
    let old = "db/migrate/20230202000000_x.rb";
    check(
        &format!("//- db/schema.rb\n{SCHEMA}//- head\n//- {old}\n{add}"),
        &[&expected.replace(path, old)],
    );
    let table = migration("create_table :things do |t|\n      t.string :x\n    end");
    check(
        &format!("//- db/schema.rb\n{SCHEMA}//- head\n//- {old}\n{table}"),
        &[&expected.replace(path, old)],
    );
    let structure = "//- db/structure.sql\nINSERT INTO \"schema_migrations\" (version) VALUES\n('20240101000000');\n";
    check(
        &format!("{structure}//- head\n//- {path}\n{add}"),
        &[&expected.replace("schema.rb", "structure.sql")],
    );

    let schema = SCHEMA
        .replace("2024_01_01", "2024_02_02")
        .replace("\n    t.index", "\n    t.string \"email\"\n    t.index");
    check(
        &format!("//- db/schema.rb\n{SCHEMA}//- head\n//- {path}\n{add}//- db/schema.rb\n{schema}"),
        &[],
    );
    check(&format!("//- head\n//- {path}\n{add}"), &[]);
    let data = migration("User.update_all(name: 'x')");
    check(&format!("//- db/schema.rb\n{SCHEMA}//- head\n//- {old}\n{data}"), &[]);
    check(
        &format!("//- spec/dummy/db/schema.rb\n{SCHEMA}//- head\n//- spec/dummy/{path}\n{add}"),
        &[],
    );
    check(&format!("//- db/structure.sql\nCREATE TABLE x;\n//- head\n//- {path}\n{add}"), &[]);
}

#[test]
fn schema_object_without_migration_is_reported() {
    let path = "db/migrate/20240202000000_x.rb";
    let version = SCHEMA.replace("2024_01_01", "2024_02_02");
    let column = version.replace("\n    t.index", "\n    t.string \"email\"\n    t.index");
    let table = version
        .replace("\nend\n", "\n  create_table \"things\" do |t|\n    t.string \"x\"\n  end\nend\n");
    let index =
        version.replace("\n  end", "\n    t.index [\"x\"], name: \"index_users_on_x\"\n  end");
    let check = |body: Option<&str>, schema: &str, expected: &[&str]| {
        let migration =
            body.map(|body| format!("//- {path}\n{}", migration(body))).unwrap_or_default();
        check(
            &format!("//- db/schema.rb\n{SCHEMA}//- head\n{migration}//- db/schema.rb\n{schema}"),
            expected,
        );
    };
    let no_column = "db/schema.rb:4 No migration creates the column `users.email`";
    let no_table = "db/schema.rb:6 No migration creates the table `things`";
    check(Some("add_column :users, :age, :integer"), &column, &[no_column]);
    check(None, &column, &[no_column]);
    check(None, &table, &[no_table]);
    check(Some("add_column :users, :age, :integer"), &table, &[no_table]);
    check(
        Some("add_column :users, :age, :integer"),
        &index,
        &["db/schema.rb:5 No migration creates the index `index_users_on_x`"],
    );

    check(Some("add_column :users, :email, :string"), &column, &[]);
    check(Some("change_table :users do |t|\n      t.string :email\n    end"), &column, &[]);
    check(Some("create_table :things do |t|\n      t.string :x\n    end"), &table, &[]);
    check(Some("add_index :users, :x"), &index, &[]);
    check(Some("execute 'ALTER TABLE'"), &column, &[]);
    check(None, &version, &[]);
    check(
        Some("add_reference :users, :team"),
        &version.replace("\n    t.index", "\n    t.bigint \"team_id\"\n    t.index"),
        &[],
    );
    check(
        Some("add_timestamps :users"),
        &version.replace("\n    t.index", "\n    t.datetime \"created_at\"\n    t.index"),
        &[],
    );
    // The schema only catches up with an older migration.
    let earlier = format!("//- {path}\n{}", migration("add_column :users, :email, :string"));
    self::check(
        &format!("{earlier}//- db/schema.rb\n{SCHEMA}//- head\n//- db/schema.rb\n{column}"),
        &[],
    );
}

#[test]
fn prisma_column_without_migration_is_reported() {
    let schema = "datasource db {\n  provider = \"postgresql\"\n}\nmodel User {\n  id Int @id\n  posts Post[]\n}\n";
    let around = format!(
        "//- prisma/migrations/1_init/migration.sql\nx\n//- prisma/schema.prisma\n{schema}"
    );
    let with = |line: &str| schema.replace("\n  posts", &format!("\n  {line}\n  posts"));
    let check = |new: &str, more: &str, expected: &[&str]| {
        check(&format!("{around}//- head\n//- prisma/schema.prisma\n{new}{more}"), expected);
    };
    check(
        &with("email String?"),
        "",
        &["prisma/schema.prisma:6 No migration creates the column `User.email`"],
    );
    check(&with("email String?"), "//- prisma/migrations/2_x/migration.sql\nx\n", &[]);
    check(&with("team Team"), "", &[]);
    check(&with("// email String"), "", &[]);
    check(&schema.replace("id Int", "key Int @map(\"id\")"), "", &[]);
}

#[test]
fn deleted_test_of_remaining_file_is_reported() {
    for (test, subject) in [
        ("tests/test_orders.py", "shop/orders.py"),
        ("shop/orders_test.py", "shop/orders.py"),
        ("src/orders.test.ts", "src/orders.ts"),
        ("src/orders.spec.tsx", "src/orders.tsx"),
        ("src/__tests__/orders.ts", "src/orders.ts"),
        ("src/__tests__/orders.spec.js", "src/orders.js"),
        ("pkg/orders_test.go", "pkg/orders.go"),
        ("spec/models/orders_spec.rb", "app/models/orders.rb"),
        ("test/orders_test.rb", "lib/orders.rb"),
        ("test/test_orders.rb", "lib/orders.rb"),
        ("src/test/java/a/OrdersTest.java", "src/main/java/a/Orders.java"),
        ("src/test/java/a/OrdersTests.java", "src/main/java/a/Orders.java"),
    ] {
        let body = "import something\n\ndef test_one_thing():\n    assert one() == 1\n";
        let around = format!("//- {subject}\nthe subject itself\n//- {test}\n{body}");
        let name = subject.rsplit('/').next().unwrap();
        let expected = format!("{test}:3 before Tests of `{name}` are deleted while it stays");
        check(&format!("{around}//- head\n//- {test} deleted\n"), &[&expected]);
        // Deleted with its subject, moved, rewritten in another language, or replaced by another
        // test.
        check(&format!("{around}//- head\n//- {test} deleted\n//- {subject} deleted\n"), &[]);
        check(&format!("{around}//- head\n//- {test} deleted\n//- e2e/all.txt\n{body}"), &[]);
        // In another package.
        let far = format!("//- one/{subject}\nthe subject\n//- two/{test}\n{body}");
        if test.contains("test/") || test.contains("tests/") || test.contains("spec/") {
            check(&format!("{far}//- head\n//- two/{test} deleted\n"), &[]);
        }
        let (_, file) = test.rsplit_once('/').unwrap();
        // A Go test is beside its subject; one elsewhere tests something else.
        if !test.ends_with(".go") {
            check(
                &format!("{around}//- other/__tests__/{file}\nx\n//- head\n//- {test} deleted\n"),
                &[],
            );
        }
        check(&format!("{around}//- head\n//- other/__tests__/{file} from {test}\n{body}"), &[]);
    }
}

#[test]
fn test_subject_is_the_file_with_similar_folders() {
    let files = "//- app/models/user.rb\nthe subject itself\n//- lib/user.rb\nanother one\n//- app/views/models/user.rb\na third one\n";
    let test = "spec/models/user_spec.rb";
    let body = "describe User do\n";
    let deleted = |files: &str, test: &str| {
        findings(&format!("{files}//- {test}\n{body}//- head\n//- {test} deleted\n"))
    };
    assert_eq!(deleted(files, test), [""; 0], "two are in a folder of that name");
    let expected =
        ["spec/app/models/user_spec.rb:1 before Tests of `user.rb` are deleted while it stays"];
    assert_eq!(deleted(files, "spec/app/models/user_spec.rb"), expected);
    // A remaining test covers the same file, or another file of that name.
    let same = format!("{files}//- test/app/models/user_test.rb\nx\n");
    assert_eq!(deleted(&same, "spec/app/models/user_spec.rb"), [""; 0]);
    let other = format!("{files}//- lib/user_test.rb\nx\n");
    assert_eq!(deleted(&other, "spec/app/models/user_spec.rb"), expected);
}

#[test]
fn number_of_prisma_schemas_is_limited() {
    let (mut base, mut head) = (String::new(), String::new());
    for at in 0..30 {
        base += &format!("//- s{at:02}/migrations/1/migration.sql\nx\n");
        base += &format!("//- s{at:02}/schema.prisma\nmodel A {{\n  id Int @id\n}}\n");
        head += &format!("//- s{at:02}/schema.prisma\nmodel A {{\n  id Int @id\n  b Int\n}}\n");
    }
    let returned = Fixture::new(&format!("{base}//- head\n{head}")).with(super::review);
    assert_eq!(returned.findings.len(), 20);
    assert_eq!(returned.notes, ["10 more Prisma schemas were not compared with their migrations"]);
}

#[test]
fn unreadable_files_are_noted() {
    let added = NPM.replace("\n}}", ",\n\"b\": \"^2.0.0\"\n}}");
    let fixture =
        format!("{NPM_LOCK}//- package.json\n{NPM}\n//- head\n//- package.json\n{added}\n");
    let fixture = Fixture::new(&fixture).with_unreadable("package.json");
    let returned = fixture.with(super::review);
    assert_eq!(returned.notes, ["1 file cannot be read and was not compared"]);
}

#[test]
fn test_rewritten_in_another_language_is_not_reported() {
    let around = "//- src/main/a/Orders.kt\nthe subject itself\n//- src/test/a/OrdersTest.java\n@Test public void one() {}\n";
    let head = "//- head\n//- src/test/a/OrdersTest.java deleted\n//- src/test/a/OrdersTest.kt\n@Test fun one() {}\n";
    check(&format!("{around}{head}"), &[]);
}

#[test]
fn deleted_test_without_subject_is_not_reported() {
    let check = |paths: &[&str], test: &str| {
        let around: String =
            paths.iter().map(|path| format!("//- {path}\nthe subject itself\n")).collect();
        check(
            &format!("{around}//- {test}\nimport something\n//- head\n//- {test} deleted\n"),
            &[],
        );
    };
    check(&["shop/other.py"], "tests/test_orders.py");
    check(&["a/utils.py", "b/utils.py"], "tests/test_utils.py");
    check(&["other/orders.go"], "pkg/orders_test.go");
    check(&["shop/orders.py"], "tests/orders.py");
    check(&["tests/orders.py"], "spec/test_orders.py");
}
