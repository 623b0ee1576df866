//! JSON Schemas, derived from the types that read and write the JSON, so that neither can drift.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::diff::{FileDiff, FileStatus, LineMap, Place};
use crate::finding::Return;
use crate::report::Report;
use crate::returns;

/// What `crh diff files` prints for a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileRow {
    /// The path after the change; for a deleted file, the path it had.
    pub path: String,
    /// The path before the change, for renamed and copied files.
    pub old_path: Option<String>,
    /// What happened to it.
    pub status: FileStatus,
    /// Lines added.
    pub additions: u32,
    /// Lines removed.
    pub deletions: u32,
}

/// What `crh diff map` prints for a file; in a workspace, the file's `meta.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileMeta {
    /// What `crh diff files` prints.
    #[serde(flatten)]
    pub row: FileRow,
    /// Line of `numbered.diff` to line of a file.
    #[schemars(with = "std::collections::BTreeMap<String, Place>")]
    pub line_map: LineMap,
}

impl FileRow {
    /// The row of a file.
    pub fn of(file: &FileDiff) -> Self {
        Self {
            path: file.path.shown().into_owned(),
            old_path: file.old_path.as_ref().map(|path| path.shown().into_owned()),
            status: file.status(),
            additions: file.additions,
            deletions: file.deletions,
        }
    }
}

/// The schemas that can be asked for, by name.
pub const NAMES: &[&str] =
    &["report", "return", "return-crh", "return-agent", "return-ce", "diff-files", "diff-map"];

/// A schema by name; `None` if there is no such.
pub fn schema(name: &str) -> Option<Value> {
    Some(match name {
        "report" => written::<Report>(),
        "return" => read::<Return>(),
        "return-crh" => read::<returns::CrhReturn>(),
        "return-agent" => read::<returns::AgentReturn>(),
        "return-ce" => read::<returns::CeReturn>(),
        "diff-files" => written::<Vec<FileRow>>(),
        "diff-map" => written::<Vec<FileMeta>>(),
        _ => return None,
    })
}

/// The schema of something that crh reads.
fn read<T: JsonSchema>() -> Value {
    generator(SchemaSettings::for_deserialize).into_root_schema_for::<T>().to_value()
}

/// The schema of something that crh writes.
fn written<T: JsonSchema>() -> Value {
    generator(SchemaSettings::for_serialize).into_root_schema_for::<T>().to_value()
}

fn generator(contract: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    contract(SchemaSettings::draft2020_12()).into_generator()
}
