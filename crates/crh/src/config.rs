//! What the environment says. Nothing else reads it.

/// Whether the user wants no colours (<https://no-color.org>): set and not empty.
pub(crate) fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}
