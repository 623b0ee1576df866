//! Lazily built values. Compiling a regular expression costs more than searching many texts with
//! it, and most texts need no search.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// A value built on first use; `None` if that fails.
pub(crate) type LazyOption<T> = LazyLock<Option<T>, Box<dyn FnOnce() -> Option<T> + Send>>;

pub(crate) fn lazy<T>(make: impl FnOnce() -> Option<T> + Send + 'static) -> LazyOption<T> {
    LazyLock::new(Box::new(make))
}

/// A regular expression without Unicode classes, which are slow and large.
pub(crate) fn bytes_regex(pattern: &str) -> Option<Regex> {
    RegexBuilder::new(pattern).unicode(false).build().ok()
}
