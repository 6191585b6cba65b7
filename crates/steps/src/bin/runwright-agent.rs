//! The program that runs steps inside an environment; `docs/design/steps.md` tells how.

use std::process::ExitCode;

fn main() -> ExitCode {
    steps::agent::main(std::env::args_os().skip(1).collect())
}
