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
    /// Configuration. A tool may run commands that it contains.
    Config,
    /// Data or documentation.
    No,
    /// Unknown from the name.
    Unknown,
}

/// Compiled programs, packages that contain programs, pickled objects, which run code when they are
/// loaded, and office documents with macros. The old formats `doc`, `xls` and `ppt` are data: most
/// have no macros.
const PROGRAM_EXTENSIONS: &[&str] = &[
    "a", "aar", "apk", "appimage", "asar", "beam", "ckpt", "class", "com", "conda", "crate", "crx",
    "deb", "dex", "dill", "dll", "docm", "dotm", "dylib", "ear", "efi", "egg", "elc", "elf", "exe",
    "gem", "hbc", "jar", "joblib", "jsc", "ko", "lib", "lnk", "luac", "msi", "msix", "node",
    "nupkg", "o", "pex", "phar", "pickle", "pkl", "potm", "ppam", "ppsm", "pptm", "pt", "pth",
    "pyc", "pyd", "pyo", "pyz", "rpm", "sldm", "so", "swf", "vsix", "war", "wasm", "whl", "xlam",
    "xlsb", "xlsm", "xltm", "xpi",
];

/// Data that no tool starts. Archives are in the list, because no reviewer can read them.
const DATA_EXTENSIONS: &[&str] = &[
    "7z", "aac", "ai", "aif", "aiff", "arrow", "asc", "aseprite", "astc", "avi", "avif", "avro",
    "blend", "bmp", "br", "bson", "bz2", "cer", "crt", "csv", "cur", "dat", "db", "dds", "der",
    "dict", "doc", "docx", "dwg", "eot", "epub", "exr", "fbx", "feather", "fig", "flac", "gif",
    "glb", "gltf", "glyphs", "gpg", "gz", "h5", "hdf5", "hdr", "heic", "icc", "icns", "ico", "idx",
    "indd", "jks", "jp2", "jpeg", "jpg", "jxl", "key", "keystore", "ktx", "ktx2", "ldb", "lz4",
    "lzma", "m4a", "m4v", "mat", "mid", "mkv", "mmdb", "mo", "mov", "mp2", "mp3", "mp4", "mpeg",
    "mpg", "nib", "npy", "npz", "odp", "ods", "odt", "ogg", "onnx", "opus", "orc", "otf", "p12",
    "pack", "parquet", "pb", "pbf", "pcap", "pcapng", "pdf", "pem", "pfb", "pfm", "pfx", "pgm",
    "plist", "png", "ppm", "ppt", "pptx", "psd", "qm", "rar", "rdb", "rtf", "sav", "shp", "sig",
    "sketch", "sqlite", "sqlite3", "stl", "strings", "svgz", "tar", "tga", "tgz", "tif", "tiff",
    "ttc", "ttf", "usdz", "vtf", "wav", "webm", "webp", "wmf", "wmv", "woff", "woff2", "xcf",
    "xls", "xlsx", "xz", "zip", "zlib", "zst",
];

/// Code that only describes looks, formats or interfaces.
const INERT_CODE_EXTENSIONS: &[&str] = &[
    "css", "frag", "glsl", "gql", "graphql", "hlsl", "less", "metal", "mjml", "prisma", "proto",
    "sass", "scss", "styl", "thrift", "vert", "wgsl",
];

/// Templates, from which programs generate the files that run.
const TEMPLATE_EXTENSIONS: &[&str] = &[
    "ejs",
    "erb",
    "handlebars",
    "hbs",
    "j2",
    "jinja",
    "jinja2",
    "liquid",
    "mustache",
    "njk",
    "tmpl",
    "tpl",
    "twig",
];

/// Files that tools start by themselves, or whose commands they run.
const AUTO_RUN_NAMES: &[&str] = &[
    ".Rprofile",
    ".appveyor.yml",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".envrc",
    ".gdbinit",
    ".gitlab-ci.yml",
    ".gitmodules",
    ".irbrc",
    ".kshrc",
    ".lldbinit",
    ".mcp.json",
    ".mise.toml",
    ".npmrc",
    ".pdbrc",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".pryrc",
    ".pypirc",
    ".tmux.conf",
    ".travis.yml",
    ".vimrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "Brewfile",
    "Cargo.toml",
    "Containerfile",
    "Directory.Build.props",
    "Directory.Build.targets",
    "Dockerfile",
    "Earthfile",
    "GNUmakefile",
    "Gemfile",
    "Gruntfile.js",
    "Guardfile",
    "Jenkinsfile",
    "Justfile",
    "Makefile",
    "NuGet.Config",
    "Podfile",
    "Procfile",
    "Rakefile",
    "SConscript",
    "SConstruct",
    "Taskfile.yaml",
    "Taskfile.yml",
    "Tiltfile",
    "Vagrantfile",
    "action.yaml",
    "action.yml",
    "appveyor.yml",
    "azure-pipelines.yaml",
    "azure-pipelines.yml",
    "binding.gyp",
    "bitbucket-pipelines.yml",
    "build.rs",
    "build.xml",
    "buildspec.yml",
    "bunfig.toml",
    "cloudbuild.json",
    "cloudbuild.yaml",
    "compose.yaml",
    "compose.yml",
    "composer.json",
    "conftest.py",
    "deno.json",
    "deno.jsonc",
    "devfile.yaml",
    "docker-compose.override.yaml",
    "docker-compose.override.yml",
    "docker-compose.yaml",
    "docker-compose.yml",
    "dodo.py",
    "fabfile.py",
    "fly.toml",
    "go.mod",
    "gulpfile.js",
    "hatch_build.py",
    "justfile",
    "lefthook.yaml",
    "lefthook.yml",
    "makefile",
    "meson.build",
    "mise.toml",
    "netlify.toml",
    "noxfile.py",
    "nuget.config",
    "nx.json",
    "package.json",
    "pom.xml",
    "pyproject.toml",
    "render.yaml",
    "requirements.txt",
    "serverless.yml",
    "setup.cfg",
    "setup.py",
    "sitecustomize.py",
    "skaffold.yaml",
    "tox.ini",
    "turbo.json",
    "usercustomize.py",
    "vercel.json",
    "web.config",
    "wrangler.toml",
    "wscript",
];

/// Folders whose files tools start.
const AUTO_RUN_FOLDERS: &[&str] = &[
    ".buildkite",
    ".cargo",
    ".circleci",
    ".claude",
    ".cursor",
    ".devcontainer",
    ".githooks",
    ".github/actions",
    ".github/workflows",
    ".gitlab",
    ".husky",
    ".idea/runConfigurations",
    ".vscode",
];

/// Folders of files that tests read but do not run.
const FIXTURE_FOLDERS: &[&str] =
    &["__fixtures__", "corpus", "fixtures", "test-data", "test_data", "testdata"];
const DOC_FOLDERS: &[&str] = &["doc", "docs", "documentation"];

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

/// `<` in UTF-16, with and without a byte order mark.
const UTF16_MARKUP_STARTS: &[&[u8]] = &[b"\xff\xfe<\0", b"\xfe\xff\0<", b"<\0", b"\0<"];

/// Whether a file with this path can run.
pub(super) fn by_path(path: &str) -> Runnable {
    let extension = role::extension(file_name(path));
    let is_in = |list: &[&str]| list.contains(&extension.as_str());
    if is_auto_run(path) || role::instructs_agents(path) {
        Runnable::Code
    } else if is_in(PROGRAM_EXTENSIONS) {
        Runnable::Program
    } else if is_in(INERT_CODE_EXTENSIONS) || is_in(DATA_EXTENSIONS) {
        Runnable::No
    } else if role::is_code(path) {
        Runnable::Code
    } else if role::is_config(path) {
        Runnable::Config
    } else if role::is_known_text(path) {
        Runnable::No
    } else {
        Runnable::Unknown
    }
}

/// First bytes of data formats: images, sound, video, fonts, documents, archives, databases.
const DATA_STARTS: &[&[u8]] = &[
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"RIFF",
    b"BM",
    b"\0\0\x01\0",
    b"icns",
    b"8BPS",
    b"II*\0",
    b"MM\0*",
    b"%PDF",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"7z\xbc\xaf",
    b"\x28\xb5\x2f\xfd",
    b"Rar!",
    b"ID3",
    b"\xff\xfb",
    b"OggS",
    b"fLaC",
    b"\x1aE\xdf\xa3",
    b"wOFF",
    b"wOF2",
    b"OTTO",
    b"\0\x01\0\0",
    b"true\0",
    b"SQLite format 3",
    b"\xd0\xcf\x11\xe0",
    b"bplist",
];

/// Whether the content of a file with the name of data is data, too. If the file is executable, the
/// content must start as a known data format does, and shells must refuse to run it. Markup in
/// UTF-16 is not data.
pub(super) fn has_data_content(content: &[u8], is_executable: bool) -> bool {
    let starts_with = |starts: &[&[u8]]| starts.iter().any(|start| content.starts_with(start));
    let is_format = || is_container(content) || starts_with(DATA_STARTS);
    !starts_with(PROGRAM_STARTS)
        && !content.starts_with(b"#!")
        && !starts_with(UTF16_MARKUP_STARTS)
        && (!is_executable || is_format() && is_refused_by_shells(content))
}

/// Whether shells refuse to run the content as a script, because its first line has a zero byte.
/// The signature of a PNG image contains line ends, so the line after the signature counts.
fn is_refused_by_shells(content: &[u8]) -> bool {
    let content = content.strip_prefix(b"\x89PNG\r\n\x1a\n").unwrap_or(content);
    content.iter().take_while(|byte| **byte != b'\n').any(|byte| *byte == 0)
}

/// Whether content is an ISO media file. Its mark `ftyp` follows a length of four bytes.
fn is_container(content: &[u8]) -> bool {
    content.get(4..8) == Some(b"ftyp")
}

/// Whether a file can run, by its content. `None` if the content does not show it.
pub(super) fn by_content(content: &[u8]) -> Option<Runnable> {
    if PROGRAM_STARTS.iter().any(|start| content.starts_with(start)) {
        Some(Runnable::Program)
    } else {
        content.starts_with(b"#!").then_some(Runnable::Code)
    }
}

/// Whether a tool starts a file with this path.
pub(super) fn is_auto_run(path: &str) -> bool {
    let name = file_name(path);
    AUTO_RUN_NAMES.contains(&name)
        || name.starts_with("Dockerfile.")
        || [".pth", ".dockerfile", ".csproj", ".targets", ".service"]
            .iter()
            .any(|end| name.ends_with(end))
        || contains_folder(path, AUTO_RUN_FOLDERS)
}

/// Whether tools find the file because it is in the root of the repository, or in a folder there.
pub(super) fn is_found_in_root(path: &str) -> bool {
    let is_below = |folder: &&str| path.strip_prefix(*folder).is_some_and(|it| it.starts_with('/'));
    let is_named = || is_auto_run(path) || role::is_config(path) || role::instructs_agents(path);
    AUTO_RUN_FOLDERS.iter().any(is_below) || !path.contains('/') && is_named()
}

/// Whether a file is a template, from which a program generates the file that runs.
pub(super) fn is_template(path: &str) -> bool {
    TEMPLATE_EXTENSIONS.contains(&role::extension(file_name(path)).as_str())
}

/// Whether tests read the file as data.
pub(super) fn is_fixture(path: &str) -> bool {
    contains_folder(path, FIXTURE_FOLDERS)
}

/// Whether a file is in a folder of documentation or test data.
pub(super) fn is_out_of_use(path: &str) -> bool {
    is_fixture(path) || contains_folder(path, DOC_FOLDERS)
}

/// Whether a file is hidden or in a hidden folder. Tools may find it there.
pub(super) fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// Whether a file name has no extension. Such a file may be a script: `deploy`, `bin/run`.
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

/// Whether content is text apart from zero bytes, as it is in UTF-16.
pub(super) fn is_text(content: &[u8]) -> bool {
    let start = content.iter().take(8_000).filter(|byte| **byte != 0);
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t' | b'\n' | b'\r');
    let controls = start.clone().filter(is_control).count();
    controls * 50 <= start.count()
}
