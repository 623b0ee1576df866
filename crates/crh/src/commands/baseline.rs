//! `crh baseline`: records the findings of static checks in the whole tree, so that reviews report
//! only new ones.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use super::change_source::{ChangeSource, unmatched_paths_warning};
use super::require_parent_folder;
use super::review::checks;
use super::review::checks::{BaselineAt, SuppressionSettings};
use crate::cli::BaselineArgs;
use crate::config::environment::Environment;
use crate::config::keys::RawSettings;
use crate::failure::{Failure, FailureKind, OrFail};
use crate::ui;
use crh_git::EMPTY_TREE;
use crh_os::files::temp_builder;
use crh_pipeline::checks::{BASELINE, Baseline};
use crh_pipeline::revisions::Revisions;
use crh_pipeline::target_args::Target;
use crh_review::diff::Diff;

/// Permissions of the baseline file, which is meant to be committed. The umask applies.
const FILE_MODE: u32 = 0o644;

pub(crate) fn run(args: &BaselineArgs, environment: &Environment) -> Result<(), Failure> {
    let out_file = args.out.as_ref().map(|file| environment.folder.join(file));
    out_file.iter().try_for_each(|file| require_parent_folder(file))?;
    let source = ChangeSource::for_target(
        &Target::CurrentBranch,
        None,
        environment,
        RawSettings::default(),
        Vec::new(),
    )?;
    let Some(store) = &source.store else { return Err(no_checkout()) };
    let repository = store.repository();
    let Some(root) = repository.work_tree.clone() else { return Err(no_checkout()) };
    let Some(head) = repository.head().or_fail(FailureKind::External)? else {
        return Err(Failure::usage("the repository has no commits").hint("commit something first"));
    };
    let bare = store.bare();
    let diff = Diff::read(bare.diff(EMPTY_TREE, &head).or_fail(FailureKind::External)?);
    let objects = bare.objects().or_fail(FailureKind::External)?;
    let (scope, _) = source.scope(&diff, Some((EMPTY_TREE, &head)), Some(&objects))?;
    let unmatched = unmatched_paths_warning(&scope, &source.settings, environment)?;
    unmatched.iter().for_each(|warning| ui::warn(warning));
    let revisions =
        Revisions::new(bare.clone(), EMPTY_TREE, &head).or_fail(FailureKind::External)?;
    let flags = args.sarif_flags();
    let ignore = &source.settings.checks_ignore.value;
    let silencing = SuppressionSettings::new(ignore, ignore, &BaselineAt::Nowhere)?;
    let options = checks::terms(&silencing, &flags, environment)?;
    let stop = AtomicBool::new(false);
    let (baseline, notes) = Baseline::from_tree(&diff, &scope, &revisions, &options, &stop);
    for note in &notes {
        ui::warn(&crh_review::one_line(note));
    }
    let out = match out_file {
        Some(file) => file,
        None => {
            let file = root.join(BASELINE);
            reject_symlink(file.parent().unwrap_or(&root))?;
            file
        }
    };
    write(&out, &baseline.to_json().or_fail(FailureKind::Bug)?)?;
    let by_rule = baseline.by_rule();
    let total: u32 = by_rule.values().sum();
    let lines: String = by_rule
        .iter()
        .map(|(rule, count)| format!("{count:>6}  {}\n", crh_review::one_line(rule)))
        .collect();
    ui::result_text(&lines)?;
    let findings = if total == 1 { "1 finding".to_owned() } else { format!("{total} findings") };
    ui::note(&format!("{findings} at {}, written to `{}`", &head[..12], out.display()));
    ui::note("crh reads the baseline from the base branch, so commit this file and merge it there");
    Ok(())
}

fn no_checkout() -> Failure {
    Failure::usage("not inside a checkout").hint("run `crh baseline` inside a checkout")
}

/// Rejects a folder that is a symlink. The author of the repository may have committed the symlink
/// and chosen its target.
fn reject_symlink(folder: &Path) -> Result<(), Failure> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_symlink() => {
            Err(Failure::usage(format!("`{}` is a symbolic link", folder.display()))
                .hint("replace it with a folder, or write to another file with `--out FILE`"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Writes a temporary file and renames it. Readers never see a partial file, and crh does not
/// follow a symlink at `path`.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write_file = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = temp_builder(FILE_MODE).tempfile_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    write_file()
        .with_context(|| format!("cannot write `{}`", path.display()))
        .or_fail(FailureKind::Usage)
}
