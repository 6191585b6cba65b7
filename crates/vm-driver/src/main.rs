//! The program that runners call.

use driver_toolkit::{Failure, JobContext, Store};
use std::process::ExitCode;
use vm_driver::{Connections, HostKind, JeballtoHost, QemuHost, Settings, VmDriver, VmHost};

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    let arguments: Vec<_> = arguments
        .map(|it| it.to_string_lossy().into_owned())
        .collect();
    vm_driver::answer_call(&arguments, new).unwrap_or_else(|| {
        // It reads the settings before anything else.
        driver_toolkit::main(|context| new(Settings::read(context)?, context))
    })
}

fn new(mut settings: Settings, context: &JobContext) -> Result<VmDriver, Failure> {
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
