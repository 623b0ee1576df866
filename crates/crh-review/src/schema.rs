//! JSON Schemas, derived from the types that parse and write the JSON.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::diff::{FileDiff, FileStatus, LineMap, LineMapEntry};
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
    /// How the file changed.
    pub status: FileStatus,
    /// Added lines.
    pub additions: u32,
    /// Removed lines.
    pub deletions: u32,
}

/// What `crh diff map` prints for a file; in a workspace, the file's `meta.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FileMeta {
    /// The fields of `crh diff files`.
    #[serde(flatten)]
    pub row: FileRow,
    /// Maps lines of `numbered.diff` to lines of a file.
    #[schemars(with = "std::collections::BTreeMap<String, LineMapEntry>")]
    pub line_map: LineMap,
}

impl FileRow {
    /// The row for a file.
    pub fn from_file(file: &FileDiff) -> Self {
        Self {
            path: file.path.shown().into_owned(),
            old_path: file.old_path.as_ref().map(|path| path.shown().into_owned()),
            status: file.status(),
            additions: file.additions,
            deletions: file.deletions,
        }
    }
}

/// Names of the available schemas.
pub const NAMES: &[&str] =
    &["report", "return", "return-crh", "return-agent", "return-ce", "diff-files", "diff-map"];

/// The schema with this name, if it exists.
pub fn schema(name: &str) -> Option<Value> {
    Some(match name {
        "report" => schema_for_output::<Report>(),
        "return" => schema_for_input::<Return>(),
        "return-crh" => schema_for_input::<returns::CrhReturn>(),
        "return-agent" => schema_for_input::<returns::AgentReturn>(),
        "return-ce" => schema_for_input::<returns::CeReturn>(),
        "diff-files" => schema_for_output::<Vec<FileRow>>(),
        "diff-map" => schema_for_output::<Vec<FileMeta>>(),
        _ => return None,
    })
}

fn schema_for_input<T: JsonSchema>() -> Value {
    generator(SchemaSettings::for_deserialize).into_root_schema_for::<T>().to_value()
}

fn schema_for_output<T: JsonSchema>() -> Value {
    generator(SchemaSettings::for_serialize).into_root_schema_for::<T>().to_value()
}

fn generator(contract: fn(SchemaSettings) -> SchemaSettings) -> SchemaGenerator {
    contract(SchemaSettings::draft2020_12()).into_generator()
}
