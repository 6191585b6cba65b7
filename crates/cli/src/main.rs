//! The `runwright` binary: a doorway to the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os())
}
