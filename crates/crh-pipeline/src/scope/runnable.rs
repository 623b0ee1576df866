//! Decides by name and content whether a file can run: as a program, as part of one, or because a
//! tool starts it.

use super::role;

/// Whether a file can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runnable {
    /// Source code, a script, or a file that a tool starts.
    Code,
    /// A compiled program or a package with one.
    Program,
    /// Data or documentation.
    No,
    /// The name does not tell.
    Unknown,
}

/// Compiled programs and packages that contain programs.
const PROGRAM_EXTENSIONS: &[&str] = &[
    "a", "apk", "class", "crx", "deb", "dll", "dylib", "egg", "elf", "exe", "gem", "jar", "ko",
    "lib", "msi", "node", "nupkg", "o", "pyc", "pyd", "pyo", "rpm", "so", "vsix", "war", "wasm",
    "whl", "xpi",
];

/// Data that no tool starts. Archives are in the list, because no reader can see into them.
const DATA_EXTENSIONS: &[&str] = &[
    "7z", "ai", "avi", "avif", "bmp", "br", "bz2", "csv", "cur", "dat", "db", "doc", "docx", "eot",
    "epub", "flac", "gif", "glb", "gpg", "gz", "heic", "icns", "ico", "jp2", "jpeg", "jpg", "key",
    "lz4", "mo", "mov", "mp3", "mp4", "npy", "npz", "odp", "ods", "odt", "ogg", "onnx", "otf",
    "p12", "parquet", "pb", "pdf", "pfx", "pickle", "pkl", "plist", "png", "pptx", "psd", "rar",
    "sketch", "sqlite", "svgz", "tar", "tgz", "tif", "tiff", "ttc", "ttf", "wav", "webm", "webp",
    "woff", "woff2", "xcf", "xls", "xlsx", "xz", "zip", "zst",
];

/// Code that only describes looks, formats or interfaces.
const INERT_CODE_EXTENSIONS: &[&str] = &[
    "css", "frag", "glsl", "gql", "graphql", "hlsl", "less", "metal", "mjml", "prisma", "proto",
    "sass", "scss", "styl", "thrift", "vert", "wgsl",
];

/// Files that tools start without being named in the code.
const AUTO_RUN_NAMES: &[&str] = &[
    ".envrc",
    ".gitlab-ci.yml",
    ".npmrc",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".yarnrc.yml",
    "Dockerfile",
    "GNUmakefile",
    "Gemfile",
    "Gruntfile.js",
    "Jenkinsfile",
    "Makefile",
    "Rakefile",
    "Vagrantfile",
    "binding.gyp",
    "build.rs",
    "conftest.py",
    "docker-compose.yml",
    "gulpfile.js",
    "justfile",
    "makefile",
    "noxfile.py",
    "package.json",
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "sitecustomize.py",
    "tox.ini",
    "usercustomize.py",
];

/// Folders whose files tools start.
const AUTO_RUN_FOLDERS: &[&str] = &[
    ".cargo",
    ".circleci",
    ".devcontainer",
    ".githooks",
    ".github/actions",
    ".github/workflows",
    ".husky",
    ".vscode",
];

/// Folders of files that tests read but do not run.
const FIXTURE_FOLDERS: &[&str] =
    &["__fixtures__", "corpus", "fixtures", "test-data", "test_data", "testdata"];

/// First bytes of compiled programs: ELF, Mach-O, Java, WebAssembly, Windows.
const PROGRAM_STARTS: &[&[u8]] = &[
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
    b"\0asm",
    b"MZ",
];

/// Whether a file with this path can run.
pub(super) fn by_path(path: &str) -> Runnable {
    let extension = role::extension(file_name(path));
    let is_in = |list: &[&str]| list.contains(&extension.as_str());
    if is_auto_run(path) {
        Runnable::Code
    } else if is_in(PROGRAM_EXTENSIONS) {
        Runnable::Program
    } else if is_in(INERT_CODE_EXTENSIONS) || is_in(DATA_EXTENSIONS) {
        Runnable::No
    } else if role::is_code(path) {
        Runnable::Code
    } else if role::is_known_text(path) {
        Runnable::No
    } else {
        Runnable::Unknown
    }
}

/// Whether a file whose name does not tell can run.
pub(super) fn by_content(path: &str, content: &[u8]) -> Runnable {
    if PROGRAM_STARTS.iter().any(|start| content.starts_with(start)) {
        Runnable::Program
    } else if content.starts_with(b"#!") || !file_name(path).contains('.') && is_text(content) {
        Runnable::Code
    } else {
        Runnable::No
    }
}

/// Whether a tool starts a file with this path.
pub(super) fn is_auto_run(path: &str) -> bool {
    let name = file_name(path);
    AUTO_RUN_NAMES.contains(&name)
        || name.ends_with(".pth")
        || contains_folder(path, AUTO_RUN_FOLDERS)
}

/// Whether tests read the file as data.
pub(super) fn is_fixture(path: &str) -> bool {
    contains_folder(path, FIXTURE_FOLDERS)
}

/// Whether a file name without a known extension may be a script: `deploy`, `bin/run`.
pub(super) fn has_no_extension(path: &str) -> bool {
    !file_name(path).contains('.')
}

fn contains_folder(path: &str, folders: &[&str]) -> bool {
    let path = format!("/{path}");
    folders.iter().any(|folder| path.contains(&format!("/{folder}/")))
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether content with zero bytes is text apart from them.
fn is_text(content: &[u8]) -> bool {
    let start = &content[..content.len().min(8_000)];
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r');
    start.iter().filter(is_control).count() * 50 <= start.len()
}
