//! A runner with machines, from a file with GitLab Runner's settings.

use crate::failure::Failure;
use anyhow::{Context, anyhow, bail};
use executor_machine::settings::{AutoscalerSettings, MachineSettings};
use executor_machine::{
    Journal, JournalError, MachineDriver, MachineLayer, PoolOptions, Records, Supervisor,
};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use workstation::{SettingValue, Settings, StateDir};

/// How long a machine is kept for jobs of a killed run: `resume` continues all of them at once.
const ORPHANS: Duration = Duration::from_secs(30);

/// The settings of a runner, of which the rest is ignored.
#[derive(Deserialize)]
struct Config {
    #[serde(default)]
    runners: Vec<RunnerTable>,
}

#[derive(Deserialize)]
struct RunnerTable {
    #[serde(default)]
    name: String,
    #[serde(default)]
    executor: String,
    #[serde(default)]
    limit: u32,
    machine: Option<MachineSettings>,
    autoscaler: Option<AutoscalerSettings>,
}

/// A `[[runners]]` with machines.
pub(super) struct Runner {
    file: PathBuf,
    table: RunnerTable,
}

impl Runner {
    /// Returns the runner of this name and executor; without them, the only one.
    pub(super) fn find(
        path: &Path,
        name: Option<&str>,
        executor: Option<&str>,
    ) -> anyhow::Result<Self> {
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("read {shown}"))?;
        // Not the line itself, which may have secrets.
        let config: Config = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let before = before.unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let last = before.rsplit('\n').next().unwrap_or_default();
            let column = last.chars().count() + 1;
            anyhow!("{shown}:{line}:{column}: {}", error.message())
        })?;
        let mut all = config.runners;
        all.retain(|it| it.machine.is_some() || it.autoscaler.is_some());
        if all.is_empty() {
            bail!("no [[runners]] in {shown} has [runners.machine] or [runners.autoscaler]");
        }
        let have = names(&all);
        all.retain(|it| name.is_none_or(|name| it.name == name));
        all.retain(|it| executor.is_none_or(|executor| it.executor == executor));
        let count = all.len();
        let Some(table) = all.pop() else {
            let name = name.map(|name| format!("`name = {name:?}`"));
            let executor = executor.map(|executor| format!("`executor = {executor:?}`"));
            let wanted: Vec<_> = name.into_iter().chain(executor).collect();
            bail!(
                "no [[runners]] in {shown} with machines has {}; there are {have}",
                wanted.join(" and ")
            );
        };
        if count > 1 {
            bail!(
                "several [[runners]] in {shown} have machines: choose one by its name; there are {have}"
            );
        }
        let file = path.to_owned();
        Ok(Self { file, table })
    }

    /// Returns the options of its pool.
    pub(super) fn options(&self, prefix: &str) -> anyhow::Result<PoolOptions> {
        let table = &self.table;
        let options = match (&table.machine, &table.autoscaler) {
            (Some(machine), None) => machine.pool(prefix, table.limit),
            (None, Some(autoscaler)) => autoscaler.pool(prefix),
            _ => return Err(self.wrong("has both [runners.machine] and [runners.autoscaler]")),
        };
        options.with_context(|| self.place())
    }

    /// Returns its machines.
    pub(super) fn driver(&self, supervisor: &Supervisor) -> anyhow::Result<Arc<dyn MachineDriver>> {
        let table = &self.table;
        let driver = match (&table.machine, &table.autoscaler) {
            (Some(machine), _) => machine.driver(supervisor),
            (None, Some(autoscaler)) => autoscaler.driver(supervisor, &self.directory()?),
            (None, None) => return Err(self.wrong("has no machines")),
        };
        driver.with_context(|| self.place())
    }

    /// Returns what the names of its machines begin with.
    pub(super) fn prefix(&self) -> String {
        let table = &self.table;
        let machine = table.machine.as_ref();
        machine.map_or_else(
            || AutoscalerSettings::prefix(&table.name),
            |machine| machine.prefix(&table.name),
        )
    }

    /// Returns the directory of their journal.
    pub(super) fn journal(&self, state: &StateDir) -> PathBuf {
        let prefix = self.prefix();
        state
            .path()
            .join("machines")
            .join(prefix.trim_end_matches('-'))
    }

    /// Returns the layer that gives jobs its machines. Those that are left are removed at the end of the run: without a process,
    /// nothing would.
    pub(super) fn layer(
        &self,
        state: &StateDir,
        supervisor: &Supervisor,
    ) -> Result<MachineLayer, Failure> {
        let mut options = self.options(&self.prefix()).map_err(Failure::usage)?;
        options.remove_on_shutdown = true;
        options.orphan_timeout = ORPHANS;
        let driver = self.driver(supervisor).map_err(Failure::usage)?;
        let records = Records {
            journal: Some(open(&self.journal(state))?),
            metrics: None,
        };
        Ok(MachineLayer::with_records(options, driver, records))
    }

    fn directory(&self) -> anyhow::Result<PathBuf> {
        let file = std::path::absolute(&self.file)?;
        Ok(file.parent().unwrap_or(&file).to_owned())
    }

    fn wrong(&self, why: &str) -> anyhow::Error {
        anyhow!(
            "{}: the [[runners]] {:?} {why}",
            self.file.display(),
            self.table.name
        )
    }

    fn place(&self) -> String {
        format!("{}: [[runners]] {:?}", self.file.display(), self.table.name)
    }
}

/// Returns the names of runners for a message, with their executors.
fn names(runners: &[RunnerTable]) -> String {
    let names = runners
        .iter()
        .map(|it| format!("{:?} ({})", it.name, it.executor));
    names.collect::<Vec<_>>().join(", ")
}

/// Opens the journal of machines.
pub(super) fn open(directory: &Path) -> Result<Journal, Failure> {
    Journal::open(directory).map_err(|error| {
        let is_busy = matches!(error, JournalError::Busy(_));
        let failure = Failure::environment(error);
        if is_busy {
            return failure.with_help(
                "wait until the other run has ended, or give this one a `[[runners]]` with another name",
            );
        }
        failure
    })
}

/// Returns the runner that `[machines]` of the settings names.
pub(super) fn of_settings(
    settings: &Settings,
    name: Option<&str>,
    executor: Option<&str>,
) -> Result<Runner, Failure> {
    let section = settings.section("machines");
    let text = |key: &str| {
        let (_, value) = section.iter().find(|(name, _)| *name == key)?;
        match value {
            SettingValue::Text(text) => Some(text.as_str()),
            _ => None,
        }
    };
    let Some(file) = text("config") else {
        let error = anyhow!("the settings name no machines");
        return Err(Failure::usage(error).with_help(
            "write `config = \"fleet.toml\"` below `[machines]` in ~/.runwright/config.toml; that file has the \
             [[runners]] of GitLab Runner",
        ));
    };
    let file = settings.directory().unwrap_or_default().join(file);
    Runner::find(&file, name.or(text("runner")), executor).map_err(Failure::usage)
}
