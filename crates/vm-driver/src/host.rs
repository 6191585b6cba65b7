//! What a host of virtual machines can do.

use driver_toolkit::{Failure, NotReady, Stage};
use serde::Deserialize;
use std::fmt::Debug;

/// A host of virtual machines.
///
/// Each call is one attempt. [`NotReady::NotYet`] means that the same call may succeed later, as when the host is full or does not
/// answer; the driver then repeats it.
pub trait VmHost: Debug + Send + Sync {
    /// Returns how many machines may run; `None` if that is not known. It sends no request.
    fn capacity(&self) -> Option<usize>;

    /// Returns whether the host has an image.
    ///
    /// # Errors
    ///
    /// When the host cannot tell.
    fn has_image(&self, image: &str) -> Result<bool, NotReady>;

    /// Fetches an image, and passes lines about the progress to `progress`. It returns early when the stage is stopped.
    ///
    /// # Errors
    ///
    /// When the image cannot be fetched.
    fn pull(&self, image: &str, progress: &dyn Fn(&str), stage: &Stage<'_>) -> Result<(), Failure>;

    /// Returns the id of the machine with this name.
    ///
    /// # Errors
    ///
    /// When the host cannot tell.
    fn find(&self, name: &str) -> Result<Option<String>, NotReady>;

    /// Creates a machine that does not run, and returns its id.
    ///
    /// # Errors
    ///
    /// When it is not created, or when that is not known.
    fn create(&self, name: &str, image: &str) -> Result<String, NotReady>;

    /// Changes the resources of a machine that does not run.
    ///
    /// # Errors
    ///
    /// When the host refuses.
    fn set_resources(&self, id: &str, resources: &Resources) -> Result<(), NotReady>;

    /// Starts a machine; a running one is not an error.
    ///
    /// # Errors
    ///
    /// [`NotReady::NotYet`] while the host is full.
    fn start(&self, id: &str, stage: &Stage<'_>) -> Result<(), NotReady>;

    /// Returns the state of a machine.
    ///
    /// # Errors
    ///
    /// When the host cannot tell.
    fn state(&self, id: &str) -> Result<VmState, NotReady>;

    /// Returns the address of the machine's SSH server, if it can be reached from here now.
    ///
    /// # Errors
    ///
    /// When the host cannot tell.
    fn ssh_address(&self, id: &str) -> Result<Option<Address>, NotReady>;

    /// Makes the machine's SSH server reachable; a second call changes nothing.
    ///
    /// # Errors
    ///
    /// [`NotReady::NotYet`] while the machine has no network.
    fn enable_ssh(&self, id: &str) -> Result<Address, NotReady>;

    /// Makes the SSH server unreachable; a machine that is gone is not an error.
    ///
    /// # Errors
    ///
    /// When the host refuses.
    fn disable_ssh(&self, id: &str) -> Result<(), NotReady>;

    /// Returns a command of a POSIX shell for a machine that has just started, before scripts run. Default: none.
    ///
    /// # Errors
    ///
    /// When the host cannot tell.
    fn on_start(&self, _id: &str) -> Result<Option<String>, NotReady> {
        Ok(None)
    }

    /// Stops a machine; one that is stopped or gone is not an error.
    ///
    /// # Errors
    ///
    /// When the host refuses.
    fn stop(&self, id: &str) -> Result<(), NotReady>;

    /// Deletes a machine that does not run; one that is gone is not an error.
    ///
    /// # Errors
    ///
    /// When the host refuses.
    fn delete(&self, id: &str) -> Result<(), NotReady>;
}

/// The state of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VmState {
    /// It does not run, and can be started.
    Stopped,
    /// It is on its way to another state, whose name the host gives.
    Changing(String),
    /// It runs.
    Running,
    /// It cannot be used, for this reason.
    Failed(String),
}

/// Where an SSH server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// A name or address.
    pub host: String,
    /// A port.
    pub port: u16,
}

/// The resources of a machine. Without a value, the image decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Resources {
    /// The number of processors.
    pub cpus: Option<u32>,
    /// The memory in MiB.
    pub memory: Option<u32>,
}

impl Resources {
    /// Returns whether the image decides everything.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
