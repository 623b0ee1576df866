//! Specification of config keys, origins of values, and the macro that generates the settings
//! types.

use std::ffi::OsStr;
use std::fmt;

use schemars::{Schema, SchemaGenerator};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{RawSettings, Settings};
use super::value::{ConfigValue, PathContext, ValueError};

/// Who may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyAccess {
    /// Repositories, users, the environment and flags.
    Anyone,
    /// Users, the environment and flags. The key affects the user's machine or costs, so a
    /// repository must not set it.
    UserOnly,
    /// Users, the environment and flags. The value of a repository counts only if it is not milder
    /// than theirs, and a flag overrides it.
    RepositoryStricter,
}

/// How a flag combines with values of lower precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlagEffect {
    /// The flag replaces these values.
    Replaces,
    /// The flag adds to these values.
    Adds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyFlag {
    /// Name with its dashes.
    pub(crate) name: &'static str,
    /// Placeholder of the value; empty for a switch.
    pub(crate) value: &'static str,
    pub(crate) effect: FlagEffect,
}

/// Default value, for documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefaultValue {
    /// As written in a config file.
    Literal(&'static str),
    /// Computed at run time; the text says how.
    Computed(&'static str),
}

/// Specification of a key, without its type and description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeySpec {
    /// Section of the file; none for top-level keys.
    pub(crate) section: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) default: DefaultValue,
    pub(crate) access: KeyAccess,
    /// Environment variable.
    pub(crate) variable: Option<&'static str>,
    pub(crate) flag: Option<KeyFlag>,
    /// Example value as written in a config file, different from the default.
    pub(crate) example: &'static str,
}

/// A key with its specification and accessors.
pub(crate) struct ConfigKey {
    pub(crate) spec: KeySpec,
    pub(crate) description: &'static str,
    /// Description of valid values; completes "must be".
    pub(crate) expected: &'static str,
    /// JSON Schema of the value.
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    /// Parses the value of a config file.
    pub(crate) read: fn(
        &mut RawSettings,
        &Spanned<DeValue<'_>>,
        PathContext<'_>,
        SettingOrigin,
    ) -> Result<(), ValueError>,
    /// Parses the value of an environment variable.
    pub(crate) read_variable:
        fn(&mut RawSettings, &OsStr, PathContext<'_>, SettingOrigin) -> Result<(), ValueError>,
    /// Value in effect (null if none) and its origins.
    pub(crate) resolved: fn(&Settings) -> (serde_json::Value, &[SettingOrigin]),
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// Not set anywhere.
    Default,
    File {
        name: String,
        line: usize,
    },
    /// An environment variable.
    Variable(&'static str),
    Flag(&'static str),
}

/// A value with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourcedValue<T> {
    pub(crate) value: T,
    pub(crate) origin: SettingOrigin,
}

/// The value in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResolvedSetting<T> {
    pub(crate) value: T,
    /// One origin, or two if a flag added to the value.
    pub(crate) origins: Vec<SettingOrigin>,
    /// Value of the repository that is milder than `value` and has no effect.
    pub(crate) milder: Option<SourcedValue<T>>,
}

impl KeySpec {
    /// Name with section, such as `scope.exclude`.
    pub(crate) fn path(&self) -> String {
        match self.section {
            Some(section) => format!("{section}.{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

impl<T> SourcedValue<T> {
    /// A value from a flag.
    pub(crate) fn from_flag(flag: &'static str, value: T) -> Self {
        Self { value, origin: SettingOrigin::Flag(flag) }
    }
}

impl<T: ConfigValue> ResolvedSetting<T> {
    /// Takes the first value of the variable, the repository and the user, else the default, with
    /// the exception of [`KeyAccess::RepositoryStricter`]. Then applies the flag.
    pub(crate) fn resolve(
        spec: &KeySpec,
        flag: Option<SourcedValue<T>>,
        [variable, repository, user]: [Option<SourcedValue<T>>; 3],
        default: impl FnOnce() -> T,
    ) -> Self {
        let effect = spec.flag.map_or(FlagEffect::Replaces, |flag| flag.effect);
        let default = || SourcedValue { value: default(), origin: SettingOrigin::Default };
        let (base, milder) = match spec.access {
            KeyAccess::Anyone | KeyAccess::UserOnly => {
                (variable.or(repository).or(user).unwrap_or_else(default), None)
            }
            KeyAccess::RepositoryStricter => {
                let base = variable.or(user).unwrap_or_else(default);
                match repository {
                    Some(set) if set.value.is_not_milder_than(&base.value) => (set, None),
                    milder => (base, milder),
                }
            }
        };
        let mut setting = Self { value: base.value, origins: vec![base.origin], milder };
        match (flag, effect) {
            (None, _) => {}
            (Some(flag), FlagEffect::Replaces) => {
                setting = Self { value: flag.value, origins: vec![flag.origin], milder: None };
            }
            (Some(flag), FlagEffect::Adds) => {
                setting.value.add(flag.value);
                setting.origins.push(flag.origin);
            }
        }
        setting
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("built in"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Generates the settings types and the key table. Each entry has a description (its doc comment),
/// a field, a type, a function for the default value, and a specification.
macro_rules! settings {
    ($($(#[doc = $description:literal])+ $field:ident: $type:ty = $default:expr, $spec:expr;)+) => {
        /// Settings of one source.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub(crate) struct RawSettings {
            $($(#[doc = $description])+ pub(crate) $field: Option<SourcedValue<$type>>,)+
        }

        /// Settings in effect: a value with its origin for every key.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) struct Settings {
            $($(#[doc = $description])+ pub(crate) $field: ResolvedSetting<$type>,)+
        }

        /// All keys, in the order of the documentation.
        pub(crate) static KEYS: &[ConfigKey] = &[$(ConfigKey {
            spec: $spec,
            description: concat!($($description),+),
            expected: <$type as ConfigValue>::EXPECTED,
            schema: |schemas| schemas.subschema_for::<<$type as ConfigValue>::TomlType>(),
            read: |raw, value, paths, origin| {
                raw.$field = Some(SourcedValue { value: <$type>::from_toml(value, paths)?, origin });
                Ok(())
            },
            read_variable: |raw, value, paths, origin| {
                raw.$field = Some(SourcedValue { value: <$type>::from_variable(value, paths)?, origin });
                Ok(())
            },
            resolved: |settings| (settings.$field.value.json(), settings.$field.origins.as_slice()),
        }),+];

        impl Settings {
            /// Resolves every key by the precedence of its sources.
            pub(crate) fn resolve(sources: SettingSources, environment: &Environment) -> Self {
                let SettingSources { flags, variables, repository, user } = sources;
                Self {$(
                    $field: ResolvedSetting::resolve(
                        &$spec,
                        flags.$field,
                        [variables.$field, repository.$field, user.$field],
                        || $default(environment),
                    ),
                )+}
            }
        }
    };
}

pub(super) use settings;
