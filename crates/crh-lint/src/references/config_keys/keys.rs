//! Files that set configuration keys, and the parser for their lines.

use crate::paths;

/// Minimum characters of a key in a YAML, TOML or JSON file. Shorter keys are ordinary words.
const DISTINCTIVE_CHARS_MIN: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigKind {
    /// Environment variables: `.env` and its templates.
    Environment,
    /// Constants of a Django settings module.
    Django,
    /// Entries of a YAML, TOML or JSON settings file.
    Data,
}

/// A key and its value as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConfigLine<'l> {
    pub(super) name: &'l str,
    pub(super) value: &'l str,
}

impl ConfigKind {
    /// The kind of a configuration file, by its path.
    pub(super) fn from_path(path: &str) -> Option<Self> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = folders.rsplit('/').next().unwrap_or(folders);
        let is_environment = name == ".envrc"
            || name == ".env"
            || name.starts_with(".env.")
            || name.starts_with(".env-")
            || name.ends_with(".env")
            || name.starts_with("env.") && Self::is_template(name);
        if is_environment {
            return Some(Self::Environment);
        }
        if name == "settings.py" || folder == "settings" && name.ends_with(".py") {
            return Some(Self::Django);
        }
        let is_data = matches!(paths::extension(path).as_str(), "yml" | "yaml" | "toml" | "json");
        let name_prefixes = ["config", "settings", "application", "appsettings"];
        let is_named = name_prefixes.iter().any(|it| name.starts_with(it))
            || matches!(folder, "config" | "conf" | "settings");
        let is_hidden = folders.split('/').any(|it| it.starts_with('.'));
        (is_data && is_named && !is_hidden).then_some(Self::Data)
    }

    fn is_template(name: &str) -> bool {
        ["example", "sample", "template", "dist"].iter().any(|it| name.ends_with(it))
    }

    /// The key that a line sets, unless the key is too common to search for.
    pub(super) fn parse_line<'l>(self, path: &str, line: &'l str) -> Option<ConfigLine<'l>> {
        match self {
            Self::Environment => {
                let line = line.trim_start();
                let line = line.strip_prefix("export ").unwrap_or(line);
                let (name, value) = line.split_once('=')?;
                let name = name.trim_end();
                let is_key = is_upper_case(name) && !AMBIENT_VARIABLES.contains(&name);
                is_key.then_some(ConfigLine { name, value: value.trim() })
            }
            Self::Django => {
                let end = line.find(|it: char| !(it.is_alphanumeric() || it == '_'))?;
                let (name, rest) = line.split_at(end);
                let rest = rest.trim_start();
                let value = match rest.strip_prefix(':') {
                    Some(annotated) => annotated.split_once('=')?.1,
                    None => rest.strip_prefix('=').filter(|it| !it.starts_with('='))?,
                };
                let is_key = is_upper_case(name) && !DJANGO_DEFAULTS.contains(&name);
                is_key.then_some(ConfigLine { name, value: value.trim() })
            }
            Self::Data => {
                let line = line.trim_start();
                let line = line.strip_prefix("- ").unwrap_or(line);
                let separator = if paths::extension(path) == "toml" { '=' } else { ':' };
                let (name, value) = line.split_once(separator)?;
                let name = name.trim().trim_matches(['"', '\'']);
                is_distinctive(name).then_some(ConfigLine { name, value: value.trim() })
            }
        }
    }
}

/// Whether a name is written like a constant. Names of up to three letters are too common.
fn is_upper_case(name: &str) -> bool {
    name.len() > 3
        && name.starts_with(|it: char| it.is_ascii_uppercase())
        && name.chars().all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_')
}

/// Whether a name has several words. Unrelated code rarely uses such a name by chance.
fn is_distinctive(name: &str) -> bool {
    let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_';
    let inner = name.trim_matches('_');
    let is_camel_case = name
        .as_bytes()
        .windows(2)
        .any(|it| it[0].is_ascii_lowercase() && it[1].is_ascii_uppercase());
    name.len() >= DISTINCTIVE_CHARS_MIN
        && name.chars().all(is_word)
        && (inner.contains('_') || is_camel_case)
}

/// Variables that the system, the shell, the platform or the CI runner sets.
#[rustfmt::skip]
const AMBIENT_VARIABLES: &[&str] = &[
    "PATH", "HOME", "USER", "SHELL", "LANG", "TERM", "PWD", "TMPDIR", "TEMP", "HOSTNAME", "LOGNAME", "EDITOR", "PAGER", "DISPLAY",
    "PORT", "NODE_ENV", "RAILS_ENV", "RACK_ENV", "GITHUB_TOKEN", "GITHUB_ACTIONS", "GITHUB_SHA", "GITHUB_REF", "VIRTUAL_ENV",
    "PYTHONPATH", "NODE_OPTIONS", "NO_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "JAVA_HOME",
];

/// Settings for which Django has a default.
#[rustfmt::skip]
const DJANGO_DEFAULTS: &[&str] = &[
    "ABSOLUTE_URL_OVERRIDES", "ADMINS", "ALLOWED_HOSTS", "APPEND_SLASH", "AUTHENTICATION_BACKENDS", "AUTH_PASSWORD_VALIDATORS",
    "AUTH_USER_MODEL", "CACHES", "CACHE_MIDDLEWARE_ALIAS", "CACHE_MIDDLEWARE_KEY_PREFIX", "CACHE_MIDDLEWARE_SECONDS",
    "CSRF_COOKIE_AGE", "CSRF_COOKIE_DOMAIN", "CSRF_COOKIE_HTTPONLY", "CSRF_COOKIE_MASKED", "CSRF_COOKIE_NAME", "CSRF_COOKIE_PATH",
    "CSRF_COOKIE_SAMESITE", "CSRF_COOKIE_SECURE", "CSRF_FAILURE_VIEW", "CSRF_HEADER_NAME", "CSRF_TRUSTED_ORIGINS",
    "CSRF_USE_SESSIONS", "DATABASES", "DATABASE_ROUTERS", "DATA_UPLOAD_MAX_MEMORY_SIZE", "DATA_UPLOAD_MAX_NUMBER_FIELDS",
    "DATA_UPLOAD_MAX_NUMBER_FILES", "DATETIME_FORMAT", "DATETIME_INPUT_FORMATS", "DATE_FORMAT", "DATE_INPUT_FORMATS", "DEBUG",
    "DEBUG_PROPAGATE_EXCEPTIONS", "DECIMAL_SEPARATOR", "DEFAULT_AUTO_FIELD", "DEFAULT_CHARSET", "DEFAULT_EXCEPTION_REPORTER",
    "DEFAULT_EXCEPTION_REPORTER_FILTER", "DEFAULT_FILE_STORAGE", "DEFAULT_FROM_EMAIL", "DEFAULT_INDEX_TABLESPACE",
    "DEFAULT_TABLESPACE", "DISALLOWED_USER_AGENTS", "EMAIL_BACKEND", "EMAIL_HOST", "EMAIL_HOST_PASSWORD", "EMAIL_HOST_USER",
    "EMAIL_PORT", "EMAIL_SSL_CERTFILE", "EMAIL_SSL_KEYFILE", "EMAIL_SUBJECT_PREFIX", "EMAIL_TIMEOUT", "EMAIL_USE_LOCALTIME",
    "EMAIL_USE_SSL", "EMAIL_USE_TLS", "FILE_UPLOAD_DIRECTORY_PERMISSIONS", "FILE_UPLOAD_HANDLERS", "FILE_UPLOAD_MAX_MEMORY_SIZE",
    "FILE_UPLOAD_PERMISSIONS", "FILE_UPLOAD_TEMP_DIR", "FIRST_DAY_OF_WEEK", "FIXTURE_DIRS", "FORCE_SCRIPT_NAME",
    "FORMAT_MODULE_PATH", "FORMS_URLFIELD_ASSUME_HTTPS", "FORM_RENDERER", "IGNORABLE_404_URLS", "INSTALLED_APPS", "INTERNAL_IPS",
    "LANGUAGES", "LANGUAGES_BIDI", "LANGUAGE_CODE", "LANGUAGE_COOKIE_AGE", "LANGUAGE_COOKIE_DOMAIN", "LANGUAGE_COOKIE_HTTPONLY",
    "LANGUAGE_COOKIE_NAME", "LANGUAGE_COOKIE_PATH", "LANGUAGE_COOKIE_SAMESITE", "LANGUAGE_COOKIE_SECURE", "LOCALE_PATHS",
    "LOGGING", "LOGGING_CONFIG", "LOGIN_REDIRECT_URL", "LOGIN_URL", "LOGOUT_REDIRECT_URL", "MANAGERS", "MEDIA_ROOT", "MEDIA_URL",
    "MESSAGE_LEVEL", "MESSAGE_STORAGE", "MESSAGE_TAGS", "MIDDLEWARE", "MIGRATION_MODULES", "MONTH_DAY_FORMAT", "NUMBER_GROUPING",
    "PASSWORD_HASHERS", "PASSWORD_RESET_TIMEOUT", "PREPEND_WWW", "ROOT_URLCONF", "SECRET_KEY", "SECRET_KEY_FALLBACKS",
    "SECURE_CONTENT_TYPE_NOSNIFF", "SECURE_CROSS_ORIGIN_OPENER_POLICY", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD",
    "SECURE_HSTS_SECONDS", "SECURE_PROXY_SSL_HEADER", "SECURE_REDIRECT_EXEMPT", "SECURE_REFERRER_POLICY", "SECURE_SSL_HOST",
    "SECURE_SSL_REDIRECT", "SERVER_EMAIL", "SESSION_CACHE_ALIAS", "SESSION_COOKIE_AGE", "SESSION_COOKIE_DOMAIN",
    "SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_NAME", "SESSION_COOKIE_PATH", "SESSION_COOKIE_SAMESITE", "SESSION_COOKIE_SECURE",
    "SESSION_ENGINE", "SESSION_EXPIRE_AT_BROWSER_CLOSE", "SESSION_FILE_PATH", "SESSION_SAVE_EVERY_REQUEST", "SESSION_SERIALIZER",
    "SHORT_DATETIME_FORMAT", "SHORT_DATE_FORMAT", "SIGNING_BACKEND", "SILENCED_SYSTEM_CHECKS", "STATICFILES_DIRS",
    "STATICFILES_FINDERS", "STATICFILES_STORAGE", "STATIC_ROOT", "STATIC_URL", "STORAGES", "TEMPLATES", "TEST_RUNNER",
    "THOUSAND_SEPARATOR", "TIME_FORMAT", "TIME_INPUT_FORMATS", "TIME_ZONE", "USE_I18N", "USE_L10N",
    "USE_THOUSAND_SEPARATOR", "USE_TZ", "USE_X_FORWARDED_HOST", "USE_X_FORWARDED_PORT", "WSGI_APPLICATION", "X_FRAME_OPTIONS",
    "YEAR_MONTH_FORMAT",
];
