//! The `runwright` binary: calls the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os())
}
