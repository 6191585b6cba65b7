//! A driver for tests: it takes its time, and fails when told to.

use async_trait::async_trait;
use executor_core::Endpoint;
use executor_machine::{DriverError, MachineDriver, PoolOptions};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a machine takes to boot.
pub(crate) const BOOT: Duration = Duration::from_secs(30);

/// A driver with a list of machines. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeDriver(Arc<Mutex<Machines>>);

#[derive(Debug, Default)]
pub(crate) struct Machines {
    /// Those that exist, and whether each has booted.
    pub(crate) existing: BTreeMap<String, bool>,
    /// How many there were at once at most, and how many were booting at once at most.
    pub(crate) most: usize,
    pub(crate) most_booting: usize,
    /// How many calls of each kind fail from now on.
    pub(crate) failing_creations: u32,
    pub(crate) failing_removals: u32,
    pub(crate) failing_lists: u32,
    /// Machines whose check fails.
    pub(crate) broken: BTreeSet<String>,
    /// Whether creations are never answered, although the machine exists.
    pub(crate) is_silent: bool,
    /// Whether machines are never ready.
    pub(crate) is_unready: bool,
    /// Each call, with its second.
    pub(crate) calls: Vec<String>,
    start: Option<Instant>,
}

impl Machines {
    fn note(&mut self, call: &str, name: &str) {
        let seconds = self
            .start
            .get_or_insert_with(Instant::now)
            .elapsed()
            .as_secs();
        self.calls.push(format!("{call} {name} at {seconds} s"));
    }

    fn take(count: &mut u32) -> Result<(), DriverError> {
        if *count == 0 {
            return Ok(());
        }
        *count -= 1;
        Err(DriverError::new("the cloud has no room"))
    }
}

impl FakeDriver {
    pub(crate) fn shared(&self) -> Arc<dyn MachineDriver> {
        Arc::new(self.clone())
    }

    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Machines) -> T) -> T {
        change(&mut self.0.lock())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().existing.len()
    }

    /// Returns how many calls of this kind there were.
    pub(crate) fn calls(&self, kind: &str) -> usize {
        let all = &self.0.lock().calls;
        all.iter().filter(|call| call.starts_with(kind)).count()
    }
}

#[async_trait]
impl MachineDriver for FakeDriver {
    async fn list(&self, prefix: &str) -> Result<Vec<String>, DriverError> {
        let mut machines = self.0.lock();
        machines.note("list", prefix);
        Machines::take(&mut machines.failing_lists)?;
        let names = machines.existing.keys();
        Ok(names
            .filter(|name| name.starts_with(prefix))
            .cloned()
            .collect())
    }

    async fn create(&self, name: &str) -> Result<Endpoint, DriverError> {
        let (is_new, is_silent) = self.change(|machines| {
            machines.note("create", name);
            let is_new = machines.existing.insert(name.to_owned(), false).is_none();
            machines.most = machines.most.max(machines.existing.len());
            let booting = machines.existing.values().filter(|is_up| !**is_up).count();
            machines.most_booting = machines.most_booting.max(booting);
            (is_new, machines.is_silent)
        });
        if is_silent {
            std::future::pending::<()>().await;
        }
        if is_new {
            sleep(BOOT).await;
        }
        self.change(|machines| {
            Machines::take(&mut machines.failing_creations)?;
            machines.existing.insert(name.to_owned(), true);
            Ok(Endpoint::Engine {
                host: format!("tcp://{name}:2376"),
                tls_cert_path: None,
            })
        })
    }

    async fn await_ready(&self, _name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        if self.change(|machines| machines.is_unready) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn check(&self, name: &str, _endpoint: &Endpoint) -> Result<(), DriverError> {
        self.change(|machines| {
            machines.note("check", name);
            if machines.broken.contains(name) {
                return Err(DriverError::new("connection refused"));
            }
            Ok(())
        })
    }

    async fn remove(&self, name: &str) -> Result<(), DriverError> {
        self.change(|machines| {
            machines.note("remove", name);
            Machines::take(&mut machines.failing_removals)?;
            machines.existing.remove(name);
            Ok(())
        })
    }
}

/// Settings with this number of idle machines, or machines on demand for 0.
pub(crate) fn options(idle: u32) -> PoolOptions {
    let mut options = PoolOptions::new("runner-abc-");
    let rule = &mut options.schedule.otherwise;
    rule.idle = executor_machine::schedule::Idle::Fixed(idle);
    rule.idle_time = Duration::from_mins(10);
    rule.preemptive = idle > 0;
    options
}
