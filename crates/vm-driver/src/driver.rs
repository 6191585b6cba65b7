//! The stages of a job on a virtual machine.

use crate::host::{Address, VmHost, VmState};
use crate::settings::Settings;
use driver_toolkit::{
    Cleanup, Driver, DriverConfig, Ended, Failure, Identity, JobContext, Limits, NotReady, Record,
    SharedSsh, SshHost, Stage, StageLines, State, Store, Target, Wait, pull_once,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fs, io};

/// How long a call to the host is repeated that has no reason to wait longer.
pub(crate) const CALL_LIMIT: Duration = Duration::from_mins(2);

/// How long a machine may take from its start until it runs, and from there until scripts can run.
const BOOT_LIMIT: Duration = Duration::from_mins(15);

/// How long a script waits for the SSH server of a machine that was ready before.
const RECONNECT_LIMIT: Duration = Duration::from_mins(2);

/// Gives each job a virtual machine of a host.
#[derive(Debug)]
pub struct VmDriver {
    /// The host.
    pub host: Box<dyn VmHost>,
    /// The settings of the operator.
    pub settings: Settings,
    /// Where the driver remembers machines.
    pub store: Store,
    /// The connections to machines that this process has prepared.
    pub connections: Connections,
}

/// The connections of a serving process, by the names of machines.
#[derive(Debug, Default)]
pub struct Connections(Mutex<BTreeMap<String, Connection>>);

/// A connection that the scripts in a machine share; `None` before the first script.
type Connection = Option<(Address, Arc<SharedSsh>)>;

impl Connections {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Connection>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is remembered about a job's machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The host's id of the machine.
    pub id: String,
}

impl State for Machine {
    const VERSION: u32 = 1;
}

impl VmDriver {
    pub(crate) fn wait(&self, limit: Duration) -> Wait {
        Wait {
            limit,
            pause: self.settings.poll(),
        }
    }

    pub(crate) fn ssh(&self, address: Address) -> SshHost {
        SshHost {
            port: address.port,
            identity: self.settings.ssh.identity_file.clone(),
            ..SshHost::new(address.host, &self.settings.ssh.user)
        }
    }

    /// Returns the connection that the scripts in a machine share, if this process has prepared it and so runs them all.
    fn connection(&self, name: &str, address: &Address) -> Option<Arc<SharedSsh>> {
        let mut connections = self.connections.lock();
        let connection = connections.get_mut(name)?;
        if let Some((known, shared)) = connection
            && known == address
            && shared.is_open()
        {
            return Some(Arc::clone(shared));
        }
        // It removes its socket first.
        *connection = None;
        let host = self.ssh(address.clone());
        let opened = SharedSsh::open(&host, self.socket(name)).ok()?;
        let shared = Arc::new(opened);
        *connection = Some((address.clone(), Arc::clone(&shared)));
        Some(shared)
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.store.path(&format!("{name}.ssh"))
    }

    /// Returns where the SSH server of a prepared machine is reached.
    pub(crate) fn address_of(
        &self,
        name: &str,
        record: &Record,
        stage: &Stage<'_>,
    ) -> Result<Address, Failure> {
        let Some(Machine { id }) = record.load()? else {
            return Err(Failure::system(format!(
                "{name} has no stored state: it was not prepared, or its cleanup has run"
            )));
        };
        self.wait(RECONNECT_LIMIT)
            .until("reach the machine", stage, || {
                match self.host.ssh_address(&id)? {
                    Some(address) => Ok(address),
                    None => self.host.enable_ssh(&id),
                }
            })
    }

    /// Finds the machine that an earlier attempt has created, or creates one.
    fn take_over_or_create(
        &self,
        name: &str,
        image: &str,
        stage: &Stage<'_>,
    ) -> Result<Machine, Failure> {
        let id = self
            .wait(CALL_LIMIT)
            .until("create the machine", stage, || {
                if let Some(id) = self.host.find(name)? {
                    stage.log(format!("the machine {name} exists already and is used"));
                    return Ok(id);
                }
                self.host.create(name, image)
            })?;
        Ok(Machine { id })
    }

    /// Waits until scripts can run.
    fn await_ssh(&self, id: &str, stage: &Stage<'_>) -> Result<(), Failure> {
        let wait = self.wait(BOOT_LIMIT);
        let tools = self.settings.ssh.tool_names();
        let mut known = Some(wait.until("enable SSH", stage, || self.host.enable_ssh(id))?);
        let ssh = wait.until("wait for SSH", stage, || {
            // The port may change while the machine boots.
            let address = match known.take() {
                Some(address) => address,
                None => self.host.enable_ssh(id)?,
            };
            let ssh = self.ssh(address);
            ssh.check(&tools, stage).map(|()| ssh)
        })?;
        let Some(command) = self
            .wait(CALL_LIMIT)
            .until("look at the machine", stage, || self.host.on_start(id))?
        else {
            return Ok(());
        };
        match ssh.exec(&command, &mut io::empty(), &StageLines::new(stage), stage)? {
            Ended::Exited(0) => Ok(()),
            ended => Err(Failure::system(format!(
                "the first command in the machine failed ({ended:?}): {command}"
            ))),
        }
    }
}

impl Driver for VmDriver {
    fn config(&self, _job: &JobContext) -> Result<DriverConfig, Failure> {
        Ok(DriverConfig {
            driver: Identity {
                name: "runwright-vm-driver".to_owned(),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            },
            hostname: self.settings.hostname.clone(),
            builds_dir: self.settings.builds_dir.clone(),
            cache_dir: self.settings.cache_dir.clone(),
            // Each job has a machine of its own.
            builds_dir_is_shared: false,
            shell: self.settings.shell.clone(),
            job_env: self.settings.job_env.clone(),
        })
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn prepare(
        &self,
        name: &str,
        job: &JobContext,
        record: &Record,
        stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        let image = self.settings.image.resolve(job)?;
        let resources = self.settings.resources_of(job)?;
        stage.log(format!("the machine {name} is made from {image}"));
        let limit = stage.remaining(Duration::MAX);
        let is_present = || self.host.has_image(&image);
        pull_once(&self.store, &image, limit, stage, is_present, |progress| {
            self.host.pull(&image, progress, stage)
        })?;

        let Machine { id } = self.take_over_or_create(name, &image, stage)?;
        record.save(&Machine { id: id.clone() })?;
        let mut is_set = resources.is_empty();
        // A full host has room when another job ends.
        self.wait(limit).until("start the machine", stage, || {
            if self.host.state(&id)? != VmState::Stopped {
                return Ok(());
            }
            if !is_set {
                self.host.set_resources(&id, &resources)?;
                is_set = true;
            }
            self.host.start(&id, stage)
        })?;
        self.wait(BOOT_LIMIT)
            .until("wait for the machine", stage, || {
                match self.host.state(&id)? {
                    VmState::Running => Ok(()),
                    // Another attempt has a new machine.
                    VmState::Failed(reason) => Err(Failure::system(reason).into()),
                    VmState::Stopped => Err(Failure::system("it has stopped").into()),
                    VmState::Changing(reason) => Err(NotReady::not_yet(reason)),
                }
            })?;
        self.await_ssh(&id, stage)?;
        self.connections.lock().insert(name.to_owned(), None);
        Ok(())
    }

    fn connect(
        &self,
        name: &str,
        _script: &str,
        record: &Record,
        stage: &Stage<'_>,
    ) -> Result<Box<dyn Target>, Failure> {
        let address = self.address_of(name, record, stage)?;
        Ok(Box::new(SshHost {
            shared: self.connection(name, &address),
            ..self.ssh(address)
        }))
    }

    fn cleanup(&self, name: &str, record: &Record, cleanup: &mut Cleanup<'_>) {
        self.connections.lock().remove(name);
        // A process that was killed has left it.
        let _ = fs::remove_file(self.socket(name));
        let id = if let Ok(Some(Machine { id })) = record.load() {
            Some(id)
        } else {
            // The state is damaged or was never written; the machine has its name nonetheless.
            let mut found = None;
            cleanup.step("find the machine", || {
                found = self.host.find(name)?;
                Ok(())
            });
            found
        };
        let Some(id) = id else { return };
        cleanup.step("disable SSH", || self.host.disable_ssh(&id));
        cleanup.step("stop the machine", || self.host.stop(&id));
        cleanup.step("delete the machine", || self.host.delete(&id));
    }

    fn keeps(&self, job: &JobContext) -> bool {
        let keeps = self.settings.keep_failed && job.has_failed();
        if keeps && let Ok(name) = self.name(job) {
            // No script follows.
            self.connections.lock().remove(&name);
        }
        keeps
    }

    fn capacity(&self) -> Option<usize> {
        self.host.capacity()
    }

    fn limits(&self) -> Limits {
        self.settings.limits()
    }
}
