//! What is known about a key, where a value came from, and the macro that makes types of the list of keys.

use std::ffi::OsStr;
use std::fmt;

use schemars::{Schema, SchemaGenerator};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{RawSettings, Settings};
use super::value::{Place, Value, Wrong};

/// Who may set a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rank {
    /// The repository too: it tunes what is reviewed.
    Anyone,
    /// The user, the environment and flags: it touches the user's machine, so that no change under review has a
    /// say in it.
    User,
}

/// What a flag does to the value below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It takes its place.
    Replaces,
    /// It comes on top of it.
    Adds,
}

/// The flag of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flag {
    /// The flag, with its dashes.
    pub(crate) name: &'static str,
    /// What stands after it, if anything does.
    pub(crate) value: &'static str,
    pub(crate) effect: Effect,
}

/// The value that is built in, for pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    /// As it would be written in a file.
    Written(&'static str),
    /// It is found out; this says how.
    Found(&'static str),
}

/// What is known about a key besides its type and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Facts {
    /// The section of the file; none for a key that stands before all sections.
    pub(crate) section: Option<&'static str>,
    pub(crate) name: &'static str,
    pub(crate) built_in: BuiltIn,
    pub(crate) rank: Rank,
    /// The variable of the environment.
    pub(crate) variable: Option<&'static str>,
    pub(crate) flag: Option<Flag>,
    /// A value as it is written in a file, better than the one that is built in.
    pub(crate) example: &'static str,
}

/// A key: what is known about it, and what can be done with it.
pub(crate) struct Key {
    pub(crate) facts: Facts,
    /// What it means, in sentences.
    pub(crate) meaning: &'static str,
    /// What it takes, in words.
    pub(crate) wanted: &'static str,
    /// The schema of its value.
    pub(crate) schema: fn(&mut SchemaGenerator) -> Schema,
    /// Reads it from a file.
    pub(crate) read:
        fn(&mut RawSettings, &Spanned<DeValue<'_>>, Place<'_>, Origin) -> Result<(), Wrong>,
    /// Reads it from a variable.
    pub(crate) read_variable: fn(&mut RawSettings, &OsStr, Place<'_>, Origin) -> Result<(), Wrong>,
    /// Its value in effect, null if there is none, and where that came from.
    pub(crate) resolved: fn(&Settings) -> (serde_json::Value, &[Origin]),
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody said anything.
    BuiltIn,
    /// A line of a file.
    File { name: String, line: usize },
    /// A variable of the environment.
    Variable(&'static str),
    /// A flag.
    Flag(&'static str),
}

/// A value that somebody gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// A value in effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    /// Where it came from: one place, or two if a flag added to it.
    pub(crate) origins: Vec<Origin>,
}

impl Facts {
    /// The name with its section: `scope.exclude`.
    pub(crate) fn path(&self) -> String {
        match self.section {
            Some(section) => format!("{section}.{}", self.name),
            None => self.name.to_owned(),
        }
    }
}

impl<T> Given<T> {
    /// A value that a flag gave.
    pub(crate) fn by_flag(flag: &'static str, value: T) -> Self {
        Self { value, origin: Origin::Flag(flag) }
    }
}

impl<T: Value> Setting<T> {
    /// The value in effect: the first that was given, and what a flag does to it.
    pub(crate) fn resolve(
        effect: Effect,
        flag: Option<Given<T>>,
        below: [Option<Given<T>>; 3],
        built_in: impl FnOnce() -> T,
    ) -> Self {
        let found = below.into_iter().flatten().next();
        let found = found.unwrap_or_else(|| Given { value: built_in(), origin: Origin::BuiltIn });
        let mut setting = Self { value: found.value, origins: vec![found.origin] };
        match (flag, effect) {
            (None, _) => {}
            (Some(flag), Effect::Replaces) => {
                setting = Self { value: flag.value, origins: vec![flag.origin] };
            }
            (Some(flag), Effect::Adds) => {
                setting.value.add(flag.value);
                setting.origins.push(flag.origin);
            }
        }
        setting
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built in"),
            Self::File { name, line } => write!(f, "{name}:{line}"),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Makes the types and the table of a list of keys. An entry is what the key means (its documentation), the
/// field, the type, what gives the built-in value, and the facts.
macro_rules! settings {
    ($($(#[doc = $meaning:literal])+ $field:ident: $type:ty = $built_in:expr, $facts:expr;)+) => {
        /// Settings as one source gave them.
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub(crate) struct RawSettings {
            $($(#[doc = $meaning])+ pub(crate) $field: Option<Given<$type>>,)+
        }

        /// Settings in effect: every value is there, with where it came from.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub(crate) struct Settings {
            $($(#[doc = $meaning])+ pub(crate) $field: Setting<$type>,)+
        }

        /// Every key, in the order in which pages show them.
        pub(crate) static KEYS: &[Key] = &[$(Key {
            facts: $facts,
            meaning: concat!($($meaning),+),
            wanted: <$type as Value>::WANTED,
            schema: |schemas| schemas.subschema_for::<<$type as Value>::Written>(),
            read: |raw, value, place, origin| {
                raw.$field = Some(Given { value: <$type>::from_toml(value, place)?, origin });
                Ok(())
            },
            read_variable: |raw, value, place, origin| {
                raw.$field = Some(Given { value: <$type>::from_variable(value, place)?, origin });
                Ok(())
            },
            resolved: |settings| (settings.$field.value.json(), settings.$field.origins.as_slice()),
        }),+];

        impl Settings {
            /// The value of every key, by the precedence of its sources.
            pub(crate) fn resolve(sources: Sources, environment: &Environment) -> Self {
                let Sources { flags, variables, repository, user } = sources;
                Self {$(
                    $field: Setting::resolve(
                        $facts.flag.map_or(Effect::Replaces, |flag| flag.effect),
                        flags.$field,
                        [variables.$field, repository.$field, user.$field],
                        || $built_in(environment),
                    ),
                )+}
            }
        }
    };
}

pub(super) use settings;
