//! Migrations missing from the schema, and schema objects without a migration: Rails, and Ecto with
//! a `structure.sql`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use super::{RepoReader, split_path};
use crate::file_context::FileFindings;
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, LintRule, paths, source};
use crh_review::finding::{Category, Confidence, Severity, Side};

pub(super) const SCHEMA_DRIFT: LintRule = LintRule {
    id: "consistency/schema-drift",
    severity: Severity::P2,
    category: Category::Data,
    confidence: Confidence::thousandths(850),
    summary: "a migration that is missing from the schema, or a schema change without a migration",
    aliases: &[],
};

/// Calls in a migration that make its effect impossible to read from the text.
#[rustfmt::skip]
const OPAQUE_CALLS: [&str; 11] = [
    "execute", "exec_query", "send", "public_send", "eval", "instance_eval", "class_eval", "load", "constantize",
    "define_method", "structure_sql",
];
/// Limit for migrations, for schemas, and for the new objects of one schema.
const CHECKED_MAX: usize = 20;
/// Maximum lines that a search for an older migration returns.
const HITS_MAX: usize = 200;

pub(super) fn check(change: &ChangeView<'_>, repository: &RepoReader<'_>) -> FileFindings {
    let mut output = FileFindings::default();
    let mut reported_schemas: HashSet<String> = HashSet::new();
    let (mut checked_count, mut omitted_count) = (0, 0);
    // One finding per schema, at the last migration.
    let migrations =
        change.files.iter().rev().filter_map(|file| NewMigration::new(file, repository));
    for migration in migrations {
        if reported_schemas.contains(&migration.schema) {
            continue;
        }
        if checked_count == CHECKED_MAX {
            omitted_count += 1;
            continue;
        }
        checked_count += 1;
        if let Some(finding) = migration.schema_finding(change, repository) {
            output.findings.push(finding);
            reported_schemas.insert(migration.schema);
        }
    }
    if omitted_count > 0 {
        let migrations = if omitted_count == 1 { "migration was" } else { "migrations were" };
        output.notes.push(format!(
            "{omitted_count} more {migrations} not compared with the schema of the database"
        ));
    }
    let is_schema = |file: &&ChangedFile| {
        split_path(&file.path).1 == "schema.rb" && !paths::is_sample(&file.path)
    };
    let schemas: Vec<&ChangedFile> = change.all_files.iter().filter(is_schema).collect();
    for file in schemas.iter().take(CHECKED_MAX) {
        let schema_output = compare_with_migrations(file, change, repository);
        output.findings.extend(schema_output.findings);
        output.notes.extend(schema_output.notes);
    }
    let omitted_count = schemas.len().saturating_sub(CHECKED_MAX);
    if omitted_count > 0 {
        let schemas = if omitted_count == 1 { "file was" } else { "files were" };
        output.notes.push(format!(
            "{omitted_count} more `schema.rb` {schemas} not compared with the migrations"
        ));
    }
    output
}

/// A new migration of a database whose schema is in the repository.
struct NewMigration<'a> {
    file: &'a ChangedFile,
    version: &'a str,
    /// Path of the schema.
    schema: String,
}

impl<'a> NewMigration<'a> {
    fn new(file: &'a ChangedFile, repository: &RepoReader<'_>) -> Option<Self> {
        let (folder, name) = split_path(&file.path);
        let was_there = file.old_path.as_ref().is_some_and(|old| split_path(old).0 == folder);
        if was_there || file.new_path().is_none() || paths::is_sample(&file.path) {
            return None;
        }
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
        Some(Self { file, version, schema })
    }

    /// A finding if the schema does not contain the migration.
    fn schema_finding(
        &self,
        change: &ChangeView<'_>,
        repository: &RepoReader<'_>,
    ) -> Option<FindingDraft> {
        let Self { file, version, schema } = self;
        let text = repository.text(Side::New, schema)?;
        let migration = repository.text(Side::New, &file.path)?;
        let is_touched = || change.all_files.iter().any(|file| file.path == *schema);
        let is_outdated = match schema.ends_with(".rb") {
            true => {
                schema_version(&text).is_some_and(|at| at.as_str() < *version)
                    || !is_touched() && lacks_created_objects(&text, &migration)
            }
            false => has_versions(&text) && !text.contains(*version),
        };
        if !is_outdated {
            return None;
        }
        let (number, line) = first_statement(&migration)?;
        let (_, schema_name) = split_path(schema);
        Some(FindingDraft::new(&SCHEMA_DRIFT, &file.path, number, line).with_text(
            format!("The migration is missing from `{schema_name}`"),
            format!(
                "`{schema}` does not contain what this migration creates. A database created from it, as for tests, differs from a migrated one, and the next person who migrates commits the difference."
            ),
            format!("Run the migration and commit `{schema}` with it."),
        ))
    }
}

/// The first line with a statement, otherwise the first non-empty line. The line need not be added:
/// a migration can be moved here without a change to its text.
fn first_statement(migration: &str) -> Option<(u32, &str)> {
    let is_statement = |line: &str| {
        let line = line.trim_start();
        ["create_table", "add_", "change_", "remove_", "drop_", "rename_", "create ", "alter "]
            .iter()
            .any(|it| line.starts_with(it))
    };
    let lines = || (1..).zip(migration.lines());
    lines()
        .find(|(_, line)| is_statement(line))
        .or_else(|| lines().find(|(_, line)| !line.trim().is_empty()))
}

static VERSION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\.define\(\s*version:\s*([0-9_]+)").ok());
static ANY_VERSION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\(\s*'?[0-9]{14}'?\s*\)").ok());
static CREATES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"(?m)^\s*(create_table|add_column)[\s(]\s*[:"']([A-Za-z_][A-Za-z0-9_]*)["']?(?:\s*,\s*[:"']([A-Za-z_][A-Za-z0-9_]*))?"#).ok()
});

fn schema_version(schema: &str) -> Option<String> {
    let version = VERSION.as_ref()?.captures(schema)?;
    Some(version[1].replace('_', "")).filter(|version| version.len() == 14)
}

/// Whether a database dump lists its migrations.
fn has_versions(text: &str) -> bool {
    ANY_VERSION.as_ref().is_some_and(|regex| regex.is_match(text))
}

/// Whether a schema lacks a table or column that a migration clearly creates and does not remove
/// again.
fn lacks_created_objects(schema: &str, migration: &str) -> bool {
    let undoes = ["drop_table", "remove_column", "rename_"].iter().any(|it| migration.contains(it));
    let Some(creates) = CREATES.as_ref().filter(|_| !undoes) else { return false };
    let tables = RailsSchema::parse(schema).tables;
    creates.captures_iter(migration).any(|creation| {
        let columns = tables.get(&creation[2]);
        match (&creation[1], creation.get(3)) {
            ("create_table", _) => columns.is_none(),
            (_, Some(column)) => {
                columns.is_some_and(|columns| !columns.contains_key(column.as_str()))
            }
            (_, None) => false,
        }
    })
}

/// The tables of a `schema.rb` with the lines of their columns and indexes.
#[derive(Default)]
struct RailsSchema {
    table_lines: BTreeMap<String, u32>,
    tables: BTreeMap<String, BTreeMap<String, u32>>,
    /// Table and line of each index.
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

impl RailsSchema {
    fn parse(text: &str) -> Self {
        let mut schema = Self::default();
        let mut table = String::new();
        let (Some(table_pattern), Some(column_pattern), Some(index_pattern)) =
            (&*TABLE, &*COLUMN, &*INDEX)
        else {
            return schema;
        };
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(captures) = table_pattern.captures(line) {
                table = captures[1].to_owned();
                schema.table_lines.insert(table.clone(), number);
                schema.tables.entry(table.clone()).or_default();
            } else if let Some(captures) = index_pattern.captures(line) {
                let index_table = captures.get(1).map_or(table.as_str(), |of| of.as_str());
                schema.indexes.insert(captures[2].to_owned(), (index_table.to_owned(), number));
            } else if let Some(captures) = column_pattern.captures(line)
                && !matches!(
                    &captures[1],
                    "index" | "check_constraint" | "foreign_key" | "unique_constraint"
                )
            {
                schema
                    .tables
                    .entry(table.clone())
                    .or_default()
                    .insert(captures[2].to_owned(), number);
            }
        }
        schema
    }
}

/// A new object in a schema.
struct SchemaObject {
    table: String,
    /// The column or index; `None` for a table.
    part: Option<String>,
    is_index: bool,
    line: u32,
}

/// Compares the new objects of a schema with the migrations of the change and with older ones.
fn compare_with_migrations(
    file: &ChangedFile,
    change: &ChangeView<'_>,
    repository: &RepoReader<'_>,
) -> FileFindings {
    let mut output = FileFindings::default();
    let Some((path, text, objects)) = objects_without_migration(file, change, repository) else {
        return output;
    };
    let mut unmigrated_objects = Vec::new();
    let mut unknown_count = objects.len().saturating_sub(CHECKED_MAX);
    for object in objects.iter().take(CHECKED_MAX) {
        match find_older_migration(object, repository) {
            OlderMigration::Exists => {}
            OlderMigration::Missing => unmigrated_objects.push(object),
            OlderMigration::Unknown => unknown_count += 1,
        }
    }
    if unknown_count > 0 {
        let objects = if unknown_count == 1 { "object" } else { "objects" };
        output.notes.push(format!(
            "crh did not search all older migrations for {unknown_count} new {objects} of `{path}`"
        ));
    }
    output.findings.extend(unmigrated_finding(path, &text, &unmigrated_objects, unknown_count));
    output
}

/// Path and text of a schema, with its new objects that no migration of the change may create. None
/// if there is nothing to compare.
fn objects_without_migration<'a>(
    file: &'a ChangedFile,
    change: &ChangeView<'_>,
    repository: &RepoReader<'_>,
) -> Option<(&'a str, String, Vec<SchemaObject>)> {
    let path = file.new_path()?;
    let old = RailsSchema::parse(&repository.text(Side::Old, file.old_path.as_deref()?)?);
    let text = repository.text(Side::New, path)?;
    let mut objects = new_objects(&old, &RailsSchema::parse(&text));
    if objects.is_empty() {
        return None;
    }
    let migrations: Vec<String> = change
        .all_files
        .iter()
        .filter(|file| is_migration(&file.path))
        .filter_map(|file| repository.text(Side::New, file.new_path()?))
        .collect();
    let words: Vec<HashSet<&str>> = migrations.iter().map(|text| word_set(text)).collect();
    if migrations.iter().zip(&words).any(|(text, words)| is_opaque(text, words)) {
        return None;
    }
    objects.retain(|object| !words.iter().any(|words| may_create(words, object)));
    Some((path, text, objects))
}

/// A finding about the objects of a schema that no migration creates. None without such objects.
/// `unknown_count` more objects may have none.
fn unmigrated_finding(
    path: &str,
    text: &str,
    unmigrated_objects: &[&SchemaObject],
    unknown_count: usize,
) -> Option<FindingDraft> {
    let first = unmigrated_objects.first()?;
    let description = first.describe();
    let line = source::line(text, first.line);
    let count_note = match (unmigrated_objects.len(), unknown_count) {
        (1, _) => String::new(),
        (count, 0) => format!(" It is one of {count} such objects."),
        (count, _) => format!(" It is one of at least {count} such objects."),
    };
    Some(FindingDraft::new(&SCHEMA_DRIFT, path, first.line, line).with_text(
        format!("No migration creates the {description}"),
        format!(
            "`{path}` has the {description} after this change, but no migration of the change creates it.{count_note} It probably comes from another branch that the author's database was migrated with. Production will not have it."
        ),
        "Remove it from the schema, or add the migration that creates it.",
    ))
}

impl SchemaObject {
    fn describe(&self) -> String {
        match (&self.part, self.is_index) {
            (None, _) => format!("table `{}`", self.table),
            (Some(part), false) => format!("column `{}.{part}`", self.table),
            (Some(part), true) => format!("index `{part}`"),
        }
    }
}

/// New tables, and new columns and indexes of existing tables.
fn new_objects(old: &RailsSchema, new: &RailsSchema) -> Vec<SchemaObject> {
    let mut objects = Vec::new();
    for (table, columns) in &new.tables {
        let Some(old_columns) = old.tables.get(table) else {
            let line = new.table_lines.get(table).copied().unwrap_or(1);
            objects.push(SchemaObject { table: table.clone(), part: None, is_index: false, line });
            continue;
        };
        for (column, line) in
            columns.iter().filter(|(column, _)| !old_columns.contains_key(*column))
        {
            let part = Some(column.clone());
            objects.push(SchemaObject { table: table.clone(), part, is_index: false, line: *line });
        }
    }
    let indexes = new.indexes.iter().filter(|(name, _)| !old.indexes.contains_key(*name));
    for (name, (table, line)) in indexes.filter(|(_, (table, _))| old.tables.contains_key(table)) {
        let part = Some(name.clone());
        objects.push(SchemaObject { table: table.clone(), part, is_index: true, line: *line });
    }
    objects
}

fn is_migration(path: &str) -> bool {
    let (folder, name) = split_path(path);
    name.ends_with(".rb") && folder.trim_end_matches('/').ends_with("migrate")
}

fn word_set(text: &str) -> HashSet<&str> {
    text.split(|it: char| !it.is_alphanumeric() && it != '_')
        .filter(|word| !word.is_empty())
        .collect()
}

fn is_opaque(text: &str, words: &HashSet<&str>) -> bool {
    text.contains("#{")
        || text.contains(".each")
        || OPAQUE_CALLS.iter().any(|it| words.contains(it))
}

/// Whether a migration may create an object: the migration contains the object's name, or a word
/// from which that name may be derived.
fn may_create(words: &HashSet<&str>, object: &SchemaObject) -> bool {
    let has = |word: &str| words.contains(word);
    let renames = has("rename_table") || has("create_join_table");
    if !renames && !has(&object.table) {
        return false;
    }
    let Some(part) = &object.part else { return true };
    if object.is_index {
        #[rustfmt::skip]
        let index_words = [
            "index", "add_index", "references", "belongs_to", "add_reference", "add_belongs_to", "unique",
        ];
        return renames
            || index_words.iter().any(|it| has(it))
            || has("rename_index")
            || has("rename_column");
    }
    let stems = ["_id", "_type"].iter().filter_map(|end| part.strip_suffix(end));
    let is_timestamp = matches!(part.as_str(), "created_at" | "updated_at");
    has(part)
        || stems.into_iter().any(has)
        || is_timestamp && (has("timestamps") || has("add_timestamps"))
        || object.table.is_empty()
}

/// Whether an older migration names an object. If one does, the schema only catches up with it.
enum OlderMigration {
    Exists,
    Missing,
    /// The search failed, or it reached its limit before it found a migration.
    Unknown,
}

fn find_older_migration(object: &SchemaObject, repository: &RepoReader<'_>) -> OlderMigration {
    let part = object.part.as_deref().unwrap_or(&object.table);
    let Some(hits) = repository.search(Side::Old, part, HITS_MAX) else {
        return OlderMigration::Unknown;
    };
    let files: BTreeSet<&str> =
        hits.lines.iter().map(|hit| hit.path.as_str()).filter(|path| is_migration(path)).collect();
    let names_table = |path: &str| {
        let text = repository.text(Side::Old, path);
        text.is_some_and(|text| word_set(&text).contains(object.table.as_str()))
    };
    match files.into_iter().any(names_table) {
        true => OlderMigration::Exists,
        false if hits.is_complete => OlderMigration::Missing,
        false => OlderMigration::Unknown,
    }
}
