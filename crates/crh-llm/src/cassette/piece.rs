//! Pieces of questions: redacted values under the hash of their content.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Redactor;

/// Bytes of a hash that name a piece: enough that no two pieces of a recording share a name by accident.
const ID_BYTES: usize = 8;

/// The name of a piece: the beginning of the SHA-256 of its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PieceId(String);

/// Redacts values and names them. What it has seen is not redacted again: a run sends its beginning with every turn.
pub(super) struct Naming {
    redactor: Redactor,
    seen: Mutex<HashMap<[u8; 32], PieceId>>,
}

impl PieceId {
    pub(super) fn of(value: &Value) -> Self {
        let hash = Sha256::digest(sorted(value).to_string());
        let hex = hash[..ID_BYTES].iter().fold(String::new(), |mut hex, byte| {
            let written = write!(hex, "{byte:02x}");
            debug_assert!(written.is_ok(), "writing to a string does not fail");
            hex
        });
        Self(hex)
    }
}

impl Naming {
    /// What only looks like a key is no secret here: another question would be taken for the same, and a tool would be
    /// called with a mask.
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor: redactor.by_value_alone(), seen: Mutex::default() }
    }

    /// The name of a value as it is after redaction.
    pub(super) fn name(&self, value: &Value) -> PieceId {
        let original: [u8; 32] = Sha256::digest(value.to_string()).into();
        let known = || self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = known().get(&original) {
            return id.clone();
        }
        let id = PieceId::of(&self.redacted(value));
        known().insert(original, id.clone());
        id
    }

    /// The value as it is written.
    pub(super) fn redacted(&self, value: &Value) -> Value {
        sorted(&self.redactor.redact_json(value))
    }
}

/// The value with all fields in the order of their names: equal values are written alike.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
    }
}
