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

/// A manifest whose lock file stays the same.
struct LockedManifest<'a> {
    path: &'a str,
    old: &'a str,
    lock: &'a str,
    /// The other files of the repository, with the lock file.
    around: &'a str,
}

impl LockedManifest<'_> {
    /// Checks that a change is reported: `finding` is the line and what happens to the dependency.
    #[track_caller]
    fn reports(&self, new: &str, finding: &str) {
        let manifest = self.path.rsplit('/').next().unwrap();
        let title = format!("{finding} in `{manifest}` but not in `{}`", self.lock);
        let expected = format!("{}:{title}", self.path);
        check_manifest(self.path, self.around, self.old, new, &[&expected]);
    }

    #[track_caller]
    fn is_silent(&self, new: &str) {
        check_manifest(self.path, self.around, self.old, new, &[]);
    }
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
        let npm = LockedManifest { path: "package.json", old: NPM, lock: name, around: &around };
        npm.reports(&added, "4 `b` is added");
        npm.reports(&NPM.replace("^1.0.0", "^2.0.0"), "3 `a` is changed");
        npm.reports("{\"name\": \"me\",\n\"dependencies\": {\n}}", "3 before `a` is removed");
        let dev = NPM.replace("\n}}", "\n},\n\"devDependencies\": {\"c\": \"1\"}}");
        npm.reports(&dev, "5 `c` is added");
        // No locked dependency changes.
        let script =
            NPM.replace("\"me\"", "\"me\", \"version\": \"2.0.0\", \"scripts\": {\"b\": \"c\"}");
        npm.is_silent(&script);
        npm.is_silent(&NPM.replace("\n}}", "\n},\n\"peerDependencies\": {\"c\": \"1\"}}"));
        npm.is_silent(&NPM.replace("\n}}", ",\n\"b\": \"workspace:*\"\n}}"));
        // The lock file changes too, or already contains the change.
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
    let (path, lock) = ("packages/x/package.json", "package-lock.json");
    let npm = LockedManifest { path, old: NPM, lock, around: NPM_LOCK };
    npm.reports(&added, "4 `b` is added");
    LockedManifest { path: "examples/y/package.json", ..npm }.is_silent(&added);
    // Packages of the same repository are not locked.
    let own = format!("{NPM_LOCK}//- packages/b/package.json\n{{\"name\": \"b\"}}\n");
    LockedManifest { around: &own, ..npm }.is_silent(&added);
    let around = "//- yarn.lock\na@^1.0.0:\n  version \"1.5.0\"\n//- package.json\n{\"workspaces\": [\"packages/*\"]}\n";
    let yarn = LockedManifest { lock: "yarn.lock", around, ..npm };
    yarn.reports(&added, "4 `b` is added");
    LockedManifest { path: "other/x/package.json", ..yarn }.is_silent(&added);
}

const CARGO_LOCK: &str = "//- Cargo.lock\nversion = 4\n[[package]]\nname = \"me\"\nversion = \"0.1.0\"\ndependencies = [\n \"a\",\n]\n[[package]]\nname = \"a\"\nversion = \"1.5.0\"\nsource = \"registry\"\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"registry\"\n";
const CARGO: &str = "[package]\nname = \"me\"\n[dependencies]\na = \"1\"";

#[test]
fn stale_cargo_lock_file_is_reported() {
    let cargo =
        LockedManifest { path: "Cargo.toml", old: CARGO, lock: "Cargo.lock", around: CARGO_LOCK };
    let with = |more: &str| format!("{CARGO}\n{more}");
    cargo.reports(&with("c = \"1\""), "5 `c` is added");
    let member = LockedManifest { path: "crates/me/Cargo.toml", ..cargo };
    member.reports(&with("b = \"2\""), "5 `b` is added");
    cargo.reports(&with("[dev-dependencies]\nc = { version = \"1\" }"), "6 `c` is added");
    cargo.reports(&with("[target.'cfg(unix)'.dependencies]\nc = \"1\""), "6 `c` is added");
    cargo.reports(&CARGO.replace("\"1\"", "\"2\""), "4 `a` is changed");
    cargo.reports(&with("[workspace.dependencies]\nb = \"3\""), "6 `b` is added");
    cargo.reports("[package]\nname = \"me\"\n[dependencies]", "4 before `a` is removed");
    for new in [
        CARGO.replace("\"1\"", "\"1.2\""),
        CARGO.replace("\"1\"", "{ version = \"1\", features = [\"x\"] }"),
        with("[features]\nx = []"),
        with("[dev-dependencies]\na = \"1.1\""),
        with("[workspace.dependencies]\nb = \"2\"\nunused = \"1\""),
    ] {
        cargo.is_silent(&new);
    }
    // The package is outside of the workspace and not in the lock file at all.
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
        let path = "lib/pyproject.toml";
        let python = LockedManifest { path, old: project, lock, around: &around };
        python.reports(&added, "5 `bar-baz` is added");
        python.reports(&project.replace(">=1", ">=1.2"), "4 `foo` is changed");
        python.reports(&project.replace("\n  \"foo>=1\",", ""), "4 before `foo` is removed");
        let group = format!("{project}\n[dependency-groups]\ntest = [\"pytest\"]");
        python.reports(&group, "7 `pytest` is added");
        python.is_silent(&project.replace("foo>=1", "foo >= 1"));
        let tools = "[tool.ruff]\nx = 1\n[build-system]\nrequires = [\"hatchling\"]";
        python.is_silent(&format!("{project}\n{tools}"));
        python.is_silent(&project.replace("\"me\"", "\"me\"\nversion = \"2\""));
        LockedManifest { path: "other/pyproject.toml", ..python }.is_silent(&added);
    }
    let own = project.replace("\n]", "\n  \"own>=2\",\n]");
    check_manifest("pyproject.toml", &format!("//- uv.lock\n{uv}"), project, &own, &[]);
}

#[test]
fn stale_poetry_and_pipenv_lock_files_are_reported() {
    let old = "[tool.poetry.dependencies]\npython = \"^3.9\"";
    let (path, lock, around) = ("pyproject.toml", "poetry.lock", "//- poetry.lock\nx\n");
    let poetry = LockedManifest { path, old, lock, around };
    poetry.reports(&format!("{old}\nrequests = \"^2\""), "3 `requests` is added");
    let group = "[tool.poetry.group.dev.dependencies]\npytest = \"*\"";
    poetry.reports(&format!("{old}\n{group}"), "4 `pytest` is added");
    let (path, lock, around) = ("Pipfile", "Pipfile.lock", "//- Pipfile.lock\n{}\n");
    let pipenv = LockedManifest { path, old: "[packages]", lock, around };
    pipenv.reports("[packages]\nrequests = \"*\"", "2 `requests` is added");
}

#[test]
fn stale_ruby_php_and_go_lock_files_are_reported() {
    let around = "//- Gemfile.lock\nGEM\n  specs:\n    rails (7.1.0)\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  rails (~> 7.0)\n  mine!\n\nBUNDLED WITH\n   2.4\n";
    let gemfile = "source \"x\"\ngem \"rails\", \"~> 7.0\"\ngem \"mine\", path: \"m\"";
    let ruby = LockedManifest { path: "Gemfile", old: gemfile, lock: "Gemfile.lock", around };
    ruby.reports(&format!("{gemfile}\ngem 'puma', '>= 5'"), "4 `puma` is added");
    ruby.reports(&gemfile.replace("~> 7.0", "~> 8.0"), "2 `rails` is changed");
    ruby.reports("source \"x\"\ngem \"mine\", path: \"m\"", "2 before `rails` is removed");
    let group = "group :test do\n  gem 'rspec'\nend";
    ruby.reports(&format!("{gemfile}\n{group}"), "5 `rspec` is added");
    ruby.is_silent(&gemfile.replace("\"~> 7.0\"", "\"~> 7.0\", require: false"));
    ruby.is_silent(&format!("{gemfile}\n# gem 'puma'\nruby '3'"));
    ruby.is_silent(&format!("{gemfile}\ngem 'x' if ENV['X']"));

    let old = "{\"require\": {\n\"php\": \">=8\"\n}}";
    let (path, lock, around) = ("composer.json", "composer.lock", "//- composer.lock\n{}\n");
    let php = LockedManifest { path, old, lock, around };
    let added = "{\"require\": {\n\"php\": \">=8\",\n\"a/b\": \"^1\"\n}}";
    php.reports(added, "3 `a/b` is added");
    php.is_silent("{\"require\": {\n\"php\": \">=8.1\"\n}}");

    let sum = "//- go.sum\nx.org/a v1.0.0 h1:x=\nx.org/a v1.0.0/go.mod h1:x=\n";
    let module = "module x.org/me\n\nrequire (\n\tx.org/a v1.0.0\n)";
    let go = LockedManifest { path: "go.mod", old: module, lock: "go.sum", around: sum };
    let indirect = module.replace("\n)", "\n\tx.org/b v0.1.0 // indirect\n)");
    go.reports(&indirect, "5 `x.org/b` is added");
    go.reports(&format!("{module}\nrequire x.org/b v0.1.0"), "6 `x.org/b` is added");
    go.reports(&module.replace("v1.0.0", "v1.1.0"), "4 `x.org/a` is changed");
    go.is_silent("module x.org/me\n\ngo 1.22");
    go.is_silent(&format!("{module}\nrequire x.org/b v0.1.0\nreplace x.org/b => ../b"));
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
    // A migration that is older than the schema, but missing from it.
    let old = "db/migrate/20230202000000_x.rb";
    check(
        &format!("//- db/schema.rb\n{SCHEMA}//- head\n//- {old}\n{add}"),
        &[&expected.replace(path, old)],
    );
    let moved = format!("//- {path} from drafts/x.rb\n{add}");
    check(
        &format!("//- db/schema.rb\n{SCHEMA}//- drafts/x.rb\n{add}//- head\n{moved}"),
        &[&expected],
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
fn number_of_rails_schemas_and_migrations_is_limited() {
    let (mut base, mut head) = (String::new(), String::new());
    let schema = SCHEMA.replace("\n    t.index", "\n    t.string \"email\"\n    t.index");
    for at in 0..30 {
        base += &format!("//- s{at:02}/db/schema.rb\n{SCHEMA}");
        head += &format!("//- s{at:02}/db/schema.rb\n{schema}");
    }
    let returned = Fixture::new(&format!("{base}//- head\n{head}")).with(super::review);
    assert_eq!(returned.findings.len(), 20);
    assert_eq!(returned.notes, ["10 more `schema.rb` files were not compared with the migrations"]);

    let data = migration("User.update_all(name: 'x')");
    let head: String = (0..21)
        .map(|at| format!("//- db/migrate/202302020000{at:02}_x.rb\n{data}"))
        .chain((0..30).map(|at| format!("//- shop/migrations/{at:04}_x.py\nx\n")))
        .collect();
    let fixture = Fixture::new(&format!("//- db/schema.rb\n{SCHEMA}//- head\n{head}"));
    let returned = fixture.with(super::review);
    assert!(returned.findings.is_empty(), "{:?}", returned.findings);
    assert_eq!(
        returned.notes,
        ["1 more migration was not compared with the schema of the database"]
    );
}

#[test]
fn schema_object_with_an_incomplete_search_is_unknown() {
    let schema = SCHEMA.replace("\n    t.index", "\n    t.string \"email\"\n    t.index");
    let earlier = migration("add_column :users, :email, :string");
    let uses = "email\n".repeat(250);
    let fixture = Fixture::new(&format!(
        "//- app/user.rb\n{uses}//- db/migrate/20230202000000_x.rb\n{earlier}//- db/schema.rb\n{SCHEMA}//- head\n//- db/schema.rb\n{schema}"
    ));
    let returned = fixture.with(super::review);
    assert!(returned.findings.is_empty(), "{:?}", returned.findings);
    assert_eq!(
        returned.notes,
        ["crh did not search all older migrations for 1 new object of `db/schema.rb`"]
    );

    // Of 30 new columns, crh looks up 20.
    let columns: String = (0..30).map(|at| format!("    t.string \"c{at:02}\"\n")).collect();
    let schema = SCHEMA.replace("\n    t.index", &format!("\n{columns}    t.index"));
    let fixture =
        Fixture::new(&format!("//- db/schema.rb\n{SCHEMA}//- head\n//- db/schema.rb\n{schema}"));
    let returned = fixture.with(super::review);
    assert_eq!(returned.findings.len(), 1);
    let why = &returned.findings[0].finding.why_it_matters;
    assert!(why.contains("It is one of at least 20 such objects."), "{why}");
    assert_eq!(
        returned.notes,
        ["crh did not search all older migrations for 10 new objects of `db/schema.rb`"]
    );
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
