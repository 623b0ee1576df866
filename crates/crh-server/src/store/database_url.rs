//! Parses the address of the database.

use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};
use sqlx::any::AnyConnectOptions;

use super::{StoreError, StoreResult};

/// Address of the database. Printing it shows no password.
#[derive(Debug, Clone)]
pub enum DatabaseUrl {
    /// A file. crh creates it if it is missing, but not its folder.
    Sqlite(PathBuf),
    /// `postgres://USER:PASSWORD@HOST/DATABASE`.
    Postgres(SecretString),
}

impl DatabaseUrl {
    /// Reads `postgres://…`, `postgresql://…` or `sqlite:PATH`.
    pub fn parse(text: &str) -> StoreResult<Self> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(SecretString::from(text.to_owned())));
        }
        match text.strip_prefix("sqlite:").map(|path| path.strip_prefix("//").unwrap_or(path)) {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(PathBuf::from(path))),
            // The text may hold a password, so the message does not repeat it.
            _ => Err(StoreError::Address(
                "the address of the database has to start with `postgres://` or `sqlite:`"
                    .to_owned(),
            )),
        }
    }

    /// Where the database is, without user and password.
    pub fn place(&self) -> String {
        match self {
            Self::Sqlite(path) => path.display().to_string(),
            Self::Postgres(url) => {
                let url = url::Url::parse(url.expose_secret()).ok();
                let host = url.as_ref().and_then(|url| url.host_str()).unwrap_or("localhost");
                format!("{host}:{}", url.as_ref().and_then(url::Url::port).unwrap_or(5432))
            }
        }
    }

    pub(super) fn connect_options(&self) -> StoreResult<AnyConnectOptions> {
        let url = match self {
            Self::Sqlite(path) => sqlite_url(path)?,
            Self::Postgres(url) => url.expose_secret().to_owned(),
        };
        url.parse().map_err(|error: sqlx::Error| match self {
            Self::Sqlite(path) => {
                StoreError::Address(format!("cannot open `{}`: {error}", path.display()))
            }
            Self::Postgres(_) => {
                StoreError::Address("the `postgres://` address of the database is wrong".to_owned())
            }
        })
    }
}

/// The path as a URL that creates the file. Everything but plain characters is percent-encoded.
fn sqlite_url(path: &Path) -> StoreResult<String> {
    let text = path.to_str().ok_or_else(|| {
        StoreError::Address(format!("the path `{}` is not UTF-8", path.display()))
    })?;
    let mut url = String::from("sqlite://");
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url.push_str("?mode=rwc");
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_address_is_refused_without_showing_the_password() {
        let error = DatabaseUrl::parse("mysql://user:hunter2@host/db").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let url = DatabaseUrl::parse("postgres://user:hunter2@host:notaport/db").unwrap();
        assert!(!format!("{url:?}").contains("hunter2"));
        let place = |text| DatabaseUrl::parse(text).unwrap().place();
        assert_eq!(place("postgres://user:hunter2@host:7/db"), "host:7");
        assert_eq!(place("postgres://user:hunter2@host/db"), "host:5432");
        let error = url.connect_options().unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn path_with_special_characters_stays_one_path() {
        assert_eq!(
            sqlite_url(Path::new("/tmp/a b?c%/x.db")).unwrap(),
            "sqlite:///tmp/a%20b%3Fc%25/x.db?mode=rwc"
        );
    }
}
