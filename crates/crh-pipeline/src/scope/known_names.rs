//! Names and folders that tell by themselves that nobody wrote a file here.

/// Files that a package manager writes.
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

/// Folders that hold other people's code. Only names that mean nothing else, and `vendor`, which Go, PHP and
/// Ruby tools fill; a shop that sells for vendors has `include` and `-linguist-vendored`.
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

/// Ends of names that only tools give.
const GENERATED_ENDINGS: &[&str] = &[".css.map", ".js.map", ".min.css", ".min.js", ".min.mjs"];

/// The lock file that a path names.
pub(super) fn lock_file(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    LOCK_FILES.iter().copied().find(|lock| *lock == name)
}

/// The first folder of other people's code that a path leads through.
pub(super) fn vendored_folder(path: &str) -> Option<&'static str> {
    let (folders, _) = path.rsplit_once('/')?;
    // With a slash on both sides, a name is a whole component.
    let folders = format!("/{folders}/");
    let place = |folder: &&'static str| folders.find(&format!("/{folder}/"));
    VENDORED_FOLDERS.iter().copied().filter(|folder| place(folder).is_some()).min_by_key(place)
}

/// The end of a path that only tools give.
pub(super) fn generated_ending(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ends = |ending: &&'static str| name.len() > ending.len() && name.ends_with(*ending);
    GENERATED_ENDINGS.iter().copied().find(ends)
}
