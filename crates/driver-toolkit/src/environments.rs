//! The environments of a serving process.

use crate::context::JobContext;
use crate::driver::{Driver, clean_up, error_line};
use crate::failure::Failure;
use crate::stop::{Stage, Stop};
use crate::store::Record;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io, thread};

/// The end of the name of the file that marks the environments of a serving process.
const SERVED: &str = "served";

/// An environment of this process. Its record is held from before `prepare` until after `cleanup`.
pub(crate) struct Environment {
    pub(crate) name: String,
    /// `None` after the cleanup.
    pub(crate) record: Mutex<Option<Record>>,
    job: JobContext,
    /// Whether a script of the job has failed.
    pub(crate) has_failed: AtomicBool,
}

/// Prints a line for the user who reads the log of a job.
type Log<'a> = dyn Fn(&str) + Sync + 'a;

/// The environments, by the names that the runner gives them.
pub(crate) struct Environments<'d, D> {
    driver: &'d D,
    prepared: Mutex<BTreeMap<String, Arc<Environment>>>,
}

/// A panic elsewhere does not concern this call.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'d, D: Driver> Environments<'d, D> {
    pub(crate) fn new(driver: &'d D) -> Self {
        Self {
            driver,
            prepared: Mutex::default(),
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        lock(&self.prepared).keys().cloned().collect()
    }

    pub(crate) fn get(&self, environment: &str) -> Option<Arc<Environment>> {
        lock(&self.prepared).get(environment).cloned()
    }

    /// Prepares the environment of a job. `cleanup` finds it from the beginning.
    pub(crate) fn prepare(
        &self,
        environment: &str,
        name: String,
        job: JobContext,
        stage: &Stage<'_>,
    ) -> Result<(), Failure> {
        let store = self.driver.store();
        let record = store.lock(&name, self.driver.limits().lock, stage)?;
        let served = store.path(&format!("{name}.{SERVED}"));
        fs::write(&served, "")
            .map_err(|error| Failure::system(format!("create {}: {error}", served.display())))?;
        let prepared = Arc::new(Environment {
            name,
            record: Mutex::new(Some(record)),
            job,
            has_failed: AtomicBool::new(false),
        });
        // First, so that a cleanup finds it; it waits for the record.
        let held = lock(&prepared.record);
        lock(&self.prepared).insert(environment.to_owned(), Arc::clone(&prepared));
        match &*held {
            Some(record) => self
                .driver
                .prepare(&prepared.name, &prepared.job, record, stage),
            None => Ok(()),
        }
    }

    /// Removes an environment; one that is not known is no error.
    pub(crate) fn clean_up(&self, environment: &str, log: &Log<'_>) -> Result<(), Failure> {
        if let Some(found) = self.get(environment) {
            self.remove(&found, log)?;
            lock(&self.prepared).remove(environment);
        }
        Ok(())
    }

    /// Removes what is left at the end.
    pub(crate) fn remove_all(&self) {
        let left: Vec<_> = lock(&self.prepared).values().cloned().collect();
        thread::scope(|scope| {
            for environment in &left {
                scope.spawn(|| {
                    if let Err(failure) = self.remove(environment, &error_line) {
                        error_line(&failure.to_string());
                    }
                });
            }
        });
    }

    /// Removes an environment, or leaves it as it is for another attempt.
    fn remove(&self, environment: &Environment, log: &Log<'_>) -> Result<(), Failure> {
        let name = &environment.name;
        let mut held = lock(&environment.record);
        let Some(record) = &*held else {
            return Ok(());
        };
        // The variables are those of its beginning.
        let mut job = environment.job.clone();
        let status = if environment.has_failed.load(Ordering::Relaxed) {
            "failed"
        } else {
            "success"
        };
        job.variables
            .insert("CI_JOB_STATUS".to_owned(), status.to_owned());
        if self.driver.keeps(&job) {
            log(&format!("{name} is kept, since the job has failed"));
            self.forget(name)?;
            *held = None;
            return Ok(());
        }
        let never = Stop::new();
        let stage = Stage::new(&never, self.driver.limits().cleanup, log);
        clean_up(self.driver, name, record, stage)?;
        self.forget(name)?;
        held.take().map_or(Ok(()), Record::remove)
    }

    fn forget(&self, name: &str) -> Result<(), Failure> {
        let served = self.driver.store().path(&format!("{name}.{SERVED}"));
        match fs::remove_file(&served) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::system(format!(
                "remove {}: {error}",
                served.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Removes the environments of a serving process that was killed.
    pub(crate) fn remove_orphans(&self) {
        let store = self.driver.store();
        let Ok(entries) = fs::read_dir(store.path("")) else {
            return;
        };
        for entry in entries.flatten() {
            let file = entry.file_name();
            let Some((name, SERVED)) = file.to_str().and_then(|file| file.rsplit_once('.')) else {
                continue;
            };
            let Ok(Some(record)) = store.try_lock(name) else {
                continue;
            };
            let never = Stop::new();
            let stage = Stage::new(&never, self.driver.limits().cleanup, &error_line);
            error_line(&format!("remove {name} of a driver process that has died"));
            let removed = clean_up(self.driver, name, &record, stage)
                .and_then(|()| self.forget(name))
                .and_then(|()| record.remove());
            if let Err(failure) = removed {
                error_line(&failure.to_string());
            }
        }
    }
}
