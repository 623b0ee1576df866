//! Columns of a Prisma schema that change without a migration.

use std::collections::{BTreeMap, BTreeSet};

use super::rails_schema::SCHEMA_DRIFT;
use super::{RepoReader, split_path};
use crate::file_context::FileFindings;
use crate::findings::FindingDraft;
use crate::{ChangeView, ChangedFile, source};
use crh_review::finding::Side;

/// Types that always become columns. Other types are relations or enums, which look alike.
const SCALARS: [&str; 9] =
    ["String", "Boolean", "Int", "BigInt", "Float", "Decimal", "DateTime", "Json", "Bytes"];

/// Maximum schemas to check. A change with more is generated.
const SCHEMAS_MAX: usize = 20;

/// Line and type of each column, by table and name.
type PrismaColumns = BTreeMap<(String, String), (u32, String)>;

/// Name, line and type of a column.
type PrismaField = (String, u32, String);

/// Reports schemas that change without a migration.
pub(super) fn check(change: &ChangeView<'_>, repository: &RepoReader<'_>) -> FileFindings {
    let files = change.files.iter().filter(|file| split_path(&file.path).1 == "schema.prisma");
    let files: Vec<&ChangedFile> = files.collect();
    let checked_files = files.iter().take(SCHEMAS_MAX);
    let findings =
        checked_files.filter_map(|file| missing_migration(file, change, repository)).collect();
    let more = files.len().saturating_sub(SCHEMAS_MAX);
    let note = format!("{more} more Prisma schemas were not compared with their migrations");
    let notes = Some(note).filter(|_| more > 0).into_iter().collect();
    FileFindings { findings, notes, ..FileFindings::default() }
}

fn missing_migration(
    file: &ChangedFile,
    change: &ChangeView<'_>,
    repository: &RepoReader<'_>,
) -> Option<FindingDraft> {
    let path = file.new_path()?;
    let migrations = format!("{}migrations/", split_path(path).0);
    let has_migrations = repository
        .paths(Side::New)
        .iter()
        .any(|it| it.starts_with(&migrations) && it.ends_with("/migration.sql"));
    if !has_migrations || change.all_files.iter().any(|it| it.path.starts_with(&migrations)) {
        return None;
    }
    let text = repository.text(Side::New, path)?;
    let (old, new) =
        (columns(&repository.text(Side::Old, file.old_path.as_deref()?)?), columns(&text));
    // If a table disappears, the change may have renamed it.
    let tables = |columns: &PrismaColumns| {
        columns.keys().map(|(table, _)| table.clone()).collect::<BTreeSet<_>>()
    };
    if tables(&old) != tables(&new) && tables(&old).difference(&tables(&new)).next().is_some() {
        return None;
    }
    let ((table, column), (line, _)) = new.iter().find(|(key, (_, column_type))| {
        old.get(*key).is_none_or(|(_, old_type)| old_type != column_type)
    })?;
    Some(FindingDraft::new(&SCHEMA_DRIFT, path, *line, source::line(&text, *line)).with_text(
        format!("No migration creates the column `{table}.{column}`"),
        format!(
            "The schema has the column after this change, but `{migrations}` gets no migration. `prisma migrate deploy` does not create it, and queries fail."
        ),
        "Run `prisma migrate dev` and commit the migration.",
    ))
}

/// The columns of scalar types in all models, by their database names.
fn columns(schema: &str) -> PrismaColumns {
    let mut all_columns = PrismaColumns::new();
    let mut model: Option<(String, Vec<PrismaField>)> = None;
    for (number, line) in (1..).zip(schema.lines()) {
        let line = line.split("//").next().unwrap_or_default().trim();
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), &mut model) {
            (Some("model"), Some(name), None) => model = Some((name.to_owned(), Vec::new())),
            (Some("}"), ..) => {
                let (table, fields) = model.take().unwrap_or_default();
                all_columns.extend(
                    fields.into_iter().map(|(name, line, field_type)| {
                        ((table.clone(), name), (line, field_type))
                    }),
                );
            }
            (Some(attribute), _, Some((table, _))) if attribute.starts_with("@@map") => {
                *table = mapped_name(attribute).unwrap_or(table).to_owned();
            }
            (Some(field), Some(field_type), Some((_, fields))) => {
                let scalar = field_type.trim_end_matches(['?', '[', ']']);
                if SCALARS.contains(&scalar) && !line.contains("@ignore") {
                    let map = line.split("@map").nth(1).and_then(mapped_name);
                    fields.push((map.unwrap_or(field).to_owned(), number, field_type.to_owned()));
                }
            }
            _ => {}
        }
    }
    all_columns
}

fn mapped_name(attribute: &str) -> Option<&str> {
    attribute.split('"').nth(1)
}
