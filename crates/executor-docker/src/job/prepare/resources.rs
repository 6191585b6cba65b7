//! The network, volumes and services of a job, from settings and job.

use crate::config::policy::RealPath;
use crate::engine::labels::Labels;
use crate::engine::names::Names;
use crate::error::DockerError;
use crate::job::prepare::preparation::Preparation;
use crate::network::{JobNetwork, NetworkMode};
use crate::service::{PlannedServices, Services, ServicesOptions, captures_logs};
use crate::volume::{CacheKey, JobVolumes, VolumeContext, VolumePlan, sockets};
use executor_core::Cancellation;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// The variable that requests the job's own network.
const OWN_NETWORK: &str = "FF_NETWORK_PER_BUILD";

/// Creates the network, or finds the existing one.
///
/// Boxed, because inside another future the compiler does not see that this one is `Send`.
pub(crate) fn network<'n>(
    preparation: &'n Preparation,
    services: usize,
    names: &'n Names,
    labels: &'n Labels,
    cancellation: &'n Cancellation,
) -> BoxFuture<'n, Result<JobNetwork, DockerError>> {
    Box::pin(make_network(
        preparation,
        services,
        names,
        labels,
        cancellation,
    ))
}

async fn make_network(
    preparation: &Preparation,
    services: usize,
    names: &Names,
    labels: &Labels,
    cancellation: &Cancellation,
) -> Result<JobNetwork, DockerError> {
    let Preparation {
        engine,
        settings,
        options,
        ..
    } = preparation;
    let mode = network_mode(preparation, services)?;
    let trace = &*options.trace;
    JobNetwork::create(engine, mode, names, labels, settings, trace, cancellation).await
}

/// Chooses the network of the job.
pub(crate) fn network_mode(
    preparation: &Preparation,
    services: usize,
) -> Result<NetworkMode, DockerError> {
    let own = preparation.options.variables.get(OWN_NETWORK);
    let own = matches!(own, Some("true" | "1"));
    NetworkMode::choose(&preparation.settings.network(), services, own)
        .map_err(|refused| DockerError::config(refused.to_string()))
}

/// Returns the volumes of the settings; none is created.
pub(crate) fn volumes(preparation: &Preparation, names: &Names) -> Result<JobVolumes, DockerError> {
    let plan = volume_plan(preparation, names)?;
    let volumes = JobVolumes::planned(&preparation.engine, plan);
    Ok(volumes.with_leases(preparation.leases.clone()))
}

/// Returns the volumes that another process created for the same job.
pub(crate) fn made_volumes(
    preparation: &Preparation,
    names: &Names,
) -> Result<JobVolumes, DockerError> {
    let plan = volume_plan(preparation, names)?;
    Ok(JobVolumes::made(&preparation.engine, plan))
}

fn volume_plan(preparation: &Preparation, names: &Names) -> Result<VolumePlan, DockerError> {
    let Preparation {
        engine,
        settings,
        options,
        ..
    } = preparation;
    let config = &options.config;
    let job = &options.job;
    let runner = match config.short_token() {
        "" => config.name.as_str(),
        token => token,
    };
    let project = match job.job_info.project_id {
        0 => job.job_info.project_full_path.clone(),
        id => id.to_string(),
    };
    let key = CacheKey {
        runner: runner.to_owned(),
        project,
        slot: options.slot.concurrent_project_id,
        protected: job.git_info.protected == Some(true),
    };
    let sockets = sockets(engine);
    let context = VolumeContext {
        project_dir: &preparation.dirs.project_dir,
        key: &key,
        names,
        variables: &options.variables,
        sockets: &sockets,
        real_path: if engine.is_local() {
            RealPath::resolve
        } else {
            RealPath::of_another_host
        },
    };
    VolumePlan::new(settings, &context)
}

/// Returns the services of the job; none is started.
pub(crate) fn services(
    preparation: &Preparation,
    names: &Names,
    labels: &Labels,
    binds: &[String],
) -> Result<Services, DockerError> {
    let Preparation {
        engine,
        settings,
        options,
        ..
    } = preparation;
    let variables = &options.variables;
    let planned = PlannedServices::of(settings, &options.job.services, variables)?;
    let options = ServicesOptions {
        engine: engine.clone(),
        names: names.clone(),
        labels: labels.clone(),
        config: Arc::new(settings.clone()),
        trace: Arc::clone(&options.trace),
        capture_logs: captures_logs(variables),
        binds: binds.to_vec(),
        mounts: Vec::new(),
    };
    Ok(Services::new(options, planned))
}
