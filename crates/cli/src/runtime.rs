//! The asynchronous runtime of a command.

use crate::failure::Failure;
use anyhow::{Context, anyhow};
use rustix::io::Errno;
use std::io;
use std::panic::{set_hook, take_hook};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use workstation::check_runtime_files;

/// Threads for blocking work stay for the whole run: work waits for one of them if no other can be created, but tokio
/// panics if there is none.
const KEEP_THREADS: Duration = Duration::from_hours(24 * 365);

/// Starts a runtime with a thread for each processor.
pub(crate) fn start() -> Result<Runtime, Failure> {
    build(&mut Builder::new_multi_thread())
}

/// Starts a runtime that uses the calling thread.
pub(crate) fn start_on_this_thread() -> Result<Runtime, Failure> {
    build(&mut Builder::new_current_thread())
}

/// Ends the program if a thread cannot be created: tokio panics then, and waits forever for the threads that it has
/// created before.
fn build(builder: &mut Builder) -> Result<Runtime, Failure> {
    check_runtime_files()
        .context("start the runtime")
        .map_err(Failure::environment)?;
    let hook = take_hook();
    set_hook(Box::new(|_| {
        let refused = io::Error::from_raw_os_error(Errno::AGAIN.raw_os_error());
        let failure = Failure::environment(anyhow!(refused).context("start the threads"));
        failure.report();
        std::process::exit(failure.exit().code().into());
    }));
    let built = builder.enable_all().thread_keep_alive(KEEP_THREADS).build();
    if let Ok(runtime) = &built {
        drop(runtime.spawn_blocking(|| ()));
    }
    set_hook(hook);
    built
        .context("start the runtime")
        .map_err(Failure::environment)
}
