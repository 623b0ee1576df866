//! The purpose of a file, judged by its path. For example, a credential in a test is sample data.

use crh_syntax::Language;

const TEST_FOLDERS: [&str; 7] = ["test", "tests", "testing", "__tests__", "spec", "specs", "e2e"];
const FIXTURE_FOLDERS: [&str; 6] =
    ["fixture", "fixtures", "__fixtures__", "testdata", "test-data", "test_data"];
/// Folders with snapshots, or with test cases that are data.
const TEST_DATA_FOLDERS: [&str; 4] = ["snapshots", "__snapshots__", "testsuite", "testcases"];
const SAMPLE_FOLDERS: [&str; 7] =
    ["mock", "mocks", "__mocks__", "example", "examples", "sample", "samples"];
/// Folders with third-party files or build output.
const VENDOR_FOLDERS: [&str; 3] = ["vendor", "node_modules", "dist"];

/// Generated files that are full of hashes.
#[rustfmt::skip]
const LOCK_FILES: [&str; 10] = [
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "go.sum", "composer.lock",
    "packages.lock.json", "gradle.lockfile", "deno.lock", "bun.lockb",
];

/// Extensions of programming languages that crh has no grammar for.
#[rustfmt::skip]
const CODE_EXTENSIONS: [&str; 29] = [
    "astro", "clj", "cljs", "dart", "ex", "exs", "elm", "erl", "fs", "gradle", "graphql", "gql", "groovy", "hs",
    "jl", "lua", "m", "ml", "mm", "nim", "pl", "pm", "proto", "r", "scala", "sol", "svelte", "vue", "zig",
];

/// Whether a file is a sample: a test, a mock, a fixture, an example or a template.
pub(crate) fn is_sample(path: &str) -> bool {
    let (folders, file_name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = file_name.to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or(&name);
    // Folder names such as `src/jvmTest` and `testFixtures` contain the word `test` too.
    let is_for_tests = |folder: &str| {
        is_listed(&folder.to_ascii_lowercase(), &[&TEST_FOLDERS, &FIXTURE_FOLDERS, &SAMPLE_FOLDERS])
            || name_words(folder).any(|word| is_test_word(&word))
    };
    folders.split('/').any(is_for_tests)
        || stem.split(['_', '-']).any(is_test_word)
        || name.contains(".test.")
        || name.contains(".spec.")
        // Templates such as `phpunit.xml.dist`.
        || name.split('.').skip(1).any(|part| part == "dist")
        || name_words(file_name).any(|word| is_sample_word(&word))
}

/// The words of a name in lower case: `appSettings_v2.json` has `app`, `settings`, `v` and `json`.
pub fn name_words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower_case = false;
    for letter in name.chars() {
        let starts_word = was_lower_case && letter.is_ascii_uppercase();
        if starts_word || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphabetic()) {
            word.push(letter.to_ascii_lowercase());
        }
        was_lower_case = letter.is_ascii_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

fn is_sample_word(word: &str) -> bool {
    matches!(word, "sample" | "samples" | "example" | "examples")
}

/// Whether a file is in a programming language.
pub(crate) fn is_code(path: &str) -> bool {
    Language::from_path(path).is_some() || CODE_EXTENSIONS.contains(&extension(path).as_str())
}

/// Whether a file has the extension of a common data format. In such a file, a first line such as
/// `#!/usr/bin/python` does not tell the language.
pub(crate) fn is_data(path: &str) -> bool {
    matches!(extension(path).as_str(), "json" | "yaml" | "yml" | "toml" | "md" | "lock" | "svg")
}

/// Whether a file is in a folder of fixtures, snapshots or test cases.
pub(crate) fn is_fixture(path: &str) -> bool {
    is_in_listed_folder(path, &[&FIXTURE_FOLDERS, &TEST_DATA_FOLDERS])
}

/// Whether a file is in a folder of tests or fixtures.
pub(crate) fn is_in_test_folder(path: &str) -> bool {
    is_in_listed_folder(path, &[&TEST_FOLDERS, &FIXTURE_FOLDERS])
}

/// Whether a file is a sample or a document.
pub(crate) fn is_sample_or_document(path: &str) -> bool {
    // HTML pages count as programs, although `is_document` lists them.
    let is_page = matches!(extension(path).as_str(), "html" | "htm");
    is_sample(path) || is_document(path) && !is_page
}

/// Whether a file belongs to the program: it is no test, fixture, example or document.
pub fn is_in_use(path: &str) -> bool {
    !is_sample_or_document(path) && !is_fixture(path)
}

/// The folder above the first test folder in a path, with a trailing slash. Empty if there is no
/// test folder, or no folder above it.
pub(crate) fn folder_above_tests(folder: &str) -> &str {
    let mut start = 0;
    for part in folder.split_inclusive('/') {
        if is_listed(&part.trim_end_matches('/').to_ascii_lowercase(), &[&TEST_FOLDERS]) {
            return &folder[..start];
        }
        start += part.len();
    }
    ""
}

/// Whether a file is third-party code or build output.
pub(crate) fn is_vendored(path: &str) -> bool {
    is_in_listed_folder(path, &[&VENDOR_FOLDERS])
}

fn is_in_listed_folder(path: &str, lists: &[&[&str]]) -> bool {
    path.split('/').rev().skip(1).any(|folder| is_listed(&folder.to_ascii_lowercase(), lists))
}

fn is_listed(folder: &str, lists: &[&[&str]]) -> bool {
    lists.iter().any(|list| list.contains(&folder))
}

fn is_test_word(word: &str) -> bool {
    matches!(word, "test" | "tests" | "mock" | "mocks" | "fixture" | "fixtures" | "conftest")
}

/// Whether a file is documentation.
pub(crate) fn is_document(path: &str) -> bool {
    let extension = extension(path);
    matches!(
        extension.as_str(),
        "md" | "mdx" | "markdown" | "rst" | "adoc" | "txt" | "html" | "htm" | "tex"
    ) || path.split('/').any(|part| matches!(part, "docs" | "doc" | "documentation"))
}

pub(crate) fn is_lock(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.contains(&name) || name.ends_with(".lock") || name.ends_with(".lockfile")
}

/// Key of a language for comparing moved lines: the language with its dialects, otherwise the file
/// extension.
pub(crate) fn language_key(path: &str) -> String {
    let name = match Language::from_path(path) {
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            Language::JavaScript.name()
        }
        Some(Language::C | Language::Cpp) => Language::C.name(),
        Some(language) => language.name(),
        None => return extension(path).replace("yaml", "yml"),
    };
    name.to_owned()
}

/// The file extension in lower case.
pub(crate) fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    // Git writes a path that is not UTF-8 in quotes.
    let name = if path.starts_with('"') { name.trim_end_matches('"') } else { name };
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_path_has_its_extension() {
        let path = r#""src/caf\351.py""#;
        assert_eq!((extension(path).as_str(), language_key(path).as_str()), ("py", "python"));
        assert_eq!((extension("a.py").as_str(), language_key("a.yaml").as_str()), ("py", "yml"));
    }

    #[test]
    fn samples_are_recognized_by_words_in_the_path() {
        let samples = ".env.example .env.sample a.dist.php phpunit.xml.dist exampleConfig.ts sample_2.json \
                       AppExample.java examples.py env-sample tests/a.py a.test.ts EXAMPLE.env example1.py \
                       src/jvmTest/a.kt testFixtures/a.kt a_test.go";
        for path in samples.split_whitespace() {
            assert!(is_sample(path), "{path}");
        }
        let others = "sampler.py resample.py src/samplers/Sampler.java a.distance.py dist.py distribution.rs counterexampled.py \
                      contest/a.py src/latest/a.py";
        for path in others.split_whitespace() {
            assert!(!is_sample(path), "{path}");
        }
    }
}
