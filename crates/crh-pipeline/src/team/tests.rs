//! Who looks at which change.
