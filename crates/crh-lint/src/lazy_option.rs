//! Expressions that are made when they are first asked: to make one takes longer than to hold it against many texts, and most texts have
//! nothing to ask it about.

use std::sync::LazyLock;

/// Something that is made at the first use; none if it cannot be.
pub(crate) type Lazy<T> = LazyLock<Option<T>, Box<dyn FnOnce() -> Option<T> + Send>>;

/// Something that is made at the first use.
pub(crate) fn lazy<T>(make: impl FnOnce() -> Option<T> + Send + 'static) -> Lazy<T> {
    LazyLock::new(Box::new(make))
}
