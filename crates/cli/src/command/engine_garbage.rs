//! Removes objects that jobs created in a container engine, within a budget.

use super::docker_config::{config, connect, wrong};
use super::garbage_table::garbage_table;
use super::stdout::print;
use crate::args::DockerArgs;
use crate::failure::Failure;
use crate::runtime;
use console::{Style, counted, error_line, size, strip_controls};
use executor_docker::config::policy::Pattern;
use executor_docker::garbage::{Budget, Collection, Collector, Ledger, Verdict};
use executor_docker::{DockerError, Engine};
use jiff::Timestamp;
use std::fmt::Write as _;
use std::time::Duration;
use workstation::{Settings, StateDir};

/// How long the removal may delay the end of a run.
const AFTER_A_RUN: Duration = Duration::from_secs(5);

/// How often leftovers are collected.
const EVERY: Duration = Duration::from_hours(1);

/// How long `runwright clean --docker` may take.
const ON_REQUEST: Duration = Duration::from_mins(30);

/// Removes, after a run, what exceeds the budget.
#[derive(Debug)]
pub(super) struct Sweeper(Collector);

/// Returns the budget of the settings.
pub(super) fn budget(settings: &Settings) -> Result<Budget, Failure> {
    let said = &settings.garbage;
    let patterns = said.keep_images.iter().map(|text| Pattern::parse(text));
    let patterns: Result<Vec<_>, _> = patterns.collect();
    Ok(Budget {
        disk: said.disk_budget,
        unused_for: said.keep_unused_for,
        keep_images: patterns.map_err(|error| wrong(&format!("docker.keep-images: {error}")))?,
    })
}

/// Opens the ledger of an engine, and records which images the user pulled. Jobs also run without a ledger.
pub(super) async fn open(engine: &Engine, budget: Budget) -> Option<(Ledger, Sweeper)> {
    let opened = async {
        let state = StateDir::of_user().map_err(|error| DockerError::config(error.to_string()))?;
        Ledger::open(state.path(), engine).await
    };
    match opened.await {
        Ok(ledger) => {
            // Not every engine reports pulls; images that jobs use are recorded all the same.
            if let Err(error) = ledger.notice_pulls(engine).await {
                let error = &error as &dyn std::error::Error;
                tracing::debug!(error, "Which images were pulled by hand is not known.");
            }
            let collector = Collector::new(engine.clone(), ledger.clone(), budget);
            Some((ledger, Sweeper(collector)))
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "Images and volumes that jobs add to the engine are not recorded, and are not removed."
            );
            None
        }
    }
}

impl Sweeper {
    /// Removes what exceeds the budget, unless there is no limit or another run has done so within the last
    /// hour.
    pub(super) async fn sweep(self) {
        let Self(collector) = self;
        if collector.budget().is_unlimited() || collector.idle_for().is_ok_and(|idle| idle < EVERY)
        {
            return;
        }
        match collector.collect(AFTER_A_RUN).await {
            Ok(found) => {
                let (count, bytes) = going(&found);
                if count > 0 {
                    error_line(&format!(
                        "removed from the container engine: {} that no job used lately, {}",
                        counted(count, "thing"),
                        size(bytes)
                    ));
                }
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "Images and volumes that exceed the limits are not removed."
                );
            }
        }
    }
}

/// Lists the objects that jobs created in the configured engine. Removes those that exceed the budget, or
/// with an `age` those unused for longer.
pub(super) fn clean(
    settings: &Settings,
    state: &StateDir,
    age: Option<Duration>,
    dry_run: bool,
) -> Result<(), Failure> {
    let config = config(settings, &DockerArgs::default())?;
    let mut budget = budget(settings)?;
    if age.is_some() {
        (budget.disk, budget.unused_for) = (None, age);
    }
    let runtime = runtime::start_on_this_thread()?;
    let limit = budget.disk;
    let is_unlimited = budget.is_unlimited();
    let found = runtime.block_on(async {
        let engine = connect(&config).await?;
        let ledger = Ledger::open(state.path(), &engine).await?;
        let collector = Collector::new(engine, ledger, budget);
        if dry_run {
            collector.preview().await
        } else {
            collector.collect(ON_REQUEST).await
        }
    });
    let found = found.map_err(Failure::environment)?;
    let mut text = garbage_table(&found, Timestamp::now(), Style::of_stdout());
    let (count, bytes) = going(&found);
    let verb = if dry_run { "could go" } else { "removed" };
    let room = limit.map_or_else(String::new, |limit| format!(" of {}", size(limit)));
    let _ = writeln!(
        text,
        "{} {verb}, {}; jobs brought {}{room}",
        counted(count, "thing"),
        size(bytes),
        size(found.held)
    );
    print(text)?;
    if is_unlimited && !found.items.is_empty() {
        error_line(&strip_controls(
            "nothing is removed without --older-than, or `disk-budget` or `keep-unused-for` below [docker] in your settings",
        ));
    }
    Ok(())
}

/// Returns the number of removed or removable objects, and their unshared bytes.
fn going(found: &Collection) -> (usize, u64) {
    let goes = found.items.iter();
    let goes = goes.filter(|item| !matches!(item.verdict, Verdict::Keep(_)));
    (goes.clone().count(), goes.map(|item| item.bytes).sum())
}
