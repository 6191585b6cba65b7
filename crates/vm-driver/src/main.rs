//! The program that runners call.

use driver_toolkit::{Failure, JobContext, Store};
use std::process::ExitCode;
use vm_driver::{Connections, HostKind, JeballtoHost, QemuHost, Settings, VmDriver, VmHost};

fn main() -> ExitCode {
    driver_toolkit::main(new)
}

/// Reads the settings before anything else.
fn new(context: &JobContext) -> Result<VmDriver, Failure> {
    let mut settings = Settings::read(context)?;
    let store = Store::open(&settings.state_dir)?;
    let host: Box<dyn VmHost> = match settings.host {
        HostKind::Jeballto => Box::new(JeballtoHost::new(&settings.jeballto, context)?),
        HostKind::Qemu => Box::new(QemuHost::new(&mut settings)),
    };
    Ok(VmDriver {
        host,
        settings,
        store,
        connections: Connections::default(),
    })
}
