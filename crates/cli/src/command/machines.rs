//! `runwright machines`: the machines of a fleet, and what the pool will do with each.

use super::machines_config::{self, Runner};
use super::stdout::{print, print_json};
use crate::args::MachinesArgs;
use crate::failure::{Exit, Failure};
use crate::runtime;
use anyhow::{Context, anyhow};
use console::{Row, Style, Tone, grid, strip_controls};
use executor_core::{HumanDuration, counted};
use executor_machine::{Journal, MachineDriver, MachineStatus, Pool, Records, is_name_of};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use workstation::{LocalError, Settings, StateDir, end_orphans, supervise};

/// How long a driver may take to list the machines, and to remove all of them.
const LIST: Duration = Duration::from_mins(1);
const REMOVE: Duration = Duration::from_mins(10);

/// A machine. The age is in seconds.
#[derive(Serialize)]
struct Shown {
    name: String,
    state: String,
    age: Option<u64>,
    jobs: Option<u32>,
    explanation: String,
}

/// Lists the machines, or removes them.
pub(crate) fn machines(args: &MachinesArgs) -> Result<Exit, Failure> {
    let state = StateDir::of_user().map_err(LocalError::from)?;
    let runner = runner(args, &state)?;
    // What an earlier process left when it was killed.
    end_orphans(&state)?;
    let runtime = runtime::start()?;
    runtime.block_on(async {
        let supervisor = supervise(&state)?;
        let driver = runner.driver(&supervisor).map_err(Failure::usage);
        let done = match driver {
            Ok(driver) if args.remove => remove(&runner, &state, driver).await,
            Ok(driver) => list(args, &runner, &state, &*driver).await,
            Err(failure) => Err(failure),
        };
        supervisor.shutdown().await.map_err(Failure::environment)?;
        done
    })
}

fn runner(args: &MachinesArgs, state: &StateDir) -> Result<Runner, Failure> {
    if let Some(config) = &args.config {
        return Runner::find(config, args.runner.as_deref(), None).map_err(Failure::usage);
    }
    let settings = Settings::read(state.path(), std::env::home_dir().as_deref());
    let settings = settings.map_err(LocalError::from)?;
    machines_config::of_settings(&settings, args.runner.as_deref(), None)
}

async fn names(runner: &Runner, driver: &dyn MachineDriver) -> Result<Vec<String>, Failure> {
    let prefix = runner.prefix();
    let listed = timeout(LIST, driver.list(&prefix)).await;
    let mut listed = listed
        .context("the driver does not answer")
        .and_then(|listed| Ok(listed?))
        .context("list the machines")
        .map_err(Failure::environment)?;
    listed.retain(|name| is_name_of(&prefix, name));
    Ok(listed)
}

async fn list(
    args: &MachinesArgs,
    runner: &Runner,
    state: &StateDir,
    driver: &dyn MachineDriver,
) -> Result<Exit, Failure> {
    let options = runner.options(&runner.prefix()).map_err(Failure::usage)?;
    let known = Journal::read(&runner.journal(state)).map_err(Failure::environment)?;
    let listed = names(runner, driver).await?;
    let all = MachineStatus::of_journal(&known, &options).into_iter();
    let mut shown: Vec<_> = all
        .map(|machine| Shown {
            state: machine.state.to_string(),
            age: Some(machine.age.as_secs()),
            jobs: Some(machine.jobs),
            explanation: machine.explanation,
            name: machine.name,
        })
        .collect();
    for name in listed {
        if !known.contains_key(&*name) {
            shown.push(Shown {
                name,
                state: "unknown".to_owned(),
                age: None,
                jobs: None,
                explanation: "no run has noted it; the next one takes it over".to_owned(),
            });
        }
    }
    shown.sort_by(|one, other| one.name.cmp(&other.name));
    if args.json {
        print_json(&shown)?;
    } else if shown.is_empty() {
        print(format!("there are no machines {}*\n", runner.prefix()))?;
    } else {
        let rows: Vec<_> = shown.iter().map(row).collect();
        let heads = ["name", "state", "for", "jobs", "why"];
        print(grid(heads, &rows, Style::of_stdout()))?;
    }
    Ok(Exit::Success)
}

fn row(shown: &Shown) -> Row<5> {
    let age = shown.age.map(|age| HumanDuration(Duration::from_secs(age)));
    Row {
        cells: [
            strip_controls(&shown.name),
            shown.state.clone(),
            age.map_or_else(String::new, |age| age.to_string()),
            shown.jobs.map_or_else(String::new, |jobs| jobs.to_string()),
            shown.explanation.clone(),
        ],
        tone: Tone::Plain,
    }
}

/// Removes all machines: those that the driver lists, and those of the journal.
async fn remove(
    runner: &Runner,
    state: &StateDir,
    driver: Arc<dyn MachineDriver>,
) -> Result<Exit, Failure> {
    let mut options = runner.options(&runner.prefix()).map_err(Failure::usage)?;
    options.remove_on_shutdown = true;
    let directory = runner.journal(state);
    let known = Journal::read(&directory).map_err(Failure::environment)?;
    let journal = machines_config::open(&directory)?;
    let mut before: BTreeSet<_> = names(runner, &*driver).await?.into_iter().collect();
    before.extend(known.keys().map(ToString::to_string));
    let records = Records {
        journal: Some(journal),
        metrics: None,
    };
    let (pool, owner) = Pool::new(options, Arc::clone(&driver), records);
    let mut tasks = JoinSet::new();
    tasks.spawn(owner);
    let left = pool.shutdown(REMOVE).await;
    let mut left: BTreeSet<_> = left.into_iter().map(|machine| machine.name).collect();
    // The pool ends without a word when it cannot list them.
    left.extend(names(runner, &*driver).await?);
    if let Some(first) = left.first() {
        let more = match left.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        let first = strip_controls(first);
        let error = anyhow!("the machine {first} is not removed{more}");
        return Err(Failure::environment(error)
            .with_help("`RUNWRIGHT_LOG=info` shows what the driver says"));
    }
    print(format!("removed {}\n", counted(before.len(), "machine")))?;
    Ok(Exit::Success)
}
