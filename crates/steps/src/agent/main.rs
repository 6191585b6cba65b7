//! What `runwright-agent` does when it is started.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use tokio::runtime::{Builder, Runtime};

use crate::agent::command::say;
use crate::agent::invocation::{ARGV_VARIABLE, Invocation, USAGE};
use crate::agent::{bootstrap, serve, stamp};

/// Code for a command line that is not understood.
const MISUSED: u8 = 2;

/// Is the whole program; `arguments` are those after its name.
pub fn main(arguments: Vec<OsString>) -> ExitCode {
    let fallback = std::env::var_os(ARGV_VARIABLE);
    let done = match Invocation::parse(arguments, fallback.as_ref()) {
        Err(refused) => {
            say(&format!(
                "runwright-agent: {refused}\n\n{}",
                USAGE.trim_end()
            ));
            return MISUSED.into();
        }
        Ok(Invocation::Help) => print(USAGE),
        Ok(Invocation::Version) => print(&format!("runwright-agent {}\n", stamp::version())),
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
        say(&format!("runwright-agent: {error}"));
        ExitCode::FAILURE
    })
}

fn proxy(socket: &Path) -> Result<ExitCode, String> {
    crate::proxy::run_stdio(socket)
        .map(|()| ExitCode::SUCCESS)
        .map_err(|error| executor_core::chain(&error))
}

fn runtime() -> Result<Runtime, String> {
    // Threads for work on files come and go with the work. A limit of few would let transfers that stall hold up others.
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
