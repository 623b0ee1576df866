//! What a file is for, as far as its path tells: what is a secret in one place is sample data in another.

/// Folders whose files stand for something that is not real.
#[rustfmt::skip]
const SAMPLE_FOLDERS: [&str; 20] = [
    "test", "tests", "testing", "testdata", "test-data", "test_data", "__tests__", "spec", "specs", "e2e",
    "fixture", "fixtures", "__fixtures__", "mock", "mocks", "__mocks__", "example", "examples", "sample",
    "samples",
];

/// Files that programs write and that are full of hashes.
#[rustfmt::skip]
const LOCK_FILES: [&str; 10] = [
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "go.sum", "composer.lock",
    "packages.lock.json", "gradle.lockfile", "deno.lock", "bun.lockb",
];

/// Whether a file is a test, or stands for something that is not real.
pub(crate) fn is_sample(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let stem = name.split('.').next().unwrap_or(name);
    let words = |part: &str| part.split(['_', '-', '.']).any(is_test_word);
    folders.split('/').any(|folder| SAMPLE_FOLDERS.contains(&folder) || words(folder))
        || words(stem)
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.contains("example")
        || name.contains("sample")
        || name.contains(".dist")
}

fn is_test_word(word: &str) -> bool {
    matches!(word, "test" | "tests" | "mock" | "mocks" | "fixture" | "fixtures" | "conftest")
}

/// Whether a file is read by people rather than by programs.
pub(crate) fn is_document(path: &str) -> bool {
    let extension = extension(path);
    matches!(
        extension.as_str(),
        "md" | "mdx" | "markdown" | "rst" | "adoc" | "txt" | "html" | "htm" | "tex"
    ) || path.split('/').any(|part| matches!(part, "docs" | "doc" | "documentation"))
}

/// Whether a file is a list of hashes that a program wrote.
pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.contains(&name) || name.ends_with(".lock") || name.ends_with(".lockfile")
}

/// What stands behind the last dot of a file's name, in lower case.
pub(crate) fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase()
}
