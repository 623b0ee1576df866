//! What a file is for, as far as its path tells: what is a secret in one place is sample data in another.

use crh_syntax::Language;

/// Folders of tests.
const TESTS: [&str; 7] = ["test", "tests", "testing", "__tests__", "spec", "specs", "e2e"];
/// Folders of what tests are given.
const FIXTURES: [&str; 6] =
    ["fixture", "fixtures", "__fixtures__", "testdata", "test-data", "test_data"];
/// Folders of what tests are held against.
const RECORDED: [&str; 4] = ["snapshots", "__snapshots__", "testsuite", "testcases"];
/// Folders whose files stand for something that is not real.
const STAND_INS: [&str; 7] =
    ["mock", "mocks", "__mocks__", "example", "examples", "sample", "samples"];
/// Folders of what others or programs wrote.
const VENDORED: [&str; 3] = ["vendor", "node_modules", "dist"];

/// Files that programs write and that are full of hashes.
#[rustfmt::skip]
const LOCK_FILES: [&str; 10] = [
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "go.sum", "composer.lock",
    "packages.lock.json", "gradle.lockfile", "deno.lock", "bun.lockb",
];

/// Endings of files in programming languages that have no grammar here.
#[rustfmt::skip]
const CODE: [&str; 29] = [
    "astro", "clj", "cljs", "dart", "ex", "exs", "elm", "erl", "fs", "gradle", "graphql", "gql", "groovy", "hs",
    "jl", "lua", "m", "ml", "mm", "nim", "pl", "pm", "proto", "r", "scala", "sol", "svelte", "vue", "zig",
];

/// Whether a file is a test, or stands for something that is not real.
pub(crate) fn is_sample(path: &str) -> bool {
    let (folders, written) = path.rsplit_once('/').unwrap_or(("", path));
    let name = written.to_ascii_lowercase();
    let stem = name.split('.').next().unwrap_or(&name);
    // `src/jvmTest` and `testFixtures` have words too.
    let is_for_tests = |folder: &str| {
        is_in(&folder.to_ascii_lowercase(), &[&TESTS, &FIXTURES, &STAND_INS])
            || words_of(folder).any(|word| is_test_word(&word))
    };
    folders.split('/').any(is_for_tests)
        || stem.split(['_', '-']).any(is_test_word)
        || name.contains(".test.")
        || name.contains(".spec.")
        || name.split('.').skip(1).any(|part| part == "dist")
        || words_of(written).any(|word| is_sample_word(&word))
}

/// The words of a name, in lower case: `appSettings_v2.json` has `app`, `settings`, `v` and `json`.
pub fn words_of(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        let begins = was_small && letter.is_ascii_uppercase();
        if begins || !letter.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphabetic()) {
            word.push(letter.to_ascii_lowercase());
        }
        was_small = letter.is_ascii_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

fn is_sample_word(word: &str) -> bool {
    matches!(word, "sample" | "samples" | "example" | "examples")
}

/// Whether a file is in a programming language.
pub(crate) fn is_code(path: &str) -> bool {
    Language::of_path(path).is_some() || CODE.contains(&extension(path).as_str())
}

/// Whether a file is data for a test, whatever it is written in.
pub(crate) fn is_fixture(path: &str) -> bool {
    stands_in(path, &[&FIXTURES, &RECORDED])
}

/// Whether a file stands in a folder of tests or of what they are given.
pub(crate) fn is_beside_tests(path: &str) -> bool {
    stands_in(path, &[&TESTS, &FIXTURES])
}

/// The folder around the first folder of tests in a path, with its slash; the top of the repository if there is none.
pub(crate) fn above_tests(folder: &str) -> &str {
    let mut start = 0;
    for part in folder.split_inclusive('/') {
        if is_in(&part.trim_end_matches('/').to_ascii_lowercase(), &[&TESTS]) {
            return &folder[..start];
        }
        start += part.len();
    }
    ""
}

/// Whether a file is a copy of what others wrote, or was built.
pub(crate) fn is_vendored(path: &str) -> bool {
    stands_in(path, &[&VENDORED])
}

fn stands_in(path: &str, lists: &[&[&str]]) -> bool {
    path.split('/').rev().skip(1).any(|folder| is_in(&folder.to_ascii_lowercase(), lists))
}

fn is_in(folder: &str, lists: &[&[&str]]) -> bool {
    lists.iter().any(|list| list.contains(&folder))
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

/// What a file is written in, as far as lines that go from one file to another stay what they are: a language, with its
/// dialects, or else the ending of its name.
pub(crate) fn kind(path: &str) -> String {
    let name = match Language::of_path(path) {
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => {
            Language::JavaScript.name()
        }
        Some(Language::C | Language::Cpp) => Language::C.name(),
        Some(language) => language.name(),
        None => return extension(path).replace("yaml", "yml"),
    };
    name.to_owned()
}

/// What stands behind the last dot of a file's name, in lower case.
pub(crate) fn extension(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    // A name that is not UTF-8 is known as git quotes it.
    let name = if path.starts_with('"') { name.trim_end_matches('"') } else { name };
    name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_of_a_quoted_name_is_its_own() {
        let path = r#""src/caf\351.py""#;
        assert_eq!((extension(path).as_str(), kind(path).as_str()), ("py", "python"));
        assert_eq!((extension("a.py").as_str(), kind("a.yaml").as_str()), ("py", "yml"));
    }

    #[test]
    fn a_sample_is_one_by_its_words() {
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
