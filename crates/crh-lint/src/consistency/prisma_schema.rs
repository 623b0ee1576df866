//! Prisma's schema: columns that change without a migration.

use std::collections::{BTreeMap, BTreeSet};

use super::rails::SCHEMA_DRIFT;
use super::{Repository, split};
use crate::found::Found;
use crate::look::Looked;
use crate::{Change, ChangedFile};
use crh_review::finding::Side;

/// Types that become columns under any circumstances; others are relations or enums.
const SCALARS: [&str; 9] =
    ["String", "Boolean", "Int", "BigInt", "Float", "Decimal", "DateTime", "Json", "Bytes"];

/// A repository has one schema for each of its services; more than this in one change are a program's work, and the first ones tell.
const SCHEMAS_MAX: usize = 20;

/// Columns by table and name, with the line and type of each.
type Columns = BTreeMap<(String, String), (u32, String)>;

/// A column's name, line and type.
type Field = (String, u32, String);

/// Schemas that changed without a migration.
pub(super) fn found(change: &Change<'_>, repository: &Repository<'_>) -> Looked {
    let files = change.files.iter().filter(|file| split(&file.path).1 == "schema.prisma");
    let files: Vec<&ChangedFile> = files.collect();
    let looked_at = files.iter().take(SCHEMAS_MAX);
    let found = looked_at.filter_map(|file| without_migration(file, change, repository)).collect();
    let more = files.len().saturating_sub(SCHEMAS_MAX);
    let note = format!("{more} more schemas of Prisma were not compared with their migrations");
    Looked { found, notes: Some(note).filter(|_| more > 0).into_iter().collect() }
}

fn without_migration(
    file: &ChangedFile,
    change: &Change<'_>,
    repository: &Repository<'_>,
) -> Option<Found> {
    let path = file.after()?;
    let migrations = format!("{}migrations/", split(path).0);
    let is_kept = repository
        .paths(Side::New)
        .iter()
        .any(|it| it.starts_with(&migrations) && it.ends_with("/migration.sql"));
    if !is_kept || change.all.iter().any(|it| it.path.starts_with(&migrations)) {
        return None;
    }
    let text = repository.text(Side::New, path)?;
    let (old, new) =
        (columns(&repository.text(Side::Old, file.before.as_deref()?)?), columns(&text));
    // A table that is there no more, or is new, may only have another name.
    let tables =
        |columns: &Columns| columns.keys().map(|(table, _)| table.clone()).collect::<BTreeSet<_>>();
    if tables(&old) != tables(&new) && tables(&old).difference(&tables(&new)).next().is_some() {
        return None;
    }
    let ((table, column), (line, _)) =
        new.iter().find(|(key, (_, of))| old.get(*key).is_none_or(|(_, before)| before != of))?;
    let shown = text.lines().nth(usize::try_from(*line).ok()?.checked_sub(1)?).unwrap_or_default();
    Some(Found::new(&SCHEMA_DRIFT, path, *line, shown).saying(
        format!("No migration makes the column `{table}.{column}`"),
        format!(
            "The schema has it after this change and `{migrations}` gets no migration: `prisma migrate deploy` leaves the database without it, and queries fail."
        ),
        "Run `prisma migrate dev` and commit the migration.",
    ))
}

/// The columns of all models, under the names that the database knows.
fn columns(schema: &str) -> Columns {
    let mut found = Columns::new();
    let mut model: Option<(String, Vec<Field>)> = None;
    for (number, line) in (1..).zip(schema.lines()) {
        let line = line.split("//").next().unwrap_or_default().trim();
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), &mut model) {
            (Some("model"), Some(name), None) => model = Some((name.to_owned(), Vec::new())),
            (Some("}"), ..) => {
                let (table, fields) = model.take().unwrap_or_default();
                found.extend(
                    fields.into_iter().map(|(name, line, of)| ((table.clone(), name), (line, of))),
                );
            }
            (Some(attribute), _, Some((table, _))) if attribute.starts_with("@@map") => {
                *table = mapped(attribute).unwrap_or(table).to_owned();
            }
            (Some(field), Some(of), Some((_, fields))) => {
                let scalar = of.trim_end_matches(['?', '[', ']']);
                if SCALARS.contains(&scalar) && !line.contains("@ignore") {
                    let map = line.split("@map").nth(1).and_then(mapped);
                    fields.push((map.unwrap_or(field).to_owned(), number, of.to_owned()));
                }
            }
            _ => {}
        }
    }
    found
}

fn mapped(attribute: &str) -> Option<&str> {
    attribute.split('"').nth(1)
}
