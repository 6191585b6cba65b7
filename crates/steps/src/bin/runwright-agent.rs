//! The agent inside an environment. See `docs/design/steps.md`.

use std::process::ExitCode;

fn main() -> ExitCode {
    steps::agent::main(std::env::args_os().skip(1).collect())
}
