//! The interface of an analyser: the files that it checks, its arguments and its output.

use std::io;
use std::path::{Path, PathBuf};

use super::diagnostic::AnalyserReport;
use super::scratch::Scratch;
use crate::Project;
use crate::installation::InstalledProgram;
use crate::process::ProcessOutput;

/// A repository whose changes the user trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedRepo {
    /// The checkout, with the modules that are installed in it. None if there is no checkout.
    pub checkout: Option<PathBuf>,
}

/// Input and output of one analyser.
pub(super) trait Analyser: Sync {
    /// Whether the analyser checks a file. Calls `text` only if the path does not decide it.
    fn handles(&self, path: &str, text: &dyn Fn() -> Vec<u8>) -> bool;

    /// Whether adding, changing or deleting this file may cause errors in other files. Only for
    /// analysers that check a project as a whole.
    fn is_affected_by(&self, _path: &str) -> bool {
        false
    }

    fn input(&self) -> AnalyserInput<'_> {
        AnalyserInput::Files
    }

    /// Returns the program to run: by default the one that crh found on this machine.
    fn choose_program(&self, installed: &InstalledProgram) -> InstalledProgram {
        installed.clone()
    }

    /// Why the analyser cannot check this project, as a sentence.
    fn missing_config(&self, _: &dyn Project) -> Option<String> {
        None
    }

    /// Whether the analyser checks only the given files, not the whole tree.
    fn is_per_file(&self) -> bool {
        true
    }

    /// Whether crh may run the analyser on fewer files if one file makes it fail. Not if it gets
    /// the whole tree: then the results for one file may depend on the others.
    fn checks_files_alone(&self) -> bool {
        self.is_per_file() && matches!(self.input(), AnalyserInput::Files)
    }

    /// Characters besides a line feed that end a line for this analyser, but not for git.
    fn line_ends(&self) -> &'static [char] {
        &[]
    }

    /// Returns the file text to give to the analyser. It must have the same number of lines.
    fn prepare_text(&self, text: Vec<u8>) -> Vec<u8> {
        text
    }

    /// Links the user's downloaded dependencies into the scratch folder, which is the analyser's
    /// home folder. Returns the folders that the sandbox must let the analyser read.
    fn link_dependencies(&self, _: &Scratch, _home: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(Vec::new())
    }

    /// Command-line arguments that make the analyser check these files. Writes the configuration
    /// that the arguments name into the scratch folder, beside the tree.
    fn args(&self, files: &[String], scratch: &Scratch) -> Result<Vec<String>, String>;

    /// Parses the output. The error is a sentence.
    fn parse_output(&self, output: &ProcessOutput) -> Result<AnalyserReport, String>;
}

/// Input of an analyser besides the files that it checks.
#[derive(Debug, Clone, Copy)]
pub(super) enum AnalyserInput<'a> {
    /// Nothing.
    Files,
    /// The whole tree and the modules installed in the checkout.
    Tree(&'a TrustedRepo),
}

/// A path as an argument. The `./` keeps a leading dash from being read as an option.
pub(super) fn path_argument(path: &String) -> String {
    format!("./{path}")
}
