//! The program `crh`.

use std::process::ExitCode;

fn main() -> ExitCode {
    crh_cli::main()
}
