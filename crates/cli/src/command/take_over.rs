//! What a run takes over from dead runs: jobs to resume, and leftovers to remove.

use super::engine_garbage::Sweeper;
use super::engine_owners::{Owner, Owners};
use crate::failure::Failure;
use anyhow::Context;
use console::{error_line, strip_controls};
use executor_core::Cancellation;
use executor_core::ability::ResumeHandle;
use executor_docker::DockerError;
use executor_docker::engine::Engine;
use executor_docker::garbage::{ObjectOwner, SweepReport, sweep};
use executor_kubernetes::KubernetesProvider;
use std::time::Duration;
use workstation::{LocalError, ReservedRun, StateDir};

/// How long an owner of objects in an engine is remembered at least.
pub(super) const REMEMBERED: Duration = Duration::from_hours(1);

/// The advice for a cluster where no job can run.
pub(super) const CHECK: &str = "`runwright kubernetes check` says what works";

/// The claims a run holds until it finishes: without them, other processes remove what the run creates.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) engine: Option<Taken>,
    /// The owners of pods.
    _pods: Vec<Owner>,
}

/// The claims of a run in an engine.
#[derive(Debug)]
pub(super) struct Taken {
    engine: Engine,
    pub(super) owner: Owner,
    /// The dead owners whose jobs are resumed.
    resumed: Vec<Owner>,
    /// Removes what exceeds the budget, after the run.
    pub(super) sweeper: Option<Sweeper>,
}

impl Held {
    /// Removes, after the run, the leftovers of resumed jobs and, unless the run was canceled, what exceeds
    /// the budget.
    pub(super) async fn tidy(self, cancellation: &Cancellation) {
        let Some(taken) = self.engine else { return };
        if !taken.resumed.is_empty() {
            let resumed = taken.resumed.as_slice();
            tell(Box::pin(sweep(&taken.engine, |it| !is_of(resumed, it))).await);
        }
        if let Some(sweeper) = taken.sweeper.filter(|_| !cancellation.is_canceled()) {
            Box::pin(sweeper.sweep()).await;
        }
    }
}

/// What a run has to do with other owners of objects in one place.
struct Claims {
    owners: Owners,
    owner: Owner,
    /// The dead owners whose jobs are resumed, and the handles of these.
    resumed: Vec<Owner>,
    kept: Vec<ResumeHandle>,
    /// The other dead ones. Held until all leftovers are removed, so that no other run resumes an object while it is being removed.
    dead: Vec<Owner>,
}

impl Claims {
    /// Registers as an owner in a place, and claims the jobs to resume and the dead owners there.
    fn of(here: &str, run: &mut ReservedRun) -> Result<Self, Failure> {
        let state = StateDir::of_user().map_err(LocalError::from)?;
        let owners = Owners::of(state.path());
        let owner = owners.enter(here);
        let owner = owner
            .context("register as an owner of containers")
            .map_err(Failure::environment)?;
        let (mut resumed, mut kept): (Vec<Owner>, Vec<ResumeHandle>) = (Vec::new(), Vec::new());
        run.resume_jobs(|handle| {
            let dead = handle.fields.get("owner").map_or("", String::as_str);
            if resumed.iter().all(|it| it.id() != dead) {
                let Some(claimed) = owners.claim_in(here, dead) else {
                    return false;
                };
                resumed.push(claimed);
            }
            kept.push(handle.clone());
            true
        });
        let dead = owners.claim_dead(here);
        Ok(Self {
            owners,
            owner,
            resumed,
            kept,
            dead,
        })
    }

    /// Forgets the dead owners, whose leftovers are removed.
    fn forget(&self) {
        for owner in &self.dead {
            self.owners.forget(owner, REMEMBERED);
        }
    }
}

/// Registers as an owner, and removes the leftovers of dead owners from the engine, except those of jobs
/// that the run resumes.
pub(super) async fn take_over(engine: Engine, run: &mut ReservedRun) -> Result<Taken, Failure> {
    let claims = Claims::of(&engine.host().to_string(), run)?;
    let (dead, resumed, kept) = (&claims.dead, &claims.resumed, &claims.kept);
    let is_left = |it: &ObjectOwner<'_>| {
        is_of(dead, it) || (is_of(resumed, it) && !kept.iter().any(|handle| it.is_of(handle)))
    };
    if tell(sweep(&engine, |it| !is_left(it)).await) {
        claims.forget();
    }
    Ok(Taken {
        engine,
        owner: claims.owner,
        resumed: claims.resumed,
        sweeper: None,
    })
}

/// Does the same in a cluster; `here` names it.
///
/// # Errors
///
/// When the API server cannot be reached, so no job can run.
pub(super) async fn take_over_pods(
    provider: KubernetesProvider,
    here: &str,
    run: &mut ReservedRun,
) -> Result<(KubernetesProvider, Held), Failure> {
    let claims = Claims::of(here, run)?;
    let has = |owners: &[Owner], id: &str| owners.iter().any(|it| it.id() == id);
    let is_kept = |pod: &str| {
        let mut kept = claims.kept.iter();
        kept.any(|it| it.fields.get("pod").is_some_and(|it| it == pod))
    };
    let provider = provider.with_owner(claims.owner.id());
    let is_left = |owner: &str, pod: &str| {
        has(&claims.dead, owner) || (has(&claims.resumed, owner) && !is_kept(pod))
    };
    let (swept, missing) = tokio::join!(provider.sweep(is_left), provider.find_missing());
    let failure = |failure: Failure| failure.with_help(CHECK);
    // A login that cannot be read is an error of both.
    let server = here.split(' ').next().unwrap_or(here);
    let swept = swept
        .with_context(|| format!("use the cluster at {server}"))
        .map_err(|error| failure(Failure::environment(error)))?;
    missing.map_err(|error| failure(Failure::usage(error)))?;
    for failure in &swept.failures {
        warn_of_leftover(failure);
    }
    if swept.failures.is_empty() {
        claims.forget();
    }
    let mut pods = claims.resumed;
    pods.push(claims.owner);
    let held = Held {
        engine: None,
        _pods: pods,
    };
    Ok((provider, held))
}

fn is_of(owners: &[Owner], it: &ObjectOwner<'_>) -> bool {
    owners.iter().any(|owner| owner.id() == it.owner)
}

fn warn_of_leftover(failure: &dyn std::fmt::Display) {
    error_line(&strip_controls(&format!(
        "warning: a leftover of an earlier run cannot be removed: {failure}"
    )));
}

/// Prints what could not be removed; returns whether no leftovers remain.
fn tell(swept: Result<SweepReport, DockerError>) -> bool {
    match swept {
        Ok(swept) => {
            for failure in &swept.failures {
                warn_of_leftover(failure);
            }
            swept.failures.is_empty()
        }
        Err(error) => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "Leftovers of earlier runs in the engine are not removed."
            );
            false
        }
    }
}
