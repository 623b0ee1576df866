//! Settings in memory: `key = value` lines, sorted by key.

use std::collections::BTreeMap;
use std::fmt;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct InvalidSetting;

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a key or value is empty, padded or has a line break, or the key has a '=' or '#'",
        )
    }
}

impl std::error::Error for InvalidSetting {}

impl Settings {
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    pub fn set(&mut self, key: &str, value: &str) -> Result<(), InvalidSetting> {
        let plain = |s: &str| !s.is_empty() && s.trim() == s && !s.contains(['\n', '\r']);
        if !plain(key) || !plain(value) || key.contains(['=', '#']) {
            return Err(InvalidSetting);
        }
        self.values.insert(key.to_string(), value.to_string());
        Ok(())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }
}
