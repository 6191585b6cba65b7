//! A driver that gives each job a virtual machine.
//!
//! [`VmDriver`] takes a job through its stages, on whichever [`VmHost`] has the machines: [`JeballtoHost`] calls an agent over
//! HTTP, [`QemuHost`] starts processes of this host. The program `runwright-vm-driver` reads [`Settings`] from a file and serves both kinds of runners, those that call it
//! for each stage (`config`, `prepare`, `run`, `cleanup`) and those that speak the typed driver protocol (`serve`).

mod driver;
mod host;
mod jeballto;
mod machines;
mod qemu;
mod qemu_files;
mod qmp;
mod settings;

pub use driver::{Connections, Machine, VmDriver};
pub use host::{Address, Resources, VmHost, VmState};
pub use jeballto::JeballtoHost;
pub use machines::answer_call;
pub use qemu::QemuHost;
pub use settings::{HostKind, Settings};
