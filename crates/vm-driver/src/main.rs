//! The program that runners call.

use driver_toolkit::{Failure, JobContext, Store};
use std::path::Path;
use std::process::ExitCode;
use vm_driver::{HostKind, JeballtoHost, Settings, VmDriver};

fn main() -> ExitCode {
    driver_toolkit::main(new)
}

/// Reads the settings before anything else.
fn new(context: &JobContext) -> Result<VmDriver<JeballtoHost>, Failure> {
    let settings = Settings::read(context)?;
    let host = match settings.host {
        HostKind::Jeballto => JeballtoHost::new(&settings.jeballto, context)?,
    };
    let store = Store::open(settings.state_dir.as_deref().unwrap_or(Path::new(".")))?;
    Ok(VmDriver {
        host,
        settings,
        store,
    })
}
