//! Checks the crate dependencies against `ARCHITECTURE.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::{read, root};

/// The dependency table: each crate with the workspace crates it may use.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let text = read("ARCHITECTURE.md");
    let (_, section) = text.split_once("### Who uses whom").unwrap();
    let names = |cell: &str| -> BTreeSet<String> {
        cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    section
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .flat_map(|row| {
            let cells: Vec<&str> = row.split('|').collect();
            let used = names(cells[2]);
            names(cells[1]).into_iter().map(move |name| (name, used.clone()))
        })
        .collect()
}

/// Workspace crates in one table of a manifest.
fn uses(manifest: &str, table: &str) -> BTreeSet<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != table)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', ' ', '=']).next())
        .filter(|name| name.starts_with("crh-"))
        .map(str::to_owned)
        .collect()
}

fn manifests() -> BTreeMap<String, String> {
    std::fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let manifest = read(&format!("crates/{name}/Cargo.toml"));
            (name, manifest)
        })
        .collect()
}

#[test]
fn crates_depend_only_on_allowed_crates() {
    let allowed = allowed();
    let manifests = manifests();
    let names = |map: Vec<&String>| map.into_iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(
        names(allowed.keys().collect()),
        names(manifests.keys().collect()),
        "the table names every crate and no other"
    );
    for (name, manifest) in &manifests {
        let everywhere = uses(manifest, "[dependencies]");
        let on_unix = uses(manifest, "[target.'cfg(unix)'.dependencies]");
        assert_eq!(&everywhere | &on_unix, allowed[name], "{name}");
        assert!(
            uses(manifest, "[dev-dependencies]")
                .iter()
                .all(|used| used == "crh-testkit"
                    || manifest.contains(&format!("\nname = \"{used}\""))),
            "{name} tests with the testkit and its own features alone"
        );
        assert!(!uses(manifest, "[build-dependencies]").contains("crh-testkit"), "{name}");
    }
}

/// The pure crate has no dependency for I/O, async or time.
#[test]
fn pure_crate_has_no_io() {
    let manifest = read("crates/crh-review/Cargo.toml");
    let (_, dependencies) = manifest.split_once("[dependencies]").unwrap();
    let (dependencies, _) = dependencies.split_once("[dev-dependencies]").unwrap();
    for crate_name in ["tokio", "reqwest", "gix", "chrono", "time", "rand", "futures"] {
        assert!(!dependencies.contains(crate_name), "{crate_name}");
    }
    let mut folders = vec![root().join("crates/crh-review/src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            files += 1;
            for word in [
                "std::fs",
                "std::net",
                "std::process",
                "std::env::",
                "std::thread",
                "SystemTime",
                "Instant",
                "async fn",
            ] {
                assert!(!source.contains(word), "{word} in {}", path.display());
            }
        }
    }
    assert!(files > 20, "the sources were found");
}

/// Client libraries stay replaceable if only a few folders use them, and a forge can be added or
/// removed if only its folder, the list of forges and tests name it.
#[test]
fn libraries_and_forges_are_named_only_in_their_folders() {
    const FORGE: &[&str] = &[
        "crates/crh-forge/src/forges",
        "crates/crh-forge/tests",
        "crates/crh-pipeline/src/sinks/tests.rs",
        "crates/crh-server/src/forges/tests",
        "crates/crh-server/src/forges/tests.rs",
        "crates/crh-server/src/http/tests",
        "crates/crh-testkit",
        "crates/crh/tests",
    ];
    let places: [(&str, &[&str]); 4] = [
        ("gitea", FORGE),
        ("Gitea", FORGE),
        ("genai::", &["crates/crh-llm/src/live"]),
        (
            "reqwest::",
            &[
                "crates/crh-llm/src/live",
                "crates/crh-http/src",
                "crates/crh-forge/src/http",
                "crates/crh-forge/src/forges/github/client",
                "crates/crh-forge/src/forges/launchpad/client",
                "crates/crh-forge/src/rest",
                "crates/crh-forge/src/tracker/client.rs",
                "crates/crh-server/src/http/tests",
                "crates/crh-server/src/http/tests.rs",
                "crates/crh-server/src/traces.rs",
            ],
        ),
    ];
    let mut folders = vec![root().join("crates")];
    let mut inside = [0; 4];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|kind| kind != "rs") || path.ends_with("layers.rs") {
                continue;
            }
            let source = std::fs::read_to_string(&path).unwrap();
            for ((word, allowed), inside) in places.iter().zip(&mut inside) {
                let named = source.contains(word);
                let there = allowed.iter().any(|folder| path.starts_with(root().join(folder)));
                assert!(!named || there, "{word} in {}", path.display());
                *inside += usize::from(named);
            }
        }
    }
    assert!(inside.iter().all(|found| *found > 0), "the sources were found");
}
