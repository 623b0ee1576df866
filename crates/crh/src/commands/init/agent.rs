//! `crh init --agent` and `--hook`: writes the files that connect crh with a coding agent or a git
//! hook. Shows them first, and never overwrites a file.

use std::fs;
use std::path::{Path, PathBuf};

use super::{create, write_failure};
use crate::cli::{AgentArg, HookArg, InitArgs};
use crate::config::environment::Environment;
use crate::config::value::Color;
use crate::failure::Failure;
use crate::ui;
use crate::ui::questions::TerminalPrompt;
use crh_git::Repository;
use crh_os::files::set_mode;
use crh_os::names::canonical;

/// Names under which lefthook looks for its configuration. If there is none, crh creates the first
/// one.
const LEFTHOOK_FILES: [&str; 6] = [
    "lefthook.yml",
    ".lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yaml",
    "lefthook.toml",
    ".lefthook.toml",
];

/// A file to write.
struct IntegrationFile {
    path: PathBuf,
    text: &'static str,
    mode: FileMode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileMode {
    Plain,
    Executable,
}

/// Writes the files of the agents and hooks that the user named.
pub(super) fn run(
    args: &InitArgs,
    repository: &Repository,
    root: &Path,
    environment: &Environment,
) -> Result<(), Failure> {
    let agents = args.agent.iter().flat_map(|agent| agent_files(*agent));
    let mut files: Vec<IntegrationFile> = agents
        .map(|(path, text)| IntegrationFile { path: root.join(path), text, mode: FileMode::Plain })
        .collect();
    if args.hook.contains(&HookArg::PrePush)
        && let Some(folder) = repository.foreign_hooks()
    {
        return Err(Failure::usage(format!("git takes hooks from `{folder}` (`core.hooksPath`)"))
            .hint("call `crh check` in the `pre-push` hook there, or unset `core.hooksPath`"));
    }
    files.extend(args.hook.iter().map(|hook| hook_file(*hook, repository, root)));
    let (existing, new): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| file.path.symlink_metadata().is_ok());
    for file in &existing {
        let path = environment.display_path(&file.path);
        // Compare the sizes first, so that crh does not read a large file.
        let bytes = fs::metadata(&file.path).map_or(0, |data| data.len());
        if bytes == file.text.len() as u64
            && fs::read(&file.path).is_ok_and(|bytes| bytes == file.text.as_bytes())
        {
            ui::note(&format!("`{path}` already has this content"));
            continue;
        }
        let text = indented(file.text);
        ui::result_text(&format!(
            "{path} exists and stays as it is. Add to it what is missing:\n\n{text}\n"
        ))?;
    }
    if new.is_empty() {
        ui::note("nothing to write: all files exist");
        return Ok(());
    }
    for file in &new {
        let (path, text) = (environment.display_path(&file.path), indented(file.text));
        ui::result_text(&format!("New file {path}:\n\n{text}\n"))?;
    }
    if !args.yes && !is_agreed(new.len(), environment) {
        return Err(Failure::usage("crh writes the files only if you agree; nothing was written")
            .hint("`--yes` writes the new files without asking"));
    }
    for file in &new {
        require_inside(file, root, repository)?;
    }
    for file in &new {
        write(file)?;
        ui::note(&format!("wrote `{}`", environment.display_path(&file.path)));
    }
    Ok(())
}

/// Files of an agent, relative to the root of the checkout.
fn agent_files(agent: AgentArg) -> Vec<(&'static str, &'static str)> {
    match agent {
        AgentArg::Claude => vec![
            (".mcp.json", include_str!("../../../agents/claude/.mcp.json")),
            (".claude/commands/crh.md", include_str!("../../../agents/claude/commands/crh.md")),
            (".claude/settings.json", include_str!("../../../agents/claude/hooks/hooks.json")),
        ],
        AgentArg::Codex => vec![
            (".codex/config.toml", include_str!("../../../agents/codex.toml")),
            ("AGENTS.md", include_str!("../../../agents/agents.md")),
        ],
        AgentArg::Cursor => vec![(".cursor/mcp.json", include_str!("../../../agents/cursor.json"))],
        AgentArg::Vscode => vec![(".vscode/mcp.json", include_str!("../../../agents/vscode.json"))],
    }
}

fn hook_file(hook: HookArg, repository: &Repository, root: &Path) -> IntegrationFile {
    match hook {
        HookArg::PrePush => IntegrationFile {
            path: repository.common_dir.join("hooks/pre-push"),
            text: include_str!("../../../agents/pre-push"),
            mode: FileMode::Executable,
        },
        HookArg::Lefthook => {
            // lefthook reads one file. A second one would be ignored.
            let exists = |name: &&&str| root.join(name).symlink_metadata().is_ok();
            let name = LEFTHOOK_FILES.iter().find(exists).unwrap_or(&LEFTHOOK_FILES[0]);
            let text = match name.ends_with("toml") {
                true => include_str!("../../../agents/lefthook.toml"),
                false => include_str!("../../../agents/lefthook.yml"),
            };
            IntegrationFile { path: root.join(name), text, mode: FileMode::Plain }
        }
    }
}

/// Indents the text of a file for display.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect()
}

/// Asks the user at a terminal. Without a terminal, returns false: the user must pass `--yes`.
fn is_agreed(files: usize, environment: &Environment) -> bool {
    if TerminalPrompt::detect(environment, Color::Auto).is_none() {
        return false;
    }
    let answer = ui::prompt_line(&format!("Write {files} new files? Type `y` to agree:"));
    answer.is_some_and(|answer| ["y", "yes"].contains(&answer.to_lowercase().as_str()))
}

/// Refuses a file whose folder is outside of the checkout and its git directory: a symlink of the
/// checkout may lead anywhere.
fn require_inside(
    file: &IntegrationFile,
    root: &Path,
    repository: &Repository,
) -> Result<(), Failure> {
    let existing = file.path.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
    let is_inside = |top: &Path| {
        let real = existing.and_then(|folder| canonical(folder).ok());
        real.zip(canonical(top).ok()).is_some_and(|(folder, top)| folder.starts_with(top))
    };
    if is_inside(root) || is_inside(&repository.common_dir) {
        return Ok(());
    }
    let folder = existing.unwrap_or(&file.path).display();
    Err(Failure::usage(format!("`{folder}` is a symlink out of the checkout"))
        .hint("nothing was written"))
}

fn write(file: &IntegrationFile) -> Result<(), Failure> {
    let path = &file.path;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| write_failure(folder, error))?;
    }
    create(path, file.text, "run the command again; it then shows what to add to the file")?;
    match file.mode {
        FileMode::Plain => Ok(()),
        FileMode::Executable => set_mode(path, 0o755).map_err(|error| write_failure(path, error)),
    }
}
