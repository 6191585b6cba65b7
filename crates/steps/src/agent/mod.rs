//! The agent: the program inside an environment, and the code that finds it from outside.
//!
//! Inside, [`main`] is the whole of `runwright-agent`. Outside, [`find`] returns an [`Agent`] that can be put into a
//! container; [`locate_socket`], [`proxy_command`] and [`serve_command`] return how it is called.

mod bootstrap;
mod command;
pub(crate) mod connection;
mod elf;
mod error;
mod find;
mod invocation;
mod presence;
mod serve;
mod socket;
mod version_mark;

pub use error::AgentError;
pub use find::{Agent, find};
pub use invocation::{
    ARGV_VARIABLE, DEFAULT_DIRECTORY, Invocation, ServeOptions, locate_socket, proxy_command,
    serve_command,
};

use self::command::print_error;
use self::invocation::USAGE;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use tokio::runtime::{Builder, Runtime};

/// The file name of the program.
pub const PROGRAM: &str = "runwright-agent";

/// The start of the line on standard error that reports readiness; the path of the socket follows.
pub const READY: &str = "runwright-agent is listening on socket ";

/// The exit code for an invalid command line.
const MISUSED: u8 = 2;

/// Runs the program; `arguments` are those after its name.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let fallback = std::env::var_os(ARGV_VARIABLE);
    let done = match Invocation::parse(arguments, fallback.as_ref()) {
        Err(refused) => {
            print_error(&format!(
                "runwright-agent: {refused}\n\n{}",
                USAGE.trim_end()
            ));
            return MISUSED.into();
        }
        Ok(Invocation::Help) => print(USAGE),
        Ok(Invocation::Version) => print(&format!("runwright-agent {}\n", version_mark::version())),
        Ok(Invocation::Bootstrap { directory }) => bootstrap::bootstrap(&directory)
            .map(|_| ExitCode::SUCCESS)
            .map_err(|error| format!("copy the program into {}: {error}", directory.display())),
        Ok(Invocation::Proxy { socket }) => proxy(&socket),
        Ok(Invocation::Serve(options)) => runtime().and_then(|runtime| {
            let ended = runtime.block_on(serve::serve(options));
            runtime.shutdown_background();
            ended.map(ExitCode::from).map_err(|error| error.to_string())
        }),
    };
    done.unwrap_or_else(|error| {
        print_error(&format!("runwright-agent: {error}"));
        ExitCode::FAILURE
    })
}

fn proxy(socket: &Path) -> Result<ExitCode, String> {
    crate::proxy::run_stdio(socket)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| executor_core::chain(&error))
}

fn runtime() -> Result<Runtime, String> {
    // Blocking threads are created on demand, without a low limit, so that stalled transfers do not block others.
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("start a runtime: {error}"))
}

fn print(text: &str) -> Result<ExitCode, String> {
    let mut output = io::stdout().lock();
    let printed = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
    printed
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| format!("write to standard output: {error}"))
}
