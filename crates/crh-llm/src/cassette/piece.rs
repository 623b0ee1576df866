//! Pieces of questions: redacted values identified by the hash of their content.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::Redactor;

/// Bytes of an id. 8 bytes avoid collisions between the pieces of one recording.
const ID_BYTES: usize = 8;

/// Prefix of the SHA-256 of a piece's content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PieceId(String);

/// Redacts and hashes values. Ids are cached, because every request repeats the earlier messages of
/// its conversation.
pub(super) struct PieceHasher {
    redactor: Redactor,
    cached_ids: Mutex<HashMap<[u8; 32], PieceId>>,
}

impl PieceId {
    pub(super) fn from_value(value: &Value) -> Self {
        let hash = Sha256::digest(sort_fields(value).to_string());
        Self(hash[..ID_BYTES].iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl PieceHasher {
    /// Masks only known secrets. Masking all text that looks like a key could make different
    /// questions equal, or put a mask into a tool call.
    pub(super) fn new(redactor: Redactor) -> Self {
        Self { redactor: redactor.known_secrets_only(), cached_ids: Mutex::default() }
    }

    /// Id of the redacted value.
    pub(super) fn piece_id(&self, value: &Value) -> PieceId {
        let hash: [u8; 32] = Sha256::digest(value.to_string()).into();
        let lock_cache = || self.cached_ids.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(id) = lock_cache().get(&hash) {
            return id.clone();
        }
        let id = PieceId::from_value(&self.redact(value));
        lock_cache().insert(hash, id.clone());
        id
    }

    /// The redacted value as written to the file.
    pub(super) fn redact(&self, value: &Value) -> Value {
        sort_fields(&self.redactor.redact_json(value))
    }
}

/// Sorts fields by name, so that equal values have equal text.
fn sort_fields(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        Value::Array(values) => values.iter().map(sort_fields).collect(),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, value)| (name.clone(), sort_fields(value))).collect()
        }
    }
}
