//! Names of the analysers.

pub(super) const RUFF: &str = "ruff";
pub(super) const ESLINT: &str = "eslint";
pub(super) const SHELLCHECK: &str = "shellcheck";
pub(super) const SEMGREP: &str = "semgrep";
pub(super) const TSC: &str = "tsc";

/// Names of the linters, in display order. The type checkers are not among them.
pub const LINTERS: [&str; 5] = [RUFF, ESLINT, SHELLCHECK, SEMGREP, TSC];

/// A type checker of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeChecker {
    CargoCheck,
    Mypy,
    Pyright,
    GoVet,
    Javac,
}

impl TypeChecker {
    pub(super) const ALL: [Self; 5] =
        [Self::CargoCheck, Self::Mypy, Self::Pyright, Self::GoVet, Self::Javac];

    /// Name of the reviewer.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CargoCheck => "cargo-check",
            Self::Mypy => "mypy",
            Self::Pyright => "pyright",
            Self::GoVet => "go-vet",
            Self::Javac => "javac",
        }
    }

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::CargoCheck => "cargo",
            Self::GoVet => "go",
            Self::Mypy | Self::Pyright | Self::Javac => self.name(),
        }
    }
}

/// Whether this is the name of a linter or a type checker.
pub fn is_analyser(name: &str) -> bool {
    LINTERS.contains(&name) || TypeChecker::ALL.iter().any(|checker| checker.name() == name)
}
