//! What a review leaves for later: todo files in the repository.

pub(crate) mod todos;

#[cfg(test)]
mod tests_support;
