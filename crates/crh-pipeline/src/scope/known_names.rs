//! File and folder names of generated, vendored and lock files.

/// Files that package managers write.
const LOCK_FILES: &[&str] = &[
    ".terraform.lock.hcl",
    "Berksfile.lock",
    "Cargo.lock",
    "Cartfile.resolved",
    "Chart.lock",
    "Gemfile.lock",
    "MODULE.bazel.lock",
    "Package.resolved",
    "Pipfile.lock",
    "Podfile.lock",
    "Puppetfile.lock",
    "buf.lock",
    "bun.lock",
    "bun.lockb",
    "cabal.project.freeze",
    "composer.lock",
    "conan.lock",
    "deno.lock",
    "devbox.lock",
    "dub.selections.json",
    "flake.lock",
    "gems.locked",
    "go.sum",
    "go.work.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "paket.lock",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "pylock.toml",
    "rebar.lock",
    "renv.lock",
    "shard.lock",
    "stack.yaml.lock",
    "uv.lock",
    "yarn.lock",
];

/// Folders of vendored code. All names are unambiguous except `vendor`, which Go, PHP and Ruby
/// tools fill. Projects that use `vendor` for their own code can set `include` or
/// `-linguist-vendored`.
const VENDORED_FOLDERS: &[&str] = &[
    ".yarn/cache",
    ".yarn/plugins",
    ".yarn/releases",
    ".yarn/sdks",
    "Carthage/Checkouts",
    "Godeps/_workspace",
    "Pods",
    "bower_components",
    "jspm_packages",
    "node_modules",
    "site-packages",
    "third-party",
    "third_party",
    "vendor",
];

/// Suffixes of generated files.
const GENERATED_ENDINGS: &[&str] = &[".css.map", ".js.map", ".min.css", ".min.js", ".min.mjs"];

/// The lock file name of a path.
pub(super) fn lock_file(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.iter().copied().find(|lock| *lock == name)
}

/// The outermost vendored folder of a path.
pub(super) fn vendored_folder(path: &str) -> Option<&'static str> {
    let (folders, _) = path.rsplit_once('/')?;
    // Slashes on both sides match whole components.
    let folders = format!("/{folders}/");
    let position = |folder: &&'static str| folders.find(&format!("/{folder}/"));
    VENDORED_FOLDERS
        .iter()
        .copied()
        .filter(|folder| position(folder).is_some())
        .min_by_key(position)
}

/// Folders of the vendored package that a path belongs to, if any: its own folder, and the folder
/// of the whole package. A file directly in a vendored folder belongs to no package.
pub(super) fn vendored_packages(path: &str) -> impl Iterator<Item = &str> {
    let package_paths = || {
        let root = vendored_folder(path)?;
        let (folders, _) = path.rsplit_once('/')?;
        let root_end = format!("/{folders}/").find(&format!("/{root}/"))? + root.len();
        let below_root = folders.get(root_end + 1..)?;
        // Go packages start with a host, and some npm packages with a scope.
        let depth = match below_root.split('/').next()? {
            host if host.contains('.') => 3,
            scope if scope.starts_with('@') => 2,
            _ => 1,
        };
        let package_end = below_root.match_indices('/').nth(depth - 1).map(|(end, _)| end);
        let package = package_end.map(|end| &path[..root_end + 1 + end]);
        Some([Some(folders), package])
    };
    package_paths().into_iter().flatten().flatten()
}

/// The suffix of a generated file.
pub(super) fn generated_ending(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let matches_ending =
        |ending: &&'static str| name.len() > ending.len() && name.ends_with(*ending);
    GENERATED_ENDINGS.iter().copied().find(matches_ending)
}
