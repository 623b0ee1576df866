//! Migrations without the schema, and schemas with more than the migrations make: Rails, and Ecto where it keeps one.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{Repository, split};
use crate::found::Found;
use crate::{Change, ChangedFile, Rule, paths};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const SCHEMA_DRIFT: Rule = Rule {
    id: "consistency/schema-drift",
    severity: Severity::P2,
    category: Category::Data,
    confidence: Confidence::thousandths(850),
    finds: "a migration without the schema that it makes, or a schema with more than the migrations of the change make",
    also: &[],
};

/// Words in a migration after which nobody can tell from its text what it makes.
const UNREADABLE: [&str; 11] = [
    "execute",
    "exec_query",
    "send",
    "public_send",
    "eval",
    "instance_eval",
    "class_eval",
    "load",
    "constantize",
    "define_method",
    "structure_sql",
];
/// Of the new migrations, and of the schemas and the objects in each, so many are looked at: one is enough to tell.
const LOOKED_AT_MAX: usize = 20;
/// More lines than this are not read to learn whether an older migration made something.
const HITS_MAX: usize = 200;

/// What drifted apart.
pub(super) fn found(change: &Change<'_>, repository: &Repository<'_>) -> Vec<Found> {
    let mut found = Vec::new();
    let mut reported: HashSet<String> = HashSet::new();
    // The last migration of a folder says it for all.
    let migrations =
        change.files.iter().rev().filter(|file| split(&file.path).0.contains("migrat"));
    for file in migrations.take(LOOKED_AT_MAX) {
        if let Some((schema, it)) = without_schema(file, change, repository)
            && reported.insert(schema)
        {
            found.push(it);
        }
    }
    let schemas = change.all.iter().filter(|file| split(&file.path).1 == "schema.rb");
    for file in schemas.take(LOOKED_AT_MAX) {
        found.extend(drifted(file, change, repository));
    }
    found
}

/// A new migration of which the schema does not know.
fn without_schema(
    file: &ChangedFile,
    change: &Change<'_>,
    repository: &Repository<'_>,
) -> Option<(String, Found)> {
    if file.before.is_some() || file.after().is_none() || paths::is_sample(&file.path) {
        return None;
    }
    let (folder, name) = split(&file.path);
    let version = name.split('_').next()?;
    if version.len() != 14 || !version.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let schemas = match (folder.strip_suffix("migrate/"), folder.strip_suffix("migrations/")) {
        (Some(folder), _) if folder.ends_with("db/") && name.ends_with(".rb") => {
            vec![format!("{folder}schema.rb"), format!("{folder}structure.sql")]
        }
        (_, Some(folder)) if name.ends_with(".exs") => vec![format!("{folder}structure.sql")],
        _ => return None,
    };
    let schema = schemas.into_iter().find(|schema| repository.has(Side::New, schema))?;
    let text = repository.text(Side::New, &schema)?;
    let migration = repository.text(Side::New, &file.path)?;
    let is_touched = || change.all.iter().any(|file| file.path == schema);
    let is_behind = match schema.ends_with(".rb") {
        true => {
            version_of(&text).is_some_and(|at| at.as_str() < version)
                || !is_touched() && lacks(&text, &migration)
        }
        false => has_versions(&text) && !text.contains(version),
    };
    if !is_behind {
        return None;
    }
    let (number, line) = first_statement(file)?;
    let (_, short) = split(&schema);
    let found = Found::new(&SCHEMA_DRIFT, &file.path, number, &line).saying(
        format!("The migration is not in `{short}`"),
        format!(
            "`{schema}` does not have what this migration makes. A database that is set up from it, as for tests, differs from one that was migrated, and the next person who migrates commits the difference."
        ),
        format!("Run the migration and commit `{schema}` with it."),
    );
    Some((schema, found))
}

/// The first line of a migration that does something, else its first.
fn first_statement(file: &ChangedFile) -> Option<(u32, String)> {
    let text = |line: &crate::AddedLine| String::from_utf8_lossy(&line.text).into_owned();
    let is_statement = |line: &String| {
        let line = line.trim_start();
        ["create_table", "add_", "change_", "remove_", "drop_", "rename_", "create ", "alter "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let lines = || file.added.iter().map(|line| (line.number, text(line)));
    lines()
        .find(|(_, line)| is_statement(line))
        .or_else(|| lines().find(|(_, line)| !line.trim().is_empty()))
}

static VERSION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\.define\(\s*version:\s*([0-9_]+)").ok());
static ANY_VERSION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\(\s*'?[0-9]{14}'?\s*\)").ok());
static MAKES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)^\s*(create_table|add_column)[\s(]\s*[:"']([A-Za-z_][A-Za-z0-9_]*)["']?(?:\s*,\s*[:"']([A-Za-z_][A-Za-z0-9_]*))?"#).ok()
});

fn version_of(schema: &str) -> Option<String> {
    let version = VERSION.as_ref()?.captures(schema)?;
    Some(version[1].replace('_', "")).filter(|version| version.len() == 14)
}

/// Whether a dump of a database says which migrations it contains.
fn has_versions(text: &str) -> bool {
    ANY_VERSION.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a schema lacks a table or a column that a migration plainly makes and does not take away again.
fn lacks(schema: &str, migration: &str) -> bool {
    let undoes = ["drop_table", "remove_column", "rename_"].iter().any(|it| migration.contains(it));
    let Some(makes) = MAKES.as_ref().filter(|_| !undoes) else { return false };
    let tables = Schema::of(schema).tables;
    makes.captures_iter(migration).any(|made| {
        let columns = tables.get(&made[2]);
        match (&made[1], made.get(3)) {
            ("create_table", _) => columns.is_none(),
            (_, Some(column)) => {
                columns.is_some_and(|columns| !columns.contains_key(column.as_str()))
            }
            (_, None) => false,
        }
    })
}

/// The tables of a `schema.rb`, by name: the line of each, and of each of their columns and indexes.
#[derive(Default)]
struct Schema {
    lines: BTreeMap<String, u32>,
    tables: BTreeMap<String, BTreeMap<String, u32>>,
    /// Indexes, with the table and the line of each.
    indexes: BTreeMap<String, (String, u32)>,
}

static TABLE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*create_table\s*\(?\s*[:"']([^"',\s]+)"#).ok());
static COLUMN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"^\s*t\.([a-z_0-9]+)\s*\(?\s*[:"']([^"',\s]+)"#).ok());
static INDEX: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r#"^\s*(?:t\.index|add_index\s*\(?\s*[:"']([^"',\s]+)["']?)\s.*\bname:\s*["']([^"']+)"#,
    )
    .ok()
});

impl Schema {
    fn of(text: &str) -> Self {
        let mut schema = Self::default();
        let mut table = String::new();
        let (Some(is_table), Some(is_column), Some(is_index)) = (&*TABLE, &*COLUMN, &*INDEX) else {
            return schema;
        };
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(found) = is_table.captures(line) {
                table = found[1].to_owned();
                schema.lines.insert(table.clone(), number);
                schema.tables.entry(table.clone()).or_default();
            } else if let Some(found) = is_index.captures(line) {
                let of = found.get(1).map_or(table.as_str(), |of| of.as_str());
                schema.indexes.insert(found[2].to_owned(), (of.to_owned(), number));
            } else if let Some(found) = is_column.captures(line)
                && !matches!(
                    &found[1],
                    "index" | "check_constraint" | "foreign_key" | "unique_constraint"
                )
            {
                schema.tables.entry(table.clone()).or_default().insert(found[2].to_owned(), number);
            }
        }
        schema
    }
}

/// Something new in a schema.
struct Object {
    table: String,
    /// The column or index; none for a table.
    part: Option<String>,
    is_index: bool,
    line: u32,
}

/// What a schema has more than before, and no migration made.
fn drifted(file: &ChangedFile, change: &Change<'_>, repository: &Repository<'_>) -> Option<Found> {
    let path = file.after().filter(|path| !paths::is_sample(path))?;
    let old = Schema::of(&repository.text(Side::Old, file.before.as_deref()?)?);
    let text = repository.text(Side::New, path)?;
    let objects = new_objects(&old, &Schema::of(&text));
    if objects.is_empty() {
        return None;
    }
    let migrations: Vec<String> = change
        .all
        .iter()
        .filter(|file| is_migration(&file.path))
        .filter_map(|file| repository.text(Side::New, file.after()?))
        .collect();
    let words: Vec<HashSet<&str>> = migrations.iter().map(|text| words_of(text)).collect();
    if migrations.iter().zip(&words).any(|(text, words)| is_unreadable(text, words)) {
        return None;
    }
    let unmade: Vec<&Object> =
        objects.iter().filter(|object| !words.iter().any(|words| makes(words, object))).collect();
    let drifted: Vec<&&Object> = unmade
        .iter()
        .take(LOOKED_AT_MAX)
        .filter(|object| !was_made_earlier(object, repository))
        .collect();
    let first = drifted.first()?;
    let what = first.words();
    let line =
        text.lines().nth(usize::try_from(first.line).ok()?.checked_sub(1)?).unwrap_or_default();
    let more = match drifted.len() {
        1 => String::new(),
        count => format!(" It is one of {count} such objects."),
    };
    Some(Found::new(&SCHEMA_DRIFT, path, first.line, line).saying(
        format!("No migration makes the {what}"),
        format!(
            "`{path}` has the {what} after this change, and no migration of it makes that.{more} It probably comes from another branch that the author's database was migrated with; production will not have it."
        ),
        "Take it out of the schema, or add the migration that makes it.",
    ))
}

impl Object {
    fn words(&self) -> String {
        match (&self.part, self.is_index) {
            (None, _) => format!("table `{}`", self.table),
            (Some(part), false) => format!("column `{}.{part}`", self.table),
            (Some(part), true) => format!("index `{part}`"),
        }
    }
}

/// What is new, by name: whole tables, and columns and indexes of tables that were there.
fn new_objects(old: &Schema, new: &Schema) -> Vec<Object> {
    let mut objects = Vec::new();
    for (table, columns) in &new.tables {
        let Some(before) = old.tables.get(table) else {
            let line = new.lines.get(table).copied().unwrap_or(1);
            objects.push(Object { table: table.clone(), part: None, is_index: false, line });
            continue;
        };
        for (column, line) in columns.iter().filter(|(column, _)| !before.contains_key(*column)) {
            let part = Some(column.clone());
            objects.push(Object { table: table.clone(), part, is_index: false, line: *line });
        }
    }
    let indexes = new.indexes.iter().filter(|(name, _)| !old.indexes.contains_key(*name));
    for (name, (table, line)) in indexes.filter(|(_, (table, _))| old.tables.contains_key(table)) {
        let part = Some(name.clone());
        objects.push(Object { table: table.clone(), part, is_index: true, line: *line });
    }
    objects
}

fn is_migration(path: &str) -> bool {
    let (folder, name) = split(path);
    name.ends_with(".rb") && folder.trim_end_matches('/').ends_with("migrate")
}

fn words_of(text: &str) -> HashSet<&str> {
    text.split(|it: char| !it.is_alphanumeric() && it != '_')
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_unreadable(text: &str, words: &HashSet<&str>) -> bool {
    text.contains("#{") || text.contains(".each") || UNREADABLE.iter().any(|it| words.contains(it))
}

/// Whether a migration may make an object: it names it, or what it is made from.
fn makes(words: &HashSet<&str>, object: &Object) -> bool {
    let has = |word: &str| words.contains(word);
    let renames = has("rename_table") || has("create_join_table");
    if !renames && !has(&object.table) {
        return false;
    }
    let Some(part) = &object.part else { return true };
    if object.is_index {
        let by = [
            "index",
            "add_index",
            "references",
            "belongs_to",
            "add_reference",
            "add_belongs_to",
            "unique",
        ];
        return renames
            || by.iter().any(|it| has(it))
            || has("rename_index")
            || has("rename_column");
    }
    let stems = ["_id", "_type"].iter().filter_map(|end| part.strip_suffix(end));
    let is_time = matches!(part.as_str(), "created_at" | "updated_at");
    has(part)
        || stems.into_iter().any(has)
        || is_time && (has("timestamps") || has("add_timestamps"))
        || object.table.is_empty()
}

/// Whether a migration that was there before names the object: then the schema only catches up.
fn was_made_earlier(object: &Object, repository: &Repository<'_>) -> bool {
    let part = object.part.as_deref().unwrap_or(&object.table);
    let Some(hits) = repository.search(Side::Old, part, HITS_MAX) else { return true };
    let files: BTreeSet<&str> =
        hits.lines.iter().map(|hit| hit.path.as_str()).filter(|path| is_migration(path)).collect();
    files.into_iter().any(|path| {
        repository
            .text(Side::Old, path)
            .is_some_and(|text| words_of(&text).contains(object.table.as_str()))
    })
}
